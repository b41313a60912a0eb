//! The mouse: focus, borders, selection, wheel, and programs that ask for it.

use crate::world::{CLIENT, World};
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use hermes_tui::app::view_model::{Area, Mode, PaneContent};
use hermes_tui::app::{Cmd, Msg};
use hermes_tui::domain::Span;
use hermes_tui::ui;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

fn mouse(world: &mut World, kind: MouseEventKind, x: u16, y: u16) {
    let mouse = MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE };
    world.msg(Msg::Mouse { client: CLIENT, mouse });
}

fn drag(world: &mut World, from: (u16, u16), to: (u16, u16)) {
    mouse(world, MouseEventKind::Down(MouseButton::Left), from.0, from.1);
    mouse(world, MouseEventKind::Drag(MouseButton::Left), to.0, to.1);
    mouse(world, MouseEventKind::Up(MouseButton::Left), to.0, to.1);
}

fn click(world: &mut World, x: u16, y: u16) {
    mouse(world, MouseEventKind::Down(MouseButton::Left), x, y);
    mouse(world, MouseEventKind::Up(MouseButton::Left), x, y);
}

fn area(world: &World, index: usize) -> Area {
    world.view().panes[index].area
}

fn copied(world: &World) -> Vec<String> {
    world
        .others
        .iter()
        .filter_map(|c| if let Cmd::Clipboard { text, .. } = c { Some(text.clone()) } else { None })
        .collect()
}

#[test]
fn a_click_focuses_a_pane_a_row_or_a_tab() {
    let mut world = World::with_shell();
    let left = world.session();
    world.keys("C-b %");
    let a = area(&world, 0);
    click(&mut world, a.x + 3, a.y + 3);
    assert_eq!(world.session(), left);
    click(&mut world, 5, 2);
    assert_eq!(world.mode(), Mode::Nav);
    click(&mut world, a.x + 3, a.y + 3);
    assert_eq!(world.mode(), Mode::Pane);
    world.keys("C-b c");
    let tabs = world.view().tabs_area;
    click(&mut world, tabs.x + 2, tabs.y);
    assert!(world.view().tabs[0].current);
}

#[test]
fn a_border_is_dragged() {
    let mut world = World::with_shell();
    world.keys("C-b %");
    let a = area(&world, 0);
    let border = a.x + a.width - 1;
    drag(&mut world, (border, 10), (border - 12, 10));
    assert_eq!(area(&world, 0).width, a.width - 12);
    assert!(copied(&world).is_empty());
}

#[test]
fn a_drag_selects_inside_its_pane_only_and_copies() {
    let mut world = World::with_shell();
    let session = world.session();
    world.keys("C-b % C-b h");
    world.output(&session, "hello world\r\nsecond line\r\n");
    let a = area(&world, 0);
    drag(&mut world, (a.x + 1, a.y + 1), (a.x + 5, a.y + 1));
    assert_eq!(copied(&world), ["hello"]);
    assert!(world.toasts().contains("copied 5 characters"));
    drag(&mut world, (a.x + 1, a.y + 1), (a.x + a.width + 20, a.y + 2));
    assert_eq!(copied(&world)[1].trim_end(), "hello world\nsecond line");
    world.typed("x");
    world.focused(|p| assert!(matches!(&p.content, PaneContent::Terminal { selection: None, .. })));
}

#[test]
fn a_double_click_takes_a_word_and_a_third_the_line() {
    let mut world = World::with_shell();
    let session = world.session();
    world.output(&session, "hello big world\r\n");
    let a = area(&world, 0);
    for _ in 0..3 {
        click(&mut world, a.x + 8, a.y + 1);
    }
    assert_eq!(copied(&world).iter().map(|t| t.trim_end()).collect::<Vec<_>>(), ["big", "hello big world"]);
    world.now = world.now + Span::seconds(1);
    click(&mut world, a.x + 8, a.y + 1);
    assert_eq!(copied(&world).len(), 2, "a click alone copies nothing");
}

#[test]
fn the_wheel_scrolls_history_or_sends_arrows_on_the_alternate_screen() {
    let mut world = World::with_shell();
    let session = world.session();
    let text: String = (0..100).map(|n| format!("{n}\r\n")).collect();
    world.output(&session, &text);
    let a = area(&world, 0);
    mouse(&mut world, MouseEventKind::ScrollUp, a.x + 5, a.y + 5);
    let offset =
        |w: &World| w.focused(|p| if let PaneContent::Terminal { offset, .. } = &p.content { *offset } else { 0 });
    assert_eq!(offset(&world), 3);
    mouse(&mut world, MouseEventKind::ScrollDown, a.x + 5, a.y + 5);
    assert_eq!((offset(&world), world.got(&session)), (0, String::new()));
    world.output(&session, "\x1b[?1049h");
    mouse(&mut world, MouseEventKind::ScrollUp, a.x + 5, a.y + 5);
    assert_eq!(world.got(&session), "\x1b[A\x1b[A\x1b[A");
}

#[test]
fn a_program_that_asked_for_the_mouse_gets_it_in_its_own_coordinates() {
    let mut world = World::with_shell();
    let session = world.session();
    world.output(&session, "\x1b[?1000h\x1b[?1006h");
    let a = area(&world, 0);
    click(&mut world, a.x + 1, a.y + 1);
    assert_eq!(world.got(&session), "\x1b[<0;1;1M\x1b[<0;1;1m");
    world.written.clear();
    let shifted = MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: a.x + 1,
        row: a.y + 1,
        modifiers: KeyModifiers::SHIFT,
    };
    world.msg(Msg::Mouse { client: CLIENT, mouse: shifted });
    assert_eq!(world.got(&session), "", "Shift belongs to the outer terminal");
}

#[test]
fn the_wheel_moves_in_the_sidebar() {
    let mut world = World::with_shell();
    let before = world.sidebar().selected;
    mouse(&mut world, MouseEventKind::ScrollUp, 5, 5);
    assert_ne!(world.sidebar().selected, before);
}

#[test]
fn a_click_finds_its_tab_also_where_not_all_are_in_sight() {
    let mut world = World::with_shell();
    for _ in 0..14 {
        world.keys("C-b c");
    }
    for number in [8, 12, 15] {
        world.keys("C-b w").typed(&format!("{number}:")).keys("Enter");
        for other in 1..=15 {
            let view = world.view();
            let area = Rect::new(0, 0, view.size.cols, view.size.rows);
            let mut buffer = Buffer::empty(area);
            ui::paint(&mut buffer, &view, &ui::Style::default());
            let y = view.tabs_area.y;
            let label: Vec<String> = format!(" {other}:").chars().map(String::from).collect();
            let signs: Vec<&str> = (0..area.width).map(|x| buffer[(x, y)].symbol()).collect();
            let from = usize::from(view.tabs_area.x);
            let Some(at) = signs[from..].windows(label.len()).position(|w| w.iter().eq(label.iter())) else { continue };
            drop(view);
            click(&mut world, u16::try_from(from + at).unwrap() + 1, y);
            let current = world.view().tabs.iter().find(|t| t.current).map(|t| t.number);
            assert_eq!(current, Some(other), "beside {number}");
            world.keys("C-b w").typed(&format!("{number}:")).keys("Enter");
        }
    }
}
