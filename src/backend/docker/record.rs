//! Generations of a container. Its labels cannot change, so what grows with each start is kept on the disk, with the
//! time of the start that it belongs to: a start by somebody else is then a generation of its own.

use crate::backend::files;
use crate::domain::{EnvId, Generation, SandboxId};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The last start that is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Of which container.
    pub sandbox: SandboxId,
    /// Its generation.
    pub generation: Generation,
    /// When the engine started it, as the engine writes it; empty before its first start.
    pub started_at: String,
}

/// The records of one profile: `DATA/envs/ENVID/container.json`.
pub struct Records {
    folder: PathBuf,
}

impl Records {
    /// Below a data directory.
    pub fn new(data: &Path) -> Self {
        Self { folder: data.join("envs") }
    }

    fn file(&self, env: &EnvId) -> Option<PathBuf> {
        let name = env.as_str();
        let bad = name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) || name.len() > 200;
        (!bad).then(|| self.folder.join(name).join("container.json"))
    }

    fn read(&self, env: &EnvId, sandbox: &SandboxId) -> Option<Record> {
        let text = fs::read(self.file(env)?).ok()?;
        serde_json::from_slice::<Record>(&text).ok().filter(|record| record.sandbox == *sandbox)
    }

    /// Writes a record whole or not at all.
    pub fn write(&self, env: &EnvId, record: &Record) {
        let work = || -> io::Result<()> {
            let Some(file) = self.file(env) else { return Ok(()) };
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            files::replace(&file, &serde_json::to_vec(record)?)
        };
        if let Err(error) = work() {
            // The generation in the label stands in for it.
            tracing::warn!("the start of the container of {env} cannot be written down: {error}");
        }
    }

    /// The generation of a container that the engine started at this time, taken from what is known of it. One that
    /// somebody else started in the meantime has a new one.
    pub fn observe(&self, env: &EnvId, sandbox: &SandboxId, labelled: Generation, started_at: &str) -> Generation {
        let record = match self.read(env, sandbox) {
            Some(record) if record.started_at == started_at => return record.generation,
            Some(record) if record.started_at.is_empty() => Record { started_at: started_at.to_owned(), ..record },
            Some(record) => {
                Record { generation: record.generation.next(), started_at: started_at.to_owned(), ..record }
            }
            None => Record { sandbox: sandbox.clone(), generation: labelled, started_at: started_at.to_owned() },
        };
        self.write(env, &record);
        record.generation
    }

    /// The generation of one that does not run.
    pub fn at_rest(&self, env: &EnvId, sandbox: &SandboxId, labelled: Generation) -> Generation {
        self.read(env, sandbox).map_or(labelled, |record| record.generation)
    }

    /// Removes a record. Nothing else in the environment's folder is touched.
    pub fn remove(&self, env: &EnvId) {
        if let Some(file) = self.file(env) {
            let _ = fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_by_somebody_else_is_a_new_generation_and_is_counted_once() {
        let dir = tempfile::tempdir().expect("folder");
        let records = Records::new(dir.path());
        let (env, id) = (EnvId::new("e"), SandboxId::new("c"));
        assert_eq!(records.observe(&env, &id, Generation(1), "t1"), Generation(1));
        assert_eq!(records.observe(&env, &id, Generation(1), "t1"), Generation(1));
        assert_eq!(records.observe(&env, &id, Generation(1), "t2"), Generation(2));
        assert_eq!(records.observe(&env, &id, Generation(1), "t2"), Generation(2));
        assert_eq!(records.at_rest(&env, &id, Generation(1)), Generation(2));
        let other = SandboxId::new("d");
        assert_eq!(records.at_rest(&env, &other, Generation(5)), Generation(5), "a record of another container");
    }

    #[test]
    fn what_is_written_before_a_start_gets_its_time_from_it() {
        let dir = tempfile::tempdir().expect("folder");
        let records = Records::new(dir.path());
        let (env, sandbox) = (EnvId::new("e"), SandboxId::new("c"));
        records.write(&env, &Record { sandbox: sandbox.clone(), generation: Generation(4), started_at: String::new() });
        assert_eq!(records.observe(&env, &sandbox, Generation(1), "t"), Generation(4));
        records.remove(&env);
        assert_eq!(records.at_rest(&env, &sandbox, Generation(1)), Generation(1));
    }
}
