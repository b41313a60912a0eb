//! Conversations of a hermes-agent, from its `state.db`, which any number of its processes write at the same time.
//!
//! Read-only: one short query at a time, no transaction held, never made, never checkpointed. Columns come and go with
//! versions; a missing one is empty.

use super::moment;
use super::turns::{self, ToolCall};
use crate::domain::Moment;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Others write: a lock is waited for this long.
const PATIENCE: Duration = Duration::from_secs(1);
/// Text of a list of parts (`hermes_state.py`, `_CONTENT_JSON_PREFIX`).
const PARTS: &[u8] = b"\0json:";
/// The end of a session whose conversation goes on in another one.
const CONTINUED: &str = "compression";
/// Of what is said, this many bytes are kept: a turn shows far less of it.
const LONGEST_WORDS: usize = 64 << 10;
/// Of what a tool answers, this many bytes. The exit code of a longer one is not known.
const LONGEST_RESULT: usize = 4 << 20;
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
    /// How many messages were written in it, and how often the user took some back.
    pub written: (i64, i64),
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
        let Ok(kind) = std::fs::metadata(&path) else { return Ok(None) };
        if !kind.is_file() {
            return Err(format!("{} is no file", path.display()));
        }
        let beside = |end: &str| path.with_file_name(format!("state.db{end}"));
        if std::fs::metadata(beside("-wal")).is_ok_and(|log| log.len() > 0) && !beside("-shm").exists() {
            // SQLite would make it, and nothing in there is ours to make.
            return Err(format!(
                "{} has a log but no index beside it: it is read once its agent opens it",
                path.display()
            ));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(address(&path), flags).and_then(|connection| {
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
        let columns = [
            "id",
            "source",
            "title",
            "parent_session_id",
            "started_at",
            "ended_at",
            "end_reason",
            "cwd",
            "message_count",
            "rewind_count",
        ];
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
                written: (row.get::<_, Option<i64>>(8)?.unwrap_or(0), row.get::<_, Option<i64>>(9)?.unwrap_or(0)),
            })
        };
        let query = self.select("sessions", &columns)?;
        self.rows(&format!("{query} ORDER BY started_at DESC, id DESC"), &[], read)
    }

    /// The newest messages of a session in their order, at most that many; those that the user took back are left out.
    ///
    /// # Errors
    /// The file cannot be read now, one sentence.
    pub fn messages(&self, session: &str, most: usize) -> Result<Vec<Message>, String> {
        let columns =
            ["id", "role", "content", "tool_calls", "tool_call_id", "timestamp", "observed", "active", "compacted"];
        let read = |row: &Row<'_>| {
            let active = row.get::<_, Option<i64>>(7)?.unwrap_or(1) != 0;
            let compacted = row.get::<_, Option<i64>>(8)?.unwrap_or(0) != 0;
            let role = text(row, 1)?.unwrap_or_default();
            let most = if role == "tool" { LONGEST_RESULT } else { LONGEST_WORDS };
            let message = Message {
                id: row.get(0)?,
                content: content(row.get_ref(2)?, most),
                role,
                calls: turns::calls(&text(row, 3)?.unwrap_or_default()),
                answers: text(row, 4)?,
                at: moment(row.get::<_, Option<f64>>(5)?.unwrap_or(0.0)),
                observed: row.get::<_, Option<i64>>(6)?.unwrap_or(0) != 0,
                compacted,
            };
            Ok((active || compacted).then_some(message))
        };
        let query = self.select("messages", &columns)?;
        // The index of hermes-agent is by time; the order of messages is that of their numbers, since clocks step back.
        let newest = format!("{query} WHERE session_id = ?1 ORDER BY timestamp DESC LIMIT {most}");
        let mut all: Vec<Message> = self.rows(&newest, &[session], read)?.into_iter().flatten().collect();
        all.sort_by_key(|message| message.id);
        Ok(all)
    }

    /// How many requests of the user stand in a session from one message up to another one.
    ///
    /// # Errors
    /// The file cannot be read now, one sentence.
    pub fn requests_between(&self, session: &str, from: i64, upto: i64) -> Result<usize, String> {
        let observed = if self.has("messages", "observed")? { "AND coalesce(observed, 0) = 0" } else { "" };
        let query = format!(
            "SELECT count(*) FROM messages WHERE session_id = ?1 AND id >= {from} AND id < {upto} AND role = 'user' {observed}"
        );
        let counts = self.rows(&query, &[session], |row| row.get::<_, i64>(0))?;
        Ok(counts.first().map_or(0, |count| usize::try_from(*count).unwrap_or(0)))
    }

    /// Sessions in which something was written after a message.
    ///
    /// # Errors
    /// The file cannot be read now, one sentence.
    pub fn written_since(&self, message: i64) -> Result<BTreeSet<String>, String> {
        let query = format!("SELECT DISTINCT session_id FROM messages WHERE id > {message}");
        let all = self.rows(&query, &[], |row| text(row, 0))?;
        Ok(all.into_iter().flatten().collect())
    }

    /// The number of the newest message; 0 where there is none.
    ///
    /// # Errors
    /// The file cannot be read now, one sentence.
    pub fn last_message(&self) -> Result<i64, String> {
        let last = self.rows("SELECT max(id) FROM messages", &[], |row| row.get::<_, Option<i64>>(0))?;
        Ok(last.into_iter().flatten().next().unwrap_or(0))
    }

    fn has(&self, table: &str, column: &str) -> Result<bool, String> {
        let known: Vec<Option<String>> = self.rows(&format!("PRAGMA table_info({table})"), &[], |row| text(row, 1))?;
        Ok(known.iter().flatten().any(|name| name == column))
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

/// The address under which it is opened. A database that nobody has open is read as it is: SQLite would make the files
/// beside it that a reader of a write-ahead log needs (<https://www.sqlite.org/wal.html#read_only_databases>), and what is
/// not ours is not written to.
fn address(path: &Path) -> String {
    let mut name = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => name.push(char::from(*byte)),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    let beside = |end: &str| path.with_file_name(format!("state.db{end}")).exists();
    let unused = logs_ahead(path) && !beside("-shm");
    format!("file:{name}?mode=ro{}", if unused { "&immutable=1" } else { "" })
}

/// Whether a database has a write-ahead log (<https://www.sqlite.org/fileformat.html>, the bytes at 18 and 19).
fn logs_ahead(path: &Path) -> bool {
    let mut head = [0; 20];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head[18] == 2
}

/// Which session goes on in which other one.
pub struct Chains<'a> {
    sessions: &'a [Session],
    next: BTreeMap<&'a str, &'a Session>,
}

impl<'a> Chains<'a> {
    /// Of these sessions.
    #[must_use]
    pub fn new(sessions: &'a [Session]) -> Self {
        let ended = |one: &&Session| one.end_reason.as_deref() == Some(CONTINUED);
        let continued: BTreeSet<&str> = sessions.iter().filter(ended).map(|one| one.id.as_str()).collect();
        let mut next: BTreeMap<&str, &Session> = BTreeMap::new();
        for one in sessions {
            let Some(parent) = one.parent.as_deref().filter(|parent| continued.contains(parent)) else { continue };
            // The first that came of it; later ones are branches.
            let first = next.entry(parent).or_insert(one);
            if (one.began, &one.id) < (first.began, &first.id) {
                *first = one;
            }
        }
        Self { sessions, next }
    }

    /// A session and those in which its conversation goes on, in their order.
    #[must_use]
    pub fn from(&self, first: &'a Session) -> Vec<&'a Session> {
        let mut chain = vec![first];
        let mut known = BTreeSet::from([first.id.as_str()]);
        while let Some(next) = chain.last().and_then(|last| self.next.get(last.id.as_str())) {
            if chain.len() >= LONGEST_CHAIN || !known.insert(&next.id) {
                break;
            }
            chain.push(next);
        }
        chain
    }

    /// Sessions in which conversations begin, in the order in which they were given.
    pub fn beginnings(&self) -> impl Iterator<Item = &'a Session> {
        let later: BTreeSet<&str> = self.next.values().map(|one| one.id.as_str()).collect();
        self.sessions.iter().filter(move |one| !later.contains(one.id.as_str()))
    }
}

fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    })
}

/// The text of a message: plain, or the texts of its parts; at most that many bytes of it.
fn content(value: ValueRef<'_>, most: usize) -> String {
    let mut text = whole(value);
    if text.len() > most {
        let whole = |end: &usize| text.is_char_boundary(*end);
        text.truncate((0..=most).rev().find(whole).unwrap_or(0));
        text.shrink_to_fit();
    }
    text
}

fn whole(value: ValueRef<'_>) -> String {
    let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = value else { return String::new() };
    let parts = bytes.strip_prefix(PARTS).and_then(|json| serde_json::from_slice::<Value>(json).ok());
    let Some(parts) = parts else { return String::from_utf8_lossy(bytes).into_owned() };
    let part = |part: &Value| part["text"].as_str().or(part.as_str()).map(str::to_owned);
    match &parts {
        Value::Array(all) => all.iter().filter_map(part).collect::<Vec<_>>().join("\n"),
        one => part(one).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::{History, LONGEST_WORDS, content};
    use rusqlite::types::ValueRef;
    use std::fs;

    #[test]
    fn of_a_huge_message_the_beginning_is_kept() {
        let huge = "é".repeat(LONGEST_WORDS);
        let kept = content(ValueRef::Text(huge.as_bytes()), LONGEST_WORDS - 1);
        assert_eq!((kept.len(), kept.capacity()), (LONGEST_WORDS - 2, LONGEST_WORDS - 2));
        assert!(huge.starts_with(&kept));
        assert_eq!(content(ValueRef::Text(b"short"), LONGEST_WORDS), "short");
    }

    #[test]
    fn what_is_no_file_and_what_would_have_to_be_written_beside_is_not_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("made");
        let why = |home| History::open(home).err().expect("refused");
        assert!(why(folder.path()).contains("is no file"));
        fs::remove_file(&path).expect("removed");
        let writer = rusqlite::Connection::open(&path).expect("opened");
        writer.pragma_update(None, "journal_mode", "wal").expect("set");
        writer.execute_batch("CREATE TABLE sessions (id TEXT)").expect("made");
        let copy = tempfile::tempdir().expect("a folder");
        for end in ["", "-wal"] {
            let name = format!("state.db{end}");
            fs::copy(folder.path().join(&name), copy.path().join(&name)).expect("copied");
        }
        assert!(History::open(folder.path()).expect("it is in use").is_some());
        assert!(why(copy.path()).contains("no index beside it"));
        assert_eq!(fs::read_dir(copy.path()).expect("a folder").count(), 2, "nothing is made beside it");
    }
}
