//! The settings themselves, with their defaults.

use super::keys::KeyPress;
use super::rules::{Rule, matches};
use crate::domain::{BackendKind, Consent, EndpointId, EnvSpec, Network, Persistence, Retention, Scope, Span};
use crossterm::event::{KeyCode, KeyModifiers};
use std::collections::BTreeMap;

/// Colours of the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Theme {
    /// As the terminal's background is; dark where it does not tell.
    #[default]
    Auto,
    /// For dark terminals.
    Dark,
    /// For light terminals.
    Light,
    /// Without colour.
    Mono,
}

/// Keys that differ from the built-in ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyMap {
    /// The key after which the next key is a command. Twice sends it to the program.
    pub leader: KeyPress,
    /// Whether keys that work without the leader in PANE are on (`Ctrl+Alt+h`, `Ctrl+Alt+1`, …).
    pub prefix_free: bool,
    /// Command name → keys after the leader.
    pub after_leader: BTreeMap<String, Vec<KeyPress>>,
    /// Command name → keys in NAV.
    pub nav: BTreeMap<String, Vec<KeyPress>>,
    /// Command name → keys that work without the leader.
    pub direct: BTreeMap<String, Vec<KeyPress>>,
}

impl Default for KeyMap {
    fn default() -> Self {
        Self {
            leader: KeyPress::new(KeyCode::Char('b'), KeyModifiers::CONTROL),
            prefix_free: true,
            after_leader: BTreeMap::new(),
            nav: BTreeMap::new(),
            direct: BTreeMap::new(),
        }
    }
}

/// Histories of panes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    /// Lines kept for each session.
    pub lines: usize,
    /// Bytes that all histories together may use; the oldest lines of hidden sessions are shed first.
    pub memory_bytes: usize,
    /// Bytes of output kept for each command of the agent.
    pub call_bytes: usize,
    /// Whether what sessions showed goes to disk, for the next host.
    pub persist: bool,
}

impl Default for History {
    fn default() -> Self {
        Self { lines: 10_000, memory_bytes: 512 << 20, call_bytes: 64 << 10, persist: false }
    }
}

/// Whether programs may write to a person's clipboard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Programs {
    /// Whoever sees the program's pane is asked.
    #[default]
    Ask,
    /// They may.
    Allow,
    /// They may not.
    Never,
}

/// Which programs may write to a person's clipboard (OSC 52).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clipboard {
    /// Those of environments that nothing else is said of.
    pub programs: Programs,
    /// Patterns of names of environments whose programs may.
    pub allow: Vec<String>,
    /// Patterns of names of environments whose programs may not; they win.
    pub never: Vec<String>,
}

impl Clipboard {
    /// What holds for the programs of an environment of that name.
    #[must_use]
    pub fn of(&self, name: &str) -> Programs {
        let listed = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        match () {
            () if listed(&self.never) => Programs::Never,
            () if listed(&self.allow) => Programs::Allow,
            () => self.programs,
        }
    }
}

/// What a new environment is when nothing else is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnvDefaults {
    /// Backend.
    pub backend: BackendKind,
    /// Endpoint; `None` = the backend's usual one.
    pub endpoint: Option<String>,
    /// The engine of a container that names none, whatever the backend is; `None` = the first that was chosen or answers.
    pub engine: Option<String>,
    /// Persistent or ephemeral.
    pub persistence: Persistence,
    /// Whom it serves.
    pub scope: Scope,
    /// What becomes of it.
    pub retention: Retention,
    /// Idle time; zero = never.
    pub idle: Span,
    /// Image, for backends that have images.
    pub image: Option<String>,
    /// Network.
    pub network: Network,
}

impl Default for EnvDefaults {
    fn default() -> Self {
        let spec = EnvSpec::local();
        Self {
            backend: spec.backend,
            endpoint: None,
            engine: None,
            persistence: spec.persistence,
            scope: spec.scope,
            retention: spec.retention,
            idle: spec.idle,
            image: None,
            network: spec.network,
        }
    }
}

impl EnvDefaults {
    /// What a new environment shall be.
    #[must_use]
    pub fn spec(&self) -> EnvSpec {
        let usual = match self.backend {
            BackendKind::Local => "local",
            BackendKind::Docker => "docker",
        };
        EnvSpec {
            backend: self.backend,
            endpoint: EndpointId::new(self.endpoint.clone().unwrap_or_else(|| usual.to_owned())),
            image: self.image.clone().filter(|_| self.backend == BackendKind::Docker),
            persistence: self.persistence,
            scope: self.scope,
            retention: self.retention,
            idle: self.idle,
            network: self.network,
            ..EnvSpec::local()
        }
    }
}

/// A container engine that the configuration names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedEndpoint {
    /// Where it is.
    pub url: String,
    /// The folder of `ca.pem`, `cert.pem` and `key.pem`, for one with TLS.
    pub certificates: Option<String>,
}

/// Every setting that the screen and the core know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Keys.
    pub keys: KeyMap,
    /// Colours.
    pub theme: Theme,
    /// Plain ASCII instead of box drawing; `None` = as the terminal and the locale can.
    pub ascii: Option<bool>,
    /// Width of the sidebar in columns, borders included.
    pub sidebar_width: u16,
    /// Whether the mouse is used.
    pub mouse: bool,
    /// Whether a selection by mouse is copied on release.
    pub copy_on_select: bool,
    /// Program that gets what is copied, where the screen is shown; empty = none.
    pub copy_command: Vec<String>,
    /// Where texts are saved unless another place is named. No setting of the file: the runtime knows it.
    pub save_dir: String,
    /// Whether the first turn of a conversation opens a tab.
    pub open_turn_tabs: bool,
    /// Seconds that the user's clock is ahead of UTC. No setting of the file: the runtime knows it.
    pub utc_offset_seconds: i32,
    /// Program of a new session; empty = the shell found in the sandbox.
    pub shell: Vec<String>,
    /// Container engines by name.
    pub endpoints: BTreeMap<String, NamedEndpoint>,
    /// Whether container engines are looked for in the usual places, too.
    pub usual_endpoints: bool,
    /// Histories.
    pub history: History,
    /// Which programs may write to a person's clipboard.
    pub clipboard: Clipboard,
    /// Whether programs may ask for sums of the cells of their screen (DECRQCRA).
    pub checksums: bool,
    /// New environments.
    pub env: EnvDefaults,
    /// What may be ended of what a hermes-agent made.
    pub hermes: Consent,
    /// Which conversation gets which environment; the first that fits.
    pub rules: Vec<Rule>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keys: KeyMap::default(),
            theme: Theme::default(),
            ascii: None,
            sidebar_width: 30,
            mouse: true,
            copy_on_select: true,
            copy_command: Vec::new(),
            save_dir: String::new(),
            open_turn_tabs: true,
            utc_offset_seconds: 0,
            shell: Vec::new(),
            endpoints: BTreeMap::new(),
            usual_endpoints: true,
            history: History::default(),
            clipboard: Clipboard::default(),
            checksums: false,
            env: EnvDefaults::default(),
            hermes: Consent::default(),
            rules: Vec::new(),
        }
    }
}
