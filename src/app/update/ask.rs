//! Requests of the screen to the core, and its answers.

use super::super::ids;
use super::super::model::{Asked, Model};
use super::super::msg::{ClientId, Cmd};
use super::super::view_model::Level;
use crate::domain::{Answer, Event, Moment, Refusal, ReplyTo, Request};

impl Model {
    /// Asks the core for something.
    pub(super) fn ask(&mut self, now: Moment, asked: Asked, request: Request, cmds: &mut Vec<Cmd>) {
        let reply = self.ids.reply();
        self.asked.insert(reply, asked);
        self.apply(now, Event::Requested { reply, request }, cmds);
    }

    /// The same where only a refusal is of interest.
    pub(super) fn order(&mut self, now: Moment, client: ClientId, request: Request, cmds: &mut Vec<Cmd>) {
        self.ask(now, Asked::Other(client), request, cmds);
    }

    /// An answer of the core. False if it is not for the screen.
    pub(super) fn answered(&mut self, now: Moment, to: ReplyTo, answer: &Answer) -> bool {
        if !ids::is_ours(to) {
            return false;
        }
        let asked = self.asked.remove(&to);
        let Answer::Refused(refusal) = answer else {
            if let (Some(Asked::Adopted(client)), Answer::Environment(env)) = (asked, answer) {
                self.select_env(client, env.clone());
            }
            return true;
        };
        match asked {
            // What failed while opening stands in its pane; what was never listed has nothing to show.
            Some(Asked::Session(session)) if !self.state.sessions.contains_key(&session) => {
                for (_, pane) in self.work.shown(&session) {
                    self.close_pane(pane);
                }
                self.say(now, Level::Error, told(refusal), None);
            }
            // A failed one is listed with its reason, and was announced.
            Some(Asked::Environment(client, env)) if !self.state.environments.contains_key(&env) => {
                self.say(now, Level::Error, told(refusal), Some(client));
            }
            Some(Asked::Shutdown) => {
                self.shutting_down = false;
                self.say(now, Level::Error, told(refusal), None);
            }
            Some(Asked::Other(client) | Asked::Adopted(client)) => {
                self.say(now, Level::Error, told(refusal), Some(client));
            }
            Some(Asked::Session(_) | Asked::Environment(..)) | None => {}
        }
        true
    }
}

/// A refusal with what to do next.
pub(super) fn told(refusal: &Refusal) -> String {
    match refusal.hint.as_str() {
        "" => refusal.message.clone(),
        hint => format!("{} · {hint}", refusal.message),
    }
}
