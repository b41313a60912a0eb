//! Taking, releasing and running out of leases.

use super::books::Seen;
use super::environment::Environment;
use super::id::{CallId, ConversationId, EnvId, TurnId};
use super::idle::LONGEST_HOLD;
use super::lease::{Holder, Lease, LeaseKind};
use super::moment::Moment;
use super::outbox::Outbox;
use super::state::State;
use super::turn::TurnStatus;
use super::words;

impl Environment {
    /// Who holds it: leases, then the processes that the last look found.
    #[must_use]
    pub fn holders(&self) -> Vec<Holder> {
        let leases = self.leases.iter().map(|lease| Holder {
            kind: lease.kind.word().into(),
            detail: lease.detail.clone(),
            since: lease.since,
        });
        let found = self.books.seen.iter().flat_map(Seen::holders);
        leases.chain(found).collect()
    }

    pub(super) fn hold(&mut self, kind: LeaseKind, detail: String, now: Moment, until: Option<Moment>) {
        self.release(&kind, now);
        // The force of an order was meant for those who held it then.
        let under_way = self.books.teardown.as_mut().map(|teardown| &mut teardown.end);
        for end in self.books.end.as_mut().into_iter().chain(under_way) {
            end.force = false;
        }
        self.leases.push(Lease { kind, detail, since: now, until });
    }

    pub(super) fn release(&mut self, kind: &LeaseKind, now: Moment) -> bool {
        let held = self.leases.len();
        self.leases.retain(|lease| lease.kind != *kind);
        let released = self.leases.len() < held;
        if released {
            self.books.released = now;
        }
        released
    }

    /// The commands that hold it.
    pub(super) fn calls_in_flight(&self) -> impl Iterator<Item = &CallId> {
        self.leases.iter().filter_map(|lease| match &lease.kind {
            LeaseKind::Call(call) => Some(call),
            _ => None,
        })
    }
}

impl LeaseKind {
    /// The word for a holder of this kind.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Turn(_) => "turn",
            Self::Call(_) | Self::Exec(_) => "call",
            Self::Pin => "pin",
            Self::Process => "process",
        }
    }
}

impl Seen {
    /// What it found as holders.
    fn holders(&self) -> Vec<Holder> {
        let holder = |detail: String, since: Moment| Holder { kind: LeaseKind::Process.word().into(), detail, since };
        let mut found: Vec<Holder> = self
            .evidence
            .processes
            .iter()
            .filter(|process| process.started + LONGEST_HOLD > self.at)
            .map(|process| holder(format!("{} (pid {})", process.command, process.pid), process.started))
            .collect();
        if let Some(since) = self.execs_since.filter(|since| *since + LONGEST_HOLD > self.at) {
            let (execs, s) = (self.evidence.execs, words::plural(self.evidence.execs as usize));
            found.push(holder(format!("{execs} command{s} of others"), since));
        }
        found
    }

    /// Until when what was found can hold the environment; `None` if nothing found holds it at `now`.
    pub(super) fn holds_until(&self, now: Moment) -> Option<Moment> {
        let starts = self.evidence.processes.iter().map(|process| process.started).chain(self.execs_since);
        starts.map(|start| start + LONGEST_HOLD).max().filter(|until| *until > now)
    }
}

impl State {
    /// Ends the leases whose time is over: the turns count as interrupted. A turn with a command in flight lives on.
    pub(super) fn expire_leases(&mut self, out: &mut Outbox) {
        for (env, turn) in self.overdue_turns(out.now) {
            let Some(conversation) = self.conversation_of(&turn) else {
                let now = out.now;
                if let Some(env) = self.edit(out, &env) {
                    env.release(&LeaseKind::Turn(turn), now);
                }
                continue;
            };
            if self.has_call_in_flight(&env, &turn) {
                self.renew_turn(out, &conversation);
            } else {
                self.finish_turn(out, &conversation, TurnStatus::Interrupted, "its lease ran out");
            }
        }
    }

    fn overdue_turns(&self, now: Moment) -> Vec<(EnvId, TurnId)> {
        let overdue = |env: &Environment| -> Vec<(EnvId, TurnId)> {
            let turns = env.leases.iter().filter(|lease| lease.until.is_some_and(|until| until <= now));
            turns
                .filter_map(|lease| match &lease.kind {
                    LeaseKind::Turn(turn) => Some((env.id.clone(), turn.clone())),
                    _ => None,
                })
                .collect()
        };
        self.environments.values().filter(|env| !env.leases.is_empty()).flat_map(overdue).collect()
    }

    fn has_call_in_flight(&self, env: &EnvId, turn: &TurnId) -> bool {
        let Some(env) = self.environments.get(env) else { return false };
        env.calls_in_flight().any(|id| self.calls.get(id).is_some_and(|call| call.turn.as_ref() == Some(turn)))
    }

    fn conversation_of(&self, turn: &TurnId) -> Option<ConversationId> {
        let owner = self.conversations.values().find(|c| c.open_turn().is_some_and(|open| open.id == *turn))?;
        Some(owner.id.clone())
    }
}
