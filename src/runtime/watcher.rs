//! Forwards what backends say to the core.

use super::inbound::Inbox;
use crate::backend::{Backend, BackendEvent};
use crate::domain::{Choices, Event};
use futures_util::StreamExt;
use std::sync::Arc;

/// Follows a backend for as long as the host lives. What the user chose to see there is told first, so that its first
/// list already has it.
pub fn watch(backend: &Arc<dyn Backend>, choices: &Choices, inbox: Inbox) {
    let endpoint = backend.endpoint();
    if let Some(chosen) = choices.at(&endpoint) {
        backend.choose(chosen);
    }
    let mut events = backend.watch();
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            let endpoint = endpoint.clone();
            let event = match event {
                BackendEvent::Snapshot(found) => Event::Snapshot { endpoint, found },
                BackendEvent::Ended { sandbox, removed, why } => {
                    Event::SandboxEnded { sandbox, endpoint, removed, why }
                }
                BackendEvent::Paused { sandbox, paused } => Event::SandboxPaused { sandbox, endpoint, paused },
                BackendEvent::ExecBegan { sandbox, exec, command, cwd } => {
                    Event::ExecBegan { sandbox, endpoint, exec, command, cwd }
                }
                BackendEvent::ExecEnded { exec, exit_code, cwd } => Event::ExecEnded { exec, exit_code, cwd },
                BackendEvent::Down(detail) => Event::EndpointDown { endpoint, detail },
                BackendEvent::Up => Event::EndpointUp(endpoint),
            };
            inbox.event(event).await;
        }
    });
}
