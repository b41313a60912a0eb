//! The text of a screen, plain or with its colours.

use super::super::selection::Pos;
use super::super::view::{Attrs, Cell, Color, Style, Underline};
use super::emulator::{Column, Flags, Line};
use super::{Screen, Text};
use std::fmt::Write as _;
use std::ops::Range;

/// A line as the program wrote it: the rows that were wrapped are one.
#[derive(Debug, Default)]
pub(in super::super) struct LogicalLine {
    /// Its characters, combining marks included.
    pub(in super::super) chars: Vec<char>,
    /// The cell that each character is in.
    pub(in super::super) places: Vec<Pos>,
}

impl Screen {
    /// The live screen's text, one line per row; blanks at the ends of rows and empty rows at the end are left out.
    #[must_use]
    pub fn text(&self) -> String {
        self.lines_as_text(0)
    }

    /// The history's text followed by the live screen's.
    #[must_use]
    pub fn history_text(&self) -> String {
        self.lines_as_text(-(self.history_len() as i32))
    }

    /// [`Screen::text`] with colours and modifiers as SGR sequences.
    #[must_use]
    pub fn ansi(&self) -> String {
        self.lines_as_ansi(0)
    }

    /// [`Screen::history_text`] with colours and modifiers as SGR sequences.
    #[must_use]
    pub fn history_ansi(&self) -> String {
        self.lines_as_ansi(-(self.history_len() as i32))
    }

    /// Numbers of the lines that are kept, oldest first, the live screen's included.
    #[must_use]
    pub fn lines(&self) -> Range<u64> {
        let first = self.first_line.saturating_sub(self.history_len() as u64);
        first..self.first_line + u64::from(self.size().rows)
    }

    /// What stands on the lines from the one that row `first` is a part of, as the program wrote them: wrapped rows are
    /// one line.
    #[must_use]
    pub fn text_from(&self, first: u64) -> String {
        let kept = self.lines();
        let (first, _) = self.logical_bounds(first.clamp(kept.start, kept.end));
        let (mut line, mut out, mut one) = (first, String::new(), LogicalLine::default());
        while line < kept.end {
            line = self.read_logical(line, &mut one);
            out.extend(&one.chars);
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
        }
        out
    }

    /// The emulator's index of a line, if it is kept.
    fn index_of(&self, line: u64) -> Option<i32> {
        self.lines().contains(&line).then(|| (line as i64 - self.first_line as i64) as i32)
    }

    /// Whether the line goes on in the next one.
    pub(in super::super) fn is_wrapped(&self, line: u64) -> bool {
        let last = Column(usize::from(self.size().cols) - 1);
        self.index_of(line).is_some_and(|index| self.term.grid()[Line(index)][last].flags.contains(Flags::WRAPLINE))
    }

    /// Visits what the program wrote into the cells of a line.
    pub(in super::super) fn visit_written(&self, line: u64, visit: impl FnMut(u16, &Cell<'_>)) {
        if let Some(index) = self.index_of(line) {
            self.visit_line(index, Text::Written, None, visit);
        }
    }

    /// First and last row of the line that `line` is a part of.
    pub(in super::super) fn logical_bounds(&self, line: u64) -> (u64, u64) {
        let kept = self.lines();
        let (mut first, mut last) = (line, line);
        while first > kept.start && self.is_wrapped(first - 1) {
            first -= 1;
        }
        while last + 1 < kept.end && self.is_wrapped(last) {
            last += 1;
        }
        (first, last)
    }

    /// Reads the line whose first row is `first` into `out`; the number of the row after it.
    pub(in super::super) fn read_logical(&self, first: u64, out: &mut LogicalLine) -> u64 {
        out.chars.clear();
        out.places.clear();
        let mut line = first;
        loop {
            // Straight from the grid: a search reads a million cells for each key typed.
            let cells = self.index_of(line).map_or(&[][..], |index| &self.term.grid()[Line(index)][..]);
            for (col, cell) in cells.iter().enumerate() {
                if cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER) {
                    continue;
                }
                out.chars.push(if cell.c == '\t' { ' ' } else { cell.c });
                out.chars.extend(cell.zerowidth().unwrap_or_default());
                out.places.resize(out.chars.len(), Pos { line, col: col as u16 });
            }
            if !self.is_wrapped(line) || line + 1 >= self.lines().end {
                return line + 1;
            }
            line += 1;
        }
    }

    fn lines_as_text(&self, from: i32) -> String {
        let mut out = String::new();
        for line in from..i32::from(self.size().rows) {
            self.visit_line(line, Text::Written, None, |_, cell| out.push_str(cell.text));
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
        }
        out.truncate(out.trim_end_matches('\n').len());
        out
    }

    fn lines_as_ansi(&self, from: i32) -> String {
        let mut out = String::new();
        for line in from..i32::from(self.size().rows) {
            let mut style = Style::default();
            // Where the row ends if only plain blanks follow, and the style there.
            let (mut end, mut end_style) = (out.len(), style);
            self.visit_line(line, Text::Written, None, |_, cell: &Cell<'_>| {
                if cell.style != style {
                    style = cell.style;
                    write_sgr(&mut out, style);
                }
                out.push_str(cell.text);
                if cell.text != " " || style != Style::default() {
                    (end, end_style) = (out.len(), style);
                }
            });
            out.truncate(end);
            if end_style != Style::default() {
                out.push_str("\x1b[0m");
            }
            out.push('\n');
        }
        out.truncate(out.trim_end_matches('\n').len());
        out
    }
}

/// Writes the SGR sequence that switches to `style` from any other.
fn write_sgr(out: &mut String, style: Style) {
    out.push_str("\x1b[0");
    for (attr, code) in [
        (Attrs::BOLD, "1"),
        (Attrs::DIM, "2"),
        (Attrs::ITALIC, "3"),
        (Attrs::INVERSE, "7"),
        (Attrs::HIDDEN, "8"),
        (Attrs::STRIKE, "9"),
    ] {
        if style.attrs.contains(attr) {
            out.push(';');
            out.push_str(code);
        }
    }
    out.push_str(match style.underline {
        Underline::None => "",
        Underline::Single => ";4",
        Underline::Double => ";4:2",
        Underline::Curly => ";4:3",
        Underline::Dotted => ";4:4",
        Underline::Dashed => ";4:5",
    });
    write_color(out, style.fg, 30);
    write_color(out, style.bg, 40);
    match style.underline_color {
        Some(Color::Indexed(n)) => _ = write!(out, ";58:5:{n}"),
        Some(Color::Rgb(r, g, b)) => _ = write!(out, ";58:2::{r}:{g}:{b}"),
        Some(Color::Default) | None => {}
    }
    out.push('m');
}

fn write_color(out: &mut String, color: Color, base: u8) {
    let _ = match color {
        Color::Default => Ok(()),
        Color::Indexed(n @ 0..=7) => write!(out, ";{}", base + n),
        Color::Indexed(n @ 8..=15) => write!(out, ";{}", base + 52 + n),
        Color::Indexed(n) => write!(out, ";{};5;{n}", base + 8),
        Color::Rgb(r, g, b) => write!(out, ";{};2;{r};{g};{b}", base + 8),
    };
}
