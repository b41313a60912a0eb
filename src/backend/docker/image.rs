//! Finds an image, or pulls it, and says how far that is.

use super::super::{BackendError, Progress, Result};
use super::credentials::{self, HUB};
use super::engine::{Engine, Engines, is_missing};
use crate::domain::FailureKind;
use bollard::auth::DockerCredentials;
use bollard::errors::Error;
use bollard::models::CreateImageInfo;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Between two lines for people.
const PACE: Duration = Duration::from_millis(300);

/// An image that is here.
pub struct Found {
    /// As whom its programs run.
    pub user: String,
    /// What it is made for, as `linux/amd64`.
    platform: String,
}

/// Looks at an image; it is pulled if it is not there.
///
/// # Errors
/// It cannot be had; the message says why.
pub async fn get(
    engines: &Engines,
    engine: &Engine,
    image: &str,
    credentials: Option<&Path>,
    progress: &Progress,
) -> Result<Found> {
    let look = || async { engine.docker.inspect_image(image).await };
    let found = match look().await {
        Err(error) if is_missing(&error) => {
            pull(engine, image, credentials, progress).await?;
            look().await
        }
        other => other,
    };
    let found = found.map_err(|error| engines.failed(&format!("looking at the image {image}"), &error))?;
    let platform = format!("{}/{}", found.os.unwrap_or_default(), found.architecture.unwrap_or_default());
    Ok(Found { user: found.config.and_then(|config| config.user).unwrap_or_default(), platform })
}

/// None of the programs that were tried keeps running; `why` says what became of each.
pub fn runs_nothing(engine: &Engine, image: &str, found: &Found, why: &str) -> BackendError {
    if found.platform != engine.platform || why.contains("exec format error") {
        return BackendError::new(
            FailureKind::Permanent,
            format!(
                "the image {image} is made for {}, and the engine's machine is {}: {why}",
                found.platform, engine.platform
            ),
            format!("use an image for this machine: `docker pull --platform {} {image}`", engine.platform),
        );
    }
    BackendError::new(
        FailureKind::Permanent,
        format!("nothing in the image {image} can keep a container running: {why}"),
        "use an image that has sleep, sh or tail",
    )
}

/// Name and tag. Without a tag the engine would pull all of them.
fn split(image: &str) -> (&str, &str) {
    if image.contains('@') {
        return (image, "");
    }
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    }
}

async fn pull(engine: &Engine, image: &str, folder: Option<&Path>, progress: &Progress) -> Result<()> {
    progress(format!("pulling {image}"));
    let (name, tag) = split(image);
    let options = CreateImageOptionsBuilder::default().from_image(name).tag(tag).build();
    // Most images need none: that some cannot be had counts when the registry wants them.
    let credentials = credentials::find(folder, credentials::registry(image)).await;
    let sent = credentials.as_ref().ok().cloned().flatten();
    let mut layers = Layers::default();
    let mut said = Instant::now();
    let mut events = engine.docker.create_image(Some(options), None, sent);
    while let Some(event) = events.next().await {
        layers.take(event.map_err(|error| not_pulled(engine, image, &credentials, &error))?);
        if said.elapsed() >= PACE {
            said = Instant::now();
            progress(format!("pulling {image}: {}", layers.text()));
        }
    }
    Ok(())
}

type Credentials = std::result::Result<Option<DockerCredentials>, String>;

fn not_pulled(engine: &Engine, image: &str, credentials: &Credentials, error: &Error) -> BackendError {
    let (status, why) = match error {
        Error::DockerResponseServerError { status_code, message } => (*status_code, message.clone()),
        Error::DockerStreamError { error } => (0, error.clone()),
        other => (0, other.to_string()),
    };
    let why = why.trim();
    let says = |signs: &[&str]| signs.iter().any(|sign| why.contains(sign));
    let registry = credentials::registry(image);
    let login = if registry == HUB { "docker login".to_owned() } else { format!("docker login {registry}") };
    let (message, hint) = if status == 401
        || says(&["unauthorized", "authentication required", "no basic auth", "denied", "invalid username/password"])
    {
        match credentials {
            Ok(Some(_)) => (
                format!("the registry {registry} refuses the stored credentials for the image {image}: {why}"),
                format!("check the image's name, or run `{login}` again"),
            ),
            Ok(None) => (
                format!("the registry {registry} gives the image {image} to nobody without credentials: {why}"),
                format!("check the image's name, or run `{login}` if it is private"),
            ),
            Err(trouble) => (
                format!("the registry {registry} wants credentials for the image {image}, and {trouble}"),
                format!("correct that, or run `{login}`"),
            ),
        }
    } else if says(&["no matching manifest", "does not match the specified platform", "no match for platform"]) {
        (
            format!("the image {image} is not made for the engine's machine, which is {}: {why}", engine.platform),
            "use another image, or build this one for that machine".to_owned(),
        )
    } else {
        (
            format!("the image {image} is not here and cannot be pulled: {why}"),
            format!("check its name and the network, or bring it here by `docker pull {image}` or `docker load`"),
        )
    };
    BackendError::new(FailureKind::Permanent, message, hint)
}

/// What is known of each layer: bytes here, bytes in all, whether it is complete.
#[derive(Default)]
struct Layers(BTreeMap<String, (i64, i64, bool)>);

impl Layers {
    fn take(&mut self, info: CreateImageInfo) {
        let (Some(id), Some(status)) = (info.id, info.status) else { return };
        // The tag itself is announced under an id, too.
        if status.starts_with("Pulling from") {
            return;
        }
        let layer = self.0.entry(id).or_default();
        if let (Some(detail), "Downloading") = (info.progress_detail, status.as_str()) {
            *layer = (detail.current.unwrap_or(0), detail.total.unwrap_or(0), false);
        }
        layer.2 = matches!(status.as_str(), "Pull complete" | "Already exists");
    }

    fn text(&self) -> String {
        let whole = self.0.values().filter(|layer| layer.2).count();
        let sum =
            |part: fn(&(i64, i64, bool)) -> i64| self.0.values().map(part).sum::<i64>() as f64 / f64::from(1 << 20);
        format!("{whole} of {} layers, {:.1} of {:.1} MiB", self.0.len(), sum(|layer| layer.0), sum(|layer| layer.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bollard::models::ProgressDetail;

    #[test]
    fn a_name_without_a_tag_means_the_latest() {
        assert_eq!(split("debian"), ("debian", "latest"));
        assert_eq!(split("host:5000/debian"), ("host:5000/debian", "latest"));
        assert_eq!(split("host:5000/debian:12"), ("host:5000/debian", "12"));
        assert_eq!(split("debian@sha256:0"), ("debian@sha256:0", ""));
    }

    #[test]
    fn layers_and_bytes_are_added_up() {
        let mut layers = Layers::default();
        let info = |id: &str, status: &str, current, total| CreateImageInfo {
            id: Some(id.into()),
            status: Some(status.into()),
            progress_detail: Some(ProgressDetail { current: Some(current), total: Some(total) }),
            ..CreateImageInfo::default()
        };
        layers.take(info("12", "Pulling from library/x", 0, 0));
        layers.take(info("a", "Downloading", 1 << 20, 2 << 20));
        layers.take(info("b", "Already exists", 0, 0));
        assert_eq!(layers.text(), "1 of 2 layers, 1.0 of 2.0 MiB");
    }
}
