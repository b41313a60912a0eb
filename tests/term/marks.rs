//! Selecting and finding text.

use crate::support::{feed, screen};
use hermes_tui::domain::Size;
use hermes_tui::term::motion::{Find, Motion, Words, go, word_at};
use hermes_tui::term::{Finder, Found, Pos, Screen, Search, Selection, SelectionKind};

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
    let mut search = Search::new(&screen, &Finder::plain("error"), end);
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
    assert_eq!(Search::new(&screen, &Finder::plain("Error"), end).count(), (1, 1));
    assert_eq!(Search::new(&screen, &Finder::plain("nowhere"), end).count(), (0, 0));
    assert_eq!(Search::new(&screen, &Finder::plain("nowhere"), end).clone().next_match(), None);
    assert_eq!(Search::new(&screen, &Finder::plain(""), end).count(), (0, 0));
}

#[test]
fn an_expression_is_searched_for_in_the_line_as_it_was_written() {
    let mut screen = Screen::new(Size { rows: 4, cols: 10 }, 100);
    feed(&mut screen, "id=12 id=345\r\nnone\r\nID=7 日x9\r\n");
    let found = |query: &str| {
        let all = Finder::regex(query).unwrap().matches_in(&screen, screen.lines());
        all.into_iter().map(|one| (one.start, one.end)).collect::<Vec<_>>()
    };
    let (wrapped, capital) = ((at(0, 6), at(1, 1)), (at(3, 0), at(3, 3)));
    assert_eq!(found(r"id=\d+"), [(at(0, 0), at(0, 4)), wrapped, capital], "across a wrapped row");
    assert_eq!(found(r"ID=\d+"), [capital], "a capital is exact");
    assert_eq!(found(r"\d+$"), [(at(0, 9), at(1, 1)), (at(3, 8), at(3, 8))]);
    assert_eq!(found(r"^none$"), [(at(2, 0), at(2, 3))]);
    assert_eq!(found(r"\Wx?"), found(r"\Wx?"), "a capital after a backslash is none");
    assert_eq!(found(r"z*"), [], "nothing is not found everywhere");
}

#[test]
fn a_bad_expression_says_what_is_wrong_and_a_huge_one_is_refused() {
    assert!(Finder::regex("a(b").unwrap_err().contains("unclosed"), "{:?}", Finder::regex("a(b"));
    assert_eq!(Finder::regex("a(b").unwrap_err().lines().count(), 1);
    assert!(Finder::regex(r"(\w{1000}){1000}").unwrap_err().contains("too large"));
}

#[test]
fn what_is_found_is_marked_in_the_view_and_the_current_one_apart() {
    let mut screen = screen(3, 8);
    feed(&mut screen, "ab xxaab\r\nab");
    let finder = Finder::plain("ab");
    let all = finder.matches_in(&screen, screen.lines());
    let view = screen.view().with_found(&all, Some(all[1].start));
    let mut shown = vec![String::new(); 3];
    view.for_each_cell(|row, _, cell| {
        shown[usize::from(row)].push(match cell.found {
            Found::No => '.',
            Found::Yes => 'f',
            Found::Here => 'h',
        });
    });
    assert_eq!(shown, ["ff....hh", "ff......", "........"]);
}

#[test]
fn words_and_ends_of_words() {
    let mut screen = screen(5, 12);
    feed(&mut screen, "ab-cd  ef.gh\r\n\r\nlong_word_that_wraps x\r\nend");
    let walk = |from: Pos, motion: Motion| {
        let mut places = vec![go(&screen, from, motion, 1)];
        while places.len() < 9 {
            let next = go(&screen, *places.last().unwrap(), motion, 1);
            if Some(&next) == places.last() {
                break;
            }
            places.push(next);
        }
        places.into_iter().map(|p| (p.line, p.col)).collect::<Vec<_>>()
    };
    use Words::{Big, Small};
    let start = at(0, 0);
    assert_eq!(
        walk(start, Motion::NextWord(Small)),
        [(0, 2), (0, 3), (0, 7), (0, 9), (0, 10), (2, 0), (3, 9), (4, 0), (4, 2)],
        "a word that is wrapped is one"
    );
    assert_eq!(walk(start, Motion::NextWord(Big)), [(0, 7), (2, 0), (3, 9), (4, 0), (4, 2), (4, 2)][..5]);
    assert_eq!(walk(start, Motion::NextEnd(Big)), [(0, 4), (0, 11), (3, 7), (3, 9), (4, 2)]);
    assert_eq!(
        walk(at(4, 2), Motion::PreviousEnd(Small)),
        [(3, 9), (3, 7), (0, 11), (0, 9), (0, 8), (0, 4), (0, 2), (0, 1), (0, 0)]
    );
    assert_eq!(walk(at(4, 2), Motion::PreviousWord(Big)), [(4, 0), (3, 9), (2, 0), (0, 7), (0, 0)]);
    assert_eq!(go(&screen, start, Motion::NextWord(Small), 6), at(2, 0), "by a count");
    assert_eq!(go(&screen, start, Motion::NextWord(Small), u32::MAX), at(4, 2));
    assert_eq!(go(&screen, at(2, 5), Motion::LineEnd, 1), at(3, 9), "the line, not the row");
    assert_eq!(go(&screen, at(3, 2), Motion::LineStart, 1), at(2, 0));
    assert_eq!(word_at(&screen, at(3, 1)).as_deref(), Some("long_word_that_wraps"));
    assert_eq!(word_at(&screen, at(0, 5)).as_deref(), Some("ef"), "the next one of the line");
    assert_eq!(word_at(&screen, at(1, 0)), None);
}

#[test]
fn characters_paragraphs_and_brackets() {
    let mut screen = screen(9, 20);
    feed(&mut screen, "a.b.c.d\r\ntext\r\n\r\n\r\nif (x[1] == {2}) {\r\n  go(\r\n  )\r\n}\r\nlast");
    let to = |from: Pos, wanted, forward, till, again, count| {
        go(&screen, from, Motion::To(Find { wanted, forward, till }, again), count)
    };
    assert_eq!(to(at(0, 0), '.', true, false, false, 1), at(0, 1));
    assert_eq!(to(at(0, 0), '.', true, false, false, 3), at(0, 5));
    assert_eq!(to(at(0, 0), '.', true, true, false, 1), at(0, 0), "till is before it");
    assert_eq!(to(at(0, 0), '.', true, true, true, 1), at(0, 2), "again does not stay");
    assert_eq!(to(at(0, 6), '.', false, true, true, 1), at(0, 4));
    assert_eq!(to(at(0, 6), 'a', false, false, false, 1), at(0, 0));
    assert_eq!(to(at(0, 6), 'x', false, false, false, 1), at(0, 6), "not in this line");
    assert_eq!(to(at(0, 0), '.', true, false, false, 4), at(0, 0), "not so often");
    let paragraph =
        |from, down, count| go(&screen, from, if down { Motion::ParagraphDown } else { Motion::ParagraphUp }, count);
    assert_eq!(paragraph(at(0, 3), true, 1), at(2, 0));
    assert_eq!(paragraph(at(2, 0), true, 1), at(8, 3), "the end where there is no more");
    assert_eq!(paragraph(at(6, 0), false, 1), at(3, 0));
    assert_eq!(paragraph(at(3, 0), false, 1), at(0, 0));
    let pair = |from| go(&screen, from, Motion::Bracket, 1);
    assert_eq!(pair(at(4, 0)), at(4, 15), "the first one after the cursor");
    assert_eq!(pair(at(4, 15)), at(4, 3));
    assert_eq!(pair(at(4, 17)), at(7, 0), "over lines");
    assert_eq!(pair(at(7, 0)), at(4, 17));
    assert_eq!(pair(at(1, 0)), at(1, 0), "none");
}

/// What a shell with integration prints for a command.
fn command(screen: &mut Screen, text: &str, output: &str, exit: i32) {
    feed(screen, &format!("\x1b]133;A\x07$ \x1b]133;B\x07{text}\r\n\x1b]133;C\x07{output}\x1b]133;D;{exit}\x07"));
}

/// The first word of each prompt's line and its exit code, to see that they are where they belong.
fn prompts(screen: &Screen) -> Vec<(String, Option<i32>)> {
    let text = |at: Pos| select(screen, SelectionKind::Line, at, at).text(screen).unwrap_or_default();
    screen.prompts().iter().map(|prompt| (text(prompt.at), prompt.exit)).collect()
}

fn output(screen: &Screen, line: u64) -> String {
    let (from, to) = screen.output_at(line).expect("an output");
    select(screen, SelectionKind::Character, from, to).text(screen).unwrap()
}

#[test]
fn prompts_are_where_they_were_told_and_go_with_their_lines() {
    let mut screen = Screen::new(Size { rows: 4, cols: 20 }, 6);
    command(&mut screen, "one", "a\r\nb\r\n", 0);
    command(&mut screen, "two", "no line end", 3);
    feed(&mut screen, "\r\n\x1b]133;A\x07$ \x1b]133;B\x07");
    assert_eq!(prompts(&screen), [("$ one".into(), Some(0)), ("$ two".into(), Some(3)), ("$".into(), None)]);
    let [one, two, _] = screen.prompts() else { panic!("three") };
    assert_eq!((output(&screen, one.at.line).as_str(), output(&screen, one.at.line + 1).as_str()), ("a\nb", "a\nb"));
    assert_eq!(output(&screen, two.at.line), "no line end");
    assert_eq!(screen.output_at(two.at.line + 2), None, "nothing runs at the last prompt");
    feed(&mut screen, "tail\r\n\x1b]133;C\x07so far");
    assert_eq!(output(&screen, screen.prompts()[2].at.line), "so far", "it runs");
    (0..7).for_each(|_| drop(feed(&mut screen, "more\r\n")));
    assert_eq!(prompts(&screen)[0].0, "$ tail", "the others were shed with their lines");
    feed(&mut screen, &"more\r\n".repeat(50));
    assert_eq!(prompts(&screen), []);
    feed(&mut screen, "\x1b]133;D;1\x07\x1b]133;A\x07$ ");
    assert_eq!(prompts(&screen), [("$".into(), None)]);
}

#[test]
fn a_prompt_that_is_drawn_again_is_one_and_one_that_is_written_over_is_none() {
    let mut screen = screen(10, 20);
    feed(&mut screen, "\x1b]133;A\x07$ \x1b]133;B\x07\r\x1b[K\x1b]133;A\x07% \x1b]133;B\x07x");
    assert_eq!(prompts(&screen), [("% x".into(), None)]);
    feed(&mut screen, "\r\n\x1b]133;C\x07\x1b]133;D;0\x07");
    command(&mut screen, "y", "", 0);
    assert_eq!(screen.prompts().len(), 2);
    assert_eq!(screen.output_at(screen.prompts()[1].at.line), None, "it printed nothing");
    feed(&mut screen, "\x1b[H\x1b[2J\x1b[3J\x1b]133;A\x07$ ");
    assert_eq!(prompts(&screen), [("$".into(), None)], "cleared");
    feed(&mut screen, "\x1b[?1049h\x1b]133;A\x07in a program\x1b]133;D;0\x07");
    assert_eq!(screen.prompts(), [], "a program that uses the whole screen has none");
    feed(&mut screen, "\x1b[?1049l");
    assert_eq!(prompts(&screen), [("$".into(), None)]);
}

#[test]
fn prompts_survive_a_reflow_also_of_a_screen_that_is_out_of_sight() {
    for alternate in [false, true] {
        let mut screen = Screen::new(Size { rows: 6, cols: 40 }, 200);
        for n in 0..20 {
            let long = "long ".repeat(n);
            command(&mut screen, &format!("c{n}"), &format!("{long}\r\n"), n as i32);
        }
        feed(&mut screen, "\x1b]133;A\x07$ last");
        let before = prompts(&screen);
        assert_eq!(before.len(), 21);
        let outputs = |screen: &Screen| {
            screen
                .prompts()
                .iter()
                .filter_map(|p| screen.output_of(p))
                .map(|(from, to)| select(screen, SelectionKind::Character, from, to).text(screen).unwrap())
                .collect::<Vec<_>>()
        };
        let printed = outputs(&screen);
        for cols in [23, 61, 40, 9, 40] {
            if alternate {
                feed(&mut screen, "\x1b[?1049h\x1b[H\x1b[31mfull");
            }
            screen.resize(Size { rows: 6, cols });
            if alternate {
                assert!(screen.text().contains("full"), "{}", screen.text());
                feed(&mut screen, "\x1b[?1049l");
            }
            let now = prompts(&screen);
            assert_eq!(now, before[before.len() - now.len()..], "at {cols} columns, alternate {alternate}");
            assert!(now.len() > 10, "{} are left at {cols} columns", now.len());
            if cols == 40 {
                assert_eq!(outputs(&screen), printed[before.len() - now.len()..]);
            }
        }
        feed(&mut screen, "\x1b[Ktail\r\n\x1b]133;C\x07out\r\n\x1b]133;D;7\x07\x1b]133;A\x07$ ");
        assert_eq!(screen.prompts().iter().rev().nth(1).unwrap().exit, Some(7), "and it goes on");
    }
}
