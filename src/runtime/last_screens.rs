//! What sessions showed goes to the journal, where the configuration says so: which are to be written, and when.

use crate::domain::{Moment, SessionId, Span};
use std::collections::BTreeMap;

/// What a session shows is written so long after it changed: a host that is killed loses at most this.
const AFTER: Span = Span::seconds(5);

/// Sessions that showed something new since they were written.
pub struct LastScreens {
    on: bool,
    changed: BTreeMap<SessionId, Moment>,
}

impl LastScreens {
    /// Nothing is noted unless it is wanted.
    #[must_use]
    pub fn new(on: bool) -> Self {
        Self { on, changed: BTreeMap::new() }
    }

    /// A session shows something new.
    pub fn changed(&mut self, session: &SessionId, now: Moment) {
        if self.on && !self.changed.contains_key(session) {
            self.changed.insert(session.clone(), now + AFTER);
        }
    }

    /// When the next one is to be written.
    #[must_use]
    pub fn due(&self) -> Option<Moment> {
        self.changed.values().min().copied()
    }

    /// One that is due, which is to be written now. One at a time: a long history takes milliseconds.
    pub fn take_due(&mut self, now: Moment) -> Option<SessionId> {
        let due = self.changed.iter().find(|(_, at)| **at <= now).map(|(session, _)| session.clone())?;
        self.changed.remove(&due);
        Some(due)
    }

    /// One that is to be written, due or not.
    pub fn take(&mut self) -> Option<SessionId> {
        self.changed.pop_first().map(|(session, _)| session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_never_rests_is_written_every_few_seconds() {
        let (one, two) = (SessionId::new("one"), SessionId::new("two"));
        let mut screens = LastScreens::new(true);
        for at in 0..5 {
            screens.changed(&one, Moment(at * 1000));
        }
        screens.changed(&two, Moment(4000));
        assert_eq!((screens.due(), screens.take_due(Moment(4999))), (Some(Moment(5000)), None));
        assert_eq!(screens.take_due(Moment(5000)), Some(one));
        assert_eq!((screens.take_due(Moment(5000)), screens.due()), (None, Some(Moment(9000))));
        assert_eq!((screens.take(), screens.take()), (Some(two), None));
        let mut off = LastScreens::new(false);
        off.changed(&SessionId::new("one"), Moment(0));
        assert_eq!((off.due(), off.take()), (None, None));
    }
}
