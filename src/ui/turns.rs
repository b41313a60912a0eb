//! The turn list: conversations, their turns, and the commands in them.

use super::canvas::Canvas;
use super::feed::status_sign;
use super::popup;
use crate::app::view_model::TurnRow;
use crate::domain::Moment;
use ratatui::layout::Rect;

/// Rows with their state; the selected one is always in sight.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    rows: &[TurnRow],
    (selected, scroll): (usize, usize),
    (filter, only): (&str, &str),
    now: Moment,
) {
    let screen = canvas.screen();
    let room = popup::free(screen);
    let height = u16::try_from(rows.len().max(6)).unwrap_or(u16::MAX).saturating_add(3).min(room.height);
    let outer = popup::centred(screen, 96.min(room.width), height);
    let ink = *canvas.ink();
    let inner = popup::open(canvas, outer, "turns", ink.accent);
    if inner.area() == 0 {
        return;
    }
    let only = if only.is_empty() { String::new() } else { format!("{only} only") };
    let typed = if filter.is_empty() { String::new() } else { format!("/{filter}") };
    popup::note(canvas, outer, false, format!("{only}  {typed}").trim());
    if rows.is_empty() {
        let text = match (filter.is_empty(), only.is_empty()) {
            (true, true) => "no turns yet: an agent begins one with `turn begin`".to_owned(),
            (false, true) => "nothing matches".to_owned(),
            (_, false) => format!("nothing here, {only}: v shows more"),
        };
        canvas.fit(inner.x, inner.y, inner.width, &text, ink.dim);
        return;
    }
    let selected = selected.min(rows.len() - 1);
    let first = popup::first_row(selected, scroll, rows.len(), usize::from(inner.height));
    for ((i, row), y) in rows.iter().enumerate().skip(first).zip(inner.y..inner.bottom()) {
        let indent = u16::from(row.depth.min(4)) * 2;
        let (sign, look) = status_sign(canvas, row.status, now);
        let used = canvas.right(inner.right(), y, inner.width / 2, &row.right, ink.dim);
        let end = inner.right().saturating_sub(used + 2);
        let mut x = inner.x + indent.min(inner.width);
        x += canvas.put(x, y, end.saturating_sub(x), sign, look) + 1;
        let look = match row.depth {
            0 => ink.strong,
            1 => ink.text,
            _ => ink.dim,
        };
        canvas.fit(x, y, end.saturating_sub(x), &row.text, look);
        if i == selected {
            canvas.select(Rect::new(inner.x, y, inner.width, 1));
        }
    }
    if rows.len() > usize::from(inner.height) {
        popup::note(canvas, outer, true, &format!("{}/{}", selected + 1, rows.len()));
    }
}
