//! What all overlays share: their place, their frame, and lines that scroll.

use super::canvas::Canvas;
use super::text;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style as Ink};

/// A line of an overlay: parts with their looks.
pub(super) type Parts = Vec<(String, Ink)>;

/// A rectangle of at most this size (border included) in the middle. On small screens it takes all the room;
/// the last line stays free for the hints of the status bar where that can be.
pub(super) fn centred(screen: Rect, width: u16, height: u16) -> Rect {
    let room = free(screen);
    let width = if room.width < 50 { room.width } else { width.min(room.width - 4) };
    let height = height.min(room.height);
    let x = room.x + (room.width - width) / 2;
    // A little above the middle looks like the middle.
    let y = room.y + (room.height - height) * 2 / 5;
    Rect::new(x, y, width, height)
}

/// The screen without the status bar, while there is enough left.
pub(super) fn free(screen: Rect) -> Rect {
    if screen.height > 6 { Rect { height: screen.height - 1, ..screen } } else { screen }
}

/// What is inside the frame of an overlay; on the smallest screens there is no frame.
pub(super) fn inner(outer: Rect) -> Rect {
    if framed(outer) { Rect::new(outer.x + 2, outer.y + 1, outer.width - 4, outer.height - 2) } else { outer }
}

fn framed(outer: Rect) -> bool {
    outer.width >= 12 && outer.height >= 5
}

/// Empties the place, draws frame and title, and returns what is inside.
pub(super) fn open(canvas: &mut Canvas<'_>, outer: Rect, title: &str, look: Ink) -> Rect {
    let text = canvas.ink().text;
    canvas.clear(outer, text);
    if framed(outer) {
        let mut borders = super::borders::Borders::new(outer);
        borders.rect(outer, super::borders::Weight::Focused, false);
        borders.draw(canvas);
        let title = format!(" {title} ");
        canvas.fit(outer.x + 2, outer.y, outer.width - 4, &title, look.add_modifier(Modifier::BOLD));
    }
    inner(outer)
}

/// Writes something short into the right end of the upper or lower edge.
pub(super) fn note(canvas: &mut Canvas<'_>, outer: Rect, lower: bool, text: &str) {
    if framed(outer) && !text.is_empty() {
        let y = if lower { outer.bottom() - 1 } else { outer.y };
        let ink = canvas.ink().dim;
        canvas.right(outer.right() - 2, y, outer.width / 2, &format!(" {text} "), ink);
    }
}

/// Writes parts one after the other; returns the columns used.
pub(super) fn parts(canvas: &mut Canvas<'_>, x: u16, y: u16, max: u16, parts: &Parts) -> u16 {
    let mut used = 0;
    for (text, ink) in parts {
        used += canvas.fit(x + used, y, max - used, text, *ink);
    }
    used
}

/// Facts in two columns: names below each other, details wrapped beside them in the look of their name.
pub(super) fn facts(
    canvas: &Canvas<'_>,
    facts: &[(String, String)],
    width: u16,
    look: impl Fn(&str) -> Ink,
) -> Vec<Parts> {
    let ink = canvas.ink();
    let labels = facts.iter().map(|(name, _)| canvas.width(name)).max().unwrap_or(0).min(width / 3);
    let mut lines: Vec<Parts> = Vec::new();
    for (name, detail) in facts {
        let look = look(name);
        let room = width.saturating_sub(labels + 2);
        for (i, part) in text::wrap(detail, room, canvas.style.unicode).into_iter().enumerate() {
            let name = if i == 0 { name.as_str() } else { "" };
            let pad = usize::from(labels.saturating_sub(canvas.width(name)) + 2);
            lines.push(vec![(name.to_owned(), ink.dim), (" ".repeat(pad), ink.text), (part, look)]);
        }
    }
    lines
}

/// Draws lines from `scroll` on and says in the lower edge how many are out of sight.
pub(super) fn scrolled(canvas: &mut Canvas<'_>, outer: Rect, area: Rect, lines: &[Parts], scroll: usize) {
    let height = usize::from(area.height);
    let first = scroll.min(lines.len().saturating_sub(height));
    for (line, y) in lines.iter().skip(first).zip(area.y..area.bottom()) {
        parts(canvas, area.x, y, area.width, line);
    }
    let below = lines.len().saturating_sub(first + height);
    let (up, down) = (canvas.glyph().up, canvas.glyph().down);
    let text = match (first, below) {
        (0, 0) => String::new(),
        (above, 0) => format!("{up}{above}"),
        (0, below) => format!("{down}{below}"),
        (above, below) => format!("{up}{above} {down}{below}"),
    };
    note(canvas, outer, true, &text);
}

/// The first row to show so that `selected` is in sight, as close to `wanted` as can be.
pub(super) fn first_row(selected: usize, wanted: usize, rows: usize, height: usize) -> usize {
    let last = rows.saturating_sub(height);
    let least = (selected + 1).saturating_sub(height);
    wanted.max(least).min(selected).min(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_row_is_in_sight() {
        for selected in 0..30 {
            for wanted in 0..40 {
                let first = first_row(selected, wanted, 30, 7);
                assert!(first <= selected && selected < first + 7, "{selected} {wanted} {first}");
            }
        }
        assert_eq!(first_row(0, 0, 0, 5), 0);
        assert_eq!(first_row(3, 0, 5, 0), 3);
    }

    #[test]
    fn overlays_stay_on_the_screen() {
        for w in 0..120 {
            for h in 0..50 {
                let screen = Rect::new(0, 0, w, h);
                let outer = centred(screen, 70, 20);
                assert_eq!(outer.intersection(screen), outer);
                assert_eq!(inner(outer).intersection(outer), inner(outer));
            }
        }
    }
}
