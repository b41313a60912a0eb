//! Recorded output of real programs and the screens it must give.
//!
//! A folder under `tests/term/golden` holds `output` (raw bytes), `size` (rows and columns) and `screen` (what must be
//! there, with colours). `HTUI_RERECORD=1 cargo test --test term golden` writes `screen` anew: read the difference.

use crate::support::NOW;
use hermes_tui::domain::Size;
use hermes_tui::term::Screen;
use std::fs;
use std::path::Path;

#[test]
fn recorded_output_gives_the_recorded_screen() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/term/golden");
    let rerecord = std::env::var_os("HTUI_RERECORD").is_some();
    let mut seen = 0;
    for entry in fs::read_dir(&root).unwrap() {
        let folder = entry.unwrap().path();
        let size = fs::read_to_string(folder.join("size")).unwrap();
        let numbers: Vec<u16> = size.split_whitespace().map(|n| n.parse().unwrap()).collect();
        let mut screen = Screen::new(Size { rows: numbers[0], cols: numbers[1] }, 1000);
        screen.feed(NOW, &fs::read(folder.join("output")).unwrap());
        let cursor = screen.cursor().map(|c| (c.row, c.col, c.shape));
        let got = format!(
            "title {:?}\nmodes {:?}\ncursor {cursor:?}\nhistory {}\n--\n{}\n",
            screen.title(),
            screen.modes(),
            screen.history_len(),
            screen.ansi().replace('\x1b', "\u{241b}")
        );
        let file = folder.join("screen");
        if rerecord {
            fs::write(&file, &got).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap();
        assert_eq!(got, expected, "{}", folder.display());
        seen += 1;
    }
    assert!(seen >= 6, "only {seen} recordings in {}", root.display());
}
