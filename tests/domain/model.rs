//! The reference model: what it learns from events and answers, and the properties it checks after each event.

use super::*;

impl World {
    pub fn event(&mut self, event: Event) -> Result<(), String> {
        self.before(&event);
        let effects = self.state.apply(self.now, event.clone());
        self.after(&event, &effects);
        let checked = self.check(&event, &effects);
        self.perform(&effects);
        self.record.push((self.now, event, effects));
        checked.and_then(|()| self.check_state())
    }

    /// What the model learns from an event before the core sees it.
    pub(super) fn before(&mut self, event: &Event) {
        match event {
            Event::EndpointDown { endpoint, .. } => {
                self.frozen.insert(endpoint.clone());
            }
            // Nothing is decided between its first answer and its list.
            Event::EndpointUp(endpoint) if self.state.down.contains_key(endpoint) => {
                self.frozen.insert(endpoint.clone());
            }
            Event::Provisioned { env, sandbox, generation } => {
                let expected = self.state.environments.get(env);
                if expected.is_some_and(|e| e.generation == *generation && e.phase == Phase::Provisioning) {
                    if !self.is_theirs(env) {
                        self.told.insert(sandbox.clone(), env.clone());
                    }
                    self.typed.remove(env);
                    // Made ready for a person, outside of its scope.
                    self.lives_on_by_use(env);
                    self.used.insert(env.clone(), self.now);
                }
            }
            Event::TeardownDone { env, .. } => {
                let gone = |id: &SandboxId| !self.sandboxes.contains_key(id);
                self.told.retain(|id, of| of != env || !gone(id));
            }
            Event::TeardownFailed { env, .. } => {
                self.surprised.insert(env.clone());
            }
            Event::EvidenceGathered { env, evidence, .. } => {
                // Something lived inside, or nobody could say: its end is put off.
                let quiet = evidence.as_ref().is_ok_and(|found| found.processes.is_empty());
                self.surprised.extend((!quiet).then(|| env.clone()));
            }
            Event::CallEnded { call, .. } => {
                if let Some((env, conversation)) = self.calls.remove(call) {
                    self.used.insert(env, self.now);
                    self.renew(conversation.as_ref());
                }
            }
            Event::PersonActed { session, typed } => {
                let Some(session) = self.state.sessions.get(session) else { return };
                let Some(env) = self.state.environments.get(&session.env) else { return };
                let ended = matches!(session.state, SessionState::Ended { .. });
                let live = !ended && session.generation == env.generation;
                if live && env.phase == Phase::Ready {
                    let env = env.id.clone();
                    self.lives_on_by_use(&env);
                    if *typed && self.turns.values().any(|turn| turn.env == env) {
                        self.typed.insert(env.clone());
                    }
                    self.used.insert(env, self.now);
                }
            }
            Event::ClockJumped { .. } => {
                let exists = |env: &&Environment| matches!(env.phase, Phase::Ready | Phase::Stopped);
                for env in self.state.environments.values().filter(exists) {
                    self.graced.insert((env.id.clone(), env.generation), self.now + Span::seconds(60));
                }
            }
            Event::Requested { request, reply } => self.before_request(*reply, request),
            _ => {}
        }
    }

    pub(super) fn before_request(&mut self, reply: ReplyTo, request: &Request) {
        match request {
            Request::Stop { env, .. } | Request::Remove { env, .. } if self.is_theirs(env) => {}
            Request::EndOther { env, .. } if !self.is_theirs(env) => {}
            Request::EndOther { env, force, .. } => {
                let held = self.state.environments.get(env).is_some_and(|env| !env.leases.is_empty());
                if *force || !held {
                    self.orders.insert(reply, env.clone());
                    self.ordered.insert(env.clone());
                }
                if *force {
                    self.forced.insert(env.clone());
                }
            }
            Request::Stop { env, force } | Request::Remove { env, force, .. } => {
                if matches!(request, Request::Remove { data: true, .. }) {
                    self.data_ordered.insert(env.clone());
                }
                let held = self.state.environments.get(env).is_some_and(|env| !env.leases.is_empty());
                if *force || !held {
                    self.orders.insert(reply, env.clone());
                    self.ordered.insert(env.clone());
                }
                if *force {
                    self.forced.insert(env.clone());
                }
            }
            Request::Unpin(env) if !self.shutting_down && self.pins.remove(env) => {
                self.used.insert(env.clone(), self.now);
            }
            Request::EndTurn { conversation, .. } | Request::EndConversation(conversation) => {
                if let Some(turn) = self.turns.remove(conversation) {
                    self.used.insert(turn.env, self.now);
                }
            }
            Request::Extend { env, .. } => {
                self.surprised.insert(env.clone());
                self.typed.insert(env.clone());
            }
            Request::OpenSession { env, .. } | Request::Start(env) => self.lives_on_by_use(env),
            Request::BeginCall { env: Some(env), .. } => self.lives_on_by_use(env),
            Request::TouchTurn(conversation) => self.renew(Some(conversation)),
            Request::Shutdown { .. } => self.shutting_down = true,
            _ => {}
        }
    }

    fn is_theirs(&self, env: &EnvId) -> bool {
        self.state.environments.get(env).is_some_and(|env| env.origin != Origin::Managed)
    }

    /// Used by somebody outside of turns: it lives on until it is idle.
    pub(super) fn lives_on_by_use(&mut self, env: &EnvId) {
        if !self.is_held(env) {
            self.surprised.insert(env.clone());
        }
    }

    pub(super) fn renew(&mut self, conversation: Option<&ConversationId>) {
        let until = self.now + TTL;
        if let Some(turn) = conversation.and_then(|id| self.turns.get_mut(id)) {
            turn.until = until;
        }
    }

    /// What the model learns from the answers.
    pub(super) fn after(&mut self, event: &Event, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Reply { to, answer } => {
                    self.answered(*to, answer);
                }
                Effect::Announce(Notice { kind: NoticeKind::TurnEnded, conversation: Some(id), .. }) => {
                    self.turns.remove(id);
                }
                Effect::Announce(Notice { kind: NoticeKind::CallEnded, call: Some(id), .. }) => {
                    self.calls.remove(id);
                }
                _ => {}
            }
        }
        match event {
            Event::SandboxPaused { sandbox, paused, .. } => {
                let known = self.state.environments.values().find(|env| env.sandbox.as_ref() == Some(sandbox));
                if known.is_some_and(|env| matches!(env.phase, Phase::Ready | Phase::Reaping)) && *paused {
                    self.halted.insert(sandbox.clone());
                } else if !*paused {
                    self.halted.remove(sandbox);
                }
            }
            Event::Snapshot { found, .. } => {
                for one in found {
                    let ready =
                        |env: &Environment| env.sandbox.as_ref() == Some(&one.sandbox) && env.phase == Phase::Ready;
                    let known = self.state.environments.values().any(ready);
                    if one.state == SandboxState::Paused && known {
                        self.halted.insert(one.sandbox.clone());
                    } else {
                        self.halted.remove(&one.sandbox);
                    }
                }
            }
            Event::SandboxEnded { sandbox, .. } => {
                self.halted.remove(sandbox);
            }
            _ => {}
        }
        self.pins.retain(|env| self.state.environments.contains_key(env));
        if let Event::Requested { request: Request::Remove { env, .. } | Request::EndOther { env, .. }, .. } = event
            && self.given_up(env, event)
        {
            self.told.retain(|_, of| of != env);
            self.forget_execs(env);
        }
        if let Event::Requested { request: Request::Forget(env), .. } = event
            && !self.state.environments.contains_key(env)
        {
            self.forget_execs(env);
        }
        let Event::Requested { reply, request } = event else { return };
        let refused = effects
            .iter()
            .any(|effect| matches!(effect, Effect::Reply { to, answer: Answer::Refused(_) } if to == reply));
        if !refused {
            self.accepted(request);
        }
    }

    pub(super) fn answered(&mut self, to: ReplyTo, answer: &Answer) {
        self.asked.remove(&to);
        let order = self.orders.remove(&to);
        if let (Some(env), Answer::Done | Answer::Environment(_)) = (order, answer)
            && !self.orders.values().any(|other| *other == env)
        {
            self.ordered.remove(&env);
        }
        if let Answer::Turn { conversation, .. } = answer {
            self.renew(Some(&conversation.clone()));
        }
    }

    pub(super) fn accepted(&mut self, request: &Request) {
        match request {
            Request::BeginTurn { conversation, .. } => {
                let env = self.state.conversations.get(conversation).and_then(|c| c.env.clone());
                let Some(env) = env else { return };
                self.used.insert(env.clone(), self.now);
                self.typed.remove(&env);
                self.turns.insert(conversation.clone(), OpenTurn { env, until: self.now + TTL });
            }
            Request::BeginCall { call, conversation, .. } => {
                let Some(begun) = self.state.calls.get(call) else { return };
                let Some(env) = begun.env.clone() else { return };
                self.used.insert(env.clone(), self.now);
                self.calls.insert(call.clone(), (env, conversation.clone()));
                self.renew(conversation.as_ref());
            }
            Request::Pin(env) => {
                self.pins.insert(env.clone());
            }
            Request::OpenSession { env, .. } => {
                self.used.insert(env.clone(), self.now);
            }
            _ => {}
        }
    }

    /// What the runtime does with effects.
    pub(super) fn perform(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Save(Record::Environment(id)) => mirror(&mut self.journal, &self.state.environments, id),
                Effect::Save(Record::Conversation(id)) => {
                    mirror(&mut self.journal_conversations, &self.state.conversations, id);
                }
                Effect::Save(Record::Session(id)) => mirror(&mut self.journal_sessions, &self.state.sessions, id),
                Effect::Save(Record::Call(id)) => mirror(&mut self.journal_calls, &self.state.calls, id),
                Effect::Exit => self.exited = true,
                Effect::Provision { env, .. } => {
                    self.forced.remove(env);
                    self.surprised.remove(env);
                    self.ops.push(effect.clone());
                }
                Effect::GatherEvidence { .. }
                | Effect::Teardown { .. }
                | Effect::OpenSession { .. }
                | Effect::CloseSession(_) => self.ops.push(effect.clone()),
                Effect::Save(Record::Choices) => self.choices = self.state.choices.clone(),
                Effect::RunCall { .. }
                | Effect::Reply { .. }
                | Effect::Announce(_)
                | Effect::Choose { .. }
                | Effect::DeleteData(_) => {}
            }
        }
    }

    pub(super) fn is_held(&self, env: &EnvId) -> bool {
        self.is_held_without(env, None)
    }

    pub(super) fn is_held_without(&self, env: &EnvId, conversation: Option<&ConversationId>) -> bool {
        let counts = |(id, turn): (&ConversationId, &OpenTurn)| {
            turn.env == *env && turn.until > self.now && Some(id) != conversation
        };
        let by_turn = self.turns.iter().any(counts);
        let by_others = self.state.environments.get(env).is_some_and(|env| self.is_used_by_others(env));
        by_turn || by_others || self.calls.values().any(|(of, _)| of == env) || self.pins.contains(env)
    }

    pub(super) fn check(&self, event: &Event, effects: &[Effect]) -> Result<(), String> {
        let mut saved = BTreeSet::new();
        for env in self.journal.values().filter(|env| env.spec.persistence == Persistence::Ephemeral) {
            let forgotten = !self.state.environments.contains_key(&env.id);
            let ours = env.origin == Origin::Managed;
            if ours
                && forgotten
                && !self.given_up(&env.id, event)
                && !effects.contains(&Effect::DeleteData(env.id.clone()))
            {
                return Err(format!("the files of the ephemeral {} outlive it", env.id));
            }
        }
        for effect in effects {
            match effect {
                Effect::Teardown { env, generation, sandbox, deed, .. } => {
                    self.check_teardown(event, env, *generation, sandbox, *deed)?;
                }
                Effect::GatherEvidence { env, .. } | Effect::Provision { env, .. } => {
                    self.check_reachable(env)?;
                    self.check_asked(event, effect, env)?;
                }
                Effect::Announce(Notice { kind: NoticeKind::EnvWarned, env: Some(env), .. }) => {
                    self.check_warning(event, env)?;
                }
                Effect::DeleteData(env) => {
                    let kept = self.journal.get(env).is_some_and(|env| env.spec.persistence != Persistence::Ephemeral);
                    if kept && !self.data_ordered.contains(env) {
                        return Err(format!("the files of {env} were deleted by {event:?}"));
                    }
                }
                Effect::Save(record) if !saved.insert(record.clone()) => {
                    return Err(format!("{record:?} is saved twice in one event"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn check_reachable(&self, id: &EnvId) -> Result<(), String> {
        let Some(env) = self.state.environments.get(id) else { return Ok(()) };
        if self.frozen.contains(&env.spec.endpoint) {
            return Err(format!("something was asked of the unreachable endpoint of {id}"));
        }
        Ok(())
    }

    fn paused(&self, env: &Environment) -> bool {
        env.sandbox.as_ref().is_some_and(|sandbox| self.halted.contains(sandbox))
    }

    /// Nothing is looked at while it is paused, and what is not ours is started by a person's word only.
    fn check_asked(&self, event: &Event, effect: &Effect, id: &EnvId) -> Result<(), String> {
        let Some(env) = self.state.environments.get(id) else { return Ok(()) };
        let started = matches!(event, Event::Requested { request: Request::Start(of), .. } if of == id);
        match effect {
            Effect::GatherEvidence { .. } if self.paused(env) => Err(format!("{id} is paused and was looked into")),
            Effect::Provision { existing, .. } if env.origin != Origin::Managed && (!started || existing.is_none()) => {
                Err(format!("{id} is not ours and was made or started by {event:?}"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_teardown(
        &self,
        event: &Event,
        id: &EnvId,
        generation: Generation,
        sandbox: &SandboxId,
        deed: Deed,
    ) -> Result<(), String> {
        self.check_reachable(id)?;
        let env = self.state.environments.get(id).ok_or_else(|| format!("{id} is torn down but not listed"))?;
        if env.sandbox.as_ref() != Some(sandbox) {
            // A superseded one, which nobody can be in.
            return if generation < env.generation { Ok(()) } else { Err(format!("{sandbox} is not that of {id}")) };
        }
        if self.paused(env) {
            return Err(format!("{id} is paused and was torn down by {event:?}"));
        }
        if env.origin != Origin::Managed {
            self.check_consent(event, env, deed)?;
        }
        if self.shutting_down || self.forced.contains(id) {
            return Ok(());
        }
        // A turn that interrupts another one waits for the end of the other one's sandbox.
        let beginner = match event {
            Event::Requested { request: Request::BeginTurn { conversation, .. }, .. } => Some(conversation),
            _ => None,
        };
        if self.is_held_without(id, beginner) {
            return Err(format!("{id} is held and was torn down by {event:?}"));
        }
        if self.ordered.contains(id) {
            return Ok(());
        }
        if self.graced.get(&(id.clone(), generation)).is_some_and(|until| self.now < *until) {
            return Err(format!("{id} was torn down within a minute after the clock jumped"));
        }
        let looked = matches!(event, Event::EvidenceGathered { env, evidence: Ok(found), .. }
            if env == id && found.processes.iter().all(|p| p.started + Span::hours(24) <= self.now));
        let persistent = env.spec.persistence == Persistence::Persistent;
        let all_ended =
            env.conversations.iter().all(|c| self.state.conversations.get(c).is_none_or(|c| c.ended.is_some()));
        let by_retention = all_ended
            && match env.spec.retention {
                Retention::StopOnSessionEnd => deed == Deed::Stop,
                Retention::RemoveOnSessionEnd => deed == Deed::Remove,
                Retention::KeepRunning | Retention::IdleTtl => false,
            };
        if env.origin != Origin::Managed && env.phase == Phase::Reaping {
            let ready = env.books.teardown.as_ref().is_some_and(|teardown| teardown.from == Phase::Ready);
            return if looked || !ready { Ok(()) } else { Err(format!("{id} was torn down without a look")) };
        }
        if !persistent || by_retention {
            return Ok(());
        }
        if !looked {
            return Err(format!("the persistent {id} was torn down by {event:?}"));
        }
        self.check_idle(env, generation)
    }

    /// Forgotten by force because its endpoint does not answer: what is left is found by the next list.
    pub(super) fn given_up(&self, id: &EnvId, event: &Event) -> bool {
        let forced = matches!(event, Event::Requested {
            request: Request::Remove { env, force: true, .. } | Request::EndOther { env, force: true, .. }, ..
        } if env == id);
        let known = self.journal.get(id).map(|env| &env.spec.endpoint);
        forced && !self.state.environments.contains_key(id) && known.is_some_and(|e| self.state.down.contains_key(e))
    }

    /// Nobody is warned of the end of what is in use: a look came back and found nothing that lasts to the deadline, or
    /// it failed.
    pub(super) fn check_warning(&self, event: &Event, id: &EnvId) -> Result<(), String> {
        let deadline = self.state.environments.get(id).and_then(|env| env.deadline).unwrap_or_default();
        let lasts = |process: &LiveProcess| process.started + Span::hours(24) > deadline;
        match event {
            Event::EvidenceGathered { env, evidence: Err(_), .. } if env == id => Ok(()),
            Event::EvidenceGathered { env, evidence: Ok(found), .. }
                if env == id && !found.processes.iter().any(lasts) =>
            {
                Ok(())
            }
            _ => Err(format!("{id} was warned of by {event:?}")),
        }
    }

    /// Ended for idleness: not before its idle time, and not before the deadline that it had before a restart.
    pub(super) fn check_idle(&self, env: &Environment, generation: Generation) -> Result<(), String> {
        let used = self.used.get(&env.id).copied().unwrap_or_default();
        let promised = self.promised.get(&(env.id.clone(), generation)).copied().unwrap_or_default();
        let least = (used + env.spec.idle).max(promised);
        if env.spec.idle == Span::ZERO || env.spec.retention == Retention::KeepRunning || self.now < least {
            return Err(format!("{} was ended for idleness too early: {:?} < {least:?}", env.id, self.now));
        }
        Ok(())
    }

    pub(super) fn check_state(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for env in self.state.environments.values() {
            self.check_environment(env)?;
            if !names.insert((&env.spec.endpoint, &env.name)) {
                return Err(format!("two environments are called {}", env.name));
            }
        }
        for (sandbox, env) in &self.told {
            let listed = self.state.environments.get(env).and_then(|env| env.sandbox.as_ref()) == Some(sandbox);
            if !listed && self.sandboxes.contains_key(sandbox) {
                return Err(format!("{sandbox} of {env} exists and is not listed any more"));
            }
        }
        if self.journal.len() != self.state.environments.len() && !self.exited {
            return Err("the journal and the state list different environments".into());
        }
        Ok(())
    }

    pub(super) fn check_environment(&self, env: &Environment) -> Result<(), String> {
        let id = &env.id;
        let due = env.phase == Phase::Ready && env.leases.is_empty() && env.idle_time().is_some();
        if env.deadline.is_some() != due {
            return Err(format!("the deadline of {id} does not fit its leases: {env:?}"));
        }
        let least = self.used.get(id).copied().unwrap_or_default() + env.idle_time().unwrap_or_default();
        if env.deadline.is_some_and(|deadline| deadline < least) {
            return Err(format!("the deadline of {id} is before its last use and its idle time"));
        }
        if env.phase == Phase::Ready && env.sandbox.is_none() {
            return Err(format!("{id} is ready without a sandbox"));
        }
        let typed = self.typed.contains(id)
            || self.surprised.contains(id)
            || self.ordered.contains(id)
            || env.books.grace.is_some()
            || env.books.looking;
        let scope_over = match env.spec.scope {
            Scope::Turn => !env.conversations.is_empty(),
            _ => !env.conversations.is_empty() && env.conversations.iter().all(|c| self.has_ended(c)),
        };
        let open = !self.frozen.contains(&env.spec.endpoint) && !self.state.down.contains_key(&env.spec.endpoint);
        let lives_on = env.phase == Phase::Ready
            && env.leases.is_empty()
            && env.is_ephemeral()
            && env.origin == Origin::Managed
            && !env.paused;
        if lives_on && scope_over && open && !typed && !self.shutting_down {
            return Err(format!("the ephemeral {id} outlives its scope: {env:?}"));
        }
        let mut saved = self.journal.get(id).cloned().ok_or_else(|| format!("{id} was never saved"))?;
        saved.last_activity = env.last_activity.clone();
        (saved.deadline, saved.warned) = (env.deadline, env.warned);
        saved.books.saved_activity = env.books.saved_activity;
        // Commands of others need not reach the journal.
        let lasting = |env: &Environment| -> Vec<Lease> {
            env.leases.iter().filter(|lease| !matches!(lease.kind, LeaseKind::Exec(_))).cloned().collect()
        };
        if lasting(&saved) == lasting(env) {
            saved.leases.clone_from(&env.leases);
            saved.books.released = env.books.released;
        }
        if saved != *env {
            return Err(format!("a change was not saved: {saved:?}\n{env:?}"));
        }
        let held_by_model = self.is_held(id) && env.leases.is_empty();
        if held_by_model && !self.shutting_down {
            return Err(format!("{id} is held, but has no lease"));
        }
        Ok(())
    }

    pub(super) fn has_ended(&self, conversation: &ConversationId) -> bool {
        self.state.conversations.get(conversation).is_some_and(|c| c.ended.is_some())
    }

    /// The record of events gives the same effects again.
    pub(super) fn replays_alike(&self) -> Result<(), String> {
        let mut state = if self.started_anew { State::default() } else { World::new().state };
        for (now, event, effects) in &self.record {
            if state.apply(*now, event.clone()) != *effects {
                return Err(format!("a replay of {event:?} gave other effects"));
            }
        }
        Ok(())
    }
}

fn mirror<K: Ord + Clone, V: Clone>(journal: &mut BTreeMap<K, V>, state: &BTreeMap<K, V>, id: &K) {
    match state.get(id) {
        Some(value) => journal.insert(id.clone(), value.clone()),
        None => journal.remove(id),
    };
}
