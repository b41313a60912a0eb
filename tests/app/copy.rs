//! Copy mode, search, scrolling.

use crate::world::{CLIENT, World};
use hermes_tui::app::buffers::{Buffers, MAX_BUFFERS, MAX_BYTES};
use hermes_tui::app::view_model::{Mode, Overlay, PaneContent};
use hermes_tui::app::{Changed, Cmd, Msg};
use hermes_tui::domain::Size;

fn with_lines(count: usize) -> World {
    let mut world = World::with_shell();
    let session = world.session();
    let text: String = (0..count).map(|n| format!("line {n:03} alpha-beta gamma\r\n")).collect();
    world.output(&session, &text);
    world
}

fn cursor(world: &World) -> (u16, u16) {
    world.focused(|p| match &p.content {
        PaneContent::Terminal { copy_cursor, .. } => copy_cursor.expect("copy mode"),
        _ => panic!("a terminal"),
    })
}

fn offset(world: &World) -> usize {
    world
        .focused(|p| if let PaneContent::Terminal { offset, .. } = &p.content { *offset } else { panic!("a terminal") })
}

fn top_line(world: &World) -> String {
    world.focused(|p| {
        let PaneContent::Terminal { screen, offset, .. } = &p.content else { panic!("a terminal") };
        let mut text = String::new();
        screen.view_at(*offset).for_each_in_row(0, |_, cell| text.push_str(cell.text));
        text.trim_end().to_owned()
    })
}

/// What the frame says of copy mode.
fn marks(world: &World) -> Vec<String> {
    world.focused(|p| p.marks.clone())
}

/// The text of the row that the cursor of copy mode is in.
fn line(world: &World) -> String {
    let row = cursor(world).1;
    world.focused(|p| {
        let PaneContent::Terminal { screen, offset, .. } = &p.content else { panic!("a terminal") };
        let mut text = String::new();
        screen.view_at(*offset).for_each_in_row(row, |_, cell| text.push_str(cell.text));
        text.trim_end().to_owned()
    })
}

/// Columns in sight where something is found, and that of the current match.
fn found(world: &World) -> (Vec<u16>, Option<u16>) {
    world.focused(|p| {
        let PaneContent::Terminal { found, here, .. } = &p.content else { panic!("a terminal") };
        (found.iter().map(|one| one.start.col).collect(), here.map(|at| at.col))
    })
}

fn copied(world: &World) -> Vec<String> {
    world
        .others
        .iter()
        .filter_map(|c| if let Cmd::Clipboard { text, .. } = c { Some(text.clone()) } else { None })
        .collect()
}

#[test]
fn motions_marks_and_yank() {
    let mut world = with_lines(5);
    world.keys("C-b [");
    assert_eq!(world.mode(), Mode::Copy);
    world.keys("k 0 v w w y");
    assert_eq!(world.mode(), Mode::Pane);
    assert_eq!(copied(&world), ["line 004 a"]);
    assert!(world.toasts().contains("copied 10 characters"), "{}", world.toasts());
    world.keys("C-b [ k k V k y");
    assert_eq!(copied(&world)[1].trim_end(), "line 002 alpha-beta gamma\nline 003 alpha-beta gamma");
    world.keys("C-b [ k 0 C-v k l l l y");
    assert_eq!(copied(&world)[2], "line\nline");
    world.keys("C-b ]");
    assert_eq!(world.got(&world.session()), "line\rline", "what was copied last is pasted");
}

#[test]
fn words_lines_and_ends() {
    let mut world = with_lines(3);
    world.keys("C-b [ k 0 w w");
    assert_eq!(cursor(&world).0, 9);
    world.keys("e");
    assert_eq!(cursor(&world).0, 13);
    world.keys("b");
    assert_eq!(cursor(&world).0, 9);
    world.keys("$");
    assert_eq!(cursor(&world).0, 24);
    world.keys("h h ^");
    assert_eq!(cursor(&world).0, 0);
    world.keys("b");
    assert_eq!(cursor(&world).0, 20, "the last word of the line before");
    world.keys("q");
    assert_eq!(world.mode(), Mode::Pane);
}

#[test]
fn the_view_follows_the_cursor_into_the_history_and_output_does_not_move_it() {
    let mut world = with_lines(200);
    let session = world.session();
    world.keys("C-b [ g");
    assert_eq!(top_line(&world), "line 000 alpha-beta gamma");
    assert!(world.focused(|p| p.marks.iter().any(|m| m.starts_with('['))));
    world.output(&session, "more\r\nmore\r\nmore\r\n");
    assert_eq!(top_line(&world), "line 000 alpha-beta gamma");
    world.keys("C-d C-d C-u");
    assert_eq!(
        (cursor(&world).1, top_line(&world).as_str()),
        (0, "line 018 alpha-beta gamma"),
        "text and cursor together"
    );
    world.keys("Esc");
    assert_eq!((world.mode(), offset(&world)), (Mode::Pane, 0));
}

#[test]
fn page_up_after_the_leader_is_the_way_in_and_the_first_motion() {
    let mut world = with_lines(200);
    world.keys("C-b pgup");
    assert_eq!(world.mode(), Mode::Copy);
    let top = top_line(&world);
    world.keys("pgup");
    assert_ne!(top_line(&world), top);
    world.keys("q");
    assert_eq!(offset(&world), 0);
}

#[test]
fn search_goes_both_ways_and_wraps() {
    let mut world = with_lines(100);
    world.keys("C-b [ ?").typed("line 042").keys("Enter");
    let row = cursor(&world).1;
    assert_eq!(marks(&world)[1], "1 of 1");
    assert_eq!(cursor(&world).0, 0);
    world.keys("/").typed("beta").keys("Enter");
    assert_eq!(cursor(&world), (15, row));
    world.keys("n");
    assert_eq!(cursor(&world), (15, row + 1));
    world.keys("N N");
    assert_eq!(cursor(&world).0, 15);
    assert_eq!(top_line(&world), "line 041 alpha-beta gamma");
    world.keys("/").typed("no such thing").keys("Enter");
    let Some(Overlay::Search { input, problem, .. }) = world.overlay() else { panic!("the search") };
    assert_eq!((input.as_str(), problem.as_deref()), ("no such thing", Some("not in this text")));
    world.keys("Esc");
    assert_eq!(world.mode(), Mode::Copy, "back to where the search began");
    world.keys("Esc");
    assert_eq!(world.mode(), Mode::Pane);
}

#[test]
fn the_cursor_survives_lines_that_are_shed_below_it() {
    let options = hermes_tui::config::load("[history]\nlines = 50\n").unwrap().options;
    let mut world = World::with(options, 120, 40);
    world.keys("n");
    let session = world.session();
    let text: String = (0..100).map(|n| format!("line {n}\r\n")).collect();
    world.output(&session, &text);
    world.keys("C-b [ g w");
    for n in 0..10 {
        world.output(&session, &format!("more {n}\r\n").repeat(10));
    }
    world.keys("b b w e k ^ $ j");
    assert_eq!(world.mode(), Mode::Copy);
    assert_eq!(cursor(&world).1, 1, "on the second of the lines that are left");
}

#[test]
fn esc_drops_the_mark_first() {
    let mut world = with_lines(3);
    world.keys("C-b [ v Esc");
    assert_eq!(world.mode(), Mode::Copy);
    world.keys("Esc");
    assert_eq!(world.mode(), Mode::Pane);
    assert_eq!(world.got(&world.session()), "");
}

#[test]
fn a_resize_ends_copy_mode_but_keeps_the_readers_place() {
    let mut world = World::new(90, 24);
    world.keys("n");
    let session = world.session();
    let text: String = (0..300).map(|n| format!("{n:04} {}\r\n", "x".repeat(66))).collect();
    world.output(&session, &text);
    world.keys("C-b [ g C-d C-d");
    world.keys("q");
    let wheel = |world: &mut World, count: usize| {
        for _ in 0..count {
            let mouse = crossterm::event::MouseEvent {
                kind: crossterm::event::MouseEventKind::ScrollUp,
                column: 50,
                row: 10,
                modifiers: crossterm::event::KeyModifiers::NONE,
            };
            world.msg(Msg::Mouse { client: CLIENT, mouse });
        }
    };
    wheel(&mut world, 30);
    let before = top_line(&world);
    let number = |line: &str| line[..4].to_owned();
    world.msg(Msg::ClientResized { client: CLIENT, size: Size { rows: 24, cols: 140 } });
    let after = top_line(&world);
    assert!(before.starts_with(char::is_numeric) || after.starts_with(char::is_numeric), "{before} / {after}");
    if before.starts_with(char::is_numeric) {
        assert_eq!(number(&before), number(&after));
    }
    assert!(offset(&world) > 0);
    world.typed("x");
    assert_eq!(offset(&world), 0, "typing shows the end again");
}

#[test]
fn the_agent_pane_has_no_copy_mode_and_says_so() {
    let mut world = World::new(120, 40);
    world.begin_turn("talk", "x", hermes_tui::domain::EnvSpec::local());
    world.keys("C-b a C-b [");
    assert_eq!(world.mode(), Mode::Agent);
    assert!(world.toasts().contains("agent pane"), "{}", world.toasts());
}

#[test]
fn a_count_repeats_what_follows_it() {
    let mut world = with_lines(100);
    world.keys("C-b [ g 5 j");
    assert_eq!(line(&world), "line 005 alpha-beta gamma");
    world.keys("3 w");
    assert_eq!(cursor(&world).0, 14, "over the sign");
    world.keys("1 0");
    assert_eq!(marks(&world)[0], "copy 10", "0 is a digit after another one");
    world.keys("k");
    assert_eq!(line(&world), "line 000 alpha-beta gamma");
    world.keys("4 2 G");
    assert_eq!((line(&world).as_str(), marks(&world)[1].as_str()), ("line 041 alpha-beta gamma", "[42/101]"));
    world.keys("0 2 f a");
    assert_eq!(cursor(&world).0, 13);
    world.keys(";");
    assert_eq!(cursor(&world).0, 18);
    world.keys(", ,");
    assert_eq!(cursor(&world).0, 9);
    world.keys("5 Esc");
    assert_eq!((world.mode(), marks(&world)[0].as_str()), (Mode::Copy, "copy"), "Esc takes the count back");
    world.keys("9 9 9 9 9 9 9 9 9 9 j");
    assert_eq!(marks(&world)[1], "[101/101]");
}

#[test]
fn lines_of_the_view_and_scrolling_by_one() {
    let mut world = with_lines(200);
    world.keys("C-b [ 5 0 G z");
    assert!(world.toasts().contains("copy mode"), "an unknown key says what there is");
    world.keys("H");
    let top = top_line(&world);
    assert_eq!((cursor(&world).1, line(&world)), (0, top.clone()));
    world.keys("C-e");
    assert_ne!(top_line(&world), top);
    assert_eq!(cursor(&world).1, 0, "it stays in sight");
    world.keys("C-y");
    assert_eq!((top_line(&world), cursor(&world).1), (top, 1), "it stays on its line");
    world.keys("M");
    let middle = cursor(&world).1;
    world.keys("L");
    let bottom = cursor(&world).1;
    assert_eq!(middle, bottom / 2);
    world.keys("3 H");
    assert_eq!(cursor(&world).1, 2);
}

#[test]
fn the_end_of_the_word_before_is_two_keys() {
    let mut world = with_lines(3);
    world.keys("C-b [ 2 G $ g e");
    assert_eq!((line(&world).as_str(), cursor(&world).0), ("line 001 alpha-beta gamma", 18));
    world.keys("g g");
    assert_eq!(line(&world), "line 000 alpha-beta gamma");
}

#[test]
fn a_mark_is_named_and_goes_to_its_other_end() {
    let mut world = with_lines(9);
    world.keys("C-b [ 2 G 0 v l l l");
    assert_eq!(marks(&world)[0], "copy characters");
    world.keys("o");
    assert_eq!(cursor(&world).0, 0);
    world.keys("V");
    assert_eq!(marks(&world)[0], "copy lines");
    world.keys("C-v O");
    assert_eq!((marks(&world)[0].as_str(), cursor(&world).0), ("copy block", 3));
    world.keys("Esc 5 l D");
    assert_eq!(copied(&world), [" alpha-beta gamma"]);
    world.keys("C-b [ 3 G Y");
    assert_eq!(copied(&world)[1], "line 002 alpha-beta gamma");
}

#[test]
fn a_search_moves_while_it_is_typed_and_esc_takes_it_back() {
    let mut world = with_lines(100);
    world.keys("C-b [ g 1 0 j /");
    let before = (top_line(&world), marks(&world));
    world.typed("line 07");
    assert_eq!(line(&world), "line 070 alpha-beta gamma");
    let Some(Overlay::Search { note, problem, .. }) = world.overlay() else { panic!("the search") };
    assert_eq!((note.as_str(), problem), ("1 of 10", None));
    assert_eq!(marks(&world)[1], "1 of 10");
    world.typed("5");
    assert_eq!(line(&world), "line 075 alpha-beta gamma");
    world.keys("Backspace");
    assert_eq!(line(&world), "line 070 alpha-beta gamma");
    assert_eq!(found(&world).0.iter().filter(|col| **col == 0).count(), found(&world).0.len());
    world.keys("Esc");
    assert_eq!((top_line(&world), marks(&world)), before);
    world.keys("/").typed("line 02").keys("Enter n n");
    assert_eq!((line(&world).as_str(), marks(&world)[1].as_str()), ("line 022 alpha-beta gamma", "3 of 10"));
    world.keys("3 n 2 N");
    assert_eq!(marks(&world)[1], "4 of 10");
    world.keys("/ Enter");
    assert_eq!(marks(&world)[1], "5 of 10", "nothing typed is the last search again");
}

#[test]
fn an_expression_is_a_key_away_and_a_bad_one_stays_to_be_mended() {
    let mut world = with_lines(30);
    world.keys("C-b [ g /").typed(r"1\d b").keys("C-r");
    let Some(Overlay::Search { regex, problem, .. }) = world.overlay() else { panic!("the search") };
    assert_eq!((regex, problem.as_deref()), (true, Some("not in this text")));
    world.keys("C-u").typed(r"(1\d");
    let Some(Overlay::Search { problem, .. }) = world.overlay() else { panic!("the search") };
    assert!(problem.unwrap().contains("unclosed"));
    world.keys("Enter");
    let Some(Overlay::Search { input, .. }) = world.overlay() else { panic!("it stays") };
    assert_eq!(input, r"(1\d");
    world.typed(") al").keys("Enter");
    assert_eq!((line(&world).as_str(), marks(&world)[1].as_str()), ("line 010 alpha-beta gamma", "1 of 10"));
    assert_eq!(found(&world), (vec![6; 10], Some(6)), "all that are in sight");
    world.keys("q");
    assert_eq!(world.mode(), Mode::Pane);
}

#[test]
fn the_word_under_the_cursor() {
    let mut world = World::with_shell();
    let session = world.session();
    world.output(&session, "foo foobar\r\nbar foo\r\nfoo\r\n");
    world.keys("C-b [ g 0 *");
    assert_eq!((line(&world).as_str(), cursor(&world).0, marks(&world)[1].as_str()), ("bar foo", 4, "2 of 3"));
    world.keys("2 #");
    assert_eq!((line(&world).as_str(), cursor(&world).0), ("foo", 0), "round at the first one");
    world.keys("j *");
    assert!(world.toasts().contains("no word"), "{}", world.toasts());
}

#[test]
fn a_pasted_search_is_searched_for() {
    let mut world = with_lines(30);
    world.keys("C-b [ /");
    world.msg(Msg::Paste { client: CLIENT, text: "line 012\nmore".to_owned() });
    assert_eq!(line(&world), "line 012 alpha-beta gamma");
}

/// What a shell with integration prints: two commands and a third prompt.
fn with_prompts() -> World {
    let mut world = World::with_shell();
    let session = world.session();
    for (text, output, exit) in [("make", "a.c\r\nb.c\r\n", 0), ("test", "FAILED\r\n", 2)] {
        let told = format!("\x1b]133;A\x07$ \x1b]133;B\x07{text}\r\n\x1b]133;C\x07{output}\x1b]133;D;{exit}\x07");
        world.output(&session, &told);
    }
    world.output(&session, "\x1b]133;A\x07$ \x1b]133;B\x07");
    world
}

#[test]
fn prompts_are_gone_to_and_outputs_are_marked() {
    let mut world = with_prompts();
    world.keys("C-b (");
    assert_eq!((world.mode(), line(&world).as_str()), (Mode::Copy, "$ test"));
    world.keys("[");
    assert_eq!(line(&world), "$ make");
    world.keys("[");
    assert!(world.toasts().contains("no further prompt"), "{}", world.toasts());
    world.keys("a y");
    assert_eq!(copied(&world), ["a.c\nb.c"]);
    world.keys("C-b [ 2 [ ]");
    assert_eq!(line(&world), "$ test");
    world.keys("j a y C-b O");
    assert_eq!(copied(&world)[1..], ["FAILED", "FAILED"]);
    let mut world = World::with_shell();
    world.keys("C-b (");
    assert!(world.mode() == Mode::Pane && world.toasts().contains("shell-integration"), "{}", world.toasts());
}

#[test]
fn how_a_command_ended_is_told_beside_its_prompt_wherever_that_is() {
    let mut world = with_prompts();
    let session = world.session();
    let margin = |world: &World| {
        world.focused(|p| if let PaneContent::Terminal { margin, .. } = &p.content { margin.clone() } else { vec![] })
    };
    assert_eq!(margin(&world), [(0, true), (3, false)]);
    world.output(&session, &"\r\n".repeat(32));
    assert_eq!(margin(&world), [(1, false)], "it goes with its line");
    world.model.drawn(CLIENT);
    world.output(&session, "x");
    assert_eq!(world.model.changed(CLIENT), Changed::Output, "nothing beside the text changed");
    world.output(&session, "\r\n\r\n");
    assert_eq!(world.model.changed(CLIENT), Changed::All, "what stands on the border moved");
    world.keys("C-b [ g");
    assert_eq!(margin(&world), [(0, true), (3, false)]);
}

#[test]
fn what_was_copied_is_kept_and_can_be_chosen() {
    let mut world = with_lines(3);
    let session = world.session();
    world.keys("C-b #");
    assert!(world.toasts().contains("nothing was copied yet"), "{}", world.toasts());
    world.keys("C-b [ 1 G Y C-b [ 2 G 0 v l l l y C-b [ 3 G A");
    world.keys("C-b #");
    let rows = |world: &World| match world.overlay() {
        Some(Overlay::Palette { rows, .. }) => rows.into_iter().map(|row| row.0).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(rows(&world), ["lineline 002 alpha-beta gamma", "line 000 alpha-beta gamma"], "appended in its place");
    world.keys("j Backspace Down Enter");
    assert_eq!(world.got(&session), "line 000 alpha-beta gamma");
    world.keys("C-b # C-d");
    assert_eq!(rows(&world), ["line 000 alpha-beta gamma"]);
    world.keys("Esc C-b - C-b -");
    assert!(world.toasts().contains("forgot `line 000"), "{}", world.toasts());
    world.keys("C-b ]");
    assert_eq!(world.got(&session), "line 000 alpha-beta gamma", "nothing is left to paste");
}

#[test]
fn copied_texts_are_bounded_in_number_and_bytes() {
    let mut buffers = Buffers::default();
    (0..200).for_each(|n| buffers.push(format!("text {n}")));
    assert_eq!((buffers.iter().count(), buffers.newest()), (MAX_BUFFERS, Some("text 199")));
    buffers.push("text 180".to_owned());
    assert_eq!(
        (buffers.iter().count(), buffers.newest(), buffers.get(1)),
        (MAX_BUFFERS, Some("text 180"), Some("text 199"))
    );
    buffers.push("x".repeat(MAX_BYTES - 10));
    assert!(buffers.iter().count() <= 2 && buffers.newest().is_some_and(|text| text.starts_with('x')));
    buffers.push("y".repeat(MAX_BYTES + 1));
    assert_eq!(buffers.iter().count(), 1, "the newest is kept whatever its size");
}

#[test]
fn the_text_of_a_session_is_saved_or_shown_in_an_editor() {
    let mut world = with_lines(2);
    world.model.options.save_dir = "/state/saved".to_owned();
    world.keys("C-b F");
    let Some(Overlay::Prompt { input, problem, .. }) = world.overlay() else { panic!("where to") };
    assert!(input.starts_with("/state/saved/") && input.ends_with(".txt") && problem.is_none(), "{input}");
    world.keys("C-u").typed("here.txt").keys("Enter");
    let Some(Overlay::Prompt { problem, .. }) = world.overlay() else { panic!("no place for a host") };
    assert!(problem.unwrap().contains("whole path"));
    world.keys("C-u").typed("~/here.txt").keys("Enter");
    let text = "line 000 alpha-beta gamma\nline 001 alpha-beta gamma\n".to_owned();
    let path = "~/here.txt".to_owned();
    assert_eq!(world.others.last(), Some(&Cmd::Save { client: CLIENT, path, text: text.clone() }));
    world.msg(Msg::Saved { client: CLIENT, saved: Ok("/home/me/here.txt".to_owned()) });
    assert!(world.toasts().contains("saved to /home/me/here.txt"));
    world.keys("C-b [ C-b E");
    assert_eq!(world.others.last(), Some(&Cmd::Edit { client: CLIENT, text }));
    assert_eq!(world.mode(), Mode::Copy, "copy mode goes on behind it");
    world.msg(Msg::Told { client: CLIENT, text: "no editor is known here".to_owned() });
    assert!(world.toasts().contains("no editor is known here"));
    let mut world = World::new(120, 40);
    world.begin_turn("talk", "x", hermes_tui::domain::EnvSpec::local());
    world.keys("C-b a C-b E");
    assert!(world.toasts().contains("shows no shell"), "{}", world.toasts());
}
