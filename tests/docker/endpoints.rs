//! Engines that are not there, come late, go away, and are reached in other ways than by the usual socket.

use super::mock::Mock;
use super::world::PATIENCE;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use hermes_tui::backend::docker::{DockerBackend, DockerConfig};
use hermes_tui::backend::{Backend, BackendEvent};
use std::path::PathBuf;
use std::time::Duration;

fn backend(data: &tempfile::TempDir, sockets: Vec<PathBuf>) -> DockerBackend {
    let mut config = DockerConfig::new(data.path().join("data"), &|_| None);
    config.sockets = sockets;
    DockerBackend::new(config)
}

async fn next(events: &mut BoxStream<'static, BackendEvent>) -> BackendEvent {
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
