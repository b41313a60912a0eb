//! The flags that say what an environment shall be, shared by `env new` and `turn begin`.

use super::context::Context;
use crate::api::protocol::SpecFlags;
use crate::domain::{BackendKind, Mount, Network, Persistence, Retention, Scope};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Args, Debug)]
#[command(next_help_heading = "Environment")]
pub(super) struct Spec {
    /// Kind of sandbox provider [default: local]
    #[arg(long, value_name = "B", value_parser = words::<BackendKind>(&["local", "docker"]))]
    backend: Option<BackendKind>,
    /// Image of a container; pulled if it is not here
    #[arg(long, value_name = "I")]
    image: Option<String>,
    /// Outlives turns [default]
    #[arg(long, conflicts_with = "ephemeral")]
    persistent: bool,
    /// Removed when its scope ends
    #[arg(long)]
    ephemeral: bool,
    /// Whom it serves [default: session]
    #[arg(long, value_name = "S", value_parser = words::<Scope>(&["turn", "session", "shared"]))]
    scope: Option<Scope>,
    /// What becomes of a persistent one [default: stop_on_session_end]
    #[arg(long, value_name = "R", value_parser = words::<Retention>(
        &["stop_on_session_end", "keep_running", "remove_on_session_end", "idle_ttl"]))]
    retention: Option<Retention>,
    /// Idle time after which the reaper acts; 0 = never [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    idle: Option<f64>,
    /// Folder of this machine shown inside (repeatable)
    #[arg(long, value_name = "SRC:DST[:ro]", value_parser = mount)]
    mount: Vec<Mount>,
    /// Variable set inside; without a value it is taken from here (repeatable)
    #[arg(long, value_name = "K=V", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Network [default: none]
    #[arg(long, value_name = "N", value_parser = words::<Network>(&["none", "default", "host"]))]
    network: Option<Network>,
    /// NOT ISOLATED: a plain shell of this machine, as you, instead of a sandbox
    #[arg(long, conflicts_with = "network")]
    on_host: bool,
    /// Limit of processor cores, for example 1.5
    #[arg(long, value_name = "N")]
    cpus: Option<f64>,
    /// Limit of memory, for example 512M or 2G
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
}

impl Spec {
    /// As they are sent.
    pub(super) fn flags(self, context: &Context) -> SpecFlags {
        let persistence = match (self.persistent, self.ephemeral) {
            (true, _) => Some(Persistence::Persistent),
            (_, true) => Some(Persistence::Ephemeral),
            _ => None,
        };
        SpecFlags {
            backend: self.backend,
            endpoint: context.endpoint.clone(),
            image: self.image,
            persistence,
            scope: self.scope,
            retention: self.retention,
            idle_seconds: self.idle,
            mounts: (!self.mount.is_empty()).then_some(self.mount),
            env: (!self.env.is_empty()).then(|| self.env.into_iter().collect::<BTreeMap<_, _>>()),
            network: self.network,
            on_host: self.on_host,
            cpus: self.cpus,
            memory_bytes: self.memory,
        }
    }
}

/// One of the given words, which are those of the JSON shapes.
pub(super) fn words<T>(known: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(known).try_map(|word| serde_json::from_value::<T>(serde_json::Value::String(word)))
}

/// A number of seconds, 0 or more.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if seconds.is_finite() && seconds >= 0.0 { Ok(seconds) } else { Err("give a number from 0 on".to_owned()) }
}

pub(super) fn mount(text: &str) -> Result<Mount, String> {
    let (rest, read_only) = match text.strip_suffix(":ro") {
        Some(rest) => (rest, true),
        None => (text.strip_suffix(":rw").unwrap_or(text), false),
    };
    let Some((source, target)) =
        rest.split_once(':').filter(|(source, target)| !source.is_empty() && !target.is_empty())
    else {
        return Err("write SRC:DST or SRC:DST:ro".to_owned());
    };
    if target.contains(':') {
        return Err("the only option after DST is `ro`".to_owned());
    }
    if !target.starts_with('/') {
        return Err(format!("`{target}` must be an absolute path inside"));
    }
    let source = std::path::absolute(Path::new(source)).map_err(|error| error.to_string())?;
    if !source.exists() {
        return Err(format!("there is no {}", source.display()));
    }
    let source = source.into_os_string().into_string().map_err(|_| "the path is not UTF-8".to_owned())?;
    Ok(Mount { source, target: target.to_owned(), read_only })
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some(("", _)) => Err("the name is missing".to_owned()),
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => match std::env::var(text) {
            Ok(value) => Ok((text.to_owned(), value)),
            Err(_) => Err(format!(
                "the variable {text} is not set here; write {text}=VALUE (environments are named without --env)"
            )),
        },
    }
}

fn size(text: &str) -> Result<u64, String> {
    let wrong = || "write a size such as 512M or 2G".to_owned();
    let trimmed = text.trim_end_matches(['b', 'B']).trim_end_matches(['i', 'I']);
    let digits = trimmed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match trimmed[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    let bytes = number * factor as f64;
    if bytes.is_finite() && (1.0..9e15).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::{mount, size};

    #[test]
    fn sizes_and_mounts_are_understood_or_refused() {
        assert_eq!(
            (size("512M"), size("2GiB"), size("1.5k"), size("10")),
            (Ok(512 << 20), Ok(2 << 30), Ok(1536), Ok(10))
        );
        assert!(["", "G", "-1M", "1X", "nan", "inf", "0"].iter().all(|text| size(text).is_err()));
        let read_only = mount("/usr:/x:ro").unwrap();
        assert_eq!((read_only.source.as_str(), read_only.target.as_str(), read_only.read_only), ("/usr", "/x", true));
        assert!(
            ["/usr", ":/x", "/usr:", "/usr:x", "/no/such/folder:/x", "/usr:/x:rx"].iter().all(|t| mount(t).is_err())
        );
    }
}
