//! The protocol as it is documented: every reply of the real binary fits `assets/protocol.schema.json`.

#![allow(clippy::unwrap_used, reason = "a test that finds what it does not expect must fail")]

mod common;

mod protocol {
    mod calls;
    mod events;
    mod exit_codes;
    mod fuzz;
    mod raw;
    mod schema;
    mod security;
    mod verbs;
    mod wire;
}
