//! What happens to the containers of this profile, from the engine's events.

use super::super::{BackendEvent, Result};
use super::arrival::Arrival;
use super::hub::News;
use super::labels;
use super::run::Shared;
use crate::domain::{FailureKind, SandboxId};
use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc;

/// Where time may bring an answer, the first retry comes after this time; each later one after twice the time of the
/// one before.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const LAST_RETRY: Duration = Duration::from_secs(60);
const REMOVED: &str = "its container was removed";
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
        let Err(error) = connection(&inner, &to, &mut line).await else { return };
        inner.hub.set_live(false);
        if !line.down {
            line.down = true;
            if to.send(BackendEvent::Down(error.message)).await.is_err() {
                return;
            }
        }
        line.wait().await;
        // Before the next try, so that what appears during it is not missed.
        line.arrival = Some(Arrival::watch(inner.places_to_watch()));
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
}

impl Default for Line {
    fn default() -> Self {
        Self { down: false, pause: FIRST_RETRY, arrival: None }
    }
}

impl Line {
    /// Waits until another try may succeed: at once after the loss of a connection, else when something changed where
    /// an engine may appear. The clock is looked at only where something is there that does not answer.
    async fn wait(&mut self) {
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
    let filters = HashMap::from([
        ("type".to_owned(), texts(&["container"])),
        ("label".to_owned(), vec![labels::filter(&inner.profile)]),
        // Podman filters by names of its own.
        ("event".to_owned(), texts(&["start", "die", "died", "destroy", "remove", "exec_die", "exec_died"])),
    ]);
    let options = EventsOptionsBuilder::default().filters(&filters).build();
    let mut events = Box::pin(engine.docker.events(Some(options)));
    // The subscription is on its way before the first answer comes: what happens after the list is not missed.
    let mut early = Vec::new();
    let list = async {
        let pong = engine.docker.ping().await;
        pong.map_err(|error| inner.engines.failed("asking the engine", &error))?;
        inner.list().await
    };
    tokio::pin!(list);
    let found = loop {
        tokio::select! {
            biased;
            event = events.next() => early.push(taken(inner, event)?),
            found = &mut list => break found?,
        }
    };
    line.pause = FIRST_RETRY;
    line.arrival = None;
    inner.hub.set_live(true);
    // What ended meanwhile is not announced any more: the engine's memory of events ends with it.
    inner.hub.tell(News::LookAgain);
    if std::mem::take(&mut line.down) && to.send(BackendEvent::Up).await.is_err() {
        return Ok(());
    }
    if to.send(BackendEvent::Snapshot(found)).await.is_err() {
        return Ok(());
    }
    for event in early {
        if !forward(inner, to, event).await? {
            return Ok(());
        }
    }
    loop {
        let event = taken(inner, events.next().await)?;
        if !forward(inner, to, event).await? {
            return Ok(());
        }
    }
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

/// False when nobody listens any more.
async fn forward(inner: &Shared, to: &mpsc::Sender<BackendEvent>, event: EventMessage) -> Result<bool> {
    let actor = event.actor.unwrap_or_default();
    let attributes = actor.attributes.unwrap_or_default();
    let Some(id) = actor.id else { return Ok(true) };
    let ended = |removed, why: String| BackendEvent::Ended { sandbox: SandboxId::new(&id), removed, why };
    let event = match event.action.as_deref() {
        Some("exec_die") => {
            if let Some(exec) = attributes.get("execID").filter(|exec| inner.is_own_exec(exec, "")) {
                inner.hub.tell(News::Ended(exec.clone()));
            }
            return Ok(true);
        }
        // Podman's does not say which exec it was.
        Some("exec_died") => {
            inner.hub.tell(News::EndedIn(id));
            return Ok(true);
        }
        Some("die") if inner.is_going(&id).await => ended(true, REMOVED.to_owned()),
        Some("die") => {
            let why = match attributes.get("exitCode").map(String::as_str) {
                Some("137") => "its container was killed".to_owned(),
                Some("143" | "0") | None => "its container was stopped".to_owned(),
                Some(code) => format!("its container ended with exit code {code}"),
            };
            ended(false, why)
        }
        Some("destroy" | "remove") => ended(true, REMOVED.to_owned()),
        Some("start") => match inner.list().await {
            Ok(found) => BackendEvent::Snapshot(found),
            Err(error) if error.kind == FailureKind::Unreachable => return Err(error),
            Err(error) => {
                tracing::warn!("{error}");
                return Ok(true);
            }
        },
        _ => return Ok(true),
    };
    Ok(to.send(event).await.is_ok())
}
