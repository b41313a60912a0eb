//! Passing messages: at the top right, at most three, not over the line of the cursor.

use super::canvas::Canvas;
use super::{pane, popup, text};
use crate::app::view_model::{Level, Toast};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style as Ink};

/// Most messages shown at once; older ones give way.
const SHOWN: usize = 3;
/// Most lines of the newest message.
const LINES: usize = 4;
/// Most lines of those before it, so that many cover little: of what is only told, and of what is to be acted on.
const EARLIER: (usize, usize) = (1, 2);

/// Draws the newest messages over the panes, or over the whole screen where panes have little room.
pub(super) fn draw(canvas: &mut Canvas<'_>, notices: &[Toast], panes: Rect, cursor: Option<(u16, u16)>) {
    let screen = popup::free(canvas.screen());
    let room = if panes.width >= 44 { panes.intersection(screen) } else { screen };
    if room.width < 8 || room.height < 2 || notices.is_empty() {
        return;
    }
    let max = (room.width - 4).min(52);
    let newest = &notices[notices.len().saturating_sub(SHOWN)..];
    let blocks: Vec<(&'static str, Ink, Vec<String>)> = newest
        .iter()
        .enumerate()
        .map(|(at, toast)| {
            let (sign, look) = pane::level(canvas, toast.level);
            let earlier = if toast.level < Level::Warning { EARLIER.0 } else { EARLIER.1 };
            let most = if at + 1 == newest.len() { LINES } else { earlier };
            let mut lines = text::wrap(&toast.text, max.saturating_sub(4), canvas.style.unicode);
            if lines.len() > most {
                lines.truncate(most);
                if let Some(last) = lines.last_mut() {
                    last.push_str(canvas.glyph().ellipsis);
                }
            }
            (sign, look, lines)
        })
        .collect();
    let lines = blocks.iter().map(|(.., lines)| lines.len()).sum::<usize>();
    let height = u16::try_from(lines).unwrap_or(u16::MAX).min(room.height);
    let width = blocks.iter().flat_map(|(.., lines)| lines).map(|line| canvas.width(line)).max().unwrap_or(0);
    let width = (width + 4).min(max);
    let x = room.right() - width - 1;
    let mut y = top(room, height, cursor.filter(|(column, _)| *column >= x.saturating_sub(1)).map(|(_, line)| line));
    let base = canvas.ink().toast.remove_modifier(Modifier::DIM);
    for (sign, look, lines) in &blocks {
        for (i, line) in lines.iter().enumerate() {
            if y >= room.bottom() {
                return;
            }
            canvas.clear(Rect::new(x, y, width, 1), base);
            canvas.put(x, y, 1, canvas.glyph().active, Ink { bg: base.bg, ..*look }.add_modifier(base.add_modifier));
            if i == 0 {
                canvas.put(
                    x + 1,
                    y,
                    1,
                    sign,
                    Ink { bg: base.bg, ..*look }.add_modifier(Modifier::BOLD | base.add_modifier),
                );
            }
            canvas.fit(x + 3, y, width - 3, line, base);
            y += 1;
        }
    }
}

/// The newest error in the last line, for while an overlay covers the messages; with `any` the newest message, for an
/// overlay in which keys do something that is told.
pub(super) fn last_line(canvas: &mut Canvas<'_>, notices: &[Toast], any: bool) {
    let screen = canvas.screen();
    let Some(toast) = notices.iter().rev().find(|toast| any || toast.level == Level::Error) else { return };
    if screen.height < 2 {
        return;
    }
    let y = screen.bottom() - 1;
    let ink = *canvas.ink();
    canvas.clear(Rect { y, height: 1, ..screen }, ink.text);
    let (sign, look) = match toast.level {
        Level::Error => (canvas.glyph().failed, ink.danger),
        level => pane::level(canvas, level),
    };
    canvas.fit(screen.x + 1, y, screen.width.saturating_sub(1), &format!("{sign} {}", toast.text), look);
}

/// Below tabs and titles; further down or at the bottom where the cursor would be covered there.
fn top(room: Rect, height: u16, cursor: Option<u16>) -> u16 {
    let first = room.y + 2.min(room.height - height);
    let last = room.bottom() - height;
    match cursor {
        Some(line) if line >= first && line < first + height => {
            // Right below or above the cursor's line, or as far from it as there is room.
            if line + height < room.bottom() { line + 1 } else { last }
        }
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_cursor_stays_free_where_it_can() {
        let room = Rect::new(0, 0, 80, 20);
        for height in 1..=3 {
            for line in 0..16 {
                let at = top(room, height, Some(line));
                assert!(!(at..at + height).contains(&line), "{height} {line} {at}");
                assert!(at + height <= 20);
            }
        }
    }
}
