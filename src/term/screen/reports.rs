//! Answers to what a program asks of its terminal: attributes, status, settings, capabilities, sizes.
//!
//! An answer is made of fixed text and numbers of the screen. Nothing that a program sent as text ever comes back, nor a
//! title: a program that shows somebody else's file must not be able to make that file type.

use super::dispatch::Args;
use super::emulator::{CursorShape, Dimensions};
use super::handler::Watched;
use super::{capabilities, palette, sgr};
use std::fmt::Write as _;

/// Columns and rows of pixels in a cell, for programs that ask. The outer terminals are many: these are the VT340's.
const CELL: (usize, usize) = (10, 20);

impl Watched<'_> {
    fn answer(&mut self, text: &str) {
        self.policy.reply.push_str(text);
    }

    /// DA1: a VT220 with colours.
    pub(super) fn report_attributes(&mut self) {
        self.answer("\x1b[?62;22c");
    }

    /// DA2: a VT220. The version is one from which programs expect SGR mouse reports, as from xterm's.
    pub(super) fn report_secondary_attributes(&mut self) {
        self.answer("\x1b[>1;400;0c");
    }

    /// DA3: a unit without a number.
    pub(super) fn report_unit(&mut self) {
        self.answer("\x1bP!|00000000\x1b\\");
    }

    /// XTVERSION.
    pub(super) fn report_version(&mut self) {
        self.answer(concat!("\x1bP>|hermes-tui ", env!("CARGO_PKG_VERSION"), "\x1b\\"));
    }

    /// DECREPTPARM: no parity, 8 bits, 38400 baud.
    pub(super) fn report_parameters(&mut self, kind: usize) {
        match kind {
            0 => self.answer("\x1b[2;1;1;128;128;1;0x"),
            1 => self.answer("\x1b[3;1;1;128;128;1;0x"),
            _ => {}
        }
    }

    fn position(&self) -> (usize, usize) {
        let point = self.term.grid().cursor.point;
        ((point.line.0.max(0) as usize + 1).saturating_sub(self.origin()), point.column.0 + 1)
    }

    /// DSR.
    pub(super) fn report_status(&mut self, kind: usize) {
        match kind {
            5 => self.answer("\x1b[0n"),
            6 => {
                let (row, col) = self.position();
                let _ = write!(self.policy.reply, "\x1b[{row};{col}R");
            }
            _ => {}
        }
    }

    /// DSR of DEC terminals: there is no printer, no locator, and nothing to be programmed.
    pub(super) fn report_private_status(&mut self, args: Args<'_>) {
        match args.or(0, 0) {
            6 => {
                let (row, col) = self.position();
                let _ = write!(self.policy.reply, "\x1b[?{row};{col}R");
            }
            15 => self.answer("\x1b[?13n"),
            25 => self.answer("\x1b[?21n"),
            26 => self.answer("\x1b[?27;1n"),
            53 | 55 => self.answer("\x1b[?50n"),
            56 => self.answer("\x1b[?57;0n"),
            62 => self.answer("\x1b[0*{"),
            63 => _ = write!(self.policy.reply, "\x1bP{}!~0000\x1b\\", args.or(1, 0)),
            75 => self.answer("\x1b[?70n"),
            85 => self.answer("\x1b[?83n"),
            // Whether the background is dark or light (Contour's "VT extension: Color palette update notifications").
            996 => {
                if let Some([_, background]) = self.policy.theme {
                    self.answer(if palette::is_light(background) { "\x1b[?997;2n" } else { "\x1b[?997;1n" });
                }
            }
            _ => {}
        }
    }

    /// Window operations: sizes and states are told, titles are kept and brought back, and nothing else is done. The
    /// size is the pane's own, and titles are never told.
    pub(super) fn window(&mut self, args: Args<'_>) {
        let (rows, cols) = (self.term.screen_lines(), self.term.columns());
        let (height, width) = (rows * CELL.1, cols * CELL.0);
        let reply = &mut self.policy.reply;
        let _ = match args.or(0, 0) {
            11 => write!(reply, "\x1b[1t"),
            13 => write!(reply, "\x1b[3;0;0t"),
            14 => write!(reply, "\x1b[4;{height};{width}t"),
            15 => write!(reply, "\x1b[5;{height};{width}t"),
            16 => write!(reply, "\x1b[6;{};{}t", CELL.1, CELL.0),
            18 => write!(reply, "\x1b[8;{rows};{cols}t"),
            19 => write!(reply, "\x1b[9;{rows};{cols}t"),
            // 1 is the icon's title alone: there is none.
            22 if args.or(1, 0) != 1 => return self.push_title(),
            23 if args.or(1, 0) != 1 => return self.pop_title(),
            _ => return,
        };
    }

    /// DECRQSS.
    pub(super) fn report_setting(&mut self, what: &[u8]) {
        let (rows, cols) = (self.term.screen_lines(), self.term.columns());
        let setting = match what {
            b"m" => sgr::write(&self.term.grid().cursor.template) + "m",
            b"r" => {
                let region = self.region();
                format!("{};{}r", region.start + 1, region.end)
            }
            b"s" => format!("1;{cols}s"),
            b"t" => format!("{rows}t"),
            b"*|" => format!("{rows}*|"),
            b"$|" => format!("{cols}$|"),
            b" q" => {
                let style = self.term.cursor_style();
                let steady = match style.shape {
                    CursorShape::Underline => 4,
                    CursorShape::Beam => 6,
                    _ => 2,
                };
                format!("{} q", steady - u8::from(style.blinking))
            }
            b"\"p" => "62;1\"p".to_owned(),
            b"\"q" => "0\"q".to_owned(),
            b"*x" => "0*x".to_owned(),
            b"$}" => "0$}".to_owned(),
            b"$~" => "0$~".to_owned(),
            _ => return self.answer("\x1bP0$r\x1b\\"),
        };
        let _ = write!(self.policy.reply, "\x1bP1$r{setting}\x1b\\");
    }

    /// XTGETTCAP: names come in hexadecimal, one answer for each.
    pub(super) fn report_capabilities(&mut self, names: &[u8]) {
        for name in names.split(|byte| *byte == b';') {
            let Some((name, value)) = decode(name).and_then(|name| capabilities::find(&name)) else {
                self.answer("\x1bP0+r\x1b\\");
                continue;
            };
            let reply = &mut self.policy.reply;
            reply.push_str("\x1bP1+r");
            encode(reply, name);
            if !value.is_empty() {
                reply.push('=');
                encode(reply, value);
            }
            reply.push_str("\x1b\\");
        }
    }

    /// DECRQCRA, where the screen allows it: sums of what is written would tell a program what others wrote.
    pub(super) fn report_checksum(&mut self, args: Args<'_>) {
        if !self.policy.checksums {
            return;
        }
        let origin = self.origin();
        let (top, left) = (args.or(2, 1) - 1 + origin, args.or(3, 1) - 1);
        let bottom = args.or(4, self.term.screen_lines()) + origin;
        let right = args.or(5, self.term.columns());
        let sum = self.sum(top..bottom, left..right);
        let _ = write!(self.policy.reply, "\x1bP{}!~{sum:04X}\x1b\\", args.or(0, 0));
    }
}

fn decode(name: &[u8]) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = name.chunks(2).map(|pair| match pair {
        [high, low] => char::from_u32(digit(*high)? * 16 + digit(*low)?),
        _ => None,
    });
    pairs.collect()
}

fn encode(out: &mut String, text: &str) {
    for byte in text.bytes() {
        let _ = write!(out, "{byte:02X}");
    }
}
