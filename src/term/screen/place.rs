//! Where things are when text moves: scrolling, numbers of lines, and the reader's place when the size changes.
//!
//! The emulator tells none of this. A bit of a cell that it does not use serves as a bookmark: it travels with the text.

use super::emulator::{Cell, Column, Cursor, Dimensions, Flags, Line, Scroll};
use super::{Extent, Screen, clamp, config, contain};
use crate::domain::Size;

/// A bit that the emulator does not use: it marks a cell so that it can be found again after the text moved.
const BOOKMARK: Flags = Flags::from_bits_retain(0x8000);

impl Screen {
    /// Counts the lines that went into the history, by the bookmark on the line that was the newest there.
    pub(super) fn count_scrolled(&mut self) {
        let alternate = self.is_alternate();
        if alternate != self.was_alternate {
            self.was_alternate = alternate;
            self.epoch += 1;
        }
        if alternate {
            return;
        }
        let history = self.term.history_size() as i32;
        if std::mem::take(&mut self.stale) {
            for line in -history..self.term.screen_lines() as i32 {
                let row = &mut self.term.grid_mut()[Line(line)];
                row[..].iter_mut().for_each(|cell| cell.flags.remove(BOOKMARK));
            }
            self.renumber(history);
        } else if self.bookmarked {
            let found = (1..=history).find(|n| self.term.grid()[Line(-n)][Column(0)].flags.contains(BOOKMARK));
            match found {
                Some(1) => return,
                Some(n) => {
                    self.term.grid_mut()[Line(-n)][Column(0)].flags.remove(BOOKMARK);
                    self.first_line += n as u64 - 1;
                }
                // Cleared, or more lines came at once than the history holds: no old number is valid any more.
                None => self.renumber(history),
            }
        } else if history as usize >= self.history_limit && history > 0 {
            self.renumber(history);
        } else {
            self.first_line += history as u64;
        }
        self.set_bookmark();
        if self.first_line.saturating_sub(self.policy.window_start)
            > (self.history_limit + self.term.screen_lines()) as u64
        {
            self.policy.window_start = self.first_line;
            self.policy.marked_cells = 0;
            self.policy.links = 0;
            self.policy.link_bytes = 0;
        }
    }

    /// After text was wrapped into more rows, brings back what went into the history although rows below the cursor
    /// are empty.
    fn fill_from_history(&mut self, history_before: usize) {
        let size = self.size();
        let below = self.term.grid().cursor.point.line.0 + 1..i32::from(size.rows);
        let empty = below.rev().take_while(|line| self.term.grid()[Line(*line)].is_clear()).count();
        let wanted = empty.min(self.term.history_size().saturating_sub(history_before));
        if wanted > 0 {
            // Fewer rows drop the empty ones, more rows come from the history.
            self.term.resize(Extent(Size { rows: size.rows - wanted as u16, ..size }));
            self.term.resize(Extent(size));
        }
    }

    fn renumber(&mut self, history: i32) {
        self.first_line += history as u64 + self.term.screen_lines() as u64;
        self.epoch += 1;
        self.prompts.clear();
    }

    fn set_bookmark(&mut self) {
        self.bookmarked = self.term.history_size() > 0;
        if self.bookmarked {
            self.term.grid_mut()[Line(-1)][Column(0)].flags.insert(BOOKMARK);
        }
    }

    fn clear_bookmark(&mut self) {
        if self.bookmarked && !self.is_alternate() && self.term.history_size() > 0 {
            self.term.grid_mut()[Line(-1)][Column(0)].flags.remove(BOOKMARK);
            self.bookmarked = false;
        }
    }

    /// Gives the screen another size, at least 2 columns (a wide character needs them) and 1 row. Text is wrapped
    /// anew; when scrolled back, the line on top stays on top.
    pub fn resize(&mut self, size: Size) {
        let size = clamp(size);
        if size == self.size() {
            return;
        }
        let resized = contain(|| {
            let before = self.cursors();
            self.resize_now(size);
            self.move_saved_cursors(&before);
        });
        if let Err(message) = resized {
            self.die(message);
        }
        self.changes.all(&self.term);
    }

    /// Where the cursors of the main screen and of the alternate one are; of those that are not kept and not shown, none.
    fn cursors(&mut self) -> [Option<Cursor<Cell>>; 2] {
        let shown = self.term.grid().cursor.clone();
        if !self.is_alternate() {
            return [Some(shown), None];
        }
        let main = self.policy.saved[0].is_some().then(|| self.on_main(|main| main.term.grid().cursor.clone()));
        [main, Some(shown)]
    }

    /// What DECSC saved is of the text: it goes with it when lines come and go above it.
    fn move_saved_cursors(&mut self, before: &[Option<Cursor<Cell>>; 2]) {
        let after = self.cursors();
        for (saved, (before, after)) in self.policy.saved.iter_mut().zip(before.iter().zip(&after)) {
            if let (Some(saved), Some(before), Some(after)) = (saved, before, after) {
                saved.go_with(before, after);
            }
        }
    }

    fn resize_now(&mut self, size: Size) {
        let before = self.size();
        let history_before = self.term.history_size();
        // Their lines are wrapped anew, also those of a main screen that is out of sight.
        let marked = size.cols != before.cols && !self.prompts.is_empty();
        let out_of_sight = marked && self.is_alternate();
        if out_of_sight {
            let counted = self.on_main(|main| {
                main.count_scrolled();
                main.clear_bookmark();
                main.count_places()
            });
            let prompts = std::mem::take(&mut self.prompts);
            self.term.resize(Extent(size));
            self.on_main(|main| {
                main.renumber(main.term.history_size() as i32);
                main.find_places(prompts, counted);
                main.set_bookmark();
            });
            self.epoch += 1;
            return;
        }
        let counted = if marked { self.count_places() } else { Vec::new() };
        let prompts = if marked { std::mem::take(&mut self.prompts) } else { Vec::new() };
        self.clear_bookmark();
        // The emulator loses the reader's place when lines above are joined: a bookmark travels with the text.
        let offset = self.scroll_offset();
        let reading = offset > 0 && !self.is_alternate();
        if reading {
            self.term.grid_mut()[Line(-(offset as i32))][Column(0)].flags.insert(BOOKMARK);
        }
        self.term.resize(Extent(size));
        // The emulator forgets it, too.
        self.policy.region = None;
        if size.cols < before.cols && !self.is_alternate() {
            self.fill_from_history(history_before);
        }
        if reading {
            let (top, bottom) = (-(self.term.history_size() as i32), self.term.screen_lines() as i32);
            let found = (top..bottom).find_map(|line| {
                let row = &mut self.term.grid_mut()[Line(line)];
                let col = row[..].iter().position(|cell| cell.flags.contains(BOOKMARK))?;
                row[Column(col)].flags.remove(BOOKMARK);
                Some(line)
            });
            if let Some(line) = found {
                self.scroll_to(line.min(0).unsigned_abs() as usize);
            }
        }
        let history = self.term.history_size();
        if size.cols != before.cols {
            self.renumber(history as i32);
            self.find_places(prompts, counted);
        } else if !self.is_alternate() {
            self.first_line = (self.first_line + history as u64).saturating_sub(history_before as u64);
        }
        if self.is_alternate() {
            // The main screen was wrapped anew out of sight: its bookmark may be anywhere now.
            self.stale |= self.bookmarked;
            self.bookmarked = false;
            self.epoch += 1;
        } else {
            self.set_bookmark();
        }
    }

    /// Scrolls by `lines`, back when positive. True if that moved anything.
    pub fn scroll(&mut self, lines: i32) -> bool {
        let before = self.scroll_offset();
        let wanted = before as i64 + i64::from(lines);
        self.scroll_to(wanted.max(0) as usize);
        before != self.scroll_offset()
    }

    /// Scrolls so that `offset` lines of the history are in sight, as far as there are that many.
    pub fn scroll_to(&mut self, offset: usize) {
        let delta = offset.min(self.history_len()) as i32 - self.scroll_offset() as i32;
        self.term.scroll_display(Scroll::Delta(delta));
    }

    /// Scrolls to where the program draws.
    pub fn scroll_to_bottom(&mut self) {
        self.term.scroll_display(Scroll::Bottom);
    }

    /// Lines scrolled back; 0 = at the bottom. Output moves it so that what is read stays in place.
    #[must_use]
    pub fn scroll_offset(&self) -> usize {
        self.term.grid().display_offset()
    }

    /// Lines in the history; none on the alternate screen.
    #[must_use]
    pub fn history_len(&self) -> usize {
        self.term.history_size()
    }

    /// Number of the line in row 0 of the live screen, see [`crate::term::Pos`].
    #[must_use]
    pub fn first_line(&self) -> u64 {
        self.first_line
    }

    /// Grows when line numbers lose their meaning: after a reflow, a cleared history, a change of screen.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Changes how many lines the history keeps; the oldest go first.
    pub fn set_history_limit(&mut self, lines: usize) {
        if lines == self.history_limit {
            return;
        }
        self.history_limit = lines;
        // The bookmark is on the newest line: only a limit of nothing takes it away.
        if lines == 0 {
            self.bookmarked = false;
        }
        self.term.set_options(config(lines));
    }

    /// How many lines the history may keep.
    #[must_use]
    pub fn history_limit(&self) -> usize {
        self.history_limit
    }
}
