//! Conversations of a hermes-agent, from its `state.db`, which any number of its processes write at the same time.
//!
//! Read-only: one short query at a time, no transaction held, never made, never checkpointed. Columns come and go with
//! versions; a missing one is empty.

use super::moment;
use super::turns::{self, ToolCall, Turn};
use crate::domain::Moment;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Others write: a lock is waited for this long.
const PATIENCE: Duration = Duration::from_secs(1);
/// Text of a list of parts (`hermes_state.py`, `_CONTENT_JSON_PREFIX`).
const PARTS: &[u8] = b"\0json:";
/// The end of a session whose conversation goes on in another one.
const CONTINUED: &str = "compression";
/// A conversation is not followed through more sessions than this.
const LONGEST_CHAIN: usize = 1000;

/// One session of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Its id, any text.
    pub id: String,
    /// Where it was begun: `cli`, `tui`, `telegram`, `cron`, ...
    pub source: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// The session that it came from.
    pub parent: Option<String>,
    /// When it began.
    pub began: Moment,
    /// When it ended.
    pub ended: Option<Moment>,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// The folder of the host that it is about.
    pub cwd: Option<String>,
}

/// One message of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// Its number: the order of messages, whatever their times say.
    pub id: i64,
    /// `user`, `assistant`, `tool`, `system`.
    pub role: String,
    /// Its text.
    pub content: String,
    /// Calls that an assistant asks for.
    pub calls: Vec<ToolCall>,
    /// The call that a tool answers.
    pub answers: Option<String>,
    /// When it was written.
    pub at: Moment,
    /// Overheard, not said to the agent.
    pub observed: bool,
    /// Summarised away; still history.
    pub compacted: bool,
}

/// A `state.db` that was opened for reading.
pub struct History {
    connection: Connection,
    path: PathBuf,
}

impl History {
    /// Opens that of a home. `None` where there is none.
    ///
    /// # Errors
    /// It cannot be opened, one sentence.
    pub fn open(home: &Path) -> Result<Option<Self>, String> {
        let path = home.join("state.db");
        if !path.exists() {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).and_then(|connection| {
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_update(None, "query_only", true)?;
            Ok(connection)
        });
        match connection {
            Ok(connection) => Ok(Some(Self { connection, path })),
            Err(error) => Err(format!("{} cannot be opened: {error}", path.display())),
        }
    }

    /// All sessions, the newest first.
    ///
    /// # Errors
    /// The file cannot be read now, one sentence.
    pub fn sessions(&self) -> Result<Vec<Session>, String> {
        let columns = ["id", "source", "title", "parent_session_id", "started_at", "ended_at", "end_reason", "cwd"];
        let read = |row: &Row<'_>| {
            Ok(Session {
                id: text(row, 0)?.unwrap_or_default(),
                source: text(row, 1)?.unwrap_or_default(),
                title: text(row, 2)?,
                parent: text(row, 3)?,
                began: moment(row.get::<_, Option<f64>>(4)?.unwrap_or(0.0)),
                ended: row.get::<_, Option<f64>>(5)?.map(moment),
                end_reason: text(row, 6)?,
                cwd: text(row, 7)?,
            })
        };
        let query = self.select("sessions", &columns)?;
        self.rows(&format!("{query} ORDER BY started_at DESC, id DESC"), &[], read)
    }

    /// Messages of a session in their order; those that the user took back are left out.
    ///
    /// # Errors
    /// The file cannot be read now, one sentence.
    pub fn messages(&self, session: &str) -> Result<Vec<Message>, String> {
        let columns =
            ["id", "role", "content", "tool_calls", "tool_call_id", "timestamp", "observed", "active", "compacted"];
        let read = |row: &Row<'_>| {
            let active = row.get::<_, Option<i64>>(7)?.unwrap_or(1) != 0;
            let compacted = row.get::<_, Option<i64>>(8)?.unwrap_or(0) != 0;
            let message = Message {
                id: row.get(0)?,
                role: text(row, 1)?.unwrap_or_default(),
                content: content(row.get_ref(2)?),
                calls: turns::calls(&text(row, 3)?.unwrap_or_default()),
                answers: text(row, 4)?,
                at: moment(row.get::<_, Option<f64>>(5)?.unwrap_or(0.0)),
                observed: row.get::<_, Option<i64>>(6)?.unwrap_or(0) != 0,
                compacted,
            };
            Ok((active || compacted).then_some(message))
        };
        let query = self.select("messages", &columns)?;
        let all = self.rows(&format!("{query} WHERE session_id = ?1 ORDER BY id"), &[session], read)?;
        Ok(all.into_iter().flatten().collect())
    }

    /// Turns of a conversation: those of a session, and of the sessions in which it goes on after it became too long.
    ///
    /// # Errors
    /// The file cannot be read now, one sentence.
    pub fn turns(&self, session: &str) -> Result<Vec<Turn>, String> {
        let sessions = self.sessions()?;
        let mut chain: Vec<&Session> = sessions.iter().filter(|one| one.id == session).collect();
        let mut known: BTreeSet<&str> = BTreeSet::new();
        while let Some(last) = chain.last().copied().filter(|_| chain.len() < LONGEST_CHAIN) {
            known.insert(&last.id);
            let goes_on = last.end_reason.as_deref() == Some(CONTINUED);
            let next = sessions.iter().filter(|one| one.parent.as_ref() == Some(&last.id) && goes_on);
            // The first that came of it; later ones are branches.
            match next.filter(|one| !known.contains(one.id.as_str())).min_by_key(|one| one.began) {
                Some(next) => chain.push(next),
                None => break,
            }
        }
        let mut messages = Vec::new();
        for one in &chain {
            messages.extend(self.messages(&one.id)?);
        }
        Ok(turns::derive(&messages, chain.last().and_then(|last| last.ended)))
    }

    /// A query of those columns, with nothing in place of columns that this version does not have.
    fn select(&self, table: &str, columns: &[&str]) -> Result<String, String> {
        let known: Vec<Option<String>> = self.rows(&format!("PRAGMA table_info({table})"), &[], |row| text(row, 1))?;
        if known.is_empty() {
            return Err(format!("{} has no table {table}", self.path.display()));
        }
        let has = |column: &str| known.iter().flatten().any(|name| name == column);
        let column = |name: &&str| if has(name) { (*name).to_owned() } else { format!("NULL AS {name}") };
        let columns: Vec<String> = columns.iter().map(column).collect();
        Ok(format!("SELECT {} FROM {table}", columns.join(", ")))
    }

    fn rows<T>(
        &self,
        query: &str,
        values: &[&str],
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, String> {
        let work = || {
            let mut statement = self.connection.prepare(query)?;
            let rows = statement.query_map(rusqlite::params_from_iter(values), |row| read(row))?;
            rows.collect::<rusqlite::Result<Vec<T>>>()
        };
        work().map_err(|error| format!("{} cannot be read: {error}", self.path.display()))
    }
}

fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    })
}

/// The text of a message: plain, or the texts of its parts.
fn content(value: ValueRef<'_>) -> String {
    let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = value else { return String::new() };
    let parts = bytes.strip_prefix(PARTS).and_then(|json| serde_json::from_slice::<Value>(json).ok());
    let Some(parts) = parts else { return String::from_utf8_lossy(bytes).into_owned() };
    let part = |part: &Value| part["text"].as_str().or(part.as_str()).map(str::to_owned);
    match &parts {
        Value::Array(all) => all.iter().filter_map(part).collect::<Vec<_>>().join("\n"),
        one => part(one).unwrap_or_default(),
    }
}
