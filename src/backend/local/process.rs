//! What `/proc` says about processes: identity that survives the reuse of a pid, sessions, command lines.

use std::fs;
use std::io;

/// The fields of `/proc/PID/stat` that are used here (proc(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Process id, in the pid namespace of the `/proc` that was read.
    pub pid: i32,
    /// Name of its program, at most 15 bytes.
    pub comm: String,
    /// State letter: `R`, `S`, `Z`...
    pub state: char,
    /// Process group.
    pub group: i32,
    /// Session, the pid of its leader.
    pub session: i32,
    /// Start, in clock ticks since boot. With the pid it names one process for good.
    pub started: u64,
}

impl Stat {
    /// Whether it has ended and only waits for its parent to notice.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Parses one line of `/proc/PID/stat`. The name may hold spaces and parentheses, so it ends at the last one.
fn parse(line: &str) -> Option<Stat> {
    let open = line.find('(')?;
    let close = line.rfind(')')?;
    let pid = line.get(..open)?.trim().parse().ok()?;
    let comm = line.get(open + 1..close)?.to_owned();
    let rest: Vec<&str> = line.get(close + 1..)?.split_whitespace().collect();
    Some(Stat {
        pid,
        comm,
        state: rest.first()?.chars().next()?,
        group: rest.get(2)?.parse().ok()?,
        session: rest.get(3)?.parse().ok()?,
        started: rest.get(19)?.parse().ok()?,
    })
}

/// One process, if it is there.
pub fn stat(pid: i32) -> Option<Stat> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(&String::from_utf8_lossy(&bytes))
}

/// Every process that `/proc` shows.
pub fn all() -> io::Result<Vec<Stat>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        if let Some(pid) = name.to_str().and_then(|name| name.parse().ok())
            && let Some(stat) = stat(pid)
        {
            found.push(stat);
        }
    }
    Ok(found)
}

/// The living members of a session.
pub fn members(session: i32) -> io::Result<Vec<Stat>> {
    Ok(all()?.into_iter().filter(|stat| stat.session == session && !stat.is_dead()).collect())
}

/// Its command line on one line, without control characters, cut to 200; its name if it has none.
pub fn command_line(stat: &Stat) -> String {
    let bytes = fs::read(format!("/proc/{}/cmdline", stat.pid)).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let text: String =
        text.trim_end_matches('\0').chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
    if text.trim().is_empty() { format!("[{}]", stat.comm) } else { text }
}

/// Makes this process and its children hear every signal again. Who started the host may have had some ignored, as a
/// script has in what it runs in the background, and a program keeps that through its start (execve(2)): then Ctrl-C
/// would end nothing in a sandbox. Safe between fork and exec.
pub fn hear_all_signals() {
    // Not SIGPIPE, which this program ignores itself and gives back to those that it starts.
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGALRM, libc::SIGUSR1]
        .into_iter()
        .chain([libc::SIGUSR2, libc::SIGCHLD, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGWINCH])
    {
        // SAFETY: sets a default and has no handler; safe between fork and exec (signal-safety(7)).
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = "42 (a ) b (c) S 1 42 7 34816 43 4194304 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1";
        let stat = parse(line).expect("parses");
        assert_eq!((stat.pid, stat.comm.as_str(), stat.state), (42, "a ) b (c", 'S'));
        assert_eq!((stat.group, stat.session, stat.started), (42, 7, 12345));
    }

    #[test]
    fn a_cut_line_is_no_process() {
        assert_eq!(parse("42 (sh) S 1 42"), None);
        assert_eq!(parse(""), None);
    }
}
