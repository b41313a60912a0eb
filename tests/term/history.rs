//! History, scrolling, resizing.

use crate::support::{NOW, feed, screen, shown};
use hermes_tui::domain::Size;
use hermes_tui::term::Screen;

fn size(rows: u16, cols: u16) -> Size {
    Size { rows, cols }
}

fn numbered(screen: &mut Screen, count: usize) {
    for n in 1..=count {
        feed(screen, &format!("{n:04} {}\r\n", "X".repeat(70)));
    }
}

fn scroll_until_on_top(screen: &mut Screen, text: &str) {
    while !shown(screen)[0].starts_with(text) {
        assert!(screen.scroll(1), "{text} is not in the history");
    }
}

#[test]
fn the_line_on_top_stays_on_top_when_a_scrolled_screen_changes_its_width() {
    let mut screen = screen(20, 40);
    numbered(&mut screen, 500);
    scroll_until_on_top(&mut screen, "0439");
    for wanted in [size(20, 120), size(20, 33), size(5, 80), size(40, 40), size(1, 2), size(20, 120)] {
        screen.resize(wanted);
        let top = shown(&screen)[0].clone();
        assert!(top.starts_with(&"0439 X"[..6.min(wanted.cols.into())]), "{wanted:?}: {top:?}");
    }
}

#[test]
fn the_place_is_kept_for_a_row_in_the_middle_of_a_wrapped_line() {
    let mut screen = screen(4, 10);
    feed(&mut screen, "before\r\nabcdefghijKLMNOPQRST\r\nafter\r\n1\r\n2\r\n3\r\n4");
    scroll_until_on_top(&mut screen, "KLMNOPQRST");
    screen.resize(size(4, 30));
    assert_eq!(shown(&screen)[0], "abcdefghijKLMNOPQRST");
}

#[test]
fn what_is_read_stays_in_place_while_output_arrives() {
    let mut screen = screen(5, 40);
    numbered(&mut screen, 100);
    scroll_until_on_top(&mut screen, "0042");
    numbered(&mut screen, 100);
    assert!(shown(&screen)[0].starts_with("0042"));
    screen.scroll_to_bottom();
    assert!(shown(&screen)[2].starts_with("0100"));
    assert_eq!(screen.scroll_offset(), 0);
}

#[test]
fn text_survives_a_narrower_size_and_back() {
    let mut screen = screen(10, 100);
    let line: String = ('a'..='z').cycle().take(100).collect();
    feed(&mut screen, &line);
    screen.resize(size(10, 40));
    assert_eq!(shown(&screen)[2].len(), 20);
    screen.resize(size(10, 100));
    assert_eq!(screen.text(), line);
}

#[test]
fn history_is_there_after_leaving_the_alternate_screen_and_none_is_claimed_on_it() {
    let mut screen = screen(10, 80);
    numbered(&mut screen, 300);
    let before = screen.history_len();
    feed(&mut screen, "\x1b[?1049hless");
    assert!(screen.modes().alternate_screen);
    assert_eq!(screen.history_len(), 0);
    assert!(!screen.scroll(5));
    feed(&mut screen, "\x1b[?1049l");
    assert_eq!(screen.history_len(), before);
    assert!(screen.scroll(5));
}

#[test]
fn the_size_is_clamped_and_storms_of_sizes_leave_the_screen_alive() {
    let mut screen = screen(24, 80);
    numbered(&mut screen, 50);
    feed(&mut screen, "日本語のテキスト 👩‍💻 e\u{301}\r\n");
    screen.resize(size(0, 0));
    assert_eq!(screen.size(), size(1, 2));
    for n in 0..200u16 {
        screen.resize(size(n * 7 % 50, n * 13 % 140));
        feed(&mut screen, "日本語 text\r\n\x1b[5;5H\x1b[L");
    }
    screen.resize(size(1, 1));
    screen.resize(size(24, 80));
    assert_eq!(screen.dead(), None);
    screen.resize(size(u16::MAX, u16::MAX));
    assert!(screen.memory_bytes() < 256 << 20);
}

#[test]
fn the_oldest_lines_go_first_and_memory_shrinks() {
    let mut screen = screen(10, 80);
    numbered(&mut screen, 5000);
    let full = screen.memory_bytes();
    screen.set_history_limit(100);
    assert_eq!(screen.history_len(), 100);
    assert!(screen.memory_bytes() < full / 2);
    assert!(screen.history_text().starts_with("4892 X"), "{}", &screen.history_text()[..10]);
    screen.set_history_limit(0);
    assert_eq!(screen.history_len(), 0);
    numbered(&mut screen, 20);
    assert!(screen.text().contains("0020"));
}

#[test]
fn line_numbers_follow_lines_into_the_history() {
    let mut screen = Screen::new(size(3, 20), 50);
    feed(&mut screen, "first");
    let line = screen.view().line_at(0);
    for n in 0..40 {
        feed(&mut screen, &format!("\r\n{n}"));
    }
    assert_eq!(screen.lines(), 0..41);
    assert_eq!(screen.view_at(usize::MAX).line_at(0), line);
    for n in 40..90 {
        feed(&mut screen, &format!("\r\n{n}"));
    }
    assert_eq!(screen.lines(), 38..91);
    let epoch = screen.epoch();
    screen.resize(size(10, 20));
    screen.resize(size(3, 20));
    assert_eq!((screen.lines(), screen.epoch()), (38..91, epoch));
    screen.resize(size(3, 21));
    assert_ne!(screen.epoch(), epoch);
    let epoch = screen.epoch();
    feed(&mut screen, "\x1b[3J");
    assert_eq!(screen.history_len(), 0);
    assert_ne!(screen.epoch(), epoch, "numbers of lines that are gone mean nothing");
}

#[test]
fn more_lines_at_once_than_the_history_holds_are_counted_as_a_new_numbering() {
    let mut screen = Screen::new(size(3, 20), 10);
    feed(&mut screen, "a\r\nb\r\nc\r\nd\r\n");
    let epoch = screen.epoch();
    feed(&mut screen, &"x\r\n".repeat(100));
    assert_ne!(screen.epoch(), epoch);
    assert_eq!(screen.history_len(), 10);
}

#[test]
fn bookmarks_leave_no_trace_when_the_screen_is_resized_under_a_full_screen_program() {
    let mut screen = screen(6, 40);
    numbered(&mut screen, 200);
    feed(&mut screen, "\x1b[?1049h");
    screen.resize(size(6, 100));
    feed(&mut screen, "\x1b[?1049l\r\n");
    scroll_until_on_top(&mut screen, "0100");
    screen.resize(size(6, 50));
    assert!(shown(&screen)[0].starts_with("0100"));
}

#[test]
fn a_synchronized_update_is_shown_when_it_ends_or_when_its_time_is_over() {
    use hermes_tui::domain::{Moment, Span};
    let mut screen = screen(3, 20);
    assert!(!feed(&mut screen, "\x1b[?2026h\x1b[?2026h").events.iter().any(|_| true));
    assert!(!feed(&mut screen, "half").changed);
    assert_eq!(screen.text(), "");
    let deadline = screen.sync_deadline().unwrap();
    assert_eq!(deadline, NOW + Span(150));
    assert!(!screen.flush_sync(Moment(deadline.0 - 1)).changed);
    assert!(screen.flush_sync(deadline).changed);
    assert_eq!(screen.text(), "half");
    assert_eq!(screen.sync_deadline(), None);
    feed(&mut screen, "\x1b[?2026h and");
    assert!(feed(&mut screen, " whole\x1b[?2026l").changed);
    assert_eq!((screen.text().as_str(), screen.sync_deadline()), ("half and whole", None));
}

/// Thirty lines, of which the last stand on the screen, and a prompt at which a full-screen program is started.
fn with_a_prompt(rows: u16, cols: u16) -> Screen {
    let mut screen = screen(rows, cols);
    feed(&mut screen, &(1..=30).map(|n| format!("line {n}\r\n")).collect::<String>());
    feed(&mut screen, "$ vim\r\n");
    screen
}

#[test]
fn the_cursor_of_the_main_screen_goes_with_its_text_while_a_full_screen_program_is_resized() {
    for (rows, cols) in [(20, 20), (6, 20), (20, 12), (14, 4), (10, 60)] {
        let mut screen = with_a_prompt(10, 20);
        feed(&mut screen, "\x1b[?1049h\x1b[2J\x1b[5;5Hvim");
        screen.resize(Size { rows, cols });
        feed(&mut screen, "\x1b[?1049l$ ");
        let text = screen.text();
        let last: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        assert!(
            last.ends_with(&["$ vim", "$ "]) || last.ends_with(&["$ vim", "$"]) || cols < 5,
            "{rows}x{cols}: {text}"
        );
        assert!(text.contains("line 30") || cols < 8, "nothing is written over at {rows}x{cols}: {text}");
        assert!(screen.cursor().is_some_and(|cursor| cursor.col == 2), "{rows}x{cols}");
    }
}

#[test]
fn a_cursor_that_a_program_saved_goes_with_its_text() {
    let mut screen = with_a_prompt(10, 20);
    feed(&mut screen, "here:\x1b7\x1b[3;1H");
    screen.resize(Size { rows: 16, cols: 20 });
    feed(&mut screen, "\x1b8there");
    assert!(screen.text().contains("here:there"), "{}", screen.text());
    screen.resize(Size { rows: 4, cols: 20 });
    feed(&mut screen, "\x1b8again");
    assert!(screen.text().contains("here:again"), "{}", screen.text());
}
