//! What a person chose about sandboxes that are not ours: containers to be shown, and names.
//!
//! Remembered apart from the environments, for those come and go with their containers.

use super::books::{Need, Waiter};
use super::effect::{Effect, Notice, NoticeKind, Record};
use super::environment::{Environment, Origin};
use super::id::{EndpointId, EnvId, ReplyTo, SandboxId};
use super::moment::{Moment, Span};
use super::naming;
use super::outbox::Outbox;
use super::request::{Answer, Refusal, RefusalKind};
use super::state::State;
use super::words;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How long a chosen container is waited for.
const APPEARS: Span = Span::seconds(10);

/// How many names are remembered.
const MOST_NAMES: usize = 1000;

/// What a person chose.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Choices {
    /// Containers to be shown, by name or full id.
    pub shown: BTreeMap<EndpointId, BTreeSet<String>>,
    /// Names given to environments that are not ours.
    pub names: BTreeMap<EnvId, String>,
}

impl Choices {
    /// How a container was chosen, if it was.
    #[must_use]
    pub fn of(&self, endpoint: &EndpointId, sandbox: &SandboxId, name: &str) -> Option<&str> {
        let chosen = self.shown.get(endpoint)?;
        chosen.iter().map(String::as_str).find(|key| is_it(key, sandbox, name))
    }
}

fn is_it(key: &str, sandbox: &SandboxId, name: &str) -> bool {
    key == name || key == sandbox.as_str()
}

impl State {
    /// Takes in what the journal remembers. The backends are told when they are listed.
    pub(super) fn restore_choices(&mut self, choices: Choices) {
        self.unlisted.extend(choices.shown.keys().cloned());
        self.choices = choices;
    }

    /// Shows a container that somebody else made.
    pub(super) fn adopt(&mut self, out: &mut Outbox, reply: ReplyTo, endpoint: EndpointId, container: String) {
        if container.trim().is_empty() {
            let hint = "give its name or id; `hermes-tui env adopt --list` shows what there is";
            return out.refuse(reply, Refusal::new(RefusalKind::Usage, "no container was named", hint));
        }
        if let Some(env) = self.shown(&endpoint, &container) {
            return out.reply(reply, Answer::Environment(env));
        }
        if let Some(why) = self.down.get(&endpoint) {
            let message = format!("{endpoint} does not answer: {why}");
            return out.refuse(
                reply,
                Refusal::new(RefusalKind::Unreachable, message, "`hermes-tui doctor` says what was tried"),
            );
        }
        let until = out.now + APPEARS;
        self.choices.shown.entry(endpoint.clone()).or_default().insert(container.clone());
        out.save(Record::Choices);
        self.tell_choices(out, &endpoint);
        self.waiters.push(Waiter { reply, env: None, need: Need::Shown { endpoint, container, until } });
    }

    /// The environment of a chosen container.
    fn shown(&self, endpoint: &EndpointId, container: &str) -> Option<EnvId> {
        let is_it = |env: &&Environment| {
            env.origin == Origin::Foreign
                && env.spec.endpoint == *endpoint
                && env.sandbox.as_ref().is_some_and(|sandbox| is_it(container, sandbox, &env.books.called))
        };
        self.environments.values().find(is_it).map(|env| env.id.clone())
    }

    /// Tells the backend which containers are chosen.
    pub(super) fn tell_choices(&self, out: &mut Outbox, endpoint: &EndpointId) {
        if let Some(chosen) = self.choices.shown.get(endpoint) {
            out.send(Effect::Choose { endpoint: endpoint.clone(), chosen: chosen.clone() });
        }
    }

    /// A chosen container is listed: whoever waited for it is answered.
    pub(super) fn answer_shown(&mut self, out: &mut Outbox, id: &EnvId) {
        let Some(env) = self.environments.get(id).filter(|env| env.origin == Origin::Foreign) else { return };
        let Some(sandbox) = env.sandbox.clone() else { return };
        let (place, called) = (env.spec.endpoint.clone(), env.books.called.clone());
        let waits = |need: &Need| matches!(need, Need::Shown { endpoint, container, .. } if *endpoint == place && is_it(container, &sandbox, &called));
        for waiter in self.waiters.extract_if(.., |waiter| waits(&waiter.need)) {
            out.reply(waiter.reply, Answer::Environment(id.clone()));
        }
    }

    /// Those who waited too long for a container are told. It stays chosen.
    pub(super) fn expire_shown(&mut self, out: &mut Outbox) {
        let over = |need: &Need| matches!(need, Need::Shown { until, .. } if *until <= out.now);
        let late: Vec<Waiter> = self.waiters.extract_if(.., |waiter| over(&waiter.need)).collect();
        for waiter in late {
            let Need::Shown { endpoint, container, .. } = waiter.need else { continue };
            let message = format!("{endpoint} lists no container {container:?}");
            let hint = "it stays chosen, and is shown as soon as it exists";
            out.refuse(waiter.reply, Refusal::new(RefusalKind::NotFound, message, hint));
        }
    }

    /// When the next of them has waited too long.
    pub(super) fn shown_wakes_at(&self) -> Option<Moment> {
        let until = |waiter: &Waiter| match waiter.need {
            Need::Shown { until, .. } => Some(until),
            _ => None,
        };
        self.waiters.iter().filter_map(until).min()
    }

    /// Shows a chosen container no longer. Nothing happens to it.
    pub(super) fn forget_choice(&mut self, out: &mut Outbox, reply: ReplyTo, id: &EnvId) {
        let Some(env) = self.environments.get(id) else { return out.refuse(reply, naming::not_found(id.as_str())) };
        if env.origin != Origin::Foreign {
            let message = format!("{} was not chosen to be shown: it is listed because of who made it", env.name);
            let hint = format!("`hermes-tui env rm {}` removes it", words::quoted(&env.name));
            return out.refuse(reply, Refusal::new(RefusalKind::Policy, message, hint));
        }
        if !env.leases.is_empty() {
            let message = format!("{} is held by {}", env.name, words::holders(&env.holders()));
            return out.refuse(reply, Refusal::new(RefusalKind::Policy, message, "wait for it, or unpin it"));
        }
        let text = format!("{} is no longer shown; its container is left as it is", env.name);
        out.announce(Notice::new(NoticeKind::EnvRemoved, text).env(id));
        self.unchoose(out, id);
        self.sandbox_over(out, id, "no longer shown");
        self.forget(out, id, false, "taken off the list");
        out.reply(reply, Answer::Done);
    }

    /// Strikes a container from those chosen.
    pub(super) fn unchoose(&mut self, out: &mut Outbox, id: &EnvId) {
        let Some(env) = self.environments.get(id).filter(|env| env.origin == Origin::Foreign) else { return };
        let (endpoint, called, sandbox) = (env.spec.endpoint.clone(), env.books.called.clone(), env.sandbox.clone());
        let Some(chosen) = self.choices.shown.get_mut(&endpoint) else { return };
        let before = chosen.len();
        chosen.retain(|key| *key != called && sandbox.as_ref().is_none_or(|sandbox| key != sandbox.as_str()));
        if chosen.len() < before {
            out.save(Record::Choices);
            self.tell_choices(out, &endpoint);
        }
    }

    /// Remembers the name of one that is not ours beyond the life of its container.
    pub(super) fn remember_name(&mut self, out: &mut Outbox, id: &EnvId) {
        let Some(env) = self.environments.get(id).filter(|env| env.origin != Origin::Managed) else { return };
        if self.choices.names.len() >= MOST_NAMES && !self.choices.names.contains_key(id) {
            let unused = self.choices.names.keys().find(|id| !self.environments.contains_key(id)).cloned();
            unused.and_then(|id| self.choices.names.remove(&id));
        }
        self.choices.names.insert(id.clone(), env.name.clone());
        out.save(Record::Choices);
    }
}
