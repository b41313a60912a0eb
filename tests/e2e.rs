//! Stories of users, told with the real binary.

mod common;
#[path = "e2e/seed.rs"]
mod seed;
