//! The tools: their names, what they are for, and what they take.

use super::args::{Kind, Param, needs, takes};

/// One tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// For the model that calls it.
    pub(super) about: &'static str,
    pub(super) params: &'static [Param],
    /// It only looks.
    pub(super) reads: bool,
}

const CONVERSATION: Param = takes(
    "conversation",
    Kind::Text,
    "Id of the conversation (agent session) whose environment is meant. Default: the one of this connection.",
);
const SESSION: Param =
    takes("session", Kind::Text, "Id of a terminal session. Default: the conversation's shared screen.");
const CALL: Param = needs("call", Kind::Text, "The id of the command, as run_command returned it in `call`.");
const PATH: &str = "Path inside the environment: absolute, or relative to the conversation's working directory.";

/// All of them.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "begin_turn",
        about: "Begin a turn: one user request and all that is done for it. Makes or starts the conversation's sandbox \
                environment and waits until it is ready; while the turn is open, the environment is not reaped. \
                Optional: run_command begins a turn with the defaults if none is open. Call it to choose the \
                environment (env_name for an existing one; or backend, image and so on for what is to be made if the \
                conversation has none yet), or to give the turn its prompt. An open turn is ended as interrupted.",
        params: &[
            CONVERSATION,
            takes("title", Kind::Text, "Title of the conversation, shown to the person."),
            takes(
                "kind",
                Kind::Text,
                "Kind of the conversation: main, subagent, cron and so on. The person's rules go by it.",
            ),
            takes("prompt", Kind::Text, "What the user asked, shown to the person."),
            takes("env_name", Kind::Text, "Use this existing environment; not together with the arguments below."),
            takes("backend", Kind::OneOf(&["local", "docker"]), "Kind of sandbox. Default: as configured, else local."),
            takes("image", Kind::Text, "Image of a container, for example debian:12."),
            takes("persistent", Kind::Flag, "true: outlives turns (the default). false: removed when its scope ends."),
            takes(
                "scope",
                Kind::OneOf(&["turn", "session", "shared"]),
                "Whom it serves. `turn` needs persistent=false.",
            ),
            takes(
                "retention",
                Kind::OneOf(&["stop_on_session_end", "keep_running", "remove_on_session_end", "idle_ttl"]),
                "What becomes of a persistent one. Default: stop_on_session_end.",
            ),
            takes("idle_seconds", Kind::Number, "Idle time after which it is reaped; 0 is never. Default: 300."),
            takes(
                "mounts",
                Kind::Texts,
                "Folders of the person's machine shown inside, each as SRC:DST or SRC:DST:ro.",
            ),
            takes("network", Kind::OneOf(&["none", "default", "host"]), "Its network. Default: none."),
        ],
        reads: false,
    },
    Tool {
        name: "end_turn",
        about: "End the conversation's open turn, once the request is done. Fine without an open turn. Files stay; the \
                environment is reaped by its rules.",
        params: &[
            CONVERSATION,
            takes("status", Kind::OneOf(&["done", "failed", "interrupted"]), "How it ended. Default: done."),
        ],
        reads: false,
    },
    Tool {
        name: "run_command",
        about: "Run a shell command in the conversation's sandbox. Working directory and exported variables carry over \
                from one call to the next, as in one shell. Returns exit_code, output (standard output and standard \
                error as they came; long output is cut in its middle, poll_command reads the rest), duration_ms, cwd \
                and the id `call`. A failing command is a normal result with its exit code. With background=true it \
                returns at once; poll_command follows it, kill_command ends it; it starts where the shell is and \
                leaves that as it is. There is no terminal and no input: for programs that need them use \
                open_shared_screen.",
        params: &[
            needs(
                "command",
                Kind::Text,
                "The command, or a script of several lines, for bash (sh where there is none).",
            ),
            CONVERSATION,
            takes(
                "timeout_seconds",
                Kind::Number,
                "It is ended after this time, with exit code 124. Default: 180; in the background: never.",
            ),
            takes("background", Kind::Flag, "Return at once instead of waiting for its end."),
        ],
        reads: false,
    },
    Tool {
        name: "poll_command",
        about: "State and output of a command that run_command began, running or ended. Pages through its output by \
                bytes: give next_offset of one answer as offset of the next. The newest 32 commands are kept.",
        params: &[
            CALL,
            takes("offset", Kind::Count, "Where to begin, in bytes from the beginning of the output. Default: 0."),
            takes("limit", Kind::Count, "The most bytes of output to return, up to 100000. Default: 30000."),
            takes(
                "wait_seconds",
                Kind::Number,
                "Wait up to this long, at most 60, until there is output after offset or it has ended. Default: 0.",
            ),
        ],
        reads: true,
    },
    Tool {
        name: "kill_command",
        about: "End a command that run_command began, with all of its processes. Fine if it has ended already.",
        params: &[CALL],
        reads: false,
    },
    Tool {
        name: "read_file",
        about: "Read a text file in the conversation's environment, by lines. Returns content, first_line, next_line \
                (null at the end; give it as offset_line to go on) and size_bytes. Says so when the file is binary.",
        params: &[
            needs("path", Kind::Text, PATH),
            CONVERSATION,
            takes("offset_line", Kind::Count, "The first line to return, from 1. Default: 1."),
            takes("limit", Kind::Count, "The most lines to return; never more than 30000 bytes. Default: 2000."),
        ],
        reads: true,
    },
    Tool {
        name: "write_file",
        about: "Write a text file in the conversation's environment: it is made, with the folders that it needs, or \
                replaced as a whole, keeping its permissions.",
        params: &[
            needs("path", Kind::Text, PATH),
            needs("content", Kind::Text, "All that the file shall contain."),
            CONVERSATION,
        ],
        reads: false,
    },
    Tool {
        name: "list_environments",
        about: "List the sandbox environments that hermes-tui knows of: name, backend, phase, who holds each, what will \
                become of it and when. next_offset is null at the end.",
        params: &[
            takes("offset", Kind::Count, "How many to pass over. Default: 0."),
            takes("limit", Kind::Count, "The most to return, up to 200. Default: 50."),
        ],
        reads: true,
    },
    Tool {
        name: "explain",
        about: "Explain what will become of an environment: the reaper's verdict, the rule and the deadline, with the \
                evidence of a fresh look inside.",
        params: &[needs("environment", Kind::Text, "Its name, endpoint/name, or the beginning of its id.")],
        reads: true,
    },
    Tool {
        name: "open_shared_screen",
        about: "Open the conversation's terminal session, a shell on a PTY in the same environment, which the person \
                sees and types in too. For interactive programs: editors, debuggers, prompts. Returns its id, size and \
                screen. Its working directory and variables are its own, apart from run_command.",
        params: &[CONVERSATION],
        reads: false,
    },
    Tool {
        name: "send_keys",
        about: "Type into a terminal session: first text as it is, then keys by name. Returns the screen once it has \
                come to rest, or after a second.",
        params: &[
            SESSION,
            CONVERSATION,
            takes("text", Kind::Text, "Text to type as it is. It is not entered: end with keys [\"Enter\"] for that."),
            takes(
                "keys",
                Kind::Texts,
                "Names of keys after the text: Enter, Tab, Escape, Up, PageDown, F5, C-c, M-x and so on; any other word \
                 is typed as text.",
            ),
        ],
        reads: false,
    },
    Tool {
        name: "read_screen",
        about: "Read what a terminal session shows, by lines; with history also what scrolled off. Returns text, \
                first_line and total_lines; without first_line the last lines that fit.",
        params: &[
            SESSION,
            CONVERSATION,
            takes("history", Kind::Flag, "With what scrolled off the top."),
            takes("first_line", Kind::Count, "The first line to return, from 1."),
            takes("limit", Kind::Count, "The most lines to return; never more than 30000 bytes. Default: 1000."),
        ],
        reads: true,
    },
];
