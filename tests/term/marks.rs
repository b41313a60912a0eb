//! Selecting and finding text.

use crate::support::{feed, screen};
use hermes_tui::domain::Size;
use hermes_tui::term::{Pos, Screen, Search, Selection, SelectionKind};

fn at(line: u64, col: u16) -> Pos {
    Pos { line, col }
}

fn select(screen: &Screen, kind: SelectionKind, from: Pos, to: Pos) -> Selection {
    Selection::begin(screen, kind, from).extend(screen, to)
}

fn marked(screen: &Screen, selection: &Selection) -> String {
    let mut out = String::new();
    screen.view_at(usize::MAX).with_selection(Some(selection)).for_each_cell(|_, _, cell| {
        if cell.selected {
            out.push_str(cell.text);
        }
    });
    out
}

#[test]
fn characters_lines_and_blocks_give_their_text() {
    let mut screen = screen(5, 10);
    feed(&mut screen, "one two   \r\nabcdefghijklmno\r\n漢字 x");
    let text = |kind, from, to| select(&screen, kind, from, to).text(&screen).unwrap();
    assert_eq!(text(SelectionKind::Character, at(0, 4), at(1, 2)), "two\nabc");
    assert_eq!(text(SelectionKind::Character, at(1, 2), at(0, 4)), "two\nabc", "drawn upwards");
    assert_eq!(text(SelectionKind::Character, at(1, 8), at(2, 1)), "ijkl", "a wrapped line is one line");
    assert_eq!(text(SelectionKind::Line, at(1, 5), at(1, 5)), "abcdefghijklmno");
    assert_eq!(text(SelectionKind::Line, at(0, 0), at(2, 0)), "one two\nabcdefghijklmno");
    assert_eq!(text(SelectionKind::Block, at(0, 4), at(2, 2)), "e t\ncde\nmno");
    assert_eq!(text(SelectionKind::Character, at(3, 1), at(3, 2)), "漢字", "half of a wide character is all of it");
    assert_eq!(marked(&screen, &select(&screen, SelectionKind::Block, at(0, 0), at(1, 1))), "onab");
}

#[test]
fn a_double_click_takes_the_word_across_a_wrapped_row() {
    let mut screen = screen(5, 10);
    feed(&mut screen, "see /usr/bin/env: (ok)\r\n漢字 fin");
    let word = |line, col| Selection::word(&screen, at(line, col)).text(&screen).unwrap();
    assert_eq!(word(0, 5), "/usr/bin/env:");
    assert_eq!(word(1, 1), "/usr/bin/env:");
    assert_eq!(word(0, 1), "see");
    assert_eq!(word(1, 9), "ok");
    assert_eq!(word(3, 1), "漢字", "clicked on its second half");
    let drag = Selection::word(&screen, at(0, 1)).union(Selection::word(&screen, at(3, 6)));
    assert_eq!(drag.text(&screen).unwrap(), "see /usr/bin/env: (ok)\n漢字 fin");
}

#[test]
fn a_selection_follows_its_text_into_the_history_and_ends_with_it() {
    let mut screen = Screen::new(Size { rows: 3, cols: 20 }, 10);
    feed(&mut screen, "first line\r\n");
    let selection = select(&screen, SelectionKind::Character, at(0, 0), at(0, 4));
    for n in 0..8 {
        feed(&mut screen, &format!("{n}\r\n"));
    }
    assert_eq!(selection.text(&screen).as_deref(), Some("first"));
    assert_eq!(marked(&screen, &selection), "first");
    for n in 0..8 {
        feed(&mut screen, &format!("{n}\r\n"));
    }
    assert_eq!(selection.text(&screen), None, "shed");
    let selection = select(&screen, SelectionKind::Line, at(16, 0), at(16, 0));
    assert!(selection.is_valid(&screen));
    screen.resize(Size { rows: 3, cols: 30 });
    assert_eq!(selection.text(&screen), None, "wrapped anew");
}

#[test]
fn search_counts_wraps_round_and_minds_capitals_only_when_given() {
    let mut screen = Screen::new(Size { rows: 3, cols: 10 }, 100);
    feed(&mut screen, "Error one\r\nfine\r\nerror two\r\nxxxxxxxERRor three\r\nend");
    let end = at(u64::MAX, 0);
    let mut search = Search::new(&screen, "error", end);
    assert_eq!(search.count(), (3, 3));
    assert_eq!(search.current().unwrap().start, at(3, 7));
    assert_eq!(search.current().unwrap().end, at(4, 1), "across a wrapped row");
    assert_eq!(search.columns_in(3, 10).collect::<Vec<_>>(), [(7, 9, true)]);
    assert_eq!(search.columns_in(4, 10).collect::<Vec<_>>(), [(0, 1, true)]);
    assert_eq!(search.columns_in(2, 10).collect::<Vec<_>>(), [(0, 4, false)]);
    assert_eq!(search.previous_match().unwrap().start, at(2, 0));
    assert_eq!(search.previous_match().unwrap().start, at(0, 0));
    assert_eq!(search.previous_match().unwrap().start, at(3, 7));
    assert_eq!(search.next_match().unwrap().start, at(0, 0));
    assert_eq!(search.count(), (1, 3));
    feed(&mut screen, "\r\nerror again");
    search.refresh(&screen);
    assert_eq!(search.count(), (1, 4));
    assert_eq!(Search::new(&screen, "Error", end).count(), (1, 1));
    assert_eq!(Search::new(&screen, "nowhere", end).count(), (0, 0));
    assert_eq!(Search::new(&screen, "nowhere", end).clone().next_match(), None);
    assert_eq!(Search::new(&screen, "", end).count(), (0, 0));
}
