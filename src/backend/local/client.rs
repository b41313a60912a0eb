//! The host's end of the connection to a sandbox's first process.

use super::protocol::{Answer, Message, Op, Request, VERSION, frame, take_frame};
use super::sockets;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// A first process that is alive answers at once; one that is stopped by a debugger or starved does not.
const HELLO_TIMEOUT: Duration = Duration::from_secs(3);

/// The longest that an answer takes is the end of a session whose processes hold out.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

type Replied = (Result<Answer, String>, Vec<OwnedFd>);

/// Why a request has no answer.
#[derive(Debug)]
pub enum Failed {
    /// The connection ended: so did the sandbox.
    Gone,
    /// It said no, in one exact sentence.
    Refused(String),
}

#[derive(Default)]
struct Waiting {
    replies: HashMap<u64, oneshot::Sender<Replied>>,
    sessions: HashMap<String, Vec<oneshot::Sender<i32>>>,
    calls: HashMap<String, oneshot::Sender<i32>>,
    gone: bool,
}

struct Shared {
    waiting: Mutex<Waiting>,
    /// `Some` once the connection has ended, with the farewell if there was one.
    end: watch::Sender<Option<Option<String>>>,
}

/// A connection. Dropping it hangs up; the sandbox runs on.
pub struct Client {
    shared: Arc<Shared>,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    next: AtomicU64,
    tasks: [JoinHandle<()>; 2],
    /// Its generation, as it says.
    pub generation: u64,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Waiting> {
    // Nothing panics while it holds the lock; if it did, the maps are still whole.
    shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// Connects and asks who answers. `None` if nothing listens there: the sandbox does not run.
    ///
    /// # Errors
    /// Something is there but cannot be reached, does not answer in time, or is another sandbox.
    pub async fn connect(path: &Path, sandbox: &str) -> io::Result<Option<Self>> {
        let stream = match sockets::connect(path) {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let stream = Arc::new(UnixStream::from_std(stream)?);
        let shared = Arc::new(Shared { waiting: Mutex::default(), end: watch::Sender::new(None) });
        let (outgoing, queue) = mpsc::unbounded_channel();
        let reader = tokio::spawn(read(stream.clone(), shared.clone()));
        let writer = tokio::spawn(write(stream, queue));
        let mut client = Self { shared, outgoing, next: AtomicU64::new(0), tasks: [reader, writer], generation: 0 };
        match tokio::time::timeout(HELLO_TIMEOUT, client.request(Op::Hello)).await {
            Ok(Ok((Answer::Hello { version: VERSION, sandbox: name, generation }, _))) if name == sandbox => {
                client.generation = generation;
                Ok(Some(client))
            }
            // It ended while we asked.
            Ok(Err(Failed::Gone)) => Ok(None),
            Ok(other) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("what answers at {} is not this sandbox, or of another version: {other:?}", path.display()),
            )),
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the sandbox's first process does not answer at {}", path.display()),
            )),
        }
    }

    /// Asks and waits for the answer and the descriptors that come with it.
    pub async fn request(&self, op: Op) -> Result<(Answer, Vec<OwnedFd>), Failed> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let bytes = frame(&Request { id, op }).map_err(|error| Failed::Refused(error.to_string()))?;
        let (sender, receiver) = oneshot::channel();
        {
            let mut waiting = lock(&self.shared);
            if waiting.gone {
                return Err(Failed::Gone);
            }
            waiting.replies.insert(id, sender);
        }
        self.outgoing.send(bytes).map_err(|_| Failed::Gone)?;
        match tokio::time::timeout(ANSWER_TIMEOUT, receiver).await {
            Ok(Ok((Ok(answer), fds))) => Ok((answer, fds)),
            Ok(Ok((Err(why), _))) => Err(Failed::Refused(why)),
            Ok(Err(_)) => Err(Failed::Gone),
            Err(_) => Err(Failed::Refused("the sandbox's first process does not answer".into())),
        }
    }

    /// Resolves with the exit code of a session, or fails when the sandbox ends first. Ask before it is opened.
    pub fn session_end(&self, session: &str) -> oneshot::Receiver<i32> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = lock(&self.shared);
        if !waiting.gone {
            let senders = waiting.sessions.entry(session.to_owned()).or_default();
            senders.retain(|one| !one.is_closed());
            senders.push(sender);
        }
        receiver
    }

    /// Resolves with the exit code of a command, or fails when the sandbox ends first. Ask before it is run.
    pub fn call_end(&self, call: &str) -> oneshot::Receiver<i32> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = lock(&self.shared);
        if !waiting.gone {
            waiting.calls.insert(call.to_owned(), sender);
        }
        receiver
    }

    /// Whether the connection has ended.
    pub fn is_gone(&self) -> bool {
        lock(&self.shared).gone
    }

    /// Becomes `Some` when the connection ends, with the farewell if there was one. Does not keep it open.
    pub fn end(&self) -> watch::Receiver<Option<Option<String>>> {
        self.shared.end.subscribe()
    }
}

async fn write(stream: Arc<UnixStream>, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = queue.recv().await {
        let mut sent = 0;
        while sent < bytes.len() {
            let step = stream.async_io(Interest::WRITABLE, || sockets::send(stream.as_raw_fd(), &bytes[sent..], &[]));
            match step.await {
                Ok(n) => sent += n,
                // The reader sees the end too and tells everybody.
                Err(_) => return,
            }
        }
    }
}

async fn read(stream: Arc<UnixStream>, shared: Arc<Shared>) {
    let mut received = Vec::new();
    let mut fds = Vec::new();
    let mut buffer = vec![0; 65536];
    let mut farewell = None;
    let mut arrived = VecDeque::new();
    'connection: loop {
        let step = stream.async_io(Interest::READABLE, || sockets::receive(stream.as_raw_fd(), &mut buffer, &mut fds));
        match step.await {
            Ok(0) | Err(_) => break,
            Ok(n) => received.extend_from_slice(&buffer[..n]),
        }
        arrived.extend(fds.drain(..));
        loop {
            match take_frame::<Message>(&mut received) {
                Ok(Some(Message::Bye { why })) => farewell = Some(why),
                Ok(Some(message)) => deliver(&shared, message, &mut arrived),
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!("a sandbox's first process said something that cannot be understood: {error}");
                    break 'connection;
                }
            }
        }
    }
    let forgotten = {
        let mut waiting = lock(&shared);
        waiting.gone = true;
        (
            std::mem::take(&mut waiting.replies),
            std::mem::take(&mut waiting.sessions),
            std::mem::take(&mut waiting.calls),
        )
    };
    drop(forgotten);
    shared.end.send_replace(Some(farewell));
}

fn deliver(shared: &Shared, message: Message, arrived: &mut VecDeque<OwnedFd>) {
    let mut waiting = lock(shared);
    match message {
        Message::Reply { id, fds, answer } => {
            let fds = arrived.drain(..fds.min(arrived.len())).collect();
            if let Some(sender) = waiting.replies.remove(&id) {
                // Whoever asked may have gone; the descriptors are then closed.
                let _ = sender.send((answer, fds));
            }
        }
        Message::SessionEnded { session, code } => {
            for sender in waiting.sessions.remove(&session).unwrap_or_default() {
                let _ = sender.send(code);
            }
        }
        Message::CallEnded { call, code } => {
            if let Some(sender) = waiting.calls.remove(&call) {
                let _ = sender.send(code);
            }
        }
        Message::Bye { .. } => {}
    }
}
