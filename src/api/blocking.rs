//! A connection for threads that do nothing else: one listens, any of them tells. What a person types and sees goes through
//! two of them, and no other thread has to be woken for it.

use super::client::{Arrived, Message, closed, lost};
use super::error::ApiError;
use super::protocol::ApiCall;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

/// The sending half.
#[derive(Debug)]
pub struct Teller(Mutex<UnixStream>);

/// The receiving half.
#[derive(Debug)]
pub struct Listener {
    read: UnixStream,
    arrived: Arrived,
    early: VecDeque<(String, Value)>,
}

/// Both halves of a connection that says what it says in blocking calls from now on.
///
/// # Errors
/// It cannot be made so.
pub(super) fn halves(
    stream: UnixStream,
    arrived: Arrived,
    early: VecDeque<(String, Value)>,
) -> io::Result<(Teller, Listener)> {
    stream.set_nonblocking(false)?;
    Ok((Teller(Mutex::new(stream.try_clone()?)), Listener { read: stream, arrived, early }))
}

impl Teller {
    /// Sends a call that needs no answer.
    ///
    /// # Errors
    /// The connection ended.
    pub fn tell(&self, call: &ApiCall) -> Result<(), ApiError> {
        let line = call.to_notification_line();
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(line.as_bytes()).map_err(|error| lost(&error))
    }
}

impl Listener {
    /// Waits for the next message.
    ///
    /// # Errors
    /// The connection ended, or the host sent what is no message.
    pub fn listen(&mut self) -> Result<Message, ApiError> {
        if let Some((method, params)) = self.early.pop_front() {
            return Ok(Message::Notification { method, params });
        }
        let mut piece = [0; 16 << 10];
        loop {
            if let Some(message) = self.arrived.message() {
                return message;
            }
            match self.read.read(&mut piece) {
                Ok(0) => return Err(closed()),
                Ok(read) => self.arrived.bytes.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(&error)),
            }
        }
    }

    /// The connection, to wait for its end.
    ///
    /// # Errors
    /// There is no descriptor left.
    pub fn connection(&self) -> io::Result<UnixStream> {
        self.read.try_clone()
    }
}
