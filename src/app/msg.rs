//! What comes in to `update`, and what goes out.

use super::saved::Layout;
use crate::domain::{CallId, Effect, EndpointId, EnvId, Event, SessionId, Size, Told};
use crossterm::event::{KeyEvent, MouseEvent};
use serde::{Deserialize, Serialize};

/// One attached terminal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClientId(pub u64);

/// As many colours as 24 bits name.
pub const TRUE_COLOUR: u32 = 1 << 24;

/// What a client's terminal can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientCaps {
    /// Colours: 0 none, 16, 256, or 16,777,216.
    pub colours: u32,
    /// Box drawing and other Unicode can be shown.
    pub unicode: bool,
}

/// What a client's terminal said of itself when it was asked. Colours are red, green and blue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalAnswer {
    /// Its text has this colour.
    Foreground((u8, u8, u8)),
    /// Its background has this colour.
    Background((u8, u8, u8)),
    /// It shows 24 bits of colour.
    TrueColour,
}

/// How a terminal stands to the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The host ends with it.
    Owner,
    /// It comes and goes.
    Guest,
    /// It comes and goes, and only looks.
    Reader,
}

/// Which of a command's streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A container that is not listed, and may be chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Container {
    /// Where it is.
    pub endpoint: EndpointId,
    /// Its name there.
    pub name: String,
    /// What it was made from; empty if that has no name.
    pub image: String,
    /// Whether it runs, in a word.
    pub state: &'static str,
}

/// One thing that happened to the screen or the core.
#[derive(Clone, PartialEq, Debug)]
pub enum Msg {
    /// To the core.
    Domain(Event),
    /// A terminal attached.
    ClientAttached {
        /// Which.
        client: ClientId,
        /// Its size.
        size: Size,
        /// What it can do.
        caps: ClientCaps,
        /// How it stands to the host.
        role: Role,
    },
    /// A terminal attached that shows one session and nothing else.
    AttachedTo {
        /// Which.
        client: ClientId,
        /// Its size.
        size: Size,
        /// What it can do.
        caps: ClientCaps,
        /// How it stands to the host.
        role: Role,
        /// The session.
        session: SessionId,
    },
    /// A terminal went away.
    ClientDetached(ClientId),
    /// Its size changed.
    ClientResized {
        /// Which.
        client: ClientId,
        /// The size.
        size: Size,
    },
    /// It said something of itself.
    TerminalAnswered {
        /// Which.
        client: ClientId,
        /// What.
        answer: TerminalAnswer,
    },
    /// A key was pressed.
    Key {
        /// Where.
        client: ClientId,
        /// The key.
        key: KeyEvent,
    },
    /// The mouse moved, was pressed, or scrolled.
    Mouse {
        /// Where.
        client: ClientId,
        /// What.
        mouse: MouseEvent,
    },
    /// Text was pasted.
    Paste {
        /// Where.
        client: ClientId,
        /// The text.
        text: String,
    },
    /// The terminal got or lost the focus of its desktop.
    Focus {
        /// Which.
        client: ClientId,
        /// Got it.
        gained: bool,
    },
    /// Show the shell of an environment, as `hermes-tui open ENV` asks for.
    OpenEnv {
        /// Where.
        client: ClientId,
        /// Which.
        env: EnvId,
    },
    /// A session's program printed this.
    Output {
        /// Which session.
        session: SessionId,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// An agent's own records tell of one of its conversations.
    AgentTold {
        /// It.
        told: Box<Told>,
        /// What its commands printed, by the commands' ids there.
        outputs: Vec<(String, String)>,
    },
    /// A command printed this (for the feed).
    CallOutput {
        /// Which command.
        call: CallId,
        /// Which stream.
        stream: Stream,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Progress of something slow, for people.
    Progress {
        /// What it concerns.
        env: EnvId,
        /// One line.
        text: String,
    },
    /// What a sandbox is made of: name and detail of each fact. Nothing, once nobody looks any more.
    Details {
        /// Of which environment.
        env: EnvId,
        /// The facts.
        facts: Vec<(String, String)>,
    },
    /// What a sandbox uses at this moment, in a line.
    Usage {
        /// Of which environment.
        env: EnvId,
        /// The line.
        text: String,
    },
    /// The containers that a client can choose from, and why some places do not answer.
    Containers {
        /// Which client asked.
        client: ClientId,
        /// The containers.
        found: Vec<Container>,
        /// One sentence each.
        failed: Vec<String>,
    },
    /// What was found on this machine, for the welcome: name, state, usable.
    Found(Vec<(String, String, bool)>),
    /// Something to tell one client: what it wished for did not come about.
    Told {
        /// Which.
        client: ClientId,
        /// One sentence.
        text: String,
    },
    /// A text was saved, or why not.
    Saved {
        /// Who asked.
        client: ClientId,
        /// The path, or one sentence.
        saved: Result<String, String>,
    },
    /// Something to tell every client that the core does not know of (journal trouble, configuration).
    Trouble(String),
    /// Tabs and splits of an earlier host, after the core was told what the journal remembers.
    LayoutRestored(Layout),
    /// What a session showed under an earlier host: its history and its last screen, with their colours.
    ScreenRestored {
        /// Which.
        session: SessionId,
        /// Lines of text with SGR sequences.
        text: String,
    },
    /// A time that the model asked for has come.
    Timer,
}

/// One thing for the runtime to do.
#[derive(Clone, PartialEq, Debug)]
pub enum Cmd {
    /// An effect of the core.
    Effect(Effect),
    /// Bytes to a session's program.
    Write {
        /// Which session.
        session: SessionId,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Another size for a session's PTY.
    Resize {
        /// Which session.
        session: SessionId,
        /// The size.
        size: Size,
    },
    /// Text for the client's clipboard (OSC 52 to the outer terminal).
    Clipboard {
        /// Which client.
        client: ClientId,
        /// The text.
        text: String,
    },
    /// Text for the editor of whoever sits at the client.
    Edit {
        /// Which client.
        client: ClientId,
        /// The text.
        text: String,
    },
    /// Text for a file that must not be there yet.
    Save {
        /// Which client asks.
        client: ClientId,
        /// The file, from `/` or `~/` on.
        path: String,
        /// The text.
        text: String,
    },
    /// A line for the log, and for nobody else.
    Log(String),
    /// Ring the client's bell.
    Bell(ClientId),
    /// Ask what containers the client can choose from.
    FindContainers(ClientId),
    /// Tabs and splits are to be kept.
    SaveLayout(Layout),
    /// The client leaves; everything runs on.
    Detach(ClientId),
    /// The client leaves and nothing that is being ended is waited for: what is left is taken up at the next start.
    EndNow(ClientId),
}
