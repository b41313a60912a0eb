//! What the screen knows: shared things (tabs, split trees, screens, feeds) apart from what each client has of its own
//! (focus, mode, scroll, overlay), so that several terminals can look at one host.

use super::buffers::Buffers;
use super::client::{Changed, Client, Rgb, RowKey};
use super::clip::Clips;
use super::command::Bindings;
use super::feed::Feeds;
use super::ids::IdSource;
use super::layout::{PaneId, Tree};
use super::msg::ClientId;
use super::needs::Need;
use super::saved::{Layout, Looked};
use super::view_model::Level;
use crate::config::{KeyPress, Options};
use crate::domain::{
    ConversationId, EndpointId, EnvId, Environment, Moment, Origin, ReplyTo, SessionId, Size, Span, State,
};
use crate::term::Screen;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that the screen and the core know.
pub struct Model {
    /// The core.
    pub state: State,
    /// Settings.
    pub options: Options,
    /// Which key does what.
    pub bindings: Bindings,
    /// Tabs, panes, screens, feeds: what all clients share.
    pub work: Workspace,
    /// Attached terminals.
    pub clients: BTreeMap<ClientId, Client>,
    /// The colours of text and background that programs are told of.
    pub(super) colours: Option<[Rgb; 2]>,
    /// Fresh identifiers.
    pub ids: IdSource,
    /// Passing messages.
    pub(super) toasts: Vec<Toasted>,
    /// Groups of the sidebar with their environments, in order.
    pub(super) groups: Vec<Group>,
    /// What the screen asked the core for and has no answer to yet.
    pub(super) asked: BTreeMap<ReplyTo, Asked>,
    /// When an act of a person was last told to the core, by session.
    pub(super) acted: BTreeMap<SessionId, Moment>,
    /// The client whose size counts for tabs: the last one that did something.
    pub(super) active: Option<ClientId>,
    /// Sessions that have the size of a terminal which shows nothing else.
    pub(super) sized_by: BTreeMap<SessionId, ClientId>,
    /// The end was asked for.
    pub(super) shutting_down: bool,
    /// Tabs and splits as they were last kept.
    pub(super) saved: Layout,
    /// Where the next terminal begins.
    pub(super) looked: Looked,
    /// What is wrong with the key bindings, for the first client.
    pub(super) warnings: Vec<String>,
}

/// What is known of a sandbox that somebody looks at.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Seen {
    /// Name and detail of each fact.
    pub facts: Vec<(String, String)>,
    /// What it uses at this moment.
    pub usage: String,
}

/// What all clients share.
#[derive(Default)]
pub struct Workspace {
    /// Tabs in order.
    pub tabs: Vec<TabState>,
    /// Panes.
    pub panes: BTreeMap<PaneId, PaneKind>,
    /// Screens of sessions.
    pub screens: BTreeMap<SessionId, Screen>,
    /// Output of the agents' commands.
    pub feeds: Feeds,
    /// What slow things say.
    pub progress: BTreeMap<EnvId, String>,
    /// What is known of sandboxes that somebody looks at.
    pub seen: BTreeMap<EnvId, Seen>,
    /// What was found on this machine.
    pub found: Vec<(String, String, bool)>,
    /// What was copied.
    pub buffers: Buffers,
    /// What programs want to copy, and what a person said to that.
    pub clips: Clips,
    /// What was typed into sessions that are still opening.
    pub(super) ahead: BTreeMap<SessionId, Vec<u8>>,
    /// Commands that were typed for a person, or will be, into shells that nobody typed in since.
    pub(super) offered: BTreeMap<SessionId, Offer>,
    /// What needs a person and was seen.
    pub(super) seen_needs: BTreeSet<Need>,
    /// Titles that programs set.
    pub titles: BTreeMap<SessionId, String>,
    /// What the cap of all histories cost.
    pub(super) shed: super::update::memory::Shed,
    /// Sessions whose pane was closed and that are being ended.
    pub(super) closing: BTreeSet<SessionId>,
    /// Sizes that the PTYs have, and when they got another one.
    pub(super) sizes: BTreeMap<SessionId, (Size, Moment)>,
    next_pane: u32,
    next_tab: u32,
}

/// A command that waits for the Enter of a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Offer {
    /// Who asked for it.
    pub client: ClientId,
    /// The command.
    pub text: String,
    /// Where it ran, where known.
    pub cwd: Option<String>,
    /// Its shell has shown no prompt yet.
    pub waits: bool,
}

/// A tab, within the model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TabId(pub u32);

/// A tab.
pub struct TabState {
    /// Which.
    pub id: TabId,
    /// The name a person gave it.
    pub name: Option<String>,
    /// Its panes.
    pub tree: Tree,
    /// The pane that fills it.
    pub zoomed: Option<PaneId>,
    /// What is typed goes to all its panes.
    pub synchronised: bool,
    /// The conversation whose tab it is.
    pub conversation: Option<ConversationId>,
    /// Output since it was last shown.
    pub activity: bool,
    /// A bell since it was last shown.
    pub bell: bool,
}

impl TabState {
    /// A tab with one pane.
    pub(super) fn new(id: TabId, pane: PaneId, conversation: Option<ConversationId>) -> Self {
        Self {
            id,
            name: None,
            tree: Tree::new(pane),
            zoomed: None,
            synchronised: false,
            conversation,
            activity: false,
            bell: false,
        }
    }
}

/// What a pane shows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PaneKind {
    /// A session.
    Session(SessionId),
    /// Commands.
    Feed(FeedOf),
}

/// Whose commands a feed shows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FeedOf {
    /// A conversation's, cut into turns.
    Conversation(ConversationId),
    /// Those in an environment that belong to no conversation.
    Environment(EnvId),
}

impl PaneKind {
    /// The feed of a conversation.
    #[must_use]
    pub fn feed(id: &ConversationId) -> Self {
        Self::Feed(FeedOf::Conversation(id.clone()))
    }
}

/// What environments are grouped by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GroupKey {
    /// Hermes first, then ours, then others.
    order: u8,
    /// Which profile of hermes-agent.
    profile: Option<String>,
    /// Which engine.
    pub endpoint: EndpointId,
}

impl GroupKey {
    /// The group of an environment: its origin, its endpoint, and the profile of the hermes-agent that made it.
    #[must_use]
    pub fn of(env: &Environment) -> Self {
        let order = match env.origin {
            Origin::Hermes => 0,
            Origin::Managed => 1,
            Origin::Foreign => 2,
        };
        let profile = env.watched.as_ref().and_then(|watched| watched.profile.clone());
        Self { order, profile: profile.filter(|_| order == 0), endpoint: env.spec.endpoint.clone() }
    }

    /// Title for people.
    #[must_use]
    pub fn title(&self) -> String {
        let origin = ["hermes", "managed", "foreign"][usize::from(self.order.min(2))];
        match &self.profile {
            Some(profile) => format!("{origin} · {profile}  {}", self.endpoint),
            None => format!("{origin} · {}", self.endpoint),
        }
    }
}

/// Environments of one group, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Group {
    pub key: GroupKey,
    pub envs: Vec<EnvId>,
}

/// A passing message.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Toasted {
    pub text: String,
    pub level: Level,
    pub until: Moment,
    /// Only for this client.
    pub only: Option<ClientId>,
    /// Only while the idle deadline of this environment is near.
    pub warns_of: Option<EnvId>,
}

/// What the screen asked the core for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Asked {
    /// A session for a pane.
    Session(SessionId),
    /// An environment, with a shell for this client once it is ready.
    Environment(ClientId, EnvId),
    /// A container of somebody else, which this client chose.
    Adopted(ClientId),
    /// The end of everything.
    Shutdown,
    /// Something whose refusal is to be shown.
    Other(ClientId),
}

impl Model {
    /// Whether it matters that an endpoint answers: something is kept there, or would be made there next.
    #[must_use]
    pub fn needs(&self, endpoint: &EndpointId) -> bool {
        self.options.env.spec().endpoint == *endpoint
            || self.state.environments.values().any(|env| env.spec.endpoint == *endpoint)
    }

    /// A model without clients and environments. `seed` starts its identifiers: a random number in life, a fixed one
    /// in tests.
    #[must_use]
    pub fn new(options: Options, seed: u64) -> Self {
        let (bindings, warnings) = Bindings::new(&options.keys);
        Self {
            state: State::default(),
            options,
            bindings,
            work: Workspace::default(),
            clients: BTreeMap::new(),
            colours: None,
            ids: IdSource::new(seed),
            toasts: Vec::new(),
            groups: Vec::new(),
            asked: BTreeMap::new(),
            acted: BTreeMap::new(),
            active: None,
            sized_by: BTreeMap::new(),
            shutting_down: false,
            saved: Layout::default(),
            looked: Looked::default(),
            warnings,
        }
    }

    /// What of a client's screen changed since [`Model::drawn`].
    #[must_use]
    pub fn changed(&self, client: ClientId) -> Changed {
        match self.clients.get(&client) {
            Some(c) if c.dirty => Changed::All,
            Some(c) if c.printed => Changed::Output,
            _ => Changed::Nothing,
        }
    }

    /// A client's screen was drawn.
    pub fn drawn(&mut self, client: ClientId) {
        if let Some(c) = self.clients.get_mut(&client) {
            c.dirty = false;
            c.printed = false;
        }
    }

    /// Every client must be drawn again.
    pub(super) fn touch(&mut self) {
        self.clients.values_mut().for_each(|c| c.dirty = true);
    }

    /// Shows a message until a time.
    pub(super) fn toast(&mut self, until: Moment, level: Level, text: impl Into<String>, only: Option<ClientId>) {
        let text = text.into();
        self.toasts.retain(|t| t.text != text || t.only != only);
        self.toasts.push(Toasted { text, level, until, only, warns_of: None });
        // More than a few cannot be read; the oldest give way.
        let many = self.toasts.len().saturating_sub(MAX_TOASTS);
        self.toasts.drain(..many);
        self.touch();
    }

    /// Shows a message for as long as its level deserves.
    pub(super) fn say(&mut self, now: Moment, level: Level, text: impl Into<String>, only: Option<ClientId>) {
        let shown = match level {
            Level::Info => Span::seconds(3),
            Level::Success => Span::seconds(4),
            Level::Warning => WARNING_SHOWN,
            Level::Error => Span::seconds(10),
        };
        self.toast(now + shown, level, text, only);
    }

    /// Tells what happens to an environment. What is only for information reaches those who look at it: it is selected,
    /// or a pane of the tab that they see shows it.
    pub(super) fn say_of(&mut self, now: Moment, level: Level, text: &str, env: Option<&EnvId>) {
        let Some(env) = env.filter(|_| level == Level::Info) else { return self.say(now, level, text, None) };
        let looks = |client: &ClientId| {
            let listed = self.clients.get(client).filter(|c| c.only.is_none());
            let selected = listed.and_then(|c| c.sidebar.selected.as_ref());
            let shown = || {
                let panes = self.tab_of(*client).map(|t| t.tree.panes()).unwrap_or_default();
                panes.into_iter().any(|p| self.env_of_pane(p).as_ref() == Some(env))
            };
            matches!(selected, Some(RowKey::Env(id)) if id == env) || shown()
        };
        let clients: Vec<ClientId> = self.clients.keys().copied().filter(looks).collect();
        for client in clients {
            self.say(now, level, text, Some(client));
        }
    }

    /// How many panes show a session.
    #[must_use]
    pub fn attached(&self, session: &SessionId) -> usize {
        let shows = |kind: &&PaneKind| matches!(kind, PaneKind::Session(id) if id == session);
        self.work.panes.values().filter(shows).count()
    }

    /// The tab that a client shows; of one that shows a single session, a tab that is its own.
    #[must_use]
    pub fn tab_of(&self, client: ClientId) -> Option<&TabState> {
        let client = self.clients.get(&client)?;
        match &client.only {
            Some(only) => Some(&only.tab),
            None => self.work.tab(client.tab?),
        }
    }

    /// The pane that has a client's focus.
    #[must_use]
    pub fn focused_pane(&self, client: ClientId) -> Option<PaneId> {
        let tab = self.tab_of(client)?;
        Some(self.focus_in(client, tab))
    }

    /// The pane that would have a client's focus in a tab.
    pub(super) fn focus_in(&self, client: ClientId, tab: &TabState) -> PaneId {
        // A zoomed pane is all that is seen of its tab, also by clients that had their focus elsewhere.
        if let Some(zoomed) = tab.zoomed.filter(|p| tab.tree.contains(*p)) {
            return zoomed;
        }
        let own = self.clients.get(&client).and_then(|c| c.focus.get(&tab.id)).map(|(p, _)| *p);
        let panes = tab.tree.panes();
        // Who comes to a conversation's tab wants to type: its shell, where it has one, rather than its feed.
        let shell = || panes.iter().find(|p| matches!(self.work.panes.get(p), Some(PaneKind::Session(_))));
        let own = own.filter(|p| panes.contains(p));
        own.or_else(|| shell().or(panes.first()).copied()).unwrap_or(PaneId(0))
    }

    /// The environment of a pane.
    #[must_use]
    pub fn env_of_pane(&self, pane: PaneId) -> Option<EnvId> {
        match self.work.panes.get(&pane)? {
            PaneKind::Session(id) => Some(self.state.sessions.get(id)?.env.clone()),
            PaneKind::Feed(FeedOf::Conversation(id)) => self.state.conversations.get(id)?.env.clone(),
            PaneKind::Feed(FeedOf::Environment(id)) => Some(id.clone()),
        }
    }

    /// The environment that a command of a client is about: the selected row in NAV, else that of the focused pane.
    #[must_use]
    pub fn env_in_question(&self, client: ClientId) -> Option<EnvId> {
        let c = self.clients.get(&client)?;
        let selected = match &c.sidebar.selected {
            Some(RowKey::Env(id)) => Some(id.clone()).filter(|id| self.state.environments.contains_key(id)),
            _ => None,
        };
        let focused = || self.focused_pane(client).and_then(|p| self.env_of_pane(p));
        if c.nav { selected } else { focused().or(selected) }
    }
}

impl Workspace {
    /// Whether an endpoint was tried here and cannot be used.
    #[must_use]
    pub fn refused(&self, endpoint: &str) -> bool {
        self.found.iter().any(|(name, _, usable)| name == endpoint && !usable)
    }

    /// A tab.
    #[must_use]
    pub fn tab(&self, id: TabId) -> Option<&TabState> {
        self.tabs.iter().find(|t| t.id == id)
    }

    /// A tab, to change it.
    pub fn tab_mut(&mut self, id: TabId) -> Option<&mut TabState> {
        self.tabs.iter_mut().find(|t| t.id == id)
    }

    /// Takes up tabs and panes that were kept.
    pub(super) fn take_up(&mut self, tabs: Vec<TabState>, panes: BTreeMap<PaneId, PaneKind>) {
        self.next_pane = panes.keys().map(|pane| pane.0).max().unwrap_or(0).max(self.next_pane);
        self.next_tab = tabs.iter().map(|tab| tab.id.0).max().unwrap_or(0).max(self.next_tab);
        self.tabs = tabs;
        self.panes = panes;
    }

    /// A new pane, not yet in any tab.
    pub(super) fn add_pane(&mut self, kind: PaneKind) -> PaneId {
        self.next_pane += 1;
        let id = PaneId(self.next_pane);
        self.panes.insert(id, kind);
        id
    }

    /// A new tab at the end, with one pane.
    pub(super) fn add_tab(&mut self, pane: PaneId, conversation: Option<ConversationId>) -> TabId {
        self.next_tab += 1;
        let id = TabId(self.next_tab);
        self.tabs.push(TabState::new(id, pane, conversation));
        id
    }

    /// Panes that show a session, with their tabs.
    pub(super) fn shown(&self, session: &SessionId) -> Vec<(TabId, PaneId)> {
        self.panes_where(|kind| matches!(kind, PaneKind::Session(id) if id == session))
    }

    /// Panes of a kind, with their tabs, in order.
    pub(super) fn panes_where(&self, mut wanted: impl FnMut(&PaneKind) -> bool) -> Vec<(TabId, PaneId)> {
        let mut out = Vec::new();
        for tab in &self.tabs {
            out.extend(
                tab.tree
                    .panes()
                    .into_iter()
                    .filter(|p| self.panes.get(p).is_some_and(&mut wanted))
                    .map(|p| (tab.id, p)),
            );
        }
        out
    }
}

/// How long a warning stands.
const WARNING_SHOWN: Span = Span::seconds(8);
/// Messages shown at once.
const MAX_TOASTS: usize = 5;

/// The keys that a repeatable command may be repeated with, and for how long.
pub(super) const REPEAT_TIME: Span = Span(600);

/// A key for hints: the leader with a key after it.
pub(super) fn after(leader: KeyPress, key: &str) -> String {
    format!("{leader} {key}")
}
