//! Mouse events → bytes for the program, as far as it asked for them.

use super::modes::{Modes, MouseEncoding, MouseTracking};
use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

/// The bytes to write for a mouse event at `row` and `col` of the pane, from 0 (the event's own place is the outer
/// terminal's and is not used). Empty when the program did not ask for it or cannot be told that place.
#[must_use]
pub fn encode(event: &MouseEvent, row: u16, col: u16, modes: &Modes) -> Vec<u8> {
    let button = |button| match button {
        MouseButton::Left => 0,
        MouseButton::Middle => 1,
        MouseButton::Right => 2,
    };
    let wanted = match event.kind {
        MouseEventKind::Moved => modes.mouse == MouseTracking::Motion,
        MouseEventKind::Drag(_) => matches!(modes.mouse, MouseTracking::Drag | MouseTracking::Motion),
        _ => modes.mouse != MouseTracking::Off,
    };
    if !wanted {
        return Vec::new();
    }
    let mut release = false;
    let mut code = match event.kind {
        MouseEventKind::Down(b) => button(b),
        MouseEventKind::Up(b) => {
            release = true;
            button(b)
        }
        MouseEventKind::Drag(b) => 32 + button(b),
        MouseEventKind::Moved => 32 + 3,
        MouseEventKind::ScrollUp => 64,
        MouseEventKind::ScrollDown => 65,
        MouseEventKind::ScrollLeft => 66,
        MouseEventKind::ScrollRight => 67,
    };
    let sgr = modes.mouse_encoding == MouseEncoding::Sgr;
    if release && !sgr {
        // The older encodings do not say which button was released.
        code = 3;
    }
    for (modifier, bit) in [(KeyModifiers::SHIFT, 4), (KeyModifiers::ALT, 8), (KeyModifiers::CONTROL, 16)] {
        if event.modifiers.contains(modifier) {
            code += bit;
        }
    }
    if sgr {
        let last = if release { 'm' } else { 'M' };
        return format!("\x1b[<{code};{};{}{last}", u32::from(col) + 1, u32::from(row) + 1).into_bytes();
    }
    let mut out = b"\x1b[M".to_vec();
    out.push(32 + code);
    for place in [col, row] {
        let value = u32::from(place) + 33;
        match (modes.mouse_encoding, value) {
            (MouseEncoding::Utf8, ..=2047) => {
                let c = char::from_u32(value).unwrap_or(' ');
                out.extend(c.encode_utf8(&mut [0; 4]).bytes());
            }
            (MouseEncoding::Legacy, ..=255) => out.push(value as u8),
            _ => return Vec::new(),
        }
    }
    out
}

/// The bytes for one step of the wheel on the alternate screen of a program that did not ask for the mouse: cursor
/// keys (mode 1007), three a step as other terminals do. Empty otherwise.
#[must_use]
pub fn wheel_as_keys(up: bool, modes: &Modes) -> Vec<u8> {
    if !modes.alternate_screen || !modes.alternate_scroll || modes.mouse != MouseTracking::Off {
        return Vec::new();
    }
    let key: &[u8] = match (modes.app_cursor, up) {
        (true, true) => b"\x1bOA",
        (true, false) => b"\x1bOB",
        (false, true) => b"\x1b[A",
        (false, false) => b"\x1b[B",
    };
    key.repeat(3)
}
