//! The session that a person means by a name: one by its id, or the newest one that runs in an environment, which is
//! opened where there is none.

use super::protocol::SessionOpen;
use super::{queries, shapes};
use crate::app::Model;
use crate::domain::{Answer, Begin, EnvId, Refusal, RefusalKind, Request, Session, SessionId, SessionState, Size};
use crate::runtime::handle::HostHandle;
use serde_json::{Value, json};

/// What a name stands for.
enum Meant {
    Session(SessionId),
    /// An environment in which a session is to be opened.
    In(EnvId),
}

/// Finds the session, or opens it and waits until it is open.
pub(super) async fn session(host: &HostHandle, params: SessionOpen, fresh: String) -> Result<Value, Refusal> {
    let size = params.size.map_or_else(Size::default, |[rows, cols]| Size { rows, cols }.for_program());
    let (id, opened) = match host.read(move |model, _| meant(model, &params)).await?? {
        Meant::Session(id) => (id, false),
        Meant::In(env) => {
            let session = SessionId(fresh);
            let program = host.read(|model, _| model.options.shell.clone()).await?;
            let (id, begin) = (session.clone(), Begin::Usual);
            let request = Request::OpenSession { session: id, env, conversation: None, program, begin, size };
            match host.ask(request).await? {
                Answer::Session(id) => (id, true),
                _ => (session, true),
            }
        }
    };
    host.read(move |model, _| match model.state.sessions.get(&id) {
        Some(session) => {
            let name = model.state.environments.get(&session.env).map(|env| env.name.clone());
            let session = shapes::session(session, model.attached(&id));
            Ok(shapes::reply(json!({"session": session, "name": name, "opened": opened})))
        }
        None => Err(Refusal::new(RefusalKind::NotFound, format!("session {id} is gone"), LIST)),
    })
    .await?
}

const LIST: &str = "see `hermes-tui session list` and `hermes-tui env list`";

fn meant(model: &Model, params: &SessionOpen) -> Result<Meant, Refusal> {
    let (state, what) = (&model.state, params.what.as_str());
    let session = queries::session(state, what);
    if params.session_only {
        return running(model, session?);
    }
    match (state.resolve(what), session) {
        (Ok(env), Err(_)) => in_env(model, env, params),
        (Ok(env), Ok(_)) if !env.as_str().starts_with(what) => in_env(model, env, params),
        (Err(_), Ok(session)) => running(model, session),
        (Ok(env), Ok(session)) => {
            let message = format!("`{what}` stands for the environment {env} and for the session {session}");
            Err(Refusal::new(RefusalKind::Usage, message, "give more of the id"))
        }
        (Err(env), Err(session)) => {
            Err([env, session].into_iter().find(|refusal| refusal.kind != RefusalKind::NotFound).unwrap_or_else(|| {
                Refusal::new(RefusalKind::NotFound, format!("there is no environment or session `{what}`"), LIST)
            }))
        }
    }
}

/// A session that has ended has nothing to attach to.
fn running(model: &Model, id: SessionId) -> Result<Meant, Refusal> {
    match model.state.sessions.get(&id).map(|session| &session.state) {
        Some(SessionState::Ended { why, .. }) => {
            let hint = format!("`hermes-tui session capture {id} --history` prints what it showed last");
            Err(Refusal::new(RefusalKind::Failed, format!("session {id} is over: {why}"), hint))
        }
        _ => Ok(Meant::Session(id)),
    }
}

fn in_env(model: &Model, env: EnvId, params: &SessionOpen) -> Result<Meant, Refusal> {
    let lives = |s: &&Session| s.env == env && !s.has_ended();
    let newest = model.state.sessions.values().filter(lives).max_by_key(|s| (s.began, &s.id));
    match newest {
        Some(session) if !params.new => Ok(Meant::Session(session.id.clone())),
        _ if params.existing => {
            let name = model.state.environments.get(&env).map_or(env.as_str(), |found| found.name.as_str());
            let hint = "attach to it without --read-only, which opens one";
            Err(Refusal::new(RefusalKind::NotFound, format!("no session runs in {name} that could be looked at"), hint))
        }
        _ => Ok(Meant::In(env)),
    }
}
