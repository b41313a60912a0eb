//! The agent pane: a conversation's commands, cut into turns.

use super::super::client::{FeedMark, FeedPlace};
use super::super::feed::CallOutput;
use super::super::layout::PaneId;
use super::super::model::Model;
use super::super::msg::ClientId;
use super::super::view_model::FeedLine;
use super::words;
use crate::domain::{Call, ConversationId, Moment, Turn, TurnId};
use std::collections::BTreeMap;

/// Lines of output shown below a command: its last ones.
const SHOWN: usize = 8;

/// A part of a feed, before its lines are made.
pub enum FeedItem<'a> {
    /// A turn begins.
    Turn(&'a Turn),
    /// Commands outside of turns follow.
    Outside,
    /// A command with its output.
    Call(&'a Call, Option<&'a CallOutput>),
}

impl FeedItem<'_> {
    /// What it is, to find it again.
    pub fn mark(&self) -> Option<FeedMark> {
        match self {
            Self::Turn(turn) => Some(FeedMark::Turn(turn.id.clone())),
            Self::Outside => None,
            Self::Call(call, _) => Some(FeedMark::Call(call.id.clone())),
        }
    }

    /// Lines that it takes.
    fn lines(&self) -> usize {
        match self {
            Self::Turn(_) | Self::Outside => 1,
            Self::Call(_, None) => 1,
            Self::Call(_, Some(output)) => {
                let n = output.lines();
                1 + n.min(SHOWN) + usize::from(n > SHOWN)
            }
        }
    }
}

/// Everything in a conversation's feed, oldest first.
pub fn items<'a>(model: &'a Model, id: &ConversationId) -> Vec<FeedItem<'a>> {
    let Some(conversation) = model.state.conversations.get(id) else { return Vec::new() };
    let mut by_turn: BTreeMap<Option<&TurnId>, Vec<&Call>> = BTreeMap::new();
    for call in model.state.calls.values().filter(|c| c.conversation.as_ref() == Some(id)) {
        by_turn.entry(call.turn.as_ref()).or_default().push(call);
    }
    for calls in by_turn.values_mut() {
        calls.sort_by_key(|c| c.began);
    }
    let mut outside = by_turn.remove(&None).unwrap_or_default().into_iter().peekable();
    let item = |call: &'a Call| FeedItem::Call(call, model.work.feeds.of(&call.id));
    let mut out = Vec::new();
    for turn in &conversation.turns {
        // Commands between two turns stand where they happened.
        let mut first = true;
        while let Some(call) = outside.next_if(|c| c.began < turn.began) {
            if first {
                out.push(FeedItem::Outside);
                first = false;
            }
            out.push(item(call));
        }
        out.push(FeedItem::Turn(turn));
        out.extend(by_turn.remove(&Some(&turn.id)).unwrap_or_default().into_iter().map(item));
    }
    if outside.peek().is_some() {
        out.push(FeedItem::Outside);
        out.extend(outside.map(item));
    }
    out
}

/// Lines above an item, or of all items.
pub fn lines_before(items: &[FeedItem<'_>], mark: Option<&FeedMark>) -> usize {
    let upto = mark.and_then(|m| items.iter().position(|i| i.mark().as_ref() == Some(m))).unwrap_or(items.len());
    items[..upto].iter().map(FeedItem::lines).sum()
}

/// The lines in sight.
pub fn lines(
    model: &Model,
    now: Moment,
    client: ClientId,
    pane: PaneId,
    id: &ConversationId,
    rows: u16,
) -> Vec<FeedLine> {
    let all = items(model, id);
    if all.is_empty() {
        return vec![FeedLine::Remark("no turn yet: commands of the agent appear here".to_owned())];
    }
    let place = model.clients.get(&client).and_then(|c| c.feed.get(&pane)).cloned().unwrap_or_default();
    let rows = usize::from(rows);
    let total = lines_before(&all, None);
    let from = total.saturating_sub(rows).saturating_sub(place.back);
    let upto = (from + rows).min(total);
    let mut out = Vec::with_capacity(upto - from);
    let mut at = 0;
    for item in &all {
        let n = item.lines();
        if at + n > from && at < upto {
            for line in from.max(at)..upto.min(at + n) {
                out.push(feed_line(now, item, line - at, &place));
            }
        }
        at += n;
    }
    out
}

fn feed_line(now: Moment, item: &FeedItem<'_>, line: usize, place: &FeedPlace) -> FeedLine {
    let selected = place.selected.is_some() && place.selected == item.mark();
    match item {
        FeedItem::Outside => FeedLine::Outside,
        FeedItem::Turn(turn) => FeedLine::Turn {
            number: turn.number,
            prompt: words::excerpt(turn.prompt.as_deref().unwrap_or(""), 200),
            status: turn.status,
            took_ms: turn.ended.unwrap_or(now).since(turn.began).0,
            selected,
        },
        FeedItem::Call(call, _) if line == 0 => FeedLine::Command {
            command: words::excerpt(&call.command, 400),
            exit_code: call.exit_code,
            took_ms: call.ended.unwrap_or(now).since(call.began).0,
            selected,
        },
        FeedItem::Call(_, output) => {
            let Some(output) = output else { return FeedLine::Remark(String::new()) };
            let n = output.lines();
            let above = n.saturating_sub(SHOWN);
            match (above, line) {
                (1.., 1) => FeedLine::Remark(format!("{above} lines more")),
                _ => {
                    let index = above + line - 1 - usize::from(above > 0);
                    match output.line_at(index) {
                        Some(line) => FeedLine::Output { text: line.text, error: line.error },
                        None => FeedLine::Remark("not kept".to_owned()),
                    }
                }
            }
        }
    }
}
