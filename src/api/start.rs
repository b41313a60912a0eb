//! Starts a host in the background where a command needs one.

use super::client::Client;
use super::error::{ApiError, ErrorCode};
use crate::runtime::owner::Owner;
use crate::runtime::paths::Paths;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tokio::time::Instant;

/// Time in which a host that was started must answer.
const START_TIME: Duration = Duration::from_secs(2);

/// Makes the folders of a profile where they are not there.
///
/// # Errors
/// One cannot be made, or is not safe to use.
pub fn make_folders(paths: &Paths) -> Result<(), ApiError> {
    paths.create().map_err(|error| {
        ApiError::new(
            ErrorCode::Failed,
            format!("cannot use the folders of this profile: {error}"),
            "correct that, or use another profile with HTUI_HOME=DIR",
        )
    })
}

/// Connects to the host of a profile; starts one if none runs, and waits up to 2 s for it.
///
/// # Errors
/// None runs and none could be started: what it said itself, where it said something.
pub async fn connect_or_start(
    paths: &Paths,
    config: Option<&Path>,
    endpoint: Option<&str>,
) -> Result<Client, ApiError> {
    let first = match Client::connect(paths).await {
        Err(error) if error.code == ErrorCode::NoHost => error,
        other => return other,
    };
    if Owner::present(paths).is_none() {
        make_folders(paths)?;
    }
    let start = || {
        spawn(paths, config, endpoint).map_err(|error| {
            let message = format!("{}; and cannot start one: {error}", first.message);
            ApiError::new(ErrorCode::NoHost, message, first.hint.clone())
        })
    };
    let mut another = Owner::present(paths).is_some();
    let mut child = start()?;
    let deadline = Instant::now() + START_TIME;
    loop {
        match Client::connect(paths).await {
            Err(error) if error.code == ErrorCode::NoHost => {}
            other => return other,
        }
        if let Ok(Some(status)) = child.try_wait() {
            // Another command may have started one at the same moment: then ours ended because of it.
            let present = Owner::present(paths).is_some();
            match (present, another) {
                (true, _) => another = true,
                // It ended because of one that was on its way out, and is gone now.
                (false, true) if Instant::now() < deadline => {
                    another = false;
                    child = start()?;
                }
                (false, _) => return Err(ended(paths, status)),
            }
        }
        if Instant::now() >= deadline {
            if let (Ok(Some(_)), Some(owner)) = (child.try_wait(), Owner::present(paths)) {
                return Err(ApiError::new(
                    ErrorCode::NoHost,
                    format!("the host (pid {}) does not answer at {}", owner.pid, owner.socket.display()),
                    format!("end it with `kill {}`, which keeps persistent environments, then try again", owner.pid),
                ));
            }
            return Err(ApiError::new(
                ErrorCode::NoHost,
                format!("started a host (pid {}), but it does not answer after {} s", child.id(), START_TIME.as_secs()),
                format!("try again; its log is in {}", paths.logs().display()),
            ));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn spawn(paths: &Paths, config: Option<&Path>, endpoint: Option<&str>) -> io::Result<Child> {
    let errors = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(paths.host_errors());
    let errors = errors.map_or_else(|_| Stdio::null(), Stdio::from);
    let mut command = Command::new(std::env::current_exe()?);
    // `--detached` makes it leave this terminal's session as its first deed.
    command.args(["serve", "--detached"]);
    // It starts in another folder, where a relative path would mean another file and another profile.
    if let Some(config) = config {
        command.arg("--config").arg(std::path::absolute(config)?);
    }
    if let Some(endpoint) = endpoint {
        command.arg("--endpoint").arg(endpoint);
    }
    if let Some(home) = std::env::var_os("HTUI_HOME").filter(|home| !home.is_empty()) {
        command.env("HTUI_HOME", std::path::absolute(home)?);
    }
    // Not in the folder of whoever happened to need it first, which could then not be unmounted.
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn()
}

fn ended(paths: &Paths, status: ExitStatus) -> ApiError {
    let said = fs::read_to_string(paths.host_errors()).unwrap_or_default();
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let message = lines.next().map(|line| line.strip_prefix("error: ").unwrap_or(line));
    let hint = lines.next().map(|line| line.trim().strip_prefix("hint: ").unwrap_or(line.trim()).to_owned());
    let code = match status.code() {
        Some(3) => ErrorCode::Config,
        Some(70) => ErrorCode::Internal,
        _ => ErrorCode::NoHost,
    };
    ApiError::new(
        code,
        match message {
            Some(message) => format!("cannot start a host: {message}"),
            None => format!("cannot start a host: it ended at once ({status})"),
        },
        hint.unwrap_or_else(|| format!("its log is in {}", paths.logs().display())),
    )
}
