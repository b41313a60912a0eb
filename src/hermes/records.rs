//! What is new in the conversations of one home, told as the core takes it.

use super::history::{Chains, History, Session};
use super::home::Home;
use super::hooks::TurnEnd;
use super::turns::{self, ToolCall, Turn, TurnState};
use super::{labels, script};
use crate::domain::{ConversationId, Moment, Span, Told, ToldCall, ToldTurn, TurnId, TurnStatus};
use std::collections::{BTreeMap, BTreeSet};

/// Conversations that are told, the newest.
const CONVERSATIONS: usize = 100;
/// Messages of one session that are looked at, the newest.
const MESSAGES: usize = 1000;
/// Messages that are looked at in one go, if there is more than one conversation to tell: what is newest comes first.
const AT_ONCE: usize = 2000;
/// An answer that has been owed for this long without a word does not come any more: its agent has ended.
const SILENCE: Span = Span::seconds(30 * 60);
/// Longest prompt that is kept, in bytes.
const PROMPT: usize = 4 << 10;
/// Ends of turns that are remembered.
const ENDS: usize = 500;
/// The tool whose commands run in the container.
const TERMINAL: &str = "terminal";
/// The task whose container all conversations of a profile share (hermes-agent 0.19, `tools/terminal_tool.py`).
const SHARED_TASK: &str = "default";

/// A conversation that has changed.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    /// It.
    pub told: Told,
    /// What its commands printed, by the commands' ids there.
    pub outputs: Vec<(String, String)>,
}

/// What was told of a home so far.
pub struct Records {
    home: Home,
    /// The newest message that was looked at; `None` before the first look.
    last: Option<i64>,
    known: BTreeMap<String, Known>,
    /// There is more to tell at once.
    more: bool,
    /// For sessions that are longer than what is looked at: the message that it begins with, and how many requests of the
    /// user stand before it.
    before: BTreeMap<String, (i64, usize)>,
    /// How turns ended, by session, as hooks told.
    ends: BTreeMap<String, End>,
    /// Sessions of which hooks told something new.
    touched: BTreeSet<String>,
}

/// The end of a turn as a hook tells it.
#[derive(Clone, Copy)]
struct End {
    at: Moment,
    status: TurnStatus,
}

/// What was told of a conversation.
#[derive(PartialEq)]
struct Known {
    /// Its sessions as they were.
    sessions: Vec<Session>,
    /// When its open turn is given up.
    silent: Option<Moment>,
}

impl Records {
    /// Of this home, before the first look.
    #[must_use]
    pub fn new(home: Home) -> Self {
        Self {
            home,
            last: None,
            known: BTreeMap::new(),
            more: false,
            before: BTreeMap::new(),
            ends: BTreeMap::new(),
            touched: BTreeSet::new(),
        }
    }

    /// The home.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// When to look again although nothing was written: there is more to tell, or an open turn is given up.
    #[must_use]
    pub fn due(&self) -> Option<Moment> {
        if self.more {
            return Some(Moment(0));
        }
        self.known.values().filter_map(|known| known.silent).min()
    }

    /// Takes in what a hook told: how a turn ended is written down nowhere else.
    pub fn hooked(&mut self, event: &TurnEnd) {
        let status = match (event.completed, event.interrupted) {
            (_, true) => TurnStatus::Interrupted,
            (true, false) => TurnStatus::Done,
            (false, false) => TurnStatus::Failed,
        };
        self.ends.insert(event.session.clone(), End { at: event.at, status });
        self.touched.insert(event.session.clone());
        while self.ends.len() > ENDS {
            let oldest = self.ends.iter().min_by_key(|(_, end)| end.at).map(|(session, _)| session.clone());
            oldest.iter().for_each(|session| _ = self.ends.remove(session));
        }
    }

    /// Conversations that have changed since the last look, the oldest first.
    ///
    /// # Errors
    /// The records cannot be read now, one sentence; nothing is lost, the next look tells it.
    pub fn news(&mut self, now: Moment) -> Result<Vec<News>, String> {
        let Some(history) = History::open(&self.home.path)? else { return Ok(Vec::new()) };
        let last = history.last_message()?;
        let mut written = match self.last {
            // The file was made anew.
            Some(before) if before <= last => history.written_since(before)?,
            _ => BTreeSet::new(),
        };
        written.append(&mut self.touched);
        let sessions = history.sessions()?;
        let (mut room, mut unread) = (AT_ONCE, BTreeSet::new());
        let mut news = Vec::new();
        let chains = Chains::new(&sessions);
        for first in chains.beginnings().take(CONVERSATIONS) {
            let chain = chains.from(first);
            let before = self.known.get(&first.id);
            let same = before.is_some_and(|known| known.sessions.iter().eq(chain.iter().copied()));
            let silent = before.and_then(|known| known.silent).is_some_and(|at| at <= now);
            if same && !silent && !chain.iter().any(|one| written.contains(&one.id)) {
                continue;
            }
            if room == 0 {
                unread.insert(first.id.clone());
                continue;
            }
            let (turns, read) = self.turns(&history, &chain)?;
            room = room.saturating_sub(read);
            let (one, silent) = self.tell(first, &chain, turns, now);
            self.known.insert(first.id.clone(), Known { sessions: chain.into_iter().cloned().collect(), silent });
            news.push(one);
        }
        // What was not looked at is known no more, so that the next look tells it.
        unread.iter().for_each(|id| drop(self.known.remove(id)));
        self.more = !unread.is_empty();
        self.last = Some(last);
        news.reverse();
        Ok(news)
    }

    /// The turns of sessions that follow one another, as far as their newest messages tell, and how many were read.
    fn turns(&mut self, history: &History, chain: &[&Session]) -> Result<(Vec<Turn>, usize), String> {
        let (mut messages, mut before) = (Vec::new(), 0);
        for one in chain {
            let newest = history.messages(&one.id, MESSAGES)?;
            if let Some(first) = newest.first().filter(|_| newest.len() >= MESSAGES) {
                let (known, count) =
                    self.before.get(&one.id).copied().filter(|(id, _)| *id <= first.id).unwrap_or((0, 0));
                let count = count + history.requests_between(&one.id, known, first.id)?;
                self.before.insert(one.id.clone(), (first.id, count));
                // What was said before in the same conversation is counted with it.
                before += count;
            }
            messages.extend(newest);
        }
        let mut turns = turns::derive(&messages, chain.last().and_then(|last| last.ended));
        turns.iter_mut().for_each(|turn| turn.number += before);
        Ok((turns, messages.len()))
    }

    fn tell(&self, first: &Session, chain: &[&Session], turns: Vec<Turn>, now: Moment) -> (News, Option<Moment>) {
        let open = turns.last().filter(|turn| turn.state == TurnState::Open);
        let end = chain.last().and_then(|last| self.ends.get(&last.id)).copied();
        let end = end.filter(|end| open.is_some_and(|turn| turn.latest <= end.at));
        let silent = open.map(|turn| turn.latest + SILENCE).filter(|at| *at > now && end.is_none());
        let latest = turns.last().map_or(first.began, |turn| turn.latest);
        let title = chain.iter().rev().find_map(|one| one.title.clone());
        let mut outputs = Vec::new();
        let turns = turns
            .into_iter()
            .map(|turn| told_turn(&first.id, turn, silent.is_some(), &mut outputs))
            .collect::<Vec<_>>();
        let mut turns: Vec<ToldTurn> = turns;
        if let (Some(end), Some(turn)) = (end, turns.last_mut()) {
            (turn.status, turn.ended) = (end.status, Some(end.at));
        }
        let told = Told {
            conversation: ConversationId::new(&first.id),
            profile: labels::sanitise(&self.home.profile),
            home: self.home.path.to_string_lossy().into_owned(),
            task: SHARED_TASK.to_owned(),
            title,
            kind: Some(first.source.clone()).filter(|source| !source.is_empty()),
            ended: chain.last().and_then(|last| last.ended),
            latest,
            turns,
        };
        (News { told, outputs }, silent)
    }
}

fn told_turn(conversation: &str, turn: Turn, answered_yet: bool, outputs: &mut Vec<(String, String)>) -> ToldTurn {
    let (status, over) = match turn.state {
        TurnState::Open if answered_yet => (TurnStatus::Running, false),
        TurnState::Open | TurnState::Unanswered => (TurnStatus::Interrupted, true),
        TurnState::Answered => (TurnStatus::Done, true),
    };
    let calls = turn.calls.into_iter().filter_map(|call| told_call(call, outputs)).collect();
    ToldTurn {
        id: TurnId::new(format!("{conversation}.{}", turn.message)),
        number: u32::try_from(turn.number).unwrap_or(u32::MAX),
        prompt: cut(turn.prompt, PROMPT),
        began: turn.began,
        ended: over.then_some(turn.latest),
        status,
        calls,
    }
}

fn told_call(call: ToolCall, outputs: &mut Vec<(String, String)>) -> Option<ToldCall> {
    let command = call.command.filter(|_| call.tool == TERMINAL)?;
    outputs.extend(call.output.map(|output| (call.id.clone(), output)));
    // As it is seen in the container.
    let command = script::shortened(&command);
    Some(ToldCall {
        id: call.id,
        command: if call.background { format!("{command} &") } else { command },
        asked: call.asked,
        answered: call.answered,
        exit_code: call.exit_code.and_then(|code| i32::try_from(code).ok()),
    })
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}
