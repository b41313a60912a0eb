//! Questions before anything ends, forms, names, explanations, leaving.

use crate::world::World;
use hermes_tui::app::view_model::{Mode, Overlay};
use hermes_tui::app::{Cmd, Msg};
use hermes_tui::domain::{
    BackendKind, EnvSpec, Event, LiveProcess, Persistence, Phase, Request, Scope, SessionState, Span, VerdictKind,
};
use hermes_tui::ui;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Title, what is lost, what survives, choices.
type Question = (String, Vec<String>, Vec<String>, Vec<(String, String)>);

fn dialog(world: &World) -> Question {
    match world.overlay() {
        Some(Overlay::Dialog { title, lost, kept, choices, selected, .. }) => {
            assert_eq!(selected, 0, "the safe choice is selected");
            (title, lost, kept, choices)
        }
        other => panic!("no dialog: {other:?}"),
    }
}

#[test]
fn closing_a_pane_asks_while_its_program_runs() {
    let mut world = World::with_shell();
    let session = world.session();
    world.keys("C-b x");
    let (title, lost, kept, choices) = dialog(&world);
    assert!(title.contains(&world.model.state.environments[&world.env()].name), "{title}");
    assert!(!lost.is_empty() && !kept.is_empty());
    assert_eq!(choices[0].0, "Esc");
    world.keys("Enter");
    assert_eq!(world.session(), session, "Enter takes the safe choice");
    world.keys("C-b x x");
    assert!(world.view().panes.is_empty());
    assert!(!world.model.state.sessions.contains_key(&session));
}

#[test]
fn stop_names_what_is_lost_and_what_survives() {
    let mut world = World::with_shell();
    let env = world.env();
    world.keys("C-b Esc S");
    let (_, lost, kept, _) = dialog(&world);
    assert!(lost.iter().any(|l| l.contains("1 session")) && lost.contains(&"/tmp".to_owned()), "{lost:?}");
    assert!(kept.iter().any(|k| k.contains("/workspace")), "{kept:?}");
    world.keys("Esc");
    assert_eq!(world.model.state.environments[&env].phase, Phase::Ready);
    world.keys("S S");
    assert_eq!(world.model.state.environments[&env].phase, Phase::Stopped);
    world.keys("Esc");
    assert!(world.banner().contains("r starts it again"), "{}", world.banner());
}

#[test]
fn remove_asks_and_keeps_files_unless_told_otherwise() {
    let mut world = World::with_shell();
    world.keys("C-b Esc D");
    let (title, _, _, choices) = dialog(&world);
    assert!(title.starts_with("Remove"));
    assert_eq!(choices.len(), 3);
    world.keys("D");
    assert!(world.model.state.environments.is_empty());
    assert!(world.view().panes.len() <= 1);
}

#[test]
fn a_stopped_one_cannot_be_stopped_again() {
    let mut world = World::with_shell();
    world.keys("C-b Esc S S S");
    assert_eq!(world.overlay(), None);
    assert!(world.toasts().contains("no running sandbox"), "{}", world.toasts());
    world.keys("s");
    assert_eq!(world.model.state.environments[&world.env()].phase, Phase::Ready);
}

#[test]
fn leaving_says_what_ends_and_ends_it() {
    let mut world = World::with_shell();
    let id = world.model.ids.env();
    let spec = EnvSpec { persistence: Persistence::Ephemeral, ..EnvSpec::local() };
    world.request(Request::NewEnvironment { id, name: Some("throwaway".to_owned()), spec: Box::new(spec) });
    world.keys("C-b d");
    let (_, lost, kept, choices) = dialog(&world);
    assert!(lost.iter().any(|l| l.contains("removed: throwaway")), "{lost:?}");
    assert!(
        lost.iter().any(|l| l.contains("stopped: ")) && lost.iter().any(|l| l.contains("1 open session")),
        "{lost:?}"
    );
    assert!(kept.iter().any(|k| k.contains("files")), "{kept:?}");
    assert_eq!(choices.len(), 3);
    world.keys("Esc");
    assert!(!world.exited);
    world.keys("C-b q q");
    assert!(world.exited);
    let left: Vec<_> = world.model.state.environments.values().map(|e| e.phase).collect();
    assert!(left.iter().all(|p| *p == Phase::Stopped), "{left:?}");
}

#[test]
fn leaving_with_nothing_at_stake_does_not_ask() {
    let mut world = World::new(80, 24);
    world.keys("q");
    assert!(world.exited);
}

#[test]
fn while_it_ends_a_second_quit_leaves_at_once() {
    let mut world = World::with_shell();
    world.slow = true;
    let id = world.model.ids.env();
    world.request(Request::NewEnvironment { id, name: None, spec: Box::new(EnvSpec::local()) });
    world.keys("C-b q q");
    assert!(!world.exited, "it waits for what is being started");
    world.keys("C-b q");
    assert!(world.others.iter().any(|c| matches!(c, Cmd::EndNow(_))));
}

#[test]
fn the_form_makes_what_it_says() {
    let mut world = World::with_shell();
    world.keys("C-b N");
    let fields = |w: &World| match w.overlay() {
        Some(Overlay::Form { fields, problem, .. }) => (fields, problem),
        other => panic!("no form: {other:?}"),
    };
    assert!(fields(&world).0.iter().all(|f| f.0 != "image"), "local has no images");
    world.typed("fix-login").keys("down right");
    assert!(fields(&world).0.iter().any(|f| f.0 == "image"));
    world.keys("left down right");
    assert!(fields(&world).0.iter().all(|f| f.0 != "retention"), "ephemeral has none");
    world.keys("down down C-u").typed("60s");
    assert!(fields(&world).1.is_some_and(|p| p.contains("60s")));
    world.keys("Enter");
    assert!(world.overlay().is_some(), "a problem keeps the form open");
    world.keys("Backspace Enter");
    assert_eq!(world.overlay(), None);
    let env = world.model.state.environments.values().find(|e| e.name == "fix-login").expect("it was made");
    assert_eq!(
        (env.spec.backend, env.spec.persistence, env.spec.scope),
        (BackendKind::Local, Persistence::Ephemeral, Scope::Session)
    );
    assert_eq!(env.spec.idle, Span::seconds(60));
    world.focused(|p| assert!(p.title.starts_with("fix-login"), "{}", p.title));
}

#[test]
fn the_keys_for_a_new_environment_are_the_same_on_the_welcome_and_beside_others() {
    let mut world = World::new(120, 40);
    for made in 1..3 {
        for form in ["N", "f"] {
            world.keys(form);
            assert!(matches!(world.overlay(), Some(Overlay::Form { .. })), "{form} with {} there", made - 1);
            world.keys("Esc");
        }
        world.keys("n");
        assert_eq!((world.model.state.environments.len(), world.mode()), (made, Mode::Pane));
        world.keys("C-b Esc");
    }
}

#[test]
fn persistent_with_scope_turn_is_refused_in_the_form() {
    let mut world = World::new(120, 40);
    world.keys("f down down down right right");
    let Some(Overlay::Form { problem, .. }) = world.overlay() else { panic!("the form") };
    assert!(problem.is_some_and(|p| p.contains("ephemeral")));
}

#[test]
fn renaming_checks_the_name() {
    let mut world = World::with_shell();
    let id = world.model.ids.env();
    world.request(Request::NewEnvironment { id, name: Some("other".to_owned()), spec: Box::new(EnvSpec::local()) });
    let env = world.model.state.sessions[&world.session()].env.clone();
    world.keys("C-b $ C-u").typed("a b");
    let problem = |w: &World| {
        if let Some(Overlay::Prompt { problem, .. }) = w.overlay() { problem } else { panic!("the prompt") }
    };
    assert!(problem(&world).is_some());
    world.keys("Enter C-u").typed("other");
    assert!(problem(&world).is_some_and(|p| p.contains("other")));
    world.keys("C-u").typed("mine").keys("Enter");
    assert_eq!(world.model.state.environments[&env].name, "mine");
    world.focused(|p| assert!(p.title.starts_with("mine · "), "{}", p.title));
}

#[test]
fn explain_looks_again_and_shows_what_is_found() {
    let mut world = World::with_shell();
    let command = "python3 -m http.server".to_owned();
    world.evidence.processes = vec![LiveProcess { pid: 7, command, started: world.now }];
    world.keys("C-b e");
    let Some(Overlay::Explain { facts, .. }) = world.overlay() else { panic!("the verdict") };
    assert!(facts.iter().any(|(name, detail)| name == "holder" && detail.contains("http.server")), "{facts:?}");
    world.evidence.processes.clear();
    world.keys("Esc C-b e");
    let Some(Overlay::Explain { facts, .. }) = world.overlay() else { panic!("the verdict") };
    assert!(!facts.iter().any(|(name, _)| name == "holder"), "{facts:?}");
}

#[test]
fn explain_shows_the_reapers_own_verdict() {
    let mut world = World::with_shell();
    let env = world.env();
    world.keys("C-b e");
    let Some(Overlay::Explain { verdict, reason, facts, .. }) = world.overlay() else { panic!("the verdict") };
    let own = world.model.state.verdict(world.now, &env).expect("a verdict");
    assert_eq!((verdict, &reason), (own.kind, &own.reason));
    assert_eq!(verdict, VerdictKind::Keep);
    assert!(facts.len() >= own.evidence.len() && !own.evidence.is_empty());
    world.keys("Esc");
    assert_eq!(world.mode(), Mode::Pane);
}

#[test]
fn pick_leads_to_tabs_panes_and_environments() {
    let mut world = World::with_shell();
    let first = world.session();
    world.keys("C-b % C-b c");
    let id = world.model.ids.env();
    world.request(Request::NewEnvironment { id, name: Some("elsewhere".to_owned()), spec: Box::new(EnvSpec::local()) });
    world.keys("C-b w");
    let Some(Overlay::Palette { rows, .. }) = world.overlay() else { panic!("the list") };
    assert_eq!(rows.len(), 2 + 2 + 2, "{rows:?}");
    world.typed("elsew").keys("Enter");
    world.focused(|p| assert!(p.title.starts_with("elsewhere"), "{}", p.title));
    world.keys("C-b w Enter");
    assert!(world.view().tabs[0].current);
    world.keys("C-b w down Enter");
    assert_eq!(world.session(), first);
}

#[test]
fn a_refused_request_is_told_with_its_hint() {
    let mut world = World::with_shell();
    let endpoint = world.model.state.environments[&world.env()].spec.endpoint.clone();
    world.event(Event::EndpointDown { endpoint, detail: "gone".to_owned() });
    let hint = "local does not answer: gone · `hermes-tui doctor` says what was tried";
    assert!(!world.toasts().contains(hint), "{}", world.toasts());
    world.keys("C-b c");
    assert!(world.toasts().contains(hint), "{}", world.toasts());
}

#[test]
fn an_overlay_takes_pastes_and_programs_do_not() {
    let mut world = World::with_shell();
    world.keys("C-b :");
    world.msg(hermes_tui::app::Msg::Paste { client: crate::world::CLIENT, text: "zoom\nrm -rf".to_owned() });
    let Some(Overlay::Palette { input, .. }) = world.overlay() else { panic!("the palette") };
    assert_eq!(input, "zoom");
    let session = world.model.state.sessions.values().next().unwrap();
    assert_eq!(session.state, SessionState::Running);
    assert_eq!(world.got(&session.id), "");
}

#[test]
fn the_welcome_does_not_offer_what_is_refused_here() {
    let mut world = World::new(120, 40);
    let offers = |w: &World| -> Vec<String> {
        w.view().welcome.expect("a welcome").offers.into_iter().map(|(key, _)| key).collect()
    };
    world.msg(Msg::Found(vec![("local".to_owned(), "works".to_owned(), true)]));
    assert_eq!(offers(&world)[..2], ["n or Enter", "N or f"]);
    world.msg(Msg::Found(vec![("local".to_owned(), "namespaces are refused".to_owned(), false)]));
    assert_eq!(offers(&world)[0], "N or f");
}

#[test]
fn the_form_refuses_what_would_be_refused_or_become_another_number() {
    let mut world = World::new(120, 40);
    let problem = |w: &World| match w.overlay() {
        Some(Overlay::Form { problem, .. }) => problem.unwrap_or_default(),
        other => panic!("no form: {other:?}"),
    };
    world.keys("N").typed("-x");
    assert!(problem(&world).contains('-'), "{}", problem(&world));
    world.keys("C-u Up").typed("x");
    let rows =
        |w: &World| if let Some(Overlay::Form { fields, .. }) = w.overlay() { fields } else { panic!("the form") };
    let memory = rows(&world).iter().position(|(label, ..)| label == "memory").expect("a field for memory");
    for _ in 0..memory {
        world.keys("down");
    }
    world.keys("C-u").typed("17179869185G");
    assert!(problem(&world).contains("memory"), "2^34 + 1 GiB are not 1 GiB: {}", problem(&world));
    world.keys("C-u").typed("2G");
    assert_eq!(problem(&world), "");
}

#[test]
fn the_cursor_of_the_form_stands_where_is_typed() {
    let mut world = World::new(120, 40);
    let screen = Rect::new(0, 0, 120, 40);
    let style = ui::Style::default();
    let cursor = |w: &World| ui::cursor(screen, &w.view(), &style).expect("a cursor");
    world.keys("N").typed("scratch");
    let end = cursor(&world).x;
    world.keys("left left");
    assert_eq!(cursor(&world).x, end - 2);
    world.keys("End").typed(&"x".repeat(56)).typed("y");
    let mut buffer = Buffer::empty(screen);
    ui::paint(&mut buffer, &world.view(), &style);
    let at = cursor(&world);
    assert_eq!(buffer[(at.x - 1, at.y)].symbol(), "y", "what is typed last is in sight");
    world.keys("down");
    assert_eq!(ui::cursor(screen, &world.view(), &style), None, "a choice is not typed");
}

#[test]
fn a_shell_of_the_host_loses_no_files_of_the_host() {
    for (on_host, lost) in [(false, true), (true, false)] {
        let mut world = World::new(120, 40);
        let id = world.model.ids.env();
        world.request(Request::NewEnvironment {
            id,
            name: None,
            spec: Box::new(EnvSpec { on_host, ..EnvSpec::local() }),
        });
        world.keys("S");
        assert_eq!(dialog(&world).1.contains(&"/tmp".to_owned()), lost, "on the host: {on_host}");
    }
}
