//! Properties over random histories: see `simulation.rs` for what is checked after every event.
//!
//! `HTUI_PROPERTY_CASES` sets the number of histories. A history that fails is made as small as possible and written to
//! `tests/domain/replays/`; every file there is replayed by `saved_histories_hold`.

use crate::simulation::{Step, World};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A history that once failed.
#[derive(Serialize, Deserialize)]
struct Replay {
    /// What went wrong.
    failure: String,
    /// What happened.
    steps: Vec<Step>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/domain/replays")
}

fn cases() -> u32 {
    std::env::var("HTUI_PROPERTY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000)
}

fn step() -> impl Strategy<Value = Step> {
    let n = any::<u8>;
    let c = || 0..4_u8;
    let short = prop_oneof![0..20_u16, 20..400_u16, 300..5000_u16];
    let turns = prop_oneof![
        6 => (c(), n()).prop_map(|(conversation, spec)| Step::Begin { conversation, spec }),
        2 => (c(), n()).prop_map(|(conversation, env)| Step::BeginNamed { conversation, env }),
        4 => c().prop_map(|conversation| Step::End { conversation }),
        1 => c().prop_map(|conversation| Step::Touch { conversation }),
        2 => c().prop_map(|conversation| Step::EndConversation { conversation }),
        3 => c().prop_map(|conversation| Step::Call { conversation }),
        1 => n().prop_map(|env| Step::CallIn { env }),
        4 => n().prop_map(|call| Step::CallEnds { call }),
    ];
    let persons = prop_oneof![
        2 => n().prop_map(|spec| Step::New { spec }),
        1 => n().prop_map(|env| Step::Start { env }),
        1 => (n(), any::<bool>()).prop_map(|(env, force)| Step::Stop { env, force }),
        1 => (n(), any::<bool>()).prop_map(|(env, force)| Step::Remove { env, force }),
        1 => n().prop_map(|env| Step::Pin { env }),
        2 => n().prop_map(|env| Step::Unpin { env }),
        1 => n().prop_map(|env| Step::Extend { env }),
        1 => n().prop_map(|env| Step::Open { env }),
        1 => n().prop_map(|session| Step::Kill { session }),
        2 => (n(), any::<bool>()).prop_map(|(session, typed)| Step::Key { session, typed }),
        2 => (n(), 0..12_u8).prop_map(|(session, seconds)| Step::Typing { session, seconds }),
        1 => n().prop_map(|session| Step::Exit { session }),
        1 => Just(Step::Abandon),
        1 => Just(Step::Reap),
    ];
    let backends = prop_oneof![
        20 => n().prop_map(|op| Step::Deliver { op }),
        2 => (n(), n()).prop_map(|(op, kind)| Step::Fault { op, kind }),
        1 => n().prop_map(|op| Step::LostAnswer { op }),
        1 => n().prop_map(|sandbox| Step::Process { sandbox }),
        1 => n().prop_map(|sandbox| Step::NoProcess { sandbox }),
        1 => (n(), any::<bool>()).prop_map(|(sandbox, told)| Step::Vanish { sandbox, told }),
        1 => (n(), any::<bool>()).prop_map(|(sandbox, told)| Step::Halt { sandbox, told }),
        1 => any::<bool>().prop_map(|endpoint| Step::Down { endpoint }),
        2 => any::<bool>().prop_map(|endpoint| Step::Up { endpoint }),
        1 => any::<bool>().prop_map(|endpoint| Step::Relist { endpoint }),
        2 => (n(), n()).prop_map(|(env, what)| Step::OldNews { env, what }),
    ];
    let others = prop_oneof![
        2 => n().prop_map(|reap| Step::Consent { reap }),
        1 => n().prop_map(|sandbox| Step::Pause { sandbox, on: true }),
        2 => n().prop_map(|sandbox| Step::Pause { sandbox, on: false }),
        3 => (n(), n()).prop_map(|(sandbox, command)| Step::ExecBegins { sandbox, command }),
        4 => n().prop_map(|exec| Step::ExecEnds { exec }),
        1 => n().prop_map(|sandbox| Step::Restart { sandbox }),
        1 => (n(), any::<bool>()).prop_map(|(sandbox, told)| Step::Replace { sandbox, told }),
        2 => (n(), any::<bool>(), any::<bool>())
            .prop_map(|(env, remove, force)| Step::EndOther { env, remove, force }),
        1 => Just(Step::Adopt),
        1 => n().prop_map(|env| Step::Forget { env }),
    ];
    let time = prop_oneof![
        10 => short.prop_map(|seconds| Step::Wait { seconds }),
        2 => (0..5000_u16).prop_map(|seconds| Step::Oversleep { seconds }),
        1 => (0..5000_u16).prop_map(|seconds| Step::Jump { seconds }),
        4 => Just(Step::Crash),
        1 => any::<bool>().prop_map(|keep| Step::Shutdown { keep }),
    ];
    prop_oneof![8 => turns, 5 => persons, 12 => backends, 6 => others, 5 => time]
}

#[test]
fn random_histories_hold_every_property() {
    let config = Config { cases: cases(), failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let history = prop::collection::vec(step(), 1..60);
    let run = |steps: Vec<Step>| World::run(&steps).map(drop).map_err(TestCaseError::fail);
    match runner.run(&history, run) {
        Ok(()) => {}
        Err(TestError::Fail(reason, steps)) => {
            let failure = reason.message().to_owned();
            let path = save(&Replay { failure: failure.clone(), steps: steps.clone() });
            panic!("{failure}\nafter {steps:?}\nsaved as {}", path.display());
        }
        Err(TestError::Abort(reason)) => panic!("aborted: {reason}"),
    }
}

/// Writes a failing history where the next run replays it.
fn save(replay: &Replay) -> PathBuf {
    let text = serde_json::to_string_pretty(replay).unwrap();
    let number = (1..).find(|n| !folder().join(format!("history-{n}.json")).exists()).unwrap();
    let path = folder().join(format!("history-{number}.json"));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn saved_histories_hold() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|ext| ext == "json")) {
        let replay: Replay = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        // Shown when this fails, or with `--nocapture`: for whoever looks into a failure.
        println!("{}, saved because: {}\n{}", path.display(), replay.failure, World::tell(&replay.steps));
        if let Err(failure) = World::run(&replay.steps) {
            panic!("{}: {failure}", path.display());
        }
    }
}

#[test]
fn a_record_written_down_and_read_back_gives_the_same_effects() {
    let steps = [
        Step::Begin { conversation: 0, spec: 0 },
        Step::Deliver { op: 0 },
        Step::Deliver { op: 0 },
        Step::Call { conversation: 0 },
        Step::CallEnds { call: 0 },
        Step::End { conversation: 0 },
        Step::Wait { seconds: 301 },
        Step::Deliver { op: 0 },
    ];
    let world = World::run(&steps).unwrap();
    let mut state = World::new().state;
    for (now, event, effects) in &world.record {
        let text = serde_json::to_string(event).unwrap();
        let read_back = serde_json::from_str(&text).unwrap();
        assert_eq!(&state.apply(*now, read_back), effects);
        // The state itself can be written down and read back at any time.
        state = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
    }
    assert_eq!(state, world.state);
}
