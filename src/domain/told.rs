//! Conversations of agents, as the agents' own records tell of them: shown with their turns and commands, and nothing
//! else. They hold no environment, end none and are ended by nobody here: their agent alone begins and ends them.
//!
//! The commands in such records are joined to those that were seen in the environment. What cannot be joined stays with
//! the environment and is never guessed.

use super::effect::{Notice, NoticeKind, Record};
use super::environment::{Environment, Origin};
use super::id::{CallId, ConversationId, EnvId, TurnId};
use super::moment::{Moment, Span};
use super::outbox::Outbox;
use super::request::{Refusal, RefusalKind};
use super::state::State;
use super::turn::{Call, CallSource, Conversation, Turn, TurnSource, TurnStatus};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A command is seen at most this long before or after its agent writes that it asked for it.
const BESIDE: Span = Span::seconds(3);
/// A turn that began this long ago is no news.
const NEWS: Span = Span::seconds(60);

/// A conversation as its agent's records tell of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Told {
    /// Its id there.
    pub conversation: ConversationId,
    /// Profile of the hermes-agent, as its containers are labelled.
    pub profile: String,
    /// Home of the hermes-agent.
    pub home: String,
    /// The task whose container serves it, as that is labelled.
    pub task: String,
    /// Title for people.
    pub title: Option<String>,
    /// Where it was begun: `cli`, `cron`, `telegram`, …
    pub kind: Option<String>,
    /// When it ended.
    pub ended: Option<Moment>,
    /// When something was last written in it.
    pub latest: Moment,
    /// Its turns, oldest first.
    pub turns: Vec<ToldTurn>,
}

/// A turn in such a record.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToldTurn {
    /// Its id, the same each time.
    pub id: TurnId,
    /// Counted from 1.
    pub number: u32,
    /// What was asked for.
    pub prompt: String,
    /// When it began.
    pub began: Moment,
    /// When it ended.
    pub ended: Option<Moment>,
    /// How it stands.
    pub status: TurnStatus,
    /// Its commands, in order.
    pub calls: Vec<ToldCall>,
}

/// A command in such a record.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToldCall {
    /// Its id there, unique within the conversation.
    pub id: String,
    /// The command as it is seen in the environment.
    pub command: String,
    /// When the agent asked for it.
    pub asked: Moment,
    /// When it was answered.
    pub answered: Option<Moment>,
    /// The exit code in the answer.
    pub exit_code: Option<i32>,
}

/// A command that an agent asked for and that was not seen yet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Asked {
    env: EnvId,
    turn: TurnId,
    call: ToldCall,
}

impl State {
    /// An agent's records tell of a conversation. One of the same id that was begun through us is better known.
    pub(super) fn told(&mut self, out: &mut Outbox, told: Told) {
        let ours = |conversation: &Conversation| conversation.agent.is_none();
        if self.conversations.get(&told.conversation).is_some_and(ours) {
            return;
        }
        let env = self.environments.values().find(|env| serves(env, &told)).map(|env| env.id.clone());
        self.unplaced.remove(&told.conversation);
        self.asked.remove(&told.conversation);
        let news = self.take_over(out, &told, env.as_ref());
        match &env {
            Some(env) => self.join_calls(out, &told, env),
            None => {
                self.tell_calls(out, &told);
                self.unplaced.insert(told.conversation.clone(), told);
            }
        }
        news.into_iter().for_each(|notice| out.announce(notice));
    }

    /// What was told before its container was listed finds its place.
    pub(super) fn place_told(&mut self, out: &mut Outbox, env: &EnvId) {
        let Some(env) = self.environments.get(env) else { return };
        let here: Vec<_> = self.unplaced.values().filter(|told| serves(env, told)).cloned().collect();
        here.into_iter().for_each(|told| self.told(out, told));
    }

    /// Takes over what it tells of the conversation and its turns. What of it is news.
    fn take_over(&mut self, out: &Outbox, told: &Told, env: Option<&EnvId>) -> Vec<Notice> {
        let (now, id) = (out.now, &told.conversation);
        let owner = self.conversations.entry(id.clone()).or_insert_with(|| Conversation::new(id.clone(), now));
        owner.agent = Some(told.profile.clone());
        owner.title.clone_from(&told.title);
        owner.kind.clone_from(&told.kind);
        owner.ended = told.ended;
        owner.last_active = told.latest;
        owner.env = env.cloned().or(owner.env.take());
        let before: BTreeMap<TurnId, Turn> =
            std::mem::take(&mut owner.turns).into_iter().map(|turn| (turn.id.clone(), turn)).collect();
        let mut news = Vec::new();
        for turn in &told.turns {
            let known = before.get(&turn.id);
            let begins = known.is_none() && turn.ended.is_none() && now <= turn.began + NEWS;
            let ends = known.is_some_and(|known| known.ended.is_none()) && turn.ended.is_some();
            let (kind, what) = if ends { (NoticeKind::TurnEnded, "ended") } else { (NoticeKind::TurnBegan, "began") };
            if begins || ends {
                let text = format!("turn {} of {id} {what}", turn.number);
                let notice = Notice::new(kind, text).conversation(id).turn(&turn.id);
                news.push(if let Some(env) = env { notice.env(env) } else { notice });
            }
            owner.turns.push(Turn {
                id: turn.id.clone(),
                number: turn.number,
                began: turn.began,
                ended: turn.ended,
                status: turn.status,
                prompt: Some(turn.prompt.clone()),
                source: TurnSource::Agent,
                lease_ttl: Span::ZERO,
                env: env.cloned().or_else(|| known.and_then(|known| known.env.clone())),
                taken_over: Vec::new(),
            });
        }
        news
    }

    /// Rows of a conversation's commands, by the commands' ids in its records.
    fn rows_of(&self, id: &ConversationId) -> BTreeMap<String, CallId> {
        let mine = self.calls.values().filter(|call| call.conversation.as_ref() == Some(id));
        mine.filter_map(|call| Some((call.asked_as.clone()?, call.id.clone()))).collect()
    }

    /// No sandbox listed here runs its commands: what the records tell of them is all there is.
    fn tell_calls(&mut self, out: &mut Outbox, told: &Told) {
        let id = &told.conversation;
        let known = self.rows_of(id);
        for turn in &told.turns {
            for call in &turn.calls {
                // One without an answer is over with its turn.
                let call = ToldCall { answered: call.answered.or(turn.ended), ..call.clone() };
                match known.get(&call.id) {
                    Some(row) => self.join_call(out, row, &call, id, &turn.id),
                    None => self.remember_told(out, &call, id, &turn.id, None),
                }
            }
        }
    }

    /// What was told of commands without a place is told anew with one: there they may have been seen.
    fn forget_placeless(&mut self, id: &ConversationId) {
        self.calls.retain(|_, call| call.env.is_some() || call.conversation.as_ref() != Some(id));
    }

    fn join_calls(&mut self, out: &mut Outbox, told: &Told, env: &EnvId) {
        let id = &told.conversation;
        self.forget_placeless(id);
        let known = self.rows_of(id);
        for turn in &told.turns {
            for call in &turn.calls {
                let row = known.get(&call.id).cloned().or_else(|| self.seen_as(call, env));
                match row {
                    Some(row) => self.join_call(out, &row, call, id, &turn.id),
                    // Nobody saw it, and it is over: it ran before we looked.
                    None if call.answered.is_some() => self.remember_told(out, call, id, &turn.id, Some(env)),
                    None => {
                        let asked = Asked { env: env.clone(), turn: turn.id.clone(), call: call.clone() };
                        self.asked.entry(id.clone()).or_default().push(asked);
                    }
                }
            }
        }
    }

    /// A command is seen. An agent may have asked for it a moment ago.
    pub(super) fn join_seen(&mut self, out: &mut Outbox, row: &CallId) {
        let Some(seen) = self.calls.get(row).filter(|call| call.conversation.is_none()) else { return };
        let fits = |one: &&Asked| seen.env.as_ref() == Some(&one.env) && fits(&one.call, seen);
        let mut all = self.asked.iter().flat_map(|(id, asked)| asked.iter().map(move |one| (id, one)));
        let Some((id, asked)) = all.find(|(_, one)| fits(one)).map(|(id, one)| (id.clone(), one.clone())) else {
            return;
        };
        if let Some(open) = self.asked.get_mut(&id) {
            open.retain(|one| one.call.id != asked.call.id);
        }
        self.join_call(out, row, &asked.call, &id, &asked.turn);
    }

    /// The command that was seen in the environment when this one was asked for, and belongs to nobody yet.
    fn seen_as(&self, told: &ToldCall, env: &EnvId) -> Option<CallId> {
        let free = |call: &&Call| call.conversation.is_none() && call.env.as_ref() == Some(env) && fits(told, call);
        self.calls.values().filter(free).min_by_key(|call| call.began).map(|call| call.id.clone())
    }

    fn join_call(&mut self, out: &mut Outbox, row: &CallId, told: &ToldCall, id: &ConversationId, turn: &TurnId) {
        let Some(call) = self.calls.get_mut(row) else { return };
        let before = call.clone();
        call.conversation = Some(id.clone());
        call.turn = Some(turn.clone());
        call.asked_as = Some(told.id.clone());
        call.count = 1;
        // The agent's word for how it ended: of one that took too long the engine tells of a signal.
        let placeless = call.env.is_none();
        if let (Some(answered), true) = (told.answered, told.exit_code.is_some() || placeless) {
            call.exit_code = told.exit_code;
            call.ended.get_or_insert(answered);
        }
        if *call != before && !placeless {
            out.save(Record::Call(row.clone()));
        }
    }

    fn remember_told(
        &mut self,
        out: &mut Outbox,
        told: &ToldCall,
        id: &ConversationId,
        turn: &TurnId,
        env: Option<&EnvId>,
    ) {
        let call = CallId::new(format!("{id}.{}", told.id));
        self.remember(
            out,
            Call {
                id: call,
                env: env.cloned(),
                conversation: Some(id.clone()),
                turn: Some(turn.clone()),
                command: told.command.clone(),
                cwd: None,
                began: told.asked,
                ended: told.answered,
                exit_code: told.exit_code,
                source: CallSource::Agent,
                count: 1,
                asked_as: Some(told.id.clone()),
            },
        );
    }

    /// Refuses what only an agent does with its own conversation.
    pub(super) fn check_ours(&self, id: &ConversationId) -> Result<(), Refusal> {
        let Some(profile) = self.conversations.get(id).and_then(|conversation| conversation.agent.as_ref()) else {
            return Ok(());
        };
        let message = format!(
            "conversation {id} is one of hermes-agent (profile {profile}), which alone begins and ends its turns"
        );
        Err(Refusal::new(RefusalKind::Policy, message, "use a conversation of another name"))
    }
}

/// Whether a command that was seen may be the one that was asked for.
fn fits(told: &ToldCall, seen: &Call) -> bool {
    seen.source == CallSource::Observed
        && seen.command == told.command
        && told.asked <= seen.began + BESIDE
        && told.answered.is_none_or(|answered| seen.began <= answered + BESIDE)
}

/// Whether the container of this environment is the one that a conversation's commands run in.
fn serves(env: &Environment, told: &Told) -> bool {
    env.origin == Origin::Hermes
        && env.watched.as_ref().is_some_and(|watched| {
            watched.profile.as_ref() == Some(&told.profile)
                && watched.task.as_ref() == Some(&told.task)
                && watched.home.as_ref().is_none_or(|home| *home == told.home)
        })
}
