//! Turns of an agent beside a person: they appear by themselves, and what idles is said.

use crate::common::{PATIENCE, Profile, Tmux, text, wait_for};
use serde_json::Value;

fn begin(profile: &Profile, more: &[&str]) -> Value {
    let mut args = vec!["turn", "begin", "--conversation", "c1", "--backend", "local"];
    args.extend_from_slice(more);
    profile.json(&args)
}

fn end(profile: &Profile) {
    profile.json(&["turn", "end", "--conversation", "c1"]);
}

fn exec(profile: &Profile, script: &str) -> Option<i32> {
    profile.run(&["exec", "--conversation", "c1", "--shell", script]).status.code()
}

fn deadline(env: &Value) -> Option<String> {
    env["idle_deadline_at"].as_str().map(str::to_owned)
}

#[test]
fn a_turn_from_elsewhere_appears_by_itself_with_feed_and_shell() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::open(&profile, 110, 36) else { return };
    tmux.wait("new sandbox");
    let first = begin(&profile, &["--title", "fix login", "--prompt", "make the tests pass", "--idle", "4"]);
    tmux.wait_until("the row with its turn", |s| s.contains("P c1") && s.contains("turn 1"));
    tmux.wait("make the tests pass");
    tmux.wait("agent@c1");
    assert_eq!(exec(&profile, "echo out''put; echo kept > /workspace/f"), Some(0));
    tmux.wait("output");
    assert_eq!(exec(&profile, "exit 37"), Some(37));
    tmux.wait_until("the command with its exit code", |s| {
        s.lines().any(|l| l.contains("exit 37 ") && l.contains(" 37 "))
    });
    end(&profile);

    let second = begin(&profile, &["--prompt", "and the docs"]);
    assert_eq!(second["session"], first["session"], "the same session");
    let screen = tmux.wait("and the docs");
    assert!(screen.contains("make the tests pass"), "the same feed: {screen}");
    assert!(screen.contains("1:fix login") && !screen.contains("2:"), "the same tab: {screen}");
    // The person works beside the agent, in the same place.
    tmux.keys(&["Enter"]);
    tmux.line("cat /workspace/f; echo per''son");
    tmux.wait_until("the agent's file", |s| s.contains("kept") && s.contains("person"));
    end(&profile);

    profile.wait_for_phase("c1", "stopped", PATIENCE);
    tmux.wait("stopped");
    let screen = tmux.wait_until("the reason in the pane", |s| s.contains("stopped after 4 s idle · r starts"));
    assert!(screen.contains("person"), "the last screen stays: {screen}");

    let third = begin(&profile, &["--prompt", "once more"]);
    assert_eq!(third["sandbox"]["id"], first["sandbox"]["id"]);
    tmux.wait("once more");
    assert_eq!(exec(&profile, "cat /workspace/f"), Some(0));
    tmux.wait_until("the session again", |s| s.contains("agent@c1") && !s.contains("r starts"));
    // The turn list leads to the first turn.
    tmux.leader("t");
    // The keys after the leader may be in sight for a moment before: what only the list says is waited for.
    tmux.wait("1 failed");
    tmux.keys(&["Escape"]);
    end(&profile);
}

#[test]
fn keys_extend_a_deadline_and_a_shell_at_its_prompt_does_not_hold() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::open(&profile, 100, 24) else { return };
    tmux.wait("new sandbox");
    profile.json(&["env", "new", "watched", "--persistent", "--idle", "6"]);
    tmux.wait("P watched");
    tmux.keys(&["Enter"]);
    tmux.wait("agent@watched");
    let before = deadline(&profile.env("watched")).expect("a shell at its prompt holds nothing");
    tmux.wait("any key extends");
    tmux.keys(&["x"]);
    wait_for("a later deadline", PATIENCE, || deadline(&profile.env("watched")).filter(|now| *now > before));
    tmux.wait_until("no warning", |s| !s.contains("any key extends") && !s.contains("is stopped in"));
    tmux.keys(&["BSpace"]);
    tmux.line("sleep 600 &");
    let held = wait_for("the process as a holder", PATIENCE, || {
        let env = profile.env("watched");
        assert_eq!(env["phase"], "ready", "{env}");
        env["holders"].as_array().unwrap().iter().any(|h| h["kind"] == "process").then_some(env)
    });
    assert!(held["holders"].to_string().contains("sleep 600"), "{held}");
    tmux.leader("e");
    tmux.wait_until("the process in the explanation", |s| {
        s.contains("explain ·") && s.matches("sleep 600").count() > 1
    });
    tmux.keys(&["Escape"]);
    tmux.wait("PANE");
    tmux.line("kill %1; echo do''ne");
    tmux.wait("done");
    profile.wait_for_phase("watched", "stopped", PATIENCE);
    tmux.wait_until("why", |s| s.contains("stopped after 6 s idle · r starts"));
    // Again, by one key.
    tmux.keys(&["Enter"]);
    profile.wait_for_phase("watched", "ready", PATIENCE);
    tmux.wait("agent@watched");
}

#[test]
fn an_ephemeral_environment_goes_with_its_turn_and_its_pane_says_so() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::open(&profile, 100, 24) else { return };
    tmux.wait("new sandbox");
    begin(&profile, &["--ephemeral", "--scope", "turn", "--prompt", "a quick one"]);
    tmux.wait("a quick one");
    tmux.wait("E c1");
    tmux.wait("agent@c1");
    let output = profile.run(&["exec", "--conversation", "c1", "--", "sh", "-c", "echo fe''d"]);
    assert!(output.status.success(), "{}", text(&output));
    tmux.wait("fed");
    end(&profile);
    tmux.wait_without("E c1");
    // What the agent did stays to be read.
    let screen = tmux.wait("a quick one");
    assert!(screen.contains("fed"), "{screen}");
}

#[test]
fn environments_that_come_and_go_quickly_leave_nothing_behind() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::open(&profile, 100, 24) else { return };
    tmux.wait("new sandbox");
    for round in 0..3 {
        tmux.keys(&["n"]);
        tmux.wait("agent@env-");
        profile.json(&["env", "rm", "env-1", "--yes"]);
        tmux.wait_until(&format!("the welcome after round {round}"), |s| {
            s.contains("no environments") || s.contains("new sandbox")
        });
        wait_for("no environment", PATIENCE, || {
            profile.json(&["env", "list"])["environments"].as_array().unwrap().is_empty().then_some(())
        });
        let tabs = tmux.screen();
        if !tabs.contains("new sandbox") {
            tmux.keys(&["x"]);
            let closed = std::time::Instant::now();
            tmux.wait("new sandbox");
            // What follows at once would count as typed in one go.
            wait_for("a pause", PATIENCE, || (closed.elapsed().as_millis() > 500).then_some(()));
        }
    }
}
