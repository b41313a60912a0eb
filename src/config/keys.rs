//! Keys as people write them: `ctrl+b`, `C-b`, `alt+left`, `%`, `space`, `f5`.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::fmt;
use std::str::FromStr;

/// A key with its modifiers, in one spelling: a capital letter carries no Shift, Ctrl letters are small.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KeyPress {
    /// The key.
    pub code: KeyCode,
    /// Ctrl, Alt, and Shift where it is not part of the character.
    pub mods: KeyModifiers,
}

/// Why a text is no key.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}` is not a key: {why}")]
pub struct KeySyntaxError {
    /// What was written.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

impl KeyPress {
    /// Brings a key and modifiers into the one spelling.
    ///
    /// Terminals disagree about Shift: most send `%` without it, those with the kitty protocol send it along.
    #[must_use]
    pub fn new(code: KeyCode, mods: KeyModifiers) -> Self {
        let mut mods = mods & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        let code = match code {
            KeyCode::Char(c) => {
                let shifted = mods.contains(KeyModifiers::SHIFT);
                mods.remove(KeyModifiers::SHIFT);
                if mods.contains(KeyModifiers::CONTROL) {
                    KeyCode::Char(c.to_ascii_lowercase())
                } else if shifted {
                    KeyCode::Char(c.to_uppercase().next().unwrap_or(c))
                } else {
                    KeyCode::Char(c)
                }
            }
            KeyCode::BackTab => {
                mods.insert(KeyModifiers::SHIFT);
                KeyCode::Tab
            }
            other => other,
        };
        Self { code, mods }
    }

    /// The key of a terminal event.
    #[must_use]
    pub fn of(event: &KeyEvent) -> Self {
        Self::new(event.code, event.modifiers)
    }

    /// A plain character.
    #[must_use]
    pub fn char(c: char) -> Self {
        Self::new(KeyCode::Char(c), KeyModifiers::NONE)
    }

    /// As a terminal event, for example to type the leader itself.
    #[must_use]
    pub fn event(self) -> KeyEvent {
        KeyEvent::new(self.code, self.mods)
    }
}

/// Names of keys that are no characters. The first name of a key is the one shown.
const NAMED: &[(&str, KeyCode)] = &[
    ("space", KeyCode::Char(' ')),
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("escape", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("del", KeyCode::Delete),
    ("delete", KeyCode::Delete),
    ("ins", KeyCode::Insert),
    ("insert", KeyCode::Insert),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pageup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("pagedown", KeyCode::PageDown),
    ("plus", KeyCode::Char('+')),
    ("minus", KeyCode::Char('-')),
];

/// One modifier at the front of a text, and the rest.
fn modifier(text: &str) -> Option<(KeyModifiers, &str)> {
    const NAMES: &[(&str, KeyModifiers)] = &[
        ("ctrl", KeyModifiers::CONTROL),
        ("control", KeyModifiers::CONTROL),
        ("c", KeyModifiers::CONTROL),
        ("alt", KeyModifiers::ALT),
        ("m", KeyModifiers::ALT),
        ("shift", KeyModifiers::SHIFT),
        ("s", KeyModifiers::SHIFT),
    ];
    let at = text.find(['+', '-'])?;
    let (name, rest) = text.split_at(at);
    let rest = &rest[1..];
    if rest.is_empty() {
        return None;
    }
    NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, m)| (*m, rest))
}

impl FromStr for KeyPress {
    type Err = KeySyntaxError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |why: &str| KeySyntaxError { text: text.to_owned(), why: why.to_owned() };
        let mut mods = KeyModifiers::NONE;
        let mut rest = text;
        while let Some((m, tail)) = modifier(rest) {
            mods |= m;
            rest = tail;
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (None, _) => return Err(fail("it is empty; write for example `ctrl+b`")),
            (Some(c), None) if !c.is_control() => KeyCode::Char(c),
            _ => {
                let lower = rest.to_ascii_lowercase();
                let named = NAMED.iter().find(|(n, _)| *n == lower).map(|(_, c)| *c);
                let function = || lower.strip_prefix('f')?.parse::<u8>().ok().filter(|n| (1..=24).contains(n));
                match named.or_else(|| function().map(KeyCode::F)) {
                    Some(code) => code,
                    None => {
                        return Err(fail(
                            "write a character, or a name such as `enter`, `space`, `left`, `f5`, \
                        with `ctrl+`, `alt+` or `shift+` before it",
                        ));
                    }
                }
            }
        };
        Ok(Self::new(code, mods))
    }
}

impl fmt::Display for KeyPress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (m, name) in
            [(KeyModifiers::CONTROL, "Ctrl+"), (KeyModifiers::ALT, "Alt+"), (KeyModifiers::SHIFT, "Shift+")]
        {
            if self.mods.contains(m) {
                f.write_str(name)?;
            }
        }
        match self.code {
            KeyCode::Char(' ') => f.write_str("Space"),
            // As keyboards are labelled; without Ctrl a small letter is another key than the capital.
            KeyCode::Char(c) if self.mods.contains(KeyModifiers::CONTROL) && !self.mods.contains(KeyModifiers::ALT) => {
                write!(f, "{}", c.to_ascii_uppercase())
            }
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::Left => f.write_str("←"),
            KeyCode::Right => f.write_str("→"),
            KeyCode::Up => f.write_str("↑"),
            KeyCode::Down => f.write_str("↓"),
            KeyCode::F(n) => write!(f, "F{n}"),
            code => match NAMED.iter().find(|(_, c)| *c == code) {
                Some((name, _)) => {
                    let mut chars = name.chars();
                    let first = chars.next().unwrap_or(' ').to_ascii_uppercase();
                    write!(f, "{first}{}", chars.as_str())
                }
                None => write!(f, "{code:?}"),
            },
        }
    }
}
