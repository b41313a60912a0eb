//! Commands, hardening, and images of all kinds.

use super::endpoints::next;
use super::engine::{self, Image};
use super::world::{World, session};
use bollard::query_parameters::{InspectContainerOptions, RemoveContainerOptionsBuilder};
use hermes_tui::backend::{Backend, BackendEvent};
use hermes_tui::domain::{FailureKind, Origin, Size};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_are_apart_and_exit_codes_are_those_of_a_shell() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox().await;
    let (code, out, errors) = world.run(&sandbox, &["sh", "-c", "echo out; echo err >&2; exit 3"]).await;
    assert_eq!((code, out.as_str(), errors.as_str()), (3, "out\n", "err\n"));
    let (code, out, errors) = world.run(&sandbox, &["no-such-program"]).await;
    assert!(code == 127 && out.is_empty() && errors.contains("no-such-program"), "{code} {out:?} {errors:?}");
    let (code, _, errors) = world.run(&sandbox, &["/etc/passwd"]).await;
    assert!(code == 126 && !errors.is_empty(), "{code} {errors:?}");
    let (code, ..) = world.run(&sandbox, &["sh", "-c", "kill -KILL $$"]).await;
    assert_eq!(code, 137);
    let (code, out, _) = world.run(&sandbox, &["sh", "-c", "pwd; echo $HOME; id -u"]).await;
    assert_eq!((code, out.as_str()), (0, "/workspace\n/root\n0\n"));
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_has_few_privileges_and_no_network_and_writes_to_its_own_folders() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox().await;
    let script = "while read -r k v; do case $k in CapBnd:|NoNewPrivs:) echo $k $v;; esac; done < /proc/self/status; \
                  ls /sys/class/net; touch /workspace/w /root/h /tmp/t && echo written";
    let (code, out, errors) = world.run(&sandbox, &["sh", "-c", script]).await;
    assert_eq!(code, 0, "{errors}");
    // CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID (capabilities(7)).
    assert_eq!(out, "CapBnd: 00000000000000eb\nNoNewPrivs: 1\nlo\nwritten\n");
    let wanted = world.wanted();
    assert!(wanted.workspace.join("w").exists() && wanted.home.join("h").exists());
    let docker = engine::client(&world.cleaner.socket).await;
    let raw = docker.inspect_container(sandbox.as_str(), None::<InspectContainerOptions>).await.expect("there");
    let host = raw.host_config.expect("a host configuration");
    assert!(host.pids_limit.is_some_and(|limit| limit > 0) && host.init == Some(true));
    let details = world.backend.details(sandbox).await.expect("looks").expect("there");
    assert_eq!((details.user.as_str(), details.home.as_str()), ("root", "/root"));
    assert!(details.places.iter().any(|place| place.target == "/workspace" && !place.read_only), "{details:?}");
    assert!(details.limits.iter().any(|limit| limit.name == "processes" && limit.enforced), "{details:?}");
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_without_sleep_runs_and_its_shell_is_found() {
    let Some(socket) = engine::socket() else { return };
    let image = Image::make(&socket, &["dash"]).await;
    let world = World::with(socket, image);
    let sandbox = world.sandbox().await;
    let (code, out, _) = world.run(&sandbox, &["sh", "-c", "echo here"]).await;
    assert_eq!((code, out.as_str()), (0, "here\n"));
    assert_eq!(world.backend.evidence(sandbox.clone()).await.expect("evidence").processes, []);
    let mut link = world.open(&sandbox, &[], Size { rows: 24, cols: 80 }).await;
    super::world::read_until(&mut link, "$ ").await;
    link.control.close().await.expect("closed");
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_without_a_shell_says_so_in_one_sentence() {
    let Some(socket) = engine::socket() else { return };
    let image = Image::make(&socket, &["sleep"]).await;
    let world = World::with(socket, image);
    let sandbox = world.sandbox().await;
    let shell = session(&[], Size { rows: 24, cols: 80 });
    let error = world.backend.attach(sandbox.clone(), shell).await.err().expect("no session");
    assert_eq!(error.message, "there is no shell in the image: looked for sh, bash, ash, dash and /busybox/sh");
    assert_eq!(world.backend.evidence(sandbox).await.expect("evidence").processes, []);
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_that_cannot_be_had_is_a_clear_error_and_leaves_nothing() {
    let Some(world) = World::new().await else { return };
    let mut wanted = world.wanted();
    wanted.spec.image = Some("localhost:1/htui-test-no-such-image:1".into());
    let error = world.backend.provision(wanted, Box::new(|_| {})).await.expect_err("no image");
    assert_eq!(error.kind, FailureKind::Permanent);
    assert!(error.message.starts_with("the image localhost:1/htui-test-no-such-image:1 is not here"), "{error}");
    let found = world.backend.list().await.expect("a list");
    assert!(found.iter().all(|one| one.origin != Origin::Managed), "{found:?}");
    let mut wanted = world.wanted();
    wanted.spec.image = None;
    let error = world.backend.provision(wanted, Box::new(|_| {})).await.expect_err("no image");
    assert!(error.hint.contains("--image"), "{error:?}");
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_that_somebody_restarts_is_of_another_generation() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox().await;
    let docker = engine::client(&world.cleaner.socket).await;
    docker
        .restart_container(sandbox.as_str(), None::<bollard::query_parameters::RestartContainerOptions>)
        .await
        .expect("restarted");
    let info = world.backend.inspect(sandbox).await.expect("looks").expect("there");
    assert_eq!(info.generation.0, 2);
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_by_force_is_a_removal_from_its_first_event_on() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox().await;
    let mut events = world.backend.watch();
    assert!(matches!(next(&mut events).await, BackendEvent::Snapshot(found)
        if found.iter().filter(|one| one.origin == Origin::Managed).count() == 1));
    let docker = engine::client(&world.cleaner.socket).await;
    let options = RemoveContainerOptionsBuilder::default().force(true).build();
    docker.remove_container(sandbox.as_str(), Some(options)).await.expect("removed");
    let why = "its container was removed".to_owned();
    assert_eq!(next(&mut events).await, BackendEvent::Ended { sandbox, removed: true, why });
    world.cleaner.end().await;
}
