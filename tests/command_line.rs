//! The real binary with a cleared environment and a profile of its own, and the socket as any program may use it.

mod command_line {
    mod exec;
    mod host;
    mod socket;
    mod support;
    mod usage;
}
