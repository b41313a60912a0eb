//! Quiet for who types: what a person types is shown back before the floods of other programs are taken in.
//!
//! A program that prints without end takes whatever processor there is. After a key the loop leaves such output where it
//! is until the answer has come, and as long as a person types it takes floods in for a part of the time only: their
//! programs stand still in between. They are seen at the same frame rate as before.

use super::inbound::Inbound;
use crate::app::{ClientId, Msg};
use crate::domain::SessionId;
use std::time::{Duration, Instant};

/// Longest wait for an answer: some programs give none.
const LONGEST: Duration = Duration::from_millis(10);
/// A piece of output of at most so many bytes is no flood.
const SHORT: usize = 4096;
/// A person types for so long after a key.
const TYPES: Duration = Duration::from_secs(2);
/// Meanwhile floods are left alone for so many times the time that they took.
const REST: u32 = 3;

/// Who waits for an answer, and of whom.
#[derive(Default)]
pub struct Hush {
    typed: Option<Typed>,
    /// Floods are left alone until then.
    rest: Option<Instant>,
}

struct Typed {
    session: SessionId,
    client: ClientId,
    at: Instant,
    answered: bool,
}

impl Hush {
    /// A person typed into a session.
    pub fn begin(&mut self, session: SessionId, client: ClientId) {
        self.typed = Some(Typed { session, client, at: Instant::now(), answered: false });
    }

    /// When floods are to be looked at again; `None` while they need not wait.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        let awaited = self.typed.as_ref().filter(|typed| !typed.answered).map(|typed| typed.at + LONGEST);
        awaited.max(self.rest)
    }

    /// Ends what is over.
    pub fn look(&mut self) {
        let now = Instant::now();
        self.rest.take_if(|until| *until <= now);
        if let Some(typed) = &mut self.typed {
            typed.answered |= typed.at + LONGEST <= now;
        }
        self.typed.take_if(|typed| typed.at + TYPES <= now);
    }

    /// Whether a piece of output is to be taken in now.
    #[must_use]
    pub fn lets_pass(&self, piece: &Inbound) -> bool {
        self.until().is_none() || !self.is_flood(piece)
    }

    /// Whether this is a flood of a program that nobody types into.
    #[must_use]
    pub fn is_flood(&self, piece: &Inbound) -> bool {
        match piece {
            Inbound::Msg(Msg::Output { session, bytes }) => {
                bytes.len() > SHORT && self.typed.as_ref().is_none_or(|typed| typed.session != *session)
            }
            Inbound::Msg(Msg::CallOutput { bytes, .. }) => bytes.len() > SHORT,
            _ => false,
        }
    }

    /// A piece of a flood was taken in, which took so long.
    pub fn took(&mut self, time: Duration) {
        if self.typed.is_some() {
            self.rest = Some(Instant::now() + time * REST);
        }
    }

    /// Takes note if this is the answer to a key; who waits for it.
    pub fn answered_by(&mut self, piece: &Inbound) -> Option<ClientId> {
        let Inbound::Msg(Msg::Output { session, .. }) = piece else { return None };
        let typed = self.typed.as_mut().filter(|typed| !typed.answered && typed.session == *session)?;
        typed.answered = true;
        Some(typed.client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(session: &str, bytes: usize) -> Inbound {
        Inbound::Msg(Msg::Output { session: SessionId::new(session), bytes: vec![b'x'; bytes] })
    }

    fn after_a_key() -> Hush {
        let mut hush = Hush::default();
        hush.begin(SessionId::new("typed"), ClientId(7));
        hush
    }

    #[test]
    fn floods_of_others_wait_until_the_answer_has_come() {
        assert!(Hush::default().lets_pass(&output("loud", 60_000)), "nobody types");
        let mut hush = after_a_key();
        assert!(!hush.lets_pass(&output("loud", 60_000)));
        assert!(hush.lets_pass(&output("calm", 80)), "what is short costs nothing");
        assert!(hush.lets_pass(&output("typed", 60_000)), "the answer may be long");
        assert_eq!(hush.answered_by(&output("calm", 80)), None);
        assert_eq!(hush.answered_by(&output("typed", 1)), Some(ClientId(7)));
        assert_eq!(hush.answered_by(&output("typed", 1)), None, "once");
        assert!(hush.lets_pass(&output("loud", 60_000)));
    }

    #[test]
    fn without_an_answer_the_wait_ends_by_itself() {
        let mut hush = after_a_key();
        hush.typed.as_mut().expect("typed").at -= LONGEST;
        hush.look();
        assert!(hush.lets_pass(&output("loud", 60_000)));
        assert_eq!(hush.answered_by(&output("typed", 1)), None, "what comes late is no answer");
    }

    #[test]
    fn floods_rest_while_somebody_types_and_only_then() {
        let mut hush = after_a_key();
        assert_eq!(hush.answered_by(&output("typed", 1)), Some(ClientId(7)));
        hush.took(Duration::from_secs(60));
        assert!(!hush.lets_pass(&output("loud", 60_000)));
        assert!(hush.lets_pass(&output("typed", 60_000)));
        hush.rest = Some(Instant::now());
        hush.look();
        assert!(hush.lets_pass(&output("loud", 60_000)));
        hush.typed.as_mut().expect("typed").at -= TYPES;
        hush.look();
        hush.took(Duration::from_secs(60));
        assert!(hush.lets_pass(&output("loud", 60_000)), "nobody types any more");
    }
}
