//! Whatever arrives at the socket of a real host: an answer or an error, never a hang, and the host goes on for others.
//! The full numbers with `HTUI_LONG=1`.

use super::raw::Raw;
use super::schema::{Closed, shipped};
use crate::common::{PATIENCE, Profile, wait_for};
use serde_json::{Value, json};
use std::io::Write;
use std::net::Shutdown;
use std::path::PathBuf;

fn number(usual: usize, long: usize) -> usize {
    if std::env::var("HTUI_LONG").is_ok_and(|value| value == "1") { long } else { usual }
}

/// Chance that is the same in every run.
struct Chance(u64);

impl Chance {
    /// A number below this one.
    fn below(&mut self, end: usize) -> usize {
        // Marsaglia's xorshift64 (Journal of Statistical Software 8/14, 2003).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Messages that change nothing.
fn harmless() -> Vec<Vec<u8>> {
    let message = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    [
        message("hello", json!({"protocol": 1, "client": "a fuzzer"})),
        message("status", json!({})),
        message("env.list", json!({})),
        message("env.show", json!({"env": "nothing"})),
        message("env.extend", json!({"env": "nothing", "seconds": 1.5})),
        message("turn.list", json!({"conversation": "nothing"})),
        message("exec.start", json!({"env": "nothing", "argv": ["ls", "-la"], "timeout_seconds": 1})),
        message("exec.stdin", json!({"call": "nothing", "base64": "AAAA", "eof": true})),
        message("session.capture", json!({"session": "nothing", "history": true})),
        message("screen.input", json!({"events": [{"paste": {"text": "x", "last": false}}, "drawn"]})),
        message("events.subscribe", json!({"since": 3})),
        message("reap", json!({"dry_run": true})),
    ]
    .map(|message| message.to_string().into_bytes())
    .to_vec()
}

/// Changes a message at random: bytes replaced, left out, doubled, cut off, or two messages glued together.
fn spoil(message: &[u8], other: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut spoiled = message.to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(spoiled.len().max(1)).min(spoiled.len().saturating_sub(1));
        match chance.below(7) {
            0 if !spoiled.is_empty() => spoiled[at] = chance.below(256) as u8,
            1 if !spoiled.is_empty() => drop(spoiled.remove(at)),
            2 => spoiled.truncate(at),
            3 => spoiled.extend_from_slice(other),
            4 => spoiled.insert(at, b"{}[]\",:0-e\\"[chance.below(11)]),
            5 if !spoiled.is_empty() => {
                let again: Vec<u8> = spoiled[at..].to_vec();
                spoiled.extend(again);
            }
            _ => spoiled.extend(std::iter::repeat_n(b' ', chance.below(64))),
        }
    }
    spoiled.retain(|byte| *byte != b'\n');
    spoiled
}

#[test]
fn messages_spoiled_at_random_are_answered_or_refused() {
    let profile = Profile::serving();
    let (mut other, mut raw) = (Raw::greeted(&profile), Raw::greeted(&profile));
    let (messages, mut chance) = (harmless(), Chance(0x5eed));
    for round in 0..number(1_500, 60_000) {
        let (one, two) = (chance.below(messages.len()), chance.below(messages.len()));
        let mut line = spoil(&messages[one], &messages[two], &mut chance);
        let shown = String::from_utf8_lossy(&line).into_owned();
        line.push(b'\n');
        // Asked behind it: what came before has been taken in when this is answered.
        let mark = format!("round {round}");
        line.extend(format!("{}\n", json!({"jsonrpc": "2.0", "id": mark, "method": "status"})).into_bytes());
        raw.write.write_all(&line).unwrap();
        loop {
            let Some(heard) = raw.line() else {
                // A hello of another protocol ends the connection.
                raw = Raw::greeted(&profile);
                break;
            };
            let heard: Value =
                serde_json::from_str(&heard).unwrap_or_else(|e| panic!("{e} after {shown:?}: {heard:?}"));
            assert_eq!(heard["jsonrpc"], "2.0", "after {shown:?}: {heard}");
            if heard["id"] == mark.as_str() {
                break;
            }
        }
        if round % 100 == 0 {
            other.is_served();
        }
    }
    other.is_served();
}

#[test]
fn every_parameter_of_a_wrong_type_is_answered() {
    let profile = Profile::serving();
    let (mut other, closed, schema) = (Raw::greeted(&profile), Closed::new(), shipped());
    let odd = [
        json!(null),
        json!(-1),
        json!(1e300),
        json!(true),
        json!(""),
        json!("\u{0}"),
        json!([]),
        json!([[1]]),
        json!({"a": {}}),
    ];
    for method in schema["$defs"]["request"]["properties"]["method"]["enum"].as_array().unwrap() {
        let method = method.as_str().unwrap();
        let params = schema["$defs"][format!("{method}.params")]["properties"].as_object().unwrap();
        let mut cases: Vec<Value> =
            odd.iter().filter(|value| !value.is_object() && !value.is_null()).cloned().collect();
        for name in params.keys() {
            cases.extend(odd.iter().map(|value| json!({name: value})));
        }
        // The one of them that is right, and would end the host.
        cases.retain(|case| method != "shutdown" || case["keep"] != true);
        for case in cases {
            let mut raw = Raw::greeted(&profile);
            raw.say(&json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": case}));
            let heard = raw.hear();
            if heard.get("error").is_some() {
                closed.check("failed", &heard);
            }
            assert_eq!(heard["id"], 5, "{method} {case}: {heard}");
        }
        other.is_served();
    }
}

#[test]
fn ten_megabytes_end_their_connection_and_no_other() {
    let profile = Profile::serving();
    let mut other = Raw::greeted(&profile);
    let long = "x".repeat(10 << 20);
    let whole = format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": "env.show", "params": {"env": long}}));
    for (bytes, ends) in [(whole.as_bytes(), false), (long.as_bytes(), true), (&[0xff; 10 << 20], true)] {
        let mut raw = Raw::greeted(&profile);
        raw.write.write_all(bytes).unwrap();
        let heard = raw.hear();
        assert!(heard["error"]["message"].as_str().is_some_and(|text| text.contains("longer than")), "{heard}");
        other.is_served();
        raw.write.shutdown(Shutdown::Write).unwrap();
        assert_eq!(raw.line(), None, "ends: {ends}");
    }
    let mut many = Raw::greeted(&profile);
    let mut writer = many.write.try_clone().unwrap();
    let line = format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": "status"}));
    let count = (10 << 20) / line.len();
    let writing = std::thread::spawn(move || writer.write_all(line.repeat(count).as_bytes()).unwrap());
    for _ in 0..count {
        assert_eq!(many.hear()["id"], 1);
    }
    writing.join().unwrap();
    other.is_served();
}

#[test]
fn pieces_of_many_clients_that_arrive_in_turn_are_put_together() {
    let profile = Profile::serving();
    let mut clients: Vec<(Raw, Vec<u8>)> = (0..16)
        .map(|n| {
            let message =
                json!({"jsonrpc": "2.0", "id": n, "method": "env.show", "params": {"env": format!("nö-{n}")}});
            (Raw::greeted(&profile), format!("{message}\n").into_bytes())
        })
        .collect();
    let mut chance = Chance(0xfeed);
    while clients.iter().any(|(_, rest)| !rest.is_empty()) {
        for (raw, rest) in &mut clients {
            let piece = chance.below(4).min(rest.len());
            raw.write.write_all(&rest[..piece]).unwrap();
            rest.drain(..piece);
        }
    }
    for (n, (raw, _)) in clients.iter_mut().enumerate() {
        let heard = raw.hear();
        assert_eq!(heard["id"], n);
        assert!(heard["error"]["message"].as_str().unwrap().contains(&format!("nö-{n}")), "{heard}");
    }
}

#[test]
fn half_messages_of_clients_that_leave_cost_nothing() {
    let profile = Profile::serving();
    let (mut other, messages) = (Raw::greeted(&profile), harmless());
    let mut chance = Chance(0xcafe);
    for n in 0..number(300, 3_000) {
        let mut raw = if n % 2 == 0 { Raw::greeted(&profile) } else { Raw::silent(&profile.socket().unwrap()) };
        let message = &messages[chance.below(messages.len())];
        raw.write.write_all(&message[..chance.below(message.len())]).unwrap();
        if n % 3 == 0 {
            raw.write.shutdown(Shutdown::Write).unwrap();
        }
    }
    other.is_served();
}

#[test]
fn thousands_of_short_connections_are_all_served_and_leave_nothing_behind() {
    let profile = Profile::serving();
    let mut other = Raw::greeted(&profile);
    let host = profile.host_process();
    let open = || std::fs::read_dir(format!("/proc/{}/fd", host.pid)).unwrap().count();
    let before = open();
    let socket: PathBuf = profile.socket().unwrap();
    let each = number(1_000, 10_000) / 8;
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let socket = socket.clone();
            std::thread::spawn(move || {
                for n in 0..each {
                    match n % 4 {
                        0 => drop(Raw::silent(&socket)),
                        _ => Raw::greeted_at(&socket).is_served(),
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    wait_for("every connection to be given back", PATIENCE, || (open() <= before).then_some(()));
    other.is_served();
    assert!(host.lives());
}
