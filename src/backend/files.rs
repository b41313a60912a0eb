//! Small files that are there whole or as they were.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Puts a file in place of what was there, readable by the user alone. After a failure, or a crash at any moment, what
/// was there before is there still.
pub fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let fresh = file.with_file_name(name);
    let mut out = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    out.write_all(bytes)?;
    out.sync_all()?;
    fs::rename(fresh, file)
}

/// Removes a file. One that is not there is success.
pub fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_cannot_be_written_leaves_what_was_there() {
        let dir = tempfile::tempdir().expect("folder");
        let file = dir.path().join("a.json");
        replace(&file, b"one").expect("writes");
        replace(&file, b"two").expect("writes");
        assert_eq!(fs::read(&file).expect("reads"), b"two");
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
        // Something is in the way of the new one.
        fs::create_dir(dir.path().join("a.json.new")).expect("folder");
        assert!(replace(&file, b"three").is_err());
        assert_eq!(fs::read(&file).expect("reads"), b"two");
        remove(&file).expect("removes");
        remove(&file).expect("removes nothing");
        assert!(!file.exists());
    }
}
