//! Rules of the configuration, by the real binary: which conversation gets which sandbox, and who says so.

use super::support::{Outcome, Profile, wait_for};
use serde_json::{Value, json};
use std::fs;

/// The main conversation in one environment that stays, each other one in a sandbox of its own.
const ISOLATE: &str = "[[rule]]\nkind = \"main\"\nenv_name = \"main\"\nretention = \"keep_running\"\n\n\
                       [[rule]]\nkind = \"!main\"\npersistence = \"ephemeral\"\n";

fn configured(text: &str) -> Profile {
    let profile = Profile::new();
    fs::create_dir(profile.path().join("config")).unwrap();
    fs::write(profile.path().join("config/config.toml"), text).unwrap();
    profile
}

fn begin(profile: &Profile, args: &[&str]) -> Outcome {
    profile.run(&[&["--json", "turn", "begin", "--conversation"], args].concat())
}

fn env(profile: &Profile, begun: &Value) -> Value {
    let shown = profile.run(&["--json", "env", "show", begun["environment"].as_str().unwrap()]);
    shown.json()["environment"].clone()
}

fn shell(profile: &Profile, conversation: &str, script: &str) -> String {
    let outcome = profile.run(&["exec", "--conversation", conversation, "--shell", script]);
    assert_eq!(outcome.code, 0, "{script}: {outcome:?}");
    outcome.out
}

fn names(profile: &Profile) -> Vec<String> {
    let list = profile.run(&["--json", "env", "list"]).json();
    let mut names: Vec<String> =
        list["environments"].as_array().unwrap().iter().map(|env| env["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_main_conversation_has_the_shared_environment_and_each_other_one_a_sandbox_of_its_own() {
    let profile = configured(ISOLATE);
    let told = profile.run(&["turn", "begin", "--conversation", "talk", "--kind", "main"]);
    assert!(told.out.trim_end().ends_with("; rule 1 (kind = \"main\") chose it"), "{told:?}");
    let main = begin(&profile, &["talk", "--kind", "main"]).json();
    let again = begin(&profile, &["talk-2", "--kind", "main"]).json();
    let cron = begin(&profile, &["nightly", "--kind", "cron"]).json();
    let sub = begin(&profile, &["helper", "--kind", "subagent"]).json();
    let none = begin(&profile, &["unnamed"]).json();
    assert_eq!(main["environment"], again["environment"]);
    assert_ne!(main["session"], again["session"], "each has a shell of its own");
    assert_eq!(names(&profile), ["helper", "main", "nightly", "unnamed"]);

    let shown = env(&profile, &main);
    assert_eq!(
        (&shown["name"], &shown["persistence"], &shown["scope"], &shown["retention"]),
        (&json!("main"), &json!("persistent"), &json!("shared"), &json!("keep_running"))
    );
    assert_eq!(shown["rules"], json!([{"rule": "rule 1 (kind = \"main\")", "conversations": ["talk", "talk-2"]}]));
    for other in [&cron, &sub, &none] {
        let shown = env(&profile, other);
        assert_eq!((&shown["persistence"], &shown["scope"]), (&json!("ephemeral"), &json!("session")), "{shown}");
        assert_eq!(shown["rules"][0]["rule"], "rule 2 (kind = \"!main\")");
        assert_eq!(other["rule"], shown["rules"][0]["rule"]);
    }
    let page = profile.run(&["env", "show", "main"]);
    assert!(page.out.contains("rule 1 (kind = \"main\"): talk, talk-2"), "{page:?}");
    let events = profile.run(&["events", "--no-follow"]);
    assert!(events.out.contains("began in nightly, where rule 2 (kind = \"!main\") puts it"), "{events:?}");

    // What one writes only those see that share its environment.
    shell(&profile, "talk", "echo ours > /workspace/note");
    assert_eq!(shell(&profile, "talk-2", "cat /workspace/note"), "ours\n");
    for other in ["nightly", "helper", "unnamed"] {
        assert_eq!(shell(&profile, other, "ls /workspace; echo mine > /workspace/note"), "", "{other}");
    }
    assert_eq!(shell(&profile, "talk", "cat /workspace/note"), "ours\n");

    // With its conversation an isolated one goes; the main one stays.
    for conversation in ["talk", "talk-2", "nightly"] {
        assert_eq!(profile.run(&["conversation", "end", conversation]).code, 0);
    }
    wait_for("the end of the isolated one", || (names(&profile) == ["helper", "main", "unnamed"]).then_some(()));
    assert_eq!(env(&profile, &main)["phase"], "ready");
    // The next one of its kind finds it.
    let third = begin(&profile, &["talk-3", "--kind", "main"]).json();
    assert_eq!((&third["environment"], &third["sandbox"]), (&main["environment"], &main["sandbox"]));
    assert_eq!(shell(&profile, "talk-3", "cat /workspace/note"), "ours\n");
}

#[test]
fn flags_win_over_a_rule_and_a_rule_over_the_defaults() {
    let text = "[env]\nidle = 60\nnetwork = \"host\"\n\n[[rule]]\nkind = \"main\"\nenv_name = \"main\"\nidle = 7\n\n\
                [[rule]]\nsource = \"bot\"\nidle = 8\nscope = \"turn\"\n\n\
                [[rule]]\ncwd = \"*/site\"\nidle = 9\n";
    let profile = configured(text);
    let spec = |args: &[&str]| {
        let begun = begin(&profile, args).json();
        let shown = env(&profile, &begun);
        let word = |name: &str| shown[name].as_str().unwrap().to_owned();
        (shown["idle_seconds"].as_u64().unwrap(), word("scope"), word("persistence"), begun["rule"].clone())
    };
    let expect =
        |idle: u64, scope: &str, persistence: &str, rule: Value| (idle, scope.to_owned(), persistence.to_owned(), rule);
    let (main, bot, site) =
        (json!("rule 1 (kind = \"main\")"), json!("rule 2 (source = \"bot\")"), json!("rule 3 (cwd = \"*/site\")"));
    assert_eq!(spec(&["a"]), expect(60, "session", "persistent", Value::Null));
    assert_eq!(spec(&["b", "--kind", "main"]), expect(7, "shared", "persistent", main.clone()));
    assert_eq!(spec(&["c", "--source", "bot"]), expect(8, "turn", "ephemeral", bot));
    assert_eq!(spec(&["d", "--cwd", "/srv/site"]), expect(9, "session", "persistent", site));
    // Where nobody says where the agent works, it is where the command runs.
    let folder = profile.path().join("site");
    fs::create_dir(&folder).unwrap();
    let mut command = profile.command(&["--json", "turn", "begin", "--conversation", "e", "--scope", "shared"]);
    let begun = Outcome::of(command.current_dir(&folder).output().unwrap()).json();
    assert_eq!(
        (&begun["rule"], &env(&profile, &begun)["scope"]),
        (&json!("rule 3 (cwd = \"*/site\")"), &json!("shared"))
    );
    // Whoever wants something else than what all the others share gets one of its own.
    let own = begin(&profile, &["f", "--kind", "main", "--ephemeral", "--scope", "session"]).json();
    let shown = env(&profile, &own);
    assert_eq!((&shown["name"], &shown["persistence"], &own["rule"]), (&json!("f"), &json!("ephemeral"), &main));
    // The kind of a conversation is remembered, and an environment that is named is no matter of rules.
    let named = begin(&profile, &["g", "--kind", "main", "--env-name", "f"]).json();
    assert_eq!((&named["environment"], &named["rule"]), (&own["environment"], &Value::Null));
    let wrong = begin(&profile, &["h", "--source", "bot", "--persistent"]);
    let message = wrong.error(2, "usage")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("rule 2 (source = \"bot\") of the configuration"), "{message}");
}

#[test]
fn a_conversation_whose_rule_cannot_be_used_begins_no_turn_and_others_do() {
    let profile = configured("[[rule]]\nkind = \"cron\"\npersistance = \"ephemeral\"\n");
    let checked = profile.run(&["config", "check"]);
    let file = profile.path().join("config/config.toml").display().to_string();
    let line = format!(
        "error: {file}, line 3, column 1: rule 1 cannot be used: unknown key `persistance`; did you mean `persistence`?"
    );
    assert!(checked.code == 3 && checked.err.lines().any(|one| one == line), "{checked:?}");
    let refused = begin(&profile, &["nightly", "--kind", "cron"]);
    let error = refused.error(3, "config");
    assert!(error["message"].as_str().unwrap().contains("did you mean `persistence`?"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("config check"), "{error}");
    assert_eq!(names(&profile), [""; 0]);
    assert_eq!(begin(&profile, &["talk", "--kind", "main"]).code, 0);
    // A person who names the environment knows where it goes.
    assert_eq!(begin(&profile, &["nightly", "--kind", "cron", "--env-name", "talk"]).code, 0);
    let shown = profile.run(&["--json", "config", "show", "--changed"]).json();
    let rule = json!({"kind": "cron", "persistance": "ephemeral"});
    let of_the_file: Vec<_> =
        shown["settings"].as_array().unwrap().iter().filter(|one| one["source"] == "file").collect();
    assert_eq!(of_the_file, [&json!({"key": "rule.1", "value": rule, "source": "file", "from": file})]);
}

#[test]
fn rules_that_are_changed_count_for_the_next_turn_of_a_running_host() {
    let profile = configured("");
    let _host = profile.serve();
    assert_eq!(begin(&profile, &["before", "--kind", "main"]).code, 0);
    let file = profile.path().join("config/config.toml");
    fs::write(&file, ISOLATE).unwrap();
    assert_eq!(begin(&profile, &["talk", "--kind", "main"]).json()["rule"], "rule 1 (kind = \"main\")");
    assert_eq!(names(&profile), ["before", "main"]);
    for broken in ["[[rule]]\nretention = \"keep\"\n", "[[rule]\n"] {
        fs::write(&file, broken).unwrap();
        assert_eq!(begin(&profile, &["talk", "--kind", "cron"]).code, 3, "{broken}");
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(begin(&profile, &["other", "--kind", "main"]).code, 0);
    assert_eq!(names(&profile), ["before", "main", "other"]);
}
