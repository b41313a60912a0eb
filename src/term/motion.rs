//! vi's motions in a screen's text and its history.
//!
//! A line is what the program wrote: rows that were wrapped are one. What a motion does not find leaves the cursor where
//! it is.

use super::screen::{LogicalLine, Screen};
use super::selection::Pos;

/// Most repeats of a motion by words, paragraphs or characters: no text that is kept has more.
const MOST: u32 = 1_000_000;

/// Words of letters and of signs, as `w` sees them, or whatever stands between blanks, as `W` does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Words {
    /// Letters, digits and `_` are one kind, other signs another.
    Small,
    /// Everything but blanks.
    Big,
}

/// A character to go to, in the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Find {
    /// The character.
    pub wanted: char,
    /// To the right.
    pub forward: bool,
    /// Only up to the cell before it.
    pub till: bool,
}

impl Find {
    /// The same in the other direction.
    #[must_use]
    pub fn turned(self) -> Self {
        Self { forward: !self.forward, ..self }
    }
}

/// Where the cursor goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Motion {
    /// One cell to the left, in the row.
    Left,
    /// One cell to the right, in the row.
    Right,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// The first cell of the line.
    LineStart,
    /// The first cell of the line that is no blank.
    LineText,
    /// The last cell of the line that is no blank.
    LineEnd,
    /// The newest row.
    Last,
    /// The begin of the next word.
    NextWord(Words),
    /// The begin of this word, or of the one before.
    PreviousWord(Words),
    /// The end of this word, or of the next one.
    NextEnd(Words),
    /// The end of the word before.
    PreviousEnd(Words),
    /// A character of the line; `again` = the one at which the cursor waits already does not count.
    To(Find, bool),
    /// The blank line before.
    ParagraphUp,
    /// The blank line after.
    ParagraphDown,
    /// The other one of the pair of brackets under or after the cursor.
    Bracket,
}

/// Where a motion leads from `at`, done `count` times.
#[must_use]
pub fn go(screen: &Screen, at: Pos, motion: Motion, count: u32) -> Pos {
    let kept = screen.lines();
    let (first, last) = (kept.start, kept.end.saturating_sub(1));
    let cols = screen.size().cols;
    let few = u16::try_from(count).unwrap_or(u16::MAX);
    let row = |line: u64| Pos { line: line.clamp(first, last), col: at.col };
    let mut text = Text::at(screen, at.line.clamp(first, last));
    match motion {
        Motion::Left => Pos { col: at.col.saturating_sub(few), ..at },
        Motion::Right => Pos { col: at.col.saturating_add(few).min(cols.saturating_sub(1)), ..at },
        Motion::Up => row(at.line.saturating_sub(count.into())),
        Motion::Down => row(at.line.saturating_add(count.into())),
        Motion::Last => row(last),
        Motion::LineStart => text.place(0).unwrap_or(at),
        Motion::LineText => text.place(text.chars.iter().position(|c| !blank(*c)).unwrap_or(0)).unwrap_or(at),
        Motion::LineEnd => text.place(text.last_used()).unwrap_or(at),
        Motion::To(find, again) => text.find(at, find, again, count).unwrap_or(at),
        Motion::Bracket => text.bracket(at).unwrap_or(at),
        _ => {
            let mut at = at;
            for _ in 0..count.min(MOST) {
                let next = match motion {
                    Motion::NextWord(words) => text.next(at, |text, i| text.starts(i, words)),
                    Motion::PreviousWord(words) => text.previous(at, |text, i| text.starts(i, words)),
                    Motion::NextEnd(words) => text.next(at, |text, i| text.ends(i, words)),
                    Motion::PreviousEnd(words) => text.previous(at, |text, i| text.ends(i, words)),
                    Motion::ParagraphUp => text.paragraph(false),
                    _ => text.paragraph(true),
                };
                if next == at {
                    break;
                }
                at = next;
            }
            at
        }
    }
}

/// The word under the cursor, or the next one of its line.
#[must_use]
pub fn word_at(screen: &Screen, at: Pos) -> Option<String> {
    let text = Text::at(screen, at.line);
    let here = text.index(at);
    let is_word = |c: &char| kind(*c, Words::Small) == 1;
    let at = here + text.chars.get(here..)?.iter().position(is_word)?;
    let from = text.chars[..at].iter().rposition(|c| !is_word(c)).map_or(0, |n| n + 1);
    let to = text.chars[at..].iter().position(|c| !is_word(c)).map_or(text.chars.len(), |n| at + n);
    Some(text.chars[from..to].iter().collect())
}

fn blank(c: char) -> bool {
    c.is_whitespace()
}

/// Blank, letters, or signs: words are runs of one kind.
fn kind(c: char, words: Words) -> u8 {
    match c {
        c if blank(c) => 0,
        _ if words == Words::Big => 1,
        c if c.is_alphanumeric() || c == '_' => 1,
        _ => 2,
    }
}

/// One line, with the way to its neighbours.
struct Text<'a> {
    screen: &'a Screen,
    /// Its characters, one for each cell that begins one.
    chars: Vec<char>,
    /// Their cells.
    places: Vec<Pos>,
    /// Its first row, and the row after its last one.
    rows: (u64, u64),
    read: LogicalLine,
}

impl<'a> Text<'a> {
    fn at(screen: &'a Screen, line: u64) -> Self {
        let read = LogicalLine::default();
        let mut text = Self { screen, chars: Vec::new(), places: Vec::new(), rows: (0, 0), read };
        text.load(line);
        text
    }

    fn load(&mut self, line: u64) {
        let (first, _) = self.screen.logical_bounds(line);
        let next = self.screen.read_logical(first, &mut self.read);
        self.rows = (first, next);
        self.chars.clear();
        self.places.clear();
        for (c, place) in self.read.chars.iter().zip(&self.read.places) {
            // Marks stand on the character before them.
            if self.places.last() != Some(place) {
                self.chars.push(*c);
                self.places.push(*place);
            }
        }
    }

    fn forward(&mut self) -> bool {
        let more = self.rows.1 < self.screen.lines().end;
        if more {
            self.load(self.rows.1);
        }
        more
    }

    fn back(&mut self) -> bool {
        let more = self.rows.0 > self.screen.lines().start;
        if more {
            self.load(self.rows.0 - 1);
        }
        more
    }

    fn place(&self, index: usize) -> Option<Pos> {
        self.places.get(index).copied()
    }

    /// The character whose cell a place is, or is the second half of.
    fn index(&self, at: Pos) -> usize {
        self.places.partition_point(|place| *place <= at).saturating_sub(1)
    }

    fn last_used(&self) -> usize {
        self.chars.iter().rposition(|c| !blank(*c)).unwrap_or(0)
    }

    fn is_blank(&self) -> bool {
        self.chars.iter().all(|c| blank(*c))
    }

    fn starts(&self, i: usize, words: Words) -> bool {
        let here = kind(self.chars[i], words);
        here != 0 && (i == 0 || kind(self.chars[i - 1], words) != here)
    }

    fn ends(&self, i: usize, words: Words) -> bool {
        let here = kind(self.chars[i], words);
        here != 0 && self.chars.get(i + 1).is_none_or(|c| kind(*c, words) != here)
    }

    /// The next character after `at` that `is_it` holds for, in this line or those below; the end of the text without.
    fn next(&mut self, at: Pos, is_it: impl Fn(&Self, usize) -> bool) -> Pos {
        let mut from = self.index(at) + 1;
        loop {
            if let Some(i) = (from..self.chars.len()).find(|i| is_it(self, *i)) {
                return self.places[i];
            }
            if !self.forward() {
                return self.place(self.last_used()).unwrap_or(at);
            }
            from = 0;
        }
    }

    /// The last character before `at` that `is_it` holds for, in this line or those above; the begin of the text without.
    fn previous(&mut self, at: Pos, is_it: impl Fn(&Self, usize) -> bool) -> Pos {
        let mut upto = self.index(at);
        loop {
            if let Some(i) = (0..upto).rev().find(|i| is_it(self, *i)) {
                return self.places[i];
            }
            if !self.back() {
                return self.place(0).unwrap_or(at);
            }
            upto = self.chars.len();
        }
    }

    fn find(&self, at: Pos, find: Find, again: bool, count: u32) -> Option<Pos> {
        let here = self.index(at);
        let skip = usize::from(again && find.till);
        let nth = (count.max(1) - 1) as usize;
        let hits = |i: &usize| self.chars[*i] == find.wanted;
        let found = if find.forward {
            (here + 1 + skip..self.chars.len()).filter(hits).nth(nth).map(|i| i - usize::from(find.till))
        } else {
            (0..here.saturating_sub(skip)).rev().filter(hits).nth(nth).map(|i| i + usize::from(find.till))
        };
        self.place(found?)
    }

    /// The next blank line in a direction that does not follow on this one.
    fn paragraph(&mut self, down: bool) -> Pos {
        let mut in_text = !self.is_blank();
        loop {
            let more = if down { self.forward() } else { self.back() };
            if !more {
                let end = if down { self.last_used() } else { 0 };
                return self.place(end).unwrap_or(Pos { line: self.rows.0, col: 0 });
            }
            let empty = self.is_blank();
            if in_text && empty {
                return Pos { line: self.rows.0, col: 0 };
            }
            in_text |= !empty;
        }
    }

    fn bracket(&mut self, at: Pos) -> Option<Pos> {
        const PAIRS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];
        let of = |c: char| PAIRS.into_iter().find(|(open, close)| c == *open || c == *close);
        let here = self.index(at);
        let from = here + self.chars.get(here..)?.iter().position(|c| of(*c).is_some())?;
        let (open, close) = of(self.chars[from])?;
        let forward = self.chars[from] == open;
        let (mut depth, mut i) = (0i64, Some(from));
        loop {
            while let Some(index) = i {
                let c = self.chars[index];
                depth += i64::from(c == open) - i64::from(c == close);
                if depth == 0 {
                    return self.place(index);
                }
                i = if forward { Some(index + 1).filter(|i| *i < self.chars.len()) } else { index.checked_sub(1) };
            }
            let more = if forward { self.forward() } else { self.back() };
            if !more {
                return None;
            }
            i = if forward { (!self.chars.is_empty()).then_some(0) } else { self.chars.len().checked_sub(1) };
        }
    }
}
