//! Containers that nobody lists, asked for when a person wants to choose one.

use super::inbound::{Inbound, Inbox};
use crate::app::{ClientId, Container, Msg};
use crate::backend::{Backend, BackendError, Candidate, Standing};
use crate::domain::{EndpointId, FailureKind, SandboxState};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// An engine that takes longer is said not to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What one endpoint holds.
pub type Told = (EndpointId, Result<Vec<Candidate>, BackendError>);

/// What every endpoint holds that is not listed. Places where no engine ever was are none of those that somebody waits
/// for.
pub async fn candidates(backends: &BTreeMap<EndpointId, Arc<dyn Backend>>) -> Vec<Told> {
    let listed = backends.iter().filter(|(_, backend)| backend.standing() == Standing::Listed);
    let asked = listed.map(|(endpoint, backend)| async move {
        let found = tokio::time::timeout(PATIENCE, backend.candidates()).await.unwrap_or_else(|_| {
            let message = format!("{endpoint} did not answer within {} s", PATIENCE.as_secs());
            Err(BackendError::new(FailureKind::Unreachable, message, "`hermes-tui doctor` says what was tried"))
        });
        (endpoint.clone(), found)
    });
    futures_util::future::join_all(asked).await
}

/// Asks all endpoints, and tells the client's list.
pub fn tell(backends: BTreeMap<EndpointId, Arc<dyn Backend>>, client: ClientId, inbox: Inbox) {
    let busy = inbox.outstanding();
    tokio::spawn(async move {
        let (mut found, mut failed) = (Vec::new(), Vec::new());
        for (endpoint, told) in candidates(&backends).await {
            match told {
                Ok(all) => found.extend(all.into_iter().map(|one| Container {
                    endpoint: endpoint.clone(),
                    name: one.name,
                    image: one.image.unwrap_or_default(),
                    state: word(one.state),
                })),
                Err(error) => failed.push(error.message),
            }
        }
        inbox.send(Inbound::Msg(Msg::Containers { client, found, failed })).await;
        drop(busy);
    });
}

/// A state for people.
#[must_use]
pub fn word(state: SandboxState) -> &'static str {
    match state {
        SandboxState::Running => "running",
        SandboxState::Paused => "paused",
        SandboxState::Stopped => "stopped",
    }
}
