//! A verdict of the reaper with what it rests on.

use super::canvas::Canvas;
use super::popup::{self, Parts};
use super::text;
use crate::domain::VerdictKind;
use ratatui::style::{Modifier, Style as Ink};

/// The verdict in a word, its reason in a sentence, then the facts.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    title: &str,
    verdict: VerdictKind,
    reason: &str,
    facts: &[(String, String)],
    scroll: usize,
) {
    let screen = canvas.screen();
    let room = popup::free(screen);
    let wanted = 72.min(room.width);
    let width = popup::inner(popup::centred(screen, wanted, 100)).width;
    let lines = lines(canvas, verdict, reason, facts, width);
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let outer = popup::centred(screen, wanted, height);
    let accent = canvas.ink().accent;
    let inner = popup::open(canvas, outer, &format!("explain {} {title}", canvas.glyph().dot), accent);
    popup::scrolled(canvas, outer, inner, &lines, scroll);
}

fn lines(
    canvas: &Canvas<'_>,
    verdict: VerdictKind,
    reason: &str,
    facts: &[(String, String)],
    width: u16,
) -> Vec<Parts> {
    let (ink, unicode) = (canvas.ink(), canvas.style.unicode);
    let (word, look) = word(canvas, verdict);
    let mut lines: Vec<Parts> = Vec::new();
    let indent = canvas.width(word) + 2;
    for (i, part) in text::wrap(reason, width.saturating_sub(indent), unicode).into_iter().enumerate() {
        let head = if i == 0 { format!("{word}  ") } else { " ".repeat(usize::from(indent)) };
        lines.push(vec![(head, look.add_modifier(Modifier::BOLD)), (part, ink.strong)]);
    }
    if !facts.is_empty() {
        lines.push(Vec::new());
    }
    lines.extend(popup::facts(canvas, facts, width, |_| ink.text));
    lines
}

/// Kept apart by word and by look.
fn word(canvas: &Canvas<'_>, verdict: VerdictKind) -> (&'static str, Ink) {
    let ink = canvas.ink();
    match verdict {
        VerdictKind::Held => ("held", ink.ok),
        VerdictKind::Keep => ("keep", ink.ok),
        VerdictKind::Warn => ("warn", ink.warn),
        VerdictKind::Reap => ("reap", ink.danger),
        VerdictKind::NotOurs => ("not ours", ink.dim),
        VerdictKind::Frozen => ("frozen", ink.warn),
        VerdictKind::AtRest => ("at rest", ink.dim),
    }
}
