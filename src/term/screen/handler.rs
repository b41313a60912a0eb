//! Stands between the parser and the emulator: text, marks on a cell, character sets, hyperlinks, titles, keyboard
//! protocols.

use super::emulator::{CharsetIndex, Column, Dimensions, Flags, Handler, Hyperlink, StandardCharset, TermMode};
use super::stream::Stream;
use super::{Emulator, Policy};
use std::fmt::Write as _;

/// Most combining marks, joiners and selectors on one cell. Longest cluster in use is about ten code points, and the
/// engine splits emoji sequences over several cells.
const MAX_MARKS: usize = 16;
/// Most hyperlinks opened while one history's worth of lines passes.
const MAX_LINKS: usize = 20_000;
/// Most bytes of their addresses.
const MAX_LINK_BYTES: usize = 4 << 20;
/// Most titles kept for later.
const MAX_TITLES: usize = 16;

/// The handler of one feed.
pub(super) struct Watched<'a> {
    pub(super) term: &'a mut Emulator,
    pub(super) policy: &'a mut Policy,
}

impl Watched<'_> {
    /// The emulator, for a change that may be seen.
    pub(super) fn term(&mut self) -> &mut Emulator {
        self.policy.touched = true;
        self.term
    }

    pub(super) fn alternate(&self) -> bool {
        self.term.mode().contains(TermMode::ALT_SCREEN)
    }

    /// Adds a mark to the character before the cursor, unless that has its fill.
    fn mark(&mut self, c: char) {
        let grid = self.term.grid();
        let point = grid.cursor.point;
        let mut col = point.column.0;
        if !grid.cursor.input_needs_wrap {
            col = col.saturating_sub(1);
        }
        let row = &grid[point.line];
        if row[Column(col)].flags.contains(Flags::WIDE_CHAR_SPACER) {
            col = col.saturating_sub(1);
        }
        let count = row[Column(col)].zerowidth().map_or(0, <[char]>::len);
        if count >= MAX_MARKS {
            self.policy.blocked.marks += 1;
            return;
        }
        if count == 0 {
            self.policy.marked_cells += 1;
        }
        self.term.input(c);
    }
}

/// Shortest run of plain ASCII that is worth the short way.
const MIN_RUN: usize = 8;
/// Bytes handed to the parser at once between two looks for such a run.
const PART: usize = 64;

/// Bytes that are printed as they are.
fn is_plain(byte: u8) -> bool {
    (0x20..0x7f).contains(&byte)
}

impl Watched<'_> {
    /// Takes in text that stands outside of escape sequences. Does what the parser and the emulator would do with it,
    /// but writes runs of plain ASCII into the grid at once: most of what programs print is that.
    pub(super) fn print(&mut self, stream: &mut Stream, text: &[u8]) {
        let mut rest = text;
        while let Some(&byte) = rest.first() {
            let run = rest.iter().position(|b| !is_plain(*b)).unwrap_or(rest.len());
            let taken = match byte {
                b'\r' => {
                    self.term().carriage_return();
                    1
                }
                b'\n' => {
                    self.line_feed();
                    1
                }
                _ if run >= MIN_RUN => {
                    self.print_plain(&rest[..run]);
                    self.policy.preceding = Some(char::from(rest[run - 1]));
                    run
                }
                _ => {
                    // Cut after an ASCII byte: the parser must not be left with the beginning of a character.
                    let cut = rest.iter().skip(PART).position(u8::is_ascii);
                    let part = cut.map_or(rest, |n| &rest[..=PART + n]);
                    stream.advance(self, part);
                    part.len()
                }
            };
            rest = &rest[taken..];
        }
    }

    /// Writes printable ASCII at the cursor.
    fn print_plain(&mut self, run: &[u8]) {
        self.policy.touched = true;
        let cursor = &self.term.grid().cursor;
        let plain = cursor.charsets[self.policy.active_charset] == StandardCharset::Ascii
            && self.policy.is_usual_text()
            && cursor.template.extra.is_none()
            && !self.term.mode().contains(TermMode::INSERT);
        let mut rest = run;
        while let Some(&byte) = rest.first() {
            // The last column is the emulator's business: wrapping depends on modes and regions.
            let written = if plain { self.fill_row(rest) } else { 0 };
            rest = &rest[written..];
            if written == 0 {
                self.input(char::from(byte));
                rest = &rest[1..];
            }
        }
    }

    /// Writes as much of `run` as fits into the row before its last column and meets no wide character; how much.
    fn fill_row(&mut self, run: &[u8]) -> usize {
        let grid = self.term.grid_mut();
        let (point, last) = (grid.cursor.point, grid.columns() - 1);
        let room = last.saturating_sub(point.column.0).min(run.len());
        if room == 0 || grid.cursor.input_needs_wrap {
            return 0;
        }
        let (fg, bg, flags) = (grid.cursor.template.fg, grid.cursor.template.bg, grid.cursor.template.flags);
        let cells = &mut grid[point.line][point.column..point.column + room];
        let mut written = 0;
        for (cell, byte) in cells.iter_mut().zip(run) {
            if cell.flags.intersects(Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER) {
                break;
            }
            cell.c = char::from(*byte);
            cell.fg = fg;
            cell.bg = bg;
            cell.flags = flags;
            if cell.extra.is_some() {
                cell.extra = None;
            }
            written += 1;
        }
        grid.cursor.point.column += written;
        written
    }
}

impl Watched<'_> {
    /// Writes a character at the cursor.
    #[inline]
    pub(super) fn input(&mut self, c: char) {
        self.policy.touched = true;
        // The first combining mark of Unicode is U+0300.
        if c >= '\u{300}' && unicode_width::UnicodeWidthChar::width(c) == Some(0) {
            self.mark(c);
        } else if self.policy.is_usual_text() {
            self.term.input(c);
        } else {
            self.input_unusual(c);
        }
    }

    /// The same while another character set than the active one is asked for, or a national one.
    #[cold]
    fn input_unusual(&mut self, c: char) {
        let active = self.policy.active_charset;
        let set = self.policy.single_shift.take().unwrap_or(active);
        let c = if c == '#' && self.policy.pounds[set as usize] { '£' } else { c };
        self.term.set_active_charset(set);
        self.term.input(c);
        self.term.set_active_charset(active);
    }

    /// Makes a character set the active one (SI, SO, LS2, LS3).
    pub(super) fn activate_charset(&mut self, index: CharsetIndex) {
        self.policy.active_charset = index;
        self.term.set_active_charset(index);
    }

    /// Puts a character set into one of the four places. Of the national ones the pound sign is known.
    pub(super) fn designate(&mut self, intermediate: u8, set: u8) {
        let index = match intermediate {
            b'(' => CharsetIndex::G0,
            b')' => CharsetIndex::G1,
            b'*' => CharsetIndex::G2,
            b'+' => CharsetIndex::G3,
            _ => return,
        };
        let charset = match set {
            b'0' | b'2' => StandardCharset::SpecialCharacterAndLineDrawing,
            b'A'
            | b'B'
            | b'1'
            | b'4'..=b'7'
            | b'9'
            | b'<'..=b'>'
            | b'C'
            | b'E'
            | b'H'
            | b'K'
            | b'Q'
            | b'R'
            | b'Y'
            | b'Z' => StandardCharset::Ascii,
            _ => return,
        };
        self.policy.pounds[index as usize] = set == b'A';
        self.term.configure_charset(index, charset);
    }

    /// Titles come from the guard; only the stack of them (`CSI 22 t`, `CSI 23 t`) comes here. Never sent back.
    pub(super) fn push_title(&mut self) {
        if self.policy.titles.len() >= MAX_TITLES {
            self.policy.titles.remove(0);
        }
        self.policy.titles.push(self.policy.title.clone());
    }

    pub(super) fn pop_title(&mut self) {
        if let Some(title) = self.policy.titles.pop() {
            self.policy.set_title(title);
        }
    }

    /// Opens a hyperlink (OSC 8) of these parameters and this address, or ends the one that is open.
    pub(super) fn hyperlink(&mut self, params: &[&[u8]]) {
        let [parameters, uri @ ..] = params else { return };
        // The address may contain semicolons, at which it was split.
        let uri = String::from_utf8(uri.join(&b';')).unwrap_or_default();
        let id = parameters.split(|b| *b == b':').find_map(|pair| pair.strip_prefix(b"id="));
        let id = id.and_then(|id| std::str::from_utf8(id).ok()).map(str::to_owned);
        let link = (!uri.is_empty()).then_some(Hyperlink { id, uri });
        if let Some(link) = &link {
            let bytes = link.uri.len() + link.id.as_ref().map_or(0, String::len);
            if self.policy.links >= MAX_LINKS || self.policy.link_bytes + bytes > MAX_LINK_BYTES {
                self.policy.blocked.links += 1;
                return self.term.set_hyperlink(None);
            }
            self.policy.links += 1;
            self.policy.link_bytes += bytes;
        }
        self.term.set_hyperlink(link);
    }

    pub(super) fn report_keyboard_mode(&mut self) {
        let flags = self.policy.kitty.current(self.alternate()).0;
        let _ = write!(self.policy.reply, "\x1b[?{flags}u");
    }

    pub(super) fn push_keyboard_mode(&mut self, flags: u8) {
        self.policy.kitty.push(self.alternate(), flags);
    }

    pub(super) fn pop_keyboard_modes(&mut self, count: usize) {
        self.policy.kitty.pop(self.alternate(), count);
    }

    /// `how`: 1 sets these flags alone, 2 these too, 3 clears them.
    pub(super) fn set_keyboard_mode(&mut self, flags: u8, how: usize) {
        let alternate = self.alternate();
        let now = self.policy.kitty.current(alternate).0;
        let flags = match how {
            2 => now | flags,
            3 => now & !flags,
            _ => flags,
        };
        self.policy.kitty.set(alternate, flags);
    }

    pub(super) fn report_modify_other_keys(&mut self) {
        let level = self.policy.modify_other_keys;
        let _ = write!(self.policy.reply, "\x1b[>4;{level}m");
    }
}
