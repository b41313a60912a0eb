//! Runs a host with its socket, from the lock to the last answer.

use super::about::About;
use super::dispatch;
use super::server::Server;
use super::shapes::HostInfo;
use crate::domain::EnvSpec;
use crate::runtime::notify::{State, notify};
use crate::runtime::options::{HostError, HostOptions};
use crate::runtime::owner::Owner;
use crate::runtime::{clock::Clock, log, panics, start, terminal};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Calls that wait for the dispatcher.
const WAITING: usize = 64;
/// The last answers are written within this time, or not at all.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Runs until the host ends in order: by `shutdown`, a signal, or the loss of its terminal.
///
/// # Errors
/// Another host has this profile, the configuration cannot be used, or the socket or terminal cannot be had.
pub fn run(options: &HostOptions) -> Result<(), HostError> {
    let settings = start::settings(options)?;
    let owner = Owner::acquire(&options.paths).map_err(|error| HostError::failed(error.to_string(), error.hint()))?;
    let _log = log::init(&options.paths);
    panics::set_hook();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| HostError::failed(format!("cannot start: {error}"), "free some memory or processes"))?;
    let report = runtime.block_on(serve(options, settings))?;
    // What still waits for an engine must not hold up the end of the process.
    runtime.shutdown_background();
    drop(owner);
    terminal::last_words(report);
    Ok(())
}

async fn serve(options: &HostOptions, settings: crate::config::Loaded) -> Result<Vec<String>, HostError> {
    let paths = &options.paths;
    // The configured image stands by for whoever asks for a container.
    let spec = EnvSpec { image: settings.options.env.image.clone(), ..settings.options.env.spec() };
    let rules = settings.options.rules.clone();
    let mut prepared = start::prepare(options, settings)?;
    let server = Server::bind(&paths.socket()).map_err(|error| {
        HostError::failed(
            format!("cannot listen on the socket: {error}"),
            "correct that, or use another profile with HTUI_HOME=DIR",
        )
    })?;
    let host = HostInfo {
        pid: std::process::id(),
        started: Clock::system().now(),
        socket: paths.socket(),
        data_dir: paths.data_dir.clone(),
        logs: paths.logs(),
        screen: options.screen,
    };
    // What is meant where no endpoint is named may have been found only now.
    let spec = EnvSpec { endpoint: prepared.usual.get(&spec.backend).cloned().unwrap_or(spec.endpoint), ..spec };
    let about = Arc::new(About::new(host, &prepared, options, spec, rules));
    let (calls, incoming) = mpsc::channel(WAITING);
    let listening = tokio::spawn(server.run(calls));
    let dispatching = tokio::spawn(dispatch::run(prepared.handle.clone(), Arc::clone(&about), incoming));
    let follow_agents = prepared.agents();
    let probing = tokio::spawn(async move {
        about.probe().await;
        // Their containers are listed by then, so that what they tell finds its place.
        about.first_lists().await;
        follow_agents();
    });
    prepared.obey_signals()?;
    // It listens, and a signal ends it in order.
    notify(State::Ready);
    // The terminal last: nothing may fail any more once it is ours.
    let guard = if options.screen { Some(prepared.take_terminal()?) } else { None };
    let start::Prepared { host, handle, .. } = prepared;
    tracing::info!("started, pid {}", std::process::id());
    let report = panics::vital(host.run()).await;
    drop(guard);
    drop(handle);
    probing.abort();
    let _ = tokio::time::timeout(LAST_ANSWERS, dispatching).await;
    listening.abort();
    let _ = listening.await;
    tracing::info!("ended");
    Ok(report)
}
