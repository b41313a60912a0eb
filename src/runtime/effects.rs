//! Performs what the core wants done to sandboxes. Each deed is a task of its own that reports back as an event.

use super::inbound::{Inbound, Inbox};
use crate::app::Msg;
use crate::backend::{AttachSpec, Backend, BackendError, ProvisionSpec, runs};
use crate::domain::{
    Chosen, ConversationId, Deed, EndpointId, EnvId, EnvSpec, Event, FailureKind, Generation, Origin, SandboxId,
    SessionId, Size,
};
use crate::pty::PtyLink;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// Making a sandbox may pull an image; nothing else may take that long.
const PROVISION: Duration = Duration::from_secs(600);
/// A stop waits for its grace period; a removal for the stop.
const TEARDOWN: Duration = Duration::from_secs(60);
/// A look, opening a PTY, or starting a command.
pub(super) const LOOK: Duration = Duration::from_secs(20);

/// At the end of the host, files are still deleted for this long.
const DELETIONS: Duration = Duration::from_secs(10);

/// A PTY that was opened, on its way to the loop.
pub struct OpenedSession {
    /// Which session.
    pub session: SessionId,
    /// Its generation.
    pub generation: Generation,
    /// The size it was opened with.
    pub size: Size,
    /// It was open already, and what it shows must be drawn anew.
    pub resumed: bool,
    /// The PTY.
    pub link: PtyLink,
}

/// Performs effects on the backends.
#[derive(Clone)]
pub struct Performer {
    backends: Arc<BTreeMap<EndpointId, Arc<dyn Backend>>>,
    envs_dir: PathBuf,
    inbox: Inbox,
    deletions: TaskTracker,
}

/// A sandbox to be made or started.
pub struct Provisioning {
    /// For whom.
    pub env: EnvId,
    /// Under which generation.
    pub generation: Generation,
    /// Its name.
    pub name: String,
    /// What it shall be.
    pub spec: EnvSpec,
    /// The conversation that it serves alone.
    pub conversation: Option<ConversationId>,
    /// The stopped one to start.
    pub existing: Option<SandboxId>,
}

/// A sandbox to be ended.
pub struct Ending {
    /// Whose.
    pub env: EnvId,
    /// Its endpoint.
    pub endpoint: EndpointId,
    /// The generation decided on.
    pub generation: Generation,
    /// The generation that its backend must still tell of it if it runs.
    pub listed: Generation,
    /// Its full id.
    pub sandbox: SandboxId,
    /// What to do.
    pub deed: Deed,
    /// Whose it is.
    pub whose: Origin,
    /// Whether what lives in it is meant to end with it.
    pub ordered: bool,
}

impl Performer {
    /// For these backends; `envs_dir` is the folder of the environments' files.
    #[must_use]
    pub fn new(backends: BTreeMap<EndpointId, Arc<dyn Backend>>, envs_dir: PathBuf, inbox: Inbox) -> Self {
        Self { backends: Arc::new(backends), envs_dir, inbox, deletions: TaskTracker::new() }
    }

    /// The backends by endpoint.
    #[must_use]
    pub fn backends(&self) -> &BTreeMap<EndpointId, Arc<dyn Backend>> {
        &self.backends
    }

    /// The backend of an endpoint.
    ///
    /// # Errors
    /// When this host has none of that name.
    pub fn backend(&self, endpoint: &EndpointId) -> Result<Arc<dyn Backend>, BackendError> {
        self.backends.get(endpoint).cloned().ok_or_else(|| {
            let known: Vec<_> = self.backends.keys().map(EndpointId::as_str).collect();
            BackendError::new(
                FailureKind::Permanent,
                format!("there is no endpoint {endpoint} here"),
                format!("use one of: {}", known.join(", ")),
            )
        })
    }

    /// Makes or starts a sandbox.
    pub fn provision(&self, what: Provisioning) {
        let this = self.clone();
        let busy = self.inbox.outstanding();
        tokio::spawn(async move {
            let (env, generation) = (what.env.clone(), what.generation);
            let event = match this.try_provision(what).await {
                Ok(sandbox) => Event::Provisioned { env, generation, sandbox },
                Err(e) => Event::ProvisionFailed { env, generation, kind: e.kind, message: e.message, hint: e.hint },
            };
            this.inbox.event(event).await;
            drop(busy);
        });
    }

    async fn try_provision(&self, what: Provisioning) -> Result<SandboxId, BackendError> {
        let backend = self.backend(&what.spec.endpoint)?;
        let folder = self.envs_dir.join(what.env.as_str());
        let spec = ProvisionSpec {
            env: what.env.clone(),
            name: what.name,
            generation: what.generation,
            spec: what.spec,
            home: folder.join("home"),
            workspace: folder.join("workspace"),
            conversation: what.conversation,
        };
        let inbox = self.inbox.clone();
        let env = what.env;
        let progress = Box::new(move |text: String| {
            // For people: one line lost while the loop is busy is no loss, one that comes after the end would stay.
            inbox.offer(Inbound::Msg(Msg::Progress { env: env.clone(), text }));
        });
        let work = async {
            match what.existing {
                Some(sandbox) => backend.start(sandbox, spec).await,
                None => backend.provision(spec, progress).await,
            }
        };
        within(PROVISION, "making the sandbox", work).await.map(|found| found.sandbox)
    }

    /// Looks into a sandbox.
    pub fn gather_evidence(&self, env: EnvId, endpoint: EndpointId, generation: Generation, sandbox: SandboxId) {
        let this = self.clone();
        let busy = self.inbox.outstanding();
        tokio::spawn(async move {
            let look = async {
                let backend = this.backend(&endpoint)?;
                within(LOOK, "looking into the sandbox", backend.evidence(sandbox)).await
            };
            let evidence = look.await.map_err(|e| e.message);
            this.inbox.event(Event::EvidenceGathered { env, generation, evidence }).await;
            drop(busy);
        });
    }

    /// Looks once more, then stops or removes without force.
    pub fn teardown(&self, what: Ending) {
        let this = self.clone();
        let busy = self.inbox.outstanding();
        tokio::spawn(async move {
            let (env, generation) = (what.env.clone(), what.generation);
            let event = match this.try_teardown(what).await {
                Ok(()) => Event::TeardownDone { env, generation },
                Err(e) => Event::TeardownFailed { env, generation, kind: e.kind, message: e.message },
            };
            this.inbox.event(event).await;
            drop(busy);
        });
    }

    async fn try_teardown(&self, what: Ending) -> Result<(), BackendError> {
        let backend = self.backend(&what.endpoint)?;
        let sandbox = what.sandbox;
        let Some(found) = within(LOOK, "looking at the sandbox", backend.inspect(sandbox.clone())).await? else {
            // Nothing is known of it: what runs of it all the same must not outlive its entry. A missing one is success.
            return end(&*backend, what.deed, sandbox, what.whose).await;
        };
        let surprise = |text: String| BackendError::new(FailureKind::Surprise, text, "nothing was ended");
        if found.origin != what.whose {
            return Err(surprise(format!("sandbox {sandbox} was made by somebody else than was thought")));
        }
        if found.sandbox != sandbox || found.env != what.env {
            return Err(surprise(format!("sandbox {sandbox} is now that of environment {}", found.env)));
        }
        if runs(found.state) {
            if found.generation != what.listed {
                return Err(surprise(format!("sandbox {sandbox} was started again meanwhile")));
            }
            if !what.ordered {
                let evidence = within(LOOK, "looking into the sandbox", backend.evidence(sandbox.clone())).await?;
                if let Some(process) = evidence.processes.first() {
                    return Err(surprise(format!("{} (pid {}) runs in it now", process.command, process.pid)));
                }
            }
        }
        end(&*backend, what.deed, sandbox, what.whose).await
    }

    /// Tells a backend which sandboxes of others are to be shown.
    pub fn choose(&self, endpoint: &EndpointId, chosen: Chosen) {
        if let Ok(backend) = self.backend(endpoint) {
            backend.choose(chosen);
        }
    }

    /// Deletes the files of an environment that a person removed with its data.
    pub fn delete_data(&self, env: &EnvId) {
        let folder = self.envs_dir.join(env.as_str());
        let inbox = self.inbox.clone();
        let busy = self.inbox.outstanding();
        self.deletions.spawn_blocking(move || {
            if let Err(e) = super::erase::erase(&folder) {
                let text = format!("deleting {} failed: {e}; delete the folder by hand", folder.display());
                tracing::warn!("{text}");
                inbox.note_trouble(&text);
                inbox.send_blocking(Inbound::Msg(Msg::Trouble(text)));
            }
            drop(busy);
        });
    }

    /// Waits until what is to be deleted is deleted, within reason: at the end of the host.
    pub async fn finish_deletions(&self) {
        self.deletions.close();
        if tokio::time::timeout(DELETIONS, self.deletions.wait()).await.is_err() {
            tracing::warn!("files of removed environments are left: deleting them took too long");
        }
    }

    /// Opens a PTY.
    pub fn open_session(&self, endpoint: EndpointId, sandbox: SandboxId, generation: Generation, spec: AttachSpec) {
        let this = self.clone();
        let busy = self.inbox.outstanding();
        tokio::spawn(async move {
            let (session, size, resumed) = (spec.session.clone(), spec.size, spec.resume);
            let open = async {
                let backend = this.backend(&endpoint)?;
                within(LOOK, "opening a shell", backend.attach(sandbox, spec)).await
            };
            match open.await {
                Ok(link) => {
                    let opened = OpenedSession { session, generation, size, resumed, link };
                    this.inbox.send(Inbound::Opened(Box::new(opened))).await;
                }
                Err(e) => {
                    let message = if e.hint.is_empty() { e.message } else { format!("{}; {}", e.message, e.hint) };
                    this.inbox.event(Event::SessionFailed { session, generation, message }).await;
                }
            }
            drop(busy);
        });
    }
}

/// What runs in a session beside the sandbox's own variables.
#[must_use]
pub fn session_env(name: &str, session: &SessionId) -> Vec<(String, String)> {
    [
        ("TERM", "xterm-256color"),
        ("COLORTERM", "truecolor"),
        ("LANG", "C.UTF-8"),
        ("HTUI_ENVIRONMENT", name),
        ("HTUI_SESSION", session.as_str()),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .to_vec()
}

async fn end(backend: &dyn Backend, deed: Deed, sandbox: SandboxId, whose: Origin) -> Result<(), BackendError> {
    match deed {
        Deed::Stop => within(TEARDOWN, "stopping the sandbox", backend.stop(sandbox, whose)).await,
        Deed::Remove => within(TEARDOWN, "removing the sandbox", backend.remove(sandbox, whose)).await,
    }
}

async fn within<T>(
    limit: Duration,
    what: &str,
    work: impl Future<Output = Result<T, BackendError>>,
) -> Result<T, BackendError> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        Err(BackendError::new(
            FailureKind::Temporary,
            format!("{what} took longer than {} s", limit.as_secs()),
            "it is tried again; the log says more",
        ))
    })
}
