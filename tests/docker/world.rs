//! A profile with a backend over the engine, and sessions and commands in its containers.

#![allow(dead_code)]

use super::engine::{self, Cleaner, Image};
use super::podman::{Mode, Podman};
use bollard::models::ContainerCreateBody;
use hermes_tui::backend::docker::{DockerBackend, DockerConfig, Place};
use hermes_tui::backend::{AttachSpec, Backend, ExecSpec, ProvisionSpec};
use hermes_tui::domain::{BackendKind, CallId, EndpointId, EnvId, EnvSpec, Generation, SandboxId, SessionId, Size};
use hermes_tui::pty::PtyLink;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// A fact that has not come about by then never will.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct World {
    pub folder: tempfile::TempDir,
    pub cleaner: Cleaner,
    pub backend: Arc<DockerBackend>,
    podman: Option<Podman>,
}

impl World {
    /// `None`, with a word, where no engine answers.
    pub async fn new() -> Option<Self> {
        let socket = engine::socket()?;
        let image = Image::usual(&socket).await;
        Some(Self::with(socket, image))
    }

    pub fn with(socket: std::path::PathBuf, image: Image) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = DockerConfig::new(folder.path().join("data"), &|_| None);
        config.spot.places = vec![Place::socket(&socket)];
        config.stop_grace = engine::GRACE;
        let backend = engine::backend(&config);
        Self { folder, cleaner: Cleaner::new(config, socket, image), backend, podman: None }
    }

    /// With a podman of its own. `None`, with a word, where that cannot run.
    pub async fn podman(mode: Mode) -> Option<Self> {
        let podman = Podman::start(mode).await?;
        let mut world = Self::with(podman.socket.clone(), Image::usual(&podman.socket).await);
        world.cleaner.config.data_dir = podman.data();
        world.backend = engine::backend(&world.cleaner.config);
        world.podman = Some(podman);
        Some(world)
    }

    /// One on each kind of engine that runs here.
    pub async fn on(which: &str) -> Option<Self> {
        match which {
            "docker" => Self::new().await,
            "podman" => Self::podman(Mode::Rootful).await,
            "rootless podman" => Self::podman(Mode::Rootless).await,
            other => panic!("no engine is called {other}"),
        }
    }

    pub fn wanted(&self) -> ProvisionSpec {
        let env = self.cleaner.config.data_dir.join("envs/e1");
        if let Some(podman) = &self.podman {
            podman.lend(&env.join("home"));
            podman.lend(&env.join("workspace"));
        }
        wanted(&env, &self.cleaner.image.name)
    }

    pub async fn sandbox(&self) -> SandboxId {
        let made = self.backend.provision(self.wanted(), Box::new(|_| {})).await;
        made.expect("a container").sandbox
    }

    /// A container of somebody else.
    pub async fn strange(&self, change: impl FnOnce(&mut ContainerCreateBody)) -> SandboxId {
        let made = engine::somebody_elses(&self.cleaner.socket, &self.cleaner.image.name, change).await;
        self.cleaner.others.lock().expect("whole").push(made.clone());
        SandboxId::new(made)
    }

    pub async fn open(&self, sandbox: &SandboxId, program: &[&str], size: Size) -> PtyLink {
        self.backend.attach(sandbox.clone(), session(program, size)).await.expect("a session")
    }

    /// Exit code, output and errors of a command.
    pub async fn run(&self, sandbox: &SandboxId, argv: &[&str]) -> (i32, String, String) {
        let mut link = self.backend.exec(sandbox.clone(), command(argv)).await.expect("it runs");
        drop(link.stdin);
        let (mut out, mut errors) = (String::new(), String::new());
        let (a, b) = tokio::join!(link.stdout.read_to_string(&mut out), link.stderr.read_to_string(&mut errors));
        a.and(b).expect("text");
        (link.exit.await, out, errors)
    }
}

/// A session of a program, or of a shell.
pub fn session(program: &[&str], size: Size) -> AttachSpec {
    AttachSpec {
        session: SessionId::new("s"),
        program: program.iter().map(|word| (*word).to_owned()).collect(),
        lead: Vec::new(),
        env: vec![("TERM".to_owned(), "xterm-256color".to_owned())],
        cwd: None,
        size,
        resume: false,
    }
}

pub fn command(argv: &[&str]) -> ExecSpec {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    ExecSpec { call: CallId::new("c"), argv, env: Vec::new(), cwd: None }
}

/// An environment with its files in this folder.
pub fn wanted(folder: &std::path::Path, image: &str) -> ProvisionSpec {
    ProvisionSpec {
        env: EnvId::new("e1"),
        name: "box".into(),
        generation: Generation(1),
        spec: EnvSpec {
            backend: BackendKind::Docker,
            endpoint: EndpointId::new("docker"),
            image: Some(image.to_owned()),
            ..EnvSpec::local()
        },
        home: folder.join("home"),
        workspace: folder.join("workspace"),
        conversation: None,
    }
}

/// Reads until the output holds this, and returns all of it.
pub async fn read_until(link: &mut PtyLink, wanted: &str) -> String {
    let mut seen = Vec::new();
    let read = async {
        loop {
            if String::from_utf8_lossy(&seen).contains(wanted) {
                return;
            }
            let n = link.reader.read_buf(&mut seen).await.expect("reads");
            assert_ne!(n, 0, "the output ended after {:?}", String::from_utf8_lossy(&seen));
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, read).await;
    assert!(in_time.is_ok(), "waited in vain for {wanted:?} after {:?}", String::from_utf8_lossy(&seen));
    String::from_utf8_lossy(&seen).into_owned()
}
