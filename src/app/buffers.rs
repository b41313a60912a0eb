//! What was copied: a few texts, newest first, bounded in number and bytes.

use std::collections::VecDeque;

/// Most texts that are kept; tmux keeps as many.
pub const MAX_BUFFERS: usize = 50;
/// Most bytes of all of them. The newest one is kept whatever its size.
pub const MAX_BYTES: usize = 64 << 20;

/// Texts that can be pasted.
#[derive(Default)]
pub struct Buffers(VecDeque<String>);

impl Buffers {
    /// Puts a text before the others, which give way where it is too much. One that is there already moves.
    pub fn push(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.0.retain(|old| *old != text);
        self.0.push_front(text);
        let mut bytes: usize = self.0.iter().map(String::len).sum();
        while self.0.len() > MAX_BUFFERS || (bytes > MAX_BYTES && self.0.len() > 1) {
            bytes -= self.0.pop_back().map_or(0, |old| old.len());
        }
    }

    /// Puts a text after the newest one, in its place.
    pub fn append(&mut self, text: &str) {
        let mut newest = self.0.pop_front().unwrap_or_default();
        newest.push_str(text);
        self.push(newest);
    }

    /// The newest text.
    #[must_use]
    pub fn newest(&self) -> Option<&str> {
        self.get(0)
    }

    /// One of them, 0 = the newest.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&str> {
        self.0.get(index).map(String::as_str)
    }

    /// Takes one out.
    pub fn remove(&mut self, index: usize) -> Option<String> {
        self.0.remove(index)
    }

    /// All, newest first.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
