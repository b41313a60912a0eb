//! A profile in a temporary folder, the binary in it, and hosts that answer by script.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A fact that has not come about by then never will.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Looks until there is something to see.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// A profile of its own. A host that a command started in it is ended with it.
pub struct Profile {
    folder: tempfile::TempDir,
}

impl Profile {
    pub fn new() -> Self {
        Self { folder: tempfile::Builder::new().prefix("htui-").tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn socket(&self) -> PathBuf {
        self.path().join("run/host.sock")
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hermes-tui"));
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", self.path().join("home"))
            .env("HTUI_HOME", self.path())
            .env("TERM", "xterm-256color")
            // Whatever engine runs here and whatever it holds: no test that does not name it looks at it.
            .env("DOCKER_HOST", format!("unix://{}", self.path().join("no-engine.sock").display()))
            .env("HTUI_USUAL_ENDPOINTS", "false")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Outcome {
        Outcome::of(self.command(args).output().unwrap())
    }

    /// Starts a host in the foreground and waits until it answers.
    pub fn serve(&self) -> Host {
        let child = self.command(&["serve"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let host = Host(child);
        wait_for("the host's socket", || UnixStream::connect(self.socket()).ok());
        host
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        // A scripted host has no lock and ends with the test.
        if self.path().join("data/host.lock").exists() {
            let _ = self.command(&["shutdown"]).output();
        }
    }
}

/// A host that a test started.
pub struct Host(pub Child);

impl Drop for Host {
    fn drop(&mut self) {
        // In order, so that its sandboxes end with it. It gives up by itself on what does not end.
        if let (Ok(None), Ok(pid)) = (self.0.try_wait(), i32::try_from(self.0.id())) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        let _ = self.0.wait();
    }
}

/// How a run of the binary ended.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Outcome {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn json(&self) -> Value {
        let value: Value =
            serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"));
        assert_eq!(value["schema"], 1, "{self:?}");
        value
    }

    /// Checks the shape of an error as JSON, and gives it.
    pub fn error(&self, exit_code: i32, code: &str) -> Value {
        assert_eq!(self.code, exit_code, "{self:?}");
        let error = self.json()["error"].clone();
        assert_eq!(error["code"], code, "{self:?}");
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        assert!(error["hint"].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        error
    }
}

/// Starts a host that says hello, and answers every other message with what `script` makes of it.
pub fn scripted(profile: &Profile, script: impl Fn(&Value) -> Vec<Value> + Send + Sync + 'static) {
    let socket = profile.socket();
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(socket.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(socket).unwrap();
    let script = std::sync::Arc::new(script);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let script = script.clone();
            std::thread::spawn(move || converse(stream.unwrap(), &*script));
        }
    });
}

fn converse(stream: UnixStream, script: &dyn Fn(&Value) -> Vec<Value>) {
    let mut write = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap();
        let answers = match message["method"].as_str().unwrap() {
            "hello" => vec![result(&message, json!({"schema": 1, "protocol": 1}))],
            _ => script(&message),
        };
        for answer in answers {
            let _ = write.write_all(format!("{answer}\n").as_bytes());
        }
    }
}

pub fn result(message: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

pub fn failure(message: &Value, code: &str, text: &str) -> Value {
    let error = json!({"code": -32000, "message": text, "data": {"code": code, "hint": "do this next"}});
    json!({"jsonrpc": "2.0", "id": message["id"], "error": error})
}

pub fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}
