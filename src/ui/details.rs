//! What a sandbox is made of and what it uses, as facts in two columns.

use super::canvas::Canvas;
use super::popup::{self, Parts};
use super::text;

/// Wide enough for a path and what survives of it.
const WIDTH: u16 = 100;

/// Name and detail of each fact; long ones are wrapped.
pub(super) fn draw(canvas: &mut Canvas<'_>, title: &str, facts: &[(String, String)], scroll: usize) {
    let screen = canvas.screen();
    let wanted = WIDTH.min(popup::free(screen).width);
    let width = popup::inner(popup::centred(screen, wanted, 100)).width;
    let lines = lines(canvas, facts, width);
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let outer = popup::centred(screen, wanted, height);
    let accent = canvas.ink().accent;
    let inner = popup::open(canvas, outer, &format!("details {} {title}", canvas.glyph().dot), accent);
    popup::scrolled(canvas, outer, inner, &lines, scroll);
}

fn lines(canvas: &Canvas<'_>, facts: &[(String, String)], width: u16) -> Vec<Parts> {
    let (ink, unicode) = (canvas.ink(), canvas.style.unicode);
    let labels = facts.iter().map(|(name, _)| canvas.width(name)).max().unwrap_or(0).min(width / 3);
    let mut lines: Vec<Parts> = Vec::new();
    for (name, detail) in facts {
        // What is no longer as it was asked for is what somebody looks for.
        let look = if name == "differs" { ink.warn } else { ink.text };
        for (i, part) in text::wrap(detail, width.saturating_sub(labels + 2), unicode).into_iter().enumerate() {
            let name = if i == 0 { name.as_str() } else { "" };
            let pad = usize::from(labels.saturating_sub(canvas.width(name)) + 2);
            lines.push(vec![(name.to_owned(), ink.dim), (" ".repeat(pad), ink.text), (part, look)]);
        }
    }
    lines
}
