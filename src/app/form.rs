//! The form for a new environment: every field is a choice or a line, with what it means beside it.

use super::input::Line;
use crate::config::{EnvDefaults, KeyPress};
use crate::domain::naming::LONGEST_NAME;
use crate::domain::{BackendKind, EndpointId, EnvSpec, Network, Persistence, Retention, Scope, Span, words};
use crossterm::event::KeyCode;

/// The form.
#[derive(Clone, PartialEq, Debug)]
pub struct Form {
    fields: Vec<Field>,
    /// The selected field.
    pub selected: usize,
    spec: EnvSpec,
    /// The configured image.
    image: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
struct Field {
    which: Which,
    value: Value,
}

#[derive(Clone, PartialEq, Debug)]
enum Value {
    Text(Line),
    Choice(usize, &'static [(&'static str, &'static str)]),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    Name,
    Backend,
    Image,
    Persistence,
    Scope,
    Retention,
    Idle,
    Network,
    Isolation,
    Memory,
    Cpus,
    Mount,
}

const BACKENDS: &[(&str, &str)] =
    &[("local", "embedded sandbox, nothing else needed"), ("docker", "container of a docker-compatible engine")];
const PERSISTENCE: &[(&str, &str)] =
    &[("persistent", "outlives turns; its files stay"), ("ephemeral", "removed when its scope ends")];
const SCOPES: &[(&str, &str)] =
    &[("session", "serves one conversation"), ("shared", "serves several conversations"), ("turn", "serves one turn")];
const RETENTIONS: &[(&str, &str)] = &[
    ("stop_on_session_end", "stopped when idle or at conversation end"),
    ("keep_running", "never touched"),
    ("remove_on_session_end", "removed when idle or at conversation end; files stay"),
    ("idle_ttl", "removed when idle; files stay"),
];
const NETWORKS: &[(&str, &str)] =
    &[("none", "loopback only"), ("default", "what the engine gives"), ("host", "the host's own: not isolated")];
const SANDBOX: &str = "sandbox";
const HOST_SHELL: &str = "host shell";
const ISOLATIONS: &[(&str, &str)] =
    &[(SANDBOX, "sees its own files only"), (HOST_SHELL, "NOT ISOLATED: runs as you, on this machine")];

impl Form {
    /// A form filled with the defaults.
    #[must_use]
    pub fn new(defaults: &EnvDefaults) -> Self {
        let text = |t: String| Value::Text(Line::new(&t));
        let choice = |list: &'static [(&'static str, &'static str)], name: &str| {
            Value::Choice(list.iter().position(|(n, _)| *n == name).unwrap_or(0), list)
        };
        let fields = [
            (Which::Name, text(String::new())),
            (Which::Backend, choice(BACKENDS, words::backend(defaults.backend))),
            (Which::Image, text(defaults.image.clone().unwrap_or_default())),
            (Which::Persistence, choice(PERSISTENCE, words::persistence(defaults.persistence))),
            (Which::Scope, choice(SCOPES, words::scope(defaults.scope))),
            (Which::Retention, choice(RETENTIONS, words::retention(defaults.retention))),
            (Which::Idle, text((defaults.idle.0 / 1000).to_string())),
            // Before the fields that depend on it: the selection stays where it is when those go.
            (Which::Isolation, choice(ISOLATIONS, SANDBOX)),
            (Which::Network, choice(NETWORKS, words::network(defaults.network))),
            (Which::Memory, text(String::new())),
            (Which::Cpus, text(String::new())),
            (Which::Mount, text(String::new())),
        ];
        Self {
            fields: fields.into_iter().map(|(which, value)| Field { which, value }).collect(),
            selected: 0,
            spec: defaults.spec(),
            image: defaults.image.clone(),
        }
    }

    /// Fields that matter for what is chosen.
    fn shown(&self) -> Vec<usize> {
        (0..self.fields.len())
            .filter(|i| match self.fields[*i].which {
                Which::Image => self.value(Which::Backend) == "docker",
                Which::Retention => self.value(Which::Persistence) == "persistent",
                Which::Isolation => self.value(Which::Backend) == "local",
                Which::Network => !self.on_host(),
                _ => true,
            })
            .collect()
    }

    /// Label, value, help of each field that matters.
    #[must_use]
    pub fn rows(&self) -> Vec<(String, String, String)> {
        self.shown()
            .into_iter()
            .map(|i| {
                let field = &self.fields[i];
                let (value, help) = match &field.value {
                    Value::Text(line) => (line.text().to_owned(), field.which.help().to_owned()),
                    Value::Choice(at, list) => (format!("‹ {} ›", list[*at].0), list[*at].1.to_owned()),
                };
                (field.which.label().to_owned(), value, help)
            })
            .collect()
    }

    /// Where the cursor is in the selected field, in columns; `None` in one that is a choice.
    #[must_use]
    pub fn cursor(&self) -> Option<u16> {
        match self.shown().get(self.selected).map(|i| &self.fields[*i].value)? {
            Value::Text(line) => Some(line.column()),
            Value::Choice(..) => None,
        }
    }

    /// Takes a key in. False if it is none for the form.
    pub fn key(&mut self, key: KeyPress) -> bool {
        let shown = self.shown();
        let last = shown.len().saturating_sub(1);
        match key.code {
            KeyCode::Tab if key.mods.is_empty() => {
                self.selected = if self.selected >= last { 0 } else { self.selected + 1 }
            }
            KeyCode::Tab => self.selected = self.selected.checked_sub(1).unwrap_or(last),
            KeyCode::Down => self.selected = (self.selected + 1).min(last),
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            code => {
                let Some(field) = shown.get(self.selected).map(|i| &mut self.fields[*i]) else { return false };
                match (&mut field.value, code) {
                    (Value::Choice(at, list), KeyCode::Right | KeyCode::Char(' ')) => *at = (*at + 1) % list.len(),
                    (Value::Choice(at, list), KeyCode::Left) => *at = (*at + list.len() - 1) % list.len(),
                    (Value::Choice(..), _) => return false,
                    (Value::Text(line), _) => return line.key(key),
                }
            }
        }
        self.selected = self.selected.min(self.shown().len().saturating_sub(1));
        true
    }

    /// Types a pasted text into the selected field.
    pub fn paste(&mut self, text: &str) {
        let at = self.shown().get(self.selected).copied();
        if let Some(Value::Text(line)) = at.map(|i| &mut self.fields[i].value) {
            line.paste(text);
        }
    }

    /// A plain shell of the host: only ever on the user's explicit word.
    fn on_host(&self) -> bool {
        self.value(Which::Backend) == "local" && self.value(Which::Isolation) == HOST_SHELL
    }

    fn value(&self, which: Which) -> &str {
        match self.fields.iter().find(|f| f.which == which).map(|f| &f.value) {
            Some(Value::Text(line)) => line.text().trim(),
            Some(Value::Choice(at, list)) => list[*at].0,
            None => "",
        }
    }

    /// Name and spec.
    ///
    /// # Errors
    /// The first thing that cannot be accepted, for people.
    pub fn accept(&self) -> Result<(Option<String>, EnvSpec), String> {
        let name = self.value(Which::Name);
        if !name.is_empty() {
            check_name(name)?;
        }
        let mut spec = self.spec.clone();
        let docker = self.value(Which::Backend) == "docker";
        let backend = if docker { BackendKind::Docker } else { BackendKind::Local };
        if backend != spec.backend {
            spec.backend = backend;
            spec.endpoint = EndpointId::new(self.value(Which::Backend));
        }
        let image = Some(self.value(Which::Image).to_owned()).filter(|image| !image.is_empty());
        spec.image = image.or_else(|| self.image.clone()).filter(|_| docker);
        if docker && spec.image.is_none() {
            return Err("image: a container needs one, for example debian:12".to_owned());
        }
        spec.persistence = match self.value(Which::Persistence) {
            "ephemeral" => Persistence::Ephemeral,
            _ => Persistence::Persistent,
        };
        spec.scope = match self.value(Which::Scope) {
            "turn" => Scope::Turn,
            "shared" => Scope::Shared,
            _ => Scope::Session,
        };
        if spec.scope == Scope::Turn && spec.persistence == Persistence::Persistent {
            return Err("scope `turn` is for ephemeral environments: choose another scope, or ephemeral".to_owned());
        }
        spec.retention = match self.value(Which::Retention) {
            "keep_running" => Retention::KeepRunning,
            "remove_on_session_end" => Retention::RemoveOnSessionEnd,
            "idle_ttl" => Retention::IdleTtl,
            _ => Retention::StopOnSessionEnd,
        };
        let idle = self.value(Which::Idle);
        spec.idle = Span::seconds(
            idle.parse().map_err(|_| format!("idle time: `{idle}` is no number of seconds; 0 means never"))?,
        );
        spec.network = match self.value(Which::Network) {
            "default" => Network::Default,
            "host" => Network::Host,
            _ => Network::None,
        };
        spec.on_host = self.on_host();
        if spec.on_host {
            spec.network = Network::Host;
        }
        let memory = self.value(Which::Memory);
        if !memory.is_empty() {
            spec.memory_bytes =
                Some(bytes(memory).ok_or_else(|| format!("memory: `{memory}` is no size; write 512M or 2G"))?);
        }
        let cpus = self.value(Which::Cpus);
        if !cpus.is_empty() {
            let n: Option<f64> = cpus.parse().ok().filter(|n| (0.01..=1024.0).contains(n));
            let n = n.ok_or_else(|| format!("cpus: `{cpus}` is no number of cores; write 0.5 or 2"))?;
            spec.cpu_millis = Some((n * 1000.0).round() as u32);
        }
        let mount = self.value(Which::Mount);
        if !mount.is_empty() {
            spec.mounts.push(parse_mount(mount)?);
        }
        Ok((Some(name.to_owned()).filter(|n| !n.is_empty()), spec))
    }
}

impl Which {
    fn label(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Backend => "backend",
            Self::Image => "image",
            Self::Persistence => "persistence",
            Self::Scope => "scope",
            Self::Retention => "retention",
            Self::Idle => "idle seconds",
            Self::Network => "network",
            Self::Isolation => "isolation",
            Self::Memory => "memory",
            Self::Cpus => "cpus",
            Self::Mount => "mount",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Name => "empty: a free one is chosen",
            Self::Image => "for example debian:12; empty: the configured one",
            Self::Idle => "after which the reaper acts; 0 = never",
            Self::Memory => "for example 512M; empty: no limit of its own",
            Self::Cpus => "for example 1.5; empty: no limit of its own",
            Self::Mount => "/on/host:/inside or …:ro",
            _ => "",
        }
    }
}

/// Whether a text can name an environment.
///
/// # Errors
/// What is wrong with it, for people.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a name has at least one character".to_owned());
    }
    if name.chars().count() > LONGEST_NAME {
        return Err(format!("a name has at most {LONGEST_NAME} characters"));
    }
    if name.starts_with('-') {
        return Err("a name does not begin with `-`".to_owned());
    }
    match name.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))) {
        Some(c) => Err(format!("`{c}` cannot stand in a name: letters, digits, `-`, `_` and `.` can")),
        None => Ok(()),
    }
}

fn bytes(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let lower = lower.strip_suffix('b').unwrap_or(&lower);
    let lower = lower.strip_suffix('i').unwrap_or(lower);
    let (digits, shift) = match lower.char_indices().last()? {
        (at, 'k') => (&lower[..at], 10),
        (at, 'm') => (&lower[..at], 20),
        (at, 'g') => (&lower[..at], 30),
        _ => (lower, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|n| *n >= 1 << 20)
}

fn parse_mount(text: &str) -> Result<crate::domain::Mount, String> {
    let (text, read_only) = match text.strip_suffix(":ro") {
        Some(rest) => (rest, true),
        None => (text.strip_suffix(":rw").unwrap_or(text), false),
    };
    match text.split_once(':') {
        Some((source, target)) if source.starts_with('/') && target.starts_with('/') => {
            Ok(crate::domain::Mount { source: source.to_owned(), target: target.to_owned(), read_only })
        }
        _ => Err(format!("mount: `{text}` must be two absolute paths, /on/host:/inside")),
    }
}
