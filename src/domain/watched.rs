//! What is known of a sandbox that somebody else made, and what the user consents to.

use super::environment::Retention;
use super::moment::{Moment, Span};
use super::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of a sandbox that somebody else made.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Watched {
    /// Profile of the hermes-agent that made it, as its label says.
    pub profile: Option<String>,
    /// The task key that it serves, as its label says.
    pub task: Option<String>,
    /// Home of that hermes-agent, where the mounts tell it.
    pub home: Option<String>,
    /// What its maker will do with it, one clause, for example "leaves running".
    pub maker: String,
    /// Why nobody will miss it.
    pub leak: Option<Leak>,
    /// When it was made.
    pub made: Moment,
    /// What its label says becomes of it. `None`: it has no such label, as none of a released hermes-agent has.
    pub retention: Option<TheirRetention>,
    /// For how long one with `idle_ttl` is left unused before its hermes-agent removes it, where its home tells.
    pub ttl: Option<Span>,
}

/// What the label of a hermes-agent says becomes of a container that serves one of its sessions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TheirRetention {
    /// One that means the same here.
    Known(Retention),
    /// A word that is not known here.
    Other(String),
}

impl TheirRetention {
    /// The word of a label.
    #[must_use]
    pub fn read(label: &str) -> Self {
        let all =
            [Retention::StopOnSessionEnd, Retention::KeepRunning, Retention::RemoveOnSessionEnd, Retention::IdleTtl];
        let known = all.into_iter().find(|one| words::retention(*one) == label);
        known.map_or_else(|| Self::Other(label.to_owned()), Self::Known)
    }

    /// What it means here, where that is known.
    #[must_use]
    pub fn known(&self) -> Option<Retention> {
        match self {
            Self::Known(retention) => Some(*retention),
            Self::Other(_) => None,
        }
    }

    /// As the label says it.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Known(retention) => words::retention(*retention),
            Self::Other(word) => word,
        }
    }

    /// Whether its hermes-agent may find such a container again and go on with it, also one that it left behind. Of a word
    /// that is not known here that is assumed.
    #[must_use]
    pub fn is_found_again(&self) -> bool {
        *self != Self::Known(Retention::RemoveOnSessionEnd)
    }
}

/// Why a sandbox that a hermes-agent made is of no use to anybody.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Leak {
    /// Kind.
    pub kind: LeakKind,
    /// What shows it, one sentence.
    pub evidence: String,
}

/// Kinds of leaked sandboxes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeakKind {
    /// Made to look at the image once.
    Probe,
    /// Made and never started.
    NeverStarted,
    /// Running although the process that it was made for is gone.
    DeadOwner,
}

/// What may be ended of what a hermes-agent made. Each value includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HermesReap {
    /// Nothing.
    #[default]
    Off,
    /// Leaked ones.
    Leaked,
    /// Ephemeral ones.
    Ephemeral,
    /// Persistent ones without any activity for a long time; they are stopped, not removed.
    Stale,
}

/// What the user consents to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Consent {
    /// For every profile that is not named.
    pub reap: HermesReap,
    /// By profile.
    pub profiles: BTreeMap<String, HermesReap>,
    /// When a persistent one without activity is stale.
    pub stale_after: Span,
}

impl Default for Consent {
    fn default() -> Self {
        Self { reap: HermesReap::Off, profiles: BTreeMap::new(), stale_after: Span::hours(7 * 24) }
    }
}

/// What the user's consent comes to for one sandbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Allowance {
    /// What may be ended.
    pub reap: HermesReap,
    /// When a persistent one without activity is stale.
    pub stale_after: Span,
}

impl LeakKind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::NeverStarted => "never started",
            Self::DeadOwner => "owner gone",
        }
    }
}

impl HermesReap {
    /// The word of the setting.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Leaked => "leaked",
            Self::Ephemeral => "ephemeral",
            Self::Stale => "stale",
        }
    }
}

impl Consent {
    /// What it comes to for a sandbox of this profile.
    #[must_use]
    pub fn allowance(&self, profile: Option<&str>) -> Allowance {
        Allowance { reap: self.of(profile), stale_after: self.stale_after }
    }

    /// What may be ended of a profile.
    #[must_use]
    pub fn of(&self, profile: Option<&str>) -> HermesReap {
        profile.and_then(|name| self.profiles.get(name)).copied().unwrap_or(self.reap)
    }
}
