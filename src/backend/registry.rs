//! From configuration to backends: one line for each.

use super::Backend;
use super::docker::{DockerBackend, DockerConfig};
use super::local::{LocalBackend, LocalConfig};
use crate::domain::EndpointId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What each backend needs; `None` leaves it out.
#[derive(Clone, Debug, Default)]
pub struct BackendsConfig {
    /// The embedded one.
    pub local: Option<LocalConfig>,
    /// Containers of an engine.
    pub docker: Option<DockerConfig>,
}

/// Backends by endpoint. Clones share them.
pub type Backends = BTreeMap<EndpointId, Arc<dyn Backend>>;

/// Builds the backends. Touches nothing outside yet: whether they work is found by their probes.
#[must_use]
pub fn build(config: BackendsConfig) -> Backends {
    let all: [Option<Arc<dyn Backend>>; 2] = [
        config.local.map(|config| Arc::new(LocalBackend::new(config)) as Arc<dyn Backend>),
        config.docker.map(|config| Arc::new(DockerBackend::new(config)) as Arc<dyn Backend>),
    ];
    all.into_iter().flatten().map(|backend| (backend.endpoint(), backend)).collect()
}
