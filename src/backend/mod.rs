//! Kinds of sandbox providers behind one trait.
//!
//! A new backend is one file, one line in the registry and one line in the contract test.

pub mod details;
pub mod docker;
pub mod fake;
pub mod files;
pub mod local;
pub mod registry;

use crate::domain::BackendKind;
use crate::domain::{
    CallId, Chosen, ConversationId, EndpointId, EnvId, EnvSpec, Evidence, FailureKind, FoundSandbox, Generation,
    Origin, SandboxId, SandboxState, SessionId, Size,
};
use crate::pty::PtyLink;
use details::{Details, Stats};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use std::path::PathBuf;
use tokio::io::{AsyncRead, AsyncWrite};

/// A failure of a backend: what was tried, why it failed, what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BackendError {
    /// Kind.
    pub kind: FailureKind,
    /// What was tried and why it failed.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

impl BackendError {
    /// A failure of the given kind.
    pub fn new(kind: FailureKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into() }
    }
}

/// Result of a backend's method.
pub type Result<T> = std::result::Result<T, BackendError>;

/// What a backend can do, asked before it is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// A stopped sandbox keeps its id and can be started.
    pub restart: bool,
    /// Sandboxes are made from images.
    pub images: bool,
    /// Sandboxes are left running when the host ends normally.
    pub outlives_host: bool,
}

/// How an endpoint is to be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As it is: it answers, or somebody expects it to.
    Listed,
    /// Not at all, unless something lives there: nobody named it, and nothing was ever there.
    Unlisted,
    /// As this one, which is the same engine.
    SameAs(EndpointId),
}

/// What a probe of an endpoint found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// For people: product and version, or the isolation in force.
    pub description: String,
    /// Limits that were asked for by default but cannot be enforced here, one sentence each.
    pub unenforced: Vec<String>,
}

/// What is to be made.
#[derive(Clone, Debug)]
pub struct ProvisionSpec {
    /// For whom.
    pub env: EnvId,
    /// Its name.
    pub name: String,
    /// The generation.
    pub generation: Generation,
    /// What was asked for.
    pub spec: EnvSpec,
    /// Folder on the host that becomes the home directory inside.
    pub home: PathBuf,
    /// Folder on the host that becomes `/workspace` inside.
    pub workspace: PathBuf,
    /// The conversation that it is made for, where it serves one alone.
    pub conversation: Option<ConversationId>,
}

/// A sandbox that nobody lists, but that the user may choose to have shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its full id.
    pub sandbox: SandboxId,
    /// The engine's name of it.
    pub name: String,
    /// Its image.
    pub image: Option<String>,
    /// Whether it runs.
    pub state: SandboxState,
}

/// A PTY session to open.
#[derive(Clone, Debug)]
pub struct AttachSpec {
    /// Which session.
    pub session: SessionId,
    /// Argument vector; empty means the shell found there.
    pub program: Vec<String>,
    /// What leads to a shell: a script with its arguments, which `sh -c` runs with the path of the shell behind them, and
    /// which becomes that shell. Empty, and of no meaning beside a program, where it begins as it is.
    pub lead: Vec<String>,
    /// Variables beside those of the sandbox.
    pub env: Vec<(String, String)>,
    /// Directory inside; `None` = `/workspace`.
    pub cwd: Option<String>,
    /// Size from the first byte on.
    pub size: Size,
    /// Only if it runs already: a host before this one opened it.
    pub resume: bool,
}

/// A command to run without a PTY.
#[derive(Clone, Debug)]
pub struct ExecSpec {
    /// Which call.
    pub call: CallId,
    /// Argument vector.
    pub argv: Vec<String>,
    /// Variables beside those of the sandbox.
    pub env: Vec<(String, String)>,
    /// Directory inside; `None` = `/workspace`.
    pub cwd: Option<String>,
}

/// A running command. Output streams are apart.
pub struct ExecLink {
    /// Its input; dropping it is end of file.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its output.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// Its errors.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// Exit code (126 not executable, 127 not found, 128 + signal).
    pub exit: BoxFuture<'static, i32>,
    /// Ends it: HUP or TERM, then KILL, to every process of its session.
    pub kill: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// What a backend's stream of events says.
#[derive(Clone, Debug, PartialEq)]
pub enum BackendEvent {
    /// A complete list; the first event of each connection.
    Snapshot(Vec<FoundSandbox>),
    /// A sandbox ended or was removed.
    Ended {
        /// Which.
        sandbox: SandboxId,
        /// Gone, not only stopped.
        removed: bool,
        /// One sentence for people.
        why: String,
    },
    /// Somebody halted every process of a sandbox, or let them go on.
    Paused {
        /// Which.
        sandbox: SandboxId,
        /// Halted.
        paused: bool,
    },
    /// Somebody else began a command in a sandbox.
    ExecBegan {
        /// In which.
        sandbox: SandboxId,
        /// The engine's id of the command.
        exec: CallId,
        /// The command, as plain as it can be told.
        command: String,
        /// Its working directory, where it can be told.
        cwd: Option<String>,
    },
    /// A command that somebody else began ended.
    ExecEnded {
        /// The engine's id of the command.
        exec: CallId,
        /// Its exit code, where it is known.
        exit_code: Option<i32>,
        /// The working directory after it, where it can be told.
        cwd: Option<String>,
    },
    /// The engine does not answer; the backend reconnects by itself.
    Down(String),
    /// It answers again; a snapshot follows.
    Up,
}

/// Progress of something slow, for people.
pub type Progress = Box<dyn Fn(String) + Send + Sync>;

/// A kind of sandbox provider at one endpoint.
pub trait Backend: Send + Sync {
    /// Kind.
    fn kind(&self) -> BackendKind;

    /// Endpoint.
    fn endpoint(&self) -> EndpointId;

    /// How the endpoint is to be listed.
    fn standing(&self) -> Standing {
        Standing::Listed
    }

    /// Whether to ask there at the start: it is to be listed, or what people expect to be found without naming it.
    fn counts(&self) -> bool {
        self.standing() == Standing::Listed || self.endpoint().as_str() == docker::places::MAIN
    }

    /// What a probe would say, where that is known already.
    fn described(&self) -> Option<String> {
        None
    }

    /// Where it is, as a URL, where it has one.
    fn address(&self) -> Option<String> {
        None
    }

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Whether it works here, and how.
    fn probe(&self) -> BoxFuture<'_, Result<Probe>>;

    /// All sandboxes that carry our label, this profile's only; those of hermes-agents; and those that the user chose.
    /// An unreachable engine is an error, never an empty list.
    fn list(&self) -> BoxFuture<'_, Result<Vec<FoundSandbox>>>;

    /// Makes a sandbox. Idempotent per environment and generation: twice yields one.
    fn provision(&self, spec: ProvisionSpec, progress: Progress) -> BoxFuture<'_, Result<FoundSandbox>>;

    /// Starts a stopped sandbox under a new generation. It keeps its id. One that is not ours is started as it is.
    fn start(&self, sandbox: SandboxId, spec: ProvisionSpec) -> BoxFuture<'_, Result<FoundSandbox>>;

    /// Stops it: TERM, then KILL after the grace period. A stopped or missing one is success.
    ///
    /// `whose` is the origin that the user's word or consent was given for; one of another origin is a surprise, and
    /// nothing is done to it.
    fn stop(&self, sandbox: SandboxId, whose: Origin) -> BoxFuture<'_, Result<()>>;

    /// Removes it, without force: it is stopped first. A missing one is success. Never deletes home or workspace.
    ///
    /// `whose` as for [`Backend::stop`].
    fn remove(&self, sandbox: SandboxId, whose: Origin) -> BoxFuture<'_, Result<()>>;

    /// Looks at one; `None` if there is no such sandbox.
    fn inspect(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Option<FoundSandbox>>>;

    /// All that can be told of one, for a person who looks at it; `None` if there is no such sandbox.
    fn details(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Option<Details>>>;

    /// What one uses, about once a second, for as long as somebody listens and it runs. Nothing where that cannot be told.
    fn stats(&self, _sandbox: SandboxId) -> BoxStream<'static, Stats> {
        Box::pin(futures_util::stream::empty())
    }

    /// Looks for what still lives in it (see [`Evidence`]).
    fn evidence(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Evidence>>;

    /// Opens a PTY session.
    fn attach(&self, sandbox: SandboxId, spec: AttachSpec) -> BoxFuture<'_, Result<PtyLink>>;

    /// Runs a command without a PTY.
    fn exec(&self, sandbox: SandboxId, spec: ExecSpec) -> BoxFuture<'_, Result<ExecLink>>;

    /// What it holds that is not listed: neither ours, nor a hermes-agent's, nor chosen. An unreachable engine is an
    /// error, never an empty list.
    fn candidates(&self) -> BoxFuture<'_, Result<Vec<Candidate>>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// The whole set of those that the user chose to have shown, also before they exist. From now on its list shows them
    /// with origin foreign, those that are known with the environment that they stand for, and where other ones were
    /// chosen than before, [`Backend::watch`] says so with a new snapshot.
    fn choose(&self, _chosen: Chosen) {}

    /// What happens there. Subscribes first, then lists, then forwards; never ends.
    fn watch(&self) -> BoxStream<'static, BackendEvent>;
}

/// Whether a state counts as running.
#[must_use]
pub fn runs(state: SandboxState) -> bool {
    state == SandboxState::Running
}
