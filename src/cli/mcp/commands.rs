//! Commands: run to their end or in the background, followed, ended.

use super::args::Args;
use super::hub::{Command, Hub};
use super::kept::{Exit, Kept};
use super::link::{Link, answered};
use super::{Asked, LIMIT};
use crate::api::protocol::{ExecKill, ExecStart};
use crate::api::{ApiCall, ApiError, ErrorCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a command may run that nobody gave a time.
const USUAL_SECONDS: f64 = 180.0;
/// The most bytes of output in one answer.
const MOST: u64 = 100_000;
/// The longest wait for output.
const LONGEST_WAIT: f64 = 60.0;
/// Time in which a command that is to end must have ended.
const END_TIME: Duration = Duration::from_secs(10);

/// Whoever asked does not want it any more.
pub(super) fn cancelled() -> ApiError {
    ApiError::new(ErrorCode::Failed, "the request was cancelled, and its command is ended", "call the tool again")
}

/// Starts a command and gives its id. One that is cancelled before that is ended as soon as it has started.
pub(super) async fn start(
    link: &Arc<Link>,
    start: ExecStart,
    kept: &Arc<Kept>,
    cancel: &CancellationToken,
) -> Result<String, ApiError> {
    // It may have waited for its environment until nobody wanted it any more.
    if cancel.is_cancelled() {
        return Err(cancelled());
    }
    let mut answer = link.start(start, kept.clone()).await?;
    let reply = tokio::select! {
        reply = &mut answer => reply.map_err(|_| cancelled())??,
        () = cancel.cancelled() => {
            let link = link.clone();
            tokio::spawn(async move {
                if let Some(call) = answered(answer).await.ok().and_then(|reply| call_of(&reply)) {
                    kill(&link, call).await;
                }
            });
            return Err(cancelled());
        }
    };
    call_of(&reply)
        .ok_or_else(|| ApiError::new(ErrorCode::Protocol, "the host began a command without an id", "see its log"))
}

fn call_of(reply: &Value) -> Option<String> {
    reply["call"].as_str().map(str::to_owned)
}

/// Asks for the end of a command. One that has ended already is fine.
pub(super) async fn kill(link: &Link, call: String) {
    let _ = link.call(&ApiCall::ExecKill(ExecKill { call })).await;
}

/// Waits for the end of a command, or ends it when nobody wants it any more.
pub(super) async fn ended(link: &Link, call: &str, kept: &Kept, cancel: &CancellationToken) -> Result<Exit, ApiError> {
    tokio::select! {
        exit = kept.wait() => Ok(exit),
        () = cancel.cancelled() => {
            kill(link, call.to_owned()).await;
            Err(cancelled())
        }
    }
}

/// `run_command`.
pub(super) async fn run(hub: &Hub, args: &Args, asked: &Asked) -> Result<Value, ApiError> {
    let conversation = hub.conversation(args.given("conversation"));
    let background = args.flag("background").unwrap_or(false);
    let timeout = args.number("timeout_seconds").or((!background).then_some(USUAL_SECONDS));
    hub.has_room()?;
    hub.in_turn(&conversation, asked.client.clone()).await?;
    let (link, kept, began) = (hub.link().await?, Arc::new(Kept::joined()), Instant::now());
    let exec = ExecStart {
        conversation: Some(conversation.clone()),
        shell: Some(args.text("command").to_owned()),
        aside: background,
        timeout_seconds: timeout,
        ..ExecStart::default()
    };
    let call = start(&link, exec, &kept, &asked.cancel).await?;
    hub.remember(Command { call: call.clone(), text: args.text("command").to_owned(), kept: kept.clone(), began });
    if background {
        let note = "it runs; poll_command follows it, kill_command ends it";
        return Ok(json!({"call": call, "state": "running", "note": note}));
    }
    let exit = ended(&link, &call, &kept, &asked.cancel).await?;
    if let Some(cwd) = exit.cwd.clone() {
        hub.stands(&conversation, cwd);
    }
    let mut result = json!({
        "exit_code": exit.code,
        "output": excerpt(&kept, &call),
        "duration_ms": millis(began),
        "cwd": exit.cwd.or_else(|| hub.cwd(&conversation)),
        "call": call,
        "output_bytes": kept.total(),
    });
    if let Some(why) = exit.why {
        result["why"] = json!(why);
    }
    Ok(result)
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// All of the output, or its first and last part with a word about what is between.
fn excerpt(kept: &Kept, call: &str) -> String {
    let total = kept.total();
    if total <= LIMIT as u64 {
        return text(&kept.part(0, LIMIT).bytes);
    }
    let head = kept.part(0, LIMIT / 3);
    let tail = kept.part(total - (LIMIT - LIMIT / 3) as u64, LIMIT);
    // Not from the middle of a character on.
    let inside = tail.bytes.iter().take(3).take_while(|byte| (0x80..0xC0).contains(*byte)).count();
    let left_out = tail.from + inside as u64 - head.to;
    format!(
        "{}\n[{left_out} bytes are left out here; poll_command with call {call} and offset {} reads on]\n{}",
        text(&head.bytes),
        head.to,
        text(&tail.bytes[inside..])
    )
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `poll_command`.
pub(super) async fn poll(hub: &Hub, args: &Args, asked: &Asked) -> Result<Value, ApiError> {
    let command = hub.command(args.text("call"))?;
    let offset = args.count("offset").unwrap_or(0);
    let limit = args.count("limit").unwrap_or(LIMIT as u64).clamp(1, MOST) as usize;
    let wait = Duration::from_secs_f64(args.number("wait_seconds").unwrap_or(0.0).min(LONGEST_WAIT));
    tokio::select! {
        () = command.kept.wait_beyond(offset) => {}
        () = tokio::time::sleep(wait) => {}
        () = asked.cancel.cancelled() => {}
    }
    Ok(state(&command, offset, limit))
}

fn state(command: &Command, offset: u64, limit: usize) -> Value {
    let Command { call, text: words, kept, began } = command;
    // First the end, then the output: what it printed before its end is then in it.
    let exit = kept.exit();
    let part = kept.part(offset, limit);
    let mut result = json!({
        "call": call,
        "command": words.chars().take(200).collect::<String>(),
        "state": if exit.is_some() { "ended" } else { "running" },
        "exit_code": exit.as_ref().and_then(|exit| exit.code),
        "output": text(&part.bytes),
        "offset": part.from,
        "next_offset": part.to,
        "output_bytes": kept.total(),
    });
    match exit {
        None => result["running_ms"] = json!(millis(*began)),
        Some(Exit { why: Some(why), .. }) => result["why"] = json!(why),
        Some(_) => {}
    }
    if part.from > offset {
        result["forgotten_bytes"] = json!(part.from - offset);
    }
    result
}

/// `kill_command`.
pub(super) async fn end(hub: &Hub, args: &Args) -> Result<Value, ApiError> {
    let command = hub.command(args.text("call"))?;
    if command.kept.exit().is_none() {
        kill(&*hub.link().await?, command.call.clone()).await;
        if tokio::time::timeout(END_TIME, command.kept.wait()).await.is_err() {
            let message =
                format!("told command {} to end, but after {} s it runs on", command.call, END_TIME.as_secs());
            return Err(ApiError::new(ErrorCode::Failed, message, "call kill_command again, or poll_command"));
        }
    }
    let from = command.kept.total().saturating_sub(LIMIT as u64 / 10);
    Ok(state(&command, from, LIMIT))
}
