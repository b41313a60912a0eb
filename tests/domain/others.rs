//! Sandboxes that are not ours: listed, rebound, dropped, never ended without a word of the user.

use crate::desk::*;
use hermes_tui::domain::*;

fn place() -> EndpointId {
    docker().endpoint
}

fn hermes_spec(persistence: Persistence) -> EnvSpec {
    let mount = Mount { source: "/h/home".into(), target: "/root".into(), read_only: false };
    let mounts = if persistence == Persistence::Persistent { vec![mount] } else { Vec::new() };
    EnvSpec { persistence, mounts, scope: Scope::Shared, ..docker() }
}

/// A container of the hermes-agent with profile `work`, as a list shows it.
fn theirs(id: &str, persistence: Persistence) -> FoundSandbox {
    let watched =
        Watched { profile: Some("work".into()), maker: "leaves running".into(), made: START, ..Watched::default() };
    FoundSandbox {
        origin: Origin::Hermes,
        watched: Some(Box::new(watched)),
        ..found(id, SandboxState::Running, hermes_spec(persistence))
    }
}

fn leaked(id: &str, kind: LeakKind) -> FoundSandbox {
    let mut one = theirs(id, Persistence::Persistent);
    if let Some(watched) = &mut one.watched {
        watched.leak = Some(Leak { kind, evidence: "its task is prompt-backend-probe".into() });
    }
    one
}

fn stopped(one: FoundSandbox) -> FoundSandbox {
    FoundSandbox { state: SandboxState::Stopped, ..one }
}

fn replaced(one: FoundSandbox, sandbox: &str, generation: u64) -> FoundSandbox {
    FoundSandbox { sandbox: SandboxId::new(sandbox), generation: Generation(generation), ..one }
}

fn consent(reap: HermesReap) -> Event {
    Event::ConsentGiven(Consent { reap, ..Consent::default() })
}

fn watching(reap: HermesReap, found: Vec<FoundSandbox>) -> Desk {
    let mut desk = Desk::new();
    desk.apply(consent(reap));
    desk.snapshot(&place(), found);
    desk
}

fn begins(desk: &mut Desk, sandbox: &str, exec: &str, command: &str) -> Vec<Effect> {
    desk.apply(Event::ExecBegan {
        sandbox: SandboxId::new(sandbox),
        endpoint: place(),
        exec: CallId::new(exec),
        command: command.into(),
        cwd: None,
    })
}

fn ends(desk: &mut Desk, exec: &str) -> Vec<Effect> {
    desk.apply(Event::ExecEnded { exec: CallId::new(exec), exit_code: Some(0), cwd: Some("/root".into()) })
}

fn pauses(desk: &mut Desk, sandbox: &str, paused: bool) -> Vec<Effect> {
    desk.apply(Event::SandboxPaused { sandbox: SandboxId::new(sandbox), endpoint: place(), paused })
}

fn shell(desk: &mut Desk, id: &str, session: &str) -> SessionId {
    let session = SessionId::new(session);
    let effects = desk.ask(Request::OpenSession {
        session: session.clone(),
        env: env(id),
        conversation: None,
        program: Vec::new(),
        begin: Begin::Usual,
        size: Size::default(),
    });
    desk.open_sessions(&effects);
    session
}

fn ended(desk: &Desk, session: &SessionId) -> Option<String> {
    match &desk.state.sessions[session].state {
        SessionState::Ended { why, .. } => Some(why.clone()),
        _ => None,
    }
}

#[test]
fn what_a_hermes_agent_made_is_listed_as_it_is() {
    let mut desk = watching(HermesReap::Off, vec![theirs("h", Persistence::Persistent)]);
    let env = desk.env("h");
    assert_eq!((env.origin, env.phase, env.name.as_str()), (Origin::Hermes, Phase::Ready, "h"));
    assert_eq!(env.watched.as_ref().unwrap().profile.as_deref(), Some("work"));
    assert_eq!(env.deadline, None);
    let verdict = desk.verdict("h");
    assert_eq!(verdict.kind, VerdictKind::NotOurs);
    assert!(verdict.reason.contains("leaves running"), "{}", verdict.reason);
    assert!(verdict.reason.contains("`[hermes.profiles.work] reap = \"stale\"`"), "{}", verdict.reason);
    // What its maker will do, and its spec, are told anew by each list.
    let mut next = theirs("h", Persistence::Persistent);
    next.watched.as_mut().unwrap().maker = "stops and removes it when it exits".into();
    next.spec.as_mut().unwrap().image = Some("debian:12".into());
    desk.snapshot(&place(), vec![next]);
    assert_eq!(desk.env("h").spec.image.as_deref(), Some("debian:12"));
    assert!(desk.verdict("h").reason.contains("stops and removes it"), "{}", desk.verdict("h").reason);
}

#[test]
fn one_without_anybody_in_it_leaves_the_list_with_its_container() {
    let mut desk = watching(HermesReap::Off, vec![theirs("h", Persistence::Persistent)]);
    desk.pass(Span::seconds(5));
    desk.snapshot(&place(), Vec::new());
    assert!(!desk.is_listed("h"));
    let mut desk = watching(HermesReap::Off, vec![theirs("h", Persistence::Persistent)]);
    desk.ends_outside("h", true);
    assert!(!desk.is_listed("h"));
}

#[test]
fn one_with_a_pane_in_it_is_lost_until_the_pane_is_closed_and_never_remade() {
    let mut desk = watching(HermesReap::Off, vec![theirs("h", Persistence::Persistent)]);
    let session = shell(&mut desk, "h", "s");
    desk.pass(Span::seconds(5));
    let effects = desk.snapshot(&place(), Vec::new());
    assert_eq!(desk.phase("h"), Phase::Lost);
    assert!(ended(&desk, &session).is_some());
    assert!(!provisions(&effects));
    let effects = desk.ask(Request::Start(env("h")));
    assert_eq!(refusal(&effects).kind, RefusalKind::Policy);
    assert!(!provisions(&effects) && !provisions(&desk.pass(Span::hours(1))));
    desk.apply(Event::SessionForgotten(session));
    assert!(!desk.is_listed("h"));
}

#[test]
fn a_container_that_took_the_place_of_another_is_the_same_environment() {
    let mut desk = watching(HermesReap::Off, vec![theirs("h", Persistence::Persistent)]);
    desk.ask(Request::Pin(env("h")));
    let session = shell(&mut desk, "h", "s");
    let before = desk.env("h").generation;
    desk.pass(Span::seconds(5));
    let effects = desk.snapshot(&place(), vec![replaced(theirs("h", Persistence::Persistent), "box-2", 7)]);
    assert_eq!(desk.env("h").sandbox, Some(SandboxId::new("box-2")));
    assert!(desk.env("h").generation > before);
    assert_eq!((desk.phase("h"), deed(&effects)), (Phase::Ready, None));
    assert_eq!(ended(&desk, &session).as_deref(), Some("another container took its place"));
    assert!(desk.env("h").leases.iter().any(|lease| lease.kind == LeaseKind::Pin));
    shell(&mut desk, "h", "s2");
    assert_eq!(ended(&desk, &SessionId::new("s2")), None);
}

#[test]
fn of_several_containers_none_is_superseded_and_the_running_one_counts() {
    let one = stopped(theirs("h", Persistence::Persistent));
    let other = replaced(theirs("h", Persistence::Persistent), "box-2", 3);
    let mut desk = watching(HermesReap::Stale, Vec::new());
    let effects = desk.snapshot(&place(), vec![one.clone(), other.clone()]);
    assert_eq!((deed(&effects), desk.env("h").sandbox.clone()), (None, Some(SandboxId::new("box-2"))));
    assert_eq!(deed(&desk.snapshot(&place(), vec![other, one])), None);
}

#[test]
fn started_again_by_somebody_else_it_has_a_new_generation() {
    let mut desk = watching(HermesReap::Off, vec![theirs("h", Persistence::Persistent)]);
    let session = shell(&mut desk, "h", "s");
    let before = desk.env("h").generation;
    let again = FoundSandbox { generation: Generation(2), ..theirs("h", Persistence::Persistent) };
    desk.snapshot(&place(), vec![again.clone()]);
    assert!(desk.env("h").generation > before && ended(&desk, &session).is_some());
    let session = shell(&mut desk, "h", "s2");
    desk.snapshot(&place(), vec![again]);
    assert_eq!(ended(&desk, &session), None, "the same list again changes nothing");
}

#[test]
fn a_restart_of_the_host_brings_back_names_and_pins_but_not_what_is_gone() {
    let mut desk =
        watching(HermesReap::Off, vec![theirs("h", Persistence::Persistent), theirs("g", Persistence::Ephemeral)]);
    desk.ask(Request::Rename { env: env("h"), name: "mine".into() });
    desk.ask(Request::Pin(env("h")));
    let mut desk = desk.restarted();
    assert_eq!(desk.verdict("g").kind, VerdictKind::Frozen);
    desk.snapshot(&place(), vec![theirs("h", Persistence::Persistent)]);
    assert!(!desk.is_listed("g"));
    assert_eq!(desk.env("h").name, "mine");
    assert!(desk.env("h").leases.iter().any(|lease| lease.kind == LeaseKind::Pin));
    // The name outlives the container.
    desk.ask(Request::Unpin(env("h")));
    desk.pass(Span::seconds(5));
    desk.snapshot(&place(), Vec::new());
    assert!(!desk.is_listed("h"));
    desk.snapshot(&place(), vec![replaced(theirs("h", Persistence::Persistent), "box-9", 9)]);
    assert_eq!(desk.env("h").name, "mine");
}

#[test]
fn a_turn_a_command_and_a_session_use_it_while_it_runs() {
    let mut desk = watching(HermesReap::Off, vec![theirs("h", Persistence::Ephemeral)]);
    let effects = desk.begin_in("c", TurnTarget::Named("h".into()));
    desk.open_sessions(&effects);
    assert_eq!(desk.env_of("c"), "h");
    desk.end("c");
    let effects = desk.end_conversation("c");
    assert_eq!((deed(&effects), desk.phase("h")), (None, Phase::Ready));
    assert_eq!(deed(&desk.pass_quietly(Span::hours(24))), None);
    desk.snapshot(&place(), vec![stopped(theirs("h", Persistence::Ephemeral))]);
    let refused = refusal(&desk.begin_in("d", TurnTarget::Named("h".into())));
    assert!(refused.hint.contains("env start h"), "{}", refused.hint);
}

#[test]
fn leaked_ones_are_removed_with_consent_after_a_minute_and_a_look() {
    for kind in [LeakKind::Probe, LeakKind::DeadOwner] {
        let mut desk = watching(HermesReap::Off, vec![leaked("h", kind)]);
        assert!(desk.verdict("h").reason.contains("`[hermes.profiles.work] reap = \"leaked\"`"));
        assert_eq!(deed(&desk.pass_quietly(Span::hours(24))), None);
        let mut desk = watching(HermesReap::Leaked, vec![leaked("h", kind)]);
        assert_eq!(deed(&desk.pass_quietly(Span::seconds(59))), None);
        let effects = desk.pass(Span::seconds(1));
        assert!(looks(&effects) && deed(&effects).is_none());
        let effects = desk.evidence("h", Ok(Evidence::default()));
        let whose = effects.iter().find_map(|effect| match effect {
            Effect::Teardown { deed, whose, .. } => Some((*deed, *whose)),
            _ => None,
        });
        assert_eq!(whose, Some((Deed::Remove, Origin::Hermes)));
        desk.torn_down("h");
        assert!(!desk.is_listed("h"));
    }
}

#[test]
fn one_that_was_never_started_is_removed_with_consent() {
    let mut desk = watching(HermesReap::Leaked, vec![stopped(leaked("h", LeakKind::NeverStarted))]);
    assert_eq!(deed(&desk.pass(Span::seconds(59))), None);
    assert_eq!(deed(&desk.pass(Span::seconds(2))), Some(Deed::Remove));
    let mut desk = watching(HermesReap::Stale, vec![stopped(theirs("h", Persistence::Persistent))]);
    assert_eq!(deed(&desk.pass(Span::hours(1000))), None, "a persistent one is never removed");
}

#[test]
fn a_leak_that_shows_later_gets_its_minute_too_and_one_that_is_none_is_spared() {
    let mut desk = watching(HermesReap::Leaked, vec![theirs("h", Persistence::Persistent)]);
    desk.pass(Span::hours(5));
    desk.snapshot(&place(), vec![leaked("h", LeakKind::DeadOwner)]);
    assert_eq!(deed(&desk.pass_quietly(Span::seconds(59))), None);
    desk.snapshot(&place(), vec![theirs("h", Persistence::Persistent)]);
    assert_eq!(deed(&desk.pass_quietly(Span::hours(5))), None);
    let mut desk = watching(HermesReap::Leaked, vec![stopped(leaked("h", LeakKind::NeverStarted))]);
    desk.snapshot(&place(), vec![stopped(theirs("h", Persistence::Persistent))]);
    assert_eq!(deed(&desk.pass_quietly(Span::hours(5))), None);
}

#[test]
fn ephemeral_ones_end_at_their_idle_deadline_with_consent() {
    for reap in [HermesReap::Off, HermesReap::Leaked] {
        let mut desk = watching(reap, vec![theirs("h", Persistence::Ephemeral)]);
        assert_eq!(deed(&desk.pass_quietly(Span::hours(24))), None);
    }
    let mut desk = watching(HermesReap::Ephemeral, vec![theirs("h", Persistence::Ephemeral)]);
    assert_eq!(desk.env("h").deadline, Some(START + Span::seconds(300)));
    let effects = desk.pass_quietly(Span::seconds(245));
    assert!(announces(&effects, NoticeKind::EnvWarned));
    begins(&mut desk, "box-h", "x", "ls");
    ends(&mut desk, "x");
    assert_eq!(deed(&desk.pass_quietly(Span::seconds(290))), None, "a command of its agent counts as use");
    assert_eq!(deed(&desk.pass_quietly(Span::seconds(20))), Some(Deed::Remove));
}

#[test]
fn persistent_ones_are_stopped_when_stale_and_never_else() {
    let mut desk = watching(HermesReap::Ephemeral, vec![theirs("h", Persistence::Persistent)]);
    assert_eq!(deed(&desk.pass_quietly(Span::hours(24 * 30))), None);
    let mut desk = watching(HermesReap::Stale, vec![theirs("h", Persistence::Persistent)]);
    assert_eq!(deed(&desk.pass_quietly(Span::hours(24 * 6))), None);
    begins(&mut desk, "box-h", "x", "ls");
    ends(&mut desk, "x");
    assert_eq!(deed(&desk.pass_quietly(Span::hours(24 * 6))), None);
    assert_eq!(deed(&desk.pass_quietly(Span::hours(30))), Some(Deed::Stop));
}

#[test]
fn one_profile_can_be_treated_in_another_way() {
    let mut desk = Desk::new();
    let profiles = [("work".to_owned(), HermesReap::Off)].into();
    desk.apply(Event::ConsentGiven(Consent { reap: HermesReap::Stale, profiles, ..Consent::default() }));
    desk.snapshot(&place(), vec![theirs("h", Persistence::Ephemeral)]);
    assert_eq!(deed(&desk.pass_quietly(Span::hours(24))), None);
}

#[test]
fn consent_that_is_taken_back_ends_nothing_any_more() {
    let mut desk = watching(HermesReap::Ephemeral, vec![stopped(theirs("h", Persistence::Ephemeral))]);
    desk.apply(consent(HermesReap::Off));
    assert_eq!(deed(&desk.pass_quietly(Span::hours(24))), None);
    let restarted = watching(HermesReap::Ephemeral, vec![stopped(theirs("h", Persistence::Ephemeral))]).restarted();
    let mut desk = restarted;
    desk.snapshot(&place(), vec![stopped(theirs("h", Persistence::Ephemeral))]);
    assert_eq!(deed(&desk.pass_quietly(Span::hours(24))), None, "the journal gives no consent");
}

#[test]
fn while_it_is_paused_nothing_is_looked_at_and_nothing_ends() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    let deadline = desk.env("a").deadline.unwrap();
    pauses(&mut desk, "box-a", true);
    let verdict = desk.verdict("a");
    assert_eq!(verdict.kind, VerdictKind::Frozen);
    assert_eq!(verdict.reason, "paused by somebody else: nothing is decided until it goes on");
    let effects = desk.pass(Span::hours(2));
    assert!(!looks(&effects) && deed(&effects).is_none());
    assert_eq!(refusal(&desk.ask(Request::Stop { env: env("a"), force: true })).kind, RefusalKind::Policy);
    assert_eq!(refusal(&desk.begin_in("c", TurnTarget::Named("a".into()))).kind, RefusalKind::Policy);
    pauses(&mut desk, "box-a", false);
    desk.evidence("a", Ok(Evidence::default()));
    let after = desk.env("a").deadline.unwrap();
    assert!(after >= deadline && after >= desk.now + Span::seconds(60));
    assert_eq!(deed(&desk.pass_quietly(Span::seconds(59))), None);
    assert_eq!(deed(&desk.pass_quietly(Span::seconds(2))), Some(Deed::Stop));
}

#[test]
fn a_list_tells_of_pauses_too() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    let listed = |state| FoundSandbox { state, ..found("a", state, docker()) };
    desk.snapshot(&place(), vec![listed(SandboxState::Paused)]);
    assert!(desk.env("a").paused);
    desk.snapshot(&place(), vec![listed(SandboxState::Running)]);
    assert!(!desk.env("a").paused);
}

#[test]
fn a_command_of_somebody_else_holds_and_is_use_at_both_ends() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    desk.pass_quietly(Span::seconds(100));
    begins(&mut desk, "box-a", "x1", "cargo test");
    assert_eq!(desk.env("a").deadline, None);
    let holders = desk.env("a").holders();
    assert_eq!((holders.len(), holders[0].kind.as_str(), holders[0].detail.as_str()), (1, "call", "cargo test"));
    begins(&mut desk, "box-a", "x1", "cargo test");
    assert_eq!(desk.env("a").leases.len(), 1, "told again it is the same command");
    assert_eq!(deed(&desk.pass_quietly(Span::hours(3))), None);
    ends(&mut desk, "x1");
    assert_eq!(desk.env("a").deadline, Some(desk.now + Span::seconds(300)));
    let call = &desk.state.calls[&CallId::new("x1")];
    assert_eq!((call.exit_code, call.cwd.as_deref(), call.source), (Some(0), Some("/root"), CallSource::Observed));
    // The end of a command that nobody knows is nothing.
    let before = desk.state.clone();
    assert_eq!(ends(&mut desk, "unknown"), Vec::new());
    assert_eq!(desk.state, before);
}

#[test]
fn commands_of_others_are_cut_off_with_their_sandbox() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    begins(&mut desk, "box-a", "x1", "cargo test");
    desk.ends_outside("a", false);
    assert!(desk.env("a").leases.is_empty() && desk.state.observed.is_empty());
    assert!(desk.state.calls[&CallId::new("x1")].ended.is_some());
}

#[test]
fn after_an_absence_only_commands_that_are_named_again_hold() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    begins(&mut desk, "box-a", "gone", "make");
    begins(&mut desk, "box-a", "runs", "sleep 1000");
    desk.apply(Event::EndpointDown { endpoint: place(), detail: "connection refused".into() });
    desk.pass(Span::hours(1));
    assert_eq!(desk.env("a").leases.len(), 2, "while it is down nothing is concluded");
    desk.apply(Event::EndpointUp(place()));
    desk.snapshot(&place(), vec![found("a", SandboxState::Running, docker())]);
    begins(&mut desk, "box-a", "runs", "sleep 1000");
    desk.pass(Span::seconds(10));
    let held: Vec<String> = desk.env("a").holders().into_iter().map(|holder| holder.detail).collect();
    assert_eq!(held, ["sleep 1000"]);
    assert_eq!(desk.state.calls[&CallId::new("gone")].exit_code, None);
}

#[test]
fn after_a_restart_of_the_host_a_command_that_still_runs_holds_again() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    begins(&mut desk, "box-a", "x1", "sleep 1000");
    let mut desk = desk.restarted();
    desk.snapshot(&place(), vec![found("a", SandboxState::Running, docker())]);
    begins(&mut desk, "box-a", "x1", "sleep 1000");
    assert_eq!(desk.env("a").leases.len(), 1);
    assert_eq!(desk.state.calls[&CallId::new("x1")].ended, None);
    ends(&mut desk, "x1");
    begins(&mut desk, "box-a", "x1", "sleep 1000");
    assert_eq!(desk.env("a").leases.len(), 0, "one that has ended does not begin again");
}

#[test]
fn an_agent_that_asks_every_two_seconds_floods_nothing() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    let (mut notices, mut saves) = (0, 0);
    for n in 0..600 {
        let mut effects = Vec::new();
        for (m, command) in ["cat /tmp/log", "kill -0 7", "cat /tmp/exit"].into_iter().enumerate() {
            let exec = format!("x{n}-{m}");
            effects.extend(begins(&mut desk, "box-a", &exec, command));
            effects.extend(ends(&mut desk, &exec));
        }
        desk.now = desk.now + Span::seconds(2);
        notices += effects.iter().filter(|effect| matches!(effect, Effect::Announce(_))).count();
        saves += effects.iter().filter(|effect| matches!(effect, Effect::Save(_))).count();
    }
    assert_eq!(desk.state.calls.len(), 3);
    assert!(desk.state.calls.values().all(|call| call.count == 600));
    assert_eq!(notices, 6, "the first of each begins and ends");
    assert!(saves < 180, "{saves} rows were written in 20 minutes");
    assert!(desk.env("a").last_activity.at + Span::seconds(2) >= desk.now);
    // After a while the same command is another row.
    desk.pass(Span::seconds(100));
    begins(&mut desk, "box-a", "later", "kill -0 7");
    assert_eq!(desk.state.calls.len(), 4);
}

#[test]
fn the_same_command_twice_at_once_runs_until_both_have_ended() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    begins(&mut desk, "box-a", "x1", "make");
    begins(&mut desk, "box-a", "x2", "make");
    ends(&mut desk, "x1");
    assert_eq!((desk.env("a").leases.len(), desk.state.calls[&CallId::new("x1")].ended), (1, None));
    ends(&mut desk, "x2");
    assert!(desk.env("a").leases.is_empty() && desk.state.calls[&CallId::new("x1")].ended.is_some());
}

#[test]
fn by_hand_it_is_ended_only_in_knowledge_of_what_follows() {
    let mut desk = watching(HermesReap::Off, vec![theirs("h", Persistence::Persistent)]);
    let refused = refusal(&desk.ask(Request::Stop { env: env("h"), force: true }));
    assert_eq!(refused.kind, RefusalKind::Policy);
    for part in ["10 min", "hermes-agent deletes it", "/root", "env start h"] {
        assert!(refused.message.contains(part), "{part}: {}", refused.message);
    }
    assert!(refused.hint.contains("env stop h --yes"), "{}", refused.hint);
    let effects = desk.ask(Request::EndOther { env: env("h"), deed: Deed::Stop, force: false });
    assert_eq!(deed(&effects), Some(Deed::Stop));
    let effects = desk.torn_down("h");
    let told = effects.iter().any(|effect| {
        matches!(effect, Effect::Announce(notice)
            if notice.kind == NoticeKind::EnvStopped && notice.text.contains("env start h"))
    });
    assert!(told, "{effects:?}");
    assert_eq!(desk.env("h").swept_from(), Some(desk.now + Span::seconds(600)));
    assert!(desk.verdict("h").reason.contains("in 10 min the next start of hermes-agent deletes it"));
    // Started again by hand, under a new generation, and what its backend then tells is believed.
    let effects = desk.ask(Request::Start(env("h")));
    let started = effects.iter().any(
        |effect| matches!(effect, Effect::Provision { existing: Some(sandbox), .. } if sandbox.as_str() == "box-h"),
    );
    assert!(started, "{effects:?}");
    desk.provisioned("h");
    let session = shell(&mut desk, "h", "s");
    desk.snapshot(&place(), vec![FoundSandbox { generation: Generation(5), ..theirs("h", Persistence::Persistent) }]);
    assert_eq!(ended(&desk, &session), None);
}

#[test]
fn stopped_by_somebody_else_it_warns_of_the_sweep() {
    let mut desk = watching(HermesReap::Off, vec![theirs("h", Persistence::Persistent)]);
    let effects = desk.ends_outside("h", false);
    let warned = |effect: &Effect| matches!(effect, Effect::Announce(notice) if notice.text.contains("deletes it"));
    assert!(effects.iter().any(warned), "{effects:?}");
}

fn foreign(id: &str) -> FoundSandbox {
    FoundSandbox {
        origin: Origin::Foreign,
        persistence: Persistence::Unknown,
        spec: Some(Box::new(EnvSpec { persistence: Persistence::Unknown, ..docker() })),
        ..found(id, SandboxState::Running, docker())
    }
}

fn adopt(desk: &mut Desk, container: &str) -> Vec<Effect> {
    desk.ask(Request::Adopt { endpoint: place(), container: container.into() })
}

#[test]
fn a_container_is_shown_by_choice_and_forgotten_by_word_while_it_stays() {
    let mut desk = Desk::new();
    desk.snapshot(&place(), vec![foreign("f")]);
    assert!(!desk.is_listed("f"), "nobody chose it");
    let effects = adopt(&mut desk, "f");
    let chosen = |effect: &Effect| matches!(effect, Effect::Choose { chosen, .. } if chosen.keys.contains("f"));
    assert!(effects.iter().any(chosen) && answer(&effects).is_none());
    let effects = desk.snapshot(&place(), vec![foreign("f")]);
    assert_eq!(answer(&effects), Some(Answer::Environment(env("f"))));
    assert_eq!(desk.verdict("f").kind, VerdictKind::NotOurs);
    assert_eq!(answer(&adopt(&mut desk, "f")), Some(Answer::Environment(env("f"))), "it is shown already");
    // A new host tells its backend, and shows it again.
    let mut desk = desk.restarted();
    let effects = desk.snapshot(&place(), vec![foreign("f")]);
    assert!(effects.iter().any(chosen) && desk.is_listed("f"));
    let effects = desk.ask(Request::Forget(env("f")));
    assert!(!desk.is_listed("f") && deed(&effects).is_none());
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Choose { chosen, .. } if *chosen == Chosen::default()))
    );
    desk.snapshot(&place(), vec![foreign("f")]);
    assert!(!desk.is_listed("f"), "an older list does not bring it back");
}

#[test]
fn a_chosen_one_that_does_not_come_is_said_to_be_missing_and_shown_when_it_comes() {
    let mut desk = Desk::new();
    adopt(&mut desk, "db");
    let effects = desk.pass(Span::seconds(10));
    assert_eq!(refusal(&effects).kind, RefusalKind::NotFound);
    desk.snapshot(&place(), vec![foreign("db")]);
    assert!(desk.is_listed("db"));
    desk.pass(Span::seconds(5));
    desk.snapshot(&place(), Vec::new());
    assert!(!desk.is_listed("db"));
    desk.snapshot(&place(), vec![replaced(foreign("db"), "box-new", 1)]);
    assert!(desk.is_listed("db"), "it was chosen by its name");
}

#[test]
fn a_chosen_one_stays_what_it_is_when_somebody_renames_its_container() {
    let mut desk = Desk::new();
    adopt(&mut desk, "db");
    desk.snapshot(&place(), vec![foreign("db")]);
    let session = shell(&mut desk, "db", "s1");
    let renamed = FoundSandbox { name: "postgres".into(), ..foreign("db") };
    let effects = desk.snapshot(&place(), vec![renamed.clone()]);
    let told =
        |effect: &Effect| matches!(effect, Effect::Announce(notice) if notice.text.contains("now called postgres"));
    assert!(effects.iter().any(told), "{effects:?}");
    assert_eq!((desk.env("db").name.as_str(), desk.phase("db")), ("postgres", Phase::Ready));
    assert_eq!(ended(&desk, &session), None, "whoever is in it stays in it");
    // The next host is told which container it is, and knows it by that.
    let mut desk = desk.restarted();
    let effects = desk.snapshot(&place(), vec![renamed.clone()]);
    let known = |effect: &Effect| {
        let Effect::Choose { chosen, .. } = effect else { return false };
        chosen.has(&renamed.sandbox, "postgres") && chosen.known[&renamed.sandbox] == env("db")
    };
    assert!(effects.iter().any(known) && desk.phase("db") == Phase::Ready);
    // A name given here is not taken away by one given there.
    desk.ask(Request::Rename { env: env("db"), name: "mine".into() });
    desk.snapshot(&place(), vec![FoundSandbox { name: "pg".into(), ..foreign("db") }]);
    assert_eq!(desk.env("db").name, "mine");
    // Taken off the list, it is chosen by none of its names any more.
    let effects = desk.ask(Request::Forget(env("db")));
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Choose { chosen, .. } if *chosen == Chosen::default()))
    );
}

#[test]
fn what_somebody_else_made_is_ended_by_hand_only() {
    let mut desk = Desk::new();
    adopt(&mut desk, "f");
    desk.apply(consent(HermesReap::Stale));
    desk.snapshot(&place(), vec![foreign("f")]);
    assert_eq!(deed(&desk.pass_quietly(Span::hours(24 * 30))), None);
    for request in
        [Request::Stop { env: env("f"), force: true }, Request::Remove { env: env("f"), force: true, data: true }]
    {
        let effects = desk.ask(request);
        assert_eq!((refusal(&effects).kind, deed(&effects)), (RefusalKind::Policy, None));
    }
    let effects = desk.ask(Request::EndOther { env: env("f"), deed: Deed::Remove, force: false });
    assert_eq!(deed(&effects), Some(Deed::Remove));
    let effects = desk.torn_down("f");
    assert!(!desk.is_listed("f"));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::DeleteData(_))));
    assert!(desk.state.choices.shown[&place()].is_empty(), "what is gone for good is not waited for");
}

#[test]
fn a_sandbox_of_another_origin_is_not_taken_for_ours() {
    let mut desk = Desk::new();
    desk.ready("a", docker());
    desk.pass(Span::seconds(5));
    let decoy = FoundSandbox { env: env("a"), ..theirs("a", Persistence::Ephemeral) };
    desk.snapshot(&place(), vec![found("a", SandboxState::Running, docker()), decoy.clone()]);
    assert_eq!((desk.env("a").origin, desk.phase("a")), (Origin::Managed, Phase::Ready));
    desk.snapshot(&place(), vec![decoy]);
    assert_eq!(desk.phase("a"), Phase::Lost);
}

/// One with the label of a container of one session.
fn labelled(id: &str, persistence: Persistence, label: &str, ttl: Option<Span>) -> FoundSandbox {
    let mut one = theirs(id, persistence);
    if let Some(watched) = &mut one.watched {
        watched.retention = Some(TheirRetention::read(label));
        watched.ttl = ttl;
    }
    one
}

#[test]
fn no_consent_goes_against_the_label_of_a_session() {
    let hour = Some(Span::hours(1));
    let day = Some(Span::hours(24 * 30));
    let week = Span::hours(7 * 24);
    let (persistent, ephemeral) = (Persistence::Persistent, Persistence::Ephemeral);
    // What becomes of a running one without any use, and after how long.
    for (label, ttl, persistence, expected) in [
        ("keep_running", None, persistent, None),
        ("keep_running", None, ephemeral, None),
        ("stop_on_session_end", None, persistent, Some((Deed::Stop, week))),
        ("stop_on_session_end", None, ephemeral, Some((Deed::Stop, Span::seconds(300)))),
        ("remove_on_session_end", None, persistent, Some((Deed::Stop, week))),
        ("remove_on_session_end", None, ephemeral, Some((Deed::Remove, Span::seconds(300)))),
        ("idle_ttl", hour, persistent, Some((Deed::Stop, week))),
        ("idle_ttl", day, persistent, Some((Deed::Stop, Span::hours(24 * 30)))),
        ("idle_ttl", hour, ephemeral, Some((Deed::Remove, Span::hours(1)))),
        ("idle_ttl", None, persistent, None),
        ("idle_ttl", None, ephemeral, None),
        ("for_ever", None, persistent, None),
        ("for_ever", None, ephemeral, None),
    ] {
        let what = format!("{label} {ttl:?} {persistence:?}");
        let mut desk = watching(HermesReap::Stale, vec![labelled("h", persistence, label, ttl)]);
        assert_eq!(desk.env("h").consented(), expected, "{what}");
        let Some((expected, after)) = expected else {
            let verdict = desk.verdict("h");
            assert_eq!(verdict.kind, VerdictKind::NotOurs, "{what}");
            let said = format!("; never ended by us, for its label says {label}");
            assert!(verdict.reason.ends_with(&said), "{what}: {}", verdict.reason);
            assert_eq!(deed(&desk.pass_quietly(Span::hours(24 * 60))), None, "{what}");
            continue;
        };
        assert_eq!(deed(&desk.pass_quietly(Span(after.0 - 1))), None, "{what}: too early");
        assert_eq!(deed(&desk.pass_quietly(Span(1))), Some(expected), "{what}");
        let fact = desk.verdict("h").evidence.into_iter().find(|fact| fact.what == "retention").expect("the label");
        assert_eq!(fact.detail, format!("{label}, by its hermes-agent's label"));
    }
}

#[test]
fn a_stopped_one_is_removed_only_where_its_label_does_so_too() {
    for (label, expected) in [
        ("keep_running", None),
        ("stop_on_session_end", None),
        ("remove_on_session_end", Some(Deed::Remove)),
        ("idle_ttl", Some(Deed::Remove)),
        ("for_ever", None),
    ] {
        let one = stopped(labelled("h", Persistence::Ephemeral, label, Some(Span::hours(1))));
        let mut desk = watching(HermesReap::Stale, vec![one]);
        assert_eq!(deed(&desk.pass(Span::seconds(299))), None, "{label}");
        assert_eq!(deed(&desk.pass(Span::hours(24 * 60))), expected, "{label}");
    }
}

#[test]
fn what_is_found_again_by_its_label_is_no_leak() {
    for (label, leaks) in [
        ("keep_running", false),
        ("stop_on_session_end", false),
        ("idle_ttl", false),
        ("for_ever", false),
        ("remove_on_session_end", true),
    ] {
        let mut one = labelled("h", Persistence::Unknown, label, Some(Span::hours(1)));
        one.watched.as_mut().unwrap().leak =
            Some(Leak { kind: LeakKind::DeadOwner, evidence: "its owner is gone".into() });
        let mut desk = watching(HermesReap::Leaked, vec![one]);
        assert_eq!(desk.env("h").leak().is_some(), leaks, "{label}");
        assert_eq!(deed(&desk.pass_quietly(Span::hours(24 * 60))).is_some(), leaks, "{label}");
    }
}

#[test]
fn its_hermes_agent_spares_a_stopped_one_only_where_its_label_says_so() {
    for (label, spared) in [
        (None, false),
        (Some("stop_on_session_end"), true),
        (Some("keep_running"), false),
        (Some("remove_on_session_end"), false),
        (Some("idle_ttl"), false),
        (Some("for_ever"), false),
    ] {
        let mut one = theirs("h", Persistence::Persistent);
        one.watched.as_mut().unwrap().retention = label.map(TheirRetention::read);
        let mut desk = watching(HermesReap::Off, vec![one]);
        let told = desk.env("h").consequences(Deed::Stop).join("; ");
        assert_eq!(told.contains("spares it while it is stopped"), spared, "{label:?}: {told}");
        assert_eq!(told.contains("the next start of hermes-agent deletes it"), !spared, "{label:?}: {told}");
        desk.ask(Request::EndOther { env: env("h"), deed: Deed::Stop, force: false });
        let effects = desk.torn_down("h");
        let warned = effects.iter().any(|effect| {
            matches!(effect, Effect::Announce(notice) if notice.text.contains("the next start of hermes-agent deletes it"))
        });
        assert_eq!((warned, desk.env("h").swept_from().is_some()), (!spared, !spared), "{label:?}");
    }
}

#[test]
fn a_label_that_comes_or_goes_changes_what_may_be_done() {
    let mut desk = watching(HermesReap::Ephemeral, vec![theirs("h", Persistence::Ephemeral)]);
    desk.pass(Span::seconds(200));
    desk.snapshot(&place(), vec![labelled("h", Persistence::Ephemeral, "keep_running", None)]);
    assert_eq!(deed(&desk.pass_quietly(Span::hours(5))), None);
    // Not at once, and after a look.
    assert!(looks(&desk.snapshot(&place(), vec![theirs("h", Persistence::Ephemeral)])));
    desk.evidence("h", Ok(Evidence::default()));
    assert_eq!(deed(&desk.pass_quietly(Span::seconds(59))), None);
    assert_eq!(deed(&desk.pass_quietly(Span::seconds(300))), Some(Deed::Remove));
}
