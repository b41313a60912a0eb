//! Turns whose environment a rule of the configuration chooses.

use crate::desk::*;
use hermes_tui::domain::*;

const RULE: &str = "rule 1 (kind = \"main\")";

/// The target of a rule that gives each of its conversations an environment of its own.
fn own(spec: EnvSpec) -> TurnTarget {
    TurnTarget::Ruled(Box::new(Ruled { rule: RULE.into(), common: None, spec, explicit: Vec::new() }))
}

/// The target of a rule that gives all of its conversations one environment.
fn common(name: &str, spec: EnvSpec, anywhere: bool) -> TurnTarget {
    let common = Some(Common { name: name.into(), anywhere });
    TurnTarget::Ruled(Box::new(Ruled { rule: RULE.into(), common, spec, explicit: Vec::new() }))
}

fn shared() -> EnvSpec {
    EnvSpec { scope: Scope::Shared, ..spec() }
}

fn rule_of(desk: &Desk, c: &str) -> Option<String> {
    desk.state.conversations[&conversation(c)].rule.clone()
}

fn text_of_begin(effects: &[Effect]) -> String {
    let notice = effects.iter().find_map(|effect| match effect {
        Effect::Announce(notice) if notice.kind == NoticeKind::TurnBegan => Some(notice.text.clone()),
        _ => None,
    });
    notice.expect("a turn began")
}

#[test]
fn all_conversations_of_a_rule_find_the_environment_that_its_first_one_made() {
    let mut desk = Desk::new();
    let effects = desk.begin_in("a", common("main", shared(), false));
    assert!(provisions(&effects));
    assert!(text_of_begin(&effects).ends_with(&format!("began in main, where {RULE} puts it")), "{effects:?}");
    assert_eq!((desk.env("a-env").name.as_str(), desk.env("a-env").spec.scope), ("main", Scope::Shared));
    // Also while it is still being made.
    assert!(!provisions(&desk.begin_in("b", common("main", shared(), false))));
    assert_eq!((desk.env_of("a"), desk.env_of("b")), ("a-env".into(), "a-env".into()));
    assert_eq!(rule_of(&desk, "b").as_deref(), Some(RULE));
    let fact = desk.verdict("a-env").evidence.into_iter().find(|fact| fact.what == "chosen").expect("who chose it");
    assert_eq!(fact.detail, format!("by {RULE} for a, b"));
    // It ends with the last one.
    desk.provisioned("a-env");
    assert_eq!(deed(&desk.end_conversation("a")), None);
    assert_eq!(deed(&desk.end_conversation("b")), Some(Deed::Stop));
}

#[test]
fn an_environment_that_there_is_already_is_used_as_it_is() {
    let mut desk = Desk::new();
    desk.ready("main", EnvSpec { idle: Span::seconds(5), retention: Retention::KeepRunning, ..spec() });
    let answered = desk.begin_in("a", common("main", shared(), false));
    assert!(!provisions(&answered));
    assert_eq!(desk.env_of("a"), "main");
    assert_eq!(desk.env("main").spec.scope, Scope::Session, "nothing of it changes");
    // Flags that say something else of it are refused, as with any environment.
    let TurnTarget::Ruled(ruled) = common("main", shared(), false) else { unreachable!() };
    let flagged = Ruled { explicit: vec!["idle".to_owned()], ..*ruled };
    let refused = refusal(&desk.begin_in("b", TurnTarget::Ruled(Box::new(flagged))));
    assert_eq!(refused.kind, RefusalKind::Policy);
    assert!(refused.message.contains("idle is 5 s, asked for 300 s"), "{}", refused.message);
}

#[test]
fn the_name_is_looked_for_where_the_rule_says_and_else_everywhere() {
    let mut desk = Desk::new();
    desk.ready("box", docker());
    let named = |id: &str, place: &EnvSpec| Request::NewEnvironment {
        id: env(id),
        name: Some("main".into()),
        spec: Box::new(place.clone()),
    };
    desk.ask(named("there", &docker()));
    desk.provisioned("there");
    desk.begin_in("a", common("main", shared(), true));
    assert_eq!(desk.env_of("a"), "there", "the rule names no place");
    desk.begin_in("b", common("main", shared(), false));
    assert_eq!(desk.env_of("b"), "b-env", "the rule names another one");
    assert_eq!(desk.env("b-env").name, "main");
    desk.begin_in("c", common("main", shared(), true));
    assert_eq!(desk.env_of("c"), "b-env", "the one in the usual place first");
    desk.apply(Event::EndpointUp(EndpointId::new("other")));
    desk.ask(named("elsewhere", &EnvSpec { endpoint: EndpointId::new("other"), ..docker() }));
    let nowhere = EnvSpec { endpoint: EndpointId::new("third"), ..shared() };
    let refused = refusal(&desk.begin_in("d", common("main", nowhere, true)));
    assert_eq!(refused.kind, RefusalKind::Usage);
    assert!(refused.message.contains("fits 3 environments"), "{}", refused.message);
}

#[test]
fn whoever_shares_without_a_name_is_not_led_into_one_that_a_rule_names() {
    let mut desk = Desk::new();
    desk.running_turn("x", shared());
    desk.begin_in("a", common("main", shared(), false));
    assert_eq!(desk.env_of("a"), "a-env", "nor does the rule take any other shared one");
    desk.end_conversation("x");
    let mut desk = Desk::new();
    desk.begin_in("a", common("main", shared(), false));
    desk.begin_in("b", common("other", shared(), false));
    desk.begin_in("c", own(shared()));
    desk.begin_in("d", own(shared()));
    desk.begin("e", shared());
    let places = ["a", "b", "c", "d", "e"].map(|c| desk.env_of(c));
    assert_eq!(places, ["a-env", "b-env", "c-env", "c-env", "c-env"]);
    // Also after a restart of the host.
    let mut desk = desk.restarted();
    desk.snapshot(&EndpointId::new("local"), Vec::new());
    desk.begin("f", shared());
    assert_eq!(desk.env_of("f"), "c-env");
}

#[test]
fn nobody_shares_with_one_that_is_less_isolated() {
    let mut desk = Desk::new();
    let open = EnvSpec { network: Network::Host, ..shared() };
    let bare = EnvSpec { on_host: true, network: Network::Host, ..shared() };
    for (c, spec) in [("a", open.clone()), ("b", bare.clone()), ("c", shared()), ("d", bare), ("e", shared())] {
        desk.begin_in(c, own(spec));
    }
    let places = ["a", "b", "c", "d", "e"].map(|c| desk.env_of(c));
    assert_eq!(places, ["a-env", "b-env", "c-env", "b-env", "c-env"]);
}

#[test]
fn a_rule_that_isolates_every_conversation_but_the_main_one() {
    let mut desk = Desk::new();
    let main = || common("main", EnvSpec { retention: Retention::KeepRunning, ..shared() }, false);
    for c in ["main-1", "main-2"] {
        desk.begin_in(c, main());
        desk.provisioned("main-1-env");
    }
    for c in ["cron", "sub"] {
        desk.begin_in(c, own(ephemeral(Scope::Session)));
        desk.provisioned(&desk.env_of(c));
    }
    let places = ["main-1", "main-2", "cron", "sub"].map(|c| desk.env_of(c));
    assert_eq!(places, ["main-1-env", "main-1-env", "cron-env", "sub-env"]);
    for c in ["cron", "sub"] {
        assert_eq!(deed(&desk.end_conversation(c)), Some(Deed::Remove));
        desk.torn_down(&format!("{c}-env"));
        assert!(!desk.is_listed(&format!("{c}-env")));
    }
    desk.end_conversation("main-1");
    assert_eq!(deed(&desk.end_conversation("main-2")), None);
    assert_eq!(deed(&desk.pass_quietly(Span::hours(48))), None);
    assert_eq!(desk.phase("main-1-env"), Phase::Ready);
}

#[test]
fn a_conversation_stays_where_it_is_whatever_rules_say_later() {
    let mut desk = Desk::new();
    desk.running_turn("c", spec());
    let effects = desk.begin_in("c", common("main", shared(), false));
    assert!(!text_of_begin(&effects).contains("rule"), "{effects:?}");
    assert_eq!((desk.env_of("c"), rule_of(&desk, "c")), ("c-env".into(), None));
    // By its name it goes elsewhere, and no rule did that.
    desk.begin_in("d", own(spec()));
    assert_eq!(rule_of(&desk, "d").as_deref(), Some(RULE));
    desk.provisioned("d-env");
    desk.begin_in("d", TurnTarget::Named("c".into()));
    assert_eq!((desk.env_of("d"), rule_of(&desk, "d")), ("c-env".into(), None));
}

#[test]
fn one_that_goes_with_its_turn_is_not_taken_for_one_that_serves_many() {
    let mut desk = Desk::new();
    desk.ready("main", ephemeral(Scope::Turn));
    let refused = refusal(&desk.begin_in("a", common("main", shared(), false)));
    assert_eq!(refused.kind, RefusalKind::Policy);
    assert!(refused.message.contains("scope turn"), "{}", refused.message);
    assert!(desk.state.conversations.is_empty());
}

#[test]
fn a_turn_of_its_own_sandbox_is_placed_by_its_rule_each_time() {
    let mut desk = Desk::new();
    for n in 1..=3 {
        desk.begin_in("c", own(ephemeral(Scope::Turn)));
        let env = desk.env_of("c");
        let effects = desk.provisioned(&env);
        desk.open_sessions(&effects);
        assert_eq!(rule_of(&desk, "c").as_deref(), Some(RULE), "turn {n}");
        assert_eq!(deed(&desk.end("c")), Some(Deed::Remove));
        desk.torn_down(&env);
        assert_eq!(rule_of(&desk, "c"), None, "it is nowhere now");
    }
}
