//! The agent pane and the turn list as places to work from: copying, running again, a shell where the agent is, filters.

use crate::world::{CLIENT, World};
use hermes_tui::app::view_model::{FeedLine, Mode, Overlay, PaneContent};
use hermes_tui::app::{ClientCaps, ClientId, Cmd, Msg, Role};
use hermes_tui::config::KeyPress;
use hermes_tui::domain::{Begin, CallId, ConversationId, EndpointId, EnvSpec, Event, Kept, Request, Size, Span};

const PROMPT: &str = "agent@login:/workspace/src$ ";
const BRACKETED: &str = "\x1b[?2004h";

fn feed(world: &World) -> Vec<FeedLine> {
    let view = world.view();
    let found =
        view.panes.into_iter().find_map(|p| if let PaneContent::Feed(lines) = p.content { Some(lines) } else { None });
    found.expect("an agent pane")
}

fn commands(world: &World) -> Vec<String> {
    let command = |line: FeedLine| if let FeedLine::Command { command, .. } = line { Some(command) } else { None };
    feed(world).into_iter().filter_map(command).collect()
}

fn rows(world: &World) -> Vec<String> {
    let Some(Overlay::Turns { rows, .. }) = world.overlay() else { panic!("the turn list") };
    rows.into_iter().map(|row| row.text).collect()
}

fn copied(world: &World) -> Option<String> {
    world.others.iter().rev().find_map(|cmd| match cmd {
        Cmd::Clipboard { client: CLIENT, text } => Some(text.clone()),
        _ => None,
    })
}

/// A conversation with a turn of two commands, its agent pane focused.
fn login() -> World {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "make the login tests pass", EnvSpec::local());
    world.call_in("login", Some("/workspace"), "ls", "a\n", 0);
    world.call_in("login", Some("/workspace/src"), "cargo test", "no\n", 101);
    world.end_turn("login");
    world.keys("a");
    assert_eq!(world.mode(), Mode::Agent);
    world
}

#[test]
fn a_command_is_copied_and_of_a_turn_what_was_asked() {
    let mut world = login();
    world.keys("y");
    assert_eq!(copied(&world).as_deref(), Some("cargo test"), "the last one, where none is selected");
    assert!(world.toasts().contains("copied `cargo test`"), "{}", world.toasts());
    world.keys("K K y");
    assert_eq!(copied(&world).as_deref(), Some("ls"));
    world.keys("[ y");
    assert_eq!(copied(&world).as_deref(), Some("make the login tests pass"));
    assert!(world.toasts().contains("the prompt of turn 1"), "{}", world.toasts());
    world.keys("Enter C-b ]");
    assert_eq!(world.got(&world.session()), "make the login tests pass", "it can be pasted here, too");

    world.keys("C-b t y");
    assert_eq!(copied(&world).as_deref(), Some("make the login tests pass"));
    assert!(matches!(world.overlay(), Some(Overlay::Turns { .. })), "the list stays");
    world.keys("j y");
    assert_eq!(copied(&world).as_deref(), Some("ls"));
    world.keys("g y");
    assert_eq!(copied(&world).as_deref(), Some("login"));
    assert!(world.toasts().contains("copied the id `login`"), "{}", world.toasts());
}

#[test]
fn from_its_shell_and_from_the_sidebar_the_last_command_of_the_agent_is_meant() {
    let mut world = login();
    world.keys("Enter C-b Y");
    assert_eq!(copied(&world).as_deref(), Some("cargo test"));
    world.others.clear();
    world.keys("C-b Esc y");
    assert_eq!(copied(&world).as_deref(), Some("cargo test"));
    world.keys("Esc C-b a K K C-b o C-b Y");
    assert_eq!(copied(&world).as_deref(), Some("ls"), "the selected one of the agent pane beside it");
    let mut empty = World::with_shell();
    empty.keys("C-b Y");
    assert!(empty.toasts().contains("no command here to copy"), "{}", empty.toasts());
}

#[test]
fn a_command_is_typed_in_its_directory_and_enter_is_left_to_the_person() {
    let mut world = login();
    world.keys("r");
    assert_eq!(world.mode(), Mode::Pane);
    let shell = world.session();
    assert_eq!(world.begins.last(), Some(&(shell.clone(), Begin::Directory("/workspace/src".to_owned()))));
    assert_eq!(world.view().panes.len(), 3, "beside the agent pane and the conversation's own shell");
    let owner = world.model.state.conversations[&ConversationId::new("login")].session.clone();
    assert_ne!(owner, Some(shell.clone()), "what waits in it is nothing that the agent may type into");
    assert_eq!(world.got(&shell), "", "before its prompt");
    world.output(&shell, "hermes-tui: a word before it\r\n");
    assert_eq!(world.got(&shell), "");
    world.output(&shell, PROMPT);
    assert_eq!(world.got(&shell), "cargo test", "without an Enter");
    assert!(world.toasts().contains("`cargo test` waits at the prompt: Enter runs it"), "{}", world.toasts());
    world.output(&shell, "cargo test");
    assert_eq!(world.got(&shell), "cargo test", "once");
    world.keys("Enter");
    assert_eq!(world.got(&shell), "cargo test\r");

    // What waits gives way to the next one; what somebody typed in does not.
    world.keys("C-b a K K r");
    let second = world.session();
    assert_eq!(world.view().panes.len(), 4);
    world.output(&second, PROMPT);
    assert_eq!(world.got(&second), "ls");
    world.keys("C-b a r");
    let third = world.session();
    assert_ne!(third, second);
    assert_eq!(world.view().panes.len(), 4);
    assert!(!world.model.state.sessions.contains_key(&second), "ended and forgotten");
    assert!(!world.model.state.sessions[&shell].has_ended());
}

#[test]
fn several_lines_are_pasted_where_the_shell_takes_pastes_and_copied_elsewhere() {
    let text = "for i in 1 2; do\n\techo $i\ndone\n";
    for (prompt, typed) in [(format!("{BRACKETED}{PROMPT}"), true), (PROMPT.to_owned(), false)] {
        let mut world = login();
        world.call_in("login", Some("/"), text, "", 0);
        world.keys("r");
        let shell = world.session();
        world.output(&shell, &prompt);
        if typed {
            assert_eq!(world.got(&shell), "\x1b[200~for i in 1 2; do\n\techo $i\ndone\x1b[201~");
        } else {
            assert_eq!(world.got(&shell), "");
            assert_eq!(copied(&world).as_deref(), Some(text.trim_end()));
            assert!(world.toasts().contains("is copied and not typed"), "{}", world.toasts());
        }
    }
    // A key of a terminal in a command is none that we press.
    let mut world = login();
    world.call_in("login", Some("/"), "printf '\u{3}\u{1b}[A'", "", 0);
    world.keys("r");
    let shell = world.session();
    world.output(&shell, &format!("{BRACKETED}{PROMPT}"));
    assert_eq!(world.got(&shell), "");
    assert!(world.toasts().contains("is copied and not typed"), "{}", world.toasts());
}

#[test]
fn what_is_typed_before_the_prompt_keeps_a_command_from_being_mixed_in() {
    let mut world = login();
    world.keys("r");
    let shell = world.session();
    world.typed("x");
    assert!(world.toasts().contains("`cargo test` is not typed: other keys came first"), "{}", world.toasts());
    world.output(&shell, PROMPT);
    assert_eq!(world.got(&shell), "x");
    // Typed through the socket it is the same.
    world.keys("C-b a r");
    let shell = world.session();
    world.event(Event::PersonActed { session: shell.clone(), typed: true });
    world.output(&shell, PROMPT);
    assert_eq!(world.got(&shell), "");
}

#[test]
fn the_turn_list_runs_a_command_again_too() {
    let mut world = login();
    world.keys("t f r");
    assert_eq!((world.overlay(), world.mode()), (None, Mode::Pane));
    let shell = world.session();
    world.output(&shell, PROMPT);
    assert_eq!(world.got(&shell), "cargo test");
    world.keys("C-b t r");
    assert!(world.toasts().contains("select a command"), "{}", world.toasts());
    assert!(matches!(world.overlay(), Some(Overlay::Turns { .. })));
    world.keys("Esc C-b a [ r");
    assert!(world.toasts().contains("a turn is not run again"), "{}", world.toasts());
}

#[test]
fn a_small_screen_gives_the_shell_a_tab_of_its_own() {
    for (cols, rows, shown) in [(80, 24, (1, 3)), (80, 16, (2, 1)), (40, 12, (2, 1))] {
        let mut world = World::new(cols, rows);
        world.begin_turn("login", "make it pass", EnvSpec::local());
        world.call_in("login", Some("/workspace"), "ls", "a\n", 0);
        world.keys("a r");
        assert_eq!((world.view().tabs.len(), world.view().panes.len()), shown, "{cols}x{rows}");
        let shell = world.session();
        world.output(&shell, PROMPT);
        assert_eq!(world.got(&shell), "ls");
    }
}

#[test]
fn what_cannot_run_again_says_why_and_what_to_do() {
    let mut world = login();
    let env = world.env();
    world.request(Request::Stop { env: env.clone(), force: true });
    world.keys("r");
    assert!(world.toasts().contains("login is stopped: Ctrl+B r in a pane of it"), "{}", world.toasts());
    let before = world.begins.len();
    world.event(Event::EndpointDown { endpoint: EndpointId::new("local"), detail: "no answer".to_owned() });
    world.pass(Span::seconds(20));
    world.keys("r");
    assert!(world.toasts().contains("local does not answer: no answer"), "{}", world.toasts());
    world.event(Event::EndpointUp(EndpointId::new("local")));
    world.event(Event::Snapshot { endpoint: EndpointId::new("local"), found: Vec::new() });
    world.request(Request::Remove { env, force: true, data: false });
    assert!(world.model.state.environments.is_empty());
    world.pass(Span::seconds(20));
    world.keys("C-b a r");
    assert!(
        world.toasts().contains("the environment in which `cargo test` ran is gone · y copies it"),
        "{}",
        world.toasts()
    );
    assert_eq!(world.begins.len(), before);
    world.keys("w");
    assert!(world.toasts().contains("this conversation has no environment now"), "{}", world.toasts());
    world.keys("y");
    assert_eq!(copied(&world).as_deref(), Some("cargo test"));
}

#[test]
fn a_shell_where_the_agent_is_has_what_is_kept_of_its_conversation() {
    let expected = |cwd: &str| Begin::Agent {
        kept: Kept::Conversation(ConversationId::new("login")),
        cwd: Some(cwd.to_owned()),
        other: false,
    };
    for keys in ["w", "Enter C-b W", "C-b Esc W", "t w", "C-b : a g e n t - s h e l l Enter"] {
        let mut world = login();
        world.keys(keys);
        let last = world.begins.last().expect("a shell");
        assert_eq!(*last, (world.session(), expected("/workspace/src")), "{keys}");
        assert_eq!(world.view().tabs.len(), 1, "{keys}");
        // Again after its end it begins where the agent is then.
        let session = world.session();
        world.event(Event::SessionEnded { session: session.clone(), exit_code: Some(0) });
        world.pass(Span(500));
        world.keys("Enter");
        let last = world.begins.last().expect("a shell");
        assert!(last.0 != session && last.1 == expected("/workspace/src"), "{keys}: {last:?}");
    }
    let mut world = World::with_shell();
    world.keys("C-b W");
    assert!(world.toasts().contains("no agent has run a command in env-1 yet"), "{}", world.toasts());
}

#[test]
fn a_terminal_that_only_looks_copies_and_filters_and_opens_nothing() {
    let mut world = login();
    let reader = ClientId(2);
    let caps = ClientCaps { colours: 0, unicode: false };
    world.msg(Msg::ClientAttached { client: reader, size: Size { rows: 40, cols: 120 }, caps, role: Role::Reader });
    let before = world.begins.len();
    for key in ["C-b", "a", "r", "w", "y", "v", "C-b", "t", "r", "w"] {
        let key: KeyPress = key.parse().expect("a key");
        world.msg(Msg::Key { client: reader, key: key.event() });
    }
    assert_eq!(world.begins.len(), before);
    let copied = world
        .others
        .iter()
        .any(|c| matches!(c, Cmd::Clipboard { client, text } if *client == reader && text == "cargo test"));
    assert!(copied, "{:?}", world.others);
}

#[test]
fn the_agent_pane_shows_what_failed_what_runs_and_what_matches() {
    let mut world = login();
    world.begin_turn("login", "and the docs", EnvSpec::local());
    world.call("login", "make docs", "", 0);
    world.call("login", "cargo doc", "", 0);
    let mark = |world: &World| world.focused(|pane| pane.marks.join(" "));
    world.keys("v");
    assert_eq!(commands(&world), ["cargo test"]);
    let turns = feed(&world).iter().filter(|l| matches!(l, FeedLine::Turn { .. })).count();
    assert_eq!((turns, mark(&world).as_str()), (1, "failed only"));
    world.keys("v");
    assert_eq!(commands(&world), [] as [&str; 0]);
    assert!(matches!(&feed(&world)[0], FeedLine::Turn { number: 2, .. }), "{:?}", feed(&world));
    assert_eq!(mark(&world), "running only");
    world.end_turn("login");
    assert_eq!(feed(&world), [FeedLine::Remark("nothing here is running · v and Esc show more".to_owned())]);
    world.keys("v /").typed("cargo");
    assert_eq!(commands(&world), ["cargo test", "cargo doc"]);
    assert_eq!(mark(&world), "/cargo_");
    assert_eq!(world.view().status.hints[0].1, "keep the filter");
    world.keys("backspace").typed("x");
    assert_eq!(feed(&world), [FeedLine::Remark("nothing matches · Esc shows all".to_owned())]);
    world.keys("backspace Enter v");
    assert_eq!((commands(&world), mark(&world).as_str()), (vec!["cargo test".to_owned()], "failed only /carg"));
    // The keys are those of the pane again, and mean what is shown.
    world.keys("y");
    assert_eq!(copied(&world).as_deref(), Some("cargo test"));
    // What the turn list leads to is shown.
    world.keys("t G Enter");
    assert!(
        feed(&world)
            .iter()
            .any(|l| matches!(l, FeedLine::Command { command, selected: true, .. } if command == "cargo doc"))
    );
    assert_eq!(mark(&world), "");
    world.keys("/").msg(Msg::Paste { client: CLIENT, text: "make".to_owned() });
    assert_eq!(commands(&world), ["make docs"]);
    world.keys("Esc");
    assert_eq!(commands(&world).len(), 4);
}

#[test]
fn the_turn_list_shows_what_failed_and_what_runs() {
    let mut world = login();
    world.begin_turn("docs", "write the docs", EnvSpec::local());
    world.call("docs", "make docs", "", 0);
    world.keys("C-b t v");
    assert_eq!(rows(&world), ["login", "turn 1  make the login tests pass", "cargo test"]);
    let Some(Overlay::Turns { selected, only, .. }) = world.overlay() else { panic!("the turn list") };
    assert_eq!(only, "failed");
    assert!(selected > 0, "one that was looked for: {selected}");
    world.keys("v");
    assert_eq!(rows(&world), ["docs", "turn 1  write the docs"]);
    world.keys("v");
    assert!(rows(&world).len() > 4);
    world.keys("v /").typed("zzz").keys("Enter");
    assert_eq!(rows(&world), [] as [&str; 0]);
}

#[test]
fn a_selected_turn_marks_its_commands_and_space_shows_all_they_printed() {
    let mut world = World::new(120, 60);
    let long: String = (0..20).map(|n| format!("line {n}\n")).collect();
    world.begin_turn("login", "one", EnvSpec::local());
    world.call("login", "first", &long, 0);
    world.end_turn("login");
    world.begin_turn("login", "two", EnvSpec::local());
    world.call("login", "second", &long, 0);
    world.call("login", "third", &long, 0);
    world.end_turn("login");
    world.keys("C-b t Enter C-b z");
    let of_selected = |world: &World| -> Vec<String> {
        let marked = |line: FeedLine| match line {
            FeedLine::Command { command, of_selected: true, selected: false, .. } => Some(command),
            _ => None,
        };
        feed(world).into_iter().filter_map(marked).collect()
    };
    assert_eq!(of_selected(&world), ["second", "third"]);
    let whole = |world: &World| {
        feed(world).iter().filter(|l| **l == FeedLine::Output { text: "line 0".to_owned(), error: false }).count()
    };
    assert_eq!(whole(&world), 0);
    world.keys("space");
    assert_eq!(whole(&world), 2);
    world.keys("J");
    assert_eq!(of_selected(&world), [] as [&str; 0]);
    world.keys("space [");
    assert_eq!(whole(&world), 1, "only the selected command");
    world.keys("space");
    assert_eq!(whole(&world), 2, "as long as one is not whole, all are made so");
    world.keys("space");
    assert_eq!(whole(&world), 0);
}

#[test]
fn the_commands_of_others_are_worked_with_in_the_same_way() {
    let mut world = World::with_shell();
    let (env, sandbox) =
        world.model.state.environments.values().map(|e| (e.id.clone(), e.sandbox.clone())).next().unwrap();
    let sandbox = sandbox.expect("a sandbox");
    let began = |world: &mut World, exec: &str, command: &str, cwd: Option<&str>| {
        world.event(Event::ExecBegan {
            sandbox: sandbox.clone(),
            endpoint: EndpointId::new("local"),
            exec: CallId::new(exec),
            command: command.to_owned(),
            cwd: cwd.map(str::to_owned),
        });
        world.event(Event::ExecEnded { exec: CallId::new(exec), exit_code: Some(1), cwd: None });
    };
    began(&mut world, "a", "make", Some("/src"));
    began(&mut world, "b", "hermes: read /etc/hosts", Some("/src"));
    world.keys("C-b a r");
    assert!(world.toasts().contains("a tool of hermes-agent did"), "{}", world.toasts());
    world.keys("K K r");
    let (shell, begin) = world.begins.last().expect("a shell");
    assert_eq!(*begin, Begin::Directory("/src".to_owned()));
    assert_eq!(world.model.state.sessions[shell].env, env);
    world.keys("C-b a w");
    let (_, begin) = world.begins.last().expect("a shell");
    assert_eq!(*begin, Begin::Agent { kept: Kept::Nothing, cwd: Some("/src".to_owned()), other: false });
}
