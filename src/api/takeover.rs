//! The screen takes the place of a host without a screen: verbs start one in the background, and must not thereby
//! lock a person out.

use super::client::Client;
use super::error::{ApiError, ErrorCode};
use super::protocol::{ApiCall, Nothing, Shutdown};
use crate::runtime::owner::Owner;
use crate::runtime::paths::Paths;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// The other host has this long to end after it said that it would.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends a host without a screen, leaving everything running for the one that follows. Does nothing where none runs, or
/// one with a screen.
///
/// # Errors
/// It runs a command now, which would be cut off; or it does not end.
pub async fn take_over(paths: &Paths) -> Result<(), ApiError> {
    if Owner::present(paths).is_none() {
        return Ok(());
    }
    let Ok(mut host) = Client::connect(paths).await else { return Ok(()) };
    let status = host.call(&ApiCall::Status(Nothing {})).await?;
    if status["screen"] != false {
        return Ok(());
    }
    let listed = host.call(&ApiCall::EnvList(Nothing {})).await?;
    if let Some(command) = running_command(&listed) {
        return Err(ApiError::new(
            ErrorCode::Failed,
            format!(
                "cannot open the screen: the host without a screen (pid {}) runs a command now: {command}",
                status["pid"]
            ),
            "wait until it has ended, or end that host with `hermes-tui shutdown`",
        ));
    }
    host.call(&ApiCall::Shutdown(Shutdown { keep: true })).await?;
    let deadline = Instant::now() + PATIENCE;
    while Owner::is_held(paths) {
        if Instant::now() >= deadline {
            return Err(ApiError::new(
                ErrorCode::Failed,
                format!("cannot open the screen: the host without a screen (pid {}) does not end", status["pid"]),
                format!("try again; its log is in {}", paths.logs().display()),
            ));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

fn running_command(listed: &Value) -> Option<String> {
    let environments = listed["environments"].as_array()?;
    environments.iter().find_map(|env| {
        let holders = env["holders"].as_array()?;
        let call = holders.iter().find(|holder| holder["kind"] == "call")?;
        Some(format!(
            "{} in {}",
            call["detail"].as_str().unwrap_or("a command"),
            env["name"].as_str().unwrap_or_default()
        ))
    })
}
