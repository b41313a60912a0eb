//! What a panic does: the terminal is given back, the log names it, the process ends with 70.

use super::terminal;
use crate::term;
use std::panic;

/// Exit code of a defect of this program.
pub const INTERNAL: u8 = 70;

/// Sets the hook. A panic that only costs one pane or one task is logged; one of the main thread ends the process.
pub fn set_hook() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        tracing::error!("{info}");
        let fatal = std::thread::current().name() == Some("main") && !term::is_contained();
        if fatal {
            terminal::restore();
            before(info);
        }
    }));
}
