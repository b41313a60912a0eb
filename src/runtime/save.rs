//! Saves a text in a file that was not there before and that only this user can read.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Writes a text to `path`, in which `~/` is the home. The folder `own` is made where it is missing, no other. What was
/// written, or a sentence that says why nothing was.
///
/// # Errors
/// There is a file of that name, or the folder cannot be written.
pub fn save(path: &str, text: &str, own: &Path, home: Option<&Path>) -> Result<PathBuf, String> {
    let path = match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    };
    let told = |error: io::Error| {
        let shown = path.display();
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!("{shown} is there already and was not touched: choose another name")
            }
            io::ErrorKind::NotFound => format!("nothing was saved: there is no folder for {shown}; make it first"),
            _ => format!("nothing was saved to {shown}: {error}"),
        }
    };
    if path.parent() == Some(own) && !own.exists() {
        DirBuilder::new().recursive(true).mode(0o700).create(own).map_err(told)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(told)?;
    if let Err(error) = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()) {
        // Half a text is none.
        let _ = fs::remove_file(&path);
        return Err(told(error));
    }
    Ok(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_text_is_saved_once_and_for_this_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("state/saved");
        let path = own.join("a.txt");
        let saved = save(path.to_str().unwrap(), "text\n", &own, None).unwrap();
        assert_eq!(fs::read_to_string(&saved).unwrap(), "text\n");
        assert_eq!(fs::metadata(&saved).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o700);
        let again = save(path.to_str().unwrap(), "other", &own, None).unwrap_err();
        assert!(again.contains("not touched"), "{again}");
        assert_eq!(fs::read_to_string(&saved).unwrap(), "text\n");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), own.join("link")).unwrap();
        assert!(save(own.join("link").to_str().unwrap(), "x", &own, None).is_err(), "no link is followed");
        let none = save(folder.path().join("none/a.txt").to_str().unwrap(), "x", &own, None).unwrap_err();
        assert!(none.contains("no folder"), "{none}");
        let home = save("~/b.txt", "x", &own, Some(folder.path())).unwrap();
        assert_eq!(home, folder.path().join("b.txt"));
    }
}
