//! The terminal engine: bytes of a program → a grid of cells, and input of a person → bytes for the program.
//!
//! Deterministic: no clock, no files, no tasks. Time comes in as [`crate::domain::Moment`].
//! What a program sends is untrusted: [`guard`] bounds it and decides what it may cause outside its own pane.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`screen`] | one emulated screen with its history; the only file that names the emulator crate |
//! | [`view`] | the cells as they are drawn, in plain types |
//! | [`guard`] | what a program's control strings may do |
//! | [`link`] | where links lead, fit to be shown |
//! | [`event`] | what a program asked for beyond drawing |
//! | [`modes`] | what a program switched on |
//! | [`keys`], [`mouse`], [`paste`] | input → bytes, under those modes |
//! | [`selection`], [`search`], [`motion`] | marking and finding text, and moving in it, also in the history |

pub mod event;
pub mod guard;
pub mod keys;
pub mod link;
pub mod modes;
pub mod motion;
pub mod mouse;
pub mod paste;
pub mod screen;
pub mod search;
pub mod selection;
pub mod view;

pub use event::{Blocked, PromptMark, ScreenEvent};
pub use modes::{Kitty, Modes, MouseEncoding, MouseTracking};
pub use screen::{Fed, Prompt, Screen, is_contained, is_light, rgb};
pub use search::{Finder, Match, Search};
pub use selection::{Pos, Selection, SelectionKind};
pub use view::{Attrs, Cell, Color, Cursor, CursorShape, Found, Style, Underline, View};
