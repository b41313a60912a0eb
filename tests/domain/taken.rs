//! A person takes an environment over: agents' commands wait, are refused in the end, and run once it is given back.

use crate::desk::*;
use hermes_tui::domain::*;

fn runs(effects: &[Effect]) -> Vec<&str> {
    let run = |effect: &Effect| matches!(effect, Effect::RunCall { .. });
    let calls = effects.iter().filter(|effect| run(effect)).map(|effect| match effect {
        Effect::RunCall { call, .. } => call.as_str(),
        _ => "",
    });
    calls.collect()
}

fn taken() -> Desk {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let effects = desk.ask(Request::TakeOver(env("c-env")));
    assert_eq!(answer(&effects), Some(Answer::Environment(env("c-env"))));
    assert!(announces(&effects, NoticeKind::EnvTakenOver));
    desk
}

fn record(desk: &Desk) -> Vec<TakenOver> {
    desk.state.conversations[&conversation("c")].turns.last().expect("a turn").taken_over.clone()
}

#[test]
fn an_agents_command_waits_and_runs_once_the_environment_is_given_back() {
    let mut desk = taken();
    let effects = desk.call("x", "c");
    assert_eq!((runs(&effects).len(), answer(&effects)), (0, None));
    assert!(desk.state.waits_for_person(&CallId::new("x")));
    desk.pass(Span::seconds(10));
    let effects = desk.ask(Request::GiveBack(env("c-env")));
    assert_eq!(runs(&effects), ["x"]);
    assert!(announces(&effects, NoticeKind::EnvGivenBack));
    assert_eq!(record(&desk), [TakenOver { from: START, until: Some(START + Span::seconds(10)) }]);
    // From then on nothing waits.
    assert_eq!(runs(&desk.call("y", "c")), ["y"]);
    assert!(!announces(&desk.ask(Request::GiveBack(env("c-env"))), NoticeKind::EnvGivenBack), "it was before");
}

#[test]
fn one_that_waited_long_enough_hears_why_and_the_turn_goes_on() {
    let mut desk = taken();
    desk.pass(Span::seconds(60));
    desk.call("x", "c");
    assert!(desk.pass(Span(PATIENCE.0 - 1)).is_empty());
    let effects = desk.pass(Span(1));
    let refused = refusal(&effects);
    assert_eq!(refused.kind, RefusalKind::Policy);
    assert!(refused.message.contains("taken c over (90 s ago)"), "{}", refused.message);
    assert!(!refused.hint.contains("give-back"), "an agent is not told how to take it back: {}", refused.hint);
    assert!(desk.state.calls[&CallId::new("x")].ended.is_some());
    assert!(desk.state.conversations[&conversation("c")].open_turn().is_some());
    assert!(desk.env("c-env").taken.is_some(), "the person has it still");
}

#[test]
fn what_a_person_runs_waits_for_nobody_and_what_runs_already_goes_on() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.call("before", "c");
    desk.ask(Request::TakeOver(env("c-env")));
    assert!(!desk.state.waits_for_person(&CallId::new("before")));
    let effects = desk.ask(Request::BeginCall {
        call: CallId::new("mine"),
        env: Some(env("c-env")),
        conversation: None,
        command: "ls".into(),
        cwd: None,
        source: CallSource::Exec,
    });
    assert_eq!(runs(&effects), ["mine"]);
    assert!(desk.state.calls[&CallId::new("before")].ended.is_none());
}

#[test]
fn it_is_given_back_with_the_end_of_its_sandbox_and_a_turn_that_begins_meanwhile_records_it() {
    let mut desk = taken();
    desk.end("c");
    assert_eq!(record(&desk), [TakenOver { from: START, until: Some(START) }]);
    desk.pass(Span::seconds(5));
    desk.begin("c", spec());
    let from = START + Span::seconds(5);
    assert_eq!(record(&desk), [TakenOver { from, until: None }]);
    let effects = desk.ends_outside("c-env", true);
    assert!(announces(&effects, NoticeKind::EnvGivenBack));
    assert_eq!((desk.env("c-env").taken, record(&desk)), (None, vec![TakenOver { from, until: Some(from) }]));
}

#[test]
fn it_is_no_lease_and_outlives_our_restart() {
    let mut desk = taken();
    desk.end("c");
    let mut again = desk.restarted();
    assert!(again.env("c-env").taken.is_some());
    assert!(desk.env("c-env").leases.is_empty() && desk.env("c-env").deadline.is_some());
    desk.pass(Span::seconds(301));
    desk.evidence("c-env", Ok(Evidence::default()));
    desk.torn_down("c-env");
    assert_eq!((desk.phase("c-env"), desk.env("c-env").taken), (Phase::Stopped, None));
    let effects = desk.ask(Request::TakeOver(env("c-env")));
    assert!(refusal(&effects).message.contains("is stopped: there is nothing to take over"));
    again.ask(Request::GiveBack(env("c-env")));
    assert_eq!(again.env("c-env").taken, None);
}

#[test]
fn what_others_made_cannot_be_taken_over_because_their_agents_do_not_ask() {
    let mut desk = Desk::new();
    let theirs = FoundSandbox { origin: Origin::Hermes, ..found("h", SandboxState::Running, docker()) };
    desk.snapshot(&docker().endpoint, vec![theirs]);
    let refused = refusal(&desk.ask(Request::TakeOver(env("h"))));
    assert_eq!(refused.kind, RefusalKind::Policy);
    assert!(refused.message.contains("without asking us"), "{}", refused.message);
    assert_eq!(refusal(&desk.ask(Request::GiveBack(env("none")))).kind, RefusalKind::NotFound);
}

#[test]
fn a_command_that_nobody_waits_for_any_more_does_not_run_when_it_is_given_back() {
    let mut desk = taken();
    desk.call("x", "c");
    desk.call("y", "c");
    let effects = desk.apply(Event::CallGivenUp(CallId::new("x")));
    assert_eq!(refusal(&effects).kind, RefusalKind::Failed);
    assert!(desk.state.calls[&CallId::new("x")].ended.is_some());
    assert_eq!(runs(&desk.ask(Request::GiveBack(env("c-env")))), ["y"]);
    // One that runs is ended by whoever runs it.
    assert!(desk.apply(Event::CallGivenUp(CallId::new("y"))).is_empty());
    assert!(desk.state.calls[&CallId::new("y")].ended.is_none());
}

#[test]
fn what_waits_does_not_run_in_another_sandbox_than_the_one_that_was_taken_over() {
    let mut desk = taken();
    desk.call("x", "c");
    let effects = desk.ends_outside("c-env", true);
    assert!(refusal(&effects).message.contains("its sandbox has ended"), "{effects:?}");
    assert!(runs(&effects).is_empty() && !provisions(&effects));
}

#[test]
fn one_that_was_taken_over_outlives_the_turn_that_it_was_made_for() {
    let mut desk = Desk::new();
    desk.running_turn("c", ephemeral(Scope::Turn));
    desk.ask(Request::TakeOver(env("c-env")));
    let effects = desk.end("c");
    assert_eq!((deed(&effects), desk.phase("c-env")), (None, Phase::Ready));
    assert!(desk.env("c-env").deadline.is_some(), "until its idle deadline");
}
