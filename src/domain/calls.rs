//! Commands in environments: each is a lease while it runs, and use at its start and its end.

use super::books::{Need, Waiter};
use super::effect::{Effect, Notice, NoticeKind, Record};
use super::environment::{ActivityKind, Phase};
use super::id::{CallId, ConversationId, EnvId, ReplyTo};
use super::lease::LeaseKind;
use super::moment::Moment;
use super::outbox::Outbox;
use super::request::{Answer, Refusal, RefusalKind};
use super::state::State;
use super::teardown::CUT_OFF;
use super::turn::{Call, CallSource};
use super::words;

/// How many commands are remembered in all.
const MOST_CALLS: usize = 5000;

/// How many commands are remembered of one conversation.
const MOST_CALLS_OF_ONE: usize = 2000;

/// The request to run a command, in one piece.
pub(super) struct CallRequest {
    pub call: CallId,
    pub env: Option<EnvId>,
    pub conversation: Option<ConversationId>,
    pub command: String,
    pub cwd: Option<String>,
    pub source: CallSource,
}

impl State {
    pub(super) fn begin_call(&mut self, out: &mut Outbox, reply: ReplyTo, request: CallRequest) {
        let env = match self.place_of_call(&request) {
            Ok(env) => env,
            Err(refusal) => return out.refuse(reply, refusal),
        };
        let now = out.now;
        let observed = request.source == CallSource::Observed;
        let turn = self.turn_of_call(request.conversation.as_ref(), &env);
        let command = words::excerpt(&request.command, 80);
        if let Some(env) = self.edit(out, &env) {
            let kind = if observed { ActivityKind::Exec } else { ActivityKind::Command };
            env.note(kind, format!("{command} began"), now);
            env.hold(LeaseKind::Call(request.call.clone()), command.clone(), now, None);
        }
        if let Some(conversation) = &request.conversation {
            self.heard_of(out, conversation);
        }
        let mut notice = Notice::new(NoticeKind::CallBegan, command).env(&env).call(&request.call);
        notice.conversation.clone_from(&request.conversation);
        notice.turn.clone_from(&turn);
        out.announce(notice);
        let id = request.call.clone();
        self.remember(
            out,
            Call {
                id: request.call,
                env: Some(env.clone()),
                conversation: request.conversation,
                turn,
                command: request.command,
                cwd: request.cwd,
                began: now,
                ended: None,
                exit_code: None,
                source: request.source,
                count: 1,
                asked_as: None,
            },
        );
        if observed {
            out.reply(reply, Answer::CallStarted(id));
        } else {
            self.waiters.push(Waiter { reply, env: Some(env), need: Need::Call(id) });
        }
    }

    fn place_of_call(&self, request: &CallRequest) -> Result<EnvId, Refusal> {
        if self.calls.contains_key(&request.call) {
            let message = format!("command {} has already begun", request.call);
            return Err(Refusal::new(RefusalKind::Usage, message, "run it with a fresh id"));
        }
        let conversation = match &request.conversation {
            Some(id) => Some(self.conversations.get(id).ok_or_else(|| unknown_conversation(id))?),
            None => None,
        };
        let env = match (&request.env, conversation) {
            (Some(env), _) => env.clone(),
            (None, Some(conversation)) => conversation.env.clone().ok_or_else(|| homeless(&conversation.id))?,
            (None, None) => {
                let hint = "name an environment, or a conversation with --conversation";
                return Err(Refusal::new(RefusalKind::Usage, "the command was given no place to run in", hint));
            }
        };
        self.check_usable(&env)?;
        let running = self.environments.get(&env).is_some_and(|env| env.phase == Phase::Ready);
        if request.source == CallSource::Observed && !running {
            return Err(Refusal::new(RefusalKind::Failed, "nothing runs there that could be observed", ""));
        }
        Ok(env)
    }

    /// The open turn of the conversation, if it runs in this environment.
    fn turn_of_call(&self, conversation: Option<&ConversationId>, env: &EnvId) -> Option<super::id::TurnId> {
        // What a person runs beside an agent is no part of its turn.
        let owner = self.conversations.get(conversation?).filter(|owner| owner.agent.is_none())?;
        let turn = owner.open_turn()?;
        (turn.env.as_ref() == Some(env)).then(|| turn.id.clone())
    }

    /// A command keeps the turn's lease alive, and the conversation awake.
    fn heard_of(&mut self, out: &mut Outbox, id: &ConversationId) {
        self.renew_turn(out, id);
        let Some(conversation) = self.conversations.get_mut(id) else { return };
        conversation.last_active = out.now;
        out.save(Record::Conversation(id.clone()));
    }

    /// The environment is ready for a command that waited. False if the command is over meanwhile.
    pub(super) fn run_call(&mut self, out: &mut Outbox, reply: ReplyTo, id: &CallId) {
        let Some(call) = self.calls.get(id).filter(|call| call.ended.is_none()) else {
            let refusal =
                Refusal::new(RefusalKind::Failed, "the command was cut off before it could run", "run it again");
            return out.refuse(reply, refusal);
        };
        let Some(env) = call.env.as_ref().and_then(|id| self.environments.get(id)) else { return };
        let Some(sandbox) = env.sandbox.clone() else { return };
        out.send(Effect::RunCall { call: id.clone(), env: env.id.clone(), sandbox });
        out.reply(reply, Answer::CallStarted(id.clone()));
    }

    pub(super) fn call_ended(&mut self, out: &mut Outbox, id: &CallId, exit_code: Option<i32>, cwd: Option<String>) {
        let now = out.now;
        let Some(call) = self.calls.get_mut(id).filter(|call| call.ended.is_none()) else { return };
        let Some(env) = call.env.clone() else { return };
        call.ended = Some(now);
        call.exit_code = exit_code;
        call.cwd = call.cwd.take().or(cwd);
        let (conversation, source) = (call.conversation.clone(), call.source);
        let command = words::excerpt(&call.command, 80);
        let with = exit_code.map(|code| format!(" with {code}")).unwrap_or_default();
        let mut notice = Notice::new(NoticeKind::CallEnded, format!("{command} ended{with}"));
        notice.conversation.clone_from(&conversation);
        notice.turn.clone_from(&call.turn);
        out.announce(notice.env(&env).call(id));
        out.save(Record::Call(id.clone()));
        if let Some(env) = self.edit(out, &env)
            && env.release(&LeaseKind::Call(id.clone()), now)
        {
            let kind = if source == CallSource::Observed { ActivityKind::Exec } else { ActivityKind::Command };
            env.note(kind, format!("{command} ended"), now);
        }
        if let Some(conversation) = conversation {
            self.heard_of(out, &conversation);
        }
    }

    /// A command that still waits for its environment, or for the person who has it, is not run any more.
    pub(super) fn give_call_up(&mut self, out: &mut Outbox, id: &CallId) {
        let Some(env) = self.calls.get(id).filter(|_| self.call_waits(id)).and_then(|call| call.env.clone()) else {
            return;
        };
        let refusal = Refusal::new(RefusalKind::Failed, "nobody waits for the command any more", "run it again");
        self.refuse_waiting(out, &env, &refusal, |need| *need == Need::Call(id.clone()));
    }

    /// Commands that ran in a sandbox are over with it. Those that still wait for one go on waiting.
    pub(super) fn cut_off_calls(&mut self, out: &mut Outbox, env: &EnvId) {
        let Some(running) = self.environments.get(env) else { return };
        let running: Vec<CallId> = running.calls_in_flight().filter(|id| !self.call_waits(id)).cloned().collect();
        for id in running {
            self.call_ended(out, &id, Some(CUT_OFF), None);
        }
        self.cut_off_execs(out, env);
    }

    pub(super) fn remember(&mut self, out: &mut Outbox, call: Call) {
        // What only an agent's records tell of is told again by them.
        if call.env.is_some() {
            out.save(Record::Call(call.id.clone()));
        }
        let conversation = call.conversation.clone();
        self.calls.insert(call.id.clone(), call);
        if self.calls.len() > MOST_CALLS {
            self.shed_call(out, |_| true);
        }
        if let Some(id) = conversation {
            let count = self.calls.values().filter(|call| call.conversation.as_ref() == Some(&id)).count();
            if count > MOST_CALLS_OF_ONE {
                self.shed_call(out, |call| call.conversation.as_ref() == Some(&id));
            }
        }
    }

    fn shed_call(&mut self, out: &mut Outbox, condition: impl Fn(&Call) -> bool) {
        let ended = |call: &&Call| call.ended.is_some() && condition(call);
        let oldest: Option<(Moment, CallId)> =
            self.calls.values().filter(ended).map(|call| (call.began, &call.id)).min().map(|(at, id)| (at, id.clone()));
        if let Some((_, id)) = oldest {
            self.calls.remove(&id);
            out.save(Record::Call(id));
        }
    }
}

fn unknown_conversation(id: &ConversationId) -> Refusal {
    Refusal::new(RefusalKind::NotFound, format!("there is no conversation {id}"), begin_first(id))
}

fn homeless(id: &ConversationId) -> Refusal {
    Refusal::new(RefusalKind::NotFound, format!("conversation {id} has no environment"), begin_first(id))
}

fn begin_first(id: &ConversationId) -> String {
    let id = words::quoted(id.as_str());
    format!("begin a turn of it first with `hermes-tui turn begin --conversation {id}`, or name an environment")
}
