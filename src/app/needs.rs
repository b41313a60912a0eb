//! What needs a person, in order of urgency.

use super::layout::PaneId;
use super::model::{Model, PaneKind, TabId};
use super::view::sidebar::goes_on;
use super::view::words;
use crate::domain::{
    Conversation, ConversationId, Deed, EnvId, Environment, Lease, LeaseKind, Moment, Phase, SessionId, TurnId,
    TurnStatus,
};

/// Something that needs a person. The most urgent kind comes first; what is said once is not the same when it comes again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Need {
    /// Commands of an agent wait in an environment that a person took over, and are refused after a while.
    Waits(EnvId),
    /// An idle environment is about to be stopped or removed, at that time.
    Ends(Moment, EnvId),
    /// A sandbox was removed behind our back, at that time.
    Lost(Moment, EnvId),
    /// A sandbox could not be made, and is not tried again by itself.
    Failed(Moment, EnvId),
    /// The last turn of a conversation failed.
    TurnFailed(ConversationId, TurnId),
    /// The last turn of a conversation was cut short.
    TurnCut(ConversationId, TurnId),
    /// The session of a pane ended while its sandbox runs on.
    Ended(PaneId, SessionId),
    /// A bell in a tab that nobody looks at.
    Bell(TabId),
}

/// All of it, the most urgent first.
#[must_use]
pub fn needs(model: &Model, now: Moment) -> Vec<Need> {
    let state = &model.state;
    let envs = state.environments.values().filter_map(|env| of_environment(model, now, env));
    let turns = state.conversations.values().filter_map(|conversation| of_conversation(now, conversation));
    let ended = model.work.panes_where(|kind| matches!(kind, PaneKind::Session(_))).into_iter();
    let ended = ended.filter_map(|(_, pane)| {
        let session = state.sessions.get(model.session_of(pane)?).filter(|session| session.has_ended())?;
        let env = state.environments.get(&session.env)?;
        // What ended with its sandbox is told by that.
        let alone = env.phase == Phase::Ready && env.generation == session.generation;
        alone.then(|| Need::Ended(pane, session.id.clone()))
    });
    let bells = model.work.tabs.iter().filter(|tab| tab.bell).map(|tab| Need::Bell(tab.id));
    let mut all: Vec<Need> = envs.chain(turns).chain(ended).chain(bells).collect();
    all.sort();
    all
}

fn of_environment(model: &Model, now: Moment, env: &Environment) -> Option<Need> {
    match env.phase {
        Phase::Ready if waiting(model, env) > 0 => Some(Need::Waits(env.id.clone())),
        Phase::Ready if env.warned && env.holders().is_empty() => {
            // As it was warned of: what is due is due at another moment each time one looks.
            let due = model.state.acts_at(now, env)?;
            Some(Need::Ends(env.deadline.unwrap_or(due), env.id.clone()))
        }
        Phase::Lost => Some(Need::Lost(env.phase_since, env.id.clone())),
        Phase::Failed if env.retry_at().is_none() => Some(Need::Failed(env.phase_since, env.id.clone())),
        _ => None,
    }
}

/// Commands of agents that wait for the person who took it over.
fn waiting(model: &Model, env: &Environment) -> usize {
    let waits = |lease: &&Lease| matches!(&lease.kind, LeaseKind::Call(id) if model.state.waits_for_person(id));
    if env.taken.is_none() { 0 } else { env.leases.iter().filter(waits).count() }
}

fn of_conversation(now: Moment, conversation: &Conversation) -> Option<Need> {
    let last = conversation.turns.last().filter(|_| goes_on(conversation, now))?;
    let (id, turn) = (conversation.id.clone(), last.id.clone());
    match last.status {
        TurnStatus::Failed => Some(Need::TurnFailed(id, turn)),
        TurnStatus::Interrupted => Some(Need::TurnCut(id, turn)),
        TurnStatus::Running | TurnStatus::Done => None,
    }
}

impl Need {
    /// For people.
    #[must_use]
    pub fn text(&self, model: &Model, now: Moment) -> String {
        let named =
            |id: &EnvId| model.state.environments.get(id).map_or(id.as_str(), |env| env.name.as_str()).to_owned();
        match self {
            Self::Waits(id) => {
                let count = model.state.environments.get(id).map_or(0, |env| waiting(model, env));
                let what = if count == 1 { "a command waits".to_owned() } else { format!("{count} commands wait") };
                format!("{what} for you in {}", named(id))
            }
            Self::Ends(at, id) => {
                let deed = model.state.environments.get(id).and_then(Environment::idle_deed);
                let what = if deed == Some(Deed::Remove) { "is removed" } else { "stops" };
                format!("{} {what} in {}", named(id), words::left(at.since(now)))
            }
            Self::Lost(_, id) => format!("{} is lost", named(id)),
            Self::Failed(_, id) => format!("{} could not be made", named(id)),
            Self::TurnFailed(id, turn) => format!("{} failed", turn_of(model, id, turn)),
            Self::TurnCut(id, turn) => format!("{} was interrupted", turn_of(model, id, turn)),
            Self::Ended(_, session) => format!("{} has ended", model.session_name(session)),
            Self::Bell(tab) => {
                let title = model.work.tab(*tab).map(|t| t.name.clone().unwrap_or_else(|| model.tab_title(t)));
                format!("a bell in {}", title.unwrap_or_default())
            }
        }
    }

    /// The environment that it is about, where it is about one as a whole.
    #[must_use]
    pub fn env(&self) -> Option<&EnvId> {
        match self {
            Self::Waits(env) | Self::Ends(_, env) | Self::Lost(_, env) | Self::Failed(_, env) => Some(env),
            _ => None,
        }
    }
}

fn turn_of(model: &Model, id: &ConversationId, turn: &TurnId) -> String {
    let conversation = model.state.conversations.get(id);
    let name = conversation.and_then(|c| c.title.clone()).unwrap_or_else(|| id.to_string());
    let turn = conversation.and_then(|c| c.turns.iter().find(|t| t.id == *turn));
    turn.map_or_else(|| name.clone(), |turn| format!("turn {} of {name}", turn.number))
}
