//! `session`: pane sessions.

use super::attach;
use super::complete;
use super::context::Context;
use super::output::{self, Failure, Printer, Style, short, text};
use super::spec::seconds;
use crate::api::protocol::{Nothing, SessionCapture, SessionNew, SessionRef, SessionSendKeys, SessionWait};
use crate::api::{ApiCall, ApiError, ErrorCode};
use clap::{Args, Subcommand};
use serde_json::Value;
use std::io::{self, Write};
use std::time::Duration;

/// What was waited for did not happen in time, as `timeout` and `exec` have it.
const TIMED_OUT: u8 = 124;

#[derive(Subcommand, Debug)]
pub(super) enum Session {
    /// All sessions
    List(List),
    /// Open a session; starts the environment if it must, and waits until it runs
    New(New),
    /// Show a session in this terminal, and nothing else
    Attach(attach::AttachSession),
    /// Wait until a session has ended, or until its screen shows a text
    Wait(Wait),
    /// Print what a session's screen shows
    Capture(Capture),
    /// Type into a session: names of keys (Enter, C-c, Up, F5) or text
    SendKeys(SendKeys),
    /// End a session and every process of it
    Kill(Which),
}

#[derive(Args, Debug)]
pub(super) struct List {
    /// Only ids, one a line
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Args, Debug)]
pub(super) struct Which {
    /// Its id, or the beginning of it
    #[arg(add = complete::session())]
    session: String,
}

#[derive(Args, Debug)]
pub(super) struct New {
    /// Environment: name, endpoint/name, or the beginning of its id
    #[arg(add = complete::environment())]
    env: String,
    /// The conversation that it belongs to
    #[arg(long, value_name = "ID", add = complete::conversation())]
    conversation: Option<String>,
    /// Begin where the agent is: in its last directory, with the variables that it exported
    #[arg(long, conflicts_with = "argv")]
    where_agent: bool,
    /// Program and arguments; none means a shell
    #[arg(last = true, value_name = "CMD")]
    argv: Vec<String>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "The exit code is 0 when it has happened, 124 when the time ran out, 1 when it cannot happen any more. \
                        The exit code of the session's program is in the output."
)]
pub(super) struct Wait {
    /// Its id, or the beginning of it
    #[arg(add = complete::session())]
    session: String,
    /// Until it has ended (the default)
    #[arg(long, conflicts_with = "text")]
    exit: bool,
    /// Until its screen shows this text
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    text: Option<String>,
    /// No longer than this
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<f64>,
}

#[derive(Args, Debug)]
pub(super) struct Capture {
    /// Its id, or the beginning of it
    #[arg(add = complete::session())]
    session: String,
    /// With what scrolled off the top
    #[arg(long)]
    history: bool,
    /// With colours and attributes
    #[arg(long)]
    ansi: bool,
}

#[derive(Args, Debug)]
pub(super) struct SendKeys {
    /// Its id, or the beginning of it
    #[arg(add = complete::session())]
    session: String,
    /// All of it is text, also the names of keys
    #[arg(long, short)]
    literal: bool,
    /// Keys and text, in order
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    keys: Vec<String>,
}

pub(super) fn run(context: &Context, verb: Session) -> Result<u8, Failure> {
    let out = Printer::new();
    match verb {
        Session::List(List { quiet }) => context.show(&ApiCall::SessionList(Nothing {}), |reply| {
            if quiet { out.ids(&reply["sessions"], "id") } else { list(&out, reply) }
        }),
        Session::New(New { env, conversation, where_agent, argv }) => {
            context.show(&ApiCall::SessionNew(SessionNew { env, conversation, argv, where_agent }), |reply| {
                let id = text(&reply["session"], "id");
                out.line(&format!("session {id} is open: `hermes-tui attach {id}` shows it"))
            })
        }
        Session::Attach(attach) => attach::session(context, attach),
        Session::Wait(wait) => wait_for(context, &out, wait),
        Session::Capture(capture) => {
            let Capture { session, history, ansi } = capture;
            context.show(&ApiCall::SessionCapture(SessionCapture { session, history, ansi }), |reply| {
                let screen = reply["text"].as_str().unwrap_or_default();
                let mut stdout = io::stdout().lock();
                stdout.write_all(screen.as_bytes())?;
                if !screen.ends_with('\n') {
                    stdout.write_all(b"\n")?;
                }
                stdout.flush()?;
                Ok(())
            })
        }
        Session::SendKeys(send) => {
            let SendKeys { session, literal, keys } = send;
            context
                .show(&ApiCall::SessionSendKeys(SessionSendKeys { session, keys, literal, conversation: None }), |_| {
                    Ok(())
                })
        }
        Session::Kill(which) => {
            let name = output::plain(&which.session);
            let call = ApiCall::SessionKill(SessionRef { session: which.session });
            context.show(&call, |_| out.line(&format!("session {name} is ended")))
        }
    }
}

fn wait_for(context: &Context, out: &Printer, wait: Wait) -> Result<u8, Failure> {
    let Wait { session, text: wanted, timeout, exit: _ } = wait;
    let what = match &wanted {
        Some(text) => format!("its screen to show `{}`", text.escape_debug()),
        None => "its end".to_owned(),
    };
    let name = output::plain(&session);
    let call = ApiCall::SessionWait(SessionWait { session, text: wanted });
    let reply = context.wait(async {
        let mut host = context.host().await?;
        let answer = host.call(&call);
        let Some(limit) = timeout else { return Ok(answer.await?) };
        tokio::time::timeout(Duration::try_from_secs_f64(limit).unwrap_or(Duration::MAX), answer).await.map_or_else(
            |_| {
                let message = format!("waited {limit} s in vain for session {name}: {what}");
                let hint = format!("`hermes-tui session capture {name}` prints what it shows now");
                Err(Failure::Exit(TIMED_OUT, ApiError::new(ErrorCode::TimedOut, message, hint)))
            },
            |answer| Ok(answer?),
        )
    })?;
    if context.json {
        output::print_json(&reply)?;
    } else if let Some(line) = reply["line"].as_str() {
        out.line(&format!("session {name} shows: {}", output::plain(line).trim()))?;
    } else {
        let code = reply["exit_code"].as_i64().map(|code| format!(" with exit code {code}"));
        let why = text(&reply["session"], "why");
        let how = code.unwrap_or_else(|| if why.is_empty() { String::new() } else { format!(": {why}") });
        out.line(&format!("session {} has ended{how}", text(&reply, "ended")))?;
    }
    Ok(0)
}

fn list(out: &Printer, reply: &Value) -> Result<(), Failure> {
    let rows: Vec<Vec<(String, Style)>> = reply["sessions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|session| {
            let state = match (text(session, "state").as_str(), session["exit_code"].as_i64()) {
                ("running", _) => ("running".to_owned(), Style::Green),
                (state, Some(code)) => (format!("{state} {code}"), Style::Dim),
                (state, None) => (state.to_owned(), Style::Dim),
            };
            let program: Vec<String> = session["program"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|word| word.as_str().map(output::plain))
                .collect();
            let size = format!("{}x{}", session["size"][1], session["size"][0]);
            vec![
                (text(session, "id"), Style::Bold),
                (short(&text(session, "environment")), Style::Dim),
                (text(session, "conversation"), Style::Plain),
                state,
                (size, Style::Plain),
                (text(session, "attached"), Style::Plain),
                (if program.is_empty() { "shell".to_owned() } else { program.join(" ") }, Style::Plain),
            ]
        })
        .collect();
    out.table(
        &["SESSION", "ENVIRONMENT", "CONVERSATION", "STATE", "SIZE", "PANES", "PROGRAM"],
        &rows,
        "no sessions: a turn opens one, and so does a pane",
    )
}
