//! `events`: follow everything that happens, also from where an earlier reader stopped.

use super::context::Context;
use super::output::{Failure, Printer, Style, local_time, print_json, text};
use crate::api::ApiCall;
use crate::api::protocol::{EVENT, EventsSubscribe};
use clap::Args;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use serde_json::Value;
use std::io;
use std::os::fd::AsFd;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

#[derive(Args, Debug)]
#[command(
    after_help = "Each event has a number, `seq` with --json. Where events after SEQ are not kept any more, or SEQ is \
                        of another count, a line `events.gap` says so; its own `seq` is the one to come back with."
)]
pub(super) struct Events {
    /// Begin after the event of this number, as far as events are kept
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// End after what has happened so far; without --since that is all that is kept
    #[arg(long)]
    no_follow: bool,
}

pub(super) fn run(context: &Context, events: Events) -> Result<u8, Failure> {
    let out = Printer::new();
    let since = events.since.or(events.no_follow.then_some(0));
    context.wait(async {
        let mut host = context.host().await?;
        let reply = host.call(&ApiCall::EventsSubscribe(EventsSubscribe { since })).await?;
        let mut left = events.no_follow.then(|| reply["past"].as_u64().unwrap_or(0));
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut in_order = false;
        let reader_gone = reader_gone();
        tokio::pin!(reader_gone);
        while left != Some(0) {
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
            left = left.map(|left| left - 1);
            if context.json {
                print_json(&event)?;
            } else {
                print(&out, &event)?;
            }
        }
        Ok(0)
    })
}

fn print(out: &Printer, event: &Value) -> Result<(), Failure> {
    let when = out.styled(&local_time(&event["at"]), Style::Dim);
    let (said, name, kind) = (text(event, "text"), text(event, "name"), text(event, "kind"));
    let place = if said.contains(&name) { String::new() } else { format!("{name}: ") };
    let style = if kind == "events.gap" { Style::Yellow } else { Style::Plain };
    // The number to come back with: `--since`.
    let number = event["seq"].as_u64().map(|seq| out.styled(&format!("  #{seq}"), Style::Dim)).unwrap_or_default();
    out.line(&format!("{when}  {kind:<20} {place}{}{number}", out.styled(&said, style)))
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
