//! Conversations of agents as their own records tell of them: shown with their commands, and without a say in anything.

use crate::desk::*;
use hermes_tui::domain::*;

fn place() -> EndpointId {
    docker().endpoint
}

/// The shared container of the hermes-agent with profile `work`.
fn theirs(persistence: Persistence) -> FoundSandbox {
    let watched = Watched {
        profile: Some("work".into()),
        task: Some("default".into()),
        home: Some("/h".into()),
        maker: "leaves running".into(),
        made: START,
        ..Watched::default()
    };
    let spec = EnvSpec { persistence, scope: Scope::Shared, ..docker() };
    FoundSandbox { origin: Origin::Hermes, watched: Some(Box::new(watched)), ..found("h", SandboxState::Running, spec) }
}

pub fn at(seconds: u64) -> Moment {
    START + Span::seconds(seconds)
}

pub fn asked(id: &str, command: &str, asked: Moment) -> ToldCall {
    ToldCall { id: id.into(), command: command.into(), asked, answered: None, exit_code: None }
}

pub fn answered(call: ToldCall, at: Moment, code: i32) -> ToldCall {
    ToldCall { answered: Some(at), exit_code: Some(code), ..call }
}

/// A conversation with one turn that runs since `began`.
pub fn told(id: &str, began: Moment, calls: Vec<ToldCall>) -> Told {
    let turn = ToldTurn {
        id: TurnId::new(format!("{id}.1")),
        number: 1,
        prompt: "make it pass".into(),
        began,
        ended: None,
        status: TurnStatus::Running,
        calls,
    };
    Told {
        conversation: conversation(id),
        profile: "work".into(),
        home: "/h".into(),
        task: "default".into(),
        title: None,
        kind: Some("cli".into()),
        ended: None,
        latest: began,
        turns: vec![turn],
    }
}

fn over(mut told: Told, at: Moment) -> Told {
    told.turns[0].ended = Some(at);
    told.turns[0].status = TurnStatus::Done;
    told
}

fn seen(desk: &mut Desk, exec: &str, command: &str) {
    let (sandbox, exec) = (SandboxId::new("box-h"), CallId::new(exec));
    desk.apply(Event::ExecBegan { sandbox, endpoint: place(), exec, command: command.into(), cwd: Some("/w".into()) });
}

pub fn watching(persistence: Persistence) -> Desk {
    let mut desk = Desk::new();
    desk.snapshot(&place(), vec![theirs(persistence)]);
    desk
}

/// Conversation and exit code of each command.
fn calls(desk: &Desk) -> Vec<(&str, Option<&str>, Option<i32>)> {
    let mut all: Vec<&Call> = desk.state.calls.values().collect();
    all.sort_by_key(|call| (call.began, call.id.clone()));
    all.into_iter()
        .map(|c| (c.command.as_str(), c.conversation.as_ref().map(ConversationId::as_str), c.exit_code))
        .collect()
}

#[test]
fn what_was_seen_is_joined_to_what_was_asked_for_and_the_rest_stays_with_the_environment() {
    let mut desk = watching(Persistence::Persistent);
    seen(&mut desk, "x1", "cargo test");
    seen(&mut desk, "x2", "of somebody else");
    desk.apply(Event::AgentTold(told("c", START, vec![asked("t1", "cargo test", START)])));
    assert_eq!(calls(&desk), [("cargo test", Some("c"), None), ("of somebody else", None, None)]);
    let call = &desk.state.calls[&CallId::new("x1")];
    assert_eq!((call.turn.as_ref(), call.cwd.as_deref()), (Some(&TurnId::new("c.1")), Some("/w")));
    desk.apply(Event::ExecEnded { exec: CallId::new("x1"), exit_code: Some(137), cwd: None });
    // The agent's word for what took too long counts.
    let call = answered(asked("t1", "cargo test", START), at(9), 124);
    desk.apply(Event::AgentTold(over(told("c", START, vec![call.clone()]), at(9))));
    desk.apply(Event::AgentTold(over(told("c", START, vec![call]), at(9))));
    assert_eq!(calls(&desk), [("cargo test", Some("c"), Some(124)), ("of somebody else", None, None)]);
}

#[test]
fn what_nobody_saw_is_told_once_it_was_answered_and_what_two_ran_goes_to_each() {
    let mut desk = watching(Persistence::Persistent);
    desk.apply(Event::AgentTold(told("c", START, vec![asked("t1", "ls", START)])));
    assert!(calls(&desk).is_empty(), "it may be seen yet");
    seen(&mut desk, "x1", "ls");
    assert_eq!(calls(&desk), [("ls", Some("c"), None)], "it was asked for a moment ago");
    seen(&mut desk, "x2", "ls");
    assert_eq!(calls(&desk)[1], ("ls", None, None), "and once");
    desk.apply(Event::ExecEnded { exec: CallId::new("x2"), exit_code: Some(0), cwd: None });
    desk.state.calls.remove(&CallId::new("x2"));
    desk.apply(Event::AgentTold(told("c", START, vec![asked("t1", "ls", START)])));
    let other = answered(asked("t1", "ls", START), at(1), 0);
    desk.apply(Event::AgentTold(told("d", START, vec![other])));
    assert_eq!(calls(&desk), [("ls", Some("d"), Some(0)), ("ls", Some("c"), None)]);
    assert_eq!(desk.state.calls[&CallId::new("d.t1")].source, CallSource::Agent);
    // One that ran long before it was asked for is another one.
    let mut desk = watching(Persistence::Persistent);
    seen(&mut desk, "x1", "ls");
    desk.apply(Event::ExecEnded { exec: CallId::new("x1"), exit_code: Some(0), cwd: None });
    desk.apply(Event::AgentTold(told("c", at(60), vec![asked("t1", "ls", at(60))])));
    assert_eq!(calls(&desk), [("ls", None, Some(0))]);
}

#[test]
fn a_container_that_is_listed_later_gets_what_was_told_before() {
    let mut desk = Desk::new();
    let call = answered(asked("t1", "ls", START), at(1), 0);
    desk.apply(Event::AgentTold(told("c", START, vec![call])));
    assert_eq!((desk.state.conversations[&conversation("c")].env.clone(), calls(&desk).len()), (None, 1));
    desk.snapshot(&place(), vec![theirs(Persistence::Persistent)]);
    assert_eq!(desk.state.conversations[&conversation("c")].env, Some(env("h")));
    assert_eq!(calls(&desk), [("ls", Some("c"), Some(0))]);
    assert_eq!(desk.state.calls.values().next().and_then(|call| call.env.clone()), Some(env("h")));
    assert!(desk.state.unplaced.is_empty());
}

#[test]
fn commands_that_run_in_nothing_listed_here_are_told_as_the_records_have_them() {
    let mut desk = Desk::new();
    let effects = desk.apply(Event::AgentTold(told("c", START, vec![asked("t1", "make", START)])));
    let running = desk.state.calls.values().next().expect("the command").clone();
    assert_eq!((running.ended, running.env, running.source), (None, None, CallSource::Agent));
    assert_eq!(running.turn, Some(TurnId::new("c.1")));
    let call = answered(asked("t1", "make", START), at(4), 2);
    let unanswered = asked("t2", "make test", at(5));
    desk.apply(Event::AgentTold(over(told("c", START, vec![call, unanswered]), at(9))));
    assert_eq!(calls(&desk), [("make", Some("c"), Some(2)), ("make test", Some("c"), None)]);
    assert!(desk.state.calls.values().all(|call| call.ended.is_some()), "over with its turn");
    // The records tell of them again after a restart.
    let saved = |effect: &Effect| matches!(effect, Effect::Save(Record::Call(_)));
    assert!(!effects.iter().any(saved));
}

#[test]
fn its_turns_hold_nothing_end_nothing_and_are_nobody_elses() {
    let mut desk = watching(Persistence::Ephemeral);
    let effects = desk.apply(Event::AgentTold(told("c", desk.now, Vec::new())));
    assert!(announces(&effects, NoticeKind::TurnBegan));
    assert!(desk.env("h").leases.is_empty() && desk.env("h").conversations.is_empty());
    for request in [
        Request::EndTurn { conversation: conversation("c"), status: TurnStatus::Done },
        Request::TouchTurn(conversation("c")),
        Request::EndConversation(conversation("c")),
    ] {
        let effects = desk.ask(request);
        assert_eq!(refusal(&effects).kind, RefusalKind::Policy);
    }
    let effects = desk.begin("c", spec());
    assert_eq!(refusal(&effects).kind, RefusalKind::Policy);
    // What a person runs beside it is no part of its turn.
    desk.call("mine", "c");
    assert_eq!(desk.state.calls[&CallId::new("mine")].turn, None);
    desk.call_ends("mine");
    let mut last = over(told("c", START, Vec::new()), desk.now);
    last.ended = Some(desk.now);
    let effects = desk.apply(Event::AgentTold(last));
    assert!(announces(&effects, NoticeKind::TurnEnded));
    assert_eq!((deed(&effects), desk.phase("h")), (None, Phase::Ready));
    desk.pass(Span::hours(48));
    assert!(desk.is_listed("h"), "only its maker ends it");
    assert!(desk.state.conversations.contains_key(&conversation("c")));
}

#[test]
fn one_that_was_begun_through_us_is_better_known() {
    let mut desk = watching(Persistence::Persistent);
    desk.running_turn("c", spec());
    desk.apply(Event::AgentTold(told("c", START, vec![asked("t1", "ls", START)])));
    let known = &desk.state.conversations[&conversation("c")];
    assert_eq!((known.agent.as_ref(), known.env.as_ref(), known.turns.len()), (None, Some(&env("c-env")), 1));
    assert_eq!(known.turns[0].source, TurnSource::Api);
}

#[test]
fn a_turn_that_was_taken_back_is_gone_and_old_ones_are_no_news() {
    let mut desk = watching(Persistence::Persistent);
    desk.pass(Span::hours(2));
    let effects = desk.apply(Event::AgentTold(told("c", START, Vec::new())));
    assert!(!announces(&effects, NoticeKind::TurnBegan));
    let mut nothing = told("c", START, Vec::new());
    nothing.turns.clear();
    desk.apply(Event::AgentTold(nothing));
    assert!(desk.state.conversations[&conversation("c")].turns.is_empty());
}
