//! The journal keeps what it is given, within its bounds, and survives bad files and bad disks.

#![allow(clippy::unwrap_used, reason = "a test that finds what it does not expect must fail")]

use hermes_tui::domain::{
    Begin, Call, CallId, CallSource, Conversation, ConversationId, EnvId, EnvSpec, Environment, Event, Generation,
    Moment, Record, ReplyTo, Request, SandboxId, Session, SessionId, SessionState, Size, Span, State, Turn, TurnId,
    TurnSource, TurnStatus,
};
use hermes_tui::runtime::store::{Change, Limits, OutputStream, Restored, Store, Trouble};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const NOW: Moment = Moment(1_800_000_000_000);
const PATIENCE: Duration = Duration::from_secs(20);

/// An environment as the core makes it.
fn environment(id: &str) -> Environment {
    let mut state = State::default();
    let (env, name) = (EnvId::new(id), Some(format!("name-of-{id}")));
    let request = Request::NewEnvironment { id: env.clone(), name, spec: Box::new(EnvSpec::local()) };
    state.apply(NOW, Event::Requested { reply: ReplyTo::NOBODY, request });
    let generation = state.environments[&env].generation;
    state.apply(NOW, Event::Provisioned { env: env.clone(), generation, sandbox: SandboxId::new("s1") });
    state.environments.remove(&env).unwrap()
}

fn conversation(id: &str, prompt: &str) -> Conversation {
    let turn = Turn {
        id: TurnId::new("t1"),
        number: 1,
        began: NOW,
        ended: None,
        status: TurnStatus::Running,
        prompt: Some(prompt.to_owned()),
        source: TurnSource::Api,
        lease_ttl: Span::seconds(3600),
        env: Some(EnvId::new("e1")),
        taken_over: Vec::new(),
    };
    Conversation {
        id: ConversationId::new(id),
        title: Some("a title".to_owned()),
        kind: None,
        env: Some(EnvId::new("e1")),
        rule: Some("rule 1 (kind = \"main\")".into()),
        session: None,
        turns: vec![turn],
        last_active: NOW,
        ended: None,
        agent: None,
    }
}

fn call(id: &str, command: &str, began: Moment) -> Call {
    Call {
        id: CallId::new(id),
        env: Some(EnvId::new("e1")),
        conversation: None,
        turn: None,
        command: command.to_owned(),
        cwd: Some("/workspace".to_owned()),
        began,
        ended: None,
        exit_code: None,
        source: CallSource::Exec,
        count: 1,
        asked_as: None,
    }
}

fn ended(mut call: Call) -> Change {
    call.ended = Some(call.began + Span::seconds(1));
    call.exit_code = Some(0);
    Change::Call(Box::new(call))
}

fn open(path: &Path) -> Store {
    let (store, troubles) = Store::open(path, Limits::default(), NOW);
    assert_eq!(troubles, []);
    store
}

fn reopened(path: &Path) -> Restored {
    open(path).load()
}

fn bytes(store: &Store, call: &str) -> Vec<u8> {
    store.output(&CallId::new(call)).iter().flat_map(|chunk| chunk.bytes.clone()).collect()
}

fn wait_for_trouble(store: &Store, words: &str) -> Trouble {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = store.troubles().into_iter().find(|trouble| trouble.message.contains(words)) {
            return found;
        }
        assert!(Instant::now() < end, "no trouble says {words:?}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Files beside the journal whose name tells that they were kept aside.
fn kept_aside(path: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|p| p.file_name().unwrap().to_string_lossy().contains("broken-") && p.extension().unwrap() == "db")
        .collect()
}

#[test]
fn what_is_written_is_there_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let (env, talk, exec) = (environment("e1"), conversation("c1", "make it so"), call("x1", "ls", NOW));
    let mut store = open(&path);
    assert_eq!(store.load(), Restored::default());
    let changes = [
        Change::Environment(env.clone().into()),
        Change::Conversation(talk.clone().into()),
        Change::Call(exec.clone().into()),
    ];
    store.write(NOW + Span::seconds(7), changes);
    store.append_output(&exec.id, OutputStream::Stdout, b"out");
    store.append_output(&exec.id, OutputStream::Stderr, b"err");
    store.append_event(41, NOW, serde_json::json!({"seq": 41}));
    drop(store);

    let mut store = open(&path);
    let restored = store.load();
    assert_eq!(restored.environments, [env]);
    assert_eq!(restored.conversations, [talk]);
    assert_eq!(restored.calls, [exec]);
    assert_eq!(restored.saved_at, NOW + Span::seconds(7));
    assert_eq!(restored.last_seq, 41);
    let output = store.output(&CallId::new("x1"));
    assert_eq!(
        output.iter().map(|c| (c.stream, c.bytes.as_slice())).collect::<Vec<_>>(),
        [(Some(OutputStream::Stdout), b"out".as_slice()), (Some(OutputStream::Stderr), b"err".as_slice()),]
    );
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_row_that_the_state_has_no_more_is_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let mut state = State::default();
    let (kept, gone) = (environment("e1"), environment("e2"));
    state.environments.insert(kept.id.clone(), kept.clone());
    let store = open(&path);
    store.write(NOW, [Change::Environment(kept.clone().into()), Change::Environment(gone.clone().into())]);
    assert!(store.flush(PATIENCE));
    store.save(NOW, &state, &[Record::Environment(kept.id.clone()), Record::Environment(gone.id)]);
    drop(store);
    assert_eq!(reopened(&path).environments, [kept]);
}

#[test]
fn what_is_said_to_be_written_is_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let store = open(&path);
    assert!(store.written().is_none(), "nothing is to be written");
    for n in 0..20 {
        let id = format!("e{n}");
        store.write(NOW, [Change::Environment(environment(&id).into())]);
        if let Some(written) = store.written() {
            let _ = written.blocking_recv();
        }
        // As it is for whoever comes after a kill at this moment.
        let copy = tempfile::tempdir().unwrap();
        for file in ["journal.db", "journal.db-wal"] {
            let _ = fs::copy(dir.path().join(file), copy.path().join(file));
        }
        let known = reopened(&copy.path().join("journal.db")).environments;
        assert!(known.iter().any(|env| env.id.as_str() == id), "{id} is missing");
    }
}

#[test]
fn a_host_that_was_killed_loses_nothing_that_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let store = open(&path);
    store.write(NOW, [Change::Environment(environment("e1").into())]);
    assert!(store.flush(PATIENCE));
    // As after a kill: neither closed nor checkpointed, the rows are in the write-ahead log only.
    let crashed = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(dir.path()).unwrap() {
        let from = entry.unwrap().path();
        fs::copy(&from, crashed.path().join(from.file_name().unwrap())).unwrap();
    }
    assert_eq!(reopened(&crashed.path().join("journal.db")).environments, [environment("e1")]);
}

#[test]
fn a_broken_file_is_kept_aside_and_a_fresh_one_begun() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let garbage: Vec<u8> = (0..8192u32).map(|n| (n * 7 % 251) as u8).collect();
    fs::write(&path, &garbage).unwrap();
    let (mut store, troubles) = Store::open(&path, Limits::default(), NOW);
    let [trouble] = troubles.as_slice() else { panic!("{troubles:?}") };
    let aside = kept_aside(&path);
    assert_eq!(aside.len(), 1, "{aside:?}");
    assert!(trouble.to_string().contains(&aside[0].display().to_string()), "{trouble}");
    assert_eq!(fs::read(&aside[0]).unwrap(), garbage);
    assert_eq!(store.load(), Restored::default());
    store.write(NOW, [Change::Environment(environment("e1").into())]);
    drop(store);
    assert_eq!(reopened(&path).environments, [environment("e1")]);
}

#[test]
fn a_damaged_page_is_noticed_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let store = open(&path);
    store.write(NOW, (0..200).map(|n| Change::Environment(environment(&format!("e{n}")).into())));
    drop(store);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE meta SET value = 0 WHERE key = 'clean'", []).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(connection);
    let mut content = fs::read(&path).unwrap();
    let middle = content.len() / 2 / 4096 * 4096;
    content[middle..middle + 4096].fill(0xee);
    fs::write(&path, &content).unwrap();
    let (_store, troubles) = Store::open(&path, Limits::default(), NOW);
    assert!(troubles.iter().any(|t| t.hint.contains("kept as")), "{troubles:?}");
    assert_eq!(fs::read(&kept_aside(&path)[0]).unwrap(), content);
}

#[test]
fn a_file_of_a_newer_version_or_another_program_is_kept_aside() {
    for (sql, words) in [
        ("PRAGMA user_version = 999", "newer version"),
        ("PRAGMA application_id = 7; CREATE TABLE theirs (a)", "another program"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.db");
        drop(open(&path));
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let (mut store, troubles) = Store::open(&path, Limits::default(), NOW);
        assert!(troubles.iter().any(|t| t.message.contains(words)), "{troubles:?}");
        assert_eq!(store.load(), Restored::default());
        assert_eq!(kept_aside(&path).len(), 1);
    }
}

#[test]
fn one_unreadable_row_costs_only_itself() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let store = open(&path);
    store.write(NOW, ["e1", "e2"].map(|id| Change::Environment(environment(id).into())));
    drop(store);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE environments SET data = '{\"id\": 5}' WHERE id = 'e1'", []).unwrap();
    drop(connection);
    let (mut store, troubles) = Store::open(&path, Limits::default(), NOW);
    assert!(troubles[0].message.contains("`e1`"), "{troubles:?}");
    assert_eq!(store.load().environments, [environment("e2")]);
    assert_eq!(kept_aside(&path), [] as [PathBuf; 0]);
}

#[test]
fn output_is_bounded_to_its_beginning_and_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let store = open(&path);
    let exec = call("x1", "yes", NOW);
    store.write(NOW, [Change::Call(exec.clone().into())]);
    store.append_output(&exec.id, OutputStream::Stdout, b"first\n");
    for _ in 0..200 {
        store.append_output(&exec.id, OutputStream::Stdout, &[b'y'; 10_000]);
    }
    store.append_output(&exec.id, OutputStream::Stdout, b"last\n");
    store.write(NOW, [ended(exec)]);
    assert!(store.flush(PATIENCE));
    let kept = bytes(&store, "x1");
    assert!(kept.len() <= Limits::default().output_per_call, "{}", kept.len());
    assert!(kept.starts_with(b"first\n") && kept.ends_with(b"last\n"));
    let omitted: u64 = store.output(&CallId::new("x1")).iter().map(|chunk| chunk.omitted).sum();
    assert_eq!(omitted + kept.len() as u64, 2_000_000 + 11);
}

#[test]
fn old_commands_and_too_much_output_are_dropped_oldest_first() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let limits = Limits { calls: 3, age: Span::hours(1), output_total: 250, events: 2, ..Limits::default() };
    let (store, _) = Store::open(&path, limits, NOW);
    let ages = [7200, 50, 40, 30, 20];
    for (n, age) in ages.into_iter().enumerate() {
        let exec = call(&format!("x{n}"), "ls", NOW - Span::seconds(age));
        store.write(NOW, [Change::Call(exec.clone().into())]);
        store.append_output(&exec.id, OutputStream::Stdout, &[b'a'; 100]);
        store.write(NOW, [ended(exec)]);
        store.append_event(n as u64, NOW, serde_json::json!({}));
    }
    drop(store);
    let (mut store, troubles) = Store::open(&path, limits, NOW);
    assert_eq!(troubles, []);
    drop(store.load());
    drop(store);
    let (mut store, _) = Store::open(&path, limits, NOW);
    let ids: Vec<String> = store.load().calls.iter().map(|call| call.id.to_string()).collect();
    assert_eq!(ids, ["x2", "x3", "x4"]);
    let sizes: Vec<usize> = ["x1", "x2", "x3", "x4"].iter().map(|id| bytes(&store, id).len()).collect();
    assert_eq!(sizes, [0, 0, 100, 100]);
}

#[test]
fn no_value_of_a_variable_and_no_token_reaches_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123";
    let mut env = environment("e1");
    env.spec.env.insert("PASSWORD".to_owned(), "correct-horse".to_owned());
    let exec = call("x1", "login --password correct-horse", NOW);
    let store = open(&path);
    store.write(
        NOW,
        [
            Change::Environment(env.clone().into()),
            Change::Conversation(conversation("c1", &format!("use {token}")).into()),
            Change::Call(exec.clone().into()),
        ],
    );
    store.append_output(&exec.id, OutputStream::Stdout, b"PASSWORD=correct-");
    store.append_output(&exec.id, OutputStream::Stdout, format!("horse\nTOKEN={token}\n").as_bytes());
    store.write(NOW, [ended(exec)]);
    assert!(store.flush(PATIENCE));
    for entry in fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).filter(|p| p.is_file()) {
        let content = fs::read(&entry).unwrap();
        for secret in ["correct-horse", token] {
            assert!(!content.windows(secret.len()).any(|w| w == secret.as_bytes()), "{secret} in {entry:?}");
        }
    }
    drop(store);
    // The sandbox still gets its variables after a restart: they are kept apart, for the user alone.
    assert_eq!(reopened(&path).environments, [env]);
    let secrets: Vec<_> = fs::read_dir(dir.path().join("secrets")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(secrets.len(), 1);
    assert_eq!(fs::metadata(&secrets[0]).unwrap().permissions().mode() & 0o777, 0o600);
    let store = open(&path);
    store.write(NOW, [Change::Delete(Record::Environment(EnvId::new("e1")))]);
    drop(store);
    assert!(!secrets[0].exists());
}

/// A session in `e1`.
fn session(id: &str) -> Session {
    Session {
        id: SessionId::new(id),
        env: EnvId::new("e1"),
        generation: Generation(1),
        conversation: None,
        program: Vec::new(),
        begin: Begin::Usual,
        size: Size::default(),
        state: SessionState::Running,
        began: NOW,
    }
}

fn keeping(path: &Path, limits: Limits) -> (Store, Vec<(SessionId, String)>) {
    let (mut store, troubles) = Store::open(path, limits, NOW);
    assert_eq!(troubles, []);
    let screens = store.load().screens;
    (store, screens)
}

#[test]
fn what_sessions_showed_is_kept_within_bounds_without_secrets_and_only_where_it_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let limits = Limits { screen: 100, screens_total: 150, ..Limits::default() };
    let (store, _) = keeping(&path, limits);
    let mut env = environment("e1");
    env.spec.env.insert("PASSWORD".to_owned(), "correct-horse".to_owned());
    let show = |store: &Store, id: &str, text: &str, alternate| {
        store.write(NOW, [Change::Session(session(id).into())]);
        store.write_screen(&SessionId::new(id), &EnvId::new("e1"), text, alternate);
        assert!(store.flush(PATIENCE));
    };
    store.write(NOW, [Change::Environment(env.into())]);
    show(&store, "s1", "first", false);
    show(&store, "s1", "$ echo correct-horse", false);
    // What an editor shows does not cost what stood there before.
    show(&store, "s1", "~\n~", true);
    let (store, screens) = {
        drop(store);
        keeping(&path, limits)
    };
    assert_eq!(screens, [(SessionId::new("s1"), "$ echo [redacted]\n~\n~".to_owned())]);
    // The editor is left: what it showed is of no interest any more. Of much only the end is kept, in whole lines.
    let long: String = (1..=50).map(|n| format!("line {n}\n")).collect();
    show(&store, "s1", &long, false);
    let (store, screens) = {
        drop(store);
        keeping(&path, limits)
    };
    let kept = &screens[0].1;
    assert!(kept.starts_with("line ") && kept.ends_with("line 50\n") && kept.len() <= 100, "{kept}");
    // Of many only the newest, and none of a session that is gone.
    store.write(Moment(NOW.0 + 1), []);
    show(&store, "s2", &"x\n".repeat(40), false);
    show(&store, "s3", "soon gone", false);
    store.write(NOW, [Change::Delete(Record::Session(SessionId::new("s3")))]);
    drop(store);
    drop(keeping(&path, limits));
    let (store, screens) = keeping(&path, limits);
    assert_eq!(screens.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["s2"]);
    drop(store);
    // No longer wanted: nothing is left of it.
    let (store, screens) = keeping(&path, Limits::default());
    assert_eq!(screens, []);
    store.write_screen(&SessionId::new("s2"), &EnvId::new("e1"), "not kept", false);
    drop(store);
    assert_eq!(keeping(&path, limits).1, []);
}

#[test]
fn a_place_that_cannot_be_written_is_reported_and_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("not-there-yet");
    let path = folder.join("journal.db");
    let (mut store, troubles) = Store::open(&path, Limits::default(), NOW);
    assert!(troubles[0].message.contains("cannot write the journal"), "{troubles:?}");
    assert_eq!(store.load(), Restored::default());
    store.write(NOW, [Change::Environment(environment("e1").into())]);
    fs::create_dir(&folder).unwrap();
    assert!(wait_for_trouble(&store, "written again").hint.contains("nothing is lost"));
    drop(store);
    assert_eq!(reopened(&path).environments, [environment("e1")]);
}

/// Runs one of the ignored tests below in a process of its own, whose limits can be changed without harm to others.
fn alone(test: &str, path: &Path) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("HTUI_TEST_JOURNAL", path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn a_full_disk_is_reported_and_nothing_is_lost_when_there_is_room_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    alone("full_disk", &path);
    assert_eq!(reopened(&path).environments.len(), 400);
}

#[test]
#[ignore = "changes the limits of its process: run by the test above"]
fn full_disk() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    use nix::sys::signal::{SigSet, Signal};
    let path = PathBuf::from(std::env::var_os("HTUI_TEST_JOURNAL").unwrap());
    // Blocked, a write beyond the limit fails with EFBIG instead of ending the process.
    let mut set = SigSet::empty();
    set.add(Signal::SIGXFSZ);
    set.thread_block().unwrap();
    let store = open(&path);
    store.write(NOW, [Change::Environment(environment("e0").into())]);
    assert!(store.flush(PATIENCE));
    let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, 128 * 1024, hard).unwrap();
    store.write(NOW, (1..400).map(|n| Change::Environment(environment(&format!("e{n}")).into())));
    wait_for_trouble(&store, "cannot write the journal");
    assert!(!store.flush(Duration::from_millis(1)));
    setrlimit(Resource::RLIMIT_FSIZE, hard, hard).unwrap();
    wait_for_trouble(&store, "written again");
    assert!(store.flush(PATIENCE));
}
