//! The loop: takes in what happens, lets the model decide, has it performed, draws.
//!
//! One task owns everything; nothing in it waits for a disk, an engine or a terminal. It sleeps until something comes in
//! or the next deadline: there is no tick.

use super::begin;
use super::calls::{self, Calls};
use super::candidates;
use super::clock::Clock;
use super::details::Looks;
use super::effects::{Ending, Performer, Provisioning, session_env};
use super::event_log::EventLog;
use super::hush::Hush;
use super::inbound::{Condition, Inbound, Inbox, Outbox, Settled};
use super::journal::Journal;
use super::last_screens::LastScreens;
use super::notify;
use super::redact::redact;
use super::save;
use super::screen::ClientScreen;
use super::sessions::Sessions;
use super::wishes::Wish;
use crate::app::{self, ClientId, Cmd, Model, Msg, Role};
use crate::backend::AttachSpec;
use crate::domain::{
    Answer, BackendKind, Effect, Environment, Event, Moment, Notice, NoticeKind, Origin, Phase, Record, Refusal,
    RefusalKind, ReplyTo, Request, Scope, Session, SessionId, SessionState, Size, Span,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// What is there is taken in for this long before the screen is drawn, so that a flood of output costs frames only.
const BATCH: Duration = Duration::from_millis(4);
/// The screen is drawn at most this often.
const FRAME: Span = Span(16);
/// After the order to end, this long is waited for sandboxes that do not end.
const SHUTDOWN: Span = Span::seconds(20);

/// An answer waits at most this long for the journal.
const LONGEST_WRITE: Duration = Duration::from_millis(500);

/// A host that was started for a need ends this long after there is nothing left to host.
const ALONE: Span = Span::seconds(30);

/// A resize has every history laid out anew: of those that follow at once only the last counts, and they take at most a
/// fifth of the time.
const RESIZE_PAUSE: Span = Span(30);
const RESIZE_SHARE: u32 = 4;

/// Everything that a host is made of.
pub struct HostParts {
    /// The model, with what the journal remembers not yet applied.
    pub model: Model,
    /// Time.
    pub clock: Clock,
    /// Sending side, for the tasks it starts.
    pub inbox: Inbox,
    /// Receiving side.
    pub outbox: Outbox,
    /// The backends.
    pub performer: Performer,
    /// The journal.
    pub journal: Journal,
    /// It ends by itself once there is nothing left to host.
    pub leaves: bool,
}

async fn until(moment: Option<Instant>) {
    if let Some(moment) = moment {
        tokio::time::sleep_until(moment.into()).await;
    }
}

/// The loop's own memory.
pub struct Host {
    model: Model,
    clock: Clock,
    inbox: Inbox,
    outbox: Outbox,
    performer: Performer,
    journal: Journal,
    sessions: Sessions,
    calls: Calls,
    log: EventLog,
    clients: BTreeMap<ClientId, ClientScreen>,
    /// The client whose key is being taken in.
    typing: Option<ClientId>,
    hush: Hush,
    looks: Looks,
    last_screens: LastScreens,
    replies: BTreeMap<ReplyTo, Waiting>,
    /// Answers that go out once what they say is in the journal.
    answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    /// What others wait for.
    conditions: Vec<Condition>,
    last_reply: u64,
    unsaved: BTreeSet<Record>,
    settle: Vec<oneshot::Sender<Settled>>,
    wakes: u64,
    /// When the model asked to be woken. Kept, because asked again at that moment it names the next one.
    timer: Option<Moment>,
    /// Sizes of clients that are still to be taken over, and when the next of them is.
    sizes: BTreeMap<ClientId, Size>,
    next_size: Moment,
    ending: Option<Moment>,
    leaves: bool,
    connected: bool,
    /// Since when there has been nothing to host.
    alone: Option<Moment>,
    exit: bool,
    report: Vec<String>,
}

enum Waiting {
    Ask(oneshot::Sender<Answer>),
    Call(crate::domain::CallId),
    Terminate,
}

impl Host {
    /// A host that has not started yet.
    #[must_use]
    pub fn new(parts: HostParts) -> Self {
        let HostParts { model, clock, inbox, outbox, performer, mut journal, leaves } = parts;
        let last_screens = LastScreens::new(model.options.history.persist);
        let log = EventLog::after(journal.take_events(), journal.last_seq());
        Self {
            model,
            clock,
            inbox,
            outbox,
            performer,
            journal,
            sessions: Sessions::default(),
            calls: Calls::default(),
            log,
            looks: Looks::default(),
            last_screens,
            clients: BTreeMap::new(),
            typing: None,
            hush: Hush::default(),
            replies: BTreeMap::new(),
            answers: Vec::new(),
            conditions: Vec::new(),
            last_reply: 0,
            unsaved: BTreeSet::new(),
            settle: Vec::new(),
            wakes: 0,
            timer: None,
            sizes: BTreeMap::new(),
            next_size: Moment(0),
            ending: None,
            leaves,
            connected: false,
            alone: None,
            exit: false,
            report: Vec::new(),
        }
    }

    /// Attaches a terminal.
    pub fn attach(&mut self, client: ClientId, screen: ClientScreen, role: Role) {
        self.attach_to(client, screen, role, None);
    }

    fn attach_to(&mut self, client: ClientId, screen: ClientScreen, role: Role, only: Option<SessionId>) {
        let (size, caps) = (screen.size(), screen.caps());
        let msg = match only {
            Some(session) => Msg::AttachedTo { client, size, caps, role, session },
            None => Msg::ClientAttached { client, size, caps, role },
        };
        self.clients.insert(client, screen);
        self.update(msg);
    }

    /// The core's memory.
    #[must_use]
    pub fn state(&self) -> &crate::domain::State {
        &self.model.state
    }

    /// Takes in what the journal remembers: the core's rows, then output for the feed.
    pub fn restore(&mut self, remembered: Vec<Msg>) {
        let now = self.clock.now();
        for msg in remembered {
            // Past the journal: what it gave back must not be written to it again.
            for cmd in app::update(&mut self.model, now, msg) {
                self.perform(cmd);
            }
        }
    }

    /// Runs until the core says that everything is in order, or its terminal is gone and everything has been ended.
    /// Returns what was done to sandboxes at the end, for people.
    pub async fn run(mut self) -> Vec<String> {
        while !self.exit {
            self.finish_step();
            let now = self.clock.now();
            let frame = self.clients.values().filter_map(|c| c.next_frame(FRAME)).min();
            self.timer = [self.timer, self.model.next_timer(now)].into_iter().flatten().min();
            self.alone = self.is_alone().then(|| self.alone.unwrap_or(now));
            let leave = self.alone.map(|since| since + ALONE);
            let size = (!self.sizes.is_empty()).then_some(self.next_size);
            let kept = self.last_screens.due();
            let due = [self.model.state.next_deadline(), self.timer, self.ending, leave, size, kept];
            let wake = due.into_iter().flatten().min();
            let inbound = tokio::select! {
                biased;
                inbound = self.outbox.first.recv() => inbound,
                () = self.clock.sleep_until(frame) => None,
                () = self.clock.sleep_until(wake) => None,
                () = until(self.hush.until()), if self.hush.until().is_some() => None,
                piece = self.outbox.output.next(|piece| self.hush.lets_pass(piece)) => Some(piece),
                () = self.inbox.none_in_flight(), if !self.settle.is_empty() => None,
            };
            self.wakes += 1;
            // Before anything is judged by the new time.
            self.look_at_clock();
            if let Some(inbound) = inbound {
                self.take(inbound);
            }
            self.take_what_is_there();
            self.on_time();
        }
        self.finish_step();
        // An engine lets nobody take over an exec: a shell without its host would run in the container for ever.
        let state = &self.model.state;
        let of_engine = |session: &SessionId| {
            let env = state.sessions.get(session).and_then(|session| state.environments.get(&session.env));
            env.is_none_or(|env| env.spec.backend == BackendKind::Docker)
        };
        self.sessions.end(of_engine).await;
        self.performer.finish_deletions().await;
        while let Some(session) = self.last_screens.take() {
            self.save_screen(&session);
        }
        self.journal.close();
        self.report
    }

    fn look_at_clock(&mut self) {
        let jump = self.clock.take_jump();
        if jump > Span::ZERO {
            self.update(Msg::Domain(Event::ClockJumped { by: jump }));
        }
    }

    fn take_what_is_there(&mut self) {
        let began = Instant::now();
        while began.elapsed() < BATCH && !self.clients.values().any(ClientScreen::has_answer) {
            self.hush.look();
            let first = self.outbox.first.try_recv().ok();
            let next = || self.outbox.output.take(|piece| self.hush.lets_pass(piece));
            let Some(inbound) = first.or_else(next) else { return };
            self.take(inbound);
        }
    }

    /// What follows every step: the journal, the screens, those who wait for quiet.
    fn finish_step(&mut self) {
        self.looks.set(app::looked_at(&self.model), self.performer.backends(), &self.inbox);
        if !self.unsaved.is_empty() {
            self.journal.save(&self.model.state, &self.unsaved, self.clock.now());
            self.unsaved.clear();
        }
        self.answer();
        for trouble in self.journal.troubles() {
            tracing::warn!("{trouble}");
            self.inbox.note_trouble(&trouble);
            self.update(Msg::Trouble(trouble));
        }
        let (model, now) = (&self.model, self.clock.now());
        self.conditions.retain_mut(|holds| !holds(model, now));
        self.draw();
        if !self.settle.is_empty()
            && self.inbox.in_flight() == 0
            && self.outbox.first.is_empty()
            && self.outbox.output.is_empty()
        {
            for waiting in self.settle.drain(..) {
                let _ = waiting.send(Settled { state: self.model.state.clone(), wakes: self.wakes });
            }
        }
    }

    /// Gives answers once they hold also if this process is killed. A disk that hangs holds nobody up for long.
    fn answer(&mut self) {
        if self.answers.is_empty() {
            return;
        }
        let answers = std::mem::take(&mut self.answers);
        // Whoever asked may have gone.
        let give = |answers: Vec<(oneshot::Sender<Answer>, Answer)>| {
            answers.into_iter().for_each(|(reply, answer)| _ = reply.send(answer));
        };
        let Some(written) = self.journal.written() else { return give(answers) };
        let busy = self.inbox.outstanding();
        tokio::spawn(async move {
            let _ = tokio::time::timeout(LONGEST_WRITE, written).await;
            give(answers);
            drop(busy);
        });
    }

    fn draw(&mut self) {
        let now = self.clock.now();
        for (id, screen) in &mut self.clients {
            screen.note(self.model.changed(*id));
            self.model.drawn(*id);
            if !screen.may_draw(now, FRAME) {
                continue;
            }
            let printed = screen.only_printed().then(|| app::printed(&self.model, now, *id)).flatten();
            if !printed.is_some_and(|panes| screen.draw_printed(&panes, now, FRAME)) {
                screen.draw(&app::view_model(&self.model, now, *id), now, FRAME);
            }
        }
    }

    /// Takes over the size of a client that waits, if it is time.
    fn take_size(&mut self) {
        let now = self.clock.now();
        if now < self.next_size {
            return;
        }
        let Some((client, size)) = self.sizes.pop_first() else { return };
        let began = Instant::now();
        self.update(Msg::ClientResized { client, size });
        let pause = began.elapsed() * RESIZE_SHARE;
        self.next_size = now + RESIZE_PAUSE.max(Span(u64::try_from(pause.as_millis()).unwrap_or(0)));
    }

    fn on_time(&mut self) {
        self.take_size();
        let now = self.clock.now();
        if self.ending.is_some_and(|end| end <= now) {
            self.report.push("not everything ended in time; what is left is taken up at the next start".to_owned());
            self.exit = true;
            return;
        }
        if self.model.state.next_deadline().is_some_and(|at| at <= now) {
            self.update(Msg::Domain(Event::DeadlineReached));
        }
        if self.alone.is_some_and(|since| since + ALONE <= now) {
            tracing::info!("there is nothing left to host");
            self.terminate();
        }
        if let Some(session) = self.last_screens.take_due(now) {
            self.save_screen(&session);
        }
        if self.timer.is_some_and(|at| at <= now) {
            self.timer = None;
            self.update(Msg::Timer);
        }
    }

    /// Has what a session showed written, for the next host.
    fn save_screen(&self, session: &SessionId) {
        let screen = self.model.work.screens.get(session);
        if let (Some(screen), Some(known)) = (screen, self.model.state.sessions.get(session)) {
            self.journal.save_screen(session, &known.env, screen);
        }
    }

    fn take(&mut self, inbound: Inbound) {
        let flood = self.hush.is_flood(&inbound).then(Instant::now);
        self.take_in(inbound);
        if let Some(began) = flood {
            self.hush.took(began.elapsed());
        }
    }

    fn take_in(&mut self, inbound: Inbound) {
        if let Some(client) = self.hush.answered_by(&inbound)
            && let Some(screen) = self.clients.get_mut(&client)
        {
            screen.answer();
        }
        match inbound {
            Inbound::Msg(Msg::ClientResized { client, size }) => {
                self.sizes.insert(client, size);
                self.take_size();
            }
            Inbound::Msg(Msg::TerminalAnswered { client, answer }) => {
                if let Some(screen) = self.clients.get_mut(&client) {
                    screen.answered(answer);
                }
                self.update(Msg::TerminalAnswered { client, answer });
            }
            Inbound::Msg(msg) => {
                self.typing = match msg {
                    Msg::Key { client, .. } | Msg::Paste { client, .. } => Some(client),
                    _ => None,
                };
                self.update(msg);
                self.typing = None;
            }
            Inbound::Ask(request, reply) => self.request(*request, Waiting::Ask(reply)),
            Inbound::Read(look) => look(&self.model, self.clock.now()),
            Inbound::When(condition) => self.conditions.push(condition),
            Inbound::Exec(request) => {
                let call = request.call.clone();
                let begin = self.calls.begin(*request);
                self.request(begin, Waiting::Call(call));
            }
            Inbound::SendKeys(session, bytes, reply) => {
                let _ = reply.send(self.send_keys(session, bytes));
            }
            Inbound::Subscribe(subscriber) => self.log.subscribe(subscriber),
            Inbound::Opened(opened) => {
                let session = opened.session.clone();
                self.sessions.add(*opened, &self.inbox);
                let awaited = self.model.state.sessions.get(&session);
                if awaited.is_none_or(Session::has_ended) {
                    // It was closed, or its sandbox ended, while it was being opened.
                    self.sessions.close(&session);
                }
            }
            Inbound::SessionOver { session, serial, exit_code } => {
                if self.sessions.remove(&session, serial) {
                    self.update(Msg::Domain(Event::SessionEnded { session, exit_code }));
                }
            }
            Inbound::CallOver { call, exit_code, cwd, known } => {
                self.update(Msg::Domain(Event::CallEnded { call: call.clone(), exit_code, cwd }));
                let _ = known.send(self.model.state.calls.get(&call).and_then(|call| call.exit_code));
            }
            Inbound::Drained(client) => {
                if let Some(screen) = self.clients.get_mut(&client) {
                    screen.drained();
                }
            }
            Inbound::Cleared(client) => {
                if let Some(screen) = self.clients.get_mut(&client) {
                    screen.cleared();
                }
            }
            Inbound::Attach(client, screen, role, only) => self.attach_to(client, *screen, role, only),
            Inbound::Gone(client) => {
                let role = self.model.clients.get(&client).map(|c| c.role);
                self.clients.remove(&client);
                self.sizes.remove(&client);
                self.update(Msg::ClientDetached(client));
                if role == Some(Role::Owner) {
                    // This process owns the screen and everything behind it: without the one the other ends in order.
                    self.terminate();
                }
            }
            Inbound::Connected(any) => self.connected = any,
            Inbound::Terminate => self.terminate(),
            Inbound::Settled(reply) => self.settle.push(reply),
        }
    }

    /// Nobody is here, nothing of ours lives, and nothing is waited for.
    fn is_alone(&self) -> bool {
        let state = &self.model.state;
        let lives = |env: &Environment| {
            let moves = matches!(env.phase, Phase::Provisioning | Phase::Ready | Phase::Reaping);
            env.origin == Origin::Managed && (moves || env.books.end.is_some() || env.retry_at().is_some())
        };
        self.leaves
            && self.ending.is_none()
            && !self.connected
            && self.clients.is_empty()
            && self.replies.is_empty()
            && state.down.keys().all(|endpoint| !self.model.needs(endpoint))
            && state.sessions.values().all(Session::has_ended)
            && !state.environments.values().any(lives)
    }

    fn terminate(&mut self) {
        if self.ending.is_none() {
            self.ending = Some(self.clock.now() + SHUTDOWN);
            self.request(Request::Shutdown { keep: false }, Waiting::Terminate);
        }
    }

    fn request(&mut self, request: Request, waiting: Waiting) {
        self.last_reply += 1;
        let reply = ReplyTo(self.last_reply);
        self.replies.insert(reply, waiting);
        self.update(Msg::Domain(Event::Requested { reply, request }));
    }

    fn send_keys(&mut self, session: SessionId, bytes: Vec<u8>) -> Result<(), Refusal> {
        let hint = "list sessions with: hermes-tui session list";
        let Some(found) = self.model.state.sessions.get(&session) else {
            return Err(Refusal::new(RefusalKind::NotFound, format!("there is no session {session}"), hint));
        };
        if !matches!(found.state, SessionState::Running) {
            let text = format!("session {session} does not run, so that nothing can be typed into it");
            return Err(Refusal::new(RefusalKind::Failed, text, hint));
        }
        self.sessions.write(&session, bytes).map_err(|text| Refusal::new(RefusalKind::Failed, text, hint))?;
        self.update(Msg::Domain(Event::PersonActed { session, typed: true }));
        Ok(())
    }

    fn update(&mut self, msg: Msg) {
        if let Msg::CallOutput { call, stream, bytes } = &msg {
            self.journal.output(call, *stream, bytes);
        }
        if let Msg::Domain(Event::CallEnded { call, cwd, .. }) = &msg {
            self.calls.ended(call, cwd.as_deref(), &self.model.state);
        }
        let now = self.clock.now();
        if let Msg::Output { session, .. } = &msg {
            self.last_screens.changed(session, now);
        }
        for cmd in app::update(&mut self.model, now, msg) {
            self.perform(cmd);
        }
    }

    fn perform(&mut self, cmd: Cmd) {
        match cmd {
            Cmd::Effect(effect) => self.perform_effect(effect),
            Cmd::Write { session, bytes } => {
                if let Some(client) = self.typing {
                    self.hush.begin(session.clone(), client);
                }
                if let Err(text) = self.sessions.write(&session, bytes) {
                    self.update(Msg::Trouble(text));
                }
            }
            Cmd::Resize { session, size } => self.sessions.resize(&session, size),
            Cmd::Clipboard { client, text } => {
                if let Some(screen) = self.clients.get_mut(&client) {
                    screen.clipboard(&text);
                    screen.wish(Wish::Copy(text));
                }
            }
            Cmd::Edit { client, text } => {
                if self.clients.get(&client).is_some_and(|screen| !screen.wish(Wish::Edit(text))) {
                    let text = "this terminal was attached by a version that opens no editor".to_owned();
                    self.update(Msg::Told { client, text });
                }
            }
            Cmd::Save { client, path, text } => {
                let (inbox, own) = (self.inbox.clone(), PathBuf::from(&self.model.options.save_dir));
                let busy = self.inbox.outstanding();
                // A disk that hangs holds nobody up.
                tokio::task::spawn_blocking(move || {
                    let home = std::env::var_os("HOME").map(PathBuf::from);
                    let saved = save::save(&path, &text, &own, home.as_deref());
                    let saved = saved.map(|path| path.display().to_string());
                    inbox.send_blocking(Inbound::Msg(Msg::Saved { client, saved }));
                    drop(busy);
                });
            }
            Cmd::Log(line) => tracing::info!("{line}"),
            Cmd::Bell(client) => {
                if let Some(screen) = self.clients.get_mut(&client) {
                    screen.bell();
                }
            }
            Cmd::FindContainers(client) => {
                candidates::tell(self.performer.backends().clone(), client, self.inbox.clone());
            }
            Cmd::SaveLayout(layout) => self.journal.save_layout(&layout),
            Cmd::Detach(client) => self.detach(client),
            Cmd::EndNow(client) => {
                self.detach(client);
                self.exit = true;
            }
        }
    }

    fn detach(&mut self, client: ClientId) {
        self.clients.remove(&client);
        self.update(Msg::ClientDetached(client));
    }

    fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Provision { env, generation, name, spec, existing } => {
                let conversations = self.model.state.environments.get(&env).map(|env| &env.conversations);
                let alone = conversations.filter(|all| all.len() == 1 && spec.scope != Scope::Shared);
                let conversation = alone.and_then(|all| all.first().cloned());
                self.performer.provision(Provisioning { env, generation, name, spec: *spec, conversation, existing });
            }
            Effect::GatherEvidence { env, generation, sandbox } => {
                if let Some(endpoint) = self.endpoint(&env) {
                    self.performer.gather_evidence(env, endpoint, generation, sandbox);
                }
            }
            Effect::Teardown { env, generation, listed, sandbox, deed, whose, ordered } => {
                if let Some(endpoint) = self.endpoint(&env) {
                    self.performer.teardown(Ending {
                        env,
                        endpoint,
                        generation,
                        listed,
                        sandbox,
                        deed,
                        whose,
                        ordered,
                    });
                }
            }
            Effect::Choose { endpoint, chosen } => self.performer.choose(&endpoint, chosen),
            Effect::DeleteData(env) => self.performer.delete_data(&env),
            Effect::OpenSession { session, env, generation, sandbox, program, begin, size, resume } => {
                let Some(environment) = self.model.state.environments.get(&env) else { return };
                let variables = session_env(&environment.name, &session);
                let endpoint = environment.spec.endpoint.clone();
                let lead = if program.is_empty() { begin::lead(&begin) } else { Vec::new() };
                let spec = AttachSpec { session, program, lead, env: variables, cwd: None, size, resume };
                self.performer.open_session(endpoint, sandbox, generation, spec);
            }
            // One that is still being opened is closed once it is open.
            Effect::CloseSession(session) => self.sessions.close(&session),
            Effect::RunCall { call, env, sandbox } => self.run_call(&call, &env, sandbox),
            Effect::Reply { to, answer } => self.reply(to, answer),
            Effect::Announce(notice) => self.announce(notice),
            Effect::Save(record) => {
                self.unsaved.insert(record);
            }
            Effect::Exit => self.exit = true,
        }
    }

    fn endpoint(&self, env: &crate::domain::EnvId) -> Option<crate::domain::EndpointId> {
        self.model.state.environments.get(env).map(|e| e.spec.endpoint.clone())
    }

    fn run_call(
        &mut self,
        call: &crate::domain::CallId,
        env: &crate::domain::EnvId,
        sandbox: crate::domain::SandboxId,
    ) {
        let Some((request, over)) = self.calls.start(call) else { return };
        let name = self.model.state.environments.get(env).map_or("", |e| e.name.as_str()).to_owned();
        let backend = self.endpoint(env).map(|endpoint| self.performer.backend(&endpoint));
        match backend {
            Some(Ok(backend)) => {
                let variables = vec![("LANG".to_owned(), "C.UTF-8".to_owned()), ("HTUI_ENVIRONMENT".to_owned(), name)];
                let place = calls::Place { backend, sandbox, variables, inbox: self.inbox.clone() };
                tokio::spawn(calls::run(place, request, over));
            }
            Some(Err(_)) | None => {
                let exit_code = calls::OUR_FAILURE;
                let note = Some(format!("its endpoint is not known to this host: {env}"));
                let _ = request.events.try_send(calls::ExecEvent::Ended { code: exit_code, note, cwd: None });
                self.update(Msg::Domain(Event::CallEnded { call: call.clone(), exit_code, cwd: None }));
            }
        }
    }

    fn reply(&mut self, to: ReplyTo, answer: Answer) {
        match self.replies.remove(&to) {
            Some(Waiting::Ask(reply)) => self.answers.push((reply, answer)),
            Some(Waiting::Call(call)) => {
                if let Answer::Refused(refusal) = answer {
                    self.calls.refused(&call, refusal);
                }
            }
            Some(Waiting::Terminate) | None => {}
        }
    }

    fn announce(&mut self, mut notice: Notice) {
        let env = notice.env.as_ref().and_then(|id| self.model.state.environments.get(id));
        notice.text = redact(&notice.text, env.into_iter().flat_map(|env| env.spec.env.values().map(String::as_str)));
        if let (NoticeKind::CallEnded, Some(call)) = (notice.kind, &notice.call) {
            self.calls.ended(call, None, &self.model.state);
        }
        if let (NoticeKind::SessionEnded, Some(session)) = (notice.kind, &notice.session) {
            // Ended with its sandbox: its PTY may not have noticed.
            self.sessions.close(session);
        }
        if notice.kind == NoticeKind::Shutdown {
            notify::notify(notify::State::Stopping);
        }
        tracing::info!(
            env = notice.env.as_ref().map(crate::domain::EnvId::as_str),
            "{:?}: {}",
            notice.kind,
            notice.text
        );
        let ends = matches!(notice.kind, NoticeKind::EnvStopped | NoticeKind::EnvRemoved | NoticeKind::TeardownFailed);
        if ends && (self.ending.is_some() || self.model.state.shutdown.is_some()) {
            self.report.push(notice.text.clone());
        }
        let now = self.clock.now();
        let seq = self.log.push(now, notice.clone());
        self.journal.event(seq, now, &notice);
    }
}
