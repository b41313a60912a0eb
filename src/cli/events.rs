//! `events`: follow everything that happens.

use super::context::Context;
use super::output::{Failure, Printer, Style, local_time, print_json, text};
use crate::api::ApiCall;
use crate::api::protocol::{EVENT, Nothing};
use nix::poll::{PollFd, PollFlags, PollTimeout};
use std::io;
use std::os::fd::AsFd;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

pub(super) fn run(context: &Context) -> Result<u8, Failure> {
    let out = Printer::new();
    context.wait(async {
        let mut host = context.host().await?;
        host.call(&ApiCall::EventsSubscribe(Nothing {})).await?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut in_order = false;
        let reader_gone = reader_gone();
        tokio::pin!(reader_gone);
        loop {
            let (method, event) = tokio::select! {
                next = host.notification() => match next {
                    Ok(next) => next,
                    // The stream ends with the host; without a word of it, it is an error.
                    Err(_) if in_order => return Ok(0),
                    Err(error) => return Err(error.into()),
                },
                _ = interrupt.recv() => return Ok(0),
                _ = terminate.recv() => return Ok(0),
                () = &mut reader_gone => return Err(Failure::BrokenPipe),
            };
            if method != EVENT {
                continue;
            }
            in_order |= event["kind"] == "host.shutdown";
            if context.json {
                print_json(&event)?;
            } else {
                let when = out.styled(&local_time(&event["at"]), Style::Dim);
                let (said, name) = (text(&event, "text"), text(&event, "name"));
                let place = if said.contains(&name) { String::new() } else { format!("{name}: ") };
                out.line(&format!("{when}  {:<20} {place}{said}", text(&event, "kind")))?;
            }
        }
    })
}

/// Resolves when nobody reads our output any more: otherwise `events | head -1` would hang until the next event. A pipe
/// whose reader is gone says so without being written to.
async fn reader_gone() {
    let (sender, gone) = oneshot::channel();
    std::thread::spawn(move || {
        let stdout = io::stdout();
        // No event is asked for: errors and hang-ups are reported all the same.
        if nix::poll::poll(&mut [PollFd::new(stdout.as_fd(), PollFlags::empty())], PollTimeout::NONE).is_ok() {
            let _ = sender.send(());
        }
    });
    if gone.await.is_err() {
        std::future::pending::<()>().await;
    }
}
