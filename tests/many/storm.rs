//! Terminals by the dozen that come, type, change their size and go in every way there is: the host keeps nothing of
//! them, loses nothing for them, and answers others all the while.

use super::chance::Chance;
use super::common::{EXE, PATIENCE, Process, Profile, wait_for};
use super::raw::Raw;
use super::{ALONE, number};
use hermes_tui::domain::Size;
use hermes_tui::pty::unix::set_size;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longer than this nobody may be kept waiting.
const PROMPT: Duration = Duration::from_secs(2);
/// What memory may grow by between the halves, in KiB: a fifth of it, and this in any case, but never more than that.
const LEAST_GROWTH: u64 = 8 * 1024;
const MOST_GROWTH: u64 = 16 * 1024;

/// How a client goes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Leaving {
    Detaches,
    IsKilled,
    LosesItsTerminal,
}

/// A real client on a terminal of the test's own.
struct Terminal {
    child: Child,
    master: Option<OwnedFd>,
    what: Vec<String>,
    /// The end of what it printed.
    said: Vec<u8>,
    shown: bool,
    /// Nobody reads what it prints.
    stuck: bool,
    leaving: Option<(Leaving, Instant)>,
    /// It was asked a second time.
    again: bool,
}

impl Terminal {
    fn open(profile: &Profile, args: &[&str], size: Size) -> Self {
        let pair = nix::pty::openpty(None, None).expect("a terminal");
        for fd in [&pair.master, &pair.slave] {
            fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).expect("set");
        }
        fcntl(&pair.master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("set");
        set_size(&pair.master, size).expect("a size");
        let end = || pair.slave.try_clone().expect("a descriptor");
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(EXE).args(args).env_clear().envs(profile.variables()).current_dir(profile.path());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("setsid runs");
        Self {
            child,
            master: Some(pair.master),
            what: args.iter().map(|arg| (*arg).to_owned()).collect(),
            said: Vec::new(),
            shown: false,
            stuck: false,
            leaving: None,
            again: false,
        }
    }

    fn drain(&mut self) {
        let Some(master) = &self.master else { return };
        let mut buffer = [0; 16 * 1024];
        while let Ok(n @ 1..) = nix::unistd::read(master, &mut buffer) {
            self.said.extend_from_slice(&buffer[..n]);
            self.shown |= self.said.windows(8).any(|part| part == b"\x1b[?1049h");
            let extra = self.said.len().saturating_sub(4096);
            self.said.drain(..extra);
        }
    }

    fn types(&self, bytes: &[u8]) {
        if let Some(master) = &self.master {
            // A terminal that nobody reads takes no more at some time.
            let _ = nix::unistd::write(master, bytes);
        }
    }

    fn leave(&mut self, how: Leaving) {
        self.stuck = false;
        self.leaving = Some((how, Instant::now()));
        match how {
            Leaving::Detaches => self.types(b"\x02d"),
            Leaving::IsKilled => self.child.kill().expect("it is there"),
            Leaving::LosesItsTerminal => self.master = None,
        }
    }

    /// How it went, once it is gone. Fails when it went without a reason, or does not go.
    fn gone(&mut self) -> Option<Leaving> {
        let status = self.child.try_wait().expect("ours");
        self.drain();
        let said = || String::from_utf8_lossy(&self.said).into_owned();
        let Some((how, since)) = self.leaving else {
            assert_eq!(status, None, "{:?} ended by itself: {}", self.what, said());
            return None;
        };
        let Some(status) = status else {
            if how == Leaving::Detaches && !self.again && since.elapsed() > PATIENCE / 4 {
                // What was open over the screen may have taken the keys.
                self.again = true;
                println!("asked again to detach: {:?}: {:?}", self.what, said());
                self.types(b"q\x02d");
            }
            assert!(since.elapsed() < PATIENCE, "{:?} does not end ({how:?}): {}", self.what, said());
            return None;
        };
        match how {
            Leaving::Detaches => {
                let in_order = status.code() == Some(0) && said().contains("[detached");
                assert!(in_order, "{:?} ended with {status}: {}", self.what, said());
            }
            Leaving::IsKilled => assert_eq!(status.signal(), Some(9), "{:?}", self.what),
            Leaving::LosesItsTerminal => {}
        }
        Some(how)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that speaks for itself.
struct Speaker {
    stream: UnixStream,
    /// It takes no frames.
    stuck: bool,
}

impl Speaker {
    fn connect(socket: &Path, session: Option<&str>, read_only: bool) -> Self {
        let stream = UnixStream::connect(socket).expect("the host takes it in");
        stream.set_nonblocking(true).expect("set");
        let mut speaker = Self { stream, stuck: false };
        speaker.say("hello", &json!({"protocol": 1}));
        let mut attach = json!({"size": [24, 80], "colours": 256, "unicode": true, "read_only": read_only});
        if let Some(session) = session {
            attach["session"] = session.into();
        }
        speaker.say("screen.attach", &attach);
        speaker
    }

    /// Says whether it could.
    fn say(&mut self, method: &str, params: &Value) -> bool {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.stream.write_all(format!("{message}\n").as_bytes()).is_ok()
    }

    /// Takes its frames; `false` when the host has let go of it.
    fn drain(&mut self) -> bool {
        let (mut buffer, mut frames) = ([0; 64 * 1024], 0);
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(n) => frames += buffer[..n].windows(14).filter(|part| part == b"\"screen.frame\"").count(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        frames == 0 || self.say("screen.input", &json!({"events": vec!["drawn"; frames]}))
    }
}

enum Client {
    Terminal(Terminal),
    Speaker(Speaker),
}

impl Client {
    fn readable(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Terminal(one) if !one.stuck => one.master.as_ref().map(AsFd::as_fd),
            Self::Speaker(one) if !one.stuck => Some(one.stream.as_fd()),
            _ => None,
        }
    }
}

/// What was done.
#[derive(Default, Debug)]
struct Done {
    terminals: usize,
    speakers: usize,
    typed: usize,
    resized: usize,
    detached: usize,
    killed: usize,
    without_terminal: usize,
    cut_off: usize,
}

struct Storm<'a> {
    profile: &'a Profile,
    sessions: [String; 2],
    chance: Chance,
    clients: Vec<Option<Client>>,
    done: Done,
}

impl Storm<'_> {
    fn comes(&mut self) -> Client {
        let [quiet, loud] = self.sessions.clone();
        if self.chance.below(4) == 0 {
            self.done.speakers += 1;
            let session = [None, Some(quiet.as_str()), Some(loud.as_str())][self.chance.below(3)];
            let read_only = self.chance.below(3) == 0;
            return Client::Speaker(Speaker::connect(&self.profile.socket().expect("a socket"), session, read_only));
        }
        self.done.terminals += 1;
        let ways: [&[&str]; 8] = [
            &["open", "dev"],
            &["open", "dev", "--read-only"],
            &["--read-only"],
            &["attach", "dev"],
            &["attach", "dev", "--read-only"],
            &["session", "attach", &quiet],
            &["session", "attach", &loud],
            &["session", "attach", &loud, "--read-only"],
        ];
        let way = self.chance.of(&ways);
        Client::Terminal(Terminal::open(self.profile, way, self.size()))
    }

    fn size(&mut self) -> Size {
        // Also sizes at which nothing can be shown.
        let (rows, cols) = (self.chance.below(60) + 1, self.chance.below(180) + 1);
        Size { rows: rows as u16, cols: cols as u16 }
    }

    /// What can be typed into a shell without ending it, also when two type at once; and into the screen.
    fn text(&mut self) -> &'static [u8] {
        self.chance.of(&[
            b"echo storm\r",
            b"echo",
            b"\x15",
            b"\r",
            b"\x1b[A\x15",
            b"\x02[kkq",
            b"seq 30\r",
            "echo grüße 漢字\r".as_bytes(),
        ])
    }

    fn terminal_acts(&mut self, mut one: Terminal) -> Client {
        match self.chance.below(12) {
            0 if one.shown => one.leave(Leaving::Detaches),
            1 => one.leave(Leaving::IsKilled),
            2 => one.leave(Leaving::LosesItsTerminal),
            3 => one.stuck = !one.stuck,
            4..=6 => {
                self.done.resized += 1;
                set_size(one.master.as_ref().expect("not leaving"), self.size()).expect("a size");
            }
            _ if one.shown => {
                self.done.typed += 1;
                one.types(self.text());
            }
            _ => {}
        }
        Client::Terminal(one)
    }

    fn speaker_acts(&mut self, mut one: Speaker) -> Option<Client> {
        let size = self.size();
        let goes_on = match self.chance.below(10) {
            0 => false,
            1 => {
                // In the middle of a word.
                let _ = one.stream.write_all(b"{\"jsonrpc\": \"2.0\", \"met");
                false
            }
            2 => {
                one.stuck = !one.stuck;
                true
            }
            3..=5 => {
                self.done.resized += 1;
                let resize = crossterm::event::Event::Resize(size.cols, size.rows);
                one.say("screen.input", &json!({"events": [{"terminal": resize}]}))
            }
            _ => {
                self.done.typed += 1;
                let text = json!({"paste": {"text": "echo pasted\r", "last": true}});
                one.say("screen.input", &json!({"events": [text]}))
            }
        };
        self.done.cut_off += usize::from(!goes_on);
        goes_on.then_some(Client::Speaker(one))
    }

    /// Takes what was printed, for a moment at most.
    fn listens(&mut self, most: Duration) {
        let readable = self.clients.iter().flatten().filter_map(Client::readable);
        let mut fds: Vec<PollFd> = readable.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let _ = poll(&mut fds, PollTimeout::try_from(most).expect("short"));
        for slot in &mut self.clients {
            let gone = match slot {
                Some(Client::Terminal(one)) => {
                    if !one.stuck {
                        one.drain();
                    }
                    let how = one.gone();
                    match how {
                        Some(Leaving::Detaches) => self.done.detached += 1,
                        Some(Leaving::IsKilled) => self.done.killed += 1,
                        Some(Leaving::LosesItsTerminal) => self.done.without_terminal += 1,
                        None => {}
                    }
                    how.is_some()
                }
                // The host lets go of one that takes nothing.
                Some(Client::Speaker(one)) => !one.stuck && !one.drain(),
                None => false,
            };
            if gone {
                *slot = None;
            }
        }
    }

    fn step(&mut self) {
        let most = Duration::from_millis(self.chance.below(10) as u64 + 1);
        self.listens(most);
        let which = self.chance.below(self.clients.len());
        let next = match self.clients[which].take() {
            None => Some(self.comes()),
            Some(Client::Terminal(one)) if one.leaving.is_some() => Some(Client::Terminal(one)),
            Some(Client::Terminal(one)) => Some(self.terminal_acts(one)),
            Some(Client::Speaker(one)) => self.speaker_acts(one),
        };
        self.clients[which] = next;
    }

    /// All go, each in order if it can.
    fn ends(&mut self) {
        for client in self.clients.iter_mut().flatten() {
            match client {
                Client::Terminal(one) if one.leaving.is_none() => {
                    one.leave(if one.shown && !one.stuck { Leaving::Detaches } else { Leaving::IsKilled });
                }
                Client::Terminal(_) => {}
                Client::Speaker(one) => one.stream.shutdown(std::net::Shutdown::Both).expect("ours"),
            }
        }
        let speaks = |slot: &Option<Client>| matches!(slot, Some(Client::Speaker(_)));
        self.clients.retain(|slot| slot.is_some() && !speaks(slot));
        wait_for("the last clients to end", PATIENCE * 2, || {
            self.listens(Duration::from_millis(10));
            self.clients.iter().all(Option::is_none).then_some(())
        });
    }
}

/// The longest that somebody who is not of the storm had to wait.
#[derive(Default, Debug)]
struct Waited {
    times: usize,
    connection: Duration,
    status: Duration,
    echo: Duration,
}

/// Asks and types all the while.
fn probe(socket: &Path, session: &str, over: &AtomicBool) -> Waited {
    let (mut raw, mut waited) = (Raw::greeted_at(socket), Waited::default());
    while !over.load(Ordering::Relaxed) {
        let now = Instant::now();
        Raw::greeted_at(socket).is_served();
        waited.connection = waited.connection.max(now.elapsed());
        let now = Instant::now();
        raw.is_served();
        waited.status = waited.status.max(now.elapsed());
        let (now, mark) = (Instant::now(), format!("<{}>", waited.times));
        raw.ask("session.send_keys", json!({"session": session, "keys": [mark, "Enter"]}));
        raw.ask("session.wait", json!({"session": session, "text": mark}));
        waited.echo = waited.echo.max(now.elapsed());
        waited.times += 1;
    }
    waited
}

fn open_files(host: Process) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", host.pid)).expect("the host lives").count()
}

fn resident_kib(host: Process) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", host.pid)).expect("the host lives");
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).expect("a size");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

fn median(all: &[u64]) -> u64 {
    let mut sorted = all.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

fn ids(profile: &Profile) -> Vec<String> {
    let mut all: Vec<String> = profile.sessions().iter().map(|one| one["id"].to_string()).collect();
    all.sort();
    all
}

#[test]
fn a_storm_of_terminals_leaves_the_host_as_it_was() {
    let _alone = ALONE.blocking_lock();
    let lines = 1000;
    let mut profile = Profile::with_variables(&[("HTUI_HISTORY_LINES", &lines.to_string())]);
    profile.serve();
    let host = profile.host_process();
    let mut raw = Raw::greeted(&profile);
    let mut opens = |env: &str, argv: &[&str]| {
        let made = raw.ask("session.new", json!({"env": env, "argv": argv}));
        made["session"]["id"].as_str().expect("an id").to_owned()
    };
    for name in ["aside", "dev"] {
        profile.json(&["env", "new", name, "--persistent", "--idle", "0"]);
    }
    let echo = opens("aside", &["cat"]);
    let (quiet, loud) = (opens("dev", &[]), opens("dev", &[]));
    // Histories are full before anything is measured.
    let mut types = |session: &str, keys: &[&str]| {
        raw.ask("session.send_keys", json!({"session": session, "keys": keys}));
    };
    for session in [&quiet, &loud] {
        types(session, &[&format!("seq {}; echo fu''ll", lines * 2), "Enter"]);
    }
    types(
        &loud,
        &["n=0; until [ \"$typed\" = end ]; do n=$((n+1)); echo tick $n; read -t 0.3 -r typed; done", "Enter"],
    );
    for (session, text) in [(&quiet, "full"), (&loud, "tick 2")] {
        Raw::greeted(&profile).ask("session.wait", json!({"session": session, "text": text}));
    }
    let mut storm = Storm {
        profile: &profile,
        sessions: [quiet.clone(), loud.clone()],
        chance: Chance::new("a storm of terminals"),
        clients: Vec::new(),
        done: Done::default(),
    };
    // Connections that were closed may still be counted: the fewest of some looks.
    let looks = (0..20).map(|_| {
        raw.is_served();
        open_files(host)
    });
    let before = looks.min().expect("looked");
    // One of each kind, so that what is kept for good is there.
    for args in [["open", "dev"], ["attach", "dev"]] {
        storm.clients.push(Some(Client::Terminal(Terminal::open(&profile, &args, Size { rows: 50, cols: 150 }))));
    }
    wait_for("the first screens", PATIENCE, || {
        storm.listens(Duration::from_millis(10));
        let shown = |slot: &Option<Client>| matches!(slot, Some(Client::Terminal(one)) if one.shown);
        storm.clients.iter().all(shown).then_some(())
    });
    storm.ends();
    let known = ids(&profile);
    assert_eq!(known.len(), 3);
    wait_for("the first ones to be forgotten", PATIENCE, || (open_files(host) <= before).then_some(()));

    let over = AtomicBool::new(false);
    let socket = profile.socket().expect("a socket");
    storm.clients.resize_with(number(4, 20), || None);
    let (length, began) = (Duration::from_secs(number(5, 300) as u64), Instant::now());
    let mut memory = Vec::new();
    let waited = std::thread::scope(|scope| {
        let probe = scope.spawn(|| probe(&socket, &echo, &over));
        // The probe ends also when the storm fails.
        let stormed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            while began.elapsed() < length && !probe.is_finished() {
                storm.step();
                if memory.len() as u128 <= began.elapsed().as_millis() / 50 {
                    memory.push(resident_kib(host));
                }
            }
            storm.ends();
        }));
        over.store(true, Ordering::Relaxed);
        let waited = probe.join().expect("the host answers all the while");
        stormed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        waited
    });

    println!("{:?}", storm.done);
    println!("asked {} times; waited at most {waited:?}", waited.times);
    let (first, second) = memory.split_at(memory.len() / 2);
    let (first, second) = (median(first), median(second));
    let most = memory.iter().max().expect("measured");
    println!("resident: {first} KiB in the first half, {second} KiB in the second, {most} KiB at most");
    assert!(waited.connection.max(waited.status).max(waited.echo) < PROMPT, "{waited:?}");
    assert!(second <= first + (first / 5).clamp(LEAST_GROWTH, MOST_GROWTH), "{memory:?}");

    assert_eq!(profile.host_process(), host);
    assert_eq!(ids(&profile), known, "no session is lost, none came");
    let mut after = 0;
    let as_before = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        wait_for("the descriptors to be as before", PATIENCE, || {
            after = open_files(host);
            (after <= before).then_some(())
        });
    }));
    println!("descriptors: {before} before, {after} after");
    assert!(as_before.is_ok(), "{before} descriptors before, {after} after");
    for session in [&quiet, &loud] {
        // In a terminal that is wide enough for the word.
        let mut one = Terminal::open(&profile, &["session", "attach", session], Size { rows: 24, cols: 80 });
        wait_for("a terminal", PATIENCE, || {
            one.drain();
            one.shown.then_some(())
        });
        // The loud one ends its loop, the quiet one knows no such command.
        one.types(b"\x15end\r\x15echo ali''ve\r");
        raw.ask("session.wait", json!({"session": session, "text": "alive"}));
    }
}
