//! What programs printed: found, copied, opened in an editor, saved; and a large text pasted into a program.

use crate::common::{PATIENCE, Profile, Tmux, skip, text, wait_for};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A profile whose person has a program for copying and an editor, both of which write down what they get.
fn person() -> Profile {
    let profile = Profile::with_variables(&[("EDITOR", "sh \"$HOME/editor.sh\"")]);
    let file = |name: &str| profile.path().join(name).display().to_string();
    let config = text(&profile.run(&["config", "path"]));
    let config = std::path::Path::new(config.trim());
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let copy = format!("[copy]\ncommand = [\"sh\", \"-c\", \"cat >'{}'\"]\n", file("copied"));
    fs::write(config, copy).unwrap();
    let seen = file("seen");
    let editor = format!(
        "exec 3>'{seen}'\nstat -c %a \"$1\" >&3\ncat \"$1\" >&3\necho IN THE EDITOR\nread line\necho \"$line\" >&3\necho \"$1\" >&3\n"
    );
    fs::write(file("editor.sh"), editor).unwrap();
    profile
}

/// Says how commands ended, copies what they printed, opens it in an editor and saves it.
fn works_with_what_was_printed(profile: &Profile, tmux: &Tmux) {
    tmux.run(&["set", "-s", "set-clipboard", "on"]);
    if !profile.run(&["exec", "env-1", "--", "bash", "-c", "true"]).status.success() {
        return skip("prompts of bash: there is no bash in the sandbox");
    }
    let script = profile.path().join("marks.bash");
    fs::write(&script, text(&profile.run(&["util", "shell-integration", "bash"]))).unwrap();
    let copied = profile.run(&["cp", script.to_str().unwrap(), "env-1:/workspace/marks"]);
    assert!(copied.status.success(), "{copied:?}");
    tmux.line("exec bash --noprofile --rcfile /workspace/marks -i");
    tmux.wait_until("its prompt", |screen| screen.matches("agent@env-1").count() == 2);
    tmux.line("echo on''e; echo tw''o");
    tmux.wait("two");
    tmux.line("cat /no/such''/file");
    tmux.wait_until("how both ended", |screen| screen.contains('✓') && screen.contains('✗'));
    tmux.leader("O");
    tmux.wait("copied");
    let failed = "cat: /no/such/file: No such file or directory";
    wait_for("the clipboard", PATIENCE, || (tmux.run(&["show-buffer"]).trim_end() == failed).then_some(()));
    wait_for("the program for copying", PATIENCE, || {
        (fs::read_to_string(profile.path().join("copied")).ok()?.trim_end() == failed).then_some(())
    });
    tmux.leader("(");
    tmux.wait("COPY");
    tmux.keys(&["[", "a", "y"]);
    wait_for("the output before", PATIENCE, || (tmux.run(&["show-buffer"]).trim_end() == "one\ntwo").then_some(()));

    // An editor in the same terminal, from which a key that interrupts does not lead out of the screen.
    tmux.leader("E");
    tmux.wait("IN THE EDITOR");
    tmux.line("typed there");
    tmux.wait("PANE");
    tmux.wait("echo tw''o");
    let told = fs::read_to_string(profile.path().join("seen")).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "600");
    assert!(told.contains("\none\ntwo\n") && lines.contains(&"typed there"), "{told}");
    assert!(!fs::exists(lines[lines.len() - 1]).unwrap(), "the file is removed: {told}");
    tmux.line("echo still''here");
    tmux.wait("stillhere");
    tmux.leader("E");
    // The first one still stands there.
    tmux.wait_until("the editor again", |screen| screen.matches("IN THE EDITOR").count() == 2);
    tmux.keys(&["C-c"]);
    tmux.wait_until("the failure", |screen| screen.contains("PANE") && screen.contains("failed"));

    tmux.leader("F");
    tmux.wait("save the text");
    tmux.keys(&["Enter"]);
    let shown = tmux.wait("saved to");
    let folder = profile.path().join("state/saved");
    let saved = fs::read_dir(folder).unwrap_or_else(|error| panic!("{error}: {shown}")).next().unwrap().unwrap().path();
    assert!(fs::read_to_string(&saved).unwrap().contains("\none\ntwo\n"));
    assert_eq!(fs::metadata(&saved).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Runs a shell with its integration, and looks whether it says where prompts and outputs are.
fn marks_of(shell: &str, file: &str, start: &str) {
    let profile = Profile::new();
    let Some(tmux) = Tmux::with_a_shell(&profile, 100, 30) else { return };
    tmux.run(&["set", "-s", "set-clipboard", "on"]);
    if !profile.run(&["exec", "env-1", "--", shell, "-c", "true"]).status.success() {
        return skip(&format!("prompts of {shell}: there is no {shell} in the sandbox"));
    }
    let script = profile.path().join("marks");
    fs::write(&script, text(&profile.run(&["util", "shell-integration", shell]))).unwrap();
    let copied = profile.run(&["cp", script.to_str().unwrap(), &format!("env-1:{file}")]);
    assert!(copied.status.success(), "{copied:?}");
    tmux.line(&format!("clear; {start}"));
    tmux.line("printf 'on%s\\n' e two");
    tmux.wait("ontwo");
    tmux.line("cat /no/such''/file");
    tmux.wait_until("how both ended", |screen| screen.contains('✓') && screen.contains('✗'));
    tmux.leader("O");
    let failed = "cat: /no/such/file: No such file or directory";
    wait_for("the clipboard", PATIENCE, || (tmux.run(&["show-buffer"]).trim_end() == failed).then_some(()));
    tmux.leader("(");
    tmux.wait("COPY");
    tmux.keys(&["[", "a", "y"]);
    wait_for("the output before", PATIENCE, || (tmux.run(&["show-buffer"]).trim_end() == "one\nontwo").then_some(()));
}

#[test]
fn prompts_of_zsh_are_known() {
    marks_of("zsh", "/workspace/.zshrc", "PS1='%% ' ZDOTDIR=/workspace exec zsh -i");
}

#[test]
fn prompts_of_fish_are_known() {
    marks_of("fish", "/workspace/marks", "exec fish --no-config -C 'source /workspace/marks' -i");
}

#[test]
fn what_was_printed_is_worked_with_in_a_terminal_that_attached() {
    let profile = person();
    let Some(tmux) = Tmux::attach_with_a_shell(&profile, 120, 40) else { return };
    works_with_what_was_printed(&profile, &tmux);
    profile.shut_down();
}

#[test]
fn what_was_printed_is_worked_with_where_the_host_is_in_the_same_process() {
    let profile = person();
    let Some(tmux) = Tmux::with_a_shell(&profile, 120, 40) else { return };
    works_with_what_was_printed(&profile, &tmux);
}

#[test]
fn a_paste_of_five_megabytes_arrives_whole_in_a_program() {
    let profile = Profile::new();
    let Some(tmux) = Tmux::with_a_shell(&profile, 100, 30) else { return };
    const BYTES: usize = 5 << 20;
    let pasted: String = (0..BYTES).map(|n| char::from(b'a' + (n % 23 + n / 4096 % 3) as u8)).collect();
    let file = profile.path().join("pasted");
    fs::write(&file, &pasted).unwrap();
    tmux.line(&format!("stty raw -echo; echo rea''dy; head -c {BYTES} >/workspace/got; stty sane; echo do''ne"));
    tmux.wait("ready");
    tmux.run(&["load-buffer", file.to_str().unwrap()]);
    tmux.run(&["paste-buffer", "-p"]);
    wait_for("all of it", PATIENCE * 4, || {
        let size = text(&profile.run(&["exec", "env-1", "--", "sh", "-c", "wc -c </workspace/got"]));
        (size.trim() == BYTES.to_string()).then_some(())
    });
    let back = profile.path().join("back");
    let copied = profile.run(&["cp", "env-1:/workspace/got", back.to_str().unwrap()]);
    assert!(copied.status.success(), "{copied:?}");
    assert!(fs::read_to_string(&back).unwrap() == pasted, "it is not what was pasted");
    tmux.wait("done");
}
