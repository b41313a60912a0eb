//! The text of a screen, plain or with its colours.

use super::super::view::{Attrs, Cell, Color, Style, Underline};
use super::Screen;
use std::fmt::Write as _;

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

    fn lines_as_text(&self, from: i32) -> String {
        let mut out = String::new();
        for line in from..i32::from(self.size().rows) {
            self.visit_line(line, None, |_, cell| out.push_str(cell.text));
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
            self.visit_line(line, None, |_, cell: &Cell<'_>| {
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
