//! Turns: beginning and ending them, and the environment that they run in.

use super::books::{Cause, Need, Waiter};
use super::effect::{Deed, Notice, NoticeKind, Record};
use super::environment::{ActivityKind, EnvSpec, Environment, Origin, Persistence, Phase, Scope};
use super::id::{ConversationId, EnvId, ReplyTo, SessionId, TurnId};
use super::lease::LeaseKind;
use super::moment::Span;
use super::naming;
use super::outbox::Outbox;
use super::request::{Answer, Common, Refusal, RefusalKind, Ruled, TurnTarget};
use super::state::State;
use super::turn::{Conversation, TakenOver, Turn, TurnSource, TurnStatus};
use super::words;

/// The life of a turn's lease where none is given.
const DEFAULT_LEASE: Span = Span::seconds(3600);

/// How many turns of one conversation are remembered; the oldest are shed.
const MOST_TURNS: usize = 1000;

/// The request to begin a turn, in one piece.
pub(super) struct TurnRequest {
    pub turn: TurnId,
    pub conversation: ConversationId,
    pub title: Option<String>,
    pub kind: Option<String>,
    pub prompt: Option<String>,
    pub target: TurnTarget,
    pub new_env: EnvId,
    pub new_session: SessionId,
    pub lease_ttl: Span,
}

impl TurnTarget {
    /// What shall be made if there is none, and which fields of it were asked for explicitly; or else which one was named.
    fn wanted(&self) -> Result<(&EnvSpec, &[String]), &str> {
        match self {
            Self::Named(text) => Err(text),
            Self::Spec { spec, explicit } => Ok((spec, explicit)),
            Self::Ruled(ruled) => Ok((&ruled.spec, &ruled.explicit)),
        }
    }

    fn ruled(&self) -> Option<&Ruled> {
        match self {
            Self::Ruled(ruled) => Some(ruled),
            Self::Named(_) | Self::Spec { .. } => None,
        }
    }

    /// The environment that all conversations of the rule have.
    fn common(&self) -> Option<&Common> {
        self.ruled()?.common.as_ref()
    }

    /// The rule that it goes by.
    fn rule(&self) -> Option<&str> {
        self.ruled().map(|ruled| ruled.rule.as_str())
    }
}

impl Conversation {
    /// The turn that has not ended.
    #[must_use]
    pub fn open_turn(&self) -> Option<&Turn> {
        self.turns.last().filter(|turn| turn.ended.is_none())
    }
}

impl State {
    pub(super) fn begin_turn(&mut self, out: &mut Outbox, reply: ReplyTo, request: TurnRequest) {
        if let Err(refusal) = self.check_turn(&request) {
            out.refuse(reply, refusal);
            return;
        }
        let conversation = request.conversation.clone();
        if self.interrupt_turn(out, &conversation) {
            self.clear_the_way(out, &conversation);
        }
        self.reopen(out, &conversation);
        let env = self.place(out, &request);
        let detail = self.open_turn(out, &request, &env);
        self.join(out, &request, &env, detail);
        let TurnRequest { turn, new_session, .. } = request;
        self.waiters.push(Waiter { reply, env: Some(env), need: Need::Turn { turn, conversation, new_session } });
    }

    /// All that can be refused, before anything is changed.
    fn check_turn(&self, request: &TurnRequest) -> Result<(), Refusal> {
        if request.conversation.as_str().trim().is_empty() {
            let hint = "pass --conversation with the agent's own id of the conversation";
            return Err(Refusal::new(RefusalKind::Usage, "a turn needs a conversation, and none was named", hint));
        }
        self.check_ours(&request.conversation)?;
        let known = self.conversations.get(&request.conversation);
        if known.is_some_and(|c| c.turns.iter().any(|turn| turn.id == request.turn)) {
            let message = format!("turn {} has already begun", request.turn);
            return Err(Refusal::new(RefusalKind::Usage, message, "begin a turn with a fresh id"));
        }
        let (spec, explicit) = match request.target.wanted() {
            Ok(wanted) => wanted,
            Err(text) => return self.check_usable(&self.find(text)?),
        };
        check_spec(spec)?;
        match self.own_environment(&request.conversation, spec, request.target.common())? {
            Some(env) if serves_one_turn(env) => self.check_endpoint(&env.spec),
            Some(env) => {
                check_conflicts(env, spec, explicit)?;
                self.check_usable(&env.id)
            }
            None if self.environments.contains_key(&request.new_env) => {
                let message = format!("an environment {} exists already", request.new_env);
                Err(Refusal::new(RefusalKind::Usage, message, "begin the turn with a fresh id"))
            }
            None => self.check_endpoint(spec),
        }
    }

    /// Refuses an environment that cannot be used now.
    pub(super) fn check_usable(&self, id: &EnvId) -> Result<(), Refusal> {
        let Some(env) = self.environments.get(id) else { return Err(naming::not_found(id.as_str())) };
        self.check_endpoint(&env.spec)?;
        if env.origin != Origin::Managed && env.phase != Phase::Ready {
            let message = format!("{} was not made by us and is {}", env.name, words::phase(env.phase));
            return Err(Refusal::new(RefusalKind::Policy, message, start_again(env)));
        }
        if env.paused {
            let message = format!("{} was paused by somebody else: nothing can begin in it until it goes on", env.name);
            return Err(Refusal::new(RefusalKind::Policy, message, "let it go on with the tool that paused it"));
        }
        Ok(())
    }

    /// Refuses what needs an endpoint that does not answer.
    pub(super) fn check_endpoint(&self, spec: &EnvSpec) -> Result<(), Refusal> {
        let Some(why) = self.down.get(&spec.endpoint) else { return Ok(()) };
        let message = format!("{} does not answer: {why}", spec.endpoint);
        Err(Refusal::new(RefusalKind::Unreachable, message, "`hermes-tui doctor` says what was tried"))
    }

    /// The environment of a conversation: its own; else the one that all of its rule have; else for scope `shared` one
    /// that others share.
    fn own_environment(
        &self,
        conversation: &ConversationId,
        spec: &EnvSpec,
        common: Option<&Common>,
    ) -> Result<Option<&Environment>, Refusal> {
        let mapped = self.conversations.get(conversation).and_then(|c| c.env.as_ref());
        if let Some(env) = mapped.and_then(|id| self.environments.get(id)) {
            return Ok(Some(env));
        }
        if let Some(common) = common {
            let found = self.named(&common.name, &spec.endpoint, common.anywhere)?;
            return found
                .map_or(Ok(None), |env| if serves_one_turn(env) { Err(of_one_turn(env)) } else { Ok(Some(env)) });
        }
        let shared = |env: &&Environment| {
            spec.scope == Scope::Shared
                && env.spec.scope == Scope::Shared
                && !env.books.by_name
                && env.origin == Origin::Managed
                && (env.spec.backend, &env.spec.endpoint) == (spec.backend, &spec.endpoint)
                && (env.spec.persistence, &env.spec.image) == (spec.persistence, &spec.image)
                && (env.spec.network, env.spec.on_host) == (spec.network, spec.on_host)
        };
        Ok(self.environments.values().find(shared))
    }

    /// An ephemeral environment whose only turn has just been interrupted goes at once.
    fn clear_the_way(&mut self, out: &mut Outbox, conversation: &ConversationId) {
        let env = self.conversations.get(conversation).and_then(|c| c.env.clone());
        let one_turn = |id: &EnvId| self.environments.get(id).is_some_and(serves_one_turn);
        if let Some(id) = env.filter(one_turn) {
            self.act(out, &id);
        }
    }

    /// The environment for this turn; made if there is none that fits.
    fn place(&mut self, out: &mut Outbox, request: &TurnRequest) -> EnvId {
        let (spec, explicit) = match request.target.wanted() {
            Ok(wanted) => wanted,
            Err(text) => return self.find(text).unwrap_or_else(|_| request.new_env.clone()),
        };
        let (conversation, common) = (&request.conversation, request.target.common());
        let own = self.own_environment(conversation, spec, common).unwrap_or_default();
        if let Some(env) = own.filter(|env| fits_again(env, spec, explicit)) {
            return env.id.clone();
        }
        let wanted = common.map_or_else(|| naming::from_conversation(conversation), |common| common.name.clone());
        let name = self.free_name(&spec.endpoint, &wanted);
        let by_name = common.is_some_and(|common| common.name == name);
        let env = self.list_new(out, request.new_env.clone(), name, spec);
        if let Some(env) = self.edit(out, &env) {
            env.books.by_name = by_name;
        }
        env
    }

    /// Lists a new environment.
    pub(super) fn list_new(&mut self, out: &mut Outbox, id: EnvId, name: String, spec: &EnvSpec) -> EnvId {
        let env = Environment::new(id.clone(), name, spec.clone(), Origin::Managed, out.now);
        let text = format!("{} is listed ({})", env.name, words::persistence(spec.persistence));
        self.insert(out, env);
        out.announce(Notice::new(NoticeKind::EnvCreated, text).env(&id));
        id
    }

    /// A conversation that goes on has not ended after all: what was to end with it is spared, if it still waits.
    fn reopen(&mut self, out: &mut Outbox, id: &ConversationId) {
        if self.conversations.get(id).is_none_or(|c| c.ended.is_none()) {
            return;
        }
        let served = self.environments.values().filter(|env| env.conversations.contains(id));
        let served: Vec<EnvId> = served.map(|env| env.id.clone()).collect();
        for env in served {
            if let Some(env) = self.edit(out, &env) {
                env.books.end.take_if(|end| end.cause == Cause::ConversationEnded);
                env.void_teardown();
            }
        }
    }

    /// Writes the turn down; the words for its lease.
    fn open_turn(&mut self, out: &mut Outbox, request: &TurnRequest, env: &EnvId) -> String {
        let now = out.now;
        let id = &request.conversation;
        let conversation = self.conversations.entry(id.clone()).or_insert_with(|| Conversation::new(id.clone(), now));
        conversation.title = request.title.clone().or(conversation.title.take());
        conversation.kind = request.kind.clone().or(conversation.kind.take());
        let moves = conversation.env.as_ref() != Some(env);
        if moves {
            conversation.rule = request.target.rule().map(str::to_owned);
        }
        conversation.env = Some(env.clone());
        conversation.ended = None;
        conversation.last_active = now;
        let taken = self.environments.get(env).and_then(|env| env.taken);
        let number = conversation.turns.last().map_or(1, |turn| turn.number.saturating_add(1));
        let excess = (conversation.turns.len() + 1).saturating_sub(MOST_TURNS);
        conversation.turns.drain(..excess);
        let ttl = request.lease_ttl;
        conversation.turns.push(Turn {
            id: request.turn.clone(),
            number,
            began: now,
            ended: None,
            status: TurnStatus::Running,
            prompt: request.prompt.clone(),
            source: TurnSource::Api,
            lease_ttl: if ttl == Span::ZERO { DEFAULT_LEASE } else { ttl },
            env: Some(env.clone()),
            taken_over: taken.map(|_| TakenOver { from: now, until: None }).into_iter().collect(),
        });
        out.save(Record::Conversation(id.clone()));
        let detail = match request.prompt.as_deref().map(|prompt| words::excerpt(prompt, 60)) {
            Some(prompt) if !prompt.is_empty() => format!("turn {number} of {id}: {prompt}"),
            _ => format!("turn {number} of {id}"),
        };
        let chosen = request.target.rule().filter(|_| moves).map(|rule| format!(", where {rule} puts it"));
        let name = self.environments.get(env).map_or_else(String::new, |env| format!(" in {}", env.name));
        let place = chosen.map(|chosen| name + &chosen).unwrap_or_default();
        let notice = Notice::new(NoticeKind::TurnBegan, format!("{detail} began{place}"));
        out.announce(notice.env(env).conversation(id).turn(&request.turn));
        detail
    }

    /// The turn takes its lease.
    fn join(&mut self, out: &mut Outbox, request: &TurnRequest, id: &EnvId, detail: String) {
        let now = out.now;
        let ttl = self.lease_of(&request.conversation);
        let Some(env) = self.edit(out, id) else { return };
        env.conversations.insert(request.conversation.clone());
        env.note(ActivityKind::Turn, format!("{detail} began"), now);
        env.hold(LeaseKind::Turn(request.turn.clone()), detail, now, Some(now + ttl));
        env.person_typed = false;
        env.books.lingers = false;
        env.books.end.take_if(|end| !end.ordered());
        env.void_teardown();
    }

    fn lease_of(&self, conversation: &ConversationId) -> Span {
        let open = self.conversations.get(conversation).and_then(Conversation::open_turn);
        open.map_or(DEFAULT_LEASE, |turn| turn.lease_ttl)
    }

    /// Keeps the open turn's lease alive. False if there is no open turn.
    pub(super) fn renew_turn(&mut self, out: &mut Outbox, conversation: &ConversationId) -> bool {
        let Some(turn) = self.conversations.get(conversation).and_then(Conversation::open_turn) else { return false };
        let (turn, env, until) = (turn.id.clone(), turn.env.clone(), out.now + turn.lease_ttl);
        let Some(env) = env.and_then(|id| self.edit(out, &id)) else { return true };
        for lease in &mut env.leases {
            if lease.kind == LeaseKind::Turn(turn.clone()) {
                lease.until = Some(until);
            }
        }
        true
    }

    pub(super) fn touch_turn(&mut self, out: &mut Outbox, reply: ReplyTo, conversation: &ConversationId) {
        if let Err(refusal) = self.check_ours(conversation) {
            out.refuse(reply, refusal);
        } else if self.renew_turn(out, conversation) {
            out.reply(reply, Answer::Done);
        } else {
            let message = format!("conversation {conversation} has no open turn to keep alive");
            let id = words::quoted(conversation.as_str());
            let hint = format!("begin one with `hermes-tui turn begin --conversation {id}`");
            out.refuse(reply, Refusal::new(RefusalKind::NotFound, message, hint));
        }
    }

    pub(super) fn end_turn(
        &mut self,
        out: &mut Outbox,
        reply: ReplyTo,
        conversation: &ConversationId,
        status: TurnStatus,
    ) {
        if let Err(refusal) = self.check_ours(conversation) {
            return out.refuse(reply, refusal);
        }
        let status = if status == TurnStatus::Running { TurnStatus::Done } else { status };
        self.finish_turn(out, conversation, status, "it was ended");
        out.reply(reply, Answer::Done);
    }

    /// Ends the open turn because the next one begins. False if there is none.
    fn interrupt_turn(&mut self, out: &mut Outbox, conversation: &ConversationId) -> bool {
        let open = self.conversations.get(conversation).and_then(Conversation::open_turn);
        let Some(next) = open.map(|turn| turn.number.saturating_add(1)) else { return false };
        let how = format!("interrupted by turn {next}");
        self.close_turn(out, conversation, TurnStatus::Interrupted, &how, "another turn began")
    }

    /// Ends the open turn and releases its lease. False if there is none.
    pub(super) fn finish_turn(
        &mut self,
        out: &mut Outbox,
        conversation: &ConversationId,
        status: TurnStatus,
        why: &str,
    ) -> bool {
        self.close_turn(out, conversation, status, &format!("ended: {}", words::turn_status(status)), why)
    }

    /// `how` is for the event stream, `why` for whoever still waits for the turn.
    fn close_turn(
        &mut self,
        out: &mut Outbox,
        conversation: &ConversationId,
        status: TurnStatus,
        how: &str,
        why: &str,
    ) -> bool {
        let now = out.now;
        let ours = |owner: &&mut Conversation| owner.agent.is_none();
        let Some(owner) = self.conversations.get_mut(conversation).filter(ours) else { return false };
        let Some(turn) = owner.turns.last_mut().filter(|turn| turn.ended.is_none()) else { return false };
        turn.ended = Some(now);
        turn.status = status;
        if let Some(open) = turn.taken_over.last_mut() {
            open.until.get_or_insert(now);
        }
        let (id, number, env) = (turn.id.clone(), turn.number, turn.env.clone());
        owner.last_active = now;
        out.save(Record::Conversation(conversation.clone()));
        let mut notice = Notice::new(NoticeKind::TurnEnded, format!("turn {number} of {conversation} {how}"));
        if let Some(env) = &env {
            notice = notice.env(env);
            self.leave(out, env, &id, format!("turn {number} of {conversation} ended"));
        }
        out.announce(notice.conversation(conversation).turn(&id));
        let refusal = Refusal::new(
            RefusalKind::Failed,
            format!("turn {number} ended before it was ready: {why}"),
            "begin another",
        );
        self.refuse_turn(out, &id, &refusal);
        true
    }

    /// The turn's lease goes. An ephemeral environment of scope `turn` goes with it, unless a person typed in it.
    fn leave(&mut self, out: &mut Outbox, id: &EnvId, turn: &TurnId, detail: String) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        env.release(&LeaseKind::Turn(turn.clone()), now);
        env.note(ActivityKind::Turn, detail, now);
        if !serves_one_turn(env) {
            return;
        }
        if env.person_typed && env.phase == Phase::Ready {
            env.books.lingers = true;
        } else {
            env.end_with_scope(Deed::Remove, Cause::TurnEnded, now);
        }
    }
}

/// How one that is not ours comes to run again.
pub(super) fn start_again(env: &Environment) -> String {
    if env.phase == Phase::Stopped {
        return format!("`hermes-tui env start {}` starts it", words::quoted(&env.name));
    }
    "whoever made it makes it again; it is listed as soon as it runs".to_owned()
}

fn serves_one_turn(env: &Environment) -> bool {
    env.spec.scope == Scope::Turn && env.is_ephemeral() && env.origin == Origin::Managed
}

/// The refusal of one that is to serve many, and goes with its turn.
fn of_one_turn(env: &Environment) -> Refusal {
    let message =
        format!("{} is to serve several conversations, but it is of scope turn and goes with its turn", env.name);
    Refusal::new(RefusalKind::Policy, message, "wait for its end, rename it, or let the rule name another")
}

/// Whether a conversation's environment serves its next turn, too. One of scope `turn` does only where a new sandbox is
/// made in it: while it still runs for somebody else the turn gets another environment.
fn fits_again(env: &Environment, spec: &EnvSpec, explicit: &[String]) -> bool {
    let fresh = env.phase != Phase::Ready && env.phase != Phase::Stopped;
    !serves_one_turn(env) || fresh && words::differences(&env.spec, spec, explicit).is_empty()
}

/// Refuses a spec that contradicts itself.
pub(super) fn check_spec(spec: &EnvSpec) -> Result<(), Refusal> {
    match (spec.persistence, spec.scope) {
        (Persistence::Persistent, Scope::Turn) => Err(Refusal::new(
            RefusalKind::Usage,
            "a persistent environment outlives turns and cannot have scope `turn`",
            "use --ephemeral with --scope turn, or --scope session",
        )),
        (Persistence::Unknown, _) => Err(Refusal::new(
            RefusalKind::Usage,
            "a new environment must be persistent or ephemeral",
            "use --persistent or --ephemeral",
        )),
        _ => Ok(()),
    }
}

fn check_conflicts(env: &Environment, wanted: &EnvSpec, explicit: &[String]) -> Result<(), Refusal> {
    let differences = words::differences(&env.spec, wanted, explicit);
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!("the flags conflict with the existing environment {}: {}", env.name, differences.join("; "));
    let hint = format!(
        "leave these flags out, or make another with `hermes-tui env new` and name it with --env-name; `hermes-tui env show {}` shows this one",
        words::quoted(&env.name)
    );
    Err(Refusal::new(RefusalKind::Policy, message, hint))
}
