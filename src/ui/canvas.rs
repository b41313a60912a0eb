//! Where everything is drawn: text by display width, always inside its bounds, free of control characters.

use super::style::{Glyphs, Roles, Style};
use super::text;
use ratatui::buffer::{Buffer, CellDiffOption, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style as Ink};

/// A buffer with a look. Nothing drawn through it can fall outside of the buffer.
pub(super) struct Canvas<'a> {
    pub(super) buf: &'a mut Buffer,
    pub(super) style: &'a Style,
    screen: Rect,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(buf: &'a mut Buffer, style: &'a Style) -> Self {
        let screen = buf.area;
        Self { buf, style, screen }
    }

    /// To measure on a screen of that size, without drawing.
    pub(super) fn measuring(buf: &'a mut Buffer, style: &'a Style, screen: Rect) -> Self {
        Self { buf, style, screen }
    }

    pub(super) fn ink(&self) -> &'a Roles {
        &self.style.ink
    }

    pub(super) fn glyph(&self) -> &'static Glyphs {
        self.style.glyph
    }

    /// The whole screen.
    pub(super) fn screen(&self) -> Rect {
        self.screen
    }

    /// Writes text into at most `max` columns, cut hard; returns the columns used.
    pub(super) fn put(&mut self, x: u16, y: u16, max: u16, line: &str, ink: Ink) -> u16 {
        let screen = self.buf.area;
        if y < screen.y || y >= screen.bottom() || x < screen.x || x >= screen.right() {
            return 0;
        }
        let max = max.min(screen.right() - x);
        if max == 0 {
            return 0;
        }
        self.part_wide(x, y);
        let mut used = 0;
        for (cluster, width) in text::clusters(line, self.style.unicode) {
            if used + width > max {
                break;
            }
            let cell = &mut self.buf[(x + used, y)];
            cell.set_diff_option(CellDiffOption::None);
            // Only the background of what was there shows through.
            cell.modifier = Modifier::empty();
            cell.set_symbol(cluster).set_style(ink);
            for right in 1..width {
                let cell = &mut self.buf[(x + used + right, y)];
                cell.set_diff_option(CellDiffOption::None);
                cell.modifier = Modifier::empty();
                cell.set_symbol(" ").set_style(ink);
            }
            used += width;
        }
        used
    }

    /// Writes text into at most `max` columns; what is too long ends in an ellipsis. Returns the columns used.
    pub(super) fn fit(&mut self, x: u16, y: u16, max: u16, line: &str, ink: Ink) -> u16 {
        if text::width(line, self.style.unicode) <= max {
            return self.put(x, y, max, line, ink);
        }
        if max == 0 {
            return 0;
        }
        let used = self.put(x, y, max - 1, line, ink);
        used + self.put(x + used, y, 1, self.glyph().ellipsis, ink)
    }

    /// Writes text that ends before column `right`, in at most `max` columns. Returns the columns used.
    pub(super) fn right(&mut self, right: u16, y: u16, max: u16, line: &str, ink: Ink) -> u16 {
        let width = text::width(line, self.style.unicode).min(max);
        let x = right.saturating_sub(width);
        self.fit(x, y, width, line, ink);
        width
    }

    /// Width of a text as it will be drawn.
    pub(super) fn width(&self, line: &str) -> u16 {
        text::width(line, self.style.unicode)
    }

    /// Lays a style over what is there.
    pub(super) fn tint(&mut self, area: Rect, ink: Ink) {
        let area = area.intersection(self.buf.area);
        for y in area.y..area.bottom() {
            for x in area.x..area.right() {
                self.buf[(x, y)].set_style(ink);
            }
        }
    }

    /// Marks a line as selected: by its background, or evenly reversed where there is none.
    pub(super) fn select(&mut self, line: Rect) {
        let selected = self.ink().selected;
        let reversed = selected.add_modifier.contains(Modifier::REVERSED);
        let line = line.intersection(self.buf.area);
        for y in line.y..line.bottom() {
            for x in line.x..line.right() {
                let cell = &mut self.buf[(x, y)];
                cell.modifier.remove(Modifier::DIM);
                if reversed {
                    // A reversed colour would become a patch of background.
                    cell.fg = Color::Reset;
                    cell.bg = Color::Reset;
                    cell.modifier.insert(Modifier::REVERSED);
                } else if let Some(bg) = selected.bg
                    && cell.bg == Color::Reset
                {
                    cell.bg = bg;
                }
            }
        }
    }

    /// Empties an area and gives it a style.
    pub(super) fn clear(&mut self, area: Rect, ink: Ink) {
        let area = area.intersection(self.buf.area);
        for y in area.y..area.bottom() {
            if area.width > 0 {
                self.part_wide(area.x, y);
            }
            for x in area.x..area.right() {
                let cell = &mut self.buf[(x, y)];
                cell.reset();
                cell.set_style(ink);
            }
        }
    }

    /// A wide character that begins left of `x` would be shown over what is now written at `x`: it goes.
    pub(super) fn part_wide(&mut self, x: u16, y: u16) {
        if x > self.buf.area.x {
            let left = &mut self.buf[(x - 1, y)];
            if left.symbol().len() > 1 && left.cell_width() > 1 {
                left.set_diff_option(CellDiffOption::None);
                left.set_symbol(" ");
            }
        }
    }
}
