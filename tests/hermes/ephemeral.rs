//! Ephemeral containers of the agent, leaked ones, and what keeps any of them from being ended.

use super::agent::{Agent, SOON, block};
use super::common::{Profile, text, wait_for};
use super::seed;
use hermes_tui::backend::Backend;
use hermes_tui::domain::{LeakKind, Origin, Persistence, SandboxId};
use hermes_tui::hermes::{folders, home::Home, jobs};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What is found is not ended for a minute; then an idle time goes by, and some more where it is seen to be in use.
const EXPIRED: Duration = Duration::from_secs(100);
/// By then it would have been ended if nothing kept it.
pub const LONG_EXPIRED: Duration = Duration::from_secs(72);

pub const SHORT: &str = "  lifetime_seconds: 3\n";
/// Makes an ephemeral one that no later process takes up, and waits.
const EPHEMERAL: &str = r#"
e = docker("once", False, False)
e.execute("echo here > /root/marker")
tell(e._container_id)
sys.stdin.readline()
e.cleanup()
assert e.wait_for_cleanup(30)
tell("over")
"#;

/// Waits until so much time has gone by, and fails as soon as it is not as it should be.
pub fn stays(agent: &Agent, profile: &Profile, task: &str, for_so_long: Duration, look: impl Fn(&Value) -> bool) {
    let end = Instant::now() + for_so_long;
    wait_for("time to go by", for_so_long + SOON, || {
        let env = agent.shown(profile, task).expect("it is listed");
        assert!(look(&env), "{env}");
        std::thread::park_timeout(Duration::from_millis(300));
        (Instant::now() > end).then_some(())
    });
}

/// What is to be seen takes more than a minute each: at the same time.
#[test]
fn when_idle_times_are_over_only_an_ephemeral_one_that_nobody_uses_is_ended() {
    std::thread::scope(|scope| {
        let all: [fn(); 6] = [
            a_persistent_one_outlives_its_idle_time_whatever_may_be_ended_of_ephemeral_ones,
            one_that_a_killed_agent_left_is_removed_when_it_was_idle_and_that_is_allowed,
            a_background_process_keeps_it_through_its_idle_time_also_when_its_agent_is_gone,
            || seed::story(&["off"]),
            || seed::story(&["leaked"]),
            || seed::story(&["ephemeral", "stale"]),
        ];
        for running in all.map(|one| scope.spawn(one)) {
            running.join().expect("as it should be");
        }
    });
}

fn a_persistent_one_outlives_its_idle_time_whatever_may_be_ended_of_ephemeral_ones() {
    let Some(agent) = Agent::new(SHORT) else { return };
    let [id] =
        agent.run("terminal('echo kept > /workspace/marker')\ntell(container())", &[]).try_into().expect("an id");
    let since = agent.started(&id);
    let profile = agent.profile("ephemeral");
    agent.env(&profile, "default");
    stays(&agent, &profile, "default", LONG_EXPIRED, |env| env["phase"] == "ready");
    assert_eq!(agent.started(&id), since);
    let told = agent.run("terminal('cat /workspace/marker')\ntell(container())", &[]);
    assert!(id.starts_with(&told[0]), "the agent takes it up again: {told:?} and {id}");
}

fn one_that_a_killed_agent_left_is_removed_when_it_was_idle_and_that_is_allowed() {
    let Some(agent) = Agent::new(SHORT) else { return };
    let mut running = agent.start(EPHEMERAL, &[]);
    let id = running.told();
    running.kill();
    let backend = agent.backend();
    let found = block(backend.list()).expect("a list").into_iter().find(|one| one.sandbox.as_str() == id);
    assert_eq!(found.map(|one| (one.persistence, one.origin)), Some((Persistence::Ephemeral, Origin::Hermes)));
    let profile = agent.profile("ephemeral");
    let shown = agent.env(&profile, "once");
    assert_eq!(shown["persistence"], "ephemeral");
    wait_for("a countdown", SOON, || agent.shown(&profile, "once").filter(|env| env["idle_deadline_at"].is_string()));
    let mut due = None;
    wait_for("its removal", EXPIRED, || {
        std::thread::park_timeout(Duration::from_millis(300));
        let shown = agent.shown(&profile, "once");
        due = shown.and_then(|env| env["idle_deadline_at"].as_str()?.parse::<jiff::Timestamp>().ok()).or(due);
        agent.containers().is_empty().then_some(())
    });
    assert!(due.is_some_and(|due| due <= jiff::Timestamp::now()), "not before its deadline");
    assert_eq!(block(backend.remove(SandboxId::new(&id), Origin::Hermes)), Ok(()), "once more is no error");
    profile.shut_down();
}

fn a_background_process_keeps_it_through_its_idle_time_also_when_its_agent_is_gone() {
    let Some(agent) = Agent::new(SHORT) else { return };
    let script = "tell(terminal('sleep 300', background=True)['session_id'])\ntell(container())\nsys.stdin.readline()";
    let mut running = agent.start(script, &[("TERMINAL_CONTAINER_PERSISTENT", "false")]);
    let (job, id) = (running.told(), running.told());
    let known = jobs::read(&agent.home()).expect("a list");
    let [one] = known.as_slice() else { panic!("{known:?}") };
    assert_eq!((&one.id, one.command.as_str(), one.on_host), (&job, "sleep 300", false));
    let profile = agent.profile("ephemeral");
    assert_eq!(agent.env(&profile, "default")["persistence"], "ephemeral");
    let waits = format!("hermes: wait for {job}");
    wait_for("the agent's looks at it", SOON, || {
        let shown = agent.shown(&profile, "default")?;
        (shown["last_activity"]["detail"].as_str()?.starts_with(&waits)).then_some(())
    });
    running.kill();
    stays(&agent, &profile, "default", LONG_EXPIRED, |env| {
        env["phase"] == "ready" && env["sandbox"]["id"] == id.as_str()
    });
    let explained = text(&profile.run(&["reap", "--explain", &agent.listed_as("default")]));
    assert!(explained.contains("sleep 300"), "{explained}");
    assert_eq!(agent.containers().len(), 1);
}

#[test]
fn one_that_its_agent_removes_while_somebody_is_in_it_is_shown_as_gone_and_not_made_again() {
    let Some(agent) = Agent::new("") else { return };
    let mut running = agent.start(EPHEMERAL, &[]);
    let id = running.told();
    let profile = agent.profile("off");
    let name = agent.listed_as("once");
    agent.env(&profile, "once");
    let Some(tmux) = agent.enter(&profile, "once") else { return };
    tmux.line("echo se''en");
    tmux.wait("seen");
    running.say("clean up");
    assert_eq!(running.told(), "over");
    let screen = tmux.wait(&format!("{name} is gone"));
    assert!(screen.contains("root@") && screen.contains("seen"), "the last screen stays: {screen}");
    running.end();
    assert!(agent.containers().is_empty(), "{id} is gone, and nobody made another");
    assert!(profile.run(&["status"]).status.success());
}

#[test]
fn a_container_made_for_one_look_is_a_leak_and_so_is_one_whose_owner_is_gone_for_certain() {
    let Some(agent) = Agent::new("  docker_persist_across_processes: false\n") else { return };
    let script = "e = docker('prompt-backend-probe', False, True)\nf = docker('mine', False, False)\n\
                  tell(f._container_id)\nsys.stdin.readline()";
    let mut running = agent.start(script, &[]);
    let id = running.told();
    let backend = agent.backend();
    let leak = |task: &str| {
        let all = block(backend.list()).expect("a list");
        let of = |w: &hermes_tui::domain::Watched| {
            w.profile.as_ref() == Some(&agent.name) && w.task.as_deref() == Some(task)
        };
        let found = all.into_iter().filter_map(|one| one.watched).find(|watched| of(watched)).expect("listed");
        (found.leak, found.maker)
    };
    let (probe, _) = leak("prompt-backend-probe");
    assert_eq!(probe.map(|leak| leak.kind), Some(LeakKind::Probe));
    let (none, maker) = leak("mine");
    assert_eq!((none, maker.as_str()), (None, "removes it when its process ends"), "its owner lives");
    running.kill();
    // Any other Python process of this machine that is older could be the owner, for all that can be seen. The two looks
    // are at two moments, and such a process may end between them.
    let main = agent.inspect(&id).state.and_then(|state| state.pid).and_then(|pid| u32::try_from(pid).ok());
    let made: jiff::Timestamp = agent.inspect(&id).created.expect("a time").parse().expect("a time");
    let made = hermes_tui::domain::Moment(u64::try_from(made.as_millisecond()).expect("a time"));
    wait_for("both looks to agree", SOON, || {
        let owner = hermes_tui::hermes::owner::find(made, main.expect("a process"), &id);
        let certain = (owner == hermes_tui::hermes::owner::Owner::Gone).then_some(LeakKind::DeadOwner);
        let told = leak("mine").0.map(|leak| leak.kind);
        if told != certain {
            println!("told {told:?}, found {owner:?}");
        }
        (told == certain).then_some(())
    });
}

#[test]
fn folders_that_no_container_uses_are_named_and_stay() {
    let Some(agent) = Agent::new("") else { return };
    let [id] =
        agent.run("terminal('echo kept > /workspace/marker')\ntell(container())", &[]).try_into().expect("an id");
    let home = Home { path: agent.home(), profile: agent.name.clone() };
    let mounted = || -> BTreeSet<PathBuf> {
        let all = block(agent.backend().list()).expect("a list").into_iter().filter_map(|one| one.spec);
        all.flat_map(|spec| spec.mounts).map(|mount| PathBuf::from(mount.source)).collect()
    };
    assert!(folders::unused(&home, &mounted()).is_empty());
    agent.remove(&id);
    assert_eq!(folders::unused(&home, &mounted()), [agent.sandboxes().join("default")]);
    let profile = agent.profile("off");
    let output = profile.run(&["doctor"]);
    let said = super::common::text(&output);
    let folder = agent.sandboxes().join("default").display().to_string();
    assert!(said.contains(&format!("files of containers that are gone: {folder}")), "{said}");
    assert!(agent.sandboxes().join("default/workspace/marker").exists());
}
