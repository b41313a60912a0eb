//! The socket and its protocol: newline-delimited JSON-RPC 2.0.
//!
//! [`server`] takes connections apart into [`ApiCall`]s for the host; [`plan`] says what to do with each: answer it
//! from the state, hand it to the core as a request, or let the host do it. [`client`] is the other end.

pub mod about;
mod adopt;
pub mod blocking;
pub mod client;
pub mod dispatch;
pub mod error;
mod events;
pub mod exec;
mod first_lists;
mod held;
pub mod host;
pub mod keys;
pub mod nearest;
mod open;
mod outputs;
pub mod protocol;
mod prune;
pub mod queries;
pub mod requests;
mod rules;
pub mod screen;
pub mod server;
pub mod shapes;
pub mod show;
pub mod start;
mod wait;

pub use error::{ApiError, ErrorCode};
pub use protocol::ApiCall;
pub use requests::{Defaults, answer_value};
pub use shapes::Extras;

use crate::domain::{Moment, Refusal, Request, State};
use serde_json::Value;

/// What is to be done with a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Plan {
    /// Send this.
    Answer(Result<Value, Refusal>),
    /// Give this to the core; send what [`answer_value`] makes of its answer.
    Request(Box<Request>),
    /// Neither the state nor the core knows: the host does it (screens, streams, subscriptions).
    Host,
}

/// Decides what is to be done with a call.
pub fn plan(
    state: &State,
    now: Moment,
    call: &ApiCall,
    extras: &Extras,
    ids: &mut dyn FnMut() -> String,
    defaults: &Defaults,
) -> Plan {
    if let Some(answer) = queries::query(state, now, call, extras) {
        return Plan::Answer(answer);
    }
    match requests::to_request(state, call, ids, defaults) {
        Ok(Some(request)) => Plan::Request(Box::new(request)),
        Ok(None) => Plan::Host,
        Err(refusal) => Plan::Answer(Err(refusal)),
    }
}
