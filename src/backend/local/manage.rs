//! Makes, starts, stops and removes: keeps the records in step with what runs, one change at a time for each environment.

#[cfg(target_os = "linux")]
use super::namespaces::Namespaces;
use super::on_host::OnHost;
use super::record::{Record, Records};
use super::{LocalConfig, missing, unreachable};
use crate::backend::{BackendError, BackendEvent, Progress, ProvisionSpec, Result};
use crate::domain::{EnvId, FailureKind, FoundSandbox, SandboxId};
use std::collections::HashMap;
use std::os::unix::fs::DirBuilderExt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast;

/// Events that a slow reader may fall behind before it gets a fresh snapshot instead.
const EVENT_BACKLOG: usize = 256;

/// The sandboxes of one profile, whatever they are made of.
pub struct Inner {
    config: LocalConfig,
    records: Records,
    pub(super) on_host: OnHost,
    #[cfg(target_os = "linux")]
    pub(super) namespaces: Namespaces,
    /// Which environment each sandbox was last seen in, so that one look does not read every record.
    places: Mutex<HashMap<SandboxId, EnvId>>,
    /// One change at a time for each environment.
    gates: Mutex<HashMap<EnvId, Arc<tokio::sync::Mutex<()>>>>,
    pub(super) events: broadcast::Sender<BackendEvent>,
}

impl Inner {
    pub fn new(config: LocalConfig) -> Self {
        let events = broadcast::Sender::new(EVENT_BACKLOG);
        Self {
            records: Records::new(&config.data_dir),
            on_host: OnHost::new(config.shell.clone()),
            #[cfg(target_os = "linux")]
            namespaces: Namespaces::new(config.clone(), events.clone()),
            places: Mutex::default(),
            gates: Mutex::default(),
            config,
            events,
        }
    }

    fn gate(&self, env: &EnvId) -> Arc<tokio::sync::Mutex<()>> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        gates.entry(env.clone()).or_default().clone()
    }

    /// The record of a sandbox, if there is one.
    pub fn record_of(&self, sandbox: &SandboxId) -> Result<Option<Record>> {
        let known = self.places.lock().unwrap_or_else(PoisonError::into_inner).get(sandbox).cloned();
        if let Some(env) = known {
            let record = self.records.read(&env).map_err(|error| unreachable(&error))?;
            if let Some(record) = record.filter(|record| record.sandbox == *sandbox) {
                return Ok(Some(record));
            }
        }
        let all = self.records.all().map_err(|error| unreachable(&error))?;
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        *places = all.iter().map(|record| (record.sandbox.clone(), record.env.clone())).collect();
        Ok(all.into_iter().find(|record| record.sandbox == *sandbox))
    }

    /// Whether a sandbox runs.
    pub async fn runs(&self, record: &Record) -> Result<bool> {
        if record.spec.on_host {
            return Ok(self.on_host.runs(&record.sandbox));
        }
        #[cfg(target_os = "linux")]
        return self.namespaces.runs(record).await;
        #[cfg(not(target_os = "linux"))]
        Ok(false)
    }

    /// A sandbox as it is listed.
    pub async fn found(&self, record: &Record) -> Result<FoundSandbox> {
        Ok(record.found(self.runs(record).await?))
    }

    /// Every sandbox of this profile.
    pub async fn list(&self) -> Result<Vec<FoundSandbox>> {
        let mut found = Vec::new();
        for record in self.records.all().map_err(|error| unreachable(&error))? {
            found.push(self.found(&record).await?);
        }
        Ok(found)
    }

    /// Makes a sandbox, or starts the one that is there.
    pub async fn bring_up(
        &self,
        existing: Option<SandboxId>,
        wanted: ProvisionSpec,
        progress: &Progress,
    ) -> Result<FoundSandbox> {
        let gate = self.gate(&wanted.env);
        let _turn = gate.lock().await;
        let known = self.records.read(&wanted.env).map_err(|error| unreachable(&error))?;
        if let Some(asked) = &existing {
            match &known {
                Some(record) if record.sandbox == *asked => {}
                Some(record) => {
                    return Err(BackendError::new(
                        FailureKind::Surprise,
                        format!("the environment {} has the sandbox {}, not {asked}", wanted.env, record.sandbox),
                        "list the environments again",
                    ));
                }
                None => return Err(missing(asked)),
            }
        }
        if wanted.spec.on_host && !self.config.allow_on_host {
            return Err(BackendError::new(
                FailureKind::Permanent,
                "plain host shells are switched off in the configuration",
                "allow them there, or leave out --on-host",
            ));
        }
        let is_new = known.is_none();
        let mut record = match known {
            Some(record) => {
                let same = record.generation == wanted.generation;
                if self.runs(&record).await? {
                    return if same { self.found(&record).await } else { Err(other_generation(&record, &wanted)) };
                }
                if record.generation > wanted.generation {
                    return Err(other_generation(&record, &wanted));
                }
                let mut next = Record::new(record.sandbox, &wanted);
                next.ready = record.ready;
                next
            }
            None => Record::new(fresh_id(), &wanted),
        };
        for folder in [&record.home, &record.workspace] {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
                BackendError::new(
                    FailureKind::Permanent,
                    format!("cannot make {}: {error}", folder.display()),
                    "free some space, or check who owns the data directory",
                )
            })?;
        }
        // On the disk before anything runs: whatever happens next, the sandbox is listed.
        self.write(&record)?;
        if wanted.spec.on_host {
            self.on_host.start(&record);
            return self.found(&record).await;
        }
        progress("making the sandbox".into());
        #[cfg(target_os = "linux")]
        {
            record.ready = match self.namespaces.start(&record).await {
                Ok(ready) => Some(ready),
                Err(error) => {
                    // It never was: nothing to list. One that was before stays, stopped.
                    if is_new {
                        self.records.remove(&record.env).map_err(|error| unreachable(&error))?;
                    }
                    return Err(error);
                }
            };
            if let Err(error) = self.write(&record) {
                // Without its processes on record it could not be ended for sure later.
                self.namespaces.stop(&record).await?;
                return Err(error);
            }
            if self.runs(&record).await? {
                return self.found(&record).await;
            }
            Err(BackendError::new(
                FailureKind::Temporary,
                format!("the sandbox of {} ended right after its start", record.name),
                "try again; `hermes-tui doctor` tells whether sandboxes work here",
            ))
        }
        #[cfg(not(target_os = "linux"))]
        {
            record.ready = None;
            if is_new {
                self.records.remove(&record.env).map_err(|error| unreachable(&error))?;
            }
            Err(super::not_here())
        }
    }

    fn write(&self, record: &Record) -> Result<()> {
        self.records.write(record).map_err(|error| {
            BackendError::new(
                FailureKind::Temporary,
                format!("cannot write the record of {}: {error}", record.name),
                "free some space, or check who owns the data directory",
            )
        })
    }

    /// Stops a sandbox. A stopped or missing one is success.
    pub async fn stop(&self, sandbox: &SandboxId) -> Result<()> {
        let Some(record) = self.record_of(sandbox)? else { return self.stop_unrecorded(sandbox).await };
        let gate = self.gate(&record.env);
        let _turn = gate.lock().await;
        self.stop_gated(&record.env, sandbox).await
    }

    /// Somebody deleted the record; what it was about may run all the same.
    async fn stop_unrecorded(&self, sandbox: &SandboxId) -> Result<()> {
        #[cfg(target_os = "linux")]
        self.namespaces.stop_connected(sandbox).await;
        self.on_host.stop(sandbox).await
    }

    async fn stop_gated(&self, env: &EnvId, sandbox: &SandboxId) -> Result<()> {
        // Read again: it may have been started or removed while we waited for our turn.
        let record = self.records.read(env).map_err(|error| unreachable(&error))?;
        let Some(record) = record.filter(|record| record.sandbox == *sandbox) else { return Ok(()) };
        if record.spec.on_host {
            return self.on_host.stop(&record.sandbox).await;
        }
        #[cfg(target_os = "linux")]
        return self.namespaces.stop(&record).await;
        #[cfg(not(target_os = "linux"))]
        Ok(())
    }

    /// Stops a sandbox and forgets it. Its files stay.
    pub async fn remove(&self, sandbox: &SandboxId) -> Result<()> {
        let Some(record) = self.record_of(sandbox)? else { return self.stop_unrecorded(sandbox).await };
        let gate = self.gate(&record.env);
        let _turn = gate.lock().await;
        self.stop_gated(&record.env, sandbox).await?;
        let still = self.records.read(&record.env).map_err(|error| unreachable(&error))?;
        if still.is_some_and(|one| one.sandbox == *sandbox) {
            self.records.remove(&record.env).map_err(|error| unreachable(&error))?;
        }
        Ok(())
    }
}

/// A sandbox id: chance, as hexadecimal digits.
fn fresh_id() -> SandboxId {
    let mut text = uuid::Uuid::new_v4().simple().to_string();
    text.truncate(16);
    SandboxId::new(text)
}

fn other_generation(record: &Record, wanted: &ProvisionSpec) -> BackendError {
    BackendError::new(
        FailureKind::Surprise,
        format!(
            "the sandbox of {} is at generation {}, generation {} was asked for",
            record.name, record.generation.0, wanted.generation.0
        ),
        "stop the environment, then start it again",
    )
}
