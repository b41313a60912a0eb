//! Settings as values: a TOML text comes in, [`Options`] and warnings go out.
//!
//! Pure: which file is read, and what the environment or a flag overrides, is the runtime's business.

pub mod keys;
pub mod options;
pub mod settings;

pub use keys::{KeyPress, KeySyntaxError};
pub use options::{EnvDefaults, History, KeyMap, NamedEndpoint, Options, Theme};
pub use settings::{ConfigError, Loaded, SETTINGS, Setting, default_file, load, nearest};
