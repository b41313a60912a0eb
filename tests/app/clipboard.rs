//! Programs and a person's clipboard: by consent alone; and what was not let through.

use crate::world::{CLIENT, World};
use hermes_tui::app::view_model::{Mode, Overlay};
use hermes_tui::app::{ClientCaps, ClientId, Cmd, Msg, Role};
use hermes_tui::config::{Options, load};
use hermes_tui::domain::{SessionId, Size, Span};

const OTHER: ClientId = ClientId(2);

/// Base64, as programs send it.
fn base64(text: &str) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    text.as_bytes().chunks(3).fold(String::new(), |mut out, chunk| {
        let bits = chunk.iter().enumerate().fold(0u32, |bits, (i, b)| bits | u32::from(*b) << (16 - 8 * i));
        for i in 0..=chunk.len() {
            out.push(SIGNS[(bits >> (18 - 6 * i)) as usize & 63].into());
        }
        out
    })
}

fn write(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", base64(text))
}

fn with(settings: &str) -> World {
    let options: Options = load(settings).expect("settings").options;
    let mut world = World::with(options, 120, 40);
    world.keys("n");
    world
}

/// What went to clipboards, and to whose.
fn copied(world: &World) -> Vec<(ClientId, String)> {
    let clipboard =
        |c: &Cmd| if let Cmd::Clipboard { client, text } = c { Some((*client, text.clone())) } else { None };
    world.others.iter().filter_map(clipboard).collect()
}

fn logged(world: &World) -> Vec<String> {
    world.others.iter().filter_map(|c| if let Cmd::Log(line) = c { Some(line.clone()) } else { None }).collect()
}

fn dialog(world: &World) -> (String, Vec<String>, Vec<String>) {
    match world.overlay() {
        Some(Overlay::Dialog { title, text, choices, .. }) => {
            (title, text, choices.into_iter().map(|(key, label)| format!("{key} {label}")).collect())
        }
        other => panic!("a dialog, not {other:?}"),
    }
}

fn marks(world: &World) -> Vec<String> {
    world.focused(|p| p.marks.clone())
}

fn attach(world: &mut World, client: ClientId, role: Role) {
    let caps = ClientCaps { colours: 256, unicode: true };
    world.msg(Msg::ClientAttached { client, size: Size { rows: 40, cols: 120 }, caps, role });
}

fn attach_to(world: &mut World, client: ClientId, session: &SessionId) {
    let caps = ClientCaps { colours: 256, unicode: true };
    let (size, role) = (Size { rows: 24, cols: 80 }, Role::Guest);
    world.msg(Msg::AttachedTo { client, size, caps, role, session: session.clone() });
}

#[test]
fn a_program_is_asked_for_and_takes_no_key() {
    let mut world = World::with_shell();
    let session = world.session();
    world.keys("C-b C");
    world.output(&session, &write("one\ntwo\nthree"));
    // A dialog that is open is not touched.
    assert!(dialog(&world).0.starts_with("May programs in"), "{:?}", dialog(&world));
    world.keys("esc");
    assert_eq!(world.banner(), "asks to copy 3 lines: Ctrl+B C · ignored otherwise");
    assert!(marks(&world).contains(&"copy?".to_owned()));
    assert_eq!(world.mode(), Mode::Pane);
    world.typed("y");
    assert_eq!(world.got(&session), "y", "keys are the program's");
    assert_eq!(copied(&world), []);
    world.keys("C-b ]");
    assert_eq!(world.got(&session), "y", "nor is it what is pasted here");
    // The frame is free again after a while; what was asked for waits on.
    world.pass(Span::seconds(31));
    assert_eq!(world.banner(), "");
    world.keys("C-b C");
    let (title, text, choices) = dialog(&world);
    assert!(title.ends_with("wants to copy 3 lines"), "{title}");
    assert_eq!(text, ["> one", "> two", "> three"]);
    assert_eq!(choices.len(), 4);
    assert_eq!(choices[..2], ["Esc not now", "y copy it"]);
    world.keys("y");
    assert_eq!(copied(&world), [(CLIENT, "one\ntwo\nthree".to_owned())]);
    assert!(!marks(&world).contains(&"copy?".to_owned()));
    world.output(&session, &write("again"));
    assert!(world.banner().starts_with("asks to copy 5 characters"), "once is once");
}

#[test]
fn what_was_shown_is_what_is_copied() {
    let mut world = World::with_shell();
    let session = world.session();
    world.output(&session, &write("git status"));
    world.keys("C-b C");
    // Another text comes while a person reads this one.
    world.output(&session, &write("curl evil | sh\n"));
    world.keys("y");
    assert_eq!(copied(&world), [(CLIENT, "git status".to_owned())]);
    assert!(marks(&world).contains(&"copy?".to_owned()), "the other one waits");
}

#[test]
fn nothing_in_a_copied_text_can_press_a_key_or_hide() {
    let mut world = World::with_shell();
    let session = world.session();
    world.output(&session, &write("ls\x1b[201~\rrm -rf ~\u{202e}\u{7}\r\n\tend"));
    world.keys("C-b C");
    assert_eq!(dialog(&world).1, ["> ls[201~rm -rf ~\u{fffd}", ">  end"]);
    world.keys("y");
    assert_eq!(copied(&world)[0].1, "ls[201~rm -rf ~\u{202e}\n\tend");
    let long: String = (0..100_000).map(|n| format!("{n}\n")).collect();
    world.output(&session, &write(&long));
    world.keys("C-b C");
    let (title, text, _) = dialog(&world);
    assert!(title.ends_with("100000 lines"), "{title}");
    assert_eq!((text.len(), text[8].as_str()), (9, "99992 more lines"));
}

#[test]
fn a_flood_of_requests_keeps_the_last_and_counts() {
    let mut world = World::with_shell();
    let session = world.session();
    let flood: String = (0..900).map(|n| write(&format!("text {n}"))).collect();
    world.output(&session, &flood);
    assert!(world.toasts().is_empty(), "{}", world.toasts());
    world.keys("C-b C");
    let (_, text, _) = dialog(&world);
    assert_eq!(text, ["> text 899", "It asked 900 times; this is the last text."]);
}

#[test]
fn always_and_never_hold_for_the_environment_until_the_host_ends() {
    let mut world = World::with_shell();
    let first = world.session();
    world.output(&first, &write("a"));
    world.keys("C-b C a");
    assert_eq!(copied(&world), [(CLIENT, "a".to_owned())]);
    world.keys("C-b %");
    let second = world.session();
    world.output(&second, &write("b"));
    assert_eq!(copied(&world).last(), Some(&(CLIENT, "b".to_owned())), "another shell of it");
    assert!(world.toasts().contains("copied 1 character: b"), "{}", world.toasts());
    world.keys("C-b ]");
    assert_eq!(world.got(&second), "b");
    world.keys("C-b esc n");
    let elsewhere = world.session();
    world.output(&elsewhere, &write("c"));
    assert_eq!(copied(&world).len(), 2, "another environment is asked for");
    world.keys("C-b C n");
    assert!(world.toasts().contains("may not write to the clipboard"), "{}", world.toasts());
    world.output(&elsewhere, &write("d"));
    assert_eq!(copied(&world).len(), 2);
    assert!(marks(&world).contains(&"blocked 2".to_owned()), "{:?}", marks(&world));
    // It can be taken back.
    world.keys("C-b C k");
    world.output(&elsewhere, &write("e"));
    assert!(marks(&world).contains(&"copy?".to_owned()));
}

#[test]
fn the_settings_say_what_holds_by_name() {
    let mut never = with("[clipboard]\nprograms = \"never\"");
    let session = never.session();
    never.output(&session, &write("x"));
    assert_eq!((copied(&never).len(), never.banner()), (0, String::new()));
    assert_eq!(logged(&never).len(), 1, "{:?}", logged(&never));
    never.output(&session, &write("x"));
    assert_eq!(logged(&never).len(), 1);
    assert_eq!(marks(&never), ["blocked 2"]);

    let name = never.names()[0].clone();
    let pattern: String = name.chars().take(2).collect();
    let mut by_name = with(&format!("[clipboard]\nprograms = \"never\"\nallow = [\"{pattern}*\"]"));
    let session = by_name.session();
    by_name.output(&session, &write("x"));
    assert_eq!(copied(&by_name), [(CLIENT, "x".to_owned())]);
    let mut wins = with(&format!("[clipboard]\nallow = [\"*\"]\nnever = [\"{name}\"]"));
    let session = wins.session();
    wins.output(&session, &write("x"));
    assert_eq!(copied(&wins), []);
    assert!(load("[clipboard]\nprograms = \"yes\"").expect("settings").warnings[0].contains("ask, allow, never"));
}

#[test]
fn without_a_question_it_goes_to_those_who_see_the_pane_and_not_too_often() {
    let mut world = with("[clipboard]\nprograms = \"allow\"");
    let session = world.session();
    attach(&mut world, OTHER, Role::Reader);
    attach_to(&mut world, ClientId(3), &session);
    world.output(&session, &write("one"));
    let all = |text: &str| [(CLIENT, text.to_owned()), (ClientId(3), text.to_owned())];
    assert_eq!(copied(&world), all("one"), "a terminal that only looks is not written to");
    for n in 0..100 {
        world.output(&session, &write(&format!("flood {n}")));
    }
    assert_eq!(copied(&world).len(), 2);
    world.pass(Span::seconds(1));
    assert_eq!(copied(&world)[2..], all("flood 99"));
    assert_eq!(world.banner(), "");
    // Nobody looks: nothing is written behind anybody's back, and it can be asked for later.
    world.msg(Msg::ClientDetached(ClientId(3)));
    world.keys("C-b c");
    world.pass(Span::seconds(5));
    world.output(&session, &write("unseen"));
    world.pass(Span::seconds(5));
    assert_eq!(copied(&world).len(), 4);
    world.keys("C-b p");
    assert!(world.banner().starts_with("asks to copy 6 characters"), "{}", world.banner());
}

#[test]
fn a_terminal_with_one_session_is_told_in_passing_and_one_that_only_looks_decides_for_itself() {
    let mut world = World::with_shell();
    let session = world.session();
    attach_to(&mut world, ClientId(3), &session);
    world.output(&session, &write("text"));
    let shown = hermes_tui::app::view_model(&world.model, world.now, ClientId(3));
    let told = &shown.notices;
    assert!(told.iter().any(|t| t.text == "asks to copy 4 characters: Ctrl+B C"), "{told:?}");
    assert!(shown.panes[0].banner.is_none(), "nothing lies over its program");
    drop(shown);

    attach(&mut world, OTHER, Role::Reader);
    for key in ["C-b", "C", "n"] {
        let key: hermes_tui::config::KeyPress = key.parse().unwrap_or_else(|e| panic!("{e}"));
        world.msg(Msg::Key { client: OTHER, key: key.event() });
    }
    assert!(marks(&world).contains(&"copy?".to_owned()), "what holds for all is not a reader's to say");
    for key in ["C-b", "C", "y"] {
        let key: hermes_tui::config::KeyPress = key.parse().unwrap_or_else(|e| panic!("{e}"));
        world.msg(Msg::Key { client: OTHER, key: key.event() });
    }
    assert_eq!(copied(&world), [(OTHER, "text".to_owned())]);
}

#[test]
fn what_was_blocked_is_counted_in_the_frame_told_in_the_details_and_logged_once() {
    let mut world = World::with_shell();
    let session = world.session();
    let secret = "\x1b]0;token-123\x07";
    world.output(&session, secret);
    for _ in 0..3 {
        world.output(&session, "\x1b]52;c;?\x07\x1b]52;c;!\x07");
    }
    world.output(&session, &format!("\x1b]8;;http://{}\x07x", "y".repeat(4000)));
    assert!(marks(&world).contains(&"blocked 7".to_owned()), "{:?}", marks(&world));
    let lines = logged(&world);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].contains(session.as_str()) && lines[0].contains("attempts to read the clipboard"), "{lines:?}");
    assert!(!lines.join("\n").contains("token-123"), "a title may be a secret");
    world.keys("C-b i");
    let Some(Overlay::Details { facts, .. }) = world.overlay() else { panic!("details") };
    let blocked = facts.iter().find(|(name, _)| name == "blocked").map(|(_, what)| what.as_str());
    let told = "token-123: 3 attempts to read the clipboard; 3 clipboard writes that were malformed or too long; 1 links too long or too many";
    assert_eq!(blocked, Some(told));
}
