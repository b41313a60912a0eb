//! Times that the model asks for: toasts, held-back drawing, countdowns, throbbers. Nothing else wakes it.

use super::super::model::{FeedOf, Model, PaneKind};
use super::super::msg::Cmd;
use crate::domain::{Call, Environment, Moment, Phase, SessionId, SessionState, Span};

/// Steps of a throbber.
const THROB: Span = Span(250);
const SECOND: u64 = 1000;
const MINUTE: u64 = 60_000;

impl Model {
    /// When [`super::super::Msg::Timer`] must come next; `None` = nothing changes by time alone. Deadlines of the core
    /// are not among it.
    #[must_use]
    pub fn next_timer(&self, now: Moment) -> Option<Moment> {
        if self.clients.is_empty() {
            return self.sync_deadline();
        }
        let toast = self.toasts.iter().map(|t| t.until).min();
        let clip = self.work.clips.next(now);
        [toast, clip, self.sync_deadline(), self.countdown_tick(now), self.throb(now), self.running_tick(now)]
            .into_iter()
            .flatten()
            .min()
    }

    fn sync_deadline(&self) -> Option<Moment> {
        self.work.screens.values().filter_map(crate::term::Screen::sync_deadline).min()
    }

    /// The next moment at which a countdown shows another number: each second in the last hour, else each minute.
    fn countdown_tick(&self, now: Moment) -> Option<Moment> {
        let counted = |env: &Environment| [self.state.acts_at(now, env), env.retry_at(), env.swept_from()];
        let all = self.state.environments.values().flat_map(counted).flatten();
        let next = all.filter(|at| *at > now).min()?;
        let step = if next.since(now).0 > 60 * MINUTE { MINUTE } else { SECOND };
        Some(Moment((now.0 / step + 1) * step))
    }

    /// While something slow goes on where somebody sees it.
    fn throb(&self, now: Moment) -> Option<Moment> {
        let slow = |p: Phase| matches!(p, Phase::Provisioning | Phase::Reaping);
        let any = self.state.environments.values().any(|e| slow(e.phase))
            || self
                .state
                .sessions
                .values()
                .any(|s| s.state == SessionState::Opening && !self.work.shown(&s.id).is_empty());
        any.then(|| Moment((now.0 / THROB.0 + 1) * THROB.0))
    }

    /// While a feed in sight shows how long something has been running.
    fn running_tick(&self, now: Moment) -> Option<Moment> {
        let runs = |of: &dyn Fn(&Call) -> bool| self.state.calls.values().any(|call| call.ended.is_none() && of(call));
        let seen = self.clients.keys().any(|client| {
            let Some(tab) = self.tab_of(*client) else { return false };
            self.pane_areas(*client, tab).iter().any(|(p, _)| match self.work.panes.get(p) {
                Some(PaneKind::Feed(FeedOf::Environment(id))) => runs(&|call| call.env.as_ref() == Some(id)),
                Some(PaneKind::Feed(FeedOf::Conversation(id))) => {
                    self.state.conversations.get(id).is_some_and(|c| c.open_turn().is_some())
                        || runs(&|call| call.conversation.as_ref() == Some(id))
                }
                _ => false,
            })
        });
        seen.then(|| Moment((now.0 / SECOND + 1) * SECOND))
    }

    /// A time has come.
    pub(super) fn timer(&mut self, now: Moment, cmds: &mut Vec<Cmd>) {
        let due: Vec<SessionId> = self
            .work
            .screens
            .iter()
            .filter(|(_, s)| s.sync_deadline().is_some_and(|d| d <= now))
            .map(|(id, _)| id.clone())
            .collect();
        for session in due {
            if let Some(screen) = self.work.screens.get_mut(&session) {
                let fed = screen.flush_sync(now);
                self.fed(now, &session, fed, cmds);
            }
        }
        let told = self.work.clips.hush(now);
        self.let_ripe_pass(now, cmds);
        let before = self.toasts.len();
        self.toasts.retain(|t| t.until > now);
        let moving =
            self.countdown_tick(now).is_some() || self.throb(now).is_some() || self.running_tick(now).is_some();
        if moving || told || before != self.toasts.len() {
            self.touch();
        }
    }
}
