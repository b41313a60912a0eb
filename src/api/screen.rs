//! The screen in a terminal elsewhere: the host draws, the client writes what it is sent and tells what is typed.

use super::about::About;
use super::error::{ApiError, ErrorCode};
use super::protocol::{
    SCREEN_COPY, SCREEN_EDIT, SCREEN_FRAME, SCREEN_LEFT, ScreenAttach, ScreenEvent, ScreenFrame, ScreenInput,
    ScreenText,
};
use super::server::{Outgoing, Reply};
use super::{queries, shapes};
use crate::app::{ClientCaps, ClientId, Msg, Role};
use crate::domain::{EnvId, Refusal, SessionId, SessionState, Size};
use crate::runtime::handle::HostHandle;
use crate::runtime::screen::ClientScreen;
use crate::runtime::wishes::Wish;
use crate::term::guard::sanitise;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::event::Event as TermEvent;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Messages of one terminal that wait for the loop. Its owner types slower than this, or is no person.
pub const WAITING: usize = 256;
/// Most characters of what a terminal says went wrong.
const LONGEST_TROUBLE: usize = 500;
/// Longest paste that is put together.
const LONGEST_PASTE: usize = 32 << 20;

/// Hands on what a terminal sent; one that sends faster than the host takes it is dropped. False if it was.
pub(super) fn take(screen: &mpsc::Sender<Vec<ScreenEvent>>, events: Vec<ScreenEvent>, out: &Outgoing) -> bool {
    match screen.try_send(events) {
        // One that has left may still send what was typed before it heard of it.
        Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => true,
        Err(mpsc::error::TrySendError::Full(_)) => {
            out.close("dropped a terminal that sends faster than the host takes it");
            false
        }
    }
}

/// The same, with an answer.
pub(super) fn input(screen: Option<&mpsc::Sender<Vec<ScreenEvent>>>, input: ScreenInput, reply: Reply) {
    let Some(screen) = screen.filter(|screen| !screen.is_closed()) else {
        let error = ApiError::new(ErrorCode::Usage, "this connection shows no screen", "send screen.attach first");
        return reply.send(Err(error));
    };
    if take(screen, input.events, reply.outgoing()) {
        reply.send(Ok::<_, ApiError>(shapes::reply(json!({"done": true}))));
    }
}

/// Shows the screen to a client until either has enough.
pub async fn show(
    host: HostHandle,
    about: Arc<About>,
    params: ScreenAttach,
    typed: Option<mpsc::Receiver<Vec<ScreenEvent>>>,
    reply: Reply,
) {
    let Some(mut typed) = typed else { return };
    let out = reply.outgoing().clone();
    let (shown, over) = oneshot::channel();
    let wanted = match wanted(&host, &params, out.clone(), shown).await {
        Ok(wanted) => wanted,
        Err(refusal) => return reply.send(Err(refusal)),
    };
    let Wanted { screen, role, mouse, env, only } = wanted;
    let client = HostHandle::new_client();
    // Before the first frame.
    reply.send(Ok::<_, ApiError>(shapes::reply(json!({"client": client.0, "mouse": mouse}))));
    host.attach(client, screen, role, only.clone()).await;
    if let Some(env) = env {
        host.tell_screen(Msg::OpenEnv { client, env }).await;
    }
    host.look_around(about.backends().values().cloned().collect());
    let mut paste = String::new();
    tokio::pin!(over);
    loop {
        tokio::select! {
            events = typed.recv() => {
                // The connection sends no more, or shows another screen now.
                let Some(events) = events else { break };
                for event in events {
                    happened(&host, client, event, &mut paste).await;
                }
            }
            // Nobody draws for it any more.
            _ = &mut over => {
                let mut left = json!({"host_ended": host.has_ended()});
                if let Some(session) = only {
                    tell_end(&host, session, &mut left).await;
                }
                out.send(SCREEN_LEFT, &left).await;
                return;
            }
            () = out.closed() => break,
        }
    }
    host.gone(client).await;
}

/// The screen that a terminal asks for.
struct Wanted {
    screen: ClientScreen,
    role: Role,
    /// Whether the mouse is wanted.
    mouse: bool,
    /// The environment whose shell comes first.
    env: Option<EnvId>,
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

async fn wanted(
    host: &HostHandle,
    params: &ScreenAttach,
    out: Outgoing,
    shown: oneshot::Sender<()>,
) -> Result<Wanted, Refusal> {
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
    // One frame is under way at a time, so that no more than one waits there.
    let wishes = params.texts.then(|| out.clone());
    let frames = Box::new(move |frame| {
        let _until_dropped = &shown;
        out.notify(SCREEN_FRAME, &ScreenFrame { data: BASE64.encode::<Vec<u8>>(frame) })
    });
    let mut screen = ClientScreen::for_terminal(&options, caps, size, frames);
    if let Some(out) = wishes {
        screen = screen.with_wishes(Box::new(move |wish| match wish {
            Wish::Copy(text) => out.notify(SCREEN_COPY, &ScreenText { text }),
            Wish::Edit(text) => out.notify(SCREEN_EDIT, &ScreenText { text }),
        }));
    }
    let role = if params.read_only { Role::Reader } else { Role::Guest };
    let env = env.filter(|_| only.is_none());
    Ok(Wanted { screen, role, mouse: options.mouse, env, only })
}

async fn happened(host: &HostHandle, client: ClientId, event: ScreenEvent, paste: &mut String) {
    match event {
        ScreenEvent::Drawn => host.drained(client).await,
        ScreenEvent::Cleared => host.cleared(client).await,
        ScreenEvent::Trouble { text } => {
            let text = sanitise(&text, LONGEST_TROUBLE);
            host.tell_screen(Msg::Told { client, text }).await;
        }
        ScreenEvent::Answer(answer) => host.tell_screen(Msg::TerminalAnswered { client, answer }).await,
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
