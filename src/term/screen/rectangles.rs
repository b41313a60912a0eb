//! Rectangles of cells: copied, filled and erased (DECCRA, DECFRA, DECERA), and rows moved sideways (SL, SR, DECBI, DECFI).

use super::dispatch::Args;
use super::emulator::{Cell, Column, Dimensions, Flags, Line, TermMode};
use super::handler::Watched;
use std::ops::Range;

/// Rows and columns from 0.
struct Rectangle {
    rows: Range<usize>,
    cols: Range<usize>,
}

impl Watched<'_> {
    /// Rows that can be reached: the region's in origin mode.
    fn reachable(&self) -> Range<usize> {
        if self.term.mode().contains(TermMode::ORIGIN) { self.region() } else { 0..self.term.screen_lines() }
    }

    /// The rectangle of four numbers from `first` on; `None` where it is upside down or nowhere.
    fn rectangle(&self, args: Args<'_>, first: usize) -> Option<Rectangle> {
        let (reach, columns) = (self.reachable(), self.term.columns());
        let (top, left) = (args.or(first, 1) - 1 + reach.start, args.or(first + 1, 1) - 1);
        let bottom = args.or(first + 2, reach.len()).saturating_add(reach.start).min(reach.end);
        let right = args.or(first + 3, columns).min(columns);
        (top < bottom && left < right).then_some(Rectangle { rows: top..bottom, cols: left..right })
    }

    fn cells(&mut self, row: usize) -> &mut [Cell] {
        self.policy.repaint = true;
        let cells = &mut self.term().grid_mut()[Line(row as i32)];
        &mut cells[Column(0)..]
    }

    fn blank(&self) -> Cell {
        self.term.grid().cursor.template.bg.into()
    }

    /// DECERA.
    pub(super) fn erase_rectangle(&mut self, args: Args<'_>) {
        let blank = self.blank();
        if let Some(Rectangle { rows, cols }) = self.rectangle(args, 0) {
            rows.for_each(|row| self.cells(row)[cols.clone()].fill(blank.clone()));
        }
    }

    /// DECFRA.
    pub(super) fn fill_rectangle(&mut self, args: Args<'_>) {
        let Some(c) = char::from_u32(args.or(0, 0) as u32).filter(|c| matches!(c, ' '..='~' | '\u{a0}'..='\u{ff}'))
        else {
            return;
        };
        let mut cell = self.term.grid().cursor.template.clone();
        cell.c = c;
        if let Some(Rectangle { rows, cols }) = self.rectangle(args, 1) {
            rows.for_each(|row| self.cells(row)[cols.clone()].fill(cell.clone()));
        }
    }

    /// DECCRA. There is one page.
    pub(super) fn copy_rectangle(&mut self, args: Args<'_>) {
        let Some(Rectangle { rows, cols }) = self.rectangle(args, 0) else { return };
        let (reach, columns) = (self.reachable(), self.term.columns());
        let (top, left) = (args.or(5, 1) - 1 + reach.start, args.or(6, 1) - 1);
        let (height, width) =
            (rows.len().min(reach.end.saturating_sub(top)), cols.len().min(columns.saturating_sub(left)));
        if height == 0 || width == 0 {
            return;
        }
        // All of it first: the two may overlap.
        let copied: Vec<Vec<Cell>> =
            rows.take(height).map(|row| self.cells(row)[cols.start..cols.start + width].to_vec()).collect();
        for (row, mut copied) in (top..).zip(copied) {
            // What belongs to a place of the row stays there.
            copied.iter_mut().for_each(|cell| cell.flags.remove(Flags::WRAPLINE));
            self.cells(row)[left..left + width].clone_from_slice(&copied);
        }
    }

    /// Moves the rows of the region that the cursor is in by so many columns (SL, SR).
    pub(super) fn scroll_sideways(&mut self, count: usize, right: bool) {
        let (region, blank) = (self.region(), self.blank());
        let row = self.term.grid().cursor.point.line.0.max(0) as usize;
        if !region.contains(&row) {
            return;
        }
        for row in region {
            let cells = self.cells(row);
            let count = count.min(cells.len());
            if right {
                cells.rotate_right(count);
                cells[..count].fill(blank.clone());
            } else {
                cells.rotate_left(count);
                let kept = cells.len() - count;
                cells[kept..].fill(blank.clone());
            }
        }
    }

    fn col(&self) -> usize {
        self.term.grid().cursor.point.column.0
    }

    /// DECBI: one column back; at the first one the text goes forward.
    pub(super) fn back_index(&mut self) {
        match self.col() {
            0 => self.scroll_sideways(1, true),
            col => self.column(col - 1),
        }
    }

    /// DECFI: one column forward; at the last one the text goes back.
    pub(super) fn forward_index(&mut self) {
        let col = self.col();
        if col + 1 == self.term.columns() { self.scroll_sideways(1, false) } else { self.column(col + 1) }
    }
}
