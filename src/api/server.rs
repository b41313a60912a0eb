//! The host's end of the socket.
//!
//! Each connection has its own task, its own bounded queues and its own limits, so that a slow, mute or mad client
//! harms nobody but itself. What it asks for arrives at the host as [`Inbound`]; answers go back through [`Reply`],
//! notifications through [`Outgoing`].

use super::error::{ApiError, ErrorCode};
use super::protocol::{ApiCall, Hello, MESSAGE_LIMIT, PROTOCOL, ScreenEvent, ScreenInput};
use super::{screen, shapes};
use crate::runtime::paths::{SOCKET_PATH_LIMIT, private_dir};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Connections at a time.
const CONNECTIONS: usize = 256;
/// Requests of one connection that wait for their answer; more are not read.
const IN_FLIGHT: usize = 64;
/// Notifications that wait for a slow client before it is dropped.
const NOTIFICATIONS: usize = 1024;
/// Time for the first message.
const HELLO_TIME: Duration = Duration::from_secs(10);
/// Time in which the rest of an oversized message is read and thrown away, so that its sender can read the error.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// Time that answers still have after the client stopped sending.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// One connection. Never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(pub u64);

/// What comes in.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "each is moved once, from a connection to the host")]
pub enum Inbound {
    /// Somebody asks for something.
    Call(Incoming),
    /// A connection is gone: its commands end, its subscriptions are forgotten, nobody waits for its answers.
    Closed(ConnectionId),
}

/// One call with where its answer goes.
#[derive(Debug)]
pub struct Incoming {
    /// Whose.
    pub connection: ConnectionId,
    /// What.
    pub call: ApiCall,
    /// Where the answer goes.
    pub reply: Reply,
    /// What the terminal sends from now on, if the call attaches one: it comes straight from its connection.
    pub typed: Option<mpsc::Receiver<Vec<ScreenEvent>>>,
}

/// Where the answer to one call goes. Dropping it without an answer sends an error.
#[derive(Debug)]
pub struct Reply {
    id: Option<Value>,
    replies: Replies,
    outgoing: Outgoing,
    permit: Option<OwnedSemaphorePermit>,
}

/// The queue of replies. Each carries the permit of its request until it is written: the queue is thereby never longer
/// than the requests in flight, although nobody ever waits to put a reply in.
type Replies = mpsc::UnboundedSender<(Value, Option<OwnedSemaphorePermit>)>;

impl Reply {
    /// Sends the answer.
    pub fn send(mut self, answer: Result<Value, impl Into<ApiError>>) {
        let answer = answer.map_err(Into::into);
        self.put(&answer);
    }

    /// Where notifications for this client go.
    #[must_use]
    pub fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    fn put(&mut self, answer: &Result<Value, ApiError>) {
        if let Some(id) = self.id.take() {
            // A client that is gone needs no answer.
            let _ = self.replies.send((message(&id, answer), self.permit.take()));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.put(&Err(ApiError::new(
            ErrorCode::Failed,
            "the host ended before it could answer",
            "see `hermes-tui status`, then try again",
        )));
    }
}

/// Where notifications for one client go.
#[derive(Clone, Debug)]
pub struct Outgoing {
    id: ConnectionId,
    queue: mpsc::Sender<Vec<u8>>,
    closed: CancellationToken,
}

impl Outgoing {
    /// Whose.
    #[must_use]
    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// Sends without waiting. A client that does not keep up is dropped. False if it is gone.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> bool {
        match self.queue.try_send(notification(method, params)) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                tracing::warn!(connection = self.id.0, "dropped a client that does not keep up with its notifications");
                self.closed.cancel();
                false
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        }
    }

    /// Sends, and waits while the client is slow: for streams whose source can be held up. False if it is gone.
    pub async fn send(&self, method: &str, params: &impl Serialize) -> bool {
        tokio::select! {
            sent = self.queue.send(notification(method, params)) => sent.is_ok(),
            () = self.closed.cancelled() => false,
        }
    }

    /// Drops the client.
    pub fn close(&self, why: &str) {
        tracing::warn!(connection = self.id.0, "{why}");
        self.closed.cancel();
    }

    /// Whether the client is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Resolves when the client is gone.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

fn message(id: &Value, answer: &Result<Value, ApiError>) -> Value {
    match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error.to_rpc()}),
    }
}

#[derive(Serialize)]
struct Notification<'a, P> {
    jsonrpc: &'a str,
    method: &'a str,
    params: &'a P,
}

/// The line of a notification.
fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(&Notification { jsonrpc: "2.0", method, params }).unwrap_or_default();
    line.push(b'\n');
    line
}

/// The listening socket. Its file is removed when dropped, unless another has taken the name since.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    inode: u64,
}

impl Server {
    /// Listens. Must be called within a tokio runtime, by the holder of the profile's lock: a socket file that is
    /// already there is of a host that died, and is replaced.
    ///
    /// # Errors
    /// The folder is not private, the path too long, or the socket cannot be made.
    pub fn bind(path: &Path) -> io::Result<Self> {
        if path.as_os_str().as_bytes().len() > SOCKET_PATH_LIMIT {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{}: longer than the {SOCKET_PATH_LIMIT} bytes that a socket's path may have", path.display()),
            ));
        }
        if let Some(folder) = path.parent() {
            private_dir(folder)?;
        }
        match fs::remove_file(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // Nobody else can enter the folder, so the moment between these two is nobody's.
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let inode = fs::symlink_metadata(path)?.ino();
        Ok(Self { listener, path: path.to_owned(), inode })
    }

    /// Serves until dropped. Everything that is asked for goes to `host`.
    pub async fn run(self, host: mpsc::Sender<Inbound>) {
        let user = nix::unistd::geteuid().as_raw();
        let mut connections = JoinSet::new();
        let mut next = 1;
        loop {
            let stream = tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        // Out of descriptors, as a rule: those in use must be given back first.
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
                () = host.closed() => return,
            };
            match stream.peer_cred() {
                Ok(peer) if peer.uid() == user || peer.uid() == 0 => {}
                Ok(peer) => {
                    tracing::warn!(uid = peer.uid(), "refused a connection of another user");
                    let error = ApiError::new(
                        ErrorCode::Policy,
                        format!("cannot use this host: it belongs to user {user}, and you are user {}", peer.uid()),
                        "use a host of your own: leave HTUI_HOME out, or set it to a folder of yours",
                    );
                    last_word(&stream, error);
                    continue;
                }
                Err(error) => {
                    tracing::warn!(%error, "refused a connection whose user is not known");
                    continue;
                }
            }
            if connections.len() >= CONNECTIONS {
                tracing::warn!("refused a connection: {CONNECTIONS} are open");
                let error = ApiError::new(
                    ErrorCode::Failed,
                    format!("the host serves {CONNECTIONS} connections already, which is the most it takes"),
                    "end some of those clients, then try again",
                );
                last_word(&stream, error);
                continue;
            }
            let id = ConnectionId(next);
            next += 1;
            connections.spawn(serve(id, stream, host.clone()));
        }
    }
}

/// Why a connection is not served. There is room for one line in a fresh socket; who does not read it misses it.
fn last_word(stream: &UnixStream, error: ApiError) {
    let _ = stream.try_write(format!("{}\n", message(&Value::Null, &Err(error))).as_bytes());
}

impl Drop for Server {
    fn drop(&mut self) {
        // Where somebody deleted the profile while we ran, another host may live there by now.
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

async fn serve(id: ConnectionId, stream: UnixStream, host: mpsc::Sender<Inbound>) {
    let (read, write) = stream.into_split();
    let (replies, reply_queue) = mpsc::unbounded_channel();
    let (queue, notifications) = mpsc::channel(NOTIFICATIONS);
    let closed = CancellationToken::new();
    let outgoing = Outgoing { id, queue, closed: closed.clone() };
    let in_flight = Arc::new(Semaphore::new(IN_FLIGHT));
    let connection = Connection {
        id,
        host: host.clone(),
        replies,
        outgoing,
        in_flight: in_flight.clone(),
        greeted: false,
        screen: None,
    };
    let finished = CancellationToken::new();
    let writer = write_out(write, reply_queue, notifications, finished.clone());
    tokio::pin!(writer);
    tokio::select! {
        () = connection.read(read) => {
            // No more comes from the client. What it asked for is still answered, within reason.
            let answered = async {
                let all = tokio::time::timeout(LAST_ANSWERS, in_flight.acquire_many(IN_FLIGHT as u32));
                let _ = all.await;
                finished.cancel();
                // A client that does not read either is left at last.
                tokio::time::sleep(LAST_ANSWERS).await;
            };
            tokio::select! {
                () = &mut writer => {}
                () = answered => {}
                () = closed.cancelled() => {}
            }
        }
        () = &mut writer => {}
        () = closed.cancelled() => {}
    }
    closed.cancel();
    let _ = host.send(Inbound::Closed(id)).await;
}

/// Writes replies, and notifications when there are no replies. Ends when the client is gone, or, once `finished`,
/// when the replies are written.
async fn write_out(
    mut write: OwnedWriteHalf,
    mut replies: mpsc::UnboundedReceiver<(Value, Option<OwnedSemaphorePermit>)>,
    mut notifications: mpsc::Receiver<Vec<u8>>,
    finished: CancellationToken,
) {
    loop {
        let (line, _permit) = tokio::select! {
            biased;
            Some((reply, permit)) = replies.recv() => (format!("{reply}\n").into_bytes(), permit),
            () = finished.cancelled() => break,
            Some(line) = notifications.recv() => (line, None),
            else => break,
        };
        if write.write_all(&line).await.is_err() {
            break;
        }
    }
    let _ = write.shutdown().await;
}

/// What is known of a connection while it is read.
struct Connection {
    id: ConnectionId,
    host: mpsc::Sender<Inbound>,
    replies: Replies,
    outgoing: Outgoing,
    in_flight: Arc<Semaphore>,
    greeted: bool,
    /// Where goes what its terminal sends, if it shows the screen.
    screen: Option<mpsc::Sender<Vec<ScreenEvent>>>,
}

/// The message that comes with every key. It is read in one go: a person waits for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedLine<'a> {
    jsonrpc: &'a str,
    method: &'a str,
    params: ScreenInput,
}

/// What a terminal sent, if this is nothing but that. Everything else is looked at more closely.
fn typed(line: &[u8]) -> Option<ScreenInput> {
    let line: TypedLine<'_> = serde_json::from_slice(line).ok()?;
    (line.jsonrpc == "2.0" && line.method == "screen.input").then_some(line.params)
}

/// A JSON-RPC request before its method is looked at.
#[derive(Deserialize)]
struct Envelope {
    jsonrpc: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    id: Option<Value>,
    method: Option<Value>,
    params: Option<Value>,
}

/// `"id": null` is an id, unlike no `id` at all.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Connection {
    /// Reads messages until the client stops, or must be stopped.
    async fn read(mut self, mut read: OwnedReadHalf) {
        let mut buffer: Vec<u8> = Vec::new();
        let mut looked_at = 0;
        let greeting = tokio::time::sleep(HELLO_TIME);
        tokio::pin!(greeting);
        loop {
            if let Some(end) = buffer[looked_at..].iter().position(|byte| *byte == b'\n').map(|at| looked_at + at) {
                let line: Vec<u8> = buffer.drain(..=end).collect();
                looked_at = 0;
                if end > MESSAGE_LIMIT {
                    self.too_long();
                    return;
                }
                if !self.message(&line[..end]).await {
                    return;
                }
                continue;
            }
            looked_at = buffer.len();
            if buffer.len() > MESSAGE_LIMIT {
                self.too_long();
                drop(buffer);
                let _ = tokio::time::timeout(DRAIN_TIME, discard(&mut read)).await;
                return;
            }
            if buffer.is_empty() && buffer.capacity() > 64 * 1024 {
                buffer.shrink_to(64 * 1024);
            }
            tokio::select! {
                got = read.read_buf(&mut buffer) => match got {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                },
                () = &mut greeting, if !self.greeted => {
                    self.refuse(protocol_error(
                        format!("no hello within {} s", HELLO_TIME.as_secs()),
                        HELLO_HINT,
                    ));
                    return;
                }
            }
        }
        if !buffer.is_empty() {
            self.refuse(protocol_error(
                format!("the connection ended in the middle of a message, after {} bytes of it", buffer.len()),
                "end each message with a newline",
            ));
        }
    }

    /// Takes one line; false ends the connection.
    async fn message(&mut self, line: &[u8]) -> bool {
        if line.iter().all(u8::is_ascii_whitespace) {
            return true;
        }
        if let Some(screen) = &self.screen
            && let Some(input) = typed(line)
        {
            return screen::take(screen, input.events, &self.outgoing);
        }
        // Waits while too many are unanswered: the client is then not read, and nobody else notices.
        let Ok(permit) = self.in_flight.clone().acquire_owned().await else { return false };
        let envelope = match envelope(line) {
            Ok(envelope) => envelope,
            Err((id, error)) => {
                self.answer(id, &Err(error), permit);
                return true;
            }
        };
        let Some(Value::String(method)) = envelope.method else {
            let error =
                protocol_error("a message has no method".to_owned(), "send \"method\": \"env.list\" or another");
            self.answer(envelope.id.unwrap_or(Value::Null), &Err(error), permit);
            return true;
        };
        if !self.greeted || method == "hello" {
            let (answer, goes_on) = self.hello(&method, envelope.params);
            self.answer(envelope.id.unwrap_or(Value::Null), &answer, permit);
            return goes_on;
        }
        match ApiCall::parse(&method, envelope.params) {
            Ok(call) => {
                let reply = Reply {
                    id: envelope.id,
                    replies: self.replies.clone(),
                    outgoing: self.outgoing.clone(),
                    permit: Some(permit),
                };
                let typed = match call {
                    // Handed on here, in order: what is typed must not overtake itself.
                    ApiCall::ScreenInput(input) => {
                        screen::input(self.screen.as_ref(), input, reply);
                        return true;
                    }
                    ApiCall::ScreenAttach(_) => {
                        let (to, typed) = mpsc::channel(screen::WAITING);
                        self.screen = Some(to);
                        Some(typed)
                    }
                    _ => None,
                };
                self.host.send(Inbound::Call(Incoming { connection: self.id, call, reply, typed })).await.is_ok()
            }
            Err(error) => {
                // JSON-RPC: what has no id is not answered.
                if let Some(id) = envelope.id {
                    self.answer(id, &Err(error), permit);
                }
                true
            }
        }
    }

    fn hello(&mut self, method: &str, params: Option<Value>) -> (Result<Value, ApiError>, bool) {
        if method != "hello" {
            return (Err(protocol_error(format!("`{method}` came before hello"), HELLO_HINT)), true);
        }
        match params.map(Hello::deserialize) {
            Some(Ok(hello)) if hello.protocol == PROTOCOL => {
                self.greeted = true;
                let welcome = json!({
                    "protocol": PROTOCOL, "version": env!("CARGO_PKG_VERSION"), "pid": std::process::id(),
                });
                (Ok(shapes::reply(welcome)), true)
            }
            Some(Ok(hello)) => {
                let message = format!("this host speaks protocol {PROTOCOL}, the client speaks {}", hello.protocol);
                let hint = format!("use version {} of the client, or restart the host", env!("CARGO_PKG_VERSION"));
                (Err(ApiError::new(ErrorCode::Protocol, message, hint)), false)
            }
            _ => (Err(protocol_error("hello does not name a protocol".to_owned(), HELLO_HINT)), true),
        }
    }

    fn too_long(&self) {
        self.refuse(protocol_error(
            format!("a message is longer than {MESSAGE_LIMIT} bytes; the connection is closed"),
            "send less at a time",
        ));
    }

    /// The last words on this connection.
    fn refuse(&self, error: ApiError) {
        let _ = self.replies.send((message(&Value::Null, &Err(error)), None));
    }

    fn answer(&self, id: Value, answer: &Result<Value, ApiError>, permit: OwnedSemaphorePermit) {
        // A client that is gone needs no answer.
        let _ = self.replies.send((message(&id, answer), Some(permit)));
    }
}

const HELLO_HINT: &str = "begin with {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"protocol\":1}}";

fn protocol_error(message: String, hint: &str) -> ApiError {
    ApiError::new(ErrorCode::Protocol, message, hint)
}

fn envelope(line: &[u8]) -> Result<Envelope, (Value, ApiError)> {
    let failed = |message: String, hint: &str| (Value::Null, protocol_error(message, hint));
    let text = std::str::from_utf8(line).map_err(|error| {
        failed(format!("a message is not UTF-8 after byte {}", error.valid_up_to()), "send JSON in UTF-8")
    })?;
    let value: Value = serde_json::from_str(text)
        .map_err(|error| failed(format!("a message is not JSON: {error}"), "send one JSON object on one line"))?;
    if value.is_array() {
        return Err(failed("batches are not taken".to_owned(), "send each request on a line of its own"));
    }
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let envelope = Envelope::deserialize(value)
        .map_err(|error| failed(format!("a message is not a request: {error}"), "send one JSON object on one line"))?;
    if envelope.jsonrpc != Some(json!("2.0")) {
        return Err((id, protocol_error("a message is not JSON-RPC 2.0".to_owned(), "send \"jsonrpc\": \"2.0\"")));
    }
    Ok(envelope)
}

async fn discard(read: &mut OwnedReadHalf) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(got) = read.read(&mut buffer).await {
        if got == 0 {
            break;
        }
    }
}
