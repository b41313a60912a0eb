//! The client's side of the screen: this terminal shows what a host draws, and tells it what is typed.

use super::blocking::{Listener, Teller};
use super::client::{Client, Message};
use super::error::{ApiError, ErrorCode};
use super::protocol::{
    ApiCall, SCREEN_COPY, SCREEN_EDIT, SCREEN_FRAME, SCREEN_LEFT, ScreenAttach, ScreenEvent, ScreenInput,
};
use crate::runtime::reader::Reader;
use crate::runtime::terminal::{self, TerminalGuard};
use crate::runtime::typed::Typed;
use crate::runtime::wishes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::event::{Event as TermEvent, KeyEventKind};
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// A paste is sent in parts of this many bytes: escaped, each still fits into one message.
const PASTE_PART: usize = 128 << 10;
/// What the host has sent before its end is shown within this time, or not at all.
const LAST_FRAMES: Duration = Duration::from_secs(2);

/// Why the screen is no longer shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Left {
    /// This terminal left; everything runs on.
    Detached,
    /// The session that was all it showed is over.
    SessionOver {
        /// The exit code of its program, where there is one.
        exit_code: Option<i64>,
        /// One sentence for people.
        why: String,
    },
    /// The host ended.
    HostEnded,
    /// The terminal is gone, or the process was told to end.
    Gone,
}

/// What a terminal is to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// The whole screen.
    Screen,
    /// The same, with the shell of this environment first.
    Environment(String),
    /// This session and nothing else.
    Session(String),
}

/// Shows it until it is left. What is copied also goes to `copy_command`, unless that is empty.
///
/// # Errors
/// The host refuses it, this is no terminal, or the connection is lost.
pub async fn show(
    mut client: Client,
    read_only: bool,
    what: What,
    copy_command: Vec<String>,
) -> Result<Left, ApiError> {
    let (env, session) = match what {
        What::Screen => (None, None),
        What::Environment(env) => (Some(env), None),
        What::Session(session) => (None, Some(session)),
    };
    let caps = terminal::caps(&|name| std::env::var(name).ok());
    let size = terminal::size();
    let (size, colours, unicode) = ([size.rows, size.cols], caps.colours, caps.unicode);
    let attach = ScreenAttach { size, colours, unicode, read_only, env, session, texts: true };
    let welcome = client.call(&ApiCall::ScreenAttach(attach)).await?;
    let guard = TerminalGuard::take(welcome["mouse"] == true).map_err(|error| cannot_open(&error))?;
    let left = run(client, copy_command).await;
    // Whatever it is, it cannot be told in a terminal that takes nothing.
    if guard.give_back() { left } else { Ok(Left::Gone) }
}

fn cannot_open(error: &io::Error) -> ApiError {
    ApiError::new(
        ErrorCode::Failed,
        format!("cannot open the screen: {error}"),
        "run it in a terminal, or use a verb: `hermes-tui --help` lists them",
    )
}

/// Shows frames and sends keys until either side has enough. A thread for each: what is typed and what is shown goes
/// straight from one end to the other.
async fn run(client: Client, copy_command: Vec<String>) -> Result<Left, ApiError> {
    let ends = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup(), SignalKind::quit()];
    /// Those that keys send, of these.
    const KEYS: [usize; 2] = [1, 3];
    let mut ends = ends.map(signal).into_iter().collect::<io::Result<Vec<_>>>().map_err(|e| cannot_open(&e))?;
    let (teller, listener) = client.into_blocking().map_err(|e| cannot_open(&e))?;
    let connection = listener.connection().map_err(|e| cannot_open(&e))?;
    let teller = Arc::new(teller);
    let (over, mut overs) = mpsc::unbounded_channel();
    let (shows, types, gone, lost) = (over.clone(), over.clone(), over.clone(), over);
    let typing = Arc::clone(&teller);
    std::thread::spawn(move || drop(shows.send(show_frames(listener, &teller, &copy_command))));
    std::thread::spawn(move || {
        if let Err(error) = send_keys(&typing) {
            tracing::warn!("the terminal cannot be read: {error}");
            drop(types.send(Ok(Left::Gone)));
        }
    });
    terminal::watch_for_hangup(move || drop(gone.send(Ok(Left::Gone))));
    // A terminal that takes nothing keeps the end of the host from being read.
    terminal::hangup_of(connection, move || {
        std::thread::sleep(LAST_FRAMES);
        drop(lost.send(Ok(Left::HostEnded)));
    });
    loop {
        let ended = futures_util::future::select_all(ends.iter_mut().map(|one| Box::pin(one.recv())));
        tokio::select! {
            biased;
            left = overs.recv() => return left.unwrap_or(Ok(Left::Gone)),
            // Ctrl+C and Ctrl+\ in the person's editor are meant for that one.
            (_, which, _) = ended => if !(terminal::is_key_of_another() && KEYS.contains(&which)) { return Ok(Left::Gone) },
        }
    }
}

/// Shows what the host draws, until it ends or says why there is no more.
fn show_frames(mut listener: Listener, teller: &Arc<Teller>, copy_command: &[String]) -> Result<Left, ApiError> {
    loop {
        let (method, params) = match listener.listen()? {
            Message::Notification { method, params } => (method, params),
            Message::Answer { answer, .. } => {
                answer?;
                continue;
            }
        };
        match method.as_str() {
            SCREEN_FRAME => {
                let frame = params["data"].as_str().and_then(|text| BASE64.decode(text).ok()).unwrap_or_default();
                match terminal::write_frame(&frame) {
                    // A host that is gone is heard of by listening.
                    Ok(true) => drop(tell(teller, vec![ScreenEvent::Drawn])),
                    Ok(false) => return Ok(Left::Gone),
                    Err(error) => {
                        tracing::warn!("the terminal is gone: {error}");
                        return Ok(Left::Gone);
                    }
                }
            }
            SCREEN_COPY => {
                let teller = Arc::clone(teller);
                wishes::copy(copy_command, text(&params), move |text| {
                    drop(tell(&teller, vec![ScreenEvent::Trouble { text }]));
                });
            }
            SCREEN_EDIT => {
                let shown = wishes::edit(&text(&params));
                let size = terminal::size();
                // What it was made larger or smaller to meanwhile was not heard.
                let resized = ScreenEvent::Terminal(TermEvent::Resize(size.cols, size.rows));
                let trouble = shown.err().map(|text| ScreenEvent::Trouble { text });
                drop(tell(teller, [ScreenEvent::Cleared, resized].into_iter().chain(trouble).collect()));
            }
            SCREEN_LEFT if params["over"] == true => {
                return Ok(Left::SessionOver {
                    exit_code: params["exit_code"].as_i64(),
                    why: params["why"].as_str().unwrap_or_default().to_owned(),
                });
            }
            SCREEN_LEFT => return Ok(if params["host_ended"] == true { Left::HostEnded } else { Left::Detached }),
            _ => {}
        }
    }
}

fn text(params: &Value) -> String {
    params["text"].as_str().unwrap_or_default().to_owned()
}

/// Sends what the terminal sends, for as long as somebody takes it.
fn send_keys(teller: &Teller) -> io::Result<()> {
    let mut reader = Reader::new()?;
    loop {
        let mut waiting = Vec::new();
        let mut told = Ok(());
        for typed in reader.read()? {
            match typed {
                Typed::Event(TermEvent::Key(key)) if key.kind == KeyEventKind::Release => {}
                Typed::Event(TermEvent::Paste(text)) => {
                    told = told.and_then(|()| tell(teller, std::mem::take(&mut waiting)));
                    told = told.and_then(|()| paste(teller, &text));
                }
                Typed::Event(event) => waiting.push(ScreenEvent::Terminal(event)),
                Typed::Answer(answer) => waiting.extend(answer.map(ScreenEvent::Answer)),
            }
        }
        if told.and_then(|()| tell(teller, waiting)).is_err() {
            // Whoever listens hears of it too, and why.
            return Ok(());
        }
    }
}

fn paste(teller: &Teller, mut text: &str) -> Result<(), ApiError> {
    loop {
        let end = (0..=PASTE_PART.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let (part, rest) = text.split_at(end);
        tell(teller, vec![ScreenEvent::Paste { text: part.to_owned(), last: rest.is_empty() }])?;
        if rest.is_empty() {
            return Ok(());
        }
        text = rest;
    }
}

fn tell(teller: &Teller, events: Vec<ScreenEvent>) -> Result<(), ApiError> {
    if events.is_empty() {
        return Ok(());
    }
    teller.tell(&ApiCall::ScreenInput(ScreenInput { events }))
}
