//! `cp`: files and folders into an environment and out of it, through commands inside.

mod command;
mod count;
mod inside;
mod pack;
mod place;
mod source;
mod stage;
mod trouble;
mod unpack;

use super::complete;
use super::context::Context;
use super::output::{self, Failure, Printer, print_json};
use crate::api::{ApiError, ErrorCode};
use clap::Args;
use command::{Ended, Inside, Streams};
use count::Count;
use place::{Place, name_of};
use serde_json::json;
use source::Source;
use stage::Stage;
use std::io::{self, BufReader, Write};
use tokio::sync::mpsc;
use tokio::task::{JoinError, spawn_blocking};
use unpack::{Chunks, Head};

/// Pieces that wait on their way.
const WAITING: usize = 4;
/// What GNU tar ends with when files were written to while it read them.
const CHANGED: i64 = 1;

#[derive(Args, Debug)]
#[command(
    after_help = "A path in an environment is ENV:PATH, relative to /workspace unless it begins with /. `-` is standard \
                  input or output, for a single file. A folder is copied with all that is in it; a source that ends \
                  with /. means what is in it. Nothing stands at the destination before all of it has come."
)]
pub(super) struct Cp {
    /// From where: PATH, ENV:PATH or -
    #[arg(value_name = "SRC", add = complete::place())]
    from: String,
    /// To where: PATH, ENV:PATH or -
    #[arg(value_name = "DST", add = complete::place())]
    to: String,
}

/// What was copied, where it is now, and what is to be said beside.
struct Done {
    count: Count,
    /// None for a stream.
    to: Option<String>,
    warning: Option<String>,
}

pub(super) fn run(context: &Context, cp: Cp) -> Result<u8, Failure> {
    let Cp { from, to } = cp;
    let label = output::plain(&format!("cp {from} {to}"));
    let done = context.wait(async {
        match (Place::parse(&from), Place::parse(&to)) {
            (Place::Inside { .. }, Place::Inside { .. }) => Err(usage(
                "cannot copy from one environment to another at once",
                "copy through a stream: `hermes-tui cp A:FILE - | hermes-tui cp - B:FILE`, or through a folder here",
            )),
            (Place::Inside { env, path }, to) => {
                let mut inside = Inside::new(context.host().await?, one_line(env)?, label)?;
                fetch(&mut inside, &one_line(path)?, &from, to).await
            }
            (here, Place::Inside { env, path }) => {
                let (env, path) = (one_line(env)?, one_line(path)?);
                let source = Source::open(here)?;
                let mut inside = Inside::new(context.host().await?, env.clone(), label)?;
                send(&mut inside, source, (&env, &path), &to).await
            }
            _ => Err(usage(
                "neither side is in an environment",
                "write ENV:PATH for one of them; `hermes-tui env list` shows the environments",
            )),
        }
    })?;
    report(context, &done)?;
    Ok(0)
}

fn usage(message: &str, hint: &str) -> Failure {
    ApiError::new(ErrorCode::Usage, message, hint).into()
}

/// The scripts inside tell paths in lines.
fn one_line(path: String) -> Result<String, Failure> {
    if path.contains(['\n', '\0']) {
        return Err(usage(
            "a path with a line break in it cannot be copied by its name",
            "copy the folder that it is in",
        ));
    }
    Ok(path)
}

fn report(context: &Context, done: &Done) -> Result<(), Failure> {
    let Done { count, to, warning } = done;
    let warnings: Vec<String> = warning.iter().cloned().chain(count.left_out()).collect();
    let Some(to) = to else { return Ok(()) };
    if context.json {
        let mut reply = count.json();
        reply["schema"] = json!(1);
        reply["to"] = json!(to);
        reply["warnings"] = json!(warnings);
        return print_json(&reply);
    }
    for warning in warnings {
        let _ = writeln!(io::stderr(), "hermes-tui: {}", output::plain(&warning));
    }
    Printer::new().line(&format!("copied {} to {}", count.sentence(), output::plain(to)))
}

fn defect(error: &JoinError) -> ApiError {
    ApiError::new(ErrorCode::Internal, format!("copying met a defect: {error}"), "please report it")
}

/// Out of an environment.
async fn fetch(inside: &mut Inside, path: &str, from: &str, to: Place) -> Result<Done, Failure> {
    let (output, pieces) = mpsc::channel(WAITING);
    let name = name_of(path).map(str::to_owned);
    let taking = spawn_blocking(move || take(&mut Chunks::new(pieces), to, name.as_deref()));
    let ended = inside.run(inside::READ, &[path], Streams { output: Some(output), input: None }).await;
    // In any case: what was begun beside its place must be cleared away before we end.
    let taken = taking.await.map_err(|error| defect(&error))?;
    let ended = ended?;
    let tried = format!("copy {}", output::plain(from));
    let changed = changed_meanwhile(&ended);
    if !ended.killed && ended.code != 0 && !changed {
        return Err(trouble::inside(&tried, &ended.said).into());
    }
    let Some((count, stage)) = taken? else { return Err(trouble::inside(&tried, &ended.said).into()) };
    let warning = changed.then(|| format!("written to while it was read: {}", ended.said.trim()));
    let to = match stage {
        None => None,
        Some(stage) => {
            let shown = stage.shown().display().to_string();
            let placed = spawn_blocking(move || stage.commit()).await;
            placed.map_err(|error| defect(&error))??;
            Some(shown)
        }
    };
    Ok(Done { count, to, warning })
}

/// Whether all that went wrong is that files were written to while they were read: what came is whole all the same.
fn changed_meanwhile(ended: &Ended) -> bool {
    let harmless = |line: &str| {
        line.trim().is_empty() || line.contains("as we read it") || line.contains("removed before we read it")
    };
    ended.code == CHANGED && !ended.said.trim().is_empty() && ended.said.lines().all(harmless)
}

/// Takes in what comes: beside its place, or to a stream. None where nothing comes.
fn take(
    from: &mut BufReader<Chunks>,
    to: Place,
    name: Option<&str>,
) -> Result<Option<(Count, Option<Stage>)>, ApiError> {
    let head = unpack::head(from).map_err(|error| trouble::here("read", "what comes", &error))?;
    Ok(match (to, head) {
        (_, None) => None,
        (Place::Here(to), Some(Head::File(mode, size))) => {
            let stage = Stage::new(&to, name, false)?;
            Some((unpack::file(from, (mode, size), &stage)?, Some(stage)))
        }
        (Place::Here(to), Some(Head::Folder)) => {
            let stage = Stage::new(&to, name, true)?;
            Some((unpack::folder(from, &stage)?, Some(stage)))
        }
        (_, Some(Head::File(_, size))) => Some((unpack::to_stream(from, size, &mut io::stdout().lock())?, None)),
        (_, Some(Head::Folder)) => {
            let message = "cannot write a folder to standard output";
            return Err(ApiError::new(ErrorCode::Usage, message, "name a folder of this machine as the destination"));
        }
    })
}

/// Into an environment.
async fn send(inside: &mut Inside, source: Source, (env, path): (&str, &str), to: &str) -> Result<Done, Failure> {
    let (pieces, input) = mpsc::channel(WAITING);
    let (output, mut lines) = mpsc::channel::<Vec<u8>>(WAITING);
    let collecting = tokio::spawn(async move {
        let mut said = Vec::new();
        while let Some(bytes) = lines.recv().await {
            said.extend(bytes);
        }
        String::from_utf8_lossy(&said).into_owned()
    });
    let word = uuid::Uuid::new_v4().simple().to_string();
    let (kind, name, mode) = (source.kind(), source.name().unwrap_or_default(), format!("{:o}", source.mode()));
    let name = one_line(name)?;
    let (tried, endless) = (format!("copy to {}", output::plain(to)), source.is_endless());
    let packing = spawn_blocking(move || source.write(pieces));
    let words = [path, kind, &name, &word, &mode];
    let staged = inside.run(inside::STAGE, &words, Streams { input: Some(input), output: Some(output) }).await;
    let failed = staged.as_ref().map_or(true, |ended| ended.code != 0);
    // Who types into a stream that is not read any more may do so for ever.
    let packed = if failed && endless { None } else { Some(packing.await.map_err(|error| defect(&error))?) };
    let said = collecting.await.map_err(|error| defect(&error))?;
    let mut lines = said.lines();
    let (stage, place) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let count = match arrived(&tried, staged, packed) {
        Ok(count) => count,
        Err(failure) => {
            // The script clears away what it began; where it was ended too fast for that, we do.
            if !stage.is_empty() {
                let _ = inside.run(inside::DROP, &[stage], Streams::default()).await;
            }
            return Err(failure);
        }
    };
    let placed = inside.run(inside::COMMIT, &[stage, place], Streams::default()).await?;
    if placed.code != 0 {
        return Err(trouble::inside(&tried, &placed.said).into());
    }
    let place = place.strip_prefix("./").unwrap_or(place);
    Ok(Done { count, to: Some(format!("{env}:{place}")), warning: None })
}

/// What was sent, if all of it was sent and has arrived.
fn arrived(
    tried: &str,
    staged: Result<Ended, Failure>,
    packed: Option<Result<Count, ApiError>>,
) -> Result<Count, Failure> {
    let staged = staged?;
    let said = || Failure::from(trouble::inside(tried, &staged.said));
    match packed {
        _ if staged.code != 0 && !staged.killed => Err(said()),
        Some(Ok(count)) if staged.code == 0 => Ok(count),
        Some(Err(error)) => Err(error.into()),
        _ => Err(said()),
    }
}
