//! Identifiers. Each kind of thing has its own type, so that one cannot be handed in for another.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! text_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// Wraps a text that is already known to be an id of this kind.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text as it is shown and sent.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// An environment: made once, survives restarts of everything.
    EnvId
);
text_id!(
    /// A sandbox as its backend names it. Kept through stop and start.
    SandboxId
);
text_id!(
    /// A pane session: one PTY in a sandbox.
    SessionId
);
text_id!(
    /// A conversation, as the agent names it (opaque text).
    ConversationId
);
text_id!(
    /// One turn of a conversation.
    TurnId
);
text_id!(
    /// One command that runs or ran in an environment.
    CallId
);
text_id!(
    /// One engine of a backend, for example `local` or a socket's URL.
    EndpointId
);

/// How often a sandbox was provisioned or started for an environment. Grows only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub u64);

impl Generation {
    /// The generation after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Where the answer to a request goes. The runtime hands it out and recognises it; `0` means nobody waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplyTo(pub u64);

impl ReplyTo {
    /// Nobody waits for the answer.
    pub const NOBODY: Self = Self(0);
}
