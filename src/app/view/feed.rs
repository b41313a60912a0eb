//! The agent pane: commands of a conversation, cut into turns, or of an environment.

use super::super::client::{FeedMark, FeedPlace, Shown};
use super::super::feed::CallOutput;
use super::super::layout::PaneId;
use super::super::model::{FeedOf, Model};
use super::super::msg::ClientId;
use super::super::view_model::FeedLine;
use super::sidebar::fuzzy;
use super::words;
use crate::domain::{Call, CallId, ConversationId, EnvId, Moment, TakenOver, Turn, TurnId};
use std::collections::{BTreeMap, BTreeSet};

/// Lines of output shown below a command: its last ones.
const SHOWN: usize = 8;

/// A part of a feed, before its lines are made.
pub enum FeedItem<'a> {
    /// A turn begins.
    Turn(&'a Turn),
    /// Commands outside of turns follow.
    Outside,
    /// A person had the environment to themselves.
    Taken(&'a TakenOver),
    /// The command before it waits for the person.
    Waits,
    /// A command with its output, and whether all of that is shown.
    Call(&'a Call, Option<&'a CallOutput>, bool),
}

impl FeedItem<'_> {
    /// What it is, to find it again.
    pub fn mark(&self) -> Option<FeedMark> {
        match self {
            Self::Turn(turn) => Some(FeedMark::Turn(turn.id.clone())),
            Self::Outside | Self::Taken(_) | Self::Waits => None,
            Self::Call(call, ..) => Some(FeedMark::Call(call.id.clone())),
        }
    }

    /// Lines that it takes.
    fn lines(&self) -> usize {
        match self {
            Self::Turn(_) | Self::Outside | Self::Taken(_) | Self::Waits => 1,
            Self::Call(_, None, _) => 1,
            Self::Call(_, Some(output), true) => {
                let dropped = output.dropped();
                1 + output.lines() - dropped + usize::from(dropped > 0)
            }
            Self::Call(_, Some(output), false) => {
                let n = output.lines();
                1 + n.min(SHOWN) + usize::from(n > SHOWN)
            }
        }
    }
}

/// Whether a command has more output than its last lines.
pub fn is_long(output: Option<&CallOutput>) -> bool {
    output.is_some_and(|output| output.lines() > SHOWN)
}

/// What is shown of a feed, oldest first, with the whole output of some commands. Where not all of it is, what a command
/// belongs to stands before it.
pub fn items<'a>(model: &'a Model, of: &FeedOf, place: &FeedPlace) -> Vec<FeedItem<'a>> {
    let all = match of {
        FeedOf::Conversation(id) => of_conversation(model, id, &place.whole),
        FeedOf::Environment(id) => of_environment(model, id, &place.whole),
    };
    let typed = place.filter.text();
    if place.shown == Shown::All && typed.trim().is_empty() {
        return all;
    }
    let texts = all.iter().enumerate().map(|(at, item)| {
        let text = match item {
            FeedItem::Turn(turn) => turn.prompt.as_deref().unwrap_or(""),
            FeedItem::Call(call, ..) => &call.command,
            FeedItem::Outside | FeedItem::Taken(_) | FeedItem::Waits => "",
        };
        (at, text)
    });
    let found: BTreeSet<usize> = fuzzy(typed, texts.collect()).into_iter().collect();
    let mut kept = Vec::new();
    let mut wanted = false;
    // From the end, so that a turn comes after its commands.
    for (at, item) in all.into_iter().enumerate().rev() {
        let head = matches!(item, FeedItem::Turn(_) | FeedItem::Outside);
        let own = found.contains(&at)
            && match &item {
                FeedItem::Turn(turn) => place.shown.has_turn(turn.status),
                FeedItem::Call(call, ..) => place.shown.has(call),
                FeedItem::Outside | FeedItem::Taken(_) | FeedItem::Waits => false,
            };
        if own || (head && wanted) {
            kept.push(item);
        }
        wanted = !head && (wanted || own);
    }
    kept.reverse();
    kept
}

/// Commands of an environment that belong to no conversation. Those that run stand at the end, where it is read.
fn of_environment<'a>(model: &'a Model, id: &EnvId, whole: &BTreeSet<CallId>) -> Vec<FeedItem<'a>> {
    let mut calls: Vec<&Call> = model
        .state
        .calls
        .values()
        .filter(|call| call.env.as_ref() == Some(id) && call.conversation.is_none())
        .collect();
    calls.sort_by_key(|call| (call.ended.is_none(), call.began));
    calls
        .into_iter()
        .map(|call| FeedItem::Call(call, model.work.feeds.of(&call.id), whole.contains(&call.id)))
        .collect()
}

fn of_conversation<'a>(model: &'a Model, id: &ConversationId, whole: &BTreeSet<CallId>) -> Vec<FeedItem<'a>> {
    let Some(conversation) = model.state.conversations.get(id) else { return Vec::new() };
    let mut by_turn: BTreeMap<Option<&TurnId>, Vec<&Call>> = BTreeMap::new();
    for call in model.state.calls.values().filter(|c| c.conversation.as_ref() == Some(id)) {
        by_turn.entry(call.turn.as_ref()).or_default().push(call);
    }
    for calls in by_turn.values_mut() {
        calls.sort_by_key(|c| c.began);
    }
    let mut outside = by_turn.remove(&None).unwrap_or_default().into_iter().peekable();
    let item = |call: &'a Call| FeedItem::Call(call, model.work.feeds.of(&call.id), whole.contains(&call.id));
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
        let mut taken = turn.taken_over.iter().peekable();
        for call in by_turn.remove(&Some(&turn.id)).unwrap_or_default() {
            while let Some(one) = taken.next_if(|one| one.from <= call.began) {
                out.push(FeedItem::Taken(one));
            }
            out.push(item(call));
            if model.state.waits_for_person(&call.id) {
                out.push(FeedItem::Waits);
            }
        }
        out.extend(taken.map(FeedItem::Taken));
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
pub fn lines(model: &Model, now: Moment, client: ClientId, pane: PaneId, of: &FeedOf, rows: u16) -> Vec<FeedLine> {
    let place = model.clients.get(&client).and_then(|c| c.feed.get(&pane)).cloned().unwrap_or_default();
    let all = items(model, of, &place);
    if all.is_empty() {
        let text = match (of, place.shown.word(), place.filter.text()) {
            (FeedOf::Conversation(_), "", "") => "no turn yet: commands of the agent appear here".to_owned(),
            (FeedOf::Environment(_), "", "") => "no command yet: what others run here appears here".to_owned(),
            (_, "", _) => "nothing matches · Esc shows all".to_owned(),
            (_, word, "") => format!("nothing here is {word} · v and Esc show more"),
            (_, word, _) => format!("nothing that matches is {word} · Esc shows all"),
        };
        return vec![FeedLine::Remark(text)];
    }
    let with_directory = matches!(of, FeedOf::Environment(_));
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
                out.push(feed_line(now, item, line - at, &place, with_directory));
            }
        }
        at += n;
    }
    out
}

fn feed_line(now: Moment, item: &FeedItem<'_>, line: usize, place: &FeedPlace, with_directory: bool) -> FeedLine {
    let selected = place.selected.is_some() && place.selected == item.mark();
    let turn = if let Some(FeedMark::Turn(turn)) = &place.selected { Some(turn) } else { None };
    let of_selected = matches!(item, FeedItem::Call(call, ..) if turn.is_some() && call.turn.as_ref() == turn);
    match item {
        FeedItem::Outside => FeedLine::Outside,
        FeedItem::Taken(TakenOver { from, until: Some(until) }) => {
            FeedLine::Remark(format!("a person had it for {}", words::took(until.since(*from))))
        }
        FeedItem::Taken(_) => FeedLine::Remark("a person has taken over".to_owned()),
        FeedItem::Waits => FeedLine::Remark("waits until it is given back".to_owned()),
        FeedItem::Turn(turn) => FeedLine::Turn {
            number: turn.number,
            prompt: words::excerpt(turn.prompt.as_deref().unwrap_or(""), 200),
            status: turn.status,
            took_ms: turn.ended.unwrap_or(now).since(turn.began).0,
            selected,
        },
        FeedItem::Call(call, ..) if line == 0 => FeedLine::Command {
            command: words::excerpt(&call.command, 400),
            exit_code: call.exit_code,
            running: call.ended.is_none(),
            count: call.count,
            cwd: call.cwd.clone().filter(|_| with_directory),
            took_ms: call.ended.unwrap_or(now).since(call.began).0,
            selected,
            of_selected,
        },
        FeedItem::Call(_, Some(output), true) => {
            let (gap, dropped) = (output.dropped_at(), output.dropped());
            match line - 1 {
                index if dropped == 0 || index < gap => output_line(output, index),
                index if index == gap => FeedLine::Remark(format!("{dropped} lines were not kept")),
                index => output_line(output, index - 1 + dropped),
            }
        }
        FeedItem::Call(_, Some(output), false) => {
            let above = output.lines().saturating_sub(SHOWN);
            match (above, line) {
                (1.., 1) if selected || of_selected => {
                    FeedLine::Remark(format!("{above} lines more · Space shows them"))
                }
                (1.., 1) => FeedLine::Remark(format!("{above} lines more · J/K select, Space shows them")),
                _ => output_line(output, above + line - 1 - usize::from(above > 0)),
            }
        }
        FeedItem::Call(_, None, _) => FeedLine::Remark(String::new()),
    }
}

fn output_line(output: &CallOutput, index: usize) -> FeedLine {
    match output.line_at(index) {
        Some(line) => FeedLine::Output { text: line.text, error: line.error },
        None => FeedLine::Remark("not kept".to_owned()),
    }
}
