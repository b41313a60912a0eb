//! What a hermes-agent on this machine keeps in its files and says in its labels. Read-only: no file of a hermes-agent
//! is ever written; the queue of what its hooks tell is ours.
//!
//! Values of `.env` are never read. A file that cannot be read or understood is a warning, never a failure.

pub mod folders;
pub mod history;
pub mod home;
pub mod hook_payload;
pub mod hook_queue;
pub mod hook_setup;
pub mod hook_sieve;
pub mod hooks;
pub mod jobs;
pub mod labels;
pub mod owner;
pub mod records;
pub mod script;
pub mod settings;
pub mod turns;

use crate::domain::Moment;

/// A time as hermes writes it: seconds since 1970 with a fraction.
#[must_use]
pub fn moment(seconds: f64) -> Moment {
    // Negative numbers and NaN become 0, as `as` does.
    Moment((seconds * 1000.0) as u64)
}
