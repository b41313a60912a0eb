//! The whole of the core's memory, and the one way to change it.

use super::effect::Effect;
use super::environment::Environment;
use super::event::Event;
use super::id::{CallId, ConversationId, EndpointId, EnvId, SessionId};
use super::moment::Moment;
use super::request::Refusal;
use super::session::Session;
use super::turn::{Call, Conversation};
use super::verdict::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Environments, sessions, conversations, commands, endpoints.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// Environments by id.
    pub environments: BTreeMap<EnvId, Environment>,
    /// Sessions by id.
    pub sessions: BTreeMap<SessionId, Session>,
    /// Conversations by id.
    pub conversations: BTreeMap<ConversationId, Conversation>,
    /// Commands by id; the oldest are shed.
    pub calls: BTreeMap<CallId, Call>,
    /// Endpoints that do not answer, and why.
    pub down: BTreeMap<EndpointId, String>,
}

impl State {
    /// Takes in one event and says what is to be done. Total: no I/O, no failure; a refusal is a reply effect.
    pub fn apply(&mut self, _now: Moment, _event: Event) -> Vec<Effect> {
        Vec::new()
    }

    /// When [`Event::DeadlineReached`] must be sent next; `None` when nothing is due by time.
    pub fn next_deadline(&self) -> Option<Moment> {
        None
    }

    /// The reaper's verdict on one environment: the very one it acts on.
    pub fn verdict(&self, _now: Moment, _env: &EnvId) -> Option<Verdict> {
        None
    }

    /// Finds an environment by name, `endpoint/name`, or id prefix.
    ///
    /// # Errors
    /// Not found, or ambiguous (with the matches listed).
    pub fn resolve(&self, _text: &str) -> Result<EnvId, Refusal> {
        Err(Refusal::new(super::RefusalKind::NotFound, "", ""))
    }
}
