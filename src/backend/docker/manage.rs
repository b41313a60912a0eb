//! Containers from their making to their removal.

use super::super::{BackendError, Progress, ProvisionSpec, Result};
use super::body::{self, MAINS};
use super::engine::{Engine, Engines, is_missing};
use super::hub::Hub;
use super::others::Others;
use super::own::OwnExecs;
use super::record::{Record, Records};
use super::{DockerConfig, image, labels};
use crate::domain::{EnvId, FailureKind, FoundSandbox, Generation, Origin, SandboxId, SandboxState};
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
    /// Execs of ours, among those that the engine tells of.
    pub own_execs: OwnExecs,
    /// What runs our scripts in containers where it is not the usual shell.
    pub interpreters: Mutex<BTreeMap<SandboxId, &'static str>>,
    /// Containers of others.
    pub others: Others,
    records: Records,
    locks: Mutex<BTreeMap<EnvId, Arc<tokio::sync::Mutex<()>>>>,
}

/// A container as the engine describes it, whoever made it.
pub struct Seen {
    /// Its full id.
    pub sandbox: SandboxId,
    /// Whether it runs.
    pub state: SandboxState,
    /// Made, and not started yet.
    pub never_started: bool,
    /// Everything else.
    pub raw: ContainerInspectResponse,
}

impl Seen {
    pub fn new(id: &str, raw: ContainerInspectResponse) -> Self {
        let state = raw.state.as_ref();
        let is = match state.map(|state| (state.running == Some(true), state.paused == Some(true))) {
            Some((_, true)) => SandboxState::Paused,
            Some((true, false)) => SandboxState::Running,
            _ => SandboxState::Stopped,
        };
        Self {
            sandbox: SandboxId::new(raw.id.as_deref().unwrap_or(id)),
            state: is,
            never_started: state.is_some_and(|state| state.status == Some(ContainerStateStatusEnum::CREATED)),
            raw,
        }
    }

    /// What it says about itself.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.raw.config.as_ref()?.labels.as_ref()?.get(name).map(String::as_str)
    }

    /// When it was last started, as the engine writes it.
    pub fn started_at(&self) -> &str {
        self.raw.state.as_ref().and_then(|state| state.started_at.as_deref()).unwrap_or("")
    }

    /// Where its programs begin, if nothing else is said.
    pub fn working_dir(&self) -> &str {
        let wanted = self.raw.config.as_ref().and_then(|config| config.working_dir.as_deref());
        wanted.filter(|dir| !dir.is_empty()).unwrap_or("/")
    }
}

/// A container as the engine describes it, known to be ours.
pub struct Ours {
    pub found: FoundSandbox,
    pub seen: Seen,
}

impl Inner {
    pub fn new(config: DockerConfig) -> Self {
        Self {
            engines: Engines::new(config.spot.clone(), config.kin.clone(), &config.data_dir),
            profile: labels::profile(&config.data_dir),
            hub: Hub::default(),
            in_flight: Mutex::default(),
            own_execs: OwnExecs::default(),
            interpreters: Mutex::default(),
            others: Others::default(),
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

    async fn ids(&self, engine: &Engine, env: Option<&EnvId>) -> Result<Vec<String>> {
        let mut wanted = vec![labels::filter(&self.profile)];
        wanted.extend(env.map(labels::environment_filter));
        let filters = HashMap::from([("label".to_owned(), wanted)]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let listed = engine.docker.list_containers(Some(options)).await;
        let listed = listed.map_err(|error| self.engines.failed("listing the containers", &error))?;
        Ok(listed.into_iter().filter_map(|one| one.id).collect())
    }

    /// Looks at one of this profile. `None` if there is no such container.
    ///
    /// # Errors
    /// It is not of this profile, or the engine cannot be asked.
    pub async fn look(&self, engine: &Engine, id: &str) -> Result<Option<Ours>> {
        let Some(seen) = self.look_any(engine, id).await? else { return Ok(None) };
        let found = self.ours(&seen).ok_or_else(|| not_ours(id))?;
        Ok(Some(Ours { found, seen }))
    }

    /// What the labels of one of this profile say.
    pub fn ours(&self, seen: &Seen) -> Option<FoundSandbox> {
        let labels = seen.raw.config.as_ref().and_then(|config| config.labels.as_ref())?;
        let mut found = labels::read(&self.profile, seen.sandbox.as_str(), labels, seen.state)?;
        found.generation = if seen.state == SandboxState::Stopped {
            self.records.at_rest(&found.env, &found.sandbox, found.generation)
        } else {
            self.records.observe(&found.env, &found.sandbox, found.generation, seen.started_at())
        };
        Some(found)
    }

    /// Looks at one that is listed, whoever made it. `None` if there is no such container.
    ///
    /// # Errors
    /// It is not one to be listed, or the engine cannot be asked.
    async fn look_listed(&self, engine: &Engine, id: &str) -> Result<Option<Ours>> {
        let Some(seen) = self.look_any(engine, id).await? else { return Ok(None) };
        let found = self.recognise(engine, &seen).await?.ok_or_else(|| not_ours(id))?;
        Ok(Some(Ours { found, seen }))
    }

    /// Looks at one that is to be ended.
    ///
    /// # Errors
    /// It is not that of whom it was taken for.
    async fn look_once_more(&self, engine: &Engine, sandbox: &SandboxId, whose: Origin) -> Result<Option<Ours>> {
        let ours = self.look_listed(engine, sandbox.as_str()).await?;
        if ours.as_ref().is_some_and(|ours| ours.found.origin != whose) {
            return Err(BackendError::new(
                FailureKind::Surprise,
                format!("the container {} was made by somebody else than was thought", short(sandbox.as_str())),
                "it was left alone",
            ));
        }
        Ok(ours)
    }

    /// Looks at one, whoever made it. `None` if there is no such container.
    ///
    /// # Errors
    /// The engine cannot be asked.
    pub async fn look_any(&self, engine: &Engine, id: &str) -> Result<Option<Seen>> {
        match engine.docker.inspect_container(id, None::<InspectContainerOptions>).await {
            Ok(raw) => Ok(Some(Seen::new(id, raw))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.engines.failed("looking at the container", &error)),
        }
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

    /// Looks at one that must run, for a session, a command or a look inside: one of this profile, or one that is
    /// merely watched. What another profile made is its own business.
    pub async fn running_any(&self, sandbox: &SandboxId) -> Result<(Arc<Engine>, Seen)> {
        let engine = self.engine().await?;
        let Some(seen) = self.look_any(&engine, sandbox.as_str()).await? else { return Err(missing(sandbox)) };
        if seen.label(labels::PROFILE).is_some_and(|profile| profile != self.profile) {
            return Err(BackendError::new(
                FailureKind::Surprise,
                format!("the container {} was made by another profile", short(sandbox.as_str())),
                "open it from there; it was left alone",
            ));
        }
        match seen.state {
            SandboxState::Running => Ok((engine, seen)),
            SandboxState::Paused => Err(paused(sandbox)),
            SandboxState::Stopped => Err(BackendError::new(
                FailureKind::Surprise,
                format!("the container {} does not run", short(sandbox.as_str())),
                "start its environment first",
            )),
        }
    }

    /// Makes a container, or finds the one that was made already.
    pub async fn provision(&self, wanted: ProvisionSpec, progress: Progress) -> Result<FoundSandbox> {
        let lock = self.lock(&wanted.env);
        let _one_at_a_time = lock.lock().await;
        let engine = self.engine().await?;
        for id in self.ids(&engine, Some(&wanted.env)).await? {
            let Some(ours) = self.look(&engine, &id).await? else { continue };
            if ours.seen.never_started {
                // Left over from a making that was cut off.
                self.delete(&engine, &id, Origin::Managed).await?;
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
                Ok(found) => return Ok(found),
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
    ) -> Result<std::result::Result<FoundSandbox, String>> {
        let name = body::name(&self.profile, wanted);
        let options = CreateContainerOptionsBuilder::default().name(&name).build();
        let body = body::body(&self.profile, wanted, image, user, main);
        let made = engine.docker.create_container(Some(options), body).await;
        let id = made.map_err(|error| self.engines.failed("making the container", &error))?.id;
        let record = Record { sandbox: SandboxId::new(&id), generation: wanted.generation, started_at: String::new() };
        self.records.write(&wanted.env, &record);
        if let Err(error) = engine.docker.start_container(&id, None::<StartContainerOptions>).await {
            let failed = self.engines.failed("starting the container", &error);
            self.delete(engine, &id, Origin::Managed).await?;
            return if lacks_program(&error) { Ok(Err(failed.message)) } else { Err(failed) };
        }
        match self.settled(engine, &id, main.0[0]).await? {
            Some(ours) if ours.found.state == SandboxState::Running => Ok(Ok(ours.found)),
            Some(_) => {
                self.delete(engine, &id, Origin::Managed).await?;
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
        // Podman takes the names of columns; for anything else it runs the container's own ps(1), as an exec.
        let columns = if engine.podman { "pid,etime,args" } else { "-eo pid,etimes,args" };
        let options = TopOptionsBuilder::default().ps_args(columns).build();
        let top = engine.docker.top_processes(id, Some(options)).await;
        let top = top.map_err(|error| self.engines.failed("looking at the container's processes", &error))?;
        let process = |row: Vec<String>| {
            let [pid, age, command] = row.try_into().ok()?;
            Some(Process { pid: pid.parse().ok()?, seconds: seconds(&age)?, command })
        };
        Ok(top.processes.unwrap_or_default().into_iter().filter_map(process).collect())
    }

    /// Starts a stopped container under a new generation.
    pub async fn start(&self, sandbox: &SandboxId, wanted: ProvisionSpec) -> Result<FoundSandbox> {
        let lock = self.lock(&wanted.env);
        let _one_at_a_time = lock.lock().await;
        let engine = self.engine().await?;
        let ours = self.look_listed(&engine, sandbox.as_str()).await?.ok_or_else(|| missing(sandbox))?;
        if ours.found.env != wanted.env {
            return Err(BackendError::new(
                FailureKind::Surprise,
                format!("the container {} is that of environment {}", short(sandbox.as_str()), ours.found.env),
                "list the environments again",
            ));
        }
        if ours.found.origin == Origin::Managed {
            return self.start_found(&engine, ours, &wanted).await;
        }
        match ours.found.state {
            SandboxState::Running => return Ok(ours.found),
            SandboxState::Paused => return Err(paused(sandbox)),
            SandboxState::Stopped => {}
        }
        let started = engine.docker.start_container(sandbox.as_str(), None::<StartContainerOptions>).await;
        started.map_err(|error| self.engines.failed("starting the container", &error))?;
        match self.look_listed(&engine, sandbox.as_str()).await?.ok_or_else(|| missing(sandbox))? {
            ours if ours.found.state == SandboxState::Running => Ok(ours.found),
            _ => Err(ended_at_once(sandbox)),
        }
    }

    async fn start_found(&self, engine: &Engine, ours: Ours, wanted: &ProvisionSpec) -> Result<FoundSandbox> {
        let (found, runs) = (&ours.found, ours.found.state == SandboxState::Running);
        if ours.found.state == SandboxState::Paused {
            return Err(paused(&found.sandbox));
        }
        if runs && found.generation == wanted.generation {
            return Ok(ours.found);
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
            return Ok(ours.found);
        }
        Err(ended_at_once(&id))
    }

    pub async fn stop(&self, sandbox: &SandboxId, whose: Origin) -> Result<()> {
        let engine = self.engine().await?;
        match self.look_once_more(&engine, sandbox, whose).await? {
            Some(ours) => self.halt(&engine, &ours.seen).await,
            None => Ok(()),
        }
    }

    async fn halt(&self, engine: &Engine, seen: &Seen) -> Result<()> {
        let id = seen.sandbox.as_str();
        match seen.state {
            SandboxState::Stopped => return Ok(()),
            SandboxState::Running => {}
            // What is halted cannot end by itself, and podman refuses to stop it.
            SandboxState::Paused => match engine.docker.unpause_container(id).await {
                Err(error) if !is_missing(&error) => return Err(self.engines.failed("resuming the container", &error)),
                _ => {}
            },
        }
        let seconds = i32::try_from(self.config.stop_grace.as_secs()).unwrap_or(10);
        let options = StopContainerOptionsBuilder::default().t(seconds).build();
        match engine.docker.stop_container(id, Some(options)).await {
            Err(error) if !is_missing(&error) => Err(self.engines.failed("stopping the container", &error)),
            _ => Ok(()),
        }
    }

    pub async fn remove(&self, sandbox: &SandboxId, whose: Origin) -> Result<()> {
        let engine = self.engine().await?;
        let Some(ours) = self.look_once_more(&engine, sandbox, whose).await? else { return Ok(()) };
        self.halt(&engine, &ours.seen).await?;
        self.delete(&engine, sandbox.as_str(), whose).await?;
        if whose != Origin::Managed {
            return Ok(());
        }
        self.records.remove(&ours.found.env);
        if self.ids(&engine, None).await.is_ok_and(|left| left.is_empty()) {
            self.engines.forget();
        }
        Ok(())
    }

    /// Never by force: what somebody started again meanwhile stays. Folders of the host are no volumes. Volumes of
    /// containers that are not ours stay.
    async fn delete(&self, engine: &Engine, id: &str, whose: Origin) -> Result<()> {
        let volumes = whose == Origin::Managed;
        let options = RemoveContainerOptionsBuilder::default().v(volumes).force(false).build();
        match engine.docker.remove_container(id, Some(options)).await {
            Err(error) if !is_missing(&error) => Err(self.engines.failed("removing the container", &error)),
            _ => Ok(()),
        }
    }

    pub async fn inspect(&self, sandbox: &SandboxId) -> Result<Option<FoundSandbox>> {
        let engine = self.engine().await?;
        Ok(self.look_listed(&engine, sandbox.as_str()).await?.map(|ours| ours.found))
    }
}

/// An age: seconds as ps(1) writes them, or hours, minutes and seconds as podman does (`1h2m3.4s`).
fn seconds(age: &str) -> Option<u64> {
    let (mut total, mut rest) = (0, age);
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit() && c != '.') {
        let unit = match &rest[end..] {
            unit if unit.starts_with("ms") || unit.starts_with('µ') || unit.starts_with("ns") => return Some(total),
            unit if unit.starts_with('h') => 3600,
            unit if unit.starts_with('m') => 60,
            unit if unit.starts_with('s') => 1,
            _ => return None,
        };
        total += rest[..end].split('.').next()?.parse::<u64>().ok()? * unit;
        rest = &rest[end + 1..];
    }
    if rest.is_empty() { Some(total) } else { rest.parse().ok() }
}

/// The image has no such program, or the kernel cannot run it.
fn lacks_program(error: &Error) -> bool {
    let Error::DockerResponseServerError { message, .. } = error else { return false };
    ["executable file not found", "no such file or directory", "not found", "exec format error"]
        .iter()
        .any(|sign| message.contains(sign))
}

/// The part of an id that people know.
pub fn short(id: &str) -> &str {
    let bare = id.trim_start_matches("sha256:");
    bare.get(..12).unwrap_or(bare)
}

fn not_ours(id: &str) -> BackendError {
    BackendError::new(
        FailureKind::Surprise,
        format!("the container {id} was not made by this profile"),
        "it was left alone",
    )
}

fn ended_at_once(sandbox: &SandboxId) -> BackendError {
    BackendError::new(
        FailureKind::Temporary,
        format!("the container {} ended right after its start", short(sandbox.as_str())),
        format!("see `docker logs {}`", short(sandbox.as_str())),
    )
}

/// There is no such container.
pub fn missing(sandbox: &SandboxId) -> BackendError {
    BackendError::new(
        FailureKind::Surprise,
        format!("there is no container {}", short(sandbox.as_str())),
        "list the environments again; it may have been removed",
    )
}

/// Somebody halted every process in it.
pub fn paused(sandbox: &SandboxId) -> BackendError {
    BackendError::new(
        FailureKind::Surprise,
        format!("the container {} is paused: nothing in it runs until it is resumed", short(sandbox.as_str())),
        format!("resume it with `docker unpause {0}` or `podman unpause {0}`", short(sandbox.as_str())),
    )
}

fn other_generation(found: &FoundSandbox, wanted: Generation) -> BackendError {
    BackendError::new(
        FailureKind::Surprise,
        format!("the container of {} is of generation {}, not {}", found.name, found.generation.0, wanted.0),
        "list the environments again; it may have been started by somebody else",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read_as_ps_and_podman_write_them() {
        let ages = ["42", "1h2m3.4s", "2m13.1s", "5.288152049s", "12.3ms", "890µs", "", "1d"];
        let read = [Some(42), Some(3723), Some(133), Some(5), Some(0), Some(0), Some(0), None];
        assert_eq!(ages.map(seconds), read);
    }
}
