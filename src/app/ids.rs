//! Fresh identifiers from a seed: chance is an argument, so that a run can be replayed.

use crate::domain::{CallId, EnvId, ReplyTo, SessionId, TurnId};

/// Replies to requests of the screen itself carry this bit: the runtime hands out none with it.
const OURS: u64 = 1 << 63;

/// Makes identifiers. The same seed makes the same ones.
#[derive(Clone, Debug)]
pub struct IdSource {
    state: u64,
    replies: u64,
}

impl IdSource {
    /// A source that starts at a seed. The runtime takes the seed from the system's random numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed, replies: 0 }
    }

    /// 48 bits as 12 hexadecimal digits (the generator is `SplitMix64` by Steele, Lea and Flood).
    fn text(&mut self) -> String {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        format!("{:012x}", (z ^ (z >> 31)) >> 16)
    }

    /// A fresh environment.
    pub fn env(&mut self) -> EnvId {
        EnvId::new(self.text())
    }

    /// A fresh session.
    pub fn session(&mut self) -> SessionId {
        SessionId::new(self.text())
    }

    /// A fresh turn.
    pub fn turn(&mut self) -> TurnId {
        TurnId::new(self.text())
    }

    /// A fresh command.
    pub fn call(&mut self) -> CallId {
        CallId::new(self.text())
    }

    /// Whom the core shall answer when the screen itself asks.
    pub(super) fn reply(&mut self) -> ReplyTo {
        self.replies += 1;
        ReplyTo(OURS | self.replies)
    }
}

/// Whether an answer is for the screen itself.
#[must_use]
pub fn is_ours(to: ReplyTo) -> bool {
    to.0 & OURS != 0
}
