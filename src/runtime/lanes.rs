//! Output of programs on its way to the loop: each program has a lane of its own, so that what one prints keeps its
//! order and never waits behind the flood of another.
//!
//! A lane holds a few pieces. When it is full its reader waits, and the kernel or the engine pushes back on the program.

use super::inbound::Inbound;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Pieces of up to 64 KiB that wait in a lane.
const WAITING: usize = 16;

/// What all lanes share.
#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    some: Notify,
    over: Notify,
    lanes: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    pieces: HashMap<u64, VecDeque<(Inbound, OwnedSemaphorePermit)>>,
    /// Lanes that have pieces, the one whose turn is next first.
    turns: VecDeque<u64>,
    /// The loop has ended.
    over: bool,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where lanes begin.
#[derive(Clone, Default)]
pub struct Entrance(Arc<Shared>);

/// Where they end. Dropping it lets everything go that waits.
pub struct Exit(Arc<Shared>);

/// The way of one program's output.
pub struct Lane {
    number: u64,
    shared: Arc<Shared>,
    room: Arc<Semaphore>,
}

/// Both ends.
#[must_use]
pub fn lanes() -> (Entrance, Exit) {
    let shared = Arc::<Shared>::default();
    (Entrance(Arc::clone(&shared)), Exit(shared))
}

impl Entrance {
    /// A lane of its own.
    #[must_use]
    pub fn lane(&self) -> Lane {
        let number = self.0.lanes.fetch_add(1, Ordering::Relaxed);
        Lane { number, shared: Arc::clone(&self.0), room: Arc::new(Semaphore::new(WAITING)) }
    }
}

impl Lane {
    /// Hands a piece on, once there is room. Quiet when the loop has ended.
    pub async fn send(&self, piece: Inbound) {
        let room = Arc::clone(&self.room).acquire_owned();
        let over = self.shared.over.notified();
        tokio::pin!(over);
        // From here on the end is noticed, also before it is waited for.
        over.as_mut().enable();
        if self.shared.waiting().over {
            return;
        }
        let room = tokio::select! {
            Ok(room) = room => room,
            () = over => return,
        };
        let mut waiting = self.shared.waiting();
        if waiting.over {
            return;
        }
        let pieces = waiting.pieces.entry(self.number).or_default();
        pieces.push_back((piece, room));
        if pieces.len() == 1 {
            waiting.turns.push_back(self.number);
        }
        drop(waiting);
        self.shared.some.notify_one();
    }
}

impl Exit {
    /// The next piece, lane by lane in turn, of those lanes whose next piece is `wanted`.
    pub fn take(&self, mut wanted: impl FnMut(&Inbound) -> bool) -> Option<Inbound> {
        let mut waiting = self.0.waiting();
        let Waiting { pieces, turns, .. } = &mut *waiting;
        let mut is_wanted =
            |lane: &u64| pieces.get(lane).and_then(VecDeque::front).is_some_and(|(next, _)| wanted(next));
        let at = turns.iter().position(&mut is_wanted)?;
        let lane = turns.remove(at)?;
        let queue = pieces.get_mut(&lane)?;
        let (piece, _room) = queue.pop_front()?;
        if queue.is_empty() {
            pieces.remove(&lane);
        } else {
            turns.push_back(lane);
        }
        Some(piece)
    }

    /// The next piece that is `wanted`, once there is one.
    pub async fn next(&self, mut wanted: impl FnMut(&Inbound) -> bool) -> Inbound {
        loop {
            if let Some(piece) = self.take(&mut wanted) {
                return piece;
            }
            self.0.some.notified().await;
        }
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.waiting().turns.is_empty()
    }
}

impl Drop for Exit {
    fn drop(&mut self) {
        let left = {
            let mut waiting = self.0.waiting();
            waiting.over = true;
            waiting.turns.clear();
            std::mem::take(&mut waiting.pieces)
        };
        self.0.over.notify_waiters();
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Msg;
    use crate::domain::SessionId;
    use futures_util::FutureExt;

    fn piece(session: &str, text: &str) -> Inbound {
        Inbound::Msg(Msg::Output { session: SessionId::new(session), bytes: text.as_bytes().to_vec() })
    }

    fn text(piece: Option<Inbound>) -> String {
        match piece {
            Some(Inbound::Msg(Msg::Output { bytes, .. })) => String::from_utf8(bytes).expect("text"),
            _ => String::new(),
        }
    }

    #[tokio::test]
    async fn lanes_take_turns_and_each_keeps_its_order() {
        let (entrance, exit) = lanes();
        let (a, b) = (entrance.lane(), entrance.lane());
        for one in ["a1", "a2", "a3"] {
            a.send(piece("a", one)).await;
        }
        b.send(piece("b", "b1")).await;
        let order: Vec<_> = std::iter::from_fn(|| exit.take(|_| true)).map(|piece| text(Some(piece))).collect();
        assert_eq!(order, ["a1", "b1", "a2", "a3"]);
        assert!(exit.is_empty());
    }

    #[tokio::test]
    async fn what_is_not_wanted_now_keeps_its_place() {
        let (entrance, exit) = lanes();
        let (loud, quiet) = (entrance.lane(), entrance.lane());
        loud.send(piece("loud", "flood")).await;
        quiet.send(piece("quiet", "x")).await;
        loud.send(piece("loud", "y")).await;
        let short = |piece: &Inbound| matches!(piece, Inbound::Msg(Msg::Output { bytes, .. }) if bytes.len() < 2);
        assert_eq!(text(exit.take(short)), "x");
        // The short one behind the flood must not overtake it.
        assert!(exit.take(short).is_none());
        assert_eq!(text(Some(exit.next(|_| true).await)), "flood");
        assert_eq!(text(exit.take(short)), "y");
    }

    #[tokio::test]
    async fn a_full_lane_waits_for_room_and_nobody_waits_for_a_loop_that_has_ended() {
        let (entrance, exit) = lanes();
        let (full, other) = (entrance.lane(), entrance.lane());
        for _ in 0..WAITING {
            full.send(piece("a", "x")).await;
        }
        let mut waits = Box::pin(full.send(piece("a", "last")));
        assert!(waits.as_mut().now_or_never().is_none());
        assert!(other.send(piece("b", "y")).now_or_never().is_some(), "a lane of its own");
        drop(exit.take(|_| true));
        assert!(waits.as_mut().now_or_never().is_some(), "room again");
        let mut waits = Box::pin(full.send(piece("a", "never")));
        assert!(waits.as_mut().now_or_never().is_none());
        drop(exit);
        assert!(waits.as_mut().now_or_never().is_some(), "the loop has ended");
        assert!(full.send(piece("a", "late")).now_or_never().is_some());
    }
}
