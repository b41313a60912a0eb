//! A PTY without a kernel: a test says what the program prints and sees what was typed and which sizes were set.

use super::{PtyControl, PtyLink};
use crate::domain::Size;
use futures_util::future::BoxFuture;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, watch};

/// What the program does by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Behaviour {
    /// Nothing: the test does it all.
    #[default]
    Silent,
    /// Gives back what is typed, as `cat` on a raw terminal.
    Echo,
    /// Prints `ROWS COLS` and a line end at its start and after each change of size.
    Sizes,
}

#[derive(Default)]
struct State {
    behaviour: Behaviour,
    output: VecDeque<u8>,
    written: Vec<u8>,
    sizes: Vec<Size>,
    /// The program and all that held its terminal are gone.
    ended: bool,
    closed: bool,
    reader: Option<Waker>,
    /// What is typed is not taken.
    deaf: bool,
    writer: Option<Waker>,
}

/// The program's side of a fake PTY. Clones are the same one.
#[derive(Clone)]
pub struct FakePty {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
    exit: watch::Sender<Option<i32>>,
}

impl FakePty {
    /// A program that has just started on a terminal of this size.
    #[must_use]
    pub fn new(behaviour: Behaviour, size: Size) -> Self {
        let state = State { behaviour, sizes: vec![size], ..State::default() };
        let pty = Self { state: Arc::new(Mutex::new(state)), changed: Arc::default(), exit: watch::Sender::new(None) };
        pty.print_size(size);
        pty
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn print_size(&self, size: Size) {
        if self.lock().behaviour == Behaviour::Sizes {
            self.output(format!("{} {}\r\n", size.rows, size.cols).as_bytes());
        }
    }

    fn wake(&self) {
        let wakers = {
            let mut state = self.lock();
            let writer = if state.deaf && !state.ended { None } else { state.writer.take() };
            [state.reader.take(), writer]
        };
        wakers.into_iter().flatten().for_each(Waker::wake);
        self.changed.notify_waiters();
    }

    /// The host's side.
    #[must_use]
    pub fn link(&self) -> PtyLink {
        let mut exit = self.exit.subscribe();
        PtyLink {
            reader: Box::new(End(self.clone())),
            writer: Box::new(End(self.clone())),
            control: Box::new(End(self.clone())),
            exit: Box::pin(async move { exit.wait_for(Option::is_some).await.ok().and_then(|code| *code) }),
        }
    }

    /// The program prints something.
    pub fn output(&self, bytes: &[u8]) {
        self.lock().output.extend(bytes);
        self.wake();
    }

    /// The program ends with this exit code.
    pub fn end(&self, code: i32) {
        self.lock().ended = true;
        self.exit.send_if_modified(|known| {
            let first = known.is_none();
            if first {
                *known = Some(code);
            }
            first
        });
        self.wake();
    }

    /// The program stops to read what is typed, or reads on.
    pub fn set_deaf(&self, deaf: bool) {
        self.lock().deaf = deaf;
        self.wake();
    }

    /// Bytes that were printed and not taken yet.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.lock().output.len()
    }

    /// Everything that was typed so far.
    #[must_use]
    pub fn written(&self) -> Vec<u8> {
        self.lock().written.clone()
    }

    /// Every size so far, the first one at the start.
    #[must_use]
    pub fn sizes(&self) -> Vec<Size> {
        self.lock().sizes.clone()
    }

    /// Whether the host closed the session.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Whether the program has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// Waits until what was typed fulfils a condition.
    pub async fn wait_written(&self, enough: impl Fn(&[u8]) -> bool) {
        self.wait_for(|state| enough(&state.written)).await;
    }

    /// Waits until the last size is this one.
    pub async fn wait_size(&self, size: Size) {
        self.wait_for(|state| state.sizes.last() == Some(&size)).await;
    }

    async fn wait_for(&self, fulfilled: impl Fn(&State) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if fulfilled(&self.lock()) {
                return;
            }
            changed.await;
        }
    }
}

/// One end for the host: reader, writer or control.
struct End(FakePty);

impl AsyncRead for End {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        if state.output.is_empty() {
            if state.ended {
                return Poll::Ready(Ok(()));
            }
            state.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let n = state.output.len().min(buf.remaining());
        let bytes: Vec<u8> = state.output.drain(..n).collect();
        buf.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for End {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let echo = {
            let mut state = self.0.lock();
            if state.ended {
                // What Linux says to a terminal whose programs are gone.
                return Poll::Ready(Err(io::Error::from_raw_os_error(libc::EIO)));
            }
            if state.deaf {
                state.writer = Some(cx.waker().clone());
                return Poll::Pending;
            }
            state.written.extend_from_slice(bytes);
            state.behaviour == Behaviour::Echo
        };
        if echo {
            self.0.output(bytes);
        }
        self.0.wake();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl PtyControl for End {
    fn resize(&self, size: Size) -> BoxFuture<'_, io::Result<()>> {
        self.0.lock().sizes.push(size);
        self.0.print_size(size);
        self.0.wake();
        Box::pin(std::future::ready(Ok(())))
    }

    fn close(&self) -> BoxFuture<'_, io::Result<()>> {
        self.0.lock().closed = true;
        // 128 + HUP
        self.0.end(129);
        Box::pin(std::future::ready(Ok(())))
    }
}
