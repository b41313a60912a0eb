//! Follows the engine's events, for as long as somebody listens and again after each loss of the connection.

use super::super::{BackendEvent, Result};
use super::arrival::Arrival;
use super::feed;
use super::hub::News;
use super::run::Shared;
use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Where time may bring an answer, the first retry comes after this time; each later one after twice the time of the
/// one before.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const LAST_RETRY: Duration = Duration::from_secs(60);
/// A connection that is lost sooner than this is not taken up again at once.
const SOON: Duration = Duration::from_secs(1);
/// Events that wait for whoever watches.
const BACKLOG: usize = 256;

/// Follows the engine for as long as somebody listens.
pub fn watch(inner: Shared) -> BoxStream<'static, BackendEvent> {
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let begin = Some((inner, sender));
    Box::pin(stream::unfold((begin, receiver), |(mut begin, mut receiver)| async move {
        if let Some((inner, sender)) = begin.take() {
            tokio::spawn(async move {
                let listened_to = sender.clone();
                tokio::select! {
                    () = follow(inner.clone(), sender) => {}
                    () = listened_to.closed() => {}
                }
                inner.hub.set_live(false);
            });
        }
        let event = receiver.recv().await?;
        Some((event, (begin, receiver)))
    }))
}

async fn follow(inner: Shared, to: mpsc::Sender<BackendEvent>) {
    let mut line = Line::default();
    loop {
        inner.engines.my_turn().await;
        let Err(error) = connection(&inner, &to, &mut line).await else { return };
        inner.hub.set_live(false);
        if inner.engines.twin().is_some() {
            // Another endpoint tells of this engine.
            continue;
        }
        if !line.down && inner.engines.is_expected() {
            line.down = true;
            if to.send(BackendEvent::Down(error.message)).await.is_err() {
                return;
            }
        }
        line.wait().await;
        // Before the next try, so that what appears during it is not missed.
        line.arrival = Some(Arrival::watch(&inner.engines.places()));
    }
}

/// How it stands with the connection.
struct Line {
    /// Nobody answers, and that was said.
    down: bool,
    /// Until the next retry.
    pause: Duration,
    /// Set before the last try.
    arrival: Option<Arrival>,
    /// Since when the connection stands, until its loss was dealt with.
    since: Option<Instant>,
}

impl Default for Line {
    fn default() -> Self {
        Self { down: false, pause: FIRST_RETRY, arrival: None, since: None }
    }
}

impl Line {
    /// Waits until another try may succeed: at once after the loss of a connection, else when something changed where
    /// an engine may appear. The clock is looked at only where something is there that does not answer.
    async fn wait(&mut self) {
        if let Some(since) = self.since.take() {
            if since.elapsed() >= SOON {
                self.pause = FIRST_RETRY;
            } else {
                tokio::time::sleep(self.pause).await;
                self.pause = (self.pause * 2).min(LAST_RETRY);
            }
            return;
        }
        let Some(arrival) = self.arrival.take() else { return };
        if arrival.is_certain() {
            arrival.changed().await;
            self.pause = FIRST_RETRY;
            return;
        }
        tokio::select! {
            () = arrival.changed() => self.pause = FIRST_RETRY,
            () = tokio::time::sleep(self.pause) => self.pause = (self.pause * 2).min(LAST_RETRY),
        }
    }
}

/// Subscribes, lists, then forwards until the connection ends. `Ok` when nobody listens any more.
async fn connection(inner: &Shared, to: &mpsc::Sender<BackendEvent>, line: &mut Line) -> Result<()> {
    let engine = inner.engine().await?;
    let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    let filters =
        HashMap::from([("type".to_owned(), texts(&["container"])), ("event".to_owned(), texts(&feed::WANTED))]);
    let options = EventsOptionsBuilder::default().filters(&filters).build();
    let mut events = Box::pin(engine.docker.events(Some(options)));
    // The subscription is on its way before the first answer comes: what happens after the list is not missed.
    let mut early = Vec::new();
    let list = async {
        let pong = engine.docker.ping().await;
        pong.map_err(|error| inner.engines.failed("asking the engine", &error))?;
        inner.listing(&engine).await
    };
    tokio::pin!(list);
    let found = loop {
        tokio::select! {
            biased;
            event = events.next() => early.push(taken(inner, event)?),
            found = &mut list => break found?,
        }
    };
    line.arrival = None;
    line.since = Some(Instant::now());
    inner.hub.set_live(true);
    // What ended meanwhile is not announced any more: the engine's memory of events ends with it.
    inner.hub.tell(News::LookAgain);
    if std::mem::take(&mut line.down) && to.send(BackendEvent::Up).await.is_err() {
        return Ok(());
    }
    let mut listened_to = feed::recount(inner, &engine, to, found).await?;
    for event in early {
        listened_to = listened_to && feed::forward(inner, to, event).await?;
    }
    while listened_to {
        listened_to = tokio::select! {
            event = events.next() => feed::forward(inner, to, taken(inner, event)?).await?,
            () = inner.others.changed() => feed::relist(inner, to).await?,
            () = feed::due(inner) => feed::relist(inner, to).await?,
        };
    }
    Ok(())
}

fn taken(
    inner: &Shared,
    event: Option<std::result::Result<EventMessage, bollard::errors::Error>>,
) -> Result<EventMessage> {
    match event {
        Some(Ok(event)) => Ok(event),
        Some(Err(error)) => Err(inner.engines.failed("following the engine's events", &error)),
        // The engine ended, or starts again: the next connection asks who it is.
        None => Err(inner.engines.hung_up()),
    }
}
