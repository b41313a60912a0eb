//! Persistent containers of the agent: listed as what they are, entered, left alone, and found again by it and by us.

use super::agent::{Agent, SOON, block};
use super::common::{text, wait_for};
use super::engine;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{CreateContainerOptionsBuilder, StopContainerOptionsBuilder};
use futures_util::StreamExt;
use hermes_tui::backend::{Backend, BackendEvent};
use hermes_tui::domain::{Chosen, FoundSandbox, Origin, Persistence, SandboxState};
use std::collections::{BTreeSet, HashMap};

/// Runs one command as the agent's tool and tells the container's id.
const MARK: &str = r#"
terminal("echo interop > /workspace/marker")
tell(container())
"#;

fn listed(agent: &Agent, backend: &dyn Backend) -> Vec<FoundSandbox> {
    let all = block(backend.list()).expect("a list");
    let of_this =
        |found: &FoundSandbox| found.watched.as_ref().and_then(|w| w.profile.clone()).as_ref() == Some(&agent.name);
    all.into_iter().filter(of_this).collect()
}

#[test]
fn what_an_agent_left_running_is_listed_with_its_profile_task_home_and_folders() {
    let Some(agent) = Agent::new("  lifetime_seconds: 120\n") else { return };
    let [id] = agent.run(MARK, &[]).try_into().expect("an id");
    let backend = agent.backend();
    let found = listed(&agent, &backend);
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((one.sandbox.as_str(), one.origin, one.state), (id.as_str(), Origin::Hermes, SandboxState::Running));
    assert_eq!((one.name.as_str(), one.persistence), (agent.listed_as("default").as_str(), Persistence::Persistent));
    let watched = one.watched.as_ref().expect("what is known");
    assert_eq!(
        (watched.task.as_deref(), watched.maker.as_str(), &watched.leak),
        (Some("default"), "leaves running", &None)
    );
    assert_eq!(watched.home.as_deref(), agent.home().to_str());
    let spec = one.spec.as_ref().expect("a spec");
    let source =
        |target: &str| spec.mounts.iter().find(|mount| mount.target == target).map(|mount| mount.source.clone());
    let folder = |part: &str| Some(agent.sandboxes().join("default").join(part).display().to_string());
    assert_eq!((source("/root"), source("/workspace")), (folder("home"), folder("workspace")));
    assert!(spec.env.is_empty() && spec.idle.as_seconds() == 120.0, "{spec:?}");

    let profile = agent.profile("off");
    let env = agent.env(&profile, "default");
    assert_eq!(
        (&env["origin"], &env["persistence"], &env["phase"]),
        (&"hermes".into(), &"persistent".into(), &"ready".into())
    );
    assert_eq!(env["sandbox"]["id"], id.as_str());
}

#[test]
fn a_shell_in_it_sees_its_files_and_neither_that_nor_our_end_touches_it() {
    let Some(agent) = Agent::new("") else { return };
    let [id] = agent.run(MARK, &[]).try_into().expect("an id");
    let since = agent.started(&id);
    let profile = agent.profile("off");
    let name = agent.listed_as("default");
    agent.env(&profile, "default");
    let Some(tmux) = agent.enter(&profile, "default") else { return };
    tmux.line("cat /workspace/mark*; pwd");
    tmux.wait("interop");
    tmux.leader("d");
    tmux.wait_for_the_end(0);
    let output = profile.run(&["exec", &name, "--", "cat", "/workspace/marker"]);
    assert_eq!((output.status.code(), text(&output).trim()), (Some(0), "interop"));
    assert_eq!(agent.started(&id), since);
    profile.shut_down();
    assert_eq!((agent.containers().len(), agent.started(&id)), (1, since), "it runs on as it did");
    // The first word to a host that never saw it finds it already.
    let output = agent.profile("off").run(&["exec", &name, "--", "cat", "/workspace/marker"]);
    assert_eq!((output.status.code(), text(&output).trim()), (Some(0), "interop"));
    let left = || agent.inspect(&id).exec_ids.unwrap_or_default();
    wait_for("our shells to be gone", SOON, || left().is_empty().then_some(()));
    // What we left behind is taken up by the agent.
    let told = agent.run("terminal('cat /workspace/marker')\ntell(container())", &[]);
    assert!(id.starts_with(&told[0]), "{told:?} is another than {id}");
}

#[test]
fn one_that_is_made_anew_is_the_same_environment_by_its_labels() {
    let Some(agent) = Agent::new("") else { return };
    let [first] = agent.run(MARK, &[]).try_into().expect("an id");
    let profile = agent.profile("off");
    let before = agent.env(&profile, "default");
    agent.remove(&first);
    agent.leaves(&profile, "default", "ready");
    let told =
        agent.run("terminal('cat /workspace/marker')\ntell(container())\ntell(terminal('hostname')['output'])", &[]);
    assert_ne!(told[0], first);
    let after =
        agent.env_once(&profile, "default", "the new container", |env| env["sandbox"]["id"] == told[0].as_str());
    assert_eq!((&after["id"], &after["phase"]), (&before["id"], &"ready".into()));
}

#[test]
fn one_that_ended_is_said_to_be_deleted_at_the_next_start_and_the_real_sweep_does_so() {
    let Some(agent) = Agent::new("  lifetime_seconds: 10\n") else { return };
    let [id] = agent.run(MARK, &[]).try_into().expect("an id");
    let options = StopContainerOptionsBuilder::default().t(1).build();
    block(async { engine::client(&agent.socket).await.stop_container(&id, Some(options)).await }).expect("stopped");
    let backend = agent.backend();
    let found = listed(&agent, &backend);
    let maker = found[0].watched.as_ref().expect("what is known").maker.clone();
    let finished = agent.inspect(&id).state.and_then(|state| state.finished_at).expect("an end");
    let finished: jiff::Timestamp = finished.parse().expect("a time");
    // Twice a minute, as the lifetime is shorter than one.
    let swept = finished + jiff::SignedDuration::from_secs(120);
    let clock = swept.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%H:%M").to_string();
    assert_eq!(
        (found[0].state, maker),
        (SandboxState::Stopped, format!("deletes it at its first start after {clock}"))
    );

    let profile = agent.profile("off");
    assert_eq!(agent.env(&profile, "default")["phase"], "stopped");
    let sweep = "from tools.environments.docker import reap_orphan_containers\n\
                 tell(reap_orphan_containers(max_age_seconds=0, profile_filter=os.environ['PROFILE']))";
    assert_eq!(agent.run(sweep, &[("PROFILE", &agent.name)]), ["1"]);
    assert!(agent.containers().is_empty());
    agent.leaves(&profile, "default", "stopped");
}

#[test]
fn several_of_one_task_are_told_apart_and_the_newest_that_runs_goes_on() {
    let Some(agent) = Agent::new("") else { return };
    let two = "a, b = [docker('twice', True, False) for _ in range(2)]\ntell(a._container_id)\ntell(b._container_id)\n\
               a._container_id = b._container_id = None";
    let [old, new] = agent.run(two, &[]).try_into().expect("two ids");
    let backend = agent.backend();
    let found = listed(&agent, &backend);
    let env = |id: &str| found.iter().find(|one| one.sandbox.as_str() == id).expect("listed").env.to_string();
    assert_eq!(env(&old), format!("{}-{}", env(&new), &old[..12]));
    agent.remove(&new);
    assert_eq!(listed(&agent, &backend)[0].env.to_string(), env(&new), "the other takes its place");
}

#[test]
fn a_decoy_and_a_container_of_another_profile_are_nothing_of_ours_and_any_other_can_be_chosen() {
    let Some(agent) = Agent::new("") else { return };
    let [id] = agent.run(MARK, &[]).try_into().expect("an id");
    let image = agent.inspect(&id).config.and_then(|config| config.image).expect("an image");
    let make = |name: &str, labels: &[(&str, &str)]| {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let body = ContainerCreateBody {
            image: Some(image.clone()),
            cmd: Some(vec!["sleep".to_owned(), "1000".to_owned()]),
            labels: Some(labels.chain([("hermes-profile".to_owned(), agent.name.clone())]).collect::<HashMap<_, _>>()),
            ..ContainerCreateBody::default()
        };
        let options = CreateContainerOptionsBuilder::default().name(name).build();
        let docker = async { engine::client(&agent.socket).await.create_container(Some(options), body).await };
        block(docker).expect("made").id
    };
    // Names are random, so that two runs do not meet.
    let decoy = format!("hermes-{}", &agent.name[1..9]);
    let decoy_id = make(&decoy, &[]);
    let other_id =
        make(&format!("{decoy}-other"), &[("hermes-tui.profile", "0123456789abcdef"), ("hermes-agent", "1")]);
    let backend = agent.backend();
    let ids =
        || block(backend.list()).expect("a list").into_iter().map(|one| one.sandbox.to_string()).collect::<Vec<_>>();
    assert!(ids().contains(&id) && !ids().contains(&decoy_id) && !ids().contains(&other_id));
    let candidates = block(backend.candidates()).expect("candidates");
    let names: Vec<&str> = candidates.iter().map(|one| one.name.as_str()).collect();
    assert!(names.contains(&decoy.as_str()) && candidates.iter().all(|one| one.sandbox.as_str() != id), "{names:?}");
    assert!(candidates.iter().all(|one| one.sandbox.as_str() != other_id), "another profile's is not offered");

    let foreign = |all: &[FoundSandbox]| all.iter().find(|one| one.sandbox.as_str() == decoy_id).map(|one| one.origin);
    let shown = block(async {
        let mut events = backend.watch();
        let mut next = async || tokio::time::timeout(SOON, events.next()).await.expect("in time");
        let first = next().await;
        backend.choose(Chosen { keys: BTreeSet::from([decoy.clone()]), ..Chosen::default() });
        // What happens in other containers meanwhile is told, too.
        let mut after = None;
        while after.is_none() {
            if let BackendEvent::Snapshot(found) = next().await.expect("it goes on") {
                after = foreign(&found);
            }
        }
        (first, after)
    });
    let (Some(BackendEvent::Snapshot(before)), after) = shown else { panic!("{shown:?}") };
    assert_eq!((foreign(&before), after), (None, Some(Origin::Foreign)));
    backend.choose(Chosen::default());
    assert!(!ids().contains(&decoy_id));
    let refused = block(backend.remove(hermes_tui::domain::SandboxId::new(&decoy_id), Origin::Hermes));
    assert!(refused.is_err(), "what is not listed is not ended");
    assert_eq!(agent.containers().len(), 3, "all untouched");
}

#[test]
fn a_configuration_that_cannot_be_read_is_no_obstacle() {
    let Some(agent) = Agent::new("  lifetime_seconds: [\n") else { return };
    let [id] = agent.run("e = docker('default', True, True)\ntell(e._container_id)", &[]).try_into().expect("an id");
    let backend = agent.backend();
    let found = listed(&agent, &backend);
    assert_eq!(found[0].sandbox.as_str(), id);
    assert_eq!(found[0].spec.as_ref().expect("a spec").idle.as_seconds(), 300.0);
}
