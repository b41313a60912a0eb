//! A model with one client and a world that carries out what it asks for at once.

use hermes_tui::app::view_model::{Mode, Overlay, Pane, PaneContent, Sidebar, SidebarRow, ViewModel};
use hermes_tui::app::{ClientCaps, ClientId, Cmd, Model, Msg, Role, Stream, update, view_model};
use hermes_tui::config::{KeyPress, Options};
use hermes_tui::domain::{
    Begin, CallId, CallSource, ConversationId, Effect, EndpointId, EnvId, EnvSpec, Event, Evidence, FailureKind,
    Moment, ReplyTo, Request, SandboxId, SessionId, Size, Span, TurnStatus, TurnTarget,
};
use std::collections::BTreeMap;

pub const CLIENT: ClientId = ClientId(1);

pub struct World {
    pub model: Model,
    pub now: Moment,
    /// What was written to each session's program.
    pub written: BTreeMap<SessionId, Vec<u8>>,
    /// Sizes given to PTYs: at opening and later.
    pub sizes: BTreeMap<SessionId, Size>,
    pub resizes: usize,
    /// Where sessions were asked to begin, in order.
    pub begins: Vec<(SessionId, Begin)>,
    /// Commands that are no effects of the core and no writes.
    pub others: Vec<Cmd>,
    pub replies: Vec<Effect>,
    pub exited: bool,
    /// While set, sandboxes are not made.
    pub slow: bool,
    /// While set, making sandboxes fails with this.
    pub broken: Option<String>,
    /// What a look into a sandbox finds.
    pub evidence: Evidence,
    waiting: Vec<Effect>,
    made: u32,
    requests: u64,
}

impl World {
    pub fn new(cols: u16, rows: u16) -> Self {
        Self::with(Options::default(), cols, rows)
    }

    pub fn with(options: Options, cols: u16, rows: u16) -> Self {
        let mut world = Self {
            model: Model::new(options, 7),
            now: Moment(1_700_000_000_000),
            written: BTreeMap::new(),
            sizes: BTreeMap::new(),
            resizes: 0,
            begins: Vec::new(),
            others: Vec::new(),
            replies: Vec::new(),
            exited: false,
            slow: false,
            broken: None,
            evidence: Evidence::default(),
            waiting: Vec::new(),
            made: 0,
            requests: 0,
        };
        world.event(Event::Snapshot { endpoint: EndpointId::new("local"), found: Vec::new() });
        let caps = ClientCaps { colours: 16_777_216, unicode: true };
        world.msg(Msg::ClientAttached { client: CLIENT, size: Size { rows, cols }, caps, role: Role::Owner });
        world
    }

    /// A world with one environment, ready, and its shell focused.
    pub fn with_shell() -> Self {
        let mut world = Self::new(120, 40);
        world.keys("n");
        world
    }

    pub fn msg(&mut self, msg: Msg) {
        let cmds = update(&mut self.model, self.now, msg);
        self.perform(cmds);
    }

    pub fn event(&mut self, event: Event) {
        self.msg(Msg::Domain(event));
    }

    pub fn request(&mut self, request: Request) {
        self.requests += 1;
        self.event(Event::Requested { reply: ReplyTo(self.requests), request });
    }

    fn perform(&mut self, cmds: Vec<Cmd>) {
        for cmd in cmds {
            match cmd {
                Cmd::Effect(effect) => self.effect(effect),
                Cmd::Write { session, bytes } => self.written.entry(session).or_default().extend(bytes),
                Cmd::Resize { session, size } => {
                    self.resizes += 1;
                    self.sizes.insert(session, size);
                }
                other => self.others.push(other),
            }
        }
    }

    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Provision { .. } if self.slow => self.waiting.push(effect),
            Effect::Provision { env, generation, existing, .. } => match self.broken.clone() {
                Some(message) => self.event(Event::ProvisionFailed {
                    env,
                    generation,
                    kind: FailureKind::Permanent,
                    message,
                    hint: "look at it".to_owned(),
                }),
                None => {
                    self.made += 1;
                    let sandbox = existing.unwrap_or_else(|| SandboxId::new(format!("sandbox-{}", self.made)));
                    self.event(Event::Provisioned { env, generation, sandbox });
                }
            },
            Effect::GatherEvidence { env, generation, .. } => {
                self.event(Event::EvidenceGathered { env, generation, evidence: Ok(self.evidence.clone()) });
            }
            Effect::Teardown { env, generation, .. } => self.event(Event::TeardownDone { env, generation }),
            Effect::OpenSession { session, generation, size, begin, .. } => {
                self.sizes.insert(session.clone(), size);
                self.begins.push((session.clone(), begin));
                self.event(Event::SessionOpened { session, generation });
            }
            Effect::CloseSession(session) => self.event(Event::SessionEnded { session, exit_code: None }),
            Effect::Reply { .. } => self.replies.push(effect),
            Effect::Exit => self.exited = true,
            _ => {}
        }
    }

    /// Makes the sandboxes that were held back.
    pub fn let_go(&mut self) {
        self.slow = false;
        for effect in std::mem::take(&mut self.waiting) {
            self.effect(effect);
        }
    }

    /// Presses keys: `C-b % Esc j`.
    pub fn keys(&mut self, script: &str) -> &mut Self {
        for key in script.split_whitespace() {
            let key: KeyPress = key.parse().unwrap_or_else(|e| panic!("{e}"));
            self.msg(Msg::Key { client: CLIENT, key: key.event() });
        }
        self
    }

    /// Types letters.
    pub fn typed(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.msg(Msg::Key { client: CLIENT, key: KeyPress::char(c).event() });
        }
        self
    }

    pub fn output(&mut self, session: &SessionId, text: &str) {
        self.msg(Msg::Output { session: session.clone(), bytes: text.as_bytes().to_vec() });
    }

    /// Lets time go by; deadlines and timers are met on the way.
    pub fn pass(&mut self, span: Span) {
        let end = self.now + span;
        for _ in 0..100_000 {
            let deadline = self.model.state.next_deadline().map(|d| d.max(self.now));
            let timer = self.model.next_timer(self.now).map(|t| t.max(self.now));
            match (deadline, timer) {
                (Some(d), t) if d <= end && t.is_none_or(|t| d <= t) => {
                    self.now = d;
                    self.event(Event::DeadlineReached);
                }
                (_, Some(t)) if t <= end => {
                    self.now = t;
                    self.msg(Msg::Timer);
                }
                _ => {
                    self.now = end;
                    return;
                }
            }
        }
        panic!("time stands still: {:?}", self.model.next_timer(self.now));
    }

    pub fn view(&self) -> ViewModel<'_> {
        view_model(&self.model, self.now, CLIENT)
    }

    pub fn mode(&self) -> Mode {
        self.view().mode
    }

    pub fn overlay(&self) -> Option<Overlay> {
        self.view().overlay
    }

    pub fn sidebar(&self) -> Sidebar {
        self.view().sidebar
    }

    /// Names of environments in sight, in order.
    pub fn names(&self) -> Vec<String> {
        let name = |row: SidebarRow| if let SidebarRow::Environment(env) = row { Some(env.name) } else { None };
        self.sidebar().rows.into_iter().filter_map(name).collect()
    }

    pub fn toasts(&self) -> String {
        self.view().notices.into_iter().map(|t| t.text).collect::<Vec<_>>().join("\n")
    }

    /// The session of the focused pane.
    pub fn session(&self) -> SessionId {
        let view = self.view();
        match view.panes.iter().find(|p| p.focused).map(|p| &p.content) {
            Some(PaneContent::Terminal { session, .. }) => session.clone(),
            _ => panic!("no session is focused"),
        }
    }

    pub fn focused<T>(&self, look: impl FnOnce(&Pane<'_>) -> T) -> T {
        let view = self.view();
        look(view.panes.iter().find(|p| p.focused).expect("a focused pane"))
    }

    pub fn banner(&self) -> String {
        self.focused(|p| p.banner.as_ref().map(|b| b.text.clone()).unwrap_or_default())
    }

    /// Everything written to a session, as text.
    pub fn got(&self, session: &SessionId) -> String {
        String::from_utf8_lossy(self.written.get(session).map_or(&[], Vec::as_slice)).into_owned()
    }

    pub fn env(&self) -> EnvId {
        self.model.state.environments.keys().next().expect("an environment").clone()
    }

    /// Begins a turn as the command line does.
    pub fn begin_turn(&mut self, conversation: &str, prompt: &str, spec: EnvSpec) {
        let request = Request::BeginTurn {
            turn: self.model.ids.turn(),
            conversation: ConversationId::new(conversation),
            title: None,
            kind: None,
            prompt: Some(prompt.to_owned()),
            target: TurnTarget::Spec { spec: Box::new(spec), explicit: Vec::new() },
            new_env: self.model.ids.env(),
            new_session: self.model.ids.session(),
            lease_ttl: Span::hours(1),
        };
        self.request(request);
    }

    pub fn end_turn(&mut self, conversation: &str) {
        self.request(Request::EndTurn { conversation: ConversationId::new(conversation), status: TurnStatus::Done });
    }

    /// Runs a command of the agent, with its output.
    pub fn call(&mut self, conversation: &str, command: &str, output: &str, exit_code: i32) -> CallId {
        self.call_in(conversation, None, command, output, exit_code)
    }

    /// The same in a directory.
    pub fn call_in(
        &mut self,
        conversation: &str,
        cwd: Option<&str>,
        command: &str,
        output: &str,
        exit_code: i32,
    ) -> CallId {
        let call = self.model.ids.call();
        self.request(Request::BeginCall {
            call: call.clone(),
            env: None,
            conversation: Some(ConversationId::new(conversation)),
            command: command.to_owned(),
            cwd: cwd.map(str::to_owned),
            source: CallSource::Exec,
        });
        let bytes = output.as_bytes().to_vec();
        self.msg(Msg::CallOutput { call: call.clone(), stream: Stream::Out, bytes });
        self.now = self.now + Span(1200);
        self.event(Event::CallEnded { call: call.clone(), exit_code, cwd: None });
        call
    }
}
