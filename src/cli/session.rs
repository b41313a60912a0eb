//! `session`: pane sessions.

use super::complete;
use super::context::Context;
use super::output::{self, Failure, Printer, Style, short, text};
use crate::api::ApiCall;
use crate::api::protocol::{Nothing, SessionCapture, SessionRef, SessionSendKeys};
use clap::{Args, Subcommand};
use serde_json::Value;
use std::io::{self, Write};

#[derive(Subcommand, Debug)]
pub(super) enum Session {
    /// All sessions
    List(List),
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
            context.show(&ApiCall::SessionSendKeys(SessionSendKeys { session, keys, literal }), |_| Ok(()))
        }
        Session::Kill(which) => {
            let name = output::plain(&which.session);
            let call = ApiCall::SessionKill(SessionRef { session: which.session });
            context.show(&call, |_| out.line(&format!("session {name} is ended")))
        }
    }
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
