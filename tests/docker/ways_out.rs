//! Each way out, with a local sandbox and a container of each kind: what ends, what runs on, and what the next host
//! finds.

use super::common::{FOREGROUND, PATIENCE, Process, Profile, Tmux, text, wait_for, wait_until_gone};
use super::engine::{self, Cleaner, Image, started_at};
use bollard::Docker;
use bollard::query_parameters::InspectContainerOptions;
use hermes_tui::backend::docker::DockerConfig;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::time::Duration;

/// A host that was started for a need leaves half a minute after there is nothing left to host.
const ALONE: Duration = Duration::from_secs(60);

/// A profile with a persistent and an ephemeral environment of each backend, and a program in a session of each.
struct House {
    profile: Profile,
    cleaner: Cleaner,
    docker: Docker,
}

/// What there is after it was furnished.
struct Furniture {
    /// Container of the persistent environment.
    kept: String,
    started: String,
    /// Container of the ephemeral one.
    short: String,
    /// Session of the persistent local one.
    session: Value,
    /// Its program, and those of the ephemeral local one.
    programs: Vec<Process>,
}

impl House {
    async fn new() -> Option<Self> {
        let socket = engine::socket()?;
        let image = Image::usual(&socket).await;
        let profile = Profile::with_variables(&[("DOCKER_HOST", &format!("unix://{}", socket.display()))]);
        let docker = engine::client(&socket).await;
        let cleaner = Cleaner::new(DockerConfig::new(profile.path().join("data"), &|_| None), socket, image);
        Some(Self { profile, cleaner, docker })
    }

    /// The numbers that the programs sleep for tell them from those of other tests.
    async fn furnish(&self, number: &str) -> Furniture {
        let image = &self.cleaner.image.name;
        let local = ["--backend", "local"].as_slice();
        let docker = ["--backend", "docker", "--image", image];
        let docker = docker.as_slice();
        let mut sandboxes = Vec::new();
        let mut sessions = Vec::new();
        for (backend, kind, lifetime) in [
            ("local", local, "--persistent"),
            ("local", local, "--ephemeral"),
            ("docker", docker, "--persistent"),
            ("docker", docker, "--ephemeral"),
        ] {
            let name = format!("{backend}{lifetime}");
            let new = [&["env", "new", &name, lifetime, "--idle", "0"], kind].concat();
            let made = self.profile.json(&new);
            sandboxes.push(made["environment"]["sandbox"]["id"].as_str().expect("a sandbox").to_owned());
            let touched = self.profile.run(&["exec", &name, "--", "sh", "-c", "echo kept > /workspace/f"]);
            assert!(touched.status.success(), "{}", text(&touched));
            sessions
                .push(self.profile.json(&["session", "new", &name, "--", "sleep", number])["session"]["id"].clone());
        }
        let host = self.profile.host_process();
        let is_it = |process: &Process| {
            let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
            line.ends_with(format!("sleep\0{number}\0").as_bytes())
        };
        let programs = wait_for("the local programs", PATIENCE, || {
            let programs: Vec<Process> = Process::tree(host.pid).into_iter().filter(is_it).collect();
            (programs.len() == 2).then_some(programs)
        });
        let [_, _, kept, short] = sandboxes.try_into().expect("four");
        let started = started_at(&self.cleaner.socket, &kept).await;
        Furniture { kept, started, short, session: sessions.swap_remove(0), programs }
    }

    /// `None`: there is no such container.
    async fn runs(&self, id: &str) -> Option<bool> {
        let found = self.docker.inspect_container(id, None::<InspectContainerOptions>).await.ok()?;
        found.state?.running
    }

    /// Whether a program runs in a container.
    async fn has(&self, id: &str, number: &str) -> bool {
        let top = self.docker.top_processes(id, None).await.expect("a container that runs");
        top.processes.unwrap_or_default().iter().flatten().any(|word| word.ends_with(&format!("sleep {number}")))
    }

    fn names(&self) -> Vec<String> {
        let list = self.profile.json(&["env", "list"]);
        let all = list["environments"].as_array().expect("a list").iter();
        let mut names: Vec<String> = all.filter_map(|env| env["name"].as_str().map(str::to_owned)).collect();
        names.sort();
        names
    }

    /// The end that product and people call normal: what is ephemeral is gone, a persistent container runs on without
    /// what we ran in it, a persistent local sandbox is stopped, and the next host finds both with their files.
    async fn assert_ended_in_order(&mut self, furniture: &Furniture, number: &str) {
        wait_until_gone("local programs", &furniture.programs);
        assert_eq!((self.runs(&furniture.kept).await, self.runs(&furniture.short).await), (Some(true), None));
        assert!(!self.has(&furniture.kept, number).await, "a shell without its host would run for ever");
        self.profile.serve();
        assert_eq!(self.names(), ["docker--persistent", "local--persistent"]);
        assert_eq!(self.profile.env("docker--persistent")["phase"], "ready");
        assert_eq!(started_at(&self.cleaner.socket, &furniture.kept).await, furniture.started, "nobody touched it");
        assert_eq!(self.profile.env("local--persistent")["phase"], "stopped");
        self.assert_files();
    }

    fn assert_files(&self) {
        for name in ["docker--persistent", "local--persistent"] {
            self.profile.json(&["env", "start", name]);
            let kept = self.profile.run(&["exec", name, "--", "cat", "/workspace/f"]);
            assert_eq!(text(&kept), "kept\n");
        }
    }

    /// Everything is as it was.
    async fn assert_untouched(&self, furniture: &Furniture, number: &str) {
        assert!(furniture.programs.iter().all(|program| program.lives()));
        for id in [&furniture.kept, &furniture.short] {
            assert!(self.runs(id).await == Some(true) && self.has(id, number).await);
        }
        assert_eq!(self.profile.sessions().len(), 4);
    }

    async fn over(self) {
        self.profile.shut_down();
        self.cleaner.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_ends_in_order() {
    let Some(mut house) = House::new().await else { return };
    let furniture = house.furnish("100001").await;
    house.profile.shut_down();
    house.assert_ended_in_order(&furniture, "100001").await;
    house.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_ends_in_order() {
    let Some(mut house) = House::new().await else { return };
    house.profile.serve();
    let furniture = house.furnish("100002").await;
    let host = house.profile.host_process();
    host.signal(Signal::SIGTERM);
    wait_until_gone("the host", &[host]);
    house.assert_ended_in_order(&furniture, "100002").await;
    house.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_in_the_foreground_ends_in_order_with_its_screen() {
    let Some(mut house) = House::new().await else { return };
    let Some(tmux) = Tmux::start(&house.profile, 120, 30, &format!("{FOREGROUND}; echo ended=$?")) else { return };
    tmux.wait("new sandbox");
    let furniture = house.furnish("100003").await;
    tmux.leader("d");
    tmux.wait("End hermes-tui?");
    tmux.keys(&["q"]);
    tmux.wait_for_the_end(0);
    tmux.assert_whole();
    house.assert_ended_in_order(&furniture, "100003").await;
    house.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_with_keep_leaves_everything_to_the_next_host() {
    let Some(mut house) = House::new().await else { return };
    let furniture = house.furnish("100004").await;
    let output = house.profile.run(&["shutdown", "--keep"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(furniture.programs.iter().all(|program| program.lives()), "{}", text(&output));
    for id in [&furniture.kept, &furniture.short] {
        assert_eq!(house.runs(id).await, Some(true));
        assert!(!house.has(id, "100004").await, "an engine lets nobody take over an exec");
    }
    house.profile.serve();
    assert_eq!(house.names(), ["docker--ephemeral", "docker--persistent", "local--ephemeral", "local--persistent"]);
    wait_for("the local sessions to go on", PATIENCE, || {
        let running = house.profile.sessions();
        (running.len() == 2 && running.iter().any(|one| one["id"] == furniture.session)).then_some(())
    });
    assert!(furniture.programs.iter().all(|program| program.lives()));
    assert_eq!(started_at(&house.cleaner.socket, &furniture.kept).await, furniture.started);
    house.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_the_screen_ends_nothing() {
    let Some(house) = House::new().await else { return };
    let furniture = house.furnish("100005").await;
    let host = house.profile.host_process();
    for keys in [["C-b", "d"], ["C-b", "q"]] {
        let tmux = Tmux::attach(&house.profile, 120, 30).expect("tmux");
        tmux.wait("environments");
        tmux.keys(&keys);
        tmux.wait_for_the_end(0);
        tmux.assert_whole();
        assert_eq!(house.profile.host_process(), host);
        house.assert_untouched(&furniture, "100005").await;
    }
    house.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_with_nothing_left_leaves_by_itself_and_the_next_one_knows_what_there_was() {
    let Some(house) = House::new().await else { return };
    let furniture = house.furnish("100006").await;
    let host = house.profile.host_process();
    for name in ["local--ephemeral", "docker--ephemeral"] {
        house.profile.json(&["env", "rm", name, "--force", "--yes"]);
    }
    for name in ["local--persistent", "docker--persistent"] {
        house.profile.json(&["env", "stop", name, "--force", "--yes"]);
    }
    wait_until_gone("local programs", &furniture.programs);
    wait_for("the host to leave", ALONE, || (!host.lives()).then_some(()));
    assert_eq!((house.runs(&furniture.kept).await, house.runs(&furniture.short).await), (Some(false), None));
    assert_eq!(house.names(), ["docker--persistent", "local--persistent"]);
    assert_ne!(house.profile.host_process(), host);
    house.assert_files();
    house.over().await;
}
