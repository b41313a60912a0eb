//! `doctor`: what works here, what was tried, why it failed, and what to do next. Needs no host and starts none.

use super::context::Context;
use super::output::{Failure, Printer, Style, plain, print_json};
use crate::api::ApiError;
use crate::api::ErrorCode;
use crate::backend::Backend;
use crate::backend::docker::{Place, Spot, examine};
use crate::backend::local::LocalBackend;
use crate::domain::EndpointId;
use crate::runtime::options::{HostError, HostOptions};
use crate::runtime::{discovery, start};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What became of one thing that was looked at.
struct Check {
    /// `local`, `docker` or `hermes`.
    kind: &'static str,
    /// Of the endpoint, or what it is.
    name: String,
    /// Where it was looked for, and who said so.
    place: Option<(String, String)>,
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
    let warnings: Vec<String> = settings.warnings.iter().chain(&engines.warnings).cloned().collect();
    let checks = context.wait(async {
        let (local, docker) = tokio::join!(check_local(LocalBackend::new(local)), check_engines(&engines.spots));
        let docker = with_default(docker, &engines.default);
        Ok([local].into_iter().chain(docker).chain(check_hermes()).collect::<Vec<_>>())
    })?;
    let works = checks.iter().any(|check| check.kind != "hermes" && check.state == State::Works);
    if context.json {
        print_json(&json!({
            "schema": 1,
            "works": works,
            "config": options.config.path.display().to_string(),
            "warnings": warnings,
            "checks": checks.iter().map(shape).collect::<Vec<_>>(),
        }))?;
    } else {
        print(&Printer::new(), &checks, &warnings)?;
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
    Check { kind: "local", name: "local".into(), place: None, state, detail, hint, default: true }
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
        let place = Some((address(place), place.origin.clone()));
        all.push(Check { kind: "docker", name: spot.id.to_string(), place, state, detail, hint, default: false });
    }
    all
}

fn address(place: &Place) -> String {
    place.address.as_ref().map_or_else(|_| "?".to_owned(), ToString::to_string)
}

/// Marks where new containers go: where that is the first usual place that answers, that one.
fn with_default(mut checks: Vec<Check>, default: &EndpointId) -> Vec<Check> {
    let named = checks.iter().position(|check| check.name == default.as_str());
    let first = || checks.iter().position(|check| check.state == State::Works);
    if let Some(check) = named.or_else(first).and_then(|at| checks.get_mut(at)) {
        check.default = true;
    }
    checks
}

fn check_hermes() -> Vec<Check> {
    let check = |detail| Check {
        kind: "hermes",
        name: "hermes-agent".into(),
        place: None,
        state: State::Works,
        detail,
        hint: String::new(),
        default: false,
    };
    discovery::hermes().into_iter().map(check).collect()
}

fn shape(check: &Check) -> Value {
    let (place, origin) = check.place.clone().unzip();
    json!({
        "kind": check.kind,
        "name": check.name,
        "url": place,
        "named_by": origin,
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
        let place = check.place.as_ref().map(|(url, origin)| format!(" at {url} ({origin})")).unwrap_or_default();
        let said = match check.state {
            State::Works => format!("{}{place}", check.detail),
            State::Absent | State::Fails => format!("{}: {}", place.trim_start_matches(" at "), check.detail),
        };
        let here = if check.default && check.kind == "docker" { "; new containers go there" } else { "" };
        let said = plain(&format!("{}{here}", said.trim_start_matches(": ")));
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
