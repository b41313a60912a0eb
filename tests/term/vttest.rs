//! vttest's screens, walked through as a person would.
//!
//! The program writes into a terminal of its own and is answered by a [`Screen`]; each time it waits for a key, what is
//! shown must be what is kept under `tests/term/vttest`. `HTUI_RERECORD=1 cargo test --test term vttest` writes that
//! anew: look at each difference. Which screens are not as vttest says they must be: `docs/terminal.md`.

use crate::support::NOW;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hermes_tui::domain::Size;
use hermes_tui::term::{Screen, keys};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::fs;
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const SIZE: Size = Size { rows: 24, cols: 80 };
/// A prompt that has not come by then never will.
const PATIENCE: Duration = Duration::from_secs(30);
/// With these it waits for a key.
const PROMPTS: [&[u8]; 4] = [b"Push <RETURN>", b"): ", b"\x05", b"RETURN key: "];

/// vttest on its terminal.
struct Walk {
    screen: Screen,
    output: Receiver<Vec<u8>>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
    _folder: tempfile::TempDir,
    name: String,
    step: usize,
    differences: Vec<String>,
}

impl Walk {
    /// Starts it; `None` where it is not installed.
    fn start(name: &str) -> Option<Self> {
        let program = Path::new("/usr/bin/vttest");
        if !program.exists() {
            crate::common::skip("vttest is not installed (Debian: apt-get install vttest)");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let size = PtySize { rows: SIZE.rows, cols: SIZE.cols, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(["24x80.80"]);
        command.env_clear();
        command.env("TERM", "xterm-256color");
        command.cwd(folder.path());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let writer = pair.master.take_writer().unwrap();
        let mut walk = Self {
            screen: Screen::new(SIZE, 0),
            output,
            writer,
            child,
            _master: pair.master,
            _folder: folder,
            name: name.to_owned(),
            step: 0,
            differences: Vec::new(),
        };
        walk.wait();
        Some(walk)
    }

    /// Takes in output until it waits for a key.
    fn wait(&mut self) {
        let mut seen: Vec<u8> = Vec::new();
        while !PROMPTS.iter().any(|prompt| seen.ends_with(prompt)) {
            let part = self.output.recv_timeout(PATIENCE);
            let part = part.unwrap_or_else(|e| {
                panic!("{} {}: {e}: {} {:?}", self.name, self.step, self.screen.text(), String::from_utf8_lossy(&seen))
            });
            seen.extend_from_slice(&part);
            let reply = self.screen.feed(NOW, &part).reply;
            self.writer.write_all(&reply).unwrap();
        }
    }

    /// Types and presses Enter, then waits for the next prompt.
    fn enter(&mut self, text: &str) {
        let enter = keys::encode(&KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE), &self.screen.modes());
        self.writer.write_all(&[text.as_bytes(), &enter].concat()).unwrap();
        self.wait();
    }

    fn in_menu(&self) -> bool {
        self.screen.text().contains("Enter choice number")
    }

    /// Compares what is shown with what is kept.
    fn look(&mut self) {
        self.step += 1;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/term/vttest");
        let file: PathBuf = folder.join(format!("{}-{:02}", self.name, self.step));
        let got = format!("{}\n", self.screen.ansi().replace('\x1b', "\u{241b}"));
        if std::env::var_os("HTUI_RERECORD").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&file, &got).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        if got != expected {
            self.differences.push(format!("{}:\n{got}\nexpected:\n{expected}", file.display()));
        }
    }

    /// Chooses a point of the menu and looks at each screen until a menu comes back.
    fn choose(&mut self, number: &str) {
        self.enter(number);
        while !self.in_menu() {
            self.look();
            self.enter("");
        }
    }

    /// Walks from the main menu into a menu and through these points of it.
    fn menu(&mut self, path: &[&str], points: &[&str]) {
        for number in path {
            self.enter(number);
        }
        for point in points {
            self.choose(point);
        }
    }

    /// Leaves it, and says what was not as expected.
    fn end(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        assert!(self.differences.is_empty(), "{}", self.differences.join("\n"));
    }
}

#[test]
fn cursor_movements() {
    if let Some(mut walk) = Walk::start("cursor") {
        walk.choose("1");
        walk.end();
    }
}

#[test]
fn screen_features() {
    if let Some(mut walk) = Walk::start("screen") {
        walk.choose("2");
        walk.end();
    }
}

#[test]
fn insert_and_delete() {
    if let Some(mut walk) = Walk::start("insert") {
        walk.choose("8");
        walk.end();
    }
}

#[test]
fn character_sets() {
    if let Some(mut walk) = Walk::start("charsets") {
        walk.menu(&["3"], &["8", "9", "11"]);
        walk.end();
    }
}

#[test]
fn reports() {
    if let Some(mut walk) = Walk::start("reports") {
        walk.menu(&["6"], &["1", "2", "3", "4", "5", "6", "7"]);
        walk.end();
    }
}

#[test]
fn colours() {
    if let Some(mut walk) = Walk::start("colours") {
        walk.menu(&["11", "6"], &["2", "3", "4", "5", "9"]);
        walk.end();
    }
}

#[test]
fn repeating_and_scrolling() {
    if let Some(mut walk) = Walk::start("scrolling") {
        walk.menu(&["11", "6", "7"], &["2", "3", "6"]);
        walk.end();
    }
}

#[test]
fn colours_of_erased_cells() {
    if let Some(mut walk) = Walk::start("erased") {
        walk.menu(&["11", "6", "6"], &["1", "2", "3"]);
        walk.end();
    }
}

#[test]
fn status_reports() {
    if let Some(mut walk) = Walk::start("status") {
        walk.menu(&["11", "1", "1"], &["1", "2", "3"]);
        walk.end();
    }
}

#[test]
fn soft_reset() {
    if let Some(mut walk) = Walk::start("soft-reset") {
        walk.menu(&["11", "1"], &["6"]);
        walk.end();
    }
}

#[test]
fn alternate_screens() {
    if let Some(mut walk) = Walk::start("alternate") {
        walk.menu(&["11", "8", "7"], &["3", "4", "5"]);
        walk.end();
    }
}
