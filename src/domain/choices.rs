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
    /// Those of them that are known by now: they stay what they are, whatever somebody calls them later.
    pub known: BTreeMap<EndpointId, BTreeMap<SandboxId, Known>>,
    /// Names given to environments that are not ours.
    pub names: BTreeMap<EnvId, String>,
}

/// A chosen container that was found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Known {
    /// Its environment.
    pub env: EnvId,
    /// The name or id that it was chosen by.
    pub by: String,
}

/// What is to be shown at one endpoint, as its backend is told.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Chosen {
    /// Names and full ids.
    pub keys: BTreeSet<String>,
    /// The environments of those that were found already.
    pub known: BTreeMap<SandboxId, EnvId>,
}

impl Chosen {
    /// Whether a container is one of them.
    #[must_use]
    pub fn has(&self, sandbox: &SandboxId, name: &str) -> bool {
        self.known.contains_key(sandbox) || self.keys.iter().any(|key| is_it(key, sandbox, name))
    }
}

impl Choices {
    /// The name or id that a container was chosen by, if it was.
    #[must_use]
    pub fn of(&self, endpoint: &EndpointId, sandbox: &SandboxId, name: &str) -> Option<&str> {
        if let Some(known) = self.known.get(endpoint).and_then(|known| known.get(sandbox)) {
            return Some(&known.by);
        }
        let chosen = self.shown.get(endpoint)?;
        chosen.iter().map(String::as_str).find(|key| is_it(key, sandbox, name))
    }

    /// Those of one endpoint; `None` where nothing was ever chosen.
    #[must_use]
    pub fn at(&self, endpoint: &EndpointId) -> Option<Chosen> {
        let keys = self.shown.get(endpoint)?.clone();
        let known = self.known.get(endpoint).into_iter().flatten();
        Some(Chosen { keys, known: known.map(|(sandbox, known)| (sandbox.clone(), known.env.clone())).collect() })
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
        if let Some(chosen) = self.choices.at(endpoint) {
            out.send(Effect::Choose { endpoint: endpoint.clone(), chosen });
        }
    }

    /// Remembers which container a chosen one is.
    pub(super) fn know_choice(&mut self, out: &mut Outbox, id: &EnvId) {
        let Some(env) = self.environments.get(id).filter(|env| env.origin == Origin::Foreign) else { return };
        let (endpoint, called) = (env.spec.endpoint.clone(), env.books.called.clone());
        let Some(sandbox) = env.sandbox.clone() else { return };
        let Some(by) = self.choices.of(&endpoint, &sandbox, &called).map(str::to_owned) else { return };
        let known = self.choices.known.entry(endpoint.clone()).or_default();
        if known.get(&sandbox).is_some_and(|known| known.env == *id) {
            return;
        }
        known.retain(|_, known| known.env != *id);
        known.insert(sandbox, Known { env: id.clone(), by });
        out.save(Record::Choices);
        self.tell_choices(out, &endpoint);
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
        let mut by = Vec::new();
        if let Some(known) = self.choices.known.get_mut(&endpoint) {
            by.extend(known.values().filter(|known| known.env == *id).map(|known| known.by.clone()));
            known.retain(|_, known| known.env != *id);
        }
        let Some(chosen) = self.choices.shown.get_mut(&endpoint) else { return };
        let before = chosen.len();
        let is_its = |key: &String| {
            *key == called || by.contains(key) || sandbox.as_ref().is_some_and(|sandbox| key == sandbox.as_str())
        };
        chosen.retain(|key| !is_its(key));
        if chosen.len() < before || !by.is_empty() {
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
