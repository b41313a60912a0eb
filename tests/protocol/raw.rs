//! A client that says exactly what it is told to, fast.

use crate::common::{PATIENCE, Profile};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

pub struct Raw {
    pub write: UnixStream,
    read: BufReader<UnixStream>,
}

impl Raw {
    /// Connects and says nothing.
    pub fn silent(socket: &Path) -> Self {
        let write = UnixStream::connect(socket).unwrap();
        write.set_read_timeout(Some(PATIENCE)).unwrap();
        write.set_write_timeout(Some(PATIENCE)).unwrap();
        let read = BufReader::new(write.try_clone().unwrap());
        Self { write, read }
    }

    pub fn greeted(profile: &Profile) -> Self {
        Self::greeted_at(&profile.socket().unwrap())
    }

    pub fn greeted_at(socket: &Path) -> Self {
        let mut raw = Self::silent(socket);
        raw.ask("hello", json!({"protocol": 1}));
        raw
    }

    /// The next line; `None` when the connection is closed.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.read.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(line),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no answer: {error}"),
        }
    }

    pub fn hear(&mut self) -> Value {
        let line = self.line().expect("an open connection");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub fn say(&mut self, message: &Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.say(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        let answer = self.hear();
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Fails unless the host answers on this connection.
    pub fn is_served(&mut self) {
        assert_eq!(self.ask("status", json!({}))["running"], true);
    }
}
