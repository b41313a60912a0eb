//! What a sandbox is made of and what it uses, as facts in two columns.

use super::canvas::Canvas;
use super::popup;

/// Wide enough for a path and what survives of it.
const WIDTH: u16 = 100;

/// Name and detail of each fact; long ones are wrapped.
pub(super) fn draw(canvas: &mut Canvas<'_>, title: &str, facts: &[(String, String)], scroll: usize) {
    let screen = canvas.screen();
    let wanted = WIDTH.min(popup::free(screen).width);
    let width = popup::inner(popup::centred(screen, wanted, 100)).width;
    let ink = canvas.ink();
    // What is no longer as it was asked for is what somebody looks for.
    let lines = popup::facts(canvas, facts, width, |name| if name == "differs" { ink.warn } else { ink.text });
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let outer = popup::centred(screen, wanted, height);
    let inner = popup::open(canvas, outer, &format!("details {} {title}", canvas.glyph().dot), ink.accent);
    popup::scrolled(canvas, outer, inner, &lines, scroll);
}
