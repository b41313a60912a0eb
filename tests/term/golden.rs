//! Recorded output of real programs and the screens it must give.
//!
//! A folder under `tests/term/golden` holds either `output` (raw bytes), `size` (rows and columns) and `screen` (what must
//! be there, with colours), or recordings of several steps: `24x80.steps`, as `record.py` writes it and says, with
//! `24x80.screens` for what must be there at each step of the name. `HTUI_RERECORD=1 cargo test --test term golden` writes
//! what must be there anew: read the difference, and have `record.py judge` compare it with another terminal.

use crate::support::NOW;
use hermes_tui::domain::Size;
use hermes_tui::term::Screen;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/term/golden");
    let mut all: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// What a screen is like, for people to read and to compare.
fn told(screen: &Screen) -> String {
    let cursor = screen.cursor().map(|c| (c.row, c.col, c.shape));
    format!(
        "title {:?}\nmodes {:?}\ncursor {cursor:?}\nhistory {}\n--\n{}\n",
        screen.title(),
        screen.modes(),
        screen.history_len(),
        screen.ansi().replace('\x1b', "\u{241b}")
    )
}

fn compare(file: &Path, got: &str) {
    if std::env::var_os("HTUI_RERECORD").is_some() {
        fs::write(file, got).unwrap();
    }
    assert_eq!(got, fs::read_to_string(file).unwrap(), "{}", file.display());
}

#[test]
fn recorded_output_gives_the_recorded_screen() {
    let mut seen = 0;
    for folder in folders().into_iter().filter(|folder| folder.join("output").exists()) {
        let size = fs::read_to_string(folder.join("size")).unwrap();
        let numbers: Vec<u16> = size.split_whitespace().map(|n| n.parse().unwrap()).collect();
        let mut screen = Screen::new(Size { rows: numbers[0], cols: numbers[1] }, 1000);
        screen.feed(NOW, &fs::read(folder.join("output")).unwrap());
        compare(&folder.join("screen"), &told(&screen));
        seen += 1;
    }
    assert!(seen >= 9, "only {seen} recordings of one step");
}

/// The size in a step.
fn size(step: &Value) -> Size {
    let number = |at: usize| u16::try_from(step[at].as_u64().unwrap()).unwrap();
    Size { rows: number(1), cols: number(2) }
}

/// Plays a recording; in pieces of at most so many bytes.
fn play(file: &Path, piece: usize) -> String {
    let mut screen: Option<Screen> = None;
    let mut got = String::new();
    for line in fs::read_to_string(file).unwrap().lines() {
        let step: Value = serde_json::from_str(line).unwrap();
        match (step[0].as_str().unwrap(), &mut screen) {
            ("size", None) => screen = Some(Screen::new(size(&step), 1000)),
            ("resize", Some(screen)) => screen.resize(size(&step)),
            ("output", Some(screen)) => {
                let bytes: Vec<u8> = step[1].as_str().unwrap().chars().map(|c| u8::try_from(c).unwrap()).collect();
                bytes.chunks(piece).for_each(|bytes| _ = screen.feed(NOW, bytes));
            }
            ("screen", Some(screen)) => {
                write!(got, "== {}\n{}", step[1].as_str().unwrap(), told(screen)).unwrap();
            }
            _ => panic!("{}: {line}", file.display()),
        }
    }
    got
}

#[test]
fn programs_that_are_resized_give_the_recorded_screens() {
    let mut seen = Vec::new();
    for folder in folders().into_iter().filter(|folder| !folder.join("output").exists()) {
        for first in ["24x80", "12x40"] {
            let file = folder.join(first).with_extension("steps");
            let got = play(&file, usize::MAX);
            compare(&file.with_extension("screens"), &got);
            assert_eq!(play(&file, 7), got, "{} in small pieces", file.display());
        }
        seen.push(folder.file_name().unwrap().to_owned());
    }
    for name in ["dialog", "fzf", "git-log", "htop", "less-resized", "nano", "progress-resized", "tmux-inside", "vim"] {
        assert!(seen.iter().any(|n| n == name), "{name} is not among {seen:?}");
    }
}
