//! What holds for any output.

use crate::support::NOW;
use hermes_tui::domain::{Moment, Size, Span};
use hermes_tui::term::motion::{Find, Motion, Words, go, word_at};
use hermes_tui::term::{Finder, Pos, Screen, ScreenEvent, Search, Selection, SelectionKind};
use proptest::prelude::*;

/// Pieces of output that lead into every corner of the parser.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    const FIXED: &[&str] = &[
        "\r\n",
        "\t",
        "\x08",
        "\x1b",
        "\x1b[",
        "\x1b]",
        "\x1bP",
        "\x1b\\",
        "\x07",
        "\x18",
        "\x1b]0;title\x07",
        "\x1b]8;;http://a\x07",
        "\x1b]8;;\x07",
        "\x1b]52;c;YQ==\x07",
        "\x1b]133;A\x07",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1b[?2026h",
        "\x1b[?2026l",
        "\x1b[2J",
        "\x1b[3J",
        "\x1b[6n",
        "\x1bc",
        "\x1b[?7l",
        "\x1b[?7h",
        "\x1b[4h",
        "\x1b[4l",
        "\x1b(0",
        "\x1b(B",
        "\x0e",
        "\x0f",
        "\x1bM",
        "\x1b[?6h",
        "\x1b[2;4r",
        "\x1b[r",
        "\x1b7",
        "\x1b8",
        "漢字",
        "e\u{301}",
        "\u{200d}",
        "\u{fe0f}",
        "👩‍💻",
        "🇩🇪",
        "\u{301}",
        "\x1b[9999b",
        "\x1b#8",
        "\x1b[>1u",
        "\x1b[<u",
        "\x1b[22t",
        "\x1b[23t",
        "\x1b[c",
        "\x1b[>c",
        "\x1b[=c",
        "\x1b[>q",
        "\x1b[?6n",
        "\x1b[18t",
        "\x1b[?7$p",
        "\x1b[?2026$p",
        "\x1b[4$p",
        "\x1bP$qm\x1b\\",
        "\x1bP$qr\x1b\\",
        "\x1bP$q q\x1b\\",
        "\x1bP+q544e;436F\x1b\\",
        "\x1bP+q5858\x1b\\",
        "\x1b]4;1;?\x07",
        "\x1b]4;1;#123456\x07",
        "\x1b]11;?\x1b\\",
        "\x1b]104\x07",
        "\x1b[1;1;1;1;2;2*y",
        "\x1b[1;1;3;9;1;2;5;1$v",
        "\x1b[42;2;2;3;9$x",
        "\x1b[2;2;3;9$z",
        "\x1b[2 @",
        "\x1b[2 A",
        "\x1b6",
        "\x1b9",
        "\x1b[!p",
        "\x1b[?5h",
        "\x1b[?5l",
        "\x1b[?45h",
        "\x1b[?47h",
        "\x1b[?47l",
        "\x1b[?1h\x1b[?1s\x1b[?1l",
        "\x1b[?1r",
        "\x1b(A",
        "\x1bN",
        "\x1bn",
        "###",
        "plain text ",
        "0123456789012345678901234567890",
    ];
    prop_oneof![
        4 => prop::sample::select(FIXED).prop_map(|s| s.as_bytes().to_vec()),
        2 => (0u16..300, 0u16..300, prop::sample::select(b"@ABCDEFGHIJKLMPSTXZ`abdefhlmnrst".to_vec()))
            .prop_map(|(a, b, last)| format!("\x1b[{a};{b}{}", last as char).into_bytes()),
        2 => prop::collection::vec(any::<u8>(), 0..12),
        2 => "[ -~]{1,70}(\r\n)?[ -~]{0,40}".prop_map(String::into_bytes),
    ]
}

/// A screen that answers everything.
fn answering() -> Screen {
    let mut screen = Screen::new(Size { rows: 6, cols: 20 }, 50);
    screen.set_theme((200, 200, 200), (1, 2, 3));
    screen.allow_checksums(true);
    screen
}

fn output() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 1..40).prop_map(|pieces| pieces.concat())
}

/// All that can be seen of a screen.
fn all_of(screen: &Screen) -> impl PartialEq + std::fmt::Debug + use<> {
    (screen.history_ansi(), screen.cursor(), screen.modes(), screen.title().to_owned(), screen.blocked())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("HTUI_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_not_matter_where_output_is_cut(output in output(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut whole = answering();
        let mut fed = whole.feed(NOW, &output);
        let mut cut = answering();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(output.len() + 1)).collect();
        places.extend([0, output.len()]);
        places.sort_unstable();
        let (mut reply, mut events) = (Vec::new(), Vec::<ScreenEvent>::new());
        for pair in places.windows(2) {
            let part = cut.feed(NOW, &output[pair[0]..pair[1]]);
            reply.extend(part.reply);
            events.extend(part.events);
        }
        let rest = whole.flush_sync(NOW + Span(1000));
        fed.reply.extend(rest.reply);
        fed.events.extend(rest.events);
        let rest = cut.flush_sync(NOW + Span(1000));
        reply.extend(rest.reply);
        events.extend(rest.events);
        prop_assert_eq!(all_of(&whole), all_of(&cut));
        prop_assert_eq!(&fed.reply, &reply);
        // Bells and titles of one feed are told once.
        fed.events.retain(|event| !matches!(event, ScreenEvent::Bell | ScreenEvent::Title(_)));
        events.retain(|event| !matches!(event, ScreenEvent::Bell | ScreenEvent::Title(_)));
        prop_assert_eq!(fed.events, events);
    }

    #[test]
    fn text_taken_in_runs_gives_what_single_bytes_give(output in output()) {
        let mut whole = Screen::new(Size { rows: 6, cols: 20 }, 50);
        whole.feed(NOW, &output);
        let mut bytes = Screen::new(Size { rows: 6, cols: 20 }, 50);
        for byte in &output {
            bytes.feed(NOW, &[*byte]);
        }
        // What an update holds back may differ by a broken character before it; what it shows in the end may not.
        whole.flush_sync(NOW + Span(1000));
        bytes.flush_sync(NOW + Span(1000));
        prop_assert_eq!(all_of(&whole), all_of(&bytes));
    }

    #[test]
    fn any_output_and_any_size_leave_a_screen_that_can_be_drawn_searched_and_copied(
        steps in prop::collection::vec((output(), 0u16..40, 0u16..60, -20i32..20), 1..8),
    ) {
        let mut screen = Screen::new(Size { rows: 6, cols: 20 }, 40);
        let mut now = Moment(0);
        for (output, rows, cols, scroll) in steps {
            now = now + Span(60);
            screen.feed(now, &output);
            screen.scroll(scroll);
            screen.resize(Size { rows, cols });
            let (rows, cols) = (screen.size().rows, screen.size().cols);
            let mut sums = vec![0; rows.into()];
            let selection = Selection::begin(&screen, SelectionKind::Character, Pos::default())
                .extend(&screen, Pos { line: u64::MAX, col: 0 });
            screen.view().with_selection(Some(&selection)).for_each_cell(|row, col, cell| {
                assert_eq!(sums[usize::from(row)], col);
                assert_eq!(unicode_width::UnicodeWidthStr::width(cell.text), usize::from(cell.width), "{:?}", cell.text);
                sums[usize::from(row)] += u16::from(cell.width);
            });
            prop_assert!(sums.iter().all(|sum| *sum == cols));
            if let Some(cursor) = screen.view().cursor() {
                prop_assert!(cursor.row < rows && cursor.col < cols);
            }
            let _ = selection.text(&screen);
            let _ = Search::new(&screen, &Finder::plain("t"), Pos::default());
            let _ = Search::new(&screen, &Finder::regex(r"\b.t").unwrap(), Pos::default());
            for line in screen.lines() {
                let at = Pos { line, col: cols / 2 };
                let to = Find { wanted: 't', forward: line % 2 == 0, till: line % 3 == 0 };
                for motion in [
                    Motion::LineEnd,
                    Motion::NextWord(Words::Small),
                    Motion::PreviousWord(Words::Big),
                    Motion::NextEnd(Words::Big),
                    Motion::PreviousEnd(Words::Small),
                    Motion::To(to, true),
                    Motion::ParagraphUp,
                    Motion::ParagraphDown,
                    Motion::Bracket,
                ] {
                    let to = go(&screen, at, motion, 2);
                    prop_assert!(screen.lines().contains(&to.line) && to.col < cols, "{:?} leads to {:?}", motion, to);
                }
                let _ = word_at(&screen, at);
                let _ = Selection::word(&screen, Pos { line, col: cols / 2 }).text(&screen);
            }
            prop_assert_eq!(screen.dead(), None);
        }
    }

    #[test]
    fn ansi_text_gives_the_same_rows_again(output in output()) {
        let mut first = Screen::new(Size { rows: 6, cols: 20 }, 50);
        first.feed(NOW, &output);
        first.flush_sync(NOW + Span(1000));
        let mut second = Screen::new(Size { rows: 60, cols: 40 }, 50);
        second.feed(NOW, first.ansi().replace('\n', "\r\n").as_bytes());
        let (first, second) = (first.text(), second.text());
        prop_assert_eq!(first.trim_end(), second.trim_end());
    }
}
