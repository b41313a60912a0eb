//! The tab bar: the current tab always in sight, with what happened in the others.

use super::canvas::Canvas;
use super::rect;
use crate::app::view_model::{Area, Tab};
use ratatui::style::{Modifier, Style as Ink};

/// Longest title before it is cut.
const TITLE: u16 = 24;

/// Draws the tabs into one line.
pub(super) fn draw(canvas: &mut Canvas<'_>, tabs: &[Tab], area: Area) {
    let line = rect(area).intersection(canvas.screen());
    if line.area() == 0 || tabs.is_empty() {
        return;
    }
    let labels: Vec<Vec<(String, Ink)>> = tabs.iter().map(|tab| label(canvas, tab, line.width)).collect();
    let widths: Vec<u16> =
        labels.iter().map(|parts| parts.iter().map(|(text, _)| canvas.width(text)).sum::<u16>()).collect();
    let current = tabs.iter().position(|tab| tab.current).unwrap_or(0);
    let (first, last) = visible(&widths, current, line.width);
    let mut x = line.x;
    let dim = canvas.ink().dim;
    if first > 0 {
        x += canvas.put(x, line.y, line.width, &format!("{}{first} ", canvas.glyph().before), dim);
    }
    for parts in &labels[first..=last] {
        for (text, ink) in parts {
            x += canvas.fit(x, line.y, line.right().saturating_sub(x), text, *ink);
        }
    }
    if last + 1 < tabs.len() {
        let more = format!(" {}{}", tabs.len() - 1 - last, canvas.glyph().after);
        canvas.right(line.right(), line.y, line.width, &more, dim);
    }
}

/// Which tabs fit, the current one among them; room for the counts of hidden ones is kept.
fn visible(widths: &[u16], current: usize, room: u16) -> (usize, usize) {
    let all: u32 = widths.iter().map(|w| u32::from(*w)).sum();
    if all <= u32::from(room) {
        return (0, widths.len() - 1);
    }
    let room = u32::from(room.saturating_sub(8));
    let (mut first, mut last) = (current, current);
    let mut used = u32::from(widths[current]);
    loop {
        let before = first.checked_sub(1).map(|i| u32::from(widths[i])).filter(|w| used + w <= room);
        let after = widths.get(last + 1).map(|w| u32::from(*w)).filter(|w| used + w <= room);
        match (before, after) {
            (_, Some(w)) => {
                last += 1;
                used += w;
            }
            (Some(w), None) => {
                first -= 1;
                used += w;
            }
            (None, None) => return (first, last),
        }
    }
}

fn label(canvas: &Canvas<'_>, tab: &Tab, room: u16) -> Vec<(String, Ink)> {
    let (ink, glyph) = (canvas.ink(), canvas.glyph());
    let base = if tab.current && canvas.style.mono {
        ink.accent.add_modifier(Modifier::REVERSED)
    } else if tab.current {
        ink.accent.add_modifier(Modifier::BOLD)
    } else {
        ink.dim
    };
    let max = TITLE.min(room.saturating_sub(12).max(4));
    let title = super::text::cut(&tab.title, max, canvas.style.unicode, glyph.ellipsis);
    let star = if tab.current { "*" } else { "" };
    let mut parts = vec![(format!(" {}:{title}{star}", tab.number), base)];
    let mut add = |text: String, look: Ink| {
        // On the current tab of a mono screen the reversal goes through.
        parts.push((text, if tab.current && canvas.style.mono { base } else { look }));
    };
    if let Some(turn) = tab.turn {
        add(format!(" turn {turn} {}", glyph.running), ink.busy);
    }
    if tab.zoomed {
        add(" zoom".to_owned(), ink.accent);
    }
    if tab.bell {
        add(format!(" {}", glyph.warning), ink.warn);
    } else if tab.activity && !tab.current {
        add(format!(" {}", glyph.activity), ink.text);
    }
    add(" ".to_owned(), ink.text);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_tab_is_always_among_those_shown() {
        let widths = [10; 20];
        for current in 0..20 {
            for room in [1, 5, 18, 40, 150] {
                let (first, last) = visible(&widths, current, room);
                assert!(first <= current && current <= last && last < 20);
            }
        }
        assert_eq!(visible(&[5, 5], 0, 10), (0, 1));
    }
}
