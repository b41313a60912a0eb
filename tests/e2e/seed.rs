//! A persistent environment outlives its turns; the end of a turn releases a lease and nothing more.

use crate::common::{PATIENCE, Profile, moment, text, wait_for};
use std::time::Duration;

fn begin(profile: &Profile, conversation: &str, more: &[&str]) -> serde_json::Value {
    let mut args = vec!["turn", "begin", "--conversation", conversation, "--backend", "local"];
    args.extend_from_slice(more);
    profile.json(&args)
}

fn shell(profile: &Profile, conversation: &str, script: &str) -> String {
    let output = profile.run(&["exec", "--conversation", conversation, "--shell", script]);
    assert!(output.status.success(), "{script}: {}", text(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_persistent_environment_survives_its_turns_and_is_stopped_when_idle() {
    let profile = Profile::serving();
    let first = begin(&profile, "c1", &["--persistent", "--idle", "5"]);
    let env = first["environment"].as_str().expect("an environment").to_owned();
    shell(&profile, "c1", "echo kept > /workspace/marker; export MOOD=good; cd /tmp");
    assert_eq!(shell(&profile, "c1", "echo $MOOD; pwd"), "good\n/tmp\n", "the shell state carries over");
    profile.json(&["turn", "end", "--conversation", "c1"]);

    let after = profile.env(&env);
    assert_eq!(after["phase"], "ready");
    assert_eq!(after["sandbox"]["id"], first["sandbox"]["id"]);
    assert!(after["idle_deadline_at"].is_string(), "{after}");

    let second = begin(&profile, "c1", &[]);
    assert_eq!(second["sandbox"], first["sandbox"], "the same sandbox");
    assert_eq!(second["session"], first["session"], "the same session");
    assert_eq!(second["number"], 2);
    assert!(profile.env(&env)["idle_deadline_at"].is_null(), "a turn holds it");
    assert_eq!(shell(&profile, "c1", "cat /workspace/marker"), "kept\n");
    profile.json(&["turn", "end", "--conversation", "c1"]);
    let deadline = moment(&profile.env(&env)["idle_deadline_at"]);

    let stopped = profile.wait_for_phase(&env, "stopped", Duration::from_secs(15));
    let late = moment(&stopped["last_ending"]["at"]).duration_since(deadline);
    assert!((0..=1000).contains(&late.as_millis()), "stopped {late:?} after the deadline");
    assert_eq!(stopped["sandbox"]["id"], first["sandbox"]["id"], "a stopped sandbox keeps its id");
    let sessions = profile.json(&["session", "list"]);
    assert!(sessions.to_string().contains("ended"), "{sessions}");

    let third = begin(&profile, "c1", &[]);
    assert_eq!(third["sandbox"]["id"], first["sandbox"]["id"]);
    assert!(third["sandbox"]["generation"].as_u64() > first["sandbox"]["generation"].as_u64());
    assert_eq!(shell(&profile, "c1", "cat /workspace/marker"), "kept\n", "with its files");
    assert_eq!(shell(&profile, "c1", "echo $MOOD; pwd"), "good\n/tmp\n", "and its shell state");
    profile.json(&["turn", "end", "--conversation", "c1"]);
}

#[test]
fn an_ephemeral_environment_of_a_turn_is_gone_with_it_unless_held() {
    let profile = Profile::serving();
    let turn = begin(&profile, "c2", &["--ephemeral", "--scope", "turn"]);
    let env = turn["environment"].as_str().unwrap().to_owned();
    profile.json(&["turn", "end", "--conversation", "c2"]);
    wait_for("the environment to be gone", Duration::from_secs(2), || {
        let list = profile.json(&["env", "list"]);
        (!list.to_string().contains(&env)).then_some(())
    });

    let turn = begin(&profile, "c3", &["--ephemeral", "--scope", "turn", "--idle", "60"]);
    let env = turn["environment"].as_str().unwrap().to_owned();
    profile.json(&["env", "pin", &env]);
    profile.json(&["turn", "end", "--conversation", "c3"]);
    let held = profile.env(&env);
    assert_eq!(held["phase"], "ready");
    assert_eq!(held["verdict"]["kind"], "held");
}

#[test]
fn a_long_command_is_never_cut_off_and_a_background_process_defers_the_deadline() {
    let profile = Profile::serving();
    profile.json(&["env", "new", "long", "--persistent", "--idle", "2"]);
    let output = profile.run(&["exec", "long", "--", "sh", "-c", "sleep 5; echo whole"]);
    assert_eq!((output.status.code(), text(&output).trim()), (Some(0), "whole"));
    assert_eq!(profile.env("long")["phase"], "ready");

    profile.run(&["exec", "long", "--", "sh", "-c", "sleep 600 >/dev/null 2>&1 </dev/null &"]);
    let held = wait_for("the process as a holder", PATIENCE, || {
        let env = profile.env("long");
        assert_eq!(env["phase"], "ready", "{env}");
        env["holders"].as_array().unwrap().iter().any(|h| h["kind"] == "process").then_some(env)
    });
    assert!(held["holders"].to_string().contains("sleep 600"), "{held}");
    let verdicts = profile.json(&["reap", "--dry-run"]);
    assert!(verdicts.to_string().contains("sleep 600"), "{verdicts}");
}

#[test]
fn exec_passes_streams_and_exit_codes_through() {
    let profile = Profile::serving();
    profile.json(&["env", "new", "e", "--ephemeral"]);
    let run = |args: &[&str]| {
        let mut all = vec!["exec", "e"];
        all.extend_from_slice(args);
        profile.run(&all)
    };
    let output = run(&["--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (b"out\n".as_slice(), b"err\n".as_slice()));
    assert_eq!(run(&["--", "/no/such/program"]).status.code(), Some(127));
    assert_eq!(run(&["--", "/etc/passwd"]).status.code(), Some(126));
    assert_eq!(run(&["--timeout", "1", "--", "sleep", "60"]).status.code(), Some(124));
    let nowhere = profile.run(&["exec", "no-such-environment", "--", "true"]);
    assert_eq!(nowhere.status.code(), Some(125), "{}", text(&nowhere));
}

#[test]
fn files_outlive_a_removal_until_they_are_deleted_by_id() {
    let profile = Profile::serving();
    let env = profile.json(&["env", "new", "kept", "--persistent"])["environment"].clone();
    let id = env["id"].as_str().unwrap();
    profile.run(&["exec", "kept", "--", "sh", "-c", "echo precious > /workspace/f"]);
    let removed = profile.json(&["env", "rm", "kept", "--yes"]);
    let files = std::path::PathBuf::from(removed["files"].as_str().expect("where they are"));
    assert_eq!(std::fs::read_to_string(files.join("workspace/f")).unwrap(), "precious\n");
    let said = text(&profile.run(&["env", "rm", "kept", "--yes"]));
    assert!(said.contains("no environment"), "{said}");
    profile.json(&["env", "rm", id, "--data", "--yes"]);
    assert!(!files.exists());
}
