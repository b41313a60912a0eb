//! Plain shells of the host: not isolated, and made only on the user's explicit word.

use super::protocol::ProcessRow;
use super::record::Record;
use super::shell::{self, NotStarted};
use super::{as_evidence, not_run, process, stopped, weigh};
use crate::backend::{AttachSpec, BackendError, ExecLink, ExecSpec, Result};
use crate::domain::{Evidence, FailureKind, SandboxId, Size};
use crate::pty::unix::{Master, set_size};
use crate::pty::{PtyControl, PtyLink};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// After HUP or TERM, how long processes may take before KILL, and after that until we give up.
const GRACE: Duration = Duration::from_millis(700);
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two signals to a leader that does not end.
const TELL_AGAIN: Duration = Duration::from_millis(100);
/// How often their end is looked for: only their parents are told.
const LOOK: Duration = Duration::from_millis(10);

/// A program that we started, leader of a session.
struct Program {
    leader: i32,
    /// Name and terminal, if it is a shell on a PTY.
    shell: Option<(String, Arc<OwnedFd>)>,
    /// Whether it is a command that somebody waits for, so that it is known without looking.
    is_call: bool,
    /// Milliseconds since 1970.
    started_ms: u64,
    ended: bool,
}

impl Program {
    /// The foreground process group of its terminal.
    fn foreground(&self) -> Option<i32> {
        let (_, terminal) = self.shell.as_ref()?;
        // SAFETY: asks the kernel about a descriptor that we own.
        let group = unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) };
        (group > 0).then_some(group)
    }
}

type Programs = Arc<Mutex<Vec<Program>>>;

/// The host shells of this process. They end with it.
pub struct OnHost {
    shell: Option<String>,
    running: Mutex<HashMap<SandboxId, Programs>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(error: impl std::fmt::Display) -> BackendError {
    BackendError::new(FailureKind::Permanent, error.to_string(), "check the program and its directory")
}

impl OnHost {
    pub fn new(shell: Option<String>) -> Self {
        Self { shell, running: Mutex::default() }
    }

    pub fn start(&self, record: &Record) {
        lock(&self.running).entry(record.sandbox.clone()).or_default();
    }

    pub fn runs(&self, sandbox: &SandboxId) -> bool {
        lock(&self.running).contains_key(sandbox)
    }

    fn programs(&self, sandbox: &SandboxId) -> Result<Programs> {
        lock(&self.running).get(sandbox).cloned().ok_or_else(|| stopped(sandbox))
    }

    /// Ends every session that was started there.
    pub async fn stop(&self, sandbox: &SandboxId) -> Result<()> {
        let Some(programs) = lock(&self.running).remove(sandbox) else { return Ok(()) };
        let leaders: Vec<i32> = lock(&programs).iter().map(|one| one.leader).collect();
        for leader in leaders {
            end_session(leader, libc::SIGHUP).await.map_err(|error| {
                BackendError::new(FailureKind::Temporary, error.to_string(), "look at those processes on the host")
            })?;
        }
        Ok(())
    }

    pub fn evidence(&self, sandbox: &SandboxId) -> Result<Evidence> {
        let Ok(programs) = self.programs(sandbox) else { return Ok(Evidence::default()) };
        let mut programs = lock(&programs);
        let Ok(everything) = process::all() else { return Ok(as_evidence(without_proc(&programs))) };
        // Nothing of those lives any more, so their ids may come to mean something else.
        programs.retain(|one| !one.ended || everything.iter().any(|stat| stat.session == one.leader));
        let ours: Vec<_> =
            everything.into_iter().filter(|stat| programs.iter().any(|one| one.leader == stat.session)).collect();
        let shells: Vec<_> = programs
            .iter()
            .filter(|one| !one.ended)
            .filter_map(|one| {
                let (name, _) = one.shell.as_ref()?;
                Some(weigh::Shell { leader: one.leader, name: name.clone(), foreground: one.foreground() })
            })
            .collect();
        let in_flight: Vec<_> = programs.iter().filter(|one| !one.ended && one.is_call).map(|one| one.leader).collect();
        Ok(as_evidence(weigh::weigh(&ours, &shells, &in_flight)))
    }

    pub fn attach(&self, record: &Record, spec: AttachSpec) -> Result<PtyLink> {
        let programs = self.programs(&record.sandbox)?;
        if spec.resume {
            return Err(refused("a plain shell of the host ends with the hermes-tui that opened it"));
        }
        let vars = variables(record, &spec.env);
        let path = vars.get("PATH").cloned().unwrap_or_default();
        let cwd = directory(record, spec.cwd.as_deref())?;
        let (argv, name) = if spec.program.is_empty() {
            let found = shell::find(self.shell.as_deref(), &path).map_err(refused)?;
            let name = shell::process_name(&found);
            (shell::led(&spec.lead, found), Some(name))
        } else {
            (shell::checked(&spec.program).map_err(refused)?, None)
        };
        let mut command = CommandBuilder::new(shell::resolve(&argv[0], &path, &cwd).map_err(refused)?);
        command.args(&argv[1..]);
        command.env_clear();
        for (key, value) in vars.iter().chain([
            (&"TERM".to_owned(), &"xterm-256color".to_owned()),
            (&"COLORTERM".to_owned(), &"truecolor".to_owned()),
        ]) {
            command.env(key, value);
        }
        command.cwd(&cwd);
        let size = PtySize { rows: spec.size.rows, cols: spec.size.cols, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).map_err(refused)?;
        let child = pair.slave.spawn_command(command).map_err(refused)?;
        drop(pair.slave);
        let leader = child.process_id().and_then(|pid| i32::try_from(pid).ok()).ok_or_else(|| refused("no process"))?;
        let raw = pair.master.as_raw_fd().ok_or_else(|| refused("the terminal has no descriptor"))?;
        // SAFETY: the master owns the descriptor and lives until the end of this function.
        let master = unsafe { BorrowedFd::borrow_raw(raw) };
        let opened = || -> io::Result<_> {
            let clone = || master.try_clone_to_owned();
            Ok((Master::new(clone()?)?, Master::new(clone()?)?, Arc::new(clone()?)))
        };
        let (reader, writer, terminal) = opened().map_err(refused)?;
        let shell = name.map(|name| (name, terminal.clone()));
        lock(&programs).push(Program { leader, shell, is_call: false, started_ms: now_ms(), ended: false });
        let exit = wait_for(leader, programs, true);
        Ok(PtyLink {
            reader: Box::new(reader),
            writer: Box::new(writer),
            control: Box::new(Control { leader, terminal }),
            exit: Box::pin(async move { exit.await.ok() }),
        })
    }

    pub fn exec(&self, record: &Record, spec: ExecSpec) -> Result<ExecLink> {
        let programs = self.programs(&record.sandbox)?;
        let vars = variables(record, &spec.env);
        let cwd = directory(record, spec.cwd.as_deref())?;
        let argv = match shell::checked(&spec.argv) {
            Ok(argv) => argv,
            Err(NotStarted { code, why }) => return Ok(not_run(code, &why)),
        };
        let program = match shell::resolve(&argv[0], vars.get("PATH").map_or("", String::as_str), &cwd) {
            Ok(program) => program,
            Err(NotStarted { code, why }) => return Ok(not_run(code, &why)),
        };
        let mut command = std::process::Command::new(&program);
        std::os::unix::process::CommandExt::arg0(&mut command, &argv[0]);
        command.args(&argv[1..]).env_clear().envs(&vars).current_dir(&cwd);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: both are safe to call between fork and exec (signal-safety(7)).
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut command, || {
                process::hear_all_signals();
                if libc::setsid() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
            });
        }
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                let not = NotStarted::from_exec(&program, &error);
                return Ok(not_run(not.code, &not.why));
            }
        };
        let leader = i32::try_from(child.id()).map_err(refused)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(refused("the pipes of the command are missing"));
        };
        lock(&programs).push(Program { leader, shell: None, is_call: true, started_ms: now_ms(), ended: false });
        let exit: Shared<_> = wait_for(leader, programs, false).shared();
        Ok(ExecLink {
            stdin: Box::new(tokio::process::ChildStdin::from_std(stdin).map_err(refused)?),
            stdout: Box::new(tokio::process::ChildStdout::from_std(stdout).map_err(refused)?),
            stderr: Box::new(tokio::process::ChildStderr::from_std(stderr).map_err(refused)?),
            exit: Box::pin(exit.map(|code| code.unwrap_or(137))),
            kill: Box::new(move || {
                Box::pin(async move {
                    let _ = end_session(leader, libc::SIGTERM).await;
                })
            }),
        })
    }
}

/// Where there is no `/proc`: the foreground of our terminals is all that can be asked for.
fn without_proc(programs: &[Program]) -> (Vec<ProcessRow>, u32) {
    let mut idle = 0;
    let mut rows = Vec::new();
    for program in programs.iter().filter(|one| !one.ended && !one.is_call) {
        let foreground = program.foreground().unwrap_or(program.leader);
        if program.shell.is_some() && foreground == program.leader {
            idle += 1;
        } else {
            let command = "a program in the foreground of its terminal".to_owned();
            rows.push(ProcessRow { pid: foreground.unsigned_abs(), command, started_ms: program.started_ms });
        }
    }
    (rows, idle)
}

fn now_ms() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Reaps a program in a thread of its own, since nothing else tells of its end on every system. Of a terminal's
/// session nothing is left behind.
fn wait_for(leader: i32, programs: Programs, whole_session: bool) -> oneshot::Receiver<i32> {
    let (sender, receiver) = oneshot::channel();
    let waiting = move || {
        let mut status = 0;
        // SAFETY: waits for a child of ours that nobody else waits for.
        while unsafe { libc::waitpid(leader, &raw mut status, 0) } < 0 {
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                break;
            }
        }
        if whole_session {
            let _ = end_session_blocking(leader, libc::SIGHUP);
        }
        if let Some(program) = lock(&programs).iter_mut().find(|one| one.leader == leader) {
            program.ended = true;
        }
        let code = if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) };
        let _ = sender.send(code);
    };
    // Without a thread nobody learns of the end; the program runs all the same.
    let _ = std::thread::Builder::new().name("wait".into()).stack_size(64 << 10).spawn(waiting);
    receiver
}

/// Signals a session's processes. Says who is left.
fn signal_session(sid: i32, signal: i32) -> Vec<String> {
    // Without `/proc`, the leader's process group is what can be reached.
    let Ok(members) = process::members(sid) else {
        // SAFETY: a system call with plain numbers.
        let there = unsafe { libc::killpg(sid, signal) } == 0;
        return if there { vec![format!("group {sid}")] } else { Vec::new() };
    };
    for member in &members {
        // SAFETY: system calls with plain numbers.
        unsafe {
            libc::kill(member.pid, signal);
            if signal != 0 {
                libc::kill(member.pid, libc::SIGCONT);
            }
        }
    }
    members.into_iter().map(|one| format!("{} ({})", one.comm, one.pid)).collect()
}

fn end_session_blocking(sid: i32, signal: i32) -> io::Result<()> {
    let began = Instant::now();
    let (mut send, mut told) = (signal, began);
    loop {
        let left = signal_session(sid, send);
        if left.is_empty() {
            return Ok(());
        }
        if began.elapsed() > GRACE + PATIENCE {
            return Err(io::Error::other(format!("these processes do not end: {}", left.join(", "))));
        }
        send = if began.elapsed() > GRACE { libc::SIGKILL } else { 0 };
        // A shell that looks for signals right before it waits for a key misses one that comes in between.
        if send == 0 && told.elapsed() > TELL_AGAIN {
            told = Instant::now();
            // SAFETY: a system call with plain numbers.
            unsafe { libc::kill(sid, signal) };
        }
        std::thread::sleep(LOOK);
    }
}

async fn end_session(sid: i32, signal: i32) -> io::Result<()> {
    tokio::task::spawn_blocking(move || end_session_blocking(sid, signal)).await.map_err(io::Error::other)?
}

fn variables(record: &Record, more: &[(String, String)]) -> BTreeMap<String, String> {
    let mut vars: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    vars.extend(record.spec.env.clone());
    vars.extend(more.iter().cloned());
    vars.retain(|key, value| !key.is_empty() && !key.contains(['=', '\0']) && !value.contains('\0'));
    vars
}

fn directory(record: &Record, cwd: Option<&str>) -> Result<PathBuf> {
    let path = cwd.map_or_else(|| record.workspace.clone(), PathBuf::from);
    if path.is_absolute() && path.is_dir() {
        Ok(path)
    } else {
        Err(refused(format!("there is no directory {}", path.display())))
    }
}

struct Control {
    leader: i32,
    terminal: Arc<OwnedFd>,
}

impl PtyControl for Control {
    fn resize(&self, size: Size) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move { set_size(&self.terminal, size) })
    }

    fn close(&self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(end_session(self.leader, libc::SIGHUP))
    }
}
