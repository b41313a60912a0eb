//! Stories of users, told with the real binary.

#![allow(clippy::unwrap_used)]

#[path = "e2e/attach.rs"]
mod attach;
#[path = "e2e/clients.rs"]
mod clients;
mod common;
#[path = "e2e/copy.rs"]
mod copy;
#[path = "e2e/exits.rs"]
mod exits;
#[path = "e2e/refused.rs"]
mod refused;
#[path = "e2e/screen.rs"]
mod screen;
#[path = "e2e/seed.rs"]
mod seed;
#[path = "e2e/turns.rs"]
mod turns;
#[path = "e2e/work.rs"]
mod work;
