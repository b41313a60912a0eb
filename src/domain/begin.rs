//! Where a shell begins: as usual, in a directory, or where an agent is.

use super::environment::Origin;
use super::id::{ConversationId, EnvId};
use super::naming;
use super::request::{Refusal, RefusalKind};
use super::state::State;
use super::turn::{Call, Conversation};
use super::words;
use serde::{Deserialize, Serialize};

/// Where a shell begins. Of a program that was named nothing is changed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begin {
    /// Where its sandbox has every shell begin.
    #[default]
    Usual,
    /// In this directory; as usual where that is gone.
    Directory(String),
    /// In an agent's last directory, with the variables that it exported.
    Agent {
        /// Where the sandbox keeps them.
        kept: Kept,
        /// The directory of its last command, where known.
        cwd: Option<String>,
        /// That one counts, and not the one that is kept: another conversation ran a command since.
        other: bool,
    },
}

/// What keeps an agent's directory and variables inside a sandbox. Nobody but a shell in there reads it: it may hold
/// secrets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// Nothing that is known here.
    Nothing,
    /// The newest snapshot that a hermes-agent wrote.
    Snapshot,
    /// The state of `exec --conversation ID --shell`.
    Conversation(ConversationId),
}

impl Begin {
    /// Whether it is nothing special.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::Usual
    }
}

impl State {
    /// Where the agent is in an environment: that of a conversation, else of the one in which something happened last.
    ///
    /// # Errors
    /// There is no such environment or conversation, the conversation uses another one, or no agent used this one.
    pub fn where_agent_is(&self, env: &EnvId, conversation: Option<&ConversationId>) -> Result<Begin, Refusal> {
        let Some(found) = self.environments.get(env) else { return Err(naming::not_found(env.as_str())) };
        let here = |c: &&Conversation| c.env.as_ref() == Some(env);
        let newest = || self.conversations.values().filter(here).max_by_key(|c| (c.last_active, &c.id));
        let meant = match conversation {
            Some(id) => match self.conversations.get(id) {
                Some(one) if here(&one) => Some(one),
                Some(_) => {
                    let message = format!("conversation {id} does not run in {}", found.name);
                    let id = words::quoted(id.as_str());
                    let hint = format!("`hermes-tui conversation show {id}` names its environment");
                    return Err(Refusal::new(RefusalKind::Usage, message, hint));
                }
                None => {
                    let message = format!("there is no conversation {id}");
                    return Err(Refusal::new(RefusalKind::NotFound, message, "see `hermes-tui conversation list`"));
                }
            },
            None => newest(),
        };
        let all = || self.calls.values().filter(|call| call.env.as_ref() == Some(env));
        let of_meant = |call: &&Call| meant.is_none_or(|c| call.conversation.as_ref() == Some(&c.id));
        let latest = |call: &&Call| (call.began, call.id.clone());
        let mine = all().filter(of_meant).max_by_key(latest);
        let kept = match meant {
            Some(c) if c.agent.is_none() => Kept::Conversation(c.id.clone()),
            _ if found.origin == Origin::Hermes => Kept::Snapshot,
            _ => Kept::Nothing,
        };
        if kept == Kept::Nothing && mine.is_none() {
            let message = format!("no agent has run a command in {} yet", found.name);
            let hint = format!("`hermes-tui session new {}` opens a shell as usual", words::quoted(&found.name));
            return Err(Refusal::new(RefusalKind::NotFound, message, hint));
        }
        // A snapshot is one for all conversations of its agent. A command that nobody is known to have asked for may
        // be of this one, and be joined to it later.
        let strange = |call: &Call| call.conversation.as_ref().is_some_and(|id| meant.is_some_and(|c| c.id != *id));
        let other = kept == Kept::Snapshot && all().max_by_key(latest).is_some_and(strange);
        let known = all().filter(of_meant).filter(|call| call.cwd.is_some()).max_by_key(latest);
        Ok(Begin::Agent { kept, cwd: known.and_then(|call| call.cwd.clone()), other })
    }
}
