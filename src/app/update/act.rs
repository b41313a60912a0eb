//! Carries out a command of the table.

use super::super::command::Action;
use super::super::form::Form;
use super::super::input::Line;
use super::super::layout::PaneId;
use super::super::model::{Asked, FeedOf, Model, PaneKind, TabId};
use super::super::msg::{ClientId, Cmd, Role};
use super::super::overlay::{Listed, Overlay, Prompted, TurnList};
use super::super::view_model::Level;
use super::panes::{GoTo, roomier};
use crate::domain::{ConversationId, Effect, EnvId, EnvSpec, LeaseKind, Moment, Phase, Request, Session};

impl Model {
    /// Does what a command does, for a client.
    pub(super) fn act(&mut self, now: Moment, client: ClientId, action: Action, cmds: &mut Vec<Cmd>) {
        if !action.only_looks() && self.only_looks(now, client) {
            return;
        }
        match action {
            Action::Split(axis) => self.split(now, client, axis, cmds),
            Action::Focus(direction) => self.focus_side(now, client, direction, cmds),
            Action::NextPane => self.focus_other(now, client, false, cmds),
            Action::LastPane => self.focus_other(now, client, true, cmds),
            Action::Zoom => self.zoom(client),
            Action::ClosePane => self.close_asking(now, client, cmds),
            Action::Resize(direction) => self.resize_pane(client, direction),
            Action::Swap(forward) => self.swap_pane(client, forward),
            Action::BreakPane => self.break_pane(now, client, cmds),
            Action::EvenOut => {
                if let Some((tab, _)) = self.here(client)
                    && let Some(t) = self.work.tab_mut(tab)
                {
                    t.tree.even_out();
                    self.touch();
                }
            }
            Action::Synchronise => self.synchronise(now, client),
            Action::NewTab | Action::OpenNew => match self.env_in_question(client) {
                Some(env) => self.open_session(now, client, &env, None, None, cmds),
                None => self.no_environment(now, client),
            },
            Action::NextTab => self.go_tab(now, client, GoTo::Next, cmds),
            Action::PreviousTab => self.go_tab(now, client, GoTo::Previous, cmds),
            Action::Tab(n) => self.go_tab(now, client, GoTo::Number(n), cmds),
            Action::RenameTab => {
                if let Some(tab) = self.tab_of(client) {
                    let (id, title) = (tab.id, tab.name.clone().unwrap_or_else(|| self.tab_title(tab)));
                    self.overlay(client, Overlay::Prompt { of: Prompted::TabName(id), input: Line::new(&title) });
                }
            }
            Action::CopyMode => self.enter_copy(now, client, cmds),
            Action::PreviousPrompt => self.enter_copy_at_prompt(now, client, cmds),
            Action::CopyOutput => self.copy_last_output(now, client, cmds),
            Action::SaveText => self.ask_where_to_save(now, client),
            Action::EditText => self.edit_text(now, client, cmds),
            Action::PasteBuffer => self.paste_buffer(now, client, 0, cmds),
            Action::ChooseBuffer if self.work.buffers.is_empty() => {
                self.say(now, Level::Info, "nothing was copied yet", Some(client));
            }
            Action::ChooseBuffer => self.list(client, Listed::Buffers),
            Action::DeleteBuffer => self.delete_buffer(now, client, 0),
            Action::Clipboard => self.ask_clipboard(now, client),
            Action::Links => self.list_links(now, client),
            Action::Nav => self.enter_nav(client),
            Action::Back => {
                if let Some(c) = self.clients.get_mut(&client)
                    && c.tab.is_some()
                {
                    c.nav = false;
                    c.dirty = true;
                }
            }
            Action::ToggleSidebar => {
                if let Some(c) = self.clients.get_mut(&client) {
                    c.sidebar.hidden = !c.sidebar.hidden;
                    if c.sidebar.hidden && c.tab.is_some() {
                        c.nav = false;
                    }
                    c.dirty = true;
                }
            }
            Action::Pick => self.list(client, Listed::Places),
            Action::Palette => self.list(client, Listed::Commands),
            Action::Help => self.overlay(client, Overlay::Help { scroll: 0 }),
            Action::Turns => self.open_turns(client),
            Action::AgentPane => self.agent_pane(now, client, cmds),
            Action::NeedsMe => self.go_to_need(now, client, cmds),
            Action::CopyCommand | Action::RunAgain | Action::AgentShell => match self.feed_in_question(client) {
                Some((pane, of)) => {
                    let marked = self.marked_in(client, pane, &of);
                    match action {
                        Action::CopyCommand => self.copy_marked(now, client, marked, cmds),
                        Action::RunAgain => self.run_again(now, client, marked, cmds),
                        _ => self.shell_of_agent(now, client, &of, cmds),
                    }
                }
                None => self.no_environment(now, client),
            },
            Action::Explain => self.explain(now, client, cmds),
            Action::Details => match self.env_in_question(client) {
                Some(env) => self.overlay(client, Overlay::Details { env, scroll: 0 }),
                None => self.no_environment(now, client),
            },
            Action::Pin => self.with_env(now, client, cmds, |model, env| {
                let pinned = model.state.environments[&env].leases.iter().any(|l| l.kind == LeaseKind::Pin);
                if pinned { Request::Unpin(env) } else { Request::Pin(env) }
            }),
            Action::TakeOver => self.with_env(now, client, cmds, |model, env| {
                let taken = model.state.environments[&env].taken.is_some();
                if taken { Request::GiveBack(env) } else { Request::TakeOver(env) }
            }),
            Action::Extend => self.extend(now, client, cmds),
            Action::StartEnv => self.with_env(now, client, cmds, |_, env| Request::Start(env)),
            Action::Remake => self.remake(now, client, cmds),
            Action::Quit => self.leave(now, client, cmds),
            Action::Shutdown => self.ask_shutdown(now, client, cmds),
            Action::SendLeader => {
                let leader = self.bindings.leader;
                self.type_key(now, client, leader.event(), cmds);
            }
            Action::RowDown => self.move_row(client, 1),
            Action::RowUp => self.move_row(client, -1),
            Action::RowFirst => self.move_row(client, isize::MIN),
            Action::RowLast => self.move_row(client, isize::MAX),
            Action::Open => self.open_selected(now, client, cmds),
            Action::Fold => self.fold(client),
            Action::Filter => {
                if let Some(c) = self.clients.get_mut(&client) {
                    c.sidebar.filter.get_or_insert_default();
                    c.sidebar.filtering = true;
                    c.dirty = true;
                }
                self.enter_nav(client);
            }
            Action::NewEnv => {
                let form = Form::new(&self.options.env);
                self.overlay(client, Overlay::Form(form));
            }
            Action::Adopt => {
                self.list(client, Listed::Containers(None));
                cmds.push(Cmd::FindContainers(client));
            }
            Action::NewEnvNow => {
                let spec = self.options.env.spec();
                self.new_env(now, client, None, spec, cmds);
            }
            Action::RenameEnv => match self.env_in_question(client) {
                Some(env) => {
                    let name = self.state.environments.get(&env).map(|e| e.name.clone()).unwrap_or_default();
                    self.overlay(client, Overlay::Prompt { of: Prompted::EnvName(env), input: Line::new(&name) });
                }
                None => self.no_environment(now, client),
            },
            Action::StopEnv => self.ask_end(now, client, false),
            Action::RemoveEnv => self.ask_end(now, client, true),
        }
    }

    /// Lays something over a client's screen.
    pub(super) fn overlay(&mut self, client: ClientId, overlay: Overlay) {
        if let Some(c) = self.clients.get_mut(&client) {
            c.overlay = Some(overlay);
            c.dirty = true;
        }
    }

    fn list(&mut self, client: ClientId, of: Listed) {
        self.overlay(client, Overlay::List { of, input: Line::default(), selected: 0 });
    }

    pub(super) fn no_environment(&mut self, now: Moment, client: ClientId) {
        let key = self.bindings.nav_key(Action::NewEnvNow);
        let leader = super::super::model::after(self.bindings.leader, &self.bindings.leader_key(Action::NewEnv));
        let text = if self.in_nav(client) {
            format!("no environment is selected · {key} makes one")
        } else {
            format!("no environment here · {leader} makes one")
        };
        self.say(now, Level::Info, text, Some(client));
    }

    fn with_env(
        &mut self,
        now: Moment,
        client: ClientId,
        cmds: &mut Vec<Cmd>,
        request: impl Fn(&Self, EnvId) -> Request,
    ) {
        match self.env_in_question(client).filter(|e| self.state.environments.contains_key(e)) {
            Some(env) => {
                let request = request(self, env);
                self.order(now, client, request, cmds);
            }
            None => self.no_environment(now, client),
        }
    }

    /// Shows the verdict, and asks for a fresh look: the answer changes what is shown when it comes.
    fn explain(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        let Some(env) = self.env_in_question(client) else { return self.no_environment(now, client) };
        let ready = self.state.environments.get(&env).filter(|e| e.phase == Phase::Ready && !e.paused);
        if let Some((generation, sandbox)) = ready.and_then(|e| Some((e.generation, e.sandbox.clone()?))) {
            cmds.push(Cmd::Effect(Effect::GatherEvidence { env: env.clone(), generation, sandbox }));
        }
        self.overlay(client, Overlay::Explain { env, scroll: 0 });
    }

    fn extend(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        self.with_env(now, client, cmds, |_, env| Request::Extend { env, by: None });
    }

    /// Makes an environment, and a shell in it at once: the pane says how far it is.
    pub(super) fn new_env(
        &mut self,
        now: Moment,
        client: ClientId,
        name: Option<String>,
        spec: EnvSpec,
        cmds: &mut Vec<Cmd>,
    ) {
        let id = self.ids.env();
        let request = Request::NewEnvironment { id: id.clone(), name, spec: Box::new(spec) };
        self.ask(now, Asked::Environment(client, id.clone()), request, cmds);
        if self.state.environments.contains_key(&id) {
            if let Some(c) = self.clients.get_mut(&client) {
                c.sidebar.selected = Some(super::super::client::RowKey::Env(id.clone()));
            }
            self.open_session(now, client, &id, None, None, cmds);
        }
    }

    fn zoom(&mut self, client: ClientId) {
        let Some((tab, pane)) = self.here(client) else { return };
        if let Some(t) = self.work.tab_mut(tab) {
            let alone = t.tree.panes().len() == 1;
            t.zoomed = if t.zoomed.is_some() || alone { None } else { Some(pane) };
        }
        self.touch();
    }

    fn synchronise(&mut self, now: Moment, client: ClientId) {
        let Some((tab, _)) = self.here(client) else { return };
        let Some(t) = self.work.tab_mut(tab) else { return };
        t.synchronised = !t.synchronised;
        const WORDS: [&str; 2] = ["typing goes to one pane", "typing goes to every pane of this tab"];
        let text = WORDS[usize::from(t.synchronised)];
        // What was said of it before is wrong now.
        self.toasts.retain(|toast| !WORDS.contains(&toast.text.as_str()));
        self.say(now, Level::Info, text, Some(client));
    }

    /// Keys go to the sidebar.
    pub(super) fn enter_nav(&mut self, client: ClientId) {
        let env = self.focused_pane(client).and_then(|p| self.env_of_pane(p));
        let Some(c) = self.clients.get_mut(&client) else { return };
        if !c.nav
            && let Some(env) = env
        {
            c.sidebar.selected = Some(super::super::client::RowKey::Env(env));
        }
        c.nav = true;
        c.dirty = true;
        self.scroll_to_selected(client);
    }

    /// Its row is selected, and keys go to the sidebar.
    pub(super) fn select_env(&mut self, client: ClientId, env: EnvId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.nav = true;
        c.sidebar.hidden = false;
        c.sidebar.selected = Some(super::super::client::RowKey::Env(env));
        c.dirty = true;
        self.scroll_to_selected(client);
    }

    /// Whoever asks for an environment by its name wants a shell in it: one that has ended is opened again.
    pub(super) fn revive(&mut self, now: Moment, client: ClientId, env: &EnvId, cmds: &mut Vec<Cmd>) {
        let pane = self.focused_pane(client).filter(|pane| self.env_of_pane(*pane).as_ref() == Some(env));
        let reads = self.clients.get(&client).is_some_and(|c| c.role == Role::Reader);
        if let Some(pane) = pane.filter(|pane| !reads && self.is_over(*pane)) {
            self.again(now, pane, cmds);
        }
    }

    /// Whether a pane shows a session that has ended.
    fn is_over(&self, pane: PaneId) -> bool {
        self.session_of(pane).and_then(|id| self.state.sessions.get(id)).is_some_and(Session::has_ended)
    }

    /// Makes what is gone again: the pane's session with its sandbox, or the environment's sandbox alone.
    fn remake(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        let pane = if self.in_nav(client) { None } else { self.focused_pane(client) };
        if let Some(pane) = pane.filter(|pane| self.is_over(*pane)) {
            return self.again(now, pane, cmds);
        }
        let Some(env) = self.env_in_question(client) else { return self.no_environment(now, client) };
        let Some(e) = self.state.environments.get(&env) else { return };
        if matches!(e.phase, Phase::Ready | Phase::Provisioning | Phase::Reaping) {
            let text = format!("{} is not lost: it is {}", e.name, super::super::view::words::phase(e.phase));
            return self.say(now, Level::Info, text, Some(client));
        }
        let panes = self.work.panes_where(|_| true);
        self.order(now, client, Request::Start(env.clone()), cmds);
        for (_, pane) in panes {
            if self.env_of_pane(pane).as_ref() == Some(&env) {
                self.again(now, pane, cmds);
            }
        }
    }

    /// Shows the selected environment's shell: a pane of it, else a new one.
    pub(super) fn open_selected(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        use super::super::client::RowKey;
        if self.state.environments.is_empty() {
            return self.act(now, client, Action::NewEnvNow, cmds);
        }
        match self.clients.get(&client).and_then(|c| c.sidebar.selected.clone()) {
            Some(RowKey::Group(_)) => self.fold(client),
            Some(RowKey::Env(env)) => self.open_env(now, client, &env, cmds),
            None => self.no_environment(now, client),
        }
    }

    /// Focuses a pane of an environment, or opens a shell in it.
    pub(super) fn open_env(&mut self, now: Moment, client: ClientId, env: &EnvId, cmds: &mut Vec<Cmd>) {
        // A conversation's tab with the shell missing gets it back.
        let conversations: Vec<ConversationId> =
            self.state.environments.get(env).map(|e| e.conversations.iter().cloned().collect()).unwrap_or_default();
        for id in &conversations {
            self.show_conversation_session(now, id, cmds);
        }
        let state = &self.state;
        let of_env = |kind: &PaneKind, live: bool| match kind {
            PaneKind::Session(id) => state.sessions.get(id).is_some_and(|s| s.env == *env && (!live || !s.has_ended())),
            PaneKind::Feed(_) => false,
        };
        let live = self.work.panes_where(|k| of_env(k, true));
        let any = self.work.panes_where(|k| of_env(k, false));
        let own = self.clients.get(&client).and_then(|c| c.tab);
        let pick = |list: &[(TabId, PaneId)]| list.iter().find(|(t, _)| Some(*t) == own).or(list.first()).copied();
        if let Some((tab, pane)) = pick(&live).or_else(|| pick(&any)) {
            self.look_at(now, client, tab, Some(pane), cmds);
            return;
        }
        if self.only_looks(now, client) {
            return;
        }
        // One that runs and is shown nowhere was opened by a command, or left by a terminal that showed nothing else.
        let hidden = |s: &&Session| s.env == *env && !s.has_ended() && self.work.shown(&s.id).is_empty();
        let hidden = self.state.sessions.values().filter(hidden).max_by_key(|s| (s.began, &s.id));
        if let Some(session) = hidden.filter(|s| s.conversation.is_none()).map(|s| s.id.clone()) {
            let pane = self.work.add_pane(PaneKind::Session(session));
            let tab = self.work.add_tab(pane, None);
            return self.look_at(now, client, tab, Some(pane), cmds);
        }
        // The shell of a conversation stands beside its feed, also when its tab was closed or is from before a start.
        let newest =
            conversations.iter().filter_map(|id| self.state.conversations.get(id)).max_by_key(|c| c.last_active);
        let Some(id) = newest.map(|c| c.id.clone()) else {
            return self.open_session(now, client, env, None, None, cmds);
        };
        self.show_feed(now, client, &id, cmds);
        let beside = self.here(client).map(|(tab, pane)| (tab, pane, roomier(self.frame(client).panes)));
        self.open_session(now, client, env, Some(id), beside, cmds);
    }

    /// The agent pane of the conversation in question.
    fn agent_pane(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        match self.feed_here(client) {
            Some(FeedOf::Conversation(id)) => self.show_feed(now, client, &id, cmds),
            Some(FeedOf::Environment(env)) => self.show_env_feed(now, client, &env, cmds),
            None => self.no_environment(now, client),
        }
    }

    /// Focuses the feed of an environment that no conversation uses: what others run in it.
    fn show_env_feed(&mut self, now: Moment, client: ClientId, env: &EnvId, cmds: &mut Vec<Cmd>) {
        let kind = PaneKind::Feed(FeedOf::Environment(env.clone()));
        if let Some((tab, pane)) = self.work.panes_where(|k| *k == kind).first().copied() {
            return self.look_at(now, client, tab, Some(pane), cmds);
        }
        // Beside what is shown of it, else in a tab of its own.
        let beside = self.here(client).filter(|(_, pane)| self.env_of_pane(*pane).as_ref() == Some(env));
        let pane = self.work.add_pane(kind);
        let axis = roomier(self.frame(client).panes);
        let tab = match beside.and_then(|(tab, beside)| Some((self.work.tab_mut(tab)?, beside))) {
            Some((tab, beside)) => {
                tab.tree.split(beside, axis, pane);
                tab.zoomed = None;
                tab.id
            }
            None => self.work.add_tab(pane, None),
        };
        self.look_at(now, client, tab, Some(pane), cmds);
    }

    /// Focuses a conversation's feed; its tab is made when it was closed.
    pub(super) fn show_feed(&mut self, now: Moment, client: ClientId, id: &ConversationId, cmds: &mut Vec<Cmd>) {
        let shown = self.work.panes_where(|k| *k == PaneKind::feed(id));
        if let Some((tab, pane)) = shown.first().copied() {
            return self.look_at(now, client, tab, Some(pane), cmds);
        }
        let pane = self.work.add_pane(PaneKind::feed(id));
        let known = self.work.tabs.iter().find(|t| t.conversation.as_ref() == Some(id)).map(|t| t.id);
        let area = self.frame(client).panes;
        let tab = match known.and_then(|t| self.work.tab_mut(t)) {
            Some(tab) => {
                let beside = tab.tree.panes().first().copied();
                beside.map(|b| tab.tree.split(b, roomier(area), pane));
                tab.zoomed = None;
                tab.id
            }
            None => self.work.add_tab(pane, Some(id.clone())),
        };
        self.show_conversation_session(now, id, cmds);
        self.look_at(now, client, tab, Some(pane), cmds);
    }

    fn open_turns(&mut self, client: ClientId) {
        let mut list = TurnList::default();
        let id = self.tab_of(client).and_then(|t| t.conversation.clone());
        let latest = || self.state.conversations.values().max_by_key(|c| c.last_active).map(|c| c.id.clone());
        if let Some(id) = id.or_else(latest) {
            let turn = self.state.conversations.get(&id).and_then(|c| c.turns.last()).map(|t| t.id.clone());
            list.selected = Some(match turn {
                Some(turn) => super::super::overlay::TurnKey::Mark(id, super::super::client::FeedMark::Turn(turn)),
                None => super::super::overlay::TurnKey::Conversation(id),
            });
        }
        self.overlay(client, Overlay::Turns(list));
        self.scroll_turns(client);
    }
}
