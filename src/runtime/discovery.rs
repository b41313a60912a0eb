//! What is on this machine, for the welcome: how each backend works here, and homes of hermes-agent.

use super::inbound::{Inbound, Inbox};
use crate::app::Msg;
use crate::backend::Backend;
use crate::hermes::folders;
use crate::hermes::home::{Home, Places};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Looks around and tells the model. Never delays anything.
pub fn look_around(backends: Vec<Arc<dyn Backend>>, inbox: Inbox) {
    tokio::spawn(async move {
        let mut found = Vec::new();
        for backend in backends {
            if !backend.counts() {
                continue;
            }
            let (state, usable) = match backend.probe().await {
                Ok(probe) => (probe.description, true),
                Err(error) => (format!("{}; {}", error.message, error.hint), false),
            };
            found.push((backend.endpoint().to_string(), state, usable));
        }
        found.extend(hermes().into_iter().map(|state| ("hermes-agent".to_owned(), state, false)));
        inbox.send(Inbound::Msg(Msg::Found(found))).await;
    });
}

/// Homes of hermes-agents, as this process's environment names them.
#[must_use]
pub fn homes() -> Vec<Home> {
    Places::new(&|name| std::env::var(name).ok()).homes()
}

/// Folders of hermes-agents with the files of containers that are gone, none of which holds one of these mounted
/// paths.
#[must_use]
pub fn unused_folders(mounted: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    homes().iter().flat_map(|home| folders::unused(home, mounted)).collect()
}

/// What is here of hermes-agent, for people: a sentence for each home.
#[must_use]
pub fn hermes() -> Vec<String> {
    let homes = homes();
    let sentence = |home: &Home| {
        let settings = home.settings();
        let backend = settings.backend.as_deref().unwrap_or("local");
        let (path, profile) = (home.path.display(), &home.profile);
        match settings.warnings.first() {
            Some(warning) => warning.clone(),
            None if backend == "docker" => format!("profile {profile} at {path}; its containers are listed"),
            None => format!("profile {profile} at {path}; its sandboxes are of kind {backend}, not attachable yet"),
        }
    };
    homes.iter().map(sentence).collect()
}
