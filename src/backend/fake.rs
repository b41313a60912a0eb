//! A backend in memory for tests of all that stands above: stricter than a real one, with faults on order.
//!
//! What no correct caller does (a second removal, an attach to what is gone, two changes of one sandbox at once) is
//! answered as a real backend would, and noted as a [violation](FakeBackend::violations).

use super::details::{Details, Limit, Place, PlaceKind};
use super::{
    AttachSpec, Backend, BackendError, BackendEvent, Candidate, Capabilities, ExecLink, ExecSpec, Probe, Progress,
    ProvisionSpec, Result,
};
use crate::domain::{
    BackendKind, CallId, Chosen, EndpointId, EnvId, Evidence, FailureKind, FoundSandbox, Generation, LiveProcess,
    Moment, Origin, SandboxId, SandboxState, SessionId, Watched,
};
use crate::pty::PtyLink;
use crate::pty::fake::{Behaviour, FakePty};
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::Cursor;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, broadcast, watch};

/// What can be asked of a backend: faults and holds are set for one of these.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// [`Backend::probe`].
    Probe,
    /// [`Backend::list`].
    List,
    /// [`Backend::provision`].
    Provision,
    /// [`Backend::start`].
    Start,
    /// [`Backend::stop`].
    Stop,
    /// [`Backend::remove`].
    Remove,
    /// [`Backend::inspect`].
    Inspect,
    /// [`Backend::evidence`].
    Evidence,
    /// [`Backend::attach`].
    Attach,
    /// [`Backend::exec`].
    Exec,
}

/// What a command does when it is run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExecScript {
    /// It prints this.
    pub stdout: Vec<u8>,
    /// And this on its errors.
    pub stderr: Vec<u8>,
    /// Then it ends with this; `None` = not before [`FakeBackend::finish_call`] or its kill.
    pub exit: Option<i32>,
}

struct Sandbox {
    found: FoundSandbox,
    wanted: ProvisionSpec,
    /// Overrides what is computed from sessions and calls.
    evidence: Option<Evidence>,
    sessions: BTreeMap<SessionId, Session>,
    calls: HashMap<CallId, watch::Sender<Option<i32>>>,
}

struct Session {
    pty: FakePty,
    is_shell: bool,
}

#[derive(Default)]
struct State {
    made: u64,
    sandboxes: BTreeMap<SandboxId, Sandbox>,
    removed: BTreeMap<SandboxId, EnvId>,
    faults: HashMap<Op, VecDeque<BackendError>>,
    held: HashMap<Op, usize>,
    down: Option<String>,
    scripts: HashMap<Vec<String>, ExecScript>,
    log: Vec<String>,
    violations: Vec<String>,
    outstanding: usize,
    changing: Vec<EnvId>,
    chosen: Chosen,
}

struct Shared {
    kind: BackendKind,
    endpoint: EndpointId,
    state: Mutex<State>,
    changed: Notify,
    events: broadcast::Sender<BackendEvent>,
}

/// The backend, and the test's handle on it: clones are the same one.
#[derive(Clone)]
pub struct FakeBackend {
    shared: Arc<Shared>,
}

/// Counts an operation for as long as it lives, and an environment as being changed.
struct Running {
    shared: Arc<Shared>,
    changes: Option<EnvId>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = lock(&self.shared);
        state.outstanding -= 1;
        if let Some(env) = &self.changes
            && let Some(at) = state.changing.iter().position(|one| one == env)
        {
            state.changing.remove(at);
        }
        drop(state);
        self.shared.changed.notify_waiters();
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FakeBackend {
    /// An empty one of this kind at this endpoint.
    #[must_use]
    pub fn new(kind: BackendKind, endpoint: &str) -> Self {
        let shared = Shared {
            kind,
            endpoint: EndpointId::new(endpoint),
            state: Mutex::default(),
            changed: Notify::new(),
            events: broadcast::Sender::new(1024),
        };
        Self { shared: Arc::new(shared) }
    }

    /// As the embedded one.
    #[must_use]
    pub fn local() -> Self {
        Self::new(BackendKind::Local, "local")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared)
    }

    /// The next operation of this kind fails with this. Several queue up.
    pub fn fail_next(&self, op: Op, error: BackendError) {
        self.state().faults.entry(op).or_default().push_back(error);
    }

    /// The next stop or removal finds something unexpected and does nothing.
    pub fn surprise_next(&self, op: Op) {
        self.fail_next(op, BackendError::new(FailureKind::Surprise, "its labels are not those expected", "look at it"));
    }

    /// Operations of this kind wait until they are released.
    pub fn hold(&self, op: Op) {
        *self.state().held.entry(op).or_default() += 1;
    }

    /// Lets held operations of this kind go on.
    pub fn release(&self, op: Op) {
        self.state().held.remove(&op);
        self.shared.changed.notify_waiters();
    }

    /// The endpoint stops answering; watchers are told.
    pub fn go_down(&self, why: &str) {
        self.state().down = Some(why.to_owned());
        let _ = self.shared.events.send(BackendEvent::Down(why.to_owned()));
    }

    /// The endpoint answers again; watchers are told, and get a snapshot.
    pub fn come_up(&self) {
        let found = {
            let mut state = self.state();
            state.down = None;
            state.list()
        };
        let _ = self.shared.events.send(BackendEvent::Up);
        let _ = self.shared.events.send(BackendEvent::Snapshot(found));
    }

    /// Somebody else stops or removes a sandbox; watchers are told.
    pub fn end_outside(&self, sandbox: &SandboxId, removed: bool, why: &str) {
        {
            let mut state = self.state();
            state.end_programs(sandbox);
            if removed {
                if let Some(gone) = state.sandboxes.remove(sandbox) {
                    state.removed.insert(sandbox.clone(), gone.found.env);
                }
            } else if let Some(one) = state.sandboxes.get_mut(sandbox) {
                one.found.state = SandboxState::Stopped;
            }
        }
        let event = BackendEvent::Ended { sandbox: sandbox.clone(), removed, why: why.to_owned() };
        let _ = self.shared.events.send(event);
    }

    /// A sandbox that an earlier host left behind.
    pub fn plant(&self, wanted: ProvisionSpec, state: SandboxState) -> SandboxId {
        let mut all = self.state();
        let id = all.make(wanted);
        if let Some(one) = all.sandboxes.get_mut(&id) {
            one.found.state = state;
        }
        id
    }

    /// A container of somebody else, as its engine knows it.
    pub fn plant_other(&self, wanted: ProvisionSpec, origin: Origin, watched: Option<Watched>) -> SandboxId {
        let id = self.plant(wanted, SandboxState::Running);
        self.alter(&id, |found| (found.origin, found.watched) = (origin, watched.map(Box::new)));
        id
    }

    /// Watchers get a fresh list.
    pub fn relist(&self) {
        let found = self.state().list();
        let _ = self.shared.events.send(BackendEvent::Snapshot(found));
    }

    /// Something else that watchers are told.
    pub fn tell(&self, event: BackendEvent) {
        let _ = self.shared.events.send(event);
    }

    /// Somebody else changes what a sandbox is, unseen.
    pub fn alter(&self, sandbox: &SandboxId, change: impl FnOnce(&mut FoundSandbox)) {
        if let Some(one) = self.state().sandboxes.get_mut(sandbox) {
            change(&mut one.found);
        }
    }

    /// What the next looks find; `None` computes it from sessions and calls again.
    pub fn set_evidence(&self, sandbox: &SandboxId, evidence: Option<Evidence>) {
        if let Some(one) = self.state().sandboxes.get_mut(sandbox) {
            one.evidence = evidence;
        }
    }

    /// Evidence of one process.
    #[must_use]
    pub fn process(pid: u32, command: &str, started: Moment) -> Evidence {
        let process = LiveProcess { pid, command: command.to_owned(), started };
        Evidence { processes: vec![process], ..Evidence::default() }
    }

    /// What this command does from now on. Without a script: `cat` copies, everything else ends with 0 at once.
    pub fn script(&self, argv: &[&str], script: ExecScript) {
        self.state().scripts.insert(argv.iter().map(|one| (*one).to_owned()).collect(), script);
    }

    /// Ends a running command.
    pub fn finish_call(&self, call: &CallId, code: i32) {
        for sandbox in self.state().sandboxes.values() {
            if let Some(exit) = sandbox.calls.get(call) {
                exit.send_replace(Some(code));
            }
        }
        self.shared.changed.notify_waiters();
    }

    /// The program's side of a session, if it was opened and its sandbox is there.
    #[must_use]
    pub fn pty(&self, session: &SessionId) -> Option<FakePty> {
        self.state().sandboxes.values().find_map(|one| one.sessions.get(session).map(|session| session.pty.clone()))
    }

    /// Waits until a session is open.
    pub async fn wait_pty(&self, session: &SessionId) -> FakePty {
        loop {
            let mut changed = std::pin::pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            if let Some(pty) = self.pty(session) {
                return pty;
            }
            changed.await;
        }
    }

    /// The sandbox of an environment.
    #[must_use]
    pub fn sandbox_of(&self, env: &EnvId) -> Option<FoundSandbox> {
        self.state().sandboxes.values().map(|one| &one.found).find(|found| found.env == *env).cloned()
    }

    /// Every operation asked for so far, as `verb environment-or-sandbox`.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.state().log.clone()
    }

    /// What no correct caller does, one sentence each.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.state().violations.clone()
    }

    /// Operations that were begun and are not done, held ones included.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.state().outstanding
    }

    /// Waits until no operation is outstanding.
    pub async fn settled(&self) {
        self.wait_outstanding(0).await;
    }

    /// Waits until exactly so many operations are outstanding: with holds, that they have arrived.
    pub async fn wait_outstanding(&self, count: usize) {
        loop {
            let mut changed = std::pin::pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            if self.outstanding() == count {
                return;
            }
            changed.await;
        }
    }

    /// Notes the operation, waits while it is held, then fails if that was ordered.
    async fn begin(&self, op: Op, what: String, changes: Option<EnvId>) -> Result<Running> {
        let running = {
            let mut state = self.state();
            state.log.push(format!("{} {what}", format!("{op:?}").to_lowercase()));
            state.outstanding += 1;
            if let Some(env) = &changes {
                if state.changing.contains(env) {
                    state.violations.push(format!("{op:?} of {what} while another change of {env} is under way"));
                }
                state.changing.push(env.clone());
            }
            Running { shared: self.shared.clone(), changes }
        };
        self.shared.changed.notify_waiters();
        loop {
            let mut changed = std::pin::pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            if self.state().held.get(&op).copied().unwrap_or(0) == 0 {
                break;
            }
            changed.await;
        }
        let mut state = self.state();
        if let Some(why) = &state.down {
            return Err(BackendError::new(FailureKind::Unreachable, why.clone(), "start the engine"));
        }
        match state.faults.get_mut(&op).and_then(VecDeque::pop_front) {
            Some(error) => Err(error),
            None => Ok(running),
        }
    }

    fn env_of(&self, sandbox: &SandboxId) -> Option<EnvId> {
        let state = self.state();
        state.sandboxes.get(sandbox).map(|one| one.found.env.clone()).or_else(|| state.removed.get(sandbox).cloned())
    }
}

impl State {
    fn list(&self) -> Vec<FoundSandbox> {
        self.sandboxes.values().map(|one| &one.found).filter(|found| self.lists(found)).cloned().collect()
    }

    /// One of somebody else is listed when it was chosen.
    fn lists(&self, found: &FoundSandbox) -> bool {
        found.origin != Origin::Foreign || self.chosen.has(&found.sandbox, &found.name)
    }

    /// Whether a sandbox is of the origin that a stop or removal was meant for. A real backend refuses another one.
    fn must_be(&mut self, op: Op, sandbox: &SandboxId, whose: Origin) -> Result<()> {
        let found = self.sandboxes.get(sandbox).map(|one| one.found.origin);
        if found.is_none_or(|origin| origin == whose) {
            return Ok(());
        }
        self.violations.push(format!("{op:?} of {sandbox}, which is not {whose:?}"));
        Err(BackendError::new(FailureKind::Surprise, format!("{sandbox} was made by somebody else"), "look at it"))
    }

    fn make(&mut self, wanted: ProvisionSpec) -> SandboxId {
        self.made += 1;
        let id = SandboxId::new(format!("{:016x}", self.made));
        let found = FoundSandbox {
            sandbox: id.clone(),
            env: wanted.env.clone(),
            name: wanted.name.clone(),
            generation: wanted.generation,
            state: SandboxState::Running,
            spec: Some(Box::new(wanted.spec.clone())),
            persistence: wanted.spec.persistence,
            origin: Origin::Managed,
            conversation: wanted.conversation.clone(),
            watched: None,
        };
        let sandbox = Sandbox { found, wanted, evidence: None, sessions: BTreeMap::new(), calls: HashMap::new() };
        self.sandboxes.insert(id.clone(), sandbox);
        id
    }

    fn end_programs(&mut self, sandbox: &SandboxId) {
        if let Some(one) = self.sandboxes.get_mut(sandbox) {
            for session in std::mem::take(&mut one.sessions).into_values() {
                session.pty.end(137);
            }
            for exit in std::mem::take(&mut one.calls).into_values() {
                exit.send_replace(Some(137));
            }
        }
    }

    /// The sandbox, if it runs; else a violation and an error.
    fn running(&mut self, op: Op, sandbox: &SandboxId) -> Result<&mut Sandbox> {
        let trouble = match self.sandboxes.get(sandbox) {
            Some(one) if super::runs(one.found.state) => None,
            Some(_) => Some("is stopped"),
            None if self.removed.contains_key(sandbox) => Some("was removed"),
            None => Some("was never made"),
        };
        if let Some(trouble) = trouble {
            self.violations.push(format!("{op:?} of {sandbox}, which {trouble}"));
        }
        let found = self.sandboxes.get_mut(sandbox).filter(|_| trouble.is_none());
        found.ok_or_else(|| {
            let why = trouble.unwrap_or("is not there");
            BackendError::new(FailureKind::Surprise, format!("the sandbox {sandbox} {why}"), "start its environment")
        })
    }

    /// Notes an operation on what was never made. What somebody else removed may be asked for.
    fn must_have_been(&mut self, op: Op, sandbox: &SandboxId) {
        if !self.sandboxes.contains_key(sandbox) && !self.removed.contains_key(sandbox) {
            self.violations.push(format!("{op:?} of {sandbox}, which was never made"));
        }
    }
}

fn told(one: &Sandbox) -> Details {
    let place = |source: &Path, target: &str| Place {
        kind: PlaceKind::Bind,
        source: source.display().to_string(),
        target: target.to_owned(),
        read_only: false,
    };
    Details {
        user: "agent (1000)".to_owned(),
        home: "/home/agent".to_owned(),
        network: "none".to_owned(),
        limits: vec![Limit { name: "processes".to_owned(), value: "4096".to_owned(), enforced: true }],
        places: vec![place(&one.wanted.home, "/home/agent"), place(&one.wanted.workspace, "/workspace")],
        ..Details::default()
    }
}

fn unlike(found: &FoundSandbox, wanted: Generation) -> BackendError {
    BackendError::new(
        FailureKind::Surprise,
        format!("the sandbox of {} is at generation {}, {} was asked for", found.name, found.generation.0, wanted.0),
        "stop the environment first",
    )
}

impl Backend for FakeBackend {
    fn kind(&self) -> BackendKind {
        self.shared.kind
    }

    fn endpoint(&self) -> EndpointId {
        self.shared.endpoint.clone()
    }

    fn capabilities(&self) -> Capabilities {
        let docker = self.shared.kind == BackendKind::Docker;
        Capabilities { restart: true, images: docker, outlives_host: docker }
    }

    fn probe(&self) -> BoxFuture<'_, Result<Probe>> {
        Box::pin(async move {
            let _running = self.begin(Op::Probe, String::new(), None).await?;
            Ok(Probe { description: "fake".into(), unenforced: Vec::new() })
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<FoundSandbox>>> {
        Box::pin(async move {
            let _running = self.begin(Op::List, String::new(), None).await?;
            Ok(self.state().list())
        })
    }

    fn provision(&self, spec: ProvisionSpec, progress: Progress) -> BoxFuture<'_, Result<FoundSandbox>> {
        Box::pin(async move {
            let env = spec.env.clone();
            let _running =
                self.begin(Op::Provision, format!("{env} g{}", spec.generation.0), Some(env.clone())).await?;
            progress("making the sandbox".into());
            let mut state = self.state();
            let known = state.sandboxes.values_mut().find(|one| one.found.env == env);
            let id = match known {
                None => state.make(spec),
                Some(one) if one.found.generation == spec.generation => {
                    one.found.state = SandboxState::Running;
                    one.found.sandbox.clone()
                }
                Some(one) => {
                    let (found, runs) = (one.found.clone(), super::runs(one.found.state));
                    if runs || spec.generation < found.generation {
                        let wanted = spec.generation.0;
                        state.violations.push(format!("Provision of {env} g{wanted} beside g{}", found.generation.0));
                        return Err(unlike(&found, spec.generation));
                    }
                    one.found.generation = spec.generation;
                    one.found.state = SandboxState::Running;
                    found.sandbox
                }
            };
            state
                .sandboxes
                .get(&id)
                .map(|one| one.found.clone())
                .ok_or_else(|| BackendError::new(FailureKind::Temporary, "it is gone already", "try again"))
        })
    }

    fn start(&self, sandbox: SandboxId, spec: ProvisionSpec) -> BoxFuture<'_, Result<FoundSandbox>> {
        Box::pin(async move {
            let what = format!("{sandbox} g{}", spec.generation.0);
            let _running = self.begin(Op::Start, what, Some(spec.env.clone())).await?;
            let mut state = self.state();
            state.must_have_been(Op::Start, &sandbox);
            let Some(one) = state.sandboxes.get_mut(&sandbox) else {
                return Err(BackendError::new(
                    FailureKind::Surprise,
                    format!("there is no sandbox {sandbox}"),
                    "make a new one",
                ));
            };
            if one.found.origin != Origin::Managed {
                one.found.state = SandboxState::Running;
                one.found.generation = one.found.generation.next();
                return Ok(one.found.clone());
            }
            if super::runs(one.found.state) && one.found.generation == spec.generation {
                return Ok(one.found.clone());
            }
            if super::runs(one.found.state) || spec.generation <= one.found.generation {
                let found = one.found.clone();
                state.violations.push(format!(
                    "Start of {sandbox} as g{} while it is {:?} at g{}",
                    spec.generation.0, found.state, found.generation.0
                ));
                return Err(unlike(&found, spec.generation));
            }
            one.found.state = SandboxState::Running;
            one.found.generation = spec.generation;
            one.found.name.clone_from(&spec.name);
            one.wanted = spec;
            Ok(one.found.clone())
        })
    }

    fn stop(&self, sandbox: SandboxId, whose: Origin) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let _running = self.begin(Op::Stop, sandbox.to_string(), self.env_of(&sandbox)).await?;
            let mut state = self.state();
            state.must_have_been(Op::Stop, &sandbox);
            state.must_be(Op::Stop, &sandbox, whose)?;
            state.end_programs(&sandbox);
            if let Some(one) = state.sandboxes.get_mut(&sandbox) {
                one.found.state = SandboxState::Stopped;
            }
            Ok(())
        })
    }

    fn remove(&self, sandbox: SandboxId, whose: Origin) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let _running = self.begin(Op::Remove, sandbox.to_string(), self.env_of(&sandbox)).await?;
            let mut state = self.state();
            state.must_have_been(Op::Remove, &sandbox);
            state.must_be(Op::Remove, &sandbox, whose)?;
            state.end_programs(&sandbox);
            match state.sandboxes.remove(&sandbox) {
                Some(gone) => {
                    state.removed.insert(sandbox, gone.found.env);
                }
                None if state.removed.contains_key(&sandbox) => {
                    state.violations.push(format!("Remove of {sandbox}, which was removed already"));
                }
                None => {}
            }
            Ok(())
        })
    }

    fn inspect(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Option<FoundSandbox>>> {
        Box::pin(async move {
            let _running = self.begin(Op::Inspect, sandbox.to_string(), None).await?;
            let mut state = self.state();
            state.must_have_been(Op::Inspect, &sandbox);
            Ok(state.sandboxes.get(&sandbox).map(|one| one.found.clone()))
        })
    }

    fn details(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Option<Details>>> {
        let told = self.state().sandboxes.get(&sandbox).map(told);
        Box::pin(std::future::ready(Ok(told)))
    }

    fn evidence(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<Evidence>> {
        Box::pin(async move {
            let _running = self.begin(Op::Evidence, sandbox.to_string(), None).await?;
            let mut state = self.state();
            let one = state.running(Op::Evidence, &sandbox)?;
            let shells = one.sessions.values().filter(|session| session.is_shell && !session.pty.has_ended()).count();
            let computed = Evidence { idle_shells: u32::try_from(shells).unwrap_or(u32::MAX), ..Evidence::default() };
            Ok(one.evidence.clone().unwrap_or(computed))
        })
    }

    fn attach(&self, sandbox: SandboxId, spec: AttachSpec) -> BoxFuture<'_, Result<PtyLink>> {
        Box::pin(async move {
            let _running = self.begin(Op::Attach, format!("{sandbox} {}", spec.session), None).await?;
            let mut state = self.state();
            let one = state.running(Op::Attach, &sandbox)?;
            if let Some(session) = one.sessions.get(&spec.session).filter(|session| !session.pty.has_ended()) {
                let link = session.pty.link();
                drop(link.control.resize(spec.size));
                return Ok(link);
            }
            if spec.resume {
                return Err(BackendError::new(FailureKind::Permanent, "it ended while no host ran", ""));
            }
            let behaviour = match spec.program.first().map(String::as_str) {
                Some("cat") => Behaviour::Echo,
                Some("sizes") => Behaviour::Sizes,
                _ => Behaviour::Silent,
            };
            let pty = FakePty::new(behaviour, spec.size);
            let link = pty.link();
            one.sessions.insert(spec.session, Session { pty, is_shell: spec.program.is_empty() });
            Ok(link)
        })
    }

    fn exec(&self, sandbox: SandboxId, spec: ExecSpec) -> BoxFuture<'_, Result<ExecLink>> {
        Box::pin(async move {
            let _running = self.begin(Op::Exec, format!("{sandbox} {}", spec.argv.join(" ")), None).await?;
            let mut state = self.state();
            let script = state.scripts.get(&spec.argv).cloned();
            let one = state.running(Op::Exec, &sandbox)?;
            let exit = watch::Sender::new(None);
            one.calls.insert(spec.call, exit.clone());
            if script.is_none() && spec.argv.first().is_some_and(|program| program == "cat") {
                return Ok(copying(exit));
            }
            let script = script.unwrap_or(ExecScript { exit: Some(0), ..ExecScript::default() });
            if let Some(code) = script.exit {
                exit.send_replace(Some(code));
            }
            Ok(ExecLink {
                stdin: Box::new(tokio::io::sink()),
                stdout: Box::new(Cursor::new(script.stdout)),
                stderr: Box::new(Cursor::new(script.stderr)),
                exit: exit_of(&exit),
                kill: kill_of(exit),
            })
        })
    }

    fn candidates(&self) -> BoxFuture<'_, Result<Vec<Candidate>>> {
        Box::pin(async move {
            let _running = self.begin(Op::List, "candidates".into(), None).await?;
            let state = self.state();
            let hidden = state.sandboxes.values().map(|one| &one.found).filter(|found| !state.lists(found));
            let candidate = |found: &FoundSandbox| Candidate {
                sandbox: found.sandbox.clone(),
                name: found.name.clone(),
                image: found.spec.as_ref().and_then(|spec| spec.image.clone()),
                state: found.state,
            };
            Ok(hidden.map(candidate).collect())
        })
    }

    fn choose(&self, chosen: Chosen) {
        let found = {
            let mut state = self.state();
            let before = std::mem::replace(&mut state.chosen, chosen);
            if before.keys == state.chosen.keys {
                return;
            }
            state.list()
        };
        let _ = self.shared.events.send(BackendEvent::Snapshot(found));
    }

    fn watch(&self) -> BoxStream<'static, BackendEvent> {
        let events = self.shared.events.subscribe();
        let first = {
            let state = self.state();
            match &state.down {
                Some(why) => BackendEvent::Down(why.clone()),
                None => BackendEvent::Snapshot(state.list()),
            }
        };
        Box::pin(stream::unfold((Some(first), events), |(first, mut events)| async move {
            let event = match first {
                Some(event) => event,
                None => events.recv().await.ok()?,
            };
            Some((event, (None, events)))
        }))
    }
}

fn exit_of(exit: &watch::Sender<Option<i32>>) -> BoxFuture<'static, i32> {
    let mut known = exit.subscribe();
    Box::pin(async move { known.wait_for(Option::is_some).await.ok().and_then(|code| *code).unwrap_or(137) })
}

fn kill_of(exit: watch::Sender<Option<i32>>) -> Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync> {
    Box::new(move || {
        exit.send_if_modified(|code| {
            let running = code.is_none();
            if running {
                // 128 + TERM
                *code = Some(143);
            }
            running
        });
        Box::pin(std::future::ready(()))
    })
}

/// `cat`: output is input, and the end of the input is the end.
fn copying(exit: watch::Sender<Option<i32>>) -> ExecLink {
    let (stdin, mut from) = tokio::io::duplex(65536);
    let (mut to, stdout) = tokio::io::duplex(65536);
    let done = exit.clone();
    tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from, &mut to).await;
        let _ = to.shutdown().await;
        done.send_replace(Some(0));
    });
    ExecLink {
        stdin: Box::new(stdin),
        stdout: Box::new(stdout),
        stderr: Box::new(tokio::io::empty()),
        exit: exit_of(&exit),
        kill: kill_of(exit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::EnvSpec;

    fn wanted(generation: u64) -> ProvisionSpec {
        ProvisionSpec {
            env: EnvId::new("e1"),
            name: "one".into(),
            generation: Generation(generation),
            spec: EnvSpec::local(),
            home: "/h".into(),
            workspace: "/w".into(),
            conversation: None,
        }
    }

    fn quiet() -> Progress {
        Box::new(|_| {})
    }

    #[tokio::test]
    async fn what_no_correct_caller_does_is_noted() {
        let fake = FakeBackend::local();
        let id = fake.provision(wanted(1), quiet()).await.expect("made").sandbox;
        fake.stop(id.clone(), Origin::Managed).await.expect("stopped");
        assert!(fake.evidence(id.clone()).await.is_err());
        assert!(fake.start(id.clone(), wanted(1)).await.is_err());
        fake.remove(id.clone(), Origin::Managed).await.expect("removed");
        fake.remove(id.clone(), Origin::Managed).await.expect("nothing to do");
        fake.stop(SandboxId::new("invented"), Origin::Managed).await.expect("nothing to do");
        let seen = fake.violations();
        assert_eq!(seen.len(), 4, "{seen:?}");
        assert!(seen[0].contains("which is stopped") && seen[1].starts_with("Start of"));
        assert!(seen[2].contains("removed already") && seen[3].contains("never made"));
    }

    #[tokio::test]
    async fn a_correct_life_leaves_no_violation() {
        let fake = FakeBackend::local();
        let id = fake.provision(wanted(1), quiet()).await.expect("made").sandbox;
        fake.stop(id.clone(), Origin::Managed).await.expect("stopped");
        fake.start(id.clone(), wanted(2)).await.expect("started");
        fake.evidence(id.clone()).await.expect("evidence");
        fake.remove(id, Origin::Managed).await.expect("removed");
        assert_eq!(fake.violations(), Vec::<String>::new());
        assert_eq!(fake.log().len(), 5);
    }

    #[tokio::test]
    async fn faults_come_once_and_in_order_and_do_nothing() {
        let fake = FakeBackend::local();
        let error = |text: &str| BackendError::new(FailureKind::Temporary, text, "");
        fake.fail_next(Op::Provision, error("first"));
        fake.fail_next(Op::Provision, error("second"));
        for text in ["first", "second"] {
            assert_eq!(fake.provision(wanted(1), quiet()).await.expect_err("ordered").message, text);
        }
        assert_eq!(fake.list().await.expect("a list"), []);
        let id = fake.provision(wanted(1), quiet()).await.expect("made").sandbox;
        fake.surprise_next(Op::Remove);
        assert_eq!(fake.remove(id.clone(), Origin::Managed).await.expect_err("ordered").kind, FailureKind::Surprise);
        assert!(fake.sandbox_of(&EnvId::new("e1")).is_some(), "a surprise is no deletion");
        assert_eq!(fake.outstanding(), 0);
    }

    #[tokio::test]
    async fn a_held_operation_is_outstanding_until_it_is_released() {
        let fake = FakeBackend::local();
        fake.hold(Op::Provision);
        let (this, that) = (fake.clone(), fake.clone());
        let making = tokio::spawn(async move { this.provision(wanted(1), quiet()).await });
        fake.wait_outstanding(1).await;
        let beside = tokio::spawn(async move { that.provision(wanted(1), quiet()).await });
        fake.wait_outstanding(2).await;
        assert_eq!(fake.list().await.expect("a list"), []);
        fake.release(Op::Provision);
        fake.settled().await;
        assert!(making.await.expect("no panic").is_ok() && beside.await.expect("no panic").is_ok());
        assert!(fake.violations()[0].contains("while another change"), "{:?}", fake.violations());
    }

    #[tokio::test]
    async fn a_scripted_command_runs_until_it_is_finished() {
        let fake = FakeBackend::local();
        let id = fake.provision(wanted(1), quiet()).await.expect("made").sandbox;
        fake.script(&["make"], ExecScript { stdout: b"out".to_vec(), ..ExecScript::default() });
        let spec = ExecSpec { call: CallId::new("c"), argv: vec!["make".into()], env: Vec::new(), cwd: None };
        let link = fake.exec(id, spec).await.expect("runs");
        fake.finish_call(&CallId::new("c"), 3);
        assert_eq!(link.exit.await, 3);
    }
}
