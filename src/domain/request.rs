//! What people and agents ask for, and what they are answered.
//!
//! New things carry ids made by the caller: the core makes no chance of its own.

use super::begin::Begin;
use super::effect::Deed;
use super::environment::EnvSpec;
use super::id::{CallId, ConversationId, EndpointId, EnvId, Generation, SandboxId, SessionId, TurnId};
use super::moment::Span;
use super::session::Size;
use super::turn::{CallSource, TurnStatus};
use serde::{Deserialize, Serialize};

/// Which environment a new turn uses.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TurnTarget {
    /// This one, by name or id (`--env-name`).
    Named(String),
    /// The conversation's own (found again by scope), else a new one from the spec. Fields that the caller set
    /// explicitly are named in `explicit` (`backend`, `persistence`, `scope`, `retention`, `idle`, `image`, `network`,
    /// `mounts`, `env`, `cpus`, `memory`, `endpoint`): where they differ from the existing environment, it is refused.
    Spec {
        /// What to make if there is none.
        spec: Box<EnvSpec>,
        /// Names of the fields that were asked for explicitly.
        explicit: Vec<String>,
    },
    /// As `Spec`, by a rule of the configuration.
    Ruled(Box<Ruled>),
}

/// What a rule of the configuration gives a turn.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ruled {
    /// Which one, for people, for example `rule 2 (kind = "cron")`.
    pub rule: String,
    /// The environment that all conversations of the rule are to have; `None` = each its own, by scope.
    pub common: Option<Common>,
    /// What to make if there is none.
    pub spec: EnvSpec,
    /// Names of the fields that were asked for explicitly, not by the rule.
    pub explicit: Vec<String>,
}

/// An environment that several conversations find by its name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Common {
    /// Its name.
    pub name: String,
    /// One of this name on another endpoint is meant, too, where there is none on that of the spec.
    pub anywhere: bool,
}

/// One request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Make an environment and its sandbox. Answered when ready or failed.
    NewEnvironment {
        /// Fresh id.
        id: EnvId,
        /// Its name; `None` picks a free one.
        name: Option<String>,
        /// What it shall be.
        spec: Box<EnvSpec>,
    },
    /// Start a stopped, absent, lost or failed one. Answered when ready or failed.
    Start(EnvId),
    /// Stop by a person's word. Refused while held unless `force`. Answered when confirmed.
    Stop {
        /// Which.
        env: EnvId,
        /// Also while held: ends what runs in it.
        force: bool,
    },
    /// Remove by a person's word. Refused while held unless `force`. Answered when confirmed.
    Remove {
        /// Which.
        env: EnvId,
        /// Also while held.
        force: bool,
        /// Also its files.
        data: bool,
    },
    /// Stop or remove one that is not ours, by the word of a person who was told what follows. Refused while held unless
    /// `force`. Answered when confirmed.
    EndOther {
        /// Which.
        env: EnvId,
        /// What to do.
        deed: Deed,
        /// Also while held.
        force: bool,
    },
    /// Show a container that somebody else made. Answered with its environment when it is listed.
    Adopt {
        /// Where.
        endpoint: EndpointId,
        /// Its name or full id.
        container: String,
    },
    /// Show a chosen one no longer. Nothing happens to it.
    Forget(EnvId),
    /// Stop the clock until unpinned.
    Pin(EnvId),
    /// Take the pin away.
    Unpin(EnvId),
    /// A person takes it over: agents' commands that come through us wait, and are refused after
    /// [`super::PATIENCE`], until it is given back or its sandbox ends. Refused where it was not made by us.
    TakeOver(EnvId),
    /// Agents' commands run there again; fine where nobody has taken it over.
    GiveBack(EnvId),
    /// Add one idle time, or the given span, to the deadline.
    Extend {
        /// Which.
        env: EnvId,
        /// How much; `None` = its idle time.
        by: Option<Span>,
    },
    /// Give it another name.
    Rename {
        /// Which.
        env: EnvId,
        /// The new name.
        name: String,
    },
    /// Begin a turn. Answered when the environment is ready and the conversation's session is open.
    BeginTurn {
        /// Fresh id.
        turn: TurnId,
        /// Whose turn.
        conversation: ConversationId,
        /// Title of the conversation.
        title: Option<String>,
        /// Kind of the conversation.
        kind: Option<String>,
        /// What the user asked.
        prompt: Option<String>,
        /// Where.
        target: TurnTarget,
        /// Fresh id, used if an environment must be made.
        new_env: EnvId,
        /// Fresh id, used if the conversation needs a session in this generation.
        new_session: SessionId,
        /// Life of the lease without a begin, command or touch.
        lease_ttl: Span,
    },
    /// Keep the open turn's lease alive.
    TouchTurn(ConversationId),
    /// End the open turn; fine without one.
    EndTurn {
        /// Whose.
        conversation: ConversationId,
        /// How it ended.
        status: TurnStatus,
    },
    /// End a conversation: retention applies.
    EndConversation(ConversationId),
    /// Run a command. Starts the environment if it must; answered with [`Answer::CallStarted`] when it may run.
    BeginCall {
        /// Fresh id.
        call: CallId,
        /// Where: an environment, or
        env: Option<EnvId>,
        /// the one of this conversation.
        conversation: Option<ConversationId>,
        /// The command as text.
        command: String,
        /// Directory inside, where known.
        cwd: Option<String>,
        /// Kind of call.
        source: CallSource,
    },
    /// Open a session. Starts the environment if it must. Answered when open or failed.
    OpenSession {
        /// Fresh id.
        session: SessionId,
        /// Where.
        env: EnvId,
        /// Whose.
        conversation: Option<ConversationId>,
        /// Argument vector; empty means a shell.
        program: Vec<String>,
        /// Where a shell begins.
        #[serde(default)]
        begin: Begin,
        /// Size.
        size: Size,
    },
    /// End a session and every process of it. Answered when it has ended.
    KillSession(SessionId),
    /// Decide now and act on what is due.
    Reap,
    /// The normal end of the host. Answered when every ephemeral environment is removed and every persistent local
    /// one is stopped; with `keep` everything runs on.
    Shutdown {
        /// Leave everything running.
        keep: bool,
    },
}

/// The answer to a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Done; nothing more to say.
    Done,
    /// Done to this environment: its state can be read.
    Environment(EnvId),
    /// The turn has begun and its environment is ready.
    Turn {
        /// The turn.
        turn: TurnId,
        /// Its number.
        number: u32,
        /// The conversation.
        conversation: ConversationId,
        /// The environment.
        env: EnvId,
        /// The conversation's PTY session.
        session: SessionId,
        /// The sandbox.
        sandbox: SandboxId,
        /// Its generation.
        generation: Generation,
    },
    /// The command may run now, in this sandbox: a `RunCall` effect goes out with it.
    CallStarted(CallId),
    /// The session is open.
    Session(SessionId),
    /// Not done.
    Refused(Refusal),
}

/// Why a request was not carried out. The kind picks the exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// It failed (exit 1).
    Failed,
    /// No such thing (exit 1).
    NotFound,
    /// The words of the request are wrong, or ambiguous (exit 2).
    Usage,
    /// The configuration does not say what to do (exit 3).
    Config,
    /// The backend cannot be reached (exit 4).
    Unreachable,
    /// A rule forbids it: held, conflicting flags, not ours (exit 5).
    Policy,
}

/// What was tried and failed, why, and what to do next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Kind.
    pub kind: RefusalKind,
    /// What was tried and why it failed.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

impl Refusal {
    /// A refusal of the given kind.
    pub fn new(kind: RefusalKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into() }
    }
}
