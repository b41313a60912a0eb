//! Starts a sandbox's processes, and ends them when they do not end by themselves.

use super::process;
use super::protocol::{Launch, Ready, Report};
use crate::backend::{BackendError, Result};
use crate::domain::FailureKind;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// A set-up takes some ten milliseconds; this long means that something hangs.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Starts a sandbox and waits until it listens.
///
/// # Errors
/// The program cannot be run, or the set-up was refused.
pub async fn launch(exe: &Path, launch: &Launch) -> Result<Ready> {
    let broken = |error: io::Error| {
        BackendError::new(
            FailureKind::Temporary,
            format!("cannot start a sandbox with {}: {error}", exe.display()),
            "check that the program is still there and may be executed",
        )
    };
    let text = serde_json::to_vec(launch).map_err(|error| broken(error.into()))?;
    let mut child = tokio::process::Command::new(exe)
        .arg0("hermes-tui")
        .arg("__sandbox")
        .arg(&launch.sandbox)
        // Nothing of the host's environment: it may hold secrets, and the first process outlives the host.
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(broken)?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(broken(io::Error::other("its pipes are missing")));
    };
    let told = async {
        input.write_all(&text).await?;
        drop(input);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).await?;
        Ok::<String, io::Error>(line)
    };
    let line = match tokio::time::timeout(START_TIMEOUT, told).await {
        Ok(Ok(line)) => line,
        Ok(Err(error)) => {
            let _ = child.kill().await;
            return Err(broken(error));
        }
        Err(_) => {
            // The first process dies with its watcher.
            let _ = child.kill().await;
            return Err(broken(io::Error::new(io::ErrorKind::TimedOut, "its set-up does not come to an end")));
        }
    };
    let report = serde_json::from_str::<Report>(&line);
    match report {
        Ok(Report::Ready(ready)) => {
            // Reaped when it ends, however long that takes.
            tokio::spawn(async move { child.wait().await });
            Ok(ready)
        }
        Ok(Report::Refused { message, hint }) => {
            let _ = child.wait().await;
            Err(BackendError::new(FailureKind::Permanent, message, hint))
        }
        Err(_) => {
            let _ = child.kill().await;
            Err(broken(io::Error::other("it ended without a report; is it hermes-tui?")))
        }
    }
}

/// A handle on one process that no reuse of its pid can redirect; `None` if it has ended.
fn handle(pid: i32, started: u64) -> io::Result<Option<OwnedFd>> {
    if pid <= 0 {
        return Ok(None);
    }
    // SAFETY: a system call with plain numbers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        let error = io::Error::last_os_error();
        return if error.raw_os_error() == Some(libc::ESRCH) { Ok(None) } else { Err(error) };
    }
    // SAFETY: the kernel has just made it for us.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    // Compared after the handle is taken: a pid that was used again since has another start.
    Ok(process::stat(pid).filter(|stat| stat.started == started && !stat.is_dead()).map(|_| fd))
}

/// Waits for the end of one process.
async fn ended(pid: i32, started: u64) {
    match handle(pid, started) {
        Ok(None) => {}
        Ok(Some(fd)) => {
            // SAFETY: an `OwnedFd` stays the same open descriptor until it is dropped, and it is never taken out.
            if let Ok(fd) = unsafe { AsyncFd::register_with_interest(fd, tokio::io::Interest::READABLE) } {
                let _ = fd.readable().await;
            }
        }
        // No handles on this kernel (before 5.3): look now and then.
        Err(_) => {
            while process::stat(pid).is_some_and(|stat| stat.started == started && !stat.is_dead()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

/// Whether a sandbox's first process lives.
pub fn lives(ready: &Ready) -> bool {
    process::stat(ready.pid).is_some_and(|stat| stat.started == ready.pid_started && !stat.is_dead())
}

/// Waits until a sandbox's processes are gone and its watcher has cleared up.
pub async fn gone(ready: &Ready) {
    ended(ready.pid, ready.pid_started).await;
    ended(ready.watcher, ready.watcher_started).await;
}

/// Removes from the host what the watcher of a sandbox that is gone could not, because it was killed.
pub fn clear_up(ready: &Ready, socket: &Path) {
    let _ = std::fs::remove_file(socket);
    for folder in &ready.groups {
        // Only an empty one goes: whatever else the path may have come to mean is safe.
        let _ = std::fs::remove_dir(folder);
    }
}

/// Ends a sandbox whose first process does not: KILL to that, which ends all inside.
pub fn kill(ready: &Ready) {
    match handle(ready.pid, ready.pid_started) {
        Ok(Some(fd)) => {
            // SAFETY: a system call with a descriptor that we own.
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd.as_raw_fd(), libc::SIGKILL, 0usize, 0u32) };
        }
        Ok(None) => {}
        Err(_) => {
            if process::stat(ready.pid).is_some_and(|stat| stat.started == ready.pid_started) {
                // SAFETY: a system call with plain numbers, on a process that was just identified.
                unsafe { libc::kill(ready.pid, libc::SIGKILL) };
            }
        }
    }
}
