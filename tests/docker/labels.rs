//! Containers of hermes-agents' sessions: what their label says is shown, and nothing is done against it.

use super::common::{Profile, text};
use super::engine::{self, Cleaner, Image};
use bollard::models::ContainerCreateBody;
use hermes_tui::backend::docker::DockerConfig;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// Labels of a hermes-agent's container of this profile and task, and its folder at the usual place of its home.
fn of_hermes(body: &mut ContainerCreateBody, home: &Path, profile: &str, task: &str, label: Option<&str>) {
    let folder = home.join("sandboxes/docker").join(task).join("home");
    std::fs::create_dir_all(&folder).expect("a folder");
    let labels = [("hermes-agent", "1"), ("hermes-profile", profile), ("hermes-task-id", task)];
    let labels = labels.into_iter().chain(label.map(|label| ("hermes-session-retention", label)));
    body.labels =
        Some(labels.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<HashMap<String, String>>());
    body.host_config.as_mut().expect("a host configuration").binds = Some(vec![format!("{}:/root", folder.display())]);
}

fn facts(env: &Value) -> Vec<String> {
    let facts = env["verdict"]["evidence"].as_array().expect("evidence");
    facts
        .iter()
        .filter(|fact| fact["what"] == "retention")
        .map(|fact| fact["detail"].as_str().expect("a text").to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_label_of_a_session_says_is_shown_and_nothing_is_done_against_it() {
    let Some(socket) = engine::socket() else { return };
    let image = Image::usual(&socket).await;
    let mut profile = Profile::with_variables(&[("DOCKER_HOST", &format!("unix://{}", socket.display()))]);
    let config = profile.path().join("config");
    std::fs::create_dir_all(&config).expect("a folder");
    std::fs::write(config.join("config.toml"), "[hermes]\nreap = \"stale\"\n").expect("a file");
    let cleaner = Cleaner::new(DockerConfig::new(profile.path().join("data"), &|_| None), socket, image);
    // Of no other test, and its home is found by the mounts alone.
    let theirs = format!("t{}", uuid::Uuid::new_v4().simple());
    let home = tempfile::tempdir().expect("a folder");
    let settings = "terminal:\n  backend: docker\n  docker_session_container_ttl_seconds: 2592000\n";
    std::fs::write(home.path().join("config.yaml"), settings).expect("a file");
    let cases = [
        (None, "default", "leaves running", Some("stopped in 7 d")),
        (
            Some("stop_on_session_end"),
            "session_a",
            "stops it at the end of its session or when idle",
            Some("stopped in 7 d"),
        ),
        (Some("keep_running"), "session_b", "leaves running, also when its session ends", None),
        (
            Some("remove_on_session_end"),
            "session_c",
            "removes it at the end of its session or when idle",
            Some("stopped in 7 d"),
        ),
        (Some("idle_ttl"), "session_d", "removes it when it was idle for long", Some("stopped in 30 d")),
        (Some("for_ever"), "session_e", "leaves running", None),
    ];
    for (label, task, ..) in cases {
        let change = |body: &mut ContainerCreateBody| of_hermes(body, home.path(), &theirs, task, label);
        let id = engine::somebody_elses(&cleaner.socket, &cleaner.image.name, change).await;
        cleaner.others.lock().expect("whole").push(id);
    }
    profile.serve();
    for (label, task, maker, due) in cases {
        let env = profile.env(&format!("{theirs}.{task}"));
        assert_eq!(
            (env["origin"].as_str(), env["persistence"].as_str()),
            (Some("hermes"), Some("persistent")),
            "{env}"
        );
        assert_eq!(
            (env["watched"]["retention"].as_str(), env["watched"]["maker"].as_str()),
            (label, Some(maker)),
            "{task}"
        );
        let scope = if label.is_some() { "session" } else { "shared" };
        let known = label.filter(|label| *label != "for_ever").unwrap_or("keep_running");
        assert_eq!((env["scope"].as_str(), env["retention"].as_str()), (Some(scope), Some(known)), "{task}");
        let told: Vec<String> =
            label.map(|label| format!("{label}, by its hermes-agent's label")).into_iter().collect();
        assert_eq!(facts(&env), told);
        let reason = env["verdict"]["reason"].as_str().expect("a reason");
        match (due, label) {
            (Some(due), _) => assert!(reason.starts_with(due), "{task}: {reason}"),
            (None, label) => {
                let said = format!("never ended by us, for its label says {}", label.expect("one"));
                assert!(env["verdict"]["kind"] == "not_ours" && reason.ends_with(&said), "{task}: {reason}");
            }
        }
    }
    let page = text(&profile.run(&["env", "show", &format!("{theirs}.session_b")]));
    assert!(page.lines().any(|line| line.starts_with("its label") && line.ends_with("keep_running")), "{page}");
    // By hand, what follows is said first, and is right: only one of them is spared by the next start.
    for (task, spared) in [("session_a", true), ("session_b", false)] {
        let name = format!("{theirs}.{task}");
        let asked = text(&profile.run(&["env", "stop", &name]));
        assert_eq!(asked.contains("spares it while it is stopped"), spared, "{asked}");
        profile.json(&["env", "stop", &name, "--yes"]);
        let env = profile.env(&name);
        assert_eq!((&env["phase"], env["watched"]["swept_from"].is_null()), (&"stopped".into(), spared), "{env}");
    }
    profile.shut_down();
    cleaner.end().await;
}
