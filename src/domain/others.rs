//! Sandboxes that are not ours, as an endpoint's list shows them: listed, rebound, dropped. Never made, started or
//! remade by themselves.

use super::books::Need;
use super::effect::{Notice, NoticeKind};
use super::environment::{EnvSpec, Environment, Origin, Phase};
use super::event::{FoundSandbox, SandboxState};
use super::id::{EndpointId, EnvId, Generation, SandboxId};
use super::lifecycle::Change;
use super::naming;
use super::outbox::Outbox;
use super::request::{Refusal, RefusalKind};
use super::state::State;

impl State {
    /// Whether a listed sandbox is one to be shown: of others only those that the user chose.
    pub(super) fn is_welcome(&self, endpoint: &EndpointId, found: &FoundSandbox) -> bool {
        found.origin != Origin::Foreign || self.choices.of(endpoint, &found.sandbox, &found.name).is_some()
    }

    /// The list shows one that is not ours and that we know.
    pub(super) fn found_of_others(&mut self, out: &mut Outbox, id: &EnvId, candidates: Vec<FoundSandbox>) {
        let Some(env) = self.environments.get(id) else { return };
        let (known, phase, adopting) = (env.sandbox.clone(), env.phase, env.books.adopting);
        let Some(best) = choose(candidates, known.as_ref()) else { return };
        let other = known.as_ref().is_some_and(|known| *known != best.sandbox);
        // An answer to what was asked about this very sandbox is under way and knows better.
        if !other && !adopting && matches!(phase, Phase::Provisioning | Phase::Reaping) {
            return;
        }
        let told = env.books.listed;
        let restarted = told != Generation::default() && best.generation > told && phase == Phase::Ready;
        self.learn(out, id, &best);
        if other {
            self.replaced(out, id, "another container took its place");
        } else if restarted && best.state != SandboxState::Stopped {
            self.replaced(out, id, "somebody else started it again");
        }
        self.reconcile(out, id, &best);
        self.know_choice(out, id);
        self.place_told(out, id);
    }

    /// Takes over what the list tells of it.
    pub(super) fn learn(&mut self, out: &mut Outbox, id: &EnvId, found: &FoundSandbox) {
        let now = out.now;
        let Some(env) = self.environments.get(id) else { return };
        let allowance = self.consent.allowance(found.watched.as_ref().and_then(|watched| watched.profile.as_deref()));
        let spec = found.spec.as_deref().cloned().unwrap_or_else(|| env.spec.clone());
        let spec = EnvSpec { endpoint: env.spec.endpoint.clone(), persistence: found.persistence, ..spec };
        let Some(env) = self.edit(out, id) else { return };
        let before = env.consented();
        env.spec = spec;
        env.watched.clone_from(&found.watched);
        env.books.allowance = allowance;
        env.books.listed = found.generation;
        let called = std::mem::replace(&mut env.books.called, found.name.clone());
        env.consent_changed(before, now);
        if env.origin == Origin::Foreign && env.sandbox.as_ref() == Some(&found.sandbox) {
            self.called_otherwise(out, id, &called);
        }
    }

    /// Somebody gave a chosen container another name: it goes by that here too, unless a name was given here.
    fn called_otherwise(&mut self, out: &mut Outbox, id: &EnvId, before: &str) {
        let Some(env) = self.environments.get(id) else { return };
        let called = env.books.called.clone();
        let follows = env.name == before && called != before && !self.choices.names.contains_key(id);
        if !follows || naming::check(&called).is_err() {
            return;
        }
        let name = self.free_name(&env.spec.endpoint.clone(), &called);
        let Some(env) = self.edit(out, id) else { return };
        let text = format!("{} is now called {name}: its container was renamed", env.name);
        env.name = name;
        out.announce(Notice::new(NoticeKind::EnvChanged, text).env(id));
    }

    /// What we knew is over: what was in it is told, what was ordered for it is void.
    fn replaced(&mut self, out: &mut Outbox, id: &EnvId, why: &str) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        let ran = matches!(env.phase, Phase::Ready | Phase::Reaping);
        env.change(Change::Vanished, now);
        env.sandbox = None;
        env.books.teardown = None;
        env.books.end = None;
        let name = env.name.clone();
        if ran {
            self.sandbox_over(out, id, why);
            out.announce(Notice::new(NoticeKind::EnvChanged, format!("{name}: {why}")).env(id));
        }
        let refusal = Refusal::new(RefusalKind::Policy, format!("{name} was not ended: {why}"), "order it again");
        self.refuse_waiting(out, id, &refusal, |need| matches!(need, Need::Stopped | Need::Removed));
    }

    /// One that is not ours and that we did not know.
    pub(super) fn discover_of_others(
        &mut self,
        out: &mut Outbox,
        endpoint: &EndpointId,
        id: &EnvId,
        candidates: Vec<FoundSandbox>,
    ) {
        let now = out.now;
        let Some(best) = choose(candidates, None) else { return };
        let spec = EnvSpec { endpoint: endpoint.clone(), ..super::adoption::spec_of(endpoint, &best) };
        let wanted = self.choices.names.get(id).unwrap_or(&best.name);
        let wanted = if naming::check(wanted).is_ok() {
            wanted.clone()
        } else {
            best.sandbox.as_str().chars().take(12).collect()
        };
        let name = self.free_name(endpoint, &wanted);
        let mut env = Environment::new(id.clone(), name, spec, best.origin, now);
        env.books.adopting = true;
        let text = format!("{} is listed ({})", env.name, who(best.origin));
        self.insert(out, env);
        self.learn(out, id, &best);
        self.reconcile(out, id, &best);
        let Some(env) = self.edit(out, id) else { return };
        env.generation = best.generation.max(Generation(1));
        env.books.adopting = false;
        env.grant_grace(now);
        out.announce(Notice::new(NoticeKind::EnvCreated, text).env(id));
        self.know_choice(out, id);
        self.place_told(out, id);
        self.answer_shown(out, id);
    }

    /// Whether one that is not ours can be taken off the list: its container is gone, and nobody is in it.
    pub(super) fn is_gone_for_good(&self, env: &Environment) -> bool {
        env.origin != Origin::Managed
            && matches!(env.phase, Phase::Absent | Phase::Lost | Phase::Failed)
            && !self.sessions.values().any(|session| session.env == env.id)
            && !self.waiters.iter().any(|waiter| waiter.env.as_ref() == Some(&env.id))
    }
}

fn who(origin: Origin) -> &'static str {
    match origin {
        Origin::Managed => "made by us",
        Origin::Hermes => "made by a hermes-agent",
        Origin::Foreign => "chosen by you",
    }
}

/// The container that an environment of others goes on with: a running one, else the one that is known, else the newest.
fn choose(mut candidates: Vec<FoundSandbox>, known: Option<&SandboxId>) -> Option<FoundSandbox> {
    let rank = |found: &FoundSandbox| {
        (found.state != SandboxState::Stopped, Some(&found.sandbox) == known, found.generation, found.sandbox.clone())
    };
    let best = candidates.iter().enumerate().max_by_key(|(_, found)| rank(found))?.0;
    Some(candidates.swap_remove(best))
}
