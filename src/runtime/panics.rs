//! What a panic does: where the host or the program itself fails, the terminal is given back, the log names it, and the
//! process ends with 70.

use super::terminal;
use crate::term;
use std::panic;

/// Exit code of a defect of this program.
pub const INTERNAL: u8 = 70;

tokio::task_local! {
    /// Set in the task that everything hangs on.
    static VITAL: ();
}

/// Runs what the process cannot live without, in a task of its own: those who tell it something run beside it, and it
/// goes on where they stop, without another thread to be woken.
///
/// # Panics
/// With its panic. The hook has given the terminal back by then.
pub async fn vital<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(VITAL.scope((), work)).await {
        Ok(done) => done,
        Err(error) => panic::resume_unwind(error.into_panic()),
    }
}

/// Sets the hook. A panic that only costs one pane or one task is logged; one of the main thread or of what is vital ends
/// the process.
pub fn set_hook() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        tracing::error!("{info}");
        let main = std::thread::current().name() == Some("main");
        let fatal = main || VITAL.try_with(|()| ()).is_ok();
        if fatal && !term::is_contained() {
            terminal::restore();
            before(info);
        }
    }));
}
