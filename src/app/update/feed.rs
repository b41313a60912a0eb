//! Keys in an agent pane: it has no program, so they move in the feed.

use super::super::client::{FeedMark, FeedPlace, Shown};
use super::super::command::Action;
use super::super::input::Line;
use super::super::layout::PaneId;
use super::super::model::{FeedOf, Model};
use super::super::msg::{ClientId, Cmd, Stream};
use super::super::view::feed::{FeedItem, is_long, items, lines_before};
use super::super::view_model::Level;
use super::keys::plain;
use crate::config::KeyPress;
use crate::domain::{CallId, Event, Moment, Told};
use crossterm::event::{KeyCode, KeyModifiers};
use std::collections::BTreeMap;

impl Model {
    /// An agent's records tell of a conversation: its commands are shown with what they printed.
    pub(super) fn agent_told(&mut self, now: Moment, told: Told, outputs: &[(String, String)], cmds: &mut Vec<Cmd>) {
        let id = told.conversation.clone();
        self.apply(now, Event::AgentTold(told), cmds);
        let mine = self.state.calls.values().filter(|call| call.conversation.as_ref() == Some(&id));
        let rows: BTreeMap<&str, &CallId> =
            mine.filter_map(|call| Some((call.asked_as.as_deref()?, &call.id))).collect();
        let new = outputs.iter().filter_map(|(asked_as, text)| Some((*rows.get(asked_as.as_str())?, text)));
        let new: Vec<(CallId, String)> = new
            .filter(|(call, _)| self.work.feeds.of(call).is_none())
            .map(|(call, text)| (call.clone(), format!("{text}\n")))
            .collect();
        for (call, text) in new {
            self.call_output(&call, Stream::Out, text.as_bytes());
        }
        self.touch();
    }

    /// A key in an agent pane.
    pub(super) fn feed_key(
        &mut self,
        now: Moment,
        client: ClientId,
        pane: PaneId,
        id: &FeedOf,
        key: KeyPress,
        cmds: &mut Vec<Cmd>,
    ) {
        if self.feed_filter_key(client, pane, key) {
            return;
        }
        let page = i64::from(self.pane_rows(client, pane));
        if key.mods == KeyModifiers::CONTROL {
            match key.code {
                KeyCode::Char('u') => self.scroll_feed(client, pane, id, page / 2),
                KeyCode::Char('d') => self.scroll_feed(client, pane, id, -page / 2),
                _ => {}
            }
            return;
        }
        match plain(key) {
            Some(KeyCode::Enter | KeyCode::Char('x' | 'r' | 'w')) if self.only_looks(now, client) => {}
            Some(KeyCode::Enter) => self.show_shell(now, client, pane, id, cmds),
            Some(KeyCode::Char('y')) => self.copy_marked(now, client, self.marked_in(client, Some(pane), id), cmds),
            Some(KeyCode::Char('r')) => self.run_again(now, client, self.marked_in(client, Some(pane), id), cmds),
            Some(KeyCode::Char('w')) => self.shell_of_agent(now, client, id, cmds),
            Some(KeyCode::Char('m')) => self.act(now, client, Action::NeedsMe, cmds),
            Some(KeyCode::Char('v')) => self.narrow_feed(client, pane, id),
            Some(KeyCode::Char('/')) => {
                if let Some(place) = self.feed_place(client, pane) {
                    place.filtering = true;
                }
            }
            Some(KeyCode::Char('j') | KeyCode::Down) => self.scroll_feed(client, pane, id, -1),
            Some(KeyCode::Char('k') | KeyCode::Up) => self.scroll_feed(client, pane, id, 1),
            Some(KeyCode::PageUp) => self.scroll_feed(client, pane, id, page),
            Some(KeyCode::Char(' ' | 'o')) => self.expand(now, client, pane, id),
            Some(KeyCode::Char('J')) => self.jump(now, client, pane, id, Jump::Command, true),
            Some(KeyCode::Char('K')) => self.jump(now, client, pane, id, Jump::Command, false),
            Some(KeyCode::PageDown) => self.scroll_feed(client, pane, id, -page),
            Some(KeyCode::Char('g') | KeyCode::Home) => self.scroll_feed(client, pane, id, i64::MAX),
            Some(KeyCode::Char('G') | KeyCode::End) => self.scroll_feed(client, pane, id, i64::MIN),
            Some(KeyCode::Char('[' | 'p')) => self.jump(now, client, pane, id, Jump::Turn, false),
            Some(KeyCode::Char(']' | 'n')) => self.jump(now, client, pane, id, Jump::Turn, true),
            Some(KeyCode::Char('f')) => self.jump(now, client, pane, id, Jump::Failed, true),
            Some(KeyCode::Char('F')) => self.jump(now, client, pane, id, Jump::Failed, false),
            Some(KeyCode::Char('t')) => self.act(now, client, Action::Turns, cmds),
            Some(KeyCode::Char('?')) => self.act(now, client, Action::Help, cmds),
            Some(KeyCode::Char('x')) => self.close_and_forget(now, pane, cmds),
            Some(KeyCode::Esc) => {
                if let Some(place) = self.clients.get_mut(&client).and_then(|c| c.feed.get_mut(&pane)) {
                    *place = Default::default();
                }
            }
            _ => {
                let text =
                    "this pane shows what the agent does · Enter shell · J/K command · Space its output · ? help";
                self.say(now, Level::Info, text, Some(client));
            }
        }
    }

    /// Scrolls an agent pane; positive is back.
    pub(super) fn scroll_feed(&mut self, client: ClientId, pane: PaneId, id: &FeedOf, by: i64) {
        let total = lines_before(&self.feed_items(client, pane, id), None);
        let rows = usize::from(self.pane_rows(client, pane));
        let most = i64::try_from(total.saturating_sub(rows)).unwrap_or(i64::MAX);
        let Some(c) = self.clients.get_mut(&client) else { return };
        let place = c.feed.entry(pane).or_default();
        let back = i64::try_from(place.back).unwrap_or(i64::MAX).saturating_add(by).clamp(0, most.max(0));
        place.back = usize::try_from(back).unwrap_or(0);
        c.dirty = true;
    }

    /// Highlights a turn or command and scrolls to it. A filter that hides it goes.
    pub(super) fn show_mark(&mut self, client: ClientId, pane: PaneId, id: &FeedOf, mark: FeedMark) {
        let hidden = !self.feed_items(client, pane, id).iter().any(|item| item.mark().as_ref() == Some(&mark));
        if let Some(place) = self.feed_place(client, pane).filter(|_| hidden) {
            (place.shown, place.filter, place.filtering) = Default::default();
        }
        let all = self.feed_items(client, pane, id);
        let total = lines_before(&all, None);
        let above = lines_before(&all, Some(&mark));
        let rows = usize::from(self.pane_rows(client, pane));
        // On the first line where there is enough below it, else the end is shown.
        let back = total.saturating_sub(above).saturating_sub(rows);
        if let Some(c) = self.clients.get_mut(&client) {
            let place = c.feed.entry(pane).or_default();
            place.back = back;
            place.selected = Some(mark);
            c.dirty = true;
        }
    }

    pub(super) fn feed_items(&self, client: ClientId, pane: PaneId, id: &FeedOf) -> Vec<FeedItem<'_>> {
        let place = self.clients.get(&client).and_then(|c| c.feed.get(&pane));
        place.map_or_else(|| items(self, id, &FeedPlace::default()), |place| items(self, id, place))
    }

    pub(super) fn feed_place(&mut self, client: ClientId, pane: PaneId) -> Option<&mut FeedPlace> {
        let client = self.clients.get_mut(&client)?;
        client.dirty = true;
        Some(client.feed.entry(pane).or_default())
    }

    /// A key while the filter of an agent pane is typed. False if it is not.
    fn feed_filter_key(&mut self, client: ClientId, pane: PaneId, key: KeyPress) -> bool {
        let Some(place) = self.feed_place(client, pane).filter(|place| place.filtering) else { return false };
        match key.code {
            KeyCode::Esc => (place.filtering, place.filter) = (false, Line::default()),
            KeyCode::Enter => place.filtering = false,
            _ => {
                place.filter.key(key);
            }
        }
        place.back = 0;
        true
    }

    /// All commands, those that failed, those that run, and round again. Whoever looks for some wants to do something with
    /// them: the newest one is selected, unless one of them was already.
    fn narrow_feed(&mut self, client: ClientId, pane: PaneId, id: &FeedOf) {
        let Some(place) = self.feed_place(client, pane) else { return };
        (place.shown, place.back) = (place.shown.next(), 0);
        let (all, selected) = (place.shown == Shown::All, place.selected.take());
        let items = self.feed_items(client, pane, id);
        let there = |mark: &FeedMark| items.iter().any(|item| item.mark().as_ref() == Some(mark));
        let newest = || items.iter().rev().find(|item| matches!(item, FeedItem::Call(..))).and_then(FeedItem::mark);
        let mark = match selected.filter(there) {
            Some(mark @ FeedMark::Turn(_)) if !all => newest().or(Some(mark)),
            None if !all => newest(),
            mark => mark,
        };
        if let Some(mark) = mark {
            self.show_mark(client, pane, id, mark);
        }
    }

    /// Shows the whole output of the selected command, or its last lines again; of a selected turn that of all its
    /// commands. With nothing selected, the newest command with more output than is shown is meant.
    fn expand(&mut self, now: Moment, client: ClientId, pane: PaneId, id: &FeedOf) {
        let selected = self.clients.get(&client).and_then(|c| c.feed.get(&pane)?.selected.clone());
        let all = self.feed_items(client, pane, id);
        let mut long = all.iter().filter_map(|item| match item {
            FeedItem::Call(call, output, _) if is_long(*output) => Some(*call),
            _ => None,
        });
        let meant: Vec<CallId> = match &selected {
            Some(FeedMark::Call(id)) => long.filter(|call| call.id == *id).map(|call| call.id.clone()).collect(),
            Some(FeedMark::Turn(turn)) => {
                long.filter(|call| call.turn.as_ref() == Some(turn)).map(|call| call.id.clone()).collect()
            }
            None => long.next_back().map(|call| call.id.clone()).into_iter().collect(),
        };
        let Some(last) = meant.last().cloned() else {
            return self.say(now, Level::Info, "all of its output is shown", Some(client));
        };
        if let Some(place) = self.feed_place(client, pane) {
            if meant.iter().all(|call| place.whole.contains(call)) {
                place.whole.retain(|call| !meant.contains(call));
            } else {
                place.whole.extend(meant);
            }
        }
        self.show_mark(client, pane, id, selected.unwrap_or(FeedMark::Call(last)));
    }

    fn jump(&mut self, now: Moment, client: ClientId, pane: PaneId, id: &FeedOf, to: Jump, forward: bool) {
        let all = self.feed_items(client, pane, id);
        let wanted: Vec<bool> = all
            .iter()
            .map(|item| match (item, to) {
                (FeedItem::Turn(_), Jump::Turn) | (FeedItem::Call(..), Jump::Command) => true,
                (FeedItem::Call(call, ..), Jump::Failed) => call.exit_code.is_some_and(|c| c != 0),
                _ => false,
            })
            .collect();
        let selected = self.clients.get(&client).and_then(|c| c.feed.get(&pane)?.selected.clone());
        let at = selected.and_then(|mark| all.iter().position(|i| i.mark().as_ref() == Some(&mark)));
        let found = match (at, forward) {
            (Some(at), true) => (at + 1..all.len()).find(|i| wanted[*i]),
            (Some(at), false) => (0..at).rev().find(|i| wanted[*i]),
            // From the end, where the feed is read: the newest one.
            (None, _) => (0..all.len()).rev().find(|i| wanted[*i]),
        };
        match found.and_then(|i| all[i].mark()) {
            Some(mark) => self.show_mark(client, pane, id, mark),
            None => {
                let text = match (to, forward) {
                    (Jump::Turn, true) => "no later turn",
                    (Jump::Turn, false) => "no earlier turn",
                    (Jump::Command, true) => "no later command",
                    (Jump::Command, false) => "no earlier command",
                    (Jump::Failed, true) => "no further failed command",
                    (Jump::Failed, false) => "no earlier failed command",
                };
                self.say(now, Level::Info, text, Some(client));
            }
        }
    }
}

/// Where to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Jump {
    Turn,
    Command,
    Failed,
}
