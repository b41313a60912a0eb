//! Credentials for a registry, from where the docker command line keeps them: `config.json`, or a helper program.
//!
//! They are read for one pull and never written, logged or shown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bollard::auth::DockerCredentials;
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// The registry of an image that names none, as people and as the docker command line write it.
pub const HUB: &str = "docker.io";
const HUB_KEY: &str = "https://index.docker.io/v1/";
/// A helper that asks a person something would wait for ever.
const HELPER_WITHIN: Duration = Duration::from_secs(10);

/// The registry of an image.
#[must_use]
pub fn registry(image: &str) -> &str {
    match image.split_once('/') {
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => host,
        _ => HUB,
    }
}

/// What is kept for a registry. `None` where nothing is; `folder` is that of `config.json`.
///
/// # Errors
/// Something is kept and cannot be had: the text says why, without any part of it.
pub async fn find(folder: Option<&Path>, registry: &str) -> Result<Option<DockerCredentials>, String> {
    let Some(folder) = folder else { return Ok(None) };
    let file = folder.join("config.json");
    let Ok(text) = std::fs::read(&file) else { return Ok(None) };
    let config: Value = serde_json::from_slice(&text).map_err(|_| format!("{} is not understood", file.display()))?;
    let key = if registry == HUB { HUB_KEY } else { registry };
    let helpers = &config["credHelpers"];
    let helper = helpers[key].as_str().or_else(|| helpers[registry].as_str()).or_else(|| config["credsStore"].as_str());
    match helper.filter(|name| !name.is_empty()) {
        Some(name) => ask(name, key).await,
        None => Ok(kept(&config["auths"], registry, key)),
    }
}

/// Those in the file itself: `auth` is USER:PASSWORD in base64.
fn kept(auths: &Value, registry: &str, key: &str) -> Option<DockerCredentials> {
    let same = |written: &str| {
        let rest = written.split_once("://").map_or(written, |(_, rest)| rest);
        let host = rest.split('/').next().unwrap_or_default();
        host == registry || (registry == HUB && host == "index.docker.io")
    };
    let (_, entry) = auths.as_object()?.iter().find(|(written, _)| same(written))?;
    let text = |name: &str| entry[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let pair = text("auth").and_then(|auth| STANDARD.decode(auth.trim()).ok());
    let pair = pair.and_then(|bytes| String::from_utf8(bytes).ok());
    let pair = pair.as_deref().and_then(|pair| pair.trim_end_matches('\0').split_once(':'));
    let username = pair.map(|(user, _)| user.to_owned()).or_else(|| text("username"));
    let password = pair.map(|(_, secret)| secret.to_owned()).or_else(|| text("password"));
    let identitytoken = text("identitytoken");
    if identitytoken.is_none() && password.is_none() {
        return None;
    }
    Some(DockerCredentials {
        username,
        password,
        identitytoken,
        serveraddress: Some(key.to_owned()),
        ..DockerCredentials::default()
    })
}

/// Asks `docker-credential-NAME get`, which is told the registry on its input and answers with JSON.
async fn ask(name: &str, key: &str) -> Result<Option<DockerCredentials>, String> {
    let program = format!("docker-credential-{name}");
    if name.contains('/') {
        return Err(format!("`{program}` is no name of a program"));
    }
    let work = async {
        let mut child = Command::new(&program)
            .arg("get")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("`{program}` cannot be run: {error}"))?;
        if let Some(mut input) = child.stdin.take() {
            // One that does not read has its answer anyway.
            let _ = input.write_all(key.as_bytes()).await;
        }
        child.wait_with_output().await.map_err(|error| format!("`{program}` failed: {error}"))
    };
    let output = match tokio::time::timeout(HELPER_WITHIN, work).await {
        Ok(output) => output?,
        Err(_) => return Err(format!("`{program}` did not answer within {} s", HELPER_WITHIN.as_secs())),
    };
    if !output.status.success() {
        // The helpers' way to say that they keep nothing for it; anything else may hold more than a reason.
        let nothing = String::from_utf8_lossy(&output.stdout).contains("credentials not found");
        return if nothing { Ok(None) } else { Err(format!("`{program} get` failed ({})", output.status)) };
    }
    let answer: Value =
        serde_json::from_slice(&output.stdout).map_err(|_| format!("the answer of `{program}` is not understood"))?;
    let (user, secret) = (answer["Username"].as_str(), answer["Secret"].as_str());
    let (Some(user), Some(secret)) = (user, secret.filter(|secret| !secret.is_empty())) else { return Ok(None) };
    let secret = Some(secret.to_owned());
    let base = DockerCredentials { serveraddress: Some(key.to_owned()), ..DockerCredentials::default() };
    Ok(Some(if user == "<token>" {
        DockerCredentials { identitytoken: secret, ..base }
    } else {
        DockerCredentials { username: Some(user.to_owned()), password: secret, ..base }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_the_first_part_that_looks_like_a_machine() {
        assert_eq!(registry("debian:12"), HUB);
        assert_eq!(registry("me/tool"), HUB);
        assert_eq!(registry("box:5000/tool"), "box:5000");
        assert_eq!(registry("ghcr.io/me/tool@sha256:0"), "ghcr.io");
        assert_eq!(registry("localhost/tool"), "localhost");
    }

    #[tokio::test]
    async fn credentials_in_the_file_are_found_however_the_registry_is_written() {
        let dir = tempfile::tempdir().expect("folder");
        let auth = STANDARD.encode("me:se:cret");
        let config = serde_json::json!({"auths": {
            "https://index.docker.io/v1/": {"auth": auth},
            "https://box:5000": {"identitytoken": "token"},
            "empty.example": {},
        }});
        std::fs::write(dir.path().join("config.json"), config.to_string()).expect("written");
        let of = |registry: &'static str| find(Some(dir.path()), registry);
        let hub = of(HUB).await.expect("read").expect("there");
        assert_eq!((hub.username.as_deref(), hub.password.as_deref()), (Some("me"), Some("se:cret")));
        assert_eq!(hub.serveraddress.as_deref(), Some(HUB_KEY));
        let own = of("box:5000").await.expect("read").expect("there");
        assert_eq!(own.identitytoken.as_deref(), Some("token"));
        assert!(of("empty.example").await.expect("read").is_none());
        assert!(of("other.example").await.expect("read").is_none());
    }

    #[tokio::test]
    async fn a_helper_that_is_not_there_is_named() {
        let dir = tempfile::tempdir().expect("folder");
        std::fs::write(dir.path().join("config.json"), r#"{"credHelpers":{"x.example":"htui-none"}}"#)
            .expect("written");
        let why = find(Some(dir.path()), "x.example").await.expect_err("no helper");
        assert!(why.contains("docker-credential-htui-none"), "{why}");
        assert!(find(Some(dir.path()), "y.example").await.expect("read").is_none());
    }
}
