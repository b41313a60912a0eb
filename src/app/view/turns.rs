//! Rows of the turn list: conversations, their turns, their commands.

use super::super::client::{FeedMark, FeedPlace, Shown};
use super::super::model::{FeedOf, Model};
use super::super::overlay::{TurnKey, TurnList};
use super::super::view_model::TurnRow;
use super::feed::{FeedItem, items};
use super::sidebar::fuzzy;
use super::words;
use crate::domain::{Call, Conversation, Moment, TurnStatus};
use std::collections::BTreeSet;

/// All rows, newest conversation first. Turns of the newest one are shown; commands of the last turn of each.
pub fn turn_rows(model: &Model, now: Moment, list: &TurnList) -> Vec<(TurnKey, TurnRow)> {
    let mut conversations: Vec<&Conversation> = model.state.conversations.values().collect();
    conversations.sort_by_key(|c| std::cmp::Reverse(c.last_active));
    let mut out = Vec::new();
    for (index, conversation) in conversations.into_iter().enumerate() {
        let key = TurnKey::Conversation(conversation.id.clone());
        let filtering = !list.filter.text().is_empty() || list.shown != Shown::All;
        // What is shown by rule is turned round by Space; a filter looks everywhere.
        let open = filtering || (index < 3) != list.toggled.contains(&key);
        out.push((key, conversation_row(now, conversation)));
        if open {
            turns_of(model, now, list, conversation, filtering, &mut out);
        }
    }
    if list.shown != Shown::All {
        out = kept(out, |_, key, row| match key {
            TurnKey::Mark(_, FeedMark::Call(id)) => model.state.calls.get(id).is_some_and(|call| list.shown.has(call)),
            TurnKey::Mark(_, FeedMark::Turn(_)) => list.shown.has_turn(row.status),
            TurnKey::Conversation(_) | TurnKey::Outside(..) => false,
        });
    }
    if list.filter.text().is_empty() {
        return out;
    }
    // In the order of time, not by score: a list of turns is read as a story.
    let found = fuzzy(list.filter.text(), out.iter().enumerate().map(|(i, (_, r))| (i, r.text.as_str())).collect());
    let found: BTreeSet<usize> = found.into_iter().collect();
    kept(out, |index, _, _| found.contains(&index))
}

/// Where the selection is: on what was selected, else on the first row that was found and not only leads to one.
pub fn selected_row(list: &TurnList, rows: &[(TurnKey, TurnRow)]) -> usize {
    let depth = |index: usize| rows.get(index).map(|(_, row)| row.depth);
    let found = |index: &usize| depth(index + 1).is_none_or(|next| Some(next) <= depth(*index));
    let first = || if list.filter.text().is_empty() { None } else { (0..rows.len()).find(found) };
    let known = list.selected.as_ref().and_then(|selected| rows.iter().position(|(key, _)| key == selected));
    known.or_else(first).unwrap_or(0)
}

/// The rows that are wanted, and what they belong to.
fn kept(rows: Vec<(TurnKey, TurnRow)>, wanted: impl Fn(usize, &TurnKey, &TurnRow) -> bool) -> Vec<(TurnKey, TurnRow)> {
    let mut out = Vec::new();
    // Whether something below the next turn, and below the next conversation, is wanted: rows come from the end.
    let mut below = [false; 2];
    for (index, (key, row)) in rows.into_iter().enumerate().rev() {
        let own = wanted(index, &key, &row);
        let kept = match row.depth {
            0 => own | std::mem::take(&mut below[0]),
            1 => own | std::mem::take(&mut below[1]),
            _ => own,
        };
        if kept {
            below = [row.depth > 0, row.depth > 1];
            out.push((key, row));
        }
    }
    out.reverse();
    out
}

fn turns_of(
    model: &Model,
    now: Moment,
    list: &TurnList,
    conversation: &Conversation,
    all: bool,
    out: &mut Vec<(TurnKey, TurnRow)>,
) {
    let id = &conversation.id;
    let parts = items(model, &FeedOf::Conversation(id.clone()), &FeedPlace::default());
    let last = conversation.turns.last().map(|t| &t.id);
    let mut open = true;
    for (at, part) in parts.iter().enumerate() {
        match part {
            FeedItem::Turn(turn) => {
                let key = TurnKey::Mark(id.clone(), FeedMark::Turn(turn.id.clone()));
                open = all || (last == Some(&turn.id)) != list.toggled.contains(&key);
                let took = words::took(turn.ended.unwrap_or(now).since(turn.began));
                let counts = counts(&calls_after(&parts[at + 1..]));
                let prompt = words::excerpt(turn.prompt.as_deref().unwrap_or(""), 120);
                let text = format!("turn {}  {prompt}", turn.number).trim_end().to_owned();
                out.push((key, TurnRow { depth: 1, status: turn.status, text, right: format!("{counts} · {took}") }));
            }
            FeedItem::Outside => {
                let calls = calls_after(&parts[at + 1..]);
                let Some(first) = calls.first() else { continue };
                let key = TurnKey::Outside(id.clone(), first.id.clone());
                open = all || !list.toggled.contains(&key);
                let status =
                    if calls.iter().any(|c| c.ended.is_none()) { TurnStatus::Running } else { TurnStatus::Done };
                let text = "outside of turns".to_owned();
                out.push((key, TurnRow { depth: 1, status, text, right: counts(&calls) }));
            }
            FeedItem::Call(call, ..) if open => {
                let key = TurnKey::Mark(id.clone(), FeedMark::Call(call.id.clone()));
                let status = match (call.ended, call.exit_code) {
                    (None, _) => TurnStatus::Running,
                    (Some(_), Some(0)) => TurnStatus::Done,
                    (Some(_), Some(_)) => TurnStatus::Failed,
                    // How it ended is not known.
                    (Some(_), None) => TurnStatus::Interrupted,
                };
                let took = words::took(call.ended.unwrap_or(now).since(call.began));
                let right = match call.exit_code {
                    Some(code) => format!("{code} · {took}"),
                    None => took,
                };
                out.push((key, TurnRow { depth: 2, status, text: words::excerpt(&call.command, 200), right }));
            }
            FeedItem::Call(..) | FeedItem::Taken(_) | FeedItem::Waits => {}
        }
    }
}

/// The commands of the turn, or of the stretch outside of turns, whose parts follow.
fn calls_after<'a>(parts: &[FeedItem<'a>]) -> Vec<&'a Call> {
    let here = parts.iter().take_while(|part| !matches!(part, FeedItem::Turn(_) | FeedItem::Outside));
    here.filter_map(|part| if let FeedItem::Call(call, ..) = part { Some(*call) } else { None }).collect()
}

fn counts(calls: &[&Call]) -> String {
    let failed = calls.iter().filter(|c| c.exit_code.is_some_and(|code| code != 0)).count();
    match (calls.len(), failed) {
        (0, _) => "no commands".to_owned(),
        (1, 0) => "1 command".to_owned(),
        (1, _) => "1 command, failed".to_owned(),
        (n, 0) => format!("{n} commands"),
        (n, f) => format!("{n} commands, {f} failed"),
    }
}

fn conversation_row(now: Moment, conversation: &Conversation) -> TurnRow {
    let running = conversation.turns.iter().any(|t| t.ended.is_none());
    let last = conversation.turns.last().map_or(TurnStatus::Done, |turn| turn.status);
    let status = if running { TurnStatus::Running } else { last };
    let name = conversation.title.clone().unwrap_or_else(|| conversation.id.to_string());
    let text = match &conversation.kind {
        Some(kind) => format!("{} ({kind})", words::excerpt(&name, 80)),
        None => words::excerpt(&name, 80),
    };
    let state =
        if conversation.ended.is_some() { "ended".to_owned() } else { words::ago(now, conversation.last_active) };
    let turns = conversation.turns.len();
    let right = format!("{turns} turn{} · {state}", if turns == 1 { "" } else { "s" });
    TurnRow { depth: 0, status, text, right }
}
