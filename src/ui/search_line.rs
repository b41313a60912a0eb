//! The last line while a search is typed.

use super::canvas::Canvas;
use super::palette;
use ratatui::layout::Rect;

/// What stands before the input: the key that began it, and what the input is.
fn sign(down: bool, regex: bool) -> &'static str {
    match (down, regex) {
        (true, false) => "/",
        (false, false) => "?",
        (true, true) => "regex /",
        (false, true) => "regex ?",
    }
}

fn input_area(screen: Rect, sign: &str) -> Rect {
    let line = Rect::new(screen.x, screen.bottom().saturating_sub(1), screen.width, screen.height.min(1));
    let before = (sign.len() as u16).min(line.width);
    // At the right stands how it goes, or why not; the input has most of the line.
    let width = (line.width - before).saturating_sub(line.width / 3);
    Rect { x: line.x + before, width, ..line }
}

/// Draws it: the input, and at the right how many there are, or what is wrong.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    (down, regex): (bool, bool),
    (input, cursor): (&str, u16),
    note: &str,
    problem: Option<&str>,
) {
    let screen = canvas.screen();
    if screen.area() == 0 {
        return;
    }
    let ink = *canvas.ink();
    let line = Rect::new(screen.x, screen.bottom() - 1, screen.width, 1);
    canvas.clear(line, ink.text);
    let sign = sign(down, regex);
    canvas.put(line.x, line.y, line.width, sign, ink.accent);
    let area = input_area(screen, sign);
    palette::input_line(canvas, area, input, cursor);
    let other = if regex { "Ctrl+R plain" } else { "Ctrl+R regex" };
    let room = line.right().saturating_sub(area.right() + 1);
    match problem {
        Some(problem) => {
            let text = format!("{} {problem}", canvas.glyph().warning);
            // It may take what the input leaves free.
            let used = area.x + (canvas.width(input) + 3).min(area.width);
            let room = line.right().saturating_sub(used + 1);
            canvas.right(line.right().saturating_sub(1), line.y, room, &text, ink.danger);
        }
        None if note.is_empty() => _ = canvas.right(line.right().saturating_sub(1), line.y, room, other, ink.dim),
        None => {
            let text = format!("{note} {} {other}", canvas.glyph().dot);
            let text = if canvas.width(&text) <= room { text } else { note.to_owned() };
            canvas.right(line.right().saturating_sub(1), line.y, room, &text, ink.text);
        }
    }
}

/// Where the cursor stands.
pub(super) fn cursor(screen: Rect, (down, regex): (bool, bool), cursor: u16) -> Option<(u16, u16)> {
    palette::input_cursor(input_area(screen, sign(down, regex)), cursor)
}
