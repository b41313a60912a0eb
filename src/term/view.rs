//! What is drawn: the cells of a screen in plain types, visited without an allocation per cell.
//!
//! A cell's text always measures exactly its width, so that the outer terminal, the program's own count of columns and
//! the frame around the pane agree. What would break that is left out of the text: an emoji presentation selector on a
//! one-column character, a joiner whose sequence the engine holds in several cells.

use super::screen::{Screen, Text};
use super::search::Match;
use super::selection::{Pos, Selection};

/// A colour of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Color {
    /// The terminal's own foreground or background.
    #[default]
    Default,
    /// An entry of the 256-colour palette.
    Indexed(u8),
    /// True colour: red, green, blue.
    Rgb(u8, u8, u8),
}

/// How a cell is underlined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Underline {
    /// Not.
    #[default]
    None,
    /// One line.
    Single,
    /// Two lines.
    Double,
    /// A wave.
    Curly,
    /// Dots.
    Dotted,
    /// Dashes.
    Dashed,
}

/// Modifiers of a cell, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Attrs(u8);

impl Attrs {
    /// Bold.
    pub const BOLD: Attrs = Attrs(1);
    /// Dim.
    pub const DIM: Attrs = Attrs(2);
    /// Italic.
    pub const ITALIC: Attrs = Attrs(4);
    /// Foreground and background swapped.
    pub const INVERSE: Attrs = Attrs(8);
    /// Not to be seen.
    pub const HIDDEN: Attrs = Attrs(16);
    /// Struck out.
    pub const STRIKE: Attrs = Attrs(32);

    /// Whether all of `other` is in here.
    #[must_use]
    pub const fn contains(self, other: Attrs) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds `other` when `on`.
    #[must_use]
    pub const fn with(self, other: Attrs, on: bool) -> Attrs {
        if on { Attrs(self.0 | other.0) } else { self }
    }
}

/// Colours and modifiers of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Style {
    /// Foreground.
    pub fg: Color,
    /// Background.
    pub bg: Color,
    /// Colour of the underline; `None` = the foreground's.
    pub underline_color: Option<Color>,
    /// Underline.
    pub underline: Underline,
    /// Modifiers.
    pub attrs: Attrs,
}

/// One cell, or the two cells of a wide character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell<'a> {
    /// What is written there; a blank is one space.
    pub text: &'a str,
    /// Columns it takes: 1 or 2. The second column of a wide one is not visited.
    pub width: u8,
    /// How.
    pub style: Style,
    /// Where it links to (OSC 8).
    pub link: Option<&'a str>,
    /// Whether it is in the selection given to the view.
    pub selected: bool,
    /// Whether it is part of what was searched for.
    pub found: Found,
}

/// How a cell belongs to what was searched for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Found {
    /// Not.
    #[default]
    No,
    /// Part of a match.
    Yes,
    /// Part of the current match.
    Here,
}

/// Shape of the cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CursorShape {
    /// A block.
    #[default]
    Block,
    /// A line under the cell.
    Underline,
    /// A bar left of the cell.
    Bar,
}

/// The program's cursor, in rows and columns of the view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cursor {
    /// Row from the top, from 0.
    pub row: u16,
    /// Column from the left, from 0.
    pub col: u16,
    /// Shape.
    pub shape: CursorShape,
    /// Whether it blinks.
    pub blinking: bool,
}

/// A screen as it is drawn: scrolled to some place, with or without a selection.
#[derive(Clone, Copy)]
pub struct View<'a> {
    screen: &'a Screen,
    offset: usize,
    selection: Option<&'a Selection>,
    found: &'a [Match],
    here: Option<Pos>,
}

impl<'a> View<'a> {
    pub(super) fn new(screen: &'a Screen, offset: usize) -> Self {
        Self { screen, offset: offset.min(screen.history_len()), selection: None, found: &[], here: None }
    }

    /// The same with `selection` marked.
    #[must_use]
    pub fn with_selection(self, selection: Option<&'a Selection>) -> Self {
        Self { selection: selection.filter(|s| s.epoch == self.screen.epoch()), ..self }
    }

    /// The same with matches marked, in order; the current one is that which begins at `here`.
    #[must_use]
    pub fn with_found(self, found: &'a [Match], here: Option<Pos>) -> Self {
        Self { found, here, ..self }
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> u16 {
        self.screen.size().rows
    }

    /// Columns.
    #[must_use]
    pub fn cols(&self) -> u16 {
        self.screen.size().cols
    }

    /// Lines it is scrolled back; 0 = at the bottom.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The absolute number of the line shown in `row` (see [`super::selection::Pos`]).
    #[must_use]
    pub fn line_at(&self, row: u16) -> u64 {
        (self.screen.first_line() + u64::from(row)).saturating_sub(self.offset as u64)
    }

    /// The cursor, when the program shows it and it is not scrolled out of sight.
    #[must_use]
    pub fn cursor(&self) -> Option<Cursor> {
        let cursor = self.screen.cursor()?;
        let row = usize::from(cursor.row) + self.offset;
        let row = u16::try_from(row).ok().filter(|row| *row < self.rows())?;
        Some(Cursor { row, ..cursor })
    }

    /// Visits every cell, row by row: row, column, cell.
    pub fn for_each_cell(&self, mut visit: impl FnMut(u16, u16, &Cell<'_>)) {
        for row in 0..self.rows() {
            self.for_each_in_row(row, |col, cell| visit(row, col, cell));
        }
    }

    /// Visits the cells of one row: column, cell.
    pub fn for_each_in_row(&self, row: u16, mut visit: impl FnMut(u16, &Cell<'_>)) {
        let number = self.line_at(row);
        let range = self.selection.and_then(|s| s.columns_in(number, self.cols()));
        let line = i32::from(row) - i32::try_from(self.offset).unwrap_or(i32::MAX);
        let first = self.found.partition_point(|one| one.end.line < number);
        let end = self.found.partition_point(|one| one.start.line <= number);
        let found = &self.found[first.min(end)..end];
        if found.is_empty() {
            return self.screen.visit_line(line, Text::Drawn, range, visit);
        }
        self.screen.visit_line(line, Text::Drawn, range, |col, cell| {
            let at = Pos { line: number, col };
            // The last match that begins at or before this cell is the only one that can hold it.
            let one = found[..found.partition_point(|one| one.start <= at)].last().filter(|one| one.end >= at);
            let found = match one {
                None => Found::No,
                Some(one) if Some(one.start) == self.here => Found::Here,
                Some(_) => Found::Yes,
            };
            visit(col, &Cell { found, ..*cell });
        });
    }
}
