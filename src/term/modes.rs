//! What a program switched on: it decides how keys, mouse, paste and focus are encoded.

/// Modes of a screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Modes {
    /// Cursor keys send `ESC O` forms (DECCKM).
    pub app_cursor: bool,
    /// The keypad sends application codes (DECKPAM).
    pub app_keypad: bool,
    /// Pastes are bracketed (mode 2004).
    pub bracketed_paste: bool,
    /// Focus changes are reported (mode 1004).
    pub focus_events: bool,
    /// The alternate screen is shown: no history there.
    pub alternate_screen: bool,
    /// The wheel sends cursor keys on the alternate screen (mode 1007).
    pub alternate_scroll: bool,
    /// Backspace sends BS, and with Ctrl DEL (DECBKM); the other way round otherwise.
    pub backarrow: bool,
    /// Enter sends CR LF (LNM).
    pub newline: bool,
    /// Which mouse events are reported.
    pub mouse: MouseTracking,
    /// How mouse events are encoded.
    pub mouse_encoding: MouseEncoding,
    /// Flags of the kitty keyboard protocol.
    pub kitty: Kitty,
    /// Level of xterm's modifyOtherKeys: 0, 1 or 2.
    pub modify_other_keys: u8,
}

/// Which mouse events a program asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MouseTracking {
    /// None: the mouse selects and scrolls.
    #[default]
    Off,
    /// Presses and releases (mode 1000).
    Click,
    /// And motion while a button is down (mode 1002).
    Drag,
    /// And all motion (mode 1003).
    Motion,
}

/// How mouse events are encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MouseEncoding {
    /// Single bytes; coordinates up to 223.
    #[default]
    Legacy,
    /// UTF-8 coordinates (mode 1005); up to 2015.
    Utf8,
    /// `CSI < … M` (mode 1006).
    Sgr,
}

/// Flags of the kitty keyboard protocol, <https://sw.kovidgoyal.net/kitty/keyboard-protocol/#progressive-enhancement>.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kitty(pub u8);

impl Kitty {
    /// Ambiguous keys as `CSI u`.
    pub const DISAMBIGUATE: u8 = 1;
    /// Repeats and releases too.
    pub const EVENT_TYPES: u8 = 2;
    /// Shifted and base-layout keys too.
    pub const ALTERNATE_KEYS: u8 = 4;
    /// Every key as an escape sequence.
    pub const ALL_KEYS: u8 = 8;
    /// The text that the key makes too.
    pub const TEXT: u8 = 16;
    /// All of them.
    pub const ALL: u8 = 31;

    /// Whether a flag is on.
    #[must_use]
    pub const fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }
}

/// The stacks of keyboard flags that the protocol gives to the main and the alternate screen.
#[derive(Clone, Debug, Default)]
pub(super) struct KittyStacks {
    main: Vec<u8>,
    alternate: Vec<u8>,
}

impl KittyStacks {
    /// Deepest stack; the oldest entry goes first, as the protocol says.
    const DEPTH: usize = 16;

    fn stack(&mut self, alternate: bool) -> &mut Vec<u8> {
        if alternate { &mut self.alternate } else { &mut self.main }
    }

    pub(super) fn current(&self, alternate: bool) -> Kitty {
        let stack = if alternate { &self.alternate } else { &self.main };
        Kitty(stack.last().copied().unwrap_or(0))
    }

    pub(super) fn push(&mut self, alternate: bool, flags: u8) {
        let stack = self.stack(alternate);
        if stack.len() >= Self::DEPTH {
            stack.remove(0);
        }
        stack.push(flags & Kitty::ALL);
    }

    pub(super) fn pop(&mut self, alternate: bool, count: usize) {
        let stack = self.stack(alternate);
        stack.truncate(stack.len().saturating_sub(count));
    }

    pub(super) fn set(&mut self, alternate: bool, flags: u8) {
        let stack = self.stack(alternate);
        match stack.last_mut() {
            Some(top) => *top = flags & Kitty::ALL,
            None => stack.push(flags & Kitty::ALL),
        }
    }
}
