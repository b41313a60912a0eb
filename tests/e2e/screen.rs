//! The screen by keyboard alone, at the sizes of a phone, an old terminal and a laptop.

use crate::common::{FOREGROUND, PATIENCE, Process, Profile, Tmux, wait_for, wait_until_gone};
use serde_json::Value;

/// As short as a narrow pane shows it.
const PANE_TITLE: &str = "env-1 · sh";

fn titles(screen: &str) -> usize {
    screen.matches(PANE_TITLE).count()
}

fn wait_for_panes(tmux: &Tmux, count: usize) -> String {
    tmux.wait_until(&format!("{count} panes"), |screen| titles(screen) == count)
}

/// Rows and columns of the sessions in the order of their ids, so that a change shows.
fn sizes(profile: &Profile) -> Vec<(String, u64, u64)> {
    let size = |s: &Value, at: usize| s["size"][at].as_u64().expect("a size");
    let mut all: Vec<_> = profile
        .sessions()
        .iter()
        .map(|s| (s["id"].as_str().expect("an id").to_owned(), size(s, 0), size(s, 1)))
        .collect();
    all.sort();
    all
}

/// Waits until the sessions have other rows (0) or columns (1) than before.
fn wait_for_change(profile: &Profile, what: &str, before: &[(String, u64, u64)], columns: bool) {
    let of = |sizes: &[(String, u64, u64)]| -> Vec<u64> {
        sizes.iter().map(|(_, rows, cols)| if columns { *cols } else { *rows }).collect()
    };
    wait_for(what, PATIENCE, || (of(&sizes(profile)) != of(before)).then_some(()));
}

fn holders(profile: &Profile, env: &str) -> String {
    profile.env(env)["holders"].to_string()
}

/// Replaces the text of a prompt.
fn retype(tmux: &Tmux, old: usize, new: &str) {
    for _ in 0..old {
        tmux.keys(&["BSpace"]);
    }
    tmux.line(new);
}

fn tour(cols: u16, rows: u16) {
    let profile = Profile::new();
    let Some(tmux) = Tmux::with_a_shell(&profile, cols, rows) else { return };
    tmux.line("echo wo''rks");
    tmux.wait("works");

    panes(&profile, &tmux);
    history(&tmux);
    names(&profile, &tmux);
    reaper(&profile, &tmux);
    lists(&tmux);
    closing(&profile, &tmux);
    leaving(&profile, &tmux);
}

fn panes(profile: &Profile, tmux: &Tmux) {
    tmux.leader("%");
    wait_for_panes(tmux, 2);
    tmux.leader("\"");
    wait_for_panes(tmux, 3);
    wait_for("three shells", PATIENCE, || (profile.sessions().len() == 3).then_some(()));

    let before = sizes(profile);
    tmux.leader("L");
    wait_for_change(profile, "other columns", &before, true);
    let before = sizes(profile);
    tmux.leader("K");
    wait_for_change(profile, "other rows", &before, false);

    tmux.leader("z");
    let zoomed = wait_for_panes(tmux, 1);
    assert!(zoomed.contains("zoom"), "{zoomed}");
    // The program knows the size of its pane.
    tmux.line("stty size | tr ' ' x");
    let told = wait_for("the size of the pane", PATIENCE, || {
        let screen = tmux.screen();
        sizes(profile).iter().map(|(_, r, c)| format!("{r}x{c}")).find(|size| screen.contains(size.as_str()))
    });
    tmux.leader("z");
    wait_for_panes(tmux, 3);
    tmux.line("clear; stty size | tr ' ' x");
    tmux.wait_until("the size to follow", |screen| {
        !screen.contains(&told) && sizes(profile).iter().any(|(_, r, c)| screen.contains(&format!("{r}x{c}")))
    });
}

fn history(tmux: &Tmux) {
    tmux.leader("z");
    wait_for_panes(tmux, 1);
    tmux.line("clear; seq -f 'line %g' 300");
    tmux.wait("line 300");
    tmux.leader("[");
    tmux.wait("COPY");
    tmux.keys(&["PPage", "PPage"]);
    tmux.wait_without("line 300");
    tmux.keys(&["g"]);
    tmux.wait_until("the first line", |screen| screen.lines().any(|l| l.contains("line 1 ")));
    tmux.keys(&["q"]);
    tmux.wait("line 300");
    tmux.wait("PANE");
    tmux.leader("z");
    wait_for_panes(tmux, 3);
}

fn names(profile: &Profile, tmux: &Tmux) {
    tmux.leader("$");
    tmux.wait("new name of env-1");
    retype(tmux, 5, "env-1x");
    wait_for("the new name", PATIENCE, || {
        profile.json(&["env", "list"]).to_string().contains("\"env-1x\"").then_some(())
    });
    tmux.leader("$");
    tmux.wait("new name of env-1x");
    retype(tmux, 1, "");
    wait_for("the old name", PATIENCE, || {
        (!profile.json(&["env", "list"]).to_string().contains("\"env-1x\"")).then_some(())
    });
    tmux.leader(",");
    tmux.wait("MENU");
    retype(tmux, 10, "work");
    tmux.wait("1:work");
}

fn reaper(profile: &Profile, tmux: &Tmux) {
    tmux.leader("P");
    wait_for("a pin", PATIENCE, || holders(profile, "env-1").contains("pin").then_some(()));
    assert!(profile.env("env-1")["idle_deadline_at"].is_null());
    tmux.leader("P");
    wait_for("no pin", PATIENCE, || (!holders(profile, "env-1").contains("pin")).then_some(()));
    tmux.leader("+");
    tmux.wait_until("one more idle time", |screen| screen.contains(" 9:5") || screen.contains(" 10:0"));
    tmux.leader("e");
    tmux.wait("explain · env-1");
    tmux.wait("stop_on_session_end");
    tmux.escape("explain · env-1");
}

fn lists(tmux: &Tmux) {
    tmux.leader("Escape");
    tmux.wait("NAV");
    tmux.keys(&["Space"]);
    tmux.wait("survives");
    tmux.keys(&["Space"]);
    tmux.wait_without("survives");
    tmux.keys(&["Escape"]);
    tmux.wait("PANE");
    tmux.leader("t");
    tmux.wait("no turns yet");
    tmux.escape("no turns yet");
    tmux.leader("?");
    tmux.wait("Where keys go");
    tmux.escape("Where keys go");
    tmux.leader(":");
    tmux.wait("split-right");
    tmux.type_text("zoom");
    tmux.wait_without("split-right");
    tmux.keys(&["Enter"]);
    wait_for_panes(tmux, 1);
    tmux.leader("z");
    wait_for_panes(tmux, 3);
}

fn closing(profile: &Profile, tmux: &Tmux) {
    tmux.line("clear; echo st''arted; exec sleep 555");
    tmux.wait("started");
    tmux.leader("x");
    tmux.wait("Close the pane");
    tmux.escape("Close the pane");
    assert_eq!(profile.sessions().len(), 3, "nothing is lost before the answer");
    tmux.leader("x");
    tmux.wait("Close the pane");
    tmux.keys(&["x"]);
    wait_for_panes(tmux, 2);
    wait_for("its session to end", PATIENCE, || (profile.sessions().len() == 2).then_some(()));
}

fn leaving(profile: &Profile, tmux: &Tmux) {
    let host = profile.host_process();
    let all = Process::tree(host.pid);
    assert!(all.len() > 3, "the host, the sandbox and its shells: {all:?}");
    tmux.leader("d");
    tmux.wait("End hermes-tui?");
    tmux.escape("End hermes-tui?");
    tmux.leader("q");
    tmux.wait("End hermes-tui?");
    tmux.keys(&["q"]);
    let screen = tmux.wait_for_the_end(0);
    let said = screen.split_whitespace().collect::<String>();
    assert!(said.contains("env-1wasstopped"), "what was ended is told: {screen}");
    assert!(!screen.contains("Error"), "{screen}");
    wait_until_gone("everything of the sandbox", &all);
    tmux.assert_whole();
}

#[test]
fn everything_works_by_keyboard_at_40x12() {
    tour(40, 12);
}

#[test]
fn everything_works_by_keyboard_at_80x24() {
    tour(80, 24);
}

#[test]
fn everything_works_by_keyboard_at_120x40() {
    tour(120, 40);
}

#[test]
fn countdowns_run_without_a_key_being_pressed() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::with_a_shell(&profile, 80, 24) else { return };
    let mut seen = std::collections::BTreeSet::new();
    tmux.wait_until("three different times", |screen| {
        seen.extend(screen.rsplit_once("next reap ").map(|(_, time)| time.trim().to_owned()));
        seen.len() >= 3
    });
}

#[test]
fn programs_follow_the_size_of_the_outer_terminal() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::with_a_shell(&profile, 120, 40) else { return };
    let expect = |what: &str| {
        let (_, rows, cols) = sizes(&profile)[0].clone();
        tmux.line("clear; stty size | tr ' ' x");
        tmux.wait_until(&format!("{rows}x{cols} {what}"), |screen| screen.contains(&format!("{rows}x{cols}")));
        (rows, cols)
    };
    let laptop = expect("at first");
    for (cols, rows) in [(40, 12), (80, 24), (20, 5), (120, 40)] {
        let before = sizes(&profile);
        tmux.resize(cols, rows);
        wait_for_change(&profile, "another size", &before, true);
        if cols > 20 {
            let (r, c) = expect("after a resize");
            assert!(r < u64::from(rows) && c < u64::from(cols));
            // Nothing of the old size is left over: the frame ends where the terminal does.
            tmux.wait_until("a whole frame", |screen| screen.lines().any(|l| l.trim_end().ends_with('╯')));
        }
    }
    assert_eq!(expect("back again"), laptop);
}

#[test]
fn a_full_screen_program_is_drawn_again_after_a_resize() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::with_a_shell(&profile, 100, 30) else { return };
    tmux.line("seq -f 'row %g of 400' 400 > f; clear; command -v less && less f || echo ab''sent");
    let screen = tmux.wait_until("less or a word", |s| s.contains("row 20 of 400") || s.contains("absent"));
    if screen.contains("absent") {
        return crate::common::skip("less is not installed");
    }
    assert!(!screen.contains("row 40 of 400"));
    tmux.resize(80, 50);
    tmux.wait("row 40 of 400");
    tmux.keys(&["G"]);
    tmux.wait("row 400 of 400");
    tmux.resize(60, 14);
    // less keeps its first row where it was: of 50 rows the pane has 46, and the last is less's own.
    let rows = |s: &str| -> Vec<u32> {
        s.lines().filter_map(|line| line.split_once("row ")?.1.split_once(" of 400")?.0.parse().ok()).collect()
    };
    tmux.wait_until("the rows from the same first one on", |s| rows(s) == (356..=364).collect::<Vec<_>>());
    tmux.keys(&["q"]);
    tmux.wait("agent@env-1");
}

#[test]
fn a_full_screen_program_is_drawn_again_when_its_pane_is_zoomed_and_no_longer() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::with_a_shell(&profile, 100, 30) else { return };
    tmux.leader("\"");
    wait_for_panes(&tmux, 2);
    tmux.line("seq -f 'row %g of 400' 400 > f; clear; command -v less && less f || echo ab''sent");
    let screen = tmux.wait_until("less or a word", |s| s.contains("row 9 of 400") || s.contains("absent"));
    if screen.contains("absent") {
        return crate::common::skip("less is not installed");
    }
    assert!(!screen.contains("row 20 of 400"), "{screen}");
    for _ in 0..2 {
        tmux.leader("z");
        tmux.wait_until("the rows of the whole tab", |s| s.contains("row 20 of 400") && s.contains("row 1 of 400"));
        tmux.leader("z");
        tmux.wait_until("those of the half", |s| {
            s.contains("row 9 of 400") && s.contains("row 1 of 400") && !s.contains("row 20 of 400")
        });
    }
    tmux.keys(&["q"]);
    tmux.wait("agent@env-1");
}

#[test]
fn a_program_reaches_the_clipboard_of_the_outer_terminal_by_consent_alone() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::with_a_shell(&profile, 100, 30) else { return };
    tmux.run(&["set-option", "-g", "set-clipboard", "on"]);
    // `echo one; ls` in base64.
    tmux.line(r"printf '\033]52;c;ZWNobyBvbmU7IGxz\a'");
    tmux.wait("asks to copy 12 characters: Ctrl+B C");
    tmux.line("echo typed-''on");
    tmux.wait("typed-on");
    assert!(!tmux.run(&["list-buffers"]).contains("echo one"), "nothing before a word");
    tmux.leader("C");
    tmux.wait("> echo one; ls");
    tmux.keys(&["y"]);
    crate::common::wait_for("the clipboard", crate::common::PATIENCE, || {
        (tmux.run(&["show-buffer"]) == "echo one; ls").then_some(())
    });
    // A link goes to the outer terminal as its text alone.
    tmux.line(r"clear; printf '\033]8;;https://evil.example/\aharmless\033]8;;\a\n'");
    tmux.wait_until("the text of the link", |s| s.contains("harmless") && !s.contains("033"));
    assert!(!tmux.run(&["capture-pane", "-p", "-e"]).contains("evil.example"));
    tmux.leader("u");
    tmux.wait("leads to evil.example");
}

#[test]
fn the_outer_terminals_colours_are_asked_for_and_programs_are_told() {
    let profile = Profile::new();
    // A terminal with dark text on white, before anything is asked.
    let set = format!("tmux set -g window-style fg=#102030,bg=#ffffff; {FOREGROUND}");
    let Some(tmux) = Tmux::start(&profile, 100, 30, &set) else { return };
    tmux.wait("new sandbox");
    tmux.keys(&["n"]);
    tmux.wait("agent@env-1");
    // All in one line: what is typed while it reads would be read.
    let asks =
        r"stty -echo; printf '\033]10;?\a\033]11;?\a'; IFS= read -rsd $'\a' f; IFS= read -rsd $'\a' b; stty echo";
    tmux.line(&format!("{asks}; echo \"text ${{f#*rgb:}} on ${{b#*rgb:}}\""));
    tmux.wait("text 1010/2020/3030 on ffff/ffff/ffff");
    let shown = || tmux.run(&["capture-pane", "-p", "-e"]);
    let (light, dark) = ("38;2;11;98;196", "38;2;108;182;255");
    assert!(shown().contains(light), "in 24 bits, from the theme for light backgrounds");
    // Another theme of the desktop: its terminal is asked again when it has the focus again.
    tmux.run(&["set", "-g", "window-style", "fg=#eeeeee,bg=#000000"]);
    tmux.run(&["send-keys", "-H", "1b", "5b", "49"]);
    wait_for("the dark theme", PATIENCE, || (shown().contains(dark) && !shown().contains(light)).then_some(()));
}

#[test]
fn long_names_are_cut_and_never_break_a_small_screen() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::with_a_shell(&profile, 40, 12) else { return };
    let long = "a-name-that-is-longer-than-the-screen-is-wide-and-goes-on";
    profile.json(&["env", "rename", "env-1", long]);
    let screen = tmux.wait("a-name-that-is");
    assert!(screen.lines().all(|l| l.chars().count() <= 40), "{screen}");
    tmux.leader("Escape");
    let screen = tmux.wait_until("the sidebar", |s| s.contains("NAV") && s.contains("a-name-that-is"));
    assert!(screen.contains("5:00") || screen.contains("4:5"), "the countdown stays: {screen}");
    tmux.keys(&["S"]);
    let screen = tmux.wait("[Esc]");
    assert!(screen.contains("a-name-that"), "{screen}");
    tmux.keys(&["Escape"]);
    tmux.wait("NAV");
}

#[test]
fn a_flood_of_output_stops_neither_splitting_nor_leaving() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::with_a_shell(&profile, 80, 24) else { return };
    tmux.line("yes flood");
    tmux.wait("flood");
    tmux.leader("%");
    wait_for_panes(&tmux, 2);
    tmux.wait("agent@env-1");
    tmux.line("echo be''side");
    tmux.wait("beside");
    let all = Process::tree(profile.host_process().pid);
    tmux.leader("q");
    tmux.wait("End hermes-tui?");
    tmux.keys(&["q"]);
    tmux.wait_for_the_end(0);
    wait_until_gone("the flood", &all);
    tmux.assert_whole();
}

#[test]
fn wide_characters_and_pastes_arrive_whole() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::with_a_shell(&profile, 80, 24) else { return };
    tmux.line("clear; printf '[%s]\\n' '日本語 e\u{301} 🚀 x'");
    tmux.wait("[日本語 e\u{301} 🚀 x]");
    // Bracketed: the shell waits for Enter instead of running each line.
    tmux.run(&["set-buffer", "echo pas''ted-1\necho pas''ted-2"]);
    tmux.run(&["paste-buffer", "-p"]);
    tmux.wait("echo pas''ted-2");
    assert!(!tmux.screen().contains("pasted-1"));
    tmux.keys(&["Enter"]);
    tmux.wait("pasted-2");
}
