//! Background processes of a hermes-agent, as its `processes.json` lists them.
//!
//! The list is written by whichever process of a home wrote last, and is stale after a crash: an entry says what was
//! started, and only a look into the sandbox says that it lives.

use super::moment;
use crate::domain::Moment;
use serde_json::Value;
use std::path::Path;

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its id, for example `proc_0f9e1d569189`.
    pub id: String,
    /// Its command.
    pub command: String,
    /// Its number, in the sandbox unless [`Job::on_host`].
    pub pid: Option<u32>,
    /// Whether it runs on the host.
    pub on_host: bool,
    /// Where it was started.
    pub cwd: Option<String>,
    /// When.
    pub started: Moment,
    /// The key of the sandbox that it runs in.
    pub task: Option<String>,
}

/// Reads a home's list. Empty where there is none.
///
/// # Errors
/// The file cannot be read or understood, one sentence.
pub fn read(home: &Path) -> Result<Vec<Job>, String> {
    let path = home.join("processes.json");
    let failed = |why: String| format!("{} cannot be read: {why}", path.display());
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error.to_string())),
    };
    let all: Vec<Value> = serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
    Ok(all.iter().filter_map(job).collect())
}

fn job(entry: &Value) -> Option<Job> {
    let text = |name: &str| entry[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Some(Job {
        id: text("session_id")?,
        command: text("command").unwrap_or_default(),
        pid: entry["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()),
        on_host: entry["pid_scope"] == "host",
        cwd: text("cwd"),
        started: moment(entry["started_at"].as_f64().unwrap_or(0.0)),
        task: text("task_id"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_and_odd_ones_left_out() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(read(dir.path()), Ok(Vec::new()));
        let text = r#"[{"session_id": "proc_1", "command": "sleep 5", "pid": 35, "pid_scope": "sandbox",
            "cwd": "/tmp", "started_at": 1795987048.33941, "task_id": "default"}, 7, {"pid": 1}]"#;
        std::fs::write(dir.path().join("processes.json"), text).expect("written");
        let found = read(dir.path()).expect("a list");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].id.as_str(), found[0].pid, found[0].on_host), ("proc_1", Some(35), false));
        assert_eq!(found[0].started, Moment(1_795_987_048_339));
        std::fs::write(dir.path().join("processes.json"), "{").expect("written");
        assert!(read(dir.path()).expect_err("no list").contains("processes.json"));
    }
}
