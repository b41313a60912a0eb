//! `exec` and `events` against a host that answers by script.

use super::support::{Profile, notification, result, scripted, wait_for};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

fn output(stream: &str, text: &str) -> Value {
    notification("exec.output", json!({"call": "k1", "stream": stream, "text": text}))
}

fn exit(code: i32, why: Option<&str>) -> Value {
    notification("exec.exit", json!({"call": "k1", "exit_code": code, "why": why}))
}

fn started(message: &Value) -> Value {
    result(message, json!({"schema": 1, "call": "k1"}))
}

#[test]
fn streams_stay_apart_and_the_exit_code_is_passed_on() {
    for code in [0, 1, 101, 124, 125, 126, 127, 255] {
        let profile = Profile::new();
        scripted(&profile, move |message| match message["method"].as_str() {
            Some("exec.start") => {
                assert_eq!(message["params"]["argv"], json!(["printf", "--json", "a b"]));
                let raw = notification("exec.output", json!({"call": "k1", "stream": "stdout", "base64": "/wAK"}));
                vec![started(message), output("stdout", "out\n"), output("stderr", "err\n"), raw, exit(code, None)]
            }
            _ => vec![result(message, json!({"schema": 1}))],
        });
        let run = profile.command(&["exec", "e", "--", "printf", "--json", "a b"]).output().unwrap();
        assert_eq!(run.status.code(), Some(code));
        assert_eq!(run.stdout, b"out\n\xff\0\n");
        assert_eq!(run.stderr, b"err\n");
    }
}

#[test]
fn json_gives_both_streams_and_the_code_in_one_object() {
    let profile = Profile::new();
    scripted(&profile, |message| match message["method"].as_str() {
        Some("exec.start") => {
            let why = "ended after its 2 s";
            vec![started(message), output("stdout", "o"), output("stderr", "e"), exit(124, Some(why))]
        }
        _ => vec![result(message, json!({"schema": 1}))],
    });
    let run = profile.run(&["exec", "e", "--json", "--timeout", "2", "--", "sleep", "9"]);
    let value = run.json();
    assert_eq!(run.code, 124);
    assert_eq!((&value["stdout"], &value["stderr"], &value["exit_code"]), (&json!("o"), &json!("e"), &json!(124)));
    assert_eq!(value["why"], "ended after its 2 s");
    let text = profile.run(&["exec", "e", "--timeout", "2", "--", "sleep", "9"]);
    assert!(text.code == 124 && text.err.contains("ended after its 2 s"), "{text:?}");
}

#[test]
fn input_reaches_the_command_whole_and_in_order() {
    let profile = Profile::new();
    let got = Arc::new(Mutex::new(Vec::new()));
    let seen = got.clone();
    scripted(&profile, move |message| match message["method"].as_str() {
        Some("exec.start") => {
            assert_eq!(message["params"]["stdin"], true);
            vec![started(message)]
        }
        Some("exec.stdin") => {
            let params = &message["params"];
            seen.lock().unwrap().extend_from_slice(params["text"].as_str().unwrap_or_default().as_bytes());
            let mut answers = vec![result(message, json!({"schema": 1}))];
            if params["eof"] == true {
                answers.push(exit(0, None));
            }
            answers
        }
        _ => vec![result(message, json!({"schema": 1}))],
    });
    let mut child =
        profile.command(&["exec", "--conversation", "c", "--", "cat"]).stdin(Stdio::piped()).spawn().unwrap();
    let sent: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    child.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(*got.lock().unwrap() == sent.as_bytes());
}

#[test]
fn an_interrupt_ends_the_command_and_its_last_words_are_heard() {
    let profile = Profile::new();
    scripted(&profile, |message| match message["method"].as_str() {
        Some("exec.start") => vec![started(message), output("stdout", "ready\n")],
        Some("exec.kill") => {
            assert_eq!(message["params"]["call"], "k1");
            vec![result(message, json!({"schema": 1})), output("stdout", "bye\n"), exit(130, Some("ended by request"))]
        }
        _ => vec![result(message, json!({"schema": 1}))],
    });
    let mut child = profile.command(&["exec", "e", "--", "sleep", "99"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    out.read_to_string(&mut line).unwrap();
    assert_eq!(line, "ready\nbye\n");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_host_that_goes_away_is_our_failure() {
    let profile = Profile::new();
    scripted(&profile, |message| vec![started(message), json!("not a message")]);
    let run = profile.run(&["exec", "e", "--", "ls"]);
    assert!(run.code == 125 && run.err.contains("no message"), "{run:?}");
}

#[test]
fn events_are_one_object_a_line_until_the_host_ends() {
    let profile = Profile::new();
    let event = |seq: u64, kind: &str| {
        notification("event", json!({"seq": seq, "at": "2030-01-01T00:00:00Z", "kind": kind, "text": "x is ready"}))
    };
    let all = move |message: &Value| {
        vec![result(message, json!({"schema": 1})), event(1, "env.ready"), event(2, "host.shutdown"), json!(null)]
    };
    scripted(&profile, all);
    let run = profile.run(&["--json", "events"]);
    let lines: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(run.code, 0, "{run:?}");
    let text = profile.run(&["events"]);
    assert!(text.out.lines().next().unwrap().ends_with("env.ready            x is ready  #1"), "{text:?}");
}

#[test]
fn events_end_when_their_reader_leaves() {
    let profile = Profile::new();
    scripted(&profile, |message| {
        vec![result(message, json!({"schema": 1})), notification("event", json!({"seq": 1, "kind": "env.ready"}))]
    });
    let mut child = profile.command(&["--json", "events"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let status = wait_for("the end of events", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
}

#[test]
fn no_secret_of_a_command_a_prompt_or_a_session_reaches_the_log_or_the_journal() {
    let profile = Profile::new();
    let host = profile.serve();
    let (value, token) = ("hunter22secret", "ghp_abcdefghijklmnopqrstuvwxyz0123456789");
    let run = |args: &[&str]| assert_eq!(profile.run(args).code, 0, "{args:?}");
    run(&["env", "new", "pw", "--env", &format!("PASSWD={value}")]);
    let said = format!("use {token} and {value}");
    run(&["turn", "begin", "--conversation", "c", "--env-name", "pw", "--prompt", &said, "--title", &said]);
    run(&["exec", "--conversation", "c", "--shell", &format!("echo {said}")]);
    run(&["session", "new", "pw", "--", "sh", "-c", &format!("echo {said}")]);
    run(&["turn", "end", "--conversation", "c"]);
    drop(host);
    let mut folders = vec![profile.path().to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            // Its files are the sandbox's own, and its variables are kept beside them for the next start.
            if path.is_dir() && !path.ends_with("envs") && !path.ends_with("secrets") {
                folders.push(path);
            } else if path.is_file() {
                let content = std::fs::read(&path).unwrap();
                seen += 1;
                for secret in [value, token] {
                    let holds = content.windows(secret.len()).any(|w| w == secret.as_bytes());
                    assert!(!holds, "{secret} in {}", path.display());
                }
            }
        }
    }
    assert!(seen > 1, "a log and a journal");
}
