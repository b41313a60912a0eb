//! The event stream: numbered lines for whoever subscribed.

use super::protocol::EVENT;
use super::server::{ConnectionId, Outgoing};
use super::shapes;
use crate::domain::{Moment, Notice};
use serde_json::Value;

/// Whoever follows the events. One that cannot keep up is dropped by its connection.
#[derive(Debug, Default)]
pub struct Subscribers {
    seq: u64,
    all: Vec<Outgoing>,
}

impl Subscribers {
    /// Numbers go on after `seq`, the last one given out before.
    #[must_use]
    pub fn after(seq: u64) -> Self {
        Self { seq, all: Vec::new() }
    }

    /// Adds a follower and gives the reply to its subscription.
    pub fn subscribe(&mut self, follower: Outgoing) -> Value {
        if !self.all.iter().any(|known| known.id() == follower.id()) {
            self.all.push(follower);
        }
        shapes::reply(serde_json::json!({"seq": self.seq}))
    }

    /// Forgets a connection that closed.
    pub fn remove(&mut self, connection: ConnectionId) {
        self.all.retain(|follower| follower.id() != connection);
    }

    /// Numbers a notice and tells all followers. Gives number and line, for the journal.
    pub fn publish(&mut self, at: Moment, notice: &Notice) -> (u64, Value) {
        self.seq += 1;
        let line = shapes::event(self.seq, at, notice);
        self.all.retain(|follower| follower.notify(EVENT, &line));
        (self.seq, line)
    }
}
