//! Starts programs inside: on a PTY, or on three pipes.

use super::super::protocol::Launch;
use super::super::shell::{self, NotStarted};
use super::{INSIDE_HOME, INSIDE_USER};
use crate::domain::Size;
use nix::sys::signal::SigSet;
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where programs are looked for unless `PATH` is set.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What every program inside starts with.
pub struct Surroundings {
    vars: BTreeMap<String, String>,
    configured: Option<String>,
}

/// A program on a PTY.
pub struct OnPty {
    /// The end that hosts read and write.
    pub master: Box<dyn MasterPty + Send>,
    /// Its leader, also the id of its session and first process group.
    pub leader: i32,
    /// Name of the process if it is a shell of ours.
    pub shell: Option<String>,
}

/// A program on three pipes.
pub struct OnPipes {
    /// Its leader, also the id of its session.
    pub leader: i32,
    /// The host's ends: input, output, errors.
    pub ends: [OwnedFd; 3],
}

impl Surroundings {
    /// From the launch, with defaults under the user's variables.
    pub fn new(launch: &Launch) -> Self {
        let defaults = [
            ("PATH", PATH),
            ("HOME", INSIDE_HOME),
            ("USER", INSIDE_USER),
            ("LOGNAME", INSIDE_USER),
            ("LANG", "C.UTF-8"),
            ("HTUI_SANDBOX", launch.sandbox.as_str()),
        ];
        let mut vars: BTreeMap<_, _> =
            defaults.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        vars.extend(launch.vars.clone());
        if let Ok(shell) = shell::find(launch.shell.as_deref(), vars.get("PATH").map_or(PATH, String::as_str)) {
            vars.entry("SHELL".into()).or_insert(shell);
        }
        Self { vars, configured: launch.shell.clone() }
    }

    fn with(&self, terminal: bool, more: &[(String, String)]) -> BTreeMap<String, String> {
        let mut vars = self.vars.clone();
        if terminal {
            vars.insert("TERM".into(), "xterm-256color".into());
            vars.insert("COLORTERM".into(), "truecolor".into());
        }
        vars.extend(more.iter().cloned());
        // A name or value that no environment can hold would make the start fail as a whole.
        vars.retain(|key, value| !key.is_empty() && !key.contains(['=', '\0']) && !value.contains('\0'));
        vars
    }

    /// Starts a program, or a shell if `program` is empty, in a session of its own on a PTY of this size. `lead` leads to
    /// the shell.
    pub fn on_pty(
        &self,
        program: &[String],
        lead: &[String],
        more: &[(String, String)],
        cwd: Option<&str>,
        size: Size,
    ) -> Result<OnPty, NotStarted> {
        let cwd = directory(cwd)?;
        let mut vars = self.with(true, more);
        let path = vars.get("PATH").cloned().unwrap_or_default();
        let (argv, shell) = if program.is_empty() {
            let shell = shell::find(self.configured.as_deref(), &path)?;
            vars.entry("PS1".into()).or_insert_with(|| shell::prompt(&shell).into());
            let name = shell::process_name(&shell);
            (shell::led(lead, shell), Some(name))
        } else {
            (shell::checked(program)?, None)
        };
        let mut command = CommandBuilder::new(shell::resolve(&argv[0], &path, cwd)?);
        command.args(&argv[1..]);
        command.env_clear();
        for (key, value) in &vars {
            command.env(key, value);
        }
        command.cwd(cwd);
        let failed =
            |error: &dyn std::fmt::Display| NotStarted { code: 125, why: format!("cannot open a terminal: {error}") };
        let size = PtySize { rows: size.rows, cols: size.cols, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).map_err(|error| failed(&error))?;
        let child = pair.slave.spawn_command(command).map_err(|error| failed(&error))?;
        // The slave is dropped here: the end of the last program must be the end of the output.
        let leader = child.process_id().and_then(|pid| i32::try_from(pid).ok()).ok_or_else(|| failed(&"no process"))?;
        Ok(OnPty { master: pair.master, leader, shell })
    }

    /// Starts a command in a session of its own on three pipes.
    pub fn on_pipes(
        &self,
        argv: &[String],
        more: &[(String, String)],
        cwd: Option<&str>,
    ) -> Result<OnPipes, NotStarted> {
        let cwd = directory(cwd)?;
        let argv = shell::checked(argv)?;
        let vars = self.with(false, more);
        let program = shell::resolve(&argv[0], vars.get("PATH").map_or("", String::as_str), cwd)?;
        let mut command = Command::new(&program);
        command.arg0(&argv[0]).args(&argv[1..]).env_clear().envs(&vars).current_dir(cwd);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let hears_all = SigSet::empty();
        // SAFETY: both are safe to call between fork and exec (signal-safety(7)).
        unsafe {
            command.pre_exec(move || {
                // The first process blocks the signals that it takes from a queue, and a program inherits that.
                hears_all.thread_set_mask()?;
                if libc::setsid() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
            });
        }
        let mut child = command.spawn().map_err(|error| NotStarted::from_exec(&program, &error))?;
        let ends = match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(input), Some(output), Some(errors)) => [input.into(), output.into(), errors.into()],
            _ => return Err(NotStarted { code: 125, why: "the pipes of the command are missing".into() }),
        };
        Ok(OnPipes { leader: child.id() as i32, ends })
    }
}

/// The directory to start in.
fn directory(cwd: Option<&str>) -> Result<&Path, NotStarted> {
    let path = Path::new(cwd.unwrap_or("/workspace"));
    if path.is_absolute() && path.is_dir() {
        return Ok(path);
    }
    Err(NotStarted { code: 125, why: format!("there is no directory {} inside the sandbox", path.display()) })
}
