//! Commands without a terminal in a container: output and errors apart.

use super::super::{ExecLink, ExecSpec, Result};
use super::engine::Engine;
use super::hijack;
use super::inside::{self, Leader, Said};
use super::run::{Program, Shared, variables};
use crate::domain::SandboxId;
use std::io;
use std::sync::{Arc, PoisonError};
use tokio::io::{AsyncReadExt, DuplexStream};
use tokio::sync::{Notify, watch};

/// Output that waits for its reader.
const BUFFER: usize = 64 << 10;
/// Longer than anything that a script or the engine says before the program.
const LONGEST_SAYING: usize = 64 << 10;
/// Our own failure, as `docker exec` and env(1) have it.
const OUR_FAILURE: i32 = 125;

/// Runs one.
pub async fn exec(inner: Shared, sandbox: SandboxId, spec: ExecSpec) -> Result<ExecLink> {
    let (engine, seen) = inner.running_any(&sandbox).await?;
    match spec.argv.first() {
        None => return Ok(not_run(127, "no command was given")),
        Some(name) if name.is_empty() => return Ok(not_run(127, "the command's name is empty")),
        Some(_) if spec.argv.iter().any(|word| word.contains('\0')) => {
            return Ok(not_run(127, "an argument holds a zero byte"));
        }
        Some(_) => {}
    }
    let (usual, wanted) = (seen.working_dir().to_owned(), spec.cwd.unwrap_or_default());
    let mut args = vec![inside::command(), "htui".to_owned(), usual, wanted];
    args.extend(spec.argv);
    let call = spec.call.as_str().to_owned();
    let env = variables(&spec.env, ("HTUI_CALL", &call));
    loop {
        let interpreter = inner.interpreter(&sandbox);
        let program = Program { interpreter, args: args.clone(), env: env.clone(), tty: false };
        let flight = Flight::begin(&inner, call.clone());
        match run(inner.clone(), engine.clone(), sandbox.clone(), program, flight).await {
            Err(error) if inner.has_other(&sandbox, interpreter, &error) => {}
            other => return other,
        }
    }
}

async fn run(
    inner: Shared,
    engine: Arc<Engine>,
    sandbox: SandboxId,
    program: Program,
    flight: Flight,
) -> Result<ExecLink> {
    let exec = inner.start_exec(&engine, &sandbox, program).await?;
    let (reader, stdin) = exec.stream.into_split();
    let (to_output, mut stdout) = tokio::io::duplex(BUFFER);
    let (to_errors, stderr) = tokio::io::duplex(BUFFER);
    let end_of_stream = Arc::new(Notify::new());
    let at_end = end_of_stream.clone();
    tokio::spawn(async move {
        let frames = io::Cursor::new(exec.early).chain(reader);
        if let Err(error) = hijack::demultiplex(frames, to_output, to_errors).await {
            tracing::debug!("the output of a command was cut off: {error}");
        }
        at_end.notify_one();
    });
    let mut early = Vec::new();
    let leader = match hear(&mut stdout, &mut early).await {
        Heard::Leader(leader) => leader,
        Heard::No(why) => {
            let code = inner.exit_code(&engine, &exec.id).await.unwrap_or(OUR_FAILURE);
            return Ok(not_run(code, &why));
        }
        Heard::End => return Err(inner.silent(&engine, &exec.id, &early).await),
    };
    let (ended, mut is_over) = watch::channel(None);
    let (watched, place) = (inner.clone(), sandbox.clone());
    tokio::spawn(async move {
        watched.ended(&engine, &place, &exec.id, &end_of_stream).await;
        let code = watched.exit_code(&engine, &exec.id).await.unwrap_or(OUR_FAILURE);
        drop(flight);
        let _ = ended.send(Some(code));
    });
    let kill = move || -> futures_util::future::BoxFuture<'static, ()> {
        let (inner, sandbox, leader) = (inner.clone(), sandbox.clone(), leader.clone());
        Box::pin(async move {
            if let Err(error) = inner.end(&sandbox, &leader, "TERM").await {
                tracing::warn!("ending a command failed: {error}");
            }
        })
    };
    Ok(ExecLink {
        stdin: Box::new(stdin),
        stdout: Box::new(io::Cursor::new(early).chain(stdout)),
        stderr: Box::new(stderr),
        exit: Box::pin(async move {
            is_over.wait_for(Option::is_some).await.ok().and_then(|code| *code).unwrap_or(OUR_FAILURE)
        }),
        kill: Box::new(kill),
    })
}

enum Heard {
    Leader(Leader),
    No(String),
    End,
}

/// Waits until the script has said who it is; leaves in `early` what follows.
async fn hear(stdout: &mut DuplexStream, early: &mut Vec<u8>) -> Heard {
    loop {
        match inside::said(early) {
            Said::Ready(leader, length) => {
                early.drain(..length);
                return Heard::Leader(leader);
            }
            Said::No(why) => return Heard::No(why),
            Said::Nothing if early.len() > LONGEST_SAYING => return Heard::End,
            Said::Nothing => {}
        }
        if !stdout.read_buf(early).await.is_ok_and(|n| n > 0) {
            return Heard::End;
        }
    }
}

/// A command that counts as running until this is dropped.
struct Flight {
    inner: Shared,
    call: String,
}

impl Flight {
    fn begin(inner: &Shared, call: String) -> Self {
        inner.in_flight.lock().unwrap_or_else(PoisonError::into_inner).insert(call.clone());
        Self { inner: inner.clone(), call }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.inner.in_flight.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.call);
    }
}

/// A command that could not be run: it says why on its errors, as a shell would have it.
fn not_run(code: i32, why: &str) -> ExecLink {
    ExecLink {
        stdin: Box::new(tokio::io::sink()),
        stdout: Box::new(tokio::io::empty()),
        stderr: Box::new(io::Cursor::new(format!("{why}\n").into_bytes())),
        exit: Box::pin(std::future::ready(code)),
        kill: Box::new(|| Box::pin(std::future::ready(()))),
    }
}
