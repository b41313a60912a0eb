//! Search in copy mode: found while it is typed, repeated, and the word under the cursor.

use super::super::copy::{Copying, Searched, Seeking};
use super::super::input::Line;
use super::super::model::Model;
use super::super::msg::{ClientId, Cmd};
use super::super::overlay::{Overlay, Prompted};
use super::super::view_model::Level;
use crate::config::KeyPress;
use crate::domain::Moment;
use crate::term::{Finder, Search, motion};
use crossterm::event::{KeyCode, KeyModifiers};

impl Model {
    /// Begins a search that is typed in the last line.
    pub(super) fn begin_search(&mut self, client: ClientId, mut copying: Copying, down: bool, count: u32) {
        copying.count = None;
        let top = self.offset(client, &copying.session);
        let from = (copying.at, top, copying.search.clone());
        let regex = copying.search.as_ref().is_some_and(|s| s.finder.is_regex() && !s.finder.text().starts_with("\\b"));
        let seeking = Seeking { down, regex, count, from, problem: None };
        if let Some(c) = self.clients.get_mut(&client) {
            c.copying = Some(copying);
        }
        self.overlay(client, Overlay::Prompt { of: Prompted::Search(Box::new(seeking)), input: Line::default() });
    }

    /// A key while a search is typed. What lies over the screen then.
    pub(super) fn search_key(
        &mut self,
        now: Moment,
        client: ClientId,
        mut seeking: Seeking,
        mut input: Line,
        key: KeyPress,
        cmds: &mut Vec<Cmd>,
    ) -> Option<Overlay> {
        let ctrl = key.mods == KeyModifiers::CONTROL;
        let alt = key.mods == KeyModifiers::ALT;
        match key.code {
            KeyCode::Esc => return self.stop_seeking(now, client, &seeking, cmds),
            KeyCode::Char('c') if ctrl => return self.stop_seeking(now, client, &seeking, cmds),
            KeyCode::Backspace if input.text().is_empty() => return self.stop_seeking(now, client, &seeking, cmds),
            KeyCode::Enter if input.text().is_empty() => {
                // As in vi: the last search again, in this direction.
                self.stop_seeking(now, client, &seeking, cmds);
                let copying = self.clients.get(&client).and_then(|c| c.copying.clone())?;
                let finder = copying.search.as_ref()?.finder.clone();
                self.search(now, client, copying, (finder, seeking.down, seeking.down), seeking.count, cmds);
                return None;
            }
            KeyCode::Enter if seeking.problem.is_none() => {
                self.seek(now, client, &mut seeking, input.text(), cmds);
                let copying = self.clients.get(&client).and_then(|c| c.copying.as_ref());
                if let Some(searched) = copying.and_then(|c| c.search.as_ref()) {
                    self.tell_search(now, client, &searched.clone());
                }
                return None;
            }
            KeyCode::Enter => {}
            KeyCode::Char('r') if ctrl || alt => {
                seeking.regex = !seeking.regex;
                self.seek(now, client, &mut seeking, input.text(), cmds);
            }
            _ => {
                let before = input.text().to_owned();
                input.key(key);
                if input.text() != before {
                    self.seek(now, client, &mut seeking, input.text(), cmds);
                }
            }
        }
        Some(Overlay::Prompt { of: Prompted::Search(Box::new(seeking)), input })
    }

    /// Takes in a text that was pasted into the search.
    pub(super) fn search_paste(&mut self, now: Moment, client: ClientId, text: &str, cmds: &mut Vec<Cmd>) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        let Some(Overlay::Prompt { of: Prompted::Search(seeking), mut input }) = c.overlay.clone() else { return };
        let mut seeking = *seeking;
        input.paste(text);
        self.seek(now, client, &mut seeking, input.text(), cmds);
        self.overlay(client, Overlay::Prompt { of: Prompted::Search(Box::new(seeking)), input });
    }

    /// Back to where the search began.
    fn stop_seeking(
        &mut self,
        now: Moment,
        client: ClientId,
        seeking: &Seeking,
        cmds: &mut Vec<Cmd>,
    ) -> Option<Overlay> {
        let mut copying = self.clients.get(&client).and_then(|c| c.copying.clone())?;
        let (at, top, before) = seeking.from.clone();
        copying.at = at;
        copying.search = before;
        self.show_copying(now, client, copying, Some(top), cmds);
        None
    }

    /// Goes to what is typed so far, from where the search began.
    fn seek(&mut self, now: Moment, client: ClientId, seeking: &mut Seeking, text: &str, cmds: &mut Vec<Cmd>) {
        let finder = if seeking.regex { Finder::regex(text) } else { Ok(Finder::plain(text)) };
        let finder = match finder {
            Ok(finder) => finder,
            Err(problem) => {
                seeking.problem = Some(problem);
                return;
            }
        };
        seeking.problem = None;
        if text.is_empty() {
            self.stop_seeking(now, client, seeking, cmds);
            return;
        }
        let Some(mut copying) = self.clients.get(&client).and_then(|c| c.copying.clone()) else { return };
        let (from, top, _) = seeking.from;
        copying.at = from;
        let found = self.find(&mut copying, finder, (seeking.down, seeking.down), seeking.count);
        self.show_copying(now, client, copying, Some(top), cmds);
        if !found {
            seeking.problem = Some("not in this text".to_owned());
        }
    }

    /// Moves the cursor to the next match, and notes how the search stands. False without any.
    fn find(&self, copying: &mut Copying, finder: Finder, (down, go_down): (bool, bool), count: u32) -> bool {
        let Some(screen) = self.work.screens.get(&copying.session) else { return false };
        let mut search = Search::new(screen, &finder, copying.at);
        let next = search.go(copying.at, go_down, count as usize);
        let here = next.map(|found| found.start);
        copying.search = Some(Searched { finder, down, count: search.count(), here });
        copying.at = here.unwrap_or(copying.at);
        next.is_some()
    }

    /// Searches from the cursor: what, which way `n` goes, which way to go now.
    pub(super) fn search(
        &mut self,
        now: Moment,
        client: ClientId,
        mut copying: Copying,
        (finder, down, go_down): (Finder, bool, bool),
        count: u32,
        cmds: &mut Vec<Cmd>,
    ) {
        self.find(&mut copying, finder, (down, go_down), count);
        if let Some(searched) = copying.search.clone() {
            self.tell_search(now, client, &searched);
        }
        self.show_copying(now, client, copying, None, cmds);
    }

    /// Searches for the word under the cursor, or the next one of its line.
    pub(super) fn search_word(
        &mut self,
        now: Moment,
        client: ClientId,
        copying: Copying,
        down: bool,
        count: u32,
        cmds: &mut Vec<Cmd>,
    ) {
        let screen = self.work.screens.get(&copying.session);
        // Letters, digits and `_` mean themselves in an expression.
        let word = screen.and_then(|screen| motion::word_at(screen, copying.at));
        match word.map(|word| Finder::regex(&format!("\\b{word}\\b"))) {
            Some(Ok(finder)) => self.search(now, client, copying, (finder, down, down), count, cmds),
            Some(Err(why)) => {
                self.say(now, Level::Info, format!("this word cannot be searched for: {why}"), Some(client));
            }
            None => self.say(now, Level::Info, "there is no word under the cursor or after it", Some(client)),
        }
    }

    /// Says how a search went, where the frame does not.
    fn tell_search(&mut self, now: Moment, client: ClientId, searched: &Searched) {
        let (text, (at, count)) = (searched.finder.text(), searched.count);
        if count == 0 {
            return self.say(now, Level::Warning, format!("`{text}` is not in this text"), Some(client));
        }
        if self.shows_only(client).is_some() {
            self.say(now, Level::Info, format!("`{text}`: {at} of {count}"), Some(client));
        }
    }
}
