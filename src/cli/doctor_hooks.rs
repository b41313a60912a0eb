//! What `doctor` says of hermes-agents' hooks: which homes call us, whether they may, and what waits for the host.

use crate::hermes::home::Home;
use crate::hermes::hook_queue::waiting;
use crate::hermes::hook_setup::HookSetup;
use crate::runtime::discovery;
use crate::runtime::paths::Paths;
use serde_json::{Value, json};

/// What to put into a configuration, with an explanation.
const EXAMPLE: &str = include_str!("../../assets/hermes-hooks.example.yaml");

/// What was found.
pub(super) struct Hooks {
    homes: Vec<(Home, Result<HookSetup, String>)>,
    /// Events in the queue.
    waiting: usize,
}

/// What is to be said of one home.
pub(super) struct Verdict {
    /// Whether the hook runs; `None` where nobody set it.
    pub(super) works: Option<bool>,
    pub(super) detail: String,
    pub(super) hint: String,
}

impl Hooks {
    pub(super) fn look(paths: &Paths) -> Self {
        let with_setup = |home: Home| {
            let setup = HookSetup::read(&home.path);
            (home, setup)
        };
        Self { homes: discovery::homes().into_iter().map(with_setup).collect(), waiting: waiting(&paths.hooks()) }
    }

    /// For people, one for each home.
    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        self.homes.iter().map(|(home, setup)| self.verdict(home, setup)).collect()
    }

    fn verdict(&self, home: &Home, setup: &Result<HookSetup, String>) -> Verdict {
        let (works, said, hint) = match setup {
            Err(warning) => {
                let hint = "correct the file, or see what hermes-agent itself says of it";
                (Some(false), warning.as_str(), hint.to_owned())
            }
            Ok(HookSetup::Absent) => {
                let hint = format!("optional; what to put into {} is below", home.path.join("config.yaml").display());
                (None, "not set; how a turn ended is told by the next one", hint)
            }
            Ok(HookSetup::NotAllowed) => {
                let hint = "allow it when hermes asks, by `hermes --accept-hooks`, HERMES_ACCEPT_HOOKS=1, or \
                            `hooks_auto_accept: true`";
                (Some(false), "set, but not allowed", hint.to_owned())
            }
            Ok(HookSetup::Works) => (Some(true), "set and allowed", String::new()),
        };
        let waits = match self.waiting {
            0 => "no event waits for the host".to_owned(),
            1 => "1 event waits for the host".to_owned(),
            many => format!("{many} events wait for the host"),
        };
        Verdict { works, detail: format!("profile {}: {said}; {waits}", home.profile), hint }
    }

    /// What is missing where a home does not call us, for people.
    pub(super) fn example(&self) -> Option<String> {
        self.homes.iter().any(|(_, setup)| *setup == Ok(HookSetup::Absent)).then(|| {
            let lines = EXAMPLE.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
            lines.collect::<Vec<_>>().join("\n")
        })
    }

    pub(super) fn shape(&self) -> Value {
        let home = |(home, setup): &(Home, Result<HookSetup, String>)| {
            json!({
                "home": home.path.display().to_string(),
                "profile": home.profile,
                "state": setup.as_ref().map_or("unknown", |setup| setup.word()),
                "warning": setup.as_ref().err(),
            })
        };
        json!({
            "homes": self.homes.iter().map(home).collect::<Vec<_>>(),
            "waiting": self.waiting,
            "example": EXAMPLE,
        })
    }
}
