//! Where the outer terminal's cursor is put, and what keeps clear of it.

use crate::scene::*;
use crate::{drawn, dump, shell_for};
use hermes_tui::app::view_model::*;
use hermes_tui::term::CursorShape;
use hermes_tui::ui::{Cursor, Style, cursor};
use ratatui::layout::Rect;

fn at(vm: &ViewModel<'_>) -> Option<(u16, u16)> {
    placed(vm).map(|cursor| (cursor.x, cursor.y))
}

fn placed(vm: &ViewModel<'_>) -> Option<Cursor> {
    cursor(Rect::new(0, 0, vm.size.cols, vm.size.rows), vm, &Style::default())
}

#[test]
fn the_focused_program_shows_its_cursor_only_in_pane_mode() {
    let shell = screen(50, 20, "ab\x1b[5 q");
    let mut vm = with_shell(80, 24, &shell);
    let inner = vm.panes[0].inner;
    assert_eq!(placed(&vm), Some(Cursor { x: inner.x + 2, y: inner.y, shape: CursorShape::Bar, blinking: true }));
    for mode in [Mode::Nav, Mode::Leader, Mode::Overlay] {
        vm.mode = mode;
        assert_eq!(at(&vm), None, "{mode:?}");
    }
    vm.mode = Mode::Pane;
    vm.panes[0].focused = false;
    assert_eq!(at(&vm), None);
}

#[test]
fn no_cursor_where_the_program_hides_it_or_has_ended_or_it_is_scrolled_away() {
    let hidden = screen(50, 20, "ab\x1b[?25l");
    assert_eq!(at(&with_shell(80, 24, &hidden)), None);

    let shell = screen(50, 3, &"line\r\n".repeat(30));
    let mut vm = with_shell(80, 24, &shell);
    assert!(at(&vm).is_some());
    if let PaneContent::Terminal { offset, .. } = &mut vm.panes[0].content {
        *offset = 10;
    }
    assert_eq!(at(&vm), None);
    if let PaneContent::Terminal { offset, dim, .. } = &mut vm.panes[0].content {
        *offset = 0;
        *dim = true;
    }
    assert_eq!(at(&vm), None);
}

#[test]
fn copy_mode_shows_its_own_cursor() {
    let shell = screen(50, 20, "some text\x1b[?25l");
    let mut vm = with_shell(80, 24, &shell);
    vm.mode = Mode::Copy;
    let inner = vm.panes[0].inner;
    if let PaneContent::Terminal { copy_cursor, .. } = &mut vm.panes[0].content {
        *copy_cursor = Some((4, 7));
    }
    assert_eq!(at(&vm), Some((inner.x + 4, inner.y + 7)));
}

#[test]
fn inputs_show_the_cursor_behind_what_is_typed() {
    let shell = shell_for(80, 24);
    let mut vm = with_shell(80, 24, &shell);
    vm.mode = Mode::Overlay;
    let inputs = [
        (palette(), "› sp", 4),
        (Overlay::Prompt { title: "t".into(), input: "研究x".into(), cursor: 5, problem: None }, "研究x", 5),
    ];
    for (overlay, shown, columns) in inputs {
        vm.overlay = Some(overlay);
        let (x, y) = at(&vm).expect("a cursor");
        let buf = drawn(&vm, &Style::default());
        let line = &dump::lines(&buf)[usize::from(y)];
        let before = line.split(shown).next().expect("a line");
        let begins = before.chars().count() as u16;
        assert!(line.contains(shown), "{line}");
        assert_eq!(x, begins + columns, "{line}");
    }
    vm.overlay = Some(dialog());
    assert_eq!(at(&vm), None);
}

#[test]
fn a_long_input_keeps_its_cursor_in_sight() {
    let shell = shell_for(40, 12);
    let mut vm = with_shell(40, 12, &shell);
    vm.mode = Mode::Overlay;
    let input = "0123456789".repeat(8);
    vm.overlay = Some(Overlay::Prompt { title: "t".into(), input, cursor: 75, problem: None });
    let (x, y) = at(&vm).expect("a cursor");
    let buf = drawn(&vm, &Style::default());
    assert_eq!(buf[(x - 1, y)].symbol(), "4", "the 75th character stands before the cursor");
}

#[test]
fn messages_keep_off_the_line_of_the_cursor() {
    for row in 0..20 {
        let text = format!("\x1b[{};40H", row + 1);
        let shell = screen(50, 20, &text);
        let mut vm = with_shell(80, 24, &shell);
        vm.notices = toasts()[1..3].to_vec();
        let (_, y) = at(&vm).expect("a cursor");
        let buf = drawn(&vm, &Style::default());
        assert!(dump::text(&buf).contains("copied 3 lines"));
        let covered = (31..80).any(|x| buf[(x, y)].symbol() == "▌");
        assert!(!covered, "line {y}:\n{}", dump::text(&buf));
    }
}

#[test]
fn a_wide_character_at_the_edge_is_left_out_and_nothing_reaches_over_the_border() {
    let shell = screen(60, 3, &"日本語".repeat(10));
    let mut vm = frame(80, 24);
    vm.panes = vec![pane(area(30, 1, 9, 5), "", true, &shell), pane(area(38, 1, 9, 5), "", false, &shell)];
    let lines = dump::lines(&drawn(&vm, &Style::default()));
    // Seven columns: three wide characters and a blank.
    assert!(lines[2].ends_with("│日本語 │日本語 │"), "{}", lines[2]);
}
