//! What the core wants done. Data, not closures: the runtime performs it.

use super::begin::Begin;
use super::choices::Chosen;
use super::environment::{EnvSpec, Origin};
use super::id::{CallId, ConversationId, EndpointId, EnvId, Generation, ReplyTo, SandboxId, SessionId, TurnId};
use super::request::Answer;
use super::session::Size;
use serde::{Deserialize, Serialize};

/// What is done to a sandbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deed {
    /// Stop it; it can be started again.
    Stop,
    /// Remove it; files in the data directory stay, except those of an ephemeral environment.
    Remove,
}

/// A row of the journal that changed and must be written from the state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Record {
    /// An environment: written if the state has it, else deleted.
    Environment(EnvId),
    /// A conversation with its turns.
    Conversation(ConversationId),
    /// A command.
    Call(CallId),
    /// A pane session.
    Session(SessionId),
    /// What a person chose about sandboxes that are not ours.
    Choices,
}

/// What happened, for the event stream, notices on the screen and the log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// Kind.
    pub kind: NoticeKind,
    /// The environment it concerns.
    pub env: Option<EnvId>,
    /// The conversation it concerns.
    pub conversation: Option<ConversationId>,
    /// The turn it concerns.
    pub turn: Option<TurnId>,
    /// The session it concerns.
    pub session: Option<SessionId>,
    /// The command it concerns.
    pub call: Option<CallId>,
    /// One sentence for people.
    pub text: String,
}

impl Notice {
    /// A notice that concerns nothing yet.
    #[must_use]
    pub fn new(kind: NoticeKind, text: impl Into<String>) -> Self {
        Self { kind, env: None, conversation: None, turn: None, session: None, call: None, text: text.into() }
    }

    /// Concerning this environment.
    #[must_use]
    pub fn env(mut self, id: &EnvId) -> Self {
        self.env = Some(id.clone());
        self
    }

    /// Concerning this conversation.
    #[must_use]
    pub fn conversation(mut self, id: &ConversationId) -> Self {
        self.conversation = Some(id.clone());
        self
    }

    /// Concerning this turn.
    #[must_use]
    pub fn turn(mut self, id: &TurnId) -> Self {
        self.turn = Some(id.clone());
        self
    }

    /// Concerning this session.
    #[must_use]
    pub fn session(mut self, id: &SessionId) -> Self {
        self.session = Some(id.clone());
        self
    }

    /// Concerning this command.
    #[must_use]
    pub fn call(mut self, id: &CallId) -> Self {
        self.call = Some(id.clone());
        self
    }
}

/// Kinds of notices, named `noun.verb` in the event stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum NoticeKind {
    /// An environment was listed.
    #[serde(rename = "env.created")]
    EnvCreated,
    /// A sandbox is being made or started.
    #[serde(rename = "env.provisioning")]
    EnvProvisioning,
    /// An environment is ready.
    #[serde(rename = "env.ready")]
    EnvReady,
    /// Making or starting it failed.
    #[serde(rename = "env.failed")]
    EnvFailed,
    /// Its deadline is near.
    #[serde(rename = "env.warned")]
    EnvWarned,
    /// Evidence or activity moved its deadline.
    #[serde(rename = "env.deferred")]
    EnvDeferred,
    /// It is being stopped or removed.
    #[serde(rename = "env.reaping")]
    EnvReaping,
    /// It is stopped.
    #[serde(rename = "env.stopped")]
    EnvStopped,
    /// It is removed.
    #[serde(rename = "env.removed")]
    EnvRemoved,
    /// A stop or removal failed or met a surprise; nothing was deleted.
    #[serde(rename = "env.teardown_failed")]
    TeardownFailed,
    /// It was removed behind our back.
    #[serde(rename = "env.lost")]
    EnvLost,
    /// It was found again after a start.
    #[serde(rename = "env.adopted")]
    EnvAdopted,
    /// Pinned, unpinned, extended or renamed.
    #[serde(rename = "env.changed")]
    EnvChanged,
    /// A person has it to themselves: agents' commands wait.
    #[serde(rename = "env.taken_over")]
    EnvTakenOver,
    /// Agents' commands run there again.
    #[serde(rename = "env.given_back")]
    EnvGivenBack,
    /// A turn began.
    #[serde(rename = "turn.began")]
    TurnBegan,
    /// A turn ended.
    #[serde(rename = "turn.ended")]
    TurnEnded,
    /// A conversation ended.
    #[serde(rename = "conversation.ended")]
    ConversationEnded,
    /// A command began.
    #[serde(rename = "call.began")]
    CallBegan,
    /// A command ended.
    #[serde(rename = "call.ended")]
    CallEnded,
    /// A session is open.
    #[serde(rename = "session.opened")]
    SessionOpened,
    /// A session ended or could not be opened.
    #[serde(rename = "session.ended")]
    SessionEnded,
    /// An endpoint stopped answering.
    #[serde(rename = "endpoint.down")]
    EndpointDown,
    /// An endpoint answers again.
    #[serde(rename = "endpoint.up")]
    EndpointUp,
    /// The clock jumped.
    #[serde(rename = "clock.jumped")]
    ClockJumped,
    /// The host ends.
    #[serde(rename = "host.shutdown")]
    Shutdown,
}

/// One thing to do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Effect {
    /// Make a sandbox, or start the existing one. Idempotent per environment and generation.
    Provision {
        /// For whom.
        env: EnvId,
        /// With which generation.
        generation: Generation,
        /// Its name, for labels.
        name: String,
        /// What it shall be.
        spec: Box<EnvSpec>,
        /// The stopped sandbox to start; `None` makes a new one.
        existing: Option<SandboxId>,
    },
    /// Look into a sandbox and send [`super::Event::EvidenceGathered`].
    GatherEvidence {
        /// Of which.
        env: EnvId,
        /// Which generation.
        generation: Generation,
        /// The sandbox.
        sandbox: SandboxId,
    },
    /// Inspect once more, then stop or remove without force.
    Teardown {
        /// Of which.
        env: EnvId,
        /// Which generation.
        generation: Generation,
        /// The generation that its backend must still tell of it if it runs.
        listed: Generation,
        /// The sandbox, by its full id.
        sandbox: SandboxId,
        /// What to do.
        deed: Deed,
        /// Whose it is: what was decided about one of ours is no consent to end one of somebody else.
        #[serde(default)]
        whose: Origin,
        /// True when idleness is not its ground (a person forced it, its turn or conversation ended, the host ends):
        /// fresh activity and live processes are then no surprise.
        ordered: bool,
    },
    /// Tell a backend which of the sandboxes of others are to be shown.
    Choose {
        /// Where.
        endpoint: EndpointId,
        /// All of them.
        chosen: Chosen,
    },
    /// Delete the files of a removed environment (a person asked).
    DeleteData(EnvId),
    /// Open a PTY in a sandbox.
    OpenSession {
        /// Which session.
        session: SessionId,
        /// Its environment.
        env: EnvId,
        /// Its generation.
        generation: Generation,
        /// The sandbox.
        sandbox: SandboxId,
        /// Argument vector; empty means a shell.
        program: Vec<String>,
        /// Where a shell begins.
        #[serde(default)]
        begin: Begin,
        /// Size.
        size: Size,
        /// Only if it runs already: it was opened by an earlier host.
        #[serde(default)]
        resume: bool,
    },
    /// End a session and every process of it.
    CloseSession(SessionId),
    /// Run a command; its streams go to whoever began it.
    RunCall {
        /// Which.
        call: CallId,
        /// Its environment.
        env: EnvId,
        /// The sandbox.
        sandbox: SandboxId,
    },
    /// Answer a request.
    Reply {
        /// Whom.
        to: ReplyTo,
        /// What.
        answer: Answer,
    },
    /// Tell the event stream, the screen and the log.
    Announce(Notice),
    /// Write a row of the journal.
    Save(Record),
    /// Everything is in order: the host may exit.
    Exit,
}
