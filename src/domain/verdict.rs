//! The reaper's answer for one environment at one moment.

use super::moment::Moment;
use serde::{Deserialize, Serialize};

/// The answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Somebody holds it.
    Held,
    /// Nothing is due.
    Keep,
    /// Its deadline is near.
    Warn,
    /// It is due, or being torn down.
    Reap,
    /// Not ours to end.
    NotOurs,
    /// Its backend is unreachable.
    Frozen,
    /// No running sandbox.
    AtRest,
}

/// One fact that the answer rests on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fact {
    /// Which kind: `rule`, `activity`, `holder`, `deadline`, `actor`, …
    pub what: String,
    /// For people.
    pub detail: String,
}

/// The reaper's answer, with what it rests on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The answer.
    pub kind: VerdictKind,
    /// One sentence for people.
    pub reason: String,
    /// Until when it stands, where that is known.
    pub until: Option<Moment>,
    /// The facts.
    pub evidence: Vec<Fact>,
}
