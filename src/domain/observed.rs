//! What others do in a sandbox: their commands, and a halt of all its processes.

use super::effect::{Notice, NoticeKind, Record};
use super::environment::{ActivityKind, Environment, Phase};
use super::id::{CallId, EndpointId, EnvId, SandboxId};
use super::lease::LeaseKind;
use super::moment::{Moment, Span};
use super::outbox::Outbox;
use super::state::State;
use super::turn::{Call, CallSource};
use super::words;
use serde::{Deserialize, Serialize};

/// The same command begun again within this time after its end is told by the same row: an agent that waits for a
/// background job asks for it every 2 s, with three commands each time.
const REPEATED: Span = Span::seconds(30);

/// After an endpoint answers again its backend tells anew which commands still run; one that it does not name within
/// this time is over.
const RECALL: Span = Span::seconds(10);

/// A command of somebody else that runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Observed {
    /// In which environment.
    pub env: EnvId,
    /// The row that tells of it.
    pub row: CallId,
    /// The connection that told of it is broken: its end may have been missed.
    pub missed: bool,
    /// When it counts as over unless the backend names it again.
    pub doubted: Option<Moment>,
}

impl State {
    /// Whose sandbox this is.
    fn owner_of(&self, sandbox: &SandboxId, endpoint: &EndpointId) -> Option<EnvId> {
        let owns = |env: &&Environment| env.sandbox.as_ref() == Some(sandbox) && env.spec.endpoint == *endpoint;
        self.environments.values().find(owns).map(|env| env.id.clone())
    }

    pub(super) fn sandbox_paused(
        &mut self,
        out: &mut Outbox,
        sandbox: &SandboxId,
        endpoint: &EndpointId,
        paused: bool,
    ) {
        if let Some(id) = self.owner_of(sandbox, endpoint) {
            self.set_paused(out, &id, paused);
        }
    }

    /// While its processes are halted nothing is decided. When they go on, the deadline is no closer than before and at
    /// least a minute away.
    pub(super) fn set_paused(&mut self, out: &mut Outbox, id: &EnvId, paused: bool) {
        let now = out.now;
        let runs = |env: &Environment| matches!(env.phase, Phase::Ready | Phase::Reaping);
        if self.environments.get(id).is_none_or(|env| env.paused == paused || !runs(env)) {
            return;
        }
        let Some(env) = self.edit(out, id) else { return };
        env.paused = paused;
        if !paused {
            env.grant_grace(now);
        }
        let text = if paused { "was paused by somebody else: nothing is decided until it goes on" } else { "goes on" };
        let text = format!("{} {text}", env.name);
        out.announce(Notice::new(NoticeKind::EnvChanged, text).env(id));
    }

    /// Somebody else began a command, or it is told again that it runs.
    pub(super) fn exec_began(
        &mut self,
        out: &mut Outbox,
        (sandbox, endpoint): (&SandboxId, &EndpointId),
        exec: CallId,
        command: String,
        cwd: Option<String>,
    ) {
        if let Some(known) = self.observed.get_mut(&exec) {
            (known.missed, known.doubted) = (false, None);
            return;
        }
        let Some(id) = self.owner_of(sandbox, endpoint) else { return };
        let runs = |env: &Environment| matches!(env.phase, Phase::Ready | Phase::Reaping);
        if !self.environments.get(&id).is_some_and(runs) || self.is_over(&exec) {
            return;
        }
        let now = out.now;
        let excerpt = words::excerpt(&command, 80);
        let row = self.row_of(out, &id, &exec, command, cwd);
        self.join_seen(out, &row);
        if let Some(env) = self.edit(out, &id) {
            env.note(ActivityKind::Exec, format!("{excerpt} began"), now);
            env.hold(LeaseKind::Exec(exec.clone()), excerpt, now, None);
        }
        self.observed.insert(exec, Observed { env: id, row, missed: false, doubted: None });
    }

    /// Whether a command has ended for certain. Of one without an exit code nothing was heard any more: it may run.
    fn is_over(&self, exec: &CallId) -> bool {
        self.calls.get(exec).is_some_and(|call| call.source != CallSource::Observed || call.exit_code.is_some())
    }

    /// The row that tells of a command: its own, or that of the same command a moment ago.
    fn row_of(&mut self, out: &mut Outbox, env: &EnvId, exec: &CallId, command: String, cwd: Option<String>) -> CallId {
        let now = out.now;
        let repeats = |call: &&Call| {
            let recent = call.ended.is_none_or(|ended| now <= ended + REPEATED);
            call.source == CallSource::Observed
                && call.conversation.is_none()
                && call.env.as_ref() == Some(env)
                && recent
                && call.command == command
                && (cwd.is_none() || call.cwd == cwd)
        };
        let known = self.calls.get(exec).or_else(|| self.calls.values().find(repeats)).map(|call| call.id.clone());
        if let Some(row) = known
            && let Some(call) = self.calls.get_mut(&row)
        {
            if row != *exec {
                call.began = now;
                call.count = call.count.saturating_add(1);
            }
            call.ended = None;
            call.exit_code = None;
            return row;
        }
        let notice = Notice::new(NoticeKind::CallBegan, words::excerpt(&command, 80)).env(env).call(exec);
        out.announce(notice);
        self.remember(
            out,
            Call {
                id: exec.clone(),
                env: Some(env.clone()),
                conversation: None,
                turn: None,
                command,
                cwd,
                began: now,
                ended: None,
                exit_code: None,
                source: CallSource::Observed,
                count: 1,
                asked_as: None,
            },
        );
        exec.clone()
    }

    /// A command of somebody else ended. Without an exit code it is only known that it runs no more.
    pub(super) fn exec_ended(&mut self, out: &mut Outbox, exec: &CallId, exit_code: Option<i32>, cwd: Option<String>) {
        let Some(Observed { env, row, .. }) = self.observed.remove(exec) else { return };
        let now = out.now;
        let goes_on = self.observed.values().any(|other| other.row == row);
        let mut excerpt = String::new();
        if let Some(call) = self.calls.get_mut(&row) {
            excerpt = words::excerpt(&call.command, 80);
            call.cwd = call.cwd.take().or(cwd);
            if !goes_on {
                call.ended = Some(now);
                call.exit_code = exit_code;
            }
            let (count, id) = (call.count, call.id.clone());
            if count == 1 {
                let with = exit_code.map(|code| format!(" with {code}")).unwrap_or_default();
                let text = format!("{excerpt} ended{with}");
                out.announce(Notice::new(NoticeKind::CallEnded, text).env(&env).call(&id));
            }
            // A row that goes on repeating is written ever more rarely.
            if count.is_power_of_two() {
                out.save(Record::Call(id));
            }
        }
        if let Some(env) = self.edit(out, &env)
            && env.release(&LeaseKind::Exec(exec.clone()), now)
        {
            env.note(ActivityKind::Exec, format!("{excerpt} ended"), now);
        }
    }

    /// The commands of others in a sandbox are over with it.
    pub(super) fn cut_off_execs(&mut self, out: &mut Outbox, env: &EnvId) {
        let over: Vec<CallId> =
            self.observed.iter().filter(|(_, one)| one.env == *env).map(|(exec, _)| exec.clone()).collect();
        for exec in over {
            self.exec_ended(out, &exec, None, None);
        }
    }

    /// The connection to an endpoint is broken: whatever ends there now is not told.
    pub(super) fn miss_execs(&mut self, endpoint: &EndpointId) {
        for one in self.observed_at(endpoint) {
            (one.missed, one.doubted) = (true, None);
        }
    }

    /// An endpoint answers again, and its list is seen: its engine may have ended any of the commands that it ran.
    pub(super) fn doubt_execs(&mut self, out: &Outbox, endpoint: &EndpointId) {
        let until = out.now + RECALL;
        for one in self.observed_at(endpoint).filter(|one| one.missed) {
            one.doubted = Some(until);
        }
    }

    fn observed_at<'a>(&'a mut self, endpoint: &'a EndpointId) -> impl Iterator<Item = &'a mut Observed> {
        let environments = &self.environments;
        let there = |env: &EnvId| environments.get(env).is_some_and(|env| env.spec.endpoint == *endpoint);
        self.observed.values_mut().filter(move |one| there(&one.env))
    }

    /// Ends those that were not named again in time. While their endpoint does not answer, nothing is concluded.
    pub(super) fn expire_doubts(&mut self, out: &mut Outbox) {
        let over: Vec<CallId> =
            self.doubts().filter(|(_, until)| *until <= out.now).map(|(exec, _)| exec.clone()).collect();
        for exec in over {
            self.exec_ended(out, &exec, None, None);
        }
    }

    fn doubts(&self) -> impl Iterator<Item = (&CallId, Moment)> {
        self.observed.iter().filter_map(|(exec, one)| {
            let open = self.environments.get(&one.env).is_none_or(|env| self.is_open(env));
            Some((exec, one.doubted.filter(|_| open)?))
        })
    }

    /// When the next doubt is over.
    pub(super) fn doubts_end(&self) -> Option<Moment> {
        self.doubts().map(|(_, until)| until).min()
    }
}
