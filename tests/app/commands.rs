//! The one table: every command can be reached, and every key of it does something.

use crate::world::World;
use hermes_tui::app::Cmd;
use hermes_tui::app::command::{Action, Bindings, COMMANDS};
use hermes_tui::app::view_model::{Mode, Overlay};
use hermes_tui::config::{KeyMap, KeyPress, load};
use std::collections::BTreeSet;

#[test]
fn names_are_unique_and_every_default_key_can_be_read() {
    let names: BTreeSet<&str> = COMMANDS.iter().map(|c| c.name).collect();
    assert_eq!(names.len(), COMMANDS.len());
    for command in COMMANDS {
        for key in command.leader.iter().chain(command.nav).chain(command.direct) {
            key.parse::<KeyPress>().unwrap_or_else(|e| panic!("{}: {e}", command.name));
        }
    }
}

#[test]
fn every_command_has_a_key_and_no_key_is_bound_twice() {
    let (bindings, warnings) = Bindings::new(&KeyMap::default());
    assert!(warnings.is_empty(), "{warnings:?}");
    for command in COMMANDS {
        let keys = bindings.keys_of(command);
        assert!(keys.iter().any(|k| !k.is_empty()), "{} cannot be reached by a key", command.name);
        for (have, want) in [(&keys[1], command.nav), (&keys[2], command.direct)] {
            assert_eq!(have.len(), want.len(), "{} lost a key to another command", command.name);
        }
        if command.action != Action::SendLeader {
            assert_eq!(keys[0].len(), command.leader.len(), "{} lost a key after the leader", command.name);
        }
    }
}

#[test]
fn the_palette_has_every_command_and_runs_it() {
    let mut world = World::with_shell();
    world.keys("C-b :");
    let Some(Overlay::Palette { rows, .. }) = world.overlay() else { panic!("the palette") };
    assert_eq!(rows.len(), COMMANDS.len());
    world.typed("spltrght");
    let Some(Overlay::Palette { rows, .. }) = world.overlay() else { panic!("the palette") };
    assert!(rows[0].0.starts_with("split-right"), "{rows:?}");
    assert_eq!(rows[0].1, "Ctrl+B %");
    world.keys("Enter");
    assert_eq!((world.view().panes.len(), world.overlay()), (2, None));
}

#[test]
fn what_makes_no_sense_now_is_marked_in_the_palette_and_does_nothing() {
    let mut world = World::new(120, 40);
    world.keys(":").typed("zoom");
    let Some(Overlay::Palette { rows, .. }) = world.overlay() else { panic!("the palette") };
    assert!(!rows[0].2, "{rows:?}");
    world.keys("Enter");
    assert_eq!(world.overlay(), None);
}

#[test]
fn help_names_every_command() {
    let mut world = World::with_shell();
    world.keys("C-b ?");
    let Some(Overlay::Help { sections, .. }) = world.overlay() else { panic!("the help") };
    let rows: Vec<&(String, String)> = sections.iter().flat_map(|(_, rows)| rows).collect();
    for command in COMMANDS {
        assert!(rows.iter().any(|(_, help)| help == command.help), "{} is missing", command.name);
    }
    world.keys("j PgDn Esc");
    assert_eq!(world.mode(), Mode::Pane);
}

/// What can be told apart from outside.
fn shape(world: &World) -> String {
    let view = world.view();
    let panes: Vec<_> =
        view.panes.iter().map(|p| (p.area, p.focused, p.synchronised, p.banner.clone(), p.marks.clone())).collect();
    let tabs: Vec<_> = view.tabs.clone();
    let toasts: Vec<_> = view.notices.iter().map(|t| t.text.clone()).collect();
    format!(
        "{:?} {panes:?} {tabs:?} {:?} {toasts:?} {:?} {:?} {:?} {:?}",
        view.mode,
        view.overlay,
        (view.sidebar.area, view.sidebar.rows, view.sidebar.selected, view.sidebar.filter),
        world.written,
        world
            .model
            .state
            .environments
            .values()
            .map(|e| (e.name.clone(), e.phase, e.leases.len(), e.deadline))
            .collect::<Vec<_>>(),
        (
            world.exited,
            world.model.state.sessions.len(),
            world.others.iter().filter(|cmd| matches!(cmd, Cmd::Edit { .. })).count(),
        ),
    )
}

/// Three panes of two environments in two tabs, something copied, somewhere in the middle.
fn busy() -> World {
    let mut world = World::with_shell();
    world.keys("C-b N").typed("second").keys("Enter C-b % C-b \" C-b left C-b c C-b p C-b p");
    world.keys("C-b 2 C-b l C-b k C-b J");
    world.begin_turn("talk", "do it", hermes_tui::domain::EnvSpec::local());
    world.call("talk", "true", "", 0);
    let session = world.session();
    world.output(&session, "some text\r\n");
    world.keys("C-b [ y");
    // Toasts of the way here must not hide those of the key under test.
    world.pass(hermes_tui::domain::Span::seconds(30));
    world
}

#[test]
fn every_key_after_the_leader_does_something() {
    for command in COMMANDS {
        for key in command.leader {
            let mut world = busy();
            match command.name {
                "focus-up" => _ = world.keys("C-b j"),
                "tab-2" => _ = world.keys("C-b 1"),
                "focus-right" => _ = world.keys("C-b h"),
                _ => {}
            }
            let before = shape(&world);
            world.keys("C-b");
            assert_ne!(shape(&world), before);
            world.keys(key);
            assert_ne!(shape(&world), before, "{key} ({}) does nothing", command.name);
        }
    }
}

#[test]
fn every_key_of_nav_does_something() {
    for command in COMMANDS {
        for key in command.nav {
            let mut world = busy();
            world.keys("C-b Esc k");
            if matches!(command.action, Action::RowUp | Action::RowFirst) {
                world.keys("j j");
            }
            let before = shape(&world);
            world.keys(key);
            assert_ne!(shape(&world), before, "{key} ({}) does nothing", command.name);
        }
    }
}

#[test]
fn every_direct_key_does_something() {
    for command in COMMANDS {
        for key in command.direct {
            let mut world = busy();
            // Into the middle of a grid, so that there is a neighbour on each side.
            world.keys("C-b c C-b % C-b \" C-b %");
            if matches!(command.action, Action::Focus(d) if d.forward()) {
                world.keys("C-b k C-b h C-b h");
            }
            if command.name == "focus-down" {
                world.keys("C-b l");
            }
            if command.action == Action::Tab(u8::try_from(world.view().tabs.len()).unwrap()) {
                world.keys("C-b 1");
            }
            let before = shape(&world);
            world.keys(key);
            assert_ne!(shape(&world), before, "{key} ({}) does nothing", command.name);
        }
    }
}

#[test]
fn an_unbound_key_after_the_leader_says_so_and_reaches_no_program() {
    let mut world = World::with_shell();
    world.keys("C-b @");
    assert!(world.toasts().contains("Ctrl+B @ is no command"), "{}", world.toasts());
    assert_eq!(world.got(&world.session()), "");
    assert_eq!(world.mode(), Mode::Pane);
}

#[test]
fn the_last_line_says_what_keys_do_in_what_lies_over_the_screen() {
    let mut world = World::with_shell();
    for (keys, chosen) in [("C-b ?", false), ("C-b e", false), ("C-b :", true), ("C-b N", false), ("C-b x", true)] {
        world.keys(keys);
        let hints = world.view().status.hints;
        assert_eq!(hints.iter().any(|(_, what)| what == "choose"), chosen, "{keys}: {hints:?}");
        assert!(hints.contains(&("Esc".to_owned(), "close".to_owned())), "{keys}: {hints:?}");
        world.keys("Esc");
    }
}

#[test]
fn the_footer_shows_what_may_follow_the_leader() {
    let mut world = World::with_shell();
    world.keys("C-b");
    let Some(Overlay::WhichKey(rows)) = world.overlay() else { panic!("the footer") };
    let has = |key: &str, what: &str| rows.iter().any(|(k, w)| k == key && w == what);
    assert!(has("%\"", "split"), "{rows:?}");
    assert!(has("hjkl", "focus") && has("1-9", "tab") && has("z", "zoom") && has("Esc", "sidebar"), "{rows:?}");
    assert!(has("Ctrl+B", "send it"), "{rows:?}");
}

#[test]
fn the_configuration_moves_keys() {
    let loaded = load("[keys]\nleader = \"C-a\"\nprefix_free = false\n[keys.after_leader]\nzoom = [\"f\"]\nsplt-right = [\"v\"]\nhelp = \"f\"\n").unwrap();
    let mut world = World::with(loaded.options, 120, 40);
    assert!(world.toasts().contains("did you mean `split-right`?"), "{}", world.toasts());
    world.keys("n C-b");
    assert_eq!(world.got(&world.session()), "\x02", "the former leader is an ordinary key");
    world.keys("C-a % C-a f");
    assert_eq!(world.view().panes.len(), 1, "zoomed");
    world.keys("C-a z");
    assert!(world.toasts().contains("is no command"));
    world.written.clear();
    world.keys("ctrl+alt+h");
    assert_eq!(world.got(&world.session()), "\x1b\x08", "without prefix-free keys it reaches the program");
}

#[test]
fn wrong_names_and_keys_bound_twice_are_told() {
    let loaded = load("[keys.after_leader]\nsplt-right = [\"v\"]\nzoom = [\"f\"]\nhelp = \"f\"\n").unwrap();
    let (_, warnings) = Bindings::new(&loaded.options.keys);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("did you mean `split-right`?"), "{warnings:?}");
    assert!(warnings[1].contains("`zoom`") && warnings[1].contains("`help`"), "{warnings:?}");
}

#[test]
fn the_palette_offers_the_commands_of_others_where_there_is_no_conversation() {
    let mut world = World::with_shell();
    world.keys("C-b :").typed("agent-pane");
    let Some(Overlay::Palette { rows, .. }) = world.overlay() else { panic!("the palette") };
    assert!(rows[0].0.starts_with("agent-pane") && rows[0].2, "{rows:?}");
    world.keys("Enter");
    assert_eq!(world.mode(), Mode::Agent);
}

#[test]
fn a_key_for_an_environment_says_that_there_is_none() {
    for key in ["i", "e", "P", "+", "r", "S", "D", "R", "s", "a"] {
        let mut world = World::new(120, 40);
        world.keys(key);
        assert!(world.toasts().contains("no environment"), "{key}: {}", world.toasts());
    }
}

#[test]
fn the_last_line_offers_the_way_to_a_pane_where_there_is_one() {
    let mut world = World::with_shell();
    let offered = |world: &World| world.view().status.hints.iter().any(|(_, what)| what == "to pane");
    world.keys("C-b Esc");
    assert!(offered(&world));
    world.keys("Esc C-b x x");
    assert_eq!((world.mode(), world.view().panes.len()), (Mode::Nav, 0));
    assert!(!offered(&world));
}
