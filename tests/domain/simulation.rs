//! A simulated world around the core: backends with delays and faults, a journal, a clock, and a small reference model
//! that is kept apart from the core's own books. Every event is followed by a check of all properties.

use hermes_tui::domain::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[path = "backends.rs"]
mod backends;
#[path = "model.rs"]
mod model;
#[path = "neighbours.rs"]
mod neighbours;

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
    /// A key, a pause, and another key: the second one need not reach the journal.
    Typing {
        session: u8,
        seconds: u8,
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
    /// The user consents to another value.
    Consent {
        reap: u8,
    },
    /// Somebody halts a sandbox, or lets it go on.
    Pause {
        sandbox: u8,
        on: bool,
    },
    /// Somebody else runs a command in a sandbox.
    ExecBegins {
        sandbox: u8,
        command: u8,
    },
    ExecEnds {
        exec: u8,
    },
    /// Somebody starts a stopped sandbox again.
    Restart {
        sandbox: u8,
    },
    /// The maker of a sandbox that is not ours replaces it.
    Replace {
        sandbox: u8,
        told: bool,
    },
    /// A person ends one that is not ours.
    EndOther {
        env: u8,
        remove: bool,
        force: bool,
    },
    Adopt,
    Forget {
        env: u8,
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
    origin: Origin,
    watched: Option<Box<Watched>>,
    paused: bool,
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
    journal_sessions: BTreeMap<SessionId, Session>,
    sandboxes: BTreeMap<SandboxId, Simulated>,
    choices: Choices,
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
    /// Whose files somebody ordered to be deleted.
    data_ordered: BTreeSet<EnvId>,
    surprised: BTreeSet<EnvId>,
    frozen: BTreeSet<EndpointId>,
    graced: BTreeMap<(EnvId, Generation), Moment>,
    promised: BTreeMap<(EnvId, Generation), Moment>,
    /// Whether the record begins with a start of the host.
    started_anew: bool,
    /// Sandboxes that the core was told to be halted.
    halted: BTreeSet<SandboxId>,
    /// What the user consents to.
    consent: Consent,
    /// Commands of others that run: where, and whether the core was told.
    execs: BTreeMap<CallId, (SandboxId, String, bool)>,
    asked: BTreeSet<ReplyTo>,
    shutting_down: bool,
    pub exited: bool,
}

const TTL: Span = Span::seconds(3600);

/// When a persistent sandbox of a hermes-agent is stale.
const STALE: Span = Span::seconds(600);

/// The container of somebody else that the user chose.
const FOREIGN: &str = "foreign";

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

/// Some turns begin by a rule that gives all of its conversations one environment, and some by one that gives each its own.
fn target(n: u8) -> TurnTarget {
    let (spec, explicit) = (spec(n), Vec::new());
    match n / 10 % 4 {
        0 => {
            let common = Some(Common { name: "main".into(), anywhere: n.is_multiple_of(2) });
            let spec = EnvSpec { scope: Scope::Shared, ..spec };
            TurnTarget::Ruled(Box::new(Ruled { rule: "rule 1".into(), common, spec, explicit }))
        }
        1 => TurnTarget::Ruled(Box::new(Ruled { rule: "rule 2".into(), common: None, spec, explicit })),
        _ => TurnTarget::Spec { spec: Box::new(spec), explicit },
    }
}

fn conversation(n: u8) -> ConversationId {
    ConversationId::new(format!("c{}", n % 4))
}

impl World {
    /// A world with containers of a hermes-agent and one of somebody else.
    pub fn new() -> Self {
        let mut world = Self { now: Moment(1_000_000_000), ..Self::default() };
        let probe = || Some(Leak { kind: LeakKind::Probe, evidence: "it is a probe".into() });
        for (id, origin, persistence, leak, label) in [
            ("hermes", Origin::Hermes, Persistence::Persistent, None, None),
            ("passing", Origin::Hermes, Persistence::Ephemeral, None, None),
            ("probe", Origin::Hermes, Persistence::Persistent, probe(), None),
            ("unknown", Origin::Hermes, Persistence::Unknown, None, None),
            ("kept", Origin::Hermes, Persistence::Persistent, probe(), Some("keep_running")),
            ("spared", Origin::Hermes, Persistence::Ephemeral, None, Some("stop_on_session_end")),
            (FOREIGN, Origin::Foreign, Persistence::Unknown, None, None),
        ] {
            let retention = label.map(TheirRetention::read);
            let watched = Watched { profile: Some("work".into()), leak, retention, ..Watched::default() };
            let simulated = Simulated {
                env: EnvId::new(id),
                generation: Generation(1),
                endpoint: endpoint(true),
                spec: EnvSpec { persistence, scope: Scope::Shared, ..spec(9) },
                name: id.into(),
                running: true,
                process: None,
                origin,
                watched: (origin == Origin::Hermes).then(|| Box::new(watched)),
                paused: false,
            };
            world.sandboxes.insert(SandboxId::new(id), simulated);
        }
        world.choices.shown.insert(endpoint(true), [FOREIGN.to_owned()].into());
        world.consent.stale_after = STALE;
        // What a host does when it starts; a replay begins with it, too.
        for event in world.beginning() {
            let effects = world.state.apply(world.now, event);
            world.perform(&effects);
        }
        world
    }

    fn beginning(&self) -> [Event; 3] {
        [
            Event::ConsentGiven(self.consent.clone()),
            Event::Restored {
                environments: self.journal.values().cloned().collect(),
                conversations: self.journal_conversations.values().cloned().collect(),
                sessions: self.journal_sessions.values().cloned().collect(),
                calls: self.journal_calls.values().cloned().collect(),
                choices: self.choices.clone(),
                saved_at: self.now,
            },
            Event::Snapshot { endpoint: endpoint(true), found: self.listed(&endpoint(true)) },
        ]
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

    fn live_session(&self, n: u8) -> SessionId {
        let live: Vec<_> = self.state.sessions.values().filter(|s| s.state == SessionState::Running).collect();
        live.get(n as usize % live.len().max(1)).map_or_else(|| SessionId::new("none"), |session| session.id.clone())
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
            Step::Begin { conversation: c, spec: s } => self.begin(c, target(s)),
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
            Step::Remove { env, force } => {
                let env = self.env(env);
                self.request(Request::Remove { env: env.clone(), force, data: force })?;
                // Out of reach it was forgotten by a person's order: when it is found again, it is a new find.
                if !self.state.environments.contains_key(&env) {
                    self.promised.retain(|(id, _), _| *id != env);
                }
                Ok(())
            }
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
                self.request(Request::OpenSession {
                    session,
                    env,
                    conversation: None,
                    program,
                    begin: Begin::Usual,
                    size,
                })
            }
            Step::Kill { session } => self.request(Request::KillSession(self.session(session))),
            Step::Key { session, typed } => self.event(Event::PersonActed { session: self.session(session), typed }),
            Step::Typing { session, seconds } => {
                for pause in [seconds, 0] {
                    let session = self.live_session(session);
                    self.event(Event::PersonActed { session, typed: true })?;
                    self.wait(Span::seconds(pause.into()))?;
                }
                Ok(())
            }
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
            Step::Consent { reap } => {
                let all = [HermesReap::Off, HermesReap::Leaked, HermesReap::Ephemeral, HermesReap::Stale];
                self.consent.reap = all[reap as usize % 4];
                self.event(Event::ConsentGiven(self.consent.clone()))
            }
            Step::Pause { sandbox, on } => self.pause(sandbox, on),
            Step::ExecBegins { sandbox, command } => self.exec_begins(sandbox, command),
            Step::ExecEnds { exec } => self.exec_ends(exec),
            Step::Restart { sandbox } => self.restart(sandbox),
            Step::Replace { sandbox, told } => self.replace(sandbox, told),
            Step::EndOther { env, remove, force } => {
                let deed = if remove { Deed::Remove } else { Deed::Stop };
                self.request(Request::EndOther { env: self.env(env), deed, force })
            }
            Step::Adopt => {
                self.request(Request::Adopt { endpoint: endpoint(true), container: FOREIGN.to_owned() })?;
                if self.frozen.contains(&endpoint(true)) { Ok(()) } else { self.relist(true) }
            }
            Step::Forget { env } => self.request(Request::Forget(self.env(env))),
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
        sandbox.paused = false;
        self.execs.retain(|_, (of, ..)| *of != id);
        let Some(sandbox) = self.sandboxes.get_mut(&id) else { return Ok(()) };
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
        let found = self.listed(&endpoint);
        let was_frozen = self.frozen.remove(&endpoint);
        self.told.retain(|id, _| self.sandboxes.contains_key(id) || !endpoint_is(&self.journal, id, &endpoint));
        self.event(Event::Snapshot { endpoint: endpoint.clone(), found })?;
        if was_frozen {
            // After its list a backend tells which commands still run.
            for (exec, (sandbox, command, told)) in self.execs.clone() {
                let there = self.sandboxes.get(&sandbox).is_some_and(|one| one.endpoint == endpoint);
                if there {
                    self.tell_exec(exec, sandbox, command, told)?;
                }
            }
        }
        Ok(())
    }

    /// What an endpoint's list shows.
    fn listed(&self, endpoint: &EndpointId) -> Vec<FoundSandbox> {
        let state = |sandbox: &Simulated| match (sandbox.running, sandbox.paused) {
            (true, true) => SandboxState::Paused,
            (true, false) => SandboxState::Running,
            (false, _) => SandboxState::Stopped,
        };
        let here = self.sandboxes.iter().filter(|(_, sandbox)| sandbox.endpoint == *endpoint);
        here.map(|(id, sandbox)| FoundSandbox {
            sandbox: id.clone(),
            env: sandbox.env.clone(),
            name: sandbox.name.clone(),
            generation: sandbox.generation,
            state: state(sandbox),
            spec: Some(Box::new(sandbox.spec.clone())),
            persistence: sandbox.spec.persistence,
            origin: sandbox.origin,
            conversation: None,
            watched: sandbox.watched.clone(),
        })
        .collect()
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
        // Who lives on until it is idle goes on doing so, if the journal knows.
        let lives_on = |id: &EnvId| self.journal.get(id).is_some_and(|env| env.books.lingers);
        self.surprised.retain(lives_on);
        self.forced.clear();
        self.frozen.extend([endpoint(true), endpoint(false)]);
        for (_, _, told) in self.execs.values_mut() {
            *told = false;
        }
        let [consent, restored, _] = self.beginning();
        // A replay starts with an empty state at each start of the host.
        self.record.clear();
        self.started_anew = true;
        self.event(restored)?;
        self.event(consent)?;
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
        if generation <= Generation(1) || self.shutting_down {
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

fn endpoint_is(journal: &BTreeMap<EnvId, Environment>, sandbox: &SandboxId, endpoint: &EndpointId) -> bool {
    journal.values().any(|env| env.sandbox.as_ref() == Some(sandbox) && env.spec.endpoint == *endpoint)
}
