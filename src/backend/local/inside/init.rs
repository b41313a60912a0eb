//! The first process of a sandbox: it sets the inside up, then serves hosts until the end.
//!
//! One thread and one loop over poll(2). It reaps, opens PTYs and runs commands on request, keeps the master of
//! each PTY open so that a later host finds the session again, and ends everything when no host came back in time.

use super::super::process;
use super::super::protocol::{Answer, Launch, Message, Op, Request, VERSION};
use super::super::weigh;
use super::hosts::Host;
use super::programs::Surroundings;
use super::session::Session;
use super::{
    Refused, detach_stdio, etc, keep_private, landlock, limits, network, privileges, refused_namespaces, root, seccomp,
};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, geteuid, sethostname};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

/// After HUP or TERM, how long a session's processes may take before KILL.
const CLOSE_GRACE: Duration = Duration::from_millis(700);
/// Between two hang-ups of a terminal whose shell does not end.
const HANG_UP_AGAIN: Duration = Duration::from_millis(100);
/// After KILL, how long until an end that does not come is reported as such.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// How often `/proc` is looked at while the end of a session is awaited: an end is only told to the parent, which
/// need not be this process.
const CLOSE_LOOK: Duration = Duration::from_millis(10);

/// Runs as the first process of the namespaces. Never returns to the caller's code.
pub fn main(
    launch: &Launch,
    plan: &root::Plan,
    is_root: bool,
    listener: Option<UnixListener>,
    go: File,
    answer: File,
) -> ! {
    let code = match set_up(launch, plan, is_root, go) {
        // If nobody takes the answer, the watcher is gone and nothing would end this process any more.
        Ok(named) => match (send_answer(answer, &Ok(named)), listener) {
            (true, Some(listener)) => serve(launch, listener),
            (sent, _) => i32::from(!sent),
        },
        Err(refused) => {
            send_answer(answer, &Err((refused.message, refused.hint)));
            1
        }
    };
    // The kernel ends every other process of the namespace with this one (pid_namespaces(7)).
    std::process::exit(code)
}

fn send_answer(mut to: File, answer: &Result<Vec<(String, String)>, (String, String)>) -> bool {
    serde_json::to_vec(answer).is_ok_and(|text| to.write_all(&text).is_ok())
}

fn set_up(launch: &Launch, plan: &root::Plan, is_root: bool, mut go: File) -> Result<Vec<(String, String)>, Refused> {
    // The watcher puts us into the control groups first, then closes the pipe.
    let _ = go.read(&mut [0]);
    drop(go);
    let mut flags = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
    if !launch.host_network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags).map_err(|errno| refused_namespaces("mount, ipc, uts and network namespaces", errno))?;
    // Hides where in the host's tree our control groups are; no loss where it is missing.
    let _ = unshare(CloneFlags::CLONE_NEWCGROUP);
    if !launch.host_network {
        network::loopback_up().map_err(|error| Refused::step("bring up the loopback interface", error))?;
    }
    sethostname(etc::host_name(&launch.name)).map_err(|error| Refused::step("set the host name", error))?;
    plan.enter()?;
    privileges::leave_keyring();
    let mut named = limits::set(launch, is_root).map_err(|error| Refused::step("set limits", error))?;
    privileges::drop_all().map_err(|error| Refused::step("drop privileges", error))?;
    privileges::make_opaque().map_err(|error| Refused::step("protect the first process", error))?;
    privileges::end_with_parent().map_err(|error| Refused::step("tie the sandbox to its watcher", error))?;
    if launch.host_network {
        // The host's network brings the host's abstract sockets along, those of its X server for one.
        let told = match landlock::shut_off_abstract_sockets() {
            Ok(()) => "of the host are out of reach (Landlock)".to_owned(),
            Err(error) => format!("not enforced: those of the host can be reached ({error}; needs Linux 6.12)"),
        };
        named.push(("abstract sockets".into(), told));
    }
    seccomp::install().map_err(|error| Refused::step("install the system call filter", error))?;
    Ok(named)
}

struct Call {
    leader: i32,
    exit: Option<i32>,
}

/// A session whose processes are being ended.
struct Closing {
    /// Id of the kernel's session.
    sid: i32,
    /// Who waits: host and request.
    waiters: Vec<(u64, u64)>,
    kill_at: Instant,
    killed: bool,
}

struct Init<'a> {
    launch: &'a Launch,
    surroundings: Surroundings,
    hosts: BTreeMap<u64, Host>,
    next_host: u64,
    /// Since when no host is connected.
    alone_since: Option<Instant>,
    sessions: BTreeMap<String, Session>,
    calls: BTreeMap<String, Call>,
    closings: Vec<Closing>,
    /// When terminals whose shells do not end were last hung up again.
    hung_up: Instant,
    /// When everything ends at the latest, and why.
    stopping: Option<(Instant, String)>,
}

fn serve(launch: &Launch, listener: UnixListener) -> i32 {
    detach_stdio();
    let listener = UnixListener::from(keep_private(listener.into()));
    if listener.set_nonblocking(true).is_err() {
        return 1;
    }
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        signals.add(signal);
    }
    let Ok(signals) = SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC) else { return 1 };
    let mut init = Init {
        launch,
        surroundings: Surroundings::new(launch),
        hosts: BTreeMap::new(),
        next_host: 0,
        alone_since: Some(Instant::now()),
        sessions: BTreeMap::new(),
        calls: BTreeMap::new(),
        closings: Vec::new(),
        hung_up: Instant::now(),
        stopping: None,
    };
    loop {
        let keys: Vec<u64> = init.hosts.keys().copied().collect();
        let alone = keys.is_empty();
        let ready = {
            let mut fds =
                vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN), PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
            for host in init.hosts.values() {
                let more = if host.waits_for_us() { PollFlags::POLLOUT } else { PollFlags::empty() };
                fds.push(PollFd::new(host.stream.as_fd(), PollFlags::POLLIN | more));
            }
            // While a host is there, it reads its terminals itself.
            if alone {
                fds.extend(
                    init.sessions.values().filter_map(Session::to_drain).map(|fd| PollFd::new(fd, PollFlags::POLLIN)),
                );
            }
            match poll(&mut fds, init.patience()) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return 1,
            }
            fds.iter().map(|fd| fd.any().unwrap_or(true)).collect::<Vec<bool>>()
        };
        if ready[0] {
            init.take_signals(&signals);
        }
        init.reap();
        if ready[1] {
            init.accept(&listener);
        }
        for (key, is_ready) in keys.into_iter().zip(ready.into_iter().skip(2)) {
            if is_ready {
                init.hear(key);
            }
        }
        if alone {
            // Those that have nothing to say take no harm: their terminals do not block.
            init.sessions.values_mut().for_each(Session::drain);
        }
        init.hang_up_again();
        init.watch_closings();
        init.forget_left_behind();
        init.flush();
        if init.must_end() {
            return 0;
        }
    }
}

impl Init<'_> {
    /// How long the loop may sleep.
    fn patience(&self) -> PollTimeout {
        let now = Instant::now();
        let mut until: Option<Instant> = None;
        let mut sooner = |at: Instant| until = Some(until.map_or(at, |one: Instant| one.min(at)));
        if !self.closings.is_empty() || self.stopping.is_some() {
            sooner(now + CLOSE_LOOK);
        }
        if let (Some(since), Some(alone), None) = (self.alone_since, self.launch.alone_ms, &self.stopping) {
            sooner(since + Duration::from_millis(alone));
        }
        match until {
            None => PollTimeout::NONE,
            // Rounded up, or the loop would spin through the last millisecond.
            Some(at) => {
                let ms = at.saturating_duration_since(now).as_millis().saturating_add(1);
                PollTimeout::try_from(i32::try_from(ms).unwrap_or(i32::MAX)).unwrap_or(PollTimeout::MAX)
            }
        }
    }

    fn take_signals(&mut self, signals: &SignalFd) {
        while let Ok(Some(signal)) = signals.read_signal() {
            // Sender 0 is outside our pid namespace: the watcher. Programs inside cannot stop their sandbox this way.
            if signal.ssi_signo == Signal::SIGTERM as u32 && signal.ssi_pid == 0 {
                self.stop(Duration::from_secs(2), "its watcher was told to stop it");
            }
        }
    }

    fn reap(&mut self) {
        loop {
            let (pid, code) = match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid.as_raw(), code),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid.as_raw(), 128 + signal as i32),
                Ok(WaitStatus::StillAlive) | Err(_) => return,
                Ok(_) => continue,
            };
            if let Some(session) = self.sessions.values_mut().find(|one| one.leader == pid && one.exit.is_none()) {
                session.exit = Some(code);
                // With its leader, a session ends: what is left of it is told so, then ended.
                self.close(pid, Signal::SIGHUP, None);
            }
            let ended = self.calls.iter_mut().find(|(_, call)| call.leader == pid && call.exit.is_none());
            if let Some((name, call)) = ended {
                call.exit = Some(code);
                let message = Message::CallEnded { call: name.clone(), code };
                self.tell_all(&message);
            }
        }
    }

    fn accept(&mut self, listener: &UnixListener) {
        while let Ok((stream, _)) = listener.accept() {
            // The folder of the socket is private to the user already; this is the second lock.
            let same_user = getsockopt(&stream, PeerCredentials).is_ok_and(|peer| peer.uid() == geteuid().as_raw());
            if same_user && stream.set_nonblocking(true).is_ok() {
                let host = Host::new(stream);
                self.hosts.insert(self.next_host, host);
                self.next_host += 1;
                self.alone_since = None;
            }
        }
    }

    fn hear(&mut self, key: u64) {
        let requests = self.hosts.get_mut(&key).map(Host::hear).unwrap_or_default();
        for request in requests {
            self.perform(key, request);
        }
    }

    fn perform(&mut self, host: u64, Request { id, op }: Request) {
        let done = Ok(Answer::Done);
        match op {
            Op::Hello => {
                let hello = Answer::Hello {
                    version: VERSION,
                    sandbox: self.launch.sandbox.clone(),
                    generation: self.launch.generation,
                };
                self.reply(host, id, Ok(hello), Vec::new());
            }
            Op::Open { session, program, lead, vars, cwd, size, resume } => {
                let known = self.sessions.get(&session).is_some_and(|one| !one.ended);
                let opened = match resume && !known {
                    true => Err("it ended while no host ran".to_owned()),
                    false => self.open(session, (program, &lead), &vars, cwd.as_deref(), size),
                };
                let (answer, fds) = match opened {
                    Ok((answer, fd)) => (Ok(answer), vec![fd]),
                    Err(why) => (Err(why), Vec::new()),
                };
                self.reply(host, id, answer, fds);
            }
            Op::Close { session } => match self.sessions.get(&session).filter(|one| !one.ended).map(|one| one.leader) {
                Some(sid) => self.close(sid, Signal::SIGHUP, Some((host, id))),
                None => self.reply(host, id, done, Vec::new()),
            },
            Op::Sessions => {
                let rows = self.sessions.iter().map(|(name, one)| one.row(name)).collect();
                self.sessions.retain(|_, one| !one.ended);
                self.reply(host, id, Ok(Answer::Sessions(rows)), Vec::new());
            }
            Op::Exec { call, argv, vars, cwd } => {
                let running = self.calls.get(&call).is_some_and(|one| one.exit.is_none());
                let (answer, fds) = if self.stopping.is_some() {
                    (Err("the sandbox is being stopped".into()), Vec::new())
                } else if running {
                    (Err(format!("a command named {call} runs already")), Vec::new())
                } else {
                    match self.surroundings.on_pipes(&argv, &vars, cwd.as_deref()) {
                        Ok(started) => {
                            self.calls.insert(call, Call { leader: started.leader, exit: None });
                            (Ok(Answer::Started), started.ends.into())
                        }
                        Err(not) if not.code == 125 => (Err(not.why), Vec::new()),
                        Err(not) => (Ok(Answer::NotRun { code: not.code, why: not.why }), Vec::new()),
                    }
                };
                self.reply(host, id, answer, fds);
            }
            Op::Kill { call } => match self.calls.get(&call).map(|one| one.leader) {
                Some(sid) => self.close(sid, Signal::SIGTERM, Some((host, id))),
                None => self.reply(host, id, done, Vec::new()),
            },
            Op::Evidence => {
                let answer = self.evidence();
                self.reply(host, id, answer, Vec::new());
            }
            Op::Stop { grace_ms } => {
                self.stop(Duration::from_millis(grace_ms), "it was stopped");
                self.reply(host, id, done, Vec::new());
            }
        }
    }

    fn open(
        &mut self,
        name: String,
        (program, lead): (Vec<String>, &[String]),
        vars: &[(String, String)],
        cwd: Option<&str>,
        size: crate::domain::Size,
    ) -> Result<(Answer, OwnedFd), String> {
        if self.stopping.is_some() {
            return Err("the sandbox is being stopped".into());
        }
        if self.sessions.get(&name).is_some_and(|one| one.exit.is_some() && !one.ended) {
            return Err(format!("the session {name} is just ending"));
        }
        if let Some(session) = self.sessions.get_mut(&name).filter(|one| one.exit.is_none()) {
            session.resize(size);
            let handle = session.handle()?;
            return Ok((Answer::Opened { reopened: true, missed: session.take_missed() }, handle));
        }
        let started = self.surroundings.on_pty(&program, lead, vars, cwd, size).map_err(|not| not.why)?;
        let session = Session::new(started, program);
        let handle = session.handle();
        self.sessions.insert(name, session);
        Ok((Answer::Opened { reopened: false, missed: Vec::new() }, handle?))
    }

    /// Ends a kernel session: a signal, after a grace KILL. The waiter is answered when nobody is left.
    fn close(&mut self, sid: i32, signal: Signal, waiter: Option<(u64, u64)>) {
        for member in process::members(sid).unwrap_or_default() {
            let _ = kill(Pid::from_raw(member.pid), signal);
            // A stopped process takes no signal but this.
            let _ = kill(Pid::from_raw(member.pid), Signal::SIGCONT);
        }
        match self.closings.iter_mut().find(|one| one.sid == sid) {
            Some(closing) => closing.waiters.extend(waiter),
            None => self.closings.push(Closing {
                sid,
                waiters: waiter.into_iter().collect(),
                kill_at: Instant::now() + CLOSE_GRACE,
                killed: false,
            }),
        }
    }

    /// A shell that looks for signals right before it waits for a key misses one that comes in between, as it would not
    /// miss the end of a real terminal: it is told again.
    fn hang_up_again(&mut self) {
        let now = Instant::now();
        if now < self.hung_up + HANG_UP_AGAIN {
            return;
        }
        self.hung_up = now;
        for session in self.sessions.values().filter(|one| one.exit.is_none()) {
            if self.stopping.is_some() || self.closings.iter().any(|one| one.sid == session.leader) {
                let _ = kill(Pid::from_raw(session.leader), Signal::SIGHUP);
            }
        }
    }

    fn watch_closings(&mut self) {
        if self.closings.is_empty() {
            return;
        }
        let Ok(everything) = process::all() else { return };
        let now = Instant::now();
        let mut open = Vec::new();
        for mut closing in std::mem::take(&mut self.closings) {
            let left: Vec<_> = everything.iter().filter(|one| one.session == closing.sid && !one.is_dead()).collect();
            // The leader may be dead and not reaped yet: its code is not known before the next turn of the loop.
            let unreaped = everything.iter().any(|one| one.pid == closing.sid && one.is_dead());
            if left.is_empty() && !unreaped {
                self.closed(closing, Ok(Answer::Done));
                continue;
            }
            if now >= closing.kill_at {
                for member in &left {
                    let _ = kill(Pid::from_raw(member.pid), Signal::SIGKILL);
                }
                closing.killed = true;
            }
            if closing.killed && now >= closing.kill_at + KILL_PATIENCE {
                let names: Vec<_> = left.iter().map(|one| format!("{} ({})", one.comm, one.pid)).collect();
                self.closed(closing, Err(format!("these processes do not end: {}", names.join(", "))));
                continue;
            }
            open.push(closing);
        }
        self.closings.append(&mut open);
    }

    fn closed(&mut self, closing: Closing, answer: Result<Answer, String>) {
        let ended = self.sessions.iter_mut().find(|(_, one)| one.leader == closing.sid && !one.ended);
        if let Some((name, session)) = ended {
            session.ended = true;
            let message = Message::SessionEnded { session: name.clone(), code: session.exit.unwrap_or(137) };
            let name = name.clone();
            if self.tell_all(&message) {
                self.sessions.remove(&name);
            }
        }
        for (host, id) in closing.waiters {
            let answer = match &answer {
                Ok(_) => Ok(Answer::Done),
                Err(why) => Err(why.clone()),
            };
            self.reply(host, id, answer, Vec::new());
        }
    }

    /// Commands that ended are kept only while something that they left behind lives, so that it can be ended too.
    fn forget_left_behind(&mut self) {
        if self.calls.values().all(|call| call.exit.is_none()) {
            return;
        }
        let Ok(everything) = process::all() else { return };
        let closings = &self.closings;
        self.calls.retain(|_, call| {
            call.exit.is_none()
                || closings.iter().any(|one| one.sid == call.leader)
                || everything.iter().any(|one| one.session == call.leader)
        });
    }

    fn evidence(&self) -> Result<Answer, String> {
        let everything = process::all().map_err(|error| format!("cannot read /proc: {error}"))?;
        let own = std::process::id() as i32;
        let others: Vec<_> = everything.into_iter().filter(|one| one.pid != own).collect();
        let shells: Vec<weigh::Shell> = self.sessions.values().filter_map(Session::as_shell).collect();
        let in_flight: Vec<i32> =
            self.calls.values().filter(|call| call.exit.is_none()).map(|call| call.leader).collect();
        let (processes, idle_shells) = weigh::weigh(&others, &shells, &in_flight);
        Ok(Answer::Evidence { processes, idle_shells })
    }

    /// Begins the end of everything.
    fn stop(&mut self, grace: Duration, why: &str) {
        if self.stopping.is_some() {
            return;
        }
        // Interactive shells ignore TERM, but not the end of their terminal.
        for session in self.sessions.values().filter(|one| one.exit.is_none()) {
            let _ = kill(Pid::from_raw(session.leader), Signal::SIGHUP);
        }
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            // From the first process, -1 is every other process of the namespace (kill(2)).
            let _ = kill(Pid::from_raw(-1), signal);
        }
        self.stopping = Some((Instant::now() + grace, why.to_owned()));
    }

    /// Whether it is time to go. Then hosts have been told.
    fn must_end(&mut self) -> bool {
        let now = Instant::now();
        self.hosts.retain(|_, host| !host.broken);
        if self.hosts.is_empty() && self.alone_since.is_none() {
            self.alone_since = Some(now);
        }
        if let (Some(since), Some(alone), None) = (self.alone_since, self.launch.alone_ms, &self.stopping)
            && now >= since + Duration::from_millis(alone)
        {
            self.stop(Duration::from_secs(2), "no host was connected for longer than its idle time");
        }
        let Some((latest, why)) = &self.stopping else { return false };
        let own = std::process::id() as i32;
        let empty = process::all().is_ok_and(|all| all.iter().all(|one| one.pid == own || one.is_dead()));
        if !empty && now < *latest {
            return false;
        }
        let message = Message::Bye { why: why.clone() };
        self.tell_all(&message);
        self.flush();
        true
    }

    fn reply(&mut self, host: u64, id: u64, answer: Result<Answer, String>, fds: Vec<OwnedFd>) {
        if let Some(host) = self.hosts.get_mut(&host) {
            host.queue(&Message::Reply { id, fds: fds.len(), answer }, fds);
        }
    }

    /// Tells every host. Says whether there was one.
    fn tell_all(&mut self, message: &Message) -> bool {
        for host in self.hosts.values_mut() {
            host.queue(message, Vec::new());
        }
        self.hosts.values().any(|host| !host.broken)
    }

    fn flush(&mut self) {
        for host in self.hosts.values_mut() {
            host.flush();
        }
    }
}
