//! Stands between the parser and the emulator: passes each action on, and keeps for itself what needs a policy of ours:
//! marks on a cell, hyperlinks, titles, keyboard protocols, answers to colour queries.

use super::emulator::{
    Attr, CharsetIndex, ClearMode, Column, CursorIcon, CursorShape, CursorStyle, Dimensions, Flags, Handler, Hyperlink,
    KeyboardModes, KeyboardModesApplyBehavior, LineClearMode, Mode, ModifyOtherKeys, PrivateMode, Processor, Rgb,
    ScpCharPath, ScpUpdateMode, StandardCharset, TabulationClearMode, TermMode,
};
use super::{Emulator, Policy, SyncFlag};
use std::fmt::Write as _;

/// Most combining marks, joiners and selectors on one cell. Longest cluster in use is about ten code points, and the
/// engine splits emoji sequences over several cells.
const MAX_MARKS: usize = 16;
/// Most hyperlinks opened while one history's worth of lines passes.
const MAX_LINKS: usize = 20_000;
/// Most bytes of their addresses.
const MAX_LINK_BYTES: usize = 4 << 20;

/// The handler of one feed.
pub(super) struct Watched<'a> {
    pub(super) term: &'a mut Emulator,
    pub(super) policy: &'a mut Policy,
}

impl Watched<'_> {
    fn alternate(&self) -> bool {
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
    pub(super) fn print(&mut self, parser: &mut Processor<SyncFlag>, text: &[u8]) {
        let mut rest = text;
        while let Some(&byte) = rest.first() {
            let run = rest.iter().position(|b| !is_plain(*b)).unwrap_or(rest.len());
            let taken = match byte {
                b'\r' => {
                    self.carriage_return();
                    1
                }
                b'\n' => {
                    self.linefeed();
                    1
                }
                _ if run >= MIN_RUN => {
                    // The parser must see the last character: `CSI b` repeats it.
                    self.print_plain(&rest[..run - 1]);
                    parser.advance(self, &rest[run - 1..run]);
                    run
                }
                _ => {
                    // Cut after an ASCII byte: the parser must not be left with the beginning of a character.
                    let cut = rest.iter().skip(PART).position(u8::is_ascii);
                    let part = cut.map_or(rest, |n| &rest[..=PART + n]);
                    parser.advance(self, part);
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
            && cursor.template.extra.is_none()
            && !self.term.mode().contains(TermMode::INSERT);
        let mut rest = run;
        while let Some(&byte) = rest.first() {
            // The last column is the emulator's business: wrapping depends on modes and regions.
            let written = if plain { self.fill_row(rest) } else { 0 };
            rest = &rest[written..];
            if written == 0 {
                self.term.input(char::from(byte));
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

macro_rules! pass_on {
    ($($name:ident($($arg:ident: $kind:ty),*);)*) => {
        $(
            #[inline]
            fn $name(&mut self, $($arg: $kind),*) {
                self.policy.touched = true;
                Handler::$name(self.term, $($arg),*);
            }
        )*
    };
}

impl Handler for Watched<'_> {
    pass_on! {
        set_cursor_style(style: Option<CursorStyle>);
        set_cursor_shape(shape: CursorShape);
        goto(line: i32, col: usize);
        goto_line(line: i32);
        goto_col(col: usize);
        insert_blank(count: usize);
        move_up(rows: usize);
        move_down(rows: usize);
        identify_terminal(intermediate: Option<char>);
        device_status(arg: usize);
        move_forward(cols: usize);
        move_backward(cols: usize);
        move_down_and_cr(rows: usize);
        move_up_and_cr(rows: usize);
        put_tab(count: u16);
        backspace();
        carriage_return();
        linefeed();
        bell();
        substitute();
        newline();
        set_horizontal_tabstop();
        scroll_up(rows: usize);
        scroll_down(rows: usize);
        insert_blank_lines(count: usize);
        delete_lines(count: usize);
        erase_chars(count: usize);
        delete_chars(count: usize);
        move_backward_tabs(count: u16);
        move_forward_tabs(count: u16);
        save_cursor_position();
        restore_cursor_position();
        clear_line(mode: LineClearMode);
        clear_screen(mode: ClearMode);
        clear_tabs(mode: TabulationClearMode);
        set_tabs(interval: u16);
        reverse_index();
        terminal_attribute(attr: Attr);
        set_mode(mode: Mode);
        unset_mode(mode: Mode);
        report_mode(mode: Mode);
        set_private_mode(mode: PrivateMode);
        unset_private_mode(mode: PrivateMode);
        report_private_mode(mode: PrivateMode);
        set_scrolling_region(top: usize, bottom: Option<usize>);
        set_keypad_application_mode();
        unset_keypad_application_mode();
        configure_charset(index: CharsetIndex, charset: StandardCharset);
        decaln();
        text_area_size_chars();
        set_mouse_cursor_icon(icon: CursorIcon);
        set_scp(path: ScpCharPath, update: ScpUpdateMode);
    }

    #[inline]
    fn input(&mut self, c: char) {
        self.policy.touched = true;
        // The first combining mark of Unicode is U+0300.
        if c >= '\u{300}' && unicode_width::UnicodeWidthChar::width(c) == Some(0) {
            self.mark(c);
        } else {
            self.term.input(c);
        }
    }

    fn set_active_charset(&mut self, index: CharsetIndex) {
        self.policy.active_charset = index;
        self.term.set_active_charset(index);
    }

    fn reset_state(&mut self) {
        self.policy.touched = true;
        self.policy.active_charset = CharsetIndex::default();
        self.policy.kitty = Default::default();
        self.policy.modify_other_keys = 0;
        self.policy.titles.clear();
        self.policy.recoloured = false;
        for index in 0..super::emulator::COLOR_COUNT {
            self.term.reset_color(index);
        }
        self.term.reset_state();
    }

    fn set_color(&mut self, index: usize, color: Rgb) {
        if index < super::emulator::COLOR_COUNT {
            self.policy.touched = true;
            self.policy.recoloured = true;
            self.term.set_color(index, color);
        }
    }

    fn reset_color(&mut self, index: usize) {
        if index < super::emulator::COLOR_COUNT {
            self.policy.touched = true;
            self.term.reset_color(index);
        }
    }

    fn dynamic_color_sequence(&mut self, prefix: String, index: usize, terminator: &str) {
        if let Some((r, g, b)) = self.policy.color_of(self.term, index) {
            let _ =
                write!(self.policy.reply, "\x1b]{prefix};rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}{terminator}");
        }
    }

    /// Titles come from the guard; only the stack of them (`CSI 22 t`, `CSI 23 t`) comes here. Never sent back.
    fn push_title(&mut self) {
        if self.policy.titles.len() >= 16 {
            self.policy.titles.remove(0);
        }
        self.policy.titles.push(self.policy.title.clone());
    }

    fn pop_title(&mut self) {
        if let Some(title) = self.policy.titles.pop() {
            self.policy.set_title(title);
        }
    }

    fn set_hyperlink(&mut self, link: Option<Hyperlink>) {
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

    fn report_keyboard_mode(&mut self) {
        let flags = self.policy.kitty.current(self.alternate()).0;
        let _ = write!(self.policy.reply, "\x1b[?{flags}u");
    }

    fn push_keyboard_mode(&mut self, mode: KeyboardModes) {
        self.policy.kitty.push(self.alternate(), mode.bits());
    }

    fn pop_keyboard_modes(&mut self, count: u16) {
        self.policy.kitty.pop(self.alternate(), count.into());
    }

    fn set_keyboard_mode(&mut self, mode: KeyboardModes, behavior: KeyboardModesApplyBehavior) {
        let alternate = self.alternate();
        let now = self.policy.kitty.current(alternate).0;
        let flags = match behavior {
            KeyboardModesApplyBehavior::Replace => mode.bits(),
            KeyboardModesApplyBehavior::Union => now | mode.bits(),
            KeyboardModesApplyBehavior::Difference => now & !mode.bits(),
        };
        self.policy.kitty.set(alternate, flags);
    }

    fn set_modify_other_keys(&mut self, mode: ModifyOtherKeys) {
        self.policy.modify_other_keys = match mode {
            ModifyOtherKeys::Reset => 0,
            ModifyOtherKeys::EnableExceptWellDefined => 1,
            ModifyOtherKeys::EnableAll => 2,
        };
    }

    fn report_modify_other_keys(&mut self) {
        let level = self.policy.modify_other_keys;
        let _ = write!(self.policy.reply, "\x1b[>4;{level}m");
    }
}
