//! What lies over the screen while somebody looks at a sandbox, and which ones are looked at.

use super::super::model::Model;
use super::super::overlay::Overlay as State;
use super::super::update::REFUSED;
use super::super::view_model::Overlay;
use super::words;
use crate::config::Programs;
use crate::domain::{EndpointId, EnvId, Environment, Generation, SandboxId};
use crate::term::Screen;
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
    let facts: Vec<_> = facts.into_iter().chain(env.into_iter().flat_map(|env| of_output(model, env))).collect();
    Overlay::Details { title, scroll: scroll.min(facts.len().saturating_sub(1)), facts }
}

/// Whether its programs may write to the clipboard, and what of their output was not let through.
fn of_output(model: &Model, env: &Environment) -> Vec<(String, String)> {
    let clipboard = match model.programs_of(&env.id) {
        Programs::Ask => None,
        Programs::Allow => Some("its programs may write to it without a question"),
        Programs::Never => Some("its programs may not write to it"),
    };
    let mut facts: Vec<(String, String)> =
        clipboard.map(|text| ("clipboard".to_owned(), text.to_owned())).into_iter().collect();
    for session in model.state.sessions.values().filter(|s| s.env == env.id) {
        let blocked = model.work.screens.get(&session.id).map(Screen::blocked).unwrap_or_default();
        let refused = model.work.clips.get(&session.id).map_or(0, |clip| clip.refused);
        let refused = Some((refused, REFUSED)).filter(|(count, _)| *count > 0);
        let kinds: Vec<String> =
            blocked.kinds().chain(refused).map(|(count, kind)| format!("{count} {kind}")).collect();
        if !kinds.is_empty() {
            facts.push(("blocked".to_owned(), format!("{}: {}", model.program_name(session), kinds.join("; "))));
        }
    }
    facts
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
