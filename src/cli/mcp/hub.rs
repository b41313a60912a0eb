//! What all tools share: the connection to the host, the conversations and their turns, the commands that ran.

use super::super::context::Context;
use super::super::output::Failure;
use super::super::turn::place;
use super::kept::Kept;
use super::link::Link;
use crate::api::protocol::{ConversationRef, Nothing, SpecFlags, TurnBegin};
use crate::api::{ApiCall, ApiError, ErrorCode};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Commands that are remembered; each may keep a few MiB of output.
const COMMANDS: usize = 32;
/// Life of a turn's lease should the host die, so that it cannot learn of the end of our connection; and
const LEASE_SECONDS: f64 = 900.0;
/// how often it is renewed.
const RENEWAL: Duration = Duration::from_secs(300);

/// What is known of a conversation here.
#[derive(Default)]
pub(super) struct Known {
    /// Held while a turn is looked for and begun, so that two commands at once do not begin two.
    beginning: tokio::sync::Mutex<()>,
    /// The turn that was begun here, and the connection that it is bound to.
    begun: Mutex<Option<(String, Weak<Link>)>>,
    /// Where its shell stands, as far as a command told.
    cwd: Mutex<Option<String>>,
}

/// A command that was begun here.
#[derive(Clone)]
pub(super) struct Command {
    pub(super) call: String,
    /// Where it was started, as it was written.
    pub(super) text: String,
    pub(super) kept: Arc<Kept>,
    pub(super) began: std::time::Instant,
}

/// What all tools share.
pub(super) struct Hub {
    pub(super) context: Context,
    /// The conversation that is meant where none is named.
    own: String,
    link: tokio::sync::Mutex<Option<Arc<Link>>>,
    conversations: Mutex<BTreeMap<String, Arc<Known>>>,
    /// In the order in which they began.
    commands: Mutex<Vec<Command>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    pub(super) fn new(context: Context, conversation: Option<String>) -> Self {
        let fresh = || format!("mcp-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
        Self {
            context,
            own: conversation.unwrap_or_else(fresh),
            link: tokio::sync::Mutex::default(),
            conversations: Mutex::default(),
            commands: Mutex::default(),
        }
    }

    /// The conversation that is meant.
    pub(super) fn conversation(&self, named: Option<&str>) -> String {
        named.unwrap_or(&self.own).to_owned()
    }

    /// The connection to the host, which is started where none runs, and found again when it was lost.
    pub(super) async fn link(&self) -> Result<Arc<Link>, ApiError> {
        let mut link = self.link.lock().await;
        if let Some(link) = link.as_ref().filter(|link| !link.is_lost()) {
            return Ok(link.clone());
        }
        let client = self.context.host().await.map_err(|failure| match failure {
            Failure::Error(error) | Failure::Exit(_, error) => error,
            Failure::BrokenPipe => {
                ApiError::new(ErrorCode::NoHost, "cannot start a host: a pipe broke", "call the tool again")
            }
        })?;
        let fresh = Arc::new(Link::new(client));
        *link = Some(fresh.clone());
        Ok(fresh)
    }

    /// Makes a call and waits for its answer.
    pub(super) async fn call(&self, call: &ApiCall) -> Result<Value, ApiError> {
        self.link().await?.call(call).await
    }

    fn known(&self, conversation: &str) -> Arc<Known> {
        lock(&self.conversations).entry(conversation.to_owned()).or_default().clone()
    }

    /// Begins a turn, which ends with this connection at the latest.
    pub(super) async fn begin(&self, mut begin: TurnBegin) -> Result<Value, ApiError> {
        begin.with_connection = true;
        begin.lease_ttl_seconds = Some(LEASE_SECONDS);
        let known = self.known(&begin.conversation);
        let _alone = known.beginning.lock().await;
        self.bind(&known, begin).await
    }

    async fn bind(&self, known: &Known, mut begin: TurnBegin) -> Result<Value, ApiError> {
        begin.cwd = place(None);
        let link = self.link().await?;
        let reply = link.call(&ApiCall::TurnBegin(Box::new(begin))).await?;
        let turn = reply["turn"].as_str().unwrap_or_default().to_owned();
        *lock(&known.begun) = Some((turn, Arc::downgrade(&link)));
        Ok(reply)
    }

    /// Whether a turn was begun here, but is bound to a connection to a host that died.
    async fn is_unbound(&self, known: &Known, turn: &Value) -> Result<bool, ApiError> {
        let link = Arc::downgrade(&self.link().await?);
        Ok(lock(&known.begun).as_ref().is_some_and(|(begun, to)| turn == begun.as_str() && !to.ptr_eq(&link)))
    }

    /// The conversation as the host lists it, with an open turn: one is begun where there is none. A conversation that
    /// is new is called like the client.
    pub(super) async fn in_turn(&self, conversation: &str, client: Option<String>) -> Result<Value, ApiError> {
        let known = self.known(conversation);
        let _alone = known.beginning.lock().await;
        let title = match self.listed(conversation).await? {
            Some(listed) if listed["open_turn"].is_null() || self.is_unbound(&known, &listed["open_turn"]).await? => {
                None
            }
            Some(listed) => return Ok(listed),
            None => client.clone(),
        };
        let begin = TurnBegin {
            conversation: conversation.to_owned(),
            title,
            source: client,
            spec: SpecFlags { endpoint: self.context.endpoint.clone(), ..SpecFlags::default() },
            with_connection: true,
            lease_ttl_seconds: Some(LEASE_SECONDS),
            ..TurnBegin::default()
        };
        self.bind(&known, begin).await?;
        self.listed(conversation).await?.ok_or_else(|| {
            let message =
                format!("began a turn of {conversation}, but the host does not list the conversation any more");
            ApiError::new(ErrorCode::Failed, message, "call the tool again")
        })
    }

    /// The conversation in the host's list, which unlike its full view does not grow with its commands.
    async fn listed(&self, conversation: &str) -> Result<Option<Value>, ApiError> {
        let mut reply = self.call(&ApiCall::ConversationList(Nothing {})).await?;
        let all = reply["conversations"].as_array_mut().into_iter().flatten();
        Ok(all.map(Value::take).find(|listed| listed["id"] == conversation))
    }

    /// Where the conversation's shell stands, as far as that is known.
    pub(super) fn cwd(&self, conversation: &str) -> Option<String> {
        lock(&self.known(conversation).cwd).clone()
    }

    /// A command told where the conversation's shell stands.
    pub(super) fn stands(&self, conversation: &str, cwd: String) {
        *lock(&self.known(conversation).cwd) = Some(cwd);
    }

    /// Whether another command may be begun.
    pub(super) fn has_room(&self) -> Result<(), ApiError> {
        let mut commands = lock(&self.commands);
        while commands.len() >= COMMANDS {
            let Some(over) = commands.iter().position(|command| command.kept.exit().is_some()) else {
                let message = format!("cannot run another command: {COMMANDS} of this connection run already");
                let hint = "end some with kill_command, or wait for them with poll_command";
                return Err(ApiError::new(ErrorCode::Failed, message, hint));
            };
            commands.remove(over);
        }
        Ok(())
    }

    /// Remembers a command.
    pub(super) fn remember(&self, command: Command) {
        lock(&self.commands).push(command);
    }

    /// The command with this id.
    pub(super) fn command(&self, call: &str) -> Result<Command, ApiError> {
        let commands = lock(&self.commands);
        commands.iter().find(|command| command.call == call).cloned().ok_or_else(|| {
            let known: Vec<&str> = commands.iter().map(|command| command.call.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message = format!("there is no command `{call}`: this connection began none of that id, or forgot it");
            ApiError::new(ErrorCode::NotFound, message, format!("the ids that are known: {known}"))
        })
    }

    /// Keeps the leases of the turns that were begun here alive, for ever.
    pub(super) async fn keep_alive(&self) {
        loop {
            tokio::time::sleep(RENEWAL).await;
            let link = self.link.lock().await.as_ref().filter(|link| !link.is_lost()).cloned();
            let Some(link) = link else { continue };
            let conversations: Vec<String> = lock(&self.conversations).keys().cloned().collect();
            for conversation in conversations {
                // One without an open turn has nothing to keep.
                let _ = link.call(&ApiCall::TurnTouch(ConversationRef { conversation })).await;
            }
        }
    }
}
