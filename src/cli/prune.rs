//! `env prune`: removes what is left over, after saying what that is.

use super::context::Context;
use super::env::can_ask;
use super::output::{Failure, Printer, Style, bytes, confirm, plain, print_json, text};
use crate::api::protocol::EnvPrune;
use crate::api::{ApiCall, ApiError, ErrorCode};
use clap::Args;
use serde_json::Value;

#[derive(Args, Debug)]
#[command(
    after_help = "An environment is left over when it has no sandbox, no files, nobody who holds it, and no open \
                        conversation. Files are deleted with --data alone."
)]
pub(super) struct Prune {
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Also delete the files of environments that are not listed any more
    #[arg(long)]
    data: bool,
    /// Do not ask before files are deleted
    #[arg(long, short)]
    yes: bool,
    /// Only print the ids of what is removed, one a line
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(context: &Context, out: &Printer, prune: &Prune) -> Result<u8, Failure> {
    let call = |dry_run: bool, only: Option<Vec<String>>| {
        context.call(&ApiCall::EnvPrune(EnvPrune { dry_run, data: prune.data, only }))
    };
    let plan = call(true, None)?;
    let silent = context.json || prune.quiet;
    if !silent {
        say(out, &plan, prune)?;
    }
    let ids: Vec<String> =
        rows(&plan, "environments").chain(rows(&plan, "folders")).map(|row| text(row, "id")).collect();
    if prune.dry_run || ids.is_empty() {
        return report(context, out, &plan, prune);
    }
    if rows(&plan, "folders").next().is_some() && !prune.yes {
        if !can_ask(context) || prune.quiet {
            return Err(ApiError::new(
                ErrorCode::Usage,
                "deleting files must be confirmed, and nobody can be asked here",
                "add --yes, look first with --dry-run, or run it in a terminal",
            )
            .into());
        }
        if !confirm("Delete these files for good?")? {
            out.line("nothing was removed")?;
            return Ok(ErrorCode::Failed.exit_code());
        }
    }
    // No more than was shown.
    let done = call(false, Some(ids))?;
    report(context, out, &done, prune)
}

fn rows<'a>(reply: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    reply[field].as_array().into_iter().flatten()
}

/// What is left over, and what becomes of it.
fn say(out: &Printer, plan: &Value, prune: &Prune) -> Result<(), Failure> {
    let will = if prune.dry_run { "would be removed" } else { "will be removed" };
    for env in rows(plan, "environments") {
        let name = out.styled(&text(env, "name"), Style::Bold);
        out.line(&format!("{name} ({}) {will}: {}", text(env, "id"), text(env, "why")))?;
    }
    for folder in rows(plan, "folders") {
        let size = bytes(folder["bytes"].as_u64().unwrap_or(0));
        let path = out.styled(&text(folder, "path"), Style::Bold);
        out.line(&format!("{path} ({size}) {will} with all files in it: its environment is not listed any more"))?;
    }
    match plan["folders_left"].as_u64() {
        Some(left) if left > 0 => {
            let folders = if left == 1 { "1 folder belongs".to_owned() } else { format!("{left} folders belong") };
            out.line(&format!("{folders} to no listed environment and will stay; --data deletes such files"))
        }
        _ => Ok(()),
    }
}

fn report(context: &Context, out: &Printer, reply: &Value, prune: &Prune) -> Result<u8, Failure> {
    let (envs, folders) = (rows(reply, "environments").count(), rows(reply, "folders").count());
    if context.json {
        print_json(reply)?;
    } else if prune.quiet {
        out.ids(&reply["environments"], "id")?;
        out.ids(&reply["folders"], "id")?;
    } else if envs + folders == 0 && reply["folders_left"].as_u64() == Some(0) && rows(reply, "failed").next().is_none()
    {
        out.line("nothing is left over")?;
    } else if !prune.dry_run && envs + folders > 0 {
        out.line(&format!("removed: environments {envs}, folders of files {folders}"))?;
    }
    let mut failed = rows(reply, "failed").map(|one| plain(&format!("{}: {}", text(one, "id"), text(one, "message"))));
    match failed.next() {
        Some(first) if !context.json => Err(ApiError::new(
            ErrorCode::Failed,
            format!(
                "not everything could be removed: {}",
                [first].into_iter().chain(failed).collect::<Vec<_>>().join("; ")
            ),
            "correct that, and run it again",
        )
        .into()),
        Some(_) => Ok(ErrorCode::Failed.exit_code()),
        None => Ok(0),
    }
}
