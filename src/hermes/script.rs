//! What a hermes-agent runs in a container, told from the scripts that it wraps everything in.
//!
//! As of hermes-agent 0.19 (`tools/environments/base.py`, `tools/process_registry.py`, `tools/file_operations.py`)
//! each command is `bash -c SCRIPT`: it sources a snapshot of the shell's variables, changes to the last directory,
//! evaluates the command, writes the snapshot anew and prints the directory between marks.

/// Longer commands are cut.
const LONGEST: usize = 16 << 10;
const SETUP: &str = "hermes: prepare a shell";

/// What a command line of the engine turned out to be: a command of an agent, a short name for what one of hermes's own
/// tools does, or whatever somebody else runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The command.
    pub command: String,
    /// Where it runs, where that can be told.
    pub cwd: Option<String>,
}

/// Tells what a command line is. Words of it are joined by single spaces, as the engine's events do.
#[must_use]
pub fn decode(line: &str) -> Seen {
    let script = ["bash -c ", "bash -l -c "].iter().find_map(|start| line.strip_prefix(start));
    let Some(script) = script else { return plain(line, None) };
    if script.starts_with("umask 077\nexport -p > ") && script.contains("\n__hermes_fns=") {
        return plain(SETUP, None);
    }
    match unwrapped(script) {
        Some((command, cwd)) => inner(&command, cwd),
        None => plain(line, None),
    }
}

fn plain(command: &str, cwd: Option<String>) -> Seen {
    Seen { command: shortened(command), cwd }
}

/// A command as far as it is kept.
pub(super) fn shortened(command: &str) -> String {
    if command.len() <= LONGEST {
        return command.to_owned();
    }
    let end = (0..=LONGEST).rev().find(|end| command.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &command[..end])
}

/// The command and its directory inside the wrapper.
fn unwrapped(script: &str) -> Option<(String, Option<String>)> {
    let (before, rest) = match script.strip_prefix("eval '") {
        Some(rest) => ("", rest),
        None => script.split_once("\neval '")?,
    };
    let (command, after) = rest.rsplit_once("'\n__hermes_ec=$?\n")?;
    if !after.contains("__HERMES_CWD_") {
        return None;
    }
    let directory = before.lines().find_map(|line| {
        let line = line.strip_prefix("builtin ").unwrap_or(line);
        let word = line.strip_prefix("cd ")?.trim_start_matches("-- ");
        Some(unquoted(word.split_once(" || ").map_or(word, |(word, _)| word)))
    });
    Some((command.replace(r"'\''", "'"), directory))
}

/// A single word as `shlex.quote` writes it. The user's own folder stays `~`.
fn unquoted(word: &str) -> String {
    let (base, rest) = match word.strip_prefix("$HOME") {
        Some(rest) => ("~", rest),
        None => ("", word),
    };
    let mut text = base.to_owned();
    let mut inside = None;
    for c in rest.chars() {
        match inside {
            Some(quote) if quote == c => inside = None,
            Some(_) => text.push(c),
            None if matches!(c, '\'' | '"') => inside = Some(c),
            None => text.push(c),
        }
    }
    text
}

/// What a command of hermes itself is.
fn inner(command: &str, cwd: Option<String>) -> Seen {
    if let Some(seen) = background(command, cwd.as_deref()) {
        return seen;
    }
    match tool(command) {
        Some(short) => plain(&format!("hermes: {short}"), cwd),
        None => plain(command, cwd),
    }
}

fn background(command: &str, cwd: Option<&str>) -> Option<Seen> {
    let job = |text: &str| {
        let (_, after) = text.rsplit_once("/hermes_bg_")?;
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        after[..end].starts_with("proc_").then(|| after[..end].to_owned())
    };
    let read = |ending: &str| {
        let path = command.strip_prefix("cat ")?.strip_suffix(" 2>/dev/null")?;
        if unquoted(path).ends_with(ending) { job(path) } else { None }
    };
    // Three commands every two seconds: under one name they are one row.
    let alive = command.starts_with("kill -0 \"$(cat ") && command.ends_with("; echo $?");
    let asked = read(".log").or_else(|| read(".exit")).or_else(|| if alive { job(command) } else { None });
    if let Some(job) = asked {
        return Some(plain(&format!("hermes: wait for {job}"), None));
    }
    let (_, rest) = command.split_once("( nohup bash -lc ")?;
    let (word, after) = rest.split_once(" > ").filter(|_| command.starts_with("mkdir -p "))?;
    let job = job(after)?;
    // The command may hold ` > ` itself: it ends where its log begins.
    let word = rest
        .rsplit_once(&format!("/hermes_bg_{job}.log"))
        .map_or(word, |(start, _)| start.rsplit_once(" > ").map_or(word, |(word, _)| word));
    Some(plain(&format!("{} &", unquoted(word)), cwd.map(str::to_owned)))
}

/// A short name for a script of the file tools.
fn tool(command: &str) -> Option<String> {
    let path = |word: &str| {
        let quoted = word.len() > 1 && word.starts_with('\'') && word.ends_with('\'');
        quoted.then(|| unquoted(word))
    };
    let quiet = command.strip_suffix(" 2>/dev/null").unwrap_or(command);
    if let Some(rest) = command.strip_prefix("set -e; d=") {
        let (_, target) = rest.split_once("; t=")?;
        let (target, script) = target.split_once("; tmp=\"$(mktemp ")?;
        return script.contains(".hermes-tmp").then(|| path(target)).flatten().map(|path| format!("write {path}"));
    }
    if let Some(file) = quiet.strip_prefix("wc -c < ").or_else(|| quiet.strip_prefix("wc -l < ")) {
        return path(file).map(|path| format!("look at {path}"));
    }
    if let Some(rest) = quiet.strip_prefix("head -c ").filter(|_| quiet != command) {
        let (count, file) = rest.split_once(' ')?;
        count.parse::<u64>().ok()?;
        return path(file).map(|path| format!("look at {path}"));
    }
    if let Some(rest) = command.strip_prefix("sed -n '") {
        let (range, file) = rest.split_once("p' ")?;
        let (from, to) = range.split_once(',')?;
        from.parse::<u64>().ok().zip(to.parse::<u64>().ok())?;
        return path(file).map(|path| format!("read {path}"));
    }
    if let Some(rest) = command.strip_prefix("command -v ") {
        let program = rest.strip_suffix(" >/dev/null 2>&1 && echo 'yes'")?;
        return (!program.contains(' ')).then(|| format!("look for {program}"));
    }
    let file = command.strip_prefix("test -e ")?.strip_suffix(" && echo exists || echo not_found")?;
    path(file).map(|path| format!("look at {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the engine reports it for hermes-agent 0.19.0.
    fn wrapped(command: &str, cwd: &str) -> String {
        let command = command.replace('\'', r"'\''");
        format!(
            "bash -c source /tmp/hermes-snap-51a682ef5e74.sh >/dev/null 2>&1 || true\nbuiltin cd -- {cwd} || exit 126\n\
             eval '{command}'\n__hermes_ec=$?\numask 077\n{{ export -p > /tmp/hermes-snap-51a682ef5e74.sh.tmp.$BASHPID \
             && mv -f /tmp/hermes-snap-51a682ef5e74.sh.tmp.$BASHPID /tmp/hermes-snap-51a682ef5e74.sh; }} 2>/dev/null || \
             rm -f /tmp/hermes-snap-51a682ef5e74.sh.tmp.$BASHPID 2>/dev/null || true\n\
             printf '\\n__HERMES_CWD_51a682ef5e74__%s__HERMES_CWD_51a682ef5e74__\\n' \"$(pwd -P)\"\nexit $__hermes_ec"
        )
    }

    fn seen(command: &str) -> String {
        let seen = decode(&wrapped(command, "/work"));
        assert_eq!(seen.cwd.as_deref(), Some("/work"));
        seen.command
    }

    #[test]
    fn an_agents_command_comes_out_as_it_was_given() {
        for command in ["ls -la", "echo 'a' \"b\" > x; cd /tmp", "cat <<'E'\n'\n__hermes_ec=$?\nE", "sed -n '1p' x", ""]
        {
            assert_eq!(seen(command), command);
        }
        let cwd = |word: &str| decode(&wrapped("true", word)).cwd;
        assert_eq!(cwd("'/a b'").as_deref(), Some("/a b"));
        assert_eq!(cwd("~").as_deref(), Some("~"));
        assert_eq!(cwd("$HOME/'a b'").as_deref(), Some("~/a b"));
        assert_eq!(cwd(r#"'it'"'"'s'"#).as_deref(), Some("it's"));
    }

    #[test]
    fn what_others_run_stays_as_it_is() {
        for line in ["bash", "bash -c echo hi", "sh -c eval 'x'\n__hermes_ec=$?\n", "cat /tmp/hermes_bg_proc_1.log"] {
            assert_eq!(decode(line), Seen { command: line.to_owned(), cwd: None });
        }
        let long = "é".repeat(LONGEST);
        let command = decode(&long).command;
        assert!(command.ends_with('…') && command.len() <= LONGEST + 3);
    }

    #[test]
    fn tools_of_hermes_have_short_names() {
        assert_eq!(seen("wc -c < '/w/a b' 2>/dev/null"), "hermes: look at /w/a b");
        assert_eq!(seen("head -c 1000 '/w/m' 2>/dev/null"), "hermes: look at /w/m");
        assert_eq!(seen("sed -n '1,500p' '/w/m'"), "hermes: read /w/m");
        assert_eq!(seen("wc -l < '/w/m'"), "hermes: look at /w/m");
        assert_eq!(seen("command -v rg >/dev/null 2>&1 && echo 'yes'"), "hermes: look for rg");
        assert_eq!(seen("test -e '/w' && echo exists || echo not_found"), "hermes: look at /w");
        let write =
            "set -e; d='/w'; t='/w/m2'; tmp=\"$(mktemp -p \"$d\" '.hermes-tmp.XXXXXX' 2>/dev/null)\"; cat > \"$tmp\"";
        assert_eq!(seen(write), "hermes: write /w/m2");
        assert_eq!(seen("wc -l < x"), "wc -l < x", "an agent's own");
        let setup = "bash -l -c umask 077\nexport -p > /tmp/hermes-snap-1.sh.tmp.$BASHPID\n__hermes_fns=$(declare -F)";
        assert_eq!(decode(setup), Seen { command: SETUP.to_owned(), cwd: None });
    }

    #[test]
    fn background_processes_are_told_from_the_looks_at_them() {
        let launch = "mkdir -p /tmp && ( nohup bash -lc 'sleep 5 > '\"'\"'a b'\"'\"'' > /tmp/hermes_bg_proc_0f9e.log 2>&1; \
            rc=$?; printf '%s\\n' \"$rc\" > /tmp/hermes_bg_proc_0f9e.exit ) & echo $! > /tmp/hermes_bg_proc_0f9e.pid && \
            cat /tmp/hermes_bg_proc_0f9e.pid";
        assert_eq!(seen(launch), "sleep 5 > 'a b' &");
        for command in [
            "cat /tmp/hermes_bg_proc_0f9e.log 2>/dev/null",
            "kill -0 \"$(cat /tmp/hermes_bg_proc_0f9e.pid 2>/dev/null)\" 2>/dev/null; echo $?",
            "cat /tmp/hermes_bg_proc_0f9e.exit 2>/dev/null",
        ] {
            let expected = Seen { command: "hermes: wait for proc_0f9e".to_owned(), cwd: None };
            assert_eq!(decode(&wrapped(command, "/")), expected, "{command}");
        }
    }
}
