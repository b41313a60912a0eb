//! Endpoints that answer or do not, what happens to sandboxes behind our back, and a clock that jumps.

use super::books::Need;
use super::effect::{Notice, NoticeKind};
use super::environment::{Environment, Phase};
use super::id::{EndpointId, EnvId, SandboxId};
use super::idle::GRACE;
use super::lifecycle::Change;
use super::moment::{Moment, Span};
use super::outbox::Outbox;
use super::state::State;
use super::words;

/// For how long an endpoint counts as down after a single operation found it so, if its watcher says nothing.
const SUSPICION: Span = Span::seconds(30);

impl State {
    pub(super) fn endpoint_down(&mut self, out: &mut Outbox, endpoint: &EndpointId, detail: String) {
        self.suspect.remove(endpoint);
        self.miss_execs(endpoint);
        self.go_down(out, endpoint, detail);
    }

    /// One operation found the endpoint unreachable. Its watcher will say so, too; if it does not, the endpoint is
    /// tried again after a while.
    pub(super) fn suspect(&mut self, out: &mut Outbox, endpoint: &EndpointId, detail: &str) {
        if self.down.contains_key(endpoint) {
            return;
        }
        self.suspect.insert(endpoint.clone(), out.now + SUSPICION);
        self.go_down(out, endpoint, detail.to_owned());
    }

    fn go_down(&mut self, out: &mut Outbox, endpoint: &EndpointId, detail: String) {
        let text = format!("{endpoint} does not answer: {detail}; nothing there is ended until it does");
        if self.down.insert(endpoint.clone(), detail).is_none() {
            out.announce(Notice::new(NoticeKind::EndpointDown, text));
        }
        for id in self.environments_of(endpoint) {
            if let Some(env) = self.edit(out, &id) {
                // Whatever was asked there may never be answered; it is asked anew.
                env.books.looking = false;
            }
            self.refuse_orders(out, &id);
        }
    }

    /// Those who wait for an end that was not begun are told; the order stands until the endpoint answers.
    fn refuse_orders(&mut self, out: &mut Outbox, id: &EnvId) {
        let Some(env) = self.environments.get(id).filter(|env| env.phase != Phase::Reaping) else { return };
        if let Err(refusal) = self.check_endpoint(&env.spec) {
            self.refuse_waiting(out, id, &refusal, |need| matches!(need, Need::Stopped | Need::Removed));
        }
    }

    /// It answers again; what it holds is known only after its next list. A deadline that passed while nobody could be
    /// warned, and nobody could use anything, is no reason to end something in this very moment.
    pub(super) fn endpoint_up(&mut self, out: &mut Outbox, endpoint: &EndpointId) {
        let now = out.now;
        self.suspect.remove(endpoint);
        if self.down.remove(endpoint).is_some() {
            self.unlisted.insert(endpoint.clone());
            for id in self.environments_of(endpoint) {
                if let Some(env) = self.edit(out, &id) {
                    env.grant_grace(now);
                }
            }
            out.announce(Notice::new(NoticeKind::EndpointUp, format!("{endpoint} answers again")));
        }
    }

    /// Ends the suspicions that nobody confirmed.
    pub(super) fn expire_suspicions(&mut self, out: &mut Outbox) {
        let over: Vec<EndpointId> =
            self.suspect.iter().filter(|(_, until)| **until <= out.now).map(|(endpoint, _)| endpoint.clone()).collect();
        for endpoint in over {
            self.suspect.remove(&endpoint);
            self.down.remove(&endpoint);
            out.announce(Notice::new(NoticeKind::EndpointUp, format!("{endpoint} is tried again")));
            for id in self.environments_of(&endpoint) {
                self.edit(out, &id);
            }
        }
    }

    pub(super) fn environments_of(&self, endpoint: &EndpointId) -> Vec<EnvId> {
        self.environments.values().filter(|env| env.spec.endpoint == *endpoint).map(|env| env.id.clone()).collect()
    }

    /// Somebody else stopped or removed a sandbox.
    pub(super) fn sandbox_ended(
        &mut self,
        out: &mut Outbox,
        sandbox: &SandboxId,
        endpoint: &EndpointId,
        removed: bool,
        why: &str,
    ) {
        let owner = |env: &&Environment| env.sandbox.as_ref() == Some(sandbox) && env.spec.endpoint == *endpoint;
        let Some(id) = self.environments.values().find(owner).map(|env| env.id.clone()) else { return };
        match self.environments.get(&id).map(|env| env.phase) {
            Some(Phase::Ready | Phase::Stopped) if removed => self.vanished(out, &id, why),
            Some(Phase::Ready) => self.halted(out, &id, why),
            Some(Phase::Provisioning | Phase::Failed) if removed => self.detach(out, &id),
            Some(Phase::Reaping) => self.overtaken(out, &id, removed),
            _ => {}
        }
    }

    /// Its start is under way or failed: the next try makes a new one.
    fn detach(&mut self, out: &mut Outbox, id: &EnvId) {
        if let Some(env) = self.edit(out, id) {
            env.sandbox = None;
        }
    }

    /// It is being torn down by us and is over already: what the backend answers to us is read in this light.
    fn overtaken(&mut self, out: &mut Outbox, id: &EnvId, removed: bool) {
        if let Some(teardown) = self.edit(out, id).and_then(|env| env.books.teardown.as_mut()) {
            teardown.overtaken = Some(removed || teardown.overtaken == Some(true));
        }
    }

    /// A sandbox is gone behind our back.
    pub(super) fn vanished(&mut self, out: &mut Outbox, id: &EnvId, why: &str) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        if !env.change(Change::Vanished, now) {
            return;
        }
        env.sandbox = None;
        env.books.teardown = None;
        let kind = if env.phase == Phase::Lost { NoticeKind::EnvLost } else { NoticeKind::EnvRemoved };
        let notice = Notice::new(kind, format!("{} is gone: {why}", env.name)).env(id);
        self.sandbox_over(out, id, why);
        out.announce(notice);
    }

    /// A sandbox was stopped behind our back.
    pub(super) fn halted(&mut self, out: &mut Outbox, id: &EnvId, why: &str) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return };
        if !env.change(Change::Halted, now) {
            return;
        }
        let name = env.name.clone();
        self.sandbox_over(out, id, why);
        let warning = self.environments.get(id).and_then(Environment::fuse_warning);
        let warning = warning.map(|warning| format!("; {warning}")).unwrap_or_default();
        out.announce(Notice::new(NoticeKind::EnvStopped, format!("{name} stopped: {why}{warning}")).env(id));
    }

    /// After a jump nothing is reaped before 60 s and a fresh look; leases get the same time.
    pub(super) fn clock_jumped(&mut self, out: &mut Outbox, by: Span) {
        let now = out.now;
        out.announce(Notice::new(NoticeKind::ClockJumped, format!("the clock jumped by {}", words::span(by))));
        let all: Vec<EnvId> = self.environments.keys().cloned().collect();
        for id in all {
            let Some(env) = self.edit(out, &id) else { continue };
            env.grant_grace(now);
            for lease in &mut env.leases {
                lease.until = lease.until.map(|until| until.max(now + GRACE));
            }
        }
    }
}

impl Environment {
    /// Nothing is reaped before a minute has passed and a fresh look found nothing.
    pub(super) fn grant_grace(&mut self, now: Moment) {
        // What is being started in this very moment starts afresh.
        let nothing_there = self.sandbox.is_none() || self.phase == Phase::Provisioning;
        if nothing_there && !self.books.adopting {
            return;
        }
        let grace = now + GRACE;
        self.books.grace = Some(grace);
        self.defer(grace);
    }
}
