//! Containers as they are found: ours by our labels, those of hermes-agents by theirs, and those that the user chose.

use super::super::{Candidate, Result};
use super::engine::Engine;
use super::labels;
use super::manage::{Inner, Seen, short};
use super::watched;
use crate::domain::{EnvId, FoundSandbox, Moment, Origin, SandboxId, SandboxState};
use crate::hermes;
use bollard::models::{ContainerSummary, ContainerSummaryStateEnum};
use bollard::query_parameters::ListContainersOptionsBuilder;
use std::collections::{BTreeSet, HashMap};

/// A complete list.
pub struct Listing {
    /// What was found, by environment.
    pub found: Vec<FoundSandbox>,
    /// Execs that the engine knows of in those that run.
    pub execs: Vec<(SandboxId, String)>,
}

/// Whose a container is, as its labels and the user's choice say. `None`: not to be listed.
pub fn origin(labels: &HashMap<String, String>, profile: &str, is_chosen: impl FnOnce() -> bool) -> Option<Origin> {
    match labels.get(labels::PROFILE) {
        Some(label) if label == profile => Some(Origin::Managed),
        // Another profile's own business, whatever else it says of itself.
        Some(_) => None,
        None if hermes::labels::Labels::read(labels).is_some() => Some(Origin::Hermes),
        None => is_chosen().then_some(Origin::Foreign),
    }
}

impl Inner {
    /// Everything of this profile, of hermes-agents, and what the user chose.
    pub async fn list(&self) -> Result<Vec<FoundSandbox>> {
        let engine = self.engine().await?;
        Ok(self.listing(&engine).await?.found)
    }

    /// The same with what runs in them.
    pub async fn listing(&self, engine: &Engine) -> Result<Listing> {
        let (mut found, mut execs, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for summary in self.summaries(engine).await? {
            let (Some(id), Some(origin)) = (summary.id.as_deref(), self.origin_of(&summary)) else { continue };
            // One that went away meanwhile is none.
            let Some(seen) = self.look_any(engine, id).await? else { continue };
            if seen.state != SandboxState::Stopped {
                let ids = seen.raw.exec_ids.iter().flatten();
                execs.extend(ids.map(|exec| (seen.sandbox.clone(), exec.clone())));
            }
            if origin == Origin::Managed {
                let of_another = |one: &FoundSandbox| {
                    one.spec.as_ref().is_some_and(|spec| self.engines.is_of_another(&spec.endpoint))
                };
                found.extend(self.ours(&seen).filter(|one| !of_another(one)));
            } else {
                others.push((origin, seen));
            }
        }
        found.extend(self.place(others));
        found.sort_by(|a, b| a.env.cmp(&b.env));
        Ok(Listing { found, execs })
    }

    /// Gives each container of others its environment. Several of one task are told apart: the one that runs and is the
    /// newest goes on as the environment, as a hermes-agent itself would take it.
    fn place(&self, mut others: Vec<(Origin, Seen)>) -> Vec<FoundSandbox> {
        let now = now();
        let homes = self.config.homes.homes();
        others.sort_by_cached_key(|(_, seen)| {
            let rank = (seen.state != SandboxState::Stopped, watched::made(seen), seen.sandbox.clone());
            std::cmp::Reverse(rank)
        });
        let mut known = self.others.known();
        let before = std::mem::take(&mut known.listed);
        known.due = None;
        known.owners.clear();
        // What is gone keeps no environment from the one that took its place.
        let there = others.iter().filter_map(|(_, seen)| known.chosen.known.get(&seen.sandbox));
        let mut taken: BTreeSet<EnvId> = there.cloned().collect();
        let mut all = Vec::new();
        for (origin, seen) in others {
            let env = known.chosen.known.get(&seen.sandbox).filter(|_| origin == Origin::Foreign).cloned();
            let env = env.unwrap_or_else(|| {
                let key = watched::key(&seen, origin, &self.config.spot.id);
                if taken.insert(key.clone()) { key } else { watched::beside(&key, &seen.sandbox) }
            });
            if let Some(listed) = before.get(&seen.sandbox) {
                known.listed.insert(seen.sandbox.clone(), listed.clone());
            }
            let listed = known.note(&seen.sandbox, origin, env, seen.started_at());
            all.push(watched::found(&seen, &self.config.spot.id, &listed, &homes, now, &mut known));
        }
        all
    }

    /// One container as it would be listed. `None` if it would not be.
    pub async fn recognise(&self, engine: &Engine, seen: &Seen) -> Result<Option<FoundSandbox>> {
        if seen.label(labels::PROFILE).is_some() {
            return Ok(self.ours(seen));
        }
        let id = seen.sandbox.as_str();
        if self.others.of(id).is_none_or(|listed| listed.started_at != seen.started_at()) {
            // Which environment it stands for depends on the others of its task.
            let all = self.listing(engine).await?.found;
            return Ok(all.into_iter().find(|found| found.sandbox == seen.sandbox));
        }
        let homes = self.config.homes.homes();
        let mut known = self.others.known();
        let Some(listed) = known.listed.get(&seen.sandbox).cloned() else { return Ok(None) };
        Ok(Some(watched::found(seen, &self.config.spot.id, &listed, &homes, now(), &mut known)))
    }

    /// What is not listed, and could be chosen.
    pub async fn candidates(&self) -> Result<Vec<Candidate>> {
        let engine = self.engine().await?;
        let free = |one: &ContainerSummary| {
            let labels = one.labels.clone().unwrap_or_default();
            !labels.contains_key(labels::PROFILE) && self.origin_of(one).is_none()
        };
        let candidate = |one: ContainerSummary| {
            let sandbox = SandboxId::new(one.id?);
            let name = one.names.and_then(|names| names.into_iter().next()).unwrap_or_default();
            let name = name.trim_start_matches('/');
            let name = if name.is_empty() { short(sandbox.as_str()) } else { name }.to_owned();
            let state = match one.state {
                Some(ContainerSummaryStateEnum::RUNNING) => SandboxState::Running,
                Some(ContainerSummaryStateEnum::PAUSED) => SandboxState::Paused,
                _ => SandboxState::Stopped,
            };
            Some(Candidate { sandbox, name, image: one.image, state })
        };
        let all = self.summaries(&engine).await?;
        let mut found: Vec<Candidate> = all.into_iter().filter(free).filter_map(candidate).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn origin_of(&self, summary: &ContainerSummary) -> Option<Origin> {
        let nothing = HashMap::new();
        let labels = summary.labels.as_ref().unwrap_or(&nothing);
        origin(labels, &self.profile, || {
            let id = summary.id.as_deref().unwrap_or_default();
            self.others.known().is_chosen(id, summary.names.as_deref().unwrap_or_default())
        })
    }

    /// One call for all of them: filters by label cannot ask for one label or another.
    async fn summaries(&self, engine: &Engine) -> Result<Vec<ContainerSummary>> {
        let options = ListContainersOptionsBuilder::default().all(true).build();
        let listed = engine.docker.list_containers(Some(options)).await;
        listed.map_err(|error| self.engines.failed("listing the containers", &error))
    }
}

/// The present time.
pub fn now() -> Moment {
    Moment(u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_a_container_is_stands_in_its_labels_and_never_in_its_name() {
        let labels = |all: &[(&str, &str)]| -> HashMap<String, String> {
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let of = |all: &[(&str, &str)], chosen| origin(&labels(all), "p", || chosen);
        assert_eq!(of(&[("hermes-tui.profile", "p")], false), Some(Origin::Managed));
        assert_eq!(of(&[("hermes-tui.profile", "other"), ("hermes-agent", "1")], true), None);
        assert_eq!(of(&[("hermes-agent", "1")], false), Some(Origin::Hermes));
        assert_eq!(of(&[("hermes-agent", "yes")], false), None);
        assert_eq!(of(&[], false), None);
        assert_eq!(of(&[], true), Some(Origin::Foreign));
    }
}
