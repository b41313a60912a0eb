//! Pane sessions: one PTY shell or program in a sandbox.

use super::begin::Begin;
use super::id::{ConversationId, EnvId, Generation, SessionId};
use super::moment::Moment;
use serde::{Deserialize, Serialize};

/// Size of a terminal in cells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Columns.
    pub cols: u16,
}

impl Size {
    /// The most lines and columns that are drawn and emulated: a larger terminal is used in part. What one client says of
    /// itself must not cost the host its memory.
    pub const MOST: Self = Self { rows: 500, cols: 1000 };

    /// The fewest columns that a program is given; of a narrower pane the left ones are shown. In one or two columns bash
    /// 5.2 divides by zero as it wraps what is typed, and ends (seen with bash 5.2.15 in a bare terminal).
    pub const LEAST_COLS: u16 = 4;

    /// What a program is given in a pane of this size: at least one line and [`Self::LEAST_COLS`], and no more than
    /// [`Self::MOST`].
    #[must_use]
    pub fn for_program(self) -> Self {
        Self { cols: self.cols.max(Self::LEAST_COLS), ..self }.bounded()
    }

    /// At least one cell, and no more than [`Self::MOST`].
    #[must_use]
    pub fn bounded(self) -> Self {
        Self { rows: self.rows.clamp(1, Self::MOST.rows), cols: self.cols.clamp(1, Self::MOST.cols) }
    }
}

impl Default for Size {
    fn default() -> Self {
        Self { rows: 24, cols: 80 }
    }
}

/// Where a session stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "state")]
pub enum SessionState {
    /// Waits for its sandbox or for the backend.
    Opening,
    /// Runs.
    Running,
    /// Ended by itself or by a person.
    Ended {
        /// The program's exit code, where known (128 + signal when a signal ended it).
        exit_code: Option<i32>,
        /// When.
        at: Moment,
        /// One sentence for people.
        why: String,
    },
}

impl Session {
    /// Whether nothing of it runs any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.state, SessionState::Ended { .. })
    }
}

/// One PTY shell or program in a sandbox. Outlives the pane that shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The environment.
    pub env: EnvId,
    /// The generation of the sandbox that it belongs to.
    pub generation: Generation,
    /// The conversation whose shell it is.
    pub conversation: Option<ConversationId>,
    /// Argument vector; empty means the shell found there.
    pub program: Vec<String>,
    /// Where its shell begins.
    #[serde(default, skip_serializing_if = "Begin::is_usual")]
    pub begin: Begin,
    /// Size.
    pub size: Size,
    /// Where it stands.
    pub state: SessionState,
    /// When it was asked for.
    pub began: Moment,
}
