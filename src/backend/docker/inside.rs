//! What is run inside a container: small scripts for any POSIX shell that need no other program, and what they say.

use crate::domain::{Evidence, LiveProcess, Moment};
use std::collections::BTreeSet;

/// Begins and ends what a script says to us before the program that was asked for takes over.
pub const MARK: u8 = 0x1e;

// A macro, so that constant scripts can begin with it.
macro_rules! sign {
    () => {
        "# hermes-tui:"
    };
}
/// Of a command line, this much is told.
const LONGEST_LINE: usize = 200;

/// What every command of ours holds, by which it is told from others in the engine's events.
pub const SIGN: &str = concat!(" -c ", sign!());

/// What can run the scripts here, best first. The last two are of images that have nothing else, whose search path may
/// not name them.
pub const INTERPRETERS: [&str; 6] = ["sh", "bash", "ash", "dash", "/bin/sh", "/busybox/sh"];

/// Shells, best first.
const SHELLS: &str = "bash zsh ash sh";

/// Enters a directory (`$2` if something is there, seen from `$1`; else `$1`, or the root where that cannot be
/// entered), says its process and its start (field 22 of proc_pid_stat(5)), so that it can be ended later for sure, and
/// becomes the program.
fn begin(wait: &str, choose: &str) -> String {
    format!(
        "{}\n\
         htui() {{ shift 19; printf '\\036%s %s\\036' $$ \"$1\"; }}\n\
         no() {{ printf '\\036!%s\\036' \"$2\"; exit $1; }}\n\
         cd -- \"$1\" 2>/dev/null || cd /\n\
         [ -z \"$2\" ] || cd -- \"$2\" 2>/dev/null || no 126 \"cannot enter the directory $2 there\"\n\
         shift 2\n{choose}\
         read -r htui < /proc/$$/stat || no 125 'there is no /proc in the container'\n\
         htui ${{htui##*) }}\n{wait}unset htui\nexec \"$@\"\n",
        concat!(sign!(), " start a program and say who it is")
    )
}

/// For a command without a terminal. Arguments: the usual directory, the wanted one, then the argument vector.
pub fn command() -> String {
    begin("", "")
}

/// Lets a session's program begin. Its echo is the end of what is not the program's.
pub const GO: &str = "go";

/// For a session: waits for the line [`GO`] after it has said who it is, so that the terminal has its size by then. To
/// any other line it answers with the size, between marks; with nothing where there is no stty(1). With `leads` the
/// arguments are what leads to the shell, whose name is put behind them.
pub fn session(configured: Option<&str>, leads: bool) -> String {
    let first = configured.map(quote).unwrap_or_default();
    // What leads to it may set another search path.
    let (wanted, found) = if leads { ("true", "$(command -v \"$f\")") } else { ("[ $# -eq 0 ]", "$f") };
    let choose = format!(
        "if {wanted}; then\n\
         f=; for s in {first} {SHELLS}; do if command -v \"$s\" >/dev/null 2>&1; then f=$s; break; fi; done\n\
         [ -z \"$f\" ] && no 127 'there is no shell in the image: looked for {SHELLS}'\n\
         case ${{f##*/}} in bash) PS1='\\u@\\h:\\w\\$ ';; zsh) PS1='%n@%m:%~%# ';; *) PS1='${{PWD}} $ ';; esac\n\
         set -- \"$@\" \"{found}\"; export PS1; unset s f; fi\n"
    );
    // A terminal that is not described there is none that anything there can draw on; what brings its own
    // descriptions knows this one.
    let term = "t() { for d in \"$HOME/.terminfo\" /etc/terminfo /lib/terminfo /usr/share/terminfo /usr/lib/terminfo; do\n\
         [ -e \"$d/${1%\"${1#?}\"}/$1\" ] && return 0; done; return 1; }\n\
         t \"${TERM:-none}\" || for s in xterm-256color xterm vt100 none; do t $s && break; done\n\
         case $s in '') ;; none) TERM=xterm-256color;; *) TERM=$s;; esac\n\
         export TERM; unset -f t; unset s d\n";
    let wait = format!(
        "while read -r htui; do [ \"$htui\" = {GO} ] && break\n\
         printf '\\036%s\\036' \"$(stty size 2>/dev/null)\"; done\n"
    );
    begin(&format!("{term}{wait}"), &choose)
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Sends the signal `$1` (0 = none) to every process of the session `$2` whose leader was started at `$3`, and names
/// those that live. A number that belongs to another process by now is left alone.
pub const SIGNAL: &str = concat!(
    sign!(),
    r#" signal a session
sig=$1 leader=$2 born=$3 left=
if { read -r s < /proc/$leader/stat; } 2>/dev/null; then set -- ${s##*) }; [ "${20}" = "$born" ] || exit 0; fi
for d in /proc/[0-9]*; do
{ read -r s < $d/stat; } 2>/dev/null || continue
set -- ${s##*) }
[ "$4" = "$leader" ] || continue
case $1 in Z|X) continue;; esac
left="$left ${d#/proc/}"
[ "$sig" = 0 ] || kill -s $sig ${d#/proc/} 2>/dev/null
done
printf '%s' "$left"
"#
);

/// Says process and start of the leader of the session of ours that is named `$1`.
pub const FIND: &str = concat!(
    sign!(),
    r#" find a session
for d in /proc/[0-9]*; do
{ read -r s < $d/stat; } 2>/dev/null || continue
p=${d#/proc/}
set -- "$1" ${s##*) }
[ "$5" = "$p" ] || continue
e=
{ while IFS= read -r l || [ -n "$l" ]; do e="$e$l"; done < $d/environ; } 2>/dev/null
case $e in *"HTUI_SESSION=$1"*) printf '%s %s' "$p" "${21}"; exit 0;; esac
done
"#
);

/// Says what lives: a line with the time of boot, then for each process its number, parent, group, session, state,
/// the foreground group of its terminal, start, ours (`s` session, `c` with the call, `-`), name, and command line.
pub const SCAN: &str = concat!(
    sign!(),
    r#" list what lives
me=$$ nl='
' tr=
command -v tr >/dev/null 2>&1 && tr=1
while read -r k v r; do [ "$k" = btime ] && printf 'btime %s\n' "$v" && break; done < /proc/stat
for d in /proc/[0-9]*; do
{ read -r s < $d/stat; } 2>/dev/null || continue
p=${d#/proc/} c=${s#*(}; c=${c%)*}
set -- ${s##*) }
[ "$4" = $me ] && continue
own=- line=
if [ $tr ]; then
line=$(tr '\000\n' '  ' < $d/cmdline 2>/dev/null)
if [ "$p" = "$4" ]; then
e=$nl$(tr '\000' '\n' < $d/environ 2>/dev/null)
fi
else
# Without tr(1): read(1) leaves the zero bytes out, and the words stand together.
{ while IFS= read -r l || [ -n "$l" ]; do line="$line$l "; done < $d/cmdline; } 2>/dev/null
if [ "$p" = "$4" ]; then
e=$nl
{ while IFS= read -r l || [ -n "$l" ]; do e="$e$l"; done < $d/environ; } 2>/dev/null
fi
fi
if [ "$p" = "$4" ]; then
case $e in *HTUI_CALL=*) own=${e#*HTUI_CALL=}; own=c${own%%[!A-Za-z0-9_-]*};; *HTUI_SESSION=*) own=s;; esac
fi
printf '%s %s %s %s %s %s %s %s %s\t%s\n' "$p" "$2" "$3" "$4" "$1" "$6" "${20}" "$own" "$c" "$line"
done
"#
);

/// The first process of what was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Its number inside, which is that of its session.
    pub pid: String,
    /// Its start, in ticks since boot.
    pub born: String,
}

/// What a script said before its program.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// More is to come.
    Nothing,
    /// It is about to become the program; so many bytes of the output were its own.
    Ready(Leader, usize),
    /// It cannot, and why.
    No(String),
}

/// Reads what a script says first.
pub fn said(output: &[u8]) -> Said {
    let Some(from) = output.iter().position(|byte| *byte == MARK) else { return Said::Nothing };
    let Some(length) = output[from + 1..].iter().position(|byte| *byte == MARK) else { return Said::Nothing };
    let text = String::from_utf8_lossy(&output[from + 1..from + 1 + length]).into_owned();
    if let Some(why) = text.strip_prefix('!') {
        return Said::No(why.to_owned());
    }
    match text.split_once(' ') {
        Some((pid, born)) => Said::Ready(Leader { pid: pid.to_owned(), born: born.to_owned() }, from + length + 2),
        None => Said::No(format!("the shell of the container said {text:?}")),
    }
}

struct Row {
    pid: u32,
    parent: u32,
    group: i64,
    session: u32,
    state: char,
    foreground: i64,
    born: u64,
    own: String,
    name: String,
    line: String,
}

fn row(text: &str) -> Option<Row> {
    let (head, line) = text.split_once('\t')?;
    let mut fields = head.splitn(9, ' ');
    let mut next = || fields.next();
    Some(Row {
        pid: next()?.parse().ok()?,
        parent: next()?.parse().ok()?,
        group: next()?.parse().ok()?,
        session: next()?.parse().ok()?,
        state: next()?.chars().next()?,
        foreground: next()?.parse().ok()?,
        born: next()?.parse().ok()?,
        own: next()?.to_owned(),
        name: next()?.to_owned(),
        line: line.trim().to_owned(),
    })
}

/// Weighs what a scan says: the init, the container's main command, zombies, commands in flight and shells of ours at
/// their prompt do not count.
pub fn weigh(scan: &str, in_flight: &BTreeSet<String>) -> Evidence {
    let boot = scan.lines().find_map(|line| line.strip_prefix("btime ")).and_then(|text| text.parse::<u64>().ok());
    let all: Vec<Row> = scan.lines().filter_map(row).filter(|row| !matches!(row.state, 'Z' | 'X')).collect();
    // An init starts it before anything else can be there, and ends with it. Without one it is the first process.
    let init = all.iter().any(|row| row.pid == 1 && is_init(&row.name));
    let main = all
        .iter()
        .filter(|_| init)
        .filter(|row| row.parent == 1)
        .min_by_key(|row| (row.born, row.pid))
        .map(|row| row.pid);
    let flying: BTreeSet<u32> = all
        .iter()
        // Without tr(1) inside, the variables that follow stand right behind it.
        .filter(|row| row.own.strip_prefix('c').is_some_and(|own| in_flight.iter().any(|call| own.starts_with(call))))
        .map(|row| row.session)
        .collect();
    let mut evidence = Evidence::default();
    for row in &all {
        if row.pid == 1 || Some(row.pid) == main || flying.contains(&row.session) {
            continue;
        }
        // A script of ours that did not come to its program: it is nobody's work.
        if row.line.contains(sign!()) {
            continue;
        }
        // With arguments it runs a script.
        let program = row.line.trim_start_matches('-').rsplit('/').next().unwrap_or_default();
        let bare = !row.line.contains(' ') && (program.is_empty() || is_shell(program));
        if row.own == "s" && row.session == row.pid && bare && is_shell(&row.name) {
            let alone = !all.iter().any(|other| other.session == row.pid && other.pid != row.pid);
            match (alone, row.state == 'S' && row.foreground == row.group) {
                (true, true) => {
                    evidence.idle_shells += 1;
                    continue;
                }
                (true, false) => {}
                // The others in its session speak for it.
                (false, _) => continue,
            }
        }
        // Started by the engine from outside, and not by us.
        evidence.execs += u32::from(row.parent == 0 && row.own == "-");
        let command = if row.line.is_empty() { &row.name } else { &row.line };
        let command: String = command.chars().take(LONGEST_LINE).collect();
        // A tick is a hundredth of a second on every Linux (proc(5), USER_HZ).
        let started = Moment(boot.unwrap_or(0) * 1000 + row.born * 10);
        evidence.processes.push(LiveProcess { pid: row.pid, command, started });
    }
    evidence
}

/// Those of the engines and the usual ones of images.
fn is_init(name: &str) -> bool {
    matches!(name, "docker-init" | "podman-init" | "catatonit" | "tini" | "tini-static" | "dumb-init")
}

fn is_shell(name: &str) -> bool {
    matches!(name, "bash" | "zsh" | "ash" | "sh" | "dash" | "fish" | "ksh" | "busybox")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCANNED: &str = "btime 1000\n1 0 1 1 S -1 50 - docker-init\t/sbin/docker-init -- sleep 1\n\
        7 1 7 1 S -1 51 - sleep\tsleep 1\n20 0 20 20 S 20 100 s bash\tbash \n30 0 30 30 S -1 200 - python3\tpython3 a b \n\
        31 30 30 30 Z -1 201 - gone\t\n40 1 40 40 S -1 300 - my (odd) name\t\n50 0 50 50 R -1 400 ccall-1 make\tmake \n";

    #[test]
    fn what_counts_is_neither_init_nor_main_nor_an_idle_shell_nor_in_flight() {
        let found = weigh(SCANNED, &BTreeSet::from(["call-1".to_owned()]));
        let commands: Vec<&str> = found.processes.iter().map(|one| one.command.as_str()).collect();
        assert_eq!(commands, ["python3 a b", "my (odd) name"]);
        assert_eq!((found.idle_shells, found.execs), (1, 1));
        assert_eq!(found.processes[0].started, Moment(1_002_000));
        assert_eq!(weigh(SCANNED, &BTreeSet::new()).processes.len(), 3, "a call of nobody counts");
        // Where the image has no tr(1), words and variables stand together.
        let stub = "60 0 60 60 S -1 300 s sh\tsh -c # hermes-tui: start a program\n";
        assert_eq!(weigh(stub, &BTreeSet::new()), Evidence::default());
        let joined = "50 0 50 50 R -1 400 ccall-1PATH make\tmakeall\n20 0 20 20 S 20 100 s bash\tbash-cexit\n";
        let found = weigh(joined, &BTreeSet::from(["call-1".to_owned()]));
        assert_eq!(found.processes.iter().map(|one| one.command.as_str()).collect::<Vec<_>>(), ["bash-cexit"]);
    }

    #[test]
    fn a_shell_with_a_job_lets_the_job_count() {
        let scan = "20 0 20 20 S 21 100 s bash\tbash\n21 20 21 20 R 21 101 - vim\tvim\n";
        let found = weigh(scan, &BTreeSet::new());
        assert_eq!((found.idle_shells, found.processes.len(), found.processes[0].pid), (0, 1, 21));
    }

    #[test]
    fn children_of_a_main_command_without_an_init_count() {
        let scan = "1 0 1 1 S -1 50 - server\tserver\n7 1 1 1 S -1 51 - worker\tworker\n";
        let found = weigh(scan, &BTreeSet::new());
        assert_eq!((found.processes.len(), found.processes[0].pid), (1, 7));
    }

    #[test]
    fn what_a_script_says_is_told_from_what_follows() {
        assert_eq!(said(b""), Said::Nothing);
        assert_eq!(said(b"\x1e12 3"), Said::Nothing);
        let leader = Leader { pid: "12".into(), born: "345".into() };
        assert_eq!(said(b"\x1e12 345\x1eout\x1e"), Said::Ready(leader, 8));
        assert_eq!(said(b"\x1e!no way\x1e"), Said::No("no way".into()));
    }
}
