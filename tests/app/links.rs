//! Links: where one leads is seen before its address is copied.

use crate::world::{CLIENT, World};
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use hermes_tui::app::view_model::{Mode, Overlay};
use hermes_tui::app::{Cmd, Msg};

const TRICK: &str = "see \x1b]8;;https://bank.example@evil.org/p\u{430}th\x07https://bank.example\x1b]8;;\x07 now";

fn mouse(world: &mut World, kind: MouseEventKind, x: u16, y: u16) {
    let mouse = MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE };
    world.msg(Msg::Mouse { client: CLIENT, mouse });
}

fn link(world: &World) -> Option<String> {
    world.focused(|p| p.link.clone())
}

fn copied(world: &World) -> Vec<String> {
    let text = |c: &Cmd| if let Cmd::Clipboard { text, .. } = c { Some(text.clone()) } else { None };
    world.others.iter().filter_map(text).collect()
}

#[test]
fn the_mouse_over_a_link_shows_where_it_leads_and_the_right_button_copies_that() {
    let mut world = World::with_shell();
    let session = world.session();
    world.output(&session, TRICK);
    let inner = world.focused(|p| p.inner);
    let (x, y) = (inner.x + 8, inner.y);
    assert_eq!(link(&world), None);
    mouse(&mut world, MouseEventKind::Moved, x, y);
    let address = "https://bank.example@evil.org/p%D0%B0th";
    assert_eq!(link(&world).as_deref(), Some(address));
    mouse(&mut world, MouseEventKind::Down(MouseButton::Right), x, y);
    assert_eq!(copied(&world), [address]);
    // Another link comes under the mouse: it is shown at once.
    world.output(&session, "\r\x1b]8;;https://other.org\x07................\x1b]8;;\x07");
    assert_eq!(link(&world).as_deref(), Some("https://other.org"));
    world.output(&session, "\x1b[2J");
    assert_eq!(link(&world), None);
    mouse(&mut world, MouseEventKind::Down(MouseButton::Right), x, y);
    assert_eq!(copied(&world).len(), 1);
    world.output(&session, &format!("\x1b[H{TRICK}"));
    mouse(&mut world, MouseEventKind::Moved, x, y);
    assert!(link(&world).is_some());
    world.keys("C-b c");
    assert_eq!(link(&world), None, "another tab is under the mouse");
    mouse(&mut world, MouseEventKind::Moved, 2, 2);
    world.keys("C-b p");
    assert_eq!(link(&world), None);
}

#[test]
fn a_link_is_shown_while_its_program_prints_on() {
    let mut world = World::with_shell();
    let session = world.session();
    world.output(&session, TRICK);
    let inner = world.focused(|p| p.inner);
    mouse(&mut world, MouseEventKind::Moved, inner.x + 8, inner.y);
    world.output(&session, "\r\nmore");
    let printed = hermes_tui::app::printed(&world.model, world.now, CLIENT);
    assert!(printed.is_none(), "only what programs print would be drawn over it");
}

#[test]
fn links_in_sight_are_listed_and_shown_in_full_before_they_are_copied() {
    let mut world = World::with_shell();
    let session = world.session();
    world.keys("C-b u");
    assert!(world.toasts().contains("no links are in sight"), "{}", world.toasts());
    world.output(&session, TRICK);
    world.keys("C-b u");
    let Some(Overlay::Dialog { text, .. }) = world.overlay() else { panic!("a dialog") };
    let address = "https://bank.example@evil.org/p%D0%B0th";
    assert_eq!(text, ["\u{201c}https://bank.example\u{201d} leads to evil.org", address]);
    world.keys("esc");
    assert_eq!(copied(&world), [""; 0]);
    world.output(&session, "\r\n\x1b]8;;https://docs.example.org/a\x07docs\x1b]8;;\x07");
    world.keys("C-b u");
    let Some(Overlay::Palette { title, rows, .. }) = world.overlay() else { panic!("a list") };
    assert_eq!(title, "links in sight");
    assert!(rows[0].0.contains("evil.org") && rows[1] == ("https://docs.example.org/a".into(), "docs".into(), true));
    world.typed("docs");
    world.keys("enter");
    assert!(matches!(world.overlay(), Some(Overlay::Dialog { .. })));
    world.keys("y");
    assert_eq!(copied(&world), ["https://docs.example.org/a"]);
}

#[test]
fn copy_mode_shows_the_link_under_its_cursor_and_keeps_its_place() {
    let mut world = World::with_shell();
    let session = world.session();
    world.output(&session, TRICK);
    world.keys("C-b [ 0");
    assert_eq!(link(&world), None);
    world.keys("w");
    assert!(link(&world).is_some_and(|link| link.contains("@evil.org")));
    world.keys("C-b u");
    assert!(matches!(world.overlay(), Some(Overlay::Dialog { .. })));
    world.keys("esc");
    assert_eq!(world.mode(), Mode::Copy);
}
