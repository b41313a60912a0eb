//! What `doctor` says of hermes-agents' hooks: which homes call us, whether they may, and what waits for the host.

use crate::hermes::home::Home;
use crate::hermes::hook_queue::waiting;
use crate::hermes::hook_setup::{Extent, HookSetup};
use crate::hermes::hooks::EVENTS;
use crate::runtime::discovery;
use crate::runtime::paths::Paths;
use serde_json::{Value, json};

/// What to put into a configuration, with an explanation.
const EXAMPLE: &str = include_str!("../../assets/hermes-hooks.example.yaml");

/// What was found.
pub(super) struct Hooks {
    homes: Vec<(Home, HookSetup)>,
    /// Events in the queue.
    waiting: usize,
}

/// What is to be said of one home.
pub(super) struct Verdict {
    /// Whether the hooks run; `None` where nobody set them.
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

    fn verdict(&self, home: &Home, setup: &HookSetup) -> Verdict {
        let profile = format!("profile {}", home.profile);
        if let Some(warning) = &setup.warning {
            let hint = "correct the file, or see what hermes-agent itself says of it".to_owned();
            return Verdict { works: Some(false), detail: format!("{profile}: {warning}"), hint };
        }
        let total = EVENTS.len();
        let (works, said, hint) = match setup.extent() {
            Extent::None => {
                let hint = format!("optional; what to put into {} is below", home.path.join("config.yaml").display());
                (None, "none is set; turns and commands are read from its records".to_owned(), hint)
            }
            _ if !setup.not_allowed.is_empty() => {
                let hint = "allow them when hermes asks, by `hermes --accept-hooks`, HERMES_ACCEPT_HOOKS=1, or \
                            `hooks_auto_accept: true`";
                let names = setup.not_allowed.join(", ");
                (Some(false), format!("{} of {total} are set, but not allowed: {names}", setup.set.len()), hint.into())
            }
            Extent::Some => {
                let hint =
                    format!("missing in {}: {}", home.path.join("config.yaml").display(), setup.missing().join(", "));
                (Some(true), format!("{} of {total} are set and allowed", setup.set.len()), hint)
            }
            Extent::All => (Some(true), format!("all {total} are set and allowed"), String::new()),
        };
        let waits = match self.waiting {
            0 => "no event waits for the host".to_owned(),
            1 => "1 event waits for the host".to_owned(),
            many => format!("{many} events wait for the host"),
        };
        Verdict { works, detail: format!("{profile}: {said}; {waits}"), hint }
    }

    /// What is missing where a home calls us for nothing, for people.
    pub(super) fn example(&self) -> Option<String> {
        let none = |(_, setup): &(Home, HookSetup)| setup.warning.is_none() && setup.extent() == Extent::None;
        self.homes.iter().any(none).then(|| {
            let lines = EXAMPLE.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
            lines.collect::<Vec<_>>().join("\n")
        })
    }

    pub(super) fn shape(&self) -> Value {
        let home = |(home, setup): &(Home, HookSetup)| {
            json!({
                "home": home.path.display().to_string(),
                "profile": home.profile,
                "extent": setup.extent().word(),
                "set": setup.set,
                "missing": setup.missing(),
                "not_allowed": setup.not_allowed,
                "warning": setup.warning,
            })
        };
        json!({
            "homes": self.homes.iter().map(home).collect::<Vec<_>>(),
            "waiting": self.waiting,
            "example": EXAMPLE,
        })
    }
}
