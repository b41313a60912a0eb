//! Tabs and panes: opening, closing, moving, and where each client looks.

use super::super::layout::{Axis, Direction, PaneId};
use super::super::model::{Asked, Model, PaneKind, TabId};
use super::super::msg::{ClientId, Cmd};
use super::super::view_model::{Area, Level};
use crate::domain::{Begin, ConversationId, EnvId, Moment, Request, SessionId, Size};
use crate::term::paste;

/// How far a border moves for one key: as many cells as are seen to move, few enough to hit a place.
const STEP_ACROSS: u16 = 3;
const STEP_DOWN: u16 = 1;
/// A screen on which any number of panes finds its place.
const ROOMY: Area = Area { x: 0, y: 0, width: 10_000, height: 10_000 };

impl Model {
    /// Opens a session in an environment and gives its pane: in the focused tab beside `at`, or in a new tab.
    pub(super) fn open_session(
        &mut self,
        now: Moment,
        client: ClientId,
        env: &EnvId,
        conversation: Option<ConversationId>,
        at: Option<(TabId, PaneId, Axis)>,
        cmds: &mut Vec<Cmd>,
    ) {
        let session = self.ids.session();
        if let Some(pane) = self.place_session(now, client, &session, at, cmds) {
            self.request_session(now, session, env, (conversation, Begin::Usual), pane, cmds);
        }
    }

    /// Gives a session that is to be opened its pane, and the focus. `None` if there is no such place.
    pub(super) fn place_session(
        &mut self,
        now: Moment,
        client: ClientId,
        session: &SessionId,
        at: Option<(TabId, PaneId, Axis)>,
        cmds: &mut Vec<Cmd>,
    ) -> Option<PaneId> {
        let pane = self.work.add_pane(PaneKind::Session(session.clone()));
        let tab = match at {
            Some((tab, beside, axis)) => {
                let split = self.work.tab_mut(tab).is_some_and(|t| {
                    t.zoomed = None;
                    t.tree.split(beside, axis, pane)
                });
                if !split {
                    self.work.panes.remove(&pane);
                    return None;
                }
                tab
            }
            None => self.work.add_tab(pane, None),
        };
        self.look_at(now, client, tab, Some(pane), cmds);
        Some(pane)
    }

    /// Asks for a session of the size that its pane has.
    pub(super) fn request_session(
        &mut self,
        now: Moment,
        session: SessionId,
        env: &EnvId,
        (conversation, begin): (Option<ConversationId>, Begin),
        pane: PaneId,
        cmds: &mut Vec<Cmd>,
    ) {
        let size = self.pane_size(pane);
        // What leads elsewhere leads to the shell that is found there.
        let program = if begin == Begin::Usual { self.options.shell.clone() } else { Vec::new() };
        let request =
            Request::OpenSession { session: session.clone(), env: env.clone(), conversation, program, begin, size };
        self.ask(now, Asked::Session(session), request, cmds);
    }

    /// The size that the program of a pane would have on the active client.
    fn pane_size(&self, pane: PaneId) -> Size {
        let Some(client) = self.active else { return Size::default() };
        let tab = self.work.tabs.iter().find(|t| t.tree.contains(pane));
        let areas = tab.map(|t| self.pane_areas(client, t)).unwrap_or_default();
        areas.iter().find(|(p, _)| *p == pane).map_or_else(Size::default, |(_, a)| self.size_in(client, *a))
    }

    /// A pane whose session is over gets a new one in the same environment, started again if it must.
    pub(super) fn again(&mut self, now: Moment, pane: PaneId, cmds: &mut Vec<Cmd>) {
        let Some(old) = self.session_of(pane).cloned() else { return };
        let Some(session) = self.state.sessions.get(&old) else { return };
        if !session.has_ended() {
            return;
        }
        let (env, conversation, begin) = (session.env.clone(), session.conversation.clone(), session.begin.clone());
        // Another pane may already show the conversation's new session: this one then shows it too.
        let current = conversation.as_ref().and_then(|c| self.state.conversations.get(c)?.session.clone());
        let running = current.filter(|id| self.state.sessions.get(id).is_some_and(|s| !s.has_ended()));
        if let Some(running) = running {
            self.show_in(pane, running);
        } else {
            let new = self.ids.session();
            self.show_in(pane, new.clone());
            self.request_session(now, new, &env, (conversation, begin), pane, cmds);
        }
        self.forget(now, &old, cmds);
    }

    /// A pane shows another session from now on.
    pub(super) fn show_in(&mut self, pane: PaneId, session: SessionId) {
        self.work.panes.insert(pane, PaneKind::Session(session));
        for client in self.clients.values_mut() {
            client.copying = client.copying.take().filter(|c| c.pane != pane);
            client.marked = client.marked.take().filter(|(p, _)| *p != pane);
        }
        self.touch();
    }

    /// Puts a session beside the feed of a conversation's tab.
    pub(super) fn add_beside_feed(&mut self, tab: TabId, conversation: &ConversationId, session: SessionId) {
        let Some(t) = self.work.tab(tab) else { return };
        let panes = t.tree.panes();
        let is_feed = |p: &PaneId| self.work.panes.get(p) == Some(&PaneKind::feed(conversation));
        let Some(beside) = panes.iter().copied().find(is_feed).or(panes.first().copied()) else { return };
        let area = self.active.map(|c| self.frame(c).panes).unwrap_or_default();
        let axis = roomier(area);
        let pane = self.work.add_pane(PaneKind::Session(session));
        if let Some(t) = self.work.tab_mut(tab) {
            t.tree.split(beside, axis, pane);
        }
        self.touch();
    }

    /// Closes a pane; its session runs on. The tab goes with its last pane.
    pub(super) fn close_pane(&mut self, pane: PaneId) {
        let Some(at) = self.work.tabs.iter().position(|t| t.tree.contains(pane)) else { return };
        let tab = self.work.tabs[at].id;
        let order = self.work.tabs[at].tree.panes();
        let index = order.iter().position(|p| *p == pane).unwrap_or(0);
        let next = order.get(index + 1).or_else(|| order.get(index.wrapping_sub(1))).copied();
        if self.work.tabs[at].tree.remove(pane) {
            let t = &mut self.work.tabs[at];
            t.zoomed = t.zoomed.filter(|p| *p != pane);
            for client in self.clients.values_mut() {
                if let Some((focus, last)) = client.focus.get_mut(&tab) {
                    if *focus == pane {
                        *focus = last.filter(|p| *p != pane).or(next).unwrap_or(*focus);
                    }
                    *last = last.filter(|p| *p != pane);
                }
            }
        } else {
            self.work.tabs.remove(at);
        }
        self.work.panes.remove(&pane);
        for client in self.clients.values_mut() {
            client.feed.remove(&pane);
        }
        self.touch();
    }

    /// Tabs whose panes are all gone go too; clients that looked at one look elsewhere.
    pub(super) fn drop_dead_tabs(&mut self) {
        let panes = &self.work.panes;
        let before = self.work.tabs.len();
        self.work.tabs.retain(|t| t.tree.panes().iter().any(|p| panes.contains_key(p)));
        let tabs: Vec<TabId> = self.work.tabs.iter().map(|t| t.id).collect();
        let mut changed = before != tabs.len();
        for client in self.clients.values_mut().filter(|c| c.only.is_none()) {
            if client.tab.is_some_and(|t| !tabs.contains(&t)) {
                client.tab = client.last_tab.filter(|t| tabs.contains(t)).or(tabs.last().copied());
                client.last_tab = None;
                if client.tab.is_none() {
                    client.nav = true;
                }
                changed = true;
            }
            // Who had nothing to look at sees what others open; keys stay where they were.
            if client.tab.is_none() && !tabs.is_empty() {
                client.tab = tabs.last().copied();
                client.nav = true;
                changed = true;
            }
            client.focus.retain(|t, _| tabs.contains(t));
            client.last_tab = client.last_tab.filter(|t| tabs.contains(t));
        }
        if changed {
            self.touch();
        }
    }

    /// What a client looks at is no longer news.
    pub(super) fn follow_tabs(&mut self) {
        let seen: Vec<TabId> = self.clients.values().filter_map(|c| c.tab).collect();
        for tab in self.work.tabs.iter_mut().filter(|t| seen.contains(&t.id)) {
            tab.activity = false;
            tab.bell = false;
        }
    }

    /// Copy mode and marks end with the text they belong to.
    pub(super) fn clear_marks(&mut self) {
        let Self { clients, work, .. } = self;
        for client in clients.values_mut() {
            let epoch = |pane: &PaneId| match work.panes.get(pane) {
                Some(PaneKind::Session(id)) => work.screens.get(id).map(crate::term::Screen::epoch),
                _ => None,
            };
            if client.copying.as_ref().is_some_and(|c| epoch(&c.pane) != Some(c.epoch)) {
                client.copying = None;
                client.marked = None;
                client.dirty = true;
            }
            if client.marked.as_ref().is_some_and(|(p, s)| epoch(p) != Some(s.epoch)) {
                client.marked = None;
                client.dirty = true;
            }
        }
    }

    /// A client looks at a tab, with the focus on a pane of it.
    pub(super) fn look_at(
        &mut self,
        now: Moment,
        client: ClientId,
        tab: TabId,
        pane: Option<PaneId>,
        cmds: &mut Vec<Cmd>,
    ) {
        let before = self.focused_pane(client);
        let Some(c) = self.clients.get_mut(&client) else { return };
        if c.tab != Some(tab) {
            c.last_tab = c.tab;
            c.tab = Some(tab);
        }
        c.nav = false;
        c.dirty = true;
        let current = self.work.tab(tab).map(|t| self.focus_in(client, t));
        // Noted down also when nothing was chosen: a shell that opens later does not take keys from what is looked at.
        if let Some(pane) = pane.or(current)
            && let (Some(t), Some(c)) = (self.work.tab_mut(tab), self.clients.get_mut(&client))
        {
            if t.zoomed.is_some_and(|z| z != pane) {
                t.zoomed = None;
            }
            let former = c.focus.get(&tab).and_then(|(_, last)| *last);
            let last = if current == Some(pane) { former } else { current };
            c.focus.insert(tab, (pane, last));
        }
        self.touch();
        self.tell_focus(now, client, before, cmds);
    }

    /// Tells programs that asked for it who has the focus now (mode 1004).
    pub(super) fn tell_focus(&mut self, now: Moment, client: ClientId, before: Option<PaneId>, cmds: &mut Vec<Cmd>) {
        let after = self.focused_pane(client);
        if before == after {
            return;
        }
        for (pane, gained) in [(before, false), (after, true)] {
            let Some(session) = pane.and_then(|p| self.session_of(p)).cloned() else { continue };
            self.write_focus(&session, gained, cmds);
            if gained {
                self.acted(now, &session, false, cmds);
            }
        }
    }

    fn write_focus(&self, session: &SessionId, gained: bool, cmds: &mut Vec<Cmd>) {
        if let Some(screen) = self.work.screens.get(session) {
            let bytes = paste::focus(gained, &screen.modes());
            if !bytes.is_empty() {
                cmds.push(Cmd::Write { session: session.clone(), bytes: bytes.to_vec() });
            }
        }
    }

    /// The client's terminal got or lost the focus of its desktop.
    pub(super) fn desktop_focus(&mut self, now: Moment, client: ClientId, gained: bool, cmds: &mut Vec<Cmd>) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.focused = gained;
        if gained {
            self.made_active(client);
        }
        if let Some(session) = self.focused_pane(client).and_then(|p| self.session_of(p)).cloned() {
            self.write_focus(&session, gained, cmds);
            if gained {
                self.acted(now, &session, false, cmds);
            }
        }
    }

    /// Another shell of the focused pane's environment, beside or below it.
    pub(super) fn split(&mut self, now: Moment, client: ClientId, axis: Axis, cmds: &mut Vec<Cmd>) {
        let Some((tab, pane)) = self.here(client) else {
            return self.say(now, Level::Info, "there is no pane to split: open a shell first", Some(client));
        };
        let Some(env) = self.env_of_pane(pane).or_else(|| self.env_in_question(client)) else {
            return self.say(now, Level::Info, "this pane has no environment yet", Some(client));
        };
        let mut tree = match self.work.tab(tab) {
            Some(t) => t.tree.clone(),
            None => return,
        };
        tree.split(pane, axis, PaneId(0));
        if !tree.fits(self.frame(client).panes) {
            return self.say(now, Level::Warning, "no room for another pane here", Some(client));
        }
        self.open_session(now, client, &env, None, Some((tab, pane, axis)), cmds);
    }

    /// Tab and focused pane of a client.
    pub(super) fn here(&self, client: ClientId) -> Option<(TabId, PaneId)> {
        let tab = self.tab_of(client)?;
        Some((tab.id, self.focus_in(client, tab)))
    }

    /// Moves the focus to the pane on that side.
    pub(super) fn focus_side(&mut self, now: Moment, client: ClientId, direction: Direction, cmds: &mut Vec<Cmd>) {
        let Some((tab, pane)) = self.here(client) else { return };
        let Some(t) = self.work.tab(tab) else { return };
        // Where the screen is too small for all panes, they lie as they would on a big one.
        let area = Some(self.frame(client).panes).filter(|a| t.tree.fits(*a)).unwrap_or(ROOMY);
        if let Some(to) = t.tree.neighbour(pane, direction, area) {
            self.look_at(now, client, tab, Some(to), cmds);
        }
    }

    /// Moves the focus to the next pane, or to the one that had it before.
    pub(super) fn focus_other(&mut self, now: Moment, client: ClientId, last: bool, cmds: &mut Vec<Cmd>) {
        let Some((tab, pane)) = self.here(client) else { return };
        let Some(t) = self.work.tab(tab) else { return };
        let panes = t.tree.panes();
        let index = panes.iter().position(|p| *p == pane).unwrap_or(0);
        let next = panes[(index + 1) % panes.len().max(1)];
        let former = self.clients.get(&client).and_then(|c| c.focus.get(&tab)?.1).filter(|p| panes.contains(p));
        let to = if last { former.unwrap_or(next) } else { next };
        self.look_at(now, client, tab, Some(to), cmds);
    }

    /// Moves the focused pane's border.
    pub(super) fn resize_pane(&mut self, client: ClientId, direction: Direction) {
        let Some((tab, pane)) = self.here(client) else { return };
        let area = self.frame(client).panes;
        let step = if direction.axis() == Axis::Across { STEP_ACROSS } else { STEP_DOWN };
        if let Some(t) = self.work.tab_mut(tab) {
            t.tree.resize(pane, direction, step, area);
        }
        self.touch();
    }

    /// Exchanges the focused pane with its neighbour in reading order; the focus goes along.
    pub(super) fn swap_pane(&mut self, client: ClientId, forward: bool) {
        let Some((tab, pane)) = self.here(client) else { return };
        if let Some(t) = self.work.tab_mut(tab) {
            let panes = t.tree.panes();
            let index = panes.iter().position(|p| *p == pane).unwrap_or(0);
            let step = if forward { 1 } else { panes.len().saturating_sub(1) };
            t.tree.swap(pane, panes[(index + step) % panes.len().max(1)]);
            t.zoomed = None;
        }
        self.touch();
    }

    /// Gives the focused pane a tab of its own.
    pub(super) fn break_pane(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        let Some((tab, pane)) = self.here(client) else { return };
        if !self.work.tab_mut(tab).is_some_and(|t| t.tree.remove(pane)) {
            return self.say(now, Level::Info, "this pane has a tab of its own already", Some(client));
        }
        if let Some(t) = self.work.tab_mut(tab) {
            t.zoomed = None;
        }
        let new = self.work.add_tab(pane, None);
        self.look_at(now, client, new, Some(pane), cmds);
    }

    /// Another tab: the next, the one before, or by number.
    pub(super) fn go_tab(&mut self, now: Moment, client: ClientId, to: GoTo, cmds: &mut Vec<Cmd>) {
        let count = self.work.tabs.len();
        let at = self.clients.get(&client).and_then(|c| self.work.tabs.iter().position(|t| Some(t.id) == c.tab));
        let index = match (to, at) {
            (GoTo::Number(n), _) => usize::from(n).checked_sub(1).filter(|i| *i < count),
            (GoTo::Next, Some(i)) if count > 0 => Some((i + 1) % count),
            (GoTo::Previous, Some(i)) if count > 0 => Some((i + count - 1) % count),
            _ => None,
        };
        match (index.and_then(|i| self.work.tabs.get(i)).map(|t| t.id), to) {
            (Some(tab), _) => self.look_at(now, client, tab, None, cmds),
            (None, GoTo::Number(n)) => self.say(now, Level::Info, format!("there is no tab {n}"), Some(client)),
            (None, _) => {}
        }
    }
}

/// Which tab.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GoTo {
    Next,
    Previous,
    Number(u8),
}

/// Side by side where two panes are still wide enough to read a command's output, else one below the other.
pub(super) fn roomier(area: Area) -> Axis {
    if area.width >= 100 { Axis::Across } else { Axis::Down }
}
