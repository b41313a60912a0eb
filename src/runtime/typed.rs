//! The bytes that a terminal sends, cut into keys, mouse events, pastes and answers.
//!
//! Cutting is done here, because only whoever asked knows whether `ESC ]` begins an answer or is Alt+]; what a piece means
//! says a library. A piece that means nothing is dropped, and nothing after it.

use crate::app::TerminalAnswer;
use crate::term::rgb;
use crossterm::event::{
    Event as TermEvent, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use std::ops::ControlFlow;

/// A control sequence or an answer that is longer is none.
const LONGEST: usize = 4096;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What came from the outer terminal.
#[derive(Clone, PartialEq, Debug)]
pub enum Typed {
    /// Somebody did something there.
    Event(TermEvent),
    /// It answered; `None` where that tells nothing.
    Answer(Option<TerminalAnswer>),
}

/// What the bytes so far end with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// A whole piece.
    Nothing,
    /// ESC, which is a key or begins something.
    Escape,
    /// The beginning of a piece.
    Part,
    /// The beginning of an answer.
    Answer,
    /// The beginning of a paste, which may take as long as it likes.
    Paste,
}

/// What asks for a terminal's colours, and with `depth` whether it shows 24 bits of them: what it was given as a background
/// is asked for again. With the number of answers. To be written where what it may show of that is cleared away.
#[must_use]
pub fn questions(depth: bool) -> (String, usize) {
    let colours = "\x1b]10;?\x1b\\\x1b]11;?\x1b\\";
    if depth { (format!("{colours}\x1b[48;2;1;2;3m\x1bP$qm\x1b\\\x1b[m"), 3) } else { (colours.to_owned(), 2) }
}

/// Bytes that wait to be cut.
#[derive(Debug, Default)]
pub struct Typing {
    bytes: Vec<u8>,
    /// Where the end of a paste is looked for next.
    looked: usize,
    parser: termina::Parser,
}

impl Typing {
    /// Adds what was read.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes all whole pieces. While answers are `asked` for, strings are such. With `last`, nothing more comes at once:
    /// then what is no whole piece was typed key by key.
    pub fn take(&mut self, mut asked: impl FnMut() -> bool, last: bool, out: &mut Vec<Typed>) {
        let mut from = 0;
        while from < self.bytes.len() {
            let rest = &self.bytes[from..];
            if rest.starts_with(PASTE_BEGINS) {
                let begin = self.looked.max(PASTE_BEGINS.len());
                let Some(end) = find(&rest[begin..], PASTE_ENDS).map(|at| begin + at) else {
                    self.looked = rest.len().saturating_sub(PASTE_ENDS.len());
                    break;
                };
                let text = String::from_utf8_lossy(&rest[PASTE_BEGINS.len()..end]).into_owned();
                out.push(Typed::Event(TermEvent::Paste(text)));
                (from, self.looked) = (from + end + PASTE_ENDS.len(), 0);
                continue;
            }
            let Some(length) = piece(rest, asked(), last) else { break };
            let piece = &rest[..length];
            if length > 2 && is_string(piece) {
                out.push(Typed::Answer(answer(piece)));
            } else if let Some(event) = alt(piece).or_else(|| meaning(&mut self.parser, piece)) {
                out.push(Typed::Event(event));
            }
            from += length;
        }
        self.bytes.drain(..from);
    }

    /// What is left.
    #[must_use]
    pub fn rest(&self) -> Rest {
        match self.bytes.as_slice() {
            [] => Rest::Nothing,
            [0x1b] => Rest::Escape,
            bytes if bytes.starts_with(PASTE_BEGINS) => Rest::Paste,
            bytes if is_string(bytes) && bytes.len() > 2 => Rest::Answer,
            _ => Rest::Part,
        }
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}

fn is_string(bytes: &[u8]) -> bool {
    matches!(bytes, [0x1b, b']' | b'P', ..])
}

/// The length of the first piece; `None` while it is not whole.
fn piece(bytes: &[u8], asked: bool, last: bool) -> Option<usize> {
    let whole = match bytes {
        [0x1b] => None,
        // Only one of them belongs to what follows.
        [0x1b, 0x1b, ..] => Some(1),
        [0x1b, b'[', ..] => sequence(bytes),
        [0x1b, b'O', ..] => (bytes.len() > 2).then_some(3),
        [0x1b, b']' | b'P', ..] if asked => match string(bytes) {
            ControlFlow::Break(length) => Some(length),
            ControlFlow::Continue(()) => None,
        },
        [0x1b, after @ ..] => character(after).map(|length| 1 + length),
        _ => character(bytes),
    };
    match (whole, last) {
        (None, true) if bytes.len() > 1 && bytes[0] == 0x1b => Some(2),
        (None, true) => Some(1),
        (whole, _) => whole,
    }
}

/// The length of what begins with CSI (ECMA-48, 5.4). One that is broken off ends before what breaks it off.
fn sequence(bytes: &[u8]) -> Option<usize> {
    match bytes.get(2)? {
        // A function key of the Linux console.
        b'[' => (bytes.len() > 3).then_some(4),
        // The mouse, as old terminals tell of it.
        b'M' => (bytes.len() > 5).then_some(6),
        _ => {
            let at = bytes.iter().skip(2).position(|byte| !(0x20..=0x3f).contains(byte));
            match at.map(|at| at + 2) {
                Some(at) => Some(at + usize::from((0x40..=0x7e).contains(&bytes[at]))),
                None => (bytes.len() > LONGEST).then_some(bytes.len()),
            }
        }
    }
}

/// The length of a control string that is whole, or that of its introducer where it is none.
fn string(bytes: &[u8]) -> ControlFlow<usize> {
    let may_begin = |wanted: &[u8]| bytes.starts_with(wanted) || wanted.starts_with(bytes);
    if ![&b"\x1b]10;"[..], b"\x1b]11;", b"\x1bP0$r", b"\x1bP1$r"].into_iter().any(may_begin) || bytes.len() > LONGEST {
        return ControlFlow::Break(2);
    }
    match bytes.iter().skip(2).position(|byte| *byte < 0x20).map(|at| at + 2) {
        Some(at) if bytes[at] == 0x07 => ControlFlow::Break(at + 1),
        Some(at) if bytes[at..].starts_with(b"\x1b\\") => ControlFlow::Break(at + 2),
        Some(at) if bytes[at..] == [0x1b] => ControlFlow::Continue(()),
        Some(_) => ControlFlow::Break(2),
        None => ControlFlow::Continue(()),
    }
}

/// The length of a character in UTF-8; of what is none, a byte.
fn character(bytes: &[u8]) -> Option<usize> {
    let length = match bytes.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some(1),
    };
    let follows = bytes.iter().skip(1).take(length - 1).take_while(|byte| (0x80..=0xbf).contains(*byte)).count();
    match () {
        () if follows == length - 1 => Some(length),
        () if bytes.len() > 1 + follows => Some(1),
        () => None,
    }
}

/// Alt with what would begin something else.
fn alt(piece: &[u8]) -> Option<TermEvent> {
    let [0x1b, key @ (b'[' | b']' | b'O' | b'P')] = piece else { return None };
    let shift = if key.is_ascii_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
    Some(TermEvent::Key(KeyEvent::new(KeyCode::Char(char::from(*key)), KeyModifiers::ALT | shift)))
}

fn answer(piece: &[u8]) -> Option<TerminalAnswer> {
    let text = std::str::from_utf8(piece).ok()?;
    let text = text.strip_suffix('\x07').or_else(|| text.strip_suffix("\x1b\\"))?;
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

/// What the library takes a piece for.
fn meaning(parser: &mut termina::Parser, piece: &[u8]) -> Option<TermEvent> {
    parser.parse(piece, false);
    let (event, more) = (parser.pop(), parser.pop());
    let Some(event) = event.filter(|_| more.is_none()) else {
        // It waits for more, or took what it does not know for several keys.
        *parser = termina::Parser::default();
        return None;
    };
    match event {
        termina::Event::Key(key) => Some(TermEvent::Key(KeyEvent {
            code: code(key.code)?,
            modifiers: modifiers(key.modifiers),
            kind: match key.kind {
                termina::event::KeyEventKind::Press => KeyEventKind::Press,
                termina::event::KeyEventKind::Repeat => KeyEventKind::Repeat,
                termina::event::KeyEventKind::Release => KeyEventKind::Release,
            },
            state: crossterm::event::KeyEventState::NONE,
        })),
        termina::Event::Mouse(mouse) => Some(TermEvent::Mouse(MouseEvent {
            kind: mouse_kind(mouse.kind),
            column: mouse.column,
            row: mouse.row,
            modifiers: modifiers(mouse.modifiers),
        })),
        termina::Event::FocusIn => Some(TermEvent::FocusGained),
        termina::Event::FocusOut => Some(TermEvent::FocusLost),
        _ => None,
    }
}

fn code(code: termina::event::KeyCode) -> Option<KeyCode> {
    use termina::event::KeyCode as From;
    Some(match code {
        From::Char(c) => KeyCode::Char(c),
        From::Enter => KeyCode::Enter,
        From::Backspace => KeyCode::Backspace,
        From::Tab => KeyCode::Tab,
        From::Escape => KeyCode::Esc,
        From::Left => KeyCode::Left,
        From::Right => KeyCode::Right,
        From::Up => KeyCode::Up,
        From::Down => KeyCode::Down,
        From::Home => KeyCode::Home,
        From::End => KeyCode::End,
        From::BackTab => KeyCode::BackTab,
        From::PageUp => KeyCode::PageUp,
        From::PageDown => KeyCode::PageDown,
        From::Insert => KeyCode::Insert,
        From::Delete => KeyCode::Delete,
        From::KeypadBegin => KeyCode::KeypadBegin,
        From::CapsLock => KeyCode::CapsLock,
        From::ScrollLock => KeyCode::ScrollLock,
        From::NumLock => KeyCode::NumLock,
        From::PrintScreen => KeyCode::PrintScreen,
        From::Pause => KeyCode::Pause,
        From::Menu => KeyCode::Menu,
        From::Null => KeyCode::Null,
        From::Function(n) => KeyCode::F(n),
        // Nobody binds them, and no program is told of them.
        From::Modifier(_) | From::Media(_) => return None,
    })
}

fn modifiers(modifiers: termina::event::Modifiers) -> KeyModifiers {
    use termina::event::Modifiers as From;
    let all = [
        (From::SHIFT, KeyModifiers::SHIFT),
        (From::ALT, KeyModifiers::ALT),
        (From::CONTROL, KeyModifiers::CONTROL),
        (From::SUPER, KeyModifiers::SUPER),
        (From::HYPER, KeyModifiers::HYPER),
        (From::META, KeyModifiers::META),
    ];
    all.into_iter().filter(|(from, _)| modifiers.contains(*from)).map(|(_, to)| to).collect()
}

fn mouse_kind(kind: termina::event::MouseEventKind) -> MouseEventKind {
    use termina::event::MouseEventKind as From;
    let button = |button| match button {
        termina::event::MouseButton::Left => MouseButton::Left,
        termina::event::MouseButton::Right => MouseButton::Right,
        termina::event::MouseButton::Middle => MouseButton::Middle,
    };
    match kind {
        From::Down(which) => MouseEventKind::Down(button(which)),
        From::Up(which) => MouseEventKind::Up(button(which)),
        From::Drag(which) => MouseEventKind::Drag(button(which)),
        From::Moved => MouseEventKind::Moved,
        From::ScrollDown => MouseEventKind::ScrollDown,
        From::ScrollUp => MouseEventKind::ScrollUp,
        From::ScrollLeft => MouseEventKind::ScrollLeft,
        From::ScrollRight => MouseEventKind::ScrollRight,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERS: [(&str, Option<TerminalAnswer>); 7] = [
        ("\x1b]11;rgb:1e1e/2020/FFFF\x1b\\", Some(TerminalAnswer::Background((0x1e, 0x20, 0xff)))),
        ("\x1b]10;rgb:ff/ff/ff\x07", Some(TerminalAnswer::Foreground((255, 255, 255)))),
        ("\x1b]11;rgba:0000/0000/0000/8000\x1b\\", Some(TerminalAnswer::Background((0, 0, 0)))),
        ("\x1bP1$r0;48:2::1:2:3m\x1b\\", Some(TerminalAnswer::TrueColour)),
        ("\x1bP1$r48;2;1;2;3m\x1b\\", Some(TerminalAnswer::TrueColour)),
        ("\x1bP1$r0;48;5;16m\x1b\\", None),
        ("\x1bP0$r\x1b\\", None),
    ];

    fn press(code: KeyCode, modifiers: KeyModifiers) -> Typed {
        Typed::Event(TermEvent::Key(KeyEvent::new(code, modifiers)))
    }

    fn key(code: KeyCode) -> Typed {
        press(code, KeyModifiers::NONE)
    }

    fn keys(text: &str) -> Vec<Typed> {
        let shift = |c: char| if c.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
        text.chars().map(|c| press(KeyCode::Char(c), shift(c))).collect()
    }

    /// What comes out when the bytes come in these pieces, and nothing after them.
    fn read(pieces: &[&[u8]], asked: bool) -> Vec<Typed> {
        let (mut typing, mut out) = (Typing::default(), Vec::new());
        for piece in pieces {
            typing.add(piece);
            typing.take(|| asked, false, &mut out);
        }
        typing.take(|| asked, true, &mut out);
        assert!(matches!(typing.rest(), Rest::Nothing | Rest::Paste));
        out
    }

    #[test]
    fn answers_are_taken_out_wherever_they_are_split_and_what_is_typed_around_them_stays() {
        for (text, answer) in ANSWERS {
            let whole = format!("a{text}b");
            let mut wanted = keys("a");
            wanted.push(Typed::Answer(answer));
            wanted.extend(keys("b"));
            // An ESC alone is a key at once.
            for at in (0..whole.len()).filter(|at| *at != 2) {
                let (first, second) = whole.as_bytes().split_at(at);
                assert_eq!(read(&[first, second], true), wanted, "{whole:?} at {at}");
            }
            let after_escape = read(&[b"\x1b", text.as_bytes()], true);
            assert_eq!(after_escape, [key(KeyCode::Esc), Typed::Answer(answer)], "{text:?} after a key");
        }
    }

    #[test]
    fn what_nobody_asked_for_was_typed() {
        let alt = |c| press(KeyCode::Char(c), KeyModifiers::ALT);
        let mut wanted = vec![alt(']')];
        wanted.extend(keys("10;ls"));
        wanted.push(press(KeyCode::Char('g'), KeyModifiers::CONTROL));
        assert_eq!(read(&[b"\x1b]10;ls\x07"], false), wanted);
        for begun in ["\x1b]", "\x1b]1", "\x1b]2;title", "\x1b]11;rgb\x1b[A", "\x1b]11;rgb"] {
            assert_eq!(read(&[begun.as_bytes()], true)[0], alt(']'), "{begun:?}");
        }
        let shifted = KeyModifiers::ALT | KeyModifiers::SHIFT;
        assert_eq!(read(&[b"\x1bPx"], true), [press(KeyCode::Char('P'), shifted), keys("x").remove(0)]);
        assert_eq!(read(&[b"\x1bO"], true), [press(KeyCode::Char('O'), shifted)]);
        assert_eq!(read(&[b"\x1b["], true), [alt('[')]);
    }

    #[test]
    fn a_report_that_nobody_knows_takes_nothing_with_it() {
        for report in
            ["\x1b[?997;1n", "\x1b[?2026;2$y", "\x1b[?13n", "\x1b[>1;400;0c", "\x1b[1;2;3;4;5z", "\x1b[?9\x18"]
        {
            let out = read(&[format!("a{report}hello c").as_bytes()], false);
            let typed: Vec<_> = out.into_iter().filter(|one| keys("ahelo c").contains(one)).collect();
            assert_eq!(typed, keys("ahello c"), "{report:?}");
        }
    }

    #[test]
    fn keys_come_in_any_pieces() {
        let bytes = "\x1b\x1b[A\x1b[1;5C\x1bOPé日🚀\x1b[97;5u\x1b[Z\x1b[200~paste\x1b[A\x07\x1b[201~\x1b[<0;5;6M\x1b[I\x01\x7f\r".as_bytes();
        let mouse = MouseEvent {
            kind: MouseEventKind::Down(MouseButton::Left),
            column: 4,
            row: 5,
            modifiers: KeyModifiers::NONE,
        };
        let mut wanted =
            vec![key(KeyCode::Esc), key(KeyCode::Up), press(KeyCode::Right, KeyModifiers::CONTROL), key(KeyCode::F(1))];
        wanted.extend(keys("é日🚀"));
        wanted.extend([
            press(KeyCode::Char('a'), KeyModifiers::CONTROL),
            press(KeyCode::BackTab, KeyModifiers::SHIFT),
            Typed::Event(TermEvent::Paste("paste\x1b[A\x07".to_owned())),
            Typed::Event(TermEvent::Mouse(mouse)),
            Typed::Event(TermEvent::FocusGained),
            press(KeyCode::Char('a'), KeyModifiers::CONTROL),
            key(KeyCode::Backspace),
            key(KeyCode::Enter),
        ]);
        assert_eq!(read(&[bytes], false), wanted);
        for size in 1..9 {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            assert_eq!(read(&pieces, false), wanted, "{size} bytes at a time");
        }
    }

    #[test]
    fn any_bytes_come_to_an_end_and_text_among_them_stays() {
        let mut state = 7_u32;
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..40)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b"\x1b[]OP?>;$<~mMuRcn0123456789ab\x07\\\x80\xc3\xff"[(state >> 16) as usize % 34]
                })
                .collect();
            let mut all = bytes.clone();
            // Whatever was begun is broken off.
            all.extend_from_slice(b"\x18\x18\x18\x18\x18\x18tail");
            let out = read(&[&all], state.is_multiple_of(2));
            assert!(out.ends_with(&keys("tail")), "{:?}: {out:?}", String::from_utf8_lossy(&bytes));
        }
    }
}
