//! The model wakes only for what changes by time alone, and draws only on change.

use crate::world::{CLIENT, World};
use hermes_tui::app::{Changed, Msg};
use hermes_tui::config::load;
use hermes_tui::domain::{Begin, EndpointId, EnvId, EnvSpec, Event, Moment, Request, Size, Span};

fn quiet(world: &mut World) {
    world.pass(Span::seconds(12));
    world.model.drawn(CLIENT);
}

#[test]
fn without_anything_to_count_there_is_no_timer() {
    let mut world = World::new(120, 40);
    let id = world.model.ids.env();
    let spec = Box::new(EnvSpec { idle: Span::ZERO, ..EnvSpec::local() });
    world.request(Request::NewEnvironment { id, name: None, spec });
    for _ in 0..10 {
        world.keys("C-b c").keys("C-b Esc Enter");
    }
    quiet(&mut world);
    assert_eq!(world.model.next_timer(world.now), None);
    assert_eq!(world.model.changed(CLIENT), Changed::Nothing);
}

#[test]
fn a_countdown_ticks_once_a_second_on_the_second() {
    let mut world = World::with_shell();
    quiet(&mut world);
    world.now = Moment(world.now.0 + 300);
    let next = world.model.next_timer(world.now).expect("a tick");
    assert_eq!((next.0 % 1000, next.since(world.now).0 <= 1000), (0, true));
    world.now = next;
    world.msg(Msg::Timer);
    assert_eq!(world.model.changed(CLIENT), Changed::All);
}

#[test]
fn a_distant_deadline_ticks_once_a_minute() {
    let mut world = World::new(120, 40);
    let id = world.model.ids.env();
    let spec = Box::new(EnvSpec { idle: Span::hours(5), ..EnvSpec::local() });
    world.request(Request::NewEnvironment { id, name: None, spec });
    quiet(&mut world);
    let next = world.model.next_timer(world.now).expect("a tick");
    assert_eq!(next.0 % 60_000, 0);
}

#[test]
fn toasts_go_by_themselves() {
    let mut world = World::with_shell();
    world.keys("C-b @");
    assert!(!world.toasts().is_empty());
    world.pass(Span::seconds(11));
    assert!(world.toasts().is_empty());
}

#[test]
fn what_is_said_of_typing_goes_when_it_is_no_longer_so() {
    let mut world = World::with_shell();
    world.keys("C-b % C-b y");
    assert!(world.toasts().contains("every pane"), "{}", world.toasts());
    world.keys("C-b y");
    assert!(!world.toasts().contains("every pane"), "{}", world.toasts());
}

#[test]
fn what_happens_to_an_environment_is_told_to_who_looks_at_it() {
    let mut world = World::with_shell();
    let seen = world.env();
    let other = world.model.ids.env();
    let name = Some("other".to_owned());
    world.request(Request::NewEnvironment { id: other.clone(), name, spec: Box::new(EnvSpec::local()) });
    world.pass(Span::seconds(10));
    world.request(Request::Stop { env: other, force: true });
    assert_eq!(world.toasts(), "", "neither shown nor selected");
    world.request(Request::Stop { env: seen, force: true });
    assert!(!world.toasts().is_empty());
    world.pass(Span::seconds(3));
    assert_eq!(world.toasts(), "");
}

#[test]
fn slow_things_have_a_throbber_until_they_are_done() {
    let mut world = World::new(120, 40);
    world.slow = true;
    world.keys("n");
    let next = world.model.next_timer(world.now).expect("a step");
    assert!(next.since(world.now) <= Span(250));
    world.let_go();
    quiet(&mut world);
    assert!(world.model.next_timer(world.now).is_some_and(|t| t.0 % 1000 == 0), "only the countdown is left");
}

#[test]
fn a_synchronised_update_that_never_ends_is_shown_in_time() {
    let mut world = World::with_shell();
    let session = world.session();
    quiet(&mut world);
    world.output(&session, "\x1b[?2026hhidden");
    let text = |w: &World| w.model.work.screens[&session].text();
    assert!(!text(&world).contains("hidden"));
    let next = world.model.next_timer(world.now).expect("its deadline");
    assert!(next.since(world.now) < Span::seconds(1));
    world.now = next;
    world.msg(Msg::Timer);
    assert!(text(&world).contains("hidden"));
}

#[test]
fn output_in_a_tab_nobody_looks_at_draws_once_for_its_mark() {
    let mut world = World::with_shell();
    let first = world.session();
    world.keys("C-b c");
    quiet(&mut world);
    world.output(&first, "a\r\n");
    assert_eq!(world.model.changed(CLIENT), Changed::All, "the mark in the tab bar");
    world.model.drawn(CLIENT);
    world.output(&first, "b\r\n");
    assert_eq!(world.model.changed(CLIENT), Changed::Nothing);
    let shown = world.session();
    world.output(&shown, "c");
    assert_eq!(world.model.changed(CLIENT), Changed::Output);
}

#[test]
fn histories_stay_under_their_cap_and_hidden_ones_give_first() {
    let options = load("[history]\nmemory_mib = 16\nlines = 100000\n").unwrap().options;
    let mut world = World::with(options, 120, 40);
    world.keys("n");
    let hidden = world.session();
    world.keys("C-b c");
    let shown = world.session();
    let chunk: String = (0..2000).map(|n| format!("line {n}\r\n")).collect();
    for _ in 0..3 {
        world.output(&hidden, &chunk);
        world.output(&shown, &chunk);
    }
    for _ in 0..4 {
        world.output(&shown, &chunk);
    }
    let total: usize = world.model.work.screens.values().map(hermes_tui::term::Screen::memory_bytes).sum();
    assert!(total <= 16 << 20, "{total}");
    let lines = |id| world.model.work.screens[id].history_len();
    assert!(lines(&hidden) < lines(&shown), "{} {}", lines(&hidden), lines(&shown));
}

#[test]
fn a_deadline_that_passed_unheeded_stops_no_other_countdown() {
    let mut world = World::new(120, 40);
    for (endpoint, idle) in [("docker", Span::seconds(60)), ("local", Span::seconds(3000))] {
        let id = world.model.ids.env();
        let spec = Box::new(EnvSpec { endpoint: EndpointId::new(endpoint), idle, ..EnvSpec::local() });
        world.request(Request::NewEnvironment { id, name: None, spec });
    }
    world.event(Event::EndpointDown { endpoint: EndpointId::new("docker"), detail: "gone".to_owned() });
    world.now = world.now + Span(400_300);
    world.msg(Msg::Timer);
    let next = world.model.next_timer(world.now).expect("a tick of the one that runs");
    assert_eq!((next.0 % 1000, next.since(world.now).0 <= 1000), (0, true));
}

#[test]
fn what_is_known_of_sessions_goes_with_them() {
    let mut world = World::with_shell();
    for _ in 0..600 {
        let session = world.model.ids.session();
        world.request(Request::OpenSession {
            session: session.clone(),
            env: world.env(),
            conversation: None,
            program: Vec::new(),
            begin: Begin::Usual,
            size: Size::default(),
        });
        world.output(&session, "\x1b]0;a title\x07");
        world.request(Request::KillSession(session));
    }
    assert!(world.model.state.sessions.len() <= 502, "{}", world.model.state.sessions.len());
    assert!(world.model.work.titles.len() <= 502, "{}", world.model.work.titles.len());
    world.msg(Msg::Progress { env: EnvId::new("gone"), text: "pulling".to_owned() });
    assert!(world.model.work.progress.is_empty(), "nobody could take it away again");
}
