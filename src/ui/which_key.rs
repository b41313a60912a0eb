//! The keys that may follow the leader: a footer in columns over the last lines.

use super::canvas::Canvas;
use super::popup;
use ratatui::layout::Rect;

/// Draws the footer just above the status bar.
pub(super) fn draw(canvas: &mut Canvas<'_>, keys: &[(String, String)]) {
    let room = popup::free(canvas.screen());
    if room.area() == 0 || keys.is_empty() {
        return;
    }
    let key_width = keys.iter().map(|(key, _)| canvas.width(key)).max().unwrap_or(0).min(12);
    let text_width = keys.iter().map(|(_, text)| canvas.width(text)).max().unwrap_or(0).min(28);
    let natural = (key_width + text_width + 4).min(room.width).max(1);
    let (columns, rows) = grid(keys.len(), room, natural, key_width);
    let column = room.width / columns as u16;
    let height = rows as u16;
    let top = room.bottom() - height;
    let rule = room.height > height;
    let ink = *canvas.ink();
    canvas.clear(Rect::new(room.x, top - u16::from(rule), room.width, height + u16::from(rule)), ink.text);
    if rule {
        for x in room.x..room.right() {
            canvas.put(x, top - 1, 1, canvas.glyph().rule, ink.focus);
        }
        canvas.fit(room.x + 2, top - 1, room.width.saturating_sub(2), " leader ", ink.accent);
        let shown = rows * columns;
        if shown < keys.len() {
            let more = format!(" {} more: ? ", keys.len() - shown);
            canvas.right(room.right().saturating_sub(1), top - 1, room.width / 2, &more, ink.dim);
        }
    }
    // Down first, like a list: related keys stay together.
    for (i, (key, text)) in keys.iter().take(rows * columns).enumerate() {
        let x = room.x + (i / rows) as u16 * column;
        let y = top + (i % rows) as u16;
        let end = (x + column).min(room.right()).saturating_sub(1);
        canvas.right(x + 1 + key_width, y, key_width, key, ink.accent);
        let from = x + key_width + 3;
        canvas.fit(from, y, end.saturating_sub(from), text, ink.text);
    }
}

/// Columns and rows: wide columns if all keys fit so, else narrower ones, else as many keys as there is room for.
fn grid(keys: usize, room: Rect, natural: u16, key_width: u16) -> (usize, usize) {
    let with_rule = usize::from(room.height.saturating_sub(1).max(1));
    for (column, most) in [
        (natural, with_rule),
        (key_width + 16, with_rule),
        (key_width + 16, usize::from(room.height)),
        (key_width + 10, usize::from(room.height)),
    ] {
        let columns = usize::from((room.width / column.max(1)).max(1)).min(keys);
        let rows = keys.div_ceil(columns);
        if rows <= most {
            // As few columns as those rows need, spread over the width.
            return (keys.div_ceil(rows), rows);
        }
    }
    let columns = usize::from((room.width / (key_width + 10)).max(1)).min(keys);
    (columns, with_rule)
}
