//! Modes: what a program switches on and off (SM, RM, DECSET, DECRST), saves, and asks for (DECRQM).

use super::Policy;
use super::emulator::{Handler, Mode, NamedMode, NamedPrivateMode, PrivateMode, TermMode};
use super::handler::Watched;
use std::fmt::Write as _;

/// Modes that change nothing here, yet are kept for programs that ask: smooth scrolling, form feed and extent of a
/// print, whether 132 columns are allowed.
const KEPT: [u16; 4] = [4, 18, 19, ALLOW_132];
const ALLOW_132: u16 = 40;
/// Most states of modes saved at a time.
const MAX_SAVED: usize = 64;

/// An answer of DECRQM.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Unknown = 0,
    Set = 1,
    Reset = 2,
    AlwaysSet = 3,
    AlwaysReset = 4,
}

impl From<bool> for State {
    fn from(on: bool) -> Self {
        if on { Self::Set } else { Self::Reset }
    }
}

/// Private modes that are the engine's business alone.
fn engine_mode(number: u16) -> Option<NamedPrivateMode> {
    Some(match number {
        1 => NamedPrivateMode::CursorKeys,
        7 => NamedPrivateMode::LineWrap,
        12 => NamedPrivateMode::BlinkingCursor,
        25 => NamedPrivateMode::ShowCursor,
        1000 => NamedPrivateMode::ReportMouseClicks,
        1002 => NamedPrivateMode::ReportCellMouseMotion,
        1003 => NamedPrivateMode::ReportAllMouseMotion,
        1004 => NamedPrivateMode::ReportFocusInOut,
        1005 => NamedPrivateMode::Utf8Mouse,
        1006 => NamedPrivateMode::SgrMouse,
        1007 => NamedPrivateMode::AlternateScroll,
        1042 => NamedPrivateMode::UrgencyHints,
        2004 => NamedPrivateMode::BracketedPaste,
        _ => return None,
    })
}

impl Policy {
    /// Modes as at the beginning.
    pub(super) fn reset_modes(&mut self) {
        self.reverse_wrap = false;
        self.reverse_wrap_anywhere = false;
        self.backarrow = false;
        self.repaint |= std::mem::take(&mut self.inverse);
        self.kept_modes.clear();
        self.saved_modes.clear();
    }
}

impl Watched<'_> {
    /// Whether a synchronized update was begun since the last time.
    pub(super) fn take_sync_begin(&mut self) -> bool {
        std::mem::take(&mut self.policy.sync_begins)
    }

    /// The update is over.
    pub(super) fn end_sync(&mut self) {
        self.policy.sync_begins = false;
        self.policy.in_sync = false;
    }

    /// Switches an ANSI mode.
    pub(super) fn set_mode(&mut self, number: u16, on: bool) {
        let mode = Mode::Named(match number {
            4 => NamedMode::Insert,
            20 => NamedMode::LineFeedNewLine,
            _ => return,
        });
        if on { self.term().set_mode(mode) } else { self.term().unset_mode(mode) }
    }

    /// Switches a private mode.
    pub(super) fn set_private_mode(&mut self, number: u16, on: bool) {
        match number {
            3 if !self.policy.kept_modes.contains(&ALLOW_132) => {}
            3 => {
                // The width is the pane's; what goes with the change is done.
                self.policy.region = None;
                self.switch(NamedPrivateMode::ColumnMode, true);
            }
            5 => {
                self.policy.touched = true;
                self.policy.repaint |= self.policy.inverse != on;
                self.policy.inverse = on;
            }
            6 => {
                self.switch(NamedPrivateMode::Origin, on);
                self.term().goto(0, 0);
            }
            45 => self.policy.reverse_wrap = on,
            1045 => self.policy.reverse_wrap_anywhere = on,
            47 | 1047 => self.alternate_cells(on),
            66 if on => self.term().set_keypad_application_mode(),
            66 => self.term().unset_keypad_application_mode(),
            67 => self.policy.backarrow = on,
            1048 if on => self.save_cursor(),
            1048 => self.restore_cursor(),
            1049 => self.alternate_screen(on),
            2026 => {
                self.policy.in_sync = on;
                self.policy.sync_begins = on;
            }
            _ if KEPT.contains(&number) => {
                self.policy.kept_modes.retain(|kept| *kept != number);
                if on {
                    self.policy.kept_modes.push(number);
                }
            }
            _ => {
                if let Some(mode) = engine_mode(number) {
                    self.switch(mode, on);
                }
            }
        }
    }

    fn switch(&mut self, mode: NamedPrivateMode, on: bool) {
        let mode = PrivateMode::Named(mode);
        if on { self.term().set_private_mode(mode) } else { self.term().unset_private_mode(mode) }
    }

    /// Saves the state of a private mode (XTSAVE).
    pub(super) fn save_private_mode(&mut self, number: u16) {
        let on = match self.private_mode(number) {
            State::Set => true,
            State::Reset => false,
            _ => return,
        };
        self.policy.saved_modes.retain(|(saved, _)| *saved != number);
        if self.policy.saved_modes.len() < MAX_SAVED {
            self.policy.saved_modes.push((number, on));
        }
    }

    /// Restores it (XTRESTORE).
    pub(super) fn restore_private_mode(&mut self, number: u16) {
        let saved = self.policy.saved_modes.iter().find(|(saved, _)| *saved == number);
        if let Some((_, on)) = saved.copied()
            && self.private_mode(number) != State::from(on)
        {
            self.set_private_mode(number, on);
        }
    }

    /// DECRQM for an ANSI mode.
    pub(super) fn report_mode(&mut self, number: u16) {
        let on = |mode| State::from(self.term.mode().contains(mode));
        let state = match number {
            4 => on(TermMode::INSERT),
            20 => on(TermMode::LINE_FEED_NEW_LINE),
            // What is typed is echoed by the program or its PTY, never here.
            12 => State::AlwaysSet,
            // The keyboard is never locked, and the modes of block terminals are not there.
            1 | 2 | 5 | 7 | 10 | 11 | 13..=19 => State::AlwaysReset,
            _ => State::Unknown,
        };
        let _ = write!(self.policy.reply, "\x1b[{number};{}$y", state as u8);
    }

    /// DECRQM for a private mode.
    pub(super) fn report_private_mode(&mut self, number: u16) {
        let state = self.private_mode(number);
        let _ = write!(self.policy.reply, "\x1b[?{number};{}$y", state as u8);
    }

    fn private_mode(&self, number: u16) -> State {
        let on = |mode| self.term.mode().contains(mode).into();
        match number {
            1 => on(TermMode::APP_CURSOR),
            5 => self.policy.inverse.into(),
            6 => on(TermMode::ORIGIN),
            7 => on(TermMode::LINE_WRAP),
            // Keys repeat as the keyboard does it.
            8 => State::AlwaysSet,
            12 => self.term.cursor_style().blinking.into(),
            25 => on(TermMode::SHOW_CURSOR),
            45 => self.policy.reverse_wrap.into(),
            1045 => self.policy.reverse_wrap_anywhere.into(),
            47 | 1047 | 1049 => on(TermMode::ALT_SCREEN),
            66 => on(TermMode::APP_KEYPAD),
            67 => self.policy.backarrow.into(),
            1000 => on(TermMode::MOUSE_REPORT_CLICK),
            1002 => on(TermMode::MOUSE_DRAG),
            1003 => on(TermMode::MOUSE_MOTION),
            1004 => on(TermMode::FOCUS_IN_OUT),
            1005 => on(TermMode::UTF8_MOUSE),
            1006 => on(TermMode::SGR_MOUSE),
            1007 => on(TermMode::ALTERNATE_SCROLL),
            1042 => on(TermMode::URGENCY_HINTS),
            2004 => on(TermMode::BRACKETED_PASTE),
            2026 => self.policy.in_sync.into(),
            _ if KEPT.contains(&number) => self.policy.kept_modes.contains(&number).into(),
            // Columns are the pane's, character sets are those of the engine, margins are rows only; mouse reports have
            // two encodings, and characters have the engine's widths.
            3 | 42 | 69 | 1001 | 1015 | 1016 | 2027 => State::AlwaysReset,
            _ => State::Unknown,
        }
    }
}
