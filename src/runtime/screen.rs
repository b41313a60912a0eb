//! One client's screen: when it is drawn, and the bytes that go to its terminal.

use super::terminal::{FrameBuffer, FrameTerminal};
use crate::app::ClientCaps;
use crate::app::view_model::ViewModel;
use crate::config::{self, Options};
use crate::domain::{Moment, Size, Span};
use crate::term::CursorShape;
use crate::ui::{self, ColourDepth};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::cursor::SetCursorStyle;
use crossterm::{queue, terminal};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{TerminalOptions, Viewport};
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
    terminal: FrameTerminal,
    buffer: FrameBuffer,
    frames: Frames,
    style: ui::Style,
    caps: ClientCaps,
    size: Size,
    dirty: bool,
    under_way: bool,
    /// When the frames so far would be over if they came evenly.
    even: Moment,
    cursor: Option<(CursorShape, bool)>,
    /// For the clipboard with the next frame: only the last counts, and a terminal that is stuck costs no memory.
    clipboard: Option<String>,
    /// Ring with the next frame.
    bell: bool,
}

impl ClientScreen {
    /// A screen whose frames go to `frames`, one at a time: the next one after [`ClientScreen::drained`].
    ///
    /// # Errors
    /// When the drawing buffer cannot be made.
    pub fn new(size: Size, caps: ClientCaps, style: ui::Style, frames: Frames) -> io::Result<Self> {
        let buffer = FrameBuffer::default();
        let terminal = frame_terminal(&buffer, size)?;
        Ok(Self {
            terminal,
            buffer,
            frames,
            style,
            caps,
            size,
            dirty: true,
            under_way: false,
            even: Moment(0),
            cursor: None,
            clipboard: None,
            bell: false,
        })
    }

    /// A screen as the settings and its terminal want it.
    ///
    /// # Errors
    /// When the drawing buffer cannot be made.
    pub fn for_terminal(options: &Options, mut caps: ClientCaps, size: Size, frames: Frames) -> io::Result<Self> {
        if let Some(ascii) = options.ascii {
            caps.unicode = !ascii;
        }
        let theme = match options.theme {
            config::Theme::Dark => ui::Theme::dark(),
            config::Theme::Light => ui::Theme::light(),
            config::Theme::Mono => ui::Theme::mono(),
        };
        let style = ui::Style::new(&theme, ColourDepth::from_count(caps.colours), caps.unicode);
        Self::new(size, caps, style, frames)
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

    /// Something changed.
    pub fn mark_dirty(&mut self) {
        self.dirty = true;
    }

    /// The last frame was taken.
    pub fn drained(&mut self) {
        self.under_way = false;
    }

    /// Whether it is to be drawn now: at once after a quiet time, else at the frame rate.
    #[must_use]
    pub fn may_draw(&self, now: Moment, frame: Span) -> bool {
        self.next_frame(frame).is_some_and(|at| at <= now)
    }

    /// When it is to be drawn; `None` while nothing changed or the last frame is under way.
    #[must_use]
    pub fn next_frame(&self, frame: Span) -> Option<Moment> {
        let ahead = Span(frame.0 * (AT_ONCE - 1));
        (self.dirty && !self.under_way).then(|| Moment(self.even.0.saturating_sub(ahead.0)))
    }

    /// Draws and sends a frame.
    pub fn draw(&mut self, vm: &ViewModel<'_>, now: Moment, frame: Span) {
        if vm.size != self.size {
            self.size = vm.size;
            match frame_terminal(&self.buffer, vm.size) {
                Ok(terminal) => self.terminal = terminal,
                Err(e) => tracing::error!("no screen of {}x{}: {e}", vm.size.cols, vm.size.rows),
            }
            let mut buffer = self.buffer.clone();
            let _ = queue!(buffer, terminal::Clear(terminal::ClearType::All));
        }
        self.dirty = false;
        self.even = self.even.max(now) + frame;
        if let Some(text) = self.clipboard.take() {
            let _ = write!(self.buffer, "\x1b]52;c;{text}\x07");
        }
        if std::mem::take(&mut self.bell) {
            let _ = self.buffer.write_all(b"\x07");
        }
        let style = &self.style;
        let before = self.buffer.take();
        if let Err(e) = self.terminal.draw(|frame| ui::draw(frame, vm, style)) {
            tracing::error!("drawing failed: {e}");
        }
        self.shape_cursor(vm);
        let frame = self.buffer.take();
        if frame.is_empty() && before.is_empty() {
            return;
        }
        let mut bytes = Vec::with_capacity(before.len() + frame.len() + 16);
        let _ = queue!(bytes, terminal::BeginSynchronizedUpdate);
        bytes.extend_from_slice(&before);
        bytes.extend_from_slice(&frame);
        let _ = queue!(bytes, terminal::EndSynchronizedUpdate);
        self.send(bytes);
    }

    /// The program's cursor shape becomes the terminal's; the place is set with the frame.
    fn shape_cursor(&mut self, vm: &ViewModel<'_>) {
        let area = Rect::new(0, 0, self.size.cols, self.size.rows);
        let Some(cursor) = ui::cursor(area, vm, &self.style) else { return };
        let wanted = (cursor.shape, cursor.blinking);
        if self.cursor.replace(wanted) == Some(wanted) {
            return;
        }
        let style = match wanted {
            (CursorShape::Block, true) => SetCursorStyle::BlinkingBlock,
            (CursorShape::Block, false) => SetCursorStyle::SteadyBlock,
            (CursorShape::Underline, true) => SetCursorStyle::BlinkingUnderScore,
            (CursorShape::Underline, false) => SetCursorStyle::SteadyUnderScore,
            (CursorShape::Bar, true) => SetCursorStyle::BlinkingBar,
            (CursorShape::Bar, false) => SetCursorStyle::SteadyBar,
        };
        let mut buffer = self.buffer.clone();
        let _ = queue!(buffer, style);
    }

    /// Puts text on the clipboard of the client's machine (OSC 52, which works over ssh).
    pub fn clipboard(&mut self, text: &str) {
        if text.len() <= CLIPBOARD_BYTES {
            self.clipboard = Some(BASE64.encode(text));
            self.dirty = true;
        }
    }

    /// Rings.
    pub fn bell(&mut self) {
        self.bell = true;
        self.dirty = true;
    }

    fn send(&mut self, bytes: Vec<u8>) {
        self.under_way = (self.frames)(bytes);
    }
}

/// A fixed viewport: the size comes from the client, not from the terminal of this process.
fn frame_terminal(buffer: &FrameBuffer, size: Size) -> io::Result<FrameTerminal> {
    let area = Rect::new(0, 0, size.cols.max(1), size.rows.max(1));
    let options = TerminalOptions { viewport: Viewport::Fixed(area) };
    FrameTerminal::with_options(CrosstermBackend::new(buffer.clone()), options)
}
