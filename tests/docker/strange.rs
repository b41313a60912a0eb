//! Sessions in containers that somebody else made, as they are: any user, any root, any shell, any state.

use super::engine::{self, Image};
use super::world::{PATIENCE, World, command, read_until, session};
use bollard::models::{ContainerCreateBody, SystemInfoCgroupVersionEnum};
use bollard::query_parameters::RemoveContainerOptionsBuilder;
use hermes_tui::backend::{AttachSpec, Backend};
use hermes_tui::domain::{FailureKind, SandboxId, Size};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SIZE: Size = Size { rows: 24, cols: 80 };

fn spec(program: &[&str], cwd: Option<&str>, term: &str) -> AttachSpec {
    AttachSpec {
        lead: Vec::new(),
        env: vec![("TERM".to_owned(), term.to_owned())],
        cwd: cwd.map(str::to_owned),
        ..session(program, SIZE)
    }
}

/// All that a program on a terminal prints.
async fn output(world: &World, sandbox: &SandboxId, spec: AttachSpec) -> String {
    let mut link = world.backend.attach(sandbox.clone(), spec).await.expect("a session");
    let mut seen = String::new();
    tokio::time::timeout(PATIENCE, link.reader.read_to_string(&mut seen)).await.expect("in time").expect("text");
    assert_eq!(link.exit.await, Some(0), "{seen}");
    seen
}

/// A shell works in it: it says what it is asked.
async fn works(world: &World, sandbox: &SandboxId) {
    let mut link = world.backend.attach(sandbox.clone(), spec(&[], None, "xterm-256color")).await.expect("a session");
    link.writer.write_all(b"echo a$((6 * 7))b\r").await.expect("typed");
    read_until(&mut link, "a42b").await;
    link.control.close().await.expect("closed");
    assert_eq!(world.backend.evidence(sandbox.clone()).await.expect("evidence").processes, []);
}

async fn strange_containers_take_shells(which: &str) {
    let Some(world) = World::on(which).await else { return };
    let nobody = world.strange(|body| body.user = Some("12345".into())).await;
    works(&world, &nobody).await;
    assert_eq!(output(&world, &nobody, spec(&["id", "-u"], None, "xterm")).await, "12345\r\n");
    let read_only = |body: &mut ContainerCreateBody| {
        body.host_config.as_mut().expect("a host configuration").readonly_rootfs = Some(true);
    };
    let read_only = world.strange(read_only).await;
    works(&world, &read_only).await;
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_user_and_a_read_only_root_take_shells_on_docker() {
    strange_containers_take_shells("docker").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_user_and_a_read_only_root_take_shells_on_rootless_podman() {
    strange_containers_take_shells("rootless podman").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_begin_where_those_of_the_container_do_or_at_its_root() {
    let Some(world) = World::new().await else { return };
    let plain = world.strange(|_| {}).await;
    let pwd = ["sh", "-c", "pwd"];
    assert_eq!(output(&world, &plain, spec(&pwd, None, "xterm")).await, "/\r\n");
    assert_eq!(output(&world, &plain, spec(&pwd, Some("/etc"), "xterm")).await, "/etc\r\n");
    let error = world.backend.attach(plain, spec(&pwd, Some("/no/such"), "xterm")).await.err().expect("no session");
    assert_eq!(error.message, "the program cannot run in the container: cannot enter the directory /no/such there");
    let placed = world.strange(|body| body.working_dir = Some("/etc/deep".into())).await;
    assert_eq!(output(&world, &placed, spec(&pwd, None, "xterm")).await, "/etc/deep\r\n");
    let (code, _, _) = world.run(&placed, &["sh", "-c", "cd /; mv /etc/deep /etc/gone"]).await;
    assert_eq!(code, 0);
    assert_eq!(output(&world, &placed, spec(&pwd, None, "xterm")).await, "/\r\n");
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_that_is_not_described_there_becomes_one_that_is() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.strange(|_| {}).await;
    let term = ["sh", "-c", "echo $TERM"];
    assert_eq!(output(&world, &sandbox, spec(&term, None, "xterm-ghostty")).await, "xterm-256color\r\n");
    let describe = "mkdir -p /etc/terminfo/v /etc/terminfo/x; : > /etc/terminfo/v/vt100; : > /etc/terminfo/x/xterm";
    let (code, _, errors) = world.run(&sandbox, &["sh", "-c", describe]).await;
    assert_eq!(code, 0, "{errors}");
    assert_eq!(output(&world, &sandbox, spec(&term, None, "xterm-ghostty")).await, "xterm\r\n");
    assert_eq!(output(&world, &sandbox, spec(&term, None, "vt100")).await, "vt100\r\n");
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_that_has_bash_alone_is_as_good_as_any() {
    let Some(socket) = engine::socket() else { return };
    let world = World::with(socket.clone(), Image::make(&socket, &["bash", "sleep"]).await);
    let sandbox = world.strange(|_| {}).await;
    works(&world, &sandbox).await;
    let (code, out, _) = world.run(&sandbox, &["bash", "-c", "echo here"]).await;
    assert_eq!((code, out.as_str()), (0, "here\n"));
    // A shell at its prompt is none of what lives there, and another host finds it by its name.
    let mut shell = world.backend.attach(sandbox.clone(), spec(&[], None, "xterm-256color")).await.expect("a session");
    read_until(&mut shell, "# ").await;
    let found = world.backend.evidence(sandbox.clone()).await.expect("a look");
    assert_eq!((found.idle_shells, found.processes.len(), found.execs), (1, 0, 0), "{found:?}");
    let again = AttachSpec { resume: true, ..spec(&[], None, "xterm-256color") };
    let refused = world.backend.attach(sandbox.clone(), again).await.err().expect("it cannot be had again");
    assert!(refused.message.contains("its host ended"), "{refused:?}");
    let found = world.backend.evidence(sandbox.clone()).await.expect("a look");
    assert_eq!((found.idle_shells, found.processes.len()), (0, 0), "what was left of it was ended: {found:?}");
    world.cleaner.end().await;
}

async fn paused_and_removed(which: &str) {
    let Some(world) = World::on(which).await else { return };
    let sandbox = world.strange(|_| {}).await;
    let docker = engine::client(&world.cleaner.socket).await;
    docker.pause_container(sandbox.as_str()).await.expect("paused");
    let short = &sandbox.as_str()[..12];
    let message = format!("the container {short} is paused: nothing in it runs until it is resumed");
    let error = world.backend.attach(sandbox.clone(), spec(&[], None, "xterm")).await.err().expect("no session");
    assert_eq!((error.kind, error.message), (FailureKind::Surprise, message.clone()));
    assert!(error.hint.contains("unpause"), "{}", error.hint);
    let error = world.backend.exec(sandbox.clone(), command(&["true"])).await.err().expect("no command");
    assert_eq!(error.message, message);
    docker.unpause_container(sandbox.as_str()).await.expect("resumed");

    let mut link = world.open(&sandbox, &["sh", "-c", "echo last words; sleep 1005"], SIZE).await;
    read_until(&mut link, "last words").await;
    let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
    docker.remove_container(sandbox.as_str(), Some(options)).await.expect("removed");
    world.cleaner.others.lock().expect("whole").clear();
    let mut rest = Vec::new();
    let read = tokio::time::timeout(PATIENCE, link.reader.read_to_end(&mut rest)).await;
    read.expect("the output ends with the container").expect("text");
    tokio::time::timeout(PATIENCE, link.exit).await.expect("so does the program");
    link.control.resize(SIZE).await.expect("nothing to do any more");
    link.control.close().await.expect("nothing to do any more");
    let error = world.backend.attach(sandbox.clone(), spec(&[], None, "xterm")).await.err().expect("no session");
    assert_eq!(error.message, format!("there is no container {short}"));
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_container_says_so_and_a_removal_ends_sessions_on_docker() {
    paused_and_removed("docker").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_container_says_so_and_a_removal_ends_sessions_on_podman() {
    paused_and_removed("podman").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_of_another_profile_takes_nothing_from_us() {
    let Some(world) = World::new().await else { return };
    let label = ("hermes-tui.profile".to_owned(), "another".to_owned());
    let sandbox = world.strange(|body| body.labels = Some([label].into())).await;
    let error = world.backend.attach(sandbox, spec(&[], None, "xterm")).await.err().expect("no session");
    assert!(error.message.ends_with("was made by another profile"), "{}", error.message);
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_escaped_from_a_session_lives_on_and_is_shown() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox().await;
    let script = "setsid sleep 1006 </dev/null >/dev/null 2>&1 & sleep 1007 & echo both; wait";
    let mut link = world.open(&sandbox, &["bash", "-c", script], SIZE).await;
    read_until(&mut link, "both").await;
    let commands = |found: hermes_tui::domain::Evidence| {
        let mut all: Vec<String> = found.processes.into_iter().map(|one| one.command).collect();
        all.sort();
        all
    };
    let both = async {
        loop {
            let found = commands(world.backend.evidence(sandbox.clone()).await.expect("evidence"));
            if found.contains(&"sleep 1006".to_owned()) && found.contains(&"sleep 1007".to_owned()) {
                return;
            }
            assert!(found.len() <= 3, "{found:?}");
        }
    };
    tokio::time::timeout(PATIENCE, both).await.expect("both are seen");
    link.control.close().await.expect("closed");
    assert_eq!(commands(world.backend.evidence(sandbox).await.expect("evidence")), ["sleep 1006"]);
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_that_a_rootless_podman_cannot_enforce_are_said_to_be_so() {
    let Some(world) = World::on("rootless podman").await else { return };
    let docker = engine::client(&world.cleaner.socket).await;
    let version = docker.info().await.expect("an answer").cgroup_version;
    let ignored = version == Some(SystemInfoCgroupVersionEnum::_1);
    let probe = world.backend.probe().await.expect("it answers");
    assert!(probe.description.starts_with("podman "), "{}", probe.description);
    assert_eq!(probe.unenforced.is_empty(), !ignored, "{probe:?}");
    let mut wanted = world.wanted();
    wanted.spec.memory_bytes = Some(64 << 20);
    let made = world.backend.provision(wanted, Box::new(|_| {})).await.expect("a container");
    let limits = world.backend.details(made.sandbox).await.expect("looks").expect("there").limits;
    let told: Vec<_> = limits.iter().map(|one| (one.name.as_str(), one.value.as_str(), one.enforced)).collect();
    assert_eq!(told, [("processes", "4096", !ignored), ("memory", "64 MiB", !ignored)]);
    world.cleaner.end().await;
}
