//! What the screen knows and how it changes: model, messages, update, layout, view model.
//!
//! Deterministic: time and ids come in as arguments; what must be done goes out as [`command`] data.

pub mod msg;
pub mod view_model;

pub use msg::{ClientCaps, ClientId, Cmd, Msg, Stream};
