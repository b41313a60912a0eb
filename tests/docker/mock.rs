//! A container engine of a test's own making: it answers as a test says, on any stream, and can be taken away.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::task::{JoinHandle, JoinSet};

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Method and path without the API's version, for example `GET /info`.
    pub line: String,
    /// Header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What is answered.
pub enum Reply {
    Json(u16, Value),
    /// Lines of JSON, then the end.
    Lines(Vec<Value>),
    /// Lines of JSON one after the other, with time between them, then the end.
    Slowly(Vec<Value>),
    /// A stream that stays open.
    Open,
    /// A stream that ends when this is said.
    Until(Arc<tokio::sync::Notify>),
    /// A raw stream: these bytes, then it stays open.
    Raw(Vec<u8>),
    /// A raw stream: these bytes, then its end.
    RawEnd(Vec<u8>),
}

type Answer = dyn Fn(&Request) -> Option<Reply> + Send + Sync;

/// A running one.
pub struct Mock {
    pub socket: PathBuf,
    pub seen: Arc<Mutex<Vec<Request>>>,
    serving: JoinHandle<()>,
}

impl Mock {
    /// Answers at a socket; what `answer` leaves open is answered as by an engine without containers.
    pub fn start(socket: &Path, answer: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) -> Self {
        // Made under another name first: what appears under its own name answers.
        let making = socket.with_extension("making");
        let listener = UnixListener::bind(&making).expect("a socket");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, answer): (_, Arc<Answer>) = (seen.clone(), Arc::new(answer));
        let serving = tokio::spawn(async move {
            let mut all = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                all.spawn(serve(stream, answer.clone(), log.clone()));
            }
        });
        std::fs::rename(&making, socket).expect("it appears");
        Self { socket: socket.to_owned(), seen, serving }
    }

    /// It is gone, its socket too, and every connection with it.
    pub async fn end(self) {
        std::fs::remove_file(&self.socket).expect("its socket");
        self.serving.abort();
        let _ = self.serving.await;
    }

    /// Requests that begin so.
    pub fn count(&self, line: &str) -> usize {
        self.seen.lock().expect("whole").iter().filter(|request| request.line.starts_with(line)).count()
    }
}

/// Serves one connection with an engine's answers.
pub async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: Arc<Answer>,
    log: Arc<Mutex<Vec<Request>>>,
) {
    while let Some(request) = read(&mut stream).await {
        log.lock().expect("whole").push(request.clone());
        let reply = answer(&request).unwrap_or_else(|| usual(&request));
        let head = |status: u16, rest: &str| format!("HTTP/1.1 {status} X\r\nApi-Version: 1.41\r\n{rest}\r\n");
        let (bytes, then) = match reply {
            Reply::Json(status, value) => {
                let body = if value.is_null() { String::new() } else { value.to_string() };
                let kind = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
                ((head(status, &kind) + &body).into_bytes(), Then::Next)
            }
            Reply::Lines(lines) => {
                let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
                let kind = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
                ((head(200, &kind) + &body).into_bytes(), Then::Next)
            }
            Reply::Slowly(lines) => {
                let head = head(200, "Content-Type: application/json\r\nConnection: close\r\n");
                let _ = stream.write_all(head.as_bytes()).await;
                for line in lines {
                    let _ = stream.write_all(format!("{line}\n").as_bytes()).await;
                    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                }
                return;
            }
            Reply::Until(end) => {
                let head = head(200, "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n");
                let _ = stream.write_all(head.as_bytes()).await;
                end.notified().await;
                return;
            }
            Reply::Open => {
                (head(200, "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n").into_bytes(), Then::Stay)
            }
            Reply::Raw(bytes) => (raw(bytes), Then::Stay),
            Reply::RawEnd(bytes) => (raw(bytes), Then::End),
        };
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
        match then {
            Then::Next => {}
            Then::Stay => {
                let mut sink = [0; 1024];
                while stream.read(&mut sink).await.is_ok_and(|n| n > 0) {}
                return;
            }
            Then::End => return,
        }
    }
}

enum Then {
    Next,
    Stay,
    End,
}

fn raw(bytes: Vec<u8>) -> Vec<u8> {
    let mut all = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n".to_vec();
    all.extend(bytes);
    all
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Request> {
    let mut seen = Vec::new();
    let end = loop {
        if let Some(at) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut seen).await.ok()? == 0 {
            return None;
        }
    };
    let mut body = seen.split_off(end + 4);
    let head = String::from_utf8(seen).expect("text");
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let plain = match path.strip_prefix("/v1.").and_then(|rest| rest.split_once('/')) {
        Some((_, rest)) => format!("/{rest}"),
        None => path.to_owned(),
    };
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = Request { line: format!("{method} {plain}"), headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    request.body = body;
    Some(request)
}

/// As an engine without containers answers.
pub fn usual(request: &Request) -> Reply {
    match request.line.split('?').next().unwrap_or_default() {
        "GET /version" => {
            Reply::Json(200, json!({"Version": "20.10.0", "ApiVersion": "1.41", "MinAPIVersion": "1.12"}))
        }
        "GET /info" => Reply::Json(200, json!({"ID": "mock", "Architecture": "x86_64", "OSType": "linux"})),
        "GET /_ping" => Reply::Json(200, Value::Null),
        "GET /containers/json" => Reply::Json(200, json!([])),
        "GET /events" => Reply::Open,
        _ => Reply::Json(404, json!({"message": "there is no such thing here"})),
    }
}
