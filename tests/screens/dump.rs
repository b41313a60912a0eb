//! A drawn screen as text: what is written, and a second grid with one letter for each style.

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::style::{Color, Modifier};
use std::fmt::Write;

/// The text of each line, wide characters once, without blanks at the end.
pub fn lines(buf: &Buffer) -> Vec<String> {
    let mut out = Vec::new();
    for y in 0..buf.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buf.area.width {
            let cell = &buf[(x, y)];
            line.push_str(cell.symbol());
            x += cell.cell_width().max(1);
        }
        out.push(line.trim_end().to_owned());
    }
    out
}

/// Text only.
pub fn text(buf: &Buffer) -> String {
    lines(buf).join("\n")
}

/// Text, then where which style is, then what the letters mean. A dot is a cell without any style.
pub fn text_and_styles(buf: &Buffer) -> String {
    let mut out = text(buf);
    let mut legend: Vec<String> = Vec::new();
    out.push_str("\n\n");
    for y in 0..buf.area.height {
        let mut row = String::new();
        for x in 0..buf.area.width {
            let style = describe(&buf[(x, y)]);
            if style.is_empty() {
                row.push('.');
                continue;
            }
            let at = legend.iter().position(|known| *known == style).unwrap_or_else(|| {
                legend.push(style);
                legend.len() - 1
            });
            row.push(letter(at));
        }
        let _ = writeln!(out, "{}", row.trim_end_matches('.'));
    }
    for (i, style) in legend.iter().enumerate() {
        let _ = write!(out, "\n{} {style}", letter(i));
    }
    out
}

fn letter(i: usize) -> char {
    let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    char::from(letters[i.min(letters.len() - 1)])
}

fn describe(cell: &Cell) -> String {
    let mut parts = Vec::new();
    if cell.fg != Color::Reset {
        parts.push(format!("{}", cell.fg));
    }
    if cell.bg != Color::Reset {
        parts.push(format!("on {}", cell.bg));
    }
    for (modifier, name) in [
        (Modifier::BOLD, "bold"),
        (Modifier::DIM, "dim"),
        (Modifier::ITALIC, "italic"),
        (Modifier::UNDERLINED, "underline"),
        (Modifier::REVERSED, "reverse"),
        (Modifier::CROSSED_OUT, "struck"),
    ] {
        if cell.modifier.contains(modifier) {
            parts.push(name.to_owned());
        }
    }
    parts.join(" ")
}

/// The screen as escape sequences, to look at it in a terminal: `cat FILE`.
pub fn ansi(buf: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buf.area.height {
        let mut x = 0;
        while x < buf.area.width {
            let cell = &buf[(x, y)];
            out.push_str("\x1b[0");
            for (modifier, code) in [
                (Modifier::BOLD, 1),
                (Modifier::DIM, 2),
                (Modifier::ITALIC, 3),
                (Modifier::UNDERLINED, 4),
                (Modifier::REVERSED, 7),
                (Modifier::CROSSED_OUT, 9),
            ] {
                if cell.modifier.contains(modifier) {
                    let _ = write!(out, ";{code}");
                }
            }
            colour(&mut out, cell.fg, 38);
            colour(&mut out, cell.bg, 48);
            out.push('m');
            out.push_str(cell.symbol());
            x += cell.cell_width().max(1);
        }
        out.push_str("\x1b[0m\n");
    }
    out
}

fn colour(out: &mut String, colour: Color, base: u8) {
    let names = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
        Color::DarkGray,
        Color::LightRed,
        Color::LightGreen,
        Color::LightYellow,
        Color::LightBlue,
        Color::LightMagenta,
        Color::LightCyan,
        Color::White,
    ];
    let _ = match colour {
        Color::Reset => Ok(()),
        Color::Rgb(r, g, b) => write!(out, ";{base};2;{r};{g};{b}"),
        Color::Indexed(i) => write!(out, ";{base};5;{i}"),
        named => write!(out, ";{base};5;{}", names.iter().position(|n| *n == named).unwrap_or(7)),
    };
}
