//! A hermes-agent of the tests' own: its code in a virtual environment, its home in a folder of one test, and the
//! containers that it makes, told by a profile that no other test has.

use super::common::{Profile, Tmux, skip, text, wait_for};
use super::engine::{self, Image};
use bollard::models::{ContainerInspectResponse, ContainerSummary};
use bollard::query_parameters::{InspectContainerOptions, ListContainersOptionsBuilder, RemoveContainerOptionsBuilder};
use hermes_tui::backend::docker::{DockerBackend, DockerConfig};
use hermes_tui::hermes::home::Places;
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

const PACKAGE: &str = "hermes-agent==0.19.0";
/// For what a test waits for.
pub const SOON: Duration = Duration::from_secs(20);

/// What the image of a hermes-agent must have, and what its tools use.
const PROGRAMS: [&str; 29] = [
    "awk", "bash", "cat", "chmod", "chown", "dash", "date", "env", "find", "grep", "head", "hostname", "id", "ln",
    "ls", "mkdir", "mktemp", "mv", "nohup", "printf", "rm", "sed", "sleep", "sort", "stat", "touch", "tr", "uname",
    "wc",
];

/// The interpreter with the code in it, made once and kept with the build. `None`, with a word, where it cannot be had.
fn python() -> Option<PathBuf> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match MADE.get_or_init(make_python) {
        Ok(path) => Some(path.clone()),
        Err(why) => {
            skip_or_fail(&format!("{PACKAGE} cannot be had: {why}"));
            None
        }
    }
}

fn skip_or_fail(what: &str) {
    engine::is_missing(what);
    skip(what);
}

fn make_python() -> Result<PathBuf, String> {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(base).map_err(|error| error.to_string())?;
    let lock = std::fs::File::create(base.join("hermes-agent.lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    let (folder, ready) = (base.join(PACKAGE), base.join("hermes-agent.ready"));
    let python = folder.join("bin/python");
    if ready.exists() && python.exists() {
        return Ok(python);
    }
    let _ = std::fs::remove_dir_all(&folder);
    let run = |program: &Path, args: &[&str]| {
        let output =
            Command::new(program).args(args).output().map_err(|error| format!("{}: {error}", program.display()))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(said) }
    };
    run(Path::new("python3"), &["-m", "venv", folder.to_str().ok_or("a path that is not UTF-8")?])?;
    run(&folder.join("bin/pip"), &["install", "--quiet", "--disable-pip-version-check", PACKAGE])?;
    std::fs::write(ready, PACKAGE).map_err(|error| error.to_string())?;
    Ok(python)
}

/// One image for all tests that run at the same time.
struct SharedImage(Image);

impl Drop for SharedImage {
    fn drop(&mut self) {
        block(self.0.remove());
    }
}

fn image(socket: &Path) -> Arc<SharedImage> {
    static SHARED: Mutex<Weak<SharedImage>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(image) = shared.upgrade() {
        return image;
    }
    let image = Arc::new(SharedImage(block(Image::make(socket, &PROGRAMS))));
    *shared = Arc::downgrade(&image);
    image
}

/// Runs to the end, wherever the caller is.
pub fn block<T: Send>(work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let run = || {
            let builder = tokio::runtime::Builder::new_current_thread().enable_all().build();
            builder.expect("a runtime").block_on(work)
        };
        scope.spawn(run).join().expect("it ends")
    })
}

/// A home with a profile of its own, and the means to run the agent's code on it.
pub struct Agent {
    folder: tempfile::TempDir,
    python: PathBuf,
    image: Arc<SharedImage>,
    pub socket: PathBuf,
    /// The profile, which is also in the labels of its containers.
    pub name: String,
}

impl Agent {
    /// With this `terminal:` section in its configuration. `None`, with a word, where there cannot be one.
    pub fn new(terminal: &str) -> Option<Self> {
        let socket = engine::socket()?;
        if Command::new("docker").arg("--version").output().is_err() {
            skip_or_fail("the docker command is not installed, and hermes-agent calls it");
            return None;
        }
        let python = python()?;
        let folder = tempfile::Builder::new().prefix("htui-h").tempdir().expect("a folder");
        let name = format!("t{}", &uuid::Uuid::new_v4().simple().to_string()[..10]);
        let agent = Self { image: image(&socket), python, socket, name, folder };
        std::fs::create_dir_all(agent.home()).expect("a folder");
        let config = format!("terminal:\n  backend: docker\n{terminal}");
        std::fs::write(agent.home().join("config.yaml"), config).expect("a file");
        Some(agent)
    }

    /// The image of its containers.
    pub fn image_name(&self) -> String {
        self.image.0.name.clone()
    }

    /// Its home.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("profiles").join(&self.name)
    }

    /// Where the files of its containers are.
    pub fn sandboxes(&self) -> PathBuf {
        self.home().join("sandboxes/docker")
    }

    /// How its container of a task is listed.
    pub fn listed_as(&self, task: &str) -> String {
        format!("{}.{task}", self.name)
    }

    /// A host of ours that knows this home, and what may be ended of it; nothing of others.
    pub fn profile(&self, reap: &str) -> Profile {
        let mut profile = Profile::with_variables(&[
            ("DOCKER_HOST", &format!("unix://{}", self.socket.display())),
            ("HERMES_HOME", &self.home().display().to_string()),
        ]);
        let folder = profile.path().join("config");
        std::fs::create_dir_all(&folder).expect("a folder");
        let consent = format!("[hermes.profiles.{}]\nreap = \"{reap}\"\n", self.name);
        std::fs::write(folder.join("config.toml"), consent).expect("a file");
        profile.serve();
        profile
    }

    /// A backend of ours that knows this home.
    pub fn backend(&self) -> DockerBackend {
        let mut config = DockerConfig::new(self.folder.path().join("ours"), &|_| None);
        config.spot.places = vec![hermes_tui::backend::docker::Place::socket(&self.socket)];
        config.stop_grace = engine::GRACE;
        config.homes = Places { named: Some(self.home()), user: None };
        DockerBackend::new(config)
    }

    /// Has it ask a model on this port of loopback. The whole agent goes by its configuration alone.
    pub fn use_model(&self, port: u16) {
        let path = self.home().join("config.yaml");
        let config = std::fs::read_to_string(&path).expect("a file");
        let image = &self.image.0.name;
        let config = format!(
            "{config}  docker_image: {image}\n  docker_network: false\n  docker_orphan_reaper: false\n  container_disk: 0\n"
        );
        let model = format!(
            "model:\n  provider: custom\n  default: scripted\n  base_url: http://127.0.0.1:{port}/v1\n  api_key: none\n"
        );
        std::fs::write(path, format!("{config}{model}")).expect("a file");
    }

    /// The whole agent, as a person starts it.
    pub fn hermes(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.python.with_file_name("hermes"));
        command.args(args);
        self.surround(command)
    }

    fn command(&self, script: &str, variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(&self.python);
        command.args(["-c", script]);
        let mut command = self.surround(command);
        command.envs(variables.iter().copied());
        command
    }

    fn surround(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", self.folder.path())
            .env("HERMES_HOME", self.home())
            .env("DOCKER_HOST", format!("unix://{}", self.socket.display()))
            .env("IMAGE", &self.image.0.name)
            .env("TERMINAL_ENV", "docker")
            .env("TERMINAL_DOCKER_IMAGE", &self.image.0.name)
            .env("TERMINAL_DOCKER_NETWORK", "false")
            .env("TERMINAL_DOCKER_ORPHAN_REAPER", "false")
            .env("TERMINAL_CONTAINER_DISK", "0")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs its code to the end; gives the lines that begin with `= `, without that.
    pub fn run(&self, script: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let output = self.command(&format!("{PRELUDE}{script}"), variables).output().expect("python runs");
        assert!(output.status.success(), "{}", text(&output));
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        out.lines().filter_map(|line| line.strip_prefix("= ")).map(str::to_owned).collect()
    }

    /// Starts its code; it goes on for as long as it likes.
    pub fn start(&self, script: &str, variables: &[(&str, &str)]) -> Running {
        let mut command = self.command(&format!("{PRELUDE}{script}"), variables);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("python runs");
        let input = child.stdin.take().expect("an input");
        let output = BufReader::new(child.stdout.take().expect("an output"));
        Running { child, input: Some(input), output }
    }

    /// Its containers that exist now.
    pub fn containers(&self) -> Vec<ContainerSummary> {
        let filters = HashMap::from([("label".to_owned(), vec![format!("hermes-profile={}", self.name)])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        block(async { engine::client(&self.socket).await.list_containers(Some(options)).await }).expect("a list")
    }

    pub fn inspect(&self, id: &str) -> ContainerInspectResponse {
        block(async { engine::client(&self.socket).await.inspect_container(id, None::<InspectContainerOptions>).await })
            .expect("it is there")
    }

    /// Since when a container runs.
    pub fn started(&self, id: &str) -> String {
        block(engine::started_at(&self.socket, id))
    }

    /// Removes one container by its exact id, by force.
    pub fn remove(&self, id: &str) {
        self.try_remove(id).expect("removed");
    }

    fn try_remove(&self, id: &str) -> Result<(), bollard::errors::Error> {
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        block(async { engine::client(&self.socket).await.remove_container(id, Some(options)).await })
    }

    /// How a host of ours shows its container of a task now.
    pub fn shown(&self, profile: &Profile, task: &str) -> Option<Value> {
        let name = self.listed_as(task);
        let all = profile.json(&["env", "list"])["environments"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|env| env["name"] == name.as_str())
    }

    /// The same once it does.
    pub fn env(&self, profile: &Profile, task: &str) -> Value {
        wait_for(&format!("{} to be listed", self.listed_as(task)), SOON, || self.shown(profile, task))
    }

    /// Waits until a host of ours shows it in this phase no more.
    pub fn leaves(&self, profile: &Profile, task: &str, phase: &str) {
        wait_for("its end to be seen", SOON, || {
            self.shown(profile, task).is_none_or(|env| env["phase"] != phase).then_some(())
        });
    }

    /// A terminal at a host of ours, with a shell in its container of a task. `None`, with a word, where there is no
    /// tmux.
    pub fn enter(&self, profile: &Profile, task: &str) -> Option<Tmux> {
        let name = self.listed_as(task);
        let tmux = Tmux::attach(profile, 120, 30)?;
        // The row has no room for all of it.
        tmux.wait(&name[..6]);
        tmux.goes_to(&name);
        tmux.wait("root@");
        Some(tmux)
    }

    /// The same once it is as it should be.
    pub fn env_once(&self, profile: &Profile, task: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        wait_for(what, SOON, || Some(self.env(profile, task)).filter(|env| fits(env)))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        for one in self.containers() {
            // It may be on its way out already.
            let _ = self.try_remove(&one.id.expect("an id"));
        }
    }
}

/// `tell` writes a line for the test; `terminal` runs a command as the agent's tool; `docker` makes an environment of
/// a task by itself.
const PRELUDE: &str = r#"
import json, os, sys, time
def tell(text): print("=", text, flush=True)
SESSION = "20260101_000000_abc123"
def terminal(command, **more):
    import tools.terminal_tool as tt
    result = json.loads(tt.terminal_tool(command, task_id=SESSION, force=True, **more))
    assert result["exit_code"] == 0, result
    return result
def container():
    import tools.terminal_tool as tt
    return tt.get_active_env(SESSION)._container_id
def docker(task, persistent, across, **more):
    from tools.environments.docker import DockerEnvironment
    return DockerEnvironment(image=os.environ["IMAGE"], cwd="/root", timeout=60, task_id=task, network=False,
                             persistent_filesystem=persistent, persist_across_processes=across, **more)
"#;

/// A process of the agent. Killed with the test.
pub struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl Running {
    /// The next line that it tells.
    pub fn told(&mut self) -> String {
        loop {
            let mut line = String::new();
            let length = self.output.read_line(&mut line).expect("it is read");
            assert_ne!(length, 0, "it ended: {:?}", self.child.wait());
            if let Some(text) = line.strip_prefix("= ") {
                return text.trim_end().to_owned();
            }
        }
    }

    /// Hands it a line.
    pub fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("an input"), "{line}").expect("it listens");
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("it is there");
        self.child.wait().expect("it ends");
    }

    /// Waits for its end.
    pub fn end(&mut self) {
        self.input = None;
        assert!(self.child.wait().expect("it ends").success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
