//! Tells sessions and commands what the engine's events say of them, so that nothing has to be polled.

use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::broadcast;

/// News for sessions and commands.
#[derive(Clone, Debug)]
pub enum News {
    /// An exec ended.
    Ended(String),
    /// One of the execs in this container did; the engine does not say which.
    EndedIn(String),
    /// Something may have been missed.
    LookAgain,
}

/// Where news is heard.
pub struct Hub {
    news: broadcast::Sender<News>,
    live: AtomicBool,
}

impl Default for Hub {
    fn default() -> Self {
        Self { news: broadcast::Sender::new(1024), live: AtomicBool::new(false) }
    }
}

impl Hub {
    /// From now on.
    pub fn listen(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }

    /// Tells everybody. Nobody may be there.
    pub fn tell(&self, news: News) {
        let _ = self.news.send(news);
    }

    /// Whether events come in now.
    pub fn set_live(&self, live: bool) {
        self.live.store(live, Ordering::Relaxed);
    }

    /// Whether an end would be heard of.
    pub fn is_live(&self) -> bool {
        self.live.load(Ordering::Relaxed)
    }
}
