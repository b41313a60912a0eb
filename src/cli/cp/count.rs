//! What was copied.

use super::super::output::bytes;
use serde_json::{Value, json};

/// Most names that are told of what was left out.
const NAMED: usize = 5;

/// How much was copied, and what was left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Count {
    pub(super) files: u64,
    pub(super) folders: u64,
    pub(super) links: u64,
    pub(super) bytes: u64,
    /// Sockets, pipes and devices: only what they are called could be copied.
    pub(super) skipped: Vec<String>,
}

impl Count {
    /// One file.
    pub(super) fn file(bytes: u64) -> Self {
        Self { files: 1, bytes, ..Self::default() }
    }

    /// For people.
    pub(super) fn sentence(&self) -> String {
        let many = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let mut parts = vec![many(self.files, "file")];
        if self.folders > 0 {
            parts.push(many(self.folders, "folder"));
        }
        if self.links > 0 {
            parts.push(many(self.links, "link"));
        }
        format!("{} ({})", parts.join(", "), bytes(self.bytes))
    }

    /// What was left out, for people.
    pub(super) fn left_out(&self) -> Option<String> {
        let names = self.skipped.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = self.skipped.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!self.skipped.is_empty()).then(|| format!("left out, being no files, folders or links: {names}{more}"))
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "files": self.files, "folders": self.folders, "links": self.links, "bytes": self.bytes,
            "skipped": self.skipped,
        })
    }
}
