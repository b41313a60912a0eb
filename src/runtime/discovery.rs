//! What is on this machine, for the welcome: how local sandboxes work here, engines that answer, homes of hermes-agent.

use super::inbound::{Inbound, Inbox};
use crate::app::Msg;
use crate::backend::Backend;
use bollard::{API_DEFAULT_VERSION, Docker};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// An engine that has not answered by then does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Looks around and tells the model. Never delays anything.
pub fn look_around(backends: Vec<Arc<dyn Backend>>, inbox: Inbox) {
    tokio::spawn(async move {
        let mut found = Vec::new();
        for backend in backends {
            let (state, usable) = match backend.probe().await {
                Ok(probe) => (probe.description, true),
                Err(error) => (format!("{}; {}", error.message, error.hint), false),
            };
            found.push((backend.endpoint().to_string(), state, usable));
        }
        for socket in engine_sockets() {
            if let Some(version) = engine_version(&socket).await {
                let state = format!("{version} at {}; this version works with local sandboxes only", socket.display());
                found.push(("engine".to_owned(), state, false));
            }
        }
        if let Some(home) = hermes_home().filter(|home| home.join("state.db").exists()) {
            let state = format!("conversations at {}; this version does not read them", home.display());
            found.push(("hermes-agent".to_owned(), state, false));
        }
        inbox.send(Inbound::Msg(Msg::Found(found))).await;
    });
}

fn engine_sockets() -> Vec<PathBuf> {
    let named = std::env::var("DOCKER_HOST").ok().and_then(|host| host.strip_prefix("unix://").map(PathBuf::from));
    let user = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let own = user.iter().flat_map(|dir| [dir.join("docker.sock"), dir.join("podman/podman.sock")]);
    let system = ["/var/run/docker.sock", "/run/podman/podman.sock"].map(PathBuf::from);
    let mut all: Vec<PathBuf> = named.into_iter().chain(own).chain(system).filter(|path| path.exists()).collect();
    all.dedup();
    all
}

async fn engine_version(socket: &Path) -> Option<String> {
    let docker = Docker::connect_with_unix(socket.to_str()?, PATIENCE.as_secs(), API_DEFAULT_VERSION).ok()?;
    let docker = tokio::time::timeout(PATIENCE, docker.negotiate_version()).await.ok()?.ok()?;
    let version = tokio::time::timeout(PATIENCE, docker.version()).await.ok()?.ok()?;
    let name = version.platform.map(|platform| platform.name).filter(|name| !name.is_empty());
    Some(format!("{} {}", name.unwrap_or_else(|| "docker".to_owned()), version.version.unwrap_or_default()))
}

fn hermes_home() -> Option<PathBuf> {
    let set = std::env::var_os("HERMES_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    set.or_else(|| directories::BaseDirs::new().map(|dirs| dirs.home_dir().join(".hermes")))
}
