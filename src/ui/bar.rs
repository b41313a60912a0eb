//! The countdown: a thin bar that drains, and the time left.

use super::canvas::Canvas;
use super::text;
use ratatui::style::Style as Ink;

/// Columns of the bar.
const CELLS: u16 = 4;
/// Below this it is red.
const URGENT_MS: u64 = 10_000;

/// What is counted down, in milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Countdown {
    pub(super) left_ms: u64,
    pub(super) total_ms: u64,
    pub(super) warned: bool,
}

impl Countdown {
    fn ink(self, canvas: &Canvas<'_>) -> Ink {
        if self.left_ms < URGENT_MS {
            canvas.ink().danger
        } else if self.warned {
            canvas.ink().warn
        } else {
            canvas.ink().dim
        }
    }

    /// Draws it so that it ends before column `right`: the bar only where `max` columns have room for it.
    /// Returns the columns used.
    pub(super) fn draw(self, canvas: &mut Canvas<'_>, right: u16, y: u16, max: u16) -> u16 {
        let ink = self.ink(canvas);
        // Five columns, so that the times of all rows stand below each other and the bars too.
        let time = format!("{:>5}", text::left(self.left_ms));
        let time = if max < 5 { time.trim_start() } else { &time };
        let used = canvas.right(right, y, max, time, ink);
        if max < used + CELLS {
            return used;
        }
        let x = right.saturating_sub(used + CELLS);
        for cell in 0..CELLS {
            let sign = match self.halves().saturating_sub(cell * 2) {
                0 => " ",
                1 => canvas.glyph().bar_half,
                _ => canvas.glyph().bar_full,
            };
            canvas.put(x + cell, y, 1, sign, ink);
        }
        used + CELLS
    }

    /// Filled half cells: at least one while any time is left.
    fn halves(self) -> u16 {
        let all = u64::from(CELLS) * 2;
        let total = self.total_ms.max(1);
        let left = self.left_ms.min(total);
        // Divided first where the product would not fit.
        let filled =
            left.checked_mul(all).map_or_else(|| left / (total / all).max(1), |product| product.div_ceil(total));
        filled.min(all) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drains_in_steps_and_is_empty_only_at_the_end() {
        let at = |left_ms, total_ms| Countdown { left_ms, total_ms, warned: false }.halves();
        assert_eq!(at(300_000, 300_000), 8);
        assert_eq!(at(150_000, 300_000), 4);
        assert_eq!(at(1, 300_000), 1);
        assert_eq!(at(0, 300_000), 0);
        assert_eq!(at(5, 0), 8);
        assert_eq!(at(u64::MAX, u64::MAX), 8);
    }
}
