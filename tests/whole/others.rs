//! Sandboxes that are not ours, with the whole host around them.

use crate::harness::{Build, START, World, until};
use hermes_tui::backend::fake::{FakeBackend, Op};
use hermes_tui::backend::{BackendError, BackendEvent, ProvisionSpec};
use hermes_tui::domain::{
    Answer, BackendKind, CallId, Consent, Deed, EndpointId, EnvId, EnvSpec, Event, FailureKind, Generation, HermesReap,
    Leak, LeakKind, NoticeKind, Origin, Persistence, Phase, RefusalKind, Request, SandboxId, Scope, Span, Watched,
};
use hermes_tui::runtime::clock::ManualClock;
use std::path::Path;

fn backend() -> FakeBackend {
    FakeBackend::new(BackendKind::Docker, "docker")
}

fn wanted(name: &str, persistence: Persistence) -> ProvisionSpec {
    let spec = EnvSpec {
        backend: BackendKind::Docker,
        endpoint: EndpointId::new("docker"),
        persistence,
        scope: Scope::Shared,
        ..EnvSpec::local()
    };
    ProvisionSpec {
        env: EnvId::new(name),
        name: name.into(),
        generation: Generation(1),
        spec,
        home: "/nowhere".into(),
        workspace: "/nowhere".into(),
        conversation: None,
    }
}

fn hermes(backend: &FakeBackend, name: &str, persistence: Persistence, leak: bool) -> SandboxId {
    let leak = leak.then(|| Leak { kind: LeakKind::Probe, evidence: "its task is a probe".into() });
    let watched = Watched { profile: Some("work".into()), leak, maker: "leaves running".into(), ..Watched::default() };
    backend.plant_other(wanted(name, persistence), Origin::Hermes, Some(watched))
}

async fn start(backend: &FakeBackend, clock: &ManualClock, journal: Option<&Path>) -> World {
    Build { backend: backend.clone(), clock: clock.clone(), journal, ..Build::default() }.world().await
}

async fn consent(world: &World, reap: HermesReap) {
    world.handle.tell(Event::ConsentGiven(Consent { reap, ..Consent::default() })).await;
    world.settle().await;
}

#[tokio::test]
async fn without_consent_nothing_of_others_is_ended_and_with_it_only_what_it_names() {
    let (backend, clock) = (backend(), ManualClock::new(START));
    hermes(&backend, "default", Persistence::Persistent, false);
    hermes(&backend, "passing", Persistence::Ephemeral, false);
    hermes(&backend, "probe", Persistence::Persistent, true);
    let world = start(&backend, &clock, None).await;
    for _ in 0..20 {
        world.pass(Span::seconds(600)).await;
    }
    assert_eq!((world.asked("stop"), world.asked("remove")), (0, 0));
    consent(&world, HermesReap::Leaked).await;
    for _ in 0..20 {
        world.pass(Span::seconds(60)).await;
    }
    assert_eq!((world.asked("stop"), world.asked("remove")), (0, 1));
    let left: Vec<String> = world.state().await.environments.into_values().map(|env| env.name).collect();
    assert_eq!(left, ["default", "passing"]);
    world.assert_correct();
}

#[tokio::test]
async fn stopped_by_hand_it_is_started_again_and_the_same_container_goes_on() {
    let (backend, clock) = (backend(), ManualClock::new(START));
    let sandbox = hermes(&backend, "default", Persistence::Persistent, false);
    let world = start(&backend, &clock, None).await;
    let id = EnvId::new("default");
    let refused = world.ask(Request::Stop { env: id.clone(), force: true }).await.expect_err("not ours");
    assert_eq!(refused.kind, RefusalKind::Policy);
    world.ask(Request::EndOther { env: id.clone(), deed: Deed::Stop, force: false }).await.expect("stopped");
    assert_eq!(world.env(&id).await.phase, Phase::Stopped);
    world.ask(Request::Start(id.clone())).await.expect("started");
    assert_eq!(world.env(&id).await.sandbox, Some(sandbox));
    // And ended again: what its backend says of it now is believed.
    backend.relist();
    world.settle().await;
    world.ask(Request::EndOther { env: id.clone(), deed: Deed::Remove, force: false }).await.expect("removed");
    assert!(!world.state().await.environments.contains_key(&id));
    world.assert_correct();
}

#[tokio::test]
async fn one_that_was_started_again_between_decision_and_deed_is_spared() {
    let (backend, clock) = (backend(), ManualClock::new(START));
    let sandbox = hermes(&backend, "default", Persistence::Persistent, false);
    let world = start(&backend, &clock, None).await;
    backend.alter(&sandbox, |found| found.generation = Generation(2));
    let id = EnvId::new("default");
    let refused = world.ask(Request::EndOther { env: id.clone(), deed: Deed::Remove, force: true }).await;
    assert!(refused.expect_err("a surprise").message.contains("started again meanwhile"));
    assert_eq!(world.asked("remove"), 0);
}

#[tokio::test]
async fn a_container_is_chosen_from_a_list_on_the_screen() {
    let backend = backend();
    backend.plant_other(wanted("db", Persistence::Unknown), Origin::Foreign, None);
    backend.plant_other(wanted("web", Persistence::Unknown), Origin::Foreign, None);
    let mut world = start(&backend, &ManualClock::new(START), None).await;
    world.keys("A").await;
    let list = world.see("web").await;
    assert!(list.contains("show a container") && list.contains("docker, running"), "{list}");
    world.typed("db").await;
    let list = world.see_that("only the one", |text| !text.contains("web")).await;
    assert!(list.contains("db"), "{list}");
    world.keys("enter").await;
    let chosen = world.until("the chosen one", |state| state.environments.keys().next().cloned()).await;
    assert_eq!(world.env(&chosen).await.name, "db");
    // It is selected.
    world.keys("enter").await;
    world.until("a shell in it", |state| state.sessions.values().any(|one| one.env == chosen).then_some(())).await;
    world.keys("ctrl+b A").await;
    world.typed("db").await;
    world.see("nothing matches").await;
    world.keys("esc").await;
    // What cannot be asked says why.
    backend.fail_next(Op::List, BackendError::new(FailureKind::Unreachable, "docker does not answer", "start it"));
    world.keys("ctrl+b A").await;
    world.see("docker does not answer").await;
    world.assert_correct();
}

#[tokio::test]
async fn a_chosen_container_is_shown_again_by_the_next_host_until_it_is_forgotten() {
    let dir = tempfile::tempdir().expect("a folder");
    let journal = dir.path().join("journal.db");
    let (backend, clock) = (backend(), ManualClock::new(START));
    backend.plant_other(wanted("db", Persistence::Unknown), Origin::Foreign, None);
    let world = start(&backend, &clock, Some(&journal)).await;
    assert!(world.state().await.environments.is_empty(), "nobody chose it");
    let adopt = Request::Adopt { endpoint: EndpointId::new("docker"), container: "db".into() };
    let Answer::Environment(id) = world.ask(adopt).await.expect("shown") else { panic!("another answer") };
    world.ask(Request::Rename { env: id.clone(), name: "database".into() }).await.expect("renamed");
    world.crash().await;
    // A fresh backend knows nothing of the choice.
    let fresh = FakeBackend::new(BackendKind::Docker, "docker");
    fresh.plant_other(wanted("db", Persistence::Unknown), Origin::Foreign, None);
    let mut world = start(&fresh, &clock, Some(&journal)).await;
    let name = until("the chosen one", async || Some(world.state().await.environments.get(&id)?.name.clone())).await;
    assert_eq!(name, "database");
    world.settle().await;
    for gone in [NoticeKind::EnvLost, NoticeKind::EnvRemoved] {
        assert_eq!(world.told(gone).await, Vec::<String>::new(), "its first list already has it");
    }
    world.ask(Request::Forget(id.clone())).await.expect("forgotten");
    assert!(world.state().await.environments.is_empty());
    fresh.relist();
    world.settle().await;
    assert!(world.state().await.environments.is_empty());
    assert_eq!((world.asked("stop"), world.asked("remove")), (0, 0));
}

#[tokio::test]
async fn what_others_run_holds_and_is_shown() {
    let (backend, clock) = (backend(), ManualClock::new(START));
    let sandbox = hermes(&backend, "passing", Persistence::Ephemeral, false);
    let mut world = start(&backend, &clock, None).await;
    consent(&world, HermesReap::Ephemeral).await;
    let exec = CallId::new("x1");
    let command = "cargo test".to_owned();
    backend.tell(BackendEvent::ExecBegan { sandbox, exec: exec.clone(), command, cwd: Some("/root".into()) });
    world.until("the command", |state| state.calls.get(&exec).map(|_| ())).await;
    for _ in 0..10 {
        world.pass(Span::seconds(600)).await;
    }
    assert_eq!(world.env(&EnvId::new("passing")).await.phase, Phase::Ready);
    world.keys("j a").await;
    world.see("commands · passing").await;
    world.see("cargo test").await;
    backend.tell(BackendEvent::ExecEnded { exec: exec.clone(), exit_code: Some(0), cwd: None });
    world.until("its end", |state| state.calls.get(&exec)?.exit_code).await;
    for _ in 0..10 {
        world.pass(Span::seconds(60)).await;
    }
    assert!(world.state().await.environments.is_empty(), "its idle time is over");
    world.assert_correct();
}
