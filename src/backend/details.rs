//! All that can be told of a sandbox, for people: what it is made of, what of it survives, what limits it, and where it
//! is no longer what was asked for.

use crate::domain::Moment;
use std::collections::BTreeMap;

/// What is in a sandbox, and how it is set up now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// What it was made from.
    pub image: Option<ImageFacts>,
    /// User that its programs run as.
    pub user: String,
    /// Home directory inside.
    pub home: String,
    /// Kind of network, in the words of its backend.
    pub network: String,
    /// Limits that were asked for, in force or not.
    pub limits: Vec<Limit>,
    /// Where files can be.
    pub places: Vec<Place>,
    /// Labels of ours and of hermes-agents.
    pub labels: BTreeMap<String, String>,
    /// What its engine does when it ends by itself.
    pub restart: Option<String>,
    /// When it was made.
    pub created: Option<Moment>,
    /// When it was last started.
    pub started: Option<Moment>,
    /// How it differs from what was asked for, one sentence each.
    pub drift: Vec<String>,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    /// As it was asked for.
    pub name: String,
    /// Id of what the name stood for when the sandbox was made.
    pub id: String,
    /// Digest by which registries know it, where it comes from one.
    pub digest: Option<String>,
}

/// A limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Of what.
    pub name: String,
    /// How much.
    pub value: String,
    /// Whether it is in force here.
    pub enforced: bool,
}

/// A place for files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What it is.
    pub kind: PlaceKind,
    /// Where it is on the host, or the name of a volume; empty if it has no name there.
    pub source: String,
    /// Where it is inside.
    pub target: String,
    /// Nothing can be written there from inside.
    pub read_only: bool,
}

/// What a place for files is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// A folder of the host.
    Bind,
    /// A volume with a name.
    Volume,
    /// A volume that was made for this sandbox alone.
    OwnVolume,
    /// Memory.
    Tmpfs,
    /// The sandbox's own files.
    Layer,
}

impl PlaceKind {
    /// Its word in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bind => "bind",
            Self::Volume => "volume",
            Self::OwnVolume => "own_volume",
            Self::Tmpfs => "tmpfs",
            Self::Layer => "layer",
        }
    }

    /// Whether what is in it is there after a stop and a start.
    #[must_use]
    pub fn survives_stop(self) -> bool {
        self != Self::Tmpfs
    }

    /// Whether what is in it is there after the sandbox was removed.
    #[must_use]
    pub fn survives_removal(self) -> bool {
        matches!(self, Self::Bind | Self::Volume)
    }
}

/// What a sandbox uses at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Processor time since the figures before, in thousandths of a core.
    pub cpu_permille: u64,
    /// Memory that cannot be taken from it, in bytes.
    pub memory_bytes: u64,
    /// The most it may have, in bytes.
    pub memory_limit: Option<u64>,
    /// Processes and threads.
    pub pids: u64,
}

/// Bytes for people.
#[must_use]
pub fn bytes(count: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let whole = value.fract() < 0.05;
    if unit == 0 || whole { format!("{value:.0} {}", units[unit]) } else { format!("{value:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_survives_a_stop_and_a_removal() {
        use PlaceKind::{Bind, Layer, OwnVolume, Tmpfs, Volume};
        let survives = |kind: PlaceKind| (kind.survives_stop(), kind.survives_removal());
        assert_eq!([Bind, Volume].map(survives), [(true, true); 2]);
        assert_eq!([OwnVolume, Layer].map(survives), [(true, false); 2]);
        assert_eq!(survives(Tmpfs), (false, false));
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!([12, 1 << 20, 1536 << 20].map(bytes), ["12 B", "1 MiB", "1.5 GiB"]);
    }
}
