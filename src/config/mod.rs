//! Settings as values: a TOML text comes in, [`Options`] and warnings go out.
//!
//! Pure: which file is read, and what the environment or a flag overrides, is the runtime's business.

pub mod check;
pub mod effective;
pub mod keys;
pub mod options;
pub mod rules;
pub mod schema;
pub mod settings;

pub use check::{Problem, check};
pub use effective::{Effective, Source, effective};
pub use keys::{KeyPress, KeySyntaxError};
pub use options::{Clipboard, EnvDefaults, History, KeyMap, NamedEndpoint, Options, Programs, Theme};
pub use rules::{Facts, Given, Rule};
pub use schema::schema;
pub use settings::{ConfigError, Fault, Kind, Loaded, SETTINGS, Setting, default_file, load, nearest, variable_value};
