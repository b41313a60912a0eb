//! What persons order.

use crate::desk::*;
use hermes_tui::domain::*;

#[test]
fn stopping_what_is_held_is_refused_with_the_holders_named() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.ask(Request::Pin(env("c-env")));
    for request in [
        Request::Stop { env: env("c-env"), force: false },
        Request::Remove { env: env("c-env"), force: false, data: false },
    ] {
        let effects = desk.ask(request);
        let refused = refusal(&effects);
        assert_eq!((refused.kind, deed(&effects)), (RefusalKind::Policy, None));
        assert!(refused.message.contains("turn 1 of c") && refused.message.contains("pin"), "{}", refused.message);
        assert!(refused.hint.contains("--force"));
    }
}

#[test]
fn force_ends_what_runs_in_it() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.call("x", "c");
    let effects = desk.ask(Request::Stop { env: env("c-env"), force: true });
    assert!(effects.iter().any(|e| matches!(e, Effect::Teardown { ordered: true, deed: Deed::Stop, .. })));
    assert_eq!(answer(&effects), None);
    let effects = desk.torn_down("c-env");
    assert_eq!(answer(&effects), Some(Answer::Environment(env("c-env"))));
    assert_eq!(desk.state.calls[&CallId::new("x")].exit_code, Some(125));
    assert_eq!(desk.phase("c-env"), Phase::Stopped);
}

#[test]
fn removing_deletes_the_row_and_the_files_only_when_asked() {
    for data in [false, true] {
        let mut desk = Desk::new();
        desk.running_turn("c", spec());
        desk.end("c");
        desk.ask(Request::Remove { env: env("c-env"), force: false, data });
        assert!(desk.is_listed("c-env"), "listed until the backend confirms");
        let effects = desk.torn_down("c-env");
        assert_eq!(answer(&effects), Some(Answer::Done));
        assert!(!desk.is_listed("c-env"));
        assert_eq!(effects.contains(&Effect::DeleteData(env("c-env"))), data);
        assert!(effects.contains(&Effect::Save(Record::Environment(env("c-env")))));
        assert_eq!(desk.state.conversations[&conversation("c")].env, None);
    }
}

#[test]
fn removing_without_a_sandbox_needs_no_backend() {
    let mut desk = Desk::new();
    desk.ask(Request::NewEnvironment { id: env("a"), name: None, spec: Box::new(spec()) });
    desk.provision_failed("a", FailureKind::Permanent);
    let effects = desk.ask(Request::Remove { env: env("a"), force: false, data: false });
    assert_eq!((answer(&effects), desk.is_listed("a")), (Some(Answer::Done), false));
}

#[test]
fn a_removal_that_fails_is_told_and_the_row_stays() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.ask(Request::Remove { env: env("a"), force: false, data: false });
    let refused = refusal(&desk.teardown_failed("a", FailureKind::Surprise));
    assert_eq!(refused.kind, RefusalKind::Policy);
    assert!(refused.message.contains("it was just restarted"));
    assert!(refused.hint.contains("--force"));
    assert_eq!(desk.phase("a"), Phase::Ready);
}

#[test]
fn a_removal_during_a_stop_follows_it() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.ask(Request::Stop { env: env("a"), force: false });
    desk.ask(Request::Remove { env: env("a"), force: false, data: false });
    let effects = desk.torn_down("a");
    assert_eq!(deed(&effects), Some(Deed::Remove));
    assert_eq!(answer(&desk.torn_down("a")), Some(Answer::Done));
}

#[test]
fn an_order_during_the_start_is_carried_out_when_it_is_ready() {
    let mut desk = Desk::new();
    desk.ask(Request::NewEnvironment { id: env("a"), name: None, spec: Box::new(spec()) });
    desk.ask(Request::Stop { env: env("a"), force: false });
    assert_eq!(deed(&desk.provisioned("a")), Some(Deed::Stop));
}

#[test]
fn unknown_ones_are_refused_with_what_to_do() {
    let mut desk = Desk::new();
    let nothing = env("nothing");
    for request in [
        Request::Start(nothing.clone()),
        Request::Stop { env: nothing.clone(), force: true },
        Request::Remove { env: nothing.clone(), force: true, data: true },
        Request::Pin(nothing.clone()),
        Request::Unpin(nothing.clone()),
        Request::Extend { env: nothing.clone(), by: None },
        Request::Rename { env: nothing, name: "x".into() },
    ] {
        let refused = refusal(&desk.ask(request));
        assert_eq!(refused.kind, RefusalKind::NotFound);
        assert!(refused.hint.contains("hermes-tui env list"));
    }
    assert_eq!(desk.state, State::default());
}
