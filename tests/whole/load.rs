//! Much at once: output, environments, followers; and nothing at all.

use crate::harness::{Build, World, in_time, others, persistent, until};
use hermes_tui::domain::{EnvId, NoticeKind, Phase, Request, Span};
use hermes_tui::runtime::inbound::Inbound;

/// One message of output holds at most this much; this many wait; one more is in a reader's hands.
const PIECE: usize = 64 * 1024;
const WAITING: usize = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_beside_a_typed_pane_delays_its_echo_by_a_few_frames_only() {
    let (mut world, env, quiet) = World::with_shell().await;
    let loud = world.open(&env, "yes").await;
    let line = b"all work and no play makes a dull pane\r\n";
    let total = 50 << 20;
    let flood: Vec<u8> = line.iter().copied().cycle().take(total).collect();
    world.pty(&loud).output(&flood);
    world.take_frames().await;
    let before = world.frames;
    world.typed("k").await;
    while !world.shown().contains('k') || world.pty(&quiet).written() != b"k" {
        world.clock.advance(Span(16));
        world.handle.read(|_, _| ()).await.expect("the host runs");
        world.take_frames().await;
        assert!(world.frames - before < 20, "still no echo:\n{}", world.shown());
        tokio::task::yield_now().await;
    }
    assert!(world.pty(&loud).unread() > total / 2, "the echo came while the flood was on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_floods_leave_a_third_pane_its_echo_its_size_and_memory_its_bound() {
    use crate::harness::CLIENT;
    use hermes_tui::app::Msg;
    use hermes_tui::domain::Size;
    let (mut world, env, quiet) = World::with_shell().await;
    let (yes, random) = (world.open(&env, "yes").await, world.open(&env, "base64").await);
    let total = 40 << 20;
    world.pty(&yes).output(&b"y\r\n".iter().copied().cycle().take(total).collect::<Vec<u8>>());
    // No line ends and every sign a new one, as of random bytes.
    let mut seed = 1u64;
    let mut sign = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b'+' + (seed >> 58) as u8
    };
    world.pty(&random).output(&(0..total).map(|_| sign()).collect::<Vec<u8>>());
    world.take_frames().await;
    let before = world.frames;
    let size = Size { rows: 30, cols: 100 };
    world.msg(Msg::ClientResized { client: CLIENT, size }).await;
    world.typed("k").await;
    while world.pty(&quiet).written() != b"k" || !world.shown().contains('k') {
        world.clock.advance(Span(16));
        let memory = world
            .handle
            .read(|model, _| model.work.screens.values().map(hermes_tui::term::Screen::memory_bytes).sum::<usize>());
        let memory = memory.await.expect("the host runs");
        assert!(memory < 96 << 20, "{} MiB of screens", memory >> 20);
        world.take_frames().await;
        assert!(world.frames - before < 20, "still no echo:\n{}", world.shown());
        tokio::task::yield_now().await;
    }
    assert!(world.pty(&yes).unread() > 0 && world.pty(&random).unread() > 0, "the echo came while both were on");
    let told = world.state().await.sessions[&quiet].size;
    in_time("the size", world.pty(&quiet).wait_size(told)).await;
    assert!(told.rows < 30 && told.cols < 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_busy_loop_is_bounded() {
    let (mut world, env, _) = World::with_shell().await;
    let loud = world.open(&env, "yes").await;
    world.settle().await;
    let (go, wait) = std::sync::mpsc::channel::<()>();
    world.inbox.send(Inbound::Read(Box::new(move |_, _| wait.recv().unwrap_or_default()))).await;
    let total = 8 << 20;
    let pty = world.pty(&loud);
    pty.output(&vec![b'y'; total]);
    let most = (WAITING + 1) * PIECE;
    until("the queue to fill", async || (total - pty.unread() >= most).then_some(())).await;
    others().await;
    assert_eq!(total - pty.unread(), most, "the reader waits");
    go.send(()).expect("the loop goes on");
    until("the rest", async || (pty.unread() == 0).then_some(())).await;
}

#[tokio::test]
async fn a_thousand_environments_due_at_once_are_all_ended_at_once() {
    let mut world = Build { screen: false, ..Build::default() }.world().await;
    let mut made = Vec::new();
    for n in 0..1000 {
        let id = EnvId::new(format!("e{n}"));
        let name = Some(format!("env-{n}"));
        made.push(world.ask_later_quickly(Request::NewEnvironment { id, name, spec: Box::new(persistent(300)) }));
    }
    for one in made {
        one.await.expect("no panic").expect("made");
    }
    world.clock.advance(Span(299_999));
    world.until("all to be warned of", |state| state.environments.values().all(|env| env.warned).then_some(())).await;
    assert_eq!(world.asked("stop"), 0);
    world.clock.advance(Span(1));
    let due = world.clock.now();
    world
        .until("all to be stopped", |state| {
            state.environments.values().all(|env| env.phase == Phase::Stopped).then_some(())
        })
        .await;
    assert_eq!(world.clock.now(), due, "no time passed");
    assert_eq!(world.asked("stop"), 1000);
    assert_eq!(world.told(NoticeKind::TeardownFailed).await, Vec::<String>::new());
    world.assert_correct();
}

#[tokio::test]
async fn with_nothing_to_do_the_loop_sleeps() {
    let (mut world, env, session) = World::with_shell().await;
    world.typed("x").await;
    world.see("x").await;
    world.backend.go_down("gone");
    world.until("the endpoint to be down", |state| (!state.down.is_empty()).then_some(())).await;
    world.clock.advance(Span::hours(1));
    world.settle().await;
    world.take_frames().await;
    let before = world.settle().await;
    for _ in 0..200 {
        others().await;
    }
    let after = world.settle().await;
    // Both looks of `settle` wake it; nothing else does.
    assert!(after - before <= 4, "woken {} times", after - before);
    assert_eq!(world.env(&env).await.phase, Phase::Ready, "overdue and frozen");
    assert!(!world.pty(&session).has_ended());
}

#[tokio::test]
async fn a_terminal_that_takes_no_frames_costs_none_and_delays_nobody() {
    let (world, env, session) = World::with_shell().await;
    for n in 0..100 {
        world.pty(&session).output(format!("line {n}\r\n\x07").as_bytes());
        world.pass(Span(20)).await;
    }
    assert_eq!(world.env(&env).await.phase, Phase::Ready);
    assert!(world.waiting_frames() <= 1);
}

#[tokio::test]
async fn a_follower_hears_everything_in_order_and_a_slow_one_is_dropped() {
    let mut world = World::new().await;
    let env = world.new_env(persistent(300)).await;
    let mut slow = world.handle.follow(None).await.coming;
    for _ in 0..600 {
        world.ask(Request::Pin(env.clone())).await.expect("pinned");
        world.ask(Request::Unpin(env.clone())).await.expect("unpinned");
        world.happened().await;
    }
    let seqs: Vec<u64> = world.happened().await.iter().map(|h| h.seq).collect();
    assert!(seqs.len() >= 1200);
    assert!(seqs.iter().zip(1..).all(|(seq, n)| *seq == n), "none is missing, none comes twice");
    let mut heard = 0;
    while slow.recv().await.is_some() {
        heard += 1;
    }
    assert_eq!(heard, 1024, "what had room, then its end");
    let again = world.handle.follow(seqs.last().map(|last| last - 5)).await;
    assert_eq!(again.past.len(), 5, "one that comes back gets what it missed");
}
