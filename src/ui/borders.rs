//! Lines that neighbours share: each rectangle adds its edges to one grid, and where edges meet the right junction is drawn.

use super::canvas::Canvas;
use ratatui::layout::Rect;
use ratatui::style::Style as Ink;

/// Edges of all rectangles of a screen.
pub(super) struct Borders {
    area: Rect,
    cells: Vec<Edge>,
}

/// What meets in one cell: two bits for each of up, right, down, left (0 none, 1 light, 2 heavy).
#[derive(Clone, Copy, Default)]
struct Edge {
    arms: [u8; 4],
    focused: bool,
}

/// How much a rectangle's border shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Normal,
    Focused,
}

/// Box drawing for every combination of arms: index = ((up * 3 + right) * 3 + down) * 3 + left.
#[rustfmt::skip]
const JOINTS: [char; 81] = [
    ' ', '╴', '╸', '╷', '┐', '┑', '╻', '┒', '┓', '╶', '─', '╾', '┌', '┬', '┭', '┎', '┰', '┱', '╺', '╼', '━', '┍', '┮', '┯', '┏', '┲', '┳',
    '╵', '┘', '┙', '│', '┤', '┥', '╽', '┧', '┪', '└', '┴', '┵', '├', '┼', '┽', '┟', '╁', '╅', '┕', '┶', '┷', '┝', '┾', '┿', '┢', '╆', '╈',
    '╹', '┚', '┛', '╿', '┦', '┩', '┃', '┨', '┫', '┖', '┸', '┹', '┞', '╀', '╃', '┠', '╂', '╉', '┗', '┺', '┻', '┡', '╄', '╇', '┣', '╊', '╋',
];

impl Borders {
    /// An empty grid over the screen.
    pub(super) fn new(area: Rect) -> Self {
        Self { area, cells: vec![Edge::default(); area.area() as usize] }
    }

    /// Adds the edges of a rectangle. Add the focused one last.
    /// `heavy` draws it with thick lines, for terminals where colour cannot tell it from others.
    pub(super) fn rect(&mut self, rect: Rect, weight: Weight, heavy: bool) {
        if rect.width < 2 || rect.height < 2 {
            return;
        }
        let focused = weight == Weight::Focused;
        let arm = if focused && heavy { 2 } else { 1 };
        let (left, right, top, bottom) = (rect.x, rect.right() - 1, rect.y, rect.bottom() - 1);
        let mut add = |x: u16, y: u16, [u, r, d, l]: [u8; 4]| {
            if let Some(edge) = self.at(x, y) {
                for (arm, new) in edge.arms.iter_mut().zip([u, r, d, l]) {
                    *arm = (*arm).max(new);
                }
                edge.focused |= focused;
            }
        };
        for x in left + 1..right {
            add(x, top, [0, arm, 0, arm]);
            add(x, bottom, [0, arm, 0, arm]);
        }
        for y in top + 1..bottom {
            add(left, y, [arm, 0, arm, 0]);
            add(right, y, [arm, 0, arm, 0]);
        }
        add(left, top, [0, arm, arm, 0]);
        add(right, top, [0, 0, arm, arm]);
        add(left, bottom, [arm, arm, 0, 0]);
        add(right, bottom, [arm, 0, 0, arm]);
    }

    fn at(&mut self, x: u16, y: u16) -> Option<&mut Edge> {
        if x < self.area.x || y < self.area.y || x >= self.area.right() || y >= self.area.bottom() {
            return None;
        }
        let at = usize::from(y - self.area.y) * usize::from(self.area.width) + usize::from(x - self.area.x);
        self.cells.get_mut(at)
    }

    /// Draws all lines.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        let (normal, focus) = (canvas.ink().border, canvas.ink().focus);
        for (edge, at) in self.cells.iter().zip(0u32..) {
            if edge.arms == [0; 4] {
                continue;
            }
            let x = self.area.x + (at % u32::from(self.area.width)) as u16;
            let y = self.area.y + (at / u32::from(self.area.width)) as u16;
            let ink: Ink = if edge.focused { focus } else { normal };
            let sign = if canvas.style.unicode { joint(edge.arms) } else { ascii_joint(edge.arms) };
            if let Some(cell) = canvas.buf.cell_mut((x, y)) {
                cell.set_char(sign).set_style(ink);
            }
        }
    }
}

fn joint(arms: [u8; 4]) -> char {
    match arms {
        [0, 1, 1, 0] => '╭',
        [0, 0, 1, 1] => '╮',
        [1, 1, 0, 0] => '╰',
        [1, 0, 0, 1] => '╯',
        [u, r, d, l] => {
            let at = ((usize::from(u) * 3 + usize::from(r)) * 3 + usize::from(d)) * 3 + usize::from(l);
            JOINTS.get(at).copied().unwrap_or(' ')
        }
    }
}

fn ascii_joint([u, r, d, l]: [u8; 4]) -> char {
    let heavy = u.max(r).max(d).max(l) == 2;
    match (u > 0 || d > 0, r > 0 || l > 0, heavy) {
        (true, true, false) => '+',
        (true, true, true) => '#',
        (true, false, false) => '|',
        (true, false, true) => '#',
        (false, _, false) => '-',
        (false, _, true) => '=',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Style;
    use ratatui::buffer::Buffer;

    fn drawn(width: u16, height: u16, rects: &[(Rect, Weight)], heavy: bool) -> Vec<String> {
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        let style = Style::default();
        let mut borders = Borders::new(area);
        for &(rect, weight) in rects {
            borders.rect(rect, weight, heavy);
        }
        borders.draw(&mut Canvas::new(&mut buf, &style));
        (0..height).map(|y| (0..width).map(|x| buf[(x, y)].symbol()).collect()).collect()
    }

    #[test]
    fn shared_edges_join() {
        let quarters = [
            (Rect::new(0, 0, 4, 3), Weight::Normal),
            (Rect::new(3, 0, 4, 3), Weight::Normal),
            (Rect::new(0, 2, 4, 3), Weight::Normal),
            (Rect::new(3, 2, 4, 3), Weight::Normal),
        ];
        assert_eq!(drawn(7, 5, &quarters, false), ["╭──┬──╮", "│  │  │", "├──┼──┤", "│  │  │", "╰──┴──╯"]);
    }

    #[test]
    fn heavy_edges_join_light_ones() {
        let two = [(Rect::new(0, 0, 4, 3), Weight::Normal), (Rect::new(3, 0, 4, 3), Weight::Focused)];
        assert_eq!(drawn(7, 3, &two, true), ["╭──┲━━┓", "│  ┃  ┃", "╰──┺━━┛"]);
    }
}
