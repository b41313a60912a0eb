//! Finds shells and programs by name, and says exactly why when it cannot.

use nix::unistd::{AccessFlags, access};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Shells, best first.
const SHELLS: [&str; 4] = ["bash", "zsh", "ash", "sh"];

/// A program that could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotStarted {
    /// 125 our failure, 126 not executable, 127 not found.
    pub code: i32,
    /// One sentence.
    pub why: String,
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl NotStarted {
    /// What the kernel said when the program was to be executed.
    pub fn from_exec(program: &Path, error: &io::Error) -> Self {
        let code = match error.kind() {
            io::ErrorKind::NotFound => 127,
            io::ErrorKind::PermissionDenied => 126,
            io::ErrorKind::ArgumentListTooLong => 126,
            _ if error.raw_os_error() == Some(libc::ENOEXEC) => 126,
            _ => 125,
        };
        Self { code, why: format!("cannot run {}: {error}", program.display()) }
    }
}

/// The configured shell, else the first of bash, zsh, ash, sh.
pub fn find(configured: Option<&str>, path: &str) -> Result<String, NotStarted> {
    if let Some(name) = configured {
        return resolve(name, path, Path::new("/")).map(|found| found.to_string_lossy().into_owned());
    }
    SHELLS
        .iter()
        .find_map(|name| resolve(name, path, Path::new("/")).ok())
        .map(|found| found.to_string_lossy().into_owned())
        .ok_or_else(|| NotStarted {
            code: 127,
            why: format!("there is no shell: looked for {} in {path}", SHELLS.join(", ")),
        })
}

/// The argument vector of a shell, which is a login shell unless a script leads to it: that one has set its variables.
pub fn led(lead: &[String], shell: String) -> Vec<String> {
    if lead.is_empty() {
        return vec![shell, "-l".to_owned()];
    }
    ["/bin/sh", "-c"].map(str::to_owned).into_iter().chain(lead.iter().cloned()).chain([shell]).collect()
}

/// A prompt for a shell that finds none in its start files: user, place, sign.
pub fn prompt(shell: &str) -> &'static str {
    match shell.rsplit('/').next() {
        Some("bash") => r"\u@\h:\w\$ ",
        Some("zsh") => "%n@%m:%~%# ",
        _ => "${PWD} $ ",
    }
}

/// The name that the kernel gives a process that runs this file: 15 bytes of its last part (proc(5), `comm`).
pub fn process_name(shell: &str) -> String {
    let name = shell.rsplit('/').next().unwrap_or(shell);
    String::from_utf8_lossy(&name.as_bytes()[..name.len().min(15)]).into_owned()
}

/// The argument vector, if it can be one.
pub fn checked(argv: &[String]) -> Result<Vec<String>, NotStarted> {
    let why = match argv.first() {
        None => "no command was given",
        Some(program) if program.is_empty() => "the command's name is empty",
        Some(_) if argv.iter().any(|one| one.contains('\0')) => "an argument holds a zero byte",
        Some(_) => return Ok(argv.to_vec()),
    };
    Err(NotStarted { code: 127, why: why.into() })
}

/// The file that a name stands for, looked up as execvp(3) does.
pub fn resolve(name: &str, path: &str, cwd: &Path) -> Result<PathBuf, NotStarted> {
    let candidates: Vec<PathBuf> = if name.contains('/') {
        vec![cwd.join(name)]
    } else {
        path.split(':').filter(|folder| !folder.is_empty()).map(|folder| cwd.join(folder).join(name)).collect()
    };
    let mut forbidden = None;
    for file in candidates {
        if file.is_file() && access(&file, AccessFlags::X_OK).is_ok() {
            return Ok(file);
        }
        if file.exists() && forbidden.is_none() {
            forbidden = Some(file);
        }
    }
    Err(match forbidden {
        Some(file) if file.is_dir() => {
            NotStarted { code: 126, why: format!("cannot run {name}: {} is a directory", file.display()) }
        }
        Some(file) => NotStarted { code: 126, why: format!("cannot run {name}: {} is not executable", file.display()) },
        None if name.contains('/') => NotStarted { code: 127, why: format!("cannot run {name}: no such file") },
        None => NotStarted { code: 127, why: format!("cannot run {name}: command not found in {path}") },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_missing_or_not_executable() {
        let dir = tempfile::tempdir().expect("folder");
        std::fs::write(dir.path().join("plain"), "x").expect("file");
        let path = format!("{}:/usr/bin:/bin", dir.path().display());
        let code = |name: &str| resolve(name, &path, Path::new("/")).map_err(|error| error.code);
        assert!(code("sh").is_ok());
        assert_eq!(code("plain"), Err(126));
        assert_eq!(code("no-such-program"), Err(127));
        assert_eq!(code("/usr/bin"), Err(126));
        assert_eq!(code("./x"), Err(127));
    }

    #[test]
    fn no_shell_at_all_is_one_sentence() {
        let error = find(None, "/nonexistent").expect_err("nothing there");
        assert_eq!(error.why, "there is no shell: looked for bash, zsh, ash, sh in /nonexistent");
        assert_eq!(find(Some("fish-that-is-not-here"), "/usr/bin").expect_err("missing").code, 127);
    }

    #[test]
    fn an_argument_vector_needs_a_name_and_no_zero_bytes() {
        assert!(checked(&[]).is_err());
        assert!(checked(&[String::new()]).is_err());
        assert!(checked(&["a".into(), "b\0".into()]).is_err());
        assert_eq!(checked(&["a".into()]).expect("fine"), ["a"]);
    }
}
