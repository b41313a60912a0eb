//! Conversations: their end, and what it means for the environments that served them.

use super::books::Cause;
use super::effect::{Notice, NoticeKind, Record};
use super::environment::{Environment, Phase, Scope};
use super::id::{ConversationId, EnvId, ReplyTo};
use super::idle::LINGER;
use super::moment::{Moment, Span};
use super::outbox::Outbox;
use super::request::{Answer, Refusal, RefusalKind};
use super::state::State;
use super::turn::{Conversation, TurnStatus};
use std::collections::BTreeMap;

/// A conversation without a turn for this long has ended.
const LONGEST_SILENCE: Span = Span::hours(24);

/// How many conversations are remembered; the oldest ended ones are shed.
const MOST_CONVERSATIONS: usize = 1000;

impl Conversation {
    /// A new one without turns.
    #[must_use]
    pub fn new(id: ConversationId, now: Moment) -> Self {
        Self {
            id,
            title: None,
            kind: None,
            env: None,
            rule: None,
            session: None,
            turns: Vec::new(),
            last_active: now,
            ended: None,
            agent: None,
        }
    }
}

impl State {
    pub(super) fn request_conversation_end(&mut self, out: &mut Outbox, reply: ReplyTo, id: &ConversationId) {
        let Some(conversation) = self.conversations.get(id) else {
            let message = format!("there is no conversation {id}");
            let hint = "`hermes-tui conversation list` shows those that are known";
            out.refuse(reply, Refusal::new(RefusalKind::NotFound, message, hint));
            return;
        };
        let over = conversation.ended.is_some();
        if let Err(refusal) = self.check_ours(id) {
            return out.refuse(reply, refusal);
        }
        if !over {
            self.end_conversation(out, id, "it was ended");
        }
        out.reply(reply, Answer::Done);
    }

    /// When a conversation ends by itself; `None` while a turn is open or once it has ended. Whoever works in what it
    /// left is not cut off by its silence: that waits until nobody did anything there for the idle time.
    pub(super) fn silent_at(&self, conversation: &Conversation) -> Option<Moment> {
        if conversation.agent.is_some() || conversation.ended.is_some() || conversation.open_turn().is_some() {
            return None;
        }
        let env = conversation.env.as_ref().and_then(|id| self.environments.get(id));
        let used_until = |env: &Environment| env.last_activity.at + env.idle_time().unwrap_or(LINGER);
        let used = env.filter(|env| env.phase == Phase::Ready).map_or_else(Moment::default, used_until);
        Some((conversation.last_active + LONGEST_SILENCE).max(used))
    }

    /// Ends those that have been silent for a day.
    pub(super) fn expire_conversations(&mut self, out: &mut Outbox) {
        let over = |c: &&Conversation| self.silent_at(c).is_some_and(|at| at <= out.now);
        let over: Vec<_> = self.conversations.values().filter(over).map(|c| c.id.clone()).collect();
        for id in over {
            self.end_conversation(out, &id, "24 h went by without a turn");
        }
    }

    fn end_conversation(&mut self, out: &mut Outbox, id: &ConversationId, why: &str) {
        self.finish_turn(out, id, TurnStatus::Interrupted, "its conversation ended");
        let Some(conversation) = self.conversations.get_mut(id) else { return };
        conversation.ended = Some(out.now);
        out.save(Record::Conversation(id.clone()));
        let text = format!("conversation {id} ended: {why}");
        out.announce(Notice::new(NoticeKind::ConversationEnded, text).conversation(id));
        let served: Vec<EnvId> =
            self.environments.values().filter(|env| self.served_last(env, id)).map(|env| env.id.clone()).collect();
        for env in served {
            self.end_by_retention(out, &env);
        }
        self.shed_conversations(out);
    }

    /// Whether the environment served this conversation and serves no other that goes on.
    fn served_last(&self, env: &Environment, id: &ConversationId) -> bool {
        let lives = |c: &ConversationId| self.conversations.get(c).is_some_and(|c| c.ended.is_none());
        env.conversations.contains(id) && !env.conversations.iter().any(lives)
    }

    /// Whether all that an ephemeral environment was made for is over: its turns by definition as soon as no lease is
    /// left, otherwise its conversations. One made by hand for no conversation has no scope that could end.
    pub(super) fn scope_is_over(&self, env: &Environment) -> bool {
        let over = |c: &ConversationId| self.conversations.get(c).is_none_or(|c| c.ended.is_some());
        env.is_ephemeral()
            && env.leases.is_empty()
            && !env.conversations.is_empty()
            && (env.spec.scope == Scope::Turn || env.conversations.iter().all(over))
    }

    fn end_by_retention(&mut self, out: &mut Outbox, id: &EnvId) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        let Some(deed) = env.conversation_deed() else { return };
        let busy = env.phase != Phase::Absent || env.is_ephemeral();
        if busy {
            env.end_with_scope(deed, Cause::ConversationEnded, now);
        }
    }

    fn shed_conversations(&mut self, out: &mut Outbox) {
        while self.conversations.len() > MOST_CONVERSATIONS {
            let ended = self.conversations.values().filter_map(|c| Some((c.ended?, &c.id)));
            let Some((_, oldest)) = ended.min() else { return };
            let oldest = oldest.clone();
            self.conversations.remove(&oldest);
            self.disown(out, &oldest);
            out.save(Record::Conversation(oldest));
        }
    }

    /// An environment that many share need not know of one that is forgotten. It knows of one at least: that it served
    /// any says that its scope can end.
    fn disown(&mut self, out: &mut Outbox, id: &ConversationId) {
        let served = self.environments.values().filter(|e| e.conversations.len() > 1 && e.conversations.contains(id));
        let served: Vec<EnvId> = served.map(|env| env.id.clone()).collect();
        for env in served {
            if let Some(env) = self.edit(out, &env) {
                env.conversations.remove(id);
            }
        }
    }

    /// The rules that chose an environment, each with the conversations for which it did.
    #[must_use]
    pub fn rules_of(&self, env: &EnvId) -> BTreeMap<&str, Vec<&ConversationId>> {
        let mut all: BTreeMap<&str, Vec<&ConversationId>> = BTreeMap::new();
        for conversation in self.conversations.values().filter(|c| c.env.as_ref() == Some(env)) {
            if let Some(rule) = &conversation.rule {
                all.entry(rule).or_default().push(&conversation.id);
            }
        }
        all
    }

    /// No conversation maps to an environment that is gone.
    pub(super) fn unmap(&mut self, out: &mut Outbox, env: &EnvId) {
        for conversation in self.conversations.values_mut().filter(|c| c.env.as_ref() == Some(env)) {
            conversation.env = None;
            conversation.rule = None;
            conversation.session = None;
            out.save(Record::Conversation(conversation.id.clone()));
        }
    }
}
