//! Environments: what was wanted, and what became of it.

use super::books::Books;
use super::id::{ConversationId, EndpointId, EnvId, Generation, SandboxId};
use super::lease::Lease;
use super::moment::{Moment, Span};
use super::watched::Watched;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A kind of sandbox provider.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// The embedded sandbox made from kernel namespaces.
    Local,
    /// Containers of a docker-compatible engine.
    Docker,
}

/// Who made the sandbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Made by us.
    #[default]
    Managed,
    /// Made by a hermes-agent; watched, never ended without consent.
    Hermes,
    /// Any other container that the user chose to show; never ended.
    Foreign,
}

/// Whether an environment outlives its turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Persistence {
    /// Outlives turns.
    Persistent,
    /// Removed when its scope ends.
    Ephemeral,
    /// Not ours and not to be told.
    Unknown,
}

/// Whom an environment serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One turn; ephemeral only.
    Turn,
    /// One conversation.
    Session,
    /// Several conversations; ends with the last one.
    Shared,
}

/// What becomes of a persistent managed environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retention {
    /// Stopped at conversation end and at the idle deadline.
    StopOnSessionEnd,
    /// Never touched.
    KeepRunning,
    /// Removed at conversation end and at the idle deadline.
    RemoveOnSessionEnd,
    /// Untouched at conversation end, removed at the idle deadline.
    IdleTtl,
}

/// The network a sandbox gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Loopback only.
    None,
    /// What the engine gives by default.
    Default,
    /// The host's own.
    Host,
}

/// A folder of the host shown inside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mount {
    /// Absolute path on the host.
    pub source: String,
    /// Absolute path inside.
    pub target: String,
    /// Whether it is read-only inside.
    pub read_only: bool,
}

/// What was asked for when an environment was made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EnvSpec {
    /// Kind of provider.
    pub backend: BackendKind,
    /// Which engine of it.
    pub endpoint: EndpointId,
    /// Image, for backends that have images.
    pub image: Option<String>,
    /// Persistent or ephemeral.
    pub persistence: Persistence,
    /// Whom it serves.
    pub scope: Scope,
    /// What becomes of it (persistent only; kept for ephemeral but without effect).
    pub retention: Retention,
    /// Idle time after which the reaper acts; zero means never.
    pub idle: Span,
    /// Folders of the host shown inside.
    pub mounts: Vec<Mount>,
    /// Variables set inside. Values are never printed.
    pub env: BTreeMap<String, String>,
    /// Network.
    pub network: Network,
    /// Processor limit in thousandths of a core.
    pub cpu_millis: Option<u32>,
    /// Memory limit in bytes.
    pub memory_bytes: Option<u64>,
    /// True only on the user's explicit word: a plain shell on the host, not isolated.
    pub on_host: bool,
}

impl EnvSpec {
    /// A persistent local environment with every default of `turn begin`.
    #[must_use]
    pub fn local() -> Self {
        Self {
            backend: BackendKind::Local,
            endpoint: EndpointId::new("local"),
            image: None,
            persistence: Persistence::Persistent,
            scope: Scope::Session,
            retention: Retention::StopOnSessionEnd,
            idle: Span::seconds(300),
            mounts: Vec::new(),
            env: BTreeMap::new(),
            network: Network::None,
            cpu_millis: None,
            memory_bytes: None,
            on_host: false,
        }
    }
}

/// Where an environment stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// No sandbox.
    Absent,
    /// A sandbox is being made or started.
    Provisioning,
    /// Usable.
    Ready,
    /// Being stopped or removed; listed until the backend confirms.
    Reaping,
    /// The sandbox exists but does not run.
    Stopped,
    /// Removed behind our back.
    Lost,
    /// Could not be made; `failure` says when it is tried again.
    Failed,
}

/// What last counted as use.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Activity {
    /// Kind.
    pub kind: ActivityKind,
    /// For people, for example the command.
    pub detail: String,
    /// When.
    pub at: Moment,
}

/// What counts as use. Output alone, probes and keep-alives do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActivityKind {
    /// The sandbox was made or started.
    Started,
    /// A turn began or ended.
    Turn,
    /// A command started or ended.
    Command,
    /// A person pressed a key, pasted, scrolled or focused.
    Person,
    /// Somebody else's exec in the container.
    Exec,
    /// A person asked for more time.
    Extended,
    /// Found again at a start of the host.
    Adopted,
}

/// How the last sandbox of an environment ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ending {
    /// When it was confirmed.
    pub at: Moment,
    /// One sentence for people, for example "stopped after 5 s idle".
    pub why: String,
}

/// Why the last attempt failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// When it failed.
    pub at: Moment,
    /// What the backend said.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// How often in a row.
    pub attempts: u32,
    /// When it is tried again by itself; `None` = only when asked.
    pub retry_at: Option<Moment>,
}

/// One environment and all that is known of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Environment {
    /// Its id.
    pub id: EnvId,
    /// Its name, unique among those listed on one endpoint.
    pub name: String,
    /// What was asked for.
    pub spec: EnvSpec,
    /// Who made it.
    pub origin: Origin,
    /// What is known of it where somebody else made it.
    #[serde(default)]
    pub watched: Option<Box<Watched>>,
    /// Its processes are there, but halted by somebody else.
    #[serde(default)]
    pub paused: bool,
    /// Since when a person has it to themselves: agents' commands that come through us wait.
    #[serde(default)]
    pub taken: Option<Moment>,
    /// When it was first made.
    pub created: Moment,
    /// Where it stands.
    pub phase: Phase,
    /// Since when.
    pub phase_since: Moment,
    /// Grows with each provision and each start.
    pub generation: Generation,
    /// The sandbox, from the backend's confirmation of its making until that of its end.
    pub sandbox: Option<SandboxId>,
    /// Claims that it is in use.
    pub leases: Vec<Lease>,
    /// What last counted as use.
    pub last_activity: Activity,
    /// When the reaper acts: exists exactly while ready, unheld, and idle reaping is on.
    pub deadline: Option<Moment>,
    /// Whether the warning for this deadline was given.
    pub warned: bool,
    /// Conversations that it serves.
    pub conversations: BTreeSet<ConversationId>,
    /// Set while a person typed in it, or asked for more time, during the running turn (defers the end of scope `turn`).
    pub person_typed: bool,
    /// The last failure, until something succeeds.
    pub failure: Option<Failure>,
    /// How its last sandbox ended.
    pub last_ending: Option<Ending>,
    /// The core's own notes.
    #[serde(default)]
    pub books: Books,
}

impl Environment {
    /// A new one without a sandbox.
    #[must_use]
    pub fn new(id: EnvId, name: impl Into<String>, spec: EnvSpec, origin: Origin, now: Moment) -> Self {
        Self {
            id,
            name: name.into(),
            spec,
            origin,
            watched: None,
            paused: false,
            taken: None,
            created: now,
            phase: Phase::Absent,
            phase_since: now,
            generation: Generation::default(),
            sandbox: None,
            leases: Vec::new(),
            last_activity: Activity { kind: ActivityKind::Started, detail: "listed".into(), at: now },
            deadline: None,
            warned: false,
            conversations: BTreeSet::new(),
            person_typed: false,
            failure: None,
            last_ending: None,
            books: Books::default(),
        }
    }

    /// Whether it is removed when its scope ends.
    #[must_use]
    pub fn is_ephemeral(&self) -> bool {
        self.spec.persistence == Persistence::Ephemeral
    }
}
