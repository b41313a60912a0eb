//! One emulated screen with its history. The only file (with its submodules) that knows the emulator.
//!
//! Bytes pass the [`Guard`], the parser, then `handler` into the grid. A panic in there is contained: it ends this
//! screen, not the process.

mod capabilities;
mod cells;
mod changes;
mod dispatch;
mod handler;
mod motion;
mod palette;
mod place;
mod prompts;
mod rectangles;
mod reports;
mod sgr;
mod stream;
mod switches;
mod text;

/// What is used of the emulator crate, for this module and its submodules.
mod emulator {
    pub(super) use alacritty_terminal::event::{Event, EventListener};
    pub(super) use alacritty_terminal::grid::{Cursor, Dimensions, Grid, Scroll};
    pub(super) use alacritty_terminal::index::{Column, Line};
    pub(super) use alacritty_terminal::term::cell::{Cell, Flags, Hyperlink as Link};
    pub(super) use alacritty_terminal::term::color::COUNT as COLOR_COUNT;
    pub(super) use alacritty_terminal::term::{Config, Term, TermDamage, TermMode};
    pub(super) use alacritty_terminal::vte::ansi::{
        Attr, CharsetIndex, ClearMode, Color, CursorShape, CursorStyle, Handler, Hyperlink, LineClearMode, Mode,
        NamedColor, NamedMode, NamedPrivateMode, PrivateMode, Rgb, StandardCharset, TabulationClearMode,
    };
    pub(super) use alacritty_terminal::vte::{Params, ParamsIter, Parser, Perform};
}

use super::event::{Blocked, ScreenEvent};
use super::guard::{Guard, Piece};
use super::modes::{KittyStacks, Modes, MouseEncoding, MouseTracking};
use super::view::{Cursor, CursorShape, View};
use crate::domain::{Moment, Size, Span};
pub(super) use cells::Text;
use changes::Changes;
pub(super) use dispatch::MAX_REQUEST;
use emulator::{Config, Dimensions, Event, EventListener, NamedColor, Term, TermMode};
use handler::Watched;
use motion::Saved;
pub use palette::{is_light, rgb};
pub use prompts::Prompt;
use std::cell::Cell as StdCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stream::Stream;

/// How long a program may hold back its drawing (mode 2026) before the screen is shown as it is.
const SYNC_TIMEOUT: Span = Span(150);
/// Most bytes answered to one feed: a program that asks without reading must not fill our memory.
const MAX_REPLY: usize = 16 * 1024;
/// Most events of one feed; a program that sends more is not taken at its word.
const MAX_EVENTS: usize = 1024;
/// Largest screen. A cell takes 24 bytes, and sizes come from outside.
const MAX_SIZE: Size = Size { rows: 1000, cols: 2000 };

type Emulator = Term<Outbox>;

pub(super) use text::LogicalLine;

/// What one feed led to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fed {
    /// Answers to the program's queries: to be written to this program and to no other.
    pub reply: Vec<u8>,
    /// Whether the screen may look different.
    pub changed: bool,
    /// What the program asked for.
    pub events: Vec<ScreenEvent>,
}

/// Whether the emulator rang the bell; it only has a shared reference to this. Answers are ours, see `reports`.
#[derive(Clone, Default)]
struct Outbox(Arc<AtomicBool>);

impl EventListener for Outbox {
    fn send_event(&self, event: Event) {
        if let Event::Bell = event {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// What we keep beside the emulator; see `handler`.
#[derive(Default)]
struct Policy {
    kitty: KittyStacks,
    modify_other_keys: u8,
    title: String,
    titles: Vec<String>,
    events: Vec<ScreenEvent>,
    reply: String,
    blocked: Blocked,
    touched: bool,
    /// Whether every row looks different now.
    repaint: bool,
    active_charset: emulator::CharsetIndex,
    /// Which of G0 to G3 is the British one.
    pounds: [bool; 4],
    /// The character set of the next character alone.
    single_shift: Option<emulator::CharsetIndex>,
    /// The last character, which `CSI b` repeats.
    preceding: Option<char>,
    /// The scrolling region, unless it is the whole screen.
    region: Option<Range<usize>>,
    /// What DECSC saved on the main screen and on the alternate one.
    saved: [Option<Saved>; 2],
    /// Modes 45 and 1045: to the left of a row is the end of the one before.
    reverse_wrap: bool,
    reverse_wrap_anywhere: bool,
    /// Mode 67.
    backarrow: bool,
    /// Foreground and background of the whole screen are swapped (mode 5).
    inverse: bool,
    kept_modes: Vec<u16>,
    saved_modes: Vec<(u16, bool)>,
    /// Whether a synchronized update began just now, and whether one is under way.
    sync_begins: bool,
    in_sync: bool,
    /// The request under way (DECRQSS, XTGETTCAP): its kind, and its text so far.
    request: Option<(u8, Vec<u8>)>,
    /// Whether sums of cells are told (DECRQCRA).
    checksums: bool,
    /// Cells that got marks, hyperlinks opened and the bytes of their addresses, since [`Policy::window_start`].
    marked_cells: usize,
    links: usize,
    link_bytes: usize,
    window_start: u64,
    /// Whether the program changed any colour of the palette.
    recoloured: bool,
    /// Foreground and background of the outer terminal, for programs that ask.
    theme: Option<[(u8, u8, u8); 2]>,
}

impl Policy {
    /// Whether characters are written as they are, up to the active character set.
    fn is_usual_text(&self) -> bool {
        self.single_shift.is_none() && !self.pounds[self.active_charset as usize]
    }

    fn set_title(&mut self, title: String) {
        if title != self.title {
            self.title.clone_from(&title);
            // Only the last of several in a row is news.
            if let Some(ScreenEvent::Title(last)) = self.events.last_mut() {
                *last = title;
            } else {
                self.events.push(ScreenEvent::Title(title));
            }
        }
    }

    fn color_of(&self, term: &Emulator, index: usize) -> Option<(u8, u8, u8)> {
        let changed = (index < emulator::COLOR_COUNT).then(|| term.colors()[index]).flatten();
        if let Some(rgb) = changed {
            return Some((rgb.r, rgb.g, rgb.b));
        }
        let [fg, bg] = self.theme?;
        match index {
            0..=255 => Some(cells::palette(index as u8)),
            _ if index == NamedColor::Background as usize => Some(bg),
            _ if index == NamedColor::Foreground as usize || index == NamedColor::Cursor as usize => Some(fg),
            _ => None,
        }
    }
}

struct Extent(Size);

impl Dimensions for Extent {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        self.0.rows.into()
    }

    fn columns(&self) -> usize {
        self.0.cols.into()
    }
}

thread_local! {
    static CONTAINED: StdCell<bool> = const { StdCell::new(false) };
}

/// Whether this thread is inside a call whose panic a screen contains. A panic hook that gives the terminal back must
/// do nothing then: the program goes on.
#[must_use]
pub fn is_contained() -> bool {
    CONTAINED.get()
}

/// Runs `work`; a panic becomes its message.
fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    CONTAINED.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(false);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown failure".to_owned())
    })
}

/// One emulated screen with its history.
pub struct Screen {
    term: Emulator,
    stream: Stream,
    outbox: Outbox,
    guard: Guard,
    policy: Policy,
    history_limit: usize,
    sync_begun: u64,
    sync_deadline: Option<Moment>,
    /// Number of the line in row 0 of the main screen: lines that ever left it at the top.
    first_line: u64,
    epoch: u64,
    /// Whether the newest line of the history carries the bookmark by which scrolled lines are counted.
    bookmarked: bool,
    /// Whether a bookmark was left behind somewhere in the main screen.
    stale: bool,
    was_alternate: bool,
    changes: Changes,
    /// In order. Never more than lines are kept: each begins on a line of its own.
    prompts: Vec<Prompt>,
    dead: Option<String>,
}

impl Screen {
    /// An empty screen that keeps up to `history_lines` lines that scrolled off.
    #[must_use]
    pub fn new(size: Size, history_lines: usize) -> Self {
        let outbox = Outbox::default();
        Self {
            term: new_emulator(clamp(size), history_lines, &outbox),
            stream: Stream::default(),
            outbox,
            guard: Guard::default(),
            policy: Policy::default(),
            history_limit: history_lines,
            sync_begun: 0,
            sync_deadline: None,
            first_line: 0,
            epoch: 0,
            bookmarked: false,
            stale: false,
            was_alternate: false,
            changes: Changes::default(),
            prompts: Vec::new(),
            dead: None,
        }
    }

    /// Takes in output of the program.
    pub fn feed(&mut self, now: Moment, bytes: &[u8]) -> Fed {
        if self.dead.is_some() {
            return Fed { events: std::mem::take(&mut self.policy.events), ..Fed::default() };
        }
        let overdue = self.sync_deadline.is_some_and(|deadline| deadline <= now);
        self.work(now, |screen| {
            if overdue {
                screen.stream.release(&mut Watched { term: &mut screen.term, policy: &mut screen.policy });
            }
            let mut guard = std::mem::take(&mut screen.guard);
            guard.scan(now, bytes, |piece| {
                let Screen { term, stream, policy, .. } = &mut *screen;
                match piece {
                    Piece::Text(text) if !stream.is_holding() => Watched { term, policy }.print(stream, text),
                    Piece::Bytes(bytes) | Piece::Text(bytes) => stream.advance(&mut Watched { term, policy }, bytes),
                    Piece::Event(ScreenEvent::Title(title)) => policy.set_title(title),
                    Piece::Event(event) => {
                        // While drawing is held back nobody knows where the cursor will be.
                        if let (ScreenEvent::Prompt(mark), false) = (&event, stream.is_holding()) {
                            screen.count_scrolled();
                            screen.note_prompt(*mark);
                        }
                        screen.policy.events.push(event);
                    }
                }
            });
            screen.guard = guard;
        })
    }

    /// When a synchronized update (mode 2026) has lasted long enough: call [`Screen::flush_sync`] then.
    #[must_use]
    pub fn sync_deadline(&self) -> Option<Moment> {
        self.sync_deadline
    }

    /// Shows what a synchronized update held back, if its time is over.
    pub fn flush_sync(&mut self, now: Moment) -> Fed {
        if self.sync_deadline.is_none_or(|deadline| deadline > now) {
            return Fed::default();
        }
        self.feed(now, &[])
    }

    /// Runs `parse` contained, then collects what came of it.
    fn work(&mut self, now: Moment, parse: impl FnOnce(&mut Self)) -> Fed {
        self.policy.touched = false;
        if let Err(message) = contain(|| {
            parse(self);
            self.count_scrolled();
            self.changes.note(&mut self.term);
            if std::mem::take(&mut self.policy.repaint) {
                self.changes.all(&self.term);
            }
        }) {
            self.die(message);
        }
        if !self.stream.is_holding() {
            self.sync_deadline = None;
        } else if self.stream.begun() != self.sync_begun {
            self.sync_deadline = Some(now + SYNC_TIMEOUT);
        }
        self.sync_begun = self.stream.begun();

        let mut reply = std::mem::take(&mut self.policy.reply).into_bytes();
        if reply.len() > MAX_REPLY {
            self.policy.blocked.reply_bytes += reply.len() as u64;
            reply.clear();
        }
        let mut events = std::mem::take(&mut self.policy.events);
        events.truncate(MAX_EVENTS);
        if self.outbox.0.swap(false, Ordering::Relaxed) {
            events.push(ScreenEvent::Bell);
        }
        Fed { reply, changed: self.policy.touched, events }
    }

    /// Ends this screen: a fresh emulator shows the last text and why there is no more.
    fn die(&mut self, message: String) {
        let last = contain(|| self.text()).unwrap_or_default();
        let size = contain(|| self.size()).unwrap_or_default();
        self.outbox = Outbox::default();
        self.term = new_emulator(clamp(size), self.history_limit, &self.outbox);
        self.stream = Stream::default();
        self.guard = Guard::default();
        self.bookmarked = false;
        self.epoch += 1;
        self.prompts.clear();
        self.changes.all(&self.term);
        let text = format!("{}\r\n[the terminal emulation failed: {message}]", last.replace('\n', "\r\n"));
        let mut quiet = Policy::default();
        let _ =
            contain(|| self.stream.advance(&mut Watched { term: &mut self.term, policy: &mut quiet }, text.as_bytes()));
        self.policy.touched = true;
        self.policy.events.push(ScreenEvent::Died(message.clone()));
        self.dead = Some(message);
    }

    /// Why this screen takes no more output, if so.
    #[must_use]
    pub fn dead(&self) -> Option<&str> {
        self.dead.as_deref()
    }

    /// What it looks like now, as a number that grows with each change: for [`Screen::changed_since`].
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.changes.mark()
    }

    /// Rows of the live screen that may look different than at that mark.
    pub fn changed_since(&self, mark: u64) -> impl Iterator<Item = u16> {
        self.changes.since(mark)
    }

    /// Size in cells.
    #[must_use]
    pub fn size(&self) -> Size {
        Size { rows: self.term.screen_lines() as u16, cols: self.term.columns() as u16 }
    }

    /// Memory that this screen takes, in bytes, estimated from above.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        // A cell that carries a mark owns an allocation for it; sizes measured on 64 bits.
        const MARKED_CELL: usize = 192;
        const LINK: usize = 160;
        let grid = self.term.grid();
        let row = grid.columns() * size_of::<emulator::Cell>() + 48;
        // The emulator makes its history a thousand rows at a time.
        let rows = self.term.history_size().next_multiple_of(1000) + 2 * grid.screen_lines();
        let marked = (2 * self.policy.marked_cells).min(rows * grid.columns());
        rows * row
            + marked * MARKED_CELL
            + 2 * (self.policy.links * LINK + self.policy.link_bytes)
            + self.prompts.capacity() * size_of::<Prompt>()
            + self.stream.held_bytes()
    }

    fn is_alternate(&self) -> bool {
        self.term.mode().contains(TermMode::ALT_SCREEN)
    }

    /// What the program switched on.
    #[must_use]
    pub fn modes(&self) -> Modes {
        let mode = *self.term.mode();
        let on = |flag| mode.contains(flag);
        Modes {
            app_cursor: on(TermMode::APP_CURSOR),
            app_keypad: on(TermMode::APP_KEYPAD),
            bracketed_paste: on(TermMode::BRACKETED_PASTE),
            focus_events: on(TermMode::FOCUS_IN_OUT),
            alternate_screen: on(TermMode::ALT_SCREEN),
            alternate_scroll: on(TermMode::ALTERNATE_SCROLL),
            backarrow: self.policy.backarrow,
            newline: on(TermMode::LINE_FEED_NEW_LINE),
            mouse: if on(TermMode::MOUSE_MOTION) {
                MouseTracking::Motion
            } else if on(TermMode::MOUSE_DRAG) {
                MouseTracking::Drag
            } else if on(TermMode::MOUSE_REPORT_CLICK) {
                MouseTracking::Click
            } else {
                MouseTracking::Off
            },
            mouse_encoding: if on(TermMode::SGR_MOUSE) {
                MouseEncoding::Sgr
            } else if on(TermMode::UTF8_MOUSE) {
                MouseEncoding::Utf8
            } else {
                MouseEncoding::Legacy
            },
            kitty: self.policy.kitty.current(on(TermMode::ALT_SCREEN)),
            modify_other_keys: self.policy.modify_other_keys,
        }
    }

    /// The cursor on the live screen; `None` while the program hides it.
    #[must_use]
    pub fn cursor(&self) -> Option<Cursor> {
        use emulator::CursorShape as Shape;
        if !self.term.mode().contains(TermMode::SHOW_CURSOR) || self.dead.is_some() {
            return None;
        }
        let style = self.term.cursor_style();
        let shape = match style.shape {
            Shape::Hidden => return None,
            Shape::Block | Shape::HollowBlock => CursorShape::Block,
            Shape::Underline => CursorShape::Underline,
            Shape::Beam => CursorShape::Bar,
        };
        let point = self.term.grid().cursor.point;
        Some(Cursor { row: point.line.0 as u16, col: point.column.0 as u16, shape, blinking: style.blinking })
    }

    /// The title that the program gave, fit to be shown; empty without one.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.policy.title
    }

    /// What was not let through so far.
    #[must_use]
    pub fn blocked(&self) -> Blocked {
        let guard = self.guard.blocked();
        let own = self.policy.blocked;
        Blocked { marks: own.marks, reply_bytes: own.reply_bytes, links: own.links + guard.links, ..guard }
    }

    /// Tells the colours of the outer terminal, for programs that ask (OSC 4, 10, 11). Without, they get no answer.
    pub fn set_theme(&mut self, foreground: (u8, u8, u8), background: (u8, u8, u8)) {
        self.policy.theme = Some([foreground, background]);
    }

    /// Whether the program may ask for sums of cells (DECRQCRA). Off unless told: they tell it what others wrote.
    pub fn allow_checksums(&mut self, allowed: bool) {
        self.policy.checksums = allowed;
    }

    /// What is to be drawn, at the place scrolled to.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View::new(self, self.scroll_offset())
    }

    /// What is to be drawn with `offset` lines of the history in sight.
    #[must_use]
    pub fn view_at(&self, offset: usize) -> View<'_> {
        View::new(self, offset)
    }
}

fn clamp(size: Size) -> Size {
    Size { rows: size.rows.clamp(1, MAX_SIZE.rows), cols: size.cols.clamp(2, MAX_SIZE.cols) }
}

fn config(history_lines: usize) -> Config {
    Config { scrolling_history: history_lines, kitty_keyboard: false, ..Config::default() }
}

fn new_emulator(size: Size, history_lines: usize, outbox: &Outbox) -> Emulator {
    Term::new(config(history_lines), &Extent(size), outbox.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_this_screen_with_its_last_text_and_a_message() {
        let mut screen = Screen::new(Size { rows: 5, cols: 60 }, 10);
        screen.feed(Moment(0), b"last words");
        let fed = screen.work(Moment(0), |_| {
            assert!(is_contained(), "a panic hook can tell");
            panic!("a defect")
        });
        assert!(!is_contained());
        assert!(fed.changed);
        assert_eq!(fed.events, [ScreenEvent::Died("a defect".into())]);
        assert_eq!(screen.text(), "last words\n[the terminal emulation failed: a defect]");
        assert_eq!(screen.dead(), Some("a defect"));
        assert_eq!(screen.feed(Moment(1), b"more"), Fed::default());
        screen.resize(Size { rows: 5, cols: 20 });
        assert!(screen.text().starts_with("last words"));
    }
}
