//! All that an engine tells of a container, and what it uses while somebody looks.

use super::super::Result;
use super::super::details::{Details, ImageFacts, Limit, Place, PlaceKind, Stats, bytes};
use super::body::{self, MAX_PROCESSES};
use super::engine::{Engine, is_missing, unenforced};
use super::figures::{cpu_millis, memory, moment, processes};
use super::labels;
use super::manage::{Inner, Seen, short};
use super::run::Shared;
use crate::domain::{EnvSpec, Network, SandboxId};
use bollard::models::{ContainerStatsResponse, HostConfig, ImageInspect, MountPoint};
use bollard::query_parameters::{InspectContainerOptions, StatsOptionsBuilder};
use futures_util::stream::{self, BoxStream, StreamExt};
use std::collections::BTreeMap;

/// Labels of ours and of hermes-agents begin so. Those of others may hold anything.
const SHOWN: [&str; 2] = ["hermes-tui.", "hermes-"];

impl Inner {
    /// All that can be told of a container; `None` if there is none.
    pub async fn details(&self, sandbox: &SandboxId) -> Result<Option<Details>> {
        let engine = self.engine().await?;
        let raw = match engine.docker.inspect_container(sandbox.as_str(), None::<InspectContainerOptions>).await {
            Ok(raw) => raw,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(self.engines.failed("looking at the container", &error)),
        };
        let seen = Seen::new(sandbox.as_str(), raw);
        let name = seen.raw.config.as_ref().and_then(|config| config.image.clone()).unwrap_or_default();
        let named = self.image(&engine, &name).await?;
        // What it runs from, if the name stands for something else by now.
        let own = match (&named, &seen.raw.image) {
            (Some(named), Some(id)) if named.id.as_ref() == Some(id) => None,
            (_, Some(id)) => self.image(&engine, id).await?,
            _ => None,
        };
        Ok(Some(told(&seen, &engine, &name, named.as_ref(), own.as_ref())))
    }

    async fn image(&self, engine: &Engine, name: &str) -> Result<Option<ImageInspect>> {
        match engine.docker.inspect_image(name).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.engines.failed("looking at the image", &error)),
        }
    }
}

fn told(seen: &Seen, engine: &Engine, name: &str, named: Option<&ImageInspect>, own: Option<&ImageInspect>) -> Details {
    let default = HostConfig::default();
    let (raw, host) = (&seen.raw, seen.raw.host_config.as_ref().unwrap_or(&default));
    let user = raw.config.as_ref().and_then(|config| config.user.clone()).unwrap_or_default();
    let id = raw.image.clone().unwrap_or_default();
    let digests = own.or(named).and_then(|image| image.repo_digests.as_ref());
    let digest =
        digests.and_then(|all| all.first()).and_then(|one| one.split_once('@')).map(|(_, digest)| digest.to_owned());
    let all = raw.config.as_ref().and_then(|config| config.labels.clone()).unwrap_or_default();
    let shown = |name: &String| SHOWN.iter().any(|prefix| name.starts_with(prefix)) && name != labels::SPEC;
    let restart = host.restart_policy.as_ref().and_then(|policy| policy.name).map(|name| name.to_string());
    let wanted = seen.label(labels::SPEC).and_then(|text| serde_json::from_str::<EnvSpec>(text).ok());
    let mut drift = image_drift(name, &id, named);
    if let Some(wanted) = &wanted {
        drift.extend(spec_drift(wanted, host, raw.mounts.as_deref().unwrap_or_default()));
        let meant = own.or(named).and_then(|image| image.config.as_ref()).and_then(|config| config.user.clone());
        if let Some(meant) = meant.filter(|meant| *meant != user) {
            drift.push(format!("its programs run as {}, the image says {}", shown_user(&user), shown_user(&meant)));
        }
    }
    Details {
        image: Some(ImageFacts { name: name.to_owned(), id, digest }),
        user: shown_user(&user),
        home: body::home(&user).to_owned(),
        network: host.network_mode.clone().unwrap_or_default(),
        limits: limits(host, wanted.as_ref(), engine),
        places: places(host, raw.mounts.as_deref().unwrap_or_default()),
        labels: all.into_iter().filter(|(name, _)| shown(name)).collect::<BTreeMap<_, _>>(),
        restart: restart.filter(|name| !name.is_empty()),
        created: raw.created.as_deref().and_then(moment),
        started: moment(seen.started_at()),
        drift,
    }
}

fn shown_user(user: &str) -> String {
    if user.is_empty() { "root".to_owned() } else { user.to_owned() }
}

/// Those in force, and those that were asked for and are not: an engine leaves out what it cannot enforce.
fn limits(host: &HostConfig, asked: Option<&EnvSpec>, engine: &Engine) -> Vec<Limit> {
    let cores = |millis: u64| format!("{} {}", millis as f64 / 1000.0, if millis == 1000 { "core" } else { "cores" });
    let limit = |name: &str, asked: Option<String>, is: Option<String>| {
        let enforced = is.is_some() && !engine.unenforced.contains(&unenforced(name));
        is.or(asked).map(|value| Limit { name: name.to_owned(), value, enforced })
    };
    let (asked_cpu, asked_memory) = (asked.and_then(|spec| spec.cpu_millis), asked.and_then(|spec| spec.memory_bytes));
    let all = [
        limit("processes", asked.map(|_| MAX_PROCESSES.to_string()), processes(host).map(|most| most.to_string())),
        limit("memory", asked_memory.map(bytes), memory(host).map(bytes)),
        limit("processor time", asked_cpu.map(|millis| cores(millis.into())), cpu_millis(host).map(cores)),
    ];
    all.into_iter().flatten().collect()
}

fn places(host: &HostConfig, mounts: &[MountPoint]) -> Vec<Place> {
    let mut places: Vec<Place> = mounts.iter().filter_map(place).collect();
    for target in host.tmpfs.iter().flatten().map(|(target, _)| target) {
        // Podman also lists it among the mounts.
        if !places.iter().any(|place| place.target == *target) {
            let (source, target) = (String::new(), target.clone());
            places.push(Place { kind: PlaceKind::Tmpfs, source, target, read_only: false });
        }
    }
    places.sort_by(|a, b| a.target.cmp(&b.target));
    let read_only = host.readonly_rootfs == Some(true);
    places.push(Place { kind: PlaceKind::Layer, source: String::new(), target: "/".to_owned(), read_only });
    places
}

fn place(mount: &MountPoint) -> Option<Place> {
    let name = mount.name.clone().unwrap_or_default();
    // The engine names a volume that nobody named by 64 digits, and removes it with its container.
    let anonymous = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let kind = match mount.typ.as_deref() {
        Some("tmpfs") => PlaceKind::Tmpfs,
        Some("volume") if anonymous => PlaceKind::OwnVolume,
        Some("volume") => PlaceKind::Volume,
        _ => PlaceKind::Bind,
    };
    let source = match kind {
        PlaceKind::Volume => name,
        PlaceKind::Tmpfs => String::new(),
        _ => mount.source.clone().unwrap_or_default(),
    };
    Some(Place { kind, source, target: mount.destination.clone()?, read_only: mount.rw == Some(false) })
}

/// The name of its image may stand for another one by now: built or pulled anew.
fn image_drift(name: &str, id: &str, named: Option<&ImageInspect>) -> Vec<String> {
    let now = named.map(|image| image.id.as_deref().unwrap_or_default());
    // A name that is the id itself cannot come to mean another.
    let bare = name.strip_prefix("sha256:").unwrap_or(name);
    if name.is_empty() || id.is_empty() || id.trim_start_matches("sha256:").starts_with(bare) {
        return Vec::new();
    }
    match now {
        Some(now) if now != id => vec![format!(
            "{name} now names another image ({} instead of {}): remove and make it again to use that",
            short(now),
            short(id)
        )],
        None => vec![format!("{name} no longer names an image here; it runs from {}", short(id))],
        _ => Vec::new(),
    }
}

/// Somebody changed it from outside, for example by `docker update`.
fn spec_drift(wanted: &EnvSpec, host: &HostConfig, mounts: &[MountPoint]) -> Vec<String> {
    let mut drift = Vec::new();
    let mut compare = |what: &str, wanted: Option<String>, is: Option<String>| {
        if wanted != is {
            let say = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
            drift.push(format!("{what}: {} was asked for, it is {}", say(wanted), say(is)));
        }
    };
    compare("memory limit", wanted.memory_bytes.map(bytes), memory(host).map(bytes));
    let cores = |millis: u64| format!("{} cores", millis as f64 / 1000.0);
    compare("processor limit", wanted.cpu_millis.map(|millis| cores(millis.into())), cpu_millis(host).map(cores));
    let network = |mode: &str| match mode {
        "none" => "none".to_owned(),
        "host" => "host".to_owned(),
        // Each engine has another name for what it gives by default.
        "default" | "bridge" | "slirp4netns" | "pasta" | "" => "default".to_owned(),
        other => other.to_owned(),
    };
    let meant = match wanted.network {
        Network::None => "none",
        Network::Default => "default",
        Network::Host => "host",
    };
    compare("network", Some(meant.to_owned()), Some(network(host.network_mode.as_deref().unwrap_or_default())));
    for mount in &wanted.mounts {
        let found = mounts.iter().find(|found| found.destination.as_deref() == Some(&mount.target));
        match found {
            None => drift.push(format!("{} is not mounted on {}", mount.source, mount.target)),
            Some(found) if (found.rw == Some(false)) != mount.read_only => {
                let is = if mount.read_only { "can be written to" } else { "is read-only" };
                drift.push(format!("{} {is}, against what was asked for", mount.target));
            }
            Some(_) => {}
        }
    }
    let known = |target: &str| {
        target == "/workspace"
            || matches!(target, "/root" | "/home/agent")
            || wanted.mounts.iter().any(|mount| mount.target == target)
    };
    let more = mounts.iter().filter(|found| found.typ.as_deref() == Some("bind"));
    let more = more.filter_map(|found| found.destination.as_deref()).filter(|target| !known(target));
    drift.extend(more.map(|target| format!("{target} is mounted, and was not asked for")));
    drift
}

/// What a container uses, once a second, for as long as somebody listens.
pub fn stats(inner: Shared, sandbox: SandboxId) -> BoxStream<'static, Stats> {
    let opened = async move {
        let engine = inner.engine().await.ok()?;
        let options = StatsOptionsBuilder::default().stream(true).build();
        let figures = engine.docker.stats(sandbox.as_str(), Some(options)).boxed();
        Some(stream::unfold((engine, figures, None), |(engine, mut figures, before)| async move {
            let mut before: Option<ContainerStatsResponse> = before;
            loop {
                let now = figures.next().await?.ok()?;
                let shown = before.as_ref().map(|before| used(before, &now));
                before = Some(now);
                if let Some(shown) = shown {
                    return Some((shown, (engine, figures, before)));
                }
            }
        }))
    };
    stream::once(opened).filter_map(std::future::ready).flatten().boxed()
}

fn used(before: &ContainerStatsResponse, now: &ContainerStatsResponse) -> Stats {
    let cpu = |figures: &ContainerStatsResponse| {
        let cpu = figures.cpu_stats.as_ref()?;
        Some((cpu.cpu_usage.as_ref()?.total_usage?, cpu.system_cpu_usage?, u64::from(cpu.online_cpus.unwrap_or(1))))
    };
    let cpu_permille = match (cpu(before), cpu(now)) {
        (Some((used, whole, _)), Some((used_now, whole_now, cores))) => {
            let (used, whole) = (used_now.saturating_sub(used), whole_now.saturating_sub(whole));
            // The whole is that of all cores together.
            (u128::from(used) * u128::from(cores) * 1000).checked_div(u128::from(whole)).unwrap_or(0)
        }
        _ => 0,
    };
    let memory = now.memory_stats.as_ref();
    let detail = |name: &str| memory.and_then(|memory| memory.stats.as_ref()?.get(name).copied());
    // Pages of files that can be dropped are no use (cgroup v1, then v2); `docker stats` counts likewise.
    let cache = detail("total_inactive_file").or_else(|| detail("inactive_file")).unwrap_or(0);
    Stats {
        cpu_permille: u64::try_from(cpu_permille).unwrap_or(u64::MAX),
        memory_bytes: memory.and_then(|memory| memory.usage).unwrap_or(0).saturating_sub(cache),
        memory_limit: memory.and_then(|memory| memory.limit),
        pids: now.pids_stats.as_ref().and_then(|pids| pids.current).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_what_differs_and_nothing_else() {
        let mut wanted = EnvSpec { memory_bytes: Some(512 << 20), cpu_millis: Some(1500), ..EnvSpec::local() };
        wanted.mounts.push(crate::domain::Mount { source: "/s".into(), target: "/t".into(), read_only: true });
        let mount = |target: &str, rw| MountPoint {
            typ: Some("bind".into()),
            destination: Some(target.into()),
            rw: Some(rw),
            ..MountPoint::default()
        };
        let mut host = HostConfig {
            memory: Some(512 << 20),
            nano_cpus: Some(1_500_000_000),
            network_mode: Some("none".into()),
            ..HostConfig::default()
        };
        let mounts = [mount("/root", true), mount("/workspace", true), mount("/t", false)];
        assert_eq!(spec_drift(&wanted, &host, &mounts), Vec::<String>::new());
        host.memory = Some(1 << 30);
        host.network_mode = Some("bridge".into());
        let found = spec_drift(&wanted, &host, &[mount("/t", true), mount("/etc", true)]);
        assert_eq!(
            found,
            [
                "memory limit: 512 MiB was asked for, it is 1 GiB",
                "network: none was asked for, it is default",
                "/t can be written to, against what was asked for",
                "/etc is mounted, and was not asked for",
            ]
        );
    }

    #[test]
    fn a_name_that_names_another_image_is_drift() {
        let image = |id: &str| ImageInspect { id: Some(id.into()), ..ImageInspect::default() };
        assert!(image_drift("a:1", "sha256:1", Some(&image("sha256:1"))).is_empty());
        assert!(image_drift("sha256:1", "sha256:1", None).is_empty());
        assert!(image_drift("a:1", "sha256:1", Some(&image("sha256:2")))[0].contains("now names another image"));
        assert!(image_drift("a:1", "sha256:1", None)[0].contains("no longer names an image"));
    }

    #[test]
    fn what_is_used_is_a_difference_in_parts_of_one_core() {
        let figures = |used: u64, whole: u64| -> ContainerStatsResponse {
            serde_json::from_value(serde_json::json!({
                "cpu_stats": {"cpu_usage": {"total_usage": used}, "system_cpu_usage": whole, "online_cpus": 2},
                "memory_stats": {"usage": 3000, "limit": 9000, "stats": {"total_inactive_file": 1000}},
                "pids_stats": {"current": 4}
            }))
            .expect("figures")
        };
        let found = used(&figures(1000, 10_000), &figures(1500, 12_000));
        let wanted = Stats { cpu_permille: 500, memory_bytes: 2000, memory_limit: Some(9000), pids: 4 };
        assert_eq!(found, wanted);
    }
}
