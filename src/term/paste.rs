//! Pastes and focus changes → bytes for the program.

use super::modes::Modes;

const BEGIN: &[u8] = b"\x1b[200~";
const END: &[u8] = b"\x1b[201~";

/// The bytes to write for pasted text. In a bracketed paste (mode 2004) nothing in the text can end the bracket early;
/// without it, line ends become what Enter sends.
#[must_use]
pub fn encode(text: &str, modes: &Modes) -> Vec<u8> {
    if !modes.bracketed_paste {
        return text.replace("\r\n", "\r").replace('\n', "\r").into_bytes();
    }
    let mut out = Vec::with_capacity(text.len() + BEGIN.len() + END.len());
    out.extend_from_slice(BEGIN);
    let body = out.len();
    for &byte in text.as_bytes() {
        out.push(byte);
        // Looked for in what is written, so that removing one cannot put another together.
        if out[body..].ends_with(END) {
            out.truncate(out.len() - END.len());
        }
    }
    out.extend_from_slice(END);
    out
}

/// The bytes to write when the pane gains or loses the focus; empty unless the program asked (mode 1004).
#[must_use]
pub fn focus(gained: bool, modes: &Modes) -> &'static [u8] {
    match (modes.focus_events, gained) {
        (false, _) => b"",
        (true, true) => b"\x1b[I",
        (true, false) => b"\x1b[O",
    }
}
