//! Execs: how a program is started in a container, how its end is known, and how it is ended for sure.

use super::super::{BackendError, Result};
use super::dial::Stream;
use super::engine::{Engine, is_missing};
use super::hijack;
use super::hub::News;
use super::inside::{self, Leader, Said};
use super::manage::Inner;
use crate::domain::{FailureKind, SandboxId, SandboxState};
use bollard::models::ExecConfig;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;

/// The engine holds back the keys that would detach from an exec (Ctrl-P, unless others are given): a chord that
/// nobody types. It must have a first key; this one is the rarest that a terminal sends.
const DETACH_KEYS: &str = "ctrl-^,ctrl-@,ctrl-^,ctrl-_,ctrl-^,ctrl-@,ctrl-^,ctrl-_";
/// Until a script has said who it is.
const PATIENCE: Duration = Duration::from_secs(15);
/// After HUP or TERM, before KILL.
const GRACE: Duration = Duration::from_millis(500);
/// KILL is sent again to what was forked meanwhile.
const ROUNDS: u32 = 20;
/// Between two looks at what is being ended.
const PAUSE: Duration = Duration::from_millis(50);
/// Where events do not come in, how often the end of an exec is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The exit code comes a little after the end of the stream.
const CODE_WITHIN: Duration = Duration::from_secs(2);

/// A program to start.
pub struct Program {
    /// What runs the script: see [`Inner::interpreter`].
    pub interpreter: &'static str,
    /// The script and its arguments.
    pub args: Vec<String>,
    /// Variables as `NAME=VALUE`.
    pub env: Vec<String>,
    /// On a terminal.
    pub tty: bool,
}

/// An exec whose script has not spoken yet.
pub struct Exec {
    /// Of the engine.
    pub id: String,
    /// Its raw stream.
    pub stream: Stream,
    /// What came already.
    pub early: Vec<u8>,
}

impl Inner {
    /// Starts a program.
    pub async fn start_exec(&self, engine: &Engine, sandbox: &SandboxId, program: Program) -> Result<Exec> {
        let mut cmd = vec![program.interpreter.to_owned(), "-c".to_owned()];
        cmd.extend(program.args);
        let config = ExecConfig {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(program.tty),
            detach_keys: program.tty.then(|| DETACH_KEYS.to_owned()),
            env: Some(program.env),
            cmd: Some(cmd),
            // The one that is always there; the engine refuses a program whose directory is not.
            working_dir: Some("/".to_owned()),
            ..ExecConfig::default()
        };
        let made = engine.docker.create_exec(sandbox.as_str(), config).await;
        let id = made.map_err(|error| self.engines.failed("running a program in the container", &error))?.id;
        self.own_execs.insert(&id);
        let (stream, early) = hijack::start(&engine.dialer, &id, program.tty).await.map_err(|error| {
            if lacks_shell(&error.to_string()) {
                return no_shell();
            }
            BackendError::new(
                FailureKind::Temporary,
                format!("running a program in the container failed: {error}"),
                "try again; the engine's log says more",
            )
        })?;
        Ok(Exec { id, stream, early })
    }

    /// What can run our scripts in a container, as far as is known: the first one until that was not found there.
    pub fn interpreter(&self, sandbox: &SandboxId) -> &'static str {
        let known = self.interpreters.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(sandbox).copied().unwrap_or(inside::INTERPRETERS[0])
    }

    /// Whether it is worth another try after this error: it says that there is no such interpreter, and there are
    /// others. The one that works is remembered for as long as the host lives.
    pub fn has_other(&self, sandbox: &SandboxId, tried: &str, error: &BackendError) -> bool {
        if error.message != no_shell().message {
            return false;
        }
        let next = inside::INTERPRETERS.iter().skip_while(|one| **one != tried).nth(1);
        let mut known = self.interpreters.lock().unwrap_or_else(PoisonError::into_inner);
        match next {
            Some(next) => known.insert(sandbox.clone(), next),
            None => known.remove(sandbox),
        };
        next.is_some()
    }

    /// Whether an exec of the engine's events is ours: by its id, or by its command where that is known.
    pub fn is_own_exec(&self, id: &str, command: &str) -> bool {
        self.own_execs.contains(id, command)
    }

    /// Waits until the script on a terminal has said who it is. Leaves in `exec.early` what follows.
    pub async fn hear_session(&self, engine: &Engine, exec: &mut Exec) -> Result<Leader> {
        let listen = async {
            loop {
                match inside::said(&exec.early) {
                    Said::Ready(leader, length) => {
                        exec.early.drain(..length);
                        return Ok(leader);
                    }
                    Said::No(why) => return Err(not_started(&why)),
                    Said::Nothing => {}
                }
                if !exec.stream.read_buf(&mut exec.early).await.is_ok_and(|n| n > 0) {
                    return Err(self.silent(engine, &exec.id, &exec.early).await);
                }
            }
        };
        tokio::time::timeout(PATIENCE, listen).await.unwrap_or_else(|_| {
            let why = format!("nothing was heard of it within {} s", PATIENCE.as_secs());
            Err(BackendError::new(FailureKind::Temporary, format!("opening a session failed: {why}"), "try again"))
        })
    }

    /// A stream that ended before the script spoke: the engine wrote its reason there.
    pub async fn silent(&self, engine: &Engine, exec: &str, output: &[u8]) -> BackendError {
        let said = String::from_utf8_lossy(output);
        let said = said.trim().trim_end_matches(": unknown");
        let code = self.exit_code(engine, exec).await;
        if lacks_shell(said) || matches!(code, Some(127)) {
            return no_shell();
        }
        let why = if said.is_empty() { "it ended at once" } else { said.rsplit("process: ").next().unwrap_or(said) };
        not_started(why)
    }

    /// The exit code of an exec that has ended. `None` where the engine does not know it any more.
    pub async fn exit_code(&self, engine: &Engine, exec: &str) -> Option<i32> {
        let end = tokio::time::Instant::now() + CODE_WITHIN;
        loop {
            match engine.docker.inspect_exec(exec).await {
                Ok(found) if found.running != Some(true) && found.exit_code.is_some() => {
                    return found.exit_code.and_then(|code| i32::try_from(code).ok());
                }
                Ok(_) if tokio::time::Instant::now() < end => tokio::time::sleep(PAUSE).await,
                _ => return None,
            }
        }
    }

    /// Waits until an exec has ended: its stream did, the engine says so, or somebody knows it.
    pub async fn ended(&self, engine: &Engine, sandbox: &SandboxId, exec: &str, end_of_stream: &Notify) {
        let mut news = self.hub.listen();
        loop {
            let look = tokio::time::sleep(LOOK_EVERY);
            tokio::select! {
                () = end_of_stream.notified() => return,
                heard = news.recv() => match heard {
                    Ok(News::Ended(id)) if id == exec => return,
                    Ok(News::Ended(_)) => continue,
                    Ok(News::EndedIn(container)) if container != sandbox.as_str() => continue,
                    _ => {}
                },
                () = look, if !self.hub.is_live() => {}
            }
            match engine.docker.inspect_exec(exec).await {
                Ok(found) if found.running == Some(false) => return,
                Err(error) if is_missing(&error) => return,
                _ => {}
            }
        }
    }

    /// Sends a signal (`0` = none) to every process of a session; gives those that live. Nothing lives in a container
    /// that does not run.
    async fn signal(&self, sandbox: &SandboxId, leader: &Leader, signal: &str) -> Result<Vec<String>> {
        let script = [inside::SIGNAL, "htui", signal, &leader.pid, &leader.born];
        let output = self.ask(sandbox, &script).await?;
        Ok(output.unwrap_or_default().split_whitespace().map(str::to_owned).collect())
    }

    /// Runs a small script and gives what it writes; `None` if the container does not run.
    pub async fn ask(&self, sandbox: &SandboxId, args: &[&str]) -> Result<Option<String>> {
        let engine = self.engine().await?;
        loop {
            let interpreter = self.interpreter(sandbox);
            match self.ask_once(&engine, sandbox, interpreter, args).await {
                Err(error) if self.has_other(sandbox, interpreter, &error) => {}
                other => return other,
            }
        }
    }

    async fn ask_once(
        &self,
        engine: &Engine,
        sandbox: &SandboxId,
        interpreter: &'static str,
        args: &[&str],
    ) -> Result<Option<String>> {
        let args = args.iter().map(|one| (*one).to_owned()).collect();
        let program = Program { interpreter, args, env: Vec::new(), tty: false };
        let started = self.start_exec(engine, sandbox, program).await;
        let mut exec = match started {
            Ok(exec) => exec,
            Err(error) if error.kind == FailureKind::Surprise => return Ok(None),
            Err(error) => return Err(error),
        };
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let early = std::mem::take(&mut exec.early);
        let (reader, _input) = exec.stream.into_split();
        let read = hijack::demultiplex(std::io::Cursor::new(early).chain(reader), &mut output, &mut errors);
        match tokio::time::timeout(PATIENCE, read).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(not_started(&error.to_string())),
            Err(_) => return Err(not_started("it did not end in time")),
        }
        match self.exit_code(engine, &exec.id).await {
            Some(0) => Ok(Some(String::from_utf8_lossy(&output).into_owned())),
            Some(126 | 127) => Err(self.silent(engine, &exec.id, &[output, errors].concat()).await),
            _ => match self.look_any(engine, sandbox.as_str()).await? {
                Some(seen) if seen.state == SandboxState::Running => {
                    Err(not_started("a script in the container was cut off"))
                }
                _ => Ok(None),
            },
        }
    }

    /// The first process of a session that another host opened, if it lives.
    pub async fn leader_of(&self, sandbox: &SandboxId, session: &str) -> Result<Option<Leader>> {
        let said = self.ask(sandbox, &[inside::FIND, "htui", session]).await?.unwrap_or_default();
        let leader = |(pid, born): (&str, &str)| Leader { pid: pid.to_owned(), born: born.to_owned() };
        Ok(said.trim().split_once(' ').map(leader))
    }

    /// Ends every process of a session: the signal, then KILL. Verified.
    pub async fn end(&self, sandbox: &SandboxId, leader: &Leader, gently: &str) -> Result<()> {
        if self.signal(sandbox, leader, gently).await?.is_empty() {
            return Ok(());
        }
        let killed_from = tokio::time::Instant::now() + GRACE;
        let mut left = Vec::new();
        for _ in 0..ROUNDS {
            tokio::time::sleep(PAUSE).await;
            let signal = if tokio::time::Instant::now() < killed_from { "0" } else { "KILL" };
            left = self.signal(sandbox, leader, signal).await?;
            if left.is_empty() {
                return Ok(());
            }
        }
        Err(BackendError::new(
            FailureKind::Temporary,
            format!("processes {} did not end although they were killed", left.join(", ")),
            "they may wait for a device; stop the environment",
        ))
    }
}

/// What a runtime says of a program that is not there, by its name or by its path.
fn lacks_shell(said: &str) -> bool {
    said.contains("executable file not found") || (said.contains("exec") && said.contains("no such file or directory"))
}

fn no_shell() -> BackendError {
    BackendError::new(
        FailureKind::Permanent,
        "there is no shell in the image: looked for sh, bash, ash, dash and /busybox/sh",
        "use an image with a POSIX shell",
    )
}

fn not_started(why: &str) -> BackendError {
    BackendError::new(
        FailureKind::Permanent,
        format!("the program cannot run in the container: {why}"),
        "see the image's programs and the environment's folders",
    )
}

/// Variables as the engine takes them.
pub fn variables(all: &[(String, String)], own: (&str, &str)) -> Vec<String> {
    let good =
        |(name, value): &&(String, String)| !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
    let mut texts: Vec<String> = all.iter().filter(good).map(|(name, value)| format!("{name}={value}")).collect();
    texts.push(format!("{}={}", own.0, own.1));
    texts
}

/// Shared, so that tasks outlive the backend object that started them.
pub type Shared = Arc<Inner>;
