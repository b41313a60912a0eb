//! Pane sessions: opening, ending, forgetting. Each belongs to one generation of a sandbox.

use super::begin::Begin;
use super::books::{Need, Waiter};
use super::effect::{Effect, Notice, NoticeKind, Record};
use super::environment::{ActivityKind, Environment, Phase};
use super::id::{ConversationId, EndpointId, EnvId, Generation, ReplyTo, SessionId};
use super::lease::LeaseKind;
use super::moment::Moment;
use super::outbox::Outbox;
use super::request::{Answer, Refusal, RefusalKind};
use super::session::{Session, SessionState, Size};
use super::state::State;
use super::turn::TurnStatus;

/// How many ended sessions are kept for their panes; the oldest are shed.
const MOST_ENDED: usize = 500;

impl Session {
    fn ended_at(&self) -> Option<Moment> {
        match self.state {
            SessionState::Ended { at, .. } => Some(at),
            _ => None,
        }
    }
}

impl State {
    pub(super) fn request_session(&mut self, out: &mut Outbox, reply: ReplyTo, mut session: Session) {
        let (id, env) = (session.id.clone(), session.env.clone());
        if self.sessions.contains_key(&id) {
            let message = format!("session {id} exists already");
            return out.refuse(reply, Refusal::new(RefusalKind::Usage, message, "open it with a fresh id"));
        }
        if let Err(refusal) = self.check_usable(&env) {
            return out.refuse(reply, refusal);
        }
        session.size = session.size.for_program();
        self.adopt_as_shell(&session);
        out.save(Record::Session(id.clone()));
        self.sessions.insert(id.clone(), session);
        self.queued.insert(id.clone());
        self.waiters.push(Waiter { reply, env: Some(env.clone()), need: Need::Session(id) });
        let now = out.now;
        if let Some(env) = self.edit(out, &env) {
            env.note(ActivityKind::Person, "opened a session", now);
        }
    }

    /// A shell that is opened for a conversation without one is the conversation's from then on.
    fn adopt_as_shell(&mut self, session: &Session) {
        if !session.program.is_empty() {
            return;
        }
        let owner = session.conversation.as_ref().and_then(|id| self.conversations.get(id));
        let Some(owner) = owner.filter(|c| c.env.as_ref() == Some(&session.env)) else { return };
        if self.live_session(owner.session.as_ref(), &session.env).is_none() {
            let id = owner.id.clone();
            if let Some(owner) = self.conversations.get_mut(&id) {
                owner.session = Some(session.id.clone());
            }
        }
    }

    /// The session, if it is open or being opened in the present generation of the environment.
    fn live_session(&self, id: Option<&SessionId>, env: &EnvId) -> Option<&Session> {
        let session = self.sessions.get(id?)?;
        let generation = self.environments.get(env)?.generation;
        let present = session.generation == generation || self.queued.contains(&session.id);
        (session.env == *env && present && !session.has_ended()).then_some(session)
    }

    /// Asks the backend for the PTY of a session that waited for its sandbox.
    pub(super) fn open_queued(&mut self, out: &mut Outbox, id: &SessionId) {
        if !self.queued.remove(id) {
            return;
        }
        let Some(session) = self.sessions.get_mut(id) else { return };
        let Some(env) = self.environments.get(&session.env) else { return };
        let Some(sandbox) = env.sandbox.clone() else { return };
        session.generation = env.generation;
        out.send(Effect::OpenSession {
            session: id.clone(),
            env: env.id.clone(),
            generation: env.generation,
            sandbox,
            program: session.program.clone(),
            begin: session.begin.clone(),
            size: session.size,
            resume: false,
        });
        out.save(Record::Session(id.clone()));
    }

    /// The conversation's running session in this generation; opened if there is none.
    ///
    /// # Errors
    /// The id for a new session is used up: its program ended or could not be opened.
    pub(super) fn shell_of(
        &mut self,
        out: &mut Outbox,
        conversation: &ConversationId,
        env: &EnvId,
        new_session: &SessionId,
    ) -> Result<Option<SessionId>, Refusal> {
        let known = self.conversations.get(conversation).and_then(|c| c.session.as_ref());
        if let Some(session) = self.live_session(known, env) {
            let (id, runs) = (session.id.clone(), session.state == SessionState::Running);
            self.open_queued(out, &id);
            return Ok(runs.then_some(id));
        }
        let generation = self.environments.get(env).map_or(Generation::default(), |env| env.generation);
        let used = |session: &Session| session.env != *env || session.generation >= generation || !session.has_ended();
        if self.sessions.get(new_session).is_some_and(used) {
            let message = format!("the shell of conversation {conversation} ended before it could be used");
            return Err(Refusal::new(RefusalKind::Failed, message, "begin the turn again"));
        }
        self.sessions.insert(
            new_session.clone(),
            Session {
                id: new_session.clone(),
                env: env.clone(),
                generation,
                conversation: Some(conversation.clone()),
                program: Vec::new(),
                begin: Begin::Usual,
                size: Size::default(),
                state: SessionState::Opening,
                began: out.now,
            },
        );
        if let Some(owner) = self.conversations.get_mut(conversation) {
            owner.session = Some(new_session.clone());
        }
        self.queued.insert(new_session.clone());
        self.open_queued(out, new_session);
        Ok(None)
    }

    pub(super) fn session_opened(&mut self, out: &mut Outbox, id: &SessionId, generation: Generation) {
        let Some(session) = self.sessions.get_mut(id).filter(|s| s.generation == generation) else {
            return;
        };
        if session.has_ended() {
            // It was closed while it was being opened; one of an earlier sandbox is over anyway.
            let env = session.env.clone();
            if self.is_at(&env, generation, Phase::Ready) {
                out.send(Effect::CloseSession(id.clone()));
            }
            return;
        }
        if session.state != SessionState::Opening || self.queued.contains(id) {
            return;
        }
        session.state = SessionState::Running;
        self.resuming.remove(id);
        out.save(Record::Session(id.clone()));
        let env = session.env.clone();
        let mut notice = Notice::new(NoticeKind::SessionOpened, "a session is open").env(&env).session(id);
        notice.conversation.clone_from(&session.conversation);
        out.announce(notice);
        self.answer_session(out, id, &Answer::Session(id.clone()));
        self.edit(out, &env);
    }

    pub(super) fn session_failed(&mut self, out: &mut Outbox, id: &SessionId, generation: Generation, message: &str) {
        let opening = |s: &Session| s.generation == generation && s.state == SessionState::Opening;
        if !self.sessions.get(id).is_some_and(opening) || self.queued.contains(id) {
            return;
        }
        let refusal = Refusal::new(RefusalKind::Failed, message, "`hermes-tui env show` says what is inside");
        let resumed = self.resuming.contains_key(id);
        self.finish_session(out, id, None, message);
        if resumed {
            // A turn that waits for it is given a fresh one.
            return;
        }
        let waits: Vec<ConversationId> = self
            .waiters
            .iter()
            .filter_map(|waiter| match &waiter.need {
                Need::Turn { conversation, .. } => Some(conversation.clone()),
                _ => None,
            })
            .filter(|c| self.conversations.get(c).is_some_and(|c| c.session.as_ref() == Some(id)))
            .collect();
        for conversation in waits {
            self.fail_turn(out, &conversation, &refusal);
        }
    }

    /// A turn that cannot be given its environment has failed: whoever began it is told why.
    pub(super) fn fail_turn(&mut self, out: &mut Outbox, conversation: &ConversationId, refusal: &Refusal) {
        if let Some(turn) = self.conversations.get(conversation).and_then(|c| c.open_turn()) {
            let turn = turn.id.clone();
            self.refuse_turn(out, &turn, refusal);
        }
        self.finish_turn(out, conversation, TurnStatus::Failed, &refusal.message);
    }

    pub(super) fn session_ended(&mut self, out: &mut Outbox, id: &SessionId, exit_code: Option<i32>) {
        if let Some(why) = self.being_ended(id) {
            // The signal that ended it was ours: its number would explain nothing.
            return self.finish_session(out, id, None, &why);
        }
        let why = match (exit_code, self.away(id)) {
            (Some(code), _) => format!("ended with exit code {code}"),
            (None, Some(endpoint)) => format!("cut off: {endpoint} does not answer"),
            (None, None) => "ended".to_owned(),
        };
        self.finish_session(out, id, exit_code, &why);
    }

    /// The endpoint of a session, if that does not answer.
    fn away(&self, id: &SessionId) -> Option<&EndpointId> {
        let env = self.environments.get(&self.sessions.get(id)?.env)?;
        self.down.contains_key(&env.spec.endpoint).then_some(&env.spec.endpoint)
    }

    /// Why the sandbox of a session is being ended now. A backend tells the end of a session before that of its sandbox.
    fn being_ended(&self, id: &SessionId) -> Option<String> {
        let session = self.sessions.get(id)?;
        let env = self.environments.get(&session.env)?;
        let teardown = env.books.teardown.as_ref()?;
        (env.phase == Phase::Reaping && env.generation == session.generation)
            .then(|| teardown.end.cause.sentence(teardown.end.deed, env.waited()))
    }

    /// Marks a session as ended, once.
    fn finish_session(&mut self, out: &mut Outbox, id: &SessionId, exit_code: Option<i32>, why: &str) {
        let Some(session) = self.sessions.get_mut(id).filter(|session| !session.has_ended()) else { return };
        session.state = SessionState::Ended { exit_code, at: out.now, why: why.to_owned() };
        out.save(Record::Session(id.clone()));
        self.queued.remove(id);
        self.resuming.remove(id);
        let mut notice = Notice::new(NoticeKind::SessionEnded, why).env(&session.env).session(id);
        notice.conversation.clone_from(&session.conversation);
        let env = session.env.clone();
        out.announce(notice);
        let refusal = Refusal::new(RefusalKind::Failed, why, "`hermes-tui env show` says what is inside");
        self.answer_session(out, id, &Answer::Refused(refusal));
        self.answer_session_end(out, id);
        self.edit(out, &env);
        self.shed_sessions(out);
    }

    /// The sessions of a sandbox are over with it; those that wait for the next one go on waiting.
    pub(super) fn end_sessions(&mut self, out: &mut Outbox, env: &EnvId, generation: Generation, why: &str) {
        let over: Vec<SessionId> = self
            .sessions
            .values()
            .filter(|s| s.env == *env && s.generation <= generation && !s.has_ended() && !self.queued.contains(&s.id))
            .map(|s| s.id.clone())
            .collect();
        for id in over {
            self.finish_session(out, &id, None, why);
        }
    }

    pub(super) fn kill_session(&mut self, out: &mut Outbox, reply: ReplyTo, id: &SessionId) {
        let Some(session) = self.sessions.get(id) else {
            let message = format!("there is no session {id}");
            let hint = "`hermes-tui session list` shows those that exist";
            return out.refuse(reply, Refusal::new(RefusalKind::NotFound, message, hint));
        };
        match session.state {
            SessionState::Ended { .. } => out.reply(reply, Answer::Done),
            SessionState::Running => {
                let env = Some(session.env.clone());
                self.waiters.push(Waiter { reply, env, need: Need::SessionEnd(id.clone()) });
                out.send(Effect::CloseSession(id.clone()));
            }
            SessionState::Opening => {
                let asked = !self.queued.contains(id);
                self.finish_session(out, id, None, "the session was closed before it was open");
                if asked {
                    out.send(Effect::CloseSession(id.clone()));
                }
                out.reply(reply, Answer::Done);
            }
        }
    }

    /// A session whose sandbox will not come is over.
    pub(super) fn close_unopened(&mut self, out: &mut Outbox, id: &SessionId, why: &str) {
        self.finish_session(out, id, None, why);
    }

    pub(super) fn forget_session(&mut self, out: &mut Outbox, id: &SessionId) {
        let Some(session) = self.sessions.get(id).filter(|session| session.has_ended()) else { return };
        let env = session.env.clone();
        self.sessions.remove(id);
        out.save(Record::Session(id.clone()));
        // One that is not ours and that is gone stayed listed for this pane.
        self.edit(out, &env);
    }

    pub(super) fn resize_session(&mut self, id: &SessionId, size: Size) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.size = size.for_program();
        }
    }

    /// A person acts in a pane: use, if the sandbox of that session still runs.
    pub(super) fn person_acted(&mut self, out: &mut Outbox, id: &SessionId, typed: bool) {
        let Some(session) = self.sessions.get(id).filter(|session| !session.has_ended()) else { return };
        let (env, generation) = (session.env.clone(), session.generation);
        let runs =
            |env: &Environment| env.generation == generation && matches!(env.phase, Phase::Ready | Phase::Reaping);
        if !self.environments.get(&env).is_some_and(runs) {
            return;
        }
        let now = out.now;
        let Some(env) = self.edit(out, &env) else { return };
        env.note(ActivityKind::Person, if typed { "typed in a pane" } else { "looked at a pane" }, now);
        let in_turn = env.leases.iter().any(|lease| matches!(lease.kind, LeaseKind::Turn(_)));
        env.person_typed |= typed && in_turn;
    }

    fn shed_sessions(&mut self, out: &mut Outbox) {
        let ended = self.sessions.values().filter(|session| session.has_ended()).count();
        if ended <= MOST_ENDED {
            return;
        }
        let oldest = self.sessions.values().filter_map(|s| Some((s.ended_at()?, &s.id))).min();
        if let Some((_, id)) = oldest {
            let id = id.clone();
            self.sessions.remove(&id);
            out.save(Record::Session(id));
        }
    }
}
