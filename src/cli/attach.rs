//! `attach`: one session in this terminal, and nothing else.

use super::complete;
use super::context::Context;
use super::host::needs_terminal;
use super::output::{self, Failure, print_json, text};
use crate::api::client::Client;
use crate::api::protocol::SessionOpen;
use crate::api::show::{self, Left, What};
use crate::api::{ApiCall, ApiError, ErrorCode};
use crate::runtime::{panics, terminal};
use clap::Args;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::time::Duration;

/// Our own failure, as `docker attach` and `exec` have it.
const OUR_FAILURE: u8 = 125;
/// What takes longer than this is said.
const SLOW: Duration = Duration::from_millis(300);

/// What is said of leaving and of exit codes.
const MORE: &str = "The leader and d (Ctrl+B d unless configured) detach: the session runs on. The leader twice sends \
    the leader; with [ comes copy mode, with ] what was copied.\n\nThe exit code is the program's own when it ends, 0 \
    after detaching, 125 when it is our failure.";

#[derive(Args, Debug)]
#[command(after_help = MORE)]
pub(super) struct Attach {
    /// Environment (its newest session, or a new shell) or session: name, endpoint/name, or the beginning of its id
    #[arg(value_name = "ENV|SESSION", add = complete::environment())]
    what: String,
    /// Always open a new shell in the environment
    #[arg(long, conflicts_with = "read_only")]
    new: bool,
    /// Only look: no key reaches the program
    #[arg(long)]
    read_only: bool,
}

#[derive(Args, Debug)]
#[command(after_help = MORE)]
pub(super) struct AttachSession {
    /// Its id, or the beginning of it
    #[arg(add = complete::session())]
    session: String,
    /// Only look: no key reaches the program
    #[arg(long)]
    read_only: bool,
}

/// `attach`.
pub(super) fn run(context: &Context, attach: Attach) -> Result<u8, Failure> {
    let Attach { what, new, read_only } = attach;
    attached(context, SessionOpen { what, new, existing: read_only, ..SessionOpen::default() }, read_only)
}

/// `session attach`.
pub(super) fn session(context: &Context, attach: AttachSession) -> Result<u8, Failure> {
    let AttachSession { session, read_only } = attach;
    attached(context, SessionOpen { what: session, session_only: true, ..SessionOpen::default() }, read_only)
}

fn attached(context: &Context, open: SessionOpen, read_only: bool) -> Result<u8, Failure> {
    needs_terminal("attach", "run it in a terminal; `hermes-tui session send-keys` and `capture` need none")?;
    panics::set_hook();
    let size = terminal::size();
    let open = SessionOpen { size: Some([size.rows, size.cols]), ..open };
    let outcome = context.wait(async {
        let mut host = context.host().await?;
        let found = opened(&mut host, open).await?;
        let id = text(&found["session"], "id");
        let left = show::show(host, read_only, What::Session(id.clone()), context.copy_command()).await?;
        Ok((id, left))
    });
    match outcome {
        Ok((id, left)) => report(context, &id, left),
        // Wrong words stay a usage error; all else is ours to answer for, not the program's.
        Err(Failure::Error(error)) if error.code != ErrorCode::Usage => Err(Failure::Exit(OUR_FAILURE, error)),
        Err(failure) => Err(failure),
    }
}

/// Waits until the session is open; says so when that takes its time.
async fn opened(host: &mut Client, open: SessionOpen) -> Result<Value, ApiError> {
    let slow = format!("starting {} …\n", output::plain(&open.what));
    let call = ApiCall::SessionOpen(open);
    let answer = host.call(&call);
    tokio::pin!(answer);
    tokio::select! {
        answer = &mut answer => return answer,
        () = tokio::time::sleep(SLOW) => {
            let _ = io::stderr().write_all(slow.as_bytes());
        }
    }
    answer.await
}

fn report(context: &Context, id: &str, left: Left) -> Result<u8, Failure> {
    let detached = matches!(left, Left::Detached | Left::Gone);
    let (code, said) = match left {
        Left::Detached => {
            (Some(0), format!("[detached: the session runs on; `hermes-tui attach {id}` shows it again]"))
        }
        Left::Gone => return Ok(0),
        Left::SessionOver { exit_code: Some(code), .. } => (Some(code), format!("[ended with exit code {code}]")),
        Left::SessionOver { exit_code: None, why } => return Err(over(id, &why)),
        Left::HostEnded => {
            let hint = format!("where its environment was kept running, `hermes-tui attach {id}` shows it again");
            let error = ApiError::new(ErrorCode::Failed, "the host has ended", hint);
            return Err(Failure::Exit(OUR_FAILURE, error));
        }
    };
    let code = code.unwrap_or_default();
    if context.json {
        let exit_code = (!detached).then_some(code);
        print_json(&json!({"schema": 1, "session": id, "detached": detached, "exit_code": exit_code}))?;
    } else {
        terminal::say(said);
    }
    // The system keeps eight bits of an exit code.
    Ok(code.to_le_bytes()[0])
}

fn over(id: &str, why: &str) -> Failure {
    let message = format!("session {id} is over: {}", output::plain(why));
    let hint = format!("`hermes-tui session capture {id} --history` prints what it showed last");
    Failure::Exit(OUR_FAILURE, ApiError::new(ErrorCode::Failed, message, hint))
}
