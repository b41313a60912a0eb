//! Performs effects: clock, files, terminal, event loop.

pub mod config_files;
pub mod log;
pub mod options;
pub mod owner;
pub mod paths;
pub mod redact;
pub mod serve;
pub mod store;

pub use serve::{run_screen, run_serve};
