//! `hook`: a hermes-agent says what it does. The agent waits for it, so it does nothing but put the event into the
//! profile's queue: no configuration, no host, no tasks. Whatever happens, it prints nothing and ends well; an event that
//! cannot be kept is lost, and hermes-agent's own records tell of it later.

use crate::domain::Moment;
use crate::hermes::hook_payload::understand;
use crate::hermes::hook_queue::{Limits, push};
use crate::hermes::hook_sieve;
use crate::runtime::paths::{Paths, private_dir};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::{self, IsTerminal};
use std::os::unix::fs::DirBuilderExt;
use std::panic;
use std::time::{SystemTime, UNIX_EPOCH};

/// Longer messages are dropped.
const LARGEST: u64 = 64 << 20;

/// Whether these words, the program's name among them, call this verb; whatever stands behind it is of no interest,
/// except where a person asks what the verb is for.
pub(super) fn is_meant(words: &[OsString]) -> bool {
    let mut words = words.iter().skip(1).map(|word| word.to_str().unwrap_or_default());
    while let Some(word) = words.next() {
        match word {
            "--json" => {}
            "--endpoint" | "--config" => {
                words.next();
            }
            "hook" => return !matches!(words.next(), Some("--help" | "-h")),
            _ if word.starts_with("--endpoint=") || word.starts_with("--config=") => {}
            _ => return false,
        }
    }
    false
}

/// Keeps the event on standard input. The exit code is always 0.
pub(super) fn run() -> u8 {
    panic::set_hook(Box::new(|_| {}));
    let _ = panic::catch_unwind(keep);
    0
}

/// `None` where nothing was kept.
fn keep() -> Option<String> {
    let bytes = message()?;
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(Moment(0), |time| Moment(time.as_millis() as u64));
    let event = understand(&bytes, at)?;
    let paths = Paths::find().ok()?;
    let folder = paths.hooks();
    DirBuilder::new().recursive(true).mode(0o700).create(&paths.data_dir).ok()?;
    private_dir(&folder).ok()?;
    push(&folder, &event, Limits::default()).ok()
}

fn message() -> Option<Vec<u8>> {
    let input = io::stdin();
    // Nobody types one.
    if input.is_terminal() {
        return None;
    }
    hook_sieve::read(input.lock(), LARGEST).ok()?
}

#[cfg(test)]
mod tests {
    use super::is_meant;
    use std::ffi::OsString;

    #[test]
    fn the_verb_is_known_whatever_stands_around_it() {
        let meant = |line: &str| is_meant(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        for line in ["x hook", "x hook --frobnicate", "x --json hook", "x --config f --endpoint=e hook a b"] {
            assert!(meant(line), "{line}");
        }
        for line in ["x", "x hook --help", "x --config hook", "x env hook", "x -- hook", "x --frobnicate hook"] {
            assert!(!meant(line), "{line}");
        }
    }
}
