//! Leases: claims that an environment is in use.

use super::id::{CallId, TurnId};
use super::moment::Moment;
use serde::{Deserialize, Serialize};

/// What kind of claim.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind", content = "of")]
pub enum LeaseKind {
    /// A turn of an agent.
    Turn(TurnId),
    /// A command in flight.
    Call(CallId),
    /// A command that somebody else runs in it, by the engine's id.
    Exec(CallId),
    /// The user said so.
    Pin,
    /// A process that evidence found at the deadline.
    Process,
}

/// A claim that an environment is in use.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Lease {
    /// What kind of claim.
    pub kind: LeaseKind,
    /// For people: the prompt, the command, the reason.
    pub detail: String,
    /// Since when.
    pub since: Moment,
    /// When it ends by itself (the time-to-live of turns).
    pub until: Option<Moment>,
}

/// A lease or a found process as it is listed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// `turn`, `call`, `process` or `pin`.
    pub kind: String,
    /// For people.
    pub detail: String,
    /// Since when.
    pub since: Moment,
}
