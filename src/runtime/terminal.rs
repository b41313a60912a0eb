//! The outer terminal: modes on, modes off on every way out, frames out.

use super::wishes::Wish;
use super::{reader, typed};
use crate::app::{ClientCaps, ClientId, Msg, TRUE_COLOUR};
use crate::domain::Size;
use crossterm::event::{Event as TermEvent, KeyEventKind, KeyboardEnhancementFlags};
use crossterm::{cursor, event, execute, queue, style, terminal};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Whether the terminal is in our modes now; the panic hook and every way out look here.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Whether the mouse was taken with it.
static MOUSE: AtomicBool = AtomicBool::new(false);
/// Another program has the terminal for now.
static AWAY: AtomicBool = AtomicBool::new(false);
/// When it was taken again.
static BACK: Mutex<Option<Instant>> = Mutex::new(None);
/// A signal for another program is heard of within this time after its end.
const LATE_SIGNAL: Duration = Duration::from_secs(1);
/// Where whoever reads the terminal waits meanwhile, and whether somebody does.
static READER: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
/// A reader that has not stopped by then reads nothing.
const LONGEST_STOP: Duration = Duration::from_secs(2);
/// How often one is woken until it stops: it may just have begun to wait again.
const WAKE_AGAIN: Duration = Duration::from_millis(50);

/// A terminal that has not taken the last bytes by then takes nothing any more.
const LONGEST_LEAVE: Duration = Duration::from_secs(1);

/// Holds the terminal in raw mode on the alternate screen; gives it back when dropped.
pub struct TerminalGuard(());

impl TerminalGuard {
    /// Takes the terminal, and its mouse if asked for.
    ///
    /// # Errors
    /// When standard input or output is no terminal, or it refuses a mode; it is as before then.
    pub fn take(mouse: bool) -> io::Result<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(io::Error::other("standard input and output must be a terminal"));
        }
        MOUSE.store(mouse, Ordering::SeqCst);
        terminal::enable_raw_mode()?;
        ACTIVE.store(true, Ordering::SeqCst);
        let guard = Self(());
        let questions = questions();
        if let Some((_, count)) = &questions {
            reader::asked(*count);
        }
        enter(questions.as_ref().map_or("", |(text, _)| text))?;
        Ok(guard)
    }
}

/// What the terminal is asked, and how many answers that gives: what its variables do not say.
fn questions() -> Option<(String, usize)> {
    let variable = |name: &str| std::env::var(name).ok();
    match variable("TERM").as_deref() {
        None | Some("" | "dumb" | "linux") => None,
        _ => Some(typed::questions((1..TRUE_COLOUR).contains(&caps(&variable).colours))),
    }
}

fn enter(questions: &str) -> io::Result<()> {
    let mut out = io::stdout();
    execute!(
        out,
        terminal::EnterAlternateScreen,
        // Before the screen is cleared: what does not understand them may show them.
        style::Print(questions),
        event::EnableBracketedPaste,
        event::EnableFocusChange,
        // Asks for unambiguous keys only; terminals without the protocol ignore it.
        event::PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES),
        terminal::Clear(terminal::ClearType::All),
    )?;
    if MOUSE.load(Ordering::SeqCst) {
        execute!(out, event::EnableMouseCapture)?;
    }
    Ok(())
}

/// Gives the terminal to another program while `work` runs it, and takes it again. Nothing is read from it meanwhile;
/// frames are the business of whoever calls. What it showed is gone then.
///
/// # Errors
/// It cannot be taken again.
pub fn away<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    AWAY.store(true, Ordering::SeqCst);
    stop_reading();
    let was_ours = ACTIVE.load(Ordering::SeqCst);
    restore();
    let result = work();
    let taken = if was_ours {
        terminal::enable_raw_mode().and_then(|()| {
            ACTIVE.store(true, Ordering::SeqCst);
            enter("")
        })
    } else {
        Ok(())
    };
    *BACK.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    AWAY.store(false, Ordering::SeqCst);
    READER.1.notify_all();
    taken.map(|()| result)
}

/// Whether another program has the terminal for now.
pub(super) fn is_away() -> bool {
    AWAY.load(Ordering::SeqCst)
}

/// Whether a signal that keys give is meant for another program, which has the terminal or had it a moment ago: a signal
/// that ended it may be heard of here only later.
#[must_use]
pub fn is_key_of_another() -> bool {
    let back = *BACK.lock().unwrap_or_else(PoisonError::into_inner);
    is_away() || back.is_some_and(|back| back.elapsed() < LATE_SIGNAL)
}

/// Waits until nobody reads the terminal. A reader that waits for input is woken by what a change of size would do.
fn stop_reading() {
    let mut stopped = READER.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut left = LONGEST_STOP;
    while !*stopped && !left.is_zero() {
        let _ = kill(Pid::this(), Signal::SIGWINCH);
        let waited = READER.1.wait_timeout(stopped, WAKE_AGAIN).unwrap_or_else(PoisonError::into_inner);
        stopped = waited.0;
        left = left.saturating_sub(WAKE_AGAIN);
    }
}

/// While another program has the terminal, waits until it has it no more.
pub(super) fn wait_while_away() {
    if is_away() {
        let mut stopped = READER.0.lock().unwrap_or_else(PoisonError::into_inner);
        *stopped = true;
        READER.1.notify_all();
        while is_away() {
            stopped = READER.1.wait_timeout(stopped, WAKE_AGAIN).unwrap_or_else(PoisonError::into_inner).0;
        }
        *stopped = false;
    }
}

impl TerminalGuard {
    /// Gives the terminal back. False if it takes nothing any more: nothing can be said in it then.
    #[must_use]
    pub fn give_back(self) -> bool {
        restore()
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back: cooked, main screen, cursor shown, mouse, paste, focus and keyboard modes off.
/// Does nothing when it is not ours. Safe from a panic hook. False if it takes nothing any more.
pub fn restore() -> bool {
    if !ACTIVE.swap(false, Ordering::SeqCst) {
        return true;
    }
    let taken = in_reason(|| leave(&mut io::stdout().lock()));
    reader::wait_for_answers();
    let _ = terminal::disable_raw_mode();
    taken
}

/// Writes to a terminal that may take nothing any more, which must not keep the process: in a thread of its own. Whether
/// it was done in time.
fn in_reason(write: impl FnOnce() + Send + 'static) -> bool {
    let (done, over) = mpsc::channel();
    let writing = std::thread::Builder::new().spawn(move || {
        write();
        let _ = done.send(());
    });
    writing.is_ok() && over.recv_timeout(LONGEST_LEAVE).is_ok()
}

fn leave(out: &mut impl Write) {
    // Each on its own: one that fails must not keep the others from being tried.
    let _ = queue!(out, terminal::EndSynchronizedUpdate);
    let _ = queue!(out, event::PopKeyboardEnhancementFlags);
    let _ = queue!(out, event::DisableFocusChange);
    let _ = queue!(out, event::DisableBracketedPaste);
    let _ = queue!(out, event::DisableMouseCapture);
    let _ = queue!(out, cursor::SetCursorStyle::DefaultUserShape);
    let _ = queue!(out, terminal::LeaveAlternateScreen);
    let _ = queue!(out, cursor::Show);
    let _ = out.flush();
}

/// Writes last words to standard error. A terminal that takes nothing does not hold up the end.
pub fn last_words(lines: Vec<String>) {
    in_reason(|| {
        for line in lines {
            let _ = writeln!(io::stderr(), "hermes-tui: {line}");
        }
    });
}

/// Writes a line to standard output after the terminal was given back. One that has no room for it does not hold up the
/// end.
pub fn say(line: String) {
    in_reason(move || drop(writeln!(io::stdout(), "{line}")));
}

/// Size of the terminal now; 80x24 where it does not say.
#[must_use]
pub fn size() -> Size {
    match terminal::size() {
        Ok((cols, rows)) if cols > 0 && rows > 0 => Size { rows, cols }.bounded(),
        _ => Size::default(),
    }
}

/// Terminals that show 24 bits of colour, by what their TERM contains: over ssh it is all that is known of them.
const OF_TRUE_COLOUR: [&str; 7] = ["direct", "kitty", "ghostty", "alacritty", "wezterm", "foot", "contour"];
/// Variables that only they set. tmux and zellij take 24 bits, and bring them down to what is around them.
const SET_BY_TRUE_COLOUR: [&str; 4] = ["TMUX", "ZELLIJ", "WT_SESSION", "KITTY_WINDOW_ID"];

/// What the terminal can do, as its variables say.
#[must_use]
pub fn caps(var: &dyn Fn(&str) -> Option<String>) -> ClientCaps {
    let set = |name: &str| var(name).filter(|value| !value.is_empty());
    let term = set("TERM").unwrap_or_default();
    let colours = if set("NO_COLOR").is_some() || term == "dumb" {
        0
    } else if set("COLORTERM").is_some_and(|c| c == "truecolor" || c == "24bit")
        || OF_TRUE_COLOUR.iter().any(|known| term.contains(known))
        || SET_BY_TRUE_COLOUR.iter().any(|name| set(name).is_some())
    {
        TRUE_COLOUR
    } else if term.contains("256") {
        256
    } else {
        16
    };
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default().to_lowercase();
    let unicode = term != "linux" && (locale.contains("utf-8") || locale.contains("utf8"));
    ClientCaps { colours, unicode }
}

/// What the model is told of an event of a client's terminal.
#[must_use]
pub fn message(client: ClientId, event: TermEvent) -> Option<Msg> {
    Some(match event {
        TermEvent::Key(key) if key.kind != KeyEventKind::Release => Msg::Key { client, key },
        TermEvent::Key(_) => return None,
        TermEvent::Mouse(mouse) => Msg::Mouse { client, mouse },
        TermEvent::Paste(text) => Msg::Paste { client, text },
        TermEvent::FocusGained => Msg::Focus { client, gained: true },
        TermEvent::FocusLost => Msg::Focus { client, gained: false },
        TermEvent::Resize(cols, rows) => Msg::ClientResized { client, size: Size { rows, cols } },
    })
}

/// Tells when the terminal of this process is gone.
pub fn watch_for_hangup(gone: impl FnOnce() + Send + 'static) {
    hangup_of(io::stdin(), gone);
}

/// Tells when the other end is gone. Waits for no readable input, so that only a hang-up wakes it.
pub fn hangup_of(what: impl AsFd + Send + 'static, gone: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        loop {
            let mut asked = [PollFd::new(what.as_fd(), PollFlags::empty())];
            match poll(&mut asked, PollTimeout::NONE) {
                Err(Errno::EINTR) => {}
                Ok(1..) => return gone(),
                Ok(_) | Err(_) => return,
            }
        }
    });
}

/// What is to be done in the terminal of this process.
pub enum Deed {
    /// Write a frame.
    Frame(Vec<u8>),
    /// What only this process can do.
    Wish(Wish),
}

/// Starts the thread that writes frames to standard output, and does what is wished for with `granted`. One frame is under way at a time: the next one comes after
/// `drained`, so that a slow terminal costs frames, not memory. `gone` is called when the terminal takes nothing more.
#[must_use]
pub fn frame_writer(
    drained: impl Fn() + Send + 'static,
    gone: impl FnOnce() + Send + 'static,
    granted: impl Fn(Wish) + Send + 'static,
) -> mpsc::Sender<Deed> {
    let (deeds, queue) = mpsc::channel::<Deed>();
    std::thread::spawn(move || {
        for deed in queue {
            let frame = match deed {
                Deed::Frame(frame) => frame,
                Deed::Wish(wish) => {
                    granted(wish);
                    continue;
                }
            };
            match write_frame(&frame) {
                Ok(true) => drained(),
                Ok(false) => return,
                Err(e) => {
                    tracing::warn!("the terminal is gone: {e}");
                    return gone();
                }
            }
        }
    });
    deeds
}

/// Writes a frame to standard output. False if the terminal was given back: a late frame would lie over the shell's screen.
///
/// # Errors
/// The terminal takes nothing more.
pub fn write_frame(frame: &[u8]) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    if !ACTIVE.load(Ordering::SeqCst) {
        return Ok(false);
    }
    out.write_all(frame)?;
    out.flush()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps_of(vars: &[(&str, &str)]) -> ClientCaps {
        caps(&|name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn colours_follow_the_variables() {
        let of = |vars: &[(&str, &str)]| caps_of(vars).colours;
        assert_eq!(of(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), 1 << 24);
        assert_eq!(of(&[("TERM", "xterm-256color")]), 256);
        assert_eq!(of(&[("TERM", "xterm")]), 16);
        assert_eq!(of(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]), 0);
        assert_eq!(of(&[("TERM", "xterm-256color"), ("NO_COLOR", "")]), 256);
        assert_eq!(of(&[("TERM", "dumb")]), 0);
    }

    #[test]
    fn unicode_needs_a_utf8_locale_and_a_terminal_that_draws_it() {
        assert!(caps_of(&[("TERM", "xterm"), ("LANG", "C.UTF-8")]).unicode);
        assert!(!caps_of(&[("TERM", "xterm"), ("LANG", "C")]).unicode);
        assert!(!caps_of(&[("TERM", "xterm"), ("LC_ALL", "POSIX"), ("LANG", "de_DE.UTF-8")]).unicode);
        assert!(!caps_of(&[("TERM", "linux"), ("LANG", "C.UTF-8")]).unicode);
    }
}
