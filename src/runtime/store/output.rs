//! The output of one command, bounded: its beginning and its end.

use super::{OutputChunk, OutputStream};
use crate::runtime::redact::redact;
use std::collections::VecDeque;

/// What a piece costs beside its bytes, so that a million one-byte writes do not cost a million allocations.
const OVERHEAD: usize = 32;

type Piece = (OutputStream, Vec<u8>);

/// Keeps at most `limit` bytes: the first half and the last half.
#[derive(Clone, Debug)]
pub(super) struct OutputBuffer {
    half: usize,
    head: Vec<Piece>,
    head_size: usize,
    tail: VecDeque<Piece>,
    tail_size: usize,
    omitted: u64,
    /// Values that must not be written.
    pub(super) values: Vec<String>,
    /// Changed since it was last written.
    pub(super) dirty: bool,
    /// The command ended.
    pub(super) complete: bool,
}

impl OutputBuffer {
    pub(super) fn new(limit: usize, values: Vec<String>) -> Self {
        Self {
            half: limit / 2,
            head: Vec::new(),
            head_size: 0,
            tail: VecDeque::new(),
            tail_size: 0,
            omitted: 0,
            values,
            dirty: false,
            complete: false,
        }
    }

    pub(super) fn push(&mut self, stream: OutputStream, mut bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.dirty = true;
        if self.tail.is_empty() && self.omitted == 0 {
            let joined = self.head.last().is_some_and(|(last, _)| *last == stream);
            let room = self.half.saturating_sub(self.head_size + if joined { 0 } else { OVERHEAD });
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            if !now.is_empty() {
                match self.head.last_mut() {
                    Some((last, piece)) if *last == stream => piece.extend_from_slice(now),
                    _ => {
                        self.head.push((stream, now.to_vec()));
                        self.head_size += OVERHEAD;
                    }
                }
                self.head_size += now.len();
            }
            bytes = rest;
        }
        if bytes.len() > self.half {
            let (skipped, rest) = bytes.split_at(bytes.len() - self.half);
            self.omitted += skipped.len() as u64;
            bytes = rest;
        }
        if bytes.is_empty() {
            return;
        }
        match self.tail.back_mut() {
            Some((last, piece)) if *last == stream && piece.len() < 4096 => piece.extend_from_slice(bytes),
            _ => {
                self.tail.push_back((stream, bytes.to_vec()));
                self.tail_size += OVERHEAD;
            }
        }
        self.tail_size += bytes.len();
        while self.tail_size > self.half {
            let excess = self.tail_size - self.half;
            match self.tail.front_mut() {
                Some((_, piece)) if piece.len() > excess => {
                    piece.drain(..excess);
                    self.tail_size -= excess;
                    self.omitted += excess as u64;
                }
                _ => {
                    let Some((_, piece)) = self.tail.pop_front() else { break };
                    self.tail_size -= (piece.len() + OVERHEAD).min(self.tail_size);
                    self.omitted += piece.len() as u64;
                }
            }
        }
    }

    /// What is kept, in order, without known token shapes.
    pub(super) fn chunks(&self) -> Vec<OutputChunk> {
        let mut chunks: Vec<OutputChunk> = Vec::new();
        for (stream, bytes) in &self.head {
            join(&mut chunks, *stream, bytes);
        }
        if self.omitted > 0 {
            chunks.push(OutputChunk { stream: None, bytes: Vec::new(), omitted: self.omitted });
        }
        for (stream, bytes) in &self.tail {
            join(&mut chunks, *stream, bytes);
        }
        for chunk in &mut chunks {
            chunk.bytes = self.clean(&chunk.bytes);
        }
        chunks
    }

    /// Redacts the stretches of a text that are UTF-8.
    fn clean(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for stretch in bytes.utf8_chunks() {
            out.extend_from_slice(redact(stretch.valid(), self.values.iter().map(String::as_str)).as_bytes());
            out.extend_from_slice(stretch.invalid());
        }
        out
    }
}

/// Adds a piece; to the one before if it is of the same stream, so that a token that came in two pieces is seen as one.
fn join(chunks: &mut Vec<OutputChunk>, stream: OutputStream, bytes: &[u8]) {
    match chunks.last_mut() {
        Some(last) if last.stream == Some(stream) => last.bytes.extend_from_slice(bytes),
        _ => chunks.push(OutputChunk { stream: Some(stream), bytes: bytes.to_vec(), omitted: 0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputBuffer, OutputStream};

    #[test]
    fn beginning_and_end_are_kept_and_the_middle_is_counted() {
        let mut buffer = OutputBuffer::new(1000, Vec::new());
        let all: Vec<u8> = (0..100_000u32).map(|n| b'a' + (n % 26) as u8).collect();
        for part in all.chunks(777) {
            buffer.push(OutputStream::Stdout, part);
        }
        let chunks = buffer.chunks();
        let omitted: u64 = chunks.iter().map(|chunk| chunk.omitted).sum();
        let kept: usize = chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        assert!(kept <= 1000 && kept > 800, "{kept}");
        assert_eq!(kept as u64 + omitted, all.len() as u64);
        assert!(all.starts_with(&chunks[0].bytes));
        assert!(all.ends_with(&chunks[2].bytes));
    }

    #[test]
    fn many_small_alternating_pieces_stay_within_the_bound() {
        let mut buffer = OutputBuffer::new(1000, Vec::new());
        for n in 0..10_000 {
            buffer.push(if n % 2 == 0 { OutputStream::Stdout } else { OutputStream::Stderr }, b"x");
        }
        assert!(buffer.head.len() + buffer.tail.len() < 64);
        let kept: u64 = buffer.chunks().iter().map(|chunk| chunk.bytes.len() as u64 + chunk.omitted).sum();
        assert_eq!(kept, 10_000);
    }

    #[test]
    fn a_token_in_two_pieces_is_masked() {
        let mut buffer = OutputBuffer::new(1000, Vec::new());
        buffer.push(OutputStream::Stdout, b"t=ghp_abcdefghij");
        buffer.push(OutputStream::Stdout, b"klmnopqrstuvwxyz \xff");
        assert_eq!(buffer.chunks()[0].bytes, b"t=[redacted] \xff");
    }
}
