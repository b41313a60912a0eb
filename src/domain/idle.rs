//! The idle clock: what counts as use, and when the reaper is due.

use super::books::{Cause, End};
use super::effect::Deed;
use super::environment::{Activity, ActivityKind, Environment, Origin, Persistence, Phase, Retention};
use super::moment::{Moment, Span};

/// The grace after an adoption or a clock jump, and the longest lead of a warning.
pub(super) const GRACE: Span = Span::seconds(60);

/// For how long a process that is found at the deadline can defer it, counted from its start.
pub(super) const LONGEST_HOLD: Span = Span::hours(24);

/// The idle time of an ephemeral environment that lives on after its turn although its own idle time is off.
pub(super) const LINGER: Span = Span::seconds(300);

impl Environment {
    /// The idle time that is in force; `None` when idle reaping is off.
    #[must_use]
    pub fn idle_time(&self) -> Option<Span> {
        self.idle_deed()?;
        if self.origin != Origin::Managed {
            return self.consented().map(|(_, idle)| idle).filter(|idle| *idle > Span::ZERO);
        }
        if self.spec.idle > Span::ZERO {
            return Some(self.spec.idle);
        }
        self.books.lingers.then_some(LINGER)
    }

    /// The idle time to name where somebody is told how long was waited.
    #[must_use]
    pub fn waited(&self) -> Span {
        self.idle_time().unwrap_or(self.spec.idle)
    }

    /// What happens at the idle deadline by its persistence and retention, or by the user's consent; `None` = nothing.
    #[must_use]
    pub fn idle_deed(&self) -> Option<Deed> {
        if self.origin != Origin::Managed {
            return self.consented().map(|(deed, _)| deed);
        }
        match (self.spec.persistence, self.spec.retention) {
            (Persistence::Ephemeral, _) => Some(Deed::Remove),
            (Persistence::Persistent, Retention::StopOnSessionEnd) => Some(Deed::Stop),
            (Persistence::Persistent, Retention::RemoveOnSessionEnd | Retention::IdleTtl) => Some(Deed::Remove),
            (Persistence::Persistent, Retention::KeepRunning) | (Persistence::Unknown, _) => None,
        }
    }

    /// What happens when its last conversation ends; `None` = nothing.
    #[must_use]
    pub fn conversation_deed(&self) -> Option<Deed> {
        match (self.spec.persistence, self.spec.retention) {
            _ if self.origin != Origin::Managed => None,
            (Persistence::Persistent, Retention::IdleTtl) => None,
            _ => self.idle_deed(),
        }
    }

    /// When the warning for the present deadline is due: `deadline − min(60 s, idle/2)`.
    #[must_use]
    pub fn warns_at(&self) -> Option<Moment> {
        Some(self.deadline? - GRACE.min(self.idle_time()?.half()))
    }

    /// Notes use. One that was to be removed because nobody held it is held or used again: after a person's use it
    /// lives on until the idle deadline.
    pub(super) fn note(&mut self, kind: ActivityKind, detail: impl Into<String>, now: Moment) {
        self.last_activity = Activity { kind, detail: detail.into(), at: now };
        let used = !matches!(kind, ActivityKind::Turn | ActivityKind::Adopted);
        if used && self.phase == Phase::Ready && self.books.end.take_if(|end| end.is_tentative()).is_some() {
            self.books.lingers = !matches!(kind, ActivityKind::Command | ActivityKind::Exec);
        }
    }

    /// Its scope is over: it ends as soon as nobody holds it.
    pub(super) fn end_with_scope(&mut self, deed: Deed, cause: Cause, now: Moment) {
        if self.books.end.as_ref().is_none_or(|end| end.cause == Cause::Orphaned) {
            self.books.end = Some(End::new(now, deed, cause));
        }
    }

    /// Sets the deadline anew from activity, releases and holders. True when a warned deadline moved away.
    pub(super) fn rearm(&mut self, now: Moment) -> bool {
        let deadline = self.wanted_deadline();
        if deadline == self.deadline {
            return false;
        }
        let moved = self.warned && self.phase == Phase::Ready;
        self.deadline = deadline;
        if self.warns_at().is_none_or(|at| now < at) {
            self.warned = false;
        }
        moved && !self.warned
    }

    fn wanted_deadline(&self) -> Option<Moment> {
        if self.phase != Phase::Ready || !self.leases.is_empty() {
            return None;
        }
        let used = self.last_activity.at.max(self.books.released);
        Some((used + self.idle_time()?).max(self.books.not_before))
    }

    /// Puts the deadline, and an end that is decided, off until `until`.
    pub(super) fn defer(&mut self, until: Moment) {
        self.books.not_before = self.books.not_before.max(until);
        if let Some(end) = &mut self.books.end {
            end.at = end.at.max(until);
        }
    }
}
