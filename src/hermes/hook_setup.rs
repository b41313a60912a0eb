//! Whether the hooks of a hermes-agent tell us anything: what its `config.yaml` says, and what its user has allowed.
//!
//! The rules are those of hermes-agent 0.19 (`agent/shell_hooks.py`): a hook runs once its event and its command stand
//! together in `shell-hooks-allowlist.json`, or where everything in the file is accepted.

use super::hooks::EVENTS;
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

/// How many of our hooks stand in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Each of [`EVENTS`].
    All,
    /// Some of them.
    Some,
    /// None of them.
    None,
}

impl Extent {
    /// `all`, `some` or `none`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Some => "some",
            Self::None => "none",
        }
    }
}

/// What was found in a home.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookSetup {
    /// Events for which the configuration calls us.
    pub set: Vec<&'static str>,
    /// Those of them that do not run until they are allowed.
    pub not_allowed: Vec<&'static str>,
    /// Why nothing can be told; for people.
    pub warning: Option<String>,
}

impl HookSetup {
    /// Of a home.
    #[must_use]
    pub fn read(home: &Path) -> Self {
        let config = match config_text(home).and_then(|text| parse(&text.unwrap_or_default())) {
            Ok(config) => config,
            Err(why) => {
                let warning = format!("{} cannot be read: {why}", home.join("config.yaml").display());
                return Self { warning: Some(warning), ..Self::default() };
            }
        };
        let all_accepted = match &config.hooks_auto_accept {
            Value::Bool(truth) => *truth,
            Value::String(text) => matches!(text.trim().to_lowercase().as_str(), "1" | "true" | "yes" | "on"),
            _ => false,
        };
        let allowed = allowed(home);
        let mut found = Self::default();
        for event in EVENTS {
            let commands = ours(&config.hooks, event);
            if commands.is_empty() {
                continue;
            }
            found.set.push(event);
            let runs = |command: &String| allowed.contains(&(event.to_owned(), command.clone()));
            if !all_accepted && !commands.iter().any(runs) {
                found.not_allowed.push(event);
            }
        }
        found
    }

    /// How many of our hooks stand there.
    #[must_use]
    pub fn extent(&self) -> Extent {
        match self.set.len() {
            0 => Extent::None,
            all if all == EVENTS.len() => Extent::All,
            _ => Extent::Some,
        }
    }

    /// Events for which the configuration does not call us.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        EVENTS.into_iter().filter(|event| !self.set.contains(event)).collect()
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

/// The commands of an event that call us, as hermes-agent keeps them.
fn ours(hooks: &Value, event: &str) -> Vec<String> {
    let commands = hooks[event].as_array().into_iter().flatten().filter_map(|entry| entry["command"].as_str());
    commands.map(str::trim).filter(|command| calls_us(command)).map(str::to_owned).collect()
}

/// Whether one of the words is this program, by whatever path, and a later one the verb. Something may stand before
/// them, such as `env HTUI_HOME=DIR`.
fn calls_us(command: &str) -> bool {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    words.any(|word| word.rsplit('/').next() == Some("hermes-tui")) && words.any(|word| word == "hook")
}

/// Events and commands that the user has allowed. None where there is no file, or nothing is understood of it.
fn allowed(home: &Path) -> BTreeSet<(String, String)> {
    let mut text = String::new();
    let read = std::fs::File::open(home.join(ALLOWED)).and_then(|file| file.take(LARGEST).read_to_string(&mut text));
    let file: Value = read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default();
    let pair = |entry: &Value| Some((entry["event"].as_str()?.to_owned(), entry["command"].as_str()?.to_owned()));
    file["approvals"].as_array().into_iter().flatten().filter_map(pair).collect()
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
    fn the_example_has_every_event_and_nothing_runs_until_it_is_allowed() {
        let found = HookSetup::read(home(EXAMPLE, "").path());
        assert_eq!((found.extent(), found.set.as_slice()), (Extent::All, EVENTS.as_slice()));
        assert_eq!(found.not_allowed, EVENTS);
        assert!(found.missing().is_empty() && found.warning.is_none(), "{found:?}");
        for accept in ["hooks_auto_accept: true", "hooks_auto_accept: yes", "hooks_auto_accept: \"on\""] {
            assert!(HookSetup::read(home(&format!("{EXAMPLE}\n{accept}\n"), "").path()).not_allowed.is_empty());
        }
        assert_eq!(HookSetup::read(home(&format!("{EXAMPLE}\nhooks_auto_accept: 0\n"), "").path()), found);
    }

    #[test]
    fn a_hook_is_allowed_by_its_event_and_its_command_together() {
        let allowed = r#"{"approvals": [
            {"event": "pre_llm_call", "command": "/opt/bin/hermes-tui hook", "approved_at": "2026-01-01T00:00:00Z"},
            {"event": "on_session_end", "command": "hermes-tui  hook"}, 7]}"#;
        let config = "hooks:\n  pre_llm_call:\n    - command: ' /opt/bin/hermes-tui hook '\n  on_session_end:\n    \
                      - command: hermes-tui hook\n  on_session_reset:\n    - command: other-hermes-tui hook\n  \
                      subagent_stop: env HTUI_HOME=/x hermes-tui hook\n  output_spill: {chars: 5}\n";
        let found = HookSetup::read(home(config, allowed).path());
        assert_eq!(
            (found.extent(), found.set.as_slice()),
            (Extent::Some, ["pre_llm_call", "on_session_end"].as_slice())
        );
        assert_eq!(found.not_allowed, ["on_session_end"]);
        assert_eq!(found.missing().len(), EVENTS.len() - 2);
    }

    #[test]
    fn files_that_are_missing_odd_or_broken_are_no_failures() {
        let nothing = tempfile::tempdir().expect("a folder");
        assert_eq!(HookSetup::read(nothing.path()), HookSetup::default());
        for config in ["", "hooks:\n", "hooks: 5\n", "hooks: {pre_llm_call: [7, {command: 3}]}\n"] {
            assert_eq!(HookSetup::read(home(config, "[1]").path()).extent(), Extent::None, "{config}");
        }
        let broken = HookSetup::read(home("hooks: [secret", "{").path());
        let warning = broken.warning.expect("a warning");
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
