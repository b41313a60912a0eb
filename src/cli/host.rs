//! The host itself: the screen, `serve`, `status`, `shutdown`.

use super::complete;
use super::context::Context;
use super::output::{self, Failure, Printer, Style, clock, print_json, seconds_until, text};
use crate::api::host;
use crate::api::protocol::{self, Nothing};
use crate::api::show::{self, Left, What};
use crate::api::start;
use crate::api::{ApiCall, ApiError, ErrorCode};
use crate::runtime::options::{HostError, HostOptions};
use crate::runtime::owner::Owner;
use crate::runtime::{panics, terminal};

use clap::Args;
use serde_json::{Value, json};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Time that a host which said that it ends has for its last deeds.
const GONE_TIME: Duration = Duration::from_secs(10);

const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How the screen is shown.
#[derive(Args, Debug)]
pub(super) struct Screen {
    /// Keep the host in this process: it ends with the screen
    #[arg(long)]
    pub(super) foreground: bool,
    /// Only look: no key reaches a program, nothing is changed
    #[arg(long, conflicts_with = "foreground")]
    pub(super) read_only: bool,
}

#[derive(Args, Debug)]
pub(super) struct Open {
    /// Environment: name, endpoint/name, or the beginning of its id
    #[arg(add = complete::environment())]
    env: String,
    /// Only look: no key reaches a program, nothing is changed
    #[arg(long)]
    read_only: bool,
}

#[derive(Args, Debug)]
pub(super) struct Serve {
    /// Leave this terminal's session first (set when a command starts a host)
    #[arg(long, hide = true)]
    detached: bool,
}

#[derive(Args, Debug)]
pub(super) struct Shutdown {
    /// Leave every environment running
    #[arg(long)]
    keep: bool,
}

fn options(context: &Context, screen: bool, leaves: bool) -> Result<HostOptions, Failure> {
    let paths = context.paths()?;
    let config = context.config(&paths)?;
    start::make_folders(&paths)?;
    Ok(HostOptions { paths, config, endpoint: context.endpoint.clone(), screen, leaves })
}

fn ended(outcome: Result<(), HostError>) -> Result<u8, Failure> {
    outcome.map(|()| 0).map_err(|error| {
        Failure::Exit(error.exit_code, ApiError::new(ErrorCode::of_exit(error.exit_code), error.message, error.hint))
    })
}

/// Whether there is a terminal to show anything in.
pub(super) fn needs_terminal(what: &str, otherwise: &str) -> Result<(), ApiError> {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return Ok(());
    }
    let message = format!("cannot {what}: standard input and output are not a terminal");
    Err(ApiError::new(ErrorCode::Usage, message, otherwise))
}

/// `hermes-tui` without a verb.
pub(super) fn screen(context: &Context, how: &Screen) -> Result<u8, Failure> {
    needs_terminal("open the screen", "run it in a terminal, or use a verb: `hermes-tui --help` lists them")?;
    if how.foreground {
        return ended(host::run(&options(context, true, false)?));
    }
    show_screen(context, how.read_only, What::Screen)
}

/// `hermes-tui open ENV`.
pub(super) fn open(context: &Context, open: Open) -> Result<u8, Failure> {
    let hint = format!("run it in a terminal, or see `hermes-tui env show {}`", output::plain(&open.env));
    needs_terminal("open the screen", &hint)?;
    show_screen(context, open.read_only, What::Environment(open.env))
}

fn show_screen(context: &Context, read_only: bool, what: What) -> Result<u8, Failure> {
    panics::set_hook();
    let left = context
        .wait(async { Ok(show::show(context.host().await?, read_only, what, context.copy_command()).await?) })?;
    match left {
        Left::Detached => {
            let how = "`hermes-tui` shows it again, `hermes-tui shutdown` ends it";
            terminal::say(format!("[detached: everything runs on; {how}]"));
        }
        Left::HostEnded => terminal::say("[the host has ended]".to_owned()),
        Left::SessionOver { .. } | Left::Gone => {}
    }
    Ok(0)
}

pub(super) fn serve(context: &Context, serve: &Serve) -> Result<u8, Failure> {
    if serve.detached {
        // Fails only for the leader of a process group, which is not in the way of any terminal then.
        let _ = nix::unistd::setsid();
    }
    ended(host::run(&options(context, false, serve.detached)?))
}

pub(super) fn status(context: &Context) -> Result<u8, Failure> {
    let reply = context.wait(async { Ok(context.running_host().await?.call(&ApiCall::Status(Nothing {})).await?) })?;
    if context.json {
        print_json(&reply)?;
    } else {
        print_status(&Printer::new(), &reply)?;
    }
    Ok(0)
}

fn print_status(out: &Printer, status: &Value) -> Result<(), Failure> {
    let environments = &status["environments"];
    let next = match &status["next_reap"] {
        Value::Null => "nothing is due".to_owned(),
        next => format!("{} in {}", text(next, "name"), clock(seconds_until(&next["at"]).unwrap_or(0))),
    };
    let endpoints: Vec<String> = status["endpoints"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|endpoint| {
            let good = endpoint["state"] == "ok";
            let state = out.styled(&text(endpoint, "state"), if good { Style::Green } else { Style::Red });
            format!("{} {state} {}", text(endpoint, "url"), text(endpoint, "detail")).trim_end().to_owned()
        })
        .collect();
    let uptime = status["uptime_seconds"].as_u64().map(clock).unwrap_or_default();
    let kind = if status["screen"] == true { "in a terminal" } else { "in the background" };
    out.fields(&[
        ("host", format!("pid {}, version {}, {kind}, up {uptime}", status["pid"], text(status, "version"))),
        ("socket", text(status, "socket")),
        ("data", text(status, "data_dir")),
        ("logs", text(status, "logs")),
        (
            "environments",
            format!("{} ({} ready, {} held)", environments["total"], environments["ready"], environments["held"]),
        ),
        ("sessions", text(status, "sessions")),
        ("open turns", text(status, "open_turns")),
        ("next reap", next),
        ("endpoints", endpoints.join("\n")),
    ])?;
    for trouble in status["troubles"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        out.line(&out.styled(&format!("trouble: {}", output::plain(trouble)), Style::Yellow))?;
    }
    Ok(())
}

pub(super) fn shutdown(context: &Context, shutdown: &Shutdown) -> Result<u8, Failure> {
    let out = Printer::new();
    let call = ApiCall::Shutdown(protocol::Shutdown { keep: shutdown.keep });
    let reply = context.wait(async {
        match context.running_host().await {
            Ok(mut host) => {
                let reply = host.call(&call).await?;
                // Its connection closes, then its lock is free: whoever starts a host after us will get it.
                let paths = context.paths()?;
                let gone = async {
                    while host.notification().await.is_ok() {}
                    while Owner::is_held(&paths) {
                        tokio::time::sleep(LOOK_AGAIN).await;
                    }
                };
                let _ = tokio::time::timeout(GONE_TIME, gone).await;
                Ok(Some(reply))
            }
            Err(Failure::Error(error)) if error.code == ErrorCode::NoHost => Ok(None),
            Err(failure) => Err(failure),
        }
    })?;
    match reply {
        Some(reply) if context.json => print_json(&reply)?,
        Some(_) if shutdown.keep => out.line("the host has ended; its environments run on")?,
        Some(_) => out.line("the host has ended")?,
        None if context.json => print_json(&json!({"schema": 1, "done": true, "running": false}))?,
        None => out.line("no host runs for this profile: there is nothing to shut down")?,
    }
    Ok(0)
}
