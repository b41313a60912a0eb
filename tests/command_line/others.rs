//! Sandboxes that are not ours, by the command line: what is sent, and what is said. The host is played by the test.

use super::support::{Profile, failure, result, scripted};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

fn theirs(origin: &str) -> Value {
    json!({"id": "e1", "name": "h", "origin": origin, "phase": "ready", "backend": "docker",
           "sandbox": {"id": "box", "generation": 1}, "watched": {"profile": "work", "maker": "leaves running"},
           "consequences": {"stop": ["the next start of hermes-agent deletes it"], "remove": ["it is gone at once"]}})
}

/// A host with one sandbox of this origin, which refuses what nobody said yes to; what it was asked for.
fn host(profile: &Profile, origin: &'static str) -> Arc<Mutex<Vec<Value>>> {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    scripted(profile, move |message| {
        let method = message["method"].as_str().unwrap_or_default();
        if method.starts_with("env.") && method != "env.show" {
            log.lock().unwrap().push(message.clone());
        }
        let reply = match method {
            "hello" => json!({"protocol": 1}),
            "env.show" => json!({"schema": 1, "environment": theirs(origin)}),
            "env.candidates" => json!({"schema": 1, "unreachable": [], "candidates": [
                {"endpoint": "docker", "container": "0123456789abcdef", "name": "db", "image": "postgres:17", "state": "running"}]}),
            "env.adopt" => json!({"schema": 1, "environment": theirs("foreign")}),
            "env.rm" if origin == "foreign" => json!({"schema": 1, "removed": "e1", "forgotten": true}),
            _ if message["params"]["yes"] == true => {
                json!({"schema": 1, "environment": theirs(origin), "removed": "e1"})
            }
            _ => {
                let text = "h was not stopped: the next start of hermes-agent deletes it";
                return vec![failure(message, "policy", text)];
            }
        };
        vec![result(message, reply)]
    });
    asked
}

#[test]
fn where_nobody_can_be_asked_the_consequences_are_said_and_nothing_is_done() {
    for verb in ["stop", "rm"] {
        let profile = Profile::new();
        let asked = host(&profile, "hermes");
        let outcome = profile.run(&["env", verb, "h"]);
        assert_eq!(outcome.code, 5, "{outcome:?}");
        assert!(outcome.err.contains("the next start of hermes-agent deletes it"), "{outcome:?}");
        assert_eq!(asked.lock().unwrap().last().unwrap()["params"]["yes"], false);
        assert_eq!(profile.run(&["env", verb, "h", "--yes"]).code, 0);
        assert_eq!(asked.lock().unwrap().last().unwrap()["params"]["yes"], true);
    }
}

#[test]
fn one_that_was_adopted_is_only_taken_off_the_list() {
    let profile = Profile::new();
    let asked = host(&profile, "foreign");
    let outcome = profile.run(&["env", "rm", "h"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.out.contains("no longer shown; its container is left as it is"), "{outcome:?}");
    assert_eq!(asked.lock().unwrap()[0]["params"]["container"], false);
}

#[test]
fn adopt_needs_a_name_or_lists_what_there_is() {
    let profile = Profile::new();
    let asked = host(&profile, "foreign");
    assert_eq!(profile.run(&["env", "adopt"]).code, 2);
    let listed = profile.run(&["env", "adopt", "--list"]);
    assert!(listed.out.contains("db") && listed.out.contains("postgres:17"), "{listed:?}");
    let adopted = profile.run(&["env", "adopt", "db"]);
    assert!(adopted.out.contains("is shown"), "{adopted:?}");
    assert_eq!(asked.lock().unwrap().last().unwrap()["params"]["container"], "db");
}
