//! Leases, the idle clock, warnings and evidence.

use crate::desk::*;
use hermes_tui::domain::*;

const IDLE: Span = Span::seconds(300);

#[test]
fn a_deadline_exists_exactly_while_nobody_holds_it() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    assert_eq!(desk.env("c-env").deadline, None);
    desk.pass(Span::seconds(40));
    desk.end("c");
    assert_eq!(desk.env("c-env").deadline, Some(desk.now + IDLE));
    desk.ask(Request::Pin(env("c-env")));
    assert_eq!(desk.env("c-env").deadline, None);
    desk.pass(Span::hours(3));
    desk.ask(Request::Unpin(env("c-env")));
    assert_eq!(desk.env("c-env").deadline, Some(desk.now + IDLE));
}

#[test]
fn idle_zero_and_keep_running_have_no_deadline() {
    let mut desk = Desk::new();
    desk.ready("zero", EnvSpec { idle: Span::ZERO, ..spec() });
    desk.ready("kept", EnvSpec { retention: Retention::KeepRunning, ..spec() });
    assert_eq!((desk.env("zero").deadline, desk.env("kept").deadline), (None, None));
    assert_eq!(desk.state.next_deadline(), None);
}

#[test]
fn commands_count_at_start_and_end_and_hold_in_between() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.call("x", "c");
    desk.end("c");
    assert_eq!(desk.env("c-env").deadline, None);
    let effects = desk.pass(Span::seconds(4000));
    assert!(!looks(&effects), "a command longer than the idle time is never cut off");
    desk.call_ends("x");
    assert_eq!(desk.env("c-env").deadline, Some(desk.now + IDLE));
}

#[test]
fn a_key_moves_the_deadline_and_output_alone_does_not() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.end("c");
    desk.pass(Span::seconds(100));
    let session = desk.session_of("c");
    desk.apply(Event::SessionResized { session: session.clone(), size: Size { rows: 10, cols: 10 } });
    assert_eq!(desk.env("c-env").deadline, Some(START + IDLE));
    desk.key(&session, true);
    assert_eq!(desk.env("c-env").deadline, Some(desk.now + IDLE));
}

#[test]
fn keys_reach_the_journal_only_now_and_then() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.end("c");
    desk.pass(Span::seconds(20));
    let session = desk.session_of("c");
    let saves = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Save(_)));
    assert!(saves(&desk.key(&session, true)));
    desk.pass(Span::seconds(1));
    assert!(!saves(&desk.key(&session, true)));
    desk.pass(Span::seconds(10));
    assert!(saves(&desk.key(&session, true)));
}

#[test]
fn it_is_warned_once_per_deadline() {
    for (idle, lead) in [(300, 60), (10, 5)] {
        let mut desk = Desk::new();
        desk.ready("a", EnvSpec { idle: Span::seconds(idle), ..spec() });
        let warned = desk.pass_quietly(Span::seconds(idle - lead));
        assert!(announces(&warned, NoticeKind::EnvWarned), "{idle}");
        assert_eq!(desk.verdict("a").kind, VerdictKind::Warn);
        assert!(!announces(&desk.pass_quietly(Span::seconds(lead - 1)), NoticeKind::EnvWarned));
        let effects = desk.ask(Request::Extend { env: env("a"), by: None });
        assert!(announces(&effects, NoticeKind::EnvChanged));
        assert!(announces(&desk.pass_quietly(Span::seconds(idle)), NoticeKind::EnvWarned));
    }
}

#[test]
fn a_warning_waits_for_a_look_that_finds_nobody() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    assert!(!looks(&desk.pass(Span::seconds(239))));
    let effects = desk.pass(Span::seconds(1));
    assert_eq!((looks(&effects), announces(&effects, NoticeKind::EnvWarned)), (true, false));
    assert_eq!(desk.verdict("a").kind, VerdictKind::Keep, "nothing is said before the look is back");
    assert!(announces(&desk.evidence("a", Ok(Evidence::default())), NoticeKind::EnvWarned));
    let effects = desk.pass(Span::seconds(60));
    assert!(looks(&effects), "at the deadline it looks again");
    assert_eq!(deed(&effects), None);
    assert_eq!(deed(&desk.evidence("a", Ok(Evidence::default()))), Some(Deed::Stop));
}

#[test]
fn a_process_found_before_the_warning_defers_and_nobody_is_warned() {
    for found in [process(START), Evidence { execs: 1, ..Evidence::default() }] {
        let mut desk = Desk::new();
        desk.ready("a", spec());
        for _ in 0..5 {
            assert!(looks(&desk.pass(Span::seconds(240))));
            let effects = desk.evidence("a", Ok(found.clone()));
            assert_eq!(
                (announces(&effects, NoticeKind::EnvDeferred), announces(&effects, NoticeKind::EnvWarned)),
                (true, false)
            );
            assert_eq!((desk.env("a").deadline, desk.env("a").warned), (Some(desk.now + IDLE), false));
            assert_eq!(desk.env("a").holders()[0].kind, "process");
            assert_eq!(desk.verdict("a").kind, VerdictKind::Held);
        }
    }
}

#[test]
fn a_process_that_holds_no_longer_than_the_deadline_does_not_silence_the_warning() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.pass(Span::seconds(240));
    let started = desk.now + Span::seconds(60) - Span::hours(24);
    assert!(announces(&desk.evidence("a", Ok(process(started))), NoticeKind::EnvWarned));
    assert!(looks(&desk.pass(Span::seconds(60))));
    assert_eq!(deed(&desk.evidence("a", Ok(process(started)))), Some(Deed::Stop));
}

#[test]
fn a_look_that_fails_before_the_warning_does_not_silence_it() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.pass(Span::seconds(240));
    let effects = desk.evidence("a", Err("timed out".into()));
    assert!(announces(&effects, NoticeKind::EnvWarned));
    assert_eq!(desk.env("a").deadline, Some(START + IDLE), "its deadline stands");
    assert!(looks(&desk.pass(Span::seconds(60))));
    assert!(announces(&desk.evidence("a", Err("timed out".into())), NoticeKind::EnvDeferred));
    assert_eq!(desk.phase("a"), Phase::Ready);
}

#[test]
fn a_look_that_fails_after_a_new_use_says_nothing() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.end("c");
    desk.pass(Span::seconds(240));
    let session = desk.session_of("c");
    desk.key(&session, false);
    let effects = desk.evidence("c-env", Err("timed out".into()));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Announce(_))), "{effects:?}");
    assert_eq!(desk.env("c-env").deadline, Some(desk.now + IDLE));
}

#[test]
fn use_during_a_warning_says_so() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.end("c");
    desk.pass_quietly(Span::seconds(250));
    let session = desk.session_of("c");
    assert!(announces(&desk.key(&session, false), NoticeKind::EnvDeferred));
    assert!(!announces(&desk.key(&session, false), NoticeKind::EnvDeferred));
}

#[test]
fn extending_adds_one_idle_time_or_what_is_given() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.ask(Request::Extend { env: env("a"), by: None });
    assert_eq!(desk.env("a").deadline, Some(START + Span::seconds(600)));
    desk.ask(Request::Extend { env: env("a"), by: Some(Span::seconds(7)) });
    assert_eq!(desk.env("a").deadline, Some(START + Span::seconds(607)));
    desk.ready("never", EnvSpec { idle: Span::ZERO, ..spec() });
    let effects = desk.ask(Request::Extend { env: env("never"), by: None });
    assert_eq!(refusal(&effects).kind, RefusalKind::Policy);
    desk.ask(Request::Extend { env: env("a"), by: Some(Span(u64::MAX)) });
    assert_eq!(desk.env("a").deadline, Some(Moment(u64::MAX)));
}

#[test]
fn at_the_deadline_it_looks_before_it_acts() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    let effects = desk.pass(IDLE);
    assert!(looks(&effects));
    assert_eq!(deed(&effects), None);
    assert_eq!(desk.verdict("a").kind, VerdictKind::Reap);
    assert_eq!(desk.state.next_deadline(), None, "nothing is due while the look is under way");
    let effects = desk.evidence("a", Ok(Evidence { idle_shells: 2, ..Evidence::default() }));
    assert_eq!(deed(&effects), Some(Deed::Stop));
    assert_eq!(desk.phase("a"), Phase::Reaping);
    desk.torn_down("a");
    assert_eq!(desk.env("a").last_ending.as_ref().unwrap().why, "stopped after 5 min idle");
}

#[test]
fn a_live_process_defers_by_one_idle_time_and_is_named() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.pass(IDLE);
    let effects = desk.evidence("a", Ok(process(START)));
    assert!(announces(&effects, NoticeKind::EnvDeferred));
    assert_eq!(deed(&effects), None);
    assert_eq!(desk.env("a").deadline, Some(desk.now + IDLE));
    let holders = desk.env("a").holders();
    assert_eq!((holders[0].kind.as_str(), holders[0].detail.as_str()), ("process", "npm run dev (pid 42)"));
    let verdict = desk.verdict("a");
    assert_eq!((verdict.kind, verdict.until), (VerdictKind::Held, Some(desk.now + IDLE)));
}

#[test]
fn a_process_defers_for_at_most_a_day_from_its_start() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.pass(IDLE);
    let started = desk.now - Span::seconds(86_350);
    desk.evidence("a", Ok(process(started)));
    assert_eq!(desk.env("a").deadline, Some(started + Span::hours(24)));
    let effects = desk.evidence("a", Ok(process(started)));
    assert!(announces(&effects, NoticeKind::EnvWarned), "it cannot be put off any further");
    assert!(looks(&desk.pass(Span::seconds(50))));
    assert_eq!(deed(&desk.evidence("a", Ok(process(started)))), Some(Deed::Stop));
}

#[test]
fn commands_of_others_defer_too() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.pass(IDLE);
    let found = Evidence { execs: 2, ..Evidence::default() };
    assert_eq!(deed(&desk.evidence("a", Ok(found.clone()))), None);
    assert_eq!(desk.env("a").holders()[0].kind, "process");
    for _ in 0..287 {
        assert!(looks(&desk.pass(IDLE)));
        assert_eq!(deed(&desk.evidence("a", Ok(found.clone()))), None);
    }
    desk.pass(IDLE);
    assert_eq!(deed(&desk.evidence("a", Ok(found))), Some(Deed::Stop), "after a day");
}

#[test]
fn a_look_that_fails_only_puts_it_off() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.pass(IDLE);
    for wait in [5, 10, 20] {
        let effects = desk.evidence("a", Err("timed out".into()));
        assert!(announces(&effects, NoticeKind::EnvDeferred));
        assert_eq!(desk.phase("a"), Phase::Ready);
        assert!(!looks(&desk.pass(Span::seconds(wait - 1))));
        assert!(looks(&desk.pass(Span::seconds(1))));
    }
    assert_eq!(deed(&desk.evidence("a", Ok(Evidence::default()))), Some(Deed::Stop));
}

#[test]
fn use_while_the_look_is_under_way_keeps_it() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.end("c");
    desk.pass(IDLE);
    let session = desk.session_of("c");
    desk.key(&session, false);
    assert_eq!(deed(&desk.evidence("c-env", Ok(Evidence::default()))), None);
    assert_eq!(desk.env("c-env").deadline, Some(desk.now + IDLE));
}

#[test]
fn a_surprise_is_an_event_and_not_a_deletion() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.pass(IDLE);
    desk.evidence("a", Ok(Evidence::default()));
    let effects = desk.teardown_failed("a", FailureKind::Surprise);
    assert!(announces(&effects, NoticeKind::TeardownFailed));
    assert_eq!((desk.phase("a"), deed(&effects)), (Phase::Ready, None));
    assert_eq!(desk.env("a").deadline, Some(desk.now + IDLE));
    assert_eq!(desk.env("a").failure.as_ref().unwrap().message, "it was just restarted");
}

#[test]
fn a_temporary_failure_of_a_teardown_is_repeated_with_back_off() {
    let mut desk = Desk::new();
    desk.running_turn("c", ephemeral(Scope::Turn));
    assert_eq!(deed(&desk.end("c")), Some(Deed::Remove));
    for wait in [5, 10, 20] {
        desk.teardown_failed("c-env", FailureKind::Temporary);
        assert_eq!(deed(&desk.pass(Span::seconds(wait - 1))), None);
        assert_eq!(deed(&desk.pass(Span::seconds(1))), Some(Deed::Remove));
    }
    desk.torn_down("c-env");
    assert!(!desk.is_listed("c-env"));
}

#[test]
fn a_turns_lease_runs_out_without_a_begin_command_or_touch() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.pass(Span::seconds(3000));
    desk.ask(Request::TouchTurn(conversation("c")));
    desk.pass(Span::seconds(3599));
    assert_eq!(desk.env("c-env").leases.len(), 1);
    let effects = desk.pass(Span::seconds(1));
    assert!(announces(&effects, NoticeKind::TurnEnded));
    assert_eq!(desk.state.conversations[&conversation("c")].turns[0].status, TurnStatus::Interrupted);
    assert_eq!(desk.env("c-env").deadline, Some(desk.now + IDLE));
}

#[test]
fn a_turn_with_a_command_in_flight_does_not_run_out() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.call("x", "c");
    desk.pass(Span::hours(5));
    assert_eq!(desk.state.conversations[&conversation("c")].turns[0].status, TurnStatus::Running);
    desk.call_ends("x");
    desk.pass(Span::seconds(3600));
    assert_eq!(desk.state.conversations[&conversation("c")].turns[0].status, TurnStatus::Interrupted);
}
