//! The event stream on its way to a client: what it missed first, then what comes, without a hole that is not named.

use super::error::ApiError;
use super::protocol::{EVENT, EventsSubscribe};
use super::server::Reply;
use super::shapes;
use crate::domain::{EnvId, Moment};
use crate::runtime::event_log::Past;
use crate::runtime::handle::HostHandle;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Tells a client what happens until it is gone or the host has ended. One that reads slowly holds up nobody: what does
/// not fit into its queue is told from what is kept, once it reads again.
pub(super) async fn follow(host: &HostHandle, params: EventsSubscribe, reply: Reply) {
    let out = reply.outgoing().clone();
    let mut following = host.follow(params.since).await;
    let mut told = following.last;
    let subscribed = json!({"subscribed": true, "last_seq": following.last, "past": following.past.len()});
    reply.send(Ok::<_, ApiError>(shapes::reply(subscribed)));
    loop {
        for line in lines(host, std::mem::take(&mut following.past)).await {
            if !out.send(EVENT, &line).await {
                return;
            }
        }
        told = told.max(following.last);
        loop {
            let happening = tokio::select! {
                happening = following.coming.recv() => happening,
                () = out.closed() => return,
            };
            let Some(happening) = happening else { break };
            told = happening.seq;
            for line in lines(host, vec![Past::Happened(happening)]).await {
                if !out.send(EVENT, &line).await {
                    return;
                }
            }
        }
        if host.has_ended() {
            return;
        }
        following = host.follow(Some(told)).await;
    }
}

/// What is sent, with the names that environments have now.
async fn lines(host: &HostHandle, all: Vec<Past>) -> Vec<Value> {
    if all.is_empty() {
        return Vec::new();
    }
    let wanted: BTreeSet<EnvId> = all.iter().filter_map(concerns).collect();
    let named = host.read(move |model, now| {
        let name = |id: EnvId| model.state.environments.get(&id).map(|env| (id.clone(), env.name.clone()));
        (wanted.into_iter().filter_map(name).collect::<BTreeMap<_, _>>(), now)
    });
    // A host that ends says its last words without names.
    let (names, now) = named.await.unwrap_or_default();
    all.into_iter().map(|one| line(one, &names, now)).collect()
}

fn concerns(one: &Past) -> Option<EnvId> {
    match one {
        Past::Happened(happening) => happening.notice.env.clone(),
        Past::Missed(_) => None,
    }
}

fn line(one: Past, names: &BTreeMap<EnvId, String>, now: Moment) -> Value {
    let happening = match one {
        Past::Happened(happening) => happening,
        Past::Missed(gap) => return shapes::gap(now, gap),
    };
    let mut line = shapes::event(happening.seq, happening.at, &happening.notice);
    if let Some(name) = happening.notice.env.and_then(|env| names.get(&env)) {
        line["name"] = json!(name);
    }
    line
}
