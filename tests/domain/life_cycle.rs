//! The transition table, and the making of sandboxes.

use crate::desk::*;
use hermes_tui::domain::lifecycle::{Change, back_off, next};
use hermes_tui::domain::*;

#[test]
fn the_table_of_the_life_cycle() {
    use Phase::*;
    let phases = [Absent, Provisioning, Ready, Reaping, Stopped, Lost, Failed];
    let table: [(Change, [Option<Phase>; 7]); 12] = [
        (
            Change::Provision,
            [Some(Provisioning), None, None, None, Some(Provisioning), Some(Provisioning), Some(Provisioning)],
        ),
        (Change::Made, [None, Some(Ready), None, None, None, None, None]),
        (Change::NotMade, [None, Some(Failed), None, None, None, None, None]),
        (Change::Teardown, [None, None, Some(Reaping), None, Some(Reaping), None, Some(Reaping)]),
        (Change::StopConfirmed, [None, None, None, Some(Stopped), None, None, None]),
        (Change::RemovalConfirmed, [None, None, None, Some(Absent), None, None, None]),
        (Change::SparedRunning, [None, None, None, Some(Ready), None, None, None]),
        (Change::SparedStopped, [None, None, None, Some(Stopped), None, None, None]),
        (Change::Halted, [None, None, Some(Stopped), None, None, None, None]),
        (Change::Vanished, [None, Some(Absent), Some(Lost), Some(Absent), Some(Absent), None, None]),
        (Change::FoundRunning, [Some(Ready), Some(Ready), None, Some(Ready), Some(Ready), Some(Ready), Some(Ready)]),
        (
            Change::FoundStopped,
            [Some(Stopped), Some(Stopped), Some(Stopped), Some(Stopped), None, Some(Stopped), Some(Stopped)],
        ),
    ];
    for (change, row) in table {
        for (phase, expected) in phases.into_iter().zip(row) {
            assert_eq!(next(phase, change), expected, "{change:?} in {phase:?}");
        }
    }
}

#[test]
fn a_new_environment_is_provisioned_and_answered_when_ready() {
    let mut desk = Desk::new();
    let effects = desk.ask(Request::NewEnvironment { id: env("a"), name: None, spec: Box::new(spec()) });
    assert!(provisions(&effects));
    assert_eq!(answer(&effects), None);
    assert_eq!(desk.phase("a"), Phase::Provisioning);
    let effects = desk.provisioned("a");
    assert_eq!(answer(&effects), Some(Answer::Environment(env("a"))));
    assert_eq!(desk.phase("a"), Phase::Ready);
    assert_eq!(desk.env("a").deadline, Some(START + Span::seconds(300)));
    assert_eq!(effects.iter().filter(|e| matches!(e, Effect::Save(Record::Environment(_)))).count(), 1);
}

#[test]
fn a_failure_is_told_to_all_who_wait_and_kept_for_the_list() {
    let mut desk = Desk::new();
    desk.ask(Request::NewEnvironment { id: env("a"), name: None, spec: Box::new(spec()) });
    let turn = desk.begin_in("c", TurnTarget::Named("a".into()));
    assert_eq!(answer(&turn), None);
    let effects = desk.provision_failed("a", FailureKind::Permanent);
    let refusals = effects.iter().filter(|e| matches!(e, Effect::Reply { answer: Answer::Refused(_), .. })).count();
    assert_eq!(refusals, 2);
    assert_eq!(refusal(&effects).message, "no space left on the disk");
    assert_eq!(desk.phase("a"), Phase::Failed);
    assert!(desk.env("a").leases.is_empty());
    let failure = desk.env("a").failure.clone().unwrap();
    assert_eq!((failure.attempts, failure.retry_at), (1, None));
    assert_eq!(desk.state.conversations[&conversation("c")].turns[0].status, TurnStatus::Failed);
}

#[test]
fn a_temporary_failure_is_tried_again_while_somebody_holds_the_environment() {
    let mut desk = Desk::new();
    desk.ask(Request::NewEnvironment { id: env("a"), name: None, spec: Box::new(spec()) });
    desk.ask(Request::Pin(env("a")));
    desk.provision_failed("a", FailureKind::Temporary);
    assert_eq!(desk.state.next_deadline(), Some(START + Span::seconds(5)));
    assert!(provisions(&desk.pass(Span::seconds(5))));
    assert_eq!(desk.env("a").generation, Generation(1), "a repeated attempt is the same provision");
}

#[test]
fn a_turn_tries_a_failed_environment_again_at_once() {
    let mut desk = Desk::new();
    desk.ask(Request::NewEnvironment { id: env("a"), name: None, spec: Box::new(spec()) });
    desk.provision_failed("a", FailureKind::Permanent);
    assert!(provisions(&desk.begin_in("c", TurnTarget::Named("a".into()))));
}

#[test]
fn a_start_keeps_the_sandbox_and_makes_the_generation_grow() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.ask(Request::Stop { env: env("a"), force: false });
    desk.torn_down("a");
    assert_eq!(desk.phase("a"), Phase::Stopped);
    let effects = desk.ask(Request::Start(env("a")));
    let existing = effects.iter().find_map(|effect| match effect {
        Effect::Provision { existing, generation, .. } => Some((existing.clone(), *generation)),
        _ => None,
    });
    assert_eq!(existing, Some((Some(SandboxId::new("box-a")), Generation(2))));
}

#[test]
fn one_that_was_lost_is_remade_for_the_next_turn() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let session = desk.session_of("c");
    let effects = desk.ends_outside("c-env", true);
    assert!(announces(&effects, NoticeKind::EnvLost));
    assert_eq!(desk.phase("c-env"), Phase::Lost);
    assert!(matches!(&desk.state.sessions[&session].state, SessionState::Ended { why, .. } if why == "docker rm -f"));
    assert_eq!(desk.env("c-env").leases.len(), 1, "the turn goes on until it is ended");
    assert!(provisions(&desk.begin("c", spec())));
}

#[test]
fn the_back_off_doubles_up_to_five_minutes() {
    let waits: Vec<u64> = [1, 2, 3, 4, 5, 6, 7, 8, u32::MAX].map(|n| back_off(n).0 / 1000).to_vec();
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
}

#[test]
fn events_of_an_old_generation_change_nothing() {
    let mut desk = Desk::new();
    desk.ready("a", spec());
    desk.ask(Request::Stop { env: env("a"), force: false });
    desk.torn_down("a");
    desk.ask(Request::Start(env("a")));
    let before = desk.state.clone();
    let (env, generation, text) = (env("a"), Generation(1), String::new());
    for event in [
        Event::Provisioned { env: env.clone(), generation, sandbox: SandboxId::new("ghost") },
        Event::TeardownDone { env: env.clone(), generation },
        Event::EvidenceGathered { env: env.clone(), generation, evidence: Ok(Evidence::default()) },
        Event::ProvisionFailed { env, generation, kind: FailureKind::Permanent, message: text.clone(), hint: text },
    ] {
        assert_eq!(desk.apply(event), Vec::new());
        assert_eq!(desk.state, before);
    }
}

#[test]
fn a_failure_that_nobody_waits_for_gives_its_name_up_whatever_its_kind() {
    for kind in [FailureKind::Permanent, FailureKind::Temporary] {
        let mut desk = Desk::new();
        desk.ask(Request::NewEnvironment { id: env("a"), name: Some("box".into()), spec: Box::new(spec()) });
        desk.provision_failed("a", kind);
        assert_eq!(desk.state.next_deadline(), None, "it is not tried again by itself");
        let effects =
            desk.ask(Request::NewEnvironment { id: env("b"), name: Some("box".into()), spec: Box::new(spec()) });
        assert!(provisions(&effects), "{kind:?}: {effects:?}");
    }
}
