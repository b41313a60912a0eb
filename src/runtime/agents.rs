//! Follows what hermes-agents on this machine write of their conversations. Nothing is asked at intervals: the kernel
//! tells when one of their files was written.

use super::agents_watch::Watch;
use super::clock::Clock;
use super::inbound::{Inbound, Inbox};
use super::paths::private_dir;
use crate::app::Msg;
use crate::domain::Moment;
use crate::hermes::home::{Home, Places};
use crate::hermes::hooks::{read_queue, remove};
use crate::hermes::records::Records;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A turn is written piece by piece: what is written within this time is read at once.
const TOGETHER: Duration = Duration::from_millis(20);
/// Events of hooks that are taken in one go.
const HOOKS: usize = 256;
/// Records that could not be read are looked at again after this long.
const AGAIN: Duration = Duration::from_secs(2);

/// What was written is looked at again after these times. The kernel tells of a commit before it can be read: SQLite writes
/// its log, waits until the disk has it, and lets readers see it only then (`sqlite3WalFrames`).
const LATER: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(5)];

/// Follows the homes in these places for as long as the host lives, in a thread of its own: reading them may take a
/// while. `hooks` is the folder in which their hooks leave what they have to tell.
pub fn follow(places: Places, hooks: PathBuf, inbox: Inbox) {
    std::thread::spawn(move || {
        if let Err(error) = read_and_wait(places, &hooks, &inbox) {
            inbox.note_trouble(&format!("conversations of hermes-agent are not followed: {error}"));
            tracing::warn!("conversations of hermes-agent are not followed: {error}");
        }
    });
}

/// A home that is followed.
struct Followed {
    records: Records,
    /// There may be something new in it.
    changed: bool,
    /// It could not be read then, and that was said.
    failed: Option<Instant>,
    later: Later,
}

impl Followed {
    fn new(home: Home) -> Self {
        Self { records: Records::new(home), changed: true, failed: None, later: Later::default() }
    }
}

/// Looks that follow the first one.
#[derive(Debug, Default)]
struct Later {
    /// When it was written last.
    written: Option<Instant>,
    /// How many of them are over.
    over: usize,
}

impl Later {
    fn written(&mut self, now: Instant) {
        *self = Self { written: Some(now), over: 0 };
    }

    fn due(&self) -> Option<Instant> {
        Some(self.written? + *LATER.get(self.over)?)
    }

    /// Whether one is due; it is over then.
    fn take(&mut self, now: Instant) -> bool {
        let due = self.due().is_some_and(|due| due <= now);
        self.over += usize::from(due);
        due
    }
}

fn read_and_wait(places: Places, hooks: &Path, inbox: &Inbox) -> nix::Result<()> {
    let clock = Clock::system();
    let mut watch = Watch::new(places)?;
    match private_dir(hooks) {
        Ok(()) => watch.also(hooks),
        Err(error) => tracing::warn!("{} cannot be made: {error}", hooks.display()),
    }
    let mut all: Vec<Followed> = watch.look().into_iter().map(Followed::new).collect();
    while !inbox.is_closed() {
        take_hooks(hooks, &mut all);
        for one in all.iter_mut().filter(|one| one.changed) {
            one.changed = false;
            let told = tell(&mut one.records, clock.now(), inbox, one.failed.is_some());
            one.failed = (!told).then(Instant::now);
        }
        let now = clock.now();
        let due = all.iter().filter_map(|one| one.records.due()).min();
        let due = due.map(|at| Duration::from_millis(at.since(now).0));
        let again = all.iter().filter_map(|one| one.failed).map(|at| AGAIN.saturating_sub(at.elapsed())).min();
        let later = all.iter().filter_map(|one| one.later.due()).min();
        let later = later.map(|due| due.saturating_duration_since(Instant::now()));
        if watch.sleep([due, again, later].into_iter().flatten().min())? {
            std::thread::sleep(TOGETHER);
            let happened = watch.happened()?;
            let written = |one: &&mut Followed| happened.written.contains(&one.records.home().path);
            for one in all.iter_mut().filter(written) {
                one.changed = true;
                one.later.written(Instant::now());
            }
            for home in happened.new {
                match all.iter_mut().find(|one| *one.records.home() == home) {
                    Some(one) => one.changed = true,
                    None => all.push(Followed::new(home)),
                }
            }
        }
        // Also where something else wakes all the time.
        let now = clock.now();
        for one in &mut all {
            let again = one.failed.is_some_and(|at| at.elapsed() >= AGAIN);
            let later = one.later.take(Instant::now());
            one.changed |= again || later || one.records.due().is_some_and(|at| at <= now);
        }
    }
    Ok(())
}

/// Takes what hooks have left.
fn take_hooks(folder: &Path, all: &mut [Followed]) {
    loop {
        let events = read_queue(folder, HOOKS);
        for (name, event) in &events {
            for one in all.iter_mut() {
                one.records.hooked(event);
                one.changed = true;
            }
            if let Err(error) = remove(folder, name) {
                // It would be taken again and again.
                tracing::warn!("{name} in {} cannot be removed: {error}", folder.display());
                return;
            }
        }
        if events.len() < HOOKS {
            return;
        }
    }
}

/// Tells what is new. False if it cannot be read now; that is said once.
fn tell(records: &mut Records, now: Moment, inbox: &Inbox, failed_before: bool) -> bool {
    match records.news(now) {
        Ok(news) => {
            for one in news {
                inbox.send_blocking(Inbound::Msg(Msg::AgentTold { told: Box::new(one.told), outputs: one.outputs }));
            }
            true
        }
        Err(error) => {
            if !failed_before {
                tracing::warn!("{error}");
                inbox.note_trouble(&error);
            }
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_looked_at_again_for_a_while_and_then_no_more() {
        let mut later = Later::default();
        let began = Instant::now();
        assert_eq!(later.due(), None, "nothing was written");
        later.written(began);
        let at = |millis: u64| began + Duration::from_millis(millis);
        assert!(!later.take(at(199)));
        assert_eq!(later.due(), Some(at(200)));
        assert!(later.take(at(200)) && !later.take(at(200)), "once");
        later.written(at(900));
        assert_eq!(later.due(), Some(at(1100)), "from the last time on");
        assert!(later.take(at(1100)) && later.take(at(1900)) && later.take(at(5900)));
        assert_eq!(later.due(), None, "nobody is waked for what nobody writes");
    }
}
