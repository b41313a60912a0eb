//! Working from what an agent did: its commands are copied, run again in their directory, and a shell is opened where it is.

use crate::common::{PATIENCE, Profile, Tmux, text, wait_for};

#[test]
fn a_failed_command_is_found_copied_and_run_again_and_a_shell_opened_where_the_agent_is() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::open(&profile, 120, 40) else { return };
    // The outer terminal: what is sent to its clipboard can be asked for.
    tmux.run(&["set", "-s", "set-clipboard", "on"]);
    tmux.wait("new sandbox");
    let shell = |script: &str| profile.run(&["exec", "--conversation", "c1", "--shell", script]).status.code();
    let begin = ["turn", "begin", "--conversation", "c1", "--backend", "local", "--title", "fix login"];
    profile.json(&[&begin[..], &["--prompt", "make the tests pass"]].concat());
    assert_eq!(shell("mkdir /workspace/src && cd /workspace/src && export MOOD=good"), Some(0));
    assert_eq!(shell("echo at''tempt >> log; wc -l < log; false"), Some(1));
    assert_eq!(shell("cd /tmp"), Some(0));
    // The turn fails in a tab that nobody looks at.
    tmux.wait("make the tests pass");
    profile.json(&["env", "new", "other", "--persistent"]);
    tmux.wait("P other");
    tmux.goes_to("other");
    tmux.wait("agent@other");
    profile.json(&["turn", "end", "--conversation", "c1", "--status", "failed"]);
    tmux.wait("1 needs you");
    tmux.leader("m");
    tmux.wait_until("the failed turn", |s| s.contains("turn 1 of fix login failed") && s.contains("AGENT"));
    tmux.wait_without("1 needs you");

    // Its failed command, in the clipboard of the terminal.
    let command = "echo at''tempt >> log; wc -l < log; false";
    tmux.keys(&["v"]);
    tmux.wait_until("what failed alone", |s| s.contains("failed only") && !s.contains("export MOOD"));
    tmux.keys(&["y"]);
    tmux.wait("copied `echo");
    wait_for("the clipboard", PATIENCE, || (tmux.run(&["show-buffer"]) == command).then_some(()));

    // Typed where it ran, and run by the person's own word.
    tmux.keys(&["r"]);
    let screen = tmux.wait_until("the command at the prompt", |s| s.contains("src$ echo at''tempt >> log"));
    assert!(!screen.contains("src$ echo at''tempt >> log; wc -l < log; false\n2"), "{screen}");
    let lines = profile.run(&["exec", "c1", "--", "cat", "/workspace/src/log"]);
    assert_eq!(text(&lines), "attempt\n", "nothing ran by itself");
    tmux.keys(&["Enter"]);
    wait_for("the second run", PATIENCE, || {
        let log = profile.run(&["exec", "c1", "--", "cat", "/workspace/src/log"]);
        (text(&log) == "attempt\nattempt\n").then_some(())
    });

    // Where the agent is, which went on elsewhere.
    tmux.leader("W");
    tmux.wait("where the agent is: /tmp, with the variables");
    tmux.line("echo \"<$MOOD|$PWD>\"");
    tmux.wait("<good|/tmp>");
    // The same from the turn list; a fourth pane would leave too little room for work.
    tmux.leader("t");
    tmux.wait_until("the turn list", |s| s.contains("3 commands, 1 failed"));
    tmux.keys(&["f", "r"]);
    tmux.wait_until("the command in a tab of its own", |s| {
        s.contains("3:c1*") && s.contains("src$ echo at''tempt >> log; wc -l < log; false")
    });
    assert_eq!(text(&profile.run(&["exec", "c1", "--", "cat", "/workspace/src/log"])), "attempt\nattempt\n");
}
