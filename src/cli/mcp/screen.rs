//! The conversation's terminal session, which the person sees and types in too.

use super::args::Args;
use super::hub::Hub;
use super::{Asked, LIMIT};
use crate::api::protocol::{Nothing, SessionCapture, SessionNew, SessionSendKeys};
use crate::api::{ApiCall, ApiError, ErrorCode};
use serde_json::{Value, json};
use std::time::Duration;

/// Lines in one answer, if nothing else is asked for.
const LINES: u64 = 1000;
/// Between two looks at a screen that is to come to rest, and
const LOOK: Duration = Duration::from_millis(60);
/// how many of them there are at most.
const LOOKS: usize = 16;

/// The session that is meant: the one that is named, or the conversation's, opened if none of it runs.
async fn meant(hub: &Hub, args: &Args, asked: &Asked) -> Result<String, ApiError> {
    if let Some(session) = args.owned("session") {
        return Ok(session);
    }
    let conversation = hub.conversation(args.given("conversation"));
    let shown = hub.in_turn(&conversation, asked.client.clone()).await?;
    let own = shown["session"].as_str().unwrap_or_default();
    let sessions = hub.call(&ApiCall::SessionList(Nothing {})).await?;
    let mut all = sessions["sessions"].as_array().into_iter().flatten();
    if all.any(|session| session["id"] == own && session["state"] != "ended") {
        return Ok(own.to_owned());
    }
    let env = shown["environment"].as_str().unwrap_or_default().to_owned();
    let new = SessionNew { env, conversation: Some(conversation), ..SessionNew::default() };
    let reply = hub.call(&ApiCall::SessionNew(new)).await?;
    reply["session"]["id"].as_str().map(str::to_owned).ok_or_else(|| {
        ApiError::new(ErrorCode::Failed, "the shared screen was opened, but its shell ended at once", "call it again")
    })
}

async fn capture(hub: &Hub, session: &str, history: bool) -> Result<Value, ApiError> {
    let capture = SessionCapture { session: session.to_owned(), history, ansi: false };
    hub.call(&ApiCall::SessionCapture(capture)).await
}

/// What the screen shows once it has shown the same at two looks.
async fn at_rest(hub: &Hub, session: &str) -> Result<Value, ApiError> {
    let mut shown = capture(hub, session, false).await?;
    for _ in 0..LOOKS {
        tokio::time::sleep(LOOK).await;
        let now = capture(hub, session, false).await?;
        if std::mem::replace(&mut shown, now.clone()) == now {
            break;
        }
    }
    Ok(json!({"session": shown["session"], "size": shown["size"], "screen": shown["text"]}))
}

/// `open_shared_screen`.
pub(super) async fn open(hub: &Hub, args: &Args, asked: &Asked) -> Result<Value, ApiError> {
    let session = meant(hub, args, asked).await?;
    at_rest(hub, &session).await
}

/// `send_keys`.
pub(super) async fn send_keys(hub: &Hub, args: &Args, asked: &Asked) -> Result<Value, ApiError> {
    let (text, keys) = (args.text("text"), args.texts("keys"));
    if text.is_empty() && keys.is_empty() {
        let hint = "give `text`, or `keys` such as [\"Enter\"], or both";
        return Err(ApiError::new(ErrorCode::Usage, "cannot call send_keys: there is nothing to type", hint));
    }
    let session = meant(hub, args, asked).await?;
    let conversation = hub.conversation(args.given("conversation"));
    let send = |keys: Vec<String>, literal: bool| {
        let (session, conversation) = (session.clone(), Some(conversation.clone()));
        ApiCall::SessionSendKeys(SessionSendKeys { session, keys, literal, conversation })
    };
    if !text.is_empty() {
        hub.call(&send(vec![text.to_owned()], true)).await?;
    }
    if !keys.is_empty() {
        hub.call(&send(keys, false)).await?;
    }
    at_rest(hub, &session).await
}

/// `read_screen`.
pub(super) async fn read(hub: &Hub, args: &Args, asked: &Asked) -> Result<Value, ApiError> {
    let session = meant(hub, args, asked).await?;
    let reply = capture(hub, &session, args.flag("history").unwrap_or(false)).await?;
    let lines: Vec<&str> = reply["text"].as_str().unwrap_or_default().lines().collect();
    let limit = args.count("limit").unwrap_or(LINES).clamp(1, LIMIT as u64) as usize;
    let (first, text) = page(&lines, args.count("first_line"), limit);
    Ok(json!({
        "session": reply["session"],
        "size": reply["size"],
        "text": text,
        "first_line": first + 1,
        "total_lines": lines.len(),
    }))
}

/// The lines from a line on, or the last ones, as many as fit; with the index of the first.
fn page(lines: &[&str], first_line: Option<u64>, limit: usize) -> (usize, String) {
    let mut room = LIMIT;
    let mut fits = |line: &&str| {
        let fits = line.len() < room;
        room = room.saturating_sub(line.len() + 1);
        fits
    };
    match first_line {
        Some(first) => {
            let first = (first.max(1) - 1).min(lines.len() as u64) as usize;
            let count = lines[first..].iter().take(limit).take_while(|line| fits(line)).count();
            (first, lines[first..first + count].join("\n"))
        }
        None => {
            let count = lines.iter().rev().take(limit).take_while(|line| fits(line)).count();
            let first = lines.len() - count;
            (first, lines[first..].join("\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn pages_are_of_whole_lines_from_either_end() {
        let lines = ["a", "b", "c", "d"];
        assert_eq!(page(&lines, None, 2), (2, "c\nd".to_owned()));
        assert_eq!(page(&lines, Some(2), 2), (1, "b\nc".to_owned()));
        assert_eq!(page(&lines, Some(9), 2), (4, String::new()));
        let long = "x".repeat(20_000);
        assert_eq!(page(&[&long, &long], None, 9).0, 1);
    }
}
