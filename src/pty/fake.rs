//! A PTY without a kernel.
