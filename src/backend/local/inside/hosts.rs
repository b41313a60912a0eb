//! Hosts that are connected to the first process: what they said, and what is on its way to them.

use super::super::protocol::{Message, Request, frame, take_frame};
use super::super::sockets;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// A host that does not read is cut off at this many bytes.
const MAX_BACKLOG: usize = 32 << 20;

/// A host that is connected.
pub struct Host {
    /// The connection, non-blocking.
    pub stream: UnixStream,
    received: Vec<u8>,
    backlog: VecDeque<Outgoing>,
    /// It is gone, or said what cannot be understood.
    pub broken: bool,
}

/// A frame on its way, with the descriptors that go beside its first byte.
struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    fds: Vec<OwnedFd>,
}

impl Host {
    /// A host on a connection that does not block.
    pub fn new(stream: UnixStream) -> Self {
        Self { stream, received: Vec::new(), backlog: VecDeque::new(), broken: false }
    }

    /// Whether something is on its way to it.
    pub fn waits_for_us(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Takes in what it has said since.
    pub fn hear(&mut self) -> Vec<Request> {
        let mut buffer = [0; 65536];
        loop {
            match (&self.stream).read(&mut buffer) {
                Ok(0) => {
                    self.broken = true;
                    break;
                }
                Ok(n) => self.received.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.broken = true;
                    break;
                }
            }
        }
        let mut requests = Vec::new();
        loop {
            match take_frame::<Request>(&mut self.received) {
                Ok(Some(request)) => requests.push(request),
                Ok(None) => return requests,
                Err(_) => {
                    self.broken = true;
                    return requests;
                }
            }
        }
    }

    /// Puts a message on its way, with descriptors beside it.
    pub fn queue(&mut self, message: &Message, fds: Vec<OwnedFd>) {
        match frame(message) {
            Ok(bytes) => self.backlog.push_back(Outgoing { bytes, sent: 0, fds }),
            Err(_) => self.broken = true,
        }
        if self.backlog.iter().map(|one| one.bytes.len()).sum::<usize>() > MAX_BACKLOG {
            self.broken = true;
        }
    }

    /// Sends what can be sent now.
    pub fn flush(&mut self) {
        while let Some(first) = self.backlog.front_mut() {
            let fds: Vec<RawFd> =
                if first.sent == 0 { first.fds.iter().map(AsRawFd::as_raw_fd).collect() } else { Vec::new() };
            match sockets::send(self.stream.as_raw_fd(), &first.bytes[first.sent..], &fds) {
                Ok(n) => {
                    first.sent += n;
                    first.fds.clear();
                    if first.sent == first.bytes.len() {
                        self.backlog.pop_front();
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.broken = true;
                    return;
                }
            }
        }
    }
}
