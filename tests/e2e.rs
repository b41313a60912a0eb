//! Stories of users, told with the real binary.

#![allow(clippy::unwrap_used)]

mod common;
#[path = "e2e/seed.rs"]
mod seed;
