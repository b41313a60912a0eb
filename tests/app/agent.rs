//! A conversation's turns on the screen: its tab, its feed, its shell.

use crate::world::World;
use hermes_tui::app::view_model::{AgentMark, FeedLine, Mode, Overlay, PaneContent, RowState, SidebarRow};
use hermes_tui::domain::{CallSource, ConversationId, EnvSpec, Event, Phase, Request, Span, TurnStatus};

fn feed(world: &World) -> Vec<FeedLine> {
    let view = world.view();
    let found =
        view.panes.into_iter().find_map(|p| if let PaneContent::Feed(lines) = p.content { Some(lines) } else { None });
    found.expect("an agent pane")
}

fn shells(world: &World) -> usize {
    world.view().panes.iter().filter(|p| matches!(p.content, PaneContent::Terminal { .. })).count()
}

#[test]
fn a_turn_begun_elsewhere_appears_as_a_tab_with_feed_and_shell() {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "make the login tests pass", EnvSpec::local());
    let view = world.view();
    assert_eq!(view.tabs.len(), 1);
    assert_eq!((view.tabs[0].title.as_str(), view.tabs[0].turn), ("login", Some(1)));
    assert_eq!(view.panes.len(), 2);
    assert_eq!(shells(&world), 1);
    assert!(view.welcome.is_none());
    assert!(
        matches!(&feed(&world)[0], FeedLine::Turn { number: 1, prompt, status: TurnStatus::Running, .. } if prompt == "make the login tests pass")
    );
    assert!(
        view.sidebar
            .rows
            .iter()
            .any(|r| matches!(r, SidebarRow::Environment(e) if e.state == RowState::Turn { number: 1 }))
    );
    assert_eq!(view.mode, Mode::Nav, "keys are not taken from where they were");
}

#[test]
fn later_turns_find_the_same_tab_and_the_same_session() {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "one", EnvSpec::local());
    world.call("login", "ls -la", "a\nb\n", 0);
    world.end_turn("login");
    let session = world.model.state.conversations.values().next().unwrap().session.clone();
    world.pass(Span::seconds(3));
    world.begin_turn("login", "two", EnvSpec::local());
    assert_eq!(world.view().tabs.len(), 1);
    assert_eq!(world.model.state.conversations.values().next().unwrap().session, session);
    assert_eq!(shells(&world), 1);
    let lines = feed(&world);
    let turns: Vec<u32> =
        lines.iter().filter_map(|l| if let FeedLine::Turn { number, .. } = l { Some(*number) } else { None }).collect();
    assert_eq!(turns, [1, 2]);
    assert!(lines.iter().any(
        |l| matches!(l, FeedLine::Command { command, exit_code: Some(0), took_ms: 1200, .. } if command == "ls -la")
    ));
    assert!(lines.contains(&FeedLine::Output { text: "b".to_owned(), error: false }));
}

#[test]
fn the_tab_of_a_conversation_shows_its_shell_first_and_the_agent_pane_has_a_mode_of_its_own() {
    let mut world = World::with_shell();
    world.begin_turn("login", "one", EnvSpec::local());
    world.keys("C-b 2");
    assert_eq!(world.mode(), Mode::Pane);
    world.focused(|p| assert!(matches!(p.content, PaneContent::Terminal { .. }), "{}", p.title));
    world.keys("C-b a");
    assert_eq!(world.mode(), Mode::Agent);
    let hints = world.view().status.hints;
    assert!(hints.contains(&("Enter".to_owned(), "shell".to_owned())), "{hints:?}");
    world.keys("C-b 1 C-b 2");
    assert_eq!(world.mode(), Mode::Agent, "the pane that had the focus has it again");
    world.keys("Enter");
    assert_eq!(world.mode(), Mode::Pane);
}

#[test]
fn nobody_is_torn_away_from_what_he_does() {
    let mut world = World::with_shell();
    let session = world.session();
    world.begin_turn("login", "one", EnvSpec::local());
    assert_eq!((world.session(), world.mode()), (session, Mode::Pane));
    let tabs = world.view().tabs;
    assert_eq!((tabs.len(), tabs[1].activity, tabs[1].turn), (2, true, Some(1)));
    assert_eq!(world.toasts(), "", "the tab bar says it");
}

#[test]
fn the_pane_says_why_its_sandbox_stopped_and_the_next_turn_brings_the_shell_back() {
    let mut world = World::new(120, 40);
    let spec = EnvSpec { idle: Span::seconds(5), ..EnvSpec::local() };
    world.begin_turn("login", "one", spec.clone());
    world.end_turn("login");
    let env = world.env();
    world.keys("Enter");
    let first = world.session();
    world.pass(Span::seconds(4));
    assert!(world.banner().contains("any key extends"), "{}", world.banner());
    world.typed("l");
    world.pass(Span::seconds(3));
    assert_eq!(world.model.state.environments[&env].phase, Phase::Ready, "the key gave it more time");
    world.pass(Span::seconds(3));
    assert_eq!(world.model.state.environments[&env].phase, Phase::Stopped);
    assert!(world.banner().contains("idle"), "{}", world.banner());
    assert_eq!(shells(&world), 1);
    world.begin_turn("login", "two", spec);
    assert_eq!(world.model.state.environments[&env].phase, Phase::Ready);
    let second = world.session();
    assert_ne!(first, second);
    assert_eq!((shells(&world), world.view().tabs.len()), (1, 1));
    world.typed("x");
    assert_eq!(world.got(&second), "x");
}

#[test]
fn enter_on_the_feed_or_on_the_row_brings_a_closed_shell_back() {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "one", EnvSpec::local());
    world.keys("Enter");
    assert_eq!(world.mode(), Mode::Pane);
    let session = world.session();
    world.keys("C-b x k");
    assert_eq!(shells(&world), 0, "kept running without a pane");
    world.keys("Enter");
    assert_eq!(world.session(), session, "the same session beside its feed");
    world.keys("C-b x k C-b Esc Enter");
    assert_eq!(world.session(), session);
    world.keys("C-b x x");
    assert!(!world.model.state.sessions.contains_key(&session), "ended and forgotten");
    world.keys("Enter");
    let new = world.session();
    assert_ne!(new, session);
    let conversation = world.model.state.conversations.values().next().unwrap();
    assert_eq!(conversation.session.as_ref(), Some(&new), "it is the conversation's shell now");
    assert_eq!(world.view().tabs.len(), 1);
}

#[test]
fn the_feed_scrolls_and_jumps_to_turns_and_failed_commands() {
    let mut world = World::new(120, 30);
    for n in 0..6 {
        world.begin_turn("login", &format!("prompt {n}"), EnvSpec::local());
        for k in 0..5 {
            world.call("login", &format!("cmd {n}.{k}"), "out\n", i32::from(n == 2 && k == 3));
        }
        world.end_turn("login");
    }
    world.keys("C-b a");
    assert!(matches!(feed(&world).last(), Some(FeedLine::Output { .. })), "the end is shown");
    world.keys("g");
    assert!(matches!(&feed(&world)[0], FeedLine::Turn { number: 1, .. }));
    world.keys("G [ [");
    let lines = feed(&world);
    assert!(lines.iter().any(|l| matches!(l, FeedLine::Turn { number: 5, selected: true, .. })), "{lines:?}");
    world.keys("F");
    let lines = feed(&world);
    assert!(
        lines.iter().any(|l| matches!(l, FeedLine::Command { command, selected: true, .. } if command == "cmd 2.3")),
        "{lines:?}"
    );
    world.keys("f");
    assert!(world.toasts().contains("no further failed command"));
    world.keys("Esc");
    assert!(matches!(feed(&world).last(), Some(FeedLine::Output { .. })));
}

#[test]
fn long_output_shows_its_end_and_says_how_much_there_is() {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "one", EnvSpec::local());
    let text: String = (0..30).map(|n| format!("line {n}\n")).collect();
    world.call("login", "seq", &text, 0);
    let lines = feed(&world);
    let more = |lines: &[FeedLine], key: &str| {
        lines
            .iter()
            .any(|l| matches!(l, FeedLine::Remark(text) if text.contains("22 lines more") && text.contains(key)))
    };
    assert!(more(&lines, "Space"), "{lines:?}");
    assert!(lines.contains(&FeedLine::Output { text: "line 29".to_owned(), error: false }));
    let first = FeedLine::Output { text: "line 0".to_owned(), error: false };
    assert!(!lines.contains(&FeedLine::Output { text: "line 21".to_owned(), error: false }));
    world.keys("C-b a C-b z K space");
    let lines = feed(&world);
    assert!(lines.contains(&first) && !more(&lines, ""), "{lines:?}");
    assert!(lines.iter().any(|l| matches!(l, FeedLine::Command { selected: true, .. })), "{lines:?}");
    world.keys("o");
    assert!(more(&feed(&world), "Space") && !feed(&world).contains(&first));
}

#[test]
fn the_turn_list_leads_to_a_turn_in_the_feed() {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "first things", EnvSpec::local());
    world.call("login", "make", "", 2);
    world.call("login", "make again", "", 0);
    world.end_turn("login");
    world.begin_turn("login", "second things", EnvSpec::local());
    world.end_turn("login");
    world.keys("t");
    let rows = |w: &World| -> Vec<(u8, String, String)> {
        let Some(Overlay::Turns { rows, .. }) = w.overlay() else { panic!("the turn list") };
        rows.into_iter().map(|r| (r.depth, r.text, r.right)).collect()
    };
    let all = rows(&world);
    assert_eq!(all.iter().map(|r| r.0).collect::<Vec<_>>(), [0, 1, 1], "{all:?}");
    assert!(all[1].2.contains("2 commands, 1 failed"), "{all:?}");
    world.keys("k space");
    assert_eq!(rows(&world).iter().map(|r| r.0).collect::<Vec<_>>(), [0, 1, 2, 2, 1]);
    world.keys("f Enter");
    assert_eq!(world.overlay(), None);
    assert!(
        feed(&world)
            .iter()
            .any(|l| matches!(l, FeedLine::Command { command, selected: true, .. } if command == "make"))
    );
    world.keys("C-b t /").typed("again").keys("Enter");
    let found = rows(&world);
    assert_eq!(found.len(), 3, "with what it belongs to: {found:?}");
    world.keys("Enter");
    let again =
        |l: &FeedLine| matches!(l, FeedLine::Command { command, selected: true, .. } if command == "make again");
    assert!(feed(&world).iter().any(again), "what was found is selected, not what leads to it");
}

#[test]
fn a_command_outside_of_turns_has_its_own_row_and_enter_marks_it() {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "first things", EnvSpec::local());
    world.call("login", "make", "", 0);
    world.end_turn("login");
    world.pass(Span::seconds(1));
    world.call("login", "git status", "", 0);
    world.pass(Span::seconds(1));
    world.begin_turn("login", "second things", EnvSpec::local());
    world.end_turn("login");
    world.keys("t");
    let Some(Overlay::Turns { rows, .. }) = world.overlay() else { panic!("the turn list") };
    let rows: Vec<(u8, &str, bool)> =
        rows.iter().map(|r| (r.depth, r.text.as_str(), r.right.starts_with("1 command"))).collect();
    assert_eq!(
        rows[1..],
        [
            (1, "turn 1  first things", true),
            (1, "outside of turns", true),
            (2, "git status", false),
            (1, "turn 2  second things", false)
        ]
    );
    world.keys("k Enter");
    let marked =
        |l: &FeedLine| matches!(l, FeedLine::Command { command, selected: true, .. } if command == "git status");
    assert!(feed(&world).iter().any(marked), "{:?}", feed(&world));
}

#[test]
fn a_closed_agent_pane_comes_back() {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "one", EnvSpec::local());
    world.keys("C-b a x");
    assert_eq!(world.view().panes.len(), 1, "only the shell is left");
    world.keys("C-b a");
    assert_eq!((world.view().panes.len(), world.view().tabs.len()), (2, 1));
    world.focused(|p| assert!(matches!(p.content, PaneContent::Feed(_))));
}

#[test]
fn the_exit_of_the_conversations_shell_is_no_end_of_the_tab() {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "one", EnvSpec::local());
    world.keys("Enter");
    let session = world.session();
    world.event(Event::SessionEnded { session, exit_code: Some(0) });
    assert_eq!(world.view().panes.len(), 2);
    world.pass(Span(500));
    world.keys("Enter").typed("ls");
    assert_eq!(world.got(&world.session()), "ls");
}

#[test]
fn enter_on_the_row_brings_a_closed_tab_back_with_feed_and_shell() {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "one", EnvSpec::local());
    world.end_turn("login");
    world.keys("Enter C-b x x x");
    assert!(world.view().tabs.is_empty());
    world.keys("Enter");
    assert_eq!((world.view().tabs.len(), world.view().panes.len(), shells(&world)), (1, 2, 1));
    world.typed("ls");
    assert_eq!(world.got(&world.session()), "ls");
}

#[test]
fn a_command_outside_of_turns_shows_how_long_it_has_been_running() {
    let mut world = World::new(120, 40);
    world.begin_turn("talk", "do it", EnvSpec::local());
    world.end_turn("talk");
    world.keys("a");
    assert_eq!(world.mode(), Mode::Agent);
    let call = world.model.ids.call();
    world.request(Request::BeginCall {
        call,
        env: None,
        conversation: Some(ConversationId::new("talk")),
        command: "sleep 100".to_owned(),
        cwd: None,
        source: CallSource::Exec,
    });
    world.pass(Span::seconds(20));
    let next = world.model.next_timer(world.now).expect("a tick");
    assert!(next.since(world.now) <= Span::seconds(1));
}

/// What the frame of the shell says about the agent.
fn agent_mark(world: &World) -> Option<AgentMark> {
    let view = world.view();
    let shell = view.panes.into_iter().find(|p| matches!(p.content, PaneContent::Terminal { .. }));
    shell.expect("a shell").agent
}

/// Begins a command of the conversation's agent.
fn begins(world: &mut World, command: &str) {
    let call = world.model.ids.call();
    world.request(Request::BeginCall {
        call,
        env: None,
        conversation: Some(ConversationId::new("login")),
        command: command.to_owned(),
        cwd: None,
        source: CallSource::Exec,
    });
}

#[test]
fn the_shell_says_what_the_agent_runs_and_a_key_takes_over_and_gives_back() {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "one", EnvSpec::local());
    assert_eq!(agent_mark(&world), None);
    begins(&mut world, "cargo test");
    assert_eq!(agent_mark(&world), Some(AgentMark::Runs("cargo test".to_owned())));
    world.keys("Enter C-b T");
    let taken = |waiting| Some(AgentMark::Taken { key: "Ctrl+B T".to_owned(), waiting });
    assert_eq!(agent_mark(&world), taken(0), "what runs already goes on");
    let yours = RowState::Word("yours".to_owned());
    let row = |r: &SidebarRow| matches!(r, SidebarRow::Environment(e) if e.state == yours);
    assert!(world.view().sidebar.rows.iter().any(row));
    begins(&mut world, "rm -rf build");
    assert_eq!(agent_mark(&world), taken(1));
    let remarks = |world: &World| -> Vec<String> {
        let lines = feed(world).into_iter();
        lines.filter_map(|l| if let FeedLine::Remark(text) = l { Some(text) } else { None }).collect()
    };
    assert_eq!(remarks(&world), ["a person has taken over", "waits until it is given back"]);
    world.pass(Span::seconds(4));
    world.keys("C-b T");
    assert_eq!(agent_mark(&world), Some(AgentMark::Runs("rm -rf build".to_owned())));
    assert_eq!(remarks(&world), ["a person had it for 4.0 s"]);
}
