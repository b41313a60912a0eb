//! The JSON shapes of replies. Fields may be added, never renamed. Times are RFC 3339, durations seconds unless named
//! `_ms`. Values of variables are never shown, known token shapes are masked.

use crate::backend::details::{Details, Place};
use crate::domain::{
    BackendKind, Call, CallId, Conversation, Deed, EndpointId, EnvId, Environment, Holder, Moment, Notice, Origin,
    Persistence, Phase, Session, SessionId, SessionState, Span, State, TheirRetention, Turn, Verdict,
};
use crate::runtime::event_log::Gap;
use crate::runtime::redact::{label, redact};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the runtime knows beside the state, for listings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Extras {
    /// Of environments.
    pub envs: BTreeMap<EnvId, EnvExtra>,
    /// How many panes show each session.
    pub attached: BTreeMap<SessionId, usize>,
    /// All endpoints, also those that do not answer.
    pub endpoints: Vec<EndpointInfo>,
    /// The host itself.
    pub host: HostInfo,
    /// What is wrong beside the core (journal, configuration), one sentence each.
    pub troubles: Vec<String>,
}

/// What the runtime knows of one environment's sandbox.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EnvExtra {
    /// Last working directory inside.
    pub cwd: Option<String>,
    /// Bytes of its files.
    pub disk_bytes: Option<u64>,
    /// All that its backend tells of it, once somebody asked.
    pub details: Option<Box<Details>>,
}

/// An endpoint as listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointInfo {
    /// Kind.
    pub backend: BackendKind,
    /// Its id.
    pub endpoint: EndpointId,
    /// Whether a probe found it usable.
    pub usable: bool,
    /// What a probe said of it.
    pub detail: String,
}

/// The host as `status` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostInfo {
    /// Its process id.
    pub pid: u32,
    /// When it started.
    pub started: Moment,
    /// Its socket.
    pub socket: PathBuf,
    /// Its data folder.
    pub data_dir: PathBuf,
    /// Its logs.
    pub logs: PathBuf,
    /// Whether it shows a screen.
    pub screen: bool,
}

/// RFC 3339 in UTC, to the millisecond.
#[must_use]
pub fn time(at: Moment) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX).to_string()
}

/// Seconds; whole ones without a fraction.
#[must_use]
pub fn seconds(span: Span) -> Value {
    if span.0.is_multiple_of(1000) { json!(span.0 / 1000) } else { json!(span.as_seconds()) }
}

/// An enumeration's word as it is written in JSON.
pub fn word<T: Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        _ => String::new(),
    }
}

/// A reply: the given fields and the version of the shapes.
#[must_use]
pub fn reply(fields: Value) -> Value {
    let mut map = Map::new();
    map.insert("schema".to_owned(), json!(1));
    if let Value::Object(fields) = fields {
        map.extend(fields);
    }
    Value::Object(map)
}

fn isolation(env: &Environment) -> &'static str {
    match env.spec.backend {
        _ if env.spec.on_host => "none",
        BackendKind::Local => "namespace",
        BackendKind::Docker => "container",
    }
}

/// The text without the values of an environment's variables and without token shapes.
pub(super) fn clean(text: &str, env: Option<&Environment>) -> String {
    redact(text, env.into_iter().flat_map(|env| env.spec.env.values().map(String::as_str)))
}

/// An environment as `env list` shows it.
#[must_use]
pub fn environment(state: &State, now: Moment, env: &Environment, extra: &EnvExtra) -> Value {
    let holder = |holder: Holder| json!({"kind": holder.kind, "detail": clean(&holder.detail, Some(env)), "since": time(holder.since)});
    let holders: Vec<Value> = env.holders().into_iter().map(holder).collect();
    let sessions: Vec<&SessionId> = state.sessions.values().filter(|s| s.env == env.id).map(|s| &s.id).collect();
    let cwd = extra.cwd.clone().or_else(|| {
        state
            .calls
            .values()
            .filter(|call| call.env.as_ref() == Some(&env.id))
            .max_by_key(|call| call.began)
            .and_then(|c| c.cwd.clone())
    });
    let last_ending = env.last_ending.as_ref().map(|ending| json!({"at": time(ending.at), "why": ending.why}));
    let failure = env.failure.as_ref().map(|failure| {
        let retry_at = if env.phase == Phase::Failed { env.retry_at() } else { failure.retry_at };
        json!({"at": time(failure.at), "message": failure.message, "hint": failure.hint, "attempts": failure.attempts,
               "retry_at": retry_at.map(time)})
    });
    json!({
        "id": env.id,
        "name": env.name,
        "backend": env.spec.backend,
        "endpoint": env.spec.endpoint,
        "origin": env.origin,
        "persistence": env.spec.persistence,
        "live_persistent": env.spec.persistence == Persistence::Persistent
            && env.sandbox.is_some()
            && matches!(env.phase, Phase::Ready | Phase::Reaping),
        "scope": env.spec.scope,
        "retention": env.spec.retention,
        "isolation": isolation(env),
        "phase": env.phase,
        "phase_since": time(env.phase_since),
        "created": time(env.created),
        "sandbox": env.sandbox.as_ref().map(|id| json!({"id": id, "generation": env.generation})),
        "image": env.spec.image,
        "cwd": cwd,
        "disk_bytes": extra.disk_bytes,
        "holders": holders,
        "idle_seconds": seconds(env.spec.idle),
        "idle_deadline_at": env.deadline.map(time),
        "last_activity": {
            "kind": env.last_activity.kind,
            "detail": clean(&env.last_activity.detail, Some(env)),
            "at": time(env.last_activity.at),
        },
        "paused": env.paused,
        "taken_over_at": env.taken.map(time),
        "watched": watched(env),
        "last_ending": last_ending,
        "failure": failure,
        "conversations": env.conversations,
        "sessions": sessions,
        "verdict": state.verdict(now, &env.id).map(|verdict| self::verdict(&verdict, Some(env))),
    })
}

/// What is known of one that is not ours.
fn watched(env: &Environment) -> Option<Value> {
    let watched = env.watched.as_ref()?;
    let leak = env.leak().map(|leak| json!({"kind": leak.kind, "evidence": leak.evidence}));
    Some(json!({
        "profile": watched.profile,
        "task": watched.task,
        "home": watched.home,
        "maker": (env.origin == Origin::Hermes).then(|| env.maker()),
        "retention": watched.retention.as_ref().map(TheirRetention::word),
        "leak": leak,
        "made": (watched.made > Moment::default()).then(|| time(watched.made)),
        "swept_from": env.swept_from().map(time),
    }))
}

/// An environment as `env show` shows it: with mounts, labels, limits, user, network, drift.
#[must_use]
pub fn environment_in_detail(state: &State, now: Moment, env: &Environment, extra: &EnvExtra) -> Value {
    let mut value = environment(state, now, env, extra);
    let variables: Vec<&String> = env.spec.env.keys().collect();
    let more = json!({
        "mounts": mounts(env, extra),
        "labels": labels(env, extra),
        "limits": limits(extra),
        "cpus": env.spec.cpu_millis.map(|millis| f64::from(millis) / 1000.0),
        "memory_bytes": env.spec.memory_bytes,
        "user": extra.details.as_ref().map(|details| &details.user),
        "home": extra.details.as_ref().map(|details| &details.home),
        "network": env.spec.network,
        "variables": variables,
        "rules": rules(state, env),
        "consequences": {"stop": env.consequences(Deed::Stop), "remove": env.consequences(Deed::Remove)},
        "commands": commands(state, |call| call.env.as_ref() == Some(&env.id) && call.conversation.is_none()),
        "drift": extra.details.as_ref().map(|details| details.drift.clone()).unwrap_or_default(),
        "details": extra.details.as_ref().map(|details| json!({
            "image": details.image.as_ref().map(|image| json!({"name": image.name, "id": image.id, "digest": image.digest})),
            "network": details.network,
            "restart": details.restart,
            "created": details.created.map(time),
            "started": details.started.map(time),
        })),
    });
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}

/// The rules of the configuration that chose it, each with the conversations for which it did.
fn rules(state: &State, env: &Environment) -> Vec<Value> {
    let rules = state.rules_of(&env.id).into_iter();
    rules.map(|(rule, conversations)| json!({"rule": rule, "conversations": conversations})).collect()
}

/// Where files can be, and what of them survives, as far as that was seen.
fn mounts(env: &Environment, extra: &EnvExtra) -> Vec<Value> {
    let plain = |source: &str, target: &str, read_only: bool| json!({"source": source, "target": target, "read_only": read_only});
    let Some(details) = &extra.details else {
        let asked = env.spec.mounts.iter();
        return asked.map(|mount| plain(&mount.source, &mount.target, mount.read_only)).collect();
    };
    let place = |place: &Place| {
        let mut value = plain(&place.source, &place.target, place.read_only);
        value["kind"] = json!(place.kind.word());
        value["survives_stop"] = json!(place.kind.survives_stop());
        value["survives_removal"] = json!(place.kind.survives_removal());
        value
    };
    details.places.iter().map(place).collect()
}

fn limits(extra: &EnvExtra) -> Vec<Value> {
    let limits = extra.details.iter().flat_map(|details| &details.limits);
    limits.map(|one| json!({"name": one.name, "value": one.value, "enforced": one.enforced})).collect()
}

/// Labels, but no secret that somebody put there.
fn labels(env: &Environment, extra: &EnvExtra) -> BTreeMap<String, String> {
    let labels = extra.details.iter().flat_map(|details| &details.labels);
    labels.map(|(name, value)| (name.clone(), label(name, &clean(value, Some(env))))).collect()
}

/// A verdict.
#[must_use]
pub fn verdict(verdict: &Verdict, env: Option<&Environment>) -> Value {
    let evidence: Vec<Value> =
        verdict.evidence.iter().map(|fact| json!({"what": fact.what, "detail": clean(&fact.detail, env)})).collect();
    json!({"kind": verdict.kind, "reason": clean(&verdict.reason, env), "until": verdict.until.map(time), "evidence": evidence})
}

/// A verdict as `reap` lists it.
#[must_use]
pub fn listed_verdict(state: &State, now: Moment, env: &Environment) -> Value {
    json!({"environment": env.id, "name": env.name, "verdict": state.verdict(now, &env.id).map(|v| verdict(&v, Some(env)))})
}

/// The endpoints with whether they answer.
#[must_use]
pub fn endpoints(state: &State, extras: &Extras) -> Value {
    let all = extras.endpoints.iter().map(|info| {
        let down = state.down.get(&info.endpoint);
        json!({
            "backend": info.backend,
            "url": info.endpoint,
            "state": if down.is_some() || !info.usable { "unreachable" } else { "ok" },
            "detail": down.unwrap_or(&info.detail),
        })
    });
    Value::Array(all.collect())
}

/// A command.
#[must_use]
pub fn command(state: &State, call: &Call) -> Value {
    json!({
        "id": call.id,
        "command": clean(&call.command, call.env.as_ref().and_then(|id| state.environments.get(id))),
        "cwd": call.cwd,
        "exit_code": call.exit_code,
        "duration_ms": call.ended.map(|ended| ended.since(call.began).0),
        "source": call.source,
        "count": call.count,
        "began": time(call.began),
        "ended": call.ended.map(time),
        "environment": call.env,
    })
}

fn commands(state: &State, wanted: impl Fn(&Call) -> bool) -> Vec<Value> {
    let mut calls: Vec<&Call> = state.calls.values().filter(|call| wanted(call)).collect();
    calls.sort_by(|a, b| (a.began, &a.id).cmp(&(b.began, &b.id)));
    calls.into_iter().map(|call| command(state, call)).collect()
}

/// A turn with its commands.
#[must_use]
pub fn turn(state: &State, turn: &Turn) -> Value {
    let env = turn.env.as_ref().and_then(|id| state.environments.get(id));
    json!({
        "turn": turn.id,
        "number": turn.number,
        "began": time(turn.began),
        "ended": turn.ended.map(time),
        "status": turn.status,
        "prompt": turn.prompt.as_ref().map(|prompt| clean(prompt, env)),
        "source": turn.source,
        "environment": turn.env,
        "taken_over": turn.taken_over.iter().map(|one| json!({"from": time(one.from), "until": one.until.map(time)}))
            .collect::<Vec<_>>(),
        "commands": commands(state, |call| call.turn.as_ref() == Some(&turn.id)),
    })
}

/// The turns of a conversation, and its commands outside of turns.
#[must_use]
pub fn turns(state: &State, conversation: &Conversation) -> Value {
    let turns: Vec<Value> = conversation.turns.iter().map(|each| turn(state, each)).collect();
    let outside = commands(state, |call| call.turn.is_none() && call.conversation.as_ref() == Some(&conversation.id));
    json!({"conversation": conversation.id, "turns": turns, "outside": outside})
}

/// A conversation as listed.
#[must_use]
pub fn conversation(conversation: &Conversation) -> Value {
    let open = conversation.turns.last().filter(|turn| turn.ended.is_none());
    json!({
        "id": conversation.id,
        "title": conversation.title,
        "kind": conversation.kind,
        "agent": conversation.agent,
        "environment": conversation.env,
        "rule": conversation.rule,
        "session": conversation.session,
        "turn_count": conversation.turns.len(),
        "open_turn": open.map(|turn| &turn.id),
        "last_active": time(conversation.last_active),
        "ended": conversation.ended.map(time),
    })
}

/// A session.
#[must_use]
pub fn session(session: &Session, attached: usize) -> Value {
    let (state, exit_code, why) = match &session.state {
        SessionState::Opening => ("opening", None, None),
        SessionState::Running => ("running", None, None),
        SessionState::Ended { exit_code, why, .. } => ("ended", *exit_code, Some(why)),
    };
    json!({
        "id": session.id,
        "environment": session.env,
        "generation": session.generation,
        "conversation": session.conversation,
        "program": session.program,
        "size": [session.size.rows, session.size.cols],
        "state": state,
        "exit_code": exit_code,
        "why": why,
        "attached": attached,
        "began": time(session.began),
    })
}

/// The host.
#[must_use]
pub fn status(state: &State, now: Moment, extras: &Extras) -> Value {
    let count = |phase: Phase| state.environments.values().filter(|env| env.phase == phase).count();
    let running = state.sessions.values().filter(|s| s.state == SessionState::Running).count();
    let open_turns = state.conversations.values().filter(|c| c.turns.last().is_some_and(|t| t.ended.is_none())).count();
    // What the reaper really does next, as the screen counts it down.
    let due = state.environments.values().filter_map(|env| Some((state.acts_at(now, env)?, env)));
    let next = due.min_by_key(|(at, _)| *at);
    json!({
        "running": true,
        "pid": extras.host.pid,
        "version": env!("CARGO_PKG_VERSION"),
        "protocol": super::protocol::PROTOCOL,
        "started": time(extras.host.started),
        "uptime_seconds": now.since(extras.host.started).0 / 1000,
        "screen": extras.host.screen,
        "socket": extras.host.socket,
        "data_dir": extras.host.data_dir,
        "logs": extras.host.logs,
        "environments": {
            "total": state.environments.len(),
            "ready": count(Phase::Ready),
            "stopped": count(Phase::Stopped),
            "held": state.environments.values().filter(|env| !env.holders().is_empty()).count(),
            "managed": state.environments.values().filter(|env| env.origin == Origin::Managed).count(),
        },
        "sessions": running,
        "open_turns": open_turns,
        "next_reap": next.map(|(at, env)| json!({"environment": env.id, "name": env.name, "at": time(at)})),
        "endpoints": endpoints(state, extras),
        "troubles": extras.troubles,
    })
}

/// The line that stands in the event stream for what is missing there. Its number is the one to come back with.
#[must_use]
pub fn gap(at: Moment, gap: Gap) -> Value {
    let (why, missed, text) = match gap {
        Gap::NotKept { first, last } => {
            let text =
                format!("events {first} to {last} cannot be told: they are not kept, or were never written down");
            ("not_kept", json!({"first": first, "last": last}), text)
        }
        Gap::OtherCount { asked, .. } => {
            let text = format!("event {asked} is not of this count; everything that is kept follows");
            ("other_count", Value::Null, text)
        }
    };
    json!({"seq": gap.seq(), "at": time(at), "kind": "events.gap", "text": text, "why": why, "missed": missed})
}

/// One line of the event stream.
#[must_use]
pub fn event(seq: u64, at: Moment, notice: &Notice) -> Value {
    let mut map = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            map.insert(name.to_owned(), value);
        }
    };
    put("seq", Some(json!(seq)));
    put("at", Some(json!(time(at))));
    put("kind", Some(json!(notice.kind)));
    put("text", Some(json!(redact(&notice.text, []))));
    put("environment", notice.env.as_ref().map(|id| json!(id)));
    put("conversation", notice.conversation.as_ref().map(|id| json!(id)));
    put("turn", notice.turn.as_ref().map(|id| json!(id)));
    put("session", notice.session.as_ref().map(|id| json!(id)));
    put("call", notice.call.as_ref().map(|id: &CallId| json!(id)));
    Value::Object(map)
}
