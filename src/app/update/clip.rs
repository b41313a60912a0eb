//! Programs that want to write to a person's clipboard: by consent alone, and what was not let through.

use super::super::clip::{self, Wanted};
use super::super::command::Action;
use super::super::model::{Model, PaneKind, after};
use super::super::msg::{ClientId, Cmd, Role};
use super::super::overlay::{Choice, Deed, Dialog, Overlay};
use super::super::view::words::excerpt;
use super::super::view_model::Level;
use crate::config::Programs;
use crate::domain::{EnvId, Moment, SessionId};
use crate::term::Blocked;
use std::sync::Arc;

/// The kind of what is not let through because nobody wants it.
pub(in crate::app) const REFUSED: &str = "clipboard writes that nobody wants";

impl Model {
    /// What holds for the programs of an environment: what a person said, else the settings.
    pub(in crate::app) fn programs_of(&self, env: &EnvId) -> Programs {
        let name = || self.state.environments.get(env).map_or("", |env| env.name.as_str());
        self.work.clips.said.get(env).copied().unwrap_or_else(|| self.options.clipboard.of(name()))
    }

    /// A program wants to put a text on the clipboard.
    pub(super) fn wants_to_copy(&mut self, now: Moment, session: &SessionId, text: &str, cmds: &mut Vec<Cmd>) {
        let Some(env) = self.state.sessions.get(session).map(|s| s.env.clone()) else { return };
        let text = clip::clean(text);
        if text.is_empty() {
            return;
        }
        let due = match self.programs_of(&env) {
            Programs::Ask => None,
            Programs::Allow => Some(self.work.clips.due(session, now)),
            Programs::Never => return self.refuse(session, cmds),
        };
        if text.len() > clip::LONGEST {
            return self.refuse(session, cmds);
        }
        let first = self.work.clips.wanted(session).is_none();
        self.work.clips.want(session, text.into(), now, due);
        self.let_ripe_pass(now, cmds);
        if let (true, Some(wanted)) = (first, self.work.clips.wanted(session).filter(|w| w.due.is_none())) {
            // In a frame it stands there; a terminal without one is told in passing.
            let key = after(self.bindings.leader, &self.bindings.leader_key(Action::Clipboard));
            let told = format!("asks to copy {}: {key}", clip::amount(&wanted.text));
            let bare = |(id, client): (&ClientId, &super::Client)| {
                client.only.as_ref().filter(|only| only.session == *session).map(|_| *id)
            };
            let clients: Vec<ClientId> = self.clients.iter().filter_map(bare).collect();
            clients.into_iter().for_each(|client| self.say(now, Level::Warning, told.clone(), Some(client)));
        }
        self.touch();
    }

    fn refuse(&mut self, session: &SessionId, cmds: &mut Vec<Cmd>) {
        let clip = self.work.clips.entry(session);
        clip.refused += 1;
        self.log_blocked(session, REFUSED, cmds);
        self.touch();
    }

    /// One line in the log for each kind and session, whatever a program does.
    pub(super) fn log_blocked(&mut self, session: &SessionId, kind: &'static str, cmds: &mut Vec<Cmd>) {
        if self.work.clips.log(session, kind) {
            let env = self.state.sessions.get(session).map_or("", |s| s.env.as_str());
            cmds.push(Cmd::Log(format!("session {session} of environment {env}: not let through: {kind}")));
        }
    }

    /// The screen of a session kept something more from getting through.
    pub(super) fn note_blocked(&mut self, session: &SessionId, blocked: Blocked, cmds: &mut Vec<Cmd>) {
        for (_, kind) in blocked.kinds() {
            self.log_blocked(session, kind, cmds);
        }
        // Told in the frame.
        self.touch();
    }

    /// Texts that need no word go to the clipboards of those who see their pane. Where nobody looks they wait.
    pub(super) fn let_ripe_pass(&mut self, now: Moment, cmds: &mut Vec<Cmd>) {
        for session in self.work.clips.ripe(now) {
            let sees = |(id, client): (&ClientId, &super::Client)| {
                (client.role != Role::Reader && self.sees(*id, &session)).then_some(*id)
            };
            let clients: Vec<ClientId> = self.clients.iter().filter_map(sees).collect();
            if clients.is_empty() {
                // It waits for a word from then on: nobody's clipboard is written to behind his back.
                self.work.clips.hold(&session);
                continue;
            }
            let Some(Wanted { text, .. }) = self.work.clips.pass(&session, now) else { continue };
            let told =
                format!("{} copied {}: {}", self.session_name(&session), clip::amount(&text), excerpt(&text, 40));
            self.work.buffers.push(text.to_string());
            for client in clients {
                cmds.push(Cmd::Clipboard { client, text: text.to_string() });
                self.say(now, Level::Info, told.clone(), Some(client));
            }
        }
    }

    /// Whether a client's screen shows a session now.
    fn sees(&self, client: ClientId, session: &SessionId) -> bool {
        let Some(tab) = self.tab_of(client) else { return false };
        self.pane_areas(client, tab).iter().any(|(pane, _)| self.session_of(*pane) == Some(session))
    }

    /// Shows what a program wants to copy, of the focused pane first, and asks; else what holds in the environment.
    pub(super) fn ask_clipboard(&mut self, now: Moment, client: ClientId) {
        let focused = self.focused_pane(client).filter(|_| !self.in_nav(client));
        let panes = self.tab_of(client).map(|tab| self.pane_areas(client, tab)).unwrap_or_default();
        let sessions = focused.into_iter().chain(panes.into_iter().map(|(pane, _)| pane));
        let wanted = sessions.filter_map(|pane| match self.work.panes.get(&pane)? {
            PaneKind::Session(id) => Some((id.clone(), self.work.clips.wanted(id)?.text.clone())),
            PaneKind::Feed(_) => None,
        });
        match wanted.into_iter().next() {
            Some((session, text)) => self.ask_to_copy(client, &session, &text),
            None => match self.env_in_question(client) {
                Some(env) => self.ask_programs(client, &env),
                None => self.no_environment(now, client),
            },
        }
    }

    fn ask_to_copy(&mut self, client: ClientId, session: &SessionId, shown: &Arc<str>) {
        let Some(env) = self.state.sessions.get(session).map(|s| s.env.clone()) else { return };
        let count = self.work.clips.wanted(session).map_or(1, |wanted| wanted.count);
        let mut text = clip::excerpt(shown);
        if count > 1 {
            text.push(format!("It asked {count} times; this is the last text."));
        }
        let name = self.state.environments.get(&env).map_or(env.as_str(), |env| env.name.as_str());
        let choices = vec![
            Choice::new(None, "not now", Deed::Nothing),
            Choice::new(Some('y'), "copy it", Deed::CopyWanted(session.clone(), shown.clone(), None)),
            Choice::new(
                Some('a'),
                &format!("always from {name}"),
                Deed::CopyWanted(session.clone(), shown.clone(), Some(env.clone())),
            ),
            Choice::new(Some('n'), &format!("never from {name}"), Deed::Programs(env, Programs::Never)),
        ];
        let title = format!("{} wants to copy {}", self.session_name(session), clip::amount(shown));
        let dialog = Dialog { title, lost: vec![], kept: vec![], text, choices, selected: 0, danger: None };
        self.overlay(client, Overlay::Dialog(dialog));
    }

    /// What holds for the programs of an environment, to be changed.
    fn ask_programs(&mut self, client: ClientId, env: &EnvId) {
        let Some(known) = self.state.environments.get(env) else { return };
        let now = match self.programs_of(env) {
            Programs::Ask => "Each text is asked for. Nothing waits now.",
            Programs::Allow => "They may, without a question.",
            Programs::Never => "They may not.",
        };
        let of = |programs| Deed::Programs(env.clone(), programs);
        let dialog = Dialog {
            title: format!("May programs in {} write to your clipboard?", known.name),
            lost: vec![],
            kept: vec![],
            text: vec![now.to_owned(), "What is said here holds until the host ends. None can read it.".to_owned()],
            choices: vec![
                Choice::new(None, "as it is", Deed::Nothing),
                Choice::new(Some('k'), "ask each time", of(Programs::Ask)),
                Choice::new(Some('a'), "always", of(Programs::Allow)),
                Choice::new(Some('n'), "never", of(Programs::Never)),
            ],
            selected: 0,
            danger: None,
        };
        self.overlay(client, Overlay::Dialog(dialog));
    }

    /// Copies the text that was shown, whatever its program asked for meanwhile.
    pub(super) fn copy_wanted(
        &mut self,
        now: Moment,
        client: ClientId,
        (session, text, always): (&SessionId, &Arc<str>, Option<EnvId>),
        cmds: &mut Vec<Cmd>,
    ) {
        if let Some(env) = always {
            if self.only_looks(now, client) {
                return;
            }
            self.work.clips.said.insert(env, Programs::Allow);
        }
        let clip = self.work.clips.entry(session);
        clip.wanted.take_if(|wanted| wanted.text == *text);
        self.copy_text(now, client, text.to_string(), "", cmds);
        self.touch();
    }

    /// A person said what holds for the programs of an environment.
    pub(super) fn say_programs(
        &mut self,
        now: Moment,
        client: ClientId,
        (env, programs): (EnvId, Programs),
        cmds: &mut Vec<Cmd>,
    ) {
        let Some(name) = self.state.environments.get(&env).map(|env| env.name.clone()) else { return };
        if self.only_looks(now, client) {
            return;
        }
        let word = match programs {
            Programs::Ask => "ask before they write to the clipboard",
            Programs::Allow => "may write to the clipboard",
            Programs::Never => "may not write to the clipboard",
        };
        let of_env = self.state.sessions.values().filter(|s| s.env == env);
        let sessions: Vec<SessionId> = of_env.map(|s| s.id.clone()).collect();
        for session in sessions {
            match programs {
                Programs::Ask => self.work.clips.hold(&session),
                Programs::Never if self.work.clips.entry(&session).wanted.take().is_some() => {
                    self.refuse(&session, cmds);
                }
                Programs::Allow | Programs::Never => {}
            }
        }
        self.work.clips.said.insert(env, programs);
        self.say(now, Level::Success, format!("programs in {name} {word}"), Some(client));
        self.touch();
    }
}
