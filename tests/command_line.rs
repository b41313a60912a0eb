//! The real binary with a cleared environment and a profile of its own, and the socket as any program may use it.

#![allow(clippy::unwrap_used, reason = "a test that finds what it does not expect must fail")]

mod common;

mod command_line {
    mod completions;
    mod config;
    mod copy;
    mod engines;
    mod exec;
    mod hook;
    mod host;
    mod mcp;
    mod mcp_clients;
    mod others;
    mod prune;
    mod rules;
    mod service;
    mod sessions;
    mod socket;
    mod support;
    mod usage;
}
