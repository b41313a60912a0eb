//! Has the kernel tell when a home of a hermes-agent was written, and when there is a new one.

use crate::hermes::home::{Home, Places};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What happened since the last look.
#[derive(Default)]
pub struct Happened {
    /// Homes whose records were written.
    pub written: BTreeSet<PathBuf>,
    /// Homes that were not there before.
    pub new: Vec<Home>,
}

/// Where to listen.
pub struct Watch {
    inotify: Inotify,
    places: Places,
    homes: Vec<(WatchDescriptor, PathBuf)>,
    /// Where a home may come to be, and under which name.
    cradles: Vec<(WatchDescriptor, Option<OsString>)>,
}

impl Watch {
    /// On the homes in these places.
    ///
    /// # Errors
    /// The kernel gives no more of these.
    pub fn new(places: Places) -> nix::Result<Self> {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        Ok(Self { inotify, places, homes: Vec::new(), cradles: Vec::new() })
    }

    /// Also on this folder: what is moved into it wakes.
    pub fn also(&self, folder: &Path) {
        self.add(folder, AddWatchFlags::IN_MOVED_TO);
    }

    fn add(&self, path: &Path, flags: AddWatchFlags) -> Option<WatchDescriptor> {
        match self.inotify.add_watch(path, flags) {
            Ok(watch) => Some(watch),
            Err(error) => {
                tracing::warn!("{} is not followed: {error}", path.display());
                None
            }
        }
    }

    /// Listens wherever there is something to hear now; the homes that are new.
    pub fn look(&mut self) -> Vec<Home> {
        let mut new = Vec::new();
        loop {
            let created = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_MOVE_SELF;
            let written = created | AddWatchFlags::IN_MODIFY;
            let homes = self.places.homes();
            let known = |home: &Home| self.homes.iter().any(|(_, path)| *path == home.path);
            let before = self.listened();
            new.extend(homes.iter().filter(|home| !known(home)).cloned());
            // One that was made anew at its old place needs to be listened to again.
            self.homes =
                homes.into_iter().filter_map(|home| Some((self.add(&home.path, written)?, home.path))).collect();
            let listened = |path: &Path| self.homes.iter().find(|(_, home)| home == path).map(|(watch, _)| *watch);
            let cradles = self.places.cradles().into_iter();
            let cradle = |(path, name): (PathBuf, Option<OsString>)| {
                Some((listened(&path).or_else(|| self.add(&path, created))?, name))
            };
            self.cradles = cradles.filter_map(cradle).collect();
            let now = self.listened();
            // Of one that is gone there is nothing to take away.
            before.difference(&now).for_each(|watch| _ = self.inotify.rm_watch(*watch));
            // Something may have been written in a folder before it was listened to.
            if now == before {
                return new;
            }
        }
    }

    /// Everything that is listened to for homes.
    fn listened(&self) -> BTreeSet<WatchDescriptor> {
        let homes = self.homes.iter().map(|(watch, _)| *watch);
        homes.chain(self.cradles.iter().map(|(watch, _)| *watch)).collect()
    }

    /// Waits until something happened (true), or that long.
    ///
    /// # Errors
    /// What poll(2) says.
    pub fn sleep(&self, most: Option<Duration>) -> nix::Result<bool> {
        let timeout = most.map_or(PollTimeout::NONE, |most| PollTimeout::try_from(most).unwrap_or(PollTimeout::MAX));
        let mut asked = [PollFd::new(self.inotify.as_fd(), PollFlags::POLLIN)];
        match poll(&mut asked, timeout) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What happened.
    ///
    /// # Errors
    /// What read(2) says.
    pub fn happened(&mut self) -> nix::Result<Happened> {
        let events = match self.inotify.read_events() {
            Ok(events) => events,
            Err(Errno::EAGAIN) => Vec::new(),
            Err(error) => return Err(error),
        };
        // More happened than the kernel keeps: it may have been anything.
        let lost = events.iter().any(|event| event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW));
        let told = |watch: WatchDescriptor| {
            let mut of_records = events.iter().filter(|event| event.name.as_deref().is_some_and(is_record));
            of_records.any(|event| event.wd == watch)
        };
        let written =
            self.homes.iter().filter(|(watch, _)| lost || told(*watch)).map(|(_, path)| path.clone()).collect();
        let new = if lost || events.iter().any(|event| self.may_be_home(event)) { self.look() } else { Vec::new() };
        Ok(Happened { written, new })
    }

    /// Whether there may be another home now, or one less: then what stands above it counts again.
    fn may_be_home(&self, event: &InotifyEvent) -> bool {
        if event.mask.intersects(AddWatchFlags::IN_IGNORED | AddWatchFlags::IN_MOVE_SELF) {
            return self.listened().contains(&event.wd);
        }
        let fits = |name: &Option<OsString>| name.is_none() || *name == event.name;
        self.cradles.iter().any(|(watch, name)| *watch == event.wd && fits(name))
    }
}

/// Reading touches the index beside the log; what counts is the log and the file.
fn is_record(name: &OsStr) -> bool {
    name == "state.db" || name == "state.db-wal" || name == "state.db-journal"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const SOON: Duration = Duration::from_secs(10);

    fn new_homes(watch: &mut Watch) -> Vec<PathBuf> {
        let mut new = Vec::new();
        while new.is_empty() && watch.sleep(Some(SOON)).expect("it waits") {
            new.extend(watch.happened().expect("it reads").new.into_iter().map(|home| home.path));
        }
        new
    }

    #[test]
    fn homes_that_come_go_and_come_again_are_told_and_a_folder_above_one_wakes_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = fs::canonicalize(folder.path()).expect("a path");
        let root = base.join("root");
        let mut watch = Watch::new(Places { named: Some(root.clone()), user: None }).expect("a watch");
        assert_eq!(watch.look(), []);
        fs::create_dir(&root).expect("made");
        fs::write(root.join("config.yaml"), "").expect("written");
        assert_eq!(new_homes(&mut watch), std::slice::from_ref(&root));
        let profile = root.join("profiles/work");
        fs::create_dir_all(&profile).expect("made");
        fs::create_dir(profile.join("sessions")).expect("made");
        assert_eq!(new_homes(&mut watch), std::slice::from_ref(&profile));
        fs::write(profile.join("state.db"), "x").expect("written");
        let mut written = BTreeSet::new();
        while written.is_empty() && watch.sleep(Some(SOON)).expect("it waits") {
            written = watch.happened().expect("it reads").written;
        }
        assert_eq!(written, BTreeSet::from([profile]));
        while watch.sleep(Some(Duration::ZERO)).expect("it waits") {
            watch.happened().expect("it reads");
        }
        fs::write(base.join("other"), "").expect("written");
        assert!(!watch.sleep(Some(Duration::ZERO)).expect("it waits"), "what is above a home is nothing to it");
        // Taken away, and made anew at the same place.
        fs::rename(&root, base.join("away")).expect("moved");
        while watch.sleep(Some(Duration::ZERO)).expect("it waits") {
            watch.happened().expect("it reads");
        }
        fs::create_dir_all(root.join("sessions")).expect("made");
        assert_eq!(new_homes(&mut watch), [root]);
    }

    #[test]
    fn after_more_than_the_kernel_keeps_everything_is_looked_at() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a path").join("root");
        fs::create_dir_all(root.join("sessions")).expect("made");
        let mut watch = Watch::new(Places { named: Some(root.clone()), user: None }).expect("a watch");
        assert_eq!(watch.look().len(), 1);
        let kept = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("a number");
        let kept: usize = kept.trim().parse().expect("a number");
        for n in 0..kept {
            fs::write(root.join(n.to_string()), "").expect("written");
        }
        fs::write(root.join("state.db"), "x").expect("written");
        let mut written = BTreeSet::new();
        while watch.sleep(Some(Duration::ZERO)).expect("it waits") {
            written.extend(watch.happened().expect("it reads").written);
        }
        assert_eq!(written, BTreeSet::from([root]));
    }
}
