//! Stands between the parser and the emulator: passes each action on, and keeps for itself what needs a policy of ours:
//! marks on a cell, hyperlinks, titles, keyboard protocols, answers to colour queries.

use super::emulator::{
    Attr, CharsetIndex, ClearMode, Column, CursorIcon, CursorShape, CursorStyle, Flags, Handler, Hyperlink,
    KeyboardModes, KeyboardModesApplyBehavior, LineClearMode, Mode, ModifyOtherKeys, PrivateMode, Rgb, ScpCharPath,
    ScpUpdateMode, StandardCharset, TabulationClearMode, TermMode,
};
use super::{Emulator, Policy};
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
        set_active_charset(index: CharsetIndex);
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

    fn reset_state(&mut self) {
        self.policy.touched = true;
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
