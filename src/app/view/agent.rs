//! What the frame of a session says about the agents in its environment.

use super::super::command::Action;
use super::super::model::Model;
use super::super::view_model::AgentMark;
use super::words;
use crate::domain::{Call, CallSource, Environment, LeaseKind};

/// Longest command that is shown, in characters.
const SHOWN: usize = 40;

/// A person has it, or an agent runs a command in it.
pub fn mark(model: &Model, env: &Environment) -> Option<AgentMark> {
    let running: Vec<&Call> = env.leases.iter().filter_map(|lease| call_of(model, &lease.kind)).collect();
    if env.taken.is_some() {
        let waiting = running.iter().filter(|call| model.state.waits_for_person(&call.id)).count();
        let bindings = &model.bindings;
        let key = format!("{} {}", bindings.leader, bindings.leader_key(Action::TakeOver));
        return Some(AgentMark::Taken { key, waiting });
    }
    let newest = running.into_iter().filter(|call| of_agent(call)).max_by_key(|call| call.began)?;
    Some(AgentMark::Runs(words::excerpt(&newest.command, SHOWN)))
}

fn call_of<'a>(model: &'a Model, lease: &LeaseKind) -> Option<&'a Call> {
    let id = match lease {
        LeaseKind::Call(id) => id,
        LeaseKind::Exec(exec) => &model.state.observed.get(exec)?.row,
        _ => return None,
    };
    model.state.calls.get(id)
}

/// What a person runs with `exec` belongs to no conversation.
fn of_agent(call: &Call) -> bool {
    call.conversation.is_some() || call.source == CallSource::Observed
}
