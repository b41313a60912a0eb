//! Keys and pastes: who gets them. An overlay first, then the leader, copy mode, the sidebar, and the program.

use super::super::client::Leader;
use super::super::command::Action;
use super::super::layout::PaneId;
use super::super::model::{Model, PaneKind, REPEAT_TIME};
use super::super::msg::{ClientId, Cmd, Role};
use super::super::view_model::Level;
use crate::config::KeyPress;
use crate::domain::{Moment, SessionId, SessionState, Span};
use crate::term::{keys, paste};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What may be typed before a program is there to read it.
const LONGEST_AHEAD: usize = 64 << 10;
/// Keys that follow each other so quickly are typed in one go. Where the shell under them ended meanwhile, none of them
/// is a word to its pane.
const IN_ONE_GO: Span = Span(400);
/// Longest paste. More would fill the queue of a program that does not read.
const LONGEST_PASTE: usize = 16 << 20;

impl Model {
    /// A key of a client.
    pub(super) fn key(&mut self, now: Moment, client: ClientId, event: KeyEvent, cmds: &mut Vec<Cmd>) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        if event.kind == KeyEventKind::Release {
            // Only programs that asked for releases get them; commands act on the press.
            let types = c.role != Role::Reader && c.overlay.is_none() && c.leader.is_none() && c.copying.is_none();
            if types && !self.in_nav(client) {
                self.send_key(now, client, event, cmds);
            }
            return;
        }
        let unchanged = !c.dirty && c.leader.is_none();
        c.dirty = true;
        let in_one_go = c.typed_at.is_some_and(|at| now.since(at) < IN_ONE_GO);
        c.stray &= in_one_go;
        let leader_state = c.leader.take();
        let has_overlay = c.overlay.is_some();
        self.made_active(client);
        let key = KeyPress::of(&event);
        if has_overlay {
            self.overlay_key(now, client, key, cmds);
            return;
        }
        match leader_state {
            Some(Leader::Pressed) => return self.after_leader(now, client, key, cmds),
            Some(Leader::Repeating(until)) if now < until => {
                if let Some(command) = self.bindings.after_leader(key).filter(|c| c.repeats && self.can_repeat(key)) {
                    self.act(now, client, command.action, cmds);
                    self.set_leader(client, Leader::Repeating(now + REPEAT_TIME));
                    return;
                }
            }
            _ => {}
        }
        if key == self.bindings.leader {
            return self.set_leader(client, Leader::Pressed);
        }
        let filtering = self.clients.get(&client).is_some_and(|c| c.sidebar.filtering && self.in_nav(client));
        if filtering {
            return self.filter_key(now, client, key, cmds);
        }
        // Where one session is all there is, every key but the leader is the program's.
        let whole = self.shows_only(client).is_none();
        if let Some(command) = self.bindings.direct(key).filter(|_| whole) {
            return self.act(now, client, command.action, cmds);
        }
        if self.clients.get(&client).is_some_and(|c| c.copying.is_some()) {
            return self.copy_key(now, client, key, cmds);
        }
        if let Some(c) = self.clients.get_mut(&client).filter(|c| c.stray) {
            c.typed_at = Some(now);
            return;
        }
        if self.in_nav(client) {
            return self.nav_key(now, client, key, cmds);
        }
        match self.focused_pane(client).map(|p| (p, self.work.panes.get(&p).cloned())) {
            Some((pane, Some(PaneKind::Feed(id)))) => self.feed_key(now, client, pane, &id, key, cmds),
            Some((pane, Some(PaneKind::Session(_)))) => {
                if let Some(c) = self.clients.get_mut(&client) {
                    c.typed_at = Some(now);
                }
                let over = self.over_key(now, client, pane, (key, in_one_go), cmds);
                if !over {
                    // What the program makes of it is drawn when it comes: a frame before it would only delay it.
                    if let Some(c) = self.clients.get_mut(&client).filter(|_| unchanged) {
                        c.dirty = false;
                    }
                    self.type_key(now, client, event, cmds);
                }
            }
            _ => {}
        }
    }

    fn set_leader(&mut self, client: ClientId, leader: Leader) {
        if let Some(c) = self.clients.get_mut(&client) {
            c.leader = Some(leader);
        }
    }

    /// Letters are typed into programs: only keys that nobody types repeat without the leader. Arrows repeat for
    /// resizing with Ctrl; focus and letters need the leader again, else the next typed `l` would be lost.
    fn can_repeat(&self, key: KeyPress) -> bool {
        !matches!(key.code, KeyCode::Char(c) if !c.is_ascii_uppercase())
            && !matches!(key.code, KeyCode::Up | KeyCode::Down | KeyCode::Left | KeyCode::Right if key.mods.is_empty())
    }

    /// The key after the leader.
    fn after_leader(&mut self, now: Moment, client: ClientId, key: KeyPress, cmds: &mut Vec<Cmd>) {
        if key == self.bindings.leader {
            return self.act(now, client, Action::SendLeader, cmds);
        }
        let one_session = self.shows_only(client).is_some();
        if one_session && key.code == KeyCode::Esc {
            return;
        }
        match self.bindings.after_leader(key).filter(|c| !one_session || c.action.fits_one_session()) {
            Some(command) => {
                let goes_on = matches!(
                    command.action,
                    Action::CopyMode | Action::Links | Action::PreviousPrompt | Action::SaveText | Action::EditText
                );
                if !goes_on {
                    self.leave_copy(client);
                }
                self.act(now, client, command.action, cmds);
                if command.action == Action::CopyMode && key.code == KeyCode::PageUp {
                    // As in tmux: the page up is the way in and the first motion.
                    self.copy_key(now, client, key, cmds);
                }
                if command.repeats && self.can_repeat(key) {
                    self.set_leader(client, Leader::Repeating(now + REPEAT_TIME));
                }
            }
            None => {
                let leader = self.bindings.leader;
                let text = if one_session {
                    let detach = self.bindings.leader_key(Action::Quit);
                    format!("{leader} {key} is no command here · {leader} {detach} detaches")
                } else {
                    let help = self.bindings.leader_key(Action::Help);
                    format!("{leader} {key} is no command · {leader} {help} shows all keys")
                };
                self.say(now, Level::Info, text, Some(client));
            }
        }
    }

    /// A key in NAV.
    fn nav_key(&mut self, now: Moment, client: ClientId, key: KeyPress, cmds: &mut Vec<Cmd>) {
        if key.code == KeyCode::Esc
            && let Some(c) = self.clients.get_mut(&client)
            && c.sidebar.filter.take().is_some()
        {
            self.scroll_to_selected(client);
            return;
        }
        match self.bindings.nav(key) {
            Some(command) => self.act(now, client, command.action, cmds),
            None => {
                let help = self.bindings.nav_key(Action::Help);
                let text = format!("{key} is no command in NAV · {help} shows all keys · Esc goes back to the pane");
                self.say(now, Level::Info, text, Some(client));
            }
        }
    }

    /// A key in a pane whose session is over. False if it is not.
    fn over_key(
        &mut self,
        now: Moment,
        client: ClientId,
        pane: PaneId,
        (key, in_one_go): (KeyPress, bool),
        cmds: &mut Vec<Cmd>,
    ) -> bool {
        let session = self.session_of(pane).and_then(|s| self.state.sessions.get(s));
        if session.is_some_and(|s| !s.has_ended()) {
            return false;
        }
        match key.code {
            KeyCode::Enter | KeyCode::Char('r' | 'x') if in_one_go => {}
            KeyCode::Enter | KeyCode::Char('r' | 'x') if key.mods.is_empty() && self.only_looks(now, client) => {}
            KeyCode::Enter | KeyCode::Char('r') if key.mods.is_empty() => self.again(now, pane, cmds),
            KeyCode::Char('x') if key.mods.is_empty() => {
                self.close_and_forget(now, pane, cmds);
                if let Some(c) = self.clients.get_mut(&client) {
                    c.stray = true;
                }
            }
            KeyCode::PageUp => self.scroll_pane(now, client, pane, i64::from(self.pane_rows(client, pane)), cmds),
            KeyCode::PageDown => self.scroll_pane(now, client, pane, -i64::from(self.pane_rows(client, pane)), cmds),
            _ => {}
        }
        true
    }

    /// Closes a pane, and forgets its session if that is over.
    pub(super) fn close_and_forget(&mut self, now: Moment, pane: PaneId, cmds: &mut Vec<Cmd>) {
        let session = self.session_of(pane).cloned();
        self.close_pane(pane);
        if let Some(session) = session {
            self.forget(now, &session, cmds);
        }
    }

    /// Sessions that get what a client types: the focused one, or all of a synchronised tab.
    fn receivers(&self, client: ClientId) -> Vec<SessionId> {
        let Some(tab) = self.tab_of(client) else { return Vec::new() };
        let focus = self.focus_in(client, tab);
        let panes = if tab.synchronised && self.session_of(focus).is_some() { tab.tree.panes() } else { vec![focus] };
        let mut out: Vec<SessionId> = Vec::new();
        for pane in panes {
            if let Some(id) = self.session_of(pane)
                && self.state.sessions.get(id).is_some_and(|s| !s.has_ended())
                && !out.contains(id)
            {
                out.push(id.clone());
            }
        }
        out
    }

    /// Encodes a key for each receiver under the modes of its screen.
    fn send_key(&mut self, now: Moment, client: ClientId, event: KeyEvent, cmds: &mut Vec<Cmd>) -> Vec<SessionId> {
        let receivers = self.receivers(client);
        for session in &receivers {
            self.screen_for(session);
            let Some(screen) = self.work.screens.get(session) else { continue };
            let bytes = keys::encode(&event, &screen.modes());
            if !bytes.is_empty() {
                self.deliver(now, client, session, bytes, cmds);
            }
        }
        receivers
    }

    /// Bytes for a program, or for the one that is about to run: what is typed while a shell opens is its first input.
    fn deliver(&mut self, now: Moment, client: ClientId, session: &SessionId, bytes: Vec<u8>, cmds: &mut Vec<Cmd>) {
        self.answered_offer(now, session);
        if self.state.sessions.get(session).is_some_and(|s| s.state == SessionState::Running) {
            cmds.push(Cmd::Write { session: session.clone(), bytes });
            return;
        }
        let ahead = self.work.ahead.entry(session.clone()).or_default();
        if ahead.len() + bytes.len() <= LONGEST_AHEAD {
            ahead.extend(bytes);
        } else {
            self.say(
                now,
                Level::Warning,
                "still opening: too much was typed ahead, the rest is not sent",
                Some(client),
            );
        }
    }

    /// A key for the program.
    pub(super) fn type_key(&mut self, now: Moment, client: ClientId, event: KeyEvent, cmds: &mut Vec<Cmd>) {
        if self.only_looks(now, client) {
            return;
        }
        let receivers = self.send_key(now, client, event, cmds);
        self.typed(now, client, &receivers, cmds);
    }

    /// Text for the program, as a paste.
    pub(super) fn type_text(&mut self, now: Moment, client: ClientId, text: &str, cmds: &mut Vec<Cmd>) {
        if self.only_looks(now, client) {
            return;
        }
        if text.len() > LONGEST_PASTE {
            let mib = LONGEST_PASTE >> 20;
            let told = format!("a paste of {} MiB was not sent: at most {mib} MiB go at once", text.len() >> 20);
            return self.say(now, Level::Warning, told, Some(client));
        }
        let receivers = self.receivers(client);
        for session in &receivers {
            self.screen_for(session);
            let Some(screen) = self.work.screens.get(session) else { continue };
            let bytes = paste::encode(text, &screen.modes());
            self.deliver(now, client, session, bytes, cmds);
        }
        self.typed(now, client, &receivers, cmds);
    }

    /// After typing the end of the text is shown, and the core knows that a person is there.
    fn typed(&mut self, now: Moment, client: ClientId, receivers: &[SessionId], cmds: &mut Vec<Cmd>) {
        for session in receivers {
            if let Some(c) = self.clients.get_mut(&client) {
                let looked_back = c.scroll.remove(session).is_some();
                c.dirty |= looked_back | c.marked.take().is_some();
            }
            self.acted(now, session, true, cmds);
        }
    }

    /// A paste of a client.
    pub(super) fn paste(&mut self, now: Moment, client: ClientId, text: &str, cmds: &mut Vec<Cmd>) {
        if !self.clients.contains_key(&client) {
            return;
        }
        self.made_active(client);
        if self.overlay_paste(now, client, text, cmds) {
            return;
        }
        let nav = self.in_nav(client);
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.leader = None;
        c.dirty = true;
        if nav {
            if let (true, Some(filter)) = (c.sidebar.filtering, &mut c.sidebar.filter) {
                filter.paste(text);
            } else {
                self.say(now, Level::Info, "keys are in NAV: Esc goes back to the pane, then paste", Some(client));
            }
            return;
        }
        self.leave_copy(client);
        let pane = self.focused_pane(client);
        let feeds = self.clients.get_mut(&client).map(|c| &mut c.feed);
        if let Some(place) = feeds.and_then(|feeds| feeds.get_mut(&pane?)).filter(|place| place.filtering) {
            return place.filter.paste(text);
        }
        self.type_text(now, client, text, cmds);
    }

    /// Lines inside a pane as a client sees it.
    pub(super) fn pane_rows(&self, client: ClientId, pane: PaneId) -> u16 {
        let areas = self.tab_of(client).map(|t| self.pane_areas(client, t)).unwrap_or_default();
        areas.iter().find(|(p, _)| *p == pane).map_or(1, |(_, a)| self.size_in(client, *a).rows)
    }
}

/// A plain key without modifiers.
pub(super) fn plain(key: KeyPress) -> Option<KeyCode> {
    (key.mods - KeyModifiers::SHIFT).is_empty().then_some(key.code)
}
