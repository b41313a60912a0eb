//! The whole agent, driven by a model of ours: its turns are told as they were.

use super::agent::{Agent, SOON};
use super::common::{Profile, text, wait_for};
use super::model::{Model, Step};
use bollard::models::ContainerSummary;
use serde_json::{Value, json};
use std::path::Path;

const EXAMPLE: &str = include_str!("../../assets/hermes-hooks.example.yaml");

fn run(command: &str) -> Step {
    Step::Run(json!({"command": command}))
}

fn conversations(profile: &Profile) -> Vec<Value> {
    profile.json(&["conversation", "list"])["conversations"].as_array().cloned().unwrap_or_default()
}

/// Prompt, status, and the commands with their exit codes, of each turn.
pub fn outline(profile: &Profile, conversation: &str) -> Value {
    let list = profile.json(&["turn", "list", "--conversation", conversation]);
    let commands = |turn: &Value| -> Vec<Value> {
        let all = turn["commands"].as_array().cloned().unwrap_or_default();
        all.iter().map(|call| json!([call["command"], call["exit_code"]])).collect()
    };
    let turns = list["turns"].as_array().cloned().unwrap_or_default();
    turns.iter().map(|turn| json!([turn["prompt"], turn["status"], commands(turn)])).collect()
}

#[test]
fn turns_of_the_whole_agent_are_told_as_they_were() {
    story(false);
}

#[test]
fn with_hooks_they_are_told_in_the_same_way() {
    story(true);
}

fn story(hooks: bool) {
    let Some(agent) = Agent::new("") else { return };
    let model = Model::start();
    agent.use_model(model.port);
    let profile = agent.profile("off");
    let hermes = |args: &[&str]| {
        let mut command = agent.hermes(args);
        if hooks {
            let folder = Path::new(env!("CARGO_BIN_EXE_hermes-tui")).parent().expect("a folder");
            command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display()));
            command.env("HTUI_HOME", profile.path()).env("HERMES_ACCEPT_HOOKS", "1");
        }
        command
    };
    if hooks {
        let config = agent.home().join("config.yaml");
        let text = std::fs::read_to_string(&config).expect("a configuration");
        std::fs::write(&config, text + EXAMPLE).expect("written");
    }
    let ask = |args: &[&str]| {
        let output = hermes(args).output().expect("it runs");
        assert!(output.status.success(), "{}", text(&output));
    };
    let once = |what: &str, id: &str, expected: Value| {
        let last = std::cell::RefCell::new(Value::Null);
        let right = || {
            *last.borrow_mut() = outline(&profile, id);
            (*last.borrow() == expected).then_some(())
        };
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wait_for(what, SOON, right)));
        assert!(found.is_ok(), "{what}: {} is not {expected}", last.borrow());
    };

    let printed = |id: &str, number: usize| -> Vec<Value> {
        let turns = profile.json(&["turn", "list", "--conversation", id]);
        let turn = turns["turns"][number]["turn"].as_str().expect("a turn").to_owned();
        let shown = profile.json(&["turn", "show", &turn, "--output"]);
        let commands = shown["turn"]["commands"].as_array().cloned().unwrap_or_default();
        commands.iter().map(|command| command["output"].clone()).collect()
    };

    model.will(vec![run("echo hello"), run("echo oops >&2; exit 3"), Step::Say("first")]);
    ask(&["chat", "--yolo", "-Q", "-q", "look around"]);
    let id = wait_for("the conversation", SOON, || Some(conversations(&profile).first()?["id"].as_str()?.to_owned()));
    let first = json!(["look around", "done", [["echo hello", 0], ["echo oops >&2; exit 3", 3]]]);
    once("its first turn", &id, json!([first]));
    assert_eq!(printed(&id, 0), ["hello\n", "oops\n"]);
    // Beside it there is one for a look at the image, which it leaves behind.
    let shared = || {
        let serves = |one: &ContainerSummary| one.labels.as_ref().is_some_and(|l| l["hermes-task-id"] == "default");
        let [one] = agent.containers().into_iter().filter(serves).collect::<Vec<_>>().try_into().expect("one");
        one.id.expect("an id")
    };
    let container = shared();
    let since = agent.started(&container);

    let background = Step::Run(json!({"command": "sleep 1 > /dev/null", "background": true}));
    model.will(vec![run("sleep 2; echo late"), background, Step::Say("second")]);
    ask(&["chat", "--yolo", "-Q", "--resume", &id, "-q", "take your time"]);
    let second = json!(["take your time", "done", [["sleep 2; echo late", 0], ["sleep 1 > /dev/null &", 0]]]);
    once("its second turn", &id, json!([first, second]));
    assert_eq!(printed(&id, 1)[0], "late\n");

    // Another conversation runs in the same container at the same time.
    model.will(vec![run("while :; do sleep 1; done")]);
    let mut third =
        agent.hermes(&["chat", "--yolo", "-Q", "--resume", &id, "-q", "never mind"]).spawn().expect("it runs");
    once(
        "the command that runs",
        &id,
        json!([first, second, ["never mind", "running", [["while :; do sleep 1; done", null]]]]),
    );
    model.will(vec![run("echo other"), Step::Say("of the other")]);
    ask(&["-z", "and you?"]);
    let other = wait_for("the other conversation", SOON, || {
        let all = conversations(&profile);
        all.iter().find(|one| one["id"] != id.as_str()).and_then(|one| Some(one["id"].as_str()?.to_owned()))
    });
    once("its turn", &other, json!([["and you?", "done", [["echo other", 0]]]]));
    assert_eq!(printed(&other, 0), ["other\n"]);
    let pid = nix::unistd::Pid::from_raw(i32::try_from(third.id()).expect("a number"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it is there");
    third.wait().expect("it ends");
    let cut_off = || (outline(&profile, &id)[2][1] == "interrupted").then_some(());
    // Ended by a signal it says nothing, with hooks or without: the next request does.
    model.will(vec![Step::Say("fourth")]);
    ask(&["chat", "--yolo", "-Q", "--resume", &id, "-q", "are you there?"]);
    wait_for("the end of the third turn", SOON, cut_off);
    wait_for("the fourth turn", SOON, || {
        (outline(&profile, &id)[3] == json!(["are you there?", "done", []])).then_some(())
    });
    assert_eq!((shared(), agent.started(&container)), (container.clone(), since));
}
