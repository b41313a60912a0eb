//! Tells the service manager that this host is ready, or ends: the protocol of sd_notify(3), one datagram to the socket
//! that `NOTIFY_SOCKET` names.

use std::env;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// What is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The socket answers.
    Ready,
    /// The end has begun.
    Stopping,
}

/// Tells it, if there is a service manager that wants to know. It never delays anything, and a failure is only noted.
pub fn notify(state: State) {
    let Some(name) = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else { return };
    let text = match state {
        State::Ready => format!("READY=1\nMAINPID={}\nSTATUS=the socket answers", std::process::id()),
        State::Stopping => "STOPPING=1\nSTATUS=environments are being ended in order".to_owned(),
    };
    if let Err(error) = address(name.as_bytes()).and_then(|to| send(&to, text.as_bytes())) {
        tracing::warn!(%error, "cannot tell the service manager: {state:?}");
    }
}

/// A path, or after `@` a name without a file.
fn address(name: &[u8]) -> io::Result<SocketAddr> {
    match name.split_first() {
        #[cfg(target_os = "linux")]
        Some((b'@', name)) => {
            use std::os::linux::net::SocketAddrExt;
            SocketAddr::from_abstract_name(name)
        }
        _ => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name)),
    }
}

fn send(to: &SocketAddr, bytes: &[u8]) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to_addr(bytes, to).map(|_| ())
}
