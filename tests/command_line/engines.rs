//! Container engines on the command line: `doctor`, and `--endpoint`.

use super::support::{Outcome, Profile};
use serde_json::Value;
use std::fs;

fn run(profile: &Profile, args: &[&str], more: &[(&str, &str)]) -> Outcome {
    let mut command = profile.command(args);
    command.env("HTUI_USUAL_ENDPOINTS", "true");
    for (name, value) in more {
        command.env(name, value);
    }
    Outcome::of(command.output().unwrap())
}

fn check<'a>(doctor: &'a Value, name: &str) -> &'a Value {
    let all = doctor["checks"].as_array().unwrap();
    all.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name}: {doctor}"))
}

#[test]
fn doctor_names_each_place_and_says_why_and_what_next_without_a_host() {
    let profile = Profile::new();
    let host = ("DOCKER_HOST", "unix:///nonexistent/engine.sock");
    let doctor = run(&profile, &["--json", "doctor"], &[host]).json();
    assert_eq!((&doctor["schema"], &doctor["works"]), (&1.into(), &true.into()));
    assert_eq!(check(&doctor, "local")["state"], "ok");
    let docker = check(&doctor, "docker");
    assert_eq!((&docker["state"], &docker["named_by"]), (&"failed".into(), &"DOCKER_HOST".into()));
    assert_eq!((&docker["url"], &docker["detail"]), (&host.1.into(), &"no such socket".into()));
    assert!(docker["hint"].as_str().unwrap().contains("DOCKER_HOST"), "{docker}");
    assert_eq!(check(&doctor, "orbstack")["state"], "absent");
    let shown = run(&profile, &["doctor"], &[host]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    assert!(shown.out.contains("unix:///nonexistent/engine.sock (DOCKER_HOST): no such socket"), "{}", shown.out);
    assert!(fs::read_dir(profile.path()).unwrap().next().is_none(), "looking left something behind");
}

#[test]
fn a_context_that_does_not_exist_and_a_host_that_is_no_url_are_precise_errors() {
    let profile = Profile::new();
    let doctor = run(&profile, &["--json", "doctor"], &[("DOCKER_HOST", ""), ("DOCKER_CONTEXT", "far")]).json();
    let docker = check(&doctor, "docker");
    assert_eq!(docker["named_by"], "the docker context `far` (DOCKER_CONTEXT)");
    assert!(docker["detail"].as_str().unwrap().contains("this context does not exist (there is none)"), "{docker}");
    let doctor = run(&profile, &["--json", "doctor"], &[("DOCKER_HOST", "far:2375")]).json();
    let docker = check(&doctor, "docker");
    assert!(docker["detail"].as_str().unwrap().starts_with("`far:2375` is no URL"), "{docker}");
    assert_eq!(docker["hint"], "correct DOCKER_HOST, or leave it out to use the usual places");
    // The rest works on.
    let made = run(&profile, &["--json", "env", "new", "a"], &[("DOCKER_HOST", "far:2375")]);
    assert_eq!(made.json()["environment"]["backend"], "local", "{made:?}");
    assert_eq!(profile.run(&["shutdown"]).code, 0);
}

#[test]
fn an_endpoint_is_named_by_its_name_or_its_url_and_an_unknown_one_lists_the_known() {
    let profile = Profile::new();
    fs::create_dir_all(profile.path().join("config")).unwrap();
    let own = profile.path().join("own.toml");
    fs::write(&own, "[endpoints]\nlab = \"unix:///nonexistent/lab.sock\"\n").unwrap();
    let own = own.display().to_string();
    let new = |name: &str, endpoint: &str| {
        let args = ["--json", "--config", &own, "env", "new", name, "--image", "x:1", "--endpoint", endpoint];
        run(&profile, &args, &[("DOCKER_HOST", "unix:///nonexistent/main.sock")])
    };
    // Both ways lead to the same endpoint, which is said to be down.
    for endpoint in ["lab", "unix:///nonexistent/lab.sock", "/nonexistent/lab.sock"] {
        let down = new("a", endpoint);
        let message = down.error(4, "unreachable")["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("lab does not answer: "), "{endpoint}: {down:?}");
    }
    let unknown = new("c", "lba");
    let error = unknown.error(2, "usage");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("there is no endpoint `lba`; there is docker, "), "{unknown:?}");
    assert!(message.contains("lab") && message.contains("local"), "{unknown:?}");
    let list = profile.run(&["--json", "env", "list"]).json();
    let lab = list["endpoints"].as_array().unwrap().iter().find(|one| one["url"] == "lab").unwrap().clone();
    assert_eq!(lab["state"], "unreachable");
    assert!(lab["detail"].as_str().unwrap().contains("/nonexistent/lab.sock (endpoints.lab): no such socket"), "{lab}");
    assert_eq!(profile.run(&["shutdown"]).code, 0);
}
