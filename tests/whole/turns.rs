//! A conversation's turns and the reaper, from the first command to the next start.

use crate::harness::{Run, START, World, in_time, persistent};
use hermes_tui::backend::fake::{ExecScript, FakeBackend};
use hermes_tui::domain::{Generation, NoticeKind, Phase, Span, VerdictKind};

#[tokio::test]
async fn a_turn_from_begin_to_the_next_start() {
    let mut world = World::new().await;
    let (env, session) = world.begin_turn("c1", persistent(300)).await;
    let first = world.env(&env).await;
    assert_eq!((first.phase, first.deadline), (Phase::Ready, None), "held by its turn");
    world.pty(&session).output(b"the agent was here\r\n");
    world.backend.script(&["make"], ExecScript { stdout: b"built\n".to_vec(), exit: Some(0), ..ExecScript::default() });
    let run = Run { conversation: Some("c1"), ..Run::of(&["make"]) };
    let outcome = world.exec(run).await.outcome().await;
    assert_eq!((outcome.out.as_slice(), outcome.code), (&b"built\n"[..], 0));
    world.see("the agent was here").await;
    world.see("built").await;
    world.end_turn("c1").await;
    let ended = world.clock.now();
    assert_eq!(world.env(&env).await.deadline, Some(ended + Span::seconds(300)), "the clock starts, nothing else");

    world.pass(Span(240_000 - 1)).await;
    assert_eq!(world.told(NoticeKind::EnvWarned).await, Vec::<String>::new());
    world.pass(Span(1)).await;
    assert_eq!(world.told(NoticeKind::EnvWarned).await.len(), 1, "60 s before the deadline");
    world.pass(Span(60_000 - 1)).await;
    assert_eq!((world.asked("evidence"), world.asked("stop")), (1, 0), "looked for the warning, never ended before");
    world.pass(Span(1)).await;
    assert_eq!(world.env(&env).await.phase, Phase::Stopped);
    assert_eq!((world.asked("evidence"), world.asked("inspect"), world.asked("stop")), (3, 1, 1));
    let shown = world.see("idle").await;
    assert!(shown.contains("the agent was here"), "the last screen is kept:\n{shown}");

    let (again, new_session) = world.begin_turn("c1", persistent(300)).await;
    assert_eq!(again, env, "found again");
    assert_ne!(new_session, session, "sessions belong to one generation");
    let third = world.env(&env).await;
    assert_eq!((third.phase, third.generation), (Phase::Ready, Generation(2)));
    assert_eq!(third.sandbox, first.sandbox, "started, not made anew");
    world.end_turn("c1").await;
    let (third, _) = world.begin_turn("c1", persistent(300)).await;
    assert_eq!(third, env);
    assert_eq!((world.asked("provision"), world.asked("start"), world.asked("stop")), (1, 1, 1));
    world.assert_correct();
}

#[tokio::test]
async fn a_short_idle_time_warns_at_half_of_it() {
    let mut world = World::new().await;
    let env = world.new_env(persistent(10)).await;
    world.pass(Span(4_999)).await;
    assert!(world.told(NoticeKind::EnvWarned).await.is_empty());
    world.pass(Span(1)).await;
    assert_eq!(world.told(NoticeKind::EnvWarned).await.len(), 1);
    assert_eq!(world.env(&env).await.deadline, Some(START + Span::seconds(10)));
}

#[tokio::test]
async fn a_process_found_before_the_warning_holds_and_nobody_is_warned() {
    let mut world = World::new().await;
    let env = world.new_env(persistent(10)).await;
    let sandbox = world.env(&env).await.sandbox.expect("a sandbox");
    world.backend.set_evidence(&sandbox, Some(FakeBackend::process(42, "sleep 300", world.clock.now())));
    for n in 1..=4 {
        world.pass(Span::seconds(5)).await;
        let held = world.env(&env).await;
        assert_eq!(held.deadline, Some(START + Span::seconds(5 * n + 10)));
        assert!(held.holders().iter().any(|h| h.kind == "process" && h.detail.contains("sleep 300")));
    }
    assert!(world.told(NoticeKind::EnvWarned).await.is_empty());
    world.backend.set_evidence(&sandbox, None);
    world.pass(Span::seconds(5)).await;
    assert_eq!(world.told(NoticeKind::EnvWarned).await.len(), 1, "once it is gone");
    world.pass(Span::seconds(5)).await;
    assert_eq!(world.env(&env).await.phase, Phase::Stopped);
    world.assert_correct();
}

#[tokio::test]
async fn a_process_found_at_the_deadline_holds_and_is_named() {
    let mut world = World::new().await;
    let env = world.new_env(persistent(300)).await;
    let sandbox = world.env(&env).await.sandbox.expect("a sandbox");
    let started = world.clock.now();
    world.backend.set_evidence(&sandbox, Some(FakeBackend::process(42, "make -j8", started)));
    world.pass(Span::seconds(300)).await;
    let held = world.env(&env).await;
    assert_eq!(held.phase, Phase::Ready);
    let holders = held.holders();
    assert!(holders.iter().any(|h| h.kind == "process" && h.detail.contains("make -j8")), "{holders:?}");
    let now = world.clock.now();
    assert_eq!(world.state().await.verdict(now, &env).map(|v| v.kind), Some(VerdictKind::Held));
    assert!(world.told(NoticeKind::EnvDeferred).await.iter().any(|t| t.contains("make -j8")));
    world.keys("e").await;
    world.see("make -j8").await;
    assert_eq!(world.asked("stop"), 0);
    world.backend.set_evidence(&sandbox, None);
    world.pass(Span::seconds(300)).await;
    assert_eq!(world.env(&env).await.phase, Phase::Stopped);
    world.assert_correct();
}

#[tokio::test]
async fn a_typed_key_moves_the_deadline() {
    let (mut world, env, session) = World::with_shell().await;
    let idle = world.env(&env).await.spec.idle;
    world.pass(Span(idle.0 - 1_000)).await;
    assert_eq!(world.told(NoticeKind::EnvWarned).await.len(), 1);
    world.typed("x").await;
    in_time("the backend", world.pty(&session).wait_written(|w| w == b"x")).await;
    world.pass(Span(1_000)).await;
    assert_eq!(world.env(&env).await.phase, Phase::Ready);
    let left = world.env(&env).await.deadline.expect("a deadline").since(world.clock.now());
    assert_eq!(left, Span(idle.0 - 1_000));
    assert_eq!(world.asked("evidence"), 1, "for the warning only");
}

#[tokio::test]
async fn after_a_jump_of_the_clock_nothing_is_judged_before_a_minute_and_a_fresh_look() {
    let mut world = World::new().await;
    let env = world.new_env(persistent(300)).await;
    world.settle().await;
    world.clock.jump(Span::hours(8));
    world.settle().await;
    assert_eq!(world.told(NoticeKind::ClockJumped).await.len(), 1);
    assert_eq!(world.asked("stop"), 0);
    world.pass(Span(59_999)).await;
    assert_eq!(world.asked("stop"), 0);
    let looks = world.asked("evidence");
    world.pass(Span(1)).await;
    assert_eq!(world.env(&env).await.phase, Phase::Stopped);
    assert!(world.asked("evidence") > looks, "a fresh look");
    world.assert_correct();
}
