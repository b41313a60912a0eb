//! The parts of a client's screen: sidebar, tab bar, panes, status line. From 40x12 upwards each has its room.

use super::layout::{PaneId, inner};
use super::model::{Model, TabState};
use super::msg::ClientId;
use super::view_model::Area;
use crate::domain::Size;

/// Below this width the sidebar is a strip.
const WIDE: u16 = 80;
/// Width of the strip: phase and badge between borders.
const STRIP: u16 = 5;
/// Below this width the sidebar takes the whole screen while it has the keys.
const NARROW: u16 = 60;

/// Where the parts are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// Sidebar with its borders.
    pub sidebar: Area,
    /// It shows glyphs only.
    pub strip: bool,
    /// Tab bar.
    pub tabs: Area,
    /// Panes with their borders; the sidebar's right border is their left one.
    pub panes: Area,
}

/// The frame that panes are sized by: it does not depend on where keys go, so that programs are not resized by
/// looking at the sidebar.
#[must_use]
pub fn frame(size: Size, hidden: bool, sidebar_width: u16) -> Frame {
    let strip = size.cols < WIDE;
    let width = match (hidden, strip) {
        (true, _) => 0,
        (false, true) => STRIP.min(size.cols / 4),
        (false, false) => sidebar_width.clamp(16, (size.cols / 3).max(16)),
    };
    place(size, width, strip)
}

fn place(size: Size, width: u16, strip: bool) -> Frame {
    let body = size.rows.saturating_sub(1);
    let left = width.saturating_sub(1);
    Frame {
        sidebar: Area { x: 0, y: 0, width, height: body },
        strip,
        tabs: Area { x: width, y: 0, width: size.cols.saturating_sub(width), height: body.min(1) },
        panes: Area { x: left, y: body.min(1), width: size.cols.saturating_sub(left), height: body.saturating_sub(1) },
    }
}

impl Model {
    /// The frame that a client's panes are sized by.
    #[must_use]
    pub fn frame(&self, client: ClientId) -> Frame {
        let Some(c) = self.clients.get(&client) else { return Frame::default() };
        if c.only.is_some() {
            let panes = Area { x: 0, y: 0, width: c.size.cols, height: c.size.rows };
            return Frame { panes, ..Frame::default() };
        }
        self.without_tabs(frame(c.size, c.sidebar.hidden, self.options.sidebar_width))
    }

    /// Without any tab there is no tab bar: panes begin where the sidebar does.
    fn without_tabs(&self, mut frame: Frame) -> Frame {
        if self.work.tabs.is_empty() {
            let bar = std::mem::take(&mut frame.tabs.height);
            frame.panes.y -= bar;
            frame.panes.height += bar;
        }
        frame
    }

    /// The frame as it is drawn: while the sidebar has the keys and is only a strip, or hidden, it lies over the panes.
    #[must_use]
    pub fn shown_frame(&self, client: ClientId) -> Frame {
        let base = self.frame(client);
        let Some(c) = self.clients.get(&client) else { return base };
        let roomy = !base.strip && !c.sidebar.hidden;
        if roomy || !self.in_nav(client) || self.state.environments.is_empty() {
            return base;
        }
        let width = if c.size.cols < NARROW { c.size.cols } else { self.options.sidebar_width.min(c.size.cols / 2) };
        self.without_tabs(Frame { strip: false, ..place(c.size, width, false) })
    }

    /// Whether a client's keys go to the sidebar: by choice, or because there is no pane.
    #[must_use]
    pub fn in_nav(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_some_and(|c| c.nav) || self.tab_of(client).is_none()
    }

    /// The visible panes of a tab as a client sees it, with their outer rectangles. One alone when it is zoomed, or when
    /// the screen is too small for all.
    #[must_use]
    pub fn pane_areas(&self, client: ClientId, tab: &TabState) -> Vec<(PaneId, Area)> {
        self.pane_areas_in(client, tab, self.frame(client).panes)
    }

    pub(super) fn pane_areas_in(&self, client: ClientId, tab: &TabState, area: Area) -> Vec<(PaneId, Area)> {
        let alone = tab.zoomed.filter(|p| tab.tree.contains(*p)).or_else(|| {
            let fits = tab.tree.fits(area);
            (!fits).then(|| self.focus_in(client, tab))
        });
        match alone {
            Some(pane) => vec![(pane, area)],
            None => tab.tree.areas(area),
        }
    }

    /// The cells of the program in a pane: what is inside its border, where it has one.
    pub(super) fn inside(&self, client: ClientId, area: Area) -> Area {
        if self.shows_only(client).is_some() { area } else { inner(area) }
    }

    /// The size that a program has in a pane.
    pub(super) fn size_in(&self, client: ClientId, area: Area) -> Size {
        let inside = self.inside(client, area);
        Size { rows: inside.height, cols: inside.width }.for_program()
    }
}
