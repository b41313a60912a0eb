//! A command inside an environment whose streams are data.

use super::super::exec::{Signals, by_signal};
use super::super::output::Failure;
use super::source::Piece;
use crate::api::client::{Client, Message, Receiver, Sender};
use crate::api::protocol::{EXEC_EXIT, EXEC_OUTPUT, ExecKill, ExecStart, ExecStdin};
use crate::api::{ApiCall, ApiError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::sync::mpsc;

/// Most of what is said on standard error that is kept.
const SAID: usize = 16 * 1024;
/// The exit codes with which a command that was never run comes back.
const NOT_RUN: [i64; 3] = [125, 126, 127];

/// How a command ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: i64,
    /// What it said on standard error, or why it was not run.
    pub(super) said: String,
    /// We ended it.
    pub(super) killed: bool,
}

/// What a command is given and what it gives.
#[derive(Default)]
pub(super) struct Streams {
    /// Its input; a piece that is an error ends the command.
    pub(super) input: Option<mpsc::Receiver<Piece>>,
    /// Where its output goes; once nobody takes it any more, the command is ended.
    pub(super) output: Option<mpsc::Sender<Vec<u8>>>,
}

/// Runs scripts in one environment.
pub(super) struct Inside {
    sender: Sender,
    receiver: Receiver,
    env: String,
    label: String,
    signals: Signals,
}

impl Inside {
    /// For an environment; `label` is what the commands are listed as.
    pub(super) fn new(client: Client, env: String, label: String) -> Result<Self, Failure> {
        let (sender, receiver, _) = client.split();
        Ok(Self { sender, receiver, env, label, signals: Signals::new()? })
    }

    /// Runs a script to its end.
    pub(super) async fn run(&mut self, script: &str, words: &[&str], streams: Streams) -> Result<Ended, Failure> {
        let argv = ["/bin/sh", "-c", script, "sh"].iter().chain(words).map(|word| (*word).to_owned()).collect();
        let start = ExecStart {
            env: Some(self.env.clone()),
            argv,
            stdin: streams.input.is_some(),
            label: Some(self.label.clone()),
            ..ExecStart::default()
        };
        let id = self.sender.send(&ApiCall::ExecStart(Box::new(start))).await?;
        let mut running = Running { start: id, call: None, fed: None, killed: false, said: Vec::new(), streams };
        loop {
            let ready = running.call.is_some() && running.fed.is_none() && running.streams.input.is_some();
            let step = tokio::select! {
                message = self.receiver.next() => Step::Heard(message?),
                piece = next(&mut running.streams.input), if ready => Step::Feed(piece),
                number = self.signals.next() => Step::Signalled(number),
            };
            match step {
                Step::Heard(message) => {
                    if let Some(ended) = running.heard(message, &mut self.sender).await? {
                        return Ok(ended);
                    }
                }
                Step::Feed(piece) => running.feed(piece, &mut self.sender).await?,
                Step::Signalled(number) => {
                    running.kill(&mut self.sender).await?;
                    // What was begun inside is cleared away there, by the end of the command.
                    while running.heard(self.receiver.next().await?, &mut self.sender).await?.is_none() {}
                    return Err(by_signal(number));
                }
            }
        }
    }
}

enum Step {
    Heard(Message),
    Feed(Option<Piece>),
    Signalled(i32),
}

async fn next(input: &mut Option<mpsc::Receiver<Piece>>) -> Option<Piece> {
    match input {
        Some(input) => input.recv().await,
        None => None,
    }
}

struct Running {
    start: u64,
    call: Option<String>,
    /// The request that carries the last input; the next waits for its answer.
    fed: Option<u64>,
    killed: bool,
    said: Vec<u8>,
    streams: Streams,
}

impl Running {
    /// Its end, once it has ended.
    async fn heard(&mut self, message: Message, sender: &mut Sender) -> Result<Option<Ended>, ApiError> {
        match message {
            Message::Answer { id, answer } if id == self.start => {
                self.call = Some(answer?["call"].as_str().unwrap_or_default().to_owned());
            }
            Message::Answer { id, answer } if Some(id) == self.fed => {
                self.fed = None;
                if answer.is_err() {
                    // It reads no more: its end says why.
                    self.streams.input = None;
                }
            }
            Message::Answer { .. } => {}
            Message::Notification { method, params } if method == EXEC_OUTPUT => {
                let bytes = bytes_of(&params);
                if params["stream"] == "stderr" {
                    let room = SAID.saturating_sub(self.said.len()).min(bytes.len());
                    self.said.extend_from_slice(&bytes[..room]);
                } else if let Some(output) = &self.streams.output
                    && output.send(bytes).await.is_err()
                {
                    self.streams.output = None;
                    self.kill(sender).await?;
                }
            }
            Message::Notification { method, params } if method == EXEC_EXIT => {
                let code = params["exit_code"].as_i64().unwrap_or(NOT_RUN[0]);
                let why = params["why"].as_str().unwrap_or_default();
                let said = String::from_utf8_lossy(&self.said).into_owned();
                let said = match (NOT_RUN.contains(&code) && !self.killed, why) {
                    (true, "") if said.trim().is_empty() => "there is no shell inside (/bin/sh)".to_owned(),
                    (true, why) if !why.is_empty() => why.to_owned(),
                    _ => said,
                };
                return Ok(Some(Ended { code, said, killed: self.killed }));
            }
            Message::Notification { .. } => {}
        }
        Ok(None)
    }

    async fn feed(&mut self, piece: Option<Piece>, sender: &mut Sender) -> Result<(), ApiError> {
        let call = self.call.clone().unwrap_or_default();
        let stdin = match piece {
            Some(Ok(bytes)) => ExecStdin { call, base64: Some(STANDARD.encode(bytes)), ..ExecStdin::default() },
            Some(Err(())) => {
                self.streams.input = None;
                return self.kill(sender).await;
            }
            None => {
                self.streams.input = None;
                ExecStdin { call, eof: true, ..ExecStdin::default() }
            }
        };
        self.fed = Some(sender.send(&ApiCall::ExecStdin(stdin)).await?);
        Ok(())
    }

    async fn kill(&mut self, sender: &mut Sender) -> Result<(), ApiError> {
        if let Some(call) = self.call.clone().filter(|_| !self.killed) {
            self.killed = true;
            sender.send(&ApiCall::ExecKill(ExecKill { call })).await?;
        }
        Ok(())
    }
}

fn bytes_of(params: &Value) -> Vec<u8> {
    match params["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => STANDARD.decode(params["base64"].as_str().unwrap_or_default()).unwrap_or_default(),
    }
}
