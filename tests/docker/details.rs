//! What is told of a container: where its files are and what survives, its limits, and where it is not what was asked
//! for any more.

use super::common::Profile;
use super::engine::{self, Cleaner, Image};
use super::world::{PATIENCE, World};
use bollard::models::ContainerUpdateBody;
use bollard::query_parameters::{RemoveImageOptions, TagImageOptionsBuilder};
use futures_util::StreamExt;
use hermes_tui::backend::Backend;
use hermes_tui::backend::details::PlaceKind;
use hermes_tui::backend::docker::DockerConfig;
use hermes_tui::domain::{Mount, SandboxId};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn env_show_tells_what_a_container_is_made_of_and_how_it_drifted() {
    let Some(socket) = engine::socket() else { return };
    let (image, other) = (Image::usual(&socket).await, Image::make(&socket, &["dash", "sleep"]).await);
    let profile = Profile::with_variable("DOCKER_HOST", &format!("unix://{}", socket.display()));
    let cleaner = Cleaner::new(DockerConfig::new(profile.path().join("data"), &|_| None), socket.clone(), image);
    let docker = engine::client(&socket).await;
    // A name of the test's own, that comes to mean another image.
    let (name, tag) = ("htui-test", uuid::Uuid::new_v4().simple().to_string());
    let options = || TagImageOptionsBuilder::default().repo(name).tag(&tag).build();
    docker.tag_image(&cleaner.image.name, Some(options())).await.expect("tagged");
    let wanted = format!("{name}:{tag}");
    let folder = profile.path().join("shared");
    std::fs::create_dir(&folder).expect("a folder");
    let mount = format!("{}:/shared:ro", folder.display());
    let made = profile.json(&[
        "env",
        "new",
        "box",
        "--backend",
        "docker",
        "--image",
        &wanted,
        "--memory",
        "64M",
        "--mount",
        &mount,
        "--env",
        "API_TOKEN=very-secret-value",
    ]);
    let id = made["environment"]["sandbox"]["id"].as_str().expect("a container").to_owned();
    let found = profile.env("box");
    let whole = found.to_string();
    assert!(!whole.contains("very-secret-value"), "{whole}");
    assert_eq!(found["variables"], json!(["API_TOKEN"]));
    assert_eq!(found["drift"], json!([]), "{whole}");
    assert!(found["details"]["image"]["id"].as_str().is_some_and(|id| id.starts_with("sha256:")), "{whole}");
    assert!(found["labels"]["hermes-tui.environment"].is_string() && found["labels"]["hermes-tui.spec"].is_null());
    let place = |target: &str| -> Value {
        let all = found["mounts"].as_array().expect("mounts");
        all.iter().find(|one| one["target"] == target).unwrap_or_else(|| panic!("{target} in {whole}")).clone()
    };
    let told = |target: &str| {
        let place = place(target);
        (
            place["kind"].clone(),
            place["read_only"] == true,
            place["survives_stop"] == true,
            place["survives_removal"] == true,
        )
    };
    assert_eq!(told("/shared"), (json!("bind"), true, true, true));
    assert_eq!(told("/workspace"), (json!("bind"), false, true, true));
    assert_eq!(told("/tmp"), (json!("tmpfs"), false, false, false));
    assert_eq!(told("/"), (json!("layer"), false, true, false));
    let limit = |name: &str| -> Value {
        let all = found["limits"].as_array().expect("limits");
        all.iter().find(|one| one["name"] == name).cloned().unwrap_or_default()
    };
    assert_eq!(limit("memory"), json!({"name": "memory", "value": "64 MiB", "enforced": true}));
    let shown = profile.run(&["env", "show", "box"]);
    let shown = super::common::text(&shown);
    for line in ["/shared ro", "memory on /tmp rw, lost with a stop", "its own files on / rw, lost with a removal"] {
        assert!(shown.contains(line), "{line:?} in:\n{shown}");
    }

    let update = ContainerUpdateBody { memory: Some(128 << 20), memory_swap: Some(128 << 20), ..Default::default() };
    docker.update_container(&id, update).await.expect("updated");
    docker.tag_image(&other.name, Some(options())).await.expect("tagged");
    let drift = profile.env("box")["drift"].to_string();
    assert!(drift.contains("memory limit: 64 MiB was asked for, it is 128 MiB"), "{drift}");
    assert!(drift.contains(&format!("{wanted} now names another image")), "{drift}");
    docker.remove_image(&wanted, None::<RemoveImageOptions>, None).await.expect("untagged");
    profile.shut_down();
    cleaner.end().await;
    other.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_container_uses_is_told_while_somebody_listens() {
    let Some(world) = World::new().await else { return };
    let mut wanted = world.wanted();
    let folder = world.folder.path().join("shared");
    std::fs::create_dir(&folder).expect("a folder");
    let mount = Mount { source: folder.display().to_string(), target: "/shared".into(), read_only: false };
    wanted.spec.mounts.push(mount);
    let made = world.backend.provision(wanted, Box::new(|_| {})).await.expect("a container");
    let sandbox = made.sandbox;
    let details = world.backend.details(sandbox.clone()).await.expect("looks").expect("there");
    let kinds: Vec<(&str, PlaceKind)> = details.places.iter().map(|one| (one.target.as_str(), one.kind)).collect();
    assert!(kinds.contains(&("/shared", PlaceKind::Bind)) && kinds.contains(&("/", PlaceKind::Layer)), "{kinds:?}");
    assert!(details.created.is_some() && details.started >= details.created, "{details:?}");
    let mut stats = world.backend.stats(sandbox.clone());
    let busy = world
        .open(&sandbox, &["sh", "-c", "while :; do :; done"], hermes_tui::domain::Size { rows: 5, cols: 40 })
        .await;
    let seen = tokio::time::timeout(PATIENCE, async {
        loop {
            let now = stats.next().await.expect("figures");
            if now.cpu_permille > 100 {
                return now;
            }
        }
    });
    let seen = seen.await.expect("it is busy");
    assert!(seen.memory_bytes > 0 && seen.pids > 1 && seen.memory_limit.is_some(), "{seen:?}");
    busy.control.close().await.expect("closed");
    assert_eq!(world.backend.details(SandboxId::new("0".repeat(64))).await.expect("looks"), None);
    world.cleaner.end().await;
}
