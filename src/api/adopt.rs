//! Containers that nobody lists: what there is, and which one a person means.

use super::about::About;
use super::nearest::nearest;
use super::protocol::EnvAdopt;
use super::shapes;
use crate::backend::{BackendError, Candidate, Standing};
use crate::domain::{EndpointId, FailureKind, Refusal, RefusalKind, Request, SandboxState};
use serde_json::{Value, json};
use std::time::Duration;

/// An engine that takes longer is said not to answer.
const PATIENCE: Duration = Duration::from_secs(10);

type Found = (EndpointId, Result<Vec<Candidate>, BackendError>);

/// What every endpoint holds that is not listed.
async fn candidates(about: &About) -> Vec<Found> {
    // Places where no engine ever was are none of those that somebody waits for.
    let listed = about.backends().iter().filter(|(_, backend)| backend.standing() == Standing::Listed);
    let asked = listed.map(|(endpoint, backend)| async move {
        let found = tokio::time::timeout(PATIENCE, backend.candidates()).await.unwrap_or_else(|_| {
            let message = format!("{endpoint} did not answer within {} s", PATIENCE.as_secs());
            Err(BackendError::new(FailureKind::Unreachable, message, "`hermes-tui doctor` says what was tried"))
        });
        (endpoint.clone(), found)
    });
    futures_util::future::join_all(asked).await
}

/// The answer to `env.candidates`.
pub(super) async fn list(about: &About) -> Value {
    let mut all = Vec::new();
    let mut unreachable = Vec::new();
    for (endpoint, found) in candidates(about).await {
        match found {
            Ok(found) => all.extend(found.iter().map(|one| {
                json!({"endpoint": endpoint, "container": one.sandbox, "name": one.name, "image": one.image,
                       "state": word(one.state)})
            })),
            Err(error) => unreachable.push(json!({"url": endpoint, "detail": error.message})),
        }
    }
    shapes::reply(json!({"candidates": all, "unreachable": unreachable}))
}

fn word(state: SandboxState) -> &'static str {
    match state {
        SandboxState::Running => "running",
        SandboxState::Paused => "paused",
        SandboxState::Stopped => "stopped",
    }
}

/// The request to show the container that is meant: by its name, `endpoint/name`, or the beginning of its id. One that
/// was named is remembered by its name, so that it is found again when it is made anew under it.
///
/// # Errors
/// There is no such container, or several.
pub(super) async fn request(about: &About, params: &EnvAdopt) -> Result<Request, Refusal> {
    let text = params.container.as_str();
    let (place, wanted) = match text.rsplit_once('/') {
        Some((place, name)) => (Some(place), name),
        None => (None, text),
    };
    let all = candidates(about).await;
    let here = |endpoint: &EndpointId| place.is_none_or(|place| place == endpoint.as_str());
    let mut matches: Vec<(EndpointId, String)> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut failure: Option<BackendError> = None;
    let mut answered = false;
    for (endpoint, found) in all.into_iter().filter(|(endpoint, _)| here(endpoint)) {
        match found {
            Ok(found) => {
                answered = true;
                for one in found {
                    if one.name == wanted {
                        matches.push((endpoint.clone(), one.name.clone()));
                    } else if wanted.len() >= 4 && one.sandbox.as_str().starts_with(wanted) {
                        matches.push((endpoint.clone(), one.sandbox.to_string()));
                    }
                    names.push(one.name);
                }
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    match (matches.len(), failure.filter(|_| !answered)) {
        (1, _) => {
            let (endpoint, container) = matches.remove(0);
            Ok(Request::Adopt { endpoint, container })
        }
        (0, Some(error)) => Err(Refusal::new(RefusalKind::Unreachable, error.message, error.hint)),
        (0, None) => {
            let message = format!("there is no container {text:?} that is not listed already");
            let meant =
                nearest(wanted, names.iter().map(String::as_str)).map(|name| format!("did you mean `{name}`? "));
            let hint = format!("{}`hermes-tui env adopt --list` shows what there is", meant.unwrap_or_default());
            Err(Refusal::new(RefusalKind::NotFound, message, hint))
        }
        _ => {
            let list: Vec<String> = matches.iter().map(|(endpoint, name)| format!("{endpoint}/{name}")).collect();
            let message = format!("{text:?} fits {} containers: {}", matches.len(), list.join(", "));
            Err(Refusal::new(RefusalKind::Usage, message, "name one by `endpoint/name` or by more of its id"))
        }
    }
}
