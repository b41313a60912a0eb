//! What lies over the screen: keys in it, and the questions that come before anything is ended.

use super::super::command::{Action, COMMANDS};
use super::super::form::check_name;
use super::super::model::{Asked, FeedMark, Model, PaneKind, RowKey, TabId};
use super::super::msg::{ClientId, Cmd};
use super::super::overlay::{Choice, Deed, Dialog, Listed, Overlay, Prompted, TurnKey, TurnList};
use super::super::view::lists::{Place, command_rows, places};
use super::super::view::turns::turn_rows;
use super::super::view_model::Level;
use super::keys::plain;
use super::sidebar::toggle;
use crate::config::KeyPress;
use crate::domain::{BackendKind, Environment, Moment, Origin, Persistence, Phase, Request, SessionState};
use crossterm::event::{KeyCode, KeyModifiers, MouseEventKind};

impl Model {
    /// A key while something lies over the screen.
    pub(super) fn overlay_key(&mut self, now: Moment, client: ClientId, key: KeyPress, cmds: &mut Vec<Cmd>) {
        let Some(overlay) = self.clients.get_mut(&client).and_then(|c| c.overlay.take()) else { return };
        let kept = match overlay {
            Overlay::Help { scroll } => scrolled(scroll, key).map(|scroll| Overlay::Help { scroll }),
            Overlay::Explain { env, scroll } => {
                if key == KeyPress::char('+') {
                    self.order(now, client, Request::Extend { env: env.clone(), by: None }, cmds);
                    Some(Overlay::Explain { env, scroll })
                } else {
                    scrolled(scroll, key).map(|scroll| Overlay::Explain { env, scroll })
                }
            }
            Overlay::Dialog(dialog) => self.dialog_key(now, client, dialog, key, cmds),
            Overlay::List { of, mut input, selected } => {
                let rows = match of {
                    Listed::Commands => command_rows(self, client, input.text()).len(),
                    Listed::Places => places(self, input.text()).len(),
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
                    _ => {
                        let before = input.text().to_owned();
                        input.key(key);
                        Some(if input.text() == before { selected } else { 0 })
                    }
                }
                .map(|selected| Overlay::List { of, input, selected })
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
            Some(Overlay::Help { scroll } | Overlay::Explain { scroll, .. }) => {
                *scroll = scroll.saturating_add_signed(by);
            }
            Some(Overlay::List { selected, .. }) => *selected = selected.saturating_add_signed(by),
            _ => return,
        }
        c.dirty = true;
    }

    /// A paste while something lies over the screen. False if nothing does.
    pub(super) fn overlay_paste(&mut self, client: ClientId, text: &str) -> bool {
        let Some(c) = self.clients.get_mut(&client) else { return false };
        let Some(overlay) = &mut c.overlay else { return false };
        match overlay {
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
            Listed::Commands => {
                if let Some((index, true)) = command_rows(self, client, typed).get(selected).copied() {
                    self.act(now, client, COMMANDS[index].action, cmds);
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
            Prompted::Search(down) => {
                if !text.is_empty() {
                    self.search(now, client, text, *down, *down);
                }
            }
        }
    }

    fn dialog_key(
        &mut self,
        now: Moment,
        client: ClientId,
        mut dialog: Dialog,
        key: KeyPress,
        cmds: &mut Vec<Cmd>,
    ) -> Option<Overlay> {
        let last = dialog.choices.len().saturating_sub(1);
        let picked = match key.code {
            KeyCode::Esc => return None,
            KeyCode::Enter => dialog.choices.get(dialog.selected).cloned(),
            KeyCode::Left | KeyCode::Up => {
                dialog.selected = dialog.selected.saturating_sub(1);
                None
            }
            KeyCode::Right | KeyCode::Down => {
                dialog.selected = (dialog.selected + 1).min(last);
                None
            }
            KeyCode::Tab => {
                dialog.selected = if dialog.selected >= last { 0 } else { dialog.selected + 1 };
                None
            }
            KeyCode::Char(c) if key.mods.is_empty() => {
                dialog.choices.iter().find(|choice| choice.key == Some(c)).cloned()
            }
            _ => None,
        };
        let Some(choice) = picked else { return Some(Overlay::Dialog(dialog)) };
        self.do_deed(now, client, choice.does, cmds);
        None
    }

    fn do_deed(&mut self, now: Moment, client: ClientId, deed: Deed, cmds: &mut Vec<Cmd>) {
        match deed {
            Deed::Nothing => {}
            Deed::HidePane(pane) => self.close_pane(pane),
            Deed::EndPane(pane) => {
                let session = self.session_of(pane).cloned();
                self.close_pane(pane);
                if let Some(session) = session {
                    self.work.closing.insert(session.clone());
                    self.order(now, client, Request::KillSession(session), cmds);
                }
            }
            Deed::Stop(env) => self.order(now, client, Request::Stop { env, force: true }, cmds),
            Deed::Remove(env, data) => self.order(now, client, Request::Remove { env, force: true, data }, cmds),
            Deed::Shutdown(keep) => {
                self.shutting_down = true;
                self.ask(now, Asked::Shutdown, Request::Shutdown { keep }, cmds);
            }
        }
    }

    /// Closes the focused pane; asks first when its program runs.
    pub(super) fn close_asking(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        let Some((_, pane)) = self.here(client) else { return };
        let session = self.session_of(pane).and_then(|s| self.state.sessions.get(s));
        let Some(session) = session.filter(|s| s.state == SessionState::Running) else {
            if let Some(id) = self.session_of(pane).cloned()
                && self.state.sessions.get(&id).is_some_and(|s| s.state == SessionState::Opening)
            {
                self.close_pane(pane);
                self.work.closing.insert(id.clone());
                return self.order(now, client, Request::KillSession(id), cmds);
            }
            return self.close_and_forget(now, pane, cmds);
        };
        let name = self.session_name(&session.id);
        let program = session.program.first().map_or("the shell", String::as_str);
        let shared = self.work.shown(&session.id).len() > 1;
        let mut text = Vec::new();
        if session.conversation.is_some() {
            text.push("It is a conversation's session: the agent and you share it.".to_owned());
        }
        if shared {
            text.push("Another pane shows it too.".to_owned());
        }
        let dialog = Dialog {
            title: format!("Close the pane of {name}?"),
            lost: vec![format!("{program} and everything started in it")],
            kept: vec!["the environment, its files and its other sessions".to_owned()],
            text,
            choices: vec![
                choice(None, "cancel", Deed::Nothing),
                choice(Some('x'), "end it", Deed::EndPane(pane)),
                choice(Some('k'), "keep it running without a pane", Deed::HidePane(pane)),
            ],
            selected: 0,
            danger: Some(1),
        };
        self.overlay(client, Overlay::Dialog(dialog));
    }

    /// Asks before a sandbox is stopped or removed, and says what is lost.
    pub(super) fn ask_end(&mut self, now: Moment, client: ClientId, remove: bool) {
        let Some(env) = self.env_in_question(client).and_then(|id| self.state.environments.get(&id)) else {
            return self.no_environment(now, client);
        };
        let exists = env.sandbox.is_some();
        if !remove && (!exists || env.phase == Phase::Stopped) {
            let text = format!("{} has no running sandbox to stop", env.name);
            return self.say(now, Level::Info, text, Some(client));
        }
        let (lost, kept) = self.at_stake(env, remove);
        let mut text: Vec<String> = env.leases.iter().map(|l| format!("held by {}", l.detail)).collect();
        if env.origin == Origin::Hermes {
            text.push("It belongs to hermes-agent, which may start it again.".to_owned());
        }
        let id = env.id.clone();
        let (verb, name) = (if remove { "Remove" } else { "Stop" }, env.name.clone());
        let mut choices = vec![choice(None, "cancel", Deed::Nothing)];
        if remove {
            choices.push(choice(Some('D'), "remove, keep the files", Deed::Remove(id.clone(), false)));
            if env.origin == Origin::Managed {
                choices.push(choice(Some('F'), "remove with home and workspace", Deed::Remove(id, true)));
            }
        } else {
            choices.push(choice(Some('S'), "stop", Deed::Stop(id)));
        }
        let danger = Some(choices.len() - 1);
        let dialog = Dialog { title: format!("{verb} {name}?"), lost, kept, text, choices, selected: 0, danger };
        self.overlay(client, Overlay::Dialog(dialog));
    }

    /// What ends with a sandbox, and what survives it.
    fn at_stake(&self, env: &Environment, remove: bool) -> (Vec<String>, Vec<String>) {
        let mut lost = Vec::new();
        let running =
            self.state.sessions.values().filter(|s| s.env == env.id && s.state == SessionState::Running).count();
        match running {
            0 => lost.push("every process in it".to_owned()),
            1 => lost.push("1 session and every process in it".to_owned()),
            n => lost.push(format!("{n} sessions and every process in it")),
        }
        lost.push("/tmp".to_owned());
        if remove && env.spec.backend == BackendKind::Docker {
            lost.push("the container's writable layer: what was installed or changed outside the mounts".to_owned());
        }
        let mut kept = Vec::new();
        if env.origin == Origin::Managed {
            kept.push("the files in home and /workspace".to_owned());
        }
        if !remove && env.spec.backend == BackendKind::Docker {
            kept.push("the container's writable layer".to_owned());
        }
        kept.extend(env.spec.mounts.iter().map(|m| format!("{} (from {})", m.target, m.source)));
        (lost, kept)
    }

    /// Ends the program, after a question where something ends with it.
    pub(super) fn quit(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        if self.shutting_down {
            // The way out when a backend does not answer.
            cmds.push(Cmd::Detach(client));
            return;
        }
        let live =
            |e: &&Environment| e.origin == Origin::Managed && (e.sandbox.is_some() || e.phase == Phase::Provisioning);
        let envs: Vec<&Environment> = self.state.environments.values().filter(live).collect();
        let names = |wanted: &dyn Fn(&Environment) -> bool| {
            let names: Vec<&str> = envs.iter().filter(|e| wanted(e)).map(|e| e.name.as_str()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let ephemeral = |e: &Environment| e.spec.persistence == Persistence::Ephemeral;
        let stops =
            |e: &Environment| !ephemeral(e) && e.spec.backend == BackendKind::Local && e.phase != Phase::Stopped;
        let stays = |e: &Environment| !ephemeral(e) && !stops(e);
        let (removed, stopped, kept_running) = (names(&ephemeral), names(&stops), names(&stays));
        let sessions = self.state.sessions.values().filter(|s| s.state == SessionState::Running).count();
        if removed.is_none() && stopped.is_none() && sessions == 0 {
            self.shutting_down = true;
            return self.ask(now, Asked::Shutdown, Request::Shutdown { keep: false }, cmds);
        }
        let mut lost = Vec::new();
        if sessions > 0 {
            lost.push(format!(
                "{sessions} open session{} and what runs in {}",
                if sessions == 1 { "" } else { "s" },
                if sessions == 1 { "it" } else { "them" }
            ));
        }
        lost.extend(removed.map(|n| format!("ephemeral, removed: {n}")));
        lost.extend(stopped.clone().map(|n| format!("persistent local, stopped: {n}")));
        let mut kept = Vec::new();
        if stopped.is_some() || kept_running.is_some() {
            kept.push("the files of every persistent environment".to_owned());
        }
        kept.extend(kept_running.map(|n| format!("left as it is: {n}")));
        let running = self.state.conversations.values().filter(|c| c.turns.iter().any(|t| t.ended.is_none())).count();
        let text = match running {
            0 => Vec::new(),
            1 => vec!["A turn of an agent is running.".to_owned()],
            n => vec![format!("{n} turns of agents are running.")],
        };
        let dialog = Dialog {
            title: "End hermes-tui?".to_owned(),
            lost,
            kept,
            text,
            choices: vec![
                choice(None, "stay", Deed::Nothing),
                choice(Some('q'), "end", Deed::Shutdown(false)),
                choice(Some('k'), "end, leave sandboxes running", Deed::Shutdown(true)),
            ],
            selected: 0,
            danger: Some(1),
        };
        self.overlay(client, Overlay::Dialog(dialog));
    }

    /// A key in the turn list.
    fn turns_key(&mut self, now: Moment, client: ClientId, mut list: TurnList, key: KeyPress, cmds: &mut Vec<Cmd>) {
        let rows = turn_rows(self, now, &list);
        let at = list.selected.as_ref().and_then(|s| rows.iter().position(|(k, _)| k == s)).unwrap_or(0);
        let last = rows.len().saturating_sub(1);
        let failed = |i: &usize| {
            matches!(&rows[*i].0, TurnKey::Mark(_, FeedMark::Call(id))
            if self.state.calls.get(id).is_some_and(|c| c.exit_code.is_some_and(|code| code != 0)))
        };
        let turn = |i: &usize| matches!(&rows[*i].0, TurnKey::Mark(_, FeedMark::Turn(_)));
        let mut to = at;
        if list.filtering {
            match key.code {
                KeyCode::Esc => {
                    list.filtering = false;
                    list.filter = Default::default();
                }
                KeyCode::Enter => list.filtering = false,
                KeyCode::Down => to = (at + 1).min(last),
                KeyCode::Up => to = at.saturating_sub(1),
                _ => {
                    list.filter.key(key);
                }
            }
        } else {
            let page = 10;
            match plain(key) {
                Some(KeyCode::Esc | KeyCode::Char('q' | 't')) => return,
                Some(KeyCode::Char('j') | KeyCode::Down) => to = (at + 1).min(last),
                Some(KeyCode::Char('k') | KeyCode::Up) => to = at.saturating_sub(1),
                Some(KeyCode::PageDown) => to = (at + page).min(last),
                Some(KeyCode::PageUp) => to = at.saturating_sub(page),
                Some(KeyCode::Char('g') | KeyCode::Home) => to = 0,
                Some(KeyCode::Char('G') | KeyCode::End) => to = last,
                Some(KeyCode::Char(']' | 'n')) => to = (at + 1..rows.len()).find(turn).unwrap_or(at),
                Some(KeyCode::Char('[' | 'p')) => to = (0..at).rev().find(turn).unwrap_or(at),
                Some(KeyCode::Char('f')) => match (at + 1..rows.len()).find(failed) {
                    Some(i) => to = i,
                    None => self.say(now, Level::Info, "no further failed command in the rows shown", Some(client)),
                },
                Some(KeyCode::Char('F')) => to = (0..at).rev().find(failed).unwrap_or(at),
                Some(KeyCode::Char('/')) => list.filtering = true,
                Some(KeyCode::Char(' ')) => {
                    if let Some((key, _)) = rows.get(at) {
                        toggle(&mut list.toggled, key.clone());
                    }
                }
                Some(KeyCode::Enter) => {
                    if let Some((key, _)) = rows.get(at) {
                        let key = key.clone();
                        self.go_to_turn(now, client, &key, cmds);
                    }
                    return;
                }
                _ => {}
            }
        }
        list.selected = rows.get(to).map(|(k, _)| k.clone());
        if let Some(c) = self.clients.get_mut(&client) {
            c.overlay = Some(Overlay::Turns(list));
        }
        self.scroll_turns(client);
    }

    /// Shows the feed of a row of the turn list, scrolled to it and highlighted.
    fn go_to_turn(&mut self, now: Moment, client: ClientId, key: &TurnKey, cmds: &mut Vec<Cmd>) {
        let (TurnKey::Conversation(id) | TurnKey::Mark(id, _)) = key;
        self.show_feed(now, client, id, cmds);
        if let TurnKey::Mark(_, mark) = key {
            let shown = self.work.panes_where(|k| matches!(k, PaneKind::Feed(f) if f == id)).first().copied();
            if let Some((_, pane)) = shown {
                self.show_mark(client, pane, id, mark.clone());
            }
        }
    }

    /// Scrolls the turn list so that the selected row is in sight.
    pub(super) fn scroll_turns(&mut self, client: ClientId) {
        let Some(Overlay::Turns(list)) = self.clients.get(&client).and_then(|c| c.overlay.clone()) else { return };
        let rows = turn_rows(self, Moment(0), &list);
        let at = list.selected.as_ref().and_then(|s| rows.iter().position(|(k, _)| k == s)).unwrap_or(0);
        let height = self.clients.get(&client).map_or(1, |c| usize::from(c.size.rows.saturating_sub(8)).max(1));
        if let Some(Overlay::Turns(list)) = self.clients.get_mut(&client).and_then(|c| c.overlay.as_mut()) {
            list.scroll = list.scroll.max((at + 1).saturating_sub(height)).min(at);
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

fn choice(key: Option<char>, label: &str, does: Deed) -> Choice {
    Choice { key, label: label.to_owned(), does }
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
        | Action::Back => tab.is_some(),
        Action::Tab(n) => usize::from(n) <= model.work.tabs.len(),
        Action::PasteBuffer => tab.is_some() && !model.work.buffer.is_empty(),
        Action::NewTab
        | Action::OpenNew
        | Action::Explain
        | Action::Pin
        | Action::Extend
        | Action::Remake
        | Action::RenameEnv
        | Action::StartEnv
        | Action::StopEnv
        | Action::RemoveEnv => model.env_in_question(client).is_some(),
        Action::Turns | Action::AgentPane => !model.state.conversations.is_empty(),
        _ => true,
    }
}
