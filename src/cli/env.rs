//! `env`: environments.

use super::context::Context;
use super::output::{self, Failure, Printer, Style, ago, clock, holder, seconds_until, short, text};
use super::spec::{Spec, seconds};
use crate::api::protocol::{EnvExtend, EnvNew, EnvRef, EnvRemove, EnvRename, EnvStop, Nothing};
use crate::api::{ApiCall, ApiError, ErrorCode};
use clap::{Args, Subcommand};
use serde_json::Value;
use std::io::{self, IsTerminal, Write};

#[derive(Subcommand, Debug)]
pub(super) enum Env {
    /// All environments
    List,
    /// One environment with mounts, limits, user, network, and the reaper's verdict
    Show(Which),
    /// Make an environment and its sandbox
    New(New),
    /// Start a stopped, lost or failed one
    Start(Which),
    /// Stop its sandbox; files stay
    Stop(Stop),
    /// Remove it; its files stay unless --data
    Rm(Remove),
    /// Keep the reaper away until unpinned
    Pin(Which),
    /// Let its clock run again
    Unpin(Which),
    /// Give it one more idle time
    Extend(Extend),
    /// Give it another name
    Rename(Rename),
}

#[derive(Args, Debug)]
pub(super) struct Which {
    /// Name, endpoint/name, or the beginning of its id
    env: String,
}

#[derive(Args, Debug)]
pub(super) struct New {
    /// Its name; a free one is picked without
    name: Option<String>,
    #[command(flatten)]
    spec: Spec,
}

#[derive(Args, Debug)]
pub(super) struct Stop {
    /// Name, endpoint/name, or the beginning of its id
    env: String,
    /// Also while it is held: ends what runs in it
    #[arg(long)]
    force: bool,
}

#[derive(Args, Debug)]
pub(super) struct Remove {
    /// Name, endpoint/name, or the beginning of its id
    env: String,
    /// Also delete its files (home and /workspace)
    #[arg(long)]
    data: bool,
    /// Also while it is held: ends what runs in it
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Args, Debug)]
pub(super) struct Extend {
    /// Name, endpoint/name, or the beginning of its id
    env: String,
    /// By this much instead of its idle time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    by: Option<f64>,
}

#[derive(Args, Debug)]
pub(super) struct Rename {
    /// Name, endpoint/name, or the beginning of its id
    env: String,
    /// The new name
    name: String,
}

pub(super) fn run(context: &Context, verb: Env) -> Result<u8, Failure> {
    let out = Printer::new();
    let which = |which: Which| EnvRef { env: which.env };
    let changed = |reply: &Value, what: &str| out.line(&format!("{} {what}", text(&reply["environment"], "name")));
    match verb {
        Env::List => context.show(&ApiCall::EnvList(Nothing {}), |reply| list(&out, reply)),
        Env::Show(env) => context.show(&ApiCall::EnvShow(which(env)), |reply| show(&out, &reply["environment"])),
        Env::New(new) => {
            let call = ApiCall::EnvNew(EnvNew { name: new.name, spec: new.spec.flags(context) });
            context.show(&call, |reply| changed(reply, &format!("is {}", text(&reply["environment"], "phase"))))
        }
        Env::Start(env) => context.show(&ApiCall::EnvStart(which(env)), |reply| {
            changed(reply, &format!("is {}", text(&reply["environment"], "phase")))
        }),
        Env::Stop(stop) => {
            let call = ApiCall::EnvStop(EnvStop { env: stop.env.clone(), force: stop.force });
            context.show(&call, |_| out.line(&format!("{} is stopped; its files are kept", output::plain(&stop.env))))
        }
        Env::Rm(remove) => rm(context, &out, &remove),
        Env::Pin(env) => {
            context.show(&ApiCall::EnvPin(which(env)), |reply| changed(reply, "is pinned: it is not reaped"))
        }
        Env::Unpin(env) => context.show(&ApiCall::EnvUnpin(which(env)), |reply| {
            changed(reply, &format!("is unpinned{}", until(&reply["environment"])))
        }),
        Env::Extend(extend) => {
            let call = ApiCall::EnvExtend(EnvExtend { env: extend.env, seconds: extend.by });
            context.show(&call, |reply| changed(reply, &format!("is extended{}", until(&reply["environment"]))))
        }
        Env::Rename(rename) => {
            let old = output::plain(&rename.env);
            let call = ApiCall::EnvRename(EnvRename { env: rename.env, name: rename.name });
            context.show(&call, |reply| out.line(&format!("{old} is now {}", text(&reply["environment"], "name"))))
        }
    }
}

fn until(env: &Value) -> String {
    seconds_until(&env["idle_deadline_at"]).map_or_else(String::new, |left| format!(", due in {}", clock(left)))
}

/// What the table says of an environment's future: who holds it, or when it is due.
fn future(env: &Value) -> (String, Style) {
    let holders = env["holders"].as_array().map(Vec::as_slice).unwrap_or_default();
    match (holders, seconds_until(&env["idle_deadline_at"])) {
        ([], Some(left)) if left <= 60 => (format!("due in {}", clock(left)), Style::Yellow),
        ([], Some(left)) => (format!("due in {}", clock(left)), Style::Plain),
        ([], None) => match text(&env["failure"], "message") {
            message if message.is_empty() => (text(&env["last_ending"], "why"), Style::Dim),
            message => (message, Style::Red),
        },
        ([one], _) => (format!("held: {}", holder(one)), Style::Cyan),
        (many, _) => (format!("held by {}", many.len()), Style::Cyan),
    }
}

fn phase_style(phase: &str) -> Style {
    match phase {
        "ready" => Style::Green,
        "provisioning" | "reaping" => Style::Yellow,
        "lost" | "failed" => Style::Red,
        _ => Style::Dim,
    }
}

fn list(out: &Printer, reply: &Value) -> Result<(), Failure> {
    let rows: Vec<Vec<(String, Style)>> = reply["environments"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .map(|env| {
            let phase = text(env, "phase");
            let style = phase_style(&phase);
            vec![
                (text(env, "name"), Style::Bold),
                (short(&text(env, "id")), Style::Dim),
                (text(env, "backend"), Style::Plain),
                (text(env, "persistence"), Style::Plain),
                (text(env, "scope"), Style::Plain),
                (phase, style),
                future(env),
            ]
        })
        .collect();
    out.table(
        &["NAME", "ID", "BACKEND", "PERSISTENCE", "SCOPE", "PHASE", "USE"],
        &rows,
        "no environments yet: `hermes-tui env new NAME` makes one",
    )?;
    for endpoint in reply["endpoints"].as_array().into_iter().flatten().filter(|e| e["state"] == "unreachable") {
        let (name, why) = (text(endpoint, "url"), text(endpoint, "detail"));
        out.line(&out.styled(&format!("{name} does not answer: {why}"), Style::Red))?;
    }
    Ok(())
}

fn show(out: &Printer, env: &Value) -> Result<(), Failure> {
    let join = |items: &Value, each: &dyn Fn(&Value) -> String| {
        items.as_array().map(|items| items.iter().map(each).collect::<Vec<_>>().join("\n")).unwrap_or_default()
    };
    let word = |item: &Value| item.as_str().map(output::plain).unwrap_or_default();
    let phase = text(env, "phase");
    let sandbox = match &env["sandbox"] {
        Value::Null => String::new(),
        sandbox => format!("{} (generation {})", text(sandbox, "id"), sandbox["generation"]),
    };
    let idle = match env["idle_seconds"].as_f64() {
        Some(seconds) if seconds > 0.0 => clock(seconds as u64),
        _ => "never reaped".to_owned(),
    };
    let activity = format!(
        "{} {}, {}",
        text(&env["last_activity"], "kind"),
        text(&env["last_activity"], "detail"),
        ago(&env["last_activity"]["at"])
    );
    out.fields(&[
        ("name", out.styled(&text(env, "name"), Style::Bold)),
        ("id", text(env, "id")),
        (
            "phase",
            format!(
                "{} {}",
                out.styled(&phase, phase_style(&phase)),
                out.styled(&format!("since {}", ago(&env["phase_since"])).replace(" ago", ""), Style::Dim)
            ),
        ),
        ("failure", text(&env["failure"], "message")),
        ("last ending", text(&env["last_ending"], "why")),
        ("backend", format!("{} at {}", text(env, "backend"), text(env, "endpoint"))),
        ("isolation", text(env, "isolation")),
        (
            "persistence",
            format!("{}, scope {}, {}", text(env, "persistence"), text(env, "scope"), text(env, "retention")),
        ),
        ("sandbox", sandbox),
        ("image", text(env, "image")),
        ("user", text(env, "user")),
        ("directory", text(env, "cwd")),
        ("disk use", env["disk_bytes"].as_u64().map(output::bytes).unwrap_or_default()),
        ("network", text(env, "network")),
        (
            "mounts",
            join(&env["mounts"], &|m| {
                format!(
                    "{} on {} {}",
                    text(m, "source"),
                    text(m, "target"),
                    if m["read_only"] == true { "ro" } else { "rw" }
                )
            }),
        ),
        ("limits", join(&env["limits"], &|limit| format!("{} {}", text(limit, "name"), text(limit, "value")))),
        ("variables", join(&env["variables"], &word)),
        ("idle time", format!("{idle}{}", until(env))),
        ("last activity", activity),
        ("held by", join(&env["holders"], &|h| format!("{}, for {}", holder(h), ago(&h["since"]).replace(" ago", "")))),
        ("conversations", join(&env["conversations"], &word)),
        ("sessions", join(&env["sessions"], &word)),
        ("differs", join(&env["drift"], &word)),
        ("verdict", format!("{}: {}", text(&env["verdict"], "kind"), text(&env["verdict"], "reason"))),
    ])
}

fn rm(context: &Context, out: &Printer, remove: &Remove) -> Result<u8, Failure> {
    if !remove.yes {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() || context.json {
            return Err(ApiError::new(
                ErrorCode::Usage,
                format!("removing `{}` must be confirmed, and nobody can be asked here", remove.env),
                "add --yes, or run it in a terminal",
            )
            .into());
        }
        let reply = context.call(&ApiCall::EnvShow(EnvRef { env: remove.env.clone() }))?;
        if !confirmed(out, &reply["environment"], remove.data)? {
            out.line("nothing was removed")?;
            return Ok(ErrorCode::Failed.exit_code());
        }
    }
    let call = ApiCall::EnvRemove(EnvRemove { env: remove.env.clone(), force: remove.force, data: remove.data });
    context.show(&call, |reply| {
        let name = output::plain(&remove.env);
        match reply["files"].as_str() {
            Some(files) if !remove.data => {
                out.line(&format!("{name} is removed; its files are kept in {}", output::plain(files)))?;
                out.line(&format!("  delete them with: hermes-tui env rm {} --data --yes", text(reply, "removed")))
            }
            _ if remove.data || reply["files_deleted"] == true => {
                out.line(&format!("{name} is removed with its files"))
            }
            _ => out.line(&format!("{name} is removed")),
        }
    })
}

/// Names what is lost and what survives, and asks.
fn confirmed(out: &Printer, env: &Value, data: bool) -> Result<bool, Failure> {
    let count = |field: &str| env[field].as_array().map_or(0, Vec::len);
    let mut lost = vec!["everything written outside home and /workspace".to_owned()];
    if count("sessions") > 0 {
        lost.push(format!("sessions: {}", count("sessions")));
    }
    for held in env["holders"].as_array().into_iter().flatten() {
        lost.push(holder(held));
    }
    let files = match env["disk_bytes"].as_u64() {
        Some(size) => format!("the files in its home and /workspace ({})", output::bytes(size)),
        None => "the files in its home and /workspace".to_owned(),
    };
    let survives = if data || env["persistence"] == "ephemeral" {
        lost.push(files);
        "mounted folders of this machine".to_owned()
    } else {
        files
    };
    let head = format!(
        "Remove {} ({}, {}, {})?",
        text(env, "name"),
        text(env, "backend"),
        text(env, "persistence"),
        text(env, "phase")
    );
    out.line(&out.styled(&head, Style::Bold))?;
    out.line(&format!("  {}      {}", out.styled("lost", Style::Red), lost.join("\n            ")))?;
    out.line(&format!("  {}  {survives}", out.styled("survives", Style::Green)))?;
    print!("Remove it? [y/N] ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
