//! One line being typed.

use crate::config::KeyPress;
use crossterm::event::{KeyCode, KeyModifiers};
use tui_input::{Input, InputRequest};

/// Longest line, in characters: names and filters are shorter, and a paste must not grow without bound.
const LONGEST: usize = 256;

/// A line with a cursor.
#[derive(Clone, Default, Debug)]
pub struct Line(Input);

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        self.0.value() == other.0.value() && self.0.cursor() == other.0.cursor()
    }
}

impl Eq for Line {}

impl Line {
    /// A line that begins with a text, the cursor at its end.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Input::new(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.value()
    }

    /// Where the cursor is, in columns.
    #[must_use]
    pub fn column(&self) -> u16 {
        u16::try_from(self.0.visual_cursor()).unwrap_or(u16::MAX)
    }

    /// Takes a key in. False if it is none for editing.
    pub fn key(&mut self, key: KeyPress) -> bool {
        let ctrl = key.mods == KeyModifiers::CONTROL;
        let alt = key.mods == KeyModifiers::ALT;
        let plain = key.mods.is_empty();
        let request = match key.code {
            KeyCode::Char(c) if plain => {
                if self.text().chars().count() >= LONGEST {
                    return true;
                }
                InputRequest::InsertChar(c)
            }
            KeyCode::Backspace if plain => InputRequest::DeletePrevChar,
            KeyCode::Delete if plain => InputRequest::DeleteNextChar,
            KeyCode::Left if plain => InputRequest::GoToPrevChar,
            KeyCode::Right if plain => InputRequest::GoToNextChar,
            KeyCode::Left if ctrl || alt => InputRequest::GoToPrevWord,
            KeyCode::Right if ctrl || alt => InputRequest::GoToNextWord,
            KeyCode::Home if plain => InputRequest::GoToStart,
            KeyCode::End if plain => InputRequest::GoToEnd,
            KeyCode::Backspace if ctrl || alt => InputRequest::DeletePrevWord,
            KeyCode::Char('a') if ctrl => InputRequest::GoToStart,
            KeyCode::Char('e') if ctrl => InputRequest::GoToEnd,
            KeyCode::Char('w') if ctrl => InputRequest::DeletePrevWord,
            KeyCode::Char('u') if ctrl => InputRequest::DeleteLine,
            KeyCode::Char('k') if ctrl => InputRequest::DeleteTillEnd,
            KeyCode::Char('h') if ctrl => InputRequest::DeletePrevChar,
            _ => return false,
        };
        self.0.handle(request);
        true
    }

    /// Types a pasted text: its first line, without controls.
    pub fn paste(&mut self, text: &str) {
        let room = LONGEST.saturating_sub(self.text().chars().count());
        for c in text.lines().next().unwrap_or("").chars().filter(|c| !c.is_control()).take(room) {
            self.0.handle(InputRequest::InsertChar(c));
        }
    }
}
