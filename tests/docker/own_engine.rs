//! An engine of the test's own, which it may end, kill and start again, and a socket in front of it that counts.

use super::common::{PATIENCE, Process, skip, wait_for, wait_until_gone};
use nix::mount::{MntFlags, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A dockerd on its own socket, data and state, without a network. Ended with the test.
pub struct Dockerd {
    folder: tempfile::TempDir,
    live_restore: bool,
    more: Vec<String>,
    process: Mutex<Option<Child>>,
}

impl Dockerd {
    /// Starts one; with `live_restore` its containers run on without it. `None`, with a word, where there cannot be one.
    pub fn start(live_restore: bool) -> Option<Self> {
        Self::start_with(live_restore, Vec::new())
    }

    /// With further arguments.
    pub fn start_with(live_restore: bool, more: Vec<String>) -> Option<Self> {
        let possible = Command::new("dockerd").arg("--version").output().is_ok_and(|output| output.status.success());
        if !possible || !nix::unistd::geteuid().is_root() {
            skip("no engine of the test's own: dockerd is not installed, or this is not root");
            return None;
        }
        // Its socket, and those that it makes below its state, have short paths.
        let folder = tempfile::Builder::new().prefix("htui-e").tempdir_in("/tmp").expect("a folder");
        let engine = Self { folder, live_restore, more, process: Mutex::default() };
        engine.up();
        Some(engine)
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("e.sock")
    }

    /// Starts it and waits until it answers.
    pub fn up(&self) {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let log = std::fs::File::options().create(true).append(true).open(path("log")).expect("a log");
        let mut command = Command::new("dockerd");
        command
            .args(["-H", &format!("unix://{}", path("e.sock")), "--data-root", &path("data")])
            .args(["--exec-root", &path("exec"), "--pidfile", &path("pid")])
            .args(["--bridge=none", "--iptables=false", "--ip-forward=false"])
            .args(&self.more)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        if self.live_restore {
            command.arg("--live-restore");
        }
        // What a killed one left keeps a new one from starting: also the process that it had for its containers, which
        // the kernel ends a moment later, and which a new engine would wait for in vain.
        let helper = std::fs::read_to_string(path("exec/containerd/containerd.pid")).ok();
        if let Some(helper) = helper.and_then(|pid| pid.trim().parse().ok()).and_then(Process::of) {
            wait_until_gone("the containerd of the engine before", &[helper]);
        }
        for stale in ["e.sock", "pid", "exec/containerd/containerd.pid"] {
            let _ = std::fs::remove_file(path(stale));
        }
        // Kept from here on, so that one that never answers is ended, too.
        *self.process.lock().expect("whole") = Some(command.spawn().expect("dockerd starts"));
        wait_for("the engine to answer", PATIENCE, || {
            let ended =
                self.process.lock().expect("whole").as_mut().and_then(|child| child.try_wait().expect("a child"));
            let log = std::fs::read_to_string(path("log")).unwrap_or_default();
            let end = log.lines().rev().take(5).collect::<Vec<_>>();
            assert!(ended.is_none(), "the engine ended: {ended:?}, and said last: {end:#?}");
            answers(&self.socket()).then_some(())
        });
    }

    /// Sends a signal to exactly this engine and waits for its end.
    pub fn end(&self, signal: Signal) {
        let Some(mut process) = self.process.lock().expect("whole").take() else { return };
        let pid = Pid::from_raw(i32::try_from(process.id()).expect("a pid"));
        kill(pid, signal).expect("it is there");
        process.wait().expect("it ends");
    }

    /// Undoes what is mounted in its folder: an engine mounts its data on itself, and one that finds that done, as after
    /// a kill, does not undo it.
    fn unmount(&self) {
        let all = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let points = all.lines().filter_map(|line| line.split(' ').nth(4)).map(Path::new);
        let ours: Vec<&Path> = points.filter(|point| point.starts_with(self.folder.path())).collect();
        for point in ours.into_iter().rev() {
            let _ = umount2(point, MntFlags::MNT_DETACH);
        }
    }
}

impl Drop for Dockerd {
    fn drop(&mut self) {
        // Only an engine ends what it started, and only one without live restore ends it with itself.
        self.live_restore = false;
        let engine = &*self;
        let last = || {
            engine.end(Signal::SIGTERM);
            engine.up();
        };
        // In a thread of its own it may fail also while the test fails.
        let ended = std::thread::scope(|scope| scope.spawn(last).join());
        self.end(Signal::SIGTERM);
        self.unmount();
        let removed = std::fs::remove_dir_all(self.folder.path());
        if !std::thread::panicking() {
            assert!(ended.is_ok(), "what it started may run on");
            removed.expect("nothing of it is left");
        }
    }
}

fn answers(socket: &Path) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(std::time::Duration::from_secs(1)))?;
        stream.write_all(b"GET /_ping HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer.contains(" 200 "))
    };
    ask().unwrap_or(false)
}

/// A socket in front of an engine's that counts who comes. Whoever comes while the engine is away is hung up on.
pub struct Tap {
    pub path: PathBuf,
    engine: PathBuf,
    calls: Arc<AtomicUsize>,
    now: Arc<AtomicUsize>,
    state: Arc<Mutex<Passing>>,
}

#[derive(Default)]
struct Passing {
    closed: bool,
    open: Vec<UnixStream>,
}

impl Tap {
    pub fn new(path: PathBuf, engine: PathBuf) -> Self {
        let tap = Self { path, engine, calls: Arc::default(), now: Arc::default(), state: Arc::default() };
        tap.listen();
        tap
    }

    fn listen(&self) {
        let listener = UnixListener::bind(&self.path).expect("a socket");
        let (engine, calls, state) = (self.engine.clone(), self.calls.clone(), self.state.clone());
        let now = self.now.clone();
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let Ok(near) = near else { return };
                calls.fetch_add(1, Ordering::SeqCst);
                let mut state = state.lock().expect("whole");
                if state.closed {
                    continue;
                }
                let Ok(far) = UnixStream::connect(&engine) else { continue };
                let twice = |stream: &UnixStream| stream.try_clone().expect("a descriptor");
                state.open.extend([twice(&near), twice(&far)]);
                now.fetch_add(1, Ordering::SeqCst);
                let now = now.clone();
                let gone = move || {
                    now.fetch_sub(1, Ordering::SeqCst);
                };
                pass(twice(&near), twice(&far), gone);
                pass(far, near, || {});
            }
        });
    }

    /// How many connections were made so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub fn open_now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    /// From now on nobody gets through, and whoever did is cut off.
    pub fn close(&self) {
        let mut state = self.state.lock().expect("whole");
        state.closed = true;
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Lets them through again, at a socket that is made anew as an engine does.
    pub fn open(&self) {
        self.state.lock().expect("whole").closed = false;
        std::fs::remove_file(&self.path).expect("the socket is there");
        self.listen();
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, at_the_end: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        // The end goes on in this direction only: an engine answers after the end of a question.
        let _ = to.shutdown(std::net::Shutdown::Write);
        at_the_end();
    });
}
