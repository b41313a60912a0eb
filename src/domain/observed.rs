//! What others do in a sandbox: their commands, and a halt of all its processes.

use super::calls::CallRequest;
use super::id::{CallId, EndpointId, EnvId, ReplyTo, SandboxId};
use super::outbox::Outbox;
use super::state::State;
use super::turn::CallSource;

impl State {
    /// Whose sandbox this is.
    fn owner_of(&self, sandbox: &SandboxId, endpoint: &EndpointId) -> Option<EnvId> {
        let owns = |env: &&super::Environment| env.sandbox.as_ref() == Some(sandbox) && env.spec.endpoint == *endpoint;
        self.environments.values().find(owns).map(|env| env.id.clone())
    }

    pub(super) fn sandbox_paused(
        &mut self,
        out: &mut Outbox,
        sandbox: &SandboxId,
        endpoint: &EndpointId,
        paused: bool,
    ) {
        let Some(id) = self.owner_of(sandbox, endpoint) else { return };
        if let Some(env) = self.edit(out, &id) {
            env.paused = paused;
        }
    }

    pub(super) fn exec_began(
        &mut self,
        out: &mut Outbox,
        (sandbox, endpoint): (&SandboxId, &EndpointId),
        call: CallId,
        command: String,
        cwd: Option<String>,
    ) {
        let Some(env) = self.owner_of(sandbox, endpoint) else { return };
        let request =
            CallRequest { call, env: Some(env), conversation: None, command, cwd, source: CallSource::Observed };
        self.begin_call(out, ReplyTo::NOBODY, request);
    }
}
