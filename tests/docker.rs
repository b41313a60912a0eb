//! Containers of a docker engine: terminals byte for byte, hardening, images, and the life of environments.

#![cfg(target_os = "linux")]

mod common;
#[path = "docker/conversations.rs"]
mod conversations;
#[path = "docker/details.rs"]
mod details;
#[path = "docker/endpoints.rs"]
mod endpoints;
#[path = "docker/engine.rs"]
mod engine;
#[path = "docker/images.rs"]
mod images;
#[path = "docker/labels.rs"]
mod labels;
#[path = "docker/mock.rs"]
mod mock;
#[path = "docker/own_engine.rs"]
mod own_engine;
#[path = "docker/podman.rs"]
mod podman;
#[path = "docker/pulls.rs"]
mod pulls;
#[path = "docker/reach.rs"]
mod reach;
#[path = "docker/story.rs"]
mod story;
#[path = "docker/strange.rs"]
mod strange;
#[path = "docker/terminal.rs"]
mod terminal;
#[path = "docker/ways_out.rs"]
mod ways_out;
#[path = "docker/weather.rs"]
mod weather;
#[path = "docker/world.rs"]
mod world;
