//! One line to type.

use super::canvas::Canvas;
use super::{palette, popup};
use ratatui::layout::Rect;

fn place(screen: Rect) -> Rect {
    popup::centred(screen, 56, 5)
}

fn input_area(screen: Rect) -> Rect {
    let inner = popup::inner(place(screen));
    Rect::new(inner.x, inner.y + inner.height / 3, inner.width, inner.height.min(1))
}

/// Title, what is typed, and why it cannot be accepted yet.
pub(super) fn draw(canvas: &mut Canvas<'_>, title: &str, input: &str, cursor: u16, problem: Option<&str>) {
    let screen = canvas.screen();
    let outer = place(screen);
    let ink = *canvas.ink();
    let inner = popup::open(canvas, outer, title, ink.accent);
    let line = input_area(screen);
    palette::input_line(canvas, line, input, cursor);
    canvas.tint(line, ink.text.add_modifier(ratatui::style::Modifier::UNDERLINED));
    if let Some(problem) = problem
        && line.y + 1 < inner.bottom()
    {
        let text = format!("{} {problem}", canvas.glyph().warning);
        canvas.fit(inner.x, line.y + 1, inner.width, &text, ink.danger);
    }
}

/// Where the cursor stands.
pub(super) fn cursor(screen: Rect, cursor: u16) -> Option<(u16, u16)> {
    palette::input_cursor(input_area(screen), cursor)
}
