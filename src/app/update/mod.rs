//! One message in, what is to be done out. Total: whatever comes, nothing panics and nothing is lost.

mod act;
mod ask;
mod beside;
mod buffers;
mod clip;
mod copy;
mod dialogs;
mod domain;
mod feed;
mod history;
mod keys;
mod links;
mod marked;
pub(in crate::app) mod memory;
mod mouse;
mod needs;
mod overlay;
mod panes;
mod search;
mod sessions;
mod sidebar;
mod timer;
mod turns;

pub(super) use clip::REFUSED;
pub(super) use overlay::{available, prompt_problem};

use super::client::Client;
use super::model::Model;
use super::msg::{ClientId, Cmd, Msg, Role};
use super::saved::Layout;
use super::view_model::Level;
use crate::domain::{EnvId, Event, Moment};

/// Takes in one message and says what is to be done, in order.
pub fn update(model: &mut Model, now: Moment, msg: Msg) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    let m = &mut *model;
    // Output cannot change it, and comes too often to look.
    let may_change_layout = !matches!(msg, Msg::Output { .. } | Msg::CallOutput { .. } | Msg::Progress { .. });
    match msg {
        Msg::Domain(event) => {
            if let Event::PersonActed { session, typed: true } = &event {
                m.answered_offer(now, session);
            }
            m.apply(now, event, &mut cmds);
        }
        Msg::ClientAttached { client, size, caps, role } => {
            m.clients.insert(client, Client::new(size.bounded(), caps, role));
            m.look_where_the_last_one_did(client);
            m.made_active(client);
            m.select_first_row(client);
            for text in std::mem::take(&mut m.warnings) {
                m.say(now, Level::Warning, text, None);
            }
        }
        Msg::AttachedTo { client, size, caps, role, session } => {
            m.attach_to(now, client, (size.bounded(), caps, role), session, &mut cmds);
        }
        Msg::ClientDetached(client) => {
            let gone = m.clients.remove(&client);
            if let Some(only) = gone.and_then(|c| c.only) {
                m.drop_only(client, &only);
            }
            if m.active == Some(client) {
                m.active = None;
                let others: Vec<ClientId> = m.clients.keys().rev().copied().collect();
                others.into_iter().for_each(|other| m.made_active(other));
            }
            m.tell_colours();
        }
        Msg::TerminalAnswered { client, answer } => m.terminal_answered(client, answer),
        Msg::ClientResized { client, size } => {
            if let Some(c) = m.clients.get_mut(&client) {
                c.size = size.bounded();
                c.dirty = true;
            }
            m.made_active(client);
        }
        Msg::Key { client, key } => m.key(now, client, key, &mut cmds),
        Msg::Mouse { client, mouse } => m.mouse(now, client, mouse, &mut cmds),
        Msg::Paste { client, text } => m.paste(now, client, &text, &mut cmds),
        Msg::Focus { client, gained } => m.desktop_focus(now, client, gained, &mut cmds),
        Msg::OpenEnv { client, env } => {
            if m.clients.contains_key(&client) {
                m.open_env(now, client, &env, &mut cmds);
                m.revive(now, client, &env, &mut cmds);
            }
        }
        Msg::Output { session, bytes } => m.output(now, &session, &bytes, &mut cmds),
        Msg::AgentTold { told, outputs } => m.agent_told(now, *told, &outputs, &mut cmds),
        Msg::CallOutput { call, stream, bytes } => m.call_output(&call, stream, &bytes),
        Msg::Progress { env, text } => {
            if m.state.environments.contains_key(&env) {
                m.work.progress.insert(env, text);
                m.touch();
            }
        }
        Msg::Details { env, facts } => {
            m.work.seen.retain(|known, _| m.state.environments.contains_key(known));
            m.work.seen.entry(env).or_default().facts = facts;
            m.touch();
        }
        Msg::Usage { env, text } => {
            m.work.seen.entry(env).or_default().usage = text;
            m.touch();
        }
        Msg::Containers { client, found, failed } => m.found_containers(client, found, failed),
        Msg::Found(found) => {
            m.work.found = found;
            m.touch();
        }
        Msg::Told { client, text } => m.say(now, Level::Warning, text, Some(client)),
        Msg::Saved { client, saved } => match saved {
            Ok(path) => m.say(now, Level::Success, format!("saved to {path}"), Some(client)),
            Err(why) => m.say(now, Level::Error, why, Some(client)),
        },
        Msg::Trouble(text) => m.say(now, Level::Warning, text, None),
        Msg::LayoutRestored(layout) => m.restore_layout(layout),
        Msg::ScreenRestored { session, text } => m.restore_screen(now, &session, &text),
        Msg::Timer => m.timer(now, &mut cmds),
    }
    m.settle(now, &mut cmds);
    if may_change_layout {
        m.see_needs(now);
    }
    if may_change_layout && !m.saved.is_of(m) {
        m.saved = Layout::of(m);
        cmds.push(Cmd::SaveLayout(m.saved.clone()));
    }
    cmds
}

impl Model {
    /// Puts right what may have become wrong: clients on tabs that are gone, sizes of programs.
    fn settle(&mut self, now: Moment, cmds: &mut Vec<Cmd>) {
        self.leave_with_session(cmds);
        self.drop_dead_tabs();
        self.follow_tabs();
        self.fit(now, cmds);
        self.clear_marks();
        self.point_again();
        self.drop_old_warnings();
        self.note_where_one_looks();
    }

    /// A warning of something that no longer comes would be wrong.
    fn drop_old_warnings(&mut self) {
        let before = self.toasts.len();
        let environments = &self.state.environments;
        let comes = |id: &EnvId| environments.get(id).is_some_and(|e| e.warned && e.holders().is_empty());
        self.toasts.retain(|toast| toast.warns_of.as_ref().is_none_or(comes));
        if self.toasts.len() != before {
            self.touch();
        }
    }

    /// The size of this client counts from now on. One that only looks takes what the others have.
    pub(in crate::app) fn made_active(&mut self, client: ClientId) {
        if let Some(session) = self.shows_only(client).map(|only| only.session.clone()) {
            return self.size_by(client, &session);
        }
        let reads = |id: &ClientId| self.clients.get(id).is_none_or(|c| c.role == Role::Reader);
        if self.clients.contains_key(&client) && (!reads(&client) || self.active.as_ref().is_none_or(reads)) {
            if self.active.replace(client) != Some(client) {
                self.tell_colours();
            }
            self.size_what_is_seen(client);
        }
    }

    /// Whether this client only looks; it is told so.
    fn only_looks(&mut self, now: Moment, client: ClientId) -> bool {
        let looks = self.clients.get(&client).is_some_and(|c| c.role == Role::Reader);
        if looks {
            self.say(now, Level::Info, "read-only: this terminal only looks", Some(client));
        }
        looks
    }
}
