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
            let created = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO;
            let written = created | AddWatchFlags::IN_MODIFY;
            let homes = self.places.homes();
            let known = |home: &Home| self.homes.iter().any(|(_, path)| *path == home.path);
            let before = (self.homes.len(), self.cradles.len());
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
            // Something may have been written in a folder before it was listened to.
            if (self.homes.len(), self.cradles.len()) == before {
                return new;
            }
        }
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
        let written = events.iter().filter(|event| event.name.as_deref().is_some_and(is_record));
        let written = written.filter_map(|event| self.homes.iter().find(|(watch, _)| *watch == event.wd));
        let written = written.map(|(_, path)| path.clone()).collect();
        let new = if events.iter().any(|event| self.may_be_home(event)) { self.look() } else { Vec::new() };
        Ok(Happened { written, new })
    }

    fn may_be_home(&self, event: &InotifyEvent) -> bool {
        let fits = |name: &Option<OsString>| name.is_none() || *name == event.name;
        self.cradles.iter().any(|(watch, name)| *watch == event.wd && fits(name))
    }
}

/// Reading touches the index beside the log; what counts is the log and the file.
fn is_record(name: &OsStr) -> bool {
    name == "state.db" || name == "state.db-wal" || name == "state.db-journal"
}
