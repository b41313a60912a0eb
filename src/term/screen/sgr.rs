//! Character attributes (`CSI … m`): numbers → the pen, and the pen → numbers for a program that asks (DECRQSS).

use super::emulator::{Attr, Cell, Color, Flags, NamedColor, ParamsIter, Rgb};
use std::fmt::Write as _;

/// The sixteen colours by number.
const NAMED: [NamedColor; 16] = [
    NamedColor::Black,
    NamedColor::Red,
    NamedColor::Green,
    NamedColor::Yellow,
    NamedColor::Blue,
    NamedColor::Magenta,
    NamedColor::Cyan,
    NamedColor::White,
    NamedColor::BrightBlack,
    NamedColor::BrightRed,
    NamedColor::BrightGreen,
    NamedColor::BrightYellow,
    NamedColor::BrightBlue,
    NamedColor::BrightMagenta,
    NamedColor::BrightCyan,
    NamedColor::BrightWhite,
];

/// Reads attributes one by one; unknown ones are left out.
pub(super) fn read(mut params: ParamsIter<'_>, mut set: impl FnMut(Attr)) {
    while let Some(param) = params.next() {
        let named = |from: u16, bright: usize| Color::Named(NAMED[usize::from(param[0] - from) + bright]);
        let attr = match *param {
            [0] => Attr::Reset,
            [1] => Attr::Bold,
            [2] => Attr::Dim,
            [3] => Attr::Italic,
            [4, style] => match style {
                0 => Attr::CancelUnderline,
                2 => Attr::DoubleUnderline,
                3 => Attr::Undercurl,
                4 => Attr::DottedUnderline,
                5 => Attr::DashedUnderline,
                _ => Attr::Underline,
            },
            [4, ..] => Attr::Underline,
            [7] => Attr::Reverse,
            [8] => Attr::Hidden,
            [9] => Attr::Strike,
            [21] => Attr::DoubleUnderline,
            [22] => Attr::CancelBoldDim,
            [23] => Attr::CancelItalic,
            [24] => Attr::CancelUnderline,
            [27] => Attr::CancelReverse,
            [28] => Attr::CancelHidden,
            [29] => Attr::CancelStrike,
            [30..=37] => Attr::Foreground(named(30, 0)),
            [39] => Attr::Foreground(Color::Named(NamedColor::Foreground)),
            [40..=47] => Attr::Background(named(40, 0)),
            [49] => Attr::Background(Color::Named(NamedColor::Background)),
            [59] => Attr::UnderlineColor(None),
            [90..=97] => Attr::Foreground(named(90, 8)),
            [100..=107] => Attr::Background(named(100, 8)),
            [code @ (38 | 48 | 58), ref parts @ ..] => {
                let color = if parts.is_empty() {
                    color(&mut params.by_ref().map(|param| param[0]))
                } else {
                    // `2:space:r:g:b` names a colour space, `2:r:g:b` does not.
                    let skipped = usize::from(parts[0] == 2 && parts.len() > 4);
                    color(&mut parts[..1].iter().chain(&parts[1 + skipped..]).copied())
                };
                match (color, code) {
                    (None, _) => continue,
                    (Some(color), 38) => Attr::Foreground(color),
                    (Some(color), 48) => Attr::Background(color),
                    (color, _) => Attr::UnderlineColor(color),
                }
            }
            _ => continue,
        };
        set(attr);
    }
}

fn color(parts: &mut dyn Iterator<Item = u16>) -> Option<Color> {
    let byte = |parts: &mut dyn Iterator<Item = u16>| u8::try_from(parts.next()?).ok();
    match parts.next()? {
        2 => Some(Color::Spec(Rgb { r: byte(parts)?, g: byte(parts)?, b: byte(parts)? })),
        5 => byte(parts).map(Color::Indexed),
        _ => None,
    }
}

/// The numbers that switch the pen on from nothing, `0` first.
pub(super) fn write(pen: &Cell) -> String {
    let mut out = String::from("0");
    for (flag, code) in [
        (Flags::BOLD, ";1"),
        (Flags::DIM, ";2"),
        (Flags::ITALIC, ";3"),
        (Flags::UNDERLINE, ";4"),
        (Flags::DOUBLE_UNDERLINE, ";4:2"),
        (Flags::UNDERCURL, ";4:3"),
        (Flags::DOTTED_UNDERLINE, ";4:4"),
        (Flags::DASHED_UNDERLINE, ";4:5"),
        (Flags::INVERSE, ";7"),
        (Flags::HIDDEN, ";8"),
        (Flags::STRIKEOUT, ";9"),
    ] {
        if pen.flags.contains(flag) {
            out.push_str(code);
        }
    }
    write_color(&mut out, pen.fg, 30);
    write_color(&mut out, pen.bg, 40);
    if let Some(color) = pen.underline_color() {
        write_color(&mut out, color, 50);
    }
    out
}

fn write_color(out: &mut String, color: Color, base: usize) {
    let index = match color {
        Color::Named(name) if (name as usize) < 16 => name as usize,
        Color::Named(_) => return,
        Color::Indexed(index) => index.into(),
        Color::Spec(Rgb { r, g, b }) => {
            let _ = write!(out, ";{}:2::{r}:{g}:{b}", base + 8);
            return;
        }
    };
    let _ = match index {
        0..8 if base < 50 => write!(out, ";{}", base + index),
        8..16 if base < 50 => write!(out, ";{}", base + 52 + index),
        _ => write!(out, ";{}:5:{index}", base + 8),
    };
}
