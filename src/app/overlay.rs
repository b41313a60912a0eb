//! What lies over the screen of one client, while it does.

use super::client::{FeedMark, Shown};
use super::copy::Seeking;
use super::form::Form;
use super::input::Line;
use super::layout::PaneId;
use super::model::TabId;
use super::msg::Container;
use crate::config::Programs;
use crate::domain::{CallId, ConversationId, EnvId, SessionId};
use crate::term::link::Link;
use std::collections::BTreeSet;
use std::sync::Arc;

/// At most one lies over a screen.
#[derive(Clone, PartialEq, Debug)]
pub enum Overlay {
    /// All keys.
    Help {
        /// First line shown.
        scroll: usize,
    },
    /// A list to pick from, filtered by what is typed.
    List {
        /// Of what.
        of: Listed,
        /// What is typed.
        input: Line,
        /// The selected row.
        selected: usize,
    },
    /// A question.
    Dialog(Dialog),
    /// One line to type.
    Prompt {
        /// For what.
        of: Prompted,
        /// What is typed.
        input: Line,
    },
    /// A new environment.
    Form(Form),
    /// Conversations, turns, commands.
    Turns(TurnList),
    /// What an environment's sandbox is made of, and what it uses while that is shown.
    Details {
        /// Of which environment.
        env: EnvId,
        /// First line shown.
        scroll: usize,
    },
    /// A verdict.
    Explain {
        /// On which environment.
        env: EnvId,
        /// First line shown.
        scroll: usize,
    },
}

/// What a list holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listed {
    /// Commands.
    Commands,
    /// Tabs, panes and environments.
    Places,
    /// What was copied.
    Buffers,
    /// Containers that are not listed; `None` while they are asked for.
    Containers(Option<Containers>),
    /// Links that were in sight.
    Links(Vec<Link>),
}

/// What is known of containers that are not listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Containers {
    /// Those that can be chosen.
    pub found: Vec<Container>,
    /// Why some places do not answer, one sentence each.
    pub failed: Vec<String>,
}

/// What a line is typed for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Prompted {
    /// A tab's name.
    TabName(TabId),
    /// An environment's name.
    EnvName(EnvId),
    /// The file for the text of a session.
    SaveAs(SessionId),
    /// A search in copy mode.
    Search(Box<Seeking>),
}

/// A question with consequences.
#[derive(Clone, PartialEq, Debug)]
pub struct Dialog {
    /// Names what it is about.
    pub title: String,
    /// What is lost.
    pub lost: Vec<String>,
    /// What survives.
    pub kept: Vec<String>,
    /// Further text.
    pub text: Vec<String>,
    /// The first is the safe one.
    pub choices: Vec<Choice>,
    /// The selected choice.
    pub selected: usize,
    /// The choice that destroys something.
    pub danger: Option<usize>,
}

/// One answer to a question.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// Its key; `None` = Esc.
    pub key: Option<char>,
    /// Its label.
    pub label: String,
    /// What it does.
    pub does: Deed,
}

impl Choice {
    /// An answer with its key; `None` = Esc.
    #[must_use]
    pub fn new(key: Option<char>, label: &str, does: Deed) -> Self {
        Self { key, label: label.to_owned(), does }
    }
}

/// What an answer does.
#[derive(Clone, PartialEq, Debug)]
pub enum Deed {
    /// Nothing.
    Nothing,
    /// Ends the session and closes its pane.
    EndPane(PaneId),
    /// Closes the pane; the session runs on.
    HidePane(PaneId),
    /// Stops a sandbox.
    Stop(EnvId),
    /// Removes an environment, and with `true` its files.
    Remove(EnvId, bool),
    /// Stops or removes one that is not ours: what follows was said.
    EndOther(EnvId, crate::domain::Deed),
    /// Takes a chosen one off the list.
    Forget(EnvId),
    /// Asks once more before the container of somebody else is removed.
    AskRemoval(EnvId),
    /// Copies the text that a session's program wants to copy, as it was shown; with an environment, its programs may do so
    /// without a question from then on.
    CopyWanted(SessionId, Arc<str>, Option<EnvId>),
    /// Says whether the programs of an environment may write to the clipboard.
    Programs(EnvId, Programs),
    /// Copies an address that was shown.
    CopyAddress(String),
    /// Ends everything; with `true` sandboxes are left running.
    Shutdown(bool),
}

/// The turn list.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TurnList {
    /// The selected row.
    pub selected: Option<TurnKey>,
    /// First row shown.
    pub scroll: usize,
    /// The filter.
    pub filter: Line,
    /// Whether the filter is being typed.
    pub filtering: bool,
    /// Which commands are shown, with the turns that have such ones.
    pub shown: Shown,
    /// Conversations and turns whose rows below are hidden or shown against the rule.
    pub toggled: BTreeSet<TurnKey>,
}

/// A row of the turn list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TurnKey {
    /// A conversation.
    Conversation(ConversationId),
    /// A turn or command in a conversation.
    Mark(ConversationId, FeedMark),
    /// Commands outside of turns that follow each other; the first of them.
    Outside(ConversationId, CallId),
}
