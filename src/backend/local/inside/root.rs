//! The private root of a sandbox: an allow-list of what it sees, and nothing of the rest.
//!
//! Everything is bound from the host's tree below `/oldroot` into a new one, which then becomes the root; the
//! host's tree is detached before any program starts. A read-only view of the whole host would not do: sockets in
//! it still connect.

use super::super::protocol::Launch;
use super::{INSIDE_HOME, Refused, etc};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{chdir, pivot_root};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// Space of the private `/tmp`.
const TMP_SIZE: &str = "2g";
/// Space of `/dev/shm`.
const SHM_SIZE: &str = "512m";

const NEW: &str = "/newroot";
const OLD: &str = "/oldroot";

/// Parts of `/proc` that speak of the whole machine; empty inside.
const PROC_HIDDEN: &[&str] = &[
    "acpi",
    "kcore",
    "keys",
    "key-users",
    "kmsg",
    "kallsyms",
    "kpagecount",
    "kpageflags",
    "kpagecgroup",
    "latency_stats",
    "sched_debug",
    "scsi",
    "sysrq-trigger",
    "timer_list",
    "timer_stats",
    "vmallocinfo",
    "pressure",
    "mdstat",
];
/// Parts of `/proc` through which root of the host could change the machine: the kernel lets it by its number alone,
/// without any capability (`proc_sys_permission`). And our own first process.
const PROC_READ_ONLY: &[&str] = &["1", "asound", "bus", "fs", "irq", "mtrr", "sys"];

/// Folders that a mount of the user may not replace or reach into.
const RESERVED: &[&str] = &["/proc", "/dev", "/sys"];
/// Folders that a mount of the user may reach into, but not replace.
const OURS: &[&str] =
    &["/", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/tmp", "/home", "/workspace", INSIDE_HOME];

#[derive(Debug)]
struct Bind {
    /// On the host, without links.
    source: PathBuf,
    /// Inside.
    target: PathBuf,
    read_only: bool,
    /// Paths below the target to cover.
    covered: Vec<PathBuf>,
    /// Missing folders on the way to the target may be made.
    is_dir: bool,
}

/// What the root will hold, with every path of the host resolved while the host's tree is still the root.
#[derive(Debug, Default)]
pub struct Plan {
    binds: Vec<Bind>,
    links: Vec<(PathBuf, PathBuf)>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Plan {
    /// Resolves the launch against the host's tree.
    pub fn resolve(launch: &Launch) -> Result<Self, Refused> {
        let mut plan = Self::default();
        for name in ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
            let path = Path::new("/").join(name);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => {
                    // Merged systems: `/bin` is a link to `usr/bin`, and stays one.
                    if let Ok(text) = fs::read_link(&path) {
                        plan.links.push((path, text));
                    }
                }
                Ok(found) if found.is_dir() => plan.show(path.clone(), path),
                _ => {}
            }
        }
        etc::plan(launch, &mut plan);
        let folder = |path: &Path, what: &str| {
            fs::canonicalize(path)
                .and_then(
                    |real| if real.is_dir() { Ok(real) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) },
                )
                .map_err(|error| {
                    Refused::new(
                        format!("cannot use {} as {what}: {error}", path.display()),
                        "make the folder, or check who owns it",
                    )
                })
        };
        plan.bind(folder(&launch.home, "the home directory")?, INSIDE_HOME.into(), false);
        plan.bind(folder(&launch.workspace, "/workspace")?, "/workspace".into(), false);
        let hidden: Vec<PathBuf> = launch.hidden.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        let mut mounts: Vec<_> = launch.mounts.iter().collect();
        mounts.sort_by_key(|one| Path::new(&one.target).components().count());
        for one in mounts {
            let target = checked_target(&one.target)?;
            let source = Path::new(&one.source);
            let real =
                if source.is_absolute() { fs::canonicalize(source) } else { Err(io::ErrorKind::InvalidInput.into()) };
            let real = real.map_err(|error| {
                Refused::new(
                    format!("cannot mount {}: {error}", one.source),
                    "give an absolute path that exists on this machine",
                )
            })?;
            if let Some(owner) = hidden.iter().find(|path| real.starts_with(path)) {
                return Err(Refused::new(
                    format!("cannot mount {}: it is part of hermes-tui's own {}", one.source, owner.display()),
                    "copy what is needed elsewhere first",
                ));
            }
            plan.bind(real, target, one.read_only);
        }
        for bind in &mut plan.binds {
            if bind.target != Path::new("/workspace") && bind.target != Path::new(INSIDE_HOME) {
                bind.covered =
                    hidden.iter().filter_map(|path| path.strip_prefix(&bind.source).ok().map(Path::to_owned)).collect();
            }
        }
        Ok(plan)
    }

    /// Shows a folder or file of the host, read-only.
    pub fn show(&mut self, source: PathBuf, target: PathBuf) {
        self.bind(source, target, true);
    }

    /// Puts a file of our own there.
    pub fn file(&mut self, path: &Path, text: Vec<u8>) {
        self.files.push((path.to_owned(), text));
    }

    /// Puts a link there.
    pub fn link(&mut self, path: &Path, to: &Path) {
        self.links.push((path.to_owned(), to.to_owned()));
    }

    fn bind(&mut self, source: PathBuf, target: PathBuf, read_only: bool) {
        let is_dir = source.is_dir();
        self.binds.push(Bind { source, target, read_only, covered: Vec::new(), is_dir });
    }

    /// Builds the root and moves into it. The caller is in mount, pid and user namespaces of its own, and the only
    /// process in them.
    pub fn enter(&self) -> Result<(), Refused> {
        let step = |what: &str| {
            let what = what.to_owned();
            move |error: nix::errno::Errno| Refused::step(what, error)
        };
        let none: Option<&str> = None;
        let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).map_err(step("make mounts private"))?;
        // A base of our own below the host's tree, then the host's tree below the base.
        mount(Some("tmpfs"), "/tmp", Some("tmpfs"), quiet, Some("mode=0755")).map_err(step("mount a tmpfs"))?;
        make_dir(Path::new("/tmp/newroot"))?;
        make_dir(Path::new("/tmp/oldroot"))?;
        pivot_root("/tmp", "/tmp/oldroot").map_err(step("enter a new root"))?;
        chdir("/").map_err(step("enter a new root"))?;
        mount(Some("tmpfs"), NEW, Some("tmpfs"), quiet, Some("mode=0755,size=16m")).map_err(step("mount a tmpfs"))?;

        for name in ["home", "root", "run", "var", "mnt", "etc", "proc", "dev", "tmp", "workspace"] {
            make_dir(&Path::new(NEW).join(name))?;
        }
        mount(Some("tmpfs"), "/newroot/tmp", Some("tmpfs"), quiet, Some(format!("mode=1777,size={TMP_SIZE}").as_str()))
            .map_err(step("mount /tmp"))?;
        let proc_flags = quiet | MsFlags::MS_NOEXEC;
        mount(Some("proc"), "/newroot/proc", Some("proc"), proc_flags, none).map_err(|errno| {
            Refused::new(
                format!("cannot mount /proc ({errno}): this runs in a container that hides parts of its own /proc"),
                "run that container with an unmasked /proc, use the docker backend, or --on-host for a plain host shell",
            )
        })?;
        self.devices()?;
        for (path, text) in &self.files {
            let path = below(path);
            make_parents(&path)?;
            fs::write(&path, text).map_err(|error| Refused::step(format!("write {}", path.display()), error))?;
        }
        for (path, to) in &self.links {
            let path = below(path);
            make_parents(&path)?;
            symlink(to, &path).map_err(|error| Refused::step(format!("link {}", path.display()), error))?;
        }
        for bind in &self.binds {
            bind.perform()?;
        }
        cover_proc()?;

        umount2(OLD, MntFlags::MNT_DETACH).map_err(step("detach the host's files"))?;
        // pivot_root(2): "." over "." stacks the old root on the new one, from where it is detached.
        chdir(NEW).map_err(step("enter the private root"))?;
        pivot_root(".", ".").map_err(step("enter the private root"))?;
        umount2(".", MntFlags::MNT_DETACH).map_err(step("detach the base"))?;
        chdir("/").map_err(step("enter the private root"))?;
        let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | quiet;
        mount(none, "/", none, flags, none).map_err(step("make the root read-only"))
    }

    /// A `/dev` with what every program expects, and terminals of its own.
    fn devices(&self) -> Result<(), Refused> {
        for name in ["null", "zero", "full", "random", "urandom", "tty"] {
            let target = Path::new("/newroot/dev").join(name);
            make_file(&target)?;
            show_device(name, &target)?;
        }
        make_dir(Path::new("/newroot/dev/pts"))?;
        make_dir(Path::new("/newroot/dev/shm"))?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
        mount(Some("devpts"), "/newroot/dev/pts", Some("devpts"), flags, Some("newinstance,ptmxmode=0666,mode=0620"))
            .map_err(|error| Refused::step("mount /dev/pts", error))?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        let options = format!("mode=1777,size={SHM_SIZE}");
        mount(Some("tmpfs"), "/newroot/dev/shm", Some("tmpfs"), flags, Some(options.as_str()))
            .map_err(|error| Refused::step("mount /dev/shm", error))?;
        let links = [
            ("ptmx", "pts/ptmx"),
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ];
        for (name, to) in links {
            symlink(to, Path::new("/newroot/dev").join(name))
                .map_err(|error| Refused::step(format!("link /dev/{name}"), error))?;
        }
        Ok(())
    }
}

impl Bind {
    fn perform(&self) -> Result<(), Refused> {
        let none: Option<&str> = None;
        let source = Path::new(OLD).join(self.source.strip_prefix("/").unwrap_or(&self.source));
        let target = below(&self.target);
        make_parents(&target)?;
        if self.is_dir {
            make_dir(&target)?;
        } else {
            make_file(&target)?;
        }
        let failed = |error: nix::errno::Errno| {
            Refused::step(format!("show {} as {}", self.source.display(), self.target.display()), error)
        };
        mount(Some(&source), &target, none, MsFlags::MS_BIND | MsFlags::MS_REC, none).map_err(failed)?;
        restrict(&target, self.read_only)
            .map_err(|error| Refused::step(format!("restrict {}", self.target.display()), error))?;
        for path in &self.covered {
            let path = target.join(path);
            if path.is_dir() {
                cover_dir(&path).map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// Shows a device of the host. Read-only: it takes reads and writes all the same, but root's sandbox cannot change the
/// mode of the host's own node.
fn show_device(name: &str, target: &Path) -> Result<(), Refused> {
    let none: Option<&str> = None;
    let source = Path::new(OLD).join("dev").join(name);
    let present = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    mount(Some(&source), target, none, MsFlags::MS_BIND, none)
        .and_then(|()| Ok(present | atime_flags(target)?))
        .and_then(|flags| mount(none, target, none, flags, none))
        .map_err(|error| Refused::step(format!("show /dev/{name}"), error))
}

/// How a mount keeps times of access; a remount that does not name it again is refused.
fn atime_flags(point: &Path) -> nix::Result<MsFlags> {
    let present = statvfs(point)?.flags();
    let known = [
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    Ok(known.into_iter().filter(|(has, _)| present.contains(*has)).map(|(_, flag)| flag).collect())
}

/// Sets `nosuid`, `nodev` and perhaps `ro` on a mount and all below it.
fn restrict(target: &Path, read_only: bool) -> io::Result<()> {
    let path = CString::new(target.as_os_str().as_bytes())?;
    let ro = if read_only { libc::MOUNT_ATTR_RDONLY } else { 0 };
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | ro,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path and the structure outlive the call, which reads `size_of` bytes of it (mount_setattr(2)).
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::ENOSYS) {
        return Err(error);
    }
    // Before Linux 5.12: one mount at a time, deepest first.
    let table =
        fs::read_to_string("/proc/self/mountinfo").or_else(|_| fs::read_to_string("/newroot/proc/self/mountinfo"))?;
    let mut points: Vec<PathBuf> = table
        .lines()
        .filter_map(|line| line.split(' ').nth(4).map(unescape))
        .filter(|point| point.starts_with(target))
        .collect();
    points.sort();
    points.iter().rev().try_for_each(|point| remount(point, read_only).map_err(io::Error::from))
}

/// Octal escapes of `/proc/self/mountinfo` (proc(5)).
fn unescape(text: &str) -> PathBuf {
    let mut plain = text.to_owned();
    for (from, to) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        plain = plain.replace(from, to);
    }
    plain.into()
}

/// Remounts one mount with more flags. Those it has already must be named again, or the kernel refuses.
fn remount(point: &Path, read_only: bool) -> nix::Result<()> {
    let mut flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let present = statvfs(point)?.flags();
    flags |= atime_flags(point)?;
    if present.contains(FsFlags::ST_NOEXEC) {
        flags |= MsFlags::MS_NOEXEC;
    }
    if read_only || present.contains(FsFlags::ST_RDONLY) {
        flags |= MsFlags::MS_RDONLY;
    }
    let none: Option<&str> = None;
    mount(none, point, none, flags, none)
}

fn cover_dir(path: &Path) -> nix::Result<()> {
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("tmpfs"), path, Some("tmpfs"), flags, Some("size=4k,mode=0555"))
}

fn cover_proc() -> Result<(), Refused> {
    for name in PROC_HIDDEN {
        let path = Path::new("/newroot/proc").join(name);
        let covered = match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => cover_dir(&path),
            Ok(_) => {
                show_device("null", &path)?;
                Ok(())
            }
            Err(_) => Ok(()),
        };
        covered.map_err(|error| Refused::step(format!("cover /proc/{name}"), error))?;
    }
    for name in PROC_READ_ONLY {
        let path = Path::new("/newroot/proc").join(name);
        if path.exists() {
            let none: Option<&str> = None;
            mount(Some(&path), &path, none, MsFlags::MS_BIND | MsFlags::MS_REC, none)
                .and_then(|()| remount(&path, true))
                .map_err(|error| Refused::step(format!("make /proc/{name} read-only"), error))?;
        }
    }
    Ok(())
}

/// A path inside, as seen before the new root is entered.
fn below(path: &Path) -> PathBuf {
    Path::new(NEW).join(path.strip_prefix("/").unwrap_or(path))
}

/// A target that a user gave: absolute, plain, and not in the way of ours.
fn checked_target(text: &str) -> Result<PathBuf, Refused> {
    let path = Path::new(text);
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    // Collects again without doubled or trailing slashes.
    let clean: PathBuf = path.components().collect();
    let free =
        !OURS.iter().any(|ours| clean == Path::new(ours)) && !RESERVED.iter().any(|part| clean.starts_with(part));
    if path.is_absolute() && plain && free {
        return Ok(clean);
    }
    Err(Refused::new(
        format!("cannot mount at {text} inside the sandbox"),
        "choose an absolute path below / that is not one of the sandbox's own folders, for example /data",
    ))
}

/// Makes the folders on the way to a path. A link on the way is refused: an earlier program inside may have put it
/// into the home directory or the workspace, and it would lead astray while the host's tree is in reach.
fn make_parents(path: &Path) -> Result<(), Refused> {
    let mut parents: Vec<&Path> = path.ancestors().skip(1).take_while(|one| *one != Path::new(NEW)).collect();
    parents.reverse();
    parents.into_iter().try_for_each(make_dir)
}

fn refuse_link(path: &Path) -> Refused {
    let inside = Path::new("/").join(path.strip_prefix(NEW).unwrap_or(path));
    Refused::new(
        format!("cannot mount at {}: it is a link or not what it should be", inside.display()),
        "remove it, or choose another target",
    )
}

fn make_dir(path: &Path) -> Result<(), Refused> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(refuse_link(path)),
        Err(_) => fs::create_dir(path)
            .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
            .map_err(|error| Refused::step(format!("make {}", path.display()), error)),
    }
}

fn make_file(path: &Path) -> Result<(), Refused> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(refuse_link(path)),
        Err(_) => fs::write(path, "").map_err(|error| Refused::step(format!("make {}", path.display()), error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_would_replace_ours_or_climb_out_are_refused() {
        for bad in ["data", "/", "/proc/x", "/dev", "/usr/", "/workspace", "//tmp", "/a/../etc", "", "/home/agent"] {
            assert!(checked_target(bad).is_err(), "{bad}");
        }
        assert_eq!(checked_target("/data//x/").expect("fine"), PathBuf::from("/data/x"));
        assert_eq!(checked_target("/workspace/ref").expect("fine"), PathBuf::from("/workspace/ref"));
    }
}
