//! Waits for the fact that an engine may answer now, so that nobody asks again and again where there is none.
//!
//! An engine that starts makes its socket. Until then nothing has to be tried: the kernel says when a name appears in a
//! folder (inotify(7)). Where it cannot say so, or a socket is there and does not answer, time has to be waited for.

use super::address::Address;
use super::places::Place;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Links that are followed from one path.
#[cfg(target_os = "linux")]
const MOST_LINKS: usize = 16;

/// What was watched for from a moment on.
pub struct Arrival {
    #[cfg(target_os = "linux")]
    folders: Option<linux::Folders>,
    paths: Vec<PathBuf>,
    /// One of them is elsewhere: nothing here says when it answers.
    far: bool,
}

impl Arrival {
    /// From now on, at these paths. Whoever tries them afterwards misses nothing.
    pub fn watch(places: &[&Place]) -> Self {
        // What was said and is not understood will not come to be by itself.
        let addresses: Vec<&Address> = places.iter().filter_map(|place| place.address.as_ref().ok()).collect();
        let paths: Vec<PathBuf> = addresses.iter().filter_map(|address| address.socket()).map(Path::to_owned).collect();
        Self {
            #[cfg(target_os = "linux")]
            folders: linux::Folders::watch(&paths),
            far: paths.len() < addresses.len(),
            paths,
        }
    }

    /// Whether all that can change here is said by the kernel: time alone brings nothing.
    pub fn is_certain(&self) -> bool {
        if self.far {
            return false;
        }
        #[cfg(target_os = "linux")]
        let heard = self.folders.is_some();
        #[cfg(not(target_os = "linux"))]
        let heard = false;
        heard && !self.paths.iter().any(|path| path.exists())
    }

    /// Waits until something changed at one of the paths, or on the way to it. For ever where the kernel says nothing.
    pub async fn changed(&self) {
        #[cfg(target_os = "linux")]
        if let Some(folders) = &self.folders {
            return folders.changed().await;
        }
        std::future::pending::<()>().await;
    }
}

/// What must appear for a path to be there: the names that matter, each with the folder that exists already. A link
/// that leads nowhere yet matters at both ends.
#[cfg(target_os = "linux")]
fn spots(path: &Path) -> BTreeSet<(PathBuf, OsString)> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![path.to_owned()];
    for _ in 0..MOST_LINKS {
        let Some(path) = waiting.pop() else { break };
        // The first part that is missing, or the last one.
        let missing = |part: &&Path| !part.exists() || *part == path;
        let parts: Vec<&Path> = path.ancestors().collect();
        let Some(part) = parts.into_iter().rev().find(missing) else { continue };
        let (Some(folder), Some(name)) = (part.parent(), part.file_name()) else { continue };
        if let Ok(target) = std::fs::read_link(part) {
            waiting.push(folder.join(target));
        }
        found.insert((folder.to_owned(), name.to_owned()));
    }
    found
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{BTreeSet, OsString, PathBuf, spots};
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
    use std::collections::HashMap;
    use std::io;
    use std::os::fd::AsFd;
    use tokio::net::unix::pipe;

    /// The folders in which something has to happen first.
    pub struct Folders {
        inotify: Inotify,
        /// The same descriptor once more, with which the runtime waits. It is as little a file as a pipe is.
        ready: pipe::Receiver,
        names: HashMap<WatchDescriptor, BTreeSet<OsString>>,
    }

    impl Folders {
        /// `None` where the kernel refuses: too many watches, for example.
        pub fn watch(paths: &[PathBuf]) -> Option<Self> {
            let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).ok()?;
            let all = || paths.iter().flat_map(|path| spots(path)).collect::<BTreeSet<_>>();
            let mut wanted = all();
            loop {
                let mut names: HashMap<WatchDescriptor, BTreeSet<OsString>> = HashMap::new();
                for (folder, name) in &wanted {
                    // The rights of a socket are set a moment after its making.
                    let kinds = AddWatchFlags::IN_CREATE
                        | AddWatchFlags::IN_MOVED_TO
                        | AddWatchFlags::IN_ATTRIB
                        | AddWatchFlags::IN_DELETE_SELF
                        | AddWatchFlags::IN_MOVE_SELF;
                    let watch = inotify.add_watch(folder, kinds).ok()?;
                    names.entry(watch).or_default().insert(name.clone());
                }
                // What appeared before the watches were set is not announced.
                let now = all();
                if now == wanted {
                    let again = inotify.as_fd().try_clone_to_owned().ok()?;
                    let ready = pipe::Receiver::from_owned_fd_unchecked(again).ok()?;
                    return Some(Self { inotify, ready, names });
                }
                wanted = now;
            }
        }

        pub async fn changed(&self) {
            loop {
                if self.ready.readable().await.is_err() {
                    return;
                }
                let read = || self.inotify.read_events().map_err(io::Error::from);
                match self.ready.try_io(read) {
                    Ok(events) if events.iter().any(|event| self.matters(event)) => return,
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
            }
        }

        /// A name that was waited for, or the folder itself, or news were lost.
        fn matters(&self, event: &InotifyEvent) -> bool {
            match (&event.name, self.names.get(&event.wd)) {
                (Some(name), Some(names)) => names.contains(name),
                _ => true,
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::os::unix::fs::symlink;

    fn watch(path: &Path) -> Arrival {
        Arrival::watch(&[&Place::socket(path)])
    }

    #[test]
    fn the_nearest_folder_that_is_there_is_watched_and_links_are_followed() {
        let dir = tempfile::tempdir().expect("folder");
        let at = |name: &str| dir.path().join(name);
        let spot = |folder: &str, name: &str| (at(folder), OsString::from(name));
        std::fs::create_dir(at("here")).expect("made");
        assert_eq!(spots(&at("here/a/b.sock")), [spot("here", "a")].into());
        symlink(at("there/x.sock"), at("here/link")).expect("linked");
        let (here, there) = (spot("here", "link"), (dir.path().to_owned(), OsString::from("there")));
        assert_eq!(spots(&at("here/link")), [here.clone(), there].into());
        std::fs::create_dir(at("there")).expect("made");
        std::fs::write(at("there/x.sock"), "").expect("made");
        assert_eq!(spots(&at("here/link")), [here, spot("there", "x.sock")].into());
    }

    #[tokio::test]
    async fn only_the_names_on_the_way_count_and_time_brings_nothing_where_nothing_is() {
        let dir = tempfile::tempdir().expect("folder");
        let socket = dir.path().join("run/engine.sock");
        let arrival = watch(&socket);
        assert!(arrival.is_certain());
        std::fs::write(dir.path().join("something-else"), "").expect("made");
        std::fs::create_dir(dir.path().join("run")).expect("made");
        arrival.changed().await;
        let arrival = watch(&socket);
        let changed = arrival.changed();
        tokio::pin!(changed);
        let other = watch(&dir.path().join("run/engine.pid"));
        std::fs::write(dir.path().join("run/engine.pid"), "").expect("made");
        other.changed().await;
        assert!((&mut changed).now_or_never().is_none());
        std::fs::write(&socket, "").expect("made");
        changed.await;
        assert!(!watch(&socket).is_certain(), "what is there may come to answer by itself");
    }
}
