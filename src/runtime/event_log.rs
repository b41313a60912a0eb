//! Everything that happened, numbered, for those who follow it.

use crate::domain::{Moment, Notice};
use std::collections::VecDeque;
use tokio::sync::{mpsc, oneshot};

/// How many of the newest are kept for those who come back.
pub const KEPT: usize = 4096;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening {
    /// Grows by one with each, over all hosts of the profile. Never given twice: after a host that did not end in order
    /// it goes on from the present time in milliseconds, which no count has reached.
    pub seq: u64,
    /// When.
    pub at: Moment,
    /// What.
    pub notice: Notice,
}

/// What somebody who comes back is told first.
#[derive(Clone, Debug, PartialEq)]
pub enum Past {
    /// This happened since.
    Happened(Happening),
    /// Here something is missing.
    Missed(Gap),
}

/// What cannot be told any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// These numbers are not kept, or were never written down.
    NotKept {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// The number that was asked for is beyond this count. Everything that is kept follows.
    OtherCount {
        /// What was asked for.
        asked: u64,
        /// The number before the first that follows.
        before: u64,
    },
}

impl Gap {
    /// The number to come back with by whoever was told of it.
    #[must_use]
    pub fn seq(self) -> u64 {
        match self {
            Self::NotKept { last, .. } => last,
            Self::OtherCount { before, .. } => before,
        }
    }
}

/// Somebody who follows. A subscriber whose queue is full is dropped: it must come back with the last `seq` it saw.
pub struct Subscriber {
    /// Also what came after this `seq`, as far as it is kept; `None` = only what comes.
    pub after: Option<u64>,
    /// Where that goes, with the number of the last happening so far.
    pub past: oneshot::Sender<(Vec<Past>, u64)>,
    /// Where what comes goes.
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
    /// What earlier hosts kept, oldest first; numbers go on after `last`.
    #[must_use]
    pub fn after(kept: Vec<Happening>, last: u64) -> Self {
        Self { last, kept: kept.into(), subscribers: Vec::new() }
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
        let past = subscriber.after.map_or_else(Vec::new, |after| self.past(after));
        if subscriber.past.send((past, self.last)).is_ok() {
            self.subscribers.push(subscriber.to);
        }
    }

    /// What happened after `after`, and what of it is missing.
    fn past(&self, after: u64) -> Vec<Past> {
        let mut all = Vec::new();
        let mut told = after;
        if after > self.last {
            told = self.kept.front().map_or(self.last, |oldest| oldest.seq - 1);
            all.push(Past::Missed(Gap::OtherCount { asked: after, before: told }));
        }
        let from = told;
        for happening in self.kept.iter().filter(|happening| happening.seq > from) {
            if happening.seq > told + 1 {
                all.push(Past::Missed(Gap::NotKept { first: told + 1, last: happening.seq - 1 }));
            }
            told = happening.seq;
            all.push(Past::Happened(happening.clone()));
        }
        if told < self.last {
            all.push(Past::Missed(Gap::NotKept { first: told + 1, last: self.last }));
        }
        all
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

    fn follow(log: &mut EventLog, after: Option<u64>, room: usize) -> (Vec<Past>, u64, mpsc::Receiver<Happening>) {
        let ((past, mut told), (to, coming)) = (oneshot::channel(), mpsc::channel(room));
        log.subscribe(Subscriber { after, past, to });
        let (past, last) = told.try_recv().unwrap();
        (past, last, coming)
    }

    fn seqs(past: &[Past]) -> Vec<u64> {
        past.iter().filter_map(|one| if let Past::Happened(one) = one { Some(one.seq) } else { None }).collect()
    }

    fn gaps(past: &[Past]) -> Vec<Gap> {
        past.iter().filter_map(|one| if let Past::Missed(gap) = one { Some(*gap) } else { None }).collect()
    }

    #[test]
    fn a_follower_who_comes_back_gets_what_it_missed() {
        let mut log = EventLog::default();
        for text in ["a", "b", "c"] {
            log.push(Moment(1), notice(text));
        }
        let (past, last, mut coming) = follow(&mut log, Some(1), 8);
        assert_eq!((seqs(&past), gaps(&past), last), (vec![2, 3], vec![], 3));
        log.push(Moment(2), notice("d"));
        assert_eq!(coming.try_recv().map(|h| (h.seq, h.notice.text)), Ok((4, "d".to_owned())));
        let (past, last, _) = follow(&mut log, Some(4), 8);
        assert_eq!((past, last), (vec![], 4), "nothing is told twice");
    }

    #[test]
    fn what_is_not_kept_any_more_is_said() {
        let mut log = EventLog::default();
        for _ in 0..KEPT + 10 {
            log.push(Moment(1), notice("a"));
        }
        let (past, ..) = follow(&mut log, Some(4), 8);
        assert_eq!(past[0], Past::Missed(Gap::NotKept { first: 5, last: 10 }));
        assert_eq!((seqs(&past).len(), seqs(&past)[0], gaps(&past).len()), (KEPT, 11, 1));
        assert!(gaps(&follow(&mut log, Some(10), 8).0).is_empty(), "from the oldest on nothing is missing");
    }

    #[test]
    fn a_number_of_another_count_is_said_and_everything_follows() {
        let mut log = EventLog::default();
        log.push(Moment(1), notice("a"));
        log.push(Moment(1), notice("b"));
        let (past, ..) = follow(&mut log, Some(7), 8);
        assert_eq!(past[0], Past::Missed(Gap::OtherCount { asked: 7, before: 0 }));
        assert_eq!(seqs(&past), [1, 2]);
        let (past, ..) = follow(&mut EventLog::default(), Some(7), 8);
        assert_eq!(past, [Past::Missed(Gap::OtherCount { asked: 7, before: 0 })]);
    }

    #[test]
    fn numbers_of_a_host_that_did_not_end_in_order_are_said_to_be_missing() {
        let old = |seq| Happening { seq, at: Moment(1), notice: notice("old") };
        let mut log = EventLog::after(vec![old(7), old(8)], 100);
        let (past, last, _) = follow(&mut log, Some(7), 8);
        let gap = Past::Missed(Gap::NotKept { first: 9, last: 100 });
        assert_eq!((&past[..], last), (&[Past::Happened(old(8)), gap][..], 100));
        log.push(Moment(2), notice("new"));
        let (past, ..) = follow(&mut log, Some(8), 8);
        assert_eq!((seqs(&past), gaps(&past).len()), (vec![101], 1));
        let (past, ..) = follow(&mut log, Some(100), 8);
        assert_eq!((seqs(&past), gaps(&past).len()), (vec![101], 0), "who was told of it is not told again");
    }

    #[test]
    fn a_follower_that_does_not_read_is_dropped_and_delays_nobody() {
        let mut log = EventLog::default();
        let (_, _, mut slow) = follow(&mut log, None, 1);
        log.push(Moment(1), notice("a"));
        log.push(Moment(1), notice("b"));
        assert_eq!(slow.try_recv().map(|h| h.seq), Ok(1));
        assert!(slow.is_closed());
    }
}
