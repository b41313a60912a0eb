//! The last line: where keys go, hints, and the facts that matter most.

use super::canvas::Canvas;
use super::text;
use crate::app::view_model::{Mode, StatusBar};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style as Ink};

/// Draws the last line of the screen.
pub(super) fn draw(canvas: &mut Canvas<'_>, mode: Mode, status: &StatusBar) {
    let screen = canvas.screen();
    if screen.area() == 0 {
        return;
    }
    let line = Rect::new(screen.x, screen.bottom() - 1, screen.width, 1);
    let ink = *canvas.ink();
    canvas.clear(line, ink.text);
    let (name, look) = match mode {
        Mode::Pane => (" PANE ", ink.quiet),
        Mode::Agent => (" AGENT ", ink.badge),
        Mode::Nav => (" NAV ", ink.badge),
        Mode::Leader => (" LEADER ", ink.leader),
        Mode::Copy => (" COPY ", ink.badge),
        Mode::Overlay => (" MENU ", ink.badge),
    };
    let y = line.y;
    let mut x = line.x + canvas.put(line.x, y, line.width, name, look) + 1;
    let right = right_side(canvas, mode, status, line.width.saturating_sub(x - line.x));
    let separator = format!(" {} ", canvas.glyph().dot);
    let mut end = line.right() - u16::from(!right.is_empty());
    for (i, (text, look)) in right.iter().enumerate() {
        if i > 0 {
            end -= canvas.right(end, y, 3, &separator, ink.border);
        }
        end -= canvas.right(end, y, end.saturating_sub(x), text, *look);
    }
    for (i, (key, what)) in status.hints.iter().enumerate() {
        let needs = canvas.width(key) + 1 + canvas.width(what) + if i == 0 { 0 } else { 3 };
        if x + needs + 1 > end {
            break;
        }
        if i > 0 {
            x += canvas.put(x, y, end - x, &separator, ink.border);
        }
        x += canvas.put(x, y, end - x, key, ink.accent) + 1;
        x += canvas.put(x, y, end.saturating_sub(x), what, ink.dim);
    }
}

/// What has room at the right, from right to left: what needs a person, the last fact, troubles, then the other facts. Those leave room for
/// hints: for the first two in a pane, for all where keys do something else than usual.
fn right_side(canvas: &Canvas<'_>, mode: Mode, status: &StatusBar, room: u16) -> Vec<(String, Ink)> {
    let ink = canvas.ink();
    let hints = if mode == Mode::Pane { 2 } else { status.hints.len() };
    let hint = status
        .hints
        .iter()
        .take(hints)
        .fold(0u16, |sum, (key, what)| sum.saturating_add(canvas.width(key) + canvas.width(what) + 4));
    let mut room = room.saturating_sub(1);
    let mut chosen: Vec<(usize, String, Ink)> = Vec::new();
    let last = status.facts.len().saturating_sub(1);
    // Place from the right, text, look, least columns, and whether it may take the hint's room.
    let mut wanted: Vec<(usize, String, Ink, u16, bool)> = Vec::new();
    let calls = !status.needs.is_empty();
    if calls {
        let look = ink.warn.add_modifier(Modifier::BOLD);
        wanted.push((0, status.needs.clone(), look, canvas.width(&status.needs), true));
    }
    if let Some(fact) = status.facts.last() {
        let over_hint = !calls && !matches!(mode, Mode::Agent | Mode::Overlay);
        wanted.push((1, fact.clone(), ink.dim, canvas.width(fact), over_hint));
    }
    for (i, trouble) in status.troubles.iter().enumerate() {
        let text = format!("{} {trouble}", canvas.glyph().lost);
        wanted.push((status.facts.len() + 2 + i, text, ink.danger, 8, true));
    }
    for (i, fact) in status.facts.iter().enumerate().take(last).rev() {
        wanted.push((last - i + 1, fact.clone(), ink.dim, canvas.width(fact), false));
    }
    for (place, text, look, least, over_hint) in wanted {
        let gap = if chosen.is_empty() { 0 } else { 3 };
        let free = if over_hint { room } else { room.saturating_sub(hint) };
        let needs = canvas.width(&text).min(32);
        if free >= needs.min(least) + gap {
            let columns = needs.min(free - gap);
            room -= columns + gap;
            chosen.push((place, cut(canvas, &text, columns), look));
        }
    }
    chosen.sort_by_key(|(place, ..)| *place);
    chosen.into_iter().map(|(_, text, look)| (text, look)).collect()
}

/// The text within so many columns, with an ellipsis where it was longer.
fn cut(canvas: &Canvas<'_>, line: &str, columns: u16) -> String {
    text::cut(line, columns, canvas.style.unicode, canvas.glyph().ellipsis)
}
