//! `env.prune`: removes what is left over. Environments without a sandbox, a file or a use; and folders of files whose
//! environment is not listed any more, where that was asked for.

use super::about::{About, disk_use};
use super::protocol::EnvPrune;
use super::shapes;
use crate::domain::{EnvId, Environment, Origin, Phase, Refusal, Request, State};
use crate::runtime::erase::erase;
use crate::runtime::handle::HostHandle;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders inside of an environment's folder that hold its files.
const FILES: [&str; 2] = ["home", "workspace"];

/// An environment that is left over.
struct Leftover {
    id: EnvId,
    name: String,
    why: String,
}

/// A folder without an environment.
struct Orphan {
    id: String,
    path: PathBuf,
    bytes: u64,
}

/// Carries out the call: names what is left over, and removes it unless that is all that was asked for.
pub(super) async fn prune(host: &HostHandle, about: &About, params: &EnvPrune) -> Result<Value, Refusal> {
    let wanted = |id: &str| params.only.as_ref().is_none_or(|only| only.iter().any(|one| one == id));
    let mut envs = host
        .read(|model, _| {
            let state = &model.state;
            state.environments.values().filter_map(|env| leftover(state, env)).collect::<Vec<_>>()
        })
        .await?;
    let folders = about.folder_of_files().to_owned();
    let (kept, mut orphans) = looked(folders.clone(), envs.iter().map(|env| env.id.clone()).collect()).await;
    // Asked for after the look: an environment is listed before its folder is made, so one that was made meanwhile is
    // among these.
    let known = host.read(|model, _| model.state.environments.keys().cloned().collect::<BTreeSet<_>>()).await?;
    orphans.retain(|orphan| !known.contains(&EnvId::new(&*orphan.id)));
    envs.retain(|env| !kept.contains(&env.id) && wanted(env.id.as_str()));
    let left = orphans.len();
    orphans.retain(|orphan| params.data && wanted(&orphan.id));
    let mut orphans = measured(orphans).await;
    let mut failed = Vec::new();
    if !params.dry_run {
        let mut removed = Vec::new();
        for env in envs {
            match host.ask(Request::Remove { env: env.id.clone(), force: false, data: false }).await {
                Ok(_) => removed.push(env),
                Err(refusal) => failed.push(json!({"id": env.id, "name": env.name, "message": refusal.message})),
            }
        }
        envs = removed;
        let (done, refused) = deleted(folders, envs.iter().map(|env| env.id.clone()).collect(), orphans).await;
        orphans = done;
        failed.extend(refused);
    }
    let env = |env: &Leftover| json!({"id": env.id, "name": env.name, "why": env.why});
    let orphan = |one: &Orphan| json!({"id": one.id, "path": one.path, "bytes": one.bytes});
    Ok(shapes::reply(json!({
        "dry_run": params.dry_run,
        "environments": envs.iter().map(env).collect::<Vec<_>>(),
        "folders": orphans.iter().map(orphan).collect::<Vec<_>>(),
        "folders_left": left - orphans.len(),
        "failed": failed,
    })))
}

/// Whether nobody has a use for it: it has no sandbox, none is being made, and nothing waits for one.
fn leftover(state: &State, env: &Environment) -> Option<Leftover> {
    let runs = |id: &EnvId| state.sessions.values().any(|s| s.env == *id && !s.has_ended());
    let open = |id| state.conversations.get(id).is_some_and(|found| found.ended.is_none());
    let idle = env.origin == Origin::Managed
        && matches!(env.phase, Phase::Absent | Phase::Failed)
        && env.sandbox.is_none()
        && env.retry_at().is_none()
        && env.holders().is_empty()
        && !runs(&env.id)
        && !env.conversations.iter().any(open);
    let why = match (&env.phase, &env.failure) {
        (Phase::Failed, Some(failure)) => format!("it could not be made: {}", failure.message),
        _ => "it has no sandbox and no files".to_owned(),
    };
    idle.then(|| Leftover { id: env.id.clone(), name: env.name.clone(), why })
}

/// Which of these have files, and all folders of files that no record keeps.
async fn looked(folders: PathBuf, left: Vec<EnvId>) -> (BTreeSet<EnvId>, Vec<Orphan>) {
    let look = tokio::task::spawn_blocking(move || {
        let has = |id: &EnvId| FILES.iter().any(|part| has_files(&folders.join(id.as_str()).join(part)));
        (left.into_iter().filter(has).collect(), unrecorded(&folders))
    });
    look.await.unwrap_or_default()
}

/// Whether anything but folders lies below a folder. What cannot be read counts as a file.
fn has_files(folder: &Path) -> bool {
    let mut waiting = vec![folder.to_owned()];
    while let Some(one) = waiting.pop() {
        let entries = match fs::read_dir(&one) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(_) => return true,
        };
        for entry in entries {
            match entry.and_then(|entry| Ok((entry.file_type()?, entry.path()))) {
                Ok((kind, path)) if kind.is_dir() => waiting.push(path),
                _ => return true,
            }
        }
    }
    false
}

fn unrecorded(folders: &Path) -> Vec<Orphan> {
    let entries = fs::read_dir(folders).into_iter().flatten().flatten();
    let orphan = |entry: fs::DirEntry| {
        let id = entry.file_name().into_string().ok()?;
        let plain = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric());
        let path = entry.path();
        // A record in it means that a sandbox may still be there, on an endpoint that does not answer now.
        let recorded = || {
            let all = fs::read_dir(&path).into_iter().flatten().flatten();
            all.into_iter().any(|one| one.path().extension().is_some_and(|kind| kind == "json"))
        };
        let left = plain && entry.file_type().ok()?.is_dir() && !recorded();
        left.then_some(Orphan { bytes: 0, id, path })
    };
    let mut all: Vec<Orphan> = entries.filter_map(orphan).collect();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    all
}

async fn measured(mut orphans: Vec<Orphan>) -> Vec<Orphan> {
    let measuring = tokio::task::spawn_blocking(move || {
        orphans.iter_mut().for_each(|orphan| orphan.bytes = disk_use(&orphan.path));
        orphans
    });
    measuring.await.unwrap_or_default()
}

/// Deletes the empty folders of what was removed, and the orphans; gives those that are gone, and what failed.
async fn deleted(folders: PathBuf, removed: Vec<EnvId>, orphans: Vec<Orphan>) -> (Vec<Orphan>, Vec<Value>) {
    let deleting = tokio::task::spawn_blocking(move || {
        for id in removed {
            let folder = folders.join(id.as_str());
            // Only what is empty goes: `remove_dir` refuses everything else.
            for part in FILES.iter().map(|part| folder.join(part)).chain([folder.clone()]) {
                let _ = fs::remove_dir(part);
            }
        }
        let (mut done, mut failed) = (Vec::new(), Vec::new());
        for orphan in orphans {
            match erase(&orphan.path) {
                Ok(()) => done.push(orphan),
                Err(error) => failed.push(json!({"id": orphan.id, "name": null, "message": error.to_string()})),
            }
        }
        (done, failed)
    });
    deleting.await.unwrap_or_default()
}
