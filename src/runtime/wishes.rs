//! Where a person sits: texts go to a program of theirs for copying, or into their editor.

use super::terminal;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Something that only the process in a person's terminal can do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wish {
    /// Give this text to their program for copying.
    Copy(String),
    /// Show this text in their editor.
    Edit(String),
}

/// Where wishes go. False when nobody takes them any more.
pub type Wishes = Box<dyn Fn(Wish) -> bool + Send>;

/// Gives a text to a program, in a thread of its own; `failed` is called with a sentence where that goes wrong.
pub fn copy(command: &[String], text: String, failed: impl FnOnce(String) + Send + 'static) {
    let Some((program, args)) = command.split_first() else { return };
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let program = program.clone();
    std::thread::spawn(move || {
        if let Err(why) = feed(&mut command, text.as_bytes()) {
            failed(format!("`{program}` did not take what was copied: {why} · see copy.command in the configuration"));
        }
    });
}

fn feed(command: &mut Command, text: &[u8]) -> Result<(), String> {
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(text));
    let ended = child.wait().map_err(|error| error.to_string())?;
    match (ended.success(), written) {
        (true, Ok(())) => Ok(()),
        (true, Err(error)) => Err(format!("it did not read all of it: {error}")),
        (false, _) => Err(format!("it failed ({ended})")),
    }
}

/// Shows a text in the editor that VISUAL or EDITOR names, else vi, in the terminal of this process, and waits for its end. The
/// text is in a file that only this user can read, which is removed then.
///
/// # Errors
/// A sentence for people: there is no editor, or it cannot be run.
pub fn edit(text: &str) -> Result<(), String> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let failed = |error: io::Error| format!("the text cannot be put into a file for the editor: {error}");
    let file = Temporary::with(&folder(), text.as_bytes()).map_err(failed)?;
    let ended = terminal::away(|| {
        // As other programs take these variables: words for a shell.
        Command::new("sh").args(["-c", &format!("{editor} \"$@\""), &editor]).arg(&file.0).status()
    });
    match ended {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("the editor `{editor}` failed ({status}); VISUAL and EDITOR name another")),
        Ok(Err(error)) => Err(format!("the editor `{editor}` cannot be run: {error}")),
        Err(error) => Err(format!("the terminal cannot be taken again: {error}")),
    }
}

/// A folder that is this user's own where there is one.
fn folder() -> PathBuf {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    own.unwrap_or_else(std::env::temp_dir)
}

/// A file that is removed when dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn with(folder: &Path, bytes: &[u8]) -> io::Result<Self> {
        let path = folder.join(format!("hermes-tui-{}.txt", uuid::Uuid::new_v4()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let made = Self(path);
        file.write_all(bytes)?;
        Ok(made)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::mpsc;

    fn run(script: &str, text: &str) -> Option<String> {
        let (told, failure) = mpsc::channel();
        let command = ["sh", "-c", script].map(str::to_owned);
        copy(&command, text.to_owned(), move |why| told.send(why).unwrap());
        // The sender goes with the thread, also where nothing failed.
        failure.recv().ok()
    }

    #[test]
    fn a_program_gets_the_whole_text_and_what_it_lacks_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("copied");
        let text = "x".repeat(3 << 20);
        assert_eq!(run(&format!("cat >'{}'", file.display()), &text), None);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        assert!(run("cat >/dev/null; exit 3", "x").unwrap().contains("exit status: 3"));
        let (told, failure) = mpsc::channel();
        copy(&["/no/such/program".to_owned()], String::new(), move |why| told.send(why).unwrap());
        assert!(failure.recv().unwrap().contains("No such file"), "said");
    }

    #[test]
    fn the_file_for_the_editor_is_this_users_alone_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let file = Temporary::with(folder.path(), b"text").unwrap();
        assert_eq!(fs::read(&file.0).unwrap(), b"text");
        assert_eq!(fs::metadata(&file.0).unwrap().permissions().mode() & 0o777, 0o600);
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
