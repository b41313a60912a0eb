//! Rules of the configuration: which one fits, what is wrong in them, and where that stands.

use hermes_tui::config::rules::choose;
use hermes_tui::config::{Facts, Rule, check, default_file, load};
use hermes_tui::domain::{BackendKind, Network, Persistence, Retention, Scope, Span};

fn rules(text: &str) -> Vec<Rule> {
    let loaded = load(text).expect("it can be read");
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    loaded.options.rules
}

/// The number of the rule for a conversation of this kind.
fn of_kind(rules: &[Rule], kind: &str) -> Option<usize> {
    choose(rules, &Facts { kind, ..Facts::default() }).map(|rule| rule.number)
}

#[test]
fn the_first_rule_that_fits_is_taken() {
    let rules = rules(
        "[[rule]]\nkind = \"main\"\nenv_name = \"main\"\n[[rule]]\nkind = [\"cron\", \"job-?\"]\n\
         [[rule]]\nkind = \"sub*\"\ntitle = \"*deploy*\"\n[[rule]]\npersistence = \"ephemeral\"\n",
    );
    for (kind, expected) in
        [("main", 1), ("cron", 2), ("job-7", 2), ("job-12", 4), ("subagent", 4), ("", 4), ("Main", 4), ("mainly", 4)]
    {
        assert_eq!(of_kind(&rules, kind), Some(expected), "{kind:?}");
    }
    let facts = Facts { kind: "subagent", title: "to deploy it", ..Facts::default() };
    assert_eq!(choose(&rules, &facts).map(|rule| rule.number), Some(3), "all that it names must fit");
    assert_eq!(of_kind(&rules[..1], "cron"), None);
}

#[test]
fn each_fact_is_matched_by_patterns() {
    let known = Facts {
        kind: "cron",
        title: "nightly backup of all",
        conversation: "cron:2026-08-01",
        source: "hermes",
        cwd: "/projects/mine/site",
    };
    for (rule, fits) in [
        ("kind = \"c?on\"", true),
        ("kind = \"c?n\"", false),
        ("kind = \"!main\"", true),
        ("kind = \"!c*\"", false),
        ("kind = [\"!main\", \"!subagent\"]", true),
        ("kind = [\"*\", \"!cron\"]", false),
        ("kind = [\"main\", \"cron\"]", true),
        ("title = \"nightly*\"", true),
        ("title = \"*backup*all\"", true),
        ("title = \"*backup\"", false),
        ("title = \"*b*b*\"", false),
        ("conversation = \"cron:*\"", true),
        ("source = \"hermes\"", true),
        ("source = \"\"", false),
        ("cwd = \"/projects/mine/*\"", true),
        ("cwd = \"/projects/*/site\"", true),
        ("cwd = \"/projects/mine\"", false),
        ("kind = \"cron\"\ncwd = \"/opt/*\"", false),
    ] {
        let found = rules(&format!("[[rule]]\n{rule}\n"));
        assert_eq!(choose(&found, &known).is_some(), fits, "{rule}");
    }
    // What is not told is an empty text.
    for (rule, fits) in
        [("kind = \"\"", true), ("kind = \"*\"", true), ("kind = \"!main\"", true), ("kind = \"?*\"", false)]
    {
        let found = rules(&format!("[[rule]]\n{rule}\n"));
        assert_eq!(choose(&found, &Facts::default()).is_some(), fits, "{rule}");
    }
}

#[test]
fn what_a_rule_says_is_taken_in_with_what_follows_from_it() {
    let all = rules(
        "[[rule]]\nkind = \"a\"\nbackend = \"docker\"\nendpoint = \"gpu\"\nimage = \"debian:12\"\nscope = \"turn\"\nidle = 9\n\
         network = \"default\"\n[[rule]]\nkind = \"b\"\nenv_name = \"main\"\nretention = \"idle_ttl\"\n",
    );
    let given = &all[0].given;
    assert_eq!((given.backend, given.endpoint.as_deref()), (Some(BackendKind::Docker), Some("gpu")));
    assert_eq!((given.image.as_deref(), given.idle), (Some("debian:12"), Some(Span::seconds(9))));
    assert_eq!((given.scope, given.network), (Some(Scope::Turn), Some(Network::Default)));
    assert_eq!(given.persistence, Some(Persistence::Ephemeral), "nothing else has the scope of a turn");
    let given = &all[1].given;
    assert_eq!((given.env_name.as_deref(), given.scope), (Some("main"), Some(Scope::Shared)));
    assert_eq!((given.retention, given.persistence), (Some(Retention::IdleTtl), Some(Persistence::Persistent)));
    assert_eq!(all[0].to_string(), "rule 1 (kind = \"a\")");
    let text = "[[rule]]\ntitle = \"x\"\nkind = [\"a\", \"b\"]\n[[rule]]\n";
    let shown: Vec<String> = rules(text).iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["rule 1 (kind = [\"a\", \"b\"], title = \"x\")", "rule 2 (for all)"]);
}

#[test]
fn what_is_wrong_in_a_rule_is_found_where_it_stands() {
    for (text, key, at, says, nearest) in [
        (
            "[[rule]]\nknid = \"cron\"\n",
            "rule.1.knid",
            "knid",
            "unknown key `knid`; did you mean `kind`?",
            Some("kind"),
        ),
        ("[[rule]]\n[[rule]]\n", "rule.2", "[[rule]]\n[[rule]]\n", "rule 1 before it fits all", None),
        ("[[rule]]\nscope = \"sesion\"\n", "rule.1.scope", "scope", "did you mean `session`?", None),
        ("[[rule]]\nidle = -1\n", "rule.1.idle", "idle", "whole number from 0", None),
        ("[[rule]]\nkind = 3\n", "rule.1.kind", "kind", "pattern in quotes", None),
        ("[[rule]]\nkind = []\n", "rule.1.kind", "kind", "no pattern", None),
        ("[[rule]]\ncwd = \"~/work\"\n", "rule.1.cwd", "cwd", "without ~", None),
        ("[[rule]]\nenv_name = \"a b\"\n", "rule.1.env_name", "env_name", "a name is 1 to 64", None),
        ("[[rule]]\nscope = \"turn\"\npersistence = \"persistent\"\n", "rule.1.scope", "scope", "outlives turns", None),
        (
            "[[rule]]\nscope = \"turn\"\nretention = \"idle_ttl\"\n",
            "rule.1.retention",
            "retention",
            "its scope ends",
            None,
        ),
        ("[[rule]]\nenv_name = \"x\"\nscope = \"session\"\n", "rule.1.scope", "scope", "is shared, not session", None),
        ("[[rule]]\nbackend = \"local\"\nimage = \"x\"\n", "rule.1.image", "image", "no images", None),
        ("[[rule]]\nbackend = \"local\"\nendpoint = \"gpu\"\n", "rule.1.endpoint", "endpoint", "no endpoint of", None),
        ("theme = \"dark\"\nrule = 3\n", "rule", "rule", "write [[rule]]", None),
        ("theme = \"dark\"\n[rule]\nkind = \"x\"\n", "rule", "rule", "write [[rule]]", None),
        ("rule = [3]\n", "rule.1", "3", "write [[rule]]", None),
        ("[[rules]]\nkind = \"x\"\n", "rules", "rules", "did you mean `rule`?", Some("rule")),
    ] {
        let found = check(text, |_| Vec::new()).unwrap();
        let [one] = found.as_slice() else { panic!("{text}: {found:?}") };
        assert_eq!((one.key.as_str(), one.nearest.as_deref()), (key, nearest), "{text}");
        assert!(one.message.contains(says), "{text}: {}", one.message);
        let place = one.at.unwrap_or_else(|| panic!("{text}: no place"));
        // Of a table as a whole it is enough that it is the right one.
        assert!(text[place..].starts_with(at) || key == "rule.2" && place > 1, "{text}: {:?}", &text[place..]);
    }
}

#[test]
fn a_rule_that_cannot_be_used_still_stands_before_those_after_it() {
    let text = "[[rule]]\nkind = \"cron\"\npersistance = \"ephemeral\"\n[[rule]]\nenv_name = \"main\"\n";
    let loaded = load(text).unwrap();
    assert_eq!(loaded.warnings.len(), 1, "{:?}", loaded.warnings);
    let cron = choose(&loaded.options.rules, &Facts { kind: "cron", ..Facts::default() }).unwrap();
    assert_eq!(cron.number, 1);
    assert!(cron.fault.as_ref().unwrap().contains("did you mean `persistence`?"), "{cron:?}");
    assert_eq!(of_kind(&loaded.options.rules, "main"), Some(2));
    assert_eq!(loaded.options.rules[1].fault, None);
}

#[test]
fn the_examples_of_the_default_file_are_right_and_name_every_key() {
    let file = default_file();
    let (_, examples) = file.split_once("# [[rule]]").expect("examples");
    let lines = examples.lines().filter_map(|line| line.strip_prefix("# "));
    let settings: Vec<&str> = lines.filter(|line| line.starts_with("[[") || line.contains(" = ")).collect();
    let text = format!("[[rule]]\n{}\n", settings.join("\n"));
    let all = rules(&text);
    assert_eq!(all.len(), 3, "{text}");
    let schema = hermes_tui::config::schema();
    let keys = schema["properties"]["rule"]["items"]["properties"].as_object().unwrap();
    assert_eq!(keys.len(), 14, "{keys:?}");
    for key in keys.keys() {
        assert!(text.contains(&format!("\n{key} = ")), "no {key} in {text}");
    }
}
