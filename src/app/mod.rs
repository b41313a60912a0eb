//! What the screen knows and how it changes: model, messages, update, layout, view model.
//!
//! Deterministic: time and ids come in as arguments; what must be done goes out as [`Cmd`] data.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`model`], [`client`] | shared things (tabs, panes, screens, feeds); what each client has of its own |
//! | [`msg`], [`mod@update`] | what comes in, and what then changes and goes out |
//! | [`command`] | the one table of commands with their keys |
//! | [`layout`], [`frame`] | rectangles |
//! | [`feed`], [`copy`], [`buffers`], [`overlay`], [`form`], [`input`] | parts of the model |
//! | `clip` | what programs want to put on a person's clipboard |
//! | [`needs`] | what needs a person, in order of urgency |
//! | [`mod@view_model`], `view` | what one client's screen shows |

pub mod buffers;
pub mod client;
mod clip;
pub mod command;
pub mod copy;
pub mod feed;
pub mod form;
pub mod frame;
pub mod ids;
pub mod input;
pub mod layout;
pub mod model;
pub mod msg;
pub mod needs;
pub mod only;
pub mod overlay;
pub mod saved;
mod update;
mod view;
pub mod view_model;

pub use client::Changed;
pub use model::Model;
pub use msg::{ClientCaps, ClientId, Cmd, Container, Msg, Role, Stream, TRUE_COLOUR, TerminalAnswer};
pub use saved::Layout;
pub use update::update;
pub use view::details::{LookedAt, looked_at};
pub use view::{printed, view_model};
