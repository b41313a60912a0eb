//! Sandboxes that are not ours on the screen: rows, questions before they are ended, and what others run in them.

use crate::world::World;
use hermes_tui::app::view_model::{FeedLine, Overlay, PaneContent, RowState, SidebarRow};
use hermes_tui::domain::{
    BackendKind, CallId, EndpointId, EnvId, EnvSpec, Event, FoundSandbox, Generation, Leak, LeakKind, Mount, Origin,
    Persistence, Phase, Request, SandboxId, SandboxState, Scope, Span, Watched,
};

fn place() -> EndpointId {
    EndpointId::new("docker")
}

fn found(id: &str, origin: Origin, persistence: Persistence) -> FoundSandbox {
    let mounts = vec![Mount { source: "/h/home".into(), target: "/root".into(), read_only: false }];
    let spec = EnvSpec {
        backend: BackendKind::Docker,
        endpoint: place(),
        persistence,
        scope: Scope::Shared,
        mounts,
        ..EnvSpec::local()
    };
    let watched = Watched { profile: Some("work".into()), maker: "leaves running".into(), ..Watched::default() };
    FoundSandbox {
        sandbox: SandboxId::new(format!("box-{id}")),
        env: EnvId::new(id),
        name: id.into(),
        generation: Generation(1),
        state: SandboxState::Running,
        spec: Some(Box::new(spec)),
        persistence,
        origin,
        conversation: None,
        watched: (origin == Origin::Hermes).then(|| Box::new(watched)),
    }
}

fn world_with(all: Vec<FoundSandbox>) -> World {
    let mut world = World::new(120, 40);
    world.event(Event::Snapshot { endpoint: place(), found: all });
    world
}

fn hermes() -> World {
    let mut world = world_with(vec![found("h", Origin::Hermes, Persistence::Persistent)]);
    world.keys("j");
    world
}

fn foreign() -> World {
    let mut world = World::new(120, 40);
    world.request(Request::Adopt { endpoint: place(), container: "f".into() });
    world.event(Event::Snapshot { endpoint: place(), found: vec![found("f", Origin::Foreign, Persistence::Unknown)] });
    world.keys("j");
    world
}

fn state_of(world: &World, name: &str) -> RowState {
    let row = |row: SidebarRow| match row {
        SidebarRow::Environment(env) if env.name == name => Some(env.state),
        _ => None,
    };
    world.sidebar().rows.into_iter().find_map(row).expect("a row")
}

fn phase(world: &World, id: &str) -> Phase {
    world.model.state.environments[&EnvId::new(id)].phase
}

fn exec(world: &mut World, sandbox: &str, exec: &str, command: &str) {
    world.event(Event::ExecBegan {
        sandbox: SandboxId::new(sandbox),
        endpoint: place(),
        exec: CallId::new(exec),
        command: command.into(),
        cwd: Some("/root".into()),
    });
}

fn question(world: &World) -> (String, String, Vec<(String, String)>) {
    match world.overlay() {
        Some(Overlay::Dialog { title, text, choices, selected, .. }) => {
            assert_eq!(selected, 0, "the safe choice is selected");
            (title, text.join("\n"), choices)
        }
        other => panic!("no dialog: {other:?}"),
    }
}

#[test]
fn they_are_grouped_by_profile_and_say_what_their_maker_does() {
    let mut leaked = found("probe", Origin::Hermes, Persistence::Persistent);
    leaked.watched.as_mut().unwrap().leak = Some(Leak { kind: LeakKind::Probe, evidence: "a probe".into() });
    let mut halted = found("halted", Origin::Hermes, Persistence::Ephemeral);
    halted.state = SandboxState::Paused;
    let world = world_with(vec![found("h", Origin::Hermes, Persistence::Persistent), leaked, halted]);
    let titles: Vec<String> = world
        .sidebar()
        .rows
        .into_iter()
        .filter_map(|row| if let SidebarRow::Group { title, .. } = row { Some(title) } else { None })
        .collect();
    assert_eq!(titles, ["hermes · work  docker"]);
    assert_eq!(state_of(&world, "h"), RowState::Word("hermes: leaves running".into()));
    assert_eq!(state_of(&world, "probe"), RowState::Word("leaked: probe".into()));
    assert_eq!(state_of(&world, "halted"), RowState::Word("paused".into()));
}

#[test]
fn a_stop_says_first_what_hermes_agent_will_do_and_offers_to_start_it_again() {
    let mut world = hermes();
    world.keys("S");
    let (title, text, choices) = question(&world);
    assert_eq!((title.as_str(), choices.len()), ("Stop h?", 2));
    for part in ["10 min", "hermes-agent deletes it", "/root", "`r`"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    world.keys("Enter");
    assert_eq!(phase(&world, "h"), Phase::Ready, "Enter takes the safe choice");
    world.keys("S S");
    assert_eq!(phase(&world, "h"), Phase::Stopped);
    assert!(world.toasts().contains("deletes it; `r`"), "{}", world.toasts());
    assert_eq!(state_of(&world, "h"), RowState::Word("stopped · swept in 10:00".into()));
    world.pass(Span::seconds(2));
    assert_eq!(state_of(&world, "h"), RowState::Word("stopped · swept in 9:58".into()));
    world.keys("r");
    assert_eq!(phase(&world, "h"), Phase::Ready);
}

#[test]
fn a_removal_of_what_hermes_agent_made_asks_once() {
    let mut world = hermes();
    world.keys("D");
    let (_, text, _) = question(&world);
    assert!(text.contains("makes a fresh one"), "{text}");
    world.keys("D");
    assert!(world.model.state.environments.is_empty());
}

#[test]
fn a_container_of_somebody_else_is_hidden_by_one_key_and_destroyed_after_two_questions() {
    let mut world = foreign();
    world.keys("D");
    let (_, _, choices) = question(&world);
    assert_eq!(choices[1].0, "h");
    world.keys("D");
    let (title, _, choices) = question(&world);
    assert!(title.starts_with("Destroy"), "{title}");
    assert_eq!(choices[1].0, "X");
    world.keys("D D S Enter");
    assert_eq!(phase(&world, "f"), Phase::Ready, "no habit answers the second question");
    world.keys("D h");
    assert!(world.model.state.environments.is_empty());
    let mut world = foreign();
    world.keys("D D X");
    assert!(world.model.state.environments.is_empty());
}

#[test]
fn what_others_run_is_shown_for_the_environment() {
    let mut world = hermes();
    exec(&mut world, "box-h", "x1", "ls -la");
    world.event(Event::ExecEnded { exec: CallId::new("x1"), exit_code: Some(0), cwd: None });
    world.pass(Span(10));
    for n in 0..3 {
        let id = format!("p{n}");
        exec(&mut world, "box-h", &id, "kill -0 7");
        world.event(Event::ExecEnded { exec: CallId::new(&id), exit_code: Some(1), cwd: None });
    }
    exec(&mut world, "box-h", "x2", "make");
    assert_eq!(world.toasts(), "", "commands of others are no news");
    world.keys("a");
    let lines = world.focused(|pane| {
        assert_eq!(pane.title, "commands · h");
        match &pane.content {
            PaneContent::Feed(lines) => lines.clone(),
            _ => panic!("no feed"),
        }
    });
    let shown: Vec<(String, Option<i32>, bool, u32)> = lines
        .into_iter()
        .filter_map(|line| match line {
            FeedLine::Command { command, exit_code, running, count, cwd, .. } => {
                assert_eq!(cwd.as_deref(), Some("/root"));
                Some((command, exit_code, running, count))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("ls -la".to_owned(), Some(0), false, 1),
            ("kill -0 7".to_owned(), Some(1), false, 3),
            ("make".to_owned(), None, true, 1),
        ]
    );
    // The same key again goes to the same pane; Enter opens a shell.
    world.keys("C-b Esc a");
    assert_eq!(world.view().panes.len(), 1);
    world.keys("Enter");
    assert!(world.view().panes.iter().any(|pane| matches!(pane.content, PaneContent::Terminal { .. })));
}

#[test]
fn a_pause_is_said_in_the_frame() {
    let mut world = hermes();
    world.keys("Enter");
    let pause = |paused| Event::SandboxPaused { sandbox: SandboxId::new("box-h"), endpoint: place(), paused };
    world.event(pause(true));
    assert!(world.banner().contains("paused by somebody else"), "{}", world.banner());
    world.event(pause(false));
    assert_eq!(world.banner(), "");
}

#[test]
fn a_pane_of_one_that_is_gone_keeps_its_screen_and_offers_no_remake() {
    let mut world = hermes();
    world.keys("Enter");
    let session = world.session();
    world.output(&session, "the last words");
    world.event(Event::SandboxEnded {
        sandbox: SandboxId::new("box-h"),
        endpoint: place(),
        removed: true,
        why: "docker rm -f".into(),
    });
    assert_eq!(phase(&world, "h"), Phase::Lost);
    assert!(world.banner().contains("docker rm -f · x closes"), "{}", world.banner());
    assert!(!world.banner().contains("starts it again"));
    world.pass(Span(500));
    world.keys("x");
    assert!(world.model.state.environments.is_empty(), "the row goes with its last pane");
}
