//! The whole text of a session: saved in a file, or shown in the person's editor.

use super::super::input::Line;
use super::super::model::Model;
use super::super::msg::{ClientId, Cmd};
use super::super::overlay::{Overlay, Prompted};
use super::super::view_model::Level;
use crate::domain::{Moment, SessionId};

impl Model {
    /// The session whose text is meant: of copy mode, else of the focused pane.
    fn text_in_question(&mut self, now: Moment, client: ClientId) -> Option<SessionId> {
        let copying = self.clients.get(&client).and_then(|c| c.copying.as_ref()).map(|copying| copying.session.clone());
        let session = copying.or_else(|| self.session_of(self.focused_pane(client)?).cloned());
        let session = session.filter(|session| self.work.screens.contains_key(session));
        if session.is_none() {
            self.say(now, Level::Info, "the focused pane shows no shell whose text could be taken", Some(client));
        }
        session
    }

    fn text_of(&self, session: &SessionId) -> String {
        let screen = self.work.screens.get(session);
        // As the program wrote it: rows that were wrapped are one line.
        screen.map(|screen| screen.text_from(0).trim_end_matches('\n').to_owned() + "\n").unwrap_or_default()
    }

    /// Asks where the text of the session is to be saved.
    pub(super) fn ask_where_to_save(&mut self, now: Moment, client: ClientId) {
        let Some(session) = self.text_in_question(now, client) else { return };
        let env = self.state.sessions.get(&session).and_then(|s| self.state.environments.get(&s.env));
        let name = env.map_or("session", |env| env.name.as_str());
        // Its number of seconds makes it another one each time.
        let path = format!("{}/{name}-{}.txt", self.options.save_dir, now.0 / 1000);
        self.overlay(client, Overlay::Prompt { of: Prompted::SaveAs(session), input: Line::new(&path) });
    }

    /// Saves it.
    pub(super) fn save_text(&mut self, client: ClientId, session: &SessionId, path: &str, cmds: &mut Vec<Cmd>) {
        cmds.push(Cmd::Save { client, path: path.to_owned(), text: self.text_of(session) });
    }

    /// Shows it in the person's editor.
    pub(super) fn edit_text(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        let Some(session) = self.text_in_question(now, client) else { return };
        cmds.push(Cmd::Edit { client, text: self.text_of(&session) });
    }
}

/// Why a text cannot be saved under this name.
pub(super) fn path_problem(path: &str) -> Option<String> {
    let whole = path.starts_with('/') || path.starts_with("~/");
    (!whole || path.ends_with('/')).then(|| "name a whole path, from / or ~/ on".to_owned())
}
