//! Sandboxes that are slow, fail, or change behind the host's back.

use crate::harness::{World, in_time, others, persistent};
use hermes_tui::backend::BackendError;
use hermes_tui::backend::fake::Op;
use hermes_tui::domain::{
    EnvId, FailureKind, Generation, NoticeKind, Phase, RefusalKind, Request, SessionState, Span, VerdictKind,
};

fn failure(kind: FailureKind, text: &str) -> BackendError {
    BackendError::new(kind, text, "look at it")
}

#[tokio::test]
async fn an_endpoint_that_is_down_freezes_its_environments_until_it_is_back() {
    let mut world = World::new().await;
    let env = world.new_env(persistent(300)).await;
    world.backend.go_down("nobody listens on the socket");
    world.until("the endpoint to be down", |state| (!state.down.is_empty()).then_some(())).await;
    let shown = world.see("nobody listens on the socket").await;
    assert!(!shown.contains("next reap"), "what is frozen is not announced:\n{shown}");
    world.pass(Span::hours(2)).await;
    let now = world.clock.now();
    assert_eq!(world.state().await.verdict(now, &env).map(|v| v.kind), Some(VerdictKind::Frozen));
    assert_eq!((world.asked("evidence"), world.asked("stop")), (0, 0));
    assert_eq!(world.env(&env).await.phase, Phase::Ready);
    world.backend.come_up();
    world.until("the endpoint to be up", |s| (s.down.is_empty() && s.unlisted.is_empty()).then_some(())).await;
    world.settle().await;
    assert_eq!(world.told(NoticeKind::EndpointUp).await.len(), 1);
    world.pass(Span::seconds(60)).await;
    world.until_phase(&env, Phase::Stopped).await;
    world.assert_correct();
}

#[tokio::test]
async fn a_sandbox_removed_outside_keeps_its_last_screen_and_is_remade_by_one_key() {
    let (mut world, env, session) = World::with_shell().await;
    world.pty(&session).output(b"precious last words\r\n");
    world.see("precious last words").await;
    let sandbox = world.env(&env).await.sandbox.expect("a sandbox");
    world.backend.end_outside(&sandbox, true, "removed with docker rm");
    world.until_phase(&env, Phase::Lost).await;
    let shown = world.see("removed with docker rm").await;
    assert!(shown.contains("precious last words"), "{shown}");
    world.pass(Span(500)).await;
    world.keys("r").await;
    world.until_phase(&env, Phase::Ready).await;
    let new = world.running_session().await;
    assert_ne!(new, session);
    world.typed("hello").await;
    world.see("hello").await;
    assert_eq!(world.env(&env).await.generation, Generation(2));
    world.assert_correct();
}

#[tokio::test]
async fn a_failed_start_is_shown_and_tried_again_with_back_off_while_held() {
    let mut world = World::new().await;
    for text in ["no space left", "still no space"] {
        world.backend.fail_next(Op::Provision, failure(FailureKind::Temporary, text));
    }
    let env = EnvId::new("e1");
    let request = Request::NewEnvironment { id: env.clone(), name: None, spec: Box::new(persistent(300)) };
    let refusal = world.ask(request).await.expect_err("it fails");
    assert_eq!((refusal.kind, refusal.message.as_str()), (RefusalKind::Failed, "no space left"));
    world.see("no space left").await;
    world.ask(Request::Pin(env.clone())).await.expect("pinned");
    world.settle().await;
    let retry = world.env(&env).await.failure.and_then(|f| f.retry_at).expect("a next try");
    world.pass(Span(retry.since(world.clock.now()).0 - 1)).await;
    assert_eq!(world.asked("provision"), 1);
    world.pass(Span(1)).await;
    assert_eq!(world.asked("provision"), 2);
    let failed = world.env(&env).await;
    let wait = failed.failure.expect("again").retry_at.expect("a third try").since(world.clock.now());
    assert_eq!(wait, Span::seconds(10), "twice as long");
    world.pass(wait).await;
    assert_eq!(world.env(&env).await.phase, Phase::Ready);
    world.assert_correct();
}

#[tokio::test]
async fn a_slow_start_moves_on_the_screen_and_leaves_no_progress_behind() {
    let mut world = World::new().await;
    world.backend.hold(Op::Provision);
    world.keys("n").await;
    world.held_back().await;
    let first = world.see("starting").await;
    world.clock.advance(Span(250));
    world.see_that("a throbber that moved", |text| text != first).await;
    world.backend.release(Op::Provision);
    world.running_session().await;
    world.settle().await;
    let progress = world.handle.read(|model, _| model.work.progress.len()).await.expect("the host runs");
    assert_eq!(progress, 0, "what was said while it was slow is gone");
}

#[tokio::test]
async fn a_session_that_cannot_be_opened_says_why() {
    let mut world = World::new().await;
    world.backend.fail_next(Op::Attach, failure(FailureKind::Permanent, "there is no shell in the image"));
    world.keys("n").await;
    world.see("there is no shell in the image").await;
    world.pass(Span(500)).await;
    world.keys("r").await;
    world.running_session().await;
    world.assert_correct();
}

#[tokio::test]
async fn a_session_killed_before_it_is_open_is_closed_once_it_is() {
    let mut world = World::new().await;
    let env = world.new_env(persistent(300)).await;
    world.backend.hold(Op::Attach);
    let (session, request) = world.open_request(&env, "cat");
    let opening = world.ask_later(request).await;
    world.held_back().await;
    world.ask(Request::KillSession(session.clone())).await.expect("killed");
    assert!(opening.await.expect("no panic").is_err(), "whoever opened it is told");
    world.backend.release(Op::Attach);
    let pty = in_time("the backend", world.backend.wait_pty(&session)).await;
    crate::harness::until("its end", async || pty.is_closed().then_some(())).await;
    world.settle().await;
    assert!(matches!(world.state().await.sessions[&session].state, SessionState::Ended { .. }));
    world.assert_correct();
}

#[tokio::test]
async fn a_session_forgotten_while_it_is_opened_is_closed_once_it_is_open() {
    use hermes_tui::app::Msg;
    use hermes_tui::domain::Event;
    let mut world = World::new().await;
    let env = world.new_env(persistent(300)).await;
    world.backend.hold(Op::Attach);
    let (session, request) = world.open_request(&env, "cat");
    let _opening = world.ask_later(request).await;
    world.held_back().await;
    world.msg(Msg::Domain(Event::SessionEnded { session: session.clone(), exit_code: None })).await;
    world.msg(Msg::Domain(Event::SessionForgotten(session.clone()))).await;
    world.backend.release(Op::Attach);
    let pty = in_time("the backend", world.backend.wait_pty(&session)).await;
    crate::harness::until("its end", async || pty.is_closed().then_some(())).await;
}

#[tokio::test]
async fn a_session_whose_sandbox_ends_while_it_is_opened_is_over() {
    let mut world = World::new().await;
    let env = world.new_env(persistent(300)).await;
    let sandbox = world.env(&env).await.sandbox.expect("a sandbox");
    world.backend.hold(Op::Attach);
    let (session, request) = world.open_request(&env, "cat");
    let opening = world.ask_later(request).await;
    world.held_back().await;
    world.backend.end_outside(&sandbox, false, "the machine stopped it");
    let refusal = opening.await.expect("no panic").expect_err("it cannot be opened");
    assert!(refusal.message.contains("the machine stopped it"), "{refusal:?}");
    world.backend.release(Op::Attach);
    world.settle().await;
    assert!(matches!(world.state().await.sessions[&session].state, SessionState::Ended { .. }));
    let again = world.open(&env, "cat").await;
    others().await;
    assert_eq!(world.state().await.sessions[&again].state, SessionState::Running);
}

#[tokio::test]
async fn the_size_follows_the_terminal() {
    use crate::harness::CLIENT;
    use hermes_tui::app::Msg;
    use hermes_tui::domain::Size;
    let (world, _, session) = World::with_shell().await;
    let pty = world.pty(&session);
    let before = pty.sizes();
    assert_eq!(before.len(), 1, "right from the first byte");
    world.msg(Msg::ClientResized { client: CLIENT, size: Size { rows: 20, cols: 90 } }).await;
    world.settle().await;
    let after = *pty.sizes().last().expect("a size");
    assert!(after.rows < before[0].rows && after.cols < before[0].cols, "{before:?} {after:?}");
}

#[tokio::test]
async fn a_storm_of_sizes_ends_with_the_last_one_and_asks_for_none_twice() {
    use crate::harness::CLIENT;
    use hermes_tui::app::Msg;
    use hermes_tui::domain::Size;
    let (world, _, session) = World::with_shell().await;
    let pty = world.pty(&session);
    for n in 0..30u16 {
        let size = Size { rows: 20 + n % 7, cols: 90 + n };
        world.msg(Msg::ClientResized { client: CLIENT, size }).await;
    }
    world.settle().await;
    let told = world.state().await.sessions[&session].size;
    pty.wait_size(told).await;
    let sizes = pty.sizes();
    assert_eq!(sizes.last(), Some(&told));
    assert!(sizes.len() <= 31 && sizes.windows(2).all(|two| two[0] != two[1]), "{sizes:?}");
}
