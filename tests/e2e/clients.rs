//! Terminals come and go; the host and what runs in its sandboxes stay.

use crate::common::{EXE, FOREGROUND, PATIENCE, Process, Profile, Tmux, wait_for, wait_until_gone};
use nix::sys::signal::Signal;

/// A client's process: the one of this profile that is not the host.
fn client(profile: &Profile) -> Process {
    let host = profile.host_process().pid;
    let home = format!("HTUI_HOME={}", profile.path().display());
    wait_for("the client", crate::common::PATIENCE, || {
        std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok().filter(|pid| *pid != host)?;
            let variables = std::fs::read(entry.path().join("environ")).ok()?;
            let ours = variables.split(|byte| *byte == 0).any(|one| one == home.as_bytes());
            let program = std::fs::read_link(entry.path().join("exe")).ok()?;
            (ours && program == std::path::Path::new(EXE)).then(|| Process::of(pid)).flatten()
        })
    })
}

/// Opens a long file in vi and types into it. `false`, with a word, where there is no vi.
fn opens_vi(tmux: &Tmux) -> bool {
    tmux.line("seq -f 'line %g of many' 100 > f; vi f || echo ab''sent");
    let screen = tmux.wait_until("vi or a word", |s| s.contains("line 15 of many") || s.contains("absent"));
    if screen.contains("absent") {
        crate::common::skip("vi is not installed");
        return false;
    }
    tmux.keys(&["i"]);
    tmux.type_text("typed by hand ");
    tmux.wait("typed by hand line 1 of many");
    true
}

#[test]
fn leaving_ends_nothing_and_the_next_terminal_shows_the_same_shell() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::attach_with_a_shell(&profile, 80, 24) else { return };
    let host = profile.host_process();
    tmux.line("kept=yes; cd /tmp");
    tmux.leader("d");
    let screen = tmux.wait_for_the_end(0);
    assert!(screen.contains("[detached"), "{screen}");
    tmux.assert_whole();
    assert_eq!(profile.host_process(), host);

    let again = Tmux::attach(&profile, 120, 40).expect("tmux");
    again.wait("agent@env-1:/tmp");
    again.line("echo \"<$kept>\"");
    again.wait("<yes>");
    // `q` in NAV is the same.
    again.leader("Escape");
    again.wait("NAV");
    again.keys(&["q"]);
    again.wait_for_the_end(0);
    assert!(host.lives());
}

#[test]
fn a_killed_client_and_a_lost_terminal_lose_nothing_of_vi() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::attach_with_a_shell(&profile, 80, 24) else { return };
    if !opens_vi(&tmux) {
        return;
    }
    client(&profile).signal(Signal::SIGKILL);
    tmux.wait("ended=137");

    // The next one loses its terminal.
    let second = Tmux::attach(&profile, 60, 14).expect("tmux");
    second.wait("typed by hand line 1 of many");
    let lost = client(&profile);
    drop(second);
    wait_until_gone("the client without a terminal", &[lost]);

    let third = Tmux::attach(&profile, 100, 40).expect("tmux");
    let screen = third.wait_until("vi in the whole pane", |s| s.contains("line 35 of many"));
    assert!(screen.contains("typed by hand line 1 of many"), "{screen}");
    // An ESC with something right behind it would be Alt with that.
    let column = || third.format("#{cursor_x}");
    let typing = column();
    third.keys(&["Escape"]);
    wait_for("vi to take the key", PATIENCE, || (column() != typing).then_some(()));
    third.type_text(":q!");
    third.keys(&["Enter"]);
    third.wait("agent@env-1");
}

#[test]
fn two_terminals_see_the_same_and_one_that_only_looks_changes_nothing() {
    let profile = Profile::new();
    let Some(one) = Tmux::attach_with_a_shell(&profile, 90, 24) else { return };
    let two = Tmux::start(&profile, 110, 30, &format!("{EXE} --read-only; echo ended=$?")).expect("tmux");
    two.wait("agent@env-1");
    one.line("echo se''en by both");
    one.wait("seen by both");
    two.wait("seen by both");
    // The size is that of the terminal where somebody types: the pane stays as narrow as it was.
    one.line("stty size");
    let narrow = one.wait_until("a size", |s| s.lines().any(|l| l.contains("│21 ") || l.contains("│20 ")));
    two.type_text("exit");
    two.wait("only looks");
    two.leader("%");
    two.wait("only looks");
    one.line("echo sti''ll here");
    let screen = one.wait("still here");
    assert!(!screen.contains("exit"), "{screen}\n{narrow}");
    assert_eq!(profile.sessions().len(), 1);
    two.leader("d");
    two.wait_for_the_end(0);
}

#[test]
fn keys_arrive_also_while_nothing_else_happens() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::attach_with_a_shell(&profile, 90, 24) else { return };
    // Without a countdown nothing else wakes the client.
    profile.json(&["env", "pin", "env-1"]);
    tmux.wait_without("next reap");
    let mut typed = "$ ".to_owned();
    for letter in ["a", "b", "c", "d", "e"] {
        tmux.type_text(letter);
        typed.push_str(letter);
        tmux.wait_until("the letter", |s| s.lines().any(|l| l.trim_end_matches([' ', '│']).ends_with(&typed)));
    }
}

#[test]
fn what_somebody_shuts_down_is_told_to_those_who_look() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::attach_with_a_shell(&profile, 90, 24) else { return };
    let all = Process::tree(profile.host_process().pid);
    profile.shut_down();
    let screen = tmux.wait_for_the_end(0);
    assert!(screen.contains("[the host has ended]"), "{screen}");
    tmux.assert_whole();
    wait_until_gone("everything", &all);
}

#[test]
fn from_the_screen_the_host_is_ended_by_its_own_command_which_asks() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::attach_with_a_shell(&profile, 90, 24) else { return };
    tmux.leader(":");
    tmux.type_text("shutdown");
    tmux.wait("End the host");
    tmux.keys(&["Enter"]);
    tmux.wait("End hermes-tui?");
    tmux.keys(&["q"]);
    let screen = tmux.wait_for_the_end(0);
    assert!(screen.contains("[the host has ended]"), "{screen}");
    assert!(profile.socket().is_none());
}

#[test]
fn a_host_that_a_command_started_is_attached_to_while_it_works() {
    let profile = Profile::new();
    profile.json(&["env", "new", "busy", "--persistent"]);
    let host = profile.host_process();
    let mut command = profile.command(&["exec", "busy", "--", "sleep", "600"]).spawn().unwrap();
    profile.wait_for_holder("busy", "call");
    if let Some(tmux) = Tmux::attach(&profile, 120, 24) {
        tmux.wait("busy");
        assert_eq!(profile.host_process(), host);
        assert!(command.try_wait().unwrap().is_none(), "the command runs on");
    }
    command.kill().unwrap();
    command.wait().unwrap();
}

#[test]
fn a_host_in_the_foreground_needs_a_profile_without_another() {
    let profile = Profile::serving();
    let Some(tmux) = Tmux::start(&profile, 160, 24, &format!("{FOREGROUND}; echo ended=$?")) else { return };
    let screen = tmux.wait_for_the_end(1);
    assert!(screen.contains("already is") && screen.contains("hermes-tui shutdown"), "{screen}");
}

#[test]
fn a_client_that_is_told_to_end_gives_its_terminal_back() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::attach_with_a_shell(&profile, 80, 24) else { return };
    let host = profile.host_process();
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
        client(&profile).signal(signal);
        tmux.wait_for_the_end(0);
        tmux.assert_whole();
        assert!(host.lives());
        tmux.line(&format!("clear; {EXE}; echo ended=$?"));
        tmux.wait("agent@env-1");
    }
}

#[test]
fn a_host_that_is_killed_leaves_vi_and_a_clock_to_the_next_one() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::attach_with_a_shell(&profile, 100, 30) else { return };
    if !opens_vi(&tmux) {
        return;
    }
    tmux.leader("%");
    tmux.wait_until("a second shell", |s| s.contains("agent@env-1"));
    tmux.line("n=0; while :; do n=$((n+1)); echo tick $n; read -t 0.3 nothing; done");
    tmux.wait("tick 3");
    let sessions = profile.sessions();
    wait_for("the journal to know both", crate::common::PATIENCE, || {
        let known = |session: &serde_json::Value| profile.journal_knows(session["id"].as_str().expect("an id"));
        sessions.iter().all(known).then_some(())
    });
    profile.host_process().signal(Signal::SIGKILL);
    tmux.wait("lost the connection");

    let again = Tmux::attach(&profile, 110, 34).expect("tmux");
    let screen =
        again.wait_until("both, drawn anew", |s| s.contains("typed by hand line 1 of many") && s.contains("tick "));
    let tick = |s: &str| {
        let numbers = s.lines().filter_map(|l| l.split_once("tick ")?.1.split_whitespace().next()?.parse::<u32>().ok());
        numbers.max().unwrap_or(0)
    };
    let seen = tick(&screen);
    assert!(seen > 3, "it went on: {screen}");
    again.wait_until("it to go on", |s| tick(s) > seen);
    let ids =
        |all: &[serde_json::Value]| all.iter().map(|s| s["id"].to_string()).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(ids(&profile.sessions()), ids(&sessions), "the same sessions");
}
