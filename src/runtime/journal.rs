//! The loop's side of the journal: what changed goes to the store, what it remembers comes back as an event.

use super::event_log::{Happening, KEPT};
use super::store::{Limits, OutputStream, Store};
use crate::app::{Layout, Msg, Stream};
use crate::domain::{CallId, EnvId, Event, Moment, Notice, Record, SessionId, State};
use crate::term::Screen;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long the end of the host waits for the last write.
const LAST_WRITE: Duration = Duration::from_secs(5);
/// Of what a session showed, that many bytes are kept, where it is.
const SCREEN: usize = 1024 * 1024;
/// Of that many newest commands the output is shown again after a start.
const SHOWN_AGAIN: usize = 200;

/// The journal of one host; without a store nothing is remembered (for tests).
pub struct Journal {
    store: Option<Store>,
    at_open: Vec<String>,
    events: Vec<Happening>,
    last_seq: u64,
}

impl Journal {
    /// Opens the journal and gives what it remembers, oldest first: one event for the core, then tabs and splits, what
    /// sessions showed (if that is kept: `screens`), and the output of the newest commands for the feed.
    #[must_use]
    pub fn open(path: &Path, screens: bool, now: Moment) -> (Self, Vec<Msg>) {
        let screen = if screens { SCREEN } else { 0 };
        let limits = Limits { events_read: KEPT as u32, screen, ..Limits::default() };
        let (mut store, troubles) = Store::open(path, limits, now);
        let restored = store.load();
        let newest = restored.calls.iter().rev().take(SHOWN_AGAIN).map(|call| call.id.clone());
        let outputs: Vec<Msg> = newest.collect::<Vec<_>>().iter().rev().flat_map(|call| output(&store, call)).collect();
        let event = Event::Restored {
            environments: restored.environments,
            conversations: restored.conversations,
            sessions: restored.sessions,
            calls: restored.calls,
            choices: restored.choices,
            saved_at: restored.saved_at,
        };
        let happening =
            |(seq, at, notice)| serde_json::from_value(notice).ok().map(|notice| Happening { seq, at, notice });
        let events = restored.events.into_iter().filter_map(happening).collect();
        // What a host counted that was killed may not have been written: numbers go on where it cannot have been.
        let last_seq = if restored.clean { restored.last_seq } else { restored.last_seq.max(now.0) };
        let at_open = troubles.iter().map(ToString::to_string).collect();
        let layout = restored.layout.and_then(|text| serde_json::from_str(&text).ok()).map(Msg::LayoutRestored);
        let screens = restored.screens.into_iter().map(|(session, text)| Msg::ScreenRestored { session, text });
        let msgs = std::iter::once(Msg::Domain(event)).chain(layout).chain(screens).chain(outputs).collect();
        (Self { store: Some(store), at_open, events, last_seq }, msgs)
    }

    /// Remembers nothing.
    #[must_use]
    pub fn none() -> Self {
        Self { store: None, at_open: Vec::new(), events: Vec::new(), last_seq: 0 }
    }

    /// The newest events of earlier hosts, oldest first. Gives them away: a second call gives none.
    pub fn take_events(&mut self) -> Vec<Happening> {
        std::mem::take(&mut self.events)
    }

    /// The number that the count of earlier hosts reached at most.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Has changed rows written.
    pub fn save(&self, state: &State, records: &BTreeSet<Record>, now: Moment) {
        if let Some(store) = &self.store {
            store.save(now, state, records);
        }
    }

    /// Has tabs and splits written.
    pub fn save_layout(&self, layout: &Layout) {
        if let (Some(store), Ok(text)) = (&self.store, serde_json::to_string(layout)) {
            store.write_layout(text);
        }
    }

    /// Has what a session showed written, if that is kept.
    pub fn save_screen(&self, session: &SessionId, env: &EnvId, screen: &Screen) {
        if let Some(store) = &self.store {
            store.write_screen(session, env, &screen.history_ansi(), screen.modes().alternate_screen);
        }
    }

    /// Has a command's output written.
    pub fn output(&self, call: &CallId, stream: Stream, bytes: &[u8]) {
        if let Some(store) = &self.store {
            let stream = match stream {
                Stream::Out => OutputStream::Stdout,
                Stream::Err => OutputStream::Stderr,
            };
            store.append_output(call, stream, bytes);
        }
    }

    /// Has a happening written.
    pub fn event(&self, seq: u64, at: Moment, notice: &Notice) {
        if let (Some(store), Ok(line)) = (&self.store, serde_json::to_value(notice)) {
            store.append_event(seq, at, line);
        }
    }

    /// Resolves once everything so far is written, or could not be. `None` if it is already.
    pub fn written(&self) -> Option<oneshot::Receiver<()>> {
        self.store.as_ref()?.written()
    }

    /// What went wrong since this was last asked, for people.
    pub fn troubles(&mut self) -> Vec<String> {
        let mut all = std::mem::take(&mut self.at_open);
        if let Some(store) = &self.store {
            all.extend(store.troubles().iter().map(ToString::to_string));
        }
        all
    }

    /// Writes what waits.
    pub fn close(&self) {
        if let Some(store) = &self.store
            && !store.flush(LAST_WRITE)
        {
            tracing::warn!("the journal could not be written whole");
        }
    }
}

fn output(store: &Store, call: &CallId) -> Vec<Msg> {
    let chunk = |chunk: super::store::OutputChunk| {
        let (stream, bytes) = match chunk.stream {
            Some(OutputStream::Stdout) => (Stream::Out, chunk.bytes),
            Some(OutputStream::Stderr) => (Stream::Err, chunk.bytes),
            None => (Stream::Out, format!("\n… {} bytes were not kept …\n", chunk.omitted).into_bytes()),
        };
        Msg::CallOutput { call: call.clone(), stream, bytes }
    };
    store.output(call).into_iter().map(chunk).collect()
}
