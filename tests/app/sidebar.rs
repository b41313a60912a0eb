//! Rows, countdowns, folding, filtering, details; and a thousand environments.

use crate::world::World;
use hermes_tui::app::view_model::{Mode, RowState, SidebarRow};
use hermes_tui::domain::{
    EndpointId, EnvId, EnvSpec, Event, FailureKind, FoundSandbox, Generation, LiveProcess, Origin, Persistence,
    Request, SandboxId, SandboxState, Scope, Span,
};

fn named(world: &mut World, name: &str, spec: EnvSpec) {
    let id = world.model.ids.env();
    world.request(Request::NewEnvironment { id, name: Some(name.to_owned()), spec: Box::new(spec) });
}

fn state(world: &World, name: &str) -> RowState {
    let rows = world.sidebar().rows;
    let found = rows.into_iter().find_map(|r| match r {
        SidebarRow::Environment(e) if e.name == name => Some(e.state),
        _ => None,
    });
    found.expect("its row")
}

fn group(world: &World, at: usize) -> (String, bool, Option<String>) {
    match world.sidebar().rows.into_iter().nth(at) {
        Some(SidebarRow::Group { title, folded, trouble }) => (title, folded, trouble),
        other => panic!("no group: {other:?}"),
    }
}

#[test]
fn rows_stand_by_group_and_name_with_badges() {
    let mut world = World::new(120, 40);
    named(&mut world, "zeta", EnvSpec::local());
    named(
        &mut world,
        "alpha",
        EnvSpec { persistence: Persistence::Ephemeral, scope: Scope::Session, ..EnvSpec::local() },
    );
    assert_eq!(group(&world, 0).0, "managed · local");
    assert_eq!(world.names(), ["alpha", "zeta"]);
    let rows = world.sidebar().rows;
    let badge = |i: usize| if let SidebarRow::Environment(e) = &rows[i] { e.persistent } else { panic!() };
    assert_eq!((badge(1), badge(2)), (Some(false), Some(true)));
}

#[test]
fn a_countdown_runs_warns_and_ends() {
    let mut world = World::new(120, 40);
    named(&mut world, "scratch", EnvSpec { idle: Span::seconds(100), ..EnvSpec::local() });
    assert_eq!(state(&world, "scratch"), RowState::Countdown { left_ms: 100_000, total_ms: 100_000, warned: false });
    world.pass(Span::seconds(49));
    assert_eq!(state(&world, "scratch"), RowState::Countdown { left_ms: 51_000, total_ms: 100_000, warned: false });
    world.pass(Span::seconds(10));
    assert_eq!(state(&world, "scratch"), RowState::Countdown { left_ms: 41_000, total_ms: 100_000, warned: true });
    assert!(world.view().status.facts.contains(&"next reap 0:41".to_owned()), "{:?}", world.view().status.facts);
    world.pass(Span::seconds(42));
    assert_eq!(state(&world, "scratch"), RowState::Word("stopped".to_owned()));
    assert!(world.toasts().contains("scratch"), "{}", world.toasts());
}

#[test]
fn what_a_look_found_holds_and_does_not_count_down() {
    let mut world = World::new(120, 40);
    named(&mut world, "scratch", EnvSpec { idle: Span::seconds(100), ..EnvSpec::local() });
    world.evidence.processes =
        vec![LiveProcess { pid: 7, command: "python3 -m http.server".to_owned(), started: world.now }];
    world.keys("Enter");
    world.pass(Span::seconds(101));
    assert_eq!(state(&world, "scratch"), RowState::Held(1));
    world.pass(Span::seconds(59));
    assert_eq!(state(&world, "scratch"), RowState::Held(1));
    assert_eq!(world.banner(), "", "no warning of what will not come");
    assert!(!world.view().status.facts.iter().any(|f| f.contains("next reap")), "{:?}", world.view().status.facts);
    world.evidence.processes.clear();
    world.pass(Span::seconds(600));
    assert_eq!(state(&world, "scratch"), RowState::Word("stopped".to_owned()));
}

#[test]
fn pin_extend_and_idle_never() {
    let mut world = World::new(120, 40);
    named(&mut world, "a", EnvSpec::local());
    named(&mut world, "b", EnvSpec { idle: Span::ZERO, ..EnvSpec::local() });
    assert_eq!(state(&world, "b"), RowState::Word("keeps running".to_owned()));
    world.keys("g j P");
    assert_eq!(state(&world, "a"), RowState::Word("pinned".to_owned()));
    world.keys("P");
    assert!(matches!(state(&world, "a"), RowState::Countdown { .. }));
    world.keys("+");
    assert!(matches!(state(&world, "a"), RowState::Countdown { left_ms: 600_000, .. }), "{:?}", state(&world, "a"));
}

#[test]
fn an_unreachable_endpoint_is_shown_and_freezes() {
    let mut world = World::new(120, 40);
    named(&mut world, "a", EnvSpec::local());
    world.event(Event::EndpointDown { endpoint: EndpointId::new("local"), detail: "does not answer".to_owned() });
    assert_eq!(group(&world, 0).2.as_deref(), Some("does not answer"));
    assert_eq!(state(&world, "a"), RowState::Word("frozen".to_owned()));
    assert_eq!(world.view().status.troubles.len(), 1);
}

#[test]
fn nav_moves_folds_and_opens() {
    let mut world = World::new(120, 40);
    for name in ["a", "b", "c"] {
        named(&mut world, name, EnvSpec::local());
    }
    let selected = |w: &World| {
        let s = w.sidebar();
        s.selected.map(|i| match &s.rows[i] {
            SidebarRow::Environment(e) => e.name.clone(),
            SidebarRow::Group { title, .. } => title.clone(),
            SidebarRow::Detail { .. } => panic!("a detail is never selected"),
        })
    };
    assert_eq!(selected(&world).as_deref(), Some("a"));
    world.keys("j j j");
    assert_eq!(selected(&world).as_deref(), Some("c"));
    world.keys("g");
    assert_eq!(selected(&world).as_deref(), Some("managed · local"));
    world.keys("space");
    assert_eq!((world.names().len(), group(&world, 0).1), (0, true));
    world.keys("Enter");
    assert_eq!(world.names().len(), 3, "Enter on a group opens it too");
    world.keys("G Enter");
    assert_eq!(world.mode(), Mode::Pane);
    world.focused(|p| assert!(p.title.starts_with("c · "), "{}", p.title));
    let session = world.session();
    world.keys("C-b Esc Enter");
    assert_eq!(world.session(), session, "the pane it has, not another one");
    world.keys("C-b Esc c");
    assert_ne!(world.session(), session, "another shell on purpose");
}

#[test]
fn details_stand_below_their_row() {
    let mut world = World::new(120, 40);
    named(&mut world, "a", EnvSpec::local());
    world.keys("space");
    let rows = world.sidebar().rows;
    let lines: Vec<(String, String)> = rows
        .into_iter()
        .filter_map(|r| if let SidebarRow::Detail { label, value } = r { Some((label, value)) } else { None })
        .collect();
    let value = |label: &str| {
        let at = lines.iter().position(|(l, _)| l == label)?;
        let more = lines[at + 1..].iter().take_while(|(l, _)| l.is_empty());
        Some(lines[at..=at].iter().chain(more).map(|(_, v)| v.as_str()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(value("network").as_deref(), Some("none"));
    assert_eq!(value("survives").as_deref(), Some("home, /workspace"));
    assert_eq!(value("sandbox").as_deref(), Some("sandbox-1 (generation 1)"));
    assert!(value("active").is_some_and(|v| v.starts_with("just now ")), "{lines:?}");
    assert!(lines.iter().all(|(_, v)| v.len() <= 16), "wrapped to the sidebar: {lines:?}");
    world.keys("space");
    assert_eq!(world.sidebar().rows.len(), 2);
}

#[test]
fn the_filter_is_fuzzy_counts_and_opens_the_best() {
    let mut world = World::new(120, 40);
    for name in ["fix-login", "research", "scratch", "login-page"] {
        named(&mut world, name, EnvSpec::local());
    }
    world.keys("/").typed("fxlg");
    assert_eq!(world.names(), ["fix-login"]);
    assert_eq!(world.sidebar().filter, Some(("fxlg".to_owned(), 1)));
    world.keys("Enter");
    world.focused(|p| assert!(p.title.starts_with("fix-login"), "{}", p.title));
    assert_eq!(world.sidebar().filter, None);
    world.keys("C-b Esc /").typed("zzz");
    assert!(world.names().is_empty());
    world.keys("Esc");
    assert_eq!(world.names().len(), 4);
}

#[test]
fn below_80_columns_it_is_a_strip_that_widens_while_it_has_the_keys() {
    let mut world = World::new(60, 20);
    assert!(world.sidebar().strip);
    world.keys("n");
    let pane = world.focused(|p| p.area);
    assert!(world.sidebar().strip && world.sidebar().area.width <= 5);
    world.keys("C-b Esc");
    let view = world.view();
    assert!(!view.sidebar.strip && view.sidebar.area.width >= 20);
    for p in &view.panes {
        assert!(p.area.x + 1 >= view.sidebar.area.width, "{:?}", p.area);
    }
    assert_eq!(world.resizes, 0, "programs are not resized by it");
    world.keys("Esc");
    assert_eq!(world.focused(|p| p.area), pane);
    world.keys("C-b s");
    assert_eq!(world.sidebar().area.width, 0);
    assert_eq!(world.focused(|p| p.area.width), 60);
    world.keys("C-b s");
    assert_eq!(world.focused(|p| p.area), pane);
}

#[test]
fn at_40_by_12_everything_has_its_room() {
    let mut world = World::new(40, 12);
    assert!(world.view().welcome.is_some());
    world.keys("n");
    let view = world.view();
    assert!(view.panes[0].inner.width >= 30 && view.panes[0].inner.height >= 8, "{:?}", view.panes[0].inner);
    world.keys("C-b % C-b \"");
    assert_eq!(world.view().panes.len(), 3);
    world.keys("C-b Esc");
    assert_eq!(world.sidebar().area.width, 40);
}

#[test]
fn of_a_thousand_environments_only_the_rows_in_sight_are_made() {
    let mut world = World::new(120, 40);
    for n in 0..1000 {
        named(&mut world, &format!("env-{n:04}"), EnvSpec::local());
    }
    let height = usize::from(world.sidebar().area.height) - 2;
    assert_eq!(world.sidebar().rows.len(), height);
    assert_eq!(world.sidebar().hidden, (0, 1001 - height));
    world.keys("G");
    let sidebar = world.sidebar();
    assert_eq!(sidebar.selected, Some(height - 1));
    assert_eq!(sidebar.hidden, (1001 - height, 0));
    assert_eq!(world.names().last().map(String::as_str), Some("env-0999"));
    world.keys("g");
    assert_eq!(world.sidebar().hidden.0, 0);
}

/// An ephemeral one that is found and that nobody is known to hold: it is removed after a minute.
fn orphan(world: &mut World) {
    let spec = EnvSpec { persistence: Persistence::Ephemeral, scope: Scope::Turn, ..EnvSpec::local() };
    let found = FoundSandbox {
        sandbox: SandboxId::new("box"),
        env: EnvId::new("orphan"),
        name: "orphan".to_owned(),
        generation: Generation(1),
        state: SandboxState::Running,
        spec: Some(Box::new(spec)),
        persistence: Persistence::Ephemeral,
        origin: Origin::Managed,
        conversation: None,
        watched: None,
    };
    world.event(Event::Snapshot { endpoint: EndpointId::new("local"), found: vec![found] });
}

#[test]
fn an_end_that_is_decided_counts_down_to_itself() {
    let mut world = World::new(120, 40);
    orphan(&mut world);
    assert_eq!(state(&world, "orphan"), RowState::Countdown { left_ms: 60_000, total_ms: 300_000, warned: false });
    assert!(world.view().status.facts.contains(&"next reap 1:00".to_owned()), "{:?}", world.view().status.facts);
    world.pass(Span::seconds(59));
    assert!(matches!(state(&world, "orphan"), RowState::Countdown { left_ms: 1000, .. }));
    world.pass(Span::seconds(1));
    assert!(world.names().is_empty(), "it ends when its countdown does");
}

#[test]
fn what_is_paused_is_not_the_next_to_be_reaped() {
    let mut world = World::new(120, 40);
    named(&mut world, "a", EnvSpec::local());
    let sandbox = world.model.state.environments[&world.env()].sandbox.clone().expect("its sandbox");
    world.event(Event::SandboxPaused { sandbox, endpoint: EndpointId::new("local"), paused: true });
    assert_eq!(state(&world, "a"), RowState::Word("paused".to_owned()));
    assert!(!world.view().status.facts.iter().any(|f| f.contains("next reap")), "{:?}", world.view().status.facts);
}

#[test]
fn a_next_try_is_announced_only_where_there_is_one() {
    let mut world = World::new(120, 40);
    world.slow = true;
    named(&mut world, "a", EnvSpec::local());
    world.event(Event::ProvisionFailed {
        env: world.env(),
        generation: Generation(1),
        kind: FailureKind::Temporary,
        message: "no space left".to_owned(),
        hint: "free some".to_owned(),
    });
    assert_eq!(state(&world, "a"), RowState::Word("failed".to_owned()), "nobody holds it");
    world.request(Request::Pin(world.env()));
    assert_eq!(state(&world, "a"), RowState::Word("failed · retry 0:05".to_owned()));
}
