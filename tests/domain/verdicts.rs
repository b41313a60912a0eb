//! Verdicts: one for each state, in words, with the facts.

use crate::desk::*;
use hermes_tui::domain::*;

#[test]
fn a_verdict_for_each_state() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let held = desk.verdict("c-env");
    assert_eq!((held.kind, held.until), (VerdictKind::Held, Some(START + Span::seconds(3600))));
    assert!(held.reason.contains("turn 1 of c: make the tests pass"), "{}", held.reason);
    desk.end("c");
    let keep = desk.verdict("c-env");
    assert_eq!((keep.kind, keep.until), (VerdictKind::Keep, Some(START + Span::seconds(300))));
    assert_eq!(keep.reason, "stopped in 5 min unless it is used");
    desk.pass_quietly(Span::seconds(240));
    assert_eq!(desk.verdict("c-env").kind, VerdictKind::Warn);
    desk.pass(Span::seconds(60));
    assert_eq!(desk.verdict("c-env").kind, VerdictKind::Reap);
    desk.evidence("c-env", Ok(Evidence::default()));
    let reap = desk.verdict("c-env");
    assert_eq!((reap.kind, reap.reason.as_str()), (VerdictKind::Reap, "being stopped after 5 min idle"));
    desk.torn_down("c-env");
    let rest = desk.verdict("c-env");
    assert_eq!((rest.kind, rest.reason.as_str()), (VerdictKind::AtRest, "not running: stopped after 5 min idle"));
    assert_eq!(desk.state.verdict(desk.now, &env("nothing")), None);
}

#[test]
fn the_facts_name_rule_activity_holder_deadline_and_actor() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    let facts: Vec<String> = desk.verdict("a").evidence.into_iter().map(|fact| fact.what).collect();
    assert_eq!(facts, ["rule", "activity", "deadline", "actor"]);
    desk.ask(Request::Pin(env("a")));
    assert!(desk.verdict("a").evidence.iter().any(|fact| fact.what == "holder" && fact.detail.contains("pin")));
}

#[test]
fn a_judgement_changes_nothing() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.now = desk.now + Span::hours(1);
    let before = desk.state.clone();
    assert_eq!(desk.verdict("a").kind, VerdictKind::Reap);
    assert_eq!(desk.state, before);
}

#[test]
fn what_is_not_ours_is_never_ended() {
    for origin in [Origin::Hermes, Origin::Foreign] {
        let mut desk = Desk::new();
        let mut theirs = Environment::new(env("theirs"), "theirs", docker(), origin, START);
        (theirs.phase, theirs.sandbox) = (Phase::Ready, Some(SandboxId::new("box")));
        desk.state.environments.insert(env("theirs"), theirs);
        assert_eq!(desk.verdict("theirs").kind, VerdictKind::NotOurs);
        for request in [
            Request::Stop { env: env("theirs"), force: true },
            Request::Remove { env: env("theirs"), force: true, data: true },
        ] {
            let effects = desk.ask(request);
            assert_eq!((refusal(&effects).kind, deed(&effects)), (RefusalKind::Policy, None));
        }
        assert_eq!(deed(&desk.pass(Span::hours(48))), None);
        assert_eq!(deed(&desk.ask(Request::Reap)), None);
    }
}

#[test]
fn an_endpoint_that_is_down_freezes_every_decision_until_its_list() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    let endpoint = docker().endpoint;
    desk.apply(Event::EndpointDown { endpoint: endpoint.clone(), detail: "connection refused".into() });
    assert_eq!(desk.verdict("a").kind, VerdictKind::Frozen);
    assert_eq!(desk.state.next_deadline(), None);
    assert_eq!(desk.pass(Span::hours(2)), Vec::new());
    assert_eq!(deed(&desk.ask(Request::Reap)), None);
    assert_eq!(refusal(&desk.begin("c", docker())).kind, RefusalKind::Unreachable);
    desk.apply(Event::EndpointUp(endpoint.clone()));
    assert_eq!(desk.verdict("a").kind, VerdictKind::Frozen, "its list has not been seen");
    assert!(looks(&desk.snapshot(&endpoint, vec![found("a", SandboxState::Running, docker())])));
    // Its deadline passed meanwhile: whoever could not use it has a minute, with a warning, and it is looked at again.
    assert!(announces(&desk.evidence("a", Ok(Evidence::default())), NoticeKind::EnvWarned));
    let effects = desk.pass(Span::seconds(59));
    assert_eq!((deed(&effects), looks(&effects)), (None, false));
    assert!(looks(&desk.pass(Span::seconds(1))));
    assert_eq!(deed(&desk.evidence("a", Ok(Evidence::default()))), Some(Deed::Stop));
}

#[test]
fn a_single_unreachable_answer_freezes_for_a_while() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    desk.ask(Request::Stop { env: env("a"), force: false });
    let effects = desk.teardown_failed("a", FailureKind::Unreachable);
    assert_eq!(refusal(&effects).kind, RefusalKind::Unreachable);
    assert_eq!(desk.verdict("a").kind, VerdictKind::Frozen);
    assert_eq!(deed(&desk.pass(Span::seconds(29))), None);
    assert_eq!(deed(&desk.pass(Span::seconds(1))), Some(Deed::Stop));
}

#[test]
fn after_a_clock_jump_nothing_is_reaped_for_a_minute_and_then_only_after_a_look() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.running_turn("c", ephemeral(Scope::Turn));
    desk.now = desk.now + Span::hours(2);
    desk.apply(Event::ClockJumped { by: Span::hours(2) });
    assert_eq!((deed(&desk.end("c")), deed(&desk.ask(Request::Reap))), (None, None));
    let effects = desk.pass(Span::seconds(59));
    assert_eq!((deed(&effects), looks(&effects)), (None, false));
    assert!(desk.env("a").deadline.unwrap() > desk.now);
    assert!(looks(&desk.pass(Span::seconds(1))));
    assert_eq!(deed(&desk.evidence("c-env", Ok(Evidence::default()))), Some(Deed::Remove));
    assert_eq!(deed(&desk.evidence("a", Ok(process(START)))), None);
}

#[test]
fn a_thousand_environments_are_judged_quickly() {
    let mut desk = Desk::new();
    for n in 0..1000 {
        desk.ready(&format!("e{n}"), spec());
    }
    let begun = std::time::Instant::now();
    for _ in 0..100 {
        std::hint::black_box(desk.state.next_deadline());
        desk.apply(Event::DeadlineReached);
    }
    // The aim is below 1 ms each; this only catches something quadratic.
    assert!(begun.elapsed() < std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn the_idle_time_of_a_verdict_is_the_one_that_was_waited() {
    let mut desk = Desk::new();
    desk.running_turn("c", EnvSpec { idle: Span::ZERO, ..ephemeral(Scope::Turn) });
    let session = desk.session_of("c");
    desk.key(&session, true);
    desk.end("c");
    let effects = desk.pass_quietly(Span::seconds(300));
    let told = effects.iter().find_map(|effect| match effect {
        Effect::Announce(notice) if notice.kind == NoticeKind::EnvReaping => Some(notice.text.clone()),
        _ => None,
    });
    assert_eq!(told.as_deref(), Some("c is being removed after 5 min idle"));
    assert_eq!(desk.verdict("c-env").reason, "being removed after 5 min idle");
}

#[test]
fn one_command_of_others_is_one() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.pass(Span::seconds(240));
    desk.evidence("a", Ok(Evidence { execs: 1, ..Evidence::default() }));
    let reason = desk.verdict("a").reason;
    assert!(reason.contains("1 command of others"), "{reason}");
}
