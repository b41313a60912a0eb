//! The tab bar: the current tab always in sight, with what happened in the others.

use super::canvas::Canvas;
use super::rect;
use crate::app::view_model::{Area, Tab, tab_title_room, tabs_in_sight};
use ratatui::style::{Modifier, Style as Ink};

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
    let (first, last) = tabs_in_sight(&widths, current, line.width);
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

fn label(canvas: &Canvas<'_>, tab: &Tab, room: u16) -> Vec<(String, Ink)> {
    let (ink, glyph) = (canvas.ink(), canvas.glyph());
    let base = if tab.current && canvas.style.mono {
        ink.accent.add_modifier(Modifier::REVERSED)
    } else if tab.current {
        ink.accent.add_modifier(Modifier::BOLD)
    } else {
        ink.dim
    };
    let title = super::text::cut(&tab.title, tab_title_room(room), canvas.style.unicode, glyph.ellipsis);
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
