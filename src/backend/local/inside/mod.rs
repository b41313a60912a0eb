//! The process outside a sandbox: it makes the namespaces, starts the first process in them, waits for its end
//! and clears up. Runs alone in a fresh process, before any thread exists.

mod cgroup;
mod etc;
mod hosts;
mod init;
mod landlock;
mod limits;
mod network;
mod privileges;
mod programs;
mod root;
mod seccomp;
mod session;

use super::protocol::{Launch, Ready, Report};
use super::{process, sockets};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getegid, geteuid, pipe, setgroups, setsid};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// User id of every program inside, and name of its group and user.
pub(super) const INSIDE_ID: u32 = 1000;
/// Name of the user inside.
pub(super) const INSIDE_USER: &str = "agent";
/// Its home directory.
pub(super) const INSIDE_HOME: &str = "/home/agent";

/// Why a sandbox could not be set up.
#[derive(Debug)]
pub(super) struct Refused {
    /// What was tried and why it failed.
    message: String,
    /// What to do next.
    hint: String,
}

impl Refused {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// A step of the set-up that failed.
    fn step(what: impl Into<String>, error: impl std::fmt::Display) -> Self {
        Self::new(
            format!("cannot {}: {error}", what.into()),
            "run `hermes-tui doctor`, or use --on-host for a plain host shell",
        )
    }
}

/// Entry point of `hermes-tui __sandbox ID`. The launch (JSON) comes on standard input, one report (JSON) goes
/// to standard output. Returns the exit code.
pub fn sandbox_main(_args: &[String]) -> i32 {
    // SAFETY: closes what a careless parent left open; nothing in this fresh process owns a descriptor above 2 yet.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) };
    let mut text = String::new();
    let launch = io::stdin()
        .read_to_string(&mut text)
        .and_then(|_| serde_json::from_str::<Launch>(&text).map_err(io::Error::from));
    let launch = match launch {
        Ok(launch) => launch,
        Err(error) => {
            eprintln!("hermes-tui __sandbox is started by hermes-tui itself, with a description on its input: {error}");
            return 2;
        }
    };
    // Not a member of the host's session: neither its terminal's end nor its Ctrl+C reaches the sandbox.
    let _ = setsid();
    let _ = std::env::set_current_dir("/");
    // SAFETY: changes a number of this process only.
    unsafe { libc::umask(0o022) };
    match start(&launch) {
        Ok(started) => {
            report(&Report::Ready(started.ready.clone()));
            if launch.probe {
                return 0;
            }
            detach_stdio();
            started.wait()
        }
        Err(refused) => {
            report(&Report::Refused { message: refused.message, hint: refused.hint });
            1
        }
    }
}

fn report(report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        let mut out = io::stdout().lock();
        // The host may be gone already; then nobody wants to know.
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }
}

/// Standard streams become `/dev/null`, which also tells the reader of the report that it is complete.
pub(super) fn detach_stdio() {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = nix::unistd::dup2_stdin(&null);
        let _ = nix::unistd::dup2_stdout(&null);
        let _ = nix::unistd::dup2_stderr(&null);
    }
}

/// A sandbox whose first process listens (or, as a probe, has come as far as it would before that).
struct Started {
    ready: Ready,
    child: Pid,
    group: cgroup::Groups,
    socket: Option<Socket>,
}

/// The socket's name on the host, and which file it was when we made it.
struct Socket {
    path: std::path::PathBuf,
    inode: u64,
}

fn start(launch: &Launch) -> Result<Started, Refused> {
    let (listener, socket) = if launch.probe { (None, None) } else { listen(&launch.socket)? };
    let started = start_inside(launch, listener);
    match started {
        Ok((ready, child, group)) => Ok(Started { ready, child, group, socket }),
        Err(refused) => {
            if let Some(socket) = socket {
                socket.remove();
            }
            Err(refused)
        }
    }
}

fn start_inside(launch: &Launch, listener: Option<UnixListener>) -> Result<(Ready, Pid, cgroup::Groups), Refused> {
    // Before the namespaces: their paths are resolved as the host sees them.
    let plan = root::Plan::resolve(launch)?;
    let group = cgroup::Groups::make(launch);
    match start_child(launch, listener, &plan, &group) {
        Ok((ready, child)) => Ok((ready, child, group)),
        Err(refused) => {
            group.remove();
            Err(refused)
        }
    }
}

fn start_child(
    launch: &Launch,
    listener: Option<UnixListener>,
    plan: &root::Plan,
    group: &cgroup::Groups,
) -> Result<(Ready, Pid), Refused> {
    process::hear_all_signals();
    // Signals are taken from a queue by both processes; blocked before the fork so that none is missed.
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals.thread_block().map_err(|error| Refused::step("block signals", error))?;

    let is_root = geteuid().is_root();
    // Orphans below this process become its children: so the first process does when the one between ends.
    privileges::adopt_orphans().map_err(|error| Refused::step("wait for the first process", error))?;
    let (go_read, go_write) = pipe().map_err(|error| Refused::step("make a pipe", error))?;
    let (answer_read, answer_write) = pipe().map_err(|error| Refused::step("make a pipe", error))?;
    let child = match fork_between()? {
        Side::First => {
            drop(go_write);
            drop(answer_read);
            init::main(launch, plan, is_root, listener, File::from(go_read), File::from(answer_write))
        }
        Side::Outside(child) => child,
    };
    drop(listener);
    drop(go_read);
    drop(answer_write);
    let (limits, unenforced) = group.admit(child.as_raw());
    drop(go_write);
    let mut text = String::new();
    let _ = File::from(answer_read).read_to_string(&mut text);
    let inside = serde_json::from_str::<Result<Vec<(String, String)>, (String, String)>>(&text);
    match inside {
        Ok(Ok(rlimits)) => {
            let started = |pid| process::stat(pid).map_or(0, |stat| stat.started);
            let own = std::process::id() as i32;
            let ready = Ready {
                pid: child.as_raw(),
                pid_started: started(child.as_raw()),
                watcher: own,
                watcher_started: started(own),
                groups: group.folders.clone(),
                limits: limits.into_iter().chain(rlimits).collect(),
                unenforced,
            };
            if launch.probe {
                let _ = waitpid(child, None);
                group.remove();
            }
            Ok((ready, child))
        }
        Ok(Err((message, hint))) => {
            let _ = waitpid(child, None);
            Err(Refused { message, hint })
        }
        Err(_) => {
            let _ = kill(child, Signal::SIGKILL);
            let end = waitpid(child, None);
            Err(Refused::step("set up the sandbox", format!("its first process ended early ({end:?})")))
        }
    }
}

/// Which process returns.
enum Side {
    /// The first process inside.
    First,
    /// This one, with the first process as its child.
    Outside(Pid),
}

/// Forks the first process of new user and pid namespaces. This process stays out of them: only from outside may the
/// control groups be removed in the end. A process between enters the user namespace, forks, and ends.
fn fork_between() -> Result<Side, Refused> {
    let failed = |error: nix::errno::Errno| Refused::step("start the first process", error);
    let (told_read, told_write) = pipe().map_err(failed)?;
    // SAFETY: this process has one thread, so the child may do anything the parent may.
    let between = match unsafe { fork() }.map_err(failed)? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            drop(told_read);
            let first = enter_namespaces().and_then(|()| {
                // SAFETY: as above.
                unsafe { fork() }.map_err(failed)
            });
            let told = match first {
                Ok(ForkResult::Child) => return Ok(Side::First),
                Ok(ForkResult::Parent { child }) => Ok(child.as_raw()),
                Err(refused) => Err((refused.message, refused.hint)),
            };
            if let Ok(text) = serde_json::to_vec(&told) {
                let _ = File::from(told_write).write_all(&text);
            }
            std::process::exit(0)
        }
    };
    drop(told_write);
    let mut text = String::new();
    let _ = File::from(told_read).read_to_string(&mut text);
    let _ = waitpid(between, None);
    match serde_json::from_str::<Result<i32, (String, String)>>(&text) {
        Ok(Ok(pid)) => Ok(Side::Outside(Pid::from_raw(pid))),
        Ok(Err((message, hint))) => Err(Refused { message, hint }),
        Err(error) => Err(Refused::step("start the first process", error)),
    }
}

fn enter_namespaces() -> Result<(), Refused> {
    user_namespace()?;
    unshare(CloneFlags::CLONE_NEWPID).map_err(|errno| refused_namespaces("a pid namespace", errno))
}

/// Listens where hosts look for this sandbox. A file left by one that ended is replaced; one that answers is not.
fn listen(path: &Path) -> Result<(Option<UnixListener>, Option<Socket>), Refused> {
    let failed = |error: io::Error| Refused::step(format!("listen at {}", path.display()), error);
    if sockets::connect(path).is_ok() {
        return Err(Refused::new(
            format!("a sandbox listens at {} already", path.display()),
            "stop it first, or end the other host of this profile",
        ));
    }
    let _ = fs::remove_file(path);
    let listener = sockets::listen(path).map_err(failed)?;
    let _ = fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600));
    let inode = fs::symlink_metadata(path).map_err(failed)?.ino();
    Ok((Some(listener), Some(Socket { path: path.to_owned(), inode })))
}

impl Socket {
    /// Removes the name unless another sandbox has taken it since.
    fn remove(&self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Started {
    /// Waits for the end of the first process, which is the end of all. TERM is passed on.
    fn wait(self) -> i32 {
        let mut signals = SigSet::empty();
        for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            signals.add(signal);
        }
        let code = loop {
            match waitpid(self.child, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(_, code)) => break code,
                Ok(WaitStatus::Signaled(_, signal, _)) => break 128 + signal as i32,
                Err(_) => break 1,
                Ok(_) => {}
            }
            if let Ok(Signal::SIGTERM | Signal::SIGINT) = signals.wait() {
                let _ = kill(self.child, Signal::SIGTERM);
            }
        };
        if let Some(socket) = &self.socket {
            socket.remove();
        }
        self.group.remove();
        code
    }
}

/// A user namespace in which the caller is [`INSIDE_ID`]. As root too: what holds the host's files safe is the
/// list of mounts, and no program inside has a capability in any namespace.
fn user_namespace() -> Result<(), Refused> {
    let (user, group) = (geteuid(), getegid());
    // Only root may; for others the kernel demands that groups stay as they are (user_namespaces(7)).
    if user.is_root() {
        let _ = setgroups(&[]);
    }
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| refused_namespaces("a user namespace", errno))?;
    let map = |what: &str, text: String| {
        fs::write(format!("/proc/self/{what}"), text).map_err(|error| Refused::step(format!("write {what}"), error))
    };
    map("setgroups", "deny".into())?;
    map("uid_map", format!("{INSIDE_ID} {user} 1\n"))?;
    map("gid_map", format!("{INSIDE_ID} {group} 1\n"))
}

/// The sentence for a kernel that does not let us make a namespace, with the setting that is to blame.
pub(super) fn refused_namespaces(what: &str, errno: impl std::fmt::Display) -> Refused {
    let setting = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let (why, hint) = if setting("/proc/sys/kernel/unprivileged_userns_clone").as_deref() == Some("0")
        && !geteuid().is_root()
    {
        (
            "the setting kernel.unprivileged_userns_clone is 0",
            "set it to 1 with `sudo sysctl kernel.unprivileged_userns_clone=1`",
        )
    } else if setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1")
        && !geteuid().is_root()
    {
        (
            "AppArmor restricts unprivileged user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1)",
            "allow them with `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` or an AppArmor profile for hermes-tui",
        )
    } else if setting("/proc/sys/user/max_user_namespaces").as_deref() == Some("0") {
        ("the setting user.max_user_namespaces is 0", "raise it with `sudo sysctl user.max_user_namespaces=10000`")
    } else {
        (
            "the kernel, or the filter of a container that this runs in, does not allow it",
            "allow user namespaces there, or use the docker backend",
        )
    };
    Refused::new(
        format!("the kernel refuses to make {what} ({errno}): {why}"),
        format!("{hint}; or use --on-host for a plain host shell, which is not isolated"),
    )
}

/// A descriptor of ours that no program inside may inherit.
fn keep_private(fd: OwnedFd) -> OwnedFd {
    // SAFETY: sets a flag on a descriptor that we own.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
    fd
}
