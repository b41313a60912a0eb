//! PTY sessions as the first process keeps them, with what they print while no host is there.

use super::super::protocol::SessionRow;
use super::super::weigh;
use super::programs::OnPty;
use crate::domain::Size;
use portable_pty::{MasterPty, PtySize};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Output kept for the next host. What is older is shed, so that programs never wait for a host.
const MAX_MISSED: usize = 128 << 10;

/// A program on a PTY.
pub struct Session {
    master: Box<dyn MasterPty + Send>,
    /// Its leader, also the id of the kernel's session.
    pub leader: i32,
    /// Name of the leader's program, if it is a shell of ours.
    shell: Option<String>,
    program: Vec<String>,
    /// Exit code of the leader.
    pub exit: Option<i32>,
    /// Ended with all its processes; kept until a host has heard of it.
    pub ended: bool,
    /// Printed while no host was there.
    missed: VecDeque<u8>,
    /// Nothing more to read for now: nobody holds the terminal.
    silent: bool,
}

impl Session {
    /// A session whose program has just been started.
    pub fn new(started: OnPty, program: Vec<String>) -> Self {
        if let Some(raw) = started.master.as_raw_fd() {
            // Shared with the hosts, which want the same; a silent terminal must not halt this process either.
            // SAFETY: sets a flag of a descriptor that the master owns.
            unsafe { libc::fcntl(raw, libc::F_SETFL, libc::O_RDWR | libc::O_NONBLOCK) };
        }
        Self {
            master: started.master,
            leader: started.leader,
            shell: started.shell,
            program,
            exit: None,
            ended: false,
            missed: VecDeque::new(),
            silent: false,
        }
    }

    /// Gives its terminal another size.
    pub fn resize(&self, size: Size) {
        let _ = self.master.resize(PtySize { rows: size.rows, cols: size.cols, pixel_width: 0, pixel_height: 0 });
    }

    /// The terminal, while its output has to be taken in by us.
    pub fn to_drain(&self) -> Option<BorrowedFd<'_>> {
        let raw = self.master.as_raw_fd().filter(|_| !self.ended && !self.silent)?;
        // SAFETY: the master owns the descriptor and outlives this borrow.
        Some(unsafe { BorrowedFd::borrow_raw(raw) })
    }

    /// Takes in what was printed, if anything.
    pub fn drain(&mut self) {
        let mut buffer = [0u8; 16384];
        let Some(fd) = self.to_drain() else { return };
        // SAFETY: the buffer is ours and as long as said.
        let n = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        let error = std::io::Error::last_os_error().kind();
        match usize::try_from(n) {
            Ok(0) => self.silent = true,
            Ok(n) => {
                self.missed.extend(&buffer[..n]);
                let excess = self.missed.len().saturating_sub(MAX_MISSED);
                self.missed.drain(..excess);
            }
            Err(_) => self.silent = !matches!(error, ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }

    /// What was printed while no host was there. From now on the host that asked reads itself.
    pub fn take_missed(&mut self) -> Vec<u8> {
        self.silent = false;
        std::mem::take(&mut self.missed).into()
    }

    /// As hosts are told.
    pub fn row(&self, name: &str) -> SessionRow {
        let size = self.master.get_size().unwrap_or_default();
        SessionRow {
            session: name.to_owned(),
            program: self.program.clone(),
            size: Size { rows: size.rows, cols: size.cols },
            ended: if self.ended { Some(self.exit.unwrap_or(137)) } else { None },
        }
    }

    /// As a shell of ours, if it is one that lives.
    pub fn as_shell(&self) -> Option<weigh::Shell> {
        let name = self.shell.clone().filter(|_| self.exit.is_none())?;
        Some(weigh::Shell { leader: self.leader, name, foreground: self.master.process_group_leader() })
    }

    /// A descriptor of the master for a host.
    pub fn handle(&self) -> Result<OwnedFd, String> {
        let raw = self.master.as_raw_fd().ok_or("the terminal has no descriptor")?;
        // SAFETY: the master owns the descriptor and outlives this borrow.
        unsafe { BorrowedFd::borrow_raw(raw) }.as_fd().try_clone_to_owned().map_err(|error| error.to_string())
    }
}
