//! One client's screen: when it is drawn, and the bytes that go to its terminal.

use super::wishes::{Wish, Wishes};
use crate::app::view_model::{PaneContent, Printed, ViewModel};
use crate::app::{Changed, ClientCaps, TRUE_COLOUR, TerminalAnswer};
use crate::config::{self, Options};
use crate::domain::{Moment, SessionId, Size, Span};
use crate::term::{CursorShape, is_light};
use crate::ui::{self, ColourDepth};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::cursor::{Hide, MoveTo, SetCursorStyle, Show};
use crossterm::{queue, terminal};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// More than this is not handed to a terminal's clipboard: many cut it short without a word.
const CLIPBOARD_BYTES: usize = 8 * 1024 * 1024;

/// After a quiet time that many frames are drawn at once: what a person does often changes the screen twice, at once and
/// when a program has answered.
const AT_ONCE: u64 = 3;

/// Where frames go. False when nobody takes them any more.
pub type Frames = Box<dyn Fn(Vec<u8>) -> bool + Send>;

/// A terminal that shows the model.
pub struct ClientScreen {
    /// What it shows.
    shown: Buffer,
    /// Where the whole is drawn, to be compared with that.
    next: Buffer,
    /// The marks of the sessions' screens that it shows.
    marks: BTreeMap<SessionId, u64>,
    frames: Frames,
    style: ui::Style,
    /// The theme that the settings name.
    theme: config::Theme,
    /// Its terminal's background is a light one.
    light: bool,
    caps: ClientCaps,
    size: Size,
    changed: Changed,
    /// Frames that its terminal has not taken yet.
    under_way: u8,
    /// What it typed was answered: that is shown at once.
    answer: bool,
    /// When the frames so far would be over if they came evenly.
    even: Moment,
    /// Place of its cursor, where it shows one.
    cursor: Option<(u16, u16)>,
    shape: Option<(CursorShape, bool)>,
    /// For what only the process in the terminal can do.
    wishes: Option<Wishes>,
    /// For the clipboard with the next frame: only the last counts, and a terminal that is stuck costs no memory.
    clipboard: Option<String>,
    /// Ring with the next frame.
    bell: bool,
}

impl ClientScreen {
    /// A screen whose frames go to `frames`, one at a time: the next one after [`ClientScreen::drained`].
    #[must_use]
    pub fn new(size: Size, caps: ClientCaps, style: ui::Style, frames: Frames) -> Self {
        Self {
            shown: blank(size),
            next: blank(size),
            marks: BTreeMap::new(),
            frames,
            style,
            theme: config::Theme::default(),
            light: false,
            caps,
            size,
            changed: Changed::All,
            under_way: 0,
            answer: false,
            even: Moment(0),
            cursor: None,
            shape: None,
            wishes: None,
            clipboard: None,
            bell: false,
        }
    }

    /// The same with somebody in the terminal who does what is wished for.
    #[must_use]
    pub fn with_wishes(self, wishes: Wishes) -> Self {
        Self { wishes: Some(wishes), ..self }
    }

    /// Wishes for something. False if nobody there does that.
    pub fn wish(&self, wish: Wish) -> bool {
        self.wishes.as_ref().is_some_and(|wishes| wishes(wish))
    }

    /// The terminal shows nothing any more.
    pub fn cleared(&mut self) {
        self.shown = blank(self.size);
        self.marks.clear();
        self.cursor = None;
        self.shape = None;
        self.changed = Changed::All;
    }

    /// A screen as the settings and its terminal want it.
    #[must_use]
    pub fn for_terminal(options: &Options, mut caps: ClientCaps, size: Size, frames: Frames) -> Self {
        if let Some(ascii) = options.ascii {
            caps.unicode = !ascii;
        }
        let style = style(options.theme, false, caps);
        Self { theme: options.theme, ..Self::new(size, caps, style, frames) }
    }

    /// Its terminal said something of itself: what it shows from now on goes by that.
    pub fn answered(&mut self, answer: TerminalAnswer) {
        match answer {
            // Without colours somebody wants none.
            TerminalAnswer::TrueColour if self.caps.colours == 0 => return,
            TerminalAnswer::TrueColour => self.caps.colours = TRUE_COLOUR,
            TerminalAnswer::Background(colour) => self.light = is_light(colour),
            TerminalAnswer::Foreground(_) => return,
        }
        let style = style(self.theme, self.light, self.caps);
        if std::mem::replace(&mut self.style, style.clone()) != style {
            self.note(Changed::All);
        }
    }

    /// Its size.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// What its terminal can do.
    #[must_use]
    pub fn caps(&self) -> ClientCaps {
        self.caps
    }

    /// Something is to be drawn again.
    pub fn note(&mut self, changed: Changed) {
        self.changed = self.changed.max(changed);
    }

    /// The last frame was taken.
    pub fn drained(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// What its person typed was answered by the program.
    pub fn answer(&mut self) {
        self.answer = true;
    }

    /// Whether such an answer is to be shown now.
    #[must_use]
    pub fn has_answer(&self) -> bool {
        self.answer && self.under_way < 2
    }

    /// Whether it is to be drawn now: at once after a quiet time and when there is an answer, else at the frame rate.
    #[must_use]
    pub fn may_draw(&self, now: Moment, frame: Span) -> bool {
        self.next_frame(frame).is_some_and(|at| at <= now)
    }

    /// When it is to be drawn; `None` while nothing changed or the last frame is under way.
    #[must_use]
    pub fn next_frame(&self, frame: Span) -> Option<Moment> {
        // An answer does not wait until the frame before it was taken.
        if self.answer && self.changed > Changed::Nothing && self.under_way < 2 {
            return Some(Moment(0));
        }
        let ahead = Span(frame.0 * (AT_ONCE - 1));
        (self.changed > Changed::Nothing && self.under_way == 0).then(|| Moment(self.even.0.saturating_sub(ahead.0)))
    }

    /// Whether nothing changed but what programs show.
    #[must_use]
    pub fn only_printed(&self) -> bool {
        self.changed == Changed::Output
    }

    /// Draws the lines that programs printed on, and sends a frame. False if the whole is to be drawn.
    #[must_use]
    pub fn draw_printed(&mut self, panes: &[Printed<'_>], now: Moment, frame: Span) -> bool {
        let marks = &self.marks;
        let since = |session: &SessionId| marks.get(session).copied();
        let Some(lines) = ui::lines_printed_on(self.shown.area, panes, &self.style, since) else { return false };
        let cursor = ui::cursor_among(self.shown.area, panes);
        self.send_frame(now, frame, |screen, out| {
            let mut drawn = false;
            for line in &lines {
                drawn |= screen.replace_line(out, line)?;
            }
            screen.place_cursor(out, cursor, drawn)
        });
        panes.iter().for_each(|pane| _ = self.marks.insert(pane.session.clone(), pane.screen.mark()));
        true
    }

    /// Draws everything, and sends a frame.
    pub fn draw(&mut self, vm: &ViewModel<'_>, now: Moment, frame: Span) {
        let cursor = ui::cursor(blank(vm.size).area, vm, &self.style);
        self.send_frame(now, frame, |screen, out| {
            if vm.size != screen.size {
                screen.size = vm.size;
                (screen.shown, screen.next) = (blank(vm.size), blank(vm.size));
                queue!(out, terminal::Clear(terminal::ClearType::All))?;
                screen.cursor = None;
            }
            let drawn = screen.draw_whole(out, vm)?;
            screen.place_cursor(out, cursor, drawn)
        });
        self.marks.clear();
        for pane in &vm.panes {
            if let PaneContent::Terminal { session, screen, .. } = &pane.content {
                self.marks.insert(session.clone(), screen.mark());
            }
        }
    }

    fn send_frame(&mut self, now: Moment, frame: Span, draw: impl FnOnce(&mut Self, &mut Vec<u8>) -> io::Result<()>) {
        (self.changed, self.answer) = (Changed::Nothing, false);
        self.even = self.even.max(now) + frame;
        let mut bytes = Vec::new();
        let _ = queue!(bytes, terminal::BeginSynchronizedUpdate);
        let before = bytes.len();
        if let Some(text) = self.clipboard.take() {
            let _ = write!(bytes, "\x1b]52;c;{text}\x07");
        }
        if std::mem::take(&mut self.bell) {
            bytes.push(b'\x07');
        }
        if let Err(e) = draw(self, &mut bytes) {
            tracing::error!("drawing failed: {e}");
        }
        if bytes.len() == before {
            return;
        }
        let _ = queue!(bytes, terminal::EndSynchronizedUpdate);
        self.send(bytes);
    }

    /// Puts a line in the place of what is shown there, and writes what is different. Whether anything was.
    fn replace_line(&mut self, out: &mut Vec<u8>, line: &Buffer) -> io::Result<bool> {
        let mut before = Buffer::empty(line.area);
        for x in line.area.left()..line.area.right() {
            let at = (x, line.area.y);
            std::mem::swap(&mut before[at], &mut self.shown[at]);
            self.shown[at].clone_from(&line[at]);
        }
        write_cells(out, &before, line)
    }

    /// Draws everything, and writes what is different. Whether anything was.
    fn draw_whole(&mut self, out: &mut Vec<u8>, vm: &ViewModel<'_>) -> io::Result<bool> {
        ui::paint(&mut self.next, vm, &self.style);
        let drawn = write_cells(out, &self.shown, &self.next)?;
        std::mem::swap(&mut self.shown, &mut self.next);
        Ok(drawn)
    }

    /// The program's cursor becomes the terminal's. Drawing moves it: it is placed again after that.
    fn place_cursor(&mut self, out: &mut Vec<u8>, cursor: Option<ui::Cursor>, drawn: bool) -> io::Result<()> {
        let place = cursor.map(|cursor| (cursor.x, cursor.y));
        if drawn || place != self.cursor {
            self.cursor = place;
            match place {
                Some((x, y)) => queue!(out, Show, MoveTo(x, y))?,
                None => queue!(out, Hide)?,
            }
        }
        let Some(cursor) = cursor else { return Ok(()) };
        let wanted = (cursor.shape, cursor.blinking);
        if self.shape.replace(wanted) == Some(wanted) {
            return Ok(());
        }
        let style = match wanted {
            (CursorShape::Block, true) => SetCursorStyle::BlinkingBlock,
            (CursorShape::Block, false) => SetCursorStyle::SteadyBlock,
            (CursorShape::Underline, true) => SetCursorStyle::BlinkingUnderScore,
            (CursorShape::Underline, false) => SetCursorStyle::SteadyUnderScore,
            (CursorShape::Bar, true) => SetCursorStyle::BlinkingBar,
            (CursorShape::Bar, false) => SetCursorStyle::SteadyBar,
        };
        queue!(out, style)
    }

    /// Puts text on the clipboard of the client's machine (OSC 52, which works over ssh).
    pub fn clipboard(&mut self, text: &str) {
        if text.len() <= CLIPBOARD_BYTES {
            self.clipboard = Some(BASE64.encode(text));
            self.note(Changed::Output);
        }
    }

    /// Rings.
    pub fn bell(&mut self) {
        self.bell = true;
        self.note(Changed::Output);
    }

    fn send(&mut self, bytes: Vec<u8>) {
        self.under_way += u8::from((self.frames)(bytes));
    }
}

/// The look that a theme of the settings has in a terminal.
fn style(theme: config::Theme, light: bool, caps: ClientCaps) -> ui::Style {
    let theme = match theme {
        config::Theme::Auto if light => ui::Theme::light(),
        config::Theme::Auto | config::Theme::Dark => ui::Theme::dark(),
        config::Theme::Light => ui::Theme::light(),
        config::Theme::Mono => ui::Theme::mono(),
    };
    ui::Style::new(&theme, ColourDepth::from_count(caps.colours), caps.unicode)
}

/// Writes the cells in which the two differ, as they are in the second. Whether there are any.
fn write_cells(out: &mut Vec<u8>, before: &Buffer, after: &Buffer) -> io::Result<bool> {
    let different = before.diff(after);
    if different.is_empty() {
        return Ok(false);
    }
    CrosstermBackend::new(out).draw(different.into_iter())?;
    Ok(true)
}

/// The size comes from the client, not from the terminal of this process.
fn blank(size: Size) -> Buffer {
    Buffer::empty(Rect::new(0, 0, size.cols.max(1), size.rows.max(1)))
}
