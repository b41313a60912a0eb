//! What programs want to put on a person's clipboard, until he says so.

use crate::config::Programs;
use crate::domain::{EnvId, Moment, SessionId, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Longest text that a program may offer. Bytes.
pub(super) const LONGEST: usize = 1 << 20;
/// Most bytes of texts that wait for a word, over all sessions.
const LONGEST_IN_ALL: usize = 16 << 20;
/// How long a frame says so. What was asked for waits on.
pub(super) const TOLD: Span = Span::seconds(30);
/// Where programs may write without asking, each may so often.
pub(super) const EVERY: Span = Span::seconds(1);
/// Lines of a text that are shown before it is copied, and characters of each.
const SHOWN_LINES: usize = 8;
const SHOWN_CHARS: usize = 160;

/// What is known of programs and the clipboard.
#[derive(Default)]
pub struct Clips {
    of: BTreeMap<SessionId, Clip>,
    /// What a person said of an environment, for as long as this host lives.
    pub(super) said: BTreeMap<EnvId, Programs>,
}

/// The same of one session.
#[derive(Default)]
pub(super) struct Clip {
    /// What its program wants to copy.
    pub wanted: Option<Wanted>,
    /// Writes that were not let through because nobody wants any.
    pub refused: u64,
    /// When a text of it went to a clipboard last without a question.
    passed: Option<Moment>,
    /// Kinds of blocked things that are in the log.
    logged: BTreeSet<&'static str>,
}

/// A text that waits for a word. Only the last one of a program does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    /// The text, without control characters.
    pub text: Arc<str>,
    /// How often it was asked, with other texts before this one.
    pub count: u64,
    /// How long the frame says so, and whether it does.
    pub until: Moment,
    told: bool,
    /// When it goes to the clipboard, where that needs no word.
    pub due: Option<Moment>,
}

impl Clips {
    /// What is known of a session.
    pub(super) fn get(&self, session: &SessionId) -> Option<&Clip> {
        self.of.get(session)
    }

    /// The same, to change it.
    pub(super) fn entry(&mut self, session: &SessionId) -> &mut Clip {
        self.of.entry(session.clone()).or_default()
    }

    /// What the program of a session wants to copy.
    pub(super) fn wanted(&self, session: &SessionId) -> Option<&Wanted> {
        self.of.get(session)?.wanted.as_ref()
    }

    /// Notes what a program wants to copy. The oldest of others go where there is too much.
    pub(super) fn want(&mut self, session: &SessionId, text: Arc<str>, now: Moment, due: Option<Moment>) {
        let clip = self.entry(session);
        let count = clip.wanted.take().map_or(0, |wanted| wanted.count).saturating_add(1);
        clip.wanted = Some(Wanted { text, count, until: now + TOLD, told: true, due });
        let held = |clips: &Self| clips.of.values().filter_map(|c| Some(c.wanted.as_ref()?.text.len())).sum::<usize>();
        while held(self) > LONGEST_IN_ALL {
            let others = self.of.iter_mut().filter(|(id, _)| *id != session);
            let oldest = others.filter_map(|(_, c)| Some((c.wanted.as_ref()?.until, c))).min_by_key(|(at, _)| *at);
            let Some((_, oldest)) = oldest else { break };
            oldest.wanted = None;
            oldest.refused += 1;
        }
    }

    /// When a program that may write without asking may do so next.
    pub(super) fn due(&self, session: &SessionId, now: Moment) -> Moment {
        let last = self.of.get(session).and_then(|clip| clip.passed);
        last.map_or(now, |at| now.max(at + EVERY))
    }

    /// Takes the text that waits, as it goes to a clipboard without a question.
    pub(super) fn pass(&mut self, session: &SessionId, now: Moment) -> Option<Wanted> {
        let clip = self.of.get_mut(session)?;
        clip.passed = Some(now);
        clip.wanted.take()
    }

    /// Sessions whose texts go to a clipboard by now.
    pub(super) fn ripe(&self, now: Moment) -> Vec<SessionId> {
        let ripe = |clip: &Clip| clip.wanted.as_ref().and_then(|w| w.due).is_some_and(|due| due <= now);
        self.of.iter().filter(|(_, clip)| ripe(clip)).map(|(id, _)| id.clone()).collect()
    }

    /// The next moment at which something of this changes by itself.
    pub(super) fn next(&self, now: Moment) -> Option<Moment> {
        let wanted = self.of.values().filter_map(|clip| clip.wanted.as_ref());
        wanted.flat_map(|w| [w.due, Some(w.until).filter(|until| *until > now)]).flatten().min()
    }

    /// Frames stop saying so whose time is over; whether there are any.
    pub(super) fn hush(&mut self, now: Moment) -> bool {
        let wanted = self.of.values_mut().filter_map(|clip| clip.wanted.as_mut());
        wanted.filter(|w| w.told && w.until <= now).map(|w| w.told = false).count() > 0
    }

    /// The texts of a session go nowhere without a word any more.
    pub(super) fn hold(&mut self, session: &SessionId) {
        if let Some(wanted) = self.of.get_mut(session).and_then(|clip| clip.wanted.as_mut()) {
            wanted.due = None;
        }
    }

    /// Whether a kind of blocked things of a session is told to the log for the first time.
    pub(super) fn log(&mut self, session: &SessionId, kind: &'static str) -> bool {
        self.entry(session).logged.insert(kind)
    }

    /// Forgets sessions.
    pub(super) fn retain(&mut self, keep: impl Fn(&SessionId) -> bool) {
        self.of.retain(|id, _| keep(id));
    }
}

/// A text as it may go to a clipboard: no control characters but tabs and line ends, so that nothing in it can end a paste
/// or press a key.
pub(super) fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\t' | '\n')).collect()
}

/// How much a text is, in words.
pub(in crate::app) fn amount(text: &str) -> String {
    match (text.lines().count(), text.chars().count()) {
        (0 | 1, 1) => "1 character".to_owned(),
        (0 | 1, chars) => format!("{chars} characters"),
        (lines, _) => format!("{lines} lines"),
    }
}

/// The beginning of a text, line by line, as it is shown before it is copied: what would not be seen is `\u{fffd}`.
pub(super) fn excerpt(text: &str) -> Vec<String> {
    let seen = |c: char| match c {
        '\t' => ' ',
        c if crate::term::guard::is_unsafe(c) => '\u{fffd}',
        c => c,
    };
    let line = |line: &str| {
        let more = if line.chars().nth(SHOWN_CHARS).is_some() { " …" } else { "" };
        format!("> {}{more}", line.chars().take(SHOWN_CHARS).map(seen).collect::<String>())
    };
    let mut out: Vec<String> = text.lines().take(SHOWN_LINES).map(line).collect();
    match text.lines().skip(SHOWN_LINES).count() {
        0 => {}
        1 => out.push("1 more line".to_owned()),
        n => out.push(format!("{n} more lines")),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_as_it_is_and_copied_without_keys() {
        assert_eq!(clean("a\r\nb\tc\u{1b}[201~rm\r\u{7}\u{9b}é"), "a\nb\tc[201~rmé");
        assert_eq!(excerpt("a\u{202e}b\tc"), ["> a\u{fffd}b c"]);
        let many = "x\n".repeat(SHOWN_LINES + 3);
        assert_eq!(excerpt(&many).last().map(String::as_str), Some("3 more lines"));
        assert!(excerpt(&"y".repeat(10_000))[0].len() < 200);
        assert_eq!(
            (amount("a").as_str(), amount("ab").as_str(), amount("a\nb").as_str()),
            ("1 character", "2 characters", "2 lines")
        );
    }

    #[test]
    fn texts_that_wait_are_bounded_in_all() {
        let mut clips = Clips::default();
        let text: Arc<str> = "x".repeat(LONGEST).into();
        for n in 0..40u64 {
            clips.want(&SessionId::new(format!("s{n}")), text.clone(), Moment(n), None);
        }
        let waiting = clips.of.values().filter(|clip| clip.wanted.is_some()).count();
        assert_eq!(waiting, LONGEST_IN_ALL / LONGEST);
        assert!(clips.wanted(&SessionId::new("s39")).is_some() && clips.wanted(&SessionId::new("s0")).is_none());
        assert_eq!(clips.get(&SessionId::new("s0")).map(|clip| clip.refused), Some(1));
    }
}
