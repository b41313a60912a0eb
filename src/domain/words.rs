//! Words for people: lengths of time, lists, the names of settings.

use super::environment::{BackendKind, EnvSpec, Network, Persistence, Phase, Retention, Scope};
use super::lease::Holder;
use super::moment::Span;
use super::turn::TurnStatus;

/// A length of time as people say it: `5 s`, `5 min`, `1 h 30 min`, `2 d`.
#[must_use]
pub fn span(span: Span) -> String {
    let seconds = span.0.div_ceil(1000);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    if seconds < 120 {
        format!("{seconds} s")
    } else if hours == 0 {
        joined(minutes, "min", seconds % 60, "s")
    } else if days == 0 || hours < 48 {
        joined(hours, "h", minutes % 60, "min")
    } else {
        joined(days, "d", hours % 24, "h")
    }
}

fn joined(big: u64, big_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 { format!("{big} {big_unit}") } else { format!("{big} {big_unit} {small} {small_unit}") }
}

/// The first line of a text, cut to `limit` characters.
#[must_use]
pub fn excerpt(text: &str, limit: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let clean: String = line.chars().filter(|c| !c.is_control()).collect();
    if clean.chars().count() <= limit {
        return clean;
    }
    let cut: String = clean.chars().take(limit.saturating_sub(1)).collect();
    format!("{cut}…")
}

/// Holders in one sentence part: `turn (turn 3 of c1), pin (pinned)`.
#[must_use]
pub fn holders(holders: &[Holder]) -> String {
    let names: Vec<String> = holders.iter().map(|h| format!("{} ({})", h.kind, h.detail)).collect();
    names.join(", ")
}

/// A word of a command line that can be pasted into a POSIX shell.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@' | '+' | '=' | ',');
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// `s` unless there is exactly one.
#[must_use]
pub fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// The word of a backend.
#[must_use]
pub fn backend(kind: BackendKind) -> &'static str {
    match kind {
        BackendKind::Local => "local",
        BackendKind::Docker => "docker",
    }
}

/// The word of a persistence.
#[must_use]
pub fn persistence(persistence: Persistence) -> &'static str {
    match persistence {
        Persistence::Persistent => "persistent",
        Persistence::Ephemeral => "ephemeral",
        Persistence::Unknown => "unknown",
    }
}

/// The word of a scope.
#[must_use]
pub fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Turn => "turn",
        Scope::Session => "session",
        Scope::Shared => "shared",
    }
}

/// The word of a retention.
#[must_use]
pub fn retention(retention: Retention) -> &'static str {
    match retention {
        Retention::StopOnSessionEnd => "stop_on_session_end",
        Retention::KeepRunning => "keep_running",
        Retention::RemoveOnSessionEnd => "remove_on_session_end",
        Retention::IdleTtl => "idle_ttl",
    }
}

/// The word of a network.
#[must_use]
pub fn network(network: Network) -> &'static str {
    match network {
        Network::None => "none",
        Network::Default => "default",
        Network::Host => "host",
    }
}

/// The word of a phase.
#[must_use]
pub fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Absent => "absent",
        Phase::Provisioning => "provisioning",
        Phase::Ready => "ready",
        Phase::Reaping => "reaping",
        Phase::Stopped => "stopped",
        Phase::Lost => "lost",
        Phase::Failed => "failed",
    }
}

/// Where `wanted` differs from `existing` in the named fields; one part of a sentence each. Values of variables are
/// never printed.
#[must_use]
pub fn differences(existing: &EnvSpec, wanted: &EnvSpec, fields: &[String]) -> Vec<String> {
    fields.iter().filter_map(|field| difference(existing, wanted, field)).collect()
}

fn difference(existing: &EnvSpec, wanted: &EnvSpec, field: &str) -> Option<String> {
    let pair = |has: String, wants: String| (has != wants).then(|| format!("{field} is {has}, asked for {wants}"));
    match field {
        "backend" => pair(backend(existing.backend).into(), backend(wanted.backend).into()),
        "endpoint" => pair(existing.endpoint.to_string(), wanted.endpoint.to_string()),
        "persistence" => pair(persistence(existing.persistence).into(), persistence(wanted.persistence).into()),
        "scope" => pair(scope(existing.scope).into(), scope(wanted.scope).into()),
        "retention" => pair(retention(existing.retention).into(), retention(wanted.retention).into()),
        "idle" => pair(seconds(existing.idle), seconds(wanted.idle)),
        "image" => pair(optional(existing.image.as_ref()), optional(wanted.image.as_ref())),
        "network" => pair(network(existing.network).into(), network(wanted.network).into()),
        "isolation" => pair(isolation(existing.on_host).into(), isolation(wanted.on_host).into()),
        "cpus" => {
            pair(optional(existing.cpu_millis.map(cores).as_ref()), optional(wanted.cpu_millis.map(cores).as_ref()))
        }
        "memory" => pair(optional(existing.memory_bytes.as_ref()), optional(wanted.memory_bytes.as_ref())),
        "mounts" if existing.mounts != wanted.mounts => Some("mounts differ".into()),
        "env" if existing.env != wanted.env => Some("variables differ".into()),
        _ => None,
    }
}

fn isolation(on_host: bool) -> &'static str {
    if on_host { "none (a plain shell of the host)" } else { "a sandbox" }
}

fn seconds(span: Span) -> String {
    format!("{} s", span.as_seconds())
}

fn cores(millis: u32) -> String {
    format!("{}", f64::from(millis) / 1000.0)
}

fn optional<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(|| "none".into(), ToString::to_string)
}

/// The word of a turn's status.
#[must_use]
pub fn turn_status(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Running => "running",
        TurnStatus::Done => "done",
        TurnStatus::Failed => "failed",
        TurnStatus::Interrupted => "interrupted",
    }
}
