//! Whether the hook of a hermes-agent tells us anything: what its `config.yaml` says, and what its user has allowed.
//!
//! The rules are those of hermes-agent 0.19 (`agent/shell_hooks.py`): a hook runs once its event and its command stand
//! together in `shell-hooks-allowlist.json`, or where everything in the file is accepted.

use super::hooks::EVENT;
use super::settings::{config_text, not_understood};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// Where a hermes-agent keeps what its user has allowed, in its home.
pub const ALLOWED: &str = "shell-hooks-allowlist.json";
/// Larger files are not read.
const LARGEST: u64 = 1 << 20;

/// How our hook stands in a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HookSetup {
    /// The configuration does not call us.
    #[default]
    Absent,
    /// It does, but hermes-agent does not until its user allows it.
    NotAllowed,
    /// It is called.
    Works,
}

impl HookSetup {
    /// Of a home.
    ///
    /// # Errors
    /// Its configuration cannot be read or understood, one sentence.
    pub fn read(home: &Path) -> Result<Self, String> {
        let config = config_text(home)
            .and_then(|text| parse(&text.unwrap_or_default()))
            .map_err(|why| format!("{} cannot be read: {why}", home.join("config.yaml").display()))?;
        let commands = ours(&config.hooks);
        if commands.is_empty() {
            return Ok(Self::Absent);
        }
        let all_accepted = match &config.hooks_auto_accept {
            Value::Bool(truth) => *truth,
            Value::String(text) => matches!(text.trim().to_lowercase().as_str(), "1" | "true" | "yes" | "on"),
            _ => false,
        };
        let allowed = allowed(home);
        let works = all_accepted || commands.iter().any(|command| allowed.contains(command));
        Ok(if works { Self::Works } else { Self::NotAllowed })
    }

    /// `absent`, `not_allowed` or `works`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::NotAllowed => "not_allowed",
            Self::Works => "works",
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Config {
    hooks: Value,
    hooks_auto_accept: Value,
}

fn parse(text: &str) -> Result<Config, String> {
    let config: Option<Config> = serde_saphyr::from_str(text).map_err(|error| not_understood(&error))?;
    Ok(config.unwrap_or_default())
}

/// The commands that call us, as hermes-agent keeps them.
fn ours(hooks: &Value) -> Vec<String> {
    let commands = hooks[EVENT].as_array().into_iter().flatten().filter_map(|entry| entry["command"].as_str());
    commands.map(str::trim).filter(|command| calls_us(command)).map(str::to_owned).collect()
}

/// Whether one of the words is this program, by whatever path, and a later one the verb. Something may stand before
/// them, such as `env HTUI_HOME=DIR`.
fn calls_us(command: &str) -> bool {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    words.any(|word| word.rsplit('/').next() == Some("hermes-tui")) && words.any(|word| word == "hook")
}

/// Commands that the user has allowed for our event. None where there is no file, or nothing is understood of it.
fn allowed(home: &Path) -> BTreeSet<String> {
    let mut text = String::new();
    let read = std::fs::File::open(home.join(ALLOWED)).and_then(|file| file.take(LARGEST).read_to_string(&mut text));
    let file: Value = read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default();
    let all = file["approvals"].as_array().into_iter().flatten().filter(|entry| entry["event"] == EVENT);
    all.filter_map(|entry| entry["command"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("../../assets/hermes-hooks.example.yaml");

    fn home(config: &str, allowed: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("config.yaml"), config).expect("written");
        std::fs::write(dir.path().join(ALLOWED), allowed).expect("written");
        dir
    }

    #[test]
    fn the_example_calls_us_and_nothing_runs_until_it_is_allowed() {
        let found = |more: &str| HookSetup::read(home(&format!("{EXAMPLE}\n{more}\n"), "").path());
        assert_eq!(found(""), Ok(HookSetup::NotAllowed));
        for accept in ["hooks_auto_accept: true", "hooks_auto_accept: yes", "hooks_auto_accept: \"on\""] {
            assert_eq!(found(accept), Ok(HookSetup::Works), "{accept}");
        }
        assert_eq!(found("hooks_auto_accept: 0"), Ok(HookSetup::NotAllowed));
    }

    #[test]
    fn a_hook_is_allowed_by_its_event_and_its_command_together() {
        let allowed = r#"{"approvals": [7,
            {"event": "pre_llm_call", "command": "hermes-tui hook"},
            {"event": "on_session_end", "command": "/opt/bin/hermes-tui hook", "approved_at": "2026-01-01T00:00:00Z"},
            {"event": "on_session_end", "command": "hermes-tui  hook"}]}"#;
        let found = |command: &str| {
            let config =
                format!("hooks:\n  on_session_end:\n    - command: '{command}'\n  output_spill: {{chars: 5}}\n");
            HookSetup::read(home(&config, allowed).path())
        };
        assert_eq!(found(" /opt/bin/hermes-tui hook "), Ok(HookSetup::Works));
        assert_eq!(found("hermes-tui hook"), Ok(HookSetup::NotAllowed));
        assert_eq!(found("other-hermes-tui hook"), Ok(HookSetup::Absent));
    }

    #[test]
    fn files_that_are_missing_odd_or_broken_are_no_failures() {
        let nothing = tempfile::tempdir().expect("a folder");
        assert_eq!(HookSetup::read(nothing.path()), Ok(HookSetup::Absent));
        let other = "hooks: {pre_llm_call: [{command: hermes-tui hook}]}\n";
        for config in ["", "hooks:\n", "hooks: 5\n", "hooks: {on_session_end: [7, {command: 3}]}\n", other] {
            assert_eq!(HookSetup::read(home(config, "[1]").path()), Ok(HookSetup::Absent), "{config}");
        }
        let warning = HookSetup::read(home("hooks: [secret", "{").path()).expect_err("a warning");
        assert!(warning.contains("config.yaml") && !warning.contains("secret"), "{warning}");
    }

    #[test]
    fn our_command_is_known_by_its_words() {
        for command in ["hermes-tui hook", "/a/b/hermes-tui hook", "env HTUI_HOME=/x 'hermes-tui' --json hook"] {
            assert!(calls_us(command), "{command}");
        }
        for command in ["hook hermes-tui", "hermes-tui events", "my-hermes-tui hook", ""] {
            assert!(!calls_us(command), "{command}");
        }
    }
}
