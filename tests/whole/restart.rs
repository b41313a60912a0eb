//! A host that was killed, and the next one of its profile.

use crate::harness::{Build, CLIENT, Run, START, World, ended, ephemeral, persistent};
use hermes_tui::app::Model;
use hermes_tui::backend::fake::{ExecScript, FakeBackend};
use hermes_tui::domain::{EnvId, NoticeKind, Phase, Request, SessionState, Span, State};
use hermes_tui::runtime::clock::ManualClock;
use std::path::Path;

async fn start(journal: &Path, backend: &FakeBackend, clock: &ManualClock) -> World {
    let (backend, clock) = (backend.clone(), clock.clone());
    Build { backend, clock, journal: Some(journal), ..Build::default() }.world().await
}

#[tokio::test]
async fn environments_conversations_and_commands_with_their_output_are_back() {
    let dir = tempfile::tempdir().expect("a folder");
    let journal = dir.path().join("journal.db");
    let (backend, clock) = (FakeBackend::local(), ManualClock::new(START));
    let mut world = start(&journal, &backend, &clock).await;
    let (env, _) = world.begin_turn("c1", persistent(300)).await;
    // More than what may wait in the queue of output at once, and over at once.
    let mut stdout = vec![b'.'; 700 << 10];
    stdout.extend(b"\nthe very end\n");
    backend.script(&["make"], ExecScript { stdout, exit: Some(2), ..ExecScript::default() });
    let running = world.exec(Run { conversation: Some("c1"), ..Run::of(&["make"]) }).await;
    let call = running.call.clone();
    assert_eq!(running.outcome().await.code, 2);
    let last_seq = world.happened().await.last().expect("happenings").seq;
    world.crash().await;

    clock.advance(Span::seconds(5));
    let mut world = start(&journal, &backend, &clock).await;
    let state = world.state().await;
    assert_eq!(state.environments[&env].phase, Phase::Ready, "found again");
    assert_eq!(state.conversations.len(), 1);
    assert_eq!(state.calls[&call].exit_code, Some(2));
    assert_eq!(state.calls[&call].command, "make");
    let wanted = call.clone();
    let last = move |model: &Model, _| {
        let output = model.work.feeds.of(&wanted).expect("its output");
        format!("{:?}", output.line_at(output.lines() - 1))
    };
    let last = world.handle.read(last).await.expect("the host runs");
    assert!(last.contains("the very end"), "its last output was written: {last}");
    let first = world.happened().await.first().expect("happenings").seq;
    assert_eq!(first, last_seq + 1, "numbers go on");
    assert_eq!(world.asked("provision"), 1, "nothing is made twice");
    world.assert_correct();
}

#[tokio::test]
async fn a_deadline_is_not_nearer_after_a_restart_and_never_within_a_minute() {
    for (away, least) in [(Span::seconds(10), Span::seconds(290)), (Span::hours(3), Span::seconds(60))] {
        let dir = tempfile::tempdir().expect("a folder");
        let journal = dir.path().join("journal.db");
        let (backend, clock) = (FakeBackend::local(), ManualClock::new(START));
        let mut world = start(&journal, &backend, &clock).await;
        let env = world.new_env(persistent(300)).await;
        world.crash().await;
        clock.advance(away);
        let mut world = start(&journal, &backend, &clock).await;
        world.settle().await;
        let deadline = world.env(&env).await.deadline.expect("a deadline");
        let left = deadline.since(clock.now());
        assert!(left >= least, "{left:?} left after {away:?}");
        world.pass(Span(59_999)).await;
        assert_eq!(world.env(&env).await.phase, Phase::Ready);
        assert_eq!(world.asked("stop"), 0);
        world.pass(Span::seconds(600)).await;
        world.until_phase(&env, Phase::Stopped).await;
        assert_eq!(world.told(NoticeKind::EnvAdopted).await.len(), 1);
        world.assert_correct();
    }
}

#[tokio::test]
async fn an_ephemeral_one_is_adopted_and_removed_when_shown_unheld() {
    let dir = tempfile::tempdir().expect("a folder");
    let journal = dir.path().join("journal.db");
    let (backend, clock) = (FakeBackend::local(), ManualClock::new(START));
    let mut world = start(&journal, &backend, &clock).await;
    let env = world.new_env(ephemeral()).await;
    let sandbox = world.env(&env).await.sandbox.expect("a sandbox");
    world.crash().await;
    clock.advance(Span::hours(1));
    backend.set_evidence(&sandbox, Some(FakeBackend::process(5, "train.py", clock.now())));
    let world = start(&journal, &backend, &clock).await;
    world.pass(Span::seconds(120)).await;
    assert_eq!((world.asked("remove"), backend.sandbox_of(&env).is_some()), (0, true), "in use");
    backend.set_evidence(&sandbox, None);
    world.pass(Span::seconds(400)).await;
    assert_eq!(backend.sandbox_of(&env), None);
    world.assert_correct();
}

#[tokio::test]
async fn what_ended_in_order_comes_back_stopped() {
    let dir = tempfile::tempdir().expect("a folder");
    let journal = dir.path().join("journal.db");
    let (backend, clock) = (FakeBackend::local(), ManualClock::new(START));
    let mut world = start(&journal, &backend, &clock).await;
    let kept = world.new_env(persistent(300)).await;
    let gone: EnvId = world.new_env(ephemeral()).await;
    world.ask(Request::Shutdown { keep: false }).await.expect("ended");
    ended(&mut world.host).await;
    let mut world = start(&journal, &backend, &clock).await;
    let state = world.state().await;
    assert_eq!(state.environments[&kept].phase, Phase::Stopped);
    assert!(!state.environments.contains_key(&gone));
    assert_eq!(world.told(NoticeKind::EnvLost).await, Vec::<String>::new());
    world.ask(Request::Start(kept.clone())).await.expect("started");
    assert_eq!(world.env(&kept).await.phase, Phase::Ready);
    world.assert_correct();
}

#[tokio::test]
async fn sessions_tabs_and_splits_go_on_in_the_next_host() {
    let dir = tempfile::tempdir().expect("a folder");
    let journal = dir.path().join("journal.db");
    let (backend, clock) = (FakeBackend::local(), ManualClock::new(START));
    let mut world = start(&journal, &backend, &clock).await;
    world.keys("n").await;
    world.running_session().await;
    world.keys("C-b % C-b c").await;
    let running = |state: &State| state.sessions.values().filter(|s| s.state == SessionState::Running).count();
    world.until("three sessions", |state| (running(state) == 3).then_some(())).await;
    world.keys("C-b ,").await;
    world.paste("third".to_owned()).await;
    world.keys("Enter").await;
    world.see("third").await;
    // The other tab, and in it the pane that is not the first.
    world.keys("C-b 1 C-b l").await;
    let before = world.state().await;
    let focus = |model: &Model, _| (model.tab_of(CLIENT).map(|tab| tab.id), model.focused_pane(CLIENT));
    let looked = world.handle.read(focus).await.expect("the host runs");
    world.crash().await;

    let mut world = start(&journal, &backend, &clock).await;
    world.until("three sessions", |state| (running(state) == 3).then_some(())).await;
    world.see("third").await;
    let after = world.state().await;
    assert_eq!(after.sessions.keys().collect::<Vec<_>>(), before.sessions.keys().collect::<Vec<_>>());
    let tabs = |model: &Model, _| model.work.tabs.iter().map(|tab| tab.tree.panes().len()).collect::<Vec<_>>();
    assert_eq!(world.handle.read(tabs).await.expect("the host runs"), [2, 1]);
    assert_eq!(world.handle.read(focus).await.expect("the host runs"), looked);
    // They are the same programs.
    let session = after.sessions.keys().next().expect("a session").clone();
    assert!(!world.pty(&session).is_closed());
    world.assert_correct();
}

#[tokio::test]
async fn a_session_that_ended_meanwhile_is_shown_as_ended() {
    let dir = tempfile::tempdir().expect("a folder");
    let journal = dir.path().join("journal.db");
    let (backend, clock) = (FakeBackend::local(), ManualClock::new(START));
    let world = start(&journal, &backend, &clock).await;
    world.keys("n").await;
    let session = world.running_session().await;
    let pty = world.pty(&session);
    world.crash().await;
    pty.end(0);

    let mut world = start(&journal, &backend, &clock).await;
    world.see("ended while no host ran").await;
    // A fresh one is one key away.
    world.keys("Enter").await;
    world.running_session().await;
    world.assert_correct();
}

#[tokio::test]
async fn what_sessions_showed_is_back_where_that_is_kept() {
    for kept in [true, false] {
        let dir = tempfile::tempdir().expect("a folder");
        let journal = dir.path().join("journal.db");
        let (backend, clock) = (FakeBackend::local(), ManualClock::new(START));
        let start = async || {
            let mut options = Build::default().options;
            options.history.persist = kept;
            let (backend, clock) = (backend.clone(), clock.clone());
            Build { backend, clock, journal: Some(&journal), options, ..Build::default() }.world().await
        };
        let mut world = start().await;
        world.keys("n").await;
        let session = world.running_session().await;
        let pty = world.pty(&session);
        let lines: String = (1..=60).map(|n| format!("line {n}\r\n")).collect();
        pty.output(lines.as_bytes());
        pty.output(b"\x1b[31mlast words");
        world.see("last words").await;
        // Nothing is written for as long as a program prints on, but for once in a few seconds.
        world.pass(Span::seconds(5)).await;
        world.crash().await;
        pty.end(0);

        let mut world = start().await;
        let screen = world.see("ended while no host ran").await;
        assert_eq!(screen.contains("last words"), kept, "{screen}");
        let text = move |model: &Model, _| model.work.screens.get(&session).map(hermes_tui::term::Screen::history_ansi);
        let text = world.handle.read(text).await.expect("the host runs").unwrap_or_default();
        assert_eq!(text.starts_with("line 1\n") && text.contains("\x1b[0;31mlast words"), kept, "{text}");
        world.assert_correct();
    }
}
