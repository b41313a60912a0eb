//! The log: a file in the state folder, rotated daily, never the terminal.

use super::paths::Paths;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{Builder, Rotation};
use tracing_subscriber::EnvFilter;

/// Days of logs that are kept.
const KEPT: usize = 7;

/// Opens the log of a host. The guard writes out what is buffered when dropped. The level is `info`, or what
/// `HTUI_LOG` says (`debug`, `hermes_tui::api=trace`, …). Without a writable folder there is no log: that must not
/// keep a host from running.
#[must_use]
pub fn init(paths: &Paths) -> Option<WorkerGuard> {
    // The builder looks for old logs first, and complains on standard error when there is no folder yet.
    std::fs::create_dir_all(paths.logs()).ok()?;
    let appender = Builder::new()
        .rotation(Rotation::DAILY)
        .filename_prefix("hermes-tui")
        .filename_suffix("log")
        .max_log_files(KEPT)
        .build(paths.logs())
        .ok()?;
    let (writer, guard) = tracing_appender::non_blocking(appender);
    let filter = EnvFilter::try_from_env("HTUI_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(false).try_init().ok()?;
    Some(guard)
}
