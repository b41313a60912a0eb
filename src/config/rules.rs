//! Rules that choose a conversation's environment by what is known of the conversation: `[[rule]]`, the first one that
//! fits is taken.

use super::options::{EnvDefaults, Options};
use super::settings::{Fault, Kind, SETTINGS, Setting, nearest, text, texts};
use crate::domain::naming::is_plain;
use crate::domain::{BackendKind, Network, Persistence, Retention, Scope, Span, words};
use std::fmt;
use toml::{Table, Value};

/// The table of rules.
pub(super) const PATH: &str = "rule";

/// What they are.
pub(super) const HELP: &[&str] = &[
    "Rules choose the environment of a conversation when a turn of it begins and it has none yet. The first one that fits",
    "is taken; flags of `turn begin` win over it, and what it does not say is as in [env]. It fits by patterns: * is any",
    "text, ? any character, \"!main\" all but main; several in a list. What is not told of a conversation is an empty text.",
];

/// Rules for the default file, with every key that there is.
pub(super) const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "The main conversation in one environment that stays: env_name is one for all conversations of a rule.",
        &["kind = \"main\"", "env_name = \"main\"", "retention = \"keep_running\""],
    ),
    (
        "A container of its own for each job, by everything that is known of one (source: --source, or the client of an mcp).",
        &[
            "kind = [\"cron\", \"job-*\"]",
            "title = \"nightly *\"",
            "conversation = \"*\"",
            "source = \"!test\"",
            "cwd = \"/projects/*\"",
            "backend = \"docker\"",
            "endpoint = \"docker\"",
            "image = \"debian:12\"",
            "persistence = \"ephemeral\"",
            "scope = \"session\"",
            "idle = 900",
            "network = \"none\"",
        ],
    ),
    ("Everything else in a sandbox of its own, which goes with its conversation.", &["persistence = \"ephemeral\""]),
];

/// A fact of a conversation that a rule goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fact {
    /// main, subagent, cron, or whatever the agent calls it.
    Kind,
    /// Its title.
    Title,
    /// Its id.
    Conversation,
    /// Who begins the turn.
    Source,
    /// Where on this machine whoever begins it works.
    Cwd,
}

/// What is known of a conversation when a turn of it begins. What is not told is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Facts<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// Its title.
    pub title: &'a str,
    /// Its id.
    pub conversation: &'a str,
    /// Who begins the turn.
    pub source: &'a str,
    /// Where on this machine whoever begins it works.
    pub cwd: &'a str,
}

/// What a rule gives its conversations. `None` = as in `[env]`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Given {
    /// One environment of this name for all of them.
    pub env_name: Option<String>,
    /// Kind of sandbox.
    pub backend: Option<BackendKind>,
    /// Engine of a container.
    pub endpoint: Option<String>,
    /// Image of a container.
    pub image: Option<String>,
    /// Persistent or ephemeral.
    pub persistence: Option<Persistence>,
    /// Whom an environment serves.
    pub scope: Option<Scope>,
    /// What becomes of it.
    pub retention: Option<Retention>,
    /// Idle time; zero = never.
    pub idle: Option<Span>,
    /// Network.
    pub network: Option<Network>,
}

/// One rule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rule {
    /// Which one of the file, from 1.
    pub number: usize,
    /// What a conversation must be like. Without any it fits all.
    pub when: Vec<(Fact, Vec<String>)>,
    /// What its conversations get.
    pub given: Given,
    /// Why it cannot be used. A conversation that it may be meant for gets no environment: one that it was to be kept
    /// from is worse than none.
    pub fault: Option<String>,
}

impl Fact {
    /// All of them, with what they mean.
    pub(super) const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Kind, "kind", "Kind of the conversation, as --kind tells it: main, subagent, cron, gateway and so on."),
        (Self::Title, "title", "Its title."),
        (Self::Conversation, "conversation", "Its id."),
        (Self::Source, "source", "Who begins the turn: --source, or the name of the client of `hermes-tui mcp`."),
        (Self::Cwd, "cwd", "The folder of this machine in which `turn begin` or `mcp` was started, or --cwd."),
    ];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(fact, ..)| *fact == self).map_or("", |(_, word, _)| word)
    }
}

/// What a rule can say of a new environment: the settings of `[env]` with the same names.
pub(super) fn given_settings() -> impl Iterator<Item = (&'static str, &'static Setting)> {
    SETTINGS.iter().filter_map(|setting| Some((setting.path.strip_prefix("env.")?, setting)))
}

/// The name of the key for one environment of all conversations of a rule, and what it means.
pub(super) const ENV_NAME: (&str, &str) =
    ("env_name", "One environment of this name for all of them (scope shared); made if there is none.");

impl Facts<'_> {
    fn of(&self, fact: Fact) -> &str {
        match fact {
            Fact::Kind => self.kind,
            Fact::Title => self.title,
            Fact::Conversation => self.conversation,
            Fact::Source => self.source,
            Fact::Cwd => self.cwd,
        }
    }
}

impl Rule {
    /// Whether it is for such a conversation.
    #[must_use]
    pub fn fits(&self, facts: &Facts<'_>) -> bool {
        self.when.iter().all(|(fact, patterns)| fits(patterns, facts.of(*fact)))
    }

    /// Whether it says where an environment of its conversations is to be.
    #[must_use]
    pub fn names_a_place(&self) -> bool {
        self.given.backend.is_some() || self.given.endpoint.is_some() || self.given.image.is_some()
    }
}

/// For people: `rule 2 (kind = "cron")`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |patterns: &[String]| match patterns {
            [one] => Value::from(one.as_str()),
            several => Value::from(several.to_vec()),
        };
        let parts = self.when.iter().map(|(fact, patterns)| format!("{} = {}", fact.word(), list(patterns)));
        let parts: Vec<String> = parts.collect();
        let parts = if parts.is_empty() { "for all".to_owned() } else { parts.join(", ") };
        write!(f, "rule {} ({parts})", self.number)
    }
}

/// The rule for a conversation: the first one that fits.
#[must_use]
pub fn choose<'a>(rules: &'a [Rule], facts: &Facts<'_>) -> Option<&'a Rule> {
    rules.iter().find(|rule| rule.fits(facts))
}

/// Whether a text is one of those that a list of patterns means: one of the plain ones, if there are any, and none of
/// those that begin with `!`.
fn fits(patterns: &[String], text: &str) -> bool {
    let (mut any, mut one) = (false, false);
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(not) if matches(not, text) => return false,
            Some(_) => {}
            None => {
                any = true;
                one |= matches(pattern, text);
            }
        }
    }
    one || !any
}

/// Whether a text fits a pattern, in which `*` is any text and `?` any character.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // The last `*`, and how far the text that it stands for reaches.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, until)) => {
                    star = Some((at, until + 1));
                    (p, t) = (at + 1, until + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Reads all rules of a file.
pub(super) fn read(value: &Value) -> (Vec<Rule>, Vec<Fault>) {
    let mut faults = Vec::new();
    let Some(list) = value.as_array() else {
        let says = "`rule` must be a list of tables: write [[rule]] above each of them";
        faults.push(Fault::new(PATH, says));
        return (vec![Rule { number: 1, fault: Some(says.to_owned()), ..Rule::default() }], faults);
    };
    let mut rules: Vec<Rule> = Vec::new();
    for (at, value) in list.iter().enumerate() {
        let before = faults.len();
        let mut reading = Reading { rule: Rule { number: at + 1, ..Rule::default() }, faults: &mut faults };
        match value.as_table() {
            Some(table) => reading.table(table),
            None => reading.fault(None, "it must be a table: write [[rule]] above it", None),
        }
        if let Some(all) = rules.iter().find(|rule| rule.when.is_empty() && rule.fault.is_none()) {
            let says = format!("it is never reached: rule {} before it fits all conversations", all.number);
            reading.fault(None, &says, None);
        }
        let mut rule = reading.rule;
        rule.fault = faults.get(before).map(|fault| fault.says.clone());
        rules.push(rule);
    }
    (rules, faults)
}

/// A rule while it is read.
struct Reading<'a> {
    rule: Rule,
    faults: &'a mut Vec<Fault>,
}

impl Reading<'_> {
    /// Something is wrong with a key of it, or with all of it.
    fn fault(&mut self, key: Option<&str>, says: &str, nearest: Option<&str>) {
        let number = self.rule.number.to_string();
        let path = [PATH, &number].into_iter().chain(key).map(str::to_owned).collect();
        let says = format!("rule {number} cannot be used: {says}");
        self.faults.push(Fault { path, says, nearest: nearest.map(str::to_owned) });
    }

    fn table(&mut self, table: &Table) {
        let before = self.faults.len();
        for (key, value) in table {
            match self.take(key, value) {
                Some(Ok(())) => {}
                Some(Err(must)) => self.fault(Some(key), &format!("`{key}`: {must}"), None),
                None => {
                    let nearest = nearest(key, keys().map(|(name, ..)| name));
                    let hint = nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
                    self.fault(Some(key), &format!("unknown key `{key}`{hint}"), nearest);
                }
            }
        }
        if self.faults.len() == before {
            self.settle();
        }
    }

    /// Takes in one key. `None` = there is no such key.
    fn take(&mut self, key: &str, value: &Value) -> Option<Result<(), String>> {
        if let Some((fact, ..)) = Fact::ALL.iter().find(|(_, word, _)| *word == key) {
            return Some(patterns(*fact, value).map(|patterns| self.rule.when.push((*fact, patterns))));
        }
        if key == ENV_NAME.0 {
            return Some(env_name(value).map(|name| self.rule.given.env_name = Some(name)));
        }
        let (_, setting) = given_settings().find(|(name, _)| *name == key)?;
        let mut scratch = Options::default();
        Some(setting.take(&mut scratch, value).map(|()| self.give(key, scratch.env)))
    }

    /// Notes what a setting of `[env]` became.
    fn give(&mut self, key: &str, env: EnvDefaults) {
        let given = &mut self.rule.given;
        match key {
            "backend" => given.backend = Some(env.backend),
            "endpoint" => given.endpoint = env.engine,
            "image" => given.image = env.image,
            "persistence" => given.persistence = Some(env.persistence),
            "scope" => given.scope = Some(env.scope),
            "retention" => given.retention = Some(env.retention),
            "idle" => given.idle = Some(env.idle),
            _ => given.network = Some(env.network),
        }
    }

    /// Says what follows from what was said, and finds what contradicts itself.
    fn settle(&mut self) {
        // In a fixed order, whatever that of the file is.
        self.rule.when.sort_by_key(|(fact, _)| Fact::ALL.iter().position(|(one, ..)| one == fact));
        let given = &mut self.rule.given;
        if given.env_name.is_some() {
            given.scope.get_or_insert(Scope::Shared);
        }
        if given.scope == Some(Scope::Turn) {
            given.persistence.get_or_insert(Persistence::Ephemeral);
        }
        if given.retention.is_some() {
            given.persistence.get_or_insert(Persistence::Persistent);
        }
        let here = given.backend == Some(BackendKind::Local) || given.endpoint.as_deref() == Some("local");
        let contradiction = match given {
            Given { env_name: Some(_), scope: Some(scope @ (Scope::Turn | Scope::Session)), .. } => Some((
                "scope",
                format!(
                    "an environment with `env_name` is for all of its conversations: its scope is shared, not {}",
                    words::scope(*scope)
                ),
            )),
            Given { persistence: Some(Persistence::Persistent), scope: Some(Scope::Turn), .. } => {
                Some(("scope", "a persistent environment outlives turns and cannot have scope turn".to_owned()))
            }
            Given { persistence: Some(Persistence::Ephemeral), retention: Some(_), .. } => {
                Some(("retention", "an ephemeral environment is removed when its scope ends".to_owned()))
            }
            Given { image: Some(_), .. } if here => Some(("image", "the local backend has no images".to_owned())),
            Given { backend: Some(backend), endpoint: Some(endpoint), .. }
                if (*backend == BackendKind::Local) != (endpoint == "local") =>
            {
                let backend = words::backend(*backend);
                Some(("endpoint", format!("`{endpoint}` is no endpoint of the backend {backend}")))
            }
            _ => None,
        };
        if let Some((key, says)) = contradiction {
            self.fault(Some(key), &format!("`{key}`: {says}"), None);
        }
    }
}

fn env_name(value: &Value) -> Result<String, String> {
    let name = text(value)?;
    let must = "a name is 1 to 64 letters, digits, `-`, `_` or `.`, and begins with a letter or digit";
    if is_plain(name) { Ok(name.to_owned()) } else { Err(must.to_owned()) }
}

fn patterns(fact: Fact, value: &Value) -> Result<Vec<String>, String> {
    let patterns = match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(_) => texts(value)?,
        other => return Err(format!("it must be a pattern in quotes or a list of them, not {other}")),
    };
    if patterns.is_empty() {
        return Err("it names no pattern: leave it out, or write \"*\"".to_owned());
    }
    let home = |pattern: &&String| fact == Fact::Cwd && pattern.trim_start_matches('!').starts_with('~');
    match patterns.iter().find(home) {
        Some(pattern) => Err(format!("`{pattern}` is no folder: write the path without ~, or \"*\" in its place")),
        None => Ok(patterns),
    }
}

/// The kind of value that each key of a rule takes, with its meaning; `None` = patterns.
pub(super) fn keys() -> impl Iterator<Item = (&'static str, Option<Kind>, &'static str)> {
    let facts = Fact::ALL.iter().map(|(_, word, help)| (*word, None, *help));
    let name = [(ENV_NAME.0, Some(Kind::Text), ENV_NAME.1)];
    facts.chain(name).chain(given_settings().map(|(name, setting)| (name, Some(setting.kind), setting.help)))
}
