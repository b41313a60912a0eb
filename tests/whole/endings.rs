//! The end of the host.

use crate::harness::{Build, CLIENT, World, ended, ephemeral, others, persistent, until};
use hermes_tui::app::{ClientCaps, Role};
use hermes_tui::backend::BackendError;
use hermes_tui::backend::fake::Op;
use hermes_tui::domain::{Answer, FailureKind, RefusalKind, Request, SandboxState, Size, Span};
use hermes_tui::runtime::handle::HostHandle;
use hermes_tui::runtime::inbound::Inbound;
use hermes_tui::runtime::screen::ClientScreen;
use hermes_tui::ui::{ColourDepth, Style, Theme};

const SHUTDOWN: Request = Request::Shutdown { keep: false };

#[tokio::test]
async fn ephemeral_ones_are_removed_and_persistent_ones_stopped_then_it_answers_and_ends() {
    let mut world = World::new().await;
    let kept = world.new_env(persistent(300)).await;
    let gone = world.new_env(ephemeral()).await;
    world.open(&kept, "cat").await;
    world.backend.hold(Op::Remove);
    let answer = world.ask_later(SHUTDOWN).await;
    world.held_back().await;
    others().await;
    assert!(!answer.is_finished() && !world.host.is_finished(), "the removal is awaited");
    let late = world.ask(Request::Pin(kept.clone())).await.expect_err("too late");
    assert!(late.message.contains("shutting down"), "{late:?}");
    world.backend.release(Op::Remove);
    assert_eq!(answer.await.expect("no panic"), Ok(Answer::Done));
    let report = ended(&mut world.host).await;
    assert_eq!(report.len(), 2, "{report:?}");
    assert_eq!(world.backend.sandbox_of(&kept).map(|s| s.state), Some(SandboxState::Stopped));
    assert_eq!(world.backend.sandbox_of(&gone), None);
    assert!(world.handle.has_ended());
    world.assert_correct();
}

#[tokio::test]
async fn a_terminal_that_leaves_with_its_session_does_not_cut_the_end_short() {
    let mut world = World::new().await;
    let shown = world.new_env(ephemeral()).await;
    let session = world.open(&shown, "cat").await;
    let caps = ClientCaps { colours: 256, unicode: true };
    let style = Style::new(&Theme::dark(), ColourDepth::from_count(256), true);
    let screen = ClientScreen::new(Size::default(), caps, style, Box::new(|_| true));
    let client = HostHandle::new_client();
    world.handle.attach(client, screen, Role::Guest, Some(session.clone())).await;
    world.backend.hold(Op::Remove);
    let answer = world.ask_later(SHUTDOWN).await;
    world.held_back().await;
    world.pty(&session).end(0);
    let left =
        async || world.handle.read(move |model, _| !model.clients.contains_key(&client)).await.ok()?.then_some(());
    until("the terminal to leave", left).await;
    others().await;
    assert!(!answer.is_finished() && !world.host.is_finished(), "the removal is awaited");
    world.backend.release(Op::Remove);
    assert_eq!(answer.await.expect("no panic"), Ok(Answer::Done));
    ended(&mut world.host).await;
    assert_eq!(world.backend.sandbox_of(&shown), None);
}

#[tokio::test]
async fn keep_leaves_everything_running() {
    let mut world = World::new().await;
    let env = world.new_env(ephemeral()).await;
    assert_eq!(world.ask(Request::Shutdown { keep: true }).await, Ok(Answer::Done));
    ended(&mut world.host).await;
    assert_eq!(world.backend.sandbox_of(&env).map(|s| s.state), Some(SandboxState::Running));
}

#[tokio::test]
async fn a_removal_that_fails_is_named_and_does_not_keep_the_host() {
    let mut world = World::new().await;
    world.new_env(ephemeral()).await;
    for _ in 0..3 {
        world.backend.fail_next(Op::Remove, BackendError::new(FailureKind::Permanent, "device busy", ""));
    }
    let refusal = world.ask(SHUTDOWN).await.expect_err("it says so");
    assert!(refusal.kind == RefusalKind::Failed && refusal.message.contains("device busy"), "{refusal:?}");
    let report = ended(&mut world.host).await;
    assert!(report.iter().any(|line| line.contains("device busy")), "{report:?}");
}

#[tokio::test]
async fn a_removal_that_hangs_does_not_keep_the_host_for_ever() {
    let mut world = World::new().await;
    world.new_env(ephemeral()).await;
    world.backend.hold(Op::Remove);
    let answer = world.ask_later(SHUTDOWN).await;
    world.held_back().await;
    world.clock.advance(Span::seconds(29));
    others().await;
    assert!(!world.host.is_finished());
    world.clock.advance(Span::seconds(1));
    let refusal = answer.await.expect("no panic").expect_err("it says so");
    assert!(refusal.message.contains("did not answer in time"), "{refusal:?}");
    ended(&mut world.host).await;
}

#[tokio::test]
async fn a_signal_ends_it_in_order_also_when_it_comes_twice() {
    let mut world = World::new().await;
    let env = world.new_env(ephemeral()).await;
    world.backend.hold(Op::Remove);
    world.handle.terminate().await;
    world.held_back().await;
    world.handle.terminate().await;
    others().await;
    assert!(!world.host.is_finished(), "the second one does not cut the first short");
    world.backend.release(Op::Remove);
    ended(&mut world.host).await;
    assert_eq!((world.backend.sandbox_of(&env), world.asked("remove")), (None, 1));
    world.assert_correct();
}

#[tokio::test]
async fn a_signal_does_not_wait_for_ever() {
    let mut world = World::new().await;
    world.new_env(ephemeral()).await;
    world.backend.hold(Op::Remove);
    world.handle.terminate().await;
    world.held_back().await;
    world.clock.advance(Span::seconds(20));
    let report = ended(&mut world.host).await;
    assert!(report.iter().any(|line| line.contains("not everything ended in time")), "{report:?}");
}

#[tokio::test]
async fn a_terminal_that_is_gone_ends_the_host_in_order() {
    let (mut world, env, _) = World::with_shell().await;
    world.inbox.send(Inbound::Gone(CLIENT)).await;
    ended(&mut world.host).await;
    assert_eq!(world.backend.sandbox_of(&env).map(|s| s.state), Some(SandboxState::Stopped));
    world.assert_correct();
}

#[tokio::test]
async fn what_is_still_being_made_is_ended_too() {
    let mut world = World::new().await;
    world.backend.hold(Op::Provision);
    let request = world.turn("c1", ephemeral());
    let turn = world.ask_later(request).await;
    world.held_back().await;
    let answer = world.ask_later(SHUTDOWN).await;
    assert!(turn.await.expect("no panic").is_err(), "nobody is served any more");
    world.backend.release(Op::Provision);
    assert_eq!(answer.await.expect("no panic"), Ok(Answer::Done));
    ended(&mut world.host).await;
    assert_eq!(world.asked("remove"), 1);
    world.assert_correct();
}

fn for_a_need() -> Build<'static> {
    Build { leaves: true, screen: false, ..Build::default() }
}

#[tokio::test]
async fn a_host_with_nothing_left_ends_by_itself_and_not_before() {
    let mut world = for_a_need().world().await;
    let env = world.new_env(persistent(300)).await;
    world.pass(Span::seconds(290)).await;
    assert!(!world.host.is_finished(), "its environment lives");
    // The idle deadline stops it, and 30 s later there is nothing to host.
    world.pass(Span::seconds(20)).await;
    assert_eq!(world.backend.sandbox_of(&env).map(|s| s.state), Some(SandboxState::Stopped));
    world.pass(Span::seconds(25)).await;
    assert!(!world.host.is_finished(), "somebody may come back");
    world.clock.advance(Span::seconds(10));
    ended(&mut world.host).await;
}

#[tokio::test]
async fn a_host_stays_for_a_connection_a_client_or_because_it_was_started_to_stay() {
    let mut world = for_a_need().world().await;
    world.handle.connected(true).await;
    world.settle().await;
    world.pass(Span::seconds(100)).await;
    assert!(!world.host.is_finished(), "somebody is connected");
    world.handle.connected(false).await;
    world.settle().await;
    world.clock.advance(Span::seconds(31));
    ended(&mut world.host).await;

    let mut stays = World::new().await;
    stays.pass(Span::seconds(1000)).await;
    assert!(!stays.host.is_finished(), "a terminal shows it");
    stays.inbox.send(Inbound::Gone(CLIENT)).await;
    ended(&mut stays.host).await;
}
