//! The journal's file: schema, migrations, reading, writing, pruning. Only the journal's thread uses it.

use super::{Batch, Change, Limits, OutputChunk, OutputStream, Restored, Trouble, secrets, unwritable};
use crate::domain::{Call, CallId, ConversationId, EnvId, Environment, Moment, Record, SessionId};
use crate::runtime::redact::redact;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, params};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Marks the file as ours ("htui").
const APPLICATION: i64 = 0x6874_7569;

/// One step for each version of the schema; `user_version` counts those done.
const MIGRATIONS: &[&str] = &[SCHEMA_1, SCHEMA_2, SCHEMA_3, SCHEMA_4];

const SCHEMA_1: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE environments (id TEXT PRIMARY KEY, name TEXT NOT NULL, data TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE conversations (id TEXT PRIMARY KEY, active INTEGER NOT NULL, data TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE calls (id TEXT PRIMARY KEY, env TEXT NOT NULL, conversation TEXT, began INTEGER NOT NULL,
        data TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX calls_by_time ON calls (began);
    CREATE TABLE outputs (call TEXT NOT NULL, seq INTEGER NOT NULL, stream INTEGER NOT NULL, bytes BLOB NOT NULL,
        omitted INTEGER NOT NULL, PRIMARY KEY (call, seq)) STRICT, WITHOUT ROWID;
    CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, data TEXT NOT NULL) STRICT;
";

const SCHEMA_2: &str = "
    CREATE TABLE choices (id TEXT PRIMARY KEY, data TEXT NOT NULL) STRICT, WITHOUT ROWID;
";

const SCHEMA_3: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY, data TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE layout (id TEXT PRIMARY KEY, data TEXT NOT NULL) STRICT, WITHOUT ROWID;
";

const SCHEMA_4: &str = "
    CREATE TABLE screens (session TEXT PRIMARY KEY, at INTEGER NOT NULL, main TEXT, alternate TEXT) STRICT;
";

/// The one row of the layout.
const LAYOUT: &str = "layout";
/// The one row of the choices.
const CHOICES: &str = "choices";

/// Why a file cannot be used.
enum Unusable {
    /// Its content is at fault: kept aside, a fresh one is begun.
    Content(String),
    /// The disk or its permissions are: tried again later.
    Place(String),
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Content(error.to_string()),
            Some(ErrorCode::Unknown) => Self::Content(error.to_string()),
            _ => Self::Place(error.to_string()),
        }
    }
}

/// The open file.
pub(super) struct Disk {
    path: PathBuf,
    connection: Connection,
}

impl Disk {
    /// Opens and reads; sets a bad file aside. `None` if the place cannot be used now.
    pub(super) fn open(
        path: &Path,
        limits: Limits,
        now: Moment,
        troubles: &mut Vec<Trouble>,
    ) -> (Option<Self>, Restored) {
        for _ in 0..2 {
            match Self::try_open(path).and_then(|disk| {
                let restored = disk.read(limits, troubles)?;
                Ok((disk, restored))
            }) {
                Ok((mut disk, restored)) => {
                    // Not pruning now only means to prune later; without the mark a crash before the first write is not seen.
                    let _ = disk.prune(limits, now).and_then(|()| disk.in_use());
                    return (Some(disk), restored);
                }
                Err(Unusable::Place(why)) => {
                    troubles.push(unwritable(path, &why));
                    return (None, read_only(path, limits, troubles).unwrap_or_default());
                }
                Err(Unusable::Content(why)) => match set_aside(path, now) {
                    Ok(kept) => troubles.push(Trouble {
                        message: format!("cannot use the journal {}: {why}", path.display()),
                        hint: format!("it is kept as {}, and a fresh one is begun", kept.display()),
                    }),
                    Err(error) => {
                        let why = format!("{why}, and it cannot be kept aside: {error}");
                        troubles.push(unwritable(path, &why));
                        return (None, Restored::default());
                    }
                },
            }
        }
        troubles.push(unwritable(path, "a fresh one cannot be used either"));
        (None, Restored::default())
    }

    /// Opens again after a failure. What the file holds is left as it is: the state in memory is newer.
    pub(super) fn reopen(path: &Path) -> Result<Self, String> {
        Self::try_open(path).map_err(|error| match error {
            Unusable::Content(why) | Unusable::Place(why) => why,
        })
    }

    fn try_open(path: &Path) -> Result<Self, Unusable> {
        // Made here, so that it never is readable by others; its companions (-wal, -shm) take its mode.
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| Unusable::Place(error.to_string()))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(2))?;
        let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (version, application) = (pragma("user_version")?, pragma("application_id")?);
        let fresh = version == 0 && application == 0;
        if fresh && connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))? > 0 {
            return Err(Unusable::Content("it is a database of another program".to_owned()));
        }
        if !fresh && application != APPLICATION {
            return Err(Unusable::Content("it is a database of another program".to_owned()));
        }
        if version > MIGRATIONS.len() as i64 {
            return Err(Unusable::Content(format!(
                "it was written by a newer version of hermes-tui (schema {version}, this one knows {})",
                MIGRATIONS.len()
            )));
        }
        if fresh {
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        }
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update_and_check(None, "journal_size_limit", 4 * 1024 * 1024, |_| Ok(()))?;
        migrate(&mut connection, version)?;
        let disk = Self { path: path.to_owned(), connection };
        disk.check()?;
        Ok(disk)
    }

    /// Looks the file over, unless the last host closed it in order.
    fn check(&self) -> Result<(), Unusable> {
        if self.meta("clean")? != Some(1) {
            let mut found: Vec<String> = Vec::new();
            let mut statement = self.connection.prepare("PRAGMA quick_check(1)")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                found.push(row.get(0)?);
            }
            if found != ["ok"] {
                return Err(Unusable::Content(format!("it is damaged: {}", found.join("; "))));
            }
        }
        Ok(())
    }

    fn meta(&self, key: &str) -> rusqlite::Result<Option<i64>> {
        self.connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0)).optional()
    }

    fn read(&self, limits: Limits, troubles: &mut Vec<Trouble>) -> Result<Restored, Unusable> {
        let mut environments: Vec<Environment> = self.rows("environments", troubles)?;
        for env in &mut environments {
            secrets::restore(&self.path, env);
        }
        let saved_at = self.meta("saved_at")?.and_then(|at| u64::try_from(at).ok()).unwrap_or(0);
        let last: Option<i64> = self.connection.query_row("SELECT max(seq) FROM events", [], |row| row.get(0))?;
        Ok(Restored {
            environments,
            conversations: self.rows("conversations", troubles)?,
            sessions: self.rows("sessions", troubles).unwrap_or_default(),
            calls: self.rows("calls", troubles)?,
            // A file that cannot be written may be of a version without them.
            choices: self.rows("choices", troubles).ok().and_then(|mut rows| rows.pop()).unwrap_or_default(),
            layout: self.layout(),
            screens: if limits.screen > 0 { self.screens().unwrap_or_default() } else { Vec::new() },
            saved_at: Moment(saved_at),
            events: self.events(limits.events_read)?,
            clean: self.meta("clean")? == Some(1),
            last_seq: last.and_then(|seq| u64::try_from(seq).ok()).unwrap_or(0),
        })
    }

    /// The newest events, oldest first; those that cannot be read are left out.
    fn events(&self, newest: u32) -> Result<Vec<(u64, Moment, Value)>, Unusable> {
        let mut statement = self.connection.prepare("SELECT seq, at, data FROM events ORDER BY seq DESC LIMIT ?1")?;
        let mut rows = statement.query([newest])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let (seq, at, data): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            if let (Ok(seq), Ok(at), Ok(line)) = (u64::try_from(seq), u64::try_from(at), serde_json::from_str(&data)) {
                all.push((seq, Moment(at), line));
            }
        }
        all.reverse();
        Ok(all)
    }

    /// Notes that it is open: the mark is taken away when it is closed in order.
    fn in_use(&self) -> rusqlite::Result<()> {
        self.connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('clean', 0)", []).map(|_| ())
    }

    fn layout(&self) -> Option<String> {
        let asked = self.connection.query_row("SELECT data FROM layout WHERE id = ?1", [LAYOUT], |row| row.get(0));
        // A file that cannot be written may be of a version without it.
        asked.optional().ok().flatten()
    }

    /// What sessions showed.
    fn screens(&self) -> rusqlite::Result<Vec<(SessionId, String)>> {
        let mut statement = self.connection.prepare("SELECT session, main, alternate FROM screens")?;
        let rows = statement.query_map([], |row| {
            let both: [Option<String>; 2] = [row.get(1)?, row.get(2)?];
            Ok((SessionId::new(row.get::<_, String>(0)?), both.into_iter().flatten().collect::<Vec<_>>().join("\n")))
        })?;
        rows.collect()
    }

    fn rows<T: DeserializeOwned>(&self, table: &str, troubles: &mut Vec<Trouble>) -> Result<Vec<T>, Unusable> {
        let mut statement = self.connection.prepare(&format!("SELECT id, data FROM {table} ORDER BY id"))?;
        let mut rows = statement.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, data): (String, String) = (row.get(0)?, row.get(1)?);
            match serde_json::from_str(&data) {
                Ok(value) => all.push(value),
                Err(error) => troubles.push(Trouble {
                    message: format!("cannot read `{id}` of {table} in the journal {}: {error}", self.path.display()),
                    hint: "it is left there as it is, and everything else is used".to_owned(),
                }),
            }
        }
        Ok(all)
    }

    /// Writes everything of a batch, or nothing.
    pub(super) fn write(&mut self, batch: &Batch) -> Result<(), String> {
        for change in batch.changes.values() {
            let done = match change {
                Change::Environment(env) => secrets::put(&self.path, env),
                Change::Delete(Record::Environment(id)) => secrets::delete(&self.path, id),
                _ => Ok(()),
            };
            done.map_err(|error| format!("the variables of an environment: {error}"))?;
        }
        self.write_rows(batch).map_err(|error| error.to_string())
    }

    fn write_rows(&mut self, batch: &Batch) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for change in batch.changes.values() {
            write_row(&transaction, change)?;
        }
        for (call, chunks) in &batch.outputs {
            transaction.prepare_cached("DELETE FROM outputs WHERE call = ?1")?.execute([call.as_str()])?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO outputs (call, seq, stream, bytes, omitted) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            for (seq, chunk) in chunks.iter().enumerate() {
                let stream = match chunk.stream {
                    None => 0,
                    Some(OutputStream::Stdout) => 1,
                    Some(OutputStream::Stderr) => 2,
                };
                insert.execute(params![call.as_str(), seq as i64, stream, chunk.bytes, signed(chunk.omitted)])?;
            }
        }
        for (seq, at, line) in &batch.events {
            transaction
                .prepare_cached("INSERT OR REPLACE INTO events (seq, at, data) VALUES (?1, ?2, ?3)")?
                .execute(params![signed(*seq), signed(at.0), line.to_string()])?;
        }
        if let Some(layout) = &batch.layout {
            transaction
                .prepare_cached("INSERT OR REPLACE INTO layout (id, data) VALUES (?1, ?2)")?
                .execute(params![LAYOUT, layout])?;
        }
        for (session, screen) in &batch.screens {
            let hide = |text: &String| redact(text, screen.values.iter().map(String::as_str));
            let (main, alternate) = (screen.main.as_ref().map(hide), screen.alternate.as_ref().map(hide));
            transaction
                .prepare_cached(
                    "INSERT INTO screens (session, at, main, alternate) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO UPDATE SET at = ?2, main = ifnull(?3, main), alternate = ?4",
                )?
                .execute(params![session.as_str(), signed(batch.now.0), main, alternate])?;
        }
        set_meta(&transaction, "saved_at", signed(batch.now.0))?;
        set_meta(&transaction, "clean", 0)?;
        transaction.commit()
    }

    /// Drops what is beyond the limits.
    pub(super) fn prune(&mut self, limits: Limits, now: Moment) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let oldest = now.0.saturating_sub(limits.age.0);
        transaction.execute("DELETE FROM calls WHERE began < ?1", [signed(oldest)])?;
        transaction.execute(
            "DELETE FROM calls WHERE id IN (SELECT id FROM calls ORDER BY began DESC, id LIMIT -1 OFFSET ?1)",
            [limits.calls],
        )?;
        transaction.execute("DELETE FROM outputs WHERE call NOT IN (SELECT id FROM calls)", [])?;
        // The newest outputs that fit into the limit together stay.
        transaction.execute(
            "DELETE FROM outputs WHERE call IN (
                SELECT call FROM (
                    SELECT call, sum(size) OVER (ORDER BY began DESC, call) AS total FROM (
                        SELECT outputs.call AS call, calls.began AS began, sum(length(outputs.bytes)) AS size
                        FROM outputs JOIN calls ON calls.id = outputs.call GROUP BY outputs.call))
                WHERE total > ?1)",
            [signed(limits.output_total)],
        )?;
        // Counted, because numbers have holes: after a host that was killed they go on with the time.
        transaction.execute(
            "DELETE FROM events WHERE seq <= (SELECT seq FROM events ORDER BY seq DESC LIMIT 1 OFFSET ?1)",
            [limits.events],
        )?;
        transaction.execute("DELETE FROM screens WHERE session NOT IN (SELECT id FROM sessions)", [])?;
        let screens = if limits.screen == 0 { 0 } else { limits.screens_total };
        transaction.execute(
            "DELETE FROM screens WHERE session IN (
                SELECT session FROM (
                    SELECT session, sum(ifnull(length(main), 0) + ifnull(length(alternate), 0)) OVER (ORDER BY at DESC, session) AS total FROM screens)
                WHERE total > ?1)",
            [signed(screens)],
        )?;
        transaction.commit()?;
        self.connection.execute_batch("PRAGMA incremental_vacuum(1000)")
    }

    /// Closes in order: the next start need not look the file over.
    pub(super) fn close(self) {
        let noted = self
            .connection
            .execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('clean', 1)", [])
            .and_then(|_| self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)"));
        if let Err(error) = noted {
            tracing::debug!(%error, "the journal was not closed in order; the next start looks it over");
        }
    }
}

/// What can be read of a journal that cannot be written. `immutable` reads the file alone, without what a crashed host
/// left beside it: older, but better than nothing.
fn read_only(path: &Path, limits: Limits, troubles: &mut Vec<Trouble>) -> Option<Restored> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let encoded: String = path
        .to_str()?
        .chars()
        .map(|c| match c {
            '?' => "%3f".to_owned(),
            '#' => "%23".to_owned(),
            '%' => "%25".to_owned(),
            other => other.to_string(),
        })
        .collect();
    let whole = Connection::open_with_flags(path, flags);
    let alone =
        || Connection::open_with_flags(format!("file:{encoded}?immutable=1"), flags | OpenFlags::SQLITE_OPEN_URI);
    let read = |connection: rusqlite::Result<Connection>, troubles: &mut Vec<Trouble>| {
        Disk { path: path.to_owned(), connection: connection.ok()? }.read(limits, troubles).ok()
    };
    let found = read(whole, troubles).or_else(|| read(alone(), troubles));
    // Nothing can be noted in it: what this host counts is not known to the next one.
    found.map(|found| Restored { clean: false, ..found })
}

fn migrate(connection: &mut Connection, version: i64) -> rusqlite::Result<()> {
    for (done, step) in MIGRATIONS.iter().enumerate().skip(usize::try_from(version).unwrap_or(0)) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", done as i64 + 1)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.commit()?;
    }
    Ok(())
}

fn set_meta(transaction: &Transaction<'_>, key: &str, value: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?
        .execute(params![key, value])
        .map(|_| ())
}

/// SQLite's integers are signed.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn write_row(transaction: &Transaction<'_>, change: &Change) -> rusqlite::Result<()> {
    match change {
        Change::Environment(env) => {
            let mut env = env.clone();
            hide_values(&mut env);
            transaction
                .prepare_cached("INSERT OR REPLACE INTO environments (id, name, data) VALUES (?1, ?2, ?3)")?
                .execute(params![env.id.as_str(), env.name, json(&env)])?;
        }
        Change::Conversation(conversation) => {
            let mut conversation = conversation.clone();
            for turn in &mut conversation.turns {
                turn.prompt = turn.prompt.as_deref().map(|prompt| redact(prompt, []));
            }
            transaction
                .prepare_cached("INSERT OR REPLACE INTO conversations (id, active, data) VALUES (?1, ?2, ?3)")?
                .execute(params![conversation.id.as_str(), signed(conversation.last_active.0), json(&conversation)])?;
        }
        Change::Call(call) => {
            let call = Call { command: redact(&call.command, []), ..(**call).clone() };
            let conversation = call.conversation.as_ref().map(ConversationId::as_str);
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO calls (id, env, conversation, began, data) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![
                    call.id.as_str(),
                    call.env.as_ref().map_or("", EnvId::as_str),
                    conversation,
                    signed(call.began.0),
                    json(&call)
                ])?;
        }
        Change::Session(session) => {
            let mut session = session.clone();
            session.program.iter_mut().for_each(|word| *word = redact(word, []));
            transaction
                .prepare_cached("INSERT OR REPLACE INTO sessions (id, data) VALUES (?1, ?2)")?
                .execute(params![session.id.as_str(), json(&session)])?;
        }
        Change::Choices(choices) => {
            transaction
                .prepare_cached("INSERT OR REPLACE INTO choices (id, data) VALUES (?1, ?2)")?
                .execute(params![CHOICES, json(choices)])?;
        }
        Change::Delete(record) => {
            let (table, id) = match record {
                Record::Environment(id) => ("environments", id.as_str()),
                Record::Conversation(id) => ("conversations", id.as_str()),
                Record::Session(id) => ("sessions", id.as_str()),
                Record::Call(id) => ("calls", id.as_str()),
                Record::Choices => ("choices", CHOICES),
            };
            transaction.execute(&format!("DELETE FROM {table} WHERE id = ?1"), [id])?;
            match record {
                Record::Call(_) => _ = transaction.execute("DELETE FROM outputs WHERE call = ?1", [id])?,
                Record::Session(_) => _ = transaction.execute("DELETE FROM screens WHERE session = ?1", [id])?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Takes the values of variables out of an environment, also where a command line repeats them.
fn hide_values(env: &mut Environment) {
    let values: Vec<String> = env.spec.env.values().cloned().collect();
    let hide = |text: &mut String| *text = redact(text, values.iter().map(String::as_str));
    env.spec.env = BTreeMap::new();
    hide(&mut env.last_activity.detail);
    for lease in &mut env.leases {
        hide(&mut lease.detail);
    }
    if let Some(failure) = &mut env.failure {
        hide(&mut failure.message);
    }
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Renames the file with its companions; gives the new name.
fn set_aside(path: &Path, now: Moment) -> std::io::Result<PathBuf> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let kept = (0..1000)
        .map(|n| if n == 0 { format!("{stem}.broken-{}.db", now.0) } else { format!("{stem}.broken-{}-{n}.db", now.0) })
        .map(|name| path.with_file_name(name))
        .find(|candidate| !candidate.exists())
        .ok_or_else(|| std::io::Error::other("there are too many broken ones already"))?;
    let with = |path: &Path, suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    fs::rename(path, &kept)?;
    for suffix in ["-wal", "-shm"] {
        match fs::rename(with(path, suffix), with(&kept, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(kept)
}

/// The output of a command, read through a connection of its own.
pub(super) fn read_output(path: &Path, call: &CallId) -> rusqlite::Result<Vec<OutputChunk>> {
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(Duration::from_secs(1))?;
    let mut statement =
        connection.prepare("SELECT stream, bytes, omitted FROM outputs WHERE call = ?1 ORDER BY seq")?;
    let rows = statement.query_map([call.as_str()], |row| {
        let stream = match row.get::<_, i64>(0)? {
            1 => Some(OutputStream::Stdout),
            2 => Some(OutputStream::Stderr),
            _ => None,
        };
        let omitted: i64 = row.get(2)?;
        Ok(OutputChunk { stream, bytes: row.get(1)?, omitted: u64::try_from(omitted).unwrap_or(0) })
    })?;
    rows.collect()
}
