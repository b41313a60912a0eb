//! Events of the core: its effects go out, and what it announces changes the screen.

use super::super::client::RowKey;
use super::super::model::{Group, GroupKey, Model, PaneKind};
use super::super::msg::Cmd;
use super::super::view_model::Level;
use crate::domain::{
    Answer, ConversationId, Effect, EnvId, Event, Moment, Notice, NoticeKind, Record, Session, SessionId,
};
use std::collections::BTreeMap;

impl Model {
    /// Hands an event to the core and deals with what comes of it.
    pub(super) fn apply(&mut self, now: Moment, event: Event, cmds: &mut Vec<Cmd>) {
        let quiet = matches!(event, Event::PersonActed { .. } | Event::SessionResized { .. });
        let effects = self.state.apply(now, event);
        let listed: usize = self.groups.iter().map(|g| g.envs.len()).sum();
        let regroup = listed != self.state.environments.len()
            || effects.iter().any(|e| matches!(e, Effect::Save(Record::Environment(_))));
        if regroup {
            self.regroup();
        }
        if !quiet || !effects.is_empty() {
            self.touch();
        }
        for effect in effects {
            if let Effect::Reply { to, answer } = &effect
                && self.answered(now, *to, answer)
            {
                self.after_answer(now, answer, cmds);
                continue;
            }
            if let Effect::OpenSession { session, size, .. } = &effect {
                self.work.sizes.insert(session.clone(), (*size, Moment(0)));
            }
            let notice = if let Effect::Announce(notice) = &effect { Some(notice.clone()) } else { None };
            cmds.push(Cmd::Effect(effect));
            if let Some(notice) = notice {
                self.noticed(now, &notice, cmds);
            }
        }
    }

    fn after_answer(&mut self, now: Moment, answer: &Answer, cmds: &mut Vec<Cmd>) {
        if let Answer::Session(session) = answer {
            self.session_open(now, session, cmds);
        }
    }

    fn noticed(&mut self, now: Moment, notice: &Notice, cmds: &mut Vec<Cmd>) {
        use NoticeKind as K;
        match notice.kind {
            K::TurnBegan => {
                if let Some(conversation) = &notice.conversation {
                    self.turn_began(now, conversation, &notice.text, cmds);
                }
            }
            K::SessionOpened => {
                if let Some(session) = &notice.session {
                    self.session_open(now, session, cmds);
                    if let Some(bytes) = self.work.ahead.remove(session) {
                        cmds.push(Cmd::Write { session: session.clone(), bytes });
                    }
                }
            }
            K::SessionEnded => {
                if let Some(session) = &notice.session {
                    self.work.ahead.remove(session);
                    self.work.offered.remove(session);
                    self.session_over(now, session, cmds);
                }
            }
            K::EnvReady | K::EnvRemoved | K::EnvStopped | K::EnvFailed => {
                if let Some(env) = &notice.env {
                    self.work.progress.remove(env);
                }
            }
            K::CallEnded | K::ConversationEnded => {
                let state = &self.state;
                if self.work.feeds.len() > state.calls.len() + 64 {
                    self.work.feeds.retain(|id| state.calls.contains_key(id));
                }
            }
            _ => {}
        }
        let unneeded = notice.kind == K::EndpointDown && !self.state.down.keys().any(|endpoint| self.needs(endpoint));
        let swept = notice.env.as_ref().and_then(|id| self.state.environments.get(id)?.swept_from()).is_some();
        let level = match loud(notice.kind) {
            // Whoever made it deletes it unless it is started again: all must see it.
            Some(Level::Info) if swept && notice.kind == K::EnvStopped => Some(Level::Warning),
            level => level,
        };
        if let Some(level) = level.filter(|_| !unneeded) {
            self.say_of(now, level, &notice.text, notice.env.as_ref());
            if let (K::EnvWarned, Some(toast)) = (notice.kind, self.toasts.last_mut()) {
                toast.warns_of.clone_from(&notice.env);
            }
        }
    }

    /// A turn began: its conversation gets its tab, or the one it has.
    fn turn_began(&mut self, now: Moment, id: &ConversationId, text: &str, cmds: &mut Vec<Cmd>) {
        if !self.options.open_turn_tabs {
            return;
        }
        let known = self.work.tabs.iter().any(|t| t.conversation.as_ref() == Some(id));
        if !known {
            let pane = self.work.add_pane(PaneKind::feed(id));
            let tab = self.work.add_tab(pane, Some(id.clone()));
            if let Some(t) = self.work.tab_mut(tab) {
                t.activity = true;
            }
            // Whoever looks at nothing else sees it; nobody is torn away from what he does.
            for client in self.clients.values_mut().filter(|c| c.tab.is_none() && c.only.is_none()) {
                client.tab = Some(tab);
            }
            let number = self.work.tabs.len();
            let env = self.state.conversations.get(id).and_then(|c| c.env.clone());
            self.say_of(now, Level::Info, &format!("{text} · tab {number}"), env.as_ref());
        }
        self.show_conversation_session(now, id, cmds);
        // A feed that is read at its end follows.
        self.touch();
    }

    /// Puts a conversation's session beside its feed, or in the place of its former session.
    pub(super) fn show_conversation_session(&mut self, _now: Moment, id: &ConversationId, _cmds: &mut Vec<Cmd>) {
        let Some(session) = self.state.conversations.get(id).and_then(|c| c.session.clone()) else { return };
        let over = |s: &Session| s.has_ended();
        if self.work.closing.contains(&session) {
            return;
        }
        if self.state.sessions.get(&session).is_none_or(over) || !self.work.shown(&session).is_empty() {
            return;
        }
        let Some(tab) = self.work.tabs.iter().find(|t| t.conversation.as_ref() == Some(id)).map(|t| t.id) else {
            return;
        };
        // A pane of this tab whose session was the conversation's and is over takes the new one.
        let over = |model: &Self, kind: &PaneKind| match kind {
            PaneKind::Session(old) => {
                model.state.sessions.get(old).is_none_or(|s| s.conversation.as_ref() == Some(id) && s.has_ended())
            }
            PaneKind::Feed(_) => false,
        };
        let panes = self.work.tab(tab).map(|t| t.tree.panes()).unwrap_or_default();
        let old = panes.iter().copied().find(|p| self.work.panes.get(p).is_some_and(|k| over(self, k)));
        match old {
            Some(pane) => self.show_in(pane, session),
            None => self.add_beside_feed(tab, id, session),
        }
    }

    /// A session was opened, here or elsewhere.
    fn session_open(&mut self, now: Moment, session: &SessionId, cmds: &mut Vec<Cmd>) {
        self.screen_for(session);
        let conversation = self.state.sessions.get(session).and_then(|s| s.conversation.clone());
        if let Some(id) = conversation
            && self.options.open_turn_tabs
        {
            self.show_conversation_session(now, &id, cmds);
        }
        self.touch();
    }

    /// A session ended. It is kept, for its pane and for whoever asks for it by its id; unless its pane was closed.
    fn session_over(&mut self, now: Moment, session: &SessionId, cmds: &mut Vec<Cmd>) {
        if self.work.closing.remove(session) {
            self.forget(now, session, cmds);
        }
        // The core forgets the oldest of those that ended.
        let sessions = &self.state.sessions;
        self.work.screens.retain(|id, _| sessions.contains_key(id));
        self.work.titles.retain(|id, _| sessions.contains_key(id));
        self.work.sizes.retain(|id, _| sessions.contains_key(id));
        self.work.clips.retain(|id| sessions.contains_key(id));
        self.acted.retain(|id, _| sessions.contains_key(id));
    }

    /// A session that ended and is shown nowhere is forgotten, with its screen.
    pub(super) fn forget(&mut self, now: Moment, session: &SessionId, cmds: &mut Vec<Cmd>) {
        let over = self.state.sessions.get(session).is_none_or(Session::has_ended);
        if !over || !self.work.shown(session).is_empty() {
            return;
        }
        self.work.screens.remove(session);
        self.work.titles.remove(session);
        self.work.sizes.remove(session);
        self.work.clips.retain(|id| id != session);
        self.acted.remove(session);
        for client in self.clients.values_mut() {
            client.scroll.remove(session);
        }
        if self.state.sessions.contains_key(session) {
            self.apply(now, Event::SessionForgotten(session.clone()), cmds);
        }
    }

    /// Groups environments for the sidebar: by origin and endpoint, then by name.
    pub(super) fn regroup(&mut self) {
        let mut groups: BTreeMap<GroupKey, Vec<(&str, &EnvId)>> = BTreeMap::new();
        for env in self.state.environments.values() {
            let key = GroupKey::of(env);
            groups.entry(key).or_default().push((&env.name, &env.id));
        }
        self.work.clips.said.retain(|id, _| self.state.environments.contains_key(id));
        self.groups = groups
            .into_iter()
            .map(|(key, mut envs)| {
                envs.sort_unstable();
                Group { key, envs: envs.into_iter().map(|(_, id)| id.clone()).collect() }
            })
            .collect();
        let clients: Vec<_> = self.clients.keys().copied().collect();
        for client in clients {
            let lost = match self.clients.get(&client).and_then(|c| c.sidebar.selected.as_ref()) {
                None => true,
                Some(RowKey::Env(id)) => !self.state.environments.contains_key(id),
                Some(RowKey::Group(key)) => !self.groups.iter().any(|g| g.key == *key),
            };
            if lost {
                self.select_first_row(client);
            }
        }
    }
}

/// What people are told of at once; the rest is seen in its place.
fn loud(kind: NoticeKind) -> Option<Level> {
    use NoticeKind as K;
    match kind {
        K::EnvFailed | K::TeardownFailed | K::EndpointDown => Some(Level::Error),
        K::EnvWarned | K::EnvLost | K::ClockJumped => Some(Level::Warning),
        K::EnvStopped | K::EnvRemoved | K::EnvAdopted | K::EnvTakenOver | K::EnvGivenBack | K::Shutdown => {
            Some(Level::Info)
        }
        K::EndpointUp => Some(Level::Success),
        _ => None,
    }
}
