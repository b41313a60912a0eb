//! Colours that a program sets, asks for and takes back (OSC 4, 10, 11, 12, 104, 110, 111, 112).

use super::emulator::{COLOR_COUNT, Handler, NamedColor, Rgb};
use super::handler::Watched;
use std::fmt::Write as _;

impl Watched<'_> {
    /// Carries out a colour command; whether it was one.
    pub(super) fn colours(&mut self, params: &[&[u8]], terminator: &str) {
        match params {
            [b"4", pairs @ ..] => {
                for pair in pairs.chunks_exact(2) {
                    if let Some(index) = number(pair[0]).filter(|n| *n < 256) {
                        self.colour(index, pair[1], &format!("4;{index}"), terminator);
                    }
                }
            }
            [b"104"] | [b"104", b""] => (0..256).for_each(|index| self.reset_colour(index)),
            [b"104", indices @ ..] => {
                for index in indices.iter().filter_map(|index| number(index)).filter(|n| *n < 256) {
                    self.reset_colour(index);
                }
            }
            // Further values are for the codes that follow.
            [first @ (b"10" | b"11" | b"12"), values @ ..] => {
                let first = number(first).unwrap_or(10);
                for (code, value) in (first..=12).zip(values) {
                    self.colour(dynamic(code), value, &code.to_string(), terminator);
                }
            }
            [code @ (b"110" | b"111" | b"112"), ..] => {
                self.reset_colour(dynamic(number(code).unwrap_or(110) - 100));
            }
            _ => {}
        }
    }

    fn colour(&mut self, index: usize, value: &[u8], prefix: &str, terminator: &str) {
        if value == b"?" {
            if let Some((r, g, b)) = self.policy.color_of(self.term, index) {
                let _ = write!(
                    self.policy.reply,
                    "\x1b]{prefix};rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}{terminator}"
                );
            }
        } else if let Some(rgb) = parse(value) {
            self.policy.recoloured = true;
            self.term().set_color(index, rgb);
        }
    }

    pub(super) fn reset_all_colours(&mut self) {
        self.policy.recoloured = false;
        (0..COLOR_COUNT).for_each(|index| self.reset_colour(index));
    }

    fn reset_colour(&mut self, index: usize) {
        self.term().reset_color(index);
    }
}

/// Where the engine keeps the colour of OSC 10, 11 or 12.
fn dynamic(code: usize) -> usize {
    match code {
        10 => NamedColor::Foreground as usize,
        11 => NamedColor::Background as usize,
        _ => NamedColor::Cursor as usize,
    }
}

fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}

/// Red, green and blue of a colour as X11 writes it.
#[must_use]
pub fn rgb(text: &str) -> Option<(u8, u8, u8)> {
    parse(text.as_bytes()).map(|Rgb { r, g, b }| (r, g, b))
}

/// Whether dark text is easier to read on it than light text: by its luma (Rec. ITU-R BT.601).
#[must_use]
pub fn is_light((red, green, blue): (u8, u8, u8)) -> bool {
    299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue) > 127_500
}

/// A colour as X11 writes it: `rgb:` with one to four hexadecimal digits for each part, or `#` with as many for all
/// three.
fn parse(text: &[u8]) -> Option<Rgb> {
    let text = std::str::from_utf8(text).ok()?;
    if let Some(text) = text.strip_prefix("rgb:") {
        // Scaled: `f` is as bright as `ffff`.
        let mut parts = text.split('/').map(|part| hex(part).map(|n| (n * 255 / ((1 << (4 * part.len())) - 1)) as u8));
        let rgb = Rgb { r: parts.next()??, g: parts.next()??, b: parts.next()?? };
        return parts.next().is_none().then_some(rgb);
    }
    let digits = text.strip_prefix('#').filter(|digits| digits.is_ascii() && digits.len() % 3 == 0)?;
    let length = digits.len() / 3;
    // Not scaled: the digits are the most significant ones.
    let part = |n: usize| hex(digits.get(n * length..(n + 1) * length)?).map(|n| ((n << 16) >> (4 * length + 8)) as u8);
    Some(Rgb { r: part(0)?, g: part(1)?, b: part(2)? })
}

/// One to four hexadecimal digits.
fn hex(digits: &str) -> Option<u32> {
    let good = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    good.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{Rgb, parse};

    #[test]
    fn colours_are_read_as_x11_writes_them() {
        for (text, rgb) in [
            ("rgb:f/0/8", Some((255, 0, 136))),
            ("rgb:ff/00/80", Some((255, 0, 128))),
            ("rgb:fff/000/800", Some((255, 0, 127))),
            ("rgb:ffff/0000/8080", Some((255, 0, 128))),
            ("#f08", Some((0xf0, 0, 0x80))),
            ("#ff0080", Some((255, 0, 128))),
            ("#fff000800", Some((255, 0, 128))),
            ("#ffff00008080", Some((255, 0, 128))),
            ("rgbi:1.0/0/0.5", None),
            ("rgb:f/0", None),
            ("rgb:f/0/0/0", None),
            ("rgb:fffff/0/0", None),
            ("rgb:+f/0/0", None),
            ("#ff", None),
            ("#", None),
            ("#é0", None),
            ("red", None),
        ] {
            assert_eq!(parse(text.as_bytes()), rgb.map(|(r, g, b)| Rgb { r, g, b }), "{text}");
        }
    }
}
