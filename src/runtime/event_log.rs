//! Everything that happened, numbered, for those who follow it.

use crate::domain::{Moment, Notice};
use std::collections::VecDeque;
use tokio::sync::mpsc;

/// How many of the newest are kept for those who come back.
const KEPT: usize = 4096;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening {
    /// 1, 2, 3, … over all hosts of the profile.
    pub seq: u64,
    /// When.
    pub at: Moment,
    /// What.
    pub notice: Notice,
}

/// Somebody who follows. A subscriber whose queue is full is dropped: it must come back with the last `seq` it saw.
pub struct Subscriber {
    /// Also what came after this `seq`, as far as it is kept; `None` = only what comes.
    pub after: Option<u64>,
    /// Where it goes.
    pub to: mpsc::Sender<Happening>,
}

/// The newest happenings and those who follow them.
#[derive(Default)]
pub struct EventLog {
    last: u64,
    kept: VecDeque<Happening>,
    subscribers: Vec<mpsc::Sender<Happening>>,
}

impl EventLog {
    /// Numbers go on after `seq`, the last one of earlier hosts.
    #[must_use]
    pub fn after(seq: u64) -> Self {
        Self { last: seq, ..Self::default() }
    }

    /// Numbers it, keeps it, hands it to everybody who follows. Gives the number.
    pub fn push(&mut self, at: Moment, notice: Notice) -> u64 {
        self.last += 1;
        let happening = Happening { seq: self.last, at, notice };
        self.subscribers.retain(|to| to.try_send(happening.clone()).is_ok());
        self.kept.push_back(happening);
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
        self.last
    }

    /// Adds somebody who follows.
    pub fn subscribe(&mut self, subscriber: Subscriber) {
        if let Some(after) = subscriber.after {
            for happening in self.kept.iter().filter(|h| h.seq > after) {
                if subscriber.to.try_send(happening.clone()).is_err() {
                    return;
                }
            }
        }
        self.subscribers.push(subscriber.to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::NoticeKind;

    fn notice(text: &str) -> Notice {
        Notice {
            kind: NoticeKind::EnvReady,
            env: None,
            conversation: None,
            turn: None,
            session: None,
            call: None,
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_follower_who_comes_back_gets_what_it_missed() {
        let mut log = EventLog::default();
        for text in ["a", "b", "c"] {
            log.push(Moment(1), notice(text));
        }
        let (to, mut from) = mpsc::channel(8);
        log.subscribe(Subscriber { after: Some(1), to });
        log.push(Moment(2), notice("d"));
        let texts: Vec<_> = std::iter::from_fn(|| from.try_recv().ok()).map(|h| (h.seq, h.notice.text)).collect();
        assert_eq!(texts, [(2, "b".to_owned()), (3, "c".to_owned()), (4, "d".to_owned())]);
    }

    #[test]
    fn a_follower_that_does_not_read_is_dropped_and_delays_nobody() {
        let mut log = EventLog::default();
        let (to, mut slow) = mpsc::channel(1);
        log.subscribe(Subscriber { after: None, to });
        log.push(Moment(1), notice("a"));
        log.push(Moment(1), notice("b"));
        assert_eq!(slow.try_recv().map(|h| h.seq), Ok(1));
        assert!(slow.is_closed());
    }
}
