//! The table of settings: path, meaning, default, and how a value is taken in. The commented default file, its
//! schema, the check for unknown keys and the loader all come from it.

use super::keys::KeyPress;
use super::options::{NamedEndpoint, Options, Programs, Theme};
use super::rules;
use crate::domain::{BackendKind, HermesReap, Network, Persistence, Retention, Scope, Span};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The text is not TOML. Nothing of it is used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the configuration cannot be read: {0}")]
pub struct ConfigError(pub String);

/// What a configuration text gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loaded {
    /// The settings; what was wrong keeps its default.
    pub options: Options,
    /// One sentence for each key that is unknown or has a value that cannot be used.
    pub warnings: Vec<String>,
    /// The same of what the text says, with the place of each.
    pub faults: Vec<Fault>,
}

/// Something in a configuration that is not taken as it stands there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The names that lead to it, outermost first.
    pub path: Vec<String>,
    /// What is wrong, one sentence.
    pub says: String,
    /// The name that may have been meant.
    pub nearest: Option<String>,
}

impl Fault {
    pub(super) fn new(path: &str, says: impl Into<String>) -> Self {
        let path = path.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Self { path, says: says.into(), nearest: None }
    }

    fn of(path: &str, name: &str, says: impl Into<String>) -> Self {
        let mut fault = Self::new(path, says);
        fault.path.push(name.to_owned());
        fault
    }
}

/// What values a setting takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One of these words.
    Words(&'static [&'static str]),
    /// true or false.
    Flag,
    /// A whole number from this one to that one.
    Number {
        /// The least.
        from: i64,
        /// The greatest.
        to: i64,
    },
    /// A text.
    Text,
    /// A list of texts.
    Texts,
    /// A key, for example `ctrl+b`.
    Key,
    /// Container engines by name.
    Endpoints,
}

/// One setting.
pub struct Setting {
    /// Its path, for example `history.lines`.
    pub path: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Its default as TOML.
    pub default: &'static str,
    /// What it means.
    pub help: &'static str,
    /// Takes a value in, or says what it must be.
    set: fn(&mut Options, &Value) -> Result<(), String>,
}

/// Tables of key bindings: path, meaning, example.
pub(super) const BINDINGS: &[(&str, &str, &str)] = &[
    (
        "keys.after_leader",
        "Keys after the leader, by command name (the names stand in the help and in the palette).",
        "split-right = [\"%\", \"v\"]",
    ),
    ("keys.nav", "Keys in NAV, by command name.", "env-new = [\"n\"]"),
    (
        "keys.direct",
        "Keys that work in every pane without the leader. They are then hidden from programs: choose rare ones.",
        "focus-left = [\"ctrl+alt+h\"]",
    ),
];

/// Every setting, in the order of the default file.
pub const SETTINGS: &[Setting] = &[
    Setting {
        path: "theme",
        kind: Kind::Words(&["auto", "dark", "light", "mono"]),
        default: "\"auto\"",
        help: "Colours: dark, light or mono. auto is dark or light as the terminal's background is, if it tells.",
        set: |o, v| {
            let known = [("auto", Theme::Auto), ("dark", Theme::Dark), ("light", Theme::Light), ("mono", Theme::Mono)];
            o.theme = choice(v, &known)?;
            Ok(())
        },
    },
    Setting {
        path: "ascii",
        kind: Kind::Flag,
        default: "false",
        help: "Plain ASCII instead of box drawing, also where the terminal could.",
        set: |o, v| {
            o.ascii = Some(boolean(v)?);
            Ok(())
        },
    },
    Setting {
        path: "sidebar_width",
        kind: Kind::Number { from: 16, to: 80 },
        default: "30",
        help: "Width of the sidebar in columns, 16 to 80. Never more than a third of the screen.",
        set: |o, v| {
            o.sidebar_width = u16::try_from(number(v, 16, 80)?).unwrap_or(30);
            Ok(())
        },
    },
    Setting {
        path: "mouse",
        kind: Kind::Flag,
        default: "true",
        help: "Click, drag and wheel. With false the outer terminal keeps its own selection.",
        set: |o, v| {
            o.mouse = boolean(v)?;
            Ok(())
        },
    },
    Setting {
        path: "copy_on_select",
        kind: Kind::Flag,
        default: "true",
        help: "Copy a selection made with the mouse when the button is released.",
        set: |o, v| {
            o.copy_on_select = boolean(v)?;
            Ok(())
        },
    },
    Setting {
        path: "open_turn_tabs",
        kind: Kind::Flag,
        default: "true",
        help: "Open a tab when the first turn of a conversation begins.",
        set: |o, v| {
            o.open_turn_tabs = boolean(v)?;
            Ok(())
        },
    },
    Setting {
        path: "shell",
        kind: Kind::Texts,
        default: "[]",
        help: "Program and arguments of new sessions. Empty: bash, zsh, ash or sh, whichever the sandbox has.",
        set: |o, v| {
            o.shell = texts(v)?;
            Ok(())
        },
    },
    Setting {
        path: "endpoints",
        kind: Kind::Endpoints,
        default: "{}",
        help: "Container engines by name: URLs, or { url, certificates = FOLDER }. For example { gpu = \"ssh://me@gpu\" }.",
        set: |o, v| {
            o.endpoints = endpoints(v)?;
            Ok(())
        },
    },
    Setting {
        path: "usual_endpoints",
        kind: Kind::Flag,
        default: "true",
        help: "Look for container engines in their usual places, too; with false only where they are named.",
        set: |o, v| {
            o.usual_endpoints = boolean(v)?;
            Ok(())
        },
    },
    Setting {
        path: "keys.leader",
        kind: Kind::Key,
        default: "\"ctrl+b\"",
        help: "The key before commands. Pressed twice it goes to the program.",
        set: |o, v| {
            o.keys.leader = key(text(v)?)?;
            Ok(())
        },
    },
    Setting {
        path: "keys.prefix_free",
        kind: Kind::Flag,
        default: "true",
        help: "Ctrl+Alt+h/j/k/l and Ctrl+Alt+1-9 without the leader.",
        set: |o, v| {
            o.keys.prefix_free = boolean(v)?;
            Ok(())
        },
    },
    Setting {
        path: "copy.command",
        kind: Kind::Texts,
        default: "[]",
        help: "Program that gets what is copied on its standard input, for example [\"wl-copy\"]; it runs where the screen is shown.",
        set: |o, v| {
            o.copy_command = texts(v)?;
            Ok(())
        },
    },
    Setting {
        path: "history.lines",
        kind: Kind::Number { from: 0, to: 1_000_000 },
        default: "10000",
        help: "Lines of history kept for each session, 0 to 1000000.",
        set: |o, v| {
            o.history.lines = usize::try_from(number(v, 0, 1_000_000)?).unwrap_or(10_000);
            Ok(())
        },
    },
    Setting {
        path: "history.memory_mib",
        kind: Kind::Number { from: 16, to: 1 << 20 },
        default: "512",
        help: "Memory of all histories together in MiB; the oldest lines of hidden sessions are shed first.",
        set: |o, v| {
            o.history.memory_bytes = usize::try_from(number(v, 16, 1 << 20)?).unwrap_or(512) << 20;
            Ok(())
        },
    },
    Setting {
        path: "history.call_kib",
        kind: Kind::Number { from: 1, to: 16_384 },
        default: "64",
        help: "Output kept for each command of the agent, in KiB; the beginning and the end are kept.",
        set: |o, v| {
            o.history.call_bytes = usize::try_from(number(v, 1, 16_384)?).unwrap_or(64) << 10;
            Ok(())
        },
    },
    Setting {
        path: "history.persist",
        kind: Kind::Flag,
        default: "false",
        help: "Keep what sessions showed on disk, for the next host: their last screen with its history, up to 1 MiB each.",
        set: |o, v| {
            o.history.persist = boolean(v)?;
            Ok(())
        },
    },
    Setting {
        path: "clipboard.programs",
        kind: Kind::Words(&["ask", "allow", "never"]),
        default: "\"ask\"",
        help: "Whether programs in environments may write to your clipboard: ask, allow or never. None can read it.",
        set: |o, v| {
            let words = [("ask", Programs::Ask), ("allow", Programs::Allow), ("never", Programs::Never)];
            o.clipboard.programs = choice(v, &words)?;
            Ok(())
        },
    },
    Setting {
        path: "clipboard.allow",
        kind: Kind::Texts,
        default: "[]",
        help: "Names of environments whose programs may write to it all the same; * is any text, ? any character.",
        set: |o, v| {
            o.clipboard.allow = texts(v)?;
            Ok(())
        },
    },
    Setting {
        path: "clipboard.never",
        kind: Kind::Texts,
        default: "[]",
        help: "Names of environments whose programs may not. They win over those of allow.",
        set: |o, v| {
            o.clipboard.never = texts(v)?;
            Ok(())
        },
    },
    Setting {
        path: "terminal.checksums",
        kind: Kind::Flag,
        default: "false",
        help: "Answer programs that ask for sums of their screen's cells (DECRQCRA), which tells them what stands there: for tests of terminals.",
        set: |o, v| {
            o.checksums = boolean(v)?;
            Ok(())
        },
    },
    Setting {
        path: "env.backend",
        kind: Kind::Words(&["local", "docker"]),
        default: "\"local\"",
        help: "Kind of sandbox: local (embedded, nothing else needed) or docker (containers; needs an engine and an image).",
        set: |o, v| {
            o.env.backend = choice(v, &[("local", BackendKind::Local), ("docker", BackendKind::Docker)])?;
            Ok(())
        },
    },
    Setting {
        path: "env.endpoint",
        kind: Kind::Text,
        default: "\"\"",
        help: "Engine of new containers, by its endpoint's name. Empty: the one that docker uses, else the first that answers.",
        set: |o, v| {
            o.env.engine = Some(text(v)?.trim().to_owned()).filter(|name| !name.is_empty());
            Ok(())
        },
    },
    Setting {
        path: "env.image",
        kind: Kind::Text,
        default: "\"\"",
        help: "Image of a container that names none, for example debian:12. Pulled if it is not here.",
        set: |o, v| {
            o.env.image = Some(text(v)?.trim().to_owned()).filter(|image| !image.is_empty());
            Ok(())
        },
    },
    Setting {
        path: "env.persistence",
        kind: Kind::Words(&["persistent", "ephemeral"]),
        default: "\"persistent\"",
        help: "persistent outlives turns; ephemeral is removed when its scope ends.",
        set: |o, v| {
            o.env.persistence =
                choice(v, &[("persistent", Persistence::Persistent), ("ephemeral", Persistence::Ephemeral)])?;
            Ok(())
        },
    },
    Setting {
        path: "env.scope",
        kind: Kind::Words(&["turn", "session", "shared"]),
        default: "\"session\"",
        help: "Whom it serves: turn (ephemeral only), session (one conversation) or shared.",
        set: |o, v| {
            o.env.scope = choice(v, &[("turn", Scope::Turn), ("session", Scope::Session), ("shared", Scope::Shared)])?;
            Ok(())
        },
    },
    Setting {
        path: "env.retention",
        kind: Kind::Words(&["stop_on_session_end", "keep_running", "remove_on_session_end", "idle_ttl"]),
        default: "\"stop_on_session_end\"",
        help: "What becomes of a persistent one: stop_on_session_end, keep_running, remove_on_session_end, idle_ttl.",
        set: |o, v| {
            o.env.retention = choice(
                v,
                &[
                    ("stop_on_session_end", Retention::StopOnSessionEnd),
                    ("keep_running", Retention::KeepRunning),
                    ("remove_on_session_end", Retention::RemoveOnSessionEnd),
                    ("idle_ttl", Retention::IdleTtl),
                ],
            )?;
            Ok(())
        },
    },
    Setting {
        path: "env.idle",
        kind: Kind::Number { from: 0, to: 31_536_000 },
        default: "300",
        help: "Idle seconds after which the reaper acts; 0 = never.",
        set: |o, v| {
            o.env.idle = Span::seconds(u64::try_from(number(v, 0, 31_536_000)?).unwrap_or(300));
            Ok(())
        },
    },
    Setting {
        path: "env.network",
        kind: Kind::Words(&["none", "default", "host"]),
        default: "\"none\"",
        help: "Network of a new environment: none, default or host.",
        set: |o, v| {
            o.env.network =
                choice(v, &[("none", Network::None), ("default", Network::Default), ("host", Network::Host)])?;
            Ok(())
        },
    },
    Setting {
        path: "hermes.reap",
        kind: Kind::Words(REAP),
        default: "\"off\"",
        help: "What may be ended of what a hermes-agent made: off, leaked (of use to nobody), ephemeral (and those), stale (also stops persistent ones).",
        set: |o, v| {
            o.hermes.reap = reap(v)?;
            Ok(())
        },
    },
    Setting {
        path: "hermes.stale_after",
        kind: Kind::Number { from: 60, to: 315_360_000 },
        default: "604800",
        help: "Seconds without any activity after which a persistent one is stale.",
        set: |o, v| {
            o.hermes.stale_after = Span::seconds(u64::try_from(number(v, 60, 315_360_000)?).unwrap_or(604_800));
            Ok(())
        },
    },
];

/// Settings of single profiles of hermes-agent: table, meaning, example.
pub(super) const PROFILES: (&str, &str, &str) =
    ("hermes.profiles", "Another word for one profile of hermes-agent, by its name.", "reap = \"ephemeral\"");

/// The words of `hermes.reap`.
pub(super) const REAP: &[&str] = &["off", "leaked", "ephemeral", "stale"];

fn reap(v: &Value) -> Result<HermesReap, String> {
    let all = [HermesReap::Off, HermesReap::Leaked, HermesReap::Ephemeral, HermesReap::Stale];
    choice(v, &all.map(|reap| (reap.word(), reap)))
}

/// Reads a configuration text.
///
/// # Errors
/// When the text is not TOML; the message names line and column.
pub fn load(text: &str) -> Result<Loaded, ConfigError> {
    let table: Table = text.parse().map_err(|e: toml::de::Error| ConfigError(e.to_string().trim_end().to_owned()))?;
    let mut loaded = Loaded { options: Options::default(), warnings: Vec::new(), faults: Vec::new() };
    walk(&table, "", &mut loaded);
    loaded.warnings = loaded.faults.iter().map(|fault| fault.says.clone()).collect();
    Ok(loaded)
}

impl Setting {
    /// The variable that overrides it, for example `HTUI_HISTORY_LINES`.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("HTUI_{}", self.path.replace('.', "_").to_uppercase())
    }

    /// Whether it takes a value.
    ///
    /// # Errors
    /// What it must be instead.
    pub fn accepts(&self, value: &Value) -> Result<(), String> {
        self.take(&mut Options::default(), value)
    }

    /// Takes a value in, or says what it must be.
    pub(super) fn take(&self, into: &mut Options, value: &Value) -> Result<(), String> {
        (self.set)(into, value)
    }
}

/// What a variable says: a value as in the file; a text may stand without quotes.
#[must_use]
pub fn variable_value(written: &str) -> Value {
    let value = format!("x = {written}").parse::<Table>().ok().and_then(|mut table| table.remove("x"));
    value.unwrap_or_else(|| Value::String(written.to_owned()))
}

/// Tables whose names are free: keys by command, profiles of hermes-agent.
pub(super) fn tables() -> impl Iterator<Item = &'static str> {
    BINDINGS.iter().map(|(path, ..)| *path).chain([PROFILES.0])
}

impl Loaded {
    /// Takes in what a variable says of a setting.
    pub fn override_by(&mut self, setting: &Setting, written: &str) {
        let value = variable_value(written);
        if let Err(must) = (setting.set)(&mut self.options, &value) {
            self.warnings.push(format!("{} is ignored: {must}", setting.variable()));
        }
    }
}

fn walk(table: &Table, prefix: &str, loaded: &mut Loaded) {
    for (name, value) in table {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if let Some(setting) = SETTINGS.iter().find(|s| s.path == path) {
            if let Err(must) = (setting.set)(&mut loaded.options, value) {
                let says = format!("`{path}` keeps its default {}: {must}", setting.default);
                loaded.faults.push(Fault::new(&path, says));
            }
        } else if BINDINGS.iter().any(|(p, ..)| *p == path) {
            bindings(&path, value, loaded);
        } else if path == PROFILES.0 {
            profiles(value, loaded);
        } else if path == rules::PATH {
            let (rules, faults) = rules::read(value);
            loaded.options.rules = rules;
            loaded.faults.extend(faults);
        } else if let (Value::Table(inner), true) = (value, is_section(&path)) {
            walk(inner, &path, loaded);
        } else {
            let names = SETTINGS.iter().map(|s| s.path).chain(tables()).chain([rules::PATH]);
            let nearest = nearest(&path, names).map(str::to_owned);
            let hint = nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            loaded.faults.push(Fault { nearest, ..Fault::of(prefix, name, format!("unknown key `{path}`{hint}")) });
        }
    }
}

fn profiles(value: &Value, loaded: &mut Loaded) {
    let Value::Table(table) = value else {
        let says = format!("`{}` is ignored: it must be a table of profiles", PROFILES.0);
        loaded.faults.push(Fault::new(PROFILES.0, says));
        return;
    };
    for (name, settings) in table {
        let path = format!("{}.{name}", PROFILES.0);
        let Value::Table(settings) = settings else {
            let says = format!("`{path}` is ignored: it must be a table with `reap`");
            loaded.faults.push(Fault::of(PROFILES.0, name, says));
            continue;
        };
        for (key, value) in settings {
            let fault = |says: String| {
                let mut fault = Fault::of(PROFILES.0, name, says);
                fault.path.push(key.clone());
                fault
            };
            match reap(value) {
                _ if key != "reap" => {
                    let nearest = Some(format!("{path}.reap"));
                    let says = format!("unknown key `{path}.{key}`; did you mean `{path}.reap`?");
                    loaded.faults.push(Fault { nearest, ..fault(says) });
                }
                Ok(reap) => {
                    loaded.options.hermes.profiles.insert(name.clone(), reap);
                }
                Err(must) => {
                    // What was meant is not known: nothing of this profile is ended.
                    loaded.options.hermes.profiles.insert(name.clone(), HermesReap::Off);
                    loaded.faults.push(fault(format!("`{path}.{key}` is taken for \"off\": {must}")));
                }
            }
        }
    }
}

fn is_section(path: &str) -> bool {
    let start = format!("{path}.");
    SETTINGS.iter().any(|s| s.path.starts_with(&start))
}

fn bindings(path: &str, value: &Value, loaded: &mut Loaded) {
    let Value::Table(table) = value else {
        let says = format!("`{path}` is ignored: it must be a table of command names with lists of keys");
        loaded.faults.push(Fault::new(path, says));
        return;
    };
    let mut map = BTreeMap::new();
    for (command, keys) in table {
        let keys = match keys {
            Value::String(_) => text(keys).map(|t| vec![t.to_owned()]),
            _ => texts(keys),
        };
        match keys.and_then(|keys| keys.iter().map(|k| key(k)).collect::<Result<Vec<_>, _>>()) {
            Ok(keys) => {
                map.insert(command.clone(), keys);
            }
            Err(must) => {
                let says = format!("`{path}.{command}` keeps its default: {must}");
                loaded.faults.push(Fault::of(path, command, says));
            }
        }
    }
    let keys = &mut loaded.options.keys;
    match path {
        "keys.after_leader" => keys.after_leader = map,
        "keys.nav" => keys.nav = map,
        _ => keys.direct = map,
    }
}

/// The default file: every key commented, with its meaning and default.
#[must_use]
pub fn default_file() -> String {
    let mut out = String::from(
        "# Settings of hermes-tui. Every key stands here with its default; take the # away to change it.\n\
         # A flag of the command line wins over a variable, a variable over this file. The variable of history.lines is\n\
         # HTUI_HISTORY_LINES, and so on.\n",
    );
    let mut section = "";
    for setting in SETTINGS {
        let (of, name) = setting.path.rsplit_once('.').unwrap_or(("", setting.path));
        if of != section {
            if section == "keys" {
                binding_tables(&mut out);
            }
            section = of;
            out.push_str(&format!("\n[{of}]\n"));
        }
        out.push_str(&format!("\n# {}\n# {name} = {}\n", setting.help, setting.default));
    }
    let (path, help, example) = PROFILES;
    out.push_str(&format!("\n# {help}\n# [{path}.default]\n# {example}\n"));
    example_rules(&mut out);
    out
}

/// An example of a rule with every key that there is.
fn example_rules(out: &mut String) {
    out.push('\n');
    for line in rules::HELP {
        out.push_str(&format!("# {line}\n"));
    }
    for (title, example) in rules::EXAMPLES {
        out.push_str(&format!("\n# {title}\n# [[{}]]\n", rules::PATH));
        for line in *example {
            out.push_str(&format!("# {line}\n"));
        }
    }
}

fn binding_tables(out: &mut String) {
    for (path, help, example) in BINDINGS {
        out.push_str(&format!("\n# {help}\n[{path}]\n# {example}\n"));
    }
}

/// The name nearest to what was written, if one is near enough to be meant.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (distance(written, name), name))
        .filter(|(d, name)| *d <= 1 + name.chars().count() / 3)
        .min_by_key(|(d, _)| *d)
        .map(|(_, name)| name)
}

/// Number of characters to change, add or take away to get from one text to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(ca != *cb)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

pub(super) fn text(v: &Value) -> Result<&str, String> {
    v.as_str().ok_or_else(|| format!("it must be a text in quotes, not {v}"))
}

fn endpoints(v: &Value) -> Result<BTreeMap<String, NamedEndpoint>, String> {
    let table = v.as_table().ok_or_else(|| format!("it must be a table of names with URLs, not {v}"))?;
    let mut all = BTreeMap::new();
    for (name, value) in table {
        let good = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            && name != "local";
        if !good {
            return Err(format!("`{name}` cannot be the name of an endpoint: use letters, digits, `-`, `_` and `.`"));
        }
        let endpoint = match value {
            Value::Table(parts) => {
                let part = |key: &str| parts.get(key).map(|v| text(v).map(str::to_owned)).transpose();
                if let Some(key) = parts.keys().find(|key| !matches!(key.as_str(), "url" | "certificates")) {
                    return Err(format!("`{name}` has `url` and `certificates`, not `{key}`"));
                }
                let url = part("url")?.ok_or_else(|| format!("`{name}` has no `url`"))?;
                NamedEndpoint { url, certificates: part("certificates")? }
            }
            other => NamedEndpoint { url: text(other)?.to_owned(), certificates: None },
        };
        all.insert(name.clone(), endpoint);
    }
    Ok(all)
}

pub(super) fn texts(v: &Value) -> Result<Vec<String>, String> {
    let list = v.as_array().ok_or_else(|| format!("it must be a list of texts, not {v}"))?;
    list.iter().map(|v| text(v).map(str::to_owned)).collect()
}

fn boolean(v: &Value) -> Result<bool, String> {
    v.as_bool().ok_or_else(|| format!("it must be true or false, not {v}"))
}

fn number(v: &Value, from: i64, to: i64) -> Result<i64, String> {
    v.as_integer()
        .filter(|n| (from..=to).contains(n))
        .ok_or_else(|| format!("it must be a whole number from {from} to {to}, not {v}"))
}

fn key(text: &str) -> Result<KeyPress, String> {
    text.parse().map_err(|e: super::keys::KeySyntaxError| e.to_string())
}

fn choice<T: Copy>(v: &Value, of: &[(&str, T)]) -> Result<T, String> {
    let written = text(v)?;
    of.iter().find(|(name, _)| *name == written).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = of.iter().map(|(name, _)| *name).collect();
        let hint = nearest(written, names.iter().copied()).map(|n| format!("; did you mean `{n}`?"));
        format!("it must be one of {}, not \"{written}\"{}", names.join(", "), hint.unwrap_or_default())
    })
}
