//! Marked text: from one place to another, by character, word, line or block, also in the history.
//!
//! A selection is a plain value apart from the screen, so that several clients can each have their own.

/// A place in a screen's text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Pos {
    /// Number of the line since the screen was made; it stays the same while the line scrolls into the history.
    pub line: u64,
    /// Column from 0.
    pub col: u16,
}

/// What a selection takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SelectionKind {
    /// Characters from place to place.
    Character,
    /// Whole lines as the program wrote them, wrapped parts included.
    Line,
    /// A rectangle.
    Block,
}

/// Marked text. Both ends are part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// How.
    pub kind: SelectionKind,
    /// Where it was begun.
    pub anchor: Pos,
    /// Where it was drawn to.
    pub head: Pos,
    /// The numbering of lines that the places belong to: a reflow ends it (see [`super::Screen::epoch`]).
    pub epoch: u64,
}

impl Selection {
    /// First and last place in reading order.
    #[must_use]
    pub fn ordered(&self) -> (Pos, Pos) {
        if self.anchor <= self.head { (self.anchor, self.head) } else { (self.head, self.anchor) }
    }

    /// First and last column that is marked in `line`, of a screen with `cols` columns.
    #[must_use]
    pub fn columns_in(&self, line: u64, cols: u16) -> Option<(u16, u16)> {
        let (start, end) = self.ordered();
        if line < start.line || line > end.line {
            return None;
        }
        let last = cols.saturating_sub(1);
        Some(match self.kind {
            SelectionKind::Line => (0, last),
            SelectionKind::Block => (self.anchor.col.min(self.head.col), self.anchor.col.max(self.head.col).min(last)),
            SelectionKind::Character => (
                if line == start.line { start.col } else { 0 },
                if line == end.line { end.col.min(last) } else { last },
            ),
        })
    }
}
