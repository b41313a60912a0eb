//! The other end of the socket, as the commands use it.

use super::blocking::{self, Listener, Teller};
use super::error::{ApiError, ErrorCode};
use super::protocol::{ApiCall, PROTOCOL};
use crate::runtime::owner::Owner;
use crate::runtime::paths::Paths;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// What the host sends.
#[derive(Clone, PartialEq, Debug)]
pub enum Message {
    /// The answer to the request with this number.
    Answer {
        /// The number.
        id: u64,
        /// The answer.
        answer: Result<Value, ApiError>,
    },
    /// A notification.
    Notification {
        /// Its method.
        method: String,
        /// Its parameters.
        params: Value,
    },
}

/// What came from the host and is no whole message yet.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    pub(super) bytes: Vec<u8>,
    looked_at: usize,
}

/// The host closed the connection.
pub(super) fn closed() -> ApiError {
    lost(&io::Error::new(io::ErrorKind::UnexpectedEof, "it closed it"))
}

impl Arrived {
    /// The next message, if all of it came.
    pub(super) fn message(&mut self) -> Option<Result<Message, ApiError>> {
        let Some(at) = self.bytes[self.looked_at..].iter().position(|byte| *byte == b'\n') else {
            self.looked_at = self.bytes.len();
            return None;
        };
        let line: Vec<u8> = self.bytes.drain(..=self.looked_at + at).collect();
        self.looked_at = 0;
        Some(parse(&line))
    }
}

/// The receiving half.
#[derive(Debug)]
pub struct Receiver {
    read: OwnedReadHalf,
    arrived: Arrived,
}

/// The sending half.
#[derive(Debug)]
pub struct Sender {
    write: OwnedWriteHalf,
    next: u64,
}

/// A connection that has said hello.
#[derive(Debug)]
pub struct Client {
    receiver: Receiver,
    sender: Sender,
    waiting: VecDeque<(String, Value)>,
}

pub(super) fn lost(error: &io::Error) -> ApiError {
    ApiError::new(
        ErrorCode::NoHost,
        format!("lost the connection to the host: {error}"),
        "`hermes-tui` starts another host: shells of local sandboxes go on, and containers run on",
    )
}

impl Receiver {
    /// The next message. Cancelling loses nothing.
    ///
    /// # Errors
    /// The connection ended, or the host sent what is no message.
    pub async fn next(&mut self) -> Result<Message, ApiError> {
        loop {
            if let Some(message) = self.arrived.message() {
                return message;
            }
            match self.read.read_buf(&mut self.arrived.bytes).await {
                Ok(0) => return Err(closed()),
                Ok(_) => {}
                Err(error) => return Err(lost(&error)),
            }
        }
    }
}

fn parse(line: &[u8]) -> Result<Message, ApiError> {
    let strange = || ApiError::new(ErrorCode::Protocol, "the host sent what is no message", "see the host's log");
    let mut value: Value = serde_json::from_slice(line).map_err(|_| strange())?;
    if let Some(method) = value.get("method").and_then(Value::as_str).map(str::to_owned) {
        return Ok(Message::Notification { method, params: value["params"].take() });
    }
    if let Some(error) = value.get("error") {
        let error = ApiError::from_rpc(error);
        // Without a number it is about the connection as a whole.
        let id = value.get("id").and_then(Value::as_u64);
        return id.map_or(Err(error.clone()), |id| Ok(Message::Answer { id, answer: Err(error) }));
    }
    let id = value.get("id").and_then(Value::as_u64).ok_or_else(strange)?;
    Ok(Message::Answer { id, answer: Ok(value["result"].take()) })
}

impl Sender {
    /// The number that the next call gets: for whoever must know it before the answer can come.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.next
    }

    /// Sends a call and gives its number.
    ///
    /// # Errors
    /// The connection ended.
    pub async fn send(&mut self, call: &ApiCall) -> Result<u64, ApiError> {
        let id = self.next;
        self.next += 1;
        self.put(&call.to_message(id)).await?;
        Ok(id)
    }

    async fn put(&mut self, message: &Value) -> Result<(), ApiError> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        self.write.write_all(&line).await.map_err(|error| lost(&error))
    }
}

impl Client {
    /// Connects to a socket and says hello.
    ///
    /// # Errors
    /// Nobody listens there, or the host speaks another protocol.
    pub async fn open(socket: &Path) -> Result<Self, ApiError> {
        let stream = UnixStream::connect(socket).await.map_err(|error| no_host(socket, &error))?;
        let (read, write) = stream.into_split();
        let mut client = Self {
            receiver: Receiver { read, arrived: Arrived::default() },
            sender: Sender { write, next: 1 },
            waiting: VecDeque::new(),
        };
        let about = format!("hermes-tui {} (pid {})", env!("CARGO_PKG_VERSION"), std::process::id());
        let params = json!({"protocol": PROTOCOL, "client": about});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "hello", "params": params});
        if let Err(error) = client.sender.put(&hello).await {
            // A host that will not serve us may have said why before it closed.
            return Err(client.receiver.next().await.err().unwrap_or(error));
        }
        client.answer(0).await?;
        Ok(client)
    }

    /// Connects to the host of a profile.
    ///
    /// # Errors
    /// No host runs.
    pub async fn connect(paths: &Paths) -> Result<Self, ApiError> {
        // The lock names the socket of the host that runs, which may have seen another runtime folder than we do.
        let socket = Owner::present(paths).map_or_else(|| paths.socket(), |owner| owner.socket);
        Self::open(&socket).await
    }

    /// Sends a call and waits for its answer.
    ///
    /// # Errors
    /// What the host answers, or the connection ended.
    pub async fn call(&mut self, call: &ApiCall) -> Result<Value, ApiError> {
        let id = self.sender.send(call).await?;
        self.answer(id).await
    }

    async fn answer(&mut self, wanted: u64) -> Result<Value, ApiError> {
        loop {
            match self.receiver.next().await? {
                Message::Answer { id, answer } if id == wanted => return answer,
                Message::Answer { .. } => {}
                Message::Notification { method, params } => self.waiting.push_back((method, params)),
            }
        }
    }

    /// The next notification.
    ///
    /// # Errors
    /// The connection ended.
    pub async fn notification(&mut self) -> Result<(String, Value), ApiError> {
        if let Some(first) = self.waiting.pop_front() {
            return Ok(first);
        }
        loop {
            if let Message::Notification { method, params } = self.receiver.next().await? {
                return Ok((method, params));
            }
        }
    }

    /// The connection for threads: everything that came and was not read comes first there.
    ///
    /// # Errors
    /// It cannot be made blocking.
    pub fn into_blocking(self) -> io::Result<(Teller, Listener)> {
        let Self { receiver: Receiver { read, arrived }, sender, waiting } = self;
        let stream = read.reunite(sender.write).map_err(io::Error::other)?;
        blocking::halves(stream.into_std()?, arrived, waiting)
    }

    /// Both halves apart, and the notifications that already came.
    #[must_use]
    pub fn split(self) -> (Sender, Receiver, VecDeque<(String, Value)>) {
        (self.sender, self.receiver, self.waiting)
    }
}

fn no_host(socket: &Path, error: &io::Error) -> ApiError {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "no host runs for this profile".to_owned(),
        io::ErrorKind::ConnectionRefused => "the host of this profile ended without removing its socket".to_owned(),
        _ => error.to_string(),
    };
    ApiError::new(
        ErrorCode::NoHost,
        format!("cannot reach the host at {}: {why}", socket.display()),
        "start one: `hermes-tui` (with a screen) or `hermes-tui serve`",
    )
}
