//! The messages: what may be asked for, in which words.
//!
//! Each message is one line of JSON (JSON-RPC 2.0, no batches). The first one of a client is
//! `{"jsonrpc":"2.0","id":0,"method":"hello","params":{"protocol":1}}`; every other method is a variant of [`ApiCall`].
//! The host answers in the order in which answers become known, and sends notifications (without `id`) for what was
//! subscribed to: `event`, `exec.output`, `exec.exit`, `screen.frame`, `screen.copy`, `screen.edit`, `screen.left`.

use super::error::{ApiError, ErrorCode};
use super::nearest::nearest;
use crate::app::TerminalAnswer;
use crate::domain::{BackendKind, Mount, Network, Persistence, Retention, Scope, TurnStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Version of the protocol. A host speaks exactly one.
pub const PROTOCOL: u32 = 1;

/// Longest message that a host takes, in bytes.
pub const MESSAGE_LIMIT: usize = 1024 * 1024;

/// Notification: something happened (`events.subscribe`).
pub const EVENT: &str = "event";
/// Notification: a command printed something.
pub const EXEC_OUTPUT: &str = "exec.output";
/// Notification: a command ended.
pub const EXEC_EXIT: &str = "exec.exit";

/// Notification: bytes for a terminal that shows the screen, in base64 as `data`.
pub const SCREEN_FRAME: &str = "screen.frame";
/// Notification: that terminal shows the screen no longer; `host_ended` says whether the host is the reason, and `over`,
/// with `exit_code` and `why`, that the session is which was all it showed.
pub const SCREEN_LEFT: &str = "screen.left";
/// A text for the person's program for copying.
pub const SCREEN_COPY: &str = "screen.copy";
/// A text for the person's editor.
pub const SCREEN_EDIT: &str = "screen.edit";

/// First message of a client.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol that it speaks.
    pub protocol: u32,
    /// Who it is, for the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// No parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

macro_rules! params {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_meta])* pub $field: $kind,)* }
    };
}

params! {
    /// `shutdown`.
    Shutdown {
        /// Leave everything running.
        #[serde(default)]
        keep: bool,
    }
}

params! {
    /// An environment.
    EnvRef {
        /// Name, `endpoint/name`, or id prefix.
        env: String,
    }
}

params! {
    /// What an environment shall be; what is absent is taken from the defaults.
    SpecFlags {
        /// Kind of provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        backend: Option<BackendKind>,
        /// Which engine of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        endpoint: Option<String>,
        /// Image.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<String>,
        /// Persistent or ephemeral.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        persistence: Option<Persistence>,
        /// Whom it serves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        /// What becomes of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retention: Option<Retention>,
        /// Idle time in seconds; 0 = never reaped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle_seconds: Option<f64>,
        /// Folders of the host shown inside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mounts: Option<Vec<Mount>>,
        /// Variables set inside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<BTreeMap<String, String>>,
        /// Network.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        network: Option<Network>,
        /// A plain shell of the host instead of a sandbox: nothing is isolated.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        on_host: bool,
        /// Processor limit in cores.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpus: Option<f64>,
        /// Memory limit in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory_bytes: Option<u64>,
    }
}

params! {
    /// `env.new`.
    EnvNew {
        /// Its name; absent picks a free one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// What it shall be.
        #[serde(default)]
        spec: SpecFlags,
    }
}

params! {
    /// `env.stop`.
    EnvStop {
        /// Which.
        env: String,
        /// Also while held.
        #[serde(default)]
        force: bool,
        /// One that is not ours: what follows is known.
        #[serde(default)]
        yes: bool,
    }
}

params! {
    /// `env.rm`. A container that was chosen to be shown is only taken off the list, unless `container` is set.
    EnvRemove {
        /// Which.
        env: String,
        /// Also while held.
        #[serde(default)]
        force: bool,
        /// Also its files.
        #[serde(default)]
        data: bool,
        /// One that is not ours: what follows is known.
        #[serde(default)]
        yes: bool,
        /// Also the container of one that was chosen to be shown.
        #[serde(default)]
        container: bool,
    }
}

params! {
    /// `env.prune`.
    EnvPrune {
        /// Only say what would be removed.
        #[serde(default)]
        dry_run: bool,
        /// Also folders of files whose environment is not listed any more.
        #[serde(default)]
        data: bool,
        /// Only what has one of these ids.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<Vec<String>>,
    }
}

params! {
    /// `env.adopt`.
    EnvAdopt {
        /// Its name, `endpoint/name`, or the beginning of its id.
        container: String,
    }
}

params! {
    /// `env.extend`.
    EnvExtend {
        /// Which.
        env: String,
        /// By how much; absent = its idle time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<f64>,
    }
}

params! {
    /// `env.rename`.
    EnvRename {
        /// Which.
        env: String,
        /// The new name.
        name: String,
    }
}

params! {
    /// A conversation.
    ConversationRef {
        /// Its id.
        conversation: String,
    }
}

params! {
    /// `turn.begin`.
    TurnBegin {
        /// Whose turn.
        conversation: String,
        /// Title of the conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Kind of the conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// Who begins the turn, for the rules of the configuration.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// Where on this machine that works, for the rules of the configuration.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// What the user asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        /// The environment to use; not together with `spec`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env_name: Option<String>,
        /// What to make if the conversation has none.
        #[serde(default)]
        spec: SpecFlags,
        /// Life of the lease without a begin, command or touch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_ttl_seconds: Option<f64>,
        /// The turn also ends, as interrupted, when the connection that began it closes.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        with_connection: bool,
    }
}

params! {
    /// `turn.end`.
    TurnEnd {
        /// Whose.
        conversation: String,
        /// How it ended; absent = done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<TurnStatus>,
    }
}

params! {
    /// `turn.show`.
    TurnShow {
        /// Id or a prefix of it.
        turn: String,
        /// Also what its commands printed, as far as it is kept.
        #[serde(default)]
        output: bool,
    }
}

params! {
    /// `exec.start`. The reply comes when the command may run; `exec.output` and `exec.exit` follow. The command ends
    /// with the connection.
    ExecStart {
        /// Where: this environment, or
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<String>,
        /// the one of this conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversation: Option<String>,
        /// What: this argument vector, or
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        argv: Vec<String>,
        /// this script, in the conversation's own shell state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shell: Option<String>,
        /// The script leaves the shell state as it finds it: for one that runs beside others.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        aside: bool,
        /// Directory inside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// Ends it after this time with exit code 124.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_seconds: Option<f64>,
        /// Whether `exec.stdin` will follow; otherwise its input is empty.
        #[serde(default)]
        stdin: bool,
        /// What it is listed as. Its streams are then data, which no feed and no journal keeps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    }
}

params! {
    /// `exec.stdin`. Answered when written.
    ExecStdin {
        /// Which command.
        call: String,
        /// Input as text, or
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// as base64.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
        /// No more comes.
        #[serde(default)]
        eof: bool,
    }
}

params! {
    /// `exec.kill`.
    ExecKill {
        /// Which command.
        call: String,
    }
}

params! {
    /// `session.new`. Starts the environment if it must; answered when the session is open.
    SessionNew {
        /// Where.
        env: String,
        /// Whose; the conversation must be known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversation: Option<String>,
        /// Argument vector; empty means a shell.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        argv: Vec<String>,
        /// The shell begins where the agent is: that of the conversation, else the one that ran something last.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        where_agent: bool,
    }
}

params! {
    /// `session.open`. A session by its id; or of an environment the newest one that runs, which is opened where there is
    /// none. Answered when it is open.
    SessionOpen {
        /// A session, or an environment.
        what: String,
        /// Only a session is meant.
        #[serde(default)]
        session_only: bool,
        /// Open a new one in the environment.
        #[serde(default)]
        new: bool,
        /// Open none.
        #[serde(default)]
        existing: bool,
        /// Rows and columns of a new one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<[u16; 2]>,
    }
}

params! {
    /// `session.wait`. Answered when it has happened.
    SessionWait {
        /// Which session.
        session: String,
        /// Until its screen shows this; absent = until it has ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    }
}

params! {
    /// `session.capture`.
    SessionCapture {
        /// Which session.
        session: String,
        /// With what scrolled off.
        #[serde(default)]
        history: bool,
        /// With colours and attributes as escape sequences.
        #[serde(default)]
        ansi: bool,
    }
}

params! {
    /// `session.send_keys`.
    SessionSendKeys {
        /// Which session.
        session: String,
        /// Names of keys (`Enter`, `C-c`, …) or text.
        keys: Vec<String>,
        /// All is text.
        #[serde(default)]
        literal: bool,
        /// Whose agent types: refused while a person has the environment to themselves. Absent: a person types.
        #[serde(default)]
        conversation: Option<String>,
    }
}

params! {
    /// `session.kill`.
    SessionRef {
        /// Which session.
        session: String,
    }
}

params! {
    /// `reap`.
    Reap {
        /// Only say what would be done.
        #[serde(default)]
        dry_run: bool,
        /// Only about this environment, and do nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explain: Option<String>,
    }
}

params! {
    /// `events.subscribe`. The reply says how many of the notifications that follow are of the past.
    EventsSubscribe {
        /// Also what came after the event of this number, as far as it is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<u64>,
    }
}

params! {
    /// `screen.attach`.
    ScreenAttach {
        /// Rows and columns of the terminal.
        size: [u16; 2],
        /// Colours of the terminal: 0 none, 16, 256, or 16,777,216.
        colours: u32,
        /// Box drawing and other Unicode can be shown.
        unicode: bool,
        /// It only looks.
        #[serde(default)]
        read_only: bool,
        /// Show the shell of this environment first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<String>,
        /// Show this session and nothing else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// It takes `screen.copy` and `screen.edit`.
        #[serde(default)]
        texts: bool,
    }
}

params! {
    /// `screen.input`. Needs no answer.
    ScreenInput {
        /// What happened, in order.
        events: Vec<ScreenEvent>,
    }
}

/// What a terminal that shows the screen sends.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScreenEvent {
    /// A key, the mouse, focus, or another size, as crossterm writes its events.
    Terminal(crossterm::event::Event),
    /// A part of a paste: messages are bounded, pastes are not.
    Paste {
        /// The text.
        text: String,
        /// No more comes.
        last: bool,
    },
    /// It said something of itself when it was asked.
    Answer(TerminalAnswer),
    /// The last frame was written.
    Drawn,
    /// The terminal shows nothing any more: all is drawn again.
    Cleared,
    /// What `screen.copy` or `screen.edit` wished for did not come about.
    Trouble {
        /// One sentence for the person.
        text: String,
    },
}

/// `screen.copy` and `screen.edit`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ScreenText {
    /// The text.
    pub text: String,
}

/// `screen.frame`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ScreenFrame<D> {
    /// What the terminal is to be given, in base64.
    pub data: D,
}

/// Everything that may be asked for. `method` is the JSON-RPC method. Not to be logged: it carries the values of
/// variables.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "method", content = "params")]
pub enum ApiCall {
    /// The host: who, since when, what is due next.
    #[serde(rename = "status")]
    Status(Nothing),
    /// The normal end of the host. Answered when everything is in order.
    #[serde(rename = "shutdown")]
    Shutdown(Shutdown),
    /// All environments.
    #[serde(rename = "env.list")]
    EnvList(Nothing),
    /// One environment in detail.
    #[serde(rename = "env.show")]
    EnvShow(EnvRef),
    /// Make one. Answered when ready or failed.
    #[serde(rename = "env.new")]
    EnvNew(EnvNew),
    /// Start one.
    #[serde(rename = "env.start")]
    EnvStart(EnvRef),
    /// Stop one.
    #[serde(rename = "env.stop")]
    EnvStop(EnvStop),
    /// Remove one.
    #[serde(rename = "env.rm")]
    EnvRemove(EnvRemove),
    /// Remove what is left over.
    #[serde(rename = "env.prune")]
    EnvPrune(EnvPrune),
    /// Show a container that somebody else made. Answered when it is listed.
    #[serde(rename = "env.adopt")]
    EnvAdopt(EnvAdopt),
    /// Containers that could be shown.
    #[serde(rename = "env.candidates")]
    EnvCandidates(Nothing),
    /// Stop its clock.
    #[serde(rename = "env.pin")]
    EnvPin(EnvRef),
    /// Let its clock run again.
    #[serde(rename = "env.unpin")]
    EnvUnpin(EnvRef),
    /// A person has it to themselves: agents' commands wait, then are refused.
    #[serde(rename = "env.take_over")]
    EnvTakeOver(EnvRef),
    /// Agents' commands run there again.
    #[serde(rename = "env.give_back")]
    EnvGiveBack(EnvRef),
    /// Give it more time.
    #[serde(rename = "env.extend")]
    EnvExtend(EnvExtend),
    /// Give it another name.
    #[serde(rename = "env.rename")]
    EnvRename(EnvRename),
    /// All conversations.
    #[serde(rename = "conversation.list")]
    ConversationList(Nothing),
    /// One conversation with its turns.
    #[serde(rename = "conversation.show")]
    ConversationShow(ConversationRef),
    /// End one.
    #[serde(rename = "conversation.end")]
    ConversationEnd(ConversationRef),
    /// Begin a turn. Answered when its environment is ready.
    #[serde(rename = "turn.begin")]
    TurnBegin(Box<TurnBegin>),
    /// Keep the open turn's lease alive.
    #[serde(rename = "turn.touch")]
    TurnTouch(ConversationRef),
    /// End the open turn.
    #[serde(rename = "turn.end")]
    TurnEnd(TurnEnd),
    /// The turns of a conversation with their commands.
    #[serde(rename = "turn.list")]
    TurnList(ConversationRef),
    /// One turn with its commands.
    #[serde(rename = "turn.show")]
    TurnShow(TurnShow),
    /// Run a command.
    #[serde(rename = "exec.start")]
    ExecStart(Box<ExecStart>),
    /// Input for it.
    #[serde(rename = "exec.stdin")]
    ExecStdin(ExecStdin),
    /// End it.
    #[serde(rename = "exec.kill")]
    ExecKill(ExecKill),
    /// All sessions.
    #[serde(rename = "session.list")]
    SessionList(Nothing),
    /// Open one. Answered when it is open.
    #[serde(rename = "session.new")]
    SessionNew(SessionNew),
    /// The one that a name stands for, opened if there is none.
    #[serde(rename = "session.open")]
    SessionOpen(SessionOpen),
    /// Wait for its end, or for a text on its screen.
    #[serde(rename = "session.wait")]
    SessionWait(SessionWait),
    /// What a session's screen shows.
    #[serde(rename = "session.capture")]
    SessionCapture(SessionCapture),
    /// Type into a session.
    #[serde(rename = "session.send_keys")]
    SessionSendKeys(SessionSendKeys),
    /// End a session.
    #[serde(rename = "session.kill")]
    SessionKill(SessionRef),
    /// The reaper's verdicts; without `dry_run` it acts on them now.
    #[serde(rename = "reap")]
    Reap(Reap),
    /// Show the screen in a terminal; frames come as `screen.frame`, its end as `screen.left`.
    #[serde(rename = "screen.attach")]
    ScreenAttach(ScreenAttach),
    /// What that terminal sends.
    #[serde(rename = "screen.input")]
    ScreenInput(ScreenInput),
    /// Follow everything that happens.
    #[serde(rename = "events.subscribe")]
    EventsSubscribe(EventsSubscribe),
}

impl ApiCall {
    /// Reads a call from its method and parameters.
    ///
    /// # Errors
    /// There is no such method, or the parameters do not fit; with the nearest name where there is one.
    pub fn parse(method: &str, params: Option<Value>) -> Result<Self, ApiError> {
        let params = match params {
            None | Some(Value::Null) => json!({}),
            Some(params) => params,
        };
        if !params.is_object() {
            return Err(ApiError::new(
                ErrorCode::Usage,
                format!("cannot carry out `{method}`: its parameters are not an object"),
                "send \"params\": {\"name\": value, …}",
            ));
        }
        Self::deserialize(json!({"method": method, "params": params})).map_err(|error| explain(method, &error))
    }

    /// Method and parameters as they are sent.
    #[must_use]
    pub fn to_message(&self, id: u64) -> Value {
        let mut message = serde_json::to_value(self).unwrap_or_else(|_| json!({}));
        message["jsonrpc"] = json!("2.0");
        message["id"] = json!(id);
        message
    }

    /// The call as a message that wants no answer, with the end of its line.
    #[must_use]
    pub fn to_notification_line(&self) -> String {
        let call = serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned());
        format!("{{\"jsonrpc\":\"2.0\",{}\n", &call[1..])
    }
}

/// Turns what the deserialiser says into what was tried, why it failed, and the nearest name.
fn explain(method: &str, error: &serde_json::Error) -> ApiError {
    let text = error.to_string();
    let quoted: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let meant = quoted.split_first().and_then(|(word, known)| nearest(word, known.iter().copied()));
    let known = || quoted.iter().skip(1).copied().collect::<Vec<_>>().join(", ");
    let (message, otherwise) = if text.starts_with("unknown variant") && quoted.first() == Some(&method) {
        (format!("there is no method `{method}`"), format!("the methods are: {}", known()))
    } else if text.starts_with("unknown field") {
        let field = quoted.first().copied().unwrap_or_default();
        let known = if quoted.len() > 1 { format!("it takes: {}", known()) } else { "it takes none".to_owned() };
        (format!("cannot carry out `{method}`: it has no parameter `{field}`"), known)
    } else {
        (format!("cannot carry out `{method}`: {text}"), "correct the parameters and send it again".to_owned())
    };
    let hint = meant.map_or(otherwise, |meant| format!("did you mean `{meant}`?"));
    ApiError::new(ErrorCode::Usage, message, hint)
}

#[cfg(test)]
mod tests {
    use super::ApiCall;
    use serde_json::json;

    #[test]
    fn a_call_survives_the_way_through_a_message() {
        let call =
            ApiCall::parse("turn.begin", Some(json!({"conversation": "c1", "spec": {"idle_seconds": 5}}))).unwrap();
        let mut message = call.to_message(7);
        assert_eq!(message["id"], 7);
        assert_eq!(ApiCall::parse("turn.begin", Some(message["params"].take())).unwrap(), call);
    }

    #[test]
    fn a_wrong_word_is_answered_with_the_nearest() {
        let error = ApiCall::parse("env.lsit", None).unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.hint.as_str()),
            ("there is no method `env.lsit`", "did you mean `env.list`?")
        );
        let error = ApiCall::parse("env.new", Some(json!({"spec": {"idle": 5}}))).unwrap_err();
        assert!(error.message.contains("no parameter `idle`"), "{}", error.message);
        assert_eq!(error.hint, "did you mean `idle_seconds`?");
        let error = ApiCall::parse("env.list", Some(json!({"a": 1}))).unwrap_err();
        assert!(error.message.contains("no parameter `a`"), "{}", error.message);
        assert!(ApiCall::parse("env.show", Some(json!([1]))).is_err());
        assert!(ApiCall::parse("env.show", None).unwrap_err().message.contains("env"));
    }
}
