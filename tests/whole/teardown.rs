//! Between the decision to end a sandbox and the deed: what is not as expected is left alone.

use crate::harness::{World, persistent};
use hermes_tui::backend::fake::{FakeBackend, Op};
use hermes_tui::domain::{EnvId, Generation, NoticeKind, Phase, SandboxId, Span};

/// A host whose teardown of one environment has been decided and is about to look once more.
async fn decided() -> (World, EnvId, SandboxId) {
    let mut world = World::new().await;
    let env = world.new_env(persistent(300)).await;
    let sandbox = world.env(&env).await.sandbox.expect("a sandbox");
    world.backend.hold(Op::Inspect);
    world.clock.advance(Span::seconds(300));
    world.until_phase(&env, Phase::Reaping).await;
    world.held_back().await;
    (world, env, sandbox)
}

async fn is_left_alone(world: &mut World, env: &EnvId, sentence: &str) {
    world.backend.release(Op::Inspect);
    let spared = world.until_phase(env, Phase::Ready).await;
    let told = world.told(NoticeKind::TeardownFailed).await;
    assert!(told.len() == 1 && told[0].contains(sentence), "{told:?}");
    assert_eq!((world.asked("stop"), world.asked("remove")), (0, 0));
    assert!(spared.failure.is_some_and(|f| f.message.contains(sentence)));
    world.see(sentence).await;
    let before = world.asked("inspect");
    world.pass(Span::seconds(1)).await;
    assert_eq!(world.asked("inspect"), before, "it is not tried again at once");
}

#[tokio::test]
async fn a_process_that_appeared_meanwhile_is_spared() {
    let (mut world, env, sandbox) = decided().await;
    let now = world.clock.now();
    world.backend.set_evidence(&sandbox, Some(FakeBackend::process(7, "vim notes", now)));
    is_left_alone(&mut world, &env, "vim notes (pid 7) runs in it now").await;
}

#[tokio::test]
async fn a_sandbox_that_was_started_again_meanwhile_is_spared() {
    let (mut world, env, sandbox) = decided().await;
    world.backend.alter(&sandbox, |found| found.generation = Generation(9));
    is_left_alone(&mut world, &env, "was started again meanwhile").await;
}

#[tokio::test]
async fn a_sandbox_of_another_environment_is_spared() {
    let (mut world, env, sandbox) = decided().await;
    world.backend.alter(&sandbox, |found| found.env = EnvId::new("other"));
    is_left_alone(&mut world, &env, "is now that of environment other").await;
}

#[tokio::test]
async fn one_that_is_gone_already_counts_as_ended() {
    let (world, env, sandbox) = decided().await;
    world.backend.end_outside(&sandbox, true, "removed by hand");
    world.backend.release(Op::Inspect);
    world
        .until("its end", |state| {
            state.environments.get(&env).filter(|e| matches!(e.phase, Phase::Stopped | Phase::Absent)).map(drop)
        })
        .await;
    world.assert_correct();
}

#[tokio::test]
async fn a_failed_stop_is_shown_and_tried_again_with_back_off() {
    use hermes_tui::backend::BackendError;
    use hermes_tui::domain::FailureKind;
    let mut world = World::new().await;
    let env = world.new_env(persistent(300)).await;
    world.backend.fail_next(Op::Stop, BackendError::new(FailureKind::Temporary, "the engine is busy", ""));
    world.pass(Span::seconds(300)).await;
    assert_eq!(world.env(&env).await.phase, Phase::Ready);
    world.see("the engine is busy").await;
    world.pass(Span::seconds(6)).await;
    assert_eq!(world.env(&env).await.phase, Phase::Stopped);
    assert_eq!(world.asked("stop"), 2);
    world.assert_correct();
}
