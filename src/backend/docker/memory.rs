//! Remembers at which engine the sandboxes of an endpoint live, so that its name never comes to mean another one.

use super::address::Address;
use super::places::MAIN;
use crate::backend::files;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Addresses by endpoint, one file each, for as long as sandboxes are there.
#[derive(Clone, Debug)]
pub struct Memory {
    folder: PathBuf,
    /// The one file of earlier versions: the path of the socket of `docker`.
    earlier: PathBuf,
}

impl Memory {
    /// That of a profile.
    pub fn new(data_dir: &Path) -> Self {
        Self { folder: data_dir.join("engines"), earlier: data_dir.join("container-engine") }
    }

    fn file(&self, endpoint: &str) -> PathBuf {
        self.folder.join(format!("{endpoint}.json"))
    }

    /// Whether sandboxes of an endpoint live somewhere.
    pub fn knows(&self, endpoint: &str) -> bool {
        self.file(endpoint).exists() || (endpoint == MAIN && self.earlier.exists())
    }

    /// All that is remembered.
    pub fn all(&self) -> BTreeMap<String, Address> {
        let mut all = BTreeMap::new();
        if let Some(path) = fs::read_to_string(&self.earlier).ok().filter(|text| !text.trim().is_empty()) {
            all.insert(MAIN.to_owned(), Address::Unix(PathBuf::from(path.trim())));
        }
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let (Some(name), Some("json")) =
                (path.file_stem().and_then(|name| name.to_str()), path.extension().and_then(|end| end.to_str()))
            else {
                continue;
            };
            let read = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            if let Some(address) = read {
                all.insert(name.to_owned(), address);
            }
        }
        all
    }

    /// From now on sandboxes are there.
    pub fn remember(&self, endpoint: &str, address: &Address) {
        let file = self.file(endpoint);
        let write = || -> io::Result<()> {
            let bytes = serde_json::to_vec(address)?;
            if fs::read(&file).is_ok_and(|known| known == bytes) {
                return Ok(());
            }
            fs::create_dir_all(&self.folder)?;
            files::replace(&file, &bytes)
        };
        match write() {
            Ok(()) => self.forget_earlier(endpoint),
            Err(error) => tracing::warn!("cannot write {}: {error}", file.display()),
        }
    }

    /// No sandbox is there any more: its name is free for another engine at the next start.
    pub fn forget(&self, endpoint: &str) {
        let _ = fs::remove_file(self.file(endpoint));
        self.forget_earlier(endpoint);
    }

    fn forget_earlier(&self, endpoint: &str) {
        if endpoint == MAIN {
            let _ = fs::remove_file(&self.earlier);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_written_leaves_what_is_remembered() {
        let dir = tempfile::tempdir().expect("a folder");
        let memory = Memory::new(dir.path());
        let address = |path: &str| Address::Unix(path.into());
        // Written by an earlier version.
        fs::write(dir.path().join("container-engine"), "/run/old.sock").expect("writes");
        // Something is in the way.
        fs::write(dir.path().join("engines"), "").expect("writes");
        memory.remember(MAIN, &address("/run/new.sock"));
        assert_eq!(memory.all(), BTreeMap::from([(MAIN.to_owned(), address("/run/old.sock"))]));
        fs::remove_file(dir.path().join("engines")).expect("removed");
        memory.remember(MAIN, &address("/run/new.sock"));
        assert_eq!(memory.all(), BTreeMap::from([(MAIN.to_owned(), address("/run/new.sock"))]));
        assert!(!dir.path().join("container-engine").exists());
        fs::create_dir(dir.path().join("engines/docker.json.new")).expect("a folder");
        memory.remember(MAIN, &address("/run/newer.sock"));
        assert_eq!(memory.all(), BTreeMap::from([(MAIN.to_owned(), address("/run/new.sock"))]));
    }
}
