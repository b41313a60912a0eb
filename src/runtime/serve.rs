//! Runs a host: takes the profile's lock, opens the log and the journal, listens, and serves until it is ended.

use super::log;
use super::options::{HostError, HostOptions};
use super::owner::Owner;
use crate::api::server::{Inbound, Incoming, Server};
use crate::api::shapes::{Extras, HostInfo};
use crate::api::{self, ApiCall, ApiError, Defaults, ErrorCode, Plan};
use crate::domain::{Moment, State};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Runs a host with a screen in this terminal, until it is left.
///
/// # Errors
/// The host cannot run, or ended out of order.
pub fn run_screen(options: HostOptions) -> Result<(), HostError> {
    run_serve(options)
}

/// Runs a host without a screen, until it is ended by `shutdown` or a signal.
///
/// # Errors
/// The host cannot run, or ended out of order.
pub fn run_serve(options: HostOptions) -> Result<(), HostError> {
    let _owner = Owner::acquire(&options.paths).map_err(|error| HostError::failed(error.to_string(), error.hint()))?;
    let _log = log::init(&options.paths);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| HostError::failed(format!("cannot start: {error}"), "check the limits of open files"))?;
    runtime.block_on(serve(&options))
}

async fn serve(options: &HostOptions) -> Result<(), HostError> {
    let paths = &options.paths;
    let failed = |error: std::io::Error| {
        HostError::failed(format!("cannot listen: {error}"), "correct that, or use another profile with HTUI_HOME=DIR")
    };
    let server = Server::bind(&paths.socket()).map_err(failed)?;
    let (sender, mut inbound) = mpsc::channel(256);
    let mut server = tokio::spawn(server.run(sender));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let state = State::default();
    let host = HostInfo {
        pid: std::process::id(),
        started: now(),
        socket: paths.socket(),
        data_dir: paths.data_dir.clone(),
        logs: paths.logs(),
        screen: options.screen,
    };
    let extras = Extras { host, ..Extras::default() };
    let (mut count, defaults) = (0, Defaults::default());
    let mut ids = || {
        count += 1;
        count.to_string()
    };
    loop {
        let Incoming { call, reply, .. } = tokio::select! {
            Some(inbound) = inbound.recv() => match inbound {
                Inbound::Call(incoming) => incoming,
                Inbound::Closed(_) => continue,
            },
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = &mut server => break,
            else => break,
        };
        match api::plan(&state, now(), &call, &extras, &mut ids, &defaults) {
            Plan::Answer(answer) => reply.send(answer),
            _ if matches!(call, ApiCall::Shutdown(_)) => {
                reply.send(Ok::<_, ApiError>(api::shapes::reply(serde_json::json!({"done": true}))));
                // Until it is written, or its reader is gone.
                let written = async { while let Some(Inbound::Call(_)) = inbound.recv().await {} };
                let _ = tokio::time::timeout(std::time::Duration::from_millis(200), written).await;
                break;
            }
            _ => {
                let message = "no sandboxes can be made in this build";
                reply.send(Err(ApiError::new(ErrorCode::Failed, message, "see `hermes-tui status`")));
            }
        }
    }
    Ok(())
}
