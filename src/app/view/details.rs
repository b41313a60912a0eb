//! What lies over the screen while somebody looks at a sandbox, and which ones are looked at.

use super::super::model::Model;
use super::super::overlay::Overlay as State;
use super::super::view_model::Overlay;
use super::words;
use crate::domain::{EndpointId, EnvId, Environment, Generation, SandboxId};
use std::collections::BTreeMap;

/// Where to look for what a sandbox is made of and uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LookedAt {
    /// Its endpoint.
    pub endpoint: EndpointId,
    /// The sandbox.
    pub sandbox: SandboxId,
    /// Of another generation, other things are to be told.
    pub generation: Generation,
}

/// The sandboxes that are looked at on any screen now.
#[must_use]
pub fn looked_at(model: &Model) -> BTreeMap<EnvId, LookedAt> {
    let shown = model.clients.values().filter_map(|client| match &client.overlay {
        Some(State::Details { env, .. }) => Some(env),
        _ => None,
    });
    let place = |id: &EnvId| {
        let env = model.state.environments.get(id)?;
        let (endpoint, sandbox, generation) = (env.spec.endpoint.clone(), env.sandbox.clone()?, env.generation);
        Some((id.clone(), LookedAt { endpoint, sandbox, generation }))
    };
    shown.filter_map(place).collect()
}

/// The overlay of one environment.
pub(super) fn overlay(model: &Model, id: &EnvId, scroll: usize) -> Overlay {
    let env = model.state.environments.get(id);
    let title = env.map_or_else(|| id.to_string(), |env| env.name.clone());
    let fact = |name: &str, detail: &str| (name.to_owned(), detail.to_owned());
    let facts = match (env.map(|env| env.sandbox.is_some()), model.work.seen.get(id)) {
        (None, _) => vec![fact("", "it is no longer listed")],
        (Some(false), _) => env.map(without_sandbox).unwrap_or_default(),
        (Some(true), None) => vec![fact("", "looking")],
        (Some(true), Some(seen)) => {
            let uses = Some(&seen.usage).filter(|usage| !usage.is_empty()).map(|usage| fact("uses", usage));
            uses.into_iter().chain(seen.facts.iter().cloned()).collect()
        }
    };
    Overlay::Details { title, scroll: scroll.min(facts.len().saturating_sub(1)), facts }
}

/// What can be said of one that has no sandbox now.
fn without_sandbox(env: &Environment) -> Vec<(String, String)> {
    let fact = |name: &str, detail: String| (name.to_owned(), detail);
    let state = format!("{}: it has no sandbox now", words::phase(env.phase));
    let mut facts = vec![fact("state", state)];
    facts.extend(env.spec.image.clone().map(|image| fact("image", image)));
    facts.extend(env.last_ending.as_ref().map(|ending| fact("ended", ending.why.clone())));
    if let Some(failure) = &env.failure {
        facts.push(fact("failure", failure.message.clone()));
        facts.push(fact("next", failure.hint.clone()));
    }
    facts
}
