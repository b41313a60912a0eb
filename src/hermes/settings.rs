//! The settings of a hermes-agent that decide what becomes of its containers, from its `config.yaml`.
//!
//! A key that stands in the file is what a hermes-agent goes by; for one that does not, the variables of its own
//! process may say something else than the default that is assumed here. Names in `${...}` stay as they are written.

use crate::domain::Span;
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Larger files are not read.
const LARGEST: u64 = 1 << 20;
/// What hermes-agent 0.19 takes for `lifetime_seconds` where nothing is said.
const LIFETIME: Span = Span::seconds(300);
/// The shortest that the age of what is swept is worked out from.
const SHORTEST: Span = Span::seconds(60);
/// For how long a container of one session with `idle_ttl` is left unused where nothing is said.
const SESSION_TTL: Span = Span::seconds(3600);

/// What the file says. `None` = nothing that is understood.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Where commands run: `local`, `docker`, `modal`, ...
    pub backend: Option<String>,
    /// After so many seconds without use it forgets a container, or removes it where it does not leave it running.
    pub lifetime_seconds: Option<u64>,
    /// Files of the container outlive it.
    pub container_persistent: Option<bool>,
    /// Containers are left running, and found again by the next process.
    pub persist_across_processes: Option<bool>,
    /// After so many seconds without use it removes the container of one session whose label is `idle_ttl`; zero is
    /// the lifetime. Not in release 0.19.
    pub session_ttl_seconds: Option<u64>,
    /// Each start deletes containers that ended a while ago.
    pub orphan_reaper: Option<bool>,
    /// Where the files of containers are, where it is not in the home.
    pub sandbox_dir: Option<PathBuf>,
    /// Why the file, or a part of it, says nothing; for people.
    pub warnings: Vec<String>,
}

impl Settings {
    /// Of a home. Defaults where there is no file.
    #[must_use]
    pub fn read(home: &Path) -> Self {
        match config_text(home).and_then(|text| text.map_or_else(|| Ok(Self::default()), |text| Self::parse(&text))) {
            Ok(settings) => settings,
            Err(why) => {
                let path = home.join("config.yaml");
                let warning = format!("{} cannot be read: {why}; its defaults are assumed", path.display());
                Self { warnings: vec![warning], ..Self::default() }
            }
        }
    }

    /// From a file's text.
    ///
    /// # Errors
    /// It is not YAML, one sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Option<File> = match serde_saphyr::from_str(text) {
            Ok(file) => file,
            Err(error) => return Err(not_understood(&error)),
        };
        let terminal = file.unwrap_or_default().terminal.unwrap_or_default();
        let mut warnings = Vec::new();
        let mut odd = |name: &str, value: &Scalar| {
            warnings.push(format!("terminal.{name} in config.yaml is not understood: {value}"));
        };
        let lifetime = terminal.lifetime_seconds.filter(|value| *value != Scalar::Nothing);
        let lifetime_seconds = lifetime.as_ref().and_then(Scalar::number);
        if let (Some(value), None) = (&lifetime, lifetime_seconds) {
            odd("lifetime_seconds", value);
        }
        let ttl = terminal.docker_session_container_ttl_seconds.filter(|value| *value != Scalar::Nothing);
        let session_ttl_seconds = ttl.as_ref().and_then(Scalar::number);
        if let (Some(value), None) = (&ttl, session_ttl_seconds) {
            odd("docker_session_container_ttl_seconds", value);
        }
        let backend = terminal.backend.or(terminal.env_type).and_then(|value| value.text());
        let sandbox_dir = terminal.sandbox_dir.and_then(|value| value.text()).map(PathBuf::from);
        Ok(Self {
            backend,
            lifetime_seconds,
            container_persistent: terminal.container_persistent.and_then(|value| value.truth()),
            persist_across_processes: terminal.docker_persist_across_processes.and_then(|value| value.truth()),
            session_ttl_seconds,
            orphan_reaper: terminal.docker_orphan_reaper.and_then(|value| value.truth()),
            sandbox_dir: sandbox_dir.filter(|path| path.is_absolute()),
            warnings,
        })
    }

    /// After this time without use it lets go of a container.
    #[must_use]
    pub fn lifetime(&self) -> Span {
        self.lifetime_seconds.map_or(LIFETIME, Span::seconds)
    }

    /// After this time without use it removes the container of one session whose label is `idle_ttl`.
    #[must_use]
    pub fn session_ttl(&self) -> Span {
        match self.session_ttl_seconds {
            None => SESSION_TTL,
            Some(0) => self.lifetime(),
            Some(seconds) => Span::seconds(seconds),
        }
    }

    /// Whether containers are left running.
    #[must_use]
    pub fn leaves_running(&self) -> bool {
        self.persist_across_processes.unwrap_or(true)
    }

    /// Each start deletes containers that ended longer ago than this; `None` if it does not.
    #[must_use]
    pub fn swept_after(&self) -> Option<Span> {
        let age = self.lifetime().max(SHORTEST);
        self.orphan_reaper.unwrap_or(true).then(|| Span(age.0.saturating_mul(2)))
    }

    /// Where the files of its containers are.
    #[must_use]
    pub fn sandboxes(&self, home: &Path) -> PathBuf {
        self.sandbox_dir.clone().unwrap_or_else(|| home.join("sandboxes"))
    }
}

/// The text of a home's `config.yaml`; none where there is no file. What it cannot be read for is one sentence.
pub(super) fn config_text(home: &Path) -> Result<Option<String>, String> {
    let mut text = String::new();
    let file = std::fs::File::open(home.join("config.yaml"));
    match file.and_then(|file| file.take(LARGEST).read_to_string(&mut text)) {
        Ok(length) if length as u64 == LARGEST => Err("it is larger than 1 MiB".to_owned()),
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Says where a file is wrong. The error itself may quote the line, and with it what is nobody's business.
pub(super) fn not_understood(error: &serde_saphyr::Error) -> String {
    let place = error.location().map(|at| format!(" in line {}", at.line())).unwrap_or_default();
    format!("it is not understood{place}")
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    terminal: Option<Terminal>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Terminal {
    backend: Option<Scalar>,
    env_type: Option<Scalar>,
    lifetime_seconds: Option<Scalar>,
    container_persistent: Option<Scalar>,
    docker_persist_across_processes: Option<Scalar>,
    docker_session_container_ttl_seconds: Option<Scalar>,
    docker_orphan_reaper: Option<Scalar>,
    sandbox_dir: Option<Scalar>,
}

/// Whatever stands there.
#[derive(Clone, Debug, PartialEq)]
enum Scalar {
    Text(String),
    Number(f64),
    Truth(bool),
    Nothing,
    Other,
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::Nothing => f.write_str("nothing"),
            Self::Other => f.write_str("no single value"),
        }
    }
}

impl Scalar {
    fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            _ => None,
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) if *number >= 0.0 => Some(*number as u64),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// As hermes-agent takes it: its words for true, and everything else is false. A name that it would expand first
    /// may be anything. `on` and its like are booleans of YAML 1.1, which it reads.
    fn truth(&self) -> Option<bool> {
        match self {
            Self::Truth(truth) => Some(*truth),
            Self::Number(number) => Some(*number == 1.0),
            Self::Text(text) if text.contains("${") => None,
            Self::Text(text) => Some(matches!(text.trim().to_lowercase().as_str(), "true" | "1" | "yes" | "on")),
            Self::Nothing | Self::Other => None,
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

struct Anything;

impl<'de> serde::de::Visitor<'de> for Anything {
    type Value = Scalar;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Truth(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_none<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut all: A) -> Result<Scalar, A::Error> {
        while all.next_element::<serde::de::IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut all: A) -> Result<Scalar, A::Error> {
        while all.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_file_is_taken_in_every_way_that_people_write_it() {
        let text = "model: {default: x}\nhooks:\n  - !odd {a: 1}\nterminal:\n  backend: docker\n  lifetime_seconds: \"5\"\n  \
            container_persistent: no\n  docker_persist_across_processes: 'False'\n  docker_orphan_reaper: true\n  \
            sandbox_dir: /srv/boxes\n  docker_volumes: [a, b]\n";
        let found = Settings::parse(text).expect("understood");
        assert_eq!((found.backend.as_deref(), found.lifetime()), (Some("docker"), Span::seconds(5)));
        assert_eq!((found.container_persistent, found.leaves_running()), (Some(false), false));
        assert_eq!(found.swept_after(), Some(Span::seconds(120)));
        assert_eq!(found.sandboxes(Path::new("/h")), PathBuf::from("/srv/boxes"));
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    }

    #[test]
    fn how_long_a_session_is_kept_is_told_or_an_hour_and_zero_is_the_lifetime() {
        let ttl = |text: &str| Settings::parse(text).expect("understood").session_ttl();
        assert_eq!(ttl(""), Span::hours(1));
        assert_eq!(ttl("terminal: {docker_session_container_ttl_seconds: 7200}"), Span::hours(2));
        assert_eq!(ttl("terminal: {docker_session_container_ttl_seconds: 0, lifetime_seconds: 90}"), Span::seconds(90));
        let odd = Settings::parse("terminal: {docker_session_container_ttl_seconds: soon}").expect("understood");
        assert_eq!((odd.session_ttl(), odd.warnings.len()), (Span::hours(1), 1));
    }

    #[test]
    fn defaults_are_those_of_hermes_agent() {
        for text in ["", "terminal:\n", "terminal: {}\n", "# nothing\n", "terminal: {lifetime_seconds: }\n"] {
            let found = Settings::parse(text).expect("understood");
            assert_eq!((found.lifetime(), found.leaves_running()), (Span::seconds(300), true), "{text:?}");
            assert_eq!(found.swept_after(), Some(Span::seconds(600)));
            assert_eq!(found.sandboxes(Path::new("/h")), PathBuf::from("/h/sandboxes"));
        }
        assert_eq!(Settings::read(Path::new("/nonexistent")), Settings::default());
    }

    #[test]
    fn a_name_that_would_be_expanded_stays_as_it_is_and_may_be_anything() {
        let text = "terminal:\n  docker_persist_across_processes: ${KEEP}\n  sandbox_dir: ${BASE}/x\n  \
            backend: ${BACKEND}\n";
        let found = Settings::parse(text).expect("understood");
        assert_eq!((found.persist_across_processes, found.sandbox_dir), (None, None));
        assert_eq!(found.backend.as_deref(), Some("${BACKEND}"));
    }

    #[test]
    fn a_file_that_is_not_understood_is_a_warning_without_its_contents() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("config.yaml"), "a: [secret-value\nb: {").expect("written");
        let found = Settings::read(dir.path());
        let [warning] = found.warnings.as_slice() else { panic!("{found:?}") };
        assert!(warning.contains("config.yaml") && !warning.contains("secret-value"), "{warning}");
        for (written, shown) in [("soon", "\"soon\""), ("-2.5", "-2.5"), ("true", "true"), ("[1]", "no single value")] {
            let odd = Settings::parse(&format!("terminal: {{lifetime_seconds: {written}}}\n")).expect("understood");
            let warning = format!("terminal.lifetime_seconds in config.yaml is not understood: {shown}");
            assert_eq!((odd.lifetime(), odd.warnings), (Span::seconds(300), vec![warning]));
        }
    }
}
