//! What people type and paste, also into programs that do not read.

use crate::harness::{World, in_time, until};
use hermes_tui::domain::{Request, Span};

#[tokio::test]
async fn a_typed_command_is_echoed() {
    let (mut world, _, session) = World::with_shell().await;
    world.typed("ls -la").await;
    world.see("ls -la").await;
    assert_eq!(world.pty(&session).written(), b"ls -la");
    world.assert_correct();
}

#[tokio::test]
async fn the_echo_of_a_key_waits_for_no_frame() {
    let (mut world, _, _) = World::with_shell().await;
    world.typed("quiet").await;
    world.see("quiet").await;
    // Now a key also moves the countdown: the screen changes before the echo, and by it.
    world.pass(Span::seconds(7)).await;
    until("frames to end", async || (!world.take_frames().await).then_some(())).await;
    world.typed("Q").await;
    for _ in 0..5 {
        world.settle().await;
        world.take_frames().await;
    }
    assert!(world.shown().contains("quietQ"), "no time has passed:\n{}", world.shown());
}

#[tokio::test]
async fn the_echo_of_a_key_does_not_wait_until_the_terminal_took_the_frame_before() {
    let (mut world, _, _) = World::with_shell().await;
    world.typed("quiet").await;
    world.see("quiet").await;
    until("frames to end", async || (!world.take_frames().await).then_some(())).await;
    for (key, shown) in [("Q", "quietQ"), ("W", "quietQW")] {
        world.typed(key).await;
        world.settle().await;
        assert_eq!(world.look_at_frames(), 1);
        assert!(world.shown().contains(shown), "{}", world.shown());
    }
    world.typed("E").await;
    world.settle().await;
    assert_eq!(world.look_at_frames(), 0, "a terminal that takes nothing costs no memory");
}

#[tokio::test]
async fn a_paste_waits_for_a_program_that_does_not_read_and_arrives_whole() {
    let (mut world, _, session) = World::with_shell().await;
    let pty = world.pty(&session);
    pty.set_deaf(true);
    let text: String = (0..5 << 20).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    world.paste(text.clone()).await;
    world.typed("Z").await;
    world.settle().await;
    assert_eq!(pty.written().len(), 0);
    world.keys("C-b ?").await;
    world.see("help").await;
    pty.set_deaf(false);
    in_time("the backend", pty.wait_written(|written| written.len() > text.len())).await;
    let written = pty.written();
    assert!(written.starts_with(text.as_bytes()) && written.ends_with(b"Z"), "{} bytes", written.len());
}

#[tokio::test]
async fn more_than_can_wait_is_refused_with_a_sentence() {
    let (mut world, _, session) = World::with_shell().await;
    let pty = world.pty(&session);
    pty.set_deaf(true);
    let text = "x".repeat(15 << 20);
    for _ in 0..3 {
        world.paste(text.clone()).await;
    }
    world.see("input refused").await;
    let refusal = world.handle.send_keys(session.clone(), vec![b'y'; 3 << 20]).await.expect_err("too much waits");
    assert!(refusal.message.contains("30 MiB"), "{refusal:?}");
    pty.set_deaf(false);
    in_time("the backend", pty.wait_written(|written| written.len() >= 30 << 20)).await;
    world.settle().await;
    assert_eq!(pty.written().len(), 30 << 20, "the third was refused, not cut");
    let refusal = world.handle.send_keys(session.clone(), vec![b'y'; 40 << 20]).await.expect_err("too much at once");
    assert!(refusal.message.contains("40 MiB at once"), "{refusal:?}");
    world.handle.send_keys(session, b"k".to_vec()).await.expect("it reads again");
}

#[tokio::test]
async fn typing_into_what_is_not_there_is_refused() {
    let (world, _, session) = World::with_shell().await;
    world.ask(Request::KillSession(session.clone())).await.expect("killed");
    assert!(world.handle.send_keys(session, b"x".to_vec()).await.is_err());
    let unknown = hermes_tui::domain::SessionId::new("unknown");
    assert!(world.handle.send_keys(unknown, b"x".to_vec()).await.is_err());
}

#[tokio::test]
async fn a_closed_pane_ends_its_program() {
    let (mut world, _, session) = World::with_shell().await;
    let pty = world.pty(&session);
    world.keys("C-b x").await;
    world.see("Close").await;
    world.keys("x").await;
    until("its end", async || pty.is_closed().then_some(())).await;
    world.until("its row to go", |state| (!state.sessions.contains_key(&session)).then_some(())).await;
}
