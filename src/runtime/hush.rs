//! Quiet for an answer: what a person types is shown back before the floods of other programs are taken in.
//!
//! A program that prints without end takes whatever processor there is. After a key the loop leaves such output where it
//! is for a moment: its programs stand still then, and the one that was typed into gets to answer.

use super::inbound::Inbound;
use crate::app::{ClientId, Msg};
use crate::domain::SessionId;
use std::time::{Duration, Instant};

/// Longest wait for an answer: some programs give none.
const LONGEST: Duration = Duration::from_millis(10);
/// A piece of output of at most so many bytes is no flood.
const SHORT: usize = 4096;

/// Who waits for an answer, and of whom.
#[derive(Default)]
pub struct Hush(Option<Awaited>);

struct Awaited {
    session: SessionId,
    client: ClientId,
    until: Instant,
}

impl Hush {
    /// A person typed into a session.
    pub fn begin(&mut self, session: SessionId, client: ClientId) {
        self.0 = Some(Awaited { session, client, until: Instant::now() + LONGEST });
    }

    /// When it ends at the latest; `None` while nobody waits.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        self.0.as_ref().map(|awaited| awaited.until)
    }

    /// Ends it if its time is over.
    pub fn look(&mut self) {
        if self.until().is_some_and(|until| until <= Instant::now()) {
            self.0 = None;
        }
    }

    /// Whether a piece of output is to be taken in now.
    #[must_use]
    pub fn lets_pass(&self, piece: &Inbound) -> bool {
        let Some(awaited) = &self.0 else { return true };
        match piece {
            Inbound::Msg(Msg::Output { session, bytes }) => bytes.len() <= SHORT || *session == awaited.session,
            Inbound::Msg(Msg::CallOutput { bytes, .. }) => bytes.len() <= SHORT,
            _ => true,
        }
    }

    /// Ends it if this is the answer; who waited for it.
    pub fn answered_by(&mut self, piece: &Inbound) -> Option<ClientId> {
        let Inbound::Msg(Msg::Output { session, .. }) = piece else { return None };
        self.0.take_if(|awaited| awaited.session == *session).map(|awaited| awaited.client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(session: &str, bytes: usize) -> Inbound {
        Inbound::Msg(Msg::Output { session: SessionId::new(session), bytes: vec![b'x'; bytes] })
    }

    #[test]
    fn floods_of_others_wait_until_the_answer_has_come() {
        let mut hush = Hush::default();
        assert!(hush.lets_pass(&output("loud", 60_000)));
        hush.begin(SessionId::new("typed"), ClientId(7));
        assert!(!hush.lets_pass(&output("loud", 60_000)));
        assert!(hush.lets_pass(&output("calm", 80)), "what is short costs nothing");
        assert!(hush.lets_pass(&output("typed", 60_000)), "the answer may be long");
        assert_eq!(hush.answered_by(&output("calm", 80)), None);
        assert_eq!(hush.answered_by(&output("typed", 1)), Some(ClientId(7)));
        assert!(hush.lets_pass(&output("loud", 60_000)));
        assert_eq!(hush.until(), None);
    }

    #[test]
    fn without_an_answer_it_ends_by_itself() {
        let mut hush =
            Hush(Some(Awaited { session: SessionId::new("typed"), client: ClientId(7), until: Instant::now() }));
        hush.look();
        assert!(hush.lets_pass(&output("loud", 60_000)));
    }
}
