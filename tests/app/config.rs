//! Settings: keys, values, warnings, the default file.

use hermes_tui::config::{KeyPress, Kind, Options, SETTINGS, Theme, check, default_file, load, nearest};
use hermes_tui::domain::{HermesReap, Retention, Span};
use proptest::prelude::*;

#[test]
fn the_default_file_is_fresh_and_changes_nothing() {
    let kept = include_str!("../../assets/config.default.toml");
    assert_eq!(kept, default_file(), "write config::default_file() to assets/config.default.toml");
    let loaded = load(kept).expect("it can be read");
    assert_eq!(loaded.options, Options::default());
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    for setting in SETTINGS {
        let name = setting.path.rsplit('.').next().unwrap();
        assert!(kept.contains(&format!("# {name} = {}\n", setting.default)), "{} is missing", setting.path);
        assert!(kept.contains(setting.help));
    }
}

#[test]
fn each_default_written_out_is_the_default() {
    for setting in SETTINGS {
        let text = match setting.path.rsplit_once('.') {
            Some((section, name)) => format!("[{section}]\n{name} = {}\n", setting.default),
            None => format!("{} = {}\n", setting.path, setting.default),
        };
        let loaded = load(&text).expect("it can be read");
        assert!(loaded.warnings.is_empty(), "{text}: {:?}", loaded.warnings);
        let options = Options { ascii: None, ..loaded.options };
        assert_eq!(options, Options::default(), "{text}");
    }
}

#[test]
fn values_are_taken_in() {
    let text = "theme = \"light\"\n[env]\nidle = 0\nretention = \"keep_running\"\n";
    let options = load(text).unwrap().options;
    let spec = options.env.spec();
    assert_eq!((options.theme, spec.idle, spec.retention), (Theme::Light, Span::ZERO, Retention::KeepRunning));
}

#[test]
fn a_variable_overrides_the_file() {
    let mut loaded = load("theme = \"light\"\n[env]\nidle = 7\n").unwrap();
    let mut set = |variable: &str, written: &str| {
        let setting = SETTINGS.iter().find(|s| s.variable() == variable).expect("a setting");
        loaded.override_by(setting, written);
    };
    set("HTUI_THEME", "mono");
    set("HTUI_ENV_IDLE", "60");
    set("HTUI_HISTORY_LINES", "many");
    assert_eq!((loaded.options.theme, loaded.options.env.spec().idle), (Theme::Mono, Span::seconds(60)));
    assert_eq!(loaded.warnings.len(), 1);
    assert!(loaded.warnings[0].starts_with("HTUI_HISTORY_LINES is ignored: "), "{:?}", loaded.warnings);
}

#[test]
fn unknown_keys_name_the_nearest() {
    let warnings = load("them = \"dark\"\n[history]\nlinse = 5\n[nonsense]\nx = 1\n").unwrap().warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings.iter().any(|w| w == "unknown key `them`; did you mean `theme`?"), "{warnings:?}");
    assert!(warnings.iter().any(|w| w == "unknown key `history.linse`; did you mean `history.lines`?"), "{warnings:?}");
    assert!(warnings.iter().any(|w| w == "unknown key `nonsense`"), "{warnings:?}");
}

#[test]
fn wrong_values_keep_the_default_and_say_what_they_must_be() {
    let loaded =
        load("sidebar_width = 5\nmouse = \"yes\"\n[env]\nscope = \"sesion\"\n[keys]\nleader = \"ctrl+\"\n").unwrap();
    assert_eq!(loaded.options, Options::default());
    let all = loaded.warnings.join("\n");
    for part in ["from 16 to 80", "true or false", "did you mean `session`?", "is not a key"] {
        assert!(all.contains(part), "{part}: {all}");
    }
}

#[test]
fn a_text_that_is_no_toml_is_an_error_with_its_place() {
    let error = load("theme = \n").unwrap_err().to_string();
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn keys_are_read_in_every_usual_spelling() {
    for (written, shown) in [
        ("ctrl+b", "Ctrl+B"),
        ("C-b", "Ctrl+B"),
        ("Ctrl+B", "Ctrl+B"),
        ("M-x", "Alt+x"),
        ("alt+X", "Alt+X"),
        ("%", "%"),
        ("+", "+"),
        ("plus", "+"),
        ("ctrl++", "Ctrl++"),
        ("space", "Space"),
        ("Esc", "Esc"),
        ("shift+tab", "Shift+Tab"),
        ("f12", "F12"),
        ("ctrl+alt+h", "Ctrl+Alt+h"),
        ("ctrl+left", "Ctrl+←"),
        ("-", "-"),
        ("C--", "Ctrl+-"),
        ("shift+a", "A"),
        ("ü", "ü"),
    ] {
        let key: KeyPress = written.parse().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(key.to_string(), shown, "{written}");
    }
    for wrong in ["", "ctrl+", "hyper+x", "f99", "enterr", "\n"] {
        assert!(wrong.parse::<KeyPress>().is_err(), "{wrong:?}");
    }
}

#[test]
fn the_nearest_name_is_only_given_when_it_is_near() {
    assert_eq!(nearest("zom", ["zoom", "split"]), Some("zoom"));
    assert_eq!(nearest("completely-else", ["zoom", "split"]), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}", key in "\\PC{0,12}") {
        let _ = load(&text);
        let _ = key.parse::<KeyPress>();
    }
}

#[test]
fn consent_is_given_for_all_profiles_or_for_one() {
    let text = "[hermes]\nreap = \"leaked\"\nstale_after = 86400\n[hermes.profiles.work]\nreap = \"stale\"\n";
    let loaded = load(text).unwrap();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let consent = loaded.options.hermes;
    assert_eq!((consent.of(None), consent.of(Some("other"))), (HermesReap::Leaked, HermesReap::Leaked));
    assert_eq!((consent.of(Some("work")), consent.stale_after), (HermesReap::Stale, Span::hours(24)));
    assert_eq!(Options::default().hermes.of(Some("work")), HermesReap::Off);
}

#[test]
fn a_consent_that_cannot_be_understood_is_none() {
    let text = "[hermes]\nreap = \"all\"\n[hermes.profiles.a]\nreap = \"everything\"\nraep = 1\n";
    let loaded = load(text).unwrap();
    assert_eq!(loaded.options.hermes.of(Some("a")), HermesReap::Off);
    assert_eq!(loaded.options.hermes.of(None), HermesReap::Off);
    assert_eq!(loaded.warnings.len(), 3, "{:?}", loaded.warnings);
    let mut loaded = load("").unwrap();
    let setting = SETTINGS.iter().find(|s| s.variable() == "HTUI_HERMES_REAP").expect("a setting");
    loaded.override_by(setting, "ephemeral");
    assert_eq!(loaded.options.hermes.reap, HermesReap::Ephemeral);
}

#[test]
fn each_setting_takes_what_its_kind_says_and_nothing_else() {
    use toml::Value;
    for setting in SETTINGS {
        let takes = |value: Value| setting.accepts(&value).is_ok();
        let text = |text: &str| Value::String(text.to_owned());
        let path = setting.path;
        let is_text = matches!(setting.kind, Kind::Words(_) | Kind::Text | Kind::Key);
        assert!(is_text || !takes(text("ctrl+b")), "{path} takes a text");
        assert!(setting.kind == Kind::Flag || !takes(Value::Boolean(true)), "{path} takes true");
        match setting.kind {
            Kind::Words(words) => {
                assert!(words.iter().all(|word| takes(text(word))) && !takes(text("nonsense")), "{path}");
            }
            Kind::Flag => assert!(takes(Value::Boolean(true)) && takes(Value::Boolean(false)), "{path}"),
            Kind::Number { from, to } => {
                assert!(takes(Value::Integer(from)) && takes(Value::Integer(to)), "{path}");
                assert!(!takes(Value::Integer(from - 1)) && !takes(Value::Integer(to + 1)), "{path}");
            }
            Kind::Text => assert!(takes(text("anything")), "{path}"),
            Kind::Key => assert!(takes(text("ctrl+b")) && !takes(text("ctrl+nonsense")), "{path}"),
            Kind::Texts => assert!(takes(Value::Array(vec![text("a"), text("b")])), "{path}"),
            Kind::Endpoints => {
                assert!(takes(Value::Table("a = \"ssh://b\"\nc = { url = \"d\" }".parse().unwrap())), "{path}");
            }
        }
    }
}

#[test]
fn a_fault_is_found_where_it_stands() {
    let text = "# é\n[history]\n'linse' = 1\n[env]\nidle = \"soon\"\n";
    let found = check(text, |_| Vec::new()).unwrap();
    let places: Vec<(&str, Option<usize>)> = found.iter().map(|one| (one.key.as_str(), one.at)).collect();
    assert_eq!(places, [("history.linse", text.find("'linse'")), ("env.idle", text.find("idle"))]);
    assert_eq!(found[0].nearest.as_deref(), Some("history.lines"));
    assert!(check("theme = 'dark'\n", |_| Vec::new()).unwrap().is_empty());
    assert!(check("theme = = 1", |_| Vec::new()).is_err());
}
