//! The terminal engine: what a program writes and what a person types.

#![allow(clippy::unwrap_used)]

mod common;
#[path = "term/golden.rs"]
mod golden;
#[path = "term/history.rs"]
mod history;
#[path = "term/input.rs"]
mod input;
#[path = "term/marks.rs"]
mod marks;
#[path = "term/policy.rs"]
mod policy;
#[path = "term/properties.rs"]
mod properties;
#[path = "term/reports.rs"]
mod reports;
#[path = "term/screens.rs"]
mod screens;
#[path = "term/support.rs"]
mod support;
#[path = "term/vttest.rs"]
mod vttest;
