//! Model → view model: what one client's screen shows now. Only what is in sight is made.

mod agent;
pub(super) mod details;
pub(super) mod feed;
pub(super) mod lists;
mod overlay;
mod panes;
pub(super) mod sidebar;
mod status;
pub(super) mod turns;
pub(super) mod words;

use super::client::Leader;
use super::command::Action;
use super::model::{Model, PaneKind, TabId, TabState};
use super::msg::{ClientId, Role};
use super::view_model::{Area, Mode, Printed, Tab, Toast, ViewModel, Welcome, tab_title_room, tabs_in_sight};
use crate::domain::{Moment, Size};
use unicode_width::UnicodeWidthStr;

/// What a client's screen shows. An unknown client has an empty screen.
#[must_use]
pub fn view_model(model: &Model, now: Moment, client: ClientId) -> ViewModel<'_> {
    let frame = model.shown_frame(client);
    let size = model.clients.get(&client).map_or(Size { rows: 0, cols: 0 }, |c| c.size);
    let tab = model.tab_of(client);
    let panes = tab.map(|t| panes::panes(model, now, client, t, frame.panes)).unwrap_or_default();
    let only = model.shows_only(client).is_some();
    let notices = model
        .toasts
        .iter()
        .filter(|t| t.until > now && t.only.map_or(!only, |one| one == client))
        .map(|t| Toast { text: t.text.clone(), level: t.level })
        .collect();
    ViewModel {
        size,
        bare: only,
        now,
        mode: mode(model, client),
        sidebar: sidebar::sidebar(model, now, client),
        tabs: if only { Vec::new() } else { tabs(model, client) },
        tabs_area: frame.tabs,
        panes,
        panes_area: frame.panes,
        status: status::status(model, now, client),
        overlay: overlay::overlay(model, now, client),
        notices,
        welcome: tab.is_none().then(|| welcome(model, client)),
    }
}

/// The sessions on a client's screen, for a drawing of nothing but what programs printed. `None` where more has to be
/// looked at: the keys are not with a program, or something of ours lies over one.
#[must_use]
pub fn printed(model: &Model, now: Moment, client: ClientId) -> Option<Vec<Printed<'_>>> {
    let tab = model.tab_of(client)?;
    let told = model.toasts.iter().any(|toast| toast.until > now);
    if told || mode(model, client) != Mode::Pane {
        return None;
    }
    panes::printed(model, now, client, tab)
}

/// Where a client's keys go.
pub(super) fn mode(model: &Model, client: ClientId) -> Mode {
    match model.clients.get(&client) {
        Some(c) if c.overlay.is_some() => Mode::Overlay,
        Some(c) if c.leader == Some(Leader::Pressed) => Mode::Leader,
        Some(c) if c.copying.is_some() => Mode::Copy,
        _ if model.in_nav(client) => Mode::Nav,
        _ if model
            .focused_pane(client)
            .is_some_and(|p| matches!(model.work.panes.get(&p), Some(PaneKind::Feed(_)))) =>
        {
            Mode::Agent
        }
        _ => Mode::Pane,
    }
}

fn tabs(model: &Model, client: ClientId) -> Vec<Tab> {
    model.work.tabs.iter().enumerate().map(|(i, t)| tab_of(model, client, i, t)).collect()
}

fn tab_of(model: &Model, client: ClientId, index: usize, tab: &TabState) -> Tab {
    let conversation = tab.conversation.as_ref().and_then(|id| model.state.conversations.get(id));
    let turn = conversation.and_then(|c| c.turns.iter().rev().find(|t| t.ended.is_none()));
    Tab {
        number: index + 1,
        title: tab.name.clone().unwrap_or_else(|| model.tab_title(tab)),
        current: model.clients.get(&client).is_some_and(|c| c.tab == Some(tab.id)),
        activity: tab.activity,
        bell: tab.bell,
        turn: turn.map(|t| t.number),
        zoomed: tab.zoomed.is_some(),
    }
}

/// The tab under a column of the tab bar.
pub(super) fn tab_at(model: &Model, client: ClientId, column: u16) -> Option<TabId> {
    let (tabs, bar) = (&model.work.tabs, model.shown_frame(client).tabs.width);
    let shown: Vec<Tab> = tabs.iter().enumerate().map(|(i, tab)| tab_of(model, client, i, tab)).collect();
    let widths: Vec<u16> = shown.iter().map(|tab| tab_width(tab, bar)).collect();
    let current = shown.iter().position(|tab| tab.current).unwrap_or(0);
    let (first, last) = tabs_in_sight(&widths, current, bar);
    // Before the first one stands how many are hidden there, between a sign and a blank.
    let mut end = if first > 0 { u16::try_from(first.to_string().len() + 2).unwrap_or(bar) } else { 0 };
    if column < end {
        return None;
    }
    tabs.iter().zip(widths).take(last + 1).skip(first).find_map(|(tab, width)| {
        end = end.saturating_add(width);
        (column < end).then_some(tab.id)
    })
}

/// Columns that a tab takes in the tab bar: number, title, turn, signs, and the blanks between.
fn tab_width(tab: &Tab, bar: u16) -> u16 {
    let title = tab.title.width().min(usize::from(tab_title_room(bar)));
    let label = format!(" {}:", tab.number).width() + title + usize::from(tab.current);
    let turn = tab.turn.map_or(0, |n| format!(" turn {n} ▶").width());
    let zoom = if tab.zoomed { " zoom".len() } else { 0 };
    let sign = if tab.bell || (tab.activity && !tab.current) { 2 } else { 0 };
    u16::try_from(label + turn + zoom + sign + 1).unwrap_or(u16::MAX)
}

/// What leaving does, in a word.
pub(super) fn leave(model: &Model, client: ClientId) -> &'static str {
    match model.clients.get(&client).map(|c| c.role) {
        Some(Role::Guest | Role::Reader) => "detach",
        Some(Role::Owner) | None => "quit",
    }
}

/// The screen without panes: what was found here, and what can be done with one key each.
fn welcome(model: &Model, client: ClientId) -> Welcome {
    let key = |action| model.bindings.nav_key(action);
    let leave = leave(model, client);
    let keys = |action| super::command::of(action).map_or_else(Vec::new, |c| model.bindings.keys_of(c)[1].clone());
    let offers = if model.state.environments.is_empty() {
        let what = match model.options.env.backend {
            crate::domain::BackendKind::Local => "make a persistent local sandbox, and a shell in it",
            crate::domain::BackendKind::Docker => "make a persistent container, and a shell in it",
        };
        let usual = &model.options.env.spec().endpoint;
        let refused = model.work.refused(usual.as_str());
        let usual = (!refused).then(|| {
            // Without any environment, what opens the selected one makes one.
            let both: Vec<String> = keys(Action::NewEnvNow).into_iter().chain(keys(Action::Open)).collect();
            (both.join(" or "), what.to_owned())
        });
        let other = if refused { "make another kind of environment" } else { "choose what the environment shall be" };
        usual
            .into_iter()
            .chain([
                (keys(Action::NewEnv).join(" or "), other.to_owned()),
                (key(Action::Help), "all keys".to_owned()),
                (key(Action::Quit), leave.to_owned()),
            ])
            .collect()
    } else {
        vec![
            (key(Action::Open), "open a shell in the selected environment".to_owned()),
            (key(Action::NewEnvNow), "make another sandbox, and a shell in it".to_owned()),
            (keys(Action::NewEnv).join(" or "), "choose what another environment shall be".to_owned()),
            (key(Action::Fold), "show the selected environment's details".to_owned()),
            (key(Action::Turns), "conversations and their turns".to_owned()),
            (key(Action::Help), "all keys".to_owned()),
            (key(Action::Quit), leave.to_owned()),
        ]
    };
    Welcome { found: model.work.found.clone(), offers }
}

/// The part of an area to the right of a column.
fn right_of(area: Area, x: u16) -> Area {
    let cut = x.saturating_sub(area.x).min(area.width);
    Area { x: area.x + cut, width: area.width - cut, ..area }
}
