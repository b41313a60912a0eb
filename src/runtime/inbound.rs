//! What reaches the loop from outside, on two queues: what people and the core wait for, and the output of programs.
//!
//! Both are bounded. A full queue slows its producer: a reader that cannot hand on its bytes stops reading, and the
//! kernel or the engine pushes back on the program.

use super::calls::ExecRequest;
use super::event_log::Subscriber;
use crate::app::{ClientId, Model, Msg};
use crate::domain::{Answer, Event, Moment, Refusal, Request, SessionId};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// One thing that reaches the loop.
pub enum Inbound {
    /// For the model.
    Msg(Msg),
    /// Somebody asks the core for something and waits for the answer.
    Ask(Box<Request>, oneshot::Sender<Answer>),
    /// Somebody reads the model.
    Read(Look),
    /// Somebody runs a command and follows it.
    Exec(Box<ExecRequest>),
    /// Somebody types into a session.
    SendKeys(SessionId, Vec<u8>, oneshot::Sender<Result<(), Refusal>>),
    /// Somebody follows what happens.
    Subscribe(Subscriber),
    /// A PTY was opened.
    Opened(Box<super::effects::OpenedSession>),
    /// A client's terminal took the last frame.
    Drained(ClientId),
    /// A client's terminal is gone.
    Gone(ClientId),
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
}

/// A look at the model between two events.
pub type Look = Box<dyn FnOnce(&Model, Moment) + Send>;

/// How many of each queue may wait.
const WAITING: usize = 256;
/// Output waits in pieces of up to 64 KiB.
const WAITING_OUTPUT: usize = 16;
/// Of what is wrong, that many newest are remembered.
const TROUBLES: usize = 20;

/// The sending side, for everybody who has something to tell.
#[derive(Clone)]
pub struct Inbox {
    first: mpsc::Sender<Inbound>,
    output: mpsc::Sender<Inbound>,
    outstanding: Arc<AtomicUsize>,
    troubles: Arc<Mutex<VecDeque<String>>>,
}

/// The receiving side, for the loop.
pub struct Outbox {
    /// What people and the core wait for.
    pub first: mpsc::Receiver<Inbound>,
    /// Output of programs.
    pub output: mpsc::Receiver<Inbound>,
}

/// While it lives, something is in flight.
pub struct Outstanding(Arc<AtomicUsize>);

impl Drop for Outstanding {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Both sides.
#[must_use]
pub fn channel() -> (Inbox, Outbox) {
    let (first, first_out) = mpsc::channel(WAITING);
    let (output, output_out) = mpsc::channel(WAITING_OUTPUT);
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

    /// Hands in output of a program, waiting while too much is there already.
    pub async fn output(&self, inbound: Inbound) {
        let _ = self.output.send(inbound).await;
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
        self.outstanding.fetch_add(1, Ordering::SeqCst);
        Outstanding(Arc::clone(&self.outstanding))
    }

    /// How much is in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.outstanding.load(Ordering::SeqCst)
    }
}
