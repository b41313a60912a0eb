//! A container engine for tests: an image made from this machine's own programs, containers that are removed by their
//! exact ids, and a socket between a test and the engine that can be taken away.

#![allow(dead_code)]

use bollard::Docker;
use bollard::models::{ContainerCreateBody, HostConfig, ResourcesUlimits};
use bollard::query_parameters::{
    CreateContainerOptions, CreateContainerOptionsBuilder, CreateImageOptionsBuilder, InspectContainerOptions,
    KillContainerOptionsBuilder, ListContainersOptionsBuilder, RemoveContainerOptionsBuilder, RemoveImageOptions,
    StartContainerOptions,
};
use futures_util::StreamExt;
use hermes_tui::backend::docker::{DockerBackend, DockerConfig};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};

/// Fails in a run that needs every engine: something keeps a test from its own.
pub fn is_missing(what: &str) {
    let required = std::env::var("HTUI_TEST_DOCKER").is_ok_and(|value| value == "required");
    assert!(!required, "{what}, but HTUI_TEST_DOCKER says that every engine must be there");
}

/// The engine's own socket, or `None`, with a word, where no engine answers.
pub fn socket() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let config = DockerConfig::new("/nonexistent", &|name| std::env::var(name).ok());
        let sockets = config.spot.places.into_iter().filter_map(|place| Some(place.address.ok()?.socket()?.to_owned()));
        sockets.into_iter().find(|path| std::os::unix::net::UnixStream::connect(path).is_ok())
    });
    if found.is_none() {
        is_missing("no container engine answers");
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        eprintln!("SKIPPED: {test}: no container engine answers");
    }
    found.clone()
}

pub async fn client(socket: &Path) -> Docker {
    let docker = Docker::connect_with_unix(socket.to_str().expect("UTF-8"), 120, bollard::API_DEFAULT_VERSION);
    docker.expect("a client").negotiate_version().await.expect("an engine")
}

/// An image of bash and a handful of programs, made from this machine's own files. Removed at the end.
pub struct Image {
    pub name: String,
    socket: PathBuf,
}

impl Image {
    /// Makes it; `programs` are looked up here and put into `/bin`, with the libraries that they need.
    pub async fn make(socket: &Path, programs: &[&str]) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let tar = pack(root.path(), programs);
        // Podman 4.3 does not look at a tag that is given apart.
        let name = format!("htui-test:{}", uuid::Uuid::new_v4().simple());
        let options = CreateImageOptionsBuilder::default().from_src("-").repo(&name).build();
        let docker = client(socket).await;
        let mut events = docker.create_image(Some(options), Some(bollard::body_full(tar.into())), None);
        while let Some(event) = events.next().await {
            event.expect("the image is imported");
        }
        Self { name, socket: socket.to_owned() }
    }

    /// With what the contract needs.
    pub async fn usual(socket: &Path) -> Self {
        let programs = [
            "bash", "cat", "dash", "env", "head", "id", "ls", "mkdir", "mv", "printf", "seq", "setsid", "sleep",
            "stty", "touch", "tr", "true",
        ];
        Self::make(socket, &programs).await
    }

    pub async fn remove(&self) {
        let docker = client(&self.socket).await;
        docker.remove_image(&self.name, None::<RemoveImageOptions>, None).await.expect("the image is removed");
    }
}

fn pack(root: &Path, programs: &[&str]) -> Vec<u8> {
    let mut files = BTreeSet::new();
    for folder in ["bin", "etc", "proc", "root", "tmp"] {
        std::fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    for program in programs {
        let found = ["/usr/bin", "/bin"].iter().map(|dir| Path::new(dir).join(program)).find(|path| path.exists());
        let found = found.unwrap_or_else(|| panic!("{program} is not installed"));
        std::fs::copy(&found, root.join("bin").join(program)).expect("copied");
        let output = Command::new("ldd").arg(&found).output().expect("ldd runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        files.extend(said.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned));
    }
    if programs.contains(&"dash") {
        std::os::unix::fs::symlink("dash", root.join("bin/sh")).expect("a link");
    }
    for file in files {
        let to = root.join(&file[1..]);
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::copy(&file, to).expect("copied");
    }
    std::fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").expect("a file");
    let output = Command::new("tar").arg("-C").arg(root).args(["-c", "."]).output().expect("tar runs");
    assert!(output.status.success());
    output.stdout
}

/// A socket of the test's own in front of the engine's.
pub struct Proxy {
    pub path: PathBuf,
    engine: PathBuf,
    serving: Mutex<Option<JoinHandle<()>>>,
}

impl Proxy {
    pub fn new(path: PathBuf, engine: PathBuf) -> Self {
        let proxy = Self { path, engine, serving: Mutex::new(None) };
        proxy.open();
        proxy
    }

    pub fn open(&self) {
        let listener = UnixListener::bind(&self.path).expect("a socket");
        let engine = self.engine.clone();
        let serve = async move {
            let mut connections = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                let engine = engine.clone();
                connections.spawn(async move {
                    let far = UnixStream::connect(engine).await.expect("the engine");
                    let (near, far) = (near.into_split(), far.into_split());
                    let pass = |mut from: tokio::net::unix::OwnedReadHalf, mut to: tokio::net::unix::OwnedWriteHalf| async move {
                        // Dropping the writer passes the end on, in this direction only.
                        let _ = tokio::io::copy(&mut from, &mut to).await;
                    };
                    tokio::join!(pass(near.0, far.1), pass(far.0, near.1));
                });
            }
        };
        *self.serving.lock().expect("whole") = Some(tokio::spawn(serve));
    }

    /// The engine is gone, and every connection with it.
    pub fn close(&self) {
        if let Some(task) = self.serving.lock().expect("whole").take() {
            task.abort();
        }
        std::fs::remove_file(&self.path).expect("the socket is there");
    }
}

/// Ids of all containers of a profile.
pub async fn containers(docker: &Docker, backend: &DockerConfig) -> Vec<String> {
    let filters = HashMap::from([(
        "label".to_owned(),
        vec![format!("hermes-tui.profile={}", hermes_tui::backend::docker::profile_label(&backend.data_dir))],
    )]);
    let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
    let listed = docker.list_containers(Some(options)).await.expect("a list");
    listed.into_iter().filter_map(|one| one.id).collect()
}

/// A profile's containers end with the test, also when it failed half-way.
pub struct Cleaner {
    pub config: DockerConfig,
    pub socket: PathBuf,
    pub image: Image,
    /// Containers of the test that are not of the profile.
    pub others: Mutex<Vec<String>>,
}

impl Cleaner {
    pub fn new(config: DockerConfig, socket: PathBuf, image: Image) -> Self {
        Self { config, socket, image, others: Mutex::default() }
    }

    pub async fn end(&self) {
        self.remove_containers().await;
        self.image.remove().await;
    }

    async fn remove_containers(&self) {
        let docker = client(&self.socket).await;
        let mut all = containers(&docker, &self.config).await;
        all.append(&mut self.others.lock().expect("whole"));
        for id in all {
            let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
            docker.remove_container(&id, Some(options)).await.expect("the container is removed");
        }
    }
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The test's own runtime is on its way out.
            std::thread::scope(|scope| {
                let _ = scope
                    .spawn(|| {
                        let builder = tokio::runtime::Builder::new_current_thread().enable_all().build();
                        builder.expect("a runtime").block_on(self.end());
                    })
                    .join();
            });
        }
    }
}

/// Waits, in a test with several threads.
pub fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work))
}

/// A container that is none of ours, never started.
pub async fn stranger(socket: &Path, image: &str, name: &str, label: (&str, &str)) -> String {
    let body = ContainerCreateBody {
        image: Some(image.to_owned()),
        cmd: Some(vec!["true".to_owned()]),
        labels: Some(HashMap::from([(label.0.to_owned(), label.1.to_owned())])),
        ..ContainerCreateBody::default()
    };
    let options = CreateContainerOptionsBuilder::default().name(name).build();
    client(socket).await.create_container(Some(options), body).await.expect("made").id
}

/// Makes and starts one that is none of ours: its main command waits.
pub async fn somebody_elses(socket: &Path, image: &str, change: impl FnOnce(&mut ContainerCreateBody)) -> String {
    let limit = |name: &str, most| ResourcesUlimits { name: Some(name.into()), soft: Some(most), hard: Some(most) };
    let mut body = ContainerCreateBody {
        image: Some(image.to_owned()),
        cmd: Some(vec!["sleep".to_owned(), "100000".to_owned()]),
        host_config: Some(HostConfig {
            network_mode: Some("none".to_owned()),
            init: Some(true),
            ulimits: Some(vec![limit("nofile", 1024), limit("nproc", 4096)]),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    };
    change(&mut body);
    let docker = client(socket).await;
    let id = docker.create_container(None::<CreateContainerOptions>, body).await.expect("made").id;
    docker.start_container(&id, None::<StartContainerOptions>).await.expect("started");
    id
}

pub fn backend(config: &DockerConfig) -> Arc<DockerBackend> {
    Arc::new(DockerBackend::new(config.clone()))
}

pub async fn kill(socket: &Path, id: &str) {
    let options = KillContainerOptionsBuilder::default().signal("KILL").build();
    client(socket).await.kill_container(id, Some(options)).await.expect("killed");
}

pub async fn started_at(socket: &Path, id: &str) -> String {
    let found = client(socket).await.inspect_container(id, None::<InspectContainerOptions>).await.expect("it is there");
    found.state.and_then(|state| state.started_at).expect("a start")
}

/// For one stop.
pub const GRACE: Duration = Duration::from_secs(2);
