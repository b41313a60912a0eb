//! What a look into a sandbox finds.

use super::moment::Moment;
use serde::{Deserialize, Serialize};

/// A process that counts: not init, not the container's main command, no zombie, no shell of ours at its prompt.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LiveProcess {
    /// Its id inside the sandbox.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// When it was started.
    pub started: Moment,
}

/// What was found at one look.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// Processes that count.
    pub processes: Vec<LiveProcess>,
    /// Commands of others in flight, as the engine says.
    pub execs: u32,
    /// How many of our shells sit at their prompt (these do not hold).
    pub idle_shells: u32,
}
