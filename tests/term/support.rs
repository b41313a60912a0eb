//! Shared by the tests of the terminal engine.

use hermes_tui::domain::{Moment, Size};
use hermes_tui::term::{Fed, Screen};

/// A moment that matters to no test.
pub const NOW: Moment = Moment(1_000_000);

/// An empty screen.
pub fn screen(rows: u16, cols: u16) -> Screen {
    Screen::new(Size { rows, cols }, 10_000)
}

/// Feeds text.
pub fn feed(screen: &mut Screen, text: &str) -> Fed {
    screen.feed(NOW, text.as_bytes())
}

/// The answers to what was fed.
pub fn reply(screen: &mut Screen, text: &str) -> String {
    String::from_utf8(feed(screen, text).reply).unwrap()
}

/// The rows of the view.
pub fn shown(screen: &Screen) -> Vec<String> {
    let view = screen.view();
    let mut rows = vec![String::new(); view.rows().into()];
    view.for_each_cell(|row, _, cell| rows[usize::from(row)].push_str(cell.text));
    rows.iter().map(|row| row.trim_end().to_owned()).collect()
}
