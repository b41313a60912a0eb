//! Whole screens as they are drawn, at three sizes, and that drawing survives anything.

use hermes_tui::app::view_model::*;
use hermes_tui::ui::{ColourDepth, Style, Theme, paint};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

#[path = "screens/any.rs"]
mod any;
#[path = "screens/cursor.rs"]
mod cursor;
#[path = "screens/drive.rs"]
mod drive;
#[path = "screens/dump.rs"]
mod dump;
#[path = "screens/printed.rs"]
mod printed;
#[path = "screens/scene.rs"]
mod scene;

use scene::*;

fn inner_of(a: Area) -> Area {
    area(a.x.saturating_add(1), a.y.saturating_add(1), a.width.saturating_sub(2), a.height.saturating_sub(2))
}

const SIZES: [(u16, u16); 3] = [(40, 12), (80, 24), (120, 40)];

fn drawn(vm: &ViewModel<'_>, style: &Style) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, vm.size.cols, vm.size.rows));
    paint(&mut buf, vm, style);
    buf
}

/// Compares with the accepted screen: text at every size, styles at 80x24.
/// With `HTUI_SCREENS=DIR` it also writes each as escape sequences, to be looked at with `cat`.
fn check(name: &str, vm: &ViewModel<'_>, style: &Style) {
    let buf = drawn(vm, style);
    let name = format!("{name}_{}x{}", vm.size.cols, vm.size.rows);
    if let Ok(dir) = std::env::var("HTUI_SCREENS") {
        let path = std::path::Path::new(&dir).join(format!("{name}.ansi"));
        std::fs::write(path, dump::ansi(&buf)).expect("a folder that can be written");
    }
    let dump = if vm.size.cols == 80 { dump::text_and_styles(&buf) } else { dump::text(&buf) };
    insta::with_settings!({
        snapshot_path => "screens/snapshots",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, dump);
    });
}

fn shell_for(cols: u16, rows: u16) -> hermes_tui::term::Screen {
    let room = inner(frame(cols, rows).panes_area);
    screen(room.width, room.height, CARGO)
}

/// A screen with something over it, at all sizes.
fn check_overlay(name: &str, overlay: impl Fn() -> Overlay) {
    for (cols, rows) in SIZES {
        let shell = shell_for(cols, rows);
        let mut vm = with_shell(cols, rows, &shell);
        vm.mode = Mode::Overlay;
        vm.status.hints = pairs(&[("Enter", "choose"), ("Esc", "back")]);
        vm.overlay = Some(overlay());
        check(name, &vm, &Style::default());
    }
}

#[test]
fn welcome_screen() {
    for (cols, rows) in SIZES {
        let mut vm = frame(cols, rows);
        vm.mode = Mode::Nav;
        vm.sidebar.rows.clear();
        vm.sidebar.selected = None;
        vm.tabs.clear();
        vm.tabs_area.height = 0;
        vm.panes_area.y = 0;
        vm.panes_area.height += 1;
        vm.status.facts = vec!["no environments".into()];
        vm.status.hints = pairs(&[("Enter", "new sandbox"), ("?", "help"), ("q", "leave")]);
        vm.welcome = Some(welcome());
        check("welcome", &vm, &Style::default());
    }
}

#[test]
fn sidebar_with_one_of_each() {
    for (cols, rows) in SIZES {
        let shell = shell_for(cols, rows);
        let mut vm = with_shell(cols, rows, &shell);
        vm.mode = Mode::Nav;
        vm.sidebar.focused = true;
        vm.sidebar.hidden = (2, 7);
        if !vm.sidebar.strip {
            let mut rows = environments();
            rows.splice(4..4, details());
            vm.sidebar.rows = rows;
        }
        vm.status.hints = pairs(&[("j k", "move"), ("Enter", "open"), ("/", "filter"), ("?", "help"), ("Esc", "back")]);
        vm.status.troubles = vec!["hermes: no answer".into()];
        check("sidebar", &vm, &Style::default());
    }
}

#[test]
fn sidebar_with_sandboxes_of_others() {
    for (cols, rows) in SIZES {
        let shell = shell_for(cols, rows);
        let mut vm = with_shell(cols, rows, &shell);
        vm.mode = Mode::Nav;
        vm.sidebar.focused = true;
        vm.sidebar.rows = others();
        vm.sidebar.selected = Some(1);
        if !vm.sidebar.strip {
            vm.sidebar.rows.splice(2..2, details_of_others());
        }
        check("sidebar_others", &vm, &Style::default());
    }
}

#[test]
fn what_others_run_in_an_environment() {
    for (cols, rows) in SIZES {
        let shell = shell_for(cols, rows);
        let mut vm = with_shell(cols, rows, &shell);
        vm.sidebar.rows = others();
        vm.panes[0].title = "commands · default".into();
        vm.panes[0].content = PaneContent::Feed(commands_of_others());
        vm.panes[0].banner = Some(Banner {
            text: "paused by somebody else: nothing moves or is decided until it goes on".into(),
            level: Level::Warning,
        });
        check("feed_others", &vm, &Style::default());
    }
}

#[test]
fn the_question_before_a_sandbox_of_others_is_stopped() {
    check_overlay("dialog_others", stop_of_others);
}

#[test]
fn sidebar_while_filtering() {
    for (cols, rows) in SIZES {
        let mut vm = frame(cols, rows);
        vm.mode = Mode::Nav;
        vm.sidebar.focused = true;
        vm.sidebar.rows = environments()[2..5].to_vec();
        vm.sidebar.selected = Some(1);
        vm.sidebar.filter = Some(("fixlog".into(), 1));
        check("sidebar_filter", &vm, &Style::default());
    }
}

#[test]
fn sidebar_over_panes_on_a_narrow_screen() {
    let shell = shell_for(40, 12);
    let mut vm = with_shell(40, 12, &shell);
    vm.mode = Mode::Nav;
    vm.sidebar.area = area(0, 0, 40, 11);
    vm.sidebar.strip = false;
    vm.sidebar.focused = true;
    vm.sidebar.rows = environments()[2..].to_vec();
    vm.sidebar.selected = Some(1);
    vm.tabs_area = area(40, 0, 0, 1);
    check("sidebar_over_panes", &vm, &Style::default());
}

fn four<'a>(cols: u16, rows: u16, shell: &'a hermes_tui::term::Screen) -> ViewModel<'a> {
    let mut vm = frame(cols, rows);
    let [a, b, c, d] = quarters(vm.panes_area);
    vm.panes = vec![
        pane(a, "fix-login · main · bash", false, shell),
        pane(b, "plain · shell", false, shell),
        pane(c, "scratch · shell", true, shell),
        pane(d, "fix-login · agent", false, shell),
    ];
    vm.panes[0].banner = Some(Banner { text: "ended with 0: Enter again, x close".into(), level: Level::Info });
    if let PaneContent::Terminal { dim, .. } = &mut vm.panes[0].content {
        *dim = true;
    }
    vm.panes[0].marks = vec!["exit 0".into()];
    vm.panes[1].on_host = true;
    vm.panes[1].synchronised = true;
    vm.panes[2].banner = Some(Banner { text: "stopped in 0:41: any key keeps it".into(), level: Level::Warning });
    vm.panes[2].marks = vec!["[12/300]".into()];
    vm.panes[3].content = PaneContent::Feed(feed());
    vm
}

#[test]
fn splits_with_focus() {
    for (cols, rows) in SIZES {
        let quarter = inner(quarters(frame(cols, rows).panes_area)[0]);
        let shell = screen(quarter.width, quarter.height, CARGO);
        check("splits", &four(cols, rows, &shell), &Style::default());
    }
}

#[test]
fn what_a_program_asks_is_whole_and_in_its_own_pane_also_where_an_edge_is_shared() {
    for (cols, rows) in [(80, 24), (120, 40), (200, 50)] {
        let mut vm = frame(cols, rows);
        let [upper, _, left, right] = quarters(vm.panes_area);
        let upper = area(upper.x, upper.y, vm.panes_area.width, upper.height);
        let (wide, narrow) = (inner(upper), inner(left));
        let (wide, narrow) = (screen(wide.width, wide.height, CARGO), screen(narrow.width, narrow.height, CARGO));
        vm.panes = vec![
            pane(upper, "asking", true, &wide),
            pane(left, "lower left", false, &narrow),
            pane(right, "lower right", false, &narrow),
        ];
        vm.panes[0].banner = Some(Banner { text: "asks to copy 9 characters: Ctrl+B C".into(), level: Level::Warning });
        let text = dump::text(&drawn(&vm, &Style::default()));
        let line = text.lines().find(|line| line.contains("asks to copy")).expect("it is shown");
        assert!(line.contains("characters: Ctrl+B C"), "{cols}x{rows}: {line}");
    }
}

#[test]
fn splits_without_colours_and_without_unicode() {
    let quarter = inner(quarters(frame(80, 24).panes_area)[0]);
    let shell = screen(quarter.width, quarter.height, CARGO);
    let vm = four(80, 24, &shell);
    check("splits_mono", &vm, &Style::new(&Theme::mono(), ColourDepth::True, true));
    check("splits_no_color", &vm, &Style::new(&Theme::dark(), ColourDepth::None, true));
    check("splits_ascii", &vm, &Style::new(&Theme::dark(), ColourDepth::Ansi16, false));
    check("splits_light", &vm, &Style::new(&Theme::light(), ColourDepth::Ansi256, true));
    let mut nav = four(80, 24, &shell);
    nav.mode = Mode::Nav;
    nav.sidebar.focused = true;
    check("nav_mono", &nav, &Style::new(&Theme::mono(), ColourDepth::True, true));
    check("nav_ascii", &nav, &Style::new(&Theme::dark(), ColourDepth::None, false));
}

#[test]
fn zoomed_pane() {
    for (cols, rows) in SIZES {
        let shell = shell_for(cols, rows);
        let mut vm = with_shell(cols, rows, &shell);
        vm.tabs[1].zoomed = true;
        check("zoom", &vm, &Style::default());
    }
}

#[test]
fn feed_cut_into_turns() {
    for (cols, rows) in SIZES {
        let mut vm = frame(cols, rows);
        let whole = vm.panes_area;
        let half = whole.width / 2;
        let shell = screen(40, 20, CARGO);
        vm.panes = vec![pane(whole, "fix-login · agent · turn 12", true, &shell)];
        if cols > 100 {
            vm.panes[0].area.width = half + 1;
            vm.panes[0].inner = inner(vm.panes[0].area);
            let right = area(whole.x + half, whole.y, whole.width - half, whole.height);
            vm.panes.push(pane(right, "fix-login · shell", false, &shell));
        }
        vm.panes[0].content = PaneContent::Feed(feed());
        check("feed", &vm, &Style::default());
    }
}

#[test]
fn waiting_and_gone() {
    for (cols, rows) in SIZES {
        let shell = shell_for(cols, rows);
        let mut vm = frame(cols, rows);
        let whole = vm.panes_area;
        let half = whole.height / 2;
        let upper = area(whole.x, whole.y, whole.width, half + 1);
        let lower = area(whole.x, whole.y + half, whole.width, whole.height - half);
        vm.panes = vec![pane(upper, "gone · shell", true, &shell), pane(lower, "fresh · shell", false, &shell)];
        if let PaneContent::Terminal { dim, .. } = &mut vm.panes[0].content {
            *dim = true;
        }
        let text = "sandbox gone at 12:01: removed outside of hermes-tui. r makes it again";
        vm.panes[0].banner = Some(Banner { text: text.into(), level: Level::Error });
        vm.panes[1].content = PaneContent::Waiting("pulling alpine:3.20, layer 2 of 5, 31 of 74 MB".into());
        check("waiting_and_gone", &vm, &Style::default());
    }
}

#[test]
fn what_a_program_wants_to_copy_and_what_was_blocked() {
    for (cols, rows) in [(40, 12), (80, 24)] {
        let shell = shell_for(cols, rows);
        let mut vm = with_shell(cols, rows, &shell);
        vm.panes[0].marks = vec!["copy?".into(), "blocked 12k".into()];
        let text = "asks to copy 3 lines: Ctrl+B C · ignored otherwise";
        vm.panes[0].banner = Some(Banner { text: text.into(), level: Level::Info });
        check("asks_to_copy", &vm, &Style::default());
    }
}

#[test]
fn where_a_link_leads() {
    let trick = "see \x1b]8;;https://bank.example@evil.org/\x07https://bank.example\x1b]8;;\x07\r\n";
    let long = "https://login.bank.example.of.a.very.long.name.that.hides.its.end.evil.org/and/a/path?with=more";
    for (cols, rows) in [(40, 12), (80, 24)] {
        let room = inner(frame(cols, rows).panes_area);
        let shell = screen(room.width, room.height, trick);
        let mut vm = with_shell(cols, rows, &shell);
        vm.panes[0].link = Some("https://bank.example@evil.org/".into());
        check("link", &vm, &Style::default());
        vm.panes[0].link = Some(long.into());
        check("link_long", &vm, &Style::default());
        // Without a frame it lies over the last line.
        vm.bare = true;
        vm.panes[0].inner = area(0, 0, cols, rows);
        check("link_bare", &vm, &Style::default());
    }
}

#[test]
fn a_question_before_a_program_copies() {
    check_overlay("dialog_copy", || Overlay::Dialog {
        title: "fix-login · bash wants to copy 3 lines".into(),
        lost: vec![],
        kept: vec![],
        text: vec!["> git add -A".into(), "> git commit -m \"fix the login\"".into(), "> git push".into()],
        choices: pairs(&[
            ("Esc", "not now"),
            ("y", "copy it"),
            ("a", "always from fix-login"),
            ("n", "never from fix-login"),
        ]),
        selected: 0,
        danger: None,
    });
}

#[test]
fn copy_mode_with_a_selection() {
    use hermes_tui::term::{Pos, Selection, SelectionKind};
    let shell = shell_for(80, 24);
    let mut vm = with_shell(80, 24, &shell);
    vm.mode = Mode::Copy;
    vm.panes[0].marks = vec!["[0/12]".into()];
    vm.status.hints = pairs(&[("v", "mark"), ("y", "copy"), ("/", "search"), ("Esc", "leave")]);
    if let PaneContent::Terminal { selection, copy_cursor, screen, .. } = &mut vm.panes[0].content {
        let (anchor, head) = (Pos { line: 2, col: 9 }, Pos { line: 4, col: 15 });
        *selection = Some(Selection { kind: SelectionKind::Character, anchor, head, epoch: screen.epoch() });
        *copy_cursor = Some((15, 4));
    }
    check("copy", &vm, &Style::default());
    check("copy_no_color", &vm, &Style::new(&Theme::dark(), ColourDepth::None, true));
}

#[test]
fn how_commands_ended_stands_on_the_border() {
    let shell = shell_for(80, 24);
    let mut vm = with_shell(80, 24, &shell);
    if let PaneContent::Terminal { margin, .. } = &mut vm.panes[0].content {
        *margin = vec![(0, true), (9, false), (200, false)];
    }
    check("margin", &vm, &Style::default());
    check("margin_no_color", &vm, &Style::new(&Theme::dark(), ColourDepth::None, false));
}

#[test]
fn a_search_with_all_that_is_found() {
    use hermes_tui::term::Finder;
    for (cols, rows) in [(80, 24), (40, 12)] {
        let shell = shell_for(cols, rows);
        let mut vm = with_shell(cols, rows, &shell);
        vm.mode = Mode::Overlay;
        vm.panes[0].marks = vec!["copy".into(), "2 of 3".into(), "[7/30]".into()];
        let search = |problem: Option<&str>| Overlay::Search {
            down: true,
            regex: true,
            input: "o[kn]".into(),
            cursor: 5,
            note: "2 of 3".into(),
            problem: problem.map(str::to_owned),
        };
        vm.overlay = Some(search(None));
        if let PaneContent::Terminal { screen, found, here, .. } = &mut vm.panes[0].content {
            *found = Finder::regex("o[kn]").unwrap().matches_in(screen, screen.lines());
            *here = found.first().map(|one| one.start);
        }
        check("search", &vm, &Style::default());
        if cols == 80 {
            check("search_no_color", &vm, &Style::new(&Theme::dark(), ColourDepth::None, true));
            vm.overlay = Some(search(Some("unclosed group")));
            check("search_problem", &vm, &Style::default());
        }
    }
}

#[test]
fn passing_messages() {
    for (cols, rows) in SIZES {
        let shell = shell_for(cols, rows);
        let mut vm = with_shell(cols, rows, &shell);
        vm.notices = toasts();
        check("toasts", &vm, &Style::default());
    }
}

#[test]
fn leader_footer() {
    for (cols, rows) in SIZES {
        let shell = shell_for(cols, rows);
        let mut vm = with_shell(cols, rows, &shell);
        vm.mode = Mode::Leader;
        vm.overlay = Some(which_key());
        vm.status.hints = pairs(&[("Esc", "cancel")]);
        check("which_key", &vm, &Style::default());
    }
}

#[test]
fn turn_list() {
    check_overlay("turns", || Overlay::Turns {
        rows: turn_rows(),
        selected: 2,
        scroll: 0,
        filter: "log".into(),
        only: "",
    });
    check_overlay("turns_failed", || Overlay::Turns {
        rows: turn_rows().drain(..).filter(|row| row.depth == 0 || row.text.contains("login")).collect(),
        selected: 2,
        scroll: 0,
        filter: String::new(),
        only: "failed",
    });
}

#[test]
fn what_keys_in_the_turn_list_do_is_told_in_the_last_line() {
    let shell = shell_for(80, 24);
    let mut vm = with_shell(80, 24, &shell);
    vm.mode = Mode::Overlay;
    let rows = turn_rows();
    vm.overlay = Some(Overlay::Turns { rows, selected: 2, scroll: 0, filter: String::new(), only: "" });
    vm.notices = vec![Toast { text: "copied `cargo test login`".into(), level: Level::Success }];
    let last = dump::lines(&drawn(&vm, &Style::default())).pop().unwrap_or_default();
    assert!(last.contains("copied `cargo test login`"), "{last}");
}

#[test]
fn what_needs_a_person_is_counted_in_the_last_line() {
    for (cols, rows) in SIZES {
        let shell = shell_for(cols, rows);
        let mut vm = with_shell(cols, rows, &shell);
        vm.status.needs = "2 need you".into();
        vm.status.hints.insert(1, ("Ctrl+B m".into(), "go there".into()));
        vm.status.troubles = vec!["hermes: no answer".into()];
        check("needs", &vm, &Style::default());
    }
}

#[test]
fn explained_verdict() {
    check_overlay("explain", explain);
}

#[test]
fn question_with_consequences() {
    check_overlay("dialog", dialog);
}

#[test]
fn form_for_an_environment() {
    check_overlay("form", form);
}

#[test]
fn command_palette() {
    check_overlay("palette", palette);
}

#[test]
fn help_overlay() {
    check_overlay("help", help);
}

#[test]
fn prompt_with_a_problem() {
    check_overlay("prompt", || Overlay::Prompt {
        title: "rename fix-login".into(),
        input: "research".into(),
        cursor: 8,
        problem: Some("`research` exists already on docker".into()),
    });
}

#[test]
fn an_overlay_is_never_covered_by_messages() {
    let shell = shell_for(40, 12);
    let mut vm = with_shell(40, 12, &shell);
    vm.mode = Mode::Overlay;
    for (overlay, says_error) in [(dialog(), false), (help(), true), (form(), true)] {
        vm.overlay = Some(overlay);
        vm.notices.clear();
        let alone = dump::lines(&drawn(&vm, &Style::default()));
        vm.notices = toasts();
        let lines = dump::lines(&drawn(&vm, &Style::default()));
        assert_eq!(alone[..11], lines[..11], "the overlay covers these lines and stays whole");
        assert_eq!(lines[11].contains("cannot pull"), says_error, "{}", lines[11]);
    }
}

#[test]
fn what_a_program_prints_cannot_reorder_the_screen() {
    let marks = "\u{200e}\u{200f}\u{61c}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
    let text: String = marks.chars().map(|mark| format!("é{mark}e\u{301}{mark}語{mark} ")).collect();
    let shell = screen(80, 20, &text);
    let vm = with_shell(80, 24, &shell);
    let drawn = dump::text(&drawn(&vm, &Style::default()));
    assert!(drawn.contains("ée\u{301}語"), "{drawn}");
    let left: Vec<char> = drawn.chars().filter(|c| marks.contains(*c)).collect();
    assert!(left.is_empty(), "{left:?}");
}
