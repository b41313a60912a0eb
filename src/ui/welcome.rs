//! The screen without any environment: what was found here, and what can be done about it.

use super::canvas::Canvas;
use super::popup::{self, Parts};
use super::text;
use crate::app::view_model::Welcome;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

/// Draws it into the middle of where panes would be. The offers are the last to give way.
pub(super) fn draw(canvas: &mut Canvas<'_>, welcome: &Welcome, area: Rect) {
    let area = area.intersection(canvas.screen());
    if area.area() == 0 {
        return;
    }
    let width = area.width.saturating_sub(2).min(62).max(area.width.min(20));
    let offers = offers(canvas, welcome, width);
    let found = found(canvas, welcome, width);
    let head = head(canvas, width);
    let height = usize::from(area.height);
    let mut lines: Vec<Parts> = Vec::new();
    if head.len() + found.len() + offers.len() <= height {
        lines.extend(head);
        lines.extend(found);
    } else if found.len() + offers.len() <= height {
        lines.extend(found);
    }
    lines.extend(offers);
    let x = area.x + (area.width - width.min(area.width)) / 2;
    let spare = height.saturating_sub(lines.len());
    let y = area.y + (spare * 2 / 5) as u16;
    for (line, y) in lines.iter().zip(y..area.bottom()) {
        popup::parts(canvas, x, y, width.min(area.right() - x), line);
    }
}

fn head(canvas: &Canvas<'_>, width: u16) -> Vec<Parts> {
    let ink = canvas.ink();
    let mut lines = vec![vec![("hermes-tui".to_owned(), ink.accent.add_modifier(Modifier::BOLD))]];
    let what = "Sandboxes of your agents: see them, work in them, keep what matters.";
    lines.extend(text::wrap(what, width, canvas.style.unicode).into_iter().map(|line| vec![(line, ink.dim)]));
    lines.push(Vec::new());
    lines
}

fn found(canvas: &Canvas<'_>, welcome: &Welcome, width: u16) -> Vec<Parts> {
    let (ink, glyph, unicode) = (canvas.ink(), canvas.glyph(), canvas.style.unicode);
    if welcome.found.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![vec![("found here".to_owned(), ink.strong)]];
    let names = welcome.found.iter().map(|(name, ..)| canvas.width(name)).max().unwrap_or(0).min(width / 2);
    for (name, state, usable) in &welcome.found {
        let (sign, look) = if *usable { (glyph.ready, ink.ok) } else { (glyph.stopped, ink.dim) };
        let room = width.saturating_sub(names + 6);
        for (i, part) in text::wrap(state, room, unicode).into_iter().enumerate() {
            let (sign, name) = if i == 0 { (sign, name.as_str()) } else { (" ", "") };
            let pad = usize::from(names.saturating_sub(canvas.width(name)) + 2);
            lines.push(vec![
                (format!("  {sign} "), look),
                (name.to_owned(), if *usable { ink.text } else { ink.dim }),
                (" ".repeat(pad), ink.text),
                (part, ink.dim),
            ]);
        }
    }
    lines.push(Vec::new());
    lines
}

fn offers(canvas: &Canvas<'_>, welcome: &Welcome, width: u16) -> Vec<Parts> {
    let ink = canvas.ink();
    let keys = welcome.offers.iter().map(|(key, _)| canvas.width(key)).max().unwrap_or(0);
    let mut lines = Vec::new();
    if !welcome.offers.is_empty() {
        lines.push(vec![("start".to_owned(), ink.strong)]);
    }
    for (key, what) in &welcome.offers {
        let room = width.saturating_sub(keys + 4);
        for (i, part) in text::wrap(what, room, canvas.style.unicode).into_iter().enumerate() {
            let key = if i == 0 { key.as_str() } else { "" };
            let pad = usize::from(keys.saturating_sub(canvas.width(key)) + 2);
            lines.push(vec![
                ("  ".to_owned(), ink.text),
                (key.to_owned(), ink.accent.add_modifier(Modifier::BOLD)),
                (" ".repeat(pad), ink.text),
                (part, ink.text),
            ]);
        }
    }
    lines
}
