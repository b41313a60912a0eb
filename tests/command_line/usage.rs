//! Help, words that are not understood, configuration, and how errors look.

use super::support::{Profile, failure, result, scripted};
use serde_json::{Value, json};
use std::fs;
use std::io::Read;

#[test]
fn help_names_the_verbs_that_exist_and_no_others() {
    let help = Profile::new().run(&["--help"]);
    assert_eq!(help.code, 0);
    let verbs: Vec<&str> = help
        .out
        .lines()
        .skip_while(|line| *line != "Verbs:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let known = [
        "open",
        "attach",
        "serve",
        "status",
        "shutdown",
        "env",
        "conversation",
        "turn",
        "exec",
        "cp",
        "session",
        "reap",
        "events",
        "hook",
        "mcp",
        "doctor",
        "config",
        "util",
    ];
    assert_eq!(verbs, known);
    assert!(!help.out.contains("__"), "{}", help.out);
}

#[test]
fn every_verb_explains_itself() {
    let profile = Profile::new();
    let groups: [(&str, &[&str]); 6] = [
        ("config", &["show", "check", "path", "schema"]),
        ("util", &["man", "completions", "protocol"]),
        ("env", &["list", "show", "new", "start", "stop", "rm", "pin", "unpin", "extend", "rename", "adopt", "prune"]),
        ("conversation", &["list", "show", "end"]),
        ("turn", &["begin", "touch", "end", "list", "show"]),
        ("session", &["list", "new", "attach", "wait", "capture", "send-keys", "kill"]),
    ];
    for (group, verbs) in groups {
        let help = profile.run(&[group, "--help"]).out;
        for verb in verbs {
            assert!(help.lines().any(|line| line.split_whitespace().next() == Some(verb)), "{group} {verb}: {help}");
            let own = profile.run(&[group, verb, "--help"]);
            assert!(own.code == 0 && own.out.contains("Usage:"), "{own:?}");
        }
    }
    assert_eq!(profile.run(&["--version"]).out.trim(), concat!("hermes-tui ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn words_that_are_not_understood_are_usage_errors_in_text_and_json() {
    let profile = Profile::new();
    let cases: &[(&[&str], &str)] = &[
        (&["frobnicate"], "frobnicate"),
        (&["env", "lsit"], "list"),
        (&["env"], "env"),
        (&["env", "show"], "ENV"),
        (&["env", "list", "--fast"], "--fast"),
        (&["env", "new", "x", "--backend", "nope"], "local"),
        (&["env", "new", "x", "--persistent", "--ephemeral"], "--ephemeral"),
        (&["env", "new", "x", "--idle", "soon"], "soon"),
        (&["env", "new", "x", "--idle", "-1"], "-1"),
        (&["env", "new", "x", "--mount", "/usr"], "SRC:DST"),
        (&["env", "new", "x", "--memory", "much"], "much"),
        (&["env", "new", "x", "--env", "HTUI_TEST_NOT_SET"], "HTUI_TEST_NOT_SET"),
        (&["env", "extend", "x", "--by", "nan"], "nan"),
        (&["turn", "begin"], "--conversation"),
        (&["turn", "end", "--conversation", "c", "--status", "running"], "done"),
        (&["exec"], "ENV"),
        (&["exec", "x"], "ARGV"),
        (&["exec", "x", "ls"], "ls"),
        (&["exec", "x", "--conversation", "c", "--", "ls"], "--conversation"),
        (&["exec", "x", "--shell", "ls", "--", "ls"], "--shell"),
        (&["session", "send-keys", "s"], "KEYS"),
        (&["env", "rm", "x"], "--yes"),
    ];
    for (args, words) in cases {
        let text = profile.run(args);
        assert_eq!(text.code, 2, "{args:?}: {text:?}");
        assert!(text.out.is_empty() && text.err.contains(words), "{args:?}: {text:?}");
        let mut with_json = vec!["--json"];
        with_json.extend_from_slice(args);
        let json = profile.run(&with_json);
        let error = json.error(2, "usage");
        assert!(error.to_string().contains(words), "{args:?}: {json:?}");
        assert!(json.err.is_empty(), "{args:?}: {json:?}");
    }
    assert!(!profile.path().join("data").exists(), "a usage error started something");
}

#[test]
fn json_after_the_dashes_belongs_to_the_command_that_is_run() {
    let outcome = Profile::new().run(&["exec", "--fast", "--", "ls", "--json"]);
    assert!(outcome.code == 2 && outcome.out.is_empty(), "{outcome:?}");
}

#[test]
fn a_broken_configuration_is_named_with_line_and_column() {
    let profile = Profile::new();
    fs::create_dir(profile.path().join("config")).unwrap();
    let file = profile.path().join("config/config.toml");
    fs::write(&file, "# ok\n[env]\nidle = = 3\n").unwrap();
    for verb in [["env", "list"].as_slice(), &["serve"], &["exec", "x", "--", "ls"]] {
        let outcome = profile.run(verb);
        let expected = if verb[0] == "exec" { 125 } else { 3 };
        assert_eq!(outcome.code, expected, "{outcome:?}");
        assert!(outcome.err.contains("line 3, column 8"), "{outcome:?}");
        assert!(outcome.err.contains(&file.display().to_string()), "{outcome:?}");
    }
    profile.run(&["--json", "env", "list"]).error(3, "config");
    let missing = profile.run(&["--json", "--config", "/no/such/file.toml", "env", "list"]);
    assert!(missing.error(3, "config")["message"].as_str().unwrap().contains("/no/such/file.toml"));
    assert_eq!(profile.run(&["shutdown"]).code, 0, "a broken configuration must not keep a host from being ended");
}

#[test]
fn the_kind_of_an_error_picks_the_exit_code() {
    for (code, exit_code) in
        [("failed", 1), ("not_found", 1), ("usage", 2), ("unreachable", 4), ("policy", 5), ("internal", 70)]
    {
        let profile = Profile::new();
        scripted(&profile, move |message| vec![failure(message, code, "cannot do it: because")]);
        let text = profile.run(&["env", "show", "x"]);
        assert_eq!(text.code, exit_code, "{text:?}");
        assert_eq!(text.err, "error: cannot do it: because\n hint: do this next\n");
        profile.run(&["env", "show", "x", "--json"]).error(exit_code, code);
        assert_eq!(profile.run(&["exec", "x", "--", "ls"]).code, 125);
    }
}

#[test]
fn the_flags_of_a_new_environment_are_sent_as_they_are_meant() {
    let profile = Profile::new();
    let (sender, sent) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    scripted(&profile, move |message| {
        sender.lock().unwrap().send(message.clone()).unwrap();
        vec![result(message, json!({"schema": 1, "environment": {"name": "x", "phase": "ready"}}))]
    });
    let args = "env new x --backend local --ephemeral --scope turn --idle 2.5 --mount /usr:/u:ro --env A=b=c --env E= \
                --network host --cpus 1.5 --memory 1G";
    let outcome = profile.run(&args.split_whitespace().collect::<Vec<_>>());
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "x is ready\n"), "{outcome:?}");
    let message: Value = sent.recv().unwrap();
    assert_eq!(message["method"], "env.new");
    assert_eq!(
        message["params"],
        json!({"name": "x", "spec": {
            "backend": "local", "persistence": "ephemeral", "scope": "turn", "idle_seconds": 2.5,
            "mounts": [{"source": "/usr", "target": "/u", "read_only": true}],
            "env": {"A": "b=c", "E": ""}, "network": "host", "cpus": 1.5, "memory_bytes": 1 << 30,
        }})
    );
}

#[test]
fn a_list_is_a_table_without_escapes_where_nobody_looks() {
    let profile = Profile::new();
    let env = |name: &str, phase: &str| {
        json!({
            "id": "0123456789abcdef", "name": name, "backend": "local", "persistence": "persistent", "scope": "session",
            "phase": phase, "holders": [], "idle_deadline_at": null, "failure": null,
            "last_ending": {"why": "stopped after 5 s idle"},
        })
    };
    let reply = json!({"schema": 1, "environments": [env("a", "stopped"), env("langer\u{1b}[31mName", "ready")], "endpoints": []});
    scripted(&profile, move |message| vec![result(message, reply.clone())]);
    let outcome = profile.run(&["env", "list"]);
    let lines: Vec<&str> = outcome.out.lines().collect();
    assert_eq!(
        lines,
        [
            "NAME            ID        BACKEND  PERSISTENCE  SCOPE    PHASE    USE",
            "a               01234567  local    persistent   session  stopped  stopped after 5 s idle",
            "langer[31mName  01234567  local    persistent   session  ready    stopped after 5 s idle",
        ]
    );
}

#[test]
fn what_is_paused_is_not_listed_as_due() {
    let profile = Profile::new();
    let env = json!({
        "id": "0123456789abcdef", "name": "a", "backend": "docker", "persistence": "persistent", "scope": "session",
        "phase": "ready", "holders": [], "idle_deadline_at": "2020-01-01T00:00:00Z", "paused": true, "failure": null,
        "verdict": {"kind": "frozen", "reason": "paused by somebody else: nothing is decided until it goes on"},
    });
    let reply = json!({"schema": 1, "environments": [env], "endpoints": []});
    scripted(&profile, move |message| vec![result(message, reply.clone())]);
    let outcome = profile.run(&["env", "list"]);
    let last = outcome.out.lines().last().unwrap_or_default();
    assert!(last.ends_with("paused  paused by somebody else: nothing is decided until it goes on"), "{last}");
}

#[test]
fn a_flag_of_the_screen_before_a_verb_is_not_passed_over() {
    let profile = Profile::new();
    for flag in ["--read-only", "--foreground"] {
        let outcome = profile.run(&["--json", flag, "exec", "a", "--", "true"]);
        assert!(outcome.error(2, "usage")["message"].as_str().unwrap().contains(flag), "{outcome:?}");
    }
    assert!(!profile.path().join("data").exists(), "a host was started");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let profile = Profile::new();
    scripted(&profile, |message| vec![result(message, json!({"schema": 1, "environments": [], "endpoints": []}))]);
    for args in [["env", "list"].as_slice(), &["--json", "env", "list"], &["--help"]] {
        let (read, write) = std::io::pipe().unwrap();
        let (mut errors, error_end) = std::io::pipe().unwrap();
        drop(read);
        let mut command = profile.command(args);
        command.stdout(write).stderr(error_end);
        let status = command.spawn().unwrap().wait().unwrap();
        drop(command);
        let mut said = String::new();
        errors.read_to_string(&mut said).unwrap();
        assert_eq!((status.code(), said.as_str()), (Some(0), ""), "{args:?}");
    }
}
