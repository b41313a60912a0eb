//! The list of environments: groups, rows with badges and countdowns, details; a strip of glyphs below 80 columns.

use super::bar::Countdown;
use super::canvas::Canvas;
use super::{inside, rect};
use crate::app::view_model::{EnvRow, RowState, Sidebar, SidebarRow};
use crate::domain::{Moment, Phase};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style as Ink};

/// Least columns left for a name before badges give way.
const NAME: u16 = 7;

/// Draws everything inside the border, and the words in it.
pub(super) fn draw(canvas: &mut Canvas<'_>, sidebar: &Sidebar, now: Moment) {
    let outer = rect(sidebar.area);
    if outer.width == 0 || outer.height == 0 {
        return;
    }
    frame(canvas, sidebar, outer);
    let inner = inside(outer);
    for (i, (row, y)) in sidebar.rows.iter().zip(inner.y..inner.bottom()).enumerate() {
        let line = Rect::new(inner.x, y, inner.width, 1).intersection(canvas.screen());
        if line.area() == 0 {
            continue;
        }
        let selected = sidebar.selected == Some(i);
        let whole = line;
        // A blank before the border is calmer, where there is room for it.
        let line = if line.width >= 24 { Rect { width: line.width - 1, ..line } } else { line };
        match row {
            SidebarRow::Group { title, folded, trouble } => {
                group(canvas, line, sidebar.strip, title, *folded, trouble.as_deref());
            }
            SidebarRow::Environment(env) if sidebar.strip => strip_row(canvas, line, env, now),
            SidebarRow::Environment(env) => env_row(canvas, line, env, now),
            SidebarRow::Detail { label, value } if !sidebar.strip => detail(canvas, line, label, value),
            SidebarRow::Detail { .. } => {}
        }
        if selected {
            mark_selected(canvas, whole, sidebar.focused);
        }
    }
    if sidebar.rows.is_empty() && !sidebar.strip {
        let text = if sidebar.filter.is_some() { "nothing matches" } else { "no environments" };
        let ink = canvas.ink().dim;
        canvas.fit(inner.x + 1, inner.y, inner.width.saturating_sub(1), text, ink);
    }
}

/// Where the cursor stands while the filter is typed.
pub(super) fn cursor(canvas: &Canvas<'_>, sidebar: &Sidebar) -> Option<(u16, u16)> {
    let (text, _) = sidebar.filter.as_ref()?;
    let outer = rect(sidebar.area);
    if !sidebar.focused || outer.width < 6 || outer.height < 2 {
        return None;
    }
    let room = outer.width - 5;
    Some((outer.x + 3 + canvas.width(text).min(room - 1), outer.bottom() - 1))
}

/// Title, what is scrolled out of sight, and the filter: all in the border.
fn frame(canvas: &mut Canvas<'_>, sidebar: &Sidebar, outer: Rect) {
    if outer.width < 6 || outer.height < 2 {
        return;
    }
    let ink = *canvas.ink();
    let (left, right, top, bottom) = (outer.x, outer.right() - 1, outer.y, outer.bottom() - 1);
    let (above, below) = sidebar.hidden;
    let mut end = right;
    if above > 0 {
        let text = format!(" {}{above} ", canvas.glyph().up);
        end -= canvas.right(right, top, right - left - 1, &text, ink.dim);
    }
    if !sidebar.strip {
        let title = if sidebar.focused { ink.accent.add_modifier(Modifier::BOLD) } else { ink.dim };
        canvas.fit(left + 1, top, end.saturating_sub(left + 1), " environments ", title);
    }
    let mut end = right;
    if below > 0 {
        let text = format!(" {}{below} ", canvas.glyph().down);
        end -= canvas.right(right, bottom, right - left - 1, &text, ink.dim);
    }
    if let Some((filter, matches)) = &sidebar.filter {
        let room = end.saturating_sub(left + 1);
        let count = format!(" {matches} ");
        let columns = canvas.width(&count);
        let room = if room > columns + 8 {
            end -= canvas.right(end, bottom, columns, &count, if *matches == 0 { ink.warn } else { ink.dim });
            end.saturating_sub(left + 1)
        } else {
            room
        };
        let mut x = left + 1;
        let used = canvas.put(x, bottom, room, " /", ink.accent);
        x += used;
        let used = canvas.fit(x, bottom, end.saturating_sub(x), filter, ink.strong);
        canvas.put(x + used, bottom, end.saturating_sub(x + used).min(1), " ", ink.text);
    }
}

/// Only while the sidebar has the keys: at other times the mark of the active environment says enough.
fn mark_selected(canvas: &mut Canvas<'_>, line: Rect, focused: bool) {
    if focused {
        canvas.select(line);
    }
}

fn group(canvas: &mut Canvas<'_>, line: Rect, strip: bool, title: &str, folded: bool, trouble: Option<&str>) {
    let ink = *canvas.ink();
    let sign = if folded { canvas.glyph().closed } else { canvas.glyph().open };
    if strip {
        let (sign, look) = if trouble.is_some() { (canvas.glyph().lost, ink.danger) } else { (sign, ink.dim) };
        canvas.put(line.x, line.y, line.width, sign, look);
        return;
    }
    let mut end = line.right();
    if let Some(trouble) = trouble {
        let text = format!("{} {trouble}", canvas.glyph().lost);
        let room = (line.width / 2).max(line.width.saturating_sub(canvas.width(title) + 4));
        end = end.saturating_sub(canvas.right(end, line.y, room, &text, ink.danger) + 1);
    }
    canvas.put(line.x, line.y, 1, sign, ink.dim);
    canvas.fit(line.x + 2, line.y, end.saturating_sub(line.x + 2), title, ink.dim);
}

/// The sign of a phase, with its look.
pub(super) fn phase_sign(canvas: &Canvas<'_>, phase: Phase, now: Moment) -> (&'static str, Ink) {
    let (glyph, ink) = (canvas.glyph(), canvas.ink());
    match phase {
        Phase::Ready => (glyph.ready, ink.ok),
        Phase::Provisioning => (throbber(canvas, now), ink.busy),
        Phase::Reaping => (throbber(canvas, now), ink.warn),
        Phase::Stopped => (glyph.stopped, ink.dim),
        Phase::Absent => (glyph.absent, ink.dim),
        Phase::Lost | Phase::Failed => (glyph.lost, ink.danger),
    }
}

/// Its frame follows from the time of the drawing alone.
pub(super) fn throbber(canvas: &Canvas<'_>, now: Moment) -> &'static str {
    canvas.glyph().working[(now.0 / 250 % 4) as usize]
}

fn badge(canvas: &Canvas<'_>, persistent: Option<bool>) -> (&'static str, Ink) {
    match persistent {
        Some(true) => ("P", canvas.ink().persistent),
        Some(false) => ("E", canvas.ink().ephemeral),
        None => ("?", canvas.ink().dim),
    }
}

fn strip_row(canvas: &mut Canvas<'_>, line: Rect, env: &EnvRow, now: Moment) {
    let (sign, look) = phase_sign(canvas, env.phase, now);
    let (letter, badge) = badge(canvas, env.persistent);
    let letter = if env.on_host { ("H", canvas.ink().alarm) } else { (letter, badge) };
    let mut x = line.x;
    let end = line.right();
    x += canvas.put(x, line.y, end - x, sign, look);
    let gap = u16::from(line.width >= 3);
    x += gap;
    canvas.put(x, line.y, end.saturating_sub(x), letter.0, letter.1);
    if line.width >= 10 {
        x += 2;
        canvas.fit(x, line.y, end.saturating_sub(x), &env.name, canvas.ink().text);
    } else if env.active && line.width >= 4 {
        canvas.put(x + 1, line.y, 1, canvas.glyph().before, canvas.ink().accent);
    }
}

fn env_row(canvas: &mut Canvas<'_>, line: Rect, env: &EnvRow, now: Moment) {
    let ink = *canvas.ink();
    let glyph = canvas.glyph();
    let y = line.y;
    if env.active {
        canvas.put(line.x, y, 1, glyph.active, ink.accent);
    }
    let (sign, look) = phase_sign(canvas, env.phase, now);
    // What was last seen, not what is: its endpoint does not answer.
    let look = if env.state == RowState::Word("frozen".to_owned()) { ink.dim } else { look };
    let (letter, badge) = badge(canvas, env.persistent);
    let mut x = line.x + 1;
    canvas.put(x, y, line.right().saturating_sub(x), sign, look);
    x += 2;
    canvas.put(x, y, line.right().saturating_sub(x), letter, badge);
    x += 2;
    let mut end = line.right();
    if env.on_host {
        // Must never be cut: it goes before the name.
        x += canvas.put(x, y, end.saturating_sub(x), "HOST", ink.alarm) + 1;
    }
    let room = end.saturating_sub(x);
    let shared = (env.shared_by > 1).then(|| format!("{}{}", glyph.times, env.shared_by));
    let tag = shared.as_ref().map_or(0, |tag| canvas.width(tag) + 1);
    let used = state(canvas, env, end, y, room.saturating_sub(room.min(NAME) + 1 + tag).max(room / 3));
    end = end.saturating_sub(used + u16::from(used > 0));
    let mut tags: Vec<(String, Ink)> = Vec::new();
    if env.host_network {
        tags.push(("net".to_owned(), ink.warn));
    }
    if env.pinned && env.state != RowState::Word("pinned".to_owned()) {
        tags.push(("pin".to_owned(), ink.accent));
    }
    tags.extend(shared.map(|shared| (shared, ink.dim)));
    // As many tags as leave the name readable, most important first.
    let name = canvas.width(&env.name).min(NAME);
    let mut room = end.saturating_sub(x + name);
    tags.retain(|(tag, _)| {
        let needs = canvas.width(tag) + 1;
        let fits = needs <= room;
        if fits {
            room -= needs;
        }
        fits
    });
    let reserved: u16 = tags.iter().map(|(tag, _)| canvas.width(tag) + 1).sum();
    let look = match env.phase {
        _ if env.active => ink.accent.add_modifier(Modifier::BOLD),
        Phase::Stopped | Phase::Absent => ink.dim,
        _ => ink.text,
    };
    x += canvas.fit(x, y, end.saturating_sub(x + reserved), &env.name, look);
    for (tag, look) in &tags {
        x += 1;
        x += canvas.put(x, y, end.saturating_sub(x), tag, *look);
    }
}

/// The right-hand side; returns its columns.
fn state(canvas: &mut Canvas<'_>, env: &EnvRow, right: u16, y: u16, max: u16) -> u16 {
    let ink = *canvas.ink();
    match &env.state {
        RowState::Turn { number } => {
            let text = format!("turn {number} {}", canvas.glyph().running);
            canvas.right(right, y, max, &text, ink.busy)
        }
        RowState::Held(count) => canvas.right(right, y, max, &format!("held:{count}"), ink.text),
        RowState::Countdown { left_ms, total_ms, warned } => {
            let countdown = Countdown { left_ms: *left_ms, total_ms: *total_ms, warned: *warned };
            countdown.draw(canvas, right, y, max)
        }
        RowState::Word(word) => {
            let look = match env.phase {
                Phase::Lost | Phase::Failed => ink.danger,
                Phase::Provisioning => ink.busy,
                Phase::Reaping => ink.warn,
                _ if word == "frozen" || word == "paused" => ink.warn,
                _ if word.starts_with("leaked") || word.contains("swept") => ink.warn,
                Phase::Ready | Phase::Stopped | Phase::Absent => ink.dim,
            };
            // Where there is no room, what comes last says most: the sign tells that it failed, not when it is tried again.
            let short = || {
                word.rsplit(" · ").next().map_or(word.as_str(), |last| last.strip_prefix("hermes: ").unwrap_or(last))
            };
            let word = if canvas.width(word) > max { short() } else { word };
            canvas.right(right, y, max, word, look)
        }
    }
}

fn detail(canvas: &mut Canvas<'_>, line: Rect, label: &str, value: &str) {
    let ink = *canvas.ink();
    let mut x = line.x + 3;
    let end = line.right();
    x += canvas.fit(x, line.y, end.saturating_sub(x), label, ink.dim);
    x = (x + 1).max(line.x + 12.min(line.width / 2));
    canvas.fit(x, line.y, end.saturating_sub(x), value, ink.text);
}
