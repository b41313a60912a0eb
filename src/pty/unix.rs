//! The master of a PTY as asynchronous reader, writer and size.

use crate::domain::Size;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// One end of a program's terminal, registered with the runtime. Dropping it closes the descriptor and sends nothing.
#[derive(Debug)]
pub struct Master {
    fd: AsyncFd<OwnedFd>,
}

impl Master {
    /// Takes a descriptor of a PTY master.
    ///
    /// # Errors
    /// The descriptor cannot be made non-blocking or registered.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        // SAFETY: reads and sets flags of a descriptor that we own.
        unsafe {
            let flags = libc::fcntl(fd.as_raw_fd(), libc::F_GETFL);
            if flags < 0 || libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: an `OwnedFd` stays the same open descriptor until it is dropped, and it is never taken out.
        Ok(Self { fd: unsafe { AsyncFd::register(fd) }? })
    }
}

impl AsyncRead for Master {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.fd.poll_read_ready(cx))?;
            let result = guard.try_io(|fd| {
                let space = buf.initialize_unfilled();
                // SAFETY: the space is ours and as long as said.
                let n = unsafe { libc::read(fd.as_raw_fd(), space.as_mut_ptr().cast(), space.len()) };
                usize::try_from(n).map_err(|_| io::Error::last_os_error())
            });
            match result {
                Ok(Ok(n)) => {
                    buf.advance(n);
                    return Poll::Ready(Ok(()));
                }
                // Linux reports the end of the last program that held the terminal as an error (pty(7) behaviour).
                Ok(Err(error)) if error.raw_os_error() == Some(libc::EIO) => return Poll::Ready(Ok(())),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for Master {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.fd.poll_write_ready(cx))?;
            let result = guard.try_io(|fd| {
                // SAFETY: the bytes are valid for their length.
                let n = unsafe { libc::write(fd.as_raw_fd(), buf.as_ptr().cast(), buf.len()) };
                usize::try_from(n).map_err(|_| io::Error::last_os_error())
            });
            match result {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return Poll::Ready(result),
                Err(_would_block) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Gives the terminal behind this descriptor another size; its foreground program gets WINCH.
pub fn set_size(fd: &OwnedFd, size: Size) -> io::Result<()> {
    let size = libc::winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: reads a structure of ours.
    if unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCSWINSZ as _, &raw const size) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
