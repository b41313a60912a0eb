//! Where a copy arrives on this machine: first in a folder beside its place, then at it.
//!
//! The place may be in a folder that an environment writes to, so that a name can come to mean something else at any
//! moment: everything is reached through folders that are open, and no link is ever followed out of them.

use super::trouble;
use crate::api::{ApiError, ErrorCode};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What arrives, within the folder beside its place.
const DATA: &str = "data";

/// A folder beside the place of a copy. It goes when this is dropped.
pub(super) struct Stage {
    /// The folder that holds the place.
    parent: Dir,
    /// The name of the place; none where what arrives fills the parent itself.
    name: Option<OsString>,
    /// The place, for people.
    shown: PathBuf,
    /// This folder.
    dir: Dir,
    own: String,
}

impl Stage {
    /// For a copy to `to`, which gets `name` where that is a folder; without a name, what is in a folder goes to `to`
    /// itself.
    pub(super) fn new(to: &Path, name: Option<&str>, folder: bool) -> Result<Self, ApiError> {
        let is_dir = to.is_dir();
        let (parent, own_name) = match name {
            Some(name) if is_dir => (to.to_owned(), Some(OsString::from(name))),
            None if is_dir && folder => (to.to_owned(), None),
            _ if is_dir => return Err(taken(to, folder)),
            _ => {
                if to.as_os_str().as_encoded_bytes().ends_with(b"/") && !folder {
                    return Err(no_folder(to));
                }
                let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let name = to.file_name().ok_or_else(|| no_folder(to))?;
                (parent.to_owned(), Some(name.to_owned()))
            }
        };
        let shown = own_name.as_ref().filter(|_| is_dir).map_or_else(|| to.to_owned(), |name| to.join(name));
        if !parent.is_dir() {
            return Err(no_folder(&parent));
        }
        let open = Dir::open_ambient_dir(&parent, ambient_authority());
        let open = open.map_err(|error| trouble::here("write to", parent.display(), &error))?;
        let own = format!(".hermes-tui-cp-{}", uuid::Uuid::new_v4().simple());
        let make = || {
            let mut private = DirBuilder::new();
            open.create_dir_with(&own, private.mode(0o700))?;
            open.open_dir(&own)
        };
        let dir = make().map_err(|error| trouble::here("write to", parent.display(), &error))?;
        Ok(Self { parent: open, name: own_name, shown, dir, own })
    }

    /// What it is called, for people.
    pub(super) fn shown(&self) -> &Path {
        &self.shown
    }

    /// The file that arrives.
    pub(super) fn file(&self) -> io::Result<cap_std::fs::File> {
        self.dir.create(DATA)
    }

    /// The folder that arrives.
    pub(super) fn folder(&self) -> io::Result<Dir> {
        self.dir.create_dir(DATA)?;
        self.dir.open_dir(DATA)
    }

    /// Moves what arrived to its place; folders that are there already are filled up. Looks first whether anything is in
    /// the way.
    pub(super) fn commit(self) -> Result<(), ApiError> {
        let data = OsStr::new(DATA);
        match &self.name {
            Some(name) => {
                check(&self.dir, data, &self.parent, name, &self.shown)?;
                place(&self.dir, data, &self.parent, name, &self.shown)
            }
            None => {
                let from = self.dir.open_dir(data).map_err(|e| trouble::here("read", self.shown.display(), &e))?;
                each(&from, &self.parent, &self.shown, check)?;
                each(&from, &self.parent, &self.shown, place)
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.parent.remove_dir_all(&self.own);
    }
}

fn no_folder(path: &Path) -> ApiError {
    let message = format!("cannot copy to {}: there is no such folder", path.display());
    ApiError::new(ErrorCode::Failed, message, "make it first, or name another place")
}

fn taken(path: &Path, folder: bool) -> ApiError {
    let (is, new) = if folder { ("no folder", "a folder") } else { ("a folder", "a file") };
    let message = format!("{} is {is}, and {new} cannot take its place", path.display());
    ApiError::new(ErrorCode::Failed, message, "move it away, or name another place; nothing was changed")
}

type Step = fn(&Dir, &OsStr, &Dir, &OsStr, &Path) -> Result<(), ApiError>;

fn each(from: &Dir, to: &Dir, shown: &Path, step: Step) -> Result<(), ApiError> {
    let cannot = |error: io::Error| trouble::here("write to", shown.display(), &error);
    for entry in from.entries().map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        step(from, &name, to, &name, &shown.join(&name))?;
    }
    Ok(())
}

/// Whether both are folders; a link is none, whatever it leads to.
fn meet(from: &Dir, name: &OsStr, to: &Dir, place: &OsStr, shown: &Path) -> Result<bool, ApiError> {
    let folder = from.symlink_metadata(name).map(|found| found.is_dir());
    let there = match to.symlink_metadata(place) {
        Ok(found) => Some(found.is_dir()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(trouble::here("write", shown.display(), &error)),
    };
    match (folder.map_err(|error| trouble::here("write", shown.display(), &error))?, there) {
        (true, Some(false)) => Err(taken(shown, true)),
        (false, Some(true)) => Err(taken(shown, false)),
        (folder, there) => Ok(folder && there == Some(true)),
    }
}

fn check(from: &Dir, name: &OsStr, to: &Dir, at: &OsStr, shown: &Path) -> Result<(), ApiError> {
    go_on(from, name, to, at, shown, check).map(|_| ())
}

fn place(from: &Dir, name: &OsStr, to: &Dir, at: &OsStr, shown: &Path) -> Result<(), ApiError> {
    if go_on(from, name, to, at, shown, place)? {
        return Ok(());
    }
    from.rename(name, to, at).map_err(|error| trouble::here("write", shown.display(), &error))
}

/// Takes the step for all that is in a folder which is there already. False if it is not one.
fn go_on(from: &Dir, name: &OsStr, to: &Dir, at: &OsStr, shown: &Path, step: Step) -> Result<bool, ApiError> {
    if !meet(from, name, to, at, shown)? {
        return Ok(false);
    }
    let open = || Ok((from.open_dir(name)?, to.open_dir(at)?));
    let (from, to) = open().map_err(|error: io::Error| trouble::here("write to", shown.display(), &error))?;
    each(&from, &to, shown, step)?;
    Ok(true)
}
