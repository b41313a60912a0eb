//! One container for each conversation, by rules of the configuration: each retention through the end of its
//! conversation, idleness, a restart of our host and one of the engine; and isolation of all but the main one.

use super::common::{PATIENCE, Profile, text, wait_for};
use super::engine::{self, Cleaner, Image};
use super::own_engine::Dockerd;
use hermes_tui::backend::docker::DockerConfig;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// A profile whose conversations are placed by rules.
struct Talks {
    profile: Profile,
    cleaner: Cleaner,
}

/// What a conversation has.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    env: String,
    container: String,
    generation: u64,
}

impl Talks {
    async fn new(socket: &Path, rules: &str) -> Self {
        // With what keeps the state of a shell.
        let programs =
            ["bash", "cat", "dash", "env", "head", "id", "ls", "mkdir", "mv", "printf", "sleep", "stty", "touch", "tr"];
        let image = Image::make(socket, &programs).await;
        let mut profile = Profile::with_variables(&[("DOCKER_HOST", &format!("unix://{}", socket.display()))]);
        let config = profile.path().join("config");
        std::fs::create_dir_all(&config).expect("a folder");
        let defaults = format!("[env]\nbackend = \"docker\"\nimage = \"{}\"\nidle = 0\n", image.name);
        std::fs::write(config.join("config.toml"), defaults + rules).expect("a file");
        profile.serve();
        let cleaner = Cleaner::new(DockerConfig::new(profile.path().join("data"), &|_| None), socket.to_owned(), image);
        Self { profile, cleaner }
    }

    /// Begins a turn of a conversation that a rule places.
    fn begin(&self, conversation: &str, kind: &str) -> Place {
        let begun = self.profile.json(&["turn", "begin", "--conversation", conversation, "--kind", kind]);
        assert!(begun["rule"].is_string(), "a rule chose it: {begun}");
        Self::place(&begun)
    }

    /// Begins another turn of a conversation that has a place.
    fn find(&self, conversation: &str) -> Place {
        Self::place(&self.profile.json(&["turn", "begin", "--conversation", conversation]))
    }

    fn place(begun: &Value) -> Place {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let generation = begun["sandbox"]["generation"].as_u64().expect("a number");
        Place { env: text(&begun["environment"]), container: text(&begun["sandbox"]["id"]), generation }
    }

    fn end_turn(&self, conversation: &str) {
        self.profile.json(&["turn", "end", "--conversation", conversation]);
    }

    fn end(&self, conversation: &str) {
        self.profile.json(&["conversation", "end", conversation]);
    }

    fn shell(&self, conversation: &str, script: &str) -> String {
        let output = self.profile.run(&["exec", "--conversation", conversation, "--shell", script]);
        assert!(output.status.success(), "{conversation}: {script}: {}", text(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Files in its workspace and in its own layer.
    fn files(&self, conversation: &str) -> String {
        self.shell(conversation, "cat /workspace/mine; ls /layer-* 2>/dev/null || true")
    }

    fn containers(&self) -> BTreeSet<String> {
        let all = async { engine::containers(&engine::client(&self.cleaner.socket).await, &self.cleaner.config).await };
        engine::wait(all).into_iter().collect()
    }

    fn wait_for(&self, place: &Place, phase: &str) {
        self.profile.wait_for_phase(&place.env, phase, PATIENCE);
    }

    fn wait_for_engine(&self, state: &str) {
        wait_for(&format!("the engine to be {state}"), PATIENCE, || {
            let list = self.profile.json(&["env", "list"]);
            let all = list["endpoints"].as_array()?.clone();
            all.iter().any(|one| one["backend"] == "docker" && one["state"] == state).then_some(())
        });
    }

    async fn over(self) {
        self.profile.shut_down();
        self.cleaner.end().await;
    }
}

/// Retention; where its container stands after the end of its conversation, and when it was idle.
const RETENTIONS: [(&str, &str, &str); 4] = [
    ("stop_on_session_end", "stopped", "stopped"),
    ("keep_running", "ready", "ready"),
    ("remove_on_session_end", "absent", "absent"),
    ("idle_ttl", "ready", "absent"),
];

/// Conversations with a container of their own for each retention, called like it, and the same with a short idle time.
fn rules() -> String {
    let rule = |(retention, ..): &(&str, &str, &str)| {
        format!(
            "[[rule]]\nkind = \"{retention}\"\nretention = \"{retention}\"\n\
             [[rule]]\nkind = \"idle-{retention}\"\nretention = \"{retention}\"\nidle = 2\n"
        )
    };
    RETENTIONS.iter().map(rule).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_conversation_has_a_container_that_its_retention_keeps_through_everything_that_ends_others() {
    let Some(engine) = Dockerd::start(false) else { return };
    let mut talks = Talks::new(&engine.socket(), &rules()).await;
    let mut places: Vec<Place> = Vec::new();
    for (conversation, ..) in RETENTIONS {
        places.push(talks.begin(conversation, conversation));
        talks.shell(conversation, &format!("echo {conversation} > /workspace/mine; touch /layer-{conversation}"));
    }
    let containers: BTreeSet<String> = places.iter().map(|place| place.container.clone()).collect();
    assert_eq!((containers.len(), &talks.containers()), (4, &containers), "one for each");
    let whole = |conversation: &str| format!("{conversation}\n/layer-{conversation}\n");
    for (conversation, ..) in RETENTIONS {
        assert_eq!(talks.files(conversation), whole(conversation), "nothing of the others is in it");
        talks.end_turn(conversation);
    }

    // Our host ends and starts again: all of them run on, and each conversation finds its own, also by the labels alone.
    for journal in [true, false] {
        talks.profile.shut_down();
        assert_eq!(talks.containers(), containers);
        if !journal {
            talks.profile.forget_the_journal();
        }
        talks.profile.serve();
        for ((conversation, ..), place) in RETENTIONS.iter().zip(&places) {
            assert_eq!(talks.find(conversation), *place, "{conversation}, journal: {journal}");
            assert_eq!(talks.files(conversation), whole(conversation));
            talks.end_turn(conversation);
        }
    }

    // So does the engine, which stops them: they are the same ones, started again.
    engine::wait(async { engine.end(Signal::SIGTERM) });
    talks.wait_for_engine("unreachable");
    engine::wait(async { engine.up() });
    talks.wait_for_engine("ok");
    for ((conversation, ..), place) in RETENTIONS.iter().zip(&mut places) {
        talks.wait_for(place, "stopped");
        let again = talks.find(conversation);
        assert_eq!(again, Place { generation: 2, ..place.clone() }, "{conversation}");
        assert_eq!(talks.files(conversation), whole(conversation));
        talks.end_turn(conversation);
        *place = again;
    }
    assert_eq!(talks.containers(), containers);

    // The conversations end, and go on after all.
    for (conversation, ..) in RETENTIONS {
        talks.end(conversation);
    }
    for ((_, at_end, _), place) in RETENTIONS.iter().zip(&places).filter(|((_, phase, _), _)| *phase != "ready") {
        talks.wait_for(place, at_end);
    }
    for ((conversation, at_end, _), place) in RETENTIONS.iter().zip(&places) {
        // By now whatever would happen to those that run has had its time.
        assert_eq!(talks.profile.env(&place.env)["phase"], *at_end, "{conversation}");
        let again = talks.find(conversation);
        assert_eq!(again.env, place.env);
        assert_eq!(again.container == place.container, *at_end != "absent", "{conversation}");
        assert_eq!(again.generation, if *at_end == "ready" { 2 } else { 3 }, "{conversation}");
        // Its files outlive even its removal; what was written anywhere else goes with the container.
        let kept = if *at_end == "absent" { format!("{conversation}\n") } else { whole(conversation) };
        assert_eq!(talks.files(conversation), kept);
    }
    idle(&talks);
    talks.over().await;
}

/// Nobody uses them for their idle time.
fn idle(talks: &Talks) {
    let conversations = RETENTIONS.map(|(retention, _, phase)| (format!("idle-{retention}"), phase));
    let places: Vec<Place> = conversations.iter().map(|(name, _)| talks.begin(name, name)).collect();
    for (name, _) in &conversations {
        talks.shell(name, &format!("echo {name} > /workspace/mine; touch /layer-{name}"));
        talks.end_turn(name);
    }
    for ((_, phase), place) in conversations.iter().zip(&places).filter(|((_, phase), _)| *phase != "ready") {
        talks.wait_for(place, phase);
    }
    for ((name, phase), place) in conversations.iter().zip(&places) {
        assert_eq!(talks.profile.env(&place.env)["phase"], *phase, "{name}");
        let again = talks.find(name);
        assert_eq!((&again.env, again.container == place.container), (&place.env, *phase != "absent"), "{name}");
        let kept = if *phase == "absent" { format!("{name}\n") } else { format!("{name}\n/layer-{name}\n") };
        assert_eq!(talks.files(name), kept, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_isolates_every_conversation_but_the_main_one() {
    let Some(socket) = engine::socket() else { return };
    let rules = "[[rule]]\nkind = \"main\"\nenv_name = \"main\"\nretention = \"keep_running\"\n\
                 [[rule]]\npersistence = \"ephemeral\"\n";
    let talks = Talks::new(&socket, rules).await;
    let main = talks.begin("talk", "main");
    assert_eq!(talks.begin("talk-2", "main"), main);
    let cron = talks.begin("nightly", "cron");
    let sub = talks.begin("helper", "subagent");
    let all: BTreeSet<&str> = [&main, &cron, &sub].map(|place| place.container.as_str()).into();
    assert_eq!((all.len(), talks.containers().len()), (3, 3));
    talks.shell("talk", "echo ours > /workspace/mine; touch /layer-main");
    assert_eq!(talks.files("talk-2"), "ours\n/layer-main\n");
    for other in ["nightly", "helper"] {
        assert_eq!(talks.shell(other, "ls /workspace; ls /layer-* 2>/dev/null || true"), "", "{other}");
        talks.shell(other, &format!("echo {other} > /workspace/mine"));
    }
    assert_eq!(talks.files("talk"), "ours\n/layer-main\n");
    for conversation in ["talk", "talk-2", "nightly"] {
        talks.end(conversation);
    }
    let left = BTreeSet::from([main.container.clone(), sub.container.clone()]);
    wait_for("the end of the isolated one", PATIENCE, || (talks.containers() == left).then_some(()));
    assert_eq!(talks.begin("talk-3", "main"), main, "the main one runs on");
    talks.over().await;
}
