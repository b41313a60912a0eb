//! Where a copy comes from or goes to: a path of this machine, a path inside an environment, or a standard stream.

use crate::api::{ApiError, ErrorCode};
use std::path::{Component, Path, PathBuf};

/// One side of a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// On this machine.
    Here(PathBuf),
    /// Inside an environment.
    Inside {
        /// Which.
        env: String,
        /// The path there, relative to where commands run.
        path: String,
    },
    /// Standard input or output.
    Stream,
}

impl Place {
    /// Understands `-`, `ENV:PATH` or a path. What begins with `/`, `.` or `~` is of this machine, whatever follows.
    pub(super) fn parse(text: &str) -> Self {
        if text == "-" {
            return Self::Stream;
        }
        match text.split_once(':') {
            Some((env, path)) if !env.is_empty() && !text.starts_with(['/', '.', '~']) => {
                let path = if path.is_empty() { "." } else { path };
                Self::Inside { env: env.to_owned(), path: path.to_owned() }
            }
            _ => Self::Here(PathBuf::from(text)),
        }
    }
}

/// The name that a copy of this path has in a folder. None where what is in the folder is meant: the path ends with `.`
/// or `..`, or is a root.
pub(super) fn name_of(path: &str) -> Option<&str> {
    let trimmed = path.trim_end_matches('/');
    let last = trimmed.rsplit('/').next().unwrap_or_default();
    (!matches!(last, "" | "." | "..")).then_some(last)
}

/// A path in an archive as one that cannot lead out of the folder it is unpacked in.
///
/// # Errors
/// It is absolute, or has `..` in it.
pub(super) fn inside(path: &Path) -> Result<PathBuf, ApiError> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(ApiError::new(
                    ErrorCode::Policy,
                    format!("the environment sent the path `{}`, which leads out of the folder", path.display()),
                    "nothing was copied; look at what runs in the environment",
                ));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{Place, inside, name_of};
    use std::path::Path;

    #[test]
    fn environments_and_paths_are_told_apart() {
        let env = |env: &str, path: &str| Place::Inside { env: env.to_owned(), path: path.to_owned() };
        for (text, place) in [
            ("dev:/workspace/a:b", env("dev", "/workspace/a:b")),
            ("lab/web:x", env("lab/web", "x")),
            ("dev:", env("dev", ".")),
            ("-", Place::Stream),
            ("a", Place::Here("a".into())),
            ("./a:b", Place::Here("./a:b".into())),
            ("/tmp/a:b", Place::Here("/tmp/a:b".into())),
            (":a", Place::Here(":a".into())),
        ] {
            assert_eq!(Place::parse(text), place, "{text}");
        }
    }

    #[test]
    fn a_path_has_a_name_unless_what_is_in_it_is_meant() {
        for (path, name) in [("a/b", Some("b")), ("b/", Some("b")), ("a/.", None), ("..", None), ("/", None)] {
            assert_eq!(name_of(path), name, "{path}");
        }
    }

    #[test]
    fn no_path_of_an_archive_leads_out() {
        assert_eq!(inside(Path::new("./a/./b")).unwrap(), Path::new("a/b"));
        for path in ["../a", "a/../../b", "/etc/passwd"] {
            assert!(inside(Path::new(path)).is_err(), "{path}");
        }
    }
}
