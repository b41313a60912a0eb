//! Copy mode: a cursor in a session's text with vi's motions, marks and search.

use super::layout::PaneId;
use crate::domain::SessionId;
use crate::term::{Pos, SelectionKind};

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
    /// What was searched last, and whether downwards.
    pub search: Option<(String, bool)>,
}
