//! Keys in the turn list.

use super::super::client::FeedMark;
use super::super::command::Action;
use super::super::model::{FeedOf, Model, PaneKind};
use super::super::msg::{ClientId, Cmd};
use super::super::overlay::{Overlay, TurnKey, TurnList};
use super::super::view::turns::{selected_row, turn_rows};
use super::super::view_model::Level;
use super::keys::plain;
use super::sidebar::toggle;
use crate::config::KeyPress;
use crate::domain::{ConversationId, Moment};
use crossterm::event::KeyCode;

impl Model {
    /// A key in the turn list.
    pub(super) fn turns_key(
        &mut self,
        now: Moment,
        client: ClientId,
        mut list: TurnList,
        key: KeyPress,
        cmds: &mut Vec<Cmd>,
    ) {
        let rows = turn_rows(self, now, &list);
        let at = selected_row(&list, &rows);
        let last = rows.len().saturating_sub(1);
        let failed = |i: &usize| {
            matches!(&rows[*i].0, TurnKey::Mark(_, FeedMark::Call(id))
            if self.state.calls.get(id).is_some_and(|c| c.exit_code.is_some_and(|code| code != 0)))
        };
        let turn = |i: &usize| matches!(&rows[*i].0, TurnKey::Mark(_, FeedMark::Turn(_)));
        let mut to = at;
        if list.filtering {
            match key.code {
                KeyCode::Esc => {
                    list.filtering = false;
                    list.filter = Default::default();
                }
                KeyCode::Enter => list.filtering = false,
                KeyCode::Down => to = (at + 1).min(last),
                KeyCode::Up => to = at.saturating_sub(1),
                _ => {
                    list.filter.key(key);
                    list.selected = None;
                    let found = turn_rows(self, now, &list);
                    list.selected = found.get(selected_row(&list, &found)).map(|(key, _)| key.clone());
                    if let Some(c) = self.clients.get_mut(&client) {
                        c.overlay = Some(Overlay::Turns(list));
                    }
                    return self.scroll_turns(client);
                }
            }
        } else {
            let page = 10;
            match plain(key) {
                Some(KeyCode::Esc | KeyCode::Char('q' | 't')) => return,
                Some(KeyCode::Char('j') | KeyCode::Down) => to = (at + 1).min(last),
                Some(KeyCode::Char('k') | KeyCode::Up) => to = at.saturating_sub(1),
                Some(KeyCode::PageDown) => to = (at + page).min(last),
                Some(KeyCode::PageUp) => to = at.saturating_sub(page),
                Some(KeyCode::Char('g') | KeyCode::Home) => to = 0,
                Some(KeyCode::Char('G') | KeyCode::End) => to = last,
                Some(KeyCode::Char(']' | 'n')) => to = (at + 1..rows.len()).find(turn).unwrap_or(at),
                Some(KeyCode::Char('[' | 'p')) => to = (0..at).rev().find(turn).unwrap_or(at),
                Some(KeyCode::Char('f')) => match (at + 1..rows.len()).find(failed) {
                    Some(i) => to = i,
                    None => self.say(now, Level::Info, "no further failed command in the rows shown", Some(client)),
                },
                Some(KeyCode::Char('F')) => to = (0..at).rev().find(failed).unwrap_or(at),
                Some(KeyCode::Char('/')) => list.filtering = true,
                Some(KeyCode::Char('v')) => {
                    list.shown = list.shown.next();
                    return self.keep_selected(now, client, list);
                }
                Some(KeyCode::Char('m')) => return self.act(now, client, Action::NeedsMe, cmds),
                Some(KeyCode::Char('y')) => self.copy_row(now, client, rows.get(at).map(|(key, _)| key), cmds),
                Some(KeyCode::Char('r' | 'w')) if self.only_looks(now, client) => {}
                Some(KeyCode::Char('r')) => {
                    let mark = rows.get(at).and_then(|(key, _)| Self::marked_by(key));
                    if matches!(mark, Some(FeedMark::Call(_))) {
                        return self.run_again(now, client, mark, cmds);
                    }
                    self.say(now, Level::Info, "select a command: Space shows those of a turn", Some(client));
                }
                Some(KeyCode::Char('w')) => {
                    if let Some((key, _)) = rows.get(at) {
                        let of = FeedOf::Conversation(conversation_of(key).clone());
                        return self.shell_of_agent(now, client, &of, cmds);
                    }
                }
                Some(KeyCode::Char(' ')) => {
                    if let Some((key, _)) = rows.get(at) {
                        toggle(&mut list.toggled, key.clone());
                    }
                }
                Some(KeyCode::Enter) => {
                    if let Some((key, _)) = rows.get(at) {
                        let key = key.clone();
                        self.go_to_turn(now, client, &key, cmds);
                    }
                    return;
                }
                _ => {}
            }
        }
        list.selected = rows.get(to).map(|(k, _)| k.clone());
        self.show_turns(client, list);
    }

    /// After other rows are shown: the selected one stays selected where it still is among them.
    fn keep_selected(&mut self, now: Moment, client: ClientId, mut list: TurnList) {
        let rows = turn_rows(self, now, &list);
        let there = list.selected.take().filter(|key| rows.iter().any(|(k, _)| k == key));
        // The first that was looked for, rather than what it belongs to.
        let first = || rows.iter().find(|(_, row)| row.depth == 2).or(rows.first()).map(|(key, _)| key.clone());
        list.selected = there.or_else(first);
        self.show_turns(client, list);
    }

    /// Copies what a row of the turn list stands for.
    fn copy_row(&mut self, now: Moment, client: ClientId, key: Option<&TurnKey>, cmds: &mut Vec<Cmd>) {
        match key {
            Some(TurnKey::Conversation(id)) => self.copy_text(now, client, id.to_string(), "the id ", cmds),
            Some(TurnKey::Outside(..)) => {
                self.say(now, Level::Info, "select one of its commands: Space shows them", Some(client));
            }
            key => self.copy_marked(now, client, key.and_then(Self::marked_by), cmds),
        }
    }

    fn show_turns(&mut self, client: ClientId, list: TurnList) {
        if let Some(c) = self.clients.get_mut(&client) {
            c.overlay = Some(Overlay::Turns(list));
        }
        self.scroll_turns(client);
    }

    /// Shows the feed of a row of the turn list, scrolled to it and highlighted.
    fn go_to_turn(&mut self, now: Moment, client: ClientId, key: &TurnKey, cmds: &mut Vec<Cmd>) {
        let id = conversation_of(key);
        self.show_feed(now, client, id, cmds);
        let mark = match key {
            TurnKey::Conversation(_) => None,
            TurnKey::Mark(_, mark) => Some(mark.clone()),
            TurnKey::Outside(_, first) => Some(FeedMark::Call(first.clone())),
        };
        if let Some(mark) = mark {
            let shown = self.work.panes_where(|k| *k == PaneKind::feed(id)).first().copied();
            if let Some((_, pane)) = shown {
                self.show_mark(client, pane, &FeedOf::Conversation(id.clone()), mark);
            }
        }
    }

    /// Scrolls the turn list so that the selected row is in sight.
    pub(super) fn scroll_turns(&mut self, client: ClientId) {
        let Some(Overlay::Turns(list)) = self.clients.get(&client).and_then(|c| c.overlay.clone()) else { return };
        let rows = turn_rows(self, Moment(0), &list);
        let at = selected_row(&list, &rows);
        let height = self.clients.get(&client).map_or(1, |c| usize::from(c.size.rows.saturating_sub(8)).max(1));
        if let Some(Overlay::Turns(list)) = self.clients.get_mut(&client).and_then(|c| c.overlay.as_mut()) {
            list.scroll = list.scroll.max((at + 1).saturating_sub(height)).min(at);
        }
    }
}

fn conversation_of(key: &TurnKey) -> &ConversationId {
    let (TurnKey::Conversation(id) | TurnKey::Mark(id, _) | TurnKey::Outside(id, _)) = key;
    id
}
