//! What a container says about itself: the labels that make it ours, and what is read back from them.

use super::super::ProvisionSpec;
use crate::domain::{
    ConversationId, EnvId, EnvSpec, FoundSandbox, Generation, Origin, Persistence, SandboxId, SandboxState,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::Path;

/// Label of the profile that made a container.
pub const PROFILE: &str = "hermes-tui.profile";
const ENVIRONMENT: &str = "hermes-tui.environment";
const CONVERSATION: &str = "hermes-tui.conversation";
const NAME: &str = "hermes-tui.name";
const GENERATION: &str = "hermes-tui.generation";
const PERSISTENCE: &str = "hermes-tui.persistence";
const SCOPE: &str = "hermes-tui.scope";
const RETENTION: &str = "hermes-tui.retention";
/// Label of all that was asked for.
pub const SPEC: &str = "hermes-tui.spec";

/// Names a profile without telling where it is: the beginning of a hash of its data directory.
pub fn profile(data_dir: &Path) -> String {
    let path = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The filter that lists what is of a profile.
pub fn filter(profile: &str) -> String {
    format!("{PROFILE}={profile}")
}

/// The filter that lists the containers of one environment.
pub fn environment_filter(env: &EnvId) -> String {
    format!("{ENVIRONMENT}={env}")
}

fn word<T: Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn from_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}

/// The labels of a new container. Values of variables are left out: anybody who may list containers can read labels.
pub fn write(profile: &str, wanted: &ProvisionSpec) -> HashMap<String, String> {
    let mut spec = wanted.spec.clone();
    spec.env.values_mut().for_each(String::clear);
    let conversation = wanted.conversation.as_ref().map(|id| (CONVERSATION, id.to_string()));
    let always = [
        (PROFILE, profile.to_owned()),
        (ENVIRONMENT, wanted.env.to_string()),
        (NAME, wanted.name.clone()),
        (GENERATION, wanted.generation.0.to_string()),
        (PERSISTENCE, word(&spec.persistence)),
        (SCOPE, word(&spec.scope)),
        (RETENTION, word(&spec.retention)),
        (SPEC, serde_json::to_string(&spec).unwrap_or_default()),
    ];
    always.into_iter().chain(conversation).map(|(label, value)| (label.to_owned(), value)).collect()
}

/// What the labels say. `None` if they are not of this profile.
pub fn read(
    profile: &str,
    sandbox: &str,
    labels: &HashMap<String, String>,
    state: SandboxState,
) -> Option<FoundSandbox> {
    let get = |label: &str| labels.get(label).map(String::as_str);
    if get(PROFILE) != Some(profile) {
        return None;
    }
    let spec = get(SPEC).and_then(|text| serde_json::from_str::<EnvSpec>(text).ok());
    Some(FoundSandbox {
        sandbox: SandboxId::new(sandbox),
        env: EnvId::new(get(ENVIRONMENT)?),
        name: get(NAME)?.to_owned(),
        generation: Generation(get(GENERATION).and_then(|text| text.parse().ok()).unwrap_or(1)),
        state,
        spec: spec.map(Box::new),
        persistence: get(PERSISTENCE).and_then(from_word).unwrap_or(Persistence::Unknown),
        origin: Origin::Managed,
        conversation: get(CONVERSATION).map(ConversationId::new),
        watched: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> ProvisionSpec {
        let mut spec = EnvSpec::local();
        spec.env.insert("TOKEN".into(), "secret".into());
        ProvisionSpec {
            env: EnvId::new("e"),
            name: "n".into(),
            generation: Generation(3),
            spec,
            home: "/h".into(),
            workspace: "/w".into(),
            conversation: Some(ConversationId::new("talk")),
        }
    }

    #[test]
    fn labels_are_read_as_they_were_written_and_hold_no_secret() {
        let labels = write("p", &wanted());
        assert!(labels.values().all(|value| !value.contains("secret")));
        let found = read("p", "c", &labels, SandboxState::Running).expect("ours");
        assert_eq!(found.conversation, Some(ConversationId::new("talk")));
        assert_eq!((found.env.as_str(), found.name.as_str(), found.generation), ("e", "n", Generation(3)));
        assert_eq!(found.spec.expect("a spec").env.get("TOKEN").map(String::as_str), Some(""));
        assert_eq!(read("other", "c", &labels, SandboxState::Running), None);
        assert_eq!(read("p", "c", &HashMap::new(), SandboxState::Running), None);
    }

    #[test]
    fn profiles_differ_by_their_folder() {
        assert_ne!(profile(Path::new("/a")), profile(Path::new("/b")));
        assert_eq!(profile(Path::new("/a")).len(), 16);
    }
}
