//! `reap`: what the reaper would do, and why; or have it act now.

use super::complete;
use super::context::Context;
use super::output::{Failure, Printer, Style, clock, seconds_until, text};
use crate::api::ApiCall;
use crate::api::protocol;
use clap::Args;
use serde_json::Value;

#[derive(Args, Debug)]
pub(super) struct Reap {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Explain the verdict on one environment, and do nothing
    #[arg(long, value_name = "ENV", add = complete::environment())]
    explain: Option<String>,
}

pub(super) fn run(context: &Context, reap: Reap) -> Result<u8, Failure> {
    let out = Printer::new();
    let explain = reap.explain.is_some();
    let call = ApiCall::Reap(protocol::Reap { dry_run: reap.dry_run, explain: reap.explain });
    context.show(&call, |reply| {
        let verdicts = reply["verdicts"].as_array().map(Vec::as_slice).unwrap_or_default();
        if explain { verdicts.iter().try_for_each(|each| in_full(&out, each)) } else { list(&out, verdicts) }
    })
}

fn style(kind: &str) -> Style {
    match kind {
        "reap" => Style::Red,
        "warn" | "frozen" => Style::Yellow,
        "held" => Style::Cyan,
        "keep" => Style::Green,
        _ => Style::Dim,
    }
}

fn list(out: &Printer, verdicts: &[Value]) -> Result<(), Failure> {
    let rows: Vec<Vec<(String, Style)>> = verdicts
        .iter()
        .map(|each| {
            let verdict = &each["verdict"];
            let kind = text(verdict, "kind");
            let style = style(&kind);
            vec![
                (text(each, "name"), Style::Bold),
                (kind, style),
                (seconds_until(&verdict["until"]).map(clock).unwrap_or_default(), Style::Plain),
                (text(verdict, "reason"), Style::Plain),
            ]
        })
        .collect();
    out.table(&["NAME", "VERDICT", "LEFT", "REASON"], &rows, "no environments: nothing to reap")
}

fn in_full(out: &Printer, each: &Value) -> Result<(), Failure> {
    let verdict = &each["verdict"];
    let kind = text(verdict, "kind");
    let left = seconds_until(&verdict["until"]).map(|left| format!(" (for {})", clock(left))).unwrap_or_default();
    let name = out.styled(&text(each, "name"), Style::Bold);
    out.line(&format!("{name}  {}{left}: {}", out.styled(&kind, style(&kind)), text(verdict, "reason")))?;
    let facts: Vec<(String, String)> = verdict["evidence"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|fact| (format!("  {}", text(fact, "what")), text(fact, "detail")))
        .collect();
    if facts.is_empty() {
        return Ok(());
    }
    let fields: Vec<(&str, String)> = facts.iter().map(|(what, detail)| (what.as_str(), detail.clone())).collect();
    out.fields(&fields)
}
