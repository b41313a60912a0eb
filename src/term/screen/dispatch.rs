//! What the parser found → what is done: control characters, escape and control sequences, and the few control strings
//! that the guard lets through.

use super::emulator::{
    Attr, CharsetIndex, ClearMode, CursorStyle, Dimensions, Handler, LineClearMode, Params, Perform,
    TabulationClearMode,
};
use super::handler::Watched;
use super::{emulator, sgr};

/// Longest request (DECRQSS, XTGETTCAP). Bytes.
pub(in super::super) const MAX_REQUEST: usize = 256;

/// The numbers of a control sequence.
#[derive(Clone, Copy)]
pub(super) struct Args<'a>(&'a Params);

impl Args<'_> {
    /// The number at `index`; `default` where it is missing or 0.
    pub(super) fn or(self, index: usize, default: usize) -> usize {
        match self.0.iter().nth(index) {
            Some([number, ..]) if *number != 0 => (*number).into(),
            _ => default,
        }
    }

    /// How many there are.
    pub(super) fn count(self) -> usize {
        self.0.iter().count()
    }

    /// All of them.
    pub(super) fn each(self) -> impl Iterator<Item = u16> {
        self.0.iter().map(|param| param[0])
    }
}

impl Perform for Watched<'_> {
    #[inline]
    fn print(&mut self, c: char) {
        self.input(c);
        self.policy.preceding = Some(c);
    }

    #[inline]
    fn execute(&mut self, byte: u8) {
        match byte {
            0x07 => self.term().bell(),
            0x08 => self.backspace(),
            b'\t' => self.tab(),
            b'\n' | 0x0b | 0x0c => self.line_feed(),
            b'\r' => self.term().carriage_return(),
            0x0e => self.activate_charset(CharsetIndex::G1),
            0x0f => self.activate_charset(CharsetIndex::G0),
            _ => {}
        }
    }

    fn hook(&mut self, _: &Params, intermediates: &[u8], _: bool, action: char) {
        self.policy.request = match (intermediates, action) {
            ([kind @ (b'$' | b'+')], 'q') => Some((*kind, Vec::new())),
            _ => None,
        };
    }

    fn put(&mut self, byte: u8) {
        if let Some((_, text)) = &mut self.policy.request
            && text.len() < MAX_REQUEST
        {
            text.push(byte);
        }
    }

    fn unhook(&mut self) {
        match self.policy.request.take() {
            Some((b'$', text)) => self.report_setting(&text),
            Some((_, text)) => self.report_capabilities(&text),
            None => {}
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], bell_terminated: bool) {
        match params {
            [b"8", link @ ..] if link.len() > 1 => self.hyperlink(link),
            _ => self.colours(params, if bell_terminated { "\x07" } else { "\x1b\\" }),
        }
    }

    #[inline]
    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignored: bool, action: char) {
        if ignored {
            return;
        }
        let args = Args(params);
        match intermediates {
            [] => self.sequence(params, action),
            [b'?'] => self.private_sequence(args, action),
            [b'>'] => match action {
                'c' if args.or(0, 0) == 0 => self.report_secondary_attributes(),
                'm' if args.or(0, 0) == 4 => self.policy.modify_other_keys = args.or(1, 0).min(2) as u8,
                // Without a number all are reset.
                'm' if args.count() == 1 && args.or(0, 0) == 0 => self.policy.modify_other_keys = 0,
                'n' if args.or(0, 0) == 4 => self.policy.modify_other_keys = 0,
                'q' if args.or(0, 0) == 0 => self.report_version(),
                'u' => self.push_keyboard_mode(args.or(0, 0) as u8),
                _ => {}
            },
            [b'<'] if action == 'u' => self.pop_keyboard_modes(args.or(0, 1)),
            [b'='] if action == 'u' => self.set_keyboard_mode(args.or(0, 0) as u8, args.or(1, 1)),
            [b'='] if action == 'c' && args.or(0, 0) == 0 => self.report_unit(),
            [b' '] if action == 'q' => self.cursor_style(args.or(0, 0)),
            [b'!'] if action == 'p' => self.soft_reset(),
            [b'$'] if action == 'p' => self.report_mode(args.or(0, 0) as u16),
            [b'?', b'$'] if action == 'p' => self.report_private_mode(args.or(0, 0) as u16),
            [b'$'] if action == 'v' => self.copy_rectangle(args),
            [b'$'] if action == 'x' => self.fill_rectangle(args),
            [b'$'] if action == 'z' => self.erase_rectangle(args),
            [b' '] if action == '@' => self.scroll_sideways(args.or(0, 1), false),
            [b' '] if action == 'A' => self.scroll_sideways(args.or(0, 1), true),
            [b'*'] if action == 'y' => self.report_checksum(args),
            _ => {}
        }
    }

    #[inline]
    fn esc_dispatch(&mut self, intermediates: &[u8], ignored: bool, byte: u8) {
        match (intermediates, byte) {
            _ if ignored => {}
            ([], b'6') => self.back_index(),
            ([], b'9') => self.forward_index(),
            ([], b'7') => self.save_cursor(),
            ([], b'8') => self.restore_cursor(),
            ([], b'=') => self.term().set_keypad_application_mode(),
            ([], b'>') => self.term().unset_keypad_application_mode(),
            ([], b'D') => self.term().linefeed(),
            ([], b'E') => {
                self.term().linefeed();
                self.term().carriage_return();
            }
            ([], b'H') => self.term().set_horizontal_tabstop(),
            ([], b'M') => self.term().reverse_index(),
            ([], b'N') => self.policy.single_shift = Some(CharsetIndex::G2),
            ([], b'O') => self.policy.single_shift = Some(CharsetIndex::G3),
            ([], b'Z') => self.report_attributes(),
            ([], b'c') => self.reset(),
            ([], b'n') => self.activate_charset(CharsetIndex::G2),
            ([], b'o') => self.activate_charset(CharsetIndex::G3),
            ([b'#'], b'8') => self.alignment_pattern(),
            ([intermediate], set) => self.designate(*intermediate, set),
            _ => {}
        }
    }

    #[inline]
    fn terminated(&self) -> bool {
        self.policy.sync_begins
    }
}

impl Watched<'_> {
    /// A control sequence without intermediates.
    #[inline]
    fn sequence(&mut self, params: &Params, action: char) {
        let args = Args(params);
        let count = || args.or(0, 1);
        match action {
            'm' => {
                let term = self.term();
                sgr::read(params.iter(), |attr: Attr| term.terminal_attribute(attr));
            }
            'H' | 'f' => self.term().goto(count() as i32 - 1, args.or(1, 1) - 1),
            'A' => self.up(count()),
            'B' | 'e' => self.down(count()),
            'C' | 'a' => self.term().move_forward(count()),
            'D' => self.left(count()),
            'E' => {
                self.down(count());
                self.term().carriage_return();
            }
            'F' => {
                self.up(count());
                self.term().carriage_return();
            }
            'G' | '`' => self.column(count() - 1),
            'd' => self.term().goto_line(count() as i32 - 1),
            'J' => self.clear_screen(match args.or(0, 0) {
                0 => ClearMode::Below,
                1 => ClearMode::Above,
                2 => ClearMode::All,
                3 => ClearMode::Saved,
                _ => return,
            }),
            'K' => self.term().clear_line(match args.or(0, 0) {
                0 => LineClearMode::Right,
                1 => LineClearMode::Left,
                2 => LineClearMode::All,
                _ => return,
            }),
            'X' => self.term().erase_chars(count()),
            '@' => self.term().insert_blank(count()),
            'P' => self.term().delete_chars(count()),
            'L' => self.term().insert_blank_lines(count()),
            'M' => self.term().delete_lines(count()),
            'S' => self.term().scroll_up(count()),
            'T' if args.count() == 1 => self.term().scroll_down(count()),
            'b' => {
                if let Some(c) = self.policy.preceding {
                    // More than the screen holds shows nothing else, and would cost what no other sequence does.
                    let most = self.term.screen_lines() * self.term.columns();
                    (0..count().min(most)).for_each(|_| self.input(c));
                }
            }
            'I' => self.term().move_forward_tabs(count() as u16),
            'Z' => self.back_tab(count()),
            'g' => self.term().clear_tabs(match args.or(0, 0) {
                0 => TabulationClearMode::Current,
                3 => TabulationClearMode::All,
                _ => return,
            }),
            'h' => args.each().for_each(|mode| self.set_mode(mode, true)),
            'l' => args.each().for_each(|mode| self.set_mode(mode, false)),
            'r' => self.scrolling_region(count(), args.or(1, 0)),
            's' => self.save_cursor(),
            'u' => self.restore_cursor(),
            'c' if args.or(0, 0) == 0 => self.report_attributes(),
            'n' => self.report_status(args.or(0, 0)),
            't' => self.window(args),
            'x' => self.report_parameters(args.or(0, 0)),
            _ => {}
        }
    }

    /// A control sequence that begins with `?`.
    fn private_sequence(&mut self, args: Args<'_>, action: char) {
        match action {
            'h' => args.each().for_each(|mode| self.set_private_mode(mode, true)),
            'l' => args.each().for_each(|mode| self.set_private_mode(mode, false)),
            's' => args.each().for_each(|mode| self.save_private_mode(mode)),
            'r' => args.each().for_each(|mode| self.restore_private_mode(mode)),
            'm' if args.or(0, 0) == 4 => self.report_modify_other_keys(),
            'n' => self.report_private_status(args),
            'u' => self.report_keyboard_mode(),
            'W' if args.or(0, 0) == 5 => self.term().set_tabs(8),
            _ => {}
        }
    }

    fn cursor_style(&mut self, number: usize) {
        use emulator::CursorShape;
        let shape = match number {
            0 => None,
            1 | 2 => Some(CursorShape::Block),
            3 | 4 => Some(CursorShape::Underline),
            5 | 6 => Some(CursorShape::Beam),
            _ => return,
        };
        self.term().set_cursor_style(shape.map(|shape| CursorStyle { shape, blinking: number % 2 == 1 }));
    }
}
