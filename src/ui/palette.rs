//! The command palette and other lists to pick from.

use super::canvas::Canvas;
use super::popup;
use ratatui::layout::Rect;

/// Where the palette is: as high as its rows need, at a fixed top so that typing does not move it.
fn place(screen: Rect, rows: usize) -> Rect {
    let room = popup::free(screen);
    let height = u16::try_from(rows.max(1)).unwrap_or(u16::MAX).saturating_add(4).min(20);
    let place = popup::centred(screen, 66, 20.min(room.height));
    Rect { height: height.min(place.height), ..place }
}

/// Title, what is typed, rows with their key or remark.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    title: &str,
    input: &str,
    cursor: u16,
    rows: &[(String, String, bool)],
    selected: usize,
) {
    let outer = place(canvas.screen(), rows.len());
    let ink = *canvas.ink();
    let inner = popup::open(canvas, outer, title, ink.accent);
    if inner.area() == 0 {
        return;
    }
    canvas.put(inner.x, inner.y, inner.width, canvas.glyph().prompt, ink.accent);
    input_line(canvas, Rect::new(inner.x + 2, inner.y, inner.width.saturating_sub(2), 1), input, cursor);
    let gap = u16::from(inner.height > 3);
    let list = Rect::new(inner.x, inner.y + 1 + gap, inner.width, inner.height.saturating_sub(1 + gap));
    if rows.is_empty() {
        if list.height > 0 {
            canvas.fit(list.x, list.y, list.width, "nothing matches", ink.dim);
        }
        return;
    }
    let selected = selected.min(rows.len() - 1);
    let first = popup::first_row(selected, 0, rows.len(), usize::from(list.height));
    // Names stand below each other, and so does what they mean.
    let name_of = |text: &str| text.split_once("  ").map_or(0, |(name, _)| canvas.width(name));
    let column = rows.iter().skip(first).take(list.height.into()).map(|(text, ..)| name_of(text)).max().unwrap_or(0);
    let column = column.min(18);
    for ((i, (text, remark, can)), y) in rows.iter().enumerate().skip(first).zip(list.y..list.bottom()) {
        let most = (list.width / 3).max(22).min(list.width / 2);
        let used = canvas.right(list.right(), y, most, remark, ink.dim);
        let room = list.width.saturating_sub(used + 3);
        // A name, and after two blanks what it means.
        let (name, meaning) = text.split_once("  ").unwrap_or((text, ""));
        let used = canvas.fit(list.x + 2, y, room, name, if *can { ink.text } else { ink.dim });
        let used = used.max(column) + 2;
        if !meaning.is_empty() && room > used + 4 {
            canvas.fit(list.x + 2 + used, y, room - used, meaning, ink.dim);
        }
        if i == selected {
            canvas.put(list.x, y, list.width, canvas.glyph().running, ink.accent);
            canvas.select(Rect::new(list.x, y, list.width, 1));
        }
    }
    if rows.len() > usize::from(list.height) {
        popup::note(canvas, outer, true, &format!("{}/{}", selected + 1, rows.len()));
    }
}

/// Where the cursor stands.
pub(super) fn cursor(screen: Rect, rows: usize, cursor: u16) -> Option<(u16, u16)> {
    let inner = popup::inner(place(screen, rows));
    input_cursor(Rect::new(inner.x + 2, inner.y, inner.width.saturating_sub(2), inner.height.min(1)), cursor)
}

/// Draws what is typed, moved so that the cursor is in sight.
pub(super) fn input_line(canvas: &mut Canvas<'_>, area: Rect, input: &str, cursor: u16) {
    let hidden = hidden_columns(area.width, cursor);
    let ink = canvas.ink().strong;
    let mut column = 0u16;
    let unicode = canvas.style.unicode;
    for (cluster, width) in super::text::clusters(input, unicode) {
        let next = column.saturating_add(width);
        if column >= hidden {
            let at = column - hidden;
            if at.saturating_add(width) > area.width {
                break;
            }
            canvas.put(area.x + at, area.y, width, cluster, ink);
        }
        column = next;
    }
}

/// Where the cursor of an input stands on the screen.
pub(super) fn input_cursor(area: Rect, cursor: u16) -> Option<(u16, u16)> {
    if area.area() == 0 {
        return None;
    }
    let at = cursor - hidden_columns(area.width, cursor);
    Some((area.x + at.min(area.width - 1), area.y))
}

fn hidden_columns(width: u16, cursor: u16) -> u16 {
    cursor.saturating_add(1).saturating_sub(width)
}
