//! What a hermes-agent tells through a shell hook, as it is kept until the host takes it.
//!
//! It runs a hook while the agent waits, so that only what stands in no record of its own is told: how a turn ended.
//! When it began, its commands and their ends are in `state.db` as they happen.

pub use super::hook_queue::{read_queue, remove};
use crate::domain::Moment;
use serde::{Deserialize, Serialize};

/// The event that we are called for, as it stands below `hooks:` in a `config.yaml`. In spite of its name it ends a turn
/// (hermes-agent 0.19, `agent/shell_hooks.py`).
pub const EVENT: &str = "on_session_end";

/// The form in which it is stored. Another number is another form.
const VERSION: u32 = 1;

/// The agent is done with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnd {
    /// When that was told, by the machine's clock.
    pub at: Moment,
    /// Id of the session of hermes-agent.
    pub session: String,
    /// There is a final answer.
    pub completed: bool,
    /// The user broke it off.
    pub interrupted: bool,
}

#[derive(Serialize, Deserialize)]
struct Stored<E> {
    version: u32,
    event: E,
}

impl TurnEnd {
    /// As it is stored.
    ///
    /// # Errors
    /// Never, for what can be built; JSON has room for all of it.
    pub fn to_stored(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Stored { version: VERSION, event: self })
    }

    /// From what was stored; `None` if it is broken or of another version.
    #[must_use]
    pub fn from_stored(bytes: &[u8]) -> Option<Self> {
        let stored: Stored<Self> = serde_json::from_slice(bytes).ok()?;
        (stored.version == VERSION).then_some(stored.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_comes_back_and_what_is_broken_or_of_another_version_is_not_understood() {
        let end = TurnEnd { at: Moment(7), session: "s".into(), completed: true, interrupted: false };
        let stored = String::from_utf8(end.to_stored().expect("stored")).expect("text");
        assert_eq!(TurnEnd::from_stored(stored.as_bytes()), Some(end));
        let other = stored.replace("\"version\":1", "\"version\":2");
        for text in ["", "{", &stored[..stored.len() - 1], &other] {
            assert_eq!(TurnEnd::from_stored(text.as_bytes()), None, "{text}");
        }
    }
}
