//! Follows what hermes-agents on this machine write of their conversations. Nothing is asked at intervals: the kernel
//! tells when one of their files was written.

use super::clock::Clock;
use super::inbound::{Inbound, Inbox};
use super::paths::private_dir;
use crate::app::Msg;
use crate::domain::Moment;
use crate::hermes::home::Home;
use crate::hermes::hooks::{read_queue, remove};
use crate::hermes::records::Records;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A turn is written piece by piece: what is written within this time is read at once.
const TOGETHER: Duration = Duration::from_millis(20);
/// Events of hooks that are taken in one go.
const HOOKS: usize = 256;
/// Records that could not be read are looked at again after this long.
const AGAIN: Duration = Duration::from_secs(2);

/// Follows these homes for as long as the host lives, in a thread of its own: reading them may take a while.
/// `hooks` is the folder in which their hooks leave what they have to tell.
pub fn follow(homes: Vec<Home>, hooks: PathBuf, inbox: Inbox) {
    if homes.is_empty() {
        return;
    }
    std::thread::spawn(move || {
        if let Err(error) = read_and_wait(homes, &hooks, &inbox) {
            inbox.note_trouble(&format!("conversations of hermes-agent are not followed: {error}"));
            tracing::warn!("conversations of hermes-agent are not followed: {error}");
        }
    });
}

struct Followed {
    records: Records,
    watch: WatchDescriptor,
}

fn read_and_wait(homes: Vec<Home>, hooks: &Path, inbox: &Inbox) -> nix::Result<()> {
    let clock = Clock::system();
    let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
    let flags = AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO;
    let mut all = Vec::new();
    for home in homes {
        match inotify.add_watch(&home.path, flags) {
            Ok(watch) => all.push(Followed { records: Records::new(home), watch }),
            Err(error) => tracing::warn!("{} is not followed: {error}", home.path.display()),
        }
    }
    if let Err(error) = private_dir(hooks) {
        tracing::warn!("{} cannot be made: {error}", hooks.display());
    } else if let Err(error) = inotify.add_watch(hooks, AddWatchFlags::IN_MOVED_TO) {
        tracing::warn!("{} is not followed: {error}", hooks.display());
    }
    let mut changed: BTreeSet<usize> = (0..all.len()).collect();
    let mut failed = BTreeSet::new();
    while !inbox.is_closed() {
        if take_hooks(hooks, &mut all) {
            changed.extend(0..all.len());
        }
        for index in std::mem::take(&mut changed) {
            if !tell(&mut all[index].records, clock.now(), inbox, failed.contains(&index)) {
                failed.insert(index);
            } else {
                failed.remove(&index);
            }
        }
        let now = clock.now();
        let due = all.iter().filter_map(|one| one.records.due()).min();
        let due = due.map(|at| Duration::from_millis(at.since(now).0));
        let wait = if failed.is_empty() { due } else { Some(due.unwrap_or(AGAIN).min(AGAIN)) };
        if sleep(&inotify, wait)? {
            std::thread::sleep(TOGETHER);
            changed.extend(written(&inotify, &all)?);
        } else {
            let now = clock.now();
            let over = |one: &Followed| one.records.due().is_some_and(|at| at <= now);
            changed.extend((0..all.len()).filter(|index| over(&all[*index]) || failed.contains(index)));
        }
    }
    Ok(())
}

/// Takes what hooks have left. Whether there was anything.
fn take_hooks(folder: &Path, all: &mut [Followed]) -> bool {
    let mut any = false;
    loop {
        let events = read_queue(folder, HOOKS);
        for (name, event) in &events {
            all.iter_mut().for_each(|one| one.records.hooked(event));
            if let Err(error) = remove(folder, name) {
                // It would be taken again and again.
                tracing::warn!("{name} in {} cannot be removed: {error}", folder.display());
                return true;
            }
            any = true;
        }
        if events.len() < HOOKS {
            return any;
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

/// Waits until something was written (true), or that long.
fn sleep(inotify: &Inotify, most: Option<Duration>) -> nix::Result<bool> {
    let timeout = most.map_or(PollTimeout::NONE, |most| PollTimeout::try_from(most).unwrap_or(PollTimeout::MAX));
    let mut asked = [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)];
    match poll(&mut asked, timeout) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The homes whose records were written.
fn written(inotify: &Inotify, all: &[Followed]) -> nix::Result<BTreeSet<usize>> {
    let events = match inotify.read_events() {
        Ok(events) => events,
        Err(Errno::EAGAIN) => Vec::new(),
        Err(error) => return Err(error),
    };
    // Reading touches the index beside the log; what counts is the log and the file.
    let counts = |name: &std::ffi::OsStr| name == "state.db" || name == "state.db-wal" || name == "state.db-journal";
    let of = |watch: &WatchDescriptor| all.iter().position(|one| one.watch == *watch);
    Ok(events
        .iter()
        .filter(|event| event.name.as_deref().is_some_and(counts))
        .filter_map(|event| of(&event.wd))
        .collect())
}
