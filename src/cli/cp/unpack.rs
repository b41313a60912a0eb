//! What an environment sends becomes files of this machine. The sender may be hostile: nothing is written outside of the
//! folder it is unpacked in, and no file gets rights beyond those of its owner, group and others.

use super::count::Count;
use super::place::inside;
use super::stage::Stage;
use super::trouble;
use crate::api::{ApiError, ErrorCode};
use cap_std::fs::Dir;
use std::fs::Permissions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tar::{Archive, Entry, EntryType};

/// Longest first line that is sent.
const LONGEST_HEAD: u64 = 64;
/// Every archive ends with so many zeros (POSIX.1 pax, "ustar Interchange Format": two blocks).
const END: usize = 1024;

/// What is sent, as its first line says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Head {
    /// The bytes of a file with this mode and at least this size.
    File(u32, u64),
    /// The archive of a folder.
    Folder,
}

/// What is sent. None where nothing is: then there is an error to read.
pub(super) fn head(from: &mut impl BufRead) -> io::Result<Option<Head>> {
    let mut line = String::new();
    from.take(LONGEST_HEAD).read_line(&mut line)?;
    let mut words = line.split_whitespace();
    Ok(match (words.next(), words.next(), words.next()) {
        (Some("folder"), ..) => Some(Head::Folder),
        (Some("file"), Some(mode), Some(size)) => {
            Some(Head::File(u32::from_str_radix(mode, 8).unwrap_or(0o644) & 0o777, size.parse().unwrap_or(0)))
        }
        _ => None,
    })
}

/// Copies a file to a standard stream.
pub(super) fn to_stream(from: &mut impl Read, size: u64, out: &mut impl Write) -> Result<Count, ApiError> {
    let copied = io::copy(from, out).and_then(|copied| out.flush().map(|()| copied));
    let copied = copied.map_err(|error| trouble::here("write to", "standard output", &error))?;
    whole(copied, size).map(Count::file)
}

/// Takes in a file beside its place.
pub(super) fn file(from: &mut impl Read, (mode, size): (u32, u64), stage: &Stage) -> Result<Count, ApiError> {
    let cannot = |error: io::Error| trouble::here("write", stage.shown().display(), &error);
    let mut file = stage.file().map_err(cannot)?.into_std();
    let copied = io::copy(from, &mut file).map_err(cannot)?;
    file.set_permissions(Permissions::from_mode(mode)).and_then(|()| file.sync_data()).map_err(cannot)?;
    whole(copied, size).map(Count::file)
}

fn whole(copied: u64, size: u64) -> Result<u64, ApiError> {
    if copied < size { Err(cut_short()) } else { Ok(copied) }
}

fn cut_short() -> ApiError {
    let message = "cannot copy: what the environment sent was cut short";
    ApiError::new(ErrorCode::Failed, message, "see that it runs, then copy again; nothing was changed")
}

/// Unpacks a folder beside its place.
pub(super) fn folder(from: &mut impl Read, stage: &Stage) -> Result<Count, ApiError> {
    let cannot = |error: io::Error| trouble::here("write", stage.shown().display(), &error);
    let mut unpacking = Unpacking {
        into: stage.folder().map_err(cannot)?,
        shown: stage.shown(),
        count: Count::default(),
        folders: Vec::new(),
    };
    let mut from = Tail { from, last: Vec::new() };
    {
        let mut archive = Archive::new(&mut from);
        for entry in archive.entries().map_err(|error| broken(&error))? {
            unpacking.entry(&mut entry.map_err(|error| broken(&error))?)?;
        }
    }
    io::copy(&mut from, &mut io::sink()).map_err(|error| broken(&error))?;
    if from.last.len() < END || from.last.iter().any(|byte| *byte != 0) {
        return Err(cut_short());
    }
    unpacking.finish()
}

fn broken(error: &io::Error) -> ApiError {
    let message = format!("cannot copy: what the environment sent is no archive: {error}");
    ApiError::new(ErrorCode::Failed, message, "see that `tar` inside works, then copy again; nothing was changed")
}

struct Unpacking<'a> {
    into: Dir,
    shown: &'a Path,
    count: Count,
    /// Folders with their modes and times, which are set last: one that may not be written must be filled first.
    folders: Vec<(PathBuf, u32, u64)>,
}

impl Unpacking<'_> {
    fn entry(&mut self, entry: &mut Entry<'_, impl Read>) -> Result<(), ApiError> {
        let path = inside(&entry.path().map_err(|error| broken(&error))?)?;
        let kind = entry.header().entry_type();
        let (mode, time) = (entry.header().mode().unwrap_or(0o644) & 0o777, entry.header().mtime().unwrap_or(0));
        let made = match kind {
            EntryType::Directory => {
                self.count.folders += u64::from(!path.as_os_str().is_empty());
                let made = if path.as_os_str().is_empty() { Ok(()) } else { self.into.create_dir_all(&path) };
                self.folders.push((path.clone(), mode, time));
                made
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => self.file(entry, &path, mode, time),
            EntryType::Symlink => {
                let to = entry.link_name().ok().flatten().unwrap_or_default().into_owned();
                self.count.links += 1;
                self.parent(&path).and_then(|()| self.into.symlink_contents(to, &path))
            }
            EntryType::Link => {
                let to = inside(&entry.link_name().ok().flatten().unwrap_or_default())?;
                self.count.files += 1;
                self.parent(&path).and_then(|()| self.into.hard_link(&to, &self.into, &path))
            }
            EntryType::XGlobalHeader | EntryType::XHeader => Ok(()),
            _ => {
                self.count.skipped.push(path.display().to_string());
                Ok(())
            }
        };
        made.map_err(|error| trouble::here("write", self.shown.join(&path).display(), &error))
    }

    fn parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => self.into.create_dir_all(parent),
            _ => Ok(()),
        }
    }

    fn file(&mut self, entry: &mut Entry<'_, impl Read>, path: &Path, mode: u32, time: u64) -> io::Result<()> {
        self.parent(path)?;
        let mut file = self.into.create(path)?.into_std();
        self.count.bytes += io::copy(entry, &mut file)?;
        self.count.files += 1;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.set_modified(moment(time))
    }

    fn finish(mut self) -> Result<Count, ApiError> {
        // What is in a folder before the folder itself.
        self.folders.sort_by(|(a, ..), (b, ..)| b.cmp(a));
        for (path, mode, time) in &self.folders {
            let set = || {
                let at = if path.as_os_str().is_empty() { Path::new(".") } else { path };
                let dir = self.into.open(at)?.into_std();
                dir.set_modified(moment(*time))?;
                // Its owner can move and fill it: a move writes to it, too.
                dir.set_permissions(Permissions::from_mode(mode | 0o700))
            };
            set().map_err(|error: io::Error| trouble::here("write", self.shown.join(path).display(), &error))?;
        }
        Ok(self.count)
    }
}

fn moment(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Remembers the last bytes that were read.
struct Tail<R> {
    from: R,
    last: Vec<u8>,
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.from.read(buffer)?;
        self.last.extend_from_slice(&buffer[got.saturating_sub(END)..got]);
        let surplus = self.last.len().saturating_sub(END);
        self.last.drain(..surplus);
        Ok(got)
    }
}

/// The bytes of a command as they come.
pub(super) struct Chunks {
    from: tokio::sync::mpsc::Receiver<Vec<u8>>,
    now: io::Cursor<Vec<u8>>,
}

impl Chunks {
    pub(super) fn new(from: tokio::sync::mpsc::Receiver<Vec<u8>>) -> BufReader<Self> {
        BufReader::new(Self { from, now: io::Cursor::default() })
    }
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let got = self.now.read(buffer)?;
            if got > 0 || buffer.is_empty() {
                return Ok(got);
            }
            match self.from.blocking_recv() {
                Some(bytes) => self.now = io::Cursor::new(bytes),
                None => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, Stage, folder, head};
    use std::fs;
    use std::path::Path;
    use tar::{Builder, EntryType, Header};

    fn header(kind: EntryType, size: usize) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o4777);
        header.set_size(size as u64);
        header
    }

    fn unpacked(archive: &[u8], to: &Path) -> Result<super::Count, crate::api::ApiError> {
        let stage = Stage::new(to, None, true).unwrap();
        let count = folder(&mut &archive[..], &stage)?;
        stage.commit().map(|()| count)
    }

    #[test]
    fn the_first_line_says_what_comes() {
        let of = |text: &str| head(&mut text.as_bytes()).unwrap();
        assert_eq!(of("file 755 12\nrest"), Some(Head::File(0o755, 12)));
        assert_eq!(of("file 4755 0\n"), Some(Head::File(0o755, 0)), "no rights of its owner for others");
        assert_eq!((of("folder\n"), of(""), of("anything\n")), (Some(Head::Folder), None, None));
    }

    #[test]
    fn a_hostile_archive_reaches_nothing_outside() {
        let base = tempfile::tempdir().unwrap();
        let (outside, to) = (base.path().join("outside"), base.path().join("to"));
        fs::create_dir(&outside).unwrap();
        for target in [outside.clone(), Path::new("../outside").to_owned(), Path::new("../../outside").to_owned()] {
            let mut archive = Builder::new(Vec::new());
            archive.append_link(&mut header(EntryType::Symlink, 0), "way", &target).unwrap();
            archive.append_data(&mut header(EntryType::Regular, 1), "way/planted", &b"x"[..]).unwrap();
            assert!(unpacked(&archive.into_inner().unwrap(), &to).is_err(), "{}", target.display());
            assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1, "nothing stays");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn rights_of_others_do_not_come_along_and_a_cut_archive_is_none() {
        let base = tempfile::tempdir().unwrap();
        let to = base.path().join("to");
        let mut archive = Builder::new(Vec::new());
        archive.append_data(&mut header(EntryType::Regular, 1), "f", &b"x"[..]).unwrap();
        let archive = archive.into_inner().unwrap();
        let cut = &archive[..archive.len() - 1024];
        assert!(unpacked(cut, &to).unwrap_err().message.contains("cut short"));
        assert_eq!(unpacked(&archive, &to).unwrap().files, 1);
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(to.join("f")).unwrap().permissions().mode() & 0o7777, 0o777);
    }
}
