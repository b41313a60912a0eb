//! `env prune`: what is left over goes, what has files, a use or a sandbox stays; and verbs that only print ids.

use super::support::{Outcome, Profile};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

/// A profile in which no engine answers, so that a container cannot be made.
fn run(profile: &Profile, args: &[&str]) -> Outcome {
    Outcome::of(profile.command(args).env("DOCKER_HOST", "unix:///nonexistent/engine.sock").output().unwrap())
}

/// Persistent environments that were removed at the end of their conversation: with a file in them, or without.
fn ended(profile: &Profile, name: &str, command: &str) -> String {
    let spec = ["--retention", "remove_on_session_end"];
    let made = run(profile, &[&["--json", "turn", "begin", "--conversation", name], &spec[..]].concat()).json();
    let id = made["environment"].as_str().unwrap().to_owned();
    assert_eq!(run(profile, &["exec", "--conversation", name, "--", "sh", "-c", command]).code, 0);
    assert_eq!(run(profile, &["turn", "end", "--conversation", name]).code, 0);
    assert_eq!(run(profile, &["conversation", "end", name]).code, 0);
    super::support::wait_for("its removal", || {
        let shown = run(profile, &["--json", "env", "show", &id]).json();
        (shown["environment"]["phase"] == "absent").then_some(())
    });
    id
}

#[test]
fn what_is_left_over_goes_and_everything_else_stays() {
    let profile = Profile::new();
    let empty = ended(&profile, "c1", "true");
    let full = ended(&profile, "c2", "echo hello >/workspace/file");
    assert_eq!(run(&profile, &["env", "new", "lives"]).code, 0);
    let removed =
        run(&profile, &["--json", "env", "new", "gone"]).json()["environment"]["id"].as_str().unwrap().to_owned();
    let folder = |id: &str| profile.path().join("data/envs").join(id);
    fs::write(folder(&removed).join("workspace/file"), "kept").unwrap();
    assert_eq!(run(&profile, &["env", "rm", "gone", "--yes"]).code, 0);

    let would = run(&profile, &["env", "prune", "--dry-run"]);
    assert!(would.out.contains(&format!("({empty}) would be removed")) && !would.out.contains(&full), "{would:?}");
    assert!(would.out.contains("1 folder belongs to no listed environment"), "{would:?}");
    assert!(
        folder(&empty).exists() && run(&profile, &["env", "show", &empty]).code == 0,
        "a dry run removed something"
    );

    let done = run(&profile, &["--json", "env", "prune"]).json();
    assert_eq!(done["environments"].as_array().unwrap().len(), 1, "{done}");
    assert_eq!((&done["environments"][0]["id"], &done["folders"]), (&json!(empty), &json!([])));
    assert_eq!(run(&profile, &["env", "show", &empty]).code, 1);
    assert!(!folder(&empty).exists(), "its empty folder is gone with it");
    for kept in [&full, "lives"] {
        assert_eq!(run(&profile, &["env", "show", kept]).code, 0, "{kept}");
    }
    assert!(folder(&removed).join("workspace/file").exists());

    let asks = run(&profile, &["env", "prune", "--data"]);
    assert!(asks.code == 2 && asks.err.contains("--yes"), "{asks:?}");
    assert!(asks.out.contains(&folder(&removed).display().to_string()), "what would go was not said: {asks:?}");
    assert!(folder(&removed).exists());
    let quiet = run(&profile, &["env", "prune", "--data", "--yes", "--quiet"]);
    assert_eq!((quiet.code, quiet.out.trim()), (0, removed.as_str()), "{quiet:?}");
    assert!(!folder(&removed).exists());
    assert!(folder(&full).join("workspace/file").exists(), "the files of one that is listed are not left over");
    assert_eq!(run(&profile, &["env", "prune", "--data"]).out, "nothing is left over\n");
    assert_eq!(run(&profile, &["shutdown"]).code, 0);
}

#[test]
fn one_that_could_not_be_made_goes_and_a_recorded_sandbox_stays() {
    let profile = Profile::new();
    let _host = profile.serve();
    // The command refuses a mount that is not there before anything is made; the socket does not.
    let mut socket = UnixStream::connect(profile.socket()).unwrap();
    let mut answers = BufReader::new(socket.try_clone().unwrap());
    let mount = json!({"source": "/nonexistent", "target": "/x", "read_only": true});
    for (method, params) in
        [("hello", json!({"protocol": 1})), ("env.new", json!({"name": "bad", "spec": {"mounts": [mount]}}))]
    {
        writeln!(socket, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).unwrap();
        answers.read_line(&mut String::new()).unwrap();
    }
    let shown = run(&profile, &["--json", "env", "show", "bad"]).json()["environment"].clone();
    assert_eq!(shown["phase"], "failed", "{shown}");
    let folder = profile.path().join("data/envs/0123456789ab");
    fs::create_dir_all(folder.join("home")).unwrap();
    fs::write(folder.join("container.json"), "{}").unwrap();
    let done = run(&profile, &["env", "prune", "--data", "--yes", "-q"]);
    assert_eq!((done.code, done.out.trim()), (0, shown["id"].as_str().unwrap()), "{done:?}");
    assert_eq!(run(&profile, &["env", "show", "bad"]).code, 1);
    assert!(folder.join("container.json").exists(), "a sandbox may still be there");
    assert_eq!(run(&profile, &["shutdown"]).code, 0);
}

#[test]
fn lists_can_be_ids_alone() {
    let profile = Profile::new();
    let id = run(&profile, &["env", "new", "a", "--quiet"]).out;
    let listed = run(&profile, &["env", "list", "--quiet"]).out;
    // Whatever runs on this machine beside it.
    assert!(listed.contains(&id) && !listed.contains(' '), "{listed}");
    let turn = run(&profile, &["--json", "turn", "begin", "--conversation", "c1"]).json();
    assert_eq!(run(&profile, &["conversation", "list", "-q"]).out, "c1\n");
    assert_eq!(run(&profile, &["session", "list", "-q"]).out.trim(), turn["session"].as_str().unwrap());
    assert_eq!(run(&profile, &["shutdown"]).code, 0);
}
