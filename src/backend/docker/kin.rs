//! What the endpoints of one host know of each other: the same engine is listed once, whatever ways lead to it.

use super::address::Address;
use crate::domain::EndpointId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// `docker` goes first, but nobody waits longer for it than this.
const FIRST_WITHIN: Duration = Duration::from_secs(3);

/// Shared by all endpoints of a host.
#[derive(Clone, Debug, Default)]
pub struct Kin(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// The place that `docker` is kept to.
    main: watch::Sender<Option<Address>>,
    /// Whether `docker` was looked for once.
    looked: watch::Sender<bool>,
    /// Which endpoint stands for an engine.
    engines: Mutex<BTreeMap<String, EndpointId>>,
}

impl Kin {
    /// `docker` was found here, and is kept to it.
    pub fn main_is(&self, address: &Address) {
        self.0.main.send_replace(Some(address.canonical()));
    }

    /// The place that `docker` is kept to, once there is one.
    pub fn main(&self) -> Option<Address> {
        self.0.main.borrow().clone()
    }

    /// Waits until `docker` is kept to a place.
    pub async fn main_found(&self) {
        // The sender lives as long as this.
        let _ = self.0.main.subscribe().wait_for(Option::is_some).await;
    }

    /// `docker` was looked for once.
    pub fn main_looked(&self) {
        self.0.looked.send_replace(true);
    }

    /// Waits until `docker` was looked for, or that took too long.
    pub async fn after_main(&self) {
        let mut looked = self.0.looked.subscribe();
        let _ = tokio::time::timeout(FIRST_WITHIN, looked.wait_for(|looked| *looked)).await;
    }

    /// From now on this endpoint stands for the engine of this id.
    ///
    /// # Errors
    /// Another one does already.
    pub fn claim(&self, engine: &str, endpoint: &EndpointId) -> Result<(), EndpointId> {
        let mut engines = self.0.engines.lock().unwrap_or_else(PoisonError::into_inner);
        let holder = engines.entry(engine.to_owned()).or_insert_with(|| endpoint.clone());
        if holder == endpoint { Ok(()) } else { Err(holder.clone()) }
    }
}
