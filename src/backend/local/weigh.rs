//! Which processes count as evidence that a sandbox is in use.

use super::process::{self, Stat};
use super::protocol::ProcessRow;
use std::sync::atomic::{AtomicU64, Ordering};

/// A shell that we started on a PTY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// Its process, leader of its session.
    pub leader: i32,
    /// The name of its process. Another one means that it has replaced itself by another program.
    pub name: String,
    /// The terminal's foreground process group.
    pub foreground: Option<i32>,
}

/// Weighs the processes of a sandbox, its first one left out. Zombies, commands in flight (they are known by their
/// sessions) and shells at their prompt do not count.
///
/// A shell sits at its prompt when nothing else lives in its session, its terminal is its own, and it sleeps. With
/// others in its session, they speak for it. Returns the processes that count, and how many shells are idle.
pub fn weigh(everything: &[Stat], shells: &[Shell], in_flight: &[i32]) -> (Vec<ProcessRow>, u32) {
    let clock = Clock::now();
    let mut idle = 0;
    let mut rows = Vec::new();
    for stat in everything.iter().filter(|one| !one.is_dead() && !in_flight.contains(&one.session)) {
        let Some(shell) = shells.iter().find(|one| one.leader == stat.pid && one.name == stat.comm) else {
            rows.push(clock.row(stat));
            continue;
        };
        let alone = !everything.iter().any(|one| one.session == stat.pid && one.pid != stat.pid && !one.is_dead());
        let at_prompt = stat.state == 'S' && shell.foreground == Some(stat.group);
        match (alone, at_prompt) {
            (true, true) => idle += 1,
            // Busy by itself, for example in a loop of built-in commands.
            (true, false) => rows.push(clock.row(stat)),
            (false, _) => {}
        }
    }
    (rows, idle)
}

/// The last known time of boot. The two clocks cannot be read at one instant, so each reading differs by a
/// millisecond or so; a process must keep its start, or it would look like another one.
static BOOT_MS: AtomicU64 = AtomicU64::new(0);

/// A difference beyond this is no jitter: somebody has set the time of day.
const CLOCK_SET_MS: u64 = 1000;

/// Turns ticks since boot into times of day.
struct Clock {
    boot_ms: u64,
    ticks_per_second: u64,
}

impl Clock {
    fn now() -> Self {
        let today = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_millis() as u64);
        // SAFETY: reads a constant of the system.
        let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        let read = today.saturating_sub(since_boot_ms());
        let known = BOOT_MS.load(Ordering::Relaxed);
        let boot_ms = if read.abs_diff(known) > CLOCK_SET_MS { read } else { known };
        BOOT_MS.store(boot_ms, Ordering::Relaxed);
        Self { boot_ms, ticks_per_second: u64::try_from(ticks).unwrap_or(100).max(1) }
    }

    fn row(&self, stat: &Stat) -> ProcessRow {
        ProcessRow {
            pid: stat.pid.unsigned_abs(),
            command: process::command_line(stat),
            started_ms: self.boot_ms + stat.started.saturating_mul(1000) / self.ticks_per_second,
        }
    }
}

/// Milliseconds since boot, suspend included, as the kernel counts the start of processes.
#[cfg(target_os = "linux")]
fn since_boot_ms() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours and large enough.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    (time.tv_sec as u64) * 1000 + (time.tv_nsec as u64) / 1_000_000
}

/// Without `/proc` there are no processes to date.
#[cfg(not(target_os = "linux"))]
fn since_boot_ms() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: i32, session: i32, comm: &str, state: char) -> Stat {
        Stat { pid, comm: comm.into(), state, group: pid, session, started: 0 }
    }

    fn shell(foreground: i32) -> Vec<Shell> {
        vec![Shell { leader: 10, name: "bash".into(), foreground: Some(foreground) }]
    }

    fn pids(everything: &[Stat], shells: &[Shell], in_flight: &[i32]) -> (Vec<u32>, u32) {
        let (rows, idle) = weigh(everything, shells, in_flight);
        (rows.into_iter().map(|row| row.pid).collect(), idle)
    }

    #[test]
    fn a_shell_at_its_prompt_is_idle_and_does_not_count() {
        assert_eq!(pids(&[stat(10, 10, "bash", 'S')], &shell(10), &[]), (vec![], 1));
    }

    #[test]
    fn a_shell_with_a_job_lets_the_job_count() {
        let all = [stat(10, 10, "bash", 'S'), stat(11, 10, "make", 'R')];
        assert_eq!(pids(&all, &shell(11), &[]), (vec![11], 0));
        assert_eq!(pids(&all, &shell(10), &[]), (vec![11], 0));
    }

    #[test]
    fn a_busy_shell_and_one_that_became_another_program_count() {
        assert_eq!(pids(&[stat(10, 10, "bash", 'R')], &shell(10), &[]), (vec![10], 0));
        assert_eq!(pids(&[stat(10, 10, "vim", 'S')], &shell(10), &[]), (vec![10], 0));
    }

    #[test]
    fn zombies_and_commands_in_flight_do_not_count_but_what_they_left_behind_does() {
        let all = [stat(20, 20, "cargo", 'R'), stat(21, 20, "rustc", 'R'), stat(22, 22, "old", 'Z')];
        assert_eq!(pids(&all, &[], &[20]), (vec![], 0));
        assert_eq!(pids(&all, &[], &[]), (vec![20, 21], 0));
    }
}
