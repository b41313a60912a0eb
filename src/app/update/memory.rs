//! One cap for the memory of all histories: what goes when it is reached, and that this is said.

use super::super::model::{Model, PaneKind};
use super::super::view_model::Level;
use crate::domain::{Moment, SessionId, Span};
use crate::term::Screen;
use std::cmp::Reverse;

/// That lines went is told at most so often: with many loud sessions it happens again and again.
const TELL: Span = Span::seconds(600);

/// What the cap cost.
#[derive(Default)]
pub(in crate::app) struct Shed {
    /// When it was told last.
    told: Option<Moment>,
}

impl Model {
    /// Keeps the memory of all histories under the cap: hidden sessions lose their oldest lines first, then shown ones.
    pub(super) fn shed_history(&mut self, now: Moment) {
        let cap = self.options.history.memory_bytes;
        let mut total: usize = self.work.screens.values().map(Screen::memory_bytes).sum();
        if total <= cap {
            return;
        }
        let visible: Vec<SessionId> = self.visible_sessions();
        let mut order: Vec<(bool, Reverse<usize>, SessionId)> = self
            .work
            .screens
            .iter()
            .map(|(id, s)| (visible.contains(id), Reverse(s.memory_bytes()), id.clone()))
            .collect();
        order.sort();
        let (mut lost, mut first) = (0, None);
        for (_, _, id) in order {
            if total <= cap {
                break;
            }
            if let Some(screen) = self.work.screens.get_mut(&id) {
                let (before, lines) = (screen.memory_bytes(), screen.history_len());
                // Half at a time, so that this happens rarely.
                screen.set_history_limit(lines / 2);
                total = total.saturating_sub(before.saturating_sub(screen.memory_bytes()));
                lost += lines - screen.history_len();
                first.get_or_insert(id);
            }
        }
        if let Some(session) = first.filter(|_| lost > 0) {
            self.tell_shed(now, &session, lost);
        }
    }

    fn tell_shed(&mut self, now: Moment, session: &SessionId, lost: usize) {
        if self.work.shed.told.is_some_and(|told| now < told + TELL) {
            return;
        }
        self.work.shed.told = Some(now);
        let (name, mib) = (self.session_name(session), self.options.history.memory_bytes >> 20);
        let text = format!(
            "histories reached {mib} MiB: the {lost} oldest lines of {name} went, others may follow · [history] memory_mib"
        );
        self.say(now, Level::Warning, text, None);
    }

    /// Sessions that some client sees now.
    fn visible_sessions(&self) -> Vec<SessionId> {
        let mut out = Vec::new();
        for client in self.clients.keys() {
            let Some(tab) = self.tab_of(*client) else { continue };
            for (pane, _) in self.pane_areas(*client, tab) {
                if let Some(PaneKind::Session(id)) = self.work.panes.get(&pane) {
                    out.push(id.clone());
                }
            }
        }
        out
    }
}
