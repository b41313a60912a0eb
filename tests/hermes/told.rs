//! Conversations of the agent as its own records tell of them, live: turns, their commands and what those printed.

use super::agent::{Agent, SOON};
use super::common::{Profile, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// `ask` opens a turn as the agent does; `call` runs a command of it and writes it down; `answer` closes it.
const RECORDS: &str = r#"
from pathlib import Path
from hermes_state import SessionDB
import tools.terminal_tool as tt
db = SessionDB(Path(os.environ["HERMES_HOME"]) / "state.db")
count = 0
def ask(session, text): db.append_message(session, "user", text)
def answer(session): db.append_message(session, "assistant", "done")
def call(session, command, run=True, **more):
    global count
    count += 1
    id = f"c{count}"
    arguments = json.dumps({"command": command, **more})
    db.append_message(session, "assistant", "", tool_calls=[{"id": id, "type": "function", "function": {"name": "terminal", "arguments": arguments}}])
    result = tt.terminal_tool(command, task_id=session, force=True, **more)
    db.append_message(session, "tool", result, tool_call_id=id, tool_name="terminal")
"#;

fn turns(profile: &Profile, conversation: &str) -> Vec<Value> {
    // Refused as long as nothing was told of it.
    let output = profile.run(&["--json", "turn", "list", "--conversation", conversation]);
    let list: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    list["turns"].as_array().cloned().unwrap_or_default()
}

/// Prompt, status, and the commands with their exit codes, of each turn.
fn outline(turns: &[Value]) -> Value {
    let commands = |turn: &Value| -> Vec<Value> {
        let all = turn["commands"].as_array().cloned().unwrap_or_default();
        all.iter().map(|call| json!([call["command"], call["exit_code"]])).collect()
    };
    turns.iter().map(|turn| json!([turn["number"], turn["prompt"], turn["status"], commands(turn)])).collect()
}

fn sources(turn: &Value) -> Vec<&str> {
    turn["commands"].as_array().into_iter().flatten().filter_map(|call| call["source"].as_str()).collect()
}

/// Every file below a folder that is not a container's, with what is in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            match entry.is_dir() {
                true if entry.ends_with("sandboxes") => {}
                true => folders.push(entry),
                false => drop(all.insert(entry.clone(), std::fs::read(&entry).unwrap_or_default())),
            }
        }
    }
    all
}

#[test]
fn turns_of_an_agent_are_told_with_their_commands_before_we_looked_and_while_we_look() {
    let Some(agent) = Agent::new("") else { return };
    let script = format!(
        "{RECORDS}
one = db.create_session('one', 'cli', cwd='/work')
ask(one, 'look around')
call(one, 'echo before; (exit 3)')
answer(one)
tell(tt.get_active_env(one)._container_id)
sys.stdin.readline()
ask(one, 'make it pass')
call(one, 'echo oops >&2\\nexit 7')
call(one, 'echo two')
tell('in a turn')
sys.stdin.readline()
call(one, 'sleep 0.2 > /dev/null', background=True)
answer(one)
two = db.create_session('two', 'telegram')
ask(two, 'and you?')
call(two, 'echo of the other')
tell('both')
sys.stdin.readline()
answer(two)
db.end_session(two, 'cli_close')
db.close()
"
    );
    let mut running = agent.start(&script, &[]);
    let id = running.told();
    let since = agent.started(&id);
    let profile = agent.profile("off");
    let env = agent.env(&profile, "default");
    let once = |what: &str, conversation: &str, count: usize, commands: usize| {
        wait_for(what, SOON, || {
            let all = turns(&profile, conversation);
            let last = all.last().and_then(|turn| turn["commands"].as_array()).map_or(0, Vec::len);
            (all.len() == count && last == commands).then_some(all)
        })
    };
    let told = once("what was before", "one", 1, 1);
    assert_eq!(outline(&told), json!([[1, "look around", "done", [["echo before; (exit 3)", 3]]]]));
    assert_eq!((sources(&told[0]), &told[0]["source"]), (vec!["agent"], &json!("agent")));

    running.say("go on");
    assert_eq!(running.told(), "in a turn");
    let told = once("the turn that runs", "one", 2, 2);
    let commands = json!([["echo oops >&2\nexit 7", 7], ["echo two", 0]]);
    assert_eq!(outline(&told[1..]), json!([[2, "make it pass", "running", commands]]));
    assert_eq!(sources(&told[1]), ["observed", "observed"], "they were seen in the container");
    assert_eq!(told[1]["environment"], env["id"]);
    // Its turns are its own.
    let begin = profile.run(&["turn", "begin", "--conversation", "one"]);
    assert_eq!(begin.status.code(), Some(5));

    running.say("go on");
    assert_eq!(running.told(), "both");
    let told = once("the background command", "one", 2, 3);
    let commands = json!([["echo oops >&2\nexit 7", 7], ["echo two", 0], ["sleep 0.2 > /dev/null &", 0]]);
    assert_eq!(outline(&told[1..]), json!([[2, "make it pass", "done", commands]]));
    let other = once("the other conversation", "two", 1, 1);
    assert_eq!(outline(&other), json!([[1, "and you?", "running", [["echo of the other", 0]]]]));
    running.say("go on");
    running.end();
    let ended = wait_for("its end", SOON, || {
        let all = profile.json(&["conversation", "list"])["conversations"].as_array().cloned()?;
        all.into_iter().find(|one| one["id"] == "two" && !one["ended"].is_null())
    });
    assert_eq!((&ended["kind"], &ended["environment"]), (&json!("telegram"), &env["id"]));

    // What the agent wrote is as it left it, also while nobody has it open, and so is its container.
    let before = files(&agent.home());
    profile.shut_down();
    let again = agent.profile("off");
    wait_for("all of it again", SOON, || (turns(&again, "one").len() == 2).then_some(()));
    again.shut_down();
    assert_eq!(files(&agent.home()), before);
    assert_eq!(agent.started(&id), since);
}

#[test]
fn a_home_that_is_made_while_we_look_is_told_of_too_also_where_its_commands_run_in_no_container() {
    let Some(agent) = Agent::new("") else { return };
    let profile = agent.profile("off");
    assert_eq!(turns(&profile, "here"), Vec::<Value>::new());
    let other = agent.home().with_file_name("other").display().to_string();
    let mut running = agent.start(
        &format!(
            "{RECORDS}
here = db.create_session('here', 'cli')
ask(here, 'look around')
call(here, 'echo of this machine; (exit 3)')
tell('asked')
sys.stdin.readline()
answer(here)
"
        ),
        &[("HERMES_HOME", &other), ("TERMINAL_ENV", "local")],
    );
    assert_eq!(running.told(), "asked");
    let once = |status: &str| {
        let commands = json!([["echo of this machine; (exit 3)", 3]]);
        wait_for(&format!("the turn to be {status} with its command"), SOON, || {
            Some(turns(&profile, "here")).filter(|told| outline(told) == json!([[1, "look around", status, commands]]))
        })
    };
    let turn = once("running");
    assert_eq!((&turn[0]["environment"], &turn[0]["commands"][0]["environment"]), (&Value::Null, &Value::Null));
    running.say("go on");
    running.end();
    once("done");
}

#[test]
fn a_hook_tells_how_a_turn_ended_also_while_no_host_runs() {
    let Some(agent) = Agent::new("") else { return };
    let mut running = agent.start(
        &format!("{RECORDS}\nfor s in ('one', 'two'):\n  db.create_session(s, 'cli')\n  ask(s, 'go')\ntell('asked')\nsys.stdin.readline()\nask('one', 'again')\ntell('asked')\nsys.stdin.readline()"),
        &[],
    );
    assert_eq!(running.told(), "asked");
    let profile = agent.profile("off");
    let status = |conversation: &str, turn: usize, status: &str| {
        wait_for(&format!("{conversation} to be {status}"), SOON, || {
            turns(&profile, conversation).get(turn).filter(|turn| turn["status"] == status).cloned()
        })
    };
    status("one", 0, "running");
    let hook = |session: &str, completed: bool, interrupted: bool| {
        let extra = json!({"completed": completed, "interrupted": interrupted, "turn_id": "t"});
        let payload = json!({"hook_event_name": "on_session_end", "session_id": session, "cwd": "/", "extra": extra});
        let mut child = profile.command(&["hook"]).stdin(Stdio::piped()).spawn().expect("it runs");
        child.stdin.take().expect("an input").write_all(payload.to_string().as_bytes()).expect("taken");
        assert!(child.wait().expect("it ends").success());
    };
    hook("one", false, true);
    assert!(status("one", 0, "interrupted")["ended"].is_string());
    // What is asked next is another turn.
    running.say("go on");
    assert_eq!(running.told(), "asked");
    status("one", 1, "running");
    profile.shut_down();
    hook("one", true, false);
    hook("two", false, false);
    status("one", 1, "done");
    status("two", 0, "failed");
    running.say("go on");
    running.end();
}
