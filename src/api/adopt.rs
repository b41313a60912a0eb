//! Containers that nobody lists: what there is, and which one a person means.

use super::about::About;
use super::nearest::nearest;
use super::protocol::EnvAdopt;
use super::shapes;
use crate::backend::BackendError;
use crate::domain::{EndpointId, Refusal, RefusalKind, Request};
use crate::runtime::candidates::{candidates, word};
use serde_json::{Value, json};

/// The answer to `env.candidates`.
pub(super) async fn list(about: &About) -> Value {
    let mut all = Vec::new();
    let mut unreachable = Vec::new();
    for (endpoint, found) in candidates(about.backends()).await {
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
    let all = candidates(about.backends()).await;
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
