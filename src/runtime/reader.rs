//! Reads the outer terminal: what is typed there, what it answers, and another size.

use super::inbound::{Inbound, Inbox};
use super::terminal::{is_away, message, size, wait_while_away, watch_for_hangup, write_frame};
use super::typed::{self, Rest, Typed, Typing};
use crate::app::{ClientId, Msg};
use crossterm::event::Event as TermEvent;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Events that wait for whoever reads them.
const WAITING: usize = 256;
/// What a key or a control sequence lacks comes within this time, or it was typed piece by piece.
const REST_OF_PIECE: Duration = Duration::from_millis(50);
/// The same of an answer, which may come over a slow line: nobody types what answers begin with.
const REST_OF_ANSWER: Duration = Duration::from_millis(500);
/// It has answered within this time, or it never will.
const LONGEST_ANSWER: Duration = Duration::from_secs(5);
/// Whoever leaves waits this long for answers, from when they were asked for.
const LAST_ANSWER: Duration = Duration::from_millis(200);
/// More is not read at once.
const READ_BYTES: usize = 64 << 10;

/// Questions to it that are open.
static ASKED: Mutex<Option<Asked>> = Mutex::new(None);

struct Asked {
    at: Instant,
    open: usize,
}

/// So many answers are to come.
pub(super) fn asked(count: usize) {
    *ASKED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Asked { at: Instant::now(), open: count });
}

/// Whether an answer may still come.
fn is_asked() -> bool {
    ASKED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .is_some_and(|asked| asked.at.elapsed() < LONGEST_ANSWER)
}

fn answered() {
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    *asked = asked.take().filter(|asked| asked.open > 1).map(|Asked { at, open }| Asked { at, open: open - 1 });
}

/// Whoever has the terminal next must not take an answer for something typed.
pub(super) fn wait_for_answers() {
    while ASKED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .is_some_and(|asked| asked.at.elapsed() < LAST_ANSWER)
    {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Forwards what the terminal of this process sends until it is gone.
pub fn read_terminal(client: ClientId, inbox: Inbox) {
    let mut input = input();
    tokio::spawn(async move {
        while let Some(Input::Typed(typed)) = input.recv().await {
            let msg = match typed {
                Typed::Event(event) => message(client, event),
                Typed::Answer(answer) => answer.map(|answer| Msg::TerminalAnswered { client, answer }),
            };
            if let Some(msg) = msg {
                inbox.send(Inbound::Msg(msg)).await;
            }
        }
        inbox.send(Inbound::Gone(client)).await;
    });
}

/// What comes from the terminal of this process.
pub enum Input {
    /// It sent this.
    Typed(Typed),
    /// It is gone.
    Gone,
}

/// What the terminal of this process sends. A thread of its own reads, and another waits for the hang-up: the first one
/// may wait for whoever takes what was read.
#[must_use]
pub fn input() -> tokio::sync::mpsc::Receiver<Input> {
    let (sender, input) = tokio::sync::mpsc::channel(WAITING);
    let gone = sender.clone();
    watch_for_hangup(move || drop(gone.blocking_send(Input::Gone)));
    std::thread::spawn(move || {
        let failed = Reader::new().and_then(|mut reader| {
            loop {
                for typed in reader.read()? {
                    if sender.blocking_send(Input::Typed(typed)).is_err() {
                        return Ok(());
                    }
                }
            }
        });
        if let Err(error) = failed {
            tracing::warn!("the terminal cannot be read: {error}");
        }
        let _ = sender.blocking_send(Input::Gone);
    });
    input
}

/// Reads the terminal of this process.
pub struct Reader {
    typing: Typing,
    /// Tells of another size, and wakes.
    resized: UnixStream,
    /// It has answered.
    answers: bool,
}

impl Reader {
    /// One for all that is read from now on.
    ///
    /// # Errors
    /// The process has no file or signal left for it.
    pub fn new() -> io::Result<Self> {
        let (resized, signalled) = UnixStream::pair()?;
        resized.set_nonblocking(true)?;
        signalled.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(Signal::SIGWINCH as i32, signalled)?;
        Ok(Self { typing: Typing::default(), resized, answers: false })
    }

    /// Waits for what it sends, and gives all that is there.
    ///
    /// # Errors
    /// It cannot be read, or has no more to give.
    pub fn read(&mut self) -> io::Result<Vec<Typed>> {
        let mut all = Vec::new();
        while all.is_empty() {
            wait_while_away();
            let last = !self.wait(&mut all)?;
            self.typing.take(is_asked, last, &mut all);
            // A key: terminals send what begins with it in one piece, and nobody waits for a key of theirs.
            if self.typing.rest() == Rest::Escape {
                self.typing.take(is_asked, true, &mut all);
            }
        }
        for typed in &all {
            if let Typed::Answer(answer) = typed {
                answered();
                self.answers |= answer.is_some();
            }
        }
        // Whoever went to the settings of their desktop to have it light comes back so. Only what was understood once is
        // asked again: there is text on the screen now.
        if self.answers && all.contains(&Typed::Event(TermEvent::FocusGained)) {
            let (questions, count) = typed::questions(false);
            asked(count);
            let _ = write_frame(questions.as_bytes());
        }
        Ok(all)
    }

    /// Waits for bytes or for another size. False if what is to follow does not come.
    fn wait(&mut self, all: &mut Vec<Typed>) -> io::Result<bool> {
        let input = io::stdin();
        let patience = match self.typing.rest() {
            Rest::Nothing | Rest::Paste => PollTimeout::NONE,
            Rest::Escape | Rest::Part => PollTimeout::try_from(REST_OF_PIECE).unwrap_or(PollTimeout::MAX),
            Rest::Answer => PollTimeout::try_from(REST_OF_ANSWER).unwrap_or(PollTimeout::MAX),
        };
        let mut sources =
            [PollFd::new(input.as_fd(), PollFlags::POLLIN), PollFd::new(self.resized.as_fd(), PollFlags::POLLIN)];
        match poll(&mut sources, patience) {
            Ok(0) => return Ok(false),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [typed, resized] = sources.map(|source| source.any().unwrap_or(false));
        if resized {
            let mut signals = [0; 64];
            while matches!((&self.resized).read(&mut signals), Ok(1..)) {}
            if !is_away() {
                let size = size();
                all.push(Typed::Event(TermEvent::Resize(size.cols, size.rows)));
            }
        }
        if typed && !is_away() {
            let mut bytes = vec![0; READ_BYTES];
            match nix::unistd::read(&input, &mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.typing.add(&bytes[..count]),
                Err(Errno::EINTR | Errno::EAGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}
