//! Commands that run in a sandbox without a PTY: their streams go to whoever began them and to the feed.

use super::effects::LOOK;
use super::inbound::{Inbound, Inbox};
use super::lanes::Lane;
use crate::app::{Msg, Stream};
use crate::backend::{Backend, ExecLink, ExecSpec};
use crate::domain::{CallId, CallSource, ConversationId, EnvId, Refusal, Request, SandboxId, State};
use futures_util::FutureExt;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Where commands run when nothing else is said.
pub const WORKSPACE: &str = "/workspace";
/// Exit code when the time given has run out.
pub const TIMED_OUT: i32 = 124;
/// Exit code when it could not be run by our failure.
pub const OUR_FAILURE: i32 = 125;
/// What a command that was told to end ends with (128 + TERM, as a shell says).
const TERMINATED: i32 = 143;
/// What one that did not end when it was told is said to have ended with (128 + KILL).
const KILLED: i32 = 137;
/// A child in the background may hold the streams for ever after the command ended: this much silence is the end,
const SILENCE: Duration = Duration::from_millis(250);
/// and so is this much output: no pipe holds that much, a child that prints on does.
const LAST_BYTES: usize = 16 * 1024 * 1024;
/// How long a command that was told to end is waited for; a backend sends KILL before.
const KILL: Duration = Duration::from_secs(15);

/// What to run.
#[derive(Clone, Debug, PartialEq)]
pub enum Program {
    /// An argument vector.
    Argv(Vec<String>),
    /// A script, evaluated in the conversation's own shell state.
    Shell(String),
}

impl Program {
    /// As one line for people.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Argv(argv) => argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" "),
            Self::Shell(script) => script.clone(),
        }
    }
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A command that somebody runs and follows.
pub struct ExecRequest {
    /// Fresh id.
    pub call: CallId,
    /// Where, or
    pub env: Option<EnvId>,
    /// whose.
    pub conversation: Option<ConversationId>,
    /// What.
    pub program: Program,
    /// A script leaves the conversation's shell state as it finds it.
    pub aside: bool,
    /// What it is listed as instead of its words. Its streams are then data, which nobody but whoever runs it is given.
    pub label: Option<String>,
    /// Directory inside.
    pub cwd: Option<String>,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Its input; closing the sender is end of file.
    pub stdin: mpsc::Receiver<Vec<u8>>,
    /// What becomes of it. When the receiver is dropped, the command is ended.
    pub events: mpsc::Sender<ExecEvent>,
    /// Ends the command; its exit is still told.
    pub kill: CancellationToken,
}

/// What becomes of a command.
#[derive(Debug)]
pub enum ExecEvent {
    /// It will not run.
    Refused(Refusal),
    /// It runs.
    Started,
    /// It printed this.
    Output(Stream, Vec<u8>),
    /// It ended.
    Ended {
        /// Exit code.
        code: i32,
        /// A sentence when we ended it or could not run it.
        note: Option<String>,
        /// Where the conversation's shell stands now, if it was a script of it.
        cwd: Option<String>,
    },
}

/// Commands that wait for their sandbox, and where each conversation's shell state stands.
#[derive(Default)]
pub struct Calls {
    waiting: BTreeMap<CallId, ExecRequest>,
    /// Told when the core says that they are over.
    running: BTreeMap<CallId, CancellationToken>,
    directories: BTreeMap<ConversationId, String>,
}

impl Calls {
    /// Keeps a command until its sandbox is ready; gives the request for the core.
    pub fn begin(&mut self, request: ExecRequest) -> Request {
        let shell = matches!(request.program, Program::Shell(_));
        let known = request.conversation.as_ref().filter(|_| shell).and_then(|c| self.directories.get(c));
        let begin = Request::BeginCall {
            call: request.call.clone(),
            env: request.env.clone(),
            conversation: request.conversation.clone(),
            command: request.label.clone().unwrap_or_else(|| request.program.text()),
            cwd: request.cwd.clone().or_else(|| known.cloned()).or_else(|| Some(WORKSPACE.to_owned())),
            source: if shell { CallSource::Shell } else { CallSource::Exec },
        };
        self.waiting.insert(request.call.clone(), request);
        begin
    }

    /// The sandbox is ready: hands the command out, and what says that the core counts it as over.
    pub fn start(&mut self, call: &CallId) -> Option<(ExecRequest, CancellationToken)> {
        let request = self.waiting.remove(call)?;
        let over = CancellationToken::new();
        self.running.insert(call.clone(), over.clone());
        Some((request, over))
    }

    /// The core will not have it.
    pub fn refused(&mut self, call: &CallId, refusal: Refusal) {
        if let Some(request) = self.waiting.remove(call) {
            let _ = request.events.try_send(ExecEvent::Refused(refusal));
        }
    }

    /// One ended: remembers where the conversation's shell stands.
    pub fn ended(&mut self, call: &CallId, cwd: Option<&str>, state: &State) {
        let conversation = state.calls.get(call).and_then(|c| c.conversation.clone());
        if let (Some(conversation), Some(cwd)) = (conversation, cwd) {
            self.directories.insert(conversation, cwd.to_owned());
        }
        if let Some(over) = self.running.remove(call) {
            over.cancel();
        }
        // The core ended it before it ran: whoever waits must learn it.
        if let Some(request) = self.waiting.remove(call) {
            let note = Some("its sandbox ended before it ran".to_owned());
            let _ = request.events.try_send(ExecEvent::Ended { code: OUR_FAILURE, note, cwd: None });
        }
    }
}

/// Keeps a conversation's working directory and exported variables between `--shell` commands, also over a stop of the
/// sandbox: in its home. `$1` is the name of the state, `$2` the script. A trap saves, so that `exit` in a script does
/// not lose the state. Images may lack mv(1) and cat(1). What is no file is not read: nothing may ever come of it.
const SHELL_STATE: &str = r#"
__htui_dir="${HOME:-/tmp}/.cache/hermes-tui"; mkdir -p "$__htui_dir" 2>/dev/null; [ -w "$__htui_dir" ] || __htui_dir=/tmp
__htui_state="$__htui_dir/$1"; __htui_script=$2; set --
[ -f "$__htui_state" ] && [ -r "$__htui_state" ] && . "$__htui_state" >/dev/null 2>&1
if [ -f "$__htui_state.cwd" ] && [ -r "$__htui_state.cwd" ]; then
  __htui_cwd=$(cat "$__htui_state.cwd" 2>/dev/null) || IFS= read -r __htui_cwd < "$__htui_state.cwd"
  cd -- "$__htui_cwd" 2>/dev/null
fi
unset __htui_cwd
__htui_save() {
  __htui_code=$?
  ( umask 077
    export -p > "$__htui_state.new" && { mv -f "$__htui_state.new" "$__htui_state" || export -p > "$__htui_state"; } &&
    pwd > "$__htui_state.cwd.new" && { mv -f "$__htui_state.cwd.new" "$__htui_state.cwd" || pwd > "$__htui_state.cwd"; }
  ) 2>/dev/null || printf '%s\n' 'hermes-tui: directory and variables could not be kept for the next command' >&2
  exit "$__htui_code"
}
trap __htui_save EXIT
eval "$__htui_script"
"#;

/// Before a script of which nothing is kept.
const SHELL_STATE_ASIDE: &str = "trap - EXIT\n";

/// Prints the working directory of the state `$1`. There may be no cat(1).
pub const SHELL_DIRECTORY: &str = r#"
for file in "${HOME:-/tmp}/.cache/hermes-tui/$1.cwd" "/tmp/$1.cwd"; do
  [ -f "$file" ] && [ -r "$file" ] || continue
  while IFS= read -r line; do printf '%s\n' "$line"; done < "$file"
  exit 0
done
exit 1
"#;

/// bash where there is one, else the plain shell.
const SHELL_FOUND: &str = r#"if command -v bash >/dev/null 2>&1; then exec bash -c "$1" bash "$2" "$3"; else exec sh -c "$1" sh "$2" "$3"; fi"#;

/// The name of the file that keeps a conversation's shell state.
pub(super) fn state_file(conversation: Option<&ConversationId>) -> String {
    use sha2::{Digest, Sha256};
    let name = conversation.map_or("", ConversationId::as_str);
    let hash: String = Sha256::digest(name.as_bytes()).iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("shell-{hash}")
}

fn argv(request: &ExecRequest) -> Vec<String> {
    match &request.program {
        Program::Argv(argv) => argv.clone(),
        Program::Shell(script) => {
            let state = state_file(request.conversation.as_ref());
            let before = if request.aside { SHELL_STATE_ASIDE } else { "" };
            let script = format!("{before}{script}");
            ["/bin/sh", "-c", SHELL_FOUND, "sh", SHELL_STATE, &state, &script].map(str::to_owned).to_vec()
        }
    }
}

/// Where a command runs.
pub struct Place {
    /// The backend.
    pub backend: Arc<dyn Backend>,
    /// The sandbox.
    pub sandbox: SandboxId,
    /// Variables beside those of the sandbox.
    pub variables: Vec<(String, String)>,
    /// Where its output and its end are told.
    pub inbox: Inbox,
}

/// Why a command is ended by us: its exit code and a sentence. Without a code, its own counts.
#[derive(Debug)]
struct GivenUp {
    code: Option<i32>,
    note: &'static str,
}

/// What can end a command beside itself.
struct Limits {
    kill: CancellationToken,
    over: CancellationToken,
    events: mpsc::Sender<ExecEvent>,
    until: Option<Instant>,
}

impl Limits {
    /// Resolves when the command is to be ended, and says why.
    async fn reached(&self) -> GivenUp {
        let limit = async {
            match self.until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.over.cancelled() => SANDBOX_OVER,
            () = self.kill.cancelled() => GivenUp { code: None, note: "it was ended before it ran" },
            () = self.events.closed() => {
                GivenUp { code: Some(OUR_FAILURE), note: "whoever ran it went away" }
            }
            () = limit => GivenUp { code: Some(TIMED_OUT), note: "it ran longer than it may and was ended" },
        }
    }
}

const SANDBOX_OVER: GivenUp = GivenUp { code: Some(OUR_FAILURE), note: "its sandbox ended" };

/// Runs a command to its end and reports it to the core. `over` says that the core counts it as ended.
pub async fn run(place: Place, request: ExecRequest, over: CancellationToken) {
    let busy = place.inbox.outstanding();
    let call = request.call.clone();
    let events = request.events.clone();
    let timeout = request.timeout;
    let limits = Limits {
        kill: request.kill.clone(),
        over,
        events: events.clone(),
        until: timeout.and_then(|limit| Instant::now().checked_add(limit)),
    };
    let lane = place.inbox.lane();
    let (code, note, cwd) = match start(&place, &request, &limits).await {
        Ok(link) => {
            let shell = matches!(request.program, Program::Shell(_)) && !request.aside;
            let shell = shell.then(|| state_file(request.conversation.as_ref()));
            let (code, note) = follow(link, request, &limits, &lane).await;
            let ours = note.is_some() || limits.over.is_cancelled();
            let cwd = match shell.filter(|_| !ours) {
                Some(state) => directory_after(&place, &call, &state).await,
                None => None,
            };
            (code, note, cwd)
        }
        Err((code, note)) => (code, Some(note), None),
    };
    let note = match timeout {
        Some(limit) if code == TIMED_OUT && note.is_some() => {
            Some(format!("it ran longer than {} s and was ended", limit.as_secs_f64()))
        }
        _ => note,
    };
    let (known, taken_in) = oneshot::channel();
    lane.send(Inbound::CallOver { call, exit_code: code, cwd: cwd.clone(), known }).await;
    let ended = match taken_in.await {
        Ok(Some(written)) if written != code => {
            ExecEvent::Ended { code: written, note: Some(SANDBOX_OVER.note.to_owned()), cwd }
        }
        _ => ExecEvent::Ended { code, note, cwd },
    };
    let _ = events.send(ended).await;
    drop(busy);
}

/// Has the backend start it, unless it is given up before. One that starts too late is ended.
async fn start(place: &Place, request: &ExecRequest, limits: &Limits) -> Result<ExecLink, (i32, String)> {
    let given_up = |why: GivenUp| Err((why.code.unwrap_or(TERMINATED), why.note.to_owned()));
    if let Some(why) = limits.reached().now_or_never() {
        return given_up(why);
    }
    let spec = ExecSpec {
        call: request.call.clone(),
        argv: argv(request),
        env: place.variables.clone(),
        cwd: request.cwd.clone(),
    };
    let (backend, sandbox) = (place.backend.clone(), place.sandbox.clone());
    let mut starting = tokio::spawn(async move { backend.exec(sandbox, spec).await });
    tokio::select! {
        started = &mut starting => match started {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(e)) if e.hint.is_empty() => Err((OUR_FAILURE, e.message)),
            Ok(Err(e)) => Err((OUR_FAILURE, format!("{}; {}", e.message, e.hint))),
            Err(e) => Err((OUR_FAILURE, format!("starting it failed: {e}"))),
        },
        why = async {
            tokio::select! {
                why = limits.reached() => why,
                () = tokio::time::sleep(LOOK) => {
                    GivenUp { code: Some(OUR_FAILURE), note: "its backend did not start it in time; try again" }
                }
            }
        } => {
            tokio::spawn(async move {
                if let Ok(Ok(link)) = starting.await {
                    (link.kill)().await;
                }
            });
            given_up(why)
        }
    }
}

async fn follow(mut link: ExecLink, request: ExecRequest, limits: &Limits, lane: &Lane) -> (i32, Option<String>) {
    let ExecRequest { call, stdin, events, label, .. } = request;
    let feed = label.is_none().then_some(lane);
    let _ = events.send(ExecEvent::Started).await;
    let input = tokio::spawn(feed_input(link.stdin, stdin));
    let ended = CancellationToken::new();
    let out = forward(&mut link.stdout, Stream::Out, &call, &events, feed, &ended);
    let err = forward(&mut link.stderr, Stream::Err, &call, &events, feed, &ended);
    let streams = async { tokio::join!(out, err) };
    tokio::pin!(streams);
    let reached = limits.reached();
    tokio::pin!(reached);
    let mut streams_done = false;
    let mut why: Option<GivenUp> = None;
    let mut patience = None;
    let code = loop {
        let unending = async {
            match patience {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            code = &mut link.exit => break code,
            _ = &mut streams, if !streams_done => streams_done = true,
            reason = &mut reached, if why.is_none() => {
                why = Some(reason);
                patience = Some(Instant::now() + KILL);
                // Beside this loop: what it prints while it ends is still read.
                tokio::spawn((link.kill)());
            }
            () = unending => break KILLED,
        }
    };
    ended.cancel();
    if !streams_done {
        streams.await;
    }
    input.abort();
    match why {
        Some(GivenUp { code: Some(code), note }) => (code, Some(note.to_owned())),
        Some(GivenUp { code: None, .. }) | None => (code, None),
    }
}

async fn feed_input(mut to: Box<dyn tokio::io::AsyncWrite + Send + Unpin>, mut from: mpsc::Receiver<Vec<u8>>) {
    while let Some(bytes) = from.recv().await {
        if to.write_all(&bytes).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

async fn forward(
    from: &mut (dyn AsyncRead + Send + Unpin),
    stream: Stream,
    call: &CallId,
    events: &mpsc::Sender<ExecEvent>,
    feed: Option<&Lane>,
    ended: &CancellationToken,
) {
    let mut buffer = vec![0; 32 * 1024];
    let mut left = LAST_BYTES;
    loop {
        let silence = async {
            ended.cancelled().await;
            tokio::time::sleep(SILENCE).await;
        };
        let n = tokio::select! {
            read = from.read(&mut buffer) => read.unwrap_or(0),
            () = silence => 0,
        };
        if ended.is_cancelled() {
            left = left.saturating_sub(n);
        }
        if n == 0 || left == 0 {
            return;
        }
        let bytes = buffer[..n].to_vec();
        if let Some(feed) = feed {
            feed.send(Inbound::Msg(Msg::CallOutput { call: call.clone(), stream, bytes: bytes.clone() })).await;
        }
        // When nobody listens any more the command is being ended; its pipe is emptied until then.
        let _ = events.send(ExecEvent::Output(stream, bytes)).await;
    }
}

async fn directory_after(place: &Place, call: &CallId, state: &str) -> Option<String> {
    let argv = ["/bin/sh", "-c", SHELL_DIRECTORY, "sh", state].map(str::to_owned).to_vec();
    let spec = ExecSpec { call: call.clone(), argv, env: place.variables.clone(), cwd: Some("/".to_owned()) };
    let read = async {
        let mut link = place.backend.exec(place.sandbox.clone(), spec).await.ok()?;
        drop(link.stdin);
        let mut text = String::new();
        let _ = (&mut link.stdout).take(4096).read_to_string(&mut text).await;
        (link.exit.await == 0 && text.starts_with('/')).then(|| text.trim_end_matches('\n').to_owned())
    };
    tokio::time::timeout(Duration::from_secs(2), read).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_could_be_typed() {
        let text = |words: &[&str]| Program::Argv(words.iter().map(|w| (*w).to_owned()).collect()).text();
        assert_eq!(text(&["ls", "-la", "src"]), "ls -la src");
        assert_eq!(text(&["echo", "it's", ""]), r"echo 'it'\''s' ''");
    }
}
