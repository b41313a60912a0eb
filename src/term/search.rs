//! Finding plain text in a screen and its history.
//!
//! Small letters in the query match both cases, a capital makes it exact ("smart case"). Wrapped rows are searched as
//! the one line they are.

use super::screen::{LogicalLine, Screen};
use super::selection::Pos;

/// Most matches kept; a query that matches everywhere needs no more to be counted.
pub const MAX_MATCHES: usize = 100_000;

/// One place where the text was found. Both ends are part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Match {
    /// Its first cell.
    pub start: Pos,
    /// Its last cell.
    pub end: Pos,
}

/// A query and where it was found, oldest line first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Search {
    query: String,
    matches: Vec<Match>,
    current: Option<usize>,
}

impl Search {
    /// Searches for `query`; the match nearest before or at `from` is the current one, else the first.
    #[must_use]
    pub fn new(screen: &Screen, query: &str, from: Pos) -> Self {
        let mut search = Self { query: query.to_owned(), ..Self::default() };
        search.find(screen);
        search.current = match search.matches.partition_point(|found| found.start <= from) {
            0 if search.matches.is_empty() => None,
            n => Some(n.saturating_sub(1)),
        };
        search
    }

    /// Searches again after the screen changed; stays at the current match.
    pub fn refresh(&mut self, screen: &Screen) {
        let from = self.current().map_or(Pos { line: u64::MAX, col: 0 }, |found| found.start);
        *self = Self::new(screen, &self.query, from);
    }

    /// What is searched for.
    #[must_use]
    pub fn query(&self) -> &str {
        &self.query
    }

    /// All matches, oldest line first.
    #[must_use]
    pub fn matches(&self) -> &[Match] {
        &self.matches
    }

    /// The current match.
    #[must_use]
    pub fn current(&self) -> Option<Match> {
        self.matches.get(self.current?).copied()
    }

    /// Number of the current match from 1, and how many there are; `(0, 0)` without any.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        (self.current.map_or(0, |n| n + 1), self.matches.len())
    }

    /// Goes to the next match, further down; round to the first after the last.
    pub fn next_match(&mut self) -> Option<Match> {
        self.step(1)
    }

    /// Goes to the match before, further up; round to the last before the first.
    pub fn previous_match(&mut self) -> Option<Match> {
        self.step(self.matches.len().saturating_sub(1))
    }

    /// The marked columns of a row of a screen with `cols` columns: first, last, whether of the current match.
    pub fn columns_in(&self, line: u64, cols: u16) -> impl Iterator<Item = (u16, u16, bool)> + '_ {
        // A match can begin some rows above: matches are in order and do not overlap, so their ends are in order too.
        let first = self.matches.partition_point(|found| found.end.line < line);
        self.matches[first..].iter().enumerate().take_while(move |(_, found)| found.start.line <= line).map(
            move |(n, found)| {
                let from = if found.start.line == line { found.start.col } else { 0 };
                let to = if found.end.line == line { found.end.col } else { cols.saturating_sub(1) };
                (from, to, self.current == Some(first + n))
            },
        )
    }

    fn step(&mut self, by: usize) -> Option<Match> {
        let current = self.current?;
        self.current = Some((current + by) % self.matches.len());
        self.current()
    }

    fn find(&mut self, screen: &Screen) {
        let exact = self.query.chars().any(char::is_uppercase);
        let fold = |c: char| match c {
            c if exact => c,
            c if c.is_ascii() => c.to_ascii_lowercase(),
            c => c.to_lowercase().next().unwrap_or(c),
        };
        let wanted: Vec<char> = self.query.chars().map(fold).collect();
        let Some(&initial) = wanted.first() else { return };
        let kept = screen.lines();
        let (mut line, mut text) = (kept.start, LogicalLine::default());
        while line < kept.end {
            line = screen.read_logical(line, &mut text);
            text.chars.iter_mut().for_each(|c| *c = fold(*c));
            let mut at = 0;
            while at + wanted.len() <= text.chars.len() {
                let Some(n) = text.chars[at..].iter().position(|c| *c == initial) else { break };
                at += n;
                if text.chars[at..].starts_with(&wanted) {
                    let end = text.places[at + wanted.len() - 1];
                    self.matches.push(Match { start: text.places[at], end });
                    if self.matches.len() == MAX_MATCHES {
                        return;
                    }
                    at += wanted.len();
                } else {
                    at += 1;
                }
            }
        }
    }
}
