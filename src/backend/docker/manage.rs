//! Containers from their making to their removal.

use super::super::{BackendError, Progress, ProvisionSpec, Result, SandboxInfo};
use super::body::{self, MAINS};
use super::engine::{Engine, Engines, is_missing};
use super::hub::Hub;
use super::record::{Record, Records};
use super::{DockerConfig, image, labels};
use crate::domain::{EnvId, FailureKind, FoundSandbox, Generation, SandboxId, SandboxState};
use bollard::errors::Error;
use bollard::models::{ContainerInspectResponse, ContainerStateStatusEnum};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, InspectContainerOptions, ListContainersOptionsBuilder,
    RemoveContainerOptionsBuilder, StartContainerOptions, StopContainerOptionsBuilder, TopOptionsBuilder,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// For the main command of a new container to be there.
const SETTLE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// A process as the engine sees it, with a number of its own counting.
pub struct Process {
    pub pid: u32,
    /// Its age.
    pub seconds: u64,
    pub command: String,
}

/// What all parts of the backend share.
pub struct Inner {
    pub config: DockerConfig,
    pub engines: Engines,
    pub profile: String,
    pub hub: Hub,
    /// Commands of ours that run now.
    pub in_flight: Mutex<BTreeSet<String>>,
    records: Records,
    locks: Mutex<BTreeMap<EnvId, Arc<tokio::sync::Mutex<()>>>>,
}

/// A container as the engine describes it, known to be ours.
pub struct Ours {
    pub found: FoundSandbox,
    never_started: bool,
    raw: ContainerInspectResponse,
}

impl Inner {
    pub fn new(config: DockerConfig) -> Self {
        Self {
            engines: Engines::new(config.spot.clone(), config.kin.clone(), &config.data_dir),
            profile: labels::profile(&config.data_dir),
            hub: Hub::default(),
            in_flight: Mutex::default(),
            records: Records::new(&config.data_dir),
            locks: Mutex::default(),
            config,
        }
    }

    /// The engine, or what keeps it away.
    pub async fn engine(&self) -> Result<Arc<Engine>> {
        self.engines.get().await
    }

    fn lock(&self, env: &EnvId) -> Arc<tokio::sync::Mutex<()>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner).entry(env.clone()).or_default().clone()
    }

    /// Everything of this profile.
    pub async fn list(&self) -> Result<Vec<FoundSandbox>> {
        let engine = self.engine().await?;
        let mut found = Vec::new();
        for id in self.ids(&engine, None).await? {
            // One that went away meanwhile is none.
            if let Some(ours) = self.look(&engine, &id).await? {
                let of_another =
                    ours.found.spec.as_ref().is_some_and(|spec| self.engines.is_of_another(&spec.endpoint));
                found.extend((!of_another).then_some(ours.found));
            }
        }
        found.sort_by(|a, b| a.env.cmp(&b.env));
        Ok(found)
    }

    async fn ids(&self, engine: &Engine, env: Option<&EnvId>) -> Result<Vec<String>> {
        let mut wanted = vec![labels::filter(&self.profile)];
        wanted.extend(env.map(labels::environment_filter));
        let filters = HashMap::from([("label".to_owned(), wanted)]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let listed = engine.docker.list_containers(Some(options)).await;
        let listed = listed.map_err(|error| self.engines.failed("listing the containers", &error))?;
        Ok(listed.into_iter().filter_map(|one| one.id).collect())
    }

    /// Looks at one. `None` if there is no such container.
    ///
    /// # Errors
    /// It is not of this profile, or the engine cannot be asked.
    pub async fn look(&self, engine: &Engine, id: &str) -> Result<Option<Ours>> {
        let raw = match engine.docker.inspect_container(id, None::<InspectContainerOptions>).await {
            Ok(raw) => raw,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(self.engines.failed("looking at the container", &error)),
        };
        let state = raw.state.clone().unwrap_or_default();
        let running = state.running == Some(true);
        let is = if running { SandboxState::Running } else { SandboxState::Stopped };
        let own = raw.config.as_ref().and_then(|config| config.labels.clone()).unwrap_or_default();
        let full = raw.id.as_deref().unwrap_or(id);
        let Some(mut found) = labels::read(&self.profile, full, &own, is) else {
            return Err(BackendError::new(
                FailureKind::Surprise,
                format!("the container {id} was not made by this profile"),
                "it was left alone",
            ));
        };
        found.generation = if running {
            let started = state.started_at.as_deref().unwrap_or("");
            self.records.observe(&found.env, &found.sandbox, found.generation, started)
        } else {
            self.records.at_rest(&found.env, &found.sandbox, found.generation)
        };
        Ok(Some(Ours { found, never_started: state.status == Some(ContainerStateStatusEnum::CREATED), raw }))
    }

    /// Whether a container is gone, or about to be: one that is removed by force ends first.
    pub async fn is_going(&self, id: &str) -> bool {
        use ContainerStateStatusEnum::{DEAD, REMOVING};
        let Ok(engine) = self.engine().await else { return false };
        match engine.docker.inspect_container(id, None::<InspectContainerOptions>).await {
            Ok(raw) => matches!(raw.state.and_then(|state| state.status), Some(REMOVING | DEAD)),
            Err(error) => is_missing(&error),
        }
    }

    /// Looks at one that must run, for a session or a command.
    pub async fn running(&self, sandbox: &SandboxId) -> Result<(Arc<Engine>, FoundSandbox)> {
        let engine = self.engine().await?;
        match self.look(&engine, sandbox.as_str()).await? {
            Some(ours) if ours.found.state == SandboxState::Running => Ok((engine, ours.found)),
            Some(_) => Err(BackendError::new(
                FailureKind::Surprise,
                format!("the container {} does not run", short(sandbox)),
                "start its environment first",
            )),
            None => Err(missing(sandbox)),
        }
    }

    /// Makes a container, or finds the one that was made already.
    pub async fn provision(&self, wanted: ProvisionSpec, progress: Progress) -> Result<SandboxInfo> {
        let lock = self.lock(&wanted.env);
        let _one_at_a_time = lock.lock().await;
        let engine = self.engine().await?;
        for id in self.ids(&engine, Some(&wanted.env)).await? {
            let Some(ours) = self.look(&engine, &id).await? else { continue };
            if ours.never_started {
                // Left over from a making that was cut off.
                self.delete(&engine, &id).await?;
                continue;
            }
            return self.start_found(&engine, ours, &wanted).await;
        }
        let Some(image) = wanted.spec.image.clone().filter(|image| !image.is_empty()) else {
            return Err(BackendError::new(
                FailureKind::Permanent,
                "a container needs an image, and none was named",
                "name one with --image, or set env.image in the configuration",
            ));
        };
        let found = image::get(&self.engines, &engine, &image, self.config.credentials.as_deref(), &progress).await?;
        let user = &found.user;
        self.prepare_folders(&wanted, user)?;
        progress("making the container".to_owned());
        self.engines.remember(&engine);
        let mut refusals = Vec::new();
        for main in MAINS {
            match self.make(&engine, &wanted, &image, user, main).await? {
                Ok(info) => return Ok(info),
                Err(why) => refusals.push(why),
            }
        }
        Err(image::runs_nothing(&engine, &image, &found, &refusals.join("; ")))
    }

    fn prepare_folders(&self, wanted: &ProvisionSpec, user: &str) -> Result<()> {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        for folder in [&wanted.home, &wanted.workspace] {
            let make = || -> std::io::Result<()> {
                std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                if !body::is_root(user) {
                    // The image's user is somebody else on this machine. The data directory around it stays private.
                    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777))?;
                }
                Ok(())
            };
            make().map_err(|error| {
                BackendError::new(
                    FailureKind::Permanent,
                    format!("cannot make {}: {error}", folder.display()),
                    "free some space, or check who owns the data directory",
                )
            })?;
        }
        Ok(())
    }

    /// Makes and starts one with this main command. The inner error says why the image cannot run that.
    async fn make(
        &self,
        engine: &Engine,
        wanted: &ProvisionSpec,
        image: &str,
        user: &str,
        main: (&[&str], bool),
    ) -> Result<std::result::Result<SandboxInfo, String>> {
        let name = body::name(&self.profile, wanted);
        let options = CreateContainerOptionsBuilder::default().name(&name).build();
        let body = body::body(&self.profile, wanted, image, user, main);
        let made = engine.docker.create_container(Some(options), body).await;
        let id = made.map_err(|error| self.engines.failed("making the container", &error))?.id;
        let record = Record { sandbox: SandboxId::new(&id), generation: wanted.generation, started_at: String::new() };
        self.records.write(&wanted.env, &record);
        if let Err(error) = engine.docker.start_container(&id, None::<StartContainerOptions>).await {
            let failed = self.engines.failed("starting the container", &error);
            self.delete(engine, &id).await?;
            return if lacks_program(&error) { Ok(Err(failed.message)) } else { Err(failed) };
        }
        match self.settled(engine, &id, main.0[0]).await? {
            Some(ours) if ours.found.state == SandboxState::Running => Ok(Ok(self.info(engine, ours))),
            Some(_) => {
                self.delete(engine, &id).await?;
                Ok(Err(format!("{} ended at once", main.0[0])))
            }
            None => Err(missing(&SandboxId::new(id))),
        }
    }

    /// Looks once the main command runs, or has ended. The engine's init starts also where the command is missing, and
    /// ends a moment later.
    async fn settled(&self, engine: &Engine, id: &str, main: &str) -> Result<Option<Ours>> {
        let end = tokio::time::Instant::now() + SETTLE;
        loop {
            let there = match self.processes(engine, id).await {
                Ok(rows) => rows.iter().any(|row| row.command.starts_with(main)),
                Err(error) if error.kind == FailureKind::Unreachable => return Err(error),
                // It does not run any more, or the engine has no ps(1).
                Err(_) => false,
            };
            let ours = self.look(engine, id).await?;
            let runs = ours.as_ref().is_some_and(|ours| ours.found.state == SandboxState::Running);
            if there || !runs || tokio::time::Instant::now() > end {
                return Ok(ours);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The processes of a container as the engine sees them, the init first.
    pub async fn processes(&self, engine: &Engine, id: &str) -> Result<Vec<Process>> {
        let options = TopOptionsBuilder::default().ps_args("-eo pid,etimes,args").build();
        let top = engine.docker.top_processes(id, Some(options)).await;
        let top = top.map_err(|error| self.engines.failed("looking at the container's processes", &error))?;
        let process = |row: Vec<String>| {
            let [pid, seconds, command] = row.try_into().ok()?;
            Some(Process { pid: pid.parse().ok()?, seconds: seconds.parse().ok()?, command })
        };
        Ok(top.processes.unwrap_or_default().into_iter().filter_map(process).collect())
    }

    /// Starts a stopped container under a new generation.
    pub async fn start(&self, sandbox: &SandboxId, wanted: ProvisionSpec) -> Result<SandboxInfo> {
        let lock = self.lock(&wanted.env);
        let _one_at_a_time = lock.lock().await;
        let engine = self.engine().await?;
        let ours = self.look(&engine, sandbox.as_str()).await?.ok_or_else(|| missing(sandbox))?;
        if ours.found.env != wanted.env {
            return Err(BackendError::new(
                FailureKind::Surprise,
                format!("the container {} is that of environment {}", short(sandbox), ours.found.env),
                "list the environments again",
            ));
        }
        self.start_found(&engine, ours, &wanted).await
    }

    async fn start_found(&self, engine: &Engine, ours: Ours, wanted: &ProvisionSpec) -> Result<SandboxInfo> {
        let (found, runs) = (&ours.found, ours.found.state == SandboxState::Running);
        if runs && found.generation == wanted.generation {
            return Ok(self.info(engine, ours));
        }
        if runs || found.generation > wanted.generation {
            return Err(other_generation(found, wanted.generation));
        }
        let id = found.sandbox.clone();
        self.records.write(
            &wanted.env,
            &Record { sandbox: id.clone(), generation: wanted.generation, started_at: String::new() },
        );
        let started = engine.docker.start_container(id.as_str(), None::<StartContainerOptions>).await;
        started.map_err(|error| self.engines.failed("starting the container", &error))?;
        let ours = self.look(engine, id.as_str()).await?.ok_or_else(|| missing(&id))?;
        if ours.found.state == SandboxState::Running {
            return Ok(self.info(engine, ours));
        }
        Err(BackendError::new(
            FailureKind::Temporary,
            format!("the container {} ended right after its start", short(&id)),
            format!("see `docker logs {}`", short(&id)),
        ))
    }

    pub async fn stop(&self, sandbox: &SandboxId) -> Result<()> {
        let engine = self.engine().await?;
        match self.look(&engine, sandbox.as_str()).await? {
            Some(ours) if ours.found.state == SandboxState::Running => self.halt(&engine, sandbox).await,
            _ => Ok(()),
        }
    }

    async fn halt(&self, engine: &Engine, sandbox: &SandboxId) -> Result<()> {
        let seconds = i32::try_from(self.config.stop_grace.as_secs()).unwrap_or(10);
        let options = StopContainerOptionsBuilder::default().t(seconds).build();
        match engine.docker.stop_container(sandbox.as_str(), Some(options)).await {
            Err(error) if !is_missing(&error) => Err(self.engines.failed("stopping the container", &error)),
            _ => Ok(()),
        }
    }

    pub async fn remove(&self, sandbox: &SandboxId) -> Result<()> {
        let engine = self.engine().await?;
        let Some(ours) = self.look(&engine, sandbox.as_str()).await? else { return Ok(()) };
        if ours.found.state == SandboxState::Running {
            self.halt(&engine, sandbox).await?;
        }
        self.delete(&engine, sandbox.as_str()).await?;
        self.records.remove(&ours.found.env);
        if self.ids(&engine, None).await.is_ok_and(|left| left.is_empty()) {
            self.engines.forget();
        }
        Ok(())
    }

    /// Never by force: what somebody started again meanwhile stays. Folders of the host are no volumes.
    async fn delete(&self, engine: &Engine, id: &str) -> Result<()> {
        let options = RemoveContainerOptionsBuilder::default().v(true).force(false).build();
        match engine.docker.remove_container(id, Some(options)).await {
            Err(error) if !is_missing(&error) => Err(self.engines.failed("removing the container", &error)),
            _ => Ok(()),
        }
    }

    pub async fn inspect(&self, sandbox: &SandboxId) -> Result<Option<SandboxInfo>> {
        let engine = self.engine().await?;
        Ok(self.look(&engine, sandbox.as_str()).await?.map(|ours| self.info(&engine, ours)))
    }

    fn info(&self, engine: &Engine, ours: Ours) -> SandboxInfo {
        let user = ours.raw.config.and_then(|config| config.user).unwrap_or_default();
        let host = ours.raw.host_config.unwrap_or_default();
        let mut limits = Vec::new();
        let mut limit = |name: &str, value: Option<String>| limits.extend(value.map(|value| (name.to_owned(), value)));
        let set = |value: Option<i64>| value.filter(|value| *value > 0);
        limit("processes", set(host.pids_limit).map(|most| most.to_string()));
        limit("memory", set(host.memory).map(|bytes| format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20))));
        limit("cpus", set(host.nano_cpus).map(|nano| format!("{}", nano as f64 / 1e9)));
        limits.extend(engine.unenforced.iter().map(|why| ("not enforced".to_owned(), why.clone())));
        let mount = |one: bollard::models::MountPoint| {
            Some((one.source.unwrap_or_default(), one.destination?, one.rw == Some(false)))
        };
        SandboxInfo {
            found: ours.found,
            home: body::home(&user).to_owned(),
            user: if user.is_empty() { "root".to_owned() } else { user },
            limits,
            mounts: ours.raw.mounts.into_iter().flatten().filter_map(mount).collect(),
        }
    }
}

/// The image has no such program, or the kernel cannot run it.
fn lacks_program(error: &Error) -> bool {
    let Error::DockerResponseServerError { message, .. } = error else { return false };
    ["executable file not found", "no such file or directory", "not found", "exec format error"]
        .iter()
        .any(|sign| message.contains(sign))
}

/// The part of an id that people know.
pub fn short(sandbox: &SandboxId) -> &str {
    sandbox.as_str().get(..12).unwrap_or(sandbox.as_str())
}

/// There is no such container.
pub fn missing(sandbox: &SandboxId) -> BackendError {
    BackendError::new(
        FailureKind::Surprise,
        format!("there is no container {}", short(sandbox)),
        "list the environments again; it may have been removed",
    )
}

fn other_generation(found: &FoundSandbox, wanted: Generation) -> BackendError {
    BackendError::new(
        FailureKind::Surprise,
        format!("the container of {} is of generation {}, not {}", found.name, found.generation.0, wanted.0),
        "list the environments again; it may have been started by somebody else",
    )
}
