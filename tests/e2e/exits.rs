//! Ways out: whatever ends the program, the terminal comes back, nothing ephemeral is left and the next start finds
//! what there was.

use crate::common::{FOREGROUND, PATIENCE, Process, Profile, Tmux, text, wait_for, wait_until_gone};
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags};
use nix::pty::PtyMaster;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

/// A program that was told to end and has nothing that resists is gone by then.
const BOUND: Duration = Duration::from_secs(15);

/// A screen with a persistent environment, an ephemeral one and a conversation.
fn busy(profile: &Profile, command: &str) -> Option<Tmux> {
    let tmux = Tmux::start(profile, 80, 24, command)?;
    tmux.wait("new sandbox");
    tmux.keys(&["n"]);
    tmux.wait("agent@env-1");
    profile.json(&["env", "new", "short", "--ephemeral"]);
    profile.json(&["turn", "begin", "--conversation", "c1", "--backend", "local", "--prompt", "do it"]);
    let output = profile.run(&["exec", "--conversation", "c1", "--shell", "echo kept > /workspace/f"]);
    assert!(output.status.success(), "{}", text(&output));
    Some(tmux)
}

fn names(profile: &Profile) -> Vec<String> {
    let list = profile.json(&["env", "list"]);
    list["environments"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap().to_owned()).collect()
}

fn sandboxes(profile: &Profile) -> Vec<(String, Value)> {
    let list = profile.json(&["env", "list"]);
    let all = list["environments"].as_array().unwrap().iter();
    all.map(|e| (e["name"].as_str().unwrap().to_owned(), e["sandbox"]["id"].clone())).collect()
}

fn ended_in_order(signal: Signal) {
    let mut profile = Profile::new();
    let Some(tmux) = busy(&profile, &format!("{FOREGROUND}; echo ended=$?")) else { return };
    let host = profile.host_process();
    let all = Process::tree(host.pid);
    host.signal(signal);
    let screen = tmux.wait_for_the_end(0);
    assert!(screen.contains("env-1 was stopped") && screen.contains("short was removed"), "{screen}");
    wait_until_gone("every process", &all);
    tmux.assert_whole();
    profile.serve();
    assert_eq!(names(&profile), ["c1", "env-1"], "what is persistent is remembered, the rest is gone");
    assert_eq!(profile.env("env-1")["phase"], "stopped");
    let again = profile.json(&["turn", "begin", "--conversation", "c1"]);
    assert_eq!(again["number"], 2, "{again}");
    let output = profile.run(&["exec", "--conversation", "c1", "--shell", "cat /workspace/f"]);
    assert_eq!(text(&output), "kept\n");
}

#[test]
fn sigterm_ends_in_order() {
    ended_in_order(Signal::SIGTERM);
}

#[test]
fn sighup_ends_in_order() {
    ended_in_order(Signal::SIGHUP);
}

#[test]
fn sigint_ends_in_order() {
    ended_in_order(Signal::SIGINT);
}

#[test]
fn a_panic_gives_the_terminal_back_and_the_next_start_takes_up_the_sandboxes() {
    let mut profile = Profile::new();
    let Some(tmux) = busy(&profile, &format!("HTUI_TEST_PANIC=1 {FOREGROUND}; echo ended=$?")) else { return };
    let before = sandboxes(&profile);
    profile.host_process().signal(Signal::SIGUSR1);
    let screen = tmux.wait_for_the_end(70);
    assert!(screen.contains("a panic that a test asked for"), "{screen}");
    tmux.assert_whole();
    profile.serve();
    for (name, sandbox) in before.iter().filter(|(name, _)| name != "short") {
        let env = profile.wait_for_phase(name, "ready", PATIENCE);
        assert_eq!(&env["sandbox"]["id"], sandbox, "{name} is taken up, not remade");
    }
}

#[test]
fn after_a_kill_the_next_start_takes_up_sandboxes_and_conversations() {
    let mut profile = Profile::new();
    let Some(tmux) = busy(&profile, &format!("{FOREGROUND}; echo ended=$?")) else { return };
    let turn = profile.json(&["turn", "begin", "--conversation", "c1"]);
    profile.json(&["turn", "end", "--conversation", "c1"]);
    let before = profile.env("c1");
    let known = sandboxes(&profile);
    // What happened last is on the disk when the journal says so.
    profile.json(&["env", "new", "brief", "--persistent", "--idle", "5"]);
    wait_for("the journal", PATIENCE, || profile.journal_knows("brief").then_some(()));
    profile.host_process().signal(Signal::SIGKILL);
    tmux.wait_for_the_end(137);

    profile.serve();
    let after = profile.wait_for_phase("c1", "ready", PATIENCE);
    assert_eq!(after["sandbox"]["id"], before["sandbox"]["id"]);
    for (name, sandbox) in known.iter().filter(|(name, _)| name != "short") {
        assert_eq!(&profile.wait_for_phase(name, "ready", PATIENCE)["sandbox"]["id"], sandbox, "{name}");
    }
    let deadline = |env: &Value| env["idle_deadline_at"].as_str().map(str::to_owned).expect("a deadline");
    assert!(deadline(&after) >= deadline(&before), "a deadline never moves closer: {before} {after}");
    // Its idle time is 5 s, but nothing is ended within 60 s of a start.
    let brief = profile.wait_for_phase("brief", "ready", PATIENCE);
    assert!(deadline(&brief) > soon(&profile), "{brief}");
    let again = profile.json(&["turn", "begin", "--conversation", "c1"]);
    assert_eq!(again["sandbox"]["id"], turn["sandbox"]["id"]);
    assert_eq!(again["environment"], turn["environment"]);
    assert_eq!(again["number"], 3, "{again}");
}

/// The time in 50 s, as this program writes times: an environment with that idle time is asked for it.
fn soon(profile: &Profile) -> String {
    let made = profile.json(&["env", "new", "ruler", "--ephemeral", "--idle", "50"]);
    made["environment"]["idle_deadline_at"].as_str().expect("a deadline").to_owned()
}

#[test]
fn a_closed_terminal_ends_everything() {
    let profile = Profile::new();
    let Some(tmux) = busy(&profile, &format!("exec {FOREGROUND}")) else { return };
    let all = Process::tree(profile.host_process().pid);
    drop(tmux);
    wait_until_gone("every process", &all);
}

/// The program on a terminal of the test's own that no session controls: no SIGHUP comes when it is closed.
struct Bare {
    child: std::process::Child,
    master: PtyMaster,
    slave: File,
}

impl Bare {
    fn open(profile: &Profile, args: &[&str]) -> Self {
        // Closed on exec: no other process, such as that of a test beside, may keep the terminal open.
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let master = nix::pty::posix_openpt(flags).expect("a terminal");
        nix::pty::grantpt(&master).and_then(|()| nix::pty::unlockpt(&master)).expect("a terminal");
        let name = nix::pty::ptsname_r(&master).expect("its name");
        let slave =
            OpenOptions::new().read(true).write(true).custom_flags(flags.bits()).open(name).expect("a terminal");
        let end = || Stdio::from(slave.try_clone().expect("a descriptor"));
        let child = profile.command(args).stdin(end()).stdout(end()).stderr(end()).spawn().expect("it runs");
        Self { child, master, slave }
    }

    /// The same with a first sandbox and its shell.
    fn with_a_shell(profile: &Profile, args: &[&str]) -> Self {
        let mut bare = Self::open(profile, args);
        bare.read_until("new sandbox");
        bare.master.write_all(b"n").expect("written");
        bare.read_until("agent@");
        bare
    }

    /// Reads until the program said `wanted`.
    fn read_until(&mut self, wanted: &str) {
        let (mut said, mut part) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&said).contains(wanted) {
            let count = self.master.read(&mut part).expect("the program says something");
            said.extend_from_slice(&part[..count]);
        }
    }

    fn wait(child: &mut std::process::Child) -> ExitStatus {
        wait_for("the program to end", BOUND, || child.try_wait().expect("our child"))
    }
}

#[test]
fn a_terminal_that_fails_ends_everything() {
    let profile = Profile::new();
    let bare = Bare::with_a_shell(&profile, &["--foreground"]);
    let all = Process::tree(i32::try_from(bare.child.id()).unwrap());
    let Bare { mut child, master, .. } = bare;
    drop(master);
    Bare::wait(&mut child);
    wait_until_gone("every process", &all);
}

#[test]
fn a_terminal_that_fails_ends_its_client_and_nothing_else() {
    let profile = Profile::new();
    let bare = Bare::with_a_shell(&profile, &[]);
    let (host, sessions) = (profile.host_process(), profile.sessions());
    let Bare { mut child, master, slave } = bare;
    drop((master, slave));
    Bare::wait(&mut child);
    assert!(host.lives());
    assert_eq!(profile.sessions()[0]["id"], sessions[0]["id"]);
    let mut again = Bare::open(&profile, &[]);
    again.read_until("agent@");
    profile.shut_down();
    Bare::wait(&mut again.child);
}

/// A program on a terminal that is full, and stays so.
fn stuck(profile: &Profile, args: &[&str]) -> Bare {
    let mut bare = Bare::with_a_shell(profile, args);
    // Nobody reads from here on: the program's writes block as soon as the terminal is full.
    bare.master.write_all(b"yes $RANDOM$RANDOM$RANDOM$RANDOM\r").expect("written");
    // One look may meet a write that is under way; a terminal that is full stays so.
    let mut full = 0;
    wait_for("a full terminal", PATIENCE, || {
        full = if takes_more(&bare.slave) { 0 } else { full + 1 };
        (full == 20).then_some(())
    });
    bare
}

#[test]
fn a_terminal_that_takes_nothing_does_not_hold_up_the_end() {
    let profile = Profile::new();
    let mut bare = stuck(&profile, &["--foreground"]);
    profile.host_process().signal(Signal::SIGTERM);
    Bare::wait(&mut bare.child);
}

#[test]
fn a_client_on_a_terminal_that_takes_nothing_ends_with_its_host_and_by_word() {
    let profile = Profile::new();
    let mut bare = stuck(&profile, &[]);
    profile.shut_down();
    Bare::wait(&mut bare.child);
    let profile = Profile::new();
    let mut bare = stuck(&profile, &[]);
    let host = profile.host_process();
    let client = Process::of(i32::try_from(bare.child.id()).expect("a pid")).expect("it lives");
    client.signal(Signal::SIGTERM);
    Bare::wait(&mut bare.child);
    assert!(host.lives());
}

/// Whether a write to the terminal would not block.
fn takes_more(terminal: &File) -> bool {
    let mut asked = [PollFd::new(terminal.as_fd(), PollFlags::POLLOUT)];
    nix::poll::poll(&mut asked, 0u8).expect("poll") > 0
}

#[test]
fn a_second_process_on_the_same_profile_is_told_so() {
    let profile = Profile::serving();
    let output = profile.run(&["serve"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output);
    assert!(said.contains("already is") && said.contains("hermes-tui shutdown"), "{said}");
}

#[test]
fn a_broken_configuration_is_an_error_with_its_place() {
    let profile = Profile::new();
    std::fs::create_dir_all(profile.path().join("config")).unwrap();
    std::fs::write(profile.path().join("config/config.toml"), "theme = \"dark\"\nscrollback = [1,\n").unwrap();
    let Some(tmux) = Tmux::open(&profile, 160, 24) else { return };
    let screen = tmux.wait_for_the_end(3);
    assert!(screen.contains("config.toml, line 2, column 17"), "{screen}");
    tmux.assert_whole();
}

#[test]
fn a_broken_journal_is_kept_aside_and_named() {
    let profile = Profile::new();
    let data = profile.path().join("data");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("journal.db"), "this is no journal").unwrap();
    let Some(tmux) = Tmux::open(&profile, 120, 24) else { return };
    tmux.wait("new sandbox");
    tmux.wait("journal");
    let status = text(&profile.run(&["status"]));
    assert!(status.contains("journal") && status.contains("it is kept as"), "{status}");
    let kept = std::fs::read_dir(&data).unwrap().flatten().any(|file| {
        file.file_name() != "journal.db" && std::fs::read(file.path()).is_ok_and(|b| b == b"this is no journal")
    });
    assert!(kept, "nothing is deleted");
    tmux.keys(&["n"]);
    tmux.wait("agent@env-1");
}
