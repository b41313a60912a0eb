//! Limits that every process can set for itself (setrlimit(2)); always in force.

use super::super::protocol::Launch;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Most open files of one process, soft and hard.
const FILES: (u64, u64) = (4096, 65_536);

/// Sets them and names them for people. `is_root` is whether the host's user is root.
///
/// # Errors
/// One sentence.
pub fn set(launch: &Launch, is_root: bool) -> Result<Vec<(String, String)>, String> {
    let mut named = Vec::new();
    let lower = |resource, soft: u64, hard: u64| -> Result<u64, String> {
        let (_, most) = getrlimit(resource).map_err(|error| error.to_string())?;
        let hard = hard.min(most);
        setrlimit(resource, soft.min(hard), hard).map_err(|error| format!("{resource:?}: {error}"))?;
        Ok(soft.min(hard))
    };
    lower(Resource::RLIMIT_CORE, 0, 0)?;
    named.push(("core dumps".into(), "none".into()));
    let files = lower(Resource::RLIMIT_NOFILE, FILES.0, FILES.1)?;
    named.push(("open files".into(), format!("{files} per process")));
    let processes = lower(Resource::RLIMIT_NPROC, launch.max_processes, launch.max_processes)?;
    // The kernel does not apply this one to root (setrlimit(2)); then only a cgroup counts.
    if !is_root {
        named.push(("processes of the user".into(), processes.to_string()));
    }
    Ok(named)
}
