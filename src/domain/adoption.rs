//! Finding again what was there before: from the journal, and from an endpoint's list.

use super::books::{Cause, End};
use super::effect::{Deed, Effect, Notice, NoticeKind, Record};
use super::environment::{
    ActivityKind, BackendKind, EnvSpec, Environment, Origin, Persistence, Phase, Retention, Scope,
};
use super::event::{FoundSandbox, SandboxState};
use super::id::{ConversationId, EndpointId, EnvId, Generation, SandboxId};
use super::idle::GRACE;
use super::lease::LeaseKind;
use super::lifecycle::Change;
use super::moment::{Moment, Span};
use super::naming;
use super::outbox::{Outbox, SAVE_EVERY};
use super::state::State;
use super::teardown::CUT_OFF;
use super::turn::{Call, CallSource, Conversation};
use std::collections::BTreeMap;

/// A list may be older than the answer to a provision that came before it: what became ready within this time is not
/// taken for lost.
const LIST_LAG: Span = Span::seconds(2);

impl State {
    /// Takes in what the journal remembers. What really exists is known only after each endpoint's list.
    pub(super) fn restore(
        &mut self,
        out: &mut Outbox,
        environments: Vec<Environment>,
        conversations: Vec<Conversation>,
        calls: Vec<Call>,
    ) {
        for conversation in conversations {
            self.conversations.entry(conversation.id.clone()).or_insert(conversation);
        }
        for env in environments {
            if !self.environments.contains_key(&env.id) {
                self.restore_environment(out, env);
            }
        }
        for call in calls {
            self.restore_call(out, call);
        }
    }

    fn restore_environment(&mut self, out: &mut Outbox, mut env: Environment) {
        let now = out.now;
        self.unlisted.insert(env.spec.endpoint.clone());
        let consent = self.consent.clone();
        let deadline = env.deadline.take().map(|deadline| deadline + SAVE_EVERY);
        env.books.adopting = true;
        env.books.looking = false;
        env.books.teardown = None;
        env.books.seen = None;
        env.warned = false;
        let held = env.leases.len();
        env.leases.retain(|lease| matches!(lease.kind, LeaseKind::Turn(_) | LeaseKind::Pin));
        if env.leases.len() < held {
            // Commands ended with the host, nobody knows when: at the latest now.
            env.books.released = now;
        }
        // An order goes on, but what it was to end by force is over: whoever holds it now is somebody else.
        if let Some(end) = &mut env.books.end {
            end.force = false;
        }
        env.grant_grace(now);
        env.books.not_before = env.books.not_before.max(deadline.unwrap_or_default());
        if let Some(failure) = &mut env.failure {
            failure.retry_at = None;
        }
        if env.origin != Origin::Managed {
            // The last commands of others need not have reached the journal, and there may have been no deadline to move.
            env.books.released = env.books.released.max((env.last_activity.at + SAVE_EVERY).min(now));
            env.take_consent(&consent, now);
        } else if env.is_ephemeral() && env.spec.scope == Scope::Turn && env.leases.is_empty() && !env.books.lingers {
            env.books.end.get_or_insert(End::new(now + GRACE, Deed::Remove, Cause::Orphaned));
        }
        self.insert(out, env);
    }

    fn restore_call(&mut self, out: &mut Outbox, mut call: Call) {
        if call.ended.is_none() {
            call.ended = Some(out.now);
            // Of a command of somebody else we do not know how it ended, or whether.
            call.exit_code = (call.source != CallSource::Observed).then_some(CUT_OFF);
            out.save(Record::Call(call.id.clone()));
        }
        self.calls.entry(call.id.clone()).or_insert(call);
    }

    /// A complete list of what an endpoint holds of ours: proof that it answers.
    pub(super) fn snapshot(&mut self, out: &mut Outbox, endpoint: &EndpointId, found: Vec<FoundSandbox>) {
        self.endpoint_up(out, endpoint);
        self.listed.insert(endpoint.clone());
        if self.unlisted.remove(endpoint) {
            self.doubt_execs(out, endpoint);
            self.tell_choices(out, endpoint);
        }
        let mut listed: BTreeMap<EnvId, Vec<FoundSandbox>> = BTreeMap::new();
        for sandbox in found.into_iter().filter(|sandbox| self.is_welcome(endpoint, sandbox)) {
            listed.entry(sandbox.env.clone()).or_default().push(sandbox);
        }
        for id in self.environments_of(endpoint) {
            let origin = self.environments.get(&id).map(|env| env.origin);
            let same = |found: &FoundSandbox| Some(found.origin) == origin;
            let candidates = listed.remove(&id).map(|all| all.into_iter().filter(same).collect::<Vec<_>>());
            match candidates.filter(|all| !all.is_empty()) {
                Some(candidates) if origin != Some(Origin::Managed) => self.found_of_others(out, &id, candidates),
                Some(candidates) => self.found(out, &id, candidates),
                None => self.missing(out, &id),
            }
            if let Some(env) = self.edit(out, &id) {
                env.books.adopting = false;
            }
            self.resume_sessions(out, &id);
        }
        for (id, candidates) in listed {
            if !self.environments.contains_key(&id) {
                let theirs = candidates.iter().any(|found| found.origin != Origin::Managed);
                if theirs {
                    self.discover_of_others(out, endpoint, &id, candidates);
                } else {
                    self.discover(out, endpoint, &id, candidates);
                }
            }
        }
    }

    fn found(&mut self, out: &mut Outbox, id: &EnvId, candidates: Vec<FoundSandbox>) {
        let Some(env) = self.environments.get(id) else { return };
        // An answer to what was asked of the backend is under way and knows better.
        if !env.books.adopting && matches!(env.phase, Phase::Provisioning | Phase::Reaping) {
            return;
        }
        let (generation, known) = (env.generation, env.sandbox.clone());
        let Some((best, others)) = pick(candidates, known.as_ref().map(SandboxId::as_str)) else { return };
        for stray in others {
            self.remove_superseded(out, id, stray, best.generation.max(generation));
        }
        self.reconcile(out, id, &best);
    }

    /// Brings what we believe in line with what was found.
    pub(super) fn reconcile(&mut self, out: &mut Outbox, id: &EnvId, found: &FoundSandbox) {
        let now = out.now;
        let Some(env) = self.environments.get(id) else { return };
        let (adopting, phase) = (env.books.adopting, env.phase);
        let same = env.sandbox.as_ref() == Some(&found.sandbox);
        // Started again while nobody could tell us: what ran in it before is over.
        let newer = env.origin == Origin::Managed && found.generation > env.generation;
        let again = same && phase == Phase::Ready && !adopting && newer;
        match found.state {
            SandboxState::Stopped if phase == Phase::Ready && same && !adopting => {
                self.halted(out, id, "stopped by somebody else");
            }
            SandboxState::Stopped => self.settle_stopped(out, id, found),
            // It runs on as before; an adoption only says so.
            SandboxState::Running | SandboxState::Paused if phase == Phase::Ready && same && !again => {
                if let Some(env) = self.edit(out, id).filter(|env| env.books.adopting) {
                    env.generation = env.generation.max(found.generation);
                    self.adopted(out, id, now);
                }
            }
            SandboxState::Running | SandboxState::Paused => {
                if again {
                    self.sandbox_over(out, id, "started again by somebody else");
                }
                self.settle_running(out, id, found);
            }
        }
        self.set_paused(out, id, found.state == SandboxState::Paused);
    }

    fn settle_running(&mut self, out: &mut Outbox, id: &EnvId, found: &FoundSandbox) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        // Interrupted in the middle of a start or a teardown by the end of the host: its generation stands. In every
        // other case it was started without us, and sessions of the generation that we knew are not in it.
        let midway = env.books.adopting && matches!(env.phase, Phase::Provisioning | Phase::Reaping);
        env.change(Change::FoundRunning, now);
        env.sandbox = Some(found.sandbox.clone());
        let expected = if midway { env.generation } else { env.generation.next() };
        env.generation = expected.max(found.generation);
        env.failure = None;
        if env.origin != Origin::Managed {
            // It was decided because it did not run.
            env.books.end.take_if(|end| end.is_tentative());
        }
        env.note(ActivityKind::Adopted, "found running", now);
        self.adopted(out, id, now);
    }

    fn settle_stopped(&mut self, out: &mut Outbox, id: &EnvId, found: &FoundSandbox) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        let was = env.phase;
        env.sandbox = Some(found.sandbox.clone());
        env.generation = env.generation.max(found.generation);
        if !env.change(Change::FoundStopped, now) {
            return;
        }
        let notice = Notice::new(NoticeKind::EnvStopped, format!("{} was found stopped", env.name)).env(id);
        if was == Phase::Ready || was == Phase::Reaping {
            self.sandbox_over(out, id, "stopped while no host ran");
        }
        out.announce(notice);
    }

    fn adopted(&mut self, out: &mut Outbox, id: &EnvId, now: Moment) {
        let Some(env) = self.edit(out, id) else { return };
        env.grant_grace(now);
        let notice = Notice::new(NoticeKind::EnvAdopted, format!("{} was found again", env.name)).env(id);
        let new = env.origin != Origin::Managed && env.generation <= Generation(1) && env.created == now;
        if !new {
            out.announce(notice);
        }
    }

    fn missing(&mut self, out: &mut Outbox, id: &EnvId) {
        let now = out.now;
        let Some(env) = self.environments.get(id) else { return };
        match (env.phase, env.books.adopting) {
            (Phase::Ready, true) => self.vanished(out, id, "it disappeared while no host ran"),
            (Phase::Ready, false) if now < env.phase_since + LIST_LAG => {}
            (Phase::Ready | Phase::Stopped, _) => self.vanished(out, id, "somebody else removed it"),
            (Phase::Provisioning | Phase::Reaping, true) => self.vanished(out, id, "the host ended meanwhile"),
            (Phase::Failed, _) => {
                if let Some(env) = self.edit(out, id) {
                    env.sandbox = None;
                }
            }
            (Phase::Provisioning | Phase::Reaping | Phase::Absent | Phase::Lost, _) => {}
        }
    }

    /// A sandbox of an environment that has a newer one. Nobody can be in it: sessions and commands go to the newer.
    fn remove_superseded(&mut self, out: &mut Outbox, id: &EnvId, stray: FoundSandbox, newest: Generation) {
        if stray.generation >= newest {
            return;
        }
        out.send(Effect::Teardown {
            env: id.clone(),
            generation: stray.generation,
            listed: stray.generation,
            sandbox: stray.sandbox,
            deed: Deed::Remove,
            whose: Origin::Managed,
            ordered: false,
        });
    }

    /// A sandbox of ours whose environment the journal does not know: listed from its label.
    fn discover(&mut self, out: &mut Outbox, endpoint: &EndpointId, id: &EnvId, candidates: Vec<FoundSandbox>) {
        let now = out.now;
        let Some((best, _)) = pick(candidates, None) else { return };
        let conversation = best.conversation.clone();
        let spec = EnvSpec { endpoint: endpoint.clone(), ..spec_of(endpoint, &best) };
        let wanted = if naming::check(&best.name).is_ok() { best.name.as_str() } else { "found" };
        let clashes = naming::is_made_up(wanted) && self.is_taken(endpoint, wanted, None);
        let name = if clashes { self.next_name(endpoint) } else { self.free_name(endpoint, wanted) };
        let mut env = Environment::new(id.clone(), name, spec, Origin::Managed, now);
        env.books.adopting = true;
        self.insert(out, env);
        self.reconcile(out, id, &best);
        let Some(env) = self.edit(out, id) else { return };
        env.generation = best.generation.max(Generation(1));
        env.books.adopting = false;
        env.grant_grace(now);
        if env.is_ephemeral() {
            env.books.end = Some(End::new(now + GRACE, Deed::Remove, Cause::Orphaned));
        }
        if let Some(conversation) = conversation {
            self.finds_again(out, id, conversation);
        }
    }

    /// The conversation that an environment was made for has it again, unless it has another by now.
    fn finds_again(&mut self, out: &mut Outbox, id: &EnvId, conversation: ConversationId) {
        let fresh = Conversation::new(conversation.clone(), out.now);
        let known = self.conversations.entry(conversation.clone()).or_insert(fresh);
        if known.env.is_some() || known.agent.is_some() {
            return;
        }
        known.env = Some(id.clone());
        out.save(Record::Conversation(conversation.clone()));
        if let Some(env) = self.edit(out, id) {
            env.conversations.insert(conversation);
        }
    }
}

/// The sandbox that an environment goes on with: the one it knows, else a running one, else the newest.
fn pick(mut candidates: Vec<FoundSandbox>, known: Option<&str>) -> Option<(FoundSandbox, Vec<FoundSandbox>)> {
    let rank = |found: &FoundSandbox| {
        (Some(found.sandbox.as_str()) == known, found.state == SandboxState::Running, found.generation)
    };
    let (best, _) = candidates.iter().enumerate().max_by_key(|(_, found)| rank(found))?;
    let best = candidates.swap_remove(best);
    Some((best, candidates))
}

/// What a listed sandbox was made from, as far as it can be told.
pub(super) fn spec_of(endpoint: &EndpointId, found: &FoundSandbox) -> EnvSpec {
    found.spec.as_deref().cloned().unwrap_or_else(|| spec_from_label(endpoint, found.persistence))
}

/// What can be said of a sandbox whose label says little: it is never ended unless it is known to be ephemeral.
fn spec_from_label(endpoint: &EndpointId, persistence: Persistence) -> EnvSpec {
    let local = EnvSpec::local();
    let backend = if *endpoint == local.endpoint { BackendKind::Local } else { BackendKind::Docker };
    EnvSpec { backend, endpoint: endpoint.clone(), persistence, retention: Retention::KeepRunning, ..local }
}
