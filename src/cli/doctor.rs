//! `doctor`: what works here, what was tried, why it failed, and what to do next. Needs no host and starts none.

use super::context::Context;
use super::doctor_hooks::{Hooks, Verdict};
use super::output::{Failure, Printer, Style, plain, print_json};
use crate::api::ApiError;
use crate::api::ErrorCode;
use crate::backend::Backend;
use crate::backend::docker::places::Found;
use crate::backend::docker::{Spot, examine, mounted};
use crate::backend::local::LocalBackend;
use crate::runtime::options::{HostError, HostOptions};
use crate::runtime::{discovery, start};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What became of one thing that was looked at.
struct Check {
    /// `local`, `docker` or `hermes`.
    kind: &'static str,
    /// Of the endpoint, or what it is.
    name: String,
    /// Where it was looked for.
    url: Option<String>,
    /// Who said so.
    named_by: Option<String>,
    state: State,
    /// What was found, or why it failed.
    detail: String,
    hint: String,
    /// New environments of its backend go there.
    default: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Works,
    /// Nobody expects it to be there.
    Absent,
    Fails,
}

impl State {
    fn word(self) -> (&'static str, Style) {
        match self {
            Self::Works => ("ok", Style::Green),
            Self::Absent => ("absent", Style::Dim),
            Self::Fails => ("failed", Style::Red),
        }
    }
}

fn failed(error: HostError) -> Failure {
    Failure::Exit(error.exit_code, ApiError::new(ErrorCode::of_exit(error.exit_code), error.message, error.hint))
}

/// Exit code 0 when at least one backend works, else 4.
pub(super) fn run(context: &Context) -> Result<u8, Failure> {
    let paths = context.paths()?;
    let config = context.config(&paths)?;
    let options = HostOptions { paths, config, endpoint: context.endpoint.clone(), screen: false, leaves: false };
    let settings = start::settings(&options).map_err(failed)?;
    let local = start::local(&options.paths, &settings.options).map_err(failed)?;
    let engines = start::engines(&options, &settings.options);
    let hooks = Hooks::look(&options.paths);
    let warnings: Vec<String> = settings.warnings.iter().chain(&engines.warnings).cloned().collect();
    let checks = context.wait(async {
        let (local, docker) = tokio::join!(check_local(LocalBackend::new(local)), check_engines(&engines.spots));
        let docker = with_default(docker, &engines);
        let folders = check_folders(&engines.spots, &docker).await;
        Ok([local]
            .into_iter()
            .chain(docker)
            .chain(check_hermes())
            .chain(folders)
            .chain(check_hooks(&hooks))
            .collect::<Vec<_>>())
    })?;
    let works = checks.iter().any(|check| check.kind != "hermes" && check.state == State::Works);
    if context.json {
        print_json(&json!({
            "schema": 1,
            "works": works,
            "config": options.config.path.display().to_string(),
            "warnings": warnings,
            "checks": checks.iter().map(shape).collect::<Vec<_>>(),
            "hooks": hooks.shape(),
        }))?;
    } else {
        let out = Printer::new();
        print(&out, &checks, &warnings)?;
        if let Some(example) = hooks.example() {
            out.line("for a hermes-agent that tells at once how a turn ended:")?;
            out.line(&example)?;
        }
    }
    Ok(if works { 0 } else { ErrorCode::Unreachable.exit_code() })
}

async fn check_local(backend: LocalBackend) -> Check {
    let (state, detail, hint) = match backend.probe().await {
        Ok(probe) => {
            let missing: String = probe.unenforced.iter().map(|why| format!("; {why}")).collect();
            (State::Works, probe.description + &missing, String::new())
        }
        Err(error) => (State::Fails, error.message, error.hint),
    };
    Check { kind: "local", name: "local".into(), url: None, named_by: None, state, detail, hint, default: true }
}

/// Each place once, under the name that it has of its own.
async fn check_engines(spots: &[Spot]) -> Vec<Check> {
    let single = spots.iter().filter(|spot| spot.places.len() == 1);
    let checks = single.map(|spot| async move {
        let place = &spot.places[0];
        (spot, place, examine(place).await)
    });
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut all = Vec::new();
    for (spot, place, outcome) in futures_util::future::join_all(checks).await {
        let (state, detail, hint) = match outcome {
            Ok((description, id)) => {
                let first = id.and_then(|id| {
                    let first = known.entry(id).or_insert_with(|| spot.id.to_string());
                    (*first != spot.id.as_str()).then(|| format!("; the same engine as {first}"))
                });
                (State::Works, description + &first.unwrap_or_default(), String::new())
            }
            Err((why, _)) if !spot.expected => (State::Absent, why, String::new()),
            Err((why, hint)) => (State::Fails, why, hint),
        };
        let url = place.address.as_ref().ok().map(ToString::to_string);
        let (name, named_by) = (spot.id.to_string(), Some(place.origin.clone()));
        all.push(Check { kind: "docker", name, url, named_by, state, detail, hint, default: false });
    }
    all
}

/// Marks where new containers go: where that is the first usual place that answers, that one.
fn with_default(mut checks: Vec<Check>, found: &Found) -> Vec<Check> {
    let default = found.default.as_str();
    let of_choice = found.spots.iter().filter(|spot| spot.waits).map(|spot| spot.id.as_str()).collect::<Vec<_>>();
    let named = checks.iter().position(|check| check.name == default);
    let first = || {
        let answers = |check: &Check| check.state == State::Works && of_choice.contains(&check.name.as_str());
        checks.iter().position(answers)
    };
    if let Some(check) = named.or_else(first).and_then(|at| checks.get_mut(at)) {
        check.name = default.to_owned();
        check.default = true;
    }
    checks
}

fn check_hermes() -> Vec<Check> {
    let check = |detail| Check {
        kind: "hermes",
        name: "hermes-agent".into(),
        url: None,
        named_by: None,
        state: State::Works,
        detail,
        hint: String::new(),
        default: false,
    };
    discovery::hermes().into_iter().map(check).collect()
}

/// Whether hermes-agents tell us what they do.
fn check_hooks(hooks: &Hooks) -> Vec<Check> {
    let check = |verdict: Verdict| Check {
        kind: "hermes",
        name: "hermes-hooks".into(),
        url: None,
        named_by: None,
        state: match verdict.works {
            Some(true) => State::Works,
            Some(false) => State::Fails,
            None => State::Absent,
        },
        detail: verdict.detail,
        hint: verdict.hint,
        default: false,
    };
    hooks.verdicts().into_iter().map(check).collect()
}

/// Folders of hermes-agents whose containers are gone. Nothing is said where an engine that should be there does not
/// answer: its containers may use them.
async fn check_folders(spots: &[Spot], engines: &[Check]) -> Option<Check> {
    let fails = engines.iter().any(|check| check.state == State::Fails);
    if fails || !engines.iter().any(|check| check.state == State::Works) {
        return None;
    }
    let mut all = BTreeSet::new();
    let single = spots.iter().filter(|spot| spot.places.len() == 1);
    for told in futures_util::future::join_all(single.map(|spot| mounted(&spot.places[0]))).await {
        all.extend(told.unwrap_or_default());
    }
    let left = discovery::unused_folders(&all);
    let shown = left.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
    (!left.is_empty()).then(|| Check {
        kind: "hermes",
        name: "hermes-agent".into(),
        url: None,
        named_by: None,
        state: State::Works,
        detail: format!("files of containers that are gone: {shown}"),
        hint: "its next container for the same task uses them again; delete by hand what nobody needs".into(),
        default: false,
    })
}

fn shape(check: &Check) -> Value {
    json!({
        "kind": check.kind,
        "name": check.name,
        "url": check.url,
        "named_by": check.named_by,
        "state": check.state.word().0,
        "detail": check.detail,
        "hint": (!check.hint.is_empty()).then_some(&check.hint),
        "default": check.default,
    })
}

fn print(out: &Printer, checks: &[Check], warnings: &[String]) -> Result<(), Failure> {
    let width = checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    for check in checks {
        let (word, style) = check.state.word();
        let place = match (&check.url, &check.named_by) {
            (Some(url), Some(who)) => Some(format!("{url} ({who})")),
            (None, who) => who.clone(),
            (url, None) => url.clone(),
        };
        let said = match (check.state, place) {
            (_, None) => check.detail.clone(),
            (State::Works, Some(place)) => format!("{} at {place}", check.detail),
            (State::Absent | State::Fails, Some(place)) => format!("{place}: {}", check.detail),
        };
        let here = if check.default && check.kind == "docker" { "; new containers go there" } else { "" };
        let said = plain(&format!("{said}{here}"));
        out.line(&format!("{:width$}  {}  {said}", plain(&check.name), out.styled(&format!("{word:<6}"), style)))?;
        if !check.hint.is_empty() {
            out.line(&format!("{:width$}          {}", "", out.styled(&plain(&check.hint), Style::Dim)))?;
        }
    }
    for warning in warnings {
        out.line(&out.styled(&format!("configuration: {}", plain(warning)), Style::Yellow))?;
    }
    if !checks.iter().any(|check| check.kind == "docker" && check.state == State::Works) {
        out.line("no container engine answers: start docker or podman, or name one with --endpoint or DOCKER_HOST")?;
    }
    Ok(())
}
