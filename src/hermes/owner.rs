//! Whether a process that may still use a container lives on this machine.
//!
//! A container that is not found again by later processes is of use to the one that made it alone. That one was there
//! before its container, and runs in Python. So where no such process is left, the owner is gone for certain; where
//! one is, it may be it. On another machine, or where processes are hidden, nothing can be told.

use crate::domain::Moment;
use std::path::Path;

/// The first process-number namespace of a machine has this number on every Linux (`PROC_PID_INIT_INO`).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";
/// Times of processes are only as good as that of the machine's boot, which is in whole seconds.
const SLACK: u64 = 2_000;
/// Programs in these folders are the system's.
const SYSTEM: [&str; 5] = ["/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/share/", "/usr/libexec/"];

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This one may be it: its number and its command line.
    Possible(u32, String),
    /// It is gone.
    Gone,
    /// It cannot be told, and why.
    Unknown(&'static str),
}

/// Looks for the process that made a container: `made` is when, `main` the number of the container's first process on
/// this machine, and `container` its id.
#[must_use]
pub fn find(made: Moment, main: u32, container: &str) -> Owner {
    find_in(Path::new("/proc"), made, main, container)
}

/// Whether a process that was found lives.
#[must_use]
pub fn lives(pid: u32) -> bool {
    Process::read(&Path::new("/proc").join(pid.to_string()), 0).is_some()
}

fn find_in(proc: &Path, made: Moment, main: u32, container: &str) -> Owner {
    let namespace = std::fs::read_link(proc.join("self/ns/pid")).unwrap_or_default();
    if namespace.as_os_str() != FIRST_NAMESPACE {
        return Owner::Unknown("not every process of the machine can be seen from here");
    }
    // The engine runs here, too, if the container's own process does.
    let groups = std::fs::read_to_string(proc.join(main.to_string()).join("cgroup")).unwrap_or_default();
    if container.is_empty() || !groups.contains(container) {
        return Owner::Unknown("the engine may be on another machine");
    }
    let Some(boot) = boot(proc) else { return Owner::Unknown("the time of boot is not known") };
    let Ok(entries) = std::fs::read_dir(proc) else { return Owner::Unknown("processes cannot be listed") };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut first_seen = false;
    for pid in numbers {
        let Some(process) = Process::read(&proc.join(pid.to_string()), boot) else { continue };
        first_seen |= pid == 1;
        if process.started.0 <= made.0 + SLACK && process.may_be_hermes() {
            return Owner::Possible(pid, process.line);
        }
    }
    // Where those of others are hidden (`hidepid`), so is the first of all.
    if first_seen { Owner::Gone } else { Owner::Unknown("processes of others are hidden") }
}

fn boot(proc: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(proc.join("stat")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse::<u64>().ok()
}

struct Process {
    started: Moment,
    /// Name of its program's file, or what it calls itself where that cannot be read.
    program: String,
    words: Vec<String>,
    line: String,
}

impl Process {
    fn read(folder: &Path, boot: u64) -> Option<Self> {
        let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
        let (head, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        if matches!(*fields.first()?, "Z" | "X") {
            return None;
        }
        // Field 22 of proc_pid_stat(5), in hundredths of a second since boot.
        let ticks: u64 = fields.get(19)?.parse().ok()?;
        let line = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let words: Vec<String> = line.split('\0').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let named = head.split_once('(').map(|(_, name)| name.to_owned()).unwrap_or_default();
        let program = match std::fs::read_link(folder.join("exe")) {
            Ok(path) => base(&path.to_string_lossy()).to_owned(),
            Err(_) => words.first().map_or(named, |word| base(word).to_owned()),
        };
        let line = words.join(" ");
        Some(Self { started: Moment(boot * 1000 + ticks * 10), program, words, line })
    }

    fn may_be_hermes(&self) -> bool {
        let python = ["python", "pypy"].iter().any(|name| self.program.starts_with(name));
        if !python {
            return matches!(self.program.as_str(), "hermes" | "hermes-agent" | "hermes-gateway");
        }
        let script = self.words.iter().skip(1).find(|word| !word.starts_with('-'));
        let of_system = script.is_some_and(|script| SYSTEM.iter().any(|folder| script.starts_with(folder)));
        !of_system || self.line.contains("hermes")
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A `/proc` of its own: boot at second 1000, and a container's process 50.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().expect("a folder"));
            let proc = machine.0.path();
            std::fs::create_dir_all(proc.join("self/ns")).expect("a folder");
            symlink(FIRST_NAMESPACE, proc.join("self/ns/pid")).expect("a link");
            std::fs::write(proc.join("stat"), "cpu 1\nbtime 1000\n").expect("a file");
            machine.process(1, "/sbin/init", 1, &["/sbin/init"]);
            machine.process(50, "/bin/sleep", 5000, &["sleep", "infinity"]);
            std::fs::write(proc.join("50/cgroup"), "0::/docker/abc\n").expect("a file");
            machine
        }

        fn process(&self, pid: u32, exe: &str, ticks: u64, words: &[&str]) {
            let folder = self.0.path().join(pid.to_string());
            std::fs::create_dir_all(&folder).expect("a folder");
            symlink(exe, folder.join("exe")).expect("a link");
            let zeros = "0 ".repeat(18);
            std::fs::write(folder.join("stat"), format!("{pid} (a (b) c) S {zeros}{ticks} 0\n")).expect("a file");
            std::fs::write(folder.join("cmdline"), words.join("\0")).expect("a file");
        }

        /// For the container `abc`, made 50 s after boot.
        fn find(&self) -> Owner {
            find_in(self.0.path(), Moment(1_050_000), 50, "abc")
        }
    }

    #[test]
    fn an_owner_is_gone_where_no_python_is_older_than_its_container() {
        let machine = Machine::new();
        machine.process(60, "/usr/bin/python3.11", 100, &["/usr/bin/python3", "/usr/bin/networkd-dispatcher"]);
        machine.process(61, "/opt/venv/bin/python3", 9000, &["python3", "-c", "started later"]);
        assert_eq!(machine.find(), Owner::Gone);
        machine.process(62, "/usr/bin/python3.11", 4000, &["python3", "-m", "anything"]);
        assert_eq!(machine.find(), Owner::Possible(62, "python3 -m anything".into()));
    }

    #[test]
    fn where_it_cannot_be_told_nothing_is_said() {
        let machine = Machine::new();
        assert!(matches!(find_in(machine.0.path(), Moment(0), 50, "other"), Owner::Unknown(_)));
        assert!(matches!(find_in(machine.0.path(), Moment(0), 51, "abc"), Owner::Unknown(_)));
        std::fs::remove_dir_all(machine.0.path().join("1")).expect("removed");
        assert!(matches!(machine.find(), Owner::Unknown(_)), "hidden processes");
        let proc = machine.0.path();
        std::fs::remove_file(proc.join("self/ns/pid")).expect("removed");
        symlink("pid:[1]", proc.join("self/ns/pid")).expect("a link");
        assert!(matches!(machine.find(), Owner::Unknown(_)), "inside a container");
    }
}
