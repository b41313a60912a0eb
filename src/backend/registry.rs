//! From configuration to backends: one line for each.

use super::Backend;
use super::docker::{DockerBackend, DockerConfig};
use super::local::{LocalBackend, LocalConfig};
use crate::domain::EndpointId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What each backend needs; what is absent is left out.
#[derive(Clone, Debug, Default)]
pub struct BackendsConfig {
    /// The embedded one.
    pub local: Option<LocalConfig>,
    /// Containers, one for each engine.
    pub docker: Vec<DockerConfig>,
}

/// Backends by endpoint. Clones share them.
pub type Backends = BTreeMap<EndpointId, Arc<dyn Backend>>;

/// Builds the backends. Touches nothing outside yet: whether they work is found by their probes.
#[must_use]
pub fn build(config: BackendsConfig) -> Backends {
    let local = config.local.map(|config| Arc::new(LocalBackend::new(config)) as Arc<dyn Backend>);
    let docker = config.docker.into_iter().map(|config| Arc::new(DockerBackend::new(config)) as Arc<dyn Backend>);
    local.into_iter().chain(docker).map(|backend| (backend.endpoint(), backend)).collect()
}
