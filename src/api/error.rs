//! What goes wrong, as it is sent and printed: what was tried, why it failed, what to do next.

use crate::domain::{Refusal, RefusalKind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Kinds of errors. The kind picks the exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// It failed.
    Failed,
    /// No such thing.
    NotFound,
    /// No host runs for this profile, and none could be started.
    NoHost,
    /// The message is not one of the protocol.
    Protocol,
    /// The words of the request are wrong, or ambiguous.
    Usage,
    /// The configuration cannot be used.
    Config,
    /// The backend cannot be reached.
    Unreachable,
    /// A rule forbids it.
    Policy,
    /// It did not happen in the time that was given.
    TimedOut,
    /// A defect of this program.
    Internal,
}

impl ErrorCode {
    /// The exit code of a command that fails so.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failed | Self::NotFound | Self::NoHost | Self::Protocol => 1,
            Self::Usage => 2,
            Self::Config => 3,
            Self::Unreachable => 4,
            Self::Policy => 5,
            Self::TimedOut => 124,
            Self::Internal => 70,
        }
    }

    /// The kind that an exit code stands for.
    #[must_use]
    pub fn of_exit(code: u8) -> Self {
        match code {
            2 => Self::Usage,
            3 => Self::Config,
            4 => Self::Unreachable,
            5 => Self::Policy,
            70 => Self::Internal,
            124 => Self::TimedOut,
            _ => Self::Failed,
        }
    }

    /// The number in a JSON-RPC error. The reserved ones are of the JSON-RPC 2.0 specification, section 5.1.
    fn rpc(self) -> i64 {
        match self {
            Self::Usage => -32602,
            Self::Protocol => -32600,
            Self::Internal => -32603,
            other => -32000 - i64::from(other.exit_code()),
        }
    }
}

/// An error as it is sent and printed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// Kind.
    pub code: ErrorCode,
    /// What was tried and why it failed.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

impl ApiError {
    /// An error of the given kind.
    pub fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: hint.into() }
    }

    /// The `error` member of a JSON-RPC reply.
    #[must_use]
    pub fn to_rpc(&self) -> Value {
        json!({
            "code": self.code.rpc(),
            "message": self.message,
            "data": {"code": self.code, "hint": self.hint},
        })
    }

    /// The error in the `error` member of a JSON-RPC reply.
    #[must_use]
    pub fn from_rpc(error: &Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let data = error.get("data");
        let code = data
            .and_then(|data| data.get("code"))
            .and_then(|code| ErrorCode::deserialize(code).ok())
            .unwrap_or(ErrorCode::Failed);
        Self { code, message: text(error.get("message")), hint: text(data.and_then(|data| data.get("hint"))) }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.kind {
            RefusalKind::Failed => ErrorCode::Failed,
            RefusalKind::NotFound => ErrorCode::NotFound,
            RefusalKind::Usage => ErrorCode::Usage,
            RefusalKind::Config => ErrorCode::Config,
            RefusalKind::Unreachable => ErrorCode::Unreachable,
            RefusalKind::Policy => ErrorCode::Policy,
        };
        Self { code, message: refusal.message, hint: refusal.hint }
    }
}
