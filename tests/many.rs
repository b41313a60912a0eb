//! Sessions by the hundred: none with a wrong size, however busy the machine is, and nothing of them left. Terminals that
//! come and go, and hosts that are killed, again and again. The full numbers with `HTUI_LONG=1`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that finds what it does not expect must fail")]

#[path = "many/chance.rs"]
mod chance;
mod common;
#[path = "docker/engine.rs"]
mod engine;
#[path = "many/kills.rs"]
mod kills;
#[path = "docker/podman.rs"]
mod podman;
#[path = "protocol/raw.rs"]
mod raw;
#[path = "many/storm.rs"]
mod storm;
#[path = "docker/world.rs"]
mod world;

use bollard::query_parameters::InspectContainerOptions;
use hermes_tui::backend::Backend;
use hermes_tui::domain::Size;
use hermes_tui::pty::PtyLink;
use std::process::{Child, Command};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Mutex;
use world::{PATIENCE, World, read_until};

/// Descriptors and processors are the whole process's: one at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

fn number(usual: usize, long: usize) -> usize {
    if std::env::var("HTUI_LONG").is_ok_and(|value| value == "1") { long } else { usual }
}

/// Every processor is busy for as long as this lives.
struct Load(Vec<Child>);

impl Load {
    fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a busy process");
        Self((0..processors).map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The next line, and not a byte more.
async fn line(link: &mut PtyLink) -> String {
    let mut seen = Vec::new();
    let read = async {
        while !seen.ends_with(b"\r\n") {
            seen.push(link.reader.read_u8().await.expect("reads"));
        }
    };
    assert!(tokio::time::timeout(PATIENCE, read).await.is_ok(), "no line, but {:?}", String::from_utf8_lossy(&seen));
    String::from_utf8_lossy(&seen).trim_end().to_owned()
}

async fn sizes(which: &str, times: usize) {
    let _alone = ALONE.lock().await;
    let Some(world) = World::on(which).await else { return };
    let sandbox = world.sandbox().await;
    let _load = Load::new();
    let began = std::time::Instant::now();
    for _ in 0..times {
        let script = "stty size; while read -r line; do stty size; done";
        let mut link = world.open(&sandbox, &["sh", "-c", script], Size { rows: 44, cols: 171 }).await;
        assert_eq!(line(&mut link).await, "44 171");
        link.control.resize(Size { rows: 31, cols: 97 }).await.expect("resized");
        // Podman says so before it is.
        let tries = if which == "docker" { 1 } else { 100 };
        let mut later = String::new();
        for _ in 0..tries {
            link.writer.write_all(b"\r").await.expect("typed");
            assert_eq!(line(&mut link).await, "", "the echo of the key");
            later = line(&mut link).await;
            if later == "31 97" {
                break;
            }
        }
        assert_eq!(later, "31 97");
        link.control.close().await.expect("closed");
    }
    println!("{times} sessions with the right size twice, {} ms each under load", per(began, times));
    world.cleaner.end().await;
}

fn per(began: std::time::Instant, times: usize) -> u128 {
    began.elapsed().as_millis() / times.max(1) as u128
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_size_is_right_from_the_first_byte_each_time_under_load() {
    sizes("docker", number(40, 200)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_size_is_right_from_the_first_byte_each_time_under_load_on_podman() {
    sizes("podman", number(5, 200)).await;
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("descriptors").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_opened_and_closed_leave_nothing_behind() {
    let _alone = ALONE.lock().await;
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox().await;
    let times = number(60, 500);
    let docker = engine::client(&world.cleaner.socket).await;
    let top = || async { docker.top_processes(sandbox.as_str(), None).await.expect("rows").processes.expect("rows") };
    let session = || async {
        let mut link = world.open(&sandbox, &[], Size { rows: 24, cols: 80 }).await;
        read_until(&mut link, "# ").await;
        link.control.close().await.expect("closed");
        link.exit.await
    };
    // The first one opens what is kept: the pool of connections.
    session().await;
    let (rows, before) = (top().await.len(), descriptors());
    let began = std::time::Instant::now();
    for _ in 0..times {
        session().await;
    }
    let took = per(began, times);
    assert_eq!(top().await.len(), rows, "{:?}", top().await);
    let found = world.backend.evidence(sandbox.clone()).await.expect("evidence");
    assert_eq!((found.processes.len(), found.idle_shells, found.execs), (0, 0, 0), "{found:?}");
    // The engine takes a moment to count an exec as ended; it drops ended ones from its list by itself.
    let end = std::time::Instant::now() + PATIENCE;
    let mut running = usize::MAX;
    while running > 0 && std::time::Instant::now() < end {
        let raw = docker.inspect_container(sandbox.as_str(), None::<InspectContainerOptions>).await.expect("there");
        running = 0;
        for exec in raw.exec_ids.into_iter().flatten() {
            running += usize::from(docker.inspect_exec(&exec).await.is_ok_and(|found| found.running == Some(true)));
        }
    }
    assert_eq!(running, 0, "execs run on");
    let mut after = descriptors();
    while after > before + 2 && std::time::Instant::now() < end {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        after = descriptors();
    }
    assert!(after <= before + 2, "{before} descriptors before, {after} after");
    println!("{times} sessions, {took} ms each; processes {rows} and {rows}, descriptors {before} and {after}");
    world.cleaner.end().await;
}
