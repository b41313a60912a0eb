//! Names of keys, as `session send-keys` takes them: tmux's names, because fingers know them.

use super::nearest::nearest;
use crate::domain::{Refusal, RefusalKind};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// One piece of input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyInput {
    /// Text, sent as it is.
    Text(String),
    /// A key, to be encoded under the modes of the session's screen.
    Key(KeyEvent),
}

const NAMED: &[(&str, KeyCode)] = &[
    ("Enter", KeyCode::Enter),
    ("Tab", KeyCode::Tab),
    ("BTab", KeyCode::BackTab),
    ("Escape", KeyCode::Esc),
    ("Esc", KeyCode::Esc),
    ("Space", KeyCode::Char(' ')),
    ("BSpace", KeyCode::Backspace),
    ("Backspace", KeyCode::Backspace),
    ("Delete", KeyCode::Delete),
    ("DC", KeyCode::Delete),
    ("Insert", KeyCode::Insert),
    ("IC", KeyCode::Insert),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("PageUp", KeyCode::PageUp),
    ("PPage", KeyCode::PageUp),
    ("PageDown", KeyCode::PageDown),
    ("NPage", KeyCode::PageDown),
];

/// Reads words: names of keys, with `C-`, `M-`, `S-` before them, become keys; everything else is text.
///
/// # Errors
/// A word with modifiers names no key.
pub fn parse(words: &[String], literal: bool) -> Result<Vec<KeyInput>, Refusal> {
    words
        .iter()
        .filter(|word| !word.is_empty())
        .map(|word| if literal { Ok(KeyInput::Text(word.clone())) } else { one(word) })
        .collect()
}

fn one(word: &str) -> Result<KeyInput, Refusal> {
    let (mut rest, mut modifiers) = (word, KeyModifiers::NONE);
    loop {
        let modifier = match rest.get(..2) {
            Some("C-") => KeyModifiers::CONTROL,
            Some("M-") => KeyModifiers::ALT,
            Some("S-") => KeyModifiers::SHIFT,
            _ => break,
        };
        if rest.len() == 2 {
            break;
        }
        modifiers |= modifier;
        rest = &rest[2..];
    }
    if let Some(code) = named(rest) {
        return Ok(KeyInput::Key(KeyEvent::new(code, modifiers)));
    }
    if modifiers.is_empty() {
        return Ok(KeyInput::Text(word.to_owned()));
    }
    let mut letters = rest.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => Ok(KeyInput::Key(KeyEvent::new(KeyCode::Char(letter), modifiers))),
        // A word such as `M-x-mode` is text; one that looks like a misspelt key is not silently typed.
        _ => match nearest(rest, NAMED.iter().map(|(name, _)| *name)) {
            Some(meant) => Err(Refusal::new(
                RefusalKind::Usage,
                format!("there is no key `{word}`"),
                format!("did you mean `{meant}`? Use --literal to send it as text"),
            )),
            None => Ok(KeyInput::Text(word.to_owned())),
        },
    }
}

fn named(word: &str) -> Option<KeyCode> {
    if let Some((_, code)) = NAMED.iter().find(|(name, _)| *name == word) {
        return Some(*code);
    }
    let number: u8 = word.strip_prefix('F')?.parse().ok()?;
    (1..=24).contains(&number).then_some(KeyCode::F(number))
}

#[cfg(test)]
mod tests {
    use super::{KeyInput, parse};
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    #[test]
    fn names_are_keys_and_the_rest_is_text() {
        let words: Vec<String> = ["ls -la", "Enter", "C-c", "M-Left", "F5", "é", "C-"].map(str::to_owned).to_vec();
        let key = |code, modifiers| KeyInput::Key(KeyEvent::new(code, modifiers));
        let none = KeyModifiers::NONE;
        assert_eq!(
            parse(&words, false).unwrap(),
            [
                KeyInput::Text("ls -la".to_owned()),
                key(KeyCode::Enter, none),
                key(KeyCode::Char('c'), KeyModifiers::CONTROL),
                key(KeyCode::Left, KeyModifiers::ALT),
                key(KeyCode::F(5), none),
                KeyInput::Text("é".to_owned()),
                KeyInput::Text("C-".to_owned()),
            ]
        );
        assert_eq!(parse(&["Enter".to_owned()], true).unwrap(), [KeyInput::Text("Enter".to_owned())]);
        assert!(parse(&["C-Entr".to_owned()], false).unwrap_err().hint.contains("`Enter`"));
    }
}
