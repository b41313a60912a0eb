//! Going to what needs a person, and what of it was seen.

use super::super::client::{FeedMark, RowKey};
use super::super::model::{FeedOf, Model, PaneKind, TabId};
use super::super::msg::{ClientId, Cmd};
use super::super::needs::{Need, needs};
use super::super::view_model::Level;
use crate::domain::{EnvId, Moment};
use std::collections::BTreeSet;

impl Model {
    /// Goes to the next thing that needs a person: the most urgent one that nobody has seen, else the one after that to
    /// which this client went last.
    pub(super) fn go_to_need(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        let all = needs(self, now);
        let last = self.clients.get(&client).and_then(|c| c.needed.clone());
        let after = last.and_then(|last| all.iter().position(|need| *need == last)).map_or(0, |at| at + 1);
        let unseen = all.iter().position(|need| !self.work.seen_needs.contains(need));
        let at = unseen.unwrap_or(if after < all.len() { after } else { 0 });
        let Some(need) = all.get(at).cloned() else {
            return self.say(now, Level::Info, "nothing needs you", Some(client));
        };
        let told = format!("{} of {}: {}", at + 1, all.len(), need.text(self, now));
        match &need {
            Need::Waits(env) | Need::Ends(_, env) | Need::Lost(_, env) | Need::Failed(_, env) => {
                match self.pane_about(client, env) {
                    Some((tab, pane)) => self.look_at(now, client, tab, Some(pane), cmds),
                    None => self.select_env(client, env.clone()),
                }
            }
            Need::TurnFailed(id, turn) | Need::TurnCut(id, turn) => {
                self.show_feed(now, client, id, cmds);
                let shown = self.work.panes_where(|k| *k == PaneKind::feed(id)).first().copied();
                if let Some((_, pane)) = shown {
                    let (of, mark) = (FeedOf::Conversation(id.clone()), FeedMark::Turn(turn.clone()));
                    self.show_mark(client, pane, &of, mark);
                }
            }
            Need::Ended(pane, _) => {
                let tab = self.work.tabs.iter().find(|tab| tab.tree.contains(*pane)).map(|tab| tab.id);
                if let Some(tab) = tab {
                    self.look_at(now, client, tab, Some(*pane), cmds);
                }
            }
            Need::Bell(tab) => self.look_at(now, client, *tab, None, cmds),
        }
        self.say(now, Level::Info, told, Some(client));
        self.work.seen_needs.insert(need.clone());
        if let Some(c) = self.clients.get_mut(&client) {
            c.needed = Some(need);
        }
    }

    /// A pane of an environment, one in this client's tab before others.
    fn pane_about(&self, client: ClientId, env: &EnvId) -> Option<(TabId, super::super::layout::PaneId)> {
        let of_env = |kind: &PaneKind| match kind {
            PaneKind::Session(id) => self.state.sessions.get(id).is_some_and(|session| session.env == *env),
            PaneKind::Feed(_) => false,
        };
        let all = self.work.panes_where(of_env);
        let own = self.clients.get(&client).and_then(|c| c.tab);
        all.iter().find(|(tab, _)| Some(*tab) == own).or(all.first()).copied()
    }

    /// What somebody looks at is no longer news.
    pub(super) fn see_needs(&mut self, now: Moment) {
        let all = needs(self, now);
        let seen: BTreeSet<Need> =
            all.into_iter().filter(|need| self.work.seen_needs.contains(need) || self.in_sight(need)).collect();
        if seen != self.work.seen_needs {
            self.work.seen_needs = seen;
            self.touch();
        }
    }

    /// Whether a client looks at it: in its tab, or as the selected row of its sidebar.
    fn in_sight(&self, need: &Need) -> bool {
        self.clients.keys().any(|client| {
            let selected = self.clients.get(client).filter(|_| self.in_nav(*client));
            let selected = selected.and_then(|c| c.sidebar.selected.as_ref());
            if matches!((selected, need.env()), (Some(RowKey::Env(row)), Some(env)) if row == env) {
                return true;
            }
            let Some(tab) = self.tab_of(*client) else { return false };
            self.pane_areas(*client, tab).into_iter().any(|(pane, _)| match need {
                Need::Ended(ended, _) => *ended == pane,
                Need::TurnFailed(id, _) | Need::TurnCut(id, _) => {
                    self.work.panes.get(&pane) == Some(&PaneKind::feed(id))
                }
                Need::Bell(bell) => *bell == tab.id,
                Need::Waits(_) | Need::Ends(..) | Need::Lost(..) | Need::Failed(..) => {
                    self.session_of(pane).is_some() && self.env_of_pane(pane).as_ref() == need.env()
                }
            })
        })
    }

    /// How many things need a person and were not seen yet.
    pub(in crate::app) fn unseen_needs(&self, now: Moment) -> usize {
        needs(self, now).iter().filter(|need| !self.work.seen_needs.contains(need)).count()
    }
}
