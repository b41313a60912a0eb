//! Where the kernel refuses namespaces: said plainly, and a shell of the host only on the user's explicit word.

use crate::common::{FOREGROUND, PATIENCE, Profile, Tmux, skip, text, wait_for};
use std::process::Command;

/// Runs a program where no namespace can be made.
const WITHOUT: &str = "unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"'";

fn possible() -> bool {
    Command::new("sh").args(["-c", &format!("{WITHOUT} true")]).status().is_ok_and(|status| status.success())
}

#[test]
fn without_namespaces_the_screen_says_so_and_offers_a_host_shell() {
    if !possible() {
        return skip("namespaces cannot be refused to a program here");
    }
    let profile = Profile::new();
    let Some(tmux) = Tmux::start(&profile, 110, 30, &format!("{WITHOUT} {FOREGROUND}; echo ended=$?")) else { return };
    tmux.wait("max_user_namespaces is 0");
    tmux.keys(&["n"]);
    tmux.wait("Enter tries again");
    let failed = profile.run(&["env", "new", "y"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed).contains("--on-host"), "{}", text(&failed));

    // The word of the user, in the form.
    tmux.leader("N");
    tmux.wait("isolation");
    for _ in 0..6 {
        tmux.keys(&["Down"]);
    }
    tmux.keys(&["Right"]);
    tmux.wait("NOT ISOLATED");
    tmux.keys(&["Enter"]);
    tmux.wait_until("the badge", |s| s.contains("HOST"));
    wait_for("its shell", PATIENCE, || (profile.sessions().len() == 1).then_some(()));
    tmux.line("echo ho''st-$((6 * 7))");
    tmux.wait("host-42");

    // And on the command line.
    let made = profile.json(&["env", "new", "plain", "--on-host", "--ephemeral"]);
    assert_eq!(made["environment"]["isolation"], "none", "{made}");
    assert_eq!(profile.env("plain")["network"], "host");
    let output = profile.run(&["exec", "plain", "--", "echo", "here"]);
    assert_eq!(text(&output), "here\n");

    tmux.leader("q");
    tmux.wait("End hermes-tui?");
    tmux.keys(&["q"]);
    tmux.wait_for_the_end(0);
    wait_for("the end", PATIENCE, || profile.socket().is_none().then_some(()));
}
