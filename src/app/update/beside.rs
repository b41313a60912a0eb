//! Shells beside an agent pane: the conversation's own, one for a command that is to run again, and one where the agent is.
//!
//! A command is only typed: nothing runs without the word of a person. It goes into a shell of its own, opened in the
//! command's directory, because of another one it is not known whether it sits at its prompt.

use super::super::client::{FeedMark, RowKey};
use super::super::command::Action;
use super::super::layout::{Axis, PaneId};
use super::super::model::{FeedOf, Model, Offer, PaneKind, TabId, after};
use super::super::msg::{ClientId, Cmd};
use super::super::view::words;
use super::super::view_model::{Area, Level};
use super::ask::told;
use super::panes::roomier;
use crate::domain::{Begin, Call, CallSource, EnvId, Moment, Phase, Request, Session, SessionId, SessionState};
use crate::term::paste;

/// Commands that are longer were cut where they were seen.
const LONGEST_SEEN: usize = 16 << 10;

/// Of a conversation whose environment is not made yet, or was removed.
const HOMELESS: &str = "this conversation has no environment now: its next turn brings one";
/// A shell to work in has this much room, with its border.
const LEAST: Area = Area { x: 0, y: 0, width: 30, height: 7 };

impl Model {
    /// Shows the conversation's shell beside its feed: the session it has, else a new one.
    pub(super) fn show_shell(&mut self, now: Moment, client: ClientId, pane: PaneId, of: &FeedOf, cmds: &mut Vec<Cmd>) {
        let id = match of {
            FeedOf::Conversation(id) => id,
            FeedOf::Environment(env) => return self.open_env(now, client, env, cmds),
        };
        self.show_conversation_session(now, id, cmds);
        let session = self.state.conversations.get(id).and_then(|c| c.session.clone());
        let shown = session.iter().flat_map(|s| self.work.shown(s)).next();
        if let Some((tab, shell)) = shown {
            let over = self.session_of(shell).and_then(|s| self.state.sessions.get(s));
            if over.is_some_and(Session::has_ended) {
                self.again(now, shell, cmds);
            }
            return self.look_at(now, client, tab, Some(shell), cmds);
        }
        let env = self.state.conversations.get(id).and_then(|c| c.env.clone());
        match (env, self.here(client)) {
            (Some(env), Some((tab, _))) => {
                let beside = Some((tab, pane, roomier(self.frame(client).panes)));
                match self.shells_in(tab, &env).first().copied() {
                    Some(shell) => self.look_at(now, client, tab, Some(shell), cmds),
                    None => self.open_session(now, client, &env, Some(id.clone()), beside, cmds),
                }
                if let Some(c) = self.clients.get_mut(&client) {
                    c.sidebar.selected = Some(RowKey::Env(env));
                }
            }
            _ => self.say(now, Level::Info, HOMELESS, Some(client)),
        }
    }

    /// A shell where the agent of a feed is, beside its pane.
    pub(super) fn shell_of_agent(&mut self, now: Moment, client: ClientId, of: &FeedOf, cmds: &mut Vec<Cmd>) {
        let (env, conversation) = match of {
            FeedOf::Environment(env) => (Some(env.clone()), None),
            FeedOf::Conversation(id) => {
                (self.state.conversations.get(id).and_then(|c| c.env.clone()), Some(id.clone()))
            }
        };
        let Some(env) = env else {
            return self.say(now, Level::Info, HOMELESS, Some(client));
        };
        match self.state.where_agent_is(&env, conversation.as_ref()) {
            Ok(begin) => {
                let session = self.ids.session();
                self.open_beside(now, client, of, &env, (session, begin), cmds);
            }
            Err(refusal) => self.say(now, Level::Warning, told(&refusal), Some(client)),
        }
    }

    /// Types a command at the prompt of a shell in its directory, beside the agent pane. A shell in which an earlier one
    /// still waits gives way.
    pub(super) fn run_again(&mut self, now: Moment, client: ClientId, mark: Option<FeedMark>, cmds: &mut Vec<Cmd>) {
        let call = match &mark {
            Some(FeedMark::Call(id)) => self.state.calls.get(id),
            _ => None,
        };
        let meant = match (&mark, call) {
            (Some(FeedMark::Turn(_)), _) => Err("a turn is not run again: select one of its commands".to_owned()),
            (_, None) => Err("there is no command here to run again".to_owned()),
            (_, Some(call)) => self.runnable(call).map(|env| (call.clone(), env)),
        };
        let (call, env) = match meant {
            Ok(meant) => meant,
            Err(why) => return self.say(now, Level::Warning, why, Some(client)),
        };
        let of = match &call.conversation {
            Some(id) => FeedOf::Conversation(id.clone()),
            None => FeedOf::Environment(env.clone()),
        };
        let begin = call.cwd.clone().map_or(Begin::Usual, Begin::Directory);
        let session = self.ids.session();
        match self.unanswered(client, &of, &env) {
            Some((tab, pane, old)) => {
                self.show_in(pane, session.clone());
                self.work.offered.remove(&old);
                self.work.closing.insert(old.clone());
                self.order(now, client, Request::KillSession(old), cmds);
                self.request_session(now, session.clone(), &env, (None, begin), pane, cmds);
                self.look_at(now, client, tab, Some(pane), cmds);
            }
            None => self.open_beside(now, client, &of, &env, (session.clone(), begin), cmds),
        }
        if self.state.sessions.contains_key(&session) {
            let text = call.command.trim_end_matches(['\n', '\r']).to_owned();
            self.work.offered.insert(session, Offer { client, text, cwd: call.cwd, waits: true });
        }
    }

    /// The environment in which a command can run again, or why it cannot.
    fn runnable(&self, call: &Call) -> Result<EnvId, String> {
        let text = words::excerpt(&call.command, 40);
        let elsewhere = "y copies it, for another shell";
        let seen = matches!(call.source, CallSource::Observed | CallSource::Agent);
        if seen && call.command.starts_with("hermes: ") {
            return Err(format!("`{text}` is what a tool of hermes-agent did: it has no command to run"));
        }
        if call.command.len() > LONGEST_SEEN && call.command.ends_with('…') {
            return Err(format!("of `{text}` only the beginning is known"));
        }
        let Some(env) = &call.env else {
            return Err(format!("`{text}` ran in no sandbox that is listed here · {elsewhere}"));
        };
        let Some(env) = self.state.environments.get(env) else {
            return Err(format!("the environment in which `{text}` ran is gone · {elsewhere}"));
        };
        if let Some(why) = self.state.down.get(&env.spec.endpoint) {
            return Err(format!("{} does not answer: {why} · {elsewhere}", env.spec.endpoint));
        }
        if env.paused {
            return Err(format!("{} was paused by somebody else: nothing runs until it goes on", env.name));
        }
        match env.phase {
            Phase::Ready => Ok(env.id.clone()),
            Phase::Provisioning | Phase::Reaping => {
                Err(format!("{} is {}: try again in a moment", env.name, words::phase(env.phase)))
            }
            Phase::Absent | Phase::Stopped | Phase::Lost | Phase::Failed => {
                let key = after(self.bindings.leader, &self.bindings.leader_key(Action::Remake));
                let state = words::phase(env.phase);
                Err(format!("{} is {state}: {key} in a pane of it, or r in the sidebar, brings it back", env.name))
            }
        }
    }

    /// Opens a shell beside the pane of a feed: below another shell where one stands there, else where there is more room;
    /// in a tab of its own where there is none.
    fn open_beside(
        &mut self,
        now: Moment,
        client: ClientId,
        of: &FeedOf,
        env: &EnvId,
        (session, begin): (SessionId, Begin),
        cmds: &mut Vec<Cmd>,
    ) {
        let kind = PaneKind::Feed(of.clone());
        let shown = |model: &Self| model.work.panes_where(|k| *k == kind).first().copied();
        if let (None, FeedOf::Conversation(id)) = (shown(self), of) {
            self.show_feed(now, client, id, cmds);
        }
        let here = || self.here(client).filter(|(_, pane)| self.env_of_pane(*pane).as_ref() == Some(env));
        let at = shown(self).or_else(here).and_then(|(tab, pane)| {
            let area = self.frame(client).panes;
            let below = self.shells_in(tab, env).last().map(|shell| (*shell, Axis::Down));
            let tree = &self.work.tab(tab)?.tree;
            let has_room = |at: &(PaneId, Axis)| {
                let mut tried = tree.clone();
                let new = PaneId(0);
                // Where not even these panes have room, each is shown alone.
                tried.split(at.0, at.1, new)
                    && (!tree.fits(area)
                        || tried.fits(area)
                            && tried.areas(area).iter().any(|(pane, area)| {
                                *pane == new && area.width >= LEAST.width && area.height >= LEAST.height
                            }))
            };
            below.into_iter().chain([(pane, roomier(area))]).find(has_room).map(|(pane, axis)| (tab, pane, axis))
        });
        if let Some(pane) = self.place_session(now, client, &session, at, cmds) {
            self.request_session(now, session, env, (None, begin), pane, cmds);
        }
    }

    /// Panes of a tab that show sessions of an environment.
    fn shells_in(&self, tab: TabId, env: &EnvId) -> Vec<PaneId> {
        let panes = self.work.tab(tab).map(|tab| tab.tree.panes()).unwrap_or_default();
        let of_env = |pane: &PaneId| self.session_of(*pane).is_some() && self.env_of_pane(*pane).as_ref() == Some(env);
        panes.into_iter().filter(of_env).collect()
    }

    /// A shell beside a feed in which a command waits and nobody typed anything.
    fn unanswered(&self, client: ClientId, of: &FeedOf, env: &EnvId) -> Option<(TabId, PaneId, SessionId)> {
        let kind = PaneKind::Feed(of.clone());
        let tab = self.work.panes_where(|k| *k == kind).first().map(|(tab, _)| *tab);
        let tab = tab.or_else(|| self.here(client).map(|(tab, _)| tab))?;
        self.shells_in(tab, env).into_iter().find_map(|pane| {
            let session = self.session_of(pane)?;
            let lives = self.state.sessions.get(session).is_some_and(|s| !s.has_ended());
            (lives && self.work.offered.contains_key(session)).then(|| (tab, pane, session.clone()))
        })
    }

    /// A shell that was opened for a command printed something: once that is its prompt, the command is typed.
    pub(super) fn offer(&mut self, now: Moment, session: &SessionId, cmds: &mut Vec<Cmd>) {
        let Some(offer) = self.work.offered.get(session).filter(|offer| offer.waits).cloned() else { return };
        let running = self.state.sessions.get(session).is_some_and(|s| s.state == SessionState::Running);
        let Some(screen) = self.work.screens.get(session).filter(|_| running) else { return };
        let modes = screen.modes();
        // A prompt leaves the cursor behind it; a line editor that takes pastes says so before it.
        if !modes.bracketed_paste && screen.cursor().is_none_or(|cursor| cursor.col == 0) {
            return;
        }
        // Without brackets each line end is an Enter, and everything else that is no text is a key.
        let text = |c: char| !c.is_control() || (modes.bracketed_paste && matches!(c, '\n' | '\t'));
        let short = words::excerpt(&offer.text, 40);
        if !offer.text.chars().all(text) {
            self.work.offered.remove(session);
            self.copy_text(now, offer.client, offer.text, "", cmds);
            let told = format!("`{short}` is copied and not typed: this shell would run its lines as they come");
            return self.say(now, Level::Warning, told, Some(offer.client));
        }
        let bytes = paste::encode(&offer.text, &modes);
        cmds.push(Cmd::Write { session: session.clone(), bytes });
        let told = match &offer.cwd {
            Some(_) => format!("`{short}` waits at the prompt: Enter runs it"),
            None => format!("`{short}` waits at the prompt, but not where it ran: that is not known. Enter runs it"),
        };
        self.work.offered.insert(session.clone(), Offer { waits: false, ..offer.clone() });
        self.acted(now, session, true, cmds);
        self.say(now, Level::Success, told, Some(offer.client));
    }

    /// Somebody types into a shell: what waits there is his. What was still to be typed is not, or it would be mixed up.
    pub(super) fn answered_offer(&mut self, now: Moment, session: &SessionId) {
        if let Some(offer) = self.work.offered.remove(session).filter(|offer| offer.waits) {
            let told = format!("`{}` is not typed: other keys came first", words::excerpt(&offer.text, 40));
            self.say(now, Level::Info, told, Some(offer.client));
        }
    }
}
