//! Performs effects: clock, files, terminal, event loop.
//!
//! [`host`] is the loop; [`handle`] is how everything above reaches it; [`start`] puts a host together.

pub mod agents;
mod agents_watch;
pub mod begin;
pub mod calls;
pub mod candidates;
pub mod clock;
pub mod config_files;
pub mod details;
pub mod discovery;
pub mod effects;
pub mod erase;
pub mod event_log;
pub mod handle;
pub mod host;
pub mod hush;
pub mod inbound;
pub mod journal;
pub mod lanes;
mod last_screens;
pub mod log;
pub mod notify;
pub mod options;
pub mod owner;
pub mod panics;
pub mod paths;
pub mod reader;
pub mod redact;
pub mod save;
pub mod screen;
pub mod sessions;
pub mod start;
pub mod store;
pub mod terminal;
pub mod typed;
pub mod watcher;
pub mod wishes;
