//! The normal end of the host: ephemeral environments are removed, persistent local ones stopped, then it exits.

use super::books::{Cause, End, Need, Shutdown, Waiter};
use super::effect::{Deed, Effect, Notice, NoticeKind};
use super::environment::{BackendKind, Environment, Origin, Persistence, Phase};
use super::id::{EnvId, ReplyTo};
use super::moment::{Moment, Span};
use super::outbox::Outbox;
use super::reaper::Access;
use super::request::{Answer, Refusal, RefusalKind, Request};
use super::state::State;

/// The host does not wait longer than this for its backends.
const PATIENCE: Span = Span::seconds(30);

impl State {
    pub(super) fn begin_shutdown(&mut self, out: &mut Outbox, reply: ReplyTo, keep: bool) {
        self.waiters.push(Waiter { reply, env: None, need: Need::Shutdown });
        if self.shutdown.is_some() {
            return;
        }
        let text = if keep { "the host ends; every environment runs on" } else { "the host ends" };
        out.announce(Notice::new(NoticeKind::Shutdown, text));
        self.shutdown = Some(Shutdown { since: out.now, ..Shutdown::default() });
        self.turn_away(out);
        if keep {
            self.exit(out);
        }
    }

    /// Nobody is served any more.
    fn turn_away(&mut self, out: &mut Outbox) {
        let waiting: Vec<EnvId> = self.waiters.iter().filter_map(|w| w.env.clone()).collect();
        for id in waiting {
            self.refuse_waiting(out, &id, &ending(), |_| true);
        }
    }

    /// Ends what must end, as far as it has not yet; exits when nothing is left to wait for.
    pub(super) fn settle_shutdown(&mut self, out: &mut Outbox) {
        let Some(shutdown) = self.shutdown.as_ref().filter(|shutdown| !shutdown.over) else { return };
        let patient = out.now < shutdown.since + PATIENCE;
        let pending: Vec<EnvId> = self
            .environments
            .values()
            .filter(|env| !shutdown.left.contains_key(&env.id) && deed_at_exit(env).is_some())
            .map(|env| env.id.clone())
            .collect();
        let mut waits = false;
        for id in pending {
            match self.end_for_exit(out, &id) {
                Ok(()) if patient => waits = true,
                Ok(()) => self.leave_running(&id, "its backend did not answer in time"),
                Err(why) => self.leave_running(&id, &why),
            }
        }
        if !waits {
            self.exit(out);
        }
    }

    fn end_for_exit(&mut self, out: &mut Outbox, id: &EnvId) -> Result<(), String> {
        let Some(env) = self.environments.get(id) else { return Ok(()) };
        let Some(deed) = deed_at_exit(env) else { return Ok(()) };
        match (self.access(env), env.phase) {
            (Access::Down, _) => Err(format!("{} does not answer", env.spec.endpoint)),
            _ if env.paused => Err("it was paused by somebody else".to_owned()),
            (Access::Unlisted, _) | (_, Phase::Provisioning | Phase::Reaping) => Ok(()),
            _ => {
                let forget = env.is_ephemeral();
                let end = End { forget, ..End::new(out.now, deed, Cause::Shutdown) };
                self.begin_teardown(out, id, end);
                Ok(())
            }
        }
    }

    fn leave_running(&mut self, id: &EnvId, why: &str) {
        if let Some(shutdown) = &mut self.shutdown {
            shutdown.left.insert(id.clone(), why.to_owned());
        }
    }

    fn exit(&mut self, out: &mut Outbox) {
        let Some(shutdown) = &mut self.shutdown else { return };
        shutdown.over = true;
        let left: Vec<String> = shutdown
            .left
            .iter()
            .map(|(id, why)| {
                let name = self.environments.get(id).map_or(id.as_str(), |env| env.name.as_str());
                format!("{name} ({why})")
            })
            .collect();
        let answer = if left.is_empty() {
            Answer::Done
        } else {
            let message = format!("the host ended, but these could not be ended: {}", left.join(", "));
            Answer::Refused(Refusal::new(RefusalKind::Failed, message, "the next start of hermes-tui finds them again"))
        };
        for waiter in self.waiters.extract_if(.., |w| w.need == Need::Shutdown) {
            out.reply(waiter.reply, answer.clone());
        }
        out.send(Effect::Exit);
    }

    /// When the end of the host must go on although no backend answers.
    pub(super) fn shutdown_wakes_at(&self) -> Option<Moment> {
        self.shutdown.as_ref().filter(|shutdown| !shutdown.over).map(|shutdown| shutdown.since + PATIENCE)
    }
}

/// What the end of the host does to an environment; `None` = it is kept as it is.
fn deed_at_exit(env: &Environment) -> Option<Deed> {
    if env.origin != Origin::Managed {
        return None;
    }
    let moving = matches!(env.phase, Phase::Provisioning | Phase::Reaping);
    let exists = env.sandbox.is_some() || moving;
    let runs = env.phase == Phase::Ready || moving;
    match (env.spec.persistence, env.spec.backend) {
        (Persistence::Ephemeral, _) => exists.then_some(Deed::Remove),
        (Persistence::Persistent, BackendKind::Local) => runs.then_some(Deed::Stop),
        (Persistence::Persistent, BackendKind::Docker) | (Persistence::Unknown, _) => None,
    }
}

/// Whether a request is still taken while the host ends.
pub(super) fn is_welcome(request: &Request) -> bool {
    matches!(request, Request::Shutdown { .. } | Request::EndTurn { .. } | Request::TouchTurn(_))
}

/// The refusal while the host ends.
pub(super) fn ending() -> Refusal {
    Refusal::new(RefusalKind::Failed, "the host is shutting down", "run the command again: it starts a new host")
}
