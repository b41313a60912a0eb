//! Output of the agents' commands: bounded for each command, with its beginning and its end, as plain lines.

use super::msg::Stream;
use crate::domain::CallId;
use std::collections::{BTreeMap, VecDeque};

/// Longest line kept, in bytes; more of it is cut.
const LONGEST_LINE: usize = 4096;

/// Output by command.
#[derive(Default)]
pub struct Feeds {
    calls: BTreeMap<CallId, CallOutput>,
    /// Commands in the order of their first output.
    order: VecDeque<CallId>,
    bytes: usize,
}

/// How much output is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes for one command.
    pub call: usize,
    /// Bytes for all commands together; the oldest lose their output first.
    pub all: usize,
}

/// Output of one command.
#[derive(Default, Debug)]
pub struct CallOutput {
    head: Vec<OutputLine>,
    tail: VecDeque<OutputLine>,
    head_bytes: usize,
    tail_bytes: usize,
    /// Lines between head and tail that were not kept.
    dropped: usize,
    partial: [Partial; 2],
}

/// One line of output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputLine {
    /// Text without controls.
    pub text: String,
    /// From standard error.
    pub error: bool,
}

/// A line that has no end yet.
#[derive(Default, Debug)]
struct Partial {
    bytes: Vec<u8>,
    skip: Skip,
}

/// Inside which control sequence the bytes stopped.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Skip {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// In a control sequence, until its final byte.
    Csi,
    /// In a control string, until BEL or ST.
    String,
    /// In a control string, after ESC.
    StringEscape,
}

impl Feeds {
    /// Takes in output of a command, as far as the limits let it be kept.
    pub fn push(&mut self, call: &CallId, stream: Stream, bytes: &[u8], limits: Limits) {
        if !self.calls.contains_key(call) {
            self.order.push_back(call.clone());
        }
        let output = self.calls.entry(call.clone()).or_default();
        let before = output.bytes();
        output.push(stream, bytes, limits.call);
        self.bytes = self.bytes + output.bytes() - before;
        while self.bytes > limits.all && self.order.len() > 1 {
            if let Some(gone) = self.order.pop_front().and_then(|oldest| self.calls.remove(&oldest)) {
                self.bytes -= gone.bytes();
            }
        }
    }

    /// Output of a command.
    #[must_use]
    pub fn of(&self, call: &CallId) -> Option<&CallOutput> {
        self.calls.get(call)
    }

    /// Forgets commands that are no longer known.
    pub fn retain(&mut self, known: impl Fn(&CallId) -> bool) {
        self.calls.retain(|id, _| known(id));
        self.order.retain(|id| self.calls.contains_key(id));
        self.bytes = self.calls.values().map(CallOutput::bytes).sum();
    }

    /// Number of commands with output.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether no command has output.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

impl CallOutput {
    fn push(&mut self, stream: Stream, bytes: &[u8], limit: usize) {
        let error = stream == Stream::Err;
        let which = usize::from(error);
        for &byte in bytes {
            if self.partial[which].take(byte) {
                let line = std::mem::take(&mut self.partial[which].bytes);
                self.line(OutputLine { text: tidy(&line), error }, limit);
            }
        }
    }

    fn line(&mut self, line: OutputLine, limit: usize) {
        let bytes = line.text.len() + size_of::<OutputLine>();
        if self.tail.is_empty() && self.dropped == 0 && self.head_bytes + bytes <= limit / 2 {
            self.head_bytes += bytes;
            self.head.push(line);
            return;
        }
        self.tail_bytes += bytes;
        self.tail.push_back(line);
        while self.tail_bytes > limit / 2 && self.tail.len() > 1 {
            if let Some(old) = self.tail.pop_front() {
                self.tail_bytes -= old.text.len() + size_of::<OutputLine>();
                self.dropped += 1;
            }
        }
    }

    /// Memory that it takes, about.
    fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.head_bytes
            + self.tail_bytes
            + self.partial.iter().map(|p| p.bytes.len()).sum::<usize>()
    }

    /// Number of lines, those not kept and those without an end included.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.head.len() + self.dropped + self.tail.len() + self.partial.iter().filter(|p| !p.bytes.is_empty()).count()
    }

    /// The line with that index, from 0; `None` if it was not kept.
    #[must_use]
    pub fn line_at(&self, index: usize) -> Option<OutputLine> {
        let (head, kept_from) = (self.head.len(), self.head.len() + self.dropped);
        if index < head {
            return self.head.get(index).cloned();
        }
        let in_tail = index.checked_sub(kept_from)?;
        if let Some(line) = self.tail.get(in_tail) {
            return Some(line.clone());
        }
        let open = (0..2).filter(|i| !self.partial[*i].bytes.is_empty()).nth(in_tail - self.tail.len())?;
        Some(OutputLine { text: tidy(&self.partial[open].bytes), error: open == 1 })
    }

    /// Index of the first line that was not kept, where some were not.
    #[must_use]
    pub fn dropped_at(&self) -> usize {
        self.head.len()
    }

    /// Lines that were not kept.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }
}

impl Partial {
    /// Takes a byte in. True at the end of a line.
    fn take(&mut self, byte: u8) -> bool {
        self.skip = match (self.skip, byte) {
            (_, b'\n') => {
                self.skip = Skip::Text;
                return true;
            }
            (Skip::Text, 0x1b) => Skip::Escape,
            (Skip::Text, b'\r') => {
                // A progress bar writes its line again and again: only the last state is kept, the end of a line
                // with CR LF keeps its text (see `tidy`).
                self.put(byte);
                Skip::Text
            }
            (Skip::Text, _) => {
                self.put(byte);
                Skip::Text
            }
            (Skip::Escape, b'[') => Skip::Csi,
            (Skip::Escape, b']' | b'P' | b'X' | b'^' | b'_') => Skip::String,
            (Skip::Escape, 0x20..=0x2f) => Skip::Escape,
            (Skip::Escape, _) => Skip::Text,
            (Skip::Csi, 0x40..=0x7e) => Skip::Text,
            (Skip::Csi, _) => Skip::Csi,
            (Skip::String, 0x07) | (Skip::StringEscape, b'\\') => Skip::Text,
            (Skip::String | Skip::StringEscape, 0x1b) => Skip::StringEscape,
            (Skip::String | Skip::StringEscape, _) => Skip::String,
        };
        false
    }

    fn put(&mut self, byte: u8) {
        // A bar that is redrawn with CR starts over, so that it does not fill the line.
        if byte != b'\r' && self.bytes.last() == Some(&b'\r') {
            self.bytes.clear();
        }
        if self.bytes.len() < LONGEST_LINE {
            self.bytes.push(byte);
        }
    }
}

/// Text for people: no controls, tabs as spaces.
fn tidy(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}
