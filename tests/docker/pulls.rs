//! Images that are not here: layers and bytes, registries that want credentials, machines of another kind.

use super::mock::{Mock, Reply, Request};
use super::world::wanted;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use hermes_tui::backend::docker::{DockerBackend, DockerConfig, Place};
use hermes_tui::backend::{Backend, BackendError};
use hermes_tui::domain::FailureKind;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// An engine whose registry gives an image to this user only; then the image is there, and no container can be made.
pub fn registry_wants(user: &str, secret: &str) -> impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static {
    let (user, secret) = (user.to_owned(), secret.to_owned());
    let here = AtomicBool::new(false);
    move |request| {
        let line = request.line.as_str();
        if line.starts_with("POST /images/create") {
            let sent = request.header("x-registry-auth").and_then(|text| URL_SAFE.decode(text).ok());
            let sent: Value = sent.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
            if sent["username"] == user.as_str() && sent["password"] == secret.as_str() {
                here.store(true, Ordering::Relaxed);
                return Some(Reply::Lines(vec![
                    json!({"status": "Pulling fs layer", "id": "a"}),
                    json!({"status": "Pull complete", "id": "a"}),
                ]));
            }
            let why = "unauthorized: authentication required";
            return Some(Reply::Json(500, json!({"message": format!("Head \"https://x/v2/\": {why}")})));
        }
        if line.starts_with("GET /images/box.example") && here.load(Ordering::Relaxed) {
            return Some(Reply::Json(200, json!({"Id": "i", "Os": "linux", "Architecture": "amd64"})));
        }
        line.starts_with("POST /containers/create").then(|| Reply::Json(400, json!({"message": "as far as it goes"})))
    }
}

const NO_MANIFEST: &str = "no matching manifest for linux/amd64 in the manifest list entries";

struct Puller {
    folder: tempfile::TempDir,
    backend: DockerBackend,
    mock: Mock,
}

impl Puller {
    fn new(auths: Option<Value>, answer: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mock = Mock::start(&folder.path().join("engine.sock"), answer);
        if let Some(auths) = auths {
            let config = json!({"auths": auths}).to_string();
            std::fs::write(folder.path().join("config.json"), config).expect("written");
        }
        let mut config = DockerConfig::new(folder.path().join("data"), &|_| None);
        config.spot.places = vec![Place::socket(&mock.socket)];
        config.credentials = Some(folder.path().to_owned());
        Self { backend: DockerBackend::new(config), folder, mock }
    }

    async fn fails(&self, image: &str) -> BackendError {
        let wanted = wanted(&self.folder.path().join("data/envs/e1"), image);
        let error = self.backend.provision(wanted, Box::new(|_| {})).await.expect_err("no container");
        assert_eq!(error.kind, FailureKind::Permanent, "{error}");
        error
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_docker_login_kept_are_sent_and_never_shown() {
    // In base64, this gives the letters in which its two alphabets differ.
    let secret = "p?ss>w~rd???>>>~~~";
    let auths = json!({"box.example:5000": {"auth": STANDARD.encode(format!("me:{secret}"))}});
    let puller = Puller::new(Some(auths.clone()), registry_wants("me", secret));
    let error = puller.fails("box.example:5000/tool:1").await;
    assert!(error.message.contains("as far as it goes"), "the pull did not work: {error}");
    puller.mock.end().await;
    let puller = Puller::new(Some(auths), registry_wants("me", "another"));
    let error = puller.fails("box.example:5000/tool:1").await;
    assert!(error.message.starts_with("the registry box.example:5000 refuses the stored credentials"), "{error}");
    assert!(!format!("{error:?}").contains("p?ss"), "{error:?}");
    puller.mock.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_registry_without_credentials_names_the_login() {
    let puller = Puller::new(None, registry_wants("me", "x"));
    let error = puller.fails("box.example:5000/tool:1").await;
    assert!(error.message.contains("gives the image box.example:5000/tool:1 to nobody without credentials"), "{error}");
    assert_eq!(error.hint, "check the image's name, or run `docker login box.example:5000` if it is private");
    assert!(puller.fails("me/tool").await.hint.contains("`docker login`"));
    puller.mock.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn layers_and_bytes_of_a_pull_are_told() {
    let line = |id: &str, status: &str, now: u64| json!({"id": id, "status": status, "progressDetail": {"current": now << 20, "total": 4u64 << 20}});
    let lines: Vec<Value> = (0..400)
        .flat_map(|step| [line("a", "Downloading", step % 5), line("b", "Downloading", 2)])
        .chain([json!({"error": "the registry went away", "errorDetail": {"message": "the registry went away"}})])
        .collect();
    let puller = Puller::new(None, move |request| {
        request.line.starts_with("POST /images/create").then(|| Reply::Slowly(lines.clone()))
    });
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    let wanted = wanted(&puller.folder.path().join("data/envs/e1"), "box.example/tool:1");
    let progress = Box::new(move |line: String| heard.lock().expect("whole").push(line));
    let error = puller.backend.provision(wanted, progress).await.expect_err("cut off");
    assert!(error.message.ends_with("cannot be pulled: the registry went away"), "{error}");
    let said = said.lock().expect("whole").clone();
    assert_eq!(said[0], "pulling box.example/tool:1");
    assert!(said.iter().any(|line| line.contains("of 2 layers") && line.ends_with("of 8.0 MiB")), "{said:?}");
    puller.mock.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_for_another_machine_says_so() {
    let puller = Puller::new(None, |request| {
        let line = request.line.as_str();
        Some(match line.split('?').next().unwrap_or_default() {
            "GET /images/other:1/json" => Reply::Json(200, json!({"Id": "i", "Os": "linux", "Architecture": "arm64"})),
            "POST /containers/create" => Reply::Json(201, json!({"Id": "c1", "Warnings": []})),
            "POST /containers/c1/start" => Reply::Json(
                400,
                json!({"message": "OCI runtime create failed: exec /bin/sh: exec format error: unknown"}),
            ),
            "DELETE /containers/c1" => Reply::Json(204, Value::Null),
            "POST /images/create" => {
                Reply::Lines(vec![json!({"errorDetail": {"message": NO_MANIFEST}, "error": NO_MANIFEST})])
            }
            _ => return None,
        })
    });
    let error = puller.fails("other:1").await;
    let wanted = "the image other:1 is made for linux/arm64, and the engine's machine is linux/amd64: ";
    assert!(error.message.starts_with(wanted), "{error}");
    assert_eq!(error.hint, "use an image for this machine: `docker pull --platform linux/amd64 other:1`");
    assert_eq!(puller.mock.count("POST /containers/create"), puller.mock.count("DELETE /containers/c1"));
    let error = puller.fails("box.example/none").await;
    assert!(error.message.contains("is not made for the engine's machine, which is linux/amd64"), "{error}");
    puller.mock.end().await;
}
