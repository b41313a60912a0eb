//! Colours that the outer terminal can show: depth, and the nearest colour where it has fewer.

use ratatui::style::Color;

/// How many colours the outer terminal shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ColourDepth {
    /// None: `NO_COLOR`, or a terminal without colours.
    None,
    /// The 16 ANSI colours.
    Ansi16,
    /// The 256-colour palette.
    Ansi256,
    /// 24 bits.
    True,
}

impl ColourDepth {
    /// From a number of colours: 0, 8, 16, 256 or 16,777,216.
    #[must_use]
    pub fn from_count(colours: u32) -> Self {
        match colours {
            0..=7 => Self::None,
            8..=255 => Self::Ansi16,
            256..=65_535 => Self::Ansi256,
            _ => Self::True,
        }
    }

    /// The nearest colour at this depth.
    #[must_use]
    pub fn reduce(self, colour: Color) -> Color {
        match (self, colour) {
            (_, Color::Reset) | (Self::True, _) => colour,
            (Self::None, _) => Color::Reset,
            (Self::Ansi256, Color::Rgb(r, g, b)) => Color::Indexed(nearest_256(r, g, b)),
            (Self::Ansi16, Color::Rgb(r, g, b)) => ansi(nearest_16(r, g, b)),
            (Self::Ansi16, Color::Indexed(i)) if i < 16 => ansi(i),
            (Self::Ansi16, Color::Indexed(i)) => {
                let (r, g, b) = palette_rgb(i);
                ansi(nearest_16(r, g, b))
            }
            (Self::Ansi256 | Self::Ansi16, _) => colour,
        }
    }
}

/// The ANSI colour with this number (0 to 15). Named, because a terminal's own palette decides how it looks.
fn ansi(index: u8) -> Color {
    const NAMES: [Color; 16] = [
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
    NAMES[usize::from(index & 15)]
}

/// xterm's default values of the 16 ANSI colours.
const ANSI_RGB: [(u8, u8, u8); 16] = [
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

/// Levels of the 6x6x6 cube in the 256-colour palette.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn palette_rgb(index: u8) -> (u8, u8, u8) {
    match index {
        0..=15 => ANSI_RGB[usize::from(index)],
        16..=231 => {
            let i = usize::from(index - 16);
            (CUBE[i / 36], CUBE[i / 6 % 6], CUBE[i % 6])
        }
        232..=255 => {
            let level = 8 + 10 * (index - 232);
            (level, level, level)
        }
    }
}

fn distance(a: (u8, u8, u8), b: (u8, u8, u8)) -> u32 {
    let part = |x: u8, y: u8| u32::from(x.abs_diff(y)).pow(2);
    // The eye is most sensitive to green, least to blue.
    3 * part(a.0, b.0) + 4 * part(a.1, b.1) + 2 * part(a.2, b.2)
}

fn nearest_16(r: u8, g: u8, b: u8) -> u8 {
    let mut best = (u32::MAX, 0);
    for (i, &rgb) in (0u8..).zip(&ANSI_RGB) {
        best = best.min((distance(rgb, (r, g, b)), i));
    }
    best.1
}

fn nearest_256(r: u8, g: u8, b: u8) -> u8 {
    let level = |v: u8| -> u8 {
        match v {
            0..=47 => 0,
            48..=114 => 1,
            _ => (v - 35) / 40,
        }
    };
    let cube = 16 + 36 * level(r) + 6 * level(g) + level(b);
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let grey = 232 + (mean.saturating_sub(3) / 10).min(23) as u8;
    if distance(palette_rgb(grey), (r, g, b)) < distance(palette_rgb(cube), (r, g, b)) { grey } else { cube }
}

/// Reads `#rrggbb`, a palette number, an ANSI name or `default`.
pub(super) fn parse(text: &str) -> Option<Color> {
    if let Some(hex) = text.strip_prefix('#') {
        if hex.len() != 6 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let byte = |i: usize| u8::from_str_radix(hex.get(i..i + 2)?, 16).ok();
        return Some(Color::Rgb(byte(0)?, byte(2)?, byte(4)?));
    }
    if let Ok(index) = text.parse::<u8>() {
        return Some(Color::Indexed(index));
    }
    const NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
    if text == "default" {
        return Some(Color::Reset);
    }
    let (name, base) = text.strip_prefix("bright-").map_or((text, 0), |name| (name, 8));
    let at = NAMES.iter().position(|known| *known == name)?;
    Some(ansi(base + at as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reduces_to_the_nearest() {
        assert_eq!(ColourDepth::Ansi256.reduce(Color::Rgb(255, 0, 0)), Color::Indexed(196));
        assert_eq!(ColourDepth::Ansi256.reduce(Color::Rgb(128, 128, 128)), Color::Indexed(244));
        assert_eq!(ColourDepth::Ansi16.reduce(Color::Indexed(196)), Color::LightRed);
        assert_eq!(ColourDepth::Ansi16.reduce(Color::Rgb(10, 10, 10)), Color::Black);
        assert_eq!(ColourDepth::None.reduce(Color::Red), Color::Reset);
        assert_eq!(ColourDepth::True.reduce(Color::Rgb(1, 2, 3)), Color::Rgb(1, 2, 3));
    }

    #[test]
    fn every_palette_entry_of_the_cube_is_its_own_nearest() {
        for i in 16..=231 {
            let (r, g, b) = palette_rgb(i);
            let found = nearest_256(r, g, b);
            assert_eq!(palette_rgb(found), (r, g, b), "{i}");
        }
    }

    #[test]
    fn names() {
        assert_eq!(parse("#0a0B0c"), Some(Color::Rgb(10, 11, 12)));
        assert_eq!(parse("bright-red"), Some(Color::LightRed));
        assert_eq!(parse("white"), Some(Color::Gray));
        assert_eq!(parse("244"), Some(Color::Indexed(244)));
        assert_eq!(parse("#12345"), None);
        assert_eq!(parse("#+12345"), None);
        assert_eq!(parse("mauve"), None);
    }
}
