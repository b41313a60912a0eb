//! View models to draw: a day with several environments.

use hermes_tui::app::view_model::*;
use hermes_tui::domain::{Moment, Phase, SessionId, Size, TurnStatus};
use hermes_tui::term::Screen;

pub const NOW: Moment = Moment(1_700_000_000_250);

pub fn area(x: u16, y: u16, width: u16, height: u16) -> Area {
    Area { x, y, width, height }
}

pub fn inner(a: Area) -> Area {
    area(a.x + 1, a.y + 1, a.width.saturating_sub(2), a.height.saturating_sub(2))
}

/// A screen on which this was printed.
pub fn screen(cols: u16, rows: u16, bytes: &str) -> Screen {
    let mut screen = Screen::new(Size { rows, cols }, 100);
    screen.feed(NOW, bytes.as_bytes());
    screen
}

/// Sidebar, tab bar and status bar around an area without panes.
pub fn frame<'a>(cols: u16, rows: u16) -> ViewModel<'a> {
    let strip = cols < 80;
    let width = if strip { 5 } else { 30 };
    let body = rows - 1;
    ViewModel {
        bare: false,
        size: Size { rows, cols },
        now: NOW,
        mode: Mode::Pane,
        sidebar: Sidebar {
            area: area(0, 0, width, body),
            strip,
            focused: false,
            rows: environments(),
            selected: Some(3),
            hidden: (0, 0),
            filter: None,
        },
        tabs: vec![
            Tab { turn: Some(12), ..tab(1, "fix the login tests") },
            Tab { current: true, ..tab(2, "shell") },
            Tab { activity: true, ..tab(3, "logs") },
            Tab { bell: true, ..tab(4, "build") },
        ],
        tabs_area: area(width, 0, cols - width, 1),
        panes: Vec::new(),
        panes_area: area(width - 1, 1, cols - width + 1, body - 1),
        status: StatusBar {
            hints: pairs(&[("Ctrl+B", "leader"), ("Ctrl+B ?", "help"), ("Ctrl+B d", "detach")]),
            facts: vec!["docker ok".into(), "9 envs".into(), "next reap 0:41".into()],
            troubles: Vec::new(),
            needs: String::new(),
        },
        overlay: None,
        notices: Vec::new(),
        welcome: None,
    }
}

/// One shell at work, filling the room for panes.
pub fn with_shell<'a>(cols: u16, rows: u16, shell: &'a Screen) -> ViewModel<'a> {
    let mut vm = frame(cols, rows);
    vm.panes = vec![pane(vm.panes_area, "fix-login · main · bash", true, shell)];
    vm
}

pub fn tab(number: usize, title: &str) -> Tab {
    Tab { number, title: title.into(), current: false, activity: false, bell: false, turn: None, zoomed: false }
}

pub fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|t| (*t).to_owned()).collect()
}

fn group(title: &str) -> SidebarRow {
    SidebarRow::Group { title: title.into(), folded: false, trouble: None }
}

pub fn env(name: &str, phase: Phase, persistent: Option<bool>, state: RowState) -> EnvRow {
    EnvRow {
        name: name.into(),
        phase,
        persistent,
        active: false,
        pinned: false,
        on_host: false,
        host_network: false,
        shared_by: 1,
        state,
    }
}

fn countdown(left_s: u64, warned: bool) -> RowState {
    RowState::Countdown { left_ms: left_s * 1000, total_ms: 300_000, warned }
}

fn word(text: &str) -> RowState {
    RowState::Word(text.into())
}

/// One of each.
pub fn environments() -> Vec<SidebarRow> {
    use SidebarRow::Environment as E;
    let (p, e) = (Some(true), Some(false));
    vec![
        SidebarRow::Group { title: "hermes · default".into(), folded: false, trouble: Some("no answer".into()) },
        E(env("default", Phase::Ready, None, word("frozen"))),
        group("managed · docker"),
        E(EnvRow { active: true, ..env("fix-login", Phase::Ready, p, RowState::Turn { number: 12 }) }),
        E(EnvRow { shared_by: 3, ..env("review", Phase::Ready, e, RowState::Held(2)) }),
        E(env("research", Phase::Stopped, p, word("stopped"))),
        E(env("build-arm64", Phase::Failed, p, word("failed · retry 0:12"))),
        E(env("gone", Phase::Lost, e, word("lost"))),
        group("managed · local"),
        E(EnvRow { pinned: true, ..env("notes", Phase::Ready, p, word("keeps running")) }),
        E(env("a-very-long-name-for-a-sandbox", Phase::Ready, p, countdown(187, false))),
        E(EnvRow { host_network: true, ..env("scratch", Phase::Ready, e, countdown(41, true)) }),
        E(env("last", Phase::Ready, e, countdown(8, true))),
        E(env("fresh", Phase::Provisioning, e, word("starting"))),
        E(env("leaving", Phase::Reaping, e, word("stopping"))),
        E(EnvRow { on_host: true, ..env("plain", Phase::Ready, p, countdown(250, false)) }),
        E(env("日本語の環境", Phase::Ready, p, countdown(7300, false))),
        SidebarRow::Group { title: "managed · podman".into(), folded: true, trouble: None },
    ]
}

pub fn details() -> Vec<SidebarRow> {
    let detail = |label: &str, value: &str| SidebarRow::Detail { label: label.into(), value: value.into() };
    vec![
        detail("idle", "5m, then stopped"),
        detail("files", "~/work rw, kept"),
        detail("network", "none"),
        detail("last", "cargo test, 2m ago"),
    ]
}

/// A pane with a screen.
pub fn pane<'a>(at: Area, title: &str, focused: bool, screen: &'a Screen) -> Pane<'a> {
    Pane {
        area: at,
        inner: inner(at),
        focused,
        synchronised: false,
        title: title.into(),
        agent: None,
        on_host: false,
        marks: Vec::new(),
        link: None,
        banner: None,
        content: PaneContent::Terminal {
            session: SessionId::new("s1"),
            screen,
            offset: 0,
            selection: None,
            found: Vec::new(),
            here: None,
            margin: Vec::new(),
            dim: false,
            copy_cursor: None,
        },
    }
}

/// Four quarters that share their borders.
pub fn quarters(a: Area) -> [Area; 4] {
    let (w, h) = (a.width / 2, a.height / 2);
    [
        area(a.x, a.y, w + 1, h + 1),
        area(a.x + w, a.y, a.width - w, h + 1),
        area(a.x, a.y + h, w + 1, a.height - h),
        area(a.x + w, a.y + h, a.width - w, a.height - h),
    ]
}

pub const CARGO: &str = "\x1b[1;32mworkspace\x1b[0m $ cargo test\r\n   \x1b[1;32mCompiling\x1b[0m login v0.3.1 (/workspace)\r\n\
    \x1b[1;33mwarning\x1b[0m: unused variable: `user`\r\n    \x1b[1;32mFinished\x1b[0m in 4.21s\r\n     \x1b[1;32mRunning\x1b[0m tests/login.rs\r\n\r\n\
    running 3 tests\r\ntest wrong_password ... \x1b[32mok\x1b[0m\r\ntest 日本語の名前 ... \x1b[32mok\x1b[0m\r\ntest locked_out ... \x1b[31mFAILED\x1b[0m\r\n\r\n\
    \x1b[1;32mworkspace\x1b[0m $ ";

pub fn feed() -> Vec<FeedLine> {
    let output = |text: &str, error| FeedLine::Output { text: text.into(), error };
    let command = |command: &str, exit_code: Option<i32>, took_ms, selected| FeedLine::Command {
        command: command.into(),
        exit_code,
        running: exit_code.is_none(),
        count: 1,
        cwd: None,
        took_ms,
        selected,
        of_selected: took_ms >= 3_000,
    };
    vec![
        FeedLine::Turn {
            number: 11,
            prompt: "why does the login fail?".into(),
            status: TurnStatus::Done,
            took_ms: 62_000,
            selected: false,
        },
        command("grep -rn login src", Some(0), 12, false),
        output("src/login.rs:12: pub fn login(user: &str) {", false),
        FeedLine::Remark("12 lines more · Space shows them".into()),
        FeedLine::Outside,
        command("git status --short", Some(0), 31, false),
        FeedLine::Turn {
            number: 12,
            prompt: "make the login tests pass".into(),
            status: TurnStatus::Running,
            took_ms: 15_400,
            selected: true,
        },
        command("ls -la src", Some(0), 3_120, false),
        command("cargo test login", Some(101), 8_412, true),
        output("error[E0425]: cannot find value `usr` in this scope", true),
        command("cargo test -- --nocapture", None, 3_000, false),
    ]
}

/// What others run in an environment.
pub fn commands_of_others() -> Vec<FeedLine> {
    let command =
        |command: &str, exit_code: Option<i32>, running, count, cwd: Option<&str>, took_ms| FeedLine::Command {
            command: command.into(),
            exit_code,
            running,
            count,
            cwd: cwd.map(str::to_owned),
            took_ms,
            selected: false,
            of_selected: false,
        };
    vec![
        command("git clone https://example.org/login.git", Some(0), false, 1, Some("/root"), 4_200),
        command("cargo test login", Some(101), false, 1, Some("/workspace/login"), 8_412),
        command("cat /tmp/hermes_bg_proc_0f.log", Some(0), false, 312, Some("/root"), 18),
        command("kill -0 71", Some(0), false, 312, None, 11),
        command("bash", None, false, 1, None, 61_000),
        command("cargo build --release", None, true, 1, Some("/workspace/login"), 33_000),
    ]
}

/// Environments that are not ours, as the sidebar shows them.
pub fn others() -> Vec<SidebarRow> {
    use SidebarRow::Environment as E;
    let (p, e) = (Some(true), Some(false));
    vec![
        group("hermes · default  docker"),
        E(EnvRow { active: true, shared_by: 3, ..env("default", Phase::Ready, p, word("hermes: leaves running")) }),
        E(env("prompt-backend-probe", Phase::Ready, p, word("leaked: probe"))),
        E(env("interop", Phase::Ready, e, countdown(41, true))),
        E(env("halted", Phase::Ready, p, word("paused"))),
        E(env("rested", Phase::Stopped, p, word("stopped · swept in 9:58"))),
        group("hermes · work  docker"),
        E(env("default", Phase::Ready, p, RowState::Turn { number: 4 })),
        E(env("made", Phase::Stopped, e, word("leaked: never started"))),
        group("managed · local"),
        E(env("notes", Phase::Ready, p, word("keeps running"))),
        group("foreign · docker"),
        E(env("postgres-dev", Phase::Ready, None, word("not ours"))),
    ]
}

/// Facts of one that a hermes-agent made.
pub fn details_of_others() -> Vec<SidebarRow> {
    let detail = |label: &str, value: &str| SidebarRow::Detail { label: label.into(), value: value.into() };
    vec![
        detail("kind", "persistent"),
        detail("task", "default"),
        detail("hermes", "leaves running"),
        detail("ends", "never by us"),
        detail("mount", "/root rw"),
        detail("mount", "/root/.hermes/skills ro"),
        detail("survives", "/root, /workspace"),
    ]
}

/// The question before a sandbox of a hermes-agent is stopped.
pub fn stop_of_others() -> Overlay {
    Overlay::Dialog {
        title: "Stop default?".into(),
        lost: texts(&["2 sessions and every process in it", "/tmp"]),
        kept: texts(&["the container's writable layer", "/root (from ~/.hermes/sandboxes/docker/default/home)"]),
        text: texts(&[
            "Hermes-agent made it and uses it by itself; commands that it runs there now are cut off.",
            "Once it has been stopped for 10 min, the next start of hermes-agent deletes it, with everything installed or \
             written outside of mounted folders.",
            "Started again before that, it is as it was; `r` or `env start default` does it.",
        ]),
        choices: pairs(&[("Esc", "cancel"), ("S", "stop")]),
        selected: 0,
        danger: Some(1),
    }
}

pub fn turn_rows() -> Vec<TurnRow> {
    let row =
        |depth, status, text: &str, right: &str| TurnRow { depth, status, text: text.into(), right: right.into() };
    vec![
        row(0, TurnStatus::Running, "fix the login tests · fix-login", "12 turns"),
        row(1, TurnStatus::Done, "11  why does the login fail?", "1 command · 1m02s"),
        row(1, TurnStatus::Running, "12  make the login tests pass", "3 commands · 1 failed · 15.4 s"),
        row(2, TurnStatus::Done, "ls -la src", "0 · 12 ms"),
        row(2, TurnStatus::Failed, "cargo test login", "101 · 8.4 s"),
        row(2, TurnStatus::Running, "cargo test -- --nocapture", "3.0 s"),
        row(0, TurnStatus::Interrupted, "nightly clean-up · research", "2 turns"),
    ]
}

pub fn dialog() -> Overlay {
    Overlay::Dialog {
        title: "Remove fix-login?".into(),
        lost: texts(&[
            "the container with everything outside of its mounts",
            "2 running processes: cargo test, sleep 600",
        ]),
        kept: texts(&["/workspace (from ~/code/login)", "home, in the data directory"]),
        text: texts(&["Turn 12 of \"fix the login tests\" is running in it."]),
        choices: pairs(&[("Esc", "keep it"), ("s", "only stop it"), ("r", "remove it")]),
        selected: 0,
        danger: Some(2),
    }
}

pub fn form() -> Overlay {
    let field = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
    Overlay::Form {
        title: "new environment".into(),
        fields: vec![
            field("name", "scratch", "Unique on its endpoint."),
            field("backend", "‹ local ›", "Where it runs: local needs nothing installed."),
            field("kind", "‹ persistent ›", "Persistent outlives turns; ephemeral is removed when its scope ends."),
            field("when idle", "‹ stop ›", "What the reaper does at the idle deadline."),
            field("idle time", "5m", "0 = never."),
            field("network", "‹ none ›", "host shares the network of this machine."),
        ],
        selected: 2,
        cursor: None,
        problem: Some("`scratch` exists already on local".into()),
    }
}

pub fn palette() -> Overlay {
    let row = |a: &str, b: &str, can| (a.to_owned(), b.to_owned(), can);
    Overlay::Palette {
        title: "commands".into(),
        input: "sp".into(),
        cursor: 2,
        rows: vec![
            row("split to the right", "Ctrl+B %", true),
            row("split below", "Ctrl+B \"", true),
            row("stop  ends the sandbox, keeps its files", "", true),
            row("respawn the session", "only when it has ended", false),
        ],
        selected: 1,
    }
}

pub fn help() -> Overlay {
    Overlay::Help {
        sections: vec![
            (
                "panes".into(),
                pairs(&[
                    ("Ctrl+B %", "split to the right"),
                    ("Ctrl+B \"", "split below"),
                    ("Ctrl+B h j k l", "focus left, down, up, right"),
                    ("Ctrl+B z", "zoom: the pane alone, and back"),
                    ("Ctrl+B x", "close the pane; the session lives on unless you say otherwise"),
                    ("Ctrl+B [", "copy mode"),
                ]),
            ),
            (
                "environments".into(),
                pairs(&[
                    ("Ctrl+B +", "extend by one idle time"),
                    ("Ctrl+B P", "pin or unpin"),
                    ("Ctrl+B e", "explain the reaper's verdict"),
                    ("Ctrl+B r", "remake a lost sandbox"),
                ]),
            ),
            (
                "list".into(),
                pairs(&[
                    ("j k", "down, up"),
                    ("Enter", "open"),
                    ("/", "filter"),
                    ("Esc", "back to the pane"),
                    ("q", "detach"),
                ]),
            ),
            (
                "tabs".into(),
                pairs(&[
                    ("Ctrl+B c", "new"),
                    ("Ctrl+B n p", "next, previous"),
                    ("Ctrl+B 1-9", "by number"),
                    ("Ctrl+B ,", "rename"),
                ]),
            ),
            (
                "copy mode".into(),
                pairs(&[
                    ("hjkl w b e 0 ^ $ g G Ctrl+U Ctrl+D", "move"),
                    ("w b e", "by word"),
                    ("v V", "mark characters, lines"),
                    ("y", "copy and leave"),
                    ("/ ? n N", "search"),
                    ("g G", "top, bottom"),
                ]),
            ),
        ],
        scroll: 0,
    }
}

pub fn which_key() -> Overlay {
    Overlay::WhichKey(pairs(&[
        ("%", "split to the right"),
        ("\"", "split below"),
        ("x", "close"),
        ("z", "zoom"),
        ("o", "next pane"),
        (";", "last pane"),
        ("c", "new tab"),
        ("n", "next tab"),
        ("p", "previous tab"),
        (",", "rename"),
        ("[", "copy mode"),
        ("]", "paste"),
        ("s", "sidebar"),
        ("w", "pick"),
        ("t", "turns"),
        ("a", "agent pane"),
        ("e", "explain"),
        ("P", "pin"),
        ("+", "extend"),
        ("d", "detach"),
        ("?", "help"),
        (":", "palette"),
    ]))
}

pub fn explain() -> Overlay {
    Overlay::Explain {
        title: "scratch".into(),
        verdict: hermes_tui::domain::VerdictKind::Warn,
        reason: "Nobody holds it; it is stopped in 41 s.".into(),
        facts: pairs(&[
            ("rule", "persistent, stop_on_session_end: stopped at the idle deadline"),
            ("activity", "command `cargo test` ended 4m19s ago"),
            ("holders", "none"),
            ("deadline", "12:05:41, in 0:41"),
            ("processes", "1 shell at its prompt: does not count"),
            ("actor", "hermes-tui"),
        ]),
        scroll: 0,
    }
}

pub fn toasts() -> Vec<Toast> {
    let toast = |text: &str, level| Toast { text: text.into(), level };
    vec![
        toast("not shown: the oldest of four", Level::Info),
        toast("copied 3 lines", Level::Success),
        toast("scratch is stopped in 1:00: any key in its pane keeps it", Level::Warning),
        toast(
            "build-arm64: cannot pull alpine:3.20 from docker.io: no route to host. Check the network, or load the image with `docker load`. Tried again in 0:12.",
            Level::Error,
        ),
    ]
}

pub fn welcome() -> Welcome {
    Welcome {
        found: vec![
            ("local".into(), "namespaces work here: nothing else is needed".into(), true),
            ("docker".into(), "no socket at /var/run/docker.sock".into(), false),
            ("hermes".into(), "~/.hermes, 3 conversations".into(), true),
        ],
        offers: pairs(&[
            ("n or Enter", "a sandbox here, with a shell in it"),
            ("N or f", "choose what kind of environment"),
            ("?", "help"),
            ("q", "leave"),
        ]),
    }
}
