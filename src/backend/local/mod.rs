//! The embedded default: sandboxes from the kernel's own namespaces, and nothing else installed.
//!
//! On Linux the host starts `hermes-tui __sandbox` for each sandbox ([`inside`]); it speaks to its first process over
//! a socket ([`protocol`], [`client`]). What must outlive the host is in one record on the disk ([`record`]).
//! Elsewhere, and on the user's explicit word, a plain host shell is offered ([`on_host`]): not isolated.
#![allow(unsafe_code)]
// What describes a sandbox to its first process has no reader where there are none.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

mod details;
mod manage;
mod on_host;
mod process;
mod protocol;
mod record;
mod shell;
mod watching;
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

use super::details::Details;
use super::{
    AttachSpec, Backend, BackendError, BackendEvent, Capabilities, ExecLink, ExecSpec, Probe, Progress, ProvisionSpec,
    Result,
};
use crate::domain::{
    BackendKind, EndpointId, Evidence, FailureKind, FoundSandbox, LiveProcess, Moment, Origin, SandboxId,
};
use crate::pty::PtyLink;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use manage::Inner;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
        Self { inner: Arc::new(Inner::new(config)) }
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

    fn provision(&self, spec: ProvisionSpec, progress: Progress) -> BoxFuture<'_, Result<FoundSandbox>> {
        let inner = self.inner.clone();
        self.to_the_end(async move { inner.bring_up(None, spec, &progress).await })
    }

    fn start(&self, sandbox: SandboxId, spec: ProvisionSpec) -> BoxFuture<'_, Result<FoundSandbox>> {
        let inner = self.inner.clone();
        self.to_the_end(async move {
            let silent: Progress = Box::new(|_| {});
            inner.bring_up(Some(sandbox), spec, &silent).await
        })
    }

    fn stop(&self, sandbox: SandboxId, _whose: Origin) -> BoxFuture<'_, Result<()>> {
        let inner = self.inner.clone();
        self.to_the_end(async move { inner.stop(&sandbox).await })
    }

    fn remove(&self, sandbox: SandboxId, _whose: Origin) -> BoxFuture<'_, Result<()>> {
        let inner = self.inner.clone();
        self.to_the_end(async move { inner.remove(&sandbox).await })
    }

    fn inspect(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Option<FoundSandbox>>> {
        Box::pin(async move {
            match self.inner.record_of(&sandbox)? {
                Some(record) => self.inner.found(&record).await.map(Some),
                None => Ok(None),
            }
        })
    }

    fn details(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Option<Details>>> {
        Box::pin(async move { Ok(self.inner.record_of(&sandbox)?.as_ref().map(details::told)) })
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
        watching::watch(self.inner.clone())
    }
}
