//! The agent pane: a conversation's commands with their output, cut into turns.

use super::canvas::Canvas;
use super::sidebar::throbber;
use super::text;
use crate::app::view_model::FeedLine;
use crate::domain::{Moment, TurnStatus};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style as Ink};

/// Draws the visible lines.
pub(super) fn draw(canvas: &mut Canvas<'_>, lines: &[FeedLine], area: Rect, now: Moment) {
    let area = area.intersection(canvas.screen());
    if lines.is_empty() {
        let ink = canvas.ink().dim;
        if area.area() > 0 {
            canvas.fit(area.x + 1, area.y, area.width.saturating_sub(1), "no commands yet", ink);
        }
        return;
    }
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        draw_line(canvas, line, Rect::new(area.x, y, area.width, 1), now);
    }
}

/// Sign and look of a turn's state.
pub(super) fn status_sign(canvas: &Canvas<'_>, status: TurnStatus, now: Moment) -> (&'static str, Ink) {
    let (glyph, ink) = (canvas.glyph(), canvas.ink());
    match status {
        TurnStatus::Running => (throbber(canvas, now), ink.busy),
        TurnStatus::Done => (glyph.done, ink.ok),
        TurnStatus::Failed => (glyph.failed, ink.danger),
        TurnStatus::Interrupted => (glyph.cut, ink.warn),
    }
}

fn draw_line(canvas: &mut Canvas<'_>, line: &FeedLine, at: Rect, now: Moment) {
    let ink = *canvas.ink();
    let (x, y, end) = (at.x, at.y, at.right());
    match line {
        FeedLine::Turn { number, prompt, status, took_ms, selected } => {
            let (sign, look) = status_sign(canvas, *status, now);
            let right = format!("{:>7}", text::took(*took_ms));
            let used = canvas.right(end, y, at.width / 3, &right, ink.dim);
            let end = end.saturating_sub(used + 1);
            let mut x = x;
            x += canvas.put(x, y, end.saturating_sub(x), sign, look) + 1;
            let name = format!("turn {number}");
            x += canvas.put(x, y, end.saturating_sub(x), &name, ink.accent.add_modifier(Modifier::BOLD)) + 2;
            x += canvas.fit(x, y, end.saturating_sub(x), prompt, ink.strong) + 1;
            // A rule to the time cuts the feed visibly.
            while x < end {
                x += canvas.put(x, y, 1, canvas.glyph().rule, ink.border).max(1);
            }
            select(canvas, at, *selected);
        }
        FeedLine::Outside => {
            let mut x = x + canvas.fit(x, y, at.width, "outside of turns", ink.dim) + 1;
            while x < end {
                x += canvas.put(x, y, 1, canvas.glyph().rule, ink.border).max(1);
            }
        }
        FeedLine::Command { command, exit_code, running, count, cwd, took_ms, selected, of_selected } => {
            let (sign, look) = match exit_code {
                _ if *running => (throbber(canvas, now), ink.busy),
                None => (canvas.glyph().cut, ink.dim),
                Some(0) => (canvas.glyph().done, ink.ok),
                Some(_) => (canvas.glyph().failed, ink.danger),
            };
            let mut stop = end.saturating_sub(
                canvas.right(end, y, at.width / 3, &format!("{:>7}", text::took(*took_ms)), ink.dim) + 1,
            );
            if at.width >= 30 {
                // Its own column, also while it runs, so that times and codes stand below each other.
                let code = exit_code.map_or(String::new(), |code| code.to_string());
                let look = if *exit_code == Some(0) { ink.dim } else { ink.danger };
                canvas.right(stop, y, 4, &code, look);
                stop = stop.saturating_sub(5);
            }
            if *of_selected {
                canvas.put(x, y, 1, canvas.glyph().active, ink.accent);
            }
            let mut x = x + 1;
            x += canvas.put(x, y, stop.saturating_sub(x), sign, look) + 1;
            let times = if *count > 1 { format!("{}{count}", canvas.glyph().times) } else { String::new() };
            let reserved = if times.is_empty() { 0 } else { canvas.width(&times) + 1 };
            let look = if *of_selected { ink.strong } else { ink.text };
            x += canvas.fit(x, y, stop.saturating_sub(x + reserved), command, look) + 1;
            if reserved > 0 {
                x += canvas.put(x, y, stop.saturating_sub(x), &times, ink.accent) + 1;
            }
            // Where there is room: a directory that is cut says little.
            if let Some(cwd) = cwd.as_deref().filter(|cwd| x + canvas.width(cwd) <= stop) {
                canvas.right(stop, y, stop.saturating_sub(x), cwd, ink.dim);
            }
            select(canvas, at, *selected);
        }
        FeedLine::Output { text, error } => {
            let (sign, look) =
                if *error { (canvas.glyph().gutter_error, ink.danger) } else { (canvas.glyph().gutter, ink.border) };
            canvas.put(x + 1, y, at.width.saturating_sub(1), sign, look);
            canvas.fit(x + 3, y, at.width.saturating_sub(3), text, ink.text);
        }
        FeedLine::Remark(text) => {
            canvas.fit(x + 3, y, at.width.saturating_sub(3), text, ink.dim);
        }
    }
}

fn select(canvas: &mut Canvas<'_>, line: Rect, selected: bool) {
    if selected {
        canvas.select(line);
    }
}
