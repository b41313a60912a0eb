//! Limits that only a control group can set: best effort, and said so.
//!
//! Version 2 needs a folder that was delegated to us with its controllers switched on, version 1 one folder for each
//! controller. Without either, the limits are named as not enforced.

use super::super::protocol::Launch;
use std::fs;
use std::path::{Path, PathBuf};

/// One period of the processor limit, in microseconds.
const PERIOD_US: u64 = 100_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// One limit that is wanted.
struct Wanted {
    controller: &'static str,
    /// For people.
    name: &'static str,
    value: String,
    /// File and text, by version.
    one: Vec<(&'static str, String)>,
    two: Vec<(&'static str, String)>,
    /// Asked for by the user, so that its lack is worth a sentence.
    asked: bool,
}

/// The folders made for one sandbox, and what they limit.
pub struct Groups {
    pub folders: Vec<PathBuf>,
    /// Name, value, and the folder that limits.
    in_force: Vec<(String, String, PathBuf)>,
    missing: Vec<(String, bool)>,
}

fn wanted(launch: &Launch) -> Vec<Wanted> {
    let mut list = vec![Wanted {
        controller: "pids",
        name: "processes",
        value: launch.max_processes.to_string(),
        one: vec![("pids.max", launch.max_processes.to_string())],
        two: vec![("pids.max", launch.max_processes.to_string())],
        asked: false,
    }];
    if let Some(bytes) = launch.memory_bytes {
        list.push(Wanted {
            controller: "memory",
            name: "memory",
            value: format!("{} MiB", bytes >> 20),
            one: vec![("memory.limit_in_bytes", bytes.to_string())],
            two: vec![("memory.max", bytes.to_string())],
            asked: true,
        });
    }
    if let Some(millis) = launch.cpu_millis {
        let quota = (u64::from(millis) * PERIOD_US / 1000).max(1000);
        list.push(Wanted {
            controller: "cpu",
            name: "cpu",
            value: format!("{}.{:03} cores", millis / 1000, millis % 1000),
            one: vec![("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota.to_string())],
            two: vec![("cpu.max", format!("{quota} {PERIOD_US}"))],
            asked: true,
        });
    }
    list
}

/// Where `/proc/self/cgroup` says that we are, for a controller of version 1 or (empty name) for version 2.
fn own_path(table: &str, controller: &str) -> Option<String> {
    table.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, names, path) = (parts.next()?, parts.next()?, parts.next()?);
        let ours =
            if controller.is_empty() { names.is_empty() } else { names.split(',').any(|name| name == controller) };
        ours.then(|| path.to_owned())
    })
}

/// Where a hierarchy is mounted, from `/proc/self/mountinfo` (proc(5)).
fn mount_point(table: &str, version: Version, controller: &str) -> Option<PathBuf> {
    table.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let (kind, _, options) = (right.next()?, right.next()?, right.next()?);
        let fits = match version {
            Version::Two => kind == "cgroup2",
            Version::One => kind == "cgroup" && options.split(',').any(|option| option == controller),
        };
        fits.then(|| left.split(' ').nth(4).map(PathBuf::from))?
    })
}

/// Whether a group of version 2 has a controller for its children, or takes it on.
fn offers(parent: &Path, controller: &str) -> bool {
    let names = |file: &str| fs::read_to_string(parent.join(file)).unwrap_or_default();
    let has = |text: &str| text.split_whitespace().any(|one| one == controller);
    has(&names("cgroup.controllers"))
        && (has(&names("cgroup.subtree_control"))
            || fs::write(parent.join("cgroup.subtree_control"), format!("+{controller}")).is_ok())
}

impl Groups {
    /// Makes what can be made. Never fails: what is missing is told.
    pub fn make(launch: &Launch) -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let name = if launch.probe {
            format!("hermes-tui-probe-{}", std::process::id())
        } else {
            format!("hermes-tui-{}", launch.sandbox)
        };
        let mut groups = Self { folders: Vec::new(), in_force: Vec::new(), missing: Vec::new() };
        for want in wanted(launch) {
            let folder =
                groups.limit_two(&own, &mounts, &name, &want).or_else(|| groups.limit_one(&own, &mounts, &name, &want));
            match folder {
                Some(folder) => groups.in_force.push((want.name.into(), want.value, folder)),
                None => groups.missing.push((want.name.into(), want.asked)),
            }
        }
        groups
    }

    fn limit_one(&mut self, own: &str, mounts: &str, name: &str, want: &Wanted) -> Option<PathBuf> {
        let point = mount_point(mounts, Version::One, want.controller)?;
        let path = own_path(own, want.controller).unwrap_or_default();
        // In a container the path may be that of the host and not exist here; then the top is ours.
        [point.join(path.trim_start_matches('/')), point]
            .into_iter()
            .filter(|parent| parent.is_dir())
            .map(|parent| parent.join(name))
            .find(|folder| self.try_folder(folder, &want.one))
    }

    fn limit_two(&mut self, own: &str, mounts: &str, name: &str, want: &Wanted) -> Option<PathBuf> {
        let point = mount_point(mounts, Version::Two, "")?;
        let path = own_path(own, "").unwrap_or_default();
        let here = point.join(path.trim_start_matches('/'));
        // A group with processes in it, as ours is, has no children with controllers unless it is the root
        // (cgroups(7), "no internal processes"): so beside ours, or further up.
        let parents = here.ancestors().take_while(|parent| parent.starts_with(&point));
        parents
            .filter(|parent| **parent != here || here == point)
            .filter(|parent| offers(parent, want.controller))
            .map(|parent| parent.join(name))
            .find(|folder| self.try_folder(folder, &want.two))
    }

    fn try_folder(&mut self, folder: &Path, files: &[(&'static str, String)]) -> bool {
        let known = self.folders.iter().any(|one| one == folder);
        if !known && fs::create_dir(folder).is_err() && !folder.is_dir() {
            return false;
        }
        // Version 2: below a group that has processes, a new one may be of a kind that takes none.
        let usable = fs::read_to_string(folder.join("cgroup.type")).map_or(true, |kind| kind.trim() == "domain");
        let done = usable && files.iter().all(|(file, text)| fs::write(folder.join(file), text).is_ok());
        if !done && !known {
            let _ = fs::remove_dir(folder);
        } else if !known {
            self.folders.push(folder.to_owned());
        }
        done
    }

    /// Puts a process in, before it starts anything. Returns the limits in force or not, and sentences for those
    /// that were asked for and are not.
    pub fn admit(&self, pid: i32) -> (Vec<(String, String)>, Vec<String>) {
        let joined: Vec<&PathBuf> = self
            .folders
            .iter()
            .filter(|folder| fs::write(folder.join("cgroup.procs"), pid.to_string()).is_ok())
            .collect();
        let mut limits = Vec::new();
        let mut sentences = Vec::new();
        let why = "not enforced: no control group that we may use";
        for (name, value, folder) in &self.in_force {
            if joined.contains(&folder) {
                limits.push((name.clone(), format!("{value} (cgroup)")));
            } else {
                limits.push((name.clone(), why.to_owned()));
                let sentence =
                    format!("the limit on {name} is not enforced: its control group does not admit processes");
                sentences.push(sentence);
            }
        }
        for (name, asked) in &self.missing {
            limits.push((name.clone(), why.to_owned()));
            if *asked || name == "processes" {
                sentences
                    .push(format!("the limit on {name} is not enforced: there is no control group that we may use"));
            }
        }
        (limits, sentences)
    }

    /// Removes the folders, once everything in them has ended.
    pub fn remove(&self) {
        for folder in &self.folders {
            // The kernel may count the last process for a moment longer (cgroups(7)): a few more tries.
            for _ in 0..50 {
                match fs::remove_dir(folder) {
                    Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                        std::thread::sleep(std::time::Duration::from_millis(10));
                    }
                    _ => break,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found_in_the_kernels_tables() {
        let own = "9:name=systemd:/\n8:pids:/a\n1:cpu,cpuacct:/b\n0::/user.slice\n";
        assert_eq!(own_path(own, "pids").as_deref(), Some("/a"));
        assert_eq!(own_path(own, "cpu").as_deref(), Some("/b"));
        assert_eq!(own_path(own, "").as_deref(), Some("/user.slice"));
        assert_eq!(own_path(own, "memory"), None);
        let mounts = "30 25 0:26 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids\n\
                      31 25 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        assert_eq!(mount_point(mounts, Version::One, "pids"), Some("/sys/fs/cgroup/pids".into()));
        assert_eq!(mount_point(mounts, Version::One, "cpu"), None);
        assert_eq!(mount_point(mounts, Version::Two, ""), Some("/sys/fs/cgroup/unified".into()));
    }
}
