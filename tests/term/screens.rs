//! What is on the screen.

use crate::support::{feed, reply, screen, shown};
use hermes_tui::domain::Size;
use hermes_tui::term::{Attrs, Color, CursorShape, MouseEncoding, MouseTracking, Screen, Style, Underline};
use unicode_width::UnicodeWidthStr;

fn style_at(screen: &Screen, row: u16, col: u16) -> Style {
    let mut found = None;
    screen.view().for_each_cell(|r, c, cell| {
        if (r, c) == (row, col) {
            found = Some(cell.style);
        }
    });
    found.unwrap()
}

/// Each cell's text measures its width, and the widths of a row add up to the columns.
fn assert_measured(screen: &Screen) {
    let view = screen.view();
    let mut sums = vec![0u16; view.rows().into()];
    view.for_each_cell(|row, col, cell| {
        assert_eq!(sums[usize::from(row)], col);
        assert_eq!(cell.text.width(), usize::from(cell.width), "{:?} in row {row}, column {col}", cell.text);
        sums[usize::from(row)] += u16::from(cell.width);
    });
    assert!(sums.iter().all(|sum| *sum == view.cols()), "{sums:?}");
}

#[test]
fn text_and_cursor_land_where_the_program_put_them() {
    let mut screen = screen(3, 10);
    let fed = feed(&mut screen, "one\r\n\x1b[31mtwo\x1b[0m\x1b[3;5Hx");
    assert!(fed.changed);
    assert_eq!(screen.text(), "one\ntwo\n    x");
    assert_eq!(screen.ansi(), "one\n\x1b[0;31mtwo\x1b[0m\n    x");
    let cursor = screen.cursor().unwrap();
    assert_eq!((cursor.row, cursor.col), (2, 5));
    assert_eq!(reply(&mut screen, "\x1b[6n"), "\x1b[3;6R");
}

#[test]
fn the_cursor_report_the_cells_and_the_border_agree_on_clusters() {
    for (cluster, columns) in [
        ("\u{26a0}\u{fe0f}", 1),                            // warning sign with VS16
        ("1\u{fe0f}\u{20e3}", 1),                           // keycap
        ("\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}", 3),          // flag, ZWJ, rainbow
        ("\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}", 6), // family
        ("\u{1f1e9}\u{1f1ea}", 2),                          // regional indicators
        ("\u{1f44d}\u{1f3fd}", 4),                          // skin tone
        ("\u{231a}\u{fe0e}", 2),                            // watch as text
        ("e\u{301}\u{323}", 1),
        ("漢", 2),
        ("\u{1112}\u{1161}\u{11ab}", 2), // conjoining Hangul
    ] {
        let mut screen = screen(2, 20);
        assert_eq!(reply(&mut screen, &format!("{cluster}\x1b[6n")), format!("\x1b[1;{}R", columns + 1), "{cluster:?}");
        feed(&mut screen, "|");
        assert_measured(&screen);
        let mut border = None;
        screen.view().for_each_in_row(0, |col, cell| {
            if cell.text == "|" {
                border = Some(col);
            }
        });
        assert_eq!(border, Some(columns), "{cluster:?}");
        assert_eq!(screen.text(), format!("{cluster}|"), "what was written can be copied whole");
    }
}

#[test]
fn marks_are_drawn_and_bounded_and_never_make_blank_cells() {
    let mut screen = screen(3, 20);
    feed(&mut screen, " \u{361}");
    assert_eq!(shown(&screen)[0], " \u{361}");
    let before = screen.memory_bytes();
    let accents = "e\u{301}".repeat(1000) + "\r\n" + &format!("a{}", "\u{301}".repeat(500_000));
    feed(&mut screen, &accents);
    feed(&mut screen, &"\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466}".repeat(2000));
    assert!(screen.blocked().marks > 490_000);
    assert!(screen.memory_bytes() < before + (8 << 20));
    assert_eq!(screen.dead(), None);
    assert_measured(&screen);
    assert!(shown(&screen)[..2].iter().all(|row| row.width() >= 19), "{:?}", shown(&screen));
}

#[test]
fn half_of_a_wide_character_that_was_written_over_is_blank() {
    let mut screen = screen(2, 8);
    feed(&mut screen, "漢字\x1b[1;2Hx\x1b[1;4H");
    assert_measured(&screen);
    assert_eq!(shown(&screen)[0], " x字");
    feed(&mut screen, "\x1b[1;4H\x1b[1P");
    assert_measured(&screen);
}

#[test]
fn colours_and_modifiers_come_in_plain_types() {
    let mut screen = screen(2, 20);
    feed(&mut screen, "\x1b[1;2;3;7;8;9;4:3;38;2;1;2;3;48;5;200;58:2::9:8:7ma\x1b[0;91;102mb\x1b[0mc");
    let a = style_at(&screen, 0, 0);
    for attr in [Attrs::BOLD, Attrs::DIM, Attrs::ITALIC, Attrs::INVERSE, Attrs::HIDDEN, Attrs::STRIKE] {
        assert!(a.attrs.contains(attr), "{attr:?}");
    }
    assert_eq!((a.fg, a.bg), (Color::Rgb(1, 2, 3), Color::Indexed(200)));
    assert_eq!((a.underline, a.underline_color), (Underline::Curly, Some(Color::Rgb(9, 8, 7))));
    let b = style_at(&screen, 0, 1);
    assert_eq!((b.fg, b.bg, b.attrs.is_empty()), (Color::Indexed(9), Color::Indexed(10), true));
    assert_eq!(style_at(&screen, 0, 2), Style::default());
    feed(&mut screen, "\x1b]4;9;rgb:11/22/33\x07");
    assert_eq!(style_at(&screen, 0, 1).fg, Color::Rgb(0x11, 0x22, 0x33));
    feed(&mut screen, "\x1bc\x1b[91mb");
    assert_eq!(style_at(&screen, 0, 0).fg, Color::Indexed(9), "a reset takes the palette back");
}

#[test]
fn ansi_text_gives_the_same_screen_again() {
    let mut first = screen(4, 30);
    feed(
        &mut first,
        "\x1b[1;38;5;200mbold\x1b[0m plain \x1b[4:3;58:5:3mwavy \x1b[44m\r\n  on blue  \x1b[0m\r\n\r\n漢\x1b[7m字",
    );
    let mut second = screen(4, 30);
    feed(&mut second, &first.ansi().replace('\n', "\r\n"));
    assert_eq!(first.ansi(), second.ansi());
    assert_eq!(first.text(), second.text());
}

#[test]
fn modes_are_reported_as_the_program_set_them() {
    let mut screen = screen(4, 20);
    feed(&mut screen, "\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[?1002h\x1b[?1006h\x1b[20h");
    let modes = screen.modes();
    assert!(modes.app_cursor && modes.app_keypad && modes.bracketed_paste && modes.focus_events && modes.newline);
    assert_eq!((modes.mouse, modes.mouse_encoding), (MouseTracking::Drag, MouseEncoding::Sgr));
    feed(&mut screen, "\x1b[?1003h");
    assert_eq!(screen.modes().mouse, MouseTracking::Motion);
    feed(&mut screen, "\x1bc");
    assert_eq!(screen.modes(), hermes_tui::term::Modes { alternate_scroll: true, ..Default::default() });
}

#[test]
fn keyboard_flags_stack_for_each_screen_and_survive_floods() {
    let mut screen = screen(4, 20);
    assert_eq!(reply(&mut screen, "\x1b[?u"), "\x1b[?0u");
    assert_eq!(reply(&mut screen, "\x1b[>5u\x1b[?u"), "\x1b[?5u");
    assert_eq!(reply(&mut screen, "\x1b[=2;2u\x1b[?u"), "\x1b[?7u");
    assert_eq!(reply(&mut screen, "\x1b[=1;3u\x1b[?u"), "\x1b[?6u");
    assert_eq!(reply(&mut screen, "\x1b[?1049h\x1b[?u\x1b[>1u\x1b[?u"), "\x1b[?0u\x1b[?1u");
    assert_eq!(reply(&mut screen, "\x1b[?1049l\x1b[?u"), "\x1b[?6u");
    assert_eq!(reply(&mut screen, "\x1b[<u\x1b[?u\x1b[<99u\x1b[?u"), "\x1b[?0u\x1b[?0u");
    feed(&mut screen, &"\x1b[>1u".repeat(10_000));
    assert_eq!(screen.dead(), None);
    assert_eq!(screen.modes().kitty.0, 1);
    assert_eq!(reply(&mut screen, "\x1b[>4;2m\x1b[?4m"), "\x1b[>4;2m");
}

#[test]
fn the_cursor_has_its_shape_and_can_be_hidden() {
    let mut screen = screen(4, 20);
    feed(&mut screen, "\x1b[5 q");
    let cursor = screen.cursor().unwrap();
    assert_eq!((cursor.shape, cursor.blinking), (CursorShape::Bar, true));
    feed(&mut screen, "\x1b[?25l");
    assert_eq!(screen.cursor(), None);
    feed(&mut screen, "\x1b[?25h\x1b[4 q");
    assert_eq!(screen.cursor().unwrap().shape, CursorShape::Underline);
    feed(&mut screen, &"\r\n".repeat(10));
    screen.scroll(3);
    assert_eq!(screen.view().cursor(), None, "scrolled out of sight");
    assert_eq!(screen.view_at(0).cursor().unwrap().row, 3);
}

#[test]
fn a_feed_that_draws_nothing_does_not_call_for_a_frame() {
    let mut screen = screen(4, 20);
    assert!(!feed(&mut screen, "\x1b]7;file://h/tmp\x07").changed);
    assert!(!feed(&mut screen, "\x1b[").changed);
    assert!(feed(&mut screen, "5C").changed);
    screen.resize(Size { rows: 5, cols: 20 });
}

#[test]
fn programs_are_told_the_colours_only_when_they_are_known() {
    let mut screen = screen(4, 20);
    assert_eq!(reply(&mut screen, "\x1b]11;?\x07"), "");
    screen.set_theme((255, 255, 255), (16, 32, 48));
    assert_eq!(reply(&mut screen, "\x1b]11;?\x07"), "\x1b]11;rgb:1010/2020/3030\x07");
    assert_eq!(reply(&mut screen, "\x1b]10;?\x1b\\"), "\x1b]10;rgb:ffff/ffff/ffff\x1b\\");
    assert_eq!(reply(&mut screen, "\x1b]4;1;?\x07"), "\x1b]4;1;rgb:cdcd/0000/0000\x07");
}
