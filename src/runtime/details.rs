//! Looks at sandboxes for as long as somebody looks at them on a screen, and not a moment longer.

use super::inbound::{Inbound, Inbox};
use super::redact::label;
use crate::app::{LookedAt, Msg};
use crate::backend::Backend;
use crate::backend::details::{Details, Place, PlaceKind, Stats, bytes};
use crate::domain::{EndpointId, EnvId, Moment};
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::AbortHandle;

/// The looks that are under way.
#[derive(Default)]
pub struct Looks(BTreeMap<EnvId, (LookedAt, AbortHandle)>);

impl Looks {
    /// Begins and ends looks, so that exactly these are under way.
    pub fn set(
        &mut self,
        wanted: BTreeMap<EnvId, LookedAt>,
        backends: &BTreeMap<EndpointId, Arc<dyn Backend>>,
        inbox: &Inbox,
    ) {
        self.0.retain(|env, (at, look)| {
            let goes_on = wanted.get(env) == Some(at);
            if !goes_on {
                look.abort();
            }
            goes_on
        });
        for (env, at) in wanted {
            if self.0.contains_key(&env) {
                continue;
            }
            let Some(backend) = backends.get(&at.endpoint).cloned() else { continue };
            let look = tokio::spawn(look(backend, env.clone(), at.clone(), inbox.clone())).abort_handle();
            self.0.insert(env, (at, look));
        }
    }
}

async fn look(backend: Arc<dyn Backend>, env: EnvId, at: LookedAt, inbox: Inbox) {
    let facts = match backend.details(at.sandbox.clone()).await {
        Ok(Some(details)) => facts(&details),
        Ok(None) => vec![(String::new(), "nothing more is known of it".to_owned())],
        Err(error) => vec![("failed".to_owned(), error.message)],
    };
    inbox.send(Inbound::Msg(Msg::Details { env: env.clone(), facts })).await;
    let mut stats = backend.stats(at.sandbox);
    while let Some(now) = stats.next().await {
        inbox.send(Inbound::Msg(Msg::Usage { env: env.clone(), text: usage(&now) })).await;
    }
    // It does not run any more, or cannot be measured: what it used is no news.
    inbox.send(Inbound::Msg(Msg::Usage { env, text: String::new() })).await;
}

fn usage(stats: &Stats) -> String {
    let limit = stats.memory_limit.map(|most| format!(" of {}", bytes(most))).unwrap_or_default();
    let (whole, tenth) = (stats.cpu_permille / 10, stats.cpu_permille % 10);
    let processes = if stats.pids == 1 { "process" } else { "processes" };
    format!("{whole}.{tenth} % of a core, {}{limit} of memory, {} {processes}", bytes(stats.memory_bytes), stats.pids)
}

/// As they are shown: what differs from what was asked for first.
fn facts(details: &Details) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut list = |name: &str, all: Vec<String>| {
        for (i, detail) in all.into_iter().filter(|detail| !detail.is_empty()).enumerate() {
            facts.push((if i == 0 { name.to_owned() } else { String::new() }, detail));
        }
    };
    list("differs", details.drift.clone());
    if let Some(image) = &details.image {
        let id = image.id.trim_start_matches("sha256:");
        let id = format!("id {}", id.get(..12).unwrap_or(id));
        list("image", vec![image.name.clone(), id, image.digest.clone().unwrap_or_default()]);
    }
    list("user", vec![details.user.clone()]);
    list("network", vec![details.network.clone()]);
    let limits = details.limits.iter().map(|limit| {
        let not = if limit.enforced || limit.value.contains("not enforced") { "" } else { " (not enforced here)" };
        format!("{} {}{not}", limit.name, limit.value)
    });
    list("limits", limits.collect());
    list("files", details.places.iter().map(place).collect());
    let times = [("made", details.created), ("started", details.started)];
    let times = times.iter().filter_map(|(word, at)| at.map(|at| format!("{word} {}", clock(at))));
    let restart = details.restart.iter().map(|policy| format!("restart policy {policy}"));
    list("times", times.chain(restart).collect());
    list("labels", details.labels.iter().map(|(name, value)| format!("{name}={}", label(name, value))).collect());
    facts
}

fn place(place: &Place) -> String {
    let mode = if place.read_only { "read-only" } else { "writable" };
    let from = match place.kind {
        PlaceKind::Tmpfs => "memory".to_owned(),
        PlaceKind::Layer => "everything else".to_owned(),
        PlaceKind::OwnVolume => "a volume of its own".to_owned(),
        PlaceKind::Volume => format!("volume {}", place.source),
        PlaceKind::Bind => place.source.clone(),
    };
    let fate = match (place.kind.survives_stop(), place.kind.survives_removal()) {
        (_, true) => "stays",
        (true, false) => "lost with a removal",
        (false, false) => "lost with a stop",
    };
    format!("{} {mode}, {fate}: {from}", place.target)
}

fn clock(at: Moment) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    at.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}
