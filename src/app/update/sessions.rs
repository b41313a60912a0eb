//! Screens of sessions: output, answers, sizes, memory.

use super::super::client::{Client, Scrolled};
use super::super::feed::Limits;
use super::super::layout::PaneId;
use super::super::model::{FeedOf, Model, PaneKind};
use super::super::msg::{ClientId, Cmd, Stream, TRUE_COLOUR, TerminalAnswer};
use super::super::view_model::Level;
use crate::domain::{CallId, Event, Moment, Session, SessionId, SessionState, Size, Span};
use crate::term::{Fed, Screen, ScreenEvent};
use std::collections::BTreeMap;

/// An act of a person is told to the core at most so often for each session: typing must not make it work.
const ACTS: Span = Span::seconds(1);
/// Programs that are told of another size draw themselves anew within this time.
const REDRAWN: Span = Span::seconds(1);

impl Model {
    /// A program printed something.
    pub(super) fn output(&mut self, now: Moment, session: &SessionId, bytes: &[u8], cmds: &mut Vec<Cmd>) {
        if !self.state.sessions.contains_key(session) {
            return;
        }
        self.screen_for(session);
        let Some(screen) = self.work.screens.get_mut(session) else { return };
        let before = (screen.blocked(), screen.ended_in(0));
        let fed = screen.feed(now, bytes);
        let (blocked, margin) = (screen.blocked(), screen.ended_in(0));
        if margin != before.1 {
            // Told in the frame.
            self.touch();
        }
        if blocked != before.0 {
            self.note_blocked(session, blocked, cmds);
        }
        self.fed(now, session, fed, cmds);
        if !self.work.offered.is_empty() {
            self.offer(now, session, cmds);
        }
        self.shed_history(now);
    }

    /// Shows again what a session showed under an earlier host. Where its program runs on, it goes on below.
    pub(super) fn restore_screen(&mut self, now: Moment, session: &SessionId, text: &str) {
        self.screen_for(session);
        let Some(screen) = self.work.screens.get_mut(session) else { return };
        // Only text and colours are in it: what it leads to is of no interest.
        screen.feed(now, text.replace('\n', "\r\n").as_bytes());
        self.shed_history(now);
        self.touch();
    }

    /// Deals with what a program's output led to.
    pub(super) fn fed(&mut self, now: Moment, session: &SessionId, fed: Fed, cmds: &mut Vec<Cmd>) {
        if !fed.reply.is_empty() {
            cmds.push(Cmd::Write { session: session.clone(), bytes: fed.reply });
        }
        let tabs: Vec<_> = self.work.shown(session).into_iter().map(|(tab, _)| tab).collect();
        if fed.changed {
            for client in self.clients.values_mut() {
                client.printed |= client.tab.is_some_and(|t| tabs.contains(&t))
                    || client.only.as_ref().is_some_and(|only| only.session == *session);
            }
            // What a program draws anew because it was resized is no news.
            if self.work.sizes.get(session).is_none_or(|(_, at)| *at + REDRAWN <= now) {
                self.mark_tabs(&tabs, false);
            }
        }
        for event in fed.events {
            match event {
                ScreenEvent::Title(title) => {
                    self.work.titles.insert(session.clone(), title);
                    self.touch();
                }
                ScreenEvent::Bell => {
                    self.mark_tabs(&tabs, true);
                    let hears = |c: &Client| c.only.as_ref().is_none_or(|only| only.session == *session);
                    cmds.extend(self.clients.iter().filter(|(_, c)| hears(c)).map(|(id, _)| Cmd::Bell(*id)));
                }
                ScreenEvent::Notification(text) => {
                    let name = self.session_name(session);
                    self.say(now, Level::Info, format!("{name}: {text}"), None);
                }
                ScreenEvent::Clipboard(text) => self.wants_to_copy(now, session, &text, cmds),
                ScreenEvent::Died(why) => {
                    let name = self.session_name(session);
                    self.say(now, Level::Error, format!("{name}: its screen takes no more output: {why}"), None);
                }
                ScreenEvent::Cwd(_) | ScreenEvent::Prompt(_) => {}
            }
        }
    }

    /// Tabs that nobody looks at remember output or a bell.
    fn mark_tabs(&mut self, tabs: &[super::super::model::TabId], bell: bool) {
        let mut changed = false;
        for tab in self.work.tabs.iter_mut().filter(|t| tabs.contains(&t.id)) {
            if self.clients.values().any(|c| c.tab == Some(tab.id)) {
                continue;
            }
            let flag = if bell { &mut tab.bell } else { &mut tab.activity };
            changed |= !*flag;
            *flag = true;
        }
        if changed {
            self.touch();
        }
    }

    /// Environment and program of a session, for people.
    pub(in crate::app) fn session_name(&self, session: &SessionId) -> String {
        let Some(s) = self.state.sessions.get(session) else { return session.to_string() };
        let env = self.state.environments.get(&s.env).map_or(s.env.as_str(), |e| e.name.as_str());
        format!("{env} · {}", self.program_name(s))
    }

    /// What tells a session from the others of its environment: the title that its program set, else its program; from
    /// the second on with its number.
    pub(in crate::app) fn program_name(&self, session: &Session) -> String {
        let title = |s: &Session| self.work.titles.get(&s.id).filter(|t| !t.trim().is_empty());
        let own = title(session);
        let name = own.or(session.program.first()).map_or("shell", String::as_str);
        // Shells that write the same title are numbered too.
        let before = |s: &&Session| {
            let earlier = s.env == session.env && (s.began, &s.id) < (session.began, &session.id);
            earlier && (own.is_none() || title(s) == own)
        };
        match self.state.sessions.values().filter(before).count() {
            0 => name.to_owned(),
            n => format!("{name} {}", n + 1),
        }
    }

    /// A command printed something.
    pub(super) fn call_output(&mut self, call: &CallId, stream: Stream, bytes: &[u8]) {
        if !self.state.calls.contains_key(call) {
            return;
        }
        let history = &self.options.history;
        // An eighth of the memory of all histories: lines of output are shorter than lines of a screen.
        let limits = Limits { call: history.call_bytes, all: history.memory_bytes / 8 };
        self.work.feeds.push(call, stream, bytes, limits);
        let Some(call) = self.state.calls.get(call) else { return };
        let shows = |kind: &PaneKind| match kind {
            PaneKind::Feed(FeedOf::Conversation(id)) => Some(id) == call.conversation.as_ref(),
            PaneKind::Feed(FeedOf::Environment(id)) => call.env.as_ref() == Some(id) && call.conversation.is_none(),
            PaneKind::Session(_) => false,
        };
        let feeds = self.work.panes_where(shows);
        let tabs: Vec<_> = feeds.into_iter().map(|(tab, _)| tab).collect();
        for client in self.clients.values_mut() {
            client.dirty |= client.tab.is_some_and(|t| tabs.contains(&t));
        }
        self.mark_tabs(&tabs, false);
    }

    /// The screen of a session, made when there is none.
    pub(super) fn screen_for(&mut self, session: &SessionId) {
        let Some(known) = self.state.sessions.get(session) else { return };
        let (size, lines) = (known.size, self.options.history.lines);
        let (checksums, colours) = (self.options.checksums, self.colours);
        self.work.screens.entry(session.clone()).or_insert_with(|| {
            let mut screen = Screen::new(size, lines);
            screen.allow_checksums(checksums);
            if let Some([foreground, background]) = colours {
                screen.set_theme(foreground, background);
            }
            screen
        });
    }

    /// A terminal said something of itself.
    pub(super) fn terminal_answered(&mut self, client: ClientId, answer: TerminalAnswer) {
        let Some(known) = self.clients.get_mut(&client) else { return };
        match answer {
            TerminalAnswer::Foreground(colour) => known.colours.0 = Some(colour),
            TerminalAnswer::Background(colour) => known.colours.1 = Some(colour),
            TerminalAnswer::TrueColour => known.caps.colours = TRUE_COLOUR,
        }
        self.tell_colours();
    }

    /// Programs that ask are told the colours of the terminal that somebody worked in last, or of another one that told
    /// its own.
    pub(in crate::app) fn tell_colours(&mut self) {
        let told = |client: &Client| Some([client.colours.0?, client.colours.1?]);
        let active = self.active.and_then(|client| told(self.clients.get(&client)?));
        let known = active.or_else(|| self.clients.values().rev().find_map(told));
        let Some([foreground, background]) = known.filter(|_| known != self.colours) else { return };
        self.colours = known;
        for screen in self.work.screens.values_mut() {
            screen.set_theme(foreground, background);
        }
    }

    /// Gives every program the size of its pane on the active client. Sessions shown nowhere keep theirs.
    pub(super) fn fit(&mut self, now: Moment, cmds: &mut Vec<Cmd>) {
        let mut wanted: BTreeMap<SessionId, Size> = BTreeMap::new();
        for (client, tab) in self.active.iter().flat_map(|client| self.work.tabs.iter().map(|tab| (*client, tab))) {
            for (pane, area) in self.pane_areas(client, tab) {
                if let Some(PaneKind::Session(id)) = self.work.panes.get(&pane) {
                    wanted.insert(id.clone(), self.size_in(client, area));
                }
            }
        }
        for (session, client) in &self.sized_by {
            wanted.insert(session.clone(), self.size_in(*client, self.frame(*client).panes));
        }
        for (session, size) in wanted {
            self.resize(now, &session, size, cmds);
        }
    }

    fn resize(&mut self, now: Moment, session: &SessionId, size: Size, cmds: &mut Vec<Cmd>) {
        let Some(known) = self.state.sessions.get(session) else { return };
        let running = known.state == SessionState::Running;
        if known.has_ended() {
            // Its last screen still fits itself to the pane.
            self.resize_screen(session, size);
            return;
        }
        if known.size != size {
            self.apply(now, Event::SessionResized { session: session.clone(), size }, cmds);
        }
        self.resize_screen(session, size);
        if running && self.work.sizes.get(session).is_none_or(|(told, _)| *told != size) {
            self.work.sizes.insert(session.clone(), (size, now));
            cmds.push(Cmd::Resize { session: session.clone(), size });
        }
    }

    /// Resizes a screen; whoever has scrolled back in it keeps his place through the reflow.
    fn resize_screen(&mut self, session: &SessionId, size: Size) {
        let Some(screen) = self.work.screens.get_mut(session) else { return };
        if screen.size() == size {
            return;
        }
        let places: Vec<(ClientId, usize)> = self
            .clients
            .iter()
            .filter_map(|(id, c)| Some((*id, c.scroll.get(session)?.offset(screen))))
            .filter(|(_, offset)| *offset > 0)
            .collect();
        // The screen keeps one place through a reflow: that of the first reader; the others follow by the same lines.
        let first = places.first().map_or(0, |(_, offset)| *offset);
        screen.scroll_to(first);
        screen.resize(size);
        let moved = screen.scroll_offset();
        screen.scroll_to_bottom();
        for (client, offset) in places {
            let offset = (offset + moved).saturating_sub(first);
            let place = Scrolled::at(screen, offset);
            if let Some(c) = self.clients.get_mut(&client) {
                c.scroll.insert(session.clone(), place);
            }
        }
        self.touch();
    }

    /// A person did something in a pane: the core is told, not for every key.
    pub(in crate::app) fn acted(&mut self, now: Moment, session: &SessionId, typed: bool, cmds: &mut Vec<Cmd>) {
        let running = self.state.sessions.get(session).is_some_and(|s| s.state == SessionState::Running);
        let recent = self.acted.get(session).is_some_and(|at| now >= *at && now.since(*at) < ACTS);
        if !running || recent {
            return;
        }
        self.acted.insert(session.clone(), now);
        self.apply(now, Event::PersonActed { session: session.clone(), typed }, cmds);
    }

    /// The session of a pane.
    pub(in crate::app) fn session_of(&self, pane: PaneId) -> Option<&SessionId> {
        match self.work.panes.get(&pane)? {
            PaneKind::Session(id) => Some(id),
            PaneKind::Feed(_) => None,
        }
    }
}

impl Scrolled {
    /// A place so many lines back.
    pub(in crate::app) fn at(screen: &Screen, offset: usize) -> Self {
        let offset = offset.min(screen.history_len());
        Self { top: screen.first_line().saturating_sub(offset as u64), epoch: screen.epoch() }
    }

    /// How many lines back that is now. None when the lines lost their numbers: then the end is shown.
    pub(in crate::app) fn offset(&self, screen: &Screen) -> usize {
        if self.epoch != screen.epoch() {
            return 0;
        }
        usize::try_from(screen.first_line().saturating_sub(self.top)).unwrap_or(usize::MAX).min(screen.history_len())
    }
}
