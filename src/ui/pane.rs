//! Panes: titles and marks in the border, what is inside, and the banner in the lower edge.

use super::canvas::Canvas;
use super::terminal;
use super::{feed, rect, sidebar, text};
use crate::app::view_model::{AgentMark, Banner, Level, Pane, PaneContent};
use crate::domain::Moment;
use crate::term::link;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style as Ink};

const ON_HOST: &str = " HOST (not isolated) ";

/// Draws the insides of all panes and the words in their borders. The lines themselves are drawn before.
/// `keys` = the focused pane has the keys, not the sidebar.
pub(super) fn draw(canvas: &mut Canvas<'_>, panes: &[Pane<'_>], keys: bool, now: Moment) {
    for pane in panes {
        content(canvas, pane, now);
        margin(canvas, pane);
    }
    // Columns taken in border lines, because the lower edge of one pane is the upper edge of another.
    let mut taken: Vec<(u16, u16, u16)> = Vec::new();
    for pane in panes {
        title(canvas, pane, keys, &mut taken);
    }
    for pane in panes {
        banner(canvas, pane, &mut taken);
    }
}

/// Draws panes without borders: what is inside, and what must be said over it.
pub(super) fn draw_bare(canvas: &mut Canvas<'_>, panes: &[Pane<'_>], now: Moment) {
    for pane in panes {
        content(canvas, pane, now);
        if let Some(said) = Said::of(pane) {
            banner_inside(canvas, pane, said);
        }
    }
}

fn content(canvas: &mut Canvas<'_>, pane: &Pane<'_>, now: Moment) {
    let inner = rect(pane.inner);
    match &pane.content {
        PaneContent::Terminal { screen, offset, selection, found, here, dim, .. } => {
            let view = screen.view_at(*offset).with_selection(selection.as_ref()).with_found(found, *here);
            terminal::draw(canvas, &view, inner, *dim);
        }
        PaneContent::Waiting(text) if text.is_empty() => {}
        PaneContent::Waiting(text) => {
            let line = inner.intersection(canvas.screen());
            if line.area() > 0 {
                let ink = *canvas.ink();
                let sign = sidebar::throbber(canvas, now);
                let x = line.x + u16::from(line.width > 20);
                let used = canvas.put(x, line.y, line.width, sign, ink.busy) + 1;
                canvas.fit(x + used, line.y, line.right().saturating_sub(x + used), text, ink.dim);
            }
        }
        PaneContent::Feed(lines) => feed::draw(canvas, lines, inner, now),
    }
}

/// How commands ended, on the left border beside their prompts.
fn margin(canvas: &mut Canvas<'_>, pane: &Pane<'_>) {
    let PaneContent::Terminal { margin, .. } = &pane.content else { return };
    let (outer, inner) = (rect(pane.area), rect(pane.inner));
    let ink = *canvas.ink();
    for (row, well) in margin {
        let y = inner.y.saturating_add(*row);
        // Nothing but the border is written over.
        if inner.x > outer.x && y < inner.bottom() && y > outer.y && y + 1 < outer.bottom() {
            // The plain sign for what is done looks like a corner there.
            let done = if canvas.style.unicode { canvas.glyph().done } else { "v" };
            let (sign, look) = if *well { (done, ink.ok) } else { (canvas.glyph().failed, ink.danger) };
            canvas.put(outer.x, y, 1, sign, look);
        }
    }
}

fn title(canvas: &mut Canvas<'_>, pane: &Pane<'_>, keys: bool, taken: &mut Vec<(u16, u16, u16)>) {
    let outer = rect(pane.area);
    if outer.width < 4 || outer.height < 2 {
        return;
    }
    let ink = *canvas.ink();
    let (mut x, y) = (outer.x + 1, outer.y);
    let mut end = outer.right() - 1;
    let start = x;
    if pane.on_host {
        // Drawn first, so that it is the last to be cut.
        let words = if canvas.width(ON_HOST) <= end - x { ON_HOST } else { " HOST " };
        x += canvas.fit(x, y, end - x, words, ink.alarm);
    }
    let look = match (pane.focused, keys, canvas.style.mono) {
        (true, true, true) => ink.accent.add_modifier(Modifier::REVERSED),
        (true, true, false) => ink.accent.add_modifier(Modifier::BOLD),
        (true, false, _) => ink.text,
        (false, ..) => ink.dim,
    };
    let mut marks: Vec<(&str, Ink)> = pane.marks.iter().map(|mark| (mark.as_str(), ink.dim)).collect();
    let agent = pane.agent.as_ref().map(|agent| agent_words(agent, outer.width));
    if let Some((words, busy)) = &agent {
        marks.push((words, if *busy { ink.busy } else { ink.warn }));
    }
    if pane.synchronised {
        marks.push(("sync", ink.warn));
    }
    // Marks stand at the right and may take half of what the title leaves.
    let mut room = (end.saturating_sub(x) / 2).max(end.saturating_sub(x + canvas.width(&pane.title) + 4));
    for (mark, look) in marks.iter().rev() {
        let needs = canvas.width(mark) + 2;
        if needs > room {
            break;
        }
        room -= needs;
        let from = end - needs;
        canvas.put(from, y, 1, " ", *look);
        canvas.put(from + 1, y, needs - 2, mark, *look);
        canvas.put(end - 1, y, 1, " ", *look);
        taken.push((y, from, end));
        end = from;
    }
    if end > x + 3 && !pane.title.is_empty() {
        x += canvas.put(x, y, 1, " ", look);
        x += canvas.fit(x, y, end - x - 1, &pane.title, look);
        x += canvas.put(x, y, end - x, " ", look);
    }
    taken.push((y, start, x));
}

/// What an agent does there, as far as a frame of this width has room, and whether it is at work.
fn agent_words(agent: &AgentMark, width: u16) -> (String, bool) {
    match agent {
        AgentMark::Runs(_) if width < 50 => ("agent runs".to_owned(), true),
        AgentMark::Runs(command) => {
            let room = usize::from(width / 2).saturating_sub(14);
            let shown: String = command.chars().take(room).collect();
            (format!("agent runs {shown}"), true)
        }
        AgentMark::Taken { .. } if width < 40 => ("yours".to_owned(), false),
        AgentMark::Taken { key, waiting: 0 } => (format!("yours, {key} gives back"), false),
        AgentMark::Taken { key, waiting } if width < 60 => (format!("yours, {waiting} waiting, {key}"), false),
        AgentMark::Taken { key, waiting: 1 } => (format!("yours, 1 command waits, {key} gives back"), false),
        AgentMark::Taken { key, waiting } => (format!("yours, {waiting} commands wait, {key} gives back"), false),
    }
}

/// What stands in the lower edge.
#[derive(Clone, Copy)]
enum Said<'a> {
    /// A banner.
    Banner(&'a Banner),
    /// Where a link leads.
    Link(&'a str),
}

impl<'a> Said<'a> {
    fn of(pane: &'a Pane<'_>) -> Option<Self> {
        let banner = || pane.banner.as_ref().map(Self::Banner);
        pane.link.as_deref().map(Self::Link).or_else(banner)
    }

    fn level(self) -> Level {
        match self {
            Self::Banner(banner) => banner.level,
            Self::Link(_) => Level::Info,
        }
    }

    /// The text, as much of it as has room in so many columns; of a banner at least the first part.
    fn within(self, canvas: &Canvas<'_>, room: u16) -> String {
        match self {
            Self::Banner(banner) => parts_that_fit(canvas, &banner.text, room),
            Self::Link(address) => link::elided(address, room.into(), canvas.glyph().ellipsis),
        }
    }

    fn whole(self) -> String {
        match self {
            Self::Banner(banner) => banner.text.clone(),
            Self::Link(address) => address.to_owned(),
        }
    }
}

/// In the lower edge where it has room; else over the last lines inside, or the first if the cursor is there.
fn banner(canvas: &mut Canvas<'_>, pane: &Pane<'_>, taken: &mut Vec<(u16, u16, u16)>) {
    let Some(said) = Said::of(pane) else { return };
    let outer = rect(pane.area);
    if outer.width < 4 || outer.height < 2 {
        return;
    }
    let (sign, ink) = level(canvas, said.level());
    let y = outer.bottom() - 1;
    let (from, to) = gap(taken, y, outer.x + 1, outer.right() - 1);
    // A program that still runs is covered as little as can be; what has ended may be covered by why.
    let runs = matches!(pane.content, PaneContent::Terminal { dim: false, .. });
    let around = canvas.width(sign) + 3;
    let text = if runs { said.within(canvas, (to - from).saturating_sub(around)) } else { said.whole() };
    let text = format!(" {sign} {text} ");
    let wanted = canvas.width(&text);
    let shared = taken.iter().any(|(line, ..)| *line == y);
    if to - from >= wanted || (runs && !shared && to - from >= 24) {
        // At the right where the line is shared, so that it does not read as the title of the pane below.
        let columns = wanted.min(to - from);
        let x = if shared { to - columns } else { from };
        canvas.fit(x, y, columns, &text, ink);
        taken.push((y, x, x + columns));
        return;
    }
    banner_inside(canvas, pane, said);
}

/// Over the last lines inside, or the first if the cursor is there.
fn banner_inside(canvas: &mut Canvas<'_>, pane: &Pane<'_>, said: Said<'_>) {
    let inner = rect(pane.inner).intersection(canvas.screen());
    if inner.area() == 0 {
        return;
    }
    let (sign, ink) = level(canvas, said.level());
    let runs = matches!(pane.content, PaneContent::Terminal { dim: false, .. });
    let room = inner.width.saturating_sub(4);
    let said = if runs { said.within(canvas, room) } else { said.whole() };
    let mut lines = text::wrap(&said, room, canvas.style.unicode);
    let most = if runs { 1 } else { 5.min(usize::from(inner.height)) };
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.push_str(canvas.glyph().ellipsis);
        }
    }
    let height = lines.len() as u16;
    let cursor = terminal::cursor(pane).map(|cursor| cursor.y);
    let top = inner.bottom() - height;
    let top = if cursor.is_some_and(|line| line >= top) { inner.y } else { top };
    let base = canvas.ink().toast.remove_modifier(Modifier::DIM);
    let reversed = base.add_modifier.contains(Modifier::REVERSED);
    let look = if reversed { base } else { Ink { bg: base.bg, ..ink } };
    for (i, line) in lines.iter().enumerate() {
        let y = top + i as u16;
        canvas.clear(Rect::new(inner.x, y, inner.width, 1), base);
        if i == 0 {
            canvas.put(inner.x + 1, y, inner.width.saturating_sub(1), sign, look);
        }
        canvas.fit(inner.x + 3, y, inner.width.saturating_sub(3), line, look);
    }
}

/// As many of the parts between dots as have room, but at least the first.
fn parts_that_fit(canvas: &Canvas<'_>, text: &str, room: u16) -> String {
    let mut text = text.to_owned();
    while canvas.width(&text) > room {
        let Some(at) = text.rfind(" · ") else { break };
        text.truncate(at);
    }
    text
}

/// The widest free stretch of a border line.
fn gap(taken: &[(u16, u16, u16)], y: u16, from: u16, to: u16) -> (u16, u16) {
    let mut spans: Vec<(u16, u16)> = taken.iter().filter(|(line, ..)| *line == y).map(|(_, a, b)| (*a, *b)).collect();
    spans.sort_unstable();
    let mut best = (from, from);
    let mut at = from;
    for (a, b) in spans.into_iter().chain([(to, to)]) {
        let stop = a.clamp(from, to);
        if stop.saturating_sub(at) > best.1 - best.0 {
            best = (at, stop);
        }
        at = at.max(b.min(to));
    }
    best
}

/// Sign and look of a level.
pub(super) fn level(canvas: &Canvas<'_>, level: Level) -> (&'static str, Ink) {
    let (glyph, ink) = (canvas.glyph(), canvas.ink());
    match level {
        Level::Info => (glyph.info, ink.accent),
        Level::Success => (glyph.done, ink.ok),
        Level::Warning => (glyph.warning, ink.warn),
        Level::Error => (glyph.failed, ink.danger),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_free_stretch_is_found() {
        assert_eq!(gap(&[], 3, 1, 20), (1, 20));
        assert_eq!(gap(&[(3, 1, 6), (3, 16, 20), (4, 1, 20)], 3, 1, 20), (6, 16));
        assert_eq!(gap(&[(3, 0, 30)], 3, 1, 20).1 - gap(&[(3, 0, 30)], 3, 1, 20).0, 0);
    }
}
