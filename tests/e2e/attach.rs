//! One session in a terminal, and nothing else.

use crate::common::{EXE, PATIENCE, Process, Profile, Tmux, wait_for};
use nix::sys::signal::Signal;
use std::path::Path;

/// A profile with an environment `dev`.
fn profile() -> Profile {
    let profile = Profile::new();
    profile.json(&["env", "new", "dev", "--persistent"]);
    profile
}

fn attach(profile: &Profile, cols: u16, rows: u16, how: &str) -> Option<Tmux> {
    Tmux::start(profile, cols, rows, &format!("clear; {EXE} {how}; echo ended=$?"))
}

/// The process of this profile that runs `attach`.
fn client(profile: &Profile) -> Process {
    let home = format!("HTUI_HOME={}", profile.path().display());
    wait_for("the client", PATIENCE, || {
        std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let words = std::fs::read(entry.path().join("cmdline")).ok()?;
            let variables = std::fs::read(entry.path().join("environ")).ok()?;
            let ours = variables.split(|byte| *byte == 0).any(|one| one == home.as_bytes());
            let attaches = words.split(|byte| *byte == 0).any(|word| word == b"attach");
            let program = std::fs::read_link(entry.path().join("exe")).ok()?;
            (ours && attaches && program == Path::new(EXE)).then(|| Process::of(pid)).flatten()
        })
    })
}

#[test]
fn a_shell_fills_the_terminal_and_runs_on_after_detaching() {
    let profile = profile();
    let Some(tmux) = attach(&profile, 90, 24, "attach dev") else { return };
    let screen =
        tmux.wait_until("a prompt and a way out", |s| s.contains("agent@dev") && s.contains("Ctrl+B d detaches"));
    assert!(screen.lines().next().is_some_and(|line| line.starts_with("agent@dev")), "no frame: {screen}");
    tmux.line("stty size; kept=yes; seq 200");
    tmux.wait_until("the end of the numbers", |s| s.lines().any(|line| line == "200"));
    tmux.leader("d");
    let screen = tmux.wait_for_the_end(0);
    assert!(screen.contains("[detached"), "{screen}");
    tmux.assert_whole();
    let session = profile.sessions()[0]["id"].as_str().unwrap().to_owned();

    // The next one shows the same at its own size, with the history.
    let again = attach(&profile, 70, 40, &format!("session attach {session}")).expect("tmux");
    again.wait_until("what was there", |s| s.lines().filter(|line| line.parse::<u32>().is_ok()).count() >= 37);
    again.line("clear; stty size; echo \"<$kept>\"");
    again.wait_until("its own size and the same shell", |s| s.contains("40 70") && s.contains("<yes>"));
    again.resize(100, 30);
    again.line("clear; stty size");
    again.wait("30 100");
    assert_eq!(profile.sessions().len(), 1);
    again.line("exit 9");
    let screen = again.wait_for_the_end(9);
    assert!(screen.contains("[ended with exit code 9]"), "{screen}");
    again.assert_whole();
}

#[test]
fn two_terminals_and_the_screen_share_one_session_and_a_reader_types_nothing() {
    let profile = profile();
    let Some(one) = attach(&profile, 90, 24, "attach dev") else { return };
    one.wait("agent@dev");
    let two = attach(&profile, 60, 20, "attach dev").expect("tmux");
    two.wait("agent@dev");
    two.line("clear; stty size; echo by t''wo");
    one.wait_until("what the other typed", |s| s.contains("20 60") && s.contains("by two"));
    one.line("clear; stty size; echo by o''ne");
    two.wait_until("what the other typed", |s| s.contains("24 90") && s.contains("by one"));
    let reader = attach(&profile, 80, 24, "attach --read-only dev").expect("tmux");
    reader.wait("by one");
    reader.type_text("exit");
    reader.wait("only looks");
    let whole = Tmux::start(&profile, 120, 30, &format!("{EXE} open dev; echo ended=$?")).expect("tmux");
    whole.wait_until("the screen with the same session", |s| s.contains("environments") && s.contains("by one"));
    assert_eq!(profile.sessions().len(), 1);
    one.line("exit 3");
    for tmux in [&one, &two, &reader] {
        tmux.wait_for_the_end(3);
        tmux.assert_whole();
    }
    whole.wait("exit 3");
}

#[test]
fn whatever_ends_the_client_the_session_goes_on() {
    let profile = profile();
    let Some(tmux) = attach(&profile, 80, 24, "attach dev") else { return };
    for (signal, code) in [(Signal::SIGTERM, 0), (Signal::SIGHUP, 0), (Signal::SIGKILL, 137)] {
        tmux.wait("agent@dev");
        client(&profile).signal(signal);
        tmux.wait_for_the_end(code);
        if signal == Signal::SIGKILL {
            break;
        }
        tmux.assert_whole();
        tmux.line(&format!("clear; {EXE} attach dev; echo ended=$?"));
    }
    assert_eq!(profile.sessions().len(), 1);
    let again = attach(&profile, 80, 24, "attach dev").expect("tmux");
    again.wait("agent@dev");
    again.line("echo go''es on");
    again.wait("goes on");
}

#[test]
fn what_ends_without_a_code_of_its_own_is_our_failure_and_says_why() {
    let profile = profile();
    let Some(tmux) = attach(&profile, 100, 24, "attach dev") else { return };
    tmux.wait("agent@dev");
    assert!(profile.run(&["env", "stop", "dev", "--force"]).status.success());
    let screen = tmux.wait_for_the_end(125);
    assert!(screen.contains("stopped on request") && screen.contains("session capture"), "{screen}");
    tmux.assert_whole();
    tmux.line(&format!("clear; {EXE} attach nobody; echo ended=$?"));
    let screen = tmux.wait_for_the_end(125);
    assert!(screen.contains("no environment or session `nobody`"), "{screen}");
    // It starts again, with a new shell.
    tmux.line(&format!("clear; {EXE} attach dev; echo ended=$?"));
    tmux.wait("agent@dev");
    assert_eq!(profile.env("dev")["phase"], "ready");
}

#[test]
fn a_lot_that_is_typed_at_once_comes_whole() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::attach_with_a_shell(&profile, 80, 24) else { return };
    tmux.line("stty raw -echo; printf g''o; head -c 5000 | wc -c; stty sane");
    tmux.wait("go");
    let typed = profile.path().join("typed");
    std::fs::write(&typed, "x".repeat(5000)).unwrap();
    tmux.run(&["load-buffer", typed.to_str().unwrap()]);
    tmux.run(&["paste-buffer"]);
    tmux.wait("5000");
}
