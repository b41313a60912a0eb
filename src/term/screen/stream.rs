//! The parser, and synchronized updates (mode 2026): what comes in one is held back until its end.

use super::emulator::Parser;
use super::handler::Watched;
use memchr::memmem;

/// Most bytes held back; more are shown as they come.
const MAX_HELD: usize = 2 << 20;
const END: &[u8] = b"\x1b[?2026l";

/// Turns bytes into actions of a [`Watched`].
#[derive(Default)]
pub(super) struct Stream {
    parser: Parser,
    held: Vec<u8>,
    holding: bool,
    begun: u64,
}

impl Stream {
    /// Whether an update is under way.
    pub(super) fn is_holding(&self) -> bool {
        self.holding
    }

    /// How many updates were begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Bytes held back.
    pub(super) fn held_bytes(&self) -> usize {
        self.held.capacity()
    }

    /// Takes in bytes.
    pub(super) fn advance(&mut self, watched: &mut Watched<'_>, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.holding {
                rest = self.hold(watched, rest);
                continue;
            }
            let taken = self.parser.advance_until_terminated(watched, rest);
            rest = &rest[taken..];
            if watched.take_sync_begin() {
                self.holding = true;
                self.begun += 1;
            }
        }
    }

    /// Ends an update, whether it is complete or not.
    pub(super) fn release(&mut self, watched: &mut Watched<'_>) {
        self.holding = false;
        let mut held = std::mem::take(&mut self.held);
        self.parser.advance(watched, &held);
        watched.end_sync();
        if held.capacity() <= 64 * 1024 {
            held.clear();
            self.held = held;
        }
    }

    /// Holds bytes back up to the end of the update; what comes after it.
    #[cold]
    fn hold<'a>(&mut self, watched: &mut Watched<'_>, bytes: &'a [u8]) -> &'a [u8] {
        let (before, from) = (self.held.len(), self.held.len().saturating_sub(END.len() - 1));
        self.held.extend_from_slice(bytes);
        match memmem::find(&self.held[from..], END) {
            Some(at) => {
                let end = from + at + END.len();
                self.held.truncate(end);
                self.release(watched);
                &bytes[end - before..]
            }
            None => {
                if self.held.len() > MAX_HELD {
                    self.release(watched);
                }
                &[]
            }
        }
    }
}
