//! Keys → bytes for the program, under the modes it switched on.
//!
//! Three encodings: xterm's legacy one, xterm's modifyOtherKeys on top of it, and the kitty keyboard protocol
//! (<https://sw.kovidgoyal.net/kitty/keyboard-protocol/>) once a program pushed flags.

use super::modes::{Kitty, Modes};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyEventState, KeyModifiers, MediaKeyCode, ModifierKeyCode};
use std::fmt::Write as _;

/// The bytes to write for a key event; empty when the program gets nothing (a release it did not ask for, a lone
/// modifier key).
#[must_use]
pub fn encode(key: &KeyEvent, modes: &Modes) -> Vec<u8> {
    let press = Press::new(key);
    if modes.kitty.0 == 0 {
        if key.kind == KeyEventKind::Release { Vec::new() } else { legacy(&press, modes) }
    } else {
        enhanced(&press, key.kind, modes)
    }
}

/// A key with its modifiers as the encodings want them.
struct Press {
    code: KeyCode,
    shift: bool,
    alt: bool,
    ctrl: bool,
    /// Modifiers as bits: shift 1, alt 2, ctrl 4, super 8, hyper 16, meta 32.
    bits: u8,
    keypad: bool,
}

impl Press {
    fn new(key: &KeyEvent) -> Self {
        // Shift+Tab has a code of its own.
        let back_tab = key.code == KeyCode::BackTab;
        let code = if back_tab { KeyCode::Tab } else { key.code };
        let has = |modifier| key.modifiers.contains(modifier);
        let (shift, alt, ctrl) =
            (has(KeyModifiers::SHIFT) || back_tab, has(KeyModifiers::ALT), has(KeyModifiers::CONTROL));
        let bits = u8::from(shift)
            | u8::from(alt) << 1
            | u8::from(ctrl) << 2
            | u8::from(has(KeyModifiers::SUPER)) << 3
            | u8::from(has(KeyModifiers::HYPER)) << 4
            | u8::from(has(KeyModifiers::META)) << 5;
        Self { code, shift, alt, ctrl, bits, keypad: key.state.contains(KeyEventState::KEYPAD) }
    }

    /// The modifier parameter of CSI sequences.
    fn parameter(&self) -> u8 {
        self.bits + 1
    }
}

/// How a key with a sequence of its own is written: the last byte and the number before it.
enum Form {
    /// `CSI X`, `SS3 X` or `CSI 1 ; modifiers X`.
    Letter(u8),
    /// `CSI n ~` or `CSI n ; modifiers ~`.
    Tilde(u8),
}

fn form(code: KeyCode) -> Option<Form> {
    Some(match code {
        KeyCode::Up => Form::Letter(b'A'),
        KeyCode::Down => Form::Letter(b'B'),
        KeyCode::Right => Form::Letter(b'C'),
        KeyCode::Left => Form::Letter(b'D'),
        KeyCode::KeypadBegin => Form::Letter(b'E'),
        KeyCode::End => Form::Letter(b'F'),
        KeyCode::Home => Form::Letter(b'H'),
        KeyCode::F(n @ 1..=4) => Form::Letter(b'P' + n - 1),
        KeyCode::Insert => Form::Tilde(2),
        KeyCode::Delete => Form::Tilde(3),
        KeyCode::PageUp => Form::Tilde(5),
        KeyCode::PageDown => Form::Tilde(6),
        KeyCode::F(5) => Form::Tilde(15),
        KeyCode::F(n @ 6..=10) => Form::Tilde(n + 11),
        KeyCode::F(n @ 11..=14) => Form::Tilde(n + 12),
        KeyCode::F(n @ 15..=16) => Form::Tilde(n + 13),
        KeyCode::F(n @ 17..=20) => Form::Tilde(n + 14),
        KeyCode::Menu => Form::Tilde(29),
        _ => return None,
    })
}

fn legacy(press: &Press, modes: &Modes) -> Vec<u8> {
    let mut out = Vec::new();
    if press.keypad
        && modes.app_keypad
        && press.bits == 0
        && let Some(byte) = application_keypad(press.code)
    {
        return vec![0x1b, b'O', byte];
    }
    if let Some(form) = form(press.code) {
        match form {
            Form::Letter(byte) if press.bits == 0 => {
                // F1 to F4 are SS3 in every mode, the cursor keys in theirs.
                let ss3 = modes.app_cursor || matches!(press.code, KeyCode::F(_));
                out.extend([0x1b, if ss3 { b'O' } else { b'[' }, byte]);
            }
            form => write_form(&mut out, &form, Some(press.parameter()), ""),
        }
        return out;
    }
    if let Some(code) = other_key(press, modes.modify_other_keys) {
        return format!("\x1b[27;{};{code}~", press.parameter()).into_bytes();
    }
    match press.code {
        KeyCode::Tab if press.shift => out.extend(b"\x1b[Z"),
        KeyCode::Enter if modes.newline => out.extend(b"\r\n"),
        KeyCode::Enter => out.push(b'\r'),
        KeyCode::Tab => out.push(b'\t'),
        KeyCode::Backspace => out.push(if press.ctrl == modes.backarrow { 0x7f } else { 0x08 }),
        KeyCode::Esc => out.push(0x1b),
        KeyCode::Null => out.push(0),
        KeyCode::Char(c) => match control_byte(c).filter(|_| press.ctrl) {
            Some(byte) => out.push(byte),
            None => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        },
        _ => {}
    }
    if press.alt && !out.is_empty() {
        out.insert(0, 0x1b);
    }
    out
}

/// The control character of Ctrl with a key, after xterm.
fn control_byte(c: char) -> Option<u8> {
    Some(match c {
        'a'..='z' | 'A'..='Z' | '[' | '\\' | ']' | '^' | '_' | '@' => c as u8 & 0x1f,
        ' ' | '2' | '`' => 0,
        '3'..='7' => c as u8 - b'3' + 0x1b,
        '/' | '-' => 0x1f,
        '8' | '?' => 0x7f,
        _ => return None,
    })
}

fn application_keypad(code: KeyCode) -> Option<u8> {
    Some(match code {
        KeyCode::Char(c @ '0'..='9') => b'p' + (c as u8 - b'0'),
        KeyCode::Char(c @ ('*' | '+' | ',' | '-' | '.' | '/')) => c as u8 - b'*' + b'j',
        KeyCode::Char('=') => b'X',
        KeyCode::Enter => b'M',
        _ => return None,
    })
}

/// The code that modifyOtherKeys reports for a key that the legacy encoding would make ambiguous.
fn other_key(press: &Press, level: u8) -> Option<u32> {
    if level == 0 || press.bits == 0 {
        return None;
    }
    let code = match press.code {
        KeyCode::Enter => 13,
        // Shift+Tab is well known.
        KeyCode::Tab if press.bits == 1 => return None,
        KeyCode::Tab => 9,
        KeyCode::Backspace if level < 2 => return None,
        KeyCode::Backspace => 127,
        KeyCode::Esc if level >= 2 => 27,
        // Text needs no report, and at level 1 neither do the well-known control characters.
        KeyCode::Char(_) if press.bits == 1 => return None,
        KeyCode::Char(c) if level < 2 && (!press.ctrl || control_byte(c).is_some()) => return None,
        KeyCode::Char(c) => u32::from(c),
        _ => return None,
    };
    Some(code)
}

fn write_form(out: &mut Vec<u8>, form: &Form, modifiers: Option<u8>, event: &str) {
    let (number, last) = match form {
        Form::Letter(byte) => (1, *byte),
        Form::Tilde(n) => (*n, b'~'),
    };
    let tilde = last == b'~';
    let plain = modifiers.is_none_or(|m| m == 1) && event.is_empty();
    let mut text = String::from("\x1b[");
    if tilde || !plain {
        let _ = write!(text, "{number}");
    }
    if !plain {
        let _ = write!(text, ";{}{event}", modifiers.unwrap_or(1));
    }
    out.extend(text.bytes());
    out.push(last);
}

/// The kitty keyboard protocol.
fn enhanced(press: &Press, kind: KeyEventKind, modes: &Modes) -> Vec<u8> {
    let flags = modes.kitty;
    let all = flags.has(Kitty::ALL_KEYS);
    let event = match kind {
        KeyEventKind::Press => "",
        _ if !flags.has(Kitty::EVENT_TYPES) => {
            if kind == KeyEventKind::Release {
                return Vec::new();
            }
            ""
        }
        KeyEventKind::Repeat => ":2",
        KeyEventKind::Release => ":3",
    };
    let release = kind == KeyEventKind::Release;
    let text_key = match press.code {
        KeyCode::Char(c) => press.bits & !1 == 0 && !c.is_control(),
        // Kept as they are, so that a shell can be typed in after a program failed to pop its flags.
        KeyCode::Enter | KeyCode::Tab | KeyCode::Backspace => press.bits == 0 && !press.keypad,
        _ => false,
    };
    let disambiguate = flags.has(Kitty::DISAMBIGUATE) || all;
    if text_key && !all {
        return if release {
            Vec::new()
        } else {
            legacy(press, &Modes { kitty: Kitty(0), modify_other_keys: 0, ..*modes })
        };
    }
    let mut out = Vec::new();
    if !press.keypad
        && let Some(form) = form(press.code).filter(|_| !matches!(press.code, KeyCode::F(13..) | KeyCode::Menu))
    {
        // `CSI R` is an answer to a cursor query, so F3 has another form here.
        let form = if press.code == KeyCode::F(3) { Form::Tilde(13) } else { form };
        if modes.app_cursor && !disambiguate && event.is_empty() && press.bits == 0 {
            return legacy(press, modes);
        }
        write_form(&mut out, &form, Some(press.parameter()), event);
        return out;
    }
    if matches!(press.code, KeyCode::Modifier(_)) && !all {
        return out;
    }
    if !disambiguate && event.is_empty() {
        return legacy(press, modes);
    }
    let Some(code) = number(press) else { return out };
    let mut text = format!("\x1b[{code}");
    if flags.has(Kitty::ALTERNATE_KEYS)
        && let KeyCode::Char(c) = press.code
        && press.shift
        && u32::from(c) != code
    {
        let _ = write!(text, ":{}", u32::from(c));
    }
    let typed = match press.code {
        KeyCode::Char(c) if flags.has(Kitty::TEXT) && all && press.bits & !1 == 0 && !release => Some(c),
        _ => None,
    };
    if press.bits != 0 || !event.is_empty() {
        let _ = write!(text, ";{}{event}", press.parameter());
    } else if typed.is_some() {
        text.push(';');
    }
    if let Some(c) = typed {
        let _ = write!(text, ";{}", u32::from(c));
    }
    text.push('u');
    text.into_bytes()
}

/// The number of a key in the protocol's `CSI u` form: Unicode of the unshifted key, or from a private range.
fn number(press: &Press) -> Option<u32> {
    if press.keypad
        && let Some(number) = keypad_number(press.code)
    {
        return Some(number);
    }
    Some(match press.code {
        KeyCode::Char(c) => c.to_lowercase().next().map_or(u32::from(c), u32::from),
        KeyCode::Enter => 13,
        KeyCode::Tab => 9,
        KeyCode::Backspace => 127,
        KeyCode::Esc => 27,
        KeyCode::Null => 32,
        KeyCode::CapsLock => 57358,
        KeyCode::ScrollLock => 57359,
        KeyCode::NumLock => 57360,
        KeyCode::PrintScreen => 57361,
        KeyCode::Pause => 57362,
        KeyCode::Menu => 57363,
        KeyCode::F(n @ 13..=35) => 57376 + u32::from(n) - 13,
        KeyCode::Media(media) => 57428 + media_index(media),
        KeyCode::Modifier(modifier) => 57441 + modifier_index(modifier),
        _ => return None,
    })
}

fn keypad_number(code: KeyCode) -> Option<u32> {
    Some(match code {
        KeyCode::Char(c @ '0'..='9') => 57399 + (c as u32 - '0' as u32),
        KeyCode::Char('.') => 57409,
        KeyCode::Char('/') => 57410,
        KeyCode::Char('*') => 57411,
        KeyCode::Char('-') => 57412,
        KeyCode::Char('+') => 57413,
        KeyCode::Enter => 57414,
        KeyCode::Char('=') => 57415,
        KeyCode::Char(',') => 57416,
        KeyCode::Left => 57417,
        KeyCode::Right => 57418,
        KeyCode::Up => 57419,
        KeyCode::Down => 57420,
        KeyCode::PageUp => 57421,
        KeyCode::PageDown => 57422,
        KeyCode::Home => 57423,
        KeyCode::End => 57424,
        KeyCode::Insert => 57425,
        KeyCode::Delete => 57426,
        KeyCode::KeypadBegin => 57427,
        _ => return None,
    })
}

fn media_index(media: MediaKeyCode) -> u32 {
    match media {
        MediaKeyCode::Play => 0,
        MediaKeyCode::Pause => 1,
        MediaKeyCode::PlayPause => 2,
        MediaKeyCode::Reverse => 3,
        MediaKeyCode::Stop => 4,
        MediaKeyCode::FastForward => 5,
        MediaKeyCode::Rewind => 6,
        MediaKeyCode::TrackNext => 7,
        MediaKeyCode::TrackPrevious => 8,
        MediaKeyCode::Record => 9,
        MediaKeyCode::LowerVolume => 10,
        MediaKeyCode::RaiseVolume => 11,
        MediaKeyCode::MuteVolume => 12,
    }
}

fn modifier_index(modifier: ModifierKeyCode) -> u32 {
    match modifier {
        ModifierKeyCode::LeftShift => 0,
        ModifierKeyCode::LeftControl => 1,
        ModifierKeyCode::LeftAlt => 2,
        ModifierKeyCode::LeftSuper => 3,
        ModifierKeyCode::LeftHyper => 4,
        ModifierKeyCode::LeftMeta => 5,
        ModifierKeyCode::RightShift => 6,
        ModifierKeyCode::RightControl => 7,
        ModifierKeyCode::RightAlt => 8,
        ModifierKeyCode::RightSuper => 9,
        ModifierKeyCode::RightHyper => 10,
        ModifierKeyCode::RightMeta => 11,
        ModifierKeyCode::IsoLevel3Shift => 12,
        ModifierKeyCode::IsoLevel5Shift => 13,
    }
}
