//! What an answer right after the start of a host waits for: then the lists of what its endpoints hold are on their
//! way, and nothing known is not nothing there.

use crate::backend::Backend;
use crate::domain::EndpointId;
use crate::runtime::handle::HostHandle;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// Lists that take longer are not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the first lists were seen, or waited for long enough.
#[derive(Default)]
pub struct FirstLists(AtomicBool);

impl FirstLists {
    /// Waits, within reason, until every endpoint that counts has said what it holds or that it does not answer.
    pub async fn wait(&self, host: &HostHandle, backends: &BTreeMap<EndpointId, Arc<dyn Backend>>) {
        if self.0.load(Ordering::Relaxed) {
            return;
        }
        let backends = backends.clone();
        let all = host.when(move |model, _| {
            let told = |id| model.state.listed.contains(id) || model.state.down.contains_key(id);
            backends.iter().filter(|(_, backend)| backend.counts()).all(|(id, _)| told(id)).then_some(())
        });
        let _ = timeout(PATIENCE, all).await;
        self.0.store(true, Ordering::Relaxed);
    }
}
