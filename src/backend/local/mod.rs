//! The embedded default: sandboxes from the kernel's own namespaces, and nothing else installed.
//!
//! On Linux the host starts `hermes-tui __sandbox` for each sandbox ([`inside`]); it speaks to its first process over
//! a socket ([`protocol`], [`client`]). What must outlive the host is in one record on the disk ([`record`]).
//! Elsewhere, and on the user's explicit word, a plain host shell is offered ([`on_host`]): not isolated.
#![allow(unsafe_code)]

mod on_host;
mod process;
mod protocol;
mod record;
mod shell;
mod weigh;

#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod sockets;

#[cfg(target_os = "linux")]
pub use inside::sandbox_main;
pub use protocol::SessionRow as KnownSession;

use super::{
    AttachSpec, Backend, BackendError, BackendEvent, Capabilities, ExecLink, ExecSpec, Probe, Progress, ProvisionSpec,
    Result, SandboxInfo,
};
use crate::domain::{
    BackendKind, EndpointId, EnvId, Evidence, FailureKind, FoundSandbox, LiveProcess, Moment, SandboxId,
};
use crate::pty::PtyLink;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use record::{Record, Records};
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast;

/// Events that a slow reader may fall behind before it gets a fresh snapshot instead.
const EVENT_BACKLOG: usize = 256;

/// What the local backend needs to know.
#[derive(Clone, Debug)]
pub struct LocalConfig {
    /// The hermes-tui program, started again for each sandbox.
    pub exe: PathBuf,
    /// Data directory of the profile; records are at `envs/ENVID/sandbox.json` below it.
    pub data_dir: PathBuf,
    /// Runtime directory of the profile, private to the user; sockets are below it.
    pub runtime_dir: PathBuf,
    /// Shell to use instead of the first found.
    pub shell: Option<String>,
    /// Whether a plain host shell may be made where an environment asks for it.
    pub allow_on_host: bool,
    /// After TERM, how long a sandbox may take before KILL.
    pub stop_grace: Duration,
    /// Without a host, a sandbox ends this long after its idle time.
    pub alone_grace: Duration,
    /// Most processes and threads in one sandbox.
    pub max_processes: u64,
}

impl LocalConfig {
    /// With every default.
    pub fn new(exe: impl Into<PathBuf>, data_dir: impl Into<PathBuf>, runtime_dir: impl Into<PathBuf>) -> Self {
        Self {
            exe: exe.into(),
            data_dir: data_dir.into(),
            runtime_dir: runtime_dir.into(),
            shell: None,
            allow_on_host: true,
            stop_grace: Duration::from_secs(2),
            alone_grace: Duration::from_secs(60),
            max_processes: 4096,
        }
    }
}

/// Sandboxes of this machine's kernel. Cheap to drop: what runs, runs on, and another one finds it again.
pub struct LocalBackend {
    inner: Arc<Inner>,
}

struct Inner {
    config: LocalConfig,
    records: Records,
    on_host: on_host::OnHost,
    #[cfg(target_os = "linux")]
    namespaces: namespaces::Namespaces,
    /// One change at a time for each environment.
    gates: Mutex<HashMap<EnvId, Arc<tokio::sync::Mutex<()>>>>,
    events: broadcast::Sender<BackendEvent>,
}

/// An error of the disk or the connection: the backend cannot be asked now, which says nothing about its sandboxes.
fn unreachable(error: &io::Error) -> BackendError {
    BackendError::new(
        FailureKind::Unreachable,
        format!("the local sandboxes cannot be looked up: {error}"),
        "check the data and runtime directories of hermes-tui (`hermes-tui config path`)",
    )
}

fn missing(sandbox: &SandboxId) -> BackendError {
    BackendError::new(
        FailureKind::Surprise,
        format!("there is no local sandbox {sandbox}"),
        "list the environments again; it may have been removed",
    )
}

fn stopped(sandbox: &SandboxId) -> BackendError {
    BackendError::new(
        FailureKind::Surprise,
        format!("the local sandbox {sandbox} does not run"),
        "start its environment first",
    )
}

impl LocalBackend {
    /// The backend of one profile. Touches nothing yet.
    #[must_use]
    pub fn new(config: LocalConfig) -> Self {
        let events = broadcast::Sender::new(EVENT_BACKLOG);
        let inner = Inner {
            records: Records::new(&config.data_dir),
            on_host: on_host::OnHost::new(config.shell.clone()),
            #[cfg(target_os = "linux")]
            namespaces: namespaces::Namespaces::new(config.clone(), events.clone()),
            gates: Mutex::default(),
            config,
            events,
        };
        Self { inner: Arc::new(inner) }
    }

    /// The sessions that a sandbox runs, also those opened by an earlier host. Attach to one by its id to take it over.
    ///
    /// # Errors
    /// There is no such sandbox, or it cannot be asked.
    pub async fn sessions(&self, sandbox: &SandboxId) -> Result<Vec<KnownSession>> {
        let record = self.inner.record_of(sandbox)?.ok_or_else(|| missing(sandbox))?;
        if record.spec.on_host {
            return Ok(Vec::new());
        }
        #[cfg(target_os = "linux")]
        return self.inner.namespaces.sessions(&record).await;
        #[cfg(not(target_os = "linux"))]
        Ok(Vec::new())
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

impl Inner {
    fn gate(&self, env: &EnvId) -> Arc<tokio::sync::Mutex<()>> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        gates.entry(env.clone()).or_default().clone()
    }

    fn record_of(&self, sandbox: &SandboxId) -> Result<Option<Record>> {
        let all = self.records.all().map_err(|error| unreachable(&error))?;
        Ok(all.into_iter().find(|record| record.sandbox == *sandbox))
    }

    async fn runs(&self, record: &Record) -> Result<bool> {
        if record.spec.on_host {
            return Ok(self.on_host.runs(&record.sandbox));
        }
        #[cfg(target_os = "linux")]
        return self.namespaces.runs(record).await;
        #[cfg(not(target_os = "linux"))]
        Ok(false)
    }

    async fn info(&self, record: &Record) -> Result<SandboxInfo> {
        let runs = self.runs(record).await?;
        let found = record.found(runs);
        if record.spec.on_host {
            return Ok(on_host::info(found, &record.workspace));
        }
        #[cfg(target_os = "linux")]
        return Ok(namespaces::info(found, record));
        #[cfg(not(target_os = "linux"))]
        Ok(on_host::info(found, &record.workspace))
    }

    async fn list(&self) -> Result<Vec<FoundSandbox>> {
        let mut found = Vec::new();
        for record in self.records.all().map_err(|error| unreachable(&error))? {
            let runs = self.runs(&record).await?;
            found.push(record.found(runs));
        }
        Ok(found)
    }

    /// Makes a sandbox, or starts the one that is there.
    async fn bring_up(
        &self,
        existing: Option<SandboxId>,
        wanted: ProvisionSpec,
        progress: &Progress,
    ) -> Result<SandboxInfo> {
        let gate = self.gate(&wanted.env);
        let _turn = gate.lock().await;
        let known = self.records.read(&wanted.env).map_err(|error| unreachable(&error))?;
        if let Some(asked) = &existing {
            match &known {
                Some(record) if record.sandbox == *asked => {}
                Some(record) => {
                    return Err(BackendError::new(
                        FailureKind::Surprise,
                        format!("the environment {} has the sandbox {}, not {asked}", wanted.env, record.sandbox),
                        "list the environments again",
                    ));
                }
                None => return Err(missing(asked)),
            }
        }
        let mut record = match known {
            Some(record) => {
                let same = record.generation == wanted.generation;
                if self.runs(&record).await? {
                    return if same { self.info(&record).await } else { Err(other_generation(&record, &wanted)) };
                }
                if record.generation > wanted.generation {
                    return Err(other_generation(&record, &wanted));
                }
                let mut next = Record::new(record.sandbox, &wanted);
                next.ready = record.ready;
                next
            }
            None => Record::new(fresh_id(), &wanted),
        };
        for folder in [&record.home, &record.workspace] {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
                BackendError::new(
                    FailureKind::Permanent,
                    format!("cannot make {}: {error}", folder.display()),
                    "free some space, or check who owns the data directory",
                )
            })?;
        }
        // On the disk before anything runs: whatever happens next, the sandbox is listed.
        self.write(&record)?;
        if wanted.spec.on_host {
            if !self.config.allow_on_host {
                return Err(BackendError::new(
                    FailureKind::Permanent,
                    "plain host shells are switched off in the configuration",
                    "allow them there, or leave out --on-host",
                ));
            }
            self.on_host.start(&record);
            return self.info(&record).await;
        }
        progress("making the sandbox".into());
        #[cfg(target_os = "linux")]
        {
            record.ready = Some(self.namespaces.start(&record).await?);
            self.write(&record)?;
            if self.runs(&record).await? {
                return self.info(&record).await;
            }
            Err(BackendError::new(
                FailureKind::Temporary,
                format!("the sandbox of {} ended right after its start", record.name),
                "try again; `hermes-tui doctor` tells whether sandboxes work here",
            ))
        }
        #[cfg(not(target_os = "linux"))]
        {
            record.ready = None;
            Err(not_here())
        }
    }

    fn write(&self, record: &Record) -> Result<()> {
        self.records.write(record).map_err(|error| {
            BackendError::new(
                FailureKind::Temporary,
                format!("cannot write the record of {}: {error}", record.name),
                "free some space, or check who owns the data directory",
            )
        })
    }

    async fn stop(&self, sandbox: &SandboxId) -> Result<()> {
        let Some(record) = self.record_of(sandbox)? else { return Ok(()) };
        let gate = self.gate(&record.env);
        let _turn = gate.lock().await;
        self.stop_gated(&record.env, sandbox).await
    }

    async fn stop_gated(&self, env: &EnvId, sandbox: &SandboxId) -> Result<()> {
        // Read again: it may have been started or removed while we waited for our turn.
        let record = self.records.read(env).map_err(|error| unreachable(&error))?;
        let Some(record) = record.filter(|record| record.sandbox == *sandbox) else { return Ok(()) };
        if record.spec.on_host {
            return self.on_host.stop(&record.sandbox).await;
        }
        #[cfg(target_os = "linux")]
        return self.namespaces.stop(&record).await;
        #[cfg(not(target_os = "linux"))]
        Ok(())
    }

    async fn remove(&self, sandbox: &SandboxId) -> Result<()> {
        let Some(record) = self.record_of(sandbox)? else { return Ok(()) };
        let gate = self.gate(&record.env);
        let _turn = gate.lock().await;
        self.stop_gated(&record.env, sandbox).await?;
        let still = self.records.read(&record.env).map_err(|error| unreachable(&error))?;
        if still.is_some_and(|one| one.sandbox == *sandbox) {
            self.records.remove(&record.env).map_err(|error| unreachable(&error))?;
        }
        Ok(())
    }
}

/// A sandbox id: chance, as hexadecimal digits.
fn fresh_id() -> SandboxId {
    let mut text = uuid::Uuid::new_v4().simple().to_string();
    text.truncate(16);
    SandboxId::new(text)
}

fn other_generation(record: &Record, wanted: &ProvisionSpec) -> BackendError {
    BackendError::new(
        FailureKind::Surprise,
        format!(
            "the sandbox of {} is at generation {}, generation {} was asked for",
            record.name, record.generation.0, wanted.generation.0
        ),
        "stop the environment, then start it again",
    )
}

#[cfg(not(target_os = "linux"))]
fn not_here() -> BackendError {
    BackendError::new(
        FailureKind::Permanent,
        "local sandboxes need the namespaces of Linux, which this system does not have",
        "use the docker backend, or --on-host for a plain host shell, which is not isolated",
    )
}

fn as_evidence((rows, idle_shells): (Vec<protocol::ProcessRow>, u32)) -> Evidence {
    let processes = rows
        .into_iter()
        .map(|row| LiveProcess { pid: row.pid, command: row.command, started: Moment(row.started_ms) })
        .collect();
    Evidence { processes, execs: 0, idle_shells }
}

/// A command that could not be run: it says why on its errors and ends with 126 or 127, as a shell would have it.
fn not_run(code: i32, why: &str) -> ExecLink {
    ExecLink {
        stdin: Box::new(tokio::io::sink()),
        stdout: Box::new(tokio::io::empty()),
        stderr: Box::new(io::Cursor::new(format!("{why}\n").into_bytes())),
        exit: Box::pin(std::future::ready(code)),
        kill: Box::new(|| Box::pin(std::future::ready(()))),
    }
}

impl Backend for LocalBackend {
    fn kind(&self) -> BackendKind {
        BackendKind::Local
    }

    fn endpoint(&self) -> EndpointId {
        EndpointId::new("local")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { restart: true, images: false, outlives_host: false }
    }

    fn probe(&self) -> BoxFuture<'_, Result<Probe>> {
        Box::pin(async move {
            #[cfg(target_os = "linux")]
            return self.inner.namespaces.probe().await;
            #[cfg(not(target_os = "linux"))]
            Err(not_here())
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<FoundSandbox>>> {
        Box::pin(self.inner.list())
    }

    fn provision(&self, spec: ProvisionSpec, progress: Progress) -> BoxFuture<'_, Result<SandboxInfo>> {
        let inner = self.inner.clone();
        self.to_the_end(async move { inner.bring_up(None, spec, &progress).await })
    }

    fn start(&self, sandbox: SandboxId, spec: ProvisionSpec) -> BoxFuture<'_, Result<SandboxInfo>> {
        let inner = self.inner.clone();
        self.to_the_end(async move {
            let silent: Progress = Box::new(|_| {});
            inner.bring_up(Some(sandbox), spec, &silent).await
        })
    }

    fn stop(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<()>> {
        let inner = self.inner.clone();
        self.to_the_end(async move { inner.stop(&sandbox).await })
    }

    fn remove(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<()>> {
        let inner = self.inner.clone();
        self.to_the_end(async move { inner.remove(&sandbox).await })
    }

    fn inspect(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Option<SandboxInfo>>> {
        Box::pin(async move {
            match self.inner.record_of(&sandbox)? {
                Some(record) => self.inner.info(&record).await.map(Some),
                None => Ok(None),
            }
        })
    }

    fn evidence(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Evidence>> {
        Box::pin(async move {
            let record = self.inner.record_of(&sandbox)?.ok_or_else(|| missing(&sandbox))?;
            if record.spec.on_host {
                return self.inner.on_host.evidence(&sandbox);
            }
            #[cfg(target_os = "linux")]
            return self.inner.namespaces.evidence(&record).await;
            #[cfg(not(target_os = "linux"))]
            Err(not_here())
        })
    }

    fn attach(&self, sandbox: SandboxId, spec: AttachSpec) -> BoxFuture<'_, Result<PtyLink>> {
        Box::pin(async move {
            let record = self.inner.record_of(&sandbox)?.ok_or_else(|| missing(&sandbox))?;
            if record.spec.on_host {
                return self.inner.on_host.attach(&record, spec);
            }
            #[cfg(target_os = "linux")]
            return self.inner.namespaces.attach(&record, spec).await;
            #[cfg(not(target_os = "linux"))]
            Err(not_here())
        })
    }

    fn exec(&self, sandbox: SandboxId, spec: ExecSpec) -> BoxFuture<'_, Result<ExecLink>> {
        Box::pin(async move {
            let record = self.inner.record_of(&sandbox)?.ok_or_else(|| missing(&sandbox))?;
            if record.spec.on_host {
                return self.inner.on_host.exec(&record, spec);
            }
            #[cfg(target_os = "linux")]
            return self.inner.namespaces.exec(&record, spec).await;
            #[cfg(not(target_os = "linux"))]
            Err(not_here())
        })
    }

    fn watch(&self) -> BoxStream<'static, BackendEvent> {
        let inner = self.inner.clone();
        let events = inner.events.subscribe();
        let watching = Watching { inner, events, next: Next::Snapshot, wait: FIRST_RETRY };
        Box::pin(stream::unfold(watching, |mut watching| async move {
            let event = watching.next().await?;
            Some((event, watching))
        }))
    }
}

/// Between looks at an endpoint that does not answer, at first and at most.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_secs(10);

/// What a watcher has still to say.
enum Next {
    /// A complete list.
    Snapshot,
    /// It was said that the endpoint is down.
    Retry,
    /// That it is up again; the list follows.
    List(Vec<FoundSandbox>),
    /// What happens.
    Forward,
}

struct Watching {
    inner: Arc<Inner>,
    events: broadcast::Receiver<BackendEvent>,
    next: Next,
    wait: Duration,
}

impl Watching {
    async fn next(&mut self) -> Option<BackendEvent> {
        loop {
            match std::mem::replace(&mut self.next, Next::Forward) {
                Next::Snapshot => match self.inner.list().await {
                    Ok(found) => return Some(BackendEvent::Snapshot(found)),
                    Err(error) => {
                        self.next = Next::Retry;
                        return Some(BackendEvent::Down(error.message));
                    }
                },
                Next::Retry => {
                    tokio::time::sleep(self.wait).await;
                    self.wait = (self.wait * 2).min(LAST_RETRY);
                    match self.inner.list().await {
                        Ok(found) => {
                            self.wait = FIRST_RETRY;
                            self.next = Next::List(found);
                            return Some(BackendEvent::Up);
                        }
                        Err(_) => self.next = Next::Retry,
                    }
                }
                Next::List(found) => return Some(BackendEvent::Snapshot(found)),
                Next::Forward => match self.events.recv().await {
                    Ok(event) => return Some(event),
                    Err(broadcast::error::RecvError::Lagged(_)) => self.next = Next::Snapshot,
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
            }
        }
    }
}
