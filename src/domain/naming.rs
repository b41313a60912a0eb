//! Names of environments: which are allowed, which are free, and how a text finds one.

use super::environment::Environment;
use super::id::{ConversationId, EndpointId, EnvId};
use super::request::{Refusal, RefusalKind};
use super::state::State;
use super::words;

/// Longest name, in characters.
pub const LONGEST_NAME: usize = 64;

/// How the names of environments that nobody named begin; a number follows.
const MADE_UP: &str = "env-";

/// Checks a name that somebody wants to give.
///
/// # Errors
/// Empty, too long, or with characters that would make it ambiguous.
pub fn check(name: &str) -> Result<(), Refusal> {
    let wrong = if name.trim().is_empty() {
        "it is empty".to_owned()
    } else if name.chars().count() > LONGEST_NAME {
        format!("it is longer than {LONGEST_NAME} characters")
    } else if name.contains('/') {
        "it contains `/`, which separates endpoint and name".to_owned()
    } else if name.chars().any(char::is_control) {
        "it contains control characters".to_owned()
    } else if name.starts_with('-') || name.trim() != name {
        "it starts with `-` or has spaces around it".to_owned()
    } else {
        return Ok(());
    };
    let message = format!("{name:?} cannot be the name of an environment: {wrong}");
    Err(Refusal::new(RefusalKind::Usage, message, "use letters, digits, `-`, `_` and `.`"))
}

/// Whether a name is one word that cannot be taken for `endpoint/name` or a flag, and that a terminal can show.
#[must_use]
pub fn is_plain(name: &str) -> bool {
    name.starts_with(char::is_alphanumeric)
        && name.chars().count() <= LONGEST_NAME
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// A name made from a conversation's id: readable and always allowed.
#[must_use]
pub fn from_conversation(conversation: &ConversationId) -> String {
    let keep = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name: String = conversation.as_str().chars().map(keep).take(40).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "conversation".to_owned() } else { name.to_owned() }
}

impl State {
    /// Whether a name is taken on an endpoint by another environment than `except`.
    pub(super) fn is_taken(&self, endpoint: &EndpointId, name: &str, except: Option<&EnvId>) -> bool {
        let same = |env: &&Environment| env.spec.endpoint == *endpoint && env.name == name;
        self.environments.values().filter(same).any(|env| Some(&env.id) != except)
    }

    /// A name for an environment that nobody named: the first free one of `env-1`, `env-2`, `env-3`, …
    pub(super) fn next_name(&self, endpoint: &EndpointId) -> String {
        let candidates = (1..=self.environments.len() + 1).map(|n| format!("{MADE_UP}{n}"));
        candidates.into_iter().find(|name| !self.is_taken(endpoint, name, None)).unwrap_or_else(|| MADE_UP.to_owned())
    }

    /// The first free one of `base`, `base-2`, `base-3`, …
    pub(super) fn free_name(&self, endpoint: &EndpointId, base: &str) -> String {
        if !self.is_taken(endpoint, base, None) {
            return base.to_owned();
        }
        let stem: String = base.chars().take(LONGEST_NAME - 8).collect();
        // One more candidate than there are environments: one of them is free.
        let candidates = (2..=self.environments.len() + 2).map(|n| format!("{stem}-{n}"));
        candidates.into_iter().find(|name| !self.is_taken(endpoint, name, None)).unwrap_or(stem)
    }

    /// Refuses a name that is not allowed or taken.
    pub(super) fn check_name(&self, endpoint: &EndpointId, name: &str, except: Option<&EnvId>) -> Result<(), Refusal> {
        check(name)?;
        if self.is_taken(endpoint, name, except) {
            let message = format!("{name} is already the name of an environment on {endpoint}");
            return Err(Refusal::new(RefusalKind::Policy, message, "choose another name, or use the existing one"));
        }
        Ok(())
    }

    /// Finds an environment by name, `endpoint/name`, or id prefix: an exact id wins, then names, then prefixes.
    pub(super) fn find(&self, text: &str) -> Result<EnvId, Refusal> {
        if text.trim().is_empty() {
            let hint = "give a name, `endpoint/name` or the start of an id; `hermes-tui env list` shows them";
            return Err(Refusal::new(RefusalKind::Usage, "no environment was named", hint));
        }
        if let Some(env) = self.environments.get(&EnvId::new(text)) {
            return Ok(env.id.clone());
        }
        let named = self.matching(|env| env.name == text || is_qualified(env, text));
        let matches = if named.is_empty() { self.matching(|env| env.id.as_str().starts_with(text)) } else { named };
        match matches.as_slice() {
            [] => Err(not_found(text)),
            [one] => Ok(one.id.clone()),
            several => Err(ambiguous(text, several)),
        }
    }

    /// The environment of exactly this name on an endpoint; with `anywhere` else the one of that name on any other.
    pub(super) fn named(
        &self,
        name: &str,
        endpoint: &EndpointId,
        anywhere: bool,
    ) -> Result<Option<&Environment>, Refusal> {
        let all = self.matching(|env| env.name == name);
        let here = all.iter().find(|env| env.spec.endpoint == *endpoint).copied();
        match all.as_slice() {
            _ if here.is_some() || !anywhere => Ok(here),
            [] => Ok(None),
            [one] => Ok(Some(one)),
            several => Err(ambiguous(name, several)),
        }
    }

    fn matching(&self, condition: impl Fn(&Environment) -> bool) -> Vec<&Environment> {
        self.environments.values().filter(|env| condition(env)).collect()
    }
}

/// Whether the text is `endpoint/name` or `backend/name` of this environment. An endpoint may itself contain `/`.
fn is_qualified(env: &Environment, text: &str) -> bool {
    text.rsplit_once('/').is_some_and(|(place, name)| {
        env.name == name && (place == env.spec.endpoint.as_str() || place == words::backend(env.spec.backend))
    })
}

/// Whether a name is one that we made up.
pub(super) fn is_made_up(name: &str) -> bool {
    name.strip_prefix(MADE_UP).is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
}

/// The refusal for a name that nothing has.
pub(super) fn not_found(text: &str) -> Refusal {
    let message = format!("there is no environment {text:?}");
    Refusal::new(RefusalKind::NotFound, message, "`hermes-tui env list` shows those that exist")
}

fn ambiguous(text: &str, several: &[&Environment]) -> Refusal {
    let list: Vec<String> =
        several.iter().take(10).map(|env| format!("{}/{} ({})", env.spec.endpoint, env.name, env.id)).collect();
    let more = several.len().saturating_sub(10);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!("{text:?} fits {} environments: {}{more}", several.len(), list.join(", "));
    Refusal::new(RefusalKind::Usage, message, "name one of them by `endpoint/name` or by more of its id")
}
