//! Files of an environment, through small scripts inside: paths are arguments, contents are streams, neither is ever part of
//! a script.

use super::args::Args;
use super::commands::{ended, kill, start};
use super::hub::Hub;
use super::kept::{Exit, Kept};
use super::link::Link;
use super::{Asked, LIMIT};
use crate::api::protocol::{ExecStart, ExecStdin};
use crate::api::{ApiCall, ApiError, ErrorCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::sync::Arc;

/// Lines in one answer, if nothing else is asked for.
const LINES: u64 = 2000;
/// Bytes of input in one message: base64 of it stays far below the limit of a message.
const PIECE: usize = 64 * 1024;

/// Says the size on a line, then gives up to `$3` bytes from line `$2` on. `$1` is the path.
const READ: &str = r#"
p=$1
fail() { echo "$1" >&2; exit 1; }
case $p in /*|./*|../*|.|..) ;; *) p=./$p ;; esac
if [ ! -e "$p" ]; then
  if [ -L "$p" ]; then fail "it is a link that leads nowhere"; else fail "there is no such file"; fi
fi
[ ! -d "$p" ] || fail "it is a folder"
[ -f "$p" ] || fail "it is a device or a pipe, not a file"
[ -r "$p" ] || fail "it may not be read"
for tool in wc tail head; do command -v "$tool" >/dev/null 2>&1 || fail "that needs $tool, and there is none inside"; done
wc -c < "$p" || exit 1
tail -n +"$2" < "$p" | head -c "$3"
"#;

/// Writes what comes beside the place `$1`, and moves it there once all of its `$2` bytes have come; says whether the file is
/// new. `$3` is a word that nobody else uses. What is no plain file, or a link to one, is written to as it is.
const WRITE: &str = r#"
p=$1
fail() { echo "$1" >&2; exit 1; }
case $p in /*|./*|../*|.|..) ;; *) p=./$p ;; esac
[ ! -d "$p" ] || fail "it is a folder"
case $p in */) fail "there is no such folder" ;; esac
par=${p%/*}; [ -n "$par" ] || par=/
[ -d "$par" ] || mkdir -p -- "$par" || exit 1
new=new
if [ -e "$p" ]; then new=old; [ -w "$p" ] || fail "it may not be written"; fi
t=${par%/}/.hermes-tui-write-$3
trap 'rm -f -- "$t"' EXIT
trap 'exit 143' HUP INT TERM
cat > "$t" || exit 1
[ "$(wc -c < "$t")" -eq "$2" ] || fail "not all of it came"
if [ -L "$p" ] || { [ -e "$p" ] && [ ! -f "$p" ]; }; then
  cat -- "$t" > "$p" || exit 1
else
  if [ -e "$p" ] && m=$(stat -c %a -- "$p" 2>/dev/null); then chmod "$m" "$t"; fi
  mv -f -- "$t" "$p" || exit 1
fi
echo "$new"
"#;

/// A path that can be given to a program.
fn path(args: &Args) -> Result<&str, ApiError> {
    let path = args.text("path");
    let why = if path.is_empty() {
        "it is empty"
    } else if path.contains('\0') {
        "it contains a NUL byte, which no path has"
    } else {
        return Ok(path);
    };
    Err(ApiError::new(ErrorCode::Usage, format!("cannot use the path: {why}"), "give the path of a file inside"))
}

fn shown(path: &str) -> String {
    path.chars().take(300).flat_map(char::escape_debug).collect()
}

/// Where a script of one conversation runs.
struct Inside<'a> {
    hub: &'a Hub,
    link: Arc<Link>,
    conversation: String,
    label: String,
    asked: &'a Asked,
}

impl<'a> Inside<'a> {
    async fn new(hub: &'a Hub, tool: &str, args: &Args, asked: &'a Asked) -> Result<Self, ApiError> {
        let conversation = hub.conversation(args.given("conversation"));
        hub.in_turn(&conversation, asked.client.clone()).await?;
        let label = format!("{tool} {}", shown(args.text("path")));
        Ok(Self { hub, link: hub.link().await?, conversation, label, asked })
    }

    /// Where relative paths begin: where the conversation's shell stands.
    async fn directory(&self, path: &str) -> Result<Option<String>, ApiError> {
        if path.starts_with('/') {
            return Ok(None);
        }
        if let Some(known) = self.hub.cwd(&self.conversation) {
            return Ok(Some(known));
        }
        let look = ExecStart { shell: Some(":".to_owned()), ..self.exec() };
        let (_, exit) = self.carry_out(look, &[]).await?;
        if let Some(cwd) = &exit.cwd {
            self.hub.stands(&self.conversation, cwd.clone());
        }
        Ok(exit.cwd)
    }

    fn exec(&self) -> ExecStart {
        ExecStart {
            conversation: Some(self.conversation.clone()),
            label: Some(self.label.clone()),
            ..ExecStart::default()
        }
    }

    /// Runs a script with its words; gives what it printed and how it ended.
    async fn script(&self, script: &str, words: &[&str], input: Option<&[u8]>) -> Result<Kept, ApiError> {
        let argv = ["/bin/sh", "-c", script, "sh"].iter().chain(words).map(|word| (*word).to_owned()).collect();
        let cwd = self.directory(words.first().copied().unwrap_or_default()).await?;
        let exec = ExecStart { argv, cwd, stdin: input.is_some(), ..self.exec() };
        let (kept, exit) = self.carry_out(exec, input.unwrap_or_default()).await?;
        if exit.code == Some(0) {
            return Ok(kept);
        }
        let said = kept.said();
        // The last line is the script's own word.
        let said = said.lines().last().unwrap_or_default();
        let why = match exit.why {
            Some(why) => why,
            None if said.is_empty() => "there is no shell inside (/bin/sh)".to_owned(),
            None => said.to_owned(),
        };
        let hint = match () {
            () if why.contains("is a folder") => "give the path of a file; run_command with `ls -la` lists a folder",
            () if why.contains("no such") => "check the path; run_command with `ls -la` lists a folder",
            () => "correct that, then call the tool again; run_command shows what is there",
        };
        Err(ApiError::new(ErrorCode::Failed, format!("cannot carry out `{}`: {why}", self.label), hint))
    }

    async fn carry_out(&self, exec: ExecStart, input: &[u8]) -> Result<(Kept, Exit), ApiError> {
        let kept = Arc::new(Kept::apart());
        let feeds = exec.stdin;
        let call = start(&self.link, exec, &kept, &self.asked.cancel).await?;
        if feeds {
            let feeding = self.feed(&call, input);
            tokio::select! {
                fed = feeding => fed?,
                // It ended before it had read all: its end says why.
                _ = kept.wait() => {}
                () = self.asked.cancel.cancelled() => kill(&self.link, call.clone()).await,
            }
        }
        let exit = ended(&self.link, &call, &kept, &self.asked.cancel).await?;
        Ok((Arc::into_inner(kept).unwrap_or_default(), exit))
    }

    async fn feed(&self, call: &str, input: &[u8]) -> Result<(), ApiError> {
        for piece in input.chunks(PIECE) {
            let base64 = Some(STANDARD.encode(piece));
            let stdin = ExecStdin { call: call.to_owned(), base64, ..ExecStdin::default() };
            if self.link.call(&ApiCall::ExecStdin(stdin)).await.is_err() {
                // It reads no more: its end says why.
                return Ok(());
            }
        }
        let eof = ExecStdin { call: call.to_owned(), eof: true, ..ExecStdin::default() };
        let _ = self.link.call(&ApiCall::ExecStdin(eof)).await;
        Ok(())
    }
}

/// `read_file`.
pub(super) async fn read(hub: &Hub, args: &Args, asked: &Asked) -> Result<Value, ApiError> {
    let path = path(args)?;
    let first = args.count("offset_line").unwrap_or(1).max(1);
    let limit = args.count("limit").unwrap_or(LINES).clamp(1, LIMIT as u64) as usize;
    let inside = Inside::new(hub, "read_file", args, asked).await?;
    // One byte more than is told: it says whether there is more.
    let words = [path, &first.to_string(), &(LIMIT + 1).to_string()];
    let kept = inside.script(READ, &words, None).await?;
    let bytes = kept.part(0, LIMIT + 64).bytes;
    let (size, content) = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (String::from_utf8_lossy(&bytes[..end]).trim().parse::<u64>().ok(), &bytes[end + 1..]),
        None => (None, &bytes[..]),
    };
    let mut result = json!({"path": path, "size_bytes": size});
    let Some(page) = page(content, limit) else {
        result["binary"] = json!(true);
        result["note"] = json!(
            "the file is binary and is not shown; run_command can look into it (file, xxd, strings), and the person can \
             copy it out with `hermes-tui cp`"
        );
        return Ok(result);
    };
    result["content"] = json!(page.text);
    result["first_line"] = json!(first);
    result["next_line"] = json!(page.more.then_some(first + page.lines as u64));
    if page.cut_line {
        result["note"] =
            json!(format!("line {first} is longer than fits and is cut; run_command with `cut -c` shows more"));
    } else if content.is_empty() && size != Some(0) {
        result["note"] = json!(format!("the file has fewer than {first} lines"));
    }
    Ok(result)
}

/// Whole lines of a file.
struct Page {
    text: String,
    lines: usize,
    /// There are more lines.
    more: bool,
    /// The one line that there is was cut.
    cut_line: bool,
}

/// As many lines as fit. `None` for what is no text.
fn page(bytes: &[u8], limit: usize) -> Option<Page> {
    if bytes.contains(&0) {
        return None;
    }
    let all = bytes.len() <= LIMIT;
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // Only the end of what was read may be half of a character.
        Err(error) if !all && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return None,
    };
    let (mut end, mut lines) = (0, 0);
    for line in valid.split_inclusive('\n').take(limit) {
        if end + line.len() > LIMIT || (!all && !line.ends_with('\n')) {
            break;
        }
        end += line.len();
        lines += 1;
    }
    let cut_line = lines == 0 && !valid.is_empty();
    if cut_line {
        end = (0..=valid.len().min(LIMIT)).rev().find(|at| valid.is_char_boundary(*at)).unwrap_or(0);
        lines = 1;
    }
    Some(Page { text: valid[..end].to_owned(), lines, more: !all || end < valid.len(), cut_line })
}

/// `write_file`.
pub(super) async fn write(hub: &Hub, args: &Args, asked: &Asked) -> Result<Value, ApiError> {
    let (path, content) = (path(args)?, args.text("content").as_bytes());
    let inside = Inside::new(hub, "write_file", args, asked).await?;
    let id = uuid::Uuid::new_v4().simple().to_string();
    let words = [path, &content.len().to_string(), &id];
    let kept = inside.script(WRITE, &words, Some(content)).await?;
    let created = kept.part(0, 16).bytes.starts_with(b"new");
    Ok(json!({"path": path, "bytes": content.len(), "created": created}))
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, page};

    #[test]
    fn a_page_has_whole_lines_and_says_whether_more_follow() {
        let all = |bytes: &[u8], limit: usize| {
            let page = page(bytes, limit).unwrap();
            (page.text, page.lines, page.more, page.cut_line)
        };
        assert_eq!(all(b"a\nb\nc", 2), ("a\nb\n".to_owned(), 2, true, false));
        assert_eq!(all(b"a\nb\nc", 9), ("a\nb\nc".to_owned(), 3, false, false));
        assert_eq!(all(b"", 9), (String::new(), 0, false, false));
        let long = "é".repeat(LIMIT);
        let (text, lines, more, cut) = all(&long.as_bytes()[..=LIMIT], 9);
        assert!(text.len() == LIMIT && lines == 1 && more && cut);
        let (text, _, more, cut) = all(format!("a\n{long}").as_bytes(), 9);
        assert!(text == "a\n" && more && !cut);
        assert!(page(b"\x7fELF\0", 9).is_none() && page(b"a\xff\n", 9).is_none());
    }
}
