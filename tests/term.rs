//! The terminal engine: what a program writes and what a person types.

#[path = "term/screens.rs"]
mod screens;
#[path = "term/support.rs"]
mod support;
