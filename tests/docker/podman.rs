//! Podman engines of a test's own: storage, configuration and socket are in one folder, and whatever runs there ends
//! with the test.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// As whom it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Rootful,
    Rootless,
}

/// Its limits are what this machine's engine may give without CAP_SYS_RESOURCE; it would ask for more.
const CONFIGURATION: &str = r#"[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
exit_command_delay = 10
"#;
/// For the service to answer, and to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running service.
pub struct Podman {
    pub socket: PathBuf,
    folder: tempfile::TempDir,
    user: Option<nix::unistd::User>,
    service: Child,
}

/// What more the engine is told. crun, which Podman prefers, starts nothing where version 2 of cgroups has controllers of
/// its own beside version 1; runc does.
fn runtime() -> &'static str {
    let controllers = fs::read_to_string("/sys/fs/cgroup/unified/cgroup.controllers").unwrap_or_default();
    if controllers.trim().is_empty() { "" } else { "runtime = \"runc\"\n" }
}

/// An ordinary user that has subordinate ids.
fn ordinary_user() -> Option<nix::unistd::User> {
    let all = fs::read_to_string("/etc/subuid").ok()?;
    let names = all.lines().filter_map(|line| line.split(':').next());
    names.filter_map(|name| nix::unistd::User::from_name(name).ok().flatten()).find(|user| !user.uid.is_root())
}

fn skip(why: &str) {
    crate::engine::is_missing(why);
    eprintln!("SKIPPED: {}: {why}", std::thread::current().name().unwrap_or("a test"));
}

impl Podman {
    /// `None`, with a word, where it cannot run.
    pub async fn start(mode: Mode) -> Option<Self> {
        if Command::new("podman").arg("--version").stdout(Stdio::null()).status().is_err() {
            skip("podman is not installed");
            return None;
        }
        let root = nix::unistd::geteuid().is_root();
        let user = match (mode, root) {
            (Mode::Rootful, true) => None,
            (Mode::Rootful, false) => {
                skip("only root can run podman as root");
                return None;
            }
            (Mode::Rootless, false) => None,
            (Mode::Rootless, true) => {
                let user = ordinary_user();
                if user.is_none() {
                    skip("no ordinary user has ids in /etc/subuid");
                    return None;
                }
                user
            }
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        for name in ["home", "run", "data"] {
            fs::create_dir(path.join(name)).expect("a folder");
        }
        fs::write(path.join("containers.conf"), CONFIGURATION.to_owned() + runtime()).expect("a file");
        fs::write(path.join("log"), "").expect("a file");
        if let Some(user) = &user {
            for name in ["", "home", "run", "data", "containers.conf", "log"] {
                std::os::unix::fs::chown(path.join(name), Some(user.uid.as_raw()), Some(user.gid.as_raw()))
                    .expect("given to the user");
            }
        }
        let socket = path.join("podman.sock");
        let mut command = podman(path, user.as_ref());
        command.args(["system", "service", "--time=0", &format!("unix://{}", socket.display())]);
        let log = || fs::File::options().append(true).open(path.join("log")).expect("a file");
        let service = command.stdin(Stdio::null()).stdout(log()).stderr(log()).spawn().expect("podman starts");
        let mut podman = Self { socket, folder, user, service };
        let end = Instant::now() + PATIENCE;
        while std::os::unix::net::UnixStream::connect(&podman.socket).is_err() {
            let said = || fs::read_to_string(podman.folder.path().join("log")).unwrap_or_default();
            let ended = podman.service.try_wait().expect("known");
            assert!(ended.is_none() && Instant::now() < end, "podman does not answer: {ended:?} {}", said());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Its first answer takes longer than any other.
        crate::engine::client(&podman.socket).await.info().await.expect("an answer");
        Some(podman)
    }

    /// A folder for what its containers mount.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Makes a folder below [`data`](Self::data) that its user owns, as the user's own host would.
    pub fn lend(&self, folder: &Path) {
        use std::os::unix::fs::DirBuilderExt;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).expect("a folder");
        let Some(user) = &self.user else { return };
        for one in folder.ancestors().take_while(|one| one.starts_with(self.data())) {
            std::os::unix::fs::chown(one, Some(user.uid.as_raw()), Some(user.gid.as_raw())).expect("given to the user");
        }
    }

    /// Processes that belong to this folder and to nothing else: the service, and a monitor for each container and
    /// exec, of which some outlive what they watched for a while.
    fn processes(&self) -> Vec<i32> {
        let folder = self.folder.path().to_str().expect("UTF-8");
        let all = fs::read_dir("/proc").expect("processes").flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let ours = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            let name = line.split('\0').next().and_then(|path| path.rsplit('/').next()).unwrap_or("");
            matches!(name, "podman" | "conmon") && line.contains(folder)
        };
        pids.filter(ours).collect()
    }
}

fn podman(folder: &Path, user: Option<&nix::unistd::User>) -> Command {
    let mut command = Command::new("podman");
    for (option, name) in [("--root", "root"), ("--runroot", "runroot"), ("--tmpdir", "tmp")] {
        command.arg(option).arg(folder.join(name));
    }
    command.args(["--storage-driver", "vfs"]);
    command.env("HOME", folder.join("home")).env("XDG_RUNTIME_DIR", folder.join("run"));
    command.env("CONTAINERS_CONF", folder.join("containers.conf")).current_dir(folder);
    for name in ["CONTAINER_HOST", "DOCKER_HOST", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    if let Some(user) = user {
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    command
}

impl Drop for Podman {
    fn drop(&mut self) {
        let kill = |pid: i32| {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
        };
        if std::thread::panicking() {
            let mut remove = podman(self.folder.path(), self.user.as_ref());
            let _ = remove.args(["rm", "--all", "--force", "--time", "0"]).stdout(Stdio::null()).status();
        }
        let end = Instant::now() + PATIENCE;
        loop {
            let left = self.processes();
            if left.is_empty() || Instant::now() > end {
                break;
            }
            left.into_iter().for_each(kill);
            let _ = self.service.try_wait();
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.service.wait();
        // What keeps the user namespace of an ordinary user.
        let pause = fs::read_to_string(self.folder.path().join("tmp/pause.pid")).unwrap_or_default();
        if let Ok(pid) = pause.trim().parse()
            && fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "catatonit")
        {
            kill(pid);
        }
    }
}
