//! A profile of its own on this machine, and helpers to look into its sandboxes.

use hermes_tui::backend::local::{LocalBackend, LocalConfig};
use hermes_tui::backend::{AttachSpec, Backend, ExecSpec, ProvisionSpec};
use hermes_tui::domain::{CallId, EnvId, EnvSpec, Evidence, Generation, Mount, Origin, SandboxId, SessionId, Size};
use hermes_tui::pty::PtyLink;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// For one test, and for one fact to come about. Far more than any takes.
pub const LIMIT: Duration = Duration::from_secs(90);
const DEADLINE: Duration = Duration::from_secs(20);

/// Names the program under test to a run as another user, who may not be able to read the build folder.
const EXE: &str = "HTUI_TEST_EXE";
/// An ordinary user that owns nothing on this machine.
const ORDINARY: u32 = 64_321;

static NAMES: AtomicU64 = AtomicU64::new(0);

/// What a command gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A profile.
pub struct Host {
    pub backend: LocalBackend,
    pub config: LocalConfig,
    pub folder: tempfile::TempDir,
}

/// Runs one of the tests above again as an ordinary user. Nothing to do unless we are root.
pub fn again_as_ordinary_user(test: &str) {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open to all");
    let suite = copied(&std::env::current_exe().expect("this program"), folder.path());
    let exe = copied(Path::new(env!("CARGO_BIN_EXE_hermes-tui")), folder.path());
    let own = folder.path().join("own");
    fs::create_dir(&own).expect("a folder");
    std::os::unix::fs::chown(&own, Some(ORDINARY), Some(ORDINARY)).expect("given away");
    let output = std::process::Command::new(suite)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", &own)
        .env("HOME", &own)
        .env(EXE, exe)
        .current_dir(&own)
        .gid(ORDINARY)
        .uid(ORDINARY)
        .output()
        .expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "as an ordinary user:\n{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A second name for a program where everybody can run it.
fn copied(program: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join(program.file_name().expect("a name"));
    if fs::hard_link(program, &copy).is_err() {
        fs::copy(program, &copy).expect("copied");
    }
    copy
}

/// Waits for a fact.
pub async fn until(what: &str, mut fact: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !fact().await {
        assert!(began.elapsed() < DEADLINE, "{what}: not within {DEADLINE:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A number that no other process of this machine has on its command line.
pub fn mark() -> String {
    let n = NAMES.fetch_add(1, Ordering::Relaxed);
    format!("{}.{}{n:03}", 900_000 + std::process::id() % 90_000, std::process::id())
}

/// Processes of the host whose command line holds this text. The search itself is none.
pub fn with_mark(mark: &str) -> Vec<i32> {
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<i32>().ok();
    let all = fs::read_dir("/proc").expect("/proc").flatten().filter_map(pid);
    let marked = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark)
    };
    all.filter(marked).collect()
}

/// Whether a process of the host lives: neither gone nor a zombie.
pub fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).is_some_and(|state| !"ZX".contains(state))
}

impl Host {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let exe = std::env::var_os(EXE).unwrap_or_else(|| env!("CARGO_BIN_EXE_hermes-tui").into());
        let mut config = LocalConfig::new(PathBuf::from(exe), folder.path().join("data"), folder.path().join("run"));
        config.stop_grace = Duration::from_millis(300);
        Self { backend: LocalBackend::new(config.clone()), config, folder }
    }

    /// Another host of the same profile.
    pub fn another(&self) -> LocalBackend {
        LocalBackend::new(self.config.clone())
    }

    pub fn wanted(&self, env: &str, generation: u64) -> ProvisionSpec {
        let folder = self.config.data_dir.join("envs").join(env);
        ProvisionSpec {
            env: EnvId::new(env),
            name: env.to_owned(),
            generation: Generation(generation),
            spec: EnvSpec::local(),
            home: folder.join("home"),
            workspace: folder.join("workspace"),
            conversation: None,
        }
    }

    pub async fn made(&self, env: &str) -> SandboxId {
        self.made_as(env, |_| {}).await
    }

    pub async fn made_as(&self, env: &str, change: impl FnOnce(&mut EnvSpec)) -> SandboxId {
        let mut wanted = self.wanted(env, 1);
        change(&mut wanted.spec);
        self.backend.provision(wanted, Box::new(|_| {})).await.expect("a sandbox").sandbox
    }

    /// Pids of a sandbox's first process and of its watcher, from the record.
    pub fn processes(&self, env: &str) -> (i32, i32) {
        let file = self.config.data_dir.join("envs").join(env).join("sandbox.json");
        let record: serde_json::Value = serde_json::from_slice(&fs::read(file).expect("a record")).expect("JSON");
        let pid = |name: &str| record["ready"][name].as_i64().expect("a pid") as i32;
        (pid("pid"), pid("watcher"))
    }

    pub async fn run(&self, sandbox: &SandboxId, argv: &[&str]) -> Output {
        let call = CallId::new(format!("call-{}", NAMES.fetch_add(1, Ordering::Relaxed)));
        let argv = argv.iter().map(|one| (*one).to_owned()).collect();
        let spec = ExecSpec { call, argv, env: Vec::new(), cwd: None };
        let mut link = self.backend.exec(sandbox.clone(), spec).await.expect("runs");
        drop(link.stdin);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let (a, b) = tokio::join!(link.stdout.read_to_end(&mut stdout), link.stderr.read_to_end(&mut stderr));
        a.and(b).expect("reads");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Output { code: link.exit.await, stdout: text(&stdout), stderr: text(&stderr) }
    }

    pub async fn sh(&self, sandbox: &SandboxId, script: &str) -> Output {
        self.run(sandbox, &["sh", "-c", script]).await
    }

    pub async fn session(&self, sandbox: &SandboxId, name: &str, program: &[&str]) -> PtyLink {
        attach(&self.backend, sandbox, name, program).await
    }

    pub async fn evidence(&self, sandbox: &SandboxId) -> Evidence {
        self.backend.evidence(sandbox.clone()).await.expect("evidence")
    }

    /// Removes every sandbox.
    pub async fn end(&self) {
        let backend = self.another();
        for found in backend.list().await.expect("a list") {
            backend.remove(found.sandbox, Origin::Managed).await.expect("removed");
        }
    }
}

/// A test that failed half-way leaves no sandbox behind.
impl Drop for Host {
    fn drop(&mut self) {
        for entry in fs::read_dir(self.config.data_dir.join("envs")).into_iter().flatten().flatten() {
            let Ok(text) = fs::read(entry.path().join("sandbox.json")) else { continue };
            let record: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
            let (pid, started) = (record["ready"]["pid"].as_i64(), record["ready"]["pid_started"].as_u64());
            if let (Some(pid), Some(started)) = (pid, started) {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                if stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(20)) == Some(&started.to_string()) {
                    let pid = nix::unistd::Pid::from_raw(pid as i32);
                    let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
                }
            }
        }
    }
}

pub async fn attach(backend: &LocalBackend, sandbox: &SandboxId, name: &str, program: &[&str]) -> PtyLink {
    backend.attach(sandbox.clone(), session(name, program)).await.expect("a session")
}

pub fn session(name: &str, program: &[&str]) -> AttachSpec {
    AttachSpec {
        session: SessionId::new(name),
        program: program.iter().map(|one| (*one).to_owned()).collect(),
        lead: Vec::new(),
        env: Vec::new(),
        cwd: None,
        size: Size { rows: 24, cols: 200 },
        resume: false,
    }
}

/// Adds what is shown inside.
pub fn mount(spec: &mut EnvSpec, source: impl Into<String>, target: &str, read_only: bool) {
    spec.mounts.push(Mount { source: source.into(), target: target.into(), read_only });
}

/// Types a line.
pub async fn type_line(link: &mut PtyLink, line: &str) {
    link.writer.write_all(format!("{line}\n").as_bytes()).await.expect("typed");
}

/// Reads until the output holds this text, and returns all of it.
pub async fn read_until(link: &mut PtyLink, text: &str) -> String {
    let mut seen = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let n = link.reader.read(&mut buffer).await.expect("reads");
        seen.extend_from_slice(&buffer[..n]);
        let so_far = String::from_utf8_lossy(&seen).into_owned();
        if so_far.contains(text) {
            return so_far;
        }
        assert_ne!(n, 0, "the output ended without {text:?}: {so_far}");
    }
}

/// Has this process, and what inherits that from it, pass over SIGINT and SIGHUP.
#[allow(unsafe_code, reason = "a disposition is set and no handler")]
pub fn ignore_interrupts() {
    use nix::sys::signal::{SigHandler, Signal, signal};
    for one in [Signal::SIGINT, Signal::SIGHUP] {
        // SAFETY: nothing runs in a handler.
        unsafe { signal(one, SigHandler::SigIgn) }.expect("ignored");
    }
}
