//! Applies the rules of the configuration to a turn that begins: which one is its conversation's, and what it gives.

use super::protocol::{SpecFlags, TurnBegin};
use crate::config::rules::choose;
use crate::config::{Facts, Given, Rule};
use crate::domain::{ConversationId, Refusal, RefusalKind, Span, State};

/// The rule for a turn that begins, if one fits its conversation.
///
/// # Errors
/// The one that fits cannot be used.
pub(super) fn rule<'a>(state: &State, begin: &TurnBegin, rules: &'a [Rule]) -> Result<Option<&'a Rule>, Refusal> {
    let known = state.conversations.get(&ConversationId::new(&begin.conversation));
    let told = |now: &Option<String>, before: Option<&String>| now.as_ref().or(before).cloned().unwrap_or_default();
    let facts = Facts {
        kind: &told(&begin.kind, known.and_then(|known| known.kind.as_ref())),
        title: &told(&begin.title, known.and_then(|known| known.title.as_ref())),
        conversation: &begin.conversation,
        source: begin.source.as_deref().unwrap_or_default(),
        cwd: begin.cwd.as_deref().unwrap_or_default(),
    };
    let Some(rule) = choose(rules, &facts) else { return Ok(None) };
    match &rule.fault {
        None => Ok(Some(rule)),
        Some(fault) => Err(Refusal::new(
            RefusalKind::Config,
            format!("no turn of {} begins by the rules of the configuration: {fault}", begin.conversation),
            "`hermes-tui config check` shows where; correct it, or name an environment with --env-name",
        )),
    }
}

/// What a rule gives, as flags would.
pub(super) fn flags(given: &Given) -> SpecFlags {
    SpecFlags {
        backend: given.backend,
        endpoint: given.endpoint.clone(),
        image: given.image.clone(),
        persistence: given.persistence,
        scope: given.scope,
        retention: given.retention,
        idle_seconds: given.idle.map(Span::as_seconds),
        network: given.network,
        ..SpecFlags::default()
    }
}

/// Says whose words led to a refusal.
pub(super) fn blame(rule: &Rule, refusal: Refusal) -> Refusal {
    Refusal { message: format!("{} ({rule} of the configuration says the rest)", refusal.message), ..refusal }
}
