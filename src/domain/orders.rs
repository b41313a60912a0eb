//! What a person orders: new, start, stop, remove, pin, extend, rename.

use super::books::{Cause, End, Need, Waiter};
use super::effect::{Deed, Notice, NoticeKind};
use super::environment::{ActivityKind, EnvSpec, Environment, Origin, Phase};
use super::id::{EndpointId, EnvId, Generation, ReplyTo};
use super::lease::LeaseKind;
use super::moment::Span;
use super::naming;
use super::outbox::Outbox;
use super::reaper::Access;
use super::request::{Answer, Refusal, RefusalKind};
use super::state::State;
use super::turns::check_spec;
use super::words;

/// The order to end a sandbox, in one piece.
#[derive(Clone, Copy)]
pub(super) struct EndOrder {
    pub deed: Deed,
    pub force: bool,
    pub data: bool,
}

impl State {
    pub(super) fn new_environment(
        &mut self,
        out: &mut Outbox,
        reply: ReplyTo,
        id: EnvId,
        name: Option<String>,
        spec: &EnvSpec,
    ) {
        // One that could not be made gives its name up to the next try.
        let failed = name.as_deref().and_then(|name| self.failed_for_good(&spec.endpoint, name));
        if let Some(failed) = failed
            && failed != id
        {
            self.forget(out, &failed, false, "replaced by another try");
        }
        if let Err(refusal) = self.check_new(&id, name.as_deref(), spec) {
            return out.refuse(reply, refusal);
        }
        let name = name.unwrap_or_else(|| self.next_name(&spec.endpoint));
        let id = self.list_new(out, id, name, spec);
        self.waiters.push(Waiter { reply, env: Some(id), need: Need::Ready });
    }

    /// An environment of this name that never came to be and that nobody uses: it is not tried again by itself.
    fn failed_for_good(&self, endpoint: &EndpointId, name: &str) -> Option<EnvId> {
        let over = |env: &&Environment| {
            env.name == name
                && env.spec.endpoint == *endpoint
                && env.origin == Origin::Managed
                && env.phase == Phase::Failed
                && env.sandbox.is_none()
                && env.generation <= Generation(1)
                && env.leases.is_empty()
                && env.conversations.is_empty()
        };
        self.environments.values().find(over).map(|env| env.id.clone())
    }

    fn check_new(&self, id: &EnvId, name: Option<&str>, spec: &EnvSpec) -> Result<(), Refusal> {
        check_spec(spec)?;
        if let Some(name) = name {
            self.check_name(&spec.endpoint, name, None)?;
        }
        if self.environments.contains_key(id) {
            let message = format!("an environment {id} exists already");
            return Err(Refusal::new(RefusalKind::Usage, message, "make it with a fresh id"));
        }
        self.check_endpoint(spec)
    }

    pub(super) fn start(&mut self, out: &mut Outbox, reply: ReplyTo, id: &EnvId) {
        // By a person's word one that is not ours is started again, too; made anew it never is.
        let stopped = |env: &&Environment| {
            env.origin != Origin::Managed
                && env.sandbox.is_some()
                && matches!(env.phase, Phase::Stopped | Phase::Failed)
                && self.is_open(env)
        };
        if self.environments.get(id).filter(stopped).is_some() {
            self.waiters.push(Waiter { reply, env: Some(id.clone()), need: Need::Ready });
            if let Some(env) = self.edit(out, id) {
                env.books.listed = Generation::default();
            }
            self.provision(out, id);
            return;
        }
        if let Err(refusal) = self.check_usable(id) {
            return out.refuse(reply, refusal);
        }
        self.edit(out, id);
        self.waiters.push(Waiter { reply, env: Some(id.clone()), need: Need::Ready });
    }

    pub(super) fn order_end(&mut self, out: &mut Outbox, reply: ReplyTo, id: &EnvId, order: EndOrder) {
        if let Err(refusal) = self.check_whose(id, order).and_then(|()| self.check_end(id, order)) {
            return out.refuse(reply, refusal);
        }
        self.set_end(out, reply, id, order);
    }

    /// Ends one that is not ours, by the word of a person who knows what follows.
    pub(super) fn end_other(&mut self, out: &mut Outbox, reply: ReplyTo, id: &EnvId, deed: Deed, force: bool) {
        let order = EndOrder { deed, force, data: false };
        if let Some(env) = self.environments.get(id).filter(|env| env.origin == Origin::Managed) {
            let message = format!("{} was made by us", env.name);
            let hint = format!("`hermes-tui env {} {}` ends it", short(deed), words::quoted(&env.name));
            return out.refuse(reply, Refusal::new(RefusalKind::Usage, message, hint));
        }
        if let Err(refusal) = self.check_end(id, order) {
            return out.refuse(reply, refusal);
        }
        self.set_end(out, reply, id, order);
    }

    fn set_end(&mut self, out: &mut Outbox, reply: ReplyTo, id: &EnvId, order: EndOrder) {
        let now = out.now;
        let phase = self.environments.get(id).map(|env| env.phase);
        if order.deed == Deed::Stop && phase == Some(Phase::Stopped) {
            return out.reply(reply, Answer::Environment(id.clone()));
        }
        if self.environments.get(id).is_some_and(|env| self.is_out_of_reach(env)) {
            return self.forget_unreachable(out, reply, id, order.data);
        }
        let Some(env) = self.edit(out, id) else { return };
        let remove = order.deed == Deed::Remove;
        let earlier = env.books.end.take().filter(End::ordered);
        env.books.end = Some(End {
            at: now,
            // A removal that was ordered before stays ordered.
            deed: if earlier.as_ref().is_some_and(|end| end.deed == Deed::Remove) { Deed::Remove } else { order.deed },
            cause: Cause::Person,
            force: order.force,
            forget: remove || earlier.as_ref().is_some_and(|end| end.forget),
            data: order.data || earlier.as_ref().is_some_and(|end| end.data),
        });
        let need = if remove { Need::Removed } else { Need::Stopped };
        self.waiters.push(Waiter { reply, env: Some(id.clone()), need });
        // Whoever waited for it to be ready waits in vain.
        let name = self.environments.get(id).map_or_else(String::new, |env| env.name.clone());
        let message = format!("{name} was {} on request", order.deed.participle());
        let hint = match order.deed {
            Deed::Stop => format!("begin a turn, or `hermes-tui env start {}`", words::quoted(&name)),
            Deed::Remove => "begin a turn, or `hermes-tui env new` makes another".to_owned(),
        };
        let refusal = Refusal::new(RefusalKind::Failed, message, hint);
        self.refuse_waiting(out, id, &refusal, Need::wants_ready);
    }

    /// One that is not ours is ended only by a word that was given in knowledge of what follows. A row without a
    /// container is just a row.
    fn check_whose(&self, id: &EnvId, order: EndOrder) -> Result<(), Refusal> {
        let Some(env) = self.environments.get(id) else { return Err(naming::not_found(id.as_str())) };
        let row_only = order.deed == Deed::Remove && (env.sandbox.is_none() || self.is_out_of_reach(env));
        if env.origin == Origin::Managed || row_only {
            return Ok(());
        }
        let verb = if order.deed == Deed::Stop { "stop" } else { "remove" };
        let message =
            format!("{} was not {}: {}", env.name, order.deed.participle(), env.consequences(order.deed).join("; "));
        let hint = format!(
            "to {verb} it all the same: `hermes-tui env {} {} --yes`",
            short(order.deed),
            words::quoted(&env.name)
        );
        Err(Refusal::new(RefusalKind::Policy, message, hint))
    }

    fn check_end(&self, id: &EnvId, order: EndOrder) -> Result<(), Refusal> {
        let Some(env) = self.environments.get(id) else { return Err(naming::not_found(id.as_str())) };
        if env.paused {
            let message = format!("{} was paused by somebody else: it cannot be ended until it goes on", env.name);
            return Err(Refusal::new(RefusalKind::Policy, message, "let it go on with the tool that paused it"));
        }
        if order.deed == Deed::Stop && matches!(env.phase, Phase::Failed | Phase::Absent | Phase::Lost) {
            return Err(nothing_to_stop(env));
        }
        let forgets = order.deed == Deed::Remove && order.force;
        if self.is_out_of_reach(env) && !forgets {
            let refusal = self.check_endpoint(&env.spec);
            return if order.deed == Deed::Remove { refusal.map_err(|r| or_forget(r, env)) } else { refusal };
        }
        if !env.leases.is_empty() && !order.force {
            let message = format!("{} is held by {}", env.name, words::holders(&env.holders()));
            let name = words::quoted(&env.name);
            let force = format!("`hermes-tui env {} {name} --force`", short(order.deed));
            let only_pinned = env.leases.iter().all(|lease| lease.kind == LeaseKind::Pin);
            let hint = if only_pinned {
                format!("`hermes-tui env unpin {name}` lets go of it, or {force} does it all the same")
            } else {
                format!("wait for it, or {force} ends what runs in it")
            };
            return Err(Refusal::new(RefusalKind::Policy, message, hint));
        }
        Ok(())
    }

    /// Whether its sandbox, if there is one, is on an endpoint that does not answer.
    fn is_out_of_reach(&self, env: &Environment) -> bool {
        let may_exist = env.sandbox.is_some() || env.phase == Phase::Provisioning;
        may_exist && self.access(env) == Access::Down
    }

    /// Deletes the row of an environment whose endpoint may never answer again. If it does, its list shows what is left.
    fn forget_unreachable(&mut self, out: &mut Outbox, reply: ReplyTo, id: &EnvId, data: bool) {
        let Some(env) = self.environments.get(id) else { return };
        let endpoint = &env.spec.endpoint;
        let why = format!("forgotten on request; {endpoint} does not answer, and its sandbox may still exist there");
        let notice = Notice::new(NoticeKind::EnvRemoved, format!("{} was {why}", env.name)).env(id);
        self.sandbox_over(out, id, &why);
        out.announce(notice);
        self.forget(out, id, data, &why);
        out.reply(reply, Answer::Done);
    }

    pub(super) fn pin(&mut self, out: &mut Outbox, reply: ReplyTo, id: &EnvId, on: bool) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return out.refuse(reply, naming::not_found(id.as_str())) };
        let pinned = env.leases.iter().any(|lease| lease.kind == LeaseKind::Pin);
        if pinned != on {
            if on {
                env.hold(LeaseKind::Pin, "pinned".into(), now, None);
            } else {
                env.release(&LeaseKind::Pin, now);
            }
            let text = format!("{} is {}", env.name, if on { "pinned" } else { "no longer pinned" });
            out.announce(Notice::new(NoticeKind::EnvChanged, text).env(id));
        }
        out.reply(reply, Answer::Environment(id.clone()));
    }

    pub(super) fn extend(&mut self, out: &mut Outbox, reply: ReplyTo, id: &EnvId, by: Option<Span>) {
        let now = out.now;
        let Some(env) = self.edit(out, id) else { return out.refuse(reply, naming::not_found(id.as_str())) };
        let Some(idle) = env.idle_time() else {
            let message = format!("{} has no idle deadline to extend: idle reaping is off for it", env.name);
            return out.refuse(reply, Refusal::new(RefusalKind::Policy, message, "nothing needs to be done"));
        };
        if env.phase != Phase::Ready {
            let message = format!("{} is {} and has no idle deadline to extend", env.name, words::phase(env.phase));
            let hint = format!("start it with `hermes-tui env start {}`", words::quoted(&env.name));
            return out.refuse(reply, Refusal::new(RefusalKind::Policy, message, hint));
        }
        let by = by.unwrap_or(idle);
        // While somebody holds it there is no deadline yet: the time is added to the earliest one there can be.
        let deadline = env.deadline.unwrap_or((now + idle).max(env.books.not_before));
        env.defer(deadline + by);
        // More time was asked for by a person: the end of its scope gives way to its idle deadline.
        env.person_typed |= !env.leases.is_empty();
        if env.books.end.take_if(|end| !end.ordered()).is_some() {
            env.books.lingers = env.is_ephemeral();
        }
        env.note(ActivityKind::Extended, format!("extended by {}", words::span(by)), now);
        env.warned = false;
        let text = format!("{} was extended by {}", env.name, words::span(by));
        out.announce(Notice::new(NoticeKind::EnvChanged, text).env(id));
        out.reply(reply, Answer::Environment(id.clone()));
    }

    pub(super) fn rename(&mut self, out: &mut Outbox, reply: ReplyTo, id: &EnvId, name: String) {
        let Some(Environment { spec, .. }) = self.environments.get(id) else {
            return out.refuse(reply, naming::not_found(id.as_str()));
        };
        if let Err(refusal) = self.check_name(&spec.endpoint, &name, Some(id)) {
            return out.refuse(reply, refusal);
        }
        let Some(env) = self.edit(out, id) else { return };
        let text = format!("{} is now called {name}", env.name);
        env.name = name;
        out.announce(Notice::new(NoticeKind::EnvChanged, text).env(id));
        self.remember_name(out, id);
        out.reply(reply, Answer::Environment(id.clone()));
    }
}

fn nothing_to_stop(env: &Environment) -> Refusal {
    let message = format!("there is nothing to stop: {} is {} and runs nothing", env.name, words::phase(env.phase));
    Refusal::new(RefusalKind::Failed, message, format!("`hermes-tui env start {}` starts it", words::quoted(&env.name)))
}

/// The way out where an endpoint will not come back.
fn or_forget(refusal: Refusal, env: &Environment) -> Refusal {
    let name = words::quoted(&env.name);
    let way_out = format!("`hermes-tui env rm {name} --force` forgets it, but its sandbox may still exist there");
    Refusal { hint: format!("{}; {way_out}", refusal.hint), ..refusal }
}

/// The word of a command line for it.
pub(super) fn short(deed: Deed) -> &'static str {
    match deed {
        Deed::Stop => "stop",
        Deed::Remove => "rm",
    }
}
