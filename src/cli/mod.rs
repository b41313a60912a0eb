//! The command line: one file per group of verbs.
//!
//! Each verb makes one call to the host (started where none runs), and prints the reply: as it is with `--json`, else
//! for people. Exit codes: 0 ok, 1 error, 2 usage, 3 configuration, 4 backend unreachable, 5 refused by policy,
//! 70 internal; `exec` passes the command's own.

mod attach;
mod complete;
mod config;
mod context;
mod conversation;
mod cp;
mod doctor;
mod doctor_hooks;
mod env;
mod events;
mod exec;
mod hook;
mod host;
mod mcp;
mod output;
mod prune;
mod reap;
mod session;
mod spec;
mod turn;
mod util;

use crate::api::{ApiError, ErrorCode};
use crate::runtime::paths::Paths;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::CompleteEnv;
use context::Context;
use output::Failure;
use std::ffi::OsString;
use std::io::Write;
use std::panic;
use std::path::PathBuf;
use std::process::ExitCode;

/// See, use and clean up the sandboxes in which an agent's commands run.
#[derive(Parser, Debug)]
#[command(
    name = "hermes-tui",
    version,
    about,
    disable_help_subcommand = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs",
    after_help = "Without a verb, the screen opens. Verbs that need a host start it in the background.\n\
                  HTUI_HOME=DIR keeps everything of one isolated profile under DIR."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(flatten)]
    screen: host::Screen,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Args, Debug, Clone)]
struct Global {
    /// Print one JSON object instead of text for people
    #[arg(long, global = true)]
    json: bool,
    /// Container engine: an endpoint's name, or a URL (unix://, tcp://, https://, ssh://)
    #[arg(long, global = true, value_name = "E")]
    endpoint: Option<String>,
    /// Read this configuration instead of the profile's
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Open the screen with the shell of an environment
    Open(host::Open),
    /// Show one session in this terminal, and nothing else
    Attach(attach::Attach),
    /// Run the host without a screen
    Serve(host::Serve),
    /// Show who hosts this profile, and what is due next
    Status,
    /// End the host in order: ephemeral environments are removed, persistent local ones stopped
    Shutdown(host::Shutdown),
    /// Environments: list, show, new, start, stop, rm, pin, unpin, take-over, give-back, extend, rename, adopt, prune
    #[command(subcommand)]
    Env(env::Env),
    /// Conversations: list, show, end
    #[command(subcommand)]
    Conversation(conversation::Conversation),
    /// Turns of a conversation: begin, touch, end, list, show
    #[command(subcommand)]
    Turn(turn::Turn),
    /// Run a command in an environment, without a terminal
    Exec(exec::Exec),
    /// Copy files and folders into an environment or out of it
    Cp(cp::Cp),
    /// Pane sessions: list, new, attach, wait, capture, send-keys, kill
    #[command(subcommand)]
    Session(session::Session),
    /// End what is due now, or say what would be ended and why
    Reap(reap::Reap),
    /// Follow everything that happens, one line each
    Events(events::Events),
    /// Take one event of a hermes-agent from standard input, for its shell hooks; prints nothing, never fails
    #[command(after_help = "`hermes-tui doctor` says what to put into the config.yaml of a hermes-agent.")]
    Hook,
    /// Serve agents over the Model Context Protocol on standard input and output
    Mcp(mcp::Mcp),
    /// Say what works here, what was tried and why it failed
    Doctor,
    /// Settings: show, check, path, schema
    #[command(subcommand)]
    Config(config::Config),
    /// Manual pages, completions for shells, the schema of the protocol
    #[command(subcommand)]
    Util(util::Util),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    // Before anything else: an agent waits for it.
    if hook::is_meant(&words) {
        return ExitCode::from(hook::run());
    }
    // Where a shell asks for completions, this answers and ends the process.
    CompleteEnv::with_factory(Cli::command).var(complete::VARIABLE).complete();
    let json = asks_for_json(&words);
    panic::set_hook(Box::new(|info| {
        tracing::error!("panic: {info}");
        // Not `eprintln!`: it panics itself when standard error is closed.
        let _ = writeln!(std::io::stderr(), "internal error: {info}");
    }));
    let outcome = panic::catch_unwind(|| run(words));
    let code = match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => report(&failure, json),
        Err(_) => {
            let logs = Paths::find()
                .map_or_else(|_| "the state folder".to_owned(), |paths| paths.logs().display().to_string());
            let error = ApiError::new(
                ErrorCode::Internal,
                "hermes-tui met a defect of its own and cannot go on",
                format!("please report it with what is above; the log is in {logs}"),
            );
            report(&Failure::Error(error), json)
        }
    };
    ExitCode::from(code)
}

/// Whether `--json` is among the words before `--`: asked before they are understood, since an error in them must be
/// printed as JSON too.
fn asks_for_json(words: &[OsString]) -> bool {
    words.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json")
}

fn run(words: Vec<OsString>) -> Result<u8, Failure> {
    let json = asks_for_json(&words);
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => return not_understood(&error, json),
    };
    let context = Context::new(&cli.global);
    if cli.verb.is_some() && (cli.screen.read_only || cli.screen.foreground) {
        let flag = if cli.screen.read_only { "--read-only" } else { "--foreground" };
        let hint = "leave it out; `open` and `attach` have a --read-only of their own, which stands after them";
        let message = format!("{flag} before a verb means nothing: it is for the screen alone");
        return Err(ApiError::new(ErrorCode::Usage, message, hint).into());
    }
    match cli.verb {
        None => host::screen(&context, &cli.screen),
        Some(Verb::Open(open)) => host::open(&context, open),
        Some(Verb::Attach(attach)) => attach::run(&context, attach),
        Some(Verb::Serve(serve)) => host::serve(&context, &serve),
        Some(Verb::Status) => host::status(&context),
        Some(Verb::Shutdown(shutdown)) => host::shutdown(&context, &shutdown),
        Some(Verb::Env(verb)) => env::run(&context, verb),
        Some(Verb::Conversation(verb)) => conversation::run(&context, verb),
        Some(Verb::Turn(verb)) => turn::run(&context, verb),
        Some(Verb::Exec(exec)) => exec::run(&context, exec),
        Some(Verb::Cp(cp)) => cp::run(&context, cp),
        Some(Verb::Session(verb)) => session::run(&context, verb),
        Some(Verb::Reap(reap)) => reap::run(&context, reap),
        Some(Verb::Events(events)) => events::run(&context, events),
        Some(Verb::Hook) => Ok(hook::run()),
        Some(Verb::Mcp(mcp)) => mcp::run(&context, mcp),
        Some(Verb::Doctor) => doctor::run(&context),
        Some(Verb::Config(verb)) => config::run(&context, verb),
        Some(Verb::Util(verb)) => util::run(&context, verb),
    }
}

/// Help and version are no errors; the rest is a usage error.
fn not_understood(error: &clap::Error, json: bool) -> Result<u8, Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            error.print()?;
            Ok(0)
        }
        kind if json => {
            let text = error.render().to_string();
            let (message, hint) = if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
                let usage = text.lines().find(|line| line.starts_with("Usage:")).unwrap_or_default();
                ("the command is not complete".to_owned(), usage.to_owned())
            } else {
                let paragraph = |n: usize| text.split("\n\n").nth(n).map(|part| part.trim().replace("\n ", ""));
                let message = paragraph(0).unwrap_or_default();
                (message.strip_prefix("error: ").unwrap_or(&message).to_owned(), paragraph(1).unwrap_or_default())
            };
            Err(ApiError::new(ErrorCode::Usage, message, hint).into())
        }
        _ => {
            error.print()?;
            Ok(ErrorCode::Usage.exit_code())
        }
    }
}

/// Prints what failed and gives the exit code.
fn report(failure: &Failure, json: bool) -> u8 {
    match failure {
        // Whoever read our output has enough of it.
        Failure::BrokenPipe => 0,
        Failure::Error(error) => {
            output::print_error(error, json);
            error.code.exit_code()
        }
        Failure::Exit(code, error) => {
            output::print_error(error, json);
            *code
        }
    }
}

/// The command line as `clap` knows it, for what is generated from it.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_is_sound() {
        super::command().debug_assert();
    }
}
