//! A model of the tests' own on loopback: it answers each request of an agent with the next step of a script, in the
//! shape of OpenAI's API.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// One answer.
pub enum Step {
    /// Call the terminal tool with these arguments.
    Run(Value),
    /// Say this, which ends the turn.
    Say(&'static str),
}

/// It listens until the process ends.
pub struct Model {
    /// Where.
    pub port: u16,
    steps: Arc<Mutex<std::collections::VecDeque<Step>>>,
}

impl Model {
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let steps: Arc<Mutex<std::collections::VecDeque<Step>>> = Arc::default();
        let model = Self { port, steps: Arc::clone(&steps) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let steps = Arc::clone(&steps);
                std::thread::spawn(move || serve(&stream, &steps));
            }
        });
        model
    }

    /// What it answers next.
    pub fn will(&self, steps: Vec<Step>) {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).extend(steps);
    }
}

fn serve(stream: &TcpStream, steps: &Mutex<std::collections::VecDeque<Step>>) {
    let mut reader = BufReader::new(stream);
    while let Some((get, body)) = request(&mut reader) {
        let (kind, text) = if get {
            let models =
                json!({"object": "list", "data": [{"id": "scripted", "object": "model", "context_length": 200_000}]});
            ("application/json", models.to_string())
        } else {
            answer(&body, steps)
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: keep-alive\r\n\r\n",
            text.len()
        );
        let mut out = stream;
        if out.write_all(head.as_bytes()).and_then(|()| out.write_all(text.as_bytes())).is_err() {
            return;
        }
    }
}

/// Whether it is a GET, and its body.
fn request(reader: &mut impl BufRead) -> Option<(bool, Value)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(text) = line.strip_prefix("content-length:") {
            length = text.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first.starts_with("GET"), serde_json::from_slice(&body).unwrap_or_default()))
}

fn answer(body: &Value, steps: &Mutex<std::collections::VecDeque<Step>>) -> (&'static str, String) {
    // What comes without tools is a request for a title or a summary.
    let tools = body["tools"].as_array().is_some_and(|all| !all.is_empty());
    let next = || steps.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let step = if tools { next().unwrap_or(Step::Say("done")) } else { Step::Say("a title") };
    let id = uuid::Uuid::new_v4().simple().to_string();
    let (message, reason) = match step {
        Step::Run(arguments) => {
            let function = json!({"name": "terminal", "arguments": arguments.to_string()});
            let call =
                json!({"index": 0, "id": format!("call_{}", &id[..8]), "type": "function", "function": function});
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
        Step::Say(text) => (json!({"role": "assistant", "content": text}), "stop"),
    };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let base = json!({"id": id, "created": 1_800_000_000, "model": "scripted"});
    let whole = |more: Value| {
        let mut all = base.clone();
        all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        all.to_string()
    };
    if body["stream"] != true {
        let choices = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        return ("application/json", whole(json!({"object": "chat.completion", "choices": choices, "usage": usage})));
    }
    let chunk = "chat.completion.chunk";
    let begin = json!([{"index": 0, "delta": message, "finish_reason": null}]);
    let end = json!([{"index": 0, "delta": {}, "finish_reason": reason}]);
    let first = whole(json!({"object": chunk, "choices": begin}));
    let last = whole(json!({"object": chunk, "choices": end, "usage": usage}));
    ("text/event-stream", format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n"))
}
