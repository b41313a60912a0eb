//! What one terminal has of its own: focus, mode, scroll, marks, sidebar, overlay.

use super::copy::Copying;
use super::input::Line;
use super::layout::{Border, PaneId};
use super::model::{GroupKey, TabId};
use super::msg::{ClientCaps, Role};
use super::needs::Need;
use super::only::Only;
use super::overlay::Overlay;
use crate::domain::{Call, CallId, EnvId, Moment, SessionId, Size, TurnId, TurnStatus};
use crate::term::Selection;
use std::collections::{BTreeMap, BTreeSet};

/// Red, green and blue.
pub(super) type Rgb = (u8, u8, u8);

/// What one terminal has of its own.
pub struct Client {
    /// Its size.
    pub size: Size,
    /// What it can do.
    pub caps: ClientCaps,
    /// The colours of its text and its background, once it told them.
    pub(super) colours: (Option<Rgb>, Option<Rgb>),
    /// How it stands to the host.
    pub role: Role,
    /// The one session that it shows, where it shows nothing else.
    pub only: Option<Only>,
    /// The tab it shows.
    pub tab: Option<TabId>,
    /// The tab it showed before.
    pub last_tab: Option<TabId>,
    /// The focused pane of each tab, and the one before.
    pub focus: BTreeMap<TabId, (PaneId, Option<PaneId>)>,
    /// Keys go to the sidebar.
    pub nav: bool,
    /// The leader was pressed, or a repeatable command just ran.
    pub leader: Option<Leader>,
    /// Copy mode, in one pane.
    pub copying: Option<Copying>,
    /// What lies over everything.
    pub overlay: Option<Overlay>,
    /// The sidebar.
    pub sidebar: SidebarState,
    /// Lines scrolled back, by session.
    pub scroll: BTreeMap<SessionId, Scrolled>,
    /// The part of the feed that is shown, by pane.
    pub feed: BTreeMap<PaneId, FeedPlace>,
    /// What needs a person, and to which it went last.
    pub(super) needed: Option<Need>,
    /// Marked text.
    pub marked: Option<(PaneId, Selection)>,
    /// When a key was typed into a pane last.
    pub(super) typed_at: Option<Moment>,
    /// What is typed now was meant for a pane that is gone.
    pub(super) stray: bool,
    /// What the mouse holds.
    pub(super) drag: Option<Drag>,
    /// The place of the mouse, while it is over a link, and where that leads.
    pub(super) pointed: Option<(u16, u16, String)>,
    /// When and where the mouse was pressed last, and how often in a row.
    pub(super) clicked: Option<(Moment, u16, u16, u8)>,
    /// The terminal has the focus of its desktop.
    pub focused: bool,
    /// Something it shows changed.
    pub(super) dirty: bool,
    /// A program that it shows printed something.
    pub(super) printed: bool,
}

/// What of a client's screen is to be drawn again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Changed {
    /// Nothing.
    #[default]
    Nothing,
    /// What programs show, and nothing around it.
    Output,
    /// Anything.
    All,
}

/// Waiting for the key after the leader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leader {
    /// Until a key comes.
    Pressed,
    /// A repeatable command ran: its keys work until then without the leader.
    Repeating(Moment),
}

/// How far a session is scrolled back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scrolled {
    /// The line on top (absolute), so that output does not move what is read.
    pub top: u64,
    /// The numbering of lines it belongs to.
    pub epoch: u64,
}

/// The part of a feed that is shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeedPlace {
    /// Lines from the end.
    pub back: usize,
    /// The highlighted turn or command.
    pub selected: Option<FeedMark>,
    /// Commands whose whole output is shown.
    pub whole: BTreeSet<CallId>,
    /// Which commands are shown.
    pub shown: Shown,
    /// The filter.
    pub filter: Line,
    /// Whether the filter is being typed.
    pub filtering: bool,
}

/// Which commands a feed or the turn list shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shown {
    /// All.
    #[default]
    All,
    /// Those that failed.
    Failed,
    /// Those that run.
    Running,
}

impl Shown {
    /// The next one, in a circle.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::All => Self::Failed,
            Self::Failed => Self::Running,
            Self::Running => Self::All,
        }
    }

    /// For people; nothing where all are shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Failed => "failed",
            Self::Running => "running",
        }
    }

    /// Whether a command is among them.
    #[must_use]
    pub fn has(self, call: &Call) -> bool {
        match self {
            Self::All => true,
            Self::Failed => call.exit_code.is_some_and(|code| code != 0),
            Self::Running => call.ended.is_none(),
        }
    }

    /// Whether a turn is among them, whatever its commands are.
    #[must_use]
    pub fn has_turn(self, status: TurnStatus) -> bool {
        match self {
            Self::All => true,
            Self::Failed => matches!(status, TurnStatus::Failed | TurnStatus::Interrupted),
            Self::Running => status == TurnStatus::Running,
        }
    }
}

/// A place in a feed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FeedMark {
    /// A turn.
    Turn(TurnId),
    /// A command.
    Call(CallId),
}

/// What the mouse holds.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Drag {
    /// A border between panes.
    Border(TabId, Border),
    /// The end of a selection.
    Select(PaneId, Selection),
    /// The program has the mouse until the button is released.
    Program(PaneId),
}

/// The sidebar of one client.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SidebarState {
    /// Hidden.
    pub hidden: bool,
    /// The selected row.
    pub selected: Option<RowKey>,
    /// Folded groups.
    pub folded: BTreeSet<GroupKey>,
    /// Environments with details.
    pub details: BTreeSet<EnvId>,
    /// The filter.
    pub filter: Option<Line>,
    /// Whether the filter is being typed.
    pub filtering: bool,
    /// First row shown.
    pub scroll: usize,
}

/// A row that can be selected.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RowKey {
    /// A group.
    Group(GroupKey),
    /// An environment.
    Env(EnvId),
}

impl Client {
    /// A client that just attached.
    pub(super) fn new(size: Size, caps: ClientCaps, role: Role) -> Self {
        Self {
            size,
            caps,
            colours: (None, None),
            role,
            only: None,
            tab: None,
            last_tab: None,
            focus: BTreeMap::new(),
            nav: true,
            leader: None,
            copying: None,
            overlay: None,
            sidebar: SidebarState::default(),
            scroll: BTreeMap::new(),
            feed: BTreeMap::new(),
            needed: None,
            marked: None,
            typed_at: None,
            stray: false,
            drag: None,
            pointed: None,
            clicked: None,
            focused: true,
            dirty: true,
            printed: false,
        }
    }
}
