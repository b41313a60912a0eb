//! What may be ended of what is not ours, by whose word, and what follows when it is.

use super::books::{Cause, End};
use super::effect::Deed;
use super::environment::{Environment, Origin, Persistence, Phase, Retention};
use super::id::Generation;
use super::idle::GRACE;
use super::moment::{Moment, Span};
use super::outbox::Outbox;
use super::state::State;
use super::watched::{Allowance, Consent, HermesReap, Leak, TheirRetention};
use super::words;

/// The `lifetime_seconds` of a hermes-agent that sets none.
const LIFETIME: Span = Span::seconds(300);

/// A hermes-agent counts with no shorter lifetime than this when it looks for stopped containers.
const SHORTEST_LIFETIME: Span = Span::seconds(60);

impl Environment {
    /// What its hermes-agent will do with it, one clause.
    #[must_use]
    pub fn maker(&self) -> &str {
        let told = self.watched.as_ref().map(|watched| watched.maker.as_str()).filter(|maker| !maker.is_empty());
        told.unwrap_or("ends it by its own rules")
    }

    /// What its label says becomes of it.
    #[must_use]
    pub fn their_retention(&self) -> Option<&TheirRetention> {
        self.watched.as_ref()?.retention.as_ref()
    }

    /// Why nobody will miss it. What its hermes-agent finds again by its label is of use to somebody.
    #[must_use]
    pub fn leak(&self) -> Option<&Leak> {
        let found_again = self.their_retention().is_some_and(TheirRetention::is_found_again);
        self.watched.as_ref()?.leak.as_ref().filter(|_| !found_again)
    }

    /// What the user consented to, and after how long without use.
    #[must_use]
    pub fn consented(&self) -> Option<(Deed, Span)> {
        self.allowed(self.books.allowance)
    }

    /// What a consent comes to. Leaked ones go after a minute; a persistent one is at most stopped, for hermes-agent itself
    /// would leave it running.
    fn allowed(&self, Allowance { reap, stale_after }: Allowance) -> Option<(Deed, Span)> {
        let (deed, idle) = match self.spec.persistence {
            _ if self.origin != Origin::Hermes => None,
            _ if self.leak().is_some() && reap >= HermesReap::Leaked => Some((Deed::Remove, GRACE)),
            Persistence::Ephemeral if reap >= HermesReap::Ephemeral => Some((Deed::Remove, self.spec.idle)),
            Persistence::Persistent if reap >= HermesReap::Stale => Some((Deed::Stop, stale_after)),
            _ => None,
        }?;
        match self.their_retention() {
            None | Some(TheirRetention::Known(Retention::RemoveOnSessionEnd)) => Some((deed, idle)),
            // It is stopped by its hermes-agent, too, which starts it again when its session goes on.
            Some(TheirRetention::Known(Retention::StopOnSessionEnd)) => Some((Deed::Stop, idle)),
            Some(TheirRetention::Known(Retention::IdleTtl)) => {
                let ttl = self.watched.as_ref()?.ttl?;
                Some((deed, if idle > Span::ZERO { idle.max(ttl) } else { idle }))
            }
            Some(TheirRetention::Known(Retention::KeepRunning) | TheirRetention::Other(_)) => None,
        }
    }

    fn leaks_with_consent(&self) -> bool {
        self.origin == Origin::Hermes && self.leak().is_some() && self.books.allowance.reap >= HermesReap::Leaked
    }

    /// The least value of `[hermes] reap` that would let us end it, and how; `None` if none would.
    #[must_use]
    pub fn consent_needed(&self) -> Option<(HermesReap, Deed)> {
        let all = [HermesReap::Leaked, HermesReap::Ephemeral, HermesReap::Stale];
        all.into_iter().find_map(|reap| Some((reap, self.allowed(Allowance { reap, ..self.books.allowance })?.0)))
    }

    /// Why it ends at its idle deadline.
    pub(super) fn idle_cause(&self) -> Cause {
        if self.leaks_with_consent() { Cause::Leaked } else { Cause::Idle }
    }

    /// Why it ends although it does not run.
    pub(super) fn end_of_stopped(&self) -> Cause {
        if self.leaks_with_consent() { Cause::Leaked } else { Cause::Orphaned }
    }

    /// Whether anything can be decided about its end.
    pub(super) fn is_ours_to_end(&self) -> bool {
        let ordered = self.books.end.as_ref().is_some_and(|end| end.cause == Cause::Person);
        self.origin == Origin::Managed || ordered || self.consented().is_some()
    }

    /// Whether this end is ours to carry out: what is not ours ends by a person's word or within the consent only.
    pub(super) fn may_be_ended(&self, end: &End) -> bool {
        match (self.origin, end.cause) {
            (Origin::Managed, _) | (_, Cause::Person) => true,
            (Origin::Hermes, Cause::Idle | Cause::Orphaned | Cause::Leaked) => {
                self.consented().is_some_and(|(deed, _)| deed == end.deed)
            }
            _ => false,
        }
    }

    /// The generation that the backend must still tell of a running sandbox before we end it.
    pub(super) fn listed_generation(&self) -> Generation {
        if self.origin == Origin::Managed { self.generation } else { self.books.listed }
    }

    /// From when on the next start of its hermes-agent deletes it: it sweeps containers that have been stopped for
    /// twice its lifetime, but for those that its label spares. Known only where we saw the stop.
    #[must_use]
    pub fn swept_from(&self) -> Option<Moment> {
        let stopped = self.origin == Origin::Hermes && self.phase == Phase::Stopped && !self.is_spared();
        stopped.then(|| Some(self.last_ending.as_ref()?.at + self.fuse())).flatten()
    }

    /// Whether its hermes-agent spares it while it is stopped.
    fn is_spared(&self) -> bool {
        self.their_retention() == Some(&TheirRetention::Known(Retention::StopOnSessionEnd))
    }

    /// For how long its hermes-agent leaves it alone once it is stopped.
    #[must_use]
    pub fn fuse(&self) -> Span {
        let lifetime = if self.spec.idle > Span::ZERO { self.spec.idle } else { LIFETIME }.max(SHORTEST_LIFETIME);
        Span(lifetime.0.saturating_mul(2))
    }

    /// What to know once it is stopped.
    pub(super) fn fuse_warning(&self) -> Option<String> {
        let fuse = words::span(self.swept_from()?.since(self.last_ending.as_ref()?.at));
        let name = words::quoted(&self.name);
        Some(format!(
            "once it has been stopped for {fuse}, the next start of hermes-agent deletes it; `r` or `hermes-tui env start {name}` keeps it"
        ))
    }

    /// What a person should know before one that is not ours is ended by hand, one sentence each.
    #[must_use]
    pub fn consequences(&self, deed: Deed) -> Vec<String> {
        let kept: Vec<&str> = self.spec.mounts.iter().filter(|m| !m.read_only).map(|m| m.target.as_str()).collect();
        let survives = if kept.is_empty() {
            "no folder of the host is mounted for writing: nothing in it survives its removal".to_owned()
        } else {
            format!("what lies in mounted folders survives: {}", kept.join(", "))
        };
        let fuse = words::span(self.fuse());
        match (self.origin, deed) {
            (Origin::Managed, _) => Vec::new(),
            (Origin::Hermes, Deed::Stop) if self.is_spared() => vec![
                "hermes-agent made it and uses it by itself; commands that it runs there now are cut off".to_owned(),
                "its label says that it is stopped at the end of its session: hermes-agent spares it while it is \
                 stopped, and starts it again when the session goes on"
                    .to_owned(),
                survives,
            ],
            (Origin::Hermes, Deed::Stop) => vec![
                "hermes-agent made it and uses it by itself; commands that it runs there now are cut off".to_owned(),
                format!(
                    "once it has been stopped for {fuse}, the next start of hermes-agent deletes it, with everything installed or written outside of mounted folders"
                ),
                survives,
                format!(
                    "started again before that, it is as it was; `r` or `env start {}` does it",
                    words::quoted(&self.name)
                ),
            ],
            (Origin::Hermes, Deed::Remove) => vec![
                "hermes-agent made it; its next command there fails once, then it makes a fresh one".to_owned(),
                "everything installed or written outside of mounted folders is gone at once".to_owned(),
                survives,
            ],
            (Origin::Foreign, Deed::Stop) => vec![
                "neither we nor a hermes-agent made it; whoever uses it loses it until somebody starts it again"
                    .to_owned(),
                "its processes end, and what lies in its memory-backed folders is gone".to_owned(),
            ],
            (Origin::Foreign, Deed::Remove) => vec![
                "neither we nor a hermes-agent made it, and we cannot make it again".to_owned(),
                "everything written outside of mounted folders is gone at once".to_owned(),
                survives,
            ],
        }
    }
}

impl State {
    /// The user's consent is known, or another one.
    pub(super) fn consent_given(&mut self, out: &mut Outbox, consent: Consent) {
        if self.consent == consent {
            return;
        }
        self.consent = consent;
        let theirs: Vec<_> =
            self.environments.values().filter(|env| env.origin != Origin::Managed).map(|env| env.id.clone()).collect();
        for id in theirs {
            let (consent, now) = (self.consent.clone(), out.now);
            let Some(env) = self.edit(out, &id) else { continue };
            env.take_consent(&consent, now);
        }
    }
}

impl Environment {
    /// Notes what the user's consent comes to for it. What becomes possible now is not done at once.
    pub(super) fn take_consent(&mut self, consent: &Consent, now: Moment) {
        let before = self.consented();
        let profile = self.watched.as_ref().and_then(|watched| watched.profile.as_deref());
        self.books.allowance = consent.allowance(profile);
        self.consent_changed(before, now);
    }

    /// What may be done to it may have changed: what is newly possible gets a grace, what is no longer possible is off.
    pub(super) fn consent_changed(&mut self, before: Option<(Deed, Span)>, now: Moment) {
        let after = self.consented();
        if self.origin != Origin::Managed && after.is_some() && after != before {
            self.grant_grace(now);
        }
        let stands = self.books.end.take().filter(|end| self.may_be_ended(end));
        self.books.end = stands;
    }
}
