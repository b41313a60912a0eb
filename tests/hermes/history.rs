//! Conversations as the agent's own code writes them.

use super::agent::{Agent, Running};
use hermes_tui::domain::{Moment, TurnStatus};
use hermes_tui::hermes::history::{Chains, History};
use hermes_tui::hermes::home::{Home, Places};
use hermes_tui::hermes::records::Records;
use hermes_tui::hermes::turns::{Turn, TurnState, derive};

const WRITE: &str = r#"
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(Path(os.environ["HERMES_HOME"]) / "state.db")
def call(id, command):
    return [{"id": id, "type": "function", "function": {"name": "terminal", "arguments": json.dumps({"command": command})}}]
one = db.create_session("one", "cli", cwd="/work")
db.append_message(one, "user", "make it pass")
db.append_message(one, "assistant", "", tool_calls=call("c1", "cargo test"))
db.append_message(one, "tool", json.dumps({"output": "", "exit_code": 101, "error": None}), tool_call_id="c1", tool_name="terminal")
db.append_message(one, "assistant", "it fails")
db.append_message(one, "user", [{"type": "text", "text": "look at this"}, {"type": "image_url", "image_url": {"url": "x"}}])
db.append_message(one, "user", "overheard", observed=True)
db.append_message(one, "assistant", "", tool_calls=call("c2", "make"))
db.append_message(one, "tool", json.dumps({"output": "Background process started", "session_id": "proc_12", "exit_code": 0}), tool_call_id="c2", tool_name="terminal")
db.append_message(one, "assistant", "started")
db.append_message(one, "user", "[IMPORTANT: Background process proc_12 completed normally (exit code 0).\nCommand: make\nOutput:\n]")
db.append_message(one, "assistant", "done")
db.append_message(one, "user", "never mind")
db.append_message(one, "assistant", "ok")
undone = db.append_message(one, "user", "taken back")
db.rewind_to_message(one, undone)
kept = db.get_messages_as_conversation(one)
db.archive_and_compact(one, [{"role": "user", "content": "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted"}] + kept[-2:])
db.append_message(one, "user", "go on")
db.end_session(one, "compression")
two = db.create_session("two", "cli", parent_session_id="one")
db.append_message(two, "user", "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted")
db.append_message(two, "assistant", "gone on")
db.append_message(two, "user", "still there?")
db.create_session("empty", "telegram")
tell("written")
sys.stdin.readline()
db.append_message(two, "assistant", "yes")
db.end_session(two, "cli_close")
tell("ended")
sys.stdin.readline()
"#;

/// The turns of a conversation, through all sessions in which it goes on.
fn turns_of(history: &History, session: &str) -> Vec<Turn> {
    let sessions = history.sessions().expect("sessions");
    let Some(first) = sessions.iter().find(|one| one.id == session) else { return Vec::new() };
    let chain = Chains::new(&sessions).from(first);
    let messages: Vec<_> = chain.iter().flat_map(|one| history.messages(&one.id, 1000).expect("messages")).collect();
    derive(&messages, chain.last().and_then(|last| last.ended))
}

#[test]
fn turns_are_derived_from_a_state_that_the_real_code_wrote_and_still_writes() {
    let Some(agent) = Agent::new("") else { return };
    let mut running = agent.start(WRITE, &[]);
    assert_eq!(running.told(), "written");
    let history = History::open(&agent.home()).expect("it opens").expect("it is there");
    let sessions = history.sessions().expect("sessions");
    let ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(ids, ["empty", "two", "one"]);
    assert_eq!((sessions[2].cwd.as_deref(), sessions[1].parent.as_deref()), (Some("/work"), Some("one")));
    assert!(turns_of(&history, "empty").is_empty());
    assert!(turns_of(&history, "unknown").is_empty());

    let turns = turns_of(&history, "one");
    let shown: Vec<_> = turns.iter().map(|turn| (turn.prompt.as_str(), turn.by_itself, turn.state)).collect();
    let job = "[IMPORTANT: Background process proc_12 completed normally (exit code 0).\nCommand: make\nOutput:\n]";
    let expected = [
        ("make it pass", false, TurnState::Answered),
        ("look at this", false, TurnState::Answered),
        (job, true, TurnState::Answered),
        ("never mind", false, TurnState::Answered),
        ("go on", false, TurnState::Answered),
        ("still there?", false, TurnState::Open),
    ];
    assert_eq!(shown, expected);
    let calls: Vec<_> = turns.iter().flat_map(|turn| &turn.calls).collect();
    assert_eq!((calls[0].command.as_deref(), calls[0].exit_code), (Some("cargo test"), Some(101)));
    assert_eq!((calls[1].command.as_deref(), calls[1].job.as_deref()), (Some("make"), Some("proc_12")));
    assert!(turns.windows(2).all(|pair| pair[0].began <= pair[1].began && pair[0].number + 1 == pair[1].number));

    running.say("go on");
    assert_eq!(running.told(), "ended");
    let turns = turns_of(&history, "one");
    assert_eq!(turns.last().map(|turn| turn.state), Some(TurnState::Answered), "what was written since is seen");
    assert!(history.sessions().expect("sessions")[1].ended.is_some());
    running.end();
}

#[test]
fn a_home_without_conversations_and_one_with_something_else_in_its_place_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(History::open(folder.path()).expect("nothing wrong").is_none());
    std::fs::write(folder.path().join("state.db"), "this is no database at all, whatever its name says")
        .expect("written");
    let why = match History::open(folder.path()) {
        Ok(Some(history)) => history.sessions().expect_err("it cannot be read"),
        Ok(None) => panic!("it is there"),
        Err(why) => why,
    };
    assert!(why.contains("state.db"), "{why}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing was made beside it");
}

/// What is told of this home from the beginning on.
fn records(agent: &Agent) -> Records {
    Records::new(Home::at(&agent.home(), &Places { named: Some(agent.home()), user: None }))
}

/// Conversation and prompts of all that is new.
fn news(records: &mut Records) -> Result<Vec<(String, Vec<String>)>, String> {
    // Long ago, so that nothing counts as given up.
    let news = records.news(Moment(0))?;
    let prompts = |told: &hermes_tui::domain::Told| told.turns.iter().map(|turn| turn.prompt.clone()).collect();
    Ok(news.iter().map(|one| (one.told.conversation.to_string(), prompts(&one.told))).collect())
}

const OPEN: &str = r#"
import sqlite3
from pathlib import Path
from hermes_state import SessionDB
path = Path(os.environ["HERMES_HOME"]) / "state.db"
db = SessionDB(path)
def ask(session, text): db.append_message(session, "user", text)
def go_on(said):
    tell(said)
    sys.stdin.readline()
def from_outside():
    db.create_session('one', 'cli')
    ask('one', 'before')
    db.close()
    return sqlite3.connect(path, isolation_level=None)
"#;

/// Has the agent's process go on, until it says this.
fn until(running: &mut Running, said: &str) {
    running.say("go on");
    assert_eq!(running.told(), said);
}

#[test]
fn a_child_that_is_no_continuation_is_a_conversation_of_its_own_and_an_undone_turn_is_gone() {
    let Some(agent) = Agent::new("") else { return };
    let script = format!(
        "{OPEN}
db.create_session('parent', 'cli')
ask('parent', 'make it pass')
db.create_session('child', 'subagent', parent_session_id='parent')
ask('child', 'look into it')
go_on('begun')
undone = db.append_message('parent', 'user', 'never mind')
go_on('asked')
db.rewind_to_message('parent', undone)
db.end_session('parent', 'new_session')
go_on('taken back')
"
    );
    let mut running = agent.start(&script, &[]);
    assert_eq!(running.told(), "begun");
    let mut records = records(&agent);
    let told = |name: &str, prompts: &[&str]| (name.to_owned(), prompts.iter().map(|&p| p.to_owned()).collect());
    let first = news(&mut records).expect("read");
    assert_eq!(first, [told("parent", &["make it pass"]), told("child", &["look into it"])]);
    assert_eq!(news(&mut records).expect("read"), []);
    until(&mut running, "asked");
    assert_eq!(news(&mut records).expect("read"), [told("parent", &["make it pass", "never mind"])]);
    until(&mut running, "taken back");
    let last = records.news(Moment(0)).expect("read");
    let turns: Vec<_> = last[0].told.turns.iter().map(|turn| (turn.prompt.as_str(), turn.status)).collect();
    assert_eq!(turns, [("make it pass", TurnStatus::Interrupted)], "nobody answered it before the end");
    assert!(last[0].told.ended.is_some());
    running.say("go on");
    running.end();
}

#[test]
fn a_database_that_is_locked_is_told_as_such_and_read_once_it_is_free() {
    let Some(agent) = Agent::new("") else { return };
    let script = format!(
        "{OPEN}
other = from_outside()
# As on a file system without shared memory.
assert other.execute('PRAGMA journal_mode=DELETE').fetchone()[0] == 'delete'
other.execute('BEGIN EXCLUSIVE')
other.execute(\"UPDATE sessions SET title = 'locked'\")
go_on('locked')
other.execute('COMMIT')
other.close()
go_on('free')
"
    );
    let mut running = agent.start(&script, &[]);
    assert_eq!(running.told(), "locked");
    let mut records = records(&agent);
    let why = news(&mut records).expect_err("it is locked");
    assert!(why.contains("state.db") && why.contains("locked"), "{why}");
    until(&mut running, "free");
    let told = records.news(Moment(0)).expect("it is free");
    assert_eq!((told.len(), told[0].told.title.as_deref()), (1, Some("locked")));
    running.say("go on");
    running.end();
}

#[test]
fn a_database_of_a_version_that_is_newer_than_known_is_read_as_far_as_it_is_understood() {
    let Some(agent) = Agent::new("") else { return };
    let script = format!(
        "{OPEN}
other = from_outside()
other.execute('UPDATE schema_version SET version = 999')
other.execute('ALTER TABLE messages ADD COLUMN mood TEXT')
for column in ('title', 'cwd', 'rewind_count'):
    other.execute(f'ALTER TABLE sessions RENAME COLUMN {{column}} TO other_{{column}}')
other.execute('ALTER TABLE messages RENAME COLUMN observed TO overheard')
other.close()
go_on('newer')
other = sqlite3.connect(path, isolation_level=None)
other.execute('ALTER TABLE messages RENAME COLUMN role TO speaker')
other.close()
go_on('not understood')
"
    );
    let mut running = agent.start(&script, &[]);
    assert_eq!(running.told(), "newer");
    let mut records = records(&agent);
    assert_eq!(news(&mut records).expect("read"), [("one".to_owned(), vec!["before".to_owned()])]);
    until(&mut running, "not understood");
    // Without a word that says who spoke there are no turns, and nothing is made up.
    let mut again = self::records(&agent);
    match news(&mut again) {
        Ok(told) => assert!(told.iter().all(|(_, prompts)| prompts.is_empty()), "{told:?}"),
        Err(why) => assert!(why.contains("state.db"), "{why}"),
    }
    running.say("go on");
    running.end();
}
