//! The socket: bad, oversized and half messages get an error and disturb nobody else.

use super::support::{PATIENCE, wait_for};
use hermes_tui::api::server::{Inbound, Outgoing, Server};
use hermes_tui::api::{ApiCall, ApiError};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc;
use tokio::runtime::Runtime;

/// A server whose host answers `status`, keeps quiet on `env.list`, forgets `reap`, and hands out what subscribes.
struct Served {
    runtime: Runtime,
    socket: PathBuf,
    subscribed: mpsc::Receiver<Outgoing>,
    closed: mpsc::Receiver<u64>,
    _folder: tempfile::TempDir,
}

fn served() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("run/host.sock");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (follower, subscribed) = mpsc::channel();
    let (gone, closed) = mpsc::channel();
    let server = runtime.block_on(async { Server::bind(&socket).unwrap() });
    let (sender, mut inbound) = tokio::sync::mpsc::channel(16);
    runtime.spawn(server.run(sender));
    runtime.spawn(async move {
        let mut unanswered = Vec::new();
        while let Some(inbound) = inbound.recv().await {
            match inbound {
                Inbound::Closed(id) => drop(gone.send(id.0)),
                Inbound::Call(incoming) => match incoming.call {
                    ApiCall::Status(_) => incoming.reply.send(Ok::<_, ApiError>(json!({"schema": 1, "running": true}))),
                    ApiCall::EventsSubscribe(_) => {
                        let outgoing = incoming.reply.outgoing().clone();
                        incoming.reply.send(Ok::<_, ApiError>(json!({"schema": 1})));
                        let _ = follower.send(outgoing);
                    }
                    ApiCall::Reap(_) => drop(incoming.reply),
                    _ => unanswered.push(incoming.reply),
                },
            }
        }
    });
    Served { runtime, socket, subscribed, closed, _folder: folder }
}

/// A client that says exactly what it is told to.
struct Raw {
    write: UnixStream,
    read: BufReader<UnixStream>,
}

impl Raw {
    fn silent(served: &Served) -> Self {
        let write = UnixStream::connect(&served.socket).unwrap();
        write.set_read_timeout(Some(PATIENCE)).unwrap();
        write.set_write_timeout(Some(PATIENCE)).unwrap();
        let read = BufReader::new(write.try_clone().unwrap());
        Self { write, read }
    }

    fn greeted(served: &Served) -> Self {
        let mut raw = Self::silent(served);
        raw.say(r#"{"jsonrpc":"2.0","id":0,"method":"hello","params":{"protocol":1,"client":"test"}}"#);
        assert_eq!(raw.hear()["result"]["protocol"], 1);
        raw
    }

    fn say(&mut self, text: &str) {
        self.put(format!("{text}\n").as_bytes());
    }

    fn put(&mut self, bytes: &[u8]) {
        self.write.write_all(bytes).unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.read.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The error of the next message, whose shape is checked.
    fn hear_error(&mut self) -> (String, String) {
        let message = self.hear();
        let error = &message["error"];
        assert_eq!(message["jsonrpc"], "2.0");
        assert!(error["code"].is_i64(), "{message}");
        assert!(error["data"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{message}");
        (error["data"]["code"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
    }

    fn is_served(&mut self) {
        self.say(r#"{"jsonrpc":"2.0","id":"s","method":"status"}"#);
        let message = self.hear();
        assert_eq!((&message["id"], &message["result"]["running"]), (&json!("s"), &json!(true)), "{message}");
    }

    fn is_closed(&mut self) {
        let mut rest = Vec::new();
        match self.read.read_to_end(&mut rest) {
            Ok(_) => assert_eq!(String::from_utf8_lossy(&rest), ""),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}"),
        }
    }
}

#[test]
fn what_is_no_request_gets_an_error_and_the_connection_goes_on() {
    let served = served();
    let (mut other, mut raw) = (Raw::greeted(&served), Raw::greeted(&served));
    let cases: &[(&[u8], &str, &str)] = &[
        (b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\"", "protocol", "not JSON"),
        (b"hello there", "protocol", "not JSON"),
        (b"\xff\xfe{}", "protocol", "not UTF-8 after byte 0"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}", "protocol", "not UTF-8"),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}]", "protocol", "batches"),
        (b"42", "protocol", "not a request"),
        (b"null", "protocol", "not a request"),
        (b"{}", "protocol", "JSON-RPC 2.0"),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"status\"}", "protocol", "JSON-RPC 2.0"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1}", "protocol", "no method"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "protocol", "no method"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"env.lsit\"}", "usage", "no method `env.lsit`"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"env.show\",\"params\":{\"evn\":\"x\"}}", "usage", "`evn`"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"env.show\",\"params\":[\"x\"]}", "usage", "not an object"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"env.show\"}", "usage", "env"),
    ];
    for (line, code, words) in cases {
        raw.put(line);
        raw.put(b"\n");
        let (kind, message) = raw.hear_error();
        assert_eq!(kind, *code, "{message}");
        assert!(message.contains(words), "{message:?} does not say {words:?}");
        raw.is_served();
        other.is_served();
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    raw.say(&deep);
    assert_eq!(raw.hear_error().0, "protocol");
    raw.say("\n  \r");
    raw.is_served();
}

#[test]
fn a_message_in_pieces_is_one_message() {
    let served = served();
    let (mut other, mut raw) = (Raw::greeted(&served), Raw::greeted(&served));
    for byte in br#"{"jsonrpc":"2.0","id":"s","method":"status"}"# {
        raw.put(&[*byte]);
        if *byte == b':' {
            other.is_served();
        }
    }
    raw.put(b"\n");
    assert_eq!(raw.hear()["id"], "s");
    raw.put(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"status\"}\n",
    );
    assert_eq!((raw.hear()["id"].clone(), raw.hear()["id"].clone()), (json!(1), json!(2)));
}

#[test]
fn half_a_message_is_named_when_the_connection_ends() {
    let served = served();
    let (mut other, mut raw) = (Raw::greeted(&served), Raw::greeted(&served));
    raw.put(br#"{"jsonrpc":"2.0","id":1,"me"#);
    other.is_served();
    raw.write.shutdown(Shutdown::Write).unwrap();
    let (kind, message) = raw.hear_error();
    assert!(kind == "protocol" && message.contains("middle of a message, after 27 bytes"), "{message}");
    raw.is_closed();
    other.is_served();
}

#[test]
fn a_message_of_ten_megabytes_closes_its_connection_and_no_other() {
    let served = served();
    let (mut other, mut raw) = (Raw::greeted(&served), Raw::greeted(&served));
    let huge =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"env.show","params":{{"env":"{}"}}}}"#, "x".repeat(10 << 20));
    raw.say(&huge);
    other.is_served();
    let (kind, message) = raw.hear_error();
    assert!(kind == "protocol" && message.contains("longer than 1048576 bytes"), "{message}");
    raw.write.shutdown(Shutdown::Write).unwrap();
    raw.is_closed();
    other.is_served();
}

#[test]
fn the_first_message_is_hello_in_the_right_protocol() {
    let served = served();
    let mut raw = Raw::silent(&served);
    raw.say(r#"{"jsonrpc":"2.0","id":1,"method":"status"}"#);
    assert!(raw.hear_error().1.contains("before hello"));
    raw.say(r#"{"jsonrpc":"2.0","id":1,"method":"hello"}"#);
    assert!(raw.hear_error().1.contains("does not name a protocol"));
    raw.say(r#"{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":999}}"#);
    assert!(raw.hear_error().1.contains("speaks protocol 1, the client speaks 999"));
    raw.is_closed();
}

#[test]
fn a_call_that_the_host_forgets_is_answered_with_an_error() {
    let served = served();
    let mut raw = Raw::greeted(&served);
    raw.say(r#"{"jsonrpc":"2.0","id":1,"method":"reap"}"#);
    assert_eq!(raw.hear_error().0, "failed");
    // Without an id nothing is answered.
    raw.say(r#"{"jsonrpc":"2.0","method":"status"}"#);
    raw.say(r#"{"jsonrpc":"2.0","method":"no.such"}"#);
    raw.is_served();
}

#[test]
fn a_client_that_asks_without_end_delays_nobody() {
    let served = served();
    let (mut other, mut mad) = (Raw::greeted(&served), Raw::greeted(&served));
    mad.write.set_nonblocking(true).unwrap();
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"env.list\"}\n".repeat(1000);
    let mut sent = 0;
    let full = wait_for("the server to stop reading", || match mad.write.write(&line) {
        Ok(count) => {
            sent += count;
            None
        }
        Err(error) => Some(error.kind()),
    });
    assert_eq!(full, io::ErrorKind::WouldBlock);
    assert!(sent < 8 << 20, "{sent} bytes were taken without an answer");
    other.is_served();
}

#[test]
fn a_client_that_does_not_read_is_dropped_and_the_others_hear_everything() {
    let served = served();
    let subscribe = r#"{"jsonrpc":"2.0","id":1,"method":"events.subscribe"}"#;
    let (mut slow, mut quick) = (Raw::greeted(&served), Raw::greeted(&served));
    slow.say(subscribe);
    let slow_out = served.subscribed.recv_timeout(PATIENCE).unwrap();
    quick.say(subscribe);
    let quick_out = served.subscribed.recv_timeout(PATIENCE).unwrap();
    assert!(slow.hear()["result"].is_object() && quick.hear()["result"].is_object());
    let event = json!({"text": "x".repeat(1000)});
    let mut told = 0;
    while slow_out.notify("event", &event) {
        told += 1;
        assert!(told < 100_000, "a client that does not read is never dropped");
        assert!(quick_out.notify("event", &event));
        assert_eq!(quick.hear()["method"], "event");
    }
    assert_eq!(served.closed.recv_timeout(PATIENCE).unwrap(), slow_out.id().0);
    assert!(!slow_out.notify("event", &event));
    quick.is_served();
}

#[test]
fn a_stream_waits_for_a_slow_reader_and_loses_nothing() {
    let served = served();
    let mut raw = Raw::greeted(&served);
    raw.say(r#"{"jsonrpc":"2.0","id":1,"method":"events.subscribe"}"#);
    let out = served.subscribed.recv_timeout(PATIENCE).unwrap();
    served.runtime.spawn(async move {
        for n in 0..5000 {
            assert!(out.send("exec.output", &json!({"n": n, "text": "y".repeat(500)})).await);
        }
    });
    assert!(raw.hear()["result"].is_object());
    // Asked in between: answers do not wait behind a stream.
    raw.say(r#"{"jsonrpc":"2.0","id":"s","method":"status"}"#);
    let (mut next, mut answered) = (0, false);
    while next < 5000 {
        let message = raw.hear();
        if message["id"] == "s" {
            answered = true;
        } else {
            assert_eq!(message["params"]["n"], next);
            next += 1;
        }
    }
    assert!(answered);
}

#[test]
fn the_host_learns_of_a_connection_that_is_gone() {
    let served = served();
    let raw = Raw::greeted(&served);
    drop(raw);
    served.closed.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn the_socket_is_the_users_own() {
    let served = served();
    let mode = |path: &std::path::Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&served.socket), mode(served.socket.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn an_unsafe_folder_or_a_path_too_long_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link, open) = (folder.path().join("real"), folder.path().join("link"), folder.path().join("open"));
    fs::create_dir(&real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o755)).unwrap();
    symlink(&real, &link).unwrap();
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o770)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bind = |path: PathBuf| runtime.block_on(async { Server::bind(&path).map_err(|error| error.to_string()) });
    assert!(bind(link.join("s")).unwrap_err().contains("symbolic link"));
    assert!(bind(open.join("s")).unwrap_err().contains("other users"));
    assert!(bind(real.join("s".repeat(120))).unwrap_err().contains("longer than"));
    let server = bind(real.join("s")).unwrap();
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o700);
    drop(server);
    assert!(!real.join("s").exists());
}

#[test]
fn one_connection_too_many_is_told_so_and_those_before_it_are_served() {
    let served = served();
    let mut first = Raw::greeted(&served);
    let mut others: Vec<Raw> = (1..256).map(|_| Raw::silent(&served)).collect();
    let mut late = Raw::silent(&served);
    let (code, message) = late.hear_error();
    assert!(code == "failed" && message.contains("256 connections"), "{code}: {message}");
    late.is_closed();
    first.is_served();
    drop(others.split_off(100));
    wait_for("a free place", || {
        let mut raw = Raw::silent(&served);
        raw.put(b"x\n");
        raw.hear_error().1.contains("not JSON").then_some(())
    });
}

#[test]
fn a_host_that_ends_leaves_the_socket_of_another_alone() {
    let served = served();
    fs::remove_file(&served.socket).unwrap();
    let runtime = Runtime::new().unwrap();
    let second = runtime.block_on(async { Server::bind(&served.socket).unwrap() });
    let socket = served.socket.clone();
    drop(served.runtime);
    assert!(socket.exists());
    drop(second);
    assert!(!socket.exists());
}
