//! The sidebar's rows. With a thousand environments only those in sight are made.

use super::super::client::RowKey;
use super::super::model::Model;
use super::super::msg::ClientId;
use super::super::view_model::{EnvRow, RowState, Sidebar, SidebarRow};
use super::words;
use crate::domain::{
    BackendKind, Conversation, EnvId, Environment, LeaseKind, Moment, Network, Origin, Persistence, Phase, Retention,
    Span,
};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Columns that the values of details cannot use: indent, label, and a blank at the end.
const LABEL: usize = 13;

/// A deadline of one that is not ours which is further away than this is no news.
const FAR: Span = Span::hours(24);

/// A conversation of an agent in which nothing was said for longer is over, whether or not that was written down.
const FRESH: Span = Span::hours(24);

/// A line of the sidebar before its text is made.
enum Line<'a> {
    Group(usize, bool),
    Env(&'a EnvId),
    Detail(&'a EnvId, usize),
}

/// Environments that match a filter, best first.
pub fn matching(model: &Model, filter: &str) -> Vec<EnvId> {
    let envs = model.groups.iter().flat_map(|g| &g.envs);
    let named = envs.filter_map(|id| Some((id, model.state.environments.get(id)?.name.as_str())));
    fuzzy(filter, named.collect()).into_iter().cloned().collect()
}

/// Items whose text matches what is typed, best first; all of them in order when nothing is typed.
pub fn fuzzy<T>(typed: &str, items: Vec<(T, &str)>) -> Vec<T> {
    if typed.trim().is_empty() {
        return items.into_iter().map(|(item, _)| item).collect();
    }
    let pattern = Pattern::new(typed, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut buffer = Vec::new();
    let mut found: Vec<(u32, T)> = items
        .into_iter()
        .filter_map(|(item, text)| Some((pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher)?, item)))
        .collect();
    // Stable: equal scores keep their order.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, item)| item).collect()
}

fn lines<'a>(model: &'a Model, client: ClientId, filtered: &'a [EnvId]) -> Vec<(Line<'a>, Option<RowKey>)> {
    let Some(c) = model.clients.get(&client) else { return Vec::new() };
    let width = model.shown_frame(client).sidebar.width;
    let mut out = Vec::new();
    let env = |id: &'a EnvId, out: &mut Vec<_>| {
        out.push((Line::Env(id), Some(RowKey::Env(id.clone()))));
        if c.sidebar.details.contains(id) {
            out.extend((0..details(model, Moment(0), id, width).len()).map(|n| (Line::Detail(id, n), None)));
        }
    };
    let filtering = c.sidebar.filter.as_ref().is_some_and(|f| !f.text().is_empty());
    if filtering {
        filtered.iter().for_each(|id| env(id, &mut out));
        return out;
    }
    for (index, group) in model.groups.iter().enumerate() {
        let folded = c.sidebar.folded.contains(&group.key);
        out.push((Line::Group(index, folded), Some(RowKey::Group(group.key.clone()))));
        if !folded {
            group.envs.iter().for_each(|id| env(id, &mut out));
        }
    }
    out
}

/// The sidebar of a client.
pub fn sidebar(model: &Model, now: Moment, client: ClientId) -> Sidebar {
    let frame = model.shown_frame(client);
    let Some(c) = model.clients.get(&client) else {
        return Sidebar {
            area: frame.sidebar,
            strip: frame.strip,
            focused: false,
            rows: Vec::new(),
            selected: None,
            hidden: (0, 0),
            filter: None,
        };
    };
    let filter = c.sidebar.filter.as_ref();
    let filtered = filter.map(|f| matching(model, f.text())).unwrap_or_default();
    let all = lines(model, client, &filtered);
    let height = usize::from(frame.sidebar.height.saturating_sub(2));
    let from = c.sidebar.scroll.min(all.len().saturating_sub(height));
    let upto = (from + height).min(all.len());
    let active = model.focused_pane(client).and_then(|p| model.env_of_pane(p));
    let rows: Vec<SidebarRow> =
        all[from..upto].iter().map(|(line, _)| row(model, now, line, active.as_ref(), frame.sidebar.width)).collect();
    let selected = all[from..upto].iter().position(|(_, key)| key.is_some() && *key == c.sidebar.selected);
    Sidebar {
        area: frame.sidebar,
        strip: frame.strip,
        focused: model.in_nav(client),
        rows,
        selected,
        hidden: (from, all.len() - upto),
        filter: filter.map(|f| (f.text().to_owned(), filtered.len())),
    }
}

/// What a click on a line of the sidebar selects; a line of details belongs to its environment.
pub fn key_at_line(model: &Model, client: ClientId, line: usize) -> Option<RowKey> {
    let c = model.clients.get(&client)?;
    let filtered = c.sidebar.filter.as_ref().map(|f| matching(model, f.text())).unwrap_or_default();
    let all = lines(model, client, &filtered);
    let height = usize::from(model.shown_frame(client).sidebar.height.saturating_sub(2));
    let from = c.sidebar.scroll.min(all.len().saturating_sub(height));
    match all.get(from + line)? {
        (Line::Detail(id, _), _) => Some(RowKey::Env((*id).clone())),
        (_, key) => key.clone(),
    }
}

fn row(model: &Model, now: Moment, line: &Line<'_>, active: Option<&EnvId>, width: u16) -> SidebarRow {
    match line {
        Line::Group(index, folded) => {
            let key = &model.groups[*index].key;
            SidebarRow::Group {
                title: key.title(),
                folded: *folded,
                trouble: model.state.down.get(&key.endpoint).cloned(),
            }
        }
        Line::Env(id) => match model.state.environments.get(*id) {
            Some(env) => SidebarRow::Environment(env_row(model, now, env, active == Some(*id))),
            None => SidebarRow::Detail { label: String::new(), value: String::new() },
        },
        Line::Detail(id, n) => {
            let (label, value) = details(model, now, id, width).into_iter().nth(*n).unwrap_or_default();
            SidebarRow::Detail { label, value }
        }
    }
}

fn env_row(model: &Model, now: Moment, env: &Environment, active: bool) -> EnvRow {
    EnvRow {
        name: env.name.clone(),
        phase: env.phase,
        persistent: match env.spec.persistence {
            Persistence::Persistent => Some(true),
            Persistence::Ephemeral => Some(false),
            Persistence::Unknown => None,
        },
        active,
        pinned: env.leases.iter().any(|l| l.kind == LeaseKind::Pin),
        on_host: env.spec.on_host,
        host_network: env.spec.network == Network::Host && !env.spec.on_host,
        shared_by: match env.conversations.len() + told_of(model, env).filter(|c| goes_on(c, now)).count() {
            0 | 1 => 0,
            many => many,
        },
        state: row_state(model, now, env),
    }
}

/// Conversations of an agent whose commands run in this environment, as its own records tell.
fn told_of<'a>(model: &'a Model, env: &'a Environment) -> impl Iterator<Item = &'a Conversation> {
    let here = |c: &&Conversation| c.agent.is_some() && c.env.as_ref() == Some(&env.id);
    model.state.conversations.values().filter(here)
}

/// Whether something may still be said in it: agents do not always write down that a conversation is over.
pub fn goes_on(conversation: &Conversation, now: Moment) -> bool {
    conversation.ended.is_none() && now <= conversation.last_active + FRESH
}

/// What stands at the right of an environment's row.
pub fn row_state(model: &Model, now: Moment, env: &Environment) -> RowState {
    let word = |text: &str| RowState::Word(text.to_owned());
    if model.state.down.contains_key(&env.spec.endpoint) {
        return word("frozen");
    }
    match env.phase {
        Phase::Ready if env.paused => return word("paused"),
        Phase::Ready if env.taken.is_some() => return word("yours"),
        Phase::Ready => {}
        Phase::Stopped if env.swept_from().is_some() => return swept(now, env),
        Phase::Stopped if env.leak().is_some() => return leaked(env),
        Phase::Failed => {
            return match env.retry_at().filter(|at| *at > now) {
                Some(at) => RowState::Word(format!("failed · retry {}", words::left(at.since(now)))),
                None => word("failed"),
            };
        }
        other => return word(words::phase(other)),
    }
    let turn = env.leases.iter().find_map(|l| match &l.kind {
        LeaseKind::Turn(id) => {
            let turns =
                env.conversations.iter().filter_map(|c| model.state.conversations.get(c)).flat_map(|c| &c.turns);
            turns.filter(|t| t.id == *id).map(|t| t.number).next()
        }
        _ => None,
    });
    let told =
        || told_of(model, env).filter_map(|c| c.open_turn()).max_by_key(|turn| turn.began).map(|turn| turn.number);
    if let Some(number) = turn.or_else(told) {
        return RowState::Turn { number };
    }
    // What a look found holds it as a lease does, although the deadline of the next look runs.
    let holders = env.holders().len();
    match (holders, model.state.acts_at(now, env)) {
        (1, _) if env.leases.iter().any(|l| l.kind == LeaseKind::Pin) => word("pinned"),
        (n, _) if n > 0 => RowState::Held(n),
        (_, Some(at)) if env.origin == Origin::Managed || at.since(now) < FAR => {
            RowState::Countdown { left_ms: at.since(now).0, total_ms: env.waited().0, warned: env.warned }
        }
        // Its endpoint's list has not been seen yet.
        (_, None) if env.deadline.is_some() => word("frozen"),
        _ if env.leak().is_some() => leaked(env),
        _ if env.origin == Origin::Hermes => RowState::Word(format!("hermes: {}", env.maker())),
        _ if env.origin == Origin::Foreign => word("not ours"),
        _ => word("keeps running"),
    }
}

/// One that nobody will miss.
fn leaked(env: &Environment) -> RowState {
    RowState::Word(format!("leaked: {}", env.leak().map_or("", |leak| leak.kind.word())))
}

/// A stopped one that its hermes-agent deletes after a while.
fn swept(now: Moment, env: &Environment) -> RowState {
    match env.swept_from().filter(|at| *at > now) {
        Some(at) => RowState::Word(format!("stopped · swept in {}", words::left(at.since(now)))),
        None => RowState::Word("stopped · to be swept".to_owned()),
    }
}

/// Lines of detail of an environment in a sidebar of that width. Their number does not depend on the time.
pub fn details(model: &Model, now: Moment, id: &EnvId, width: u16) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (label, value, whole) in facts(model, now, id) {
        // Between the borders, after the label.
        let inside = usize::from(width.saturating_sub(2));
        let room = inside.saturating_sub(LABEL.min(inside / 2).max(label.len() + 5)).max(6);
        let lines = if whole { vec![value] } else { words::wrap(&value, room) };
        out.extend(lines.into_iter().enumerate().map(|(n, v)| (if n == 0 { label } else { "" }.to_owned(), v)));
    }
    out
}

/// Facts of an environment: name, value, and whether it must stay one line because it changes with time.
fn facts(model: &Model, now: Moment, id: &EnvId) -> Vec<(&'static str, String, bool)> {
    let Some(env) = model.state.environments.get(id) else { return Vec::new() };
    let mut out: Vec<(&'static str, String, bool)> = Vec::new();
    let last = &env.last_activity;
    let mut add = |label: &'static str, value: String| out.push((label, value, false));
    if let Some(progress) = model.work.progress.get(id) {
        add("now", progress.clone());
    }
    if let Some(failure) = &env.failure {
        add("failed", failure.message.clone());
        if !failure.hint.is_empty() {
            add("try", failure.hint.clone());
        }
    }
    add("kind", words::persistence(env.spec.persistence).to_owned());
    if env.origin == Origin::Managed {
        add("scope", words::scope(env.spec.scope).to_owned());
    } else {
        of_others(env, &mut add);
    }
    if env.origin != Origin::Managed {
        add("ends", ends(env));
    } else if env.spec.persistence == Persistence::Persistent {
        add("idle", retention(env));
    } else {
        add("idle", idle(env.spec.idle));
    }
    if let Some(image) = &env.spec.image {
        add("image", image.clone());
    }
    add("network", words::network(env.spec.network).to_owned());
    for holder in env.holders() {
        add("held by", words::excerpt(&holder.detail, 60));
    }
    out.push(("active", words::ago(now, last.at), true));
    let mut add = |label: &'static str, value: String| out.push((label, value, false));
    let what = if last.detail.is_empty() { words::activity(last.kind) } else { &last.detail };
    add("", words::excerpt(what, 60));
    if let Some(ending) = &env.last_ending {
        add("ended", format!("{} {}", words::clock(ending.at, model.options.utc_offset_seconds), ending.why));
    }
    for mount in &env.spec.mounts {
        add("mount", format!("{} {}", mount.target, if mount.read_only { "ro" } else { "rw" }));
    }
    if env.origin == Origin::Managed {
        add("survives", "home, /workspace".to_owned());
    } else {
        let kept: Vec<&str> = env.spec.mounts.iter().filter(|m| !m.read_only).map(|m| m.target.as_str()).collect();
        add("survives", if kept.is_empty() { "nothing".to_owned() } else { kept.join(", ") });
    }
    if let Some(bytes) = env.spec.memory_bytes {
        add("memory", words::bytes(bytes));
    }
    if let Some(cpu) = env.spec.cpu_millis {
        add("cpus", format!("{}.{:02}", cpu / 1000, cpu % 1000 / 10));
    }
    for told in told_of(model, env).filter(|c| goes_on(c, now)) {
        add("serves", told.title.clone().unwrap_or_else(|| told.id.to_string()));
    }
    for id in &env.conversations {
        let title = model.state.conversations.get(id).and_then(|c| c.title.clone());
        add("serves", title.unwrap_or_else(|| id.to_string()));
    }
    let sandbox = env.sandbox.as_ref().map_or_else(|| "none".to_owned(), |s| s.as_str().chars().take(12).collect());
    add("sandbox", format!("{sandbox} (generation {})", env.generation.0));
    if env.spec.backend == BackendKind::Local && env.spec.on_host {
        add("isolated", "NO: a shell of the host".to_owned());
    }
    out
}

/// What is known of one that is not ours.
fn of_others(env: &Environment, add: &mut impl FnMut(&'static str, String)) {
    if env.paused {
        add("paused", "by somebody else".to_owned());
    }
    let Some(watched) = &env.watched else { return };
    if let Some(profile) = &watched.profile {
        add("profile", profile.clone());
    }
    if let Some(task) = &watched.task {
        add("task", task.clone());
    }
    if let Some(home) = &watched.home {
        add("home", home.clone());
    }
    if env.origin == Origin::Hermes {
        add("hermes", env.maker().to_owned());
    }
    if let Some(retention) = &watched.retention {
        add("label", retention.word().to_owned());
    }
    if let Some(leak) = env.leak() {
        add("leaked", leak.evidence.clone());
    }
}

/// What we do to one that is not ours.
fn ends(env: &Environment) -> String {
    match (env.idle_deed(), env.idle_time()) {
        (Some(deed), Some(idle)) => format!("{} after {}", deed.participle(), self::idle(idle)),
        _ => "never by us".to_owned(),
    }
}

fn retention(env: &Environment) -> String {
    match (env.spec.retention, env.spec.idle) {
        (Retention::KeepRunning, _) => words::retention(env.spec.retention).to_owned(),
        (_, Span(0)) => "never ended: idle time is 0".to_owned(),
        (r, span) => format!("{} ({})", words::retention(r), idle(span)),
    }
}

fn idle(span: Span) -> String {
    if span.0 == 0 { "never".to_owned() } else { words::left(span) }
}
