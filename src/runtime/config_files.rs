//! Reads the configuration file. What its keys mean is the business of [`crate::config`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A configuration file as read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedConfig {
    /// Where it is (or would be).
    pub path: PathBuf,
    /// Its text; empty if there is no such file.
    pub text: String,
    /// Its keys.
    pub table: toml::Table,
}

impl LoadedConfig {
    /// One sentence where the file says something else by now.
    #[must_use]
    pub fn changed(&self) -> Option<String> {
        self.text_now().filter(|now| *now != self.text).map(|_| {
            format!(
                "{} was changed after this host started: its rules count at once, all else from the next start on \
                 (`hermes-tui shutdown --keep`, then any other command)",
                self.path.display()
            )
        })
    }

    /// What the file says now: nothing where there is none, and `None` where it cannot be read.
    #[must_use]
    pub fn text_now(&self) -> Option<String> {
        match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(String::new()),
            read => read.ok(),
        }
    }
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Whether the user named it.
        named: bool,
        /// What the system says.
        error: io::Error,
    },
    /// The file is not TOML.
    #[error("cannot understand the configuration {}, line {line}, column {column}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
}

impl ConfigError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Read { path, named, .. } => {
                let otherwise = if *named { "leave --config out" } else { "use another profile with HTUI_HOME=DIR" };
                format!("check that {} is a file that can be read, or {otherwise}", path.display())
            }
            Self::Syntax { line, .. } => {
                format!("correct line {line}, or move the file away to run with the defaults")
            }
        }
    }
}

/// Reads a file. `named` tells that the user named it: then it must exist; the default one may be absent.
///
/// # Errors
/// It cannot be read, or is not TOML.
pub fn load(path: &Path, named: bool) -> Result<LoadedConfig, ConfigError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        // What stands in the way of its folder is said of that.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) && !named => {
            String::new()
        }
        Err(error) => return Err(ConfigError::Read { path: path.to_owned(), named, error }),
    };
    let table = text.parse::<toml::Table>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let (line, column) = position(&text, at);
        ConfigError::Syntax { path: path.to_owned(), line, column, message: error.message().trim().replace('\n', ", ") }
    })?;
    Ok(LoadedConfig { path: path.to_owned(), text, table })
}

/// Line and column, both from 1, of a byte offset.
#[must_use]
pub fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}
