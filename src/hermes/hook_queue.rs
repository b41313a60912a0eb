//! The queue of a profile between the hooks of hermes-agents and its host: a folder with one small file for each event.
//!
//! It is ours, not a hermes-agent's. A file is written beside its place and moved there, so that a reader only sees
//! whole ones; nothing is synchronised with the disk, because the agent waits, and a reader drops what a loss of power
//! has broken. A name begins with a number that grows with each arrival, also when the clock steps back; the number of
//! the process makes it unique, and the size that stands in it lets the bound be kept without a look at every file.

use super::hooks::TurnEnd;
use std::cmp::Reverse;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Larger files are none of ours.
const LARGEST: u64 = 1 << 20;
/// A file that was begun so many milliseconds ago and never moved to its place belongs to a process that is gone.
const ABANDONED: u64 = 600_000;

/// How much waits at most. When it is full, the oldest events go: what the host has to know most is what runs now, and
/// of older turns hermes-agent's own records tell. Each hook lists the folder while its agent waits, so that many files
/// would cost it milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of files.
    pub files: usize,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files: 4_000, bytes: 64 << 20 }
    }
}

/// What the name of a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    number: u64,
    bytes: u64,
    text: String,
}

impl Name {
    fn new(number: u64, bytes: u64) -> Self {
        Self { number, bytes, text: format!("{number:020}-{:010}-{bytes:08}.json", std::process::id()) }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_suffix(".json")?.split('-');
        let mut part = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits)?;
            part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u64>().ok())?
        };
        let (number, _process, bytes) = (part(20)?, part(10)?, part(8)?);
        parts.next().is_none().then(|| Self { number, bytes, text: text.to_owned() })
    }
}

/// The files of the queue in any order, and the names of those that are not in their place yet.
fn list(folder: &Path) -> io::Result<(Vec<Name>, Vec<Name>)> {
    let (mut whole, mut begun) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name();
        let Some(text) = name.to_str() else { continue };
        if let Some(name) = text.strip_prefix('.').and_then(Name::parse) {
            begun.push(name);
        } else if let Some(name) = Name::parse(text) {
            whole.push(name);
        }
    }
    Ok((whole, begun))
}

/// Puts an event into the queue in a folder that exists, and gives the name that it got. Where that would be more than
/// the limits allow, the oldest make room.
///
/// # Errors
/// The folder cannot be read or written; then nothing of the event is left.
pub fn push(folder: &Path, event: &TurnEnd, limits: Limits) -> io::Result<String> {
    let bytes = event.to_stored()?;
    let (mut waiting, begun) = list(folder)?;
    for name in begun.iter().filter(|name| name.number / 1000 + ABANDONED < event.at.0) {
        let _ = fs::remove_file(folder.join(format!(".{}", name.text)));
    }
    let newest = waiting.iter().map(|name| name.number).max();
    let number = newest.map_or(0, |newest| newest.saturating_add(1)).max(event.at.0.saturating_mul(1000));
    let size = bytes.len() as u64;
    make_room(folder, &mut waiting, size, limits);
    let name = Name::new(number, size).text;
    let draft = folder.join(format!(".{name}"));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut file| file.write_all(&bytes))
        .and_then(|()| fs::rename(&draft, folder.join(&name)));
    if let Err(error) = written {
        let _ = fs::remove_file(&draft);
        return Err(error);
    }
    Ok(name)
}

fn make_room(folder: &Path, waiting: &mut Vec<Name>, size: u64, limits: Limits) {
    let mut total: u64 = waiting.iter().map(|name| name.bytes).sum();
    let full = |files: usize, total: u64| files + 1 > limits.files || total + size > limits.bytes;
    if full(waiting.len(), total) {
        waiting.sort_by(|one, other| Reverse(&one.text).cmp(&Reverse(&other.text)));
    }
    while full(waiting.len(), total) {
        let Some(oldest) = waiting.pop() else { return };
        total -= oldest.bytes;
        // Another process may have done it.
        let _ = fs::remove_file(folder.join(&oldest.text));
    }
}

/// The oldest events of the queue, at most so many, in the order in which they arrived, each with its name. They stay
/// until they are [removed](remove). Files that are broken, or of another version, are deleted; where there is no
/// queue, nothing waits.
#[must_use]
pub fn read_queue(folder: &Path, limit: usize) -> Vec<(String, TurnEnd)> {
    let mut names: Vec<String> = list(folder).unwrap_or_default().0.into_iter().map(|name| name.text).collect();
    names.sort_unstable();
    let mut events = Vec::new();
    for name in names {
        if events.len() == limit {
            break;
        }
        // What cannot be read now, or was taken meanwhile, is not broken.
        let Ok(bytes) = read(&folder.join(&name)) else { continue };
        match TurnEnd::from_stored(&bytes) {
            Some(event) => events.push((name, event)),
            None => {
                let _ = remove(folder, &name);
            }
        }
    }
    events
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe would never end.
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Takes an event out of the queue. Fine if it is gone already.
///
/// # Errors
/// The name is none that [`read_queue`] gave, or the file cannot be deleted.
pub fn remove(folder: &Path, name: &str) -> io::Result<()> {
    if Name::parse(name).is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no file of the queue")));
    }
    match fs::remove_file(folder.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// How many events wait.
#[must_use]
pub fn waiting(folder: &Path) -> usize {
    list(folder).map_or(0, |(whole, _)| whole.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Moment;

    const ROOM: Limits = Limits { files: 4, bytes: 1 << 20 };

    fn event(at: u64, session: &str) -> TurnEnd {
        TurnEnd { at: Moment(at), session: session.into(), completed: true, interrupted: false }
    }

    fn sessions(folder: &Path, limit: usize) -> Vec<String> {
        read_queue(folder, limit).into_iter().map(|(_, event)| event.session).collect()
    }

    #[test]
    fn events_come_back_in_order_also_when_the_clock_steps_back() {
        let folder = tempfile::tempdir().expect("a folder");
        for (at, session) in [(5_000, "a"), (5_000, "b"), (10, "c"), (7_000, "d")] {
            push(folder.path(), &event(at, session), ROOM).expect("kept");
        }
        assert_eq!(sessions(folder.path(), 9), ["a", "b", "c", "d"]);
        assert_eq!(sessions(folder.path(), 2), ["a", "b"]);
        let (name, _) = read_queue(folder.path(), 1).remove(0);
        remove(folder.path(), &name).expect("gone");
        assert_eq!((sessions(folder.path(), 9).len(), waiting(folder.path())), (3, 3));
    }

    #[test]
    fn the_oldest_make_room_by_number_and_by_size() {
        let folder = tempfile::tempdir().expect("a folder");
        for (at, session) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
            push(folder.path(), &event(at as u64, session), ROOM).expect("kept");
        }
        assert_eq!(sessions(folder.path(), 9), ["b", "c", "d", "e"]);
        let size = event(9, "f").to_stored().expect("stored").len() as u64;
        push(folder.path(), &event(9, "f"), Limits { bytes: 2 * size, ..ROOM }).expect("kept");
        assert_eq!(sessions(folder.path(), 9), ["e", "f"]);
    }

    #[test]
    fn what_is_broken_is_deleted_and_what_is_not_ours_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let good = push(folder.path(), &event(5, "a"), ROOM).expect("kept");
        let broken = [Name::new(1, 0).text, Name::new(2, 9).text];
        fs::write(path(&broken[0]), "").expect("written");
        fs::write(path(&broken[1]), "{\"version\":1").expect("written");
        for name in ["notes.json", "1-2-3.json", &format!(".{}", Name::new(9_000_000_000, 1).text)] {
            fs::write(path(name), "").expect("written");
        }
        assert_eq!(sessions(folder.path(), 9), ["a"]);
        assert!(
            broken.iter().all(|name| !path(name).exists())
                && path("notes.json").exists()
                && path("1-2-3.json").exists()
        );
        for name in ["../x.json", "notes.json", ""] {
            assert!(remove(folder.path(), name).is_err(), "{name}");
        }
        assert!(path(&good).exists());
        assert!(read_queue(&path("nowhere"), 9).is_empty());
    }

    #[test]
    fn what_a_process_left_half_written_is_deleted_once_it_is_old() {
        let folder = tempfile::tempdir().expect("a folder");
        let draft = |number: u64| folder.path().join(format!(".{}", Name::new(number, 5).text));
        fs::write(draft(1_000_000), "").expect("written");
        fs::write(draft(900_000_000), "").expect("written");
        push(folder.path(), &event(1_000_000, "a"), ROOM).expect("kept");
        assert!(!draft(1_000_000).exists() && draft(900_000_000).exists());
        assert_eq!(sessions(folder.path(), 9), ["a"]);
    }
}
