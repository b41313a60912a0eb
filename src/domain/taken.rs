//! A person takes an environment over: agents' commands that come through us wait there until it is given back.

use super::books::Need;
use super::effect::{Notice, NoticeKind, Record};
use super::environment::{ActivityKind, Environment, Origin, Phase};
use super::id::{CallId, ConversationId, EnvId, ReplyTo};
use super::moment::{Moment, Span};
use super::naming;
use super::outbox::Outbox;
use super::request::{Answer, Refusal, RefusalKind};
use super::state::State;
use super::turn::TakenOver;
use super::turns::start_again;
use super::words;

/// How long an agent's command waits for the person; then it is refused, so that the agent hears why.
pub const PATIENCE: Span = Span::seconds(30);

impl State {
    pub(super) fn take_environment(&mut self, out: &mut Outbox, reply: ReplyTo, id: &EnvId) {
        if let Err(refusal) = self.check_takeable(id) {
            return out.refuse(reply, refusal);
        }
        let now = out.now;
        if self.environments.get(id).is_some_and(|env| env.taken.is_none())
            && let Some(env) = self.edit(out, id)
        {
            env.taken = Some(now);
            // What a person works in outlives the turn that it was made for.
            env.person_typed = true;
            env.note(ActivityKind::Person, "taken over", now);
            let text = format!("{} is taken over: its agents' commands wait", env.name);
            out.announce(Notice::new(NoticeKind::EnvTakenOver, text).env(id));
            self.record_taken(out, id);
        }
        out.reply(reply, Answer::Environment(id.clone()));
    }

    pub(super) fn give_environment_back(&mut self, out: &mut Outbox, reply: ReplyTo, id: &EnvId) {
        if !self.environments.contains_key(id) {
            return out.refuse(reply, naming::not_found(id.as_str()));
        }
        self.end_taken(out, id, "was given back");
        out.reply(reply, Answer::Environment(id.clone()));
    }

    /// With its sandbox goes what was taken over.
    pub(super) fn drop_taken(&mut self, out: &mut Outbox, id: &EnvId) {
        let over = |phase| matches!(phase, Phase::Absent | Phase::Stopped | Phase::Lost | Phase::Failed);
        if self.environments.get(id).is_some_and(|env| env.taken.is_some() && over(env.phase)) {
            let held: Vec<CallId> = self.waiting_calls(id);
            for call in held {
                let message = "a person had taken its environment over, and its sandbox has ended";
                let refusal = Refusal::new(RefusalKind::Failed, message, "look at what is there before you go on");
                self.refuse_waiting(out, id, &refusal, |need| *need == Need::Call(call.clone()));
            }
            self.end_taken(out, id, "is given back: it runs no more");
        }
    }

    fn end_taken(&mut self, out: &mut Outbox, id: &EnvId, how: &str) {
        let now = out.now;
        if self.environments.get(id).is_none_or(|env| env.taken.is_none()) {
            return;
        }
        let Some(env) = self.edit(out, id) else { return };
        env.taken = None;
        env.note(ActivityKind::Person, "given back", now);
        let text = format!("{} {how}", env.name);
        out.announce(Notice::new(NoticeKind::EnvGivenBack, text).env(id));
        for (owner, conversation) in &mut self.conversations {
            let here = |turn: &&mut super::turn::Turn| turn.env.as_ref() == Some(id);
            let open = conversation.turns.last_mut().filter(here).and_then(|turn| turn.taken_over.last_mut());
            if let Some(open) = open.filter(|one| one.until.is_none()) {
                open.until = Some(now);
                out.save(Record::Conversation(owner.clone()));
            }
        }
    }

    /// Writes into the turns that run there that it was taken over.
    fn record_taken(&mut self, out: &mut Outbox, id: &EnvId) {
        let runs = |owner: &&ConversationId| {
            let turn = self.conversations.get(owner).and_then(|one| one.open_turn());
            turn.is_some_and(|turn| turn.env.as_ref() == Some(id))
        };
        let owners: Vec<ConversationId> = self.conversations.keys().filter(runs).cloned().collect();
        for owner in owners {
            let Some(turn) = self.conversations.get_mut(&owner).and_then(|one| one.turns.last_mut()) else { continue };
            turn.taken_over.push(TakenOver { from: out.now, until: None });
            out.save(Record::Conversation(owner));
        }
    }

    fn check_takeable(&self, id: &EnvId) -> Result<(), Refusal> {
        let Some(env) = self.environments.get(id) else { return Err(naming::not_found(id.as_str())) };
        if env.origin != Origin::Managed {
            let message = format!("{} was not made by us: its agent runs commands there without asking us", env.name);
            return Err(Refusal::new(RefusalKind::Policy, message, "interrupt its agent, or work beside it"));
        }
        if env.phase != Phase::Ready {
            let message = format!("{} is {}: there is nothing to take over", env.name, words::phase(env.phase));
            return Err(Refusal::new(RefusalKind::Policy, message, start_again(env)));
        }
        Ok(())
    }

    /// Refuses what an agent does while a person has the environment.
    ///
    /// # Errors
    /// Since when a person has it.
    pub fn check_given(&self, now: Moment, id: &EnvId) -> Result<(), Refusal> {
        match self.environments.get(id).and_then(|env| Some((env, env.taken?))) {
            Some((env, since)) => Err(taken_refusal(env, now, since)),
            None => Ok(()),
        }
    }

    /// Whether a command waits because a person has taken its environment over: one of an agent's conversation does.
    #[must_use]
    pub fn waits_for_person(&self, id: &CallId) -> bool {
        self.is_held_back(id) && self.call_waits(id)
    }

    /// Whether a command that did not begin yet may not begin now.
    pub(super) fn is_held_back(&self, id: &CallId) -> bool {
        let Some(call) = self.calls.get(id).filter(|call| call.conversation.is_some() && call.ended.is_none()) else {
            return false;
        };
        let env = call.env.as_ref().and_then(|id| self.environments.get(id));
        env.is_some_and(|env| env.taken.is_some() && env.phase == Phase::Ready)
    }

    /// Commands that wait for the person, with the end of their patience.
    fn held_back(&self) -> impl Iterator<Item = (&CallId, Moment)> {
        self.waiters.iter().filter_map(|waiter| {
            let Need::Call(id) = &waiter.need else { return None };
            let (env, call) = (self.environments.get(waiter.env.as_ref()?)?, self.calls.get(id)?);
            let since = env.taken?.max(call.began);
            self.waits_for_person(id).then(|| (id, since + PATIENCE))
        })
    }

    /// Commands of agents that wait for this environment.
    fn waiting_calls(&self, id: &EnvId) -> Vec<CallId> {
        let waiting = self.waiters.iter().filter(|waiter| waiter.env.as_ref() == Some(id));
        let calls = waiting.filter_map(|waiter| if let Need::Call(call) = &waiter.need { Some(call) } else { None });
        let of_agent = |call: &&CallId| self.calls.get(*call).is_some_and(|call| call.conversation.is_some());
        calls.filter(of_agent).cloned().collect()
    }

    /// When the next of them has waited long enough.
    pub(super) fn held_back_until(&self) -> Option<Moment> {
        self.held_back().map(|(_, until)| until).min()
    }

    /// Those who have waited long enough hear why they were not served.
    pub(super) fn expire_held_back(&mut self, out: &mut Outbox) {
        let now = out.now;
        let over = self.held_back().filter(|(_, until)| *until <= now);
        let over: Vec<CallId> = over.map(|(id, _)| id.clone()).collect();
        for id in over {
            let env = self.calls.get(&id).and_then(|call| call.env.clone());
            let Some(env) = env else { continue };
            let Err(refusal) = self.check_given(now, &env) else { continue };
            self.refuse_waiting(out, &env, &refusal, |need| *need == Need::Call(id.clone()));
        }
    }
}

fn taken_refusal(env: &Environment, now: Moment, since: Moment) -> Refusal {
    let message = format!(
        "a person has taken {} over ({} ago) and works in it: nothing was run there",
        env.name,
        words::span(now.since(since))
    );
    let hint = "try again later; only the person gives it back";
    Refusal::new(RefusalKind::Policy, message, hint)
}
