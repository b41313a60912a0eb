//! Points in time and lengths of time, as plain numbers handed in from outside.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub u64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub u64);

impl Moment {
    /// Time from `earlier` to this; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Moment) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of whole seconds.
    #[must_use]
    pub const fn seconds(n: u64) -> Span {
        Span(n.saturating_mul(1000))
    }

    /// A span of whole hours.
    #[must_use]
    pub const fn hours(n: u64) -> Span {
        Span::seconds(n.saturating_mul(3600))
    }

    /// In seconds, with the fraction.
    #[must_use]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// Half of it, rounded down.
    #[must_use]
    pub fn half(self) -> Span {
        Span(self.0 / 2)
    }
}

impl Add<Span> for Moment {
    type Output = Moment;
    fn add(self, span: Span) -> Moment {
        Moment(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Moment {
    type Output = Moment;
    fn sub(self, span: Span) -> Moment {
        Moment(self.0.saturating_sub(span.0))
    }
}
