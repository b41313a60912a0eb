//! Where prompts, commands and their output begin and end, as shells with integration tell it (OSC 133).
//!
//! Marks go with their lines into the history and are dropped with them. What is wrapped anew is found again by counting
//! the lines, as the program wrote them, from the one that has the cursor: those do not change.

use super::super::event::PromptMark;
use super::super::selection::Pos;
use super::Screen;
use super::emulator::{Dimensions, Grid};

/// One command, from its prompt on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prompt {
    /// Where the prompt begins.
    pub at: Pos,
    /// Where what is typed begins.
    pub input: Option<Pos>,
    /// Where the output begins.
    pub output: Option<Pos>,
    /// The first place after the output.
    pub end: Option<Pos>,
    /// The exit code, where it was told.
    pub exit: Option<i32>,
}

impl Prompt {
    fn last_line(&self) -> u64 {
        self.end.or(self.output).or(self.input).unwrap_or(self.at).line
    }

    fn places(&mut self) -> impl Iterator<Item = &mut Pos> {
        std::iter::once(&mut self.at).chain([&mut self.input, &mut self.output, &mut self.end].into_iter().flatten())
    }
}

/// A place as so many lines before that of the cursor, and so many cells into its line.
pub(super) type Counted = Option<(usize, u64)>;

impl Screen {
    /// Prompts on the lines that are kept, oldest first; none on the alternate screen.
    #[must_use]
    pub fn prompts(&self) -> &[Prompt] {
        let first = self.lines().start;
        let shed = self.prompts.partition_point(|prompt| prompt.at.line < first);
        if self.is_alternate() { &[] } else { &self.prompts[shed..] }
    }

    /// Rows in sight, with so many lines of the history in it, of prompts whose command has ended with an exit code, and
    /// whether it succeeded.
    #[must_use]
    pub fn ended_in(&self, offset: usize) -> Vec<(u16, bool)> {
        let top = self.view_at(offset).line_at(0);
        let prompts = self.prompts();
        let first = prompts.partition_point(|prompt| prompt.at.line < top);
        let rows = prompts[first..].iter().map_while(|prompt| {
            let row = u16::try_from(prompt.at.line - top).ok().filter(|row| *row < self.size().rows)?;
            Some((row, prompt.exit))
        });
        rows.filter_map(|(row, exit)| Some((row, exit? == 0))).collect()
    }

    /// First and last place of the output of the command whose prompt, input or output `line` is a part of. A command
    /// that runs has what it printed so far.
    #[must_use]
    pub fn output_at(&self, line: u64) -> Option<(Pos, Pos)> {
        if self.is_alternate() {
            return None;
        }
        let after = self.prompts.partition_point(|prompt| prompt.at.line <= line);
        self.output_of(&self.prompts[after.checked_sub(1)?])
    }

    /// First and last place of a command's output.
    #[must_use]
    pub fn output_of(&self, prompt: &Prompt) -> Option<(Pos, Pos)> {
        let start = prompt.output?;
        let end = prompt.end.unwrap_or_else(|| self.cursor_place());
        let last = match end.col {
            0 => Pos { line: end.line.checked_sub(1)?, col: self.size().cols.saturating_sub(1) },
            col => Pos { col: col - 1, ..end },
        };
        (last >= start).then_some((start, last))
    }

    fn cursor_place(&self) -> Pos {
        let point = self.term.grid().cursor.point;
        Pos { line: self.first_line + u64::from(point.line.0.unsigned_abs()), col: point.column.0 as u16 }
    }

    /// Takes in a mark where the cursor is. Lines that scrolled are counted.
    pub(super) fn note_prompt(&mut self, mark: PromptMark) {
        if self.is_alternate() {
            return;
        }
        let at = self.cursor_place();
        let first = self.lines().start;
        match mark {
            PromptMark::Prompt => {
                // What stood on the lines from here on is written over.
                self.prompts.retain(|prompt| prompt.at.line < at.line && prompt.last_line() >= first);
                if let Some(last) = self.prompts.last_mut().filter(|last| last.output.is_some()) {
                    last.end.get_or_insert(at);
                }
                self.prompts.push(Prompt { at, input: None, output: None, end: None, exit: None });
            }
            PromptMark::Input => {
                if let Some(last) = self.prompts.last_mut().filter(|last| last.output.is_none()) {
                    last.input = Some(at);
                }
            }
            PromptMark::Output => {
                if let Some(last) = self.prompts.last_mut().filter(|last| last.end.is_none()) {
                    last.output.get_or_insert(at);
                }
            }
            PromptMark::Done(exit) => {
                let open = |last: &&mut Prompt| last.end.is_none() && (last.output.is_some() || at.line > last.at.line);
                if let Some(last) = self.prompts.last_mut().filter(open) {
                    last.end = Some(at);
                    last.exit = exit;
                }
            }
        }
    }

    /// The first rows of all lines as the program wrote them, and which of them has the cursor.
    fn line_starts(&self) -> (Vec<u64>, usize) {
        let kept = self.lines();
        let starts: Vec<u64> = kept.clone().filter(|line| *line == kept.start || !self.is_wrapped(line - 1)).collect();
        let cursor = starts.partition_point(|start| *start <= self.cursor_place().line).saturating_sub(1);
        (starts, cursor)
    }

    /// All places of all prompts, so that they can be found again after everything was wrapped anew.
    pub(super) fn count_places(&mut self) -> Vec<Counted> {
        if self.prompts.is_empty() {
            return Vec::new();
        }
        let (starts, cursor) = self.line_starts();
        let cols = u64::from(self.size().cols);
        let counted = |place: &mut Pos| {
            let line = starts.partition_point(|start| *start <= place.line).checked_sub(1)?;
            Some((cursor.checked_sub(line)?, (place.line - starts[line]) * cols + u64::from(place.col)))
        };
        self.prompts.iter_mut().flat_map(Prompt::places).map(counted).collect()
    }

    /// Puts the places where what they belong to is now. Prompts whose line is gone are dropped.
    pub(super) fn find_places(&mut self, mut prompts: Vec<Prompt>, counted: Vec<Counted>) {
        if prompts.is_empty() {
            return;
        }
        let (starts, cursor) = self.line_starts();
        let (cols, kept) = (u64::from(self.size().cols), self.lines());
        let place = |counted: Counted| {
            let (before, cells) = counted?;
            let line = cursor.checked_sub(before)?;
            let last = starts.get(line + 1).map_or(kept.end, |next| *next).saturating_sub(1);
            let row = starts[line] + cells / cols;
            Some(Pos { line: row.min(last), col: (cells % cols) as u16 })
        };
        let mut counted = counted.into_iter();
        prompts.retain_mut(|prompt| {
            let mut whole = true;
            for at in prompt.places() {
                match place(counted.next().flatten()) {
                    Some(found) => *at = found,
                    None => whole = false,
                }
            }
            whole
        });
        self.prompts = prompts;
    }

    /// Looks at the main screen while the alternate one is shown.
    pub(super) fn on_main<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let stand_in = Grid::new(self.term.screen_lines(), self.term.columns(), 0);
        let shown = std::mem::replace(self.term.grid_mut(), stand_in);
        self.term.swap_alt();
        let result = work(self);
        // Empties the alternate screen, which is the one that stands in.
        self.term.swap_alt();
        *self.term.grid_mut() = shown;
        result
    }
}
