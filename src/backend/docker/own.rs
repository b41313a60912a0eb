//! Which execs in a container are ours, so that those of others can be told apart in the engine's events.

use super::inside;
use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// More than can be in flight at once: the end of one that is older may be taken for that of another's.
const KEPT: usize = 8192;

/// The execs that we started, the newest ones.
#[derive(Default)]
pub struct OwnExecs(Mutex<Known>);

#[derive(Default)]
struct Known {
    ids: HashSet<String>,
    order: VecDeque<String>,
}

impl OwnExecs {
    /// To be told before the exec is started: the engine says that it was made before we learn its id, and that it was
    /// started only after this.
    pub fn insert(&self, id: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.ids.insert(id.to_owned()) {
            return;
        }
        known.order.push_back(id.to_owned());
        if known.order.len() > KEPT
            && let Some(oldest) = known.order.pop_front()
        {
            known.ids.remove(&oldest);
        }
    }

    /// Whether an exec is ours, by its id, or by its command where that is known (the text of an event's action will
    /// do): every script of ours begins with the same words.
    pub fn contains(&self, id: &str, command: &str) -> bool {
        command.contains(inside::SIGN) || self.0.lock().unwrap_or_else(PoisonError::into_inner).ids.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_are_known_by_their_id_or_by_their_script() {
        let own = OwnExecs::default();
        own.insert("a");
        own.insert("a");
        assert!(own.contains("a", ""));
        assert!(!own.contains("b", "exec_create: bash -c hermes-tui: x"));
        let constant = [inside::SCAN, inside::SIGNAL, inside::FIND].map(str::to_owned);
        for script in constant.into_iter().chain([inside::command(), inside::session(None, false)]) {
            assert!(own.contains("b", &format!("exec_create: sh -c {script} htui /")), "{script}");
        }
    }

    #[test]
    fn only_the_newest_are_kept() {
        let own = OwnExecs::default();
        (0..=KEPT).for_each(|i| own.insert(&i.to_string()));
        assert!(!own.contains("0", ""));
        assert!(own.contains("1", "") && own.contains(&KEPT.to_string(), ""));
    }
}
