//! The life cycle of an environment as one table, and the making and starting of its sandbox.

use super::books::{Cause, Need};
use super::effect::{Effect, Notice, NoticeKind};
use super::environment::{ActivityKind, Environment, Failure, Origin, Phase};
use super::event::FailureKind;
use super::id::{EnvId, Generation, SandboxId};
use super::moment::{Moment, Span};
use super::outbox::Outbox;
use super::request::{Refusal, RefusalKind};
use super::state::State;

/// What can happen to an environment's sandbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It is to be made or started.
    Provision,
    /// It was made or started.
    Made,
    /// It could not be made or started.
    NotMade,
    /// It is to be stopped or removed.
    Teardown,
    /// The backend confirms the stop.
    StopConfirmed,
    /// The backend confirms the removal.
    RemovalConfirmed,
    /// The backend did nothing: it runs on.
    SparedRunning,
    /// The backend did nothing: it still exists, stopped.
    SparedStopped,
    /// Somebody else stopped it.
    Halted,
    /// Somebody else removed it.
    Vanished,
    /// An endpoint's list shows it running.
    FoundRunning,
    /// An endpoint's list shows it stopped.
    FoundStopped,
}

/// The table: the phase after a change, `None` where the change has no meaning.
#[must_use]
pub fn next(phase: Phase, change: Change) -> Option<Phase> {
    use Phase::{Absent, Failed, Lost, Provisioning, Ready, Reaping, Stopped};
    match (phase, change) {
        (Absent | Stopped | Lost | Failed, Change::Provision) => Some(Provisioning),
        (Provisioning, Change::Made) => Some(Ready),
        (Provisioning, Change::NotMade) => Some(Failed),
        (Ready | Stopped | Failed, Change::Teardown) => Some(Reaping),
        (Reaping, Change::StopConfirmed) => Some(Stopped),
        (Reaping, Change::RemovalConfirmed) => Some(Absent),
        (Reaping, Change::SparedRunning) => Some(Ready),
        (Reaping, Change::SparedStopped) => Some(Stopped),
        (Ready, Change::Halted) => Some(Stopped),
        (Ready, Change::Vanished) => Some(Lost),
        (Stopped | Provisioning | Reaping, Change::Vanished) => Some(Absent),
        (Absent | Provisioning | Reaping | Stopped | Lost | Failed, Change::FoundRunning) => Some(Ready),
        (Absent | Provisioning | Ready | Reaping | Lost | Failed, Change::FoundStopped) => Some(Stopped),
        _ => None,
    }
}

/// Time before the next try after `attempts` failures in a row: 5 s, 10 s, 20 s, … at most 5 min.
#[must_use]
pub fn back_off(attempts: u32) -> Span {
    let doublings = attempts.saturating_sub(1).min(6);
    Span((5_000_u64 << doublings).min(300_000))
}

/// How often making a sandbox is tried again by itself.
const MOST_RETRIES: u32 = 5;

impl Environment {
    /// Goes through the table. Returns false, and changes nothing, where the change has no meaning.
    pub(super) fn change(&mut self, change: Change, now: Moment) -> bool {
        let Some(phase) = next(self.phase, change) else { return false };
        self.phase = phase;
        self.phase_since = now;
        self.books.looking = false;
        // Halted in the middle of a teardown that did not happen, it is halted still.
        self.paused &= change == Change::SparedRunning;
        true
    }

    /// Notes that what was known of the last sandbox's inside is void.
    pub(super) fn forget_inside(&mut self) {
        self.books.seen = None;
        self.books.looks_failed = 0;
        // What still exists, stopped, keeps the grace that it was granted.
        if self.phase != Phase::Stopped {
            self.books.grace = None;
        }
        self.books.not_before = Moment::default();
    }
}

impl State {
    /// Asks the backend for a sandbox. A failed attempt is repeated under its generation: the backend is idempotent for
    /// it, so a sandbox that was made although an error came back is found and not made twice.
    pub(super) fn provision(&mut self, out: &mut Outbox, id: &EnvId) -> bool {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return false };
        let again = env.phase == Phase::Failed;
        if !env.change(Change::Provision, now) {
            return false;
        }
        if !again || env.generation == Generation::default() {
            env.generation = env.generation.next();
        }
        env.deadline = None;
        let words = if env.sandbox.is_some() { "is being started" } else { "is being made" };
        let notice = Notice::new(NoticeKind::EnvProvisioning, format!("{} {words}", env.name)).env(id);
        let effect = Effect::Provision {
            env: id.clone(),
            generation: env.generation,
            name: env.name.clone(),
            spec: Box::new(env.spec.clone()),
            existing: env.sandbox.clone(),
        };
        out.announce(notice);
        out.send(effect);
        true
    }

    /// A sandbox was made or started.
    pub(super) fn provisioned(&mut self, out: &mut Outbox, id: &EnvId, generation: Generation, sandbox: SandboxId) {
        if !self.is_at(id, generation, Phase::Provisioning) {
            return;
        }
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        env.change(Change::Made, now);
        env.sandbox = Some(sandbox);
        env.failure = None;
        env.person_typed = false;
        env.forget_inside();
        env.books.end.take_if(|end| end.cause == Cause::Orphaned);
        if let Some(end) = &mut env.books.end {
            // A grace was granted to the sandbox before.
            end.at = end.at.min(now);
        }
        // Made ready for a person after its scope was over: it lives on until it is idle.
        let unheld = env.leases.is_empty() && env.books.end.is_none();
        env.books.lingers = env.is_ephemeral() && unheld && !env.conversations.is_empty();
        env.note(ActivityKind::Started, "started", now);
        let notice = Notice::new(NoticeKind::EnvReady, format!("{} is ready", env.name)).env(id);
        out.announce(notice);
    }

    /// A sandbox could not be made or started: all who wait for it are told.
    pub(super) fn provision_failed(
        &mut self,
        out: &mut Outbox,
        id: &EnvId,
        generation: Generation,
        kind: FailureKind,
        message: String,
        hint: String,
    ) {
        if !self.is_at(id, generation, Phase::Provisioning) {
            return;
        }
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        env.change(Change::NotMade, now);
        let attempts = env.failure.as_ref().map_or(0, |f| f.attempts).saturating_add(1);
        let retry = kind == FailureKind::Temporary && attempts <= MOST_RETRIES;
        let retry_at = retry.then(|| now + back_off(attempts));
        env.failure = Some(Failure { at: now, message: message.clone(), hint: hint.clone(), attempts, retry_at });
        let notice =
            Notice::new(NoticeKind::EnvFailed, format!("{} could not be started: {message}", env.name)).env(id);
        let endpoint = env.spec.endpoint.clone();
        out.announce(notice);
        let refusal = if kind == FailureKind::Unreachable {
            self.suspect(out, &endpoint, &message);
            Refusal::new(RefusalKind::Unreachable, message, hint)
        } else {
            Refusal::new(RefusalKind::Failed, message, hint)
        };
        self.refuse_waiting(out, id, &refusal, Need::wants_ready);
    }

    /// Tries again what failed and is still held by somebody.
    pub(super) fn retry_failed(&mut self, out: &mut Outbox) {
        let due: Vec<EnvId> = self
            .environments
            .values()
            .filter(|env| self.is_open(env) && env.retry_at().is_some_and(|at| at <= out.now))
            .map(|env| env.id.clone())
            .collect();
        for id in due {
            self.provision(out, &id);
        }
    }

    /// Whether the environment is in this phase of this generation.
    pub(super) fn is_at(&self, id: &EnvId, generation: Generation, phase: Phase) -> bool {
        self.environments.get(id).is_some_and(|env| env.generation == generation && env.phase == phase)
    }
}

impl Environment {
    /// When making it is tried again by itself: only while somebody holds it.
    #[must_use]
    pub fn retry_at(&self) -> Option<Moment> {
        let wanted = self.phase == Phase::Failed && self.origin == Origin::Managed && !self.leases.is_empty();
        if wanted { self.failure.as_ref().and_then(|f| f.retry_at) } else { None }
    }
}
