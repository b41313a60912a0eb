//! Which rows of the live screen changed, and when: whoever draws them again and again draws only those.

use super::Emulator;
use super::emulator::{Dimensions, TermDamage};

/// For each row the count of changes at its last one.
#[derive(Default)]
pub(super) struct Changes {
    count: u64,
    rows: Vec<u64>,
}

impl Changes {
    /// Takes in what the emulator says since the last time.
    pub(super) fn note(&mut self, term: &mut Emulator) {
        self.count += 1;
        let count = self.count;
        self.rows.resize(term.screen_lines(), count);
        match term.damage() {
            TermDamage::Full => self.rows.fill(count),
            TermDamage::Partial(lines) => {
                for line in lines {
                    if let Some(row) = self.rows.get_mut(line.line) {
                        *row = count;
                    }
                }
            }
        }
        term.reset_damage();
    }

    /// Everything changed.
    pub(super) fn all(&mut self, term: &Emulator) {
        self.count += 1;
        self.rows.clear();
        self.rows.resize(term.screen_lines(), self.count);
    }

    /// How many changes there were.
    pub(super) fn mark(&self) -> u64 {
        self.count
    }

    /// Rows that changed after there were so many.
    pub(super) fn since(&self, mark: u64) -> impl Iterator<Item = u16> {
        (0u16..).zip(&self.rows).filter(move |(_, count)| **count > mark).map(|(row, _)| row)
    }
}
