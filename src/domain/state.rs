//! The whole of the core's memory, and the one way to change it.

use super::books::{Cause, Shutdown, Waiter};
use super::calls::CallRequest;
use super::choices::Choices;
use super::effect::{Deed, Effect};
use super::environment::{Environment, Origin, Phase, Scope};
use super::event::Event;
use super::id::{CallId, ConversationId, EndpointId, EnvId, ReplyTo, SessionId};
use super::idle::LINGER;
use super::moment::Moment;
use super::observed::Observed;
use super::orders::EndOrder;
use super::outbox::Outbox;
use super::reaper;
use super::request::{Answer, Refusal, Request};
use super::session::{Session, SessionState};
use super::shutdown;
use super::told::{Asked, Told};
use super::turn::{Call, Conversation};
use super::turns::TurnRequest;
use super::verdict::Verdict;
use super::watched::Consent;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Environments, sessions, conversations, commands, endpoints.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// Environments by id.
    pub environments: BTreeMap<EnvId, Environment>,
    /// Sessions by id.
    pub sessions: BTreeMap<SessionId, Session>,
    /// Conversations by id.
    pub conversations: BTreeMap<ConversationId, Conversation>,
    /// Commands by id; the oldest are shed.
    pub calls: BTreeMap<CallId, Call>,
    /// Endpoints that do not answer, and why.
    pub down: BTreeMap<EndpointId, String>,
    /// Endpoints that answer but whose list was not seen yet: nothing is decided there.
    #[serde(default)]
    pub unlisted: BTreeSet<EndpointId>,
    /// Endpoints whose list was seen since the host started.
    #[serde(default)]
    pub listed: BTreeSet<EndpointId>,
    /// Endpoints that count as down because one operation found them so, and until when.
    #[serde(default)]
    pub suspect: BTreeMap<EndpointId, Moment>,
    /// What the user consents to.
    #[serde(default)]
    pub consent: Consent,
    /// What a person chose about sandboxes that are not ours.
    #[serde(default)]
    pub choices: Choices,
    /// Commands of others that run, by the engine's id.
    #[serde(default)]
    pub observed: BTreeMap<CallId, Observed>,
    /// What agents' records tell of conversations whose container is not listed.
    #[serde(default)]
    pub unplaced: BTreeMap<ConversationId, Told>,
    /// Commands that agents asked for and that were not seen yet.
    #[serde(default)]
    pub asked: BTreeMap<ConversationId, Vec<Asked>>,
    /// Whoever waits for an answer.
    #[serde(default)]
    pub waiters: Vec<Waiter>,
    /// Sessions that wait for their sandbox.
    #[serde(default)]
    pub queued: BTreeSet<SessionId>,
    /// Sessions of an earlier host that are not open yet, and whether the backend was asked for them.
    #[serde(default)]
    pub resuming: BTreeMap<SessionId, bool>,
    /// The end of the host, once it was asked for.
    #[serde(default)]
    pub shutdown: Option<Shutdown>,
}

impl State {
    /// Takes in one event and says what is to be done. Total: no I/O, no failure; a refusal is a reply effect.
    ///
    /// First the event changes what it says; then every environment that it touched is settled: judged, torn down,
    /// provisioned, its waiters served, until nothing is left to do.
    pub fn apply(&mut self, now: Moment, event: Event) -> Vec<Effect> {
        let mut out = Outbox::new(now);
        self.take_in(&mut out, event);
        self.settle(&mut out);
        self.settle_shutdown(&mut out);
        self.settle(&mut out);
        self.close(out)
    }

    /// When [`Event::DeadlineReached`] must be sent next; `None` when nothing is due by time.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Moment> {
        if self.shutdown.is_some() {
            return self.shutdown_wakes_at();
        }
        let environments = self.environments.values().filter_map(|env| reaper::wakes_at(env, self.access(env)));
        let conversations = self.conversations.values().filter_map(|conversation| self.silent_at(conversation));
        let doubts = self.suspect.values().copied().chain(self.doubts_end()).chain(self.shown_wakes_at());
        let doubts = doubts.chain(self.held_back_until());
        environments.chain(conversations).chain(doubts).min()
    }

    /// The reaper's verdict on one environment: the very one it acts on.
    #[must_use]
    pub fn verdict(&self, now: Moment, env: &EnvId) -> Option<Verdict> {
        self.explain(now, env)
    }

    /// Finds an environment by name, `endpoint/name`, or id prefix.
    ///
    /// # Errors
    /// Not found, or ambiguous (with the matches listed).
    pub fn resolve(&self, text: &str) -> Result<EnvId, Refusal> {
        self.find(text)
    }

    fn take_in(&mut self, out: &mut Outbox, event: Event) {
        match event {
            Event::Requested { reply, request } => self.requested(out, reply, request),
            Event::ReplyAbandoned(reply) => self.abandon(reply),
            Event::PersonActed { session, typed } => self.person_acted(out, &session, typed),
            Event::SessionOpened { session, generation } => self.session_opened(out, &session, generation),
            Event::SessionFailed { session, generation, message } => {
                self.session_failed(out, &session, generation, &message);
            }
            Event::SessionEnded { session, exit_code } => self.session_ended(out, &session, exit_code),
            Event::SessionResized { session, size } => self.resize_session(&session, size),
            Event::SessionForgotten(session) => self.forget_session(out, &session),
            Event::CallEnded { call, exit_code, cwd } => self.call_ended(out, &call, Some(exit_code), cwd),
            Event::CallGivenUp(call) => self.give_call_up(out, &call),
            Event::Provisioned { env, generation, sandbox } => self.provisioned(out, &env, generation, sandbox),
            Event::ProvisionFailed { env, generation, kind, message, hint } => {
                self.provision_failed(out, &env, generation, kind, message, hint);
            }
            Event::EvidenceGathered { env, generation, evidence } => {
                self.evidence_gathered(out, &env, generation, evidence);
            }
            Event::TeardownDone { env, generation } => self.teardown_done(out, &env, generation),
            Event::TeardownFailed { env, generation, kind, message } => {
                self.teardown_failed(out, &env, generation, kind, message);
            }
            Event::SandboxEnded { sandbox, endpoint, removed, why } => {
                self.sandbox_ended(out, &sandbox, &endpoint, removed, &why);
            }
            Event::SandboxPaused { sandbox, endpoint, paused } => {
                self.sandbox_paused(out, &sandbox, &endpoint, paused);
            }
            Event::ExecBegan { sandbox, endpoint, exec, command, cwd } => {
                self.exec_began(out, (&sandbox, &endpoint), exec, command, cwd);
            }
            Event::ExecEnded { exec, exit_code, cwd } => self.exec_ended(out, &exec, exit_code, cwd),
            Event::AgentTold(told) => self.told(out, told),
            Event::ConsentGiven(consent) => self.consent_given(out, consent),
            Event::Snapshot { endpoint, found } => self.snapshot(out, &endpoint, found),
            Event::EndpointDown { endpoint, detail } => self.endpoint_down(out, &endpoint, detail),
            Event::EndpointUp(endpoint) => self.endpoint_up(out, &endpoint),
            Event::DeadlineReached => self.time_passed(out),
            Event::ClockJumped { by } => self.clock_jumped(out, by),
            Event::Restored { environments, conversations, sessions, calls, choices, saved_at: _ } => {
                self.restore_choices(choices);
                self.restore(out, environments, conversations, calls);
                self.restore_sessions(out, sessions);
            }
        }
    }

    fn requested(&mut self, out: &mut Outbox, reply: ReplyTo, request: Request) {
        if self.shutdown.is_some() && !shutdown::is_welcome(&request) {
            return out.refuse(reply, shutdown::ending());
        }
        match request {
            Request::NewEnvironment { id, name, spec } => self.new_environment(out, reply, id, name, &spec),
            Request::Start(env) => self.start(out, reply, &env),
            Request::Stop { env, force } => {
                self.order_end(out, reply, &env, EndOrder { deed: Deed::Stop, force, data: false });
            }
            Request::Remove { env, force, data } => {
                self.order_end(out, reply, &env, EndOrder { deed: Deed::Remove, force, data });
            }
            Request::EndOther { env, deed, force } => self.end_other(out, reply, &env, deed, force),
            Request::Adopt { endpoint, container } => self.adopt(out, reply, endpoint, container),
            Request::Forget(env) => self.forget_choice(out, reply, &env),
            Request::Pin(env) => self.pin(out, reply, &env, true),
            Request::Unpin(env) => self.pin(out, reply, &env, false),
            Request::TakeOver(env) => self.take_environment(out, reply, &env),
            Request::GiveBack(env) => self.give_environment_back(out, reply, &env),
            Request::Extend { env, by } => self.extend(out, reply, &env, by),
            Request::Rename { env, name } => self.rename(out, reply, &env, name),
            Request::BeginTurn { turn, conversation, title, kind, prompt, target, new_env, new_session, lease_ttl } => {
                let request =
                    TurnRequest { turn, conversation, title, kind, prompt, target, new_env, new_session, lease_ttl };
                self.begin_turn(out, reply, request);
            }
            Request::TouchTurn(conversation) => self.touch_turn(out, reply, &conversation),
            Request::EndTurn { conversation, status } => self.end_turn(out, reply, &conversation, status),
            Request::EndConversation(conversation) => self.request_conversation_end(out, reply, &conversation),
            Request::BeginCall { call, env, conversation, command, cwd, source } => {
                self.begin_call(out, reply, CallRequest { call, env, conversation, command, cwd, source });
            }
            Request::OpenSession { session, env, conversation, program, begin, size } => {
                let generation = self.environments.get(&env).map_or_else(Default::default, |env| env.generation);
                let (state, began) = (SessionState::Opening, out.now);
                let session =
                    Session { id: session, env, generation, conversation, program, begin, size, state, began };
                self.request_session(out, reply, session);
            }
            Request::KillSession(session) => self.kill_session(out, reply, &session),
            Request::Reap => {
                self.time_passed(out);
                out.reply(reply, Answer::Done);
            }
            Request::Shutdown { keep } => self.begin_shutdown(out, reply, keep),
        }
    }

    /// Whatever is due by time alone.
    fn time_passed(&mut self, out: &mut Outbox) {
        if self.shutdown.is_some() {
            return;
        }
        self.expire_suspicions(out);
        self.expire_doubts(out);
        self.expire_shown(out);
        self.expire_held_back(out);
        self.expire_leases(out);
        self.expire_conversations(out);
        self.retry_failed(out);
        self.settle(out);
        self.act_on_all(out);
    }

    /// What it asked for goes on; nobody is answered.
    fn abandon(&mut self, reply: ReplyTo) {
        for waiter in self.waiters.iter_mut().filter(|waiter| waiter.reply == reply) {
            waiter.reply = ReplyTo::NOBODY;
        }
    }

    fn settle(&mut self, out: &mut Outbox) {
        while let Some(id) = out.next_unsettled() {
            // Each round takes one step of a life cycle; more than a handful would be a circle.
            for _ in 0..16 {
                self.rearm(out, &id);
                self.drop_taken(out, &id);
                self.end_if_scope_is_over(out, &id);
                let done = self.act(out, &id) || self.conclude(out, &id) || self.serve(out, &id);
                if !done {
                    break;
                }
            }
            self.rearm(out, &id);
        }
    }

    /// An ephemeral environment never outlives its last holder, whoever that was; one that is stopped has no idle
    /// deadline and is removed after its idle time.
    fn end_if_scope_is_over(&mut self, out: &mut Outbox, id: &EnvId) {
        let Some(env) = self.environments.get(id).filter(|env| env.books.end.is_none()) else { return };
        let now = out.now;
        let removed = env.is_ephemeral() && env.origin == Origin::Managed;
        let (at, cause) = match env.phase {
            // One of others goes where the user consented to its removal.
            Phase::Stopped if env.origin != Origin::Managed => match (env.idle_deed(), env.idle_time()) {
                (Some(Deed::Remove), Some(idle)) => (env.phase_since + idle, env.end_of_stopped()),
                _ => return,
            },
            _ if !removed => return,
            Phase::Stopped => (env.phase_since + env.idle_time().unwrap_or(LINGER), Cause::Orphaned),
            Phase::Ready | Phase::Lost if !env.books.lingers && self.scope_is_over(env) => {
                (now, if env.spec.scope == Scope::Turn { Cause::TurnEnded } else { Cause::ConversationEnded })
            }
            _ => return,
        };
        if let Some(env) = self.edit(out, id) {
            env.end_with_scope(Deed::Remove, cause, at);
        }
    }

    fn rearm(&mut self, out: &mut Outbox, id: &EnvId) {
        let now = out.now;
        let Some(env) = self.environments.get_mut(id) else { return };
        if env.rearm(now) {
            let text = format!("{} is in use again: {}", env.name, env.last_activity.detail);
            out.announce(super::Notice::new(super::NoticeKind::EnvDeferred, text).env(id));
        }
    }
}
