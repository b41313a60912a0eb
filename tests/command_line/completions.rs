//! `util`: the manual, and completions as the shells themselves carry them out.

use super::support::{Outcome, Profile};
use std::path::Path;
use std::process::Command;

/// Where the program is, as a shell finds it.
fn path() -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_hermes-tui")).parent().unwrap();
    format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display())
}

fn shell(profile: &Profile, name: &str, script: &str) -> Option<Outcome> {
    let mut command = Command::new(name);
    if name == "zsh" {
        command.arg("-f");
    }
    command.args(["-c", script]).env_clear().env("PATH", path()).env("HTUI_HOME", profile.path());
    match command.env("HOME", profile.path()).output() {
        Ok(output) => Some(Outcome::of(output)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let required = std::env::var_os("HTUI_TEST_REQUIRED").is_some();
            assert!(!(required && name == "bash"), "bash is not installed");
            eprintln!("SKIPPED: {name} is not installed");
            None
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

/// What bash offers after these words, of which the last one is being typed.
fn offered_by_bash(profile: &Profile, words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "source <(hermes-tui util completions bash) || exit 1\n\
         COMP_WORDS=({}); COMP_CWORD={}; COMP_TYPE=9; COMP_LINE=\"${{COMP_WORDS[*]}}\"; COMP_POINT=${{#COMP_LINE}}\n\
         function=$(complete -p hermes-tui | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n\
         $function hermes-tui \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\" 2>/dev/null\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len() - 1
    );
    let outcome = shell(profile, "bash", &script).expect("bash");
    assert_eq!(outcome.code, 0, "{outcome:?}");
    outcome.out.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn bash_completes_verbs_flags_and_names_and_starts_no_host_for_it() {
    let profile = Profile::new();
    assert_eq!(offered_by_bash(&profile, &["hermes-tui", "env", "sho"]), ["show"]);
    assert_eq!(offered_by_bash(&profile, &["hermes-tui", "env", "new", "--reten"]), ["--retention"]);
    assert!(offered_by_bash(&profile, &["hermes-tui", "env", "show", "al"]).is_empty());
    assert!(!profile.path().join("data").exists(), "a host was started");

    let _host = profile.serve();
    for name in ["alpha", "alpine", "beta"] {
        assert_eq!(profile.run(&["env", "new", name]).code, 0);
    }
    assert_eq!(profile.run(&["turn", "begin", "--conversation", "talk-1"]).code, 0);
    let offered = |words: &[&str]| {
        let mut found = offered_by_bash(&profile, words);
        found.sort();
        found
    };
    assert_eq!(offered(&["hermes-tui", "env", "show", "al"]), ["alpha", "alpine"]);
    assert_eq!(offered(&["hermes-tui", "exec", "be"]), ["beta"]);
    assert_eq!(offered(&["hermes-tui", "reap", "--explain", "alpha"]), ["alpha"]);
    assert_eq!(offered(&["hermes-tui", "turn", "end", "--conversation", "ta"]), ["talk-1"]);
    for verb in [["attach"].as_slice(), &["open"], &["session", "new"], &["exec"], &["env", "stop"]] {
        let words: Vec<&str> = ["hermes-tui"].into_iter().chain(verb.iter().copied()).chain(["al"]).collect();
        assert_eq!(offered(&words), ["alpha", "alpine"], "{verb:?}");
    }
    assert_eq!(offered(&["hermes-tui", "cp", "file", "bet"]), ["beta:"]);
    assert_eq!(profile.run(&["shutdown"]).code, 0);
}

#[test]
fn every_argument_that_names_something_of_ours_is_completed() {
    fn lacking(command: &clap::Command, before: &str, into: &mut Vec<String>) {
        for verb in command.get_subcommands() {
            let name = format!("{before}{} ", verb.get_name());
            let named = ["env", "session", "conversation", "what", "from", "to"];
            // Variables are none of ours.
            let ours = verb
                .get_arguments()
                .filter(|arg| named.contains(&arg.get_id().as_str()) && arg.get_num_args() != Some(0.into()));
            let ours = ours.filter(|arg| arg.get_long() != Some("env"));
            let lacks = |arg: &&clap::Arg| {
                arg.get::<clap_complete::engine::ArgValueCandidates>().is_none()
                    && arg.get::<clap_complete::engine::ArgValueCompleter>().is_none()
            };
            into.extend(ours.filter(lacks).map(|arg| format!("{name}{}", arg.get_id())));
            lacking(verb, &name, into);
        }
    }
    let mut all = Vec::new();
    lacking(&hermes_tui::cli::command(), "", &mut all);
    assert_eq!(all, Vec::<String>::new());
}

#[test]
fn zsh_and_fish_load_their_scripts_and_fish_completes_a_name() {
    let profile = Profile::new();
    let _host = profile.serve();
    assert_eq!(profile.run(&["env", "new", "alpha"]).code, 0);
    let zsh = "autoload -U compinit && compinit -u && source <(hermes-tui util completions zsh) && \
               print -- ${_comps[hermes-tui]}";
    if let Some(outcome) = shell(&profile, "zsh", zsh) {
        assert!(outcome.code == 0 && !outcome.out.trim().is_empty(), "{outcome:?}");
    }
    let fish = "hermes-tui util completions fish | source; complete -C 'hermes-tui env show al'";
    if let Some(outcome) = shell(&profile, "fish", fish) {
        assert!(outcome.code == 0 && outcome.out.starts_with("alpha"), "{outcome:?}");
    }
    for name in ["bash", "zsh", "fish"] {
        assert!(profile.run(&["util", "completions", name]).out.contains("hermes-tui"), "{name}");
    }
    assert_eq!(profile.run(&["util", "completions", "tcsh"]).code, 2);
    assert_eq!(profile.run(&["shutdown"]).code, 0);
}

#[test]
fn the_manual_has_a_page_for_each_verb() {
    let profile = Profile::new();
    let page = profile.run(&["util", "man"]);
    assert!(page.out.contains(".TH hermes-tui 1") && page.out.contains("hermes\\-tui\\-env(1)"), "{page:?}");
    let folder = profile.path().join("man/man1");
    let written = profile.run(&["util", "man", "--dir", &folder.display().to_string()]);
    assert_eq!(written.code, 0, "{written:?}");
    for page in ["hermes-tui.1", "hermes-tui-env.1", "hermes-tui-env-prune.1", "hermes-tui-events.1"] {
        assert!(folder.join(page).exists(), "{page}: {written:?}");
    }
    let nowhere = profile.run(&["--json", "util", "man", "--dir", "/dev/null/x"]);
    assert!(nowhere.error(1, "failed")["message"].as_str().unwrap().contains("/dev/null/x"), "{nowhere:?}");
}
