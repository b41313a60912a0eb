//! `exec`: a command in an environment, without a terminal. Its streams and its exit code become ours.

use super::complete;
use super::context::Context;
use super::output::{Failure, print_json};
use super::spec::seconds;
use crate::api::client::{Message, Receiver, Sender};
use crate::api::protocol::{EXEC_EXIT, EXEC_OUTPUT, ExecKill, ExecStart, ExecStdin};
use crate::api::{ApiCall, ApiError, ErrorCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Read, Write};
use std::time::Instant;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Our own failure, as `docker exec` and `env` have it.
const OUR_FAILURE: u8 = 125;
/// Bytes of each stream that `--json` collects.
const COLLECTED: usize = 16 * 1024 * 1024;
/// Bytes of input in one message: base64 of it stays far below the limit of a message.
const INPUT: usize = 64 * 1024;

#[derive(Args, Debug)]
#[command(
    override_usage = "hermes-tui exec [OPTIONS] ENV -- ARGV...\n       \
    hermes-tui exec [OPTIONS] --conversation ID -- ARGV...\n       \
    hermes-tui exec [OPTIONS] ENV|--conversation ID --shell SCRIPT",
    after_help = "The exit code is the command's own; 124 its time ran out, 125 it could not be run by us, \
                  126 it is not executable, 127 it was not found."
)]
pub(super) struct Exec {
    /// Environment: name, endpoint/name, or the beginning of its id
    #[arg(required_unless_present = "conversation", conflicts_with = "conversation", add = complete::environment())]
    env: Option<String>,
    /// Run in the environment of this conversation
    #[arg(long, value_name = "ID", add = complete::conversation())]
    conversation: Option<String>,
    /// End it after this time
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<f64>,
    /// Evaluate this in the conversation's own shell state: directory and exported variables stay for the next
    #[arg(long, value_name = "SCRIPT", conflicts_with = "argv", required_unless_present = "argv")]
    shell: Option<String>,
    /// Command and arguments
    #[arg(last = true)]
    argv: Vec<String>,
}

pub(super) fn run(context: &Context, exec: Exec) -> Result<u8, Failure> {
    let start = ExecStart {
        env: exec.env,
        conversation: exec.conversation,
        argv: exec.argv,
        shell: exec.shell,
        aside: false,
        cwd: None,
        timeout_seconds: exec.timeout,
        stdin: may_read_input(),
        label: None,
    };
    let outcome = context.wait(async {
        let mut signals = Signals::new()?;
        let (sender, receiver, early) = context.host().await?.split();
        let mut running = Running::new(context.json, sender, &start).await?;
        for (method, params) in early {
            running.notified(&method, &params, &mut signals).await?;
        }
        running.carry(receiver, &mut signals).await
    });
    match outcome {
        Err(Failure::Error(error)) => Err(Failure::Exit(OUR_FAILURE, error)),
        // Whoever read our output is gone; the host ends the command with the connection.
        Err(Failure::BrokenPipe) => Ok(128 + 13),
        other => other,
    }
}

/// A terminal may be read only by its foreground job: another one would be stopped by the attempt.
fn may_read_input() -> bool {
    let stdin = io::stdin();
    !stdin.is_terminal() || nix::unistd::tcgetpgrp(&stdin).is_ok_and(|foreground| foreground == nix::unistd::getpgrp())
}

/// The signals that are passed on as an end of the command.
pub(super) struct Signals([(i32, Signal); 3]);

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        let listen = |kind: SignalKind| Ok::<_, io::Error>((kind.as_raw_value(), signal(kind)?));
        Ok(Self([listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?, listen(SignalKind::hangup())?]))
    }

    /// The number of the next one.
    pub(super) async fn next(&mut self) -> i32 {
        let [(a, first), (b, second), (c, third)] = &mut self.0;
        tokio::select! {
            _ = first.recv() => *a,
            _ = second.recv() => *b,
            _ = third.recv() => *c,
        }
    }
}

/// Ended by a signal to us: 128 and its number, as a shell has it.
pub(super) fn by_signal(number: i32) -> Failure {
    let error = ApiError::new(ErrorCode::Failed, format!("ended by signal {number}"), "the command is ended with us");
    Failure::Exit(u8::try_from(128 + number).unwrap_or(OUR_FAILURE), error)
}

/// A command that was asked for.
struct Running {
    json: bool,
    sender: Sender,
    start: u64,
    asked: Instant,
    call: Option<String>,
    /// The request that carries the last input; the next waits for its answer.
    input: Option<u64>,
    killed: bool,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    truncated: bool,
    exit: Option<(i32, String)>,
}

impl Running {
    async fn new(json: bool, mut sender: Sender, start: &ExecStart) -> Result<Self, Failure> {
        let id = sender.send(&ApiCall::ExecStart(Box::new(start.clone()))).await?;
        Ok(Self {
            json,
            sender,
            start: id,
            asked: Instant::now(),
            call: None,
            input: None,
            killed: false,
            stdout: Vec::new(),
            stderr: Vec::new(),
            truncated: false,
            exit: None,
        })
    }

    /// To the end of the command.
    async fn carry(&mut self, mut receiver: Receiver, signals: &mut Signals) -> Result<u8, Failure> {
        let mut input = read_input();
        let mut open = may_read_input();
        while self.exit.is_none() {
            let ready = open && self.call.is_some() && self.input.is_none();
            tokio::select! {
                message = receiver.next() => match message? {
                    Message::Answer { id, answer } if id == self.start => {
                        self.call = Some(answer?["call"].as_str().unwrap_or_default().to_owned());
                    }
                    Message::Answer { id, answer } if Some(id) == self.input => {
                        self.input = None;
                        // A command that does not read its input is none of our business.
                        open &= answer.is_ok();
                    }
                    Message::Answer { .. } => {}
                    Message::Notification { method, params } => self.notified(&method, &params, signals).await?,
                },
                chunk = input.recv(), if ready => {
                    open = chunk.is_some();
                    self.pass_input(chunk).await?;
                }
                number = signals.next() => self.signalled(number).await?,
            }
        }
        self.report()
    }

    async fn pass_input(&mut self, chunk: Option<Vec<u8>>) -> Result<(), Failure> {
        let call = self.call.clone().unwrap_or_default();
        let stdin = match chunk {
            None => ExecStdin { call, eof: true, ..ExecStdin::default() },
            Some(bytes) => match String::from_utf8(bytes) {
                Ok(text) => ExecStdin { call, text: Some(text), ..ExecStdin::default() },
                Err(error) => {
                    ExecStdin { call, base64: Some(STANDARD.encode(error.as_bytes())), ..ExecStdin::default() }
                }
            },
        };
        self.input = Some(self.sender.send(&ApiCall::ExecStdin(stdin)).await?);
        Ok(())
    }

    /// The first signal ends the command, whose last words are still shown; the second one ends us.
    async fn signalled(&mut self, number: i32) -> Result<(), Failure> {
        match &self.call {
            Some(call) if !self.killed => {
                self.killed = true;
                self.sender.send(&ApiCall::ExecKill(ExecKill { call: call.clone() })).await?;
                Ok(())
            }
            _ => Err(by_signal(number)),
        }
    }

    async fn notified(&mut self, method: &str, params: &Value, signals: &mut Signals) -> Result<(), Failure> {
        match method {
            EXEC_OUTPUT => {
                let bytes = match params["text"].as_str() {
                    Some(text) => text.as_bytes().to_vec(),
                    None => STANDARD.decode(params["base64"].as_str().unwrap_or_default()).unwrap_or_default(),
                };
                self.output(params["stream"] == "stderr", bytes, signals).await
            }
            EXEC_EXIT => {
                let code = params["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
                let why = params["why"].as_str().unwrap_or_default().to_owned();
                self.exit = Some((code.unwrap_or(i32::from(OUR_FAILURE)), why));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn output(&mut self, error: bool, bytes: Vec<u8>, signals: &mut Signals) -> Result<(), Failure> {
        if self.json {
            let kept = if error { &mut self.stderr } else { &mut self.stdout };
            let room = COLLECTED.saturating_sub(kept.len()).min(bytes.len());
            kept.extend_from_slice(&bytes[..room]);
            self.truncated |= room < bytes.len();
            return Ok(());
        }
        // A reader that stopped reading must not keep us from being ended.
        let writing = write(error, bytes);
        tokio::pin!(writing);
        loop {
            tokio::select! {
                biased;
                written = &mut writing => return Ok(written?),
                number = signals.next() => self.signalled(number).await?,
            }
        }
    }

    fn report(&mut self) -> Result<u8, Failure> {
        let (code, why) = self.exit.take().unwrap_or((i32::from(OUR_FAILURE), String::new()));
        if self.json {
            print_json(&json!({
                "schema": 1,
                "call": self.call,
                "exit_code": code,
                "why": if why.is_empty() { Value::Null } else { json!(why) },
                "stdout": String::from_utf8_lossy(&self.stdout),
                "stderr": String::from_utf8_lossy(&self.stderr),
                "truncated": self.truncated,
                "duration_ms": u64::try_from(self.asked.elapsed().as_millis()).unwrap_or(u64::MAX),
            }))?;
        } else if !why.is_empty() {
            let _ = writeln!(io::stderr(), "hermes-tui: {why}");
        }
        // The system keeps eight bits of an exit code.
        Ok(code.to_le_bytes()[0])
    }
}

/// Writes on a thread that may wait for the reader.
async fn write(error: bool, bytes: Vec<u8>) -> io::Result<()> {
    let writing = tokio::task::spawn_blocking(move || {
        let put = |out: &mut dyn Write| out.write_all(&bytes).and_then(|()| out.flush());
        if error { put(&mut io::stderr().lock()) } else { put(&mut io::stdout().lock()) }
    });
    writing.await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// Our standard input, a piece at a time; closed at its end. On a thread of its own, which nobody waits for: it may sit
/// in a read for ever.
fn read_input() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(1);
    if may_read_input() {
        std::thread::spawn(move || {
            let mut stdin = io::stdin().lock();
            loop {
                let mut bytes = vec![0; INPUT];
                match stdin.read(&mut bytes) {
                    Ok(0) => return,
                    Ok(length) => bytes.truncate(length),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return,
                }
                if sender.blocking_send(bytes).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}
