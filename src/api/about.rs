//! What listings say beside the core's state: the host, its endpoints, and how a sandbox looks from outside.

use super::first_lists::FirstLists;
use super::queries;
use super::requests::{Defaults, KnownEndpoint};
use super::shapes::{self, EndpointInfo, EnvExtra, Extras, HostInfo};
use crate::app::Model;
use crate::app::model::PaneKind;
use crate::backend::{Backend, Standing};
use crate::config::{self, Rule};
use crate::domain::{
    EndpointId, EnvId, EnvSpec, Event, FailureKind, Phase, Refusal, RefusalKind, SandboxId, SessionId, Span,
};
use crate::runtime::config_files::LoadedConfig;
use crate::runtime::erase::erase;
use crate::runtime::handle::HostHandle;
use crate::runtime::options::HostOptions;
use crate::runtime::start::Prepared;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Life of a turn's lease without a begin, command or touch.
const LEASE_TTL: Span = Span::seconds(3600);
/// Measured disk use is good for this long.
const MEASURED: Duration = Duration::from_secs(30);
/// That many sandboxes are looked into for one answer.
const LOOKS: usize = 64;
/// A look that takes longer is shown the next time.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What is known beside the state.
pub struct About {
    host: HostInfo,
    handle: HostHandle,
    backends: BTreeMap<EndpointId, Arc<dyn Backend>>,
    envs_dir: PathBuf,
    defaults: Defaults,
    probed: Mutex<BTreeMap<EndpointId, Result<String, String>>>,
    seen: Mutex<BTreeMap<EnvId, Seen>>,
    listed: FirstLists,
    config: LoadedConfig,
    rules: Mutex<Rules>,
}

/// The rules for conversations, and the text that they were read from.
struct Rules {
    text: String,
    rules: Vec<Rule>,
}

#[derive(Default)]
struct Seen {
    extra: EnvExtra,
    measured: Option<Instant>,
}

impl About {
    /// For these backends; `spec` is what a new environment is unless a call or one of the `rules` says otherwise.
    #[must_use]
    pub fn new(host: HostInfo, prepared: &Prepared, options: &HostOptions, spec: EnvSpec, rules: Vec<Rule>) -> Self {
        let (envs_dir, config) = (options.paths.environments(), options.config.clone());
        let (handle, backends) = (prepared.handle.clone(), prepared.backends.clone());
        let (endpoints, known) = (prepared.usual.clone(), Vec::new());
        let rules = Mutex::new(Rules { text: config.text.clone(), rules });
        let defaults = Defaults { spec, endpoints, known, rules: Vec::new(), lease_ttl: LEASE_TTL };
        let (probed, seen, listed) = Default::default();
        Self { host, handle, backends, envs_dir, defaults, probed, seen, listed, config, rules }
    }

    /// The backends by endpoint.
    #[must_use]
    pub(super) fn backends(&self) -> &BTreeMap<EndpointId, Arc<dyn Backend>> {
        &self.backends
    }

    /// Waits, within reason, for the first lists of the endpoints.
    pub(super) async fn first_lists(&self) {
        self.listed.wait(&self.handle, &self.backends).await;
    }

    /// What is taken where a call says nothing.
    #[must_use]
    pub fn defaults(&self) -> Defaults {
        let known = |(id, backend): (&EndpointId, &Arc<dyn Backend>)| KnownEndpoint {
            backend: backend.kind(),
            endpoint: id.clone(),
            standing: backend.standing(),
            address: backend.address(),
        };
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner).rules.clone();
        Defaults { known: self.backends.iter().map(known).collect(), rules, ..self.defaults.clone() }
    }

    /// Takes the rules for conversations from the configuration as it is now. One that cannot be understood lets no
    /// turn begin.
    pub fn reread_rules(&self) {
        let Some(text) = self.config.text_now() else { return };
        let mut known = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if known.text == text {
            return;
        }
        let rules = match config::load(&text) {
            Ok(loaded) => loaded.options.rules,
            Err(error) => {
                let fault = format!("{} cannot be understood: {error}", self.config.path.display());
                vec![Rule { fault: Some(fault), ..Rule::default() }]
            }
        };
        *known = Rules { text, rules };
    }

    /// One sentence where the configuration is another one than at the start.
    #[must_use]
    pub fn changed_config(&self) -> Option<String> {
        self.config.changed()
    }

    /// Asks every endpoint what it is.
    pub async fn probe(&self) {
        let probes = self.backends.iter().map(|(id, backend)| async move {
            let detail = match backend.probe().await {
                Ok(probe) => Ok(probe.description),
                // The state says why for as long as that is so.
                Err(error) if error.kind == FailureKind::Unreachable => return,
                Err(error) => Err(error.message),
            };
            self.probed.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), detail);
        });
        futures_util::future::join_all(probes).await;
    }

    /// All that is known now, for a listing. Waits for nothing.
    #[must_use]
    pub fn extras(&self, model: &Model) -> Extras {
        let mut attached: BTreeMap<SessionId, usize> = BTreeMap::new();
        for pane in model.work.panes.values() {
            if let PaneKind::Session(id) = pane {
                *attached.entry(id.clone()).or_default() += 1;
            }
        }
        let probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        let endpoint = |(id, backend): (&EndpointId, &Arc<dyn Backend>)| {
            let said = backend.described().map(Ok).or_else(|| probed.get(id).cloned());
            EndpointInfo {
                backend: backend.kind(),
                endpoint: id.clone(),
                usable: !matches!(said, Some(Err(_))),
                detail: said.map(|said| said.unwrap_or_else(|error| error)).unwrap_or_default(),
            }
        };
        let lives = |id: &EndpointId| model.state.environments.values().any(|env| env.spec.endpoint == *id);
        let shown = |(id, backend): &(&EndpointId, &Arc<dyn Backend>)| {
            backend.standing() == Standing::Listed || lives(id) || self.defaults.spec.endpoint == **id
        };
        let endpoints = self.backends.iter().filter(shown).map(endpoint).collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|id, _| model.state.environments.contains_key(id));
        let mut envs: BTreeMap<EnvId, EnvExtra> =
            seen.iter().map(|(id, seen)| (id.clone(), seen.extra.clone())).collect();
        for call in model.state.calls.values().filter(|call| call.cwd.is_some()) {
            if let Some(env) = &call.env {
                envs.entry(env.clone()).or_default().cwd.clone_from(&call.cwd);
            }
        }
        Extras { envs, attached, endpoints, host: self.host.clone(), troubles: self.handle.troubles() }
    }

    /// Looks at one environment's sandbox and files, for the detailed view.
    pub async fn look_closely(&self, text: &str) {
        let text = text.to_owned();
        let found = self.handle.read(move |model, _| {
            let env = queries::environment(&model.state, &text).ok()?;
            Some((env.id.clone(), env.spec.endpoint.clone(), env.sandbox.clone()))
        });
        let Ok(Some((id, endpoint, sandbox))) = found.await else { return };
        let look = tokio::time::timeout(PATIENCE, self.look(&endpoint, sandbox));
        let measure = tokio::time::timeout(PATIENCE, self.measure(&id));
        let (looked, measured) = tokio::join!(look, measure);
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = all.entry(id).or_default();
        let disk = measured.ok().flatten();
        if disk.is_some() {
            seen.measured = Some(Instant::now());
        }
        let disk_bytes = disk.or(seen.extra.disk_bytes);
        seen.extra = looked.ok().flatten().unwrap_or_default();
        seen.extra.disk_bytes = disk_bytes;
    }

    /// Has the core look into what runs: one environment, or all.
    pub async fn gather_evidence(&self, text: Option<String>) {
        let found = self.handle.read(move |model, _| {
            let one = text.map(|text| queries::environment(&model.state, &text).map(|env| env.id.clone()));
            let wanted = |id: &EnvId| one.as_ref().is_none_or(|one| one.as_ref().is_ok_and(|one| one == id));
            let ready = model
                .state
                .environments
                .values()
                .filter(|env| env.phase == Phase::Ready && !env.paused && wanted(&env.id));
            let looks = ready.filter_map(|env| {
                Some((env.id.clone(), env.spec.endpoint.clone(), env.generation, env.sandbox.clone()?))
            });
            looks.take(LOOKS).collect::<Vec<_>>()
        });
        let looks =
            found.await.unwrap_or_default().into_iter().map(|(env, endpoint, generation, sandbox)| async move {
                let backend = self.backends.get(&endpoint)?;
                let evidence = tokio::time::timeout(PATIENCE, backend.evidence(sandbox)).await.ok()?;
                let evidence = evidence.map_err(|error| error.message);
                self.handle.tell(Event::EvidenceGathered { env, generation, evidence }).await;
                Some(())
            });
        futures_util::future::join_all(looks).await;
    }

    /// The folder that holds one folder per environment.
    pub(super) fn folder_of_files(&self) -> &Path {
        &self.envs_dir
    }

    /// The folder of an environment's files, if it is there.
    #[must_use]
    pub fn files(&self, id: &str) -> Option<PathBuf> {
        let plain = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric());
        Some(self.envs_dir.join(id)).filter(|folder| plain && folder.is_dir())
    }

    /// Deletes what an environment left that is not listed any more, by its full id. `None` when that is not the case.
    pub async fn remove_left_files(&self, id: &str) -> Option<Result<Value, Refusal>> {
        let folder = self.files(id)?;
        let (text, exact) = (id.to_owned(), EnvId::new(id));
        let known = self
            .handle
            .read(move |model, _| model.state.environments.contains_key(&exact) || model.state.resolve(&text).is_ok());
        if known.await.unwrap_or(true) {
            return None;
        }
        let shown = folder.display().to_string();
        let erased = tokio::task::spawn_blocking(move || erase(&folder)).await.ok()?;
        Some(match erased {
            Ok(()) => Ok(shapes::reply(json!({"environment": null, "removed": id}))),
            Err(error) => Err(Refusal::new(
                RefusalKind::Failed,
                format!("cannot delete {shown}: {error}"),
                "delete the folder by hand",
            )),
        })
    }

    async fn look(&self, endpoint: &EndpointId, sandbox: Option<SandboxId>) -> Option<EnvExtra> {
        let (backend, sandbox) = (self.backends.get(endpoint)?, sandbox?);
        let details = backend.details(sandbox).await.ok().flatten();
        Some(EnvExtra { details: details.map(Box::new), ..EnvExtra::default() })
    }

    /// Bytes of an environment's files, unless they were measured just now.
    async fn measure(&self, id: &EnvId) -> Option<u64> {
        let fresh = {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.get(id).and_then(|s| s.measured).is_some_and(|at| at.elapsed() < MEASURED)
        };
        if fresh {
            return None;
        }
        let folder = self.envs_dir.join(id.as_str());
        tokio::task::spawn_blocking(move || disk_use(&folder)).await.ok()
    }
}

/// Bytes that the files below a folder occupy; what cannot be read counts nothing. Links are not followed. One folder is
/// open at a time, however deep they are nested: programs inside nest them as they like.
pub(super) fn disk_use(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    let mut waiting = vec![folder.to_owned()];
    while let Some(one) = waiting.pop() {
        for entry in std::fs::read_dir(one).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            bytes += meta.blocks() * 512;
            if meta.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    bytes
}
