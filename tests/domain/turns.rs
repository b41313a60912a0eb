//! Turns: where they run, what they are answered, and how they end.

use crate::desk::*;
use hermes_tui::domain::*;

#[test]
fn a_turn_is_answered_when_ready_and_its_session_runs() {
    let mut desk = Desk::new();
    assert_eq!(answer(&desk.begin("c", spec())), None);
    let effects = desk.provisioned("c-env");
    assert_eq!(answer(&effects), None, "the session is not open yet");
    let effects = desk.open_sessions(&effects);
    let Some(Answer::Turn { number, session, sandbox, generation, .. }) = answer(&effects) else {
        panic!("{effects:?}")
    };
    assert_eq!((number, sandbox, generation), (1, SandboxId::new("box-c-env"), Generation(1)));
    assert_eq!(session, desk.session_of("c"));
}

#[test]
fn later_turns_find_the_same_sandbox_and_session() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let session = desk.session_of("c");
    desk.end("c");
    let effects = desk.begin("c", spec());
    assert!(!provisions(&effects));
    let Some(Answer::Turn { number, session: again, .. }) = answer(&effects) else { panic!("{effects:?}") };
    assert_eq!((number, again), (2, session));
}

#[test]
fn a_new_generation_gets_a_new_session() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let first = desk.session_of("c");
    desk.end("c");
    desk.ask(Request::Stop { env: env("c-env"), force: false });
    desk.torn_down("c-env");
    desk.running_turn("c", spec());
    assert_ne!(desk.session_of("c"), first);
    assert!(matches!(desk.state.sessions[&first].state, SessionState::Ended { .. }));
}

#[test]
fn a_shell_that_was_left_is_opened_again() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let session = desk.session_of("c");
    desk.apply(Event::SessionEnded { session: session.clone(), exit_code: Some(0) });
    let effects = desk.running_turn("c", spec());
    assert!(matches!(answer(&effects), Some(Answer::Turn { .. })));
    assert_ne!(desk.session_of("c"), session);
}

#[test]
fn a_session_that_cannot_be_opened_fails_the_turn() {
    let mut desk = Desk::new();
    desk.begin("c", spec());
    desk.provisioned("c-env");
    let (session, generation) = (desk.session_of("c"), Generation(1));
    let effects = desk.apply(Event::SessionFailed { session, generation, message: "no shell in the image".into() });
    assert_eq!(refusal(&effects).message, "no shell in the image");
    assert!(desk.env("c-env").leases.is_empty());
}

#[test]
fn a_second_begin_ends_the_open_turn_as_interrupted() {
    let mut desk = Desk::new();
    desk.begin("c", spec());
    let effects = desk.begin("c", spec());
    assert!(refusal(&effects).message.contains("another turn began"));
    let turns = &desk.state.conversations[&conversation("c")].turns;
    assert_eq!((turns[0].status, turns[1].status), (TurnStatus::Interrupted, TurnStatus::Running));
    assert_eq!(desk.env("c-env").leases.len(), 1);
}

#[test]
fn a_turn_during_the_teardown_waits_and_gets_a_new_sandbox() {
    let mut desk = Desk::new();
    desk.running_turn("c", ephemeral(Scope::Turn));
    desk.end("c");
    assert_eq!(desk.phase("c-env"), Phase::Reaping);
    let effects = desk.begin("c", ephemeral(Scope::Turn));
    assert_eq!((provisions(&effects), answer(&effects)), (false, None));
    let effects = desk.torn_down("c-env");
    assert!(provisions(&effects));
    assert_eq!(desk.env("c-env").generation, Generation(2));
}

#[test]
fn a_second_turn_of_scope_turn_never_uses_the_sandbox_of_the_first() {
    let mut desk = Desk::new();
    desk.running_turn("c", ephemeral(Scope::Turn));
    let effects = desk.begin("c", ephemeral(Scope::Turn));
    assert_eq!(deed(&effects), Some(Deed::Remove));
    assert!(provisions(&desk.torn_down("c-env")));

    let mut desk = Desk::new();
    desk.running_turn("c", ephemeral(Scope::Turn));
    desk.ask(Request::Pin(env("c-env")));
    desk.end("c");
    desk.begin("c", ephemeral(Scope::Turn));
    assert_ne!(desk.env_of("c"), "c-env", "the first one is still held");
    assert_eq!(desk.phase("c-env"), Phase::Ready);
}

#[test]
fn ending_without_an_open_turn_is_fine_and_touching_is_not() {
    let mut desk = Desk::new();
    assert_eq!(answer(&desk.end("nobody")), Some(Answer::Done));
    let effects = desk.ask(Request::TouchTurn(conversation("nobody")));
    assert_eq!(refusal(&effects).kind, RefusalKind::NotFound);
}

#[test]
fn conflicting_flags_are_refused_with_the_differences_and_change_nothing() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let before = desk.state.clone();
    let wanted = EnvSpec { idle: Span::seconds(5), image: Some("alpine".into()), ..spec() };
    let explicit = vec!["idle".into(), "network".into()];
    let target = TurnTarget::Spec { spec: Box::new(wanted.clone()), explicit };
    let refused = refusal(&desk.begin_in("c", target));
    assert_eq!(refused.kind, RefusalKind::Policy);
    assert!(refused.message.contains("idle is 300 s, asked for 5 s"), "{}", refused.message);
    assert!(!refused.message.contains("image"), "only what was asked for explicitly");
    assert_eq!(desk.state, before);
    let target = TurnTarget::Spec { spec: Box::new(wanted), explicit: vec![] };
    assert!(matches!(answer(&desk.begin_in("c", target)), Some(Answer::Turn { .. })));
}

#[test]
fn what_contradicts_itself_is_a_usage_error() {
    let mut desk = Desk::new();
    let refused = refusal(&desk.begin("c", EnvSpec { scope: Scope::Turn, ..spec() }));
    assert_eq!(refused.kind, RefusalKind::Usage);
    let refused = refusal(&desk.begin("", spec()));
    assert_eq!(refused.kind, RefusalKind::Usage);
    let refused = refusal(&desk.begin_in("c", TurnTarget::Named("nothing".into())));
    assert_eq!(refused.kind, RefusalKind::NotFound);
    assert!(refused.hint.contains("env list"));
    assert_eq!(desk.state, State::default());
}

#[test]
fn an_abandoned_turn_goes_on_and_nobody_is_answered() {
    let mut desk = Desk::new();
    desk.begin("c", spec());
    desk.apply(Event::ReplyAbandoned(ReplyTo(1)));
    let effects = desk.provisioned("c-env");
    let effects = desk.open_sessions(&effects);
    assert_eq!(answer(&effects), None);
    assert_eq!(desk.env("c-env").leases.len(), 1);
}

#[test]
fn names_come_from_the_conversation() {
    let mut desk = Desk::new();
    desk.begin("chat/42: «hi»", spec());
    let names: Vec<_> = desk.state.environments.values().map(|env| env.name.clone()).collect();
    assert_eq!(names, ["chat-42---hi"]);
}

#[test]
fn a_turn_that_interrupts_another_says_so() {
    let mut desk = Desk::new();
    desk.running_turn("c1", spec());
    let effects = desk.begin("c1", spec());
    let told: Vec<(NoticeKind, &str)> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Announce(notice) => Some((notice.kind, notice.text.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            (NoticeKind::TurnEnded, "turn 1 of c1 interrupted by turn 2"),
            (NoticeKind::TurnBegan, "turn 2 of c1: make the tests pass began"),
        ]
    );
}
