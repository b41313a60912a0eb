//! Containers of others that are listed here: which the user chose, which environment each one stands for, and what
//! may change about them without a word of the engine.

use crate::domain::{Chosen, EnvId, Generation, Moment, Origin, SandboxId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// What is known of the containers of others.
#[derive(Default)]
pub struct Others {
    known: Mutex<Known>,
    changed: Notify,
}

/// All of it, from the last list on.
#[derive(Default)]
pub struct Known {
    /// What the user chose.
    pub chosen: Chosen,
    /// What each listed container stands for.
    pub listed: BTreeMap<SandboxId, Listed>,
    /// When something is due to change by time alone.
    pub due: Option<Moment>,
    /// Processes that may own a container; when one ends, something changes.
    pub owners: BTreeSet<u32>,
}

/// One listed container.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Whose it is.
    pub origin: Origin,
    /// Its environment.
    pub env: EnvId,
    /// Grows with each of its starts that was seen.
    pub generation: Generation,
    /// The last start, as the engine writes it.
    pub started_at: String,
}

impl Others {
    /// What is known, for a moment.
    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The user's choice. Whoever watches lists anew where others were chosen than before.
    pub fn choose(&self, chosen: Chosen) {
        let mut known = self.known();
        let before = std::mem::replace(&mut known.chosen, chosen);
        if before.keys != known.chosen.keys {
            self.changed.notify_one();
        }
    }

    /// Resolves when the choice has changed since the last time.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// What a container stands for, if the last list had it.
    pub fn of(&self, sandbox: &str) -> Option<Listed> {
        self.known().listed.get(&SandboxId::new(sandbox)).cloned()
    }
}

impl Known {
    /// Whether the user chose it. Names are given without the slash that the engine puts before them.
    pub fn is_chosen(&self, id: &str, names: &[String]) -> bool {
        let sandbox = SandboxId::new(id);
        self.chosen.has(&sandbox, "")
            || names.iter().any(|name| self.chosen.has(&sandbox, name.trim_start_matches('/')))
    }

    /// Counts a start that was not seen before as a generation of its own.
    pub fn note(&mut self, sandbox: &SandboxId, origin: Origin, env: EnvId, started_at: &str) -> Listed {
        let generation = match self.listed.get(sandbox) {
            Some(known) if known.started_at == started_at => known.generation,
            Some(known) => known.generation.next(),
            None => Generation(1),
        };
        let listed = Listed { origin, env, generation, started_at: started_at.to_owned() };
        self.listed.insert(sandbox.clone(), listed.clone());
        listed
    }

    /// Something is due at this time, or already earlier.
    pub fn due_at(&mut self, at: Moment) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_is_a_generation_and_is_counted_once() {
        let mut known = Known::default();
        let (id, env) = (SandboxId::new("c"), EnvId::new("e"));
        let mut note = |started: &str| known.note(&id, Origin::Hermes, env.clone(), started).generation;
        assert_eq!([note("t1"), note("t1"), note("t2"), note("t2")].map(|one| one.0), [1, 1, 2, 2]);
    }

    #[test]
    fn containers_are_chosen_by_id_or_by_name() {
        let known = Known {
            chosen: Chosen {
                keys: BTreeSet::from(["web".to_owned(), "abc".to_owned()]),
                known: BTreeMap::from([(SandboxId::new("renamed"), EnvId::new("e"))]),
            },
            ..Known::default()
        };
        assert!(known.is_chosen("x", &["/web".to_owned()]) && known.is_chosen("abc", &[]));
        assert!(known.is_chosen("renamed", &["/other".to_owned()]));
        assert!(!known.is_chosen("ab", &["/we".to_owned()]));
    }
}
