//! One host per profile: whoever holds the lock owns PTYs, reaper, socket and journal.

use super::paths::Paths;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// For so long somebody who is not a host may have the lock: a command that asks who the host is, for a moment, and a
/// host that was killed, until the last of its threads is gone.
const PASSES: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// What the holder of the lock writes into it, so that others can find and name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerInfo {
    /// Its process id.
    pub pid: u32,
    /// Its socket.
    pub socket: PathBuf,
    /// Its version.
    pub version: String,
}

/// The lock, held until dropped (or until the process ends, however it ends).
#[derive(Debug)]
pub struct Owner {
    file: File,
}

/// Why the lock was not got.
#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    /// Another process has it.
    #[error("cannot become the host of this profile: {} already is", describe(.0.as_ref()))]
    Taken(Option<OwnerInfo>),
    /// The lock file cannot be used.
    #[error("cannot lock {}: {error}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl OwnerError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Taken(_) => "look at it with `hermes-tui status`, end it with `hermes-tui shutdown`, or use another \
                               profile with HTUI_HOME=DIR"
                .to_owned(),
            Self::Io { path, .. } => {
                format!("make {} writable, or use another profile with HTUI_HOME=DIR", path.display())
            }
        }
    }
}

fn describe(info: Option<&OwnerInfo>) -> String {
    match info {
        Some(info) => format!("another hermes-tui (pid {}, version {})", info.pid, info.version),
        None => "another hermes-tui".to_owned(),
    }
}

impl Owner {
    /// Takes the lock of a profile. Waits for a moment where it is taken: its holder may be no host, or none any more.
    ///
    /// # Errors
    /// Another process has it, or the file cannot be used.
    pub fn acquire(paths: &Paths) -> Result<Self, OwnerError> {
        let path = paths.lock();
        let io = |error| OwnerError::Io { path: path.clone(), error };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io)?;
        let end = Instant::now() + PASSES;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(LOOK_AGAIN),
                Err(TryLockError::WouldBlock) => return Err(OwnerError::Taken(parse(&mut file))),
                Err(TryLockError::Error(error)) => return Err(io(error)),
            }
        }
        let info = OwnerInfo {
            pid: std::process::id(),
            socket: paths.socket(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let mut text = serde_json::to_vec(&info).unwrap_or_default();
        text.push(b'\n');
        file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).and_then(|_| file.write_all(&text)).map_err(io)?;
        Ok(Self { file })
    }

    /// Whether somebody holds the lock of a profile now. A host that ends is not named any more before it lets go.
    #[must_use]
    pub fn is_held(paths: &Paths) -> bool {
        let file = OpenOptions::new().read(true).open(paths.lock());
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Who holds the lock of a profile now; `None` if nobody does.
    #[must_use]
    pub fn present(paths: &Paths) -> Option<OwnerInfo> {
        let mut file = OpenOptions::new().read(true).open(paths.lock()).ok()?;
        // A shared lock is got at once when nobody holds the exclusive one, and is given back with the file.
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => parse(&mut file),
            _ => None,
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // The file stays: removing it would let two processes lock two files of the same name.
        let _ = self.file.set_len(0);
    }
}

fn parse(file: &mut File) -> Option<OwnerInfo> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::{Owner, OwnerError, PASSES, Paths};
    use std::fs::File;
    use std::time::Instant;

    #[test]
    fn a_host_waits_for_its_lock_while_somebody_only_asks() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = |name: &str| folder.path().join(name);
        let paths = Paths {
            config_dir: below("config"),
            data_dir: below("data"),
            state_dir: below("state"),
            runtime_dir: below("run"),
        };
        std::fs::create_dir_all(paths.lock().parent().expect("a folder")).expect("made");
        let asks = File::create(paths.lock()).expect("a file");
        asks.try_lock_shared().expect("nobody has it");
        let now = Instant::now();
        assert!(matches!(Owner::acquire(&paths), Err(OwnerError::Taken(None))));
        assert!(now.elapsed() >= PASSES, "it did not wait for somebody who only asks");
        drop(asks);
        assert!(Owner::acquire(&paths).is_ok());
    }
}
