//! Every exit code that is promised, once, by the real binary.

use crate::common::{EXE, Process, Profile, text};
use nix::sys::signal::Signal;
use serde_json::Value;

/// Exit code, command line, and the kind of error that `--json` names; none for what a command passed on.
type Row = (i32, &'static [&'static str], Option<&'static str>);

const TABLE: &[Row] = &[
    (0, &["env", "show", "a"], None),
    (1, &["env", "show", "nothing"], Some("not_found")),
    (2, &["env", "lsit"], Some("usage")),
    (2, &["env", "rm", "a"], Some("usage")),
    (3, &["--config", "/nonexistent/config.toml", "env", "list"], Some("config")),
    (4, &["env", "new", "b", "--image", "none:1"], Some("unreachable")),
    (5, &["turn", "begin", "--conversation", "c", "--ephemeral"], Some("policy")),
    (42, &["exec", "a", "--", "sh", "-c", "exit 42"], None),
    (143, &["exec", "a", "--", "sh", "-c", "kill -TERM $$"], None),
    (124, &["exec", "a", "--timeout", "0.1", "--", "sleep", "1000"], None),
    (125, &["exec", "nothing", "--", "true"], Some("not_found")),
    (126, &["exec", "a", "--", "/workspace/plain"], None),
    (127, &["exec", "a", "--", "no-such-program"], None),
];

#[test]
fn every_exit_code_is_reached() {
    let profile = Profile::serving();
    profile.json(&["env", "new", "a"]);
    profile.json(&["exec", "a", "--", "sh", "-c", "echo true >/workspace/plain"]);
    profile.json(&["turn", "begin", "--conversation", "c"]);
    for (code, args, kind) in TABLE {
        let shown = profile.run(args);
        assert_eq!(shown.status.code(), Some(*code), "{args:?}: {}", text(&shown));
        let mut with_json = vec!["--json"];
        with_json.extend_from_slice(args);
        let output = profile.run(&with_json);
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {}", text(&output));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}"));
        assert_eq!(value["error"]["code"].as_str(), *kind, "{args:?}: {value}");
        match kind {
            Some(_) => {
                let error = String::from_utf8_lossy(&shown.stderr).into_owned();
                assert!(error.contains("error: ") && shown.stdout.is_empty(), "{args:?}: {error}");
            }
            None if *code != 0 => assert_eq!(value["exit_code"], *code, "{args:?}: {value}"),
            None => {}
        }
    }
}

#[test]
fn a_defect_of_our_own_is_70() {
    // Only a binary for tests has the switch that brings one about.
    let profile = Profile::with_variables(&[("HTUI_TEST_PANIC", "1")]);
    let mut host = profile.command(&["serve"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    profile.wait_until_it_answers();
    Process::of(i32::try_from(host.id()).unwrap()).expect(EXE).signal(Signal::SIGUSR1);
    assert_eq!(host.wait().unwrap().code(), Some(70));
}
