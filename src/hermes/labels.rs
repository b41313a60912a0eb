//! Labels of the containers that a hermes-agent makes. They are its containers' identity; their names are random.

use crate::domain::TheirRetention;
use std::collections::HashMap;

/// The label that every container of a hermes-agent carries.
pub const MARK: &str = "hermes-agent";
/// Its value.
pub const MARKED: &str = "1";
const TASK: &str = "hermes-task-id";
const PROFILE: &str = "hermes-profile";
const RETENTION: &str = "hermes-session-retention";
/// The task whose container hermes-agent 0.19 makes for one look at the image, and never removes.
pub const PROBE: &str = "prompt-backend-probe";
const LONGEST: usize = 63;

/// What the labels of a container say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The profile, sanitised.
    pub profile: Option<String>,
    /// The task key that it serves, sanitised.
    pub task: Option<String>,
    /// What becomes of a container of one session, where its hermes-agent knows of such a thing.
    pub retention: Option<TheirRetention>,
}

impl Labels {
    /// Reads them. `None` when the container is not that of a hermes-agent.
    #[must_use]
    pub fn read(labels: &HashMap<String, String>) -> Option<Self> {
        let get = |name: &str| labels.get(name).filter(|text| !text.is_empty()).cloned();
        let marked = labels.get(MARK).is_some_and(|value| value == MARKED);
        marked.then(|| Self {
            profile: get(PROFILE),
            task: get(TASK),
            retention: get(RETENTION).map(|word| TheirRetention::read(&word)),
        })
    }

    /// Whether it was made for one look at the image.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        self.task.as_deref() == Some(PROBE)
    }
}

/// A text as it stands in a label. Much is lost: compare two texts only when both were sanitised.
#[must_use]
pub fn sanitise(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' };
    let clean: String = text.chars().map(keep).take(LONGEST).collect();
    if clean.is_empty() { "unknown".to_owned() } else { clean }
}

/// Whether a label may stand for this text.
#[must_use]
pub fn matches(label: &str, text: &str) -> bool {
    sanitise(label) == sanitise(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Retention;

    #[test]
    fn only_the_mark_makes_a_container_one_of_hermes() {
        let labels = |all: &[(&str, &str)]| {
            let all = all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Labels::read(&all.collect())
        };
        assert_eq!(labels(&[]), None);
        assert_eq!(labels(&[("hermes-task-id", "default")]), None);
        assert_eq!(labels(&[("hermes-agent", "0")]), None);
        let found = labels(&[("hermes-agent", "1"), ("hermes-task-id", PROBE), ("hermes-profile", "p")]);
        let found = found.expect("one of hermes");
        assert!(found.is_probe());
        assert_eq!((found.profile.as_deref(), found.retention), (Some("p"), None));
        let retention =
            |word: &str| labels(&[("hermes-agent", "1"), (RETENTION, word)]).and_then(|found| found.retention);
        assert_eq!(retention("idle_ttl"), Some(TheirRetention::Known(Retention::IdleTtl)));
        assert_eq!(retention("for_ever"), Some(TheirRetention::Other("for_ever".to_owned())));
        assert_eq!(retention(""), None);
    }

    #[test]
    fn a_label_is_compared_after_sanitising_both() {
        assert_eq!(sanitise("agent:main:dm/1 ü"), "agent_main_dm_1__");
        assert_eq!(sanitise(""), "unknown");
        assert_eq!(sanitise(&"x".repeat(80)).len(), 63);
        assert!(matches("agent_main", "agent:main"));
        assert!(!matches("agent_main", "agent:other"));
    }
}
