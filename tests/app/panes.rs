//! Panes and tabs by keyboard, and what reaches the programs.

use crate::world::{CLIENT, World};
use hermes_tui::app::view_model::{Mode, Overlay, PaneContent};
use hermes_tui::app::{Cmd, Msg};
use hermes_tui::domain::{EnvId, Event, Phase, SessionState, Size, Span};

fn panes(world: &World) -> usize {
    world.view().panes.len()
}

#[test]
fn one_key_in_the_welcome_makes_a_sandbox_and_a_shell() {
    let mut world = World::new(80, 24);
    let view = world.view();
    assert_eq!(view.mode, Mode::Nav);
    let welcome = view.welcome.expect("the welcome");
    assert_eq!(welcome.offers[0].0, "n or Enter");
    assert_eq!((view.tabs_area.height, view.panes_area.y), (0, view.sidebar.area.y), "no empty row for tabs");
    world.keys("n");
    let view = world.view();
    assert!(view.welcome.is_none());
    assert_eq!((view.mode, view.tabs.len(), view.panes.len()), (Mode::Pane, 1, 1));
    assert_eq!(world.model.state.environments[&world.env()].phase, Phase::Ready);
    world.typed("ls").keys("Enter");
    assert_eq!(world.got(&world.session()), "ls\r");
}

#[test]
fn enter_in_the_welcome_does_the_same() {
    let mut world = World::new(80, 24);
    world.keys("Enter");
    assert_eq!(world.mode(), Mode::Pane);
}

#[test]
fn two_shells_of_one_environment_are_told_apart() {
    let mut world = World::with_shell();
    let first = world.session();
    world.now = world.now + Span::seconds(1);
    world.keys("C-b %");
    let titles = |w: &World| w.view().panes.iter().map(|p| p.title.clone()).collect::<Vec<_>>();
    let (a, b) = (titles(&world)[0].clone(), titles(&world)[1].clone());
    assert!(a.ends_with(" · shell") && b.ends_with(" · shell 2"), "{a} {b}");
    world.output(&first, "\x1b]2;vim notes\x07");
    assert!(titles(&world)[0].ends_with(" · vim notes"));
    world.keys("C-b w");
    let Some(Overlay::Palette { rows, .. }) = world.overlay() else { panic!("the list") };
    let named = |what: &str| rows.iter().any(|(text, ..)| text.contains(what));
    assert!(named("vim notes") && named("shell 2"), "{rows:?}");
}

#[test]
fn the_shell_opens_at_the_size_of_its_pane() {
    let mut world = World::new(120, 40);
    world.keys("n");
    let session = world.session();
    let inner = world.focused(|p| p.inner);
    assert_eq!(world.sizes[&session], Size { rows: inner.height, cols: inner.width });
    assert_eq!(world.resizes, 0, "the first size is right, nothing has to be corrected");
}

#[test]
fn a_pane_says_how_far_its_sandbox_is() {
    let mut world = World::new(120, 40);
    world.slow = true;
    world.keys("n");
    let env = world.env();
    world.msg(Msg::Progress { env, text: "unpacking".to_owned() });
    world.focused(|p| assert!(matches!(&p.content, PaneContent::Waiting(t) if t == "unpacking")));
    world.typed("ls\r");
    world.let_go();
    let session = world.session();
    assert_eq!(world.got(&session), "ls\r", "what was typed while it opened is its first input");
}

#[test]
fn only_the_leader_is_taken_from_programs() {
    let mut world = World::with_shell();
    let session = world.session();
    world.keys("Esc C-p C-q / ? M-x : C-a q d");
    assert_eq!(world.got(&session), "\x1b\x10\x11/?\x1bx:\x01qd");
    world.written.clear();
    world.keys("C-b C-b");
    assert_eq!(world.got(&session), "\x02", "twice sends it");
}

#[test]
fn splits_open_shells_of_the_same_environment_and_programs_learn_their_sizes() {
    let mut world = World::with_shell();
    let first = world.session();
    world.keys("C-b %");
    let second = world.session();
    assert_ne!(first, second);
    assert_eq!(panes(&world), 2);
    world.keys("C-b \"");
    assert_eq!(panes(&world), 3);
    assert_eq!(world.model.state.environments.len(), 1);
    for pane in &world.view().panes {
        let PaneContent::Terminal { session, screen, .. } = &pane.content else { panic!("a terminal") };
        let size = Size { rows: pane.inner.height, cols: pane.inner.width };
        assert_eq!(world.sizes[session], size);
        assert_eq!(screen.size(), size);
        assert_eq!(world.model.state.sessions[session].size, size);
    }
}

#[test]
fn focus_moves_by_direction_by_order_and_back() {
    let mut world = World::with_shell();
    let left = world.session();
    world.keys("C-b %");
    let right = world.session();
    world.keys("C-b \"");
    let below = world.session();
    world.keys("C-b left");
    assert_eq!(world.session(), left);
    world.keys("C-b ;");
    assert_eq!(world.session(), below);
    world.keys("C-b k");
    assert_eq!(world.session(), right);
    world.keys("C-b o");
    assert_eq!(world.session(), below);
    world.keys("C-b o");
    assert_eq!(world.session(), left);
    world.keys("ctrl+alt+l");
    assert_ne!(world.session(), left, "without the leader");
    world.keys("ctrl+alt+h");
    assert_eq!(world.session(), left);
    assert_eq!(world.got(&left), "", "none of it reached a program");
}

#[test]
fn a_letter_typed_right_after_moving_the_focus_is_not_lost() {
    let mut world = World::with_shell();
    world.keys("C-b % C-b h").typed("ls");
    assert_eq!(world.got(&world.session()), "ls");
}

#[test]
fn zoom_shows_one_pane_at_full_size_and_back() {
    let mut world = World::with_shell();
    let full = world.focused(|p| p.area);
    world.keys("C-b %");
    let half = world.focused(|p| p.area);
    world.keys("C-b z");
    assert_eq!(panes(&world), 1);
    assert_eq!(world.focused(|p| p.area), full);
    assert!(world.view().tabs[0].zoomed);
    assert_eq!(world.sizes[&world.session()].cols, full.width - 2);
    world.keys("C-b z");
    assert_eq!((panes(&world), world.focused(|p| p.area)), (2, half));
    assert_eq!(world.sizes[&world.session()].cols, half.width - 2);
}

#[test]
fn resize_keys_move_the_border_and_repeat_for_a_moment() {
    let mut world = World::with_shell();
    world.keys("C-b %");
    let before = world.focused(|p| p.area.width);
    world.keys("C-b H H ctrl+left");
    assert_eq!(world.focused(|p| p.area.width), before + 9);
    let session = world.session();
    assert_eq!(world.got(&session), "");
    world.now = world.now + Span::seconds(2);
    world.keys("H");
    assert_eq!(world.got(&session), "H", "later it is a letter again");
}

#[test]
fn even_out_swap_and_break() {
    let mut world = World::with_shell();
    let first = world.session();
    world.keys("C-b % C-b %");
    world.keys("C-b =");
    let widths: Vec<u16> = world.view().panes.iter().map(|p| p.area.width).collect();
    assert!(widths.iter().max().unwrap() - widths.iter().min().unwrap() <= 1, "{widths:?}");
    let last = world.session();
    let order = |w: &World| -> Vec<_> {
        let view = w.view();
        view.panes
            .iter()
            .map(|p| if let PaneContent::Terminal { session, .. } = &p.content { session.clone() } else { panic!() })
            .collect()
    };
    world.keys("C-b }");
    assert_eq!(order(&world)[0], last, "round to the first place");
    assert_eq!(world.session(), last, "the focus goes along");
    world.keys("C-b {");
    assert_eq!(order(&world), {
        let mut o = order(&world);
        o[0] = first.clone();
        o
    });
    world.keys("C-b !");
    assert_eq!((world.view().tabs.len(), panes(&world)), (2, 1));
    assert_eq!(world.session(), last);
}

#[test]
fn synchronised_typing_reaches_every_pane_of_the_tab() {
    let mut world = World::with_shell();
    let first = world.session();
    world.keys("C-b % C-b y").typed("ls");
    assert!(world.view().panes.iter().all(|p| p.synchronised));
    assert_eq!((world.got(&first), world.got(&world.session())), ("ls".to_owned(), "ls".to_owned()));
    world.keys("C-b y").typed("x");
    assert_eq!(world.got(&first), "ls");
}

#[test]
fn tabs_are_made_chosen_and_renamed() {
    let mut world = World::with_shell();
    let first = world.session();
    world.keys("C-b c C-b c");
    assert_eq!(world.view().tabs.iter().map(|t| t.current).collect::<Vec<_>>(), [false, false, true]);
    world.keys("C-b 1");
    assert_eq!(world.session(), first);
    world.keys("C-b p");
    assert!(world.view().tabs[2].current, "round to the last");
    world.keys("C-b n ctrl+alt+2");
    assert!(world.view().tabs[1].current);
    world.keys("C-b 9");
    assert!(world.toasts().contains("no tab 9"));
    world.keys("C-b , C-u").typed("build").keys("Enter");
    assert_eq!(world.view().tabs[1].title, "build");
}

#[test]
fn a_background_tab_shows_output_and_bell_until_it_is_looked_at() {
    let mut world = World::with_shell();
    let first = world.session();
    world.keys("C-b c");
    world.output(&first, "done\r\n");
    assert!(world.view().tabs[0].activity && !world.view().tabs[0].bell);
    world.output(&first, "\x07");
    assert!(world.view().tabs[0].bell);
    assert!(world.others.contains(&Cmd::Bell(CLIENT)));
    world.keys("C-b 1");
    assert!(!world.view().tabs[0].activity && !world.view().tabs[0].bell);
}

#[test]
fn an_ended_program_leaves_its_screen_and_offers_again_and_close() {
    let mut world = World::with_shell();
    let session = world.session();
    world.output(&session, "last words");
    world.event(Event::SessionEnded { session: session.clone(), exit_code: Some(3) });
    assert_eq!(world.banner(), "ended (exit 3) · Enter again · x closes");
    world.focused(|p| {
        assert!(p.marks.contains(&"exit 3".to_owned()));
        let PaneContent::Terminal { screen, dim, .. } = &p.content else { panic!("its last screen") };
        assert!(*dim && screen.text().contains("last words"));
    });
    world.typed("j");
    assert_eq!(world.session(), session, "other keys do nothing");
    world.pass(Span(500));
    world.keys("Enter");
    assert_ne!(world.session(), session);
    assert!(!world.model.state.sessions.contains_key(&session), "the old one is forgotten");
    let session = world.session();
    world.event(Event::SessionEnded { session, exit_code: Some(0) });
    world.pass(Span(500));
    world.keys("x");
    assert!(world.view().tabs.is_empty());
    assert_eq!(world.mode(), Mode::Nav);
}

#[test]
fn answers_to_a_programs_queries_go_back_to_it_alone() {
    let mut world = World::with_shell();
    let first = world.session();
    world.keys("C-b %");
    world.output(&first, "\x1b[6n");
    assert_eq!(world.got(&first), "\x1b[1;1R");
    assert_eq!(world.got(&world.session()), "");
}

#[test]
fn pastes_are_bracketed_when_the_program_wants_it() {
    let mut world = World::with_shell();
    let session = world.session();
    world.msg(Msg::Paste { client: CLIENT, text: "a\nb".to_owned() });
    assert_eq!(world.got(&session), "a\rb");
    world.written.clear();
    world.output(&session, "\x1b[?2004h");
    world.msg(Msg::Paste { client: CLIENT, text: "a\x1b[201~b".to_owned() });
    assert_eq!(world.got(&session), "\x1b[200~ab\x1b[201~");
}

#[test]
fn an_enormous_paste_is_refused_with_a_word() {
    let mut world = World::with_shell();
    world.msg(Msg::Paste { client: CLIENT, text: "x".repeat(17 << 20) });
    assert!(world.toasts().contains("was not sent"), "{}", world.toasts());
    assert_eq!(world.got(&world.session()), "");
}

#[test]
fn typing_is_told_to_the_core_but_not_for_every_key() {
    let mut world = World::with_shell();
    let env = world.env();
    world.now = world.now + Span::seconds(100);
    world.typed("a");
    let at = world.model.state.environments[&env].last_activity.at;
    assert_eq!(at, world.now, "the first key counts at once");
    world.now = world.now + Span(300);
    world.typed("b");
    assert_eq!(world.model.state.environments[&env].last_activity.at, at);
    world.now = world.now + Span(800);
    world.typed("c");
    assert_eq!(world.model.state.environments[&env].last_activity.at, world.now);
}

#[test]
fn a_smaller_terminal_resizes_programs_and_a_tiny_one_shows_the_focused_pane() {
    let mut world = World::with_shell();
    world.keys("C-b % C-b % C-b \"");
    world.msg(Msg::ClientResized { client: CLIENT, size: Size { rows: 12, cols: 40 } });
    let view = world.view();
    for pane in &view.panes {
        assert!(pane.inner.width >= 2 && pane.inner.height >= 1);
    }
    world.msg(Msg::ClientResized { client: CLIENT, size: Size { rows: 5, cols: 10 } });
    assert_eq!(panes(&world), 1);
    let session = world.session();
    world.keys("C-b h");
    assert_ne!(world.session(), session, "the others can still be reached");
    world.msg(Msg::ClientResized { client: CLIENT, size: Size { rows: 0, cols: 0 } });
    world.view();
    let shell = world.session();
    let size = world.model.state.sessions[&shell].size;
    assert_eq!(size, Size { rows: 1, cols: 4 }, "a shell that is told of one column divides by zero");
    world.msg(Msg::ClientResized { client: CLIENT, size: Size { rows: 40, cols: 120 } });
    assert_eq!(panes(&world), 4);
}

#[test]
fn no_room_is_said() {
    let mut world = World::new(40, 12);
    world.keys("n");
    for _ in 0..20 {
        world.keys("C-b %");
    }
    assert!(world.toasts().contains("no room"), "{}", world.toasts());
    let panes = world.view().panes.len();
    assert!(panes < 12);
    assert_eq!(panes, world.model.state.sessions.len(), "every one of them is shown");
    world.session();
}

#[test]
fn a_sandbox_that_cannot_be_made_says_why_in_its_pane() {
    let mut world = World::new(120, 40);
    world.broken = Some("user namespaces are refused here".to_owned());
    world.keys("n");
    let text = world.focused(|p| match &p.content {
        PaneContent::Waiting(text) => text.clone(),
        _ => panic!("nothing was opened"),
    });
    assert!(text.contains("namespaces") || world.banner().contains("namespaces"), "{text} / {}", world.banner());
    assert!(world.toasts().contains("namespaces"), "{}", world.toasts());
    world.broken = None;
    world.pass(Span(500));
    world.keys("Enter");
    let session = world.session();
    assert_eq!(world.model.state.sessions[&session].state, SessionState::Running);
}

#[test]
fn a_lost_sandbox_keeps_the_last_screen_and_r_makes_it_again() {
    let mut world = World::with_shell();
    let session = world.session();
    world.output(&session, "work in progress");
    let env = world.env();
    let sandbox = world.model.state.environments[&env].sandbox.clone().unwrap();
    let endpoint = world.model.state.environments[&env].spec.endpoint.clone();
    world.event(Event::SandboxEnded {
        sandbox,
        endpoint,
        removed: true,
        why: "it was removed by somebody else".to_owned(),
    });
    assert_eq!(world.model.state.environments[&env].phase, Phase::Lost);
    world.focused(|p| {
        let PaneContent::Terminal { screen, .. } = &p.content else { panic!("its last screen") };
        assert!(screen.text().contains("work in progress"));
    });
    assert!(world.banner().contains("r starts it again"), "{}", world.banner());
    world.pass(Span(500));
    world.keys("r");
    assert_eq!(world.model.state.environments[&env].phase, Phase::Ready);
    assert_eq!(world.model.state.sessions[&world.session()].state, SessionState::Running);
}

#[test]
fn what_is_typed_in_one_go_is_lost_with_its_shell_and_does_nothing_else() {
    let mut world = World::with_shell();
    world.keys("C-b c");
    let other = world.got(&world.session());
    let session = world.session();
    world.typed("l");
    world.event(Event::SessionEnded { session: session.clone(), exit_code: Some(0) });
    world.typed("s r x").keys("Enter");
    assert_eq!(world.session(), session, "the pane stays, and its shell is not opened again");
    world.pass(Span(500));
    // Also where its first letter closes the pane: nothing of the rest is typed elsewhere.
    world.typed("xargs").keys("Enter");
    assert_ne!(world.session(), session);
    assert_eq!(world.got(&world.session()), other, "nothing was typed there");
    world.pass(Span(500));
    world.typed("ls");
    assert!(world.got(&world.session()).ends_with("ls"));
}

#[test]
fn an_environment_that_is_asked_for_gets_its_shell_again_and_no_other_does() {
    let mut world = World::with_shell();
    let (session, env) = (world.session(), world.env());
    world.event(Event::SessionEnded { session: session.clone(), exit_code: Some(0) });
    world.msg(Msg::OpenEnv { client: CLIENT, env: EnvId::new("another") });
    assert_eq!(world.session(), session, "what was not asked for stays as it is");
    world.msg(Msg::OpenEnv { client: CLIENT, env });
    assert_ne!(world.session(), session);
    assert_eq!(world.model.state.sessions[&world.session()].state, SessionState::Running);
}

#[test]
fn nav_is_two_keys_away_and_esc_comes_back() {
    let mut world = World::with_shell();
    world.keys("C-b");
    assert_eq!(world.mode(), Mode::Leader);
    world.keys("Esc");
    assert_eq!(world.mode(), Mode::Nav);
    assert!(world.sidebar().focused);
    world.keys("Esc");
    assert_eq!(world.mode(), Mode::Pane);
    let hints = world.view().status.hints;
    assert!(hints.iter().any(|(key, what)| key == "Ctrl+B Esc" && what == "sidebar"), "{hints:?}");
    assert_eq!(world.got(&world.session()), "");
}
