//! What tests of the real binary share: a profile of their own, commands with a cleared environment, and tmux.

#![allow(dead_code)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The binary under test.
pub const EXE: &str = env!("CARGO_BIN_EXE_hermes-tui");
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
}

impl Profile {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("htui-").tempdir().expect("a temporary folder");
        Self { dir, host: None }
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

    /// Starts the host without a screen and waits until it answers.
    pub fn serve(&mut self) {
        let child = self.command(&["serve"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("serve starts");
        self.host = Some(child);
        self.wait_until_it_answers();
    }

    pub fn host_pid(&self) -> u32 {
        self.host.as_ref().expect("a host").id()
    }

    pub fn host(&mut self) -> &mut Child {
        self.host.as_mut().expect("a host")
    }

    /// Waits until a host of this profile answers.
    pub fn wait_until_it_answers(&self) {
        wait_for("the socket", PATIENCE, || self.socket().map(drop));
        let status = self.run(&["status"]);
        assert!(status.status.success(), "status: {}", text(&status));
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
        [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            ("HOME", home.as_str()),
            ("HTUI_HOME", home.as_str()),
            ("LANG", "C.UTF-8"),
            ("TERM", "xterm-256color"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .to_vec()
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

    pub fn env(&self, name: &str) -> Value {
        self.json(&["env", "show", name])["environment"].clone()
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

/// Whether tests may be skipped; in a required run a skip is a failure.
pub fn skip(what: &str) {
    assert!(std::env::var_os("HTUI_TEST_REQUIRED").is_none(), "{what}, but nothing may be skipped");
    eprintln!("SKIPPED: {what}");
}

/// A tmux server of the test's own that shows one program.
pub struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// `None`, with a word, where there is no tmux.
    pub fn start(profile: &Profile, cols: u16, rows: u16, command: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("tmux is not installed");
            return None;
        }
        let tmux = Self { socket: profile.path().join("tmux.sock") };
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
        tmux.wait("$");
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
