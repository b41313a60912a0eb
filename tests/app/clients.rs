//! Several terminals look at one host: tabs are shared, focus, mode, scroll and overlays are not.

use crate::world::{CLIENT, World};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hermes_tui::app::view_model::{Mode, Overlay, PaneContent, ViewModel};
use hermes_tui::app::{ClientCaps, ClientId, Msg, Role, view_model};
use hermes_tui::domain::Size;

const OTHER: ClientId = ClientId(2);

fn two() -> World {
    let mut world = World::with_shell();
    world.keys("C-b %");
    let caps = ClientCaps { colours: 16, unicode: false };
    world.msg(Msg::ClientAttached { client: OTHER, size: Size { rows: 24, cols: 80 }, caps, role: Role::Guest });
    world
}

fn other(world: &World) -> ViewModel<'_> {
    view_model(&world.model, world.now, OTHER)
}

fn press(world: &mut World, c: char) {
    let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
    world.msg(Msg::Key { client: OTHER, key });
}

#[test]
fn each_has_its_own_focus_mode_and_overlay() {
    let mut world = two();
    world.keys("C-b left C-b ?");
    assert_eq!((world.mode(), other(&world).mode), (Mode::Overlay, Mode::Pane));
    assert!(other(&world).overlay.is_none());
    world.keys("Esc C-b h");
    let focused = |view: &ViewModel<'_>| view.panes.iter().position(|p| p.focused);
    assert_eq!((focused(&world.view()), focused(&other(&world))), (Some(0), Some(1)));
    world.keys("C-b l");
    world.msg(Msg::Key { client: OTHER, key: KeyEvent::new(KeyCode::Char('b'), KeyModifiers::CONTROL) });
    press(&mut world, 'o');
    assert_eq!((focused(&world.view()), focused(&other(&world))), (Some(1), Some(0)));
    assert_eq!(world.view().tabs.len(), other(&world).tabs.len());
}

#[test]
fn a_terminal_of_any_size_is_served_and_costs_no_more_than_a_large_one() {
    let mut world = two();
    for size in [Size { rows: u16::MAX, cols: u16::MAX }, Size { rows: 0, cols: 0 }, Size { rows: 24, cols: 80 }] {
        world.msg(Msg::ClientResized { client: OTHER, size });
        let shown = other(&world).size;
        assert!(
            (1..=Size::MOST.rows).contains(&shown.rows) && (1..=Size::MOST.cols).contains(&shown.cols),
            "{shown:?}"
        );
    }
    assert_eq!(other(&world).size, Size { rows: 24, cols: 80 });
}

#[test]
fn a_terminal_begins_where_the_one_that_was_used_last_is() {
    let mut world = two();
    world.keys("C-b c C-b 1 C-b left C-b right");
    let place = |world: &World, client| {
        let tab = world.model.tab_of(client).map(|tab| tab.id);
        (tab, world.model.focused_pane(client))
    };
    let used = place(&world, CLIENT);
    for client in [CLIENT, OTHER] {
        world.msg(Msg::ClientDetached(client));
    }
    let caps = ClientCaps { colours: 16, unicode: false };
    world.msg(Msg::ClientAttached { client: OTHER, size: Size { rows: 24, cols: 80 }, caps, role: Role::Guest });
    assert_eq!((place(&world, OTHER), other(&world).mode), (used, Mode::Pane));
    // Who only looks leaves no trace.
    world.msg(Msg::ClientDetached(OTHER));
    let reads = Msg::ClientAttached { client: CLIENT, size: Size { rows: 24, cols: 80 }, caps, role: Role::Reader };
    world.msg(reads);
    world.keys("C-b 2");
    assert_ne!(place(&world, CLIENT), used);
    world.msg(Msg::ClientDetached(CLIENT));
    world.msg(Msg::ClientAttached { client: OTHER, size: Size { rows: 24, cols: 80 }, caps, role: Role::Guest });
    assert_eq!(place(&world, OTHER), used);
}

#[test]
fn the_size_of_the_last_one_that_did_something_counts() {
    let mut world = two();
    let cols = |world: &World| {
        let session = world.session();
        world.sizes[&session].cols
    };
    let narrow = cols(&world);
    press(&mut world, 'x');
    assert_eq!(cols(&world), narrow, "it attached last, so it counted already");
    world.typed("y");
    assert!(cols(&world) > narrow);
    world.msg(Msg::ClientDetached(CLIENT));
    assert!(world.model.clients.contains_key(&OTHER));
    let pane = other(&world).panes[0].inner;
    let PaneContent::Terminal { screen, .. } = &other(&world).panes[0].content else { panic!("a terminal") };
    assert_eq!(screen.size(), Size { rows: pane.height, cols: pane.width });
}

#[test]
fn scrolling_is_each_ones_own() {
    let mut world = two();
    let session = world.session();
    let text: String = (0..100).map(|n| format!("{n}\r\n")).collect();
    world.output(&session, &text);
    world.keys("C-b [ g");
    let offsets = |view: &ViewModel<'_>| -> Vec<usize> {
        let offset = |p: &hermes_tui::app::view_model::Pane<'_>| match &p.content {
            PaneContent::Terminal { offset, .. } => *offset,
            _ => 0,
        };
        view.panes.iter().map(offset).collect()
    };
    assert!(offsets(&world.view())[1] > 0);
    assert_eq!(offsets(&other(&world)), [0, 0]);
}

#[test]
fn with_nobody_there_everything_runs_on() {
    let mut world = two();
    let session = world.session();
    world.msg(Msg::ClientDetached(CLIENT));
    world.msg(Msg::ClientDetached(OTHER));
    world.output(&session, "still here");
    assert!(world.model.work.screens[&session].text().contains("still here"));
    assert_eq!(world.model.next_timer(world.now), None);
    let caps = ClientCaps { colours: 16, unicode: true };
    world.msg(Msg::ClientAttached { client: CLIENT, size: Size { rows: 30, cols: 100 }, caps, role: Role::Guest });
    assert_eq!((world.mode(), world.view().panes.len()), (Mode::Pane, 2));
}

#[test]
fn who_only_looks_sees_details_and_changes_no_deadline() {
    let mut world = World::with_shell();
    let caps = ClientCaps { colours: 16, unicode: true };
    world.msg(Msg::ClientAttached { client: OTHER, size: Size { rows: 24, cols: 80 }, caps, role: Role::Reader });
    let lead = |world: &mut World, c: char| {
        world.msg(Msg::Key { client: OTHER, key: KeyEvent::new(KeyCode::Char('b'), KeyModifiers::CONTROL) });
        press(world, c);
    };
    let deadline = |world: &World| world.model.state.environments[&world.env()].deadline;
    let before = deadline(&world);
    lead(&mut world, 'e');
    assert!(matches!(other(&world).overlay, Some(Overlay::Explain { .. })));
    press(&mut world, '+');
    assert_eq!(deadline(&world), before, "it was extended by one who only looks");
    assert!(other(&world).notices.iter().any(|n| n.text.contains("read-only")));
    press(&mut world, 'q');
    lead(&mut world, 'i');
    assert!(matches!(other(&world).overlay, Some(Overlay::Details { .. })));
}
