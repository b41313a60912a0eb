//! Environments in containers, through the commands: what ends them and what does not.

use super::common::{Profile, moment, text, wait_for};
use super::engine::{self, Cleaner, Image, started_at};
use super::world::World;
use bollard::Docker;
use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, InspectContainerOptions, RemoveContainerOptionsBuilder,
    RenameContainerOptionsBuilder, RestartContainerOptionsBuilder, StartContainerOptions,
};
use hermes_tui::app::Msg;
use hermes_tui::backend::Backend;
use hermes_tui::backend::docker::DockerConfig;
use hermes_tui::domain::{Deed, EnvId, Event, FailureKind, Generation, Origin, SandboxId};
use hermes_tui::runtime::effects::{Ending, Performer};
use hermes_tui::runtime::inbound::{self, Inbound};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

/// A profile with a host over the engine.
struct Story {
    profile: Profile,
    cleaner: Cleaner,
}

impl Story {
    async fn new() -> Option<Self> {
        let socket = engine::socket()?;
        // With what keeps the state of a shell in the home directory.
        let programs =
            ["bash", "cat", "dash", "env", "head", "id", "ls", "mkdir", "mv", "printf", "sleep", "stty", "touch", "tr"];
        let image = Image::make(&socket, &programs).await;
        // The engine of the machine is found by itself where it is in its usual place; elsewhere it is named.
        let profile = Profile::with_variable("DOCKER_HOST", &format!("unix://{}", socket.display()));
        let data = profile.path().join("data");
        let config = DockerConfig::new(data, &|_| None);
        Some(Self { profile, cleaner: Cleaner::new(config, socket, image) })
    }

    fn begin(&self, conversation: &str, more: &[&str]) -> Value {
        let image = self.cleaner.image.name.clone();
        let mut args = vec!["turn", "begin", "--conversation", conversation, "--backend", "docker", "--image", &image];
        args.extend_from_slice(more);
        self.profile.json(&args)
    }

    fn shell(&self, conversation: &str, script: &str) -> String {
        let output = self.profile.run(&["exec", "--conversation", conversation, "--shell", script]);
        assert!(output.status.success(), "{script}: {}", text(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    fn end(&self, conversation: &str) {
        self.profile.json(&["turn", "end", "--conversation", conversation]);
    }

    fn containers(&self) -> Vec<String> {
        engine::wait(async {
            engine::containers(&engine::client(&self.cleaner.socket).await, &self.cleaner.config).await
        })
    }

    /// Waits until an environment is in this phase; one that is not listed any more is `absent`.
    fn wait_for_phase(&self, what: &str, env: &str, phase: &str) {
        wait_for(&format!("{what} to be {phase}"), SOON, || {
            let output = self.profile.run(&["--json", "env", "show", env]);
            let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            (shown["environment"]["phase"].as_str().unwrap_or("absent") == phase).then_some(())
        });
    }

    async fn over(self) {
        self.profile.shut_down();
        self.cleaner.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persistent_container_survives_its_turns_and_is_stopped_when_idle() {
    let Some(story) = Story::new().await else { return };
    let first = story.begin("c1", &["--persistent", "--idle", "4"]);
    let env = first["environment"].as_str().expect("an environment").to_owned();
    let id = first["sandbox"]["id"].as_str().expect("a container").to_owned();
    let started = started_at(&story.cleaner.socket, &id).await;
    story.shell("c1", "echo kept > /workspace/marker; export MOOD=good; cd /tmp");
    assert_eq!(story.shell("c1", "echo $MOOD; pwd"), "good\n/tmp\n", "the shell state carries over");
    story.end("c1");
    let after = story.profile.env(&env);
    assert_eq!((&after["phase"], &after["isolation"]), (&"ready".into(), &"container".into()));

    let second = story.begin("c1", &[]);
    assert_eq!((&second["sandbox"], &second["session"]), (&first["sandbox"], &first["session"]));
    assert_eq!(started_at(&story.cleaner.socket, &id).await, started, "nobody started it again");
    assert_eq!(story.shell("c1", "cat /workspace/marker"), "kept\n");
    story.end("c1");
    let deadline = moment(&story.profile.env(&env)["idle_deadline_at"]);
    story.profile.wait_for_phase(&env, "stopped", SOON);
    // A container that is told to end takes its time, and is part of this; it begins within a second.
    println!("stopped {} ms after its idle deadline", jiff::Timestamp::now().duration_since(deadline).as_millis());
    assert_eq!(story.containers(), std::slice::from_ref(&id), "stopped, not removed");

    let third = story.begin("c1", &[]);
    assert_eq!(third["sandbox"]["id"], id.as_str(), "the same container, started again");
    assert_eq!(third["sandbox"]["generation"], 2);
    let kept = story.shell("c1", "cat /workspace/marker; echo $MOOD; pwd");
    assert_eq!(kept, "kept\ngood\n/tmp\n", "files, variables and the directory outlive the stop");
    story.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_begins_where_the_agent_is() {
    let Some(story) = Story::new().await else { return };
    let env = story.begin("c1", &["--persistent"])["environment"].as_str().expect("an environment").to_owned();
    let shows = |line: &str, sign: &str| {
        let new = story.profile.json(&["session", "new", &env, "--where-agent"]);
        let id = new["session"]["id"].as_str().expect("an id").to_owned();
        story.profile.json(&["session", "wait", &id, "--text", "hermes-tui:", "--timeout", "20"]);
        story.profile.json(&["session", "send-keys", &id, "-l", line]);
        story.profile.json(&["session", "send-keys", &id, "Enter"]);
        story.profile.json(&["session", "wait", &id, "--text", sign, "--timeout", "20"]);
        story.profile.json(&["session", "capture", &id])["text"].as_str().expect("a text").replace('\n', "")
    };
    story.shell("c1", "mkdir /workspace/sub && cd /workspace/sub && export MOOD=good");
    let screen = shows("echo \"<$MOOD|$PWD|${HTUI_CALL-}>\"", "<good|/workspace/sub|>");
    assert!(screen.contains("where the agent is: /workspace/sub, with the variables"), "{screen}");
    story.shell("c1", "mkdir gone && cd gone && mv ../gone ../away");
    let screen = shows("echo \"<$MOOD|$PWD>\"", "<good|/workspace>");
    assert!(screen.contains("/workspace/sub/gone cannot be entered or is gone: this is /workspace,"), "{screen}");
    // The shell is found, whatever path the agent searches.
    story.shell("c1", "cd /; export PATH=/nowhere");
    shows("echo \"<$PATH|$PWD>\"", "</nowhere|/>");
    let verdict = story.profile.json(&["reap", "--explain", &env]).to_string();
    assert!(!verdict.contains("\"process\""), "shells at their prompts hold nothing: {verdict}");
    story.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_of_somebody_else_that_is_renamed_stays_what_it_is() {
    let Some(story) = Story::new().await else { return };
    let id = engine::somebody_elses(&story.cleaner.socket, &story.cleaner.image.name, |_| {}).await;
    story.cleaner.others.lock().expect("whole").push(id.clone());
    let docker = engine::client(&story.cleaner.socket).await;
    let rename = async |name: &str| {
        let options = RenameContainerOptionsBuilder::default().name(name).build();
        docker.rename_container(&id, options).await.expect("renamed");
    };
    let (before, after) = (format!("htui-{}-before", &id[..12]), format!("htui-{}-after", &id[..12]));
    rename(&before).await;
    story.profile.json(&["env", "adopt", &before]);
    let env = story.profile.env(&before);
    let session = story.profile.json(&["session", "new", &before, "--", "sleep", "1000"])["session"]["id"].clone();
    rename(&after).await;
    wait_for("its new name", SOON, || {
        let list = story.profile.json(&["env", "list"]);
        let all = list["environments"].as_array()?;
        let [only] = all.as_slice() else { return None };
        (only["name"] == after.as_str()).then_some(())
    });
    let renamed = story.profile.env(&after);
    assert_eq!((&renamed["id"], &renamed["phase"]), (&env["id"], &"ready".into()));
    assert!(story.profile.sessions().iter().any(|one| one["id"] == session), "whoever is in it stays in it");
    // So does the next host.
    let mut story = story;
    story.profile.shut_down();
    story.profile.serve();
    let found = story.profile.wait_for_phase(&after, "ready", SOON);
    assert_eq!((&found["id"], &found["sandbox"]["id"]), (&env["id"], &id.as_str().into()));
    // Off the list, it comes back under none of its names.
    story.profile.json(&["env", "rm", &after]);
    rename(&before).await;
    story.profile.shut_down();
    story.profile.serve();
    assert_eq!(story.profile.json(&["env", "list"])["environments"], serde_json::json!([]));
    story.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_the_name_of_a_chosen_container_goes_on_as_its_environment() {
    let Some(story) = Story::new().await else { return };
    let docker = engine::client(&story.cleaner.socket).await;
    let make = async |name: &str| {
        let id = engine::somebody_elses(&story.cleaner.socket, &story.cleaner.image.name, |_| {}).await;
        story.cleaner.others.lock().expect("whole").push(id.clone());
        let options = RenameContainerOptionsBuilder::default().name(name).build();
        docker.rename_container(&id, options).await.expect("renamed");
        id
    };
    let name = format!("htui-web-{}", std::process::id());
    let old = make(&name).await;
    story.profile.json(&["env", "adopt", &name]);
    let env = story.profile.env(&name);
    // As compose makes one anew: under another name first, the old one goes, and the name is given on.
    let new = make(&format!("{name}-next")).await;
    let options = RemoveContainerOptionsBuilder::default().force(true).build();
    docker.remove_container(&old, Some(options)).await.expect("removed");
    story.cleaner.others.lock().expect("whole").retain(|id| *id != old);
    let options = RenameContainerOptionsBuilder::default().name(&name).build();
    docker.rename_container(&new, options).await.expect("renamed");
    let found = wait_for("the new one", SOON, || {
        let list = story.profile.json(&["env", "list"]);
        let all = list["environments"].as_array()?.clone();
        all.into_iter().find(|env| env["sandbox"]["id"] == new.as_str())
    });
    assert_eq!((&found["id"], &found["name"]), (&env["id"], &env["name"]));
    story.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_container_serves_conversations_until_the_last_one_ends() {
    let Some(story) = Story::new().await else { return };
    for persistence in ["--persistent", "--ephemeral"] {
        let (a, b) = (format!("a{persistence}"), format!("b{persistence}"));
        let first = story.begin(&a, &[persistence, "--scope", "shared", "--idle", "0"]);
        let env = first["environment"].as_str().expect("an environment").to_owned();
        story.shell(&a, "echo from a > /workspace/note; export WHO=a");
        let second = story.profile.json(&["turn", "begin", "--conversation", &b, "--env-name", &env]);
        assert_eq!(second["sandbox"], first["sandbox"]);
        assert_ne!(second["session"], first["session"], "each conversation has a shell of its own");
        assert_eq!(story.shell(&b, "cat /workspace/note; echo ${WHO-nobody}"), "from a\nnobody\n");
        story.end(&a);
        story.end(&b);
        story.profile.json(&["conversation", "end", &a]);
        assert_eq!(story.profile.env(&env)["phase"], "ready", "the other conversation goes on");
        story.profile.json(&["conversation", "end", &b]);
        let (end, left) = if persistence == "--persistent" { ("stopped", 1) } else { ("absent", 1) };
        story.wait_for_phase("the shared one", &env, end);
        assert_eq!(story.containers().len(), left, "the persistent one stays");
    }
    story.over().await;
}

/// A container of somebody else that runs.
async fn running(docker: &Docker, cleaner: &Cleaner, name: &str, labels: HashMap<String, String>) -> String {
    let body = ContainerCreateBody {
        image: Some(cleaner.image.name.clone()),
        cmd: Some(vec!["sleep".to_owned(), "1000".to_owned()]),
        labels: Some(labels),
        host_config: Some(HostConfig { network_mode: Some("none".to_owned()), ..HostConfig::default() }),
        ..ContainerCreateBody::default()
    };
    let options = CreateContainerOptionsBuilder::default().name(name).build();
    let id = docker.create_container(Some(options), body).await.expect("made").id;
    cleaner.others.lock().expect("whole").push(id.clone());
    docker.start_container(&id, None::<StartContainerOptions>).await.expect("started");
    id
}

async fn runs(docker: &Docker, id: &str) -> bool {
    let found = docker.inspect_container(id, None::<InspectContainerOptions>).await.expect("it is there");
    found.state.and_then(|state| state.running) == Some(true)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn containers_of_others_are_not_touched_whatever_they_are_called_or_labelled() {
    let Some(story) = Story::new().await else { return };
    let docker = engine::client(&story.cleaner.socket).await;
    let begun = story.begin("c1", &["--ephemeral"]);
    let own = begun["sandbox"]["id"].as_str().expect("a container").to_owned();
    // The labels of this very container, but of another profile; and a name as a hermes-agent gives it.
    let found = docker.inspect_container(&own, None::<InspectContainerOptions>).await;
    let mut labels = found.expect("it is there").config.and_then(|config| config.labels).expect("labels");
    labels.insert("hermes-tui.profile".to_owned(), "0123456789abcdef".to_owned());
    let unique = uuid::Uuid::new_v4().simple().to_string();
    let decoy = format!("hermes-{}", &unique[..8]);
    let neighbour = running(&docker, &story.cleaner, &format!("htui-neighbour-{unique}"), labels).await;
    let decoy = running(&docker, &story.cleaner, &decoy, HashMap::new()).await;
    let before = [started_at(&story.cleaner.socket, &neighbour).await, started_at(&story.cleaner.socket, &decoy).await];

    let listed = story.profile.json(&["env", "list"]).to_string();
    assert!(!listed.contains(&neighbour) && !listed.contains(&decoy), "{listed}");
    story.end("c1");
    story.profile.json(&["reap"]);
    story.profile.json(&["conversation", "end", "c1"]);
    wait_for("our own to go", SOON, || story.containers().is_empty().then_some(()));
    // Nor by their very ids.
    let backend = engine::backend(&story.cleaner.config);
    for id in [&neighbour, &decoy] {
        let sandbox = SandboxId::new(id.as_str());
        for refused in [
            backend.stop(sandbox.clone(), Origin::Managed).await,
            backend.remove(sandbox.clone(), Origin::Managed).await,
        ] {
            let error = refused.expect_err("it is not ours");
            assert_eq!(error.kind, FailureKind::Surprise);
            assert!(
                error.message.contains("was not made by this profile") && error.hint.contains("left alone"),
                "{error:?}"
            );
        }
        let known = story.profile.run(&["env", "rm", id, "--yes"]);
        assert_eq!(known.status.code(), Some(1), "{}", text(&known));
    }
    story.profile.shut_down();
    let after = [started_at(&story.cleaner.socket, &neighbour).await, started_at(&story.cleaner.socket, &decoy).await];
    assert_eq!(after, before);
    for id in [&neighbour, &decoy] {
        assert!(runs(&docker, id).await, "it runs as before");
    }
    story.cleaner.end().await;
}

/// What the reaper decided is about a container as it was then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_that_is_restarted_between_decision_and_deed_is_left_alone() {
    let Some(world) = World::new().await else { return };
    let sandbox = world.sandbox().await;
    let docker = engine::client(&world.cleaner.socket).await;
    let (inbox, mut outbox) = inbound::channel();
    let backend: Arc<dyn Backend> = world.backend.clone();
    let backends = BTreeMap::from([(backend.endpoint(), backend.clone())]);
    let performer = Performer::new(backends, world.folder.path().join("data/envs"), inbox);
    let mut told = async || tokio::time::timeout(SOON, outbox.first.recv()).await.expect("in time");
    let decided = |generation: u64, deed: Deed| Ending {
        whose: Origin::Managed,
        env: EnvId::new("e1"),
        endpoint: backend.endpoint(),
        generation: Generation(generation),
        listed: Generation(generation),
        sandbox: sandbox.clone(),
        deed,
        ordered: false,
    };
    let options = || RestartContainerOptionsBuilder::default().t(1).build();
    docker.restart_container(sandbox.as_str(), Some(options())).await.expect("restarted");
    let started = started_at(&world.cleaner.socket, sandbox.as_str()).await;
    for deed in [Deed::Stop, Deed::Remove] {
        performer.teardown(decided(1, deed));
        let Some(Inbound::Msg(Msg::Domain(Event::TeardownFailed { kind, message, .. }))) = told().await else {
            panic!("it must not be ended");
        };
        assert_eq!(kind, FailureKind::Surprise);
        assert!(message.contains("was started again meanwhile"), "{message}");
    }
    assert_eq!(started_at(&world.cleaner.socket, sandbox.as_str()).await, started);
    assert!(runs(&docker, sandbox.as_str()).await);
    // Decided anew, it is.
    performer.teardown(decided(2, Deed::Stop));
    let done = told().await;
    assert!(matches!(done, Some(Inbound::Msg(Msg::Domain(Event::TeardownDone { .. })))));
    assert!(!runs(&docker, sandbox.as_str()).await);
    world.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ephemeral_container_goes_with_its_scope() {
    let Some(story) = Story::new().await else { return };
    story.begin("turns", &["--ephemeral", "--scope", "turn"]);
    story.begin("talk", &["--ephemeral"]);
    assert_eq!(story.containers().len(), 2);
    story.end("turns");
    wait_for("the container of the turn to go", SOON, || (story.containers().len() == 1).then_some(()));
    story.end("talk");
    assert_eq!(story.containers().len(), 1, "the end of a turn is not the end of the conversation");
    story.profile.json(&["conversation", "end", "talk"]);
    wait_for("the container of the conversation to go", SOON, || story.containers().is_empty().then_some(()));
    story.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_retention_does_what_it_says_at_the_end_of_a_conversation_and_when_idle() {
    let Some(story) = Story::new().await else { return };
    // Retention; after the end of its conversation; when idle. Idle times are never for the first of each pair.
    let cases = [
        ("stop_on_session_end", "stopped", "stopped"),
        ("keep_running", "ready", "ready"),
        ("remove_on_session_end", "absent", "absent"),
        ("idle_ttl", "ready", "absent"),
    ];
    let mut made = Vec::new();
    for (retention, at_end, when_idle) in cases {
        for (kind, idle, expected) in [("end", "0", at_end), ("idle", "2", when_idle)] {
            let conversation = format!("{kind}-{retention}");
            let begun = story.begin(&conversation, &["--persistent", "--retention", retention, "--idle", idle]);
            made.push((conversation, kind, expected, begun["environment"].as_str().expect("an id").to_owned()));
        }
    }
    for (conversation, kind, ..) in &made {
        story.end(conversation);
        if *kind == "end" {
            story.profile.json(&["conversation", "end", conversation]);
        }
    }
    // Those that change, first; by then whatever would happen to the others has had its time.
    made.sort_by_key(|(_, _, expected, _)| *expected == "ready");
    for (conversation, _, expected, env) in &made {
        story.wait_for_phase(conversation, env, expected);
    }
    story.profile.shut_down();
    story.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persistent_container_outlives_its_host_and_is_found_again() {
    let Some(mut story) = Story::new().await else { return };
    let first = story.begin("c1", &["--persistent"]);
    let env = first["environment"].as_str().expect("an environment").to_owned();
    story.end("c1");
    story.profile.shut_down();
    let id = first["sandbox"]["id"].as_str().expect("a container").to_owned();
    assert_eq!(story.containers(), [id]);
    story.profile.serve();
    story.profile.wait_for_phase(&env, "ready", SOON);
    let second = story.begin("c1", &[]);
    assert_eq!(second["sandbox"]["id"], first["sandbox"]["id"]);
    story.over().await;
}

#[test]
fn without_an_engine_local_sandboxes_work_and_the_endpoint_says_what_was_tried() {
    let profile = Profile::with_variable("DOCKER_HOST", "unix:///nonexistent/engine.sock");
    let begun = profile.json(&["turn", "begin", "--conversation", "c1", "--backend", "local"]);
    assert!(begun["sandbox"]["id"].is_string(), "{begun}");
    let endpoint = wait_for("the endpoint to be down", SOON, || {
        let list = profile.json(&["env", "list"]);
        let all = list["endpoints"].as_array().expect("endpoints").clone();
        all.into_iter().find(|one| one["backend"] == "docker" && one["state"] == "unreachable")
    });
    assert!(endpoint["detail"].as_str().expect("a text").contains("/nonexistent/engine.sock"), "{endpoint}");
    let output = profile.run(&["env", "new", "x", "--backend", "docker"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("--image"), "{}", text(&output));
}
