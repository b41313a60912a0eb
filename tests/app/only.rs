//! Terminals that show one session and nothing else, beside those that show the whole screen.

use crate::world::{CLIENT, World};
use hermes_tui::app::view_model::{Area, Mode, Overlay, PaneContent, ViewModel};
use hermes_tui::app::{ClientCaps, ClientId, Cmd, Msg, Role, view_model};
use hermes_tui::config::KeyPress;
use hermes_tui::domain::{Begin, Event, SessionId, Size, Span};

const ONE: ClientId = ClientId(11);
const TWO: ClientId = ClientId(12);
const ONES: Size = Size { rows: 50, cols: 140 };
const TWOS: Size = Size { rows: 20, cols: 70 };

fn attach(world: &mut World, client: ClientId, size: Size, role: Role, session: &SessionId) {
    let caps = ClientCaps { colours: 256, unicode: true };
    world.msg(Msg::AttachedTo { client, size, caps, role, session: session.clone() });
}

/// A shell that the whole screen shows in a pane and one terminal alone.
fn world() -> (World, SessionId) {
    let mut world = World::with_shell();
    let session = world.session();
    attach(&mut world, ONE, ONES, Role::Guest, &session);
    (world, session)
}

fn keys(world: &mut World, client: ClientId, script: &str) {
    for key in script.split_whitespace() {
        let key: KeyPress = key.parse().unwrap_or_else(|e| panic!("{e}"));
        world.msg(Msg::Key { client, key: key.event() });
    }
}

fn seen(world: &World, client: ClientId) -> ViewModel<'_> {
    view_model(&world.model, world.now, client)
}

fn said(world: &World, client: ClientId) -> String {
    seen(world, client).notices.into_iter().map(|toast| toast.text).collect::<Vec<_>>().join("\n")
}

fn left(world: &World) -> Vec<ClientId> {
    let detached = |cmd: &Cmd| if let Cmd::Detach(client) = cmd { Some(*client) } else { None };
    world.others.iter().filter_map(detached).collect()
}

#[test]
fn the_session_has_the_whole_terminal_and_is_told_how_to_leave() {
    let (world, session) = world();
    let view = seen(&world, ONE);
    assert!(view.bare && view.tabs.is_empty() && view.mode == Mode::Pane);
    let whole = Area { x: 0, y: 0, width: ONES.cols, height: ONES.rows };
    assert_eq!((view.panes.len(), view.panes[0].inner, view.sidebar.area.width), (1, whole, 0));
    let PaneContent::Terminal { session: shown, .. } = &view.panes[0].content else { panic!("a terminal") };
    assert_eq!((shown, world.sizes[&session]), (&session, ONES));
    assert!(said(&world, ONE).contains("Ctrl+B d detaches"), "{}", said(&world, ONE));
    assert!(!world.toasts().contains("detaches"), "nobody else is told");
    assert_eq!(world.model.attached(&session), 2);
}

#[test]
fn the_size_is_that_of_the_last_one_that_did_something() {
    let (mut world, session) = world();
    let pane = world.focused(|pane| Size { rows: pane.inner.height, cols: pane.inner.width });
    world.typed("x");
    assert_eq!(world.sizes[&session], pane);
    keys(&mut world, ONE, "y");
    assert_eq!(world.sizes[&session], ONES);
    attach(&mut world, TWO, TWOS, Role::Guest, &session);
    assert_eq!(world.sizes[&session], TWOS);
    keys(&mut world, ONE, "z");
    assert_eq!(world.sizes[&session], ONES);
    assert!(world.got(&session).ends_with("xyz"), "both typed: {}", world.got(&session));
    world.msg(Msg::ClientDetached(ONE));
    assert_eq!(world.sizes[&session], TWOS, "the other one that shows it gives it its size");
    world.msg(Msg::ClientDetached(TWO));
    assert_eq!(world.sizes[&session], pane, "its pane gives it its size again");
}

#[test]
fn what_happens_in_other_tabs_does_not_touch_its_size() {
    let (mut world, session) = world();
    world.keys("C-b c");
    keys(&mut world, ONE, "a");
    let other = world.session();
    assert_ne!(other, session);
    world.typed("typed in another tab");
    assert_eq!(world.sizes[&session], ONES);
    world.keys("C-b p x");
    assert_ne!(world.sizes[&session], ONES, "who looks at it and types has its size");
}

#[test]
fn one_that_only_looks_types_nothing_and_takes_the_size_that_is_there() {
    let mut world = World::with_shell();
    let session = world.session();
    let pane = world.sizes[&session];
    attach(&mut world, ONE, ONES, Role::Reader, &session);
    keys(&mut world, ONE, "a");
    assert_eq!((world.got(&session).as_str(), world.sizes[&session]), ("", pane));
    assert!(said(&world, ONE).contains("only looks"));
    keys(&mut world, ONE, "C-b d");
    assert_eq!(left(&world), [ONE]);
}

#[test]
fn after_the_leader_only_what_fits_one_session_is_done() {
    let (mut world, session) = world();
    keys(&mut world, ONE, "C-b");
    let Some(Overlay::WhichKey(rows)) = seen(&world, ONE).overlay else { panic!("a footer") };
    let words: Vec<&str> = rows.iter().map(|(_, word)| word.as_str()).collect();
    let wanted = ["detach", "copy", "prompt", "output", "text", "paste", "clipboard", "links", "buffers", "send it"];
    assert_eq!(words, wanted);
    keys(&mut world, ONE, "%");
    assert!(said(&world, ONE).contains("Ctrl+B % is no command here"), "{}", said(&world, ONE));
    assert_eq!(world.model.state.sessions.len(), 1);
    keys(&mut world, ONE, "C-b Esc C-b C-b C-M-l");
    assert_eq!(world.got(&session), "\x02\x1b\x0c", "the leader and every key without it are the program's");
    keys(&mut world, ONE, "C-b [");
    assert_eq!((seen(&world, ONE).mode, world.mode()), (Mode::Copy, Mode::Pane));
    keys(&mut world, ONE, "q C-b d");
    assert_eq!(left(&world), [ONE]);
}

#[test]
fn it_leaves_with_its_session_and_once() {
    let (mut world, session) = world();
    world.event(Event::SessionEnded { session: session.clone(), exit_code: Some(3) });
    world.keys("C-b z");
    assert_eq!(left(&world), [ONE]);
    assert!(world.model.state.sessions.contains_key(&session), "how it ended can be asked for");
    // One that attaches to what is gone leaves at once.
    attach(&mut world, TWO, TWOS, Role::Guest, &SessionId::new("gone"));
    assert_eq!(left(&world), [ONE, TWO]);
}

#[test]
fn tabs_and_what_is_kept_of_them_know_nothing_of_it() {
    let mut world = World::with_shell();
    let session = world.session();
    let saved = |world: &World| world.others.iter().filter(|cmd| matches!(cmd, Cmd::SaveLayout(_))).count();
    let before = (saved(&world), world.view().tabs.len());
    attach(&mut world, ONE, ONES, Role::Guest, &session);
    keys(&mut world, ONE, "a");
    world.msg(Msg::ClientDetached(ONE));
    assert_eq!((saved(&world), world.view().tabs.len()), before);
    assert_eq!(world.model.work.panes.len(), 1);
}

#[test]
fn a_session_that_is_shown_nowhere_is_what_opening_its_environment_shows() {
    let mut world = World::with_shell();
    let (session, env) = (world.session(), world.env());
    world.event(Event::SessionEnded { session, exit_code: None });
    world.pass(Span(500));
    world.keys("x");
    assert!(world.view().tabs.is_empty());
    let hidden = SessionId::new("hidden");
    world.request(hermes_tui::domain::Request::OpenSession {
        session: hidden.clone(),
        env: env.clone(),
        conversation: None,
        program: Vec::new(),
        begin: Begin::Usual,
        size: TWOS,
    });
    world.msg(Msg::OpenEnv { client: CLIENT, env });
    assert_eq!(world.session(), hidden);
}

#[test]
fn bells_and_messages_are_those_of_its_session() {
    let (mut world, session) = world();
    world.keys("C-b %");
    let other = world.session();
    assert_ne!(other, session);
    world.others.clear();
    world.output(&other, "\x07");
    assert_eq!(world.others, [Cmd::Bell(CLIENT)]);
    world.msg(Msg::Trouble("the disk is full".to_owned()));
    assert!(world.toasts().contains("the disk is full") && !said(&world, ONE).contains("the disk is full"));
}
