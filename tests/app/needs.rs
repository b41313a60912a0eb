//! What needs a person: its order, going there, and that what was seen is no news.

use crate::world::World;
use hermes_tui::app::needs::{Need, needs};
use hermes_tui::app::view_model::{FeedLine, Mode, PaneContent};
use hermes_tui::domain::{CallSource, ConversationId, EnvSpec, Event, Phase, Request, Span, TurnStatus};

fn kinds(world: &World) -> Vec<&'static str> {
    let kind = |need: &Need| match need {
        Need::Waits(..) => "waits",
        Need::Ends(..) => "ends",
        Need::Lost(..) => "lost",
        Need::Failed(..) => "not made",
        Need::TurnFailed(..) => "failed",
        Need::TurnCut(..) => "cut",
        Need::Ended(..) => "ended",
        Need::Bell(..) => "bell",
    };
    needs(&world.model, world.now).iter().map(kind).collect()
}

fn told(world: &World) -> String {
    world.view().status.needs
}

fn ends_turn(world: &mut World, conversation: &str, status: TurnStatus) {
    world.request(Request::EndTurn { conversation: ConversationId::new(conversation), status });
}

fn named(world: &World, name: &str) -> hermes_tui::domain::EnvId {
    world.model.state.environments.values().find(|env| env.name == name).expect("listed").id.clone()
}

/// A shell in front, and behind it one of everything.
fn busy() -> World {
    let mut world = World::with_shell();
    let session = world.session();
    let spec = || EnvSpec { idle: Span::seconds(0), ..EnvSpec::local() };
    for (conversation, status) in [("cut", TurnStatus::Interrupted), ("worse", TurnStatus::Failed)] {
        world.begin_turn(conversation, "do it", spec());
        ends_turn(&mut world, conversation, status);
    }
    // A shell that ended by itself, and one that rings.
    world.keys("C-b c");
    let over = world.session();
    world.keys("C-b c");
    let rings = world.session();
    world.keys("C-b 1");
    world.event(Event::SessionEnded { session: over, exit_code: Some(2) });
    world.output(&rings, "\x07");
    // A sandbox that somebody removed.
    world.begin_turn("gone", "do it", spec());
    ends_turn(&mut world, "gone", TurnStatus::Done);
    let gone = named(&world, "gone");
    let env = &world.model.state.environments[&gone];
    let (sandbox, endpoint) = (env.sandbox.clone().expect("one"), env.spec.endpoint.clone());
    world.event(Event::SandboxEnded { sandbox, endpoint, removed: true, why: "docker rm".to_owned() });
    // One that is idle, and warned.
    world.begin_turn("idle", "do it", EnvSpec { idle: Span::seconds(10), ..EnvSpec::local() });
    ends_turn(&mut world, "idle", TurnStatus::Done);
    world.pass(Span::seconds(6));
    assert_eq!(world.session(), session);
    world
}

#[test]
fn the_most_urgent_comes_first_and_each_leads_to_its_place() {
    let mut world = busy();
    assert_eq!(kinds(&world), ["ends", "lost", "failed", "cut", "ended", "bell"]);
    assert_eq!(told(&world), "6 need you");
    assert!(world.view().status.hints.contains(&("Ctrl+B m".to_owned(), "go there".to_owned())));

    world.keys("C-b m");
    assert!(world.toasts().contains("1 of 6: idle stops in"), "{}", world.toasts());
    world.focused(|pane| assert!(pane.title.starts_with("idle"), "{}", pane.title));
    // Who goes to its pane uses it: it does not end yet.
    assert_eq!((kinds(&world).len(), told(&world).as_str()), (5, "5 need you"));
    world.keys("C-b m");
    assert!(world.toasts().contains("1 of 5: gone is lost"), "{}", world.toasts());
    world.focused(|pane| assert!(pane.title.starts_with("gone"), "{}", pane.title));
    assert_eq!(told(&world), "4 need you");
    world.keys("C-b m");
    assert!(world.toasts().contains("2 of 5: turn 1 of worse failed"), "{}", world.toasts());
    assert_eq!(world.mode(), Mode::Agent);
    world.focused(|pane| match &pane.content {
        PaneContent::Feed(lines) => {
            assert!(matches!(&lines[0], FeedLine::Turn { number: 1, selected: true, status: TurnStatus::Failed, .. }));
        }
        _ => panic!("an agent pane"),
    });
    world.keys("m");
    assert!(world.toasts().contains("3 of 5: turn 1 of cut was interrupted"), "{}", world.toasts());
    world.keys("m");
    assert!(world.toasts().contains("4 of 5: env-1 · shell 2 has ended"), "{}", world.toasts());
    world.keys("C-b m");
    assert!(world.toasts().contains("5 of 5: a bell in env-1"), "{}", world.toasts());
    // All was seen. It is still so, and goes round; but for the bell, which was heard.
    assert_eq!((kinds(&world), told(&world).as_str()), (vec!["lost", "failed", "cut", "ended"], ""));
    world.keys("C-b m");
    assert!(world.toasts().contains("1 of 4: gone is lost"), "{}", world.toasts());
    world.keys("C-b m C-b m C-b m C-b m");
    assert!(world.toasts().contains("1 of 4: gone is lost"), "{}", world.toasts());
    // Something new comes before what was seen.
    world.begin_turn("worse", "again", EnvSpec::local());
    ends_turn(&mut world, "worse", TurnStatus::Failed);
    assert_eq!(told(&world), "1 needs you");
    world.keys("C-b m");
    assert!(world.toasts().contains("2 of 4: turn 2 of worse failed"), "{}", world.toasts());
}

#[test]
fn what_is_dealt_with_needs_nobody() {
    let mut world = busy();
    world.request(Request::Start(named(&world, "gone")));
    world.begin_turn("worse", "again", EnvSpec::local());
    world.request(Request::EndConversation(ConversationId::new("cut")));
    world.request(Request::Pin(named(&world, "idle")));
    assert_eq!(kinds(&world), ["ended", "bell"]);
    world.keys("C-b 4 x");
    world.keys("C-b n C-b n C-b n C-b n C-b n C-b n C-b n C-b n");
    assert_eq!(kinds(&world), [] as [&str; 0]);
    world.keys("C-b m");
    assert!(world.toasts().contains("nothing needs you"), "{}", world.toasts());
    assert_eq!(told(&world), "");
}

#[test]
fn one_that_is_shown_nowhere_is_selected_in_the_sidebar() {
    let mut world = World::with_shell();
    world.broken = Some("no space".to_owned());
    let id = world.model.ids.env();
    let (name, spec) = (Some("broken".to_owned()), Box::new(EnvSpec::local()));
    world.request(Request::NewEnvironment { id, name, spec });
    let broken = named(&world, "broken");
    assert_eq!(world.model.state.environments[&broken].phase, Phase::Failed);
    assert_eq!((kinds(&world), told(&world).as_str()), (vec!["not made"], "1 needs you"));
    world.keys("C-b m");
    assert!(world.toasts().contains("1 of 1: broken could not be made"), "{}", world.toasts());
    assert_eq!(world.mode(), Mode::Nav);
    let sidebar = world.sidebar();
    let row = &sidebar.rows[sidebar.selected.expect("a row")];
    assert!(format!("{row:?}").contains("broken"), "{row:?}");
    assert_eq!(told(&world), "", "seen");
    world.keys("m");
    assert!(world.toasts().contains("1 of 1"), "from the sidebar, too: {}", world.toasts());
}

#[test]
fn what_is_looked_at_when_it_happens_is_no_news() {
    let mut world = World::new(120, 40);
    world.begin_turn("login", "do it", EnvSpec::local());
    world.keys("a");
    ends_turn(&mut world, "login", TurnStatus::Failed);
    assert_eq!((kinds(&world), told(&world).as_str()), (vec!["failed"], ""));
    // In the turn list the key is the same.
    world.keys("t m");
    assert_eq!(world.overlay(), None);
    assert!(world.toasts().contains("1 of 1: turn 1 of login failed"), "{}", world.toasts());
    // A day later nobody waits for it.
    world.pass(Span::hours(25));
    assert_eq!(kinds(&world), [] as [&str; 0]);
}

#[test]
fn a_command_that_waits_for_whoever_took_its_environment_over_comes_first() {
    let mut world = busy();
    world.request(Request::TakeOver(named(&world, "worse")));
    assert!(!kinds(&world).contains(&"waits"), "as long as no command waits");
    let call = world.model.ids.call();
    world.request(Request::BeginCall {
        call,
        env: None,
        conversation: Some(ConversationId::new("worse")),
        command: "make".to_owned(),
        cwd: None,
        source: CallSource::Exec,
    });
    assert_eq!(kinds(&world)[0], "waits");
    world.keys("C-b m");
    assert!(world.toasts().contains("1 of 7: a command waits for you in worse"), "{}", world.toasts());
    world.focused(|pane| assert!(pane.title.starts_with("worse"), "{}", pane.title));
    world.keys("C-b T");
    assert!(!kinds(&world).contains(&"waits"), "given back");
}
