//! What is selected in an agent pane or in the turn list, and copying it.

use super::super::client::{FeedMark, FeedPlace};
use super::super::layout::PaneId;
use super::super::model::{FeedOf, Model, PaneKind};
use super::super::msg::{ClientId, Cmd};
use super::super::overlay::TurnKey;
use super::super::view::feed::FeedItem;
use super::super::view::words::excerpt;
use super::super::view_model::Level;
use crate::domain::{ConversationId, Moment};

impl Model {
    /// The selected turn or command of an agent pane, else its newest command. Without a pane, that of the whole feed.
    pub(super) fn marked_in(&self, client: ClientId, pane: Option<PaneId>, of: &FeedOf) -> Option<FeedMark> {
        let place = pane.and_then(|pane| self.clients.get(&client)?.feed.get(&pane));
        let whole = FeedPlace::default();
        let items = super::super::view::feed::items(self, of, place.unwrap_or(&whole));
        let selected = place.and_then(|place| place.selected.clone());
        let newest = || items.iter().rev().find(|item| matches!(item, FeedItem::Call(..))).and_then(FeedItem::mark);
        selected.filter(|mark| items.iter().any(|item| item.mark().as_ref() == Some(mark))).or_else(newest)
    }

    /// What a row of the turn list stands for.
    pub(super) fn marked_by(key: &TurnKey) -> Option<FeedMark> {
        match key {
            TurnKey::Mark(_, mark) => Some(mark.clone()),
            TurnKey::Conversation(_) | TurnKey::Outside(..) => None,
        }
    }

    /// The feed that a command is about, with its pane where this client's tab shows it: the one that has the focus, else
    /// [`Self::feed_here`].
    pub(super) fn feed_in_question(&self, client: ClientId) -> Option<(Option<PaneId>, FeedOf)> {
        let focused = if self.in_nav(client) { None } else { self.focused_pane(client) };
        if let Some((pane, PaneKind::Feed(of))) = focused.and_then(|pane| Some((pane, self.work.panes.get(&pane)?))) {
            return Some((Some(pane), of.clone()));
        }
        let of = self.feed_here(client)?;
        let panes = self.tab_of(client).map(|tab| tab.tree.panes()).unwrap_or_default();
        let shown = panes.into_iter().find(|p| self.work.panes.get(p) == Some(&PaneKind::Feed(of.clone())));
        Some((shown, of))
    }

    /// The feed of the tab's conversation; else of the conversation in the environment in question in which something
    /// happened last; else of that environment.
    pub(super) fn feed_here(&self, client: ClientId) -> Option<FeedOf> {
        let of_tab = if self.in_nav(client) { None } else { self.tab_of(client).and_then(|t| t.conversation.clone()) };
        match of_tab.or_else(|| self.newest_conversation(client)) {
            Some(id) => Some(FeedOf::Conversation(id)),
            None => self.env_in_question(client).map(FeedOf::Environment),
        }
    }

    /// The conversation of the environment in question in which something happened last.
    fn newest_conversation(&self, client: ClientId) -> Option<ConversationId> {
        let env = self.env_in_question(client)?;
        let here = self.state.conversations.values().filter(|c| c.env.as_ref() == Some(&env));
        here.max_by_key(|c| c.last_active).map(|c| c.id.clone())
    }

    /// Copies a command, or what was asked in a turn, for the client's terminal and for pasting here.
    pub(super) fn copy_marked(&mut self, now: Moment, client: ClientId, mark: Option<FeedMark>, cmds: &mut Vec<Cmd>) {
        let found = match &mark {
            None => Err("there is no command here to copy".to_owned()),
            Some(FeedMark::Call(id)) => match self.state.calls.get(id) {
                Some(call) => Ok((call.command.clone(), String::new())),
                None => Err("this command is not remembered any more".to_owned()),
            },
            Some(FeedMark::Turn(id)) => {
                let turn = self.state.conversations.values().flat_map(|c| &c.turns).find(|turn| turn.id == *id);
                let prompt = turn.and_then(|turn| Some((turn.prompt.clone().filter(|p| !p.is_empty())?, turn.number)));
                match (prompt, turn) {
                    (Some((prompt, number)), _) => Ok((prompt, format!("the prompt of turn {number}, "))),
                    (None, Some(turn)) => Err(format!("what was asked in turn {} is not known", turn.number)),
                    (None, None) => Err("this turn is not remembered any more".to_owned()),
                }
            }
        };
        match found {
            Ok((text, what)) => self.copy_text(now, client, text, &what, cmds),
            Err(why) => self.say(now, Level::Info, why, Some(client)),
        }
    }

    /// Copies a text and says so; `what` names it.
    pub(super) fn copy_text(&mut self, now: Moment, client: ClientId, text: String, what: &str, cmds: &mut Vec<Cmd>) {
        let lines = text.lines().count();
        let more = if lines > 1 { format!(" ({lines} lines)") } else { String::new() };
        let told = format!("copied {what}`{}`{more}", excerpt(&text, 60));
        self.work.buffers.push(text.clone());
        cmds.push(Cmd::Clipboard { client, text });
        self.say(now, Level::Success, told, Some(client));
    }
}
