//! What can be answered from the state alone.

use super::protocol::ApiCall;
use super::shapes::{self, EnvExtra, Extras};
use crate::domain::{Conversation, ConversationId, Environment, Moment, Refusal, RefusalKind, SessionId, State, Turn};
use serde_json::{Value, json};

/// The answer to a call that only asks; `None` for one that wants something done.
pub fn query(state: &State, now: Moment, call: &ApiCall, extras: &Extras) -> Option<Result<Value, Refusal>> {
    let answer = match call {
        ApiCall::Status(_) => Ok(shapes::status(state, now, extras)),
        ApiCall::EnvList(_) => Ok(environments(state, now, extras)),
        ApiCall::EnvShow(params) => environment(state, &params.env)
            .map(|env| json!({"environment": shapes::environment_in_detail(state, now, env, &extra(extras, env))})),
        ApiCall::ConversationList(_) => {
            let mut all: Vec<&Conversation> = state.conversations.values().collect();
            all.sort_by(|a, b| (b.last_active, &a.id).cmp(&(a.last_active, &b.id)));
            let all: Vec<Value> = all.into_iter().map(shapes::conversation).collect();
            Ok(json!({"conversations": all}))
        }
        ApiCall::ConversationShow(params) => conversation(state, &params.conversation).map(|found| {
            let mut value = shapes::conversation(found);
            let turns = shapes::turns(state, found);
            value["turns"] = turns["turns"].clone();
            value["outside"] = turns["outside"].clone();
            json!({"conversation": value})
        }),
        ApiCall::TurnList(params) => conversation(state, &params.conversation).map(|found| shapes::turns(state, found)),
        ApiCall::TurnShow(params) => turn(state, &params.turn).map(|(owner, found)| {
            let mut value = shapes::turn(state, found);
            value["conversation"] = json!(owner.id);
            json!({"turn": value})
        }),
        ApiCall::SessionList(_) => {
            let all = state.sessions.values();
            let all: Vec<Value> = all.map(|s| shapes::session(s, attached(extras, &s.id))).collect();
            Ok(json!({"sessions": all}))
        }
        ApiCall::Reap(params) => match &params.explain {
            Some(text) => {
                environment(state, text).map(|env| json!({"verdicts": [shapes::listed_verdict(state, now, env)]}))
            }
            None if params.dry_run => Ok(verdicts(state, now)),
            None => return None,
        },
        _ => return None,
    };
    Some(answer.map(shapes::reply))
}

/// The answer to `env.list`.
fn environments(state: &State, now: Moment, extras: &Extras) -> Value {
    let mut all: Vec<&Environment> = state.environments.values().collect();
    all.sort_by(|a, b| (&a.spec.endpoint, &a.name, &a.id).cmp(&(&b.spec.endpoint, &b.name, &b.id)));
    let all: Vec<Value> =
        all.into_iter().map(|env| shapes::environment(state, now, env, &extra(extras, env))).collect();
    json!({"environments": all, "endpoints": shapes::endpoints(state, extras)})
}

/// The reaper's verdicts on all environments.
pub(super) fn verdicts(state: &State, now: Moment) -> Value {
    let all: Vec<Value> = state.environments.values().map(|env| shapes::listed_verdict(state, now, env)).collect();
    json!({"verdicts": all})
}

pub(super) fn extra(extras: &Extras, env: &Environment) -> EnvExtra {
    extras.envs.get(&env.id).cloned().unwrap_or_default()
}

pub(super) fn attached(extras: &Extras, session: &SessionId) -> usize {
    extras.attached.get(session).copied().unwrap_or(0)
}

/// Finds an environment by name, `endpoint/name`, or id prefix.
///
/// # Errors
/// Not found, or ambiguous.
pub fn environment<'a>(state: &'a State, text: &str) -> Result<&'a Environment, Refusal> {
    let id = state.resolve(text)?;
    state.environments.get(&id).ok_or_else(|| {
        Refusal::new(RefusalKind::NotFound, format!("there is no environment `{text}`"), "see `hermes-tui env list`")
    })
}

/// Finds a conversation by its id.
///
/// # Errors
/// Not found; with the nearest id where there is one.
pub fn conversation<'a>(state: &'a State, text: &str) -> Result<&'a Conversation, Refusal> {
    let found = state.conversations.iter().find(|(id, _)| id.as_str() == text).map(|(_, found)| found);
    found.ok_or_else(|| {
        let known = state.conversations.keys().map(ConversationId::as_str);
        let hint = match super::nearest::nearest(text, known) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "see `hermes-tui conversation list`".to_owned(),
        };
        Refusal::new(RefusalKind::NotFound, format!("there is no conversation `{text}`"), hint)
    })
}

/// Finds a turn by its id or a prefix of it.
///
/// # Errors
/// Not found, or ambiguous.
pub fn turn<'a>(state: &'a State, text: &str) -> Result<(&'a Conversation, &'a Turn), Refusal> {
    let all = || state.conversations.values().flat_map(|owner| owner.turns.iter().map(move |turn| (owner, turn)));
    let ids = all().map(|(_, turn)| turn.id.as_str());
    let id = by_prefix("turn", text, ids, "see `hermes-tui turn list --conversation ID`")?;
    all()
        .find(|(_, turn)| turn.id.as_str() == id)
        .ok_or_else(|| missing("turn", text, "see `hermes-tui turn list --conversation ID`"))
}

/// Finds a session by its id or a prefix of it.
///
/// # Errors
/// Not found, or ambiguous.
pub fn session(state: &State, text: &str) -> Result<SessionId, Refusal> {
    let ids = state.sessions.keys().map(SessionId::as_str);
    by_prefix("session", text, ids, "see `hermes-tui session list`").map(SessionId::new)
}

fn missing(kind: &str, text: &str, hint: &str) -> Refusal {
    Refusal::new(RefusalKind::NotFound, format!("there is no {kind} `{text}`"), hint)
}

fn by_prefix<'a>(kind: &str, text: &str, ids: impl Iterator<Item = &'a str>, hint: &str) -> Result<&'a str, Refusal> {
    let matches: Vec<&str> = ids.filter(|id| !text.is_empty() && id.starts_with(text)).collect();
    match matches.as_slice() {
        [] => Err(missing(kind, text, hint)),
        [one] => Ok(one),
        many => match many.iter().find(|id| **id == text) {
            Some(exact) => Ok(exact),
            None => Err(Refusal::new(
                RefusalKind::Usage,
                format!("`{text}` stands for several {kind}s: {}", many.join(", ")),
                "give more of the id",
            )),
        },
    }
}
