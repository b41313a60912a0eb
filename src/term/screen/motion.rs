//! Where the cursor goes, and which screen is shown: the scrolling region and origin mode bound its ways, and it is saved
//! and restored with the modes that belong to it.

use super::emulator::{
    Cell, CharsetIndex, ClearMode, Column, Cursor, Dimensions, Flags, Handler, Line, NamedPrivateMode, PrivateMode,
    TermMode,
};
use super::handler::Watched;
use std::ops::Range;

/// What DECSC saves: the cursor with its pen and character sets, and the modes that belong to it.
#[derive(Clone, Default)]
pub(super) struct Saved {
    cursor: Cursor<Cell>,
    origin: bool,
    charset: CharsetIndex,
}

impl Saved {
    /// The text moved, and the cursor with it from one place to another.
    pub(super) fn go_with(&mut self, before: &Cursor<Cell>, after: &Cursor<Cell>) {
        let place = &mut self.cursor.point;
        if *place == before.point {
            *place = after.point;
            self.cursor.input_needs_wrap = after.input_needs_wrap;
        } else {
            place.line = (place.line + (after.point.line - before.point.line).0).max(Line(0));
        }
    }
}

impl Watched<'_> {
    fn has(&self, mode: TermMode) -> bool {
        self.term.mode().contains(mode)
    }

    fn rows(&self) -> usize {
        self.term.screen_lines()
    }

    fn row(&self) -> usize {
        self.term.grid().cursor.point.line.0.max(0) as usize
    }

    /// Rows of the scrolling region.
    pub(super) fn region(&self) -> Range<usize> {
        self.policy.region.clone().unwrap_or(0..self.rows())
    }

    /// The row that programs count from: the region's first one in origin mode.
    pub(super) fn origin(&self) -> usize {
        if self.has(TermMode::ORIGIN) { self.region().start } else { 0 }
    }

    /// Goes to a place of the whole screen.
    fn place(&mut self, row: usize, col: usize) {
        let line = row as i32 - self.origin() as i32;
        self.term().goto(line, col);
    }

    /// Goes to a column of the cursor's row.
    pub(super) fn column(&mut self, col: usize) {
        let row = self.row();
        self.place(row, col);
    }

    /// Goes up: from inside the region or below no further than to its first row.
    pub(super) fn up(&mut self, count: usize) {
        let (row, region) = (self.row(), self.region());
        let top = if row >= region.start { region.start } else { 0 };
        let col = self.term.grid().cursor.point.column.0;
        self.place(row.saturating_sub(count).max(top), col);
    }

    /// Goes down: from inside the region or above no further than to its last row.
    pub(super) fn down(&mut self, count: usize) {
        let (row, region) = (self.row(), self.region());
        let bottom = if row < region.end { region.end - 1 } else { self.rows() - 1 };
        let col = self.term.grid().cursor.point.column.0;
        self.place((row + count).min(bottom), col);
    }

    /// Goes left; with reverse wraparound on to the end of the row before, if that goes on in this one (mode 45) or
    /// whatever it is (mode 1045).
    pub(super) fn left(&mut self, count: usize) {
        let any = self.policy.reverse_wrap_anywhere;
        if !(any || self.policy.reverse_wrap) || !self.has(TermMode::LINE_WRAP) {
            return self.term().move_backward(count);
        }
        let cols = self.term.columns();
        let region = self.region();
        let mut left = count.min(self.rows() * cols);
        // At the end of a row, what is yet to be wrapped counts as a column.
        if std::mem::take(&mut self.term().grid_mut().cursor.input_needs_wrap) {
            left -= 1;
        }
        while left > 0 {
            let step = left.min(self.term.grid().cursor.point.column.0);
            self.term().move_backward(step);
            left -= step;
            if left == 0 {
                break;
            }
            let row = self.row();
            let above = match row {
                _ if row == region.start && any => region.end - 1,
                0 => break,
                _ => row - 1,
            };
            let end = &self.term.grid()[Line(above as i32)][Column(cols - 1)];
            if !any && (row == region.start || !end.flags.contains(Flags::WRAPLINE)) {
                break;
            }
            self.place(above, cols - 1);
            left -= 1;
        }
    }

    /// Goes one column back (BS).
    pub(super) fn backspace(&mut self) {
        if self.policy.reverse_wrap || self.policy.reverse_wrap_anywhere {
            self.left(1);
        } else {
            self.term().backspace();
        }
    }

    /// Goes to the next tabulator stop. At the end of a row it stays, and what is yet to be wrapped still is.
    pub(super) fn tab(&mut self) {
        let term = self.term();
        if !term.grid().cursor.input_needs_wrap {
            term.put_tab(1);
        }
    }

    /// Goes back by so many tabulator stops (CBT); nothing is left to be wrapped then.
    pub(super) fn back_tab(&mut self, count: usize) {
        let term = self.term();
        term.grid_mut().cursor.input_needs_wrap = false;
        term.move_backward_tabs(count.min(usize::from(u16::MAX)) as u16);
    }

    /// Goes to the next row (LF), in newline mode to its beginning.
    #[inline]
    pub(super) fn line_feed(&mut self) {
        self.term().newline();
    }

    /// Sets the scrolling region by the numbers of its first and last row from 1; 0 is the screen's last one.
    pub(super) fn scrolling_region(&mut self, top: usize, bottom: usize) {
        let rows = self.rows();
        let bottom = if bottom == 0 { rows } else { bottom.min(rows) };
        if top < bottom {
            self.policy.region = (top > 1 || bottom < rows).then_some(top - 1..bottom);
            self.term().set_scrolling_region(top, Some(bottom));
        }
    }

    pub(super) fn clear_screen(&mut self, mode: ClearMode) {
        // The emulator leaves row 0 as it is when the cursor is in row 1.
        if matches!(mode, ClearMode::Above) && self.row() == 1 {
            self.term().grid_mut().reset_region(..Line(1));
        }
        self.term().clear_screen(mode);
    }

    /// Fills the screen (DECALN).
    pub(super) fn alignment_pattern(&mut self) {
        self.set_origin(false);
        self.scrolling_region(1, 0);
        self.term().decaln();
    }

    /// Switches origin mode without moving the cursor.
    fn set_origin(&mut self, on: bool) {
        let cursor = self.term.grid().cursor.clone();
        let mode = PrivateMode::Named(NamedPrivateMode::Origin);
        if on {
            self.term().set_private_mode(mode);
        } else {
            self.term().unset_private_mode(mode);
        }
        self.term().grid_mut().cursor = cursor;
    }

    /// DECSC. Each screen has its own.
    pub(super) fn save_cursor(&mut self) {
        self.policy.saved[usize::from(self.alternate())] = Some(Saved {
            cursor: self.term.grid().cursor.clone(),
            origin: self.has(TermMode::ORIGIN),
            charset: self.policy.active_charset,
        });
    }

    /// DECRC.
    pub(super) fn restore_cursor(&mut self) {
        let saved = self.policy.saved[usize::from(self.alternate())].clone().unwrap_or_default();
        self.set_origin(saved.origin);
        self.activate_charset(saved.charset);
        let (last_row, last_col) = (self.rows() - 1, self.term.columns() - 1);
        let cursor = &mut self.term().grid_mut().cursor;
        *cursor = saved.cursor;
        // The screen may have become smaller.
        cursor.point.line = cursor.point.line.min(Line(last_row as i32));
        cursor.point.column = cursor.point.column.min(Column(last_col));
    }

    /// Shows the alternate screen, empty, or the main one again with the cursor that it had (mode 1049).
    pub(super) fn alternate_screen(&mut self, on: bool) {
        if on == self.alternate() {
            // As in xterm and tmux, the cursor comes back also where the screen need not.
            if !on && self.policy.saved[0].is_some() {
                self.restore_cursor();
            }
            return;
        }
        if on {
            self.save_cursor();
        }
        self.term().swap_alt();
        if !on {
            self.restore_cursor();
        }
    }

    /// The same, but the cursor stays where it is (modes 47 and 1047).
    pub(super) fn alternate_cells(&mut self, on: bool) {
        if on != self.alternate() {
            let cursor = self.term.grid().cursor.clone();
            self.term().swap_alt();
            self.term().grid_mut().cursor = cursor;
        }
    }

    /// DECSTR: modes and the pen as at the beginning; cells and cursor stay.
    pub(super) fn soft_reset(&mut self) {
        self.set_mode(4, false);
        for (mode, on) in [(1, false), (7, true), (25, true), (45, false), (66, false), (1045, false)] {
            self.set_private_mode(mode, on);
        }
        let point = self.term.grid().cursor.point;
        self.set_origin(false);
        self.scrolling_region(1, 0);
        self.policy.pounds = [false; 4];
        self.policy.single_shift = None;
        self.policy.saved = Default::default();
        self.activate_charset(CharsetIndex::default());
        self.term().grid_mut().cursor = Cursor { point, ..Cursor::default() };
    }

    /// RIS: everything as at the beginning.
    pub(super) fn reset(&mut self) {
        let policy = &mut *self.policy;
        policy.region = None;
        policy.active_charset = CharsetIndex::default();
        policy.pounds = [false; 4];
        policy.single_shift = None;
        policy.saved = Default::default();
        policy.kitty = Default::default();
        policy.modify_other_keys = 0;
        policy.titles.clear();
        policy.preceding = None;
        policy.reset_modes();
        self.reset_all_colours();
        self.term().reset_state();
    }

    /// Sum of the characters in a rectangle, as DECRQCRA wants it: rows and columns from 0, the last ones included.
    pub(super) fn sum(&self, rows: Range<usize>, cols: Range<usize>) -> u16 {
        let grid = self.term.grid();
        let mut sum = 0u16;
        for row in rows.start..rows.end.min(self.rows()) {
            let cells = &grid[Line(row as i32)];
            for col in cols.start..cols.end.min(self.term.columns()) {
                let c = cells[Column(col)].c;
                sum = sum.wrapping_add(if c == '\t' { 0x20 } else { u32::from(c) as u16 });
            }
        }
        sum
    }
}
