//! What lies over the screen: keys in it, and the questions that come before anything is ended.

use super::super::client::RowKey;
use super::super::command::{Action, COMMANDS};
use super::super::form::check_name;
use super::super::model::{Asked, Model, TabId};
use super::super::msg::{ClientId, Cmd, Container};
use super::super::overlay::{Containers, Listed, Overlay, Prompted};
use super::super::view::lists::{Place, buffers, command_rows, containers, links, places};
use super::history::path_problem;
use crate::config::KeyPress;
use crate::domain::{Moment, Request};
use crossterm::event::{KeyCode, KeyModifiers, MouseEventKind};

impl Model {
    /// A key while something lies over the screen.
    pub(super) fn overlay_key(&mut self, now: Moment, client: ClientId, key: KeyPress, cmds: &mut Vec<Cmd>) {
        let Some(overlay) = self.clients.get_mut(&client).and_then(|c| c.overlay.take()) else { return };
        let kept = match overlay {
            Overlay::Help { scroll } => scrolled(scroll, key).map(|scroll| Overlay::Help { scroll }),
            Overlay::Details { env, scroll } => scrolled(scroll, key).map(|scroll| Overlay::Details { env, scroll }),
            Overlay::Explain { env, scroll } => {
                if key == KeyPress::char('+') {
                    if !self.only_looks(now, client) {
                        self.order(now, client, Request::Extend { env: env.clone(), by: None }, cmds);
                    }
                    Some(Overlay::Explain { env, scroll })
                } else {
                    scrolled(scroll, key).map(|scroll| Overlay::Explain { env, scroll })
                }
            }
            Overlay::Dialog(dialog) => self.dialog_key(now, client, dialog, key, cmds),
            Overlay::List { of, mut input, selected } => {
                let rows = match &of {
                    Listed::Commands => command_rows(self, client, input.text()).len(),
                    Listed::Places => places(self, input.text()).len(),
                    Listed::Buffers => buffers(self, input.text()).len(),
                    Listed::Containers(known) => containers(known.as_ref(), input.text()).len(),
                    Listed::Links(all) => links(all, input.text()).len(),
                };
                let last = rows.saturating_sub(1);
                let ctrl = key.mods == KeyModifiers::CONTROL;
                match key.code {
                    KeyCode::Esc => None,
                    KeyCode::Enter => {
                        self.chosen(now, client, of, input.text(), selected.min(last), cmds);
                        return;
                    }
                    KeyCode::Down => Some((selected + 1).min(last)),
                    KeyCode::Char('n' | 'j') if ctrl => Some((selected + 1).min(last)),
                    KeyCode::Up => Some(selected.min(last).saturating_sub(1)),
                    KeyCode::Char('p' | 'k') if ctrl => Some(selected.min(last).saturating_sub(1)),
                    KeyCode::PageDown => Some((selected + 10).min(last)),
                    KeyCode::PageUp => Some(selected.min(last).saturating_sub(10)),
                    KeyCode::Char('c') if ctrl => None,
                    KeyCode::Char('d') if ctrl && of == Listed::Buffers => {
                        if let Some((index, _)) = buffers(self, input.text()).get(selected.min(last)) {
                            self.delete_buffer(now, client, *index);
                        }
                        (!self.work.buffers.is_empty()).then_some(selected.min(last.saturating_sub(1)))
                    }
                    _ => {
                        let before = input.text().to_owned();
                        input.key(key);
                        Some(if input.text() == before { selected } else { 0 })
                    }
                }
                .map(|selected| Overlay::List { of, input, selected })
            }
            Overlay::Prompt { of: Prompted::Search(seeking), input } => {
                self.search_key(now, client, *seeking, input, key, cmds)
            }
            Overlay::Prompt { of, mut input } => match key.code {
                KeyCode::Esc => None,
                KeyCode::Enter => {
                    if prompt_problem(self, &of, input.text()).is_some() {
                        Some(Overlay::Prompt { of, input })
                    } else {
                        self.accept_prompt(now, client, &of, input.text().trim(), cmds);
                        return;
                    }
                }
                _ => {
                    input.key(key);
                    Some(Overlay::Prompt { of, input })
                }
            },
            Overlay::Form(mut form) => match key.code {
                KeyCode::Esc => None,
                KeyCode::Enter => match form.accept() {
                    Ok((name, spec)) => return self.new_env(now, client, name, spec, cmds),
                    Err(_) => Some(Overlay::Form(form)),
                },
                _ => {
                    form.key(key);
                    Some(Overlay::Form(form))
                }
            },
            Overlay::Turns(list) => return self.turns_key(now, client, list, key, cmds),
        };
        if let Some(c) = self.clients.get_mut(&client) {
            // What was done may have laid something else over the screen.
            c.overlay = c.overlay.take().or(kept);
        }
    }

    /// The wheel over an overlay moves in it.
    pub(super) fn overlay_mouse(&mut self, client: ClientId, kind: MouseEventKind) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        let by: isize = match kind {
            MouseEventKind::ScrollUp => -1,
            MouseEventKind::ScrollDown => 1,
            _ => return,
        };
        match &mut c.overlay {
            Some(Overlay::Help { scroll } | Overlay::Explain { scroll, .. } | Overlay::Details { scroll, .. }) => {
                *scroll = scroll.saturating_add_signed(by);
            }
            Some(Overlay::List { selected, .. }) => *selected = selected.saturating_add_signed(by),
            _ => return,
        }
        c.dirty = true;
    }

    /// A paste while something lies over the screen. False if nothing does.
    pub(super) fn overlay_paste(&mut self, now: Moment, client: ClientId, text: &str, cmds: &mut Vec<Cmd>) -> bool {
        let Some(c) = self.clients.get_mut(&client) else { return false };
        let Some(overlay) = &mut c.overlay else { return false };
        match overlay {
            Overlay::Prompt { of: Prompted::Search(_), .. } => {
                self.search_paste(now, client, text, cmds);
                return true;
            }
            Overlay::List { input, selected, .. } => {
                input.paste(text);
                *selected = 0;
            }
            Overlay::Prompt { input, .. } => input.paste(text),
            Overlay::Form(form) => form.paste(text),
            Overlay::Turns(list) if list.filtering => list.filter.paste(text),
            _ => {}
        }
        c.dirty = true;
        true
    }

    fn chosen(&mut self, now: Moment, client: ClientId, of: Listed, typed: &str, selected: usize, cmds: &mut Vec<Cmd>) {
        match of {
            Listed::Containers(known) => {
                if let Some(Ok(one)) = containers(known.as_ref(), typed).into_iter().nth(selected) {
                    let request = Request::Adopt { endpoint: one.endpoint.clone(), container: one.name.clone() };
                    self.ask(now, Asked::Adopted(client), request, cmds);
                }
            }
            Listed::Links(all) => {
                if let Some(link) = links(&all, typed).get(selected) {
                    self.show_link(client, link);
                }
            }
            Listed::Commands => {
                if let Some((index, true)) = command_rows(self, client, typed).get(selected).copied() {
                    self.act(now, client, COMMANDS[index].action, cmds);
                }
            }
            Listed::Buffers => {
                if let Some((index, _)) = buffers(self, typed).get(selected) {
                    self.paste_buffer(now, client, *index, cmds);
                }
            }
            Listed::Places => match places(self, typed).into_iter().nth(selected).map(|(place, ..)| place) {
                Some(Place::Pane(tab, pane)) => self.look_at(now, client, tab, Some(pane), cmds),
                Some(Place::Tab(tab)) => self.look_at(now, client, tab, None, cmds),
                Some(Place::Env(env)) => {
                    if let Some(c) = self.clients.get_mut(&client) {
                        c.sidebar.selected = Some(RowKey::Env(env.clone()));
                    }
                    self.open_env(now, client, &env, cmds);
                }
                None => {}
            },
        }
    }

    /// Fills the list of containers, if it is still open.
    pub(super) fn found_containers(&mut self, client: ClientId, found: Vec<Container>, failed: Vec<String>) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        if let Some(Overlay::List { of: Listed::Containers(known), .. }) = &mut c.overlay {
            *known = Some(Containers { found, failed });
            c.dirty = true;
        }
    }

    fn accept_prompt(&mut self, now: Moment, client: ClientId, of: &Prompted, text: &str, cmds: &mut Vec<Cmd>) {
        match of {
            Prompted::TabName(id) => {
                if let Some(tab) = self.work.tab_mut(*id) {
                    tab.name = Some(text.to_owned()).filter(|t| !t.is_empty());
                    self.touch();
                }
            }
            Prompted::EnvName(env) => {
                let request = Request::Rename { env: env.clone(), name: text.to_owned() };
                self.order(now, client, request, cmds);
            }
            Prompted::SaveAs(session) => self.save_text(client, session, text, cmds),
            // Found while it was typed.
            Prompted::Search(_) => {}
        }
    }

    /// The title of a tab that a person gave no name.
    pub(in crate::app) fn tab_title(&self, tab: &super::super::model::TabState) -> String {
        if let Some(id) = &tab.conversation {
            let c = self.state.conversations.get(id);
            return c.and_then(|c| c.title.clone()).unwrap_or_else(|| id.to_string());
        }
        let first = tab.tree.panes().first().copied();
        let env = first.and_then(|p| self.env_of_pane(p)).and_then(|id| self.state.environments.get(&id));
        env.map_or_else(|| "shell".to_owned(), |e| e.name.clone())
    }
}

/// Moves in a text that is only read. `None` closes it.
fn scrolled(scroll: usize, key: KeyPress) -> Option<usize> {
    match key.code {
        KeyCode::Char('j') | KeyCode::Down => Some(scroll.saturating_add(1)),
        KeyCode::Char('k') | KeyCode::Up => Some(scroll.saturating_sub(1)),
        KeyCode::PageDown | KeyCode::Char(' ') => Some(scroll.saturating_add(10)),
        KeyCode::PageUp => Some(scroll.saturating_sub(10)),
        KeyCode::Home | KeyCode::Char('g') => Some(0),
        KeyCode::Esc | KeyCode::Char('q' | '?' | 'e') | KeyCode::Enter => None,
        _ => Some(scroll),
    }
}

/// Why what is typed cannot be accepted.
pub(in crate::app) fn prompt_problem(model: &Model, of: &Prompted, text: &str) -> Option<String> {
    let text = text.trim();
    match of {
        Prompted::TabName(_) | Prompted::Search(_) => None,
        Prompted::SaveAs(_) => path_problem(text),
        Prompted::EnvName(id) => {
            if let Err(problem) = check_name(text) {
                return Some(problem);
            }
            let own = model.state.environments.get(id)?;
            let taken = model
                .state
                .environments
                .values()
                .any(|e| e.id != own.id && e.name == text && e.spec.endpoint == own.spec.endpoint);
            taken.then(|| format!("another environment is called {text}"))
        }
    }
}

/// Not every action makes sense at every time.
pub(in crate::app) fn available(model: &Model, client: ClientId, action: Action) -> bool {
    let tab: Option<TabId> = model.tab_of(client).map(|t| t.id);
    match action {
        Action::Split(_)
        | Action::Focus(_)
        | Action::NextPane
        | Action::LastPane
        | Action::Zoom
        | Action::ClosePane
        | Action::Resize(_)
        | Action::Swap(_)
        | Action::BreakPane
        | Action::EvenOut
        | Action::Synchronise
        | Action::NextTab
        | Action::PreviousTab
        | Action::RenameTab
        | Action::SendLeader
        | Action::CopyMode
        | Action::Links
        | Action::SaveText
        | Action::EditText
        | Action::Back => tab.is_some(),
        Action::Tab(n) => usize::from(n) <= model.work.tabs.len(),
        Action::PreviousPrompt | Action::CopyOutput => tab.is_some(),
        Action::PasteBuffer | Action::ChooseBuffer => tab.is_some() && !model.work.buffers.is_empty(),
        Action::DeleteBuffer => !model.work.buffers.is_empty(),
        Action::NewTab
        | Action::OpenNew
        | Action::Explain
        | Action::Details
        | Action::Pin
        | Action::TakeOver
        | Action::Extend
        | Action::Remake
        | Action::RenameEnv
        | Action::StartEnv
        | Action::StopEnv
        | Action::RemoveEnv
        // Without a conversation it shows what others run in the environment.
        | Action::AgentPane => model.env_in_question(client).is_some(),
        Action::CopyCommand | Action::RunAgain | Action::AgentShell => model.feed_in_question(client).is_some(),
        Action::Turns => !model.state.conversations.is_empty(),
        _ => true,
    }
}
