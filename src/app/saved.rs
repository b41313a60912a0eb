//! Tabs and splits as they are kept over the end of a host.

use super::layout::{PaneId, Tree};
use super::model::{FeedOf, Model, PaneKind, TabId, TabState};
use super::msg::{ClientId, Role};
use crate::domain::ConversationId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the terminal that was used last looks at. The next one begins there, also at the next host.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Looked {
    tab: Option<TabId>,
    /// The focused pane of each tab.
    focus: BTreeMap<TabId, PaneId>,
}

/// Tabs with their panes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Layout {
    tabs: Vec<SavedTab>,
    panes: BTreeMap<u32, PaneKind>,
    /// Layouts of earlier versions have none.
    #[serde(default)]
    looked: Looked,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct SavedTab {
    id: TabId,
    name: Option<String>,
    tree: Tree,
    zoomed: Option<PaneId>,
    synchronised: bool,
    conversation: Option<ConversationId>,
}

impl Layout {
    /// Whether it says the same as the model.
    pub(super) fn is_of(&self, model: &Model) -> bool {
        let same = |(saved, tab): (&SavedTab, &TabState)| {
            (saved.id, &saved.name, &saved.tree) == (tab.id, &tab.name, &tab.tree)
                && (saved.zoomed, saved.synchronised) == (tab.zoomed, tab.synchronised)
                && saved.conversation == tab.conversation
        };
        self.looked == model.looked
            && self.tabs.len() == model.work.tabs.len()
            && self.tabs.iter().zip(&model.work.tabs).all(same)
            && self.panes.len() == panes(model).count()
            && self.panes.iter().zip(panes(model)).all(|((a, kind), (b, other))| *a == b.0 && kind == other)
    }

    /// What the model has now.
    pub(super) fn of(model: &Model) -> Self {
        let tab = |tab: &TabState| SavedTab {
            id: tab.id,
            name: tab.name.clone(),
            tree: tab.tree.clone(),
            zoomed: tab.zoomed,
            synchronised: tab.synchronised,
            conversation: tab.conversation.clone(),
        };
        Self {
            tabs: model.work.tabs.iter().map(tab).collect(),
            panes: panes(model).map(|(id, kind)| (id.0, kind.clone())).collect(),
            looked: model.looked.clone(),
        }
    }
}

/// Panes of tabs, and no terminal's own.
fn panes(model: &Model) -> impl Iterator<Item = (&PaneId, &PaneKind)> {
    model.work.panes.iter().filter(|(pane, _)| model.own_panes().all(|own| own != **pane))
}

impl Model {
    /// Makes the tabs of an earlier host again, as far as what they showed is still known.
    pub(super) fn restore_layout(&mut self, layout: Layout) {
        let known = |kind: &PaneKind| match kind {
            PaneKind::Session(id) => self.state.sessions.contains_key(id),
            PaneKind::Feed(FeedOf::Conversation(id)) => self.state.conversations.contains_key(id),
            PaneKind::Feed(FeedOf::Environment(id)) => self.state.environments.contains_key(id),
        };
        let panes: BTreeMap<PaneId, PaneKind> =
            layout.panes.into_iter().filter(|(_, kind)| known(kind)).map(|(id, kind)| (PaneId(id), kind)).collect();
        let mut tabs = Vec::new();
        let mut placed = Vec::new();
        for mut tab in layout.tabs {
            for pane in tab.tree.panes() {
                if !panes.contains_key(&pane) || placed.contains(&pane) {
                    tab.tree.remove(pane);
                }
            }
            let own = tab.tree.panes();
            if !tab.tree.is_sound() || own.iter().any(|pane| !panes.contains_key(pane) || placed.contains(pane)) {
                continue;
            }
            placed.extend(&own);
            tabs.push(TabState {
                id: tab.id,
                name: tab.name,
                zoomed: tab.zoomed.filter(|pane| own.contains(pane)),
                synchronised: tab.synchronised,
                conversation: tab.conversation,
                tree: tab.tree,
                activity: false,
                bell: false,
            });
        }
        let panes = panes.into_iter().filter(|(pane, _)| placed.contains(pane)).collect();
        self.work.take_up(tabs, panes);
        self.looked = layout.looked;
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        clients.into_iter().for_each(|client| self.look_where_the_last_one_did(client));
        self.touch();
    }

    /// A terminal that has not looked at anything yet begins where the last one was.
    pub(super) fn look_where_the_last_one_did(&mut self, client: ClientId) {
        let (tabs, looked) = (&self.work.tabs, &self.looked);
        let Some(c) = self.clients.get_mut(&client).filter(|c| c.only.is_none() && c.tab.is_none()) else { return };
        let known = looked.tab.filter(|id| tabs.iter().any(|tab| tab.id == *id));
        c.tab = known.or(tabs.first().map(|tab| tab.id));
        c.nav = c.tab.is_none();
        c.focus = looked.focus.iter().map(|(tab, pane)| (*tab, (*pane, None))).collect();
    }

    /// Notes what the terminal that is used now looks at.
    pub(super) fn note_where_one_looks(&mut self) {
        let used = self.active.and_then(|client| self.clients.get(&client));
        let Some(client) = used.filter(|c| c.role != Role::Reader && c.tab.is_some()) else { return };
        let focus = || client.focus.iter().map(|(tab, (pane, _))| (tab, pane));
        if self.looked.tab != client.tab || !self.looked.focus.iter().eq(focus()) {
            self.looked = Looked { tab: client.tab, focus: focus().map(|(tab, pane)| (*tab, *pane)).collect() };
        }
    }
}
