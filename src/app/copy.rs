//! Copy mode: a cursor in a session's text with vi's motions, marks and search.

use super::layout::PaneId;
use crate::domain::SessionId;
use crate::term::motion::Find;
use crate::term::{Finder, Pos, SelectionKind};

/// Largest count before a motion.
pub const MAX_COUNT: u32 = 999_999;

/// Copy mode in one pane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copying {
    /// Where.
    pub pane: PaneId,
    /// What is read.
    pub session: SessionId,
    /// The cursor.
    pub at: Pos,
    /// The numbering of lines that the cursor belongs to.
    pub epoch: u64,
    /// Where marking began, and how.
    pub mark: Option<(Pos, SelectionKind)>,
    /// What was searched last.
    pub search: Option<Searched>,
    /// The count that is being typed.
    pub count: Option<u32>,
    /// What the next key belongs to.
    pub waits: Option<Waits>,
    /// The character that was gone to last.
    pub find: Option<Find>,
}

/// A key that is not complete yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// `f F t T`: for the character.
    For {
        /// To the right.
        forward: bool,
        /// Only up to the cell before it.
        till: bool,
    },
    /// `g` went to the first line at once; `e` after it goes from where that began.
    G(Pos),
}

/// What was searched, and how it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Searched {
    /// The query.
    pub finder: Finder,
    /// Whether `n` goes downwards.
    pub down: bool,
    /// Which match the cursor went to, from 1, and how many there are.
    pub count: (usize, usize),
    /// Where that match begins.
    pub here: Option<Pos>,
}

/// A search that is being typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seeking {
    /// Downwards.
    pub down: bool,
    /// What is typed is a regular expression.
    pub regex: bool,
    /// How often, as counted before the key.
    pub count: u32,
    /// Where it began: the cursor, the line on top, and what was searched before.
    pub(super) from: (Pos, usize, Option<Searched>),
    /// Why what is typed cannot be searched for.
    pub problem: Option<String>,
}
