//! What leads to a shell that begins elsewhere than usual: in a directory, or where an agent is.
//!
//! It runs inside the sandbox and becomes the shell. What an agent exported may be secret: it goes from a file in the
//! sandbox into the shell there, and is never seen here.

use super::calls;
use crate::domain::{Begin, Kept};

/// bash where there is one: it is what wrote the variables there. `$1` is the script, then its name and arguments.
const WITH_BASH: &str = r#"# hermes-tui: begin a shell
if command -v bash >/dev/null 2>&1; then exec bash -c "$@"; fi
__htui_script=$1; shift 2; eval "$__htui_script"
"#;

/// `$1` and `$2` say what keeps the variables, `$3` and `$4` are a directory that goes before the one that is kept and one
/// that comes after it, and the rest is the shell. hermes-agent 0.19 (`tools/environments/base.py`) writes its snapshot
/// after each command; the directory is its `PWD`. A file of another user is left alone: whoever wrote it would run
/// commands as us. Only what is exported goes on to the shell, which reads its own start files after it.
const LEAD: &str = r#"# hermes-tui: begin a shell
__htui_kind=$1 __htui_name=$2 __htui_first=$3 __htui_known=$4 __htui_here=$PWD
__htui_file= __htui_own= __htui_with=', without the variables that it exported: none are kept here'
[ "$__htui_kind" = directory ] && __htui_with=
shift 4
htui_good() { [ -f "$1" ] && [ ! -L "$1" ] && [ -r "$1" ] && [ -O "$1" ]; }
case $__htui_kind in
snapshot)
  __htui_x='[0-9a-f]'; __htui_x=$__htui_x$__htui_x$__htui_x; __htui_x=$__htui_x$__htui_x$__htui_x$__htui_x
  for __htui_one in /tmp/hermes-snap-$__htui_x.sh; do
    htui_good "$__htui_one" || continue
    [ -z "$__htui_file" ] || [ "$__htui_one" -nt "$__htui_file" ] || continue
    __htui_file=$__htui_one
  done ;;
conversation)
  for __htui_one in "${HOME:-/tmp}/.cache/hermes-tui/$__htui_name" "/tmp/$__htui_name"; do
    htui_good "$__htui_one" || continue
    __htui_file=$__htui_one; break
  done ;;
esac
__htui_term=$TERM __htui_colours=$COLORTERM __htui_session=$HTUI_SESSION __htui_env=$HTUI_ENVIRONMENT
if [ -n "$__htui_file" ]; then
  . "$__htui_file" </dev/null >/dev/null 2>&1
  unset -f cd printf read unset export exec 2>/dev/null
  unalias -a 2>/dev/null
  set +e +u
  __htui_own=$PWD __htui_with=', with the variables that it exported'
  if [ "$__htui_kind" = conversation ]; then
    __htui_own=
    if htui_good "$__htui_file.cwd"; then
      __htui_own=$(cat "$__htui_file.cwd" 2>/dev/null) || IFS= read -r __htui_own < "$__htui_file.cwd"
    fi
  fi
fi
TERM=$__htui_term COLORTERM=$__htui_colours HTUI_SESSION=$__htui_session HTUI_ENVIRONMENT=$__htui_env
export TERM COLORTERM HTUI_SESSION HTUI_ENVIRONMENT
unset HTUI_CALL LINES COLUMNS
case ${1##*/} in bash) PS1='\u@\h:\w\$ ';; zsh) PS1='%n@%m:%~%# ';; *) PS1='${PWD} $ ';; esac
export PS1
__htui_to=${__htui_first:-${__htui_own:-$__htui_known}}
case $__htui_to in '~') __htui_to=${HOME:-/};; '~/'*) __htui_to=${HOME:-}/${__htui_to#'~/'};; esac
__htui_said=
if [ -z "$__htui_to" ]; then
  cd -- "$__htui_here" 2>/dev/null || cd /
  __htui_said="it is not known where the agent is: this is $PWD$__htui_with"
elif cd -- "$__htui_to" 2>/dev/null; then
  if [ -n "$__htui_file" ]; then __htui_said="where the agent is: $PWD$__htui_with"
  elif [ -n "$__htui_with" ]; then __htui_said="where the agent ran its last command: $PWD$__htui_with"
  fi
else
  cd -- "$__htui_here" 2>/dev/null || cd -- "${HOME:-/}" 2>/dev/null || cd /
  __htui_said="$__htui_to cannot be entered or is gone: this is $PWD$__htui_with"
fi
case $__htui_said in *[[:cntrl:]]*)
  case $__htui_said in
  *'cannot be entered'*) __htui_said='the directory cannot be entered or is gone' ;;
  *) __htui_said='where the agent is' ;;
  esac
  __htui_said="$__htui_said; its name holds control characters and is not shown" ;;
esac
[ -z "$__htui_said" ] || printf 'hermes-tui: %s\n' "$__htui_said"
exec "$@"
"#;

/// The script that is run by `sh -c` with the path of a shell behind it, and its arguments. Nothing where the shell begins
/// as usual.
#[must_use]
pub fn lead(begin: &Begin) -> Vec<String> {
    let (kind, name, first, known) = match begin {
        Begin::Usual => return Vec::new(),
        Begin::Directory(path) => ("directory", String::new(), None, Some(path)),
        Begin::Agent { kept, cwd, other } => {
            let (kind, name) = match kept {
                Kept::Nothing => ("nothing", String::new()),
                Kept::Snapshot => ("snapshot", String::new()),
                Kept::Conversation(id) => ("conversation", calls::state_file(Some(id))),
            };
            let cwd = cwd.as_ref();
            (kind, name, cwd.filter(|_| *other), cwd.filter(|_| !*other))
        }
    };
    let path = |path: Option<&String>| path.cloned().unwrap_or_default();
    // What an engine told may hold anything.
    let words =
        [WITH_BASH.into(), "htui".into(), LEAD.into(), "htui".into(), kind.into(), name, path(first), path(known)];
    words.into_iter().map(|word| word.replace('\0', "")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ConversationId;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;
    use std::process::Command;

    const SHELL: &str =
        "#!/bin/sh\nprintf '%s|' \"$PWD\" \"$MOOD\" \"$TERM\" \"${HTUI_CALL-unset}\" \"$HTUI_SESSION\" \"$#\"\n";

    /// What is printed on the way to a shell, and by something in its place.
    fn led(path: &str, home: &Path, begin: &Begin) -> String {
        let shell = home.join("bash");
        fs::write(&shell, SHELL).expect("written");
        fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).expect("set");
        let mut command = Command::new("/bin/sh");
        command.arg("-c").args(lead(begin)).arg(&shell).current_dir(home).env_clear();
        command.env("PATH", path).env("HOME", home).env("TERM", "xterm-256color").env("HTUI_SESSION", "s1");
        let output = command.output().expect("it runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn agent(id: &str, cwd: Option<&str>) -> Begin {
        let kept = Kept::Conversation(ConversationId::new(id));
        Begin::Agent { kept, cwd: cwd.map(str::to_owned), other: false }
    }

    #[test]
    fn a_shell_begins_with_what_is_kept_and_says_what_is_missing() {
        // With bash, and with nothing but the plain shell.
        for path in ["/usr/bin:/bin", "/nowhere"] {
            let folder = tempfile::tempdir().expect("a folder");
            let home = folder.path().canonicalize().expect("a path");
            let state = home.join(".cache/hermes-tui");
            fs::create_dir_all(&state).expect("made");
            fs::create_dir(home.join("a b")).expect("made");
            let kept = |id: &str, directory: &str| {
                let file = state.join(calls::state_file(Some(&ConversationId::new(id))));
                let text =
                    "export MOOD='good'\nexport TERM='dumb'\nexport HTUI_CALL='c1'\nexport PWD='/gone'\nset -u\n";
                fs::write(&file, text).expect("written");
                fs::write(file.with_extension("cwd"), format!("{directory}\n")).expect("written");
                file
            };
            let at = home.display();
            kept("c1", &format!("{at}/a b"));
            let rest = "xterm-256color|unset|s1|0|";
            let said = format!("hermes-tui: where the agent is: {at}/a b, with the variables that it exported\n");
            assert_eq!(led(path, &home, &agent("c1", Some("/"))), format!("{said}{at}/a b|good|{rest}"));
            let lines = home.join("a\nb");
            fs::create_dir_all(&lines).expect("made");
            let file = kept("c6", &lines.display().to_string());
            assert!(path == "/nowhere" || led(path, &home, &agent("c6", None)).contains("a\nb|good|"));
            // Nothing would ever come of it.
            fs::remove_file(file.with_extension("cwd")).expect("removed");
            let mode = nix::sys::stat::Mode::S_IRWXU;
            nix::unistd::mkfifo(&file.with_extension("cwd"), mode).expect("made");
            assert!(led(path, &home, &agent("c6", None)).contains("|good|"));
            kept("c1", "/gone/\u{1b}[?2004h");
            let seen = led(path, &home, &agent("c1", Some("/")));
            assert!(seen.contains("cannot be entered") && !seen.contains('\u{1b}'), "{seen:?}");
            kept("c2", "/no/such/place");
            let said = format!("/no/such/place cannot be entered or is gone: this is {at}, with the variables that it");
            let seen = led(path, &home, &agent("c2", None));
            assert!(seen.contains(&said) && seen.ends_with(&format!("\n{at}|good|{rest}")), "{seen}");
            // Whose variables those are is not known.
            let file = kept("c3", "/");
            symlink(&file, state.join(calls::state_file(Some(&ConversationId::new("c4"))))).expect("made");
            let seen = led(path, &home, &agent("c4", Some("~/a b")));
            let said = format!("where the agent ran its last command: {at}/a b, without the variables");
            assert!(seen.contains(&said) && seen.ends_with(&format!("\n{at}/a b||{rest}")), "{seen}");
            let seen = led(path, &home, &agent("c5", None));
            assert!(seen.starts_with("hermes-tui: it is not known where the agent is: this is "), "{seen}");

            let directory = |path: &str| Begin::Directory(path.to_owned());
            assert_eq!(led(path, &home, &directory("/usr")), format!("/usr||{rest}"));
            let seen = led(path, &home, &directory("/usr/$(touch x)"));
            assert!(seen.starts_with("hermes-tui: /usr/$(touch x) cannot be entered or is gone: this is "), "{seen}");
            assert!(!home.join("x").exists());
        }
        assert!(lead(&Begin::Usual).is_empty());
    }
}
