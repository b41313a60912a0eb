//! Draws a [`ViewModel`] into a frame, and changes nothing.
//!
//! Rectangles come from `app` and include their borders; neighbours share a border line by overlapping in it.
//! Whatever the view model holds and however small the screen is, nothing is drawn outside and nothing panics.
//!
//! | module | what it draws |
//! | --- | --- |
//! | [`style`], [`colour`] | nothing: themes, roles, glyphs, colour depth |
//! | `canvas`, `text`, `borders`, `bar` | pieces: text by width, shared lines, countdowns |
//! | `sidebar`, `tabs`, `pane`, `terminal`, `feed`, `status_bar`, `welcome` | the screen |
//! | `popup`, `which_key`, `palette`, `help`, `dialog`, `prompt`, `form`, `turns`, `explain`, `notice`, `search_line` | what lies over it |

pub mod colour;
pub mod style;

mod bar;
mod borders;
mod canvas;
mod details;
mod dialog;
mod explain;
mod feed;
mod form;
mod help;
mod notice;
mod palette;
mod pane;
mod popup;
mod prompt;
mod search_line;
mod sidebar;
mod status_bar;
mod tabs;
mod terminal;
mod text;
mod turns;
mod welcome;
mod which_key;

pub use colour::ColourDepth;
pub use style::{Style, Theme};

use crate::app::view_model::{Area, Mode, Overlay, Printed, ViewModel};
use crate::domain::SessionId;
use crate::term::CursorShape;
use borders::{Borders, Weight};
use canvas::Canvas;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier};

/// Draws the lines that programs printed on since the last frame, each into a buffer of its own. `since` gives the mark
/// that a session's screen had then. `None`: the whole is to be drawn.
#[must_use]
pub fn lines_printed_on(
    screen: Rect,
    panes: &[Printed<'_>],
    style: &Style,
    since: impl Fn(&SessionId) -> Option<u64>,
) -> Option<Vec<Buffer>> {
    let mut lines = Vec::new();
    for pane in panes {
        let mark = since(pane.session)?;
        if pane.screen.mark() == mark {
            continue;
        }
        // A mark from the future is that of another screen.
        if pane.screen.mark() < mark {
            return None;
        }
        let inner = rect(pane.inner);
        for row in pane.screen.changed_since(mark).take_while(|row| *row < inner.height) {
            let line = Rect { y: inner.y + row, height: 1, ..inner };
            if line.intersection(screen) != line {
                return None;
            }
            let mut buf = Buffer::empty(line);
            terminal::draw_row(&mut Canvas::new(&mut buf, style), &pane.screen.view(), row, line, false);
            lines.push(buf);
        }
    }
    Some(lines)
}

/// Where the cursor is among these panes, if the focused one shows one.
#[must_use]
pub fn cursor_among(screen: Rect, panes: &[Printed<'_>]) -> Option<Cursor> {
    let pane = panes.iter().find(|pane| pane.focused)?;
    terminal::cursor_of(&pane.screen.view(), pane.inner).filter(|at| screen.contains(Position::new(at.x, at.y)))
}

/// Draws the whole screen into a buffer.
pub fn paint(buf: &mut Buffer, vm: &ViewModel<'_>, style: &Style) {
    buf.reset();
    let screen = buf.area;
    let mut canvas = Canvas::new(buf, style);
    let over_panes = covers(vm);
    if vm.bare {
        pane::draw_bare(&mut canvas, &vm.panes, vm.now);
    } else {
        lines(&mut canvas, vm, !over_panes);
        pane::draw(&mut canvas, &vm.panes, !vm.sidebar.focused, vm.now);
    }
    if let Some(welcome) = &vm.welcome
        && vm.panes.is_empty()
    {
        welcome::draw(&mut canvas, welcome, inside(rect(vm.panes_area)));
    }
    tabs::draw(&mut canvas, &vm.tabs, vm.tabs_area);
    if over_panes {
        let area = rect(vm.sidebar.area);
        canvas.clear(area, style.ink.text);
        let mut border = Borders::new(screen);
        border.rect(area, weight(vm.sidebar.focused), style.mono);
        border.draw(&mut canvas);
    }
    if !vm.bare {
        sidebar::draw(&mut canvas, &vm.sidebar, vm.now);
    }
    if !vm.bare || vm.mode == Mode::Leader {
        status_bar::draw(&mut canvas, vm.mode, &vm.status);
    }
    let overlaid =
        vm.overlay.as_ref().is_some_and(|overlay| !matches!(overlay, Overlay::WhichKey(_) | Overlay::Search { .. }));
    let at = cursor(screen, vm, style).map(|at| (at.x, at.y));
    if overlaid {
        recede(&mut canvas);
    }
    // Below overlays: nothing may hide what a dialog says. An error is told in the last line then.
    notice::draw(&mut canvas, &vm.notices, rect(vm.panes_area), at);
    if let Some(overlay) = &vm.overlay {
        over(&mut canvas, overlay, vm);
        // A dialog may need the last line itself.
        if !matches!(overlay, Overlay::Dialog { .. } | Overlay::Search { .. }) {
            notice::last_line(&mut canvas, &vm.notices, matches!(overlay, Overlay::Turns { .. }));
        }
    }
}

/// What lies behind an overlay steps back: still readable, but without colours that compete.
fn recede(canvas: &mut Canvas<'_>) {
    let (dim, border) = (canvas.ink().dim, canvas.ink().border);
    let status = canvas.screen().bottom().saturating_sub(1);
    for y in canvas.screen().y..status {
        for x in canvas.screen().x..canvas.screen().right() {
            let cell = &mut canvas.buf[(x, y)];
            if cell.bg == Color::Reset && !cell.modifier.contains(Modifier::REVERSED) {
                let line = cell.symbol().starts_with(|c| matches!(c, '\u{2500}'..='\u{257f}'));
                cell.modifier.remove(Modifier::BOLD);
                cell.set_style(if line { border } else { dim });
            }
        }
    }
}

fn over(canvas: &mut Canvas<'_>, overlay: &Overlay, vm: &ViewModel<'_>) {
    match overlay {
        Overlay::WhichKey(keys) => which_key::draw(canvas, keys),
        Overlay::Help { sections, scroll } => help::draw(canvas, sections, *scroll),
        Overlay::Palette { title, input, cursor, rows, selected } => {
            palette::draw(canvas, title, input, *cursor, rows, *selected);
        }
        Overlay::Dialog { title, lost, kept, text, choices, selected, danger } => {
            let dialog = dialog::Dialog { title, lost, kept, text, choices, selected: *selected, danger: *danger };
            dialog::draw(canvas, &dialog);
        }
        Overlay::Prompt { title, input, cursor, problem } => {
            prompt::draw(canvas, title, input, *cursor, problem.as_deref());
        }
        Overlay::Search { down, regex, input, cursor, note, problem } => {
            search_line::draw(canvas, (*down, *regex), (input, *cursor), note, problem.as_deref());
        }
        Overlay::Form { title, fields, selected, cursor, problem } => {
            form::draw(canvas, title, fields, *selected, *cursor, problem.as_deref());
        }
        Overlay::Turns { rows, selected, scroll, filter, only } => {
            turns::draw(canvas, rows, (*selected, *scroll), (filter, only), vm.now);
        }
        Overlay::Details { title, facts, scroll } => details::draw(canvas, title, facts, *scroll),
        Overlay::Explain { title, verdict, reason, facts, scroll } => {
            explain::draw(canvas, title, *verdict, reason, facts, *scroll);
        }
    }
}

/// The outer terminal's cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cursor {
    /// Column on the screen, from 0.
    pub x: u16,
    /// Line on the screen, from 0.
    pub y: u16,
    /// Its shape, for DECSCUSR.
    pub shape: CursorShape,
    /// Whether it blinks.
    pub blinking: bool,
}

/// Where the outer terminal's cursor belongs, if anywhere: in an input, in copy mode, or where the focused pane's
/// program shows it.
#[must_use]
pub fn cursor(screen: Rect, vm: &ViewModel<'_>, style: &Style) -> Option<Cursor> {
    // Measuring only: nothing is drawn into it.
    let mut none = Buffer::empty(Rect::ZERO);
    let canvas = Canvas::measuring(&mut none, style, screen);
    let input = |(x, y)| Cursor { x, y, shape: CursorShape::Bar, blinking: false };
    let at = match &vm.overlay {
        Some(Overlay::Palette { rows, cursor, .. }) => palette::cursor(screen, rows.len(), *cursor).map(input),
        Some(Overlay::Prompt { cursor, .. }) => prompt::cursor(screen, *cursor).map(input),
        Some(Overlay::Search { down, regex, cursor, .. }) => {
            search_line::cursor(screen, (*down, *regex), *cursor).map(input)
        }
        Some(Overlay::Form { fields, selected, cursor, .. }) => {
            cursor.and_then(|cursor| form::cursor(&canvas, fields, *selected, cursor)).map(input)
        }
        Some(_) => None,
        None => match vm.mode {
            Mode::Pane | Mode::Copy => vm.panes.iter().find(|pane| pane.focused).and_then(terminal::cursor),
            Mode::Nav => sidebar::cursor(&canvas, &vm.sidebar).map(input),
            Mode::Agent | Mode::Leader | Mode::Overlay => None,
        },
    };
    at.filter(|at| screen.contains(Position::new(at.x, at.y)))
}

/// Whether the sidebar lies over panes instead of beside them, as it does on narrow screens while it has the keys.
fn covers(vm: &ViewModel<'_>) -> bool {
    let sidebar = rect(vm.sidebar.area);
    vm.panes.iter().any(|pane| sidebar.intersection(rect(pane.area)).width > 1)
}

fn weight(focused: bool) -> Weight {
    if focused { Weight::Focused } else { Weight::Normal }
}

/// All border lines, the focused one last so that its colour wins where lines are shared.
fn lines(canvas: &mut Canvas<'_>, vm: &ViewModel<'_>, with_sidebar: bool) {
    let heavy = canvas.style.mono;
    let mut borders = Borders::new(canvas.screen());
    let nav = vm.sidebar.focused;
    let mut rects: Vec<(Rect, bool)> = vm.panes.iter().map(|pane| (rect(pane.area), pane.focused && !nav)).collect();
    if vm.panes.is_empty() {
        rects.push((rect(vm.panes_area), false));
    }
    if with_sidebar {
        rects.push((rect(vm.sidebar.area), nav));
    }
    rects.sort_by_key(|(_, focused)| *focused);
    for (area, focused) in rects {
        borders.rect(area, weight(focused), heavy);
    }
    borders.draw(canvas);
}

fn rect(area: Area) -> Rect {
    // No screen is that large; sums of a few such numbers stay within u16.
    const MOST: u16 = 8_000;
    Rect::new(area.x.min(MOST), area.y.min(MOST), area.width.min(MOST), area.height.min(MOST))
}

/// What is inside a border.
fn inside(outer: Rect) -> Rect {
    Rect::new(
        outer.x.saturating_add(1),
        outer.y.saturating_add(1),
        outer.width.saturating_sub(2),
        outer.height.saturating_sub(2),
    )
}
