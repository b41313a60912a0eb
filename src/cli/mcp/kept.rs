//! What a command printed and how it ended, kept so that it can be read in parts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Bytes from the beginning of the output that are kept, and
const HEAD: usize = 1024 * 1024;
/// bytes from its end. What lies between is forgotten.
const TAIL: usize = 3 * 1024 * 1024;

/// How a command ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Exit {
    /// Its exit code, unless that will never be known.
    pub(super) code: Option<i64>,
    /// Why it was ended or could not be run.
    pub(super) why: Option<String>,
    /// Where the conversation's shell stands now.
    pub(super) cwd: Option<String>,
}

/// Some of a command's output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// Where it begins, in bytes from the beginning of the output.
    pub(super) from: u64,
    /// Where it ends.
    pub(super) to: u64,
    pub(super) bytes: Vec<u8>,
}

/// A stream of bytes of which beginning and end are kept.
#[derive(Debug, Default)]
pub(super) struct Stream {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Stream {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..excess);
    }

    fn tail_from(&self) -> u64 {
        self.total - self.tail.len() as u64
    }

    /// Up to `limit` bytes from `offset` on, without half of a character at the end. Begins later where what stands
    /// there was forgotten.
    fn part(&self, offset: u64, limit: usize) -> Part {
        let offset = offset.min(self.total);
        let (from, mut bytes): (u64, Vec<u8>) = if offset < self.head.len() as u64 {
            let at = offset as usize;
            (offset, self.head[at..].iter().take(limit).copied().collect())
        } else {
            let from = offset.max(self.tail_from());
            let at = (from - self.tail_from()) as usize;
            (from, self.tail.iter().skip(at).take(limit).copied().collect())
        };
        // Where both parts touch, one read may go from one into the other.
        if from < self.head.len() as u64 && bytes.len() < limit && self.tail_from() == self.head.len() as u64 {
            let room = limit - bytes.len();
            bytes.extend(self.tail.iter().take(room));
        }
        let to = from + bytes.len() as u64;
        if to < self.total {
            bytes.truncate(whole_characters(&bytes));
        }
        Part { from, to: from + bytes.len() as u64, bytes }
    }
}

/// The length without a character at the end of which only the beginning is there.
fn whole_characters(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let length = match bytes[at] {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return bytes.len(),
        };
        // Never nothing, or a reader would stand still.
        return if length > back && at > 0 { at } else { bytes.len() };
    }
    bytes.len()
}

#[derive(Debug, Default)]
struct Inner {
    /// Standard output, and standard error with it unless that is apart.
    out: Stream,
    err: Stream,
    exit: Option<Exit>,
}

/// The output and the end of one command.
#[derive(Debug, Default)]
pub(super) struct Kept {
    apart: bool,
    inner: Mutex<Inner>,
    changed: Notify,
}

impl Kept {
    /// Standard output and standard error in one, in the order in which they came.
    pub(super) fn joined() -> Self {
        Self::default()
    }

    /// Standard error apart from standard output.
    pub(super) fn apart() -> Self {
        Self { apart: true, ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `exec.output`.
    pub(super) fn printed(&self, params: &Value) {
        let decoded = || STANDARD.decode(params["base64"].as_str().unwrap_or_default()).unwrap_or_default();
        let bytes = params["text"].as_str().map_or_else(decoded, |text| text.as_bytes().to_vec());
        let mut inner = self.lock();
        if self.apart && params["stream"] == "stderr" {
            inner.err.push(&bytes);
        } else {
            inner.out.push(&bytes);
        }
        drop(inner);
        self.changed.notify_waiters();
    }

    /// `exec.exit`.
    pub(super) fn ended(&self, params: &Value) {
        let text = |name: &str| params[name].as_str().map(str::to_owned);
        self.finish(Exit { code: params["exit_code"].as_i64(), why: text("why"), cwd: text("cwd") });
    }

    /// The host is gone, and with it whoever could tell how it ended.
    pub(super) fn lost(&self, why: &str) {
        self.finish(Exit { why: Some(why.to_owned()), ..Exit::default() });
    }

    fn finish(&self, exit: Exit) {
        self.lock().exit.get_or_insert(exit);
        self.changed.notify_waiters();
    }

    /// How it ended, if it did.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.lock().exit.clone()
    }

    /// Waits for its end.
    pub(super) async fn wait(&self) -> Exit {
        self.wait_for(Self::exit).await
    }

    /// Waits until it has printed more than this, or has ended.
    pub(super) async fn wait_beyond(&self, offset: u64) {
        self.wait_for(|kept| (kept.total() > offset || kept.exit().is_some()).then_some(())).await;
    }

    async fn wait_for<T>(&self, look: impl Fn(&Self) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Listening first: what happens between the look and the wait is heard.
            changed.as_mut().enable();
            if let Some(found) = look(self) {
                return found;
            }
            changed.await;
        }
    }

    /// Bytes that it printed so far.
    pub(super) fn total(&self) -> u64 {
        self.lock().out.total
    }

    /// Some of what it printed.
    pub(super) fn part(&self, offset: u64, limit: usize) -> Part {
        self.lock().out.part(offset, limit)
    }

    /// What it said on standard error, if that is apart.
    pub(super) fn said(&self) -> String {
        let part = self.lock().err.part(0, 4096);
        String::from_utf8_lossy(&part.bytes).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{HEAD, Stream, TAIL};

    #[test]
    fn parts_join_to_the_whole_and_name_what_is_missing() {
        let mut stream = Stream::default();
        let text = "añ€𝄞\n".repeat(30);
        stream.push(text.as_bytes());
        let (mut at, mut read) = (0, Vec::new());
        while at < stream.total {
            let part = stream.part(at, 7);
            assert!(std::str::from_utf8(&part.bytes).is_ok() && part.from == at && part.to > at);
            at = part.to;
            read.extend(part.bytes);
        }
        assert_eq!(read, text.as_bytes());

        let mut long = Stream::default();
        long.push(&vec![b'a'; HEAD + 10]);
        let over = long.part(HEAD as u64 - 5, 10);
        assert_eq!((over.from, over.to), (HEAD as u64 - 5, HEAD as u64 + 5));
        long.push(&vec![b'b'; TAIL]);
        let gap = long.part(HEAD as u64, 4);
        assert_eq!((gap.from, gap.bytes.as_slice()), (HEAD as u64 + 10, b"bbbb".as_slice()));
        assert_eq!(long.part(u64::MAX, 4).bytes, b"");
    }
}
