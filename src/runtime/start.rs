//! Puts a host together: configuration, lock, backends, journal, model; then signals and the terminal.

use super::agents;
use super::clock::Clock;
use super::config_files::LoadedConfig;
use super::discovery;
use super::effects::Performer;
use super::handle::HostHandle;
use super::host::{Host, HostParts};
use super::inbound::{self, Inbound, Inbox};
use super::journal::Journal;
use super::options::{HostError, HostOptions};
use super::paths::Paths;
use super::reader;
use super::screen::ClientScreen;
use super::terminal::{self, Deed, TerminalGuard};
use super::watcher;
use super::wishes::{self, Wish};
use crate::app::{ClientId, Model, Msg, Role};
use crate::backend::Backend;
use crate::backend::docker::contexts;
use crate::backend::docker::places::{self, Named, Search};
use crate::backend::docker::{DockerConfig, Kin};
use crate::backend::local::LocalConfig;
use crate::backend::registry::{self, BackendsConfig};
use crate::config::{self, Options};
use crate::domain::{BackendKind, EndpointId, Event};
use crate::hermes::home::Places as Homes;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

/// The terminal of this process, as a client.
const HERE: ClientId = ClientId(1);

/// A host that is ready to run.
pub struct Prepared {
    /// The loop.
    pub host: Host,
    /// How to reach it.
    pub handle: HostHandle,
    /// What its backends are, by endpoint.
    pub backends: BTreeMap<EndpointId, Arc<dyn Backend>>,
    /// The endpoint of each kind that is meant where none is named.
    pub usual: BTreeMap<BackendKind, EndpointId>,
    inbox: Inbox,
    options: Options,
    hooks: PathBuf,
}

/// Reads the settings: the configuration's text, and the variables that override it.
///
/// # Errors
/// A text that cannot be understood (exit 3).
pub fn settings(options: &HostOptions) -> Result<config::Loaded, HostError> {
    settings_of(&options.config)
}

/// The same of a configuration alone.
///
/// # Errors
/// A text that cannot be understood (exit 3).
pub fn settings_of(file: &LoadedConfig) -> Result<config::Loaded, HostError> {
    let mut loaded = config::load(&file.text).map_err(|error| HostError {
        exit_code: 3,
        message: format!("cannot use the configuration {}: {error}", file.path.display()),
        hint: "correct it, or move the file away to run with the defaults".to_owned(),
    })?;
    for setting in config::SETTINGS {
        if let Ok(written) = std::env::var(setting.variable()) {
            loaded.override_by(setting, &written);
        }
    }
    Ok(loaded)
}

/// Puts a host together. Nothing of it runs yet; must be called within a tokio runtime.
///
/// # Errors
/// The program's own file cannot be found.
pub fn prepare(options: &HostOptions, mut settings: config::Loaded) -> Result<Prepared, HostError> {
    let paths = &options.paths;
    let clock = Clock::system();
    settings.options.utc_offset_seconds = jiff::ZonedDateTime::now().offset().seconds();
    settings.options.save_dir = paths.saved().display().to_string();
    let (inbox, outbox) = inbound::channel();
    let engines = engines(options, &settings.options);
    settings.warnings.extend(engines.warnings.iter().cloned());
    if settings.options.env.backend == BackendKind::Docker {
        settings.options.env.endpoint = Some(engines.default.to_string());
    }
    let usual = BTreeMap::from([
        (BackendKind::Local, EndpointId::new("local")),
        (BackendKind::Docker, engines.default.clone()),
    ]);
    let backends = backends(paths, &settings.options, engines)?;
    let performer = Performer::new(backends.clone(), paths.environments(), inbox.clone());
    let (journal, remembered) = Journal::open(&paths.journal(), settings.options.history.persist, clock.now());
    let model = Model::new(settings.options.clone(), seed());
    let mut host =
        Host::new(HostParts { model, clock, inbox: inbox.clone(), outbox, performer, journal, leaves: options.leaves });
    host.restore(vec![Msg::Domain(Event::ConsentGiven(settings.options.hermes.clone()))]);
    host.restore(remembered);
    let trouble = settings.warnings.into_iter().map(|text| {
        let text = format!("configuration: {text}");
        tracing::warn!("{text}");
        inbox.note_trouble(&text);
        Msg::Trouble(text)
    });
    host.restore(trouble.collect());
    host.restore(unknown_endpoints(&host, &backends));
    for backend in backends.values() {
        watcher::watch(backend, &host.state().choices, inbox.clone());
    }
    let handle = HostHandle::new(inbox.clone());
    Ok(Prepared { host, handle, backends, usual, inbox, options: settings.options, hooks: paths.hooks() })
}

/// Does in this process's terminal what is wished for.
fn grant(wish: Wish, copy_command: &[String], inbox: &Inbox) {
    let failed = |inbox: &Inbox, text| inbox.send_blocking(Inbound::Msg(Msg::Told { client: HERE, text }));
    match wish {
        Wish::Copy(text) => {
            let inbox = inbox.clone();
            wishes::copy(copy_command, text, move |why| failed(&inbox, why));
        }
        Wish::Edit(text) => {
            let shown = wishes::edit(&text);
            let resized = Msg::ClientResized { client: HERE, size: terminal::size() };
            inbox.send_blocking(Inbound::Cleared(HERE));
            inbox.send_blocking(Inbound::Msg(resized));
            if let Err(why) = shown {
                failed(inbox, why);
            }
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Where engines may be. Asks none.
#[must_use]
pub fn engines(options: &HostOptions, settings: &Options) -> places::Found {
    let named: Vec<Named> = settings
        .endpoints
        .iter()
        .map(|(name, endpoint)| Named {
            name: name.clone(),
            url: endpoint.url.clone(),
            certificates: endpoint.certificates.as_ref().map(PathBuf::from),
        })
        .collect();
    places::find(&Search {
        flag: options.endpoint.as_deref(),
        named: &named,
        preferred: settings.env.engine.as_deref(),
        usual: settings.usual_endpoints,
        data_dir: &options.paths.data_dir,
        variable: &variable,
    })
}

/// How the embedded backend is made.
///
/// # Errors
/// The program's own file cannot be found.
pub fn local(paths: &Paths, options: &Options) -> Result<LocalConfig, HostError> {
    let exe = std::env::current_exe().map_err(|error| {
        HostError::failed(format!("cannot find the program's own file: {error}"), "start it by its full path")
    })?;
    let mut local = LocalConfig::new(exe, &paths.data_dir, &paths.runtime_dir);
    local.shell = options.shell.first().cloned();
    Ok(local)
}

fn backends(
    paths: &Paths,
    options: &Options,
    engines: places::Found,
) -> Result<BTreeMap<EndpointId, Arc<dyn Backend>>, HostError> {
    let local = local(paths, options)?;
    let kin = Kin::default();
    let docker = engines.spots.into_iter().map(|spot| {
        let mut docker = DockerConfig::at(&paths.data_dir, spot, kin.clone());
        docker.shell.clone_from(&local.shell);
        docker.credentials = contexts::config_folder(&variable);
        docker.homes = Homes::new(&variable);
        docker
    });
    let docker = docker.collect();
    Ok(registry::build(BackendsConfig { local: Some(local), docker }))
}

/// What the journal remembers on endpoints that this host does not have must not wait for an answer of theirs.
fn unknown_endpoints(host: &Host, backends: &BTreeMap<EndpointId, Arc<dyn Backend>>) -> Vec<Msg> {
    let used: BTreeSet<&EndpointId> = host.state().environments.values().map(|env| &env.spec.endpoint).collect();
    let unknown = used.into_iter().filter(|endpoint| !backends.contains_key(*endpoint));
    let known: Vec<&str> = backends.keys().map(EndpointId::as_str).collect();
    let detail = format!("there is no such endpoint here; there is: {}", known.join(", "));
    unknown
        .map(|endpoint| Msg::Domain(Event::EndpointDown { endpoint: endpoint.clone(), detail: detail.clone() }))
        .collect()
}

fn seed() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().0
}

impl Prepared {
    /// Takes the terminal and shows the screen in it. The guard gives it back.
    ///
    /// # Errors
    /// There is no terminal, or it refuses a mode.
    pub fn take_terminal(&mut self) -> Result<TerminalGuard, HostError> {
        let failed = |error: std::io::Error| {
            HostError::failed(
                format!("cannot open the screen: {error}"),
                "run it in a terminal, or use hermes-tui serve for a host without a screen",
            )
        };
        let caps = terminal::caps(&|name| std::env::var(name).ok());
        let guard = TerminalGuard::take(self.options.mouse).map_err(failed)?;
        let (drained, gone) = (self.inbox.clone(), self.inbox.clone());
        let (told, program) = (self.inbox.clone(), self.options.copy_command.clone());
        let deeds = terminal::frame_writer(
            move || drained.send_blocking(Inbound::Drained(HERE)),
            move || gone.send_blocking(Inbound::Gone(HERE)),
            move |wish| grant(wish, &program, &told),
        );
        let frames = deeds.clone();
        let screen = ClientScreen::for_terminal(
            &self.options,
            caps,
            terminal::size(),
            Box::new(move |frame| frames.send(Deed::Frame(frame)).is_ok()),
        )
        .with_wishes(Box::new(move |wish| deeds.send(Deed::Wish(wish)).is_ok()));
        self.host.attach(HERE, screen, Role::Owner);
        reader::read_terminal(HERE, self.inbox.clone());
        discovery::look_around(self.backends.values().cloned().collect(), self.inbox.clone());
        Ok(guard)
    }

    /// What follows the conversations of the hermes-agents that are here, once it is called.
    pub fn agents(&self) -> impl FnOnce() + Send + 'static {
        let (inbox, hooks) = (self.inbox.clone(), self.hooks.clone());
        move || agents::follow(Homes::new(&variable), hooks, inbox)
    }

    /// Ends the host in order on SIGTERM, SIGINT, SIGHUP and SIGQUIT.
    ///
    /// # Errors
    /// The handlers cannot be set.
    pub fn obey_signals(&self) -> Result<(), HostError> {
        for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup(), SignalKind::quit()] {
            let by_key = [SignalKind::interrupt(), SignalKind::quit()].contains(&kind);
            // Ctrl+C and Ctrl+\ in the person's editor are meant for that one.
            self.on_signal(kind, move || (!(by_key && terminal::is_key_of_another())).then_some(Inbound::Terminate))?;
        }
        // How tests see that the terminal comes back after a panic of the loop; not in a release.
        if cfg!(debug_assertions) && std::env::var_os("HTUI_TEST_PANIC").is_some() {
            self.on_signal(SignalKind::user_defined1(), || {
                Some(Inbound::Read(Box::new(|_, _| panic!("a panic that a test asked for"))))
            })?;
        }
        Ok(())
    }

    fn on_signal(
        &self,
        kind: SignalKind,
        make: impl Fn() -> Option<Inbound> + Send + 'static,
    ) -> Result<(), HostError> {
        let mut signals = signal(kind)
            .map_err(|error| HostError::failed(format!("cannot listen for signals: {error}"), "see the log"))?;
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if let Some(inbound) = make() {
                    inbox.send(inbound).await;
                }
            }
        });
        Ok(())
    }
}
