//! Finding text in a screen and its history, plain or by a regular expression.
//!
//! Small letters in the query match both cases, a capital makes it exact ("smart case"). Wrapped rows are searched as
//! the one line they are; no match goes beyond a line.

use super::screen::{LogicalLine, Screen};
use super::selection::Pos;
use regex::{Regex, RegexBuilder};
use std::ops::{ControlFlow, Range};

/// Most matches kept; a query that matches everywhere needs no more to be counted.
pub const MAX_MATCHES: usize = 100_000;
/// Most bytes of a compiled expression, and of what is worked out from it while it runs. Time is linear in the text for
/// any expression.
const MAX_REGEX: usize = 1 << 20;

/// One place where the text was found. Both ends are part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Match {
    /// Its first cell.
    pub start: Pos,
    /// Its last cell.
    pub end: Pos,
}

/// A query, ready to be searched for.
#[derive(Clone, Debug)]
pub struct Finder {
    text: String,
    how: How,
}

#[derive(Clone, Debug)]
enum How {
    /// These characters, small unless `exact`.
    Plain {
        wanted: Vec<char>,
        exact: bool,
    },
    Pattern(Regex),
}

impl PartialEq for Finder {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.is_regex() == other.is_regex()
    }
}

impl Eq for Finder {}

impl Finder {
    /// A query for exactly this text.
    #[must_use]
    pub fn plain(query: &str) -> Self {
        let exact = query.chars().any(char::is_uppercase);
        let wanted = query.chars().map(|c| fold(c, exact)).collect();
        Self { text: query.to_owned(), how: How::Plain { wanted, exact } }
    }

    /// A query by a regular expression.
    ///
    /// # Errors
    /// What is wrong with the expression, in one line.
    pub fn regex(query: &str) -> Result<Self, String> {
        let exact = has_capital(query);
        let made = RegexBuilder::new(query)
            .case_insensitive(!exact)
            .size_limit(MAX_REGEX)
            .dfa_size_limit(MAX_REGEX)
            .nest_limit(64)
            .build();
        match made {
            Ok(pattern) => Ok(Self { text: query.to_owned(), how: How::Pattern(pattern) }),
            Err(regex::Error::CompiledTooBig(_)) => Err("too large: shorten it, or repeat less".to_owned()),
            // The last line says what, those before show where.
            Err(error) => {
                let told = error.to_string();
                let last = told.lines().last().unwrap_or_default();
                Err(last.trim().trim_start_matches("error: ").to_owned())
            }
        }
    }

    /// What is searched for, as it was typed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is a regular expression.
    #[must_use]
    pub fn is_regex(&self) -> bool {
        matches!(self.how, How::Pattern(_))
    }

    /// What is found on these lines, and on those that they are a part of.
    #[must_use]
    pub fn matches_in(&self, screen: &Screen, lines: Range<u64>) -> Vec<Match> {
        let mut found = Vec::new();
        let kept = screen.lines();
        let (first, end) = (lines.start.max(kept.start), lines.end.min(kept.end));
        if first >= end || self.text.is_empty() {
            return found;
        }
        let (mut line, mut text) = (screen.logical_bounds(first).0, LogicalLine::default());
        while line < end {
            line = screen.read_logical(line, &mut text);
            let full = self.in_line(&mut text, |one| {
                found.push(one);
                if found.len() == MAX_MATCHES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if full.is_break() {
                break;
            }
        }
        found
    }

    fn in_line(&self, text: &mut LogicalLine, mut visit: impl FnMut(Match) -> ControlFlow<()>) -> ControlFlow<()> {
        match &self.how {
            How::Plain { wanted, exact } => {
                let Some(&initial) = wanted.first() else { return ControlFlow::Continue(()) };
                text.chars.iter_mut().for_each(|c| *c = fold(*c, *exact));
                let mut at = 0;
                while at + wanted.len() <= text.chars.len() {
                    let Some(n) = text.chars[at..].iter().position(|c| *c == initial) else { break };
                    at += n;
                    if text.chars[at..].starts_with(wanted) {
                        visit(Match { start: text.places[at], end: text.places[at + wanted.len() - 1] })?;
                        at += wanted.len();
                    } else {
                        at += 1;
                    }
                }
            }
            How::Pattern(pattern) => {
                // What was not written is no text: `$` is where it ends.
                let used = text.chars.iter().rposition(|c| *c != ' ').map_or(0, |n| n + 1);
                let line: String = text.chars[..used].iter().collect();
                let (mut bytes, mut index) = (0, 0);
                let mut index_at = |byte: usize| {
                    while bytes < byte {
                        bytes += text.chars[index].len_utf8();
                        index += 1;
                    }
                    index
                };
                for one in pattern.find_iter(&line).filter(|one| !one.is_empty()) {
                    let (from, to) = (index_at(one.start()), index_at(one.end()));
                    visit(Match { start: text.places[from], end: text.places[to - 1] })?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Whether a capital letter is meant: those of classes such as `\W` are not.
fn has_capital(query: &str) -> bool {
    let mut escaped = false;
    query.chars().any(|c| {
        let counts = !escaped && c.is_uppercase();
        escaped = !escaped && c == '\\';
        counts
    })
}

fn fold(c: char, exact: bool) -> char {
    match c {
        c if exact => c,
        c if c.is_ascii() => c.to_ascii_lowercase(),
        c => c.to_lowercase().next().unwrap_or(c),
    }
}

/// A query and where it was found, oldest line first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Search {
    finder: Finder,
    matches: Vec<Match>,
    current: Option<usize>,
}

impl Search {
    /// Searches everything that is kept; the match nearest before or at `from` is the current one, else the first.
    #[must_use]
    pub fn new(screen: &Screen, finder: &Finder, from: Pos) -> Self {
        let matches = finder.matches_in(screen, screen.lines());
        let current = match matches.partition_point(|found| found.start <= from) {
            0 if matches.is_empty() => None,
            n => Some(n.saturating_sub(1)),
        };
        Self { finder: finder.clone(), matches, current }
    }

    /// Makes the match current that is next from `from` in a direction, `count` matches on; round at the ends.
    pub fn go(&mut self, from: Pos, downwards: bool, count: usize) -> Option<Match> {
        let all = self.matches.len();
        if all == 0 {
            return None;
        }
        let on = count.max(1) - 1;
        self.current = Some(if downwards {
            (self.matches.partition_point(|found| found.start <= from) + on) % all
        } else {
            let before = self.matches.partition_point(|found| found.start < from);
            (before + all - 1 + all - on % all) % all
        });
        self.current()
    }

    /// Searches again after the screen changed; stays at the current match.
    pub fn refresh(&mut self, screen: &Screen) {
        let from = self.current().map_or(Pos { line: u64::MAX, col: 0 }, |found| found.start);
        *self = Self::new(screen, &self.finder, from);
    }

    /// What is searched for.
    #[must_use]
    pub fn query(&self) -> &str {
        self.finder.text()
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
}
