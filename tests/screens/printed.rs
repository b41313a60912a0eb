//! Drawing only the lines that a program printed on shows what drawing everything shows.

use crate::scene::{NOW, inner, with_shell};
use hermes_tui::app::view_model::{Pane, PaneContent, Printed, ViewModel};
use hermes_tui::app::{Changed, ClientCaps};
use hermes_tui::domain::{Size, Span};
use hermes_tui::runtime::screen::ClientScreen;
use hermes_tui::term::Screen;
use hermes_tui::ui::{ColourDepth, Style, Theme};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::mpsc::Receiver;

const SIZE: Size = Size { rows: 24, cols: 80 };

/// A client's screen with the terminal that it is drawn in.
struct Terminal {
    screen: ClientScreen,
    frames: Receiver<Vec<u8>>,
    shown: Screen,
}

impl Terminal {
    fn new() -> Self {
        let (sink, frames) = std::sync::mpsc::channel();
        let caps = ClientCaps { colours: 1 << 24, unicode: true };
        let style = Style::new(&Theme::dark(), ColourDepth::from_count(caps.colours), true);
        let screen = ClientScreen::new(SIZE, caps, style, Box::new(move |frame| sink.send(frame).is_ok()));
        Self { screen, frames, shown: Screen::new(SIZE, 0) }
    }

    /// Bytes that were needed.
    fn draw(&mut self, vm: &ViewModel<'_>, changed: Changed) -> usize {
        self.screen.note(changed);
        let only = self.screen.only_printed();
        if !only || !self.screen.draw_printed(&printed_in(vm), NOW, Span(16)) {
            self.screen.draw(vm, NOW, Span(16));
        }
        let frames: Vec<Vec<u8>> = self.frames.try_iter().collect();
        frames.iter().for_each(|frame| drop(self.shown.feed(NOW, frame)));
        self.screen.drained();
        frames.iter().map(Vec::len).sum()
    }

    fn looks(&self) -> String {
        format!("{:?}\n{}", self.shown.cursor(), self.shown.ansi())
    }
}

fn printed_in<'a>(vm: &'a ViewModel<'_>) -> Vec<Printed<'a>> {
    let terminal = |pane: &'a Pane<'_>| match &pane.content {
        PaneContent::Terminal { session, screen, .. } => {
            Some(Printed { session, screen, inner: pane.inner, focused: pane.focused })
        }
        _ => None,
    };
    vm.panes.iter().filter_map(terminal).collect()
}

/// What programs print: text of all widths, and whatever moves, erases, scrolls and switches.
fn printed() -> impl Strategy<Value = String> {
    let number = 0..30u16;
    prop_oneof![
        6 => "[a-z ]{1,30}",
        3 => "[日本é👩🏽‍💻🇩🇪❤️\u{fe0f}\u{301}x]{1,12}",
        3 => prop::sample::select(vec!["\r\n", "\n", "\r", "\t", "\x08", "\x1bM", "\x1bD", "\x1bE", "\x1b7", "\x1b8"])
            .prop_map(str::to_owned),
        4 => (number.clone(), number.clone()).prop_map(|(y, x)| format!("\x1b[{y};{x}H")),
        4 => (number.clone(), prop::sample::select("ABCDEFGJKLMPST@X`adbI Z".chars().collect::<Vec<_>>()))
            .prop_map(|(n, c)| format!("\x1b[{n}{c}")),
        2 => (number.clone(), number).prop_map(|(top, bottom)| format!("\x1b[{top};{bottom}r")),
        2 => prop::sample::select(vec![
            "\x1b[?1049h", "\x1b[?1049l", "\x1b[4h", "\x1b[4l", "\x1b[?6h", "\x1b[?6l", "\x1b[?7l", "\x1b[?7h",
            "\x1b[?25l", "\x1b[?25h", "\x1b[?2026h", "\x1b[?2026l", "\x1b#8", "\x1bc", "\x1b[!p", "\x1b[2J", "\x1b[3J",
            "\x1b]4;1;#00ff00\x07", "\x1b]104\x07", "\x1b[31;44m", "\x1b[7;4m", "\x1b[m", "\x1b(0", "\x1b(B", "\x1b[5b",
            "\x1b]8;;http://x\x07", "\x1b]8;;\x07", "\x1b[3g", "\x1bH",
        ]).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn what_was_printed_is_drawn_as_if_all_were(chunks in vec(vec(printed(), 1..8), 1..20)) {
        let room = inner(crate::frame(SIZE.cols, SIZE.rows).panes_area);
        let mut program = Screen::new(Size { rows: room.height, cols: room.width }, 100);
        let (mut partly, mut wholly) = (Terminal::new(), Terminal::new());
        for chunk in chunks {
            program.feed(NOW, chunk.concat().as_bytes());
            let vm = with_shell(SIZE.cols, SIZE.rows, &program);
            partly.draw(&vm, Changed::Output);
            wholly.draw(&vm, Changed::All);
            prop_assert_eq!(partly.looks(), wholly.looks());
        }
    }
}

#[test]
fn a_key_costs_its_line_and_nothing_costs_no_frame() {
    let room = inner(crate::frame(SIZE.cols, SIZE.rows).panes_area);
    let mut program = Screen::new(Size { rows: room.height, cols: room.width }, 100);
    let mut terminal = Terminal::new();
    let draw = |program: &Screen, terminal: &mut Terminal| {
        terminal.draw(&with_shell(SIZE.cols, SIZE.rows, program), Changed::Output)
    };
    assert!(draw(&program, &mut terminal) > 500, "the first is the whole");
    program.feed(NOW, b"q");
    let bytes = draw(&program, &mut terminal);
    assert!((1..100).contains(&bytes), "{bytes}");
    assert_eq!(draw(&program, &mut terminal), 0);
}

#[test]
fn another_screen_of_the_same_session_is_drawn_whole() {
    let room = inner(crate::frame(SIZE.cols, SIZE.rows).panes_area);
    let size = Size { rows: room.height, cols: room.width };
    let mut first = Screen::new(size, 100);
    (0..5).for_each(|_| drop(first.feed(NOW, b"of the first\r\n")));
    let mut second = Screen::new(size, 100);
    second.feed(NOW, b"of the second");
    let mut terminal = Terminal::new();
    terminal.draw(&with_shell(SIZE.cols, SIZE.rows, &first), Changed::All);
    terminal.draw(&with_shell(SIZE.cols, SIZE.rows, &second), Changed::Output);
    let shown = terminal.looks();
    assert!(shown.contains("of the second") && !shown.contains("of the first"), "{shown}");
}
