//! What tests of the real binary share: a profile of their own, commands with a cleared environment, and tmux.

#![allow(dead_code)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The binary under test.
pub const EXE: &str = env!("CARGO_BIN_EXE_hermes-tui");
/// The screen with its host in one process, as a command line.
pub const FOREGROUND: &str = concat!(env!("CARGO_BIN_EXE_hermes-tui"), " --foreground");
/// A fact that has not come about by then never will.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Asks again and again until `look` finds something; panics with `what` when it never does.
pub fn wait_for<T>(what: &str, patience: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited {patience:?} in vain for: {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// A profile in a folder of its own. Its host, if one runs, is ended with it.
pub struct Profile {
    dir: tempfile::TempDir,
    host: Option<Child>,
    more: Vec<(String, String)>,
}

impl Profile {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("htui-").tempdir().expect("a temporary folder");
        Self { dir, host: None, more: Vec::new() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// With a host without a screen, ready to answer.
    pub fn serving() -> Self {
        let mut profile = Self::new();
        profile.serve();
        profile
    }

    /// The same, with one more variable in the environment of everything that is run.
    pub fn with_variable(name: &str, value: &str) -> Self {
        let mut profile = Self::with_variables(&[(name, value)]);
        profile.serve();
        profile
    }

    /// With more variables in the environment of everything that is run, and no host yet.
    pub fn with_variables(variables: &[(&str, &str)]) -> Self {
        let mut profile = Self::new();
        profile.more = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        profile
    }

    /// Starts the host without a screen and waits until it answers.
    pub fn serve(&mut self) {
        let child = self.command(&["serve"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("serve starts");
        self.host = Some(child);
        self.wait_until_it_answers();
    }

    /// Kills the host that was started here, and waits until all of its threads are gone.
    pub fn kill_host(&mut self) {
        let mut host = self.host.take().expect("a host was started here");
        host.kill().expect("it is there");
        host.wait().expect("ours");
    }

    /// Waits until a host of this profile answers.
    pub fn wait_until_it_answers(&self) {
        // The socket of a host that was killed may lie there: only an answer counts.
        wait_for("an answer", PATIENCE, || {
            (self.socket().is_some() && self.run(&["status"]).status.success()).then_some(())
        });
    }

    /// The socket of the profile's host.
    pub fn socket(&self) -> Option<PathBuf> {
        find_socket(self.path())
    }

    /// A command of the binary in this profile, with a cleared environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(EXE);
        command.args(args).env_clear().envs(self.variables()).stdin(Stdio::null()).current_dir(self.path());
        command
    }

    pub fn variables(&self) -> Vec<(String, String)> {
        let home = self.path().display().to_string();
        // Whatever engine runs here and whatever it holds: no test that does not name it looks at it.
        let no_engine = format!("unix://{home}/no-engine.sock");
        [
            ("DOCKER_HOST", no_engine.as_str()),
            ("HTUI_USUAL_ENDPOINTS", "false"),
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            ("HOME", home.as_str()),
            ("HTUI_HOME", home.as_str()),
            ("LANG", "C.UTF-8"),
            ("TERM", "xterm-256color"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into_iter()
        .chain(self.more.iter().cloned())
        .collect()
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the binary runs")
    }

    /// Runs with `--json` and gives the reply; fails the test when the command fails.
    pub fn json(&self, args: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend_from_slice(args);
        let output = self.run(&all);
        assert!(output.status.success(), "{args:?} failed ({:?}): {}", output.status.code(), text(&output));
        let out = String::from_utf8(output.stdout).expect("UTF-8");
        let value: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{args:?} gave no JSON ({e}): {out}"));
        assert_eq!(value["schema"], 1, "{value}");
        value
    }

    /// The process of the host, as it says.
    pub fn host_process(&self) -> Process {
        let pid = self.json(&["status"])["pid"].as_i64().expect("a pid");
        Process::of(i32::try_from(pid).expect("a pid")).expect("the host lives")
    }

    /// Ends the host in order.
    pub fn shut_down(&self) {
        let output = self.run(&["shutdown"]);
        assert!(output.status.success(), "{}", text(&output));
    }

    /// Whether the journal says this already: it writes within a moment.
    pub fn journal_knows(&self, what: &str) -> bool {
        ["journal.db", "journal.db-wal"].iter().any(|file| {
            let bytes = std::fs::read(self.path().join("data").join(file)).unwrap_or_default();
            bytes.windows(what.len()).any(|window| window == what.as_bytes())
        })
    }

    /// Loses the journal. No host may run.
    pub fn forget_the_journal(&self) {
        for file in ["journal.db", "journal.db-wal", "journal.db-shm"] {
            let _ = std::fs::remove_file(self.path().join("data").join(file));
        }
    }

    /// Every session that has not ended.
    pub fn sessions(&self) -> Vec<Value> {
        let list = self.json(&["session", "list"]);
        let all = list["sessions"].as_array().expect("sessions");
        all.iter().filter(|s| s["state"] == "running").cloned().collect()
    }

    pub fn env(&self, name: &str) -> Value {
        self.json(&["env", "show", name])["environment"].clone()
    }

    /// Waits until something of this kind holds it.
    pub fn wait_for_holder(&self, name: &str, kind: &str) {
        wait_for(&format!("a {kind} that holds {name}"), PATIENCE, || {
            let env = self.env(name);
            env["holders"].as_array()?.iter().any(|holder| holder["kind"] == kind).then_some(())
        });
    }

    pub fn wait_for_phase(&self, name: &str, phase: &str, patience: Duration) -> Value {
        wait_for(&format!("{name} to be {phase}"), patience, || {
            let env = self.env(name);
            (env["phase"] == phase).then_some(env)
        })
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        if find_socket(self.path()).is_some() {
            let _ = self.command(&["shutdown"]).output();
        }
        if let Some(mut host) = self.host.take() {
            let _ = host.kill();
            let _ = host.wait();
        }
    }
}

fn find_socket(dir: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    std::fs::read_dir(dir).ok()?.flatten().find_map(|entry| {
        let kind = entry.file_type().ok()?;
        if kind.is_dir() {
            return (entry.file_name() != "envs").then(|| find_socket(&entry.path())).flatten();
        }
        (kind.is_socket() && entry.file_name() == "host.sock").then(|| entry.path())
    })
}

/// Both streams, for messages of failed tests.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A time as commands tell it.
pub fn moment(value: &Value) -> jiff::Timestamp {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{value} is no time"))
}

/// Whether tests may be skipped; in a required run a skip is a failure.
pub fn skip(what: &str) {
    assert!(std::env::var_os("HTUI_TEST_REQUIRED").is_none(), "{what}, but nothing may be skipped");
    eprintln!("SKIPPED: {what}");
}

/// A process, safe against another one that gets its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    born: u64,
}

impl Process {
    /// `None` when no such process lives; a zombie does not.
    pub fn of(pid: i32) -> Option<Self> {
        let (_, state, born) = stat(pid)?;
        (state != 'Z').then_some(Self { pid, born })
    }

    pub fn lives(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// This process and everything under it.
    pub fn tree(pid: i32) -> Vec<Self> {
        let all: Vec<(i32, i32)> = std::fs::read_dir("/proc")
            .expect("/proc")
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(|pid| Some((pid, stat(pid)?.0)))
            .collect();
        let mut found = vec![pid];
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            found.extend(all.iter().filter(|(_, p)| *p == parent).map(|(pid, _)| *pid));
            next += 1;
        }
        found.into_iter().filter_map(Self::of).collect()
    }

    pub fn signal(self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid), signal).expect("the process is there");
    }
}

/// Parent, state and time of birth.
fn stat(pid: i32) -> Option<(i32, char, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    Some((fields.get(1)?.parse().ok()?, fields.first()?.chars().next()?, fields.get(19)?.parse().ok()?))
}

pub fn wait_until_gone(what: &str, processes: &[Process]) {
    wait_for(&format!("{what} to be gone"), PATIENCE, || (!processes.iter().any(|p| p.lives())).then_some(()));
}

/// A tmux server of the test's own that shows one program.
pub struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// Shows the screen with its host in one process, and afterwards its exit code as `ended=N`.
    pub fn open(profile: &Profile, cols: u16, rows: u16) -> Option<Self> {
        Self::start(profile, cols, rows, &format!("{FOREGROUND}; echo ended=$?"))
    }

    /// Attaches to the host, which is started if none runs; afterwards the exit code as `ended=N`.
    pub fn attach(profile: &Profile, cols: u16, rows: u16) -> Option<Self> {
        Self::start(profile, cols, rows, &format!("{EXE}; echo ended=$?"))
    }

    /// With a first sandbox and its shell at the prompt.
    pub fn with_a_shell(profile: &Profile, cols: u16, rows: u16) -> Option<Self> {
        Some(Self::open(profile, cols, rows)?.makes_a_shell())
    }

    /// The same at a host that stays.
    pub fn attach_with_a_shell(profile: &Profile, cols: u16, rows: u16) -> Option<Self> {
        Some(Self::attach(profile, cols, rows)?.makes_a_shell())
    }

    fn makes_a_shell(self) -> Self {
        self.wait("new sandbox");
        self.keys(&["n"]);
        self.wait("agent@env-1");
        self
    }

    /// From the sidebar to the shell of an environment, wherever it stands there.
    pub fn goes_to(&self, env: &str) {
        self.keys(&["/"]);
        self.type_text(env);
        self.keys(&["Enter"]);
    }

    /// `None`, with a word, where there is no tmux.
    pub fn start(profile: &Profile, cols: u16, rows: u16, command: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("tmux is not installed");
            return None;
        }
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let tmux = Self { socket: profile.path().join(format!("tmux{number}.sock")) };
        let (x, y) = (cols.to_string(), rows.to_string());
        let mut new = tmux.command(&["-f", "/dev/null", "new-session", "-d", "-x", &x, "-y", &y]);
        for (key, value) in profile.variables() {
            new.arg("-e").arg(format!("{key}={value}"));
        }
        let output = new.envs(profile.variables()).arg("sh").output().expect("tmux runs");
        assert!(output.status.success(), "tmux: {}", text(&output));
        tmux.run(&["set", "-g", "status", "off"]);
        tmux.run(&["set", "-g", "escape-time", "0"]);
        tmux.run(&["set", "-g", "remain-on-exit", "on"]);
        tmux.wait_until("a prompt", |screen| matches!(screen.trim(), "$" | "#"));
        tmux.keys(&[command, "Enter"]);
        Some(tmux)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(args).env_remove("TMUX");
        command
    }

    pub fn run(&self, args: &[&str]) -> String {
        text(&self.command(args).output().expect("tmux runs"))
    }

    /// Presses keys, as tmux names them.
    pub fn keys(&self, keys: &[&str]) {
        let mut args = vec!["send-keys"];
        args.extend_from_slice(keys);
        let said = self.run(&args);
        assert!(said.is_empty(), "tmux send-keys: {said}");
    }

    pub fn type_text(&self, text: &str) {
        let said = self.run(&["send-keys", "-l", text]);
        assert!(said.is_empty(), "tmux send-keys: {said}");
    }

    /// A key after the leader. They go together: nothing can come between them.
    pub fn leader(&self, key: &str) {
        self.keys(&["C-b", key]);
    }

    /// A line for the program in the focused pane.
    pub fn line(&self, text: &str) {
        if !text.is_empty() {
            self.type_text(text);
        }
        self.keys(&["Enter"]);
    }

    /// Waits until nothing on the screen says `unwanted`.
    pub fn wait_without(&self, unwanted: &str) -> String {
        self.wait_until(&format!("{unwanted:?} to leave the screen"), |screen| !screen.contains(unwanted))
    }

    /// Closes what lies over the screen and shows `text`.
    pub fn escape(&self, text: &str) {
        self.keys(&["Escape"]);
        self.wait_without(text);
    }

    /// Waits until the program has ended; gives what is on the screen then.
    pub fn wait_for_the_end(&self, code: u8) -> String {
        self.wait(&format!("ended={code}"))
    }

    /// Fails unless the terminal is as it was before the program ran.
    pub fn assert_whole(&self) {
        let modes = "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{mouse_sgr_flag} #{keypad_cursor_flag}";
        assert_eq!(self.format(modes), "0 1 0 0 0", "alternate screen, cursor, mouse, SGR mouse, cursor keys");
        self.line("clear; stty -a | tr ' ;' '\\n\\n' | grep -cxE 'icanon|echo|isig|icrnl|opost'");
        self.wait_until("a cooked terminal", |screen| screen.lines().any(|line| line.trim() == "5"));
    }

    pub fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    pub fn resize(&self, cols: u16, rows: u16) {
        self.run(&["resize-window", "-x", &cols.to_string(), "-y", &rows.to_string()]);
    }

    /// The value of a format of tmux, for example `#{alternate_on}`.
    pub fn format(&self, format: &str) -> String {
        self.run(&["display-message", "-p", format]).trim().to_owned()
    }

    /// Waits until the screen shows `wanted`.
    pub fn wait(&self, wanted: &str) -> String {
        self.wait_until(&format!("{wanted:?} on the screen"), |screen| screen.contains(wanted))
    }

    pub fn wait_until(&self, what: &str, mut look: impl FnMut(&str) -> bool) -> String {
        let mut last = String::new();
        let end = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if look(&screen) {
                return screen;
            }
            last.clone_from(&screen);
            assert!(Instant::now() < end, "waited {PATIENCE:?} in vain for {what}; the screen shows:\n{last}");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}
