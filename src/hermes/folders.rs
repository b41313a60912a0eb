//! Folders with the files of containers: which there are, and which no container uses. They are only ever named; the
//! files in them are somebody's work.

use super::home::Home;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The parts of a task's folder that are mounted in its container.
const PARTS: [&str; 2] = ["home", "workspace"];

/// Folders of docker containers below a home that none of these mounted paths of the host lies in.
#[must_use]
pub fn unused(home: &Home, mounted: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let folder = home.settings().sandboxes(&home.path).join("docker");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let used = |path: &Path| PARTS.iter().any(|part| mounted.contains(&path.join(part)));
    let is_one = |path: &PathBuf| PARTS.iter().any(|part| path.join(part).is_dir());
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_one).collect();
    found.retain(|path| !used(path) && !std::fs::canonicalize(path).is_ok_and(|path| used(&path)));
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_no_container_uses_are_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let base = dir.path().join("sandboxes/docker");
        for path in ["a/home", "a/workspace", "b/home", "c/other"] {
            std::fs::create_dir_all(base.join(path)).expect("a folder");
        }
        let home = Home { path: dir.path().to_owned(), profile: "default".into() };
        assert_eq!(unused(&home, &BTreeSet::from([base.join("a/home")])), [base.join("b")]);
        assert_eq!(unused(&home, &BTreeSet::new()), [base.join("a"), base.join("b")]);
    }
}
