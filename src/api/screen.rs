//! The screen in a terminal elsewhere: the host draws, the client writes what it is sent and tells what is typed.

use super::about::About;
use super::error::{ApiError, ErrorCode};
use super::protocol::{SCREEN_FRAME, SCREEN_LEFT, ScreenAttach, ScreenEvent, ScreenInput};
use super::server::Reply;
use super::shapes;
use crate::app::{ClientCaps, ClientId, Msg, Role};
use crate::domain::{Refusal, Size};
use crate::runtime::handle::HostHandle;
use crate::runtime::screen::ClientScreen;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::event::Event as TermEvent;
use serde_json::json;
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
    if params.env.is_some() {
        about.first_lists().await;
    }
    let out = reply.outgoing().clone();
    let (to, mut frames) = mpsc::unbounded_channel();
    let client = match attach(&host, &params, to).await {
        Ok((client, mouse)) => {
            reply.send(Ok::<_, ApiError>(shapes::reply(json!({"client": client.0, "mouse": mouse}))));
            client
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
                    out.send(SCREEN_LEFT, &json!({"host_ended": host.has_ended()})).await;
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

async fn attach(
    host: &HostHandle,
    params: &ScreenAttach,
    to: mpsc::UnboundedSender<Vec<u8>>,
) -> Result<(ClientId, bool), Refusal> {
    let env = params.env.clone();
    let (options, env) = host
        .read(move |model, _| {
            let env = env.map(|env| model.state.resolve(&env)).transpose();
            env.map(|env| (model.options.clone(), env))
        })
        .await??;
    let caps = ClientCaps { colours: params.colours, unicode: params.unicode };
    let size = Size { rows: params.size[0].max(1), cols: params.size[1].max(1) };
    // One frame is under way at a time, so that this queue holds no more than one.
    let frames = Box::new(move |frame| to.send(frame).is_ok());
    let screen = ClientScreen::for_terminal(&options, caps, size, frames).map_err(|error| {
        Refusal::new(crate::domain::RefusalKind::Failed, format!("cannot draw a screen: {error}"), "try again")
    })?;
    let role = if params.read_only { Role::Reader } else { Role::Guest };
    let client = host.attach(screen, role).await;
    if let Some(env) = env {
        host.tell_screen(Msg::OpenEnv { client, env }).await;
    }
    Ok((client, options.mouse))
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
