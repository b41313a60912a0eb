//! Words for states and lengths of time.

pub use crate::domain::words::{persistence, scope};
use crate::domain::{ActivityKind, Moment, Network, Phase, Retention, Span};
use unicode_width::UnicodeWidthStr;

/// A phase in one word.
pub fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Absent => "absent",
        Phase::Provisioning => "starting",
        Phase::Ready => "ready",
        Phase::Reaping => "stopping",
        Phase::Stopped => "stopped",
        Phase::Lost => "lost",
        Phase::Failed => "failed",
    }
}

/// `0:41`, `12:05`, `3 h 20 min`: time left, rounded up so that it ends at zero.
pub fn left(span: Span) -> String {
    let seconds = span.0.div_ceil(1000);
    if seconds < 3600 {
        format!("{}:{:02}", seconds / 60, seconds % 60)
    } else {
        let minutes = seconds.div_ceil(60);
        format!("{} h {:02} min", minutes / 60, minutes % 60)
    }
}

/// `12 ms`, `8.4 s`, `3 min 05 s`, `2 h 10 min`: how long something took.
pub fn took(span: Span) -> String {
    match span.0 {
        ms @ 0..1000 => format!("{ms} ms"),
        ms @ 1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        ms @ 60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms % 60_000 / 1000),
        ms => format!("{} h {:02} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// `just now`, `3 min ago`, `2 h ago`, `5 days ago`.
pub fn ago(now: Moment, at: Moment) -> String {
    match now.since(at).0 / 1000 {
        0..10 => "just now".to_owned(),
        s @ 10..60 => format!("{s} s ago"),
        s @ 60..3600 => format!("{} min ago", s / 60),
        s @ 3600..172_800 => format!("{} h ago", s / 3600),
        s => format!("{} days ago", s / 86_400),
    }
}

/// Time of day where the user is: `offset` are the seconds that his clock is ahead of UTC.
pub fn clock(at: Moment, offset: i32) -> String {
    let seconds = (at.0 / 1000).saturating_add_signed(i64::from(offset)) % 86_400;
    format!("{:02}:{:02}", seconds / 3600, seconds % 3600 / 60)
}

/// What last counted as use.
pub fn activity(kind: ActivityKind) -> &'static str {
    match kind {
        ActivityKind::Started => "started",
        ActivityKind::Turn => "turn",
        ActivityKind::Command => "command",
        ActivityKind::Person => "a person",
        ActivityKind::Exec => "exec of others",
        ActivityKind::Extended => "extended",
        ActivityKind::Adopted => "found again",
    }
}

/// What becomes of it, in a few words.
pub fn retention(retention: Retention) -> &'static str {
    match retention {
        Retention::StopOnSessionEnd => "stops when idle",
        Retention::KeepRunning => "keeps running",
        Retention::RemoveOnSessionEnd => "removed when idle",
        Retention::IdleTtl => "removed when idle",
    }
}

/// Network in a few words.
pub fn network(network: Network) -> &'static str {
    match network {
        Network::None => "none",
        Network::Default => "default",
        Network::Host => "host (not isolated)",
    }
}

/// Bytes for people.
pub fn bytes(n: u64) -> String {
    match n {
        n if n >= 1 << 30 => format!("{}.{} GiB", n >> 30, (n >> 20 & 1023) * 10 / 1024),
        n if n >= 1 << 20 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}

/// One line of a text, cut to so many characters.
pub fn excerpt(text: &str, most: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean = line.chars().filter(|c| !c.is_control());
    if line.chars().count() <= most {
        return clean.collect();
    }
    clean.take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A number for a narrow place: `999`, `12k`, `3M`.
pub fn short(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}

/// Lines of at most so many columns, broken between words where that is possible. At least one line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let width = word.width();
        if used > 0 && used + 1 + width > columns {
            out.push(String::new());
            used = 0;
        }
        let Some(line) = out.last_mut() else { break };
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += width;
    }
    out
}

/// Which one of how many.
#[must_use]
pub fn of((at, count): (usize, usize)) -> String {
    match count {
        0 => "none".to_owned(),
        _ => format!("{at} of {count}"),
    }
}
