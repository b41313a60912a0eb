//! The values of environments' variables, apart from the journal: one file per environment, readable by the user alone.

use crate::backend::files;
use crate::domain::{EnvId, Environment};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

fn folder(journal: &Path) -> PathBuf {
    journal.with_file_name("secrets")
}

fn file(journal: &Path, env: &EnvId) -> PathBuf {
    // Hashed: an id is text and need not be the name of a file.
    let name: String = Sha256::digest(env.as_str().as_bytes()).iter().take(16).map(|b| format!("{b:02x}")).collect();
    folder(journal).join(format!("{name}.json"))
}

/// Writes the values of an environment's variables, if there are any and they changed.
pub(super) fn put(journal: &Path, env: &Environment) -> io::Result<()> {
    let path = file(journal, &env.id);
    if env.spec.env.is_empty() {
        return files::remove(&path);
    }
    let text = serde_json::to_vec(&env.spec.env)?;
    if fs::read(&path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder(journal))?;
    files::replace(&path, &text)
}

/// Puts the values back into an environment that was read from the journal.
pub(super) fn restore(journal: &Path, env: &mut Environment) {
    let values: BTreeMap<String, String> =
        fs::read(file(journal, &env.id)).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    // A variable whose value is lost is left out: an empty value would be a wrong one.
    env.spec.env = values;
}

/// Forgets the values of an environment.
pub(super) fn delete(journal: &Path, env: &EnvId) -> io::Result<()> {
    files::remove(&file(journal, env))
}
