//! Terminals: every byte arrives, the size is right, no key is held back, nothing is left behind.

use super::endpoints::next;
use super::world::{PATIENCE, World, read_until};
use hermes_tui::backend::{Backend, BackendEvent};
use hermes_tui::domain::Size;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// For a byte that is not to come yet; that it comes anyway is no failure.
const HOLD: std::time::Duration = std::time::Duration::from_millis(100);
const SIZE: Size = Size { rows: 44, cols: 171 };

/// The first of the keys that would detach; it alone is held back by the engine until the next one.
const HELD: u8 = 0x1e;

async fn each_byte(which: &str) {
    let Some(world) = World::on(which).await else { return };
    let sandbox = world.sandbox().await;
    // What is typed comes back at once: each byte is a chunk of its own, with a pause that is the next reading.
    let mut link = world.open(&sandbox, &["sh", "-c", "stty raw -echo; printf ready; exec cat"], SIZE).await;
    read_until(&mut link, "ready").await;
    for byte in 0..=255_u8 {
        let alone: &[u8] = if byte == HELD { &[byte, b'x'] } else { &[byte] };
        for sent in [alone, &[byte, b'A'.wrapping_add(byte % 26), 0, 1, 2]] {
            link.writer.write_all(sent).await.expect("typed");
            let mut seen = vec![0; sent.len()];
            let read = tokio::time::timeout(PATIENCE, link.reader.read_exact(&mut seen)).await;
            read.unwrap_or_else(|_| panic!("byte {byte} is lost")).expect("read");
            assert_eq!(seen, sent);
        }
    }
    // The one that is held back comes with the next key, and before it.
    link.writer.write_all(&[HELD]).await.expect("typed");
    link.writer.flush().await.expect("typed");
    let held = tokio::time::timeout(HOLD, link.reader.read_u8()).await;
    link.writer.write_all(b"q").await.expect("typed");
    let mut seen = held.ok().map(|byte| byte.expect("read")).into_iter().collect::<Vec<_>>();
    while seen.len() < 2 {
        seen.push(tokio::time::timeout(PATIENCE, link.reader.read_u8()).await.expect("in time").expect("read"));
    }
    assert_eq!(seen, [HELD, b'q']);
    link.control.close().await.expect("closed");
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_byte_arrives_alone_and_as_the_first_of_a_chunk_on_docker() {
    each_byte("docker").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_byte_arrives_alone_and_as_the_first_of_a_chunk_on_podman() {
    each_byte("podman").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_byte_arrives_alone_and_as_the_first_of_a_chunk_on_rootless_podman() {
    each_byte("rootless podman").await;
}

async fn ctrl_p(which: &str) {
    let Some(world) = World::on(which).await else { return };
    let sandbox = world.sandbox().await;
    let mut link = world.open(&sandbox, &[], SIZE).await;
    read_until(&mut link, "# ").await;
    // The prompt is not in what is typed, so that its coming is the end of the command.
    link.writer.write_all(b"PS1='ne''xt> '; echo $((40 + 2))\r").await.expect("typed");
    read_until(&mut link, "next> ").await;
    link.writer.write_all(b"\x10").await.expect("typed");
    read_until(&mut link, "echo $((40 + 2))").await;
    link.control.close().await.expect("closed");
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_p_recalls_the_last_command_at_once_on_docker() {
    ctrl_p("docker").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ctrl_p_recalls_the_last_command_at_once_on_podman() {
    ctrl_p("podman").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_shell_is_no_evidence_and_a_program_in_it_is() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox().await;
    let mut link = world.open(&sandbox, &[], SIZE).await;
    read_until(&mut link, "# ").await;
    let found = world.backend.evidence(sandbox.clone()).await.expect("evidence");
    assert_eq!((found.processes.len(), found.idle_shells), (0, 1), "{found:?}");
    link.writer.write_all(b"echo on; sleep 1003\r").await.expect("typed");
    read_until(&mut link, "on\r\n").await;
    let found = world.backend.evidence(sandbox.clone()).await.expect("evidence");
    let commands: Vec<&str> = found.processes.iter().map(|one| one.command.as_str()).collect();
    assert_eq!((commands, found.idle_shells), (vec!["sleep 1003"], 0));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_millis() as u64;
    assert!(found.processes[0].started.0.abs_diff(now) < 60_000, "{found:?}");
    link.control.close().await.expect("closed");
    let found = world.backend.evidence(sandbox).await.expect("evidence");
    assert_eq!((found.processes.len(), found.idle_shells), (0, 0), "{found:?}");
    world.cleaner.end().await;
}

async fn leftovers(which: &str) {
    let Some(world) = World::on(which).await else { return };
    let sandbox = world.sandbox().await;
    // Without events nobody would hear of an end that the stream does not tell.
    let mut events = world.backend.watch();
    assert!(matches!(next(&mut events).await, BackendEvent::Snapshot(_)));
    let mut link = world.open(&sandbox, &["sh", "-c", "trap '' HUP; sleep 1004 & echo left; exit 7"], SIZE).await;
    read_until(&mut link, "left").await;
    assert_eq!(tokio::time::timeout(PATIENCE, link.exit).await.expect("in time"), Some(7));
    assert_eq!(world.backend.evidence(sandbox).await.expect("evidence").processes, []);
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_program_leaves_behind_in_its_session_ends_with_it_on_docker() {
    leftovers("docker").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_program_leaves_behind_in_its_session_ends_with_it_on_podman() {
    leftovers("podman").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_the_writer_is_no_end_of_input() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox().await;
    let mut link = world.open(&sandbox, &["sh", "-c", "read -r line; echo \"ended $?\""], SIZE).await;
    drop(link.writer);
    let (code, out, _) = world.run(&sandbox, &["sh", "-c", "echo still there"]).await;
    assert_eq!((code, out.as_str()), (0, "still there\n"));
    assert_eq!(world.backend.evidence(sandbox).await.expect("evidence").processes.len(), 1, "it waits for its line");
    link.control.close().await.expect("closed");
    let mut rest = String::new();
    link.reader.read_to_string(&mut rest).await.expect("text");
    assert_eq!(rest, "");
    world.cleaner.end().await;
}
