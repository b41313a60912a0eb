//! Where time comes from. The loop asks a [`Clock`]; tests turn a [`ManualClock`] by hand.

use crate::domain::{Moment, Span};
use nix::time::{ClockId, clock_gettime};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// A jump larger than this is reported; smaller ones are the ordinary slewing of the clock.
const JUMP_MS: u64 = 2_000;

/// A source of time.
#[derive(Clone)]
pub enum Clock {
    /// The machine's.
    System(Arc<SystemClock>),
    /// Turned by hand.
    Manual(ManualClock),
}

impl Clock {
    /// The machine's clock, starting now.
    #[must_use]
    pub fn system() -> Self {
        Self::System(Arc::new(SystemClock::start()))
    }

    /// Now. Never goes backwards.
    #[must_use]
    pub fn now(&self) -> Moment {
        match self {
            Self::System(clock) => clock.now(),
            Self::Manual(clock) => clock.now(),
        }
    }

    /// How far the clock jumped, or the machine slept, since this was last asked; zero almost always.
    #[must_use]
    pub fn take_jump(&self) -> Span {
        match self {
            Self::System(clock) => clock.take_jump(),
            Self::Manual(clock) => clock.take_jump(),
        }
    }

    /// Resolves at `at`; never for `None`.
    pub async fn sleep_until(&self, at: Option<Moment>) {
        let Some(at) = at else { return std::future::pending().await };
        match self {
            Self::System(clock) => {
                // A timer's own resolution is a millisecond; a deadline must have passed when it fires.
                let left = at.since(clock.now()).0;
                if left > 0 {
                    tokio::time::sleep(Duration::from_millis(left + 1)).await;
                }
            }
            Self::Manual(clock) => clock.sleep_until(at).await,
        }
    }
}

/// Wall-clock time at the start plus time passed since, sleep of the machine included. Setting the wall clock
/// does not move it, so that no deadline comes nearer by it.
pub struct SystemClock {
    wall_at_start: u64,
    boot_at_start: u64,
    seen: Mutex<Seen>,
}

struct Seen {
    slept_ms: u64,
    wall_offset_ms: i64,
}

impl SystemClock {
    fn start() -> Self {
        let wall = wall_ms();
        let boot = clock_ms(ClockId::CLOCK_BOOTTIME);
        let slept_ms = boot.saturating_sub(clock_ms(ClockId::CLOCK_MONOTONIC));
        Self {
            wall_at_start: wall,
            boot_at_start: boot,
            seen: Mutex::new(Seen { slept_ms, wall_offset_ms: wall.cast_signed() - boot.cast_signed() }),
        }
    }

    fn now(&self) -> Moment {
        Moment(self.wall_at_start + clock_ms(ClockId::CLOCK_BOOTTIME).saturating_sub(self.boot_at_start))
    }

    fn take_jump(&self) -> Span {
        let boot = clock_ms(ClockId::CLOCK_BOOTTIME);
        let slept_ms = boot.saturating_sub(clock_ms(ClockId::CLOCK_MONOTONIC));
        let wall_offset_ms = wall_ms().cast_signed() - boot.cast_signed();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let slept = slept_ms.saturating_sub(seen.slept_ms);
        let set = wall_offset_ms.abs_diff(seen.wall_offset_ms);
        if slept.max(set) < JUMP_MS {
            return Span::ZERO;
        }
        *seen = Seen { slept_ms, wall_offset_ms };
        Span(slept.max(set))
    }
}

fn clock_ms(id: ClockId) -> u64 {
    clock_gettime(id).map_or(0, |t| {
        u64::try_from(t.tv_sec()).unwrap_or(0) * 1000 + u64::try_from(t.tv_nsec()).unwrap_or(0) / 1_000_000
    })
}

fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A clock that stands still until it is turned.
#[derive(Clone)]
pub struct ManualClock {
    inner: Arc<Manual>,
}

struct Manual {
    now: Mutex<Moment>,
    jumped: Mutex<Span>,
    turned: Notify,
}

impl ManualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn new(now: Moment) -> Self {
        Self { inner: Arc::new(Manual { now: Mutex::new(now), jumped: Mutex::default(), turned: Notify::new() }) }
    }

    /// What it shows.
    #[must_use]
    pub fn now(&self) -> Moment {
        *self.inner.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Turns it forward.
    pub fn advance(&self, by: Span) {
        let mut now = self.inner.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now = *now + by;
        drop(now);
        self.inner.turned.notify_waiters();
    }

    /// Turns it forward as the sleep of a machine does.
    pub fn jump(&self, by: Span) {
        *self.inner.jumped.lock().unwrap_or_else(PoisonError::into_inner) = by;
        self.advance(by);
    }

    fn take_jump(&self) -> Span {
        std::mem::take(&mut *self.inner.jumped.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn sleep_until(&self, at: Moment) {
        loop {
            let turned = self.inner.turned.notified();
            if self.now() >= at {
                return;
            }
            turned.await;
        }
    }
}
