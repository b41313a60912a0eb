//! A form: fields below each other, help for the selected one.

use super::canvas::Canvas;
use super::text;
use super::{palette, popup};
use ratatui::layout::Rect;
use ratatui::style::Modifier;

/// Label, value, help of a field.
type Field = (String, String, String);

fn place(screen: Rect, fields: usize) -> Rect {
    let height = u16::try_from(fields).unwrap_or(u16::MAX).saturating_add(6);
    popup::centred(screen, 66, height)
}

/// Lines for help and a problem below the fields.
fn footer(inner: Rect) -> u16 {
    match inner.height {
        0..=3 => 0,
        4..=6 => 1,
        7..=9 => 2,
        _ => 4,
    }
}

/// Column at which values begin.
fn value_column(canvas: &Canvas<'_>, inner: Rect, fields: &[Field]) -> u16 {
    let labels = fields.iter().map(|(label, ..)| canvas.width(label)).max().unwrap_or(0).min(inner.width / 2);
    inner.x + labels + 2
}

fn first_field(inner: Rect, fields: usize, selected: usize) -> usize {
    let height = usize::from(inner.height - footer(inner));
    popup::first_row(selected.min(fields.saturating_sub(1)), 0, fields, height)
}

/// Draws it in the middle; fields scroll where there is little room, and so does what is typed.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    title: &str,
    fields: &[Field],
    selected: usize,
    cursor: Option<u16>,
    problem: Option<&str>,
) {
    let outer = place(canvas.screen(), fields.len());
    let ink = *canvas.ink();
    let inner = popup::open(canvas, outer, title, ink.accent);
    if inner.area() == 0 {
        return;
    }
    let column = value_column(canvas, inner, fields);
    let list = Rect { height: inner.height - footer(inner), ..inner };
    let first = first_field(inner, fields.len(), selected);
    for ((i, (label, value, _)), y) in fields.iter().enumerate().skip(first).zip(list.y..list.bottom()) {
        let current = i == selected;
        let look = if current { ink.accent.add_modifier(Modifier::BOLD) } else { ink.dim };
        canvas.right(column.saturating_sub(2), y, column.saturating_sub(2 + inner.x), label, look);
        let room = inner.right().saturating_sub(column);
        match cursor.filter(|_| current) {
            Some(cursor) => palette::input_line(canvas, Rect::new(column, y, room, 1), value, cursor),
            None => _ = canvas.fit(column, y, room, value, if current { ink.strong } else { ink.text }),
        }
        if current {
            canvas.select(Rect::new(column.saturating_sub(1), y, room + 1, 1));
        }
    }
    if fields.len() > usize::from(list.height) {
        popup::note(canvas, outer, true, &format!("{}/{}", selected + 1, fields.len()));
    }
    let Some(mut y) = inner.bottom().checked_sub(footer(inner)).filter(|y| *y < inner.bottom()) else { return };
    let mut say = |text: &str, look| {
        for line in text::wrap(text, inner.width, canvas.style.unicode) {
            if y < inner.bottom() {
                canvas.fit(inner.x, y, inner.width, &line, look);
                y += 1;
            }
        }
    };
    if footer(inner) == 4 {
        say("", ink.text);
    }
    if let Some(problem) = problem {
        say(&format!("! {problem}"), ink.danger);
    }
    if let Some((_, _, help)) = fields.get(selected) {
        say(help, ink.dim);
    }
}

/// Where the cursor stands in the selected field.
pub(super) fn cursor(canvas: &Canvas<'_>, fields: &[Field], selected: usize, cursor: u16) -> Option<(u16, u16)> {
    let inner = popup::inner(place(canvas.screen(), fields.len()));
    if inner.area() == 0 || selected >= fields.len() {
        return None;
    }
    let row = u16::try_from(selected - first_field(inner, fields.len(), selected)).ok()?;
    if row >= inner.height - footer(inner) {
        return None;
    }
    let column = value_column(canvas, inner, fields);
    palette::input_cursor(Rect::new(column, inner.y + row, inner.right().saturating_sub(column), 1), cursor)
}
