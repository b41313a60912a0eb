//! Whatever comes, in whatever order, at whatever size: no panic, and the screen stays in order.

use crate::world::{CLIENT, World};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use hermes_tui::app::view_model::{Mode, Pane, PaneContent, Printed, ViewModel};
use hermes_tui::app::{ClientCaps, ClientId, Msg, Role, printed, view_model};
use hermes_tui::domain::{EnvSpec, Event, Persistence, Scope, SessionId, Size, Span};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Key(KeyCode, u8),
    Leader(char),
    Mouse(u8, u16, u16),
    Paste(String),
    Resize(u16, u16),
    Output(usize, Vec<u8>),
    Ended(usize),
    Turn(u8, bool),
    EndTurn(u8),
    Call(u8, i32),
    Pass(u64),
    SandboxGone(usize, bool),
    Endpoint(bool),
    Other(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let code = prop_oneof![
        6 => prop::char::range(' ', '~').prop_map(KeyCode::Char),
        1 => Just(KeyCode::Enter), 1 => Just(KeyCode::Esc), 1 => Just(KeyCode::Tab), 1 => Just(KeyCode::Up),
        1 => Just(KeyCode::Down), 1 => Just(KeyCode::Left), 1 => Just(KeyCode::Right), 1 => Just(KeyCode::PageUp),
        1 => Just(KeyCode::Backspace), 1 => Just(KeyCode::Home),
    ];
    let commands: Vec<char> = "%\"hjklo;zxHJKL{}!=y[]cnp12,SNP+e$rtaswN?:".chars().collect();
    prop_oneof![
        8 => (code, 0u8..8).prop_map(|(c, m)| Step::Key(c, m)),
        8 => prop::sample::select(commands).prop_map(Step::Leader),
        4 => (0u8..7, 0u16..130, 0u16..50).prop_map(|(k, x, y)| Step::Mouse(k, x, y)),
        1 => "[a-z\n]{0,20}".prop_map(Step::Paste),
        1 => (0u16..150, 0u16..60).prop_map(|(c, r)| Step::Resize(c, r)),
        4 => (any::<usize>(), prop::collection::vec(any::<u8>(), 0..80)).prop_map(|(s, b)| Step::Output(s, b)),
        1 => any::<usize>().prop_map(Step::Ended),
        2 => (0u8..3, any::<bool>()).prop_map(|(c, e)| Step::Turn(c, e)),
        1 => (0u8..3).prop_map(Step::EndTurn),
        1 => (0u8..3, 0i32..2).prop_map(|(c, e)| Step::Call(c, e)),
        2 => (0u64..400_000).prop_map(Step::Pass),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(s, r)| Step::SandboxGone(s, r)),
        1 => any::<bool>().prop_map(Step::Endpoint),
        1 => any::<bool>().prop_map(Step::Other),
    ]
}

fn any_session(world: &World, n: usize) -> Option<SessionId> {
    let all: Vec<&SessionId> = world.model.state.sessions.keys().collect();
    (!all.is_empty()).then(|| all[n % all.len()].clone())
}

fn take(world: &mut World, step: Step) {
    match step {
        Step::Key(code, mods) => {
            let mods = KeyModifiers::from_bits_truncate(mods);
            world.msg(Msg::Key { client: CLIENT, key: KeyEvent::new(code, mods) });
        }
        Step::Leader(c) => {
            world.keys("C-b");
            world.typed(&c.to_string());
        }
        Step::Mouse(kind, x, y) => {
            let kind = match kind {
                0 => MouseEventKind::Down(MouseButton::Left),
                1 => MouseEventKind::Drag(MouseButton::Left),
                2 => MouseEventKind::Up(MouseButton::Left),
                3 => MouseEventKind::ScrollUp,
                4 => MouseEventKind::ScrollDown,
                5 => MouseEventKind::Moved,
                _ => MouseEventKind::Down(MouseButton::Middle),
            };
            let mouse = MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE };
            world.msg(Msg::Mouse { client: CLIENT, mouse });
        }
        Step::Paste(text) => world.msg(Msg::Paste { client: CLIENT, text }),
        Step::Resize(cols, rows) => world.msg(Msg::ClientResized { client: CLIENT, size: Size { rows, cols } }),
        Step::Output(n, bytes) => {
            if let Some(session) = any_session(world, n) {
                world.msg(Msg::Output { session, bytes });
            }
        }
        Step::Ended(n) => {
            if let Some(session) = any_session(world, n) {
                world.event(Event::SessionEnded { session, exit_code: Some(1) });
            }
        }
        Step::Turn(c, ephemeral) => {
            let spec = EnvSpec {
                persistence: if ephemeral { Persistence::Ephemeral } else { Persistence::Persistent },
                scope: if ephemeral { Scope::Turn } else { Scope::Session },
                ..EnvSpec::local()
            };
            world.begin_turn(&format!("talk-{c}"), "do something", spec);
        }
        Step::EndTurn(c) => world.end_turn(&format!("talk-{c}")),
        Step::Call(c, code) => {
            world.call(&format!("talk-{c}"), "make", "x\ny\n", code);
        }
        Step::Pass(ms) => world.pass(Span(ms)),
        Step::SandboxGone(n, removed) => {
            let envs: Vec<_> = world
                .model
                .state
                .environments
                .values()
                .filter_map(|e| Some((e.sandbox.clone()?, e.spec.endpoint.clone())))
                .collect();
            if !envs.is_empty() {
                let (sandbox, endpoint) = envs[n % envs.len()].clone();
                world.event(Event::SandboxEnded { sandbox, endpoint, removed, why: "somebody did it".to_owned() });
            }
        }
        Step::Endpoint(up) => {
            let endpoint = hermes_tui::domain::EndpointId::new("local");
            if up {
                world.event(Event::EndpointUp(endpoint));
            } else {
                world.event(Event::EndpointDown { endpoint, detail: "no answer".to_owned() });
            }
        }
        Step::Other(attach) => {
            let client = ClientId(2);
            if attach {
                let caps = ClientCaps { colours: 0, unicode: false };
                world.msg(Msg::ClientAttached { client, size: Size { rows: 30, cols: 90 }, caps, role: Role::Guest });
            } else {
                world.msg(Msg::ClientDetached(client));
            }
        }
    }
}

fn check(world: &World) {
    for client in world.model.clients.keys() {
        let view = view_model(&world.model, world.now, *client);
        assert_eq!(view.tabs.is_empty(), view.welcome.is_some());
        assert!(view.tabs.is_empty() || view.tabs.iter().filter(|t| t.current).count() == 1);
        for pane in &view.panes {
            assert!(pane.area.x + pane.area.width <= view.size.cols, "{:?} in {:?}", pane.area, view.size);
            assert!(pane.area.y + pane.area.height <= view.size.rows, "{:?} in {:?}", pane.area, view.size);
            if let PaneContent::Terminal { screen, offset, .. } = &pane.content {
                assert!(*offset <= screen.history_len());
            }
        }
        if view.mode == Mode::Pane && view.size.cols >= 40 && view.size.rows >= 12 {
            assert_eq!(view.panes.iter().filter(|p| p.focused).count(), 1, "one pane has the keys");
        }
        if let Some(sessions) = printed(&world.model, world.now, *client) {
            nothing_lies_over(&sessions, &view);
        }
        let sidebar = view.sidebar;
        assert!(sidebar.rows.len() <= usize::from(sidebar.area.height.saturating_sub(2)));
        assert!(sidebar.selected.is_none_or(|i| i < sidebar.rows.len()));
    }
    let shown: Vec<_> = world.model.work.tabs.iter().flat_map(|t| t.tree.panes()).collect();
    for pane in &shown {
        assert!(world.model.work.panes.contains_key(pane), "a pane without content");
    }
    assert_eq!(shown.len(), world.model.work.panes.len(), "a pane in no tab, or in two");
}

/// What programs printed may be drawn alone only where the whole drawing would show the same.
fn nothing_lies_over(sessions: &[Printed<'_>], view: &ViewModel<'_>) {
    assert!(view.mode == Mode::Pane && view.overlay.is_none() && view.notices.is_empty());
    let beside = |pane: &Pane<'_>| view.sidebar.area.x + view.sidebar.area.width <= pane.area.x + 1;
    assert!(view.panes.iter().all(|pane| pane.banner.is_none() && beside(pane)));
    let whole = view.panes.iter().filter_map(|pane| match &pane.content {
        PaneContent::Terminal { session, offset: 0, selection: None, dim: false, copy_cursor: None, .. } => {
            Some((session, pane.inner, pane.focused))
        }
        PaneContent::Terminal { .. } => panic!("more than a screen as it is now"),
        PaneContent::Waiting(_) | PaneContent::Feed(_) => None,
    });
    assert!(whole.eq(sessions.iter().map(|one| (one.session, one.inner, one.focused))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_screen_stays_in_order(steps in prop::collection::vec(step(), 0..120)) {
        let mut world = World::new(100, 30);
        world.keys("n");
        for step in steps {
            take(&mut world, step);
            check(&world);
        }
    }
}
