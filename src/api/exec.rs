//! The streams of a command on their way to the client and back.

use super::error::{ApiError, ErrorCode};
use super::protocol::{EXEC_EXIT, EXEC_OUTPUT, ExecStdin};
use super::server::Reply;
use super::shapes;
use crate::app::Stream;
use crate::domain::Refusal;
use crate::runtime::calls::ExecEvent;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A hold on a running command.
#[derive(Clone, Debug)]
pub struct ExecHandle {
    input: mpsc::Sender<(Vec<u8>, bool, Reply)>,
    kill: CancellationToken,
}

/// The other side of an [`ExecHandle`].
#[derive(Debug)]
pub struct ExecControl {
    input: mpsc::Receiver<(Vec<u8>, bool, Reply)>,
    kill: CancellationToken,
}

impl ExecControl {
    /// Cancelled when the command is to end.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.kill.clone()
    }
}

impl ExecHandle {
    /// A hold on a command that is about to run.
    #[must_use]
    pub fn new() -> (Self, ExecControl) {
        let (sender, receiver) = mpsc::channel(16);
        let kill = CancellationToken::new();
        (Self { input: sender, kill: kill.clone() }, ExecControl { input: receiver, kill })
    }

    /// Passes input on; answered when written.
    pub fn stdin(&self, params: &ExecStdin, reply: Reply) {
        let mut bytes = params.text.clone().unwrap_or_default().into_bytes();
        match params.base64.as_ref().map(|text| STANDARD.decode(text)).transpose() {
            Ok(more) => bytes.extend(more.unwrap_or_default()),
            Err(error) => {
                let message = format!("cannot pass the input on: it is not base64: {error}");
                return reply.send(Err(ApiError::new(ErrorCode::Usage, message, "send `text`, or correct `base64`")));
            }
        }
        if let Err(error) = self.input.try_send((bytes, params.eof, reply)) {
            let (why, (_, _, reply)) = match error {
                mpsc::error::TrySendError::Full(rest) => ("its earlier input is not written yet", rest),
                mpsc::error::TrySendError::Closed(rest) => ("it takes no input any more", rest),
            };
            let message = format!("cannot pass input to the command: {why}");
            reply.send(Err(ApiError::new(ErrorCode::Failed, message, "wait for the answer to each exec.stdin")));
        }
    }

    /// Ends the command.
    pub fn kill(&self) {
        self.kill.cancel();
    }
}

/// Hands input to the command as it comes, until there is no more.
pub async fn feed(stdin: mpsc::Sender<Vec<u8>>, mut control: ExecControl) {
    let mut stdin = Some(stdin);
    while let Some((bytes, eof, answer)) = control.input.recv().await {
        let length = bytes.len();
        let taken = match &stdin {
            Some(to) if !bytes.is_empty() => to.send(bytes).await.is_ok(),
            Some(_) => true,
            None => false,
        };
        if eof || !taken {
            stdin = None;
        }
        answer.send(if taken {
            Ok(shapes::reply(json!({"written": length})))
        } else {
            let message = "cannot pass input to the command: it takes none any more";
            Err(ApiError::new(ErrorCode::Failed, message, "it may have ended: see exec.exit"))
        });
    }
}

/// Tells the client what becomes of a command: the answer when it runs or will not, then its output and its end.
/// Returns early when the client is gone, which ends the command.
pub async fn forward(call: &str, mut happens: mpsc::Receiver<ExecEvent>, reply: Reply) {
    let out = reply.outgoing().clone();
    let mut reply = Some(reply);
    loop {
        let event = tokio::select! {
            event = happens.recv() => event,
            () = out.closed() => return,
        };
        match event {
            None => return,
            Some(ExecEvent::Refused(refusal)) => {
                if let Some(reply) = reply.take() {
                    reply.send(Err::<Value, Refusal>(refusal));
                }
                return;
            }
            Some(ExecEvent::Started) => started(&mut reply, call),
            Some(ExecEvent::Output(stream, bytes)) => {
                if !out.send(EXEC_OUTPUT, &output(call, stream, &bytes)).await {
                    return;
                }
            }
            Some(ExecEvent::Ended { code, note, cwd }) => {
                started(&mut reply, call);
                out.send(EXEC_EXIT, &json!({"call": call, "exit_code": code, "why": note, "cwd": cwd})).await;
                return;
            }
        }
    }
}

fn started(reply: &mut Option<Reply>, call: &str) {
    if let Some(reply) = reply.take() {
        reply.send(Ok::<_, ApiError>(shapes::reply(json!({"call": call}))));
    }
}

fn output(call: &str, stream: Stream, bytes: &[u8]) -> Value {
    let name = match stream {
        Stream::Out => "stdout",
        Stream::Err => "stderr",
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => json!({"call": call, "stream": name, "text": text}),
        Err(_) => json!({"call": call, "stream": name, "base64": STANDARD.encode(bytes)}),
    }
}
