//! The one judge of what is due. The reaper acts on [`judge`]; the sidebar, `reap --dry-run` and the explanation print it.

use super::books::{Cause, End, Seen};
use super::effect::{Deed, Effect, Notice, NoticeKind};
use super::environment::{Environment, Phase};
use super::evidence::Evidence;
use super::id::{EnvId, Generation};
use super::idle::LINGER;
use super::lifecycle::back_off;
use super::moment::Moment;
use super::outbox::Outbox;
use super::state::State;
use super::verdict::VerdictKind;
use super::words;

/// Whether anything can be decided about the environments of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It answers, and its list was seen.
    Open,
    /// It does not answer.
    Down,
    /// Its list was not seen since the host started or since it was down.
    Unlisted,
}

/// What a judgement rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ground {
    /// Its endpoint does not answer.
    Unreachable,
    /// Its endpoint's list was not seen yet.
    Unlisted,
    /// Somebody else halted its processes.
    Paused,
    /// Made by somebody else.
    NotOurs,
    /// No sandbox runs.
    AtRest,
    /// It is being made or started.
    Starting,
    /// It is being torn down.
    TearingDown,
    /// It has leases.
    Leases,
    /// The last look found a live process.
    Process,
    /// Its retention says that it runs on.
    KeepRunning,
    /// Its idle time is zero.
    IdleOff,
    /// An end that is decided.
    Ending(Cause),
    /// The idle deadline.
    Idle,
}

/// What the reaper does about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// Warn once: a look found nobody.
    Warn,
    /// Look inside first.
    Look,
    /// Put it off until then: something lives inside.
    Defer(Moment),
    /// End it.
    Teardown(End),
}

/// A verdict before it is put into words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// The answer.
    pub kind: VerdictKind,
    /// What it rests on.
    pub ground: Ground,
    /// Until when it stands.
    pub until: Option<Moment>,
    /// What is done about it.
    pub action: Action,
}

impl Judgement {
    fn new(kind: VerdictKind, ground: Ground) -> Self {
        Self { kind, ground, until: None, action: Action::Nothing }
    }

    fn until(self, until: Option<Moment>) -> Self {
        Self { until, ..self }
    }

    fn action(self, action: Action) -> Self {
        Self { action, ..self }
    }
}

/// Judges one environment. `look` is what a look that has just come back found.
#[must_use]
pub fn judge(env: &Environment, access: Access, now: Moment, look: Option<&Seen>) -> Judgement {
    match (access, env.phase) {
        (Access::Down, _) => Judgement::new(VerdictKind::Frozen, Ground::Unreachable),
        (Access::Unlisted, _) => Judgement::new(VerdictKind::Frozen, Ground::Unlisted),
        (_, Phase::Reaping) => Judgement::new(VerdictKind::Reap, Ground::TearingDown),
        _ if env.paused => Judgement::new(VerdictKind::Frozen, Ground::Paused),
        (_, Phase::Provisioning) if env.leases.is_empty() => Judgement::new(VerdictKind::Keep, Ground::Starting),
        (_, Phase::Provisioning) => held(env),
        (_, Phase::Ready | Phase::Stopped | Phase::Failed) if !env.is_ours_to_end() => {
            Judgement::new(VerdictKind::NotOurs, Ground::NotOurs)
        }
        (_, Phase::Ready) => judge_ready(env, now, look),
        (_, Phase::Stopped | Phase::Failed) => judge_stopped(env, now),
        (_, Phase::Absent | Phase::Lost) => Judgement::new(VerdictKind::AtRest, Ground::AtRest),
    }
}

fn judge_ready(env: &Environment, now: Moment, look: Option<&Seen>) -> Judgement {
    match &env.books.end {
        Some(end) if end.force || env.leases.is_empty() => judge_end(env, end, now, look),
        _ if !env.leases.is_empty() => held(env),
        _ => judge_idle(env, now, look),
    }
}

/// A sandbox that does not run is only ever removed, by a decided end.
fn judge_stopped(env: &Environment, now: Moment) -> Judgement {
    match &env.books.end {
        Some(end) if ends_stopped(env, end) && (end.force || env.leases.is_empty()) => judge_end(env, end, now, None),
        _ => Judgement::new(VerdictKind::AtRest, Ground::AtRest),
    }
}

fn ends_stopped(env: &Environment, end: &End) -> bool {
    env.sandbox.is_some() && end.deed == Deed::Remove
}

fn held(env: &Environment) -> Judgement {
    let all_end: Option<Vec<Moment>> = env.leases.iter().map(|lease| lease.until).collect();
    let until = all_end.and_then(|ends| ends.into_iter().max());
    Judgement::new(VerdictKind::Held, Ground::Leases).until(until)
}

fn judge_end(env: &Environment, end: &End, now: Moment, look: Option<&Seen>) -> Judgement {
    let ground = Ground::Ending(end.cause);
    let grace = env.books.grace.filter(|_| !end.ordered());
    let at = end.at.max(grace.unwrap_or_default());
    if now < at {
        return Judgement::new(VerdictKind::Keep, ground).until(Some(at));
    }
    let must_look = env.phase == Phase::Ready && (grace.is_some() || end.is_tentative());
    due(env, ground, now, look.filter(|_| must_look), must_look, end.clone())
}

fn judge_idle(env: &Environment, now: Moment, look: Option<&Seen>) -> Judgement {
    let (Some(deadline), Some(warns_at), Some(deed)) = (env.deadline, env.warns_at(), env.idle_deed()) else {
        let off = if env.idle_deed().is_none() { Ground::KeepRunning } else { Ground::IdleOff };
        return Judgement::new(VerdictKind::Keep, off);
    };
    let until = Some(deadline.max(env.books.grace.unwrap_or_default()));
    if until.is_some_and(|until| now < until) {
        let action = if now >= warns_at && !env.warned { warn(env, deadline, now, look) } else { Action::Nothing };
        let known_process = env.books.seen.as_ref().is_some_and(|seen| seen.holds_until(now).is_some());
        let (kind, ground) = match known_process {
            true => (VerdictKind::Held, Ground::Process),
            false if env.warned => (VerdictKind::Warn, Ground::Idle),
            false => (VerdictKind::Keep, Ground::Idle),
        };
        return Judgement::new(kind, ground).until(until).action(action);
    }
    due(env, Ground::Idle, now, look, true, End::new(now, deed, env.idle_cause()))
}

/// A warning is due: only a look can tell that nobody is there to be disturbed by what it announces. What lives inside
/// puts the deadline off at once, and nobody is warned.
fn warn(env: &Environment, deadline: Moment, now: Moment, look: Option<&Seen>) -> Action {
    let Some(seen) = look else { return if env.books.looking { Action::Nothing } else { Action::Look } };
    match put_off(env, seen, now) {
        Some(next) if next > deadline => Action::Defer(next),
        _ => Action::Warn,
    }
}

/// Until when what a look found puts the end off: one idle time, but not beyond the longest hold of a process.
fn put_off(env: &Environment, seen: &Seen, now: Moment) -> Option<Moment> {
    Some((now + env.idle_time().unwrap_or(LINGER)).min(seen.holds_until(now)?))
}

/// It is due: look first where a look is needed, put it off if something lives inside, else end it.
fn due(env: &Environment, ground: Ground, now: Moment, look: Option<&Seen>, must_look: bool, end: End) -> Judgement {
    if let Some(next) = look.and_then(|seen| put_off(env, seen, now)) {
        return Judgement::new(VerdictKind::Held, Ground::Process).until(Some(next)).action(Action::Defer(next));
    }
    let action = match look {
        None if must_look && env.books.looking => Action::Nothing,
        None if must_look => Action::Look,
        _ => Action::Teardown(end),
    };
    Judgement::new(VerdictKind::Reap, ground).action(action)
}

/// When the judgement of this environment changes by time alone.
#[must_use]
pub fn wakes_at(env: &Environment, access: Access) -> Option<Moment> {
    let lease = env.leases.iter().filter_map(|lease| lease.until).min();
    if access != Access::Open || env.paused {
        return lease;
    }
    [lease, env.retry_at(), end_wakes_at(env), idle_wakes_at(env)].into_iter().flatten().min()
}

fn end_wakes_at(env: &Environment) -> Option<Moment> {
    let end = env.books.end.as_ref()?;
    let acts = match env.phase {
        Phase::Ready => true,
        Phase::Stopped | Phase::Failed => ends_stopped(env, end),
        _ => false,
    };
    let free = end.force || env.leases.is_empty();
    let grace = env.books.grace.filter(|_| !end.ordered()).unwrap_or_default();
    (acts && free && !env.books.looking).then_some(end.at.max(grace))
}

fn idle_wakes_at(env: &Environment) -> Option<Moment> {
    // While a look is under way its answer is what changes the judgement.
    if env.books.end.is_some() || env.phase != Phase::Ready || env.books.looking {
        return None;
    }
    let deadline = env.deadline?.max(env.books.grace.unwrap_or_default());
    match env.warns_at() {
        Some(warns_at) if !env.warned => Some(warns_at),
        _ => Some(deadline),
    }
}

impl State {
    /// What can be known of the endpoint of this environment.
    pub(super) fn access(&self, env: &Environment) -> Access {
        let endpoint = &env.spec.endpoint;
        if self.down.contains_key(endpoint) {
            Access::Down
        } else if self.unlisted.contains(endpoint) {
            Access::Unlisted
        } else {
            Access::Open
        }
    }

    /// When the reaper acts on an environment unless something happens: what every countdown runs to. `None` while it is
    /// held, while nothing can be decided, and where nothing is due by time.
    #[must_use]
    pub fn acts_at(&self, now: Moment, env: &Environment) -> Option<Moment> {
        let judgement = judge(env, self.access(env), now, None);
        match (judgement.kind, judgement.ground) {
            (VerdictKind::Keep | VerdictKind::Warn, Ground::Idle | Ground::Ending(_)) => judgement.until,
            (VerdictKind::Reap, Ground::Idle | Ground::Ending(_)) => Some(now),
            _ => None,
        }
    }

    /// Whether decisions on it can be made.
    pub(super) fn is_open(&self, env: &Environment) -> bool {
        self.access(env) == Access::Open
    }

    /// Judges one environment and acts on it. True when something was done.
    pub(super) fn act(&mut self, out: &mut Outbox, id: &EnvId) -> bool {
        if self.shutdown.is_some() {
            return false;
        }
        let Some(env) = self.environments.get(id) else { return false };
        let action = judge(env, self.access(env), out.now, None).action;
        self.perform(out, id, action)
    }

    /// Judges all of them and acts on what is due.
    pub(super) fn act_on_all(&mut self, out: &mut Outbox) {
        if self.shutdown.is_some() {
            return;
        }
        let due: Vec<(EnvId, Action)> = self
            .environments
            .values()
            .map(|env| (&env.id, judge(env, self.access(env), out.now, None).action))
            .filter(|(_, action)| *action != Action::Nothing)
            .map(|(id, action)| (id.clone(), action))
            .collect();
        for (id, action) in due {
            self.perform(out, &id, action);
        }
    }

    fn perform(&mut self, out: &mut Outbox, id: &EnvId, action: Action) -> bool {
        match action {
            Action::Nothing => return false,
            Action::Warn => self.warn(out, id),
            Action::Look => self.look(out, id),
            Action::Defer(until) => self.defer_for_process(out, id, until),
            Action::Teardown(end) => return self.begin_teardown(out, id, end),
        }
        true
    }

    fn warn(&mut self, out: &mut Outbox, id: &EnvId) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        env.warned = true;
        let left = words::span(env.deadline.map_or_else(Default::default, |d| d.since(now)));
        let deed = env.idle_deed().map_or("stopped", Deed::participle);
        let text = format!("{} is {deed} in {left} unless it is used", env.name);
        out.announce(Notice::new(NoticeKind::EnvWarned, text).env(id));
    }

    fn look(&mut self, out: &mut Outbox, id: &EnvId) {
        let Some(env) = self.edit(out, id) else { return };
        let Some(sandbox) = env.sandbox.clone() else { return };
        env.books.looking = true;
        let generation = env.generation;
        out.send(Effect::GatherEvidence { env: id.clone(), generation, sandbox });
    }

    fn defer_for_process(&mut self, out: &mut Outbox, id: &EnvId, until: Moment) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        env.defer(until);
        // From now on it is due only after a look that finds nothing.
        if let Some(end) = env.books.end.as_mut().filter(|end| !end.ordered()) {
            end.cause = Cause::Orphaned;
        }
        env.rearm(now);
        let found: Vec<_> = env.holders().into_iter().filter(|holder| holder.kind == "process").collect();
        let text = format!("{} is in use by {}", env.name, words::holders(&found));
        out.announce(Notice::new(NoticeKind::EnvDeferred, text).env(id));
    }

    /// A look is back: decide again with it.
    pub(super) fn evidence_gathered(
        &mut self,
        out: &mut Outbox,
        id: &EnvId,
        generation: Generation,
        evidence: Result<Evidence, String>,
    ) {
        if !self.is_at(id, generation, Phase::Ready) {
            return;
        }
        match evidence {
            Ok(evidence) => self.looked(out, id, evidence),
            Err(message) => self.look_failed(out, id, &message),
        }
    }

    fn looked(&mut self, out: &mut Outbox, id: &EnvId, evidence: Evidence) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        env.books.looking = false;
        env.books.looks_failed = 0;
        let before = env.books.seen.take().and_then(|seen| seen.execs_since);
        let execs_since = (evidence.execs > 0).then(|| before.unwrap_or(now));
        env.books.seen = Some(Seen { at: now, evidence, execs_since });
        env.rearm(now);
        let Some(env) = self.environments.get(id) else { return };
        if self.shutdown.is_some() {
            return;
        }
        let action = judge(env, self.access(env), now, env.books.seen.as_ref()).action;
        // A look that came back within the grace is not the fresh one that the grace asks for.
        let graced = env.books.grace.is_some_and(|grace| now < grace);
        if !graced && let Some(env) = self.edit(out, id) {
            env.books.grace = None;
        }
        self.perform(out, id, action);
    }

    /// A failed look is no reason to end anything, and none to keep quiet: what is due is put off, a warning is given.
    fn look_failed(&mut self, out: &mut Outbox, id: &EnvId, message: &str) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        if !std::mem::take(&mut env.books.looking) {
            return;
        }
        env.rearm(now);
        let Some(env) = self.environments.get(id) else { return };
        let judgement = judge(env, self.access(env), now, None);
        match (judgement.action, judgement.kind) {
            _ if self.shutdown.is_some() => {}
            (Action::Look, VerdictKind::Reap) => self.put_off_unseen(out, id, message),
            (Action::Look, _) => self.warn(out, id),
            // It was used, or is held, since it was looked for.
            (action, _) => {
                self.perform(out, id, action);
            }
        }
    }

    fn put_off_unseen(&mut self, out: &mut Outbox, id: &EnvId, message: &str) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        env.books.looks_failed = env.books.looks_failed.saturating_add(1);
        let wait = back_off(env.books.looks_failed);
        env.defer(now + wait);
        env.rearm(now);
        // That its end is near is said below; no other warning comes before the next look.
        env.warned |= env.warns_at().is_some_and(|at| at <= now);
        let text = format!(
            "{} is kept: looking into it failed ({message}); the next look is in {}",
            env.name,
            words::span(wait)
        );
        out.announce(Notice::new(NoticeKind::EnvDeferred, text).env(id));
    }
}
