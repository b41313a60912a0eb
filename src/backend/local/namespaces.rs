//! Sandboxes made from namespaces, as the host handles them.

use super::client::{Client, Failed};
use super::protocol::{Answer, Launch, Op, Ready, SessionRow};
use super::record::{Record, Records};
use super::{LocalConfig, as_evidence, launch, stopped, unreachable};
use crate::backend::{AttachSpec, BackendError, BackendEvent, ExecLink, ExecSpec, Probe, Result};
use crate::domain::{Evidence, FailureKind, Network, SandboxId, Size, Span};
use crate::pty::unix::{Master, set_size};
use crate::pty::{PtyControl, PtyLink};
use futures_util::future::BoxFuture;
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::broadcast;

/// Beyond the grace period, how long an end may take before it is enforced, and after that before we give up.
const PATIENCE: Duration = Duration::from_secs(5);

/// A sandbox that we are connected to.
struct Live {
    client: Arc<Client>,
    /// We asked for its end, so it is no news.
    ending: bool,
}

type Lives = Arc<Mutex<HashMap<SandboxId, Live>>>;

/// All of one profile.
pub struct Namespaces {
    config: LocalConfig,
    lives: Lives,
    /// So that two who look at the same time share one connection.
    connecting: tokio::sync::Mutex<()>,
    events: broadcast::Sender<BackendEvent>,
}

fn lock(lives: &Mutex<HashMap<SandboxId, Live>>) -> MutexGuard<'_, HashMap<SandboxId, Live>> {
    lives.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Namespaces {
    pub fn new(config: LocalConfig, events: broadcast::Sender<BackendEvent>) -> Self {
        Self { config, lives: Lives::default(), connecting: tokio::sync::Mutex::default(), events }
    }

    fn socket(&self, sandbox: &SandboxId) -> PathBuf {
        self.config.runtime_dir.join("sandboxes").join(format!("{sandbox}.sock"))
    }

    fn describe(&self, record: &Record) -> Launch {
        let spec = &record.spec;
        let grace = u64::try_from(self.config.alone_grace.as_millis()).unwrap_or(u64::MAX);
        Launch {
            sandbox: record.sandbox.0.clone(),
            name: record.name.clone(),
            generation: record.generation.0,
            socket: self.socket(&record.sandbox),
            home: record.home.clone(),
            workspace: record.workspace.clone(),
            mounts: spec.mounts.clone(),
            hidden: vec![self.config.data_dir.clone(), self.config.runtime_dir.clone()],
            vars: spec.env.clone(),
            host_network: spec.network == Network::Host,
            cpu_millis: spec.cpu_millis,
            memory_bytes: spec.memory_bytes,
            max_processes: self.config.max_processes,
            alone_ms: (spec.idle != Span::ZERO).then(|| spec.idle.0.saturating_add(grace)),
            shell: self.config.shell.clone(),
            probe: false,
        }
    }

    /// Tries a set-up without leaving anything behind.
    pub async fn probe(&self) -> Result<Probe> {
        let folder = std::env::temp_dir();
        let description = Launch {
            sandbox: "probe".into(),
            name: "probe".into(),
            generation: 0,
            socket: PathBuf::new(),
            home: folder.clone(),
            workspace: folder,
            mounts: Vec::new(),
            hidden: Vec::new(),
            vars: std::collections::BTreeMap::new(),
            host_network: false,
            cpu_millis: Some(1000),
            memory_bytes: Some(1 << 30),
            max_processes: self.config.max_processes,
            alone_ms: None,
            shell: None,
            probe: true,
        };
        let ready = launch::launch(&self.config.exe, &description).await?;
        Ok(Probe {
            description: "Linux namespaces (user, mount, pid, ipc, uts, network), private root, seccomp filter, \
                          no capabilities"
                .into(),
            unenforced: ready.unenforced,
        })
    }

    /// The connection to a sandbox; `None` if it does not run.
    pub async fn connect(&self, record: &Record) -> Result<Option<Arc<Client>>> {
        let _one = self.connecting.lock().await;
        if let Some(live) = lock(&self.lives).get(&record.sandbox)
            && !live.client.is_gone()
        {
            return Ok(Some(live.client.clone()));
        }
        let connected = Client::connect(&self.socket(&record.sandbox), record.sandbox.as_str()).await;
        let Some(client) = connected.map_err(|error| unreachable(&error))? else { return Ok(None) };
        let client = Arc::new(client);
        lock(&self.lives).insert(record.sandbox.clone(), Live { client: client.clone(), ending: false });
        self.tell_the_end(record, &client);
        Ok(Some(client))
    }

    /// Whether a sandbox runs. One that does not answer, but whose first process lives, does: it must not be taken for
    /// stopped, nor may it make all the others unreachable.
    pub async fn runs(&self, record: &Record) -> Result<bool> {
        match self.connect(record).await {
            Ok(client) => Ok(client.is_some()),
            Err(_) if record.ready.as_ref().is_some_and(launch::lives) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Tells watchers when the sandbox ends without our asking. Keeps neither the connection nor this object alive.
    fn tell_the_end(&self, record: &Record, client: &Arc<Client>) {
        let (lives, events) = (Arc::downgrade(&self.lives), self.events.downgrade());
        let (sandbox, env, ready) = (record.sandbox.clone(), record.env.clone(), record.ready.clone());
        let records = Records::new(&self.config.data_dir);
        let (mut end, this) = (client.end(), Arc::downgrade(client));
        tokio::spawn(async move {
            // An error means that the connection was dropped by us, not that it ended.
            let Ok(farewell) = end.wait_for(Option::is_some).await.map(|end| end.clone().flatten()) else { return };
            if let Some(ready) = &ready {
                launch::gone(ready).await;
            }
            let (Some(lives), Some(events)) = (lives.upgrade(), events.upgrade()) else { return };
            let ours = {
                let mut lives = lock(&lives);
                match lives.get(&sandbox) {
                    Some(live) if std::ptr::eq(Arc::as_ptr(&live.client), this.as_ptr()) => {
                        lives.remove(&sandbox).is_some_and(|live| live.ending)
                    }
                    // Started again meanwhile.
                    _ => true,
                }
            };
            if !ours {
                let removed = records.read(&env).is_ok_and(|record| record.is_none());
                let why = farewell.unwrap_or_else(|| "its first process was killed from outside".into());
                // Nobody may be watching.
                let _ = events.send(BackendEvent::Ended { sandbox, removed, why });
            }
        });
    }

    /// Starts the processes of a sandbox that has none.
    pub async fn start(&self, record: &Record) -> Result<Ready> {
        let folder = self.config.runtime_dir.join("sandboxes");
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| {
            BackendError::new(
                FailureKind::Permanent,
                format!("cannot make {}: {error}", folder.display()),
                "check who owns the runtime directory",
            )
        })?;
        // Those of the last start may still be on their way out.
        if let Some(ready) = &record.ready
            && tokio::time::timeout(PATIENCE, launch::gone(ready)).await.is_err()
        {
            launch::kill(ready);
            let _ = tokio::time::timeout(PATIENCE, launch::gone(ready)).await;
        }
        launch::launch(&self.config.exe, &self.describe(record)).await
    }

    /// TERM, the grace period, KILL, to all inside. Resolves when nothing of it is left on the host.
    pub async fn stop(&self, record: &Record) -> Result<()> {
        self.end(record).await?;
        if let Some(ready) = &record.ready {
            launch::clear_up(ready, &self.socket(&record.sandbox));
        }
        Ok(())
    }

    async fn end(&self, record: &Record) -> Result<()> {
        let client = match self.connect(record).await {
            Ok(None) => return Ok(()),
            Ok(Some(client)) => Some(client),
            // It does not answer, so it cannot be asked: it is ended from outside below.
            Err(_) => None,
        };
        if let Some(live) = lock(&self.lives).get_mut(&record.sandbox) {
            live.ending = true;
        }
        if let Some(client) = &client {
            self.ask_to_end(client).await;
        }
        let Some(ready) = &record.ready else { return Ok(()) };
        if client.is_some_and(|client| client.is_gone())
            && tokio::time::timeout(PATIENCE, launch::gone(ready)).await.is_ok()
        {
            return Ok(());
        }
        launch::kill(ready);
        tokio::time::timeout(PATIENCE, launch::gone(ready)).await.map_err(|_| {
            BackendError::new(
                FailureKind::Temporary,
                format!("the sandbox {} does not end, although it was killed (process {})", record.sandbox, ready.pid),
                "look at that process on the host; it may wait for a disk or a network file system",
            )
        })
    }

    /// Asks a sandbox to end, and waits for its end within reason.
    async fn ask_to_end(&self, client: &Client) {
        let grace = self.config.stop_grace;
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        // It answers at once, and goes later.
        if tokio::time::timeout(PATIENCE, client.request(Op::Stop { grace_ms })).await.is_ok() {
            let mut end = client.end();
            let _ = tokio::time::timeout(grace + PATIENCE, end.wait_for(Option::is_some)).await;
        }
    }

    /// Ends a sandbox of which nothing is known any more but the connection to it.
    pub async fn stop_connected(&self, sandbox: &SandboxId) {
        let client = lock(&self.lives).get_mut(sandbox).map(|live| {
            live.ending = true;
            live.client.clone()
        });
        if let Some(client) = client {
            self.ask_to_end(&client).await;
        }
    }

    /// What lives inside.
    pub async fn evidence(&self, record: &Record) -> Result<Evidence> {
        let Some(client) = self.connect(record).await? else { return Ok(Evidence::default()) };
        match client.request(Op::Evidence).await {
            Ok((Answer::Evidence { processes, idle_shells }, _)) => Ok(as_evidence((processes, idle_shells))),
            Err(Failed::Gone) => Ok(Evidence::default()),
            other => Err(odd(record, other)),
        }
    }

    async fn running(&self, record: &Record) -> Result<Arc<Client>> {
        self.connect(record).await?.ok_or_else(|| stopped(&record.sandbox))
    }

    /// Opens a session, or takes over the one of that name that runs.
    pub async fn attach(&self, record: &Record, spec: AttachSpec) -> Result<PtyLink> {
        let client = self.running(record).await?;
        let (session, resume) = (spec.session.0, spec.resume);
        let end = client.session_end(&session);
        let open = Op::Open {
            session: session.clone(),
            program: spec.program,
            lead: spec.lead,
            vars: spec.env,
            cwd: spec.cwd,
            size: spec.size,
            resume,
        };
        let (master, missed) = match client.request(open).await {
            Ok((Answer::Opened { missed, .. }, fds)) => (fds.into_iter().next(), missed),
            Err(Failed::Refused(why)) => {
                let hint = if resume { "" } else { "name a program that is inside, or leave it out for a shell" };
                return Err(BackendError::new(FailureKind::Permanent, why, hint));
            }
            other => return Err(odd(record, other)),
        };
        let opened = || -> io::Result<_> {
            let master = master.ok_or_else(|| io::Error::other("its terminal did not arrive"))?;
            Ok((Master::new(master.try_clone()?)?, Master::new(master.try_clone()?)?, master))
        };
        let (reader, writer, master) = opened().map_err(|error| {
            BackendError::new(FailureKind::Temporary, format!("cannot open the session: {error}"), "try again")
        })?;
        let kept = client.clone();
        Ok(PtyLink {
            reader: Box::new(io::Cursor::new(missed).chain(reader)),
            writer: Box::new(writer),
            control: Box::new(Control { client, session, master }),
            exit: Box::pin(async move {
                let code = end.await.ok();
                drop(kept);
                code
            }),
        })
    }

    /// Runs a command on three pipes.
    pub async fn exec(&self, record: &Record, spec: ExecSpec) -> Result<ExecLink> {
        let client = self.running(record).await?;
        let call = spec.call.0;
        let end = client.call_end(&call);
        let op = Op::Exec { call: call.clone(), argv: spec.argv, vars: spec.env, cwd: spec.cwd };
        let ends = match client.request(op).await {
            Ok((Answer::Started, fds)) => fds,
            Ok((Answer::NotRun { code, why }, _)) => return Ok(super::not_run(code, &why)),
            Err(Failed::Refused(why)) => {
                return Err(BackendError::new(FailureKind::Permanent, why, "check the command and its directory"));
            }
            other => return Err(odd(record, other)),
        };
        let (stdin, stdout, stderr) = pipes(ends).map_err(|error| {
            BackendError::new(FailureKind::Temporary, format!("cannot run the command: {error}"), "try again")
        })?;
        let kept = client.clone();
        Ok(ExecLink {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            exit: Box::pin(async move {
                // With its sandbox, everything in it is killed.
                let code = end.await.unwrap_or(137);
                drop(kept);
                code
            }),
            kill: Box::new(move || {
                let (client, call) = (client.clone(), call.clone());
                Box::pin(async move {
                    let _ = client.request(Op::Kill { call }).await;
                })
            }),
        })
    }

    /// The sessions that a sandbox knows.
    pub async fn sessions(&self, record: &Record) -> Result<Vec<SessionRow>> {
        let Some(client) = self.connect(record).await? else { return Ok(Vec::new()) };
        match client.request(Op::Sessions).await {
            Ok((Answer::Sessions(rows), _)) => Ok(rows),
            Err(Failed::Gone) => Ok(Vec::new()),
            other => Err(odd(record, other)),
        }
    }
}

fn pipes(ends: Vec<OwnedFd>) -> io::Result<(pipe::Sender, pipe::Receiver, pipe::Receiver)> {
    let mut ends = ends.into_iter();
    let mut next = || ends.next().ok_or_else(|| io::Error::other("its pipes did not arrive"));
    Ok((
        pipe::Sender::from_owned_fd(next()?)?,
        pipe::Receiver::from_owned_fd(next()?)?,
        pipe::Receiver::from_owned_fd(next()?)?,
    ))
}

/// The sandbox ended, or said what was not asked.
fn odd(record: &Record, answer: std::result::Result<(Answer, Vec<OwnedFd>), Failed>) -> BackendError {
    match answer {
        Err(Failed::Gone) => stopped(&record.sandbox),
        Err(Failed::Refused(why)) => BackendError::new(FailureKind::Temporary, why, "try again"),
        Ok((answer, _)) => BackendError::new(
            FailureKind::Temporary,
            format!("the sandbox gave an answer that does not fit: {answer:?}"),
            "stop it and start it again",
        ),
    }
}

struct Control {
    client: Arc<Client>,
    session: String,
    master: OwnedFd,
}

impl PtyControl for Control {
    fn resize(&self, size: Size) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move { set_size(&self.master, size) })
    }

    fn close(&self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            match self.client.request(Op::Close { session: self.session.clone() }).await {
                // With its sandbox, the session is gone too.
                Ok(_) | Err(Failed::Gone) => Ok(()),
                Err(Failed::Refused(why)) => Err(io::Error::other(why)),
            }
        })
    }
}
