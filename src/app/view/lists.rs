//! Lists to pick from: commands, and places to go to.

use super::super::command::COMMANDS;
use super::super::layout::PaneId;
use super::super::model::{FeedOf, Model, PaneKind, TabId};
use super::super::msg::{ClientId, Container};
use super::super::overlay::Containers;
use super::super::update::available;
use super::sidebar::fuzzy;
use super::words;
use crate::domain::EnvId;
use crate::term::link::Link;

/// Where a row of the list of places leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A tab.
    Tab(TabId),
    /// A pane.
    Pane(TabId, PaneId),
    /// An environment.
    Env(EnvId),
}

/// Commands that match what is typed: index into the table, whether it can be done now.
pub fn command_rows(model: &Model, client: ClientId, typed: &str) -> Vec<(usize, bool)> {
    let texts: Vec<String> = COMMANDS.iter().map(|c| format!("{} {}", c.name, c.help)).collect();
    let found = fuzzy(typed, texts.iter().enumerate().map(|(i, t)| (i, t.as_str())).collect());
    let mut found: Vec<usize> = found.into_iter().collect();
    // A word of a name is meant before a word of its help; the sort keeps the order of equals.
    let word = typed.trim().to_lowercase();
    let distance = |i: &usize| {
        let command = &COMMANDS[*i];
        match () {
            () if command.name == word || command.short == word => 0,
            () if command.name.split('-').any(|part| part == word) => 1,
            () if command.name.contains(&word) => 2,
            () => 3,
        }
    };
    found.sort_by_key(distance);
    found.into_iter().map(|i| (i, available(model, client, COMMANDS[i].action))).collect()
}

/// Containers that match what is typed, and after them what else there is to say.
pub fn containers<'a>(known: Option<&'a Containers>, typed: &str) -> Vec<Result<&'a Container, String>> {
    let Some(known) = known else { return vec![Err("looking for containers …".to_owned())] };
    let failed = known.failed.iter().cloned().map(Err);
    let texts: Vec<String> = known.found.iter().map(|one| format!("{} {}", one.name, one.image)).collect();
    let matching = fuzzy(typed, known.found.iter().zip(texts.iter().map(String::as_str)).collect());
    let none = known.found.is_empty().then(|| Err("no containers here that are not listed already".to_owned()));
    matching.into_iter().map(Ok).chain(failed).chain(none).collect()
}

/// Links that match what is typed.
pub fn links<'a>(all: &'a [Link], typed: &str) -> Vec<&'a Link> {
    let texts: Vec<String> = all.iter().map(|link| format!("{} {}", link.text, link.address)).collect();
    fuzzy(typed, all.iter().zip(texts.iter().map(String::as_str)).collect())
}

/// What was copied and matches what is typed: which one, newest first, and its text in a line.
pub fn buffers(model: &Model, typed: &str) -> Vec<(usize, String)> {
    let all = model.work.buffers.iter().map(|text| {
        // Long enough to tell them apart, and to be found by.
        let end = text.char_indices().nth(400).map_or(text.len(), |(at, _)| at);
        words::excerpt(&text[..end], 200)
    });
    let all: Vec<String> = all.collect();
    let order = fuzzy(typed, all.iter().enumerate().map(|(i, text)| (i, text.as_str())).collect());
    order.into_iter().map(|i| (i, all[i].clone())).collect()
}

/// Places that match what is typed: where it leads, text, remark.
pub fn places(model: &Model, typed: &str) -> Vec<(Place, String, String)> {
    let mut all: Vec<(Place, String, String)> = Vec::new();
    for (index, tab) in model.work.tabs.iter().enumerate() {
        let title = tab.name.clone().unwrap_or_else(|| model.tab_title(tab));
        let panes = tab.tree.panes();
        let remark = format!("tab, {} pane{}", panes.len(), if panes.len() == 1 { "" } else { "s" });
        all.push((Place::Tab(tab.id), format!("{}: {title}", index + 1), remark));
        if panes.len() > 1 {
            for pane in panes {
                let text = match model.work.panes.get(&pane) {
                    Some(PaneKind::Session(id)) => model.session_name(id),
                    Some(PaneKind::Feed(FeedOf::Conversation(id))) => format!("agent of {id}"),
                    Some(PaneKind::Feed(FeedOf::Environment(id))) => {
                        let name = model.state.environments.get(id).map_or(id.as_str(), |env| env.name.as_str());
                        format!("commands in {name}")
                    }
                    None => continue,
                };
                all.push((Place::Pane(tab.id, pane), format!("{}: {title} › {text}", index + 1), "pane".to_owned()));
            }
        }
    }
    for id in model.groups.iter().flat_map(|g| &g.envs) {
        if let Some(env) = model.state.environments.get(id) {
            all.push((Place::Env(id.clone()), env.name.clone(), format!("environment, {}", words::phase(env.phase))));
        }
    }
    let order = fuzzy(typed, all.iter().enumerate().map(|(i, (_, t, _))| (i, t.as_str())).collect());
    let mut rows: Vec<Option<(Place, String, String)>> = all.into_iter().map(Some).collect();
    order.into_iter().filter_map(|i| rows[i].take()).collect()
}
