//! Which engine the docker command line would use: `DOCKER_HOST`, `DOCKER_CONTEXT`, the current context of its
//! configuration. The client library does not know of contexts.
//!
//! The files are those of the docker command line: `config.json` names the current context, `contexts/meta/HASH/meta.json`
//! says where it is, `contexts/tls/HASH/docker/` holds its certificates; HASH is the SHA-256 of its name in hexadecimal.

use super::address::{Address, Tls};
use super::places::{Place, Variable};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The folder of the docker command line's configuration: `DOCKER_CONFIG`, or `.docker` in the home directory.
#[must_use]
pub fn config_folder(variable: Variable<'_>) -> Option<PathBuf> {
    let set = variable("DOCKER_CONFIG").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    set.or_else(|| Some(PathBuf::from(variable("HOME").filter(|home| !home.is_empty())?).join(".docker")))
}

/// What somebody chose for the docker command line. `None` = its usual socket.
#[must_use]
pub fn chosen(variable: Variable<'_>) -> Option<Place> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let folder = config_folder(variable);
    if let Some(host) = set("DOCKER_HOST") {
        let tls = tls_of_variables(variable, folder.as_deref());
        return Some(Place::new("DOCKER_HOST", Address::parse(&host, tls)));
    }
    if let Some(name) = set("DOCKER_CONTEXT") {
        return by_name(&name, "DOCKER_CONTEXT", folder.as_deref());
    }
    let file = folder.as_ref()?.join("config.json");
    match current(&file) {
        Ok(name) => by_name(&name?, &format!("current in {}", file.display()), folder.as_deref()),
        Err(why) => Some(Place::new("the docker command line's configuration", Err(why))),
    }
}

/// `DOCKER_TLS_VERIFY` (any value) asks for a checked connection, `DOCKER_TLS` for an unchecked one.
fn tls_of_variables(variable: Variable<'_>, folder: Option<&Path>) -> Option<Tls> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let verify = set("DOCKER_TLS_VERIFY").is_some();
    if !verify && set("DOCKER_TLS").is_none() {
        return None;
    }
    let files = set("DOCKER_CERT_PATH").map(PathBuf::from).or_else(|| folder.map(Path::to_owned))?;
    Some(Tls::of(&files, verify))
}

fn read(file: &Path) -> Result<Option<Value>, String> {
    match std::fs::read_to_string(file) {
        Ok(text) => match serde_json::from_str(&text) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(format!("{} is not understood: {error}", file.display())),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", file.display())),
    }
}

fn current(config: &Path) -> Result<Option<String>, String> {
    let config = read(config)?.unwrap_or_default();
    Ok(config["currentContext"].as_str().filter(|name| !name.is_empty()).map(str::to_owned))
}

/// `None` for the context that stands for the usual socket.
fn by_name(name: &str, said_by: &str, folder: Option<&Path>) -> Option<Place> {
    if name == "default" {
        return None;
    }
    let origin = format!("the docker context `{name}` ({said_by})");
    let Some(folder) = folder else {
        let why = "there is no folder of contexts: neither DOCKER_CONFIG nor HOME is set";
        return Some(Place::new(origin, Err(why.to_owned())));
    };
    Some(Place::new(origin, address(name, &folder.join("contexts"))))
}

fn address(name: &str, contexts: &Path) -> Result<Address, String> {
    let hash: String = Sha256::digest(name.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = contexts.join("meta").join(&hash).join("meta.json");
    let Some(meta) = read(&file)? else {
        let known = names(contexts);
        let known =
            if known.is_empty() { "there is none".to_owned() } else { format!("there is {}", known.join(", ")) };
        return Err(format!("this context does not exist ({known}); it would be in {}", file.display()));
    };
    let endpoint = &meta["Endpoints"]["docker"];
    let Some(host) = endpoint["Host"].as_str().filter(|host| !host.is_empty()) else {
        return Err(format!("{} names no docker engine", file.display()));
    };
    let files = contexts.join("tls").join(&hash).join("docker");
    let verify = endpoint["SkipTLSVerify"] != Value::Bool(true);
    let tls = (files.is_dir() || !verify).then(|| Tls::of(&files, verify));
    Address::parse(host, tls).map_err(|why| format!("{}: {why}", file.display()))
}

/// The contexts that there are.
fn names(contexts: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(contexts.join("meta")).into_iter().flatten().flatten();
    let name = |folder: std::fs::DirEntry| {
        let meta = read(&folder.path().join("meta.json")).ok()??;
        Some(meta["Name"].as_str()?.to_owned())
    };
    let mut names: Vec<String> = folders.filter_map(name).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Home(tempfile::TempDir);

    impl Home {
        fn with_context(name: &str, meta: &str) -> Self {
            let home = Self(tempfile::tempdir().expect("folder"));
            let hash: String = Sha256::digest(name.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            home.write(&format!("contexts/meta/{hash}/meta.json"), meta);
            home
        }

        fn write(&self, path: &str, text: &str) {
            let file = self.0.path().join(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(file, text).expect("written");
        }

        fn chosen(&self, set: &[(&str, &str)]) -> Option<Place> {
            chosen(&|name| match set.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => Some((*value).to_owned()),
                None => (name == "DOCKER_CONFIG").then(|| self.0.path().display().to_string()),
            })
        }
    }

    const META: &str = r#"{"Name":"far","Endpoints":{"docker":{"Host":"ssh://me@far","SkipTLSVerify":false}}}"#;

    #[test]
    fn the_variable_for_the_host_wins_over_that_for_the_context_and_that_over_the_configuration() {
        let home = Home::with_context("far", META);
        assert!(home.chosen(&[]).is_none(), "nothing was chosen");
        home.write("config.json", r#"{"currentContext":"near"}"#);
        let chosen = |set: &[(&str, &str)]| home.chosen(set).expect("chosen").address.map(|one| one.to_string());
        assert!(chosen(&[]).is_err_and(|why| why.contains("does not exist (there is far)")), "a precise reason");
        assert_eq!(chosen(&[("DOCKER_CONTEXT", "far")]), Ok("ssh://me@far".to_owned()));
        let both = [("DOCKER_CONTEXT", "far"), ("DOCKER_HOST", "unix:///x.sock")];
        assert_eq!(chosen(&both), Ok("unix:///x.sock".to_owned()));
        assert!(home.chosen(&[("DOCKER_CONTEXT", "default")]).is_none());
        home.write("config.json", "{");
        assert!(chosen(&[]).is_err_and(|why| why.contains("config.json is not understood")));
    }

    #[test]
    fn certificates_come_with_the_context_or_from_the_variables() {
        let home = Home::with_context("tls", r#"{"Endpoints":{"docker":{"Host":"tcp://box:2376"}}}"#);
        let address = || home.chosen(&[("DOCKER_CONTEXT", "tls")]).expect("chosen").address.expect("an address");
        assert!(matches!(address(), Address::Tcp { tls: None, .. }));
        let hash: String = Sha256::digest(b"tls").iter().map(|byte| format!("{byte:02x}")).collect();
        for file in ["ca.pem", "cert.pem", "key.pem"] {
            home.write(&format!("contexts/tls/{hash}/docker/{file}"), "");
        }
        let Address::Tcp { tls: Some(tls), .. } = address() else { panic!("encrypted") };
        assert!(tls.verify && tls.own.is_some() && tls.ca.is_some_and(|file| file.ends_with("docker/ca.pem")));
        home.write("ca.pem", "");
        let set = [("DOCKER_HOST", "tcp://box:2376"), ("DOCKER_TLS_VERIFY", "1")];
        let place = home.chosen(&set).expect("chosen").address.expect("an address");
        let ca = Some(home.0.path().join("ca.pem"));
        assert_eq!(
            place,
            Address::Tcp { host: "box".into(), port: 2376, tls: Some(Tls { ca, own: None, verify: true }) }
        );
    }
}
