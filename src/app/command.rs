//! The one table of commands: name, help, default keys, action. Key map, palette, help, footer and documents come of it.

use super::layout::{Axis, Direction};
use crate::config::{KeyMap, KeyPress, nearest};
use std::collections::HashMap;

/// What a command does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Another shell of the same environment beside or below.
    Split(Axis),
    /// The pane on that side gets the focus.
    Focus(Direction),
    /// The next pane of the tab gets the focus.
    NextPane,
    /// The pane that had the focus before gets it.
    LastPane,
    /// The pane fills the tab, or no longer.
    Zoom,
    /// The pane goes; asks first while its program lives, also at a prompt.
    ClosePane,
    /// Moves the pane's border.
    Resize(Direction),
    /// Exchanges the pane with the one after it (true) or before it.
    Swap(bool),
    /// The pane gets a tab of its own.
    BreakPane,
    /// Every pane of the tab gets the same room.
    EvenOut,
    /// What is typed goes to every pane of the tab.
    Synchronise,
    /// A new shell in a tab of its own.
    NewTab,
    /// The next tab.
    NextTab,
    /// The tab before.
    PreviousTab,
    /// The tab with that number.
    Tab(u8),
    /// Another name for the tab.
    RenameTab,
    /// Copy mode.
    CopyMode,
    /// Pastes what was copied last.
    PasteBuffer,
    /// Shows what a program wants to copy, and asks.
    Clipboard,
    /// Shows where the links in sight lead.
    Links,
    /// A list of what was copied, to paste one.
    ChooseBuffer,
    /// Forgets what was copied last.
    DeleteBuffer,
    /// Copy mode at the prompt before.
    PreviousPrompt,
    /// Copies the output of the last command.
    CopyOutput,
    /// Saves the text of the session, after asking where.
    SaveText,
    /// Shows the text of the session in the person's editor.
    EditText,
    /// Keys go to the sidebar.
    Nav,
    /// Keys go to the pane.
    Back,
    /// Shows or hides the sidebar.
    ToggleSidebar,
    /// A list of everything that can be shown.
    Pick,
    /// All keys.
    Help,
    /// All commands, by name.
    Palette,
    /// The turn list.
    Turns,
    /// The agent pane of the conversation.
    AgentPane,
    /// Copies the selected command of the agent, or its last one.
    CopyCommand,
    /// Types that command at the prompt of a shell beside the agent pane.
    RunAgain,
    /// A shell where the agent is.
    AgentShell,
    /// Goes to the next thing that needs a person.
    NeedsMe,
    /// The reaper's verdict.
    Explain,
    /// What the environment's sandbox is made of and what it uses.
    Details,
    /// Stops the idle clock, or lets it run again.
    Pin,
    /// Takes the environment over from its agents, or gives it back.
    TakeOver,
    /// One more idle time.
    Extend,
    /// Makes a lost, stopped or failed sandbox again, and its session.
    Remake,
    /// Leaves the screen. Where the host ends with it, after a question.
    Quit,
    /// Ends the host, after a question.
    Shutdown,
    /// The leader itself goes to the program.
    SendLeader,
    /// The row below.
    RowDown,
    /// The row above.
    RowUp,
    /// The first row.
    RowFirst,
    /// The last row.
    RowLast,
    /// Shows the selected environment's shell.
    Open,
    /// A further shell in the selected environment.
    OpenNew,
    /// Folds a group, shows or hides details of an environment.
    Fold,
    /// Filters the rows.
    Filter,
    /// A new environment: the form.
    NewEnv,
    /// A new environment with every default, at once.
    NewEnvNow,
    /// A container of somebody else: chosen from a list, it is shown from then on.
    Adopt,
    /// Another name for the environment.
    RenameEnv,
    /// Starts the sandbox.
    StartEnv,
    /// Stops the sandbox, after a question.
    StopEnv,
    /// Removes the environment, after a question.
    RemoveEnv,
}

impl Action {
    /// Whether it changes only what one client looks at.
    #[must_use]
    pub fn only_looks(self) -> bool {
        use Action::{
            Back, Clipboard, CopyCommand, CopyMode, CopyOutput, Details, EditText, Explain, Filter, Focus, Fold, Help,
            LastPane, Links, Nav, NeedsMe, NextPane, NextTab, Open, Palette, Pick, PreviousPrompt, PreviousTab, Quit,
            RowDown, RowFirst, RowLast, RowUp, Tab, ToggleSidebar, Turns,
        };
        matches!(
            self,
            Back | Clipboard
                | CopyCommand
                | CopyMode
                | CopyOutput
                | Details
                | EditText
                | Explain
                | Filter
                | Focus(_)
                | Fold
                | Help
                | LastPane
                | Links
                | Nav
                | NeedsMe
                | NextPane
                | NextTab
                | Open
                | Palette
                | Pick
                | PreviousPrompt
                | PreviousTab
                | Quit
                | RowDown
                | RowFirst
                | RowLast
                | RowUp
                | Tab(_)
                | ToggleSidebar
                | Turns
        )
    }
}

/// One command.
pub struct Command {
    /// Name, as in the palette and in the configuration.
    pub name: &'static str,
    /// What it does, in a few words.
    pub help: &'static str,
    /// Word for the footer; commands with the same word share one entry there.
    pub short: &'static str,
    /// Section of the help.
    pub section: Section,
    /// Keys after the leader.
    pub leader: &'static [&'static str],
    /// Keys in NAV.
    pub nav: &'static [&'static str],
    /// Keys without the leader.
    pub direct: &'static [&'static str],
    /// After it, its key works again without the leader for a moment.
    pub repeats: bool,
    /// What it does.
    pub action: Action,
}

/// Sections of the help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// Panes.
    Panes,
    /// Tabs.
    Tabs,
    /// Environments.
    Environments,
    /// The agent.
    Agent,
    /// The rest.
    General,
}

impl Section {
    /// In the order of the help.
    pub const ALL: [Self; 5] = [Self::Panes, Self::Tabs, Self::Environments, Self::Agent, Self::General];

    /// Title for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Panes => "Panes",
            Self::Tabs => "Tabs",
            Self::Environments => "Environments",
            Self::Agent => "Agent",
            Self::General => "General",
        }
    }
}

macro_rules! commands {
    ($($section:ident $name:literal $short:literal $help:literal
        [$($leader:literal)*] [$($nav:literal)*] [$($direct:literal)*] $repeats:literal $action:expr;)*) => {
        &[$(Command {
            name: $name, short: $short, help: $help, section: Section::$section,
            leader: &[$($leader),*], nav: &[$($nav),*], direct: &[$($direct),*], repeats: $repeats, action: $action,
        }),*]
    };
}

/// Every command. Section, name, word for the footer, help, keys after the leader, in NAV, without the leader, repeats.
#[rustfmt::skip]
pub const COMMANDS: &[Command] = commands! {
    Panes "split-right" "split" "Another shell of this environment, to the right" ["%"] [] [] false Action::Split(Axis::Across);
    Panes "split-down" "split" "Another shell of this environment, below" ["\""] [] [] false Action::Split(Axis::Down);
    Panes "focus-left" "focus" "Focus the pane to the left" ["h" "left"] [] ["ctrl+alt+h"] true Action::Focus(Direction::Left);
    Panes "focus-down" "focus" "Focus the pane below" ["j" "down"] [] ["ctrl+alt+j"] true Action::Focus(Direction::Down);
    Panes "focus-up" "focus" "Focus the pane above" ["k" "up"] [] ["ctrl+alt+k"] true Action::Focus(Direction::Up);
    Panes "focus-right" "focus" "Focus the pane to the right" ["l" "right"] [] ["ctrl+alt+l"] true Action::Focus(Direction::Right);
    Panes "next-pane" "next" "Focus the next pane" ["o"] [] [] true Action::NextPane;
    Panes "last-pane" "last" "Focus the pane that had it before" [";"] [] [] false Action::LastPane;
    Panes "zoom" "zoom" "The pane fills the tab, or no longer" ["z"] [] [] false Action::Zoom;
    Panes "close-pane" "close" "Close the pane; asks first while its shell or program lives" ["x"] [] [] false Action::ClosePane;
    Panes "resize-left" "resize" "Move the pane's border to the left" ["H" "ctrl+left"] [] [] true Action::Resize(Direction::Left);
    Panes "resize-down" "resize" "Move the pane's border down" ["J" "ctrl+down"] [] [] true Action::Resize(Direction::Down);
    Panes "resize-up" "resize" "Move the pane's border up" ["K" "ctrl+up"] [] [] true Action::Resize(Direction::Up);
    Panes "resize-right" "resize" "Move the pane's border to the right" ["L" "ctrl+right"] [] [] true Action::Resize(Direction::Right);
    Panes "swap-previous" "swap" "Exchange the pane with the one before it" ["{"] [] [] false Action::Swap(false);
    Panes "swap-next" "swap" "Exchange the pane with the one after it" ["}"] [] [] false Action::Swap(true);
    Panes "break-pane" "own tab" "Give the pane a tab of its own" ["!"] [] [] false Action::BreakPane;
    Panes "even-out" "even" "Give every pane the same room" ["="] [] [] false Action::EvenOut;
    Panes "synchronise" "sync" "Type into every pane of the tab at once, or no longer" ["y"] [] [] false Action::Synchronise;
    Panes "copy-mode" "copy" "Copy mode: move in the history, search, select" ["[" "pgup"] [] [] false Action::CopyMode;
    Panes "previous-prompt" "prompt" "Copy mode at the prompt before, where the shell tells its prompts" ["("] [] [] false Action::PreviousPrompt;
    Panes "copy-output" "output" "Copy the output of the last command, where the shell tells it" ["O"] [] [] false Action::CopyOutput;
    Panes "save-text" "text" "Save the session's text with its history in a file" ["F"] [] [] false Action::SaveText;
    Panes "edit-text" "text" "Show the session's text with its history in your editor" ["E"] [] [] false Action::EditText;
    Panes "paste" "paste" "Paste what was copied last" ["]"] [] [] false Action::PasteBuffer;
    Panes "clipboard" "clipboard" "What a program wants to copy: look at it, copy it, or say always or never" ["C"] [] [] false Action::Clipboard;
    Panes "links" "links" "Where the links in sight lead; copy an address" ["u"] [] [] false Action::Links;
    Panes "choose-buffer" "buffers" "What was copied: choose one to paste" ["#"] [] [] false Action::ChooseBuffer;
    Panes "delete-buffer" "buffers" "Forget what was copied last" ["-"] [] [] false Action::DeleteBuffer;
    Tabs "new-tab" "new tab" "A new shell in a tab of its own" ["c"] [] [] false Action::NewTab;
    Tabs "next-tab" "tabs" "The next tab" ["n"] ["tab"] [] true Action::NextTab;
    Tabs "previous-tab" "tabs" "The tab before" ["p"] ["shift+tab"] [] true Action::PreviousTab;
    Tabs "tab-1" "tab" "Tab 1" ["1"] ["1"] ["ctrl+alt+1"] false Action::Tab(1);
    Tabs "tab-2" "tab" "Tab 2" ["2"] ["2"] ["ctrl+alt+2"] false Action::Tab(2);
    Tabs "tab-3" "tab" "Tab 3" ["3"] ["3"] ["ctrl+alt+3"] false Action::Tab(3);
    Tabs "tab-4" "tab" "Tab 4" ["4"] ["4"] ["ctrl+alt+4"] false Action::Tab(4);
    Tabs "tab-5" "tab" "Tab 5" ["5"] ["5"] ["ctrl+alt+5"] false Action::Tab(5);
    Tabs "tab-6" "tab" "Tab 6" ["6"] ["6"] ["ctrl+alt+6"] false Action::Tab(6);
    Tabs "tab-7" "tab" "Tab 7" ["7"] ["7"] ["ctrl+alt+7"] false Action::Tab(7);
    Tabs "tab-8" "tab" "Tab 8" ["8"] ["8"] ["ctrl+alt+8"] false Action::Tab(8);
    Tabs "tab-9" "tab" "Tab 9" ["9"] ["9"] ["ctrl+alt+9"] false Action::Tab(9);
    Tabs "rename-tab" "rename" "Give the tab another name" [","] [] [] false Action::RenameTab;
    Environments "env-open" "open" "Show the environment's shell, or open one" [] ["enter"] [] false Action::Open;
    Environments "env-shell" "new shell" "A further shell in the environment" ["S"] ["c"] [] false Action::OpenNew;
    Environments "env-new-now" "new, defaults" "A new environment with every default and a shell in it, at once" [] ["n"] [] false Action::NewEnvNow;
    Environments "env-new" "new" "A new environment: choose what it shall be" ["N"] ["N" "f"] [] false Action::NewEnv;
    Environments "env-adopt" "other" "Show a container that is not listed: pick one; nothing in it is changed" ["A"] ["A"] [] false Action::Adopt;
    Environments "env-fold" "details" "Fold the group; show or hide the environment's details" [] ["space"] [] false Action::Fold;
    Environments "env-filter" "filter" "Filter the environments" [] ["/"] [] false Action::Filter;
    Environments "env-pin" "pin" "Stop the idle clock, or let it run again" ["P"] ["P" "p"] [] false Action::Pin;
    Environments "env-take-over" "take over" "Have the environment to yourself: its agents' commands wait; or give it back" ["T"] ["T"] [] false Action::TakeOver;
    Environments "env-extend" "extend" "One more idle time" ["+"] ["+"] [] false Action::Extend;
    Environments "env-explain" "explain" "Why it is kept or torn down, with the evidence" ["e"] ["e"] [] false Action::Explain;
    Environments "env-details" "details" "What its sandbox is made of, what survives, what it uses now" ["i"] ["i"] [] false Action::Details;
    Environments "env-rename" "rename env" "Give the environment another name" ["$"] ["," "R"] [] false Action::RenameEnv;
    Environments "env-start" "start" "Start the sandbox" [] ["s"] [] false Action::StartEnv;
    Environments "env-stop" "stop" "Stop the sandbox; says what is lost and asks" [] ["S"] [] false Action::StopEnv;
    Environments "env-remove" "remove" "Remove the environment; says what is lost and asks" [] ["D" "delete"] [] false Action::RemoveEnv;
    Environments "env-remake" "remake" "Make a lost or stopped sandbox again, and the pane's session" ["r"] ["r"] [] false Action::Remake;
    Environments "row-down" "move" "Next row" [] ["j" "down"] [] false Action::RowDown;
    Environments "row-up" "move" "Row before" [] ["k" "up"] [] false Action::RowUp;
    Environments "row-first" "move" "First row" [] ["g" "home"] [] false Action::RowFirst;
    Environments "row-last" "move" "Last row" [] ["G" "end"] [] false Action::RowLast;
    Agent "turns" "turns" "Conversations, their turns and commands" ["t"] ["t"] [] false Action::Turns;
    Agent "agent-pane" "agent" "The agent pane of the conversation" ["a"] ["a"] [] false Action::AgentPane;
    Agent "agent-shell" "agent shell" "A shell where the agent is: in its directory, with the variables that it exported" ["W"] ["W"] [] false Action::AgentShell;
    Agent "run-again" "run again" "Type the agent's selected or last command in a shell beside it; Enter runs it" ["R"] [] [] false Action::RunAgain;
    Agent "copy-command" "copy command" "Copy the agent's selected or last command" ["Y"] ["y"] [] false Action::CopyCommand;
    General "needs-me" "needs me" "Go to the next thing that needs you" ["m"] ["m"] [] false Action::NeedsMe;
    General "nav" "sidebar" "Keys go to the sidebar (NAV)" ["esc"] [] [] false Action::Nav;
    General "back" "back" "Keys go to the pane again" [] ["esc" "l" "right"] [] false Action::Back;
    General "sidebar" "show/hide" "Show or hide the sidebar" ["s"] ["b"] [] false Action::ToggleSidebar;
    General "pick" "pick" "Go to a tab, pane or environment by name" ["w"] ["w"] [] false Action::Pick;
    General "help" "help" "All keys" ["?"] ["?"] [] false Action::Help;
    General "palette" "commands" "All commands, by name" [":"] [":"] [] false Action::Palette;
    General "send-leader" "send it" "Send the leader itself to the program" [] [] [] false Action::SendLeader;
    General "quit" "quit" "Leave; everything runs on, unless it was started with --foreground" ["d" "q"] ["q" "d"] [] false Action::Quit;
    General "shutdown" "shut down" "End the host and what it keeps; says what is lost and asks" ["Q"] ["Q"] [] false Action::Shutdown;
};

/// The command that does this.
#[must_use]
pub fn of(action: Action) -> Option<&'static Command> {
    COMMANDS.iter().find(|c| c.action == action)
}

/// Which keys do what, after the configuration is taken in.
#[derive(Clone, Debug)]
pub struct Bindings {
    /// The leader.
    pub leader: KeyPress,
    after_leader: HashMap<KeyPress, usize>,
    nav: HashMap<KeyPress, usize>,
    direct: HashMap<KeyPress, usize>,
    /// Keys of each command, in the order of the table: after the leader, in NAV, without the leader.
    keys: Vec<[Vec<KeyPress>; 3]>,
}

impl Bindings {
    /// Names in the configuration that are no command: the table, the name, and the nearest command.
    #[must_use]
    pub fn unknown(map: &KeyMap) -> Vec<(&'static str, &str, Option<&'static str>)> {
        let tables = [("after_leader", &map.after_leader), ("nav", &map.nav), ("direct", &map.direct)];
        let names =
            tables.into_iter().flat_map(|(section, named)| named.keys().map(move |name| (section, name.as_str())));
        let unknown = names.filter(|(_, name)| !COMMANDS.iter().any(|command| command.name == *name));
        unknown.map(|(section, name)| (section, name, nearest(name, COMMANDS.iter().map(|c| c.name)))).collect()
    }

    /// The table's keys, changed by the configuration. Also gives one sentence for each name that is no command and
    /// each key that is bound twice.
    #[must_use]
    pub fn new(map: &KeyMap) -> (Self, Vec<String>) {
        let unknown = Self::unknown(map).into_iter().map(|(section, name, nearest)| {
            let hint = nearest.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            format!("`keys.{section}.{name}` is ignored: there is no such command{hint}")
        });
        let mut warnings: Vec<String> = unknown.collect();
        let mut this = Self {
            leader: map.leader,
            after_leader: HashMap::new(),
            nav: HashMap::new(),
            direct: HashMap::new(),
            keys: vec![Default::default(); COMMANDS.len()],
        };
        // What the configuration binds comes first: it takes the key from a command that has it by default.
        for configured in [true, false] {
            for (index, command) in COMMANDS.iter().enumerate() {
                this.bind(index, 0, map.after_leader.get(command.name), command.leader, configured, &mut warnings);
                this.bind(index, 1, map.nav.get(command.name), command.nav, configured, &mut warnings);
                let direct = if map.prefix_free { command.direct } else { &[] };
                this.bind(index, 2, map.direct.get(command.name), direct, configured, &mut warnings);
            }
        }
        (this, warnings)
    }

    fn bind(
        &mut self,
        index: usize,
        context: usize,
        own: Option<&Vec<KeyPress>>,
        usual: &[&str],
        configured: bool,
        warnings: &mut Vec<String>,
    ) {
        if own.is_some() != configured {
            return;
        }
        let keys: Vec<KeyPress> = match own {
            Some(keys) => keys.clone(),
            None => usual.iter().filter_map(|k| k.parse().ok()).collect(),
        };
        let table = [&mut self.after_leader, &mut self.nav, &mut self.direct];
        let [after_leader, nav, direct] = table;
        let table = match context {
            0 => after_leader,
            1 => nav,
            _ => direct,
        };
        for key in keys {
            match table.get(&key) {
                None => {
                    table.insert(key, index);
                    self.keys[index][context].push(key);
                }
                Some(other) if configured && *other != index => {
                    let (kept, dropped) = (COMMANDS[*other].name, COMMANDS[index].name);
                    warnings.push(format!("{key} is bound to `{kept}` and to `{dropped}`: `{kept}` keeps it"));
                }
                Some(_) => {}
            }
        }
    }

    /// The command of a key after the leader.
    #[must_use]
    pub fn after_leader(&self, key: KeyPress) -> Option<&'static Command> {
        self.after_leader.get(&key).map(|i| &COMMANDS[*i])
    }

    /// The command of a key in NAV.
    #[must_use]
    pub fn nav(&self, key: KeyPress) -> Option<&'static Command> {
        self.nav.get(&key).map(|i| &COMMANDS[*i])
    }

    /// The command of a key that works without the leader.
    #[must_use]
    pub fn direct(&self, key: KeyPress) -> Option<&'static Command> {
        self.direct.get(&key).map(|i| &COMMANDS[*i])
    }

    /// Keys of a command for people: after the leader with it in front, in NAV, without the leader.
    #[must_use]
    pub fn keys_of(&self, command: &Command) -> [Vec<String>; 3] {
        let Some(index) = COMMANDS.iter().position(|c| c.name == command.name) else { return Default::default() };
        let [after, nav, direct] = &self.keys[index];
        let mut after: Vec<String> = after.iter().map(|k| format!("{} {k}", self.leader)).collect();
        if command.action == Action::SendLeader {
            after.push(format!("{0} {0}", self.leader));
        }
        let show = |keys: &[KeyPress]| keys.iter().map(ToString::to_string).collect();
        [after, show(nav), show(direct)]
    }

    /// The keys that may follow the leader for the wanted commands: key, word. Commands of one word share an entry.
    #[must_use]
    pub fn footer(&self, wanted: impl Fn(Action) -> bool) -> Vec<(String, String)> {
        let mut out: Vec<(Vec<String>, &str)> = Vec::new();
        // What leads out and further comes first: on a small screen there is no room for all.
        let general = |of: &Command| of.section == Section::General;
        let all = || COMMANDS.iter().zip(&self.keys).filter(|(c, _)| wanted(c.action));
        for (command, keys) in all().filter(|(c, _)| general(c)).chain(all().filter(|(c, _)| !general(c))) {
            let Some(key) = keys[0].first() else { continue };
            match out.iter_mut().find(|(_, short)| *short == command.short) {
                Some((keys, _)) => keys.push(key.to_string()),
                None => out.push((vec![key.to_string()], command.short)),
            }
        }
        let mut rows: Vec<(String, String)> =
            out.into_iter().map(|(keys, short)| (joined(&keys), short.to_owned())).collect();
        rows.push((self.leader.to_string(), "send it".to_owned()));
        rows
    }

    /// The first key of an action in NAV, for hints.
    #[must_use]
    pub fn nav_key(&self, action: Action) -> String {
        self.first(action, 1)
    }

    /// The first key of an action after the leader, without the leader.
    #[must_use]
    pub fn leader_key(&self, action: Action) -> String {
        self.first(action, 0)
    }

    fn first(&self, action: Action, context: usize) -> String {
        let index = COMMANDS.iter().position(|c| c.action == action);
        index.and_then(|i| self.keys[i][context].first()).map(ToString::to_string).unwrap_or_default()
    }
}

/// `1`…`9` as `1-9`, letters side by side, longer names with a slash.
fn joined(keys: &[String]) -> String {
    if keys.len() > 4 {
        return format!("{}-{}", keys[0], keys[keys.len() - 1]);
    }
    if keys.iter().all(|k| k.chars().count() == 1) { keys.join("") } else { keys.join("/") }
}
