//! Panes of the shown tab: titles, marks, banners, contents.

use super::super::client::Shown;
use super::super::clip;
use super::super::command::Action;
use super::super::copy::Copying;
use super::super::layout::PaneId;
use super::super::model::{FeedOf, Model, PaneKind, TabState, after};
use super::super::msg::ClientId;
use super::super::view_model::{Area, Banner, Level, Pane, PaneContent, Printed};
use super::{agent, feed, right_of, words};
use crate::domain::{Deed, Environment, Moment, Origin, Phase, Session, SessionId, SessionState, Span};
use crate::term::{self, Match, Pos, Screen, SelectionKind};

/// Panes narrower than this are not drawn beside a sidebar that lies over them.
const LEAST: u16 = 6;

/// A session that ends this long before its sandbox ended with it.
const WITH_ITS_SANDBOX: Span = Span::seconds(1);

/// The visible panes of a client's tab.
pub fn panes<'a>(model: &'a Model, now: Moment, client: ClientId, tab: &TabState, shown: Area) -> Vec<Pane<'a>> {
    let focus = model.focus_in(client, tab);
    model
        .pane_areas(client, tab)
        .into_iter()
        .filter_map(|(pane, area)| {
            // Where the sidebar lies over panes, what sticks out of them is drawn.
            let whole = area;
            let area = right_of(area, shown.x);
            if area != whole && area.width < LEAST {
                return None;
            }
            Some(make(model, now, client, tab, pane, area, pane == focus))
        })
        .collect()
}

/// The sessions in the visible panes, unless one of them shows more than its screen as it is now.
pub fn printed<'a>(model: &'a Model, now: Moment, client: ClientId, tab: &TabState) -> Option<Vec<Printed<'a>>> {
    let focus = model.focus_in(client, tab);
    let marked = model.clients.get(&client).is_none_or(|c| c.marked.is_some());
    let pointed = model.clients.get(&client).is_some_and(|c| c.pointed.is_some());
    let mut shown = Vec::new();
    for (pane, area) in model.pane_areas(client, tab) {
        let env = model.env_of_pane(pane).and_then(|id| model.state.environments.get(&id));
        let covered = env.is_some_and(|env| env_banner(model, now, env).is_some());
        if covered || pointed {
            return None;
        }
        let Some(PaneKind::Session(id)) = model.work.panes.get(&pane) else { continue };
        let session = model.state.sessions.get(id)?;
        // One that could not be opened says so in its frame.
        let asks = copy_banner(model, now, client, id).is_some();
        if marked || asks || session.has_ended() || model.offset(client, id) > 0 {
            return None;
        }
        let Some(screen) = model.work.screens.get(id) else { continue };
        if session.state != SessionState::Running {
            return None;
        }
        shown.push(Printed { session: &session.id, screen, inner: model.inside(client, area), focused: pane == focus });
    }
    Some(shown)
}

fn make<'a>(
    model: &'a Model,
    now: Moment,
    client: ClientId,
    tab: &TabState,
    pane: PaneId,
    area: Area,
    focused: bool,
) -> Pane<'a> {
    let env = model.env_of_pane(pane).and_then(|id| model.state.environments.get(&id));
    let base = Pane {
        area,
        inner: model.inside(client, area),
        focused: focused && !model.in_nav(client),
        synchronised: tab.synchronised && model.session_of(pane).is_some(),
        title: String::new(),
        agent: None,
        on_host: env.is_some_and(|e| e.spec.on_host),
        marks: Vec::new(),
        link: None,
        banner: None,
        content: PaneContent::Waiting(String::new()),
    };
    match model.work.panes.get(&pane) {
        Some(PaneKind::Feed(id)) => Pane {
            title: feed_title(model, id),
            marks: feed_marks(model, client, pane),
            content: PaneContent::Feed(feed::lines(model, now, client, pane, id, base.inner.height)),
            banner: env.and_then(|e| env_banner(model, now, e)),
            ..base
        },
        Some(PaneKind::Session(id)) => match model.state.sessions.get(id) {
            Some(session) => session_pane(model, now, client, pane, session, env, base),
            None => Pane { content: PaneContent::Waiting("waiting for its session".to_owned()), ..base },
        },
        None => base,
    }
}

fn session_pane<'a>(
    model: &'a Model,
    now: Moment,
    client: ClientId,
    pane: PaneId,
    session: &'a Session,
    env: Option<&Environment>,
    base: Pane<'a>,
) -> Pane<'a> {
    let screen = model.work.screens.get(&session.id);
    let ended = session.has_ended();
    let c = model.clients.get(&client);
    let offset = model.offset(client, &session.id);
    let copying = c.and_then(|c| c.copying.as_ref()).filter(|k| k.pane == pane);
    let found = copying.zip(screen).map(|(copying, screen)| found(copying, screen, offset)).unwrap_or_default();
    let content = match (screen, &session.state) {
        (Some(screen), SessionState::Running | SessionState::Ended { .. }) => PaneContent::Terminal {
            session: session.id.clone(),
            screen,
            offset,
            selection: c.and_then(|c| c.marked.as_ref()).filter(|(p, _)| *p == pane).map(|(_, s)| *s),
            margin: screen.ended_in(offset),
            dim: ended,
            found: found.0,
            here: found.1,
            copy_cursor: copying.and_then(|k| {
                let row = k.at.line.checked_sub(screen.view_at(offset).line_at(0))?;
                Some((k.at.col, u16::try_from(row).ok()?))
            }),
        },
        // Nothing is awaited any more: the banner says why.
        (_, SessionState::Ended { .. }) => PaneContent::Waiting(String::new()),
        (_, _) => PaneContent::Waiting(waiting(model, env)),
    };
    Pane {
        title: session_title(model, session, env),
        agent: env.and_then(|env| agent::mark(model, env)),
        marks: session_marks(model, copying, session, offset),
        banner: match &session.state {
            SessionState::Ended { exit_code, at, why } => Some(over(model, now, session, env, (*exit_code, *at, why))),
            _ => env.and_then(|e| env_banner(model, now, e)).or_else(|| copy_banner(model, now, client, &session.id)),
        },
        link: link(model, client, pane, &content),
        content,
        ..base
    }
}

/// `environment · conversation · program`.
fn session_title(model: &Model, session: &Session, env: Option<&Environment>) -> String {
    let mut parts = vec![env.map_or_else(|| session.env.to_string(), |e| e.name.clone())];
    if let Some(id) = &session.conversation {
        let title = model.state.conversations.get(id).and_then(|c| c.title.clone());
        let title = title.unwrap_or_else(|| id.to_string());
        // An environment is often called after its conversation: once is enough.
        if title != parts[0] {
            parts.push(title);
        }
    }
    parts.push(model.program_name(session));
    parts.join(" · ")
}

/// What is found of the last search on the lines in sight, and where the current match begins.
fn found(copying: &Copying, screen: &Screen, offset: usize) -> (Vec<Match>, Option<Pos>) {
    let Some(searched) = &copying.search else { return Default::default() };
    let view = screen.view_at(offset);
    let top = view.line_at(0);
    (searched.finder.matches_in(screen, top..top + u64::from(view.rows())), searched.here)
}

/// How copy mode stands: what is marked, the count that is typed, the search, the line.
fn copy_marks(copying: &Copying, screen: &Screen) -> Vec<String> {
    let mut mode = match copying.mark {
        None => "copy".to_owned(),
        Some((_, SelectionKind::Character)) => "copy characters".to_owned(),
        Some((_, SelectionKind::Line)) => "copy lines".to_owned(),
        Some((_, SelectionKind::Block)) => "copy block".to_owned(),
    };
    if let Some(count) = copying.count {
        mode.push_str(&format!(" {count}"));
    }
    let mut marks = vec![mode];
    if let Some(searched) = &copying.search {
        marks.push(words::of(searched.count));
    }
    let kept = screen.lines();
    let line = copying.at.line.saturating_sub(kept.start) + 1;
    marks.push(format!("[{line}/{}]", kept.end - kept.start));
    marks
}

fn session_marks(model: &Model, copying: Option<&Copying>, session: &Session, offset: usize) -> Vec<String> {
    let mut marks = Vec::new();
    if let SessionState::Ended { exit_code: Some(code), .. } = session.state {
        marks.push(format!("exit {code}"));
    }
    if let Some(screen) = model.work.screens.get(&session.id) {
        if let Some(copying) = copying {
            marks.extend(copy_marks(copying, screen));
        } else if offset > 0 {
            marks.push(format!("[{offset}/{}]", screen.history_len()));
        }
        // The cap of all histories took older lines.
        if (copying.is_some() || offset > 0) && screen.history_limit() < model.options.history.lines {
            marks.push("older shed".to_owned());
        }
        let clip = model.work.clips.get(&session.id);
        let refused = clip.map_or(0, |clip| clip.refused);
        let count = screen.blocked().count().saturating_add(refused);
        if count > 0 {
            marks.push(format!("blocked {}", words::short(count)));
        }
        // The last one is cut last.
        if clip.is_some_and(|clip| clip.wanted.is_some()) {
            marks.push("copy?".to_owned());
        }
    }
    marks
}

fn feed_title(model: &Model, of: &FeedOf) -> String {
    let id = match of {
        FeedOf::Conversation(id) => id,
        FeedOf::Environment(id) => {
            let name = model.state.environments.get(id).map_or(id.as_str(), |env| env.name.as_str());
            return format!("commands · {name}");
        }
    };
    let c = model.state.conversations.get(id);
    let name = c.and_then(|c| c.title.clone()).unwrap_or_else(|| id.to_string());
    match c.and_then(|c| c.turns.last()) {
        Some(turn) => format!("agent · {name} · turn {}", turn.number),
        None => format!("agent · {name}"),
    }
}

fn feed_marks(model: &Model, client: ClientId, pane: PaneId) -> Vec<String> {
    let Some(place) = model.clients.get(&client).and_then(|c| c.feed.get(&pane)) else { return Vec::new() };
    let mut marks = Vec::new();
    if place.shown != Shown::All {
        marks.push(format!("{} only", place.shown.word()));
    }
    match (place.filtering, place.filter.text()) {
        (false, "") => {}
        (false, text) => marks.push(format!("/{text}")),
        (true, text) => marks.push(format!("/{text}_")),
    }
    if place.back > 0 {
        marks.push(format!("[{} back]", place.back));
    }
    marks
}

/// What its program wants to put on the clipboard, for a while. A terminal without a frame is told in passing: nothing
/// may lie over a program for so long.
fn copy_banner(model: &Model, now: Moment, client: ClientId, session: &SessionId) -> Option<Banner> {
    if model.shows_only(client).is_some() {
        return None;
    }
    let wanted = model.work.clips.wanted(session).filter(|wanted| wanted.until > now && wanted.due.is_none())?;
    let key = after(model.bindings.leader, &model.bindings.leader_key(Action::Clipboard));
    let text = format!("asks to copy {}: {key} · ignored otherwise", clip::amount(&wanted.text));
    Some(Banner { text, level: Level::Info })
}

/// Where the link leads that the mouse or the cursor of copy mode is on.
fn link(model: &Model, client: ClientId, pane: PaneId, content: &PaneContent<'_>) -> Option<String> {
    if let Some((x, y, address)) = model.clients.get(&client).and_then(|c| c.pointed.as_ref())
        && model.pane_at(client, *x, *y).is_some_and(|(at, _)| at == pane)
    {
        return Some(address.clone());
    }
    match content {
        PaneContent::Terminal { screen, offset, copy_cursor: Some((col, row)), .. } => {
            term::link::at(&screen.view_at(*offset), *row, *col)
        }
        _ => None,
    }
}

/// What an opening pane waits for.
fn waiting(model: &Model, env: Option<&Environment>) -> String {
    let Some(env) = env else { return "opening".to_owned() };
    if let Some(progress) = model.work.progress.get(&env.id) {
        return progress.clone();
    }
    match (env.phase, &env.failure) {
        (Phase::Failed, Some(f)) => f.message.clone(),
        (Phase::Ready, _) => "opening a shell".to_owned(),
        (Phase::Reaping, _) => format!("{} is being stopped and will be started again", env.name),
        _ => format!("starting {}", env.name),
    }
}

/// What a session that is over says, and offers.
fn over(
    model: &Model,
    now: Moment,
    session: &Session,
    env: Option<&Environment>,
    (exit_code, at, why): (Option<i32>, Moment, &str),
) -> Banner {
    let gone = env.is_none_or(|e| e.phase != Phase::Ready || e.generation != session.generation);
    let opened = model.work.screens.contains_key(&session.id);
    if !opened {
        return Banner { text: format!("{why} · Enter tries again · x closes"), level: Level::Error };
    }
    if gone {
        let lost = env.is_none_or(|e| e.phase == Phase::Lost);
        // An engine tells the end of a program before that of the container that it ended with.
        let ending = env.and_then(|e| e.last_ending.as_ref());
        let ending = ending.filter(|ending| ending.at >= at && ending.at.since(at) <= WITH_ITS_SANDBOX);
        let why = ending.map_or(why, |ending| &ending.why);
        let level = if lost { Level::Error } else { Level::Warning };
        // What others made is started again, but never made anew by us.
        let again = env.is_some_and(|e| e.origin == Origin::Managed || e.sandbox.is_some());
        let offer = match env.and_then(Environment::swept_from).filter(|swept| *swept > now) {
            Some(swept) => format!("r starts it again, within {} · x closes", words::left(swept.since(now))),
            None if again => "r starts it again · x closes".to_owned(),
            None => "x closes".to_owned(),
        };
        return Banner {
            text: format!("{} {why} · {offer}", words::clock(at, model.options.utc_offset_seconds)),
            level,
        };
    }
    match exit_code {
        Some(0) => Banner { text: "ended (exit 0) · Enter again · x closes".to_owned(), level: Level::Info },
        Some(code) => Banner { text: format!("ended (exit {code}) · Enter again · x closes"), level: Level::Warning },
        None => Banner { text: format!("{why} · Enter again · x closes"), level: Level::Warning },
    }
}

/// Warning before the idle deadline, in the frame of every pane of the environment; not while something that was found
/// in it holds it.
fn env_banner(model: &Model, now: Moment, env: &Environment) -> Option<Banner> {
    if env.paused {
        let text = "paused by somebody else: nothing moves or is decided until it goes on".to_owned();
        return Some(Banner { text, level: Level::Warning });
    }
    let at = model.state.acts_at(now, env).filter(|_| env.warned && env.phase == Phase::Ready)?;
    let what = if env.idle_deed() == Some(Deed::Remove) { "removed" } else { "stops" };
    let left = words::left(at.since(now));
    Some(Banner { text: format!("{what} in {left} · any key extends"), level: Level::Warning })
}
