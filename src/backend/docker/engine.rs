//! Finds the engine of an endpoint, connects and speaks the newest API that both sides know.

use super::super::{BackendError, Result, Standing};
use super::address::Address;
use super::dial::Dialer;
use super::kin::Kin;
use super::memory::Memory;
use super::places::{MAIN, Place, Spot};
use crate::domain::{EndpointId, FailureKind};
use bollard::errors::Error;
use bollard::models::{SystemInfo, SystemInfoCgroupVersionEnum};
use bollard::{API_DEFAULT_VERSION, Docker};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// An engine of this machine that has not said anything by then does not answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same for one elsewhere.
const FAR_PATIENCE: Duration = Duration::from_secs(15);
/// For saying who it is. Podman asks the system's package manager for that, each time.
const SELF_DESCRIPTION: Duration = Duration::from_secs(15);
/// What helps where nobody answers.
const START: &str = "start docker or podman, or name another engine with --endpoint or DOCKER_HOST";

/// A connection to an engine that answered.
pub struct Engine {
    /// The Engine API.
    pub docker: Docker,
    /// Opens further connections to it.
    pub dialer: Dialer,
    /// Where it is.
    pub address: Address,
    /// Product and version, for people.
    pub description: String,
    /// It is Podman: its API is that of docker, but for what `docs/podman.md` lists.
    pub podman: bool,
    /// Its own id, where it has one that lasts.
    pub id: Option<String>,
    /// What images must be made for, as `linux/amd64`.
    pub platform: String,
    /// Default limits that it cannot enforce, one sentence each.
    pub unenforced: Vec<String>,
}

impl Engine {
    /// What it is and where, for people.
    pub fn whole_description(&self) -> String {
        format!("{} at {}", self.description, self.address)
    }
}

/// The engine of an endpoint: the first of its places that answers. It is kept to for as long as the host lives: the
/// list of another engine would make every sandbox look lost.
pub struct Engines {
    spot: Spot,
    kin: Kin,
    memory: Memory,
    kept: OnceLock<Place>,
    twin: OnceLock<EndpointId>,
    current: Mutex<Option<Arc<Engine>>>,
    tries: AtomicU64,
}

impl Engines {
    /// That of an endpoint.
    pub fn new(spot: Spot, kin: Kin, data_dir: &Path) -> Self {
        let engines = Self {
            spot,
            kin,
            memory: Memory::new(data_dir),
            kept: OnceLock::new(),
            twin: OnceLock::new(),
            current: Mutex::default(),
            tries: AtomicU64::new(0),
        };
        if let ([Place { address: Ok(address), .. }], true) = (engines.spot.places.as_slice(), engines.is_main()) {
            engines.kin.main_is(address);
        }
        engines
    }

    fn is_main(&self) -> bool {
        self.spot.id.as_str() == MAIN
    }

    /// The engine. Connects if need be.
    ///
    /// # Errors
    /// Nobody answers; the message names every place tried and why it failed.
    pub async fn get(&self) -> Result<Arc<Engine>> {
        if let Some(engine) = self.current() {
            return Ok(engine);
        }
        if let Some(twin) = self.twin() {
            return Err(same_as(&twin));
        }
        if self.spot.waits && self.kin.main().is_none() {
            return Err(nobody("no container engine answers".to_owned(), START));
        }
        self.tries.fetch_add(1, Ordering::Relaxed);
        let outcome = self.connect().await;
        if self.is_main() {
            self.kin.main_looked();
        }
        outcome
    }

    async fn connect(&self) -> Result<Arc<Engine>> {
        let mut tried = Vec::new();
        for place in self.places() {
            match connect(place).await {
                Ok(engine) => return self.take(place, engine).await,
                Err(failed) => tried.push((place, failed)),
            }
        }
        Err(not_found(&tried))
    }

    async fn take(&self, place: &Place, engine: Engine) -> Result<Arc<Engine>> {
        if let Some(id) = &engine.id {
            if !self.is_main() {
                self.kin.after_main().await;
            }
            // Where environments live already, they must be found again.
            if let (Err(other), false) = (self.kin.claim(id, &self.spot.id), self.is_home()) {
                let _ = self.twin.set(other.clone());
                return Err(same_as(&other));
            }
        }
        let engine = Arc::new(engine);
        let _ = self.kept.set(place.clone());
        if self.is_main() {
            self.kin.main_is(&engine.address);
        }
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(engine.clone());
        Ok(engine)
    }

    fn is_home(&self) -> bool {
        self.memory.knows(self.spot.id.as_str())
    }

    /// How often an engine was looked for.
    pub fn tries(&self) -> u64 {
        self.tries.load(Ordering::Relaxed)
    }

    /// The connection that there is.
    pub fn current(&self) -> Option<Arc<Engine>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The endpoint that stands for the same engine, if it is not this one.
    pub fn twin(&self) -> Option<EndpointId> {
        if let Some(twin) = self.twin.get() {
            return Some(twin.clone());
        }
        let main = self.kin.main().filter(|_| self.spot.waits)?;
        let same = |place: &Place| place.address.as_ref().is_ok_and(|own| own.canonical() == main);
        self.spot.places.iter().any(same).then(|| EndpointId::new(MAIN))
    }

    /// How it is to be listed.
    pub fn standing(&self) -> Standing {
        match self.twin() {
            Some(twin) => Standing::SameAs(twin),
            None if self.is_expected() => Standing::Listed,
            None => Standing::Unlisted,
        }
    }

    /// Whether it is news that it does not answer: somebody named it, or it did answer, or environments live there.
    pub fn is_expected(&self) -> bool {
        self.spot.expected || self.kept.get().is_some() || self.is_home()
    }

    /// Waits until it may be looked for: one of the usual places is none while `docker` may turn out to be it, and
    /// never where it is another endpoint.
    pub async fn my_turn(&self) {
        if self.spot.waits {
            self.kin.main_found().await;
        }
        if self.twin().is_some() {
            std::future::pending::<()>().await;
        }
    }

    /// Where it is looked for now, best first.
    pub fn places(&self) -> Vec<&Place> {
        match self.kept.get() {
            Some(kept) => vec![kept],
            None => self.spot.places.iter().collect(),
        }
    }

    /// Whether a container that says that it is of this endpoint is listed there and not here: two names may lead to one
    /// engine.
    pub fn is_of_another(&self, endpoint: &EndpointId) -> bool {
        *endpoint != self.spot.id && self.memory.knows(endpoint.as_str())
    }

    /// Where it is, once that is certain.
    pub fn address(&self) -> Option<&Address> {
        match self.places().as_slice() {
            [place] => place.address.as_ref().ok(),
            _ => None,
        }
    }

    /// From now on sandboxes are there.
    pub fn remember(&self, engine: &Engine) {
        self.memory.remember(self.spot.id.as_str(), &engine.address);
    }

    /// No sandbox is there any more: another engine may be found at the next start.
    pub fn forget(&self) {
        self.memory.forget(self.spot.id.as_str());
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

/// Why a place did not do.
pub struct Failed {
    /// Where.
    pub address: String,
    /// Why.
    pub why: String,
    /// What to do next.
    pub hint: String,
}

/// Asks who answers at a place.
///
/// # Errors
/// Nobody does, or it is no engine.
pub async fn connect(place: &Place) -> std::result::Result<Engine, Failed> {
    let address = match &place.address {
        Ok(address) => address,
        Err(why) => {
            let hint = format!("correct {}, or leave it out to use the usual places", place.origin);
            return Err(Failed { address: place.origin.clone(), why: why.clone(), hint });
        }
    };
    let failed = |why: String, hint: String| Failed { address: address.to_string(), why, hint };
    if let Some(path) = address.socket()
        && !path.exists()
    {
        return Err(failed("no such socket".to_owned(), START.to_owned()));
    }
    let dialer = Dialer::new(address).map_err(|why| failed(why, "check the certificates of this engine".to_owned()))?;
    let patience = if address.socket().is_some() { PATIENCE } else { FAR_PATIENCE };
    let not_asked = |asked: NotAsked| match asked {
        NotAsked::Failed(error) => {
            let text = error.to_string();
            // The number says nothing to people that the words do not.
            let why = text.split(" (os error").next().unwrap_or(&text).to_owned();
            failed(why, next_step(address, &error))
        }
        NotAsked::Late(limit) => {
            let why = format!("no answer within {} s", limit.as_secs());
            failed(why, "check that the engine is well, then try again".to_owned())
        }
    };
    let client = dialer.client(API_DEFAULT_VERSION).map_err(|error| not_asked(NotAsked::Failed(error)))?;
    within(patience, client.ping()).await.map_err(not_asked)?;
    let work = async {
        let docker = client.negotiate_version().await?;
        let (version, info) = tokio::try_join!(docker.version(), docker.info())?;
        Ok::<_, Error>((docker, version, info))
    };
    let (docker, version, info) = within(SELF_DESCRIPTION, work).await.map_err(not_asked)?;
    let podman = version.components.iter().flatten().any(|one| one.name.to_lowercase().contains("podman"));
    // Podman says that it has all of them where it ignores them: for an ordinary user on cgroup v1. Its socket tells whose
    // it is.
    let owned_by_another_than_root =
        |socket: &Path| std::fs::metadata(socket).is_ok_and(|file| std::os::unix::fs::MetadataExt::uid(&file) != 0);
    let rootless = || address.socket().is_some_and(owned_by_another_than_root);
    let ignores_limits = podman && info.cgroup_version == Some(SystemInfoCgroupVersionEnum::_1) && rootless();
    let product = if podman { "podman" } else { "docker" };
    let description =
        format!("{product} {} (API {})", version.version.unwrap_or_default(), version.api_version.unwrap_or_default());
    Ok(Engine {
        docker,
        dialer,
        address: address.clone(),
        description,
        // Podman makes up another one for each answer.
        id: info.id.clone().filter(|id| !podman && !id.is_empty()),
        platform: format!(
            "{}/{}",
            info.os_type.as_deref().unwrap_or("linux"),
            architecture(info.architecture.as_deref().unwrap_or_default())
        ),
        unenforced: all_unenforced(&info, ignores_limits),
        podman,
    })
}

/// As images name it; engines name it as the kernel does.
fn architecture(kernels: &str) -> &str {
    match kernels {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "i386" | "i686" => "386",
        "armv7l" | "armv6l" => "arm",
        other => other,
    }
}

fn next_step(address: &Address, error: &Error) -> String {
    let denied = matches!(error, Error::IOError { err } if err.kind() == std::io::ErrorKind::PermissionDenied);
    match address {
        Address::Unix(_) if denied => {
            "add yourself to the group of this socket (usually docker), then log in again".to_owned()
        }
        Address::Unix(_) => START.to_owned(),
        Address::Tcp { tls: None, .. } => {
            "check that the engine listens there, and whether it wants TLS (DOCKER_TLS_VERIFY, DOCKER_CERT_PATH)"
                .to_owned()
        }
        Address::Tcp { .. } => {
            "check that the engine listens there, and that the certificates name each other".to_owned()
        }
        Address::Ssh { user, host, port, .. } => {
            let user = user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
            let port = port.map(|port| format!("-p {port} ")).unwrap_or_default();
            format!("`ssh {port}{user}{host} docker version` must work without any question")
        }
    }
}

fn nobody(message: String, hint: &str) -> BackendError {
    BackendError::new(FailureKind::Unreachable, message, hint)
}

/// All places failed.
fn not_found(tried: &[(&Place, Failed)]) -> BackendError {
    match tried {
        [] => nobody(
            "no container engine is named, and the usual places are not looked at (usual_endpoints = false)".to_owned(),
            "name one with --endpoint URL or under [endpoints], or set usual_endpoints = true",
        ),
        [(place, failed)] if place.address.is_err() => {
            nobody(format!("{} cannot be used: {}", place.origin, failed.why), &failed.hint)
        }
        [(place, failed)] => {
            let said = format!("no container engine answers at {} ({}): {}", failed.address, place.origin, failed.why);
            nobody(said, &failed.hint)
        }
        many => {
            let all: Vec<String> = many.iter().map(|(_, one)| format!("{}: {}", one.address, one.why)).collect();
            nobody(format!("no container engine answers ({})", all.join("; ")), START)
        }
    }
}

fn same_as(other: &EndpointId) -> BackendError {
    nobody(format!("this is the same engine as the endpoint `{other}`"), &format!("use --endpoint {other}"))
}

/// Why an engine gave no answer.
enum NotAsked {
    Failed(Error),
    Late(Duration),
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = std::result::Result<T, Error>>,
) -> std::result::Result<T, NotAsked> {
    tokio::time::timeout(limit, work).await.map_err(|_| NotAsked::Late(limit))?.map_err(NotAsked::Failed)
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
