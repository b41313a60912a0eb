//! NAV: moving, folding and filtering in the list of environments.

use super::super::client::RowKey;
use super::super::model::Model;
use super::super::msg::{ClientId, Cmd};
use super::super::view::sidebar::{details, matching};
use crate::config::KeyPress;
use crate::domain::Moment;
use crossterm::event::KeyCode;
use std::collections::BTreeSet;

impl Model {
    /// Rows that can be selected by a client, in order.
    pub(super) fn row_keys(&self, client: ClientId) -> Vec<RowKey> {
        let Some(c) = self.clients.get(&client) else { return Vec::new() };
        if let Some(filter) = c.sidebar.filter.as_ref().filter(|f| !f.text().is_empty()) {
            return matching(self, filter.text()).into_iter().map(RowKey::Env).collect();
        }
        let mut out = Vec::new();
        for group in &self.groups {
            out.push(RowKey::Group(group.key.clone()));
            if !c.sidebar.folded.contains(&group.key) {
                out.extend(group.envs.iter().cloned().map(RowKey::Env));
            }
        }
        out
    }

    /// Selects the first environment where nothing, or something that is gone, was selected.
    pub(super) fn select_first_row(&mut self, client: ClientId) {
        let rows = self.row_keys(client);
        let first = rows.iter().find(|r| matches!(r, RowKey::Env(_))).or(rows.first()).cloned();
        if let Some(c) = self.clients.get_mut(&client) {
            c.sidebar.selected = first;
            c.dirty = true;
        }
    }

    /// Moves the selection by so many rows.
    pub(super) fn move_row(&mut self, client: ClientId, by: isize) {
        let rows = self.row_keys(client);
        let Some(c) = self.clients.get_mut(&client) else { return };
        let last = rows.len().saturating_sub(1);
        let at = c.sidebar.selected.as_ref().and_then(|s| rows.iter().position(|r| r == s));
        let to = match at {
            Some(at) => at.saturating_add_signed(by).min(last),
            None => 0,
        };
        c.sidebar.selected = rows.get(to).cloned();
        c.dirty = true;
        self.scroll_to_selected(client);
    }

    /// Scrolls so that the selected row is in sight.
    pub(super) fn scroll_to_selected(&mut self, client: ClientId) {
        let rows = self.row_keys(client);
        let sidebar = self.shown_frame(client).sidebar;
        let (width, height) = (sidebar.width, usize::from(sidebar.height.saturating_sub(2)).max(1));
        let Some(c) = self.clients.get(&client) else { return };
        // Details take lines of their own: count what lies above and at the selected row.
        let mut line = 0;
        let mut selected = (0, 1);
        for row in &rows {
            let lines = match row {
                RowKey::Env(id) if c.sidebar.details.contains(id) => 1 + details(self, Moment(0), id, width).len(),
                _ => 1,
            };
            if Some(row) == c.sidebar.selected.as_ref() {
                selected = (line, lines);
            }
            line += lines;
        }
        let Some(c) = self.clients.get_mut(&client) else { return };
        let (top, lines) = selected;
        let bottom = top + lines.min(height);
        // The group's title above the first row stays in sight.
        let top = if top == 1 { 0 } else { top };
        c.sidebar.scroll = c.sidebar.scroll.max(bottom.saturating_sub(height)).min(top);
        c.dirty = true;
    }

    /// Folds the selected group, or shows and hides the selected environment's details.
    pub(super) fn fold(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        match c.sidebar.selected.clone() {
            Some(RowKey::Group(key)) => toggle(&mut c.sidebar.folded, key),
            Some(RowKey::Env(id)) => toggle(&mut c.sidebar.details, id),
            None => {}
        }
        self.scroll_to_selected(client);
    }

    /// A key while the filter is typed.
    pub(super) fn filter_key(&mut self, now: Moment, client: ClientId, key: KeyPress, cmds: &mut Vec<Cmd>) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        match key.code {
            KeyCode::Esc => {
                c.sidebar.filter = None;
                c.sidebar.filtering = false;
            }
            KeyCode::Enter => {
                c.sidebar.filtering = false;
                if c.sidebar.filter.as_ref().is_some_and(|f| f.text().is_empty()) {
                    c.sidebar.filter = None;
                } else {
                    self.open_selected(now, client, cmds);
                    if let Some(c) = self.clients.get_mut(&client) {
                        c.sidebar.filter = None;
                    }
                }
            }
            KeyCode::Down => return self.move_row(client, 1),
            KeyCode::Up => return self.move_row(client, -1),
            _ => {
                if let Some(filter) = &mut c.sidebar.filter
                    && filter.key(key)
                {
                    self.select_first_row(client);
                }
            }
        }
        self.scroll_to_selected(client);
    }
}

/// Puts an item into a set, or takes it out.
pub(super) fn toggle<T: Ord>(set: &mut BTreeSet<T>, item: T) {
    if !set.remove(&item) {
        set.insert(item);
    }
}
