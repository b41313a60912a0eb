//! What must come before what, whatever the queues hold.

use crate::harness::{World, in_time, until};
use hermes_tui::app::Msg;
use hermes_tui::backend::fake::{ExecScript, FakeBackend};
use hermes_tui::backend::{Backend, ProvisionSpec};
use hermes_tui::domain::{CallId, EnvId, EnvSpec, Generation, SessionId, SessionState, Size};
use hermes_tui::pty::fake::{Behaviour, FakePty};
use hermes_tui::runtime::calls::{self, ExecEvent, ExecRequest, Place, Program};
use hermes_tui::runtime::effects::OpenedSession;
use hermes_tui::runtime::inbound::{self, Inbound, Outbox};
use hermes_tui::runtime::sessions::Sessions;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Takes what the loop would take, until the end of a program or command: how many bytes came before it.
async fn bytes_before_the_end(outbox: &mut Outbox) -> usize {
    let mut bytes = 0;
    until("the end", async || {
        assert!(
            !matches!(outbox.first.try_recv(), Ok(Inbound::SessionOver { .. } | Inbound::CallOver { .. })),
            "the end is on the queue that overtakes output"
        );
        match outbox.output.take(|_| true) {
            Some(Inbound::Msg(Msg::Output { bytes: more, .. } | Msg::CallOutput { bytes: more, .. })) => {
                bytes += more.len();
                None
            }
            Some(Inbound::SessionOver { .. } | Inbound::CallOver { .. }) => Some(bytes),
            _ => None,
        }
    })
    .await
}

fn opened(session: &str, generation: u64, pty: &FakePty) -> OpenedSession {
    let (session, generation) = (SessionId::new(session), Generation(generation));
    OpenedSession { session, generation, size: Size::default(), resumed: false, link: pty.link() }
}

#[tokio::test]
async fn the_end_of_a_program_comes_behind_its_last_output() {
    let (inbox, mut outbox) = inbound::channel();
    let pty = FakePty::new(Behaviour::Silent, Size::default());
    pty.output(&vec![b'.'; 3 << 20]);
    pty.end(0);
    Sessions::default().add(opened("s", 1, &pty), &inbox);
    assert_eq!(bytes_before_the_end(&mut outbox).await, 3 << 20);
    assert!(outbox.output.is_empty());
}

#[tokio::test]
async fn the_end_of_a_command_comes_behind_its_last_output() {
    let (inbox, mut outbox) = inbound::channel();
    let backend = FakeBackend::local();
    let wanted = ProvisionSpec {
        env: EnvId::new("e"),
        name: "e".to_owned(),
        generation: Generation(1),
        spec: EnvSpec::local(),
        home: "/nowhere".into(),
        workspace: "/nowhere".into(),
        conversation: None,
    };
    let sandbox = backend.provision(wanted, Box::new(|_| {})).await.expect("made").sandbox;
    backend.script(&["dump"], ExecScript { stdout: vec![b'.'; 3 << 20], exit: Some(0), ..ExecScript::default() });
    let (_stdin, input) = mpsc::channel(1);
    let (events, mut told) = mpsc::channel(1024);
    let request = ExecRequest {
        label: None,
        call: CallId::new("c"),
        env: None,
        conversation: None,
        program: Program::Argv(vec!["dump".to_owned()]),
        aside: false,
        cwd: None,
        timeout: None,
        stdin: input,
        events,
        kill: CancellationToken::new(),
    };
    let place = Place { backend: Arc::new(backend), sandbox, variables: Vec::new(), inbox };
    tokio::spawn(calls::run(place, request, CancellationToken::new()));
    assert_eq!(bytes_before_the_end(&mut outbox).await, 3 << 20);
    assert!(outbox.output.is_empty());
    let all = async {
        let mut ended = false;
        while let Some(event) = told.recv().await {
            ended = matches!(event, ExecEvent::Ended { code: 0, .. });
        }
        ended
    };
    assert!(all.await, "its end is told last");
}

#[tokio::test]
async fn a_screen_has_the_last_output_when_its_session_is_over() {
    let (world, _, session) = World::with_shell().await;
    let mut last = vec![b'.'; 600 << 10];
    last.extend(b"\r\nthe very end");
    let pty = world.pty(&session);
    pty.output(&last);
    pty.end(0);
    // Looks between any two steps of the loop: whoever learns of the end must find the last output.
    let wanted = session.clone();
    let screen = until("its end", async || {
        let id = wanted.clone();
        let look = move |model: &hermes_tui::app::Model, _| {
            let over = matches!(model.state.sessions[&id].state, SessionState::Ended { .. });
            over.then(|| model.work.screens[&id].text())
        };
        world.handle.read(look).await.expect("the host runs")
    })
    .await;
    assert!(screen.contains("the very end"), "{screen}");
}

#[tokio::test]
async fn the_end_of_an_earlier_pty_is_not_that_of_the_present_one() {
    let (inbox, outbox) = inbound::channel();
    let mut sessions = Sessions::default();
    let id = SessionId::new("s");
    let (old, new) =
        (FakePty::new(Behaviour::Silent, Size::default()), FakePty::new(Behaviour::Silent, Size::default()));
    sessions.add(opened("s", 1, &old), &inbox);
    sessions.add(opened("s", 2, &new), &inbox);
    until("the old one to be closed", async || old.is_closed().then_some(())).await;
    let mut serials = Vec::new();
    loop {
        let inbound = in_time("an end", outbox.output.next(|_| true)).await;
        if let Inbound::SessionOver { serial, .. } = inbound {
            serials.push(serial);
            if sessions.remove(&id, serial) {
                break;
            }
            assert!(!new.is_closed());
            sessions.write(&id, b"still there".to_vec()).expect("open");
            in_time("the backend", new.wait_written(|w| w == b"still there")).await;
            new.end(0);
        }
    }
    assert_eq!(serials.len(), 2);
    assert!(!sessions.remove(&id, serials[1]), "only once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn settled_comes_although_the_last_thing_in_flight_ends_late() {
    let world = World::new().await;
    for _ in 0..200 {
        let busy = world.inbox.outstanding();
        let late = tokio::spawn(async move {
            tokio::task::yield_now().await;
            drop(busy);
        });
        assert!(in_time("quiet", world.handle.settled()).await.is_some());
        late.await.expect("no panic");
    }
}

#[tokio::test]
async fn senders_from_threads_and_tasks_never_block_each_other_for_good() {
    let (world, _, session) = World::with_shell().await;
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let inbox = world.inbox.clone();
            std::thread::spawn(move || {
                for _ in 0..500 {
                    inbox.send_blocking(Inbound::Msg(Msg::Trouble("busy".to_owned())));
                }
            })
        })
        .collect();
    for _ in 0..500 {
        world.typed("x").await;
    }
    in_time("the backend", world.pty(&session).wait_written(|written| written.len() == 500)).await;
    until("the threads to end", async || threads.iter().all(std::thread::JoinHandle::is_finished).then_some(())).await;
}

#[tokio::test]
async fn what_is_handed_in_after_the_end_is_dropped_quietly() {
    let mut world = World::new().await;
    world.handle.terminate().await;
    crate::harness::ended(&mut world.host).await;
    assert!(world.handle.read(|_, _| ()).await.is_err());
    let inbox = world.inbox.clone();
    std::thread::spawn(move || inbox.send_blocking(Inbound::Terminate)).join().expect("it returns");
    world.handle.ended().await;
}
