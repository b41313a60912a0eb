//! The deterministic core: life cycle, leases, turns, verdicts, adoption, and properties over random histories.

#![allow(clippy::unwrap_used, reason = "a test may panic; the lint knows only functions marked as tests")]

#[path = "domain/adoption.rs"]
mod adoption;
#[path = "domain/begin.rs"]
mod begin;
#[path = "domain/calls_and_sessions.rs"]
mod calls_and_sessions;
#[path = "domain/desk.rs"]
mod desk;
#[path = "domain/leases.rs"]
mod leases;
#[path = "domain/life_cycle.rs"]
mod life_cycle;
#[path = "domain/naming.rs"]
mod naming;
#[path = "domain/orders.rs"]
mod orders;
#[path = "domain/others.rs"]
mod others;
#[path = "domain/properties.rs"]
mod properties;
#[path = "domain/retention.rs"]
mod retention;
#[path = "domain/rules.rs"]
mod rules;
#[path = "domain/shutdown.rs"]
mod shutdown;
#[path = "domain/simulation.rs"]
mod simulation;
#[path = "domain/taken.rs"]
mod taken;
#[path = "domain/told.rs"]
mod told;
#[path = "domain/turns.rs"]
mod turns;
#[path = "domain/verdicts.rs"]
mod verdicts;
