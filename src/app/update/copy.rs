//! Copy mode: vi's motions in a session's text, marks, search, copying.

use super::super::client::Scrolled;
use super::super::copy::Copying;
use super::super::input::Line;
use super::super::model::Model;
use super::super::msg::{ClientId, Cmd};
use super::super::overlay::{Overlay, Prompted};
use super::super::view_model::Level;
use crate::config::KeyPress;
use crate::domain::Moment;
use crate::term::search::Search;
use crate::term::{Pos, Screen, Selection, SelectionKind};
use crossterm::event::{KeyCode, KeyModifiers};

impl Model {
    /// Copy mode begins in the focused pane, at the program's cursor.
    pub(super) fn enter_copy(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        let Some((_, pane)) = self.here(client) else { return };
        let Some(session) = self.session_of(pane).cloned() else {
            return self.say(
                now,
                Level::Info,
                "the agent pane scrolls with j, k and PgUp, without copy mode",
                Some(client),
            );
        };
        let Some(screen) = self.work.screens.get(&session) else { return };
        if screen.modes().alternate_screen {
            let text = "this program uses the whole screen and keeps no history; what is in sight can be copied";
            self.say(now, Level::Info, text, Some(client));
        }
        if self.shows_only(client).is_some() {
            // Without a last line that says so.
            let text = "copy mode: hjkl w b 0 $ g G move · v V mark · y copies · / searches · q leaves";
            self.say(now, Level::Info, text, Some(client));
        }
        let Some(screen) = self.work.screens.get(&session) else { return };
        let offset = self.offset(client, &session);
        let view = screen.view_at(offset);
        let cursor = view.cursor();
        let row = cursor.map_or(view.rows().saturating_sub(1), |c| c.row);
        let at = Pos { line: view.line_at(row), col: cursor.map_or(0, |c| c.col.min(view.cols().saturating_sub(1))) };
        let epoch = screen.epoch();
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.nav = false;
        c.marked = None;
        // Pinned where it is read: output goes on below.
        c.scroll.insert(session.clone(), Scrolled::at(screen, offset));
        c.copying = Some(Copying { pane, session: session.clone(), at, epoch, mark: None, search: None });
        c.dirty = true;
        self.acted(now, &session, false, cmds);
    }

    /// Copy mode ends; the end of the text is shown again.
    pub(super) fn leave_copy(&mut self, client: ClientId) {
        let Some(c) = self.clients.get_mut(&client) else { return };
        if let Some(copying) = c.copying.take() {
            c.scroll.remove(&copying.session);
            c.marked = None;
            c.dirty = true;
        }
    }

    /// A key in copy mode.
    pub(super) fn copy_key(&mut self, now: Moment, client: ClientId, key: KeyPress, cmds: &mut Vec<Cmd>) {
        let Some(mut copying) = self.clients.get(&client).and_then(|c| c.copying.clone()) else { return };
        let session = copying.session.clone();
        let Some(screen) = self.work.screens.get(&session) else { return self.leave_copy(client) };
        // Lines that were shed meanwhile cannot be stood on.
        let kept = screen.lines();
        copying.at.line = copying.at.line.clamp(kept.start, kept.end.saturating_sub(1).max(kept.start));
        copying.at.col = copying.at.col.min(screen.size().cols.saturating_sub(1));
        let ctrl = key.mods == KeyModifiers::CONTROL;
        let plain = key.mods.is_empty();
        match key.code {
            KeyCode::Esc if copying.mark.is_some() => copying.mark = None,
            KeyCode::Char('q') | KeyCode::Esc if plain => return self.leave_copy(client),
            KeyCode::Char('c') if ctrl => return self.leave_copy(client),
            KeyCode::Char('v') if ctrl => toggle(&mut copying, SelectionKind::Block),
            KeyCode::Char('v' | ' ') if plain => toggle(&mut copying, SelectionKind::Character),
            KeyCode::Char('V') if plain => toggle(&mut copying, SelectionKind::Line),
            KeyCode::Char('o') if plain => {
                if let Some((mark, _)) = &mut copying.mark {
                    std::mem::swap(mark, &mut copying.at);
                }
            }
            KeyCode::Char('y') | KeyCode::Enter if plain => {
                let (anchor, kind) = copying.mark.unwrap_or((copying.at, SelectionKind::Line));
                let selection = Selection { kind, anchor, head: copying.at, epoch: copying.epoch };
                self.copy_selection(now, client, copying.pane, &selection, cmds);
                return self.leave_copy(client);
            }
            KeyCode::Char(c @ ('/' | '?')) if plain => {
                let of = Prompted::Search(c == '/');
                return self.overlay(client, Overlay::Prompt { of, input: Line::default() });
            }
            KeyCode::Char(c @ ('n' | 'N')) if plain => {
                let Some((query, down)) = copying.search.clone() else {
                    return self.say(now, Level::Info, "nothing was searched yet: / searches", Some(client));
                };
                return self.search(now, client, &query, down == (c == 'n'), down);
            }
            code => match motion(screen, &copying, code, key.mods) {
                Some(at) => copying.at = at,
                None => {
                    let text = "copy mode: hjkl w b 0 $ g G move · v V Ctrl+V mark · y copies · / searches · q leaves";
                    return self.say(now, Level::Info, text, Some(client));
                }
            },
        }
        self.show_copying(now, client, copying, cmds);
    }

    /// Shows the place of copy mode: scrolled into sight, with the marks.
    fn show_copying(&mut self, now: Moment, client: ClientId, copying: Copying, cmds: &mut Vec<Cmd>) {
        let session = copying.session.clone();
        let Some(screen) = self.work.screens.get(&session) else { return };
        let offset = self.offset(client, &session);
        let view = screen.view_at(offset);
        let (top, rows) = (view.line_at(0), u64::from(view.rows()));
        let back = |line: u64| usize::try_from(screen.first_line().saturating_sub(line)).unwrap_or(usize::MAX);
        let offset = if copying.at.line < top {
            back(copying.at.line)
        } else if copying.at.line >= top + rows {
            back((copying.at.line + 1).saturating_sub(rows))
        } else {
            offset
        };
        let place = Scrolled::at(screen, offset);
        let selection =
            copying.mark.map(|(anchor, kind)| Selection { kind, anchor, head: copying.at, epoch: copying.epoch });
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.scroll.insert(session.clone(), place);
        c.marked = selection.map(|s| (copying.pane, s));
        c.copying = Some(copying);
        c.dirty = true;
        self.acted(now, &session, false, cmds);
    }

    /// Searches from the cursor of copy mode. `downwards` is the way to go now, `kept` what `n` repeats.
    pub(super) fn search(&mut self, now: Moment, client: ClientId, query: &str, downwards: bool, kept: bool) {
        let Some(mut copying) = self.clients.get(&client).and_then(|c| c.copying.clone()) else { return };
        let Some(screen) = self.work.screens.get(&copying.session) else { return };
        let found = Search::new(screen, query, copying.at);
        let all = found.matches();
        let next = if downwards {
            all.iter().find(|m| m.start > copying.at).or(all.first())
        } else {
            all.iter().rev().find(|m| m.start < copying.at).or(all.last())
        };
        copying.search = Some((query.to_owned(), kept));
        match next {
            Some(found) => {
                let at = all.iter().position(|m| m == found).map_or(0, |i| i + 1);
                let count = all.len();
                copying.at = found.start;
                self.say(now, Level::Info, format!("`{query}`: {at} of {count}"), Some(client));
            }
            None => self.say(now, Level::Warning, format!("`{query}` is not in this text"), Some(client)),
        }
        let mut cmds = Vec::new();
        self.show_copying(now, client, copying, &mut cmds);
    }
}

fn toggle(copying: &mut Copying, kind: SelectionKind) {
    copying.mark = match copying.mark {
        Some((_, old)) if old == kind => None,
        Some((anchor, _)) => Some((anchor, kind)),
        None => Some((copying.at, kind)),
    };
}

/// Where a motion leads.
fn motion(screen: &Screen, copying: &Copying, code: KeyCode, mods: KeyModifiers) -> Option<Pos> {
    let at = copying.at;
    let (rows, cols) = (u64::from(screen.size().rows), screen.size().cols);
    let first = screen.first_line().saturating_sub(screen.history_len() as u64);
    let last = screen.first_line() + rows.saturating_sub(1);
    let line = |n: u64| Pos { line: n.clamp(first, last), col: at.col };
    let ctrl = mods == KeyModifiers::CONTROL;
    if !mods.is_empty() && !ctrl {
        return None;
    }
    Some(match code {
        KeyCode::Char('u') if ctrl => line(at.line.saturating_sub(rows / 2)),
        KeyCode::Char('d') if ctrl => line(at.line + rows / 2),
        KeyCode::Char('b') if ctrl => line(at.line.saturating_sub(rows)),
        KeyCode::Char('f') if ctrl => line(at.line + rows),
        _ if ctrl => return None,
        KeyCode::PageUp => line(at.line.saturating_sub(rows)),
        KeyCode::PageDown => line(at.line + rows),
        KeyCode::Char('h') | KeyCode::Left => Pos { col: at.col.saturating_sub(1), ..at },
        KeyCode::Char('l') | KeyCode::Right => Pos { col: (at.col + 1).min(cols.saturating_sub(1)), ..at },
        KeyCode::Char('j') | KeyCode::Down => line(at.line + 1),
        KeyCode::Char('k') | KeyCode::Up => line(at.line.saturating_sub(1)),
        KeyCode::Char('0') | KeyCode::Home => Pos { col: 0, ..at },
        KeyCode::Char('^') => Pos { col: first_used(&text_of(screen, at.line)), ..at },
        KeyCode::Char('$') | KeyCode::End => Pos { col: last_used(&text_of(screen, at.line)), ..at },
        KeyCode::Char('g') => line(first),
        KeyCode::Char('G') => line(last),
        KeyCode::Char('H') => line(top_of(screen, copying)),
        KeyCode::Char('L') => line(top_of(screen, copying) + rows.saturating_sub(1)),
        KeyCode::Char('w') => word(screen, at, last, true),
        KeyCode::Char('b') => word(screen, at, first, false),
        KeyCode::Char('e') => word_end(screen, at, last),
        _ => return None,
    })
}

/// The line on top while copy mode shows its cursor near the bottom: as far up as keeps the cursor in sight.
fn top_of(screen: &Screen, copying: &Copying) -> u64 {
    copying
        .at
        .line
        .saturating_sub(u64::from(screen.size().rows.saturating_sub(1)))
        .max(screen.first_line().saturating_sub(screen.history_len() as u64))
}

/// The cells of a line, one text for each column.
fn text_of(screen: &Screen, line: u64) -> Vec<String> {
    let (offset, row) = match screen.first_line().checked_sub(line) {
        Some(back) => (usize::try_from(back).unwrap_or(usize::MAX), 0),
        None => (0, line - screen.first_line()),
    };
    let mut out = vec![String::new(); usize::from(screen.size().cols)];
    let Ok(row) = u16::try_from(row) else { return out };
    screen.view_at(offset).for_each_in_row(row, |col, cell| {
        if let Some(slot) = out.get_mut(usize::from(col)) {
            cell.text.clone_into(slot);
        }
    });
    out
}

fn blank(cell: &str) -> bool {
    cell.trim().is_empty()
}

fn first_used(cells: &[String]) -> u16 {
    cells.iter().position(|c| !blank(c)).unwrap_or(0) as u16
}

fn last_used(cells: &[String]) -> u16 {
    cells.iter().rposition(|c| !blank(c)).unwrap_or(0) as u16
}

/// Blank, letters, or signs: words are runs of one kind, as in vi.
fn kind(cell: &str) -> u8 {
    match cell.chars().next() {
        None | Some(' ') => 0,
        Some(c) if c.is_alphanumeric() || c == '_' => 1,
        Some(_) => 2,
    }
}

/// The start of the next word, or of this or the one before; stops at `end`.
fn word(screen: &Screen, at: Pos, end: u64, forward: bool) -> Pos {
    let mut line = at.line;
    let mut cells = text_of(screen, line);
    let starts =
        |cells: &[String], i: usize| kind(&cells[i]) != 0 && (i == 0 || kind(&cells[i - 1]) != kind(&cells[i]));
    let mut from = usize::from(at.col);
    let mut fresh = false;
    loop {
        let found = if forward {
            let skip = if fresh { 0 } else { from + 1 };
            (skip..cells.len()).find(|i| starts(&cells, *i))
        } else {
            let upto = if fresh { cells.len() } else { from.min(cells.len()) };
            (0..upto).rev().find(|i| starts(&cells, *i))
        };
        if let Some(col) = found {
            return Pos { line, col: col as u16 };
        }
        if line == end {
            return Pos { line, col: if forward { last_used(&cells) } else { 0 } };
        }
        line = if forward { line + 1 } else { line - 1 };
        cells = text_of(screen, line);
        from = 0;
        fresh = true;
    }
}

/// The end of this or the next word; stops at `end`.
fn word_end(screen: &Screen, at: Pos, end: u64) -> Pos {
    let mut line = at.line;
    let mut from = usize::from(at.col) + 1;
    loop {
        let cells = text_of(screen, line);
        let ends = |i: usize| kind(&cells[i]) != 0 && (i + 1 == cells.len() || kind(&cells[i + 1]) != kind(&cells[i]));
        if let Some(col) = (from..cells.len()).find(|i| ends(*i)) {
            return Pos { line, col: col as u16 };
        }
        if line == end {
            return Pos { line, col: last_used(&cells) };
        }
        line += 1;
        from = 0;
    }
}
