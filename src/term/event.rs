//! What a program asked for beyond drawing on its own screen. Nothing here has been done yet: the caller decides.

/// A request or a report of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScreenEvent {
    /// It named its window. Without control characters, at most [`super::guard::MAX_TITLE`] characters; empty when reset.
    Title(String),
    /// It rang the bell; once per feed.
    Bell,
    /// Its working directory (OSC 7), an absolute path.
    Cwd(String),
    /// It asked to put text on the clipboard (OSC 52). Nothing was copied.
    Clipboard(String),
    /// It asked to notify the user (OSC 9, OSC 777). Without control characters.
    Notification(String),
    /// Where a prompt, a command or its output begins or ends (OSC 133).
    Prompt(PromptMark),
    /// The emulator failed on its output. The screen keeps its last text and takes no more output.
    Died(String),
}

/// Marks that shells with prompt integration send (OSC 133, after FinalTerm).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PromptMark {
    /// `A`: a prompt begins.
    Prompt,
    /// `B`: the prompt ended; what follows is typed.
    Input,
    /// `C`: the command runs; what follows is its output.
    Output,
    /// `D`: the command ended, with its exit code where told.
    Done(Option<i32>),
}

/// How much of what a program sent was not let through, since the screen was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blocked {
    /// Control strings beyond the limits of length or time, dropped whole.
    pub strings: u64,
    /// Attempts to read the clipboard; never answered.
    pub clipboard_reads: u64,
    /// Clipboard writes that were malformed or too long to be offered.
    pub clipboard_writes: u64,
    /// Combining marks beyond the limit of one cell.
    pub marks: u64,
    /// Hyperlinks beyond the limits of length or number.
    pub links: u64,
    /// Bytes of answers beyond what one feed may answer.
    pub reply_bytes: u64,
}

impl Blocked {
    /// How often each kind was not let through, in words; only those that were.
    pub fn kinds(&self) -> impl Iterator<Item = (u64, &'static str)> + use<> {
        let kinds = [
            (self.strings, "control strings too long or without an end in time"),
            (self.clipboard_reads, "attempts to read the clipboard"),
            (self.clipboard_writes, "clipboard writes that were malformed or too long"),
            (self.links, "links too long or too many"),
            (self.marks, "marks on one cell too many"),
            (self.reply_bytes, "bytes of answers too many at once"),
        ];
        kinds.into_iter().filter(|(count, _)| *count > 0)
    }

    /// How much that is in all. Answers that were too long count as one.
    #[must_use]
    pub fn count(&self) -> u64 {
        let all = [self.strings, self.clipboard_reads, self.clipboard_writes, self.links, self.marks];
        all.into_iter().fold(u64::from(self.reply_bytes > 0), u64::saturating_add)
    }
}
