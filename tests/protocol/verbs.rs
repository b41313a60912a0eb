//! Every verb with `--json`, against the schema.

use super::schema::Closed;
use crate::common::{Profile, text};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Verbs that print no reply, need a terminal for it, or speak another protocol.
const SILENT: &[&str] = &["serve", "open", "attach", "session attach", "hook", "mcp"];
/// Verbs that print a JSON Schema as it is.
const SCHEMAS: &[&str] = &["config schema", "util protocol"];
/// Verbs that print another shape than the reply of their method.
const OWN_SHAPE: &[(&str, &str)] = &[
    ("exec", "command_line.exec"),
    ("cp", "command_line.cp"),
    ("doctor", "command_line.doctor"),
    ("shutdown", "command_line.shutdown"),
    ("config show", "command_line.config_show"),
    ("config check", "command_line.config_check"),
    ("config path", "command_line.config_path"),
    ("util man", "command_line.text"),
    ("util completions", "command_line.text"),
    ("util shell-integration", "command_line.text"),
];

/// Runs verbs in a profile and remembers which ones.
struct Runs {
    profile: Profile,
    schema: Closed,
    seen: RefCell<BTreeSet<String>>,
}

impl Runs {
    fn new() -> Self {
        Self { profile: Profile::new(), schema: Closed::new(), seen: RefCell::default() }
    }

    /// The words of a command line, in which no word has a space; gives exit code and output.
    fn run(&self, words: &str) -> (i32, Value) {
        let mut args = vec!["--json"];
        args.extend(words.split(' '));
        let output = self.profile.run(&args);
        let said = String::from_utf8_lossy(&output.stdout);
        let value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{words}: {e}: {}", text(&output)));
        (output.status.code().unwrap_or(-1), value)
    }

    /// Runs a verb that must succeed, and checks its reply.
    fn good(&self, words: &str) -> Value {
        let verb = verb_of(words);
        let (code, value) = self.run(words);
        assert_eq!(code, 0, "{words}: {value}");
        let own = OWN_SHAPE.iter().find(|(name, _)| *name == verb).map(|(_, shape)| (*shape).to_owned());
        let mut method = format!("{}.result", verb.replace(' ', ".").replace('-', "_"));
        if words.starts_with("env adopt --list") {
            method = "env.candidates.result".to_owned();
        }
        self.schema.check(&own.unwrap_or(method), &value);
        self.seen.borrow_mut().insert(verb);
        value
    }

    /// Runs a verb that must fail with this code.
    fn bad(&self, exit_code: i32, words: &str) -> Value {
        let (code, value) = self.run(words);
        assert_eq!(code, exit_code, "{words}: {value}");
        self.schema.check("command_line.error", &value);
        value
    }
}

/// The verb among the words: as many of them as the program knows as verbs.
fn verb_of(words: &str) -> String {
    let mut command = hermes_tui::cli::command();
    let mut verb = Vec::new();
    for word in words.split(' ') {
        let Some(found) = command.find_subcommand(word).cloned() else { break };
        verb.push(word);
        command = found;
    }
    verb.join(" ")
}

/// Every verb that has none below it.
fn leaves(command: &clap::Command, before: &str, into: &mut BTreeSet<String>) {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = format!("{before}{}", verb.get_name());
        if verb.has_subcommands() {
            leaves(verb, &format!("{name} "), into);
        } else {
            into.insert(name);
        }
    }
}

#[test]
fn every_verb_prints_what_the_schema_says() {
    let runs = Runs::new();
    let config = runs.profile.path().join("config");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), "[[rule]]\nkind = \"main\"\nsource = \"tests\"\n").unwrap();
    runs.good("doctor");
    for verb in [
        "config show",
        "config check",
        "config path",
        "util man",
        "util completions bash",
        "util shell-integration zsh",
    ] {
        runs.good(verb);
    }
    let (code, report) = runs.run("config check /dev/null/none");
    assert_eq!(code, 3);
    runs.schema.check("command_line.error", &report);
    std::fs::write(runs.profile.path().join("wrong.toml"), "them = 1\n").unwrap();
    let (code, report) = runs.run("config check wrong.toml");
    assert_eq!(code, 3);
    runs.schema.check("command_line.config_check", &report);
    for verb in SCHEMAS {
        jsonschema::meta::validate(&runs.run(verb).1).expect(verb);
        runs.seen.borrow_mut().insert((*verb).to_owned());
    }
    let (_, pages) = runs.run("util man --dir pages");
    runs.schema.check("command_line.pages", &pages);
    runs.bad(1, "status");
    runs.good("shutdown");

    runs.good("env list");
    runs.good("status");
    let id = runs.good("env new a --env A=b --mount /usr:/u:ro --idle 60.5")["environment"]["id"].clone();
    for verb in [
        "env show a",
        "env pin a",
        "env unpin a",
        "env take-over a",
        "env give-back a",
        "env extend a",
        "env extend a --by 5",
        "env rename a b",
    ] {
        runs.good(verb);
    }
    runs.good("exec b -- sh -c exit");
    runs.good("env show b");
    runs.good("env stop b");
    runs.good("env show b");
    runs.good("env start b");
    runs.good("env rm b --yes");
    runs.good(&format!("env rm {} --data --yes", id.as_str().unwrap()));
    runs.good("env adopt --list");
    runs.bad(1, "env adopt nothing");
    runs.bad(1, "env show nothing");
    runs.bad(2, "env show");
    runs.bad(4, "env new c --image none:1");
    runs.good("env prune --dry-run --data");
    runs.good("env prune --data --yes");
    runs.good("env new d --ephemeral");
    runs.good("env rm d --yes");

    let turn = runs.good("turn begin --conversation c1 --title t --kind main --source tests --cwd / --prompt p");
    assert!(turn["rule"].is_string(), "{turn}");
    assert!(runs.good("env show c1")["environment"]["rules"][0]["rule"].is_string());
    let session = turn["session"].as_str().unwrap().to_owned();
    runs.good("exec --conversation c1 --shell cd");
    let (code, failed) = runs.run("exec --conversation c1 -- false");
    assert_eq!(code, 1);
    runs.schema.check("command_line.exec", &failed);
    runs.bad(125, "exec nothing -- true");
    runs.good("turn touch --conversation c1");
    runs.good("turn list --conversation c1");
    runs.good(&format!("turn show {}", turn["turn"].as_str().unwrap()));
    runs.good("env list");
    runs.good("reap --dry-run");
    runs.good(&format!("reap --explain {}", turn["environment"].as_str().unwrap()));
    runs.good("reap");
    runs.good("conversation list");
    runs.good("conversation show c1");
    runs.good("session list");
    let own = runs.good("session new c1 --conversation c1 -- sh -c exit")["session"]["id"].clone();
    runs.good(&format!("session wait {}", own.as_str().unwrap()));
    runs.good(&format!("session wait {session} --text $ --timeout 20"));
    runs.bad(124, &format!("session wait {session} --timeout 0.1"));
    std::fs::write(runs.profile.path().join("file"), "text").unwrap();
    runs.good("cp file c1:/tmp/file");
    runs.bad(2, "attach c1");
    runs.good(&format!("session capture {session} --history --ansi"));
    runs.good(&format!("session send-keys {session} true Enter"));
    runs.good(&format!("session kill {session}"));
    runs.good("session list");
    runs.good("turn end --conversation c1 --status failed");
    runs.good("turn end --conversation c1");
    runs.good("turn list --conversation c1");
    runs.good("conversation end c1");
    runs.good("conversation list");
    let events = runs.profile.run(&["--json", "events", "--no-follow"]);
    let lines = String::from_utf8(events.stdout).unwrap();
    assert!(lines.lines().count() > 10, "{lines}");
    for line in lines.lines() {
        runs.schema.check("event_line", &serde_json::from_str(line).unwrap());
    }
    runs.seen.borrow_mut().insert("events".to_owned());
    runs.good("shutdown");

    let mut all = BTreeSet::new();
    leaves(&hermes_tui::cli::command(), "", &mut all);
    all.retain(|verb| !SILENT.contains(&verb.as_str()));
    assert_eq!(runs.seen.into_inner(), all, "each verb is run once at least");
}
