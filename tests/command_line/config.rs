//! `config`: what is in force and who says so, what is wrong in a file and where. Needs no host and starts none.

use super::support::{Outcome, Profile};
use serde_json::{Value, json};
use std::fs;

/// A profile with this configuration.
fn configured(text: &str) -> Profile {
    let profile = Profile::new();
    fs::create_dir(profile.path().join("config")).unwrap();
    fs::write(profile.path().join("config/config.toml"), text).unwrap();
    profile
}

fn setting<'a>(report: &'a Value, key: &str) -> &'a Value {
    let all = report["settings"].as_array().unwrap();
    all.iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("no {key}: {report}"))
}

#[test]
fn each_setting_says_what_it_is_and_who_says_so() {
    let text = "theme = \"light\"\nmouse = 3\n[env]\nidle = 7\nimage = \"debian:12\"\n[keys.nav]\nenv-new = [\"n\"]\n\
                [hermes.profiles.work]\nreap = \"leaked\"\n";
    let profile = configured(text);
    let file = profile.path().join("config/config.toml").display().to_string();
    let run = |args: &[&str]| {
        let mut command = profile.command(args);
        command.env("HTUI_ENV_IDLE", "60").env("HTUI_THEME", "").env("HTUI_HISTORY_LINES", "many");
        Outcome::of(command.output().unwrap())
    };
    let report = run(&["--json", "config", "show", "--endpoint", "lab"]).json();
    let is = |key: &str, value: Value, source: &str, from: Value| {
        let one = setting(&report, key);
        assert_eq!((&one["value"], &one["source"], &one["from"]), (&value, &json!(source), &from), "{key}");
    };
    is("theme", json!("light"), "file", json!(file));
    is("mouse", json!(true), "default", Value::Null);
    is("env.image", json!("debian:12"), "file", json!(file));
    is("env.idle", json!(60), "variable", json!("HTUI_ENV_IDLE"));
    is("env.endpoint", json!("lab"), "flag", json!("--endpoint"));
    is("history.lines", json!(10_000), "default", Value::Null);
    is("keys.nav.env-new", json!(["n"]), "file", json!(file));
    is("hermes.profiles.work", json!({"reap": "leaked"}), "file", json!(file));
    let shown = run(&["config", "show"]);
    let line = |key: &str| shown.out.lines().find(|line| line.starts_with(key)).unwrap_or_else(|| panic!("{shown:?}"));
    assert!(line("env.idle").contains("60") && line("env.idle").contains("HTUI_ENV_IDLE"), "{shown:?}");
    assert!(line("history.lines").ends_with("default"), "{shown:?}");
    let changed = run(&["config", "show", "--changed"]);
    assert!(changed.out.contains("theme") && !changed.out.contains("history.lines"), "{changed:?}");
    assert!(!profile.path().join("data").exists(), "a host was started");
}

#[test]
fn a_check_names_file_line_key_and_the_nearest_name() {
    let text = "them = \"dark\"\n\n[history]\n  linse = 5\nlines = \"many\"\n[keys.nav]\nenv-nex = [\"n\"]\n\
                [hermes.profiles.work]\nraep = \"off\"\n[nonsense.deeper]\nx = 1\n";
    let profile = configured(text);
    let report = profile.run(&["--json", "config", "check"]);
    assert_eq!(report.code, 3, "{report:?}");
    let value = report.json();
    assert_eq!(value["error"]["code"], "config");
    let found: Vec<(Value, Value, Value, Value)> = value["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["key"].clone(), one["line"].clone(), one["column"].clone(), one["nearest"].clone()))
        .collect();
    let expected = [
        (json!("them"), json!(1), json!(1), json!("theme")),
        (json!("history.linse"), json!(4), json!(3), json!("history.lines")),
        (json!("history.lines"), json!(5), json!(1), Value::Null),
        (json!("keys.nav.env-nex"), json!(7), json!(1), json!("env-new")),
        (json!("hermes.profiles.work.raep"), json!(9), json!(1), json!("hermes.profiles.work.reap")),
        (json!("nonsense"), json!(10), json!(2), Value::Null),
    ];
    assert_eq!(found, expected, "{value}");
    let shown = profile.run(&["config", "check"]);
    assert_eq!((shown.code, shown.out.as_str()), (3, ""), "{shown:?}");
    let file = profile.path().join("config/config.toml").display().to_string();
    let wanted = format!("error: {file}, line 4, column 3: unknown key `history.linse`; did you mean `history.lines`?");
    assert!(shown.err.lines().any(|line| line == wanted), "{shown:?}");
    assert!(shown.err.contains("did you mean `env-new`?") && shown.err.contains("6 problems in"), "{shown:?}");
}

#[test]
fn a_check_of_what_is_right_or_not_there_is_fine_and_a_text_that_is_no_toml_is_not() {
    let profile = configured("theme = \"mono\"\n");
    assert!(profile.run(&["config", "check"]).out.starts_with("nothing is wrong in "));
    let other = profile.path().join("other.toml");
    fs::write(&other, "[env]\nidle = = 3\n").unwrap();
    let other = other.display().to_string();
    let broken = profile.run(&["--json", "config", "check", &other]);
    let message = broken.error(3, "config")["message"].as_str().unwrap().to_owned();
    assert!(message.contains(&other) && message.contains("line 2, column 8"), "{message}");
    profile.run(&["--json", "config", "check", "/nonexistent/file"]).error(3, "config");
    let none = Profile::new().run(&["config", "check"]);
    assert!(none.code == 0 && none.out.starts_with("all defaults: there is no "), "{none:?}");
    let output = profile.command(&["--json", "config", "check"]).env("HTUI_ENV_IDLE", "soon").output().unwrap();
    let report = Outcome::of(output);
    let problem = &report.json()["problems"][0];
    assert_eq!((report.code, &problem["variable"], &problem["key"]), (3, &json!("HTUI_ENV_IDLE"), &json!("env.idle")));
}

#[test]
fn the_path_is_that_of_the_flag_the_variable_or_the_profile() {
    let profile = Profile::new();
    let own = profile.path().join("config/config.toml").display().to_string();
    let path = |args: &[&str], variable: &str| {
        let report = Outcome::of(profile.command(args).env("HTUI_CONFIG", variable).output().unwrap()).json();
        (report["path"].as_str().unwrap().to_owned(), report["named_by"].as_str().unwrap().to_owned())
    };
    let pair = |path: &str, who: &str| (path.to_owned(), who.to_owned());
    assert_eq!(path(&["--json", "config", "path"], ""), pair(&own, "profile"));
    assert_eq!(path(&["--json", "config", "path"], "/a/b"), pair("/a/b", "variable"));
    assert_eq!(path(&["--json", "config", "path", "--config", "/c"], "/a/b"), pair("/c", "flag"));
    assert_eq!(profile.run(&["config", "path"]).out, format!("{own}\n"));
}

#[test]
fn the_schema_is_the_one_that_is_shipped() {
    let printed: Value = serde_json::from_str(&Profile::new().run(&["config", "schema"]).out).unwrap();
    let shipped: Value = serde_json::from_str(include_str!("../../assets/config.schema.json")).unwrap();
    assert_eq!(printed, shipped, "write what `hermes-tui config schema` prints to assets/config.schema.json");
    assert_eq!(printed["properties"]["env"]["properties"]["idle"]["maximum"], 31_536_000);
}

#[test]
fn a_host_says_that_its_configuration_was_changed_after_it_started() {
    let profile = configured("theme = \"mono\"\n");
    let _host = profile.serve();
    let troubles = || profile.run(&["--json", "status"]).json()["troubles"].clone();
    assert_eq!(troubles(), json!([]));
    let file = profile.path().join("config/config.toml");
    fs::write(&file, "theme = \"light\"\n").unwrap();
    let said = troubles()[0].as_str().unwrap().to_owned();
    assert!(said.contains("config.toml") && said.contains("next start"), "{said}");
    fs::remove_file(&file).unwrap();
    assert_eq!(troubles()[0], said);
}
