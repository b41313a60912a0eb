//! The promises.

use super::subjects::Subject;
use futures_util::StreamExt;
use hermes_tui::backend::{AttachSpec, Backend, BackendEvent, ExecSpec};
use hermes_tui::domain::{
    CallId, FailureKind, FoundSandbox, Generation, Origin, SandboxId, SandboxState, SessionId, Size,
};
use hermes_tui::pty::PtyLink;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// For one promise. Far more than any of them takes.
pub const LIMIT: Duration = Duration::from_secs(60);

const SIZE: Size = Size { rows: 31, cols: 97 };

async fn made(subject: &dyn Subject, env: &str) -> (Arc<dyn Backend>, SandboxId) {
    let backend = subject.backend();
    let info = backend.provision(subject.wanted(env, 1), Box::new(|_| {})).await.expect("a sandbox");
    assert_eq!(info.state, SandboxState::Running);
    (backend, info.sandbox)
}

/// What is listed of the subject's own: a real engine may hold sandboxes of a hermes-agent, too.
async fn ours(backend: &dyn Backend) -> Vec<FoundSandbox> {
    managed(backend.list().await.expect("a list"))
}

fn managed(found: Vec<FoundSandbox>) -> Vec<FoundSandbox> {
    found.into_iter().filter(|one| one.origin == Origin::Managed).collect()
}

fn session(name: &str, program: &[String], size: Size) -> AttachSpec {
    AttachSpec {
        session: SessionId::new(name),
        program: program.to_vec(),
        lead: Vec::new(),
        env: Vec::new(),
        cwd: None,
        size,
        resume: false,
    }
}

fn command(name: &str, argv: &[&str]) -> ExecSpec {
    let argv = argv.iter().map(|one| (*one).to_owned()).collect();
    ExecSpec { call: CallId::new(name), argv, env: Vec::new(), cwd: None }
}

/// Reads until the output ends with these bytes, and returns all of it.
async fn read_until(link: &mut PtyLink, end: &[u8]) -> Vec<u8> {
    let mut seen = Vec::new();
    while !seen.ends_with(end) {
        let mut byte = [0];
        let n = link.reader.read(&mut byte).await.expect("reads");
        assert_ne!(n, 0, "the output ended after {:?}", String::from_utf8_lossy(&seen));
        seen.push(byte[0]);
    }
    seen
}

/// Every byte value, in an order that shows what was lost, doubled or swapped.
fn pattern(length: usize) -> Vec<u8> {
    (0..length as u64).map(|i| (i.wrapping_mul(2_654_435_761) >> 7) as u8).collect()
}

pub async fn provisioning_twice_yields_one_sandbox(subject: &dyn Subject) {
    let (backend, first) = made(subject, "e1").await;
    let again = backend.provision(subject.wanted("e1", 1), Box::new(|_| {})).await.expect("the same");
    assert_eq!(again.sandbox, first);
    let other_host = subject.backend();
    let again = other_host.provision(subject.wanted("e1", 1), Box::new(|_| {})).await.expect("the same");
    assert_eq!(again.sandbox, first);
    assert_eq!(ours(&*backend).await.len(), 1);
}

pub async fn provisioning_at_once_yields_one_sandbox(subject: &dyn Subject) {
    let backend = subject.backend();
    let make = || backend.provision(subject.wanted("e1", 1), Box::new(|_| {}));
    let (a, b, c) = tokio::join!(make(), make(), make());
    let id = |made: Result<FoundSandbox, _>| made.expect("a sandbox").sandbox;
    let (a, b, c) = (id(a), id(b), id(c));
    assert!(a == b && b == c, "{a} {b} {c}");
    assert_eq!(ours(&*backend).await.len(), 1);
}

pub async fn removing_a_missing_sandbox_succeeds(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    backend.remove(SandboxId::new("0123456789abcdef"), Origin::Managed).await.expect("nothing to do");
    assert_eq!(ours(&*backend).await.len(), 1);
    backend.remove(sandbox.clone(), Origin::Managed).await.expect("removed");
    backend.remove(sandbox.clone(), Origin::Managed).await.expect("nothing to do");
    backend.stop(sandbox.clone(), Origin::Managed).await.expect("nothing to do");
    assert_eq!(backend.inspect(sandbox.clone()).await.expect("looks"), None);
    assert_eq!(backend.details(sandbox).await.expect("looks"), None);
    assert_eq!(ours(&*backend).await, []);
}

pub async fn a_list_shows_only_what_is_ours(subject: &dyn Subject) {
    subject.litter();
    assert_eq!(ours(&*subject.backend()).await, []);
    let (backend, sandbox) = made(subject, "e1").await;
    let found = ours(&*backend).await;
    let [one] = found.as_slice() else { panic!("one sandbox, not {found:?}") };
    assert_eq!((one.sandbox.clone(), one.env.as_str(), one.name.as_str()), (sandbox, "e1", "name of e1"));
    assert_eq!((one.generation, one.state), (Generation(1), SandboxState::Running));
    assert_eq!(one.spec.as_deref(), Some(&subject.wanted("e1", 1).spec));
}

pub async fn closing_a_session_leaves_no_process_behind(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    let (program, ready) = subject.crowd();
    let mut link = backend.attach(sandbox.clone(), session("s", &program, SIZE)).await.expect("a session");
    read_until(&mut link, &ready).await;
    link.control.close().await.expect("closed");
    let left = backend.evidence(sandbox.clone()).await.expect("evidence");
    assert_eq!(left.processes, []);
    assert_eq!(left.idle_shells, 0);
    assert!(link.exit.await.is_some_and(|code| code != 0), "it was ended, so it did not end well");
    let mut rest = Vec::new();
    link.reader.read_to_end(&mut rest).await.expect("the end of the output");
    link.control.close().await.expect("nothing to do any more");
}

pub async fn the_size_is_right_at_the_first_byte_and_after_each_resize(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    let program = subject.sizes();
    let mut link = backend.attach(sandbox, session("s", &program, SIZE)).await.expect("a session");
    assert_eq!(read_until(&mut link, b"\r\n").await, b"31 97\r\n");
    for (rows, cols) in [(12, 40), (50, 200), (24, 80)] {
        link.control.resize(Size { rows, cols }).await.expect("resized");
        assert_eq!(read_until(&mut link, b"\r\n").await, format!("{rows} {cols}\r\n").into_bytes());
    }
    link.control.close().await.expect("closed");
}

pub async fn what_leads_to_a_shell_becomes_it(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    let lead = ["printf '<%s>' \"$1\"; shift; exec \"$@\"", "htui", "it's a word"].map(str::to_owned).to_vec();
    let spec = AttachSpec { lead, ..session("s", &[], SIZE) };
    let mut link = backend.attach(sandbox.clone(), spec).await.expect("a session");
    read_until(&mut link, b"<it's a word>").await;
    // At its prompt it is a shell like any other.
    while backend.evidence(sandbox.clone()).await.expect("evidence").idle_shells != 1 {}
    assert_eq!(backend.evidence(sandbox).await.expect("evidence").processes, []);
    link.writer.write_all(b"echo he''re; exit 3\n").await.expect("typed");
    read_until(&mut link, b"here\r\n").await;
    assert_eq!(link.exit.await, Some(3));
}

pub async fn a_mebibyte_through_a_terminal_arrives_whole_and_in_order(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    let (program, ready) = subject.echo();
    let mut link = backend.attach(sandbox, session("s", &program, SIZE)).await.expect("a session");
    read_until(&mut link, &ready).await;
    let sent = pattern(1 << 20);
    let mut writer = link.writer;
    let typed = sent.clone();
    let typing = tokio::spawn(async move {
        writer.write_all(&typed).await.expect("typed");
        writer
    });
    let mut seen = vec![0; sent.len()];
    link.reader.read_exact(&mut seen).await.expect("comes back");
    assert!(seen == sent, "the bytes differ");
    drop(typing.await.expect("typed"));
    link.control.close().await.expect("closed");
}

pub async fn a_mebibyte_through_pipes_arrives_whole_and_in_order(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    let mut link = backend.exec(sandbox, command("c", &["cat"])).await.expect("runs");
    let sent = pattern(1 << 20);
    let typed = sent.clone();
    let mut stdin = link.stdin;
    tokio::spawn(async move {
        stdin.write_all(&typed).await.expect("written");
        stdin.shutdown().await.expect("closed");
    });
    let mut seen = Vec::new();
    link.stdout.read_to_end(&mut seen).await.expect("comes back");
    assert!(seen == sent, "the bytes differ: {} of {}", seen.len(), sent.len());
    assert_eq!(link.exit.await, 0);
}

pub async fn watching_reports_an_end_from_outside(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    let (_, other) = made(subject, "e2").await;
    let mut events = backend.watch();
    match events.next().await.expect("an event") {
        BackendEvent::Snapshot(found) => assert_eq!(managed(found).len(), 2),
        other => panic!("a snapshot comes first, not {other:?}"),
    }
    subject.kill_outside(&sandbox);
    match events.next().await.expect("an event") {
        BackendEvent::Ended { sandbox: ended, removed, why } => {
            assert_eq!((ended, removed), (sandbox.clone(), false));
            assert!(!why.is_empty());
        }
        other => panic!("an end, not {other:?}"),
    }
    let found = ours(&*backend).await;
    let state = |id: &SandboxId| found.iter().find(|one| one.sandbox == *id).map(|one| one.state);
    assert_eq!(state(&sandbox), Some(SandboxState::Stopped));
    assert_eq!(state(&other), Some(SandboxState::Running));
}

pub async fn a_dead_backend_is_unreachable_and_never_an_empty_list(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    let mut events = backend.watch();
    assert!(matches!(events.next().await, Some(BackendEvent::Snapshot(_))));
    subject.break_down();
    for backend in [backend, subject.backend()] {
        let error = backend.list().await.expect_err("no list");
        assert_eq!(error.kind, FailureKind::Unreachable);
        assert!(!error.message.is_empty() && !error.hint.is_empty());
        let error = backend.remove(sandbox.clone(), Origin::Managed).await.expect_err("no removal");
        assert_eq!(error.kind, FailureKind::Unreachable);
    }
    let mut late = subject.backend().watch();
    assert!(matches!(late.next().await, Some(BackendEvent::Down(_))));
    subject.repair();
    loop {
        match late.next().await.expect("goes on") {
            BackendEvent::Up => break,
            BackendEvent::Down(_) => {}
            other => panic!("up comes before {other:?}"),
        }
    }
    match late.next().await.expect("a snapshot") {
        BackendEvent::Snapshot(found) => assert_eq!(managed(found).len(), 1),
        other => panic!("a snapshot follows, not {other:?}"),
    }
}

pub async fn stop_and_start_keep_the_id_and_the_files_and_grow_the_generation(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    let wanted = subject.wanted("e1", 2);
    std::fs::create_dir_all(&wanted.workspace).expect("a folder");
    std::fs::write(wanted.workspace.join("kept"), "x").expect("a file");
    backend.stop(sandbox.clone(), Origin::Managed).await.expect("stopped");
    backend.stop(sandbox.clone(), Origin::Managed).await.expect("stopped already");
    let found = ours(&*backend).await;
    assert_eq!((found[0].sandbox.clone(), found[0].state), (sandbox.clone(), SandboxState::Stopped));
    let info = backend.start(sandbox.clone(), wanted.clone()).await.expect("started");
    assert_eq!((info.sandbox, info.generation), (sandbox.clone(), Generation(2)));
    assert_eq!(info.state, SandboxState::Running);
    let again = backend.start(sandbox.clone(), wanted.clone()).await.expect("runs already");
    assert_eq!(again.generation, Generation(2));
    let error = backend.start(sandbox.clone(), subject.wanted("e1", 1)).await.expect_err("an old generation");
    assert_eq!(error.kind, FailureKind::Surprise);
    backend.remove(sandbox, Origin::Managed).await.expect("removed");
    assert!(wanted.workspace.join("kept").exists(), "files outlive their sandbox");
}

pub async fn a_new_host_finds_running_sessions_again(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    let (program, ready) = subject.echo();
    let mut link = backend.attach(sandbox.clone(), session("s", &program, SIZE)).await.expect("a session");
    read_until(&mut link, &ready).await;
    link.writer.write_all(b"one").await.expect("typed");
    read_until(&mut link, b"one").await;
    let before = backend.evidence(sandbox.clone()).await.expect("evidence").processes;
    drop(link);
    drop(backend);

    let backend = subject.backend();
    let mut link = backend.attach(sandbox.clone(), session("s", &program, SIZE)).await.expect("the session");
    link.writer.write_all(b"two").await.expect("typed");
    assert_eq!(read_until(&mut link, b"two").await, b"two", "the same program, which was ready already");
    assert_eq!(backend.evidence(sandbox).await.expect("evidence").processes, before);
    link.control.close().await.expect("closed");
    assert!(link.exit.await.is_some());
}

pub async fn a_stopped_sandbox_takes_no_session_and_no_command(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    let (program, ready) = subject.echo();
    let mut link = backend.attach(sandbox.clone(), session("s", &program, SIZE)).await.expect("a session");
    read_until(&mut link, &ready).await;
    backend.stop(sandbox.clone(), Origin::Managed).await.expect("stopped");
    let mut rest = Vec::new();
    link.reader.read_to_end(&mut rest).await.expect("the output ends with the sandbox");
    // Resolves, with or without a code: the sandbox may be gone before it could tell.
    let _ = link.exit.await;
    for attempt in ["first", "second"] {
        let error = backend.attach(sandbox.clone(), session(attempt, &program, SIZE)).await.err().expect("no session");
        assert!(!error.message.is_empty() && !error.hint.is_empty());
        assert!(backend.exec(sandbox.clone(), command(attempt, &["true"])).await.is_err());
    }
}

pub async fn dropping_the_writer_sends_nothing(subject: &dyn Subject) {
    let (backend, sandbox) = made(subject, "e1").await;
    let (program, ready) = subject.echo();
    let mut link = backend.attach(sandbox.clone(), session("s", &program, SIZE)).await.expect("a session");
    read_until(&mut link, &ready).await;
    drop(link.writer);
    let again = backend.attach(sandbox, session("s", &program, SIZE)).await.expect("the session");
    let mut writer = again.writer;
    writer.write_all(b"end").await.expect("typed");
    let mut link = PtyLink { writer, ..link_without_writer(link.reader, again.control, again.exit) };
    assert_eq!(read_until(&mut link, b"end").await, b"end", "not a byte before it");
    link.control.close().await.expect("closed");
}

fn link_without_writer(
    reader: Box<dyn tokio::io::AsyncRead + Send + Unpin>,
    control: Box<dyn hermes_tui::pty::PtyControl>,
    exit: futures_util::future::BoxFuture<'static, Option<i32>>,
) -> PtyLink {
    PtyLink { reader, writer: Box::new(tokio::io::sink()), control, exit }
}
