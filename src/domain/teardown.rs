//! Stopping and removing: from the decision to the backend's word, and what follows from it.

use super::books::{Cause, End, Need, Shutdown, Teardown};
use super::effect::{Deed, Effect, Notice, NoticeKind};
use super::environment::{Ending, Environment, Failure, Origin, Phase};
use super::event::FailureKind;
use super::id::{EnvId, Generation};
use super::idle::LINGER;
use super::lease::LeaseKind;
use super::lifecycle::{Change, back_off};
use super::moment::{Moment, Span};
use super::orders::short;
use super::outbox::Outbox;
use super::request::{Answer, Refusal, RefusalKind};
use super::state::State;
use super::turn::TurnStatus;
use super::words;

/// Exit code of a command that was cut off with its sandbox: our failure, not the command's.
pub(super) const CUT_OFF: i32 = 125;

impl State {
    /// Tells the backend to end a sandbox. The environment stays listed until the backend confirms.
    pub(super) fn begin_teardown(&mut self, out: &mut Outbox, id: &EnvId, end: End) -> bool {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return false };
        let (from, Some(sandbox)) = (env.phase, env.sandbox.clone()) else { return false };
        if !env.may_be_ended(&end) || !env.change(Change::Teardown, now) {
            return false;
        }
        if !matches!(end.cause, Cause::Idle | Cause::Leaked) || from != Phase::Ready {
            env.books.end = None;
        }
        env.rearm(now);
        let text = format!("{} is being {}", env.name, end.cause.sentence(end.deed, env.waited()));
        let effect = Effect::Teardown {
            env: id.clone(),
            generation: env.generation,
            listed: env.listed_generation(),
            sandbox,
            deed: end.deed,
            whose: env.origin,
            ordered: end.force || matches!(end.cause, Cause::TurnEnded | Cause::ConversationEnded | Cause::Shutdown),
        };
        env.books.teardown = Some(Teardown { end, from, void: false, overtaken: None });
        out.announce(Notice::new(NoticeKind::EnvReaping, text).env(id));
        out.send(effect);
        true
    }

    /// The backend confirms.
    pub(super) fn teardown_done(&mut self, out: &mut Outbox, id: &EnvId, generation: Generation) {
        if !self.is_at(id, generation, Phase::Reaping) {
            return;
        }
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        let Some(Teardown { mut end, overtaken, .. }) = env.books.teardown.take() else { return };
        if overtaken == Some(true) {
            // Stopped by us, but somebody else removed it.
            end.deed = Deed::Remove;
        }
        let (change, kind) = match end.deed {
            Deed::Stop => (Change::StopConfirmed, NoticeKind::EnvStopped),
            Deed::Remove => (Change::RemovalConfirmed, NoticeKind::EnvRemoved),
        };
        env.change(change, now);
        env.failure = None;
        if end.deed == Deed::Remove {
            env.sandbox = None;
        }
        // Whoever asked for its files to go while it was being removed is answered by this removal.
        let data = end.data || env.is_ephemeral() || env.books.end.as_ref().is_some_and(|end| end.data);
        let why = end.cause.sentence(end.deed, env.waited());
        let name = env.name.clone();
        self.sandbox_over(out, id, &why);
        let warning = self.environments.get(id).and_then(Environment::fuse_warning);
        let warning = warning.map(|warning| format!("; {warning}")).unwrap_or_default();
        out.announce(Notice::new(kind, format!("{name} was {why}{warning}")).env(id));
        if end.deed == Deed::Remove {
            self.unchoose(out, id);
        }
        if end.forget {
            self.forget(out, id, data, &why);
        }
    }

    /// The backend did nothing: what it says is shown, and the decision is made anew.
    pub(super) fn teardown_failed(
        &mut self,
        out: &mut Outbox,
        id: &EnvId,
        generation: Generation,
        kind: FailureKind,
        message: String,
    ) {
        if !self.is_at(id, generation, Phase::Reaping) {
            return;
        }
        if self.is_over_anyway(id) {
            return self.teardown_done(out, id, generation);
        }
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        let Some(Teardown { end, from, void, overtaken }) = env.books.teardown.take() else { return };
        let deed = end.deed;
        let ran = from == Phase::Ready && overtaken.is_none();
        env.change(if ran { Change::SparedRunning } else { Change::SparedStopped }, now);
        let attempts = env.failure.as_ref().map_or(0, |f| f.attempts).saturating_add(1);
        let wait = if void { None } else { plan_again(env, end, kind, ran, attempts, now) };
        let yes = if env.origin == Origin::Managed { "" } else { " --yes" };
        let force = format!("hermes-tui env {} {} --force{yes}", short(deed), words::quoted(&env.name));
        let hint = wait.map_or_else(
            || format!("nothing was deleted; `{force}` ends it although it is in use"),
            |wait| format!("nothing was deleted; it is decided again in {}", words::span(wait)),
        );
        let retry_at = wait.map(|wait| now + wait);
        env.failure = Some(Failure { at: now, message: message.clone(), hint: hint.clone(), attempts, retry_at });
        let (name, endpoint) = (env.name.clone(), env.spec.endpoint.clone());
        if from == Phase::Ready && !ran {
            self.sandbox_over(out, id, "it stopped meanwhile");
        }
        out.announce(Notice::new(NoticeKind::TeardownFailed, format!("{name} was not ended: {message}")).env(id));
        let refusal = match kind {
            FailureKind::Surprise => RefusalKind::Policy,
            FailureKind::Unreachable => RefusalKind::Unreachable,
            FailureKind::Temporary | FailureKind::Permanent => RefusalKind::Failed,
        };
        let refusal = Refusal::new(refusal, format!("{name} was not ended: {message}"), hint);
        self.refuse_waiting(out, id, &refusal, |need| matches!(need, Need::Stopped | Need::Removed));
        if kind == FailureKind::Unreachable {
            self.suspect(out, &endpoint, &message);
        }
        if let Some(shutdown) = &mut self.shutdown {
            count_failure(shutdown, id, message);
        }
    }

    /// Whether what we were to do was done meanwhile by somebody else: "not found" is success.
    fn is_over_anyway(&self, id: &EnvId) -> bool {
        let teardown = self.environments.get(id).and_then(|env| env.books.teardown.as_ref());
        teardown.is_some_and(|t| t.overtaken == Some(true) || t.overtaken.is_some() && t.end.deed == Deed::Stop)
    }

    /// What follows from the end of a sandbox, however it ended: its sessions and commands are over.
    pub(super) fn sandbox_over(&mut self, out: &mut Outbox, id: &EnvId, why: &str) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        env.forget_inside();
        env.books.lingers = false;
        env.deadline = None;
        env.last_ending = Some(Ending { at: now, why: why.to_owned() });
        let generation = env.generation;
        self.end_sessions(out, id, generation, why);
        self.cut_off_calls(out, id);
    }

    /// Deletes the row of an environment, and its files if `data`.
    pub(super) fn forget(&mut self, out: &mut Outbox, id: &EnvId, data: bool, why: &str) {
        self.answer_waiting(out, id, |need| matches!(need, Need::Removed), Answer::Done);
        self.answer_waiting(out, id, |need| matches!(need, Need::Stopped), Answer::Done);
        let Some(env) = self.environments.get(id) else { return };
        let (name, ours) = (env.name.clone(), env.origin == Origin::Managed);
        let refusal =
            Refusal::new(RefusalKind::Failed, format!("{name} was {why}"), "begin a turn or make a new one to go on");
        self.refuse_waiting(out, id, &refusal, Need::wants_ready);
        self.cut_off_calls(out, id);
        self.interrupt_turns(out, id, why);
        if self.edit(out, id).is_some() {
            self.environments.remove(id);
        }
        self.unmap(out, id);
        if data && ours {
            out.send(Effect::DeleteData(id.clone()));
        }
    }

    fn interrupt_turns(&mut self, out: &mut Outbox, id: &EnvId, why: &str) {
        let Some(env) = self.environments.get(id) else { return };
        let turns: Vec<_> = env
            .leases
            .iter()
            .filter_map(|lease| match &lease.kind {
                LeaseKind::Turn(turn) => Some(turn.clone()),
                _ => None,
            })
            .collect();
        let owners: Vec<_> = self
            .conversations
            .values()
            .filter(|c| c.open_turn().is_some_and(|turn| turns.contains(&turn.id)))
            .map(|c| c.id.clone())
            .collect();
        for conversation in owners {
            self.finish_turn(out, &conversation, TurnStatus::Interrupted, &format!("its environment was {why}"));
        }
    }

    /// An environment without a sandbox: an end that waited is fulfilled, an ephemeral one that nobody holds is
    /// forgotten, whoever waited for the stop is answered. True when something was done.
    pub(super) fn conclude(&mut self, out: &mut Outbox, id: &EnvId) -> bool {
        let Some(env) = self.environments.get(id) else { return false };
        if matches!(env.phase, Phase::Ready | Phase::Provisioning | Phase::Reaping) {
            return false;
        }
        let mut done = self.answer_waiting(out, id, |need| *need == Need::Stopped, Answer::Environment(id.clone()));
        let Some(env) = self.environments.get(id) else { return done };
        // Until its endpoint's list is seen it may have a sandbox that we do not know; a person need not wait for that.
        let ordered = env.books.end.as_ref().is_some_and(|end| end.cause == Cause::Person);
        let gone = env.sandbox.is_none() && (!env.books.adopting || ordered);
        let free = env.leases.is_empty();
        match env.books.end.clone() {
            Some(end) if gone && (end.force || free) && (end.forget || env.is_ephemeral()) => {
                self.drop_row(out, id, &end);
            }
            Some(end) if end.deed == Deed::Stop || gone && (end.force || free) => {
                if let Some(env) = self.edit(out, id) {
                    env.books.end = None;
                }
            }
            None if gone && free && (self.is_spent(env) || self.is_gone_for_good(env)) => {
                self.drop_row(out, id, &End::new(out.now, Deed::Remove, Cause::Orphaned));
            }
            _ => return done,
        }
        done = true;
        done
    }

    /// Whether an ephemeral environment that nobody holds has had its sandbox, or will not get one.
    fn is_spent(&self, env: &Environment) -> bool {
        let removed = env.phase == Phase::Absent && env.generation > Generation::default();
        let idle = matches!(env.phase, Phase::Absent | Phase::Failed)
            && !self.waiters.iter().any(|w| w.env.as_ref() == Some(&env.id) && w.need.wants_ready());
        env.is_ephemeral() && (removed || idle)
    }

    fn drop_row(&mut self, out: &mut Outbox, id: &EnvId, end: &End) {
        let Some(env) = self.environments.get(id) else { return };
        let why = end.cause.sentence(Deed::Remove, env.waited());
        // The backend's word of the removal was announced when it came, in this very event.
        let announced = env.last_ending.as_ref().is_some_and(|ending| ending.at == out.now);
        if !announced {
            out.announce(Notice::new(NoticeKind::EnvRemoved, format!("{} was {why}", env.name)).env(id));
        }
        // Nothing of an ephemeral environment outlives it.
        let data = end.data || env.is_ephemeral();
        self.forget(out, id, data, &why);
    }
}

impl Environment {
    /// Somebody begins to use it while its sandbox is being torn down for the end of its scope.
    pub(super) fn void_teardown(&mut self) {
        if let Some(teardown) = self.books.teardown.as_mut().filter(|teardown| !teardown.end.ordered()) {
            teardown.void = teardown.end.cause != Cause::Idle;
        }
    }
}

/// Says how it goes on after a teardown that did not happen; the time until then, `None` if it is given up.
fn plan_again(
    env: &mut Environment,
    end: End,
    kind: FailureKind,
    ran: bool,
    attempts: u32,
    now: Moment,
) -> Option<Span> {
    let surprise = kind == FailureKind::Surprise;
    if end.cause == Cause::Person && (surprise || kind == FailureKind::Permanent) {
        return None;
    }
    let wait = if surprise { env.idle_time().unwrap_or(LINGER) } else { back_off(attempts) };
    match end.cause {
        Cause::Shutdown => return None,
        Cause::Idle => env.defer(now + wait),
        Cause::Leaked if ran => env.defer(now + wait),
        // In use although its scope ended: it lives on until it is idle.
        _ if surprise && ran => {
            env.books.lingers = env.is_ephemeral();
            env.defer(now + wait);
        }
        _ => env.books.end = Some(End { at: now + wait, ..end }),
    }
    Some(wait)
}

fn count_failure(shutdown: &mut Shutdown, id: &EnvId, message: String) {
    let failures = shutdown.failures.entry(id.clone()).or_default();
    *failures += 1;
    if *failures >= 2 {
        shutdown.left.insert(id.clone(), message);
    }
}
