//! The client's side of the screen: this terminal shows what a host draws, and tells it what is typed.

use super::client::{Client, Message, Sender};
use super::error::{ApiError, ErrorCode};
use super::protocol::{ApiCall, SCREEN_FRAME, SCREEN_LEFT, ScreenAttach, ScreenEvent, ScreenInput};
use crate::runtime::terminal::{self, Input, TerminalGuard};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::event::{Event as TermEvent, KeyEventKind};
use serde_json::Value;
use std::io;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// A paste is sent in parts of this many bytes: escaped, each still fits into one message.
const PASTE_PART: usize = 128 << 10;

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

/// Shows it until it is left.
///
/// # Errors
/// The host refuses it, this is no terminal, or the connection is lost.
pub async fn show(mut client: Client, read_only: bool, what: What) -> Result<Left, ApiError> {
    let (env, session) = match what {
        What::Screen => (None, None),
        What::Environment(env) => (Some(env), None),
        What::Session(session) => (None, Some(session)),
    };
    let caps = terminal::caps(&|name| std::env::var(name).ok());
    let size = terminal::size();
    let (size, colours, unicode) = ([size.rows, size.cols], caps.colours, caps.unicode);
    let attach = ScreenAttach { size, colours, unicode, read_only, env, session };
    let welcome = client.call(&ApiCall::ScreenAttach(attach)).await?;
    let _guard = TerminalGuard::take(welcome["mouse"] == true).map_err(|error| cannot_open(&error))?;
    Shown::new(client)?.run().await
}

fn cannot_open(error: &io::Error) -> ApiError {
    ApiError::new(
        ErrorCode::Failed,
        format!("cannot open the screen: {error}"),
        "run it in a terminal, or use a verb: `hermes-tui --help` lists them",
    )
}

/// What the threads of the terminal say.
enum News {
    Drawn,
    Gone,
}

struct Shown {
    sender: Sender,
    receiver: super::client::Receiver,
    /// Frames that came with the welcome.
    early: Vec<(String, Value)>,
    frames: std::sync::mpsc::Sender<Vec<u8>>,
    news: mpsc::UnboundedReceiver<News>,
}

impl Shown {
    fn new(client: Client) -> Result<Self, ApiError> {
        let (told, news) = mpsc::unbounded_channel();
        let (drawn, lost) = (told.clone(), told);
        let frames = terminal::frame_writer(move || drop(drawn.send(News::Drawn)), move || drop(lost.send(News::Gone)));
        let (sender, receiver, early) = client.split();
        Ok(Self { sender, receiver, early: early.into(), frames, news })
    }

    async fn run(mut self) -> Result<Left, ApiError> {
        let ends = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup(), SignalKind::quit()];
        let mut ends = ends.map(signal).into_iter().collect::<io::Result<Vec<_>>>().map_err(|e| cannot_open(&e))?;
        let mut input = terminal::input();
        for (method, params) in std::mem::take(&mut self.early) {
            if let Some(left) = self.told(&method, &params) {
                return Ok(left);
            }
        }
        loop {
            let ended = futures_util::future::select_all(ends.iter_mut().map(|one| Box::pin(one.recv())));
            tokio::select! {
                biased;
                message = self.receiver.next() => match message? {
                    Message::Notification { method, params } => {
                        if let Some(left) = self.told(&method, &params) {
                            return Ok(left);
                        }
                    }
                    Message::Answer { answer, .. } => {
                        answer?;
                    }
                },
                news = self.news.recv() => match news {
                    Some(News::Drawn) => self.send(vec![ScreenEvent::Drawn]).await?,
                    Some(News::Gone) | None => return Ok(Left::Gone),
                },
                some = input.recv() => {
                    let Some(Input::Event(event)) = some else { return Ok(Left::Gone) };
                    let mut all = vec![event];
                    while let Ok(more) = input.try_recv() {
                        match more {
                            Input::Event(event) => all.push(event),
                            Input::Gone => return Ok(Left::Gone),
                        }
                    }
                    self.typed(all).await?;
                }
                _ = ended => return Ok(Left::Gone),
            }
        }
    }

    fn told(&mut self, method: &str, params: &Value) -> Option<Left> {
        match method {
            SCREEN_FRAME => {
                let frame = params["data"].as_str().and_then(|text| BASE64.decode(text).ok()).unwrap_or_default();
                // The thread ends with the terminal, and has said so.
                let _ = self.frames.send(frame);
                None
            }
            SCREEN_LEFT if params["over"] == true => Some(Left::SessionOver {
                exit_code: params["exit_code"].as_i64(),
                why: params["why"].as_str().unwrap_or_default().to_owned(),
            }),
            SCREEN_LEFT => Some(if params["host_ended"] == true { Left::HostEnded } else { Left::Detached }),
            _ => None,
        }
    }

    async fn typed(&mut self, all: Vec<TermEvent>) -> Result<(), ApiError> {
        let mut waiting = Vec::new();
        for event in all {
            match event {
                TermEvent::Key(key) if key.kind == KeyEventKind::Release => {}
                TermEvent::Paste(text) => {
                    self.send(std::mem::take(&mut waiting)).await?;
                    self.paste(&text).await?;
                }
                event => waiting.push(ScreenEvent::Terminal(event)),
            }
        }
        self.send(waiting).await
    }

    async fn paste(&mut self, mut text: &str) -> Result<(), ApiError> {
        loop {
            let end = (0..=PASTE_PART.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let (part, rest) = text.split_at(end);
            self.send(vec![ScreenEvent::Paste { text: part.to_owned(), last: rest.is_empty() }]).await?;
            if rest.is_empty() {
                return Ok(());
            }
            text = rest;
        }
    }

    async fn send(&mut self, events: Vec<ScreenEvent>) -> Result<(), ApiError> {
        if events.is_empty() {
            return Ok(());
        }
        self.sender.tell(&ApiCall::ScreenInput(ScreenInput { events })).await
    }
}
