//! A terminal that shows one session and nothing else: no sidebar, no tabs, no frame.
//!
//! It has a pane and a tab of its own that nobody else sees, so that typing, scrolling, marking and drawing are those of
//! every pane.

use super::client::Client;
use super::command::Action;
use super::layout::PaneId;
use super::model::{Model, PaneKind, TabId, TabState, after};
use super::msg::{ClientCaps, ClientId, Cmd, Role};
use super::view_model::Level;
use crate::domain::{Moment, Session, SessionId, Size};

/// No tab of the workspace has this number.
const OWN_TAB: TabId = TabId(0);

/// The one session that a terminal shows.
pub struct Only {
    /// Which.
    pub session: SessionId,
    pub(super) pane: PaneId,
    pub(super) tab: TabState,
    /// It was told to leave.
    left: bool,
}

impl Action {
    /// Whether it means something where one session is all there is.
    #[must_use]
    pub fn fits_one_session(self) -> bool {
        matches!(
            self,
            Self::Quit
                | Self::CopyMode
                | Self::PreviousPrompt
                | Self::CopyOutput
                | Self::SaveText
                | Self::EditText
                | Self::PasteBuffer
                | Self::ChooseBuffer
                | Self::DeleteBuffer
                | Self::SendLeader
                | Self::Clipboard
                | Self::Links
        )
    }
}

impl Model {
    /// A terminal attached to one session.
    pub(super) fn attach_to(
        &mut self,
        now: Moment,
        client: ClientId,
        (size, caps, role): (Size, ClientCaps, Role),
        session: SessionId,
        cmds: &mut Vec<Cmd>,
    ) {
        let pane = self.work.add_pane(PaneKind::Session(session.clone()));
        let tab = TabState::new(OWN_TAB, pane, None);
        let mut new = Client::new(size, caps, role);
        new.nav = false;
        new.only = Some(Only { session: session.clone(), pane, tab, left: false });
        self.clients.insert(client, new);
        self.made_active(client);
        self.acted(now, &session, false, cmds);
        let detach = after(self.bindings.leader, &self.bindings.leader_key(Action::Quit));
        let name = self.session_name(&session);
        self.say(now, Level::Info, format!("{name} · {detach} detaches"), Some(client));
    }

    /// Whether a client shows one session and nothing else.
    pub(super) fn shows_only(&self, client: ClientId) -> Option<&Only> {
        self.clients.get(&client)?.only.as_ref()
    }

    /// The panes that are in no tab of the workspace.
    pub(super) fn own_panes(&self) -> impl Iterator<Item = PaneId> + '_ {
        self.clients.values().filter_map(|c| Some(c.only.as_ref()?.pane))
    }

    /// The session has the size of this terminal from now on. One that only looks takes what the others have.
    pub(super) fn size_by(&mut self, client: ClientId, session: &SessionId) {
        let reads = |id: &ClientId| self.clients.get(id).is_none_or(|c| c.role == Role::Reader);
        let typed_elsewhere = || {
            self.sized_by.get(session).is_some_and(|other| !reads(other))
                || (!self.work.shown(session).is_empty() && self.active.is_some_and(|other| !reads(&other)))
        };
        if !reads(&client) || !typed_elsewhere() {
            self.sized_by.insert(session.clone(), client);
        }
    }

    /// What a client of the whole screen sees has its size again.
    pub(super) fn size_what_is_seen(&mut self, client: ClientId) {
        if self.sized_by.is_empty() {
            return;
        }
        let panes = self.tab_of(client).map(|tab| self.pane_areas(client, tab)).unwrap_or_default();
        for (pane, _) in panes {
            if let Some(session) = self.session_of(pane).cloned() {
                self.sized_by.remove(&session);
            }
        }
    }

    /// Its own pane goes with a terminal; another one that shows the session gives it its size.
    pub(super) fn drop_only(&mut self, client: ClientId, only: &Only) {
        self.work.panes.remove(&only.pane);
        if self.sized_by.get(&only.session) == Some(&client) {
            self.sized_by.remove(&only.session);
            let shows = |c: &Client| c.only.as_ref().is_some_and(|o| o.session == only.session);
            let others: Vec<ClientId> = self.clients.iter().filter(|(_, c)| shows(c)).map(|(id, _)| *id).collect();
            others.into_iter().for_each(|other| self.made_active(other));
        }
    }

    /// Terminals leave with the session that they show.
    pub(super) fn leave_with_session(&mut self, cmds: &mut Vec<Cmd>) {
        let sessions = &self.state.sessions;
        let over = |id: &SessionId| sessions.get(id).is_none_or(Session::has_ended);
        for (id, client) in &mut self.clients {
            if let Some(only) = client.only.as_mut().filter(|only| !only.left && over(&only.session)) {
                only.left = true;
                cmds.push(Cmd::Detach(*id));
            }
        }
    }
}
