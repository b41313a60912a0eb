//! The real hermes-agent 0.19.0: its containers, its commands, its files and its conversations, made by its own Python
//! code and found by ours.

#![cfg(target_os = "linux")]

#[path = "hermes/agent.rs"]
mod agent;
mod common;
#[path = "hermes/containers.rs"]
mod containers;
#[path = "docker/engine.rs"]
mod engine;
#[path = "hermes/ephemeral.rs"]
mod ephemeral;
#[path = "hermes/feed.rs"]
mod feed;
#[path = "hermes/history.rs"]
mod history;
#[path = "hermes/hooks.rs"]
mod hooks;
#[path = "hermes/model.rs"]
mod model;
#[path = "hermes/real.rs"]
mod real;
#[path = "hermes/seed.rs"]
mod seed;
#[path = "hermes/told.rs"]
mod told;
#[path = "hermes/where_agent.rs"]
mod where_agent;
