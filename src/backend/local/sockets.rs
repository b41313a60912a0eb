//! Unix sockets at paths of any length, and descriptors sent over them.

use nix::fcntl::{OFlag, open};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, recvmsg, sendmsg,
    socket,
};
use nix::sys::stat::Mode;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Most descriptors that come with one message.
const MAX_FDS: usize = 8;

/// A short name for a path: a socket address holds 108 bytes (unix(7)), a folder of the user may be deeper. The
/// descriptor of its folder must stay open while the name is used.
fn short(path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a path of a socket"));
    };
    let folder = open(folder, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
    let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    Ok((folder, path))
}

/// Listens at a path.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let (_folder, name) = short(path)?;
    UnixListener::bind(name)
}

/// Connects to a path, without ever waiting: a listener that takes nobody in any more is an error.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let (_folder, name) = short(path)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    nix::sys::socket::connect(fd.as_raw_fd(), &UnixAddr::new(&name)?)?;
    Ok(UnixStream::from(fd))
}

/// Sends bytes, with descriptors beside the first of them. Says how many bytes went.
pub fn send(socket: RawFd, bytes: &[u8], fds: &[RawFd]) -> io::Result<usize> {
    let control = [ControlMessage::ScmRights(fds)];
    let control: &[ControlMessage<'_>] = if fds.is_empty() { &[] } else { &control };
    let flags = MsgFlags::MSG_NOSIGNAL;
    Ok(sendmsg::<UnixAddr>(socket, &[IoSlice::new(bytes)], control, flags, None)?)
}

/// Receives bytes and the descriptors that came with them. Zero bytes means the other end is gone.
pub fn receive(socket: RawFd, buffer: &mut [u8], fds: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut space = nix::cmsg_space!([RawFd; MAX_FDS]);
    let mut slices = [IoSliceMut::new(buffer)];
    let message = recvmsg::<UnixAddr>(socket, &mut slices, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(received) = control {
            // SAFETY: the kernel has just made these descriptors for us; nobody else knows or closes them.
            fds.extend(received.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    Ok(message.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_socket_works_in_a_folder_deeper_than_an_address_is_long() {
        let dir = tempfile::tempdir().expect("folder");
        let deep = dir.path().join("d".repeat(100)).join("e".repeat(100));
        std::fs::create_dir_all(&deep).expect("folder");
        let listener = listen(&deep.join("s.sock")).expect("listens");
        let mut client = connect(&deep.join("s.sock")).expect("connects");
        let (mut server, _) = listener.accept().expect("accepts");
        client.write_all(b"x").expect("writes");
        let mut byte = [0];
        server.read_exact(&mut byte).expect("reads");
        assert_eq!(&byte, b"x");
    }

    #[test]
    fn descriptors_arrive_with_their_bytes() {
        let (a, b) = UnixStream::pair().expect("pair");
        let (read, write) = nix::unistd::pipe().expect("pipe");
        assert_eq!(send(a.as_raw_fd(), b"hi", &[write.as_raw_fd()]).expect("sends"), 2);
        drop(write);
        let mut buffer = [0; 16];
        let mut fds = Vec::new();
        assert_eq!(receive(b.as_raw_fd(), &mut buffer, &mut fds).expect("receives"), 2);
        let mut file = std::fs::File::from(fds.pop().expect("a descriptor"));
        file.write_all(b"through").expect("writes");
        drop(file);
        let mut text = String::new();
        std::fs::File::from(read).read_to_string(&mut text).expect("reads");
        assert_eq!(text, "through");
    }
}
