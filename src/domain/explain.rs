//! Puts judgements into words: the verdict with the facts that it rests on.

use super::effect::Deed;
use super::environment::{ActivityKind, Environment, Origin, Persistence, Phase};
use super::id::{ConversationId, EnvId};
use super::moment::Moment;
use super::reaper::{Ground, Judgement, judge};
use super::state::State;
use super::verdict::{Fact, Verdict, VerdictKind};
use super::watched::HermesReap;
use super::words;

/// Of that many conversations the ids are given.
const NAMED: usize = 5;

impl Deed {
    /// "stopped" or "removed".
    #[must_use]
    pub fn participle(self) -> &'static str {
        match self {
            Self::Stop => "stopped",
            Self::Remove => "removed",
        }
    }
}

impl State {
    /// The verdict on one environment, in words.
    pub(super) fn explain(&self, now: Moment, id: &EnvId) -> Option<Verdict> {
        let env = self.environments.get(id)?;
        let judgement = judge(env, self.access(env), now, None);
        let reason = self.reason(env, &judgement, now);
        let mut evidence = facts(env, now);
        evidence.extend(self.rules_of(id).into_iter().map(|(rule, conversations)| chosen(rule, &conversations)));
        Some(Verdict { kind: judgement.kind, reason, until: judgement.until, evidence })
    }

    fn reason(&self, env: &Environment, judgement: &Judgement, now: Moment) -> String {
        let left = judgement.until.map(|until| words::span(until.since(now)));
        let deed = env.idle_deed().map_or("ended", Deed::participle);
        match judgement.ground {
            Ground::Unreachable => {
                let why = self.down.get(&env.spec.endpoint).map_or("", String::as_str);
                format!("{} does not answer ({why}): nothing is decided until it does", env.spec.endpoint)
            }
            Ground::Unlisted => format!("the list of {} has not been seen yet", env.spec.endpoint),
            Ground::Paused => "paused by somebody else: nothing is decided until it goes on".into(),
            Ground::NotOurs => not_ours(env, now),
            Ground::AtRest => at_rest(env, now),
            Ground::Starting => "it is being started".into(),
            Ground::TearingDown => tearing_down(env),
            Ground::Leases => format!("held by {}", words::holders(&env.holders())),
            Ground::Process => {
                let next = left.unwrap_or_default();
                format!("in use by {}; looked at again in {next}", words::holders(&env.holders()))
            }
            Ground::KeepRunning => "its retention keeps it running".into(),
            Ground::IdleOff => "idle reaping is off: its idle time is 0".into(),
            Ground::Ending(cause) => {
                let deed = env.books.end.as_ref().map_or(Deed::Stop, |end| end.deed);
                let sentence = cause.sentence(deed, env.waited());
                left.map_or_else(|| format!("to be {sentence}"), |left| format!("to be {sentence}, in {left}"))
            }
            Ground::Idle if judgement.kind == VerdictKind::Reap && env.books.looking => {
                "its idle deadline has passed; a look inside is under way".into()
            }
            Ground::Idle if judgement.kind == VerdictKind::Reap => format!("its idle deadline has passed: {deed}"),
            Ground::Idle => format!("{deed} in {} unless it is used", left.unwrap_or_default()),
        }
    }
}

/// What its maker does with it, and what the user could consent to.
fn not_ours(env: &Environment, now: Moment) -> String {
    if env.origin != Origin::Hermes {
        return "not made by us: never ended by us".into();
    }
    let leak = env.leak().map(|leak| format!("leaked ({}): {}; ", leak.kind.word(), leak.evidence)).unwrap_or_default();
    let maker = format!("{leak}hermes: {}", env.maker());
    let sweep = env.swept_from().map(|at| format!("; {}", sweep(at, now))).unwrap_or_default();
    let Some((needed, deed)) = env.consent_needed() else {
        let label = env.their_retention().map(|retention| format!(", for its label says {}", retention.word()));
        return format!("{maker}{sweep}; never ended by us{}", label.unwrap_or_default());
    };
    let deed = match (needed, deed) {
        (HermesReap::Stale, _) => "stop it once it is stale",
        (_, Deed::Stop) => "stop it",
        (_, Deed::Remove) => "remove it",
    };
    let place = match env.watched.as_ref().and_then(|watched| watched.profile.as_deref()) {
        Some(profile) => format!("[hermes.profiles.{}]", words::quoted(profile)),
        None => "[hermes]".to_owned(),
    };
    format!("{maker}{sweep}; `{place} reap = \"{}\"` would let us {deed}", needed.word())
}

fn sweep(at: Moment, now: Moment) -> String {
    if at <= now {
        return "the next start of hermes-agent deletes it".to_owned();
    }
    format!("in {} the next start of hermes-agent deletes it unless it is started again", words::span(at.since(now)))
}

fn at_rest(env: &Environment, now: Moment) -> String {
    if let (Some(ending), Some(at)) = (&env.last_ending, env.swept_from()) {
        return format!("not running: {}; {}", ending.why, sweep(at, now));
    }
    match (&env.failure, &env.last_ending) {
        (Some(failure), _) if env.phase == Phase::Failed => format!("it could not be started: {}", failure.message),
        (Some(failure), _) => format!("not running; the last try to end it failed: {}", failure.message),
        (None, Some(ending)) => format!("not running: {}", ending.why),
        (None, None) if env.origin != Origin::Managed => "not running".to_owned(),
        (None, None) => "not running: it is started when somebody uses it".to_owned(),
    }
}

fn tearing_down(env: &Environment) -> String {
    env.books.teardown.as_ref().map_or_else(
        || "it is being torn down".into(),
        |teardown| format!("being {}", teardown.end.cause.sentence(teardown.end.deed, env.waited())),
    )
}

/// Who chose it, and for whom.
fn chosen(rule: &str, conversations: &[&ConversationId]) -> Fact {
    let named: Vec<&str> = conversations.iter().take(NAMED).map(|id| id.as_str()).collect();
    let more = conversations.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Fact { what: "chosen".into(), detail: format!("by {rule} for {}{more}", named.join(", ")) }
}

fn facts(env: &Environment, now: Moment) -> Vec<Fact> {
    let fact = |what: &str, detail: String| Fact { what: what.into(), detail };
    let ago = |at: Moment| format!("{} ago", words::span(now.since(at)));
    let mut facts = vec![fact("rule", rule(env))];
    if env.origin != Origin::Managed {
        facts.extend(facts_of_others(env));
    }
    let activity = &env.last_activity;
    facts.push(fact("activity", format!("{} ({}), {}", word(activity.kind), activity.detail, ago(activity.at))));
    for holder in env.holders() {
        facts.push(fact("holder", format!("{}: {}, since {}", holder.kind, holder.detail, ago(holder.since))));
    }
    // An end that is decided has its own time, which the reason names.
    if let Some(deadline) = env.deadline.filter(|_| env.books.end.is_none()) {
        facts.push(fact("deadline", format!("in {}", words::span(deadline.since(now)))));
    }
    if let Some(seen) = &env.books.seen {
        let (live, shells) = (seen.evidence.processes.len(), seen.evidence.idle_shells as usize);
        let detail = format!(
            "{live} live process{}, {} command{} of others, {shells} idle shell{}, {}",
            if live == 1 { "" } else { "es" },
            seen.evidence.execs,
            words::plural(seen.evidence.execs as usize),
            words::plural(shells),
            ago(seen.at)
        );
        facts.push(fact("look", detail));
    }
    if let Some(failure) = &env.failure {
        facts.push(fact("failure", format!("{} ({}, {})", failure.message, failure.hint, ago(failure.at))));
    }
    facts.push(fact("actor", actor(env)));
    facts
}

/// What was made by somebody else, and what of it survives.
fn facts_of_others(env: &Environment) -> Vec<Fact> {
    let fact = |what: &str, detail: String| Fact { what: what.into(), detail };
    let mut facts = Vec::new();
    if let Some(watched) = &env.watched {
        let task = watched.task.as_ref().map(|task| format!("task {task}"));
        let profile = watched.profile.as_ref().map(|profile| format!("profile {profile}"));
        let home = watched.home.as_ref().map(|home| format!("home {home}"));
        let parts: Vec<String> = profile.into_iter().chain(task).chain(home).collect();
        if !parts.is_empty() {
            facts.push(fact("maker", format!("hermes-agent, {}", parts.join(", "))));
        }
    }
    if let Some(retention) = env.their_retention() {
        facts.push(fact("retention", format!("{}, by its hermes-agent's label", retention.word())));
    }
    if let Some(leak) = env.leak() {
        facts.push(fact("leaked", format!("{}: {}", leak.kind.word(), leak.evidence)));
    }
    for mount in &env.spec.mounts {
        let access = if mount.read_only { "ro" } else { "rw, survives" };
        facts.push(fact("mount", format!("{} from {} ({access})", mount.target, mount.source)));
    }
    facts
}

fn rule(env: &Environment) -> String {
    if env.origin != Origin::Managed {
        return rule_of_others(env);
    }
    let idle =
        env.idle_time().map_or_else(|| "never by idleness".into(), |idle| format!("after {} idle", words::span(idle)));
    let scope = words::scope(env.spec.scope);
    match env.spec.persistence {
        Persistence::Persistent => {
            format!("persistent, scope {scope}, retention {}: {idle}", words::retention(env.spec.retention))
        }
        Persistence::Ephemeral => format!("ephemeral, scope {scope}: removed when its scope ends, {idle}"),
        Persistence::Unknown => "persistence unknown".into(),
    }
}

fn rule_of_others(env: &Environment) -> String {
    let persistence = words::persistence(env.spec.persistence);
    let consent = match (env.consented(), env.idle_time()) {
        (Some((deed, _)), Some(idle)) => {
            format!("your consent: {} after {} without use", deed.participle(), words::span(idle))
        }
        _ => "no consent to end it".to_owned(),
    };
    format!("persistence {persistence}; {consent}")
}

fn word(kind: ActivityKind) -> &'static str {
    match kind {
        ActivityKind::Started => "started",
        ActivityKind::Turn => "turn",
        ActivityKind::Command => "command",
        ActivityKind::Person => "person",
        ActivityKind::Exec => "exec of others",
        ActivityKind::Extended => "extended",
        ActivityKind::Adopted => "adopted",
    }
}

fn actor(env: &Environment) -> String {
    match env.origin {
        Origin::Managed => "hermes-tui".into(),
        Origin::Hermes if env.is_ours_to_end() => "hermes-tui, by your consent".into(),
        Origin::Hermes => format!("hermes-agent: {}", env.maker()),
        Origin::Foreign => "whoever made it".into(),
    }
}
