//! The screen in a terminal elsewhere: the host draws, the client writes what it is sent and tells what is typed.

use super::about::About;
use super::error::{ApiError, ErrorCode};
use super::protocol::{SCREEN_FRAME, SCREEN_LEFT, ScreenAttach, ScreenEvent, ScreenInput};
use super::server::Reply;
use super::{queries, shapes};
use crate::app::{ClientCaps, ClientId, Msg, Role};
use crate::domain::{Refusal, SessionId, SessionState, Size};
use crate::runtime::handle::HostHandle;
use crate::runtime::screen::ClientScreen;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::event::Event as TermEvent;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Messages of one terminal that wait for the loop. Its owner types slower than this, or is no person.
pub const WAITING: usize = 256;
/// Longest paste that is put together.
const LONGEST_PASTE: usize = 32 << 20;

/// Takes what a terminal sends.
pub fn input(screen: Option<&mpsc::Sender<Vec<ScreenEvent>>>, input: ScreenInput, reply: Reply) {
    let error = |message: &str, hint: &str| ApiError::new(ErrorCode::Usage, message, hint);
    match screen.map(|to| to.try_send(input.events)) {
        Some(Ok(())) => reply.send(Ok::<_, ApiError>(shapes::reply(json!({"done": true})))),
        Some(Err(mpsc::error::TrySendError::Full(_))) => {
            reply.outgoing().close("dropped a terminal that sends faster than the host takes it");
        }
        Some(Err(mpsc::error::TrySendError::Closed(_))) | None => {
            reply.send(Err(error("this connection shows no screen", "send screen.attach first")));
        }
    }
}

/// Shows the screen to a client until either has enough.
pub async fn show(
    host: HostHandle,
    about: Arc<About>,
    params: ScreenAttach,
    mut events: mpsc::Receiver<Vec<ScreenEvent>>,
    reply: Reply,
) {
    if params.env.is_some() || params.session.is_some() {
        about.first_lists().await;
    }
    let out = reply.outgoing().clone();
    let (to, mut frames) = mpsc::unbounded_channel();
    let (client, only) = match attach(&host, &params, to).await {
        Ok(Attached { client, mouse, only }) => {
            reply.send(Ok::<_, ApiError>(shapes::reply(json!({"client": client.0, "mouse": mouse}))));
            (client, only)
        }
        Err(refusal) => return reply.send(Err(refusal)),
    };
    host.look_around(about.backends().values().cloned().collect());
    let mut paste = String::new();
    loop {
        tokio::select! {
            frame = frames.recv() => match frame {
                Some(frame) => {
                    if !out.send(SCREEN_FRAME, &json!({"data": BASE64.encode::<Vec<u8>>(frame)})).await {
                        break;
                    }
                }
                None => {
                    let mut left = json!({"host_ended": host.has_ended()});
                    if let Some(session) = only {
                        tell_end(&host, session, &mut left).await;
                    }
                    out.send(SCREEN_LEFT, &left).await;
                    return;
                }
            },
            some = events.recv() => {
                for event in some.into_iter().flatten() {
                    take(&host, client, event, &mut paste).await;
                }
            }
            () = out.closed() => break,
        }
    }
    host.gone(client).await;
}

/// A terminal that shows the screen.
struct Attached {
    client: ClientId,
    /// Whether the mouse is wanted.
    mouse: bool,
    /// The session that is all it shows.
    only: Option<SessionId>,
}

/// Adds how the session ended, if it has.
async fn tell_end(host: &HostHandle, session: SessionId, left: &mut Value) {
    let end = host.read(move |model, _| match model.state.sessions.get(&session).map(|found| &found.state) {
        Some(SessionState::Ended { exit_code, why, .. }) => Some((*exit_code, why.clone())),
        Some(_) => None,
        None => Some((None, "it was closed".to_owned())),
    });
    if let Ok(Some((exit_code, why))) = end.await {
        left["over"] = json!(true);
        left["exit_code"] = json!(exit_code);
        left["why"] = json!(why);
    }
}

async fn attach(
    host: &HostHandle,
    params: &ScreenAttach,
    to: mpsc::UnboundedSender<Vec<u8>>,
) -> Result<Attached, Refusal> {
    let (env, session) = (params.env.clone(), params.session.clone());
    let (options, env, only) = host
        .read(move |model, _| {
            let env = env.map(|env| model.state.resolve(&env)).transpose()?;
            let only = session.map(|session| queries::session(&model.state, &session)).transpose()?;
            Ok::<_, Refusal>((model.options.clone(), env, only))
        })
        .await??;
    let caps = ClientCaps { colours: params.colours, unicode: params.unicode };
    let size = Size { rows: params.size[0], cols: params.size[1] }.bounded();
    // One frame is under way at a time, so that this queue holds no more than one.
    let frames = Box::new(move |frame| to.send(frame).is_ok());
    let screen = ClientScreen::for_terminal(&options, caps, size, frames);
    let role = if params.read_only { Role::Reader } else { Role::Guest };
    let client = host.attach(screen, role, only.clone()).await;
    if let Some(env) = env.filter(|_| only.is_none()) {
        host.tell_screen(Msg::OpenEnv { client, env }).await;
    }
    Ok(Attached { client, mouse: options.mouse, only })
}

async fn take(host: &HostHandle, client: ClientId, event: ScreenEvent, paste: &mut String) {
    match event {
        ScreenEvent::Drawn => host.drained(client).await,
        ScreenEvent::Terminal(event) => host.terminal_event(client, event).await,
        ScreenEvent::Paste { text, last } => {
            if paste.len() + text.len() <= LONGEST_PASTE {
                paste.push_str(&text);
            }
            if last {
                host.terminal_event(client, TermEvent::Paste(std::mem::take(paste))).await;
            }
        }
    }
}
