//! `config`: what the settings are and who says so, whether a file is right, where it is, and its schema. Needs no host.

use super::context::Context;
use super::output::{self, Failure, Printer, Style, print_json};
use crate::api::{ApiError, ErrorCode};
use crate::app::command::Bindings;
use crate::config::{self, Effective, Fault, Options, Problem, SETTINGS, Source};
use crate::runtime::config_files::{LoadedConfig, position};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub(super) enum Config {
    /// Each setting, what it is, and who says so: a flag, a variable, the file, or nobody
    Show(Show),
    /// Check a file: unknown keys, and values that cannot be used
    Check(Check),
    /// Print where the configuration is
    Path,
    /// Print the JSON Schema of the configuration, for editors
    Schema,
}

#[derive(Args, Debug)]
pub(super) struct Show {
    /// Only those that somebody changed
    #[arg(long)]
    changed: bool,
}

#[derive(Args, Debug)]
pub(super) struct Check {
    /// This file; without, the one that is in use, and the variables with it
    file: Option<PathBuf>,
}

pub(super) fn run(context: &Context, verb: Config) -> Result<u8, Failure> {
    let out = Printer::new();
    match verb {
        Config::Show(show) => self::show(context, &out, &show),
        Config::Check(check) => self::check(context, &out, check),
        Config::Path => path(context, &out),
        Config::Schema => {
            let text = serde_json::to_string_pretty(&config::schema()).unwrap_or_default();
            out.line(&text)?;
            Ok(0)
        }
    }
}

fn path(context: &Context, out: &Printer) -> Result<u8, Failure> {
    let (path, named_by) = context.config_file(&context.paths()?);
    if context.json {
        print_json(&json!({"schema": 1, "path": path, "exists": path.exists(), "named_by": named_by}))?;
    } else {
        out.line(&output::plain(&path.display().to_string()))?;
    }
    Ok(0)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn show(context: &Context, out: &Printer, show: &Show) -> Result<u8, Failure> {
    let file = context.config(&context.paths()?)?;
    let endpoint = |path: &str| {
        let named = context.endpoint.clone().filter(|_| path == "env.endpoint")?;
        Some(("--endpoint".to_owned(), toml::Value::String(named)))
    };
    let mut all = config::effective(&file.table, &variable, &endpoint);
    if show.changed {
        all.retain(|one| one.source != Source::Default);
    }
    if context.json {
        let settings: Vec<Value> = all.iter().map(|one| shape(one, &file)).collect();
        print_json(&json!({"schema": 1, "file": file.path, "exists": file.path.exists(), "settings": settings}))?;
        return Ok(0);
    }
    let row = |one: &Effective| {
        let (from, style) = match &one.source {
            Source::Default => ("default".to_owned(), Style::Dim),
            Source::File => (file.path.display().to_string(), Style::Plain),
            Source::Variable(name) | Source::Flag(name) => (name.clone(), Style::Cyan),
        };
        let strong = if one.source == Source::Default { Style::Plain } else { Style::Bold };
        vec![
            (output::plain(&one.path), strong),
            (output::plain(&one.value.to_string()), strong),
            (output::plain(&from), style),
        ]
    };
    let rows: Vec<Vec<(String, Style)>> = all.iter().map(row).collect();
    out.table(&["SETTING", "VALUE", "FROM"], &rows, "nothing is changed: every setting has its default")?;
    Ok(0)
}

fn shape(one: &Effective, file: &LoadedConfig) -> Value {
    let (source, from) = match &one.source {
        Source::Default => ("default", Value::Null),
        Source::File => ("file", json!(file.path)),
        Source::Variable(name) => ("variable", json!(name)),
        Source::Flag(name) => ("flag", json!(name)),
    };
    json!({"key": one.path, "value": one.value, "source": source, "from": from})
}

/// What the table of settings does not know: names of commands, and keys that are bound twice.
fn bindings(options: &Options) -> Vec<Fault> {
    let unknown = Bindings::unknown(&options.keys);
    let twice = Bindings::new(&options.keys).1.into_iter().skip(unknown.len());
    let twice = twice.map(|says| Fault { path: vec!["keys".to_owned()], says, nearest: None });
    let named = unknown.iter().map(|(section, name, nearest)| Fault {
        path: ["keys", section, name].map(str::to_owned).to_vec(),
        says: format!("there is no command `{name}`"),
        nearest: nearest.map(str::to_owned),
    });
    named.chain(twice).collect()
}

/// Values of variables that cannot be used.
fn of_variables() -> Vec<(String, Problem)> {
    let problem = |setting: &config::Setting| {
        let name = setting.variable();
        let must = setting.accepts(&config::variable_value(&variable(&name)?)).err()?;
        let message = format!("{name} is ignored: {must}");
        Some((name, Problem { key: setting.path.to_owned(), message, nearest: None, at: None }))
    };
    SETTINGS.iter().filter_map(problem).collect()
}

fn check(context: &Context, out: &Printer, check: Check) -> Result<u8, Failure> {
    let named = check.file.is_some();
    let context = match check.file {
        Some(file) => context.with_config(file),
        None => context.clone(),
    };
    let file = context.config(&context.paths()?)?;
    let found = config::check(&file.text, bindings).map_err(|error| {
        let message = format!("cannot use the configuration {}: {error}", file.path.display());
        ApiError::new(ErrorCode::Config, message, "correct it, or move the file away to run with the defaults")
    })?;
    let variables = if named { Vec::new() } else { of_variables() };
    let all: Vec<(Option<String>, Problem)> = found
        .into_iter()
        .map(|problem| (None, problem))
        .chain(variables.into_iter().map(|(name, problem)| (Some(name), problem)))
        .collect();
    let shown = file.path.display().to_string();
    let count = all.len();
    let many = if count == 1 { "1 problem".to_owned() } else { format!("{count} problems") };
    let error = ApiError::new(
        ErrorCode::Config,
        format!("{many} in the configuration {shown}"),
        "`hermes-tui config show` names every key and what is in force",
    );
    let code = if all.is_empty() { 0 } else { ErrorCode::Config.exit_code() };
    if context.json {
        let problems: Vec<Value> = all.iter().map(|(name, one)| problem(name.as_deref(), one, &file.text)).collect();
        let mut report = json!({"schema": 1, "file": shown, "exists": file.path.exists(), "problems": problems});
        if code != 0 {
            report["error"] = json!({"code": error.code, "message": error.message, "hint": error.hint});
        }
        print_json(&report)?;
        return Ok(code);
    }
    if code == 0 {
        let shown = output::plain(&shown);
        let said = if file.path.exists() { "nothing is wrong in" } else { "all defaults: there is no" };
        out.line(&format!("{said} {shown}"))?;
        return Ok(0);
    }
    for (name, problem) in &all {
        let place = match (name, problem.at.map(|at| position(&file.text, at))) {
            (Some(_), _) => String::new(),
            (None, Some((line, column))) => format!("{shown}, line {line}, column {column}: "),
            (None, None) => format!("{shown}: "),
        };
        let hint = problem.nearest.as_ref().filter(|name| !problem.message.contains(name.as_str()));
        let hint = hint.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        output::complain(&output::plain(&format!("{place}{}{hint}", problem.message)));
    }
    Err(Failure::Error(error))
}

fn problem(variable: Option<&str>, one: &Problem, text: &str) -> Value {
    let place = one.at.map(|at| position(text, at));
    json!({
        "key": one.key, "message": one.message, "nearest": one.nearest, "variable": variable,
        "line": place.map(|(line, _)| line), "column": place.map(|(_, column)| column),
    })
}
