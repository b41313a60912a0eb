//! A terminal session manager for the sandboxes in which an AI agent's commands run.
//!
//! Modules are layers; an arrow only ever points down (`tests/documents.rs` checks it):
//!
//! | layer | what it does |
//! | --- | --- |
//! | [`cli`], [`api`] | verbs of the command line; the socket and its protocol |
//! | [`runtime`] | performs effects: clock, files, terminal, event loop |
//! | [`backend`], [`pty`] | sandboxes and pseudo-terminals |
//! | [`hermes`] | files and labels of hermes-agents, read-only |
//! | [`ui`] | view model → frame |
//! | [`app`] | model, messages, update, layout |
//! | [`term`], [`config`] | bytes → grid; settings as values |
//! | [`domain`] | environments, life cycle, leases, turns, reaper |
//!
//! Everything from `ui` down is deterministic: time, ids and chance come in as arguments.

pub mod api;
pub mod app;
pub mod backend;
pub mod cli;
pub mod config;
pub mod domain;
pub mod hermes;
pub mod pty;
pub mod runtime;
pub mod term;
pub mod ui;
