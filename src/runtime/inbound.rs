//! What reaches the loop from outside: what people and the core wait for on one queue, the output of programs on lanes.
//!
//! All are bounded. A full one slows its producer: a reader that cannot hand on its bytes stops reading, and the kernel
//! or the engine pushes back on the program.

use super::calls::ExecRequest;
use super::event_log::Subscriber;
use super::lanes::{self, Entrance, Exit, Lane};
use crate::app::{ClientId, Model, Msg, Role};
use crate::domain::{Answer, CallId, Event, Moment, Refusal, Request, SessionId};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, mpsc, oneshot};

/// One thing that reaches the loop.
pub enum Inbound {
    /// For the model.
    Msg(Msg),
    /// Somebody asks the core for something and waits for the answer.
    Ask(Box<Request>, oneshot::Sender<Answer>),
    /// Somebody reads the model.
    Read(Look),
    /// Somebody waits until the model shows something.
    When(Condition),
    /// Somebody runs a command and follows it.
    Exec(Box<ExecRequest>),
    /// Somebody types into a session.
    SendKeys(SessionId, Vec<u8>, oneshot::Sender<Result<(), Refusal>>),
    /// Somebody follows what happens.
    Subscribe(Subscriber),
    /// A PTY was opened.
    Opened(Box<super::effects::OpenedSession>),
    /// A PTY's program ended. Comes behind its last output, on the same lane.
    SessionOver {
        /// Whose.
        session: SessionId,
        /// Which PTY of that session: an id is used again after the sandbox was made again.
        serial: u64,
        /// Its exit code.
        exit_code: Option<i32>,
    },
    /// A command ended. Comes behind its last output, on the same lane.
    CallOver {
        /// Which.
        call: CallId,
        /// Its exit code.
        exit_code: i32,
        /// Where its shell stands, if it has one.
        cwd: Option<String>,
        /// The exit code that the core wrote down; it may have counted it as over before. Whoever ran it is told only
        /// then: what it asks next must not come before.
        known: oneshot::Sender<Option<i32>>,
    },
    /// A terminal attaches: to the whole screen, or to one session alone.
    Attach(ClientId, Box<super::screen::ClientScreen>, Role, Option<SessionId>),
    /// A client's terminal took the last frame.
    Drained(ClientId),
    /// A client's terminal was cleared: all of it is drawn again.
    Cleared(ClientId),
    /// A client's terminal is gone.
    Gone(ClientId),
    /// Whether anybody is connected to the socket.
    Connected(bool),
    /// The process was told to end.
    Terminate,
    /// A test asks to be told when nothing is in flight.
    Settled(oneshot::Sender<Settled>),
}

/// What a test learns when nothing is in flight.
#[derive(Debug)]
pub struct Settled {
    /// The whole state.
    pub state: crate::domain::State,
    /// How often the loop has woken so far.
    pub wakes: u64,
}

/// A look at the model between two events.
pub type Look = Box<dyn FnOnce(&Model, Moment) + Send>;

/// What somebody waits for: looked at after every step, until it says that nobody waits for it any more.
pub type Condition = Box<dyn FnMut(&Model, Moment) -> bool + Send>;

/// How many messages may wait.
const WAITING: usize = 256;
/// Of what is wrong, that many newest are remembered.
const TROUBLES: usize = 20;

/// The sending side, for everybody who has something to tell.
#[derive(Clone)]
pub struct Inbox {
    first: mpsc::Sender<Inbound>,
    output: Entrance,
    outstanding: Arc<InFlight>,
    troubles: Arc<Mutex<VecDeque<String>>>,
}

/// The receiving side, for the loop.
pub struct Outbox {
    /// What people and the core wait for.
    pub first: mpsc::Receiver<Inbound>,
    /// Output of programs.
    pub output: Exit,
}

/// How much is in flight, and the end of it.
#[derive(Default)]
struct InFlight {
    count: AtomicUsize,
    none: Notify,
}

/// While it lives, something is in flight.
pub struct Outstanding(Arc<InFlight>);

impl Drop for Outstanding {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.none.notify_one();
        }
    }
}

/// Both sides.
#[must_use]
pub fn channel() -> (Inbox, Outbox) {
    let (first, first_out) = mpsc::channel(WAITING);
    let (output, output_out) = lanes::lanes();
    let inbox = Inbox { first, output, outstanding: Arc::default(), troubles: Arc::default() };
    (inbox, Outbox { first: first_out, output: output_out })
}

impl Inbox {
    /// Hands in something that somebody waits for. Quiet when the loop has ended.
    pub async fn send(&self, inbound: Inbound) {
        let _ = self.first.send(inbound).await;
    }

    /// Hands in an event of the core.
    pub async fn event(&self, event: Event) {
        self.send(Inbound::Msg(Msg::Domain(event))).await;
    }

    /// A way for the output of one program, which waits while too much of it is there already.
    #[must_use]
    pub fn lane(&self) -> Lane {
        self.output.lane()
    }

    /// Hands in something that may be lost while the loop is busy. Keeps its place before what is handed in later.
    pub fn offer(&self, inbound: Inbound) {
        let _ = self.first.try_send(inbound);
    }

    /// Hands in something from a place that cannot wait, such as a thread of its own.
    pub fn send_blocking(&self, inbound: Inbound) {
        let _ = self.first.blocking_send(inbound);
    }

    /// Remembers what is wrong beside the core, for `status`.
    pub fn note_trouble(&self, text: &str) {
        let mut all = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.iter().any(|known| known == text) {
            all.push_back(text.to_owned());
        }
        if all.len() > TROUBLES {
            all.pop_front();
        }
    }

    /// What is wrong beside the core, oldest first.
    #[must_use]
    pub fn troubles(&self) -> Vec<String> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Resolves when the loop has ended.
    pub async fn closed(&self) {
        self.first.closed().await;
    }

    /// Whether the loop has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.first.is_closed()
    }

    /// Counts something as in flight until the guard is dropped.
    #[must_use]
    pub fn outstanding(&self) -> Outstanding {
        self.outstanding.count.fetch_add(1, Ordering::SeqCst);
        Outstanding(Arc::clone(&self.outstanding))
    }

    /// How much is in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.outstanding.count.load(Ordering::SeqCst)
    }

    /// Resolves when nothing is in flight any more; also once for an earlier such moment.
    pub async fn none_in_flight(&self) {
        self.outstanding.none.notified().await;
    }
}
