//! What happens to local sandboxes, as a stream: subscribes first, then lists, then forwards.

use super::manage::Inner;
use crate::backend::BackendEvent;
use crate::domain::FoundSandbox;
use futures_util::stream::{self, BoxStream};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;

/// Between looks at an endpoint that does not answer, at first and at most.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_secs(10);

/// What a watcher has still to say.
enum Next {
    /// A complete list.
    Snapshot,
    /// It was said that the endpoint is down.
    Retry,
    /// That it is up again; the list follows.
    List(Vec<FoundSandbox>),
    /// What happens.
    Forward,
}

struct Watching {
    inner: Arc<Inner>,
    events: broadcast::Receiver<BackendEvent>,
    next: Next,
    wait: Duration,
}

/// Watches from now on.
pub fn watch(inner: Arc<Inner>) -> BoxStream<'static, BackendEvent> {
    let events = inner.events.subscribe();
    let watching = Watching { inner, events, next: Next::Snapshot, wait: FIRST_RETRY };
    Box::pin(stream::unfold(watching, |mut watching| async move {
        let event = watching.next().await?;
        Some((event, watching))
    }))
}

impl Watching {
    async fn next(&mut self) -> Option<BackendEvent> {
        loop {
            match std::mem::replace(&mut self.next, Next::Forward) {
                Next::Snapshot => match self.inner.list().await {
                    Ok(found) => return Some(BackendEvent::Snapshot(found)),
                    Err(error) => {
                        self.next = Next::Retry;
                        return Some(BackendEvent::Down(error.message));
                    }
                },
                Next::Retry => {
                    tokio::time::sleep(self.wait).await;
                    self.wait = (self.wait * 2).min(LAST_RETRY);
                    match self.inner.list().await {
                        Ok(found) => {
                            self.wait = FIRST_RETRY;
                            self.next = Next::List(found);
                            return Some(BackendEvent::Up);
                        }
                        Err(_) => self.next = Next::Retry,
                    }
                }
                Next::List(found) => return Some(BackendEvent::Snapshot(found)),
                Next::Forward => match self.events.recv().await {
                    Ok(event) => return Some(event),
                    Err(broadcast::error::RecvError::Lagged(_)) => self.next = Next::Snapshot,
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
            }
        }
    }
}
