//! What a pane costs: output taken in, a whole screen drawn, one line drawn after a key, a frame that is different.
//!
//! `cargo bench --profile dev --bench terminal`: in the profile that everything else is built in. The same kinds of output as `throughput.py`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hermes_tui::app::view_model::{PaneContent, Printed};
use hermes_tui::app::{Changed, ClientCaps};
use hermes_tui::domain::{Size, Span};
use hermes_tui::runtime::screen::ClientScreen;
use hermes_tui::term::Screen;
use hermes_tui::ui::{ColourDepth, Style, Theme};
use scene::{NOW, frame, inner, with_shell};
use std::hint::black_box;

#[allow(dead_code)]
#[path = "../tests/screens/scene.rs"]
mod scene;

const SIZE: Size = Size { rows: 40, cols: 120 };
/// Output of each kind, at least. Bytes.
const OUTPUT: usize = 1 << 20;

/// Numbers that look like chance and are the same each time.
struct Chance(u32);

impl Chance {
    fn next(&mut self, below: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % below
    }

    fn letter(&mut self) -> char {
        char::from(b'!' + self.next(94) as u8)
    }
}

fn repeated(mut line: impl FnMut(&mut Chance) -> String) -> Vec<u8> {
    let (mut out, mut chance) = (Vec::new(), Chance(7));
    while out.len() < OUTPUT {
        out.extend(line(&mut chance).bytes());
    }
    out
}

fn kinds() -> [(&'static str, Vec<u8>); 4] {
    let text = repeated(|chance| (0..110).map(|_| chance.letter()).chain("\r\n".chars()).collect());
    let colours = repeated(|chance| {
        let (r, g, b) = (chance.next(256), chance.next(256), chance.next(256));
        format!("\x1b[38;2;{r};{g};{b}m{}", chance.letter())
    });
    let scripts = repeated(|chance| {
        format!("日本語テキスト混在 naïve café Ελληνικά кириллица 한국어 🚀✅ {}\r\n", chance.letter())
    });
    let cursor =
        repeated(|chance| format!("\x1b[{};{}H{}", 1 + chance.next(38), 1 + chance.next(100), chance.letter()));
    [("text", text), ("colours", colours), ("scripts", scripts), ("cursor", cursor)]
}

/// A client's screen, without a terminal behind it.
struct Shown(ClientScreen);

impl Shown {
    fn new() -> Self {
        let caps = ClientCaps { colours: 1 << 24, unicode: true };
        let style = Style::new(&Theme::dark(), ColourDepth::from_count(caps.colours), true);
        Self(ClientScreen::new(SIZE, caps, style, Box::new(|frame| !black_box(frame).is_empty())))
    }

    /// Draws all there is and compares it with what is shown.
    fn draw(&mut self, screen: &Screen) {
        self.0.draw(&with_shell(SIZE.cols, SIZE.rows, screen), NOW, Span(16));
        self.0.drained();
    }

    /// Draws the lines that changed.
    fn draw_printed(&mut self, screen: &Screen) {
        let vm = with_shell(SIZE.cols, SIZE.rows, screen);
        let PaneContent::Terminal { session, .. } = &vm.panes[0].content else { return };
        let printed = [Printed { session, screen, inner: vm.panes[0].inner, focused: true }];
        self.0.note(Changed::Output);
        assert!(self.0.draw_printed(&printed, NOW, Span(16)), "lines are enough");
        self.0.drained();
    }
}

/// A program's screen that fills its pane.
fn program(history: usize) -> Screen {
    let room = inner(frame(SIZE.cols, SIZE.rows).panes_area);
    Screen::new(Size { rows: room.height, cols: room.width }, history)
}

fn parse(c: &mut Criterion) {
    let mut group = c.benchmark_group("take in 1 MiB");
    for (kind, output) in kinds() {
        group.throughput(Throughput::Bytes(output.len() as u64));
        let mut screen = program(10_000);
        group.bench_function(kind, |b| {
            b.iter(|| output.chunks(64 << 10).for_each(|piece| _ = black_box(screen.feed(NOW, piece))));
        });
    }
}

fn draw(c: &mut Criterion) {
    let mut group = c.benchmark_group("draw");
    for (kind, output) in kinds() {
        let mut screens = [&output[..200_000], &output[300_000..500_000]].map(|part| {
            let mut screen = program(0);
            screen.feed(NOW, part);
            screen
        });
        let mut shown = Shown::new();
        group.bench_function(format!("everything, all of it new: {kind}"), |b| {
            b.iter(|| {
                shown.draw(&screens[0]);
                screens.reverse();
            });
        });
        group.bench_function(format!("everything, nothing of it new: {kind}"), |b| b.iter(|| shown.draw(&screens[0])));
    }
    let mut screen = program(0);
    let mut shown = Shown::new();
    shown.draw(&screen);
    let mut letters = "qw".chars().cycle();
    group.bench_function("the line of a key", |b| {
        b.iter(|| {
            screen.feed(NOW, format!("{}\x08", letters.next().unwrap_or('q')).as_bytes());
            shown.draw_printed(&screen);
        });
    });
    group.finish();
}

criterion_group!(benches, parse, draw);
criterion_main!(benches);
