//! The socket of the real host, message by message.

use super::schema::Closed;
use crate::common::{PATIENCE, Profile, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

/// A client that checks all that it says and hears against the schema.
pub struct Wire {
    write: UnixStream,
    read: BufReader<UnixStream>,
    schema: Closed,
    asked: BTreeMap<u64, String>,
    last: u64,
}

impl Wire {
    /// Connects and says hello.
    pub fn greeted(profile: &Profile) -> Self {
        let write = UnixStream::connect(profile.socket().expect("a socket")).unwrap();
        write.set_read_timeout(Some(PATIENCE)).unwrap();
        let read = BufReader::new(write.try_clone().unwrap());
        let mut wire = Self { write, read, schema: Closed::new(), asked: BTreeMap::new(), last: 0 };
        let hello = wire.ask("hello", json!({"protocol": 1, "client": "a test"}));
        assert_eq!(hello["result"]["protocol"], 1);
        wire
    }

    /// Sends a request; gives its number.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.schema.check("request", &message);
        self.write.write_all(format!("{message}\n").as_bytes()).unwrap();
        self.asked.insert(self.last, method.to_owned());
        self.last
    }

    /// The next message.
    pub fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.read.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        match (message["id"].as_u64(), message.get("error")) {
            (_, Some(_)) => self.schema.check("failed", &message),
            (Some(id), None) => {
                let method = self.asked.remove(&id).expect("an answer to what was asked");
                self.schema.check(&format!("{method}.result"), &message["result"]);
            }
            (None, None) => self.schema.check("notification", &message),
        }
        message
    }

    /// The next message that is an answer to this request.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.hear();
            if message["id"] == id {
                return message;
            }
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// The parameters of the next notification of this method for which `wanted` holds.
    pub fn notified(&mut self, method: &str, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let mut message = self.hear();
            if message["method"] == method && wanted(&message["params"]) {
                return message["params"].take();
            }
        }
    }
}

#[test]
fn a_command_with_its_streams_is_as_documented() {
    let profile = Profile::serving();
    let mut wire = Wire::greeted(&profile);
    wire.ask("env.new", json!({"name": "a"}));
    let started = wire.ask("exec.start", json!({"env": "a", "argv": ["cat"], "stdin": true}));
    let call = started["result"]["call"].clone();
    assert_eq!(wire.ask("exec.stdin", json!({"call": call, "text": "one"}))["result"]["written"], 3);
    wire.ask("exec.stdin", json!({"call": call, "base64": "/wA=", "eof": true}));
    assert_eq!(wire.notified("exec.exit", |exit| exit["call"] == call)["exit_code"], 0);
    let endless = wire.ask("exec.start", json!({"env": "a", "argv": ["sleep", "1000"]}));
    let call = endless["result"]["call"].clone();
    wire.send("exec.kill", json!({"call": call}));
    assert_ne!(wire.notified("exec.exit", |exit| exit["call"] == call)["exit_code"], 0);
    assert_eq!(wire.ask("exec.kill", json!({"call": call}))["error"]["data"]["code"], "not_found");
    assert_eq!(wire.ask("exec.start", json!({"env": "none", "argv": ["ls"]}))["error"]["data"]["code"], "not_found");
}

#[test]
fn a_screen_is_as_documented() {
    let profile = Profile::serving();
    let mut wire = Wire::greeted(&profile);
    assert_eq!(wire.ask("screen.input", json!({"events": []}))["error"]["data"]["code"], "usage");
    wire.ask("screen.attach", json!({"size": [24, 80], "colours": 256, "unicode": true}));
    wire.notified("screen.frame", |frame| frame["data"].as_str().is_some_and(|data| !data.is_empty()));
    let events = json!(["drawn", {"paste": {"text": "x", "last": true}}, {"terminal": {"Resize": [100, 30]}}]);
    wire.send("screen.input", json!({"events": events}));
    wire.notified("screen.frame", |_| true);
    // On a light background all is drawn in other colours.
    let answers = json!(["drawn", {"answer": {"foreground": [0, 0, 0]}}, {"answer": {"background": [255, 255, 255]}}]);
    wire.send("screen.input", json!({"events": answers}));
    wire.notified("screen.frame", |_| true);
    wire.send("screen.input", json!({"events": ["drawn", {"answer": "true_colour"}]}));
    wire.notified("screen.frame", |_| true);
    profile.shut_down();
    assert_eq!(wire.notified("screen.left", |_| true)["host_ended"], true);
}

#[test]
fn texts_for_the_person_are_as_documented() {
    let profile = Profile::serving();
    profile.json(&["env", "new", "a"]);
    let session =
        profile.json(&["session", "new", "a", "--", "sh", "-c", "echo so''me; read x"])["session"]["id"].clone();
    profile.run(&["session", "wait", session.as_str().unwrap(), "--text", "some"]);
    let mut wire = Wire::greeted(&profile);
    let size = json!([24, 80]);
    wire.ask(
        "screen.attach",
        json!({"size": size, "colours": 256, "unicode": true, "session": session, "texts": true}),
    );
    wire.notified("screen.frame", |_| true);
    let press = |keys: &str| -> Vec<serde_json::Value> {
        let key = |c: char| {
            let (code, mods) = if c == '^' { ('b', "CONTROL") } else { (c, "") };
            json!({"terminal": {"Key": {"code": {"Char": code}, "modifiers": mods, "kind": "Press", "state": ""}}})
        };
        keys.chars().map(key).collect()
    };
    wire.send("screen.input", json!({"events": press("^E")}));
    let edited = wire.notified("screen.edit", |_| true);
    assert_eq!(edited["text"], "some\n");
    wire.send("screen.input", json!({"events": ["drawn", "cleared", {"trouble": {"text": "no editor"}}]}));
    wire.send("screen.input", json!({"events": press("^[ky")}));
    assert_eq!(wire.notified("screen.copy", |_| true)["text"], "some");
    drop(wire);
    profile.shut_down();
}

#[test]
fn the_screen_of_one_session_is_as_documented() {
    let profile = Profile::serving();
    profile.json(&["env", "new", "a"]);
    let session = profile.json(&["session", "new", "a", "--", "sh", "-c", "read x; exit 3"])["session"]["id"].clone();
    let mut wire = Wire::greeted(&profile);
    wire.ask("session.open", json!({"what": session, "session_only": true, "size": [24, 80]}));
    wire.ask("screen.attach", json!({"size": [24, 80], "colours": 256, "unicode": true, "session": session}));
    wire.notified("screen.frame", |frame| frame["data"].as_str().is_some_and(|data| !data.is_empty()));
    wire.send("screen.input", json!({"events": ["drawn", {"paste": {"text": "x\n", "last": true}}]}));
    let left = wire.notified("screen.left", |_| true);
    assert_eq!((&left["over"], &left["exit_code"]), (&true.into(), &3.into()), "{left}");
    profile.shut_down();
}

#[test]
fn a_connection_shows_one_screen_and_none_once_it_sends_no_more() {
    let profile = Profile::serving();
    profile.json(&["env", "new", "a"]);
    let session = profile.json(&["session", "new", "a"])["session"]["id"].clone();
    let attached = |count: u64| {
        wait_for(&format!("{count} terminals"), PATIENCE, || {
            let all = profile.json(&["session", "list"])["sessions"].clone();
            let one = all.as_array().and_then(|all| all.iter().find(|one| one["id"] == session)).cloned();
            one.filter(|one| one["attached"] == count).map(drop)
        });
    };
    let mut wire = Wire::greeted(&profile);
    let attach = json!({"size": [24, 80], "colours": 256, "unicode": true, "session": session});
    let before = profile.json(&["session", "list"])["sessions"][0]["attached"].as_u64().expect("a number");
    wire.ask("screen.attach", attach.clone());
    attached(before + 1);
    wire.ask("screen.attach", attach);
    attached(before + 1);
    wire.write.shutdown(Shutdown::Write).expect("half of it is closed");
    attached(before);
    profile.shut_down();
}

#[test]
fn what_happens_is_as_documented() {
    let profile = Profile::serving();
    let mut wire = Wire::greeted(&profile);
    wire.ask("events.subscribe", json!({}));
    profile.json(&["turn", "begin", "--conversation", "c", "--ephemeral"]);
    profile.json(&["exec", "--conversation", "c", "--", "true"]);
    profile.json(&["turn", "end", "--conversation", "c"]);
    profile.json(&["conversation", "end", "c"]);
    let mut kinds = Vec::new();
    wire.notified("event", |event| {
        kinds.push(event["kind"].as_str().unwrap().to_owned());
        event["kind"] == "env.removed"
    });
}
