//! What others do in the simulated world: they halt, start again and replace sandboxes, and run commands in them.

use super::*;

impl World {
    pub(super) fn pause(&mut self, n: u8, on: bool) -> Result<(), String> {
        let Some(id) = self.sandbox(n) else { return Ok(()) };
        let Some(sandbox) = self.sandboxes.get_mut(&id).filter(|sandbox| sandbox.running) else { return Ok(()) };
        sandbox.paused = on;
        let endpoint = sandbox.endpoint.clone();
        if self.frozen.contains(&endpoint) {
            return Ok(());
        }
        self.event(Event::SandboxPaused { sandbox: id, endpoint, paused: on })
    }

    pub(super) fn exec_begins(&mut self, n: u8, command: u8) -> Result<(), String> {
        let Some(id) = self.sandbox(n) else { return Ok(()) };
        if !self.sandboxes.get(&id).is_some_and(|sandbox| sandbox.running && !sandbox.paused) {
            return Ok(());
        }
        let exec = CallId(self.fresh("y"));
        let command = ["cat log", "kill -0 7", "cargo test"][command as usize % 3].to_owned();
        self.execs.insert(exec.clone(), (id.clone(), command.clone(), false));
        self.tell_exec(exec, id, command, false)
    }

    /// Tells the core that a command runs; an endpoint that is down tells nothing.
    pub(super) fn tell_exec(
        &mut self,
        exec: CallId,
        sandbox: SandboxId,
        command: String,
        told: bool,
    ) -> Result<(), String> {
        let Some(endpoint) = self.sandboxes.get(&sandbox).map(|one| one.endpoint.clone()) else { return Ok(()) };
        if self.frozen.contains(&endpoint) {
            return Ok(());
        }
        let runs = |env: &Environment| {
            env.sandbox.as_ref() == Some(&sandbox) && matches!(env.phase, Phase::Ready | Phase::Reaping)
        };
        let env = self.state.environments.values().find(|env| runs(env)).map(|env| env.id.clone());
        if let (Some(env), false) = (&env, told) {
            self.used.insert(env.clone(), self.now);
            self.lives_on_by_use(env);
        }
        if let Some((_, _, told)) = self.execs.get_mut(&exec) {
            *told = env.is_some();
        }
        self.event(Event::ExecBegan { sandbox, endpoint, exec, command, cwd: None })
    }

    pub(super) fn exec_ends(&mut self, n: u8) -> Result<(), String> {
        let all: Vec<CallId> = self.execs.keys().cloned().collect();
        let Some(exec) = all.get(n as usize % all.len().max(1)).cloned() else { return Ok(()) };
        let Some((sandbox, ..)) = self.execs.remove(&exec) else { return Ok(()) };
        let Some(endpoint) = self.sandboxes.get(&sandbox).map(|one| one.endpoint.clone()) else { return Ok(()) };
        if self.frozen.contains(&endpoint) {
            return Ok(());
        }
        if let Some(observed) = self.state.observed.get(&exec) {
            self.used.insert(observed.env.clone(), self.now);
        }
        self.event(Event::ExecEnded { exec, exit_code: Some(0), cwd: None })
    }

    pub(super) fn restart(&mut self, n: u8) -> Result<(), String> {
        let Some(id) = self.sandbox(n) else { return Ok(()) };
        let theirs = |sandbox: &&mut Simulated| !sandbox.running && sandbox.origin != Origin::Managed;
        let Some(sandbox) = self.sandboxes.get_mut(&id).filter(theirs) else { return Ok(()) };
        sandbox.running = true;
        sandbox.generation = sandbox.generation.next();
        if self.frozen.contains(&endpoint(true)) { Ok(()) } else { self.relist(true) }
    }

    pub(super) fn replace(&mut self, n: u8, told: bool) -> Result<(), String> {
        let Some(id) = self.sandbox(n) else { return Ok(()) };
        if self.sandboxes.get(&id).is_none_or(|sandbox| sandbox.origin == Origin::Managed) {
            return Ok(());
        }
        let Some(mut next) = self.sandboxes.remove(&id) else { return Ok(()) };
        self.execs.retain(|_, (of, ..)| *of != id);
        let endpoint = next.endpoint.clone();
        if told && !self.frozen.contains(&endpoint) {
            let event = Event::SandboxEnded { sandbox: id, endpoint, removed: true, why: "docker rm -f".into() };
            self.event(event)?;
        }
        next.running = true;
        (next.paused, next.process) = (false, None);
        next.generation = next.generation.next();
        let fresh = SandboxId(self.fresh("box"));
        self.sandboxes.insert(fresh, next);
        if self.frozen.contains(&super::endpoint(true)) { Ok(()) } else { self.relist(true) }
    }

    /// With its row the core forgets what it was told of its commands.
    pub(super) fn forget_execs(&mut self, env: &EnvId) {
        for (sandbox, _, told) in self.execs.values_mut() {
            *told &= self.sandboxes.get(sandbox).is_none_or(|one| one.env != *env);
        }
    }

    /// Whether a command of somebody else runs in it, as far as the core was told.
    pub(super) fn is_used_by_others(&self, env: &Environment) -> bool {
        self.execs.values().any(|(sandbox, _, told)| *told && env.sandbox.as_ref() == Some(sandbox))
    }

    /// The property: one that is not ours is ended by a person's word, or within the consent, never else.
    pub(super) fn check_consent(&self, event: &Event, env: &Environment, deed: Deed) -> Result<(), String> {
        if self.ordered.contains(&env.id) {
            return Ok(());
        }
        if env.origin == Origin::Foreign {
            return Err(format!("{} was made by somebody else and was torn down by {event:?}", env.id));
        }
        let made = self.sandboxes.values().find(|one| one.env == env.id);
        let watched = made.and_then(|one| one.watched.as_ref());
        let label = watched.and_then(|watched| watched.retention.as_ref()).map(TheirRetention::word);
        let leaked = label.is_none() && watched.is_some_and(|watched| watched.leak.is_some());
        let reap = self.consent.of(Some("work"));
        let (allowed, idle) = match made.map_or(Persistence::Unknown, |one| one.spec.persistence) {
            _ if label == Some("keep_running") => (false, Span::ZERO),
            Persistence::Ephemeral if label == Some("stop_on_session_end") => {
                (reap >= HermesReap::Ephemeral && deed == Deed::Stop, Span::seconds(300))
            }
            _ if leaked => (reap >= HermesReap::Leaked && deed == Deed::Remove, Span::seconds(60)),
            Persistence::Ephemeral => (reap >= HermesReap::Ephemeral && deed == Deed::Remove, Span::seconds(300)),
            Persistence::Persistent => (reap >= HermesReap::Stale && deed == Deed::Stop, STALE),
            Persistence::Unknown => (false, Span::ZERO),
        };
        // One that is gone in the meantime is torn down from what was known of it.
        if made.is_some() && !allowed {
            return Err(format!("{} was torn down ({deed:?}) without consent ({reap:?}) by {event:?}", env.id));
        }
        let used = self.used.get(&env.id).copied().unwrap_or_default();
        if made.is_some_and(|one| one.running) && self.now < used + idle {
            return Err(format!("{} was torn down although it was used just now", env.id));
        }
        Ok(())
    }
}
