//! The story that this program began with, with the whole agent: its persistent container outlives three turns and our
//! idle deadline, whatever may be ended of what hermes-agents made, while what it leaked goes where that is allowed.

use super::agent::{Agent, SOON};
use super::common::{Profile, text, wait_for};
use super::ephemeral::{LONG_EXPIRED, SHORT, stays};
use super::model::{Model, Step};
use super::real::outline;
use serde_json::{Value, json};

/// The task of the container that it makes for one look at the image, and leaves behind.
const PROBE: &str = "prompt-backend-probe";

/// A host of ours with an environment of its own in a container, which goes also after a failure.
struct Beside(Profile);

impl Beside {
    fn new(agent: &Agent, reap: &str) -> Self {
        let beside = Self(agent.profile(reap));
        let image = agent.image_name();
        beside.0.json(&["env", "new", "beside", "--backend", "docker", "--image", &image, "--idle", "5"]);
        beside
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.0.run(&["env", "rm", "beside", "--data", "--yes", "--force"]);
    }
}

/// With hosts of ours that each may end this much. All of them see the same agent.
pub fn story(reaps: &[&str]) {
    let Some(agent) = Agent::new(SHORT) else { return };
    let model = Model::start();
    agent.use_model(model.port);
    let beside: Vec<Beside> = reaps.iter().map(|reap| Beside::new(&agent, reap)).collect();
    let profiles: Vec<&Profile> = beside.iter().map(|one| &one.0).collect();
    let mut ids = Vec::new();
    let mut resume: Option<String> = None;
    for prompt in ["one", "two", "three"] {
        model.will(vec![Step::Run(json!({"command": format!("echo {prompt} >> /workspace/kept")})), Step::Say("done")]);
        let mut args = vec!["chat", "--yolo", "-Q"];
        args.extend(resume.as_deref().map(|id| ["--resume", id]).into_iter().flatten());
        args.extend(["-q", prompt]);
        let output = agent.hermes(&args).output().expect("it runs");
        assert!(output.status.success(), "{}", text(&output));
        let newest =
            || Some(profiles[0].json(&["conversation", "list"])["conversations"][0]["id"].as_str()?.to_owned());
        resume = Some(wait_for("the conversation", SOON, newest));
        let container = agent.env(profiles[0], "default")["sandbox"]["id"].as_str().expect("it runs").to_owned();
        ids.push((agent.started(&container), container));
    }
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "it outlives its turns: {ids:?}");
    let conversation = resume.expect("a conversation");
    for &profile in &profiles {
        let turns = ["one", "two", "three"]
            .map(|prompt| json!([prompt, "done", [[format!("echo {prompt} >> /workspace/kept"), 0]]]));
        let mut seen = Value::Null;
        wait_for("its turns", SOON, || {
            let now = outline(profile, &conversation);
            if now != seen {
                eprintln!("turns of {conversation}: {now}");
                seen = now;
            }
            (seen == json!(turns)).then_some(())
        });
    }
    // Its own code takes that one up, or makes it where the agent had no time for its look.
    agent.run(&format!("e = docker('{PROBE}', True, True)\ntell(e._container_id)"), &[]);
    let leak = agent.env(profiles[0], PROBE);
    assert_eq!(leak["watched"]["leak"]["kind"], "probe", "{leak}");
    for &profile in &profiles {
        stays(&agent, profile, "default", LONG_EXPIRED / u32::try_from(profiles.len()).expect("few"), |env| {
            env["phase"] == "ready" && env["persistence"] == "persistent"
        });
    }
    assert_eq!(agent.started(&ids[0].1), ids[0].0, "and our idle deadline");
    for (&profile, reap) in profiles.iter().zip(reaps) {
        let leaked = |env: &Value| env["phase"] == "ready";
        match *reap {
            "off" => assert!(agent.shown(profile, PROBE).is_some_and(|env| leaked(&env)), "nothing may be ended"),
            _ => wait_for("the leak to be removed", SOON, || agent.shown(profile, PROBE).is_none().then_some(())),
        }
        let beside = profile.json(&["env", "show", "beside"])["environment"].clone();
        assert_eq!(beside["phase"], "stopped", "{beside}");
        assert!(beside["last_ending"]["why"].as_str().is_some_and(|why| why.contains("idle")), "{beside}");
    }
}
