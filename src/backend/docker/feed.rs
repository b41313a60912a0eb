//! What the engine's events say, as far as it is about containers that are listed here.
//!
//! The engine can be asked for events of one label or none, and not for those of one label or another: all are taken,
//! and what is not ours to know is dropped before anything is done for it.

use super::super::{BackendEvent, Result};
use super::discover::{self, Listing};
use super::engine::Engine;
use super::hub::News;
use super::run::Shared;
use crate::domain::{CallId, FailureKind, Moment, Origin, SandboxId, Span};
use crate::hermes::owner;
use crate::hermes::script;
use bollard::models::EventMessage;
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc;

/// The events that are asked for. Podman filters by names of its own.
pub const WANTED: [&str; 12] = [
    "create",
    "start",
    "die",
    "died",
    "destroy",
    "remove",
    "rename",
    "pause",
    "unpause",
    "exec_start",
    "exec_die",
    "exec_died",
];
const REMOVED: &str = "its container was removed";
/// What is made is started at once; if it was not by then, it is listed as it is.
const SETTLED: Span = Span(700);
/// Where an owner may end without a word, it is looked for again after this time.
const OWNERS: Duration = Duration::from_secs(60);

/// An exec's command as the event of its start says it.
const STARTED: &str = "exec_start: ";

/// Where what is told goes. `false`, or the end of a function: nobody listens any more.
pub type To = mpsc::Sender<BackendEvent>;

/// Tells the whole list, and what runs in the containers: at the beginning of a connection, since nothing is known of
/// what happened before it.
pub async fn recount(inner: &Shared, engine: &Engine, to: &To, listing: Listing) -> Result<bool> {
    if to.send(BackendEvent::Snapshot(listing.found)).await.is_err() {
        return Ok(false);
    }
    for (sandbox, exec) in listing.execs {
        if inner.is_own_exec(&exec, "") {
            continue;
        }
        // One that is gone has ended.
        let Ok(found) = engine.docker.inspect_exec(&exec).await else { continue };
        let process = found.process_config.unwrap_or_default();
        let mut words = process.entrypoint.into_iter().collect::<Vec<_>>();
        words.extend(process.arguments.unwrap_or_default());
        let line = words.join(" ");
        if found.running != Some(true) || inner.is_own_exec(&exec, &line) {
            continue;
        }
        if to.send(began(sandbox, exec, &line)).await.is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn began(sandbox: SandboxId, exec: String, line: &str) -> BackendEvent {
    let seen = script::decode(line);
    BackendEvent::ExecBegan { sandbox, exec: CallId::new(exec), command: seen.command, cwd: seen.cwd }
}

/// Lists anew and tells it. `false` when nobody listens any more.
pub async fn relist(inner: &Shared, to: &To) -> Result<bool> {
    match inner.list().await {
        Ok(found) => Ok(to.send(BackendEvent::Snapshot(found)).await.is_ok()),
        Err(error) if error.kind == FailureKind::Unreachable => Err(error),
        Err(error) => {
            tracing::warn!("{error}");
            inner.others.known().due = None;
            Ok(true)
        }
    }
}

/// Resolves when the list may have changed without a word of the engine. Without such a case it never does.
pub async fn due(inner: &Shared) {
    loop {
        let (at, owners) = {
            let known = inner.others.known();
            (known.due, known.owners.clone())
        };
        let until = at.map(|at| Duration::from_millis(at.since(discover::now()).0));
        let wait = if owners.is_empty() { until } else { Some(until.unwrap_or(OWNERS).min(OWNERS)) };
        let Some(wait) = wait else { return std::future::pending().await };
        tokio::time::sleep(wait).await;
        let is_due = |at: Moment| at <= discover::now();
        if at.is_some_and(is_due) || owners.iter().any(|pid| !owner::lives(*pid)) {
            return;
        }
    }
}

/// Takes in one event. `false` when nobody listens any more.
pub async fn forward(inner: &Shared, to: &To, event: EventMessage) -> Result<bool> {
    let actor = event.actor.unwrap_or_default();
    let attributes = actor.attributes.unwrap_or_default();
    let (Some(id), Some(action)) = (actor.id, event.action) else { return Ok(true) };
    let exec = attributes.get("execID");
    match (action.as_str(), exec) {
        ("exec_die", Some(exec)) if inner.is_own_exec(exec, "") => {
            inner.hub.tell(News::Ended(exec.clone()));
            return Ok(true);
        }
        // Podman's does not say which exec it was.
        ("exec_died", _) => inner.hub.tell(News::EndedIn(id.clone())),
        _ => {}
    }
    let Some(origin) = whose(inner, &id, &attributes) else { return Ok(true) };
    let sandbox = SandboxId::new(&id);
    if let Some(line) = action.strip_prefix(STARTED) {
        let Some(exec) = exec.filter(|exec| !inner.is_own_exec(exec, line)) else { return Ok(true) };
        return Ok(to.send(began(sandbox, exec.clone(), line)).await.is_ok());
    }
    match action.as_str() {
        "exec_die" => {
            let Some(exec) = exec else { return Ok(true) };
            let exit_code = attributes.get("exitCode").and_then(|code| code.parse().ok());
            let event = BackendEvent::ExecEnded { exec: CallId::new(exec), exit_code, cwd: None };
            Ok(to.send(event).await.is_ok())
        }
        "pause" | "unpause" => {
            let event = BackendEvent::Paused { sandbox, paused: action == "pause" };
            Ok(to.send(event).await.is_ok())
        }
        "create" => {
            if origin != Origin::Managed {
                inner.others.known().due_at(discover::now() + SETTLED);
            }
            Ok(true)
        }
        "start" | "rename" => relist(inner, to).await,
        "die" | "destroy" | "remove" => {
            let removed = action != "die" || inner.is_going(&id).await;
            let why = if removed { REMOVED.to_owned() } else { end(attributes.get("exitCode").map(String::as_str)) };
            if to.send(BackendEvent::Ended { sandbox, removed, why }).await.is_err() {
                return Ok(false);
            }
            // Another one of its task may take its place, and its hermes-agent may have other plans for it now.
            if origin == Origin::Managed { Ok(true) } else { relist(inner, to).await }
        }
        _ => Ok(true),
    }
}

fn end(exit_code: Option<&str>) -> String {
    match exit_code {
        Some("137") => "its container was killed".to_owned(),
        Some("143" | "0") | None => "its container was stopped".to_owned(),
        Some(code) => format!("its container ended with exit code {code}"),
    }
}

/// Whose the container of an event is; `None` if it is not listed. Its labels are among the attributes.
fn whose(inner: &Shared, id: &str, attributes: &HashMap<String, String>) -> Option<Origin> {
    if let Some(listed) = inner.others.of(id) {
        return Some(listed.origin);
    }
    let name = attributes.get("name").cloned();
    discover::origin(attributes, &inner.profile, || inner.others.known().is_chosen(id, name.as_slice()))
}
