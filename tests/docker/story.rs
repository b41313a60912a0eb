//! Environments in containers, through the commands: what ends them and what does not.

use super::common::{Profile, text, wait_for};
use super::engine::{self, Cleaner, Image, started_at};
use hermes_tui::backend::docker::DockerConfig;
use serde_json::Value;
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
        let image = Image::usual(&socket).await;
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

    async fn over(self) {
        let output = self.profile.run(&["shutdown"]);
        assert!(output.status.success(), "{}", text(&output));
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
    story.profile.wait_for_phase(&env, "stopped", SOON);
    assert_eq!(story.containers(), std::slice::from_ref(&id), "stopped, not removed");

    let third = story.begin("c1", &[]);
    assert_eq!(third["sandbox"]["id"], id.as_str(), "the same container, started again");
    assert_eq!(third["sandbox"]["generation"], 2);
    assert_eq!(story.shell("c1", "cat /workspace/marker"), "kept\n");
    story.over().await;
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
        wait_for(&format!("{conversation} to be {expected}"), SOON, || {
            let output = story.profile.run(&["--json", "env", "show", env]);
            let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let phase = shown["environment"]["phase"].as_str().unwrap_or("absent").to_owned();
            (phase == *expected).then_some(())
        });
    }
    let output = story.profile.run(&["shutdown"]);
    assert!(output.status.success(), "{}", text(&output));
    story.cleaner.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persistent_container_outlives_its_host_and_is_found_again() {
    let Some(mut story) = Story::new().await else { return };
    let first = story.begin("c1", &["--persistent"]);
    let env = first["environment"].as_str().expect("an environment").to_owned();
    story.end("c1");
    let output = story.profile.run(&["shutdown"]);
    assert!(output.status.success(), "{}", text(&output));
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
