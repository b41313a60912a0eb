//! The journal: what a host must remember over its end. SQLite, written by a thread of its own.
//!
//! The state in memory is the truth; the journal follows. What is to be written waits in memory, newest version of each
//! row only, so a stuck or full disk costs neither time nor growing memory: it is reported and tried again. Values of
//! variables are kept apart, in `secrets/` beside the journal, readable by the user alone; the journal itself holds
//! none of them, and no known token shape.

mod disk;
mod output;
mod secrets;

use crate::domain::{
    Call, CallId, Choices, Conversation, EnvId, Environment, Moment, Record, Session, SessionId, Span, State,
};
use crate::runtime::redact::redact;
use disk::Disk;
use output::OutputBuffer;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long changes are collected before they are written together.
const COLLECT: Duration = Duration::from_millis(50);
/// First and longest time until a failed write is tried again.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// Written batches between two prunings.
const PRUNE_EVERY: u32 = 500;
/// Events that wait in memory for a disk that takes nothing; older ones are dropped.
const EVENTS_WAITING: usize = 1000;
/// Troubles that wait to be read; older ones are dropped.
const TROUBLES_WAITING: usize = 32;
/// How long dropping the store waits for the last write.
const LAST_WRITE: Duration = Duration::from_secs(5);

/// Bounds of the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Commands kept.
    pub calls: u32,
    /// Age after which a command is dropped with its output.
    pub age: Span,
    /// Bytes of output kept per command: half from its beginning, half from its end.
    pub output_per_call: usize,
    /// Bytes of output kept of all commands together.
    pub output_total: u64,
    /// Events kept.
    pub events: u32,
    /// Of these, that many newest are read at the start.
    pub events_read: u32,
    /// Bytes kept of what a session showed: its end. Zero: nothing is kept, and what was is deleted.
    pub screen: usize,
    /// Bytes kept of what all sessions showed; those that were written last stay.
    pub screens_total: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls: 10_000,
            age: Span::hours(24 * 30),
            output_per_call: 64 * 1024,
            output_total: 64 * 1024 * 1024,
            events: 10_000,
            events_read: 1000,
            screen: 0,
            screens_total: 64 * 1024 * 1024,
        }
    }
}

/// What is wrong with the journal, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// What was tried and why it failed.
    pub message: String,
    /// What happens now, and what to do.
    pub hint: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

/// What the journal remembers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Restored {
    /// Environments.
    pub environments: Vec<Environment>,
    /// Conversations with their turns.
    pub conversations: Vec<Conversation>,
    /// Pane sessions.
    pub sessions: Vec<Session>,
    /// Commands.
    pub calls: Vec<Call>,
    /// What a person chose about sandboxes that are not ours.
    pub choices: Choices,
    /// Tabs and splits, as JSON.
    pub layout: Option<String>,
    /// What sessions showed, with its colours.
    pub screens: Vec<(SessionId, String)>,
    /// When it was last written; zero if never.
    pub saved_at: Moment,
    /// The newest events with their numbers, oldest first.
    pub events: Vec<(u64, Moment, Value)>,
    /// Number of the last event.
    pub last_seq: u64,
    /// It was closed in order: nothing is missing in it.
    pub clean: bool,
}

/// Which stream of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A piece of a command's output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputChunk {
    /// Which stream; `None` stands for what was left out in the middle, and its length.
    pub stream: Option<OutputStream>,
    /// The bytes; empty for what was left out.
    pub bytes: Vec<u8>,
    /// How many bytes were left out here.
    pub omitted: u64,
}

/// A row to write, or to delete.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// Write an environment.
    Environment(Box<Environment>),
    /// Write a conversation.
    Conversation(Box<Conversation>),
    /// Write a command.
    Call(Box<Call>),
    /// Write a pane session.
    Session(Box<Session>),
    /// Write what a person chose about sandboxes that are not ours.
    Choices(Box<Choices>),
    /// Delete a row.
    Delete(Record),
}

impl Change {
    /// What a record stands for in a state: its row as it is now, or its deletion.
    #[must_use]
    pub fn of(state: &State, record: &Record) -> Self {
        let found = match record {
            Record::Environment(id) => state.environments.get(id).map(|e| Self::Environment(Box::new(e.clone()))),
            Record::Conversation(id) => state.conversations.get(id).map(|c| Self::Conversation(Box::new(c.clone()))),
            Record::Call(id) => state.calls.get(id).map(|c| Self::Call(Box::new(c.clone()))),
            Record::Session(id) => state.sessions.get(id).map(|s| Self::Session(Box::new(s.clone()))),
            Record::Choices => Some(Self::Choices(Box::new(state.choices.clone()))),
        };
        found.unwrap_or_else(|| Self::Delete(record.clone()))
    }

    fn record(&self) -> Record {
        match self {
            Self::Environment(env) => Record::Environment(env.id.clone()),
            Self::Conversation(conversation) => Record::Conversation(conversation.id.clone()),
            Self::Call(call) => Record::Call(call.id.clone()),
            Self::Session(session) => Record::Session(session.id.clone()),
            Self::Choices(_) => Record::Choices,
            Self::Delete(record) => record.clone(),
        }
    }
}

/// What waits to be written.
#[derive(Debug, Default)]
struct Pending {
    now: Moment,
    changes: BTreeMap<Record, Change>,
    outputs: BTreeMap<CallId, OutputBuffer>,
    /// Values of variables, to keep them out of outputs and command lines.
    values: BTreeMap<EnvId, Vec<String>>,
    events: VecDeque<(u64, Moment, Value)>,
    layout: Option<String>,
    screens: BTreeMap<SessionId, LastScreen>,
    troubles: VecDeque<Trouble>,
    /// Who waits for what is there now to be written; dropped to tell them.
    awaited: Vec<oneshot::Sender<()>>,
    writing: bool,
    failing: bool,
    ending: bool,
}

impl Pending {
    fn is_clean(&self) -> bool {
        !self.writing && self.nothing_to_write()
    }

    fn nothing_to_write(&self) -> bool {
        self.changes.is_empty()
            && self.events.is_empty()
            && self.layout.is_none()
            && self.screens.is_empty()
            && self.outputs.values().all(|buffer| !buffer.dirty)
    }

    fn remember_values(&mut self, env: &Environment) {
        if env.spec.env.is_empty() {
            self.values.remove(&env.id);
        } else {
            self.values.insert(env.id.clone(), env.spec.env.values().cloned().collect());
        }
    }

    fn trouble(&mut self, trouble: Trouble) {
        if self.troubles.len() >= TROUBLES_WAITING {
            self.troubles.pop_front();
        }
        self.troubles.push_back(trouble);
    }
}

/// One write: everything that waited.
#[derive(Debug, Default)]
struct Batch {
    now: Moment,
    changes: BTreeMap<Record, Change>,
    outputs: Vec<(CallId, Vec<OutputChunk>)>,
    events: VecDeque<(u64, Moment, Value)>,
    layout: Option<String>,
    screens: BTreeMap<SessionId, LastScreen>,
    awaited: Vec<oneshot::Sender<()>>,
}

/// What a session showed, before secrets are taken out of it.
#[derive(Debug, Default)]
struct LastScreen {
    main: Option<String>,
    alternate: Option<String>,
    /// Values of its environment's variables.
    values: Vec<String>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    limits: Limits,
    pending: Mutex<Pending>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        // A panic elsewhere leaves the queue as it was between two statements, which is always a valid queue.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The journal. Dropping it writes what waits, within reason.
#[derive(Debug)]
pub struct Store {
    shared: Arc<Shared>,
    restored: Restored,
    writer: Option<JoinHandle<()>>,
}

impl Store {
    /// Opens the journal at `path`, and reads it. Whatever is wrong with the file, there is a store to work with: a
    /// broken or newer one is kept aside under another name and a fresh one begun; where none can be written, the
    /// host runs on without.
    #[must_use]
    pub fn open(path: &Path, limits: Limits, now: Moment) -> (Self, Vec<Trouble>) {
        let mut troubles = Vec::new();
        let (disk, restored) = Disk::open(path, limits, now, &mut troubles);
        let mut pending = Pending { now, failing: disk.is_none(), ..Pending::default() };
        restored.environments.iter().for_each(|env| pending.remember_values(env));
        let shared =
            Arc::new(Shared { path: path.to_owned(), limits, pending: Mutex::new(pending), changed: Condvar::new() });
        let worker = shared.clone();
        let writer = std::thread::Builder::new().name("journal".to_owned()).spawn(move || write_loop(&worker, disk));
        let writer = match writer {
            Ok(handle) => Some(handle),
            Err(error) => {
                troubles.push(unwritable(path, &error.to_string()));
                None
            }
        };
        (Self { shared, restored, writer }, troubles)
    }

    /// What was found when it was opened. Gives it away: a second call gives nothing.
    #[must_use]
    pub fn load(&mut self) -> Restored {
        std::mem::take(&mut self.restored)
    }

    /// Has changes written. Never waits.
    pub fn write(&self, now: Moment, changes: impl IntoIterator<Item = Change>) {
        let mut pending = self.shared.lock();
        pending.now = pending.now.max(now);
        for change in changes {
            let change = self.note(&mut pending, change);
            pending.changes.insert(change.record(), change);
        }
        drop(pending);
        self.shared.changed.notify_all();
    }

    /// Remembers what later changes and outputs need to know of this one, and takes known values out of a command.
    fn note(&self, pending: &mut Pending, mut change: Change) -> Change {
        match &mut change {
            Change::Environment(env) => pending.remember_values(env),
            Change::Delete(Record::Environment(id)) => {
                pending.values.remove(id);
            }
            Change::Delete(Record::Session(id)) => {
                pending.screens.remove(id);
            }
            Change::Session(session) => {
                let values = pending.values.get(&session.env).cloned().unwrap_or_default();
                session.program.iter_mut().for_each(|word| *word = redact(word, values.iter().map(String::as_str)));
            }
            Change::Conversation(conversation) => {
                let values = conversation.env.as_ref().and_then(|env| pending.values.get(env)).cloned();
                let values = values.unwrap_or_default();
                let prompts = conversation.turns.iter_mut().filter_map(|turn| turn.prompt.as_mut());
                for text in prompts.chain(conversation.title.as_mut()) {
                    *text = redact(text, values.iter().map(String::as_str));
                }
            }
            Change::Call(call) => {
                let values = call.env.as_ref().and_then(|env| pending.values.get(env)).cloned().unwrap_or_default();
                call.command = redact(&call.command, values.iter().map(String::as_str));
                match (call.ended, pending.outputs.get_mut(&call.id)) {
                    (Some(_), Some(buffer)) => buffer.complete = true,
                    (None, Some(buffer)) => buffer.values = values,
                    (None, None) => {
                        let buffer = OutputBuffer::new(self.shared.limits.output_per_call, values);
                        pending.outputs.insert(call.id.clone(), buffer);
                    }
                    (Some(_), None) => {}
                }
            }
            _ => {}
        }
        change
    }

    /// Has tabs and splits written. Never waits.
    pub fn write_layout(&self, layout: String) {
        self.shared.lock().layout = Some(layout);
        self.shared.changed.notify_all();
    }

    /// Has what a session showed written: its end, up to the limit. An alternate screen is kept beside the main one
    /// until that is shown again. Never waits.
    pub fn write_screen(&self, session: &SessionId, env: &EnvId, text: &str, alternate: bool) {
        let limit = self.shared.limits.screen;
        if limit == 0 {
            return;
        }
        let text = Some(last_lines(text, limit).to_owned());
        let mut pending = self.shared.lock();
        let values = pending.values.get(env).cloned().unwrap_or_default();
        let screen = pending.screens.entry(session.clone()).or_default();
        if alternate {
            (screen.alternate, screen.values) = (text, values);
        } else {
            *screen = LastScreen { main: text, alternate: None, values };
        }
        drop(pending);
        self.shared.changed.notify_all();
    }

    /// Has the rows that an effect named written as they are in the state now.
    pub fn save<'a>(&self, now: Moment, state: &State, records: impl IntoIterator<Item = &'a Record>) {
        self.write(now, records.into_iter().map(|record| Change::of(state, record)));
    }

    /// Has output of a running command written: its beginning and its end, up to the limit. Output that comes after the
    /// end of the command was written replaces what was there. Never waits.
    pub fn append_output(&self, call: &CallId, stream: OutputStream, bytes: &[u8]) {
        let limit = self.shared.limits.output_per_call;
        let mut pending = self.shared.lock();
        pending.outputs.entry(call.clone()).or_insert_with(|| OutputBuffer::new(limit, Vec::new())).push(stream, bytes);
        drop(pending);
        self.shared.changed.notify_all();
    }

    /// Has a line of the event stream written. Never waits.
    pub fn append_event(&self, seq: u64, at: Moment, line: Value) {
        let mut pending = self.shared.lock();
        pending.now = pending.now.max(at);
        if pending.events.len() >= EVENTS_WAITING {
            pending.events.pop_front();
        }
        pending.events.push_back((seq, at, line));
        drop(pending);
        self.shared.changed.notify_all();
    }

    /// The output of a command: what waits to be written, else what the journal has.
    #[must_use]
    pub fn output(&self, call: &CallId) -> Vec<OutputChunk> {
        if let Some(buffer) = self.shared.lock().outputs.get(call) {
            return buffer.chunks();
        }
        disk::read_output(&self.shared.path, call).unwrap_or_default()
    }

    /// Resolves once all that was handed in before is written, or could not be. `None` if it is already.
    #[must_use]
    pub fn written(&self) -> Option<oneshot::Receiver<()>> {
        let mut pending = self.shared.lock();
        if pending.is_clean() || pending.failing || self.writer.is_none() {
            return None;
        }
        let (told, written) = oneshot::channel();
        pending.awaited.push(told);
        drop(pending);
        self.shared.changed.notify_all();
        Some(written)
    }

    /// Troubles since the last call.
    #[must_use]
    pub fn troubles(&self) -> Vec<Trouble> {
        self.shared.lock().troubles.drain(..).collect()
    }

    /// Waits until everything is written, or tried and failed, at most so long. True if it is written.
    pub fn flush(&self, longest: Duration) -> bool {
        let until = Instant::now() + longest;
        let mut pending = self.shared.lock();
        while !pending.is_clean() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            pending = self.shared.changed.wait_timeout(pending, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.lock().ending = true;
        self.shared.changed.notify_all();
        let until = Instant::now() + LAST_WRITE;
        if let Some(writer) = self.writer.take() {
            // A disk that hangs must not keep the host from ending.
            while !writer.is_finished() && Instant::now() < until {
                std::thread::park_timeout(Duration::from_millis(5));
            }
            if writer.is_finished() {
                let _ = writer.join();
            }
        }
    }
}

/// The last whole lines of a text that fit into so many bytes.
fn last_lines(text: &str, bytes: usize) -> &str {
    let Some(over) = text.len().checked_sub(bytes).filter(|over| *over > 0) else { return text };
    // A line that was cut would have lost its colours.
    text.as_bytes()[over - 1..].iter().position(|byte| *byte == b'\n').map_or("", |at| &text[over + at..])
}

fn unwritable(path: &Path, why: &str) -> Trouble {
    Trouble {
        message: format!("cannot write the journal {}: {why}", path.display()),
        hint: "everything runs on and is tried again; until then nothing new is remembered over a restart".to_owned(),
    }
}

fn write_loop(shared: &Shared, mut disk: Option<Disk>) {
    let mut wait = RETRY.0;
    let mut batches = 0;
    loop {
        let (batch, ending) = next_batch(shared);
        let Some(batch) = batch else {
            if let Some(disk) = disk {
                disk.close();
            }
            return;
        };
        let written = match disk.as_mut() {
            Some(open) => open.write(&batch),
            None => Disk::reopen(&shared.path).and_then(|mut fresh| {
                fresh.write(&batch)?;
                disk = Some(fresh);
                Ok(())
            }),
        };
        match written {
            Ok(()) => {
                wait = RETRY.0;
                batches += 1;
                if batches % PRUNE_EVERY == 0
                    && let Some(open) = disk.as_mut()
                {
                    // Not pruning now only means to prune later.
                    let _ = open.prune(shared.limits, batch.now);
                }
                finish(shared, batch);
            }
            Err(why) => {
                // Also drops what a removed or replaced file left open.
                disk = None;
                put_back(shared, batch, &why);
                if ending {
                    return;
                }
                let pending = shared.lock();
                let ended = |pending: &mut Pending| !pending.ending;
                drop(shared.changed.wait_timeout_while(pending, wait, ended).unwrap_or_else(PoisonError::into_inner));
                wait = (wait * 2).min(RETRY.1);
            }
        }
    }
}

/// Waits for something to write and takes it; `None` when the store ends and nothing is left.
fn next_batch(shared: &Shared) -> (Option<Batch>, bool) {
    let mut pending = shared.lock();
    while pending.nothing_to_write() && !pending.ending {
        pending = shared.changed.wait(pending).unwrap_or_else(PoisonError::into_inner);
    }
    if pending.nothing_to_write() {
        return (None, true);
    }
    if !pending.ending {
        let nobody_waits = |pending: &mut Pending| !pending.ending && pending.awaited.is_empty();
        let waited = shared.changed.wait_timeout_while(pending, COLLECT, nobody_waits);
        pending = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    pending.writing = true;
    let outputs = pending
        .outputs
        .iter_mut()
        .filter(|(_, buffer)| buffer.dirty)
        .map(|(call, buffer)| {
            buffer.dirty = false;
            (call.clone(), buffer.chunks())
        })
        .collect();
    let batch = Batch {
        now: pending.now,
        changes: std::mem::take(&mut pending.changes),
        outputs,
        events: std::mem::take(&mut pending.events),
        layout: pending.layout.take(),
        screens: std::mem::take(&mut pending.screens),
        awaited: std::mem::take(&mut pending.awaited),
    };
    (Some(batch), pending.ending)
}

fn finish(shared: &Shared, batch: Batch) {
    let mut pending = shared.lock();
    pending.writing = false;
    if std::mem::take(&mut pending.failing) {
        let message = format!("the journal {} is written again", shared.path.display());
        pending.trouble(Trouble { message, hint: "nothing is lost".to_owned() });
    }
    for change in batch.changes.values() {
        if let Change::Delete(Record::Call(id)) = change {
            pending.outputs.remove(id);
        }
    }
    pending.outputs.retain(|_, buffer| buffer.dirty || !buffer.complete);
    if pending.nothing_to_write() {
        // They came while this was being written.
        pending.awaited.clear();
    }
    drop(pending);
    // This is how they learn of it.
    drop(batch.awaited);
    shared.changed.notify_all();
}

fn put_back(shared: &Shared, batch: Batch, why: &str) {
    let mut pending = shared.lock();
    pending.writing = false;
    for (record, change) in batch.changes {
        // What came since then is newer.
        pending.changes.entry(record).or_insert(change);
    }
    for (call, _) in &batch.outputs {
        if let Some(buffer) = pending.outputs.get_mut(call) {
            buffer.dirty = true;
        }
    }
    pending.awaited.clear();
    pending.layout = pending.layout.take().or(batch.layout);
    for (session, screen) in batch.screens {
        let newer = pending.screens.entry(session).or_default();
        if newer.main.is_none() {
            let alternate = newer.alternate.take().or(screen.alternate);
            *newer = LastScreen { alternate, ..screen };
        }
    }
    for event in batch.events.into_iter().rev() {
        if pending.events.len() < EVENTS_WAITING {
            pending.events.push_front(event);
        }
    }
    if !std::mem::replace(&mut pending.failing, true) {
        pending.trouble(unwritable(&shared.path, why));
    }
    drop(pending);
    shared.changed.notify_all();
}
