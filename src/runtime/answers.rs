//! What the outer terminal answers when it is asked, taken out of what is typed in it.
//!
//! Answers are control strings (xterm's "Control Sequences", OSC 10 and 11, DECRPSS), and the reader of keys knows none of
//! them: it takes `ESC ]` for Alt+], `ESC P` for Alt+P, what follows for letters, and the end for Ctrl+G or Alt+\. Keys that
//! go on as an answer would are held back until they are one, or are not; nobody is waited for before the first frame.

use crate::app::TerminalAnswer;
use crate::term::rgb;
use crossterm::event::{Event as TermEvent, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::mem;

/// An answer that is longer is none.
const LONGEST: usize = 256;

/// What came from the outer terminal.
#[derive(Clone, PartialEq, Debug)]
pub enum Typed {
    /// Somebody did something there.
    Event(TermEvent),
    /// It answered.
    Answer(TerminalAnswer),
}

/// What asks for its colours, and with `depth` whether it shows 24 bits of them: what it was given as a background is asked
/// for again. To be written where what it might show of that is cleared away.
#[must_use]
pub fn questions(depth: bool) -> String {
    let depth = if depth { "\x1b[48;2;1;2;3m\x1bP$qm\x1b\\\x1b[m" } else { "" };
    format!("\x1b]10;?\x1b\\\x1b]11;?\x1b\\{depth}")
}

/// Keys that may be part of an answer.
#[derive(Debug, Default)]
pub struct Answers {
    held: Vec<TermEvent>,
    text: String,
}

impl Answers {
    /// Takes an event, and adds to `out` what it is now certain of.
    pub fn take(&mut self, event: TermEvent, out: &mut Vec<Typed>) {
        let Some(part) = part(&event) else {
            self.release(out);
            return out.push(Typed::Event(event));
        };
        if self.held.is_empty() && !matches!(part.as_str(), "\x1b]" | "\x1bP") {
            return out.push(Typed::Event(event));
        }
        self.text.push_str(&part);
        self.held.push(event);
        if self.text.ends_with('\x07') || self.text.ends_with("\x1b\\") {
            self.held.clear();
            out.extend(answer(mem::take(&mut self.text).trim_end_matches(['\x07', '\x1b', '\\'])).map(Typed::Answer));
        } else if !goes_on(&self.text) {
            self.release(out);
        }
    }

    /// Whether something is held back. It is to be released when nothing follows at once: a terminal sends an answer in one
    /// piece.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// It was no answer: somebody typed it.
    pub fn release(&mut self, out: &mut Vec<Typed>) {
        self.text.clear();
        out.extend(self.held.drain(..).map(Typed::Event));
    }
}

/// What a key stands for within an answer.
fn part(event: &TermEvent) -> Option<String> {
    let TermEvent::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event else { return None };
    let (code, without_shift) = (*code, *modifiers - KeyModifiers::SHIFT);
    match code {
        KeyCode::Char('g') if *modifiers == KeyModifiers::CONTROL => Some("\x07".to_owned()),
        KeyCode::Esc if modifiers.is_empty() => Some("\x1b".to_owned()),
        KeyCode::Char(c @ (']' | 'P' | '\\')) if without_shift == KeyModifiers::ALT => Some(format!("\x1b{c}")),
        KeyCode::Char(c @ ' '..='~') if without_shift.is_empty() => Some(c.to_string()),
        _ => None,
    }
}

/// Whether an answer may begin so.
fn goes_on(text: &str) -> bool {
    let known = ["\x1b]10;", "\x1b]11;", "\x1bP0$r", "\x1bP1$r"];
    text.len() <= LONGEST && known.iter().any(|known| text.starts_with(known) || known.starts_with(text))
}

fn answer(text: &str) -> Option<TerminalAnswer> {
    if let Some(text) = text.strip_prefix("\x1b]10;") {
        return colour(text).map(TerminalAnswer::Foreground);
    }
    if let Some(text) = text.strip_prefix("\x1b]11;") {
        return colour(text).map(TerminalAnswer::Background);
    }
    // The background came back as it was given, in either way of writing it.
    let numbers = text.strip_prefix("\x1bP1$r")?.strip_suffix('m')?;
    let given = numbers.contains("48:2") || numbers.contains("48;2");
    let kept = numbers.ends_with("1:2:3") || numbers.ends_with("1;2;3");
    (given && kept).then_some(TerminalAnswer::TrueColour)
}

/// A terminal that lets through what is behind it names four parts.
fn colour(text: &str) -> Option<(u8, u8, u8)> {
    match text.strip_prefix("rgba:").map(|parts| parts.rsplit_once('/')) {
        Some(parts) => rgb(&format!("rgb:{}", parts?.0)),
        None => rgb(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> TermEvent {
        TermEvent::Key(KeyEvent::new(code, modifiers))
    }

    /// As the reader of keys takes bytes.
    fn keys(bytes: &str) -> Vec<TermEvent> {
        let (mut all, mut chars) = (Vec::new(), bytes.chars());
        while let Some(c) = chars.next() {
            all.push(match c {
                '\x1b' => match chars.next() {
                    Some(next @ 'A'..='Z') => key(KeyCode::Char(next), KeyModifiers::ALT | KeyModifiers::SHIFT),
                    Some(next) => key(KeyCode::Char(next), KeyModifiers::ALT),
                    None => key(KeyCode::Esc, KeyModifiers::NONE),
                },
                '\x07' => key(KeyCode::Char('g'), KeyModifiers::CONTROL),
                'A'..='Z' => key(KeyCode::Char(c), KeyModifiers::SHIFT),
                c => key(KeyCode::Char(c), KeyModifiers::NONE),
            });
        }
        all
    }

    fn read(bytes: &str) -> (Answers, Vec<Typed>) {
        let (mut answers, mut out) = (Answers::default(), Vec::new());
        keys(bytes).into_iter().for_each(|event| answers.take(event, &mut out));
        (answers, out)
    }

    fn typed(bytes: &str) -> Vec<Typed> {
        keys(bytes).into_iter().map(Typed::Event).collect()
    }

    #[test]
    fn answers_are_taken_out_and_what_is_typed_around_them_stays() {
        let (answers, out) = read("a\x1b]11;rgba:1e1e/2020/FFFF/8000\x1b\\b\x1b]10;rgb:ff/ff/ff\x07c");
        let [white, blue] = [(255, 255, 255), (0x1e, 0x20, 0xff)];
        let mut wanted = typed("a");
        wanted.push(Typed::Answer(TerminalAnswer::Background(blue)));
        wanted.extend(typed("b"));
        wanted.push(Typed::Answer(TerminalAnswer::Foreground(white)));
        wanted.extend(typed("c"));
        assert_eq!(out, wanted);
        assert!(!answers.holds());
    }

    #[test]
    fn a_background_that_comes_back_as_given_shows_24_bits() {
        let colours = |sgr: &str| read(&format!("\x1bP{sgr}m\x1b\\")).1;
        for given in ["1$r48:2::1:2:3", "1$r0;48:2:1:2:3", "1$r0;48;2;1;2;3"] {
            assert_eq!(colours(given), [Typed::Answer(TerminalAnswer::TrueColour)], "{given}");
        }
        for reduced in ["1$r48:5:16", "1$r0", "0$r", "1$r0;48;5;16"] {
            assert_eq!(colours(reduced), [], "{reduced}: known, and nobody typed it");
        }
    }

    #[test]
    fn what_only_begins_like_an_answer_was_typed() {
        for bytes in ["\x1b]x", "\x1bPx", "\x1b]2;title", "\x1b]1\x1b]", "\x1b]é", "\x1bP1$x"] {
            let (mut answers, mut out) = read(bytes);
            answers.release(&mut out);
            assert_eq!(out, typed(bytes), "{bytes:?}");
        }
        let (mut answers, mut out) = read("\x1b]");
        assert!(answers.holds() && out.is_empty(), "until it is certain that nothing follows");
        answers.release(&mut out);
        assert_eq!(out, typed("\x1b]"));
        let long = format!("\x1b]10;{}", "x".repeat(2 * LONGEST));
        assert_eq!(read(&long).1.len(), typed(&long).len());
    }

    #[test]
    fn what_is_no_key_does_not_wait_behind_one() {
        let (mut answers, mut out) = read("\x1b]1");
        answers.take(TermEvent::FocusLost, &mut out);
        let mut wanted = typed("\x1b]1");
        wanted.push(Typed::Event(TermEvent::FocusLost));
        assert_eq!(out, wanted);
    }
}
