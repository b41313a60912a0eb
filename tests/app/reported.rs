//! What was reported of products like this one, as far as keys and panes are concerned.

use crate::world::World;
use hermes_tui::app::view_model::{Mode, PaneContent};

/// Lines back, and lines that there are.
fn place(world: &World) -> (usize, usize) {
    world.focused(|p| match &p.content {
        PaneContent::Terminal { screen, offset, .. } => (*offset, screen.history_len()),
        _ => panic!("a terminal"),
    })
}

#[test]
fn the_history_is_there_after_a_full_screen_program_and_while_it_runs_none_is_claimed() {
    let mut world = World::with_shell();
    let session = world.session();
    let lines: String = (1..=300).map(|n| format!("line {n}\r\n")).collect();
    world.output(&session, &lines);
    let (_, history) = place(&world);
    world.output(&session, "\x1b[?1049h\x1b[Hless");
    world.keys("C-b pgup");
    assert!(world.toasts().contains("uses the whole screen and keeps no history"), "{}", world.toasts());
    assert_eq!(place(&world), (0, 0));
    world.keys("q");
    assert_eq!(world.mode(), Mode::Pane);
    world.output(&session, "\x1b[?1049l");
    world.keys("C-b pgup");
    let (offset, now) = place(&world);
    assert!(offset > 0 && now == history, "{offset} of {now}");
}
