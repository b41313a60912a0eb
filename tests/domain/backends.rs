//! The simulated backends: they carry out what they are told, late, wrongly or not at all, and let the world come to rest.

use super::*;

impl World {
    pub(super) fn take_op(&mut self, n: u8) -> Option<Effect> {
        if self.ops.is_empty() { None } else { Some(self.ops.remove(n as usize % self.ops.len())) }
    }

    pub(super) fn op_endpoint(&self, op: &Effect) -> Option<EndpointId> {
        let env = match op {
            Effect::Provision { spec, .. } => return Some(spec.endpoint.clone()),
            Effect::GatherEvidence { env, .. } | Effect::Teardown { env, .. } | Effect::OpenSession { env, .. } => env,
            _ => return None,
        };
        self.state.environments.get(env).map(|env| env.spec.endpoint.clone())
    }

    pub fn deliver(&mut self, n: u8) -> Result<(), String> {
        let Some(op) = self.take_op(n) else { return Ok(()) };
        if self.op_endpoint(&op).is_some_and(|endpoint| self.frozen.contains(&endpoint)) {
            return self.fail(op, FailureKind::Unreachable);
        }
        match self.carry_out(&op) {
            Some(event) => self.event(event),
            None => Ok(()),
        }
    }

    pub(super) fn lost_answer(&mut self, n: u8) -> Result<(), String> {
        let Some(op) = self.take_op(n) else { return Ok(()) };
        if matches!(op, Effect::Provision { .. } | Effect::Teardown { .. }) {
            self.carry_out(&op);
        }
        self.fail(op, FailureKind::Temporary)
    }

    pub(super) fn carry_out(&mut self, op: &Effect) -> Option<Event> {
        match op.clone() {
            Effect::Provision { env, generation, name, spec, existing } => {
                let ours = self.state.environments.get(&env).is_none_or(|env| env.origin == Origin::Managed);
                let gone = existing.as_ref().is_some_and(|id| !self.sandboxes.contains_key(id));
                if gone && !ours {
                    // What others made is started as it is, or not at all.
                    let (message, hint) = ("there is no such container".into(), "look at the list".into());
                    return Some(Event::ProvisionFailed {
                        env,
                        generation,
                        kind: FailureKind::Surprise,
                        message,
                        hint,
                    });
                }
                let made = self.sandboxes.iter().find(|(_, s)| s.env == env && s.generation == generation);
                let sandbox = match existing.filter(|id| self.sandboxes.contains_key(id)) {
                    Some(existing) => existing,
                    // Idempotent per environment and generation.
                    None => made.map_or_else(|| SandboxId::new(format!("{env}-{generation:?}")), |(id, _)| id.clone()),
                };
                if let Some(theirs) = self.sandboxes.get_mut(&sandbox).filter(|one| one.origin != Origin::Managed) {
                    theirs.running = true;
                    theirs.generation = theirs.generation.next();
                    return Some(Event::Provisioned { env, generation, sandbox });
                }
                let endpoint = spec.endpoint.clone();
                let (env_of, spec) = (env.clone(), *spec);
                let simulated = Simulated {
                    env: env_of,
                    generation,
                    endpoint,
                    spec,
                    name,
                    running: true,
                    process: None,
                    origin: Origin::Managed,
                    watched: None,
                    paused: false,
                };
                self.sandboxes.insert(sandbox.clone(), simulated);
                Some(Event::Provisioned { env, generation, sandbox })
            }
            Effect::GatherEvidence { env, generation, sandbox } => {
                let evidence = match self.sandboxes.get(&sandbox) {
                    Some(found) => Ok(Evidence {
                        processes: found
                            .process
                            .map(|started| LiveProcess { pid: 7, command: "server".into(), started })
                            .into_iter()
                            .collect(),
                        execs: 0,
                        idle_shells: 1,
                    }),
                    None => Err("no such sandbox".into()),
                };
                Some(Event::EvidenceGathered { env, generation, evidence })
            }
            Effect::Teardown { env, generation, sandbox, deed, whose, listed, .. } => {
                // The runtime looks once more, and the backend refuses what was decided about somebody else's.
                let found = self.sandboxes.get(&sandbox);
                let moved = |one: &Simulated| one.origin != Origin::Managed && one.running && one.generation != listed;
                let other = found.is_some_and(|one| one.origin != whose || moved(one));
                let paused = found.is_some_and(|one| one.paused);
                if other || paused {
                    let message = String::from("it is not what was decided about");
                    let kind = FailureKind::Surprise;
                    return Some(Event::TeardownFailed { env, generation, kind, message });
                }
                self.execs.retain(|_, (of, ..)| *of != sandbox);
                match (deed, self.sandboxes.get_mut(&sandbox)) {
                    (Deed::Stop, Some(found)) => {
                        found.running = false;
                        found.process = None;
                    }
                    (Deed::Remove, Some(_)) => {
                        self.sandboxes.remove(&sandbox);
                    }
                    (_, None) => {}
                }
                Some(Event::TeardownDone { env, generation })
            }
            Effect::OpenSession { session, generation, .. } => Some(Event::SessionOpened { session, generation }),
            Effect::CloseSession(session) => Some(Event::SessionEnded { session, exit_code: Some(129) }),
            _ => None,
        }
    }

    pub(super) fn fault(&mut self, n: u8, kind: u8) -> Result<(), String> {
        let Some(op) = self.take_op(n) else { return Ok(()) };
        let kinds = [FailureKind::Temporary, FailureKind::Permanent, FailureKind::Surprise, FailureKind::Unreachable];
        self.fail(op, kinds[kind as usize % 4])
    }

    pub(super) fn fail(&mut self, op: Effect, kind: FailureKind) -> Result<(), String> {
        let message = String::from("the backend failed");
        let event = match op {
            Effect::Provision { env, generation, .. } => {
                Event::ProvisionFailed { env, generation, kind, message, hint: "look at it".into() }
            }
            Effect::GatherEvidence { env, generation, .. } => {
                Event::EvidenceGathered { env, generation, evidence: Err(message) }
            }
            Effect::Teardown { env, generation, .. } => Event::TeardownFailed { env, generation, kind, message },
            Effect::OpenSession { session, generation, .. } => Event::SessionFailed { session, generation, message },
            Effect::CloseSession(session) => Event::SessionEnded { session, exit_code: None },
            _ => return Ok(()),
        };
        self.event(event)
    }

    /// Everybody lets go, everything answers, and much time passes.
    pub(super) fn come_to_rest(&mut self) -> Result<(), String> {
        for docker in [false, true] {
            self.event(Event::EndpointUp(endpoint(docker)))?;
            self.relist(docker)?;
        }
        self.drain()?;
        for n in 0..4 {
            self.request(Request::EndTurn { conversation: conversation(n), status: TurnStatus::Done })?;
        }
        for call in self.calls.keys().cloned().collect::<Vec<_>>() {
            self.event(Event::CallEnded { call, exit_code: 0, cwd: None })?;
        }
        for env in self.pins.clone() {
            self.request(Request::Unpin(env))?;
        }
        for n in 0..4 {
            self.request(Request::EndConversation(conversation(n)))?;
        }
        for sandbox in self.sandboxes.values_mut() {
            sandbox.process = None;
            sandbox.paused = false;
        }
        while !self.execs.is_empty() {
            self.exec_ends(0)?;
        }
        // What no event has told is in the next list, and then come the graces, idle times and back-offs.
        self.wait(Span::seconds(3))?;
        for docker in [false, true] {
            self.relist(docker)?;
        }
        // Each extension moved a deadline on.
        let last = self.state.environments.values().filter_map(|env| env.deadline).max().unwrap_or_default();
        let until = self.now.max(last) + Span::seconds(12 * 120);
        while self.now < until {
            self.drain()?;
            if self.exited {
                return Ok(());
            }
            self.wait(Span::seconds(120))?;
        }
        self.drain()?;
        self.at_rest()
    }

    pub(super) fn drain(&mut self) -> Result<(), String> {
        for _ in 0..300 {
            if self.ops.is_empty() || self.exited {
                return Ok(());
            }
            self.deliver(0)?;
        }
        Err("the core asks its backends without end".into())
    }

    pub(super) fn at_rest(&self) -> Result<(), String> {
        if self.exited {
            return Ok(());
        }
        let lost_ones = |env: &Environment| env.phase == Phase::Lost && env.conversations.is_empty();
        for env in self.state.environments.values() {
            // An environment that was lost waits for a person, who may want to remake it.
            let ours = env.origin == Origin::Managed;
            if ours && env.is_ephemeral() && !lost_ones(env) && !without_idle(env) {
                return Err(format!("an ephemeral environment outlived its last holder: {env:?}"));
            }
            if env.phase == Phase::Ready && env.idle_time().is_some() {
                return Err(format!("an idle environment was not ended: {env:?}"));
            }
        }
        for (id, sandbox) in &self.sandboxes {
            let listed = self.state.environments.values().any(|env| env.sandbox.as_ref() == Some(id));
            let chosen = sandbox.origin != Origin::Foreign || !self.choices.shown[&endpoint(true)].is_empty();
            if !listed && chosen {
                return Err(format!("the sandbox {id} of {} is listed nowhere", sandbox.env));
            }
        }
        if let Some(reply) = self.asked.first() {
            return Err(format!("{reply:?} was never answered; waiters: {:?}", self.state.waiters));
        }
        Ok(())
    }
}

/// Made by a person with idle reaping off, and for no conversation: nothing but that person ends it.
fn without_idle(env: &Environment) -> bool {
    env.spec.idle == Span::ZERO && env.conversations.is_empty()
}
