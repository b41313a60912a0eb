//! A folder of this machine as an archive.
//!
//! Nothing outside of the folder is read, whatever is exchanged in it meanwhile: it may be one that an environment
//! writes to.

use super::count::Count;
use super::trouble;
use crate::api::{ApiError, ErrorCode};
use cap_std::fs::{Dir, Metadata, MetadataExt};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// Writes all that is in a folder. `shown` is what it is called.
pub(super) fn folder(dir: &Dir, shown: &Path, to: impl Write) -> Result<Count, ApiError> {
    let mut packing = Packing { archive: Builder::new(to), shown: shown.to_owned(), count: Count::default() };
    let own = dir.dir_metadata().map_err(|error| trouble::here("read", shown.display(), &error))?;
    packing.folder(dir, Path::new("."), &own)?;
    let Packing { mut archive, count, .. } = packing;
    archive.finish().and_then(|()| archive.get_mut().flush()).map_err(|error| packing_failed(shown, &error))?;
    Ok(count)
}

struct Packing<W: Write> {
    archive: Builder<W>,
    shown: PathBuf,
    count: Count,
}

impl<W: Write> Packing<W> {
    fn folder(&mut self, dir: &Dir, path: &Path, own: &Metadata) -> Result<(), ApiError> {
        let mut header = header(EntryType::Directory, own, 0);
        self.append(path, |archive| archive.append_data(&mut header, path, io::empty()))?;
        self.count.folders += u64::from(path != Path::new("."));
        let cannot =
            |path: &Path, error: &io::Error, shown: &Path| trouble::here("read", shown.join(path).display(), error);
        for entry in dir.entries().map_err(|error| cannot(path, &error, &self.shown))? {
            let entry = entry.map_err(|error| cannot(path, &error, &self.shown))?;
            let below = path.join(entry.file_name());
            let found = entry.metadata().map_err(|error| cannot(&below, &error, &self.shown))?;
            let kind = found.file_type();
            if kind.is_dir() {
                let dir = entry.open_dir().map_err(|error| cannot(&below, &error, &self.shown))?;
                self.folder(&dir, &below, &found)?;
            } else if kind.is_symlink() {
                let to = dir.read_link_contents(entry.file_name());
                let to = to.map_err(|error| cannot(&below, &error, &self.shown))?;
                let mut header = header_of_link(&found);
                self.append(&below, |archive| archive.append_link(&mut header, &below, &to))?;
                self.count.links += 1;
            } else if kind.is_file() {
                let file = entry.open().map_err(|error| cannot(&below, &error, &self.shown))?;
                self.file(&below, file)?;
            } else {
                self.count.skipped.push(below.display().to_string());
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, file: cap_std::fs::File) -> Result<(), ApiError> {
        let found = file.metadata().map_err(|error| trouble::here("read", self.shown.join(path).display(), &error))?;
        let mut header = header(EntryType::Regular, &found, found.len());
        let whole = Whole { from: file, left: found.len() };
        self.append(path, |archive| archive.append_data(&mut header, path, whole))?;
        self.count.files += 1;
        self.count.bytes += found.len();
        Ok(())
    }

    fn append(&mut self, path: &Path, put: impl FnOnce(&mut Builder<W>) -> io::Result<()>) -> Result<(), ApiError> {
        put(&mut self.archive).map_err(|error| packing_failed(&self.shown.join(path), &error))
    }
}

fn packing_failed(path: &Path, error: &io::Error) -> ApiError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return ApiError::new(ErrorCode::Failed, "the environment takes no more", "");
    }
    trouble::here("copy", path.display(), error)
}

fn header(kind: EntryType, found: &Metadata, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(found.mode() & 0o777);
    header.set_mtime(u64::try_from(found.mtime()).unwrap_or(0));
    header.set_size(size);
    header
}

fn header_of_link(found: &Metadata) -> Header {
    header(EntryType::Symlink, found, 0)
}

/// Exactly as many bytes as were announced: an archive has no way to take that back.
struct Whole<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        let got = self.from.read(&mut buffer[..most])?;
        if got == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it was cut short while it was read"));
        }
        self.left -= got as u64;
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::Whole;
    use std::io::Read;

    #[test]
    fn a_file_that_grows_or_shrinks_is_told_from_one_that_does_not() {
        let read = |bytes: &[u8], left: u64| {
            let mut out = Vec::new();
            Whole { from: bytes, left }.read_to_end(&mut out).map(|_| out)
        };
        assert_eq!(read(b"abc", 3).unwrap(), b"abc");
        assert_eq!(read(b"abcd", 3).unwrap(), b"abc");
        assert!(read(b"ab", 3).unwrap_err().to_string().contains("cut short"));
    }
}
