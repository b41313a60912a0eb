//! Escape policy: what the control strings (OSC, DCS, APC, PM, SOS) in a program's output may do.
//!
//! The engine sees no control string unless it is on a short list and whole: a string that never ends costs no memory,
//! and nothing in one is ever echoed. Outside of strings the bytes pass untouched, in pieces as large as they came.

use super::event::{Blocked, PromptMark, ScreenEvent};
use super::screen::MAX_REQUEST;
use crate::domain::{Moment, Span};

/// Longest control string that is looked at; longer ones are dropped whole. Bytes.
pub const MAX_STRING: usize = 1 << 20;
/// How long the next byte of a control string may be awaited.
pub const MAX_PAUSE: Span = Span::seconds(2);
/// How long a control string may last in all. After either time it is void, and what comes then is output again: a
/// program that died within one must not take along what the next one prints.
pub const MAX_TIME: Span = Span::seconds(10);
/// Longest window title. Characters.
pub const MAX_TITLE: usize = 256;
/// Longest working directory. Bytes.
pub const MAX_CWD: usize = 4096;
/// Longest text of a notification. Characters.
pub const MAX_NOTIFICATION: usize = 512;
/// Longest address of a hyperlink with its parameters. Bytes.
pub const MAX_LINK: usize = 2083;

/// Shortest text that is worth a piece of its own. Bytes.
const MIN_TEXT: usize = 24;

/// U+FFFD, which stands for bytes that are no character.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;

/// What comes out of the guard, in order.
#[derive(Debug)]
pub enum Piece<'a> {
    /// Bytes for the engine.
    Bytes(&'a [u8]),
    /// Bytes for the engine that are plain text and control characters, outside of any escape sequence: it may take a
    /// shorter way for them. Short texts between escape sequences come as [`Piece::Bytes`].
    Text(&'a [u8]),
    /// A request for the caller.
    Event(ScreenEvent),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    /// Text and control characters.
    #[default]
    Ground,
    /// After an ESC that the engine has seen.
    Escape,
    /// Inside an escape sequence that is no control string: up to a byte from here on, to `~`.
    Sequence(u8),
    /// Inside a control string that the engine does not see: it still waits after its ESC.
    Body,
    /// After an ESC inside a control string.
    BodyEscape,
}

/// Watches one stream of output.
#[derive(Debug, Default)]
pub struct Guard {
    state: State,
    /// Whether the present string is an OSC or a DCS; others are swallowed.
    osc: bool,
    dcs: bool,
    /// What was kept of it, and how long it is.
    body: Vec<u8>,
    length: usize,
    /// When it began, and when its last bytes came.
    begun: Moment,
    heard: Moment,
    /// The beginning of a character whose rest has not come yet.
    partial: Vec<u8>,
    blocked: Blocked,
}

impl Guard {
    /// What was not let through so far.
    #[must_use]
    pub fn blocked(&self) -> Blocked {
        self.blocked
    }

    /// Takes in bytes as they came at that time and hands on what may pass.
    pub fn scan(&mut self, now: Moment, bytes: &[u8], mut out: impl FnMut(Piece<'_>)) {
        if !bytes.is_empty() {
            self.give_up(now, &mut out);
            self.heard = now;
        }
        let bytes = self.complete_character(bytes, &mut out);
        let mut start = 0;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                State::Ground => {
                    let text = memchr::memchr(ESC, &bytes[at..]);
                    let end = text.map_or(bytes.len(), |n| at + n);
                    if end - at >= MIN_TEXT {
                        if start < at {
                            out(Piece::Bytes(&bytes[start..at]));
                        }
                        match text {
                            Some(_) => out(Piece::Text(&bytes[at..end])),
                            None => self.pass_last(&bytes[at..], true, &mut out),
                        }
                        start = end;
                    }
                    at = end;
                    if text.is_some() {
                        at += 1;
                        self.state = State::Escape;
                    }
                }
                State::Escape => match byte {
                    b']' | b'P' | b'X' | b'^' | b'_' => {
                        if start < at {
                            out(Piece::Bytes(&bytes[start..at]));
                        }
                        self.state = State::Body;
                        self.begun = now;
                        self.osc = byte == b']';
                        self.dcs = byte == b'P';
                        at += 1;
                    }
                    // The engine carries out a control character here and still waits for the rest.
                    0x00..=0x17 | 0x19 | 0x1b..=0x1f | 0x7f.. => at += 1,
                    _ => {
                        self.state = match byte {
                            b'[' => State::Sequence(0x40),
                            b' '..=b'/' => State::Sequence(0x30),
                            _ => State::Ground,
                        };
                        at += 1;
                    }
                },
                State::Sequence(first) => {
                    // The common case in a stream of colours: sequences with little or no text in between. Wherever
                    // such a sequence ends, too little follows for a piece of its own.
                    let before = at;
                    while let Some(n) = memchr::memchr(ESC, &bytes[at..]).filter(|n| *n < MIN_TEXT) {
                        at += n + 1;
                        if bytes.get(at) != Some(&b'[') {
                            self.state = State::Escape;
                            break;
                        }
                        self.state = State::Sequence(0x40);
                        at += 1;
                    }
                    if at != before {
                        continue;
                    }
                    let ends = |b: &u8| (first..0x7f).contains(b) || matches!(*b, CAN | SUB | ESC);
                    match bytes[at..].iter().position(ends) {
                        None => at = bytes.len(),
                        Some(n) => {
                            self.state = if bytes[at + n] == ESC { State::Escape } else { State::Ground };
                            at += n + 1;
                        }
                    }
                }
                State::Body => {
                    let end = bytes[at..]
                        .iter()
                        .position(|b| matches!(*b, ESC | CAN | SUB) || (*b == BEL && self.osc))
                        .map_or(bytes.len(), |n| at + n);
                    self.keep(&bytes[at..end]);
                    at = end;
                    start = end;
                    if let Some(&byte) = bytes.get(end) {
                        at = end + 1;
                        start = at;
                        match byte {
                            ESC => self.state = State::BodyEscape,
                            BEL => self.finish(BEL, &mut out),
                            _ => self.abort(&mut out),
                        }
                    }
                }
                State::BodyEscape => {
                    if byte == b'\\' {
                        self.finish(ESC, &mut out);
                        at += 1;
                        start = at;
                    } else {
                        // Another sequence begins: the string is void, and the engine already waits after an ESC.
                        self.drop_body();
                        self.state = State::Escape;
                        start = at;
                    }
                }
            }
        }
        let passing = !matches!(self.state, State::Body | State::BodyEscape);
        if passing && start < bytes.len() {
            self.pass_last(&bytes[start..], false, &mut out);
        }
    }

    /// Passes the last piece of a feed on, but holds back the beginning of a character at its end.
    fn pass_last(&mut self, bytes: &[u8], is_text: bool, out: &mut impl FnMut(Piece<'_>)) {
        let (whole, partial) = split_partial(bytes);
        self.partial.extend_from_slice(partial);
        match split_partial(whole) {
            // Broken off by the one held back: the parser would hold this one back in turn.
            (clean, broken) if !partial.is_empty() && !broken.is_empty() => {
                out(Piece::Bytes(&[clean, REPLACEMENT].concat()));
            }
            _ => out(if is_text { Piece::Text(whole) } else { Piece::Bytes(whole) }),
        }
    }

    /// Passes the character on whose beginning was held back; the bytes after it. The parser never gets to see a
    /// character in two parts: it may lose what follows one (vte 0.15).
    fn complete_character<'a>(&mut self, bytes: &'a [u8], out: &mut impl FnMut(Piece<'_>)) -> &'a [u8] {
        if self.partial.is_empty() {
            return bytes;
        }
        let mut rest = bytes;
        while is_partial(&self.partial) {
            match rest.split_first() {
                Some((byte @ 0x80..0xc0, after)) => {
                    self.partial.push(*byte);
                    rest = after;
                }
                Some(_) => {
                    // Broken off: one replacement character, which is what the parser makes of it in one part.
                    self.partial.splice(.., REPLACEMENT.iter().copied());
                    break;
                }
                None => return rest,
            }
        }
        out(Piece::Bytes(&self.partial));
        self.partial.clear();
        rest
    }

    /// Ends a string whose end did not come in time.
    fn give_up(&mut self, now: Moment, out: &mut impl FnMut(Piece<'_>)) {
        let waits = matches!(self.state, State::Body | State::BodyEscape);
        if waits && (now.since(self.heard) > MAX_PAUSE || now.since(self.begun) > MAX_TIME) {
            self.blocked.strings += u64::from(self.length <= MAX_STRING);
            self.abort(out);
        }
    }

    fn keep(&mut self, part: &[u8]) {
        self.length = self.length.saturating_add(part.len());
        if self.length > MAX_STRING {
            self.body = Vec::new();
        } else if self.osc || (self.dcs && self.length <= MAX_REQUEST) {
            self.body.extend_from_slice(part);
        }
    }

    fn drop_body(&mut self) {
        self.blocked.strings += u64::from(self.length > MAX_STRING);
        self.length = 0;
        if self.body.capacity() > 64 * 1024 {
            self.body = Vec::new();
        }
        self.body.clear();
    }

    /// Ends the string without effect. `\` completes the ESC at which the engine waits to a string terminator.
    fn abort(&mut self, out: &mut impl FnMut(Piece<'_>)) {
        self.state = State::Ground;
        self.drop_body();
        out(Piece::Bytes(b"\\"));
    }

    /// Gives the string to the engine, whole and with its own end: an answer ends as the question did.
    fn hand_over(&mut self, introducer: u8, end: u8, out: &mut impl FnMut(Piece<'_>)) {
        self.body.insert(0, introducer);
        self.body.push(end);
        if end == ESC {
            self.body.push(b'\\');
        }
        out(Piece::Bytes(&self.body));
        self.state = State::Ground;
        self.drop_body();
    }

    /// The string ended with a BEL, or with an ESC and a backslash.
    fn finish(&mut self, end: u8, out: &mut impl FnMut(Piece<'_>)) {
        if self.osc && self.length <= MAX_STRING {
            let body = std::mem::take(&mut self.body);
            let verdict = judge(&body, &mut self.blocked);
            self.body = body;
            match verdict {
                Verdict::Swallow => {}
                Verdict::Event(event) => out(Piece::Event(event)),
                Verdict::CloseLink => {
                    self.body.clear();
                    self.body.extend_from_slice(b"8;;");
                    return self.hand_over(b']', end, out);
                }
                Verdict::Engine => return self.hand_over(b']', end, out),
            }
        }
        if self.dcs && self.length <= MAX_REQUEST && is_request(&self.body) {
            return self.hand_over(b'P', end, out);
        }
        self.abort(out);
    }
}

/// Whether a DCS only asks: for a setting (DECRQSS) or for capabilities (XTGETTCAP).
fn is_request(body: &[u8]) -> bool {
    (body.starts_with(b"$q") || body.starts_with(b"+q")) && body.iter().all(|byte| (0x20..0x7f).contains(byte))
}

/// Whether these bytes begin one UTF-8 character and do not finish it.
fn is_partial(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

/// Splits off the beginning of a character at the end.
fn split_partial(bytes: &[u8]) -> (&[u8], &[u8]) {
    let lead = bytes.iter().rev().take(3).position(|byte| !(0x80..0xc0).contains(byte));
    match lead.map(|n| bytes.split_at(bytes.len() - n - 1)) {
        Some((whole, partial)) if is_partial(partial) => (whole, partial),
        _ => (bytes, &[]),
    }
}

enum Verdict {
    Swallow,
    CloseLink,
    Engine,
    Event(ScreenEvent),
}

/// Decides about one whole OSC.
fn judge(body: &[u8], blocked: &mut Blocked) -> Verdict {
    let (code, rest) = match body.iter().position(|b| *b == b';') {
        Some(n) => (&body[..n], &body[n + 1..]),
        None => (body, &[][..]),
    };
    let text = || String::from_utf8_lossy(rest);
    let event = |event: Option<ScreenEvent>| event.map_or(Verdict::Swallow, Verdict::Event);
    match code {
        b"0" | b"2" => Verdict::Event(ScreenEvent::Title(sanitise(&text(), MAX_TITLE))),
        b"7" => event(file_path(rest).map(ScreenEvent::Cwd)),
        b"8" if body.len() > MAX_LINK => {
            blocked.links += 1;
            // The link that was open ends here: text after this must not point to the former address.
            Verdict::CloseLink
        }
        b"4" | b"8" | b"10" | b"11" | b"12" | b"104" | b"110" | b"111" | b"112" => Verdict::Engine,
        // `9;4;…` reports progress (ConEmu), everything else is a message (iTerm2).
        b"9" if rest.starts_with(b"4;") => Verdict::Swallow,
        b"9" => event(notification(&text())),
        b"777" => event(text().strip_prefix("notify;").and_then(|t| notification(&t.replacen(';', ": ", 1)))),
        b"52" => clipboard(rest, blocked),
        b"133" => event(prompt_mark(rest).map(ScreenEvent::Prompt)),
        _ => Verdict::Swallow,
    }
}

fn notification(text: &str) -> Option<ScreenEvent> {
    let text = sanitise(text, MAX_NOTIFICATION);
    (!text.is_empty()).then_some(ScreenEvent::Notification(text))
}

fn prompt_mark(rest: &[u8]) -> Option<PromptMark> {
    let mut parts = rest.split(|b| *b == b';');
    match parts.next()? {
        b"A" => Some(PromptMark::Prompt),
        b"B" => Some(PromptMark::Input),
        b"C" => Some(PromptMark::Output),
        b"D" => Some(PromptMark::Done(parts.next().and_then(|n| std::str::from_utf8(n).ok()?.parse().ok()))),
        _ => None,
    }
}

fn clipboard(rest: &[u8], blocked: &mut Blocked) -> Verdict {
    let data = rest.iter().position(|b| *b == b';').map(|n| &rest[n + 1..]);
    if data.is_some_and(|d| d.first() == Some(&b'?')) {
        blocked.clipboard_reads += 1;
        return Verdict::Swallow;
    }
    match data.and_then(base64).and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(text) if !text.is_empty() => Verdict::Event(ScreenEvent::Clipboard(text)),
        _ => {
            blocked.clipboard_writes += 1;
            Verdict::Swallow
        }
    }
}

/// Decodes RFC 4648 base64, padded or not; `None` when it is malformed.
fn base64(data: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(data.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0u32, 0);
    let data = data.strip_suffix(b"==").or_else(|| data.strip_suffix(b"=")).unwrap_or(data);
    for byte in data {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    (count < 6).then_some(out)
}

/// The path of `file://host/path` with its percent escapes resolved; `None` unless it is a clean absolute path.
fn file_path(url: &[u8]) -> Option<String> {
    let rest = url.strip_prefix(b"file://")?;
    let path = &rest[rest.iter().position(|b| *b == b'/')?..];
    let mut out = Vec::with_capacity(path.len());
    let mut at = 0;
    while let Some(&byte) = path.get(at) {
        let hex = |n: usize| path.get(at + n).and_then(|b| (*b as char).to_digit(16));
        match (byte, hex(1), hex(2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    let path = String::from_utf8(out).ok()?;
    (path.len() <= MAX_CWD && !path.chars().any(is_unsafe)).then_some(path)
}

/// Text from a program, fit for our own frame: no control characters, nothing that reorders or hides text, one line,
/// at most `limit` characters.
#[must_use]
pub fn sanitise(text: &str, limit: usize) -> String {
    let clean: String = text.chars().filter(|c| !is_unsafe(*c)).take(limit).collect();
    clean.trim().to_owned()
}

/// Marks that turn the direction of writing: text of a sandbox could look like another, or shift our own.
#[must_use]
pub fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Control characters, line and paragraph separators, and the invisible characters that reorder or hide text.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || turns(c)
        || matches!(c, '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
