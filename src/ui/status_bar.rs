//! The last line: where keys go, hints, and the facts that matter most.

use super::canvas::Canvas;
use crate::app::view_model::{Mode, StatusBar};
use ratatui::layout::Rect;

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
        Mode::Nav => (" NAV ", ink.badge),
        Mode::Leader => (" LEADER ", ink.leader),
        Mode::Copy => (" COPY ", ink.badge),
        Mode::Overlay => (" MENU ", ink.badge),
    };
    let y = line.y;
    let mut x = line.x + canvas.put(line.x, y, line.width, name, look) + 1;
    let mut end = line.right();
    // One hint is worth more than the less important facts.
    let first_hint = status.hints.first().map_or(0, |(k, what)| canvas.width(k) + canvas.width(what) + 3);
    let least = x + first_hint.min(line.width / 2);
    let mut first = true;
    let separator = format!(" {} ", canvas.glyph().dot);
    for fact in status.facts.iter().rev() {
        let gap = if first { 1 } else { canvas.width(&separator) };
        let needs = canvas.width(fact) + gap;
        if end.saturating_sub(needs) < least {
            break;
        }
        if first {
            end -= 1;
        } else {
            end -= canvas.right(end, y, gap, &separator, ink.border);
        }
        first = false;
        end -= canvas.right(end, y, needs, fact, ink.dim);
    }
    for trouble in &status.troubles {
        let text = format!("{} {trouble}", canvas.glyph().lost);
        let room = end.saturating_sub(x + 2);
        if room < 6 {
            break;
        }
        end = end.saturating_sub(canvas.right(end.saturating_sub(1), y, room.min(40), &text, ink.danger) + 2);
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
