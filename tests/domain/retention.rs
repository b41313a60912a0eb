//! The retention table, and what the ends of turns and conversations mean for ephemeral environments.

use crate::desk::*;
use hermes_tui::domain::*;

fn at_conversation_end(spec: EnvSpec) -> Option<Deed> {
    let mut desk = Desk::new();
    desk.running_turn("c", spec);
    desk.end("c");
    deed(&desk.end_conversation("c"))
}

fn at_idle_deadline(spec: EnvSpec) -> Option<Deed> {
    let mut desk = Desk::new();
    desk.running_turn("c", spec);
    desk.end("c");
    let effects = desk.pass(Span::seconds(300));
    if !looks(&effects) { None } else { deed(&desk.evidence("c-env", Ok(Evidence::default()))) }
}

#[test]
fn the_retention_table() {
    let persistent = |retention| EnvSpec { retention, ..spec() };
    for (spec, conversation_end, idle) in [
        (persistent(Retention::StopOnSessionEnd), Some(Deed::Stop), Some(Deed::Stop)),
        (persistent(Retention::KeepRunning), None, None),
        (persistent(Retention::RemoveOnSessionEnd), Some(Deed::Remove), Some(Deed::Remove)),
        (persistent(Retention::IdleTtl), None, Some(Deed::Remove)),
        (ephemeral(Scope::Session), Some(Deed::Remove), Some(Deed::Remove)),
        (ephemeral(Scope::Shared), Some(Deed::Remove), Some(Deed::Remove)),
    ] {
        assert_eq!(at_conversation_end(spec.clone()), conversation_end, "conversation end of {spec:?}");
        assert_eq!(at_idle_deadline(spec.clone()), idle, "idle deadline of {spec:?}");
    }
}

/// Has the backend do at once what these effects tell it.
fn done(desk: &mut Desk, effects: &[Effect]) {
    if deed(effects).is_some() {
        desk.torn_down("c-env");
    }
}

/// The engine is away for a while; then its list shows the container like this.
fn engine_restarts(desk: &mut Desk, state: SandboxState) {
    desk.apply(Event::EndpointDown { endpoint: docker().endpoint, detail: "connection refused".into() });
    assert_eq!(deed(&desk.pass_quietly(Span::hours(1))), None, "nothing is decided meanwhile");
    desk.apply(Event::EndpointUp(docker().endpoint));
    listed(desk, state);
}

fn listed(desk: &mut Desk, state: SandboxState) {
    let env = desk.env("c-env");
    let found = FoundSandbox { generation: env.generation, ..found("c-env", state, env.spec.clone()) };
    desk.snapshot(&docker().endpoint, vec![found]);
}

#[test]
fn the_container_of_a_conversation_is_kept_or_ended_by_its_retention_alone() {
    use Phase::{Absent, Ready, Stopped};
    type Happens = fn(&mut Desk);
    let retentions =
        [Retention::StopOnSessionEnd, Retention::KeepRunning, Retention::RemoveOnSessionEnd, Retention::IdleTtl];
    let idle: Happens = |desk| {
        let effects = desk.pass_quietly(Span::seconds(400));
        done(desk, &effects);
    };
    let table: [(&str, Happens, [Phase; 4]); 6] = [
        (
            "its conversation ends",
            |desk| {
                let effects = desk.end_conversation("c");
                done(desk, &effects);
            },
            [Stopped, Ready, Absent, Ready],
        ),
        ("it is idle", idle, [Stopped, Ready, Absent, Absent]),
        (
            "the host ends and starts again",
            |desk| {
                let effects = desk.ask(Request::Shutdown { keep: false });
                assert!(deed(&effects).is_none() && effects.contains(&Effect::Exit), "{effects:?}");
                *desk = desk.restarted();
                listed(desk, SandboxState::Running);
            },
            [Ready; 4],
        ),
        (
            "the host is killed and starts again",
            |desk| {
                *desk = desk.restarted();
                listed(desk, SandboxState::Running);
            },
            [Ready; 4],
        ),
        (
            "the engine starts again with its containers",
            |desk| engine_restarts(desk, SandboxState::Running),
            [Ready; 4],
        ),
        ("the engine stops its containers", |desk| engine_restarts(desk, SandboxState::Stopped), [Stopped; 4]),
    ];
    let when_idle = table[1].2;
    for (what, happens, phases) in table {
        for (at, (retention, phase)) in retentions.into_iter().zip(phases).enumerate() {
            let what = format!("{retention:?}: {what}");
            let wanted = EnvSpec { retention, ..docker() };
            let mut desk = Desk::new();
            desk.running_turn("c", wanted.clone());
            desk.end("c");
            happens(&mut desk);
            assert_eq!((desk.phase("c-env"), desk.env("c-env").sandbox.is_some()), (phase, phase != Absent), "{what}");
            // What runs on is still ended when it is idle, and by nothing else.
            if phase == Ready {
                let mut later = desk.restarted();
                listed(&mut later, SandboxState::Running);
                idle(&mut later);
                assert_eq!(later.phase("c-env"), when_idle[at], "{what}, then it is idle");
            }
            // The next turn finds it: as it runs, started again, or made anew as the same environment.
            let before = desk.env("c-env").clone();
            let effects = desk.begin("c", wanted);
            assert_eq!((desk.env_of("c").as_str(), provisions(&effects)), ("c-env", phase != Ready), "{what}");
            let env = desk.env("c-env");
            assert_eq!(env.sandbox, before.sandbox, "{what}");
            let fresh = u64::from(phase != Ready);
            assert_eq!(env.generation, Generation(before.generation.0 + fresh), "{what}");
        }
    }
}

#[test]
fn the_end_of_a_turn_never_ends_a_persistent_environment() {
    let mut desk = Desk::new();
    for n in 0..50 {
        desk.running_turn("c", spec());
        let effects = desk.end("c");
        assert_eq!((deed(&effects), looks(&effects)), (None, false), "turn {n}");
        desk.pass(Span::seconds(200));
    }
    assert_eq!((desk.phase("c-env"), desk.env("c-env").generation), (Phase::Ready, Generation(1)));
}

#[test]
fn scope_turn_is_removed_with_its_turn() {
    let mut desk = Desk::new();
    desk.running_turn("c", ephemeral(Scope::Turn));
    assert_eq!(deed(&desk.end("c")), Some(Deed::Remove));
    let effects = desk.torn_down("c-env");
    assert!(announces(&effects, NoticeKind::EnvRemoved));
    assert!(!desk.is_listed("c-env"));
    assert!(matches!(&desk.state.sessions.values().next().unwrap().state,
        SessionState::Ended { why, .. } if why == "removed when its turn ended"));
}

#[test]
fn scope_turn_waits_for_other_holders() {
    let mut desk = Desk::new();
    desk.running_turn("c", ephemeral(Scope::Turn));
    desk.ask(Request::Pin(env("c-env")));
    desk.call("x", "c");
    assert_eq!(deed(&desk.end("c")), None);
    assert_eq!(deed(&desk.call_ends("x")), None);
    assert_eq!(deed(&desk.ask(Request::Unpin(env("c-env")))), Some(Deed::Remove));
}

#[test]
fn scope_turn_in_which_a_person_typed_waits_for_the_idle_deadline() {
    for (idle, deadline) in [(300, 300), (0, 300), (20, 20)] {
        let mut desk = Desk::new();
        desk.running_turn("c", EnvSpec { idle: Span::seconds(idle), ..ephemeral(Scope::Turn) });
        let session = desk.session_of("c");
        desk.key(&session, true);
        assert_eq!(deed(&desk.end("c")), None);
        assert_eq!(desk.env("c-env").deadline, Some(START + Span::seconds(deadline)));
        desk.pass(Span::seconds(deadline));
        assert_eq!(deed(&desk.evidence("c-env", Ok(Evidence::default()))), Some(Deed::Remove));
    }
}

#[test]
fn looking_without_typing_does_not_keep_it() {
    let mut desk = Desk::new();
    desk.running_turn("c", ephemeral(Scope::Turn));
    let session = desk.session_of("c");
    desk.key(&session, false);
    assert_eq!(deed(&desk.end("c")), Some(Deed::Remove));
}

#[test]
fn scope_session_outlives_its_turns() {
    let mut desk = Desk::new();
    desk.running_turn("c", ephemeral(Scope::Session));
    assert_eq!(deed(&desk.end("c")), None);
    assert_eq!(deed(&desk.end_conversation("c")), Some(Deed::Remove));
}

#[test]
fn scope_shared_ends_with_its_last_conversation() {
    let mut desk = Desk::new();
    desk.running_turn("a", ephemeral(Scope::Shared));
    desk.running_turn("b", ephemeral(Scope::Shared));
    assert_eq!(desk.env_of("b"), "a-env", "the second conversation joins");
    desk.end("a");
    desk.end("b");
    assert_eq!(deed(&desk.end_conversation("a")), None);
    assert_eq!(deed(&desk.end_conversation("b")), Some(Deed::Remove));
}

#[test]
fn the_end_of_a_conversation_waits_for_other_holders() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.ask(Request::Pin(env("c-env")));
    assert_eq!(deed(&desk.end_conversation("c")), None);
    assert_eq!(desk.env("c-env").leases.len(), 1, "the lease of the ended turn is released");
    assert_eq!(deed(&desk.ask(Request::Unpin(env("c-env")))), Some(Deed::Stop));
}

#[test]
fn a_new_turn_takes_the_end_of_its_conversation_back() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    desk.ask(Request::Pin(env("c-env")));
    desk.end_conversation("c");
    desk.running_turn("c", spec());
    desk.end("c");
    assert_eq!(deed(&desk.ask(Request::Unpin(env("c-env")))), None);
}

#[test]
fn a_conversation_ends_after_a_day_without_a_turn() {
    let mut desk = Desk::new();
    desk.running_turn("c", EnvSpec { idle: Span::ZERO, ..spec() });
    desk.end("c");
    assert_eq!(deed(&desk.pass(Span::seconds(86_399))), None);
    let effects = desk.pass(Span::seconds(1));
    assert!(announces(&effects, NoticeKind::ConversationEnded));
    assert_eq!(deed(&effects), Some(Deed::Stop));
}

#[test]
fn the_silence_of_a_conversation_does_not_cut_off_who_works_in_what_it_left() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let session = desk.session_of("c");
    desk.end("c");
    desk.ask(Request::Pin(env("c-env")));
    desk.pass(Span::seconds(86_300));
    desk.ask(Request::Unpin(env("c-env")));
    desk.key(&session, true);
    assert!(!announces(&desk.pass(Span::seconds(200)), NoticeKind::ConversationEnded));
    desk.key(&session, true);
    assert!(!announces(&desk.pass(Span::seconds(299)), NoticeKind::ConversationEnded));
    assert_eq!(desk.phase("c-env"), Phase::Ready);
    let effects = desk.pass(Span::seconds(1));
    assert!(announces(&effects, NoticeKind::ConversationEnded));
    assert_eq!(deed(&effects), Some(Deed::Stop));
}

#[test]
fn a_persistent_one_that_was_removed_is_found_again_by_its_conversation() {
    let mut desk = Desk::new();
    desk.running_turn("c", EnvSpec { retention: Retention::IdleTtl, ..spec() });
    desk.end("c");
    desk.pass(Span::seconds(300));
    desk.evidence("c-env", Ok(Evidence::default()));
    desk.torn_down("c-env");
    assert_eq!((desk.phase("c-env"), &desk.env("c-env").sandbox), (Phase::Absent, &None));
    desk.running_turn("c", spec());
    assert_eq!((desk.env_of("c"), desk.env("c-env").generation), ("c-env".into(), Generation(2)));
}

#[test]
fn nothing_of_an_ephemeral_one_survives_however_it_ends() {
    let turn_end: fn(&mut Desk) -> Vec<Effect> = |desk| desk.end("c");
    let conversation_end: fn(&mut Desk) -> Vec<Effect> = |desk| desk.end_conversation("c");
    let idle: fn(&mut Desk) -> Vec<Effect> = |desk| {
        desk.end("c");
        desk.pass_quietly(Span::seconds(300))
    };
    let person: fn(&mut Desk) -> Vec<Effect> = |desk| {
        desk.end("c");
        desk.ask(Request::Remove { env: env("c-env"), force: false, data: false })
    };
    let shutdown: fn(&mut Desk) -> Vec<Effect> = |desk| desk.ask(Request::Shutdown { keep: false });
    for (scope, end) in [
        (Scope::Turn, turn_end),
        (Scope::Session, conversation_end),
        (Scope::Session, idle),
        (Scope::Session, person),
        (Scope::Session, shutdown),
    ] {
        let mut desk = Desk::new();
        desk.running_turn("c", ephemeral(scope));
        let effects = end(&mut desk);
        assert_eq!(deed(&effects), Some(Deed::Remove));
        assert!(!effects.contains(&Effect::DeleteData(env("c-env"))), "not before the backend confirms");
        assert!(desk.torn_down("c-env").contains(&Effect::DeleteData(env("c-env"))));
        assert!(!desk.is_listed("c-env"));
    }
}

#[test]
fn one_that_was_removed_by_somebody_else_leaves_nothing_behind() {
    let mut desk = Desk::new();
    desk.running_turn("c", ephemeral(Scope::Turn));
    desk.ends_outside("c-env", true);
    assert!(desk.end("c").contains(&Effect::DeleteData(env("c-env"))));
}

#[test]
fn the_files_of_a_persistent_one_survive_its_removal() {
    let mut desk = Desk::new();
    desk.running_turn("c", EnvSpec { retention: Retention::RemoveOnSessionEnd, ..spec() });
    assert_eq!(deed(&desk.end_conversation("c")), Some(Deed::Remove));
    assert!(!desk.torn_down("c-env").contains(&Effect::DeleteData(env("c-env"))));
}

#[test]
fn a_shared_environment_does_not_remember_conversations_that_are_forgotten() {
    let mut desk = Desk::new();
    desk.ready("shared", EnvSpec { scope: Scope::Shared, retention: Retention::KeepRunning, ..spec() });
    desk.running_turn("lasting", spec());
    for n in 0..1100 {
        let id = format!("c{n}");
        desk.begin_in(&id, TurnTarget::Named("shared".into()));
        desk.end(&id);
        desk.now = desk.now + Span(1);
        desk.end_conversation(&id);
    }
    let shared = desk.env("shared");
    assert!(desk.state.conversations.len() <= 1000);
    assert!(shared.conversations.len() <= 1000, "{}", shared.conversations.len());
}
