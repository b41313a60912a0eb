//! Reads the message of a hook without keeping the conversation that it carries.
//!
//! A conversation is most of a message, and none of it is wanted. So it is left out while the message comes in: what
//! is never kept costs no memory, and the rest is understood in no time.

use memchr::memchr;
use std::io::{self, Read};

/// The member that is left out, as Python's `json` writes its name: nothing stands between it and the colon. Where
/// somebody writes it otherwise, it is kept and skipped later.
const LEFT_OUT: &[u8] = b"\"conversation_history\"";
/// How deep it stands: in `extra`, in the message.
const DEPTH: usize = 2;
/// As much as a pipe holds.
const CHUNK: usize = 64 * 1024;

/// Reads to the end. The text is that of the message with `null` for the conversation; what is no JSON stays none.
/// `None` where it is longer than `most` bytes.
///
/// # Errors
/// It cannot be read.
pub fn read(mut input: impl Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let (mut sieve, mut total) = (Sieve::default(), 0);
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = match input.read(&mut chunk) {
            Ok(0) => return Ok(Some(sieve.kept)),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        total += length as u64;
        if total > most {
            return Ok(None);
        }
        sieve.take(&chunk[..length]);
    }
}

#[derive(Default)]
struct Sieve {
    kept: Vec<u8>,
    depth: usize,
    in_text: bool,
    /// The byte that comes stands behind a backslash that means something.
    escaped: bool,
    leaves_out: bool,
}

impl Sieve {
    fn take(&mut self, chunk: &[u8]) {
        let mut at = 0;
        while at < chunk.len() {
            let from = at;
            if self.in_text {
                at = self.text(chunk, at);
                self.keep(&chunk[from..at]);
                continue;
            }
            let byte = chunk[at];
            at += 1;
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b',' if self.depth == DEPTH => self.leaves_out = false,
                b'}' | b']' => {
                    self.leaves_out &= self.depth != DEPTH;
                    self.depth = self.depth.saturating_sub(1);
                }
                b':' if self.depth == DEPTH && self.named_so() => {
                    self.kept.extend_from_slice(b":null");
                    self.leaves_out = true;
                }
                _ => {}
            }
            self.keep(&[byte]);
        }
    }

    /// Goes on in a text, to its next quotation mark or the end of the chunk. Only these are looked for: a conversation
    /// has far more backslashes, and whether one of them stands in front is seen from there.
    fn text(&mut self, chunk: &[u8], at: usize) -> usize {
        let found = memchr(b'"', &chunk[at..]);
        let end = found.map_or(chunk.len(), |length| at + length);
        let backslashes = chunk[at..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        let before = backslashes == end - at && self.escaped;
        let escaped = (backslashes + usize::from(before)) % 2 == 1;
        self.escaped = escaped && found.is_none();
        self.in_text = escaped || found.is_none();
        end + usize::from(found.is_some())
    }

    /// What was kept last is the name. A quotation mark behind a backslash is none that it begins with.
    fn named_so(&self) -> bool {
        self.kept.strip_suffix(LEFT_OUT).is_some_and(|before| !before.ends_with(b"\\"))
    }

    fn keep(&mut self, bytes: &[u8]) {
        if !self.leaves_out {
            self.kept.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Gives so many bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(into.len());
            into[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn sieved(text: &str, step: usize) -> Vec<u8> {
        read(Slow(text.as_bytes(), step), 1 << 20).expect("read").expect("not too long")
    }

    #[test]
    fn only_the_conversation_is_left_out_wherever_the_reads_end() {
        let history = json!([{"content": "a \\\" ] } , b", "more": {"conversation_history": [1, "{"]}}, "]"]);
        let message = |history: Value| {
            json!({"conversation_history": [1], "b": {"\"conversation_history": [3]}, "session_id": "\\", "extra": {"a": "\"conversation_history\":",
                "conversation_history": history, "user_message": "\\\"}", "z": {"conversation_history": [2]}}})
        };
        let expected = message(Value::Null);
        for text in
            [message(history.clone()).to_string(), serde_json::to_string_pretty(&message(history)).expect("text")]
        {
            for step in [1, 2, 3, 7, 64, 4096] {
                let kept: Value = serde_json::from_slice(&sieved(&text, step)).expect("JSON");
                assert_eq!(kept, expected, "{step}: {text}");
            }
        }
        for text in [r#"{"extra":{"conversation_history":[]}}"#, r#"{"extra":{"conversation_history": "x"}}"#] {
            assert_eq!(
                serde_json::from_slice::<Value>(&sieved(text, 5)).expect("JSON")["extra"]["conversation_history"],
                Value::Null
            );
        }
    }

    #[test]
    fn what_is_broken_stays_broken_and_what_is_too_long_is_nothing() {
        for text in ["", "}}}]", "{\"extra\":{\"conversation_history\":[1,", "{\"a\":\"", "\\\"{"] {
            assert!(serde_json::from_slice::<Value>(&sieved(text, 3)).is_err(), "{text}");
        }
        assert_eq!(read(Slow(b"123456", 2), 5).expect("read"), None);
    }
}
