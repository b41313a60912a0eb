//! Marked text: from one place to another, by character, word, line or block, also in the history.
//!
//! A selection is a plain value apart from the screen, so that several clients can each have their own.

use super::screen::{LogicalLine, Screen};

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

impl Selection {
    /// A selection that begins at `at` and holds the one cell there.
    #[must_use]
    pub fn begin(screen: &Screen, kind: SelectionKind, at: Pos) -> Self {
        Self { kind, anchor: at, head: at, epoch: screen.epoch() }
    }

    /// The word at `at`: the cells around it that are of its kind (letters, digits and the signs of paths and
    /// addresses; blanks; other signs), across wrapped rows.
    #[must_use]
    pub fn word(screen: &Screen, at: Pos) -> Self {
        let mut line = LogicalLine::default();
        screen.read_logical(screen.logical_bounds(at.line).0, &mut line);
        // The cell of a wide character begins one column before its second half.
        let Some(here) = line.places.iter().rposition(|place| *place <= at) else {
            return Self::begin(screen, SelectionKind::Character, at);
        };
        let class = class(line.chars[here]);
        let same = |c: &char| self::class(*c) == class;
        let from = line.chars[..here].iter().rposition(|c| !same(c)).map_or(0, |n| n + 1);
        let to = line.chars[here..].iter().position(|c| !same(c)).map_or(line.chars.len(), |n| here + n) - 1;
        Self { kind: SelectionKind::Character, anchor: line.places[from], head: line.places[to], epoch: screen.epoch() }
    }

    /// The whole line at `at`, wrapped rows included.
    #[must_use]
    pub fn line(screen: &Screen, at: Pos) -> Self {
        let (first, last) = screen.logical_bounds(at.line);
        Self {
            kind: SelectionKind::Line,
            anchor: Pos { line: first, col: 0 },
            head: Pos { line: last, col: screen.size().cols - 1 },
            epoch: screen.epoch(),
        }
    }

    /// The same drawn to `at`. A line selection takes in the whole line there.
    #[must_use]
    pub fn extend(self, screen: &Screen, at: Pos) -> Self {
        match self.kind {
            SelectionKind::Line => self.union(Self::line(screen, at)),
            _ => Self { head: at, ..self },
        }
    }

    /// The least selection that holds both: what a drag after a double click selects.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        let ((a, b), (c, d)) = (self.ordered(), other.ordered());
        Self { anchor: a.min(c), head: b.max(d), ..self }
    }

    /// Whether its places still mean what they meant: nothing was wrapped anew, cleared or shed meanwhile.
    #[must_use]
    pub fn is_valid(&self, screen: &Screen) -> bool {
        let kept = screen.lines();
        self.epoch == screen.epoch() && self.ordered().1.line >= kept.start && self.ordered().0.line < kept.end
    }

    /// Its text: wrapped rows joined, blanks at the ends of lines left out. `None` when it is no longer valid.
    #[must_use]
    pub fn text(&self, screen: &Screen) -> Option<String> {
        if !self.is_valid(screen) {
            return None;
        }
        let (start, end) = self.ordered();
        let kept = screen.lines();
        let (first, last) = (start.line.max(kept.start), end.line.min(kept.end - 1));
        let mut out = String::new();
        for line in first..=last {
            let Some((from, to)) = self.columns_in(line, screen.size().cols) else { continue };
            screen.visit_written(line, |col, cell| {
                if col <= to && col + u16::from(cell.width) > from {
                    out.push_str(cell.text);
                }
            });
            let joined = self.kind != SelectionKind::Block && screen.is_wrapped(line);
            if !joined || line == last {
                let row = out.rfind('\n').map_or(0, |n| n + 1);
                out.truncate(row + out[row..].trim_end_matches(' ').len());
            }
            if line < last && !joined {
                out.push('\n');
            }
        }
        Some(out)
    }
}

/// What a double click tells apart.
fn class(c: char) -> u8 {
    match c {
        ' ' | '\t' => 0,
        c if c.is_alphanumeric() || "_-./~+@%:?=&#".contains(c) || !c.is_ascii() && !c.is_whitespace() => 1,
        _ => 2,
    }
}
