//! Everything that can happen to the core.

use super::choices::Choices;
use super::environment::{EnvSpec, Environment, Origin, Persistence};
use super::evidence::Evidence;
use super::id::{CallId, ConversationId, EndpointId, EnvId, Generation, ReplyTo, SandboxId, SessionId};
use super::moment::{Moment, Span};
use super::request::Request;
use super::session::{Session, Size};
use super::told::Told;
use super::turn::{Call, Conversation};
use super::watched::{Consent, Watched};
use serde::{Deserialize, Serialize};

/// What kind of failure a backend reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The engine does not answer: decisions freeze.
    Unreachable,
    /// May work the next time: tried again with back-off.
    Temporary,
    /// Will not work without a change: wrong image, namespaces refused, disk full.
    Permanent,
    /// What was found is not what was expected (other id, other labels, just restarted, in use): nothing was done.
    Surprise,
}

/// Whether a sandbox runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxState {
    /// Running.
    Running,
    /// Its processes are there, but halted by somebody else.
    Paused,
    /// Exists, does not run.
    Stopped,
}

/// A sandbox as a backend's list shows it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FoundSandbox {
    /// Its id.
    pub sandbox: SandboxId,
    /// The environment that its label names.
    pub env: EnvId,
    /// The name that its label gives.
    pub name: String,
    /// Generation that it was made or started with, where the label or record says.
    pub generation: Generation,
    /// Whether it runs.
    pub state: SandboxState,
    /// What it was made from, where the label or record says.
    pub spec: Option<Box<EnvSpec>>,
    /// Persistence as seen from outside.
    pub persistence: Persistence,
    /// Who made it.
    #[serde(default)]
    pub origin: Origin,
    /// The conversation that its label or record says it was made for.
    #[serde(default)]
    pub conversation: Option<ConversationId>,
    /// What is known of it where somebody else made it.
    #[serde(default)]
    pub watched: Option<Box<Watched>>,
}

/// One thing that happened. Times come beside it, as `now` of [`super::State::apply`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Event {
    /// Somebody asks for something.
    Requested {
        /// Who waits for the answer.
        reply: ReplyTo,
        /// What is asked for.
        request: Request,
    },
    /// Whoever waited is gone. What it asked for goes on; nobody is answered.
    ReplyAbandoned(ReplyTo),

    /// A person pressed a key, pasted, scrolled or focused in a pane of this session.
    PersonActed {
        /// Where.
        session: SessionId,
        /// True when it was typed or pasted into the program.
        typed: bool,
    },
    /// A session's PTY is open.
    SessionOpened {
        /// Which.
        session: SessionId,
        /// Its generation.
        generation: Generation,
    },
    /// A session could not be opened.
    SessionFailed {
        /// Which.
        session: SessionId,
        /// Its generation.
        generation: Generation,
        /// One exact sentence.
        message: String,
    },
    /// A session's program ended, and every process of its session with it.
    SessionEnded {
        /// Which.
        session: SessionId,
        /// Its exit code.
        exit_code: Option<i32>,
    },
    /// A session's PTY has another size.
    SessionResized {
        /// Which.
        session: SessionId,
        /// The size.
        size: Size,
    },
    /// A session that ended is forgotten (its pane was closed).
    SessionForgotten(SessionId),
    /// A command ended, or could not be run.
    CallEnded {
        /// Which.
        call: CallId,
        /// Its exit code.
        exit_code: i32,
        /// Working directory after it, where known.
        cwd: Option<String>,
    },

    /// Whoever asked for a command waits for it no more: where it has not begun, it does not.
    CallGivenUp(CallId),

    /// A sandbox was made or started.
    Provisioned {
        /// For whom.
        env: EnvId,
        /// The generation asked for.
        generation: Generation,
        /// What was made.
        sandbox: SandboxId,
    },
    /// A sandbox could not be made or started.
    ProvisionFailed {
        /// For whom.
        env: EnvId,
        /// The generation asked for.
        generation: Generation,
        /// Kind.
        kind: FailureKind,
        /// What was tried and why it failed.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The look into a sandbox is back.
    EvidenceGathered {
        /// Of which.
        env: EnvId,
        /// The generation looked at.
        generation: Generation,
        /// What was found; an error text if the look failed.
        evidence: Result<Evidence, String>,
    },
    /// A stop or removal is confirmed ("not found" is success).
    TeardownDone {
        /// Of which.
        env: EnvId,
        /// The generation that ended.
        generation: Generation,
    },
    /// A stop or removal did not happen.
    TeardownFailed {
        /// Of which.
        env: EnvId,
        /// The generation.
        generation: Generation,
        /// Kind.
        kind: FailureKind,
        /// What was tried and why it failed.
        message: String,
    },
    /// A sandbox ended or was removed by somebody else.
    SandboxEnded {
        /// Which.
        sandbox: SandboxId,
        /// Its endpoint.
        endpoint: EndpointId,
        /// Whether it is gone, not only stopped.
        removed: bool,
        /// One sentence for people.
        why: String,
    },
    /// Somebody halted every process of a sandbox, or let them go on.
    SandboxPaused {
        /// Which.
        sandbox: SandboxId,
        /// Its endpoint.
        endpoint: EndpointId,
        /// Halted.
        paused: bool,
    },
    /// Somebody else began a command in a sandbox.
    ExecBegan {
        /// In which sandbox.
        sandbox: SandboxId,
        /// Its endpoint.
        endpoint: EndpointId,
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
    /// An agent's own records tell of one of its conversations.
    AgentTold(Told),
    /// What the user consents to, at the start of the host.
    ConsentGiven(Consent),
    /// A complete list of what an endpoint holds of ours. A list error is never a snapshot.
    Snapshot {
        /// The endpoint.
        endpoint: EndpointId,
        /// What it holds.
        found: Vec<FoundSandbox>,
    },
    /// An endpoint does not answer: every decision on it freezes.
    EndpointDown {
        /// Which.
        endpoint: EndpointId,
        /// Why.
        detail: String,
    },
    /// An endpoint answers again; a snapshot follows.
    EndpointUp(EndpointId),

    /// Time has come to the next deadline.
    DeadlineReached,
    /// The clock jumped, or the machine slept: nothing is reaped before 60 s and a fresh look.
    ClockJumped {
        /// By how much, as far as known.
        by: Span,
    },
    /// What the journal remembers, at the start of the host.
    Restored {
        /// Environments as last saved.
        environments: Vec<Environment>,
        /// Conversations as last saved.
        conversations: Vec<Conversation>,
        /// Pane sessions as last saved.
        #[serde(default)]
        sessions: Vec<Session>,
        /// Calls as last saved; those without an end are marked ended with 125.
        calls: Vec<Call>,
        /// What a person chose about sandboxes that are not ours.
        #[serde(default)]
        choices: Choices,
        /// When the journal was last written.
        saved_at: Moment,
    },
}
