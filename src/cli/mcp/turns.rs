//! Turns, and what environments there are.

use super::super::spec::mount;
use super::args::Args;
use super::hub::Hub;
use crate::api::protocol::{Nothing, Reap, SpecFlags, TurnBegin, TurnEnd};
use crate::api::{ApiCall, ApiError, ErrorCode};
use crate::domain::Persistence;
use serde_json::{Value, json};

/// What is told of an environment in a list.
const LISTED: [&str; 14] = [
    "id",
    "name",
    "backend",
    "endpoint",
    "origin",
    "persistence",
    "scope",
    "retention",
    "phase",
    "image",
    "holders",
    "conversations",
    "idle_deadline_at",
    "verdict",
];
/// Environments in one answer: usually, and at most.
const PAGE: (u64, u64) = (50, 200);

/// `begin_turn`.
pub(super) async fn begin(hub: &Hub, args: &Args, client: Option<String>) -> Result<Value, ApiError> {
    let mounts = args.texts("mounts");
    let mounts = mounts.iter().map(|text| {
        mount(text).map_err(|why| {
            ApiError::new(ErrorCode::Usage, format!("cannot begin a turn: mount `{text}`: {why}"), "write SRC:DST[:ro]")
        })
    });
    let mounts: Vec<_> = mounts.collect::<Result<_, _>>()?;
    let kind = |persistent| if persistent { Persistence::Persistent } else { Persistence::Ephemeral };
    let mut spec = SpecFlags {
        backend: args.word("backend"),
        image: args.owned("image"),
        persistence: args.flag("persistent").map(kind),
        scope: args.word("scope"),
        retention: args.word("retention"),
        idle_seconds: args.number("idle_seconds"),
        mounts: (!mounts.is_empty()).then_some(mounts),
        network: args.word("network"),
        ..SpecFlags::default()
    };
    if args.given("env_name").is_some() && spec != SpecFlags::default() {
        return Err(ApiError::new(
            ErrorCode::Usage,
            "cannot begin a turn both in a named environment and with a description of a new one",
            "give env_name without backend, image, persistent, scope, retention, idle_seconds, mounts and network",
        ));
    }
    if args.given("env_name").is_none() {
        spec.endpoint.clone_from(&hub.context.endpoint);
    }
    let begin = TurnBegin {
        conversation: hub.conversation(args.given("conversation")),
        title: args.owned("title").or_else(|| client.clone()),
        kind: args.owned("kind"),
        source: client,
        prompt: args.owned("prompt"),
        env_name: args.owned("env_name"),
        spec,
        ..TurnBegin::default()
    };
    hub.begin(begin).await
}

/// `end_turn`.
pub(super) async fn end(hub: &Hub, args: &Args) -> Result<Value, ApiError> {
    let conversation = hub.conversation(args.given("conversation"));
    let end = TurnEnd { conversation: conversation.clone(), status: args.word("status") };
    let mut reply = hub.call(&ApiCall::TurnEnd(end)).await?;
    let ended = reply["ended"].take();
    Ok(json!({"conversation": conversation, "ended_turn": ended}))
}

/// `list_environments`.
pub(super) async fn list(hub: &Hub, args: &Args) -> Result<Value, ApiError> {
    let reply = hub.call(&ApiCall::EnvList(Nothing {})).await?;
    let all = reply["environments"].as_array().map(Vec::as_slice).unwrap_or_default();
    let offset = args.count("offset").unwrap_or(0).min(all.len() as u64) as usize;
    let limit = args.count("limit").unwrap_or(PAGE.0).clamp(1, PAGE.1) as usize;
    let told = |env: &Value| -> Value {
        let mut told: Value = LISTED.iter().map(|name| ((*name).to_owned(), env[*name].clone())).collect();
        // The evidence is what `explain` is for.
        if let Some(verdict) = told["verdict"].as_object_mut() {
            verdict.remove("evidence");
        }
        told
    };
    let page: Vec<Value> = all.iter().skip(offset).take(limit).map(told).collect();
    let next = offset + page.len();
    Ok(json!({
        "environments": page,
        "total": all.len(),
        "next_offset": (next < all.len()).then_some(next),
        "endpoints": reply["endpoints"],
    }))
}

/// `explain`.
pub(super) async fn explain(hub: &Hub, args: &Args) -> Result<Value, ApiError> {
    let reap = Reap { dry_run: true, explain: args.owned("environment") };
    let mut reply = hub.call(&ApiCall::Reap(reap)).await?;
    Ok(reply["verdicts"][0].take())
}
