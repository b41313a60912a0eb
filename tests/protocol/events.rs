//! The event stream: who comes back is told what it missed, once and in order, and what it cannot be told any more.

use super::raw::Raw;
use crate::common::{PATIENCE, Profile, text, wait_for, wait_until_gone};
use serde_json::{Value, json};

/// More than are kept.
const MANY: usize = 4200;
/// More than wait for one client in all queues together.
const MORE_THAN_WAIT: usize = 3000;

/// What has happened after this number, as the command prints it.
fn since(profile: &Profile, seq: u64) -> Vec<Value> {
    let output = profile.run(&["--json", "events", "--no-follow", "--since", &seq.to_string()]);
    assert!(output.status.success(), "{}", text(&output));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// All that is kept.
fn kept(profile: &Profile) -> Vec<Value> {
    since(profile, 0).into_iter().filter(|event| event["kind"] != "events.gap").collect()
}

fn seqs(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}

fn last(events: &[Value]) -> u64 {
    *seqs(events).last().unwrap()
}

/// Makes an environment and then this many events of it.
fn busy(profile: &Profile, events: usize) {
    profile.json(&["env", "new", "a"]);
    busy_again(profile, events);
}

/// This many events more.
fn busy_again(profile: &Profile, events: usize) {
    let mut raw = Raw::greeted(profile);
    for n in 0..events {
        raw.ask(if n % 2 == 0 { "env.pin" } else { "env.unpin" }, json!({"env": "a"}));
    }
}

#[test]
fn who_comes_back_is_told_the_rest_once_and_in_order_also_by_the_next_host() {
    let mut profile = Profile::serving();
    busy(&profile, 10);
    let all = kept(&profile);
    let numbers = seqs(&all);
    assert!(numbers.len() >= 10 && numbers.windows(2).all(|two| two[1] == two[0] + 1), "{numbers:?}");
    for at in [0, 3, numbers.len() - 1] {
        assert_eq!(since(&profile, numbers[at]), all[at + 1..], "after {at}");
    }
    profile.shut_down();
    profile.serve();
    profile.json(&["env", "new", "b"]);
    let later = since(&profile, numbers[3]);
    assert_eq!(later[..all.len() - 4], all[4..], "what the host before kept is told as it was");
    let expected: Vec<u64> = (numbers[3] + 1..).take(later.len()).collect();
    assert_eq!(seqs(&later), expected, "no number is missing and none comes twice");
    assert!(later.iter().any(|event| event["kind"] == "host.shutdown"));
    assert!(later.iter().any(|event| event["name"] == "b"));
}

#[test]
fn after_a_host_that_was_killed_numbers_go_on_and_the_hole_is_said() {
    let profile = Profile::serving();
    busy(&profile, 2);
    let before = last(&kept(&profile));
    let host = profile.host_process();
    host.signal(nix::sys::signal::Signal::SIGKILL);
    wait_until_gone("the host", &[host]);
    // Its lock is free once the last of its threads is gone.
    wait_for("the next host", PATIENCE, || profile.run(&["env", "list"]).status.success().then_some(()));
    let after = since(&profile, before);
    assert_eq!((&after[0]["kind"], &after[0]["why"]), (&json!("events.gap"), &json!("not_kept")), "{after:?}");
    assert_eq!(after[0]["missed"]["first"], before + 1);
    assert!(seqs(&after).iter().all(|seq| *seq > before), "{after:?}");
    let told = after[0]["seq"].as_u64().unwrap();
    assert!(since(&profile, told).iter().all(|event| event["kind"] != "events.gap"), "the hole is said once");
    let shown = profile.run(&["events", "--no-follow", "--since", &before.to_string()]);
    assert!(text(&shown).contains("cannot be told"), "{}", text(&shown));
}

#[test]
fn a_number_of_another_count_is_said_first_and_everything_follows() {
    let profile = Profile::serving();
    busy(&profile, 2);
    let all = kept(&profile);
    let told = since(&profile, last(&all) + 1_000_000);
    assert_eq!((&told[0]["kind"], &told[0]["why"]), (&json!("events.gap"), &json!("other_count")), "{told:?}");
    assert!(told[0]["missed"].is_null());
    assert_eq!(told[1..], all);
}

#[test]
fn what_is_not_kept_any_more_is_said_first() {
    let profile = Profile::serving();
    busy(&profile, 2);
    let first = last(&kept(&profile));
    busy_again(&profile, MANY);
    let told = since(&profile, first);
    assert_eq!((&told[0]["why"], &told[0]["missed"]["first"]), (&json!("not_kept"), &json!(first + 1)));
    let numbers = seqs(&told);
    assert_eq!(numbers[0] + 1, numbers[1]);
    assert!(numbers.windows(2).all(|two| two[1] == two[0] + 1), "after the hole nothing is missing");
}

#[test]
fn who_reads_late_misses_nothing() {
    let profile = Profile::serving();
    busy(&profile, 0);
    let mut late = Raw::greeted(&profile);
    let from = late.ask("events.subscribe", json!({}))["last_seq"].as_u64().unwrap();
    busy_again(&profile, MORE_THAN_WAIT);
    for expected in (from + 1..).take(MORE_THAN_WAIT) {
        assert_eq!(late.hear()["params"]["seq"], expected);
    }
}
