//! What the command line hands to the host.

use super::config_files::LoadedConfig;
use super::paths::Paths;

/// How a host is to run.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// The profile's folders; they exist.
    pub paths: Paths,
    /// The configuration file as read.
    pub config: LoadedConfig,
    /// The engine for new containers: a URL, or the name of an endpoint.
    pub endpoint: Option<String>,
    /// With a screen in this terminal (`hermes-tui`), or without (`hermes-tui serve`).
    pub screen: bool,
    /// Started because something needed a host: it ends by itself once there is nothing left to host.
    pub leaves: bool,
}

/// Why a host ended otherwise than in order. The code is the process's exit code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// Exit code: 1 error, 3 configuration, 70 internal.
    pub exit_code: u8,
    /// What was tried and why it failed.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

impl HostError {
    /// An ordinary failure (exit 1).
    pub fn failed(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit_code: 1, message: message.into(), hint: hint.into() }
    }
}
