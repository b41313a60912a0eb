//! Where a shell begins: what is known of where an agent is.

use crate::desk::*;
use crate::told::{told, watching};
use hermes_tui::domain::*;

fn agent(kept: Kept, cwd: Option<&str>, other: bool) -> Result<Begin, Refusal> {
    Ok(Begin::Agent { kept, cwd: cwd.map(str::to_owned), other })
}

fn run(desk: &mut Desk, id: &str, c: Option<&str>, cwd: Option<&str>) {
    desk.now = desk.now + Span::seconds(1);
    let env = c.is_none().then(|| env("c1-env"));
    desk.ask(Request::BeginCall {
        call: CallId::new(id),
        env,
        conversation: c.map(conversation),
        command: "make".into(),
        cwd: cwd.map(str::to_owned),
        source: CallSource::Exec,
    });
}

fn seen(desk: &mut Desk, exec: &str, cwd: Option<&str>) {
    desk.now = desk.now + Span::seconds(1);
    let (sandbox, endpoint) = (SandboxId::new("box-h"), docker().endpoint);
    let cwd = cwd.map(str::to_owned);
    desk.apply(Event::ExecBegan { sandbox, endpoint, exec: CallId::new(exec), command: exec.to_owned(), cwd });
}

/// A turn of an agent's own that asked for these commands.
fn asks(desk: &mut Desk, id: &str, commands: &[&str]) {
    let now = desk.now;
    let call = |text: &&str| ToldCall {
        id: (*text).to_owned(),
        command: (*text).to_owned(),
        asked: now,
        answered: None,
        exit_code: None,
    };
    desk.apply(Event::AgentTold(told(id, now, commands.iter().map(call).collect())));
}

#[test]
fn a_conversation_of_ours_keeps_its_own_state() {
    let mut desk = Desk::new();
    desk.running_turn("c1", spec());
    let kept = |id: &str| Kept::Conversation(conversation(id));
    let here = |desk: &Desk, c: Option<&str>| desk.state.where_agent_is(&env("c1-env"), c.map(conversation).as_ref());
    assert_eq!(here(&desk, None), agent(kept("c1"), None, false), "before it ran anything");
    run(&mut desk, "a", Some("c1"), Some("/workspace/a"));
    run(&mut desk, "b", Some("c1"), None);
    run(&mut desk, "c", None, Some("/of/a/person"));
    assert_eq!(here(&desk, None), agent(kept("c1"), Some("/workspace/a"), false));
    // A second one in the same place, where something happened later.
    desk.now = desk.now + Span::seconds(1);
    desk.begin_in("c2", TurnTarget::Named("c1".into()));
    run(&mut desk, "d", Some("c2"), Some("/workspace/d"));
    assert_eq!(here(&desk, None), agent(kept("c2"), Some("/workspace/d"), false));
    assert_eq!(here(&desk, Some("c1")), agent(kept("c1"), Some("/workspace/a"), false));
}

#[test]
fn a_snapshot_is_one_for_all_conversations_of_its_agent() {
    let mut desk = watching(Persistence::Persistent);
    let here = |desk: &Desk, c: Option<&str>| desk.state.where_agent_is(&env("h"), c.map(conversation).as_ref());
    assert_eq!(here(&desk, None), agent(Kept::Snapshot, None, false), "its agent may have been there before us");
    seen(&mut desk, "one", Some("/a"));
    asks(&mut desk, "s1", &["one"]);
    assert_eq!(here(&desk, Some("s1")), agent(Kept::Snapshot, Some("/a"), false));
    // What nobody is known to have asked for may be of it.
    seen(&mut desk, "two", Some("/b"));
    assert_eq!(here(&desk, Some("s1")), agent(Kept::Snapshot, Some("/a"), false));
    asks(&mut desk, "s2", &["two"]);
    assert_eq!(here(&desk, Some("s1")), agent(Kept::Snapshot, Some("/a"), true), "the snapshot is where the other is");
    assert_eq!(here(&desk, Some("s2")), agent(Kept::Snapshot, Some("/b"), false));
    assert_eq!(here(&desk, None), agent(Kept::Snapshot, Some("/b"), false));
}

#[test]
fn where_no_agent_was_nothing_is_made_up() {
    let mut desk = Desk::new();
    desk.ready("e", spec());
    desk.running_turn("c1", spec());
    let refused = |desk: &Desk, id: &str, c: Option<&str>| {
        desk.state.where_agent_is(&env(id), c.map(conversation).as_ref()).expect_err("refused")
    };
    let none = refused(&desk, "e", None);
    assert_eq!((none.kind, none.message.as_str()), (RefusalKind::NotFound, "no agent has run a command in e yet"));
    assert!(none.hint.contains("session new e"), "{none:?}");
    assert_eq!(refused(&desk, "e", Some("c1")).kind, RefusalKind::Usage, "that one is elsewhere");
    assert_eq!(refused(&desk, "e", Some("c9")).kind, RefusalKind::NotFound);
    assert_eq!(refused(&desk, "nowhere", None).kind, RefusalKind::NotFound);
}

#[test]
fn where_a_session_begins_is_kept_until_its_sandbox_is_there_and_over_a_start_of_the_host() {
    let mut desk = Desk::new();
    desk.running_turn("c1", spec());
    desk.end("c1");
    desk.ask(Request::Stop { env: env("c1-env"), force: false });
    desk.torn_down("c1-env");
    let begin = Begin::Directory("/workspace/a".into());
    desk.ask(Request::OpenSession {
        session: SessionId::new("s"),
        env: env("c1-env"),
        conversation: None,
        program: Vec::new(),
        begin: begin.clone(),
        size: Size::default(),
    });
    let effects = desk.provisioned("c1-env");
    let opened = |effect: &Effect| matches!(effect, Effect::OpenSession { begin: asked, .. } if *asked == begin);
    assert!(effects.iter().any(opened), "{effects:?}");
    let session = &desk.state.sessions[&SessionId::new("s")];
    let text = serde_json::to_string(session).unwrap();
    assert_eq!(serde_json::from_str::<Session>(&text).unwrap().begin, begin);
    let usual = Session { begin: Begin::Usual, ..session.clone() };
    let text = serde_json::to_string(&usual).unwrap();
    assert!(!text.contains("begin"), "{text}");
    assert_eq!(serde_json::from_str::<Session>(&text).unwrap(), usual, "as one of an earlier version");
}
