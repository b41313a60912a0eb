//! Turns of a conversation, told from its messages: hermes-agent keeps none of its own.
//!
//! A turn opens at a message of the user that was said to the agent and closes before the next one. Messages that
//! hermes-agent writes in the user's name continue a turn, but for the word that a background process has ended, which
//! begins one. When a conversation becomes too long, a summary and its newest messages are written once more.

use super::history::Message;
use crate::domain::Moment;
use serde_json::Value;
use std::collections::BTreeSet;

/// What a background process of the agent says when it has ended.
const JOB_ENDED: &str = "[IMPORTANT: Background process ";
/// Beginnings of messages that hermes-agent 0.19 writes in the user's name (`agent/conversation_compression.py`).
const IN_THE_USERS_NAME: [&str; 4] = [
    "[System: Your previous response was truncated",
    "[System: The previous response was cut off",
    "[System: Your previous tool call",
    "[Your active task list was preserved across context compression]",
];
/// Beginnings of summaries, and what stands between one and a message that it was joined to
/// (`agent/context_compressor.py`).
const SUMMARY: [&str; 2] = ["[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:"];
const JOINED_SUMMARY: &str = "[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]";

/// One request of the user and all that the agent did for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The number of the message that opened it.
    pub message: i64,
    /// Counted from 1.
    pub number: usize,
    /// What was asked for.
    pub prompt: String,
    /// Not by a person: a background process ended.
    pub by_itself: bool,
    /// When it began.
    pub began: Moment,
    /// When its last message was written.
    pub latest: Moment,
    /// How it stands.
    pub state: TurnState,
    /// Calls of tools, in order.
    pub calls: Vec<ToolCall>,
}

/// How a turn stands, as far as messages tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnState {
    /// The agent owes an answer. It runs only if there is also something going on in its sandbox or its process.
    Open,
    /// It was answered.
    Answered,
    /// Something else came before the answer: the next request, or the end of the conversation.
    Unanswered,
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// The tool, for example `terminal`.
    pub tool: String,
    /// The command, of a tool that runs one.
    pub command: Option<String>,
    /// It is not waited for.
    pub background: bool,
    /// When it was asked for.
    pub asked: Moment,
    /// When the tool answered.
    pub answered: Option<Moment>,
    /// The exit code in that answer.
    pub exit_code: Option<i64>,
    /// What it printed, as that answer says.
    pub output: Option<String>,
    /// The background process that it started.
    pub job: Option<String>,
}

/// The calls that an assistant's message asks for (the shape is that of OpenAI's API).
#[must_use]
pub fn calls(json: &str) -> Vec<ToolCall> {
    let all: Vec<Value> = serde_json::from_str(json).unwrap_or_default();
    let call = |one: &Value| {
        let tool = one["function"]["name"].as_str()?.to_owned();
        let arguments = one["function"]["arguments"].as_str().unwrap_or_default();
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let command = arguments["command"].as_str().or(arguments["code"].as_str()).map(str::to_owned);
        let id = one["id"].as_str().unwrap_or_default().to_owned();
        let background = arguments["background"].as_bool().unwrap_or(false);
        let (asked, answered, exit_code, output, job) = (Moment::default(), None, None, None, None);
        Some(ToolCall { id, tool, command, background, asked, answered, exit_code, output, job })
    };
    all.iter().filter_map(call).collect()
}

/// Cuts messages, in the order of their numbers, into turns. `ended` is when the conversation did.
#[must_use]
pub fn derive(messages: &[Message], ended: Option<Moment>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in written_once(messages) {
        if message.role == "user" && opens_a_turn(message) {
            if let Some(last) = turns.last_mut().filter(|last| last.state == TurnState::Open) {
                last.state = TurnState::Unanswered;
            }
            turns.push(Turn {
                message: message.id,
                number: turns.len() + 1,
                prompt: message.content.clone(),
                by_itself: message.content.starts_with(JOB_ENDED),
                began: message.at,
                latest: message.at,
                state: TurnState::Open,
                calls: Vec::new(),
            });
        } else if let Some(turn) = turns.last_mut().filter(|_| !message.observed) {
            go_on(turn, message);
        }
    }
    if let Some(last) = turns.last_mut().filter(|last| ended.is_some() && last.state == TurnState::Open) {
        last.state = TurnState::Unanswered;
    }
    turns
}

fn go_on(turn: &mut Turn, message: &Message) {
    // Clocks step back.
    turn.latest = turn.latest.max(message.at);
    match message.role.as_str() {
        "assistant" => {
            turn.calls.extend(message.calls.iter().map(|call| ToolCall { asked: message.at, ..call.clone() }));
            turn.state = if message.calls.is_empty() { TurnState::Answered } else { TurnState::Open };
        }
        "tool" => {
            turn.state = TurnState::Open;
            let call = turn.calls.iter_mut().rev().find(|call| Some(&call.id) == message.answers.as_ref());
            let Some(call) = call else { return };
            let result: Value = serde_json::from_str(&message.content).unwrap_or_default();
            call.answered = Some(message.at);
            call.exit_code = result["exit_code"].as_i64();
            call.output = result["output"].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
            call.job = result["session_id"].as_str().filter(|id| id.starts_with("proc_")).map(str::to_owned);
        }
        "user" => turn.state = TurnState::Open,
        _ => {}
    }
}

fn opens_a_turn(message: &Message) -> bool {
    let continues = IN_THE_USERS_NAME.iter().any(|start| message.content.starts_with(start));
    !message.observed && !continues && !is_summary(message)
}

fn is_summary(message: &Message) -> bool {
    SUMMARY.iter().any(|start| message.content.starts_with(start)) || message.content.contains(JOINED_SUMMARY)
}

/// Leaves out summaries and what was written once more with them.
fn written_once(messages: &[Message]) -> Vec<&Message> {
    let same = |message: &Message| {
        let calls: Vec<&str> = message.calls.iter().map(|call| call.id.as_str()).collect();
        format!(
            "{}\0{}\0{}\0{}",
            message.role,
            message.content,
            calls.join(","),
            message.answers.as_deref().unwrap_or("")
        )
    };
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut exact: BTreeSet<(String, Moment)> = BTreeSet::new();
    let mut kept = Vec::new();
    // What is written at once has one time to the bit.
    for batch in messages.chunk_by(|one, next| one.at == next.at) {
        let again = batch.iter().any(is_summary);
        let mut news = Vec::new();
        for message in batch {
            let key = same(message);
            let by_id = !message.calls.is_empty() || message.answers.is_some();
            let repeated = known.contains(&key) && (again || by_id) || exact.contains(&(key.clone(), message.at));
            if !repeated && !is_summary(message) {
                kept.push(message);
            }
            news.push(key);
        }
        exact.extend(news.iter().map(|key| (key.clone(), batch[0].at)));
        known.extend(news);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Script(Vec<Message>);

    impl Script {
        fn say(&mut self, role: &str, content: &str) -> &mut Message {
            let id = self.0.len() as i64 + 1;
            let at = Moment(id as u64 * 1000);
            let message = Message { id, role: role.into(), content: content.into(), at, ..Message::default() };
            self.0.push(message);
            self.0.last_mut().expect("a message")
        }

        fn call(&mut self, id: &str, command: &str) {
            let arguments = serde_json::json!({"command": command}).to_string();
            let json = serde_json::json!([{"id": id, "function": {"name": "terminal", "arguments": arguments}}]);
            self.say("assistant", "").calls = calls(&json.to_string());
        }

        fn turns(&self) -> Vec<Turn> {
            derive(&self.0, None)
        }
    }

    #[test]
    fn a_turn_opens_at_a_request_and_is_answered_by_a_message_without_calls() {
        let mut script = Script(Vec::new());
        script.say("system", "be kind");
        script.say("user", "make it pass");
        script.call("c1", "cargo test");
        script.say("tool", r#"{"output": "", "exit_code": 101}"#).answers = Some("c1".into());
        assert_eq!(script.turns()[0].state, TurnState::Open);
        script.say("assistant", "done");
        script.say("user", "overheard").observed = true;
        script.say("user", "and now?");
        script.say("user", "hello?");
        let turns = script.turns();
        let shown: Vec<_> = turns.iter().map(|turn| (turn.number, turn.prompt.as_str(), turn.state)).collect();
        assert_eq!(
            shown,
            [
                (1, "make it pass", TurnState::Answered),
                (2, "and now?", TurnState::Unanswered),
                (3, "hello?", TurnState::Open)
            ]
        );
        let call = &turns[0].calls[0];
        assert_eq!((call.command.as_deref(), call.exit_code), (Some("cargo test"), Some(101)));
        assert_eq!(derive(&script.0, Some(Moment(99_000)))[2].state, TurnState::Unanswered);
    }

    #[test]
    fn a_background_process_that_ended_begins_a_turn_and_other_words_of_hermes_do_not() {
        let mut script = Script(Vec::new());
        script.say("user", "start it");
        script.call("c1", "make");
        let result = r#"{"output": "Background process started", "session_id": "proc_1", "exit_code": 0}"#;
        script.say("tool", result).answers = Some("c1".into());
        script.say("assistant", "started");
        script.say("user", "[IMPORTANT: Background process proc_1 completed normally (exit code 0).");
        script.say("assistant", "it is done");
        script.say("user", "[System: Your previous response was truncated by the output limit]");
        script.say("assistant", "indeed");
        let turns = script.turns();
        let shown: Vec<_> = turns.iter().map(|turn| (turn.by_itself, turn.state)).collect();
        assert_eq!(shown, [(false, TurnState::Answered), (true, TurnState::Answered)]);
        assert_eq!(turns[0].calls[0].job.as_deref(), Some("proc_1"));
    }

    #[test]
    fn what_is_written_once_more_after_a_summary_counts_once() {
        let mut script = Script(Vec::new());
        for prompt in ["one", "go on", "go on"] {
            script.say("user", prompt);
            script.say("assistant", "ok");
        }
        let again = Moment(50_000);
        script.say("user", "one").at = again;
        script.say("user", "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted").at = again;
        script.say("user", "go on").at = again;
        script.say("assistant", "ok").at = again;
        script.say("user", "new in the same moment").at = again;
        script.say("assistant", "yes").at = Moment(51_000);
        script.say("user", "go on").at = Moment(52_000);
        let prompts: Vec<_> = script.turns().into_iter().map(|turn| turn.prompt).collect();
        assert_eq!(prompts, ["one", "go on", "go on", "new in the same moment", "go on"]);
    }
}
