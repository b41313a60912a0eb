//! The cap of all histories.

use crate::world::World;
use hermes_tui::domain::SessionId;
use hermes_tui::term::Screen;

/// Shells in tabs of their own, each with 10,000 lines and a screen.
fn full(count: usize) -> (World, Vec<SessionId>) {
    let mut world = World::with_shell();
    let mut sessions = vec![world.session()];
    while sessions.len() < count {
        world.keys("C-b c");
        sessions.push(world.session());
    }
    let lines =
        |from: usize| -> String { (from..from + 1000).map(|n| format!("line {n:05} of a long history\r\n")).collect() };
    for from in (0..11_000).step_by(1000) {
        let text = lines(from);
        for session in &sessions {
            world.output(session, &text);
        }
    }
    (world, sessions)
}

fn screen<'a>(world: &'a World, session: &SessionId) -> &'a Screen {
    &world.model.work.screens[session]
}

fn used(world: &World) -> usize {
    world.model.work.screens.values().map(Screen::memory_bytes).sum()
}

#[test]
fn twenty_full_histories_lose_nothing() {
    let (world, sessions) = full(20);
    for session in &sessions {
        assert_eq!(screen(&world, session).history_len(), 10_000);
    }
    assert!(used(&world) <= 512 << 20, "{}", used(&world));
    assert_eq!(world.toasts(), "");
}

#[test]
fn a_hundred_full_histories_stay_under_the_cap_and_what_went_is_said() {
    let (mut world, sessions) = full(100);
    assert!(used(&world) <= 512 << 20, "{}", used(&world));
    let toasts = world.toasts();
    assert!(toasts.contains("histories reached 512 MiB: the ") && toasts.contains("[history] memory_mib"), "{toasts}");
    let shown = world.session();
    let least = sessions.iter().map(|id| screen(&world, id).history_len()).min();
    assert!(Some(screen(&world, &shown).history_len()) > least, "what is shown goes last");
    let shed = sessions.iter().position(|id| screen(&world, id).history_limit() < 10_000).expect("some");
    let newest = screen(&world, &sessions[shed]).text();
    assert!(newest.contains("line 10999"), "the oldest go first: {newest}");
    world.keys("C-b 1 C-b [ g");
    assert!(world.focused(|pane| pane.marks.join(" ")).contains("older shed"));
}
