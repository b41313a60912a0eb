//! Help: all keys in sections, side by side where that shows all of them.

use super::canvas::Canvas;
use super::popup::{self, Parts};
use super::text;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

/// Sections of keys and what they do.
pub(super) fn draw(canvas: &mut Canvas<'_>, sections: &[(String, Vec<(String, String)>)], scroll: usize) {
    let screen = canvas.screen();
    let room = popup::free(screen);
    // One column of keys for all sections; what is longer has a line of its own.
    let widest = |most: u16| {
        let keys = sections.iter().flat_map(|(_, rows)| rows).map(|(key, _)| canvas.width(key));
        keys.filter(|width| *width <= most).max().unwrap_or(most)
    };
    let column = (room.width.min(132).saturating_sub(8) / 2).max(1);
    let (narrow, wide) = (widest(if column >= 56 { 22 } else { 16 }), widest((room.width * 2 / 5).clamp(8, 31)));
    let blocks: Vec<Vec<Parts>> = sections.iter().map(|section| block(canvas, section, narrow, column - 1)).collect();
    let total: usize = blocks.iter().map(|b| b.len() + 1).sum::<usize>().saturating_sub(1);
    let accent = canvas.ink().accent;
    if total > usize::from(room.height.saturating_sub(2)) && room.width >= 100 {
        // In two columns, whole sections each.
        let (left, right) = halves(blocks);
        let lines = left.len().max(right.len());
        let height = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2);
        let outer = popup::centred(screen, 128, height);
        let inner = popup::open(canvas, outer, "help", accent);
        let half = inner.width / 2;
        let second = Rect { x: inner.x + half + 1, width: inner.width - half - 1, ..inner };
        let first = Rect { width: half - 1, ..inner };
        let height = usize::from(inner.height);
        let scroll = scroll.min(lines.saturating_sub(height));
        for (column, area) in [(&left, first), (&right, second)] {
            for (line, y) in column.iter().skip(scroll).zip(area.y..area.bottom()) {
                popup::parts(canvas, area.x, y, area.width, line);
            }
        }
        let below = lines.saturating_sub(scroll + height);
        if below > 0 {
            let more = format!("{}{below}", canvas.glyph().down);
            popup::note(canvas, outer, true, &more);
        }
        return;
    }
    let width = 80.min(room.width);
    let height = u16::try_from(total).unwrap_or(u16::MAX).saturating_add(2);
    let outer = popup::centred(screen, width, height);
    let inner = popup::open(canvas, outer, "help", accent);
    let mut lines: Vec<Parts> = Vec::new();
    for section in sections {
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        lines.extend(block(canvas, section, wide, inner.width));
    }
    popup::scrolled(canvas, outer, inner, &lines, scroll);
}

/// A section as lines; what a key does is wrapped below itself.
fn block(canvas: &Canvas<'_>, (title, rows): &(String, Vec<(String, String)>), keys: u16, width: u16) -> Vec<Parts> {
    let ink = canvas.ink();
    let mut lines = vec![vec![(title.clone(), ink.accent.add_modifier(Modifier::BOLD))]];
    for (key, what) in rows {
        let mut head = key.as_str();
        if canvas.width(key) > keys {
            for part in text::wrap(key, width.saturating_sub(1), canvas.style.unicode) {
                lines.push(vec![(" ".to_owned(), ink.text), (part, ink.strong)]);
            }
            head = "";
        }
        let room = width.saturating_sub(keys + 3);
        for part in text::wrap(what, room, canvas.style.unicode) {
            let pad = keys.saturating_sub(canvas.width(head)) + 2;
            lines.push(vec![
                (" ".to_owned(), ink.text),
                (head.to_owned(), ink.strong),
                (" ".repeat(usize::from(pad)), ink.text),
                (part, ink.text),
            ]);
            head = "";
        }
    }
    lines
}

/// Two columns as even as whole sections allow.
fn halves(blocks: Vec<Vec<Parts>>) -> (Vec<Parts>, Vec<Parts>) {
    let total: usize = blocks.iter().map(|b| b.len() + 1).sum();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for block in blocks {
        let column = if right.is_empty() && left.len() + block.len() / 2 < total / 2 { &mut left } else { &mut right };
        if !column.is_empty() {
            column.push(Vec::new());
        }
        column.extend(block);
    }
    (left, right)
}
