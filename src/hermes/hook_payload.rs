//! What matters of the message that a hermes-agent gives to a shell hook. The rest is skipped where it stands.

use super::hooks::{EVENT, TurnEnd};
use crate::domain::Moment;
use serde::Deserialize;
use serde_json::Value;

/// Longer ids are none.
const LONGEST: usize = 512;

/// Understands a message. `None` for other events, for those that name no session, and for what is no such message.
#[must_use]
pub fn understand(bytes: &[u8], at: Moment) -> Option<TurnEnd> {
    // Bytes that are no UTF-8 somewhere in a conversation cost letters, not the event.
    let text = String::from_utf8_lossy(bytes);
    let Payload { hook_event_name, session_id, extra } = serde_json::from_str(&text).ok()?;
    if hook_event_name != EVENT {
        return None;
    }
    let session = session_id.as_str().filter(|id| !id.is_empty() && id.len() <= LONGEST)?.to_owned();
    let Extra { completed, interrupted } = extra.unwrap_or_default();
    Some(TurnEnd { at, session, completed: completed == true, interrupted: interrupted == true })
}

/// The message. What is not named here is skipped.
#[derive(Deserialize)]
struct Payload {
    hook_event_name: Value,
    #[serde(default)]
    session_id: Value,
    extra: Option<Extra>,
}

/// What stands in the message for this event alone.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Extra {
    completed: Value,
    interrupted: Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Moment = Moment(1_800_000_000_000);

    fn told(message: &Value) -> Option<TurnEnd> {
        understand(message.to_string().as_bytes(), NOW)
    }

    #[test]
    fn the_end_of_a_turn_is_understood_with_whatever_stands_beside_it() {
        let end = |completed, interrupted| TurnEnd { at: NOW, session: "s1".into(), completed, interrupted };
        let message = |extra: Value| {
            json!({"hook_event_name": EVENT, "tool_name": null, "tool_input": {"command": [1]}, "session_id": "s1",
                "cwd": "/w", "extra": extra})
        };
        let extra = json!({"completed": true, "interrupted": false, "turn_id": "x", "platform": {"a": [7]}});
        assert_eq!(told(&message(extra)), Some(end(true, false)));
        assert_eq!(told(&message(json!({"completed": false, "interrupted": true}))), Some(end(false, true)));
        for odd in [Value::Null, json!({}), json!({"completed": "yes", "interrupted": 1})] {
            assert_eq!(told(&message(odd)), Some(end(false, false)));
        }
    }

    #[test]
    fn what_says_nothing_to_us_is_left_out() {
        let deep = format!(r#"{{"hook_event_name": "{EVENT}", "session_id": "s", "extra": {}1"#, "[".repeat(100_000));
        let long = json!({"hook_event_name": EVENT, "session_id": "s".repeat(LONGEST + 1)}).to_string();
        for text in [
            "",
            "null",
            "7",
            "[]",
            "{}",
            r#"{"hook_event_name": "pre_llm_call", "session_id": "s"}"#,
            r#"{"hook_event_name": "on_session_end"}"#,
            r#"{"hook_event_name": "on_session_end", "session_id": null}"#,
            r#"{"hook_event_name": {"x": 1}, "session_id": "s"}"#,
            &deep,
            &long,
        ] {
            assert_eq!(understand(text.as_bytes(), NOW), None, "{}", &text[..text.len().min(80)]);
        }
    }
}
