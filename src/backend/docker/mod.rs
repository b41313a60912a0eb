//! Containers of docker-compatible engines.
//!
//! Where engines may be is found by [`places`]; each is an endpoint and a backend of its own. All connections are opened in
//! one place ([`dial`]): sockets of this machine, ports with and without encryption, and `ssh`.
//!
//! Everything that must outlive the host is with the engine: which environment a container is for stands in its labels
//! ([`labels`]), and only the generation of its last start is kept beside the environment's folders ([`record`]).
//! Terminals are streams of their own ([`hijack`]); what happens comes as events ([`watching`]).

mod address;
mod arrival;
mod body;
mod command;
pub mod contexts;
mod credentials;
mod details;
mod dial;
mod discover;
mod engine;
mod feed;
mod figures;
mod hijack;
mod hub;
mod image;
mod inside;
mod kin;
mod labels;
mod manage;
mod memory;
mod others;
mod own;
mod pace;
pub mod places;
mod record;
mod run;
mod session;
mod tls;
mod watched;
mod watching;

pub use address::{Address, Tls, same_place};
pub use kin::Kin;
pub use labels::profile as profile_label;
pub use places::{Place, Spot};

use super::details::{Details, Stats};
use super::{
    AttachSpec, Backend, BackendError, BackendEvent, Candidate, Capabilities, ExecLink, ExecSpec, Probe, Progress,
    ProvisionSpec, Result, Standing,
};
use crate::domain::{
    BackendKind, Chosen, EndpointId, Evidence, FailureKind, FoundSandbox, LiveProcess, Moment, Origin, SandboxId,
};
use crate::hermes::home::Places;
use crate::pty::PtyLink;
use bollard::query_parameters::ListContainersOptionsBuilder;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use manage::Inner;
use std::collections::BTreeSet;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Asks who answers at a place: what it is, for people, and the engine's own id, where it has one that lasts.
///
/// # Errors
/// Nobody does: why, and what to do next.
pub async fn examine(place: &Place) -> std::result::Result<(String, Option<String>), (String, String)> {
    match engine::connect(place).await {
        Ok(engine) => Ok((engine.description, engine.id)),
        Err(failed) => Err((failed.why, failed.hint)),
    }
}

/// Paths of the host that are mounted in any container at a place, running or not.
///
/// # Errors
/// It does not answer: why.
pub async fn mounted(place: &Place) -> std::result::Result<BTreeSet<PathBuf>, String> {
    let engine = engine::connect(place).await.map_err(|failed| failed.why)?;
    let options = ListContainersOptionsBuilder::default().all(true).build();
    let listed = engine.docker.list_containers(Some(options)).await.map_err(|error| error.to_string())?;
    let mounts = listed.into_iter().flat_map(|one| one.mounts.unwrap_or_default());
    Ok(mounts.filter_map(|mount| mount.source.map(PathBuf::from)).collect())
}

/// What the docker backend needs to know.
#[derive(Clone, Debug)]
pub struct DockerConfig {
    /// Data directory of the profile; containers carry a hash of its path.
    pub data_dir: PathBuf,
    /// Its endpoint.
    pub spot: Spot,
    /// The other endpoints of the same host.
    pub kin: Kin,
    /// The folder of the docker command line's configuration, for the credentials of registries.
    pub credentials: Option<PathBuf>,
    /// Shell to use instead of the first found.
    pub shell: Option<String>,
    /// After TERM, how long a container may take before KILL.
    pub stop_grace: Duration,
    /// Where hermes-agents keep their files.
    pub homes: Places,
}

impl DockerConfig {
    /// With every default, at the endpoint that is meant where none is named, by the process's variables alone.
    pub fn new(data_dir: impl Into<PathBuf>, variable: places::Variable<'_>) -> Self {
        let spot = Spot {
            id: EndpointId::new(places::MAIN),
            places: places::usual_places(variable),
            expected: true,
            waits: false,
        };
        let homes = Places::new(variable);
        Self { credentials: contexts::config_folder(variable), homes, ..Self::at(data_dir, spot, Kin::default()) }
    }

    /// With every default, at this endpoint.
    pub fn at(data_dir: impl Into<PathBuf>, spot: Spot, kin: Kin) -> Self {
        Self {
            data_dir: data_dir.into(),
            spot,
            kin,
            credentials: None,
            homes: Places::default(),
            shell: None,
            stop_grace: Duration::from_secs(10),
        }
    }
}

/// Containers of one engine. Cheap to drop: what runs, runs on, and another one finds it again.
pub struct DockerBackend {
    inner: Arc<Inner>,
}

impl DockerBackend {
    /// The backend of one profile. Touches nothing yet.
    #[must_use]
    pub fn new(config: DockerConfig) -> Self {
        Self { inner: Arc::new(Inner::new(config)) }
    }

    /// How often an engine was looked for until now.
    #[must_use]
    pub fn tries(&self) -> u64 {
        self.inner.engines.tries()
    }

    /// Runs to its end even if whoever waits for it does not: half a start or stop helps nobody.
    fn to_the_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        Box::pin(async move {
            tokio::spawn(work).await.unwrap_or_else(|error| {
                Err(BackendError::new(FailureKind::Temporary, format!("the work was cut off: {error}"), "try again"))
            })
        })
    }
}

impl Backend for DockerBackend {
    fn kind(&self) -> BackendKind {
        BackendKind::Docker
    }

    fn endpoint(&self) -> EndpointId {
        self.inner.config.spot.id.clone()
    }

    fn standing(&self) -> Standing {
        self.inner.engines.standing()
    }

    fn described(&self) -> Option<String> {
        self.inner.engines.current().map(|engine| engine.whole_description())
    }

    fn address(&self) -> Option<String> {
        self.inner.engines.address().map(ToString::to_string)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { restart: true, images: true, outlives_host: true }
    }

    fn probe(&self) -> BoxFuture<'_, Result<Probe>> {
        Box::pin(async move {
            let engine = self.inner.engine().await?;
            Ok(Probe { description: engine.whole_description(), unenforced: engine.unenforced.clone() })
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<FoundSandbox>>> {
        Box::pin(self.inner.list())
    }

    fn provision(&self, spec: ProvisionSpec, progress: Progress) -> BoxFuture<'_, Result<FoundSandbox>> {
        let inner = self.inner.clone();
        self.to_the_end(async move { inner.provision(spec, progress).await })
    }

    fn start(&self, sandbox: SandboxId, spec: ProvisionSpec) -> BoxFuture<'_, Result<FoundSandbox>> {
        let inner = self.inner.clone();
        self.to_the_end(async move { inner.start(&sandbox, spec).await })
    }

    fn stop(&self, sandbox: SandboxId, whose: Origin) -> BoxFuture<'_, Result<()>> {
        let inner = self.inner.clone();
        self.to_the_end(async move { inner.stop(&sandbox, whose).await })
    }

    fn remove(&self, sandbox: SandboxId, whose: Origin) -> BoxFuture<'_, Result<()>> {
        let inner = self.inner.clone();
        self.to_the_end(async move { inner.remove(&sandbox, whose).await })
    }

    fn inspect(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Option<FoundSandbox>>> {
        Box::pin(async move { self.inner.inspect(&sandbox).await })
    }

    fn details(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Option<Details>>> {
        Box::pin(async move { self.inner.details(&sandbox).await })
    }

    fn stats(&self, sandbox: SandboxId) -> BoxStream<'static, Stats> {
        details::stats(self.inner.clone(), sandbox)
    }

    fn evidence(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Evidence>> {
        Box::pin(async move {
            let (engine, _) = self.inner.running_any(&sandbox).await?;
            match self.inner.ask(&sandbox, &[inside::SCAN]).await {
                Ok(Some(scan)) => {
                    let in_flight = self.inner.in_flight.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    Ok(inside::weigh(&scan, &in_flight))
                }
                Ok(None) => Err(manage::missing(&sandbox)),
                // Without a shell there are no sessions and no commands of ours: all but init and main counts.
                Err(error) if error.kind == FailureKind::Permanent => {
                    let rows = self.inner.processes(&engine, sandbox.as_str()).await?;
                    let now = jiff::Timestamp::now().as_millisecond();
                    let live = |row: manage::Process| LiveProcess {
                        pid: row.pid,
                        command: row.command,
                        started: Moment(u64::try_from(now).unwrap_or(0).saturating_sub(row.seconds * 1000)),
                    };
                    Ok(Evidence { processes: rows.into_iter().skip(2).map(live).collect(), ..Evidence::default() })
                }
                Err(error) => Err(error),
            }
        })
    }

    fn attach(&self, sandbox: SandboxId, spec: AttachSpec) -> BoxFuture<'_, Result<PtyLink>> {
        // A session that nobody takes any more would be one without a pane.
        Box::pin(session::attach(self.inner.clone(), sandbox, spec))
    }

    fn exec(&self, sandbox: SandboxId, spec: ExecSpec) -> BoxFuture<'_, Result<ExecLink>> {
        Box::pin(command::exec(self.inner.clone(), sandbox, spec))
    }

    fn candidates(&self) -> BoxFuture<'_, Result<Vec<Candidate>>> {
        Box::pin(self.inner.candidates())
    }

    fn choose(&self, chosen: Chosen) {
        self.inner.others.choose(chosen);
    }

    fn watch(&self) -> BoxStream<'static, BackendEvent> {
        watching::watch(self.inner.clone())
    }
}
