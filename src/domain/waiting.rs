//! Those who wait: served when their environment is ready, told why when it will not be.

use super::books::{Need, Waiter};
use super::environment::{ActivityKind, Environment, Origin, Phase};
use super::id::{CallId, ConversationId, EnvId, SessionId, TurnId};
use super::outbox::Outbox;
use super::reaper::Access;
use super::request::{Answer, Refusal, RefusalKind};
use super::state::State;
use super::teardown::CUT_OFF;
use super::turns::start_again;

impl State {
    /// Makes, starts or uses the environment for whoever waits for it. True when something was done.
    pub(super) fn serve(&mut self, out: &mut Outbox, id: &EnvId) -> bool {
        let Some(env) = self.environments.get(id) else { return false };
        if !self.waiters.iter().any(|w| w.env.as_ref() == Some(id) && w.need.wants_ready()) {
            return false;
        }
        match (self.access(env), env.phase) {
            (_, Phase::Provisioning | Phase::Reaping) | (Access::Unlisted, _) => false,
            (Access::Down, _) => {
                let refusal = self.check_endpoint(&env.spec).err();
                refusal.is_some_and(|refusal| self.refuse_waiting(out, id, &refusal, Need::wants_ready))
            }
            (Access::Open, Phase::Ready) => self.serve_ready(out, id),
            (Access::Open, Phase::Absent | Phase::Stopped | Phase::Lost | Phase::Failed) => self.serve_at_rest(out, id),
        }
    }

    fn serve_at_rest(&mut self, out: &mut Outbox, id: &EnvId) -> bool {
        let Some(env) = self.environments.get(id) else { return false };
        if env.origin == Origin::Managed {
            return self.provision(out, id);
        }
        let message = format!("{} does not run, and was not made by us", env.name);
        let refusal = Refusal::new(RefusalKind::Policy, message, start_again(env));
        self.refuse_waiting(out, id, &refusal, Need::wants_ready)
    }

    fn serve_ready(&mut self, out: &mut Outbox, id: &EnvId) -> bool {
        let mine: Vec<Waiter> =
            self.waiters.extract_if(.., |w| w.env.as_ref() == Some(id) && w.need.wants_ready()).collect();
        let before = mine.len();
        let mut failed: Vec<(ConversationId, Refusal)> = Vec::new();
        let mut left: Vec<Waiter> = Vec::new();
        for waiter in mine {
            match self.serve_one(out, id, &waiter) {
                Ok(true) => {}
                Ok(false) => left.push(waiter),
                Err((conversation, refusal)) => {
                    left.push(waiter);
                    failed.push((conversation, refusal));
                }
            }
        }
        let served = left.len() < before || !failed.is_empty();
        self.waiters.extend(left);
        for (conversation, refusal) in failed {
            self.fail_turn(out, &conversation, &refusal);
        }
        served
    }

    /// True when the waiter has its answer.
    fn serve_one(&mut self, out: &mut Outbox, id: &EnvId, waiter: &Waiter) -> Result<bool, (ConversationId, Refusal)> {
        match &waiter.need {
            Need::Ready => {
                let now = out.now;
                if let Some(env) = self.edit(out, id) {
                    env.note(ActivityKind::Started, "asked for", now);
                }
                out.reply(waiter.reply, Answer::Environment(id.clone()));
            }
            Need::Call(call) if self.is_held_back(call) => return Ok(false),
            Need::Call(call) => self.run_call(out, waiter.reply, call),
            Need::Session(session) => {
                self.open_queued(out, session);
                return Ok(false);
            }
            Need::Turn { turn, conversation, new_session } => {
                let shell = self.shell_of(out, conversation, id, new_session);
                let Some(session) = shell.map_err(|refusal| (conversation.clone(), refusal))? else { return Ok(false) };
                self.answer_turn(out, waiter, turn, conversation, session);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn answer_turn(
        &mut self,
        out: &mut Outbox,
        waiter: &Waiter,
        turn: &TurnId,
        conversation: &ConversationId,
        session: SessionId,
    ) {
        // Its life starts anew: making the sandbox may have taken a good part of it.
        self.renew_turn(out, conversation);
        let number = self.conversations.get(conversation).and_then(|c| c.open_turn()).map_or(0, |turn| turn.number);
        let Some(env) = waiter.env.as_ref().and_then(|id| self.environments.get(id)) else { return };
        let Environment { id, generation, sandbox: Some(sandbox), .. } = env else { return };
        out.reply(
            waiter.reply,
            Answer::Turn {
                turn: turn.clone(),
                number,
                conversation: conversation.clone(),
                env: id.clone(),
                session,
                sandbox: sandbox.clone(),
                generation: *generation,
            },
        );
    }

    /// Answers those who wait on an environment for what `what` picks. True when there were any.
    pub(super) fn answer_waiting(
        &mut self,
        out: &mut Outbox,
        id: &EnvId,
        what: impl Fn(&Need) -> bool,
        answer: Answer,
    ) -> bool {
        let mine: Vec<Waiter> = self.waiters.extract_if(.., |w| w.env.as_ref() == Some(id) && what(&w.need)).collect();
        for waiter in &mine {
            out.reply(waiter.reply, answer.clone());
        }
        !mine.is_empty()
    }

    /// Tells those who wait on an environment for what `what` picks that it will not be: their turns have failed, their
    /// commands and sessions are over. True when there were any.
    pub(super) fn refuse_waiting(
        &mut self,
        out: &mut Outbox,
        id: &EnvId,
        refusal: &Refusal,
        what: impl Fn(&Need) -> bool,
    ) -> bool {
        let mine: Vec<Waiter> = self.waiters.extract_if(.., |w| w.env.as_ref() == Some(id) && what(&w.need)).collect();
        for waiter in &mine {
            out.refuse(waiter.reply, refusal.clone());
            match &waiter.need {
                Need::Turn { conversation, .. } => self.fail_turn(out, conversation, refusal),
                Need::Call(call) => self.call_ended(out, call, Some(CUT_OFF), None),
                Need::Session(session) => self.close_unopened(out, session, &refusal.message),
                _ => {}
            }
        }
        !mine.is_empty()
    }

    /// Takes out the one who waits for this turn.
    pub(super) fn refuse_turn(&mut self, out: &mut Outbox, turn: &TurnId, refusal: &Refusal) {
        let waits = |need: &Need| matches!(need, Need::Turn { turn: of, .. } if of == turn);
        for waiter in self.waiters.extract_if(.., |w| waits(&w.need)) {
            out.refuse(waiter.reply, refusal.clone());
        }
    }

    /// Answers those who wait for this session to open.
    pub(super) fn answer_session(&mut self, out: &mut Outbox, id: &SessionId, answer: &Answer) {
        for waiter in self.waiters.extract_if(.., |w| w.need == Need::Session(id.clone())) {
            out.reply(waiter.reply, answer.clone());
        }
    }

    /// Answers those who wait for this session to end.
    pub(super) fn answer_session_end(&mut self, out: &mut Outbox, id: &SessionId) {
        for waiter in self.waiters.extract_if(.., |w| w.need == Need::SessionEnd(id.clone())) {
            out.reply(waiter.reply, Answer::Done);
        }
    }

    /// Whether somebody waits for this command to be run.
    pub(super) fn call_waits(&self, id: &CallId) -> bool {
        self.waiters.iter().any(|waiter| waiter.need == Need::Call(id.clone()))
    }
}
