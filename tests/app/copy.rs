//! Copy mode, search, scrolling.

use crate::world::{CLIENT, World};
use hermes_tui::app::view_model::{Mode, PaneContent};
use hermes_tui::app::{Cmd, Msg};
use hermes_tui::domain::Size;

fn with_lines(count: usize) -> World {
    let mut world = World::with_shell();
    let session = world.session();
    let text: String = (0..count).map(|n| format!("line {n:03} alpha-beta gamma\r\n")).collect();
    world.output(&session, &text);
    world
}

fn cursor(world: &World) -> (u16, u16) {
    world.focused(|p| match &p.content {
        PaneContent::Terminal { copy_cursor, .. } => copy_cursor.expect("copy mode"),
        _ => panic!("a terminal"),
    })
}

fn offset(world: &World) -> usize {
    world
        .focused(|p| if let PaneContent::Terminal { offset, .. } = &p.content { *offset } else { panic!("a terminal") })
}

fn top_line(world: &World) -> String {
    world.focused(|p| {
        let PaneContent::Terminal { screen, offset, .. } = &p.content else { panic!("a terminal") };
        let mut text = String::new();
        screen.view_at(*offset).for_each_in_row(0, |_, cell| text.push_str(cell.text));
        text.trim_end().to_owned()
    })
}

fn copied(world: &World) -> Vec<String> {
    world
        .others
        .iter()
        .filter_map(|c| if let Cmd::Clipboard { text, .. } = c { Some(text.clone()) } else { None })
        .collect()
}

#[test]
fn motions_marks_and_yank() {
    let mut world = with_lines(5);
    world.keys("C-b [");
    assert_eq!(world.mode(), Mode::Copy);
    world.keys("k 0 v w w y");
    assert_eq!(world.mode(), Mode::Pane);
    assert_eq!(copied(&world), ["line 004 a"]);
    assert!(world.toasts().contains("copied 10 characters"), "{}", world.toasts());
    world.keys("C-b [ k k V k y");
    assert_eq!(copied(&world)[1].trim_end(), "line 002 alpha-beta gamma\nline 003 alpha-beta gamma");
    world.keys("C-b [ k 0 C-v k l l l y");
    assert_eq!(copied(&world)[2], "line\nline");
    world.keys("C-b ]");
    assert_eq!(world.got(&world.session()), "line\rline", "what was copied last is pasted");
}

#[test]
fn words_lines_and_ends() {
    let mut world = with_lines(3);
    world.keys("C-b [ k 0 w w");
    assert_eq!(cursor(&world).0, 9);
    world.keys("e");
    assert_eq!(cursor(&world).0, 13);
    world.keys("b");
    assert_eq!(cursor(&world).0, 9);
    world.keys("$");
    assert_eq!(cursor(&world).0, 24);
    world.keys("h h ^");
    assert_eq!(cursor(&world).0, 0);
    world.keys("b");
    assert_eq!(cursor(&world).0, 20, "the last word of the line before");
    world.keys("q");
    assert_eq!(world.mode(), Mode::Pane);
}

#[test]
fn the_view_follows_the_cursor_into_the_history_and_output_does_not_move_it() {
    let mut world = with_lines(200);
    let session = world.session();
    world.keys("C-b [ g");
    assert_eq!(top_line(&world), "line 000 alpha-beta gamma");
    assert!(world.focused(|p| p.marks.iter().any(|m| m.starts_with('['))));
    world.output(&session, "more\r\nmore\r\nmore\r\n");
    assert_eq!(top_line(&world), "line 000 alpha-beta gamma");
    world.keys("C-d C-d C-u");
    assert_eq!(cursor(&world).1, 17, "line 18, with line 1 on top");
    world.keys("Esc");
    assert_eq!((world.mode(), offset(&world)), (Mode::Pane, 0));
}

#[test]
fn page_up_after_the_leader_is_the_way_in_and_the_first_motion() {
    let mut world = with_lines(200);
    world.keys("C-b pgup");
    assert_eq!(world.mode(), Mode::Copy);
    let top = top_line(&world);
    world.keys("pgup");
    assert_ne!(top_line(&world), top);
    world.keys("q");
    assert_eq!(offset(&world), 0);
}

#[test]
fn search_goes_both_ways_and_wraps() {
    let mut world = with_lines(100);
    world.keys("C-b [ ?").typed("line 042").keys("Enter");
    let row = cursor(&world).1;
    assert!(world.toasts().contains("1 of 1"), "{}", world.toasts());
    assert_eq!(cursor(&world).0, 0);
    world.keys("/").typed("beta").keys("Enter");
    assert_eq!(cursor(&world), (15, row));
    world.keys("n");
    assert_eq!(cursor(&world), (15, row + 1));
    world.keys("N N");
    assert_eq!(cursor(&world).0, 15);
    assert_eq!(top_line(&world), "line 041 alpha-beta gamma");
    world.keys("/").typed("no such thing").keys("Enter");
    assert!(world.toasts().contains("is not in this text"));
    world.keys("Esc");
    assert_eq!(world.mode(), Mode::Pane);
}

#[test]
fn the_cursor_survives_lines_that_are_shed_below_it() {
    let options = hermes_tui::config::load("[history]\nlines = 50\n").unwrap().options;
    let mut world = World::with(options, 120, 40);
    world.keys("n");
    let session = world.session();
    let text: String = (0..100).map(|n| format!("line {n}\r\n")).collect();
    world.output(&session, &text);
    world.keys("C-b [ g w");
    for n in 0..10 {
        world.output(&session, &format!("more {n}\r\n").repeat(10));
    }
    world.keys("b b w e k ^ $ j");
    assert_eq!(world.mode(), Mode::Copy);
    assert_eq!(cursor(&world).1, 1, "on the second of the lines that are left");
}

#[test]
fn esc_drops_the_mark_first() {
    let mut world = with_lines(3);
    world.keys("C-b [ v Esc");
    assert_eq!(world.mode(), Mode::Copy);
    world.keys("Esc");
    assert_eq!(world.mode(), Mode::Pane);
    assert_eq!(world.got(&world.session()), "");
}

#[test]
fn a_resize_ends_copy_mode_but_keeps_the_readers_place() {
    let mut world = World::new(90, 24);
    world.keys("n");
    let session = world.session();
    let text: String = (0..300).map(|n| format!("{n:04} {}\r\n", "x".repeat(66))).collect();
    world.output(&session, &text);
    world.keys("C-b [ g C-d C-d");
    world.keys("q");
    let wheel = |world: &mut World, count: usize| {
        for _ in 0..count {
            let mouse = crossterm::event::MouseEvent {
                kind: crossterm::event::MouseEventKind::ScrollUp,
                column: 50,
                row: 10,
                modifiers: crossterm::event::KeyModifiers::NONE,
            };
            world.msg(Msg::Mouse { client: CLIENT, mouse });
        }
    };
    wheel(&mut world, 30);
    let before = top_line(&world);
    let number = |line: &str| line[..4].to_owned();
    world.msg(Msg::ClientResized { client: CLIENT, size: Size { rows: 24, cols: 140 } });
    let after = top_line(&world);
    assert!(before.starts_with(char::is_numeric) || after.starts_with(char::is_numeric), "{before} / {after}");
    if before.starts_with(char::is_numeric) {
        assert_eq!(number(&before), number(&after));
    }
    assert!(offset(&world) > 0);
    world.typed("x");
    assert_eq!(offset(&world), 0, "typing shows the end again");
}

#[test]
fn the_agent_pane_has_no_copy_mode_and_says_so() {
    let mut world = World::new(120, 40);
    world.begin_turn("talk", "x", hermes_tui::domain::EnvSpec::local());
    world.keys("C-b a C-b [");
    assert_eq!(world.mode(), Mode::Agent);
    assert!(world.toasts().contains("agent pane"), "{}", world.toasts());
}
