//! Cells of the emulator → cells of the view.

use super::super::view::{Attrs, Cell, Color, Found, Style, Underline};
use super::emulator::{self, Flags, Line, NamedColor};
use super::{Emulator, Screen};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Which text of a cell is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Text {
    /// What measures exactly the cell's width, for drawing.
    Drawn,
    /// What the program wrote, for copying and searching. Empty where a wide character did not fit into a row.
    Written,
}

impl Screen {
    /// Visits the cells of a line: 0 is the top row of the live screen, negative lines are history. `selected` is the
    /// first and last marked column.
    pub(in super::super) fn visit_line(
        &self,
        line: i32,
        wanted: Text,
        selected: Option<(u16, u16)>,
        mut visit: impl FnMut(u16, &Cell<'_>),
    ) {
        let grid = self.term.grid();
        if line < -(self.history_len() as i32) || line >= i32::from(self.size().rows) {
            return;
        }
        let row = &grid[Line(line)];
        let cells: &[emulator::Cell] = &row[..];
        let mut text = String::new();
        let mut col = 0;
        while let Some(cell) = cells.get(col) {
            let spacer = |at: usize| cells.get(at).is_some_and(|c| c.flags.contains(Flags::WIDE_CHAR_SPACER));
            let mut width = 1;
            text.clear();
            if cell.flags.contains(Flags::WIDE_CHAR) && spacer(col + 1) {
                width = 2;
                write_text(&mut text, cell, 2, wanted);
            } else if is_regional(cell.c) && cells.get(col + 1).is_some_and(|next| is_regional(next.c)) {
                // Two regional indicators are one flag of two columns in every terminal that joins them, and two of
                // one column in the others.
                width = 2;
                text.push(cell.c);
                text.push(cells[col + 1].c);
            } else if cell.flags.intersects(Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER) {
                // Half of a wide character that was written over.
                text.push(' ');
            } else if cell.flags.contains(Flags::LEADING_WIDE_CHAR_SPACER) && wanted == Text::Written {
                // Nothing was written here.
            } else {
                write_text(&mut text, cell, 1, wanted);
            }
            let link = cell.extra.as_ref().and_then(|_| cell.hyperlink());
            let col16 = col as u16;
            visit(
                col16,
                &Cell {
                    text: &text,
                    width: width as u8,
                    style: self.style_of(cell),
                    link: link.as_ref().map(emulator::Link::uri),
                    selected: selected.is_some_and(|(from, to)| col16 <= to && col16 + width as u16 > from),
                    found: Found::No,
                },
            );
            col += width;
        }
    }

    /// Colours and modifiers of a cell.
    pub(super) fn style_of(&self, cell: &emulator::Cell) -> Style {
        let flags = cell.flags;
        let underline = if !flags.intersects(Flags::ALL_UNDERLINES) {
            Underline::None
        } else if flags.contains(Flags::UNDERCURL) {
            Underline::Curly
        } else if flags.contains(Flags::DOUBLE_UNDERLINE) {
            Underline::Double
        } else if flags.contains(Flags::DOTTED_UNDERLINE) {
            Underline::Dotted
        } else if flags.contains(Flags::DASHED_UNDERLINE) {
            Underline::Dashed
        } else {
            Underline::Single
        };
        let attrs = Attrs::default()
            .with(Attrs::BOLD, flags.contains(Flags::BOLD))
            .with(Attrs::DIM, flags.contains(Flags::DIM))
            .with(Attrs::ITALIC, flags.contains(Flags::ITALIC))
            .with(Attrs::INVERSE, flags.contains(Flags::INVERSE) != self.policy.inverse)
            .with(Attrs::HIDDEN, flags.contains(Flags::HIDDEN))
            .with(Attrs::STRIKE, flags.contains(Flags::STRIKEOUT));
        Style {
            fg: self.color(cell.fg),
            bg: self.color(cell.bg),
            underline_color: cell.underline_color().map(|color| self.color(color)),
            underline,
            attrs,
        }
    }

    fn color(&self, color: emulator::Color) -> Color {
        let (index, plain) = match color {
            emulator::Color::Spec(rgb) => return Color::Rgb(rgb.r, rgb.g, rgb.b),
            emulator::Color::Indexed(index) => (usize::from(index), Color::Indexed(index)),
            emulator::Color::Named(name) => {
                let index = name as usize;
                (index, if index < 16 { Color::Indexed(index as u8) } else { named(name) })
            }
        };
        if !self.policy.recoloured {
            return plain;
        }
        override_of(&self.term, index).unwrap_or(plain)
    }
}

fn override_of(term: &Emulator, index: usize) -> Option<Color> {
    term.colors()[index].map(|rgb| Color::Rgb(rgb.r, rgb.g, rgb.b))
}

fn named(name: NamedColor) -> Color {
    match name {
        NamedColor::DimBlack => Color::Indexed(0),
        NamedColor::DimRed => Color::Indexed(1),
        NamedColor::DimGreen => Color::Indexed(2),
        NamedColor::DimYellow => Color::Indexed(3),
        NamedColor::DimBlue => Color::Indexed(4),
        NamedColor::DimMagenta => Color::Indexed(5),
        NamedColor::DimCyan => Color::Indexed(6),
        NamedColor::DimWhite => Color::Indexed(7),
        _ => Color::Default,
    }
}

/// The usual colour of a palette entry: xterm's 16, the 6x6x6 cube, the greys.
pub(super) fn palette(index: u8) -> (u8, u8, u8) {
    const BASE: [(u8, u8, u8); 16] = [
        (0, 0, 0),
        (205, 0, 0),
        (0, 205, 0),
        (205, 205, 0),
        (0, 0, 238),
        (205, 0, 205),
        (0, 205, 205),
        (229, 229, 229),
        (127, 127, 127),
        (255, 0, 0),
        (0, 255, 0),
        (255, 255, 0),
        (92, 92, 255),
        (255, 0, 255),
        (0, 255, 255),
        (255, 255, 255),
    ];
    let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    match index {
        0..=15 => BASE[usize::from(index)],
        16..=231 => {
            let n = index - 16;
            (level(n / 36), level(n / 6 % 6), level(n % 6))
        }
        232..=255 => {
            let grey = 8 + 10 * (index - 232);
            (grey, grey, grey)
        }
    }
}

fn is_regional(c: char) -> bool {
    ('\u{1f1e6}'..='\u{1f1ff}').contains(&c)
}

/// Writes a cell's text; when drawn, such that it measures `width` columns.
fn write_text(text: &mut String, cell: &emulator::Cell, width: usize, wanted: Text) {
    // A tab stands in the cell where it began; the cells up to the stop are blank.
    text.push(if cell.c == '\t' { ' ' } else { cell.c });
    let Some(marks) = cell.zerowidth().filter(|marks| !marks.is_empty()) else { return };
    if wanted == Text::Written {
        text.extend(marks);
        return;
    }
    // A joiner at the end would draw the next cell into this one.
    let end = marks.iter().rposition(|c| *c != '\u{200d}').map_or(0, |n| n + 1);
    text.extend(&marks[..end]);
    if text.width() == width {
        return;
    }
    // Presentation selectors are what changes the width: the program counted without them.
    text.retain(|c| !matches!(c, '\u{fe0e}' | '\u{fe0f}'));
    if text.width() != width {
        text.clear();
        text.push(if cell.c.width() == Some(width) { cell.c } else { ' ' });
    }
}
