//! Engines that are not there, come late, go away, and are reached in other ways than by the usual socket.

use super::mock::{Mock, Reply, Request};
use super::world::{PATIENCE, session};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use hermes_tui::backend::docker::{DockerBackend, DockerConfig, Kin, Place, Spot, profile_label};
use hermes_tui::backend::{Backend, BackendEvent, Standing};
use hermes_tui::domain::{EndpointId, SandboxId, Size};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

fn backend(data: &tempfile::TempDir, sockets: Vec<PathBuf>) -> DockerBackend {
    backend_at(&data.path().join("data"), sockets.into_iter().map(Place::socket).collect())
}

pub fn backend_at(data: &Path, places: Vec<Place>) -> DockerBackend {
    let mut config = DockerConfig::new(data, &|_| None);
    config.spot.places = places;
    DockerBackend::new(config)
}

pub async fn next(events: &mut BoxStream<'static, BackendEvent>) -> BackendEvent {
    tokio::time::timeout(PATIENCE, events.next()).await.expect("an event in time").expect("an event")
}

/// Waits until the engine was looked for so often.
async fn tried(backend: &DockerBackend, times: u64) {
    let end = tokio::time::Instant::now() + PATIENCE;
    while backend.tries() < times {
        assert!(tokio::time::Instant::now() < end, "tried {} times, not {times}", backend.tries());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_no_engine_is_none_is_looked_for_until_one_appears() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("run/engine.sock");
    let backend = backend(&folder, vec![socket.clone(), folder.path().join("other.sock")]);
    let mut events = backend.watch();
    let BackendEvent::Down(why) = next(&mut events).await else { panic!("nobody answers") };
    assert!(why.contains("run/engine.sock: no such socket") && why.contains("other.sock"), "{why}");
    // Once for the news, once more from when on nothing is missed.
    tried(&backend, 2).await;
    for n in 0..50 {
        std::fs::write(folder.path().join(format!("noise-{n}")), "").expect("made");
    }
    std::fs::create_dir(folder.path().join("run")).expect("made");
    tried(&backend, 3).await;
    let mock = Mock::start(&socket, |_| None);
    assert_eq!(next(&mut events).await, BackendEvent::Up);
    assert_eq!(next(&mut events).await, BackendEvent::Snapshot(Vec::new()));
    assert_eq!(backend.tries(), 4, "each try had its reason");
    mock.end().await;
    assert!(matches!(next(&mut events).await, BackendEvent::Down(_)));
    let mock = Mock::start(&socket, |_| None);
    assert_eq!(next(&mut events).await, BackendEvent::Up);
    mock.end().await;
}

fn engine_of_id(id: &str) -> impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static {
    let id = id.to_owned();
    move |request| (request.line == "GET /info").then(|| Reply::Json(200, json!({"ID": id})))
}

fn at(data: &Path, kin: &Kin, id: &str, sockets: &[&Path], waits: bool) -> DockerBackend {
    let places = sockets.iter().map(|path| Place::socket(*path)).collect();
    let spot = Spot { id: EndpointId::new(id), places, expected: !waits && id != "docker", waits };
    DockerBackend::new(DockerConfig::at(data, spot, kin.clone()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_engines_are_used_at_once_and_one_that_is_reached_twice_is_listed_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = |name: &str| folder.path().join(name);
    let (a, b) = (Mock::start(&socket("a"), engine_of_id("A")), Mock::start(&socket("b"), engine_of_id("B")));
    let again = Mock::start(&socket("again"), engine_of_id("A"));
    let (kin, data) = (Kin::default(), folder.path().join("data"));
    let main = at(&data, &kin, "docker", &[&a.socket], false);
    let other = at(&data, &kin, "lab", &[&b.socket], false);
    let twin = at(&data, &kin, "twin", &[&again.socket], false);
    let (mut first, mut second, mut silent) = (main.watch(), other.watch(), twin.watch());
    assert_eq!(next(&mut first).await, BackendEvent::Snapshot(Vec::new()));
    assert_eq!(next(&mut second).await, BackendEvent::Snapshot(Vec::new()));
    let error = twin.probe().await.expect_err("the same engine");
    assert_eq!(error.message, "this is the same engine as the endpoint `docker`");
    assert_eq!(twin.standing(), Standing::SameAs(EndpointId::new("docker")));
    assert_eq!(other.standing(), Standing::Listed);
    b.end().await;
    assert!(matches!(next(&mut second).await, BackendEvent::Down(_)));
    // The other engines' troubles are not its own.
    assert!(main.list().await.is_ok());
    tokio::select! {
        biased;
        event = silent.next() => panic!("it is no endpoint of its own: {event:?}"),
        () = std::future::ready(()) => {}
    }
    a.end().await;
    again.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_usual_place_that_answers_is_docker_and_the_others_keep_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = |name: &str| folder.path().join(name);
    let (one, two) = (socket("one.sock"), socket("two.sock"));
    let (kin, data) = (Kin::default(), folder.path().join("data"));
    let main = at(&data, &kin, "docker", &[&one, &two], false);
    let (first, second) = (at(&data, &kin, "first", &[&one], true), at(&data, &kin, "second", &[&two], true));
    let (mut of_main, mut of_first, mut of_second) = (main.watch(), first.watch(), second.watch());
    let listening = tokio::spawn(async move { of_second.next().await });
    let first_event = tokio::spawn(async move { next(&mut of_first).await });
    let main_event = tokio::spawn(async move { next(&mut of_main).await });
    tried(&main, 2).await;
    assert_eq!((first.tries(), second.tries()), (0, 0), "they wait for `docker`");
    assert_eq!(first.standing(), Standing::Unlisted);
    let later = Mock::start(&two, engine_of_id("2"));
    assert_eq!(main_event.await.expect("an event"), BackendEvent::Snapshot(Vec::new()));
    assert_eq!(second.standing(), Standing::SameAs(EndpointId::new("docker")));
    // Nobody was told that it was not there: nobody expected it.
    let latest = Mock::start(&one, engine_of_id("1"));
    assert_eq!(first_event.await.expect("an event"), BackendEvent::Snapshot(Vec::new()));
    assert_eq!(first.standing(), Standing::Listed);
    assert!(main.described().expect("it is known").ends_with("two.sock"));
    assert!(!listening.is_finished(), "it is no endpoint of its own");
    listening.abort();
    later.end().await;
    latest.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_nobody_announced_is_found_when_the_engine_answers_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let labels: Value = json!({
        "hermes-tui.profile": profile_label(&data), "hermes-tui.environment": "e1", "hermes-tui.name": "box",
        "hermes-tui.generation": "1",
    });
    let (restart, over) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
    let (cut, ended) = (restart.clone(), over.clone());
    let mock = Mock::start(&folder.path().join("engine.sock"), move |request| {
        let ended = ended.load(Ordering::Relaxed);
        let state = json!({"Running": true, "Status": "running", "StartedAt": "2026-01-01T00:00:00Z"});
        Some(match request.line.split('?').next().unwrap_or_default() {
            "GET /events" if ended => Reply::Open,
            "GET /events" => Reply::Until(cut.clone()),
            "GET /containers/json" => Reply::Json(200, json!([{"Id": "c1", "Labels": labels, "State": "running"}])),
            "GET /containers/c1/json" => {
                Reply::Json(200, json!({"Id": "c1", "State": state, "Config": {"Labels": labels}}))
            }
            "POST /containers/c1/exec" => {
                let of_a_session = String::from_utf8_lossy(&request.body).contains("\"Tty\":true");
                Reply::Json(201, json!({"Id": if of_a_session { "session" } else { "script" }}))
            }
            "POST /exec/session/start" => Reply::Raw(b"\x1e7 70\x1ego\r\n".to_vec()),
            "POST /exec/session/resize" => Reply::Json(200, Value::Null),
            "GET /exec/session/json" if ended => Reply::Json(200, json!({"Running": false, "ExitCode": 7})),
            "GET /exec/session/json" => Reply::Json(200, json!({"Running": true})),
            "POST /exec/script/start" => Reply::RawEnd(Vec::new()),
            "GET /exec/script/json" => Reply::Json(200, json!({"Running": false, "ExitCode": 0})),
            _ => return None,
        })
    });
    let backend = backend_at(&data, vec![Place::socket(&mock.socket)]);
    let mut events = backend.watch();
    assert!(matches!(next(&mut events).await, BackendEvent::Snapshot(found) if found.len() == 1));
    let shell = session(&[], Size { rows: 24, cols: 80 });
    let link = backend.attach(SandboxId::new("c1"), shell).await.expect("a session");
    // The engine forgets all events, and the session's program ends meanwhile; its stream stays open.
    over.store(true, Ordering::Relaxed);
    restart.notify_one();
    assert!(matches!(next(&mut events).await, BackendEvent::Down(_)));
    assert_eq!(next(&mut events).await, BackendEvent::Up);
    assert!(matches!(next(&mut events).await, BackendEvent::Snapshot(_)));
    let exit = tokio::time::timeout(PATIENCE, link.exit).await.expect("the end is found");
    assert_eq!(exit, Some(7));
    mock.end().await;
}
