//! `env`: environments.

use super::complete;
use super::context::Context;
use super::output::{self, Failure, Printer, Style, ago, clock, holder, seconds_until, short, text};
use super::prune::{self, Prune};
use super::spec::{Spec, seconds};
use crate::api::protocol::{EnvAdopt, EnvExtend, EnvNew, EnvRef, EnvRemove, EnvRename, EnvStop, Nothing};
use crate::api::{ApiCall, ApiError, ErrorCode};
use clap::{Args, Subcommand};
use serde_json::Value;
use std::io::{self, IsTerminal};

#[derive(Subcommand, Debug)]
pub(super) enum Env {
    /// All environments
    List(List),
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
    /// Have it to yourself: agents' commands through us wait, and after 30 s are refused, until it is given back
    TakeOver(Which),
    /// Let agents' commands run there again
    GiveBack(Which),
    /// Give it one more idle time
    Extend(Extend),
    /// Give it another name
    Rename(Rename),
    /// Show a container that neither we nor a hermes-agent made
    Adopt(Adopt),
    /// Remove what is left over: environments without a sandbox, a file or a use
    Prune(Prune),
}

#[derive(Args, Debug)]
pub(super) struct List {
    /// Only ids, one a line
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Args, Debug)]
pub(super) struct Which {
    /// Name, endpoint/name, or the beginning of its id
    #[arg(add = complete::environment())]
    env: String,
}

#[derive(Args, Debug)]
pub(super) struct New {
    /// Its name; a free one is picked without
    name: Option<String>,
    #[command(flatten)]
    spec: Spec,
    /// Only print its id
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Args, Debug)]
pub(super) struct Stop {
    /// Name, endpoint/name, or the beginning of its id
    #[arg(add = complete::environment())]
    env: String,
    /// Also while it is held: ends what runs in it
    #[arg(long)]
    force: bool,
    /// Do not ask, also where it is not ours
    #[arg(long, short)]
    yes: bool,
}

#[derive(Args, Debug)]
pub(super) struct Adopt {
    /// Its name, endpoint/name, or the beginning of its id
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    container: Option<String>,
    /// Only list the containers that could be shown
    #[arg(long)]
    list: bool,
}

#[derive(Args, Debug)]
pub(super) struct Remove {
    /// Name, endpoint/name, or the beginning of its id
    #[arg(add = complete::environment())]
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
    /// Also remove the container of one that was adopted; without, it is only shown no longer
    #[arg(long)]
    container: bool,
}

#[derive(Args, Debug)]
pub(super) struct Extend {
    /// Name, endpoint/name, or the beginning of its id
    #[arg(add = complete::environment())]
    env: String,
    /// By this much instead of its idle time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    by: Option<f64>,
}

#[derive(Args, Debug)]
pub(super) struct Rename {
    /// Name, endpoint/name, or the beginning of its id
    #[arg(add = complete::environment())]
    env: String,
    /// The new name
    name: String,
}

pub(super) fn run(context: &Context, verb: Env) -> Result<u8, Failure> {
    let out = Printer::new();
    let which = |which: Which| EnvRef { env: which.env };
    let changed = |reply: &Value, what: &str| out.line(&format!("{} {what}", text(&reply["environment"], "name")));
    match verb {
        Env::List(List { quiet: true }) => {
            context.show(&ApiCall::EnvList(Nothing {}), |reply| out.ids(&reply["environments"], "id"))
        }
        Env::List(_) => context.show(&ApiCall::EnvList(Nothing {}), |reply| list(&out, reply)),
        Env::Show(env) => context.show(&ApiCall::EnvShow(which(env)), |reply| show(&out, &reply["environment"])),
        Env::New(new) => {
            let call = ApiCall::EnvNew(EnvNew { name: new.name, spec: new.spec.flags(context) });
            context.show(&call, |reply| match new.quiet {
                true => out.line(&text(&reply["environment"], "id")),
                false => changed(reply, &format!("is {}", text(&reply["environment"], "phase"))),
            })
        }
        Env::Start(env) => context.show(&ApiCall::EnvStart(which(env)), |reply| {
            changed(reply, &format!("is {}", text(&reply["environment"], "phase")))
        }),
        Env::Stop(stop) => self::stop(context, &out, stop),
        Env::Adopt(Adopt { container: Some(container), .. }) => {
            let call = ApiCall::EnvAdopt(EnvAdopt { container });
            context.show(&call, |reply| changed(reply, "is shown; nothing is changed in it, and we never end it"))
        }
        Env::Adopt(_) => context.show(&ApiCall::EnvCandidates(Nothing {}), |reply| candidates(&out, reply)),
        Env::Prune(prune) => prune::run(context, &out, &prune),
        Env::Rm(remove) => rm(context, &out, &remove),
        Env::Pin(env) => {
            context.show(&ApiCall::EnvPin(which(env)), |reply| changed(reply, "is pinned: it is not reaped"))
        }
        Env::Unpin(env) => context.show(&ApiCall::EnvUnpin(which(env)), |reply| {
            changed(reply, &format!("is unpinned{}", until(&reply["environment"])))
        }),
        Env::TakeOver(env) => context.show(&ApiCall::EnvTakeOver(which(env)), |reply| {
            changed(reply, "is yours: its agents' commands wait until `hermes-tui env give-back`")
        }),
        Env::GiveBack(env) => {
            context.show(&ApiCall::EnvGiveBack(which(env)), |reply| changed(reply, "is given back to its agents"))
        }
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

/// Backend, and whose it is where it is not ours.
fn place(env: &Value) -> String {
    let backend = text(env, "backend");
    match (text(env, "origin").as_str(), text(&env["watched"], "profile")) {
        ("managed" | "", _) => backend,
        ("hermes", profile) if !profile.is_empty() => format!("{backend} (hermes {profile})"),
        (origin, _) => format!("{backend} ({origin})"),
    }
}

/// Nothing about it is decided for now.
fn is_frozen(env: &Value) -> bool {
    env["verdict"]["kind"] == "frozen"
}

/// Seconds until it is warned about, looked into or ended: what the verdict says, else its idle deadline.
fn acts_in(env: &Value) -> Option<u64> {
    let ends = matches!(env["verdict"]["kind"].as_str(), Some("keep" | "warn" | "reap"));
    let verdict = seconds_until(&env["verdict"]["until"]).filter(|_| ends);
    [verdict, seconds_until(&env["idle_deadline_at"])].into_iter().flatten().min()
}

/// What the table says of an environment's future: who holds it, or when it is due.
fn future(env: &Value) -> (String, Style) {
    let holders = env["holders"].as_array().map(Vec::as_slice).unwrap_or_default();
    match (holders, acts_in(env)) {
        _ if !env["taken_over_at"].is_null() => ("yours: its agents wait".to_owned(), Style::Yellow),
        _ if is_frozen(env) => (text(&env["verdict"], "reason"), Style::Yellow),
        ([], Some(left)) if left <= 60 => (format!("due in {}", clock(left)), Style::Yellow),
        ([], Some(left)) => (format!("due in {}", clock(left)), Style::Plain),
        ([], None) if !env["watched"]["leak"].is_null() => {
            (format!("leaked: {}", text(&env["watched"]["leak"], "kind").replace('_', " ")), Style::Yellow)
        }
        ([], None) if env["origin"] == "hermes" && env["phase"] == "ready" => {
            (format!("hermes: {}", text(&env["watched"], "maker")), Style::Dim)
        }
        ([], None) if env["phase"] == "ready" && env["origin"] == "managed" => ("keeps running".to_owned(), Style::Dim),
        ([], None) => match text(&env["failure"], "message") {
            message if message.is_empty() => (text(&env["last_ending"], "why"), Style::Dim),
            message => (cut(&message), Style::Red),
        },
        ([one], _) => (format!("held: {}", holder(one)), Style::Cyan),
        (many, _) => (format!("held by {}", many.len()), Style::Cyan),
    }
}

/// The beginning of a sentence: a table has room for no more. `env show` has all of it.
fn cut(text: &str) -> String {
    let most = 60;
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most - 1).chain(['…']).collect() }
}

/// Its phase, or what keeps everything about it as it is.
fn standing(env: &Value) -> String {
    let phase = text(env, "phase");
    if phase == "ready" && env["paused"] == true {
        "paused".to_owned()
    } else if is_frozen(env) {
        "frozen".to_owned()
    } else {
        phase
    }
}

fn phase_style(phase: &str) -> Style {
    match phase {
        "ready" => Style::Green,
        "provisioning" | "reaping" | "paused" | "frozen" => Style::Yellow,
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
            let phase = standing(env);
            let style = phase_style(&phase);
            vec![
                (text(env, "name"), Style::Bold),
                (short(&text(env, "id")), Style::Dim),
                (place(env), Style::Plain),
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
    let phase = standing(env);
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
        ("origin", text(env, "origin")),
        ("profile", text(&env["watched"], "profile")),
        ("task", text(&env["watched"], "task")),
        ("home", text(&env["watched"], "home")),
        ("hermes", text(&env["watched"], "maker")),
        ("its label", text(&env["watched"], "retention")),
        ("leaked", text(&env["watched"]["leak"], "evidence")),
        ("paused", if env["paused"] == true { "by somebody else".to_owned() } else { String::new() }),
        ("isolation", text(env, "isolation")),
        (
            "persistence",
            format!("{}, scope {}, {}", text(env, "persistence"), text(env, "scope"), text(env, "retention")),
        ),
        ("sandbox", sandbox),
        ("image", image(env)),
        ("user", text(env, "user")),
        ("directory", text(env, "cwd")),
        ("disk use", env["disk_bytes"].as_u64().map(output::bytes).unwrap_or_default()),
        ("network", network(env)),
        ("mounts", join(&env["mounts"], &mount)),
        ("limits", join(&env["limits"], &limit)),
        ("variables", join(&env["variables"], &word)),
        ("labels", labels(&env["labels"])),
        ("made", made(&env["details"])),
        ("idle time", format!("{idle}{}", until(env))),
        ("last activity", activity),
        ("held by", join(&env["holders"], &|h| format!("{}, for {}", holder(h), ago(&h["since"]).replace(" ago", "")))),
        ("conversations", join(&env["conversations"], &word)),
        ("chosen by", join(&env["rules"], &chosen)),
        ("sessions", join(&env["sessions"], &word)),
        ("differs", join(&env["drift"], &word)),
        ("verdict", format!("{}: {}", text(&env["verdict"], "kind"), text(&env["verdict"], "reason"))),
    ])
}

/// A rule of the configuration that chose it, with the conversations for which it did.
fn chosen(rule: &Value) -> String {
    let conversations = rule["conversations"].as_array().into_iter().flatten();
    let conversations: Vec<String> = conversations.filter_map(|id| id.as_str().map(output::plain)).collect();
    format!("{}: {}", text(rule, "rule"), conversations.join(", "))
}

/// Whether it was made by somebody else.
fn is_theirs(env: &Value) -> bool {
    env["origin"] == "hermes" || env["origin"] == "foreign"
}

/// Whether a person can be asked.
pub(super) fn can_ask(context: &Context) -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && !context.json
}

fn stop(context: &Context, out: &Printer, stop: Stop) -> Result<u8, Failure> {
    let mut yes = stop.yes;
    if !yes && can_ask(context) {
        let reply = context.call(&ApiCall::EnvShow(EnvRef { env: stop.env.clone() }))?;
        let env = &reply["environment"];
        if is_theirs(env) {
            if !asked(out, env, "stop", false)? {
                out.line("nothing was stopped")?;
                return Ok(ErrorCode::Failed.exit_code());
            }
            yes = true;
        }
    }
    let call = ApiCall::EnvStop(EnvStop { env: stop.env.clone(), force: stop.force, yes });
    context.show(&call, |reply| {
        let name = output::plain(&stop.env);
        match seconds_until(&reply["environment"]["watched"]["swept_from"]) {
            Some(left) => out.line(&format!(
                "{name} is stopped; hermes-agent deletes it at its next start after {}: `hermes-tui env start {name}` keeps it",
                clock(left)
            )),
            None => out.line(&format!("{name} is stopped; its files are kept")),
        }
    })
}

/// Says what follows for one that is not ours, and asks; what cannot be made again must be named.
fn asked(out: &Printer, env: &Value, verb: &str, by_name: bool) -> Result<bool, Failure> {
    let name = text(env, "name");
    out.line(&out.styled(&format!("{verb} {name} ({}, {})?", text(env, "origin"), text(env, "phase")), Style::Bold))?;
    for consequence in env["consequences"][verb].as_array().into_iter().flatten() {
        out.line(&format!("  - {}", output::plain(consequence.as_str().unwrap_or_default())))?;
    }
    Ok(if by_name {
        output::ask(&format!("Type its name to {verb} its container for good:"))? == name
    } else {
        output::confirm(&format!("{verb} it?"))?
    })
}

fn candidates(out: &Printer, reply: &Value) -> Result<(), Failure> {
    let row = |one: &Value| {
        let state = text(one, "state");
        let style = if state == "running" { Style::Green } else { Style::Dim };
        vec![
            (text(one, "name"), Style::Bold),
            (text(one, "container").chars().take(12).collect(), Style::Dim),
            (text(one, "image"), Style::Plain),
            (state, style),
            (text(one, "endpoint"), Style::Plain),
        ]
    };
    let rows: Vec<Vec<(String, Style)>> = reply["candidates"].as_array().into_iter().flatten().map(row).collect();
    out.table(&["NAME", "ID", "IMAGE", "STATE", "ENDPOINT"], &rows, "no other containers here")?;
    for endpoint in reply["unreachable"].as_array().into_iter().flatten() {
        out.line(&out.styled(&format!("{}: {}", text(endpoint, "url"), text(endpoint, "detail")), Style::Red))?;
    }
    Ok(())
}

/// Removes one that is not ours, or takes it off the list. `None` if it is ours.
fn rm_other(context: &Context, out: &Printer, remove: &Remove) -> Result<Option<u8>, Failure> {
    let show = ApiCall::EnvShow(EnvRef { env: remove.env.clone() });
    let reply = if remove.yes || can_ask(context) {
        context.call(&show)
    } else {
        // Nothing will be removed: no host is started to learn what.
        context.wait(async { Ok(context.running_host().await?.call(&show).await?) })
    };
    let Ok(reply) = reply else { return Ok(None) };
    let env = &reply["environment"];
    if !is_theirs(env) {
        return Ok(None);
    }
    let forgets = env["origin"] == "foreign" && !remove.container;
    let mut yes = remove.yes;
    // Without a container there is nothing to lose; where nobody can be asked, the host says what follows.
    if !yes && !forgets && !env["sandbox"].is_null() && can_ask(context) {
        if !asked(out, env, "remove", env["origin"] == "foreign")? {
            out.line("nothing was removed")?;
            return Ok(Some(ErrorCode::Failed.exit_code()));
        }
        yes = true;
    }
    let call = ApiCall::EnvRemove(EnvRemove {
        env: remove.env.clone(),
        force: remove.force,
        data: false,
        yes,
        container: remove.container,
    });
    let done = context.show(&call, |reply| {
        let name = output::plain(&remove.env);
        if reply["forgotten"] == true {
            out.line(&format!("{name} is no longer shown; its container is left as it is"))
        } else {
            out.line(&format!("{name} is removed"))
        }
    });
    done.map(Some)
}

fn image(env: &Value) -> String {
    let facts = &env["details"]["image"];
    let id = text(facts, "id");
    let digest = text(facts, "digest");
    match (text(env, "image"), id.trim_start_matches("sha256:").get(..12)) {
        (name, None) => name,
        (name, Some(id)) if digest.is_empty() => format!("{name} ({id})"),
        (name, Some(id)) => format!("{name} ({id}, {digest})"),
    }
}

/// What was asked for, and what the engine calls it where that is another word.
fn network(env: &Value) -> String {
    let (wanted, is) = (text(env, "network"), text(&env["details"], "network"));
    if is.is_empty() || is == wanted { wanted } else { format!("{wanted} ({is})") }
}

fn mount(mount: &Value) -> String {
    let mode = if mount["read_only"] == true { "ro" } else { "rw" };
    let source = match (text(mount, "source"), mount["kind"].as_str()) {
        (_, Some("layer")) => "its own files".to_owned(),
        (_, Some("tmpfs")) => "memory".to_owned(),
        (source, _) => source,
    };
    let lost = match (mount["survives_stop"].as_bool(), mount["survives_removal"].as_bool()) {
        (Some(false), _) => ", lost with a stop",
        (_, Some(false)) => ", lost with a removal",
        _ => "",
    };
    format!("{source} on {} {mode}{lost}", text(mount, "target"))
}

fn limit(limit: &Value) -> String {
    let not = if limit["enforced"] == false && !text(limit, "value").contains("not enforced") {
        " (not enforced here)"
    } else {
        ""
    };
    format!("{} {}{not}", text(limit, "name"), text(limit, "value"))
}

fn labels(labels: &Value) -> String {
    let all = labels.as_object().into_iter().flatten();
    let all: Vec<String> = all.map(|(name, _)| format!("{}={}", output::plain(name), text(labels, name))).collect();
    all.join("\n")
}

fn made(details: &Value) -> String {
    let at = |field: &str, word: &str| details[field].as_str().map(|_| format!("{word} {}", ago(&details[field])));
    let restart = details["restart"].as_str().map(|policy| format!("restart policy {}", output::plain(policy)));
    [at("created", "made"), at("started", "started"), restart].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn rm(context: &Context, out: &Printer, remove: &Remove) -> Result<u8, Failure> {
    if let Some(code) = rm_other(context, out, remove)? {
        return Ok(code);
    }
    if !remove.yes {
        if !can_ask(context) {
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
    let call = ApiCall::EnvRemove(EnvRemove {
        env: remove.env.clone(),
        force: remove.force,
        data: remove.data,
        yes: remove.yes,
        container: remove.container,
    });
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
    Ok(output::confirm("Remove it?")?)
}
