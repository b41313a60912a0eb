//! A simulated world around the core: backends with delays and faults, a journal, a clock, and a small reference model
//! that is kept apart from the core's own books. Every event is followed by a check of all properties.

use hermes_tui::domain::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One thing that happens in a history. Numbers pick among what exists at that time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    Begin {
        conversation: u8,
        spec: u8,
    },
    BeginNamed {
        conversation: u8,
        env: u8,
    },
    End {
        conversation: u8,
    },
    Touch {
        conversation: u8,
    },
    EndConversation {
        conversation: u8,
    },
    New {
        spec: u8,
    },
    Start {
        env: u8,
    },
    Stop {
        env: u8,
        force: bool,
    },
    Remove {
        env: u8,
        force: bool,
    },
    Pin {
        env: u8,
    },
    Unpin {
        env: u8,
    },
    Extend {
        env: u8,
    },
    Call {
        conversation: u8,
    },
    CallIn {
        env: u8,
    },
    CallEnds {
        call: u8,
    },
    Open {
        env: u8,
    },
    Kill {
        session: u8,
    },
    Key {
        session: u8,
        typed: bool,
    },
    Exit {
        session: u8,
    },
    /// A backend carries out what it was told, and says so.
    Deliver {
        op: u8,
    },
    /// A backend fails at what it was told.
    Fault {
        op: u8,
        kind: u8,
    },
    /// A backend carries it out, but its answer says that it failed.
    LostAnswer {
        op: u8,
    },
    Process {
        sandbox: u8,
    },
    NoProcess {
        sandbox: u8,
    },
    Vanish {
        sandbox: u8,
        told: bool,
    },
    Halt {
        sandbox: u8,
        told: bool,
    },
    Down {
        endpoint: bool,
    },
    Up {
        endpoint: bool,
    },
    Relist {
        endpoint: bool,
    },
    /// Time passes; deadlines are reached when they are due.
    Wait {
        seconds: u16,
    },
    /// Time passes and nobody notices in time.
    Oversleep {
        seconds: u16,
    },
    Jump {
        seconds: u16,
    },
    Crash,
    OldNews {
        env: u8,
        what: u8,
    },
    Reap,
    Abandon,
    Shutdown {
        keep: bool,
    },
}

struct Simulated {
    env: EnvId,
    generation: Generation,
    endpoint: EndpointId,
    spec: EnvSpec,
    name: String,
    running: bool,
    process: Option<Moment>,
}

/// What the model knows of an open turn.
struct OpenTurn {
    env: EnvId,
    until: Moment,
}

#[derive(Default)]
pub struct World {
    pub now: Moment,
    pub state: State,
    pub record: Vec<(Moment, Event, Vec<Effect>)>,
    journal: BTreeMap<EnvId, Environment>,
    journal_conversations: BTreeMap<ConversationId, Conversation>,
    journal_calls: BTreeMap<CallId, Call>,
    sandboxes: BTreeMap<SandboxId, Simulated>,
    ops: Vec<Effect>,
    next_id: u64,
    // The reference model.
    told: BTreeMap<SandboxId, EnvId>,
    turns: BTreeMap<ConversationId, OpenTurn>,
    calls: BTreeMap<CallId, (EnvId, Option<ConversationId>)>,
    pins: BTreeSet<EnvId>,
    used: BTreeMap<EnvId, Moment>,
    typed: BTreeSet<EnvId>,
    ordered: BTreeSet<EnvId>,
    orders: BTreeMap<ReplyTo, EnvId>,
    forced: BTreeSet<EnvId>,
    surprised: BTreeSet<EnvId>,
    frozen: BTreeSet<EndpointId>,
    graced: BTreeMap<(EnvId, Generation), Moment>,
    promised: BTreeMap<(EnvId, Generation), Moment>,
    asked: BTreeSet<ReplyTo>,
    shutting_down: bool,
    pub exited: bool,
}

const TTL: Span = Span::seconds(3600);

pub fn endpoint(docker: bool) -> EndpointId {
    EndpointId::new(if docker { "unix:///run/docker.sock" } else { "local" })
}

/// The specs that histories choose from.
pub fn spec(n: u8) -> EnvSpec {
    let retentions =
        [Retention::StopOnSessionEnd, Retention::KeepRunning, Retention::RemoveOnSessionEnd, Retention::IdleTtl];
    let base = EnvSpec { idle: Span::seconds(300), ..EnvSpec::local() };
    let docker = EnvSpec { backend: BackendKind::Docker, endpoint: endpoint(true), ..base.clone() };
    let ephemeral = |scope| EnvSpec { persistence: Persistence::Ephemeral, scope, ..base.clone() };
    match n % 10 {
        n @ 0..4 => EnvSpec { retention: retentions[n as usize], ..base },
        4 => ephemeral(Scope::Turn),
        5 => ephemeral(Scope::Session),
        6 => EnvSpec { scope: Scope::Shared, persistence: Persistence::Ephemeral, ..docker },
        7 => EnvSpec { idle: Span::ZERO, ..ephemeral(Scope::Turn) },
        8 => EnvSpec { idle: Span::ZERO, ..base },
        _ => docker,
    }
}

fn conversation(n: u8) -> ConversationId {
    ConversationId::new(format!("c{}", n % 4))
}

impl World {
    /// A world with one container of a hermes-agent and one of somebody else.
    pub fn new() -> Self {
        let mut world = Self { now: Moment(1_000_000_000), ..Self::default() };
        for (id, origin) in [("hermes", Origin::Hermes), ("foreign", Origin::Foreign)] {
            let mut env = Environment::new(EnvId::new(id), id, spec(9), origin, world.now);
            env.phase = Phase::Ready;
            env.sandbox = Some(SandboxId::new(id));
            world.state.environments.insert(env.id.clone(), env.clone());
            world.journal.insert(env.id.clone(), env);
        }
        world
    }

    /// Runs a history to its end, then lets the world come to rest.
    pub fn run(steps: &[Step]) -> Result<World, String> {
        let mut world = World::new();
        for step in steps {
            if world.exited {
                break;
            }
            world.step(step)?;
        }
        if !world.exited {
            world.come_to_rest()?;
        }
        world.replays_alike()?;
        Ok(world)
    }

    /// A history in words, up to where it fails.
    pub fn tell(steps: &[Step]) -> String {
        let mut world = World::new();
        let mut outcome = steps.iter().try_for_each(|step| world.step(step));
        if outcome.is_ok() && !world.exited {
            outcome = world.come_to_rest();
        }
        let events = world.record.iter().map(|(now, event, effects)| {
            let effects: String = effects.iter().map(|effect| format!("\n      {effect:?}")).collect();
            format!("{} {event:?}{effects}", now.0 / 1000)
        });
        format!("{}\n{outcome:?}", events.collect::<Vec<_>>().join("\n"))
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.next_id += 1;
        format!("{prefix}{}", self.next_id)
    }

    fn env(&self, n: u8) -> EnvId {
        let all: Vec<_> = self.state.environments.keys().collect();
        all.get(n as usize % all.len().max(1)).map_or_else(|| EnvId::new("none"), |id| (*id).clone())
    }

    fn session(&self, n: u8) -> SessionId {
        let all: Vec<_> = self.state.sessions.keys().collect();
        all.get(n as usize % all.len().max(1)).map_or_else(|| SessionId::new("none"), |id| (*id).clone())
    }

    fn sandbox(&self, n: u8) -> Option<SandboxId> {
        let all: Vec<_> = self.sandboxes.keys().collect();
        all.get(n as usize % all.len().max(1)).map(|id| (*id).clone())
    }

    pub fn request(&mut self, request: Request) -> Result<(), String> {
        self.next_id += 1;
        let reply = ReplyTo(self.next_id);
        self.asked.insert(reply);
        self.event(Event::Requested { reply, request })
    }

    pub fn step(&mut self, step: &Step) -> Result<(), String> {
        match step.clone() {
            Step::Begin { conversation: c, spec: s } => {
                let target = TurnTarget::Spec { spec: Box::new(spec(s)), explicit: Vec::new() };
                self.begin(c, target)
            }
            Step::BeginNamed { conversation: c, env } => {
                let env = self.env(env);
                self.begin(c, TurnTarget::Named(env.0))
            }
            Step::End { conversation: c } => {
                self.request(Request::EndTurn { conversation: conversation(c), status: TurnStatus::Done })
            }
            Step::Touch { conversation: c } => self.request(Request::TouchTurn(conversation(c))),
            Step::EndConversation { conversation: c } => self.request(Request::EndConversation(conversation(c))),
            Step::New { spec: s } => {
                let id = EnvId(self.fresh("e"));
                self.request(Request::NewEnvironment { id, name: None, spec: Box::new(spec(s)) })
            }
            Step::Start { env } => self.request(Request::Start(self.env(env))),
            Step::Stop { env, force } => self.request(Request::Stop { env: self.env(env), force }),
            Step::Remove { env, force } => self.request(Request::Remove { env: self.env(env), force, data: force }),
            Step::Pin { env } => self.request(Request::Pin(self.env(env))),
            Step::Unpin { env } => self.request(Request::Unpin(self.env(env))),
            Step::Extend { env } => self.request(Request::Extend { env: self.env(env), by: None }),
            Step::Call { conversation: c } => self.call(None, Some(conversation(c))),
            Step::CallIn { env } => self.call(Some(self.env(env)), None),
            Step::CallEnds { call } => {
                let running: Vec<_> = self.calls.keys().cloned().collect();
                match running.get(call as usize % running.len().max(1)) {
                    Some(call) => self.event(Event::CallEnded { call: call.clone(), exit_code: 0, cwd: None }),
                    None => Ok(()),
                }
            }
            Step::Open { env } => {
                let session = SessionId(self.fresh("s"));
                let env = self.env(env);
                let (program, size) = (Vec::new(), Size::default());
                self.request(Request::OpenSession { session, env, conversation: None, program, size })
            }
            Step::Kill { session } => self.request(Request::KillSession(self.session(session))),
            Step::Key { session, typed } => self.event(Event::PersonActed { session: self.session(session), typed }),
            Step::Exit { session } => {
                self.event(Event::SessionEnded { session: self.session(session), exit_code: Some(0) })
            }
            Step::Deliver { op } => self.deliver(op),
            Step::Fault { op, kind } => self.fault(op, kind),
            Step::LostAnswer { op } => self.lost_answer(op),
            Step::Process { sandbox } => {
                self.set_process(sandbox, true);
                Ok(())
            }
            Step::NoProcess { sandbox } => {
                self.set_process(sandbox, false);
                Ok(())
            }
            Step::Vanish { sandbox, told } => self.interfere(sandbox, told, true),
            Step::Halt { sandbox, told } => self.interfere(sandbox, told, false),
            Step::Down { endpoint: e } => {
                self.event(Event::EndpointDown { endpoint: endpoint(e), detail: "connection refused".into() })
            }
            Step::Up { endpoint: e } => {
                self.event(Event::EndpointUp(endpoint(e)))?;
                self.relist(e)
            }
            Step::Relist { endpoint: e } if !self.frozen.contains(&endpoint(e)) => self.relist(e),
            Step::Relist { .. } => Ok(()),
            Step::Wait { seconds } => self.wait(Span::seconds(seconds.into())),
            Step::Oversleep { seconds } => {
                self.now = self.now + Span::seconds(seconds.into());
                Ok(())
            }
            Step::Jump { seconds } => {
                self.now = self.now + Span::seconds(seconds.into());
                self.event(Event::ClockJumped { by: Span::seconds(seconds.into()) })
            }
            Step::Crash => self.crash(),
            Step::OldNews { env, what } => self.old_news(env, what),
            Step::Reap => self.request(Request::Reap),
            Step::Abandon => match self.asked.pop_first() {
                Some(reply) => self.event(Event::ReplyAbandoned(reply)),
                None => Ok(()),
            },
            Step::Shutdown { keep } => self.request(Request::Shutdown { keep }),
        }
    }

    fn begin(&mut self, c: u8, target: TurnTarget) -> Result<(), String> {
        let request = Request::BeginTurn {
            turn: TurnId(self.fresh("t")),
            conversation: conversation(c),
            title: None,
            kind: None,
            prompt: None,
            target,
            new_env: EnvId(self.fresh("e")),
            new_session: SessionId(self.fresh("s")),
            lease_ttl: TTL,
        };
        self.request(request)
    }

    fn call(&mut self, env: Option<EnvId>, conversation: Option<ConversationId>) -> Result<(), String> {
        let (call, source) = (CallId(self.fresh("x")), CallSource::Exec);
        self.request(Request::BeginCall { call, env, conversation, command: "make".into(), cwd: None, source })
    }

    fn set_process(&mut self, n: u8, lives: bool) {
        let now = self.now;
        if let Some(sandbox) = self.sandbox(n).and_then(|id| self.sandboxes.get_mut(&id)) {
            sandbox.process = lives.then_some(now);
        }
    }

    fn interfere(&mut self, n: u8, told: bool, remove: bool) -> Result<(), String> {
        let Some(id) = self.sandbox(n) else { return Ok(()) };
        let Some(sandbox) = self.sandboxes.get_mut(&id) else { return Ok(()) };
        sandbox.running = false;
        let endpoint = sandbox.endpoint.clone();
        if remove {
            self.sandboxes.remove(&id);
        }
        // An endpoint that is down tells nothing.
        if !told || self.frozen.contains(&endpoint) {
            return Ok(());
        }
        if remove {
            self.told.remove(&id);
        }
        self.event(Event::SandboxEnded { sandbox: id, endpoint, removed: remove, why: "docker rm -f".into() })
    }

    fn relist(&mut self, docker: bool) -> Result<(), String> {
        let endpoint = endpoint(docker);
        let found: Vec<FoundSandbox> = self
            .sandboxes
            .iter()
            .filter(|(_, sandbox)| sandbox.endpoint == endpoint)
            .map(|(id, sandbox)| FoundSandbox {
                sandbox: id.clone(),
                env: sandbox.env.clone(),
                name: sandbox.name.clone(),
                generation: sandbox.generation,
                state: if sandbox.running { SandboxState::Running } else { SandboxState::Stopped },
                spec: Some(Box::new(sandbox.spec.clone())),
                persistence: sandbox.spec.persistence,
            })
            .collect();
        self.frozen.remove(&endpoint);
        self.told.retain(|id, _| self.sandboxes.contains_key(id) || !endpoint_is(&self.journal, id, &endpoint));
        if docker {
            self.event(Event::Snapshot { endpoint, found: [found, foreign()].concat() })
        } else {
            self.event(Event::Snapshot { endpoint, found })
        }
    }

    /// The host is killed and started again: only the journal and the sandboxes survive.
    fn crash(&mut self) -> Result<(), String> {
        let before = std::mem::take(&mut self.state);
        for env in before.environments.values() {
            if let Some(deadline) = env.deadline {
                self.promised.insert((env.id.clone(), env.generation), deadline);
            }
        }
        self.ops.clear();
        self.asked.clear();
        self.calls.clear();
        self.shutting_down = false;
        self.surprised.clear();
        self.forced.clear();
        self.frozen.extend([endpoint(true), endpoint(false)]);
        let event = Event::Restored {
            environments: self.journal.values().cloned().collect(),
            conversations: self.journal_conversations.values().cloned().collect(),
            calls: self.journal_calls.values().cloned().collect(),
            saved_at: self.now,
        };
        // A replay starts with an empty state at each start of the host.
        self.record.clear();
        self.event(event)?;
        self.relist(false)?;
        self.relist(true)?;
        for env in self.state.environments.values() {
            let Some(deadline) = env.deadline else { continue };
            let promised = self.promised.get(&(env.id.clone(), env.generation)).copied().unwrap_or_default();
            let least = promised.max(self.now + Span::seconds(60));
            if deadline < least {
                return Err(format!("adoption moved the deadline of {} closer: {deadline:?} < {least:?}", env.id));
            }
        }
        Ok(())
    }

    fn wait(&mut self, span: Span) -> Result<(), String> {
        let end = self.now + span;
        for _ in 0..500 {
            let Some(at) = self.state.next_deadline().filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            self.event(Event::DeadlineReached)?;
            if self.exited {
                return Ok(());
            }
            if self.state.next_deadline().is_some_and(|at| at <= self.now) {
                return Err(format!("the deadline {:?} is reached again and again", self.state.next_deadline()));
            }
        }
        self.now = self.now.max(end);
        Ok(())
    }

    /// Something that belongs to a generation that is over.
    fn old_news(&mut self, n: u8, what: u8) -> Result<(), String> {
        let env = self.env(n);
        let generation = self.state.environments.get(&env).map_or(Generation(0), |env| env.generation);
        // At the end of the host any event may find that its patience is over.
        if generation == Generation(0) || self.shutting_down {
            return Ok(());
        }
        let generation = Generation(generation.0.saturating_sub(1 + u64::from(what / 8 % 2)));
        let session = self.session(n);
        let of_session = self.state.sessions.get(&session).map_or(0, |session| session.generation.0);
        let session_generation = Generation(of_session.wrapping_sub(1));
        let text = String::from("late");
        let event = match what % 8 {
            0 => Event::Provisioned { env, generation, sandbox: SandboxId::new("ghost") },
            1 => Event::TeardownDone { env, generation },
            2 => Event::EvidenceGathered { env, generation, evidence: Ok(Evidence::default()) },
            3 => Event::ProvisionFailed {
                env,
                generation,
                kind: FailureKind::Permanent,
                message: text.clone(),
                hint: text,
            },
            4 => Event::TeardownFailed { env, generation, kind: FailureKind::Temporary, message: text },
            5 => Event::SessionOpened { session, generation: session_generation },
            6 => Event::SessionFailed { session, generation: session_generation, message: text },
            _ => Event::EvidenceGathered { env, generation, evidence: Err(text) },
        };
        let before = self.state.clone();
        let effects = self.state.apply(self.now, event.clone());
        if self.state != before || !effects.is_empty() {
            return Err(format!("an event of an old generation changed something: {event:?} led to {effects:?}"));
        }
        Ok(())
    }
}

fn foreign() -> Vec<FoundSandbox> {
    ["hermes", "foreign"]
        .map(|id| FoundSandbox {
            sandbox: SandboxId::new(id),
            env: EnvId::new(id),
            name: id.into(),
            generation: Generation(0),
            state: SandboxState::Running,
            spec: None,
            persistence: Persistence::Unknown,
        })
        .to_vec()
}

fn endpoint_is(journal: &BTreeMap<EnvId, Environment>, sandbox: &SandboxId, endpoint: &EndpointId) -> bool {
    journal.values().any(|env| env.sandbox.as_ref() == Some(sandbox) && env.spec.endpoint == *endpoint)
}

// --- The simulated backends -------------------------------------------------------------------------------------------

impl World {
    fn take_op(&mut self, n: u8) -> Option<Effect> {
        if self.ops.is_empty() { None } else { Some(self.ops.remove(n as usize % self.ops.len())) }
    }

    fn op_endpoint(&self, op: &Effect) -> Option<EndpointId> {
        let env = match op {
            Effect::Provision { spec, .. } => return Some(spec.endpoint.clone()),
            Effect::GatherEvidence { env, .. } | Effect::Teardown { env, .. } | Effect::OpenSession { env, .. } => env,
            _ => return None,
        };
        self.state.environments.get(env).map(|env| env.spec.endpoint.clone())
    }

    pub fn deliver(&mut self, n: u8) -> Result<(), String> {
        let Some(op) = self.take_op(n) else { return Ok(()) };
        if self.op_endpoint(&op).is_some_and(|endpoint| self.frozen.contains(&endpoint)) {
            return self.fail(op, FailureKind::Unreachable);
        }
        match self.carry_out(&op) {
            Some(event) => self.event(event),
            None => Ok(()),
        }
    }

    fn lost_answer(&mut self, n: u8) -> Result<(), String> {
        let Some(op) = self.take_op(n) else { return Ok(()) };
        if matches!(op, Effect::Provision { .. } | Effect::Teardown { .. }) {
            self.carry_out(&op);
        }
        self.fail(op, FailureKind::Temporary)
    }

    fn carry_out(&mut self, op: &Effect) -> Option<Event> {
        match op.clone() {
            Effect::Provision { env, generation, name, spec, existing } => {
                let made = self.sandboxes.iter().find(|(_, s)| s.env == env && s.generation == generation);
                let sandbox = match existing.filter(|id| self.sandboxes.contains_key(id)) {
                    Some(existing) => existing,
                    // Idempotent per environment and generation.
                    None => made.map_or_else(|| SandboxId::new(format!("{env}-{generation:?}")), |(id, _)| id.clone()),
                };
                let endpoint = spec.endpoint.clone();
                let (env_of, spec) = (env.clone(), *spec);
                let simulated =
                    Simulated { env: env_of, generation, endpoint, spec, name, running: true, process: None };
                self.sandboxes.insert(sandbox.clone(), simulated);
                Some(Event::Provisioned { env, generation, sandbox })
            }
            Effect::GatherEvidence { env, generation, sandbox } => {
                let evidence = match self.sandboxes.get(&sandbox) {
                    Some(found) => Ok(Evidence {
                        processes: found
                            .process
                            .map(|started| LiveProcess { pid: 7, command: "server".into(), started })
                            .into_iter()
                            .collect(),
                        execs: 0,
                        idle_shells: 1,
                    }),
                    None => Err("no such sandbox".into()),
                };
                Some(Event::EvidenceGathered { env, generation, evidence })
            }
            Effect::Teardown { env, generation, sandbox, deed, .. } => {
                match (deed, self.sandboxes.get_mut(&sandbox)) {
                    (Deed::Stop, Some(found)) => {
                        found.running = false;
                        found.process = None;
                    }
                    (Deed::Remove, Some(_)) => {
                        self.sandboxes.remove(&sandbox);
                    }
                    (_, None) => {}
                }
                Some(Event::TeardownDone { env, generation })
            }
            Effect::OpenSession { session, generation, .. } => Some(Event::SessionOpened { session, generation }),
            Effect::CloseSession(session) => Some(Event::SessionEnded { session, exit_code: Some(129) }),
            _ => None,
        }
    }

    fn fault(&mut self, n: u8, kind: u8) -> Result<(), String> {
        let Some(op) = self.take_op(n) else { return Ok(()) };
        let kinds = [FailureKind::Temporary, FailureKind::Permanent, FailureKind::Surprise, FailureKind::Unreachable];
        self.fail(op, kinds[kind as usize % 4])
    }

    fn fail(&mut self, op: Effect, kind: FailureKind) -> Result<(), String> {
        let message = String::from("the backend failed");
        let event = match op {
            Effect::Provision { env, generation, .. } => {
                Event::ProvisionFailed { env, generation, kind, message, hint: "look at it".into() }
            }
            Effect::GatherEvidence { env, generation, .. } => {
                Event::EvidenceGathered { env, generation, evidence: Err(message) }
            }
            Effect::Teardown { env, generation, .. } => Event::TeardownFailed { env, generation, kind, message },
            Effect::OpenSession { session, generation, .. } => Event::SessionFailed { session, generation, message },
            Effect::CloseSession(session) => Event::SessionEnded { session, exit_code: None },
            _ => return Ok(()),
        };
        self.event(event)
    }

    /// Everybody lets go, everything answers, and much time passes.
    fn come_to_rest(&mut self) -> Result<(), String> {
        for docker in [false, true] {
            self.event(Event::EndpointUp(endpoint(docker)))?;
            self.relist(docker)?;
        }
        self.drain()?;
        for n in 0..4 {
            self.request(Request::EndTurn { conversation: conversation(n), status: TurnStatus::Done })?;
        }
        for call in self.calls.keys().cloned().collect::<Vec<_>>() {
            self.event(Event::CallEnded { call, exit_code: 0, cwd: None })?;
        }
        for env in self.pins.clone() {
            self.request(Request::Unpin(env))?;
        }
        for n in 0..4 {
            self.request(Request::EndConversation(conversation(n)))?;
        }
        for sandbox in self.sandboxes.values_mut() {
            sandbox.process = None;
        }
        // What no event has told is in the next list, and then come the graces, idle times and back-offs.
        self.wait(Span::seconds(3))?;
        for docker in [false, true] {
            self.relist(docker)?;
        }
        for _ in 0..12 {
            self.drain()?;
            if self.exited {
                return Ok(());
            }
            self.wait(Span::seconds(120))?;
        }
        self.drain()?;
        self.at_rest()
    }

    fn drain(&mut self) -> Result<(), String> {
        for _ in 0..300 {
            if self.ops.is_empty() || self.exited {
                return Ok(());
            }
            self.deliver(0)?;
        }
        Err("the core asks its backends without end".into())
    }

    fn at_rest(&self) -> Result<(), String> {
        if self.exited {
            return Ok(());
        }
        let lost_ones = |env: &Environment| env.phase == Phase::Lost && env.conversations.is_empty();
        for env in self.state.environments.values() {
            // An environment that was lost waits for a person, who may want to remake it.
            if env.is_ephemeral() && !lost_ones(env) && !without_idle(env) {
                return Err(format!("an ephemeral environment outlived its last holder: {env:?}"));
            }
            if env.phase == Phase::Ready && env.origin == Origin::Managed && env.idle_time().is_some() {
                return Err(format!("an idle environment was not ended: {env:?}"));
            }
        }
        for (id, sandbox) in &self.sandboxes {
            let listed = self.state.environments.values().any(|env| env.sandbox.as_ref() == Some(id));
            if !listed {
                return Err(format!("the sandbox {id} of {} is listed nowhere", sandbox.env));
            }
        }
        if let Some(reply) = self.asked.first() {
            return Err(format!("{reply:?} was never answered; waiters: {:?}", self.state.waiters));
        }
        Ok(())
    }
}

/// Made by a person with idle reaping off, and for no conversation: nothing but that person ends it.
fn without_idle(env: &Environment) -> bool {
    env.spec.idle == Span::ZERO && env.conversations.is_empty()
}

// --- The reference model and the properties ---------------------------------------------------------------------------

impl World {
    pub fn event(&mut self, event: Event) -> Result<(), String> {
        self.before(&event);
        let effects = self.state.apply(self.now, event.clone());
        self.after(&event, &effects);
        let checked = self.check(&event, &effects);
        self.perform(&effects);
        self.record.push((self.now, event, effects));
        checked.and_then(|()| self.check_state())
    }

    /// What the model learns from an event before the core sees it.
    fn before(&mut self, event: &Event) {
        match event {
            Event::EndpointDown { endpoint, .. } => {
                self.frozen.insert(endpoint.clone());
            }
            // Nothing is decided between its first answer and its list.
            Event::EndpointUp(endpoint) if self.state.down.contains_key(endpoint) => {
                self.frozen.insert(endpoint.clone());
            }
            Event::Provisioned { env, sandbox, generation } => {
                let expected = self.state.environments.get(env);
                if expected.is_some_and(|e| e.generation == *generation && e.phase == Phase::Provisioning) {
                    self.told.insert(sandbox.clone(), env.clone());
                    self.typed.remove(env);
                    // Made ready for a person, outside of its scope.
                    self.lives_on_by_use(env);
                    self.used.insert(env.clone(), self.now);
                }
            }
            Event::TeardownDone { env, .. } => {
                let gone = |id: &SandboxId| !self.sandboxes.contains_key(id);
                self.told.retain(|id, of| of != env || !gone(id));
            }
            Event::TeardownFailed { env, .. } => {
                self.surprised.insert(env.clone());
            }
            Event::EvidenceGathered { env, evidence, .. } => {
                // Something lived inside, or nobody could say: its end is put off.
                if evidence.as_ref().map_or(true, |found| !found.processes.is_empty()) {
                    self.surprised.insert(env.clone());
                }
            }
            Event::CallEnded { call, .. } => {
                if let Some((env, conversation)) = self.calls.remove(call) {
                    self.used.insert(env, self.now);
                    self.renew(conversation.as_ref());
                }
            }
            Event::PersonActed { session, typed } => {
                let Some(session) = self.state.sessions.get(session) else { return };
                let Some(env) = self.state.environments.get(&session.env) else { return };
                let ended = matches!(session.state, SessionState::Ended { .. });
                let live = !ended && session.generation == env.generation;
                if live && env.phase == Phase::Ready {
                    let env = env.id.clone();
                    self.lives_on_by_use(&env);
                    if *typed && self.turns.values().any(|turn| turn.env == env) {
                        self.typed.insert(env.clone());
                    }
                    self.used.insert(env, self.now);
                }
            }
            Event::ClockJumped { .. } => {
                let exists = |env: &&Environment| matches!(env.phase, Phase::Ready | Phase::Stopped);
                for env in self.state.environments.values().filter(exists) {
                    self.graced.insert((env.id.clone(), env.generation), self.now + Span::seconds(60));
                }
            }
            Event::Requested { request, reply } => self.before_request(*reply, request),
            _ => {}
        }
    }

    fn before_request(&mut self, reply: ReplyTo, request: &Request) {
        match request {
            Request::Stop { env, force } | Request::Remove { env, force, .. } => {
                let held = self.state.environments.get(env).is_some_and(|env| !env.leases.is_empty());
                if *force || !held {
                    self.orders.insert(reply, env.clone());
                    self.ordered.insert(env.clone());
                }
                if *force {
                    self.forced.insert(env.clone());
                }
            }
            Request::Unpin(env) => {
                if self.pins.remove(env) {
                    self.used.insert(env.clone(), self.now);
                }
            }
            Request::EndTurn { conversation, .. } | Request::EndConversation(conversation) => {
                if let Some(turn) = self.turns.remove(conversation) {
                    self.used.insert(turn.env, self.now);
                }
            }
            Request::Extend { env, .. } => {
                self.surprised.insert(env.clone());
                self.typed.insert(env.clone());
            }
            Request::OpenSession { env, .. } => self.lives_on_by_use(env),
            Request::BeginCall { env: Some(env), .. } => self.lives_on_by_use(env),
            Request::TouchTurn(conversation) => self.renew(Some(conversation)),
            Request::Shutdown { .. } => self.shutting_down = true,
            _ => {}
        }
    }

    /// Used by somebody outside of turns: it lives on until it is idle.
    fn lives_on_by_use(&mut self, env: &EnvId) {
        if !self.is_held(env) {
            self.surprised.insert(env.clone());
        }
    }

    fn renew(&mut self, conversation: Option<&ConversationId>) {
        let until = self.now + TTL;
        if let Some(turn) = conversation.and_then(|id| self.turns.get_mut(id)) {
            turn.until = until;
        }
    }

    /// What the model learns from the answers.
    fn after(&mut self, event: &Event, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Reply { to, answer } => {
                    self.answered(*to, answer);
                }
                Effect::Announce(Notice { kind: NoticeKind::TurnEnded, conversation: Some(id), .. }) => {
                    self.turns.remove(id);
                }
                Effect::Announce(Notice { kind: NoticeKind::CallEnded, call: Some(id), .. }) => {
                    self.calls.remove(id);
                }
                _ => {}
            }
        }
        self.pins.retain(|env| self.state.environments.contains_key(env));
        let Event::Requested { reply, request } = event else { return };
        let refused = effects
            .iter()
            .any(|effect| matches!(effect, Effect::Reply { to, answer: Answer::Refused(_) } if to == reply));
        if !refused {
            self.accepted(request);
        }
    }

    fn answered(&mut self, to: ReplyTo, answer: &Answer) {
        self.asked.remove(&to);
        let order = self.orders.remove(&to);
        if let (Some(env), Answer::Done | Answer::Environment(_)) = (order, answer) {
            self.ordered.remove(&env);
        }
        if let Answer::Turn { conversation, .. } = answer {
            self.renew(Some(&conversation.clone()));
        }
    }

    fn accepted(&mut self, request: &Request) {
        match request {
            Request::BeginTurn { conversation, .. } => {
                let env = self.state.conversations.get(conversation).and_then(|c| c.env.clone());
                let Some(env) = env else { return };
                self.used.insert(env.clone(), self.now);
                self.typed.remove(&env);
                self.turns.insert(conversation.clone(), OpenTurn { env, until: self.now + TTL });
            }
            Request::BeginCall { call, conversation, .. } => {
                let Some(begun) = self.state.calls.get(call) else { return };
                self.used.insert(begun.env.clone(), self.now);
                self.calls.insert(call.clone(), (begun.env.clone(), conversation.clone()));
                self.renew(conversation.as_ref());
            }
            Request::Pin(env) => {
                self.pins.insert(env.clone());
            }
            Request::OpenSession { env, .. } => {
                self.used.insert(env.clone(), self.now);
            }
            _ => {}
        }
    }

    /// What the runtime does with effects.
    fn perform(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Save(Record::Environment(id)) => mirror(&mut self.journal, &self.state.environments, id),
                Effect::Save(Record::Conversation(id)) => {
                    mirror(&mut self.journal_conversations, &self.state.conversations, id);
                }
                Effect::Save(Record::Call(id)) => mirror(&mut self.journal_calls, &self.state.calls, id),
                Effect::Exit => self.exited = true,
                Effect::Provision { env, .. } => {
                    self.forced.remove(env);
                    self.surprised.remove(env);
                    self.ops.push(effect.clone());
                }
                Effect::GatherEvidence { .. }
                | Effect::Teardown { .. }
                | Effect::OpenSession { .. }
                | Effect::CloseSession(_) => self.ops.push(effect.clone()),
                Effect::RunCall { .. } | Effect::Reply { .. } | Effect::Announce(_) | Effect::DeleteData(_) => {}
            }
        }
    }

    fn is_held(&self, env: &EnvId) -> bool {
        self.is_held_without(env, None)
    }

    fn is_held_without(&self, env: &EnvId, conversation: Option<&ConversationId>) -> bool {
        let counts = |(id, turn): (&ConversationId, &OpenTurn)| {
            turn.env == *env && turn.until > self.now && Some(id) != conversation
        };
        let by_turn = self.turns.iter().any(counts);
        by_turn || self.calls.values().any(|(of, _)| of == env) || self.pins.contains(env)
    }

    fn check(&self, event: &Event, effects: &[Effect]) -> Result<(), String> {
        let mut saved = BTreeSet::new();
        for effect in effects {
            match effect {
                Effect::Teardown { env, generation, sandbox, deed, .. } => {
                    self.check_teardown(event, env, *generation, sandbox, *deed)?;
                }
                Effect::GatherEvidence { env, .. } | Effect::Provision { env, .. } => self.check_reachable(env)?,
                Effect::Save(record) if !saved.insert(record.clone()) => {
                    return Err(format!("{record:?} is saved twice in one event"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_reachable(&self, id: &EnvId) -> Result<(), String> {
        let Some(env) = self.state.environments.get(id) else { return Ok(()) };
        if self.frozen.contains(&env.spec.endpoint) {
            return Err(format!("something was asked of the unreachable endpoint of {id}"));
        }
        Ok(())
    }

    fn check_teardown(
        &self,
        event: &Event,
        id: &EnvId,
        generation: Generation,
        sandbox: &SandboxId,
        deed: Deed,
    ) -> Result<(), String> {
        self.check_reachable(id)?;
        let env = self.state.environments.get(id).ok_or_else(|| format!("{id} is torn down but not listed"))?;
        if env.sandbox.as_ref() != Some(sandbox) {
            // A superseded one, which nobody can be in.
            return if generation < env.generation { Ok(()) } else { Err(format!("{sandbox} is not that of {id}")) };
        }
        if env.origin != Origin::Managed {
            return Err(format!("{id} is not ours and was torn down"));
        }
        if self.shutting_down || self.forced.contains(id) {
            return Ok(());
        }
        // A turn that interrupts another one waits for the end of the other one's sandbox.
        let beginner = match event {
            Event::Requested { request: Request::BeginTurn { conversation, .. }, .. } => Some(conversation),
            _ => None,
        };
        if self.is_held_without(id, beginner) {
            return Err(format!("{id} is held and was torn down by {event:?}"));
        }
        if self.ordered.contains(id) {
            return Ok(());
        }
        if self.graced.get(&(id.clone(), generation)).is_some_and(|until| self.now < *until) {
            return Err(format!("{id} was torn down within a minute after the clock jumped"));
        }
        let looked = matches!(event, Event::EvidenceGathered { env, evidence: Ok(found), .. }
            if env == id && found.processes.iter().all(|p| p.started + Span::hours(24) <= self.now));
        let persistent = env.spec.persistence == Persistence::Persistent;
        let all_ended =
            env.conversations.iter().all(|c| self.state.conversations.get(c).is_none_or(|c| c.ended.is_some()));
        let by_retention = all_ended
            && match env.spec.retention {
                Retention::StopOnSessionEnd => deed == Deed::Stop,
                Retention::RemoveOnSessionEnd => deed == Deed::Remove,
                Retention::KeepRunning | Retention::IdleTtl => false,
            };
        if !persistent || by_retention {
            return Ok(());
        }
        if !looked {
            return Err(format!("the persistent {id} was torn down by {event:?}"));
        }
        self.check_idle(env, generation)
    }

    /// Ended for idleness: not before its idle time, and not before the deadline that it had before a restart.
    fn check_idle(&self, env: &Environment, generation: Generation) -> Result<(), String> {
        let used = self.used.get(&env.id).copied().unwrap_or_default();
        let promised = self.promised.get(&(env.id.clone(), generation)).copied().unwrap_or_default();
        let least = (used + env.spec.idle).max(promised);
        if env.spec.idle == Span::ZERO || env.spec.retention == Retention::KeepRunning || self.now < least {
            return Err(format!("{} was ended for idleness too early: {:?} < {least:?}", env.id, self.now));
        }
        Ok(())
    }

    fn check_state(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for env in self.state.environments.values() {
            self.check_environment(env)?;
            if !names.insert((&env.spec.endpoint, &env.name)) {
                return Err(format!("two environments are called {}", env.name));
            }
        }
        for (sandbox, env) in &self.told {
            let listed = self.state.environments.get(env).and_then(|env| env.sandbox.as_ref()) == Some(sandbox);
            if !listed && self.sandboxes.contains_key(sandbox) {
                return Err(format!("{sandbox} of {env} exists and is not listed any more"));
            }
        }
        if self.journal.len() != self.state.environments.len() && !self.exited {
            return Err("the journal and the state list different environments".into());
        }
        Ok(())
    }

    fn check_environment(&self, env: &Environment) -> Result<(), String> {
        let id = &env.id;
        let due = env.phase == Phase::Ready && env.leases.is_empty() && env.idle_time().is_some();
        if env.deadline.is_some() != due {
            return Err(format!("the deadline of {id} does not fit its leases: {env:?}"));
        }
        let least = self.used.get(id).copied().unwrap_or_default() + env.idle_time().unwrap_or_default();
        if env.deadline.is_some_and(|deadline| deadline < least) {
            return Err(format!("the deadline of {id} is before its last use and its idle time"));
        }
        if env.phase == Phase::Ready && env.sandbox.is_none() {
            return Err(format!("{id} is ready without a sandbox"));
        }
        let typed = self.typed.contains(id)
            || self.surprised.contains(id)
            || self.ordered.contains(id)
            || env.books.grace.is_some();
        let scope_over = match env.spec.scope {
            Scope::Turn => !env.conversations.is_empty(),
            _ => !env.conversations.is_empty() && env.conversations.iter().all(|c| self.has_ended(c)),
        };
        let open = !self.frozen.contains(&env.spec.endpoint) && !self.state.down.contains_key(&env.spec.endpoint);
        let lives_on = env.phase == Phase::Ready && env.leases.is_empty() && env.is_ephemeral();
        if lives_on && scope_over && open && !typed && !self.shutting_down {
            return Err(format!("the ephemeral {id} outlives its scope: {env:?}"));
        }
        let mut saved = self.journal.get(id).cloned().ok_or_else(|| format!("{id} was never saved"))?;
        saved.last_activity = env.last_activity.clone();
        (saved.deadline, saved.warned) = (env.deadline, env.warned);
        saved.books.saved_activity = env.books.saved_activity;
        if saved != *env {
            return Err(format!("a change was not saved: {saved:?}\n{env:?}"));
        }
        let held_by_model = self.is_held(id) && env.leases.is_empty();
        if held_by_model && !self.shutting_down {
            return Err(format!("{id} is held, but has no lease"));
        }
        Ok(())
    }

    fn has_ended(&self, conversation: &ConversationId) -> bool {
        self.state.conversations.get(conversation).is_some_and(|c| c.ended.is_some())
    }

    /// The record of events gives the same effects again.
    fn replays_alike(&self) -> Result<(), String> {
        let mut state = match self.record.first() {
            Some((_, Event::Restored { .. }, _)) => State::default(),
            _ => World::new().state,
        };
        for (now, event, effects) in &self.record {
            if state.apply(*now, event.clone()) != *effects {
                return Err(format!("a replay of {event:?} gave other effects"));
            }
        }
        Ok(())
    }
}

fn mirror<K: Ord + Clone, V: Clone>(journal: &mut BTreeMap<K, V>, state: &BTreeMap<K, V>, id: &K) {
    match state.get(id) {
        Some(value) => journal.insert(id.clone(), value.clone()),
        None => journal.remove(id),
    };
}
