//! What the disk remembers of a sandbox: one small file beside the environment's folders.

use super::protocol::Ready;
use crate::backend::files;
use crate::domain::{ConversationId, EnvId, EnvSpec, FoundSandbox, Generation, Origin, SandboxId, SandboxState};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Version of the file.
const SCHEMA: u32 = 1;

/// A sandbox from its making to its removal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    schema: u32,
    /// Its id, kept through stop and start.
    pub sandbox: SandboxId,
    /// Its environment.
    pub env: EnvId,
    /// The environment's name when it was made or started last.
    pub name: String,
    /// Grows with each start.
    pub generation: Generation,
    /// What was asked for.
    pub spec: EnvSpec,
    /// Folder of the host that is the home directory inside.
    pub home: PathBuf,
    /// Folder of the host that is `/workspace` inside.
    pub workspace: PathBuf,
    /// The conversation that it was made for, where it serves one alone.
    #[serde(default)]
    pub conversation: Option<ConversationId>,
    /// Its processes and limits since the last start.
    pub ready: Option<Ready>,
}

impl Record {
    /// A sandbox that does not run yet.
    pub fn new(sandbox: SandboxId, wanted: &super::ProvisionSpec) -> Self {
        Self {
            schema: SCHEMA,
            sandbox,
            env: wanted.env.clone(),
            name: wanted.name.clone(),
            generation: wanted.generation,
            spec: wanted.spec.clone(),
            home: wanted.home.clone(),
            workspace: wanted.workspace.clone(),
            conversation: wanted.conversation.clone(),
            ready: None,
        }
    }

    /// As a list shows it.
    pub fn found(&self, runs: bool) -> FoundSandbox {
        FoundSandbox {
            sandbox: self.sandbox.clone(),
            env: self.env.clone(),
            name: self.name.clone(),
            generation: self.generation,
            state: if runs { SandboxState::Running } else { SandboxState::Stopped },
            spec: Some(Box::new(self.spec.clone())),
            persistence: self.spec.persistence,
            origin: Origin::Managed,
            conversation: self.conversation.clone(),
            watched: None,
        }
    }
}

/// The records of one profile: `DATA/envs/ENVID/sandbox.json`.
#[derive(Clone, Debug)]
pub struct Records {
    folder: PathBuf,
}

impl Records {
    /// Below a data directory.
    pub fn new(data: &Path) -> Self {
        Self { folder: data.join("envs") }
    }

    /// The record's file. Ids become one folder's name and nothing else.
    fn file(&self, env: &EnvId) -> io::Result<PathBuf> {
        let name = env.as_str();
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) || name.len() > 200 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no id of an environment")));
        }
        Ok(self.folder.join(name).join("sandbox.json"))
    }

    /// The record of an environment. One that cannot be understood is put aside under another name, and is none.
    pub fn read(&self, env: &EnvId) -> io::Result<Option<Record>> {
        self.read_file(&self.file(env)?)
    }

    fn read_file(&self, file: &Path) -> io::Result<Option<Record>> {
        let text = match fs::read(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io::Error::new(error.kind(), format!("cannot read {}: {error}", file.display()))),
        };
        match serde_json::from_slice::<Record>(&text) {
            Ok(record) if record.schema == SCHEMA => Ok(Some(record)),
            // Written by a newer program: not ours to touch, and not to be taken for absent.
            _ if newer(&text) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, format!("{} is of a newer hermes-tui", file.display())))
            }
            _ => {
                let aside = file.with_extension("json.broken");
                fs::rename(file, &aside)?;
                tracing::warn!("a record could not be understood and was put aside as {}", aside.display());
                Ok(None)
            }
        }
    }

    /// Every record. A folder that is not there yet holds none; one that cannot be read is an error.
    pub fn all(&self) -> io::Result<Vec<Record>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(io::Error::new(error.kind(), format!("cannot read {}: {error}", self.folder.display())));
            }
        };
        let mut found = Vec::new();
        for entry in entries {
            let folder = entry?.path();
            if folder.is_dir()
                && let Some(record) = self.read_file(&folder.join("sandbox.json"))?
            {
                found.push(record);
            }
        }
        found.sort_by(|a, b| a.env.cmp(&b.env));
        Ok(found)
    }

    /// Writes a record whole or not at all.
    pub fn write(&self, record: &Record) -> io::Result<()> {
        let file = self.file(&record.env)?;
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        files::replace(&file, &serde_json::to_vec_pretty(record)?)
    }

    /// Removes a record. Nothing else in the environment's folder is touched.
    pub fn remove(&self, env: &EnvId) -> io::Result<()> {
        files::remove(&self.file(env)?)
    }
}

fn newer(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Head {
        schema: u32,
    }
    serde_json::from_slice::<Head>(text).is_ok_and(|head| head.schema > SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(env: &str) -> Record {
        let wanted = crate::backend::ProvisionSpec {
            env: EnvId::new(env),
            name: "n".into(),
            generation: Generation(1),
            spec: EnvSpec::local(),
            home: "/h".into(),
            workspace: "/w".into(),
            conversation: Some(ConversationId::new("talk")),
        };
        Record::new(SandboxId::new("s"), &wanted)
    }

    #[test]
    fn what_is_written_is_read_again_and_removal_leaves_the_folders() {
        let dir = tempfile::tempdir().expect("folder");
        let records = Records::new(dir.path());
        assert_eq!(records.all().expect("none yet"), []);
        records.write(&record("a")).expect("writes");
        fs::create_dir(dir.path().join("envs/a/home")).expect("folder");
        let read = records.all().expect("reads");
        assert_eq!(read, [record("a")]);
        assert_eq!(read[0].found(true).conversation, Some(ConversationId::new("talk")));
        records.remove(&EnvId::new("a")).expect("removes");
        records.remove(&EnvId::new("a")).expect("removes nothing");
        assert_eq!(records.all().expect("reads"), []);
        assert!(dir.path().join("envs/a/home").is_dir());
    }

    #[test]
    fn a_broken_record_is_kept_aside_and_a_newer_one_is_left_alone() {
        let dir = tempfile::tempdir().expect("folder");
        let records = Records::new(dir.path());
        fs::create_dir_all(dir.path().join("envs/a")).expect("folder");
        fs::write(dir.path().join("envs/a/sandbox.json"), "{ half").expect("writes");
        assert_eq!(records.all().expect("goes on"), []);
        assert!(dir.path().join("envs/a/sandbox.json.broken").exists());
        fs::write(dir.path().join("envs/a/sandbox.json"), "{\"schema\": 99}").expect("writes");
        assert!(records.all().is_err());
        assert!(dir.path().join("envs/a/sandbox.json").exists());
    }

    #[test]
    fn an_id_that_is_no_name_of_a_folder_is_refused() {
        let records = Records::new(Path::new("/nonexistent"));
        for bad in ["", "..", "a/b", ".hidden", "a\0"] {
            assert!(records.read(&EnvId::new(bad)).is_err(), "{bad:?}");
        }
    }
}
