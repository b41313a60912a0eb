//! A host that runs beside its test, with one terminal that the test looks at.

use hermes_tui::app::{ClientCaps, ClientId, Model, Msg, Role};
use hermes_tui::backend::Backend;
use hermes_tui::backend::fake::FakeBackend;
use hermes_tui::config::{KeyPress, Options};
use hermes_tui::domain::{
    Answer, Begin, CallId, ConversationId, EnvId, EnvSpec, Environment, Moment, NoticeKind, Persistence, Phase,
    Refusal, Request, Scope, SessionId, SessionState, Size, Span, State, TurnId, TurnStatus, TurnTarget,
};
use hermes_tui::pty::fake::FakePty;
use hermes_tui::runtime::calls::{ExecEvent, ExecRequest, Program};
use hermes_tui::runtime::clock::{Clock, ManualClock};
use hermes_tui::runtime::effects::Performer;
use hermes_tui::runtime::event_log::{Happening, Past};
use hermes_tui::runtime::handle::{Following, HostHandle};
use hermes_tui::runtime::host::{Host, HostParts};
use hermes_tui::runtime::inbound::{self, Inbound, Inbox};
use hermes_tui::runtime::journal::Journal;
use hermes_tui::runtime::screen::ClientScreen;
use hermes_tui::runtime::watcher;
use hermes_tui::term::Screen;
use hermes_tui::ui::{ColourDepth, Style, Theme};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, yield_now};
use tokio_util::sync::CancellationToken;

pub const CLIENT: ClientId = ClientId(1);
pub const START: Moment = Moment(1_700_000_000_000);
/// A fact that has not come about by then never will.
const PATIENCE: Duration = Duration::from_secs(15);
const FRAME: Span = Span(16);
const SIZE: Size = Size { rows: 40, cols: 120 };

pub struct World {
    pub handle: HostHandle,
    pub inbox: Inbox,
    pub backend: FakeBackend,
    pub clock: ManualClock,
    pub host: JoinHandle<Vec<String>>,
    /// Frames that the terminal got so far.
    pub frames: usize,
    terminal: Screen,
    sent: Receiver<Vec<u8>>,
    happenings: mpsc::Receiver<Happening>,
    told: Vec<Happening>,
    made: u32,
}

/// How a world is put together.
pub struct Build<'a> {
    pub backend: FakeBackend,
    pub clock: ManualClock,
    pub options: Options,
    pub screen: bool,
    pub journal: Option<&'a Path>,
    pub leaves: bool,
}

impl Default for Build<'_> {
    fn default() -> Self {
        Self {
            backend: FakeBackend::local(),
            clock: ManualClock::new(START),
            // Gives back what is typed.
            options: Options { shell: vec!["cat".to_owned()], ..Options::default() },
            screen: true,
            journal: None,
            leaves: false,
        }
    }
}

impl Build<'_> {
    pub async fn world(self) -> World {
        let clock = Clock::Manual(self.clock.clone());
        let (inbox, outbox) = inbound::channel();
        let backend: Arc<dyn Backend> = Arc::new(self.backend.clone());
        let backends = BTreeMap::from([(backend.endpoint(), Arc::clone(&backend))]);
        let performer = Performer::new(backends, "/nowhere".into(), inbox.clone());
        let (journal, remembered) = match self.journal {
            Some(path) => Journal::open(path, self.options.history.persist, self.clock.now()),
            None => (Journal::none(), Vec::new()),
        };
        let before = journal.last_seq();
        let model = Model::new(self.options, 7);
        let mut host = Host::new(HostParts {
            model,
            clock,
            inbox: inbox.clone(),
            outbox,
            performer,
            journal,
            leaves: self.leaves,
        });
        host.restore(remembered);
        let (sink, sent) = std::sync::mpsc::channel();
        if self.screen {
            let caps = ClientCaps { colours: 1 << 24, unicode: true };
            let style = Style::new(&Theme::dark(), ColourDepth::from_count(caps.colours), true);
            let frames = Box::new(move |frame| sink.send(frame).is_ok());
            host.attach(CLIENT, ClientScreen::new(SIZE, caps, style, frames), Role::Owner);
        }
        watcher::watch(&backend, &host.state().choices, inbox.clone());
        let handle = HostHandle::new(inbox.clone());
        let host = tokio::spawn(host.run());
        let Following { past, coming: happenings, .. } = handle.follow(Some(before)).await;
        let happened = |one| if let Past::Happened(happening) = one { Some(happening) } else { None };
        let world = World {
            handle,
            inbox,
            backend: self.backend,
            clock: self.clock,
            host,
            frames: 0,
            terminal: Screen::new(SIZE, 0),
            sent,
            happenings,
            told: past.into_iter().filter_map(happened).collect(),
            made: 0,
        };
        world.until("the first list", |state| state.unlisted.is_empty().then_some(())).await;
        world
    }
}

/// As one line, so that a sentence is found although it is broken over several.
fn flat(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || "│▌".contains(c));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Lets every task that can go on go on.
pub async fn others() {
    for _ in 0..50 {
        yield_now().await;
    }
}

/// Waits for what must come.
pub async fn in_time<T>(what: &str, coming: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, coming).await.unwrap_or_else(|_| panic!("waited in vain for: {what}"))
}

/// Asks again and again until `look` finds something.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    for round in 0.. {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for: {what}");
        if round < 100 {
            others().await;
        } else {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    unreachable!("a loop without end")
}

impl World {
    pub async fn new() -> Self {
        Build::default().world().await
    }

    /// With one environment, ready, and its shell focused.
    pub async fn with_shell() -> (Self, EnvId, SessionId) {
        let world = Self::new().await;
        world.keys("n").await;
        let session = world.running_session().await;
        let env = world.state().await.environments.keys().next().expect("an environment").clone();
        (world, env, session)
    }

    pub fn fresh(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{kind}{}", self.made)
    }

    pub async fn state(&self) -> State {
        self.handle.read(|model, _| model.state.clone()).await.expect("the host runs")
    }

    pub async fn env(&self, id: &EnvId) -> Environment {
        self.state().await.environments.get(id).cloned().unwrap_or_else(|| panic!("no environment {id}"))
    }

    pub async fn until<T>(&self, what: &str, look: impl Fn(&State) -> Option<T>) -> T {
        until(what, async || look(&self.state().await)).await
    }

    pub async fn until_phase(&self, id: &EnvId, phase: Phase) -> Environment {
        self.until(&format!("{id} to be {phase:?}"), |state| {
            state.environments.get(id).filter(|env| env.phase == phase).cloned()
        })
        .await
    }

    /// The only session that runs, once it does.
    pub async fn running_session(&self) -> SessionId {
        self.until("a running session", |state| {
            state.sessions.values().find(|s| s.state == SessionState::Running).map(|s| s.id.clone())
        })
        .await
    }

    pub fn pty(&self, session: &SessionId) -> FakePty {
        self.backend.pty(session).expect("a PTY")
    }

    /// Waits until nothing is in flight; gives how often the loop has woken so far.
    pub async fn settle(&self) -> u64 {
        let mut before = None;
        loop {
            others().await;
            in_time("the backend to be quiet", self.backend.settled()).await;
            let settled = in_time("quiet", self.handle.settled()).await.expect("the host runs");
            // Twice the same: what was on its way in a task that had not run yet is in.
            let now = format!("{:?}", settled.state);
            if before.as_ref() == Some(&now) {
                return settled.wakes;
            }
            before = Some(now);
        }
    }

    pub async fn pass(&self, span: Span) {
        self.clock.advance(span);
        self.settle().await;
    }

    pub async fn msg(&self, msg: Msg) {
        self.inbox.send(Inbound::Msg(msg)).await;
    }

    /// Presses keys: `C-b % Esc j`.
    pub async fn keys(&self, script: &str) {
        for key in script.split_whitespace() {
            let key: KeyPress = key.parse().unwrap_or_else(|e| panic!("{e}"));
            self.msg(Msg::Key { client: CLIENT, key: key.event() }).await;
        }
    }

    pub async fn typed(&self, text: &str) {
        for c in text.chars() {
            self.msg(Msg::Key { client: CLIENT, key: KeyPress::char(c).event() }).await;
        }
    }

    pub async fn paste(&self, text: String) {
        self.msg(Msg::Paste { client: CLIENT, text }).await;
    }

    /// Takes the frames that were sent; the terminal is quick.
    pub async fn take_frames(&mut self) -> bool {
        let mut any = false;
        while let Ok(frame) = self.sent.try_recv() {
            any = true;
            self.frames += 1;
            self.terminal.feed(self.clock.now(), &frame);
            self.inbox.send(Inbound::Drained(CLIENT)).await;
        }
        any
    }

    /// Shows the frames that were sent, but takes none; how many.
    pub fn look_at_frames(&mut self) -> usize {
        let frames: Vec<_> = self.sent.try_iter().collect();
        frames.iter().for_each(|frame| _ = self.terminal.feed(self.clock.now(), frame));
        frames.len()
    }

    /// Frames that were sent and not taken.
    pub fn waiting_frames(&self) -> usize {
        self.sent.try_iter().count()
    }

    /// What the terminal shows now.
    pub fn shown(&self) -> String {
        self.terminal.text()
    }

    /// Waits until the terminal shows this. The clock is turned by a frame when a frame may be due.
    pub async fn see(&mut self, what: &str) -> String {
        self.see_that(what, |text| text.contains(what) || flat(text).contains(what)).await
    }

    pub async fn see_that(&mut self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        for round in 0.. {
            others().await;
            let any = self.take_frames().await;
            if is_it(&self.shown()) {
                return self.shown();
            }
            assert!(Instant::now() < end, "never seen: {what}\n{}", self.shown());
            match (any, round) {
                (true, _) => {}
                (false, 0..100) => self.clock.advance(FRAME),
                (false, _) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
        unreachable!("a loop without end")
    }

    pub async fn ask(&self, request: Request) -> Result<Answer, Refusal> {
        in_time("an answer", self.handle.ask(request)).await
    }

    /// Asks without waiting for the answer; it was taken in when this returns.
    pub async fn ask_later(&self, request: Request) -> JoinHandle<Result<Answer, Refusal>> {
        let handle = self.handle.clone();
        let answer = tokio::spawn(async move { handle.ask(request).await });
        others().await;
        answer
    }

    /// The same in a row, without letting others go on in between.
    pub fn ask_later_quickly(&self, request: Request) -> JoinHandle<Result<Answer, Refusal>> {
        let handle = self.handle.clone();
        tokio::spawn(async move { handle.ask(request).await })
    }

    pub async fn new_env(&mut self, spec: EnvSpec) -> EnvId {
        let id = EnvId::new(self.fresh("e"));
        let request = Request::NewEnvironment { id: id.clone(), name: None, spec: Box::new(spec) };
        self.ask(request).await.expect("an environment");
        id
    }

    pub fn turn(&mut self, conversation: &str, spec: EnvSpec) -> Request {
        Request::BeginTurn {
            turn: TurnId::new(self.fresh("t")),
            conversation: ConversationId::new(conversation),
            title: None,
            kind: None,
            prompt: Some("do it".to_owned()),
            target: TurnTarget::Spec { spec: Box::new(spec), explicit: Vec::new() },
            new_env: EnvId::new(self.fresh("e")),
            new_session: SessionId::new(self.fresh("s")),
            lease_ttl: Span::hours(1),
        }
    }

    pub async fn begin_turn(&mut self, conversation: &str, spec: EnvSpec) -> (EnvId, SessionId) {
        let request = self.turn(conversation, spec);
        match self.ask(request).await.expect("a turn") {
            Answer::Turn { env, session, .. } => (env, session),
            other => panic!("no turn: {other:?}"),
        }
    }

    pub async fn end_turn(&self, conversation: &str) {
        let conversation = ConversationId::new(conversation);
        self.ask(Request::EndTurn { conversation, status: TurnStatus::Done }).await.expect("ended");
    }

    pub fn open_request(&mut self, env: &EnvId, program: &str) -> (SessionId, Request) {
        let session = SessionId::new(self.fresh("s"));
        let request = Request::OpenSession {
            session: session.clone(),
            env: env.clone(),
            conversation: None,
            program: vec![program.to_owned()],
            begin: Begin::Usual,
            size: Size::default(),
        };
        (session, request)
    }

    pub async fn open(&mut self, env: &EnvId, program: &str) -> SessionId {
        let (session, request) = self.open_request(env, program);
        self.ask(request).await.expect("a session");
        session
    }

    /// Everything that happened so far.
    pub async fn happened(&mut self) -> &[Happening] {
        others().await;
        while let Ok(happening) = self.happenings.try_recv() {
            self.told.push(happening);
        }
        &self.told
    }

    /// The sentences of one kind, in order.
    pub async fn told(&mut self, kind: NoticeKind) -> Vec<String> {
        let all = self.happened().await;
        all.iter().filter(|h| h.notice.kind == kind).map(|h| h.notice.text.clone()).collect()
    }

    /// As a crash does: nothing is ended, nothing is said; what was handed to the journal is in it.
    pub async fn crash(self) {
        self.settle().await;
        self.host.abort();
        assert!(self.host.await.is_err_and(|e| e.is_cancelled()));
    }

    /// Waits until something that the backend was asked for is held back.
    pub async fn held_back(&self) {
        in_time("the backend to be asked", self.backend.wait_outstanding(1)).await;
    }

    /// Operations of this kind that the backend was asked for so far.
    pub fn asked(&self, op: &str) -> usize {
        self.backend.log().iter().filter(|line| line.split(' ').next() == Some(op)).count()
    }

    pub async fn exec(&mut self, run: Run<'_>) -> Running {
        let call = CallId::new(self.fresh("call"));
        let (stdin, input) = mpsc::channel(8);
        let (events, told) = mpsc::channel(run.queue);
        let kill = CancellationToken::new();
        let program = match run.shell {
            Some(script) => Program::Shell(script.to_owned()),
            None => Program::Argv(run.argv.iter().map(|w| (*w).to_owned()).collect()),
        };
        let request = ExecRequest {
            label: None,
            call: call.clone(),
            env: run.env.cloned(),
            conversation: run.conversation.map(ConversationId::new),
            program,
            aside: false,
            cwd: None,
            timeout: run.timeout,
            stdin: input,
            events,
            kill: kill.clone(),
        };
        self.handle.exec(request).await;
        Running { call, stdin: Some(stdin), told, kill }
    }

    /// What no correct caller of a backend does was not done.
    pub fn assert_correct(&self) {
        assert_eq!(self.backend.violations(), Vec::<String>::new());
    }
}

/// A command to run.
#[derive(Clone)]
pub struct Run<'a> {
    pub env: Option<&'a EnvId>,
    pub conversation: Option<&'a str>,
    pub argv: &'a [&'a str],
    pub shell: Option<&'a str>,
    pub timeout: Option<Duration>,
    pub queue: usize,
}

impl<'a> Run<'a> {
    pub fn of(argv: &'a [&'a str]) -> Self {
        Self { env: None, conversation: None, argv, shell: None, timeout: None, queue: 64 }
    }

    pub fn in_env(argv: &'a [&'a str], env: &'a EnvId) -> Self {
        Self { env: Some(env), ..Self::of(argv) }
    }
}

/// A command that runs.
pub struct Running {
    pub call: CallId,
    /// Its input; `None` is its end.
    pub stdin: Option<mpsc::Sender<Vec<u8>>>,
    pub told: mpsc::Receiver<ExecEvent>,
    pub kill: CancellationToken,
}

/// What became of a command.
#[derive(Debug, Default)]
pub struct Outcome {
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    pub code: i32,
    pub note: Option<String>,
    pub started: bool,
}

impl Running {
    pub async fn started(&mut self) {
        match self.told.recv().await {
            Some(ExecEvent::Started) => {}
            other => panic!("not started: {other:?}"),
        }
    }

    /// Follows it to its end.
    pub async fn outcome(mut self) -> Outcome {
        let mut outcome = Outcome::default();
        let all = async {
            while let Some(event) = self.told.recv().await {
                match event {
                    ExecEvent::Started => outcome.started = true,
                    ExecEvent::Output(hermes_tui::app::Stream::Out, bytes) => outcome.out.extend(bytes),
                    ExecEvent::Output(hermes_tui::app::Stream::Err, bytes) => outcome.err.extend(bytes),
                    ExecEvent::Ended { code, note, .. } => {
                        (outcome.code, outcome.note) = (code, note);
                        return;
                    }
                    ExecEvent::Refused(refusal) => panic!("refused: {refusal}"),
                }
            }
            panic!("its events ended before it did");
        };
        in_time("the end of a command", all).await;
        outcome
    }
}

pub fn persistent(idle: u64) -> EnvSpec {
    EnvSpec { idle: Span::seconds(idle), ..EnvSpec::local() }
}

pub fn ephemeral() -> EnvSpec {
    EnvSpec { persistence: Persistence::Ephemeral, scope: Scope::Session, ..EnvSpec::local() }
}

pub async fn ended(host: &mut JoinHandle<Vec<String>>) -> Vec<String> {
    in_time("the end of the host", host).await.expect("no panic")
}
