//! A session's screen inside its pane.

use super::canvas::Canvas;
use crate::app::view_model::{Pane, PaneContent};
use crate::term::Screen;
use ratatui::layout::Rect;

/// Draws the cells.
pub(super) fn draw(_canvas: &mut Canvas<'_>, _screen: &Screen, _area: Rect, _dim: bool) {}

/// Where a pane's cursor is on the screen, if it shows one.
pub(super) fn cursor(pane: &Pane<'_>) -> Option<(u16, u16)> {
    let PaneContent::Terminal { copy_cursor, .. } = &pane.content else { return None };
    let (x, y) = (*copy_cursor)?;
    (x < pane.inner.width && y < pane.inner.height).then(|| (pane.inner.x + x, pane.inner.y + y))
}
