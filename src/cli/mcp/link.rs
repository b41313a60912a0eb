//! One connection to the host for everything that is asked for at the same time.

use super::kept::Kept;
use crate::api::client::{Client, Message, Receiver, Sender};
use crate::api::protocol::{EXEC_EXIT, EXEC_OUTPUT, ExecStart};
use crate::api::{ApiCall, ApiError, ErrorCode};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Who waits for an answer.
struct Waiting {
    to: oneshot::Sender<Result<Value, ApiError>>,
    /// Where the output of the command goes that the answer names. It may follow the answer at once, so that whoever
    /// reads must know it already.
    output: Option<Arc<Kept>>,
}

#[derive(Default)]
struct Routes {
    waiting: BTreeMap<u64, Waiting>,
    commands: BTreeMap<String, Arc<Kept>>,
    /// Why nothing comes any more.
    lost: Option<ApiError>,
}

/// What is told to whom.
#[derive(Default)]
struct Board(Mutex<Routes>);

/// A connection whose answers and output find their way. It closes when this is dropped.
pub(super) struct Link {
    sender: tokio::sync::Mutex<Sender>,
    board: Arc<Board>,
    reading: tokio::task::JoinHandle<()>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl Link {
    /// Of a connection that has said hello.
    pub(super) fn new(client: Client) -> Self {
        let (sender, receiver, _) = client.split();
        let board = Arc::new(Board::default());
        let reading = tokio::spawn(read(receiver, board.clone()));
        Self { sender: tokio::sync::Mutex::new(sender), board, reading }
    }

    /// Whether the host is gone.
    pub(super) fn is_lost(&self) -> bool {
        self.board.lock().lost.is_some()
    }

    /// Makes a call and waits for its answer.
    pub(super) async fn call(&self, call: &ApiCall) -> Result<Value, ApiError> {
        answered(self.send(call, None).await?).await
    }

    /// Starts a command whose output goes to `kept`; gives what its answer comes through.
    pub(super) async fn start(&self, start: ExecStart, kept: Arc<Kept>) -> Result<Answer, ApiError> {
        self.send(&ApiCall::ExecStart(Box::new(start)), Some(kept)).await
    }

    async fn send(&self, call: &ApiCall, output: Option<Arc<Kept>>) -> Result<Answer, ApiError> {
        let mut sender = self.sender.lock().await;
        let (to, answer) = oneshot::channel();
        {
            let mut routes = self.board.lock();
            if let Some(why) = &routes.lost {
                return Err(why.clone());
            }
            routes.waiting.insert(sender.number(), Waiting { to, output });
        }
        sender.send(call).await?;
        Ok(answer)
    }
}

/// What an answer comes through.
pub(super) type Answer = oneshot::Receiver<Result<Value, ApiError>>;

/// Waits for an answer.
pub(super) async fn answered(answer: Answer) -> Result<Value, ApiError> {
    answer.await.unwrap_or_else(|_| {
        Err(ApiError::new(ErrorCode::NoHost, "the connection to the host was closed", "call the tool again"))
    })
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Routes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self, message: Message) {
        let mut routes = self.lock();
        match message {
            Message::Answer { id, answer } => {
                let Some(Waiting { to, output }) = routes.waiting.remove(&id) else { return };
                let call = answer.as_ref().ok().and_then(|value| value["call"].as_str());
                if let (Some(kept), Some(call)) = (output, call) {
                    routes.commands.insert(call.to_owned(), kept);
                }
                // Whoever asked may have given up.
                let _ = to.send(answer);
            }
            Message::Notification { method, params } => {
                let call = params["call"].as_str().unwrap_or_default();
                match method.as_str() {
                    EXEC_OUTPUT => {
                        if let Some(kept) = routes.commands.get(call) {
                            kept.printed(&params);
                        }
                    }
                    EXEC_EXIT => {
                        if let Some(kept) = routes.commands.remove(call) {
                            kept.ended(&params);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Nothing comes any more.
    fn lose(&self, why: &ApiError) {
        let mut routes = self.lock();
        routes.lost = Some(why.clone());
        for (_, waiting) in std::mem::take(&mut routes.waiting) {
            let _ = waiting.to.send(Err(why.clone()));
        }
        for (_, kept) in std::mem::take(&mut routes.commands) {
            kept.lost(&why.message);
        }
    }
}

async fn read(mut receiver: Receiver, board: Arc<Board>) {
    loop {
        match receiver.next().await {
            Ok(message) => board.told(message),
            Err(why) => return board.lose(&why),
        }
    }
}
