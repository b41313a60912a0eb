//! The normal end of the host.

use crate::desk::*;
use hermes_tui::domain::*;

fn exits(effects: &[Effect]) -> bool {
    effects.contains(&Effect::Exit)
}

#[test]
fn ephemeral_ones_are_removed_and_persistent_local_ones_stopped() {
    let mut desk = Desk::new();
    desk.ready("local", spec());
    desk.ready("docker", docker());
    desk.ready("brief", EnvSpec { scope: Scope::Session, persistence: Persistence::Ephemeral, ..docker() });
    desk.running_turn("c", ephemeral(Scope::Turn));
    let effects = desk.ask(Request::Shutdown { keep: false });
    assert_eq!((answer(&effects), exits(&effects)), (None, false));
    let phases = ["local", "docker", "brief", "c-env"].map(|id| desk.phase(id));
    assert_eq!(phases, [Phase::Reaping, Phase::Ready, Phase::Reaping, Phase::Reaping]);
    desk.torn_down("local");
    desk.torn_down("brief");
    let effects = desk.torn_down("c-env");
    assert_eq!((answer(&effects), exits(&effects)), (Some(Answer::Done), true));
    let left: Vec<_> = desk.state.environments.keys().map(EnvId::as_str).collect();
    assert_eq!(left, ["docker", "local"]);
    assert_eq!(desk.phase("local"), Phase::Stopped);
}

#[test]
fn keep_leaves_everything_running() {
    let mut desk = Desk::new();
    desk.ready("local", spec());
    let effects = desk.ask(Request::Shutdown { keep: true });
    assert_eq!((answer(&effects), exits(&effects), deed(&effects)), (Some(Answer::Done), true, None));
}

#[test]
fn an_end_that_fails_twice_is_reported_and_does_not_hang() {
    let mut desk = Desk::new();
    desk.ready("local", spec());
    desk.ask(Request::Shutdown { keep: false });
    let effects = desk.teardown_failed("local", FailureKind::Permanent);
    assert_eq!((deed(&effects), exits(&effects)), (Some(Deed::Stop), false));
    let effects = desk.teardown_failed("local", FailureKind::Permanent);
    assert!(exits(&effects));
    assert!(refusal(&effects).message.contains("local (it was just restarted)"));
}

#[test]
fn a_backend_that_does_not_answer_does_not_hang_it() {
    let mut desk = Desk::new();
    desk.ready("local", spec());
    desk.ask(Request::Shutdown { keep: false });
    assert!(!exits(&desk.pass(Span::seconds(29))));
    assert!(exits(&desk.pass(Span::seconds(1))));
    assert_eq!(desk.state.next_deadline(), None);
}

#[test]
fn an_endpoint_that_is_down_is_reported_at_once() {
    let mut desk = Desk::new();
    desk.ready("brief", EnvSpec { persistence: Persistence::Ephemeral, ..docker() });
    desk.apply(Event::EndpointDown { endpoint: docker().endpoint, detail: "refused".into() });
    let effects = desk.ask(Request::Shutdown { keep: false });
    assert!(exits(&effects));
    assert!(refusal(&effects).message.contains("brief"));
}

#[test]
fn whoever_waits_is_told_and_new_requests_are_refused() {
    let mut desk = Desk::new();
    desk.begin("c", spec());
    let effects = desk.ask(Request::Shutdown { keep: false });
    assert!(refusal(&effects).message.contains("shutting down"));
    let effects = desk.ask(Request::NewEnvironment { id: env("a"), name: None, spec: Box::new(spec()) });
    assert!(refusal(&effects).message.contains("shutting down"));
    assert_eq!(answer(&desk.end("c")), Some(Answer::Done));
    desk.provisioned("c-env");
    assert!(exits(&desk.torn_down("c-env")), "what was being started is stopped, too");
}

#[test]
fn with_nothing_to_end_it_exits_at_once() {
    let mut desk = Desk::new();
    assert!(exits(&desk.ask(Request::Shutdown { keep: false })));
}
