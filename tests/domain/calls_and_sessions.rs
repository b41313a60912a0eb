//! Commands and sessions.

use crate::desk::*;
use hermes_tui::domain::*;

fn open(desk: &mut Desk, session: &str, id: &str) -> Vec<Effect> {
    let (session, env, size) = (SessionId::new(session), env(id), Size { rows: 0, cols: 80 });
    desk.ask(Request::OpenSession { session, env, conversation: None, program: vec![], begin: Begin::Usual, size })
}

#[test]
fn a_command_belongs_to_the_open_turn_and_runs_when_ready() {
    let mut desk = Desk::new();
    desk.begin("c", spec());
    let effects = desk.call("x", "c");
    assert_eq!(answer(&effects), None);
    let effects = desk.provisioned("c-env");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::RunCall { .. })));
    assert!(effects.contains(&Effect::Reply { to: ReplyTo(2), answer: Answer::CallStarted(CallId::new("x")) }));
    let turn = desk.state.conversations[&conversation("c")].turns[0].id.clone();
    assert_eq!(desk.state.calls[&CallId::new("x")].turn, Some(turn));
}

#[test]
fn a_command_starts_a_stopped_environment() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.end("c");
    desk.ask(Request::Stop { env: env("c-env"), force: false });
    desk.torn_down("c-env");
    assert!(provisions(&desk.call("x", "c")));
    assert_eq!(desk.state.calls[&CallId::new("x")].turn, None, "outside of turns");
    desk.provision_failed("c-env", FailureKind::Permanent);
    assert_eq!(desk.state.calls[&CallId::new("x")].exit_code, Some(125));
}

#[test]
fn a_command_needs_a_place() {
    let mut desk = Desk::new();
    let call = |desk: &mut Desk, env, conversation| {
        let (command, source) = ("ls".to_owned(), CallSource::Exec);
        refusal(&desk.ask(Request::BeginCall { call: CallId::new("x"), env, conversation, command, cwd: None, source }))
            .kind
    };
    assert_eq!(call(&mut desk, None, None), RefusalKind::Usage);
    assert_eq!(call(&mut desk, None, Some(conversation("c"))), RefusalKind::NotFound);
    assert_eq!(call(&mut desk, Some(env("a")), None), RefusalKind::NotFound);
}

#[test]
fn remembered_commands_are_bounded() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let mut shed = false;
    for n in 0..2100 {
        let id = format!("x{n:05}");
        shed |= desk.call(&id, "c").contains(&Effect::Save(Record::Call(CallId::new("x00000")))) && n > 0;
        desk.call_ends(&id);
        desk.now = desk.now + Span(1);
    }
    assert_eq!(desk.state.calls.len(), 2000);
    assert!(shed, "the journal is told");
    assert!(!desk.state.calls.contains_key(&CallId::new("x00099")));
}

#[test]
fn an_observed_command_holds_but_is_not_run() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    let effects = desk.ask(Request::BeginCall {
        call: CallId::new("x"),
        env: Some(env("a")),
        conversation: None,
        command: "cron".into(),
        cwd: None,
        source: CallSource::Observed,
    });
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::RunCall { .. })));
    assert_eq!(desk.env("a").holders()[0].kind, "call");
    assert_eq!(desk.env("a").last_activity.kind, ActivityKind::Exec);
}

#[test]
fn a_session_is_opened_when_its_sandbox_is_ready() {
    let mut desk = Desk::new();
    desk.ask(Request::NewEnvironment { id: env("a"), name: None, spec: Box::new(spec()) });
    assert_eq!(answer(&open(&mut desk, "s", "a")), None);
    let effects = desk.provisioned("a");
    let effects = desk.open_sessions(&effects);
    assert_eq!(answer(&effects), Some(Answer::Session(SessionId::new("s"))));
    assert_eq!(desk.state.sessions[&SessionId::new("s")].size, Size { rows: 1, cols: 80 });
    assert_eq!(desk.env("a").leases, vec![], "a session is no lease");
}

#[test]
fn sessions_end_with_their_sandbox_and_say_why() {
    let mut desk = Desk::new();
    desk.ready("a", EnvSpec { idle: Span::seconds(5), ..spec() });
    let effects = open(&mut desk, "s", "a");
    desk.open_sessions(&effects);
    desk.pass(Span::seconds(5));
    desk.evidence("a", Ok(Evidence { idle_shells: 1, ..Evidence::default() }));
    desk.torn_down("a");
    let state = desk.state.sessions[&SessionId::new("s")].state.clone();
    assert!(matches!(state, SessionState::Ended { why, .. } if why == "stopped after 5 s idle"));
}

#[test]
fn a_session_is_killed_and_forgotten() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    let session = SessionId::new("s");
    let effects = open(&mut desk, "s", "a");
    desk.open_sessions(&effects);
    desk.apply(Event::SessionForgotten(session.clone()));
    assert!(desk.state.sessions.contains_key(&session), "it runs");
    let effects = desk.ask(Request::KillSession(session.clone()));
    assert!(effects.contains(&Effect::CloseSession(session.clone())));
    let effects = desk.apply(Event::SessionEnded { session: session.clone(), exit_code: Some(129) });
    assert_eq!(answer(&effects), Some(Answer::Done));
    desk.apply(Event::SessionForgotten(session.clone()));
    assert!(!desk.state.sessions.contains_key(&session));
    let effects = desk.ask(Request::KillSession(session));
    assert_eq!(refusal(&effects).kind, RefusalKind::NotFound);
}

#[test]
fn a_session_that_was_killed_while_it_opened_is_closed_when_it_is_open() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    let session = SessionId::new("s");
    open(&mut desk, "s", "a");
    let effects = desk.ask(Request::KillSession(session.clone()));
    assert_eq!(answer(&effects), Some(Answer::Done));
    let effects = desk.apply(Event::SessionOpened { session: session.clone(), generation: Generation(1) });
    assert_eq!(effects, vec![Effect::CloseSession(session)]);
}
