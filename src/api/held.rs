//! Turns that live no longer than the connection that began them: `turn.begin` with `with_connection`.

use super::server::{ConnectionId, Outgoing};
use crate::domain::{ConversationId, Request, TurnId, TurnStatus};
use crate::runtime::handle::HostHandle;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Each conversation's turn, by the connection that holds it.
type Turns = BTreeMap<ConnectionId, BTreeMap<ConversationId, TurnId>>;

/// What connections hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Held(Arc<Mutex<Turns>>);

impl Held {
    fn lock(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of this conversation ends with its connection from now on. One whose connection went away while the
    /// turn waited for its environment ends at once.
    pub(super) async fn hold(&self, host: &HostHandle, owner: &Outgoing, conversation: ConversationId, turn: TurnId) {
        self.lock().entry(owner.id()).or_default().insert(conversation, turn);
        // First remembered, then looked: whoever closes the connection does it the other way round.
        if owner.is_closed() {
            self.release(host, owner.id()).await;
        }
    }

    /// The connection is gone: what it holds is interrupted, unless another turn stands in its place by now.
    pub(super) async fn release(&self, host: &HostHandle, connection: ConnectionId) {
        let turns = self.lock().remove(&connection).unwrap_or_default();
        for (conversation, turn) in turns {
            let of = conversation.clone();
            let open = host.read(move |model, _| {
                let open = model.state.conversations.get(&of).and_then(|found| found.open_turn());
                open.is_some_and(|open| open.id == turn)
            });
            if open.await.unwrap_or(false) {
                // A host that is ending has nothing to end any more.
                let _ = host.ask(Request::EndTurn { conversation, status: TurnStatus::Interrupted }).await;
            }
        }
    }
}
