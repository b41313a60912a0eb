//! What can be told of a container that somebody else made: what keeps its files, whose it is, what its maker will do
//! with it, and whether anybody still needs it.

use super::figures::{self, moment};
use super::manage::{Seen, short};
use super::others::{Known, Listed};
use super::places::MAIN;
use crate::domain::{
    BackendKind, EndpointId, EnvId, EnvSpec, FoundSandbox, Leak, LeakKind, Moment, Mount, Network, Origin, Persistence,
    Retention, SandboxId, SandboxState, Scope, Span, TheirRetention, Watched,
};
use crate::hermes::home::Home;
use crate::hermes::labels::{self as theirs, Labels};
use crate::hermes::owner::{self, Owner};
use crate::hermes::settings::Settings;
use bollard::models::MountPoint;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the files of a hermes-agent's container are inside.
const HOME_INSIDE: &str = "/root";
/// What it shows of its home in every container.
const SKILLS_INSIDE: &str = "/root/.hermes/skills";
/// A container that is made is started at once; one that was not by then never will be.
const GRACE: Span = Span::seconds(300);

/// When it was made; zero where that is not told.
pub fn made(seen: &Seen) -> Moment {
    seen.raw.created.as_deref().and_then(moment).unwrap_or_default()
}

/// The environment that a container stands for: the same for every container that a hermes-agent makes for one task.
pub fn key(seen: &Seen, origin: Origin, endpoint: &EndpointId) -> EnvId {
    let text = match (origin, read_labels(seen)) {
        (Origin::Hermes, Some(labels)) => {
            let home = told_home(seen).map(|home| home.display().to_string()).unwrap_or_default();
            let (profile, task) = (labels.profile.unwrap_or_default(), labels.task.unwrap_or_default());
            format!("hermes\0{profile}\0{home}\0{task}")
        }
        // A name is used again for what takes the place of a container.
        _ => format!("foreign\0{}", seen.raw.name.as_deref().unwrap_or(seen.sandbox.as_str())),
    };
    // Two engines may have containers for the same task.
    let text = if endpoint.as_str() == MAIN { text } else { format!("{endpoint}\0{text}") };
    let hash = Sha256::digest(text.as_bytes());
    EnvId::new(hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// The environment of one more container of the same task.
pub fn beside(key: &EnvId, sandbox: &SandboxId) -> EnvId {
    EnvId::new(format!("{key}-{}", short(sandbox.as_str())))
}

fn read_labels(seen: &Seen) -> Option<Labels> {
    Labels::read(seen.raw.config.as_ref()?.labels.as_ref()?)
}

fn mounts(seen: &Seen) -> impl Iterator<Item = (&str, &str, &MountPoint)> {
    let all = seen.raw.mounts.iter().flatten();
    let binds = all.filter(|mount| mount.typ.as_deref() == Some("bind"));
    binds.filter_map(|mount| Some((mount.source.as_deref()?, mount.destination.as_deref()?, mount)))
}

fn source<'a>(seen: &'a Seen, target: &str) -> Option<&'a Path> {
    mounts(seen).find(|(_, inside, _)| *inside == target).map(|(source, ..)| Path::new(source))
}

/// The folder that holds the files of all containers of a hermes-agent: `DIR/docker/TASK/home` is mounted.
fn sandboxes(seen: &Seen) -> Option<&Path> {
    let docker = source(seen, HOME_INSIDE)?.parent()?.parent()?;
    (docker.file_name()? == "docker").then(|| docker.parent()).flatten()
}

/// The home that the mounts name, by nothing but themselves.
fn told_home(seen: &Seen) -> Option<PathBuf> {
    if let Some(sandboxes) = sandboxes(seen) {
        let usual = sandboxes.file_name().is_some_and(|name| name == "sandboxes");
        let home = if usual { sandboxes.parent() } else { None };
        return Some(home.unwrap_or(sandboxes).to_owned());
    }
    let skills = source(seen, SKILLS_INSIDE)?;
    (skills.file_name()? == "skills").then(|| skills.parent().map(Path::to_owned)).flatten()
}

/// The home among those that are known, else the one that the mounts name if it is there.
fn home(seen: &Seen, homes: &[Home]) -> Option<PathBuf> {
    let same = |a: &Path, b: &Path| a == b || std::fs::canonicalize(a).is_ok_and(|a| a == b);
    if let Some(sandboxes) = sandboxes(seen) {
        let known = homes.iter().find(|home| same(&home.settings().sandboxes(&home.path), sandboxes));
        if let Some(home) = known {
            return Some(home.path.clone());
        }
    }
    let told = told_home(seen)?;
    let known = homes.iter().find(|home| same(&home.path, &told) || same(&told, &home.path));
    known.map(|home| home.path.clone()).or_else(|| told.join("config.yaml").exists().then(|| told.clone())).or_else(
        // A home without a file of settings is one with all the defaults.
        || told.join("SOUL.md").exists().then_some(told),
    )
}

/// What its maker goes by, and whether it is told by the container itself.
fn settings(home: Option<&Path>, labels: &Labels, homes: &[Home]) -> (Settings, bool) {
    if let Some(home) = home {
        return (Settings::read(home), true);
    }
    let label = labels.profile.as_deref().unwrap_or_default();
    let mut fitting = homes.iter().filter(|home| theirs::matches(label, &home.profile));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => (only.settings(), false),
        _ => (Settings::default(), false),
    }
}

fn persistence(seen: &Seen, origin: Origin) -> Persistence {
    if origin != Origin::Hermes {
        return Persistence::Unknown;
    }
    let tmpfs = seen.raw.host_config.as_ref().and_then(|host| host.tmpfs.as_ref());
    let mounted = seen.raw.mounts.iter().flatten();
    let in_memory = tmpfs.is_some_and(|all| all.contains_key(HOME_INSIDE))
        || mounted
            .into_iter()
            .any(|mount| mount.destination.as_deref() == Some(HOME_INSIDE) && mount.typ.as_deref() == Some("tmpfs"));
    match (source(seen, HOME_INSIDE), in_memory) {
        (Some(_), _) => Persistence::Persistent,
        (None, true) => Persistence::Ephemeral,
        (None, false) => Persistence::Unknown,
    }
}

/// What it was made from, as the engine tells it. Its variables are nobody's business.
fn spec(
    seen: &Seen,
    endpoint: &EndpointId,
    persistence: Persistence,
    idle: Span,
    label: Option<&TheirRetention>,
) -> EnvSpec {
    let host = seen.raw.host_config.clone().unwrap_or_default();
    let network = match host.network_mode.as_deref() {
        Some("none") => Network::None,
        Some("host") => Network::Host,
        _ => Network::Default,
    };
    let mount = |(source, target, mount): (&str, &str, &MountPoint)| Mount {
        source: source.to_owned(),
        target: target.to_owned(),
        read_only: mount.rw == Some(false),
    };
    EnvSpec {
        backend: BackendKind::Docker,
        endpoint: endpoint.clone(),
        image: seen.raw.config.as_ref().and_then(|config| config.image.clone()),
        persistence,
        // The label stands on containers of one session.
        scope: if label.is_some() { Scope::Session } else { Scope::Shared },
        retention: label.and_then(TheirRetention::known).unwrap_or(Retention::KeepRunning),
        idle,
        mounts: mounts(seen).map(mount).collect(),
        env: BTreeMap::new(),
        network,
        cpu_millis: figures::cpu_millis(&host).and_then(|millis| u32::try_from(millis).ok()),
        memory_bytes: figures::memory(&host),
        on_host: false,
    }
}

/// A container of others as it is listed. Notes when something about it changes by time alone.
pub fn found(
    seen: &Seen,
    endpoint: &EndpointId,
    listed: &Listed,
    homes: &[Home],
    now: Moment,
    known: &mut Known,
) -> FoundSandbox {
    let persistence = persistence(seen, listed.origin);
    let container = seen.raw.name.as_deref().unwrap_or_default().trim_start_matches('/').to_owned();
    let base = FoundSandbox {
        sandbox: seen.sandbox.clone(),
        env: listed.env.clone(),
        name: if container.is_empty() { short(seen.sandbox.as_str()).to_owned() } else { container },
        generation: listed.generation,
        state: seen.state,
        spec: None,
        persistence,
        origin: listed.origin,
        conversation: None,
        watched: None,
    };
    let Some(labels) = read_labels(seen).filter(|_| listed.origin == Origin::Hermes) else {
        // Never due: nobody consented to anything.
        let spec = spec(seen, endpoint, persistence, Span::ZERO, None);
        let watched = Watched { made: made(seen), ..Watched::default() };
        return FoundSandbox { spec: Some(Box::new(spec)), watched: Some(Box::new(watched)), ..base };
    };
    let home = home(seen, homes);
    let (settings, told) = settings(home.as_deref(), &labels, homes);
    let leak = leak(seen, &labels, &settings, told, now, known);
    let watched = Watched {
        profile: labels.profile.clone(),
        task: labels.task.clone(),
        home: home.map(|home| home.display().to_string()),
        maker: maker(seen, &labels, &settings),
        leak,
        made: made(seen),
        retention: labels.retention.clone(),
        ttl: told.then(|| settings.session_ttl()),
    };
    FoundSandbox {
        name: name(&labels).unwrap_or_else(|| base.name.clone()),
        spec: Some(Box::new(spec(seen, endpoint, persistence, settings.lifetime(), labels.retention.as_ref()))),
        watched: Some(Box::new(watched)),
        ..base
    }
}

/// For people: its task, after its profile where that is not the usual one.
fn name(labels: &Labels) -> Option<String> {
    let task = labels.task.clone()?;
    match labels.profile.as_deref() {
        None | Some("default") => Some(task),
        Some(profile) => Some(format!("{profile}.{task}")),
    }
}

/// What its hermes-agent will do with it.
fn maker(seen: &Seen, labels: &Labels, settings: &Settings) -> String {
    let leaves = settings.leaves_running();
    match seen.state {
        SandboxState::Paused if leaves => return "cannot use it while it is paused, and makes another".to_owned(),
        SandboxState::Paused | SandboxState::Running => {}
        SandboxState::Stopped => return maker_of_ended(seen, labels, settings),
    }
    match labels.retention.as_ref().and_then(TheirRetention::known) {
        Some(Retention::StopOnSessionEnd) => "stops it at the end of its session or when idle",
        Some(Retention::RemoveOnSessionEnd) => "removes it at the end of its session or when idle",
        Some(Retention::KeepRunning) => "leaves running, also when its session ends",
        Some(Retention::IdleTtl) => "removes it when it was idle for long",
        _ if labels.is_probe() => "has no more use for it, and leaves it running",
        _ if leaves => "leaves running",
        _ => "removes it when its process ends",
    }
    .to_owned()
}

fn maker_of_ended(seen: &Seen, labels: &Labels, settings: &Settings) -> String {
    let spared = labels.retention == Some(TheirRetention::Known(Retention::StopOnSessionEnd));
    let finished = seen.raw.state.as_ref().and_then(|state| state.finished_at.as_deref()).and_then(moment);
    match settings.swept_after().zip(finished).filter(|_| !spared && !seen.never_started) {
        Some((age, finished)) => format!("deletes it at its first start after {}", clock(finished + age)),
        None if spared || settings.leaves_running() => "starts it again when it needs it".to_owned(),
        None => "leaves it as it is".to_owned(),
    }
}

/// The time of day here. It does not grow old as "in 4 minutes" does.
fn clock(at: Moment) -> String {
    let time = i64::try_from(at.0).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok()).unwrap_or_default();
    time.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%H:%M").to_string()
}

/// Why nobody will miss it, if that is certain.
fn leak(seen: &Seen, labels: &Labels, settings: &Settings, told: bool, now: Moment, known: &mut Known) -> Option<Leak> {
    let made = made(seen);
    let leak = |kind, evidence: String| Some(Leak { kind, evidence });
    if labels.retention.as_ref().is_some_and(TheirRetention::is_found_again) {
        return None;
    }
    if labels.is_probe() {
        let evidence =
            format!("its task is {}: hermes-agent ran one command in it, and never comes back", theirs::PROBE);
        return leak(LeakKind::Probe, evidence);
    }
    if seen.never_started {
        let due = made + GRACE;
        if now < due {
            known.due_at(due);
            return None;
        }
        return leak(LeakKind::NeverStarted, format!("made at {} and never started", clock(made)));
    }
    // Only one that its maker itself would remove at its end, and that no later process takes up again.
    if seen.state != SandboxState::Running || settings.persist_across_processes != Some(false) || !told {
        return None;
    }
    let main = seen.raw.state.as_ref().and_then(|state| state.pid).and_then(|pid| u32::try_from(pid).ok())?;
    match owner::find(made, main, seen.sandbox.as_str()) {
        Owner::Gone => leak(
            LeakKind::DeadOwner,
            "the process that it was made for is gone: no Python process here is as old as it, and no later one takes \
             it up (docker_persist_across_processes is off)"
                .to_owned(),
        ),
        Owner::Possible(pid, _) => {
            known.owners.insert(pid);
            None
        }
        Owner::Unknown(why) => {
            tracing::debug!("whether the owner of {} lives cannot be told: {why}", short(seen.sandbox.as_str()));
            None
        }
    }
}
