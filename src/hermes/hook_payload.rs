//! What matters of the message that a hermes-agent gives to a shell hook.
//!
//! Such a message may carry the whole conversation (megabytes) and carries the output of tools. All of that is skipped
//! where it stands; only bounded pieces of what is wanted are copied.

use super::hooks::{HookEvent, HookKind, Tool};
use crate::domain::Moment;
use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::path::PathBuf;

/// Bytes that are kept of a request.
pub const PROMPT: usize = 4 * 1024;
/// Bytes that are kept of a command.
pub const COMMAND: usize = 16 * 1024;
/// Bytes that are kept of an id or a word.
const WORD: usize = 512;
/// Bytes that are kept of a path: the kernel takes no longer ones.
const PATH: usize = 4096;
/// So much more is looked at for secrets than is kept: one that is cut in two is not known by its shape.
const BEYOND: usize = 1024;

/// Tools that work in the sandbox (hermes-agent 0.19, `tools/`).
const TOOLS: [&str; 7] = ["terminal", "process", "execute_code", "read_file", "write_file", "patch", "search_files"];

/// Understands a message. `home` is what `HERMES_HOME` says, and `mask` takes secrets out of a text.
///
/// `None` for events that say nothing to us, for those that name no session, and for what is no such message.
#[must_use]
pub fn understand(bytes: &[u8], at: Moment, home: Option<PathBuf>, mask: &dyn Fn(&str) -> String) -> Option<HookEvent> {
    // Bytes that are no UTF-8 somewhere in a conversation cost letters, not the event.
    let text = String::from_utf8_lossy(bytes);
    let payload: Payload = serde_json::from_str(&text).ok()?;
    let Payload { hook_event_name, tool_name, tool_input, session_id, cwd, extra } = payload;
    let (input, extra) = (tool_input.unwrap_or_default(), extra.unwrap_or_default());
    let session = session_id.word()?;
    let tool = || {
        let name = tool_name.clone().word().filter(|name| TOOLS.contains(&name.as_str()))?;
        Some(Tool {
            command: input.command(&name).map(|text| kept(&text, COMMAND, mask)),
            name,
            call: extra.tool_call_id.clone().word(),
            turn: extra.turn_id.clone().word(),
            task: extra.task_id.clone().word(),
            workdir: input.workdir.clone().cut(PATH),
            background: input.background.truth(),
        })
    };
    let kind = match hook_event_name.word()?.as_str() {
        "on_session_start" => HookKind::SessionBegan { model: extra.model.word(), platform: extra.platform.word() },
        "pre_llm_call" => HookKind::TurnBegan {
            turn: extra.turn_id.word(),
            task: extra.task_id.word(),
            prompt: kept(&extra.user_message.text().unwrap_or_default(), PROMPT, mask),
            first: extra.is_first_turn.truth(),
            platform: extra.platform.word(),
        },
        "pre_tool_call" => HookKind::ToolCalled(tool()?),
        "post_tool_call" => HookKind::ToolAnswered {
            tool: tool()?,
            exit_code: extra.result.exit_code,
            status: extra.status.word(),
            duration_ms: extra.duration_ms.length(),
            job: extra.result.job,
        },
        "on_session_end" => HookKind::TurnEnded {
            turn: extra.turn_id.word(),
            task: extra.task_id.word(),
            completed: extra.completed.truth(),
            interrupted: extra.interrupted.truth(),
        },
        "on_session_finalize" => {
            HookKind::ConversationEnded { reason: extra.reason.word(), next: extra.new_session_id.word() }
        }
        "on_session_reset" => {
            HookKind::ConversationReset { reason: extra.reason.word(), previous: extra.old_session_id.word() }
        }
        "subagent_start" => HookKind::SubagentBegan {
            turn: extra.parent_turn_id.word(),
            child: extra.child_session_id.word(),
            role: extra.child_role.word(),
        },
        "subagent_stop" => HookKind::SubagentEnded {
            turn: extra.parent_turn_id.word(),
            child: extra.child_session_id.word(),
            role: extra.child_role.word(),
            status: extra.child_status.word(),
            duration_ms: extra.duration_ms.length(),
        },
        _ => return None,
    };
    Some(HookEvent { at, home, session, cwd: cwd.cut(PATH), kind })
}

/// The part of a text that is kept, without secrets.
fn kept(text: &str, most: usize, mask: &dyn Fn(&str) -> String) -> String {
    cut(&mask(cut(text, most + BEYOND)), most).to_owned()
}

/// The beginning of a text, whole characters of at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The message. What is not named here is skipped.
#[derive(Deserialize)]
struct Payload {
    hook_event_name: Loose,
    #[serde(default)]
    tool_name: Loose,
    tool_input: Option<Input>,
    #[serde(default)]
    session_id: Loose,
    #[serde(default)]
    cwd: Loose,
    extra: Option<Extra>,
}

/// Arguments of a tool.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Input {
    command: Loose,
    code: Loose,
    action: Loose,
    session_id: Loose,
    workdir: Loose,
    background: Loose,
}

impl Input {
    fn command(&self, tool: &str) -> Option<String> {
        match tool {
            "terminal" => self.command.clone().text(),
            "execute_code" => self.code.clone().text(),
            "process" => {
                let words = [self.action.clone().word(), self.session_id.clone().word()];
                Some(words.into_iter().flatten().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
            }
            _ => None,
        }
    }
}

/// What stands in the message for this event alone.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Extra {
    task_id: Loose,
    turn_id: Loose,
    tool_call_id: Loose,
    user_message: Loose,
    is_first_turn: Loose,
    model: Loose,
    platform: Loose,
    result: Outcome,
    status: Loose,
    duration_ms: Loose,
    completed: Loose,
    interrupted: Loose,
    reason: Loose,
    old_session_id: Loose,
    new_session_id: Loose,
    parent_turn_id: Loose,
    child_session_id: Loose,
    child_role: Loose,
    child_status: Loose,
}

/// Whatever stands there. Of a text no more than may be wanted of any; of parts of a message, the texts in them.
#[derive(Clone, Default)]
enum Loose {
    #[default]
    Nothing,
    Truth(bool),
    Number(f64),
    Text(String),
}

impl Loose {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            Self::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    fn cut(self, most: usize) -> Option<String> {
        Some(cut(&self.text()?, most).to_owned())
    }

    fn word(self) -> Option<String> {
        self.cut(WORD)
    }

    fn truth(&self) -> bool {
        matches!(self, Self::Truth(true))
    }

    /// A length of time.
    fn length(&self) -> Option<u64> {
        // Negative numbers and NaN become 0, as `as` does.
        if let Self::Number(number) = self { Some(*number as u64) } else { None }
    }
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Loose;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Loose, E> {
        Ok(Loose::Truth(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Loose, E> {
        Ok(Loose::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Loose, E> {
        Ok(Loose::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Loose, E> {
        Ok(Loose::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Loose, E> {
        Ok(Loose::Text(cut(value, COMMAND + BEYOND).to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Loose, E> {
        Ok(Loose::Nothing)
    }

    fn visit_none<E>(self) -> Result<Loose, E> {
        Ok(Loose::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Loose, A::Error> {
        let mut text = String::new();
        while let Some(part) = all.next_element::<Loose>()? {
            let Some(part) = part.text().filter(|_| text.len() < COMMAND) else { continue };
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&part);
        }
        Ok(Loose::Text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Loose, A::Error> {
        let mut text = Loose::Nothing;
        while let Some(name) = all.next_key::<Loose>()? {
            if matches!(&name, Loose::Text(name) if name == "text") {
                text = all.next_value()?;
            } else {
                all.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}

/// What is kept of a tool's result, which is the text of a JSON object.
#[derive(Default)]
struct Outcome {
    exit_code: Option<i64>,
    job: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    exit_code: Loose,
    session_id: Loose,
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Self {
        let exit_code = if let Loose::Number(number) = answer.exit_code { Some(number as i64) } else { None };
        Self { exit_code, job: answer.session_id.word().filter(|id| id.starts_with("proc_")) }
    }
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Told)
    }
}

struct Told;

impl<'de> Visitor<'de> for Told {
    type Value = Outcome;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the result of a tool")
    }

    fn visit_str<E>(self, text: &str) -> Result<Outcome, E> {
        // Words of hermes-agent may stand behind the object.
        let mut object = serde_json::Deserializer::from_str(text);
        Ok(Answer::deserialize(&mut object).map(Outcome::from).unwrap_or_default())
    }

    fn visit_map<A: MapAccess<'de>>(self, all: A) -> Result<Outcome, A::Error> {
        Answer::deserialize(MapAccessDeserializer::new(all)).map(Outcome::from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Outcome, A::Error> {
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Outcome::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Outcome, E> {
        Ok(Outcome::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Outcome, E> {
        Ok(Outcome::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Outcome, E> {
        Ok(Outcome::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Outcome, E> {
        Ok(Outcome::default())
    }

    fn visit_unit<E>(self) -> Result<Outcome, E> {
        Ok(Outcome::default())
    }
}
