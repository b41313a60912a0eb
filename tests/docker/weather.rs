//! What others do to a container that somebody works in, and an engine that goes away: right on the screen, at once.
//!
//! Times are printed for people. What is asserted is generous: the machine of a test may be busy.

use super::common::{PATIENCE, Profile, Tmux, moment, text, wait_for};
use super::engine::{self, Cleaner, Image};
use super::own_engine::{Dockerd, Tap};
use bollard::Docker;
use bollard::query_parameters::{
    InspectContainerOptions, RemoveContainerOptionsBuilder, RestartContainerOptionsBuilder, StartContainerOptions,
    StopContainerOptionsBuilder,
};
use hermes_tui::backend::docker::DockerConfig;
use nix::sys::signal::Signal;
use std::cell::Cell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// For what is on the screen within a second where nothing else runs.
const AT_ONCE: Duration = Duration::from_secs(4);

/// A screen with a shell in a container.
struct Weather {
    tmux: Tmux,
    profile: Profile,
    cleaner: Cleaner,
    docker: Docker,
    id: String,
    /// How often a shell has printed its last line.
    lines: Cell<u32>,
}

impl Weather {
    /// `socket` is where the program finds the engine, `engine` where the test does.
    async fn new(socket: PathBuf, engine: PathBuf, idle: &str) -> Option<Self> {
        let image = Image::usual(&engine).await;
        let profile = Profile::with_variables(&[("DOCKER_HOST", &format!("unix://{}", socket.display()))]);
        let cleaner = Cleaner::new(DockerConfig::new(profile.path().join("data"), &|_| None), engine.clone(), image);
        let Some(tmux) = Tmux::open(&profile, 120, 30) else {
            cleaner.end().await;
            return None;
        };
        tmux.wait("environments");
        let new = ["env", "new", "box", "--backend", "docker", "--image", &cleaner.image.name, "--idle", idle];
        let made = profile.json(&new);
        let id = made["environment"]["sandbox"]["id"].as_str().expect("a container").to_owned();
        tmux.wait("P box");
        tmux.goes_to("box");
        tmux.wait("root@box");
        let docker = engine::client(&engine).await;
        let weather = Self { tmux, profile, cleaner, docker, id, lines: Cell::new(0) };
        weather.work();
        Some(weather)
    }

    async fn usual() -> Option<Self> {
        let socket = engine::socket()?;
        Self::new(socket.clone(), socket, "300").await
    }

    /// Has the shell print a line that it has not printed before, and that is not what is typed.
    fn work(&self) {
        self.lines.set(self.lines.get() + 1);
        self.tmux.line(&format!("echo 'the ''last line: {}'", self.lines.get()));
        self.tmux.wait_until("the last line", |screen| self.keeps(screen));
    }

    /// Whether the screen still shows what the shell printed last.
    fn keeps(&self, screen: &str) -> bool {
        screen.contains(&format!("the last line: {}", self.lines.get()))
    }

    /// Waits until the screen says so, and prints how long that took.
    fn shown(&self, what: &str, since: Instant, look: impl Fn(&str) -> bool) -> String {
        let screen = self.tmux.wait_until(what, look);
        let took = since.elapsed();
        println!("{what}: on the screen after {} ms", took.as_millis());
        assert!(took < AT_ONCE, "{what}: only after {took:?}");
        screen
    }

    /// The row of the environment in the sidebar.
    fn row(screen: &str) -> &str {
        screen.lines().find_map(|line| line.split('│').nth(1).filter(|row| row.contains(" P box"))).unwrap_or_default()
    }

    fn is_marked(screen: &str, mark: char, word: &str) -> bool {
        let row = Self::row(screen);
        row.contains(mark) && row.contains(word)
    }

    /// Makes the sandbox run again by the key for it, with a new shell.
    fn again(&self) {
        self.tmux.leader("r");
        wait_for("a new shell", PATIENCE, || {
            let generation = &self.profile.env("box")["sandbox"]["generation"];
            let sessions = self.profile.sessions();
            sessions.iter().any(|session| session["generation"] == *generation).then_some(())
        });
        self.tmux.wait("root@box");
        self.work();
    }

    async fn state(&self) -> bollard::models::ContainerState {
        let found = self.docker.inspect_container(&self.id, None::<InspectContainerOptions>).await;
        found.expect("it is there").state.expect("a state")
    }

    /// The row of the environment in `env list`, with one blank between words.
    fn listed(&self) -> String {
        let all = text(&self.profile.run(&["env", "list"]));
        let row = all.lines().find(|row| row.starts_with("box ")).unwrap_or_else(|| panic!("no row: {all}"));
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    async fn over(self) {
        self.profile.shut_down();
        self.tmux.wait_for_the_end(0);
        self.cleaner.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_details_say_what_a_container_uses_while_they_are_on_the_screen_and_not_longer() {
    let Some(socket) = engine::socket() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let tap = Tap::new(folder.path().join("tap.sock"), socket.clone());
    let Some(weather) = Weather::new(tap.path.clone(), socket, "300").await else { return };
    weather.tmux.leader("i");
    let screen = weather.tmux.wait_until("what it uses", |screen| {
        screen.contains("details")
            && screen.contains("% of a core")
            && screen.contains("/tmp writable, lost with a stop")
    });
    assert!(screen.contains("uses") && screen.contains("processes 4096"), "{screen}");
    let meanwhile = tap.open_now();
    let calls = tap.calls();
    weather.tmux.escape("% of a core");
    wait_for("the end of the look", PATIENCE, || (tap.open_now() == meanwhile - 1).then_some(()));
    assert_eq!(tap.calls(), calls, "and nothing is asked for");
    weather.work();
    weather.over().await;
}

/// A whole minute takes its time: only where it is asked for.
fn outage() -> Duration {
    let long = std::env::var_os("HTUI_LONG").is_some();
    if long { Duration::from_secs(60) } else { Duration::from_secs(8) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_a_start_and_a_restart_from_outside_are_shown_and_the_last_screen_stays() {
    let Some(weather) = Weather::usual().await else { return };
    let (docker, id) = (&weather.docker, weather.id.as_str());
    let now = Instant::now();
    let options = StopContainerOptionsBuilder::default().t(1).build();
    docker.stop_container(id, Some(options)).await.expect("stopped");
    let screen = weather.shown("a stop", now, |screen| {
        Weather::is_marked(screen, '○', "stopped") && weather.keeps(screen) && screen.contains("its container was")
    });
    assert!(screen.contains("starts it again"), "{screen}");
    let now = Instant::now();
    docker.start_container(id, None::<StartContainerOptions>).await.expect("started");
    let screen = weather.shown("a start", now, |screen| Weather::row(screen).contains('●'));
    assert!(weather.keeps(&screen), "the pane of the old shell keeps its screen:\n{screen}");
    assert_eq!(weather.profile.env("box")["sandbox"]["generation"], 2);
    weather.again();
    let now = Instant::now();
    let options = RestartContainerOptionsBuilder::default().t(1).build();
    docker.restart_container(id, Some(options)).await.expect("restarted");
    weather.shown("a restart", now, |screen| {
        Weather::row(screen).contains('●') && weather.keeps(screen) && screen.contains("starts it again")
    });
    assert_eq!(weather.profile.env("box")["sandbox"]["generation"], 3);
    weather.again();
    weather.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_by_force_is_shown_as_lost_and_the_last_screen_stays() {
    let Some(weather) = Weather::usual().await else { return };
    let now = Instant::now();
    let options = RemoveContainerOptionsBuilder::default().force(true).build();
    weather.docker.remove_container(&weather.id, Some(options)).await.expect("removed");
    let screen = weather.shown("a removal", now, |screen| Weather::is_marked(screen, '✕', "lost"));
    assert!(weather.keeps(&screen) && screen.contains("its container was removed"), "{screen}");
    weather.again();
    let made = weather.profile.env("box");
    assert!(made["phase"] == "ready" && made["sandbox"]["id"] != weather.id.as_str(), "{made}");
    weather.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_that_nobody_could_tell_us_of_is_found_when_the_engine_answers_again() {
    let Some(socket) = engine::socket() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let tap = Tap::new(folder.path().join("tap.sock"), socket.clone());
    let Some(weather) = Weather::new(tap.path.clone(), socket, "300").await else { return };
    let now = Instant::now();
    tap.close();
    weather.shown("the connection is lost", now, |screen| screen.contains("✕ docker") && weather.keeps(screen));
    let options = RestartContainerOptionsBuilder::default().t(1).build();
    weather.docker.restart_container(&weather.id, Some(options)).await.expect("restarted");
    tap.open();
    let screen = weather.tmux.wait_until("the engine is back", |screen| {
        !screen.contains("✕ docker") && Weather::row(screen).contains('●') && screen.contains("starts it again")
    });
    assert!(weather.keeps(&screen), "{screen}");
    wait_for("the new generation", PATIENCE, || {
        (weather.profile.env("box")["sandbox"]["generation"] == 2).then_some(())
    });
    weather.again();
    weather.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_is_shown_and_ends_nothing() {
    let Some(weather) = Weather::usual().await else { return };
    let started = weather.state().await.started_at;
    assert_eq!(weather.profile.json(&["status"])["next_reap"]["name"], "box");
    for _ in 0..2 {
        let now = Instant::now();
        weather.docker.pause_container(&weather.id).await.expect("paused");
        weather.shown("a pause", now, |screen| Weather::row(screen).contains("paused") && weather.keeps(screen));
        assert!(weather.listed().contains(" paused paused by somebody else"), "{}", weather.listed());
        assert!(weather.profile.json(&["status"])["next_reap"].is_null(), "nothing is due while it is paused");
        let now = Instant::now();
        weather.docker.unpause_container(&weather.id).await.expect("goes on");
        weather.shown("its end", now, |screen| !Weather::row(screen).contains("paused"));
        weather.work();
    }
    assert_eq!(weather.state().await.started_at, started);
    weather.over().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_starts_again_without_its_containers_is_shown_as_it_is() {
    let Some(engine) = Dockerd::start(false) else { return };
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let Some(weather) = Weather::new(engine.socket(), engine.socket(), "300").await else { return };
        let now = Instant::now();
        engine::wait(async { engine.end(signal) });
        // An engine that is told to end stops its containers first.
        if signal == Signal::SIGKILL {
            weather.shown("the engine is killed", now, |screen| screen.contains("✕ docker") && weather.keeps(screen));
        } else {
            weather
                .tmux
                .wait_until("the engine is gone", |screen| screen.contains("✕ docker") && weather.keeps(screen));
        }
        engine::wait(async { engine.up() });
        let now = Instant::now();
        // Its state is what the engine says, which is that it was killed.
        let screen = weather.tmux.wait_until("the engine is back", |screen| {
            !screen.contains("✕ docker") && Weather::is_marked(screen, '○', "stopped")
        });
        println!("{signal}: on the screen after {} ms", now.elapsed().as_millis());
        assert!(weather.keeps(&screen), "{screen}");
        assert_eq!(weather.state().await.running, Some(false));
        weather.again();
        assert_eq!(weather.profile.env("box")["sandbox"]["id"], weather.id.as_str());
        weather.over().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_an_engine_is_away_nothing_is_decided_and_nobody_hammers_at_its_door() {
    let Some(engine) = Dockerd::start(true) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let tap = Tap::new(folder.path().join("tap.sock"), engine.socket());
    let Some(weather) = Weather::new(tap.path.clone(), engine.socket(), "5").await else { return };
    let started = weather.state().await.started_at;
    let deadline = moment(&weather.profile.env("box")["idle_deadline_at"]);

    let now = Instant::now();
    engine::wait(async { engine.end(Signal::SIGKILL) });
    weather.shown("the engine is killed", now, |screen| screen.contains("✕ docker") && weather.keeps(screen));
    let verdict = || weather.profile.env("box")["verdict"]["kind"].as_str().map(str::to_owned);
    assert_eq!(verdict().as_deref(), Some("frozen"));
    assert!(weather.listed().contains(" frozen docker does not answer"), "{}", weather.listed());
    let before = tap.calls();
    // The deadline passes, and more.
    let patience = outage() + Duration::from_secs(5);
    wait_for("the outage to be over", patience, || {
        (now.elapsed() > outage() && jiff::Timestamp::now() > deadline).then_some(())
    });
    // Twice the time from try to try, from 0.2 s on, and never more than 10 s.
    let tries = tap.calls() - before;
    assert_eq!(verdict().as_deref(), Some("frozen"));
    println!("tries in {:?}: {tries}", now.elapsed());
    let most = 8 + usize::try_from(outage().as_secs()).expect("short") / 10;
    assert!(tries > 0 && tries <= most, "{tries} tries, at most {most}");

    engine::wait(async { engine.up() });
    let now = Instant::now();
    tap.open();
    weather.shown("the engine is back", now, |screen| {
        !screen.contains("✕ docker") && Weather::row(screen).contains('●') && weather.keeps(screen)
    });
    let left = wait_for("a deadline after the return", PATIENCE, || {
        let found = weather.profile.env("box");
        let deadline: jiff::Timestamp = found["idle_deadline_at"].as_str()?.parse().ok()?;
        let left = deadline.duration_since(jiff::Timestamp::now()).as_secs_f64();
        (left > 0.0).then_some(left)
    });
    println!("after the return the deadline is {left:.1} s away");
    assert!((50.0..61.0).contains(&left), "at least a minute from the return on: {left}");
    let state = weather.state().await;
    assert_eq!((state.running, state.started_at), (Some(true), started), "nobody touched it");
    weather.over().await;
}
