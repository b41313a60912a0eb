//! What an answer right after the start of a host waits for: then the lists of what its endpoints hold are on their
//! way, and nothing known is not nothing there.

use crate::backend::Backend;
use crate::domain::EndpointId;
use crate::runtime::handle::HostHandle;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Lists that take longer are not waited for.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Whether the first lists were seen, or waited for long enough.
#[derive(Default)]
pub struct FirstLists(AtomicBool);

impl FirstLists {
    /// Waits, within reason, until every endpoint that counts has said what it holds or that it does not answer.
    pub async fn wait(&self, host: &HostHandle, backends: &BTreeMap<EndpointId, Arc<dyn Backend>>) {
        let end = Instant::now() + PATIENCE;
        while !self.0.load(Ordering::Relaxed) {
            let counts = backends.values().filter(|backend| backend.counts());
            let ids: Vec<EndpointId> = counts.map(|backend| backend.endpoint()).collect();
            let all = host.read(move |model, _| {
                ids.iter().all(|id| model.state.listed.contains(id) || model.state.down.contains_key(id))
            });
            if all.await.unwrap_or(true) || Instant::now() >= end {
                self.0.store(true, Ordering::Relaxed);
                return;
            }
            sleep(LOOK_AGAIN).await;
        }
    }
}
