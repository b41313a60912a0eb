//! What is on this machine, for the welcome: how each backend works here, and homes of hermes-agent.

use super::inbound::{Inbound, Inbox};
use crate::app::Msg;
use crate::backend::docker::places::MAIN;
use crate::backend::{Backend, Standing};
use std::path::PathBuf;
use std::sync::Arc;

/// Looks around and tells the model. Never delays anything.
pub fn look_around(backends: Vec<Arc<dyn Backend>>, inbox: Inbox) {
    tokio::spawn(async move {
        let mut found = Vec::new();
        for backend in backends {
            // Nobody named it, and nothing was ever there; or it is listed already.
            if backend.standing() != Standing::Listed && backend.endpoint().as_str() != MAIN {
                continue;
            }
            let (state, usable) = match backend.probe().await {
                Ok(probe) => (probe.description, true),
                Err(error) => (format!("{}; {}", error.message, error.hint), false),
            };
            found.push((backend.endpoint().to_string(), state, usable));
        }
        found.extend(hermes().map(|state| ("hermes-agent".to_owned(), state, false)));
        inbox.send(Inbound::Msg(Msg::Found(found))).await;
    });
}

/// What is here of hermes-agent, for people.
#[must_use]
pub fn hermes() -> Option<String> {
    let home = hermes_home().filter(|home| home.join("state.db").exists())?;
    Some(format!("conversations at {}; this version does not read them", home.display()))
}

fn hermes_home() -> Option<PathBuf> {
    let set = std::env::var_os("HERMES_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    set.or_else(|| directories::BaseDirs::new().map(|dirs| dirs.home_dir().join(".hermes")))
}
