//! `session new` and `session wait` with real sandboxes.

use super::support::{Outcome, Profile, wait_for};
use serde_json::json;
use std::process::{Child, Stdio};

/// A profile with an environment `e`.
fn profile() -> Profile {
    let profile = Profile::new();
    assert_eq!(profile.run(&["env", "new", "e", "--persistent"]).code, 0);
    profile
}

/// Opens a session with this script as its program and gives its id.
fn opened(profile: &Profile, script: &str) -> String {
    let new = profile.run(&["--json", "session", "new", "e", "--", "sh", "-c", script]);
    new.json()["session"]["id"].as_str().unwrap_or_else(|| panic!("{new:?}")).to_owned()
}

fn begin(profile: &Profile, args: &[&str]) -> Child {
    profile.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn outcome(child: Child) -> Outcome {
    Outcome::of(child.wait_with_output().unwrap())
}

#[test]
fn a_new_session_starts_its_environment_and_runs_its_program() {
    let profile = profile();
    assert_eq!(profile.run(&["env", "stop", "e"]).code, 0);
    let new = profile.run(&["--json", "session", "new", "e", "--", "cat", "-"]).json()["session"].clone();
    assert_eq!((&new["state"], &new["program"]), (&json!("running"), &json!(["cat", "-"])), "{new}");
    let env = profile.run(&["--json", "env", "show", "e"]).json()["environment"].clone();
    assert_eq!((&env["phase"], &env["id"]), (&json!("ready"), &new["environment"]));
    let text = profile.run(&["session", "new", "e"]);
    assert!(text.code == 0 && text.out.contains("is open: `hermes-tui attach "), "{text:?}");
    let list = profile.run(&["--json", "session", "list"]).json()["sessions"].clone();
    assert_eq!(list.as_array().unwrap().len(), 2, "{list}");
    assert_eq!(list.as_array().unwrap().iter().filter(|s| s["program"] == json!([])).count(), 1, "a shell: {list}");
}

#[test]
fn a_session_of_a_conversation_is_said_to_be_its_own() {
    let profile = profile();
    assert_eq!(profile.run(&["turn", "begin", "--conversation", "c1", "--env-name", "e"]).code, 0);
    let new = profile.run(&["--json", "session", "new", "e", "--conversation", "c1"]).json();
    assert_eq!(new["session"]["conversation"], "c1", "{new}");
}

#[test]
fn what_cannot_be_opened_is_told_with_a_reason() {
    let profile = profile();
    let new = |args: &[&str]| profile.run(&[&["--json", "session", "new"], args].concat());
    let message = |outcome: &Outcome, kind| outcome.error(1, kind)["message"].as_str().unwrap().to_owned();
    assert!(message(&new(&["nobody"]), "not_found").contains("nobody"));
    assert!(message(&new(&["e", "--conversation", "nobody"]), "not_found").contains("no conversation `nobody`"));
    assert!(message(&new(&["e", "--", "no-such-program"]), "failed").contains("no-such-program"));
    new(&["e", "--", ""]).error(2, "usage");
}

#[test]
fn the_end_of_a_session_is_waited_for_and_tells_its_exit_code() {
    let profile = profile();
    let id = opened(&profile, "read line; exit 7");
    let (text, json) = (["session", "wait", &id[..6]], ["--json", "session", "wait", &id, "--exit"]);
    let waiting = [begin(&profile, &text), begin(&profile, &json)];
    assert_eq!(profile.run(&["session", "send-keys", &id, "Enter"]).code, 0);
    let [text, json] = waiting.map(outcome);
    assert_eq!((text.code, text.out), (0, format!("session {id} has ended with exit code 7\n")));
    let reply = json.json();
    assert_eq!((json.code, &reply["exit_code"], &reply["session"]["state"]), (0, &json!(7), &json!("ended")));
    // One that has ended is not waited for.
    assert_eq!(profile.run(&["session", "wait", &id]).code, 0);
    // One that is closed has ended, without a code of its own.
    let closed = opened(&profile, "cat");
    let waiting = begin(&profile, &["--json", "session", "wait", &closed]);
    assert_eq!(profile.run(&["session", "kill", &closed]).code, 0);
    let reply = outcome(waiting).json();
    assert_eq!(reply["ended"], closed.as_str(), "{reply}");
}

#[test]
fn a_text_on_the_screen_is_waited_for() {
    let profile = profile();
    let id = opened(&profile, "read line; echo \"  got: $line\"; cat");
    let waiting = begin(&profile, &["session", "wait", &id, "--text", "got: se"]);
    assert_eq!(profile.run(&["session", "send-keys", &id, "secret", "Enter"]).code, 0);
    let seen = outcome(waiting);
    assert_eq!((seen.code, seen.out), (0, format!("session {id} shows: got: secret\n")));
    let again = profile.run(&["--json", "session", "wait", &id, "--text", "got"]).json();
    assert_eq!((&again["line"], &again["session"]["state"]), (&json!("  got: secret"), &json!("running")));
}

#[test]
fn what_can_no_longer_come_or_does_not_come_in_time_is_an_error() {
    let profile = profile();
    let id = opened(&profile, "cat");
    let late = profile.run(&["--json", "session", "wait", &id, "--text", "never", "--timeout", "0.05"]);
    let message = late.error(124, "timed_out")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("its screen to show `never`"), "{message}");
    assert_eq!(profile.run(&["session", "wait", &id, "--timeout", "0.05"]).code, 124);
    let waiting = begin(&profile, &["--json", "session", "wait", &id, "--text", "never"]);
    assert_eq!(profile.run(&["session", "send-keys", &id, "C-d"]).code, 0);
    let over = outcome(waiting);
    let error = over.error(1, "failed");
    assert!(error["message"].as_str().unwrap().contains("before its screen showed `never`: ended with exit code 0"));
    profile.run(&["--json", "session", "wait", &id, "--text", ""]).error(2, "usage");
    profile.run(&["--json", "session", "wait", &id, "--text", "x", "--exit"]).error(2, "usage");
    profile.run(&["--json", "session", "wait", "nobody"]).error(1, "not_found");
}

#[test]
fn attaching_and_opening_need_a_terminal() {
    let profile = Profile::new();
    for args in [&["--json", "attach", "e"][..], &["--json", "session", "attach", "e"], &["--json", "open", "e"]] {
        let error = profile.run(args).error(2, "usage");
        assert!(error["message"].as_str().unwrap().contains("not a terminal"), "{error}");
    }
}

/// Opens a shell with these arguments of `session new` and gives what it shows once it says `sign`, after a line that is
/// typed.
fn shows(profile: &Profile, args: &[&str], line: &str, sign: &str) -> String {
    let new = profile.run(&[&["--json", "session", "new"], args].concat()).json();
    let id = new["session"]["id"].as_str().unwrap().to_owned();
    assert_eq!(profile.run(&["session", "wait", &id, "--text", "hermes-tui:", "--timeout", "20"]).code, 0);
    assert_eq!(profile.run(&["session", "send-keys", &id, "-l", line]).code, 0);
    assert_eq!(profile.run(&["session", "send-keys", &id, "Enter"]).code, 0);
    let seen = profile.run(&["session", "wait", &id, "--text", sign, "--timeout", "20"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    // Wrapped by the terminal: what stands there is of interest.
    profile.run(&["session", "capture", &id]).out.replace('\n', "")
}

#[test]
fn a_shell_begins_where_the_agent_is() {
    let profile = profile();
    let shell = |script: &str| assert_eq!(profile.run(&["exec", "--conversation", "c1", "--shell", script]).code, 0);
    assert_eq!(profile.run(&["turn", "begin", "--conversation", "c1", "--env-name", "e"]).code, 0);
    shell("mkdir -p '/workspace/a b' && cd '/workspace/a b' && export MOOD=good PATH=/opt/bin:$PATH && unexported=1");
    let look =
        "echo \"<$MOOD|${unexported-}|$PWD|${HTUI_CALL-}|$TERM>\"; case $PATH in /opt/bin:*) echo own path;; esac";
    for args in [&["e", "--where-agent"][..], &["e", "--conversation", "c1", "--where-agent"]] {
        let screen = shows(&profile, args, look, "own path");
        assert!(screen.contains("where the agent is: /workspace/a b, with the variables"), "{screen}");
        assert!(screen.contains("<good||/workspace/a b||xterm-256color>"), "{screen}");
    }
    // It sits at its prompt: nothing is held by it.
    wait_for("nothing that holds", || {
        let shown = profile.run(&["--json", "reap", "--explain", "e"]).json().to_string();
        let turn = profile.run(&["--json", "env", "show", "e"]).json()["environment"]["holders"].clone();
        assert!(!shown.contains("\"process\""), "{shown}");
        (turn.as_array().unwrap().len() == 1).then_some(())
    });
    shell("cd /workspace && rmdir 'a b' && mkdir gone && cd gone && rmdir ../gone");
    let screen = shows(&profile, &["e", "--where-agent"], "echo \"<$MOOD|$PWD>\"", "<good|/workspace>");
    assert!(screen.contains("/workspace/gone cannot be entered or is gone: this is /workspace, with"), "{screen}");
}

#[test]
fn what_begins_where_no_agent_is_is_refused() {
    let profile = profile();
    let new = |args: &[&str]| profile.run(&[&["--json", "session", "new"], args].concat());
    let error = new(&["e", "--where-agent"]).error(1, "not_found");
    assert_eq!(error["message"], "no agent has run a command in e yet");
    assert!(error["hint"].as_str().unwrap().contains("session new e"), "{error}");
    new(&["e", "--where-agent", "--", "top"]).error(2, "usage");
}
