//! Copy mode: vi's motions in a session's text, marks, copying.

use super::super::client::Scrolled;
use super::super::copy::{Copying, MAX_COUNT, Waits};
use super::super::model::Model;
use super::super::msg::{ClientId, Cmd};
use super::super::view_model::Level;
use crate::config::KeyPress;
use crate::domain::Moment;
use crate::term::motion::{self, Find, Motion, Words};
use crate::term::{Pos, Screen, Selection, SelectionKind};
use crossterm::event::{KeyCode, KeyModifiers};

/// What copy mode says where it has no line of its own.
const KEYS: &str = "copy mode: hjkl w b e 0 $ g G move · v V Ctrl+V mark · y copies · / searches · q leaves";

/// What is said where no prompt is known.
const NO_PROMPTS: &str =
    "no prompt is known here: a shell tells them where `hermes-tui util shell-integration` was set up";

impl Model {
    /// Copy mode begins at the prompt before the program's cursor.
    pub(super) fn enter_copy_at_prompt(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        let session = self.focused_pane(client).and_then(|pane| self.session_of(pane));
        let screen = session.and_then(|session| self.work.screens.get(session));
        if screen.is_some_and(|screen| screen.prompts().is_empty()) {
            return self.say(now, Level::Info, NO_PROMPTS, Some(client));
        }
        self.enter_copy(now, client, cmds);
        self.copy_key(now, client, KeyPress::char('['), cmds);
    }

    /// Copies what the last command printed that has printed something.
    pub(super) fn copy_last_output(&mut self, now: Moment, client: ClientId, cmds: &mut Vec<Cmd>) {
        let Some(pane) = self.focused_pane(client) else { return };
        let Some(screen) = self.session_of(pane).and_then(|session| self.work.screens.get(session)) else {
            return self.say(now, Level::Info, "the focused pane shows no shell", Some(client));
        };
        let prompts = screen.prompts();
        let output = prompts.iter().rev().find_map(|prompt| screen.output_of(prompt));
        let Some((anchor, head)) = output else {
            let text = if prompts.is_empty() { NO_PROMPTS } else { "no command has printed anything yet" };
            return self.say(now, Level::Info, text, Some(client));
        };
        let selection = Selection { kind: SelectionKind::Character, anchor, head, epoch: screen.epoch() };
        self.copy_selection(now, client, pane, &selection, cmds);
    }

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
            self.say(now, Level::Info, KEYS, Some(client));
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
        c.copying = Some(Copying {
            pane,
            session: session.clone(),
            at,
            epoch,
            mark: None,
            search: None,
            count: None,
            waits: None,
            find: None,
        });
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
        let offset = self.offset(client, &copying.session);
        let Some(screen) = self.work.screens.get(&copying.session) else { return self.leave_copy(client) };
        // Lines that were shed meanwhile cannot be stood on.
        let kept = screen.lines();
        copying.at.line = copying.at.line.clamp(kept.start, kept.end.saturating_sub(1).max(kept.start));
        copying.at.col = copying.at.col.min(screen.size().cols.saturating_sub(1));
        let ctrl = key.mods == KeyModifiers::CONTROL;
        let plain = key.mods.is_empty();
        match copying.waits.take() {
            Some(Waits::For { forward, till }) => {
                if let KeyCode::Char(wanted) = key.code
                    && plain
                {
                    let find = Find { wanted, forward, till };
                    copying.find = Some(find);
                    let count = copying.count.take().unwrap_or(1);
                    copying.at = motion::go(screen, copying.at, Motion::To(find, false), count);
                }
                copying.count = None;
                return self.show_copying(now, client, copying, None, cmds);
            }
            Some(Waits::G(from)) if plain && key.code == KeyCode::Char('e') => {
                let count = copying.count.take().unwrap_or(1);
                copying.at = motion::go(screen, from, Motion::PreviousEnd(Words::Small), count);
                return self.show_copying(now, client, copying, None, cmds);
            }
            Some(Waits::G(_)) if plain && key.code == KeyCode::Char('g') => {
                return self.show_copying(now, client, copying, None, cmds);
            }
            Some(Waits::G(_)) => copying.count = None,
            None => {}
        }
        if let KeyCode::Char(digit @ '0'..='9') = key.code
            && plain
            && (digit != '0' || copying.count.is_some())
        {
            let digit = digit.to_digit(10).unwrap_or(0);
            copying.count = Some((copying.count.unwrap_or(0) * 10 + digit).min(MAX_COUNT));
            return self.show_copying(now, client, copying, Some(offset), cmds);
        }
        let counted = copying.count.take();
        let count = counted.unwrap_or(1);
        let mut view = None;
        match key.code {
            KeyCode::Esc if counted.is_some() => {}
            KeyCode::Esc if copying.mark.is_some() => copying.mark = None,
            KeyCode::Char('q') | KeyCode::Esc if plain => return self.leave_copy(client),
            KeyCode::Char('c') if ctrl => return self.leave_copy(client),
            KeyCode::Char('v') if ctrl => toggle(&mut copying, SelectionKind::Block),
            KeyCode::Char('v' | ' ') if plain => toggle(&mut copying, SelectionKind::Character),
            KeyCode::Char('V') if plain => toggle(&mut copying, SelectionKind::Line),
            KeyCode::Char(c @ ('o' | 'O')) if plain => {
                if let Some((mark, kind)) = &mut copying.mark {
                    if c == 'O' && *kind == SelectionKind::Block {
                        std::mem::swap(&mut mark.col, &mut copying.at.col);
                    } else {
                        std::mem::swap(mark, &mut copying.at);
                    }
                }
            }
            KeyCode::Char('y' | 'Y' | 'D' | 'A') | KeyCode::Enter if plain => {
                let selection = match key.code {
                    KeyCode::Char('D') => {
                        let end = motion::go(screen, copying.at, Motion::LineEnd, 1).max(copying.at);
                        let kind = SelectionKind::Character;
                        Selection { kind, anchor: copying.at, head: end, epoch: copying.epoch }
                    }
                    KeyCode::Char('Y') => Selection::line(screen, copying.at),
                    _ => marked(&copying).unwrap_or_else(|| Selection::line(screen, copying.at)),
                };
                let append = key.code == KeyCode::Char('A');
                self.copy_or_append(now, client, copying.pane, &selection, append, cmds);
                return self.leave_copy(client);
            }
            KeyCode::Char(c @ ('f' | 'F' | 't' | 'T')) if plain => {
                copying.waits = Some(Waits::For { forward: c.is_lowercase(), till: c.eq_ignore_ascii_case(&'t') });
                copying.count = counted;
            }
            KeyCode::Char(c @ (';' | ',')) if plain => {
                let Some(find) = copying.find else {
                    let text = "no character was gone to yet: f F t T go to one, ; and , repeat that";
                    return self.say(now, Level::Info, text, Some(client));
                };
                let find = if c == ';' { find } else { find.turned() };
                copying.at = motion::go(screen, copying.at, Motion::To(find, true), count);
            }
            KeyCode::Char('g') if plain => {
                copying.waits = Some(Waits::G(copying.at));
                copying.count = counted;
                copying.at = line_number(screen, copying.at, counted.unwrap_or(1));
            }
            KeyCode::Char('G') if plain => {
                copying.at = match counted {
                    Some(line) => line_number(screen, copying.at, line),
                    None => motion::go(screen, copying.at, Motion::Last, 1),
                };
            }
            KeyCode::Char(c @ ('[' | ']')) if plain => match prompt(screen, copying.at, c == ']', count) {
                Some(at) => copying.at = at,
                None => {
                    let text = if screen.prompts().is_empty() { NO_PROMPTS } else { "no further prompt that way" };
                    return self.say(now, Level::Info, text, Some(client));
                }
            },
            KeyCode::Char('a') if plain => match screen.output_at(copying.at.line) {
                Some((from, to)) => {
                    copying.mark = Some((from, SelectionKind::Character));
                    copying.at = to;
                }
                None => {
                    let text = if screen.prompts().is_empty() { NO_PROMPTS } else { "this command printed nothing" };
                    return self.say(now, Level::Info, text, Some(client));
                }
            },
            KeyCode::Char(c @ ('/' | '?')) if plain => return self.begin_search(client, copying, c == '/', count),
            KeyCode::Char(c @ ('n' | 'N')) if plain => {
                let Some(searched) = &copying.search else {
                    return self.say(now, Level::Info, "nothing was searched yet: / searches", Some(client));
                };
                let (finder, down) = (searched.finder.clone(), searched.down);
                return self.search(now, client, copying, (finder, down, down == (c == 'n')), count, cmds);
            }
            KeyCode::Char(c @ ('*' | '#')) if plain => {
                return self.search_word(now, client, copying, c == '*', count, cmds);
            }
            code => match scrolled(screen, &mut copying, offset, (code, key.mods), count) {
                Some(offset) => view = Some(offset),
                None => match motion(screen, &copying, offset, code, key.mods, count) {
                    Some(at) => copying.at = at,
                    None => return self.say(now, Level::Info, KEYS, Some(client)),
                },
            },
        }
        self.show_copying(now, client, copying, view, cmds);
    }

    /// Shows the place of copy mode with its marks: as many lines back as given, else scrolled as little as brings it
    /// into sight.
    pub(super) fn show_copying(
        &mut self,
        now: Moment,
        client: ClientId,
        copying: Copying,
        view: Option<usize>,
        cmds: &mut Vec<Cmd>,
    ) {
        let session = copying.session.clone();
        let Some(screen) = self.work.screens.get(&session) else { return };
        let offset = view.unwrap_or_else(|| self.offset(client, &session));
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
        let selection = marked(&copying);
        let Some(c) = self.clients.get_mut(&client) else { return };
        c.scroll.insert(session.clone(), place);
        c.marked = selection.map(|s| (copying.pane, s));
        c.copying = Some(copying);
        c.dirty = true;
        self.acted(now, &session, false, cmds);
    }
}

/// What is marked, up to the cursor.
fn marked(copying: &Copying) -> Option<Selection> {
    copying.mark.map(|(anchor, kind)| Selection { kind, anchor, head: copying.at, epoch: copying.epoch })
}

fn toggle(copying: &mut Copying, kind: SelectionKind) {
    copying.mark = match copying.mark {
        Some((_, old)) if old == kind => None,
        Some((anchor, _)) => Some((anchor, kind)),
        None => Some((copying.at, kind)),
    };
}

/// The prompt so many further up or down.
fn prompt(screen: &Screen, at: Pos, down: bool, count: u32) -> Option<Pos> {
    let prompts = screen.prompts();
    let on = count.max(1) as usize - 1;
    let index = if down {
        prompts
            .partition_point(|prompt| prompt.at.line <= at.line)
            .saturating_add(on)
            .min(prompts.len().checked_sub(1)?)
    } else {
        prompts.partition_point(|prompt| prompt.at.line < at.line).checked_sub(1)?.saturating_sub(on)
    };
    prompts.get(index).map(|prompt| prompt.at).filter(|found| if down { found.line > at.line } else { true })
}

/// The row with that number, from 1, of those that are kept.
fn line_number(screen: &Screen, at: Pos, number: u32) -> Pos {
    let kept = screen.lines();
    let line = kept.start.saturating_add(u64::from(number.max(1)) - 1);
    Pos { line: line.min(kept.end.saturating_sub(1)), ..at }
}

/// Keys that scroll the text: how far back it is then. Pages take the cursor along; single lines leave it, as long as it
/// is in sight.
fn scrolled(
    screen: &Screen,
    copying: &mut Copying,
    offset: usize,
    (code, mods): (KeyCode, KeyModifiers),
    count: u32,
) -> Option<usize> {
    let rows = u64::from(screen.size().rows);
    let (ctrl, plain) = (mods == KeyModifiers::CONTROL, mods.is_empty());
    let (by, down, page) = match code {
        KeyCode::Char('u') if ctrl => (rows / 2, false, true),
        KeyCode::Char('d') if ctrl => (rows / 2, true, true),
        KeyCode::Char('b') if ctrl => (rows, false, true),
        KeyCode::Char('f') if ctrl => (rows, true, true),
        KeyCode::PageUp if plain => (rows, false, true),
        KeyCode::PageDown if plain => (rows, true, true),
        KeyCode::Char('y') | KeyCode::Up if ctrl => (1, false, false),
        KeyCode::Char('e') | KeyCode::Down if ctrl => (1, true, false),
        KeyCode::Char('K') if plain => (1, false, false),
        KeyCode::Char('J') if plain => (1, true, false),
        _ => return None,
    };
    let by = by.max(1).saturating_mul(count.into());
    let lines = usize::try_from(by).unwrap_or(usize::MAX);
    let to = if down { offset.saturating_sub(lines) } else { offset.saturating_add(lines).min(screen.history_len()) };
    let kept = screen.lines();
    let last = kept.end.saturating_sub(1);
    let line = &mut copying.at.line;
    if page {
        *line = if down { line.saturating_add(by).min(last) } else { line.saturating_sub(by).max(kept.start) };
    } else {
        let top = screen.view_at(to).line_at(0);
        *line = (*line).clamp(top, top + rows.saturating_sub(1));
    }
    Some(to)
}

/// Where a key leads.
fn motion(
    screen: &Screen,
    copying: &Copying,
    offset: usize,
    code: KeyCode,
    mods: KeyModifiers,
    count: u32,
) -> Option<Pos> {
    if !mods.is_empty() {
        return None;
    }
    let at = copying.at;
    let rows = u64::from(screen.size().rows);
    let top = screen.view_at(offset).line_at(0);
    let motion = match code {
        // In sight: a count is the line from that edge.
        KeyCode::Char('H') => return Some(Pos { line: top + (u64::from(count) - 1).min(rows - 1), ..at }),
        KeyCode::Char('M') => return Some(Pos { line: top + (rows - 1) / 2, ..at }),
        KeyCode::Char('L') => {
            return Some(Pos { line: top + (rows - 1).saturating_sub(u64::from(count) - 1), ..at });
        }
        KeyCode::Char('h') | KeyCode::Left | KeyCode::Backspace => Motion::Left,
        KeyCode::Char('l') | KeyCode::Right => Motion::Right,
        KeyCode::Char('j') | KeyCode::Down => Motion::Down,
        KeyCode::Char('k') | KeyCode::Up => Motion::Up,
        KeyCode::Char('0') | KeyCode::Home => Motion::LineStart,
        KeyCode::Char('^') => Motion::LineText,
        KeyCode::Char('$') | KeyCode::End => Motion::LineEnd,
        KeyCode::Char('w') => Motion::NextWord(Words::Small),
        KeyCode::Char('W') => Motion::NextWord(Words::Big),
        KeyCode::Char('b') => Motion::PreviousWord(Words::Small),
        KeyCode::Char('B') => Motion::PreviousWord(Words::Big),
        KeyCode::Char('e') => Motion::NextEnd(Words::Small),
        KeyCode::Char('E') => Motion::NextEnd(Words::Big),
        KeyCode::Char('{') => Motion::ParagraphUp,
        KeyCode::Char('}') => Motion::ParagraphDown,
        KeyCode::Char('%') => Motion::Bracket,
        _ => return None,
    };
    Some(motion::go(screen, at, motion, count.max(1)))
}
