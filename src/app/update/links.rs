//! Links that programs print: where they lead is shown first; an address can be copied, and nothing is opened from here.

use super::super::input::Line;
use super::super::model::Model;
use super::super::msg::{ClientId, Cmd};
use super::super::overlay::{Choice, Deed, Dialog, Listed, Overlay};
use super::super::view_model::Level;
use crate::domain::Moment;
use crate::term::link::{self, Link};

impl Model {
    /// The mouse is over a cell: what it links to is shown.
    pub(super) fn point(&mut self, client: ClientId, x: u16, y: u16) {
        let pointed = self.link_at(client, x, y).map(|address| (x, y, address));
        if let Some(c) = self.clients.get_mut(&client).filter(|c| c.pointed != pointed) {
            c.pointed = pointed;
            c.dirty = true;
        }
    }

    /// What is under the mouse changed: the address that is shown is the one that is there.
    pub(super) fn point_again(&mut self) {
        let pointed = |(id, c): (&ClientId, &super::Client)| c.pointed.as_ref().map(|(x, y, _)| (*id, *x, *y));
        let all: Vec<(ClientId, u16, u16)> = self.clients.iter().filter_map(pointed).collect();
        all.into_iter().for_each(|(client, x, y)| self.point(client, x, y));
    }

    /// Where the cell at a place of a client's screen leads.
    pub(super) fn link_at(&self, client: ClientId, x: u16, y: u16) -> Option<String> {
        let (pane, area) = self.pane_at(client, x, y)?;
        let session = self.session_of(pane)?;
        let inside = self.inside(client, area);
        let view = self.work.screens.get(session)?.view_at(self.offset(client, session));
        link::at(&view, y.checked_sub(inside.y)?, x.checked_sub(inside.x)?)
    }

    /// Lists the links in sight of the focused pane.
    pub(super) fn list_links(&mut self, now: Moment, client: ClientId) {
        let session = self.focused_pane(client).and_then(|pane| self.session_of(pane));
        let screen = session.and_then(|session| Some((session, self.work.screens.get(session)?)));
        let links = screen.map(|(session, screen)| link::all(&screen.view_at(self.offset(client, session))));
        match links.unwrap_or_default() {
            links if links.is_empty() => self.say(now, Level::Info, "no links are in sight here", Some(client)),
            mut links if links.len() == 1 => {
                let link = links.remove(0);
                self.show_link(client, &link);
            }
            links => {
                let of = Listed::Links(links);
                self.overlay(client, Overlay::List { of, input: Line::default(), selected: 0 });
            }
        }
    }

    /// Shows where a link leads, in full.
    pub(super) fn show_link(&mut self, client: ClientId, link: &Link) {
        let host = link::host(&link.address);
        let mut text = vec![format!("\u{201c}{}\u{201d} leads to {host}", link.text)];
        if host != link.address {
            text.push(link.address.clone());
        }
        let copy = Deed::CopyAddress(link.address.clone());
        let dialog = Dialog {
            title: "Link".to_owned(),
            lost: vec![],
            kept: vec![],
            text,
            choices: vec![Choice::new(None, "close", Deed::Nothing), Choice::new(Some('y'), "copy the address", copy)],
            selected: 0,
            danger: None,
        };
        self.overlay(client, Overlay::Dialog(dialog));
    }

    /// Copies the address under the mouse, if there is one.
    pub(super) fn copy_link_at(&mut self, now: Moment, client: ClientId, (x, y): (u16, u16), cmds: &mut Vec<Cmd>) {
        if let Some(address) = self.link_at(client, x, y) {
            self.copy_text(now, client, address, "", cmds);
        }
    }
}
