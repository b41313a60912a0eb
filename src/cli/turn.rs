//! `turn`: turns of conversations.

use super::complete;
use super::context::Context;
use super::output::{self, Failure, Printer, Style, duration, local_time, text};
use super::spec::{Spec, seconds, words};
use crate::api::ApiCall;
use crate::api::protocol::{ConversationRef, TurnBegin, TurnEnd, TurnShow};
use crate::domain::TurnStatus;
use clap::{Args, Subcommand};
use serde_json::Value;
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub(super) enum Turn {
    /// Begin a turn; returns when its environment is ready
    Begin(Box<Begin>),
    /// Keep the open turn's lease alive
    Touch(Which),
    /// End the open turn; fine without one
    End(End),
    /// The turns of a conversation with their commands
    List(Which),
    /// One turn with its commands
    Show(Show),
}

#[derive(Args, Debug)]
pub(super) struct Which {
    /// Id of the conversation
    #[arg(long, value_name = "ID", add = complete::conversation())]
    conversation: String,
}

#[derive(Args, Debug)]
pub(super) struct Begin {
    /// Id of the conversation; a new one begins with its first turn
    #[arg(long, value_name = "ID", add = complete::conversation())]
    conversation: String,
    /// Title of the conversation
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// Kind of the conversation: main, subagent, cron, …
    #[arg(long, value_name = "K")]
    kind: Option<String>,
    /// Who begins the turn, for the rules of the configuration
    #[arg(long, value_name = "S")]
    source: Option<String>,
    /// Where the agent works, for the rules of the configuration [default: here]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    cwd: Option<PathBuf>,
    /// What the user asked
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Use this environment
    #[arg(long, value_name = "NAME", add = complete::environment())]
    env_name: Option<String>,
    /// Life of the turn's lease without a begin, command or touch [default: 3600]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    lease_ttl: Option<f64>,
    #[command(flatten)]
    spec: Spec,
}

#[derive(Args, Debug)]
pub(super) struct End {
    /// Id of the conversation
    #[arg(long, value_name = "ID", add = complete::conversation())]
    conversation: String,
    /// How it ended [default: done]
    #[arg(long, value_name = "STATUS", value_parser = words::<TurnStatus>(&["done", "failed", "interrupted"]))]
    status: Option<TurnStatus>,
}

#[derive(Args, Debug)]
pub(super) struct Show {
    /// Id of the turn, or its beginning
    turn: String,
    /// Also what its commands printed, as far as it is kept
    #[arg(long, short)]
    output: bool,
}

pub(super) fn run(context: &Context, verb: Turn) -> Result<u8, Failure> {
    let out = Printer::new();
    match verb {
        Turn::Begin(begin) => {
            let call = ApiCall::TurnBegin(Box::new(TurnBegin {
                conversation: begin.conversation,
                title: begin.title,
                kind: begin.kind,
                source: begin.source,
                cwd: place(begin.cwd),
                prompt: begin.prompt,
                env_name: begin.env_name,
                spec: begin.spec.flags(context),
                lease_ttl_seconds: begin.lease_ttl,
                with_connection: false,
            }));
            context.show(&call, |reply| {
                let rule = match text(reply, "rule") {
                    none if none.is_empty() => none,
                    rule => format!("; {rule} chose it"),
                };
                out.line(&format!(
                    "turn {} of {} ({}) began in environment {}, session {}{rule}",
                    reply["number"],
                    text(reply, "conversation"),
                    text(reply, "turn"),
                    text(reply, "environment"),
                    text(reply, "session"),
                ))
            })
        }
        Turn::Touch(which) => {
            let name = output::plain(&which.conversation);
            let call = ApiCall::TurnTouch(ConversationRef { conversation: which.conversation });
            context.show(&call, |_| out.line(&format!("the open turn of {name} is kept alive")))
        }
        Turn::End(end) => {
            let name = output::plain(&end.conversation);
            let call = ApiCall::TurnEnd(TurnEnd { conversation: end.conversation, status: end.status });
            context.show(&call, |reply| match reply["ended"].as_u64() {
                Some(number) => out.line(&format!("turn {number} of {name} ended")),
                None => out.line(&format!("{name} had no open turn")),
            })
        }
        Turn::List(which) => {
            let call = ApiCall::TurnList(ConversationRef { conversation: which.conversation });
            context.show(&call, |reply| print_turns(&out, reply))
        }
        Turn::Show(show) => {
            let call = ApiCall::TurnShow(TurnShow { turn: show.turn, output: show.output });
            context.show(&call, |reply| print_turn(&out, &reply["turn"]))
        }
    }
}

/// A folder as a whole path; without one that in which this runs.
pub(super) fn place(folder: Option<PathBuf>) -> Option<String> {
    let folder = folder.map_or_else(std::env::current_dir, std::path::absolute);
    folder.ok().map(|folder| folder.to_string_lossy().into_owned())
}

/// Turns with their commands, then the commands outside of turns.
pub(super) fn print_turns(out: &Printer, reply: &Value) -> Result<(), Failure> {
    let turns = reply["turns"].as_array().map(Vec::as_slice).unwrap_or_default();
    let outside = reply["outside"].as_array().map(Vec::as_slice).unwrap_or_default();
    if turns.is_empty() && outside.is_empty() {
        return out.line(&out.styled("no turns and no commands yet", Style::Dim));
    }
    turns.iter().try_for_each(|turn| print_turn(out, turn))?;
    if !outside.is_empty() {
        out.line(&out.styled("outside of turns", Style::Bold))?;
        outside.iter().try_for_each(|command| print_command(out, command))?;
    }
    Ok(())
}

fn print_turn(out: &Printer, turn: &Value) -> Result<(), Failure> {
    let status = text(turn, "status");
    let style = match status.as_str() {
        "done" => Style::Green,
        "running" => Style::Cyan,
        "failed" => Style::Red,
        _ => Style::Yellow,
    };
    let head = out.styled(&format!("turn {}", turn["number"]), Style::Bold);
    let when = out.styled(&local_time(&turn["began"]), Style::Dim);
    let prompt = text(turn, "prompt");
    let quoted = if prompt.is_empty() { String::new() } else { format!("  \"{prompt}\"") };
    out.line(&format!("{head}  {when}  {}{quoted}", out.styled(&status, style)))?;
    for taken in turn["taken_over"].as_array().into_iter().flatten() {
        let until = if taken["until"].is_null() { "now".to_owned() } else { local_time(&taken["until"]) };
        let words = format!("a person had it from {} until {until}", local_time(&taken["from"]));
        out.line(&format!("  {}", out.styled(&words, Style::Dim)))?;
    }
    turn["commands"].as_array().into_iter().flatten().try_for_each(|command| print_command(out, command))
}

fn print_command(out: &Printer, command: &Value) -> Result<(), Failure> {
    let (mark, style) = match command["exit_code"].as_i64() {
        None if command["ended"].is_null() => ("▶", Style::Cyan),
        // How it ended is not known.
        None => ("-", Style::Dim),
        Some(0) => ("✔", Style::Green),
        Some(_) => ("✘", Style::Red),
    };
    let code = command["exit_code"].as_i64().map(|code| code.to_string()).unwrap_or_default();
    let time = command["duration_ms"].as_u64().map(duration).unwrap_or_default();
    out.line(&format!("  {} {code:>3} {time:>8}  {}", out.styled(mark, style), text(command, "command")))?;
    let printed = command["output"].as_str().unwrap_or_default();
    printed
        .lines()
        .try_for_each(|line| out.line(&format!("      {} {}", out.styled("|", Style::Dim), output::plain(line))))
}
