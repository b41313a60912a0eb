//! What is found again after a restart, and what happens behind our back.

use crate::desk::*;
use hermes_tui::domain::*;

fn local() -> EndpointId {
    spec().endpoint
}

#[test]
fn a_running_sandbox_is_adopted_and_its_deadline_does_not_move_closer() {
    for (passed, least) in [(0, 300), (100, 200), (290, 60)] {
        let mut desk = Desk::new();
        desk.ready("a", spec());
        desk.pass(Span::seconds(passed));
        let mut desk = desk.restarted();
        assert_eq!(desk.verdict("a").kind, VerdictKind::Frozen);
        let effects = desk.snapshot(&local(), vec![found("a", SandboxState::Running, spec())]);
        assert!(announces(&effects, NoticeKind::EnvAdopted));
        let deadline = desk.env("a").deadline.unwrap();
        assert!(deadline >= desk.now + Span::seconds(least), "{passed}: {:?}", deadline.since(desk.now));
        assert!(deadline <= desk.now + Span::seconds(least + 10));
    }
}

#[test]
fn one_that_is_missing_was_lost_and_one_that_stopped_is_stopped() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.ready("b", spec());
    let mut desk = desk.restarted();
    let effects = desk.snapshot(&local(), vec![found("b", SandboxState::Stopped, spec())]);
    assert!(announces(&effects, NoticeKind::EnvLost));
    assert_eq!((desk.phase("a"), desk.phase("b")), (Phase::Lost, Phase::Stopped));
}

#[test]
fn one_that_was_restarted_while_nobody_told_us_is_of_a_new_generation_and_its_sessions_are_over() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let session = desk.session_of("c");
    let running = |generation| FoundSandbox {
        generation: Generation(generation),
        ..found("c-env", SandboxState::Running, spec())
    };
    desk.snapshot(&local(), vec![running(1)]);
    assert_eq!(desk.state.sessions[&session].state, SessionState::Running);
    desk.apply(Event::EndpointDown { endpoint: local(), detail: "no answer".into() });
    desk.snapshot(&local(), vec![running(2)]);
    assert_eq!((desk.phase("c-env"), desk.env("c-env").generation), (Phase::Ready, Generation(2)));
    assert!(matches!(desk.state.sessions[&session].state, SessionState::Ended { .. }));
}

#[test]
fn a_turn_that_ran_keeps_its_lease_and_a_command_is_cut_off() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.call("x", "c");
    let mut desk = desk.restarted();
    let asked = desk.snapshot(&local(), vec![found("c-env", SandboxState::Running, spec())]);
    let call = &desk.state.calls[&CallId::new("x")];
    assert_eq!((call.exit_code, call.ended), (Some(125), Some(START)));
    assert_eq!(desk.env("c-env").leases.len(), 1);
    assert_eq!(desk.verdict("c-env").kind, VerdictKind::Held);
    desk.open_sessions(&asked);
    assert!(matches!(answer(&desk.running_turn("c", spec())), Some(Answer::Turn { .. })));
}

fn asks_to_resume(effects: &[Effect]) -> Vec<SessionId> {
    let resumed = |effect: &Effect| match effect {
        Effect::OpenSession { session, resume: true, .. } => Some(session.clone()),
        _ => None,
    };
    effects.iter().filter_map(resumed).collect()
}

#[test]
fn a_session_is_asked_for_once_its_sandbox_was_found_running_as_it_was() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let session = desk.session_of("c");
    let mut desk = desk.restarted();
    assert_eq!(desk.state.sessions[&session].state, SessionState::Opening, "nothing is known yet");
    let list = || vec![found("c-env", SandboxState::Running, spec())];
    let asked = desk.snapshot(&local(), list());
    assert_eq!(asks_to_resume(&asked), std::slice::from_ref(&session));
    assert_eq!(asks_to_resume(&desk.snapshot(&local(), list())), [], "once");
    desk.open_sessions(&asked);
    assert_eq!(desk.state.sessions[&session].state, SessionState::Running);
    desk.running_turn("c", spec());
    assert_eq!(desk.session_of("c"), session, "the turn goes on in it");
}

#[test]
fn a_session_that_cannot_go_on_is_over_and_the_turn_gets_another() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let session = desk.session_of("c");
    let mut desk = desk.restarted();
    let asked = desk.snapshot(&local(), vec![found("c-env", SandboxState::Running, spec())]);
    let generation = desk.env("c-env").generation;
    assert_eq!(asks_to_resume(&asked), std::slice::from_ref(&session));
    // A turn that begins meanwhile waits for it.
    desk.begin("c", spec());
    let effects = desk.apply(Event::SessionFailed { session: session.clone(), generation, message: "gone".into() });
    let SessionState::Ended { why, .. } = &desk.state.sessions[&session].state else { panic!("it is over") };
    assert_eq!(why, "gone");
    assert!(matches!(answer(&desk.open_sessions(&effects)), Some(Answer::Turn { .. })), "with another session");
    assert_ne!(desk.session_of("c"), session);
}

#[test]
fn sessions_of_a_sandbox_that_stopped_or_was_started_again_meanwhile_are_over() {
    for (state, generation) in [(SandboxState::Stopped, 1), (SandboxState::Running, 2)] {
        let mut desk = Desk::new();
        desk.running_turn("c", spec());
        let session = desk.session_of("c");
        let mut desk = desk.restarted();
        let list = vec![FoundSandbox { generation: Generation(generation), ..found("c-env", state, spec()) }];
        assert_eq!(asks_to_resume(&desk.snapshot(&local(), list)), []);
        assert!(matches!(desk.state.sessions[&session].state, SessionState::Ended { .. }), "{state:?}");
    }
}

#[test]
fn an_ephemeral_one_without_holders_goes_after_its_grace_and_a_look() {
    let mut desk = Desk::new();
    desk.running_turn("c", ephemeral(Scope::Turn));
    desk.end("c");
    let mut desk = desk.restarted();
    desk.snapshot(&local(), vec![found("c-env", SandboxState::Running, ephemeral(Scope::Turn))]);
    let effects = desk.pass(Span::seconds(59));
    assert_eq!((deed(&effects), looks(&effects)), (None, false));
    assert!(looks(&desk.pass(Span::seconds(1))));
    assert_eq!(deed(&desk.evidence("c-env", Ok(Evidence::default()))), Some(Deed::Remove));
}

#[test]
fn what_the_host_was_doing_when_it_died_is_settled_by_the_list() {
    let begin = || {
        let mut desk = Desk::new();
        desk.ask(Request::NewEnvironment { id: env("a"), name: None, spec: Box::new(spec()) });
        desk.restarted()
    };
    for (list, phase) in [
        (vec![], Phase::Absent),
        (vec![found("a", SandboxState::Running, spec())], Phase::Ready),
        (vec![found("a", SandboxState::Stopped, spec())], Phase::Stopped),
    ] {
        let mut desk = begin();
        desk.snapshot(&local(), list);
        assert_eq!(desk.phase("a"), phase);
    }
}

#[test]
fn a_turn_that_begins_before_the_list_waits_for_it() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let mut desk = desk.restarted();
    let effects = desk.begin("c", spec());
    assert_eq!((provisions(&effects), answer(&effects)), (false, None));
    let effects = desk.snapshot(&local(), vec![found("c-env", SandboxState::Running, spec())]);
    assert!(matches!(answer(&desk.open_sessions(&effects)), Some(Answer::Turn { .. })));
}

#[test]
fn a_sandbox_that_the_journal_does_not_know_is_listed_from_its_label() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    let mut stray = found("z", SandboxState::Running, ephemeral(Scope::Session));
    stray.name = "a".into();
    desk.pass(Span::seconds(3));
    desk.snapshot(&local(), vec![found("a", SandboxState::Running, spec()), stray]);
    assert_eq!((desk.env("z").name.as_str(), desk.phase("z")), ("a-2", Phase::Ready));
    let effects = desk.pass(Span::seconds(60));
    assert!(looks(&effects));
    assert_eq!(deed(&desk.evidence("z", Ok(Evidence::default()))), Some(Deed::Remove));

    let mut bare = found("y", SandboxState::Running, spec());
    (bare.spec, bare.persistence) = (None, Persistence::Unknown);
    let mut desk = Desk::new();
    desk.snapshot(&local(), vec![bare]);
    assert_eq!((desk.env("y").deadline, desk.verdict("y").kind), (None, VerdictKind::Keep));
}

#[test]
fn a_list_does_not_lose_what_became_ready_after_it_was_made() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.snapshot(&local(), vec![]);
    assert_eq!(desk.phase("a"), Phase::Ready);
    desk.pass(Span::seconds(2));
    desk.snapshot(&local(), vec![]);
    assert_eq!(desk.phase("a"), Phase::Lost);
}

#[test]
fn a_superseded_sandbox_is_removed() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    let mut older = found("a", SandboxState::Running, spec());
    (older.sandbox, older.generation) = (SandboxId::new("older"), Generation(0));
    let effects = desk.snapshot(&local(), vec![older, found("a", SandboxState::Running, spec())]);
    assert!(effects.iter().any(|e| matches!(e, Effect::Teardown { sandbox, .. } if sandbox.as_str() == "older")));
    assert_eq!(desk.phase("a"), Phase::Ready);
}

#[test]
fn started_from_outside_is_a_new_generation() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.ends_outside("a", false);
    assert_eq!(desk.phase("a"), Phase::Stopped);
    desk.snapshot(&local(), vec![found("a", SandboxState::Running, spec())]);
    assert_eq!((desk.phase("a"), desk.env("a").generation), (Phase::Ready, Generation(2)));
}

#[test]
fn what_ends_while_it_is_torn_down_is_over_whatever_the_backend_says() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.ask(Request::Stop { env: env("a"), force: false });
    desk.ends_outside("a", true);
    let effects = desk.teardown_failed("a", FailureKind::Temporary);
    assert_eq!(answer(&effects), Some(Answer::Environment(env("a"))));
    assert_eq!((desk.phase("a"), &desk.env("a").sandbox), (Phase::Absent, &None));
}

#[test]
fn without_the_journal_a_conversation_finds_its_sandbox_by_the_label() {
    let of = |id: &str, c: &str, state, spec| FoundSandbox {
        conversation: Some(conversation(c)),
        generation: Generation(4),
        ..found(id, state, spec)
    };
    let brief = ephemeral(Scope::Session);
    let mut desk = Desk::new();
    desk.snapshot(
        &local(),
        vec![
            of("a", "runs", SandboxState::Running, spec()),
            of("b", "stopped", SandboxState::Stopped, spec()),
            of("c", "brief", SandboxState::Running, brief.clone()),
            of("d", "brief", SandboxState::Running, brief.clone()),
        ],
    );
    assert!(!provisions(&desk.begin("runs", spec())));
    assert!(provisions(&desk.begin("stopped", spec())), "it is started again");
    assert!(!provisions(&desk.begin("brief", brief)));
    assert_eq!(["runs", "stopped", "brief"].map(|c| desk.env_of(c)), ["a", "b", "c"]);
    assert_eq!(desk.env("b").sandbox, Some(SandboxId::new("box-b")));
    // What nobody comes back to is dealt with as before.
    assert_eq!(desk.phase("d"), Phase::Ready);
    let gone: Vec<EnvId> = desk.pass_quietly(Span::seconds(61)).iter().filter_map(removed).collect();
    assert_eq!(gone, [env("d")]);
}

fn removed(effect: &Effect) -> Option<EnvId> {
    match effect {
        Effect::Teardown { env, deed: Deed::Remove, .. } => Some(env.clone()),
        _ => None,
    }
}

#[test]
fn a_label_does_not_take_a_conversation_away_from_where_it_is() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let other = FoundSandbox { conversation: Some(conversation("c")), ..found("x", SandboxState::Running, spec()) };
    desk.snapshot(&local(), vec![found("c-env", SandboxState::Running, spec()), other]);
    assert_eq!(desk.env_of("c"), "c-env");
    assert!(desk.env("x").conversations.is_empty());
}
