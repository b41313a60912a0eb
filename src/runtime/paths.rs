//! Where the files of a profile are.
//!
//! Without `HTUI_HOME` the profile is the user's own: the platform's config, data and state folders, and the runtime
//! folder that the session manager gives out. `HTUI_HOME=DIR` puts all four under DIR.

use directories::ProjectDirs;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Longest name that is ever put into the runtime folder: a sandbox's socket named after its environment.
const LONGEST_NAME: usize = 48;

/// Bytes of a socket's address that a path may use: `sun_path` is 108 bytes on Linux and 104 on macOS and the BSDs,
/// one of which ends the text.
pub const SOCKET_PATH_LIMIT: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// The folders of one profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Holds `config.toml`.
    pub config_dir: PathBuf,
    /// Holds the journal and the files of environments.
    pub data_dir: PathBuf,
    /// Holds logs.
    pub state_dir: PathBuf,
    /// Holds sockets; short enough for every name in it.
    pub runtime_dir: PathBuf,
}

/// Why no folders could be found.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// Neither `HTUI_HOME` nor a home directory.
    #[error("cannot tell where to keep files: neither HTUI_HOME nor HOME is set")]
    NoHome,
    /// `HTUI_HOME` is not usable.
    #[error("HTUI_HOME is {0:?}, which is not an absolute path")]
    NotAbsolute(PathBuf),
}

impl Paths {
    /// Finds them in this process's environment.
    ///
    /// # Errors
    /// No home directory is known.
    pub fn find() -> Result<Self, PathError> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let user = nix::unistd::geteuid().as_raw();
        let session = variable("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(home) = variable("HTUI_HOME") {
            return Self::under(&absolute(home)?, session, user);
        }
        let dirs = ProjectDirs::from("", "", "hermes-tui").ok_or(PathError::NoHome)?;
        Ok(Self {
            config_dir: dirs.config_dir().to_owned(),
            data_dir: dirs.data_dir().to_owned(),
            state_dir: dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir()).to_owned(),
            runtime_dir: short(runtime_base(session, user), dirs.data_dir(), user),
        })
    }

    fn under(home: &Path, session: Option<PathBuf>, user: u32) -> Result<Self, PathError> {
        let runtime = home.join("run");
        let runtime_dir = if fits(&runtime) {
            runtime
        } else {
            let base = runtime_base(session, user);
            let base = if fits(&hashed(&base, home)) { base } else { fallback_base(user) };
            hashed(&base, home)
        };
        Ok(Self {
            config_dir: home.join("config"),
            data_dir: home.join("data"),
            state_dir: home.join("state"),
            runtime_dir,
        })
    }

    /// The configuration file that is read unless another is named.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.config_dir.join("config.toml")
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.data_dir.join("journal.db")
    }

    /// The folder that holds one folder per environment.
    #[must_use]
    pub fn environments(&self) -> PathBuf {
        self.data_dir.join("envs")
    }

    /// Folder of texts that a person saved from a session.
    #[must_use]
    pub fn saved(&self) -> PathBuf {
        self.state_dir.join("saved")
    }

    /// The queue of what hermes-agents' hooks tell.
    #[must_use]
    pub fn hooks(&self) -> PathBuf {
        self.data_dir.join("hooks")
    }

    /// The lock whose holder is the profile's host. In the data folder, because that is what must have one owner:
    /// the runtime folder can differ between a desktop session and a cron job of the same user.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.data_dir.join("host.lock")
    }

    /// The host's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.runtime_dir.join("host.sock")
    }

    /// The folder of logs.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.state_dir.join("logs")
    }

    /// What a host started in the background says before its log is open.
    #[must_use]
    pub fn host_errors(&self) -> PathBuf {
        self.state_dir.join("host.err")
    }

    /// Makes every folder, private to the user.
    ///
    /// # Errors
    /// A folder cannot be made, or the runtime folder is not safe to put a socket in.
    pub fn create(&self) -> io::Result<()> {
        for folder in [&self.config_dir, &self.data_dir, &self.state_dir] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| about(folder, &error))?;
        }
        if let Some(parent) = self.runtime_dir.parent() {
            let shared_with_others = parent.file_name().is_some_and(|name| name.as_bytes().starts_with(b"hermes-tui"));
            if shared_with_others {
                private_dir(parent)?;
            } else {
                DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(|error| about(parent, &error))?;
            }
        }
        private_dir(&self.runtime_dir)
    }
}

fn absolute(home: OsString) -> Result<PathBuf, PathError> {
    let path = PathBuf::from(home);
    if path.is_absolute() { Ok(path) } else { std::path::absolute(&path).map_err(|_| PathError::NotAbsolute(path)) }
}

fn runtime_base(session: Option<PathBuf>, user: u32) -> PathBuf {
    match session {
        Some(folder) => folder.join("hermes-tui"),
        None => std::env::temp_dir().join(format!("hermes-tui-{user}")),
    }
}

fn fallback_base(user: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/hermes-tui-{user}"))
}

fn short(base: PathBuf, profile: &Path, user: u32) -> PathBuf {
    if fits(&base) { base } else { hashed(&fallback_base(user), profile) }
}

fn fits(folder: &Path) -> bool {
    folder.as_os_str().len() + 1 + LONGEST_NAME <= SOCKET_PATH_LIMIT
}

fn hashed(base: &Path, profile: &Path) -> PathBuf {
    let digest = Sha256::digest(profile.as_os_str().as_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    base.join(format!("p-{name}"))
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Makes a folder that only this user can enter, or checks that an existing one is.
///
/// # Errors
/// It cannot be made; it is a symbolic link or no folder; somebody else owns it; group or others can write to it.
pub fn private_dir(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(about(path, &error)),
    }
    let refuse =
        |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{}: {why}", path.display())));
    let meta = fs::symlink_metadata(path).map_err(|error| about(path, &error))?;
    if meta.file_type().is_symlink() {
        return refuse("is a symbolic link; sockets are only put into a folder of the user's own".to_owned());
    }
    if !meta.is_dir() {
        return refuse("is not a folder".to_owned());
    }
    if meta.uid() != nix::unistd::geteuid().as_raw() {
        return refuse(format!("belongs to user {}, not to this one", meta.uid()));
    }
    if meta.mode() & 0o022 != 0 {
        return refuse("can be written by other users".to_owned());
    }
    if meta.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(|error| about(path, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NAME, Paths, SOCKET_PATH_LIMIT};
    use std::path::{Path, PathBuf};

    #[test]
    fn a_deep_profile_gets_a_short_runtime_folder_of_its_own() {
        let deep = PathBuf::from("/").join("d".repeat(60)).join("e".repeat(60));
        let other = PathBuf::from("/").join("d".repeat(60)).join("f".repeat(60));
        for session in [None, Some(PathBuf::from("/run/user/1000")), Some(deep.clone())] {
            let a = Paths::under(&deep, session.clone(), 1000).unwrap().runtime_dir;
            let b = Paths::under(&other, session, 1000).unwrap().runtime_dir;
            assert!(a.as_os_str().len() + 1 + LONGEST_NAME <= SOCKET_PATH_LIMIT, "{a:?}");
            assert_ne!(a, b);
        }
    }

    #[test]
    fn a_profile_folder_holds_everything() {
        let paths = Paths::under(Path::new("/p"), None, 1000).unwrap();
        assert!(
            [&paths.config_dir, &paths.data_dir, &paths.state_dir, &paths.runtime_dir]
                .iter()
                .all(|p| p.starts_with("/p"))
        );
    }
}
