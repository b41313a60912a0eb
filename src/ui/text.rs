//! Text from users and sandboxes made harmless and measured: clusters, widths, wrapping, times.

use crate::term::guard::turns;
use ratatui::buffer::CellWidth;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;

/// The clusters to draw with their columns. Controls, direction marks and whatever has no width are left out;
/// without Unicode each cluster becomes its nearest ASCII sign.
pub(super) fn clusters(line: &str, unicode: bool) -> impl Iterator<Item = (&str, u16)> {
    line.graphemes(true).filter_map(move |cluster| {
        if cluster.len() == 1 {
            let harmless = !cluster.as_bytes()[0].is_ascii_control();
            return harmless.then_some((cluster, 1));
        }
        if cluster.chars().any(|c| c.is_control() || turns(c)) {
            return None;
        }
        if !unicode {
            return cluster.chars().next().map(|c| (ascii(c), 1));
        }
        let cluster = plain(cluster);
        let width = cluster.cell_width();
        matches!(width, 1 | 2).then_some((cluster, width))
    })
}

/// The part of a cluster on whose width all terminals agree: without what joins, colours or repaints emoji, which
/// some show as one sign and others as several. Empty where nothing is left.
fn plain(cluster: &str) -> &str {
    let mut chars = cluster.char_indices();
    let Some((_, base)) = chars.next() else { return "" };
    if is_regional(base) {
        // A pair is a flag of two columns, or two signs of one; alone it is one or the other.
        let pair = cluster.chars().count() == 2 && cluster.chars().all(is_regional);
        return if pair { cluster } else { "" };
    }
    let end = chars.find(|(_, c)| is_doubtful(*c)).map_or(cluster.len(), |(at, _)| at);
    let part = &cluster[..end];
    if part.cell_width() > 2 { &cluster[..base.len_utf8()] } else { part }
}

fn is_regional(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Joiners, variation selectors, skin tones, tags, and half-width sound marks (no width to some, one column to others).
fn is_doubtful(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}'
        | '\u{e0000}'..='\u{e0fff}' | '\u{ff9e}' | '\u{ff9f}')
}

/// A cell of a program without what would reorder the line that it stands in, our own parts of it included.
pub(super) fn in_order(cell: &str) -> Cow<'_, str> {
    if cell.contains(turns) { cell.chars().filter(|c| !turns(*c)).collect() } else { Cow::Borrowed(cell) }
}

/// Longest width that is told apart: far beyond any screen, and a few of them still add up within u16.
const WIDEST: u16 = 4_000;

/// Columns of a text as it is drawn.
pub(super) fn width(line: &str, unicode: bool) -> u16 {
    if line.is_ascii() {
        let printable = line.bytes().filter(|b| !b.is_ascii_control()).count();
        return u16::try_from(printable).unwrap_or(WIDEST).min(WIDEST);
    }
    clusters(line, unicode).fold(0, |sum, (_, width)| u16::saturating_add(sum, width)).min(WIDEST)
}

/// The text within so many columns; where it is longer it ends in the ellipsis, at the edge of a cluster.
pub(super) fn cut(line: &str, columns: u16, unicode: bool, ellipsis: &str) -> String {
    let long = width(line, unicode) > columns;
    let room = if long { columns.saturating_sub(1) } else { columns };
    let mut out = String::new();
    let mut used = 0;
    for (cluster, width) in clusters(line, unicode) {
        if used + width > room {
            break;
        }
        out.push_str(cluster);
        used += width;
    }
    if long && columns > 0 {
        out.push_str(ellipsis);
    }
    out
}

/// The nearest ASCII sign.
pub(super) fn ascii(c: char) -> &'static str {
    match c {
        '─' | '━' | '╌' | '╍' | '┄' | '┅' | '┈' | '┉' | '═' | '╴' | '╶' | '╸' | '╺' | '‐'..='―' | '·' | '•' | '▁' => {
            "-"
        }
        '│' | '┃' | '╎' | '╏' | '┆' | '┇' | '┊' | '┋' | '║' | '╵' | '╷' | '▌'..='▐' => "|",
        '┌'..='╋' | '╒'..='╰' => "+",
        '→' | '▸' | '▶' | '›' | '»' => ">",
        '←' | '◂' | '◀' | '‹' | '«' => "<",
        '↑' | '▴' | '▲' => "^",
        '↓' | '▾' | '▼' => "v",
        '‘' | '’' | '′' => "'",
        '“' | '”' | '″' => "\"",
        '…' => "~",
        '×' | '✕' | '✗' | '✘' => "x",
        '✓' | '✔' => "+",
        '●' => "*",
        '○' | '◌' => "o",
        '▀' | '▂'..='▋' | '░'..='▓' => "#",
        '\u{a0}' => " ",
        _ => "?",
    }
}

/// Breaks a text into lines of at most `width` columns, at spaces where it can.
pub(super) fn wrap(line: &str, width: u16, unicode: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let width = width.max(1);
    for paragraph in line.split('\n') {
        let mut current = String::new();
        let mut used = 0u16;
        for word in paragraph.split_whitespace() {
            let needs = self::width(word, unicode);
            if used > 0 && used.saturating_add(1).saturating_add(needs) > width {
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            if used > 0 {
                current.push(' ');
                used += 1;
            }
            for (cluster, columns) in clusters(word, unicode) {
                if used > 0 && used + columns > width {
                    lines.push(std::mem::take(&mut current));
                    used = 0;
                }
                current.push_str(cluster);
                used += columns;
            }
        }
        lines.push(current);
    }
    lines
}

/// Time left, at most five columns wide below a day: `0:41`, `12:05`, `3h05`, `2d04`.
pub(super) fn left(ms: u64) -> String {
    // Rounded up, so that "0:00" is shown only when nothing is left.
    let s = ms.div_ceil(1000);
    match s {
        0..3600 => format!("{}:{:02}", s / 60, s % 60),
        3600..86_400 => format!("{}h{:02}", s / 3600, s / 60 % 60),
        _ => format!("{}d{:02}", s / 86_400, s / 3600 % 24),
    }
}

/// Time taken: `12 ms`, `8.4 s`, `3m05s`, `2h05m`.
pub(super) fn took(ms: u64) -> String {
    let s = ms / 1000;
    match s {
        0 => format!("{ms} ms"),
        1..60 => format!("{s}.{} s", ms / 100 % 10),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        _ => format!("{}h{:02}m", s / 3600, s / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_direction_marks_vanish() {
        let drawn: String = clusters("a\u{1b}[31m\u{202e}b\r\n\u{9b}c\u{0}", true).map(|(c, _)| c).collect();
        assert_eq!(drawn, "a[31mbc");
        assert_eq!(width("a\u{1b}b\u{202e}", true), 2);
    }

    #[test]
    fn wide_clusters_count_two() {
        assert_eq!(width("日本", true), 4);
        assert_eq!(width("日本", false), 2);
    }

    #[test]
    fn clusters_that_terminals_measure_differently_are_made_plain() {
        let drawn = |line| clusters(line, true).map(|(c, w)| format!("{c}{w}")).collect::<Vec<_>>().join(" ");
        assert_eq!(drawn("👩🏽\u{200d}💻"), "👩2");
        assert_eq!(drawn("❤\u{fe0f}x"), "❤1 x1");
        assert_eq!(drawn("🇩🇪🇫"), "🇩🇪2");
        assert_eq!(drawn("語🏽"), "語2");
        assert_eq!(drawn("e\u{301}"), "e\u{301}1");
        assert_eq!(drawn("\u{301}"), "");
    }

    #[test]
    fn wrapping_keeps_every_word() {
        assert_eq!(wrap("one two three", 7, true), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3, true), ["abc", "def", "gh"]);
        assert_eq!(wrap("日本語", 3, true), ["日", "本", "語"]);
        assert_eq!(wrap("", 3, true), [""]);
    }

    #[test]
    fn cutting_never_halves_a_cluster() {
        assert_eq!(cut("日本語", 5, true, "…"), "日本…");
        assert_eq!(cut("日本語", 4, true, "…"), "日…");
        assert_eq!(cut("日本語", 6, true, "…"), "日本語");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2, true, "…"), "e\u{301}…");
        assert_eq!(cut("abc", 0, true, "…"), "");
    }

    #[test]
    fn times() {
        assert_eq!(left(41_000), "0:41");
        assert_eq!(left(40_001), "0:41");
        assert_eq!(left(3_600_000), "1h00");
        assert_eq!(left(90_000_000), "1d01");
        assert!(left(u64::MAX).len() < 20);
        assert_eq!(took(12), "12 ms");
        assert_eq!(took(8_450), "8.4 s");
        assert_eq!(took(185_000), "3m05s");
    }
}
