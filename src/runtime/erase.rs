//! Deletes the files of an environment, whatever the programs in it left there.
//!
//! Folders may be nested far deeper than a stack or a table of open files reaches, and may be closed to their owner.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Deletes a folder and all below it. Links are deleted, not followed. A missing one is success.
///
/// # Errors
/// The first thing that cannot be deleted, by its path.
pub fn erase(folder: &Path) -> io::Result<()> {
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at(folder, &error)),
        Ok(found) if !found.is_dir() => return fs::remove_file(folder).map_err(|error| at(folder, &error)),
        Ok(_) => {}
    }
    let mut waiting = vec![folder.to_owned()];
    let mut moved = 0u64;
    while let Some(one) = waiting.pop() {
        empty(&one, folder, &mut moved, &mut waiting).map_err(|error| at(&one, &error))?;
        if one != folder {
            fs::remove_dir(&one).map_err(|error| at(&one, &error))?;
        }
    }
    fs::remove_dir(folder).map_err(|error| at(folder, &error))
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Deletes what a folder holds, but for folders that hold something themselves: those move up to `top`, so that no
/// path ever grows longer than the system takes (`PATH_MAX`), and wait there for their turn.
fn empty(one: &Path, top: &Path, moved: &mut u64, waiting: &mut Vec<PathBuf>) -> io::Result<()> {
    open_up(one)?;
    for entry in fs::read_dir(one)? {
        let entry = entry?;
        let path = entry.path();
        if !entry.file_type()?.is_dir() {
            fs::remove_file(&path)?;
        } else if fs::remove_dir(&path).is_err() {
            if one == top {
                waiting.push(path);
                continue;
            }
            // A folder that moves is written to: its `..` changes.
            open_up(&path)?;
            waiting.push(move_up(&path, top, moved)?);
        }
    }
    Ok(())
}

fn move_up(path: &Path, top: &Path, moved: &mut u64) -> io::Result<PathBuf> {
    loop {
        let to = top.join(format!(".erased-{moved}"));
        *moved += 1;
        // One may be left of an earlier attempt.
        if fs::symlink_metadata(&to).is_err() {
            fs::rename(path, &to)?;
            return Ok(to);
        }
    }
}

/// Lets the owner into a folder again.
fn open_up(folder: &Path) -> io::Result<()> {
    let mode = fs::symlink_metadata(folder)?.permissions().mode();
    if mode & 0o700 == 0o700 { Ok(()) } else { fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o700)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_deleted_and_what_they_name_stays() {
        let dir = tempfile::tempdir().expect("folder");
        let (outside, folder) = (dir.path().join("outside"), dir.path().join("env"));
        fs::create_dir_all(outside.join("in")).expect("folder");
        fs::create_dir_all(folder.join("home/a/b")).expect("folder");
        std::os::unix::fs::symlink(&outside, folder.join("home/link")).expect("link");
        std::os::unix::fs::symlink(&outside, folder.join("home/a/b/link")).expect("link");
        erase(&folder).expect("deletes");
        erase(&folder).expect("nothing there is fine");
        assert!(!folder.exists() && outside.join("in").is_dir());
        std::os::unix::fs::symlink(&outside, &folder).expect("link");
        erase(&folder).expect("deletes the link");
        assert!(fs::symlink_metadata(&folder).is_err() && outside.join("in").is_dir());
    }

    #[test]
    fn folders_that_are_closed_are_deleted_too() {
        let dir = tempfile::tempdir().expect("folder");
        let folder = dir.path().join("env");
        let closed = folder.join("home/a/closed");
        fs::create_dir_all(closed.join("in/deeper")).expect("folder");
        fs::write(closed.join("in/deeper/file"), "x").expect("file");
        for path in [closed.join("in"), closed] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o000)).expect("closes");
        }
        erase(&folder).expect("deletes");
        assert!(!folder.exists());
    }

    #[test]
    fn folders_deeper_than_any_path_or_stack_are_deleted() {
        // In memory where that can be had: some disks take milliseconds for each folder.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("folder");
        let (inner, outer) = (dir.path().join("inner"), dir.path().join("outer"));
        fs::create_dir(&inner).expect("folder");
        for _ in 0..20_000 {
            fs::create_dir(&outer).expect("folder");
            fs::rename(&inner, outer.join("d")).expect("moves");
            fs::rename(&outer, &inner).expect("moves");
        }
        fs::create_dir(&outer).expect("folder");
        fs::rename(&inner, outer.join("home")).expect("moves");
        erase(&outer).expect("deletes");
        assert!(!outer.exists());
    }
}
