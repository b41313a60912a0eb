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
        assert!(refused.hint.contains(" c --force`"), "{}", refused.hint);
        assert!(!refused.hint.contains("unpin"), "{}", refused.hint);
    }
}

#[test]
fn the_way_out_of_a_refusal_can_be_pasted() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.ask(Request::Rename { env: env("a"), name: "it's mine".into() });
    desk.ask(Request::Pin(env("a")));
    let stop = refusal(&desk.ask(Request::Stop { env: env("a"), force: false })).hint;
    assert!(stop.contains(r"`hermes-tui env unpin 'it'\''s mine'`"), "{stop}");
    assert!(stop.contains(r"`hermes-tui env stop 'it'\''s mine' --force`"), "{stop}");
    let remove = refusal(&desk.ask(Request::Remove { env: env("a"), force: false, data: false })).hint;
    assert!(remove.contains(r"`hermes-tui env rm 'it'\''s mine' --force`"), "{remove}");
    let call = refusal(&desk.call("x", "c9")).hint;
    assert!(call.contains("`hermes-tui turn begin --conversation c9`"), "{call}");
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

fn down(desk: &mut Desk, spec: &EnvSpec) -> Vec<Effect> {
    desk.apply(Event::EndpointDown { endpoint: spec.endpoint.clone(), detail: "no backend for it".into() })
}

/// A start of the host that has no backend for what the journal lists.
fn without_backend(desk: &Desk) -> Desk {
    let mut desk = desk.restarted();
    down(&mut desk, &docker());
    desk
}

#[test]
fn nothing_that_needs_an_endpoint_that_is_down_waits_for_it() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    let mut desk = without_backend(&desk);
    let call = Request::BeginCall {
        call: CallId::new("x"),
        env: Some(env("a")),
        conversation: None,
        command: "make".into(),
        cwd: None,
        source: CallSource::Exec,
    };
    for request in [
        Request::Start(env("a")),
        call,
        Request::Stop { env: env("a"), force: true },
        Request::Remove { env: env("a"), force: false, data: false },
    ] {
        assert_eq!(refusal(&desk.ask(request)).kind, RefusalKind::Unreachable);
    }
    assert_eq!(refusal(&desk.begin_in("c", TurnTarget::Named("a".into()))).kind, RefusalKind::Unreachable);
    assert_eq!(desk.state.waiters, Vec::new());
}

#[test]
fn those_who_wait_for_a_list_are_told_when_the_endpoint_is_down() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    desk.ready("b", docker());
    let mut desk = desk.restarted();
    assert_eq!(answer(&desk.ask(Request::Start(env("a")))), None, "its list may come");
    assert_eq!(answer(&desk.ask(Request::Stop { env: env("b"), force: false })), None);
    let effects = down(&mut desk, &docker());
    let unreachable = |e: &&Effect| matches!(e, Effect::Reply { answer: Answer::Refused(r), .. } if r.kind == RefusalKind::Unreachable);
    assert_eq!(effects.iter().filter(unreachable).count(), 2);
    assert_eq!(desk.state.waiters, Vec::new());
}

#[test]
fn what_has_no_sandbox_is_removed_whatever_its_endpoint_does() {
    let mut desk = Desk::new();
    desk.ask(Request::NewEnvironment { id: env("failed"), name: None, spec: Box::new(docker()) });
    desk.provision_failed("failed", FailureKind::Permanent);
    desk.running_turn("c", EnvSpec { retention: Retention::IdleTtl, ..docker() });
    desk.end("c");
    desk.pass_quietly(Span::seconds(300));
    desk.torn_down("c-env");
    assert_eq!((desk.phase("failed"), desk.phase("c-env")), (Phase::Failed, Phase::Absent));
    for mut desk in [without_backend(&desk), desk.restarted()] {
        for id in ["failed", "c-env"] {
            let effects = desk.ask(Request::Remove { env: env(id), force: false, data: false });
            assert_eq!((answer(&effects), desk.is_listed(id)), (Some(Answer::Done), false));
        }
    }
}

#[test]
fn force_forgets_what_is_out_of_reach_and_says_what_may_be_left() {
    let mut desk = Desk::new();
    desk.running_turn("c", docker());
    let session = desk.session_of("c");
    down(&mut desk, &docker());
    let refused = refusal(&desk.ask(Request::Remove { env: env("c-env"), force: false, data: false }));
    assert_eq!(refused.kind, RefusalKind::Unreachable);
    assert!(refused.hint.contains("`hermes-tui env rm c --force`"), "{}", refused.hint);
    let effects = desk.ask(Request::Remove { env: env("c-env"), force: true, data: false });
    assert_eq!((answer(&effects), deed(&effects)), (Some(Answer::Done), None));
    assert!(!desk.is_listed("c-env"));
    assert!(effects.iter().any(|e| matches!(e, Effect::Announce(n) if n.text.contains("may still exist there"))));
    assert!(matches!(desk.state.sessions[&session].state, SessionState::Ended { .. }));
    assert_eq!(desk.state.conversations[&conversation("c")].env, None);
}

#[test]
fn what_does_not_run_is_not_said_to_be_stopped() {
    let mut desk = Desk::new();
    desk.ask(Request::NewEnvironment { id: env("a"), name: Some("my env".into()), spec: Box::new(spec()) });
    desk.provision_failed("a", FailureKind::Permanent);
    for force in [false, true] {
        let refused = refusal(&desk.ask(Request::Stop { env: env("a"), force }));
        assert_eq!(refused.kind, RefusalKind::Failed);
        assert!(refused.message.contains("nothing to stop"), "{}", refused.message);
        assert!(refused.hint.contains("`hermes-tui env start 'my env'`"), "{}", refused.hint);
        assert_eq!(desk.phase("a"), Phase::Failed);
    }
    desk.ready("b", spec());
    for _ in 0..2 {
        let effects = desk.ask(Request::Stop { env: env("b"), force: false });
        let effects = if deed(&effects).is_some() { desk.torn_down("b") } else { effects };
        assert_eq!(answer(&effects), Some(Answer::Environment(env("b"))), "stopped stays stopped");
    }
}

#[test]
fn files_go_also_where_that_was_asked_for_while_the_removal_was_under_way() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.ask(Request::Remove { env: env("a"), force: false, data: false });
    desk.ask(Request::Remove { env: env("a"), force: false, data: true });
    let effects = desk.torn_down("a");
    assert_eq!(answer(&effects), Some(Answer::Done));
    assert!(effects.contains(&Effect::DeleteData(env("a"))), "{effects:?}");
}
