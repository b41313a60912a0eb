//! What a terminal says of its colours reaches the programs that ask.

use crate::world::World;
use hermes_tui::app::{ClientId, Msg, Role, TerminalAnswer};

const ASKS: &str = "\x1b]10;?\x07\x1b]11;?\x1b\\";
const DARK: &str = "\x1b]10;rgb:eeee/eeee/eeee\x07\x1b]11;rgb:0101/0202/0303\x1b\\";

fn answers(world: &mut World, client: ClientId, foreground: (u8, u8, u8), background: (u8, u8, u8)) {
    for answer in [TerminalAnswer::Foreground(foreground), TerminalAnswer::Background(background)] {
        world.msg(Msg::TerminalAnswered { client, answer });
    }
}

#[test]
fn programs_are_told_the_colours_of_the_terminal_once_they_are_known() {
    let mut world = World::with_shell();
    let first = world.session();
    world.output(&first, ASKS);
    assert_eq!(world.got(&first), "", "nobody knows them");
    let client = *world.model.clients.keys().next().expect("one");
    world.msg(Msg::TerminalAnswered { client, answer: TerminalAnswer::Foreground((0xee, 0xee, 0xee)) });
    world.output(&first, ASKS);
    assert_eq!(world.got(&first), "", "half of it is of no use: text must not have the colour of what is behind it");
    answers(&mut world, client, (0xee, 0xee, 0xee), (1, 2, 3));
    world.output(&first, ASKS);
    assert_eq!(world.got(&first), DARK);
    world.keys("C-b c");
    let second = world.session();
    assert_ne!(first, second);
    world.output(&second, ASKS);
    assert_eq!(world.got(&second), DARK, "a shell that is opened later knows them, too");
}

#[test]
fn programs_are_told_the_colours_of_the_terminal_that_somebody_works_in() {
    const LIGHT: &str = "\x1b]10;rgb:0000/0000/0000\x07\x1b]11;rgb:ffff/ffff/ffff\x1b\\";
    let mut world = World::with_shell();
    let session = world.session();
    let first = *world.model.clients.keys().next().expect("one");
    answers(&mut world, first, (0xee, 0xee, 0xee), (1, 2, 3));
    answers(&mut world, ClientId(987), (0, 0, 0), (255, 255, 255));
    world.output(&session, ASKS);
    assert_eq!(world.got(&session), DARK, "not of one that is unknown");
    let (client, size) = (ClientId(987), world.model.clients[&first].size);
    let caps = world.model.clients[&first].caps;
    world.msg(Msg::ClientAttached { client, size, caps, role: Role::Guest });
    answers(&mut world, client, (0, 0, 0), (255, 255, 255));
    world.output(&session, ASKS);
    assert!(world.got(&session).ends_with(LIGHT), "who attaches works there");
    world.msg(Msg::ClientDetached(client));
    world.output(&session, ASKS);
    assert!(world.got(&session).ends_with(DARK), "of those that are left");
}
