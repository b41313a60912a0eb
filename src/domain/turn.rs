//! Conversations, their turns, and the commands in them.

use super::id::{CallId, ConversationId, EnvId, SessionId, TurnId};
use super::moment::{Moment, Span};
use serde::{Deserialize, Serialize};

/// One agent session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Conversation {
    /// Its id, as the agent names it.
    pub id: ConversationId,
    /// Title for people.
    pub title: Option<String>,
    /// Kind: `main`, `subagent`, `cron`, … (open set).
    pub kind: Option<String>,
    /// The environment it maps to.
    pub env: Option<EnvId>,
    /// The rule of the configuration that chose that environment, for people. `None`: no rule did.
    #[serde(default)]
    pub rule: Option<String>,
    /// Its PTY session in the present generation.
    pub session: Option<SessionId>,
    /// Turns, oldest first.
    pub turns: Vec<Turn>,
    /// When something last happened in it.
    pub last_active: Moment,
    /// When it ended.
    pub ended: Option<Moment>,
    /// Profile of the hermes-agent whose own records tell of it. `None`: it was begun through us.
    #[serde(default)]
    pub agent: Option<String>,
}

/// One user request and all the agent does for it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// 1, 2, 3, … within the conversation.
    pub number: u32,
    /// When it began.
    pub began: Moment,
    /// When it ended.
    pub ended: Option<Moment>,
    /// Where it stands.
    pub status: TurnStatus,
    /// What the user asked, where known.
    pub prompt: Option<String>,
    /// How we know of it.
    pub source: TurnSource,
    /// How long its lease lives without a begin, command or touch.
    pub lease_ttl: Span,
    /// The environment it ran in.
    pub env: Option<EnvId>,
    /// When a person had that environment to themselves meanwhile.
    #[serde(default)]
    pub taken_over: Vec<TakenOver>,
}

/// A time in which a person had an environment to themselves, and its agents' commands waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TakenOver {
    /// Since when.
    pub from: Moment,
    /// Until when; `None` as long as it goes on.
    pub until: Option<Moment>,
}

/// Where a turn stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnStatus {
    /// Not ended.
    Running,
    /// Ended well.
    Done,
    /// Ended badly.
    Failed,
    /// Cut short, or its lease ran out.
    Interrupted,
}

/// How a turn became known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnSource {
    /// `turn begin` or the socket.
    Api,
    /// The agent's own records.
    Agent,
}

/// One command in an environment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Call {
    /// Its id.
    pub id: CallId,
    /// Where it runs; `None` where only its agent's records tell of it, and no sandbox listed here is the one.
    pub env: Option<EnvId>,
    /// The conversation it belongs to; without one it belongs to the person.
    pub conversation: Option<ConversationId>,
    /// The turn it belongs to; without one it stands outside of turns.
    pub turn: Option<TurnId>,
    /// The command as text.
    pub command: String,
    /// Working directory inside, where known.
    pub cwd: Option<String>,
    /// When it was asked for.
    pub began: Moment,
    /// When it ended.
    pub ended: Option<Moment>,
    /// Exit code; 124 timeout, 125 our failure, 126 not executable, 127 not found.
    pub exit_code: Option<i32>,
    /// How we know of it.
    pub source: CallSource,
    /// How often it ran: others repeat a command every few seconds, and one row stands for all of that. The times and
    /// the exit code are those of the last one.
    #[serde(default = "once")]
    pub count: u32,
    /// Its id in the records of the agent that asked for it.
    #[serde(default)]
    pub asked_as: Option<String>,
}

fn once() -> u32 {
    1
}

/// How a command became known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallSource {
    /// `exec -- ARGV`.
    Exec,
    /// `exec --shell`.
    Shell,
    /// Seen in the engine's events.
    Observed,
    /// In the agent's own records alone.
    Agent,
}
