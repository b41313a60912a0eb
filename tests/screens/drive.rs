//! Bytes → screen → draw, for any bytes: what the fuzz target (`tests/fuzz`) and a property run.

use crate::scene::{NOW, inner, with_shell};
use hermes_tui::app::view_model::{PaneContent, Printed};
use hermes_tui::app::{Changed, ClientCaps};
use hermes_tui::domain::{Size, Span};
use hermes_tui::runtime::screen::ClientScreen;
use hermes_tui::term::{Finder, Pos, Screen, Search, Selection, SelectionKind};
use hermes_tui::ui::{ColourDepth, Style, Theme};
use std::sync::mpsc::{Receiver, channel};
use unicode_width::UnicodeWidthStr;

/// Bytes at the beginning of the input that say how the rest is taken in.
pub const KNOBS: usize = 4;

/// Sizes of the terminal, one after the other.
const SIZES: [Size; 4] = [
    Size { rows: 12, cols: 40 },
    Size { rows: 24, cols: 80 },
    Size { rows: 5, cols: 12 },
    Size { rows: 16, cols: 100 },
];

/// A terminal in which a client's frames are shown.
struct Terminal {
    screen: ClientScreen,
    frames: Receiver<Vec<u8>>,
    shown: Screen,
}

impl Terminal {
    fn new(size: Size) -> Self {
        let (sink, frames) = channel();
        let caps = ClientCaps { colours: 1 << 24, unicode: true };
        let style = Style::new(&Theme::dark(), ColourDepth::from_count(caps.colours), true);
        let screen = ClientScreen::new(size, caps, style, Box::new(move |frame| sink.send(frame).is_ok()));
        Self { screen, frames, shown: Screen::new(size, 0) }
    }

    fn draw(&mut self, program: &Screen, size: Size, changed: Changed) {
        let vm = with_shell(size.cols, size.rows, program);
        self.screen.note(changed);
        let printed: Vec<Printed<'_>> = (vm.panes.iter())
            .filter_map(|pane| match &pane.content {
                PaneContent::Terminal { session, screen, .. } => {
                    Some(Printed { session, screen, inner: pane.inner, focused: pane.focused })
                }
                _ => None,
            })
            .collect();
        if !self.screen.only_printed() || !self.screen.draw_printed(&printed, NOW, Span(16)) {
            self.screen.draw(&vm, NOW, Span(16));
        }
        for frame in self.frames.try_iter() {
            self.shown.feed(NOW, &frame);
        }
        self.screen.drained();
    }

    fn looks(&self) -> (String, String) {
        (format!("{:?}", self.shown.cursor()), self.shown.ansi())
    }
}

/// Shows the output of a program, in pieces and at sizes that the first bytes say, and looks at everything that can be
/// looked at. Panics where something is wrong.
pub fn drive(input: &[u8]) {
    let Some((knobs, output)) = input.split_at_checked(KNOBS) else { return };
    let piece = usize::from(knobs[0]) * 4 + 1;
    let (resize_after, scroll) = (usize::from(knobs[1]), i32::from(knobs[2].cast_signed()));
    let mut size = SIZES[usize::from(knobs[3]) % SIZES.len()];
    let room = |size: Size| {
        let room = inner(crate::scene::frame(size.cols, size.rows).panes_area);
        Size { rows: room.height, cols: room.width }
    };
    let mut program = Screen::new(room(size), 60);
    let (mut partly, mut wholly) = (Terminal::new(size), Terminal::new(size));
    partly.draw(&program, size, Changed::All);
    wholly.draw(&program, size, Changed::All);
    let mut now = NOW;
    for (n, part) in output.chunks(piece).enumerate() {
        now = now + Span(40);
        let fed = program.feed(now, part);
        assert!(fed.reply.len() <= 64 << 10, "answers are bounded");
        let mut changed = Changed::Output;
        if n == resize_after {
            size = SIZES[usize::from(knobs[3] / 4) % SIZES.len()];
            program.resize(room(size));
            (partly.shown, wholly.shown) = (Screen::new(size, 0), Screen::new(size, 0));
            changed = Changed::All;
        }
        // Drawing each of many small pieces finds nothing more.
        if n % 8 == 0 || changed == Changed::All {
            partly.draw(&program, size, changed);
            wholly.draw(&program, size, Changed::All);
            assert_eq!(partly.looks(), wholly.looks(), "lines alone and everything");
        }
    }
    now = now + Span::seconds(20);
    program.flush_sync(now);
    program.scroll(scroll);
    look_at(&program);
    assert_eq!(program.dead(), None);
}

fn look_at(screen: &Screen) {
    let (rows, cols) = (screen.size().rows, screen.size().cols);
    let mut widths = vec![0; rows.into()];
    let all = Selection::begin(screen, SelectionKind::Character, Pos::default())
        .extend(screen, Pos { line: u64::MAX, col: 0 });
    screen.view().with_selection(Some(&all)).for_each_cell(|row, col, cell| {
        assert_eq!(widths[usize::from(row)], col);
        assert_eq!(cell.text.width(), usize::from(cell.width), "{:?}", cell.text);
        widths[usize::from(row)] += u16::from(cell.width);
    });
    assert!(widths.iter().all(|width| *width == cols), "every row is full");
    if let Some(cursor) = screen.view().cursor() {
        assert!(cursor.row < rows && cursor.col < cols, "{cursor:?}");
    }
    assert!(!screen.title().chars().any(char::is_control));
    let _ = (all.text(screen), screen.history_ansi(), Search::new(screen, &Finder::plain("t"), Pos::default()));
    for line in screen.lines() {
        let _ = Selection::word(screen, Pos { line, col: cols / 2 }).text(screen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::path::Path;

    #[test]
    fn the_corpus_of_the_fuzz_target_is_shown() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus/screen");
        let mut seen = 0;
        for file in std::fs::read_dir(folder).expect("the corpus") {
            drive(&std::fs::read(file.expect("an entry").path()).expect("a file"));
            seen += 1;
        }
        assert!(seen >= 20, "{seen} files");
    }

    /// What the corpus is made of, spoiled and put together anew.
    fn spoiled() -> impl Strategy<Value = Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus/screen");
        let files = std::fs::read_dir(folder).expect("the corpus").map(|file| file.expect("an entry").path());
        let mut files: Vec<_> = files.collect();
        files.sort();
        let files: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).expect("a file")).collect();
        let part =
            (prop::sample::select(files), any::<prop::sample::Index>(), 1..200usize).prop_map(|(file, at, length)| {
                let from = at.index(file.len());
                file[from..(from + length).min(file.len())].to_vec()
            });
        let part = prop_oneof![5 => part, 1 => vec(any::<u8>(), 0..12)];
        (vec(any::<u8>(), KNOBS), vec(part, 1..12)).prop_map(|(knobs, parts)| [knobs, parts.concat()].concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: std::env::var("HTUI_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(200), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn anything_that_a_program_sends_is_shown(input in spoiled()) {
            drive(&input);
        }
    }
}
