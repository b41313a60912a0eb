//! How everything above reaches the loop: ask the core, read the model, run a command, type, follow.

use super::calls::ExecRequest;
use super::event_log::{Happening, Subscriber};
use super::inbound::{Inbound, Inbox};
use crate::app::Model;
use crate::domain::{Answer, Event, Moment, Refusal, RefusalKind, Request, SessionId};
use tokio::sync::{mpsc, oneshot};

/// A happening waits in a queue this long before its follower is dropped.
const FOLLOW: usize = 1024;

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

    /// Follows what happens; also what came after `after`, as far as it is kept. A follower that does not read is
    /// dropped: its receiver ends.
    pub async fn follow(&self, after: Option<u64>) -> mpsc::Receiver<Happening> {
        let (to, from) = mpsc::channel(FOLLOW);
        self.inbox.send(Inbound::Subscribe(Subscriber { after, to })).await;
        from
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
