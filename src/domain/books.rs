//! What the core notes down for itself: nothing here is shown to anybody as it stands.
//!
//! All of it is plain data, so that a state can be written down, compared and replayed.

use super::effect::Deed;
use super::environment::Phase;
use super::evidence::Evidence;
use super::id::{CallId, ConversationId, EndpointId, EnvId, Generation, ReplyTo, SessionId, TurnId};
use super::moment::{Moment, Span};
use super::watched::Allowance;
use super::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The core's own notes about one environment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Books {
    /// When the last lease was released.
    pub released: Moment,
    /// The idle deadline is never before this: extensions, deferrals, the grace after an adoption or a clock jump.
    pub not_before: Moment,
    /// Nothing is reaped before this, and then only after a fresh look.
    pub grace: Option<Moment>,
    /// A look was asked for and is not back.
    pub looking: bool,
    /// How many looks failed in a row and put an end off.
    pub looks_failed: u32,
    /// What the last look found.
    pub seen: Option<Seen>,
    /// An end that is decided and waits for its holders or its time.
    pub end: Option<End>,
    /// The teardown that is under way.
    pub teardown: Option<Teardown>,
    /// Its turn is over but it lives on until the idle deadline, even if idle reaping is off.
    pub lingers: bool,
    /// Read back from the journal; the endpoint's list has not been seen yet.
    pub adopting: bool,
    /// Time of the last activity that the journal knows.
    pub saved_activity: Moment,
    /// What the user's consent comes to for it, where it is not ours.
    pub allowance: Allowance,
    /// The name that its backend gives to one that is not ours.
    pub called: String,
    /// Made under the name that a rule gives: whoever is to share it comes by that name.
    pub by_name: bool,
    /// The generation that its backend last told of one that is not ours; zero if it must tell anew.
    pub listed: Generation,
}

/// What a look found, and when.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// When.
    pub at: Moment,
    /// What.
    pub evidence: Evidence,
    /// Since when looks have found commands of others in flight (their start is not known).
    pub execs_since: Option<Moment>,
}

/// Why a sandbox ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Its idle deadline.
    Idle,
    /// The turn that it was made for ended.
    TurnEnded,
    /// The last conversation that it served ended.
    ConversationEnded,
    /// It is ephemeral and was found without anybody who holds it.
    Orphaned,
    /// A hermes-agent made it, and it is of no use to anybody.
    Leaked,
    /// A person said so.
    Person,
    /// The host ends.
    Shutdown,
}

impl Cause {
    /// One sentence without a subject, for example "stopped after 5 s idle".
    #[must_use]
    pub fn sentence(self, deed: Deed, idle: Span) -> String {
        let done = match deed {
            Deed::Stop => "stopped",
            Deed::Remove => "removed",
        };
        match self {
            Self::Idle => format!("{done} after {} idle", words::span(idle)),
            Self::TurnEnded => format!("{done} when its turn ended"),
            Self::ConversationEnded => format!("{done} when its conversation ended"),
            Self::Orphaned => format!("{done} because nobody held it any more"),
            Self::Leaked => format!("{done} because it is of no use to anybody (leaked)"),
            Self::Person => format!("{done} on request"),
            Self::Shutdown => format!("{done} when the host ended"),
        }
    }
}

/// An end that is decided.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct End {
    /// Not before.
    pub at: Moment,
    /// What is done.
    pub deed: Deed,
    /// Why.
    pub cause: Cause,
    /// Also while held.
    pub force: bool,
    /// The row goes, too.
    pub forget: bool,
    /// The files go, too.
    pub data: bool,
}

impl End {
    /// An end at `at` that waits for its holders.
    #[must_use]
    pub fn new(at: Moment, deed: Deed, cause: Cause) -> Self {
        Self { at, deed, cause, force: false, forget: false, data: false }
    }

    /// Whether it was decided only because nobody seems to need it: any use cancels it.
    #[must_use]
    pub fn is_tentative(&self) -> bool {
        matches!(self.cause, Cause::Orphaned | Cause::Leaked)
    }

    /// Whether a person or the end of the host ordered it; such an end is not cancelled by a turn.
    #[must_use]
    pub fn ordered(&self) -> bool {
        matches!(self.cause, Cause::Person | Cause::Shutdown)
    }
}

/// A teardown that the backend was told to do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Teardown {
    /// What was decided.
    pub end: End,
    /// Where the environment stood before.
    pub from: Phase,
    /// Its ground is gone meanwhile: it is not repeated if it fails.
    #[serde(default)]
    pub void: bool,
    /// It ended by itself or by somebody else meanwhile; true if it is gone and not only stopped.
    #[serde(default)]
    pub overtaken: Option<bool>,
}

/// Somebody who waits for an answer, or for whom nobody waits any more.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Waiter {
    /// Who.
    pub reply: ReplyTo,
    /// On which environment; `None` for the end of the host.
    pub env: Option<EnvId>,
    /// For what.
    pub need: Need,
}

/// What somebody waits for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Need {
    /// The environment is ready.
    Ready,
    /// It is ready and the conversation's session runs.
    Turn {
        /// The turn.
        turn: TurnId,
        /// Its conversation.
        conversation: ConversationId,
        /// Id for a session, if one must be opened.
        new_session: SessionId,
    },
    /// It is ready, so that this command can run.
    Call(CallId),
    /// This session is open.
    Session(SessionId),
    /// This session has ended.
    SessionEnd(SessionId),
    /// Its sandbox is stopped.
    Stopped,
    /// It is removed.
    Removed,
    /// This container is listed.
    Shown {
        /// Where.
        endpoint: EndpointId,
        /// Its name or full id, as it was chosen.
        container: String,
        /// How long it is waited for.
        until: Moment,
    },
    /// The host may exit.
    Shutdown,
}

impl Need {
    /// Whether the environment must be made ready for it.
    #[must_use]
    pub fn wants_ready(&self) -> bool {
        matches!(self, Self::Ready | Self::Turn { .. } | Self::Call(_) | Self::Session(_))
    }
}

/// How far the end of the host has come.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Shutdown {
    /// When it was asked for.
    pub since: Moment,
    /// Failed attempts so far.
    pub failures: BTreeMap<EnvId, u32>,
    /// What could not be ended, and why.
    pub left: BTreeMap<EnvId, String>,
    /// All is said; the host exits.
    pub over: bool,
}
