//! The host is killed in the middle of its work: what it had confirmed is there afterwards, what was held or not yet due
//! runs on, and nothing runs that is not listed.

use super::chance::Chance;
use super::common::{PATIENCE, Process, Profile, text, wait_for};
use super::engine::{self, Cleaner, Image};
use super::raw::Raw;
use super::{ALONE, number};
use hermes_tui::backend::docker::DockerConfig;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What the host is killed in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Create,
    Exec,
    Begin,
    End,
    Reap,
    Stop,
    Remove,
}

const WORKS: [Work; 7] = [Work::Create, Work::Exec, Work::Begin, Work::End, Work::Reap, Work::Stop, Work::Remove];

/// Environments of one kind that are kept from round to round.
const KEPT: usize = 3;

/// What the host has confirmed of an environment.
#[derive(Clone, Debug)]
struct Confirmed {
    id: String,
    docker: bool,
    sandbox: String,
    generation: Value,
    /// Whose turn holds it.
    turn: Option<String>,
    ephemeral: bool,
    /// Nobody has asked for its end, and it is not due.
    runs: bool,
    /// What of it runs.
    body: Body,
}

#[derive(Clone, Debug, PartialEq)]
enum Body {
    Processes(Vec<Process>),
    /// When the engine started it.
    Container(String),
}

struct Kills {
    profile: Profile,
    cleaner: Option<Cleaner>,
    chance: Chance,
    known: Vec<Confirmed>,
    /// How long it takes to make one: of namespaces, of docker.
    takes: [Duration; 2],
    conversations: usize,
    unanswered: usize,
    worst: Duration,
}

impl Kills {
    fn call(&self, method: &str, params: Value) -> Value {
        Raw::greeted(&self.profile).ask(method, params)
    }

    fn spec(&self, docker: bool, persistence: &str, idle: u64) -> Value {
        let image = docker.then(|| self.cleaner.as_ref().map(|cleaner| cleaner.image.name.clone()));
        let mut spec = json!({"backend": if docker { "docker" } else { "local" }, "persistence": persistence,
                              "idle_seconds": idle});
        if let Some(image) = image.flatten() {
            spec["image"] = image.into();
        }
        spec
    }

    fn list(&self) -> Vec<Value> {
        self.call("env.list", json!({}))["environments"].as_array().expect("rows").clone()
    }

    fn workspace(&self, id: &str) -> PathBuf {
        self.profile.path().join("data/envs").join(id).join("workspace")
    }

    /// Processes of sandboxes of this profile, by sandbox.
    fn sandboxes(&self) -> BTreeMap<String, Vec<Process>> {
        let folder = self.profile.path().file_name().and_then(|name| name.to_str()).expect("a name");
        let (mut all, mut ours) = (BTreeMap::<String, Vec<Process>>::new(), BTreeSet::new());
        for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let words = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            let mut words = words.split('\0');
            if words.next() != Some("hermes-tui") || words.next() != Some("__sandbox") {
                continue;
            }
            let id = words.next().expect("a sandbox").to_owned();
            // What its folders are mounted from says whose it is.
            if std::fs::read_to_string(entry.path().join("mountinfo")).is_ok_and(|text| text.contains(folder)) {
                ours.insert(id.clone());
            }
            all.entry(id).or_default().extend(Process::of(pid));
        }
        all.retain(|id, processes| ours.contains(id) && !processes.is_empty());
        for processes in all.values_mut() {
            processes.sort_by_key(|process| process.pid);
        }
        all
    }

    fn containers(&self) -> Vec<String> {
        let Some(cleaner) = &self.cleaner else { return Vec::new() };
        engine::wait(async { engine::containers(&engine::client(&cleaner.socket).await, &cleaner.config).await })
    }

    fn body(&self, docker: bool, sandbox: &str) -> Body {
        match &self.cleaner {
            Some(cleaner) if docker => Body::Container(engine::wait(engine::started_at(&cleaner.socket, sandbox))),
            _ => Body::Processes(self.sandboxes().remove(sandbox).unwrap_or_default()),
        }
    }

    /// Takes down what was confirmed, and leaves a file there.
    fn confirm(&mut self, id: &str, docker: bool, sandbox: &Value, turn: Option<String>, ephemeral: bool) -> usize {
        std::fs::write(self.workspace(id).join("marker"), id).expect("a file");
        self.known.push(Confirmed {
            id: id.to_owned(),
            docker,
            sandbox: sandbox["id"].as_str().expect("a sandbox").to_owned(),
            generation: sandbox["generation"].clone(),
            turn,
            ephemeral,
            runs: true,
            body: Body::Processes(Vec::new()),
        });
        self.known.len() - 1
    }

    fn created(&mut self, docker: bool, answer: &Value) -> usize {
        let env = &answer["environment"];
        let id = env["id"].as_str().unwrap_or_else(|| panic!("no environment: {answer}")).to_owned();
        self.confirm(&id, docker, &env["sandbox"], None, false)
    }

    fn begun(&mut self, docker: bool, conversation: &str, ephemeral: bool, answer: &Value) -> usize {
        let id = answer["environment"].as_str().unwrap_or_else(|| panic!("no environment: {answer}")).to_owned();
        self.confirm(&id, docker, &answer["sandbox"], Some(conversation.to_owned()), ephemeral)
    }

    /// Makes one, and is not disturbed.
    fn make(&mut self, docker: bool, idle: u64) -> usize {
        let (now, spec) = (Instant::now(), self.spec(docker, "persistent", idle));
        let answer = self.call("env.new", json!({"spec": spec}));
        self.takes[usize::from(docker)] = now.elapsed();
        let made = self.created(docker, &answer);
        self.take_body(made);
        made
    }

    fn take_body(&mut self, which: usize) {
        let one = &self.known[which];
        let body = self.body(one.docker, &one.sandbox);
        assert_ne!(body, Body::Processes(Vec::new()), "no process of {one:?}");
        self.known[which].body = body;
    }

    /// One that runs and that no turn holds.
    fn some(&mut self, docker: bool) -> usize {
        let fits = |one: &Confirmed| one.docker == docker && one.runs && one.turn.is_none();
        let found: Vec<usize> = (0..self.known.len()).filter(|which| fits(&self.known[*which])).collect();
        if found.is_empty() { self.make(docker, 600) } else { self.chance.of(&found) }
    }

    fn conversation(&mut self) -> String {
        self.conversations += 1;
        format!("c{}", self.conversations)
    }

    fn turn(&self, docker: bool, conversation: &str, ephemeral: bool) -> Value {
        let spec = self.spec(docker, if ephemeral { "ephemeral" } else { "persistent" }, 600);
        json!({"conversation": conversation, "spec": spec})
    }

    /// Asks for this, kills the host at a random moment of it, and gives the answer if there was one.
    fn killed_in(&mut self, docker: bool, method: &str, params: Value) -> Option<Value> {
        let mut raw = Raw::greeted(&self.profile);
        let longest = self.takes[usize::from(docker)].as_micros() as usize * 5 / 4 + 1;
        let moment = Instant::now() + Duration::from_micros(self.chance.below(longest) as u64);
        raw.say(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
        while let Some(left) = moment.checked_duration_since(Instant::now()) {
            std::thread::park_timeout(left);
        }
        self.profile.kill_host();
        let mut answer = None;
        while let Some(line) = raw.line() {
            // The last line may be cut off.
            let Ok(message) = serde_json::from_str::<Value>(&line) else { break };
            if message["id"] == 7 {
                assert!(message["error"].is_null(), "{method}: {message}");
                answer = Some(message["result"].clone());
            }
        }
        self.unanswered += usize::from(answer.is_none());
        answer
    }

    /// Kills in the middle of this. Gives the environment whose end was asked for.
    fn disturb(&mut self, work: Work, docker: bool) -> Option<String> {
        match work {
            Work::Create => {
                let spec = self.spec(docker, "persistent", 600);
                if let Some(answer) = self.killed_in(docker, "env.new", json!({"spec": spec})) {
                    self.created(docker, &answer);
                }
                None
            }
            Work::Exec => {
                let which = self.some(docker);
                let id = self.known[which].id.clone();
                let script = "echo begun >> /workspace/log; sleep 0.01; echo ended >> /workspace/log";
                self.killed_in(docker, "exec.start", json!({"env": id, "argv": ["sh", "-c", script]}));
                None
            }
            Work::Begin => {
                let (conversation, ephemeral) = (self.conversation(), self.chance.below(2) == 0);
                let params = self.turn(docker, &conversation, ephemeral);
                if let Some(answer) = self.killed_in(docker, "turn.begin", params) {
                    self.begun(docker, &conversation, ephemeral, &answer);
                }
                None
            }
            Work::End => {
                let (conversation, ephemeral) = (self.conversation(), self.chance.below(2) == 0);
                let answer = self.call("turn.begin", self.turn(docker, &conversation, ephemeral));
                let which = self.begun(docker, &conversation, ephemeral, &answer);
                self.take_body(which);
                self.killed_in(docker, "turn.end", json!({"conversation": conversation}));
                let one = &mut self.known[which];
                one.turn = None;
                one.ephemeral.then(|| one.id.clone())
            }
            Work::Reap => {
                let which = self.make(docker, 1);
                let id = self.known[which].id.clone();
                wait_for("its deadline to be near", PATIENCE, || {
                    let env = self.call("env.show", json!({"env": id}));
                    let deadline = env["environment"]["idle_deadline_at"].as_str()?.parse::<jiff::Timestamp>().ok()?;
                    let left = deadline.duration_since(jiff::Timestamp::now()).as_millis();
                    (left < 30).then_some(())
                });
                self.killed_in(docker, "reap", json!({}));
                Some(id)
            }
            Work::Stop | Work::Remove => {
                let which = self.some(docker);
                let id = self.known[which].id.clone();
                let (method, params) = match work {
                    Work::Stop => ("env.stop", json!({"env": id, "force": true})),
                    _ => ("env.rm", json!({"env": id, "force": true, "data": true})),
                };
                self.killed_in(docker, method, params);
                Some(id)
            }
        }
    }

    /// Starts the next host and looks whether all is as it was confirmed.
    fn check(&mut self, work: Work, asked: Option<&str>) {
        let now = Instant::now();
        self.profile.serve();
        let rows = self.list();
        self.worst = self.worst.max(now.elapsed());
        let status = self.call("status", json!({}));
        assert_eq!(status["troubles"], json!([]), "{status}");

        let may_go = |one: &Confirmed| asked == Some(&one.id) && (work == Work::Remove || one.ephemeral);
        let mut known = std::mem::take(&mut self.known);
        known.retain(|one| !may_go(one));
        for one in &mut known {
            let row = rows.iter().find(|row| row["id"] == one.id.as_str());
            let row = row.unwrap_or_else(|| panic!("{one:?} is not listed"));
            assert_eq!(row["sandbox"]["id"], one.sandbox.as_str(), "{row}");
            let marker = std::fs::read_to_string(self.workspace(&one.id).join("marker"));
            assert_eq!(marker.ok().as_deref(), Some(one.id.as_str()), "its files are there: {row}");
            if asked == Some(&one.id) {
                one.runs = false;
            }
            if !one.runs {
                continue;
            }
            assert_eq!((&row["phase"], &row["sandbox"]["generation"]), (&"ready".into(), &one.generation), "{row}");
            let body = self.body(one.docker, &one.sandbox);
            assert_ne!(body, Body::Processes(Vec::new()), "it runs: {row}");
            if one.body != Body::Processes(Vec::new()) {
                assert_eq!(body, one.body, "nobody started it again: {row}");
            }
            one.body = body;
            let held = row["holders"].as_array().expect("rows").iter().any(|holder| holder["kind"] == "turn");
            assert!(one.turn.is_none() || held, "{:?} holds it: {row}", one.turn);
        }
        self.known = known;
        self.nothing_runs_unlisted();
        self.tidy();
    }

    fn nothing_runs_unlisted(&self) {
        wait_for("all that runs to be listed", PATIENCE, || {
            let running = self.sandboxes().into_keys().chain(self.containers());
            let running: Vec<String> = running.collect();
            let listed: BTreeSet<String> =
                self.list().iter().filter_map(|row| Some(row["sandbox"]["id"].as_str()?.to_owned())).collect();
            running.iter().all(|sandbox| listed.contains(sandbox)).then_some(())
        });
    }

    fn remove(&self, id: &str) {
        let settled = wait_for("it to be settled", PATIENCE, || {
            let rows = self.list();
            let Some(row) = rows.iter().find(|row| row["id"] == id) else { return Some(false) };
            (row["phase"] != "provisioning" && row["phase"] != "reaping").then_some(true)
        });
        if settled {
            let output = self.profile.run(&["env", "rm", id, "--force", "--data", "--yes"]);
            // It may have gone by itself meanwhile.
            let gone = || !self.list().iter().any(|row| row["id"] == id);
            assert!(output.status.success() || gone(), "{id}: {}", text(&output));
        }
        wait_for("it to be gone", PATIENCE, || {
            (!self.list().iter().any(|row| row["id"] == id && row["sandbox"] != Value::Null)).then_some(())
        });
    }

    /// What nobody confirmed goes, and what is too much.
    fn tidy(&mut self) {
        for row in self.list() {
            let id = row["id"].as_str().expect("an id");
            if !self.known.iter().any(|one| one.id == id) {
                self.remove(id);
            }
        }
        for docker in [false, true] {
            while self.known.iter().filter(|one| one.docker == docker).count() > KEPT {
                let which = self.known.iter().position(|one| one.docker == docker).expect("too many");
                let one = self.known.remove(which);
                if let Some(conversation) = &one.turn {
                    self.call("turn.end", json!({"conversation": conversation}));
                }
                self.remove(&one.id);
            }
        }
    }

    /// All goes by its exact id.
    fn end(&mut self) {
        for one in std::mem::take(&mut self.known) {
            if one.runs {
                let output = self.profile.run(&["exec", &one.id, "--", "cat", "/workspace/marker"]);
                assert_eq!(text(&output), one.id, "it works");
            }
            self.remove(&one.id);
        }
        self.tidy();
        wait_for("nothing to run", PATIENCE, || {
            (self.sandboxes().is_empty() && self.containers().is_empty()).then_some(())
        });
        self.profile.shut_down();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_killed_at_any_moment_has_lost_nothing_that_it_confirmed() {
    let _alone = ALONE.lock().await;
    let socket = engine::socket();
    let variables = socket.iter().map(|socket| ("DOCKER_HOST", format!("unix://{}", socket.display())));
    let variables: Vec<(&str, String)> = variables.collect();
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let profile = Profile::with_variables(&variables);
    let cleaner = match socket {
        Some(socket) => {
            let image = Image::usual(&socket).await;
            Some(Cleaner::new(DockerConfig::new(profile.path().join("data"), &|_| None), socket, image))
        }
        None => None,
    };
    let chance = Chance::new("kills of the host");
    let (known, takes) = (Vec::new(), [Duration::ZERO; 2]);
    let mut kills =
        Kills { profile, cleaner, chance, known, takes, conversations: 0, unanswered: 0, worst: Duration::ZERO };
    kills.profile.serve();
    kills.make(false, 600);
    if kills.cleaner.is_some() {
        kills.make(true, 600);
    }
    let times = number(8, 200);
    for round in 0..times {
        let docker = kills.cleaner.is_some() && round % 2 == 1;
        let work = WORKS[round % WORKS.len()];
        let asked = kills.disturb(work, docker);
        kills.check(work, asked.as_deref());
    }
    kills.end();
    println!(
        "{times} kills, {} of them before an answer; all listed again after {:?} at most",
        kills.unanswered, kills.worst
    );
    if let Some(cleaner) = &kills.cleaner {
        cleaner.end().await;
    }
}
