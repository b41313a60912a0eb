//! A small desk for table tests: one state, one clock, and words for what is asked most often.

use hermes_tui::domain::*;

/// Where every test begins.
pub const START: Moment = Moment(1_000_000_000);

pub struct Desk {
    pub state: State,
    pub now: Moment,
    replies: u64,
}

pub fn spec() -> EnvSpec {
    EnvSpec { idle: Span::seconds(300), ..EnvSpec::local() }
}

pub fn ephemeral(scope: Scope) -> EnvSpec {
    EnvSpec { persistence: Persistence::Ephemeral, scope, ..spec() }
}

pub fn docker() -> EnvSpec {
    EnvSpec { backend: BackendKind::Docker, endpoint: EndpointId::new("unix:///run/docker.sock"), ..spec() }
}

pub fn env(id: &str) -> EnvId {
    EnvId::new(id)
}

pub fn conversation(id: &str) -> ConversationId {
    ConversationId::new(id)
}

impl Desk {
    pub fn new() -> Self {
        Self { state: State::default(), now: START, replies: 0 }
    }

    pub fn apply(&mut self, event: Event) -> Vec<Effect> {
        self.state.apply(self.now, event)
    }

    pub fn ask(&mut self, request: Request) -> Vec<Effect> {
        self.replies += 1;
        let reply = ReplyTo(self.replies);
        self.apply(Event::Requested { reply, request })
    }

    /// Lets time pass; deadlines are reached when they are due. All effects of it.
    pub fn pass(&mut self, span: Span) -> Vec<Effect> {
        let end = self.now + span;
        let mut effects = Vec::new();
        while let Some(at) = self.state.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            effects.extend(self.apply(Event::DeadlineReached));
        }
        self.now = end;
        effects
    }

    /// Lets time pass like `pass`, but every look is answered at once: nobody is there.
    pub fn pass_quietly(&mut self, span: Span) -> Vec<Effect> {
        let end = self.now + span;
        let mut effects = Vec::new();
        while let Some(at) = self.state.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let mut more = self.apply(Event::DeadlineReached);
            for effect in more.clone() {
                if let Effect::GatherEvidence { env, .. } = effect {
                    more.extend(self.evidence(env.as_str(), Ok(Evidence::default())));
                }
            }
            effects.extend(more);
        }
        self.now = end;
        effects
    }

    /// A new environment that is ready.
    pub fn ready(&mut self, id: &str, spec: EnvSpec) {
        self.ask(Request::NewEnvironment { id: env(id), name: Some(id.into()), spec: Box::new(spec) });
        self.provisioned(id);
    }

    pub fn provisioned(&mut self, id: &str) -> Vec<Effect> {
        let generation = self.env(id).generation;
        let sandbox = self.env(id).sandbox.clone().unwrap_or_else(|| SandboxId::new(format!("box-{id}")));
        self.apply(Event::Provisioned { env: env(id), generation, sandbox })
    }

    pub fn provision_failed(&mut self, id: &str, kind: FailureKind) -> Vec<Effect> {
        let generation = self.env(id).generation;
        let (message, hint) = ("no space left on the disk".into(), "free some".into());
        self.apply(Event::ProvisionFailed { env: env(id), generation, kind, message, hint })
    }

    pub fn evidence(&mut self, id: &str, evidence: Result<Evidence, String>) -> Vec<Effect> {
        let generation = self.env(id).generation;
        self.apply(Event::EvidenceGathered { env: env(id), generation, evidence })
    }

    pub fn torn_down(&mut self, id: &str) -> Vec<Effect> {
        let generation = self.env(id).generation;
        self.apply(Event::TeardownDone { env: env(id), generation })
    }

    /// Its sandbox ends by somebody else's hand.
    pub fn ends_outside(&mut self, id: &str, removed: bool) -> Vec<Effect> {
        let (sandbox, endpoint) = (SandboxId::new(format!("box-{id}")), self.env(id).spec.endpoint.clone());
        let why = if removed { "docker rm -f" } else { "docker stop" };
        self.apply(Event::SandboxEnded { sandbox, endpoint, removed, why: why.into() })
    }

    pub fn teardown_failed(&mut self, id: &str, kind: FailureKind) -> Vec<Effect> {
        let generation = self.env(id).generation;
        self.apply(Event::TeardownFailed { env: env(id), generation, kind, message: "it was just restarted".into() })
    }

    /// Asks for a turn; the new environment, if one is made, is called like the conversation with `-env`.
    pub fn begin(&mut self, c: &str, spec: EnvSpec) -> Vec<Effect> {
        self.begin_in(c, TurnTarget::Spec { spec: Box::new(spec), explicit: Vec::new() })
    }

    pub fn begin_in(&mut self, c: &str, target: TurnTarget) -> Vec<Effect> {
        self.replies += 1;
        let n = self.replies;
        let taken = self.state.environments.contains_key(&env(&format!("{c}-env")));
        let request = Request::BeginTurn {
            turn: TurnId::new(format!("{c}-turn-{n}")),
            conversation: conversation(c),
            title: None,
            kind: None,
            prompt: Some("make the tests pass".into()),
            target,
            new_env: if taken { env(&format!("{c}-env-{n}")) } else { env(&format!("{c}-env")) },
            new_session: SessionId::new(format!("{c}-session-{n}")),
            lease_ttl: Span::seconds(3600),
        };
        self.apply(Event::Requested { reply: ReplyTo(n), request })
    }

    /// A turn that has its environment and its session.
    pub fn running_turn(&mut self, c: &str, spec: EnvSpec) -> Vec<Effect> {
        let mut effects = self.begin(c, spec);
        let id = self.env_of(c);
        if self.env(&id).phase == Phase::Provisioning {
            effects.extend(self.provisioned(&id));
        }
        effects.extend(self.open_sessions(&effects.clone()));
        effects
    }

    /// Opens every session that these effects ask for.
    pub fn open_sessions(&mut self, effects: &[Effect]) -> Vec<Effect> {
        let mut more = Vec::new();
        for effect in effects {
            if let Effect::OpenSession { session, generation, .. } = effect {
                more.extend(self.apply(Event::SessionOpened { session: session.clone(), generation: *generation }));
            }
        }
        more
    }

    pub fn end(&mut self, c: &str) -> Vec<Effect> {
        self.ask(Request::EndTurn { conversation: conversation(c), status: TurnStatus::Done })
    }

    pub fn end_conversation(&mut self, c: &str) -> Vec<Effect> {
        self.ask(Request::EndConversation(conversation(c)))
    }

    pub fn call(&mut self, id: &str, c: &str) -> Vec<Effect> {
        self.ask(Request::BeginCall {
            call: CallId::new(id),
            env: None,
            conversation: Some(conversation(c)),
            command: "cargo test".into(),
            cwd: None,
            source: CallSource::Exec,
        })
    }

    pub fn call_ends(&mut self, id: &str) -> Vec<Effect> {
        self.apply(Event::CallEnded { call: CallId::new(id), exit_code: 0, cwd: None })
    }

    pub fn key(&mut self, session: &SessionId, typed: bool) -> Vec<Effect> {
        self.apply(Event::PersonActed { session: session.clone(), typed })
    }

    pub fn env(&self, id: &str) -> &Environment {
        self.state.environments.get(&env(id)).unwrap_or_else(|| panic!("{id} is not listed"))
    }

    pub fn is_listed(&self, id: &str) -> bool {
        self.state.environments.contains_key(&env(id))
    }

    pub fn phase(&self, id: &str) -> Phase {
        self.env(id).phase
    }

    pub fn env_of(&self, c: &str) -> String {
        self.state.conversations[&conversation(c)].env.clone().unwrap().0
    }

    pub fn session_of(&self, c: &str) -> SessionId {
        self.state.conversations[&conversation(c)].session.clone().unwrap()
    }

    pub fn verdict(&self, id: &str) -> Verdict {
        self.state.verdict(self.now, &env(id)).unwrap()
    }

    /// A new start of the host from what this one has in its memory.
    pub fn restarted(&self) -> Desk {
        let mut desk = Desk { now: self.now, replies: self.replies, ..Desk::new() };
        desk.apply(Event::Restored {
            environments: self.state.environments.values().cloned().collect(),
            conversations: self.state.conversations.values().cloned().collect(),
            sessions: self.state.sessions.values().cloned().collect(),
            calls: self.state.calls.values().cloned().collect(),
            choices: self.state.choices.clone(),
            saved_at: self.now,
        });
        desk
    }

    pub fn snapshot(&mut self, endpoint: &EndpointId, found: Vec<FoundSandbox>) -> Vec<Effect> {
        self.apply(Event::Snapshot { endpoint: endpoint.clone(), found })
    }
}

pub fn found(id: &str, state: SandboxState, spec: EnvSpec) -> FoundSandbox {
    FoundSandbox {
        sandbox: SandboxId::new(format!("box-{id}")),
        env: env(id),
        name: id.into(),
        generation: Generation(1),
        state,
        persistence: spec.persistence,
        origin: Origin::Managed,
        conversation: None,
        watched: None,
        spec: Some(Box::new(spec)),
    }
}

/// What to do to a sandbox, if these effects tear one down.
pub fn deed(effects: &[Effect]) -> Option<Deed> {
    effects.iter().find_map(|effect| match effect {
        Effect::Teardown { deed, .. } => Some(*deed),
        _ => None,
    })
}

pub fn looks(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::GatherEvidence { .. }))
}

pub fn provisions(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Provision { .. }))
}

pub fn announces(effects: &[Effect], kind: NoticeKind) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Announce(notice) if notice.kind == kind))
}

/// The last answer among these effects.
pub fn answer(effects: &[Effect]) -> Option<Answer> {
    effects.iter().rev().find_map(|effect| match effect {
        Effect::Reply { answer, .. } => Some(answer.clone()),
        _ => None,
    })
}

pub fn refusal(effects: &[Effect]) -> Refusal {
    match answer(effects) {
        Some(Answer::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

pub fn process(started: Moment) -> Evidence {
    let process = LiveProcess { pid: 42, command: "npm run dev".into(), started };
    Evidence { processes: vec![process], ..Evidence::default() }
}
