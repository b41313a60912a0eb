//! Finds the engine's socket, connects and speaks the newest API that both sides know.

use super::super::{BackendError, Result};
use crate::domain::FailureKind;
use bollard::errors::Error;
use bollard::models::{SystemInfo, SystemInfoCgroupVersionEnum};
use bollard::{API_DEFAULT_VERSION, Docker};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// An engine that has not said anything by then does not answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// For saying who it is. Podman asks the system's package manager for that, each time.
const SELF_DESCRIPTION: Duration = Duration::from_secs(15);
/// Waiting for the head of a response; a stop waits for its grace period meanwhile.
const RESPONSE_SECONDS: u64 = 120;

/// A connection to an engine that answered.
pub struct Engine {
    /// The Engine API.
    pub docker: Docker,
    /// Its socket.
    pub socket: PathBuf,
    /// Product and version, for people.
    pub description: String,
    /// It is Podman: its API is that of docker, but for what `docs/podman.md` lists.
    pub podman: bool,
    /// Default limits that it cannot enforce, one sentence each.
    pub unenforced: Vec<String>,
}

/// The places where an engine may answer. The first that does is kept to for as long as the host lives: the list of
/// another engine would make every sandbox look lost.
pub struct Engines {
    sockets: Vec<PathBuf>,
    /// Where the engine that holds the sandboxes of this profile was found.
    memory: PathBuf,
    kept: OnceLock<PathBuf>,
    current: Mutex<Option<Arc<Engine>>>,
}

/// Where an engine may answer, best first: `DOCKER_HOST`, or the usual places.
///
/// # Errors
/// `DOCKER_HOST` names something that is no unix socket.
pub fn usual_sockets(variable: &dyn Fn(&str) -> Option<String>) -> std::result::Result<Vec<PathBuf>, String> {
    if let Some(host) = variable("DOCKER_HOST").filter(|host| !host.is_empty()) {
        return match host.strip_prefix("unix://") {
            Some(path) => Ok(vec![PathBuf::from(path)]),
            None => Err(format!("DOCKER_HOST is {host}, and only unix:// sockets can be used")),
        };
    }
    let own = variable("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let user = |name: &str| own.as_ref().map(|dir| dir.join(name));
    let system = |path: &str| Some(PathBuf::from(path));
    let all = [
        system("/var/run/docker.sock"),
        user("docker.sock"),
        user("podman/podman.sock"),
        system("/run/podman/podman.sock"),
    ];
    Ok(all.into_iter().flatten().collect())
}

impl Engines {
    /// At these sockets, best first; `memory` is the file that names the one in use.
    pub fn new(sockets: Vec<PathBuf>, memory: PathBuf) -> Self {
        Self { sockets, memory, kept: OnceLock::new(), current: Mutex::new(None) }
    }

    /// The engine. Connects if need be.
    ///
    /// # Errors
    /// Nobody answers; the message names every place tried and why it failed.
    pub async fn get(&self) -> Result<Arc<Engine>> {
        if let Some(engine) = self.current() {
            return Ok(engine);
        }
        let mut tried = Vec::new();
        for socket in self.places() {
            match connect(&socket).await {
                Ok(engine) => {
                    let engine = Arc::new(engine);
                    let _ = self.kept.set(socket);
                    *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(engine.clone());
                    return Ok(engine);
                }
                Err(why) => tried.push(format!("{}: {why}", socket.display())),
            }
        }
        Err(BackendError::new(
            FailureKind::Unreachable,
            format!("no container engine answers ({})", tried.join("; ")),
            "start docker or podman, or set DOCKER_HOST=unix:///path/of/its.sock",
        ))
    }

    fn current(&self) -> Option<Arc<Engine>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn places(&self) -> Vec<PathBuf> {
        if let Some(kept) = self.kept.get() {
            return vec![kept.clone()];
        }
        let remembered = std::fs::read_to_string(&self.memory).ok().map(|text| PathBuf::from(text.trim()));
        match remembered.filter(|path| self.sockets.contains(path)) {
            Some(path) => vec![path],
            None => self.sockets.clone(),
        }
    }

    /// From now on sandboxes are there.
    pub fn remember(&self, engine: &Engine) {
        let text = format!("{}\n", engine.socket.display());
        if std::fs::read_to_string(&self.memory).is_ok_and(|known| known == text) {
            return;
        }
        if let Some(folder) = self.memory.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        if let Err(error) = std::fs::write(&self.memory, text) {
            tracing::warn!("cannot write {}: {error}", self.memory.display());
        }
    }

    /// No sandbox is there any more: another engine may be found at the next start.
    pub fn forget(&self) {
        let _ = std::fs::remove_file(&self.memory);
    }

    /// A stream that ended: the engine did, or starts again.
    pub fn hung_up(&self) -> BackendError {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
        BackendError::new(
            FailureKind::Unreachable,
            "the engine ended the connection",
            "it is taken up again by itself as soon as it answers",
        )
    }

    /// What an error means. One of the connection makes the next call connect anew.
    pub fn failed(&self, what: &str, error: &Error) -> BackendError {
        match error {
            Error::DockerResponseServerError { status_code, message } => refused(what, *status_code, message),
            Error::DockerStreamError { error } => refused(what, 500, error),
            Error::JsonDataError { message, .. } => {
                refused(what, 500, &format!("its answer was not understood: {message}"))
            }
            other => {
                *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
                BackendError::new(
                    FailureKind::Unreachable,
                    format!("{what} failed: the engine does not answer: {other}"),
                    "check that docker runs; it is taken up again by itself as soon as it answers",
                )
            }
        }
    }
}

fn refused(what: &str, status: u16, message: &str) -> BackendError {
    let message = message.trim().trim_end_matches(": unknown");
    let (kind, hint) = match status {
        400 | 403 => (FailureKind::Permanent, "correct what was asked for"),
        404 => (FailureKind::Surprise, "list the environments again; it may have been removed"),
        409 => (FailureKind::Surprise, "list the environments again; somebody else may be at work there"),
        _ if message.contains("init binary not found") => {
            (FailureKind::Permanent, "install podman's init, the package catatonit")
        }
        _ if message.contains("no space left") => (FailureKind::Permanent, "free some space, then try again"),
        _ => (FailureKind::Temporary, "try again; the engine's log says more"),
    };
    BackendError::new(kind, format!("{what} failed: {message}"), hint)
}

async fn connect(socket: &Path) -> std::result::Result<Engine, String> {
    if !socket.exists() {
        return Err("no such socket".into());
    }
    let text = socket.to_str().ok_or("its path is not UTF-8")?;
    let docker =
        Docker::connect_with_unix(text, RESPONSE_SECONDS, API_DEFAULT_VERSION).map_err(|error| error.to_string())?;
    within(PATIENCE, docker.ping()).await?;
    let work = async {
        let docker = docker.negotiate_version().await?;
        let (version, info) = tokio::try_join!(docker.version(), docker.info())?;
        Ok::<_, Error>((docker, version, info))
    };
    let (docker, version, info) = within(SELF_DESCRIPTION, work).await?;
    let podman = version.components.iter().flatten().any(|one| one.name.to_lowercase().contains("podman"));
    // Podman says that it has all of them where it ignores them: for an ordinary user on cgroup v1. Its socket tells whose
    // it is.
    let rootless = || std::fs::metadata(socket).is_ok_and(|file| std::os::unix::fs::MetadataExt::uid(&file) != 0);
    let ignores_limits = podman && info.cgroup_version == Some(SystemInfoCgroupVersionEnum::_1) && rootless();
    let product = if podman { "podman" } else { "docker" };
    let description =
        format!("{product} {} (API {})", version.version.unwrap_or_default(), version.api_version.unwrap_or_default());
    Ok(Engine {
        docker,
        socket: socket.to_owned(),
        description,
        podman,
        unenforced: all_unenforced(&info, ignores_limits),
    })
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = std::result::Result<T, Error>>,
) -> std::result::Result<T, String> {
    let late = |_| format!("no answer within {} s", limit.as_secs());
    tokio::time::timeout(limit, work).await.map_err(late)?.map_err(|error| error.to_string())
}

/// What is said of a limit that is not in force.
pub fn unenforced(what: &str) -> String {
    format!("this engine cannot enforce a limit of {what}")
}

fn all_unenforced(info: &SystemInfo, ignores_limits: bool) -> Vec<String> {
    let missing = |has: Option<bool>, what: &str| (ignores_limits || has == Some(false)).then(|| unenforced(what));
    let all = [
        missing(info.pids_limit, "processes"),
        missing(info.memory_limit, "memory"),
        missing(info.cpu_cfs_quota, "processor time"),
    ];
    all.into_iter().flatten().collect()
}

/// Whether the engine said that there is no such thing.
pub fn is_missing(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 404, .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docker_host_wins_and_the_usual_places_follow() {
        let sockets = usual_sockets(&|name| (name == "DOCKER_HOST").then(|| "unix:///x.sock".into()));
        assert_eq!(sockets, Ok(vec![PathBuf::from("/x.sock")]));
        assert!(usual_sockets(&|name| (name == "DOCKER_HOST").then(|| "tcp://x:1".into())).is_err());
        let sockets = usual_sockets(&|name| (name == "XDG_RUNTIME_DIR").then(|| "/run/user/1".into())).expect("places");
        assert_eq!(sockets[0], PathBuf::from("/var/run/docker.sock"));
        assert!(sockets.contains(&PathBuf::from("/run/user/1/podman/podman.sock")));
    }

    #[test]
    fn an_engine_that_holds_sandboxes_is_the_only_place_to_look() {
        let dir = tempfile::tempdir().expect("folder");
        let sockets = vec![PathBuf::from("/a"), PathBuf::from("/b")];
        let memory = dir.path().join("engine");
        std::fs::write(&memory, "/b\n").expect("written");
        assert_eq!(Engines::new(sockets.clone(), memory.clone()).places(), [PathBuf::from("/b")]);
        std::fs::write(&memory, "/elsewhere\n").expect("written");
        assert_eq!(Engines::new(sockets.clone(), memory).places(), sockets);
    }
}
