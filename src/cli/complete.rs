//! Names for the shell's completion: what a host that runs lists, if it answers at once. None is started.

use crate::api::ApiCall;
use crate::api::client::Client;
use crate::api::protocol::Nothing;
use crate::runtime::paths::Paths;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::Duration;

/// The variable by which a shell asks this program for completions.
pub(super) const VARIABLE: &str = "HTUI_COMPLETE";
/// Nobody waits longer for a list after pressing a key.
const QUICK: Duration = Duration::from_millis(300);

/// For an argument that names an environment.
pub(super) fn environment() -> ArgValueCandidates {
    let all = || environments().into_iter().map(|(name, help)| candidate(name, help.as_deref())).collect::<Vec<_>>();
    ArgValueCandidates::new(all)
}

/// How each environment is named on a command line, and its phase.
fn environments() -> Vec<(String, Option<String>)> {
    let all = list(&ApiCall::EnvList(Nothing {}), "environments");
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for env in &all {
        *count.entry(env["name"].as_str().unwrap_or_default()).or_default() += 1;
    }
    let named = |env: &Value| {
        let (name, endpoint) = (env["name"].as_str()?, env["endpoint"].as_str()?);
        let alone = count.get(name) == Some(&1);
        let shown = if alone { name.to_owned() } else { format!("{endpoint}/{name}") };
        Some((shown, env["phase"].as_str().map(str::to_owned)))
    };
    all.iter().filter_map(named).collect()
}

/// For an argument that names a conversation.
pub(super) fn conversation() -> ArgValueCandidates {
    named(|| list(&ApiCall::ConversationList(Nothing {}), "conversations"), "title")
}

/// For an argument that names a session.
pub(super) fn session() -> ArgValueCandidates {
    named(|| list(&ApiCall::SessionList(Nothing {}), "sessions"), "state")
}

/// For an argument that names a path here, or one in an environment (`ENV:`).
pub(super) fn place() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let envs = environments().into_iter().map(|(name, help)| candidate(format!("{name}:"), help.as_deref()));
        let begun = typed.to_string_lossy();
        let fits = |one: &CompletionCandidate| one.get_value().to_string_lossy().starts_with(&*begun);
        PathCompleter::any().complete(typed).into_iter().chain(envs.filter(fits)).collect()
    })
}

fn named(all: fn() -> Vec<Value>, help: &'static str) -> ArgValueCandidates {
    let one = move |value: &Value| Some(candidate(value["id"].as_str()?.to_owned(), value[help].as_str()));
    ArgValueCandidates::new(move || all().iter().filter_map(one).collect::<Vec<_>>())
}

fn candidate(name: String, help: Option<&str>) -> CompletionCandidate {
    CompletionCandidate::new(name).help(help.map(|help| super::output::plain(help).into()))
}

/// The rows of a list; none where there is no host, or a slow one.
fn list(call: &ApiCall, field: &str) -> Vec<Value> {
    let Ok(paths) = Paths::find() else { return Vec::new() };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return Vec::new() };
    let asked = runtime.block_on(async {
        tokio::time::timeout(QUICK, async { Client::connect(&paths).await?.call(call).await }).await
    });
    match asked {
        Ok(Ok(mut reply)) => match reply[field].take() {
            Value::Array(rows) => rows,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
