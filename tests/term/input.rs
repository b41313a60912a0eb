//! Keys, mouse, pastes and focus as the program reads them.

use crate::support::{feed, screen};
use crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyEventState, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use hermes_tui::term::{Modes, keys, mouse, paste};

const NONE: KeyModifiers = KeyModifiers::NONE;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const ALT: KeyModifiers = KeyModifiers::ALT;

/// The modes after a program wrote `setup`.
fn modes(setup: &str) -> Modes {
    let mut screen = screen(4, 20);
    feed(&mut screen, setup);
    screen.modes()
}

fn typed(setup: &str, code: KeyCode, modifiers: KeyModifiers) -> String {
    String::from_utf8(keys::encode(&KeyEvent::new(code, modifiers), &modes(setup))).unwrap()
}

#[track_caller]
fn assert_table(setup: &str, table: &[(KeyCode, KeyModifiers, &str)]) {
    for (code, modifiers, bytes) in table {
        assert_eq!(typed(setup, *code, *modifiers), *bytes, "{modifiers:?}+{code:?} after {setup:?}");
    }
}

#[test]
fn legacy_keys() {
    let c = KeyCode::Char;
    assert_table(
        "",
        &[
            (c('a'), NONE, "a"),
            (c('A'), SHIFT, "A"),
            (c('é'), NONE, "é"),
            (c('a'), CTRL, "\x01"),
            (c('j'), CTRL, "\n"),
            (c(' '), CTRL, "\0"),
            (c('@'), CTRL, "\0"),
            (c('['), CTRL, "\x1b"),
            (c('\\'), CTRL, "\x1c"),
            (c('4'), CTRL, "\x1c"),
            (c(']'), CTRL, "\x1d"),
            (c('^'), CTRL, "\x1e"),
            (c('_'), CTRL, "\x1f"),
            (c('/'), CTRL, "\x1f"),
            (c('7'), CTRL, "\x1f"),
            (c('?'), CTRL, "\x7f"),
            (c('x'), ALT, "\x1bx"),
            (c('x'), ALT.union(CTRL), "\x1b\x18"),
            (KeyCode::Enter, NONE, "\r"),
            (KeyCode::Enter, SHIFT, "\r"),
            (KeyCode::Enter, CTRL, "\r"),
            (KeyCode::Enter, ALT, "\x1b\r"),
            (KeyCode::Tab, NONE, "\t"),
            (KeyCode::BackTab, SHIFT, "\x1b[Z"),
            (KeyCode::BackTab, NONE, "\x1b[Z"),
            (KeyCode::Backspace, NONE, "\x7f"),
            (KeyCode::Backspace, CTRL, "\x08"),
            (KeyCode::Backspace, ALT, "\x1b\x7f"),
            (KeyCode::Esc, NONE, "\x1b"),
            (KeyCode::Esc, ALT, "\x1b\x1b"),
            (KeyCode::Up, NONE, "\x1b[A"),
            (KeyCode::Down, NONE, "\x1b[B"),
            (KeyCode::Right, NONE, "\x1b[C"),
            (KeyCode::Left, NONE, "\x1b[D"),
            (KeyCode::Left, CTRL, "\x1b[1;5D"),
            (KeyCode::Left, SHIFT.union(ALT), "\x1b[1;4D"),
            (KeyCode::Home, NONE, "\x1b[H"),
            (KeyCode::End, NONE, "\x1b[F"),
            (KeyCode::End, SHIFT, "\x1b[1;2F"),
            (KeyCode::Insert, NONE, "\x1b[2~"),
            (KeyCode::Delete, NONE, "\x1b[3~"),
            (KeyCode::Delete, CTRL, "\x1b[3;5~"),
            (KeyCode::PageUp, NONE, "\x1b[5~"),
            (KeyCode::PageDown, ALT, "\x1b[6;3~"),
            (KeyCode::F(1), NONE, "\x1bOP"),
            (KeyCode::F(4), NONE, "\x1bOS"),
            (KeyCode::F(1), SHIFT, "\x1b[1;2P"),
            (KeyCode::F(5), NONE, "\x1b[15~"),
            (KeyCode::F(6), NONE, "\x1b[17~"),
            (KeyCode::F(10), NONE, "\x1b[21~"),
            (KeyCode::F(11), NONE, "\x1b[23~"),
            (KeyCode::F(12), CTRL, "\x1b[24;5~"),
            (KeyCode::F(13), NONE, "\x1b[25~"),
            (KeyCode::F(14), NONE, "\x1b[26~"),
            (KeyCode::F(15), NONE, "\x1b[28~"),
            (KeyCode::F(16), NONE, "\x1b[29~"),
            (KeyCode::F(17), NONE, "\x1b[31~"),
            (KeyCode::F(20), NONE, "\x1b[34~"),
            (KeyCode::CapsLock, NONE, ""),
        ],
    );
}

#[test]
fn application_modes() {
    assert_table(
        "\x1b[?1h",
        &[
            (KeyCode::Up, NONE, "\x1bOA"),
            (KeyCode::Home, NONE, "\x1bOH"),
            (KeyCode::Up, CTRL, "\x1b[1;5A"),
            (KeyCode::Delete, NONE, "\x1b[3~"),
        ],
    );
    assert_table("\x1b[20h", &[(KeyCode::Enter, NONE, "\r\n")]);
    assert_table("\x1b[?67h", &[(KeyCode::Backspace, NONE, "\x08"), (KeyCode::Backspace, CTRL, "\x7f")]);
    let keypad = |code| KeyEvent { state: KeyEventState::KEYPAD, ..KeyEvent::new(code, NONE) };
    let on = modes("\x1b=");
    assert_eq!(keys::encode(&keypad(KeyCode::Char('5')), &on), b"\x1bOu");
    assert_eq!(keys::encode(&keypad(KeyCode::Char('+')), &on), b"\x1bOk");
    assert_eq!(keys::encode(&keypad(KeyCode::Enter), &on), b"\x1bOM");
    assert_eq!(keys::encode(&keypad(KeyCode::Char('5')), &modes("")), b"5");
}

#[test]
fn the_kitty_protocol_as_a_program_asked_for_it() {
    let c = KeyCode::Char;
    assert_table(
        "\x1b[>5u",
        &[
            (KeyCode::Enter, NONE, "\r"),
            (KeyCode::Enter, SHIFT, "\x1b[13;2u"),
            (KeyCode::Enter, CTRL, "\x1b[13;5u"),
            (KeyCode::Enter, ALT, "\x1b[13;3u"),
            (KeyCode::BackTab, SHIFT, "\x1b[9;2u"),
            (c('j'), CTRL, "\x1b[106;5u"),
            (KeyCode::Esc, NONE, "\x1b[27u"),
            (c('a'), NONE, "a"),
            (c('A'), SHIFT, "A"),
            (c('A'), SHIFT.union(CTRL), "\x1b[97:65;6u"),
            (KeyCode::Backspace, NONE, "\x7f"),
            (KeyCode::Backspace, CTRL, "\x1b[127;5u"),
            (KeyCode::Up, NONE, "\x1b[A"),
            (KeyCode::Up, SHIFT, "\x1b[1;2A"),
            (KeyCode::F(1), NONE, "\x1b[P"),
            (KeyCode::F(3), NONE, "\x1b[13~"),
            (KeyCode::F(13), NONE, "\x1b[57376u"),
            (KeyCode::Delete, NONE, "\x1b[3~"),
            (KeyCode::Menu, NONE, "\x1b[57363u"),
        ],
    );
    assert_table("\x1b[>1u", &[(c('A'), SHIFT.union(CTRL), "\x1b[97;6u"), (c('x'), ALT, "\x1b[120;3u")]);
    assert_table(
        "\x1b[>31u",
        &[
            (c('a'), NONE, "\x1b[97;;97u"),
            (c('A'), SHIFT, "\x1b[97:65;2;65u"),
            (c('a'), CTRL, "\x1b[97;5u"),
            (KeyCode::Enter, NONE, "\x1b[13u"),
            (KeyCode::Tab, NONE, "\x1b[9u"),
        ],
    );
    assert_table("\x1b[>5u\x1b[<u", &[(KeyCode::Enter, SHIFT, "\r"), (KeyCode::Esc, NONE, "\x1b")]);
}

#[test]
fn repeats_and_releases_are_sent_only_to_who_asked() {
    let event = |code, kind| KeyEvent { kind, ..KeyEvent::new(code, NONE) };
    let send = |setup: &str, code, kind| String::from_utf8(keys::encode(&event(code, kind), &modes(setup))).unwrap();
    assert_eq!(send("", KeyCode::Char('a'), KeyEventKind::Release), "");
    assert_eq!(send("", KeyCode::Char('a'), KeyEventKind::Repeat), "a");
    assert_eq!(send("\x1b[>1u", KeyCode::Up, KeyEventKind::Release), "");
    assert_eq!(send("\x1b[>1u", KeyCode::Up, KeyEventKind::Repeat), "\x1b[A");
    assert_eq!(send("\x1b[>3u", KeyCode::Up, KeyEventKind::Release), "\x1b[1;1:3A");
    assert_eq!(send("\x1b[>3u", KeyCode::Esc, KeyEventKind::Repeat), "\x1b[27;1:2u");
    assert_eq!(send("\x1b[>3u", KeyCode::Enter, KeyEventKind::Release), "");
    assert_eq!(send("\x1b[>11u", KeyCode::Enter, KeyEventKind::Release), "\x1b[13;1:3u");
}

#[test]
fn modify_other_keys() {
    let c = KeyCode::Char;
    assert_table(
        "\x1b[>4;2m",
        &[
            (KeyCode::Enter, SHIFT, "\x1b[27;2;13~"),
            (c('i'), CTRL, "\x1b[27;5;105~"),
            (c('A'), SHIFT, "A"),
            (KeyCode::Enter, NONE, "\r"),
            (KeyCode::BackTab, SHIFT, "\x1b[Z"),
            (KeyCode::Up, CTRL, "\x1b[1;5A"),
        ],
    );
    assert_table(
        "\x1b[>4;1m",
        &[(c('i'), CTRL, "\t"), (KeyCode::Enter, CTRL, "\x1b[27;5;13~"), (c('1'), CTRL, "\x1b[27;5;49~")],
    );
    assert_table("\x1b[>4;2m\x1b[>4;0m", &[(KeyCode::Enter, SHIFT, "\r")]);
}

#[test]
fn a_bracketed_paste_is_one_block_that_nothing_inside_can_end() {
    let on = modes("\x1b[?2004h");
    assert_eq!(paste::encode("a\nb\nc", &on), b"\x1b[200~a\nb\nc\x1b[201~");
    let nested = paste::encode("x\x1b[201~; rm -rf\n\x1b[20\x1b[201~1~y", &on);
    assert_eq!(nested, b"\x1b[200~x; rm -rf\ny\x1b[201~");
    let large = "0123456789abcdef\n".repeat(300_000);
    assert_eq!(paste::encode(&large, &on).len(), large.len() + 12);
    assert_eq!(paste::encode("a\r\nb\nc\r", &modes("")), b"a\rb\rc\r");
}

#[test]
fn focus_is_told_to_who_asked() {
    assert_eq!(paste::focus(true, &modes("")), b"");
    let on = modes("\x1b[?1004h");
    assert_eq!((paste::focus(true, &on), paste::focus(false, &on)), (&b"\x1b[I"[..], &b"\x1b[O"[..]));
}

#[test]
fn mouse_events_are_sent_as_far_as_they_were_asked_for() {
    let event = |kind, modifiers| MouseEvent { kind, column: 99, row: 99, modifiers };
    let send = |setup: &str, kind, modifiers, row, col| mouse::encode(&event(kind, modifiers), row, col, &modes(setup));
    let down = MouseEventKind::Down(MouseButton::Left);
    let up = MouseEventKind::Up(MouseButton::Right);
    let drag = MouseEventKind::Drag(MouseButton::Middle);
    assert_eq!(send("", down, NONE, 0, 0), b"");
    assert_eq!(send("\x1b[?1000h", down, NONE, 0, 0), b"\x1b[M !!");
    assert_eq!(send("\x1b[?1000h", up, CTRL, 1, 2), b"\x1b[M3#\"");
    assert_eq!(send("\x1b[?1000h", drag, NONE, 1, 2), b"");
    assert_eq!(send("\x1b[?1002h", drag, NONE, 1, 2), b"\x1b[MA#\"");
    assert_eq!(send("\x1b[?1002h", MouseEventKind::Moved, NONE, 1, 2), b"");
    assert_eq!(send("\x1b[?1003h", MouseEventKind::Moved, NONE, 1, 2), b"\x1b[MC#\"");
    assert_eq!(send("\x1b[?1000h\x1b[?1006h", down, SHIFT.union(ALT), 299, 499), b"\x1b[<12;500;300M");
    assert_eq!(send("\x1b[?1000h\x1b[?1006h", up, NONE, 0, 0), b"\x1b[<2;1;1m");
    assert_eq!(send("\x1b[?1000h\x1b[?1006h", MouseEventKind::ScrollDown, NONE, 0, 0), b"\x1b[<65;1;1M");
    assert_eq!(send("\x1b[?1000h", down, NONE, 0, 222), b"\x1b[M \xff!");
    assert_eq!(send("\x1b[?1000h", down, NONE, 0, 223), b"", "no byte for that column");
    assert_eq!(send("\x1b[?1000h\x1b[?1005h", down, NONE, 0, 500), "\x1b[M ȕ!".as_bytes());
}

#[test]
fn the_wheel_moves_the_cursor_in_full_screen_programs_without_the_mouse() {
    assert_eq!(mouse::wheel_as_keys(true, &modes("")), b"");
    assert_eq!(mouse::wheel_as_keys(true, &modes("\x1b[?1049h")), b"\x1b[A\x1b[A\x1b[A");
    assert_eq!(mouse::wheel_as_keys(false, &modes("\x1b[?1049h\x1b[?1h")), b"\x1bOB\x1bOB\x1bOB");
    assert_eq!(mouse::wheel_as_keys(true, &modes("\x1b[?1049h\x1b[?1000h")), b"");
    assert_eq!(mouse::wheel_as_keys(true, &modes("\x1b[?1049h\x1b[?1007l")), b"");
}
