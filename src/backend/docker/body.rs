//! What a container is made of: mounts, limits, and everything that is taken away from it.

use super::super::ProvisionSpec;
use super::labels;
use crate::domain::Network;
use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, Mount, MountType, ResourcesUlimits, RestartPolicy,
    RestartPolicyNameEnum,
};
use nix::sys::resource::{Resource, getrlimit};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Where the environment's working files are inside.
const WORKSPACE: &str = "/workspace";
/// Most processes and threads in one container.
pub const MAX_PROCESSES: i64 = 4096;
/// Most open files of one process.
const MAX_FILES: u64 = 65_536;
/// Most processes of one user. The kernel counts them on the whole machine, so that this is generous (as many as there
/// are numbers for, by its own default, and as podman lets itself have); what bounds a container is [`MAX_PROCESSES`].
const MAX_OF_USER: u64 = 32_768;
/// Kept of all capabilities: what package managers and tools that change owners or users need, within the container.
const CAPABILITIES: [&str; 6] = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"];
/// Of the temporary folder; programs in it may run, as builds expect.
const TMP: &str = "rw,exec,nosuid,nodev,mode=1777,size=1g";

/// A program that waits for ever, and whether it does so on an open input. Old versions of sleep(1) know no `infinity`.
pub const MAINS: [(&[&str], bool); 3] =
    [(&["sleep", "2147483647"], false), (&["sh"], true), (&["tail", "-f", "/dev/null"], false)];

/// A name that a person recognises and that no other environment or profile has.
pub fn name(profile: &str, wanted: &ProvisionSpec) -> String {
    let hash = Sha256::digest(format!("{profile}/{}", wanted.env).as_bytes());
    let short: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("hermes-tui-{}-{short}", plain(&wanted.name))
}

/// Letters, digits and `-` only: fit for the name of a host or a container.
fn plain(name: &str) -> String {
    let text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let text = text.trim_matches('-');
    if text.is_empty() { "env".into() } else { text.into() }
}

/// Whether a user of an image is root, who needs no name and has its home at `/root`.
pub fn is_root(user: &str) -> bool {
    matches!(user.split(':').next().unwrap_or(""), "" | "0" | "root")
}

/// The home directory inside, where the environment's own is mounted.
pub fn home(user: &str) -> &'static str {
    if is_root(user) { "/root" } else { "/home/agent" }
}

/// Limits of each process. Podman would ask for more than an engine without CAP_SYS_RESOURCE may give, and then starts
/// nothing; what we may have ourselves, an engine of this machine may give.
fn ulimits() -> Vec<ResourcesUlimits> {
    let limit = |name: &str, resource, most: u64| {
        let may = getrlimit(resource).map_or(most, |(_, hard)| hard.min(most));
        let value = i64::try_from(may).ok();
        ResourcesUlimits { name: Some(name.to_owned()), soft: value, hard: value }
    };
    vec![limit("nofile", Resource::RLIMIT_NOFILE, MAX_FILES), limit("nproc", Resource::RLIMIT_NPROC, MAX_OF_USER)]
}

/// The request that makes it.
pub fn body(
    profile: &str,
    wanted: &ProvisionSpec,
    image: &str,
    user: &str,
    main: (&[&str], bool),
) -> ContainerCreateBody {
    let spec = &wanted.spec;
    let home = home(user);
    let bind = |source: &str, target: &str, read_only: bool| Mount {
        typ: Some(MountType::BIND),
        source: Some(source.to_owned()),
        target: Some(target.to_owned()),
        read_only: Some(read_only),
        ..Mount::default()
    };
    let mut mounts = vec![
        bind(&wanted.home.to_string_lossy(), home, false),
        bind(&wanted.workspace.to_string_lossy(), WORKSPACE, false),
    ];
    mounts.extend(spec.mounts.iter().map(|mount| bind(&mount.source, &mount.target, mount.read_only)));
    let mut variables = vec![format!("HOME={home}")];
    variables.extend(spec.env.iter().map(|(name, value)| format!("{name}={value}")));
    let memory = spec.memory_bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    let network = match spec.network {
        Network::None => "none",
        Network::Default => "default",
        Network::Host => "host",
    };
    ContainerCreateBody {
        image: Some(image.to_owned()),
        // The host has a name of its own already where it lends its network.
        hostname: (spec.network != Network::Host).then(|| plain(&wanted.name)),
        env: Some(variables),
        entrypoint: Some(texts(&main.0[..1])),
        cmd: Some(texts(&main.0[1..])),
        open_stdin: Some(main.1),
        working_dir: Some(WORKSPACE.to_owned()),
        labels: Some(labels::write(profile, wanted)),
        stop_signal: Some("SIGTERM".to_owned()),
        // Checks of the image are about a server that does not run here.
        healthcheck: Some(HealthConfig { test: Some(texts(&["NONE"])), ..HealthConfig::default() }),
        host_config: Some(HostConfig {
            mounts: Some(mounts),
            network_mode: Some(network.to_owned()),
            cap_drop: Some(texts(&["ALL"])),
            cap_add: Some(texts(&CAPABILITIES)),
            security_opt: Some(texts(&["no-new-privileges:true"])),
            privileged: Some(false),
            pids_limit: Some(MAX_PROCESSES),
            ulimits: Some(ulimits()),
            memory,
            // No swap beside it: the limit is the limit.
            memory_swap: memory,
            nano_cpus: spec.cpu_millis.map(|millis| i64::from(millis) * 1_000_000),
            tmpfs: Some(HashMap::from([("/tmp".to_owned(), TMP.to_owned())])),
            init: Some(true),
            restart_policy: Some(RestartPolicy { name: Some(RestartPolicyNameEnum::NO), ..RestartPolicy::default() }),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{EnvId, EnvSpec, Generation};

    fn wanted(name: &str) -> ProvisionSpec {
        ProvisionSpec {
            env: EnvId::new("e"),
            name: name.into(),
            generation: Generation(1),
            spec: EnvSpec { memory_bytes: Some(1 << 20), cpu_millis: Some(1500), ..EnvSpec::local() },
            home: "/data/home".into(),
            workspace: "/data/workspace".into(),
            conversation: None,
        }
    }

    #[test]
    fn a_container_is_hardened() {
        let body = body("p", &wanted("n"), "image", "", MAINS[0]);
        let host = body.host_config.expect("a host configuration");
        assert_eq!(host.cap_drop, Some(vec!["ALL".to_owned()]));
        assert_eq!(host.security_opt, Some(vec!["no-new-privileges:true".to_owned()]));
        assert_eq!((host.network_mode.as_deref(), host.privileged, host.init), (Some("none"), Some(false), Some(true)));
        assert_eq!(
            (host.memory, host.memory_swap, host.nano_cpus),
            (Some(1 << 20), Some(1 << 20), Some(1_500_000_000))
        );
        assert!(host.pids_limit.is_some_and(|limit| limit > 0));
        let files = host.ulimits.expect("limits").into_iter().find(|one| one.name.as_deref() == Some("nofile"));
        assert!(files.and_then(|files| files.hard).is_some_and(|most| (1..=MAX_FILES as i64).contains(&most)));
        assert!(body.labels.expect("labels").keys().all(|label| label.starts_with("hermes-tui.")));
    }

    #[test]
    fn names_are_fit_for_the_engine_and_differ_by_profile() {
        assert!(name("p", &wanted("a name/with ü")).starts_with("hermes-tui-a-name-with"));
        assert!(name("p", &wanted("..")).starts_with("hermes-tui-env-"));
        assert_ne!(name("p", &wanted("n")), name("q", &wanted("n")));
    }

    #[test]
    fn the_home_is_that_of_the_images_user() {
        assert_eq!(
            ["", "root", "0:0", "node", "1000"].map(home),
            ["/root", "/root", "/root", "/home/agent", "/home/agent"]
        );
    }
}
