//! Collects what one event leads to, so that every changed row is written once and in order.

use super::effect::{Effect, Notice, Record};
use super::environment::{ActivityKind, Environment};
use super::id::{EnvId, ReplyTo};
use super::lease::{Lease, LeaseKind};
use super::moment::{Moment, Span};
use super::request::{Answer, Refusal};
use super::state::State;
use std::collections::{BTreeMap, BTreeSet};

/// A person's keys move a deadline with each press, and the commands of others with each command; the journal hears of it at most this often. An adoption adds the
/// same time to a deadline, so that it never moves closer.
pub(super) const SAVE_EVERY: Span = Span::seconds(10);

/// The effects of one event while they are being found.
pub(super) struct Outbox {
    /// The present moment.
    pub now: Moment,
    effects: Vec<Effect>,
    saves: BTreeSet<Record>,
    before: BTreeMap<EnvId, Option<Environment>>,
    unsettled: BTreeSet<EnvId>,
    settling: Option<EnvId>,
}

impl Outbox {
    pub fn new(now: Moment) -> Self {
        Self {
            now,
            effects: Vec::new(),
            saves: BTreeSet::new(),
            before: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            settling: None,
        }
    }

    pub fn send(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub fn reply(&mut self, to: ReplyTo, answer: Answer) {
        if to != ReplyTo::NOBODY {
            self.send(Effect::Reply { to, answer });
        }
    }

    pub fn refuse(&mut self, to: ReplyTo, refusal: Refusal) {
        self.reply(to, Answer::Refused(refusal));
    }

    pub fn announce(&mut self, notice: Notice) {
        self.send(Effect::Announce(notice));
    }

    pub fn save(&mut self, record: Record) {
        self.saves.insert(record);
    }

    /// The next environment that was touched and must be settled.
    pub fn next_unsettled(&mut self) -> Option<EnvId> {
        self.settling = self.unsettled.pop_first();
        self.settling.clone()
    }

    fn touch(&mut self, id: &EnvId, present: Option<&Environment>) {
        if !self.before.contains_key(id) {
            self.before.insert(id.clone(), present.cloned());
        }
        if self.settling.as_ref() != Some(id) {
            self.unsettled.insert(id.clone());
        }
    }
}

impl State {
    /// The environment, to be changed: it is settled and saved afterwards.
    pub(super) fn edit(&mut self, out: &mut Outbox, id: &EnvId) -> Option<&mut Environment> {
        out.touch(id, self.environments.get(id));
        self.environments.get_mut(id)
    }

    /// Lists an environment.
    pub(super) fn insert(&mut self, out: &mut Outbox, env: Environment) {
        out.touch(&env.id, self.environments.get(&env.id));
        self.environments.insert(env.id.clone(), env);
    }

    /// Closes the outbox: what changed is saved, each row once.
    pub(super) fn close(&mut self, mut out: Outbox) -> Vec<Effect> {
        for (id, before) in std::mem::take(&mut out.before) {
            let after = self.environments.get_mut(&id);
            if must_save(before.as_ref(), after.as_deref(), out.now) {
                if let Some(env) = after {
                    env.books.saved_activity = env.last_activity.at;
                }
                out.save(Record::Environment(id));
            }
        }
        out.effects.extend(out.saves.into_iter().map(Effect::Save));
        out.effects
    }
}

fn must_save(before: Option<&Environment>, after: Option<&Environment>, now: Moment) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return before.is_some() != after.is_some() };
    if before == after {
        return false;
    }
    let often = matches!(after.last_activity.kind, ActivityKind::Person | ActivityKind::Exec);
    let recent = often && now.since(after.books.saved_activity) < SAVE_EVERY;
    !(recent && differ_in_activity_only(before, after))
}

fn differ_in_activity_only(before: &Environment, after: &Environment) -> bool {
    let mut like = before.clone();
    like.last_activity = after.last_activity.clone();
    like.deadline = after.deadline;
    like.warned = after.warned;
    // Commands of others come every few seconds, and the journal need not know which of them run.
    let lasting = |lease: &&Lease| !matches!(lease.kind, LeaseKind::Exec(_));
    if before.leases.iter().filter(lasting).eq(after.leases.iter().filter(lasting)) {
        like.leases.clone_from(&after.leases);
        like.books.released = after.books.released;
    }
    like == *after
}
