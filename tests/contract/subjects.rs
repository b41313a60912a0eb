//! The backends under test, and what only each of them can do to itself.

use futures_util::future::BoxFuture;
use hermes_tui::backend::fake::FakeBackend;
use hermes_tui::backend::{Backend, ProvisionSpec};
use hermes_tui::domain::{EnvId, EnvSpec, Generation, Origin, SandboxId};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A backend and its surroundings.
pub trait Subject: Send + Sync {
    /// A backend object over these surroundings: another call is what another host would see.
    fn backend(&self) -> Arc<dyn Backend>;

    /// Where the environments' folders are.
    fn data(&self) -> PathBuf;

    /// A program that gives back what is typed, byte for byte, and what it prints when it is ready for that.
    fn echo(&self) -> (Vec<String>, Vec<u8>);

    /// A program that prints `ROWS COLS` at its start and after each resize.
    fn sizes(&self) -> Vec<String>;

    /// A program with children, some of them deaf to HUP, that prints this when all are there.
    fn crowd(&self) -> (Vec<String>, Vec<u8>);

    /// Puts things there that look a little like sandboxes but are not ours.
    fn litter(&self);

    /// Ends a sandbox from outside.
    fn kill_outside(&self, sandbox: &SandboxId);

    /// Makes it impossible to ask for sandboxes.
    fn break_down(&self);

    /// The opposite.
    fn repair(&self);

    /// Removes whatever the test made.
    fn end(&self) -> BoxFuture<'_, ()>;

    /// What to make for an environment.
    fn wanted(&self, env: &str, generation: u64) -> ProvisionSpec {
        wanted(&self.data(), env, generation, EnvSpec::local())
    }
}

fn wanted(data: &Path, env: &str, generation: u64, spec: EnvSpec) -> ProvisionSpec {
    let folder = data.join("envs").join(env);
    ProvisionSpec {
        env: EnvId::new(env),
        name: format!("name of {env}"),
        generation: Generation(generation),
        spec,
        home: folder.join("home"),
        workspace: folder.join("workspace"),
        conversation: None,
    }
}

fn argv(words: &[&str]) -> Vec<String> {
    words.iter().map(|one| (*one).to_owned()).collect()
}

/// The fake: the strictest, in memory.
pub struct Fake {
    backend: FakeBackend,
    folder: tempfile::TempDir,
}

impl Fake {
    pub async fn new() -> Option<Self> {
        Some(Self { backend: FakeBackend::local(), folder: tempfile::tempdir().expect("a folder") })
    }
}

impl Subject for Fake {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::new(self.backend.clone())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    fn echo(&self) -> (Vec<String>, Vec<u8>) {
        (argv(&["cat"]), Vec::new())
    }

    fn sizes(&self) -> Vec<String> {
        argv(&["sizes"])
    }

    fn crowd(&self) -> (Vec<String>, Vec<u8>) {
        (argv(&["crowd"]), Vec::new())
    }

    fn litter(&self) {}

    fn kill_outside(&self, sandbox: &SandboxId) {
        self.backend.end_outside(sandbox, false, "it was killed");
    }

    fn break_down(&self) {
        self.backend.go_down("nobody answers");
    }

    fn repair(&self) {
        self.backend.come_up();
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.backend.settled())
    }
}

#[cfg(target_os = "linux")]
pub use docker::Engine;
#[cfg(target_os = "linux")]
pub use local::Local;

/// The programs where real ones run.
#[cfg(target_os = "linux")]
mod scripts {
    use super::argv;

    pub fn echo() -> (Vec<String>, Vec<u8>) {
        (argv(&["sh", "-c", "stty raw -echo; printf ready; exec cat"]), b"ready".to_vec())
    }

    pub fn sizes() -> Vec<String> {
        // `wait` is the one thing that a shell leaves at once for a trap.
        let script = "trap 'stty size' WINCH; stty size; while :; do sleep 1000 & wait $!; kill $!; done";
        argv(&["sh", "-c", script])
    }

    pub fn crowd() -> (Vec<String>, Vec<u8>) {
        let script = "sleep 1001 & (trap '' HUP TERM; sleep 1002 & printf all; wait) & wait";
        (argv(&["sh", "-c", script]), b"all".to_vec())
    }
}

#[cfg(target_os = "linux")]
mod local {
    use super::{Arc, Backend, BoxFuture, Origin, PathBuf, SandboxId, Subject, scripts};
    use hermes_tui::backend::local::{LocalBackend, LocalConfig};
    use std::fs;
    use std::time::Duration;

    /// The embedded one, in a profile of its own.
    pub struct Local {
        folder: tempfile::TempDir,
    }

    impl Local {
        pub async fn new() -> Option<Self> {
            Some(Self { folder: tempfile::tempdir().expect("a folder") })
        }

        /// The pid of a sandbox's first process, from its record.
        fn first_process(&self, sandbox: &SandboxId) -> i32 {
            for entry in fs::read_dir(self.data().join("envs")).expect("environments") {
                let file = entry.expect("an entry").path().join("sandbox.json");
                let Ok(text) = fs::read(file) else { continue };
                let record: serde_json::Value = serde_json::from_slice(&text).expect("a record");
                if record["sandbox"] == sandbox.as_str() {
                    return record["ready"]["pid"].as_i64().expect("a pid") as i32;
                }
            }
            panic!("no record of {sandbox}");
        }
    }

    /// A test that failed half-way leaves no sandbox behind.
    impl Drop for Local {
        fn drop(&mut self) {
            for entry in fs::read_dir(self.data().join("envs")).into_iter().flatten().flatten() {
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

    impl Subject for Local {
        fn backend(&self) -> Arc<dyn Backend> {
            let exe = env!("CARGO_BIN_EXE_hermes-tui");
            let mut config = LocalConfig::new(exe, self.data(), self.folder.path().join("run"));
            config.stop_grace = Duration::from_millis(500);
            Arc::new(LocalBackend::new(config))
        }

        fn data(&self) -> PathBuf {
            self.folder.path().join("data")
        }

        fn echo(&self) -> (Vec<String>, Vec<u8>) {
            scripts::echo()
        }

        fn sizes(&self) -> Vec<String> {
            scripts::sizes()
        }

        fn crowd(&self) -> (Vec<String>, Vec<u8>) {
            scripts::crowd()
        }

        fn litter(&self) {
            let envs = self.data().join("envs");
            fs::create_dir_all(envs.join("stranger/home")).expect("a folder");
            fs::write(envs.join("a file"), "x").expect("a file");
            let other = self.folder.path().join("other/envs/e");
            fs::create_dir_all(&other).expect("a folder");
            fs::write(other.join("sandbox.json"), "{}").expect("a file");
        }

        fn kill_outside(&self, sandbox: &SandboxId) {
            let pid = nix::unistd::Pid::from_raw(self.first_process(sandbox));
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).expect("it is there");
        }

        fn break_down(&self) {
            let envs = self.data().join("envs");
            fs::rename(&envs, self.data().join("aside")).expect("moved aside");
            fs::write(&envs, "not a folder").expect("a file in its place");
        }

        fn repair(&self) {
            let envs = self.data().join("envs");
            fs::remove_file(&envs).expect("the file is there");
            fs::rename(self.data().join("aside"), &envs).expect("moved back");
        }

        fn end(&self) -> BoxFuture<'_, ()> {
            Box::pin(async {
                let backend = self.backend();
                for found in backend.list().await.expect("a list") {
                    backend.remove(found.sandbox, Origin::Managed).await.expect("removed");
                }
                let sockets = fs::read_dir(self.folder.path().join("run/sandboxes")).into_iter().flatten().count();
                assert_eq!(sockets, 0, "sockets are left behind");
            })
        }
    }
}

#[cfg(target_os = "linux")]
mod docker {
    use super::{Arc, Backend, BoxFuture, EnvSpec, PathBuf, ProvisionSpec, SandboxId, Subject, scripts, wanted};
    use crate::engine::{self, Cleaner, Image, Proxy};
    use crate::podman::{Mode, Podman};
    use hermes_tui::backend::docker::{DockerConfig, Place};
    use hermes_tui::domain::{BackendKind, EndpointId};

    /// Containers of an engine, in a profile of its own.
    pub struct Engine {
        proxy: Proxy,
        cleaner: Cleaner,
        podman: Option<Podman>,
        /// Of the proxy and the data.
        _folder: tempfile::TempDir,
    }

    impl Engine {
        /// The engine of this machine.
        pub async fn docker() -> Option<Self> {
            Some(Self::at(engine::socket()?, None).await)
        }

        pub async fn podman() -> Option<Self> {
            let podman = Podman::start(Mode::Rootful).await?;
            Some(Self::at(podman.socket.clone(), Some(podman)).await)
        }

        pub async fn rootless_podman() -> Option<Self> {
            let podman = Podman::start(Mode::Rootless).await?;
            Some(Self::at(podman.socket.clone(), Some(podman)).await)
        }

        async fn at(socket: PathBuf, podman: Option<Podman>) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let data = podman.as_ref().map_or_else(|| folder.path().join("data"), Podman::data);
            let proxy = Proxy::new(folder.path().join("engine.sock"), socket.clone());
            let mut config = DockerConfig::new(data, &|_| None);
            config.spot.places = vec![Place::socket(&proxy.path)];
            config.stop_grace = engine::GRACE;
            let image = Image::usual(&socket).await;
            Self { proxy, cleaner: Cleaner::new(config, socket, image), podman, _folder: folder }
        }
    }

    impl Subject for Engine {
        fn backend(&self) -> Arc<dyn Backend> {
            engine::backend(&self.cleaner.config)
        }

        fn data(&self) -> PathBuf {
            self.cleaner.config.data_dir.clone()
        }

        fn echo(&self) -> (Vec<String>, Vec<u8>) {
            scripts::echo()
        }

        fn sizes(&self) -> Vec<String> {
            scripts::sizes()
        }

        fn crowd(&self) -> (Vec<String>, Vec<u8>) {
            scripts::crowd()
        }

        fn litter(&self) {
            let (socket, image) = (&self.cleaner.socket, &self.cleaner.image.name);
            let name = format!("hermes-{}", &image[image.len() - 8..]);
            let made = engine::wait(engine::stranger(socket, image, &name, ("hermes-tui.profile", "another")));
            self.cleaner.others.lock().expect("whole").push(made);
        }

        fn kill_outside(&self, sandbox: &SandboxId) {
            engine::wait(engine::kill(&self.cleaner.socket, sandbox.as_str()));
        }

        fn break_down(&self) {
            self.proxy.close();
        }

        fn repair(&self) {
            self.proxy.open();
        }

        fn end(&self) -> BoxFuture<'_, ()> {
            Box::pin(async { self.cleaner.end().await })
        }

        fn wanted(&self, env: &str, generation: u64) -> ProvisionSpec {
            let spec = EnvSpec {
                backend: BackendKind::Docker,
                endpoint: EndpointId::new("docker"),
                image: Some(self.cleaner.image.name.clone()),
                ..EnvSpec::local()
            };
            let wanted = wanted(&self.data(), env, generation, spec);
            if let Some(podman) = &self.podman {
                podman.lend(&wanted.home);
                podman.lend(&wanted.workspace);
            }
            wanted
        }
    }
}
