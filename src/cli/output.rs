//! What people read: tables, colours, durations; and how errors look.

use crate::api::ApiError;
use crate::term::guard::turns;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Why a verb did not end well.
#[derive(Debug)]
pub(super) enum Failure {
    /// Said and coded by its kind.
    Error(ApiError),
    /// Said, with an exit code of its own.
    Exit(u8, ApiError),
    /// Nobody reads the output any more.
    BrokenPipe,
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self::Error(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        Self::Error(ApiError::new(
            crate::api::ErrorCode::Failed,
            format!("cannot write the output: {error}"),
            "check where it goes",
        ))
    }
}

/// How a piece of text is emphasised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    Plain,
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
    Cyan,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Green => "\x1b[32m",
            Self::Yellow => "\x1b[33m",
            Self::Red => "\x1b[31m",
            Self::Cyan => "\x1b[36m",
        }
    }
}

fn coloured(terminal: bool) -> bool {
    terminal
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn paint(text: &str, style: Style, colour: bool) -> String {
    if colour && style != Style::Plain { format!("{}{text}\x1b[0m", style.code()) } else { text.to_owned() }
}

/// Takes everything from text of others that a terminal would obey.
pub(super) fn plain(text: &str) -> String {
    let all = text.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c });
    // What turns the direction of writing makes one name look like another.
    all.filter(|c| !c.is_control() && !turns(*c)).collect()
}

/// Standard output for people.
#[derive(Debug)]
pub(super) struct Printer {
    colour: bool,
    width: Option<usize>,
}

impl Printer {
    /// Looks at standard output.
    pub(super) fn new() -> Self {
        let terminal = io::stdout().is_terminal();
        let width =
            terminal.then(|| crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns))).flatten();
        Self { colour: coloured(terminal), width: width.filter(|width| *width > 0) }
    }

    /// A line.
    pub(super) fn line(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()?;
        Ok(())
    }

    /// One field of each row, one a line; nothing where there are no rows.
    pub(super) fn ids(&self, rows: &Value, field: &str) -> Result<(), Failure> {
        rows.as_array().into_iter().flatten().try_for_each(|row| self.line(&text(row, field)))
    }

    /// A piece of text in a style.
    pub(super) fn styled(&self, text: &str, style: Style) -> String {
        paint(text, style, self.colour)
    }

    /// Names and values, one a line, aligned.
    pub(super) fn fields(&self, fields: &[(&str, String)]) -> Result<(), Failure> {
        let widest = fields.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        let mut text = String::new();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            let padding = " ".repeat(widest - name.width());
            let value = value.replace('\n', &format!("\n{}", " ".repeat(widest + 2)));
            let _ = writeln!(text, "{}{padding}  {value}", self.styled(name, Style::Dim));
        }
        self.line(text.trim_end_matches('\n'))
    }

    /// A table; `empty` is said when it has no rows.
    pub(super) fn table(&self, heads: &[&str], rows: &[Vec<(String, Style)>], empty: &str) -> Result<(), Failure> {
        if rows.is_empty() {
            return self.line(&self.styled(empty, Style::Dim));
        }
        let columns = heads.len();
        let mut widths: Vec<usize> = heads.iter().map(|head| head.width()).collect();
        for row in rows {
            for (width, (cell, _)) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        // The last column gives way on a narrow terminal; nothing is cut where a program reads.
        if let Some(total) = self.width {
            let others: usize = widths[..columns - 1].iter().map(|width| width + 2).sum();
            widths[columns - 1] = widths[columns - 1].min(total.saturating_sub(others).max(8));
        }
        let mut text = String::new();
        let head: Vec<(String, Style)> = heads.iter().map(|head| ((*head).to_owned(), Style::Dim)).collect();
        for row in std::iter::once(&head).chain(rows) {
            for (at, (cell, style)) in row.iter().enumerate() {
                let cell = if self.width.is_some() { cut(cell, widths[at]) } else { cell.clone() };
                let padding = if at + 1 == columns { 0 } else { (widths[at] + 2).saturating_sub(cell.width()) };
                let _ = write!(text, "{}{}", paint(&cell, *style, self.colour), " ".repeat(padding));
            }
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        self.line(text.trim_end_matches('\n'))
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        out.push(c);
    }
    out.push('…');
    out
}

/// A JSON reply on one line.
pub(super) fn print_json(value: &Value) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(value.to_string().as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// Asks, and gives what is typed.
pub(super) fn ask(question: &str) -> io::Result<String> {
    print!("{question} ");
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// Asks what is answered by yes or no; anything else is no.
pub(super) fn confirm(question: &str) -> io::Result<bool> {
    Ok(matches!(ask(&format!("{question} [y/N]"))?.as_str(), "y" | "Y" | "yes"))
}

/// One of several things that are wrong, for people.
pub(super) fn complain(text: &str) {
    let text = format!("{} {text}\n", paint("error:", Style::Red, coloured(io::stderr().is_terminal())));
    let _ = io::stderr().write_all(text.as_bytes());
}

/// An error: on standard error for people, on standard output as JSON.
pub(super) fn print_error(error: &ApiError, as_json: bool) {
    if as_json {
        let value = json!({
            "schema": 1, "error": {"code": error.code, "message": error.message, "hint": error.hint},
        });
        let _ = print_json(&value);
        return;
    }
    let colour = coloured(io::stderr().is_terminal());
    let mut text = format!("{} {}\n", paint("error:", Style::Red, colour), error.message);
    if !error.hint.is_empty() {
        let _ = writeln!(text, " {} {}", paint("hint:", Style::Cyan, colour), error.hint);
    }
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A text field of a reply, made safe for a terminal; empty if it is absent.
pub(super) fn text(value: &Value, field: &str) -> String {
    match &value[field] {
        Value::String(text) => plain(text),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Who holds an environment, for people.
pub(super) fn holder(value: &Value) -> String {
    let (kind, detail) = (text(value, "kind"), text(value, "detail"));
    // Its detail often begins with the kind already: "turn 3 of c1".
    if detail.starts_with(&kind) { detail } else { format!("{kind} {detail}").trim_end().to_owned() }
}

/// Enough of an id to name it.
pub(super) fn short(id: &str) -> String {
    id.chars().take(8).collect()
}

/// Seconds as `m:ss` or `h:mm:ss`.
pub(super) fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Milliseconds for people: `12 ms`, `8.4 s`, `2:05`.
pub(super) fn duration(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => clock(millis / 1000),
    }
}

/// Bytes for people: `512 B`, `1.5 MiB`.
pub(super) fn bytes(count: u64) -> String {
    let mut value = count as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{count} B") } else { format!("{value:.1} {unit}") }
}

fn moment(value: &Value) -> Option<jiff::Timestamp> {
    value.as_str()?.parse().ok()
}

/// Seconds from now until a time in a reply; 0 if it has passed.
pub(super) fn seconds_until(value: &Value) -> Option<u64> {
    let left = moment(value)?.as_millisecond() - jiff::Timestamp::now().as_millisecond();
    Some(u64::try_from(left.max(0)).unwrap_or(0).div_ceil(1000))
}

/// How long ago a time in a reply was.
pub(super) fn ago(value: &Value) -> String {
    let Some(at) = moment(value) else { return String::new() };
    let passed = jiff::Timestamp::now().as_second() - at.as_second();
    format!("{} ago", clock(u64::try_from(passed.max(0)).unwrap_or(0)))
}

/// A time in a reply as the clock on the wall shows it.
pub(super) fn local_time(value: &Value) -> String {
    let Some(at) = moment(value) else { return String::new() };
    at.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::{bytes, clock, cut, duration, plain};

    #[test]
    fn durations_and_sizes_read_well() {
        assert_eq!((clock(5), clock(65), clock(3725)), ("0:05".to_owned(), "1:05".to_owned(), "1:02:05".to_owned()));
        assert_eq!((duration(12), duration(8449), duration(125_000)), ("12 ms".into(), "8.4 s".into(), "2:05".into()));
        assert_eq!((bytes(512), bytes(1_572_864)), ("512 B".to_owned(), "1.5 MiB".to_owned()));
    }

    #[test]
    fn text_of_others_cannot_command_the_terminal() {
        assert_eq!(plain("a\x1b[31mb\nc\u{9b}d"), "a[31mb cd");
        assert_eq!(cut("日本語テキスト", 7), "日本語…");
    }
}
