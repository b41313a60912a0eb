//! Pseudo-terminals as the runtime uses them: a reader, a writer, resize, and the end.

#![allow(unsafe_code)]

pub mod fake;
pub mod unix;

use crate::domain::Size;
use futures_util::future::BoxFuture;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};

/// A program on a PTY, wherever it runs.
pub struct PtyLink {
    /// Its output. End of file when the program and all that held its terminal are gone.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// Its input. Dropping it sends nothing to the program.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// Resize and close.
    pub control: Box<dyn PtyControl>,
    /// Resolves once, with the exit code (128 + signal when a signal ended it), `None` where it cannot be known.
    pub exit: BoxFuture<'static, Option<i32>>,
}

/// What can be done to a running program's terminal.
pub trait PtyControl: Send + Sync {
    /// Gives the terminal another size.
    fn resize(&self, size: Size) -> BoxFuture<'_, io::Result<()>>;

    /// Sends HUP, then KILL, to every process of the leader's session, and resolves when they are gone.
    fn close(&self) -> BoxFuture<'_, io::Result<()>>;
}
