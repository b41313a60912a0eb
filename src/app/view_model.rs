//! What one client's screen shows, as plain data. `app` makes it, `ui` draws it; neither calls the other.
//!
//! Geometry is decided in `app::layout` (the mouse needs it too): rectangles here are final.

use crate::domain::{Moment, Phase, SessionId, Size, TurnStatus, VerdictKind};
use crate::term::{Match, Pos, Screen, Selection};

/// A rectangle in cells of the client's screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Area {
    /// Left column.
    pub x: u16,
    /// Top line.
    pub y: u16,
    /// Columns.
    pub width: u16,
    /// Lines.
    pub height: u16,
}

/// Everything on one client's screen.
pub struct ViewModel<'a> {
    /// Size of the client's terminal.
    pub size: Size,
    /// The panes are all there is: no sidebar, no tabs, no borders, and a last line only while the leader waits.
    pub bare: bool,
    /// Time of this drawing, for countdowns.
    pub now: Moment,
    /// Where keys go.
    pub mode: Mode,
    /// The list of environments.
    pub sidebar: Sidebar,
    /// Tabs of the focused workspace.
    pub tabs: Vec<Tab>,
    /// Where the tab bar is.
    pub tabs_area: Area,
    /// Panes of the shown tab; a zoomed pane is alone here.
    pub panes: Vec<Pane<'a>>,
    /// Where panes are (also when there is none).
    pub panes_area: Area,
    /// The last line.
    pub status: StatusBar,
    /// What lies over everything, at most one.
    pub overlay: Option<Overlay>,
    /// Passing messages, newest last.
    pub notices: Vec<Toast>,
    /// Shown in place of panes when there is none.
    pub welcome: Option<Welcome>,
}

/// Where keys go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Every key but the leader goes to the program.
    Pane,
    /// Keys move in the agent pane that has the focus.
    Agent,
    /// Keys move in the sidebar and run commands.
    Nav,
    /// The leader was pressed: the next key is a command.
    Leader,
    /// Keys move in the history of a pane.
    Copy,
    /// Keys go to what lies over the screen.
    Overlay,
}

/// The list of environments.
pub struct Sidebar {
    /// Where it is; `width == 0` = hidden.
    pub area: Area,
    /// True below 80 columns: glyphs only.
    pub strip: bool,
    /// Whether it has the focus (NAV).
    pub focused: bool,
    /// Rows to show, after folding, filtering and scrolling.
    pub rows: Vec<SidebarRow>,
    /// Index into `rows` of the selected one.
    pub selected: Option<usize>,
    /// Rows above the first and below the last shown.
    pub hidden: (usize, usize),
    /// The filter being typed, with the number of matches.
    pub filter: Option<(String, usize)>,
}

/// One line of the sidebar.
#[derive(Clone, PartialEq, Debug)]
pub enum SidebarRow {
    /// Origin and endpoint, for example `managed · local`.
    Group {
        /// Text.
        title: String,
        /// Whether its rows are hidden.
        folded: bool,
        /// Set when its endpoint does not answer.
        trouble: Option<String>,
    },
    /// An environment.
    Environment(EnvRow),
    /// A line of detail below the selected environment.
    Detail {
        /// Name of the fact.
        label: String,
        /// The fact.
        value: String,
    },
}

/// One environment in the sidebar.
#[derive(Clone, PartialEq, Debug)]
pub struct EnvRow {
    /// Name.
    pub name: String,
    /// Glyph: ready, working, stopped, lost, failed.
    pub phase: Phase,
    /// `Some(true)` persistent, `Some(false)` ephemeral, `None` unknown.
    pub persistent: Option<bool>,
    /// Whether a pane of this environment is focused.
    pub active: bool,
    /// Whether it is pinned.
    pub pinned: bool,
    /// A plain host shell: **HOST** in red.
    pub on_host: bool,
    /// Shares the host's network: badge `net`.
    pub host_network: bool,
    /// How many conversations share it, when more than one.
    pub shared_by: usize,
    /// The right-hand side.
    pub state: RowState,
}

/// What stands at the right of an environment's row.
#[derive(Clone, PartialEq, Debug)]
pub enum RowState {
    /// A running turn.
    Turn {
        /// Its number.
        number: u32,
    },
    /// Held by that many.
    Held(usize),
    /// Counting down.
    Countdown {
        /// Milliseconds left.
        left_ms: u64,
        /// Milliseconds of the whole idle time.
        total_ms: u64,
        /// Whether the warning was given.
        warned: bool,
    },
    /// A short word: `stopped`, `starting`, `failed · retry 0:12`, `lost`, `frozen`, `keeps running`, …
    Word(String),
}

/// One tab.
#[derive(Clone, PartialEq, Debug)]
pub struct Tab {
    /// From 1.
    pub number: usize,
    /// Title.
    pub title: String,
    /// Shown now.
    pub current: bool,
    /// Output since it was last shown.
    pub activity: bool,
    /// A bell since it was last shown.
    pub bell: bool,
    /// Number of the turn running in its conversation.
    pub turn: Option<u32>,
    /// A pane in it is zoomed.
    pub zoomed: bool,
}

/// Columns for the title of a tab, in a tab bar of that width.
#[must_use]
pub fn tab_title_room(bar: u16) -> u16 {
    bar.saturating_sub(12).clamp(4, 24)
}

/// The first and the last tab that fit into a tab bar, the current one among them; room for the counts of hidden ones is
/// kept. The mouse must find what is drawn.
#[must_use]
pub fn tabs_in_sight(widths: &[u16], current: usize, room: u16) -> (usize, usize) {
    let all: u32 = widths.iter().map(|w| u32::from(*w)).sum();
    if all <= u32::from(room) {
        return (0, widths.len().saturating_sub(1));
    }
    let room = u32::from(room.saturating_sub(8));
    let (mut first, mut last) = (current, current);
    let mut used = u32::from(widths[current]);
    loop {
        let before = first.checked_sub(1).map(|i| u32::from(widths[i])).filter(|w| used + w <= room);
        let after = widths.get(last + 1).map(|w| u32::from(*w)).filter(|w| used + w <= room);
        match (before, after) {
            (_, Some(w)) => {
                last += 1;
                used += w;
            }
            (Some(w), None) => {
                first -= 1;
                used += w;
            }
            (None, None) => return (first, last),
        }
    }
}

/// One pane.
pub struct Pane<'a> {
    /// Outer rectangle with its border. Neighbours share border lines: rectangles overlap by one cell.
    pub area: Area,
    /// Inner rectangle: the cells of the program.
    pub inner: Area,
    /// Focused.
    pub focused: bool,
    /// Receives what is typed into the focused one.
    pub synchronised: bool,
    /// `environment · session · program`.
    pub title: String,
    /// What an agent does in its environment meanwhile.
    pub agent: Option<AgentMark>,
    /// A plain host shell: **HOST (not isolated)** in red in the title.
    pub on_host: bool,
    /// At the right of the top border: exit status, `[12/300]` while scrolled, blocked escapes, size.
    pub marks: Vec<String>,
    /// Where the link leads that the mouse or the cursor of copy mode is on: in the place of the banner.
    pub link: Option<String>,
    /// At the bottom of the frame: idle warning, "ended, Enter = again, x = close", "sandbox gone 12:01: …".
    pub banner: Option<Banner>,
    /// What is inside.
    pub content: PaneContent<'a>,
}

/// What the frame of a session says about the agents in its environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentMark {
    /// One runs this command.
    Runs(String),
    /// A person has taken the environment over, and gives it back with this key; so many commands wait for that.
    Taken {
        /// The key.
        key: String,
        /// Commands.
        waiting: usize,
    },
}

/// A line in a pane's frame.
#[derive(Clone, PartialEq, Debug)]
pub struct Banner {
    /// Text.
    pub text: String,
    /// How much it matters.
    pub level: Level,
}

/// How much something matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// For information.
    Info,
    /// Something was done.
    Success,
    /// Look at it.
    Warning,
    /// Something failed.
    Error,
}

/// The screen of a session that runs, where nothing of ours lies over it.
pub struct Printed<'a> {
    /// Which session.
    pub session: &'a SessionId,
    /// Its cells.
    pub screen: &'a Screen,
    /// Where they are shown.
    pub inner: Area,
    /// Whether keys go to it.
    pub focused: bool,
}

/// What is inside a pane.
pub enum PaneContent<'a> {
    /// A session's screen; `dim` when it has ended.
    Terminal {
        /// Which session.
        session: SessionId,
        /// Its cells.
        screen: &'a Screen,
        /// Lines that this client has scrolled back; 0 = at the bottom.
        offset: usize,
        /// What this client has marked.
        selection: Option<Selection>,
        /// What is found of its search on the lines in sight, in order.
        found: Vec<Match>,
        /// Where the match begins that the cursor went to.
        here: Option<Pos>,
        /// Rows of prompts whose command has ended, and whether it succeeded.
        margin: Vec<(u16, bool)>,
        /// Ended or lost: drawn dim.
        dim: bool,
        /// The cursor in copy mode, in cells of the pane.
        copy_cursor: Option<(u16, u16)>,
    },
    /// Opening: one line with a throbber; nothing without a text.
    Waiting(String),
    /// A conversation's commands, cut into turns: the visible lines.
    Feed(Vec<FeedLine>),
}

/// One line of the agent pane.
#[derive(Clone, PartialEq, Debug)]
pub enum FeedLine {
    /// Begin of a turn.
    Turn {
        /// Number.
        number: u32,
        /// Excerpt of the prompt.
        prompt: String,
        /// Where it stands.
        status: TurnStatus,
        /// How long it took or has been running.
        took_ms: u64,
        /// Highlighted.
        selected: bool,
    },
    /// "outside of turns".
    Outside,
    /// A command.
    Command {
        /// Text.
        command: String,
        /// `None` while it runs, and where it is not known.
        exit_code: Option<i32>,
        /// Whether it runs.
        running: bool,
        /// How often it ran, where it was repeated.
        count: u32,
        /// Its working directory, where that is to be shown.
        cwd: Option<String>,
        /// How long it took or has been running.
        took_ms: u64,
        /// Highlighted.
        selected: bool,
        /// Its turn is highlighted.
        of_selected: bool,
    },
    /// A line of output.
    Output {
        /// Text without controls.
        text: String,
        /// From standard error.
        error: bool,
    },
    /// A remark: "12 lines more · Space shows them", "no output".
    Remark(String),
}

/// The last line.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StatusBar {
    /// Hints for the mode: key and what it does, most useful first; drawn as far as there is room.
    pub hints: Vec<(String, String)>,
    /// Right-hand side, most important last: `docker ok`, `4 envs`, `next reap 0:41`.
    pub facts: Vec<String>,
    /// Endpoints that do not answer.
    pub troubles: Vec<String>,
    /// How many things need a person and were not seen yet: `2 need you`; empty without any.
    pub needs: String,
}

/// What lies over everything.
#[derive(Clone, PartialEq, Debug)]
pub enum Overlay {
    /// The keys that may follow the leader, as a footer: key, what it does.
    WhichKey(Vec<(String, String)>),
    /// Help: sections of key and what it does.
    Help {
        /// Sections: title, rows.
        sections: Vec<(String, Vec<(String, String)>)>,
        /// First line shown.
        scroll: usize,
    },
    /// The command palette, or another list to pick from.
    Palette {
        /// Title.
        title: String,
        /// What is typed.
        input: String,
        /// Cursor in it, in columns.
        cursor: u16,
        /// Rows: text, key or remark, whether it can be chosen now.
        rows: Vec<(String, String, bool)>,
        /// Selected row.
        selected: usize,
    },
    /// A question with consequences.
    Dialog {
        /// Title, names the environment.
        title: String,
        /// What is lost.
        lost: Vec<String>,
        /// What survives.
        kept: Vec<String>,
        /// Further text.
        text: Vec<String>,
        /// Choices: key and label; the first is the safe one.
        choices: Vec<(String, String)>,
        /// Selected choice.
        selected: usize,
        /// The choice that destroys something.
        danger: Option<usize>,
    },
    /// One line to type: a new name, a filter.
    Prompt {
        /// Title.
        title: String,
        /// What is typed.
        input: String,
        /// Cursor in it, in columns.
        cursor: u16,
        /// Why it cannot be accepted yet.
        problem: Option<String>,
    },
    /// A search that is typed in the last line.
    Search {
        /// Downwards.
        down: bool,
        /// It is a regular expression.
        regex: bool,
        /// What is typed.
        input: String,
        /// Cursor in it, in columns.
        cursor: u16,
        /// How many there are.
        note: String,
        /// Why nothing is found.
        problem: Option<String>,
    },
    /// A form for a new environment.
    Form {
        /// Title.
        title: String,
        /// Fields: label, value, help; choices are turned with left and right.
        fields: Vec<(String, String, String)>,
        /// Selected field.
        selected: usize,
        /// Cursor in its value, in columns; `None` where that is a choice.
        cursor: Option<u16>,
        /// Why it cannot be accepted yet.
        problem: Option<String>,
    },
    /// Conversations → turns → commands.
    Turns {
        /// Rows: depth (0 conversation, 1 turn, 2 command), glyph state, text, right-hand text.
        rows: Vec<TurnRow>,
        /// Selected row.
        selected: usize,
        /// First row shown.
        scroll: usize,
        /// The filter being typed.
        filter: String,
        /// Which commands are shown, where not all are: `failed`, `running`.
        only: &'static str,
    },
    /// What a sandbox is made of, and what it uses.
    Details {
        /// Environment.
        title: String,
        /// Facts: name (empty where it is that of the fact before), detail.
        facts: Vec<(String, String)>,
        /// First line shown.
        scroll: usize,
    },
    /// A verdict with its evidence.
    Explain {
        /// Environment.
        title: String,
        /// The answer.
        verdict: VerdictKind,
        /// In one sentence.
        reason: String,
        /// Facts: name, detail.
        facts: Vec<(String, String)>,
        /// First line shown.
        scroll: usize,
    },
}

/// One row of the turn list.
#[derive(Clone, PartialEq, Debug)]
pub struct TurnRow {
    /// 0 conversation, 1 turn, 2 command.
    pub depth: u8,
    /// Where it stands.
    pub status: TurnStatus,
    /// Text.
    pub text: String,
    /// Right-hand text: duration, counts, exit code.
    pub right: String,
}

/// A passing message.
#[derive(Clone, PartialEq, Debug)]
pub struct Toast {
    /// Text.
    pub text: String,
    /// How much it matters.
    pub level: Level,
}

/// The screen without any environment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Welcome {
    /// What was found here: name, state, whether it is usable.
    pub found: Vec<(String, String, bool)>,
    /// What can be done: key, text.
    pub offers: Vec<(String, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_tab_is_always_among_those_shown() {
        let widths = [10; 20];
        for current in 0..20 {
            for room in [1, 5, 18, 40, 150] {
                let (first, last) = tabs_in_sight(&widths, current, room);
                assert!(first <= current && current <= last && last < 20);
            }
        }
        assert_eq!(tabs_in_sight(&[5, 5], 0, 10), (0, 1));
    }
}
