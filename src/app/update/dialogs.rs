//! Questions before anything is ended: what is lost, what survives, and what the answers do.

use super::super::model::{Asked, Model};
use super::super::msg::{ClientId, Cmd, Role};
use super::super::overlay::{Choice, Deed, Dialog, Overlay};
use super::super::view_model::Level;
use crate::config::KeyPress;
use crate::domain::{self, BackendKind, EnvId, Environment, Moment, Origin, Persistence, Phase, Request, SessionState};
use crossterm::event::KeyCode;

impl Model {
    /// A key while a question is asked. What it gives back stays over the screen.
    pub(super) fn dialog_key(
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
        if let Deed::AskRemoval(env) = &choice.does {
            return self.second_question(env).map(Overlay::Dialog);
        }
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
            Deed::EndOther(env, deed) => {
                self.order(now, client, Request::EndOther { env, deed, force: true }, cmds);
            }
            Deed::Forget(env) => self.order(now, client, Request::Forget(env), cmds),
            Deed::AskRemoval(_) => {}
            Deed::CopyWanted(session, text, always) => {
                self.copy_wanted(now, client, (&session, &text, always), cmds);
            }
            Deed::Programs(env, programs) => self.say_programs(now, client, (env, programs), cmds),
            Deed::CopyAddress(address) => self.copy_text(now, client, address, "", cmds),
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
                Choice::new(None, "cancel", Deed::Nothing),
                Choice::new(Some('x'), "end it", Deed::EndPane(pane)),
                Choice::new(Some('k'), "keep it running without a pane", Deed::HidePane(pane)),
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
        if env.origin != Origin::Managed && exists {
            let dialog = self.question_of_others(env, remove);
            return self.overlay(client, Overlay::Dialog(dialog));
        }
        let (lost, kept) = self.at_stake(env, remove);
        let text: Vec<String> = env.leases.iter().map(|l| format!("held by {}", l.detail)).collect();
        let id = env.id.clone();
        let (verb, name) = (if remove { "Remove" } else { "Stop" }, env.name.clone());
        let mut choices = vec![Choice::new(None, "cancel", Deed::Nothing)];
        if remove {
            choices.push(Choice::new(Some('D'), "remove, keep the files", Deed::Remove(id.clone(), false)));
            if env.origin == Origin::Managed {
                choices.push(Choice::new(Some('F'), "remove with home and workspace", Deed::Remove(id, true)));
            }
        } else {
            choices.push(Choice::new(Some('S'), "stop", Deed::Stop(id)));
        }
        let danger = Some(choices.len() - 1);
        let dialog = Dialog { title: format!("{verb} {name}?"), lost, kept, text, choices, selected: 0, danger };
        self.overlay(client, Overlay::Dialog(dialog));
    }

    /// Before one that is not ours is ended: what its maker does then.
    fn question_of_others(&self, env: &Environment, remove: bool) -> Dialog {
        let deed = if remove { domain::Deed::Remove } else { domain::Deed::Stop };
        let (lost, kept) = self.at_stake(env, remove);
        let id = env.id.clone();
        let mut choices = vec![Choice::new(None, "cancel", Deed::Nothing)];
        let mut text: Vec<String> = env.leases.iter().map(|l| format!("held by {}", l.detail)).collect();
        match (env.origin, remove) {
            (Origin::Foreign, true) => {
                text.push("Nobody here made it: it can be taken off the list, and stays as it is.".to_owned());
                choices.push(Choice::new(Some('h'), "only show it no longer", Deed::Forget(id.clone())));
                choices.push(Choice::new(Some('D'), "remove its container", Deed::AskRemoval(id)));
            }
            _ => {
                text.extend(env.consequences(deed).into_iter().map(sentence));
                let label = if remove { "remove" } else { "stop" };
                let key = if remove { 'D' } else { 'S' };
                choices.push(Choice::new(Some(key), label, Deed::EndOther(id, deed)));
            }
        }
        let verb = if remove { "Remove" } else { "Stop" };
        let danger = Some(choices.len() - 1);
        Dialog { title: format!("{verb} {}?", env.name), lost, kept, text, choices, selected: 0, danger }
    }

    /// The second question before a container of somebody else is removed: in other words, so that no habit answers it.
    fn second_question(&self, id: &EnvId) -> Option<Dialog> {
        let env = self.state.environments.get(id)?;
        let (lost, kept) = self.at_stake(env, true);
        Some(Dialog {
            title: format!("Destroy the container of {} for good?", env.name),
            lost,
            kept,
            text: env.consequences(domain::Deed::Remove).into_iter().map(sentence).collect(),
            choices: vec![
                Choice::new(None, "leave it", Deed::Nothing),
                Choice::new(Some('X'), "destroy it", Deed::EndOther(id.clone(), domain::Deed::Remove)),
            ],
            selected: 0,
            danger: Some(1),
        })
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
        // What others made may have it in its writable layer.
        if !env.spec.on_host && env.origin == Origin::Managed {
            lost.push("/tmp".to_owned());
        }
        if remove && env.spec.backend == BackendKind::Docker {
            lost.push("the container's writable layer: what was installed or changed outside the mounts".to_owned());
        }
        let mut kept = Vec::new();
        let files = "the files in home and /workspace".to_owned();
        match env.origin {
            Origin::Managed if remove && env.is_ephemeral() => lost.push(files),
            Origin::Managed => kept.push(files),
            Origin::Hermes | Origin::Foreign => {}
        }
        if !remove && env.spec.backend == BackendKind::Docker {
            kept.push("the container's writable layer".to_owned());
        }
        let mounts = env.spec.mounts.iter().filter(|m| env.origin == Origin::Managed || !m.read_only);
        kept.extend(mounts.map(|m| format!("{} (from {})", m.target, m.source)));
        (lost, kept)
    }

    /// Leaves the screen; where the host ends with it, after a question.
    pub(super) fn leave(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        match self.clients.get(&client).map(|c| c.role) {
            Some(Role::Owner) => self.ask_shutdown(now, client, cmds),
            _ => cmds.push(Cmd::Detach(client)),
        }
    }

    /// Ends the host, after a question where something ends with it.
    pub(super) fn ask_shutdown(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        if self.shutting_down {
            // The way out when a backend does not answer.
            cmds.push(Cmd::EndNow(client));
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
                Choice::new(None, "stay", Deed::Nothing),
                Choice::new(Some('q'), "end", Deed::Shutdown(false)),
                Choice::new(Some('k'), "end, leave sandboxes running", Deed::Shutdown(true)),
            ],
            selected: 0,
            danger: Some(1),
        };
        self.overlay(client, Overlay::Dialog(dialog));
    }
}

/// As a sentence of its own.
fn sentence(text: String) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", chars.as_str())
}
