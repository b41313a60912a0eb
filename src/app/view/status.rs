//! The last line: what keys do now, and how things stand.

use super::super::client::Shown;
use super::super::command::Action;
use super::super::model::{Model, after};
use super::super::msg::{ClientId, Role};
use super::super::overlay::{Listed, Overlay, Prompted};
use super::super::view_model::{Mode, StatusBar};
use super::words;
use crate::domain::Moment;
use std::collections::BTreeSet;

/// The last line of a client.
pub fn status(model: &Model, now: Moment, client: ClientId) -> StatusBar {
    let needs = match model.unseen_needs(now) {
        0 => String::new(),
        1 => "1 needs you".to_owned(),
        n => format!("{n} need you"),
    };
    let mut hints = hints(model, client);
    let key = match super::mode(model, client) {
        Mode::Pane => after(model.bindings.leader, &model.bindings.leader_key(Action::NeedsMe)),
        Mode::Nav => model.bindings.nav_key(Action::NeedsMe),
        Mode::Agent => "m".to_owned(),
        Mode::Leader | Mode::Copy | Mode::Overlay => String::new(),
    };
    if !needs.is_empty() && !key.is_empty() {
        hints.insert(1.min(hints.len()), (key, "go there".to_owned()));
    }
    StatusBar { hints, facts: facts(model, now, client), troubles: troubles(model), needs }
}

fn hints(model: &Model, client: ClientId) -> Vec<(String, String)> {
    let b = &model.bindings;
    let lead = |action| after(b.leader, &b.leader_key(action));
    let own = |key: &str, what: &str| (key.to_owned(), what.to_owned());
    let nav = |action, what: &str| (b.nav_key(action), what.to_owned());
    let leave = super::leave(model, client);
    let hints = match super::mode(model, client) {
        Mode::Pane => vec![
            (b.leader.to_string(), "leader".to_owned()),
            (lead(Action::Help), "help".to_owned()),
            (lead(Action::Nav), "sidebar".to_owned()),
        ],
        Mode::Agent => match model.focused_pane(client).and_then(|pane| model.clients.get(&client)?.feed.get(&pane)) {
            Some(place) if place.filtering => vec![own("Enter", "keep the filter"), own("Esc", "no filter")],
            place => vec![
                own("J/K", "select"),
                own("Enter", "shell"),
                own("y", "copy"),
                own("r", "again"),
                own("w", "agent's dir"),
                own("?", "help"),
                own("Space", "output"),
                own("v", next_shown(place.map(|place| place.shown).unwrap_or_default())),
                own("/", "filter"),
                own("[ ]", "turn"),
                own("t", "turns"),
                own("j/k", "scroll"),
                (b.leader.to_string(), "leader".to_owned()),
            ],
        },
        Mode::Nav if model.clients.get(&client).is_some_and(|c| c.sidebar.filtering) => {
            vec![own("Enter", "open"), own("↑/↓", "choose"), own("Esc", "no filter")]
        }
        Mode::Nav if model.state.environments.is_empty() => vec![
            nav(Action::NewEnvNow, "new sandbox and shell"),
            nav(Action::NewEnv, "form"),
            nav(Action::Help, "help"),
            nav(Action::Quit, leave),
        ],
        Mode::Nav => vec![
            nav(Action::Open, "open"),
            nav(Action::NewEnvNow, "new"),
            nav(Action::NewEnv, "form"),
            if model.tab_of(client).is_some() { nav(Action::Back, "to pane") } else { Default::default() },
            nav(Action::Fold, "details"),
            nav(Action::Extend, "extend"),
            nav(Action::Pin, "pin"),
            nav(Action::Explain, "explain"),
            nav(Action::Filter, "filter"),
            nav(Action::Help, "help"),
            nav(Action::Quit, leave),
        ],
        Mode::Leader if model.shows_only(client).is_some() => vec![own("…", "a key of the list"), own("Esc", "back")],
        Mode::Leader => vec![own("…", "a key of the list"), own("Esc", "sidebar")],
        Mode::Copy => vec![
            own("q", "leave"),
            own("v V Ctrl+V", "mark"),
            own("y", "copy"),
            own("/ n N", "search"),
            own("hjkl w b 0 $ g G", "move"),
        ],
        Mode::Overlay => over(model, client).into_iter().map(|(key, what)| own(key, what)).collect(),
    };
    hints.into_iter().filter(|(key, _)| !key.is_empty()).collect()
}

/// What is shown next.
fn next_shown(shown: Shown) -> &'static str {
    match shown.next() {
        Shown::All => "all",
        Shown::Failed => "failed",
        Shown::Running => "running",
    }
}

/// What keys do in what lies over the screen.
fn over(model: &Model, client: ClientId) -> Vec<(&'static str, &'static str)> {
    match model.clients.get(&client).and_then(|c| c.overlay.as_ref()) {
        Some(Overlay::Help { .. } | Overlay::Details { .. }) => vec![("j/k", "scroll"), ("Esc", "close")],
        Some(Overlay::Explain { .. }) => vec![("j/k", "scroll"), ("+", "extend"), ("Esc", "close")],
        Some(Overlay::Turns(list)) if list.filtering => vec![("Enter", "keep the filter"), ("Esc", "no filter")],
        Some(Overlay::Turns(list)) => vec![
            ("Enter", "show"),
            ("y", "copy"),
            ("r", "again"),
            ("w", "agent's dir"),
            ("v", next_shown(list.shown)),
            ("/", "filter"),
            ("Space", "unfold"),
            ("Esc", "close"),
            ("m", "needs you"),
            ("f", "next failed"),
            ("j/k", "move"),
        ],
        Some(Overlay::Form(_)) => vec![("Enter", "make it"), ("↑/↓", "field"), ("←/→", "change"), ("Esc", "close")],
        Some(Overlay::Prompt { of: Prompted::Search(_), .. }) => vec![("Enter", "stay"), ("Esc", "back")],
        Some(Overlay::Prompt { .. }) => vec![("Enter", "accept"), ("Esc", "close")],
        Some(Overlay::List { of: Listed::Buffers, .. }) => {
            vec![("Enter", "choose"), ("Ctrl+D", "forget"), ("↑/↓", "move"), ("Esc", "close")]
        }
        Some(Overlay::List { .. }) => vec![("Enter", "choose"), ("↑/↓", "move"), ("Esc", "close")],
        Some(Overlay::Dialog(_)) => vec![("Enter", "choose"), ("←/→", "move"), ("Esc", "close")],
        None => vec![("Esc", "close")],
    }
}

fn facts(model: &Model, now: Moment, client: ClientId) -> Vec<String> {
    let state = &model.state;
    let mut out = Vec::new();
    if model.clients.get(&client).is_some_and(|c| c.role == Role::Reader) {
        out.push("read-only".to_owned());
    }
    if model.shutting_down {
        out.push("ending: stopping sandboxes".to_owned());
    }
    let up: BTreeSet<&str> = state
        .environments
        .values()
        .filter(|e| !state.down.contains_key(&e.spec.endpoint))
        .map(|e| e.spec.endpoint.as_str())
        .collect();
    out.extend(up.into_iter().take(2).map(|endpoint| {
        if model.work.refused(endpoint) { format!("{endpoint} refused") } else { format!("{endpoint} ok") }
    }));
    match state.environments.len() {
        0 => {}
        1 => out.push("1 env".to_owned()),
        n => out.push(format!("{n} envs")),
    }
    let next = state.environments.values().filter_map(|env| state.acts_at(now, env)).min();
    if let Some(next) = next {
        out.push(format!("next reap {}", words::left(next.since(now))));
    }
    out
}

/// Endpoints that do not answer.
fn troubles(model: &Model) -> Vec<String> {
    let down = model.state.down.iter().filter(|(endpoint, _)| model.needs(endpoint));
    down.map(|(endpoint, why)| format!("{endpoint}: {why}")).collect()
}
