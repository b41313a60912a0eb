//! Pasting what was copied, and forgetting it.

use super::super::model::Model;
use super::super::msg::{ClientId, Cmd};
use super::super::view::words::excerpt;
use super::super::view_model::Level;
use crate::domain::Moment;

impl Model {
    /// Pastes one of the texts that were copied, 0 = the newest.
    pub(super) fn paste_buffer(&mut self, now: Moment, client: ClientId, index: usize, cmds: &mut Vec<Cmd>) {
        match self.work.buffers.get(index).map(str::to_owned) {
            Some(text) => self.type_text(now, client, &text, cmds),
            None => self.say(now, Level::Info, "nothing was copied yet", Some(client)),
        }
    }

    /// Forgets one of them.
    pub(super) fn delete_buffer(&mut self, now: Moment, client: ClientId, index: usize) {
        let told = match self.work.buffers.remove(index) {
            Some(text) => format!("forgot `{}`", excerpt(&text, 60)),
            None => "nothing was copied yet".to_owned(),
        };
        self.say(now, Level::Info, told, Some(client));
    }
}
