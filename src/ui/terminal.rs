//! A session's screen inside its pane.

use super::Cursor;
use super::canvas::Canvas;
use super::style::Roles;
use super::text;
use crate::app::view_model::{Area, Pane, PaneContent};
use crate::term::{Attrs, Cell, Color as Paint, CursorShape, Found, Style as Look, Underline, View};
use ratatui::buffer::{CellDiffOption, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style as Ink};
use std::num::NonZeroU16;

/// Draws the cells that have room; a wide character never reaches over the edge. `past` = the session has ended.
pub(super) fn draw(canvas: &mut Canvas<'_>, view: &View<'_>, area: Rect, past: bool) {
    let shown = area.intersection(canvas.screen());
    if shown.area() == 0 || shown.x != area.x || shown.y != area.y {
        return;
    }
    for row in 0..shown.height.min(view.rows()) {
        draw_row(canvas, view, row, Rect { y: shown.y + row, height: 1, ..shown }, past);
    }
}

/// Draws one row of it.
pub(super) fn draw_row(canvas: &mut Canvas<'_>, view: &View<'_>, row: u16, line: Rect, past: bool) {
    canvas.part_wide(line.x, line.y);
    view.for_each_in_row(row, |col, cell| {
        let width = u16::from(cell.width.clamp(1, 2));
        if col < line.width {
            let fits = col + width <= line.width;
            draw_cell(canvas, line.x + col, line.y, cell, width, fits, past);
        }
    });
}

fn draw_cell(canvas: &mut Canvas<'_>, x: u16, y: u16, cell: &Cell<'_>, width: u16, fits: bool, past: bool) {
    let ink = ink(canvas, cell, past);
    let unicode = canvas.style.unicode;
    let hidden = cell.style.attrs.contains(Attrs::HIDDEN);
    let at = &mut canvas.buf[(x, y)];
    at.set_style(ink);
    if !fits || hidden {
        at.set_symbol(" ");
    } else if cell.text.is_ascii() {
        at.set_symbol(cell.text);
    } else if unicode {
        at.set_symbol(&text::in_order(cell.text));
        // Should the two ever count differently, the next cell must still be drawn where it belongs.
        if at.symbol().cell_width() != width
            && let Some(width) = NonZeroU16::new(width)
        {
            at.set_diff_option(CellDiffOption::ForcedWidth(width));
        }
    } else {
        at.set_symbol(cell.text.chars().next().map_or(" ", text::ascii));
    }
    if width == 2 && fits {
        canvas.buf[(x + 1, y)].set_symbol(" ").set_style(ink);
    }
}

fn ink(canvas: &Canvas<'_>, cell: &Cell<'_>, past: bool) -> Ink {
    let roles = canvas.ink();
    let mut ink = if past { faded(roles) } else { colours(canvas, &cell.style) };
    let attrs = cell.style.attrs;
    let mut modifiers = Modifier::empty();
    for (attr, modifier) in [
        (Attrs::BOLD, Modifier::BOLD),
        (Attrs::DIM, Modifier::DIM),
        (Attrs::ITALIC, Modifier::ITALIC),
        (Attrs::INVERSE, Modifier::REVERSED),
        (Attrs::STRIKE, Modifier::CROSSED_OUT),
    ] {
        if attrs.contains(attr) {
            modifiers |= modifier;
        }
    }
    if cell.style.underline != Underline::None {
        modifiers |= Modifier::UNDERLINED;
    }
    let marked = match cell.found {
        _ if cell.selected => Some(roles.selected),
        Found::No => None,
        Found::Yes => Some(roles.found),
        Found::Here => Some(roles.found_here),
    };
    if let Some(selected) = marked {
        if selected.add_modifier.contains(Modifier::REVERSED) {
            // What the program shows reversed is shown plain, so that the marked stretch can be seen.
            modifiers ^= Modifier::REVERSED;
        } else {
            modifiers.remove(Modifier::REVERSED | Modifier::DIM);
            ink.fg = selected.fg;
            ink.bg = selected.bg;
        }
        modifiers |= selected.add_modifier - Modifier::REVERSED;
    }
    ink.add_modifier(modifiers)
}

/// The last screen of what has ended: readable, and plainly past.
fn faded(roles: &Roles) -> Ink {
    Ink::new().fg(roles.dim.fg.unwrap_or(Color::Reset)).add_modifier(roles.dim.add_modifier)
}

fn colours(canvas: &Canvas<'_>, look: &Look) -> Ink {
    let depth = canvas.style.depth;
    let reduce = |paint: Paint| match paint {
        Paint::Default => Color::Reset,
        Paint::Indexed(i) => depth.reduce(Color::Indexed(i)),
        Paint::Rgb(r, g, b) => depth.reduce(Color::Rgb(r, g, b)),
    };
    let ink = Ink::new().fg(reduce(look.fg)).bg(reduce(look.bg));
    match look.underline_color {
        Some(paint) => ink.underline_color(reduce(paint)),
        None => ink,
    }
}

/// Where a pane's cursor is on the screen, if it shows one.
pub(super) fn cursor(pane: &Pane<'_>) -> Option<Cursor> {
    let PaneContent::Terminal { screen, offset, dim, copy_cursor, .. } = &pane.content else { return None };
    match copy_cursor {
        Some((x, y)) => within(pane.inner, *x, *y, (CursorShape::Block, false)),
        None if *dim => None,
        None => cursor_of(&screen.view_at(*offset), pane.inner),
    }
}

/// Where a program's cursor is on the screen, if it shows one.
pub(super) fn cursor_of(view: &View<'_>, inner: Area) -> Option<Cursor> {
    let cursor = view.cursor()?;
    within(inner, cursor.col, cursor.row, (cursor.shape, cursor.blinking))
}

fn within(inner: Area, col: u16, row: u16, (shape, blinking): (CursorShape, bool)) -> Option<Cursor> {
    (col < inner.width && row < inner.height).then(|| Cursor { x: inner.x + col, y: inner.y + row, shape, blinking })
}
