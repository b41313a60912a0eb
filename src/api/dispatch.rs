//! Carries out calls: reads the model, asks the core, runs commands, types, follows; each in a task of its own, so
//! that one that waits delays no other.

use super::about::About;
use super::adopt;
use super::error::{ApiError, ErrorCode};
use super::events;
use super::exec::{self, ExecHandle};
use super::held::Held;
use super::keys::{self, KeyInput};
use super::protocol::{ApiCall, ExecStart, SessionCapture, SessionSendKeys, TurnBegin, TurnShow};
use super::server::{ConnectionId, Inbound, Incoming, Reply};
use super::{Plan, answer_value, open, outputs, plan, prune, queries, screen, shapes, wait};
use crate::domain::{
    Answer, ConversationId, Deed, EnvId, Environment, Event, Refusal, RefusalKind, Request, SessionId, TurnId,
};
use crate::runtime::calls::{ExecRequest, Program};
use crate::runtime::handle::HostHandle;
use crate::term;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

/// Commands of all connections that run now.
type Execs = Arc<Mutex<BTreeMap<(ConnectionId, String), ExecHandle>>>;

/// After the host has ended, clients have this long to read their last answer.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// Output that waits for a slow client; more waits in the command.
const OUTPUT: usize = 16;

/// Carries out what comes in, until nothing more comes or the host has ended and its clients have left.
pub async fn run(host: HostHandle, about: Arc<About>, mut calls: mpsc::Receiver<Inbound>) {
    let this = Dispatcher { host, about, execs: Execs::default(), held: Held::default() };
    let tasks = TaskTracker::new();
    let mut connections = BTreeSet::new();
    loop {
        let ended = async {
            this.host.ended().await;
            tasks.close();
            tasks.wait().await;
            tokio::time::sleep(LAST_ANSWERS).await;
        };
        let inbound = tokio::select! {
            inbound = calls.recv() => inbound,
            () = ended => return,
        };
        let before = connections.is_empty();
        match inbound {
            None => return,
            Some(Inbound::Closed(connection)) => {
                connections.remove(&connection);
                this.lock().retain(|(owner, _), _| *owner != connection);
                let (held, host) = (this.held.clone(), this.host.clone());
                tasks.spawn(async move { held.release(&host, connection).await });
                if connections.is_empty() && this.host.has_ended() {
                    return;
                }
            }
            Some(Inbound::Call(incoming)) => {
                connections.insert(incoming.connection);
                tasks.spawn(this.clone().carry_out(incoming));
            }
        }
        if connections.is_empty() != before {
            this.host.connected(before).await;
        }
    }
}

/// Whether an answer depends on what there is.
fn names_or_lists(call: &ApiCall) -> bool {
    use ApiCall::{EventsSubscribe, ExecKill, ExecStdin, ScreenAttach, Shutdown};
    match call {
        ScreenAttach(screen) => screen.env.is_some() || screen.session.is_some(),
        Shutdown(_) | ExecStdin(_) | ExecKill(_) | EventsSubscribe(_) => false,
        _ => true,
    }
}

#[derive(Clone)]
struct Dispatcher {
    host: HostHandle,
    about: Arc<About>,
    execs: Execs,
    held: Held,
}

impl Dispatcher {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(ConnectionId, String), ExecHandle>> {
        self.execs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn carry_out(self, incoming: Incoming) {
        let Incoming { connection, call, reply, typed } = incoming;
        if names_or_lists(&call) {
            self.about.first_lists().await;
        }
        match call {
            ApiCall::ScreenAttach(params) => screen::show(self.host, self.about, params, typed, reply).await,
            ApiCall::ExecStart(params) => self.exec(connection, *params, reply).await,
            ApiCall::ExecStdin(params) => match self.running(connection, &params.call) {
                Ok(handle) => handle.stdin(&params, reply),
                Err(error) => reply.send(Err(error)),
            },
            ApiCall::ExecKill(params) => reply.send(self.running(connection, &params.call).map(|handle| {
                handle.kill();
                shapes::reply(json!({"done": true}))
            })),
            ApiCall::EnvCandidates(_) => reply.send(Ok::<_, ApiError>(adopt::list(&self.about).await)),
            ApiCall::EnvPrune(params) => reply.send(prune::prune(&self.host, &self.about, &params).await),
            ApiCall::EventsSubscribe(params) => events::follow(&self.host, params, reply).await,
            ApiCall::SessionCapture(params) => reply.send(self.capture(params).await),
            ApiCall::SessionOpen(params) => reply.send(open::session(&self.host, params, fresh_id()).await),
            ApiCall::SessionWait(params) => wait::session(&self.host, params, reply).await,
            ApiCall::SessionSendKeys(params) => reply.send(self.send_keys(params).await),
            ApiCall::TurnBegin(params) if params.with_connection => self.begin_held(params, reply).await,
            call => reply.send(self.planned(call).await),
        }
    }

    /// Everything that the state answers or the core carries out.
    async fn planned(&self, call: ApiCall) -> Result<Value, Refusal> {
        match &call {
            ApiCall::EnvShow(params) => self.about.look_closely(&params.env).await,
            ApiCall::TurnBegin(_) => self.about.reread_rules(),
            // An explanation rests on a fresh look.
            ApiCall::Reap(params) => self.about.gather_evidence(params.explain.clone()).await,
            ApiCall::EnvRemove(params) if params.data => {
                if let Some(answer) = self.about.remove_left_files(&params.env).await {
                    return answer;
                }
            }
            _ => {}
        }
        let open_turn = match &call {
            ApiCall::TurnEnd(params) => self.open_turn(params.conversation.clone()).await?,
            _ => None,
        };
        let stale = if matches!(call, ApiCall::Status(_)) { self.about.changed_config() } else { None };
        let (about, asked) = (Arc::clone(&self.about), call.clone());
        let plan = match &call {
            ApiCall::EnvAdopt(params) => Plan::Request(Box::new(adopt::request(&self.about, params).await?)),
            _ => {
                let plan = self.host.read(move |model, now| {
                    let mut extras = about.extras(model);
                    extras.troubles.extend(stale);
                    let mut plan = plan(&model.state, now, &asked, &extras, &mut fresh_id, &about.defaults());
                    if let (ApiCall::TurnShow(TurnShow { output: true, .. }), Plan::Answer(Ok(reply))) =
                        (&asked, &mut plan)
                    {
                        outputs::add(model, reply);
                    }
                    plan
                });
                plan.await?
            }
        };
        match plan {
            Plan::Answer(answer) => answer,
            Plan::Request(request) => {
                let removed = match &*request {
                    Request::EndOther { env, deed: Deed::Remove, .. } | Request::Forget(env) => {
                        Some((env.clone(), false))
                    }
                    Request::Remove { env, .. } => Some((env.clone(), self.is_ephemeral(env.clone()).await?)),
                    _ => None,
                };
                let forgotten = matches!(*request, Request::Forget(_));
                let answer = self.host.ask(*request).await?;
                let ended_turn = matches!(call, ApiCall::TurnEnd(_));
                let (about, of) = (Arc::clone(&self.about), answer.clone());
                let value =
                    self.host.read(move |model, now| answer_value(&model.state, now, &call, &of, &about.extras(model)));
                match (value.await, answer) {
                    (Ok(value), _) => value.map(|mut value| {
                        if ended_turn {
                            value["ended"] = json!(open_turn);
                        }
                        if let Some((id, ephemeral)) = removed {
                            // The files of an ephemeral one are being deleted, although some may still be there now.
                            value["files"] = json!(self.about.files(id.as_str()).filter(|_| !ephemeral));
                            value["files_deleted"] = json!(ephemeral);
                            value["removed"] = json!(id);
                            value["forgotten"] = json!(forgotten);
                        }
                        value
                    }),
                    // The host ended right after it said that all is done.
                    (Err(_), Answer::Done) => Ok(shapes::reply(json!({"done": true}))),
                    (Err(refusal), _) => Err(refusal),
                }
            }
            Plan::Host => Err(Refusal::new(
                RefusalKind::Failed,
                "the call is not one that is answered alone",
                "see its documentation",
            )),
        }
    }

    /// A turn that ends with the connection.
    async fn begin_held(&self, params: Box<TurnBegin>, reply: Reply) {
        let conversation = ConversationId::new(&params.conversation);
        let answer = self.planned(ApiCall::TurnBegin(params)).await;
        if let Some(turn) = answer.as_ref().ok().and_then(|value| value["turn"].as_str()) {
            self.held.hold(&self.host, reply.outgoing(), conversation, TurnId(turn.to_owned())).await;
        }
        reply.send(answer);
    }

    /// The number of a conversation's open turn.
    async fn open_turn(&self, conversation: String) -> Result<Option<u32>, Refusal> {
        self.host
            .read(move |model, _| {
                let found = model.state.conversations.get(&ConversationId::new(conversation))?;
                found.turns.last().filter(|turn| turn.ended.is_none()).map(|turn| turn.number)
            })
            .await
    }

    async fn is_ephemeral(&self, env: EnvId) -> Result<bool, Refusal> {
        self.host.read(move |model, _| model.state.environments.get(&env).is_some_and(Environment::is_ephemeral)).await
    }

    fn running(&self, connection: ConnectionId, call: &str) -> Result<ExecHandle, ApiError> {
        self.lock().get(&(connection, call.to_owned())).cloned().ok_or_else(|| {
            let message = format!("this connection runs no command `{call}`");
            ApiError::new(ErrorCode::NotFound, message, "it may have ended: see exec.exit")
        })
    }

    async fn exec(&self, connection: ConnectionId, params: ExecStart, reply: Reply) {
        let (about, asked) = (Arc::clone(&self.about), ApiCall::ExecStart(Box::new(params.clone())));
        let request = self
            .host
            .read(move |model, _| super::requests::to_request(&model.state, &asked, &mut fresh_id, &about.defaults()));
        let (call, env, conversation) = match request.await.and_then(|inner| inner) {
            Ok(Some(Request::BeginCall { call, env, conversation, .. })) => (call, env, conversation),
            Ok(_) => return,
            Err(refusal) => return reply.send(Err(refusal)),
        };
        let (events, happens) = mpsc::channel(OUTPUT);
        let (feed, stdin) = mpsc::channel(OUTPUT);
        let (handle, control) = ExecHandle::new();
        let kill = control.token();
        let key = (connection, call.to_string());
        self.lock().insert(key.clone(), handle);
        let program = match params.shell {
            Some(script) => Program::Shell(script),
            None => Program::Argv(params.argv),
        };
        let timeout = params.timeout_seconds.map(Duration::from_secs_f64);
        let ExecStart { label, cwd, aside, stdin: feeds, .. } = params;
        let waits = call.clone();
        let request = ExecRequest { call, env, conversation, program, aside, label, cwd, timeout, stdin, events, kill };
        let feeding = feeds.then(|| tokio::spawn(exec::feed(feed, control)));
        self.host.exec(request).await;
        exec::forward(&key.1, happens, reply).await;
        self.lock().remove(&key);
        self.host.tell(Event::CallGivenUp(waits)).await;
        if let Some(feeding) = feeding {
            feeding.abort();
        }
    }

    async fn capture(&self, params: SessionCapture) -> Result<Value, Refusal> {
        self.host
            .read(move |model, _| {
                let id = queries::session(&model.state, &params.session)?;
                let Some(screen) = model.work.screens.get(&id) else { return Err(no_screen(&id)) };
                let text = match (params.history, params.ansi) {
                    (false, false) => screen.text(),
                    (true, false) => screen.history_text(),
                    (false, true) => screen.ansi(),
                    (true, true) => screen.history_ansi(),
                };
                let size = screen.size();
                Ok(shapes::reply(json!({"session": id, "size": [size.rows, size.cols], "text": text})))
            })
            .await?
    }

    async fn send_keys(&self, params: SessionSendKeys) -> Result<Value, Refusal> {
        let inputs = keys::parse(&params.keys, params.literal)?;
        let (id, bytes) = self
            .host
            .read(move |model, now| {
                let id = queries::session(&model.state, &params.session)?;
                if let Some(session) = model.state.sessions.get(&id).filter(|_| params.conversation.is_some()) {
                    model.state.check_given(now, &session.env)?;
                }
                let Some(screen) = model.work.screens.get(&id) else { return Err(no_screen(&id)) };
                let modes = screen.modes();
                let mut bytes = Vec::new();
                for input in inputs {
                    match input {
                        KeyInput::Text(text) => bytes.extend(text.into_bytes()),
                        KeyInput::Key(key) => bytes.extend(term::keys::encode(&key, &modes)),
                    }
                }
                Ok((id, bytes))
            })
            .await??;
        self.host.send_keys(id, bytes).await?;
        Ok(shapes::reply(json!({"done": true})))
    }
}

fn no_screen(id: &SessionId) -> Refusal {
    Refusal::new(RefusalKind::Failed, format!("session {id} is not open yet"), "try again in a moment")
}

fn fresh_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..12].to_owned()
}
