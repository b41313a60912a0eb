//! What is on the screen.

use crate::support::{feed, reply, screen, shown};
use hermes_tui::domain::Size;

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
fn the_line_on_top_stays_on_top_when_a_scrolled_screen_gets_wider() {
    let mut screen = screen(20, 40);
    for n in 1..=500 {
        feed(&mut screen, &format!("{n:04} {}\r\n", "X".repeat(70)));
    }
    while !shown(&screen)[0].starts_with("0439") {
        assert!(screen.scroll(1), "0439 is in the history");
    }
    screen.resize(Size { rows: 20, cols: 120 });
    assert!(shown(&screen)[0].starts_with("0439"), "{:?}", shown(&screen));
    screen.resize(Size { rows: 20, cols: 33 });
    assert!(shown(&screen)[0].starts_with("0439"), "{:?}", shown(&screen));
    screen.resize(Size { rows: 5, cols: 80 });
    assert!(shown(&screen)[0].starts_with("0439"), "{:?}", shown(&screen));
}
