//! What every verb needs: the profile, the configuration, the host.

use super::Global;
use super::output::{Failure, print_json};
use crate::api::client::Client;
use crate::api::{ApiCall, ApiError, ErrorCode, start};
use crate::runtime::config_files::{self, LoadedConfig};
use crate::runtime::paths::Paths;
use crate::runtime::start::settings_of;
use serde_json::Value;
use std::path::PathBuf;

/// What every verb needs.
#[derive(Clone, Debug)]
pub(super) struct Context {
    /// Whether JSON is printed.
    pub(super) json: bool,
    /// The container engine that was named.
    pub(super) endpoint: Option<String>,
    config: Option<PathBuf>,
    /// Who named it: `flag`, `variable`, or `profile`.
    config_named_by: &'static str,
}

impl Context {
    pub(super) fn new(global: &Global) -> Self {
        let variable = || std::env::var_os("HTUI_CONFIG").filter(|value| !value.is_empty()).map(PathBuf::from);
        let named = global.config.clone().map(|path| (path, "flag")).or_else(|| Some((variable()?, "variable")));
        let (config, config_named_by) = named.map_or((None, "profile"), |(path, who)| (Some(path), who));
        // Absolute, because the host that it is passed to runs in another folder.
        let config = config.map(|path| std::path::absolute(&path).unwrap_or(path));
        Self { json: global.json, endpoint: global.endpoint.clone(), config, config_named_by }
    }

    /// The folders of the profile.
    pub(super) fn paths(&self) -> Result<Paths, Failure> {
        Paths::find().map_err(|error| {
            ApiError::new(ErrorCode::Failed, error.to_string(), "set HTUI_HOME to a folder of your own").into()
        })
    }

    /// The same with another configuration.
    pub(super) fn with_config(&self, path: PathBuf) -> Self {
        let path = std::path::absolute(&path).unwrap_or(path);
        Self { config: Some(path), config_named_by: "flag", ..self.clone() }
    }

    /// Where the configuration is, and who named it: `flag`, `variable`, or `profile`.
    pub(super) fn config_file(&self, paths: &Paths) -> (PathBuf, &'static str) {
        (self.config.clone().unwrap_or_else(|| paths.config_file()), self.config_named_by)
    }

    /// The configuration.
    pub(super) fn config(&self, paths: &Paths) -> Result<LoadedConfig, Failure> {
        let (path, named_by) = self.config_file(paths);
        config_files::load(&path, named_by != "profile")
            .map_err(|error| ApiError::new(ErrorCode::Config, error.to_string(), error.hint()).into())
    }

    /// The person's program for copying; empty where there is none, or where nothing can be read: the host says why.
    pub(super) fn copy_command(&self) -> Vec<String> {
        let Ok(paths) = self.paths() else { return Vec::new() };
        let Ok(config) = self.config(&paths) else { return Vec::new() };
        settings_of(&config).map(|loaded| loaded.options.copy_command).unwrap_or_default()
    }

    /// Runs something that waits.
    pub(super) fn wait<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
            ApiError::new(ErrorCode::Internal, format!("cannot start: {error}"), "check the limits of open files")
        })?;
        let outcome = runtime.block_on(work);
        // Not waited for: a thread that reads standard input would keep the process until a key is pressed.
        runtime.shutdown_background();
        outcome
    }

    /// The host; started if none runs.
    pub(super) async fn host(&self) -> Result<Client, Failure> {
        let paths = self.paths()?;
        self.config(&paths)?;
        Ok(start::connect_or_start(&paths, self.config.as_deref(), self.url()).await?)
    }

    /// The URL of an engine, which a host that is started must know of. A name is known to it already.
    fn url(&self) -> Option<&str> {
        self.endpoint.as_deref().filter(|text| text.contains("://") || text.starts_with('/'))
    }

    /// The host, if one runs.
    pub(super) async fn running_host(&self) -> Result<Client, Failure> {
        Ok(Client::connect(&self.paths()?).await?)
    }

    /// Makes one call.
    pub(super) fn call(&self, call: &ApiCall) -> Result<Value, Failure> {
        self.wait(async { Ok(self.host().await?.call(call).await?) })
    }

    /// Makes one call and prints the reply: as it is, or by `print`.
    pub(super) fn show(
        &self,
        call: &ApiCall,
        print: impl FnOnce(&Value) -> Result<(), Failure>,
    ) -> Result<u8, Failure> {
        let reply = self.call(call)?;
        if self.json {
            print_json(&reply)?;
        } else {
            print(&reply)?;
        }
        Ok(0)
    }
}
