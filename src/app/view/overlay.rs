//! What lies over the screen.

use super::super::client::Leader;
use super::super::clip;
use super::super::command::{Action, COMMANDS, Section};
use super::super::copy::Seeking;
use super::super::input::Line;
use super::super::model::Model;
use super::super::msg::ClientId;
use super::super::overlay::{Dialog, Listed, Overlay as State, Prompted};
use super::super::update::prompt_problem;
use super::super::view_model::Overlay;
use super::lists::{buffers, command_rows, containers, links, places};
use super::turns::{selected_row, turn_rows};
use super::words;
use crate::domain::{EnvId, Moment, VerdictKind};
use crate::term::link::elided;

/// Columns of an address in a list.
const ADDRESS: usize = 40;

/// What lies over a client's screen.
pub fn overlay(model: &Model, now: Moment, client: ClientId) -> Option<Overlay> {
    let c = model.clients.get(&client)?;
    let Some(state) = &c.overlay else {
        if c.leader != Some(Leader::Pressed) {
            return None;
        }
        let fits = |action: Action| c.only.is_none() || action.fits_one_session();
        let mut keys = model.bindings.footer(fits);
        if c.only.is_some() {
            // Its own word is that of whoever has the whole screen.
            keys.iter_mut().filter(|(_, word)| word == "quit").for_each(|(_, word)| "detach".clone_into(word));
        }
        return Some(Overlay::WhichKey(keys));
    };
    Some(match state {
        State::Help { scroll } => {
            let sections = help(model);
            let lines: usize = sections.iter().map(|(_, rows)| rows.len() + 2).sum();
            Overlay::Help { scroll: (*scroll).min(lines.saturating_sub(1)), sections }
        }
        State::List { of, input, selected } => {
            let rows = match of {
                Listed::Commands => command_rows(model, client, input.text())
                    .into_iter()
                    .map(|(index, can)| {
                        let command = &COMMANDS[index];
                        let [after, nav, direct] = model.bindings.keys_of(command);
                        let keys: Vec<String> = after.into_iter().take(1).chain(direct.into_iter().take(1)).collect();
                        let keys = if keys.is_empty() {
                            nav.into_iter().take(1).map(|k| format!("NAV {k}")).collect()
                        } else {
                            keys
                        };
                        (format!("{}  {}", command.name, command.help), keys.join(", "), can)
                    })
                    .collect(),
                Listed::Places => places(model, input.text())
                    .into_iter()
                    .map(|(_, text, remark)| (text, remark, true))
                    .collect::<Vec<_>>(),
                Listed::Buffers => buffers(model, input.text())
                    .into_iter()
                    .map(|(index, text)| (text, clip::amount(model.work.buffers.get(index).unwrap_or_default()), true))
                    .collect(),
                Listed::Containers(known) => containers(known.as_ref(), input.text())
                    .into_iter()
                    .map(|row| match row {
                        Ok(one) => {
                            (format!("{}  {}", one.name, one.image), format!("{}, {}", one.endpoint, one.state), true)
                        }
                        Err(text) => (text, String::new(), false),
                    })
                    .collect(),
                // The address first: it is what matters.
                Listed::Links(all) => links(all, input.text())
                    .into_iter()
                    .map(|link| (elided(&link.address, ADDRESS, "…"), link.text.clone(), true))
                    .collect(),
            };
            let title = match of {
                Listed::Commands => "commands",
                Listed::Places => "go to",
                Listed::Buffers => "paste",
                Listed::Containers(_) => "show a container",
                Listed::Links(_) => "links in sight",
            };
            let selected = (*selected).min(rows.len().saturating_sub(1));
            Overlay::Palette {
                title: title.to_owned(),
                input: input.text().to_owned(),
                cursor: input.column(),
                rows,
                selected,
            }
        }
        State::Dialog(dialog) => shown(dialog),
        State::Prompt { of, input } => {
            let title = match of {
                Prompted::TabName(_) => "name of the tab (empty: by itself)".to_owned(),
                Prompted::EnvName(id) => {
                    let name = model.state.environments.get(id).map_or("", |e| e.name.as_str());
                    format!("new name of {name}")
                }
                Prompted::SaveAs(_) => "save the text of this session to".to_owned(),
                Prompted::Search(seeking) => return Some(search(model, client, seeking, input)),
            };
            let problem = prompt_problem(model, of, input.text());
            Overlay::Prompt { title, input: input.text().to_owned(), cursor: input.column(), problem }
        }
        State::Form(form) => Overlay::Form {
            title: "new environment · Enter makes it".to_owned(),
            fields: form.rows(),
            selected: form.selected,
            cursor: form.cursor(),
            problem: form.accept().err(),
        },
        State::Turns(list) => {
            let rows = turn_rows(model, now, list);
            let selected = selected_row(list, &rows);
            let scroll = list.scroll.min(rows.len().saturating_sub(1));
            Overlay::Turns {
                rows: rows.into_iter().map(|(_, row)| row).collect(),
                selected,
                scroll,
                filter: list.filter.text().to_owned(),
                only: list.shown.word(),
            }
        }
        State::Details { env, scroll } => super::details::overlay(model, env, *scroll),
        State::Explain { env, scroll } => explain(model, now, env, *scroll),
    })
}

/// The line in which a search is typed.
fn search(model: &Model, client: ClientId, seeking: &Seeking, input: &Line) -> Overlay {
    let searched = model.clients.get(&client).and_then(|c| c.copying.as_ref()).and_then(|c| c.search.as_ref());
    let note = match searched.filter(|_| !input.text().is_empty() && seeking.problem.is_none()) {
        Some(searched) => words::of(searched.count),
        None => String::new(),
    };
    Overlay::Search {
        down: seeking.down,
        regex: seeking.regex,
        input: input.text().to_owned(),
        cursor: input.column(),
        note,
        problem: seeking.problem.clone(),
    }
}

fn shown(dialog: &Dialog) -> Overlay {
    Overlay::Dialog {
        title: dialog.title.clone(),
        lost: dialog.lost.clone(),
        kept: dialog.kept.clone(),
        text: dialog.text.clone(),
        choices: dialog
            .choices
            .iter()
            .map(|c| (c.key.map_or_else(|| "Esc".to_owned(), |k| k.to_string()), c.label.clone()))
            .collect(),
        selected: dialog.selected,
        danger: dialog.danger,
    }
}

/// Every command with its keys, by section, and what is not in the table.
fn help(model: &Model) -> Vec<(String, Vec<(String, String)>)> {
    let leader = model.bindings.leader;
    let row = |key: &str, what: &str| (key.to_owned(), what.to_owned());
    let direct = if model.options.keys.prefix_free { ", and Ctrl+Alt with h j k l and 1-9" } else { "" };
    let mut out = vec![(
        "Where keys go".to_owned(),
        vec![
            row("PANE", &format!("every key goes to the program but {leader}{direct}")),
            row(&format!("{leader} {leader}"), "sends it to the program"),
            row("AGENT", &format!("in an agent pane: keys move in it, {leader} as in PANE")),
            row("NAV", "keys move in the sidebar and run commands without the leader"),
        ],
    )];
    for section in Section::ALL {
        let rows = COMMANDS
            .iter()
            .filter(|c| c.section == section)
            .filter_map(|command| {
                let [mut keys, nav, direct] = model.bindings.keys_of(command);
                keys.extend(direct);
                if !nav.is_empty() {
                    keys.push(format!("NAV {}", nav.join("/")));
                }
                (!keys.is_empty()).then(|| (keys.join(", "), command.help.to_owned()))
            })
            .collect();
        out.push((section.title().to_owned(), rows));
    }
    out.push((
        "Agent pane".to_owned(),
        vec![
            row("Enter", "the conversation's shell beside it"),
            row("y", "copy the selected or last command; of a turn what was asked"),
            row("r", "type it in a shell in its directory; Enter there runs it"),
            row("w", "a shell where the agent is: its directory, its exported variables"),
            row("m", "to the next thing that needs you"),
            row("v", "all commands, those that failed, those that run"),
            row("/", "filter"),
            row("j/k PgUp/PgDn g/G", "scroll"),
            row("[ ]", "previous, next turn"),
            row("J K", "next, previous command"),
            row("Space o", "the whole output of the selected command or turn, or its last lines"),
            row("f F", "next, previous failed command"),
        ],
    ));
    out.push((
        "Turn list".to_owned(),
        vec![
            row("Enter", "show it in the agent pane"),
            row("y r w m v / [ ] f F", "as in the agent pane"),
            row("Space", "fold or unfold"),
        ],
    ));
    out.push((
        "Copy mode".to_owned(),
        vec![
            row("hjkl 0 ^ $ g G H M L", "move; a number before a key repeats it, 12G goes to line 12"),
            row("w b e ge W B E { } %", "by words, paragraphs, to the other bracket"),
            row("f F t T ; ,", "to a character of the line, again, back"),
            row("Ctrl+U Ctrl+D PgUp PgDn", "half pages, pages; Ctrl+E Ctrl+Y: one line"),
            row("v V Ctrl+V", "mark characters, lines, a block; o and O go to the other end"),
            row("[ ]", "previous, next prompt; a marks the output of the command"),
            row("y Enter", "copy and leave; Y the line, D up to its end, A after what was copied last"),
            row("/ ? n N", "search while you type; Ctrl+R there: a regular expression"),
            row("* #", "the word under the cursor, downwards, upwards"),
            row("q Esc", "leave"),
        ],
    ));
    out.push((
        "Mouse".to_owned(),
        vec![
            row("click", "focus"),
            row("drag", "select and copy; on a border: resize; Alt: a block"),
            row("wheel", "history"),
            row("over a link", "shows where it leads; the right button copies the address"),
            row("Shift", "the outer terminal's own selection"),
        ],
    ));
    out
}

fn explain(model: &Model, now: Moment, id: &EnvId, scroll: usize) -> Overlay {
    let env = model.state.environments.get(id);
    let title = env.map_or_else(|| id.to_string(), |e| e.name.clone());
    match model.state.verdict(now, id) {
        Some(verdict) => {
            let mut facts: Vec<(String, String)> = verdict.evidence.into_iter().map(|f| (f.what, f.detail)).collect();
            if let Some(until) = verdict.until.filter(|u| *u > now) {
                facts.push(("for".to_owned(), words::left(until.since(now))));
            }
            let scroll = scroll.min(facts.len().saturating_sub(1));
            Overlay::Explain { title, verdict: verdict.kind, reason: verdict.reason, facts, scroll }
        }
        None => Overlay::Explain {
            title,
            verdict: VerdictKind::AtRest,
            reason: "it is no longer listed".to_owned(),
            facts: Vec::new(),
            scroll: 0,
        },
    }
}
