//! The mouse: clicks focus, borders are dragged, text is selected inside one pane, the wheel scrolls. A program that
//! asked for the mouse gets it, except with Shift, which every terminal keeps for its own selection.

use super::super::client::{Drag, RowKey, Scrolled};
use super::super::clip;
use super::super::command::Action;
use super::super::layout::{PaneId, inner, within};
use super::super::model::{Model, PaneKind};
use super::super::msg::{ClientId, Cmd, Role};
use super::super::view_model::{Area, Level};
use crate::domain::{Moment, SessionId, Span};
use crate::term::{MouseTracking, Pos, Selection, SelectionKind, mouse};
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

/// Lines for one step of the wheel, as most terminals do.
const WHEEL: i64 = 3;
/// Presses closer than this make a double click, as most desktops have it.
const DOUBLE: Span = Span(400);

impl Model {
    /// A mouse event of a client.
    pub(super) fn mouse(&mut self, now: Moment, client: ClientId, event: MouseEvent, cmds: &mut Vec<Cmd>) {
        if !self.clients.contains_key(&client) || !self.options.mouse || event.modifiers.contains(KeyModifiers::SHIFT) {
            return;
        }
        if !matches!(event.kind, MouseEventKind::Moved) {
            self.made_active(client);
        }
        if self.clients.get(&client).is_some_and(|c| c.overlay.is_some()) {
            return self.overlay_mouse(client, event.kind);
        }
        match event.kind {
            MouseEventKind::Down(button) => self.pressed(now, client, event, button, cmds),
            MouseEventKind::Drag(_) => self.dragged(now, client, event, cmds),
            MouseEventKind::Up(_) => self.released(now, client, event, cmds),
            MouseEventKind::ScrollUp | MouseEventKind::ScrollDown => self.wheel(now, client, event, cmds),
            MouseEventKind::Moved | MouseEventKind::ScrollLeft | MouseEventKind::ScrollRight => {
                self.point(client, event.column, event.row);
                if let Some((pane, area)) = self.pane_at(client, event.column, event.row) {
                    self.to_program(client, pane, area, event, cmds);
                }
            }
        }
    }

    /// The pane under a cell, with its outer rectangle as it is drawn.
    pub(in crate::app) fn pane_at(&self, client: ClientId, x: u16, y: u16) -> Option<(PaneId, Area)> {
        let frame = self.shown_frame(client);
        if within(frame.sidebar, x, y) {
            return None;
        }
        let tab = self.tab_of(client)?;
        self.pane_areas(client, tab).into_iter().find(|(_, a)| within(self.inside(client, *a), x, y))
    }

    /// Hands an event to the program of a pane. False if it did not ask for it.
    fn to_program(&self, client: ClientId, pane: PaneId, area: Area, event: MouseEvent, cmds: &mut Vec<Cmd>) -> bool {
        if self.reads(client) {
            return false;
        }
        let Some(session) = self.session_of(pane) else { return false };
        let Some(screen) = self.work.screens.get(session) else { return false };
        let inside = self.inside(client, area);
        let row = event.row.clamp(inside.y, inside.y + inside.height.saturating_sub(1)) - inside.y;
        let col = event.column.clamp(inside.x, inside.x + inside.width.saturating_sub(1)) - inside.x;
        let bytes = mouse::encode(&event, row, col, &screen.modes());
        if bytes.is_empty() {
            return false;
        }
        cmds.push(Cmd::Write { session: session.clone(), bytes });
        true
    }

    fn reads(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_some_and(|c| c.role == Role::Reader)
    }

    fn wants_mouse(&self, client: ClientId, pane: PaneId) -> bool {
        if self.reads(client) {
            return false;
        }
        let session = self.session_of(pane);
        let running = session
            .and_then(|s| self.state.sessions.get(s))
            .is_some_and(|s| s.state == crate::domain::SessionState::Running);
        let screen = session.and_then(|s| self.work.screens.get(s));
        running && screen.is_some_and(|s| s.modes().mouse != MouseTracking::Off)
    }

    fn pressed(&mut self, now: Moment, client: ClientId, event: MouseEvent, button: MouseButton, cmds: &mut Vec<Cmd>) {
        let (x, y) = (event.column, event.row);
        let frame = self.shown_frame(client);
        if let Some(c) = self.clients.get_mut(&client) {
            c.leader = None;
            c.drag = None;
            c.dirty = true;
        }
        if within(inner(frame.sidebar), x, y) {
            return self.press_sidebar(now, client, y - frame.sidebar.y - 1, cmds);
        }
        if within(frame.tabs, x, y) {
            return self.press_tab(now, client, x - frame.tabs.x, cmds);
        }
        if let Some((pane, area)) = self.pane_at(client, x, y) {
            let Some((tab, focused)) = self.here(client) else { return };
            let was_nav = self.clients.get(&client).is_some_and(|c| c.nav);
            if focused != pane || was_nav {
                self.look_at(now, client, tab, Some(pane), cmds);
            }
            if let Some(session) = self.session_of(pane).cloned() {
                self.acted(now, &session, false, cmds);
            }
            if self.wants_mouse(client, pane) {
                if self.to_program(client, pane, area, event, cmds) {
                    self.set_drag(client, Drag::Program(pane));
                }
                return;
            }
            match button {
                MouseButton::Left => self.begin_selection(now, client, pane, area, event, cmds),
                MouseButton::Middle => self.act(now, client, Action::PasteBuffer, cmds),
                MouseButton::Right => self.copy_link_at(now, client, (x, y), cmds),
            }
            return;
        }
        if self.reads(client) {
            return;
        }
        let panes = self.frame(client).panes;
        let border = self
            .tab_of(client)
            .filter(|t| t.zoomed.is_none() && t.tree.fits(panes))
            .and_then(|t| Some((t.id, t.tree.border_at(panes, x, y)?)));
        if let Some((tab, border)) = border {
            self.set_drag(client, Drag::Border(tab, border));
        }
    }

    fn set_drag(&mut self, client: ClientId, drag: Drag) {
        if let Some(c) = self.clients.get_mut(&client) {
            c.drag = Some(drag);
        }
    }

    fn press_sidebar(&mut self, now: Moment, client: ClientId, line: u16, cmds: &mut Vec<Cmd>) {
        let Some(key) = super::super::view::sidebar::key_at_line(self, client, usize::from(line)) else { return };
        let Some(c) = self.clients.get_mut(&client) else { return };
        let again = c.nav && c.sidebar.selected.as_ref() == Some(&key);
        c.nav = true;
        c.sidebar.selected = Some(key.clone());
        match (key, again) {
            (RowKey::Group(_), _) => self.fold(client),
            (RowKey::Env(env), true) => self.open_env(now, client, &env, cmds),
            (RowKey::Env(_), false) => {}
        }
    }

    fn press_tab(&mut self, now: Moment, client: ClientId, column: u16, cmds: &mut Vec<Cmd>) {
        if let Some(tab) = super::super::view::tab_at(self, client, column) {
            self.look_at(now, client, tab, None, cmds);
        }
    }

    /// The place in a session's text under the mouse, kept inside the pane.
    fn place_at(&self, client: ClientId, session: &SessionId, area: Area, event: MouseEvent) -> Option<Pos> {
        let screen = self.work.screens.get(session)?;
        let inside = self.inside(client, area);
        let row = event.row.clamp(inside.y, inside.y + inside.height.saturating_sub(1)) - inside.y;
        let col = event.column.clamp(inside.x, inside.x + inside.width.saturating_sub(1)) - inside.x;
        let view = screen.view_at(self.offset(client, session));
        Some(Pos {
            line: view.line_at(row.min(view.rows().saturating_sub(1))),
            col: col.min(view.cols().saturating_sub(1)),
        })
    }

    /// Lines that a client has scrolled back in a session.
    pub(in crate::app) fn offset(&self, client: ClientId, session: &SessionId) -> usize {
        let place = self.clients.get(&client).and_then(|c| c.scroll.get(session));
        let screen = self.work.screens.get(session);
        place.zip(screen).map_or(0, |(p, s)| p.offset(s))
    }

    /// A press begins a selection; the second one in a row takes the word, the third the line.
    fn begin_selection(
        &mut self,
        now: Moment,
        client: ClientId,
        pane: PaneId,
        area: Area,
        event: MouseEvent,
        cmds: &mut Vec<Cmd>,
    ) {
        let Some(session) = self.session_of(pane).cloned() else { return };
        let Some(at) = self.place_at(client, &session, area, event) else { return };
        let Some(screen) = self.work.screens.get(&session) else { return };
        let Some(c) = self.clients.get_mut(&client) else { return };
        let count = match c.clicked {
            Some((last, x, y, n)) if (x, y) == (event.column, event.row) && now.since(last) < DOUBLE => n % 3 + 1,
            _ => 1,
        };
        c.clicked = Some((now, event.column, event.row, count));
        c.copying = None;
        c.marked = None;
        let block = event.modifiers.contains(KeyModifiers::ALT);
        let selection = match count {
            2 => Selection::word(screen, at),
            3 => Selection::line(screen, at),
            _ => {
                let kind = if block { SelectionKind::Block } else { SelectionKind::Character };
                c.drag = Some(Drag::Select(pane, Selection::begin(screen, kind, at)));
                return;
            }
        };
        c.marked = Some((pane, selection));
        if self.options.copy_on_select {
            self.copy_selection(now, client, pane, &selection, cmds);
        }
    }

    fn dragged(&mut self, now: Moment, client: ClientId, event: MouseEvent, cmds: &mut Vec<Cmd>) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.clicked = None;
        let Some(drag) = c.drag.clone() else { return };
        let area_of = |model: &Self, pane: PaneId| {
            let tab = model.tab_of(client)?;
            model.pane_areas(client, tab).into_iter().find(|(p, _)| *p == pane).map(|(_, a)| a)
        };
        match drag {
            Drag::Border(tab, border) => {
                let area = self.frame(client).panes;
                if self.work.tab_mut(tab).is_some_and(|t| t.tree.drag(&border, area, event.column, event.row)) {
                    self.touch();
                }
            }
            Drag::Select(pane, selection) => {
                let Some(area) = area_of(self, pane) else { return };
                let Some(session) = self.session_of(pane).cloned() else { return };
                // Beyond the upper or lower edge the text scrolls along.
                let inside = self.inside(client, area);
                if event.row < inside.y {
                    self.scroll_pane(now, client, pane, 1, cmds);
                } else if event.row >= inside.y + inside.height {
                    self.scroll_pane(now, client, pane, -1, cmds);
                }
                let Some(head) = self.place_at(client, &session, area, event) else { return };
                let Some(screen) = self.work.screens.get(&session) else { return };
                let selection = selection.extend(screen, head);
                if let Some(c) = self.clients.get_mut(&client) {
                    c.marked = Some((pane, selection));
                    c.drag = Some(Drag::Select(pane, selection));
                    c.dirty = true;
                }
            }
            Drag::Program(pane) => {
                if let Some(area) = area_of(self, pane) {
                    self.to_program(client, pane, area, event, cmds);
                }
            }
        }
    }

    fn released(&mut self, now: Moment, client: ClientId, event: MouseEvent, cmds: &mut Vec<Cmd>) {
        let Some(drag) = self.clients.get_mut(&client).and_then(|c| c.drag.take()) else { return };
        match drag {
            Drag::Program(pane) => {
                let tab = self.tab_of(client);
                let area = tab.and_then(|t| self.pane_areas(client, t).into_iter().find(|(p, _)| *p == pane));
                if let Some((_, area)) = area {
                    self.to_program(client, pane, area, event, cmds);
                }
            }
            Drag::Select(pane, selection) => {
                let marked = self.clients.get(&client).is_some_and(|c| c.marked.is_some());
                if marked && self.options.copy_on_select {
                    self.copy_selection(now, client, pane, &selection, cmds);
                }
            }
            Drag::Border(..) => {}
        }
    }

    fn wheel(&mut self, now: Moment, client: ClientId, event: MouseEvent, cmds: &mut Vec<Cmd>) {
        let up = event.kind == MouseEventKind::ScrollUp;
        let frame = self.shown_frame(client);
        if within(frame.sidebar, event.column, event.row) {
            return self.move_row(client, if up { -1 } else { 1 });
        }
        let Some((pane, area)) = self.pane_at(client, event.column, event.row) else { return };
        if self.wants_mouse(client, pane) {
            self.to_program(client, pane, area, event, cmds);
            return;
        }
        if let Some(session) = self.session_of(pane).cloned()
            && let Some(screen) = self.work.screens.get(&session)
            && !self.reads(client)
        {
            let keys = mouse::wheel_as_keys(up, &screen.modes());
            if !keys.is_empty() {
                cmds.push(Cmd::Write { session: session.clone(), bytes: keys });
                return self.acted(now, &session, false, cmds);
            }
        }
        self.scroll_pane(now, client, pane, if up { WHEEL } else { -WHEEL }, cmds);
    }

    /// Scrolls what a pane shows; positive is back.
    pub(super) fn scroll_pane(&mut self, now: Moment, client: ClientId, pane: PaneId, by: i64, cmds: &mut Vec<Cmd>) {
        match self.work.panes.get(&pane).cloned() {
            Some(PaneKind::Feed(id)) => self.scroll_feed(client, pane, &id, by),
            Some(PaneKind::Session(session)) => {
                let offset = i64::try_from(self.offset(client, &session)).unwrap_or(0);
                let to = usize::try_from(offset.saturating_add(by).max(0)).unwrap_or(0);
                self.scroll_session(client, &session, to);
                self.acted(now, &session, false, cmds);
            }
            None => {}
        }
    }

    /// Shows a session so many lines back.
    pub(super) fn scroll_session(&mut self, client: ClientId, session: &SessionId, offset: usize) {
        let Some(screen) = self.work.screens.get(session) else { return };
        let place = Scrolled::at(screen, offset);
        let offset = offset.min(screen.history_len());
        let Some(c) = self.clients.get_mut(&client) else { return };
        if offset == 0 {
            c.scroll.remove(session);
        } else {
            c.scroll.insert(session.clone(), place);
        }
        c.dirty = true;
    }

    /// Copies marked text: to the client's clipboard and to what `]` pastes.
    pub(super) fn copy_selection(
        &mut self,
        now: Moment,
        client: ClientId,
        pane: PaneId,
        selection: &Selection,
        cmds: &mut Vec<Cmd>,
    ) {
        self.copy_or_append(now, client, pane, selection, false, cmds);
    }

    /// The same, or after what was copied last.
    pub(super) fn copy_or_append(
        &mut self,
        now: Moment,
        client: ClientId,
        pane: PaneId,
        selection: &Selection,
        append: bool,
        cmds: &mut Vec<Cmd>,
    ) {
        let screen = self.session_of(pane).and_then(|s| self.work.screens.get(s));
        let Some(text) = screen.and_then(|s| selection.text(s)).filter(|t| !t.is_empty()) else { return };
        let what = clip::amount(&text);
        let told = if append { format!("appended {what} to what was copied last") } else { format!("copied {what}") };
        let text = if append {
            self.work.buffers.append(&text);
            self.work.buffers.newest().unwrap_or_default().to_owned()
        } else {
            self.work.buffers.push(text.clone());
            text
        };
        cmds.push(Cmd::Clipboard { client, text });
        self.say(now, Level::Success, told, Some(client));
    }
}
