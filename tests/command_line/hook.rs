//! `hook`: what a hermes-agent gives it is in the queue, and nothing that it may be given disturbs the agent.

use super::support::Profile;
use hermes_tui::domain::Moment;
use hermes_tui::hermes::hook_queue::{Limits, push, read_queue, remove, waiting};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn queue(profile: &Profile) -> PathBuf {
    profile.path().join("data/hooks")
}

fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Gives it a message, and checks that it said nothing and ended well.
fn give(command: &mut Command, message: &[u8]) {
    let mut child = start(command);
    // It may not want it.
    let _ = child.stdin.take().unwrap().write_all(message);
    silent(child);
}

fn silent(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.as_slice(), output.stderr.as_slice()),
        (Some(0), b"".as_slice(), b"".as_slice())
    );
}

/// The message of a turn that ended, with a conversation of about so many bytes.
fn turn(session: &str, history: usize) -> Vec<u8> {
    let said = "He said \"go on\",\n\u{2014} and so \\ did it, 0123456789 times. ".repeat(15);
    let history: Vec<Value> =
        (0..history / said.len()).map(|number| json!({"role": "user", "content": said, "number": number})).collect();
    let extra = json!({"task_id": session, "turn_id": format!("{session}:{session}:01234567"), "completed": true,
        "conversation_history": history, "interrupted": false, "model": "m", "platform": "cli", "sender_id": ""});
    let message = json!({"hook_event_name": "on_session_end", "tool_name": null, "tool_input": null,
        "session_id": session, "cwd": "/work", "extra": extra});
    message.to_string().into_bytes()
}

/// Whose turns are told to have ended.
fn sessions(folder: &Path) -> Vec<String> {
    read_queue(folder, usize::MAX).into_iter().map(|(_, end)| end.session).collect()
}

#[test]
fn a_thousand_messages_of_every_kind_are_taken_in_silence_and_the_good_ones_kept_in_order() {
    let profile = Profile::new();
    let large = turn("large", 5_000_000);
    let mut expected = Vec::new();
    for number in 0..1000 {
        let prompt = format!("{number}: d\u{e9}j\u{e0} vu");
        let message = match number % 10 {
            0 => Vec::new(),
            1 => turn(&prompt, 20_000)[..500 + number].to_vec(),
            2 => vec![0xff, 0xfe, 0x00, b'{'],
            3 => b"[1, 2, {\"hook_event_name\": 5}]".to_vec(),
            4 if number % 100 == 4 => {
                expected.push("large".to_owned());
                large.clone()
            }
            5 => {
                // Bytes that are no text, in the middle of the conversation.
                let mut message = turn(&prompt, 20_000);
                let at = message.windows(4).position(|word| word == b"9 ti").unwrap();
                message[at] = 0xff;
                expected.push(prompt);
                message
            }
            _ => {
                expected.push(prompt.clone());
                turn(&prompt, 2_000)
            }
        };
        give(&mut profile.command(&["hook"]), &message);
    }
    assert_eq!(sessions(&queue(&profile)), expected);
    assert!(!profile.path().join("run").exists() && !profile.path().join("data/host.lock").exists(), "a host ran");

    // It is nobody else's, and each is gone once it was taken.
    assert_eq!(fs::metadata(queue(&profile)).unwrap().mode() & 0o777, 0o700);
    for (name, _) in read_queue(&queue(&profile), 7) {
        assert_eq!(fs::metadata(queue(&profile).join(&name)).unwrap().mode() & 0o777, 0o600);
        remove(&queue(&profile), &name).unwrap();
        remove(&queue(&profile), &name).unwrap();
    }
    assert_eq!(sessions(&queue(&profile)), expected[7..]);
}

#[test]
fn how_a_turn_ended_is_kept_and_other_events_are_not() {
    let profile = Profile::new();
    for (completed, interrupted) in [(true, false), (false, true), (false, false)] {
        let message = json!({"hook_event_name": "on_session_end", "session_id": "s",
            "extra": {"completed": completed, "interrupted": interrupted}});
        give(&mut profile.command(&["--json", "hook", "--frobnicate"]), message.to_string().as_bytes());
        let other = json!({"hook_event_name": "pre_llm_call", "session_id": "s", "extra": {"user_message": "secret"}});
        give(&mut profile.command(&["hook"]), other.to_string().as_bytes());
    }
    let events = read_queue(&queue(&profile), 10);
    let ends: Vec<_> = events.iter().map(|(_, end)| (end.completed, end.interrupted)).collect();
    assert_eq!(ends, [(true, false), (false, true), (false, false)]);
    assert!(events.iter().all(|(_, end)| end.session == "s" && end.at > Moment(1_700_000_000_000)), "{events:?}");
}

#[test]
fn several_at_once_lose_nothing() {
    let profile = Profile::new();
    let mut children: Vec<Child> = (0..20).map(|_| start(&mut profile.command(&["hook"]))).collect();
    for (number, child) in children.iter_mut().enumerate() {
        let mut input = child.stdin.take().unwrap();
        input.write_all(&turn(&format!("{number:02}"), 1_000)).unwrap();
    }
    children.into_iter().for_each(silent);
    let mut found = sessions(&queue(&profile));
    found.sort();
    assert_eq!(found, (0..20).map(|number| format!("{number:02}")).collect::<Vec<_>>());
    assert_eq!(fs::read_dir(queue(&profile)).unwrap().count(), 20, "something else is left behind");
}

#[test]
fn no_place_to_keep_anything_is_no_failure() {
    let profile = Profile::new();
    let message = turn("hello", 100_000);
    // Folders that cannot be: below a file, in the kernel's own tree, a full disk, nobody's home.
    fs::write(profile.path().join("file"), "").unwrap();
    let below = profile.path().join("file/below");
    for home in [below.to_str().unwrap(), "/proc/1/none", "/dev/full", "/dev/null"] {
        give(profile.command(&["hook"]).env("HTUI_HOME", home), &message);
    }
    give(profile.command(&["hook"]).env_remove("HTUI_HOME").env("HOME", ""), &message);
    // A folder that others can write to, and one that is a link, are not trusted.
    let folder = queue(&profile);
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    give(&mut profile.command(&["hook"]), &message);
    assert_eq!(waiting(&folder), 0);
    fs::remove_dir(&folder).unwrap();
    let other = profile.path().join("other");
    fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink(&other, &folder).unwrap();
    give(&mut profile.command(&["hook"]), &message);
    assert_eq!(waiting(&other), 0);
    // Nothing on standard input, not even an end of it that could be read.
    silent(profile.command(&["hook"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let closed = format!("exec {} hook <&- >&- 2>&-", env!("CARGO_BIN_EXE_hermes-tui"));
    let status = Command::new("sh").args(["-c", &closed]).env("HTUI_HOME", profile.path()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    let folder = fs::File::open(profile.path()).unwrap();
    let odd = profile.command(&["hook"]).stdin(folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    silent(odd.unwrap());
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let profile = Profile::new();
    give(&mut profile.command(&["hook"]), &turn("before", 0));
    // No file of this process may have a single byte: what a full disk is to a program.
    let script = format!("ulimit -f 0; trap '' XFSZ; exec {} hook", env!("CARGO_BIN_EXE_hermes-tui"));
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env_clear().env("HTUI_HOME", profile.path());
    give(&mut command, &turn("lost", 1_000));
    assert_eq!(sessions(&queue(&profile)), ["before"]);
    assert_eq!(fs::read_dir(queue(&profile)).unwrap().count(), 1);
}

#[test]
fn a_full_queue_loses_its_oldest_events() {
    let profile = Profile::new();
    give(&mut profile.command(&["hook"]), &turn("first", 0));
    let folder = queue(&profile);
    let (_, event) = read_queue(&folder, 1).remove(0);
    let most = Limits::default();
    // Names alone count: the rest of the queue is made of links to one file.
    let name = push(&folder, &event, most).unwrap();
    let (number, rest) = name.split_once('-').unwrap();
    let number: u64 = number.parse().unwrap();
    for more in 1..most.files as u64 - 1 {
        fs::hard_link(folder.join(&name), folder.join(format!("{:020}-{rest}", number + more))).unwrap();
    }
    assert_eq!(waiting(&folder), most.files);
    for prompt in ["last but one", "last"] {
        give(&mut profile.command(&["hook"]), &turn(prompt, 0));
    }
    let kept = sessions(&folder);
    assert_eq!(kept.len(), most.files);
    assert_eq!(
        (kept[0].as_str(), &kept[most.files - 2..]),
        ("first", ["last but one".into(), "last".into()].as_slice())
    );
    assert!(!folder.join(&name).exists(), "the second oldest is still there");
}

#[test]
fn doctor_says_which_homes_call_us_whether_they_may_and_what_waits() {
    let profile = Profile::new();
    let home = profile.path().join("home/.hermes");
    fs::create_dir_all(&home).unwrap();
    let doctor = |config: &str| {
        fs::write(home.join("config.yaml"), config).unwrap();
        let told = profile.run(&["--json", "doctor"]).json();
        let check = told["checks"].as_array().unwrap().iter().find(|check| check["name"] == "hermes-hooks").unwrap();
        (told["hooks"].clone(), check.clone(), profile.run(&["doctor"]).out)
    };
    let (hooks, check, shown) = doctor("terminal: {backend: local}\n");
    assert_eq!((&hooks["homes"][0]["state"], &hooks["waiting"]), (&json!("absent"), &json!(0)));
    assert_eq!(check["state"], "absent");
    assert!(shown.contains("on_session_end: [{command: \"hermes-tui hook\""), "{shown}");
    let example = hooks["example"].as_str().unwrap().to_owned();

    give(&mut profile.command(&["hook"]), &turn("hello", 0));
    let (hooks, check, shown) = doctor(&example);
    assert_eq!((&hooks["homes"][0]["state"], &hooks["waiting"]), (&json!("not_allowed"), &json!(1)));
    assert_eq!(check["state"], "failed");
    assert!(check["hint"].as_str().unwrap().contains("--accept-hooks"), "{check}");
    assert!(shown.contains("set, but not allowed") && !shown.contains("timeout"), "{shown}");

    let approvals =
        json!([{"event": "on_session_end", "command": "hermes-tui hook", "approved_at": "2026-01-01T00:00:00Z"}]);
    fs::write(home.join("shell-hooks-allowlist.json"), json!({"approvals": approvals}).to_string()).unwrap();
    let (_, check, shown) = doctor(&example);
    assert_eq!((&check["state"], &check["hint"]), (&json!("ok"), &Value::Null));
    assert!(shown.contains("set and allowed; 1 event waits for the host"), "{shown}");
    let (hooks, check, _) = doctor("hooks: [secret\n");
    assert_eq!((&hooks["homes"][0]["state"], &check["state"]), (&json!("unknown"), &json!("failed")));
    assert!(hooks["homes"][0]["warning"].as_str().unwrap().contains("config.yaml"), "{hooks}");
}
