//! Commands without a PTY.

use crate::harness::{Run, World, persistent, until};
use hermes_tui::backend::fake::{ExecScript, Op};
use hermes_tui::domain::{CallId, EnvId, Phase, Request, Span};
use hermes_tui::runtime::calls::SHELL_DIRECTORY;
use hermes_tui::runtime::calls::{ExecEvent, OUR_FAILURE, TIMED_OUT};
use std::time::Duration;

async fn world() -> (World, EnvId) {
    let mut world = World::new().await;
    let env = world.new_env(persistent(300)).await;
    (world, env)
}

/// The exit code that the core wrote down, once it did.
async fn code_of(world: &World, call: &CallId) -> i32 {
    world.until("the end of the command", |state| state.calls.get(call)?.exit_code).await
}

#[tokio::test]
async fn streams_come_apart_and_whole_with_the_exit_code() {
    let (mut world, env) = world().await;
    let script = ExecScript { stdout: b"out".to_vec(), stderr: b"err".to_vec(), exit: Some(3) };
    world.backend.script(&["both"], script);
    let running = world.exec(Run::in_env(&["both"], &env)).await;
    let call = running.call.clone();
    let outcome = running.outcome().await;
    assert!(outcome.started && outcome.note.is_none());
    assert_eq!((outcome.out.as_slice(), outcome.err.as_slice(), outcome.code), (&b"out"[..], &b"err"[..], 3));
    assert_eq!(world.state().await.calls[&call].exit_code, Some(3), "the core knows before whoever ran it");
}

#[tokio::test]
async fn input_reaches_the_command_and_its_end_too() {
    let (mut world, env) = world().await;
    let mut running = world.exec(Run::in_env(&["cat"], &env)).await;
    let stdin = running.stdin.take().expect("its input");
    for part in ["one ", "two"] {
        stdin.send(part.as_bytes().to_vec()).await.expect("taken");
    }
    drop(stdin);
    let outcome = running.outcome().await;
    assert_eq!((outcome.out.as_slice(), outcome.code), (&b"one two"[..], 0));
}

#[tokio::test]
async fn a_command_that_runs_too_long_is_ended_with_124() {
    let (mut world, env) = world().await;
    world.backend.script(&["sleep"], ExecScript::default());
    let run = Run { timeout: Some(Duration::from_millis(20)), ..Run::in_env(&["sleep"], &env) };
    let running = world.exec(run).await;
    let call = running.call.clone();
    let outcome = running.outcome().await;
    assert_eq!(outcome.code, TIMED_OUT);
    assert!(outcome.note.expect("a sentence").contains("0.02 s"));
    assert_eq!(code_of(&world, &call).await, TIMED_OUT);
    assert!(world.env(&env).await.leases.is_empty(), "it holds nothing any more");
}

#[tokio::test]
async fn the_time_runs_also_while_the_backend_does_not_start_it() {
    let (mut world, env) = world().await;
    world.backend.hold(Op::Exec);
    let run = Run { timeout: Some(Duration::from_millis(20)), ..Run::in_env(&["sleep"], &env) };
    let outcome = world.exec(run).await.outcome().await;
    assert_eq!((outcome.code, outcome.started), (TIMED_OUT, false));
    assert!(world.env(&env).await.leases.is_empty());
    world.backend.release(Op::Exec);
    world.settle().await;
}

#[tokio::test]
async fn a_killed_command_ends_with_the_signal() {
    let (mut world, env) = world().await;
    world.backend.script(&["sleep"], ExecScript::default());
    let mut running = world.exec(Run::in_env(&["sleep"], &env)).await;
    running.started().await;
    running.kill.cancel();
    assert_eq!(running.outcome().await.code, 143);
}

#[tokio::test]
async fn a_command_whose_runner_goes_away_is_ended() {
    let (mut world, env) = world().await;
    world.backend.script(&["sleep"], ExecScript::default());
    let mut running = world.exec(Run::in_env(&["sleep"], &env)).await;
    running.started().await;
    let call = running.call.clone();
    drop(running);
    assert_eq!(code_of(&world, &call).await, OUR_FAILURE);
    assert!(world.env(&env).await.leases.is_empty());
}

#[tokio::test]
async fn a_command_that_nobody_waits_for_any_more_is_not_begun() {
    for kill in [true, false] {
        let mut world = World::new().await;
        world.backend.hold(Op::Provision);
        let env = EnvId::new("e1");
        let request = Request::NewEnvironment { id: env.clone(), name: None, spec: Box::new(persistent(300)) };
        let _making = world.ask_later(request).await;
        let running = world.exec(Run::in_env(&["rm"], &env)).await;
        world.until("the command to wait", |state| state.calls.get(&running.call).map(drop)).await;
        let call = running.call.clone();
        if kill {
            running.kill.cancel();
            world.backend.release(Op::Provision);
            assert_eq!(running.outcome().await.code, 143);
        } else {
            drop(running);
            world.backend.release(Op::Provision);
            assert_eq!(code_of(&world, &call).await, OUR_FAILURE);
        }
        world.settle().await;
        assert_eq!(world.asked("exec"), 0, "{:?}", world.backend.log());
    }
}

#[tokio::test]
async fn a_command_ends_with_its_sandbox_and_both_sides_say_the_same() {
    let (mut world, env) = world().await;
    world.backend.script(&["sleep"], ExecScript::default());
    let sandbox = world.env(&env).await.sandbox.expect("a sandbox");
    let mut running = world.exec(Run::in_env(&["sleep"], &env)).await;
    running.started().await;
    let call = running.call.clone();
    world.backend.end_outside(&sandbox, true, "removed by hand");
    let outcome = running.outcome().await;
    assert_ne!(outcome.code, 0);
    assert_eq!(code_of(&world, &call).await, outcome.code);
}

#[tokio::test]
async fn a_command_that_waits_learns_that_its_sandbox_failed() {
    use hermes_tui::backend::BackendError;
    use hermes_tui::domain::FailureKind;
    let (mut world, env) = world().await;
    world.ask(Request::Stop { env: env.clone(), force: true }).await.expect("stopped");
    world.backend.fail_next(Op::Start, BackendError::new(FailureKind::Permanent, "the disk is full", "free some"));
    let mut running = world.exec(Run::in_env(&["make"], &env)).await;
    match running.told.recv().await {
        Some(ExecEvent::Refused(refusal)) => assert_eq!(refusal.message, "the disk is full"),
        Some(ExecEvent::Ended { note: Some(note), .. }) => assert!(note.contains("the disk is full"), "{note}"),
        other => panic!("not told why: {other:?}"),
    }
    assert_eq!(world.env(&env).await.phase, Phase::Failed);
}

#[tokio::test]
async fn a_large_output_arrives_whole_at_a_slow_reader() {
    let (mut world, env) = world().await;
    let all: Vec<u8> = (0..4_u32 << 20).map(|n| (n % 251) as u8).collect();
    world.backend.script(&["dump"], ExecScript { stdout: all.clone(), exit: Some(0), ..ExecScript::default() });
    let mut running = world.exec(Run { queue: 1, ..Run::in_env(&["dump"], &env) }).await;
    let call = running.call.clone();
    running.started().await;
    world.until("the loop to have some of it", |state| state.calls.get(&call).map(drop)).await;
    crate::harness::others().await;
    assert_eq!(world.state().await.calls[&call].exit_code, None, "a full queue slows it");
    let mut got = Vec::new();
    let code = loop {
        tokio::task::yield_now().await;
        match running.told.recv().await.expect("an end") {
            ExecEvent::Output(_, bytes) => got.extend(bytes),
            ExecEvent::Ended { code, .. } => break code,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((got.len(), got == all, code), (all.len(), true, 0));
}

#[tokio::test]
async fn a_shell_goes_on_where_the_last_one_of_its_conversation_stood() {
    let mut world = World::new().await;
    world.begin_turn("c1", persistent(300)).await;
    let shell = Run { conversation: Some("c1"), shell: Some("cd src"), ..Run::of(&[]) };
    world.exec(shell.clone()).await.outcome().await;
    let log = world.backend.log();
    let asked = log.iter().find(|line| line.contains(SHELL_DIRECTORY)).expect("asked where it stands");
    let name = asked.rsplit(' ').next().expect("a name").to_owned();
    let answer = ExecScript { stdout: b"/workspace/src\n".to_vec(), exit: Some(0), ..ExecScript::default() };
    world.backend.script(&["/bin/sh", "-c", SHELL_DIRECTORY, "sh", &name], answer);
    world.exec(shell.clone()).await.outcome().await;
    let third = world.exec(shell).await;
    let call = third.call.clone();
    third.outcome().await;
    assert_eq!(world.state().await.calls[&call].cwd.as_deref(), Some("/workspace/src"));
    let plain = world.exec(Run { conversation: Some("c1"), ..Run::of(&["pwd"]) }).await;
    let call = plain.call.clone();
    plain.outcome().await;
    assert_eq!(world.state().await.calls[&call].cwd.as_deref(), Some("/workspace"), "only shells share it");
}

#[tokio::test]
async fn a_running_command_holds_its_environment() {
    let (mut world, env) = world().await;
    world.backend.script(&["sleep"], ExecScript::default());
    let mut running = world.exec(Run::in_env(&["sleep"], &env)).await;
    running.started().await;
    world.clock.advance(Span::hours(1));
    until("an hour to pass", async || Some(())).await;
    assert_eq!((world.env(&env).await.deadline, world.asked("evidence")), (None, 0));
    world.backend.finish_call(&running.call, 0);
    running.outcome().await;
    let deadline = world.env(&env).await.deadline.expect("the clock starts at its end");
    assert_eq!(deadline.since(world.clock.now()), Span::seconds(300));
}
