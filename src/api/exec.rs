//! Commands without a PTY: how they are put together, and how their streams get to the client and back.

use super::error::{ApiError, ErrorCode};
use super::protocol::{EXEC_OUTPUT, ExecStart, ExecStdin};
use super::server::{Outgoing, Reply};
use super::shapes::reply;
use crate::backend::{ExecLink, ExecSpec};
use crate::domain::CallId;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Bytes of output in one notification.
const CHUNK: usize = 32 * 1024;
/// Silence after the end of a command after which nothing more is expected of it: a process that it left in the
/// background may hold its streams open for ever.
const LINGER: Duration = Duration::from_millis(300);
/// Time in which a killed command must be gone.
const KILL_TIME: Duration = Duration::from_secs(10);

/// Evaluates `$2` with the working directory and exported variables that the last script under the key `$1` left.
const SHELL_STATE: &str = r#"
__htui_dir="${HOME:-/tmp}/.cache/hermes-tui"
mkdir -p "$__htui_dir" 2>/dev/null && [ -w "$__htui_dir" ] || { __htui_dir=/tmp/.hermes-tui; mkdir -p "$__htui_dir"; }
__htui_state="$__htui_dir/shell-$1"
__htui_script="$2"
__htui_save() {
  __htui_code=$?
  { export -p > "$__htui_state.env.$$" && mv "$__htui_state.env.$$" "$__htui_state.env"
    pwd > "$__htui_state.cwd.$$" && mv "$__htui_state.cwd.$$" "$__htui_state.cwd"; } 2>/dev/null
  exit "$__htui_code"
}
if [ -r "$__htui_state.env" ]; then . "$__htui_state.env" 2>/dev/null; fi
if [ -r "$__htui_state.cwd" ]; then cd "$(cat "$__htui_state.cwd")" 2>/dev/null; fi
trap __htui_save EXIT
set --
eval "$__htui_script"
"#;

/// Prints the working directory that the last script under the key `$1` left.
const SHELL_CWD: &str =
    r#"cat "${HOME:-/tmp}/.cache/hermes-tui/shell-$1.cwd" 2>/dev/null || cat "/tmp/.hermes-tui/shell-$1.cwd""#;

/// bash where there is one, else the plain shell.
const BASH_OR_SH: &str =
    r#"if command -v bash >/dev/null 2>&1; then exec bash -c "$1" bash "$2" "$3"; fi; exec sh -c "$1" sh "$2" "$3""#;

/// Which stream of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExecStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a command ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecEnd {
    /// Exit code; 124 when its time ran out.
    pub exit_code: i32,
    /// One sentence for people when it did not simply end by itself.
    pub why: Option<String>,
}

/// The host's hold on a running command.
#[derive(Clone, Debug)]
pub struct ExecHandle {
    input: mpsc::Sender<(Vec<u8>, bool, Reply)>,
    kill: CancellationToken,
}

/// The other side of an [`ExecHandle`], for [`run`].
#[derive(Debug)]
pub struct ExecControl {
    input: mpsc::Receiver<(Vec<u8>, bool, Reply)>,
    kill: CancellationToken,
}

impl ExecHandle {
    /// A hold on a command that is about to run.
    #[must_use]
    pub fn new() -> (Self, ExecControl) {
        let (sender, receiver) = mpsc::channel(16);
        let kill = CancellationToken::new();
        (Self { input: sender, kill: kill.clone() }, ExecControl { input: receiver, kill })
    }

    /// Passes input on; answered when written.
    pub fn stdin(&self, params: &ExecStdin, reply: Reply) {
        let mut bytes = params.text.clone().unwrap_or_default().into_bytes();
        match params.base64.as_ref().map(|text| STANDARD.decode(text)).transpose() {
            Ok(more) => bytes.extend(more.unwrap_or_default()),
            Err(error) => {
                let message = format!("cannot pass the input on: it is not base64: {error}");
                return reply.send(Err(ApiError::new(ErrorCode::Usage, message, "send `text`, or correct `base64`")));
            }
        }
        if let Err(error) = self.input.try_send((bytes, params.eof, reply)) {
            let (why, (_, _, reply)) = match error {
                mpsc::error::TrySendError::Full(rest) => ("its earlier input is not written yet", rest),
                mpsc::error::TrySendError::Closed(rest) => ("it takes no input any more", rest),
            };
            let message = format!("cannot pass input to the command: {why}");
            reply.send(Err(ApiError::new(ErrorCode::Failed, message, "wait for the answer to each exec.stdin")));
        }
    }

    /// Ends the command.
    pub fn kill(&self) {
        self.kill.cancel();
    }
}

/// An argument vector as one line that a shell would understand.
#[must_use]
pub fn command_line(argv: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./=:,+@%^".contains(&b) || b >= 0x80)
    };
    let words: Vec<String> = argv
        .iter()
        .map(|word| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) })
        .collect();
    words.join(" ")
}

/// Names the shell state of a conversation (or of the person, without one) in an environment.
fn state_key(params: &ExecStart) -> String {
    let owner = params.conversation.as_deref().unwrap_or("");
    Sha256::digest(owner.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// What the backend is to run for a call.
#[must_use]
pub fn exec_spec(call: CallId, params: &ExecStart) -> ExecSpec {
    let argv = match &params.shell {
        None => params.argv.clone(),
        Some(script) => {
            ["sh", "-c", BASH_OR_SH, "sh", SHELL_STATE, &state_key(params), script].map(str::to_owned).to_vec()
        }
    };
    ExecSpec { call, argv, env: Vec::new(), cwd: params.cwd.clone() }
}

/// What prints the working directory after a script (`--shell`); `None` for an argument vector.
#[must_use]
pub fn cwd_argv(params: &ExecStart) -> Option<Vec<String>> {
    params.shell.as_ref()?;
    Some(["sh", "-c", SHELL_CWD, "sh", &state_key(params)].map(str::to_owned).to_vec())
}

/// The parameters of `exec.exit`. To be sent when the core knows of the end, so that whoever sees the exit and then asks
/// for the list of commands finds it there.
#[must_use]
pub fn exit_params(call: &CallId, end: &ExecEnd) -> Value {
    json!({"call": call, "exit_code": end.exit_code, "why": end.why})
}

/// Carries a running command to its end: output to the client and to `tee`, input from the handle. Ends it when its
/// time runs out, when the client is gone, or when the handle says so. A slow client slows the command.
pub async fn run(
    link: ExecLink,
    call: &CallId,
    params: &ExecStart,
    out: &Outgoing,
    control: ExecControl,
    tee: &mut (dyn FnMut(ExecStream, &[u8]) + Send),
) -> ExecEnd {
    let ExecLink { stdin, stdout, stderr, mut exit, kill } = link;
    let ended = CancellationToken::new();
    let output = forward(stdout, stderr, call, out, &ended, tee);
    let input = feed(params.stdin.then_some(stdin), control.input);
    let timer = async {
        match params.timeout_seconds {
            Some(seconds) => tokio::time::sleep(Duration::from_secs_f64(seconds.clamp(0.0, 1e9))).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(output, input, timer);
    let (mut code, mut drained) = (None, false);
    let (fixed, why) = loop {
        tokio::select! {
            status = &mut exit, if code.is_none() => {
                code = Some(status);
                ended.cancel();
            }
            () = &mut output, if !drained => drained = true,
            () = &mut input => {}
            () = &mut timer, if code.is_none() => {
                let seconds = params.timeout_seconds.unwrap_or_default();
                break (Some(124), format!("ended after its {seconds} s"));
            }
            () = control.kill.cancelled(), if code.is_none() => {
                break (None, "ended by request".to_owned());
            }
            () = out.closed() => {
                break (None, "ended because its client is gone".to_owned());
            }
        }
        if let (Some(exit_code), true) = (code, drained) {
            return ExecEnd { exit_code, why: None };
        }
    };
    let killed = async {
        kill().await;
        let status = match code {
            Some(code) => code,
            None => exit.await,
        };
        ended.cancel();
        status
    };
    // Its last words are still passed on while it goes.
    let last = async {
        if drained {
            std::future::pending::<()>().await;
        }
        (&mut output).await;
    };
    tokio::pin!(killed, last);
    let deadline = tokio::time::sleep(KILL_TIME);
    tokio::pin!(deadline);
    let (mut status, mut silent) = (None, drained);
    while status.is_none() || !silent {
        tokio::select! {
            code = &mut killed, if status.is_none() => status = Some(code),
            () = &mut last, if !silent => silent = true,
            () = &mut deadline => break,
        }
    }
    ExecEnd { exit_code: fixed.or(status).unwrap_or(137), why: Some(why) }
}

async fn forward(
    mut stdout: Box<dyn AsyncRead + Send + Unpin>,
    mut stderr: Box<dyn AsyncRead + Send + Unpin>,
    call: &CallId,
    out: &Outgoing,
    ended: &CancellationToken,
    tee: &mut (dyn FnMut(ExecStream, &[u8]) + Send),
) {
    let (mut out_buffer, mut err_buffer) = (vec![0; CHUNK], vec![0; CHUNK]);
    let (mut out_open, mut err_open) = (true, true);
    while out_open || err_open {
        let lingering = ended.is_cancelled();
        let (stream, got) = tokio::select! {
            got = stdout.read(&mut out_buffer), if out_open => (ExecStream::Stdout, got),
            got = stderr.read(&mut err_buffer), if err_open => (ExecStream::Stderr, got),
            () = ended.cancelled(), if !lingering => continue,
            () = tokio::time::sleep(LINGER), if lingering => return,
        };
        let (open, buffer, name) = match stream {
            ExecStream::Stdout => (&mut out_open, &out_buffer, "stdout"),
            ExecStream::Stderr => (&mut err_open, &err_buffer, "stderr"),
        };
        let bytes = match got {
            Ok(0) | Err(_) => {
                *open = false;
                continue;
            }
            Ok(length) => &buffer[..length],
        };
        tee(stream, bytes);
        let params = match std::str::from_utf8(bytes) {
            Ok(text) => json!({"call": call, "stream": name, "text": text}),
            Err(_) => json!({"call": call, "stream": name, "base64": STANDARD.encode(bytes)}),
        };
        // A client that is gone ends the command; what it still says goes to the tee.
        out.send(EXEC_OUTPUT, &params).await;
    }
}

/// Writes input as it comes. Never resolves, so that it can stand in a `select!`.
async fn feed(
    mut stdin: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    mut input: mpsc::Receiver<(Vec<u8>, bool, Reply)>,
) {
    while let Some((bytes, eof, answer)) = input.recv().await {
        let written = match stdin.as_mut() {
            None => Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe)),
            Some(stdin) => match stdin.write_all(&bytes).await {
                Ok(()) => stdin.flush().await,
                Err(error) => Err(error),
            },
        };
        if eof || written.is_err() {
            stdin = None;
        }
        answer.send(match written {
            Ok(()) => Ok(reply(json!({"written": bytes.len()}))),
            Err(error) => Err(ApiError::new(
                ErrorCode::Failed,
                format!("cannot pass input to the command: {error}"),
                "it takes no input any more",
            )),
        });
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use super::{command_line, exec_spec};
    use crate::api::protocol::ExecStart;
    use crate::domain::CallId;
    use std::process::Command;

    #[test]
    fn an_argument_vector_reads_as_a_shell_would_take_it() {
        let argv = ["echo", "a b", "it's", "", "x=1"].map(str::to_owned);
        assert_eq!(command_line(&argv), r"echo 'a b' 'it'\''s' '' x=1");
    }

    #[test]
    fn a_script_finds_directory_and_exported_variables_of_the_one_before() {
        let home = tempfile::tempdir().unwrap();
        let run = |script: &str| {
            let params = ExecStart {
                conversation: Some("c".to_owned()),
                shell: Some(script.to_owned()),
                ..ExecStart::default()
            };
            let argv = exec_spec(CallId::new("x"), &params).argv;
            let output =
                Command::new(&argv[0]).args(&argv[1..]).env("HOME", home.path()).current_dir("/").output().unwrap();
            (String::from_utf8(output.stdout).unwrap(), output.status.code())
        };
        assert_eq!(run("cd /usr; export A='x  y'; B=lost; exit 3"), (String::new(), Some(3)));
        assert_eq!(run("echo \"$PWD|$A|$B|$#\"; false"), ("/usr|x  y||0\n".to_owned(), Some(1)));
    }
}
