//! What is copied into an environment: a file, a folder, or a standard stream.

use super::super::output::Failure;
use super::count::Count;
use super::place::{Place, name_of};
use super::{pack, trouble};
use crate::api::{ApiError, ErrorCode};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tokio::sync::mpsc;

/// Bytes in one piece: base64 of it stays far below the limit of a message.
const PIECE: usize = 256 * 1024;
/// The mode of what comes out of a stream.
const USUAL: u32 = 0o644;

/// A piece of what is sent. An error ends the sending.
pub(super) type Piece = Result<Vec<u8>, ()>;

/// What is copied.
pub(super) enum Source {
    File { file: File, mode: u32, path: PathBuf },
    Folder { dir: Dir, path: PathBuf },
    Stream,
}

impl Source {
    /// Opens what a place of this machine names; a link that is named is followed.
    pub(super) fn open(place: Place) -> Result<Self, Failure> {
        let Place::Here(path) = place else { return Ok(Self::Stream) };
        let cannot = |error: io::Error| trouble::here("read", path.display(), &error);
        let found = fs::metadata(&path).map_err(cannot)?;
        if found.is_dir() {
            let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(cannot)?;
            return Ok(Self::Folder { dir, path });
        }
        if !found.is_file() {
            let message = format!("cannot copy {}: it is neither a file nor a folder", path.display());
            return Err(ApiError::new(ErrorCode::Failed, message, "give `-` to copy what a pipe brings").into());
        }
        let file = File::open(&path).map_err(cannot)?;
        Ok(Self::File { file, mode: found.permissions().mode() & 0o777, path })
    }

    /// `file` or `folder`.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Folder { .. } => "folder",
            Self::File { .. } | Self::Stream => "file",
        }
    }

    /// The name of its copy in a folder.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::File { path, .. } | Self::Folder { path, .. } => name_of(&path.to_string_lossy()).map(str::to_owned),
            Self::Stream => None,
        }
    }

    /// The mode of the copy of a file.
    pub(super) fn mode(&self) -> u32 {
        if let Self::File { mode, .. } = self { *mode } else { USUAL }
    }

    /// Whether nobody knows when it ends.
    pub(super) fn is_endless(&self) -> bool {
        matches!(self, Self::Stream)
    }

    /// Sends all of it, in pieces; an error is sent, too.
    pub(super) fn write(self, to: mpsc::Sender<Piece>) -> Result<Count, ApiError> {
        let mut out = BufWriter::with_capacity(PIECE, Pieces(to.clone()));
        let sent = match self {
            Self::File { file, path, .. } => copy(file, &mut out, &path.display().to_string()),
            Self::Stream => copy(io::stdin().lock(), &mut out, "standard input"),
            Self::Folder { dir, path } => pack::folder(&dir, &path, &mut out),
        };
        if sent.is_err() {
            let _ = to.blocking_send(Err(()));
        }
        sent
    }
}

fn copy(mut from: impl Read, out: &mut impl Write, name: &str) -> Result<Count, ApiError> {
    let copied = io::copy(&mut from, out).and_then(|copied| out.flush().map(|()| copied));
    copied.map(Count::file).map_err(|error| trouble::here("copy", name, &error))
}

/// Sends what is written to it.
struct Pieces(mpsc::Sender<Piece>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.chunks(PIECE) {
            self.0.blocking_send(Ok(piece.to_vec())).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
