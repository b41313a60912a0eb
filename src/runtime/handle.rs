//! How everything above reaches the loop: ask the core, read the model, run a command, type, follow.

use super::calls::ExecRequest;
use super::event_log::{Happening, Past, Subscriber};
use super::inbound::{Inbound, Inbox};
use super::screen::ClientScreen;
use super::{discovery, terminal};
use crate::app::{ClientId, Model, Msg, Role};
use crate::backend::Backend;
use crate::domain::{Answer, Event, Moment, Refusal, RefusalKind, Request, SessionId};
use crossterm::event::Event as TermEvent;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};

/// A happening waits in a queue this long before its follower is dropped.
const FOLLOW: usize = 1024;

/// What somebody who follows is given.
pub struct Following {
    /// What was missed, or what of it cannot be told any more.
    pub past: Vec<Past>,
    /// The number of the last happening so far.
    pub last: u64,
    /// What comes. It ends when its follower does not read, and with the host.
    pub coming: mpsc::Receiver<Happening>,
}

/// Numbers of clients up to this one are for terminals of the host's own process.
const LOCAL_CLIENTS: u64 = 1;

/// Reaches one host's loop. Cheap to clone.
#[derive(Clone)]
pub struct HostHandle {
    inbox: Inbox,
}

fn ended() -> Refusal {
    Refusal::new(RefusalKind::Failed, "the host is ending", "start it again with hermes-tui or hermes-tui serve")
}

impl HostHandle {
    /// For this inbox.
    #[must_use]
    pub fn new(inbox: Inbox) -> Self {
        Self { inbox }
    }

    /// Asks the core for something and waits for the answer, however long it takes.
    ///
    /// # Errors
    /// The core's refusal, or that the host is ending.
    pub async fn ask(&self, request: Request) -> Result<Answer, Refusal> {
        let (reply, answer) = oneshot::channel();
        self.inbox.send(Inbound::Ask(Box::new(request), reply)).await;
        match answer.await {
            Ok(Answer::Refused(refusal)) => Err(refusal),
            Ok(answer) => Ok(answer),
            Err(_) => Err(ended()),
        }
    }

    /// Tells the core what happened.
    pub async fn tell(&self, event: Event) {
        self.inbox.event(event).await;
    }

    /// Reads the model between two events.
    ///
    /// # Errors
    /// When the host is ending.
    pub async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Model, Moment) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (reply, answer) = oneshot::channel();
        let look = move |model: &Model, now: Moment| {
            let _ = reply.send(look(model, now));
        };
        self.inbox.send(Inbound::Read(Box::new(look))).await;
        answer.await.map_err(|_| ended())
    }

    /// Waits until `look` finds something in the model. It is asked after everything that happens, and no longer once
    /// nobody waits for the answer.
    ///
    /// # Errors
    /// When the host is ending.
    pub async fn when<T: Send + 'static>(
        &self,
        mut look: impl FnMut(&Model, Moment) -> Option<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (reply, answer) = oneshot::channel();
        let mut reply = Some(reply);
        let condition = move |model: &Model, now: Moment| {
            if reply.as_ref().is_none_or(oneshot::Sender::is_closed) {
                return true;
            }
            let Some(found) = look(model, now) else { return false };
            if let Some(reply) = reply.take() {
                let _ = reply.send(found);
            }
            true
        };
        self.inbox.send(Inbound::When(Box::new(condition))).await;
        answer.await.map_err(|_| ended())
    }

    /// Runs a command; what becomes of it arrives at the request's own channel.
    pub async fn exec(&self, request: ExecRequest) {
        self.inbox.send(Inbound::Exec(Box::new(request))).await;
    }

    /// Types into a session.
    ///
    /// # Errors
    /// No such session, it has ended, or its program does not read.
    pub async fn send_keys(&self, session: SessionId, bytes: Vec<u8>) -> Result<(), Refusal> {
        let (reply, answer) = oneshot::channel();
        self.inbox.send(Inbound::SendKeys(session, bytes, reply)).await;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    /// A number for another terminal.
    #[must_use]
    pub fn new_client() -> ClientId {
        static LAST: AtomicU64 = AtomicU64::new(LOCAL_CLIENTS);
        ClientId(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Attaches a terminal, to one session alone where one is named. It is drawn until it detaches, or
    /// [`HostHandle::gone`] is called.
    pub async fn attach(&self, client: ClientId, screen: ClientScreen, role: Role, only: Option<SessionId>) {
        self.inbox.send(Inbound::Attach(client, Box::new(screen), role, only)).await;
    }

    /// Hands on what a terminal sends.
    pub async fn terminal_event(&self, client: ClientId, event: TermEvent) {
        if let Some(msg) = terminal::message(client, event) {
            self.inbox.send(Inbound::Msg(msg)).await;
        }
    }

    /// Says whether anybody is connected to the socket.
    pub async fn connected(&self, any: bool) {
        self.inbox.send(Inbound::Connected(any)).await;
    }

    /// Tells the screen something.
    pub async fn tell_screen(&self, msg: Msg) {
        self.inbox.send(Inbound::Msg(msg)).await;
    }

    /// A terminal took the last frame.
    pub async fn drained(&self, client: ClientId) {
        self.inbox.send(Inbound::Drained(client)).await;
    }

    /// A terminal was cleared.
    pub async fn cleared(&self, client: ClientId) {
        self.inbox.send(Inbound::Cleared(client)).await;
    }

    /// A terminal is gone.
    pub async fn gone(&self, client: ClientId) {
        self.inbox.send(Inbound::Gone(client)).await;
    }

    /// Finds out what is on this machine, for the welcome.
    pub fn look_around(&self, backends: Vec<Arc<dyn Backend>>) {
        discovery::look_around(backends, self.inbox.clone());
    }

    /// Follows what happens; also what came after `after`, as far as it is kept.
    pub async fn follow(&self, after: Option<u64>) -> Following {
        let (to, coming) = mpsc::channel(FOLLOW);
        let (past, told) = oneshot::channel();
        self.inbox.send(Inbound::Subscribe(Subscriber { after, past, to })).await;
        let (past, last) = told.await.unwrap_or_else(|_| (Vec::new(), after.unwrap_or(0)));
        Following { past, last, coming }
    }

    /// What is wrong beside the core (journal, configuration), for people.
    #[must_use]
    pub fn troubles(&self) -> Vec<String> {
        self.inbox.troubles()
    }

    /// Resolves when the host has ended.
    pub async fn ended(&self) {
        self.inbox.closed().await;
    }

    /// Whether the host has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.inbox.is_closed()
    }

    /// Tells the process to end as if by SIGTERM.
    pub async fn terminate(&self) {
        self.inbox.send(Inbound::Terminate).await;
    }

    /// Waits until nothing is in flight: for tests.
    pub async fn settled(&self) -> Option<super::inbound::Settled> {
        let (reply, answer) = oneshot::channel();
        self.inbox.send(Inbound::Settled(reply)).await;
        answer.await.ok()
    }
}
