//! What a hermes-agent tells through its shell hooks, as it is kept until the host takes it.
//!
//! The events are those of hermes-agent 0.19 (`agent/shell_hooks.py`). It runs a hook while the agent waits, so that
//! only what matters is kept, and nothing is worked out before somebody reads it.

pub use super::hook_queue::{read_queue, remove};
use crate::domain::Moment;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Names of the events that say something to us, as they stand below `hooks:` in a `config.yaml`.
pub const EVENTS: [&str; 9] = [
    "on_session_start",
    "pre_llm_call",
    "pre_tool_call",
    "post_tool_call",
    "on_session_end",
    "on_session_finalize",
    "on_session_reset",
    "subagent_start",
    "subagent_stop",
];

/// The form in which events are stored. Another number is another form.
const VERSION: u32 = 1;

/// One event of one conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookEvent {
    /// When it arrived, by the machine's clock.
    pub at: Moment,
    /// Home of the hermes-agent that told it: what `HERMES_HOME` says in the environment of the hook. `None` where
    /// that says nothing; hermes-agent sets it for profiles, and without it uses `.hermes` in the user's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<PathBuf>,
    /// Id of the session of hermes-agent, which is a conversation of ours. Of subagents' events: the parent's.
    pub session: String,
    /// Working directory of the hermes-agent, on its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub kind: HookKind,
}

/// What happened. Texts that are empty are `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HookKind {
    /// A new session had its first request (`on_session_start`).
    SessionBegan {
        /// Name of the model.
        model: Option<String>,
        /// `cli`, `telegram`, `cron`, ...
        platform: Option<String>,
    },
    /// A request of the user arrived, and no model was asked yet (`pre_llm_call`, once a turn).
    TurnBegan {
        /// Its id: `SESSION:TASK:8 HEX`.
        turn: Option<String>,
        /// Id of its task.
        task: Option<String>,
        /// The request, its first 4 KiB.
        prompt: String,
        /// It is the first of its session.
        first: bool,
        /// `cli`, `telegram`, `cron`, ...
        platform: Option<String>,
    },
    /// A tool is about to run (`pre_tool_call`); it may still be refused.
    ToolCalled(Tool),
    /// A tool has run, or was refused (`post_tool_call`).
    ToolAnswered {
        /// Which call.
        #[serde(flatten)]
        tool: Tool,
        /// Exit code of its command.
        exit_code: Option<i64>,
        /// `ok`, `error` or `blocked`.
        status: Option<String>,
        /// How long it took, in milliseconds.
        duration_ms: Option<u64>,
        /// Id of the background process that it started, for example `proc_0f9e1d569189`.
        job: Option<String>,
    },
    /// The agent is done with a request (`on_session_end`, which in spite of its name ends a turn).
    TurnEnded {
        /// Its id; none where hermes-agent was ended in the middle of a turn.
        turn: Option<String>,
        /// Id of its task.
        task: Option<String>,
        /// There is a final answer.
        completed: bool,
        /// The user broke it off.
        interrupted: bool,
    },
    /// The session ends, or is left by its hermes-agent (`on_session_finalize`).
    ConversationEnded {
        /// `shutdown`, `session_boundary`, `session_expired`, `new_session`, ...
        reason: Option<String>,
        /// Id of the session that goes on in its place.
        next: Option<String>,
    },
    /// A new session takes the place of another one (`on_session_reset`); the event's session is the new one.
    ConversationReset {
        /// `new_session`, ...
        reason: Option<String>,
        /// Id of the session that was left.
        previous: Option<String>,
    },
    /// The agent hands a part of its work to another one (`subagent_start`).
    SubagentBegan {
        /// Id of the parent's turn.
        turn: Option<String>,
        /// Id of the other one's session.
        child: Option<String>,
        /// Its role.
        role: Option<String>,
    },
    /// The other one is done (`subagent_stop`).
    SubagentEnded {
        /// Id of the parent's turn.
        turn: Option<String>,
        /// Id of the other one's session.
        child: Option<String>,
        /// Its role.
        role: Option<String>,
        /// `completed`, `error`, ...
        status: Option<String>,
        /// How long it took, in milliseconds.
        duration_ms: Option<u64>,
    },
}

/// One call of a tool that works in the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// `terminal`, `process`, `execute_code`, `read_file`, `write_file`, `patch` or `search_files`.
    pub name: String,
    /// Id of the call, which also stands in hermes-agent's own records.
    pub call: Option<String>,
    /// Id of the turn.
    pub turn: Option<String>,
    /// Id of the task.
    pub task: Option<String>,
    /// The first 16 KiB of what it runs: the command of `terminal`, the code of `execute_code`, of `process` what it
    /// does to which process (never what it types). None for the others.
    pub command: Option<String>,
    /// Where the command was asked to run, in the sandbox.
    pub workdir: Option<String>,
    /// It runs in the background.
    pub background: bool,
}

#[derive(Serialize)]
struct StoredRef<'a> {
    version: u32,
    event: &'a HookEvent,
}

#[derive(Deserialize)]
struct Stored {
    version: u32,
    event: HookEvent,
}

impl HookEvent {
    /// As it is stored.
    ///
    /// # Errors
    /// The home's path is not text.
    pub fn to_stored(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&StoredRef { version: VERSION, event: self })
    }

    /// From what was stored; `None` if it is broken or of another version.
    #[must_use]
    pub fn from_stored(bytes: &[u8]) -> Option<Self> {
        let stored: Stored = serde_json::from_slice(bytes).ok()?;
        (stored.version == VERSION).then_some(stored.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hermes::hook_payload::{COMMAND, PROMPT, understand};
    use serde_json::{Value, json};

    const NOW: Moment = Moment(1_800_000_000_000);

    fn told(event: &str, tool: Value, input: Value, extra: Value) -> Option<HookEvent> {
        let message = json!({"hook_event_name": event, "tool_name": tool, "tool_input": input, "session_id": "s1",
            "cwd": "/w", "extra": extra});
        understand(message.to_string().as_bytes(), NOW, Some("/h".into()), &str::to_owned)
    }

    fn plain(event: &str, extra: Value) -> HookKind {
        told(event, Value::Null, Value::Null, extra).expect("an event").kind
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn each_event_is_understood_and_comes_back_from_what_is_stored() {
        let ids = json!({"task_id": "t", "turn_id": "s1:t:1", "tool_call_id": "c1", "telemetry_schema_version": "1"});
        let command = json!({"command": "make", "background": true, "workdir": "/src", "timeout": 5});
        let result =
            json!({"output": "Background process started", "session_id": "proc_1", "exit_code": 0}).to_string();
        let mut answer = ids.clone();
        for (name, value) in [("result", json!(result)), ("status", json!("ok")), ("duration_ms", json!(12.9))] {
            answer[name] = value;
        }
        let tool = Tool {
            name: "terminal".into(),
            call: some("c1"),
            turn: some("s1:t:1"),
            task: some("t"),
            command: some("make"),
            workdir: some("/src"),
            background: true,
        };
        let called = told("pre_tool_call", json!("terminal"), command.clone(), ids).expect("an event");
        assert_eq!(called.kind, HookKind::ToolCalled(tool.clone()));
        let answered = told("post_tool_call", json!("terminal"), command, answer).expect("an event");
        let (exit_code, status, duration_ms, job) = (Some(0), some("ok"), Some(12), some("proc_1"));
        assert_eq!(answered.kind, HookKind::ToolAnswered { tool, exit_code, status, duration_ms, job });
        let parent = json!({"parent_turn_id": "s1:t:1", "child_session_id": "s2", "child_role": "leaf",
            "child_summary": "long", "child_status": "completed", "duration_ms": 7});
        let (turn, child, role) = (some("s1:t:1"), some("s2"), some("leaf"));
        let kinds = [
            (
                plain("on_session_start", json!({"model": "m", "platform": "cli"})),
                HookKind::SessionBegan { model: some("m"), platform: some("cli") },
            ),
            (
                plain("on_session_end", json!({"turn_id": "x", "completed": true, "interrupted": false})),
                HookKind::TurnEnded { turn: some("x"), task: None, completed: true, interrupted: false },
            ),
            (
                plain("on_session_finalize", json!({"reason": "new_session", "new_session_id": "s2"})),
                HookKind::ConversationEnded { reason: some("new_session"), next: some("s2") },
            ),
            (
                plain("on_session_reset", json!({"reason": "new_session", "old_session_id": "s0"})),
                HookKind::ConversationReset { reason: some("new_session"), previous: some("s0") },
            ),
            (
                plain("subagent_start", parent.clone()),
                HookKind::SubagentBegan { turn: turn.clone(), child: child.clone(), role: role.clone() },
            ),
            (
                plain("subagent_stop", parent),
                HookKind::SubagentEnded { turn, child, role, status: some("completed"), duration_ms: Some(7) },
            ),
        ];
        for (kind, expected) in &kinds {
            assert_eq!(kind, expected);
        }
        let more = kinds.into_iter().map(|(kind, _)| HookEvent { kind, ..called.clone() });
        for event in [called.clone(), answered].into_iter().chain(more) {
            assert_eq!((event.at, event.home.as_deref()), (NOW, Some(std::path::Path::new("/h"))));
            let stored = event.to_stored().expect("stored");
            assert_eq!(HookEvent::from_stored(&stored), Some(event));
        }
    }

    #[test]
    fn texts_are_cut_at_a_character_and_after_secrets_were_masked() {
        let prompt = format!("a{}", "\u{e9}".repeat(PROMPT));
        let HookKind::TurnBegan { prompt: kept, first, .. } =
            plain("pre_llm_call", json!({"user_message": prompt, "is_first_turn": true}))
        else {
            panic!("no turn");
        };
        assert_eq!((kept.len(), first), (PROMPT - 1, true));
        let script = "x".repeat(COMMAND - 5) + "SECRET";
        let message = json!({"hook_event_name": "pre_tool_call", "tool_name": "execute_code", "session_id": "s",
            "tool_input": {"code": script}});
        let mask = |text: &str| text.replace("SECRET", "******");
        let event = understand(message.to_string().as_bytes(), NOW, None, &mask).expect("an event");
        let HookKind::ToolCalled(tool) = event.kind else { panic!("no call") };
        assert_eq!(tool.command, Some("x".repeat(COMMAND - 5) + "*****"));
    }

    #[test]
    fn of_a_request_in_parts_the_texts_are_kept() {
        let parts = json!([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:..."}},
            {"type": "text", "text": "at this"}, "now", null]);
        let HookKind::TurnBegan { prompt, .. } = plain("pre_llm_call", json!({"user_message": parts})) else {
            panic!("no turn");
        };
        assert_eq!(prompt, "look\nat this\nnow");
    }

    #[test]
    fn results_of_any_shape_are_no_failure() {
        let code = |result: Value| match told("post_tool_call", json!("terminal"), json!({}), json!({"result": result}))
            .expect("an event")
            .kind
        {
            HookKind::ToolAnswered { exit_code, .. } => exit_code,
            other => panic!("{other:?}"),
        };
        assert_eq!(code(json!("{\"exit_code\": -9} [note: it was long]")), Some(-9));
        assert_eq!(code(json!({"exit_code": 2})), Some(2));
        for odd in
            [json!("no JSON"), json!("{\"exit_code\": \"x\"}"), json!(["{}"]), json!(7), json!(true), Value::Null]
        {
            assert_eq!(code(odd.clone()), None, "{odd}");
        }
    }

    #[test]
    fn of_a_process_is_kept_what_is_done_to_it_but_not_what_is_typed() {
        let input = json!({"action": "submit", "session_id": "proc_1", "data": "hunter2"});
        let event = told("pre_tool_call", json!("process"), input, json!({})).expect("an event");
        let HookKind::ToolCalled(tool) = event.kind else { panic!("no call") };
        assert_eq!(tool.command.as_deref(), Some("submit proc_1"));
    }

    #[test]
    fn what_says_nothing_to_us_is_left_out() {
        assert_eq!(told("post_api_request", Value::Null, Value::Null, json!({})), None);
        assert_eq!(told("pre_tool_call", json!("web_search"), json!({"command": "x"}), json!({})), None);
        let deep =
            format!(r#"{{"hook_event_name": "pre_llm_call", "session_id": "s", "extra": {}1"#, "[".repeat(100_000));
        let others = [
            "",
            "null",
            "7",
            "[]",
            "{}",
            r#"{"hook_event_name": "on_session_end"}"#,
            r#"{"hook_event_name": "on_session_end", "session_id": null}"#,
            r#"{"hook_event_name": {"x": 1}, "session_id": "s"}"#,
            &deep,
        ];
        for text in others {
            assert_eq!(understand(text.as_bytes(), NOW, None, &str::to_owned), None, "{text}");
        }
    }

    #[test]
    fn what_is_broken_or_of_another_version_is_not_understood() {
        let stored = told("on_session_end", Value::Null, Value::Null, json!({})).expect("an event").to_stored();
        let stored = String::from_utf8(stored.expect("stored")).expect("text");
        assert!(HookEvent::from_stored(stored.as_bytes()).is_some());
        let other = stored.replace("\"version\":1", "\"version\":2");
        for text in ["", "{", &stored[..stored.len() - 1], &other] {
            assert_eq!(HookEvent::from_stored(text.as_bytes()), None, "{text}");
        }
    }
}
