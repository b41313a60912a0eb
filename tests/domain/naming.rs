//! Names, and how a text finds an environment.

use crate::desk::*;
use hermes_tui::domain::*;

#[test]
fn names_are_checked_and_unique_per_endpoint() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    let mut new = |id: &str, name: &str, spec: EnvSpec| {
        answer(&desk.ask(Request::NewEnvironment { id: env(id), name: Some(name.into()), spec: Box::new(spec) }))
    };
    for bad in ["", "  ", "a/b", "a\nb", "-x", " x", &"x".repeat(65)] {
        assert!(matches!(new("n", bad, spec()), Some(Answer::Refused(r)) if r.kind == RefusalKind::Usage), "{bad:?}");
    }
    assert!(matches!(new("n", "a", spec()), Some(Answer::Refused(r)) if r.kind == RefusalKind::Policy));
    assert_eq!(new("n", "a", docker()), None, "another endpoint");
    assert_eq!(new("m", &"x".repeat(64), spec()), None);
    let effects = desk.ask(Request::Rename { env: env("m"), name: "a".into() });
    assert_eq!(refusal(&effects).kind, RefusalKind::Policy);
    desk.ask(Request::Rename { env: env("m"), name: "fix login".into() });
    assert_eq!(desk.env("m").name, "fix login");
}

#[test]
fn a_free_name_is_picked() {
    let mut desk = Desk::new();
    for id in ["x", "y", "z"] {
        desk.ask(Request::NewEnvironment { id: env(id), name: None, spec: Box::new(spec()) });
    }
    let names = ["x", "y", "z"].map(|id| desk.env(id).name.clone());
    assert_eq!(names, ["env-1", "env-2", "env-3"]);
    desk.ask(Request::Rename { env: env("y"), name: "web".into() });
    desk.ask(Request::NewEnvironment { id: env("w"), name: None, spec: Box::new(spec()) });
    assert_eq!(desk.env("w").name, "env-2", "free again");
    desk.running_turn("env-1", spec());
    assert_eq!(desk.env("env-1-env").name, "env-1-2", "the name of a conversation stays readable");
    let found = FoundSandbox { name: "env-1".into(), ..found("v", SandboxState::Running, spec()) };
    desk.apply(Event::Snapshot { endpoint: spec().endpoint, found: vec![found] });
    assert_eq!(desk.env("v").name, "env-4", "found with a name that we made up");
}

#[test]
fn a_text_finds_by_name_endpoint_and_id_prefix() {
    let mut desk = Desk::new();
    for (id, name, spec) in [("abc-1", "web", spec()), ("abd-2", "web", docker()), ("xyz-3", "ab", spec())] {
        desk.ask(Request::NewEnvironment { id: env(id), name: Some(name.into()), spec: Box::new(spec) });
    }
    let find = |text: &str| desk.state.resolve(text);
    assert_eq!(find("abc-1"), Ok(env("abc-1")));
    assert_eq!(find("abc"), Ok(env("abc-1")));
    assert_eq!(find("local/web"), Ok(env("abc-1")));
    assert_eq!(find("unix:///run/docker.sock/web"), Ok(env("abd-2")));
    assert_eq!(find("docker/web"), Ok(env("abd-2")));
    assert_eq!(find("ab"), Ok(env("xyz-3")), "a name wins over a prefix");
    let ambiguous = find("web").unwrap_err();
    assert_eq!(ambiguous.kind, RefusalKind::Usage);
    assert!(ambiguous.message.contains("local/web (abc-1)") && ambiguous.message.contains("abd-2"));
    assert_eq!(find("a").unwrap_err().kind, RefusalKind::Usage);
    assert_eq!(find("").unwrap_err().kind, RefusalKind::Usage);
    assert_eq!(find("nope").unwrap_err().kind, RefusalKind::NotFound);
}

#[test]
fn one_that_could_not_be_made_gives_its_name_up_to_the_next_try() {
    let mut desk = Desk::new();
    let new = |id: &str| Request::NewEnvironment { id: env(id), name: Some("box".into()), spec: Box::new(spec()) };
    desk.ask(new("first"));
    let (generation, kind) = (desk.env("first").generation, FailureKind::Permanent);
    let (message, hint) = ("no such image".to_owned(), String::new());
    desk.apply(Event::ProvisionFailed { env: env("first"), generation, kind, message, hint });
    assert_eq!(desk.phase("first"), Phase::Failed);
    desk.ask(new("second"));
    assert!(!desk.state.environments.contains_key(&env("first")));
    assert_eq!(desk.env("second").name, "box");
    // One that is being made, or was made once, keeps it.
    assert_eq!(refusal(&desk.ask(new("third"))).kind, RefusalKind::Policy);
}
